//! The voxels on which a lifted pathway depends: how E* depends on the costs, and on the amplitudes, of each.
//!
//! E* = u₁(x, n) + u₂(x, −n) at the state where the sum is smallest; to first order, a shift of that state does not change
//! E*. A value comes from one vertex, u = v + C̄ q, or from the equation Σ w ((u − v)₊ / C̄)² = 1, with C̄ the mean of C
//! along the step. The equation has the differential du = Σ λ dv + Σ λ (u − v) d ln C̄, λ ∝ w (u − v) / C̄². States are
//! visited in descending order of their values, and both forms read lower values only, so that each state is visited once
//! (the adjoint of the discrete scheme). The derivatives with respect to ln C of all states add up to the value itself,
//! because costs scale with C (Euler's relation).
//!
//! *By amplitude.* C = 1 / (δ + f / f_ref) below the reference amplitude, so that d ln C / d ln f = −(1 − δ C); at the
//! reference and above it a change of f changes nothing. The reference is a median over the mask and is taken as
//! constant.

use super::cpu::{Direction, directions};
use super::segments::Line;
use super::{LiftedField, LiftedPathway, Prepared, UNREACHED, opposite};
use crate::compute::{Backend, Cancelled, Control, memory};
use crate::data::keyed;
use crate::solvers::Error;
use crate::solvers::pathway::Sensitivity;
use std::collections::BinaryHeap;

/// Parts below this fraction of the value are passed to one state alone, which limits the number of visits and keeps the
/// sum.
const SMALLEST_PART: f64 = 1e-7;
/// Number of states between two checks for cancellation.
const CHECK: usize = 1024;
/// Costs within this relative distance of the least possible one belong to amplitudes at the reference or above.
const ROUNDING: f64 = 1e-6;
const NEWTON_STEPS: usize = 40;

/// Input of a voxel on which E* depends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SensitivityTo {
    /// Its costs in all directions.
    #[default]
    Cost,
    /// Its distribution.
    Amplitude,
}

keyed!(SensitivityTo, serde {
    Cost = "cost",
    Amplitude = "amplitude",
});

/// The contribution of each voxel to E*.
#[derive(Clone, Debug)]
pub struct LiftedSensitivity {
    /// d ln E* / d ln c with c the costs of a voxel in all directions; the shares add up to 1.
    pub by_cost: Sensitivity,
    /// −d ln E* / d ln f with f the distribution of a voxel, f_ref constant: 0 where amplitudes in the directions of the
    /// path reach the reference. `None` if the costs were given.
    pub by_amplitude: Option<Sensitivity>,
}

impl LiftedSensitivity {
    /// The derivatives with respect to one input; `None` for amplitudes if the costs were given.
    pub fn to(&self, input: SensitivityTo) -> Option<&Sensitivity> {
        match input {
            SensitivityTo::Cost => Some(&self.by_cost),
            SensitivityTo::Amplitude => self.by_amplitude.as_ref(),
        }
    }
}

impl LiftedPathway {
    /// The share of each voxel in E*. Equal on any number of threads.
    pub fn sensitivity(
        &self,
        backend: &Backend,
        control: &Control,
    ) -> Result<LiftedSensitivity, Error> {
        let prepared = self.prepared();
        let states = prepared.places.len() * prepared.directions.len();
        // The derivative that passes through each state, for both fields.
        memory::claim_for::<f64>("The sensitivity of a pathway", states, 2)?;
        control.begin("Sensitivity", 0);
        let direction = usize::from(self.best[self.middle]);
        let side = |field: usize, direction: usize| {
            let mut charged = Charged::new(prepared);
            let state = (direction, self.middle);
            adjoint(&self.fields[field], state, &mut charged, control)?;
            Ok::<_, Cancelled>([charged.by_cost, charged.by_amplitude])
        };
        let both = || rayon::join(|| side(0, direction), || side(1, opposite(direction)));
        let (first, second) = backend.install(both);
        let (first, second) = (first?, second?);
        let sum = |i: usize| -> Vec<f64> {
            let both = first[i].iter().zip(&second[i]);
            both.map(|(a, b)| a + b).collect()
        };
        let [by_cost, by_amplitude] = [0, 1].map(sum);
        let total: f64 = by_cost.iter().sum();
        let shares = |parts: &[f64]| Sensitivity {
            shares: parts.iter().map(|part| (part / total) as f32).collect(),
        };
        Ok(LiftedSensitivity {
            by_amplitude: prepared.amplitudes().map(|_| shares(&by_amplitude)),
            by_cost: shares(&by_cost),
        })
    }
}

