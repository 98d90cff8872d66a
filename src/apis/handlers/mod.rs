//! One file per API: read the request, ask the rooms, word the answer.

pub(crate) mod api_versions;
pub(crate) mod delete_groups;
pub(crate) mod describe_groups;
pub(crate) mod fetch;
pub(crate) mod find_coordinator;
pub(crate) mod heartbeat;
pub(crate) mod init_producer_id;
pub(crate) mod join_group;
pub(crate) mod leave_group;
pub(crate) mod list_groups;
pub(crate) mod list_offsets;
pub(crate) mod metadata;
pub(crate) mod offset_commit;
pub(crate) mod offset_delete;
pub(crate) mod offset_fetch;
pub(crate) mod produce;
pub(crate) mod sync_group;
