//! A run: steps, the user's changes between them (`edits`), and rewinding (`rewind`).

mod edits;
mod rewind;

use super::Count;
use super::background::{Background, Contact};
use super::bricks::Field;
use super::cpu::Pass;
use super::engine::Engine;
use super::error::InputError;
use super::history::{History, Packed};
use super::leak_detector::{Joined, LeakDetector};
use super::parameters::{Layout, Mode, Params};
use super::passage::Growth;
use super::run_history::{Ended, RunHistory, ScriptEvent};
use super::speed::{Inputs, Speeds};
use super::start::{Sphere, Start, edited};
use super::stencil::Stencil;
use crate::compute::{Backend, Control, memory};
use crate::data::{BrickImage, ImageExporter};
use crate::solvers::Error;
use edits::moving;
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;

/// A surface is at rest when it has moved by less than this, in units of h, …
const REST_DISTANCE: f64 = 5e-3;
/// … in this many steps, or in more if these are not a whole number of redistancings.
const REST_STEPS: u64 = 100;
/// It is compared with its state at this many earlier checks.
const COMPARED_CHECKS: u64 = 6;
/// It may be at rest if in as many steps at most this share of the voxels in bricks changed sides.
const MAX_CHANGED_SHARE: f64 = 1e-3;

/// Memory use of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Bricks with a page.
    pub bricks: usize,
    /// Bytes of pages, tables and speeds.
    pub bytes: usize,
    /// Bytes of the stored earlier states.
    pub kept_bytes: usize,
}

/// State of a run: φ, its history and what is needed to continue or to rewind it.
pub struct Evolution {
    /// Inputs of one image, by the numbers that the script gives them.
    inputs: Vec<Inputs>,
    /// Index of the inputs from which the speeds are computed.
    inputs_index: usize,
    /// Initial spheres.
    start_spheres: Vec<Sphere>,
    stencil: Stencil,
    speeds: Arc<Speeds>,
    script: RunHistory,
    /// A field without values: the part that all fields of this run share.
    like: Field,
    engine: Engine,
    dt: f32,
    time: f64,
    /// Voxels inside after each step.
    inside: Vec<u64>,
    sum: i64,
    /// The sum of the grey values of the whole image in quanta, and the number of voxels that have one.
    all: (i64, u64),
    history: History,
    leak_detector: LeakDetector,
    /// Steps and fields since the surface seemed to come to rest.
    rest_checks: Vec<(u64, Field)>,
    /// Whether the leak detector may pause the run.
    pub watched: bool,
}

impl Evolution {
    /// Initial surface and speeds; checks all inputs.
    pub fn new(
        inputs: &Inputs,
        start: &Start,
        params: &Params,
        layout: Layout,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        params.check()?;
        layout.check()?;
        if !backend.devices().is_empty() && (layout.brick, layout.everywhere) != (8, false) {
            return Err(InputError::LayoutOnCard(layout).into());
        }
        inputs.have_layer(params)?;
        let grid = &inputs.image.grid;
        for sphere in &start.spheres {
            sphere.check(grid)?;
        }
        let stencil = Stencil::new(grid, layout.band)?;
        // If every brick has a page: φ, the previous φ, and the grey values as whole numbers.
        memory::claim_for::<f32>("The segmentation", grid.voxel_count(), 3)?;
        control.begin("Placing the surface", 0);
        control.check()?;
        backend.install(|| {
            let field = start.field(grid, &stencil, &layout);
            let census = field.count_voxels(0.0);
            if census.inside == 0 {
                return Err(InputError::EmptySurface.into());
            }
            if census.inside == census.all {
                return Err(InputError::FullSurface.into());
            }
            let speeds = moving(inputs, params, &stencil, &start.spheres)?;
            let engine = Engine::new(&field, &stencil, &layout, backend)?;
            let volume = field.brick.pow(3);
            let like = Field {
                table: Vec::new(),
                pages: field.pages[..2 * volume].to_vec(),
                grid: grid.clone(),
                ..field
            };
            let voxels = grid.voxel_count();
            let total = (0..voxels).into_par_iter().with_min_len(1 << 14);
            let total: i64 = total.map(|i| inputs.quantum(i)).sum();
            let mut evolution = Self {
                inputs: vec![inputs.clone()],
                inputs_index: 0,
                start_spheres: start.spheres.clone(),
                stencil,
                speeds,
                script: RunHistory {
                    params: params.clone(),
                    layout,
                    events: Vec::new(),
                    steps: 0,
                },
                like,
                engine,
                dt: 0.0,
                time: 0.0,
                inside: vec![census.inside],
                sum: 0,
                all: (total, inputs.present()),
                history: History::new(Packed::new(&field, (0, 0.0), census.inside, 0)),
                leak_detector: LeakDetector::new(census.inside, Contact::default()),
                rest_checks: Vec::new(),
                watched: true,
            };
            evolution.sum = inputs.sum_inside(&field.mask());
            evolution.apply_speeds()?;
            // Turns a mask's staircase into a distance before the first step.
            if start.mask.is_some() {
                for _ in 0..2 {
                    evolution.redistance()?;
                }
                let field = evolution.field()?;
                let inside = field.count_voxels(0.0).inside;
                evolution.continue_from(
                    &field,
                    inside,
                    inputs.sum_inside(&field.mask()),
                    backend,
                )?;
            }
            let field = evolution.field()?;
            let (_, inside) = evolution.inside();
            let contact = evolution.contact(&field);
            evolution.leak_detector = match start.mask {
                Some(_) => LeakDetector::from_structure(inside, contact),
                None => LeakDetector::new(inside, contact),
            };
            evolution.history = History::new(evolution.packed()?);
            Ok(evolution)
        })
    }