/// The derivative of the value of a state with respect to the logarithm of the costs of each voxel, by place; all 0 where no
/// path leads. Their sum is the value.
pub fn derivative_by_log_cost(
    field: &LiftedField,
    direction: usize,
    place: usize,
    control: &Control,
) -> Result<Vec<f64>, Cancelled> {
    let mut charged = Charged::new(&field.prepared);
    adjoint(field, (direction, place), &mut charged, control)?;
    Ok(charged.by_cost)
}

/// Derivatives with respect to the logarithms of costs and, with the opposite sign, of amplitudes, by place.
struct Charged<'a> {
    prepared: &'a Prepared,
    by_cost: Vec<f64>,
    by_amplitude: Vec<f64>,
}

impl<'a> Charged<'a> {
    fn new(prepared: &'a Prepared) -> Self {
        let zeros = || vec![0.0; prepared.places.len()];
        Self {
            prepared,
            by_cost: zeros(),
            by_amplitude: zeros(),
        }
    }

    /// Adds a derivative with respect to ln C of one state.
    fn add(&mut self, direction: usize, place: usize, amount: f64) {
        self.by_cost[place] += amount;
        let background = self.prepared.params.background_speed;
        let factor = f64::from(self.prepared.factor(place));
        let cost = f64::from(self.prepared.cost(direction, place)) / factor;
        if cost > (1.0 + ROUNDING) / (1.0 + background) {
            self.by_amplitude[place] += amount * (1.0 - background * cost).max(0.0);
        }
    }
}

/// A state whose value another one reads, and the costs between them.
struct Read<'a> {
    direction: usize,
    place: usize,
    value: f64,
    /// Cost in mm where C is 1, or the weight of a term of the equation.
    factor: f64,
    /// Mean of C from there to the reading state.
    mean: f64,
    /// `None`: a turn on the spot.
    line: Option<&'a Line<'a>>,
}

impl Read<'_> {
    /// Charges a derivative with respect to ln C̄ to the states of the mean.
    fn charge(&self, (direction, place): (usize, usize), amount: f64, charged: &mut Charged<'_>) {
        let prepared = charged.prepared;
        let mut add = |d: usize, p: usize, share: f64| {
            let part = share * f64::from(prepared.cost(d, p)) / self.mean;
            charged.add(d, p, amount * part);
        };
        let share = self.line.map_or(1.0, |line| f64::from(line.share()));
        add(direction, place, 0.5 * share);
        add(self.direction, self.place, 0.5 * share);
        for by in self.line.iter().flat_map(|line| &line.between) {
            let passed = prepared.segments.passed(place as u32, *by);
            add(direction, passed, 0.5 * share);
            add(self.direction, passed, 0.5 * share);
        }
    }
}

/// The states that the value of one state comes from.
enum Origin<'a> {
    Vertex(Read<'a>),
    /// The root of the equation, and its terms with their shares λ.
    Equation(f64, Vec<(Read<'a>, f64)>),
}

/// Everything that a value is read from.
struct Scheme<'a> {
    field: &'a LiftedField,
    directions: &'a [Direction<'a>],
}

