//! Closed triangle meshes.
//!
//! # Example
//!
//! The surface of a sphere encloses its volume:
//!
//! ```
//! use arcuate_engine::data::{Shape, Surface};
//! use glam::DVec3;
//!
//! let sphere = Shape::Sphere {
//!     centre: DVec3::ZERO,
//!     radius_mm: 5.0,
//! };
//! let surface = Surface::of_shape(&sphere);
//! assert!((surface.volume_mm3() / sphere.volume_mm3() - 1.0).abs() < 0.05);
//! ```

use super::{Grid, Mask, Shape};
use glam::{DVec3, Vec3};
use std::f64::consts::{PI, TAU};

/// Triangles, counter-clockwise seen from outside.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Surface {
    /// World RAS+ mm.
    pub points: Vec<[f32; 3]>,
    /// Indices of points.
    pub triangles: Vec<[u32; 3]>,
}

/// Steps of smoothing, alternately inwards and outwards (Taubin 1995, SIGGRAPH): the second compensates the shrinkage
/// by the first.
const ROUNDS: usize = 20;
const STEPS: [f32; 2] = [0.5, -0.53];
/// Largest distance of a point from the centre of its cell, voxels: less than the distance to voxel centres.
const REACH: f32 = 0.45;
/// Number of points around a sphere's equator.
const MERIDIANS: usize = 96;

impl Surface {
    /// The boundary of a mask, smoothed. Surface nets (Gibson 1998, MICCAI, LNCS 1496:888): one point in each cell of
    /// eight voxel centres that lie on both sides, drawn to the mean of its neighbours, but never out of its cell.
    /// Therefore no voxel centre changes sides, and thin parts are preserved.
    pub fn of_mask(mask: &Mask) -> Self {
        let Some(net) = VoxelNet::new(mask) else {
            return Self::default();
        };
        net.smoothed().surface(&mask.grid)
    }

    /// Boundary of a shape, world mm; that of a mask is smoothed.
    pub fn of_shape(shape: &Shape) -> Self {
        match shape {
            Shape::Mask(mask) => Self::of_mask(mask),
            Shape::Sphere { centre, radius_mm } => Self::sphere(*centre, *radius_mm),
            Shape::Box { centre, half_mm } => Self::cuboid(*centre, *half_mm),
        }
    }

    /// Circles of latitude between two poles.
    fn sphere(centre: DVec3, radius_mm: f64) -> Self {
        let rings = MERIDIANS / 2 - 1;
        let at = |direction: DVec3| (centre + radius_mm * direction).as_vec3().to_array();
        let mut points = vec![at(DVec3::Z)];
        for ring in 1..=rings {
            let (sin, cos) = (PI * ring as f64 / (rings + 1) as f64).sin_cos();
            points.extend((0..MERIDIANS).map(|m| {
                let (y, x) = (TAU * m as f64 / MERIDIANS as f64).sin_cos();
                at(DVec3::new(x * sin, y * sin, cos))
            }));
        }
        points.push(at(-DVec3::Z));
        let last = points.len() as u32 - 1;
        let index = |ring: usize, m: usize| (1 + ring * MERIDIANS + m % MERIDIANS) as u32;
        let mut triangles = Vec::new();
        for m in 0..MERIDIANS {
            triangles.push([0, index(0, m), index(0, m + 1)]);
            for ring in 0..rings - 1 {
                let [a, b] = [index(ring, m), index(ring, m + 1)];
                let [c, d] = [index(ring + 1, m), index(ring + 1, m + 1)];
                triangles.extend([[a, c, d], [a, d, b]]);
            }
            triangles.push([last, index(rings - 1, m + 1), index(rings - 1, m)]);
        }
        Self { points, triangles }
    }

    fn cuboid(centre: DVec3, half_mm: DVec3) -> Self {
        let corner = |c: usize| {
            let sign = |a: usize| if c >> a & 1 == 1 { 1.0 } else { -1.0 };
            let offset = DVec3::new(sign(0), sign(1), sign(2)) * half_mm;
            (centre + offset).as_vec3().to_array()
        };
        let mut triangles = Vec::new();
        for axis in 0..3 {
            let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
            let [b, c] = [1u32 << b, 1u32 << c];
            for side in [0, 1u32 << axis] {
                let quad = [side, side | b, side | b | c, side | c];
                triangles.extend(triangles_of_quad(quad, side == 0));
            }
        }
        Self {
            points: (0..8).map(corner).collect(),
            triangles,
        }
    }

    /// Enclosed volume, mm³.
    pub fn volume_mm3(&self) -> f64 {
        let corners = |t: &[u32; 3]| t.map(|i| Vec3::from(self.points[i as usize]).as_dvec3());
        let part = |t: &[u32; 3]| {
            let [a, b, c] = corners(t);
            a.dot(b.cross(c)) / 6.0
        };
        self.triangles.iter().map(part).sum()
    }
}

