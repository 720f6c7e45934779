//! A run: steps, changes by hand between them, the way back.

use super::Count;
use super::alarm::Alarm;
use super::bricks::Field;
use super::cpu::Pass;
use super::engine::Engine;
use super::history::{History, Packed};
use super::params::{Layout, Mode, Params};
use super::script::{Ended, Event, Script, What};
use super::speed::{Inputs, Speeds};
use super::start::{Sphere, Start, edited};
use super::stencil::Stencil;
use crate::compute::{Backend, Control};
use crate::data::{BrickImage, LendImage};
use crate::solvers::Error;
use rayon::prelude::*;
use std::sync::Arc;

/// A surface stands still when it has moved by less than this, in units of h, …
const STILL: f64 = 5e-3;
/// … in so many steps, or more where those are no whole number of redistancings.
const STILL_STEPS: u64 = 100;
/// It is compared with where it was at so many looks before.
const LOOKS: u64 = 6;
/// It may stand still when in as many steps no larger share of the voxels in bricks came in or went out.
const MAY_BE_STILL: f64 = 1e-3;

/// How much there is of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Bricks with a page.
    pub bricks: usize,
    /// Of pages, tables and speeds.
    pub bytes: usize,
    /// Of the earlier states.
    pub kept_bytes: usize,
}

pub struct Evolution {
    inputs: Inputs,
    stencil: Stencil,
    speeds: Arc<Speeds>,
    script: Script,
    /// What all fields of this run have in common, without values.
    like: Field,
    engine: Engine,
    dt: f32,
    time: f64,
    /// After each step.
    inside: Vec<u64>,
    sum: i64,
    /// Of the whole image: sum of the grey values in quanta, and voxels that have one.
    all: (i64, u64),
    history: History,
    alarm: Alarm,
    /// Where it was, and at which step, since it has looked as if it might stand still.
    looks: Vec<(u64, Field)>,
    /// The alarm pauses runs.
    pub watched: bool,
}

impl Evolution {
    pub fn new(
        inputs: &Inputs,
        start: &Start,
        params: &Params,
        layout: Layout,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        params.check().map_err(Error::Input)?;
        layout.check().map_err(Error::Input)?;
        if !backend.devices().is_empty() && (layout.brick, layout.everywhere) != (8, false) {
            return Err(Error::Input(format!(
                "Found the layout {layout:?}, expected bricks of 8 that follow the band on a graphics card; \
                 leave it out"
            )));
        }
        inputs.have_layer(params)?;
        let grid = &inputs.image.grid;
        for sphere in &start.spheres {
            sphere.check(grid).map_err(Error::Input)?;
        }
        let stencil = Stencil::new(grid, layout.band).map_err(Error::Input)?;
        control.begin("Placing the surface", 0);
        control.check()?;
        backend.install(|| {
            let field = start.field(grid, &stencil, &layout);
            let census = field.census(0.0);
            if census.inside == 0 {
                return Err(Error::Input(
                    "Found a surface without a voxel of the image inside, expected some; add a sphere or \
                     begin with another mask"
                        .to_owned(),
                ));
            }
            if census.inside == census.all {
                return Err(Error::Input(
                    "Found a surface around the whole image, expected voxels outside; make it smaller"
                        .to_owned(),
                ));
            }
            let speeds = moving(inputs, params, &stencil)?;
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
            let mut made = Self {
                inputs: inputs.clone(),
                stencil,
                speeds,
                script: Script { params: params.clone(), layout, events: Vec::new(), steps: 0 },
                like,
                engine,
                dt: 0.0,
                time: 0.0,
                inside: vec![census.inside],
                sum: 0,
                all: (total, inputs.present()),
                history: History::new(Packed::new(&field, (0, 0.0), census.inside, 0)),
                alarm: Alarm::new(0, census.inside),
                looks: Vec::new(),
                watched: true,
            };
            made.sum = inputs.sum_inside(&field.mask());
            made.renew()?;
            // A mask's staircase becomes a distance before the first step.
            if start.mask.is_some() {
                for _ in 0..2 {
                    made.redistance()?;
                }
                let field = made.field()?;
                let inside = field.census(0.0).inside;
                made.adopt(&field, inside, inputs.sum_inside(&field.mask()), backend)?;
            }
            made.history = History::new(made.packed()?);
            Ok(made)
        })
    }

