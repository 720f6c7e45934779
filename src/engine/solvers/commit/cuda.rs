//! COMMIT on graphics cards: the operator in spherical harmonics (kernels/commit.cu), and the whole solver.
//!
//! Forward, the segments of each voxel become 91 sums for each of up to four columns, the sums become the voxel's
//! numbers for each shell, and these become its samples. Backward, the order is reversed; atomics add to streamlines,
//! so that one order of the records, by voxel, serves both directions. A second copy of the records by streamline,
//! with the share of each segment stored and summed in order, would take twice the memory; its time was not measured.
//! The host reads a few numbers per iteration and chooses the next step.
//!
//! Each of several cards holds one slab of the voxels, all of nearly equal work, with the slab's rows and voxel
//! columns; every card holds the streamlines' columns. Each card computes its part of A x alone. The contributions of
//! Aᵀ y to streamlines are added over the cards ([`all_reduce`]), after which all cards have the same bits and take the
//! same step; the host adds sums over the columns, in which only the first card counts the streamlines.

#![allow(unsafe_code, reason = "kernel launches")]

mod all_reduce;
mod buffers;
mod cards;
mod device_vectors;
mod part;
mod vectors;

pub use cards::IterationSize;
pub use vectors::Vectors;

use super::dictionary::Dictionary;
use super::model::Responses;
use super::operator::rank::Mixing;
use super::operator::{Precision, Shape};
use super::samples::Samples;
use crate::compute::cuda::{self, Device};
use crate::compute::kernels::{self, KernelFile};
use crate::solvers::Error;
use all_reduce::Adder;
use buffers::{Buffers, Finish};
use cudarc::driver::{CudaSlice, LaunchConfig};
use part::{Part, SlabInput};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const KERNELS: KernelFile = kernels::COMMIT;
const OPERATION: &str = "fitting weights";
/// The computation and a way to save memory, for errors.
const JOB: &str = "fitting weights to that many streamlines";
const LESS: &str = "take every second streamline, or a mask";
/// Numbers per shell and voxel, and sums per column and voxel, as in the kernels.
const ROW: usize = 92;
const PAD: usize = 96;
/// Largest number of segments per warp.
const PART: u64 = 2048;
/// Largest number of columns of a streamline that are processed at once.
const MAX_COLUMNS_AT_ONCE: usize = 4;
/// Voxels per block between sums and samples.
const TILE: u32 = 32;
/// Threads per block, and warps per block where each warp has a voxel.
const THREADS: u32 = 256;
const WARPS: u32 = 4;
/// Blocks per multiprocessor of a kernel with a grid-stride loop.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;

/// One thread per item, in blocks of `threads`.
fn blocks(count: u64, threads: u32) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (count.div_ceil(u64::from(threads)).max(1) as u32, 1, 1),
        block_dim: (threads, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// The operator on graphics cards.
pub struct MultiDeviceOperator {
    pub shape: Shape,
    /// Columns of a streamline after mixing.
    pub rank: usize,
    /// Position of each sample among the padded samples of a voxel.
    places: Vec<u32>,
    parts: Vec<Part>,
    workspace: Mutex<Workspace>,
}

/// Buffers and all-reduce, used by one call at a time.
struct Workspace {
    /// One per part.
    buffers: Vec<Buffers>,
    adder: Adder,
}

impl fmt::Debug for MultiDeviceOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let devices: Vec<_> = self.parts.iter().map(Part::device).collect();
        write!(f, "{:?} on {devices:?}", self.shape)
    }
}

