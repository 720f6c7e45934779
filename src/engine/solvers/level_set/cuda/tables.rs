//! Data of the kernels, laid out as the kernels declare them.

use super::super::bricks::{Field, INSIDE, counts, origin};
use super::super::stencil::Stencil;
use super::{Error, LOG};
use crate::compute::cuda::Device;
use crate::compute::kernel_struct;
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr as _, DeviceRepr};

/// Values per brick.
pub const PAGE: usize = 512;
/// A copy of its first and last plane along x, stored together so that whole rows are read.
pub const SIDES: usize = 128;
const NONE: u32 = u32::MAX;

/// `Rules` in kernels/fronts.cuh.
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
#[repr(C)]
pub struct KernelRules {
    pub dt: f32,
    pub curvature: f32,
    pub rescaling: f32,
    pub clamp: f32,
    pub pace: f32,
    pub advection: f32,
    pub low: f32,
    pub high: f32,
    pub w: [f32; 6],
    pub root: [f32; 3],
    pub offsets: i32,
    pub e: [[i32; 3]; 6],
    pub rho: [f32; 6],
    pub region: f32,
    pub unused: u32,
    pub voxels: i64,
    pub total: i64,
}
kernel_struct!(KernelRules as "Rules in kernels/fronts.cuh", 192 {
    dt: 0, curvature: 4, rescaling: 8, clamp: 12, pace: 16, advection: 20, low: 24, high: 28, w: 32, root: 56,
    offsets: 68, e: 72, rho: 144, region: 168, unused: 172, voxels: 176, total: 184,
});
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for KernelRules {}

/// `State` in kernels/bricks.cuh.
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
#[repr(C)]
pub struct State {
    pub high: i32,
    pub in_line: i32,
    pub step: i32,
    pub top: i32,
    pub activated: i32,
    pub retired: i32,
    pub logged: i32,
    pub region: [f32; 3],
    pub arrived: u32,
    pub turn: u32,
    pub inside: i64,
    pub sum: i64,
}
kernel_struct!(State as "State in kernels/bricks.cuh", 64 {
    high: 0, in_line: 4, step: 8, top: 12, activated: 16, retired: 20, logged: 24, region: 28, arrived: 40,
    turn: 44, inside: 48, sum: 56,
});
// SAFETY: as above.
unsafe impl DeviceRepr for State {}

/// The pages of blocks that wait for one another, in `Tables` of kernels/bricks.cuh.
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
#[repr(C)]
struct Exchange {
    exchange: u64,
    exchanged: u32,
    unused: u32,
}
kernel_struct!(Exchange as "Tables in kernels/bricks.cuh, in part", 16 {
    exchange: 0, exchanged: 8, unused: 12,
});

/// Numbers of voxels, bricks and values in `Tables` of kernels/bricks.cuh.
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
#[repr(C)]
pub struct Extent {
    size: [u32; 3],
    bricks: [u32; 3],
    pub planes: i32,
    sides: u32,
}
kernel_struct!(Extent as "Tables in kernels/bricks.cuh, in part", 32 {
    size: 0, bricks: 12, planes: 24, sides: 28,
});

/// `Tables` in kernels/bricks.cuh; addresses on the card.
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
#[repr(C)]
pub struct Tables {
    pub rules: u64,
    pub state: u64,
    pub page_of: u64,
    pub wished: u64,
    pub place: u64,
    pub neighbours: u64,
    pub stack: u64,
    pub taken: u64,
    pub idle: u64,
    pub log: u64,
    pub speeds: u64,
    pub quanta: u64,
    pub shell: u64,
    pub halo: u64,
    exchange: Exchange,
    pub extent: Extent,
    pub pass_of_page: u64,
    pub laps: u64,
    pub line: u64,
}
kernel_struct!(Tables as "Tables in kernels/bricks.cuh", 184 {
    rules: 0, state: 8, page_of: 16, wished: 24, place: 32, neighbours: 40, stack: 48, taken: 56, idle: 64,
    log: 72, speeds: 80, quanta: 88, shell: 96, halo: 104, exchange: 112, extent: 128, pass_of_page: 160,
    laps: 168, line: 176,
});
// SAFETY: as above.
unsafe impl DeviceRepr for Tables {}

/// `Lap` in kernels/bricks.cuh.
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
#[repr(C)]
pub struct Lap {
    fresh: u64,
    finished: u32,
    unused: u32,
}
kernel_struct!(Lap as "Lap in kernels/bricks.cuh", 16 { fresh: 0, finished: 8, unused: 12 });
// SAFETY: as above.
unsafe impl DeviceRepr for Lap {}

/// The address of a buffer.
pub fn pointer<T>(buffer: &CudaSlice<T>, stream: &CudaStream) -> u64 {
    buffer.device_ptr(stream).0
}

