//! Duration of an iteration on one or several cards, and how many cards pay off.

use crate::compute::cuda::{Device, nccl};

/// The size of an iteration.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct IterationSize {
    pub segments: f64,
    pub voxels: f64,
    /// Samples per voxel.
    pub samples: f64,
    /// Numbers of all streamlines after mixing, which the cards add up.
    pub shared: f64,
}

/// Duration of an iteration on an H200: the fixed part, the part per voxel and per sample of it, and the part per
/// segment.
const CARD_S: f64 = 100e-6;
const CARD_VOXEL_S: f64 = 6e-9;
const CARD_SAMPLE_S: f64 = 0.024e-9;
const CARD_SEGMENT_S: f64 = 0.065e-9;
/// Multiprocessors of an H200.
const CARD_SIZE: f64 = 132.0;

/// Measured on two H200 cards linked by NVLink: per further card, because one thread starts the work of all; per
/// number that is added up, through NCCL and by copies; and once, to connect the cards through NCCL.
const FURTHER_S: f64 = 50e-6;
const NCCL_S: f64 = 0.05e-9;
const COPIES_S: f64 = 0.25e-9;
const JOIN_S: f64 = 0.4;
/// Iterations of a typical converging fit.
const ITERATIONS: f64 = 250.0;

impl IterationSize {
    /// The number of segments that take as long as one voxel.
    pub fn voxel(samples: f64) -> f64 {
        (CARD_VOXEL_S + CARD_SAMPLE_S * samples) / CARD_SEGMENT_S
    }

    /// Seconds for one A x, one Aᵀ y and the solver's work between them, on `cards` cards with `multiprocessors`
    /// multiprocessors each.
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

    /// Indices of the cards that pay off: all cards of the same kind as the first, since only these give the same
    /// bits, or the first alone.
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
