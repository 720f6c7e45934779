//! Steps between voxels that stay inside the mask, a bit for each voxel and step.

use super::directions::as_vector;
use crate::compute::memory::{self, Shortage};
use crate::solvers::metric::Places;
use rayon::prelude::*;

/// Marks a cell outside the mask.
const NO_PLACE: u32 = u32::MAX;
const BITS: usize = u64::BITS as usize;

/// The voxels of the mask in a box with a margin as wide as the longest step, and the steps that stay inside the mask.
#[derive(Debug)]
pub struct Segments {
    /// Cells of the box along each axis.
    shape: [usize; 3],
    /// Cell of each place.
    cell_of: Vec<u32>,
    /// Place of each cell, or [`NO_PLACE`].
    place_at: Vec<u32>,
    steps: Vec<[i32; 3]>,
    /// For each step one bit per cell: whether the step that ends at the cell stays in the mask.
    open: Vec<Vec<u64>>,
}

impl Segments {
    /// The steps may contain duplicates. Must be called on the backend's threads.
    pub fn new(places: &Places, steps: impl Iterator<Item = [i32; 3]>) -> Result<Self, Shortage> {
        let mut steps: Vec<[i32; 3]> = steps.filter(|s| *s != [0; 3]).collect();
        steps.sort_unstable();
        steps.dedup();
        let reach = steps.iter().flatten().map(|c| c.abs()).max().unwrap_or(0);
        let margin = i64::from(reach.max(1));
        let (mut low, mut high) = ([i64::MAX; 3], [i64::MIN; 3]);
        for place in 0..places.len() {
            let voxel = places.voxel(place);
            for a in 0..3 {
                low[a] = low[a].min(voxel[a]);
                high[a] = high[a].max(voxel[a]);
            }
        }
        let shape = [0, 1, 2].map(|a| (high[a] - low[a] + 1 + 2 * margin) as usize);
        let before = low.map(|l| margin - l);
        let cells = shape.iter().product::<usize>();
        let bytes = (4 * cells + steps.len() * cells / 8) as u64;
        memory::claim("The steps between voxels", bytes)?;
        let mut place_at = vec![NO_PLACE; cells];
        let mut inside = vec![0u64; cells.div_ceil(BITS)];
        let mut cell_of = Vec::with_capacity(places.len());
        for place in 0..places.len() {
            let voxel = places.voxel(place);
            let at = [0, 1, 2].map(|a| (voxel[a] + before[a]) as usize);
            let cell = at[0] + shape[0] * (at[1] + shape[1] * at[2]);
            cell_of.push(cell as u32);
            place_at[cell] = place as u32;
            inside[cell / BITS] |= 1 << (cell % BITS);
        }
        let mut segments = Self {
            shape,
            cell_of,
            place_at,
            steps,
            open: Vec::new(),
        };
        let unit: Vec<Vec<u64>> = (0..27)
            .into_par_iter()
            .map(|i| segments.unit_step(&inside, unit_step(i)))
            .collect();
        segments.open = segments
            .steps
            .par_iter()
            .map(|step| segments.line(&unit, *step))
            .collect();
        Ok(segments)
    }

