//! Arguments of the kernels, laid out as the kernels declare them.

use super::super::dictionary::Slab;
use super::super::harmonics::{COUNT, DEGREES};
use super::super::model::Responses;
use super::super::operator::Shape;
use super::super::operator::rank::Mixing;
use super::super::samples::Samples;
use super::part::SlabInput;
use super::{Error, KERNELS, MAX_COLUMNS_AT_ONCE, OPERATION, PAD, PART, ROW, blocks};
use crate::compute::cuda::{self, Device};
use crate::compute::kernel_struct;
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, PushKernelArg as _};

/// `Tables` in kernels/commit.cu; addresses on the card.
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
#[repr(C)]
pub struct Tables {
    records: u64,
    items: u64,
    peaks: u64,
    peak_counts: u64,
    intra: u64,
    own: u64,
    flat: u64,
    begins: u64,
    pub count: u32,
    pub voxels: u32,
    pub shells: u32,
    places: u32,
    extra: u32,
    free: u32,
    columns: u32,
    unit_mm: f32,
    pub samples: u32,
    pub b0: u32,
    b0_real: u32,
    unused: u32,
}
kernel_struct!(Tables as "Tables in kernels/commit.cu", 112 {
    records: 0, items: 8, peaks: 16, peak_counts: 24, intra: 32, own: 40, flat: 48, begins: 56, count: 64,
    voxels: 68, shells: 72, places: 76, extra: 80, free: 84, columns: 88, unit_mm: 92, samples: 96, b0: 100,
    b0_real: 104, unused: 108,
});
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for Tables {}

/// `Columns` in kernels/commit.cu.
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
#[repr(C)]
pub struct Columns {
    mixing: u64,
    pub streamlines: u32,
    pub atoms: u32,
    pub chunks: u32,
    pub wide: u32,
    pub count: u64,
    first: u64,
}
kernel_struct!(Columns as "Columns in kernels/columns.cuh", 40 {
    mixing: 0, streamlines: 8, atoms: 12, chunks: 16, wide: 20, count: 24, first: 32,
});
// SAFETY: as above.
unsafe impl DeviceRepr for Columns {}

/// `Finish` in kernels/commit.cu.
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
#[repr(C)]
pub struct Finish {
    pub out: u64,
    pub y: u64,
    pub last: u64,
    pub sums: u64,
    pub beta: f32,
    pub unused: u32,
}
kernel_struct!(Finish as "Finish in kernels/samples.cuh", 40 {
    out: 0, y: 8, last: 16, sums: 24, beta: 32, unused: 36,
});
// SAFETY: as above.
unsafe impl DeviceRepr for Finish {}

impl Finish {
    /// Writes A x to `out` and its square to `sums` if that is an address.
    pub fn product(out: u64, sums: u64) -> Self {
        Self {
            out,
            sums,
            ..Self::zeroed()
        }
    }
}

/// Marks one of several parts of a voxel.
const SHARED: u32 = 1;

/// A voxel, or part of one, for each warp: its number, its first record, the end of its records, and whether it has
/// other parts; long ones first.
fn warp_items(slab: &Slab) -> Vec<[u32; 4]> {
    let mut items = Vec::with_capacity(slab.voxels.len());
    for (voxel, pair) in slab.offsets.windows(2).enumerate() {
        let [mut begin, last] = [pair[0], pair[1]].map(|at| at - slab.offsets[0]);
        let shared = if last - begin > PART { SHARED } else { 0 };
        loop {
            let end = last.min(begin + PART);
            items.push([voxel as u32, begin as u32, end as u32, shared]);
            begin = end;
            if begin >= last {
                break;
            }
        }
    }
    // Equally long ones stay neighbours in space, which share streamlines.
    items.sort_by_key(|[_, begin, end, _]| std::cmp::Reverse((end - begin) / 1024));
    items
}

/// Positions of samples in a voxel: those of each shell, and those at b = 0, padded to multiples of four.
struct Padding {
    /// Position of each sample.
    places: Vec<u32>,
    /// First sample of each shell, and the end of the last.
    begins: Vec<u32>,
    /// Zero at b = 0 and for padding.
    directions: Vec<[f64; 3]>,
}

impl Padding {
    fn new(samples: &Samples) -> Self {
        let b0 = samples.b0.len();
        let mut buffers = Self {
            places: (0..b0 as u32).collect(),
            begins: Vec::new(),
            directions: vec![[0.0; 3]; b0],
        };
        buffers.pad_chunk();
        for shell in &samples.shells {
            let begin = buffers.directions.len() as u32;
            buffers
                .places
                .extend(begin..begin + shell.directions.len() as u32);
            buffers
                .directions
                .extend(shell.directions.iter().map(|g| g.to_array()));
            buffers.pad_chunk();
        }
        buffers
    }