    pub fn params(&self) -> &Params {
        &self.speeds.params
    }

    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// What was done so far.
    pub fn script(&self) -> Script {
        Script {
            steps: self.step(),
            ..self.script.clone()
        }
    }

    pub fn step(&self) -> u64 {
        self.inside.len() as u64 - 1
    }

    /// Of the equation, in units in which a surface of speed 1 moves by the shortest voxel edge.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Voxels inside after each step, the start's first.
    pub fn growth(&self) -> &[u64] {
        &self.inside
    }

    pub fn alarm(&self) -> &Alarm {
        &self.alarm
    }

    pub fn size(&self) -> Size {
        let (bricks, bytes) = self.engine.size();
        Size {
            bricks,
            bytes,
            kept_bytes: self.history.bytes(),
        }
    }

    /// As it is now; from a graphics card it is fetched.
    pub fn field(&self) -> Result<Field, Error> {
        self.engine.field(&self.like)
    }

    /// As it is drawn: the bricks themselves. Where `lend` is of the card that computes, the values stay
    /// there.
    pub fn image(&mut self, lend: Option<&LendImage>) -> Result<BrickImage, Error> {
        self.engine.image(&self.like, lend)
    }

    /// As it was after so many steps, or at the last one before of which the state was kept.
    pub fn field_before(&self, step: u64) -> Field {
        self.history.before(step).field(&self.like)
    }

    /// Sum of the grey values inside, in quanta, and how many voxels that are.
    pub fn inside(&self) -> (i64, u64) {
        (self.sum, self.inside.last().copied().unwrap_or(0))
    }

    /// Voxels with |φ| < so many shortest edges.
    pub fn near(&self, within: f32) -> Result<u64, Error> {
        Ok(self.field()?.census(within).near)
    }

    /// From the next step on.
    pub fn set(&mut self, params: &Params, backend: &Backend) -> Result<(), Error> {
        params.check().map_err(Error::Input)?;
        self.inputs.have_layer(params)?;
        if *params == self.speeds.params {
            return Ok(());
        }
        backend.install(|| {
            let speeds = moving(&self.inputs, params, &self.stencil)?;
            self.note(What::Params(params.clone()));
            self.speeds = speeds;
            self.renew()
        })
    }

    /// Needs the backend's threads installed.
    fn renew(&mut self) -> Result<(), Error> {
        let params = &self.speeds.params;
        let [curvature, rescaling] = [params.smoothness, params.rescaling].map(f64::from);
        let (speed, drift) = (self.speeds.most, self.speeds.drift);
        self.dt = self.stencil.step(speed, drift, curvature, rescaling);
        let inside = (self.sum, self.inside.last().copied().unwrap_or(0));
        match &mut self.engine {
            Engine::Cpu(bricks) => {
                bricks.renew(params.extra());
                Ok(())
            }
            Engine::Cuda(engine) => engine.renew(&self.speeds, self.dt, inside, self.all),
        }
    }

    /// Adds a sphere, or cuts it away.
    pub fn edit(&mut self, sphere: &Sphere, backend: &Backend) -> Result<(), Error> {
        sphere
            .check(&self.inputs.image.grid)
            .map_err(Error::Input)?;
        let field = edited(&self.field()?, sphere);
        let census = field.census(0.0);
        if census.inside == 0 {
            return Err(Error::Input(
                "Found no voxel left after the cut, expected some; the surface is kept: cut away less"
                    .to_owned(),
            ));
        }
        if census.inside == census.all {
            return Err(Error::Input(
                "Found no voxel outside any more, expected some; the surface is kept: add a smaller sphere"
                    .to_owned(),
            ));
        }
        self.note(What::Sphere(*sphere));
        backend.install(|| {
            let sum = self.inputs.sum_inside(&field.mask());
            self.adopt(&field, census.inside, sum, backend)
        })
    }

    fn note(&mut self, what: What) {
        let step = self.step();
        self.script.events.push(Event { step, what });
        self.looks.clear();
        let inside = self.inside.last().copied().unwrap_or(0);
        self.alarm = Alarm::new(step, inside);
    }

    /// Goes on from a field with so many voxels inside, of this sum of grey values.
    fn adopt(
        &mut self,
        field: &Field,
        inside: u64,
        sum: i64,
        backend: &Backend,
    ) -> Result<(), Error> {
        self.engine = Engine::new(field, &self.stencil, &self.script.layout, backend)?;
        if let Some(last) = self.inside.last_mut() {
            *last = inside;
        }
        self.sum = sum;
        self.alarm = Alarm::new(self.step(), inside);
        self.renew()
    }

