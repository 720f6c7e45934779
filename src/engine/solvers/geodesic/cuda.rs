//! Rays on graphics cards: batches of half rays, followed in launches of some milliseconds; the points that the
//! regions keep are gathered on the card, and only these are copied to the host, once all batches are followed.
//!
//! The host determines a ray's outcome from its summary of 28 bytes, with the same code as for the CPU, and also
//! ranks the rays. Every ray that the regions keep is copied, including those below a cut: the histogram shows all of
//! them, and dragging the cut repeats no tracing.

#![allow(unsafe_code, reason = "kernel launches")]

mod batch;
mod lobes;
mod prepare;

use super::half_ray::HalfRayRules;
use super::odf_metric::OdfMetric;
use super::ray_metric::{Precision, RayMetric};
use super::start::{Rays, Start};
use super::{Form, Output, Params, cpu};
use crate::compute::cuda::{self, Device};
use crate::compute::kernel_struct;
use crate::compute::overlap::{self, STREAMS};
use crate::compute::{Backend, Control, kernels};
use crate::data::Region;
use crate::solvers::Error;
use crate::solvers::curves::collect::JoinedCurves;
use crate::solvers::curves::cuda::BLOCK;
use crate::solvers::curves::cuda::on_card::{self, Batch, CurvesOnCard};
use crate::solvers::curves::cuda::regions::Regions;
use crate::solvers::curves::half_queue::halves_per_start;
use crate::solvers::curves::memory_budget::{MemoryBudget, SAMPLE_SHARE, taken};
use crate::solvers::curves::regions::RegionTests;
use crate::solvers::curves::{Integrator, Interpolation};
use batch::Summary;
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg as _};
use half::f16;
use lobes::KernelLobes;
pub use prepare::prepare;
use std::sync::{Arc, Mutex};

/// With fewer half rays, four threads follow each; with fewer still, eight.
const FOUR_THREADS_BELOW: usize = 12_288;
const EIGHT_THREADS_BELOW: usize = 3072;
/// Interpolations of a ray in one launch, linear and by splines, before it pauses: with the largest number of half
/// rays about 10 ms on a large card. Pausing must not depend on memory, because results depend on it to the byte.
const SAMPLES_PER_LAUNCH: [u32; 2] = [8192, 512];
/// Largest number of half rays per batch.
const MAX_HALVES: u64 = 1 << 17;
/// Half rays that keep a card busy.
const FEW_HALVES: u64 = 1 << 16;
/// Consecutive rays per group; a sample of groups predicts the memory of all.
const SAMPLE: usize = 256;
const SAMPLES: usize = 8;
/// Advice if the card's memory is short.
const LARGE_FIELD: &str = "choose half precision or a smaller scan";
const LONG_RAYS: &str = "choose a shorter length limit or a longer step";
/// Reciprocal share of the free memory used for the points of all batches that are followed at the same time.
const SHARE_FOR_POINTS: u64 = 3;

/// The fields of `Rules` in kernels/cells.cuh that differ between the launches of a batch: the first four.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct LaunchRules {
    slots: u32,
    running: u32,
    until: u32,
    resumed: u32,
}
kernel_struct!(LaunchRules as "Rules in kernels/cells.cuh, in part", 16 {
    slots: 0, running: 4, until: 8, resumed: 12,
});

/// `Rules` in kernels/cells.cuh.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelRules {
    launch: LaunchRules,
    shape: [i32; 3],
    stride: [u32; 2],
    face: [f32; 3],
    step_mm: f32,
    min_fa: f32,
    min_cos: f32,
    max_steps: u32,
    at_max: u32,
    keep_every: u32,
    loop_steps: u32,
    loop_mm2: f32,
    leap: f32,
    world: [[f32; 4]; 3],
    root: [f32; 6],
    gates: u32,
    masks: u32,
    senses: u32,
    half: u32,
}
kernel_struct!(KernelRules as "Rules in kernels/cells.cuh", 172 {
    launch: 0, shape: 16, stride: 28, face: 36, step_mm: 48, min_fa: 52, min_cos: 56, max_steps: 60,
    at_max: 64, keep_every: 68, loop_steps: 72, loop_mm2: 76, leap: 80, world: 84, root: 132, gates: 156,
    masks: 160, senses: 164, half: 168,
});
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for KernelRules {}

