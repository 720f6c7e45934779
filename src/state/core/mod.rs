//! What all features build on; it knows none of them.

pub mod live;
