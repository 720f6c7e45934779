//! Streamlines on graphics cards (kernels/odf_tracking.cu): batches of streamlines, each followed by a warp in launches
//! of some milliseconds; the points of those that may be kept are gathered on the card. Several batches are under way,
//! each with a stream and a thread of its own, so that kernels, copies and the work of the host overlap.
//!
//! The host draws the seeds, and decides outcomes and lengths. The card draws the same random numbers and evaluates the
//! same expressions as the CPU, so most streamlines differ by rounding only; where a random number lies next to the limit
//! between two candidates, the card may choose the other one. Peaks of lobes are found in single precision, to 1e-6.

#![allow(unsafe_code, reason = "kernel launches")]

mod fibres;
mod spans;
mod tables;

use super::batch::{Batch, Gathered, KernelSeed, Part, Summary, complete, joined};
use super::follow::Conditions;
use super::lattice::Lattice;
use super::parameters::Method;
use super::prepare::Job;
use crate::compute::cuda::Device;
use crate::compute::{Backend, InOrder, kernel_struct, kernels};
use crate::data::OdfField;
use crate::solvers::Error;
use crate::solvers::curves::Output;
use crate::solvers::curves::collect::{JoinedCurves, SpareMemory, gather};
use crate::solvers::curves::cuda::regions::Regions;
use crate::solvers::curves::memory_budget::MemoryBudget;
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaEvent, CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg as _};
use fibres::{Fibres, kernel_order};
use spans::{Span, total_ms};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tables::Tables;

const OPERATION: &str = "tracking";
const LOWER: &str = "choose a shorter length limit or a longer step";
/// Steps of a warp in one launch: some milliseconds.
const WINDOW: u32 = 512;
/// Batches under way on a card: one is followed while another is copied and a third is joined.
const STREAMS: u64 = 3;
/// Streamlines per batch: enough for all multiprocessors, few enough for several batches.
const STREAMLINES: Range<u64> = 1 << 13..1 << 16;
/// Batches of a run of moderate size.
const BATCHES: u64 = 12;
/// Reciprocal share of the free memory used for the points of all batches under way.
const SHARE_FOR_POINTS: u64 = 3;
/// Threads of a block, and resident blocks per multiprocessor, by the kernels' launch bounds.
const BLOCK: u32 = 64;
const BLOCKS_RESIDENT: u32 = 8;
const WARP: u32 = 32;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelLattice {
    voxel: [[f32; 4]; 3],
    shape: [u32; 3],
}
kernel_struct!(KernelLattice as "Lattice in kernels/odf_tracking.cuh", 60 { voxel: 0, shape: 48 });

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelRules {
    running: u32,
    window: u32,
    capacity: u32,
    max_steps: u32,
    gates: u32,
    masks: u32,
    both_ways: u32,
    goes_back: u32,
    has_tissues: u32,
    samples: u32,
    step_mm: f32,
    cap_height: f32,
    cut: f32,
    min_cos: f32,
    stem_below: f32,
    key: [u32; 2],
    fibres: KernelLattice,
    tissues: KernelLattice,
}
kernel_struct!(KernelRules as "Rules in kernels/odf_tracking.cuh", 188 {
    running: 0, window: 4, capacity: 8, max_steps: 12, gates: 16, masks: 20, both_ways: 24, goes_back: 28,
    has_tissues: 32, samples: 36, step_mm: 40, cap_height: 44, cut: 48, min_cos: 52, stem_below: 56, key: 60,
    fibres: 68, tissues: 128,
});
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for KernelRules {}

/// Addresses.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelData {
    records: u64,
    record_of: u64,
    azimuths: u64,
    vertices: u64,
    neighbours: u64,
    fractions: u64,
    seeds: u64,
    running: u64,
    gates: u64,
    bytes: u64,
    progress: u64,
    summaries: u64,
    met: u64,
    points: u64,
    directions: u64,
    queue: u64,
}
kernel_struct!(KernelData as "Data in kernels/odf_tracking.cuh", 128 {
    records: 0, record_of: 8, azimuths: 16, vertices: 24, neighbours: 32, fractions: 40, seeds: 48, running: 56,
    gates: 64, bytes: 72, progress: 80, summaries: 88, met: 96, points: 104, directions: 112, queue: 120,
});
// SAFETY: as above.
unsafe impl DeviceRepr for KernelData {}
// SAFETY: as above.
unsafe impl DeviceRepr for KernelSeed {}
// SAFETY: as above.
unsafe impl DeviceRepr for Summary {}
// SAFETY: as above.
unsafe impl DeviceRepr for Gathered {}

