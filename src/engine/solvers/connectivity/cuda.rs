//! Labels at the ends of streamlines whose points are on cards, and their lengths: equal to those of the CPU, bit by bit.

#![allow(unsafe_code, reason = "kernel launches")]

use super::ends::Ends;
use crate::compute::cuda::Device;
use crate::compute::{Backend, Control, kernel_struct, kernels};
use crate::data::Tractogram;
use crate::solvers::Error;
use crate::solvers::on_card::{
    CurvesOfCard, CurvesOnCards, LINES_PER_BATCH, batches, few_threads_each,
};
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{DeviceRepr, PushKernelArg as _};
use glam::DAffine3;

const OPERATION: &str = "finding the labels at the ends";

/// `Labels` in kernels/connectivity.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelLabels {
    voxel_from_world: [f64; 12],
    world_from_voxel: [f64; 12],
    reach: [f64; 3],
    radius_mm: f64,
    shape: [u32; 3],
    unused: u32,
}
kernel_struct!(KernelLabels as "Labels in kernels/connectivity.cu", 240 {
    voxel_from_world: 0, world_from_voxel: 96, reach: 192, radius_mm: 216, shape: 224, unused: 236,
});
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for KernelLabels {}

/// `Ends` in kernels/connectivity.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelEnds {
    first: f32,
    last: f32,
    length_mm: f32,
}
kernel_struct!(KernelEnds as "Ends in kernels/connectivity.cu", 12 { first: 0, last: 4, length_mm: 8 });
// SAFETY: as above.
unsafe impl DeviceRepr for KernelEnds {}

/// The labels at the two ends of each streamline, 0 without one, and its length, mm.
pub(super) struct EndsOfLines {
    pub labels: Vec<[i64; 2]>,
    pub lengths_mm: Vec<f32>,
    /// Seconds that the kernels took.
    pub kernel_s: f64,
}

/// The ends of all streamlines; `None` if no card has the points: the CPU then examines them.
pub(super) fn examine(
    tractogram: &Tractogram,
    ends: &Ends<'_>,
    backend: &Backend,
    control: &Control,
) -> Result<Option<EndsOfLines>, Error> {
    let Some(curves) = CurvesOnCards::new(tractogram, backend) else {
        return Ok(None);
    };
    let cards = curves.by_card(backend);
    let examined =
        curves.on_each_card(&cards, |device, own| examine_on(device, own, ends, control))?;
    let count = tractogram.len();
    let mut all = EndsOfLines {
        labels: vec![[0; 2]; count],
        lengths_mm: vec![0.0; count],
        kernel_s: 0.0,
    };
    for (own, (found, kernel_ms)) in cards.iter().zip(examined) {
        all.kernel_s += kernel_ms / 1e3;
        for (index, known) in own.indices.iter().zip(found) {
            let index = *index as usize;
            all.labels[index] = [known.first, known.last].map(|value| value as i64);
            all.lengths_mm[index] = known.length_mm;
        }
    }
    Ok(Some(all))
}

fn examine_on(
    device: &Device,
    own: &CurvesOfCard,
    ends: &Ends<'_>,
    control: &Control,
) -> Result<(Vec<KernelEnds>, f64), Error> {
    let grid = &ends.volume.grid;
    let labels = KernelLabels {
        voxel_from_world: columns(&grid.voxel_from_world),
        world_from_voxel: columns(&grid.world_from_voxel),
        reach: ends.reach.to_array(),
        radius_mm: ends.radius_mm,
        shape: grid.shape.map(|n| n as u32),
        unused: 0,
    };
    let bytes = size_of_val(ends.values) as u64 + own.list_bytes(size_of::<KernelEnds>());
    device.needs(bytes, OPERATION, "choose a smaller label map")?;
    let values = device.upload(ends.values)?;
    let kernel = device.kernel(kernels::CONNECTIVITY, "connectivity_ends")?;
    let (mut found, mut kernel_ms) = (Vec::with_capacity(own.lines.len()), 0.0);
    for some in batches(own.lines.len(), LINES_PER_BATCH) {
        control.check()?;
        let lines = device.upload(&own.lines[some])?;
        let count = lines.len() as u32;
        let mut ends = device.alloc_zeros::<KernelEnds>(lines.len())?;
        let ((), ms) = device.elapsed(|| {
            // SAFETY: one thread for each of `count` streamlines, surplus threads return; their points lie in buffers
            // that the caller keeps, `values` holds the grid, and `ends` an entry for each streamline.
            let launched = unsafe {
                device
                    .stream()
                    .launch_builder(&kernel)
                    .arg(&lines)
                    .arg(&count)
                    .arg(&labels)
                    .arg(&values)
                    .arg(&mut ends)
                    .launch(few_threads_each(count))
            };
            device.check(OPERATION, launched).map(drop)
        })?;
        kernel_ms += f64::from(ms);
        found.extend(device.download(&ends, 0..lines.len())?);
        control.advance(u64::from(count));
    }
    Ok((found, kernel_ms))
}

fn columns(transform: &DAffine3) -> [f64; 12] {
    transform.to_cols_array()
}
