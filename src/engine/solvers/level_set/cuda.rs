//! Bricks on a graphics card: steps are batched in graphs, the card allocates and frees pages, and the host reads
//! only counts, after many steps.

#![allow(unsafe_code, reason = "kernel launches")]

mod drawn;
mod speeds;
mod tables;

use super::Count;
use super::bricks::{Field, INSIDE, OUTSIDE, counts};
use super::error::InputError;
use super::parameters::Mode;
use super::stencil::{Kind, Stencil};
use crate::compute::cuda::Device;
use crate::compute::kernels;
use crate::solvers::Error;
use crate::solvers::on_card::DrawnBuffers;
use cudarc::driver::sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN as MAX_SHARED_MEMORY;
use cudarc::driver::sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as MAX_DYNAMIC_SHARED;
use cudarc::driver::sys::CUgraphInstantiate_flags;
use cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as THREAD_LOCAL;
use cudarc::driver::{
    CudaFunction, CudaGraph, CudaSlice, CudaStream, LaunchConfig, PushKernelArg as _,
};
use std::sync::Arc;
use tables::{Buffers, KernelRules, PAGE, SIDES, State, Tables, pointer};

const OPERATION: &str = "moving a surface";
const LESS: &str = "choose a smaller image or --backend cpu";
/// Approximate number of steps per graph, including the redistancings between them.
const BATCH: u64 = 100;
/// Number of steps whose counts the card stores.
const LOG: u64 = 4096;
/// With more bricks than this, each brick is computed by one warp.
const WARP_PER_BRICK_ABOVE: usize = 2500;
/// Largest number of passes per launch where a brick has a block; tables are updated after each launch. A brick
/// requests pages this many voxels ahead, so the result is the same.
const PASSES: u64 = 4;

/// Bytes of shared memory per warp that computes a brick: `WarpMemory` in kernels/brick_passes.cuh.
const SHARED_BYTES_PER_WARP: u32 = 8080;
/// Largest number of warps per block where each has a brick: a multiprocessor runs one such block.
const WARPS: u32 = 20;

/// Used by one thread at a time, the owner of the engine.
struct Graph(CudaGraph);
// SAFETY: the driver's graphs may move between threads; launching one borrows the engine, so graphs are not shared.
unsafe impl Send for Graph {}
// SAFETY: as above; shared references do nothing to a graph.
unsafe impl Sync for Graph {}

#[derive(Default)]
struct Graphs {
    /// Indexed by the copy that is read first.
    rounds: [Option<(Round, Graph)>; 2],
    /// The kernels have run once: a kernel is loaded at its first launch, which must not happen while a graph is
    /// captured.
    warm: bool,
}

/// The shape of the launches, in graphs and separately.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape {
    blocks: u32,
    /// Each brick is computed by one warp, and a launch holds all passes between two redistancings, and those of the
    /// redistancing.
    many: bool,
    /// Largest number of passes between two updates of the tables where bricks have blocks: those of a launch.
    passes: u64,
}

/// The content of a graph: steps, with a redistancing of this many passes after every `every`-th step (0: none).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Round {
    steps: u64,
    every: u64,
    passes: usize,
}

pub struct Engine {
    devices: Arc<[Device]>,
    stream: Arc<CudaStream>,
    kind: Kind,
    clamp: f32,
    /// Warps per block where each has a brick.
    warps: u32,
    buffers: Buffers,
    speeds: CudaSlice<f32>,
    quanta: Option<CudaSlice<i32>>,
    rules: KernelRules,
    tables: Tables,
    /// Addresses of the two copies of the pages.
    copies: [u64; 2],
    mode: Mode,
    /// Index of the copy of the pages that holds φ.
    now: usize,
    shape: Shape,
    /// Number of passes up to which pages have been requested.
    reach: u64,
    graphs: Graphs,
    state: State,
    unread: u64,
    /// For bricks with blocks and for bricks with warps.
    settle: [CudaFunction; 2],
    drawn: DrawnBuffers,
}