/// `Progress` in kernels/odf_tracking.cuh.
type Progress = [u32; 16];

/// Tracks on all cards; only for distributions without a [`cpu_reason`].
///
/// [`cpu_reason`]: crate::solvers::curves::Params::cpu_reason
pub fn track(job: &Job, field: &OdfField, devices: &[Device]) -> Result<Output, Error> {
    let fibres = Fibres::upload(job, field, devices)?;
    let record_of = match (fibres.first(), devices.first()) {
        (Some(fibres), Some(device)) => {
            device.download(&fibres.record_of, 0..field.grid.voxel_count())?
        }
        _ => Vec::new(),
    };
    let has_fibres = |voxel: usize| record_of[voxel] != 0;
    job.with_conditions(&has_fibres, |conditions, memory, available| {
        let cards = Cards {
            job,
            field,
            fibres: &fibres,
            conditions,
            memory,
            spare: SpareMemory::default(),
        };
        let (parts, kernel_ms) = match job.params.select {
            Some(requested) => {
                let (joined, kernel_ms) = cards.select(requested as u64, available)?;
                (vec![joined], kernel_ms)
            }
            None => cards.all(available)?,
        };
        let mut output = job
            .backend
            .install(|| gather(parts, conditions.gates, false))?;
        output.kernel_s = Some(kernel_ms * 1e-3);
        Ok(output)
    })
}

/// A run and the cards that it uses.
struct Cards<'a> {
    job: &'a Job<'a>,
    field: &'a OdfField,
    fibres: &'a [Fibres],
    conditions: &'a Conditions<'a>,
    memory: MemoryBudget<'a>,
    spare: SpareMemory,
}

/// Streamlines of all cards or of one, in the order of their numbers, and the milliseconds during which kernels ran.
type AllCurves = (Vec<JoinedCurves>, f64);
type CardCurves = (JoinedCurves, f64);

/// Summaries, the regions met, and the times of the launches.
type Followed = (Vec<Summary>, Vec<u32>, Vec<Span>);

/// The sizes of batches on a card.
struct Plan {
    /// Largest number of steps of a half.
    capacity: u64,
    /// Streamlines per batch.
    batch: u64,
    /// Batches under way.
    streams: usize,
}