    fn pad_chunk(&mut self) {
        self.directions
            .resize(self.directions.len().next_multiple_of(4), [0.0; 3]);
        self.begins.push(self.directions.len() as u32);
    }
}

/// Buffers that stay on the card as long as the operator.
pub struct Buffers {
    pub tables: Tables,
    pub columns: Columns,
    /// Harmonics of the samples, for forward and backward.
    pub basis: [CudaSlice<f32>; 2],
    /// Harmonic sums of a chunk of columns and numbers for each shell, by voxel.
    pub sums: CudaSlice<f32>,
    pub shells: CudaSlice<f32>,
    /// Mixed columns of the streamlines, and the gradient of the voxels' own columns.
    pub mixed: CudaSlice<f32>,
    pub own: CudaSlice<f32>,
    /// Parts of voxels add to the sums, which are therefore cleared first.
    pub parted: bool,
    pub bytes: u64,
    /// Referenced only by the tables.
    _kept: [CudaSlice<u32>; 4],
    _rows: [CudaSlice<f32>; 5],
}

/// Columns that one or two lanes process at once.
fn columns_at_once(rank: usize) -> usize {
    match rank {
        0 | 1 => 1,
        2 => 2,
        _ => MAX_COLUMNS_AT_ONCE,
    }
}

/// Numbers of all streamlines after mixing.
pub fn shared(streamlines: usize, rank: usize) -> usize {
    streamlines * rank.next_multiple_of(columns_at_once(rank))
}

/// Bytes of an operator with this many segments, including the vectors of a fit.
pub fn bytes(segments: u64, shape: Shape, rank: usize, shells: usize) -> u64 {
    let voxels = shape.voxels as u64;
    let items = voxels + segments / PART;
    let peaks = voxels * shape.peaks as u64;
    let sums = voxels * (shells * ROW + 4 + PAD * columns_at_once(rank)) as u64;
    let mixed = shared(shape.streamlines, rank) as u64;
    let own = voxels * shape.unknowns_per_voxel() as u64;
    let basis = (shape.samples * 2 * ROW) as u64;
    let vectors = 3 * shape.rows() as u64 + 5 * shape.columns() as u64;
    let word_count = peaks * (COUNT as u64 + 1) + voxels + sums + mixed + own + basis + vectors;
    8 * segments + 16 * items + 4 * word_count
}

impl Buffers {
    pub fn new(
        device: &Device,
        input: &SlabInput,
        slab: &Slab,
    ) -> Result<(Self, Shape, Vec<u32>), Error> {
        let SlabInput {
            dictionary,
            responses,
            mixing,
            samples,
            ..
        } = *input;
        let padding = Padding::new(samples);
        let rank = responses.intra.len();
        let atoms = mixing.map_or(rank, |m| m.atoms);
        let (voxels, shells) = (slab.voxels.len(), samples.shells.len());
        let shape = Shape {
            streamlines: dictionary.streamlines,
            atoms,
            voxels,
            peaks: dictionary.places,
            extra: responses.extra.len(),
            free: responses.free.len(),
            samples: padding.directions.len(),
        };
        let wide = columns_at_once(rank);
        let chunks = rank.div_ceil(wide);
        let bytes = bytes(slab.segments.len() as u64, shape, rank, shells);
        device.needs(bytes, super::JOB, super::LESS)?;
        // One extra number, which is never read: a buffer holds at least one.
        let floats =
            |values: &[f32]| device.upload(if values.is_empty() { &[0.0] } else { values });
        let items = warp_items(slab);
        let kept = [
            device.upload(bytemuck::cast_slice(slab.segments))?,
            device.upload(items.as_flattened())?,
            device.upload(
                &slab
                    .peak_counts
                    .iter()
                    .map(|n| u32::from(*n))
                    .collect::<Vec<_>>(),
            )?,
            device.upload(&padding.begins)?,
        ];
        let codes: Vec<u32> = slab.peaks.iter().map(|c| u32::from(*c)).collect();
        let peaks = peaks(device, &codes)?;
        let rows = [
            peaks,
            floats(&intra(&responses.intra, shells, wide))?,
            floats(&own_responses(responses))?,
            floats(&b0_responses(&responses.flat, chunks * wide))?,
            floats(&mixing_rows(mixing, atoms, rank, chunks * wide))?,
        ];
        let basis = basis(device, &padding.directions)?;
        let buffers = Self {
            tables: Tables {
                records: device.address(&kept[0]),
                items: device.address(&kept[1]),
                peaks: device.address(&rows[0]),
                peak_counts: device.address(&kept[2]),
                intra: device.address(&rows[1]),
                own: device.address(&rows[2]),
                flat: device.address(&rows[3]),
                begins: device.address(&kept[3]),
                count: items.len() as u32,
                voxels: voxels as u32,
                shells: shells as u32,
                places: shape.peaks as u32,
                extra: shape.extra as u32,
                free: shape.free as u32,
                columns: (chunks * wide) as u32,
                unit_mm: dictionary.unit_mm as f32,
                samples: shape.samples as u32,
                b0: padding.begins[0],
                b0_real: samples.b0.len() as u32,
                unused: 0,
            },
            columns: Columns {
                mixing: device.address(&rows[4]),
                streamlines: shape.streamlines as u32,
                atoms: atoms as u32,
                chunks: chunks as u32,
                wide: wide as u32,
                count: shape.columns() as u64,
                // Only the card of the first slab counts the streamlines.
                first: match slab.voxels.start {
                    0 => 0,
                    _ => shape.intra() as u64,
                },
            },
            basis,
            sums: device.alloc_zeros(voxels * PAD * wide)?,
            shells: device.alloc_zeros(voxels * (shells * ROW + 4))?,
            mixed: device.alloc_zeros(shared(shape.streamlines, rank))?,
            own: device.alloc_zeros((voxels * shape.unknowns_per_voxel()).max(1))?,
            parted: items.iter().any(|i| i[3] & SHARED != 0),
            bytes,
            _kept: kept,
            _rows: rows,
        };
        Ok((buffers, shape, padding.places))
    }
}

