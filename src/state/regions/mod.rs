//! Regions that streamlines and pathways begin in, end in or avoid.

pub(in crate::state) mod changes;
pub(in crate::state) mod draw;
pub mod drawing;
pub mod jobs;
pub(in crate::state) mod make;
pub mod making;
pub(in crate::state) mod recipe;
pub(in crate::state) mod saved;
pub(in crate::state) mod update;
