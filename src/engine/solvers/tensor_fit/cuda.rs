//! The fit on a graphics card (kernels/tensor_fit.cu), one thread for each voxel.
//!
//! The scan stays on the card for the next fit, and so do the tensors, for the maps and for tracking: the host copies them when it
//! needs them ([`crate::solvers::on_card`]). A scan that is larger than the card's memory is fitted in slabs of the mask. A fit is
//! not divided among several cards, since one needs only a millisecond.

#![allow(unsafe_code, reason = "kernel launches")]

mod maps;
mod residuals;

pub use maps::{maps, shape_maps};
pub use residuals::Residuals;

use super::cpu::{Settings, gather};
use super::design::{Design, MULTIPLICITY};
use super::unshared;
use crate::compute::cuda::{CardPart, Device};
use crate::compute::kernel_struct;
use crate::compute::{Control, DataId, kernels, memory, zeroed};
use crate::data::{Mask, Shared, Tensor, Volume};
use crate::solvers::Error;
use crate::solvers::on_card::LateValues;
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg as _};
use std::sync::Arc;

const OPERATION: &str = "fitting tensors";
const LOWER: &str = "fit them on the CPU";
const THREADS: u32 = 128;
/// Words with a bit for each volume: `SEEN` in kernels/tensor_fit.cu.
const SEEN: usize = 64;
/// More volumes are fitted on the CPU.
pub const MAX_VOLUMES: usize = 32 * SEEN;
/// Voxels of a launch: some milliseconds, between which a fit can be cancelled.
const LAUNCH: usize = 1 << 20;
/// Values that are copied to the card between two tests whether the fit is cancelled: some milliseconds.
const UPLOAD: usize = 16 << 20;
/// Reciprocal share of the free memory that a slab takes.
const SHARE: u64 = 4;
/// Blocks that repair tensors, of which there are few.
const REPAIR_BLOCKS: u32 = 512;

/// `Row` in kernels/tensor_fit.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelRow {
    inverse: [f32; 7],
    volume: u32,
    products: [f32; 22],
    same_volume: u32,
    unused: u32,
}
kernel_struct!(KernelRow as "Row in kernels/tensor_fit.cu", 128 {
    inverse: 0, volume: 28, products: 32, same_volume: 120, unused: 124,
});
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for KernelRow {}

/// `Counts` in kernels/tensor_fit.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelCounts {
    unfitted: u32,
    doubtful: u32,
    repaired: u32,
    unused: u32,
    seen: [u32; 64],
}
kernel_struct!(KernelCounts as "Counts in kernels/tensor_fit.cu", 272 {
    unfitted: 0, doubtful: 4, repaired: 8, unused: 12, seen: 16,
});
// SAFETY: as above.
unsafe impl DeviceRepr for KernelCounts {}

/// `FitJob` in kernels/tensor_fit.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelJob {
    samples: u64,
    rows: u64,
    voxels: u64,
    tensors: u64,
    s0: u64,
    doubtful: u64,
    repaired: u64,
    counts: u64,
    min_eigenvalue: f64,
    stride: u64,
    count: u32,
    row_count: u32,
    is_packed: u32,
    weighted_solves: u32,
    scale: [f32; 6],
    unused: [u32; 2],
}
kernel_struct!(KernelJob as "FitJob in kernels/tensor_fit.cu", 128 {
    samples: 0, rows: 8, voxels: 16, tensors: 24, s0: 32, doubtful: 40, repaired: 48, counts: 56, min_eigenvalue: 64,
    stride: 72, count: 80, row_count: 84, is_packed: 88, weighted_solves: 92, scale: 96, unused: 120,
});
// SAFETY: as above.
unsafe impl DeviceRepr for KernelJob {}

/// A fit on a card.
pub struct CardFit {
    /// Identity of the tensors.
    pub id: DataId,
    pub tensors: Shared<Tensor>,
    pub s0: Shared<f32>,
    pub repaired: Arc<[u8]>,
    pub unfitted: usize,
    /// Whether each row of the design has a sample above 0 in the mask.
    pub has_signal: Vec<bool>,
    pub kernel_s: f64,
}

/// The samples of a fit, with the rows of its design.
struct Samples {
    values: Arc<CudaSlice<f32>>,
    rows: CudaSlice<KernelRow>,
    /// Values of a volume.
    stride: usize,
    /// Whether they are those of the voxels of a list, in its order.
    is_packed: bool,
}

/// The inputs of a fit that do not depend on samples.
struct Card<'a> {
    device: &'a Device,
    dwi: &'a Volume,
    design: &'a Design,
    settings: Settings,
    /// The voxels of the mask, ascending, on the card.
    voxels: Arc<CudaSlice<u32>>,
    control: &'a Control,
}

