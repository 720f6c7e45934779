//! The seed from which a surface grows, and the structures that were there before it.

/// The surface has left its seed once it has grown to this many times its volume.
const SEEDS: u64 = 3;
/// A sphere of which most lies in the surface is not a seed if it multiplies the volume by at most this.
const MAX_ADDED_RATIO: f64 = 1.05;

/// A sphere that the user places during a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SphereEdit {
    /// Added, with this many voxels.
    Added(u64),
    /// Cut away.
    Cut,
}

impl SphereEdit {
    /// Whether it begins a structure: most of it lies outside the surface, or it enlarges the surface clearly.
    pub fn is_seed(self, before: u64, inside: u64) -> bool {
        let Self::Added(voxels) = self else {
            return false;
        };
        let new = inside.saturating_sub(before);
        2 * new > voxels || inside as f64 > MAX_ADDED_RATIO * before as f64
    }
}

/// A seed. Next to structures at rest, a second one grows as fast as the first one did: its growth is judged separately
/// until it has settled, because the volume of the others hides that it has begun slowly. Then all structures are one
/// surface.
#[derive(Clone, Copy, Debug)]
pub struct Seed {
    /// The step after which it was added.
    step: u64,
    /// Voxels of the other structures; 0 once it has settled.
    pub others: u64,
    /// Voxels inside from which on the surface has left the seed.
    pub left: u64,
}

impl Seed {
    /// The seed at the start of a run.
    pub fn at_start(voxels: u64) -> Self {
        Self {
            step: 0,
            others: 0,
            left: SEEDS * voxels,
        }
    }

    /// A sphere that the user adds to structures of `others` voxels; `inside`: voxels with it.
    pub fn added(step: u64, others: u64, inside: u64) -> Self {
        Self {
            step,
            others,
            left: others + SEEDS * inside.saturating_sub(others),
        }
    }

    /// The whole surface as a seed: its growth is judged from the present volume on.
    pub fn whole(inside: u64) -> Self {
        Self::at_start(inside.div_ceil(SEEDS))
    }

    /// All structures as one surface of `inside` voxels, which has left its seeds.
    pub fn settled(self, inside: u64) -> Self {
        Self {
            others: 0,
            left: self.left.min(inside),
            ..self
        }
    }

    /// The step after which it was added, until it has settled.
    pub fn unsettled_since(&self) -> Option<u64> {
        (self.others > 0).then_some(self.step)
    }

    /// Voxels inside once the structure of this seed has `times` the volume that it had with `inside`.
    pub fn multiple(&self, times: f64, inside: u64) -> f64 {
        self.others as f64 + times * inside.saturating_sub(self.others) as f64
    }
}