impl KernelRules {
    /// The rules of the metric; those of rays are still 0.
    fn new(metric: &RayMetric) -> Self {
        Self {
            shape: metric.shape.map(|n| n as i32),
            stride: metric.strides().map(|n| n as u32),
            face: metric.field.grid.shape.map(|n| n as f32 - 0.5),
            half: u32::from(metric.precision == Precision::Half),
            ..Self::zeroed()
        }
    }
}

/// Tensors or distributions.
#[derive(Clone, Copy)]
enum Medium<'a> {
    Tensors(&'a RayMetric),
    Lobes(&'a OdfMetric),
}

impl Medium<'_> {
    /// The rules that depend on tensors or distributions; those of rays are still 0.
    fn rules(self) -> KernelRules {
        match self {
            Self::Tensors(metric) => KernelRules::new(metric),
            Self::Lobes(metric) => KernelRules {
                shape: metric.records.shape.map(|n| n as i32),
                stride: metric.strides().map(|n| n as u32),
                face: metric.grid().shape.map(|n| n as f32 - 0.5),
                ..KernelRules::zeroed()
            },
        }
    }
}

pub fn trace(
    metric: &RayMetric,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    let grid = &metric.field.grid;
    let gates = RegionTests::new(regions, params.longest_step_mm(grid), &params.curves);
    let rules = HalfRayRules::new(grid, params, params.curves.min_fa);
    let started = backend.install(|| cpu::rays(metric, regions, &gates, params, control))?;
    let (medium, gates) = (Medium::Tensors(metric), (regions, &gates));
    trace_in(
        medium,
        gates,
        params,
        &rules,
        started,
        memory,
        (backend, control),
    )
}

pub fn trace_lobes(
    metric: &OdfMetric,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    let gates = RegionTests::new(regions, params.curves.step_mm, &params.curves);
    let rules = HalfRayRules::new(metric.grid(), params, metric.speed.min_amplitude);
    let started = backend.install(|| cpu::lobe_rays(metric, regions, &gates, params, control))?;
    let (medium, gates) = (Medium::Lobes(metric), (regions, &gates));
    trace_in(
        medium,
        gates,
        params,
        &rules,
        started,
        memory,
        (backend, control),
    )
}

fn trace_in(
    medium: Medium,
    (regions, gates): (&[Region], &RegionTests),
    params: &Params,
    rules: &HalfRayRules,
    (rays, no_start, seeds): (Rays, u64, u64),
    memory: Option<u64>,
    (backend, control): (&Backend, &Control),
) -> Result<Output, Error> {
    let directions = params.directions.count() as u64;
    control.begin("Tracing rays", rays.starts.len() as u64);
    let shards = backend.split_among_devices(rays.starts.len());
    let job = Job {
        medium,
        regions,
        gates,
        rules,
        params,
        rays: &rays,
        budget: MemoryBudget::new("rays", seeds as usize, memory, control),
        control,
        backend,
    };
    job.predict_memory()?;
    let results = backend.on_each_device(|i, _| job.shard(i, shards[i].clone()));
    let mut joined = Vec::new();
    // The cards work concurrently.
    let mut kernel_ms = [0.0f64; 2];
    for shard in results {
        let shard = shard?;
        joined.push(shard.curves);
        kernel_ms = [0, 1].map(|i| kernel_ms[i].max(shard.kernel_ms[i]));
    }
    let mut none = JoinedCurves::new(gates);
    none.no_start(no_start);
    Ok(Output {
        rays: Arc::new(on_card::output(joined, none, (gates, true), backend)?),
        seeds,
        directions,
        kernel_s: Some(kernel_ms[0] * 1e-3),
        gather_s: Some(kernel_ms[1] * 1e-3),
    })
}

