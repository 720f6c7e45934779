//! The operator in spherical harmonics.
//!
//! A lane is a voxel: eight voxels with nearly equal numbers of segments form a group, so that few lanes idle. A step
//! is one segment of each voxel. Forward, its 91 harmonics, times the weights of its streamline for each shell and
//! degree, are added to 91 sums per shell; these are multiplied by Y_lm(g) to give samples. Backward, the order is
//! reversed. Nothing is added across lanes, and no harmonic is ever stored.

mod kernels;
mod to_samples;

use super::workers::{self, Sums};
use super::{Dictionary, Fill, Finish, Responses, Samples, Shape, longest_mm};
use crate::compute::Lanes;
use crate::compute::simd::dispatch;
use crate::solvers::commit::harmonics::DEGREES;
use crate::solvers::commit::samples::Shell;
use kernels::{AdjointKernel, Forward};
use rayon::prelude::*;
use std::f64::consts::PI;
use to_samples::ToSamples;

/// Voxels per group.
pub const LANES: usize = 8;
/// Shells processed at once.
const SHELLS: usize = 4;
/// Marks lanes without a voxel.
const NO_VOXEL: u32 = u32::MAX;

/// One segment of each voxel of a group; fills one cache line.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    streamline: [u32; LANES],
    direction: [u16; LANES],
    length: [u16; LANES],
}

/// One peak of each voxel of a group.
#[derive(Clone, Copy, Debug, Default)]
struct PeakStep {
    direction: [u16; LANES],
    /// 1 where the voxel has this peak, else 0.
    present: [f32; LANES],
}

/// r_l of one atom for some shells.
#[derive(Clone, Debug)]
struct Atom {
    r: Vec<[f32; DEGREES]>,
    flat: f32,
}

/// Operator with eight voxels side by side, one per lane.
#[derive(Debug)]
pub struct Factorised {
    /// Layout of the unknowns, with voxels padded to whole groups.
    pub shape: Shape,
    /// Position of each voxel of the dictionary, and the reverse.
    place: Vec<u32>,
    /// Group g owns `steps[offsets[g]..offsets[g + 1]]`.
    offsets: Vec<u64>,
    steps: Vec<Step>,
    /// `shape.peaks` per group.
    peaks: Vec<PeakStep>,
    unit_mm: f32,
    intra: Vec<Atom>,
    extra: Vec<Atom>,
    free: Vec<Atom>,
    b0: usize,
    shells: Vec<ToSamples>,
    sums: Sums,
    /// A bound of |Aᵀ y| / |y| for the streamlines' columns.
    longest_column: f64,
}

/// A bound of the norm of the samples per mm of a streamline: in each shell |Σ r_l Σ Y_lm(o) Y_lm(g)| ≤
/// Σ |r_l| (2l + 1) / 4π.
fn largest_response(responses: &Responses, samples: &Samples) -> f64 {
    let of_shell = |r: &[f64; DEGREES]| -> f64 {
        let each = r.iter().enumerate();
        each.map(|(half, r)| r.abs() * (4 * half + 1) as f64)
            .sum::<f64>()
            / (4.0 * PI)
    };
    let squares = responses.intra.iter().zip(&responses.flat[0]);
    let squares = squares.map(|(atom, flat)| {
        let shells = atom.iter().zip(&samples.shells);
        let square = |(r, shell): (&[f64; DEGREES], &Shell)| {
            shell.directions.len() as f64 * of_shell(r).powi(2)
        };
        samples.b0.len() as f64 * flat * flat + shells.map(square).sum::<f64>()
    });
    squares.fold(0.0, f64::max).sqrt()
}

fn atoms(all: &[Vec<[f64; DEGREES]>], flat: &[f64]) -> Vec<Atom> {
    let atom = |(shells, flat): (&Vec<[f64; DEGREES]>, &f64)| Atom {
        r: shells.iter().map(|r| r.map(|v| v as f32)).collect(),
        flat: *flat as f32,
    };
    all.iter().zip(flat).map(atom).collect()
}

