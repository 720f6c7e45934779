//! Distances from a pathway to a mask: how near noise lets a path come to a tumour.

use super::repetitions::{Range90, Repetitions};
use super::trace::Path;
use crate::compute::Backend;
use crate::data::Mask;
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Distance between the points at which the distance along a path is given, mm.
const EVERY_MM: f64 = 1.0;

/// The distance of points from the voxels of a mask, each a box around its centre.
#[derive(Clone, Debug)]
pub struct MaskDistance {
    mask: Mask,
    /// Centres of the voxels at the rim, in voxels.
    rim: Vec<DVec3>,
    world: DMat3,
}

impl MaskDistance {
    /// `None` for an empty mask.
    pub fn new(mask: &Mask) -> Option<Self> {
        let shape = mask.grid.shape;
        let inside = |voxel: [usize; 3]| mask.inside[mask.grid.index(voxel)] != 0;
        let is_rim = |voxel: &[usize; 3]| {
            (0..3).any(|a| {
                let mut next = *voxel;
                next[a] += 1;
                let above = next[a] >= shape[a] || !inside(next);
                above || voxel[a] == 0 || {
                    next[a] -= 2;
                    !inside(next)
                }
            })
        };
        let rim: Vec<DVec3> = mask
            .voxels_inside()
            .filter(is_rim)
            .map(|v| DVec3::from_array(v.map(|c| c as f64)))
            .collect();
        (!rim.is_empty()).then(|| Self {
            mask: mask.clone(),
            rim,
            world: mask.grid.world_from_voxel.matrix3,
        })
    }

    /// The distance of a world point, mm; 0 inside.
    pub fn to(&self, point: DVec3) -> f64 {
        if self.mask.contains(point) {
            return 0.0;
        }
        let at = self.mask.grid.voxel_at(point);
        let half = DVec3::splat(0.5);
        let square = |centre: &DVec3| {
            let nearest = at.clamp(*centre - half, *centre + half);
            (self.world * (at - nearest)).length_squared()
        };
        self.rim
            .iter()
            .map(square)
            .fold(f64::INFINITY, f64::min)
            .sqrt()
    }

    /// The least distance of the voxels' centres of another mask, mm, and the volume that both share, ml; `None` if
    /// that is empty.
    pub fn to_mask(&self, other: &Mask) -> Option<(f64, f64)> {
        let voxels: Vec<[usize; 3]> = other.voxels_inside().collect();
        let distances: Vec<f64> = voxels
            .par_iter()
            .map(|v| self.to(other.grid.world(DVec3::from_array(v.map(|c| c as f64)))))
            .collect();
        let nearest = distances.iter().copied().reduce(f64::min)?;
        let shared = distances.iter().filter(|d| **d <= 0.0).count();
        let voxel_ml = other.grid.world_from_voxel.matrix3.determinant().abs() * 1e-3;
        Some((nearest, shared as f64 * voxel_ml))
    }
}

/// Distances of the repetitions' paths from a mask.
#[derive(Clone, Debug)]
pub struct Distances {
    /// Position along the shown path, mm, and the distance of the repetitions' paths next to it.
    pub along: Vec<(f64, Range90)>,
    /// The least distance of each repetition's path: median and range. `None` if no repetition has a path.
    pub nearest: Option<Range90>,
    /// That of the shown path.
    pub shown: f64,
}

impl Distances {
    /// Distances of the minimal paths of the repetitions, along the shown one.
    pub fn new(
        repetitions: &Repetitions,
        shown: &Path,
        from: &MaskDistance,
        backend: &Backend,
    ) -> Self {
        let metric = &repetitions.metric;
        let shown = shown.subdivided(metric);
        let samples = (shown.total_mm() / EVERY_MM).floor() as usize;
        let places: Vec<(f64, DVec3)> = (0..=samples)
            .filter_map(|i| {
                let mm = i as f64 * EVERY_MM;
                let at = shown.length_mm.partition_point(|l| *l < mm);
                Some((mm, *shown.points.get(at)?))
            })
            .collect();
        let paths: Vec<&Path> = repetitions.found().collect();
        // For each repetition its least distance, and that of its point next to each place.
        let all: Vec<(f64, Vec<f64>)> = backend.install(|| {
            let of_path = |path: &&Path| {
                let points = path.subdivided(metric).points;
                let own: Vec<f64> = points.iter().map(|p| from.to(*p)).collect();
                let next_to = |(_, place): &(f64, DVec3)| {
                    let away = points
                        .iter()
                        .map(|p| p.distance_squared(*place))
                        .enumerate();
                    let next = away.min_by(|a, b| a.1.total_cmp(&b.1));
                    next.map_or(f64::INFINITY, |(i, _)| own[i])
                };
                let along = places.iter().map(next_to).collect();
                (own.iter().copied().fold(f64::INFINITY, f64::min), along)
            };
            paths.par_iter().map(of_path).collect()
        });
        let along = places.iter().enumerate().filter_map(|(i, (mm, _))| {
            let range = Range90::of(all.iter().map(|(_, along)| along[i]).collect())?;
            Some((*mm, range))
        });
        Self {
            along: along.collect(),
            nearest: Range90::of(all.iter().map(|(nearest, _)| *nearest).collect()),
            shown: shown
                .points
                .iter()
                .map(|p| from.to(*p))
                .fold(f64::INFINITY, f64::min),
        }
    }
}
