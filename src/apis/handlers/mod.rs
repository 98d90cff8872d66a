//! One file per API: read the request, ask the rooms, word the answer.

pub(crate) mod api_versions;
pub(crate) mod fetch;
pub(crate) mod init_producer_id;
pub(crate) mod list_offsets;
pub(crate) mod metadata;
pub(crate) mod produce;