    fn packed(&self) -> Result<Packed, Error> {
        let inside = self.inside.last().copied().unwrap_or(0);
        let at = (self.step(), self.time);
        Ok(Packed::new(&self.field()?, at, inside, self.sum))
    }

    /// Steps at most so many; fewer where the surface stands still, is gone or leaks.
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
            let begun = self.step();
            // Looks at the same steps, however a run is cut into pieces.
            let chunk = self.engine.chunk();
            let next = (self.step() / chunk + 1) * chunk;
            let count = next.min(end) - begun;
            backend.install(|| self.advance(count))?;
            control.advance(count);
            let inside = self.inside.last().copied().unwrap_or(0);
            if inside == 0 || inside == self.like.grid.voxel_count() as u64 {
                self.go_back(begun, true, backend, control)?;
                return Ok(if inside == 0 {
                    Ended::Vanished
                } else {
                    Ended::Filled
                });
            }
            let step = self.step();
            if self.history.wants(step) {
                let state = self.packed()?;
                self.history.keep(state);
            }
            if self.watched
                && let Some(leak) = self.alarm.leak()
            {
                return Ok(Ended::Leaked(leak));
            }
            if step == next && backend.install(|| self.still())? {
                return Ok(Ended::Converged);
            }
        }
        Ok(Ended::Steps)
    }

    /// A leak that was told ends no more runs: somebody wants it to go on. The next one does.
    pub fn let_leak(&mut self) {
        let inside = self.inside.last().copied().unwrap_or(0);
        self.alarm = Alarm::new(self.step(), inside);
    }

    /// So many steps without a look at whether the run is over: for benchmarks.
    pub fn measure(
        &mut self,
        steps: u64,
        backend: &Backend,
        control: &Control,
    ) -> Result<(), Error> {
        control.check()?;
        backend.install(|| self.advance(steps))
    }

    /// Steps from one redistancing to the next; 0: never.
    fn redistanced_every(&self) -> u64 {
        match self.speeds.params.mode {
            Mode::Scaled => u64::from(self.speeds.params.redistance_every),
            Mode::Paper => 0,
        }
    }

    /// Whether the surface is where it was a while ago. At rest it breathes from one redistancing to the
    /// next, by some hundredths of a voxel, so that voxels keep changing sides for ever: it is looked at in
    /// the same phase each time, and compared with several times before, as a breath may take two or three
    /// redistancings. Where nothing keeps φ from growing steep, breath follows no period: then the
    /// surface stands still if it does not creep.
    fn still(&mut self) -> Result<bool, Error> {
        let (step, every) = (self.step(), self.redistanced_every().max(1));
        let (mut divisor, mut rest) = (STILL_STEPS, every);
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        let look = STILL_STEPS / divisor * every;
        if step < look || !step.is_multiple_of(look) {
            return Ok(false);
        }
        let [now, then] = [step, step - look].map(|s| self.inside[s as usize]);
        // The field is looked at, or fetched, only where it may stand still.
        let most = self.engine.size().0 * self.like.brick.pow(3);
        if now.abs_diff(then) as f64 > MAY_BE_STILL * most as f64 {
            self.looks.clear();
            return Ok(false);
        }
        let field = self.field()?;
        self.looks.retain(|(at, _)| at + LOOKS * look >= step);
        let before = self.looks.iter().rev();
        let moved = before.map(|(at, before)| (((step - at) / look) as f64, field.moved(before)));
        let moved: Vec<(f64, f64)> = moved.collect();
        self.looks.push((step, field));
        let back = moved.iter().any(|(_, moved)| *moved < STILL);
        Ok(back || (moved.len() as u64 == LOOKS && creep(&moved) < STILL))
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
                    self.alarm.hear(self.inside.last().copied().unwrap_or(0));
                }
                Vec::new()
            }
        };
        for count in counts {
            self.begin_step(dt);
            self.took(count);
            self.alarm.hear(self.inside.last().copied().unwrap_or(0));
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
            self.took(count);
        }
        Ok(())
    }

    fn took(&mut self, count: Count) {
        if let Some(inside) = self.inside.last_mut() {
            *inside = inside.saturating_add_signed(count.inside);
        }
        self.sum += count.sum;
    }

    /// Passes until distances have come from the surface to the band's end; even, as graphics cards
    /// have two copies of the pages that change places.
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
                self.took(count);
            }
        }
        Ok(())
    }

    /// Back to the state after so many steps: that of the run up to there, to the last bit. What a
    /// hand did at that step or later is forgotten.
    pub fn rewind(&mut self, step: u64, backend: &Backend, control: &Control) -> Result<(), Error> {
        self.go_back(step.min(self.step()), false, backend, control)
    }

    /// `with_changes`: those made at that step are kept.
    fn go_back(
        &mut self,
        step: u64,
        with_changes: bool,
        backend: &Backend,
        control: &Control,
    ) -> Result<(), Error> {
        let state = self.history.back_to(step).clone();
        let events = std::mem::take(&mut self.script.events);
        let kept = events.into_iter().filter(|e| e.step < step || with_changes);
        // A state is kept before what a hand did at its step.
        let (done, ahead): (Vec<Event>, Vec<Event>) = kept.partition(|e| e.step < state.step);
        let params = done.iter().rev().find_map(|e| match &e.what {
            What::Params(params) => Some(params.clone()),
            What::Sphere(_) => None,
        });
        let params = params.unwrap_or_else(|| self.script.params.clone());
        self.looks.clear();
        self.script.events = done;
        self.inside.truncate(state.step as usize + 1);
        self.time = state.time;
        let field = state.field(&self.like);
        backend.install(|| {
            self.speeds = Arc::new(Speeds::new(&self.inputs, &params, &self.stencil));
            self.adopt(&field, state.inside, state.sum, backend)
        })?;
        let watched = std::mem::replace(&mut self.watched, false);
        let outcome = self.follow(&ahead, step, backend, control);
        self.watched = watched;
        outcome.map(drop)
    }

    /// Steps up to `step`, with what a hand did on the way.
    fn follow(
        &mut self,
        events: &[Event],
        step: u64,
        backend: &Backend,
        control: &Control,
    ) -> Result<Ended, Error> {
        for event in events {
            let ended = self.reach(event.step, backend, control)?;
            if ended != Ended::Steps {
                return Ok(ended);
            }
            match &event.what {
                What::Params(params) => self.set(params, backend)?,
                What::Sphere(sphere) => self.edit(sphere, backend)?,
            }
        }
        self.reach(step, backend, control)
    }

    /// Also past where the surface stands still.
    fn reach(&mut self, step: u64, backend: &Backend, control: &Control) -> Result<Ended, Error> {
        while self.step() < step {
            match self.run(step - self.step(), backend, control)? {
                Ended::Steps | Ended::Converged => {}
                other => return Ok(other),
            }
        }
        Ok(Ended::Steps)
    }

    /// A run again, from its script, and how it ended.
    pub fn replay(
        inputs: &Inputs,
        start: &Start,
        script: &Script,
        backend: &Backend,
        control: &Control,
    ) -> Result<(Self, Ended), Error> {
        let (params, layout) = (&script.params, script.layout);
        let mut made = Self::new(inputs, start, params, layout, backend, control)?;
        made.watched = false;
        let ended = made.follow(&script.events, script.steps, backend, control)?;
        made.watched = true;
        Ok((made, ended))
    }
}

