//! Constrained deconvolution on graphics cards (kernels/csd.cu), in single precision: the iteration of
//! [`super::interior_point`] for four voxels in each block.
//!
//! Voxels come in slabs, so that the memory of the card and that of the host do not depend on the size of the scan. The
//! host gathers and counts their samples as it does for the CPU, and solves in double precision those that the card did
//! not bring to rest.

#![allow(unsafe_code, reason = "kernel launches")]

mod tables;
mod tiles;

use super::cpu::{Counts, Fitted, PIECE, Samples, Solver, repeat, unshared};
use super::interior_point::Limits;
use super::problem::Problem;
use super::slabs::{gather, scatter};
use super::tables::Tables;
use crate::compute::cuda::{self, Device};
use crate::compute::kernel_struct;
use crate::compute::{Backend, Control, kernels, memory, zeroed};
use crate::data::spherical_harmonics::count;
use crate::solvers::Error;
use bytemuck::{Pod, Zeroable};
use cudarc::driver::sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
use cudarc::driver::sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
use cudarc::driver::{CudaFunction, CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg as _};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use tables::PackedTables;

const OPERATION: &str = "deconvolving";
/// Largest number of voxels of a slab, a whole number of pieces and blocks: some tens of milliseconds of work, between
/// which a run can be cancelled.
const MAX_SLAB: usize = 1 << 16;
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
    threads: u32,
    directions: usize,
    padded: usize,
    /// `sizeof(Csd<ORDER>::Shared)`.
    shared_bytes: u32,
}

/// Voxels of a block.
const VOXELS: usize = 4;

static SHAPES: [Shape; 2] = [
    Shape {
        order: 8,
        entry: "csd_fit_8",
        threads: 160,
        directions: 80,
        padded: 48,
        shared_bytes: 30_240,
    },
    Shape {
        order: 12,
        entry: "csd_fit_12",
        threads: 256,
        directions: 128,
        padded: 96,
        shared_bytes: 97_728,
    },
];

/// `CsdJob` in kernels/csd.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelJob {
    tables: u64,
    waves: u64,
    coefficients: u64,
    tiles: u64,
    elements: u64,
    rest: u64,
    projected: u64,
    x: u64,
    gap: u64,
    tile_count: u32,
    rest_count: u32,
    voxels: u32,
    tissues: u32,
    iterations: u32,
    at_rest: f32,
}
kernel_struct!(KernelJob as "CsdJob in kernels/csd.cu", 96 {
    tables: 0, waves: 8, coefficients: 16, tiles: 24, elements: 32, rest: 40, projected: 48, x: 56, gap: 64,
    tile_count: 72, rest_count: 76, voxels: 80, tissues: 84, iterations: 88, at_rest: 92,
});
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for KernelJob {}

/// Why this problem is not solved on these cards, as part of a sentence; `None` if it is.
pub fn obstacle(problem: &Problem, solver: &Solver, devices: &[Device]) -> Option<&'static str> {
    match solver {
        Solver::Single(..) => {}
        Solver::Double(_) => return Some("graphics cards compute in single precision"),
        Solver::Paper(_) => return Some("graphics cards support only the constrained method"),
    }
    let Some(shape) = shape(problem.order) else {
        return Some("graphics cards support only orders 8 and 12");
    };
    let directions = &problem.directions;
    if !directions.is_mirrored() || directions.representatives().len() != shape.directions {
        return Some("graphics cards support only one set of constraint directions");
    }
    if problem.tissues > MAX_TISSUES {
        return Some("graphics cards support at most four tissues");
    }
    let fits = |device: &Device| {
        let limit = device
            .context()
            .attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
        limit.is_ok_and(|limit| i64::from(limit) >= i64::from(shape.shared_bytes))
    };
    match devices.iter().all(fits) {
        true => None,
        false => Some("the shared memory of this graphics card is too small for this order"),
    }
}

fn shape(order: usize) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| shape.order == order)
}