impl MultiDeviceOperator {
    /// `mixed`: a mixing to fewer columns that span those of all streamlines, and the responses that remain.
    /// `places`: the card of each slab; `None`: as many cards as pay off.
    pub fn new(
        dictionary: &Dictionary,
        responses: &Responses,
        mixed: Option<&(Mixing, Responses)>,
        samples: &Samples,
        precision: Precision,
        devices: &Arc<[Device]>,
        places: Option<&[usize]>,
    ) -> Result<Self, Error> {
        let (mixing, used) = match mixed {
            Some((mixing, fewer)) => (Some(mixing), fewer),
            None => (None, responses),
        };
        let rank = used.intra.len();
        let load = IterationSize {
            segments: dictionary.segments.len() as f64,
            voxels: dictionary.voxels.len() as f64,
            samples: samples.count() as f64,
            shared: buffers::shared(dictionary.streamlines, rank) as f64,
        };
        let mut places = match places {
            Some(places) => places.to_vec(),
            None => load.cards(devices),
        };
        let slabs = dictionary.slabs(places.len(), IterationSize::voxel(load.samples));
        places.truncate(slabs.len());
        let input = SlabInput {
            dictionary,
            responses: used,
            mixing,
            samples,
            precision,
        };
        let (mut parts, mut buffers, mut at) = (Vec::new(), Vec::new(), Vec::new());
        for (slab, card) in slabs.iter().zip(places) {
            let (part, own, places) = Part::new(&input, slab, devices, card).map_err(in_job)?;
            parts.push(part);
            buffers.push(own);
            at = places;
        }
        let cards: Vec<&Device> = parts.iter().map(Part::device).collect();
        let adder = Adder::new(&cards, buffers[0].mixed.len());
        let adder = adder.map_err(|error| in_job(error.into()))?;
        Ok(Self {
            shape: Shape {
                voxels: dictionary.voxels.len(),
                ..parts[0].shape
            },
            rank,
            places: at,
            parts,
            workspace: Mutex::new(Workspace { buffers, adder }),
        })
    }

    /// Bytes per card, including the vectors of a fit; fewer if mixing reduces the columns of a streamline.
    pub fn needs(segments: u64, shape: Shape, shells: usize, devices: &[Device]) -> u64 {
        let load = IterationSize {
            segments: segments as f64,
            voxels: shape.voxels as f64,
            samples: shape.samples as f64,
            shared: buffers::shared(shape.streamlines, shape.atoms) as f64,
        };
        let cards = load.cards(devices).len().max(1);
        let slab = Shape {
            voxels: shape.voxels.div_ceil(cards),
            ..shape
        };
        buffers::bytes(segments.div_ceil(cards as u64), slab, shape.atoms, shells)
    }

    fn lock_workspace(&self) -> MutexGuard<'_, Workspace> {
        self.workspace
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of cards that have a slab.
    pub fn cards(&self) -> usize {
        self.parts.len()
    }

    /// How the cards add up, as text; `None` for a single card.
    pub fn adds_up(&self) -> Option<&'static str> {
        self.lock_workspace().adder.reason()
    }

    /// Bytes on all cards, including the vectors of a fit.
    pub fn bytes(&self) -> u64 {
        self.lock_workspace().buffers.iter().map(|b| b.bytes).sum()
    }

    /// The row of sample s of a voxel.
    pub fn row(&self, voxel: usize, sample: usize) -> usize {
        voxel * self.shape.samples + self.places[sample] as usize
    }

    /// A x on each part, passed on to `finish`.
    fn forward(&self, each: impl Iterator<Item = (u64, Finish)>) -> Result<(), cuda::Error> {
        let stored = &mut *self.lock_workspace();
        let parts = self.parts.iter().zip(&mut stored.buffers);
        for ((part, buffers), (x, finish)) in parts.zip(each) {
            part.forward(buffers, x, finish)?;
        }
        Ok(())
    }

    /// Aᵀ (now + β (now − before)), summed but still in mixed columns; `then` runs on each part afterwards.
    fn gather(
        &self,
        r: impl Iterator<Item = [u64; 2]>,
        beta: f32,
        mut then: impl FnMut(usize, &Part, &Buffers) -> Result<(), cuda::Error>,
    ) -> Result<(), cuda::Error> {
        let Workspace { buffers, adder } = &mut *self.lock_workspace();
        for ((part, buffers), r) in self.parts.iter().zip(&mut *buffers).zip(r) {
            part.gather(buffers, r, beta)?;
        }
        adder.all_reduce(&self.parts, buffers)?;
        let mut each = self.parts.iter().zip(&*buffers).enumerate();
        each.try_for_each(|(i, (part, buffers))| then(i, part, buffers))
    }

    /// Aᵀ (now + β (now − before)), summed and written to g.
    fn backward(
        &self,
        r: impl Iterator<Item = [u64; 2]>,
        beta: f32,
        g: &[u64],
    ) -> Result<(), cuda::Error> {
        self.gather(r, beta, |i, part, buffers| part.backward(buffers, g[i]))
    }
}

/// A part's share of host vectors, uploaded to its card.
struct UploadedVectors {
    x: CudaSlice<f32>,
    y: CudaSlice<f32>,
}

