//! States in the order of their cost, in rounds that give the same values on any number of threads.
//!
//! A round has three parts, each over all directions at once. First, each changed state updates the vertex costs (minima
//! over pairs) of the states that read it, and marks those whose value it may lower. Second, the equations of the marked
//! states are solved with the previous values, one state per lane. Third, the new values are stored. States above the
//! level wait until none below it changes.

use super::segments::Line;
use super::{Limits, Prepared, Source, Stencil, UNREACHED};
use crate::compute::vector::{Kernel, Scalar, Vector};
use crate::compute::{Cancelled, Control};
use rayon::prelude::*;
use std::sync::Arc;

/// Below this number of states a round is not worth sharing among threads.
const SHARED: usize = 2000;
/// Terms of the equation of a state: steps and turns.
const TERMS: usize = super::stencil::MAX_STEPS + super::stencil::MAX_TURNS;
/// Largest number of lanes.
const WIDTH: usize = 16;
const NEWTON_STEPS: usize = 12;

/// Flags of a state: its equation is to be solved; it changed; it changed and waits.
const MARKED: u8 = 1;
const CHANGED: u8 = 2;
const WAITING: u8 = 4;

/// A step within one direction.
pub(super) struct Step<'a> {
    pub(super) line: Line<'a>,
    pub(super) weight: f32,
}

/// A value of another direction, or of another voxel, and the cost of a path from there where C is 1.
pub(super) struct Vertex<'a> {
    pub(super) from: usize,
    pub(super) line: Option<Line<'a>>,
    pub(super) cost: f32,
}

pub(super) struct Turn {
    pub(super) from: usize,
    pub(super) weight: f32,
}

/// The stencil of a direction, as cells of the box.
pub(super) struct Direction<'a> {
    pub(super) steps: Vec<Step<'a>>,
    pub(super) turns: Vec<Turn>,
    pub(super) vertices: Vec<Vertex<'a>>,
}

/// The stencils of all directions.
pub(super) fn directions(prepared: &Prepared) -> Vec<Direction<'_>> {
    let segments = &prepared.segments;
    let of_stencil = |stencil: &Stencil| {
        let steps = stencil.steps.iter().filter_map(|step| {
            Some(Step {
                line: segments.line_of(step.step)?,
                weight: step.weight as f32,
            })
        });
        let turns = stencil.turns.iter().map(|turn| Turn {
            from: turn.from,
            weight: turn.weight as f32,
        });
        let vertices = stencil.vertices.iter().map(|vertex| Vertex {
            from: vertex.from,
            line: segments.line_of(vertex.step),
            cost: vertex.cost as f32,
        });
        Direction {
            steps: steps.collect(),
            turns: turns.collect(),
            vertices: vertices.collect(),
        }
    };
    prepared.stencils.iter().map(of_stencil).collect()
}

/// The lists of one direction.
#[derive(Default)]
struct Lists {
    /// Flags by place.
    flags: Vec<u8>,
    /// States whose equation is to be solved.
    marked: Vec<u32>,
    solved: Vec<f32>,
    /// States that changed and are below the level.
    changed: Vec<u32>,
    /// States that changed and are above it.
    waiting: Vec<u32>,
}

impl Lists {
    fn changed_to(&mut self, place: u32, value: f32, level: f32) {
        let flags = &mut self.flags[place as usize];
        if value <= level {
            if *flags & CHANGED == 0 {
                // An entry that waits is out of date from now on.
                *flags = *flags & !WAITING | CHANGED;
                self.changed.push(place);
            }
        } else if *flags & (CHANGED | WAITING) == 0 {
            *flags |= WAITING;
            self.waiting.push(place);
        }
    }
}

/// Place and value of the states that changed.
type Sent = Vec<(u32, f32)>;

struct Run<'a> {
    prepared: &'a Prepared,
    directions: Vec<Direction<'a>>,
    tolerance: f32,
}

impl<'a> Run<'a> {
    fn new(prepared: &'a Prepared) -> Self {
        Self {
            prepared,
            directions: directions(prepared),
            tolerance: prepared.tolerance,
        }
    }

    fn costs(&self, direction: usize) -> &[f32] {
        let n = self.prepared.places.len();
        &self.prepared.cost[direction / 2 * n..][..n]
    }