impl Cards<'_> {
    /// All streamlines, shared by the cards.
    fn all(&self, available: u64) -> Result<AllCurves, Error> {
        self.job.control.begin("Tracking", available);
        let shares = self.job.backend.split_among_devices(available as usize);
        let on_card = |i: usize, device: &Device| {
            self.share(i, device, shares[i].start as u64..shares[i].end as u64)
        };
        let (mut all, mut longest_ms) = (Vec::new(), 0f64);
        for share in self.job.backend.on_each_device(on_card) {
            let (joined, kernel_ms) = share?;
            all.push(joined);
            longest_ms = longest_ms.max(kernel_ms);
        }
        Ok((all, longest_ms))
    }

    /// The streamlines with these numbers on one card: each stream takes the next batch. Batches are joined while
    /// later ones are followed.
    fn share(&self, number: usize, device: &Device, ids: Range<u64>) -> Result<CardCurves, Error> {
        let all = JoinedCurves::new(self.conditions.gates);
        let seeds = ids.end - ids.start;
        if seeds == 0 {
            return Ok((all, 0.0));
        }
        let plan = self.plan(device, seeds, STREAMS)?;
        let batches = seeds.div_ceil(plan.batch);
        let begin = device.record_event()?;
        let (next, all) = (AtomicU64::new(0), InOrder::new(all));
        let join = |all: &mut JoinedCurves, batch: Vec<JoinedCurves>| {
            self.join(all, batch)?;
            all.reserve_for(seeds);
            Ok(())
        };
        let one_stream = |_: usize| -> Result<Vec<Span>, Error> {
            let mut card = self.on_card(number, device, &plan)?;
            let mut spans = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= batches {
                    return Ok(spans);
                }
                let first = ids.start + number * plan.batch;
                let batch = first..ids.end.min(first + plan.batch);
                let finished = self.finished(&mut card, &begin, batch);
                let finished = finished.and_then(|(batch, more)| {
                    spans.extend(more);
                    all.finished(number, batch, join)
                });
                if let Err(error) = finished {
                    // The other streams begin no more.
                    next.store(batches, Ordering::Relaxed);
                    return Err(error);
                }
            }
        };
        let mut spans = Vec::new();
        for stream in Backend::on_own_threads(plan.streams, one_stream) {
            spans.extend(stream?);
        }
        Ok((all.into_inner(), total_ms(spans)))
    }

    /// Adds the next batch to those before it.
    fn join(&self, all: &mut JoinedCurves, batch: Vec<JoinedCurves>) -> Result<(), Error> {
        let spare = Some(&self.spare);
        Ok(self.job.backend.install(|| all.append(batch, spare))?)
    }

    /// One batch from its seeds to its outcome, and the times of its launches.
    fn finished(
        &self,
        card: &mut Card,
        begin: &CudaEvent,
        ids: Range<u64>,
    ) -> Result<(Vec<JoinedCurves>, Vec<Span>), Error> {
        let seeds = ids.end - ids.start;
        let (parts, spans) = self.batch(card, begin, ids)?;
        let joined = self.job.backend.install(|| joined(parts, self.conditions));
        self.memory.count(seeds, seeds, &joined)?;
        Ok((joined, spans))
    }

    /// The first `requested` streamlines that are kept, by their numbers, of at most `limit`; the counts are those of
    /// the streamlines up to the last one.
    fn select(&self, requested: u64, limit: u64) -> Result<CardCurves, Error> {
        /// Streamlines of a first batch beside a share of the requested ones.
        const FEW: u64 = 1024;
        self.job.control.begin("Tracking", requested);
        let mut all = JoinedCurves::new(self.conditions.gates);
        let [device, ..] = self.job.backend.devices() else {
            return Ok((all, 0.0));
        };
        let plan = self.plan(device, limit, 1)?;
        let mut card = self.on_card(0, device, &plan)?;
        let begin = device.record_event()?;
        let mut spans = Vec::new();
        let (mut first, mut kept) = (0, 0);
        while first < limit && kept < requested {
            // The number that should suffice, given the share kept so far; any number gives the same result.
            let missing = requested - kept;
            let share = if first == 0 {
                0.8
            } else {
                (kept as f64 + 1.0) / first as f64
            };
            let expected = (1.05 * missing as f64 / share) as u64;
            let end = limit.min(first + expected.saturating_add(FEW).min(plan.batch));
            let (parts, more) = self.batch(&mut card, &begin, first..end)?;
            spans.extend(more);
            let mut batch = Vec::with_capacity(parts.len());
            for part in parts {
                let (added, seeds) = (part.kept(), part.seeds());
                let is_last = kept + added >= requested;
                let max_kept = is_last.then(|| requested - kept);
                let joined = part.joined(self.conditions, max_kept);
                self.memory
                    .count(seeds, max_kept.unwrap_or(added), [&joined])?;
                batch.push(joined);
                kept += added;
                if is_last {
                    break;
                }
            }
            self.join(&mut all, batch)?;
            first = end;
        }
        Ok((all, total_ms(spans)))
    }

    /// The batches of this many streamlines, of which at most `streams` are under way; refuses those that do not fit.
    fn plan(&self, device: &Device, streamlines: u64, streams: u64) -> Result<Plan, Error> {
        let conditions = self.conditions;
        // A half takes no step if none is allowed, but a buffer must not be empty.
        let capacity = u64::from(conditions.max_steps.max(1));
        let back = if conditions.goes_back {
            12 * capacity
        } else {
            0
        };
        let others = size_of::<KernelSeed>() + size_of::<Summary>() + size_of::<Progress>() + 4;
        let met = 8 * conditions.gates.gates.len() as u64;
        let bytes = 2 * 16 * capacity + back + met + others as u64;
        let fit = device.memory()?.0 / SHARE_FOR_POINTS / bytes / streams;
        let batch = if streams == 1 {
            STREAMLINES.end
        } else {
            (streamlines / BATCHES).clamp(STREAMLINES.start, STREAMLINES.end)
        };
        let batch = batch.min(fit).clamp(1, streamlines);
        let streams = streams.min(streamlines.div_ceil(batch));
        device.needs(streams * batch * bytes, "tracking that many steps", LOWER)?;
        Ok(Plan {
            capacity,
            batch,
            streams: streams as usize,
        })
    }

    /// Uploads what is missing, and allocates memory for one batch at a time.
    fn on_card(&self, number: usize, device: &Device, plan: &Plan) -> Result<Card<'_>, Error> {
        let device = device.with_own_stream()?;
        let conditions = self.conditions;
        let regions = Regions::upload(&device, self.job.regions, conditions.gates)?;
        let fractions = match self.job.tissues {
            Some(map) => Some(device.cached(map.id(), "tissues", || map.fractions.as_flattened())?),
            None => None,
        };
        let halves = (plan.batch * 2 * plan.capacity) as usize;
        let directions = if conditions.goes_back { halves / 2 } else { 1 };
        Ok(Card {
            fibres: &self.fibres[number],
            regions,
            fractions,
            tables: Tables::upload(&device)?,
            points: device.alloc_zeros(halves)?,
            directions: device.alloc_zeros(directions)?,
            capacity: plan.capacity as u32,
            device,
        })
    }

    /// Follows streamlines, and copies the points of those that may be kept; also returns the times of the launches.
    fn batch(
        &self,
        card: &mut Card,
        begin: &CudaEvent,
        ids: Range<u64>,
    ) -> Result<(Vec<Part>, Vec<Span>), Error> {
        let (job, conditions) = (self.job, self.conditions);
        let lattice = Lattice::new(&self.field.grid);
        let count = ids.end - ids.start;
        let batch = job
            .backend
            .install(|| Batch::new(conditions, &lattice, ids));
        let seeds = card.device.upload(&batch.seeds)?;
        let (summaries, met, mut spans) = self.follow(card, begin, &batch, &seeds)?;
        let step_mm = job.params.step_mm as f32;
        let mut parts = job
            .backend
            .install(|| batch.evaluated(conditions, step_mm, &summaries, &met));
        let gathered: Vec<Gathered> = parts.iter().flat_map(Part::gathered).copied().collect();
        let points = gathered.iter().map(|w| u64::from(w.points())).sum();
        self.memory.check_points(count, points)?;
        let (gathered, events) = card.gather(&seeds, &gathered, points)?;
        job.backend.install(|| {
            complete(&mut parts, conditions, &self.spare, |place, points| {
                let numbers = bytemuck::cast_slice_mut::<[f32; 3], f32>(points);
                Ok(card
                    .device
                    .download_into(&gathered, 3 * place as usize, numbers)?)
            })
        })?;
        if let Some([from, to]) = events {
            spans.push(card.span(begin, &from, &to)?);
        }
        Ok((parts, spans))
    }

    /// Follows all seeds of a batch.
    fn follow(
        &self,
        card: &mut Card,
        begin: &CudaEvent,
        batch: &Batch,
        seeds: &CudaSlice<KernelSeed>,
    ) -> Result<Followed, Error> {
        let (device, slots) = (&card.device, batch.seeds.len());
        let mut running: Vec<u32> = (0..slots as u32).collect();
        if running.is_empty() {
            return Ok((Vec::new(), Vec::new(), Vec::new()));
        }
        let progress = device.alloc_zeros::<Progress>(slots)?;
        let summaries = device.alloc_zeros::<Summary>(slots)?;
        // A buffer must not be empty.
        let met = match &batch.met[..] {
            [] => device.upload(&[u32::MAX])?,
            met => device.upload(met)?,
        };
        let order = kernel_order(self.field.order());
        let model = match self.job.params.method {
            Method::Probabilistic => "arcs",
            Method::Deterministic => "lobes",
        };
        let entry = format!("odf_tracking_{model}_{order}");
        let kernel = device.kernel(kernels::ODF_TRACKING, &entry)?;
        let mut spans = Vec::new();
        let outcomes = loop {
            self.job.control.check()?;
            let warps_per_block = BLOCK / WARP;
            let blocks = (running.len() as u32).div_ceil(warps_per_block);
            let blocks = blocks.min(device.multiprocessors() * BLOCKS_RESIDENT);
            let queue = device.upload(&[blocks * warps_per_block])?;
            let list = device.upload(&running)?;
            let rules = self.kernel_rules(card, running.len());
            let data = KernelData {
                records: device.address(&card.fibres.records),
                record_of: device.address(&card.fibres.record_of),
                azimuths: device.address(&card.tables.azimuths),
                vertices: device.address(&card.tables.vertices),
                neighbours: device.address(&card.tables.neighbours),
                fractions: card.fractions.as_ref().map_or(0, |f| device.address(f)),
                seeds: device.address(seeds),
                running: device.address(&list),
                gates: device.address(&card.regions.gates),
                bytes: device.address(&card.regions.bytes),
                progress: device.address(&progress),
                summaries: device.address(&summaries),
                met: device.address(&met),
                points: device.address(&card.points),
                directions: device.address(&card.directions),
                queue: device.address(&queue),
            };
            let config = LaunchConfig {
                grid_dim: (blocks, 1, 1),
                block_dim: (BLOCK, 1, 1),
                shared_mem_bytes: 0,
            };
            let from = device.record_event()?;
            // SAFETY: `running` holds slots, for each of which there are a seed, progress, a summary, and for both
            // halves `met` (one number per gate) and `capacity` points, as many as the largest number of steps;
            // `directions` has as many for each slot if any streamline goes back. The grids bound the reads of records
            // and fractions, the half sphere those of its tables. All buffers live until the download below, which
            // waits for the kernel.
            let launched = unsafe {
                device
                    .stream()
                    .launch_builder(&kernel)
                    .arg(&rules)
                    .arg(&data)
                    .launch(config)
            };
            device.check(OPERATION, launched)?;
            let to = device.record_event()?;
            let outcomes = device.download(&summaries, 0..slots)?;
            spans.push(card.span(begin, &from, &to)?);
            running.retain(|&i| !outcomes[i as usize].is_done());
            if running.is_empty() {
                break outcomes;
            }
        };
        let met = device.download(&met, 0..batch.met.len())?;
        Ok((outcomes, met, spans))
    }

    fn kernel_rules(&self, card: &Card, running: usize) -> KernelRules {
        let (params, conditions) = (self.job.params, self.conditions);
        let tables = super::arc_tables(self.field.order(), params);
        let lattice_of = |lattice: &Lattice| KernelLattice {
            voxel: lattice.voxel_from_world,
            shape: lattice.shape.map(|n| n as u32),
        };
        let fibres = lattice_of(&Lattice::new(&self.field.grid));
        let key = conditions.random.key();
        KernelRules {
            running: running as u32,
            window: WINDOW,
            capacity: card.capacity,
            max_steps: conditions.max_steps,
            gates: card.regions.count.0,
            masks: card.regions.count.1,
            both_ways: u32::from(conditions.both_ways),
            goes_back: u32::from(conditions.goes_back),
            has_tissues: u32::from(conditions.tissues.is_some()),
            samples: tables.samples as u32,
            step_mm: tables.step_mm,
            cap_height: tables.cap_height,
            cut: match params.method {
                Method::Probabilistic => tables.cut,
                Method::Deterministic => params.min_amplitude as f32,
            },
            min_cos: params.max_angle_rad.cos() as f32,
            stem_below: conditions.tissues.map_or(0.0, |rules| rules.stem_below),
            key: [key as u32, (key >> 32) as u32],
            fibres,
            tissues: conditions
                .tissues
                .map_or(fibres, |rules| lattice_of(&rules.lattice)),
        }
    }
}

