//! The surface φ = 0 as triangles.

use super::bricks::{Field, INSIDE, origin};
use crate::data::Surface;
use glam::DVec3;
use std::collections::HashMap;

/// φ of a voxel; beyond the grid, that of its border voxel with the sign of the outside, so that a surface that
/// reaches the border is closed there.
pub(super) fn value(field: &Field, at: [i64; 3]) -> f32 {
    let shape = field.grid.shape;
    let inside = [0, 1, 2].map(|a| at[a].clamp(0, shape[a] as i64 - 1));
    let value = field.value(inside.map(|v| v as usize));
    if inside == at {
        value
    } else {
        -value.abs().max(f32::MIN_POSITIVE)
    }
}

/// Surface nets (Gibson 1998, MICCAI, LNCS 1496:888): one point in each cell of eight voxel centres that the surface
/// crosses, at the mean of its crossings with the cell's edges.
pub fn surface(field: &Field) -> Surface {
    let mut points: Vec<[f32; 3]> = Vec::new();
    let mut of_cell: HashMap<[i64; 3], u32> = HashMap::new();
    let mut triangles = Vec::new();
    let mirrored = field.grid.world_from_voxel.matrix3.determinant() < 0.0;
    each_voxel(field, |at| {
        let own = value(field, at);
        for axis in 0..3 {
            let mut next = at;
            next[axis] += 1;
            let other = value(field, next);
            if (own > 0.0) == (other > 0.0) {
                continue;
            }
            let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
            let corner = |db: i64, dc: i64| {
                let mut cell = at;
                cell[b] += db;
                cell[c] += dc;
                cell
            };
            let cells = [corner(-1, -1), corner(0, -1), corner(0, 0), corner(-1, 0)];
            let mut quad = cells.map(|cell| {
                *of_cell.entry(cell).or_insert_with(|| {
                    points.push(point(field, cell));
                    points.len() as u32 - 1
                })
            });
            if (own > 0.0) == mirrored {
                quad.reverse();
            }
            let [p, q, r, s] = quad;
            triangles.extend([[p, q, r], [p, r, s]]);
        }
    });
    Surface { points, triangles }
}

/// World point of a cell that the surface crosses.
fn point(field: &Field, cell: [i64; 3]) -> [f32; 3] {
    let corner = |k: usize| [0, 1, 2].map(|a| cell[a] + (k >> a & 1) as i64);
    let values: [f32; 8] = std::array::from_fn(|k| value(field, corner(k)));
    let (mut sum, mut crossings) = (DVec3::ZERO, 0.0);
    for k in 0..8 {
        for axis in (0..3).filter(|a| k >> a & 1 == 0) {
            let (u, v) = (values[k], values[k | 1 << axis]);
            if (u > 0.0) != (v > 0.0) {
                let mut at = DVec3::from_array(corner(k).map(|c| c as f64));
                at[axis] += f64::from(u) / f64::from(u - v);
                sum += at;
                crossings += 1.0;
            }
        }
    }
    field
        .grid
        .world(sum / f64::max(crossings, 1.0))
        .as_vec3()
        .to_array()
}

/// Visits every voxel from which an edge along a positive axis may cross the surface, including those just before the
/// grid.
fn each_voxel(field: &Field, mut visit: impl FnMut([i64; 3])) {
    for brick in 0..field.table.len() {
        voxels_of(field, brick, &mut visit);
    }
}

/// Visits the voxels of one brick from which an edge along a positive axis may cross the surface.
pub(super) fn voxels_of(field: &Field, brick: usize, mut visit: impl FnMut([i64; 3])) {
    let (shape, b) = (field.counts(), field.brick);
    let grid = field.grid.shape;
    let first = origin(brick, shape, b);
    let low = first.map(|v| if v == 0 { -1 } else { v as i64 });
    let high = [0, 1, 2].map(|a| (first[a] + b).min(grid[a]) as i64);
    let side = field.table[brick];
    let mut quiet = side <= INSIDE;
    let at = first.map(|v| v / b);
    for k in 0..8 {
        // Bricks reached by edges from this one.
        let next = [0, 1, 2].map(|a| (at[a] + (k >> a & 1)).min(shape[a] - 1));
        quiet &= field.table[next[0] + shape[0] * (next[1] + shape[1] * next[2])] == side;
    }
    let border = (0..3).any(|a| first[a] == 0 || first[a] + b >= grid[a]);
    if quiet && !(border && side == INSIDE) {
        return;
    }
    for z in low[2]..high[2] {
        for y in low[1]..high[1] {
            for x in low[0]..high[0] {
                visit([x, y, z]);
            }
        }
    }
}