    /// Parameters of the next step.
    pub fn params(&self) -> &Params {
        &self.speeds.params
    }

    /// The current inputs.
    pub fn inputs(&self) -> &Inputs {
        &self.speeds.inputs
    }

    /// All inputs used so far, by the numbers that the script gives them.
    pub fn all_inputs(&self) -> &[Inputs] {
        &self.inputs
    }

    /// All spheres so far, in their order, those of the start first.
    pub fn spheres(&self) -> Vec<Sphere> {
        let placed = self
            .script
            .events
            .iter()
            .filter_map(|event| match event.event {
                ScriptEvent::Sphere(sphere) => Some(sphere),
                ScriptEvent::Params(_) | ScriptEvent::Inputs(_) => None,
            });
        self.start_spheres.iter().copied().chain(placed).collect()
    }

    /// The history of the run so far.
    pub fn script(&self) -> RunHistory {
        RunHistory {
            steps: self.step(),
            ..self.script.clone()
        }
    }

    /// Number of steps taken.
    pub fn step(&self) -> u64 {
        self.inside.len() as u64 - 1
    }

    /// Time of the equation, in units in which a surface of speed 1 moves by the shortest voxel edge.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Voxels inside after each step, beginning with the start.
    pub fn growth(&self) -> &[u64] {
        &self.inside
    }

    /// Detector that observes every step.
    pub fn leak_detector(&self) -> &LeakDetector {
        &self.leak_detector
    }

    /// Memory and number of bricks at present.
    pub fn size(&self) -> Size {
        let (bricks, bytes) = self.engine.size();
        Size {
            bricks,
            bytes,
            kept_bytes: self.history.bytes(),
        }
    }

    /// The current field, copied from the graphics card if necessary.
    pub fn field(&self) -> Result<Field, Error> {
        self.engine.field(&self.like)
    }

    /// The field as it is drawn, in its own bricks. If `lend` belongs to the computing card, the values stay on it.
    pub fn image(&mut self, lend: Option<&ImageExporter>) -> Result<BrickImage, Error> {
        self.engine.image(&self.like, lend)
    }

    /// The field after `step` steps, or at the last stored state before.
    pub fn field_before(&self, step: u64) -> Field {
        self.history.state_before(step).field(&self.like)
    }

    /// World mm: the place through which most of the volume gained after `step` steps came. Later states show its
    /// path.
    pub fn passage(&self, step: u64, now: &Field) -> Option<DVec3> {
        let before = self.history.state_before(step);
        let mut growth = Growth::new(&before.field(&self.like), now)?;
        for state in self.history.states_after(before.step) {
            growth.add(&state.field(&self.like));
        }
        growth.add(now);
        growth.world_position()
    }

    /// Sum of the grey values inside, in quanta, and number of these voxels.
    pub fn inside(&self) -> (i64, u64) {
        (self.sum, self.inside.last().copied().unwrap_or(0))
    }

    /// Number of voxels with |φ| below `within` shortest edges.
    pub fn count_near(&self, within: f32) -> Result<u64, Error> {
        Ok(self.field()?.count_voxels(within).near)
    }

    /// Needs the backend's threads installed.
    fn apply_speeds(&mut self) -> Result<(), Error> {
        let params = &self.speeds.params;
        let [curvature, rescaling] = [params.smoothness, params.rescaling].map(f64::from);
        let (speed, drift) = (self.speeds.max_speed, self.speeds.drift);
        let dt = self.stencil.step(speed, drift, curvature, rescaling);
        let inside = self.inside();
        match &mut self.engine {
            Engine::Cpu(bricks) => bricks.invalidate_speeds(params.extra()),
            Engine::Cuda(engine) => engine.upload_speeds(&self.speeds, dt, inside, self.all)?,
        }
        self.dt = dt;
        Ok(())
    }

