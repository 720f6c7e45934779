//! Sets of directions: closed under reversal, in pairs of a direction and its opposite.

use crate::data::{Grid, HalfSphere, keyed};
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
        match self {
            Self::Icosphere42 => in_pairs(HalfSphere::subdivided(1).vertices.iter().copied()),
            Self::Icosphere162 => in_pairs(HalfSphere::subdivided(2).vertices.iter().copied()),
            Self::Lattice98 => in_pairs(
                primitive_steps(2)
                    .map(|step| (grid.world_from_voxel.matrix3 * as_vector(step)).normalize()),
            ),
        }
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
fn in_pairs(all: impl Iterator<Item = DVec3>) -> Vec<DVec3> {
    let mut pairs: Vec<DVec3> = Vec::new();
    for direction in all {
        let known = |d: &DVec3| d.distance_squared(direction) < SAME;
        if !pairs.iter().any(known) {
            pairs.extend([direction, -direction]);
        }
    }
    pairs
}