impl Engine {
    pub fn new(field: &Field, stencil: &Stencil, devices: &Arc<[Device]>) -> Result<Self, Error> {
        let device = &devices[0];
        let shape = counts(field.grid.shape, 8);
        if shape.iter().any(|n| *n > 1023) {
            return Err(InputError::LongAxis.into());
        }
        let bricks: usize = shape.iter().product();
        // Excluding speeds, which are allocated later.
        let bytes = (2 * (PAGE + SIDES) * 4 + 64 * 4 + 200) as u64 * (bricks as u64 + 2);
        device.needs(bytes, OPERATION, LESS)?;
        // Before the first step nothing has been requested.
        let buffers = Buffers::new(device, &field.with_margin(PASSES as usize))?;
        let stream = device.check(OPERATION, device.context().new_stream())?;
        let speeds = device.alloc_zeros(1)?;
        let rules = KernelRules::new(stencil);
        let settle = [
            device.kernel(kernels::LEVEL_SET, "level_set_settle")?,
            device.kernel(kernels::LEVEL_SET, "level_set_many_settle")?,
        ];
        let shared = device.context().attribute(MAX_SHARED_MEMORY);
        let shared = device.check(OPERATION, shared)?.unsigned_abs();
        device.synchronize(OPERATION)?;
        let state = device.download(&buffers.state, 0..1)?[0];
        let mut engine = Self {
            devices: devices.clone(),
            tables: buffers.tables(&stream, field.grid.shape),
            copies: [0, 1].map(|k| pointer(&buffers.pages[k], &stream)),
            stream,
            kind: stencil.kind,
            clamp: field.clamp,
            // The kernels need some bytes themselves.
            warps: ((shared - 1024) / SHARED_BYTES_PER_WARP).clamp(1, WARPS),
            buffers,
            speeds,
            quanta: None,
            rules,
            mode: Mode::Scaled,
            now: 0,
            shape: Shape {
                blocks: 0,
                many: false,
                passes: 1,
            },
            reach: PASSES,
            graphs: Graphs::default(),
            state,
            unread: 0,
            settle,
            drawn: DrawnBuffers::default(),
        };
        engine.reshape()?;
        Ok(engine)
    }

    fn device(&self) -> &Device {
        &self.devices[0]
    }

    pub fn active(&self) -> usize {
        self.buffers.slots - 2 - self.state.top as usize
    }

    pub fn bytes(&self) -> usize {
        self.buffers.bytes() + 4 * self.speeds.len()
    }

    fn wait(&self) -> Result<(), Error> {
        Ok(self.device().check(OPERATION, self.stream.synchronize())?)
    }

    /// Sets the number of blocks for the current bricks, with some reserve, up to the number of resident blocks;
    /// recreates the graphs if the number has changed much.
    fn reshape(&mut self) -> Result<(), Error> {
        let active = self.active();
        let alone =
            self.kind == Kind::Sheared || self.tables.extent.planes > 1 || self.mode == Mode::Paper;
        let many = active > WARP_PER_BRICK_ABOVE && !alone;
        // Region statistics follow the surface at every step.
        let passes = match many || self.rules.region > 0.0 {
            true => 1,
            false => PASSES,
        };
        let together = many || passes > 1;
        let resident_blocks = match together {
            true => self.resident(many)?,
            false => u32::MAX,
        };
        let now = self.shape.blocks;
        let enough = now == resident_blocks || (active as u32 <= now && active as u32 * 2 > now);
        if enough && (many, passes) == (self.shape.many, self.shape.passes) {
            return Ok(());
        }
        let blocks = match many {
            true => resident_blocks,
            false => (active as u32 + active as u32 / 4).next_multiple_of(32),
        };
        self.shape = Shape {
            blocks: blocks.clamp(32, resident_blocks.max(32)),
            many,
            passes,
        };
        self.graphs = Graphs::default();
        if many {
            // Lists the bricks.
            self.update_pages(0, 0)?;
            self.wait()?;
            self.state = self.device().download(&self.buffers.state, 0..1)?[0];
            self.device().synchronize(OPERATION)?;
        }
        Ok(())
    }

