//! Values along a bundle against closed forms.

use crate::support::fields::{backend, sphere};
use crate::support::{Random, lines, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Role, Tractogram, Volume};
use arcuate::solvers::Error;
use arcuate::solvers::tractogram::ProfileParams;
use arcuate::solvers::tractogram::profile::{Along, Profile, Sense, Start, profile};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("profile::a linear field along a bundle", linear),
        test("profile::an arc turns no streamline the wrong way", arc),
        test("profile::which end is the start", senses),
        test("profile::no number of threads changes it", threads),
        test("profile::odd streamlines and what it refuses", odd),
    ]
}

/// Single precision of values about 1, sampled and averaged.
const ROUNDING: f64 = 2e-5;

fn run(
    lines: &Tractogram,
    along: &[Along],
    nodes: usize,
    start: &Start,
    sense: Sense,
    threads: usize,
) -> Result<Profile, Error> {
    let params = ProfileParams { nodes, sense };
    let backend = backend(threads);
    profile(
        lines,
        None,
        along,
        start,
        &params,
        &backend,
        &Control::new(),
    )
}

/// FA = `at` + `slope` · x on voxels of 2 mm.
fn field(at: f64, slope: DVec3) -> Volume {
    let grid = Grid::axis_aligned([60, 40, 40], DVec3::splat(2.0), DVec3::splat(-10.0)).unwrap();
    let value = |i: usize| {
        let world = grid.world(DVec3::from_array(grid.voxel(i).map(|c| c as f64)));
        (at + slope.dot(world)) as f32
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    Volume::scalar(Arc::new(grid), values)
}

/// A straight line in pieces of random length, from either end.
fn straight(random: &mut Random, from: DVec3, to: DVec3) -> Vec<DVec3> {
    let mut shares: Vec<f64> = (0..random.uniform(0.0, 30.0) as usize)
        .map(|_| random.uniform(0.0, 1.0))
        .chain([0.0, 1.0])
        .collect();
    shares.sort_by(f64::total_cmp);
    let mut line: Vec<DVec3> = shares.iter().map(|t| from.lerp(to, *t)).collect();
    if random.uniform(0.0, 1.0) < 0.5 {
        line.reverse();
    }
    line
}

fn linear() {
    let mut random = Random::fresh("profile linear");
    for _ in 0..10 {
        let slope = random.direction() * 0.008;
        let volume = field(0.4, slope);
        // Parallel lines at different heights: at each node the mean is that of the mean line, and the spread is that
        // of the heights times the slope across.
        let (from, to) = (DVec3::new(5.0, 20.0, 20.0), DVec3::new(85.0, 30.0, 25.0));
        let count = 40;
        let offs: Vec<DVec3> = (0..count)
            .map(|_| DVec3::new(0.0, random.uniform(-8.0, 8.0), random.uniform(-8.0, 8.0)))
            .collect();
        let all: Vec<Vec<DVec3>> = offs
            .iter()
            .map(|o| straight(&mut random, from + *o, to + *o))
            .collect();
        let all = lines(&all);
        // The field as a value per point.
        let own: Vec<f32> = all
            .points
            .iter()
            .map(|p| (0.4 + slope.dot(glam::Vec3::from(*p).as_dvec3())) as f32)
            .collect();
        let all = all.with_per_point("fa", own);
        let along = [Along::Image(volume, 0), Along::Value("fa".to_owned())];
        let nodes = 2 + random.uniform(0.0, 60.0) as usize;
        let found = run(&all, &along, nodes, &Start::Axis, Sense::AsIs, 2).unwrap();
        assert_eq!((found.used, found.passed_over), (count, 0));
        let length = from.distance(to);
        assert!((f64::from(found.length_mm) - length).abs() < 1e-4 * length);
        let mean_off = offs.iter().sum::<DVec3>() / count as f64;
        let across: Vec<f64> = offs.iter().map(|o| slope.dot(*o)).collect();
        let mean = across.iter().sum::<f64>() / count as f64;
        let squares: f64 = across.iter().map(|a| (a - mean) * (a - mean)).sum();
        let sd = (squares / (count - 1) as f64).sqrt();
        for node in 0..nodes {
            let at = from.lerp(to, node as f64 / (nodes - 1) as f64) + mean_off;
            let centre = glam::Vec3::from(found.centre[node]).as_dvec3();
            assert!(centre.distance(at) < 1e-4, "node {node}: {centre} for {at}");
            for track in &found.curves {
                let expected = 0.4 + slope.dot(at);
                assert!((f64::from(track.mean[node]) - expected).abs() < ROUNDING);
                assert!((f64::from(track.sd[node]) - sd).abs() < ROUNDING);
                assert_eq!(track.count[node], count as u32);
            }
        }
    }
}

/// Half circles whose ends lie next to each other: only the course of the lines distinguishes the ends.
fn arc() {
    let mut random = Random::fresh("profile arc");
    let one = |random: &mut Random| {
        let radius = random.uniform(18.0, 22.0);
        let points = 20 + random.uniform(0.0, 20.0) as usize;
        let mut line: Vec<DVec3> = (0..=points)
            .map(|i| {
                let angle = i as f64 / points as f64 * 5.5;
                DVec3::new(
                    30.0 + radius * angle.cos(),
                    30.0 + radius * angle.sin(),
                    20.0,
                )
            })
            .collect();
        if random.uniform(0.0, 1.0) < 0.5 {
            line.reverse();
        }
        line
    };
    let all: Vec<Vec<DVec3>> = (0..200).map(|_| one(&mut random)).collect();
    let angle_at = |p: &[f32; 3]| (p[1] - 30.0).atan2(p[0] - 30.0).rem_euclid(6.2831855);
    let all = lines(&all);
    let angles: Vec<f32> = all.points.iter().map(angle_at).collect();
    let all = all.with_per_point("angle", angles);
    let along = [Along::Value("angle".to_owned())];
    let found = run(&all, &along, 50, &Start::Axis, Sense::AsIs, 2).unwrap();
    // Chords of 20 pieces and more: the angle at a fraction of the length is that fraction, except for the error of
    // interpolation between two points.
    for (node, (mean, sd)) in found.curves[0]
        .mean
        .iter()
        .zip(&found.curves[0].sd)
        .enumerate()
    {
        let share = node as f64 / 49.0 * 5.5;
        let either = (f64::from(*mean) - share)
            .abs()
            .min((f64::from(*mean) - (5.5 - share)).abs());
        assert!(either < 0.01 && *sd < 0.01, "node {node}: {mean} ± {sd}");
    }
}

fn senses() {
    let mut random = Random::fresh("profile senses");
    let (low, high) = (DVec3::new(20.0, 5.0, 20.0), DVec3::new(22.0, 55.0, 12.0));
    let off = |random: &mut Random| random.direction() * 2.0;
    let all: Vec<Vec<DVec3>> = (0..30)
        .map(|_| {
            let o = off(&mut random);
            straight(&mut random, low + o, high + o)
        })
        .collect();
    let all = lines(&all);
    let first = |start: &Start, sense| {
        let found = run(&all, &[], 5, start, sense, 1).unwrap();
        glam::Vec3::from(found.centre[0]).as_dvec3().y
    };
    // It extends furthest along y: it starts at the back.
    assert!((first(&Start::Axis, Sense::AsIs) - 5.0).abs() < 2.0);
    assert!((first(&Start::Axis, Sense::Turned) - 55.0).abs() < 2.0);
    let front = Start::Near(Arc::new(sphere(Role::Seed, high, 3.0)));
    assert!((first(&front, Sense::AsIs) - 55.0).abs() < 2.0);
    assert!((first(&front, Sense::Turned) - 5.0).abs() < 2.0);
}

fn threads() {
    let mut random = Random::fresh("profile threads");
    let volume = field(0.3, DVec3::new(0.002, 0.001, -0.001));
    let all: Vec<Vec<DVec3>> = (0..4000)
        .map(|_| {
            let o = random.direction() * random.uniform(0.0, 10.0);
            let (a, b) = (DVec3::splat(20.0), DVec3::new(70.0, 30.0, 40.0));
            straight(&mut random, a + o, b + o)
        })
        .collect();
    let all = lines(&all);
    let along = [Along::Image(volume, 0)];
    let profile = |threads| run(&all, &along, 100, &Start::Axis, Sense::AsIs, threads).unwrap();
    assert!(profile(1) == profile(3), "the same bytes");
}

fn odd() {
    let at = DVec3::splat(20.0);
    let volume = field(0.5, DVec3::ZERO);
    let along = [Along::Image(volume.clone(), 0)];
    let some = lines(&[
        vec![],
        vec![at],
        vec![at, at],
        vec![at, DVec3::NAN],
        vec![at, at, at + DVec3::X, at + DVec3::X],
    ]);
    let found = run(&some, &along, 3, &Start::Axis, Sense::AsIs, 1).unwrap();
    assert_eq!((found.used, found.passed_over), (1, 4));
    assert_eq!(found.curves[0].sd, [0.0; 3]);
    assert_eq!(found.curves[0].count, [1; 3]);
    let error = |lines: &Tractogram, along: &[Along], nodes| {
        let found = run(lines, along, nodes, &Start::Axis, Sense::AsIs, 1);
        found.unwrap_err().to_string()
    };
    assert!(error(&some, &along, 1).contains("from 2 to 1000"));
    let named = [Along::Value("md".to_owned())];
    assert!(error(&some, &named, 5).contains("no value “md”"));
    let none = lines(&[vec![at], vec![]]);
    assert!(error(&none, &along, 5).contains("no streamline with a length"));
    // NaN is left out where it occurs.
    let mut values = volume.values.to_vec();
    values
        .iter_mut()
        .take(60 * 40 * 20)
        .for_each(|v| *v = f32::NAN);
    let holes = Volume::scalar(volume.grid.clone(), values);
    let up = lines(&[vec![
        DVec3::new(20.0, 20.0, 0.0),
        DVec3::new(20.0, 20.0, 60.0),
    ]]);
    let found = run(
        &up,
        &[Along::Image(holes, 0)],
        7,
        &Start::Axis,
        Sense::AsIs,
        1,
    )
    .unwrap();
    // Their voxels end at z = 29 mm.
    assert_eq!(found.curves[0].count, [0, 0, 0, 1, 1, 1, 1]);
    assert!(found.curves[0].mean[0].is_nan() && (found.curves[0].mean[6] - 0.5).abs() < 1e-6);
}