struct Job<'a> {
    medium: Medium<'a>,
    regions: &'a [Region],
    gates: &'a RegionTests<'a>,
    rules: &'a HalfRayRules,
    params: &'a Params,
    rays: &'a Rays,
    budget: MemoryBudget<'a>,
    control: &'a Control,
    backend: &'a Backend,
}

struct Shard {
    curves: CurvesOnCard,
    /// Kernel time of following and of gathering.
    kernel_ms: [f64; 2],
}

/// Data that stay on the card during a job.
struct DeviceInputs {
    records: Arc<CudaSlice<u32>>,
    /// For the papers' form the four fields; for splines the records, which the kernel does not read as cells; for
    /// lobes the record number of each voxel.
    cells: Arc<CudaSlice<u32>>,
    lobes: Option<KernelLobes>,
    regions: Regions,
    /// The kernels of different batches run one after the other, so that their times add up.
    launching: Mutex<()>,
}

/// The records of the ray metric in the kernels' layout.
fn upload_records(device: &Device, metric: &RayMetric) -> Result<Arc<CudaSlice<u32>>, cuda::Error> {
    device.cached(metric.id(), "records", || -> Vec<u32> {
        match metric.precision {
            Precision::Single => bytemuck::cast_slice(&metric.records).to_vec(),
            Precision::Half => {
                let pair = |p: &[f32]| {
                    let [low, high] = [p[0], p[1]].map(|v| u32::from(f16::from_f32(v).to_bits()));
                    low | high << 16
                };
                let values = metric.records.as_flattened();
                values.chunks_exact(2).map(pair).collect()
            }
        }
    })
}

/// All cells as polynomials.
fn cells(
    device: &Device,
    metric: &RayMetric,
    records: &CudaSlice<u32>,
) -> Result<Arc<CudaSlice<u32>>, cuda::Error> {
    // One cell begins before the first sample.
    let shape = metric.shape.map(|n| n + 1);
    device.cached_as(metric.id(), "cells", || {
        run_on_records(device, metric, "geodesic_cell", 48, shape, records)
    })
}

/// Runs a kernel on the records; `values_per_entry`: 32-bit values of its output per entry of a grid.
fn run_on_records(
    device: &Device,
    metric: &RayMetric,
    kernel: &str,
    values_per_entry: usize,
    shape: [usize; 3],
    records: &CudaSlice<u32>,
) -> Result<CudaSlice<u32>, cuda::Error> {
    let count: usize = shape.iter().product();
    device.needs(
        (4 * values_per_entry * count) as u64,
        "tensors ready for rays",
        LARGE_FIELD,
    )?;
    let mut prepared = device.alloc_zeros::<u32>(values_per_entry * count)?;
    let kernel = device.kernel(kernels::GEODESIC, kernel)?;
    let launch = LaunchConfig {
        grid_dim: ((count as u32).div_ceil(BLOCK), 1, 1),
        block_dim: (BLOCK, 1, 1),
        shared_mem_bytes: 0,
    };
    let rules = KernelRules::new(metric);
    // SAFETY: one thread per entry, surplus threads return; the records are those of the grid.
    let launched = unsafe {
        device
            .stream()
            .launch_builder(&kernel)
            .arg(&rules)
            .arg(records)
            .arg(&mut prepared)
            .launch(launch)
    };
    device.check("preparing tensors", launched)?;
    Ok(prepared)
}

/// Prepares what rays will read in a ray metric that was computed on this card; returns milliseconds.
pub fn ready(device: &Device, metric: &RayMetric) -> Result<f32, cuda::Error> {
    let records = upload_records(device, metric)?;
    let (_, ms) = device.elapsed(|| cells(device, metric, &records))?;
    Ok(ms)
}