/// Two triangles of a quad.
fn triangles_of_quad(quad: [u32; 4], reversed: bool) -> [[u32; 3]; 2] {
    let [a, b, c, d] = quad;
    match reversed {
        false => [[a, b, c], [a, c, d]],
        true => [[a, c, b], [a, d, c]],
    }
}

/// Points and quads in voxel coordinates.
struct VoxelNet {
    points: Vec<Vec3>,
    /// The centre of each point's cell.
    cells: Vec<Vec3>,
    /// Counter-clockwise seen from outside, in voxel coordinates.
    quads: Vec<[u32; 4]>,
}

impl VoxelNet {
    /// `None` for an empty mask.
    fn new(mask: &Mask) -> Option<Self> {
        let grid = &mask.grid;
        let (mut low, mut high) = ([usize::MAX; 3], [0; 3]);
        for (i, _) in mask.inside.iter().enumerate().filter(|(_, v)| **v != 0) {
            let voxel = grid.voxel(i);
            for a in 0..3 {
                (low[a], high[a]) = (low[a].min(voxel[a]), high[a].max(voxel[a]));
            }
        }
        if low[0] > high[0] {
            return None;
        }
        // Voxel `c` is at `low + c - 1`, so that the region is surrounded by outside voxels; cell `c` lies between
        // the voxels `c` and `c + 1`.
        let size: [usize; 3] = std::array::from_fn(|a| high[a] - low[a] + 2);
        let index = |c: [usize; 3]| c[0] + size[0] * (c[1] + size[1] * c[2]);
        let inside = |c: [usize; 3]| {
            let within = (0..3).all(|a| (1..size[a]).contains(&c[a]));
            within && mask.inside[grid.index(std::array::from_fn(|a| low[a] + c[a] - 1))] != 0
        };
        let mut net = Self {
            points: Vec::new(),
            cells: Vec::new(),
            quads: Vec::new(),
        };
        let mut numbers = vec![u32::MAX; size.iter().product()];
        let mut point = |net: &mut Self, c: [usize; 3]| {
            let number = &mut numbers[index(c)];
            if *number == u32::MAX {
                *number = net.points.len() as u32;
                let at = |a: usize| (low[a] + c[a]) as f32 - 0.5;
                let middle = Vec3::new(at(0), at(1), at(2));
                net.points.push(middle);
                net.cells.push(middle);
            }
            *number
        };
        // Between two voxels along an axis that lie on different sides there is a quad; its corners are the points of
        // the four surrounding cells.
        for z in 0..=size[2] {
            for y in 0..=size[1] {
                for x in 0..=size[0] {
                    let v = [x, y, z];
                    let here = inside(v);
                    for axis in 0..3 {
                        let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
                        if v[axis] == size[axis] || v[b] == 0 || v[c] == 0 {
                            continue;
                        }
                        let mut next = v;
                        next[axis] += 1;
                        if here == inside(next) {
                            continue;
                        }
                        let quad = [(1, 1), (0, 1), (0, 0), (1, 0)].map(|(db, dc)| {
                            let mut cell = v;
                            (cell[b], cell[c]) = (v[b] - db, v[c] - dc);
                            point(&mut net, cell)
                        });
                        let [p, q, r, s] = quad;
                        net.quads.push(if here { quad } else { [s, r, q, p] });
                    }
                }
            }
        }
        Some(net)
    }

    fn smoothed(mut self) -> Self {
        let mut sums = vec![(Vec3::ZERO, 0.0f32); self.points.len()];
        for round in 0..ROUNDS {
            sums.fill((Vec3::ZERO, 0.0));
            for quad in &self.quads {
                for k in 0..4 {
                    let [p, q] = [quad[k] as usize, quad[(k + 1) % 4] as usize];
                    for (from, to) in [(p, q), (q, p)] {
                        sums[to].0 += self.points[from];
                        sums[to].1 += 1.0;
                    }
                }
            }
            for ((point, cell), (sum, n)) in self.points.iter_mut().zip(&self.cells).zip(&sums) {
                let mean = *sum / n.max(1.0);
                let moved = *point + STEPS[round % 2] * (mean - *point);
                *point = moved.clamp(*cell - REACH, *cell + REACH);
            }
        }
        self
    }

    fn surface(&self, grid: &Grid) -> Surface {
        let world = |p: &Vec3| grid.world(p.as_dvec3()).as_vec3().to_array();
        // A left-handed grid reverses every triangle.
        let mirrored = grid.world_from_voxel.matrix3.determinant() < 0.0;
        Surface {
            points: self.points.iter().map(world).collect(),
            triangles: self
                .quads
                .iter()
                .flat_map(|&quad| triangles_of_quad(quad, mirrored))
                .collect(),
        }
    }
}
