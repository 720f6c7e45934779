//! One batch of half rays: followed to their ends in launches of some milliseconds; then the points of the rays that
//! the regions keep are gathered.

use super::{DeviceInputs, Job, LaunchRules};
use crate::compute::cuda::Device;
use crate::compute::kernel_struct;
use crate::compute::{kernels, parts};
use crate::solvers::Error;
use crate::solvers::curves::cuda::on_card::{Batch, Joined};
use crate::solvers::curves::cuda::{HalfPoints, launch, reason};
use crate::solvers::curves::half_queue::PENDING;
use crate::solvers::geodesic::half_ray::RayHalf;
use crate::solvers::geodesic::join::{self, Ends};
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, PushKernelArg as _};
use std::ops::Range;
use std::sync::PoisonError;

/// Rays, or halves, that a thread takes at a time.
const PART: usize = 4096;

/// Words per ray between two launches: `Paused` in kernels/rays.cuh.
const PAUSED: usize = 21;

/// The result of a half, as in kernels/rays.cuh; the reason is [`PENDING`] while the ray continues.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Summary {
    steps: u32,
    count: u32,
    length_mm: f32,
    riemann: f32,
    reason: u32,
    target: u32,
    met: u32,
}
kernel_struct!(Summary as "Summary in kernels/rays.cuh", 28 {
    steps: 0, count: 4, length_mm: 8, riemann: 12, reason: 16, target: 20, met: 24,
});
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for Summary {}

impl Summary {
    /// Copies the result of the half in a slot.
    fn write(&self, slot: usize, half: &mut RayHalf) {
        half.first = slot;
        half.count = self.count;
        half.steps = self.steps;
        half.length_mm = self.length_mm;
        half.riemann = self.riemann;
        half.reason = reason(self.reason);
        half.target = (self.target != u32::MAX).then_some(self.target);
        half.met = self.met;
    }
}

