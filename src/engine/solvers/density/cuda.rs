//! Density maps of streamlines whose points are on cards: the sums equal those of the CPU.

#![allow(unsafe_code, reason = "kernel launches")]

use super::walk::Walk;
use super::{Measure, Params};
use crate::compute::cuda::{Device, Error as CardError};
use crate::compute::{Backend, Control, kernel_struct, kernels};
use crate::data::{Grid, Tractogram};
use crate::solvers::Error;
use crate::solvers::on_card::{
    CurvesOfCard, CurvesOnCards, KernelLine, LINES_PER_BATCH, batches, few_threads_each,
};
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, PushKernelArg as _};
use std::ops::Range;

const OPERATION: &str = "mapping density";
const LOWER: &str = "choose larger voxels";
/// Entries that the tables of visited voxels have at a time, unless one streamline needs more.
const TABLE_ENTRIES: u64 = 64 << 20;

/// `Cells` in kernels/density.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelCells {
    columns: [f64; 12],
    shape: [u32; 3],
    unused: u32,
}
kernel_struct!(KernelCells as "Cells in kernels/density.cu", 112 { columns: 0, shape: 96, unused: 108 });
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for KernelCells {}

/// `Sums` in kernels/density.cu: addresses of buffers, 0 where sums are not requested.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelSums {
    visits: u64,
    lengths: u64,
    directions: u64,
    tables: u64,
    starts: u64,
    passes: u64,
    totals: u64,
    voxels: u64,
}
kernel_struct!(KernelSums as "Sums in kernels/density.cu", 64 {
    visits: 0, lengths: 8, directions: 16, tables: 24, starts: 32, passes: 40, totals: 48, voxels: 56,
});
// SAFETY: as above.
unsafe impl DeviceRepr for KernelSums {}

/// The sums of one card; empty where they are not requested.
pub(super) struct CardSums {
    pub visits: Vec<u32>,
    pub lengths: Vec<u64>,
    /// All voxels for each of the three axes, one axis after the other.
    pub directions: Vec<u64>,
    /// Length inside the grid and in total, units, and the number of segments that are left out.
    pub totals: [u64; 3],
    /// Milliseconds that the kernels took.
    pub kernel_ms: f64,
}

/// The sums of each card that has streamlines; `None` if no card has the points, or if the grid has more voxels than the kernels can number: the CPU then counts the streamlines.
pub(super) fn count(
    tractogram: &Tractogram,
    grid: &Grid,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Option<Vec<CardSums>>, Error> {
    // The kernels number voxels with 32 bits, and need one more number for none.
    if u32::try_from(grid.voxel_count()).is_err() {
        return Ok(None);
    }
    let Some(curves) = CurvesOnCards::new(tractogram, backend) else {
        return Ok(None);
    };
    let cards = curves.by_card(backend);
    let counted = curves.on_each_card(&cards, |device, own| {
        count_on(device, own, grid, params, control)
    });
    counted.map(Some)
}

/// Buffers of the sums on a card.
struct Buffers {
    visits: Option<CudaSlice<u32>>,
    lengths: Option<CudaSlice<u64>>,
    directions: Option<CudaSlice<u64>>,
    totals: CudaSlice<u64>,
}

impl Buffers {
    fn new(
        device: &Device,
        own: &CurvesOfCard,
        voxels: usize,
        params: &Params,
    ) -> Result<Self, CardError> {
        let visits = params.measure == Measure::Visits;
        let each = if visits { 4 } else { 8 } + if params.by_direction { 24 } else { 0 };
        // A number of passes for each curve.
        let lists = own.list_bytes(if visits { size_of::<u32>() } else { 0 });
        device.needs(voxels as u64 * each + lists, OPERATION, LOWER)?;
        let sums = |requested: bool, count: usize| {
            let buffer = requested.then(|| device.alloc_zeros::<u64>(count));
            buffer.transpose()
        };
        Ok(Self {
            visits: match visits {
                true => Some(device.alloc_zeros(voxels)?),
                false => None,
            },
            lengths: sums(!visits, voxels)?,
            directions: sums(params.by_direction, 3 * voxels)?,
            totals: device.alloc_zeros(3)?,
        })
    }
}

fn count_on(
    device: &Device,
    own: &CurvesOfCard,
    grid: &Grid,
    params: &Params,
    control: &Control,
) -> Result<CardSums, Error> {
    let voxels = grid.voxel_count();
    let buffers = Buffers::new(device, own, voxels, params)?;
    let address = |buffer: &Option<CudaSlice<u64>>| {
        let buffer = buffer.as_ref();
        buffer.map_or(0, |buffer| device.address(buffer))
    };
    let sums = KernelSums {
        visits: buffers.visits.as_ref().map_or(0, |b| device.address(b)),
        lengths: address(&buffers.lengths),
        directions: address(&buffers.directions),
        totals: device.address(&buffers.totals),
        voxels: voxels as u64,
        ..KernelSums::zeroed()
    };
    let cells = cells(grid);
    let mut kernel_ms = 0.0;
    for lines in batches(own.lines.len(), LINES_PER_BATCH) {
        control.check()?;
        let batch = Batch::new(device, own, lines, cells)?;
        kernel_ms += match buffers.visits.is_some() {
            true => batch.visit(sums, control)?,
            false => batch.add(0..batch.lines.len(), sums)?,
        };
        control.advance(batch.lines.len() as u64);
    }
    let all = |buffer: &Option<CudaSlice<u64>>| match buffer {
        Some(buffer) => device.download(buffer, 0..buffer.len()),
        None => Ok(Vec::new()),
    };
    let totals = device.download(&buffers.totals, 0..3)?;
    Ok(CardSums {
        visits: match &buffers.visits {
            Some(buffer) => device.download(buffer, 0..buffer.len())?,
            None => Vec::new(),
        },
        lengths: all(&buffers.lengths)?,
        directions: all(&buffers.directions)?,
        totals: [totals[0], totals[1], totals[2]],
        kernel_ms,
    })
}

fn cells(grid: &Grid) -> KernelCells {
    let from_world = Walk::new(grid).cells_from_world();
    KernelCells {
        columns: from_world.to_cols_array(),
        shape: grid.shape.map(|n| n as u32),
        unused: 0,
    }
}

/// Some streamlines on a card.
struct Batch<'a> {
    device: &'a Device,
    lines: CudaSlice<KernelLine>,
    cells: KernelCells,
}

