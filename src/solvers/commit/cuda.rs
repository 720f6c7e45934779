//! COMMIT on a graphics card: the operator in spherical harmonics (kernels/commit.cu), and the whole solver.
//!
//! Forward, each voxel's segments become 91 sums for each of up to four columns, those the voxel's numbers for each
//! shell, and those its samples. Backward the same in reverse; streamlines are added to by atomics, so that one
//! order of the records, by voxel, does for both. A second copy of them by streamline, with each segment's share
//! stored and summed in order, would take twice the memory; its time was not measured.
//! What is left to the host are a few numbers an iteration, after which it chooses the next.

// Kernel launches.
#![allow(unsafe_code)]

mod buffers;
mod vectors;

pub use vectors::Vectors;

use super::dictionary::Dictionary;
use super::model::Responses;
use super::operator::rank::Mixing;
use super::operator::{Precision, Shape};
use super::samples::Samples;
use crate::compute::cuda::{self, Device};
use crate::compute::kernels::{self, KernelFile};
use crate::solvers::Error;
use buffers::{Buffers, Columns, Finish};
use cudarc::driver::{CudaFunction, LaunchArgs, LaunchConfig, PushKernelArg as _};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const KERNELS: KernelFile = kernels::COMMIT;
const WHAT: &str = "fitting weights";
/// The whole job, and what would take less memory.
const JOB: &str = "fitting weights to that many streamlines";
const LESS: &str = "take every second streamline, or a mask";
/// Numbers of a shell and voxel, and sums of a column and voxel, as in kernels.
const ROW: usize = 92;
const PAD: usize = 96;
/// Most segments of a warp.
const PART: u64 = 2048;
/// Columns of a streamline that are worked on at once, at most.
const FOURS: usize = 4;
/// Voxels of a block between sums and samples.
const TILE: u32 = 32;
/// Threads of a block, and warps where each has a voxel.
const THREADS: u32 = 256;
const WARPS: u32 = 4;
/// Blocks of a kernel that strides over its numbers, of each multiprocessor.
const EACH: u32 = 8;

/// One thread for each, in blocks of so many.
fn blocks(count: u64, threads: u32) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (count.div_ceil(u64::from(threads)).max(1) as u32, 1, 1),
        block_dim: (threads, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// The operator on the first of the cards.
pub struct OnCard {
    devices: Arc<[Device]>,
    pub shape: Shape,
    /// Columns of a streamline that are worked on.
    pub rank: usize,
    kernels: Kernels,
    /// Where samples are among those of a voxel, which are filled up.
    places: Vec<u32>,
    /// One at a time works with them.
    buffers: Mutex<Buffers>,
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

impl fmt::Debug for OnCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} on {:?}", self.shape, self.device())
    }
}

impl OnCard {
    /// `mixed`: fewer columns that do for all of the streamlines', and the responses that are left.
    pub fn new(
        dictionary: &Dictionary,
        responses: &Responses,
        mixed: Option<(Mixing, Responses)>,
        samples: &Samples,
        precision: Precision,
        devices: &Arc<[Device]>,
    ) -> Result<Self, Error> {
        let device = &devices[0];
        // Records and streamlines are numbered in 32 bits.
        if dictionary.segments.len() as u64 > u64::from(u32::MAX) - 64 {
            return Err(Error::Card(cuda::Error::TooMany {
                what: format!("{} segments", dictionary.segments.len()),
                lower: LESS,
            }));
        }
        let (mixing, used) = match &mixed {
            Some((mixing, fewer)) => (Some(mixing), fewer),
            None => (None, responses),
        };
        let made = Buffers::new(device, dictionary, used, mixing, samples);
        let (buffers, shape, places) = made.map_err(in_job)?;
        let rank = used.intra.len();
        let wide = buffers::wide(rank);
        let kind = match precision {
            _ if samples.shells.is_empty() => "flat".to_owned(),
            Precision::Fast if wide == FOURS => "fast".to_owned(),
            _ => wide.to_string(),
        };
        let kernel = |name: &str| device.kernel(KERNELS, &format!("commit_{name}"));
        Ok(Self {
            kernels: Kernels {
                mix: kernel("mix")?,
                apply: kernel(&format!("apply_{kind}"))?,
                contract: kernel(&format!("contract_{wide}"))?,
                samples: kernel("samples")?,
                sums: kernel("sums")?,
                spread: kernel(&format!("spread_{wide}"))?,
                adjoint: kernel(&format!("adjoint_{kind}"))?,
                part: kernel("part")?,
            },
            devices: devices.clone(),
            shape,
            rank,
            places,
            buffers: Mutex::new(buffers),
        })
    }

