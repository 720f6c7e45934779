//! Rays on graphics cards: batches of half rays, each a launch of some milliseconds; what the regions
//! keep is gathered on the card, and only that comes back.

// Kernel launches.
#![allow(unsafe_code)]

mod prepare;
pub use prepare::prepare;

use super::journey::{Half, Halves, PENDING, Rules, at_seed};
use super::medium::{Medium, Precision};
use super::start::Rays;
use super::{Error, Form, Output, Params, cpu, join};
use crate::compute::cuda::{self, Device};
use crate::compute::{Backend, Control, kernels};
use crate::data::Region;
use crate::solvers::tracking::cuda::curves::{self, BLOCK, Wishes, reason};
use crate::solvers::tracking::cuda::regions::Regions;
use crate::solvers::tracking::regions::Gates;
use crate::solvers::tracking::{Integrator, Interpolation};
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg as _};
use half::f16;
use std::sync::Arc;

/// With fewer half rays four threads follow each.
const FEW: usize = 12_288;
/// Steps in one launch: some 5 ms on a large card, 30 ms on a small one.
const STEPS_PER_LAUNCH: u64 = 1 << 28;
/// Never more half rays in one launch, nor fewer unless there are no more.
const MOST_RAYS: u64 = 1 << 18;
const LEAST_RAYS: u64 = 1 << 12;
/// Of the free memory, for the points of one launch.
const SHARE_FOR_POINTS: u64 = 3;

/// As in kernels/geodesic.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelRules {
    rays: u32,
    shape: [u32; 3],
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
    world: [[f32; 4]; 3],
    root: [f32; 6],
    gates: u32,
    masks: u32,
    senses: u32,
    half: u32,
}
const _: () = assert!(size_of::<KernelRules>() == 39 * 4);
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for KernelRules {}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Summary {
    steps: u32,
    count: u32,
    length_mm: f32,
    riemann: f32,
    reason: u32,
    target: u32,
    met: u32,
}
// SAFETY: as above.
unsafe impl DeviceRepr for Summary {}

pub fn shoot(
    medium: &Medium,
    regions: &[Region],
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    let gates = Gates::new(regions, params.walk.step_mm);
    let rules = Rules::new(medium, params);
    let (rays, no_start, seeds) =
        backend.install(|| cpu::rays(medium, regions, &gates, params, control))?;
    let directions = params.directions.count() as u64;
    control.begin("Shooting rays", rays.starts.len() as u64);
    let shards = backend.shares(rays.starts.len());
    let job = Job {
        medium,
        regions,
        gates: &gates,
        rules: &rules,
        params,
        rays: &rays,
        control,
        backend,
    };
    let results = backend.on_each_device(|i, device| job.shard(device, shards[i].clone()));
    let mut joined = Vec::new();
    // The cards work side by side.
    let mut kernel_ms = [0.0f64; 2];
    for shard in results {
        let shard = shard?;
        joined.extend(shard.joined);
        kernel_ms = [0, 1].map(|i| kernel_ms[i].max(shard.kernel_ms[i]));
    }
    let mut none = join::Joined::new(&gates);
    none.no_start(no_start);
    joined.push(none);
    Ok(Output {
        rays: Arc::new(join::gather(joined, gates.targets)),
        seeds,
        directions,
        kernel_s: Some(kernel_ms[0] * 1e-3),
        gather_s: Some(kernel_ms[1] * 1e-3),
    })
}

struct Job<'a> {
    medium: &'a Medium,
    regions: &'a [Region],
    gates: &'a Gates<'a>,
    rules: &'a Rules,
    params: &'a Params,
    rays: &'a Rays,
    control: &'a Control,
    backend: &'a Backend,
}

struct Shard {
    joined: Vec<join::Joined>,
    /// Following, gathering.
    kernel_ms: [f64; 2],
}

/// What stays on the card during a job.
struct OnCard {
    records: Arc<CudaSlice<u32>>,
    /// Of splines the records, which the kernel does not look at as cells.
    cells: Arc<CudaSlice<u32>>,
    regions: Regions,
}

/// The points of the halves that are wanted, world mm, and their measures from the seed.
#[derive(Default)]
struct Gathered {
    points: Vec<[f32; 3]>,
    measures: Vec<f32>,
    ms: f64,
}

