//! Metrics of tensors, and Selling's steps in them, computed on a card: for many metrics of the same voxels, whose layout is
//! prepared once.
//!
//! The kernels compute in double precision in the order of the CPU, so that both choose the same steps. A brick's readers
//! are collected in a table of the 343 bricks that a step of [`MAX_OFFSET`] voxels can reach.

use super::bricks::{Bricks, CELLS, HEADER, TERMS};
use super::{DeviceMetric, floors, threads};
use crate::compute::cuda::{self, Device};
use crate::compute::{Control, DataId, kernel_struct, kernels};
use crate::data::Tensor;
use crate::solvers::Error;
use crate::solvers::eikonal::{HYBRID_ANISOTROPY, LocalSolver, MAX_OFFSET};
use crate::solvers::metric::{self, MAX_ANISOTROPY, MIN_SHARE, Metric, Places};
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, PushKernelArg as _};
use std::sync::{Arc, OnceLock};

const OPERATION: &str = "computing metrics";
const WORK: &str = "computing metrics of that size";
const LESS: &str = "choose a smaller mask";
/// Bricks around one that may read it.
const READERS: usize = 343;
/// Words of a record, of a matrix and of a reader.
const RECORD: usize = 16;
const MATRIX: usize = 6;
const READER: usize = 4;

/// `Job` in kernels/metric.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Job {
    places: u32,
    bricks: u32,
    shape: [u32; 3],
    cost: u32,
    longest: u32,
    unused: u32,
    scale: f64,
    alpha: f64,
    limit: f64,
    least: f64,
    steps_limit: f64,
    turn: [f64; 9],
}
kernel_struct!(Job as "Job in kernels/metric.cu", 144 {
    places: 0, bricks: 4, shape: 8, cost: 20, longest: 24, unused: 28, scale: 32, alpha: 40, limit: 48, least: 56,
    steps_limit: 64, turn: 72,
});
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for Job {}

/// The layout of voxels whose metrics a card computes.
#[derive(Debug)]
pub struct MetricLayout {
    id: DataId,
    places: Places,
    local: LocalSolver,
    /// By place the factor on the cost.
    factors: Vec<f32>,
    /// Without terms and readers, which belong to a metric.
    pub bricks: Arc<OnceLock<Bricks>>,
}

impl MetricLayout {
    /// Whether a card computes what a local solver needs: the steps of the hybrid end near a voxel.
    pub fn supports(local: LocalSolver) -> bool {
        local != LocalSolver::Selling
    }

    /// The layout of some voxels. `factors`: by place the factor on the cost.
    pub fn new(
        places: &Places,
        factors: Vec<f32>,
        local: LocalSolver,
        control: &Control,
    ) -> Result<Self, Error> {
        let bricks = Bricks::new(places, control)?;
        Ok(Self {
            id: DataId::fresh(),
            places: places.clone(),
            local,
            factors,
            bricks: Arc::new(OnceLock::from(bricks)),
        })
    }

    /// The metric of tensors, by place, on the card and on the CPU. `scale`: the factor on the tensors.
    pub fn metric(
        &self,
        tensors: &[Tensor],
        params: &metric::Params,
        scale: f64,
        device: &Device,
    ) -> Result<(DeviceMetric, Metric), Error> {
        let Some(bricks) = self.bricks.get() else {
            unreachable!("set by the only constructor")
        };
        let computed = self.computed(bricks, tensors, params, scale, device);
        computed.map_err(|error| Error::Card(error.in_job(WORK, LESS)))
    }

