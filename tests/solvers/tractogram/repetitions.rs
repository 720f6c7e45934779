//! Repetitions of streamlines against counts by brute force and closed forms.

use crate::support::fields::backend;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::tractogram::REPETITION;
use arcuate::data::{Grid, Mask, Tractogram};
use arcuate::solvers::Error;
use arcuate::solvers::pathway::{Distances, MaskDistance, Path, Range90};
use arcuate::solvers::tractogram::repetitions::{RepeatedStreamlines, SAMPLE};
use glam::{DVec3, Vec3, dvec3};
use libtest_mimic::Trial;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

pub fn tests() -> Vec<Trial> {
    vec![
        test("repetitions::shares by brute force", shares),
        test("repetitions::shifted lines", shifted),
        test("repetitions::the most central streamline", central),
        test("repetitions::levels of 5, 50 and 90 %", levels),
        test("repetitions::distances along the middle line", distances),
        test("repetitions::no number of threads changes it", threads),
        test("repetitions::odd streamlines and what it refuses", odd),
        test("repetitions::ten thousand streamlines", many),
    ]
}

fn grid() -> Arc<Grid> {
    Arc::new(Grid::axis_aligned([30, 20, 12], DVec3::splat(2.0), DVec3::ZERO).unwrap())
}

/// Streamlines with the numbers of their repetitions.
fn lines(all: &[(usize, Vec<[f32; 3]>)]) -> Tractogram {
    let lines = all.iter().map(|(_, line)| line.iter().copied());
    let numbers: Vec<f32> = all.iter().map(|(number, _)| *number as f32).collect();
    Tractogram::of_curves(lines).with_per_streamline(REPETITION, numbers)
}

fn run(
    lines: &Tractogram,
    repetitions: usize,
    threads: usize,
) -> Result<RepeatedStreamlines, Error> {
    RepeatedStreamlines::new(
        lines,
        repetitions,
        &grid(),
        &backend(threads),
        &Control::new(),
    )
}

/// A line along x at these coordinates, from either end.
fn straight(y: f32, z: f32, flipped: bool) -> Vec<[f32; 3]> {
    let mut line: Vec<[f32; 3]> = (0..=20).map(|i| [2.0 * i as f32, y, z]).collect();
    if flipped {
        line.reverse();
    }
    line
}

/// Random walks, partly outside the grid.
fn walks(random: &mut Random, repetitions: usize, each: usize) -> Tractogram {
    let mut all = Vec::new();
    for repetition in 0..repetitions {
        // Some repetitions have none.
        if repetition % 7 == 3 {
            continue;
        }
        for _ in 0..each {
            let mut at = dvec3(
                random.uniform(0.0, 58.0),
                random.uniform(0.0, 38.0),
                random.uniform(0.0, 22.0),
            );
            let mut line = Vec::new();
            for _ in 0..30 {
                line.push(at.as_vec3().to_array());
                let step = [(); 3].map(|()| random.uniform(-1.5, 1.5));
                at += DVec3::from_array(step);
            }
            all.push((repetition, line));
        }
    }
    lines(&all)
}

/// The voxels of many points along each segment are some of those that its repetition passes, and all but those of short
/// pieces: with pieces of at most 0.0013 mm, a voxel is overlooked only if a shorter piece lies in it.
fn shares() {
    const PARTS: usize = 2_000;
    let mut random = Random::fresh("shares of repetitions");
    let walks = walks(&mut random, 15, 4);
    let found = run(&walks, 15, 3).unwrap();
    let grid = grid();
    let mut expected = vec![0u32; grid.voxel_count()];
    let numbers = &walks.per_streamline[REPETITION];
    for repetition in 0..15 {
        let mut passed = BTreeSet::new();
        for (i, line) in walks.streamlines().enumerate() {
            if numbers[i] as usize != repetition {
                continue;
            }
            for pair in line.windows(2) {
                let [from, to] = [pair[0], pair[1]].map(|p| Vec3::from(p).as_dvec3());
                for part in 0..=PARTS {
                    let at = from.lerp(to, part as f64 / PARTS as f64);
                    passed.extend(grid.nearest(at).map(|voxel| grid.index(voxel)));
                }
            }
        }
        passed.into_iter().for_each(|voxel| expected[voxel] += 1);
    }
    let pairs = || found.visits.iter().zip(&expected);
    assert!(pairs().all(|(found, expected)| found >= expected));
    let more: u32 = pairs().map(|(found, expected)| found - expected).sum();
    let all: u32 = expected.iter().sum();
    // A walk has some 30 crossings, one of which in 500 cuts a corner of less than two parts.
    assert!(all > 500 && more <= all / 100, "{more} of {all}");
    let share = found.share();
    for (share, visits) in share.values.iter().zip(&found.visits) {
        assert!((f64::from(*share) - f64::from(*visits) / 15.0).abs() < 1e-6);
    }
    assert_eq!(found.without_streamlines(), 2);
    assert_eq!(found.counts.iter().sum::<u32>() as usize, walks.len());
}

