//! What of a document a fit of weights is about.

use super::{ByWeight, PreviousFit, Shown, WEIGHT, Weighed, WeightMap, WeightsKey};
use crate::data::{Gradients, Mask, Tractogram, Volume, VolumeKind};
use crate::solvers::commit::dictionary::Dictionary;
use crate::solvers::commit::model::Intra;
use crate::solvers::commit::samples::Samples;
use crate::solvers::commit::{self, Params};
use crate::state::State;
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::document::Document;
use crate::state::recipes::is_own_mask;
use crate::state::streamlines::{Column, Limit, RegionRule, StreamlineRules, lines_of};
use std::sync::Arc;

/// A scan, what was measured, and its gradients.
pub type Explained<'a> = (&'a Arc<Layer>, &'a Volume, Option<&'a Arc<Gradients>>);

impl Document {
    /// The streamlines that are filtered: the chosen, else the topmost visible ones, else the topmost.
    pub fn filtered(&self) -> Option<(&Arc<Layer>, &Tractogram)> {
        fn of(layer: &Arc<Layer>) -> Option<(&Arc<Layer>, &Tractogram)> {
            Some((layer, lines_of(layer)?))
        }
        let chosen = self.filter.tractogram.and_then(|id| self.layer(id));
        let layers = || self.layers.iter().rev();
        chosen
            .and_then(of)
            .or_else(|| layers().filter(|l| l.display.visible).find_map(of))
            .or_else(|| layers().find_map(of))
    }

    /// Whether weights can be fitted to a layer: a scan with gradients; numbers, for the density model.
    pub fn explains(&self, layer: &Layer) -> bool {
        match &layer.content {
            Content::Scan { dwi, gradients } => {
                gradients.is_some() && dwi.tensors.is_none() || self.density() && dwi.frames == 1
            }
            Content::Image(volume) => {
                let own = self.map_of(layer.id).is_some();
                self.density() && volume.kind == VolumeKind::Scalar && volume.frames == 1 && !own
            }
            _ => false,
        }
    }

    fn density(&self) -> bool {
        let params = self.filter.params.as_ref();
        params.is_some_and(|p| p.model.intra == Intra::Density)
    }

