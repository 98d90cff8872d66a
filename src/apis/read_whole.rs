//! Reads a whole log, piece by piece through one buffer: how metadata and coordinators load their state.
//!
//! It must not know what the records say.

use std::sync::Arc;

use crate::env::Piece;
use crate::log::{FetchIsolation, ReadError, UnifiedLog};
use crate::record::BatchIterator;
use crate::types::Offset;

/// Bytes of one piece.
const CHUNK_BYTES: usize = 1 << 20;

/// Shows the log's batches from its start to its end to `take`, in pieces of whole batches.
pub(crate) fn read_whole<E: From<ReadError>>(
    log: &Arc<UnifiedLog>,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut bytes = Vec::new();
    let mut offset = log.log_start_offset();
    let end = log.log_end_offset();
    while offset < end {
        let data = log.read(offset, CHUNK_BYTES, FetchIsolation::LogEnd, true)?;
        bytes.clear();
        for piece in &data.records {
            read_piece(piece, &mut bytes)?;
        }
        match next_offset(&mut bytes) {
            Some(next) if next > offset => offset = next,
            _ => break,
        }
        take(&bytes)?;
    }
    Ok(())
}

fn read_piece(piece: &Piece, into: &mut Vec<u8>) -> Result<(), ReadError> {
    match piece {
        Piece::Bytes(bytes) => into.extend_from_slice(bytes),
        Piece::File { file, offset, bytes } => {
            let start = into.len();
            into.resize(start + bytes, 0);
            let read = file.read_at(*offset, &mut into[start..])?;
            into.truncate(start + read);
        }
    }
    Ok(())
}

/// Drops a cut last batch and says which offset follows the rest; `None` if nothing is left.
fn next_offset(bytes: &mut Vec<u8>) -> Option<Offset> {
    let mut batches = BatchIterator::new(bytes);
    let mut next = None;
    let mut whole = 0;
    while let Some(Ok(batch)) = batches.next() {
        next = Some(batch.next_offset());
        whole += batch.total_bytes();
    }
    bytes.truncate(whole);
    next
}
