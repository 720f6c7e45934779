//! Bricks on a graphics card: steps are batched in graphs, pages come and go on the card, and only counts
//! come back, after many steps.

// Kernel launches.
#![allow(unsafe_code)]

mod tables;

use super::Count;
use super::bricks::{Field, INSIDE, OUTSIDE, counts};
use super::params::Mode;
use super::speed::{PLANES, Speeds};
use super::stencil::{Kind, Stencil};
use crate::compute::cuda::Device;
use crate::compute::kernels;
use crate::solvers::Error;
use bytemuck::Zeroable as _;
use cudarc::driver::sys::CUgraphInstantiate_flags;
use cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as THREAD_LOCAL;
use cudarc::driver::{
    CudaFunction, CudaGraph, CudaSlice, CudaStream, LaunchConfig, PushKernelArg as _,
};
use std::sync::Arc;
use tables::{Buffers, Counted, PAGE, Rules, State, Tables, pointer};

const WHAT: &str = "moving a surface";
/// Steps of a graph; even, so that the two copies of the pages end where they began.
const BATCH: u64 = 20;
/// Steps whose counts are kept on the card.
const LOG: u64 = 4096;
/// More bricks than this are computed by few threads each, and only where they are not constant.
const MANY: usize = 2500;
/// Steps between two looks at the tables where bricks are few: a step is then mostly waiting. A wish
/// reaches as many voxels ahead, so that what comes out is the same.
const SELDOM: u64 = 4;

/// One thread at a time uses it: whoever has the engine.
struct Graph(CudaGraph);
// SAFETY: the driver's graphs may move between threads, and are not shared as the engine is borrowed to
// launch them.
unsafe impl Send for Graph {}
// SAFETY: as above, nothing is done to a graph that is only looked at.
unsafe impl Sync for Graph {}

/// What is launched, as graphs and piece by piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape {
    blocks: u32,
    listed: bool,
    seldom: u64,
}

pub struct Engine {
    devices: Arc<[Device]>,
    stream: Arc<CudaStream>,
    kind: Kind,
    clamp: f32,
    buffers: Buffers,
    speeds: CudaSlice<f32>,
    quanta: Option<CudaSlice<i32>>,
    rules: Rules,
    tables: Tables,
    /// Addresses of the two copies of the pages.
    copies: [u64; 2],
    mode: Mode,
    /// Which copy of the pages holds φ.
    now: usize,
    shape: Shape,
    /// By which copy is read first.
    steps: [Option<Graph>; 2],
    passes: [Option<Graph>; 2],
    /// The last wishes reached less far than steps are now made without a look.
    narrow: bool,
    /// Whether the kernels of steps and of redistancing have run once.
    warm: [bool; 2],
    state: State,
    unread: u64,
    settle: CudaFunction,
}

