//! A surface as it is drawn: the zero level of values interpolated trilinearly between voxel centres.

use super::hull::{Disc, Hull};
use crate::data::{Grid, Volume};
use crate::solvers::level_set::bricks::{Field, counts, origin};
use crate::solvers::level_set::surface::{value, voxels_of};
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::ops::Range;

/// Voxels along the side of a block when a dense image is searched.
const BLOCK: usize = 8;

/// A cube between eight voxel centres that the surface crosses; values above 0 are inside.
struct Cell {
    /// Its lowest voxel; −1 lies just before the grid.
    voxel: [i32; 3],
    /// x fastest.
    values: [f32; 8],
}

/// Part of a cell: one of 8^`depth` equal parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellPart {
    cell: u32,
    depth: u8,
    voxel: [u16; 3],
}

impl CellPart {
    /// Largest depth: at greater depth the indices would no longer fit.
    const DEEPEST: u8 = 15;

    pub fn can_be_halved(&self) -> bool {
        self.depth < Self::DEEPEST
    }

    pub fn split(self) -> impl Iterator<Item = Self> {
        (0..8u16).map(move |k| Self {
            depth: self.depth + 1,
            voxel: [0, 1, 2].map(|a| 2 * self.voxel[a] + (k >> a & 1)),
            ..self
        })
    }
}

/// An axis-aligned box in world space, mm.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Bounds {
    pub low: DVec3,
    pub high: DVec3,
}

impl Bounds {
    pub const NONE: Self = Self {
        low: DVec3::INFINITY,
        high: DVec3::NEG_INFINITY,
    };

    pub fn with(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    pub fn enclosing(points: impl Iterator<Item = DVec3>) -> Self {
        points.fold(Self::NONE, |all, p| all.with(Self { low: p, high: p }))
    }

    fn distance(&self, other: &Self) -> f64 {
        let gap = (self.low - other.high).max(other.low - self.high);
        gap.max(DVec3::ZERO).length()
    }
}

enum Below {
    Cells(Range<u32>),
    Nodes([u32; 2]),
}

struct Node {
    bounds: Bounds,
    below: Below,
}

/// The cells that a surface crosses, and a tree of boxes around them.
pub struct Isosurface {
    grid: Grid,
    /// From voxels to world mm, without the translation.
    axes: DMat3,
    /// From gradients per voxel to gradients per mm.
    to_world: DMat3,
    cells: Vec<Cell>,
    nodes: Vec<Node>,
}

impl Isosurface {
    /// The surface φ = 0. Needs the backend's threads installed.
    pub fn of_field(field: &Field) -> Self {
        let bricks = 0..field.table.len();
        Self::new(&field.grid, bricks, |brick, cells| {
            voxels_of(field, brick, |at| {
                cells.extend(Cell::new(at, |corner| value(field, corner)));
            });
        })
    }

    /// The surface around the voxels of an image's first frame with at most this value, closed at the image's border.
    /// Needs the backend's threads installed.
    pub fn at_most(volume: &Volume, level: f32) -> Self {
        let grid = &volume.grid;
        let values = volume.frame(0);
        let value = |at: [i64; 3]| {
            let last = grid.shape.map(|n| n as i64 - 1);
            let within = [0, 1, 2].map(|a| at[a].clamp(0, last[a]));
            let value = values[grid.index(within.map(|v| v as usize))];
            let inside = match value <= level {
                true => (level - value).max(f32::MIN_POSITIVE),
                false => level - value,
            };
            match within == at {
                true => inside,
                false => -inside.abs().max(f32::MIN_POSITIVE),
            }
        };
        let shape = counts(grid.shape, BLOCK);
        let blocks = 0..shape.iter().product();
        Self::new(grid, blocks, |block, cells| {
            let first = origin(block, shape, BLOCK);
            let low = first.map(|v| if v == 0 { -1 } else { v as i64 });
            let high = [0, 1, 2].map(|a| (first[a] + BLOCK).min(grid.shape[a]) as i64);
            for z in low[2]..high[2] {
                for y in low[1]..high[1] {
                    for x in low[0]..high[0] {
                        cells.extend(Cell::new([x, y, z], value));
                    }
                }
            }
        })
    }

