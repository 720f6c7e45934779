//! Connections of labels: synthetic streamlines with known ends, and a count by brute force.

mod parity;

use crate::support::fields::{backend, odd_grid};
use crate::support::{Random, lines, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram, Volume};
use arcuate::solvers::Error;
use arcuate::solvers::connectivity::{Connectome, NO_LABEL, Params, connectome};
use arcuate::solvers::region::numbers;
use glam::{DVec3, Vec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let mut all = parity::tests();
    all.extend([
        test("connectivity::streamlines with known ends", known),
        test("connectivity::counts as in brute force", brute),
        test("connectivity::no number of threads changes it", threads),
        test("connectivity::refusals", refused),
    ]);
    all
}

fn run(
    lines: &Tractogram,
    among: Option<&[bool]>,
    labels: &Volume,
    radius_mm: f64,
    values: Option<&[f32]>,
    threads: usize,
) -> Result<Connectome, Error> {
    let control = Control::new();
    let known = numbers(labels, 0, &control)?;
    let labels = (labels, 0, &known);
    let mut params = Params::defaults();
    params.radius_mm = radius_mm;
    connectome(
        lines,
        among,
        labels,
        &params,
        values,
        &backend(threads),
        &control,
    )
}

/// Cubes of 10 voxels per side around (10, 10, 10), (40, 10, 10) and (10, 40, 10): labels 7, 12, 1000.
fn three() -> Volume {
    let grid = Grid::axis_aligned([60, 60, 20], DVec3::ONE, DVec3::ZERO).unwrap();
    let centres = [
        (7.0, DVec3::new(10.0, 10.0, 10.0)),
        (12.0, DVec3::new(40.0, 10.0, 10.0)),
        (1000.0, DVec3::new(10.0, 40.0, 10.0)),
    ];
    let value = |i: usize| {
        let at = DVec3::from_array(grid.voxel(i).map(|c| c as f64));
        let near = centres
            .iter()
            .find(|(_, c)| (at - *c).abs().max_element() <= 5.0);
        near.map_or(0.0, |(label, _)| *label)
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    Volume::scalar(Arc::new(grid), values)
}

fn known() {
    let labels = three();
    let [a, b, c] = [[10.0, 10.0], [40.0, 10.0], [10.0, 40.0]].map(|[x, y]| DVec3::new(x, y, 10.0));
    let off = |p: DVec3, x: f64| p + DVec3::new(x, 0.0, 0.0);
    let all = lines(&[
        vec![a, b],
        vec![b, (a + b) * 0.5, a],
        vec![off(a, 3.0), off(b, 1.0)],
        vec![a, c],
        vec![a, off(a, 2.0)],
        // 3 mm outside the second cube, whose last voxel centre is at x = 45; beyond all of them.
        vec![a, off(b, 8.0)],
        vec![off(b, 8.0), DVec3::new(-500.0, 0.0, 0.0)],
        vec![],
        vec![c],
    ]);
    let values = [1.0, 2.0, f32::NAN, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
    let found = run(&all, None, &labels, 0.0, Some(&values), 2).unwrap();
    assert_eq!(found.nodes, [7, 12, 1000]);
    assert_eq!(found.count, [1, 3, 1, 3, 0, 0, 1, 0, 1]);
    assert_eq!((found.examined, found.one_end, found.no_end), (9, 1, 2));
    let near = |found: f32, expected: f32| assert!((found - expected).abs() < 1e-5, "{found}");
    near(found.length_mm[found.at(0, 1)], (30.0 + 30.0 + 28.0) / 3.0);
    near(found.length_mm[found.at(1, 0)], (30.0 + 30.0 + 28.0) / 3.0);
    near(found.length_mm[found.at(2, 0)], 30.0);
    near(found.length_mm[found.at(1, 2)], 0.0);
    // NaN is left out of the mean.
    near(found.value[found.at(1, 0)], 1.5);
    near(found.value[found.at(2, 2)], 9.0);
    assert_eq!(found.pairs[1], [0, 1]);
    assert_eq!(found.pairs[5], [0, NO_LABEL]);
    assert_eq!(found.pairs[7], [NO_LABEL; 2]);
    let members = found.members(1, 0);
    let members: Vec<usize> = (0..9).filter(|i| members[*i]).collect();
    assert_eq!(members, [0, 1, 2]);
    // The nearest labelled centre is 3 mm away: a radius of 2.9 does not reach it.
    let count = |radius| run(&all, None, &labels, radius, None, 2).unwrap().count[1];
    assert_eq!((count(2.9), count(3.0)), (3, 4));
    let some: Vec<bool> = (0..9).map(|i| i != 1).collect();
    let found = run(&all, Some(&some), &labels, 0.0, None, 2).unwrap();
    assert_eq!((found.count[1], found.examined), (2, 8));
    assert!(found.value.is_empty());
    assert_eq!(found.names(&labels), ["7", "12", "1000"]);
}

/// A label map of speckles on a rotated, sheared grid.
fn speckles(random: &mut Random) -> Volume {
    let grid = odd_grid(random);
    let number = |random: &mut Random| match random.uniform(0.0, 1.0) {
        0.0..0.85 => 0.0,
        _ => random.uniform(1.0, 9.0).floor() as f32,
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(|_| number(random)).collect();
    Volume::scalar(Arc::new(grid), values)
}

fn random_lines(random: &mut Random, labels: &Volume, count: usize) -> Tractogram {
    let (low, high) = labels.grid.bounds();
    let air = (high - low) * 0.1;
    let point = |random: &mut Random| {
        let at = |a: usize, r: &mut Random| r.uniform(low[a] - air[a], high[a] + air[a]);
        DVec3::new(at(0, random), at(1, random), at(2, random))
    };
    let all: Vec<Vec<DVec3>> = (0..count)
        .map(|_| (0..3).map(|_| point(random)).collect())
        .collect();
    lines(&all)
}

/// Examines every voxel of the map.
fn label(labels: &Volume, point: [f32; 3], radius_mm: f64) -> i64 {
    let grid = &labels.grid;
    let world = Vec3::from(point).as_dvec3();
    if let Some(here) = labels.nearest(0, world).filter(|v| *v != 0.0) {
        return here as i64;
    }
    let mut best = (f64::INFINITY, 0);
    for (i, value) in labels
        .frame(0)
        .iter()
        .enumerate()
        .filter(|(_, v)| **v != 0.0)
    {
        let centre = grid.world(DVec3::from_array(grid.voxel(i).map(|c| c as f64)));
        let off = centre.distance(world);
        if off < best.0 {
            best = (off, *value as i64);
        }
    }
    if best.0 <= radius_mm { best.1 } else { 0 }
}

fn brute() {
    let mut random = Random::fresh("connectivity brute force");
    for _ in 0..6 {
        let labels = speckles(&mut random);
        let lines = random_lines(&mut random, &labels, 120);
        let radius = match random.uniform(0.0, 3.0) as usize {
            0 => 0.0,
            _ => random.uniform(0.2, 6.0),
        };
        let found = run(&lines, None, &labels, radius, None, 2).unwrap();
        let n = found.nodes.len();
        let mut count = vec![0u32; n * n];
        let mut length = vec![0f64; n * n];
        let (mut one, mut none) = (0, 0);
        for line in lines.streamlines() {
            let ends = [line[0], line[2]].map(|p| label(&labels, p, radius));
            let rows = ends.map(|e| found.nodes.iter().position(|n| *n == e));
            match rows {
                [Some(a), Some(b)] => {
                    let mm: f64 = line
                        .windows(2)
                        .map(|w| {
                            Vec3::from(w[0])
                                .as_dvec3()
                                .distance(Vec3::from(w[1]).as_dvec3())
                        })
                        .sum();
                    for at in [a * n + b, b * n + a]
                        .into_iter()
                        .take(1 + usize::from(a != b))
                    {
                        count[at] += 1;
                        length[at] += mm;
                    }
                }
                [None, None] => none += 1,
                _ => one += 1,
            }
        }
        assert_eq!(found.count, count, "radius {radius}");
        let all = (0..n as u32).flat_map(|a| (a..n as u32).map(move |b| [a, b]));
        let many = |[a, b]: [u32; 2]| count[a as usize * n + b as usize];
        let mut connected: Vec<[u32; 2]> = all.filter(|pair| many(*pair) > 0).collect();
        connected.sort_by_key(|pair| (std::cmp::Reverse(many(*pair)), *pair));
        assert_eq!(found.connected, connected);
        assert_eq!((found.one_end, found.no_end), (one, none));
        for (i, mm) in length.iter().enumerate().filter(|(i, _)| count[*i] > 0) {
            let expected = mm / f64::from(count[i]);
            // Lengths are summed in single precision.
            assert!((f64::from(found.length_mm[i]) - expected).abs() < 1e-4 * expected);
        }
    }
}

fn threads() {
    let mut random = Random::fresh("connectivity threads");
    let labels = speckles(&mut random);
    let lines = random_lines(&mut random, &labels, 5000);
    let values: Vec<f32> = (0..5000).map(|_| random.uniform(0.0, 1.0) as f32).collect();
    let one = run(&lines, None, &labels, 2.0, Some(&values), 1).unwrap();
    let three = run(&lines, None, &labels, 2.0, Some(&values), 3).unwrap();
    assert!(one == three);
    assert!(one.count.iter().any(|n| *n > 0));
}

fn refused() {
    let labels = three();
    let lines = lines(&[vec![DVec3::ZERO, DVec3::ONE]]);
    let error = |radius| {
        run(&lines, None, &labels, radius, None, 1)
            .unwrap_err()
            .to_string()
    };
    assert!(error(-1.0).contains("from 0 to 1000"));
    assert!(error(f64::NAN).contains("from 0 to 1000"));
    let empty = Volume::scalar(labels.grid.clone(), vec![0.0; labels.grid.voxel_count()]);
    let error = run(&lines, None, &empty, 0.0, None, 1).unwrap_err();
    assert!(error.to_string().contains("Found 0 labels"), "{error}");
    let measured = vec![0.5; labels.grid.voxel_count()];
    let measured = Volume::scalar(labels.grid.clone(), measured);
    let error = run(&lines, None, &measured, 0.0, None, 1).unwrap_err();
    assert!(error.to_string().contains("whole numbers"), "{error}");
}