impl<'a> Batch<'a> {
    fn new(
        device: &'a Device,
        own: &CurvesOfCard,
        lines: Range<usize>,
        cells: KernelCells,
    ) -> Result<Self, CardError> {
        Ok(Self {
            device,
            lines: device.upload(&own.lines[lines])?,
            cells,
        })
    }

    /// Adds all streamlines, each once in every voxel: the number of passes of each bounds the table of the voxels that
    /// it has visited. Returns the milliseconds that the kernels took.
    fn visit(&self, sums: KernelSums, control: &Control) -> Result<f64, Error> {
        let device = self.device;
        let count = self.lines.len();
        let mut passes = device.alloc_zeros::<u32>(count)?;
        let kernel = device.kernel(kernels::DENSITY, "density_passes")?;
        let number = count as u32;
        let ((), mut ms) = device.elapsed(|| {
            // SAFETY: one thread for each of `number` streamlines, surplus threads return; their points lie in buffers
            // that the caller keeps, and `passes` has a number for each.
            let launched = unsafe {
                device
                    .stream()
                    .launch_builder(&kernel)
                    .arg(&self.lines)
                    .arg(&number)
                    .arg(&self.cells)
                    .arg(&mut passes)
                    .launch(few_threads_each(number))
            };
            device.check(OPERATION, launched).map(drop)
        })?;
        let known = device.download(&passes, 0..count)?;
        let mut next = 0;
        while next < count {
            control.check()?;
            let (end, starts, entries) = tables(&known, next);
            let bytes = 4 * entries.max(1) + size_of_val(&starts[..]) as u64;
            device.needs(bytes, OPERATION, "draw fewer streamlines")?;
            let tables = device.alloc_zeros::<u32>(entries.max(1) as usize)?;
            let starts = device.upload(&starts)?;
            let sums = KernelSums {
                tables: device.address(&tables),
                starts: device.address(&starts),
                passes: device.address(&passes) + 4 * next as u64,
                ..sums
            };
            ms += self.add(next..end, sums)? as f32;
            next = end;
        }
        Ok(f64::from(ms))
    }

    /// Adds some of the streamlines to the sums; returns the milliseconds that the kernel took.
    fn add(&self, some: Range<usize>, sums: KernelSums) -> Result<f64, CardError> {
        let device = self.device;
        let kernel = device.kernel(kernels::DENSITY, "density_add")?;
        let count = some.len() as u32;
        let lines = self.lines.slice(some);
        let ((), ms) = device.elapsed(|| {
            // SAFETY: one thread for each of `count` streamlines, surplus threads add nothing. All voxels that a
            // streamline passes lie in the grid, whose sums the buffers hold; its table, if there is one, has twice as
            // many entries as it passes voxels, so a free one is always found.
            let launched = unsafe {
                device
                    .stream()
                    .launch_builder(&kernel)
                    .arg(&lines)
                    .arg(&count)
                    .arg(&self.cells)
                    .arg(&sums)
                    .launch(few_threads_each(count))
            };
            device.check(OPERATION, launched).map(drop)
        })?;
        Ok(f64::from(ms))
    }
}

/// The streamlines from `next` on whose tables fit together: the end of their range, the first entry of each table, and
/// the number of entries.
fn tables(passes: &[u32], next: usize) -> (usize, Vec<u64>, u64) {
    let (mut starts, mut entries) = (Vec::new(), 0);
    for own in &passes[next..] {
        let more = 2 * u64::from(*own);
        if !starts.is_empty() && entries + more > TABLE_ENTRIES {
            break;
        }
        starts.push(entries);
        entries += more;
    }
    (next + starts.len(), starts, entries)
}
