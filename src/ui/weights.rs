//! Statistics of weights for the Filter panel, cached until the weights change.

use super::widgets::charts::BINS;
use crate::data::{DataId, Tractogram};
use crate::state::filter::{BundleSums, FittedWeights, WEIGHT, WeightHistogram, weight_range};
use crate::state::streamlines::SameArc;
use std::sync::Arc;

/// Streamlines that the cut keeps, and the sums of their weights.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct KeptSums {
    pub count: u64,
    pub weight: f64,
    /// Sum of weight × length, mm; `None` while the lengths are unknown.
    pub weight_mm: Option<f64>,
}

/// The streamlines of a bundle that pass the cut, and the number of all its streamlines.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BundleCounts {
    /// `None`: in no group.
    pub group: Option<String>,
    pub kept: KeptSums,
    pub all: u64,
}

/// Key of the counts: streamlines, the cut, lengths.
type Key = (DataId, u32, Option<SameArc<f64>>);
/// Key of the counts for bundles that are not groups, with those bundles.
type ExtraKey = (Key, Vec<SameArc<bool>>);

#[derive(Default)]
pub struct Cache {
    bins: Option<(SameArc<f32>, [u32; BINS])>,
    bundles: Option<(Key, Vec<BundleCounts>)>,
    extra: Option<(ExtraKey, Vec<KeptSums>)>,
}

impl Cache {
    /// Ends of the logarithmic scale.
    pub fn range(&self, weights: &FittedWeights) -> (f32, f32) {
        weight_range(&weights.sorted)
    }

    /// Weights above 0 on that scale.
    pub fn bins(&mut self, weights: &FittedWeights) -> &[u32; BINS] {
        let sorted = SameArc(weights.sorted.clone());
        if self.bins.as_ref().is_none_or(|(known, _)| *known != sorted) {
            let histogram = WeightHistogram::new(&weights.sorted, 0);
            self.bins = Some((sorted, histogram.counts));
        }
        self.bins.as_ref().map_or(&[0; BINS], |(_, bins)| bins)
    }

    /// The groups of streamlines, then those in no group.
    pub fn bundles(
        &mut self,
        lines: &Tractogram,
        min_weight: f32,
        lengths_mm: Option<&Arc<[f64]>>,
    ) -> &[BundleCounts] {
        let key = key(lines, min_weight, lengths_mm);
        if self.bundles.as_ref().is_none_or(|(known, _)| *known != key) {
            self.bundles = Some((key, count(lines, min_weight, lengths_mm)));
        }
        self.bundles.as_ref().map_or(&[], |(_, bundles)| bundles)
    }

    /// The streamlines of other bundles that pass the cut.
    pub fn extra_bundles(
        &mut self,
        lines: &Tractogram,
        sums: &BundleSums,
        min_weight: f32,
    ) -> &[KeptSums] {
        let marks = sums.bundles.iter().map(|b| SameArc(b.marks.clone()));
        let lengths = Some(&sums.lengths_mm);
        let key = (key(lines, min_weight, lengths), marks.collect());
        if self.extra.as_ref().is_none_or(|(known, _)| *known != key) {
            let marked = |marks: &[bool]| -> Vec<usize> {
                let all = marks.iter().enumerate().filter(|(_, mark)| **mark);
                all.map(|(i, _)| i).collect()
            };
            let each = sums.bundles.iter().map(|b| marked(&b.marks));
            let weights = lines.per_streamline.get(WEIGHT);
            let kept = each.map(|own| {
                weights.map_or_else(KeptSums::default, |w| {
                    KeptSums::new(own, w, lengths, min_weight)
                })
            });
            self.extra = Some((key, kept.collect()));
        }
        self.extra.as_ref().map_or(&[], |(_, kept)| kept)
    }
}

fn key(lines: &Tractogram, min_weight: f32, lengths_mm: Option<&Arc<[f64]>>) -> Key {
    let lengths = lengths_mm.map(|mm| SameArc(mm.clone()));
    (lines.id(), min_weight.to_bits(), lengths)
}

impl KeptSums {
    fn new(
        members: impl IntoIterator<Item = usize>,
        weights: &[f32],
        lengths_mm: Option<&Arc<[f64]>>,
        min_weight: f32,
    ) -> Self {
        let mut kept = Self::default();
        let mut weight_mm = 0.0;
        for member in members.into_iter().filter(|m| weights[*m] >= min_weight) {
            let weight = f64::from(weights[member]);
            kept.count += 1;
            kept.weight += weight;
            weight_mm += lengths_mm.map_or(0.0, |mm| weight * mm[member]);
        }
        kept.weight_mm = lengths_mm.map(|_| weight_mm);
        kept
    }
}

fn count(
    lines: &Tractogram,
    min_weight: f32,
    lengths_mm: Option<&Arc<[f64]>>,
) -> Vec<BundleCounts> {
    let Some(weights) = lines.per_streamline.get(WEIGHT) else {
        return Vec::new();
    };
    let mut in_one = vec![false; lines.len()];
    let mut all: Vec<BundleCounts> = lines
        .groups
        .iter()
        .map(|(name, members)| {
            members.iter().for_each(|m| in_one[*m as usize] = true);
            let own = members.iter().map(|m| *m as usize);
            BundleCounts {
                group: Some(name.clone()),
                kept: KeptSums::new(own, weights, lengths_mm, min_weight),
                all: members.len() as u64,
            }
        })
        .collect();
    let others = || (0..lines.len()).filter(|i| !in_one[*i]);
    let rest = BundleCounts {
        group: None,
        kept: KeptSums::new(others(), weights, lengths_mm, min_weight),
        all: others().count() as u64,
    };
    if rest.all > 0 || all.is_empty() {
        all.push(rest);
    }
    all
}