impl Job<'_> {
    fn halves_per_start(&self) -> usize {
        halves_per_start(self.params.curves.both_ways)
    }

    /// Follows the rays of a range on one card.
    fn shard(&self, card: usize, range: std::ops::Range<usize>) -> Result<Shard, Error> {
        let device = &self.backend.devices()[card];
        let mut shard = Shard {
            curves: CurvesOnCard::new(self.backend, card, self.gates)?,
            kernel_ms: [0.0; 2],
        };
        if range.is_empty() {
            return Ok(shard);
        }
        let card = self.on_card(device)?;
        let batch = self.batch_size(device, range.len())?;
        let follow = |device: &Device, points: &mut CudaSlice<f32>, number: usize| {
            self.control.check()?;
            let first = range.start + number * batch;
            let last = (first + batch).min(range.end);
            let (curves, follow_ms) = self.batch(device, &card, first..last, points)?;
            let seeds = self.seeds_in(last - first);
            self.budget
                .count(seeds, (last - first) as u64, [&curves.curves])?;
            Ok((curves, follow_ms))
        };
        overlap::overlapped(
            device,
            range.len().div_ceil(batch),
            |device| self.allocate_points(device, batch),
            follow,
            |(curves, follow_ms): (Batch, f64)| {
                shard.kernel_ms[0] += follow_ms;
                shard.kernel_ms[1] += curves.gather_ms;
                shard.curves.add(curves, self.backend)
            },
        )?;
        Ok(shard)
    }

    /// Rays per batch, if there are this many.
    fn batch_size(&self, device: &Device, rays: usize) -> Result<usize, Error> {
        let capacity = self.rules.max_kept_points();
        let per_start = self.halves_per_start() as u64;
        let bytes_a_ray = per_start * (16 * capacity + size_of::<Summary>() as u64 + 4)
            + size_of::<Start>() as u64;
        let free = device.memory()?.0 / SHARE_FOR_POINTS / STREAMS as u64;
        // Points are numbered with 32 bits.
        let numbered = u64::from(u32::MAX) / (per_start * capacity + 1);
        let largest = (MAX_HALVES / per_start)
            .min(free / bytes_a_ray)
            .min(numbered);
        if largest == 0 {
            device.needs(bytes_a_ray, "a ray with that many points", LONG_RAYS)?;
        }
        let least = FEW_HALVES / per_start;
        let batch = overlap::batch_size(rays, least as usize, largest as usize);
        let at_once = STREAMS.min(rays.div_ceil(batch)) as u64;
        device.needs(
            at_once * batch as u64 * bytes_a_ray,
            "tracing rays",
            LONG_RAYS,
        )?;
        Ok(batch)
    }

    /// Memory for the points of a batch, stored by steps: point k of slot i at k · slots + i.
    fn allocate_points(&self, device: &Device, batch: usize) -> Result<CudaSlice<f32>, Error> {
        let capacity = self.rules.max_kept_points();
        let per_start = self.halves_per_start() as u64;
        Ok(device.alloc_zeros((batch as u64 * per_start * capacity * 4) as usize)?)
    }

    /// Returns an error if a sample predicts that the rays will not fit in the host's memory.
    fn predict_memory(&self) -> Result<(), Error> {
        let rays = self.rays.starts.len();
        let points = self.rules.max_points(self.params) * self.params.directions.count() as u64;
        let [device, ..] = self.backend.devices() else {
            return Ok(());
        };
        if !self.budget.may_be_exceeded(points) || rays < SAMPLES * SAMPLE * SAMPLE_SHARE {
            return Ok(());
        }
        let card = self.on_card(device)?;
        let batch = self.batch_size(device, SAMPLE)?;
        let mut points = self.allocate_points(device, batch)?;
        let mut bytes = 0;
        for sample in 0..SAMPLES {
            self.control.check()?;
            let first = sample * rays / SAMPLES;
            for part in (first..first + SAMPLE).step_by(batch) {
                let range = part..(part + batch).min(first + SAMPLE);
                bytes += taken(&self.batch(device, &card, range, &mut points)?.0.curves);
            }
        }
        let share = (SAMPLES * SAMPLE) as f64 / rays as f64;
        self.budget.check_memory(bytes as f64 / share)
    }

    fn on_card(&self, device: &Device) -> Result<DeviceInputs, Error> {
        let metric = match self.medium {
            Medium::Tensors(metric) => metric,
            Medium::Lobes(metric) => {
                let [records, cells] = lobes::upload(device, metric)?;
                return Ok(DeviceInputs {
                    records,
                    cells,
                    lobes: Some(KernelLobes::new(metric)),
                    regions: Regions::upload(device, self.regions, self.gates)?,
                    launching: Mutex::default(),
                });
            }
        };
        let records = upload_records(device, metric)?;
        let cells = match (self.params.form, metric.interpolation) {
            (Form::Christoffel, _) => device.cached_as(metric.id(), "fields", || {
                run_on_records(
                    device,
                    metric,
                    "geodesic_fields",
                    28,
                    metric.shape,
                    &records,
                )
            })?,
            (_, Interpolation::Trilinear) => cells(device, metric, &records)?,
            (_, Interpolation::CubicBSpline) => records.clone(),
        };
        Ok(DeviceInputs {
            records,
            cells,
            lobes: None,
            regions: Regions::upload(device, self.regions, self.gates)?,
            launching: Mutex::default(),
        })
    }

    /// The kernel's name, threads per ray, and steps per launch.
    fn kernel(&self) -> (String, u32, u32) {
        let stages = match self.rules.integrator {
            Integrator::Euler => 1,
            Integrator::Rk2 => 2,
            Integrator::Rk4 => 4,
        };
        let [linear, spline] = SAMPLES_PER_LAUNCH;
        let metric = match self.medium {
            Medium::Tensors(metric) => metric,
            Medium::Lobes(metric) => {
                let order = lobes::kernel_order(metric.records.order);
                let name = format!("geodesic_lobes_{order}_{stages}");
                return (name, 8, spline / stages);
            }
        };
        if self.params.form == Form::Christoffel {
            return ("geodesic_paper".to_owned(), 1, spline);
        }
        let (interpolation, samples) = match metric.interpolation {
            Interpolation::Trilinear => ("linear", linear),
            Interpolation::CubicBSpline => ("spline", spline),
        };
        // Chosen by all rays of the job, because the kernels add in different orders.
        let halves = self.rays.starts.len() * self.halves_per_start();
        let threads = match halves {
            0..EIGHT_THREADS_BELOW => 8,
            EIGHT_THREADS_BELOW..FOUR_THREADS_BELOW => 4,
            _ => 1,
        };
        let shared = format!("geodesic_share{threads}_{interpolation}_{stages}");
        let (name, threads) = if kernels::GEODESIC.entries.contains(&shared.as_str()) {
            (shared, threads)
        } else {
            (format!("geodesic_trace_{interpolation}_{stages}"), 1)
        };
        (name, threads, samples / stages)
    }

    /// The number of seeds of this many rays; each seed starts all its rays or none.
    fn seeds_in(&self, rays: usize) -> u64 {
        rays.div_ceil(self.params.directions.count()) as u64
    }

    fn kernel_rules(&self, (gates, masks): (u32, u32)) -> KernelRules {
        let rules = self.rules;
        KernelRules {
            step_mm: rules.step_mm,
            min_fa: rules.min_level,
            min_cos: rules.min_cos,
            max_steps: rules.max_steps,
            at_max: rules.at_max as u32,
            keep_every: rules.keep_every,
            loop_steps: rules.loop_steps,
            loop_mm2: rules.loop_mm2,
            leap: rules.leap,
            world: rules.world_from_voxel,
            root: rules.root,
            gates,
            masks,
            senses: self.halves_per_start() as u32,
            ..self.medium.rules()
        }
    }
}