    /// The scan whose signal is explained: the chosen, else the topmost with gradients.
    pub fn explained(&self) -> Option<Explained<'_>> {
        let chosen = self.filter.scan.and_then(|id| self.layer(id));
        let chosen = chosen.filter(|l| self.explains(l));
        let scan = || {
            let layers = self.layers.iter().rev();
            layers
                .clone()
                .find(|l| matches!(l.content, Content::Scan { .. }) && self.explains(l))
                .or_else(|| layers.clone().find(|l| self.explains(l)))
        };
        let layer = chosen.or_else(scan)?;
        match &layer.content {
            Content::Scan { dwi, gradients } => Some((layer, dwi, gradients.as_ref())),
            Content::Image(volume) => Some((layer, volume, None)),
            _ => None,
        }
    }

    pub fn filter_mask(&self) -> Option<(&Arc<Layer>, &Mask)> {
        let mask = |layer: &'_ Arc<Layer>| matches!(layer.content, Content::Mask(_));
        let chosen = self.filter.mask.and_then(|id| self.layer(id));
        let layer = chosen.filter(|l| mask(l)).or_else(|| {
            // The built-in head brings its own, in the command as well.
            let (scan, ..) = self.explained()?;
            let of = self.origin(scan);
            let own = |l: &&Arc<Layer>| mask(l) && is_own_mask(self.origin(l), of);
            self.layers.iter().find(own)
        })?;
        match &layer.content {
            Content::Mask(mask) => Some((layer, mask)),
            _ => None,
        }
    }

    /// Whether a layer may hold peaks: three volumes each, nothing else known.
    pub fn can_be_peaks(&self, layer: &Layer) -> bool {
        let three = |v: &Volume| v.frames > 0 && v.frames.is_multiple_of(3) && v.labels.is_none();
        match &layer.content {
            Content::Image(volume) => three(volume),
            Content::Scan { dwi, gradients } => gradients.is_none() && three(dwi),
            _ => false,
        }
    }

    pub fn filter_peaks(&self) -> Option<(&Arc<Layer>, &Volume)> {
        let layer = self.layer(self.filter.peaks?)?;
        let can = self.can_be_peaks(layer);
        layer.content.volume().filter(|_| can).map(|v| (layer, v))
    }

    /// Shells of the scan that is explained.
    pub fn filter_shells(&self) -> usize {
        self.filter_samples().map_or(1, |s| s.shells.len())
    }

    fn filter_samples(&self) -> Option<Samples> {
        let default_value = commit::Params::defaults_for(1).switches;
        let (_, _, gradients) = self.explained()?;
        Samples::new(gradients?, &[], &default_value).ok()
    }

    /// What of the model the scan does not determine, as a clause.
    pub fn undetermined_model(&self) -> Option<String> {
        let model = self.filter_params().model;
        model.undetermined(&self.filter_samples()?)
    }

    pub fn filter_params(&self) -> Params {
        let default_value = || commit::Params::defaults_for(self.filter_shells());
        self.filter.params.clone().unwrap_or_else(default_value)
    }

    /// Weights that the streamlines of a layer have as they are.
    pub fn weighed_of<'a>(
        &'a self,
        layer: &'a Layer,
    ) -> Option<(&'a Arc<Weighed>, &'a Arc<[f32]>)> {
        let lines = lines_of(layer)?;
        let weighed = self.weighed.get(&layer.id)?;
        Some((weighed, lines.per_streamline.get(WEIGHT)?))
    }

    /// The layer of a map.
    pub fn weight_map(&self, of: LayerId, map: &WeightMap) -> Option<&Arc<Layer>> {
        let is = |l: &&Arc<Layer>| {
            let made = self.map_of(l.id);
            made.is_some_and(|m| m.of == of && m.map == *map)
        };
        self.layers.iter().find(is)
    }

    /// What of a layer's streamlines is seen, as far as weights say it.
    pub fn shown_by_weight(&self, layer: LayerId) -> Shown {
        let sieve = self.bundle.sieve.as_ref().filter(|s| s.layer == layer);
        match sieve.and_then(|s| s.limit(&weight())) {
            None => Shown::Before,
            Some(limit) if limit.low.is_none() => Shown::Difference,
            Some(_) => Shown::After,
        }
    }

    /// The filter of a layer; where it has none, one that leaves all: regions were placed for something else.
    pub fn taken_sieve(&mut self, layer: LayerId) -> StreamlineRules {
        let known = self.bundle.sieve.take().filter(|s| s.layer == layer);
        known.unwrap_or_else(|| {
            let regions = self.regions.iter();
            regions.fold(StreamlineRules::new(layer), |sieve, r| {
                sieve.using(r.id, r.role, RegionRule::Nothing)
            })
        })
    }

    /// Lets those be seen.
    pub fn show_by_weight(&mut self, layer: LayerId, shown: Shown) {
        let sieve = self.taken_sieve(layer);
        let least = self.filter.least(layer);
        let cut = Limit {
            column: weight(),
            low: (shown == Shown::After).then_some(least),
            // All that are less: what regions and a group leave counts for both.
            high: (shown == Shown::Difference).then_some(least.next_down()),
            counting: Default::default(),
        };
        let group =
            matches!(&self.filter.by_weight, ByWeight::On { group: true, layer: l } if *l == layer);
        self.filter.by_weight = match shown {
            Shown::Before if !group => ByWeight::Unset,
            _ => ByWeight::On { layer, group },
        };
        let sieve = sieve.limited(cut);
        let mut regions = self.regions.iter();
        let by_regions = regions.any(|r| sieve.how(r.id, r.role) != RegionRule::Nothing);
        let plain = !by_regions
            && StreamlineRules {
                random_seed: 0,
                uses: Vec::new(),
                ..sieve.clone()
            } == StreamlineRules::new(layer);
        self.bundle.sieve = Some(sieve).filter(|_| !plain);
    }

    /// Shows one group of a layer alone, or all.
    pub fn show_group(&mut self, layer: LayerId, group: Option<String>) {
        let own = group.is_some();
        let sieve = StreamlineRules {
            group,
            ..self.taken_sieve(layer)
        };
        self.bundle.sieve = Some(sieve);
        self.filter.by_weight = ByWeight::On { layer, group: own };
        let shown = self.shown_by_weight(layer);
        self.show_by_weight(layer, shown);
    }

    /// Takes off a layer what Filter has set in its filter, to be set again later.
    pub fn put_weights_away(&mut self) {
        let ByWeight::On { layer, group: own } = self.filter.by_weight else {
            return;
        };
        let shown = self.shown_by_weight(layer);
        let sieve = self.bundle.sieve.as_mut().filter(|s| s.layer == layer);
        let group = sieve.and_then(|sieve| sieve.group.take_if(|_| own));
        self.filter.by_weight = ByWeight::Unset;
        if shown != Shown::Before || group.is_some() {
            self.show_by_weight(layer, Shown::Before);
            self.filter.by_weight = ByWeight::Off {
                layer,
                shown,
                group,
            };
        }
    }

    /// Sets it again, unless the layer is gone or other streamlines have a filter meanwhile.
    pub fn bring_weights_back(&mut self) {
        let ByWeight::Off { .. } = self.filter.by_weight else {
            return;
        };
        let off = std::mem::take(&mut self.filter.by_weight);
        let ByWeight::Off {
            layer,
            shown,
            group,
        } = off
        else {
            return;
        };
        let weighed = self
            .layer(layer)
            .is_some_and(|l| self.weighed_of(l).is_some());
        let other = self.bundle.sieve.as_ref().is_some_and(|s| s.layer != layer);
        if !weighed || other {
            return;
        }
        if group.is_some() {
            self.show_group(layer, group);
        }
        self.show_by_weight(layer, shown);
    }
}

