//! Questions to the state about the repetitions of the live pathway.

use crate::data::{Mask, Shape};
use crate::parameters;
use crate::solvers::pathway::Range90;
use crate::state::command_line::NoCommand;
use crate::state::core::layer::Content;
use crate::state::pathways::jobs::{
    PATHWAY_NOISE, PATHWAY_NOISE_DISTANCES, PathwayNoise, RepeatedScan,
};
use crate::state::pathways::{
    DistanceTarget, NO_REPETITIONS, NoiseDistances, PathwayKey, PathwayNoiseKey, SurfaceInput,
    TargetMask, too_few,
};
use crate::state::track::types::odf::Model;
use crate::state::{Document, State, Task};
use std::path::PathBuf;
use std::sync::Arc;

/// Number of repetitions in the first batch. With fewer, the new share is less informative than the earlier one that it
/// replaces.
pub const FIRST_BATCH: usize = 10;
/// Name of the surface of Segment among the objects whose distance can be measured.
pub const SURFACE: &str = "Surface of Segment";
const NO_SCAN: &str = "Repetitions need the residuals of a fit: these tensors come from a file, open their scan instead";
const NO_FOD_SCAN: &str = "Repetitions need the residuals of a deconvolution: these distributions come from a file, estimate \
                           those of the scan instead";
const CLOSED_SCAN: &str =
    "Repetitions need the scan of the fit or the deconvolution, and it is no longer open";

impl Document {
    /// The scan behind the model of pathways; `None` if it is not open, or the model comes from a file.
    pub fn repeated_scan(&self) -> Option<RepeatedScan> {
        match self.pathways.model {
            Model::Tensors => self.resample().map(|scan| RepeatedScan::Tensors {
                dwi: scan.dwi,
                gradients: scan.gradients,
                fit: scan.params,
            }),
            Model::Distributions => {
                let scan = self.fod_resample();
                scan.map(|scan| RepeatedScan::Distributions(Box::new(scan)))
            }
        }
    }

    /// Whether [`Self::repeated_scan`] has one, without collecting its inputs.
    fn has_repeated_scan(&self) -> bool {
        let scan = match self.pathways.model {
            Model::Tensors => self.tensors.as_ref().map(|tensors| tensors.key.scan),
            Model::Distributions => {
                let result = self.distributions.result.as_ref();
                let estimated = result.filter(|result| !result.key.is_read());
                estimated.map(|result| result.key.image)
            }
        };
        let Some(scan) = scan else {
            return false;
        };
        self.layers.iter().any(|layer| match &layer.content {
            Content::Scan { dwi, gradients } => gradients.is_some() && dwi.id() == scan,
            _ => false,
        })
    }

    /// The name of an object whose distance can be measured; empty if it is gone.
    pub fn distance_target_name(&self, target: DistanceTarget) -> String {
        let layer = match target {
            DistanceTarget::Surface => return SURFACE.to_owned(),
            DistanceTarget::Layer(id) => self.layer(id),
        };
        layer.map_or_else(String::new, |layer| self.distinct_layer_name(layer))
    }

    /// Why the pathway cannot be repeated, whatever its regions are; `None` if it can.
    pub fn why_no_repetitions(&self) -> Option<&'static str> {
        let (is_from_file, from_file) = match self.pathways.model {
            Model::Tensors => {
                let tensors = self.tensors.as_ref()?;
                (self.origins.is_imported(tensors.origin), NO_SCAN)
            }
            Model::Distributions => {
                let result = self.distributions.result.as_ref()?;
                (result.key.is_read(), NO_FOD_SCAN)
            }
        };
        match self.has_repeated_scan() {
            true => None,
            false if is_from_file => Some(from_file),
            false => Some(CLOSED_SCAN),
        }
    }
}

impl State {
    /// The key of all requested repetitions; `None` unless they are switched on and shown, and the pathway is final and
    /// its scan is open.
    pub fn pathway_noise_key(&self) -> Option<PathwayNoiseKey> {
        let settings = &self.document.pathways;
        // A replay repeats the stored results only.
        let strict = self.runtime.sessions.strict;
        let is_shown = self.view.task == Task::Pathways && settings.noise.repeats && !strict;
        let pathway = self.final_pathway().filter(|_| is_shown)?;
        if self.document.why_no_repetitions().is_some() {
            return None;
        }
        let params = parameters::sanitized(&settings.noise.params);
        Some(PathwayNoiseKey {
            pathway: PathwayKey::from_result(pathway),
            epsilon: settings.epsilon,
            random_seed: params.random_seed,
            repetitions: params.repetitions,
        })
    }

