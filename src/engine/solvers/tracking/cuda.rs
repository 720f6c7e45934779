//! Streamlines on graphics cards: batches of seeds whose halves are followed in launches of some milliseconds; the
//! points of those that the regions keep are gathered on the card, and only these are copied to the host, when it
//! needs them.

#![allow(unsafe_code, reason = "kernel launches")]

mod bootstrap;
mod lengths;

pub use bootstrap::bootstrap;

use super::direction::{ACROSS, ISOTROPIC, LARGEST_ROOT};
use super::field::axes;
use super::follow::{Start, StreamlineHalf, StreamlineHalves};
use super::job::{Job, Sampled, StartableSeeds};
use super::join::Plan;
use crate::compute::cuda::Device;
use crate::compute::kernel_struct;
use crate::compute::overlap::{self, STREAMS};
use crate::compute::{Backend, Control, kernels, parts};
use crate::data::{Region, TensorField};
use crate::solvers::Error;
use crate::solvers::curves::cells::rows;
use crate::solvers::curves::collect::JoinedCurves;
use crate::solvers::curves::cuda::on_card::{self, Batch, CurvesOnCard, Joined};
use crate::solvers::curves::cuda::regions::Regions;
use crate::solvers::curves::cuda::{HalfPoints, launch, reason};
use crate::solvers::curves::half_queue::{PENDING, halves_per_start};
use crate::solvers::curves::memory_budget::{SAMPLE_SHARE, taken};
use crate::solvers::curves::{Integrator, Output, Params};
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, PushKernelArg as _};
use lengths::{Candidate, lengths_mm};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Interpolations per thread in one launch, linear and by splines: some milliseconds.
const SAMPLES_PER_LAUNCH: [u32; 2] = [4096, 512];
/// Largest number of halves per batch.
const MAX_HALVES: u64 = 1 << 17;
/// Halves that keep a card busy.
const FEW_HALVES: u64 = 1 << 16;
/// Reciprocal share of the free memory used for the points of all batches that are followed at the same time.
const SHARE_FOR_POINTS: u64 = 3;
/// Streamlines, or halves, that a thread takes at a time.
const PART: usize = 4096;
/// Number of seeds from which the memory of all is predicted.
const SAMPLE: usize = 4096;

/// `Rules` in kernels/tracking.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelRules {
    slots: u32,
    running: u32,
    window: u32,
    stride: [u32; 2],
    last_cell: [u32; 3],
    last: [f32; 3],
    face: [f32; 3],
    voxel: [[f32; 4]; 3],
    step_mm: f32,
    min_fa_squared: f32,
    min_cos: f32,
    max_steps: u32,
    at_max: u32,
    gates: u32,
    masks: u32,
    senses: u32,
    root: [f32; 8],
    isotropic: f32,
    across: f32,
    deflection: [f32; 3],
}
kernel_struct!(KernelRules as "Rules in kernels/tracking.cu", 188 {
    slots: 0, running: 4, window: 8, stride: 12, last_cell: 20, last: 32, face: 44, voxel: 56, step_mm: 104,
    min_fa_squared: 108, min_cos: 112, max_steps: 116, at_max: 120, gates: 124, masks: 128, senses: 132,
    root: 136, isotropic: 168, across: 172, deflection: 176,
});
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for KernelRules {}

/// The progress of a half; its reason is [`PENDING`] while it continues.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Summary {
    steps: u32,
    reason: u32,
    target: u32,
}
kernel_struct!(Summary as "Summary in kernels/tracking.cu", 12 { steps: 0, reason: 4, target: 8 });
// SAFETY: as above.
unsafe impl DeviceRepr for Summary {}
// SAFETY: as above.
unsafe impl DeviceRepr for Start {}