impl Factorised {
    /// Orders voxels by their number of segments and groups them by eight.
    pub fn new(dictionary: &Dictionary, responses: &Responses, samples: &Samples) -> Self {
        let voxels = dictionary.voxels.len();
        let count = |v: usize| dictionary.in_voxel(v).len();
        let mut order: Vec<u32> = (0..voxels as u32).collect();
        // Sorted by the number of segments, to within an eighth; equal ones stay neighbours in space.
        let class = |v: u32| {
            let n = count(v as usize) as u64;
            let high = 64 - n.leading_zeros();
            (n >> high.saturating_sub(4), high)
        };
        order.sort_by_key(|&v| {
            let (top, high) = class(v);
            std::cmp::Reverse((high, top))
        });
        let groups = voxels.div_ceil(LANES);
        order.resize(groups * LANES, NO_VOXEL);
        let mut place = vec![0; voxels];
        for (i, &v) in order.iter().enumerate().filter(|(_, v)| **v != NO_VOXEL) {
            place[v as usize] = i as u32;
        }
        let each = order.par_chunks_exact(LANES);
        let group_steps: Vec<Vec<Step>> = each.map(|group| steps(dictionary, group)).collect();
        let mut offsets = vec![0];
        let mut end = 0;
        offsets.extend(group_steps.iter().map(|steps| {
            end += steps.len() as u64;
            end
        }));
        let mut peaks = vec![PeakStep::default(); groups * dictionary.places];
        for (i, &v) in order.iter().enumerate().filter(|(_, v)| **v != NO_VOXEL) {
            for (p, code) in dictionary.peaks_in(v as usize).iter().enumerate() {
                let step = &mut peaks[i / LANES * dictionary.places + p];
                step.direction[i % LANES] = *code;
                step.present[i % LANES] = 1.0;
            }
        }
        Self {
            shape: Shape {
                streamlines: dictionary.streamlines,
                atoms: responses.intra.len(),
                voxels: groups * LANES,
                peaks: dictionary.places,
                extra: responses.extra.len(),
                free: responses.free.len(),
                samples: samples.count(),
            },
            place,
            offsets,
            steps: group_steps.concat(),
            peaks,
            unit_mm: dictionary.unit_mm as f32,
            intra: atoms(&responses.intra, &responses.flat[0]),
            extra: atoms(&responses.extra, &responses.flat[1]),
            free: atoms(&responses.free, &responses.flat[2]),
            b0: samples.b0.len(),
            shells: samples.shells.iter().map(ToSamples::new).collect(),
            sums: Sums::default(),
            longest_column: longest_mm(dictionary) * largest_response(responses, samples),
        }
    }

    /// Index in the operator's rows of a sample of a voxel of the dictionary.
    pub fn row(&self, voxel: usize, sample: usize) -> usize {
        let place = self.place[voxel] as usize;
        (place / LANES * self.shape.samples + sample) * LANES + place % LANES
    }

    /// Index among the columns of the voxels.
    pub fn own_column(&self, voxel: usize, column: usize) -> usize {
        let place = self.place[voxel] as usize;
        (place / LANES * self.shape.unknowns_per_voxel() + column) * LANES + place % LANES
    }

    fn steps(&self, group: usize) -> &[Step] {
        &self.steps[self.offsets[group] as usize..self.offsets[group + 1] as usize]
    }

    fn peak_steps(&self, group: usize) -> &[PeakStep] {
        &self.peaks[group * self.shape.peaks..(group + 1) * self.shape.peaks]
    }

    /// Computes A x, passes each row to `finish`, and returns the two sums that `finish` adds up.
    pub fn apply(&self, x: &[f32], rows: &mut [f32], finish: Finish) -> [f64; 2] {
        let (intra, own) = x.split_at(self.shape.intra());
        let width = self.shape.samples * LANES;
        let groups = rows.par_chunks_exact_mut(width).enumerate();
        let sums: Vec<[f64; 2]> = groups
            .map_init(
                || vec![0.0; width],
                |y, (group, rows)| {
                    let own_width = self.shape.unknowns_per_voxel() * LANES;
                    dispatch(Forward {
                        operator: self,
                        intra,
                        own: &own[group * own_width..(group + 1) * own_width],
                        group,
                        y,
                    });
                    finish(group * width, y, rows)
                },
            )
            .collect();
        workers::in_order(&sums)
    }

    /// Computes Aᵀ y, with y from `y`, and writes it to `x`; `norm`, at least |y|, bounds the sums.
    pub fn adjoint(&self, y: Fill, norm: f64, x: &mut [f32]) {
        let (intra, own) = x.split_at_mut(self.shape.intra());
        let groups = self.shape.voxels / LANES;
        let own_width = self.shape.unknowns_per_voxel() * LANES;
        let width = self.shape.samples * LANES;
        workers::run_pieces(
            &self.sums,
            self.longest_column * norm,
            intra,
            own,
            own_width,
            groups,
            |group, own, sums, rows: &mut Vec<f32>| {
                rows.resize(width, 0.0);
                y(group * width, rows);
                dispatch(AdjointKernel {
                    operator: self,
                    y: rows,
                    group,
                    own,
                    intra: sums,
                });
            },
        );
    }
}

/// The steps of a group, as many as its voxel with the most segments needs.
fn steps(dictionary: &Dictionary, group: &[u32]) -> Vec<Step> {
    let voxels = group.iter().filter(|v| **v != NO_VOXEL);
    let segments = |v: &u32| dictionary.in_voxel(*v as usize);
    let count = voxels.map(|v| segments(v).len()).max().unwrap_or(0);
    let mut steps = vec![Step::default(); count];
    for (lane, v) in group.iter().enumerate().filter(|(_, v)| **v != NO_VOXEL) {
        for (step, segment) in steps.iter_mut().zip(segments(v)) {
            step.streamline[lane] = segment.streamline;
            step.direction[lane] = segment.direction;
            step.length[lane] = segment.length;
        }
    }
    steps
}

/// Eight lanes, in registers if `FMA` is set.
type V<const FMA: bool> = Lanes<LANES, FMA>;
