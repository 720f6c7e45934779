//! Host code shared by the kernels that follow curves: kernels/curves.cuh.

#![allow(unsafe_code, reason = "kernel launches")]

pub mod on_card;
pub mod regions;

use crate::compute::cuda::{Device, Error};
use crate::compute::kernel_struct;
use crate::compute::kernels::KernelFile;
use crate::solvers::curves::StopReason;
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg as _};

pub const BLOCK: u32 = 64;
/// Resident blocks per multiprocessor, by the kernels' launch bounds.
const BLOCKS_RESIDENT: u32 = 8;

/// The launch of kernels whose threads take the next curve from a queue when theirs ends: more threads than are
/// resident would only wait.
pub fn launch(device: &Device, curves: usize, threads_each: u32) -> LaunchConfig {
    let blocks = (curves as u32 * threads_each).div_ceil(BLOCK);
    LaunchConfig {
        grid_dim: (blocks.min(device.multiprocessors() * BLOCKS_RESIDENT), 1, 1),
        block_dim: (BLOCK, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// The launch of a kernel with one thread for each of `count` items.
pub fn one_thread_each(count: u32) -> LaunchConfig {
    const THREADS: u32 = 256;
    LaunchConfig {
        grid_dim: (count.div_ceil(THREADS), 1, 1),
        block_dim: (THREADS, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// The stop reason with this number. Panics on an unknown number, which no kernel writes.
pub fn reason(number: u32) -> StopReason {
    match StopReason::ALL.get(number as usize) {
        Some(reason) if *reason as u32 == number => *reason,
        _ => panic!("a kernel names reason {number}"),
    }
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct CurveRange {
    slot: u32,
    count: u32,
    /// Index of its first point in the output, and the step from one point to the next: 1, or -1 for reverse order.
    first: u32,
    step: i32,
}
kernel_struct!(CurveRange as "CurveRange in kernels/curves.cuh", 16 { slot: 0, count: 4, first: 8, step: 12 });
// SAFETY: plain numbers, as the kernels declare them.
unsafe impl DeviceRepr for CurveRange {}

/// The seed of a curve, among the gathered points.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct SeedPlace {
    /// Index in the output, and that of a neighbour, whose measure it takes.
    place: u32,
    neighbour: u32,
    /// World mm.
    at: [f32; 3],
}
kernel_struct!(SeedPlace as "SeedPlace in kernels/curves.cuh", 20 { place: 0, neighbour: 4, at: 8 });
// SAFETY: as above.
unsafe impl DeviceRepr for SeedPlace {}

/// The points of one half of a curve in the grid of steps.
#[derive(Clone, Copy)]
pub struct HalfPoints {
    pub slot: usize,
    pub count: u32,
}

/// Curves whose points are gathered, one after the other.
#[derive(Default)]
pub struct GatherList {
    curves: Vec<CurveRange>,
    seeds: Vec<SeedPlace>,
    points: u64,
}

impl GatherList {
    /// Adds a curve: the head from its end to the seed, the seed (world mm), and the tail.
    pub fn add(&mut self, head: HalfPoints, seed: [f32; 3], tail: HalfPoints) {
        let place = self.points as u32 + head.count;
        if head.count > 0 {
            self.curves.push(CurveRange {
                slot: head.slot as u32,
                count: head.count,
                first: place - 1,
                step: -1,
            });
        }
        if tail.count > 0 {
            self.curves.push(CurveRange {
                slot: tail.slot as u32,
                count: tail.count,
                first: place + 1,
                step: 1,
            });
        }
        self.seeds.push(SeedPlace {
            place,
            neighbour: match tail.count {
                0 => place.saturating_sub(1),
                _ => place + 1,
            },
            at: seed,
        });
        self.points += u64::from(head.count) + 1 + u64::from(tail.count);
    }

    /// The curves of all lists, in their order.
    pub fn joined(lists: Vec<Self>) -> Self {
        let total = |count: fn(&Self) -> usize| lists.iter().map(count).sum();
        let mut all = Self {
            curves: Vec::with_capacity(total(|list| list.curves.len())),
            seeds: Vec::with_capacity(total(|list| list.seeds.len())),
            points: 0,
        };
        for list in lists {
            all.append(list);
        }
        all
    }

    fn append(&mut self, other: Self) {
        let moved = self.points as u32;
        let curves = other.curves.into_iter();
        self.curves.extend(curves.map(|curve| CurveRange {
            first: curve.first + moved,
            ..curve
        }));
        let seeds = other.seeds.into_iter();
        self.seeds.extend(seeds.map(|seed| SeedPlace {
            place: seed.place + moved,
            neighbour: seed.neighbour + moved,
            ..seed
        }));
        self.points += other.points;
    }

    /// Total number of points.
    pub fn points(&self) -> u64 {
        self.points
    }

    /// Gathers the points into one buffer for each number of floats per point in `floats`; also returns the
    /// milliseconds. `grid` holds point k of slot i of `slots` at k · slots + i, as far as the curve of that slot
    /// extends; `file` has the entries `<stem>_gather` and `<stem>_seeds` for such points and buffers.
    pub fn gather<const N: usize>(
        &self,
        device: &Device,
        file: KernelFile,
        grid: &CudaSlice<f32>,
        slots: u32,
        floats: [usize; N],
    ) -> Result<([CudaSlice<f32>; N], f64), Error> {
        const CURVES_PER_BLOCK: u32 = 32;
        const OPERATION: &str = "gathering the curves";
        let all = floats.iter().sum::<usize>() * size_of::<f32>();
        let lists = size_of_val(&self.curves[..]) + size_of_val(&self.seeds[..]);
        device.needs(
            self.points * all as u64 + lists as u64,
            OPERATION,
            "choose a shorter length limit or a longer step",
        )?;
        let mut buffers = Vec::with_capacity(N);
        for each in floats {
            buffers.push(device.alloc_zeros::<f32>(self.points as usize * each)?);
        }
        let mut buffers: [CudaSlice<f32>; N] = match buffers.try_into() {
            Ok(buffers) => buffers,
            Err(_) => unreachable!("as many buffers as numbers"),
        };
        if self.points == 0 {
            return Ok((buffers, 0.0));
        }
        let list = device.upload(&self.curves)?;
        let curves = self.curves.len() as u32;
        let seeds = device.upload(&self.seeds)?;
        let count = self.seeds.len() as u32;
        let place_seeds = device.kernel(file, &format!("{}_seeds", file.stem))?;
        let kernel = device.kernel(file, &format!("{}_gather", file.stem))?;
        let launch = LaunchConfig {
            grid_dim: (curves.div_ceil(CURVES_PER_BLOCK), 1, 1),
            block_dim: (256, 1, 1),
            shared_mem_bytes: 0,
        };
        let ((), ms) = device.elapsed(|| {
            let mut builder = device.stream().launch_builder(&kernel);
            builder.arg(grid).arg(&slots).arg(&list).arg(&curves);
            for buffer in &mut buffers {
                builder.arg(buffer);
            }
            // SAFETY: `list` has `curves` entries, each with a slot that holds at least its number of points; the
            // buffers have room for all points.
            let launched = unsafe { builder.launch(launch) };
            device.check(OPERATION, launched)?;
            let mut builder = device.stream().launch_builder(&place_seeds);
            builder.arg(&seeds).arg(&count);
            for buffer in &mut buffers {
                builder.arg(buffer);
            }
            // SAFETY: one thread for each of `count` seeds, surplus threads return; seeds and their neighbours lie
            // among the points.
            let launched = unsafe { builder.launch(one_thread_each(count)) };
            device.check(OPERATION, launched)?;
            Ok(())
        })?;
        Ok((buffers, f64::from(ms)))
    }
}
