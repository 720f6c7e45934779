//! Whole streamlines in fields with known fibres.

use super::{field, grid, lobes, params, run, sphere};
use crate::support::test;
use arcuate::data::{OdfField, PeakField, Role};
use arcuate::solvers::curves::{SeedOutcome, StopReason};
use arcuate::solvers::odf_tracking::{Fibres, Method, Params};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("odf_tracking::circle in distributions", circle),
        test("odf_tracking::circle in peaks", circle_in_peaks),
        test("odf_tracking::arcs around a circle", arcs_around),
        test("odf_tracking::the way back", way_back),
        test("odf_tracking::a crossing of peaks", crossing_peaks),
        test("odf_tracking::a crossing of lobes", crossing_lobes),
        test("odf_tracking::regions", regions),
        test("odf_tracking::borders", borders),
    ]
}

const CENTRE: DVec3 = DVec3::new(20.0, 20.0, 1.0);
const RADIUS: f64 = 12.0;

fn tangent(p: DVec3) -> DVec3 {
    let out = p - CENTRE;
    DVec3::new(-out.y, out.x, 0.0).normalize_or(DVec3::X)
}

fn circular() -> OdfField {
    field(&grid([41, 41, 3], 1.0), |p| lobes(&[(tangent(p), 1.0)]))
}

fn circular_peaks() -> PeakField {
    let grid = grid([41, 41, 3], 1.0);
    let n = grid.voxel_count();
    let mut values = vec![0f32; 3 * n];
    for voxel in 0..n {
        let peak = tangent(grid.world(DVec3::from_array(grid.voxel(voxel).map(|v| v as f64))));
        for axis in 0..3 {
            values[axis * n + voxel] = peak[axis] as f32;
        }
    }
    PeakField::new(grid, 1, values)
}

/// Distance from the circle of the seed at the end of one turn in each sense.
fn drift(fibres: &Fibres, step_mm: f64) -> f64 {
    let seed = sphere(Role::Seed, CENTRE + DVec3::X * RADIUS, 1e-3);
    let turn = std::f64::consts::TAU * RADIUS;
    let params = Params {
        step_mm,
        max_length_mm: Some(turn),
        both_ways: false,
        ..params(Method::Deterministic, 1)
    };
    let output = run(fibres, None, &[seed], &params, 1).unwrap();
    assert_eq!(output.kept.len(), 1);
    let line = output.kept.streamline(0);
    let radius = |p: [f32; 3]| (DVec3::from_array(p.map(f64::from)) - CENTRE).length();
    let steps = (turn / step_mm) as usize;
    assert_eq!(line.len(), steps + 1);
    radius(line[steps]) - radius(line[0])
}

fn second_order(fibres: &Fibres) {
    let fine = drift(fibres, 0.05);
    // The field is linear between voxels; its own circles are as exact as that.
    assert!(fine.abs() < 0.05, "{fine}");
    let errors = [1.0, 0.5, 0.25].map(|step| (drift(fibres, step) - fine).abs());
    for (error, step) in errors.iter().zip([1.0, 0.5, 0.25]) {
        assert!(*error < 0.1 * step * step, "{errors:?}");
    }
}

fn circle() {
    second_order(&Fibres::Distributions(circular()));
}

fn circle_in_peaks() {
    second_order(&Fibres::Peaks(circular_peaks()));
}

/// Many drawn arcs spread, yet their mean stays on the circle.
fn arcs_around() {
    let seed = sphere(Role::Seed, CENTRE + DVec3::X * RADIUS, 1e-3);
    let quarter = 0.5 * std::f64::consts::PI * RADIUS;
    let params = Params {
        max_length_mm: Some(quarter),
        both_ways: false,
        ..params(Method::Probabilistic, 2000)
    };
    let output = run(
        &Fibres::Distributions(circular()),
        None,
        &[seed],
        &params,
        2,
    )
    .unwrap();
    let ends = output.kept.streamlines().filter(|l| l.len() > 36);
    let radii: Vec<f64> = ends
        .map(|l| {
            (DVec3::from_array(l[l.len() - 1].map(f64::from)) - CENTRE)
                .truncate()
                .length()
        })
        .collect();
    assert!(radii.len() > 500, "{}", radii.len());
    let mean = radii.iter().sum::<f64>() / radii.len() as f64;
    assert!((mean - RADIUS).abs() < 1.0, "{mean}");
}

/// From its end, a streamline returns to its seed.
fn way_back() {
    let fibres = Fibres::Distributions(circular());
    let params = Params {
        max_length_mm: Some(20.0),
        both_ways: false,
        ..params(Method::Deterministic, 1)
    };
    let seed = sphere(Role::Seed, CENTRE + DVec3::X * RADIUS, 1e-3);
    let out = run(&fibres, None, &[seed], &params, 1).unwrap();
    let line = out.kept.streamline(0);
    let end = DVec3::from_array(line[line.len() - 1].map(f64::from));
    let both = Params {
        both_ways: true,
        max_length_mm: Some(60.0),
        ..params
    };
    let back = run(&fibres, None, &[sphere(Role::Seed, end, 1e-4)], &both, 1).unwrap();
    let back = back.kept.streamline(0);
    for p in line {
        let p = DVec3::from_array(p.map(f64::from));
        let away = |q: &[f32; 3]| p.distance(DVec3::from_array(q.map(f64::from)));
        let nearest = back.iter().map(away).fold(f64::INFINITY, f64::min);
        // Points are 0.5 mm apart.
        assert!(nearest < 0.27, "{nearest}");
    }
}