impl Job<'_> {
    /// The rays in a range, and the milliseconds of following. `points` has room for all points that they may keep.
    pub(super) fn batch(
        &self,
        device: &Device,
        card: &DeviceInputs,
        range: Range<usize>,
        points: &mut CudaSlice<f32>,
    ) -> Result<(Batch, f64), Error> {
        let senses = self.halves_per_start();
        let starts = &self.rays.starts[range.clone()];
        // Rays that start in a target or a terminate region are finished.
        let at_seed = |half: usize| self.rules.at_seed(starts[half / senses].x, self.gates);
        let mut halves: Vec<RayHalf> = self
            .backend
            .install(|| parts::collected(starts.len() * senses, at_seed));
        let pending = |&i: &u32| halves[i as usize].reason == PENDING;
        let active: Vec<u32> = (0..halves.len() as u32).filter(pending).collect();
        let follow_ms = self.follow(device, card, range.clone(), &active, &mut halves, points)?;
        let joined = self.join(&halves, range.clone())?;
        let seeds = self.seeds_in(range.len());
        self.budget.check_points(seeds, joined.points())?;
        let grid = (&*points, active.len());
        let batch = joined.gather(device, kernels::GEODESIC, grid, true)?;
        Ok((batch, follow_ms))
    }

    /// Joins the halves of the rays in a range, on all threads.
    fn join(&self, halves: &[RayHalf], range: Range<usize>) -> Result<Joined, Error> {
        let senses = self.halves_per_start();
        let rules = join::JoinRules::new(self.gates, &self.params.curves);
        let rays = &self.rays.seeds[range];
        let part = |range: Range<usize>| {
            let halves = &halves[range.start * senses..range.end * senses];
            let rays = &rays[range];
            let mut part = Joined::new(self.gates);
            for (pair, ray) in halves.chunks_exact(senses).zip(rays) {
                let number = (ray.number, ray.seed);
                let ends = part.curves.count_ray(number, pair, &rules);
                let Some(Ends { missed, head, tail }) = ends else {
                    continue;
                };
                part.list(missed, points_of(&head), ray.at, points_of(&tail));
            }
            part
        };
        self.backend.install(|| {
            let parts = parts::in_parts(rays.len(), PART, part);
            Ok(Joined::of_parts(parts, self.gates)?)
        })
    }

    /// Follows halves (`active`, by number), one per slot, to their ends; returns milliseconds.
    fn follow(
        &self,
        device: &Device,
        card: &DeviceInputs,
        range: Range<usize>,
        active: &[u32],
        halves: &mut [RayHalf],
        points: &mut CudaSlice<f32>,
    ) -> Result<f64, Error> {
        if active.is_empty() {
            return Ok(0.0);
        }
        let slots = active.len();
        let summary = |slot: usize| Summary {
            met: halves[active[slot] as usize].met,
            reason: PENDING as u32,
            ..Summary::zeroed()
        };
        let summaries = self.backend.install(|| parts::collected(slots, summary));
        let mut summaries = device.upload(&summaries)?;
        let starts: CudaSlice<f32> =
            device.upload(bytemuck::cast_slice(&self.rays.starts[range]))?;
        let numbers = device.upload(active)?;
        let (name, threads, window) = self.kernel();
        let kernel = device.kernel(kernels::GEODESIC, &name)?;
        let pauses = self.rules.max_steps > window;
        // A buffer must not be empty.
        let mut paused = device.alloc_zeros::<u32>(if pauses { PAUSED * slots } else { PAUSED })?;
        let mut running: Vec<u32> = (0..slots as u32).collect();
        let (mut until, mut kernel_ms) = (0u32, 0.0);
        while !running.is_empty() {
            self.control.check()?;
            let resumed = until > 0;
            until = until.saturating_add(window);
            let list = device.upload(&running)?;
            let mut queue = device.alloc_zeros::<u32>(1)?;
            let launch = launch(device, running.len(), threads);
            let mut rules = self.kernel_rules(card.regions.count);
            rules.launch = LaunchRules {
                slots: slots as u32,
                running: running.len() as u32,
                until,
                resumed: u32::from(resumed),
            };
            let launching = card.launching.lock();
            let launching = launching.unwrap_or_else(PoisonError::into_inner);
            let ((), ms) = device.elapsed(|| {
                // SAFETY: `list` holds slots, for each of which `numbers` and `summaries` have an entry, as does
                // `paused` if rays pause; numbers refer to halves of `starts`; `points` holds one point more than
                // each half can keep, for as many slots as the largest batch has; records and gates have the sizes
                // given in the rules, and the metric's grid bounds the reads.
                let launched = unsafe {
                    let mut launcher = device.stream().launch_builder(&kernel);
                    launcher
                        .arg(&rules)
                        .arg(&*card.cells)
                        .arg(&*card.records)
                        .arg(&starts)
                        .arg(&numbers)
                        .arg(&list)
                        .arg(&card.regions.gates)
                        .arg(&card.regions.bytes)
                        .arg(&mut summaries)
                        .arg(&mut paused)
                        .arg(&mut *points)
                        .arg(&mut queue);
                    if let Some(lobes) = &card.lobes {
                        launcher.arg(lobes);
                    }
                    launcher.launch(launch)
                };
                device.check("tracing rays", launched)?;
                Ok(())
            })?;
            drop(launching);
            kernel_ms += f64::from(ms);
            let latest = device.download(&summaries, 0..slots)?;
            running.retain(|&slot| latest[slot as usize].reason == PENDING as u32);
            assert!(
                running.is_empty() || until < self.rules.max_steps,
                "no ray goes on beyond the last step"
            );
            if running.is_empty() {
                let write = |part: usize, halves: &mut [RayHalf]| {
                    let first = part * PART;
                    let slots = active.partition_point(|&i| (i as usize) < first)..slots;
                    for slot in slots {
                        match halves.get_mut(active[slot] as usize - first) {
                            Some(half) => latest[slot].write(slot, half),
                            None => break,
                        }
                    }
                };
                self.backend.install(|| parts::fill(halves, PART, write));
            }
        }
        Ok(kernel_ms)
    }
}

fn points_of(half: &RayHalf) -> HalfPoints {
    HalfPoints {
        slot: half.first,
        count: half.count,
    }
}
