//! What the Filter panel counts of weights, remembered until there are others.

use super::widgets::charts::BINS;
use crate::data::{DataId, Tractogram};
use crate::state::bundle::ByPtr;
use crate::state::filter::{BundleSums, WEIGHT, Weighed};

/// Streamlines of a bundle that the cut leaves, and all of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// `None`: in no group.
    pub group: Option<String>,
    pub kept: u64,
    pub all: u64,
}

#[derive(Default)]
pub struct Cache {
    bins: Option<(ByPtr<f32>, [u32; BINS])>,
    bundles: Option<((DataId, u32), Vec<Counted>)>,
    apart: Option<(Apart, Vec<u64>)>,
}

/// Whose streamlines above which weight are counted.
type Apart = (DataId, u32, Vec<ByPtr<bool>>);

/// Below this share of the highest weight bars say nothing: the first holds all that is there.
const LEAST: f32 = 1e-3;

impl Cache {
    /// Ends of the logarithmic scale.
    pub fn range(&self, weighed: &Weighed) -> (f32, f32) {
        let (first, last) = (weighed.sorted.first(), weighed.sorted.last());
        let high = last.copied().unwrap_or(1.0);
        let low = first.copied().unwrap_or(0.1 * high).max(LEAST * high);
        (low.min(0.5 * high), high)
    }

    /// Weights above 0 on that scale.
    pub fn bins(&mut self, weighed: &Weighed) -> &[u32; BINS] {
        let of = ByPtr(weighed.sorted.clone());
        if self.bins.as_ref().is_none_or(|(known, _)| *known != of) {
            let (low, high) = self.range(weighed);
            let mut bins = [0; BINS];
            for weight in weighed.sorted.iter() {
                let share = (weight / low).ln() / (high / low).ln();
                bins[((share.max(0.0) * BINS as f32) as usize).min(BINS - 1)] += 1;
            }
            self.bins = Some((of, bins));
        }
        self.bins.as_ref().map_or(&[0; BINS], |(_, bins)| bins)
    }

    /// The groups of streamlines, then those that are in none.
    pub fn bundles(&mut self, lines: &Tractogram, least: f32) -> &[Counted] {
        let key = (lines.id(), least.to_bits());
        if self.bundles.as_ref().is_none_or(|(known, _)| *known != key) {
            self.bundles = Some((key, count(lines, least)));
        }
        self.bundles.as_ref().map_or(&[], |(_, bundles)| bundles)
    }

    /// How many streamlines of other bundles the cut leaves.
    pub fn apart(&mut self, lines: &Tractogram, sums: &BundleSums, least: f32) -> &[u64] {
        let marks = sums.bundles.iter().map(|b| ByPtr(b.marks.clone()));
        let key = (lines.id(), least.to_bits(), marks.collect());
        if self.apart.as_ref().is_none_or(|(known, _)| *known != key) {
            let weights = lines.per_streamline.get(WEIGHT);
            let kept = |marks: &[bool]| {
                let each = weights.into_iter().flat_map(|w| w.iter()).zip(marks);
                each.filter(|(w, mark)| **mark && **w >= least).count() as u64
            };
            let kept = sums.bundles.iter().map(|b| kept(&b.marks)).collect();
            self.apart = Some((key, kept));
        }
        self.apart.as_ref().map_or(&[], |(_, kept)| kept)
    }
}

fn count(lines: &Tractogram, least: f32) -> Vec<Counted> {
    let Some(weights) = lines.per_streamline.get(WEIGHT) else {
        return Vec::new();
    };
    let stays = |i: usize| weights[i] >= least;
    let mut in_one = vec![false; lines.len()];
    let mut all: Vec<Counted> = lines
        .groups
        .iter()
        .map(|(name, members)| {
            let mut kept = 0;
            for member in members.iter().map(|m| *m as usize) {
                in_one[member] = true;
                kept += u64::from(stays(member));
            }
            Counted {
                group: Some(name.clone()),
                kept,
                all: members.len() as u64,
            }
        })
        .collect();
    let others = || (0..lines.len()).filter(|i| !in_one[*i]);
    let rest = Counted {
        group: None,
        kept: others().filter(|i| stays(*i)).count() as u64,
        all: others().count() as u64,
    };
    if rest.all > 0 || all.is_empty() {
        all.push(rest);
    }
    all
}