/// One line per repetition, shifted by a multiple of 0.7 mm: the share is the number of shifts within a voxel.
fn shifted() {
    const COUNT: usize = 11;
    let y = |i: usize| 10.15 + 0.7 * i as f32;
    let all: Vec<_> = (0..COUNT)
        .map(|i| (i, straight(y(i), 8.0, i % 2 == 1)))
        .collect();
    let found = run(&lines(&all), COUNT, 2).unwrap();
    let share = found.share();
    for row in 0..20 {
        let within = (0..COUNT).filter(|i| (f64::from(y(*i)) - 2.0 * row as f64).abs() < 1.0);
        let expected = within.count() as f64 / COUNT as f64;
        let at = share
            .nearest(0, dvec3(20.0, 2.0 * row as f64, 8.0))
            .unwrap();
        assert!((f64::from(at) - expected).abs() < 1e-6, "row {row}");
    }
    // Each repetition's only line is its centre line, the middle one of all is the sixth, whatever the directions.
    let centres: Vec<usize> = found.centres.iter().flatten().copied().collect();
    assert_eq!(centres, (0..COUNT).collect::<Vec<_>>());
    assert_eq!(found.middle, Some(5));
    let others = (0..COUNT).filter(|i| *i != 5);
    for (offset, i) in found.offsets_mm.iter().zip(others) {
        let expected = 0.7 * (i as f64 - 5.0).abs();
        assert!((offset - expected).abs() < 1e-5, "{offset} {expected}");
    }
}

/// Parallel lines of one length in any direction are as far apart as their axes: the centre line is that of brute force.
fn central() {
    let mut random = Random::fresh("the most central streamline");
    let mut all = Vec::new();
    for repetition in 0..12 {
        for _ in 0..3 + 2 * repetition {
            let [y, z] = [20.0, 10.0].map(|at| (at + random.uniform(-6.0, 6.0)) as f32);
            all.push((repetition, straight(y, z, random.bits() % 2 == 1)));
        }
    }
    let found = run(&lines(&all), 12, 2).unwrap();
    let axis = |i: usize| DVec3::from_array(all[i].1[0].map(f64::from)) * dvec3(0.0, 1.0, 1.0);
    let least = |own: &[usize]| {
        let sum = |i: usize| -> f64 { own.iter().map(|j| axis(i).distance(axis(*j))).sum() };
        own.iter()
            .copied()
            .min_by(|a, b| sum(*a).total_cmp(&sum(*b)))
    };
    for (repetition, centre) in found.centres.iter().enumerate() {
        let own: Vec<usize> = (0..all.len()).filter(|i| all[*i].0 == repetition).collect();
        assert_eq!(*centre, least(&own), "repetition {repetition}");
    }
    let centres: Vec<usize> = found.centres.iter().flatten().copied().collect();
    assert_eq!(found.middle, least(&centres));
}

fn levels() {
    // A line in all 20 repetitions, one in ten, one in a single one.
    let mut all = Vec::new();
    for repetition in 0..20 {
        all.push((repetition, straight(10.0, 8.0, false)));
        if repetition < 10 {
            all.push((repetition, straight(16.0, 8.0, true)));
        }
        if repetition == 7 {
            all.push((repetition, straight(22.0, 8.0, false)));
        }
    }
    let found = run(&lines(&all), 20, 2).unwrap();
    // 21 voxels of 8 mm³ each.
    for (share, rows) in [(0.05, 3), (0.5, 2), (0.9, 1), (1.0, 1)] {
        let mask = found.mask(share);
        assert_eq!(mask.count(), 21 * rows, "{share}");
        assert!((mask.volume_ml() - 0.168 * rows as f64).abs() < 1e-9);
    }
    // A repetition without streamlines counts, too: of 40, ten are less than half.
    let found = run(&lines(&all), 40, 2).unwrap();
    assert_eq!(found.mask(0.5).count(), 21);
    assert_eq!(found.without_streamlines(), 20);
    assert_eq!(found.repetitions(), 40);
}

