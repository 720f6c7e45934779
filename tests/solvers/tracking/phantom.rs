//! Streamlines in the synthetic head against its true fibres, from a noisy scan on.

use crate::support::fields::{backend, params, region, run};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Mask, Role, Shape, TensorField};
use arcuate::phantom::{Bundle, Head, scan_grid, scan_options};
use arcuate::solvers::curves::{Params, Seeding};
use arcuate::solvers::tensor_fit::{self, Method};
use glam::{DVec3, Vec3};
use libtest_mimic::Trial;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![test("tracking::bundles of a noisy head", bundles)]
}

/// Bundles wide enough for voxels of 2 mm, along whose fibres nothing stronger runs.
const BUNDLES: [&str; 4] = [
    "Corticospinal tract",
    "Arcuate fasciculus",
    "Cingulum",
    "Corpus callosum",
];

/// Where fibres of two bundles cross at more than this angle in rad, one tensor is not enough.
const CROSSING_RAD: f64 = 0.5;

/// Tensors from a typical clinical scan: 2 mm, 30 directions, SNR 30.
fn fitted(head: &Head, grid: &Arc<Grid>, noise_seed: u64) -> TensorField {
    let (backend, control) = (backend(2), Control::new());
    let options = scan_options(grid.clone(), noise_seed);
    let scan = backend.install(|| head.diffusion_scan(&options, &control));
    let (dwi, gradients) = scan.unwrap();
    let mask = backend.install(|| head.brain_mask(grid, &control)).unwrap();
    let params = tensor_fit::Params {
        method: Method::Iwls { iterations: 2 },
        b_range_s_per_mm2: (0.0, f64::INFINITY),
        min_eigenvalue_mm2_per_s: 1e-5,
    };
    let fit = tensor_fit::fit(&dwi, &gradients, &mask, &params, &backend, &control);
    fit.unwrap().field
}

/// Where a seed lies with respect to crossings.
#[derive(Clone, Copy, PartialEq)]
enum SeedPosition {
    /// Neither the seed nor its fibre meets a crossing.
    Outside,
    /// Its fibre runs through a crossing.
    Before,
    Inside,
}

/// The voxels in the inner half of a bundle's section that contain no other tissue, by place.
fn core(head: &Head, bundle: &Bundle, grid: &Grid) -> Vec<Option<SeedPosition>> {
    let crosses = |p: DVec3| head.crossing_rad(p) > CROSSING_RAD;
    let place = |i: usize| {
        let centre = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        let at = bundle.coordinates(centre);
        if !at.inside() || at.u * at.u + at.v * at.v > 0.5 {
            None
        } else if crosses(centre) {
            Some(SeedPosition::Inside)
        } else if bundle.fibre(at.u, at.v, 100).into_iter().any(crosses) {
            Some(SeedPosition::Before)
        } else {
            Some(SeedPosition::Outside)
        }
    };
    let voxels = (0..grid.voxel_count()).into_par_iter();
    voxels.map(place).collect()
}

/// Fraction of the seeds whose streamline comes within 5 mm of both ends, and the median distance (mm) between
/// streamlines and the true fibres through their seeds.
fn follow(bundle: &Bundle, field: &TensorField, seeds: Mask) -> (f64, f64) {
    const END_MM: f64 = 5.0;
    let params = Params {
        seeding: Seeding::PerVoxel { count: 1 },
        min_fa: Some(0.15),
        max_angle_rad: Some(45f64.to_radians()),
        max_length_mm: Some(300.0),
        ..params()
    };
    let one_way = Params {
        both_ways: false,
        ..params.clone()
    };
    let count = seeds.count();
    let seeds = [region(Role::Seed, Shape::Mask(seeds))];
    let (output, ahead) = (run(field, &seeds, &params), run(field, &seeds, &one_way));
    let world = |p: &[f32; 3]| Vec3::from(*p).as_dvec3();
    let number = |value: &f32| *value as u32;
    // Streamlines that run in one direction start at their seeds.
    let starts: BTreeMap<u32, DVec3> = ahead.kept.per_streamline["seed"]
        .iter()
        .map(number)
        .zip(ahead.kept.streamlines().map(|line| world(&line[0])))
        .collect();
    let mut reached = 0;
    let mut off_mm = Vec::new();
    let numbers = output.kept.per_streamline["seed"].iter().map(number);
    for (seed, line) in numbers.zip(output.kept.streamlines()) {
        // A few have no step in the forward direction.
        let Some(start) = starts.get(&seed) else {
            continue;
        };
        let truth = bundle.coordinates(*start);
        let mut ends = (1.0f64, 0.0f64);
        for point in line.iter().map(world) {
            let at = bundle.coordinates(point);
            ends = (ends.0.min(at.t), ends.1.max(at.t));
            if at.beyond_mm == 0.0 {
                off_mm.push(bundle.point(at.t, truth.u, truth.v).distance(point));
            }
        }
        let end = END_MM / bundle.length_mm();
        reached += usize::from(ends.0 < end && ends.1 > 1.0 - end);
    }
    off_mm.sort_by(f64::total_cmp);
    let median = off_mm.get(off_mm.len() / 2).copied();
    (reached as f64 / count as f64, median.unwrap_or(f64::NAN))
}

fn bundles() {
    let mut random = Random::fresh("bundles");
    let head = Head::new(random.bits());
    let grid = scan_grid(2.0).unwrap();
    let field = fitted(&head, &grid, random.bits());
    let mut tested = 0;
    for bundle in head.bundles() {
        if !BUNDLES.iter().any(|name| bundle.name.starts_with(name)) {
            continue;
        }
        let places = core(&head, bundle, &grid);
        for (place, description) in [
            (SeedPosition::Outside, "outside crossings"),
            (SeedPosition::Before, "through a crossing"),
            (SeedPosition::Inside, "from inside a crossing"),
        ] {
            let chosen: Vec<u8> = places.iter().map(|p| u8::from(*p == Some(place))).collect();
            let seeds = Mask::new(grid.clone(), chosen);
            let count = seeds.count();
            if count == 0 {
                continue;
            }
            let (reached, off_mm) = follow(bundle, &field, seeds);
            println!(
                "{}, {description}: {:.0} % of {count} seeds reach both ends, {off_mm:.2} mm off",
                bundle.name,
                100.0 * reached
            );
            if place == SeedPosition::Outside {
                assert!(reached >= 0.9 && off_mm <= 1.5, "{}", bundle.name);
                tested += 1;
            }
        }
    }
    // Three pairs and the parts of the corpus callosum.
    assert!(tested >= 10, "{tested}");
}