    /// Threads per block, and bytes of shared memory.
    fn block_size(&self, many: bool) -> (u32, u32) {
        match many {
            true => (32 * self.warps, SHARED_BYTES_PER_WARP * self.warps),
            false => (256, 0),
        }
    }

    /// Number of blocks that run at the same time.
    fn resident(&self, many: bool) -> Result<u32, Error> {
        let device = self.device();
        let (threads, bytes) = self.block_size(many);
        let mut min_blocks = u32::MAX;
        for kernel in [self.step_kernel(many)?, self.kernel("redistance", many)?] {
            let occupancy = kernel.occupancy_max_active_blocks_per_multiprocessor(
                threads,
                bytes as usize,
                None,
            );
            min_blocks = min_blocks.min(device.check(OPERATION, occupancy)?);
        }
        Ok(min_blocks * device.multiprocessors())
    }

    fn kernel(&self, name: &str, many: bool) -> Result<CudaFunction, Error> {
        let kind = match self.kind {
            Kind::Isotropic => "isotropic",
            Kind::Orthogonal => "orthogonal",
            Kind::Sheared => "sheared",
        };
        let entry = match name {
            _ if many => format!("level_set_many_{kind}"),
            "paper" => "level_set_paper".to_owned(),
            name => format!("level_set_{name}_{kind}"),
        };
        let kernel = self.device().kernel(kernels::LEVEL_SET, &entry)?;
        if many {
            let bytes = self.block_size(true).1 as i32;
            let allowed = kernel.set_attribute(MAX_DYNAMIC_SHARED, bytes);
            self.device().check(OPERATION, allowed)?;
        }
        Ok(kernel)
    }

    fn step_kernel(&self, many: bool) -> Result<CudaFunction, Error> {
        let name = match self.mode {
            Mode::Paper => "paper",
            Mode::Scaled if self.tables.extent.planes > 1 => "extra",
            Mode::Scaled => "step",
        };
        self.kernel(name, many)
    }

    /// Enqueues passes, the first `steps` of them steps of the equation, and the update of the tables after them;
    /// where bricks have blocks, either all or none are steps. `from`: the copy that the first pass reads; `begins`:
    /// the first pass that is not a step begins a redistancing.
    fn launch(
        &self,
        kernel: &CudaFunction,
        from: usize,
        (passes, steps): (u64, u64),
        begins: bool,
    ) -> Result<(), Error> {
        let [now, next] = [self.copies[from], self.copies[1 - from]];
        // How far requests have reached, or what a warp computes.
        let margin = match self.shape.many {
            true => steps as i32,
            false => self.shape.passes as i32,
        };
        let (count, begins) = (passes as i32, i32::from(begins));
        let (threads, shared_mem_bytes) = self.block_size(self.shape.many);
        let config = LaunchConfig {
            grid_dim: (self.shape.blocks, 1, 1),
            block_dim: (threads, 1, 1),
            shared_mem_bytes,
        };
        // SAFETY: the tables point to buffers with as many pages and bricks as they state, which live as long as the
        // engine; a pass writes only the other copy of the pages, and blocks that wait for one another are resident
        // together, which a cooperative launch guarantees.
        let launched = unsafe {
            let mut launcher = self.stream.launch_builder(kernel);
            launcher.arg(&self.tables).arg(&now).arg(&next);
            launcher.arg(&count).arg(&margin).arg(&begins);
            match self.shape.many || passes > 1 {
                true => launcher.launch_cooperative(config),
                false => launcher.launch(config),
            }
        };
        self.device().check(OPERATION, launched)?;
        self.update_pages(passes, steps)
    }