/// Centre lines that lie 6 to 10 mm from a wall: distances and their percentiles are exact.
fn distances() {
    const COUNT: usize = 41;
    // The wall begins at y = 29 mm.
    let inside = (0..grid().voxel_count()).map(|v| u8::from(grid().voxel(v)[1] >= 15));
    let wall = Mask::new(grid(), inside.collect::<Vec<u8>>());
    let from = MaskDistance::new(&wall).unwrap();
    let y = |i: usize| 19.0 + 0.1 * i as f32;
    let all: Vec<_> = (0..COUNT)
        .map(|i| (i, straight(y(i), 8.0, i % 3 == 1)))
        .collect();
    let kept = lines(&all);
    let found = run(&kept, COUNT, 2).unwrap();
    let curve = |line: usize| Path::of_streamline(kept.streamline(line));
    let curves: Vec<Path> = found.centres.iter().flatten().map(|i| curve(*i)).collect();
    let curves: Vec<&Path> = curves.iter().collect();
    let middle = curve(found.middle.unwrap());
    assert!((middle.total_mm() - 40.0).abs() < 1e-9);
    let measured = Distances::new(&curves, &middle, &from, &backend(2), &Control::new()).unwrap();
    assert!((measured.shown - 8.0).abs() < 2e-3, "{}", measured.shown);
    let expected = Range90 {
        low: 6.2,
        median: 8.0,
        high: 9.8,
    };
    let check = |range: Range90| {
        for (found, expected) in [
            (range.low, expected.low),
            (range.median, expected.median),
            (range.high, expected.high),
        ] {
            // Single precision of coordinates, and the accuracy of distances.
            assert!((found - expected).abs() < 2e-3, "{found} {expected}");
        }
    };
    check(measured.nearest.unwrap());
    assert_eq!(measured.along.len(), 41);
    measured.along.iter().for_each(|(_, range)| check(*range));
}

fn threads() {
    let mut random = Random::fresh("threads of repetitions");
    let walks = walks(&mut random, 23, 9);
    let one = run(&walks, 23, 1).unwrap();
    for threads in [2, 5] {
        let other = run(&walks, 23, threads).unwrap();
        assert_eq!(other.visits, one.visits);
        assert_eq!(other.centres, one.centres);
        assert_eq!(other.middle, one.middle);
        assert_eq!(other.offsets_mm, one.offsets_mm);
    }
}

fn odd() {
    let nothing = run(&Tractogram::empty(), 3, 1).unwrap();
    assert_eq!(nothing.without_streamlines(), 3);
    assert_eq!((nothing.middle, nothing.centres), (None, vec![None; 3]));
    assert!(nothing.visits.iter().all(|visits| *visits == 0));
    // A point, a line beyond the grid, a point that is not finite.
    let beyond = vec![[-50.0, 0.0, 0.0], [-40.0, 0.0, 0.0]];
    let broken = vec![
        [4.0, 4.0, 4.0],
        [f32::NAN, 4.0, 4.0],
        [4.0, 8.0, 4.0],
        [4.0, 12.0, 4.0],
    ];
    let all = [(0, vec![[10.0, 10.0, 10.0]]), (1, beyond), (2, broken)];
    let found = run(&lines(&all), 3, 1).unwrap();
    assert_eq!(found.centres, [None, Some(1), None]);
    assert_eq!(found.without_streamlines(), 0);
    // The voxel of the point, and those of the last segment at y = 8, 10 and 12 mm.
    assert_eq!(found.visits.iter().sum::<u32>(), 4);
    let plain = lines(&all).without_values();
    let why = run(&plain, 3, 1).unwrap_err().to_string();
    assert!(why.contains("without repetitions"), "{why}");
    let why = run(&lines(&all), 2, 1).unwrap_err().to_string();
    assert!(
        why.contains("repetition 2, expected a whole number from 0 to 1"),
        "{why}"
    );
    for number in [f32::NAN, -1.0, 0.5] {
        let line = Tractogram::new(vec![[0.0; 3], [1.0; 3]], vec![0, 2]);
        let line = line.with_per_streamline(REPETITION, vec![number]);
        assert!(run(&line, 2, 1).is_err(), "{number}");
    }
    let control = Control::new();
    control.cancel();
    let cancelled = RepeatedStreamlines::new(&lines(&all), 3, &grid(), &backend(1), &control);
    assert!(matches!(cancelled, Err(Error::Cancelled)));
}

/// More streamlines than are compared: the centre is that of every n-th, near the axis of all.
fn many() {
    let mut random = Random::fresh("many repeated streamlines");
    let mut all = Vec::new();
    for repetition in 0..5 {
        for _ in 0..10 * SAMPLE {
            let [y, z] = [20.0, 10.0].map(|at| (at + random.uniform(-4.0, 4.0)) as f32);
            all.push((repetition, straight(y, z, random.bits() % 2 == 1)));
        }
    }
    let kept = lines(&all);
    assert_eq!(kept.len(), 10_000);
    let started = Instant::now();
    let found = run(&kept, 5, 2).unwrap();
    println!(
        "10,000 streamlines: {:.3} s",
        started.elapsed().as_secs_f64()
    );
    for centre in found.centres.iter().flatten() {
        let [_, y, z] = kept.streamline(*centre)[0];
        let off = f64::from((y - 20.0).hypot(z - 10.0));
        // The medoid of 200 points in a square of 8 mm: 0.3 mm from its middle on average.
        assert!(off < 2.0, "{off}");
    }
}