    /// The line of a step given to [`Self::new`]; `None` for no step.
    pub fn line_of(&self, step: [i32; 3]) -> Option<Line<'_>> {
        let number = self.steps.binary_search(&step).ok()?;
        Some(Line {
            distance: self.distance(step) as i32,
            open: &self.open[number],
            between: self.between(step),
            share: 1.0 / length(step) as f32,
        })
    }

    /// Cells of the box along each axis.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Cells of the box.
    pub fn cells(&self) -> usize {
        self.place_at.len()
    }

    /// Cell of each place.
    pub fn cells_of(&self) -> &[u32] {
        &self.cell_of
    }

    /// All steps, each with one bit per cell: whether the step that ends at the cell stays in the mask.
    pub fn all_open(&self) -> impl Iterator<Item = ([i32; 3], &[u64])> {
        let both = self.steps.iter().zip(&self.open);
        both.map(|(step, open)| (*step, open.as_slice()))
    }

    /// The place a step after this one; `None` if the line there leaves the mask.
    #[inline(always)]
    pub fn after(&self, place: u32, line: &Line) -> Option<u32> {
        let cell = self.cell_of[place as usize].wrapping_add_signed(line.distance) as usize;
        let to = self.place_at[cell];
        (to != NO_PLACE && is_open(line.open, cell)).then_some(to)
    }

    /// The place a step before this one; `None` if the line there leaves the mask.
    #[inline(always)]
    pub fn before(&self, place: u32, line: &Line) -> Option<u32> {
        let cell = self.cell_of[place as usize];
        let from = self.place_at[cell.wrapping_sub_signed(line.distance) as usize];
        (from != NO_PLACE && is_open(line.open, cell as usize)).then_some(from)
    }

    /// A place on an open line to this one, by its distance in [`Line::between`].
    #[inline(always)]
    pub fn passed(&self, place: u32, by: i32) -> usize {
        let cell = self.cell_of[place as usize].wrapping_add_signed(by);
        self.place_at[cell as usize] as usize
    }

    /// Cells from one voxel to the one a step further.
    fn distance(&self, step: [i32; 3]) -> isize {
        let [x, y, z] = step.map(|c| c as isize);
        let [nx, ny, _] = self.shape.map(|n| n as isize);
        x + nx * (y + ny * z)
    }

    /// Distances from a voxel to those that the line to the one a step before it passes in between.
    fn between(&self, step: [i32; 3]) -> Vec<i32> {
        points_before(step)
            .map(|by| self.distance(by) as i32)
            .collect()
    }

    /// Whether each voxel may be left by a step to one of its 26 neighbours, see [`Places::is_step_open`].
    fn unit_step(&self, inside: &[u64], step: [i32; 3]) -> Vec<u64> {
        let moved = shifted(inside, self.distance(step));
        let axes: Vec<usize> = (0..3).filter(|&a| step[a] != 0).collect();
        if axes.len() < 2 {
            return moved;
        }
        let mut any = vec![0u64; inside.len()];
        for &axis in &axes {
            let mut less = step;
            less[axis] = 0;
            for (any, part) in any.iter_mut().zip(self.unit_step(inside, less)) {
                *any |= part;
            }
        }
        moved.iter().zip(any).map(|(a, b)| a & b).collect()
    }

    /// Whether the line from a voxel to the one a step before it stays in the mask, see [`Places::line_is_inside`].
    fn line(&self, unit: &[Vec<u64>], step: [i32; 3]) -> Vec<u64> {
        let count = length(step);
        let point = |i: i32| point(step, i);
        let mut all = vec![u64::MAX; self.place_at.len().div_ceil(BITS)];
        for i in 1..=count {
            let (from, to) = (point(i - 1), point(i));
            let part = &unit[unit_number([0, 1, 2].map(|a| to[a] - from[a]))];
            for (all, part) in all.iter_mut().zip(shifted(part, self.distance(from))) {
                *all &= part;
            }
        }
        all
    }
}

/// The cells that a step passes, as distances in the box.
pub struct Line<'a> {
    /// From its start to its end.
    pub distance: i32,
    /// One bit per cell: whether the step that ends at the cell stays in the mask.
    open: &'a [u64],
    /// From its end to the voxels in between.
    pub between: Vec<i32>,
    /// 1 / voxels along the longest axis.
    share: f32,
}

impl Line<'_> {
    /// Share of each voxel in the mean over the line.
    pub fn share(&self) -> f32 {
        self.share
    }

    /// The mean over the line from the mean of its ends and the values in between.
    #[inline(always)]
    pub fn mean(&self, ends: f32, inner: impl Iterator<Item = f32>) -> f32 {
        (ends + inner.sum::<f32>()) * self.share
    }
}

/// Whether a bit is set.
#[inline(always)]
fn is_open(bits: &[u64], cell: usize) -> bool {
    bits[cell / BITS] >> (cell % BITS) & 1 != 0
}

/// Voxels along the longest axis.
fn length(step: [i32; 3]) -> i32 {
    step.iter().map(|c| c.abs()).max().unwrap_or(0)
}

/// Offsets from a voxel to those that the line to the one a step before it passes in between.
pub fn points_before(step: [i32; 3]) -> impl Iterator<Item = [i32; 3]> {
    (1..length(step)).map(move |i| point(step, i))
}

/// Voxel number i on the line from a voxel to the one a step before it.
fn point(step: [i32; 3], i: i32) -> [i32; 3] {
    let share = f64::from(i) / f64::from(length(step).max(1));
    (-as_vector(step) * share)
        .to_array()
        .map(|c| c.round() as i32)
}

fn unit_step(number: usize) -> [i32; 3] {
    [number % 3, number / 3 % 3, number / 9].map(|c| c as i32 - 1)
}

fn unit_number(step: [i32; 3]) -> usize {
    let [x, y, z] = step.map(|c| (c + 1) as usize);
    x + 3 * (y + 3 * z)
}

/// Bits moved so that bit i of the result is bit i + `by`; 0 beyond both ends.
fn shifted(bits: &[u64], by: isize) -> Vec<u64> {
    let (whole, rest) = (by.div_euclid(BITS as isize), by.rem_euclid(BITS as isize));
    let word = |i: isize| match usize::try_from(i) {
        Ok(i) => bits.get(i).copied().unwrap_or(0),
        Err(_) => 0,
    };
    (0..bits.len() as isize)
        .map(|i| {
            let low = word(i + whole) >> rest;
            match rest {
                0 => low,
                _ => low | word(i + whole + 1) << (BITS as isize - rest),
            }
        })
        .collect()
}
