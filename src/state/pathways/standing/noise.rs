//! Questions to the state about the repetitions of the live pathway.

use crate::data::{Mask, Shape};
use crate::parameters;
use crate::state::core::layer::Content;
use crate::state::core::text::counted;
use crate::state::pathways::jobs::{Noise, NoiseDistances, RepeatedScan};
use crate::state::pathways::{
    DistanceTarget, MIN_FOR_RANGES, NoiseKey, PathwayKey, SurfaceInput, TargetMask,
};
use crate::state::track::types::odf::Model;
use crate::state::{Document, State, Task};
use std::sync::Arc;

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
        match self.repeated_scan() {
            Some(_) => None,
            None if is_from_file => Some(from_file),
            None => Some(CLOSED_SCAN),
        }
    }
}

impl State {
    /// The key of all requested repetitions; `None` unless they are switched on and shown, and the pathway is final and
    /// its scan is there.
    pub fn noise_key(&self) -> Option<NoiseKey> {
        let settings = &self.document.pathways;
        // A replay repeats the stored results only.
        let strict = self.runtime.sessions.strict;
        let is_shown = self.view.task == Task::Pathways && settings.noise.repeats && !strict;
        let pathway = self.final_pathway().filter(|_| is_shown)?;
        if self.document.why_no_repetitions().is_some() {
            return None;
        }
        let params = parameters::sanitized(&settings.noise.params);
        Some(NoiseKey {
            pathway: PathwayKey::from_result(pathway),
            epsilon: settings.epsilon,
            random_seed: params.random_seed,
            repetitions: params.repetitions,
        })
    }

    /// The shown repetitions; `None` until there are some, and in other tasks.
    pub fn noise(&self) -> Option<&Arc<Noise>> {
        let is_shown = self.view.task == Task::Pathways && self.document.pathways.noise.repeats;
        let live = self.runtime.pathways.noise.live.value();
        live.filter(|_| is_shown)
    }

    /// The shown repetitions if they are those of the present pathway and settings, even if more are to come.
    pub fn current_noise(&self) -> Option<&Arc<Noise>> {
        let requested = self.noise_key()?;
        self.noise().filter(|noise| requested.extends(&noise.key))
    }

    /// Whether repetitions are shown that belong to an earlier pathway or earlier settings.
    pub fn noise_is_stale(&self) -> bool {
        self.noise().is_some() && self.current_noise().is_none()
    }

    /// How many repetitions there are, and how many are requested, while more of them are to come.
    pub fn noise_growth(&self) -> Option<(usize, usize)> {
        let requested = self.noise_key()?;
        let done = self.current_noise().map_or(0, |n| n.key.repetitions);
        let is_growing = done < requested.repetitions && self.why_noise_rests().is_none();
        is_growing.then_some((done, requested.repetitions))
    }

    /// Why no more repetitions are computed although they are requested: they failed, or the user stopped them.
    pub fn why_noise_rests(&self) -> Option<&str> {
        let live = &self.runtime.pathways.noise.live;
        live.has_failed().then(|| live.failure()).flatten()
    }

    /// Why the repetitions cannot be kept or exported; `None` if they can.
    pub fn why_no_noise(&self) -> Option<&str> {
        let document = &self.document;
        if !document.pathways.noise.repeats {
            return Some("Repeat the pathway first");
        }
        if let Some(why) = document.why_no_repetitions().or(self.why_not_final()) {
            return Some(why);
        }
        match self.current_noise() {
            _ if self.noise_growth().is_some() => {
                Some("Waiting for all repetitions; Esc stops them and keeps the finished ones")
            }
            None => Some(
                self.why_noise_rests()
                    .unwrap_or("There are no repetitions yet"),
            ),
            Some(_) => None,
        }
    }

    /// The mask whose distance from the repetitions is requested.
    pub fn noise_target(&self) -> TargetMask<'_> {
        let layer = match self.document.pathways.noise.distance_to {
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
    pub fn noise_target_name(&self) -> &str {
        match self.document.pathways.noise.distance_to {
            DistanceTarget::Surface => SURFACE,
            DistanceTarget::Layer(id) => self.document.layer(id).map_or("", |layer| &layer.name),
        }
    }

    /// The repetitions and the mask between which distances are requested.
    pub(in crate::state) fn measured_noise(&self) -> Option<(&Arc<Noise>, &Mask)> {
        let noise = self.current_noise()?;
        match self.noise_target() {
            TargetMask::Present(mask) if noise.key.repetitions >= MIN_FOR_RANGES => {
                Some((noise, mask))
            }
            _ => None,
        }
    }

    /// Distances of the shown repetitions, or of the first of them; `None` until they are measured.
    pub fn noise_distances(&self) -> Option<&Arc<NoiseDistances>> {
        let (_, mask) = self.measured_noise()?;
        let (key, distances) = self.runtime.pathways.noise.distances.shown()?;
        (key.mask == mask.id()).then_some(distances)
    }

    /// Why there are no distances; `None` if there are, or they are being measured.
    pub fn why_no_noise_distances(&self) -> Option<String> {
        let text = match self.noise_target() {
            TargetMask::Nothing => "Segment a tumour or choose a mask to read distances",
            TargetMask::Awaited { leaks: true } => "Distances wait: the surface is leaking",
            TargetMask::Awaited { leaks: false } => {
                "Distances wait for the surface of Segment: show Segment"
            }
            TargetMask::Present(_) => match self.current_noise() {
                None => return None,
                Some(noise) if noise.key.repetitions < MIN_FOR_RANGES => {
                    match self.noise_growth() {
                        Some(_) => "Too few repetitions for distances yet",
                        None => {
                            return Some(format!(
                                "Too few repetitions for distances: at least {} are needed",
                                counted(MIN_FOR_RANGES, "repetition")
                            ));
                        }
                    }
                }
                Some(_) => {
                    return self
                        .runtime
                        .pathways
                        .noise
                        .distances
                        .failure()
                        .map(str::to_owned);
                }
            },
        };
        Some(text.to_owned())
    }

    /// How many of the repetitions contain a voxel at the crosshair, and how many there are.
    pub fn noise_at_crosshair(&self) -> Option<(usize, usize)> {
        let noise = self.current_noise()?;
        let share = noise.share.nearest(0, self.view.crosshair)?;
        let all = noise.key.repetitions;
        Some(((f64::from(share) * all as f64).round() as usize, all))
    }
}
