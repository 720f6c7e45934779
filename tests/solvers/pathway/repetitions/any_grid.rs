//! Distances from a mask on grids with any axes.

use crate::support::Random;
use crate::support::fields::{backend, odd_grid};
use arcuate::compute::Control;
use arcuate::data::Mask;
use arcuate::solvers::pathway::MaskDistance;
use glam::{DVec3, dvec3};
use std::sync::Arc;

/// On grids with any axes, distances are those of densely sampled voxels: of points, of lines and of masks on other
/// grids.
pub fn distances() {
    let mut random = Random::fresh("distances on sheared grids");
    for _ in 0..12 {
        let [grid, other] = [0; 2].map(|_| Arc::new(odd_grid(&mut random)));
        let [mask, far] = [&grid, &other].map(|grid| {
            let mut inside = vec![0; grid.voxel_count()];
            for _ in 0..3 {
                inside[random.bits() as usize % grid.voxel_count()] = 1;
            }
            Mask::new(grid.clone(), inside)
        });
        let from = MaskDistance::new(&mask).unwrap();
        let samples = sampled(&mask);
        // Samples are this near to each point of the voxels.
        let spacing = 0.5 * grid.spacing().length() / SAMPLES as f64;
        let middle = samples.iter().sum::<DVec3>() / samples.len() as f64;
        let size = grid.spacing().max_element();
        let mut points = Vec::new();
        for _ in 0..20 {
            let away = [0; 3].map(|_| random.uniform(-4.0, 4.0) * size);
            let at = middle + DVec3::from_array(away);
            let distance = |p: &DVec3| p.distance(at);
            let nearest = samples.iter().map(distance).fold(f64::INFINITY, f64::min);
            let found = from.to(at);
            assert!(
                found < nearest + 1e-3 && found > nearest - 2.0 * spacing,
                "{found}, {nearest}"
            );
            let point = from.nearest_point(at);
            assert!((point.distance(at) - found).abs() < 2e-3, "{point} {found}");
            assert!(from.to(point) < 2e-3, "{point} is on the mask");
            points.push(at);
        }
        let line = [points[0], points[1]];
        let on_line = (0..=2000).map(|i| from.to(line[0].lerp(line[1], f64::from(i) / 2000.0)));
        let nearest = on_line.fold(f64::INFINITY, f64::min);
        let found = from.to_line(&line);
        let step = line[0].distance(line[1]) / 2000.0;
        assert!(
            found < nearest + 2e-3 && found > nearest - step - 2e-3,
            "{found}, {nearest}"
        );
        let (backend, control) = (backend(2), Control::new());
        let separation = from.to_mask(&far, &backend, &control).unwrap().unwrap();
        let back = MaskDistance::new(&far).unwrap();
        let back = back.to_mask(&mask, &backend, &control).unwrap().unwrap();
        let of_samples = sampled(&far)
            .iter()
            .map(|p| from.to(*p))
            .fold(f64::INFINITY, f64::min);
        let spacing = other.spacing().length() / SAMPLES as f64;
        assert!(
            separation.nearest_mm < of_samples + 2e-3
                && separation.nearest_mm > of_samples - spacing,
            "{separation:?}, {of_samples}"
        );
        assert!(
            (separation.nearest_mm - back.nearest_mm).abs() < 2e-3,
            "{separation:?}, {back:?}"
        );
    }
}

/// Samples along an edge of a voxel.
const SAMPLES: usize = 24;

/// Points in all voxels of a mask, also on their faces.
fn sampled(mask: &Mask) -> Vec<DVec3> {
    let along = (0..=SAMPLES).map(|i| i as f64 / SAMPLES as f64 - 0.5);
    let along: Vec<f64> = along.collect();
    let mut all = Vec::new();
    for voxel in mask.voxels_inside() {
        let centre = DVec3::from_array(voxel.map(|c| c as f64));
        for (x, y, z) in along.iter().flat_map(|x| {
            let rest = along
                .iter()
                .flat_map(|y| along.iter().map(move |z| (*y, *z)));
            rest.map(move |(y, z)| (*x, y, z))
        }) {
            all.push(mask.grid.world(centre + dvec3(x, y, z)));
        }
    }
    all
}
