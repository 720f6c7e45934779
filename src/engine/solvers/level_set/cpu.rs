//! Bricks on the CPU: shared among all cores, eight voxels at a time.
//!
//! A step reads one copy of the pages and writes the other. A brick is computed while a value of the band lies in it
//! or within a voxel of it: elsewhere nothing can change, so the values equal those of the whole volume bit for bit.

use super::Count;
use super::bricks::{Field, INSIDE, OUTSIDE, counts, origin};
use super::row::{self, ISOTROPIC, LevelSetRules, ORTHOGONAL, SHEARED};
use super::speed::{PLANES, Speeds};
use super::stencil::Stencil;
use super::visit::{StencilVisit, Visit, spread};
use crate::compute::simd;
use crate::data::{BrickImage, Pages};
use rayon::prelude::*;
use std::sync::Arc;

const NONE: u32 = u32::MAX;
/// Passes for which an unused brick keeps its page, so that pages are not allocated and freed repeatedly.
const UNUSED_PASSES: u32 = 8;
/// The computation of a pass for every voxel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    Step,
    Redistance { first: bool },
}

/// The result of a pass over one page.
#[derive(Clone, Copy, Default)]
pub struct Report {
    /// Neighbours that its band touches, as bits of a 3×3×3 cube with the page in the middle.
    pub touched: u32,
    /// Bit 0: some voxel is inside; bit 1: some voxel is outside.
    pub sides: u32,
    pub growth: i32,
    /// Grey values of voxels that joined minus those of voxels that left.
    pub sum: i64,
}

pub struct Engine<const B: usize> {
    shape: [usize; 3],
    bricks: [usize; 3],
    clamp: f32,
    everywhere: bool,
    kind: u8,
    rules: LevelSetRules,
    /// By brick.
    table: Vec<u32>,
    /// By page; [`NONE`] for free pages and the two constants.
    brick_of: Vec<u32>,
    neighbours: Vec<[u32; 27]>,
    used: Vec<u32>,
    stale: Vec<bool>,
    free: Vec<u32>,
    now: Vec<f32>,
    next: Vec<f32>,
    /// By page: the speed and, if there are more terms, the other planes.
    data: Vec<f32>,
    planes: usize,
    reports: Vec<Report>,
    passes: u32,
}

impl<const B: usize> Engine<B> {
    const PAGE: usize = B * B * B;

    pub fn new(field: &Field, stencil: &Stencil, everywhere: bool) -> Self {
        let slots = field.pages.len() / Self::PAGE;
        let mut engine = Self {
            shape: field.grid.shape,
            bricks: counts(field.grid.shape, B),
            clamp: field.clamp,
            everywhere,
            kind: row::kind(stencil.kind),
            rules: LevelSetRules::new(stencil, Visit::<B>::ROW, Visit::<B>::PLANE),
            table: field.table.clone(),
            brick_of: vec![NONE; slots],
            neighbours: vec![[0; 27]; slots],
            used: vec![0; slots],
            stale: vec![true; slots],
            free: Vec::new(),
            now: field.pages.clone(),
            next: field.pages.clone(),
            data: Vec::new(),
            planes: 1,
            reports: vec![Report::default(); slots],
            passes: 0,
        };
        for brick in 0..engine.table.len() {
            let slot = engine.table[brick];
            if slot > INSIDE {
                engine.brick_of[slot as usize] = brick as u32;
            }
        }
        for slot in 2..slots {
            engine.link_neighbours(slot);
        }
        // The band of a given field may end at a brick's face.
        engine.surround();
        engine
    }

    pub fn field(&self, like: &Field) -> Field {
        Field {
            grid: like.grid.clone(),
            table: self.table.clone(),
            pages: self.now.clone(),
            brick: B,
            ..*like
        }
        .canonical()
    }

    /// The bricks as they are drawn, in the layout of `like`.
    pub fn image(&self, like: &Field) -> BrickImage {
        let pages = Pages {
            table: self.table.clone(),
            values: self.now.clone(),
        };
        BrickImage::new(like.grid.clone(), self.clamp, B.trailing_zeros(), pages)
    }

    pub fn active(&self) -> usize {
        self.brick_of.iter().filter(|b| **b != NONE).count()
    }

    pub fn bytes(&self) -> usize {
        4 * (self.now.len() + self.next.len() + self.data.len() + self.table.len())
            + 108 * self.neighbours.len()
    }

