//! How long an iteration takes on one card or several, and how many are worth it.

use crate::compute::cuda::{Device, nccl};

/// What an iteration works on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load {
    pub segments: f64,
    pub voxels: f64,
    /// Of a voxel.
    pub samples: f64,
    /// Numbers of all streamlines that are worked on, which cards add up.
    pub shared: f64,
}

/// Of an iteration on an H200: what it takes with next to nothing, for each voxel and each of its samples, and for
/// each segment.
const CARD_S: f64 = 100e-6;
const CARD_VOXEL_S: f64 = 6e-9;
const CARD_SAMPLE_S: f64 = 0.024e-9;
const CARD_SEGMENT_S: f64 = 0.065e-9;
/// Its multiprocessors.
const CARD_SIZE: f64 = 132.0;

/// Measured on two of them, linked by NVLink. For each further card, as one thread starts the work of all; for each
/// number that is added up, through NCCL and by copies; and once, to join cards through NCCL.
const FURTHER_S: f64 = 50e-6;
const NCCL_S: f64 = 0.05e-9;
const COPIES_S: f64 = 0.25e-9;
const JOIN_S: f64 = 0.4;
/// Of a fit that settles.
const ITERATIONS: f64 = 250.0;

impl Load {
    /// Segments that a voxel is as much as.
    pub fn voxel(samples: f64) -> f64 {
        (CARD_VOXEL_S + CARD_SAMPLE_S * samples) / CARD_SEGMENT_S
    }

    /// Seconds for one A x, one Aᵀ y and the solver's work between, on this many cards of this many multiprocessors.
    pub fn iteration_s(&self, cards: usize, multiprocessors: u32) -> f64 {
        let segments = self.segments + Self::voxel(self.samples) * self.voxels;
        let size = f64::from(multiprocessors.max(1)) / CARD_SIZE;
        let alone = CARD_S + CARD_SEGMENT_S * segments / (size * cards.max(1) as f64);
        if cards <= 1 {
            return alone;
        }
        let each = if nccl::is_present() { NCCL_S } else { COPIES_S };
        alone + FURTHER_S * (cards - 1) as f64 + each * self.shared
    }

    /// The places of those of these cards that are worth it: all that are like the first, which alone get the same
    /// bits, or that one.
    pub fn cards(&self, devices: &[Device]) -> Vec<usize> {
        let kind = |i: usize| (devices[i].name(), devices[i].capability());
        let alike: Vec<usize> = (0..devices.len()).filter(|i| kind(*i) == kind(0)).collect();
        if alike.len() < 2 {
            return alike;
        }
        let seconds = |cards| ITERATIONS * self.iteration_s(cards, devices[0].multiprocessors());
        let join = if nccl::is_present() { JOIN_S } else { 0.0 };
        match seconds(alike.len()) + join < seconds(1) {
            true => alike,
            false => vec![0],
        }
    }
}
