//! Lengths of vectors. In MRtrix's tables and headers each b-value is multiplied by the squared length of its vector: a
//! scanner writes several shells as one b-value and shorter vectors. FSL's tables do not mean that.

use crate::data::text::number;
use glam::DVec3;

/// Shorter vectors count as zero: some programs write 1e-8.
const ZERO_LENGTH: f64 = 1e-3;
/// Lengths in FSL's tables that differ more from 1 cause a warning.
const LENGTH_TOLERANCE: f64 = 0.1;
/// MRtrix 3.0.3 scales a table if the squared length of a vector differs from 1 by more than a hundredth (on a
/// logarithmic scale): less is rounding in the file.
const SCALED_FROM: f64 = 0.01;

pub fn has_no_direction(vector: DVec3) -> bool {
    !vector.is_finite() || vector.length() < ZERO_LENGTH
}

pub fn is_not_unit(length: f64) -> bool {
    (length - 1.0).abs() > LENGTH_TOLERANCE
}

/// Whether MRtrix would scale a b-value by this vector.
fn is_scaling(vector: DVec3) -> bool {
    !has_no_direction(vector) && vector.length_squared().ln().abs() > SCALED_FROM
}

fn range(values: &mut dyn Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(low, high), value| {
        (value.min(low), value.max(high))
    })
}

fn lengths_text(vectors: usize, shortest: f64, longest: f64) -> String {
    match vectors {
        1 => format!("1 vector has length {longest:.2} instead of 1"),
        _ => format!(
            "{vectors} vectors have lengths from {shortest:.2} to {longest:.2} instead of 1"
        ),
    }
}

/// A b-value of any unit with at most four significant digits after rounding, or as a whole number.
fn rounded(b: f64) -> String {
    let decimals = 10f64.powi(3 - b.max(1e-9).log10().floor() as i32).max(1.0);
    number((b * decimals).round() / decimals)
}

/// Multiplies b-values by squared lengths, as MRtrix does, and sets these lengths to 1. Vectors without a direction keep
/// their b-value. Returns a sentence if there is anything to scale.
pub fn scale(b: &mut [f64], vectors: &mut [DVec3]) -> Option<String> {
    let weighted = || b.iter().zip(&*vectors).filter(|(b, _)| **b > 0.0);
    let lengths = || weighted().map(|(_, v)| *v).filter(|v| is_scaling(*v));
    lengths().next()?;
    let (shortest, longest) = range(&mut lengths().map(DVec3::length));
    let count = lengths().count();
    for (b, v) in b.iter_mut().zip(vectors) {
        if !has_no_direction(*v) {
            *b *= v.length_squared();
            *v = v.normalize();
        }
    }
    let (lowest, highest) = range(&mut b.iter().copied());
    Some(format!(
        "{}: each b-value was multiplied by the squared length, as MRtrix does, which gives {} to {}; write vectors \
         of length 1 to keep the b-values",
        lengths_text(count, shortest, longest),
        rounded(lowest),
        rounded(highest)
    ))
}

/// A vector for a table of MRtrix, whose length must not scale the b-value.
pub fn without_scaling(vector: DVec3) -> DVec3 {
    match is_scaling(vector) {
        true => vector.normalize(),
        false => vector,
    }
}

/// The warning about vectors of FSL with these lengths, if there are any.
pub fn warning(lengths: &[f64]) -> Option<String> {
    let (shortest, longest) = range(&mut lengths.iter().copied());
    let were = match lengths.len() {
        0 => return None,
        1 => "it was normalised and its b-value kept",
        _ => "they were normalised and their b-values kept",
    };
    Some(format!(
        "{}; {were}, as in FSL, but MRtrix multiplies each b-value by the squared length: if the scan was weighted so, \
         write these products as b-values",
        lengths_text(lengths.len(), shortest, longest)
    ))
}
