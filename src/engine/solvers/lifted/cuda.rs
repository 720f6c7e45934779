//! Lifted cost fields on a graphics card: tiles of 8 × 4 voxels of one direction, each visited by one warp, in a box that
//! holds the mask. Tiles wait with the least value that changed among those they read; those below a level are visited
//! in rounds, separated by a barrier of all blocks, in one cooperative launch. A launch also ends after some
//! milliseconds so that a job can be cancelled, and the next one continues. Both regions are solved in one launch.

#![allow(unsafe_code, reason = "kernel launches")]

use super::segments::{Line, Segments};
use super::stencil::{MAX_STEPS, MAX_TURNS, MAX_VERTICES};
use super::{Limits, Prepared, Source};
use crate::compute::cuda::{self, Device};
use crate::compute::kernel_struct;
use crate::compute::{Control, kernels};
use crate::solvers::Error;
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, LaunchConfig, PushKernelArg as _};
use std::cell::OnceCell;
use std::sync::Arc;

const OPERATION: &str = "spreading costs";
/// The computation and a way to save memory, for errors.
const JOB: &str = "solving for costs in all directions";
const LESS: &str = "choose fewer directions or a smaller mask";
/// Threads of a block of any kernel, and blocks per multiprocessor of the one that is resident.
const THREADS: u32 = 256;
const RESIDENT: u32 = 2;
/// Clock cycles of the card per launch at most: about ten milliseconds.
const CLOCKS: u64 = 15_000_000;
/// Voxels of a tile along each axis.
const TILE: [usize; 2] = [8, 4];
/// A vertex that is a turn on the spot.
const ON_SPOT: u32 = u32::MAX;

/// `Job` in kernels/lifted.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Job {
    nx: u32,
    ny: u32,
    nz: u32,
    cells: u32,
    tiles_x: u32,
    tiles_y: u32,
    tiles: u32,
    directions: u32,
    fields: u32,
    tolerance: f32,
    step: f32,
    cap: f32,
    max_excess: f32,
    targets: u32,
    clocks: u64,
}
kernel_struct!(Job as "Job in kernels/lifted.cu", 64 {
    nx: 0, ny: 4, nz: 8, cells: 12, tiles_x: 16, tiles_y: 20, tiles: 24, directions: 28, fields: 32, tolerance: 36,
    step: 40, cap: 44, max_excess: 48, targets: 52, clocks: 56,
});
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for Job {}

/// `Step` in kernels/lifted.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Step {
    distance: i32,
    open: u32,
    between: u32,
    passed: u32,
    weight: f32,
    share: f32,
}
kernel_struct!(Step as "Step in kernels/lifted.cu", 24 {
    distance: 0, open: 4, between: 8, passed: 12, weight: 16, share: 20,
});

/// `Turn` in kernels/lifted.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Turn {
    from: u32,
    weight: f32,
}
kernel_struct!(Turn as "Turn in kernels/lifted.cu", 8 { from: 0, weight: 4 });

/// `Vertex` in kernels/lifted.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Vertex {
    from: u32,
    distance: i32,
    open: u32,
    between: u32,
    passed: u32,
    cost: f32,
    share: f32,
    unused: u32,
}
kernel_struct!(Vertex as "Vertex in kernels/lifted.cu", 32 {
    from: 0, distance: 4, open: 8, between: 12, passed: 16, cost: 20, share: 24, unused: 28,
});

/// `Reader` in kernels/lifted.cu.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Reader {
    direction: u32,
    x: i32,
    y: i32,
    z: i32,
}
kernel_struct!(Reader as "Reader in kernels/lifted.cu", 16 { direction: 0, x: 4, y: 8, z: 12 });

/// `State` in kernels/lifted.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct State {
    near_count: [u32; 2],
    far_count: [u32; 2],
    side: u32,
    far_side: u32,
    level: f32,
    lowest: u32,
    best: [u32; 2],
    finished: u32,
}
kernel_struct!(State as "State in kernels/lifted.cu", 44 {
    near_count: 0, far_count: 8, side: 16, far_side: 20, level: 24, lowest: 28, best: 32, finished: 40,
});
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for State {}