    /// `steps`: how many of the passes were steps of the equation.
    fn update_pages(&self, passes: u64, steps: u64) -> Result<(), Error> {
        let (passes, steps) = (passes as i32, steps as i32);
        let config = LaunchConfig {
            grid_dim: (1, 1, 1),
            block_dim: (if self.shape.many { 1024 } else { 256 }, 1, 1),
            shared_mem_bytes: 0,
        };
        let settle = &self.settle[usize::from(self.shape.many)];
        // SAFETY: as above; a single block, between launches, is the only user of the tables.
        let launched = unsafe {
            let mut launcher = self.stream.launch_builder(settle);
            launcher
                .arg(&self.tables)
                .arg(&passes)
                .arg(&steps)
                .launch(config)
        };
        self.device().check(OPERATION, launched)?;
        Ok(())
    }

    /// Enqueues steps; returns which copy holds φ after them.
    fn enqueue_steps(&self, from: usize, steps: u64, mut reach: u64) -> Result<usize, Error> {
        let kernel = self.step_kernel(self.shape.many)?;
        let mut done = 0;
        while done < steps {
            let passes = match self.shape.many {
                true => steps - done,
                false => self.shape.passes.min(steps - done).min(reach),
            };
            self.launch(&kernel, (from + done as usize) % 2, (passes, passes), false)?;
            done += passes;
            reach = self.shape.passes;
        }
        Ok((from + steps as usize) % 2)
    }

    /// Enqueues the passes of a redistancing, an even number.
    fn enqueue_passes(&self, from: usize, passes: usize, reach: u64) -> Result<(), Error> {
        let kernel = self.kernel("redistance", self.shape.many)?;
        let launches = match self.shape.many {
            true => passes.div_ceil(LOG as usize),
            false => passes.div_ceil(self.shape.passes.min(reach) as usize),
        };
        let mut done = 0;
        for launch in 0..launches {
            let upto = passes * (launch + 1) / launches;
            let passes = (upto - done) as u64;
            self.launch(&kernel, (from + done) % 2, (passes, 0), launch == 0)?;
            done = upto;
        }
        Ok(())
    }

    fn enqueue_round(&self, from: usize, round: Round, mut reach: u64) -> Result<(), Error> {
        let (mut done, mut now) = (0, from);
        while done < round.steps {
            let some = match round.every {
                0 => round.steps,
                every => every,
            };
            let passes = some + round.passes as u64;
            if self.shape.many && round.every > 0 && passes <= LOG {
                let kernel = self.step_kernel(true)?;
                self.launch(&kernel, now, (passes, some), true)?;
                now = (now + some as usize) % 2;
            } else {
                now = self.enqueue_steps(now, some, reach)?;
                reach = self.shape.passes;
                if round.every > 0 {
                    self.enqueue_passes(now, round.passes, reach)?;
                }
            }
            done += some;
        }
        Ok(())
    }

    fn capture_graph(&self, work: impl FnOnce() -> Result<(), Error>) -> Result<Graph, Error> {
        let device = self.device();
        device.check(OPERATION, self.stream.begin_capture(THREAD_LOCAL))?;
        let worked = work();
        let graph = self.stream.end_capture(CUgraphInstantiate_flags(0));
        worked?;
        match device.check(OPERATION, graph)? {
            Some(graph) => Ok(Graph(graph)),
            None => unreachable!("a capture that was begun gives a graph"),
        }
    }