    /// Offers costs of vertices to the readers of what was sent, and marks states whose equation may now be lower.
    fn offer(
        &self,
        d: usize,
        sent: &[Sent],
        (values, lists): (&mut [f32], &mut Lists),
        (level, cap): (f32, f32),
    ) {
        let segments = &*self.prepared.segments;
        let costs = self.costs(d);
        let here = &self.directions[d];
        for vertex in &here.vertices {
            if sent[vertex.from].is_empty() {
                continue;
            }
            let from_costs = self.costs(vertex.from);
            for &(place, value) in &sent[vertex.from] {
                let ends = |to: u32| 0.5 * (costs[to as usize] + from_costs[place as usize]);
                let (to, cost) = match &vertex.line {
                    None => (place, ends(place)),
                    Some(line) => match segments.after(place, line) {
                        Some(to) => {
                            let inner = line.between.iter().map(|by| {
                                let at = segments.passed(to, *by);
                                0.5 * (costs[at] + from_costs[at])
                            });
                            (to, line.mean(ends(to), inner))
                        }
                        None => continue,
                    },
                };
                let offered = value + cost * vertex.cost;
                let old = values[to as usize];
                if offered < old * (1.0 - self.tolerance) && offered < cap {
                    values[to as usize] = offered;
                    lists.changed_to(to, offered, level);
                }
            }
        }
        let mut mark = |place: u32, value: f32| {
            let flags = &mut lists.flags[place as usize];
            if value < values[place as usize] && *flags & MARKED == 0 {
                *flags |= MARKED;
                lists.marked.push(place);
            }
        };
        for &(place, value) in &sent[d] {
            for step in &here.steps {
                if let Some(to) = segments.after(place, &step.line) {
                    mark(to, value);
                }
            }
        }
        for turn in &here.turns {
            for &(place, value) in &sent[turn.from] {
                mark(place, value);
            }
        }
    }

    /// Solves the equations of the marked states.
    fn solve(&self, d: usize, values: &[Vec<f32>], lists: &mut Lists) {
        lists.solved.clear();
        lists
            .solved
            .resize(lists.marked.len().next_multiple_of(WIDTH), 0.0);
        f32::dispatch(Solve {
            run: self,
            d,
            values,
            places: &lists.marked,
            out: &mut lists.solved,
        });
    }

    /// Stores what was solved, and lists what is to be sent.
    fn store(
        &self,
        (values, lists, sent): (&mut [f32], &mut Lists, &mut Sent),
        (level, cap): (f32, f32),
    ) {
        let marked = std::mem::take(&mut lists.marked);
        let solved = std::mem::take(&mut lists.solved);
        for (&place, &value) in marked.iter().zip(&solved) {
            lists.flags[place as usize] &= !MARKED;
            let old = &mut values[place as usize];
            if value < *old * (1.0 - self.tolerance) && value < cap {
                *old = value;
                lists.changed_to(place, value, level);
            }
        }
        (lists.marked, lists.solved) = (marked, solved);
        lists.marked.clear();
        send(values, lists, sent);
    }
}

fn send(values: &[f32], lists: &mut Lists, sent: &mut Sent) {
    sent.clear();
    for place in lists.changed.drain(..) {
        lists.flags[place as usize] &= !CHANGED;
        sent.push((place, values[place as usize]));
    }
}

/// The solution of Σ w ((u − v)₊ / C)² = 1, each term with its own mean C, for marked states of one direction.
struct Solve<'a> {
    run: &'a Run<'a>,
    d: usize,
    values: &'a [Vec<f32>],
    places: &'a [u32],
    out: &'a mut [f32],
}

impl Kernel<f32> for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = f32>>(self) {
        let segments = &*self.run.prepared.segments;
        let here = &self.run.directions[self.d];
        let own = &self.values[self.d];
        let costs = self.run.costs(self.d);
        let count = here.steps.len() + here.turns.len();
        let mut read = [[UNREACHED; WIDTH]; TERMS];
        let mut weights = [[0f32; WIDTH]; TERMS];
        for (out, places) in self
            .out
            .chunks_exact_mut(WIDTH)
            .zip(self.places.chunks(WIDTH))
        {
            for (lane, &place) in places.iter().enumerate() {
                let at = place as usize;
                let mut terms = read.iter_mut().zip(&mut weights);
                for (step, (read, weight)) in here.steps.iter().zip(&mut terms) {
                    let from = segments.before(place, &step.line);
                    read[lane] = from.map_or(UNREACHED, |from| own[from as usize]);
                    weight[lane] = 0.0;
                    // Terms that are not lower have no effect, whatever they cost.
                    if let Some(from) = from.filter(|_| read[lane] < own[at]) {
                        let ends = 0.5 * (costs[at] + costs[from as usize]);
                        let inner = step.line.between.iter();
                        let inner = inner.map(|by| costs[segments.passed(place, *by)]);
                        let mean = step.line.mean(ends, inner);
                        weight[lane] = step.weight / (mean * mean);
                    }
                }
                for (turn, (read, weight)) in here.turns.iter().zip(&mut terms) {
                    read[lane] = self.values[turn.from][at];
                    let mean = 0.5 * (costs[at] + self.run.costs(turn.from)[at]);
                    weight[lane] = turn.weight / (mean * mean);
                }
            }
            for first in (0..WIDTH).step_by(V::LANES) {
                if first < places.len() {
                    root::<V>(&read[..count], &weights[..count], first).store(&mut out[first..]);
                }
            }
        }
    }
}