    /// The shown repetitions; `None` until there are some, and in other tasks.
    pub fn pathway_noise(&self) -> Option<&Arc<PathwayNoise>> {
        let is_shown = self.view.task == Task::Pathways && self.document.pathways.noise.repeats;
        let live = self.runtime.pathways.noise.live.value();
        live.filter(|_| is_shown)
    }

    /// The shown repetitions if they are those of the present pathway and settings, even if more are to come.
    pub fn current_pathway_noise(&self) -> Option<&Arc<PathwayNoise>> {
        let requested = self.pathway_noise_key()?;
        self.pathway_noise()
            .filter(|noise| requested.extends(&noise.key))
    }

    /// Whether repetitions are shown that belong to an earlier pathway or earlier settings.
    pub fn pathway_noise_is_stale(&self) -> bool {
        self.pathway_noise().is_some() && self.current_pathway_noise().is_none()
    }

    /// How many repetitions there are, and how many are requested, while more of them are to come.
    pub fn pathway_noise_growth(&self) -> Option<(usize, usize)> {
        let requested = self.pathway_noise_key()?;
        let done = self
            .current_pathway_noise()
            .map_or(0, |noise| noise.key.repetitions);
        let is_growing = done < requested.repetitions && self.why_pathway_noise_rests().is_none();
        is_growing.then_some((done, requested.repetitions))
    }

    /// Whether a batch of repetitions, or its distances, are being computed while more are to come.
    pub fn is_repeating_pathway(&self) -> bool {
        let jobs = &self.runtime.jobs;
        self.pathway_noise_growth().is_some()
            && jobs.is_running(&[PATHWAY_NOISE, PATHWAY_NOISE_DISTANCES])
    }

    /// The key after the next batch, or of all requested repetitions once they are computed.
    pub(in crate::state) fn next_pathway_noise_key(&self) -> Option<PathwayNoiseKey> {
        let all = self.pathway_noise_key()?;
        let next = match self.current_pathway_noise() {
            None => FIRST_BATCH,
            Some(noise) => noise.key.repetitions + noise.next_batch,
        };
        let repetitions = next.min(all.repetitions);
        Some(PathwayNoiseKey { repetitions, ..all })
    }

    /// Why no more repetitions are computed although they are requested: they failed, or the user stopped them.
    pub fn why_pathway_noise_rests(&self) -> Option<&str> {
        let live = &self.runtime.pathways.noise.live;
        let next = self.next_pathway_noise_key()?;
        live.has_failed_for(&next).then(|| live.failure()).flatten()
    }

    /// Whether the user stopped the repetitions before all were computed.
    pub fn is_pathway_noise_stopped(&self) -> bool {
        self.runtime.pathways.noise.was_stopped && self.why_pathway_noise_rests().is_some()
    }

    /// Why the repetitions cannot be kept or exported; `None` if they can.
    pub fn why_no_pathway_noise(&self) -> Option<&str> {
        let document = &self.document;
        if !document.pathways.noise.repeats {
            return Some("Repeat the pathway first");
        }
        if let Some(why) = document.why_no_repetitions().or(self.why_not_final()) {
            return Some(why);
        }
        match self.current_pathway_noise() {
            _ if self.pathway_noise_growth().is_some() => {
                Some("Waiting for all repetitions; Esc stops them and keeps the finished ones")
            }
            None => Some(self.why_pathway_noise_rests().unwrap_or(NO_REPETITIONS)),
            Some(_) => None,
        }
    }