/// Weights as a column of the table.
pub fn weight() -> Column {
    Column::Value(WEIGHT.to_owned())
}

impl State {
    /// Why weights cannot be fitted, in a sentence.
    pub fn cannot_filter(&self) -> Option<String> {
        let document = &self.document;
        if document.filtered().is_none() {
            return Some("There are no streamlines to weigh: track or open some".to_owned());
        }
        if document.explained().is_none() {
            let what = match document.density() {
                true => "There is no image for streamlines to add up to: open one",
                false => "There is no scan with gradients: open one",
            };
            return Some(what.to_owned());
        }
        let refused = self.session.filter.refused.as_ref();
        let requested = crate::state::update::filter_key(self)?;
        refused
            .filter(|(key, _)| *key == requested)
            .map(|r| r.1.clone())
    }

    /// Where the streamlines that are looked at run, in the voxels that were fitted, and their weights; `None`
    /// until that is known.
    pub fn course(&self) -> Option<(&Dictionary, &[f32])> {
        let (layer, lines) = self.document.filtered()?;
        let (_, weights) = self.document.weighed_of(layer)?;
        let working = &self.session.filter;
        let previous = working.held.as_ref();
        let previous = previous.filter(|h| h.layer == layer.id && h.key.lines.same_lines(lines));
        let summed = working.sums.shown().filter(|(key, _)| key.of == lines.id());
        let course = previous.map(|h| &*h.prepared.dictionary);
        Some((course.or(summed.map(|(_, s)| &*s.course))?, weights))
    }

    /// Whether the fit of the streamlines that are looked at, or of more of them, is in memory, from which one
    /// without some goes on.
    pub fn holds_fit(&self) -> bool {
        let looked_at = self.document.filtered();
        let requested = crate::state::update::filter_key(self);
        let previous = self.session.filter.held.as_ref();
        let of = |previous: &PreviousFit, (layer, key): (LayerId, WeightsKey)| {
            let same = previous.key.lines.same_lines(&key.lines);
            let fewer = key.lines.len() < previous.key.lines.len();
            previous.layer == layer && previous.key.same_model(&key) && (same || fewer)
        };
        let requested = looked_at.map(|(layer, _)| layer.id).zip(requested);
        previous
            .zip(requested)
            .is_some_and(|(previous, now)| of(previous, now))
    }

    /// Whether weights are being fitted.
    pub fn is_filtering(&self) -> bool {
        self.session.filter.running.is_some()
    }
}
