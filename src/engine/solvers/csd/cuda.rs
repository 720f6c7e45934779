//! Constrained deconvolution on graphics cards (kernels/csd.cu), in single precision: the iteration of
//! [`super::interior_point`] for eight or four voxels in each block.
//!
//! Voxels come in slabs that fit in the card's memory. The host gathers and counts their samples as it does for the
//! CPU, and solves in double precision those that the card did not bring to rest.

// Kernel launches.
#![allow(unsafe_code)]

mod tables;

use super::cpu::{Counts, Fitted, PIECE, Solver, load, repeat, unshared};
use super::interior_point::Limits;
use super::problem::Problem;
use super::tables::Tables;
use crate::compute::cuda::{self, Device};
use crate::compute::{Backend, Control, kernels, zeroed};
use crate::data::Volume;
use crate::data::spherical_harmonics::count;
use crate::solvers::Error;
use bytemuck::{Pod, Zeroable};
use cudarc::driver::sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
use cudarc::driver::sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
use cudarc::driver::{CudaFunction, CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg as _};
use rayon::prelude::*;
use std::ops::Range;
use tables::PackedTables;

const OPERATION: &str = "deconvolving";
/// Largest number of voxels of a slab: a whole number of pieces and blocks.
const MAX_SLAB: usize = 1 << 18;
/// Reciprocal share of the free memory that a slab takes.
const SHARE: u64 = 2;
/// Unknowns that a thread of the projection sums.
const PROJECTED: usize = 48;
const PROJECT_THREADS: u32 = 128;
/// The most tissues without fibres.
const MAX_TISSUES: usize = 3;

/// One instance of the kernel.
struct Shape {
    order: usize,
    entry: &'static str,
    /// Voxels of a block.
    voxels: usize,
    threads: u32,
    padded: usize,
    /// `sizeof(Csd<ORDER, VOXELS>::Shared)`.
    shared_bytes: u32,
}

/// By order, the fastest first.
static SHAPES: [Shape; 3] = [
    Shape {
        order: 8,
        entry: "csd_fit_8_8",
        voxels: 8,
        threads: 160,
        padded: 48,
        shared_bytes: 57_632,
    },
    Shape {
        order: 12,
        entry: "csd_fit_12_8",
        voxels: 8,
        threads: 256,
        padded: 96,
        shared_bytes: 183_776,
    },
    Shape {
        order: 12,
        entry: "csd_fit_12_4",
        voxels: 4,
        threads: 128,
        padded: 96,
        shared_bytes: 91_760,
    },
];

/// `CsdJob` in kernels/csd.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelJob {
    tables: u64,
    bundles: u64,
    elements: u64,
    terms: u64,
    g: u64,
    x: u64,
    gap: u64,
    bundle_count: u32,
    voxels: u32,
    tissues: u32,
    iterations: u32,
    rest: f32,
    unused: u32,
}
const _: () = assert!(size_of::<KernelJob>() == 80);
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for KernelJob {}

/// Whether there is a kernel for this problem on these cards: orders 8 and 12 with the mirrored directions, in single
/// precision.
pub fn supports(problem: &Problem, solver: &Solver, devices: &[Device]) -> bool {
    let Solver::Single(..) = solver else {
        return false;
    };
    let representatives = problem.directions.representatives().len();
    let directions = match problem.order {
        8 => 80,
        12 => 128,
        _ => return false,
    };
    problem.directions.is_mirrored()
        && representatives == directions
        && problem.tissues <= MAX_TISSUES
        && devices
            .iter()
            .all(|device| shape(problem.order, device).is_some())
}

fn shape(order: usize, device: &Device) -> Option<&'static Shape> {
    let limit = device
        .context()
        .attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    let limit = u32::try_from(limit.unwrap_or(0)).unwrap_or(0);
    SHAPES
        .iter()
        .find(|shape| shape.order == order && shape.shared_bytes <= limit)
}

/// Solves for the voxels on all cards; the solver is one for which [`supports`] holds.
pub fn fit(
    dwi: &Volume,
    voxels: &[usize],
    problem: &Problem,
    solver: &Solver,
    backend: &Backend,
    control: &Control,
) -> Result<Fitted, Error> {
    let (n, width) = (count(problem.order), problem.tissues.max(1));
    control.begin("Fibre orientations", voxels.len() as u64);
    let mut coefficients = zeroed::<f32>(n * voxels.len());
    let mut amounts = zeroed::<f32>(width * voxels.len());
    let shares = backend.split_among_devices(voxels.len());
    let job = Job {
        dwi,
        voxels,
        problem,
        solver,
        backend,
        control,
    };
    let mut counts = Counts::default();
    for share in backend.on_each_device(|i, device| job.on_device(device, shares[i].clone())) {
        for slab in share? {
            counts = counts + slab.counts;
            let (from, to) = (slab.voxels.start, slab.voxels.end);
            unshared(&mut coefficients)[n * from..n * to].copy_from_slice(&slab.coefficients);
            unshared(&mut amounts)[width * from..width * to].copy_from_slice(&slab.amounts);
        }
    }
    Ok(Fitted {
        coefficients,
        amounts: if problem.tissues > 0 {
            amounts
        } else {
            Vec::new().into()
        },
        counts,
    })
}