/// The stencils of all directions as the kernel reads them.
#[derive(Default)]
struct Tables {
    steps: Vec<Step>,
    turns: Vec<Turn>,
    vertices: Vec<Vertex>,
    readers: Vec<Reader>,
    first_reader: Vec<u32>,
    between: Vec<i32>,
    open: Vec<u32>,
}

impl Tables {
    fn new(prepared: &Prepared) -> Self {
        let segments = &*prepared.segments;
        let stride = segments.cells().div_ceil(64) * 2;
        let mut tables = Self::default();
        for (_, bits) in segments.all_open() {
            let halves = bits
                .iter()
                .flat_map(|word| [*word as u32, (*word >> 32) as u32]);
            tables.open.extend(halves);
        }
        let count = prepared.directions.len();
        let mut readers: Vec<Vec<Reader>> = vec![Vec::new(); count];
        for (direction, stencil) in prepared.stencils.iter().enumerate() {
            let mut read = |from: usize, [x, y, z]: [i32; 3]| {
                let direction = direction as u32;
                readers[from].push(Reader { direction, x, y, z });
            };
            let from = tables.steps.len();
            for step in &stencil.steps {
                read(direction, step.step);
                let (line, open) = Self::line(segments, step.step, stride);
                let (between, passed) = tables.passed(&line);
                tables.steps.push(Step {
                    distance: line.distance,
                    open,
                    between,
                    passed,
                    weight: step.weight as f32,
                    share: line.share(),
                });
            }
            tables.steps.resize(from + MAX_STEPS, Step::zeroed());
            let from = tables.turns.len();
            for turn in &stencil.turns {
                read(turn.from, [0; 3]);
                tables.turns.push(Turn {
                    from: turn.from as u32,
                    weight: turn.weight as f32,
                });
            }
            tables.turns.resize(from + MAX_TURNS, Turn::zeroed());
            let from = tables.vertices.len();
            for vertex in &stencil.vertices {
                read(vertex.from, vertex.step);
                let mut entry = Vertex {
                    from: vertex.from as u32,
                    distance: 0,
                    open: ON_SPOT,
                    between: 0,
                    passed: 0,
                    cost: vertex.cost as f32,
                    share: 1.0,
                    unused: 0,
                };
                if vertex.step != [0; 3] {
                    let (line, open) = Self::line(segments, vertex.step, stride);
                    let (between, passed) = tables.passed(&line);
                    (entry.distance, entry.share) = (line.distance, line.share());
                    (entry.open, entry.between, entry.passed) = (open, between, passed);
                }
                tables.vertices.push(entry);
            }
            let missing = Vertex {
                cost: f32::INFINITY,
                ..Vertex::zeroed()
            };
            tables.vertices.resize(from + MAX_VERTICES, missing);
        }
        for mut states in readers {
            states.sort_unstable();
            states.dedup();
            tables.first_reader.push(tables.readers.len() as u32);
            tables.readers.extend(states);
        }
        tables.first_reader.push(tables.readers.len() as u32);
        // A buffer holds at least one number.
        tables.between.resize(tables.between.len().max(1), 0);
        tables.open.resize(tables.open.len().max(1), 0);
        tables
    }

    /// The line of a step, and where its bits start.
    fn line(segments: &Segments, step: [i32; 3], stride: usize) -> (Line<'_>, u32) {
        let number = segments.all_open().position(|(known, _)| known == step);
        match (segments.line_of(step), number) {
            (Some(line), Some(number)) => (line, (number * stride) as u32),
            _ => unreachable!("the segments have all steps of the stencils"),
        }
    }

    fn passed(&mut self, line: &Line) -> (u32, u32) {
        let first = self.between.len() as u32;
        self.between.extend(&line.between);
        (first, line.between.len() as u32)
    }
}

/// The data that stay on the card, all as `u32`.
struct OnCard {
    steps: Arc<CudaSlice<u32>>,
    turns: Arc<CudaSlice<u32>>,
    vertices: Arc<CudaSlice<u32>>,
    readers: Arc<CudaSlice<u32>>,
    first_reader: Arc<CudaSlice<u32>>,
    between: Arc<CudaSlice<i32>>,
    open: Arc<CudaSlice<u32>>,
    cell_of: Arc<CudaSlice<u32>>,
    costs: Arc<CudaSlice<f32>>,
}

