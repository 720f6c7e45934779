//! Sets of directions: closed under reversal, in pairs of a direction and its opposite.

use crate::data::{Grid, keyed};
use glam::DVec3;

/// Directions in which a path may run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DirectionSet {
    /// A subdivided icosahedron, 32° apart, for a preview.
    Icosphere42,
    /// Steps to voxels at most two away along each axis: straight paths along them have their exact cost.
    Lattice98,
    /// A subdivided icosahedron, 16° apart.
    Icosphere162,
}

keyed!(DirectionSet, serde {
    Icosphere42 = "42",
    Lattice98 = "98",
    Icosphere162 = "162",
});

/// Directions closer than this are the same, as a squared distance of unit vectors.
const SAME: f64 = 1e-9;

impl DirectionSet {
    /// Unit vectors in world axes; number 2i + 1 is the opposite of number 2i. Steps are those of the grid.
    pub fn directions(self, grid: &Grid) -> Vec<DVec3> {
        let all = match self {
            Self::Icosphere42 => icosphere(2),
            Self::Icosphere162 => icosphere(4),
            Self::Lattice98 => primitive_steps(2)
                .map(|step| (grid.world_from_voxel.matrix3 * as_vector(step)).normalize())
                .collect(),
        };
        in_pairs(&all)
    }
}

/// The number of the opposite direction.
pub fn opposite(direction: usize) -> usize {
    direction ^ 1
}

/// A step between voxels as a vector, in voxels.
pub fn as_vector(step: [i32; 3]) -> DVec3 {
    DVec3::from_array(step.map(f64::from))
}

/// Steps to voxels at most `reach` away along each axis that pass through no other voxel's centre.
pub fn primitive_steps(reach: i32) -> impl Iterator<Item = [i32; 3]> {
    let range = move || -reach..=reach;
    let all = range().flat_map(move |z| range().flat_map(move |y| range().map(move |x| [x, y, z])));
    all.filter(|[x, y, z]| greatest_divisor(greatest_divisor(x.abs(), y.abs()), z.abs()) == 1)
}

fn greatest_divisor(a: i32, b: i32) -> i32 {
    match b {
        0 => a,
        _ => greatest_divisor(b, a % b),
    }
}

/// Each direction that is not the opposite of an earlier one, followed by its opposite.
fn in_pairs(all: &[DVec3]) -> Vec<DVec3> {
    let mut pairs: Vec<DVec3> = Vec::with_capacity(all.len());
    for direction in all {
        let known = |d: &DVec3| d.distance_squared(*direction) < SAME;
        if !pairs.iter().any(known) {
            pairs.extend([*direction, -*direction]);
        }
    }
    pairs
}

/// The corners of an icosahedron whose edges are divided into this many parts. Divided at once, the angles between
/// neighbours vary less than on a [`HalfSphere`](crate::data::HalfSphere), which is halved again and again.
fn icosphere(parts: u32) -> Vec<DVec3> {
    let golden = 0.5 * (1.0 + 5f64.sqrt());
    let mut corners = Vec::with_capacity(12);
    for (a, b) in [
        (1.0, golden),
        (1.0, -golden),
        (-1.0, golden),
        (-1.0, -golden),
    ] {
        corners.extend([
            DVec3::new(a, b, 0.0),
            DVec3::new(0.0, a, b),
            DVec3::new(b, 0.0, a),
        ]);
    }
    // Edges have length 2.
    let joined = |a: &DVec3, b: &DVec3| a.distance_squared(*b) < 5.0;
    let mut points: Vec<DVec3> = Vec::new();
    for (i, a) in corners.iter().enumerate() {
        for (j, b) in corners[..i].iter().enumerate() {
            for c in &corners[..j] {
                if !(joined(a, b) && joined(b, c) && joined(a, c)) {
                    continue;
                }
                for p in 0..=parts {
                    for q in 0..=parts - p {
                        let [p, q, r] = [p, q, parts - p - q].map(f64::from);
                        let point = (*a * p + *b * q + *c * r).normalize();
                        if !points.iter().any(|k| k.distance_squared(point) < SAME) {
                            points.push(point);
                        }
                    }
                }
            }
        }
    }
    points
}
