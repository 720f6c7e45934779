//! Duration of a fit, estimated before it starts.

use super::cuda::IterationSize;
use super::model::Intra;
use super::operator::{OperatorCost, OperatorKind, WorkCounts};
use super::parameters::Params;
use super::prepare::{Inputs, MemoryDemand};
use super::samples::Samples;
use crate::compute::Backend;
use crate::data::Mask;

/// Durations in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TimeEstimate {
    /// Before the first iteration.
    pub build_s: f64,
    /// One A x, one Aᵀ y, and the solver's work between them.
    pub iteration_s: f64,
}

/// Seconds of one thread with AVX2 per unit of [`OperatorCost`].
const UNIT_S: f64 = 0.2e-9;
/// Seconds per segment: cut, sort, pack.
const SEGMENT_S: f64 = 150e-9;
/// Seconds per value of the scan, where tensors are fitted to find the peaks.
const VALUE_S: f64 = 10e-9;
/// Seconds per number of the solver's vectors that is read and written once per iteration.
const NUMBER_S: f64 = 1e-9;
/// Passes of the solver over rows and columns per iteration.
const PASSES: f64 = 8.0;

impl Inputs<'_> {
    /// The expected durations for this many records.
    pub fn estimate(
        &self,
        params: &Params,
        samples: &Samples,
        demand: &MemoryDemand,
        backend: &Backend,
    ) -> TimeEstimate {
        let voxels = self
            .mask
            .map_or(self.scan.grid.voxel_count(), Mask::count)
            .min(demand.segments as usize) as f64;
        let model = &params.model;
        let peaks = self.peaks.map_or(1, |p| p.frames / 3) as f64;
        let samples = match model.intra {
            Intra::Density => &Samples::one_per_voxel(),
            _ => samples,
        };
        let n = WorkCounts {
            segments: demand.segments as f64,
            peaks: if model.extra.is_empty() {
                0.0
            } else {
                peaks * voxels
            },
            voxels,
            shells: samples.shells.len() as f64,
            samples: samples.count() as f64,
            atoms: model.atoms() as f64,
            extra: model.extra.len() as f64,
            free: model.free.len() as f64,
        };
        let streamlines = self.tractogram.count() as f64;
        let columns = streamlines * n.atoms + n.peaks * n.extra + voxels * n.free;
        let numbers = columns + voxels * n.samples;
        let threads = backend.threads().max(1) as f64;
        let fitted = match self.peaks {
            None if !model.extra.is_empty() => self.scan.grid.voxel_count() * self.scan.frames,
            _ => 0,
        };
        let build_s =
            SEGMENT_S * n.segments + NUMBER_S * voxels * n.samples + VALUE_S * fitted as f64;
        let iteration_s = match (backend.devices(), params.way) {
            (devices @ [first, ..], None | Some(OperatorKind::Factorised)) => {
                let load = IterationSize {
                    segments: n.segments,
                    voxels,
                    samples: n.samples,
                    // At most four of a streamline's columns are processed together.
                    shared: streamlines * n.atoms.min(4.0),
                };
                let cards = load.cards(devices).len();
                load.iteration_s(cards, first.multiprocessors())
            }
            _ => {
                let products_s = 2.0 * UNIT_S * OperatorCost::counted(&n).min_cost();
                (products_s + PASSES * NUMBER_S * numbers) / threads
            }
        };
        TimeEstimate {
            build_s: build_s / threads,
            iteration_s,
        }
    }
}
