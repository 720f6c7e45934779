//! The scheme for one direction: neighbours in space, neighbours on the sphere, and vertices.

use super::directions::{as_vector, opposite, primitive_steps};
use crate::data::Grid;
use crate::solvers::metric::decompose;
use glam::{DMat3, DVec3};
use std::f64::consts::TAU;

/// ε: speed across a direction as a share of that along it.
pub const SIDEWAYS: f64 = 0.1;
/// Largest number of neighbours of a direction on the sphere.
pub const MAX_TURNS: usize = 6;
/// Terms of Selling's decomposition.
pub const MAX_STEPS: usize = 6;
/// Two straight vertices, and two for each neighbour on the sphere.
pub const MAX_VERTICES: usize = 2 + 2 * MAX_TURNS;
/// Vertices reach at most this many voxels along each axis.
const REACH: i32 = 3;
/// Neighbours on the sphere lie at most this many times as far away as the nearest one, or in a gap between nearer ones
/// that is wider than this angle, radians.
const RING: f64 = 1.45;
const WIDE_GAP: f64 = 121.0 * std::f64::consts::PI / 180.0;
/// Least cosine between a vertex's step and the direction.
const ALONG: f64 = 0.9;
/// Weights below this share of the largest are rounding errors.
const NEGLIGIBLE: f64 = 1e-9;

/// A neighbour in space: the value at x − `step` for the same direction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// In voxels, turned towards the direction.
    pub step: [i32; 3],
    /// ρ, per voxel².
    pub weight: f64,
}

/// A neighbour on the sphere: the value at x for another direction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Turn {
    /// Number of the other direction.
    pub from: usize,
    /// Per (unit of cost)²: divided by the square of the curvature price.
    pub weight: f64,
}

/// A path of known shape: from x − `step` in another direction, a turn on the spot or a step in the same direction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Vertex {
    /// Number of the direction in which it starts.
    pub from: usize,
    /// In voxels.
    pub step: [i32; 3],
    /// Cost in mm where C is 1.
    pub cost: f64,
}

/// Everything that the update of a state in one direction reads.
#[derive(Clone, PartialEq, Debug)]
pub struct Stencil {
    /// Selling's decomposition of n nᵀ + ε² (I − n nᵀ), in voxel axes.
    pub steps: Vec<Step>,
    /// Weights that sum to twice the identity on the tangent plane.
    pub turns: Vec<Turn>,
    /// Hopf-Lax vertices.
    pub vertices: Vec<Vertex>,
}

/// The stencil of each direction. `curvature_price` is in mm per radian.
pub fn stencils(directions: &[DVec3], grid: &Grid, curvature_price: f64) -> Vec<Stencil> {
    let stencil = |i: usize| {
        let turns = turns(directions, i, curvature_price);
        Stencil {
            steps: steps(directions[i], grid),
            vertices: vertices(directions, i, &turns, grid, curvature_price),
            turns,
        }
    };
    (0..directions.len()).map(stencil).collect()
}

fn outer(v: DVec3) -> DMat3 {
    DMat3::from_cols(v * v.x, v * v.y, v * v.z)
}

fn steps(n: DVec3, grid: &Grid) -> Vec<Step> {
    let along = outer(n);
    let d = along + (DMat3::IDENTITY - along) * (SIDEWAYS * SIDEWAYS);
    let inverse = grid.voxel_from_world.matrix3;
    let terms = decompose(&(inverse * d * inverse.transpose()));
    let largest = terms.iter().fold(0.0, |m: f64, t| m.max(t.0));
    let used = terms.into_iter().filter(|t| t.0 > NEGLIGIBLE * largest);
    used.map(|(weight, step)| {
        let towards = (grid.world_from_voxel.matrix3 * as_vector(step)).dot(n) >= 0.0;
        Step {
            step: if towards { step } else { step.map(|c| -c) },
            weight,
        }
    })
    .collect()
}

/// Neighbours on the sphere with weights w ≥ 0 so that Σ w δ δᵀ is nearly 2 I on the tangent plane, δ towards each with
/// its angle as length: only those on the side of lower values count.
fn turns(directions: &[DVec3], i: usize, curvature_price: f64) -> Vec<Turn> {
    let n = directions[i];
    let near = neighbours(directions, i);
    let (u, v) = n.any_orthonormal_pair();
    let rows: Vec<DVec3> = near
        .iter()
        .map(|&(angle, j)| {
            let m = directions[j];
            let delta = (m - n * m.dot(n)).normalize_or_zero() * angle;
            let [a, b] = [delta.dot(u), delta.dot(v)];
            DVec3::new(a * a, b * b, a * b)
        })
        .collect();
    let count = rows.len() as f64;
    let mean = near.iter().map(|a| a.0).sum::<f64>() / count.max(1.0);
    // A slight pull to equal weights decides what the three equations leave open.
    let (pull, equal) = (1e-3 * mean * mean, 4.0 / (count * mean * mean));
    let weights = non_negative(&rows, DVec3::new(2.0, 2.0, 0.0), pull, equal);
    let turns = near.iter().zip(weights).filter(|(_, w)| *w > 0.0);
    turns
        .map(|(&(_, from), weight)| Turn {
            from,
            weight: weight / (curvature_price * curvature_price),
        })
        .collect()
}

