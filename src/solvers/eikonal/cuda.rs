//! Cost fields on a graphics card: bricks of 4 × 4 × 4 voxels, a block of threads each, in rounds that a
//! barrier of all blocks separates. Which bricks wait, and when none does, is known on the card alone; a
//! launch ends after some rounds so that a job can be cancelled.

// Kernel launches.
#![allow(unsafe_code)]

mod bricks;

pub use bricks::Bricks;

use super::{LocalSolver, Params, Prepared, Source};
use crate::compute::cuda::Device;
use crate::compute::{Control, kernels};
use crate::solvers::Error;
use bricks::{CELLS, HEADER};
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg as _};
use std::sync::Arc;

const WHAT: &str = "spreading costs";
/// Of a brick's block.
const THREADS: u32 = 64;
/// Of a launch: some milliseconds.
const ROUNDS: u32 = 512;
/// In crossings of a brick at the highest speed; it is fitted to the card from round to round.
const FIRST_WINDOW: f32 = 20.0;
/// As State in kernels/eikonal.cu: where the counts of the three rounds, the rounds and the visits are.
const STATE: usize = 16;
const COUNTS: usize = 3;
const DONE: usize = 7;

/// As Job in kernels/eikonal.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Job {
    bricks: u32,
    fields: u32,
    seeds: u32,
    starts: u32,
    rounds: u32,
    inner: u32,
    tolerance: f32,
    window: f32,
}
const _: () = assert!(size_of::<Job>() == 32);
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for Job {}

/// What of a metric stays on the card.
struct OnCard {
    headers: Arc<CudaSlice<u32>>,
    records: Arc<CudaSlice<f32>>,
    rho: Arc<CudaSlice<f32>>,
    ends: Arc<CudaSlice<u32>>,
    readers: Arc<CudaSlice<u32>>,
    cell_of: Arc<CudaSlice<u32>>,
}

impl OnCard {
    fn new(device: &Device, prepared: &Prepared, bricks: &Bricks) -> Result<Self, Error> {
        let id = prepared.id();
        let flat = |v: &[[u32; HEADER]]| -> Vec<u32> { v.as_flattened().to_vec() };
        Ok(Self {
            headers: device.cached(id, "headers", || flat(&bricks.headers))?,
            records: device.cached(id, "records", || bricks.records(prepared))?,
            rho: device.cached(id, "weights", || bricks.weights(prepared).0)?,
            ends: device.cached(id, "ends", || bricks.weights(prepared).1)?,
            readers: device.cached(id, "readers", || {
                // A buffer has at least one.
                let mut all = bricks.readers.as_flattened().to_vec();
                all.resize(all.len().max(4), 0);
                all
            })?,
            cell_of: device.cached(id, "cells", || bricks.cell_of.clone())?,
        })
    }
}