impl Job<'_> {
    fn senses(&self) -> usize {
        if self.params.walk.both_ways { 2 } else { 1 }
    }

    /// Follows the rays of a range on one card.
    fn shard(&self, device: &Device, range: std::ops::Range<usize>) -> Result<Shard, Error> {
        let mut shard = Shard {
            joined: Vec::new(),
            kernel_ms: [0.0; 2],
        };
        if range.is_empty() {
            return Ok(shard);
        }
        let card = self.on_card(device)?;
        let capacity = u64::from(self.rules.max_steps.div_ceil(self.rules.keep_every)) + 1;
        let senses = self.senses() as u64;
        let bytes_a_ray = senses * (16 * capacity + size_of::<Summary>() as u64 + 4) + 24;
        let free = device.memory()?.0 / SHARE_FOR_POINTS;
        let steps = u64::from(self.rules.max_steps);
        let batch = (STEPS_PER_LAUNCH / steps / senses).clamp(LEAST_RAYS, MOST_RAYS);
        // Points are numbered in 32 bits.
        let numbered = u64::from(u32::MAX) / (senses * capacity);
        let batch = batch.min(free / bytes_a_ray).min(numbered);
        let batch = batch.min(range.len() as u64);
        if batch == 0 {
            device.needs(bytes_a_ray, "a ray with that many points")?;
        }
        let batch = batch.max(1) as usize;
        let halves = batch * senses as usize;
        device.needs(batch as u64 * bytes_a_ray, "shooting rays")?;
        // Step by step: point k of slot i at k · slots + i.
        let mut points = device.alloc_zeros::<f32>(halves * capacity as usize * 4)?;
        let mut first = range.start;
        while first < range.end {
            self.control.check()?;
            let last = (first + batch).min(range.end);
            let (joined, ms) = self.batch(device, &card, first..last, &mut points)?;
            shard.joined.extend(joined);
            shard.kernel_ms = [0, 1].map(|i| shard.kernel_ms[i] + ms[i]);
            self.control.advance((last - first) as u64);
            first = last;
        }
        Ok(shard)
    }

    fn on_card(&self, device: &Device) -> Result<OnCard, Error> {
        let medium = self.medium;
        let records = device.cached(medium.id(), "records", || -> Vec<u32> {
            match medium.precision {
                Precision::Single => bytemuck::cast_slice(&medium.records).to_vec(),
                Precision::Half => {
                    let pair = |p: &[f32]| {
                        let [low, high] =
                            [p[0], p[1]].map(|v| u32::from(f16::from_f32(v).to_bits()));
                        low | high << 16
                    };
                    medium
                        .records
                        .as_flattened()
                        .chunks_exact(2)
                        .map(pair)
                        .collect()
                }
            }
        })?;
        let cells = match medium.interpolation {
            Interpolation::Trilinear => {
                device.cached_as(medium.id(), "cells", || self.cells(device, &records))?
            }
            Interpolation::CubicBSpline => records.clone(),
        };
        Ok(OnCard {
            records,
            cells,
            regions: Regions::upload(device, self.regions, self.gates)?,
        })
    }

    /// All cells as polynomials, as the kernels load them.
    fn cells(
        &self,
        device: &Device,
        records: &CudaSlice<u32>,
    ) -> Result<CudaSlice<u32>, cuda::Error> {
        const WORDS: usize = 48;
        // One begins before the first sample.
        let count: usize = self.medium.shape.map(|n| n + 1).iter().product();
        device.needs((4 * WORDS * count) as u64, "tensors ready for rays")?;
        let mut cells = device.alloc_zeros::<u32>(WORDS * count)?;
        let kernel = device.kernel(kernels::GEODESIC, "geodesic_cell")?;
        let launch = LaunchConfig {
            grid_dim: ((count as u32).div_ceil(BLOCK), 1, 1),
            block_dim: (BLOCK, 1, 1),
            shared_mem_bytes: 0,
        };
        let rules = self.kernel_rules(0, (0, 0));
        // SAFETY: one thread a cell, those beyond the last return; records are those of the grid.
        let launched = unsafe {
            device
                .stream()
                .launch_builder(&kernel)
                .arg(&rules)
                .arg(records)
                .arg(&mut cells)
                .launch(launch)
        };
        device.check("preparing tensors", launched)?;
        Ok(cells)
    }

    /// The kernel's name, and threads a ray.
    fn kernel(&self, halves: usize) -> (String, u32) {
        let stages = match self.rules.integrator {
            Integrator::Euler => 1,
            Integrator::Rk2 => 2,
            Integrator::Rk4 => 4,
        };
        let interpolation = match self.medium.interpolation {
            Interpolation::Trilinear => "linear",
            Interpolation::CubicBSpline => "spline",
        };
        let shared = format!("geodesic_share_{interpolation}_{stages}");
        if halves < FEW && kernels::GEODESIC.entries.contains(&shared.as_str()) {
            (shared, 4)
        } else {
            (format!("geodesic_trace_{interpolation}_{stages}"), 1)
        }
    }

    fn batch(
        &self,
        device: &Device,
        card: &OnCard,
        range: std::ops::Range<usize>,
        points: &mut CudaSlice<f32>,
    ) -> Result<(Vec<join::Joined>, [f64; 2]), Error> {
        let senses = self.senses();
        let starts = &self.rays.starts[range.clone()];
        // What starts in a target or a terminate region is finished.
        let mut halves: Vec<Half> = Vec::with_capacity(starts.len() * senses);
        for start in starts {
            let half = at_seed(self.rules.world(start.x), self.gates);
            halves.extend(std::iter::repeat_n(half, senses));
        }
        let active: Vec<u32> = (0..halves.len() as u32)
            .filter(|&i| halves[i as usize].reason == PENDING)
            .collect();
        let mut kernel_ms = [0.0; 2];
        let mut gathered = Gathered::default();
        if !active.is_empty() {
            let summary = |&i: &u32| Summary {
                met: halves[i as usize].met,
                ..Summary::zeroed()
            };
            let mut summaries = device.upload(&active.iter().map(summary).collect::<Vec<_>>())?;
            let uploaded_starts: CudaSlice<f32> = device.upload(bytemuck::cast_slice(starts))?;
            let uploaded_halves = device.upload(&active)?;
            let (name, threads) = self.kernel(active.len());
            let kernel = device.kernel(kernels::GEODESIC, &name)?;
            let rules = self.kernel_rules(active.len() as u32, card.regions.count);
            let mut queue = device.alloc_zeros::<u32>(1)?;
            let launch = curves::launch(device, active.len(), threads);
            let ((), ms) = device.elapsed(|| {
                // SAFETY: one slot an active half: `uploaded_halves` and `summaries` have as many,
                // each names a half of `uploaded_starts`; `points` holds a point more than each can
                // keep for as many slots as the largest batch has; records and gates are as the
                // rules say, and the medium's grid bounds what is read of them.
                let launched = unsafe {
                    device
                        .stream()
                        .launch_builder(&kernel)
                        .arg(&rules)
                        .arg(&*card.cells)
                        .arg(&*card.records)
                        .arg(&uploaded_starts)
                        .arg(&uploaded_halves)
                        .arg(&card.regions.gates)
                        .arg(&card.regions.bytes)
                        .arg(&mut summaries)
                        .arg(&mut *points)
                        .arg(&mut queue)
                        .launch(launch)
                };
                device.check("shooting rays", launched)?;
                Ok(())
            })?;
            kernel_ms[0] = f64::from(ms);
            let found = device.download(&summaries, 0..active.len())?;
            for (&i, summary) in active.iter().zip(&found) {
                let half = &mut halves[i as usize];
                half.steps = summary.steps;
                half.length_mm = summary.length_mm;
                half.riemann = summary.riemann;
                half.reason = reason(summary.reason);
                half.target = (summary.target != u32::MAX).then_some(summary.target);
                half.met = summary.met;
                half.count = summary.count;
            }
            gathered = self.gathered(device, &active, &mut halves, range.clone(), points)?;
            kernel_ms[1] = gathered.ms;
        }
        let all = Halves {
            points: gathered.points,
            along: gathered.measures,
            halves,
        };
        let joined = join::all(
            &self.rays.seeds[range],
            &all,
            &join::Rules::new(self.gates, &self.params.walk),
            self.backend,
        );
        Ok((joined, kernel_ms))
    }

    /// The points of the halves that joining will ask for, one half after the other; sets where each
    /// begins.
    fn gathered(
        &self,
        device: &Device,
        active: &[u32],
        halves: &mut [Half],
        range: std::ops::Range<usize>,
        points: &CudaSlice<f32>,
    ) -> Result<Gathered, Error> {
        let senses = self.senses();
        let rules = join::Rules::new(self.gates, &self.params.walk);
        let mut wishes = Wishes::default();
        for (slot, &i) in active.iter().enumerate() {
            let ray = i as usize / senses;
            let pair = &halves[ray * senses..(ray + 1) * senses];
            let count = halves[i as usize].count;
            if count > 0 && rules.wants(self.rays.seeds[range.start + ray].0, pair) {
                halves[i as usize].first = wishes.add(slot, count);
            }
        }
        let slots = active.len() as u32;
        let ([kept, measures], ms) =
            wishes.gather(device, kernels::GEODESIC, points, slots, [3, 1])?;
        Ok(Gathered {
            points: curves::points(device, &kept)?,
            measures: device.download(&measures, 0..measures.len())?,
            ms,
        })
    }

    fn kernel_rules(&self, rays: u32, (gates, masks): (u32, u32)) -> KernelRules {
        let (medium, rules) = (self.medium, self.rules);
        KernelRules {
            rays,
            shape: medium.shape.map(|n| n as u32),
            stride: medium.strides().map(|n| n as u32),
            face: medium.field.grid.shape.map(|n| n as f32 - 0.5),
            step_mm: rules.step_mm,
            min_fa: rules.min_fa,
            min_cos: rules.min_cos,
            max_steps: rules.max_steps,
            at_max: rules.at_max as u32,
            keep_every: rules.keep_every,
            loop_steps: rules.loop_steps,
            loop_mm2: rules.loop_mm2,
            world: rules.world_from_voxel,
            root: rules.root,
            gates,
            masks,
            senses: self.senses() as u32,
            half: u32::from(medium.precision == Precision::Half),
        }
    }
}

/// Whether the kernels know this form.
pub fn knows(params: &Params) -> bool {
    params.form == Form::Hamiltonian
}