    fn packed(&self) -> Result<Packed, Error> {
        let inside = self.inside.last().copied().unwrap_or(0);
        let at = (self.step(), self.time);
        Ok(Packed::new(&self.field()?, at, inside, self.sum))
    }

    /// Runs at most this many steps; fewer if the surface comes to rest, vanishes or leaks.
    pub fn run(
        &mut self,
        steps: u64,
        backend: &Backend,
        control: &Control,
    ) -> Result<Ended, Error> {
        control.begin("Moving the surface", steps);
        let end = self.step() + steps;
        while self.step() < end {
            control.check()?;
            let started = self.step();
            // Checks happen at the same steps, however a run is divided.
            let chunk = self.engine.chunk();
            let next = (self.step() / chunk + 1) * chunk;
            let count = next.min(end) - started;
            backend.install(|| self.advance(count))?;
            control.advance(count);
            let inside = self.inside.last().copied().unwrap_or(0);
            if inside == 0 || inside == self.like.grid.voxel_count() as u64 {
                self.rewind_to(started, true, backend, control)?;
                return Ok(if inside == 0 {
                    Ended::Vanished
                } else {
                    Ended::Filled
                });
            }
            let step = self.step();
            if self.history.stores_step(step) {
                let state = self.packed()?;
                self.history.push_state(state);
            }
            if self.watched {
                if step == next && self.leak_detector.needs_contact() {
                    let field = self.field()?;
                    let contact = backend.install(|| self.contact(&field));
                    self.leak_detector.record_contact(contact);
                }
                if let Some(from) = self.leak_detector.suspected_since() {
                    let belongs = backend.install(|| self.belongs_since(from))?;
                    self.leak_detector.decide_suspicion(belongs);
                }
                if let Some(leak) = self.leak_detector.leak() {
                    return Ok(Ended::Leaked(leak));
                }
            }
            if step == next && backend.install(|| self.has_come_to_rest())? {
                return Ok(Ended::Converged);
            }
        }
        Ok(Ended::Steps)
    }

    /// Runs this many steps without checking whether the run is over: for benchmarks.
    pub fn run_unchecked(
        &mut self,
        steps: u64,
        backend: &Backend,
        control: &Control,
    ) -> Result<(), Error> {
        control.check()?;
        backend.install(|| self.advance(steps))
    }

    /// Steps between two redistancings; 0: never.
    fn redistanced_every(&self) -> u64 {
        match self.speeds.params.mode {
            Mode::Scaled => u64::from(self.speeds.params.redistance_every),
            Mode::Paper => 0,
        }
    }

    /// Whether the surface is where it was a while ago. A surface at rest oscillates from one redistancing to the
    /// next by a few hundredths of a voxel, so that voxels keep changing sides: it is compared in the same phase each
    /// time, and with several earlier states, because an oscillation may take two or three redistancings. Where
    /// nothing keeps φ from becoming steep, the oscillation has no period: then the surface is at rest if it does not
    /// creep.
    fn has_come_to_rest(&mut self) -> Result<bool, Error> {
        let (step, every) = (self.step(), self.redistanced_every().max(1));
        let (mut divisor, mut rest) = (REST_STEPS, every);
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        let look = REST_STEPS / divisor * every;
        if step < look || !step.is_multiple_of(look) {
            return Ok(false);
        }
        let [now, then] = [step, step - look].map(|s| self.inside[s as usize]);
        // The field is examined, or copied from the card, only if it may be at rest.
        let active_voxels = self.engine.size().0 * self.like.brick.pow(3);
        if now.abs_diff(then) as f64 > MAX_CHANGED_SHARE * active_voxels as f64 {
            self.rest_checks.clear();
            return Ok(false);
        }
        let field = self.field()?;
        self.rest_checks
            .retain(|(at, _)| at + COMPARED_CHECKS * look >= step);
        let before = self.rest_checks.iter().rev();
        let moved = before.map(|(at, before)| (((step - at) / look) as f64, field.moved(before)));
        let moved: Vec<(f64, f64)> = moved.collect();
        self.rest_checks.push((step, field));
        let back = moved.iter().any(|(_, moved)| *moved < REST_DISTANCE);
        Ok(back || (moved.len() as u64 == COMPARED_CHECKS && creep(&moved) < REST_DISTANCE))
    }

