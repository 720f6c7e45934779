//! The wild bootstrap on a card: a fit, its residuals, and tensors of many repetitions at once.

use super::{Card, KernelCounts, KernelJob, LOWER, Lists, Samples, THREADS, threads};
use crate::compute::cuda::{CardPart, Device};
use crate::compute::kernel_struct;
use crate::compute::{Backend, Control, DataId, kernels};
use crate::data::{Grid, Mask, Tensor, TensorField, Volume};
use crate::solvers::Error;
use crate::solvers::on_card::LateValues;
use crate::solvers::tensor_fit::cpu::Settings;
use crate::solvers::tensor_fit::design::{Design, UNKNOWNS};
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaFunction, CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg as _};
use std::sync::Arc;

const OPERATION: &str = "the bootstrap";
/// Numbers of a fit: `FIT_PLANES` in kernels/tensor_fit.cu.
const FIT_PLANES: usize = UNKNOWNS + 2 + UNKNOWNS * (UNKNOWNS - 1) / 2 + UNKNOWNS + 1;
/// Repetitions that a thread of `tensor_fit_repeat_4` sums.
const TOGETHER: u32 = 4;
/// Threads that copy tensors to the host: the first access to fresh memory takes longer than the transfer.
const COPY_THREADS: usize = 16;
/// Reciprocal share of the free memory that the tensors of repetitions take.
const SHARE: u64 = 4;

/// `Kept` in kernels/tensor_fit.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelKept {
    fits: u64,
    pulls: u64,
}
kernel_struct!(KernelKept as "Kept in kernels/tensor_fit.cu", 16 { fits: 0, pulls: 8 });
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for KernelKept {}

/// A fit and its residuals in the memory of the first card.
pub struct Residuals {
    devices: Arc<[Device]>,
    voxels: Arc<CudaSlice<u32>>,
    fits: CudaSlice<f32>,
    pulls: CudaSlice<f32>,
    rows: CudaSlice<super::KernelRow>,
    /// Arguments without buffers.
    job: KernelJob,
    settings: Settings,
}

impl Residuals {
    /// Fits the voxels of the mask. Needs the backend's threads installed.
    pub fn new(
        dwi: &Volume,
        mask: &Mask,
        design: &Design,
        settings: Settings,
        devices: &Arc<[Device]>,
        control: &Control,
    ) -> Result<Self, Error> {
        let card = Card::new(dwi, mask, design, settings, devices, control)?;
        let (device, count, rows) = (card.device, card.voxels.len(), design.rows.len());
        control.begin("Residuals of the fit", count as u64);
        let bytes = 4 * (count * (FIT_PLANES + rows)) as u64;
        let whole = card.whole_scan(bytes)?;
        device.needs(bytes, OPERATION, LOWER)?;
        let fits = device.alloc_zeros::<f32>(count * FIT_PLANES)?;
        let pulls = device.alloc_zeros::<f32>(count * rows)?;
        let lists = Lists::new(device, 1)?;
        let kernel = device.kernel(kernels::TENSOR_FIT, "tensor_fit_residuals")?;
        let kept = KernelKept {
            fits: device.address(&fits),
            pulls: device.address(&pulls),
        };
        let all = count;
        let launch = |samples: &Samples, first: usize, count: usize| {
            let job = card.job(samples, &lists, first, count);
            let (first, all) = (first as u32, all as u32);
            // SAFETY: one thread for each voxel of the list; the planes of `fits` and `pulls` have a number for each
            // voxel of the whole list.
            let launched = unsafe {
                let mut launch = device.stream().launch_builder(&kernel);
                launch.arg(&job).arg(&kept).arg(&first).arg(&all);
                launch.launch(threads(count))
            };
            device.check(OPERATION, launched)?;
            // Samples of a slab are dropped after this.
            device.synchronize(OPERATION)?;
            control.advance(count as u64);
            Ok::<(), Error>(())
        };
        match &whole {
            Some(samples) => {
                for first in (0..count).step_by(super::LAUNCH) {
                    control.check()?;
                    launch(samples, first, super::LAUNCH.min(count - first))?;
                }
            }
            None => card.in_slabs(mask, launch)?,
        }
        let rows = match whole {
            Some(samples) => samples.rows,
            None => card.rows(|row| row)?,
        };
        let job = KernelJob {
            min_eigenvalue: settings.min_eigenvalue_mm2_per_s,
            count: count as u32,
            row_count: design.rows.len() as u32,
            scale: card.scale(),
            ..KernelJob::zeroed()
        };
        Ok(Self {
            devices: devices.clone(),
            voxels: card.voxels.clone(),
            fits,
            pulls,
            rows,
            job,
            settings,
        })
    }

