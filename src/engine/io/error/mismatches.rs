//! Sentences about files that do not belong to the scan.

use crate::data::text::counted;
use std::fmt::{Formatter, Result};

pub(super) fn write_counts(
    f: &mut Formatter<'_>,
    b_values: usize,
    vectors: Option<usize>,
    volumes: usize,
) -> Result {
    match vectors {
        Some(vectors) => write!(
            f,
            "Found {} and {}, expected {volumes} of each, one \
             for every volume of the scan; choose the files that belong to it",
            counted(b_values, "b-value"),
            counted(vectors, "vector")
        ),
        None => write!(
            f,
            "Found {}, expected {volumes}, one for every volume of the scan; \
             choose the file that belongs to it",
            counted(b_values, "gradient")
        ),
    }
}

pub(super) fn write_mask_grid(
    f: &mut Formatter<'_>,
    found: [usize; 3],
    expected: [usize; 3],
    off_mm: f64,
) -> Result {
    let shape_text = |s: [usize; 3]| format!("{} × {} × {}", s[0], s[1], s[2]);
    if found != expected {
        write!(
            f,
            "Found a mask of {} voxels, expected the image's {}; resample it to the \
             image's grid",
            shape_text(found),
            shape_text(expected)
        )
    } else {
        write!(
            f,
            "Found a mask that lies up to {off_mm:.2} mm away from the image's grid, \
             expected the same grid; resample it to the image's grid"
        )
    }
}
