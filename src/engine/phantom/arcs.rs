//! Bundles of circular arcs in a ball, and as many arcs outside all bundles: a tractogram whose false streamlines are
//! known.
//!
//! Half of the arcs lie in 40 bundles (the same curve, displaced by a normally distributed offset, σ = 3 mm), the
//! others have their own position, direction and curvature. Steps of 1 mm, 40 to 110 mm long, curvature up to 1/33
//! mm.

use crate::data::random::Random;
use crate::data::{Grid, Mask, Tractogram, Volume, VolumeKind};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;

const BUNDLES: u64 = 40;
const STEP_MM: f64 = 1.0;
const SPREAD_MM: f64 = 3.0;
/// Change of direction per step.
const TURN_PER_STEP: f64 = 0.05;

/// The generated arcs and the ball that contains them.
pub struct Arcs {
    /// Grid on which the ball is a mask.
    pub grid: Arc<Grid>,
    /// The ball with 0.9 of half the grid as radius.
    pub mask: Mask,
    /// Bundled and single arcs.
    pub tractogram: Tractogram,
    /// Whether each streamline belongs to a bundle.
    pub real: Vec<bool>,
    /// Two or three directions in each voxel, from a smooth field unrelated to the arcs.
    pub peaks: Volume,
}

/// A sequence of uniform numbers.
struct Row {
    random: Random,
    next: u64,
}

impl Row {
    fn uniform(&mut self) -> f64 {
        self.next += 1;
        self.random.uniform(self.next)
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    fn normal(&mut self) -> DVec3 {
        let mut gaussian = || {
            let radius = (-2.0 * self.uniform().max(1e-300).ln()).sqrt();
            radius * (std::f64::consts::TAU * self.uniform()).cos()
        };
        DVec3::new(gaussian(), gaussian(), gaussian())
    }

    fn unit(&mut self) -> DVec3 {
        self.normal().normalize_or(DVec3::Z)
    }
}

struct Curve {
    centre: DVec3,
    along: DVec3,
    across: DVec3,
    curvature: f64,
    length_mm: f64,
}

impl Curve {
    fn random(row: &mut Row, centre: DVec3, shortest_mm: f64) -> Self {
        let along = row.unit();
        let across = along
            .cross(row.normal())
            .normalize_or(along.any_orthonormal_vector());
        Self {
            centre,
            along,
            across,
            curvature: row.between(-0.03, 0.03),
            length_mm: row.between(shortest_mm, 110.0),
        }
    }

    fn points(&self, moved: DVec3, inside: impl Fn(DVec3) -> bool) -> Vec<[f32; 3]> {
        let half = 0.5 * self.length_mm;
        let count = (self.length_mm / STEP_MM) as usize;
        let k = self.curvature;
        let at = |i: usize| {
            let s = i as f64 * STEP_MM - half;
            let (forth, side) = if k.abs() < 1e-6 {
                (s, 0.0)
            } else {
                ((k * s).sin() / k, (1.0 - (k * s).cos()) / k)
            };
            self.centre + moved + self.along * forth + self.across * side
        };
        let all = (0..=count).map(at).filter(|p| inside(*p));
        all.map(|p| p.as_vec3().to_array()).collect()
    }
}

impl Arcs {
    /// How well weights distinguish real streamlines from false ones: the area under the ROC curve, 1 if every real
    /// one has a larger weight than every false one (Mann and Whitney 1947).
    pub fn area_under_curve<W: Copy + Into<f64>>(weights: &[W], real: &[bool]) -> f64 {
        let weight = |i: usize| -> f64 { weights[i].into() };
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by(|&i, &j| weight(i).total_cmp(&weight(j)));
        let (mut ranks, mut first) = (0.0, 0);
        for run in order.chunk_by(|&i, &j| weight(i) == weight(j)) {
            let middle = first as f64 + 0.5 * (run.len() + 1) as f64;
            ranks += middle * run.iter().filter(|i| real[**i]).count() as f64;
            first += run.len();
        }
        let above = real.iter().filter(|r| **r).count() as f64;
        let below = real.len() as f64 - above;
        (ranks - above * (above + 1.0) / 2.0) / (above * below)
    }

