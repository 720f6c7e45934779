//! Regions that streamlines and pathways begin in, end in or avoid.

pub mod jobs;