    /// Bytes that so much would take on a card, the vectors of a fit among them; with fewer columns that do for
    /// all of a streamline's it is less.
    pub fn needs(segments: u64, shape: Shape, shells: usize) -> u64 {
        buffers::bytes(segments, shape, shape.atoms, shells)
    }

    fn device(&self) -> &Device {
        &self.devices[0]
    }

    fn buffers(&self) -> MutexGuard<'_, Buffers> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn columns(&self) -> Columns {
        self.buffers().columns
    }

    /// Bytes on the card, with the vectors of a fit.
    pub fn bytes(&self) -> u64 {
        self.buffers().bytes
    }

    /// Where sample s of a voxel is among the rows.
    pub fn row(&self, voxel: usize, sample: usize) -> usize {
        voxel * self.shape.samples + self.places[sample] as usize
    }

    /// Puts a kernel in line; `put` hands over what it declares.
    fn launch<'a>(
        &'a self,
        kernel: &'a CudaFunction,
        config: LaunchConfig,
        put: impl FnOnce(&mut LaunchArgs<'a>),
    ) -> Result<(), cuda::Error> {
        let device = self.device();
        let mut launcher = device.stream().launch_builder(kernel);
        put(&mut launcher);
        // SAFETY: each caller in this module hands over the kernel's own parameters; addresses are those of
        // buffers as long as tables and columns say, which are freed after what is in line.
        let launched = unsafe { launcher.launch(config) };
        device.check(WHAT, launched)?;
        Ok(())
    }
}

/// In line on the card; vectors are addresses of as many numbers as the shape has columns or rows.
impl OnCard {
    /// A x, of which becomes what `finish` says.
    fn forward(&self, buffers: &mut Buffers, x: u64, finish: Finish) -> Result<(), cuda::Error> {
        let Buffers {
            tables, columns, ..
        } = *buffers;
        let device = self.device();
        let (z, sums, c) = (
            device.address(&buffers.mixed),
            device.address(&buffers.sums),
            device.address(&buffers.shells),
        );
        self.launch(
            &self.kernels.mix,
            blocks(u64::from(columns.fibres), THREADS),
            |l| {
                l.arg(&columns).arg(&x).arg(&z);
            },
        )?;
        let own = x + 4 * self.shape.intra() as u64;
        for chunk in 0..columns.chunks {
            if buffers.shared {
                device.check(WHAT, device.stream().memset_zeros(&mut buffers.sums))?;
            }
            let z = z + self.chunk(chunk);
            self.launch(&self.kernels.apply, self.warps(tables.count), |l| {
                l.arg(&tables).arg(&z).arg(&sums);
            })?;
            self.launch(&self.kernels.contract, self.warps(tables.voxels), |l| {
                l.arg(&tables).arg(&sums).arg(&own).arg(&c).arg(&chunk);
            })?;
        }
        let basis = device.address(&buffers.basis[0]);
        // A thread has four samples and an eighth of the voxels.
        let directed = tables.samples - tables.b0;
        let threads = directed.next_multiple_of(32).clamp(96, 256);
        self.launch(&self.kernels.samples, self.tiles(threads), |l| {
            l.arg(&tables).arg(&c).arg(&basis).arg(&finish);
        })
    }

    /// g = Aᵀ (now + β (now − before)).
    fn backward(
        &self,
        buffers: &mut Buffers,
        r: [u64; 2],
        beta: f32,
        g: u64,
    ) -> Result<(), cuda::Error> {
        let columns = buffers.columns;
        let [z, own] = self.gather(buffers, r, beta)?;
        self.launch(&self.kernels.part, self.strides(), |l| {
            l.arg(&columns).arg(&z).arg(&own).arg(&g);
        })
    }

