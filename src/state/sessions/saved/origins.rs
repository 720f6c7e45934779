//! Between the table of origins in a session and that of a document.

mod resolve;
mod write;

pub use resolve::Resolved;
pub(in crate::state) use resolve::edits;
