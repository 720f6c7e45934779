//! How the whole brain is tracked: what differs from the streamlines of regions.

use crate::solvers::curves::{self, MAX_SEEDS, Seeding};
use serde::{Deserialize, Serialize};

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

    /// Without a number that nothing can start with, whatever a file says.
    pub fn sanitized(self) -> Self {
        Self {
            seeds: self.seeds.clamp(1, MAX_SEEDS),
            ..self
        }
    }

    /// The parameters of streamlines of regions, with its own seeds. A grid, or points in each voxel, hold for any area:
    /// those are the same.
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
