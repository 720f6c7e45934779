//! Keeps the curves with the strongest support by diffusion.

use crate::data::Tractogram;
use crate::parameters::Limits;
use crate::solvers::curves::MAX_SEEDS;
use serde::{Deserialize, Serialize};

/// A rule that keeps some of the curves that pass the regions, by their connectivity measure.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// No rule: every curve is kept.
    All,
    /// All with at least this measure.
    AtLeast(f32),
    /// This many of the strongest.
    Top(usize),
    /// The strongest share, 0 to 1, rounded up to whole curves.
    TopShare(f64),
}

impl Cut {
    /// Permitted numbers of the strongest: no run has more rays.
    pub const COUNTS: Limits = Limits::whole(1.0, MAX_SEEDS as f64);
    /// Permitted shares of the strongest, percent.
    pub const PERCENTAGES: Limits = Limits::above(0.0, 100.0);

    /// Number of curves kept, from their measures.
    pub fn count(self, measures: &[f32]) -> usize {
        match self {
            Self::All => measures.len(),
            Self::AtLeast(limit) => measures.iter().filter(|m| **m >= limit).count(),
            Self::Top(count) => count.min(measures.len()),
            Self::TopShare(share) => {
                (share.clamp(0.0, 1.0) * measures.len() as f64).ceil() as usize
            }
        }
    }

    /// Whether each curve is kept, from their measures. Among equal measures, the first counts as stronger; NaN
    /// counts as weakest.
    pub fn kept_marks(self, measures: &[f32]) -> Vec<bool> {
        let count = match self {
            Self::All => return vec![true; measures.len()],
            Self::AtLeast(limit) => return measures.iter().map(|m| *m >= limit).collect(),
            Self::Top(_) | Self::TopShare(_) => self.count(measures),
        };
        let mut order: Vec<usize> = (0..measures.len()).collect();
        let stronger = |a: &usize, b: &usize| {
            let (a_is, b_is) = (strength(measures[*a]), strength(measures[*b]));
            b_is.total_cmp(&a_is).then_with(|| a.cmp(b))
        };
        if count < order.len() {
            order.select_nth_unstable_by(count, stronger);
            order.truncate(count);
        }
        let mut kept = vec![false; measures.len()];
        for i in order {
            kept[i] = true;
        }
        kept
    }
}

fn strength(measure: f32) -> f32 {
    if measure.is_nan() {
        f32::NEG_INFINITY
    } else {
        measure
    }
}

/// The smallest measure among those marked.
fn min_measure(measures: &[f32], marks: &[bool]) -> Option<f32> {
    let marked = measures.iter().zip(marks).filter(|(_, kept)| **kept);
    marked.map(|(m, _)| *m).min_by(f32::total_cmp)
}

/// The curves that a cut keeps, in their original order, and the smallest measure among them. A tractogram without
/// measures is kept whole.
pub fn rank(tractogram: &Tractogram, cut: Cut) -> (Tractogram, Option<f32>) {
    let Some(measures) = tractogram.per_streamline.get("cm") else {
        return (tractogram.clone(), None);
    };
    let marks = cut.kept_marks(measures);
    let kept = match cut {
        Cut::All => tractogram.clone(),
        _ => tractogram.filtered(&marks),
    };
    (kept, min_measure(measures, &marks))
}