/// Fits the voxels of the mask on the first card. Needs the backend's threads installed.
pub fn fit(
    dwi: &Volume,
    mask: &Mask,
    design: &Design,
    settings: Settings,
    devices: &Arc<[Device]>,
    control: &Control,
) -> Result<CardFit, Error> {
    let card = Card::new(dwi, mask, design, settings, devices, control)?;
    let (device, n, count) = (card.device, dwi.grid.voxel_count(), card.voxels.len());
    control.begin("Fitting tensors", count as u64);
    let outputs = 36 * n as u64 + 8 * count as u64;
    let whole = card.whole_scan(outputs)?;
    device.needs(outputs, OPERATION, LOWER)?;
    let tensors = device.alloc_zeros::<f32>(8 * n)?;
    let s0 = device.alloc_zeros::<f32>(n)?;
    let lists = Lists::new(device, count)?;
    let mut kernel_ms = 0.0;
    let mut launch = |samples: &Samples, first: usize, count: usize| {
        let job = KernelJob {
            tensors: device.address(&tensors),
            s0: device.address(&s0),
            ..card.job(samples, &lists, first, count)
        };
        let ((), ms) = device.elapsed(|| card.launch_fit(&job))?;
        kernel_ms += f64::from(ms);
        control.advance(count as u64);
        Ok::<(), Error>(())
    };
    match &whole {
        Some(samples) => {
            for first in (0..count).step_by(LAUNCH) {
                control.check()?;
                launch(samples, first, LAUNCH.min(count - first))?;
            }
        }
        None => card.in_slabs(mask, launch)?,
    }
    let ((), repair_ms) = device.elapsed(|| lists.repair(device, &tensors, settings))?;
    let (counts, listed) = lists.read(device)?;
    let mut repaired = zeroed::<u8>(n);
    for voxel in listed {
        unshared(&mut repaired)[voxel as usize] = 1;
    }
    let id = DataId::fresh();
    let tensors = device.cached_as(id, "tensors", || Ok::<_, Error>(tensors))?;
    let is_seen = |row: usize| counts.seen[row / 32] >> (row % 32) & 1 != 0;
    Ok(CardFit {
        id,
        tensors: LateValues::shared(CardPart::of_values::<Tensor>(devices, tensors, 0, n)),
        s0: LateValues::shared(CardPart::of_values::<f32>(devices, Arc::new(s0), 0, n)),
        repaired,
        unfitted: counts.unfitted as usize,
        has_signal: (0..design.rows.len()).map(is_seen).collect(),
        kernel_s: 1e-3 * (kernel_ms + f64::from(repair_ms)),
    })
}

impl<'a> Card<'a> {
    fn new(
        dwi: &'a Volume,
        mask: &Mask,
        design: &'a Design,
        settings: Settings,
        devices: &'a Arc<[Device]>,
        control: &'a Control,
    ) -> Result<Self, Error> {
        let device = &devices[0];
        // Voxels and components of tensors are numbered with 32 bits.
        if u32::try_from(dwi.grid.voxel_count()).is_err() {
            device.needs(u64::MAX, OPERATION, LOWER)?;
        }
        control.check()?;
        let voxels = device.cached(mask.id(), "voxels inside", || voxels_inside(mask))?;
        Ok(Self {
            device,
            dwi,
            design,
            settings,
            voxels,
            control,
        })
    }

    /// All samples of the scan, which stay on the card; `None` if they do not fit there beside `outputs` bytes.
    fn whole_scan(&self, outputs: u64) -> Result<Option<Samples>, Error> {
        const TAG: &str = "scan";
        let (device, values) = (self.device, &self.dwi.values);
        let bytes = 4 * values.len() as u64;
        let has_room = || {
            let is_small = bytes <= device.total() / 2;
            is_small && device.needs(bytes + outputs, OPERATION, LOWER).is_ok()
        };
        if !device.has::<f32>(self.dwi.id(), TAG) && !has_room() {
            return Ok(None);
        }
        let upload = || {
            let mut buffer = device.alloc_zeros::<f32>(values.len())?;
            for (i, part) in values.chunks(UPLOAD).enumerate() {
                self.control.check()?;
                device.upload_wide_into(part, &mut buffer, i * UPLOAD)?;
            }
            Ok::<_, Error>(buffer)
        };
        let values = device.cached_as(self.dwi.id(), TAG, upload)?;
        Ok(Some(Samples {
            values,
            rows: self.rows(|row| self.design.volumes[row])?,
            stride: self.dwi.grid.voxel_count(),
            is_packed: false,
        }))
    }

    /// The rows of the design, with the number of each one's volume among the samples.
    fn rows(&self, volume: impl Fn(usize) -> usize) -> Result<CudaSlice<KernelRow>, Error> {
        let rows = self.design.rows.iter().enumerate();
        let rows = rows.map(|(i, row)| KernelRow {
            inverse: row.inverse,
            volume: volume(i) as u32,
            products: row.products,
            same_volume: volume(i) as u32,
            unused: 0,
        });
        Ok(self.device.upload(&rows.collect::<Vec<_>>())?)
    }