struct Job<'a> {
    dwi: &'a Volume,
    voxels: &'a [usize],
    problem: &'a Problem,
    solver: &'a Solver,
    backend: &'a Backend,
    control: &'a Control,
}

/// The solution of a range of the voxels.
struct Slab {
    voxels: Range<usize>,
    coefficients: Vec<f32>,
    amounts: Vec<f32>,
    counts: Counts,
}

/// Data that stay on a card during a job.
struct Card<'a> {
    device: &'a Device,
    shape: &'static Shape,
    limits: Limits,
    project: CudaFunction,
    fit: CudaFunction,
    matrices: CudaSlice<f32>,
    bundles: CudaSlice<[u32; 2]>,
    elements: CudaSlice<[u32; 2]>,
    terms: CudaSlice<[u32; 2]>,
    projection: CudaSlice<f32>,
    bundle_count: usize,
}

impl Job<'_> {
    fn on_device(&self, device: &Device, range: Range<usize>) -> Result<Vec<Slab>, Error> {
        let mut slabs = Vec::new();
        let (Solver::Single(tables, double, limits), Some(shape)) =
            (self.solver, shape(self.problem.order, device))
        else {
            unreachable!("`supports` holds")
        };
        if range.is_empty() {
            return Ok(slabs);
        }
        let card = Card::new(device, shape, self.problem, tables, *limits)?;
        let volumes = self.problem.volumes.len();
        let bytes = 4 * (volumes + shape.padded + self.problem.unknowns() + 1) as u64;
        let fits = (device.memory()?.0 / SHARE / bytes) as usize / PIECE * PIECE;
        let size = fits.clamp(PIECE, MAX_SLAB);
        device.needs(
            bytes * size.min(range.len()) as u64,
            OPERATION,
            "deconvolve on the CPU",
        )?;
        for first in range.clone().step_by(size) {
            self.control.check()?;
            let voxels = first..(first + size).min(range.end);
            slabs.push(self.slab(&card, double, voxels)?);
        }
        Ok(slabs)
    }

    fn slab(&self, card: &Card, double: &Tables<f64>, range: Range<usize>) -> Result<Slab, Error> {
        let (problem, count) = (self.problem, range.len());
        let volumes = problem.volumes.len();
        let voxels = &self.voxels[range.clone()];
        let mut samples = vec![0f32; volumes * count];
        let counts = self.backend.install(|| self.gather(voxels, &mut samples));
        let (values, gaps) = card.solve(&samples, problem, count)?;
        let limit = card.limits.gap as f32;
        let unfinished = |gap: f32| gap.is_nan() || gap > limit;
        let failed: Vec<usize> = (0..count).filter(|&i| unfinished(gaps[i])).collect();
        let (n, width) = (count_of(problem), problem.tissues.max(1));
        let mut slab = Slab {
            voxels: range,
            coefficients: vec![0.0; n * count],
            amounts: vec![0.0; width * count],
            counts,
        };
        let source = &double.source;
        self.backend.install(|| {
            let rows = slab.coefficients.par_chunks_exact_mut(n);
            let rows = rows.zip(slab.amounts.par_chunks_exact_mut(width));
            rows.enumerate()
                .for_each(|(voxel, (coefficients, amounts))| {
                    // A voxel without a usable sample is 0, not the limit of an iteration.
                    if !samples.iter().skip(voxel).step_by(count).any(|s| *s > 0.0) {
                        return;
                    }
                    for (k, &(index, scale)) in source.iter().enumerate() {
                        let value = (f64::from(values[k * count + voxel]) * scale) as f32;
                        match index < n {
                            true => coefficients[index] = value,
                            false => amounts[index - n] = value,
                        }
                    }
                });
        });
        let repeated = self
            .backend
            .install(|| repeat(double, &samples, count, &failed));
        for (values, &voxel) in repeated.unknowns.chunks_exact(source.len()).zip(&failed) {
            if !samples.iter().skip(voxel).step_by(count).any(|s| *s > 0.0) {
                continue;
            }
            for (slot, value) in slab.coefficients[voxel * n..].iter_mut().zip(&values[..n]) {
                *slot = *value as f32;
            }
            for (slot, value) in slab.amounts[voxel * width..].iter_mut().zip(&values[n..]) {
                *slot = *value as f32;
            }
        }
        slab.counts.repeated = failed.len();
        slab.counts.unfinished = repeated.failed.len();
        self.control.advance(count as u64);
        Ok(slab)
    }

    /// Fills `samples[volume][voxel]` with usable samples.
    fn gather(&self, voxels: &[usize], samples: &mut [f32]) -> Counts {
        let (problem, count) = (self.problem, voxels.len());
        let volumes = problem.volumes.len();
        let pieces = voxels.par_chunks(PIECE).map(|piece| {
            let mut own = vec![0.0; PIECE * volumes];
            let counts = load(self.dwi, problem, piece, &mut own);
            (own, counts)
        });
        let pieces: Vec<(Vec<f32>, Counts)> = pieces.collect();
        samples
            .par_chunks_exact_mut(count)
            .enumerate()
            .for_each(|(volume, row)| {
                for ((own, _), to) in pieces.iter().zip(row.chunks_mut(PIECE)) {
                    to.copy_from_slice(&own[volume * PIECE..volume * PIECE + to.len()]);
                }
            });
        let each = pieces.iter().map(|(_, counts)| *counts);
        each.fold(Counts::default(), |a, b| a + b)
    }
}