    /// Marks the speeds of all bricks as stale; they are recomputed when next needed.
    pub fn invalidate_speeds(&mut self, extra: bool) {
        self.planes = if extra { PLANES } else { 1 };
        self.data
            .resize(self.brick_of.len() * self.planes * Self::PAGE, 0.0);
        self.stale.fill(true);
    }

    fn neighbour(&self, brick: usize, k: usize) -> Option<usize> {
        let [nx, ny, nz] = self.bricks;
        let at = [brick % nx, brick / nx % ny, brick / (nx * ny)];
        let step = [k % 3, k / 3 % 3, k / 9];
        let mut to = [0; 3];
        for a in 0..3 {
            to[a] = (at[a] + step[a])
                .checked_sub(1)
                .filter(|v| *v < [nx, ny, nz][a])?;
        }
        Some(to[0] + nx * (to[1] + ny * to[2]))
    }

    /// Looks up the neighbours of a page.
    fn link_neighbours(&mut self, slot: usize) {
        let brick = self.brick_of[slot];
        if brick == NONE {
            return;
        }
        for k in 0..27 {
            let entry = self
                .neighbour(brick as usize, k)
                .map_or(OUTSIDE, |n| self.table[n]);
            self.neighbours[slot][k] = entry;
        }
    }

    /// Writes a brick's table entry to its neighbours.
    fn notify_neighbours(&mut self, brick: usize) {
        let entry = self.table[brick];
        for k in 0..27 {
            let Some(n) = self.neighbour(brick, k) else {
                continue;
            };
            let slot = self.table[n] as usize;
            if slot > INSIDE as usize {
                self.neighbours[slot][26 - k] = entry;
            }
        }
    }

    fn activate(&mut self, brick: usize) {
        let value = if self.table[brick] == INSIDE {
            self.clamp
        } else {
            -self.clamp
        };
        let slot = match self.free.pop() {
            Some(slot) => slot as usize,
            None => {
                let slot = self.brick_of.len();
                self.brick_of.push(NONE);
                self.neighbours.push([0; 27]);
                self.used.push(0);
                self.stale.push(true);
                self.reports.push(Report::default());
                self.now.resize((slot + 1) * Self::PAGE, 0.0);
                self.next.resize((slot + 1) * Self::PAGE, 0.0);
                self.data.resize((slot + 1) * self.planes * Self::PAGE, 0.0);
                slot
            }
        };
        self.now[slot * Self::PAGE..(slot + 1) * Self::PAGE].fill(value);
        self.brick_of[slot] = brick as u32;
        self.stale[slot] = true;
        self.used[slot] = self.passes;
        self.table[brick] = slot as u32;
        self.link_neighbours(slot);
        self.notify_neighbours(brick);
    }

    fn release(&mut self, slot: usize, side: u32) {
        let brick = self.brick_of[slot] as usize;
        self.table[brick] = side;
        self.brick_of[slot] = NONE;
        self.free.push(slot as u32);
        self.notify_neighbours(brick);
    }

    /// Allocates pages for the neighbours that the band touches.
    fn surround(&mut self) {
        for slot in 2..self.brick_of.len() {
            let brick = self.brick_of[slot];
            if brick == NONE {
                continue;
            }
            let first = origin(brick as usize, self.bricks, B);
            let page = &self.now[slot * Self::PAGE..(slot + 1) * Self::PAGE];
            let mut requested = 0;
            for (i, _) in page
                .iter()
                .enumerate()
                .filter(|(_, v)| v.abs() < self.clamp)
            {
                let at = [i % B, i / B % B, i / B / B];
                if (0..3).all(|a| first[a] + at[a] < self.shape[a]) {
                    let x = 2 | u32::from(at[0] == 0) | u32::from(at[0] == B - 1) << 2;
                    requested |= spread(x, at[1], at[2], B);
                }
            }
            self.request_pages(slot, requested);
        }
    }

    fn request_pages(&mut self, slot: usize, requested: u32) {
        let mut bits = requested & !(1 << 13);
        if requested >> 13 & 1 == 1 {
            self.used[slot] = self.passes;
        }
        while bits != 0 {
            let k = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let entry = self.neighbours[slot][k];
            if entry > INSIDE {
                self.used[entry as usize] = self.passes;
            } else if let Some(n) = self.neighbour(self.brick_of[slot] as usize, k) {
                self.activate(n);
            }
        }
    }

