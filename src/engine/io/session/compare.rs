//! Whether a result equals the one recorded in a session.

use super::super::checksum;
use super::Sum;
use crate::data::{TensorField, Tractogram, keyed};

/// How a result relates to an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Match {
    /// The checksums are equal.
    SameBytes,
    /// Different bytes, but no more of the sampled numbers differ than between two backends.
    WithinTolerance,
    /// Other values, beyond the tolerance.
    Differs,
}

impl Match {
    /// Label for reports and the window.
    pub fn label(self) -> &'static str {
        match self {
            Self::SameBytes => "same bytes",
            Self::WithinTolerance => "within tolerance",
            Self::Differs => "differs",
        }
    }
}

keyed!(Match {
    SameBytes = "same_bytes",
    WithinTolerance = "within_tolerance",
    Differs = "differs",
});

/// Largest number of sampled streamlines and voxels.
const SAMPLED: usize = 64;

/// Two backends may keep this share more or fewer streamlines, and this share may end elsewhere: in noise, rounding
/// errors sometimes decide (the parity tests permit the same).
const OTHERS: f64 = 0.05;
/// Ends and lengths of the others differ by less: a tenth of a typical voxel, and a step, mm.
const TOLERANCE_MM: f32 = 0.5;
/// Share of a voxel's largest component: the error of single precision in a solve with seven unknowns.
const TENSOR_SHARE: f32 = 1e-3;

/// Relative difference of a cost that the order of updates causes and the parity tests permit.
const VALUE_SHARE: f32 = 1e-4;

impl Sum {
    /// Checksum and sample of a plain array.
    pub fn of_values(result: &str, values: &[f32]) -> Self {
        Self {
            result: result.to_owned(),
            sha256: checksum::of_values(values),
            count: values.len() as u64,
            sample: sample(values.len(), |i| i, |i| vec![i as f32, values[i]]),
            file: None,
        }
    }

    /// Checksum and sample of streamlines, identified by their `seed` values if there are any.
    pub fn of_tractogram(result: &str, tractogram: &Tractogram) -> Self {
        let seeds = tractogram.per_streamline.get("seed");
        let row = |i: usize| {
            let line = tractogram.streamline(i);
            let (Some(first), Some(last)) = (line.first(), line.last()) else {
                return Vec::new();
            };
            let name = seeds.map_or(i as f32, |s| s[i]);
            let numbers = [name, tractogram.length_mm(i)].into_iter();
            numbers.chain(*first).chain(*last).collect()
        };
        Self {
            result: result.to_owned(),
            sha256: checksum::of_tractogram(tractogram),
            count: tractogram.len() as u64,
            sample: sample(tractogram.len(), |i| i, row),
            file: None,
        }
    }

    /// Checksum and sample of the tensors inside the mask.
    pub fn of_tensors(result: &str, field: &TensorField) -> Self {
        let inside: Vec<usize> = (0..field.tensors.len())
            .filter(|&i| field.tensors[i].inside > 0.5)
            .collect();
        let row = |i: usize| {
            let numbers = [inside[i] as f32].into_iter();
            numbers.chain(field.tensors[inside[i]].d).collect()
        };
        Self {
            result: result.to_owned(),
            sha256: checksum::of_tensors(field),
            count: inside.len() as u64,
            sample: sample(inside.len(), |i| inside[i], row),
            file: None,
        }
    }
}

/// Evenly spaced rows. Each names its streamline or voxel by a number that must be exact in single precision: above
/// 2²⁴ not all are, and the next exact one is used.
fn sample(
    count: usize,
    name: impl Fn(usize) -> usize,
    row: impl Fn(usize) -> Vec<f32>,
) -> Vec<Vec<f32>> {
    let n = count.min(SAMPLED);
    let is_exact = |i: &usize| name(*i) as f32 as usize == name(*i);
    let places = (0..n).filter_map(|i| (i * count / n..count).find(is_exact));
    // JSON has no other numbers.
    let rows = places.map(row);
    rows.filter(|r| r.iter().all(|v| v.is_finite())).collect()
}

