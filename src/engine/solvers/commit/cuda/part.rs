//! A slab of voxels on one card: its A x and Aᵀ y.

use super::super::dictionary::{Dictionary, Slab};
use super::super::model::Responses;
use super::super::operator::rank::Mixing;
use super::super::operator::{Precision, Shape};
use super::super::samples::Samples;
use super::buffers::{Buffers, Columns, Finish};
use super::{
    BLOCKS_PER_MULTIPROCESSOR, KERNELS, LESS, MAX_COLUMNS_AT_ONCE, OPERATION, THREADS, TILE, WARPS,
    blocks,
};
use crate::compute::cuda::{self, Device};
use crate::solvers::Error;
use cudarc::driver::{CudaFunction, LaunchArgs, LaunchConfig, PushKernelArg as _};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

pub struct Part {
    devices: Arc<[Device]>,
    /// Index of the card.
    card: usize,
    /// The shape of this slab, with all streamlines.
    pub shape: Shape,
    pub columns: Columns,
    /// Rows of this slab, and columns of its voxels, among those of all slabs.
    pub rows: Range<usize>,
    pub own: Range<usize>,
    kernels: Kernels,
}

struct Kernels {
    mix: CudaFunction,
    apply: CudaFunction,
    contract: CudaFunction,
    samples: CudaFunction,
    sums: CudaFunction,
    spread: CudaFunction,
    adjoint: CudaFunction,
    part: CudaFunction,
}

/// The input that all slabs share.
#[derive(Clone, Copy)]
pub struct SlabInput<'a> {
    pub dictionary: &'a Dictionary,
    /// Responses of the mixed columns.
    pub responses: &'a Responses,
    pub mixing: Option<&'a Mixing>,
    pub samples: &'a Samples,
    pub precision: Precision,
}

impl Part {
    /// Returns the slab, its buffers, and the positions of samples among the padded samples of a voxel.
    pub fn new(
        input: &SlabInput,
        slab: &Slab,
        devices: &Arc<[Device]>,
        card: usize,
    ) -> Result<(Self, Buffers, Vec<u32>), Error> {
        // Records and streamlines are numbered with 32 bits.
        if slab.segments.len() as u64 > u64::from(u32::MAX) - 64 {
            return Err(Error::Card(cuda::Error::TooMany {
                what: format!("{} segments", slab.segments.len()),
                lower: LESS,
            }));
        }
        let device = &devices[card];
        let (buffers, shape, places) = Buffers::new(device, input, slab)?;
        let wide = buffers.columns.wide as usize;
        let kind = match input.precision {
            _ if input.samples.shells.is_empty() => "flat".to_owned(),
            Precision::Fast if wide == MAX_COLUMNS_AT_ONCE => "fast".to_owned(),
            _ => wide.to_string(),
        };
        let kernel = |name: &str| device.kernel(KERNELS, &format!("commit_{name}"));
        let kernels = Kernels {
            mix: kernel("mix")?,
            apply: kernel(&format!("apply_{kind}"))?,
            contract: kernel(&format!("contract_{wide}"))?,
            samples: kernel("samples")?,
            sums: kernel("sums")?,
            spread: kernel(&format!("spread_{wide}"))?,
            adjoint: kernel(&format!("adjoint_{kind}"))?,
            part: kernel("part")?,
        };
        let (begin, end) = (slab.voxels.start, slab.voxels.end);
        let part = Self {
            devices: devices.clone(),
            card,
            shape,
            columns: buffers.columns,
            rows: begin * shape.samples..end * shape.samples,
            own: shape.intra() + begin * shape.unknowns_per_voxel()
                ..shape.intra() + end * shape.unknowns_per_voxel(),
            kernels,
        };
        Ok((part, buffers, places))
    }

    pub fn device(&self) -> &Device {
        &self.devices[self.card]
    }

    /// The columns of this slab among those of all slabs.
    pub fn columns_of<'a>(&self, x: &'a [f32]) -> Cow<'a, [f32]> {
        let intra = self.shape.intra();
        if self.own == (intra..x.len()) {
            return Cow::Borrowed(x);
        }
        let mut own = x[..intra].to_vec();
        own.extend_from_slice(&x[self.own.clone()]);
        Cow::Owned(own)
    }

    /// Enqueues a kernel; `put` adds its arguments.
    pub fn launch<'a>(
        &'a self,
        kernel: &'a CudaFunction,
        config: LaunchConfig,
        put: impl FnOnce(&mut LaunchArgs<'a>),
    ) -> Result<(), cuda::Error> {
        let device = self.device();
        let mut launcher = device.stream().launch_builder(kernel);
        put(&mut launcher);
        // SAFETY: each caller in this module passes the parameters that the kernel declares; addresses point to
        // buffers as long as tables and columns state, which are freed only after the enqueued work.
        let launched = unsafe { launcher.launch(config) };
        device.check(OPERATION, launched)?;
        Ok(())
    }
}