    fn new(grid: &Grid, groups: Range<usize>, fill: impl Fn(usize, &mut Vec<Cell>) + Sync) -> Self {
        let groups = groups.into_par_iter().map(|group| {
            let mut cells = Vec::new();
            fill(group, &mut cells);
            cells
        });
        let groups: Vec<Vec<Cell>> = groups.collect();
        let axes = grid.world_from_voxel.matrix3;
        let mut isosurface = Self {
            grid: grid.clone(),
            axes,
            to_world: axes.inverse().transpose(),
            cells: Vec::with_capacity(groups.iter().map(Vec::len).sum()),
            nodes: Vec::new(),
        };
        let mut leaves = Vec::new();
        for group in groups.into_iter().filter(|g| !g.is_empty()) {
            let start = isosurface.cells.len() as u32;
            isosurface.cells.extend(group);
            let cells = start..isosurface.cells.len() as u32;
            let bounds = cells.clone().map(|cell| isosurface.bounds_of(cell));
            let bounds = bounds.fold(Bounds::NONE, Bounds::with);
            leaves.push(Node {
                bounds,
                below: Below::Cells(cells),
            });
        }
        if !leaves.is_empty() {
            isosurface.build_tree(leaves);
        }
        isosurface
    }

    /// Builds a tree of these leaves; returns its root.
    fn build_tree(&mut self, mut leaves: Vec<Node>) -> u32 {
        let bounds = leaves.iter().map(|n| n.bounds);
        let bounds = bounds.fold(Bounds::NONE, Bounds::with);
        let root = self.nodes.len() as u32;
        if leaves.len() == 1 {
            self.nodes.extend(leaves);
            return root;
        }
        let axis = (bounds.high - bounds.low).max_position();
        let middle = leaves.len() / 2;
        let centre = |n: &Node| n.bounds.low[axis] + n.bounds.high[axis];
        leaves.select_nth_unstable_by(middle, |a, b| centre(a).total_cmp(&centre(b)));
        let others = leaves.split_off(middle);
        self.nodes.push(Node {
            bounds,
            below: Below::Nodes([0; 2]),
        });
        let below = [self.build_tree(leaves), self.build_tree(others)];
        self.nodes[root as usize].below = Below::Nodes(below);
        root
    }

    /// The box around the whole surface; `None` for an empty surface.
    pub(super) fn bounds(&self) -> Option<Bounds> {
        self.nodes.first().map(|root| root.bounds)
    }

    pub(super) fn cells(&self) -> Range<u32> {
        0..self.cells.len() as u32
    }

    pub(super) fn bounds_of(&self, cell: u32) -> Bounds {
        let (centre, half) = self.centre_and_half_edges(CellPart::from(cell));
        let reach = half.x_axis.abs() + half.y_axis.abs() + half.z_axis.abs();
        Bounds {
            low: centre - reach,
            high: centre + reach,
        }
    }

    /// The cells that may be closer to a box than `limit`, near ones first; visits may lower the limit.
    pub(super) fn for_each_near(
        &self,
        bounds: &Bounds,
        limit: impl Fn() -> f64,
        mut visit: impl FnMut(u32),
    ) {
        let Some(root) = self.nodes.first() else {
            return;
        };
        let mut waiting = vec![(root.bounds.distance(bounds), 0)];
        while let Some((away, node)) = waiting.pop() {
            if away >= limit() {
                continue;
            }
            match &self.nodes[node as usize].below {
                Below::Cells(cells) => {
                    for cell in cells.clone() {
                        if self.bounds_of(cell).distance(bounds) < limit() {
                            visit(cell);
                        }
                    }
                }
                Below::Nodes(below) => {
                    let mut both =
                        below.map(|n| (self.nodes[n as usize].bounds.distance(bounds), n));
                    if both[0].0 < both[1].0 {
                        both.reverse();
                    }
                    waiting.extend(both);
                }
            }
        }
    }

    /// Centre of a part and half its edges, world mm.
    fn centre_and_half_edges(&self, part: CellPart) -> (DVec3, DMat3) {
        let side = 1.0 / f64::from(1u32 << part.depth);
        let from = self.cells[part.cell as usize].voxel.map(f64::from);
        let within = part.voxel.map(|v| (f64::from(v) + 0.5) * side);
        let middle = DVec3::from_array(from) + DVec3::from_array(within);
        (self.grid.world(middle), self.axes * (0.5 * side))
    }

