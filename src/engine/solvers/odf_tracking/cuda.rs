//! Probabilistic streamlines on graphics cards (kernels/odf_tracking.cu): batches of streamlines, each followed by a
//! warp in launches of some milliseconds; the points of those that may be kept are gathered on the card.
//!
//! The host draws the seeds, and decides outcomes and lengths. The card draws the same random numbers and evaluates the
//! same expressions as the CPU, so most streamlines differ by rounding only; where a random number lies next to the limit
//! between two candidates, the card may choose the other one.

#![allow(unsafe_code, reason = "kernel launches")]

use super::arcs::{CANDIDATES, azimuth};
use super::batch::{Batch, Gathered, KernelSeed, Part, Summary, complete, joined};
use super::follow::Conditions;
use super::lattice::Lattice;
use super::plausible_records;
use super::prepare::Job;
use super::records::Records;
use crate::compute::cuda::Device;
use crate::compute::{Control, kernels};
use crate::data::OdfField;
use crate::data::spherical_harmonics::{EvenRecurrence, count};
use crate::solvers::Error;
use crate::solvers::curves::Output;
use crate::solvers::curves::collect::{JoinedCurves, gather};
use crate::solvers::curves::cuda::regions::Regions;
use crate::solvers::curves::memory_budget::MemoryBudget;
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg as _};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

const OPERATION: &str = "tracking";
const LOWER: &str = "choose a shorter length limit or a longer step";
/// Steps of a warp in one launch: some milliseconds.
const WINDOW: u32 = 1024;
/// Largest number of streamlines per batch: their points are copied to the host before the next batch is followed.
const MAX_STREAMLINES: u64 = 1 << 17;
/// Reciprocal share of the free memory used for the points of one batch.
const SHARE_FOR_POINTS: u64 = 3;
/// Threads of a block, and resident blocks per multiprocessor, by the kernels' launch bounds.
const BLOCK: u32 = 64;
const BLOCKS_RESIDENT: u32 = 8;
const WARP: u32 = 32;

/// `Lattice` in kernels/odf_tracking.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelLattice {
    voxel: [[f32; 4]; 3],
    shape: [u32; 3],
}

/// `Rules` in kernels/odf_tracking.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelRules {
    running: u32,
    window: u32,
    room: u32,
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
const _: () = assert!(size_of::<KernelRules>() == 47 * 4);
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for KernelRules {}

/// `Data` in kernels/odf_tracking.cu: addresses.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelData {
    records: u64,
    record_of: u64,
    azimuths: u64,
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
const _: () = assert!(size_of::<KernelData>() == 14 * 8);
// SAFETY: as above.
unsafe impl DeviceRepr for KernelData {}
// SAFETY: as above.
unsafe impl DeviceRepr for KernelSeed {}
// SAFETY: as above.
unsafe impl DeviceRepr for Summary {}
// SAFETY: as above.
unsafe impl DeviceRepr for Gathered {}

/// `Progress` in kernels/odf_tracking.cu.
type Progress = [u32; 16];

/// The order of the kernel that takes a series; coefficients of higher degrees are 0.
fn kernel_order(order: usize) -> usize {
    if order <= 8 { 8 } else { 12 }
}

/// The distributions of a field on a card.
struct Fibres {
    records: Arc<CudaSlice<f32>>,
    record_of: Arc<CudaSlice<u32>>,
}

const RECORDS: &str = "records of distributions";
const RECORD_OF: &str = "voxels of distributions";

impl Fibres {
    /// Uploads to all cards what they lack; refuses images that hold no distributions.
    fn upload(job: &Job, field: &OdfField, devices: &[Device]) -> Result<Vec<Self>, Error> {
        let id = field.id();
        let has = |d: &Device| d.has::<f32>(id, RECORDS) && d.has::<u32>(id, RECORD_OF);
        let built = match devices.iter().all(has) {
            true => None,
            false => Some(
                job.backend
                    .install(|| plausible_records(field, job.control))?,
            ),
        };
        // Another thread may have freed them since.
        let records = || match &built {
            Some(records) => Ok(Cow::Borrowed(records)),
            None => {
                let rebuilt = || Records::new(field, &Control::new());
                job.backend.install(rebuilt).map(Cow::Owned)
            }
        };
        let upload = |device: &Device| -> Result<Self, Error> {
            let of_card = device.cached_as(id, RECORDS, || {
                let records = records()?;
                let ordered = job.backend.install(|| in_order_of_kernel(&records));
                Ok::<_, Error>(device.upload(&ordered)?)
            })?;
            let record_of = device.cached_as(id, RECORD_OF, || {
                Ok::<_, Error>(device.upload(&records()?.record_of)?)
            })?;
            Ok(Self {
                records: of_card,
                record_of,
            })
        };
        devices.iter().map(upload).collect()
    }
}

