//! Intersections of masks with the planes of slices: borders and insides, computed once and kept while they are shown.

use crate::data::{DataId, Grid, Mask};
use crate::state::view::Plane;
use glam::{DVec2, DVec3};
use std::collections::HashMap;
use std::sync::Arc;

/// Largest number of samples per side: a few milliseconds. Larger masks are shown by every second voxel.
const MAXIMUM_SAMPLES_PER_SIDE: f64 = 640.0;

/// A mask on a plane.
pub struct MaskOutline {
    axis: usize,
    level: f64,
    /// Closed lines, without repeating their first point.
    pub border: Vec<Vec<DVec2>>,
    /// Runs of the inside: two opposite corners each.
    pub inside: Vec<[DVec2; 2]>,
}

/// Outlines of the masks on screen.
#[derive(Default)]
pub struct MaskOutlines {
    outlines: HashMap<(DataId, usize), CachedOutline>,
    clock: u64,
}

struct CachedOutline {
    level: f64,
    last_used: u64,
    outline: Arc<MaskOutline>,
}

impl MaskOutlines {
    /// Begins a frame: outlines not shown in the last frames are dropped.
    pub fn tick(&mut self) {
        /// A pane may be idle while another is drawn.
        const FRAMES: u64 = 8;
        self.clock += 1;
        let oldest = self.clock.saturating_sub(FRAMES);
        self.outlines.retain(|_, kept| kept.last_used >= oldest);
    }

    pub fn outline(&mut self, mask: &Mask, plane: &Plane) -> Arc<MaskOutline> {
        let normal = plane.normal().abs();
        let axis = (0..3).find(|&a| normal[a] > 0.5).unwrap_or(2);
        let level = plane.centre[axis];
        let last_used = self.clock;
        let kept = self.outlines.get_mut(&(mask.id(), axis));
        if let Some(kept) = kept.filter(|kept| kept.level == level) {
            kept.last_used = last_used;
            return kept.outline.clone();
        }
        let outline = Arc::new(MaskOutline::new(mask, axis, level));
        let kept = CachedOutline {
            level,
            last_used,
            outline: outline.clone(),
        };
        self.outlines.insert((mask.id(), axis), kept);
        outline
    }
}

/// Cells of a plane: lines of the world along two axes.
struct Cells {
    origin: DVec2,
    step: DVec2,
    count: [usize; 2],
}

impl Cells {
    /// Cells are the voxels themselves where their edges run along the plane's axes, else squares of
    /// half their size.
    fn new(grid: &Grid, low: DVec2, high: DVec2, [u, v]: [usize; 2]) -> (Self, bool) {
        let edge = |axis: usize| {
            let m = grid.world_from_voxel.matrix3;
            let along = |a: usize| {
                let column = m.col(a);
                let off = (column - DVec3::AXES[axis] * column[axis]).length();
                (off < 1e-4 * column.length()).then(|| column[axis].abs())
            };
            (0..3).find_map(along)
        };
        let (step_mm, straight) = match (edge(u), edge(v)) {
            (Some(a), Some(b)) => (DVec2::new(a, b), true),
            _ => (DVec2::splat(grid.spacing().min_element() * 0.5), false),
        };
        let extent = high - low;
        let factor = (extent / step_mm / MAXIMUM_SAMPLES_PER_SIDE)
            .ceil()
            .max(DVec2::ONE);
        let step = step_mm * factor;
        let count = (extent / step - 1e-6).ceil().max(DVec2::ONE);
        let cells = Self {
            origin: low,
            step,
            count: [count.x as usize, count.y as usize],
        };
        (cells, straight && factor == DVec2::ONE)
    }

    fn corner(&self, i: usize, j: usize) -> DVec2 {
        self.origin + self.step * DVec2::new(i as f64, j as f64)
    }
}

impl MaskOutline {
    /// The world point of a point on the plane.
    pub fn world(&self, at: DVec2) -> DVec3 {
        let mut world = DVec3::ZERO;
        world[self.axis] = self.level;
        world[(self.axis + 1) % 3] = at.x;
        world[(self.axis + 2) % 3] = at.y;
        world
    }