pub fn track(
    field: &TensorField,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    let (job, sampled) = backend.install(|| -> Result<_, Error> {
        let job = Job::new(field, regions, params, memory, control)?;
        Ok((job, Sampled::new(field, params.interpolation, control)?))
    })?;
    let cards = Cards {
        field,
        regions,
        job: &job,
        sampled: &sampled,
        backend,
    };
    control.begin("Tracking", job.seeds.len() as u64);
    if Cards::predicts_memory(&job) {
        cards.predict_memory()?;
    }
    let mut parts = Vec::new();
    let mut kernel_ms = 0f64;
    for (curves, of_card_ms) in cards.follow_on_devices()? {
        parts.push(curves);
        kernel_ms = kernel_ms.max(of_card_ms);
    }
    let others = JoinedCurves::new(&job.gates);
    let mut output = on_card::output(parts, others, (&job.gates, false), backend)?;
    output.kernel_s = Some(kernel_ms * 1e-3);
    Ok(output)
}

/// A job and the cards it runs on.
struct Cards<'a> {
    field: &'a TensorField,
    regions: &'a [Region],
    job: &'a Job<'a>,
    sampled: &'a Sampled<'a>,
    backend: &'a Backend,
}

/// Data that stay on a card while seeds are followed.
struct DeviceInputs<'a> {
    records: Arc<CudaSlice<f32>>,
    regions: Regions,
    /// The kernels of different batches run one after the other, so that their times add up.
    launching: &'a Mutex<()>,
}

/// The division of seeds into batches.
#[derive(Clone, Copy)]
struct Batches {
    /// Seeds per batch.
    size: usize,
    /// Number of floats of the points of a batch.
    floats: usize,
}

impl Batches {
    /// Divides up to this many seeds into batches; returns an error if they do not fit on the card.
    fn new(job: &Job, device: &Device, seeds: usize) -> Result<Self, Error> {
        let per_start = halves_per_start(job.limits.both_ways) as u64;
        // A half takes one step even if none is allowed; joining removes it.
        let steps = u64::from(job.rules.max_steps.max(1));
        let others = size_of::<Start>() + size_of::<Summary>() + 4 + 4 * job.gates.gates.len();
        let bytes = size_of::<Start>() as u64 + per_start * (12 * steps + others as u64);
        // Points are numbered with 32 bits.
        let numbered = u64::from(u32::MAX) / (per_start * steps);
        let fit = device.memory()?.0 / SHARE_FOR_POINTS / STREAMS as u64 / bytes;
        let largest = (MAX_HALVES / per_start).min(numbered).min(fit);
        let least = FEW_HALVES / per_start;
        let size = overlap::batch_size(seeds, least as usize, largest as usize);
        let at_once = STREAMS.min(seeds.div_ceil(size)) as u64;
        device.needs(
            at_once * size as u64 * bytes,
            "tracking that many steps",
            "choose a shorter length limit or a longer step",
        )?;
        Ok(Self {
            size,
            floats: (size as u64 * per_start * steps * 3) as usize,
        })
    }
}

/// A card with a stream, and memory for the points of the halves of one batch, stored by steps: point k of slot i at
/// k · slots + i.
struct Stream<'a> {
    device: &'a Device,
    points: &'a mut CudaSlice<f32>,
}

