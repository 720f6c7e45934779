//! Inputs of a COMMIT fit in a document.

use super::{
    ByWeight, FittedWeights, GivenPeaks, PeakInput, PreviousFit, ShownStreamlines, WEIGHT,
    WeightMap, WeightsKey, weight,
};
use crate::data::peak_field::dyads_prefix;
use crate::data::{DataId, Gradients, Mask, PeakField, Shared, Tractogram, Volume, VolumeKind};
use crate::solvers::commit::dictionary::Dictionary;
use crate::solvers::commit::model::Intra;
use crate::solvers::commit::samples::Samples;
use crate::solvers::commit::solver::Ended;
use crate::solvers::commit::{self, Params};
use crate::state::State;
use crate::state::core::layer::{Content, Layer, LayerId, OriginId};
use crate::state::document::Document;
use crate::state::origin::Origin;
use crate::state::origin::commands::is_own_mask;
use crate::state::streamlines::in_place::all_streamlines_of;
use crate::state::streamlines::{RegionRule, StreamlineRules, ValueLimits};
use std::sync::Arc;

/// A scan, its image, and its gradients.
pub type ScanInput<'a> = (&'a Arc<Layer>, &'a Volume, Option<&'a Arc<Gradients>>);

impl Document {
    /// The streamlines being filtered: the chosen, else the topmost visible, else the topmost. Those that stay in their
    /// file are here without their points.
    pub fn filtered(&self) -> Option<(&Arc<Layer>, &Tractogram)> {
        fn with_lines(layer: &Arc<Layer>) -> Option<(&Arc<Layer>, &Tractogram)> {
            Some((layer, all_streamlines_of(layer)?))
        }
        let chosen = self.filter.tractogram.and_then(|id| self.layer(id));
        let layers = || self.layers.iter().rev();
        chosen
            .and_then(with_lines)
            .or_else(|| layers().filter(|l| l.display.visible).find_map(with_lines))
            .or_else(|| layers().find_map(with_lines))
    }

    /// Whether weights can be fitted to a layer: a scan with gradients; for the density model, a scalar image.
    pub fn explains(&self, layer: &Layer) -> bool {
        match &layer.content {
            Content::Scan { dwi, gradients } => {
                gradients.is_some() && dwi.tensors.is_none() || self.density() && dwi.frames == 1
            }
            Content::Image(volume) => {
                let own = self.weight_map_recipe(layer.id).is_some();
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
    pub fn explained(&self) -> Option<ScanInput<'_>> {
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
            let scan_origin = self.origin(scan);
            let own = |l: &&Arc<Layer>| mask(l) && is_own_mask(self.origin(l), scan_origin);
            self.layers.iter().find(own)
        })?;
        match &layer.content {
            Content::Mask(mask) => Some((layer, mask)),
            _ => None,
        }
    }

    /// Whether a layer may hold peaks: three volumes each, without any other known meaning. Maps of the program are no
    /// peaks: those of the distributions are a choice of their own. FSL's dyads are not along the axes of the world.
    pub fn can_be_peaks(&self, layer: &Layer) -> bool {
        let three = |v: &Volume| {
            let is_plain = v.kind == VolumeKind::Scalar && v.labels.is_none();
            is_plain && v.frames > 0 && v.frames.is_multiple_of(3)
        };
        let name = self.path(layer).and_then(|path| path.file_name());
        let name = name.unwrap_or_default().to_string_lossy();
        let is_computed = matches!(self.origins.base(layer.origin), Origin::Computed(_));
        if is_computed || dyads_prefix(&name).is_some() {
            return false;
        }
        match &layer.content {
            Content::Image(volume) => three(volume),
            Content::Scan { dwi, gradients } => gradients.is_none() && three(dwi),
            _ => false,
        }
    }

    /// The image whose peaks the next fit takes.
    pub fn peak_image(&self) -> Option<(&Arc<Layer>, &Volume)> {
        let Some(GivenPeaks::Image(id)) = self.filter.peaks else {
            return None;
        };
        let layer = self.layer(id)?;
        let can = self.can_be_peaks(layer);
        layer.content.volume().filter(|_| can).map(|v| (layer, v))
    }