impl KernelRules {
    pub fn new(stencil: &Stencil) -> Self {
        let mut rules = Self::zeroed();
        rules.clamp = stencil.clamp;
        rules.pace = (0.9 / stencil.crossing) as f32;
        rules.w = stencil.w;
        rules.root = [0, 1, 2].map(|a| stencil.w[a].sqrt());
        rules.offsets = stencil.offsets.len().min(6) as i32;
        for (k, offset) in stencil.offsets.iter().take(6).enumerate() {
            rules.e[k] = offset.e;
            rules.rho[k] = offset.rho;
        }
        rules
    }
}

pub struct Buffers {
    pub rules: CudaSlice<KernelRules>,
    pub state: CudaSlice<State>,
    pub pages: [CudaSlice<f32>; 2],
    pub page_of: CudaSlice<i32>,
    wished: CudaSlice<i32>,
    place: CudaSlice<u32>,
    neighbours: CudaSlice<i32>,
    stack: CudaSlice<i32>,
    taken: CudaSlice<[i32; 2]>,
    idle: CudaSlice<i32>,
    pub log: CudaSlice<i32>,
    shell: CudaSlice<u32>,
    halo: CudaSlice<u32>,
    exchange: CudaSlice<u64>,
    pass_of_page: CudaSlice<u32>,
    laps: CudaSlice<Lap>,
    line: CudaSlice<i32>,
    shape: [usize; 3],
    pub bricks: usize,
    /// Pages, including the two constants.
    pub slots: usize,
}

impl Buffers {
    pub fn new(device: &Device, field: &Field) -> Result<Self, Error> {
        let shape = counts(field.grid.shape, 8);
        let bricks: usize = shape.iter().product();
        let slots = bricks + 2;
        let used = field.pages.len() / PAGE;
        let sides: Vec<f32> = field
            .pages
            .chunks_exact(PAGE)
            .flat_map(|page| {
                let plane = |x: usize| page.iter().skip(x).step_by(8).copied();
                plane(0).chain(plane(7))
            })
            .collect();
        let copy = || -> Result<CudaSlice<f32>, Error> {
            let mut all = device.alloc_zeros::<f32>(slots * (PAGE + SIDES))?;
            for (values, at) in [(&field.pages, 0), (&sides, slots * PAGE)] {
                let mut place = all.slice_mut(at..at + values.len());
                let copied = device.stream().memcpy_htod(values, &mut place);
                device.check("placing a surface", copied)?;
            }
            Ok(all)
        };
        let mut place = vec![NONE; slots];
        let mut neighbours = vec![0i32; slots * 32];
        let entry = |at: [i64; 3]| {
            let inside = (0..3).all(|a| at[a] >= 0 && at[a] < shape[a] as i64);
            let index = |v: [i64; 3]| v[0] + shape[0] as i64 * (v[1] + shape[1] as i64 * v[2]);
            if inside {
                field.table[index(at) as usize] as i32
            } else {
                0
            }
        };
        for (brick, &slot) in field.table.iter().enumerate().filter(|(_, s)| **s > INSIDE) {
            let [x, y, z] = origin(brick, shape, 8).map(|v| v / 8);
            let at = [x, y, z];
            let border = (0..3).any(|a| at[a] == 0 || at[a] * 8 + 8 >= field.grid.shape[a]);
            place[slot as usize] = (x | y << 10 | z << 20 | usize::from(border) << 31) as u32;
            for k in 0..27 {
                let step = [k % 3, k / 3 % 3, k / 9].map(|d| d as i64 - 1);
                let at = [x as i64 + step[0], y as i64 + step[1], z as i64 + step[2]];
                neighbours[slot as usize * 32 + k] = entry(at);
            }
        }
        // The stack is popped from its end: low page numbers come first, close together.
        let mut stack: Vec<i32> = (used as i32..slots as i32).rev().collect();
        let top = stack.len() as i32;
        stack.resize(slots, 0);
        let state = State {
            // Nothing has been requested yet.
            step: 64,
            top,
            high: used as i32,
            ..State::zeroed()
        };
        // The kernel reads four entries at a time.
        let mut table: Vec<i32> = field.table.iter().map(|s| *s as i32).collect();
        table.resize(bricks.next_multiple_of(4), 0);
        Ok(Self {
            rules: device.alloc_zeros(1)?,
            state: device.upload(&[state])?,
            pages: [copy()?, copy()?],
            page_of: device.upload(&table)?,
            // This counts as just requested: bricks around the band keep their pages.
            wished: device.upload(&vec![state.step; bricks])?,
            place: device.upload(&place)?,
            neighbours: device.upload(&neighbours)?,
            stack: device.upload(&stack)?,
            taken: device.alloc_zeros(bricks)?,
            idle: device.alloc_zeros(slots)?,
            log: device.alloc_zeros(LOG as usize)?,
            shell: device.upload(&shell_sources())?,
            halo: device.upload(&halo_sources())?,
            exchange: device.alloc_zeros(2 * exchanged_pages(device) * PAGE)?,
            pass_of_page: device.alloc_zeros(slots)?,
            laps: device.alloc_zeros(LOG as usize)?,
            line: device.alloc_zeros(bricks)?,
            shape,
            bricks,
            slots,
        })
    }