/// Records in the order in which the recurrence visits the functions, in whole fours.
fn in_order_of_kernel(records: &Records) -> Vec<f32> {
    let order = kernel_order(records.order);
    let rows = EvenRecurrence::new(order).rows;
    let steps = rows
        .iter()
        .enumerate()
        .flat_map(|(m, (_, steps))| steps.iter().map(move |s| (m, s)));
    let functions = steps.flat_map(|(m, s)| [Some(s.plus), (m > 0).then_some(s.minus)]);
    let functions: Vec<usize> = functions.flatten().collect();
    let width = count(order).next_multiple_of(4);
    records.reordered(&functions, width)
}

/// Tracks with arcs on all cards, which have no [`super::Params::cpu_reason`].
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
        };
        let (parts, kernel_ms) = match job.params.select {
            Some(requested) => cards.select(requested as u64, available)?,
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
}

/// Streamlines in the order of their numbers, and the milliseconds of the kernels.
type Joined = (Vec<JoinedCurves>, f64);

impl Cards<'_> {
    /// All streamlines, shared by the cards.
    fn all(&self, available: u64) -> Result<Joined, Error> {
        self.job.control.begin("Tracking", available);
        let shares = self.job.backend.split_among_devices(available as usize);
        let on_card = |i: usize, device: &Device| -> Result<Joined, Error> {
            let ids = shares[i].start as u64..shares[i].end as u64;
            let (mut all, mut kernel_ms) = (Vec::new(), 0.0);
            if ids.is_empty() {
                return Ok((all, kernel_ms));
            }
            let mut card = self.on_card(i, device, ids.end - ids.start)?;
            for first in ids.clone().step_by(card.batch as usize) {
                let batch = first..ids.end.min(first + card.batch);
                let (parts, ms) = self.batch(&mut card, batch.clone())?;
                kernel_ms += ms;
                let joined = self.job.backend.install(|| joined(parts, self.conditions));
                let seeds = batch.end - batch.start;
                self.memory.count(seeds, seeds, &joined)?;
                all.extend(joined);
            }
            Ok((all, kernel_ms))
        };
        let (mut all, mut longest_ms) = (Vec::new(), 0f64);
        for share in self.job.backend.on_each_device(on_card) {
            let (joined, kernel_ms) = share?;
            all.extend(joined);
            longest_ms = longest_ms.max(kernel_ms);
        }
        Ok((all, longest_ms))
    }

    /// The first `requested` streamlines that are kept, by their numbers, of at most `limit`; the counts are those of
    /// the streamlines up to the last one.
    fn select(&self, requested: u64, limit: u64) -> Result<Joined, Error> {
        /// Streamlines of a first batch beside a share of the requested ones.
        const FEW: u64 = 1024;
        self.job.control.begin("Tracking", requested);
        let [device, ..] = self.job.backend.devices() else {
            return Ok((Vec::new(), 0.0));
        };
        let mut card = self.on_card(0, device, limit)?;
        let (mut all, mut kernel_ms) = (Vec::new(), 0.0);
        let (mut first, mut kept) = (0, 0);
        while first < limit {
            // The number that should suffice, given the share kept so far; any number gives the same result.
            let missing = requested - kept;
            let share = if first == 0 {
                0.8
            } else {
                (kept as f64 + 1.0) / first as f64
            };
            let expected = (1.05 * missing as f64 / share) as u64;
            let end = limit.min(first + expected.saturating_add(FEW).min(card.batch));
            let (parts, ms) = self.batch(&mut card, first..end)?;
            kernel_ms += ms;
            for part in parts {
                let (added, seeds) = (part.kept(), part.seeds());
                let is_last = kept + added >= requested;
                let max_kept = is_last.then(|| requested - kept);
                let joined = part.joined(self.conditions, max_kept);
                self.memory
                    .count(seeds, max_kept.unwrap_or(added), [&joined])?;
                all.push(joined);
                kept += added;
                if is_last {
                    return Ok((all, kernel_ms));
                }
            }
            first = end;
        }
        Ok((all, kernel_ms))
    }

    /// Uploads what is missing, and allocates memory for batches of at most this many streamlines.
    fn on_card<'a>(
        &'a self,
        number: usize,
        device: &'a Device,
        streamlines: u64,
    ) -> Result<Card<'a>, Error> {
        let conditions = self.conditions;
        let regions = Regions::upload(device, self.job.regions, conditions.gates)?;
        let fractions = match self.job.tissues {
            Some(map) => Some(device.cached(map.id(), "tissues", || map.fractions.as_flattened())?),
            None => None,
        };
        // A half takes no step if none is allowed, but a buffer must not be empty.
        let room = u64::from(conditions.max_steps.max(1));
        let back = if conditions.goes_back { 12 * room } else { 0 };
        let others = size_of::<KernelSeed>() + size_of::<Summary>() + size_of::<Progress>() + 4;
        let met = 8 * conditions.gates.gates.len() as u64;
        let bytes = 2 * 16 * room + back + met + others as u64;
        let fit = device.memory()?.0 / SHARE_FOR_POINTS / bytes;
        let batch = MAX_STREAMLINES.min(fit).clamp(1, streamlines);
        device.needs(batch * bytes, "tracking that many steps", LOWER)?;
        let angle = |k: usize| azimuth(k).sin_cos();
        let azimuths: Vec<[f32; 2]> = (0..CANDIDATES)
            .map(angle)
            .map(|(sine, cosine)| [cosine as f32, sine as f32])
            .collect();
        Ok(Card {
            device,
            fibres: &self.fibres[number],
            regions,
            fractions,
            azimuths: device.upload(&azimuths)?,
            points: device.alloc_zeros((batch * 2 * room) as usize)?,
            directions: device.alloc_zeros((batch * back / 12).max(1) as usize)?,
            room: room as u32,
            batch,
        })
    }

    /// Follows streamlines, and copies the points of those that may be kept; also returns the milliseconds of the
    /// kernels.
    fn batch(&self, card: &mut Card, ids: Range<u64>) -> Result<(Vec<Part>, f64), Error> {
        let (job, conditions) = (self.job, self.conditions);
        let lattice = Lattice::new(&self.field.grid);
        let count = ids.end - ids.start;
        let batch = job
            .backend
            .install(|| Batch::new(conditions, &lattice, ids));
        let seeds = card.device.upload(&batch.seeds)?;
        let (summaries, met, follow_ms) = self.follow(card, &batch, &seeds)?;
        let step_mm = job.params.step_mm as f32;
        let mut parts = job
            .backend
            .install(|| batch.evaluated(conditions, step_mm, &summaries, &met));
        let gathered: Vec<Gathered> = parts.iter().flat_map(Part::gathered).copied().collect();
        let points = gathered.iter().map(|w| u64::from(w.points())).sum();
        self.memory.check_points(count, points)?;
        let (gathered, gather_ms) = card.gather(&seeds, &gathered, points)?;
        job.backend.install(|| {
            complete(&mut parts, conditions, |place, points| {
                let numbers = bytemuck::cast_slice_mut::<[f32; 3], f32>(points);
                Ok(card
                    .device
                    .download_into(&gathered, 3 * place as usize, numbers)?)
            })
        })?;
        Ok((parts, follow_ms + gather_ms))
    }

    /// Follows all seeds of a batch; returns the summaries, the regions met, and the milliseconds.
    fn follow(
        &self,
        card: &mut Card,
        batch: &Batch,
        seeds: &CudaSlice<KernelSeed>,
    ) -> Result<(Vec<Summary>, Vec<u32>, f64), Error> {
        let (device, slots) = (card.device, batch.seeds.len());
        let mut running: Vec<u32> = (0..slots as u32).collect();
        if running.is_empty() {
            return Ok((Vec::new(), Vec::new(), 0.0));
        }
        let progress = device.alloc_zeros::<Progress>(slots)?;
        let summaries = device.alloc_zeros::<Summary>(slots)?;
        // A buffer must not be empty.
        let met = match &batch.met[..] {
            [] => device.upload(&[u32::MAX])?,
            met => device.upload(met)?,
        };
        let order = kernel_order(self.field.order());
        let kernel = device.kernel(kernels::ODF_TRACKING, &format!("odf_tracking_arcs_{order}"))?;
        let mut kernel_ms = 0.0;
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
                azimuths: device.address(&card.azimuths),
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
            let ((), ms) = device.elapsed(|| {
                // SAFETY: `running` holds slots, for each of which there are a seed, progress, a summary, and for both
                // halves `met` (one number per gate) and `room` points, as many as the largest number of steps;
                // `directions` has as many for each slot if any streamline goes back. The grids bound the reads of
                // records and fractions. All buffers live until the download below, which waits for the kernel.
                let launched = unsafe {
                    device
                        .stream()
                        .launch_builder(&kernel)
                        .arg(&rules)
                        .arg(&data)
                        .launch(config)
                };
                device.check(OPERATION, launched)?;
                Ok(())
            })?;
            kernel_ms += f64::from(ms);
            let outcomes = device.download(&summaries, 0..slots)?;
            running.retain(|&i| !outcomes[i as usize].is_done());
            if running.is_empty() {
                break outcomes;
            }
        };
        let met = device.download(&met, 0..batch.met.len())?;
        Ok((outcomes, met, kernel_ms))
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
            room: card.room,
            max_steps: conditions.max_steps,
            gates: card.regions.count.0,
            masks: card.regions.count.1,
            both_ways: u32::from(conditions.both_ways),
            goes_back: u32::from(conditions.goes_back),
            has_tissues: u32::from(conditions.tissues.is_some()),
            samples: tables.samples as u32,
            step_mm: tables.step_mm,
            cap_height: tables.cap_height,
            cut: tables.cut,
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

