//! The noise of the streamlines of Track: settings, keys, actions, and the state that is not saved.

use crate::data::DataId;
use crate::parameters::{self, Parameters as _};
use crate::state::Phase;
use crate::state::core::live::{Live, LiveKey};
use crate::state::pathways::{
    DistanceTarget, NoiseDistanceKey, NoiseDistances, NoiseFile, NoiseMargin,
};
use crate::state::track_noise::jobs::TrackNoise;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// Label of the switch that shows the centre lines.
pub const CENTRE_LINES: &str = "Centre lines";

/// Settings of the noise of streamlines; the number of repetitions is a parameter of tracking.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct TrackNoiseSettings {
    /// Whether the share of the repetitions is shown on slices and as a cloud.
    pub shows_share: bool,
    /// Whether the centre line of each repetition is drawn, and the streamlines behind them.
    pub shows_centre_lines: bool,
    /// The object whose distance from the centre lines is measured.
    pub distance_to: DistanceTarget,
    /// Distance marked in the plot and on slices, mm.
    pub margin_mm: f64,
}

impl Default for TrackNoiseSettings {
    fn default() -> Self {
        Self::defaults()
    }
}

impl TrackNoiseSettings {
    /// The share is shown: it is why a bootstrap is computed.
    pub fn defaults() -> Self {
        Self {
            shows_share: true,
            shows_centre_lines: false,
            distance_to: DistanceTarget::Surface,
            margin_mm: NoiseMargin::defaults().mm,
        }
    }

    /// Replaces invalid numbers, whatever a file contains.
    pub fn sanitized(self) -> Self {
        let mm = self.margin_mm;
        Self {
            margin_mm: parameters::sanitized(&NoiseMargin { mm }).mm,
            ..self
        }
    }

    /// Sessions have no such member unless something was changed.
    pub fn are_default(&self) -> bool {
        *self == Self::defaults()
    }
}

/// Everything that the share and the centre lines of repetitions depend on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TrackNoiseKey {
    /// The streamlines of all repetitions.
    pub kept: DataId,
    /// Number of repetitions.
    pub repetitions: usize,
}

impl LiveKey for TrackNoiseKey {
    /// Shares of earlier streamlines replace nothing.
    fn stands_in_for(&self, requested: &Self) -> bool {
        self == requested
    }
}

/// User actions on the repetitions of streamlines.
#[derive(Clone, Debug)]
pub enum TrackNoiseAction {
    Set {
        settings: TrackNoiseSettings,
        phase: Phase,
    },
    /// Adds the share of the repetitions as a layer.
    KeepShare,
    Save(NoiseFile, PathBuf),
    /// Requests again what failed or was stopped.
    RepeatAgain,
}

/// Runtime state of the noise of streamlines.
#[derive(Clone, Debug, Default)]
pub struct TrackNoiseRuntime {
    pub live: Live<TrackNoiseKey, Arc<TrackNoise>>,
    pub distances: Live<NoiseDistanceKey, Arc<NoiseDistances>>,
}