    /// Calls `launch` with the samples, the first place and the number of voxels of each slab of the mask.
    fn in_slabs(
        &self,
        mask: &Mask,
        mut launch: impl FnMut(&Samples, usize, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (device, rows) = (self.device, self.design.rows.len());
        let voxels = voxels_inside(mask);
        let fits = device.memory()?.0 / SHARE / (4 * rows as u64);
        let size = (fits as usize).clamp(1, LAUNCH).min(voxels.len());
        let bytes = 4 * (rows * size) as u64;
        device.needs(bytes, OPERATION, LOWER)?;
        memory::claim("The fit of tensors", bytes)?;
        let mut packed = vec![0f32; rows * size];
        for (i, slab) in voxels.chunks(size).enumerate() {
            self.control.check()?;
            let count = slab.len();
            gather(self.dwi, self.design, slab, packed.chunks_mut(size));
            let samples = Samples {
                values: Arc::new(device.upload(&packed)?),
                rows: self.rows(|row| row)?,
                stride: size,
                is_packed: true,
            };
            launch(&samples, i * size, count)?;
        }
        Ok(())
    }

    /// The arguments for a part of the voxels; packed samples are those of this part. Without outputs.
    fn job(&self, samples: &Samples, lists: &Lists, first: usize, count: usize) -> KernelJob {
        let (device, design) = (self.device, self.design);
        KernelJob {
            samples: device.address(&samples.values),
            rows: device.address(&samples.rows),
            voxels: device.address(&self.voxels) + 4 * first as u64,
            doubtful: device.address(&lists.doubtful),
            repaired: device.address(&lists.repaired),
            counts: device.address(&lists.counts),
            min_eigenvalue: self.settings.min_eigenvalue_mm2_per_s,
            stride: samples.stride as u64,
            count: count as u32,
            row_count: design.rows.len() as u32,
            is_packed: u32::from(samples.is_packed),
            weighted_solves: self.settings.weighted_solves,
            scale: self.scale(),
            ..KernelJob::zeroed()
        }
    }

    /// From an unknown to a component of the tensor.
    fn scale(&self) -> [f32; 6] {
        let b_max = self.design.b_max_s_per_mm2;
        MULTIPLICITY.map(|multiplicity| (-1.0 / (multiplicity * b_max)) as f32)
    }

    fn launch_fit(&self, job: &KernelJob) -> Result<(), crate::compute::cuda::Error> {
        let kernel = self
            .device
            .kernel(kernels::TENSOR_FIT, "tensor_fit_solve")?;
        let stream = self.device.stream();
        // SAFETY: one thread for each voxel of the list; samples, rows and outputs have the sizes that the job states,
        // and live until the counts are read, which waits for the kernel.
        let launched = unsafe {
            let mut launch = stream.launch_builder(&kernel);
            launch.arg(job).launch(threads(job.count as usize))
        };
        self.device.check(OPERATION, launched).map(drop)
    }
}

fn voxels_inside(mask: &Mask) -> Vec<u32> {
    let inside = mask.inside.iter().enumerate();
    let inside = inside.filter(|(_, m)| **m != 0);
    inside.map(|(voxel, _)| voxel as u32).collect()
}

/// One thread for each of `count` items.
fn threads(count: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: ((count as u32).div_ceil(THREADS), 1, 1),
        block_dim: (THREADS, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// The tensors that may need a repair, and those that needed one.
struct Lists {
    counts: CudaSlice<KernelCounts>,
    doubtful: CudaSlice<u32>,
    repaired: CudaSlice<u32>,
}

impl Lists {
    fn new(device: &Device, count: usize) -> Result<Self, Error> {
        Ok(Self {
            counts: device.alloc_zeros(1)?,
            doubtful: device.alloc_zeros(count)?,
            repaired: device.alloc_zeros(count)?,
        })
    }

    /// Repairs the doubtful tensors.
    fn repair(
        &self,
        device: &Device,
        tensors: &CudaSlice<f32>,
        settings: Settings,
    ) -> Result<(), crate::compute::cuda::Error> {
        let kernel = device.kernel(kernels::TENSOR_FIT, "tensor_fit_repair")?;
        let addresses = [
            device.address(tensors),
            device.address(&self.doubtful),
            device.address(&self.repaired),
            device.address(&self.counts),
        ];
        let most = self.doubtful.len().min((REPAIR_BLOCKS * THREADS) as usize);
        // SAFETY: the list holds numbers of tensors, and both lists have room for all of them; all buffers live until the
        // counts are read, which waits for the kernel.
        let launched = unsafe {
            let mut launch = device.stream().launch_builder(&kernel);
            for address in &addresses {
                launch.arg(address);
            }
            launch
                .arg(&settings.min_eigenvalue_mm2_per_s)
                .launch(threads(most))
        };
        device.check(OPERATION, launched).map(drop)
    }

    /// The counts and the repaired tensors, after all launches.
    fn read(&self, device: &Device) -> Result<(KernelCounts, Vec<u32>), Error> {
        let mut counts = [KernelCounts::zeroed()];
        device.poll_into(&self.counts, &mut counts)?;
        let [counts] = counts;
        let repaired = device.download(&self.repaired, 0..counts.repaired as usize)?;
        Ok((counts, repaired))
    }
}