    /// The contact of a surface; a target within the background is meant to reach it. Needs the backend's threads
    /// installed.
    fn contact(&self, field: &Field) -> Contact {
        let inputs = self.inputs();
        let background = inputs.background();
        let meant = |b: &&Background| !b.is_target(self.params().target);
        field.contact(inputs.values(), background.filter(meant))
    }

    /// Whether the voxels that joined since a step belong to those that were inside then. Needs the backend's threads
    /// installed.
    fn belongs_since(&self, step: u64) -> Result<bool, Error> {
        let (before, now) = (self.field_before(step), self.field()?);
        // A structure whose growth is judged separately is compared with its own seed as well.
        let seed_step = self.leak_detector.seed_since();
        let others = seed_step.map(|step| self.field_before(step));
        let is_own = |step: u64| seed_step.is_some_and(|first| step >= first);
        let seeds = self.script.events.iter().filter_map(|e| match e.event {
            ScriptEvent::Sphere(sphere) if sphere.add && is_own(e.step) => Some(sphere),
            _ => None,
        });
        let start = seeds.fold(self.field_before(0), |field, seed| edited(&field, &seed));
        let [target, tolerance] = [self.params().target, self.params().tolerance].map(f64::from);
        let range = [target - tolerance, target + tolerance];
        let (fields, values) = ([&before, &now], self.inputs().values());
        let joined = Joined::new(&start, others.as_ref(), fields, values, range);
        let early = self.leak_detector.suspects_early();
        Ok(joined.is_some_and(|joined| match early {
            true => joined.is_alike(),
            false => joined.belongs(),
        }))
    }

    fn advance(&mut self, steps: u64) -> Result<(), Error> {
        let every = self.redistanced_every();
        let (first, passes, dt) = (self.step(), self.passes(), self.dt);
        let counts = match &mut self.engine {
            Engine::Cuda(engine) => engine.advance(steps, first, every, passes)?,
            Engine::Cpu(_) => {
                for step in first + 1..=first + steps {
                    self.one_step()?;
                    if every > 0 && step.is_multiple_of(every) {
                        self.redistance()?;
                    }
                    self.leak_detector
                        .record(self.inside.last().copied().unwrap_or(0));
                }
                Vec::new()
            }
        };
        for count in counts {
            self.begin_step(dt);
            self.add_count(count);
            self.leak_detector
                .record(self.inside.last().copied().unwrap_or(0));
        }
        Ok(())
    }

    fn begin_step(&mut self, dt: f32) {
        self.time += f64::from(dt);
        self.inside.push(self.inside.last().copied().unwrap_or(0));
    }

    fn one_step(&mut self) -> Result<(), Error> {
        let inside = self.inside.last().copied().unwrap_or(0);
        let region = self.speeds.region_rule((self.sum, inside), self.all);
        let dt = self.dt;
        self.begin_step(dt);
        if let Engine::Cpu(bricks) = &mut self.engine {
            let count = bricks.pass(Pass::Step, &self.speeds, dt, region);
            self.add_count(count);
        }
        Ok(())
    }

    fn add_count(&mut self, count: Count) {
        if let Some(inside) = self.inside.last_mut() {
            *inside = inside.saturating_add_signed(count.inside);
        }
        self.sum += count.sum;
    }

    /// Passes until distances have propagated from the surface to the band's end; even, because graphics cards
    /// alternate between two copies of the pages.
    fn passes(&self) -> usize {
        let passes = f64::from(self.stencil.clamp) * self.stencil.crossing / 0.9;
        (passes.ceil() as usize).next_multiple_of(2)
    }

    fn redistance(&mut self) -> Result<(), Error> {
        let passes = self.passes();
        if let Engine::Cuda(engine) = &mut self.engine {
            return engine.redistance(passes);
        }
        for pass in 0..passes {
            if let Engine::Cpu(bricks) = &mut self.engine {
                let first = pass == 0;
                let count = bricks.pass(Pass::Redistance { first }, &self.speeds, 0.0, [0.0; 3]);
                self.add_count(count);
            }
        }
        Ok(())
    }
}

/// How far a surface creeps from one check to the next, from its distances to earlier states: after n checks, an
/// oscillation b and a creep c give a distance of √(b² + n² c²); least squares.
fn creep(moved: &[(f64, f64)]) -> f64 {
    let squares = || {
        moved
            .iter()
            .map(|(n, distance)| (n * n, distance * distance))
    };
    let count = moved.len() as f64;
    let [n, distance] = squares().fold([0.0; 2], |[n, a], (x, y)| [n + x / count, a + y / count]);
    let along: f64 = squares().map(|(x, y)| (x - n) * (y - distance)).sum();
    let spread: f64 = squares().map(|(x, _)| (x - n).powi(2)).sum();
    (along / spread).max(0.0).sqrt()
}