    /// `count` streamlines in n³ voxels of 2 mm; `None` if that is not a valid grid.
    pub fn new(count: usize, n: usize, seed: u64) -> Option<Self> {
        let grid = Arc::new(Grid::axis_aligned([n; 3], DVec3::splat(2.0), DVec3::ZERO)?);
        let side = n as f64 * 2.0;
        let centre = DVec3::splat(side / 2.0 - 1.0);
        let radius = side * 0.42;
        let row = |stream: u64| Row {
            random: Random::new(seed).stream(stream),
            next: 0,
        };
        let mut of_bundles = row(0);
        let bundles: Vec<Curve> = (0..BUNDLES)
            .map(|_| {
                let off = of_bundles.unit() * radius * of_bundles.uniform() * 0.6;
                Curve::random(&mut of_bundles, centre + off, 60.0)
            })
            .collect();
        let inside = |p: DVec3| p.distance(centre) < radius;
        let lines: Vec<(Vec<[f32; 3]>, bool)> = (0..count as u64)
            .into_par_iter()
            .map(|i| {
                let mut row = row(i + 1);
                loop {
                    let real = row.uniform() < 0.5;
                    let points = if real {
                        let which = (row.uniform() * BUNDLES as f64) as usize;
                        let moved = row.normal() * SPREAD_MM;
                        bundles[which.min(bundles.len() - 1)].points(moved, inside)
                    } else {
                        let off = row.unit() * radius * row.uniform().cbrt();
                        Curve::random(&mut row, centre + off, 40.0).points(DVec3::ZERO, inside)
                    };
                    if points.len() > 20 {
                        return (points, real);
                    }
                }
            })
            .collect();
        Some(Self::from_lines(grid, &lines, 2))
    }

    /// `count` streamlines of one length that wander and turn back at the surface of the ball, every second of them
    /// real, and three directions in nearly every voxel: with 89 mm a streamline has as many segments (by voxels and
    /// bends) as in the tractogram of Hernandez 2018.
    pub fn wandering(count: usize, n: usize, length_mm: f64, seed: u64) -> Option<Self> {
        let grid = Arc::new(Grid::axis_aligned([n; 3], DVec3::splat(2.0), DVec3::ZERO)?);
        let side = n as f64 * 2.0;
        let centre = DVec3::splat(side / 2.0 - 1.0);
        let radius = side * 0.425;
        let steps = (length_mm / STEP_MM) as usize;
        let line = |i: usize| {
            let mut row = Row {
                random: Random::new(seed).stream(i as u64),
                next: 0,
            };
            let mut at = row.unit() * radius * row.uniform().cbrt();
            let mut way = row.unit();
            let mut points = Vec::with_capacity(steps + 1);
            for _ in 0..=steps {
                points.push((centre + at).as_vec3().to_array());
                way = (way + row.normal() * TURN_PER_STEP).normalize_or(way);
                if (at + way * STEP_MM).length() > radius {
                    let out = at.normalize_or(way);
                    way -= out * (2.0 * way.dot(out).max(0.0));
                }
                at = (at + way * STEP_MM).clamp_length_max(radius);
            }
            (points, i.is_multiple_of(2))
        };
        let lines: Vec<_> = (0..count).into_par_iter().map(line).collect();
        Some(Self::from_lines(grid, &lines, 3))
    }

    fn from_lines(grid: Arc<Grid>, lines: &[(Vec<[f32; 3]>, bool)], places: usize) -> Self {
        let n = grid.shape[0];
        let mut offsets = vec![0u64];
        let mut end = 0;
        offsets.extend(lines.iter().map(|(line, _)| {
            end += line.len() as u64;
            end
        }));
        let points: Vec<[f32; 3]> = lines
            .iter()
            .flat_map(|(line, _)| line.iter().copied())
            .collect();
        let at = |voxel: usize| {
            let v = DVec3::from_array(grid.voxel(voxel).map(|v| v as f64));
            (v - (n as f64 - 1.0) / 2.0) / (n as f64 / 2.0)
        };
        let voxels = grid.voxel_count();
        let in_ball: Vec<u8> = (0..voxels)
            .map(|v| u8::from(at(v).length() < 0.9))
            .collect();
        let mut peaks = vec![0f32; 3 * places * voxels];
        for voxel in 0..voxels {
            let p = at(voxel);
            let first = DVec3::new((2.0 * p.x).cos(), (2.0 * p.y).sin(), 0.5 + p.z).normalize();
            let second = first.cross(DVec3::new(0.3, 0.5, 0.8)).normalize();
            // A few voxels have one direction fewer.
            let third = if voxel % 14 > 0 {
                first.cross(second)
            } else {
                DVec3::ZERO
            };
            let all = [first, second, third].map(|v| v.to_array());
            for (a, value) in all[..places].as_flattened().iter().enumerate() {
                peaks[a * voxels + voxel] = *value as f32;
            }
        }
        Self {
            mask: Mask::new(grid.clone(), in_ball),
            tractogram: Tractogram::new(points, offsets),
            real: lines.iter().map(|(_, real)| *real).collect(),
            peaks: Volume::new(grid.clone(), 3 * places, VolumeKind::Scalar, peaks),
            grid,
        }
    }
}