/// Solves for the voxels on all cards; the problem is one without an [`obstacle`].
pub fn fit(
    source: &dyn Samples,
    voxels: &[usize],
    problem: &Problem,
    solver: &Solver,
    backend: &Backend,
    control: &Control,
) -> Result<Fitted, Error> {
    let (n, width) = (count(problem.order), problem.tissues.max(1));
    let (Solver::Single(single, double, limits), Some(shape)) = (solver, shape(problem.order))
    else {
        unreachable!("there is no obstacle")
    };
    control.begin("Deconvolution", voxels.len() as u64);
    let mut coefficients = zeroed::<f32>(n * voxels.len());
    let mut amounts = zeroed::<f32>(width * voxels.len());
    // The outputs of each card.
    let mut outputs = Vec::new();
    let mut rest = (unshared(&mut coefficients), unshared(&mut amounts));
    for share in backend.split_among_devices(voxels.len()) {
        let own = rest.0.split_at_mut(n * share.len());
        let own_amounts = rest.1.split_at_mut(width * share.len());
        rest = (own.1, own_amounts.1);
        outputs.push(Mutex::new((share, own.0, own_amounts.0)));
    }
    let job = Job {
        source,
        voxels,
        problem,
        single,
        double,
        limits: *limits,
        shape,
        backend,
        control,
    };
    let (mut counts, mut kernel_s) = (Counts::default(), 0f64);
    let on_card = |i: usize, device: &Device| {
        // Each card has its own outputs, so that none waits.
        let mut output = outputs[i].lock().unwrap_or_else(PoisonError::into_inner);
        let (share, coefficients, amounts) = &mut *output;
        job.on_device(device, share.clone(), coefficients, amounts)
    };
    for counted in backend.on_each_device(on_card) {
        let (own, own_s) = counted?;
        // Cards work side by side.
        (counts, kernel_s) = (counts + own, kernel_s.max(own_s));
    }
    drop(outputs);
    Ok(Fitted {
        coefficients,
        amounts: if problem.tissues > 0 {
            amounts
        } else {
            Vec::new().into()
        },
        counts,
        kernel_s: Some(kernel_s),
    })
}

struct Job<'a> {
    source: &'a dyn Samples,
    voxels: &'a [usize],
    problem: &'a Problem,
    single: &'a Tables<f32>,
    double: &'a Tables<f64>,
    limits: Limits,
    shape: &'static Shape,
    backend: &'a Backend,
    control: &'a Control,
}

/// Data that stay on a card during a job.
struct Card<'a> {
    device: &'a Device,
    shape: &'static Shape,
    limits: Limits,
    project: CudaFunction,
    fit: CudaFunction,
    matrices: CudaSlice<f32>,
    waves: CudaSlice<[u32; 2]>,
    coefficients: CudaSlice<f32>,
    tiles: CudaSlice<[u32; 4]>,
    elements: CudaSlice<[u32; 2]>,
    rest: CudaSlice<[u32; 4]>,
    projection: CudaSlice<f32>,
}

impl Job<'_> {
    fn on_device(
        &self,
        device: &Device,
        range: Range<usize>,
        coefficients: &mut [f32],
        amounts: &mut [f32],
    ) -> Result<(Counts, f64), Error> {
        let (mut counts, mut kernel_s) = (Counts::default(), 0.0);
        if range.is_empty() {
            return Ok((counts, kernel_s));
        }
        let card = Card::new(device, self.shape, self.problem, self.single, self.limits)?;
        let (volumes, unknowns) = (self.problem.volumes.len(), self.problem.unknowns());
        let bytes = 4 * (volumes + 2 * self.shape.padded + unknowns + 1) as u64;
        let fits = (device.memory()?.0 / SHARE / bytes) as usize / PIECE * PIECE;
        let size = fits.clamp(PIECE, MAX_SLAB).min(range.len());
        device.needs(bytes * size as u64, OPERATION, "deconvolve on the CPU")?;
        // The samples twice, in pieces and in rows, and the unknowns.
        let host = 4 * (2 * volumes + unknowns + 1) as u64 * size as u64;
        memory::claim("The deconvolution", host)?;
        let (n, width) = (count(self.problem.order), self.problem.tissues.max(1));
        let outputs = coefficients.chunks_mut(n * size);
        let outputs = outputs.zip(amounts.chunks_mut(width * size));
        let voxels = self.voxels[range].chunks(size);
        for (voxels, (coefficients, amounts)) in voxels.zip(outputs) {
            self.control.check()?;
            let (own, own_s) = self.slab(&card, voxels, coefficients, amounts)?;
            (counts, kernel_s) = (counts + own, kernel_s + own_s);
            self.control.advance(voxels.len() as u64);
        }
        Ok((counts, kernel_s))
    }

    fn slab(
        &self,
        card: &Card,
        voxels: &[usize],
        coefficients: &mut [f32],
        amounts: &mut [f32],
    ) -> Result<(Counts, f64), Error> {
        let (problem, double, count) = (self.problem, self.double, voxels.len());
        let mut samples = vec![0f32; problem.volumes.len() * count];
        let mut counts = self
            .backend
            .install(|| gather(self.source, voxels, &mut samples));
        let (values, gaps, kernel_s) = card.solve(&samples, problem, count)?;
        let limit = card.limits.gap as f32;
        let unfinished = |gap: f32| gap.is_nan() || gap > limit;
        let failed: Vec<usize> = (0..count).filter(|&i| unfinished(gaps[i])).collect();
        let (n, width) = (coefficients.len() / count, problem.tissues.max(1));
        // A voxel without a usable sample is 0, not the limit of an iteration.
        let is_used = |voxel: usize| samples.iter().skip(voxel).step_by(count).any(|s| *s > 0.0);
        let source = &double.source;
        let repeated = self.backend.install(|| {
            scatter(
                &values,
                source,
                &is_used,
                (n, &mut *coefficients),
                (width, &mut *amounts),
            );
            repeat(double, &samples, count, &failed)
        });
        let solved = repeated.unknowns.chunks_exact(source.len()).zip(&failed);
        for (values, &voxel) in solved.filter(|(_, voxel)| is_used(**voxel)) {
            for (slot, value) in coefficients[voxel * n..].iter_mut().zip(&values[..n]) {
                *slot = *value as f32;
            }
            for (slot, value) in amounts[voxel * width..].iter_mut().zip(&values[n..]) {
                *slot = *value as f32;
            }
        }
        counts.repeated = failed.len();
        counts.unfinished = repeated.failed.len();
        Ok((counts, kernel_s))
    }
}