impl Engine {
    /// `pages`: of the redistancing passes nothing is known yet.
    pub fn new(field: &Field, stencil: &Stencil, devices: &Arc<[Device]>) -> Result<Self, Error> {
        let device = &devices[0];
        let shape = counts(field.grid.shape, 8);
        if shape.iter().any(|n| *n > 1023) {
            return Err(Error::Input(
                "Found an image of more than 8184 voxels a side, which a graphics card does not number; \
                 choose --backend cpu"
                    .to_owned(),
            ));
        }
        let bricks: usize = shape.iter().product();
        let bytes = (2 * PAGE * 4 + 64 * 4 + PAGE * 4 + 200) as u64 * (bricks as u64 + 2);
        device.needs(bytes, WHAT, "choose a smaller image or --backend cpu")?;
        // Before the first step nobody has wished for anything.
        let buffers = Buffers::new(device, &field.surrounded(SELDOM as usize))?;
        let stream = device.check(WHAT, device.context().new_stream())?;
        let speeds = device.alloc_zeros(1)?;
        let rules = Rules::new(stencil);
        let settle = device.kernel(kernels::LEVEL_SET, "level_set_settle")?;
        device.synchronize(WHAT)?;
        let state = device.download(&buffers.state, 0..1)?[0];
        let mut made = Self {
            devices: devices.clone(),
            tables: buffers.tables(&stream, field.grid.shape),
            copies: [0, 1].map(|k| pointer(&buffers.pages[k], &stream)),
            stream,
            kind: stencil.kind,
            clamp: field.clamp,
            buffers,
            speeds,
            quanta: None,
            rules,
            mode: Mode::Scaled,
            now: 0,
            shape: Shape {
                blocks: 0,
                listed: false,
                seldom: 1,
            },
            steps: [None, None],
            passes: [None, None],
            narrow: false,
            warm: [false; 2],
            state,
            unread: 0,
            settle,
        };
        made.reshape();
        Ok(made)
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

    /// Speeds have changed; `inside`: voxels, and the sum of their quanta. Needs the backend's threads
    /// installed.
    pub fn renew(
        &mut self,
        speeds: &Speeds,
        dt: f32,
        inside: (i64, u64),
        all: (i64, u64),
    ) -> Result<(), Error> {
        let extra = speeds.params.extra();
        let planes = if extra { PLANES } else { 1 };
        let data = speeds.bricks(8, extra);
        self.wait()?;
        let region = speeds.region();
        self.quanta = match region > 0.0 {
            false => None,
            true => Some(self.device().upload(&speeds.inputs.quanta(8))?),
        };
        self.speeds = self.device().upload(&data)?;
        let params = &speeds.params;
        self.mode = params.mode;
        let (low, high) = speeds.inputs.bounds();
        self.rules = Rules {
            dt,
            curvature: params.smoothness,
            rescaling: params.rescaling,
            advection: params.advection(),
            low,
            high,
            region,
            voxels: all.1 as i64,
            total: all.0,
            ..self.rules
        };
        self.state = State {
            inside: inside.1 as i64,
            sum: inside.0,
            region: speeds.region_rule(inside, all),
            ..self.state
        };
        self.put()?;
        self.device().synchronize(WHAT)?;
        self.tables.speeds = pointer(&self.speeds, &self.stream);
        self.tables.quanta = self.quanta.as_ref().map_or(0, |q| pointer(q, &self.stream));
        self.tables.planes = planes as i32;
        self.forget();
        self.reshape();
        Ok(())
    }

    /// Rules and state in the places that graphs know.
    fn put(&mut self) -> Result<(), Error> {
        let rules = self
            .stream
            .memcpy_htod(&[self.rules], &mut self.buffers.rules);
        self.device().check(WHAT, rules)?;
        let state = self
            .stream
            .memcpy_htod(&[self.state], &mut self.buffers.state);
        self.device().check(WHAT, state)?;
        self.wait()
    }

    fn wait(&self) -> Result<(), Error> {
        Ok(self.device().check(WHAT, self.stream.synchronize())?)
    }

    fn forget(&mut self) {
        self.warm = [false; 2];
        self.steps = [None, None];
        self.passes = [None, None];
    }

    /// Blocks for the bricks there are, with room for some more; graphs are made anew where it differs
    /// much.
    fn reshape(&mut self) {
        let active = self.active();
        let plain =
            self.kind == Kind::Sheared || self.tables.planes > 1 || self.mode == Mode::Paper;
        let listed = active > MANY && !plain;
        // Region statistics follow the surface from step to step.
        let seldom = if listed || self.rules.region > 0.0 {
            1
        } else {
            SELDOM
        };
        let enough = active as u32 <= self.shape.blocks && active as u32 * 2 > self.shape.blocks;
        if enough && (listed, seldom) == (self.shape.listed, self.shape.seldom) {
            return;
        }
        self.narrow = seldom > self.shape.seldom && self.shape.blocks > 0;
        let blocks = (active as u32 + active as u32 / 4)
            .next_multiple_of(32)
            .max(32);
        self.shape = Shape {
            blocks,
            listed,
            seldom,
        };
        self.forget();
    }

    fn kernel(&self, name: &str) -> Result<CudaFunction, Error> {
        let kind = match self.kind {
            Kind::Isotropic => "isotropic",
            Kind::Orthogonal => "orthogonal",
            Kind::Sheared => "sheared",
        };
        let entry = match name {
            "paper" => "level_set_paper".to_owned(),
            name => format!("level_set_{name}_{kind}"),
        };
        Ok(self.device().kernel(kernels::LEVEL_SET, &entry)?)
    }

    fn stepper(&self) -> Result<CudaFunction, Error> {
        self.kernel(match self.mode {
            Mode::Paper => "paper",
            Mode::Scaled if self.tables.planes > 1 => "extra",
            Mode::Scaled if self.shape.listed => "listed",
            Mode::Scaled => "step",
        })
    }

    /// Launches one pass; `from`: which copy it reads, `ahead`: passes since the tables were settled,
    /// `margin`: how far wishes reach, 0 where they are not settled after it.
    fn launch(
        &self,
        kernel: &CudaFunction,
        from: usize,
        (ahead, margin): (u64, u64),
        listed: bool,
    ) -> Result<(), Error> {
        let [now, next] = [self.copies[from], self.copies[1 - from]];
        let (ahead, margin) = (ahead as i32, margin as i32);
        let config = LaunchConfig {
            grid_dim: (self.shape.blocks, 1, 1),
            block_dim: (if listed { 64 } else { 256 }, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: the tables point to buffers of as many pages and bricks as they number, which live as
        // long as the engine; a pass writes the other copy of the pages alone.
        let launched = unsafe {
            let mut launcher = self.stream.launch_builder(kernel);
            launcher.arg(&self.tables).arg(&now).arg(&next);
            launcher.arg(&ahead).arg(&margin).launch(config)
        };
        self.device().check(WHAT, launched)?;
        Ok(())
    }

    fn settle(&self, passes: u64, steps: u64) -> Result<(), Error> {
        let (passes, steps) = (passes as i32, steps as i32);
        let config = LaunchConfig {
            grid_dim: (1, 1, 1),
            block_dim: (256, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: as above; one block, between passes, is alone with the tables.
        let launched = unsafe {
            let mut launcher = self.stream.launch_builder(&self.settle);
            launcher
                .arg(&self.tables)
                .arg(&passes)
                .arg(&steps)
                .launch(config)
        };
        self.device().check(WHAT, launched)?;
        Ok(())
    }

    /// Puts steps in line, the tables settled every so many.
    fn line_up(&self, from: usize, steps: u64, seldom: u64) -> Result<(), Error> {
        let kernel = self.stepper()?;
        let mut ahead = 0;
        for step in 0..steps {
            let last = ahead + 1 == seldom || step + 1 == steps;
            let margin = if last { seldom } else { 0 };
            let read = (from + step as usize) % 2;
            self.launch(&kernel, read, (ahead, margin), self.shape.listed)?;
            ahead += 1;
            if last {
                self.settle(ahead, ahead)?;
                ahead = 0;
            }
        }
        Ok(())
    }

    fn line_up_redistancing(&self, from: usize, passes: usize) -> Result<(), Error> {
        let [first, other] = [self.kernel("scale")?, self.kernel("redistance")?];
        for pass in 0..passes {
            let kernel = if pass == 0 { &first } else { &other };
            // The next step may be one of several before the tables are settled.
            let margin = if pass + 1 == passes { SELDOM } else { 1 };
            self.launch(kernel, (from + pass) % 2, (0, margin), false)?;
            self.settle(1, 0)?;
        }
        Ok(())
    }

    fn captured(&self, work: impl FnOnce() -> Result<(), Error>) -> Result<Graph, Error> {
        let device = self.device();
        device.check(WHAT, self.stream.begin_capture(THREAD_LOCAL))?;
        let worked = work();
        let graph = self.stream.end_capture(CUgraphInstantiate_flags(0));
        worked?;
        match device.check(WHAT, graph)? {
            Some(graph) => Ok(Graph(graph)),
            None => unreachable!("a capture that was begun gives a graph"),
        }
    }

    /// Steps, with a redistancing of so many passes after every `every`-th (0: none), `first` steps
    /// having been made before; what each did.
    pub fn advance(
        &mut self,
        steps: u64,
        first: u64,
        every: u64,
        passes: usize,
    ) -> Result<Vec<Count>, Error> {
        let mut all = Vec::with_capacity(steps as usize);
        let (mut done, mut left) = (first, steps);
        while left > 0 {
            let until = if every > 0 {
                every - done % every
            } else {
                left
            };
            let some = until.min(left).min(LOG - self.unread);
            self.some_steps(some)?;
            self.unread += some;
            done += some;
            left -= some;
            if every > 0 && done.is_multiple_of(every) {
                self.some_passes(passes)?;
            }
            if self.unread == LOG {
                self.read(&mut all)?;
            }
        }
        self.read(&mut all)?;
        Ok(all)
    }

    fn some_steps(&mut self, steps: u64) -> Result<(), Error> {
        if steps > 0 && std::mem::replace(&mut self.narrow, false) {
            self.line_up(self.now, 1, self.shape.seldom)?;
            self.now = 1 - self.now;
            return self.some_steps(steps - 1);
        }
        let from = self.now;
        for _ in 0..steps / BATCH {
            if !std::mem::replace(&mut self.warm[0], true) {
                self.line_up(from, BATCH, self.shape.seldom)?;
                continue;
            }
            if self.steps[from].is_none() {
                let seldom = self.shape.seldom;
                self.steps[from] = Some(self.captured(|| self.line_up(from, BATCH, seldom))?);
            }
            if let Some(graph) = &self.steps[from] {
                self.device().check(WHAT, graph.0.launch())?;
            }
        }
        let rest = steps % BATCH;
        self.line_up(from, rest, self.shape.seldom)?;
        self.now = (from + rest as usize) % 2;
        Ok(())
    }

    /// Before the first step; `passes`: an even number.
    pub fn redistance(&mut self, passes: usize) -> Result<(), Error> {
        self.some_passes(passes)?;
        self.read(&mut Vec::new())
    }

    fn some_passes(&mut self, passes: usize) -> Result<(), Error> {
        let from = self.now;
        // Kernels are loaded when they are first launched, which no graph may be captured during.
        if !std::mem::replace(&mut self.warm[1], true) {
            return self.line_up_redistancing(from, passes);
        }
        if self.passes[from].is_none() {
            self.passes[from] = Some(self.captured(|| self.line_up_redistancing(from, passes))?);
        }
        if let Some(graph) = &self.passes[from] {
            self.device().check(WHAT, graph.0.launch())?;
        }
        Ok(())
    }

    /// Waits, and takes over what the steps counted.
    fn read(&mut self, all: &mut Vec<Count>) -> Result<(), Error> {
        self.wait()?;
        let device = &self.devices[0];
        let log = device.download(&self.buffers.log, 0..self.unread as usize)?;
        let before = self.state.sum;
        self.state = device.download(&self.buffers.state, 0..1)?[0];
        let counts = log.iter().map(|l| Count {
            inside: i64::from(l.growth),
            flips: u64::from(l.flips),
            sum: 0,
        });
        all.extend(counts);
        // Of all of them together.
        if let Some(last) = all.last_mut() {
            last.sum += self.state.sum - before;
        }
        device.synchronize(WHAT)?;
        self.state.logged = 0;
        // Redistancing before the first step counts in the first place, too.
        let empty = vec![Counted::zeroed(); self.unread.max(1) as usize];
        let mut log = self.buffers.log.slice_mut(0..empty.len());
        let cleared = self.stream.memcpy_htod(&empty, &mut log);
        self.device().check(WHAT, cleared)?;
        self.put()?;
        self.unread = 0;
        self.reshape();
        Ok(())
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
        .tidied())
    }
}

impl Drop for Engine {
    /// Memory may be freed when nothing runs in it any more.
    fn drop(&mut self) {
        let _ = self.stream.synchronize();
    }
}

const _: () = assert!(OUTSIDE == 0 && INSIDE == 1);
