//! Inputs of a COMMIT fit in a document.

use super::{
    ByWeight, DisplacedChoice, FittedWeights, PreviousFit, Shown, WEIGHT, WeightMap, WeightsKey,
};
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

/// A scan, its image, and its gradients.
pub type Explained<'a> = (&'a Arc<Layer>, &'a Volume, Option<&'a Arc<Gradients>>);

impl Document {
    /// The streamlines being filtered: the chosen, else the topmost visible, else the topmost.
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

    /// Whether weights can be fitted to a layer: a scan with gradients; for the density model, a scalar image.
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

    /// The scan whose signal is explained: the chosen one, else the topmost with gradients.
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
            // The built-in head has its own mask, also in the command.
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

    /// Whether a layer may hold peaks: three volumes each, without any other known meaning.
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

    /// Shells of the scan being explained.
    pub fn filter_shells(&self) -> usize {
        self.filter_samples().map_or(1, |s| s.shells.len())
    }

    fn filter_samples(&self) -> Option<Samples> {
        let default_value = commit::Params::defaults_for(1).switches;
        let (_, _, gradients) = self.explained()?;
        Samples::new(gradients?, &[], &default_value).ok()
    }

    /// Parts of the model that the scan does not determine, as a clause.
    pub fn undetermined_model(&self) -> Option<String> {
        let model = self.filter_params().model;
        model.undetermined(&self.filter_samples()?)
    }

    pub fn filter_params(&self) -> Params {
        let default_value = || commit::Params::defaults_for(self.filter_shells());
        self.filter.params.clone().unwrap_or_else(default_value)
    }

