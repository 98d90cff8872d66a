//! Reads a whole log into memory, piece by piece: how metadata and coordinators load their state at the start.
//!
//! It must not know what the records say.

use std::sync::Arc;

use crate::env::Piece;
use crate::log::{FetchIsolation, ReadError, UnifiedLog};
use crate::record::BatchIterator;
use crate::types::Offset;

/// Bytes of one piece.
const CHUNK_BYTES: usize = 1 << 20;

/// The log's batches from its start to its end, in pieces of whole batches.
pub(crate) fn read_whole(log: &Arc<UnifiedLog>) -> Result<Vec<Vec<u8>>, ReadError> {
    let mut chunks = Vec::new();
    let mut offset = log.log_start_offset();
    let end = log.log_end_offset();
    while offset < end {
        let data = log.read(offset, CHUNK_BYTES, FetchIsolation::LogEnd, true)?;
        let mut bytes = Vec::with_capacity(data.bytes());
        for piece in &data.records {
            read_piece(piece, &mut bytes)?;
        }
        let next = next_offset(&mut bytes);
        match next {
            Some(next) if next > offset => offset = next,
            _ => return Ok(chunks),
        }
        chunks.push(bytes);
    }
    Ok(chunks)
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
