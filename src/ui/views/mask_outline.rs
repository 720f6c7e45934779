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
    frame: Frame,
    /// Closed lines, without repeating their first point.
    pub border: Vec<Vec<DVec2>>,
    /// Runs of the inside: two opposite corners each.
    pub inside: Vec<[DVec2; 2]>,
}

/// Coordinates in a plane.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Frame {
    /// The plane `world[axis] = level`, with the coordinates of the other two axes.
    Straight { axis: usize, level: f64 },
    /// The plane through a point, with coordinates along screen right and screen down.
    Turned {
        origin: DVec3,
        right: DVec3,
        down: DVec3,
    },
}

impl Frame {
    fn of_plane(plane: &Plane) -> Self {
        let normal = plane.normal();
        let along = |a: &usize| normal[*a].abs() == 1.0 && is_along(plane.right);
        match (0..3).find(along) {
            Some(axis) => Self::Straight {
                axis,
                level: plane.centre[axis],
            },
            None => Self::Turned {
                // The foot of the origin, so that moving the plane within itself changes nothing.
                origin: normal * plane.centre.dot(normal),
                right: plane.right,
                down: plane.down,
            },
        }
    }

    /// The world point of a point on the plane.
    fn world(&self, at: DVec2) -> DVec3 {
        match *self {
            Self::Straight { axis, level } => {
                let mut world = DVec3::ZERO;
                world[axis] = level;
                world[(axis + 1) % 3] = at.x;
                world[(axis + 2) % 3] = at.y;
                world
            }
            Self::Turned {
                origin,
                right,
                down,
            } => origin + right * at.x + down * at.y,
        }
    }

    /// The directions of its coordinates.
    fn axes(&self) -> [DVec3; 2] {
        match *self {
            Self::Straight { axis, .. } => [1, 2].map(|step| DVec3::AXES[(axis + step) % 3]),
            Self::Turned { right, down, .. } => [right, down],
        }
    }

    /// The range of coordinates within a box; `None` if the plane misses it.
    fn range(&self, (low, high): (DVec3, DVec3)) -> Option<(DVec2, DVec2)> {
        match *self {
            Self::Straight { axis, level } => {
                let flat = |p: DVec3| DVec2::new(p[(axis + 1) % 3], p[(axis + 2) % 3]);
                let is_met = level >= low[axis] && level <= high[axis];
                is_met.then(|| (flat(low), flat(high)))
            }
            Self::Turned {
                origin,
                right,
                down,
            } => {
                let (centre, half) = ((low + high) * 0.5 - origin, (high - low) * 0.5);
                let normal = right.cross(down);
                let reach = DVec2::new(half.dot(right.abs()), half.dot(down.abs()));
                let middle = DVec2::new(centre.dot(right), centre.dot(down));
                let is_met = centre.dot(normal).abs() <= half.dot(normal.abs());
                is_met.then(|| (middle - reach, middle + reach))
            }
        }
    }
}

/// Whether a unit vector runs along a world axis.
fn is_along(direction: DVec3) -> bool {
    direction.abs().to_array().contains(&1.0)
}

/// Outlines of the masks on screen.
#[derive(Default)]
pub struct MaskOutlines {
    /// By mask and by normal of the plane.
    outlines: HashMap<(DataId, [u64; 3]), CachedOutline>,
    clock: u64,
}

struct CachedOutline {
    frame: Frame,
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
        let frame = Frame::of_plane(plane);
        let key = (mask.id(), plane.normal().abs().to_array().map(f64::to_bits));
        let last_used = self.clock;
        let kept = self.outlines.get_mut(&key);
        if let Some(kept) = kept.filter(|kept| kept.frame == frame) {
            kept.last_used = last_used;
            return kept.outline.clone();
        }
        let outline = Arc::new(MaskOutline::new(mask, frame));
        let kept = CachedOutline {
            frame,
            last_used,
            outline: outline.clone(),
        };
        self.outlines.insert(key, kept);
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
    fn new(grid: &Grid, low: DVec2, high: DVec2, [u, v]: [DVec3; 2]) -> (Self, bool) {
        let edge = |axis: DVec3| {
            let m = grid.world_from_voxel.matrix3;
            let along = |a: usize| {
                let column = m.col(a);
                let own = column.dot(axis);
                let off = (column - axis * own).length();
                (off < 1e-4 * column.length()).then(|| own.abs())
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
        self.frame.world(at)
    }

    /// Along voxel faces where the grid is straight on the plane, else by marching squares (Lorensen and Cline 1987, in
    /// two dimensions).
    fn new(mask: &Mask, frame: Frame) -> Self {
        let mut outline = Self {
            frame,
            border: Vec::new(),
            inside: Vec::new(),
        };
        let bounds = mask.bounds_inside();
        let Some((low, high)) = bounds.and_then(|bounds| frame.range(bounds)) else {
            return outline;
        };
        let (cells, straight) = Cells::new(&mask.grid, low, high, frame.axes());
        let samples = sample(mask, &cells, &frame);
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
fn sample(mask: &Mask, cells: &Cells, frame: &Frame) -> Vec<bool> {
    let grid = &mask.grid;
    let [nu, nv] = cells.count;
    let step = grid.voxel_from_world.matrix3 * (frame.axes()[0] * cells.step.x);
    let shape = grid.shape.map(|n| n as f64);
    let mut samples = Vec::with_capacity(nu * nv);
    for j in 0..nv {
        let first = cells.corner(0, j) + cells.step * 0.5;
        // Rounds like Grid::nearest, without a transform for each cell.
        let start = grid.voxel_at(frame.world(first)) + 0.5;
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