    /// Weights of a layer's present streamlines.
    pub fn weights_of_layer<'a>(
        &'a self,
        layer: &'a Layer,
    ) -> Option<(&'a Arc<FittedWeights>, &'a Arc<[f32]>)> {
        let lines = lines_of(layer)?;
        let weights = self.weights.get(&layer.id)?;
        Some((weights, lines.per_streamline.get(WEIGHT)?))
    }

    /// Whether the streamlines of a layer have weights as they are.
    fn has_weights(&self, layer: LayerId) -> bool {
        let layer = self.layer(layer);
        layer.is_some_and(|layer| self.weights_of_layer(layer).is_some())
    }

    /// The layer of a weight map.
    pub fn weight_map(&self, of: LayerId, map: &WeightMap) -> Option<&Arc<Layer>> {
        let is = |l: &&Arc<Layer>| {
            let made = self.map_of(l.id);
            made.is_some_and(|m| m.of == of && m.map == *map)
        };
        self.layers.iter().find(is)
    }

    /// The visible streamlines of a layer, as far as weights decide.
    pub fn shown_by_weight(&self, layer: LayerId) -> Shown {
        let rules = self.bundle.rules.as_ref().filter(|s| s.layer == layer);
        match rules.and_then(|s| s.limit(&weight())) {
            None => Shown::Before,
            Some(limit) if limit.low.is_none() => Shown::Difference,
            Some(_) => Shown::After,
        }
    }

    /// The rules of a layer; if it has none, rules that keep everything: regions were placed for another purpose.
    fn take_rules(&mut self, layer: LayerId) -> StreamlineRules {
        self.note_displaced(layer);
        let known = self.bundle.rules.take().filter(|s| s.layer == layer);
        known.unwrap_or_else(|| {
            let regions = self.regions.iter();
            regions.fold(StreamlineRules::new(layer), |rules, r| {
                rules.using(r.id, r.role, RegionRule::Nothing)
            })
        })
    }

    /// Notes what Filter shows of another layer, whose filter is replaced by one of this layer.
    fn note_displaced(&mut self, layer: LayerId) {
        self.filter.displaced.remove(&layer);
        let (other, shown, group) = match &self.filter.by_weight {
            ByWeight::Unset => return,
            ByWeight::On { layer, group } => {
                let rules = self.bundle.rules.as_ref().filter(|s| s.layer == *layer);
                let own = rules.and_then(|s| s.group.clone()).filter(|_| *group);
                (*layer, self.shown_by_weight(*layer), own)
            }
            ByWeight::Off {
                layer,
                shown,
                group,
            } => (*layer, *shown, group.clone()),
        };
        if other != layer && (shown != Shown::Before || group.is_some()) {
            let choice = DisplacedChoice { shown, group };
            self.filter.displaced.insert(other, choice);
        }
    }

    /// Shows the streamlines above the cut, below it, or all.
    pub fn show_by_weight(&mut self, layer: LayerId, shown: Shown) {
        let rules = self.take_rules(layer);
        let least = self.filter.min_weight(layer);
        let cut = Limit {
            column: weight(),
            low: (shown == Shown::After).then_some(least),
            // All weights below the cut: regions and a group apply in both cases.
            high: (shown == Shown::Difference).then_some(least.next_down()),
            counting: Default::default(),
        };
        let group =
            matches!(&self.filter.by_weight, ByWeight::On { group: true, layer: l } if *l == layer);
        self.filter.by_weight = match shown {
            Shown::Before if !group => ByWeight::Unset,
            _ => ByWeight::On { layer, group },
        };
        let rules = rules.limited(cut);
        let plain = self.is_plain(&rules);
        self.bundle.rules = Some(rules).filter(|_| !plain);
    }

    /// Whether a filter leaves all streamlines.
    fn is_plain(&self, rules: &StreamlineRules) -> bool {
        let mut regions = self.regions.iter();
        let by_regions = regions.any(|r| rules.how(r.id, r.role) != RegionRule::Nothing);
        !by_regions
            && StreamlineRules {
                random_seed: 0,
                uses: Vec::new(),
                ..rules.clone()
            } == StreamlineRules::new(rules.layer)
    }

    /// Whether a filter holds rules that Filter has not set.
    fn has_own_rules(&self, rules: &StreamlineRules) -> bool {
        let ByWeight::On { layer, group } = self.filter.by_weight else {
            return true;
        };
        let limit = Limit {
            column: weight(),
            low: None,
            high: None,
            counting: Default::default(),
        };
        let mut others = rules.clone().limited(limit);
        others.group.take_if(|_| group);
        layer != rules.layer || !self.is_plain(&others)
    }

    /// Shows only one group of a layer, or all.
    pub fn show_group(&mut self, layer: LayerId, group: Option<String>) {
        let own = group.is_some();
        let rules = StreamlineRules {
            group,
            ..self.take_rules(layer)
        };
        self.bundle.rules = Some(rules);
        self.filter.by_weight = ByWeight::On { layer, group: own };
        let shown = self.shown_by_weight(layer);
        self.show_by_weight(layer, shown);
    }

    /// Removes Filter's settings from a layer's rules, to be restored later.
    pub fn suspend_rules(&mut self) {
        let ByWeight::On { layer, group: own } = self.filter.by_weight else {
            return;
        };
        let shown = self.shown_by_weight(layer);
        let rules = self.bundle.rules.as_mut().filter(|s| s.layer == layer);
        let group = rules.and_then(|rules| rules.group.take_if(|_| own));
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

    /// Restores what was shown of the current streamlines before other streamlines were selected, unless those have a
    /// filter of the user.
    pub fn restore_displaced_rules(&mut self) {
        let Some(id) = self.filtered().map(|(layer, _)| layer.id) else {
            return;
        };
        let other = self.bundle.rules.as_ref().filter(|s| s.layer != id);
        if !self.has_weights(id) || other.is_some_and(|rules| self.has_own_rules(rules)) {
            return;
        }
        let Some(choice) = self.filter.displaced.remove(&id) else {
            return;
        };
        if choice.group.is_some() {
            self.show_group(id, choice.group);
        }
        self.show_by_weight(id, choice.shown);
    }

    /// Restores them, unless the layer is gone or other streamlines have rules meanwhile.
    pub fn restore_suspended_rules(&mut self) {
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
        let other = self.bundle.rules.as_ref().is_some_and(|s| s.layer != layer);
        if !self.has_weights(layer) || other {
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
    /// Why weights cannot be fitted, as a sentence.
    pub fn cannot_filter(&self) -> Option<String> {
        let document = &self.document;
        if document.filtered().is_none() {
            return Some("There are no streamlines to fit: track or open some".to_owned());
        }
        if document.explained().is_none() {
            let what = match document.density() {
                true => "There is no image for streamlines to add up to: open one",
                false => "There is no scan with gradients: open one",
            };
            return Some(what.to_owned());
        }
        let refused = self.session.filter.refused.as_ref();
        let requested = crate::state::filter::update::key(self)?;
        refused
            .filter(|(key, _)| *key == requested)
            .map(|r| r.1.clone())
    }

    /// The course of the filtered streamlines through the fitted voxels, and their weights; `None` until known.
    pub fn course(&self) -> Option<(&Dictionary, &[f32])> {
        let (layer, lines) = self.document.filtered()?;
        let (_, weights) = self.document.weights_of_layer(layer)?;
        let working = &self.session.filter;
        let previous = working.previous_fit.as_ref();
        let previous = previous.filter(|h| h.layer == layer.id && h.key.lines.same_lines(lines));
        let summed = working.sums.shown().filter(|(key, _)| key.of == lines.id());
        let course = previous.map(|h| &*h.prepared.dictionary);
        Some((course.or(summed.map(|(_, s)| &*s.course))?, weights))
    }

    /// Whether the fit of the filtered streamlines, or of a superset, is in memory, so that a fit without some of them
    /// can continue from it.
    pub fn holds_fit(&self) -> bool {
        let looked_at = self.document.filtered();
        let requested = crate::state::filter::update::key(self);
        let previous = self.session.filter.previous_fit.as_ref();
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