/// Needs the backend's threads installed.
fn moving(inputs: &Inputs, params: &Params, stencil: &Stencil) -> Result<Arc<Speeds>, Error> {
    let speeds = Speeds::new(inputs, params, stencil);
    let all = speeds.most + speeds.drift + f64::from(params.smoothness + params.rescaling);
    if all > 0.0 {
        return Ok(Arc::new(speeds));
    }
    Err(Error::Input(
        "Found a speed of 0 in every voxel, expected one that moves the surface; raise a weight or paint where \
         it grows"
            .to_owned(),
    ))
}

/// How far a surface creeps from one look to the next, from how far it is from where it was so many looks
/// before: a breath b and a creep c are apart by √(b² + n² c²) after n looks; least squares.
fn creep(moved: &[(f64, f64)]) -> f64 {
    let squares = || moved.iter().map(|(n, apart)| (n * n, apart * apart));
    let count = moved.len() as f64;
    let [n, apart] = squares().fold([0.0; 2], |[n, a], (x, y)| [n + x / count, a + y / count]);
    let along: f64 = squares().map(|(x, y)| (x - n) * (y - apart)).sum();
    let spread: f64 = squares().map(|(x, _)| (x - n).powi(2)).sum();
    (along / spread).max(0.0).sqrt()
}