/// The angles and numbers of a direction's neighbours on the sphere, at most [`MAX_TURNS`]: the nearest, and in wide gaps
/// between them farther ones. Steps of a grid whose voxels are long crowd around its short axes; the nearest alone would
/// leave paths no way to turn between these crowds.
fn neighbours(directions: &[DVec3], i: usize) -> Vec<(f64, usize)> {
    let n = directions[i];
    let mut others: Vec<(f64, usize)> = (0..directions.len())
        .filter(|j| *j != i && *j != opposite(i))
        .map(|j| (angle(n, directions[j]), j))
        .collect();
    others.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let nearest = others.first().map_or(0.0, |a| a.0);
    let (u, v) = n.any_orthonormal_pair();
    let turn = |j: usize| directions[j].dot(v).atan2(directions[j].dot(u));
    let mut near: Vec<(f64, usize)> = Vec::with_capacity(MAX_TURNS);
    for (angle, j) in others {
        if near.len() == MAX_TURNS {
            break;
        }
        // The gap between the neighbours on either side.
        let to = |other: usize, sense: f64| (sense * (turn(other) - turn(j))).rem_euclid(TAU);
        let side = |sense: f64| {
            let all = near.iter().map(|(_, other)| to(*other, sense));
            all.fold(TAU, f64::min)
        };
        if angle < RING * nearest || side(1.0) + side(-1.0) > WIDE_GAP {
            near.push((angle, j));
        }
    }
    near
}

/// The x ≥ 0 that minimises |Σ x row − target|² + pull² |x − equal|²: the best of the minima with some x = 0, of which
/// there are few.
fn non_negative(rows: &[DVec3], target: DVec3, pull: f64, equal: f64) -> Vec<f64> {
    let mut best = (f64::INFINITY, vec![0.0; rows.len()]);
    for subset in 0..1u32 << rows.len() {
        let is_free = |i: usize| subset >> i & 1 != 0;
        let free = || rows.iter().enumerate().filter(|(i, _)| is_free(*i));
        // With y = x − equal for the free ones, y = rows (Σ row rowᵀ + pull² I)⁻¹ rest.
        let mut matrix = DMat3::IDENTITY * (pull * pull);
        let mut rest = target;
        for (_, row) in free() {
            matrix += outer(*row);
            rest -= *row * equal;
        }
        let solved = matrix.inverse() * rest;
        let value = |(i, row): (usize, &DVec3)| {
            if is_free(i) {
                equal + row.dot(solved)
            } else {
                0.0
            }
        };
        let x: Vec<f64> = rows.iter().enumerate().map(value).collect();
        if x.iter().any(|x| *x < 0.0) {
            continue;
        }
        let mut missing = target;
        for (x, row) in x.iter().zip(rows) {
            missing -= *row * *x;
        }
        let from_equal: f64 = x.iter().map(|x| (x - equal) * (x - equal)).sum();
        let sum = missing.length_squared() + pull * pull * from_equal;
        if sum < best.0 {
            best = (sum, x);
        }
    }
    best.1
}

/// Two steps along the direction, one along the mean of it and each neighbour, and turns on the spot.
fn vertices(
    directions: &[DVec3],
    i: usize,
    turns: &[Turn],
    grid: &Grid,
    curvature_price: f64,
) -> Vec<Vertex> {
    let n = directions[i];
    let world = |step: [i32; 3]| grid.world_from_voxel.matrix3 * as_vector(step);
    // The steps by their cost per mm along a direction, least first.
    let best = |along: DVec3| {
        let mut all: Vec<(f64, f64, [i32; 3])> = primitive_steps(REACH)
            .filter_map(|step| {
                let d = world(step);
                let (length, part) = (d.length(), d.dot(along));
                let across = (length * length - part * part).max(0.0);
                let cost = (part * part + across / (SIDEWAYS * SIDEWAYS)).sqrt();
                (part > ALONG * length).then_some((cost / length, cost, step))
            })
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
        all
    };
    let straight = best(n).into_iter().take(2);
    let mut vertices: Vec<Vertex> = straight
        .map(|(_, cost, step)| Vertex {
            from: i,
            step,
            cost,
        })
        .collect();
    for turn in turns {
        let other = directions[turn.from];
        let price = curvature_price * angle(n, other);
        if let Some((_, cost, step)) = best((n + other).normalize()).first() {
            vertices.push(Vertex {
                from: turn.from,
                step: *step,
                cost: cost.hypot(price),
            });
        }
        vertices.push(Vertex {
            from: turn.from,
            step: [0; 3],
            cost: price,
        });
    }
    vertices
}

/// The angle between unit vectors.
pub fn angle(a: DVec3, b: DVec3) -> f64 {
    a.cross(b).length().atan2(a.dot(b))
}