    /// One pass over all pages. Needs the backend's threads installed.
    pub fn pass(&mut self, pass: Pass, speeds: &Speeds, dt: f32, region: [f32; 3]) -> Count {
        let (page, planes) = (Self::PAGE, self.planes);
        let (shape, bricks) = (self.shape, self.bricks);
        if pass == Pass::Step {
            let stale = self.stale.par_iter_mut().zip(&self.brick_of);
            let data = self.data.par_chunks_exact_mut(planes * page);
            stale
                .zip(data)
                .with_min_len(16)
                .for_each(|((stale, &brick), data)| {
                    if *stale && brick != NONE {
                        speeds.fill(origin(brick as usize, bricks, B), B, planes > 1, data);
                        *stale = false;
                    }
                });
        }
        let params = &speeds.params;
        self.rules.dt = dt;
        self.rules.curvature = params.smoothness;
        self.rules.rescaling = params.rescaling;
        self.rules.paper = params.mode == super::Mode::Paper;
        self.rules.region = region;
        let (rules, kind) = (&self.rules, self.kind);
        let (now, neighbours, data) = (&self.now, &self.neighbours, &self.data);
        let image = &speeds.inputs;
        let work = |tile: &mut Vec<f32>, slot: usize, next: &mut [f32], report: &mut Report| {
            let brick = self.brick_of[slot];
            if brick == NONE {
                return;
            }
            let visit = Visit::<B> {
                pass,
                rules,
                now,
                neighbours: &neighbours[slot],
                first: origin(brick as usize, bricks, B),
                shape,
                data: data
                    .get(slot * planes * page..(slot + 1) * planes * page)
                    .unwrap_or(&[]),
                planes,
                tile,
                next,
                report,
                quantum: &|i| image.quantum(i),
            };
            match kind {
                ISOTROPIC => simd::dispatch(StencilVisit::<B, ISOTROPIC>(visit)),
                ORTHOGONAL => simd::dispatch(StencilVisit::<B, ORTHOGONAL>(visit)),
                _ => simd::dispatch(StencilVisit::<B, SHEARED>(visit)),
            }
        };
        let next = self.next.par_chunks_exact_mut(page);
        let each = next.zip(&mut self.reports).enumerate().skip(2);
        each.with_min_len(8).for_each_init(
            || vec![0.0f32; Visit::<B>::TILE],
            |tile, (slot, (next, report))| work(tile, slot, next, report),
        );
        std::mem::swap(&mut self.now, &mut self.next);
        self.passes += 1;
        self.update_pages()
    }

    /// Allocates pages for bricks that the band has approached and frees those that it has left.
    fn update_pages(&mut self) -> Count {
        let mut count = Count::default();
        let slots = self.brick_of.len();
        for slot in 2..slots {
            if self.brick_of[slot] == NONE {
                continue;
            }
            let report = self.reports[slot];
            count.inside += i64::from(report.growth);
            count.sum += report.sum;
            self.request_pages(slot, report.touched);
        }
        if !self.everywhere {
            for slot in 2..slots {
                let Report { touched, sides, .. } = self.reports[slot];
                let idle =
                    self.brick_of[slot] != NONE && self.used[slot] + UNUSED_PASSES < self.passes;
                if idle && touched == 0 && sides != 3 {
                    self.release(slot, if sides & 1 == 1 { INSIDE } else { OUTSIDE });
                }
            }
        }
        count
    }
}

/// Bricks of either size.
pub enum Bricks {
    Eight(Box<Engine<8>>),
    Sixteen(Box<Engine<16>>),
}

macro_rules! either {
    ($bricks:expr, $engine:ident => $work:expr) => {
        match $bricks {
            Bricks::Eight($engine) => $work,
            Bricks::Sixteen($engine) => $work,
        }
    };
}

impl Bricks {
    pub fn new(field: &Field, stencil: &Stencil, everywhere: bool) -> Self {
        match field.brick {
            8 => Self::Eight(Box::new(Engine::new(field, stencil, everywhere))),
            _ => Self::Sixteen(Box::new(Engine::new(field, stencil, everywhere))),
        }
    }

    pub fn field(&self, like: &Field) -> Field {
        either!(self, e => e.field(like))
    }

    pub fn image(&self, like: &Field) -> BrickImage {
        either!(self, e => e.image(like))
    }

    pub fn active(&self) -> usize {
        either!(self, e => e.active())
    }

    pub fn bytes(&self) -> usize {
        either!(self, e => e.bytes())
    }

    pub fn invalidate_speeds(&mut self, extra: bool) {
        either!(self, e => e.invalidate_speeds(extra));
    }

    pub fn pass(&mut self, pass: Pass, speeds: &Arc<Speeds>, dt: f32, region: [f32; 3]) -> Count {
        either!(self, e => e.pass(pass, speeds, dt, region))
    }
}
