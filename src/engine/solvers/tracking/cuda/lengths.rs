//! Lengths of streamlines whose points are on the card, equal to those of the CPU to the bit.

use super::StreamlineHalves;
use crate::compute::cuda::{Device, Error};
use crate::compute::{kernel_struct, kernels};
use crate::solvers::curves::cuda::one_thread_each;
use crate::solvers::tracking::join::Plan;
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, PushKernelArg as _};

/// The slots and the numbers of points of a streamline's first half, which runs from its end to the seed, and of its
/// other half.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Candidate {
    head: u32,
    head_count: u32,
    tail: u32,
    tail_count: u32,
    /// World mm.
    seed: [f32; 3],
}
kernel_struct!(Candidate as "Candidate in kernels/tracking.cu", 28 {
    head: 0, head_count: 4, tail: 8, tail_count: 12, seed: 16,
});
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for Candidate {}

impl Candidate {
    pub(super) fn new(plan: &Plan, seed: [f32; 3]) -> Self {
        Self {
            head: plan.head.index() as u32,
            head_count: plan.head.steps,
            tail: plan.tail.index() as u32,
            tail_count: plan.tail.steps,
            seed,
        }
    }
}

/// The length of each candidate, mm. `points` holds point k of slot i at k · slots + i, where slots are those of
/// `halves`.
pub(super) fn lengths_mm(
    candidates: &[Candidate],
    points: &CudaSlice<f32>,
    halves: &StreamlineHalves,
    device: &Device,
) -> Result<Vec<f32>, Error> {
    let count = candidates.len() as u32;
    if count == 0 {
        return Ok(Vec::new());
    }
    let slots = halves.halves.len() as u32;
    let list = device.upload(candidates)?;
    let mut lengths = device.alloc_zeros::<f32>(candidates.len())?;
    let kernel = device.kernel(kernels::TRACKING, "tracking_lengths")?;
    // SAFETY: one thread for each of `count` candidates, surplus threads return; each names slots below `slots` that
    // hold at least its numbers of points.
    let launched = unsafe {
        device
            .stream()
            .launch_builder(&kernel)
            .arg(points)
            .arg(&slots)
            .arg(&list)
            .arg(&count)
            .arg(&mut lengths)
            .launch(one_thread_each(count))
    };
    device.check("measuring streamlines", launched)?;
    device.download(&lengths, 0..candidates.len())
}