    /// Whether the next fit takes the peaks of the distributions: only water around fibres has peaks.
    pub fn takes_fod_peaks(&self) -> bool {
        let is_chosen = matches!(self.filter.peaks, Some(GivenPeaks::Distributions(())));
        is_chosen && !self.filter_params().model.extra.is_empty()
    }

    /// The peaks of the distributions that exist, with the origin of these.
    pub fn fod_peaks(&self) -> Option<(OriginId, &PeakField)> {
        let result = self.distributions.result.as_ref()?;
        Some((result.origin, result.fods.peaks.as_ref()?))
    }

    /// The peaks that the next fit takes, with the id of their values; `None`: those of tensors.
    pub fn filter_peaks(&self) -> Option<(PeakInput, DataId)> {
        if self.takes_fod_peaks() {
            let (origin, peaks) = self.fod_peaks()?;
            return Some((GivenPeaks::Distributions(origin), peaks.id()));
        }
        let (layer, volume) = self.peak_image()?;
        Some((GivenPeaks::Image(layer.id), volume.id()))
    }

    /// Whether the peaks of distributions are chosen that do not exist.
    pub fn lacks_fod_peaks(&self) -> bool {
        self.takes_fod_peaks() && self.fod_peaks().is_none()
    }

    /// Shells of the scan being explained.
    pub fn filter_shells(&self) -> usize {
        self.filter_samples().map_or(1, |s| s.shells.len())
    }

    /// Whether the scan has a single shell, which does not determine every model.
    pub fn has_one_shell(&self) -> bool {
        self.filter_samples().is_some_and(|s| s.shells.len() == 1)
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
    ) -> Option<(&'a Arc<FittedWeights>, &'a Shared<f32>)> {
        let lines = all_streamlines_of(layer)?;
        let weights = self.weights.get(&layer.id)?;
        Some((weights, lines.per_streamline.get(WEIGHT)?))
    }

    /// Whether the streamlines of a layer have weights as they are.
    fn has_weights(&self, layer: LayerId) -> bool {
        let layer = self.layer(layer);
        layer.is_some_and(|layer| self.weights_of_layer(layer).is_some())
    }

    /// The layer of a weight map.
    pub fn weight_map(&self, layer: LayerId, map: &WeightMap) -> Option<&Arc<Layer>> {
        let is = |l: &&Arc<Layer>| {
            let recipe = self.weight_map_recipe(l.id);
            recipe.is_some_and(|m| m.layer == layer && m.map == *map)
        };
        self.layers.iter().find(is)
    }

    /// The visible streamlines of a layer, as far as weights decide.
    pub fn shown_by_weight(&self, layer: LayerId) -> ShownStreamlines {
        let rules = self.streamlines.rules_of(layer);
        match rules.and_then(|s| s.limit(&weight())) {
            None => ShownStreamlines::Before,
            Some(limit) if limit.low.is_none() => ShownStreamlines::Difference,
            Some(_) => ShownStreamlines::After,
        }
    }

    /// The rules of a layer; if it has none, rules that keep everything: regions were placed for another purpose.
    fn rules_or_all(&self, layer: LayerId) -> StreamlineRules {
        let known = self.streamlines.rules_of(layer).cloned();
        known.unwrap_or_else(|| {
            let regions = self.regions.iter();
            regions.fold(StreamlineRules::new(layer), |rules, r| {
                rules.using(r.id, r.role, RegionRule::Nothing)
            })
        })
    }

    /// Whether a layer has rules of the user, apart from Filter's settings in them.
    fn has_own_rules(&self, layer: LayerId) -> bool {
        match self.filter.by_weight_of(layer) {
            Some(ByWeight::On { has_own_rules, .. }) => *has_own_rules,
            _ => self.streamlines.rules_of(layer).is_some(),
        }
    }