impl<'a> Scheme<'a> {
    /// A lower state at the start of a line, or at the place itself; `None` if it is not lower or the line leaves the mask.
    fn read(
        &self,
        (direction, place): (usize, usize),
        from: usize,
        line: Option<&'a Line<'a>>,
        factor: f32,
    ) -> Option<Read<'a>> {
        let prepared = &self.field.prepared;
        let segments = &prepared.segments;
        let start = match line {
            Some(line) => segments.before(place as u32, line)? as usize,
            None => place,
        };
        let value = self.field.value(from, start);
        if !(value < self.field.value(direction, place)) {
            return None;
        }
        let cost = |d: usize, p: usize| f64::from(prepared.cost(d, p));
        let ends = 0.5 * (cost(direction, place) + cost(from, start));
        let mean = line.map_or(ends, |line| {
            let passed = line.between.iter();
            let passed = passed.map(|by| segments.passed(place as u32, *by));
            let inner: f64 = passed
                .map(|p| 0.5 * (cost(direction, p) + cost(from, p)))
                .sum();
            (ends + inner) * f64::from(line.share())
        });
        Some(Read {
            direction: from,
            place: start,
            value: f64::from(value),
            factor: f64::from(factor),
            mean,
            line,
        })
    }

    /// `None` for a state of the source, or without a lower state.
    fn origin(&self, state: (usize, usize)) -> Option<Origin<'a>> {
        let here = &self.directions[state.0];
        let vertices = here.vertices.iter();
        let vertices = vertices.filter_map(|v| self.read(state, v.from, v.line.as_ref(), v.cost));
        let offered = |read: &Read| read.value + read.mean * read.factor;
        let vertex = vertices.min_by(|a, b| offered(a).total_cmp(&offered(b)));
        let steps = here.steps.iter();
        let steps = steps.filter_map(|s| self.read(state, state.0, Some(&s.line), s.weight));
        let turns = here.turns.iter();
        let turns = turns.filter_map(|t| self.read(state, t.from, None, t.weight));
        let terms: Vec<Read> = steps.chain(turns).collect();
        let root = root(&terms);
        match (vertex, root) {
            (Some(vertex), root) if root.is_none_or(|root| offered(&vertex) <= root) => {
                Some(Origin::Vertex(vertex))
            }
            (_, Some(root)) => {
                let part = |term: &Read| {
                    let above = (root - term.value).max(0.0);
                    term.factor * above / (term.mean * term.mean)
                };
                let sum: f64 = terms.iter().map(part).sum();
                let shared = terms.into_iter().map(|term| {
                    let share = part(&term) / sum;
                    (term, share)
                });
                Some(Origin::Equation(root, shared.collect()))
            }
            (_, None) => None,
        }
    }
}

/// The solution of Σ w ((u − v)₊ / C̄)² = 1 by Newton's method from above; `None` without a term.
fn root(terms: &[Read<'_>]) -> Option<f64> {
    let weight = |term: &Read| term.factor / (term.mean * term.mean);
    let alone = |term: &Read| term.value + 1.0 / weight(term).sqrt();
    let mut u = terms.iter().map(alone).min_by(f64::total_cmp)?;
    for _ in 0..NEWTON_STEPS {
        let (mut excess, mut slope) = (-1.0, 0.0);
        for term in terms {
            let above = (u - term.value).max(0.0);
            excess += weight(term) * above * above;
            slope += 2.0 * weight(term) * above;
        }
        let step = excess / slope;
        u -= step;
        if !(step > 1e-14 * u) {
            break;
        }
    }
    Some(u)
}

/// Charges the derivative of the value of a state to the costs that it depends on.
fn adjoint(
    field: &LiftedField,
    start: (usize, usize),
    charged: &mut Charged<'_>,
    control: &Control,
) -> Result<(), Cancelled> {
    if !(field.value(start.0, start.1) < UNREACHED) {
        return Ok(());
    }
    let prepared = &field.prepared;
    let directions = directions(prepared);
    let scheme = Scheme {
        field,
        directions: &directions,
    };
    let n = prepared.places.len();
    // The derivative by state, indexed by direction, then place. Only the memory of visited states is used.
    let mut passing = vec![0.0f64; n * prepared.directions.len()];
    // Values are not negative, so their bits have the same order.
    let entry = |(d, p): (usize, usize)| (field.value(d, p).to_bits(), (d * n + p) as u32);
    let mut waiting = BinaryHeap::from([entry(start)]);
    passing[start.0 * n + start.1] = 1.0;
    let mut visits = 0usize;
    while let Some((_, number)) = waiting.pop() {
        if visits.is_multiple_of(CHECK) {
            control.check()?;
        }
        visits += 1;
        let number = number as usize;
        let state = (number / n, number % n);
        let amount = std::mem::take(&mut passing[number]);
        let mut pass = |read: &Read, derivative: f64, part: f64| {
            read.charge(state, derivative, charged);
            let to = (read.direction, read.place);
            let passing = &mut passing[to.0 * n + to.1];
            if *passing == 0.0 {
                waiting.push(entry(to));
            }
            *passing += part;
        };
        match scheme.origin(state) {
            None => {}
            Some(Origin::Vertex(read)) => {
                pass(&read, amount * read.mean * read.factor, amount);
            }
            Some(Origin::Equation(root, terms)) if amount < SMALLEST_PART => {
                let largest = terms.iter().max_by(|a, b| a.1.total_cmp(&b.1));
                if let Some((read, _)) = largest {
                    pass(read, amount * (root - read.value), amount);
                }
            }
            Some(Origin::Equation(root, terms)) => {
                for (read, share) in terms.iter().filter(|term| term.1 > 0.0) {
                    let part = amount * share;
                    pass(read, part * (root - read.value), part);
                }
            }
        }
    }
    Ok(())
}
