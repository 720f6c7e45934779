//! One card's share of the vectors of a fit.

use super::super::solver::Penalty;
use super::buffers::Buffers;
use super::part::Part;
use super::{KERNELS, OPERATION, THREADS, blocks};
use crate::compute::cuda::{self, Device};
use cudarc::driver::{CudaFunction, CudaSlice, LaunchConfig, PushKernelArg as _};

/// Doubles that are read back: two over rows, four over columns, and the penalty of groups.
pub const SUMS: usize = 7;
pub const OF_COLUMNS: usize = 2;
pub const OF_GROUPS: usize = 6;

/// A point x and its residual A x − y.
pub struct Point {
    pub x: CudaSlice<f32>,
    pub r: CudaSlice<f32>,
}

/// Groups of streamlines that are kept or removed together.
pub struct Groups {
    count: u32,
    begins: CudaSlice<u32>,
    streamlines: CudaSlice<u32>,
    costs: CudaSlice<f32>,
}

struct Kernels {
    advance: CudaFunction,
    step: CudaFunction,
    groups: CudaFunction,
    measure: CudaFunction,
    combine: CudaFunction,
}

pub struct DeviceVectors<'a> {
    pub part: &'a Part,
    kernels: Kernels,
    lasso: f32,
    pub groups: Option<Groups>,
    pub y: CudaSlice<f32>,
    pub h: CudaSlice<f32>,
    pub now: Point,
    pub before: Point,
    /// The extrapolated point, stored only if there are groups.
    pub z: CudaSlice<f32>,
    pub g: CudaSlice<f32>,
    pub sums: CudaSlice<f64>,
}

impl<'a> DeviceVectors<'a> {
    pub fn new(
        part: &'a Part,
        y: &[f32],
        penalty: &Penalty,
        h: &[f32],
        x: &[f32],
    ) -> Result<Self, cuda::Error> {
        let device = part.device();
        let kernel = |name: &str| device.kernel(KERNELS, &format!("commit_{name}"));
        let point = || -> Result<Point, cuda::Error> {
            Ok(Point {
                x: device.upload(x)?,
                r: device.alloc_zeros(y.len())?,
            })
        };
        Ok(Self {
            part,
            kernels: Kernels {
                advance: kernel("advance")?,
                step: kernel("step")?,
                groups: kernel("groups")?,
                measure: kernel("measure")?,
                combine: kernel("combine")?,
            },
            lasso: penalty.lasso,
            groups: Groups::new(device, penalty)?,
            y: device.upload(y)?,
            h: device.upload(h)?,
            now: point()?,
            before: point()?,
            z: device.upload(x)?,
            g: device.alloc_zeros(x.len())?,
            sums: device.alloc_zeros(SUMS)?,
        })
    }

    pub fn address_of<T>(&self, buffer: &CudaSlice<T>) -> u64 {
        self.part.device().address(buffer)
    }

    fn strides(&self) -> LaunchConfig {
        self.part.strides()
    }

    pub fn clear(&mut self) -> Result<(), cuda::Error> {
        let device = self.part.device();
        let cleared = device.stream().memset_zeros(&mut self.sums);
        device.check(OPERATION, cleared)
    }

    pub fn sum_address(&self, place: usize) -> u64 {
        self.address_of(&self.sums) + 8 * place as u64
    }

    /// out = a u + b v over this many numbers.
    pub fn combine(
        &self,
        count: usize,
        [a, b]: [f32; 2],
        [u, v, out]: [&CudaSlice<f32>; 3],
    ) -> Result<(), cuda::Error> {
        let (count, u, v, out) = (
            count as u64,
            self.address_of(u),
            self.address_of(v),
            self.address_of(out),
        );
        self.part
            .launch(&self.kernels.combine, self.strides(), |l| {
                l.arg(&count).arg(&a).arg(&u).arg(&b).arg(&v).arg(&out);
            })
    }

