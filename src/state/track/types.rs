//! Tracking of the whole brain: the differences from streamlines of regions.

use crate::solvers::curves::{self, MAX_SEEDS, Seeding};
use crate::solvers::geodesic::Rays;
use crate::state::core::display::Display;
use crate::state::core::layer::LayerId;
use crate::state::{Method, Phase};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct WholeBrain {
    /// Random seed points in the whole mask.
    pub seeds: usize,
    /// Whether targets and the other regions decide what is kept; seed regions never count.
    pub by_regions: bool,
}

impl Default for WholeBrain {
    fn default() -> Self {
        Self {
            seeds: Self::SEEDS,
            by_regions: false,
        }
    }
}

impl WholeBrain {
    /// Enough that streamlines pass nearly all white matter of an adult head.
    pub const SEEDS: usize = 50_000;

    /// Replaces invalid numbers, whatever a file contains.
    pub fn sanitized(self) -> Self {
        Self {
            seeds: self.seeds.clamp(1, MAX_SEEDS),
            ..self
        }
    }

    /// The parameters of streamlines of regions, with its own seeds. A grid, or points in each voxel, apply to any
    /// volume and stay the same.
    pub fn params(&self, track: &curves::Params) -> curves::Params {
        let seeding = match track.seeding {
            Seeding::Random { .. } => Seeding::Random { count: self.seeds },
            seeding @ (Seeding::Grid { .. } | Seeding::PerVoxel { .. }) => seeding,
        };
        curves::Params {
            seeding,
            ..track.clone()
        }
    }
}

/// Streamlines and rays of the regions, and of the whole brain.
#[derive(Clone, Debug)]
pub enum TrackAction {
    Save {
        layer: Option<LayerId>,
        path: PathBuf,
    },
    SetStreamlines {
        params: curves::Params,
        phase: Phase,
    },
    SetMethod(Method),
    SetRays {
        rays: Rays,
        phase: Phase,
    },
    /// Display of the live result.
    SetDisplay {
        display: Display,
        phase: Phase,
    },
    /// Number of seeds for the whole brain, and whether regions decide which streamlines are kept.
    SetWholeBrain {
        whole_brain: WholeBrain,
        phase: Phase,
    },
    /// Tracks from the whole mask; not live, because it takes long.
    WholeBrain,
    /// Requests the live result of the present document again after it was stopped.
    Repeat,
    Keep,
}
