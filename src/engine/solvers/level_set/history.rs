//! Earlier states, stored exactly: where the band is, and its values.

use super::bricks::{Field, INSIDE, OUTSIDE};
use std::sync::Arc;

/// Largest number of stored states; beyond it, every other one is dropped.
const MAX_STATES: usize = 64;
/// Initial number of steps between stored states.
const INITIAL_INTERVAL: u64 = 25;

/// A field without the constants in its pages.
#[derive(Clone, Debug)]
pub struct Packed {
    pub step: u64,
    pub time: f64,
    /// Voxels inside, and the sum of their grey values.
    pub inside: u64,
    pub sum: i64,
    /// By brick: 0 outside, 1 inside, 2 a page.
    bricks: Vec<u8>,
    /// Two bits per voxel of the pages: 0 and 1 for the constants, 2 for a value.
    kinds: Vec<u8>,
    values: Vec<f32>,
}

impl Packed {
    pub fn new(field: &Field, (step, time): (u64, f64), inside: u64, sum: i64) -> Self {
        let volume = field.brick.pow(3);
        let mut packed = Self {
            step,
            time,
            inside,
            sum,
            bricks: Vec::with_capacity(field.table.len()),
            kinds: Vec::new(),
            values: Vec::new(),
        };
        for &slot in &field.table {
            packed.bricks.push(slot.min(2) as u8);
            if slot <= INSIDE {
                continue;
            }
            let page = &field.pages[slot as usize * volume..(slot as usize + 1) * volume];
            for four in page.chunks(4) {
                let mut kinds = 0;
                for (i, &v) in four.iter().enumerate() {
                    let kind = match v {
                        v if v == -field.clamp => 0,
                        v if v == field.clamp => 1,
                        _ => 2,
                    };
                    if kind == 2 {
                        packed.values.push(v);
                    }
                    kinds |= kind << (2 * i);
                }
                packed.kinds.push(kinds);
            }
        }
        packed
    }

    pub fn bytes(&self) -> usize {
        self.bricks.len() + self.kinds.len() + 4 * self.values.len()
    }

    pub fn field(&self, like: &Field) -> Field {
        let volume = like.brick.pow(3);
        let mut pages = vec![-like.clamp; volume];
        pages.resize(2 * volume, like.clamp);
        let mut values = self.values.iter();
        let mut kinds = self.kinds.iter();
        let mut table = Vec::with_capacity(self.bricks.len());
        for &brick in &self.bricks {
            table.push(match brick {
                0 => OUTSIDE,
                1 => INSIDE,
                _ => (pages.len() / volume) as u32,
            });
            if brick < 2 {
                continue;
            }
            for four in kinds.by_ref().take(volume / 4) {
                pages.extend((0..4).map(|i| match four >> (2 * i) & 3 {
                    0 => -like.clamp,
                    1 => like.clamp,
                    _ => values.next().copied().unwrap_or(like.clamp),
                }));
            }
        }
        Field {
            grid: like.grid.clone(),
            table,
            pages,
            ..*like
        }
    }
}

/// Stored states of a run, always including the first one.
#[derive(Clone, Debug)]
pub struct History {
    states: Vec<Arc<Packed>>,
    every: u64,
}

impl History {
    pub fn new(first: Packed) -> Self {
        Self {
            states: vec![Arc::new(first)],
            every: INITIAL_INTERVAL,
        }
    }

    /// Whether to store the state of this step.
    pub fn stores_step(&self, step: u64) -> bool {
        step.is_multiple_of(self.every) && self.states.last().is_none_or(|s| s.step < step)
    }

    pub fn push_state(&mut self, state: Packed) {
        self.states.push(Arc::new(state));
        if self.states.len() > MAX_STATES {
            self.every *= 2;
            let every = self.every;
            let mut first = true;
            self.states
                .retain(|s| std::mem::take(&mut first) || s.step.is_multiple_of(every));
        }
    }

    /// The last state at or before a step; later ones are dropped.
    pub fn truncate_to(&mut self, step: u64) -> Arc<Packed> {
        let keep = self.states.partition_point(|s| s.step <= step).max(1);
        self.states.truncate(keep);
        self.states[keep - 1].clone()
    }

    /// The last state at or before a step; later ones are kept.
    pub fn state_before(&self, step: u64) -> &Packed {
        let after = self.states.partition_point(|s| s.step <= step).max(1);
        &self.states[after - 1]
    }

    /// The states after a step.
    pub fn states_after(&self, step: u64) -> impl Iterator<Item = &Packed> {
        let after = self.states.iter().filter(move |s| s.step > step);
        after.map(|state| &**state)
    }

    pub fn bytes(&self) -> usize {
        self.states.iter().map(|state| state.bytes()).sum()
    }
}