    /// Shows the streamlines above the cut, below it, or all.
    pub fn show_by_weight(&mut self, layer: LayerId, shown: ShownStreamlines) {
        let by_weight = self.filter.by_weight_of(layer);
        let group = matches!(by_weight, Some(ByWeight::On { group: true, .. }));
        let has_own_rules = self.has_own_rules(layer);
        let min_weight = self.filter.min_weight(layer);
        let cut = ValueLimits {
            column: weight(),
            low: (shown == ShownStreamlines::After).then_some(min_weight),
            // All weights below the cut: regions and a group apply in both cases.
            high: (shown == ShownStreamlines::Difference).then_some(min_weight.next_down()),
            counting: Default::default(),
        };
        let rules = self.rules_or_all(layer).limited(cut);
        if !has_own_rules && self.is_plain(&rules) {
            self.streamlines.remove_rules(layer);
        } else {
            self.streamlines.set_rules(rules);
        }
        let by_weight = match shown {
            ShownStreamlines::Before if !group => ByWeight::Unset,
            _ => ByWeight::On {
                group,
                has_own_rules,
            },
        };
        self.filter.set_by_weight(layer, by_weight);
    }

    /// Whether a filter leaves all streamlines.
    fn is_plain(&self, rules: &StreamlineRules) -> bool {
        let mut regions = self.regions.iter();
        let by_regions = regions.any(|r| rules.region_rule(r.id, r.role) != RegionRule::Nothing);
        !by_regions
            && StreamlineRules {
                random_seed: 0,
                uses: Vec::new(),
                ..rules.clone()
            } == StreamlineRules::new(rules.layer)
    }

    /// Shows only one group of a layer, or all.
    pub fn show_group(&mut self, layer: LayerId, group: Option<String>) {
        let has_own_rules = self.has_own_rules(layer);
        let by_weight = ByWeight::On {
            group: group.is_some(),
            has_own_rules,
        };
        let rules = StreamlineRules {
            group,
            ..self.rules_or_all(layer)
        };
        self.streamlines.set_rules(rules);
        self.filter.set_by_weight(layer, by_weight);
        self.show_by_weight(layer, self.shown_by_weight(layer));
    }

    /// Removes Filter's settings from the rules of all layers, to be restored later.
    pub fn suspend_rules(&mut self) {
        let all = self.filter.each_by_weight();
        let on = all.filter_map(|(layer, by_weight)| match by_weight {
            ByWeight::On { group, .. } => Some((layer, *group)),
            _ => None,
        });
        for (layer, own) in on.collect::<Vec<_>>() {
            let shown = self.shown_by_weight(layer);
            let mut rules = self.rules_or_all(layer);
            let group = rules.group.take_if(|_| own);
            if shown == ShownStreamlines::Before && group.is_none() {
                self.filter.set_by_weight(layer, ByWeight::Unset);
                continue;
            }
            let has_own_rules = self.has_own_rules(layer);
            let on = ByWeight::On {
                group: false,
                has_own_rules,
            };
            self.filter.set_by_weight(layer, on);
            self.streamlines.set_rules(rules);
            self.show_by_weight(layer, ShownStreamlines::Before);
            let off = ByWeight::Off { shown, group };
            self.filter.set_by_weight(layer, off);
        }
    }

