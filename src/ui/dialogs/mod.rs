//! Questions that wait for an answer, and names typed in place.

pub(super) mod choose_visit;
pub(super) mod locate_files;
pub(super) mod rename;
pub(super) mod unsaved_changes;