impl Cards<'_> {
    fn halves_per_start(&self) -> usize {
        halves_per_start(self.job.limits.both_ways)
    }

    /// Whether a sample must predict the memory of all streamlines.
    fn predicts_memory(job: &Job) -> bool {
        job.budget.may_be_exceeded(job.max_points()) && job.seeds.len() >= SAMPLE * SAMPLE_SHARE
    }

    /// Returns an error if a sample predicts that the streamlines will not fit in the host's memory.
    fn predict_memory(&self) -> Result<(), Error> {
        let [device, ..] = self.backend.devices() else {
            return Ok(());
        };
        let count = self.job.seeds.len();
        let seed = |i: usize| (i * count / SAMPLE) as u32;
        let seeds: Vec<u32> = (0..SAMPLE).map(seed).collect();
        let batches = Batches::new(self.job, device, SAMPLE)?;
        let launching = Mutex::default();
        let card = self.on_card(device, &launching)?;
        let points = &mut device.alloc_zeros(batches.floats)?;
        let mut bytes = 0;
        for seeds in seeds.chunks(batches.size) {
            let stream = Stream { device, points };
            bytes += taken(&self.batch(&card, stream, seeds, |_| Ok(()))?.0.curves);
        }
        let repetitions = self.job.repetitions as f64;
        self.job
            .budget
            .check_memory(bytes as f64 * count as f64 / SAMPLE as f64 * repetitions)
    }

    /// Follows all seeds, shared among the cards; also returns the milliseconds that kernels ran on each.
    fn follow_on_devices(&self) -> Result<Vec<(CurvesOnCard, f64)>, Error> {
        let shares = self.backend.split_among_devices(self.job.seeds.len());
        let results = self
            .backend
            .on_each_device(|i, _| self.follow_on_device(i, shares[i].clone()));
        results.into_iter().collect()
    }

    /// Follows the streamlines of a range of seeds on one card; also returns the milliseconds that kernels ran.
    fn follow_on_device(
        &self,
        card: usize,
        range: Range<usize>,
    ) -> Result<(CurvesOnCard, f64), Error> {
        let mut kernel_ms = 0.0;
        let mut all = CurvesOnCard::new(self.backend, card, &self.job.gates)?;
        if range.is_empty() {
            return Ok((all, kernel_ms));
        }
        let device = &self.backend.devices()[card];
        let batches = Batches::new(self.job, device, range.len())?;
        let launching = Mutex::default();
        let inputs = self.on_card(device, &launching)?;
        let follow = |device: &Device, points: &mut CudaSlice<f32>, number: usize| {
            let first = range.start + number * batches.size;
            let last = (first + batches.size).min(range.end);
            let seeds: Vec<u32> = (first as u32..last as u32).collect();
            self.counted_batch(&inputs, Stream { device, points }, &seeds)
        };
        overlap::overlapped(
            device,
            range.len().div_ceil(batches.size),
            |device| Ok(device.alloc_zeros(batches.floats)?),
            follow,
            |(batch, follow_ms): (Batch, f64)| {
                kernel_ms += follow_ms + batch.gather_ms;
                all.add(batch, self.backend)
            },
        )?;
        Ok((all, kernel_ms))
    }

    /// Uploads what is missing.
    fn on_card<'b>(
        &self,
        device: &Device,
        launching: &'b Mutex<()>,
    ) -> Result<DeviceInputs<'b>, Error> {
        // Unmodified tensors have the same cache name for all solvers.
        let tag = match self.sampled {
            Sampled::Trilinear(sampler) if matches!(sampler.records, Cow::Borrowed(_)) => "tensors",
            Sampled::Trilinear(_) => "thickened",
            Sampled::Cubic(_) => "spline",
        };
        let records = device.cached(self.field.id(), tag, || {
            self.sampled.records().as_flattened()
        })?;
        Ok(DeviceInputs {
            records,
            regions: Regions::upload(device, self.regions, &self.job.gates)?,
            launching,
        })
    }

    /// Follows a batch that counts in the memory of all; also returns the milliseconds of following.
    fn counted_batch(
        &self,
        card: &DeviceInputs,
        stream: Stream,
        seeds: &[u32],
    ) -> Result<(Batch, f64), Error> {
        let (count, budget) = (seeds.len() as u64, &self.job.budget);
        let has_room = |points| budget.check_points(count, points);
        let (batch, follow_ms) = self.batch(card, stream, seeds, has_room)?;
        budget.count(count, count, [&batch.curves])?;
        Ok((batch, follow_ms))
    }

    /// Follows a batch; `has_room` checks the host's memory for the points before they are gathered. Also returns the
    /// milliseconds of following.
    fn batch(
        &self,
        card: &DeviceInputs,
        mut stream: Stream,
        seeds: &[u32],
        has_room: impl Fn(u64) -> Result<(), Error>,
    ) -> Result<(Batch, f64), Error> {
        let Job { gates, limits, .. } = self.job;
        let started = self
            .backend
            .install(|| self.job.startable_seeds_on_all_threads(self.sampled, seeds))?;
        let mut halves = self
            .backend
            .install(|| StreamlineHalves::at_all_seeds(&started.starts, gates, limits.both_ways));
        let follow_ms = self.follow(card, &mut stream, &started, &mut halves)?;
        let joined = self.join(&stream, &started, &halves)?;
        has_room(joined.points())?;
        let grid = (&*stream.points, halves.halves.len());
        let batch = joined.gather(stream.device, kernels::TRACKING, grid, false)?;
        Ok((batch, follow_ms))
    }

    /// Joins the halves of all starts, on all threads.
    fn join(
        &self,
        stream: &Stream,
        started: &StartableSeeds,
        halves: &StreamlineHalves,
    ) -> Result<Joined, Error> {
        let Job { gates, limits, .. } = self.job;
        let senses = self.halves_per_start();
        let plan = |i: usize| limits.plan(halves, i * senses, gates);
        let count = started.seeds.len();
        let plans: Vec<Plan> = self.backend.install(|| parts::collected(count, plan));
        let short = self.short(&plans, stream, started, halves)?;
        let part = |range: Range<usize>| {
            let mut part = Joined::new(gates);
            for i in range {
                let followed = &halves.halves[i * senses..(i + 1) * senses];
                part.curves.steps += followed.iter().map(|h| u64::from(h.steps)).sum::<u64>();
                let (plan, seed) = (&plans[i], started.seeds[i]);
                let Some(missed) = part.curves.count_streamline(seed, plan, short[i]) else {
                    continue;
                };
                let [head, tail] = [&plan.head, &plan.tail].map(|end| HalfPoints {
                    slot: end.index(),
                    count: end.steps,
                });
                part.list(missed, head, started.starts[i].at, tail);
            }
            part
        };
        self.backend.install(|| {
            let parts = parts::in_parts(count, PART, part);
            let mut joined = Joined::of_parts(parts, gates)?;
            joined.curves.no_start(started.no_start);
            Ok(joined)
        })
    }

    /// Whether each streamline that may be kept is shorter than the smallest length.
    fn short(
        &self,
        plans: &[Plan],
        stream: &Stream,
        started: &StartableSeeds,
        halves: &StreamlineHalves,
    ) -> Result<Vec<bool>, Error> {
        let min_length_mm = self.job.limits.min_length_mm;
        if !(min_length_mm > 0.0) {
            return Ok(vec![false; plans.len()]);
        }
        let part = |range: Range<usize>| -> Vec<Candidate> {
            let candidates = plans[range.clone()].iter().zip(&started.starts[range]);
            let candidates = candidates.filter(|(plan, _)| plan.may_be_kept());
            candidates
                .map(|(plan, start)| Candidate::new(plan, start.at))
                .collect()
        };
        let candidates = self
            .backend
            .install(|| parts::in_parts(plans.len(), PART, part));
        let lengths = lengths_mm(&candidates.concat(), stream.points, halves, stream.device)?;
        let mut short = lengths.iter().map(|mm| *mm < min_length_mm);
        let short = plans
            .iter()
            .map(|plan| plan.may_be_kept() && short.next().unwrap_or(false));
        Ok(short.collect())
    }

    /// Follows all halves that do not end at their seeds; returns kernel time in milliseconds.
    fn follow(
        &self,
        card: &DeviceInputs,
        stream: &mut Stream,
        started: &StartableSeeds,
        halves: &mut StreamlineHalves,
    ) -> Result<f64, Error> {
        let slots = halves.halves.len();
        let pending = |&i: &u32| halves.halves[i as usize].reason == PENDING;
        let mut running: Vec<u32> = (0..slots as u32).filter(pending).collect();
        if running.is_empty() {
            return Ok(0.0);
        }
        let device = stream.device;
        let starts = device.upload(&started.starts)?;
        let mut places = device.alloc_zeros::<Start>(slots)?;
        let summary = |slot: usize| {
            let half = &halves.halves[slot];
            Summary {
                steps: 0,
                reason: half.reason as u32,
                target: half.target.unwrap_or(u32::MAX),
            }
        };
        let backend = self.backend;
        let summaries = backend.install(|| parts::collected(slots, summary));
        let mut summaries = device.upload(&summaries)?;
        // A buffer must not be empty.
        let met_by_none = [u32::MAX];
        let met: &[u32] = match &halves.met[..] {
            [] => &met_by_none,
            met => met,
        };
        let mut met = device.upload(met)?;
        let (kernel, window) = self.kernel();
        let kernel = device.kernel(kernels::TRACKING, &kernel)?;
        let mut kernel_ms = 0.0;
        let summaries_read = loop {
            self.job.control.check()?;
            let launch = launch(device, running.len(), 1);
            let mut queue = device.upload(&[launch.grid_dim.0 * launch.block_dim.0])?;
            let list = device.upload(&running)?;
            let rules = self.kernel_rules(card, slots, running.len(), window);
            let launching = card.launching.lock();
            let launching = launching.unwrap_or_else(PoisonError::into_inner);
            let ((), ms) = device.elapsed(|| {
                // SAFETY: `running` holds slots, for each of which `places`, `summaries` and `met` (one number per
                // gate) have an entry, as does `starts` for both directions; `points` has room for the largest number
                // of steps for as many slots as the largest batch has; records and gates have the sizes given in the
                // rules, and the field's grid bounds the reads.
                let launched = unsafe {
                    device
                        .stream()
                        .launch_builder(&kernel)
                        .arg(&rules)
                        .arg(&*card.records)
                        .arg(&starts)
                        .arg(&list)
                        .arg(&card.regions.gates)
                        .arg(&card.regions.bytes)
                        .arg(&mut places)
                        .arg(&mut summaries)
                        .arg(&mut met)
                        .arg(&mut *stream.points)
                        .arg(&mut queue)
                        .launch(launch)
                };
                device.check("tracking", launched)?;
                Ok(())
            })?;
            drop(launching);
            kernel_ms += f64::from(ms);
            let latest = device.download(&summaries, 0..slots)?;
            running.retain(|&i| latest[i as usize].reason == PENDING as u32);
            if running.is_empty() {
                break latest;
            }
        };
        let write = |part: usize, halves: &mut [StreamlineHalf]| {
            for (half, summary) in halves.iter_mut().zip(&summaries_read[part * PART..]) {
                half.steps = summary.steps;
                half.reason = reason(summary.reason);
                half.target = (summary.target != u32::MAX).then_some(summary.target);
            }
        };
        backend.install(|| parts::fill(&mut halves.halves, PART, write));
        let all = halves.met.len();
        halves.met = device.download(&met, 0..all)?;
        Ok(kernel_ms)
    }

    /// The kernel's name, and the steps per thread in one launch.
    fn kernel(&self) -> (String, u32) {
        let stages = match self.job.rules.integrator {
            Integrator::Euler => 1,
            Integrator::Rk2 => 2,
            Integrator::Rk4 => 4,
        };
        let [linear, spline] = SAMPLES_PER_LAUNCH;
        let (interpolation, samples) = match self.sampled {
            Sampled::Trilinear(_) => ("linear", linear),
            Sampled::Cubic(_) => ("spline", spline),
        };
        let name = match self.job.rules.deflection {
            None => format!("tracking_follow_{interpolation}_{stages}"),
            Some(_) => format!("tracking_deflect_{interpolation}"),
        };
        (name, samples / stages)
    }

    fn kernel_rules(
        &self,
        card: &DeviceInputs,
        slots: usize,
        running: usize,
        window: u32,
    ) -> KernelRules {
        let (rules, grid) = (&self.job.rules, &self.field.grid);
        let (gates, masks) = card.regions.count;
        let axes = axes(grid);
        KernelRules {
            slots: slots as u32,
            running: running as u32,
            window,
            stride: self.sampled.strides().map(|n| n as u32),
            last_cell: axes.map(|a| a.last_cell as u32),
            last: axes.map(|a| a.last),
            face: axes.map(|a| a.face),
            voxel: rows(&grid.voxel_from_world),
            step_mm: rules.step_mm,
            min_fa_squared: rules.min_fa_squared,
            min_cos: rules.min_cos,
            max_steps: rules.max_steps,
            at_max: rules.at_max as u32,
            gates,
            masks,
            senses: self.halves_per_start() as u32,
            root: LARGEST_ROOT,
            isotropic: ISOTROPIC,
            across: ACROSS,
            deflection: rules.deflection.unwrap_or_default(),
        }
    }
}
