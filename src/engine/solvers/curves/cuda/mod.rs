//! Host code shared by the kernels that follow curves: kernels/curves.cuh.

#![allow(unsafe_code, reason = "kernel launches")]

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

/// The stop reason with this number. Panics on an unknown number, which no kernel writes.
pub fn reason(number: u32) -> StopReason {
    let reason = StopReason::ALL.into_iter().find(|r| *r as u32 == number);
    let Some(reason) = reason else {
        panic!("a kernel names reason {number}");
    };
    reason
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
kernel_struct!(CurveRange as "Wanted in kernels/curves.cuh", 16 { slot: 0, count: 4, first: 8, step: 12 });
// SAFETY: plain numbers, as the kernels declare them.
unsafe impl DeviceRepr for CurveRange {}

/// Curves whose points are copied to the host, one after the other.
#[derive(Default)]
pub struct GatherList {
    curves: Vec<CurveRange>,
    points: u64,
}

impl GatherList {
    /// Adds the first `count` points of the curve in a slot; returns the output index of the first.
    pub fn add(&mut self, slot: usize, count: u32) -> usize {
        let first = self.reserve_points(count);
        if count > 0 {
            self.curves.push(CurveRange {
                slot: slot as u32,
                count,
                first: first as u32,
                step: 1,
            });
        }
        first
    }

    /// Adds the first `count` points of the curve in a slot, in reverse order.
    pub fn add_backwards(&mut self, slot: usize, count: u32) {
        let first = self.reserve_points(count);
        if count > 0 {
            self.curves.push(CurveRange {
                slot: slot as u32,
                count,
                first: (first + count as usize - 1) as u32,
                step: -1,
            });
        }
    }

    /// Reserves output for points that do not come from the card; returns the index of the first.
    pub fn reserve_points(&mut self, count: u32) -> usize {
        let first = self.points;
        self.points += u64::from(count);
        first as usize
    }

    /// Total number of points.
    pub fn points(&self) -> u64 {
        self.points
    }

    /// Gathers the points into one buffer for each number of floats per point in `floats`; also returns the
    /// milliseconds. `grid` holds point k of slot i of `slots` at k · slots + i, as far as the curve of that slot
    /// extends; `file` has an entry `<stem>_gather` for such points and buffers.
    pub fn gather<const N: usize>(
        &self,
        device: &Device,
        file: KernelFile,
        grid: &CudaSlice<f32>,
        slots: u32,
        floats: [usize; N],
    ) -> Result<([CudaSlice<f32>; N], f64), Error> {
        const CURVES_PER_BLOCK: u32 = 32;
        let all = floats.iter().sum::<usize>() * size_of::<f32>();
        device.needs(
            self.points * all as u64,
            "gathering the curves",
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
            device.check("gathering the curves", launched)?;
            Ok(())
        })?;
        Ok((buffers, f64::from(ms)))
    }
}