/// Data of one stream of a card.
struct Card<'a> {
    device: Device,
    fibres: &'a Fibres,
    regions: Regions,
    fractions: Option<Arc<CudaSlice<f32>>>,
    tables: Tables,
    /// By streamline, half and step: a point, and the tissues passed.
    points: CudaSlice<[f32; 4]>,
    directions: CudaSlice<[f32; 3]>,
    /// Largest number of steps of a half.
    capacity: u32,
}

impl Card<'_> {
    /// The time of a launch between two events.
    fn span(&self, begin: &CudaEvent, from: &CudaEvent, to: &CudaEvent) -> Result<Span, Error> {
        Ok([
            self.device.elapsed_ms(begin, from)?,
            self.device.elapsed_ms(begin, to)?,
        ])
    }

    /// Streamlines one after the other in one buffer; also returns the events around the launch.
    fn gather(
        &self,
        seeds: &CudaSlice<KernelSeed>,
        gathered: &[Gathered],
        points: u64,
    ) -> Result<(CudaSlice<f32>, Option<[CudaEvent; 2]>), Error> {
        const THREADS: u32 = 256;
        let device = &self.device;
        let bytes = 12 * points + size_of_val(gathered) as u64;
        device.needs(bytes, "gathering the streamlines", LOWER)?;
        let mut out = device.alloc_zeros::<f32>(3 * points as usize)?;
        if gathered.is_empty() {
            return Ok((out, None));
        }
        let list = device.upload(gathered)?;
        let count = gathered.len() as u32;
        let kernel = device.kernel(kernels::ODF_TRACKING, "odf_tracking_gather")?;
        let config = LaunchConfig {
            grid_dim: (count.div_ceil(THREADS / WARP), 1, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        let from = device.record_event()?;
        // SAFETY: each streamline names a slot with a seed and at most `capacity` points in each half, and a place in
        // `out`, which holds all of them one after the other.
        let launched = unsafe {
            device
                .stream()
                .launch_builder(&kernel)
                .arg(&list)
                .arg(&count)
                .arg(&self.capacity)
                .arg(seeds)
                .arg(&self.points)
                .arg(&mut out)
                .launch(config)
        };
        device.check("gathering the streamlines", launched)?;
        let to = device.record_event()?;
        Ok((out, Some([from, to])))
    }
}