fn threads(count: u32) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (count.div_ceil(THREADS).max(1), 1, 1),
        block_dim: (THREADS, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// Values by place for each source, infinity where no path leads, and the seconds in kernels.
pub fn solve(
    prepared: &Prepared,
    sources: &[Arc<Source>],
    params: &Params,
    device: &Device,
    control: &Control,
) -> Result<(Vec<Vec<f32>>, f64), Error> {
    let bricks = prepared.bricks();
    control.check()?;
    let (count, fields) = (bricks.headers.len() - 1, sources.len());
    let places = prepared.metric.len();
    let stride = (count + 1) * CELLS;
    // Cells and voxels are numbered in 32 bits.
    let numbered = (stride.max(12 * places) * fields.max(1)) as u64;
    if numbered > u64::from(u32::MAX) {
        return Err(Error::Input(format!(
            "{fields} cost fields of {places} voxels were asked for, more than a graphics card numbers; \
             choose a smaller mask or --backend cpu"
        )));
    }
    let bytes = 4 * (fields * (stride + 6 * count + places)) as u64;
    device.needs(
        bytes,
        "solving for cost fields of that size",
        "choose a smaller mask",
    )?;
    let card = OnCard::new(device, prepared, bricks)?;
    let start = bricks.start(sources);
    let job = Job {
        bricks: count as u32,
        fields: fields as u32,
        seeds: start.cells.len() as u32,
        starts: start.bricks.len() as u32,
        rounds: ROUNDS,
        inner: match prepared.local {
            LocalSolver::Godunov6 => 2,
            _ => 1,
        },
        tolerance: params.tolerance,
        window: FIRST_WINDOW * bricks.crossing,
    };
    let cells = device.upload(&start.cells)?;
    let values = device.upload(&start.values)?;
    let starts = device.upload(&start.bricks)?;
    let items = fields * count;
    let mut u = device.alloc_zeros::<f32>(fields * stride)?;
    let mut keys = device.alloc_zeros::<u32>(2 * items)?;
    let mut woken = device.alloc_zeros::<u32>(2 * items)?;
    let mut lists = device.alloc_zeros::<u32>(2 * items)?;
    let mut state = device.alloc_zeros::<u32>(STATE)?;
    let mut out = device.alloc_zeros::<f32>(fields * places)?;
    let file = kernels::EIKONAL;
    let clear = device.kernel(file, "eikonal_clear")?;
    let seed = device.kernel(file, "eikonal_seed")?;
    let gather = device.kernel(file, "eikonal_gather")?;
    let entry = match prepared.local {
        LocalSolver::Godunov6 => "eikonal_spread_godunov6",
        LocalSolver::HopfLax26 => "eikonal_spread_hopf_lax26",
        LocalSolver::Selling => "eikonal_spread_selling",
        LocalSolver::Hybrid => "eikonal_spread_hybrid",
    };
    let spread = device.kernel(file, entry)?;
    let resident = spread.occupancy_max_active_blocks_per_multiprocessor(THREADS, 0, None);
    let resident = device.check(WHAT, resident)?.max(1) * device.multiprocessors();
    // No more blocks than bricks: each takes part in every barrier.
    let blocks = resident.min(items as u32).max(1);
    control.begin("Spreading costs", 0);
    let mut seconds = 0.0;
    let mut first = true;
    loop {
        control.check()?;
        let ((), ms) = device.elapsed(|| {
            if first {
                // SAFETY: the kernel strides over all cells of the fields and both halves of the
                // lists, of which the buffers hold as many; the headers' last is that of outside.
                let launched = unsafe {
                    let mut launcher = device.stream().launch_builder(&clear);
                    launcher
                        .arg(&job)
                        .arg(&*card.headers)
                        .arg(&mut u)
                        .arg(&mut keys);
                    launcher.arg(&mut woken).arg(&mut state);
                    launcher.launch(threads((fields * stride) as u32))
                };
                device.check(WHAT, launched)?;
                let most = job.seeds.max(job.starts);
                // SAFETY: one thread a seed and a start, those beyond return; cells and bricks are
                // numbered within the fields.
                let launched = unsafe {
                    let mut launcher = device.stream().launch_builder(&seed);
                    launcher
                        .arg(&job)
                        .arg(&cells)
                        .arg(&values)
                        .arg(&starts)
                        .arg(&mut u);
                    launcher.arg(&mut keys).arg(&mut woken).arg(&mut lists);
                    launcher.launch(threads(most))
                };
                device.check(WHAT, launched)?;
            }
            let resident = LaunchConfig {
                grid_dim: (blocks, 1, 1),
                ..threads(1)
            };
            // SAFETY: as many blocks as are resident together, which the barrier needs; headers,
            // records and readers point within one another as they were laid out together, and a
            // brick stands at most once in a list, which holds all.
            let launched = unsafe {
                let mut launcher = device.stream().launch_builder(&spread);
                launcher.arg(&job).arg(&*card.headers).arg(&*card.records);
                launcher
                    .arg(&*card.rho)
                    .arg(&*card.ends)
                    .arg(&*card.readers);
                launcher
                    .arg(&mut u)
                    .arg(&mut keys)
                    .arg(&mut woken)
                    .arg(&mut lists);
                launcher.arg(&mut state).launch_cooperative(resident)
            };
            device.check(WHAT, launched)?;
            Ok(())
        })?;
        seconds += f64::from(ms) * 1e-3;
        first = false;
        let state = device.download(&state, 0..STATE)?;
        if state[COUNTS + state[DONE] as usize % 3] == 0 {
            break;
        }
    }
    let (count, fields, stride) = (places as u32, job.fields, stride as u32);
    let ((), ms) = device.elapsed(|| {
        // SAFETY: one thread a voxel of a field, those beyond return.
        let launched = unsafe {
            let mut launcher = device.stream().launch_builder(&gather);
            launcher
                .arg(&count)
                .arg(&fields)
                .arg(&stride)
                .arg(&*card.cell_of);
            launcher
                .arg(&u)
                .arg(&mut out)
                .launch(threads(count * fields))
        };
        device.check(WHAT, launched)?;
        Ok(())
    })?;
    seconds += f64::from(ms) * 1e-3;
    let mut fields = Vec::with_capacity(sources.len());
    for field in 0..sources.len() {
        fields.push(device.download(&out, field * places..(field + 1) * places)?);
    }
    Ok((fields, seconds))
}
