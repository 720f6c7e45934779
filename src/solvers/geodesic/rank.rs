//! Keeps the curves that the diffusion supports best.

use crate::data::Tractogram;
use serde::{Deserialize, Serialize};

/// Which of the curves that pass the regions are kept, by their connectivity measure.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum Cut {
    All,
    /// Those with at least this measure.
    AtLeast(f32),
    /// So many of the strongest.
    Top(usize),
    /// The strongest share, 0 to 1, rounded up to whole curves.
    TopShare(f64),
}

/// The curves that a cut keeps, in their old order, and the least measure among them. Of equal
/// measures the first count as stronger; one that is not a number as weakest. A tractogram without
/// measures is kept whole.
pub fn rank(tractogram: &Tractogram, cut: Cut) -> (Tractogram, Option<f32>) {
    let Some(measures) = tractogram.per_streamline.get("cm") else {
        return (tractogram.clone(), None);
    };
    let least = |kept: &mut dyn Iterator<Item = f32>| kept.min_by(f32::total_cmp);
    let count = match cut {
        Cut::All => return (tractogram.clone(), least(&mut measures.iter().copied())),
        Cut::AtLeast(limit) => {
            let kept: Vec<bool> = measures.iter().map(|m| *m >= limit).collect();
            let mut of_kept = measures.iter().copied().filter(|m| *m >= limit);
            return (tractogram.filtered(&kept), least(&mut of_kept));
        }
        Cut::Top(count) => count,
        Cut::TopShare(share) => (share.clamp(0.0, 1.0) * measures.len() as f64).ceil() as usize,
    };
    let strength = |i: usize| {
        let m = measures[i];
        if m.is_nan() { f32::NEG_INFINITY } else { m }
    };
    let mut order: Vec<usize> = (0..measures.len()).collect();
    let stronger =
        |a: &usize, b: &usize| strength(*b).total_cmp(&strength(*a)).then_with(|| a.cmp(b));
    if count < order.len() {
        order.select_nth_unstable_by(count, stronger);
        order.truncate(count);
    }
    let mut kept = vec![false; measures.len()];
    for &i in &order {
        kept[i] = true;
    }
    let weakest = least(&mut order.iter().map(|&i| strength(i)));
    (tractogram.filtered(&kept), weakest)
}