/// Coefficients of the distribution.
fn count_of(problem: &Problem) -> usize {
    count(problem.order)
}

impl<'a> Card<'a> {
    fn new(
        device: &'a Device,
        shape: &'static Shape,
        problem: &Problem,
        tables: &Tables<f32>,
        limits: Limits,
    ) -> Result<Self, cuda::Error> {
        let packed = PackedTables::new(problem, tables, shape.padded, 128 / shape.voxels);
        let fit = device.kernel(kernels::CSD, shape.entry)?;
        let size = shape.shared_bytes as i32;
        let raised = fit.set_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, size);
        device.check(OPERATION, raised)?;
        Ok(Self {
            device,
            shape,
            limits,
            project: device.kernel(kernels::CSD, "csd_project")?,
            fit,
            bundle_count: packed.bundles.len(),
            matrices: device.upload(&packed.matrices)?,
            bundles: device.upload(&packed.bundles)?,
            elements: device.upload(&packed.elements)?,
            terms: device.upload(&packed.terms)?,
            projection: device.upload(&packed.projection)?,
        })
    }

    /// Unknowns in the order of the tables, `[unknown][voxel]`, and the gap of each voxel.
    fn solve(
        &self,
        samples: &[f32],
        problem: &Problem,
        count: usize,
    ) -> Result<(Vec<f32>, Vec<f32>), cuda::Error> {
        let (device, shape) = (self.device, self.shape);
        let (volumes, unknowns) = (problem.volumes.len() as u32, problem.unknowns());
        let samples = device.upload(samples)?;
        let mut g = device.alloc_zeros::<f32>(shape.padded * count)?;
        let x = device.alloc_zeros::<f32>(unknowns * count)?;
        let gap = device.alloc_zeros::<f32>(count)?;
        let voxels = count as u32;
        let blocks = voxels.div_ceil(PROJECT_THREADS);
        let config = LaunchConfig {
            grid_dim: (blocks, (shape.padded / PROJECTED) as u32, 1),
            block_dim: (PROJECT_THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        let padded = shape.padded as u32;
        // SAFETY: one thread for each voxel and 48 unknowns; `samples` has a row for each volume, `projection` a padded
        // row, and `g` a row for each padded unknown.
        let launched = unsafe {
            device
                .stream()
                .launch_builder(&self.project)
                .arg(&samples)
                .arg(&self.projection)
                .arg(&volumes)
                .arg(&voxels)
                .arg(&padded)
                .arg(&mut g)
                .launch(config)
        };
        device.check(OPERATION, launched)?;
        let job = KernelJob {
            tables: device.address(&self.matrices),
            bundles: device.address(&self.bundles),
            elements: device.address(&self.elements),
            terms: device.address(&self.terms),
            g: device.address(&g),
            x: device.address(&x),
            gap: device.address(&gap),
            bundle_count: self.bundle_count as u32,
            voxels,
            tissues: problem.tissues as u32,
            iterations: self.limits.iterations as u32,
            rest: self.limits.gap as f32,
            unused: 0,
        };
        let config = LaunchConfig {
            grid_dim: (count.div_ceil(shape.voxels) as u32, 1, 1),
            block_dim: (shape.threads, 1, 1),
            shared_mem_bytes: shape.shared_bytes,
        };
        // SAFETY: the tables are those of this shape; `x` has a row for each unknown and `gap` a number for each voxel;
        // all buffers live until the downloads below, which wait for the kernel.
        let launched = unsafe {
            device
                .stream()
                .launch_builder(&self.fit)
                .arg(&job)
                .launch(config)
        };
        device.check(OPERATION, launched)?;
        let values = device.download(&x, 0..unknowns * count)?;
        Ok((values, device.download(&gap, 0..count)?))
    }
}