impl<'a> Card<'a> {
    fn new(
        device: &'a Device,
        shape: &'static Shape,
        problem: &Problem,
        tables: &Tables<f32>,
        limits: Limits,
    ) -> Result<Self, cuda::Error> {
        let packed = PackedTables::new(problem, tables, shape.padded);
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
            matrices: device.upload(&packed.matrices)?,
            waves: device.upload(&packed.waves)?,
            coefficients: device.upload(&packed.coefficients)?,
            tiles: device.upload(&packed.tiles)?,
            elements: device.upload(&packed.elements)?,
            rest: device.upload(&packed.rest)?,
            projection: device.upload(&packed.projection)?,
        })
    }

    /// Unknowns in the order of the tables, `[unknown][voxel]`, the gap of each voxel, and the seconds of the kernels.
    fn solve(
        &self,
        samples: &[f32],
        problem: &Problem,
        count: usize,
    ) -> Result<(Vec<f32>, Vec<f32>, f64), cuda::Error> {
        let (device, shape) = (self.device, self.shape);
        let (volumes, unknowns) = (problem.volumes.len() as u32, problem.unknowns());
        let samples = device.upload(samples)?;
        let width = 2 * shape.padded;
        let mut projected = device.alloc_zeros::<f32>(width * count)?;
        let x = device.alloc_zeros::<f32>(unknowns * count)?;
        let gap = device.alloc_zeros::<f32>(count)?;
        let voxels = count as u32;
        let blocks = voxels.div_ceil(PROJECT_THREADS);
        let config = LaunchConfig {
            grid_dim: (blocks, (width / PROJECTED) as u32, 1),
            block_dim: (PROJECT_THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        let width = width as u32;
        // SAFETY: one thread for each voxel and 48 sums; `samples` and `projection` have a row for each volume, and
        // `projected` one for each sum.
        let mut project = || unsafe {
            device
                .stream()
                .launch_builder(&self.project)
                .arg(&samples)
                .arg(&self.projection)
                .arg(&volumes)
                .arg(&voxels)
                .arg(&width)
                .arg(&mut projected)
                .launch(config)
        };
        let (_, projection_ms) = device.elapsed(|| device.check(OPERATION, project()))?;
        let job = KernelJob {
            tables: device.address(&self.matrices),
            waves: device.address(&self.waves),
            coefficients: device.address(&self.coefficients),
            tiles: device.address(&self.tiles),
            elements: device.address(&self.elements),
            rest: device.address(&self.rest),
            projected: device.address(&projected),
            x: device.address(&x),
            gap: device.address(&gap),
            tile_count: self.tiles.len() as u32,
            rest_count: self.rest.len() as u32,
            voxels,
            tissues: problem.tissues as u32,
            iterations: self.limits.iterations as u32,
            at_rest: self.limits.gap as f32,
        };
        let config = LaunchConfig {
            grid_dim: (count.div_ceil(VOXELS) as u32, 1, 1),
            block_dim: (shape.threads, 1, 1),
            shared_mem_bytes: shape.shared_bytes,
        };
        // SAFETY: the tables are those of this shape; `x` has a row for each unknown and `gap` a number for each voxel;
        // all buffers live until the downloads below, which wait for the kernel.
        let fit = || unsafe {
            device
                .stream()
                .launch_builder(&self.fit)
                .arg(&job)
                .launch(config)
        };
        let (_, fit_ms) = device.elapsed(|| device.check(OPERATION, fit()))?;
        let values = device.download(&x, 0..unknowns * count)?;
        let gaps = device.download(&gap, 0..count)?;
        Ok((values, gaps, f64::from(projection_ms + fit_ms) * 1e-3))
    }
}