/// Enqueues work on the card; vectors are addresses of as many numbers as the shape has columns or rows.
impl Part {
    /// A x, passed on to `finish`.
    pub fn forward(
        &self,
        buffers: &mut Buffers,
        x: u64,
        finish: Finish,
    ) -> Result<(), cuda::Error> {
        let (tables, columns) = (buffers.tables, self.columns);
        let device = self.device();
        let (z, sums, c) = (
            device.address(&buffers.mixed),
            device.address(&buffers.sums),
            device.address(&buffers.shells),
        );
        self.launch(
            &self.kernels.mix,
            blocks(u64::from(columns.streamlines), THREADS),
            |l| {
                l.arg(&columns).arg(&x).arg(&z);
            },
        )?;
        let own = x + 4 * self.shape.intra() as u64;
        for chunk in 0..columns.chunks {
            if buffers.parted {
                device.check(OPERATION, device.stream().memset_zeros(&mut buffers.sums))?;
            }
            let z = z + self.chunk_offset(chunk);
            self.launch(&self.kernels.apply, self.warps(tables.count), |l| {
                l.arg(&tables).arg(&z).arg(&sums);
            })?;
            self.launch(&self.kernels.contract, self.warps(tables.voxels), |l| {
                l.arg(&tables).arg(&sums).arg(&own).arg(&c).arg(&chunk);
            })?;
        }
        let basis = device.address(&buffers.basis[0]);
        // A thread handles four samples of an eighth of the voxels.
        let directed = tables.samples - tables.b0;
        let threads = directed.next_multiple_of(32).clamp(96, 256);
        self.launch(&self.kernels.samples, self.launch_per_tile(threads), |l| {
            l.arg(&tables).arg(&c).arg(&basis).arg(&finish);
        })
    }

    /// Turns the result of [`Part::gather`], summed over all slabs, into g.
    pub fn backward(&self, buffers: &Buffers, g: u64) -> Result<(), cuda::Error> {
        let device = self.device();
        let (z, own) = (device.address(&buffers.mixed), device.address(&buffers.own));
        self.launch(&self.kernels.part, self.strides(), |l| {
            l.arg(&self.columns).arg(&z).arg(&own).arg(&g);
        })
    }

    /// Aᵀ (now + β (now − before)) for the mixed columns of streamlines and the columns of voxels.
    pub fn gather(
        &self,
        buffers: &mut Buffers,
        [now, before]: [u64; 2],
        beta: f32,
    ) -> Result<(), cuda::Error> {
        let (tables, columns) = (buffers.tables, self.columns);
        let device = self.device();
        device.check(OPERATION, device.stream().memset_zeros(&mut buffers.mixed))?;
        let (z, shares, c) = (
            device.address(&buffers.mixed),
            device.address(&buffers.sums),
            device.address(&buffers.shells),
        );
        let (own, basis) = (
            device.address(&buffers.own),
            device.address(&buffers.basis[1]),
        );
        self.launch(&self.kernels.sums, self.launch_per_tile(96), |l| {
            l.arg(&tables).arg(&now).arg(&before).arg(&beta);
            l.arg(&basis).arg(&c);
        })?;
        for chunk in 0..columns.chunks {
            let z = z + self.chunk_offset(chunk);
            self.launch(&self.kernels.spread, self.warps(tables.voxels), |l| {
                l.arg(&tables).arg(&c).arg(&shares).arg(&own).arg(&chunk);
            })?;
            self.launch(&self.kernels.adjoint, self.warps(tables.count), |l| {
                l.arg(&tables).arg(&shares).arg(&z);
            })?;
        }
        Ok(())
    }

    /// Byte offset of a chunk of mixed columns.
    fn chunk_offset(&self, chunk: u32) -> u64 {
        4 * u64::from(chunk * self.columns.wide) * self.shape.streamlines as u64
    }

    /// A launch with `count` warps.
    fn warps(&self, count: u32) -> LaunchConfig {
        LaunchConfig {
            block_dim: (32 * WARPS, 1, 1),
            ..blocks(u64::from(count), WARPS)
        }
    }

    /// A launch with one block of `threads` threads per tile of voxels.
    fn launch_per_tile(&self, threads: u32) -> LaunchConfig {
        LaunchConfig {
            block_dim: (threads, 1, 1),
            ..blocks(self.shape.voxels as u64, TILE)
        }
    }

    /// A launch for grid-stride loops over columns or rows.
    pub fn strides(&self) -> LaunchConfig {
        let threads = BLOCKS_PER_MULTIPROCESSOR * self.device().multiprocessors() * THREADS;
        blocks(u64::from(threads), THREADS)
    }
}