/// Two bundles along x and y that cross: a streamline keeps to its own.
fn crossing_peaks() {
    let grid = grid([21, 21, 3], 1.0);
    let n = grid.voxel_count();
    let mut values = vec![f32::NAN; 6 * n];
    for voxel in 0..n {
        let [x, y, _] = grid.voxel(voxel);
        let mut peaks = Vec::new();
        if x.abs_diff(10) <= 3 {
            peaks.push([0.0, -0.9, 0.0]);
        }
        if y.abs_diff(10) <= 3 {
            peaks.push([0.7, 0.0, 0.0]);
        }
        for (k, peak) in peaks.iter().enumerate() {
            for axis in 0..3 {
                values[(3 * k + axis) * n + voxel] = peak[axis];
            }
        }
    }
    let fibres = Fibres::Peaks(PeakField::new(grid, 2, values));
    let seed = sphere(Role::Seed, DVec3::new(2.0, 10.0, 1.0), 0.5);
    let output = run(
        &fibres,
        None,
        &[seed],
        &params(Method::Deterministic, 20),
        1,
    )
    .unwrap();
    assert_eq!(output.kept.len(), 20);
    for line in output.kept.streamlines() {
        assert!(line.iter().all(|p| (p[1] - 10.0).abs() < 0.6));
        assert!(line.len() > 38, "{}", line.len());
    }
    assert_eq!(output.stops[StopReason::LeftVolume as usize], 40);
}

fn crossing_lobes() {
    let grid = grid([21, 21, 3], 1.0);
    let both = lobes(&[(DVec3::X, 1.0), (DVec3::Y, 0.9)]);
    let (x, y) = (lobes(&[(DVec3::X, 1.0)]), lobes(&[(DVec3::Y, 0.9)]));
    let crossing = field(&grid, |p| {
        match ((p.y - 10.0).abs() < 3.5, (p.x - 10.0).abs() < 3.5) {
            (true, true) => both.clone(),
            (true, false) => x.clone(),
            (false, true) => y.clone(),
            _ => vec![0.0; 45],
        }
    });
    let fibres = Fibres::Distributions(crossing);
    let seed = sphere(Role::Seed, DVec3::new(2.0, 10.0, 1.0), 0.5);
    let seeds = [seed];
    let straight = run(&fibres, None, &seeds, &params(Method::Deterministic, 20), 1).unwrap();
    assert_eq!(straight.kept.len(), 20);
    for line in straight.kept.streamlines() {
        assert!(line.iter().all(|p| (p[1] - 10.0).abs() < 0.8));
    }
    let drawn = run(
        &fibres,
        None,
        &seeds,
        &params(Method::Probabilistic, 200),
        1,
    )
    .unwrap();
    let across = drawn.kept.streamlines().filter(|l| {
        let last = l[l.len() - 1];
        let first = l[0];
        last[0].max(first[0]) > 18.0
    });
    assert!(across.count() > 20);
}

fn regions() {
    let fibres =
        Fibres::Distributions(field(&grid([40, 9, 9], 1.0), |_| lobes(&[(DVec3::X, 1.0)])));
    let seed = sphere(Role::Seed, DVec3::new(20.0, 4.0, 4.0), 1.0);
    let target = sphere(Role::Target, DVec3::new(34.0, 4.0, 4.0), 4.0);
    let exclude = sphere(Role::Exclude, DVec3::new(8.0, 4.0, 4.0), 4.0);
    for method in [Method::Deterministic, Method::Probabilistic] {
        let params = params(method, 100);
        let all = run(&fibres, None, std::slice::from_ref(&seed), &params, 2).unwrap();
        assert_eq!(all.seed_outcomes.iter().sum::<u64>(), 100);
        let reached = run(&fibres, None, &[seed.clone(), target.clone()], &params, 2).unwrap();
        let kept = reached.seed_outcomes[SeedOutcome::Kept as usize];
        assert!(kept > 20, "{kept}");
        assert_eq!(reached.per_target, [kept]);
        for line in reached.kept.streamlines() {
            let end = DVec3::from_array(line[line.len() - 1].map(f64::from));
            let away = end.distance(DVec3::new(34.0, 4.0, 4.0));
            assert!((away - 4.0).abs() < 1e-3, "{away}");
        }
        let excluded = run(&fibres, None, &[seed.clone(), exclude.clone()], &params, 2).unwrap();
        let touched = excluded.seed_outcomes[SeedOutcome::TouchedExclude as usize];
        assert!(touched > 20, "{touched}");
    }
}

/// Where distributions end, and where the volume does.
fn borders() {
    let x = lobes(&[(DVec3::X, 1.0)]);
    let half = field(&grid([40, 9, 9], 1.0), |p| match p.x < 25.0 {
        true => x.clone(),
        false => vec![f64::NAN; 45],
    });
    let fibres = Fibres::Distributions(half);
    let seed = sphere(Role::Seed, DVec3::new(15.0, 4.0, 4.0), 0.5);
    let output = run(
        &fibres,
        None,
        &[seed],
        &params(Method::Deterministic, 10),
        1,
    )
    .unwrap();
    assert_eq!(output.kept.len(), 10);
    assert_eq!(output.stops[StopReason::LeftVolume as usize], 10);
    let low = output.stops[StopReason::LowAmplitude as usize]
        + output.stops[StopReason::LeftMask as usize];
    assert_eq!(low, 10);
    for line in output.kept.streamlines() {
        let furthest = line.iter().map(|p| p[0]).fold(0f32, f32::max);
        // A tenth of the amplitude remains 0.9 voxels beyond the last one.
        assert!((24.0..25.0).contains(&furthest), "{furthest}");
    }
}
