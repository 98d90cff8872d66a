//! New connections on their way from an Acceptor to a Processor: at most 20, as in Kafka.
//!
//! A full queue holds the Acceptor back, and with it the kernel's backlog. It must not know who accepts or reads.

use std::net::SocketAddr;
use std::sync::Arc;

use super::sync::{AtomicBool, Ordering, Receiver, Sender, TrySendError, bounded};
use crate::env::Wake;
use crate::limits::CONNECTION_QUEUE_CAPACITY;
use crate::marks::Mark;

/// The queue in front of one Processor. Both ends know how to wake the other.
pub struct ConnectionQueue<C> {
    sender: Sender<(C, SocketAddr)>,
    receiver: Receiver<(C, SocketAddr)>,
    processor: Arc<dyn Wake>,
    acceptor: Arc<dyn Wake>,
    acceptor_waits: AtomicBool,
}

impl<C> ConnectionQueue<C> {
    /// An empty queue between two roles.
    pub fn new(acceptor: Arc<dyn Wake>, processor: Arc<dyn Wake>) -> ConnectionQueue<C> {
        let (sender, receiver) = bounded(CONNECTION_QUEUE_CAPACITY);
        ConnectionQueue { sender, receiver, processor, acceptor, acceptor_waits: AtomicBool::new(false) }
    }

    /// Hands a connection over, or gives it back if the queue is full; the Acceptor is then woken when there is room.
    pub(crate) fn offer(&self, connection: C, peer: SocketAddr) -> Result<(), (C, SocketAddr)> {
        let refused = match self.sender.try_send((connection, peer)) {
            Ok(()) => {
                self.processor.wake();
                return Ok(());
            }
            Err(TrySendError::Full(refused) | TrySendError::Disconnected(refused)) => refused,
        };
        // The flag is raised before the second try, so that a take between the two is not missed.
        self.acceptor_waits.store(true, Ordering::SeqCst);
        match self.sender.try_send(refused) {
            Ok(()) => {
                self.processor.wake();
                Ok(())
            }
            Err(TrySendError::Full(refused) | TrySendError::Disconnected(refused)) => Err(refused),
        }
    }

    /// The next connection.
    pub(crate) fn take(&self) -> Option<(C, SocketAddr)> {
        let taken = self.receiver.try_recv().ok()?;
        if self.acceptor_waits.swap(false, Ordering::SeqCst) {
            Mark::AcceptorWoken.reached();
            self.acceptor.wake();
        }
        Some(taken)
    }
}