    fn device(&self) -> &Device {
        &self.devices[0]
    }

    /// The tensors of one repetition on the grid, which stay on the card until the host needs them.
    pub fn field(
        &self,
        grid: &Arc<Grid>,
        salt: u64,
        control: &Control,
    ) -> Result<TensorField, Error> {
        control.check()?;
        let n = grid.voxel_count();
        let tensors = self.repeat(&[salt], n, false)?;
        let id = DataId::fresh();
        let tensors = self
            .device()
            .cached_as(id, "tensors", || Ok::<_, Error>(tensors))?;
        let late = LateValues::shared(CardPart::of_values::<Tensor>(&self.devices, tensors, 0, n));
        Ok(TensorField::identified(id, grid.clone(), late))
    }

    /// The tensors of the repetitions with these salts, in the order of the list of voxels.
    pub fn tensors(&self, salts: &[u64], control: &Control) -> Result<Vec<Vec<Tensor>>, Error> {
        let count = self.voxels.len();
        // A tensor, and its places in both lists.
        let each = ((size_of::<Tensor>() + 8) * count) as u64;
        let fit = self.device().memory()?.0 / SHARE / each.max(1);
        // Tensors are numbered with 32 bits.
        let numbered = u64::from(u32::MAX) / count.max(1) as u64;
        let together = fit.min(numbered).clamp(1, salts.len().max(1) as u64) as usize;
        let mut all = Vec::with_capacity(salts.len());
        for salts in salts.chunks(together) {
            control.check()?;
            let tensors = self.repeat(salts, count, true)?;
            let copied = |repetition: usize| {
                let mut own: Vec<Tensor> = bytemuck::zeroed_vec(count);
                let numbers = bytemuck::cast_slice_mut(&mut own);
                let first = 8 * repetition * count;
                self.device().download_into(&tensors, first, numbers)?;
                Ok(own)
            };
            let each = salts.len().div_ceil(COPY_THREADS);
            let copied = Backend::on_own_threads(salts.len().div_ceil(each), |i| {
                let own = i * each..salts.len().min((i + 1) * each);
                own.map(copied).collect::<Result<Vec<_>, Error>>()
            });
            for part in copied {
                all.extend(part?);
            }
        }
        Ok(all)
    }

    /// Eight numbers for each repetition and place, which is one of `size` voxels of the grid or of the list.
    fn repeat(&self, salts: &[u64], size: usize, is_packed: bool) -> Result<CudaSlice<f32>, Error> {
        let (device, count) = (self.device(), self.voxels.len());
        let repetitions = salts.len();
        let bytes = repetitions * (size_of::<Tensor>() * size + 8 * count);
        device.needs(bytes as u64, OPERATION, LOWER)?;
        let tensors = device.alloc_zeros::<f32>(8 * size * repetitions)?;
        let lists = Lists::new(device, count * repetitions)?;
        let salts = device.upload(salts)?;
        let job = KernelJob {
            rows: device.address(&self.rows),
            voxels: device.address(&self.voxels),
            tensors: device.address(&tensors),
            doubtful: device.address(&lists.doubtful),
            repaired: device.address(&lists.repaired),
            counts: device.address(&lists.counts),
            is_packed: u32::from(is_packed),
            ..self.job
        };
        let kept = KernelKept {
            fits: device.address(&self.fits),
            pulls: device.address(&self.pulls),
        };
        let (kernel, together) = match repetitions {
            1 => ("tensor_fit_repeat_1", 1),
            _ => ("tensor_fit_repeat_4", TOGETHER),
        };
        let kernel: CudaFunction = device.kernel(kernels::TENSOR_FIT, kernel)?;
        let (size, repetitions) = (size as u32, repetitions as u32);
        let config = LaunchConfig {
            grid_dim: (
                (count as u32).div_ceil(THREADS),
                repetitions.div_ceil(together),
                1,
            ),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: one thread for each voxel of the list and four repetitions; `tensors` has `size` places for each
        // repetition, and all buffers live until the counts are read below, which waits for the kernels.
        let launched = unsafe {
            let mut launch = device.stream().launch_builder(&kernel);
            launch.arg(&job).arg(&kept).arg(&salts);
            launch.arg(&repetitions).arg(&size).launch(config)
        };
        device.check(OPERATION, launched)?;
        lists.repair(device, &tensors, self.settings)?;
        let mut counts = [KernelCounts::zeroed()];
        device.poll_into(&lists.counts, &mut counts)?;
        Ok(tensors)
    }
}
