//! Patterns of decisions of several masks, and measures of their pairs.

use super::error::{InputError, MAX_MASKS};
use super::{Border, BorderDistances, Error};
use crate::compute::{Backend, Cancelled, Control, memory};
use crate::data::Mask;
use rayon::prelude::*;
use std::ops::Range;

/// Voxels between two checks for cancellation.
pub(super) const PIECE: usize = 1 << 14;

/// Two masks.
#[derive(Clone, PartialEq, Debug)]
pub struct Pair {
    /// Their indices.
    pub masks: [usize; 2],
    /// Voxels of each.
    pub voxels: [u64; 2],
    /// Voxels of both.
    pub shared: u64,
    /// Distances between their borders.
    pub distances: BorderDistances,
}

impl Pair {
    /// 2 |A ∩ B| / (|A| + |B|), 0..=1.
    pub fn dice(&self) -> f64 {
        2.0 * self.shared as f64 / self.voxels.iter().sum::<u64>() as f64
    }

    /// |A ∩ B| / |A ∪ B|, 0..=1.
    pub fn jaccard(&self) -> f64 {
        self.shared as f64 / (self.voxels.iter().sum::<u64>() - self.shared) as f64
    }
}

/// Mean agreement over pairs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Precision {
    /// Number of pairs.
    pub pairs: usize,
    /// Mean Dice coefficient.
    pub dice: f64,
    /// Mean Jaccard index.
    pub jaccard: f64,
}

/// Mean agreement over the pairs that `counts` chooses; `None` if it chooses none.
pub fn precision(pairs: &[Pair], counts: impl Fn([usize; 2]) -> bool) -> Option<Precision> {
    let chosen: Vec<&Pair> = pairs.iter().filter(|pair| counts(pair.masks)).collect();
    let mean = |index: fn(&Pair) -> f64| {
        chosen.iter().map(|pair| index(pair)).sum::<f64>() / chosen.len() as f64
    };
    (!chosen.is_empty()).then(|| Precision {
        pairs: chosen.len(),
        dice: mean(Pair::dice),
        jaccard: mean(Pair::jaccard),
    })
}

/// Compares each of 2 to [`MAX_MASKS`] masks with each other; pairs are in ascending order.
pub fn pairs(masks: &[Mask], backend: &Backend, control: &Control) -> Result<Vec<Pair>, Error> {
    let masks = aligned(masks)?;
    backend.install(|| {
        claim(&masks)?;
        let patterns = Patterns::new(&masks, None, control)?;
        let numbers = || (0..masks.len()).flat_map(|a| (a + 1..masks.len()).map(move |b| [a, b]));
        let all = numbers().count();
        control.begin("Measuring distances", (masks.len() + all) as u64);
        let borders = masks.par_iter().map(|mask| {
            control.check()?;
            let border = Border::new(mask);
            control.advance(1);
            Ok(border)
        });
        let borders = borders.collect::<Result<Vec<_>, Cancelled>>()?;
        let pair = |[a, b]: [usize; 2]| {
            control.check()?;
            let distances = borders[a].distances(&borders[b]);
            control.advance(1);
            Ok(Pair {
                masks: [a, b],
                voxels: [a, b].map(|mask| patterns.voxels(1 << mask)),
                shared: patterns.voxels(1 << a | 1 << b),
                distances,
            })
        };
        Ok(numbers().map(pair).collect::<Result<Vec<_>, Cancelled>>()?)
    })
}

/// The masks on the whole grid of the first, in its order of axes.
pub(super) fn aligned(masks: &[Mask]) -> Result<Vec<Mask>, InputError> {
    if !(2..=MAX_MASKS).contains(&masks.len()) {
        return Err(InputError::Count(masks.len()));
    }
    let first = masks[0].on_whole_grid();
    let all = masks.iter().enumerate().map(|(i, mask)| {
        let mask = mask.on_whole_grid().in_the_order_of(&first.grid);
        let mask = mask.ok_or(InputError::Grid(i + 1))?;
        match mask.inside.iter().any(|inside| *inside != 0) {
            true => Ok(mask),
            false => Err(InputError::Empty(i + 1)),
        }
    });
    all.collect()
}

/// Claims the memory of the tables of patterns. Needs the backend's threads installed.
pub(super) fn claim(masks: &[Mask]) -> Result<(), Error> {
    let tables = rayon::current_num_threads() << masks.len();
    Ok(memory::claim_for::<u64>(
        "The comparison of masks",
        tables,
        1,
    )?)
}

/// Number of voxels with each combination of decisions: bit j of a pattern is set within mask j.
pub(super) struct Patterns {
    /// The patterns that occur, ascending, with the number of their voxels.
    pub counts: Vec<(u32, u64)>,
}

impl Patterns {
    /// Counts the voxels inside `within`, or all. Needs the backend's threads installed, and masks of one grid.
    pub fn new(
        masks: &[Mask],
        within: Option<&Mask>,
        control: &Control,
    ) -> Result<Self, Cancelled> {
        let voxels = masks[0].inside.len();
        control.begin("Comparing masks", voxels as u64);
        let tasks = rayon::current_num_threads();
        let each = voxels.div_ceil(tasks).max(1);
        let table = |task: usize| {
            let mut counts = vec![0u64; 1 << masks.len()];
            let mut patterns = vec![0; PIECE];
            let end = voxels.min((task + 1) * each);
            for start in (task * each..end).step_by(PIECE) {
                control.check()?;
                let piece = start..end.min(start + PIECE);
                let patterns = &mut patterns[..piece.len()];
                patterns_of(masks, piece.clone(), patterns);
                match within {
                    None => patterns.iter().for_each(|p| counts[*p as usize] += 1),
                    Some(within) => {
                        let inside = patterns.iter().zip(&within.inside[piece]);
                        let inside = inside.filter(|(_, inside)| **inside != 0);
                        inside.for_each(|(p, _)| counts[*p as usize] += 1);
                    }
                }
                control.advance(patterns.len() as u64);
            }
            Ok(counts)
        };
        let tables = (0..tasks).into_par_iter().map(table);
        let tables = tables.collect::<Result<Vec<Vec<u64>>, Cancelled>>()?;
        let sum = |pattern: usize| tables.iter().map(|counts| counts[pattern]).sum::<u64>();
        let counts = (0..1usize << masks.len()).map(|pattern| (pattern as u32, sum(pattern)));
        Ok(Self {
            counts: counts.filter(|(_, count)| *count > 0).collect(),
        })
    }

    /// The number of voxels within all masks of `bits`.
    pub fn voxels(&self, bits: u32) -> u64 {
        let within = self.counts.iter().filter(|(p, _)| p & bits == bits);
        within.map(|(_, count)| count).sum()
    }
}

/// The patterns of a piece of the voxels.
pub(super) fn patterns_of(masks: &[Mask], piece: Range<usize>, patterns: &mut [u32]) {
    patterns.fill(0);
    for (number, mask) in masks.iter().enumerate() {
        for (pattern, inside) in patterns.iter_mut().zip(&mask.inside[piece.clone()]) {
            *pattern |= u32::from(*inside != 0) << number;
        }
    }
}