    /// Restores them; those of a layer whose weights are gone wait until it has some.
    pub fn restore_suspended_rules(&mut self) {
        let all = self.filter.each_by_weight();
        let off = all.filter_map(|(layer, by_weight)| match by_weight {
            ByWeight::Off { shown, group } => Some((layer, *shown, group.clone())),
            _ => None,
        });
        for (layer, shown, group) in off.collect::<Vec<_>>() {
            if !self.has_weights(layer) {
                continue;
            }
            let own = self
                .streamlines
                .rules_of(layer)
                .and_then(|s| s.limit(&weight()));
            if own.is_some() {
                // The user limited the weights in another task meanwhile.
                self.filter.set_by_weight(layer, ByWeight::Unset);
                continue;
            }
            if group.is_some() {
                self.show_group(layer, group);
            }
            self.show_by_weight(layer, shown);
        }
    }
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
                true => "No open image holds values that the streamlines can sum to: open one",
                false => "There is no scan with gradients: open one",
            };
            return Some(what.to_owned());
        }
        if self.awaits_fod_peaks() {
            const AWAITED: &str = "The fibre orientation distributions are still being estimated: wait for their \
                                   peaks, or choose the peaks of the tensors";
            return Some(AWAITED.to_owned());
        }
        if document.lacks_fod_peaks() {
            const MISSING: &str = "There are no fibre orientation distributions with peaks: estimate them in Track, or \
                                   choose the peaks of the tensors";
            return Some(MISSING.to_owned());
        }
        let refused = self.runtime.filter.refused.as_ref();
        let requested = crate::state::filter::update::key(self)?;
        refused
            .filter(|(key, _)| *key == requested)
            .map(|r| r.1.clone())
    }

    /// Whether distributions are being estimated whose peaks the next fit takes.
    pub(in crate::state) fn awaits_fod_peaks(&self) -> bool {
        self.runtime.tensors.fods.running().is_some() && self.document.takes_fod_peaks()
    }

    /// The course of the filtered streamlines through the fitted voxels, and their weights; `None` until known.
    pub fn course(&self) -> Option<(&Dictionary, &[f32])> {
        let (layer, lines) = self.document.filtered()?;
        let (_, weights) = self.document.weights_of_layer(layer)?;
        let runtime = &self.runtime.filter;
        let previous = runtime.previous_fit.as_ref();
        let previous =
            previous.filter(|h| h.layer == layer.id && h.key.tractogram.same_lines(lines));
        let summed = runtime
            .sums
            .shown()
            .filter(|(key, _)| key.tractogram == lines.id());
        let course = previous.map(|h| &*h.prepared.dictionary);
        Some((course.or(summed.map(|(_, s)| &*s.course))?, weights))
    }

    /// Whether the fit of the filtered streamlines, or of a superset, is in memory, so that a fit without some of them
    /// can continue from it.
    pub fn holds_fit(&self) -> bool {
        let looked_at = self.document.filtered();
        let requested = crate::state::filter::update::key(self);
        let previous = self.runtime.filter.previous_fit.as_ref();
        let is_same_fit = |previous: &PreviousFit, (layer, key): (LayerId, WeightsKey)| {
            let same = previous.key.tractogram.same_lines(&key.tractogram);
            let fewer = key.tractogram.len() < previous.key.tractogram.len();
            previous.layer == layer && previous.key.same_model(&key) && (same || fewer)
        };
        let requested = looked_at.map(|(layer, _)| layer.id).zip(requested);
        previous
            .zip(requested)
            .is_some_and(|(previous, now)| is_same_fit(previous, now))
    }

    /// Whether the weights shown are those of an unfinished fit of the present streamlines, scan and model, which is in
    /// memory.
    pub fn can_continue_fit(&self) -> bool {
        let Some((layer, lines)) = self.document.filtered() else {
            return false;
        };
        let weights = self.document.weights_of_layer(layer).map(|(w, _)| w);
        let unfinished = weights.filter(|w| {
            let ended = matches!(w.figures.ended, Ended::Cancelled | Ended::Iterations);
            ended && w.weighted == lines.id()
        });
        let previous = self.runtime.filter.previous_fit.as_ref();
        let Some((weights, previous)) = unfinished.zip(previous).filter(|_| self.holds_fit())
        else {
            return false;
        };
        // Undo may show the weights of another run than the last.
        let is_last = weights.figures.objective.to_bits() == previous.objective.to_bits();
        let penalties = |p: &Params| (p.lasso, p.group);
        let fit = self.document.origins.weight_fit(weights.fit);
        let now = penalties(&self.document.filter_params());
        is_last && fit.is_some_and(|fit| penalties(&fit.params) == now)
    }

    /// Why the last fit of the filtered streamlines gave no result.
    pub fn why_fit_failed(&self) -> Option<&str> {
        let (layer, _) = self.document.filtered()?;
        let failed = self.runtime.filter.failed.as_ref();
        let own = failed.filter(|(id, _)| *id == layer.id);
        own.map(|(_, why)| why.as_str())
    }

    /// Whether weights are being fitted.
    pub fn is_filtering(&self) -> bool {
        self.runtime.filter.running.is_some()
    }
}