impl OnCard {
    fn new(device: &Device, prepared: &Prepared) -> Result<Self, Error> {
        let id = prepared.id();
        // Each buffer may have been evicted on its own.
        let tables = OnceCell::new();
        let all = || tables.get_or_init(|| Tables::new(prepared));
        let as_u32 = |bytes: &[u8]| bytemuck::pod_collect_to_vec::<u8, u32>(bytes);
        let costs = device.cached_as(id, "lifted costs", || box_costs(device, prepared))?;
        Ok(Self {
            steps: device.cached(id, "lifted steps", || {
                as_u32(bytemuck::cast_slice(&all().steps))
            })?,
            turns: device.cached(id, "lifted turns", || {
                as_u32(bytemuck::cast_slice(&all().turns))
            })?,
            vertices: device.cached(id, "lifted vertices", || {
                as_u32(bytemuck::cast_slice(&all().vertices))
            })?,
            readers: device.cached(id, "lifted readers", || {
                as_u32(bytemuck::cast_slice(&all().readers))
            })?,
            first_reader: device.cached(id, "lifted first", || all().first_reader.clone())?,
            between: device.cached(id, "lifted between", || all().between.clone())?,
            open: device.cached(id, "lifted open", || all().open.clone())?,
            cell_of: device.cached(id, "lifted cells", || prepared.segments.cells_of().to_vec())?,
            costs,
        })
    }
}

/// C by pair of directions and cell of the box, 0 outside the mask.
fn box_costs(device: &Device, prepared: &Prepared) -> Result<CudaSlice<f32>, Error> {
    let cells = prepared.segments.cells();
    let pairs = (prepared.directions.len() / 2) as u32;
    let (places, count) = (prepared.places.len() as u32, cells as u32);
    let by_place = device.upload(&prepared.cost)?;
    let cell_of = device.upload(prepared.segments.cells_of())?;
    let mut out = device.alloc_zeros::<f32>(cells * pairs as usize)?;
    let kernel = device.kernel(kernels::LIFTED, "lifted_costs")?;
    let grid = LaunchConfig {
        grid_dim: (places.div_ceil(THREADS), pairs, 1),
        block_dim: (THREADS, 1, 1),
        shared_mem_bytes: 0,
    };
    // SAFETY: one thread per place, surplus threads return; cells lie in the box, of which `out` has one per pair.
    let launched = unsafe {
        let mut launcher = device.stream().launch_builder(&kernel);
        launcher.arg(&places).arg(&count).arg(&pairs);
        launcher.arg(&cell_of).arg(&by_place).arg(&mut out);
        launcher.launch(grid)
    };
    device.check(OPERATION, launched)?;
    Ok(out)
}

/// Values of a field by direction and place, and the kernel time of the job in seconds.
pub type Solved = (Vec<Vec<f32>>, f64);

/// A field for each source. All have the same limits except for their targets; with targets there are at most two sources,
/// since the card stores the best costs of two.
pub fn solve(
    prepared: &Prepared,
    sources: &[Arc<Source>],
    limits: &[Limits],
    device: &Device,
    control: &Control,
) -> Result<Vec<Solved>, Error> {
    let solved = solve_all(prepared, sources, limits, device, control);
    solved.map_err(|error| match error {
        Error::Card(error) => Error::Card(error.in_job(JOB, LESS)),
        other => other,
    })
}