    fn computed(
        &self,
        bricks: &Bricks,
        tensors: &[Tensor],
        params: &metric::Params,
        scale: f64,
        device: &Device,
    ) -> Result<(DeviceMetric, Metric), cuda::Error> {
        let (places, count) = (self.places.len(), bricks.headers.len() - 1);
        let has_terms = self.local == LocalSolver::Hybrid;
        let words = places * (3 * MATRIX + RECORD + 4 + TERMS) + (2 * READERS + HEADER) * count;
        device.needs(4 * words as u64, WORK, LESS)?;
        let job = self.job(count, params, scale);
        let (id, grid) = (self.id, &self.places.grid);
        let cell_of = device.cached(id, "cells", || bricks.cell_of.clone())?;
        let factors = device.cached(id, "factors", || self.factors.clone())?;
        let record_of = device.cached(id, "records", || bricks.record_of())?;
        let blank = device.cached(id, "headers", || bricks.headers.as_flattened().to_vec())?;
        let values: Vec<f32> = tensors.iter().flat_map(|tensor| tensor.d).collect();
        let values = device.upload(&values)?;
        let mut speeds = device.alloc_zeros::<f32>(MATRIX * places)?;
        let mut costs = device.alloc_zeros::<f32>(MATRIX * places)?;
        let mut records = device.alloc_zeros::<f32>(RECORD * places)?;
        let kernel = device.kernel(kernels::METRIC, "metric_costs")?;
        // SAFETY: one thread per place, surplus threads return; all arrays have as many entries, and the records are
        // numbered as the places are.
        let launched = unsafe {
            let mut launcher = device.stream().launch_builder(&kernel);
            launcher
                .arg(&job)
                .arg(&values)
                .arg(&*factors)
                .arg(&*record_of);
            launcher.arg(&mut speeds).arg(&mut costs).arg(&mut records);
            launcher.launch(threads(places as u32))
        };
        device.check(OPERATION, launched)?;
        let mut headers = device.copied(&blank)?;
        let mut terms =
            device.alloc_zeros::<u32>(if has_terms { TERMS * places } else { TERMS })?;
        let readers = if has_terms {
            let mut read = device.alloc_zeros::<u64>(READERS * count)?;
            let kernel = device.kernel(kernels::METRIC, "metric_terms")?;
            let on_grid = device.cached(id, "places", || self.places.place.clone())?;
            let voxels = device.cached(id, "voxels", || self.places.voxels.clone())?;
            // SAFETY: one thread per place, surplus threads return; the grid names places or none, steps end at most
            // `MAX_OFFSET` voxels away, so that slots lie within the table, and headers and records are numbered as in
            // `bricks`.
            let launched = unsafe {
                let mut launcher = device.stream().launch_builder(&kernel);
                launcher
                    .arg(&job)
                    .arg(&*on_grid)
                    .arg(&*voxels)
                    .arg(&*cell_of)
                    .arg(&*record_of);
                launcher
                    .arg(&speeds)
                    .arg(&costs)
                    .arg(&mut headers)
                    .arg(&mut terms);
                launcher.arg(&mut read).launch(threads(places as u32))
            };
            device.check(OPERATION, launched)?;
            self.readers(&job, bricks, &read, &mut headers, device)?
        } else {
            device.alloc_zeros::<u32>(READER)?
        };
        let floors = floors(device, self.local, places as u32, &records)?;
        let [speed, cost] =
            [&speeds, &costs].map(|values| device.download(values, 0..MATRIX * places));
        let metric = Metric::of_matrices(&self.places, matrices(&speed?), matrices(&cost?), scale);
        debug_assert_eq!(grid.voxel_count(), self.places.place.len());
        let card = DeviceMetric {
            headers: Arc::new(headers),
            records: Arc::new(records),
            floors: Arc::new(floors),
            terms: Arc::new(terms),
            readers: Arc::new(readers),
            cell_of,
        };
        Ok((card, metric))
    }

    fn job(&self, bricks: usize, params: &metric::Params, scale: f64) -> Job {
        let grid = &self.places.grid;
        Job {
            places: self.places.len() as u32,
            bricks: bricks as u32,
            shape: grid.shape.map(|n| n as u32),
            cost: match params.cost {
                metric::Cost::Inverse => 0,
                metric::Cost::Sharpened => 1,
                metric::Cost::Isotropic => 2,
                metric::Cost::Adjugate => 3,
            },
            longest: MAX_OFFSET as u32,
            unused: 0,
            scale,
            alpha: params.alpha,
            limit: MAX_ANISOTROPY * MAX_ANISOTROPY,
            least: MIN_SHARE,
            steps_limit: HYBRID_ANISOTROPY * HYBRID_ANISOTROPY,
            turn: grid.voxel_from_world.matrix3.to_cols_array(),
        }
    }

    /// The bricks that read each brick, whose ranges the headers receive.
    fn readers(
        &self,
        job: &Job,
        bricks: &Bricks,
        read: &CudaSlice<u64>,
        headers: &mut CudaSlice<u32>,
        device: &Device,
    ) -> Result<CudaSlice<u32>, cuda::Error> {
        let positions = || bricks.positions(&self.places);
        let names = device.cached(self.id, "names", || positions().0)?;
        let at = device.cached(self.id, "positions", || positions().1)?;
        let mut total = device.alloc_zeros::<u32>(1)?;
        let kernel = device.kernel(kernels::METRIC, "metric_count_readers")?;
        // SAFETY: one warp per brick, surplus warps return as a whole; the table and the headers have as many bricks.
        let launched = unsafe {
            let mut launcher = device.stream().launch_builder(&kernel);
            launcher
                .arg(job)
                .arg(read)
                .arg(&mut *headers)
                .arg(&mut total);
            launcher.launch(threads(32 * job.bricks))
        };
        device.check(OPERATION, launched)?;
        let count = device.download(&total, 0..1)?[0] as usize;
        let mut readers = device.alloc_zeros::<u32>(READER * count.max(1))?;
        let kernel = device.kernel(kernels::METRIC, "metric_list_readers")?;
        // SAFETY: as above; each brick has room for the readers that were counted, and a reader has a name because it
        // has a voxel.
        let launched = unsafe {
            let mut launcher = device.stream().launch_builder(&kernel);
            launcher
                .arg(job)
                .arg(read)
                .arg(&*headers)
                .arg(&*names)
                .arg(&*at);
            launcher.arg(&mut readers).launch(threads(32 * job.bricks))
        };
        device.check(OPERATION, launched)?;
        Ok(readers)
    }
}

/// Six numbers each.
fn matrices(values: &[f32]) -> Vec<[f32; MATRIX]> {
    let (all, _) = values.as_chunks::<MATRIX>();
    all.to_vec()
}

const _: () = assert!(CELLS == 64, "as in kernels/metric.cu");