    /// On the plane `world[axis] = level`: along voxel faces where the grid is straight, else by marching
    /// squares (Lorensen and Cline 1987, in two dimensions).
    pub fn new(mask: &Mask, axis: usize, level: f64) -> Self {
        let plane = [(axis + 1) % 3, (axis + 2) % 3];
        let mut outline = Self {
            axis,
            level,
            border: Vec::new(),
            inside: Vec::new(),
        };
        let Some((low, high)) = mask.bounds_inside() else {
            return outline;
        };
        if level < low[axis] || level > high[axis] {
            return outline;
        }
        let flat = |p: DVec3| DVec2::new(p[plane[0]], p[plane[1]]);
        let (cells, straight) = Cells::new(&mask.grid, flat(low), flat(high), plane);
        let samples = sample(mask, &cells, |at| outline.world(at), plane);
        outline.border = loops(&samples, cells.count)
            .into_iter()
            .map(|line| {
                let corners = line.iter().map(|&[i, j]| cells.corner(i, j)).collect();
                if straight {
                    turns(corners)
                } else {
                    middles(corners)
                }
            })
            .collect();
        let [nu, nv] = cells.count;
        for j in 0..nv {
            let row = &samples[j * nu..(j + 1) * nu];
            let mut i = 0;
            while i < nu {
                let run = row[i..].iter().take_while(|&&inside| inside).count();
                if run > 0 {
                    outline
                        .inside
                        .push([cells.corner(i, j), cells.corner(i + run, j + 1)]);
                }
                i += run.max(1);
            }
        }
        outline
    }
}

/// Whether the centre of each cell is inside, row by row.
fn sample(
    mask: &Mask,
    cells: &Cells,
    world: impl Fn(DVec2) -> DVec3,
    [u, _]: [usize; 2],
) -> Vec<bool> {
    let grid = &mask.grid;
    let [nu, nv] = cells.count;
    let step = grid.voxel_from_world.matrix3 * (DVec3::AXES[u] * cells.step.x);
    let shape = grid.shape.map(|n| n as f64);
    let mut samples = Vec::with_capacity(nu * nv);
    for j in 0..nv {
        let first = cells.corner(0, j) + cells.step * 0.5;
        // Rounds like Grid::nearest, without a transform for each cell.
        let start = grid.voxel_at(world(first)) + 0.5;
        samples.extend((0..nu).map(|i| {
            let at = start + step * i as f64;
            let inside = (0..3).all(|a| at[a] >= 0.0 && at[a] < shape[a]);
            inside && {
                let voxel = [at.x as usize, at.y as usize, at.z as usize];
                mask.inside[grid.index(voxel)] != 0
            }
        }));
    }
    samples
}

/// The closed lines around the inside cells, with these on the left: corners of cells, step by step.
fn loops(samples: &[bool], [nu, nv]: [usize; 2]) -> Vec<Vec<[usize; 2]>> {
    let inside = |i: isize, j: isize| {
        let (ok_i, ok_j) = (0..nu as isize, 0..nv as isize);
        ok_i.contains(&i) && ok_j.contains(&j) && samples[j as usize * nu + i as usize]
    };
    // For each corner, the directions in which a line leaves it: right, up, left, down.
    const WAYS: [[isize; 2]; 4] = [[1, 0], [0, 1], [-1, 0], [0, -1]];
    let wide = nu + 1;
    let mut exits = vec![0u8; wide * (nv + 1)];
    for j in 0..=nv as isize {
        for i in 0..=nu as isize {
            // The four cells around this corner.
            let (a, b) = (inside(i - 1, j - 1), inside(i, j - 1));
            let (c, d) = (inside(i - 1, j), inside(i, j));
            let ways = u8::from(d && !b)
                | u8::from(c && !d) << 1
                | u8::from(a && !c) << 2
                | u8::from(b && !a) << 3;
            exits[j as usize * wide + i as usize] = ways;
        }
    }
    let mut lines = Vec::new();
    for start in 0..exits.len() {
        while exits[start] != 0 {
            let mut line = Vec::new();
            let first = exits[start].trailing_zeros() as usize;
            let (mut at, mut way) = (start, first);
            loop {
                exits[at] &= !(1 << way);
                line.push([at % wide, at / wide]);
                let [di, dj] = WAYS[way];
                at = (at as isize + di + dj * wide as isize) as usize;
                let closes = |w: &usize| at == start && *w == first;
                // Left first: cells that meet only in a corner are separate.
                let mut next = [1, 0, 3].into_iter().map(|turn| (way + turn) % 4);
                match next.find(|w| closes(w) || exits[at] >> w & 1 == 1) {
                    Some(w) if !closes(&w) => way = w,
                    _ => break,
                }
            }
            lines.push(line);
        }
    }
    lines
}

/// Removes the points in the middle of straight segments.
fn turns(line: Vec<DVec2>) -> Vec<DVec2> {
    let n = line.len();
    let turned = |k: &usize| {
        let (before, here, after) = (line[(k + n - 1) % n], line[*k], line[(k + 1) % n]);
        (here - before).perp_dot(after - here).abs() > 1e-12
    };
    (0..n).filter(turned).map(|k| line[k]).collect()
}

/// Connects the midpoints of the steps: corners are cut.
fn middles(line: Vec<DVec2>) -> Vec<DVec2> {
    let n = line.len();
    (0..n)
        .map(|k| (line[k] + line[(k + 1) % n]) * 0.5)
        .collect()
}