fn solve_all(
    prepared: &Prepared,
    sources: &[Arc<Source>],
    limits: &[Limits],
    device: &Device,
    control: &Control,
) -> Result<Vec<Solved>, Error> {
    let segments = &*prepared.segments;
    let (cells, places) = (segments.cells(), prepared.places.len());
    let [nx, ny, nz] = segments.shape();
    let tiles = nx.div_ceil(TILE[0]) * ny.div_ceil(TILE[1]) * nz;
    let (fields, directions) = (sources.len(), prepared.directions.len());
    let states = fields * directions;
    if (states * cells.max(4 * tiles)) as u64 > u64::from(u32::MAX) {
        return Err(Error::Card(cuda::Error::TooMany {
            what: format!("{directions} directions of {places} voxels"),
            lower: LESS,
        }));
    }
    let known = device.has::<f32>(prepared.id(), "lifted costs");
    let steps = segments.all_open().count();
    let fixed = if known {
        0
    } else {
        4 * (cells + places) * directions / 2 + steps * cells / 8
    };
    let zero: usize = sources.iter().map(|source| source.zero.len()).sum();
    let bytes = 4 * states * (cells + places + 6 * tiles) + 12 * zero * directions;
    device.needs((fixed + bytes) as u64, JOB, LESS)?;
    let card = OnCard::new(device, prepared)?;
    let targets = limits.iter().all(|l| l.target.is_some());
    assert!(!targets || limits.len() <= 2, "the card knows two targets");
    let job = Job {
        nx: nx as u32,
        ny: ny as u32,
        nz: nz as u32,
        cells: cells as u32,
        tiles_x: nx.div_ceil(TILE[0]) as u32,
        tiles_y: ny.div_ceil(TILE[1]) as u32,
        tiles: tiles as u32,
        directions: directions as u32,
        fields: fields as u32,
        tolerance: prepared.tolerance,
        step: prepared.level_step(),
        cap: limits
            .iter()
            .map(|l| l.cap)
            .fold(super::UNREACHED, f32::min),
        max_excess: limits
            .iter()
            .flat_map(|l| &l.target)
            .map(|t| t.max_excess)
            .fold(0.0, f32::max),
        targets: u32::from(targets),
        clocks: CLOCKS,
    };
    let seeds = device.upload(&seeds(prepared, sources))?;
    let is_target = device.upload(&target_bits(prepared, limits))?;
    let mut run = Run {
        device,
        card,
        job,
        is_target,
        u: device.alloc_zeros(states * cells)?,
        keys: device.alloc_zeros(states * tiles)?,
        is_far: device.alloc_zeros(states * tiles)?,
        near_tiles: device.alloc_zeros(2 * states * tiles)?,
        far_tiles: device.alloc_zeros(2 * states * tiles)?,
        state: device.alloc_zeros(1)?,
        arrived: device.alloc_zeros(1)?,
        out: device.alloc_zeros(states * places)?,
    };
    let (mut seconds, mut first) = (0.0, true);
    loop {
        control.check()?;
        let ((), ms) = device.elapsed(|| {
            if std::mem::take(&mut first) {
                run.begin(&seeds)?;
            }
            run.spread()
        })?;
        seconds += f64::from(ms) * 1e-3;
        if device.download(&run.state, 0..1)?[0].finished == 1 {
            break;
        }
    }
    let ((), ms) = device.elapsed(|| run.gather(places as u32))?;
    seconds += f64::from(ms) * 1e-3;
    let fields = (0..fields).map(|field| {
        let values = (0..directions).map(|d| {
            let from = (field * directions + d) * places;
            device.download(&run.out, from..from + places)
        });
        Ok((values.collect::<Result<_, cuda::Error>>()?, seconds))
    });
    fields.collect()
}

/// Field, direction and cell of each state with value 0.
fn seeds(prepared: &Prepared, sources: &[Arc<Source>]) -> Vec<u32> {
    let cell_of = prepared.segments.cells_of();
    let mut seeds = Vec::new();
    for (field, source) in sources.iter().enumerate() {
        let all = 0..prepared.directions.len();
        for d in all.filter(|d| source.direction.is_none_or(|only| only == *d)) {
            let states = source.zero.iter();
            seeds.extend(states.flat_map(|p| [field as u32, d as u32, cell_of[*p as usize]]));
        }
    }
    seeds
}

/// By field and cell, whether it belongs to the target.
fn target_bits(prepared: &Prepared, limits: &[Limits]) -> Vec<u32> {
    let stride = prepared.segments.cells().div_ceil(32);
    let mut bits = vec![0u32; stride * limits.len()];
    for (field, limits) in limits.iter().enumerate() {
        for place in limits.target.iter().flat_map(|t| &t.places) {
            let cell = prepared.segments.cells_of()[*place as usize] as usize;
            bits[field * stride + cell / 32] |= 1 << (cell % 32);
        }
    }
    bits
}

/// One job and the buffers that its kernels write.
struct Run<'a> {
    device: &'a Device,
    card: OnCard,
    job: Job,
    is_target: CudaSlice<u32>,
    u: CudaSlice<f32>,
    keys: CudaSlice<u32>,
    is_far: CudaSlice<u32>,
    near_tiles: CudaSlice<u32>,
    far_tiles: CudaSlice<u32>,
    state: CudaSlice<State>,
    arrived: CudaSlice<u32>,
    out: CudaSlice<f32>,
}

