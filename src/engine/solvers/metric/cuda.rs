//! Metrics of tensors computed on a graphics card, in double precision as on the CPU.

#![allow(unsafe_code, reason = "kernel launches")]

use super::{Cost, MAX_ANISOTROPY, MIN_SHARE, Metric, Params, Places};
use crate::compute::cuda::{self, Device};
use crate::compute::{DataId, kernel_struct, kernels};
use crate::data::Tensor;
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg as _};

const OPERATION: &str = "computing metrics";
/// Threads of a block.
const THREADS: u32 = 256;
/// Numbers of a matrix, and of a record: W, G, both determinants, two unused.
const MATRIX: usize = 6;
pub const RECORD: usize = 16;

/// `Job` in kernels/metric.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Job {
    pub places: u32,
    /// Bricks of the layout, without the one for the outside.
    pub bricks: u32,
    pub shape: [u32; 3],
    cost: u32,
    /// Longest step along an axis, voxels.
    pub longest: u32,
    unused: u32,
    scale: f64,
    alpha: f64,
    limit: f64,
    least: f64,
    /// Ratio of W's eigenvalues from which no step is used.
    pub steps_limit: f64,
    turn: [f64; 9],
}
kernel_struct!(Job as "Job in kernels/metric.cu", 144 {
    places: 0, bricks: 4, shape: 8, cost: 20, longest: 24, unused: 28, scale: 32, alpha: 40, limit: 48, least: 56,
    steps_limit: 64, turn: 72,
});
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for Job {}

impl Job {
    /// The matrices of tensors, without bricks and steps. `scale`: the factor on the tensors.
    pub fn new(places: &Places, params: &Params, scale: f64) -> Self {
        Self {
            places: places.len() as u32,
            bricks: 0,
            shape: places.grid.shape.map(|n| n as u32),
            cost: match params.cost {
                Cost::Inverse => 0,
                Cost::Sharpened => 1,
                Cost::Isotropic => 2,
                Cost::Adjugate => 3,
            },
            longest: 0,
            unused: 0,
            scale,
            alpha: params.alpha,
            limit: MAX_ANISOTROPY * MAX_ANISOTROPY,
            least: MIN_SHARE,
            steps_limit: 0.0,
            turn: places.grid.voxel_from_world.matrix3.to_cols_array(),
        }
    }
}

/// One thread for each of this number.
pub fn threads(count: u32) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (count.div_ceil(THREADS).max(1), 1, 1),
        block_dim: (THREADS, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// W and G by place, and records of both in another order.
pub struct DeviceMatrices {
    pub speeds: CudaSlice<f32>,
    pub costs: CudaSlice<f32>,
    pub records: CudaSlice<f32>,
}

impl DeviceMatrices {
    /// The matrices of tensors by place. `factors`: on the cost, by place; `record_of`: the index of each place's record.
    pub fn new(
        job: &Job,
        tensors: &[Tensor],
        (factors, record_of): (&CudaSlice<f32>, &CudaSlice<u32>),
        device: &Device,
    ) -> Result<Self, cuda::Error> {
        let places = tensors.len();
        assert_eq!(places, job.places as usize, "a tensor for each place");
        let values: Vec<f32> = tensors.iter().flat_map(|tensor| tensor.d).collect();
        let values = device.upload(&values)?;
        let mut speeds = device.alloc_zeros(MATRIX * places)?;
        let mut costs = device.alloc_zeros(MATRIX * places)?;
        let mut records = device.alloc_zeros(RECORD * places)?;
        let kernel = device.kernel(kernels::METRIC, "metric_costs")?;
        // SAFETY: one thread per place, surplus threads return; all arrays have as many entries, and the records are
        // numbered as the places are.
        let launched = unsafe {
            let mut launcher = device.stream().launch_builder(&kernel);
            launcher.arg(job).arg(&values).arg(factors).arg(record_of);
            launcher.arg(&mut speeds).arg(&mut costs).arg(&mut records);
            launcher.launch(threads(job.places))
        };
        device.check(OPERATION, launched)?;
        Ok(Self {
            speeds,
            costs,
            records,
        })
    }

    /// The metric of these matrices; repaired and limited tensors are not counted. `scale`: the factor on the tensors.
    pub fn metric(
        &self,
        places: &Places,
        scale: f64,
        device: &Device,
    ) -> Result<Metric, cuda::Error> {
        let [speed, cost] = [&self.speeds, &self.costs].map(|values| {
            let values = device.download(values, 0..MATRIX * places.len())?;
            let (matrices, _) = values.as_chunks::<MATRIX>();
            Ok(matrices.to_vec())
        });
        Ok(Metric {
            id: DataId::fresh(),
            places: places.clone(),
            speed: speed?.into(),
            cost: cost?.into(),
            repaired: 0,
            limited: 0,
            scale,
            factors: None,
        })
    }
}