    /// Values at a part's corners; `None` if the surface does not cross it: a trilinear function takes its extremes
    /// at corners.
    fn corner_values(&self, part: CellPart) -> Option<[f64; 8]> {
        let side = 1.0 / f64::from(1u32 << part.depth);
        let values = &self.cells[part.cell as usize].values;
        let at = |k: usize| {
            let place = [0, 1, 2].map(|a| f64::from(part.voxel[a] + (k >> a & 1) as u16) * side);
            trilinear(values, place)
        };
        let values: [f64; 8] = std::array::from_fn(at);
        let inside = values.iter().filter(|v| **v > 0.0).count();
        (inside > 0 && inside < 8).then_some(values)
    }

    /// A convex set that contains the surface in a part. With s from −1 to 1 across the part, the value is c + Σ cᵢ
    /// sᵢ plus products of these, which sum to at most `bend`: a slab around a plane contains its zeros.
    pub(super) fn hull(&self, part: CellPart) -> Option<Hull> {
        let values = self.corner_values(part)?;
        let (centre, half) = self.centre_and_half_edges(part);
        let sum = |which: usize| -> f64 {
            let sign = |k: usize| match (!k & which).count_ones() % 2 {
                0 => 1.0,
                _ => -1.0,
            };
            let all = values.iter().enumerate();
            all.map(|(k, v)| sign(k) * v).sum::<f64>() / 8.0
        };
        let bend: f64 = [3, 5, 6, 7].iter().map(|&which| sum(which).abs()).sum();
        let scale = f64::from(2u32 << part.depth);
        let gradient = self.to_world * (DVec3::new(sum(1), sum(2), sum(4)) * scale);
        let diagonals = [
            half.x_axis + half.y_axis + half.z_axis,
            half.x_axis + half.y_axis - half.z_axis,
            half.x_axis - half.y_axis + half.z_axis,
            half.x_axis - half.y_axis - half.z_axis,
        ];
        let reach = diagonals
            .map(|d| d.length())
            .into_iter()
            .fold(0.0, f64::max);
        let steep = gradient.length();
        let slab = (steep > 0.0).then(|| (gradient / steep, sum(0) / steep, bend / steep));
        Some(Hull::Disc(Disc::new(centre, reach, slab)))
    }

    /// The points where the surface crosses a part's edges, along which its value is linear.
    pub(super) fn crossings(&self, part: CellPart) -> impl Iterator<Item = DVec3> {
        let (centre, half) = self.centre_and_half_edges(part);
        let values = self.corner_values(part);
        let corner = move |k: usize| {
            let sign = |a: usize| if k >> a & 1 == 1 { 1.0 } else { -1.0 };
            centre + half * DVec3::new(sign(0), sign(1), sign(2))
        };
        // From each corner in the positive direction of each axis.
        let edge = move |values: &[f64; 8], at: usize| {
            let (k, axis) = (at / 3, at % 3);
            let upper = k | 1 << axis;
            let (u, v) = (values[k], values[upper]);
            let crosses = upper != k && (u > 0.0) != (v > 0.0);
            crosses.then(|| corner(k).lerp(corner(upper), u / (u - v)))
        };
        let along = move |values: [f64; 8]| (0..24).filter_map(move |at| edge(&values, at));
        values.into_iter().flat_map(along)
    }
}

impl From<u32> for CellPart {
    /// A whole cell.
    fn from(cell: u32) -> Self {
        Self {
            cell,
            depth: 0,
            voxel: [0; 3],
        }
    }
}

impl Cell {
    fn new(at: [i64; 3], value: impl Fn([i64; 3]) -> f32) -> Option<Self> {
        let corner = |k: usize| [0, 1, 2].map(|a| at[a] + (k >> a & 1) as i64);
        let values: [f32; 8] = std::array::from_fn(|k| value(corner(k)));
        let inside = values.iter().filter(|v| **v > 0.0).count();
        (inside > 0 && inside < 8).then_some(Self {
            voxel: at.map(|v| v as i32),
            values,
        })
    }
}

/// Interpolates between eight corners, x fastest; `at` from 0 to 1.
pub(super) fn trilinear(values: &[f32; 8], at: [f64; 3]) -> f64 {
    let v = values.map(f64::from);
    let mix = |a: f64, b: f64, t: f64| a * (1.0 - t) + b * t;
    let x = [0, 2, 4, 6].map(|k| mix(v[k], v[k + 1], at[0]));
    let y = [mix(x[0], x[1], at[1]), mix(x[2], x[3], at[1])];
    mix(y[0], y[1], at[2])
}