impl UploadedVectors {
    /// Uploads one of the vectors; the other is empty.
    fn new(part: &Part, x: Option<&[f32]>, y: Option<&[f32]>) -> Result<Self, cuda::Error> {
        let device = part.device();
        Ok(Self {
            x: match x {
                Some(x) => device.upload(&part.columns_of(x))?,
                None => device.alloc_zeros(part.shape.columns())?,
            },
            y: match y {
                Some(y) => device.upload(&y[part.rows.clone()])?,
                None => device.alloc_zeros(part.shape.rows())?,
            },
        })
    }
}

/// Operations on host vectors.
impl MultiDeviceOperator {
    fn upload_vectors(
        &self,
        x: Option<&[f32]>,
        y: Option<&[f32]>,
    ) -> Result<Vec<UploadedVectors>, cuda::Error> {
        let each = self.parts.iter();
        each.map(|part| UploadedVectors::new(part, x, y)).collect()
    }

    fn product(
        &self,
        sent: &[UploadedVectors],
        out: &[UploadedVectors],
    ) -> Result<(), cuda::Error> {
        let each = self.parts.iter().zip(sent.iter().zip(out));
        self.forward(each.map(|(part, (from, to))| {
            let device = part.device();
            let finish = Finish::product(device.address(&to.y), 0);
            (device.address(&from.x), finish)
        }))
    }

    fn transposed(
        &self,
        sent: &[UploadedVectors],
        out: &[UploadedVectors],
    ) -> Result<(), cuda::Error> {
        let at = |i: usize, v: &CudaSlice<f32>| self.parts[i].device().address(v);
        let g: Vec<u64> = out.iter().enumerate().map(|(i, v)| at(i, &v.x)).collect();
        let r = sent.iter().enumerate().map(|(i, v)| [at(i, &v.y); 2]);
        self.backward(r, 0.0, &g)
    }

    pub fn apply(&self, x: &[f32]) -> Result<Vec<f32>, Error> {
        let sent = self.upload_vectors(Some(x), None)?;
        self.product(&sent, &sent)?;
        let mut out = vec![0.0; self.shape.rows()];
        for (part, sent) in self.parts.iter().zip(&sent) {
            let to = &mut out[part.rows.clone()];
            part.device().download_into(&sent.y, 0, to)?;
        }
        Ok(out)
    }

    pub fn adjoint(&self, y: &[f32], x: &mut [f32]) -> Result<(), Error> {
        let sent = self.upload_vectors(None, Some(y))?;
        self.transposed(&sent, &sent)?;
        Ok(self.columns_into(sent.iter().map(|s| &s.x), x)?)
    }

    /// All columns; the streamlines' columns come from the first card.
    fn columns_into<'a>(
        &self,
        each: impl Iterator<Item = &'a CudaSlice<f32>>,
        to: &mut [f32],
    ) -> Result<(), cuda::Error> {
        let intra = self.shape.intra();
        for (i, (part, from)) in self.parts.iter().zip(each).enumerate() {
            let device = part.device();
            match i {
                0 => device.download_into(from, 0, &mut to[..part.own.end])?,
                _ => device.download_into(from, intra, &mut to[part.own.clone()])?,
            }
        }
        Ok(())
    }

    /// Milliseconds of A x and Aᵀ y on the cards, `times` times each, after one warm-up run.
    pub fn times_ms(&self, x: &[f32], y: &[f32], times: usize) -> Result<[Vec<f32>; 2], Error> {
        let sent = self.upload_vectors(Some(x), Some(y))?;
        let out = self.upload_vectors(None, None)?;
        let mut durations = [Vec::new(), Vec::new()];
        for i in 0..=times {
            let forward = self.elapsed_ms(|| self.product(&sent, &out))?;
            let back = self.elapsed_ms(|| self.transposed(&sent, &out))?;
            if i > 0 {
                durations[0].push(forward);
                durations[1].push(back);
            }
        }
        Ok(durations)
    }

    /// Time on the slowest card.
    fn elapsed_ms(
        &self,
        work: impl FnOnce() -> Result<(), cuda::Error>,
    ) -> Result<f32, cuda::Error> {
        let marks = || -> Result<Vec<_>, cuda::Error> {
            self.parts
                .iter()
                .map(|part| part.device().record_event())
                .collect()
        };
        let from = marks()?;
        work()?;
        let to = marks()?;
        let mut longest = 0f32;
        for (part, (from, to)) in self.parts.iter().zip(from.iter().zip(&to)) {
            longest = longest.max(part.device().elapsed_ms(from, to)?);
        }
        Ok(longest)
    }
}

fn in_job(error: Error) -> Error {
    match error {
        Error::Card(error) => Error::Card(error.in_job(JOB, LESS)),
        other => other,
    }
}