/// Compares a result with a session's by the tolerance for its kind. `all` gives the numbers of the same streamline
/// or voxel as the first of a row, `None` if it does not exist.
fn by_sample(
    expected: &Sum,
    recomputed: &Sum,
    all: impl Fn(f32) -> Option<Vec<f32>>,
    near: impl Fn(&[f32], &[f32]) -> bool,
) -> Match {
    if recomputed.sha256 == expected.sha256 {
        return Match::SameBytes;
    }
    let (a, b) = (expected.count as f64, recomputed.count as f64);
    if (a - b).abs() > OTHERS * a.max(b) || expected.sample.is_empty() {
        return Match::Differs;
    }
    let same = expected.sample.iter().filter(|row| {
        let counterpart = row.first().and_then(|name| all(*name));
        counterpart
            .is_some_and(|counterpart| counterpart.len() == row.len() && near(row, &counterpart))
    });
    if same.count() as f64 >= (1.0 - OTHERS) * expected.sample.len() as f64 {
        Match::WithinTolerance
    } else {
        Match::Differs
    }
}

/// Compares a recomputed result with the one in a session.
pub enum RecomputedResult<'a> {
    /// Streamlines or rays.
    Curves(&'a Tractogram),
    /// u₁ + u₂ of a pathway, voxel by voxel of its mask, or a density map.
    Values(&'a [f32]),
    /// Tensors of a fit.
    Tensors(&'a TensorField),
}

impl RecomputedResult<'_> {
    /// Checksum and sample of the result under this name.
    pub fn sum(&self, result: &str) -> Sum {
        match self {
            Self::Curves(tractogram) => Sum::of_tractogram(result, tractogram),
            Self::Tensors(field) => Sum::of_tensors(result, field),
            Self::Values(values) => Sum::of_values(result, values),
        }
    }
}

/// Compares bytes first, then the sampled numbers; also returns the new checksum.
pub fn compare(expected: &Sum, result: &RecomputedResult) -> (Match, Sum) {
    match result {
        RecomputedResult::Curves(tractogram) => {
            let recomputed = Sum::of_tractogram(&expected.result, tractogram);
            let seeds = tractogram.per_streamline.get("seed");
            let sample = |name: f32| {
                let i = match seeds {
                    Some(seeds) => seeds.iter().position(|s| *s == name)?,
                    None => name as usize,
                };
                let line = (i < tractogram.len()).then(|| tractogram.streamline(i))?;
                let numbers = [name, tractogram.length_mm(i)].into_iter();
                Some(numbers.chain(*line.first()?).chain(*line.last()?).collect())
            };
            let near = |a: &[f32], b: &[f32]| {
                let mut pairs = a.iter().zip(b).skip(1);
                pairs.all(|(a, b)| (a - b).abs() <= TOLERANCE_MM)
            };
            (by_sample(expected, &recomputed, sample, near), recomputed)
        }
        RecomputedResult::Values(values) => {
            let recomputed = Sum::of_values(&expected.result, values);
            let sample = |name: f32| Some(vec![name, *values.get(name as usize)?]);
            let near = |a: &[f32], b: &[f32]| (a[1] - b[1]).abs() <= VALUE_SHARE * a[1].abs();
            (by_sample(expected, &recomputed, sample, near), recomputed)
        }
        RecomputedResult::Tensors(field) => {
            let recomputed = Sum::of_tensors(&expected.result, field);
            let sample = |name: f32| {
                let tensor = field.tensors.get(name as usize)?;
                Some([name].into_iter().chain(tensor.d).collect())
            };
            let near = |a: &[f32], b: &[f32]| {
                let largest = a.iter().skip(1).fold(0f32, |m, v| m.max(v.abs()));
                let mut pairs = a.iter().zip(b).skip(1);
                pairs.all(|(a, b)| (a - b).abs() <= TENSOR_SHARE * largest)
            };
            (by_sample(expected, &recomputed, sample, near), recomputed)
        }
    }
}