    /// Runs steps, with a redistancing of this many passes after every `every`-th step (0: none); `first` steps were
    /// made before. Returns the counts of each step.
    pub fn advance(
        &mut self,
        steps: u64,
        first: u64,
        every: u64,
        passes: usize,
    ) -> Result<Vec<Count>, Error> {
        let mut all = Vec::with_capacity(steps as usize);
        let round = match every {
            0 => Some((BATCH, 0)),
            1..=BATCH => Some((BATCH / every * every, every)),
            _ => None,
        };
        let round = round.map(|(steps, every)| Round {
            steps,
            every,
            passes,
        });
        let (mut done, mut left) = (first, steps);
        while left > 0 {
            let room = LOG - self.unread;
            let until = if every > 0 {
                every - done % every
            } else {
                left
            };
            let whole = every == 0 || until == every;
            let mut some = until.min(left).min(room);
            if let Some(round) = round.filter(|r| whole && r.steps <= left.min(room)) {
                self.run_round(round)?;
                some = round.steps;
            } else {
                self.now = self.enqueue_steps(self.now, some, self.reach)?;
                self.reach = self.shape.passes;
                if some == until && every > 0 {
                    self.enqueue_passes(self.now, passes, self.reach)?;
                }
            }
            self.unread += some;
            done += some;
            left -= some;
            if self.unread == LOG {
                self.read(&mut all)?;
            }
        }
        self.read(&mut all)?;
        Ok(all)
    }

    fn run_round(&mut self, round: Round) -> Result<(), Error> {
        let (from, reach) = (self.now, self.reach);
        self.now = (from + round.steps as usize) % 2;
        self.reach = self.shape.passes;
        if !std::mem::replace(&mut self.graphs.warm, true) || reach < self.reach {
            return self.enqueue_round(from, round, reach);
        }
        let known = self.graphs.rounds[from]
            .as_ref()
            .is_some_and(|(r, _)| *r == round);
        if !known {
            let graph = self.capture_graph(|| self.enqueue_round(from, round, self.reach))?;
            self.graphs.rounds[from] = Some((round, graph));
        }
        if let Some((_, graph)) = &self.graphs.rounds[from] {
            self.device().check(OPERATION, graph.0.launch())?;
        }
        Ok(())
    }

    /// Redistances before the first step; `passes` is even.
    pub fn redistance(&mut self, passes: usize) -> Result<(), Error> {
        self.enqueue_passes(self.now, passes, self.reach)?;
        self.reach = self.shape.passes;
        self.read(&mut Vec::new())
    }

    /// Waits for the card and reads the counts of the steps.
    fn read(&mut self, all: &mut Vec<Count>) -> Result<(), Error> {
        self.wait()?;
        let device = &self.devices[0];
        let log = device.download(&self.buffers.log, 0..self.unread as usize)?;
        let before = self.state.sum;
        self.state = device.download(&self.buffers.state, 0..1)?[0];
        let counts = log.iter().map(|l| Count {
            inside: i64::from(*l),
            sum: 0,
        });
        all.extend(counts);
        // Sum over all of them.
        if let Some(last) = all.last_mut() {
            last.sum += self.state.sum - before;
        }
        device.synchronize(OPERATION)?;
        self.state.logged = 0;
        // Redistancing before the first step is counted in the first slot, too.
        let empty = vec![0; self.unread.max(1) as usize];
        let mut log = self.buffers.log.slice_mut(0..empty.len());
        let cleared = self.stream.memcpy_htod(&empty, &mut log);
        self.device().check(OPERATION, cleared)?;
        self.upload_state()?;
        self.unread = 0;
        self.reshape()
    }

    pub fn field(&self, like: &Field) -> Result<Field, Error> {
        self.wait()?;
        let device = self.device();
        let table = device.download(&self.buffers.page_of, 0..self.buffers.bricks)?;
        let high = self.state.high as usize;
        let mut pages = device.download(&self.buffers.pages[self.now], 0..high * PAGE)?;
        pages[..PAGE].fill(-self.clamp);
        pages[PAGE..2 * PAGE].fill(self.clamp);
        let table = table.into_iter().map(|t| t as u32).collect();
        Ok(Field {
            grid: like.grid.clone(),
            table,
            pages,
            ..*like
        }
        .canonical())
    }
}

impl Drop for Engine {
    /// Memory may be freed only when nothing uses it any more.
    fn drop(&mut self) {
        let _ = self.stream.synchronize();
    }
}

const _: () = assert!(OUTSIDE == 0 && INSIDE == 1);
