//! Types that all features build on; they know no feature.

pub mod live;
