//! Questions to the state about the repetitions of the live streamlines.

use crate::data::Mask;
use crate::solvers::pathway::Range90;
use crate::state::pathways::{NoiseDistanceKey, NoiseDistances, TargetMask, too_few};
use crate::state::track::types::CurveKind;
use crate::state::track_noise::TrackNoiseKey;
use crate::state::track_noise::jobs::TrackNoise;
use crate::state::{Document, State, Task};
use std::sync::Arc;

impl Document {
    /// The number of repetitions of the bootstrap of the live streamlines; `None` without a bootstrap, and for rays.
    pub fn track_repetitions(&self) -> Option<usize> {
        match self.track.kind() {
            CurveKind::Streamlines => self.track.streamlines.repetitions,
            CurveKind::OdfStreamlines => self.odf_params().repetitions,
            CurveKind::Rays | CurveKind::OdfRays => None,
        }
    }
}

impl State {
    /// The key of the repetitions of the live streamlines; `None` without a bootstrap, in other tasks, and until the
    /// streamlines are final.
    pub fn track_noise_key(&self) -> Option<TrackNoiseKey> {
        // A replay repeats the stored results only.
        let is_shown = self.view.task == Task::Track && !self.runtime.sessions.strict;
        let repetitions = self.document.track_repetitions().filter(|_| is_shown)?;
        let live = self.final_live()?;
        Some(TrackNoiseKey {
            kept: live.output.kept.id(),
            repetitions,
        })
    }

    /// The shown repetitions; `None` until they are compared, without a bootstrap, and in other tasks.
    pub fn track_noise(&self) -> Option<&Arc<TrackNoise>> {
        let is_shown = self.view.task == Task::Track && self.document.track_repetitions().is_some();
        let live = self.runtime.track.noise.live.value();
        live.filter(|_| is_shown)
    }

    /// The shown repetitions if they are those of the present streamlines.
    pub fn current_track_noise(&self) -> Option<&Arc<TrackNoise>> {
        let requested = self.track_noise_key()?;
        self.track_noise().filter(|noise| noise.key == requested)
    }

    /// Whether repetitions are shown that belong to earlier streamlines.
    pub fn track_noise_is_stale(&self) -> bool {
        self.track_noise().is_some() && self.current_track_noise().is_none()
    }

    /// Why the repetitions of the present streamlines were not compared; `None` unless that failed or the user stopped it.
    pub fn track_noise_failure(&self) -> Option<&str> {
        let requested = self.track_noise_key()?;
        let live = &self.runtime.track.noise.live;
        live.has_failed_for(&requested)
            .then(|| live.failure())
            .flatten()
    }

    /// Why the share and the centre lines cannot be kept or exported; `None` if they can.
    pub fn why_no_track_noise(&self) -> Option<&str> {
        if self.document.track_repetitions().is_none() {
            return Some("Set Bootstrap first");
        }
        if self.runtime.track.live.value().is_none() {
            return Some("There are no streamlines yet");
        }
        match self.current_track_noise() {
            Some(_) => None,
            None if self.track_noise_key().is_none() => Some("Waiting for the full result"),
            None => Some(
                self.track_noise_failure()
                    .unwrap_or("The repetitions are being compared"),
            ),
        }
    }

    /// The mask whose distance from the repetitions of streamlines is requested.
    pub fn track_noise_target(&self) -> TargetMask<'_> {
        self.target_mask(self.document.track.noise.distance_to)
    }

    /// The name of the object whose distance is requested; empty if it is gone.
    pub fn track_noise_target_name(&self) -> String {
        self.target_name(self.document.track.noise.distance_to)
    }

    /// The repetitions and the mask between which distances are requested.
    pub(in crate::state) fn measured_track_noise(&self) -> Option<(&Arc<TrackNoise>, &Mask)> {
        let noise = self.current_track_noise()?;
        match self.track_noise_target() {
            TargetMask::Present(mask) if Range90::has_percentiles(noise.key.repetitions) => {
                Some((noise, mask))
            }
            _ => None,
        }
    }

    /// Distances of the shown repetitions; `None` until they are measured.
    pub fn track_noise_distances(&self) -> Option<&Arc<NoiseDistances>> {
        let (noise, mask) = self.measured_track_noise()?;
        let (key, distances) = self.runtime.track.noise.distances.shown()?;
        (*key == NoiseDistanceKey::new(&noise.share, mask)).then_some(distances)
    }

    /// Why there are no distances; `None` if there are, or they are being measured.
    pub fn why_no_track_noise_distances(&self) -> Option<String> {
        if let Some(why) = self.track_noise_target().why_none() {
            return Some(why.to_owned());
        }
        // Measurements that failed are a note with a button.
        let noise = self.current_track_noise()?;
        if !Range90::has_percentiles(noise.key.repetitions) {
            return Some(too_few());
        }
        let is_empty = noise.paths.is_empty();
        is_empty.then(|| "No repetition has a streamline: there is no distance".to_owned())
    }

    /// Why the distances of the shown repetitions were not measured; `None` unless that failed or the user stopped it.
    pub fn track_noise_distances_failure(&self) -> Option<&str> {
        let is_measured = self.track_noise_distances().is_some();
        let live = &self.runtime.track.noise.distances;
        let failure = live.failure();
        let failure = failure.filter(|_| !is_measured && live.running().is_none());
        self.measured_track_noise().and(failure)
    }

    /// How many of the repetitions have a streamline through the voxel at the crosshair, and how many there are.
    pub fn track_noise_at_crosshair(&self) -> Option<(usize, usize)> {
        let noise = self.current_track_noise()?;
        let grid = &noise.repeated.grid;
        let voxel = grid.nearest(self.view.crosshair)?;
        let visits = noise.repeated.visits[grid.index(voxel)];
        Some((visits as usize, noise.key.repetitions))
    }
}
