//! Metrics of tensors, and Selling's steps in them, computed on a card: for many metrics of the same voxels, whose layout is
//! prepared once.
//!
//! The kernels compute in double precision in the order of the CPU, so that both choose the same steps. A brick's readers
//! are collected in a table of the 343 bricks that a step of [`MAX_OFFSET`] voxels can reach.

use super::bricks::{Bricks, CELLS, HEADER, TERMS};
use super::{DeviceMetric, floors};
use crate::compute::cuda::{self, Device};
use crate::compute::{Control, DataId, kernels};
use crate::data::Tensor;
use crate::solvers::Error;
use crate::solvers::eikonal::{HYBRID_ANISOTROPY, LocalSolver, MAX_OFFSET};
use crate::solvers::metric::cuda::{DeviceMatrices, Job, threads};
use crate::solvers::metric::{self, Metric, Places};
use cudarc::driver::{CudaSlice, PushKernelArg as _};
use std::sync::{Arc, OnceLock};

const OPERATION: &str = "computing metrics";
const WORK: &str = "computing metrics of that size";
const LESS: &str = "choose a smaller mask";
/// Bricks around one that may read it.
const READERS: usize = 343;
/// Numbers by place besides terms: tensors, three forms of the metric, floors.
const FIXED: usize = 38;
/// Numbers of a reader.
const READER: usize = 4;

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
        let numbers = places * (FIXED + TERMS) + (2 * READERS + HEADER) * count;
        device.needs(4 * numbers as u64, WORK, LESS)?;
        let mut job = Job::new(&self.places, params, scale);
        job.bricks = count as u32;
        job.longest = MAX_OFFSET as u32;
        job.steps_limit = HYBRID_ANISOTROPY * HYBRID_ANISOTROPY;
        let id = self.id;
        let cell_of = device.cached(id, "cells", || bricks.cell_of.clone())?;
        let factors = device.cached(id, "factors", || self.factors.clone())?;
        let record_of = device.cached(id, "records", || bricks.record_of())?;
        let blank = device.cached(id, "headers", || bricks.headers.as_flattened().to_vec())?;
        let matrices = DeviceMatrices::new(&job, tensors, (&factors, &record_of), device)?;
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
                    .arg(&matrices.speeds)
                    .arg(&matrices.costs)
                    .arg(&mut headers)
                    .arg(&mut terms);
                launcher.arg(&mut read).launch(threads(places as u32))
            };
            device.check(OPERATION, launched)?;
            self.readers(&job, bricks, &read, &mut headers, device)?
        } else {
            device.alloc_zeros::<u32>(READER)?
        };
        let floors = floors(device, self.local, places as u32, &matrices.records)?;
        let metric = matrices.metric(&self.places, scale, device)?;
        let card = DeviceMetric {
            headers: Arc::new(headers),
            records: Arc::new(matrices.records),
            floors: Arc::new(floors),
            terms: Arc::new(terms),
            readers: Arc::new(readers),
            cell_of,
        };
        Ok((card, metric))
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

const _: () = assert!(CELLS == 64, "as in kernels/metric.cu");