    /// The mask whose distance from the repetitions is requested.
    pub fn pathway_noise_target(&self) -> TargetMask<'_> {
        self.target_mask(self.document.pathways.noise.distance_to)
    }

    /// The mask of an object whose distance can be measured.
    pub fn target_mask(&self, target: DistanceTarget) -> TargetMask<'_> {
        let layer = match target {
            DistanceTarget::Layer(id) => self.document.layer(id),
            DistanceTarget::Surface => {
                return match &self.runtime.pathways.noise.surface {
                    SurfaceInput::Nothing => TargetMask::Nothing,
                    SurfaceInput::Awaited { leaks } => TargetMask::Awaited { leaks: *leaks },
                    SurfaceInput::Present { region, .. } => match &*region.shape {
                        Shape::Mask(mask) => TargetMask::Present(mask),
                        Shape::Sphere { .. } | Shape::Box { .. } => TargetMask::Nothing,
                    },
                };
            }
        };
        match layer.map(|layer| &layer.content) {
            Some(Content::Mask(mask)) => TargetMask::Present(mask),
            _ => TargetMask::Nothing,
        }
    }

    /// The name of the object whose distance is requested; empty if it is gone.
    pub fn pathway_noise_target_name(&self) -> String {
        self.target_name(self.document.pathways.noise.distance_to)
    }

    /// The name of an object whose distance can be measured; empty if it is gone.
    pub fn target_name(&self, target: DistanceTarget) -> String {
        self.document.distance_target_name(target)
    }

    /// The file of the mask of such an object, for a command; `None` without a mask. Fails if only the mask has no file.
    pub(in crate::state) fn target_file(
        &self,
        target: DistanceTarget,
    ) -> Result<Option<PathBuf>, NoCommand> {
        let TargetMask::Present(mask) = self.target_mask(target) else {
            return Ok(None);
        };
        match self.document.mask_file(mask) {
            Some(file) => Ok(Some(file.to_owned())),
            None => Err(NoCommand::DistanceWithoutFile(self.target_name(target))),
        }
    }

    /// The repetitions and the mask between which distances are requested.
    pub(in crate::state) fn measured_pathway_noise(&self) -> Option<(&Arc<PathwayNoise>, &Mask)> {
        let noise = self.current_pathway_noise()?;
        match self.pathway_noise_target() {
            TargetMask::Present(mask) if Range90::has_percentiles(noise.key.repetitions) => {
                Some((noise, mask))
            }
            _ => None,
        }
    }

    /// Distances of the shown repetitions, or of the first of them while those of all are measured; `None` until they are
    /// measured.
    pub fn pathway_noise_distances(&self) -> Option<&Arc<NoiseDistances>> {
        let (noise, mask) = self.measured_pathway_noise()?;
        let live = &self.runtime.pathways.noise.distances;
        let (key, distances) = live.shown()?;
        let is_complete = key.share == noise.share.id();
        let is_shown =
            is_complete || live.running().is_some() || self.pathway_noise_growth().is_some();
        (key.mask == mask.id() && is_shown).then_some(distances)
    }

    /// Why there are no distances; `None` if there are, or they are being measured.
    pub fn why_no_pathway_noise_distances(&self) -> Option<String> {
        if let Some(why) = self.pathway_noise_target().why_none() {
            return Some(why.to_owned());
        }
        let is_growing = self.pathway_noise_growth().is_some();
        // Measurements that failed are a note with a button.
        match self.current_pathway_noise() {
            Some(noise) if Range90::has_percentiles(noise.key.repetitions) => None,
            None if !is_growing => {
                let why = self.why_no_pathway_noise().unwrap_or(NO_REPETITIONS);
                Some(why.to_owned())
            }
            _ if is_growing => Some("Too few repetitions for distances yet".to_owned()),
            _ => Some(too_few()),
        }
    }

    /// Why the distances of the shown repetitions were not measured; `None` unless that failed or the user stopped it.
    pub fn pathway_noise_distances_failure(&self) -> Option<&str> {
        let measured = self.pathway_noise_distances().is_some();
        let live = &self.runtime.pathways.noise.distances;
        let failure = live
            .failure()
            .filter(|_| !measured && live.running().is_none());
        self.measured_pathway_noise().and(failure)
    }

    /// How many of the repetitions contain a voxel at the crosshair, and how many there are.
    pub fn pathway_noise_at_crosshair(&self) -> Option<(usize, usize)> {
        let noise = self.current_pathway_noise()?;
        let share = noise.share.nearest(0, self.view.crosshair)?;
        let all = noise.key.repetitions;
        Some(((f64::from(share) * all as f64).round() as usize, all))
    }
}
