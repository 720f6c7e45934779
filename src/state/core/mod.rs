//! Types that all features build on; they know no feature.

pub mod camera;
pub(in crate::state) mod compact_masks;
pub mod history;
pub mod live;
pub mod words;