/// The arguments that two kernels share: tables, values and, after what comes between, the queues.
macro_rules! launch {
    ($run:ident, $launcher:ident, [$($before:expr),*], [$($between:expr),*], [$($after:expr),*], $config:expr, $how:ident) => {{
        let card = &$run.card;
        $launcher.arg(&$run.job)$(.arg($before))*;
        $launcher.arg(&*card.steps).arg(&*card.turns).arg(&*card.vertices).arg(&*card.readers);
        $launcher.arg(&*card.first_reader).arg(&*card.between).arg(&*card.open).arg(&*card.costs);
        $launcher.arg(&mut $run.u)$(.arg($between))*;
        $launcher.arg(&mut $run.keys).arg(&mut $run.is_far).arg(&mut $run.near_tiles);
        $launcher.arg(&mut $run.far_tiles).arg(&mut $run.state)$(.arg($after))*;
        $launcher.$how($config)
    }};
}

impl Run<'_> {
    /// Forgets all values but the seeds and lists the tiles that read them.
    fn begin(&mut self, states: &CudaSlice<u32>) -> Result<(), cuda::Error> {
        let device = self.device;
        let clear = device.kernel(kernels::LIFTED, "lifted_clear")?;
        let seed = device.kernel(kernels::LIFTED, "lifted_seed")?;
        let blocks = 8 * device.multiprocessors();
        // SAFETY: the kernel strides over all cells and tiles of all fields, and the buffers hold as many.
        let launched = unsafe {
            let mut launcher = device.stream().launch_builder(&clear);
            launcher.arg(&self.job).arg(&mut self.u);
            launcher
                .arg(&mut self.keys)
                .arg(&mut self.is_far)
                .arg(&mut self.state);
            launcher.launch(config(blocks))
        };
        device.check(OPERATION, launched)?;
        let count = (states.len() / 3) as u32;
        let grid = config(count.div_ceil(THREADS / 32).max(1));
        // SAFETY: one warp per state, surplus warps return; fields, directions and cells are numbered within the
        // buffers, and readers within the directions.
        let launched = unsafe {
            let mut launcher = device.stream().launch_builder(&seed);
            launch!(self, launcher, [&count, states], [], [], grid, launch)
        };
        device.check(OPERATION, launched)?;
        Ok(())
    }

    fn spread(&mut self) -> Result<(), cuda::Error> {
        let device = self.device;
        let kernel = device.kernel(kernels::LIFTED, "lifted_spread")?;
        let cleared = device.stream().memset_zeros(&mut self.arrived);
        device.check(OPERATION, cleared)?;
        let grid = config(RESIDENT * device.multiprocessors());
        // SAFETY: a cooperative launch makes all blocks resident, which their barriers need; lines lie in the box, whose
        // margin is as wide as the longest step; the queues hold every tile.
        let launched = unsafe {
            let mut launcher = device.stream().launch_builder(&kernel);
            launch!(
                self,
                launcher,
                [],
                [&self.is_target],
                [&mut self.arrived],
                grid,
                launch_cooperative
            )
        };
        device.check(OPERATION, launched)?;
        Ok(())
    }

    fn gather(&mut self, places: u32) -> Result<(), cuda::Error> {
        let device = self.device;
        let kernel = device.kernel(kernels::LIFTED, "lifted_gather")?;
        let states = self.job.fields * self.job.directions;
        let grid = LaunchConfig {
            grid_dim: (places.div_ceil(THREADS), states, 1),
            ..config(1)
        };
        // SAFETY: one thread per place, surplus threads return.
        let launched = unsafe {
            let mut launcher = device.stream().launch_builder(&kernel);
            launcher
                .arg(&self.job)
                .arg(&places)
                .arg(&*self.card.cell_of);
            launcher.arg(&self.u).arg(&self.state).arg(&mut self.out);
            launcher.launch(grid)
        };
        device.check(OPERATION, launched)?;
        Ok(())
    }
}

fn config(blocks: u32) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (blocks, 1, 1),
        block_dim: (THREADS, 1, 1),
        shared_mem_bytes: 0,
    }
}