    pub fn bytes(&self) -> usize {
        8 * (self.pages[0].len() + self.exchange.len())
            + self.bricks * (4 + 4 + 8 + 4)
            + self.slots * (4 + 128 + 4 + 4 + 4)
    }

    pub fn tables(&self, stream: &CudaStream, size: [usize; 3]) -> Tables {
        Tables {
            rules: pointer(&self.rules, stream),
            state: pointer(&self.state, stream),
            page_of: pointer(&self.page_of, stream),
            wished: pointer(&self.wished, stream),
            place: pointer(&self.place, stream),
            neighbours: pointer(&self.neighbours, stream),
            stack: pointer(&self.stack, stream),
            taken: pointer(&self.taken, stream),
            idle: pointer(&self.idle, stream),
            log: pointer(&self.log, stream),
            shell: pointer(&self.shell, stream),
            halo: pointer(&self.halo, stream),
            exchange: Exchange {
                exchange: pointer(&self.exchange, stream),
                exchanged: (self.exchange.len() / 2 / PAGE) as u32,
                unused: 0,
            },
            speeds: 0,
            quanta: 0,
            extent: Extent {
                size: size.map(|n| n as u32),
                bricks: self.shape.map(|n| n as u32),
                planes: 1,
                sides: (self.slots * PAGE) as u32,
            },
            pass_of_page: pointer(&self.pass_of_page, stream),
            laps: pointer(&self.laps, stream),
            line: pointer(&self.line, stream),
        }
    }
}

/// Pages that blocks may hold in shared memory at the same time: eight blocks of 256 threads fit on a multiprocessor.
fn exchanged_pages(device: &Device) -> usize {
    8 * device.multiprocessors() as usize + 2
}

/// Index of a voxel in the tile, -1 to 8 along each axis: `at` in kernels/fronts.cuh.
fn tile_index(x: i32, y: i32, z: i32) -> u32 {
    ((z + 1) * 144 + (y + 1) * 12 + x + 4) as u32
}

/// Entry of a voxel next to a brick: neighbour << 21 | index in the tile << 10 | index in its page; `sides`: index in
/// its sides, where it lies before or behind the brick's rows.
fn neighbour_entry([x, y, z]: [i32; 3], sides: bool) -> u32 {
    let side = |v: i32| if v < 0 { 0 } else { 1 + u32::from(v > 7) };
    let neighbour = 9 * side(z) + 3 * side(y) + side(x);
    let (x8, y8, z8) = (x & 7, y & 7, z & 7);
    let place = match x {
        -1 if sides => 64 + y8 + 8 * z8,
        8 if sides => y8 + 8 * z8,
        _ => x8 + 8 * y8 + 64 * z8,
    };
    neighbour << 21 | tile_index(x, y, z) << 10 | place as u32
}

fn around() -> impl Iterator<Item = (i32, i32)> {
    (-1..9).flat_map(|z| (-1..9).map(move |y| (y, z)))
}

/// Sources of a brick's shell: half rows of pages, and quarter columns and single values of sides, in the order in
/// which a warp of the kernel reads them.
fn shell_sources() -> Vec<u32> {
    let within = |v: i32| (0..8).contains(&v);
    let ends = |y: i32, z: i32| [-1, 8].map(|x| neighbour_entry([x, y, z], true));
    let outer = around().filter(|(y, z)| !(within(*y) && within(*z)));
    let rows: Vec<u32> = outer
        .flat_map(|(y, z)| [0, 4].map(|x| neighbour_entry([x, y, z], true)))
        .collect();
    let columns = (-1..9).flat_map(|z| [0, 4].map(|y| (y, z)));
    let columns: Vec<u32> = columns.flat_map(|(y, z)| ends(y, z)).collect();
    let single = around().filter(|(y, z)| !within(*y) && within(*z));
    let single: Vec<u32> = single.flat_map(|(y, z)| ends(y, z)).collect();
    let mut all = vec![0; 160];
    all[..64].copy_from_slice(&rows[..64]);
    all[64..96].copy_from_slice(&columns[..32]);
    all[96..128].copy_from_slice(&single);
    all[128..136].copy_from_slice(&rows[64..]);
    all[136..144].copy_from_slice(&columns[32..]);
    all
}

/// Sources of a brick's shell value by value, all from pages.
fn halo_sources() -> Vec<u32> {
    let within = |v: &i32| (0..8).contains(v);
    let all = around().flat_map(|(y, z)| (-1..9).map(move |x| [x, y, z]));
    all.filter(|at| !at.iter().all(within))
        .map(|at| neighbour_entry(at, false))
        .collect()
}