    /// Measures of x relative to z and the point before.
    pub fn measure(&self, [x, z, before]: [&CudaSlice<f32>; 3]) -> Result<(), cuda::Error> {
        let columns = self.part.columns;
        let (h, to) = (self.address_of(&self.h), self.sum_address(OF_COLUMNS));
        let (x, z, before) = (
            self.address_of(x),
            self.address_of(z),
            self.address_of(before),
        );
        self.part
            .launch(&self.kernels.measure, self.strides(), |l| {
                l.arg(&columns).arg(&h).arg(&x).arg(&z);
                l.arg(&before).arg(&to);
            })
    }

    /// Adds the penalty of the groups, after shrinking them if requested.
    pub fn add_penalty(&self, x: &CudaSlice<f32>, shrinks: bool) -> Result<(), cuda::Error> {
        let Some(groups) = &self.groups else {
            return Ok(());
        };
        let columns = self.part.columns;
        let (begins, streamlines) = (
            self.address_of(&groups.begins),
            self.address_of(&groups.streamlines),
        );
        let (costs, shrinks) = (self.address_of(&groups.costs), u32::from(shrinks));
        let (h, x, to) = (
            self.address_of(&self.h),
            self.address_of(x),
            self.sum_address(OF_GROUPS),
        );
        let config = blocks(u64::from(groups.count) * u64::from(THREADS), THREADS);
        self.part.launch(&self.kernels.groups, config, |l| {
            l.arg(&columns).arg(&begins).arg(&streamlines).arg(&costs);
            l.arg(&shrinks).arg(&h).arg(&x).arg(&to);
        })
    }

    /// The minimum of Σ g·(out − z) + ½ Σ h (out − z)² + penalty over out ≥ 0.
    pub fn penalised(&self, z: &CudaSlice<f32>, out: &CudaSlice<f32>) -> Result<(), cuda::Error> {
        let (columns, lasso) = (self.part.columns, self.lasso);
        let (z, g, h, to) = (
            self.address_of(z),
            self.address_of(&self.g),
            self.address_of(&self.h),
            self.address_of(out),
        );
        self.part.launch(&self.kernels.step, self.strides(), |l| {
            l.arg(&columns).arg(&z).arg(&g).arg(&h);
            l.arg(&lasso).arg(&to);
        })?;
        self.add_penalty(out, true)
    }

    /// Takes the step from the gathered gradient to the next point, which replaces the point before, and measures it.
    pub fn advance(&self, buffers: &Buffers, beta: f32) -> Result<(), cuda::Error> {
        let columns = self.part.columns;
        let (z, own) = (
            self.address_of(&buffers.mixed),
            self.address_of(&buffers.own),
        );
        let (h, lasso, to) = (
            self.address_of(&self.h),
            self.lasso,
            self.sum_address(OF_COLUMNS),
        );
        let (now, next) = (
            self.address_of(&self.now.x),
            self.address_of(&self.before.x),
        );
        self.part
            .launch(&self.kernels.advance, self.strides(), |l| {
                l.arg(&columns).arg(&z).arg(&own).arg(&h).arg(&lasso);
                l.arg(&now).arg(&beta).arg(&next).arg(&to);
            })
    }
}

impl Point {
    /// Copies another point.
    pub fn copy(&mut self, from: &Self, device: &Device) -> Result<(), cuda::Error> {
        for (from, to) in [(&from.x, &mut self.x), (&from.r, &mut self.r)] {
            device.check(OPERATION, device.stream().memcpy_dtod(from, to))?;
        }
        Ok(())
    }
}

impl Groups {
    fn new(device: &Device, penalty: &Penalty) -> Result<Option<Self>, cuda::Error> {
        let groups = &penalty.groups;
        if groups.is_empty() {
            return Ok(None);
        }
        let mut begins = vec![0u32];
        let mut streamlines: Vec<u32> = Vec::new();
        for group in groups {
            streamlines.extend(&group.streamlines);
            begins.push(streamlines.len() as u32);
        }
        let costs: Vec<f32> = groups.iter().map(|g| g.weight).collect();
        // A buffer holds at least one number.
        streamlines.resize(streamlines.len().max(1), 0);
        Ok(Some(Self {
            count: groups.len() as u32,
            begins: device.upload(&begins)?,
            streamlines: device.upload(&streamlines)?,
            costs: device.upload(&costs)?,
        }))
    }
}