/// Data that stay on a card during a run.
struct Card<'a> {
    device: &'a Device,
    fibres: &'a Fibres,
    regions: Regions,
    fractions: Option<Arc<CudaSlice<f32>>>,
    azimuths: CudaSlice<[f32; 2]>,
    /// By streamline, half and step: a point, and the tissues passed.
    points: CudaSlice<[f32; 4]>,
    directions: CudaSlice<[f32; 3]>,
    /// Steps of a half for which there is room.
    room: u32,
    /// Streamlines per batch.
    batch: u64,
}

impl Card<'_> {
    /// Streamlines one after the other in one buffer; also returns the milliseconds.
    fn gather(
        &self,
        seeds: &CudaSlice<KernelSeed>,
        gathered: &[Gathered],
        points: u64,
    ) -> Result<(CudaSlice<f32>, f64), Error> {
        const THREADS: u32 = 256;
        let device = self.device;
        device.needs(12 * points, "gathering the streamlines", LOWER)?;
        let mut out = device.alloc_zeros::<f32>(3 * points as usize)?;
        if gathered.is_empty() {
            return Ok((out, 0.0));
        }
        let list = device.upload(gathered)?;
        let count = gathered.len() as u32;
        let kernel = device.kernel(kernels::ODF_TRACKING, "odf_tracking_gather")?;
        let config = LaunchConfig {
            grid_dim: (count.div_ceil(THREADS / WARP), 1, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        let ((), ms) = device.elapsed(|| {
            // SAFETY: each streamline names a slot with a seed and at most `room` points in each half, and a place in
            // `out`, which has room for all of them one after the other.
            let launched = unsafe {
                device
                    .stream()
                    .launch_builder(&kernel)
                    .arg(&list)
                    .arg(&count)
                    .arg(&self.room)
                    .arg(seeds)
                    .arg(&self.points)
                    .arg(&mut out)
                    .launch(config)
            };
            device.check("gathering the streamlines", launched)?;
            Ok(())
        })?;
        Ok((out, f64::from(ms)))
    }
}