/// Newton's method from above: the sum is convex and increases where it is positive.
#[inline(always)]
fn root<V: Vector<Scalar = f32>>(
    read: &[[f32; WIDTH]],
    weights: &[[f32; WIDTH]],
    first: usize,
) -> V {
    let (one, tiny) = (V::splat(1.0), V::splat(1e-30));
    let mut u = V::splat(UNREACHED);
    for (read, weight) in read.iter().zip(weights) {
        let weight = V::load(&weight[first..]);
        let alone = V::load(&read[first..]) + one / weight.max(tiny).sqrt();
        u = u.select_above(alone, alone, u);
    }
    let (half, relative) = (V::splat(0.5), V::splat(1e-6));
    for _ in 0..NEWTON_STEPS {
        let (mut f, mut g) = (V::zero() - one, V::zero());
        for (read, weight) in read.iter().zip(weights) {
            let d = (u - V::load(&read[first..])).max(V::zero());
            let weighted = d * V::load(&weight[first..]);
            f = weighted.mul_add(d, f);
            g = g + weighted;
        }
        let step = f * half / g.max(tiny);
        let step = step.select_above(relative * u, step, V::zero());
        u = u - step;
        let mut steps = [0f32; WIDTH];
        step.store(&mut steps);
        if steps.iter().all(|s| *s == 0.0) {
            break;
        }
    }
    u
}

/// Values by direction, each by place.
pub fn solve(
    prepared: &Prepared,
    source: &Arc<Source>,
    limits: &Limits,
    control: &Control,
) -> Result<Vec<Vec<f32>>, Cancelled> {
    let run = Run::new(prepared);
    let (count, n) = (run.directions.len(), prepared.places.len());
    let all = 0..count;
    let mut values: Vec<Vec<f32>> = all
        .clone()
        .into_par_iter()
        .map(|_| vec![UNREACHED; n])
        .collect();
    let mut lists: Vec<Lists> = all
        .clone()
        .into_par_iter()
        .map(|_| Lists {
            flags: vec![0; n],
            ..Lists::default()
        })
        .collect();
    let mut sent: Vec<Sent> = vec![Vec::new(); count];
    for d in all.filter(|d| source.direction.is_none_or(|only| only == *d)) {
        for &place in &source.zero {
            values[d][place as usize] = 0.0;
            sent[d].push((place, 0.0));
        }
    }
    let step = prepared.level_step();
    let (mut level, mut cap) = (step, limits.cap);
    loop {
        control.check()?;
        let total: usize = sent.iter().map(Vec::len).sum();
        if total == 0 {
            // All values up to the level are final.
            if let Some(target) = &limits.target {
                let cost = target.least(&values);
                if cost <= level {
                    cap = cap.min(cost * (1.0 + target.max_excess));
                }
            }
            let Some(least) = least_waiting(&values, &mut lists, cap) else {
                forget(&mut values, cap);
                return Ok(values);
            };
            level = least + step;
            let released = values.par_iter().zip(&mut lists).zip(&mut sent);
            released.for_each(|((values, lists), sent)| release(values, lists, sent, level));
            continue;
        }
        let bounds = (level, cap);
        // If few states are left, this thread follows them: distributing them takes longer.
        let is_small = total < SHARED;
        let pieces = if is_small { count } else { 1 };
        let both = values.par_iter_mut().zip(&mut lists).enumerate();
        both.with_min_len(pieces)
            .for_each(|(d, (values, lists))| run.offer(d, &sent, (values, lists), bounds));
        lists
            .par_iter_mut()
            .enumerate()
            .with_min_len(pieces)
            .for_each(|(d, lists)| run.solve(d, &values, lists));
        let all = values.par_iter_mut().zip(&mut lists).zip(&mut sent);
        all.with_min_len(pieces)
            .for_each(|((values, lists), sent)| run.store((values, lists, sent), bounds));
    }
}

/// Values beyond a cap that was lowered are not final. Those of the region, 0, always are, also if the cap is 0 because
/// the regions overlap.
fn forget(values: &mut [Vec<f32>], cap: f32) {
    values.par_iter_mut().flatten().for_each(|value| {
        if *value >= cap && *value > 0.0 {
            *value = UNREACHED;
        }
    });
}

/// The least value that waits; values beyond the cap no longer do.
fn least_waiting(values: &[Vec<f32>], lists: &mut [Lists], cap: f32) -> Option<f32> {
    let both = values.par_iter().zip(lists);
    let least = both.map(|(values, lists)| {
        let mut least = UNREACHED;
        let Lists { flags, waiting, .. } = lists;
        waiting.retain(|&place| {
            let value = values[place as usize];
            let waits = flags[place as usize] & WAITING != 0 && value < cap;
            if waits {
                least = least.min(value);
            } else {
                flags[place as usize] &= !WAITING;
            }
            waits
        });
        least
    });
    let least = least.reduce(|| UNREACHED, f32::min);
    (least < UNREACHED).then_some(least)
}

/// Sends the waiting states up to the level.
fn release(values: &[f32], lists: &mut Lists, sent: &mut Sent, level: f32) {
    let Lists { flags, waiting, .. } = lists;
    sent.clear();
    waiting.retain(|&place| {
        let value = values[place as usize];
        let waits = value > level;
        if !waits {
            flags[place as usize] &= !WAITING;
            sent.push((place, value));
        }
        waits
    });
}