    /// The same for the columns that are worked on and the voxels' own, which lie where it says.
    fn gather(
        &self,
        buffers: &mut Buffers,
        [now, before]: [u64; 2],
        beta: f32,
    ) -> Result<[u64; 2], cuda::Error> {
        let Buffers {
            tables, columns, ..
        } = *buffers;
        let device = self.device();
        device.check(WHAT, device.stream().memset_zeros(&mut buffers.mixed))?;
        let (z, shares, c) = (
            device.address(&buffers.mixed),
            device.address(&buffers.sums),
            device.address(&buffers.shells),
        );
        let (own, basis) = (
            device.address(&buffers.own),
            device.address(&buffers.basis[1]),
        );
        self.launch(&self.kernels.sums, self.tiles(96), |l| {
            l.arg(&tables).arg(&now).arg(&before).arg(&beta);
            l.arg(&basis).arg(&c);
        })?;
        for chunk in 0..columns.chunks {
            let z = z + self.chunk(chunk);
            self.launch(&self.kernels.spread, self.warps(tables.voxels), |l| {
                l.arg(&tables).arg(&c).arg(&shares).arg(&own).arg(&chunk);
            })?;
            self.launch(&self.kernels.adjoint, self.warps(tables.count), |l| {
                l.arg(&tables).arg(&shares).arg(&z);
            })?;
        }
        Ok([z, own])
    }

    /// Bytes before a chunk of mixed columns.
    fn chunk(&self, chunk: u32) -> u64 {
        4 * (chunk as usize * self.shape.fibres * buffers::wide(self.rank)) as u64
    }

    /// So many warps.
    fn warps(&self, count: u32) -> LaunchConfig {
        LaunchConfig {
            block_dim: (32 * WARPS, 1, 1),
            ..blocks(u64::from(count), WARPS)
        }
    }

    /// A block of so many threads a tile of voxels.
    fn tiles(&self, threads: u32) -> LaunchConfig {
        LaunchConfig {
            block_dim: (threads, 1, 1),
            ..blocks(self.shape.voxels as u64, TILE)
        }
    }

    /// What strides over columns or rows.
    fn strides(&self) -> LaunchConfig {
        let threads = EACH * self.device().multiprocessors() * THREADS;
        blocks(u64::from(threads), THREADS)
    }
}

/// With vectors in memory.
impl OnCard {
    pub fn apply(&self, x: &[f32]) -> Result<Vec<f32>, Error> {
        let device = self.device();
        let x = device.upload(x)?;
        let out = device.alloc_zeros::<f32>(self.shape.rows())?;
        let finish = Finish::product(device.address(&out), 0);
        self.forward(&mut self.buffers(), device.address(&x), finish)?;
        Ok(device.download(&out, 0..out.len())?)
    }

    pub fn adjoint(&self, y: &[f32], x: &mut [f32]) -> Result<(), Error> {
        let device = self.device();
        let y = device.upload(y)?;
        let g = device.alloc_zeros::<f32>(self.shape.columns())?;
        let y = [device.address(&y); 2];
        self.backward(&mut self.buffers(), y, 0.0, device.address(&g))?;
        Ok(device.download_into(&g, 0, x)?)
    }

    /// Milliseconds of A x and Aᵀ y on the card, of so many times each, after one that is not counted.
    pub fn times_ms(&self, x: &[f32], y: &[f32], times: usize) -> Result<[Vec<f32>; 2], Error> {
        let device = self.device();
        let (x, y) = (device.upload(x)?, device.upload(y)?);
        let (ax, g) = (
            device.alloc_zeros::<f32>(y.len())?,
            device.alloc_zeros::<f32>(x.len())?,
        );
        let finish = Finish::product(device.address(&ax), 0);
        let (x, y, g) = (
            device.address(&x),
            [device.address(&y); 2],
            device.address(&g),
        );
        let mut made = [Vec::new(), Vec::new()];
        for i in 0..=times {
            let buffers = &mut self.buffers();
            let forward = device.elapsed(|| self.forward(buffers, x, finish))?.1;
            let back = device.elapsed(|| self.backward(buffers, y, 0.0, g))?.1;
            if i > 0 {
                made[0].push(forward);
                made[1].push(back);
            }
        }
        Ok(made)
    }
}

fn in_job(error: Error) -> Error {
    match error {
        Error::Card(error) => Error::Card(error.in_job(JOB, LESS)),
        other => other,
    }
}
