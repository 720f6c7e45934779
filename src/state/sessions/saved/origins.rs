//! Between the table of origins in a session and that of a document.

mod resolve;
mod write;

pub use resolve::ResolvedOrigins;
pub(in crate::state) use resolve::edits;