/// The streamlines' responses by chunk, shell, degree and column.
fn intra(responses: &[Vec<[f64; DEGREES]>], shells: usize, wide: usize) -> Vec<f32> {
    let chunks = responses.len().div_ceil(wide);
    let mut intra = vec![0f32; chunks * shells * DEGREES * wide];
    for (atom, of_shells) in responses.iter().enumerate() {
        for (i, r) in of_shells.as_flattened().iter().enumerate() {
            let row = atom / wide * shells * DEGREES + i;
            intra[row * wide + atom % wide] = *r as f32;
        }
    }
    intra
}

/// Responses of the voxels' own columns.
fn own_responses(responses: &Responses) -> Vec<f32> {
    let own = responses.extra.iter().chain(&responses.free);
    own.flat_map(|r| r.as_flattened())
        .map(|v| *v as f32)
        .collect()
}

/// Responses at b = 0: those of the streamlines fill up their chunks.
fn b0_responses([intra, extra, free]: &[Vec<f64>; 3], columns: usize) -> Vec<f32> {
    let mut flats: Vec<f32> = intra.iter().map(|v| *v as f32).collect();
    flats.resize(columns, 0.0);
    flats.extend(extra.iter().chain(free).map(|v| *v as f32));
    flats
}

/// The mixing of the streamlines' columns, a row for each atom; without mixing, each atom is its own column.
fn mixing_rows(mixing: Option<&Mixing>, atoms: usize, rank: usize, columns: usize) -> Vec<f32> {
    let mut rows = vec![0f32; atoms * columns];
    for (atom, row) in rows.chunks_exact_mut(columns).enumerate() {
        match mixing {
            Some(mixing) => row[..rank].copy_from_slice(mixing.row(atom)),
            None => row[atom] = 1.0,
        }
    }
    rows
}

/// Harmonics of the peaks.
fn peaks(device: &Device, codes: &[u32]) -> Result<CudaSlice<f32>, cuda::Error> {
    let mut out = device.alloc_zeros((codes.len() * COUNT).max(1))?;
    if codes.is_empty() {
        return Ok(out);
    }
    let kernel = device.kernel(KERNELS, "commit_peaks")?;
    let (count, codes) = (codes.len() as u32, device.upload(codes)?);
    // SAFETY: one thread per peak, surplus threads return; each writes COUNT numbers of its own.
    let launched = unsafe {
        let mut launcher = device.stream().launch_builder(&kernel);
        launcher.arg(&codes).arg(&count).arg(&mut out);
        launcher.launch(blocks(u64::from(count), 128))
    };
    device.check(OPERATION, launched)?;
    Ok(out)
}

/// Harmonics of the samples, scaled for sums to samples and back.
fn basis(device: &Device, directions: &[[f64; 3]]) -> Result<[CudaSlice<f32>; 2], cuda::Error> {
    let count = directions.len();
    let mut forward = device.alloc_zeros(ROW * count)?;
    let mut back = device.alloc_zeros(ROW * count)?;
    let kernel = device.kernel(KERNELS, "commit_basis")?;
    let (samples, directions) = (count as u32, device.upload(directions.as_flattened())?);
    // SAFETY: one thread per sample, surplus threads return; each writes one column of the first matrix and one row
    // of the second.
    let launched = unsafe {
        let mut launcher = device.stream().launch_builder(&kernel);
        launcher.arg(&directions).arg(&samples);
        launcher.arg(&mut forward).arg(&mut back);
        launcher.launch(blocks(u64::from(samples), 128))
    };
    device.check(OPERATION, launched)?;
    Ok([forward, back])
}
