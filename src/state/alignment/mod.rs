//! Moving images, masks and streamlines to where they belong: by hand, by alignment, by an affine from a file.

pub mod jobs;
