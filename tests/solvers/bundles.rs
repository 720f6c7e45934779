//! Distances and clusters of streamlines, against closed forms and a plain implementation of QuickBundles.

mod recognise;

use crate::support::fields::{backend, odd_grid};
use crate::support::{Random, data_test, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram};
use arcuate::io;
use arcuate::solvers::Error;
use arcuate::solvers::bundles::{
    Clusters, Params, UNASSIGNED, cluster, group_statistics, mam, mdf, resampled,
};
use arcuate::solvers::tractogram::selection::{Division, Edit, Groups, apply_edits};
use glam::{DVec3, Vec3};
use libtest_mimic::Trial;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let mut own = recognise::tests();
    own.extend([
        test(
            "bundles::MDF and MAM of parallel and shifted lines",
            closed_forms,
        ),
        test("bundles::MDF is a metric of unordered curves", metric),
        test("bundles::points are equally spaced", spacing),
        test("bundles::clusters as without bounds", as_plain),
        test(
            "bundles::clusters of many centroids as without bounds",
            many_centroids,
        ),
        test("bundles::known clusters", known),
        test("bundles::pieces and threads change nothing", pieces),
        test("bundles::odd streamlines and refusals", odd),
        test("bundles::statistics of groups", statistics_of_groups),
        test("bundles::recorded steps", steps),
        data_test(
            "bundles::a whole brain as without bounds",
            "tractograms/whole_brain_36763.trk.gz",
            whole_brain,
        ),
    ]);
    own
}

fn params(threshold_mm: f64, points: usize, min_size: usize) -> Params {
    Params {
        threshold_mm,
        points,
        min_size,
    }
}

fn run(lines: &Tractogram, params: &Params) -> Clusters {
    cluster(lines, None, params, &backend(2), &Control::new()).expect("clusters")
}

/// A straight curve of `count` points.
fn straight(from: DVec3, to: DVec3, count: usize) -> Vec<[f32; 3]> {
    let share = |i: usize| i as f64 / (count - 1) as f64;
    let points = (0..count).map(|i| from.lerp(to, share(i)));
    points.map(|p| p.as_vec3().to_array()).collect()
}

fn closed_forms() {
    let a = straight(DVec3::ZERO, DVec3::new(20.0, 0.0, 0.0), 21);
    // Parallel at 3 and 4 mm along two axes; reversed, it is the same curve.
    let parallel = straight(DVec3::new(0.0, 3.0, 4.0), DVec3::new(20.0, 3.0, 4.0), 21);
    let reversed: Vec<[f32; 3]> = parallel.iter().rev().copied().collect();
    assert_eq!([mdf(&a, &parallel), mdf(&a, &reversed)], [5.0, 5.0]);
    let closest = mam(&a, &parallel);
    assert_eq!([closest.min(), closest.mean(), closest.max()], [5.0; 3]);
    // Shifted by 2 mm along itself: 19 points of each coincide, the others are 1 and 2 mm from the nearest.
    let shifted = straight(DVec3::new(2.0, 0.0, 0.0), DVec3::new(22.0, 0.0, 0.0), 21);
    assert_eq!(mdf(&a, &shifted), 2.0);
    assert!((mam(&a, &shifted).mean() - 3.0 / 21.0).abs() < 1e-12);
    // The half of a curve: every point of it is one of the whole, whose others are 1 to 10 mm from it.
    let closest = mam(&a[..11], &a);
    assert_eq!([closest.to_second, closest.min()], [0.0, 0.0]);
    assert!((closest.to_first - 55.0 / 21.0).abs() < 1e-12);
    assert_eq!(closest.max(), closest.to_first);
    assert_eq!(closest.mean(), 0.5 * closest.max());
    // A right angle at the common start: the points i and i are i √2 apart.
    let across = straight(DVec3::ZERO, DVec3::new(0.0, 20.0, 0.0), 21);
    let expected = 10.0 * 2f32.sqrt();
    assert!((mdf(&a, &across) - expected).abs() < 1e-5);
    assert!(mdf(&a, &a[..11]).is_nan() && mdf(&[], &[]).is_nan() && mam(&[], &a).mean().is_nan());
}

fn walk(random: &mut Random, points: usize) -> Vec<[f32; 3]> {
    let mut at = random.direction() * random.uniform(0.0, 60.0);
    let mut way = random.direction();
    let points = (0..points).map(|_| {
        way = (way + 0.3 * random.direction()).normalize();
        at += way * random.uniform(0.5, 4.0);
        at.as_vec3().to_array()
    });
    points.collect()
}

fn metric() {
    let mut random = Random::fresh("a metric of curves");
    for count in [2, 7, 12, 20, 33] {
        let [a, b, c] = std::array::from_fn(|_| walk(&mut random, count));
        let plain = |a: &[[f32; 3]], b: &[[f32; 3]]| {
            let distance = |(p, q): (&[f32; 3], &[f32; 3])| {
                Vec3::from(*p)
                    .as_dvec3()
                    .distance(Vec3::from(*q).as_dvec3())
            };
            a.iter().zip(b).map(distance).sum::<f64>() / count as f64
        };
        let turned: Vec<[f32; 3]> = b.iter().rev().copied().collect();
        let expected = plain(&a, &b).min(plain(&a, &turned));
        // Single precision of coordinates of about 100 mm.
        assert!((f64::from(mdf(&a, &b)) - expected).abs() < 1e-4);
        assert!(
            (mdf(&a, &b) - mdf(&b, &turned.iter().rev().copied().collect::<Vec<_>>())).is_finite()
        );
        assert!((mdf(&a, &b) - mdf(&a, &turned)).abs() < 1e-4 && mdf(&b, &turned) == 0.0);
        assert!(mdf(&a, &c) <= mdf(&a, &b) + mdf(&b, &c) + 1e-4);
    }
}

fn spacing() {
    let mut random = Random::fresh("equally spaced points");
    for _ in 0..50 {
        let count = random.uniform(2.0, 40.0) as usize;
        let length = random.uniform(2.0, 90.0) as usize;
        let line = walk(&mut random, length);
        let points = resampled(&line, count).expect("a curve with a length");
        assert_eq!(
            (points.len(), points[0], points.last()),
            (count, line[0], line.last())
        );
        // The arc length at the point, on the curve itself.
        let at = |p: &[f32; 3]| Vec3::from(*p).as_dvec3();
        let mut segments = line.windows(2).scan(0.0, |done, pair| {
            let (a, b) = (at(&pair[0]), at(&pair[1]));
            let from = *done;
            *done += a.distance(b);
            Some((a, b, from))
        });
        let whole: f64 = line.windows(2).map(|p| at(&p[0]).distance(at(&p[1]))).sum();
        let mut segment = segments.next().expect("a segment");
        for (i, point) in points.iter().enumerate() {
            let s = whole * i as f64 / (count - 1) as f64;
            while s > segment.2 + segment.0.distance(segment.1) + 1e-9 {
                segment = segments.next().expect("a segment");
            }
            let way = (segment.1 - segment.0).normalize();
            let expected = segment.0 + way * (s - segment.2);
            assert!(at(point).distance(expected) < 1e-4, "{point:?} {expected}");
        }
    }
}

/// QuickBundles as in the paper: each streamline is compared with each centroid. Returns the cluster of each streamline
/// in the order in which the clusters began, and the centroids.
fn plain(lines: &Tractogram, params: &Params) -> (Vec<u32>, Vec<Vec<[f32; 3]>>) {
    /// Eight sums that take turns, as the solver documents them.
    fn mean(a: &[[f32; 3]], b: &[[f32; 3]]) -> f32 {
        let mut sums = [0f32; 8];
        for i in 0..a.len() {
            let d = [a[i][0] - b[i][0], a[i][1] - b[i][1], a[i][2] - b[i][2]];
            sums[i % 8] += (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
        }
        let pairs = [
            sums[0] + sums[1],
            sums[2] + sums[3],
            sums[4] + sums[5],
            sums[6] + sums[7],
        ];
        ((pairs[0] + pairs[1]) + (pairs[2] + pairs[3])) / a.len() as f32
    }
    let threshold = params.threshold_mm as f32;
    let (mut sums, mut counts): (Vec<Vec<[f64; 3]>>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut centroids: Vec<Vec<[f32; 3]>> = Vec::new();
    let assignment = lines.streamlines().map(|line| {
        let Some(direct) = resampled(line, params.points) else {
            return UNASSIGNED;
        };
        let flipped: Vec<[f32; 3]> = direct.iter().rev().copied().collect();
        let mut best: Option<(f32, usize, &Vec<[f32; 3]>)> = None;
        for turned in [&direct, &flipped] {
            for (k, centroid) in centroids.iter().enumerate() {
                let distance = mean(centroid, turned);
                if best.is_none_or(|(least, ..)| distance < least) {
                    best = Some((distance, k, turned));
                }
            }
        }
        let Some((_, k, turned)) = best.filter(|(distance, ..)| *distance < threshold) else {
            sums.push(direct.iter().map(|p| p.map(f64::from)).collect());
            counts.push(1);
            centroids.push(direct);
            return (centroids.len() - 1) as u32;
        };
        counts[k] += 1;
        for i in 0..params.points {
            for c in 0..3 {
                sums[k][i][c] += f64::from(turned[i][c]);
            }
        }
        let share = 1.0 / f64::from(counts[k]);
        centroids[k] = sums[k]
            .iter()
            .map(|p| p.map(|v| (v * share) as f32))
            .collect();
        k as u32
    });
    let assignment = assignment.collect();
    (assignment, centroids)
}

/// Checks that clusters, centroids and members are the same, bit for bit.
fn assert_as_plain(lines: &Tractogram, params: &Params) -> usize {
    assert_eq!(params.min_size, 1, "all clusters are compared");
    let (expected, centroids) = plain(lines, params);
    let found = run(lines, params);
    assert_eq!(found.clusters.len(), centroids.len());
    // The first streamline of each cluster tells which one it is.
    let mut number = vec![UNASSIGNED; centroids.len()];
    for (own, plain) in found.assignment.iter().zip(&expected) {
        if *plain == UNASSIGNED {
            assert_eq!(*own, UNASSIGNED);
            continue;
        }
        let known = &mut number[*plain as usize];
        if *known == UNASSIGNED {
            *known = *own;
        }
        assert_eq!(*known, *own);
    }
    for (plain, own) in number.iter().enumerate() {
        let cluster = &found.clusters[*own as usize];
        assert_eq!(cluster.centroid, centroids[plain]);
        let members = expected.iter().filter(|k| **k as usize == plain);
        assert_eq!(cluster.count, members.count());
    }
    let descend = |pair: &[arcuate::solvers::bundles::Cluster]| pair[0].count >= pair[1].count;
    assert!(found.clusters.windows(2).all(descend));
    centroids.len()
}

/// Streamlines around random courses, some reversed.
fn around(random: &mut Random, courses: usize, count: usize, spread_mm: f64) -> Tractogram {
    let courses: Vec<Vec<[f32; 3]>> = (0..courses).map(|_| walk(random, 30)).collect();
    let curves = (0..count).map(|_| {
        let course = &courses[random.uniform(0.0, courses.len() as f64) as usize];
        let off = random.direction() * random.uniform(0.0, spread_mm);
        let from = random.uniform(0.0, 6.0) as usize;
        let moved = course[from..].iter().map(|p| {
            let at = Vec3::from(*p).as_dvec3() + off + 0.5 * random.direction();
            at.as_vec3().to_array()
        });
        let mut moved: Vec<[f32; 3]> = moved.collect();
        if random.uniform(0.0, 1.0) < 0.5 {
            moved.reverse();
        }
        moved
    });
    let curves: Vec<Vec<[f32; 3]>> = curves.collect();
    Tractogram::of_curves(curves)
}

fn as_plain() {
    let mut random = Random::fresh("clusters without bounds");
    for (threshold, points) in [
        (10.0, 12),
        (4.0, 2),
        (25.0, 3),
        (7.5, 20),
        (12.0, 31),
        (2.0, 8),
    ] {
        let lines = around(&mut random, 20, 1500, 12.0);
        let clusters = assert_as_plain(&lines, &params(threshold, points, 1));
        assert!(clusters > 3, "{clusters}");
    }
    // Equal distances: the first one counts, and copies join it.
    let grid = (0..6).flat_map(|x| (0..6).map(move |y| (f64::from(x), f64::from(y))));
    let curves: Vec<_> = grid
        .map(|(x, y)| {
            let from = DVec3::new(8.0 * x, 8.0 * y, 0.0);
            straight(from, from + DVec3::new(0.0, 0.0, 30.0), 4)
        })
        .collect();
    let curves = [curves.clone(), curves].concat();
    assert_as_plain(&Tractogram::of_curves(curves), &params(8.5, 12, 1));
    // Far from the origin, single precision has few digits left.
    let lines = around(&mut random, 8, 600, 9.0);
    let far = lines.moved(glam::DAffine3::from_translation(DVec3::new(9e4, -7e4, 8e4)));
    assert_as_plain(&far, &params(5.0, 12, 1));
}

fn many_centroids() {
    // Most streamlines start a cluster of their own, so the number of buckets grows several times.
    let mut random = Random::fresh("many centroids");
    let curves: Vec<_> = (0..6000).map(|_| walk(&mut random, 12)).collect();
    let clusters = assert_as_plain(&Tractogram::of_curves(curves), &params(4.0, 12, 1));
    assert!(clusters > 4096, "{clusters}");
}

/// Three bundles of 30, 20 and 10 parallel lines, 100 mm apart, in turn, and a single line.
fn three() -> Tractogram {
    let mut curves = Vec::new();
    for i in 0..30 {
        for (bundle, size) in [(0, 30), (1, 20), (2, 10)] {
            if i < size {
                let from = DVec3::new(100.0 * f64::from(bundle), 0.1 * f64::from(i), 0.0);
                let to = from + DVec3::new(0.0, 0.0, 10.0 * f64::from(bundle + 1));
                curves.push(match i % 2 {
                    0 => straight(from, to, 5),
                    _ => straight(to, from, 9),
                });
            }
        }
    }
    curves.push(straight(DVec3::splat(300.0), DVec3::splat(320.0), 3));
    Tractogram::of_curves(curves)
}

fn known() {
    let lines = three();
    let all = run(&lines, &params(10.0, 12, 1));
    let counts: Vec<usize> = all.clusters.iter().map(|c| c.count).collect();
    assert_eq!(counts, [30, 20, 10, 1]);
    assert_eq!((all.dropped, all.in_dropped, all.without_length), (0, 0, 0));
    // The mean of lines at 0, 0.1, …, 2.9 mm, in the direction of the first one.
    let centroid = &all.clusters[0].centroid;
    let expected = straight(DVec3::new(0.0, 1.45, 0.0), DVec3::new(0.0, 1.45, 10.0), 12);
    for (found, expected) in centroid.iter().zip(&expected) {
        assert!(Vec3::from(*found).distance(Vec3::from(*expected)) < 1e-5);
    }
    let some = run(&lines, &params(10.0, 12, 20));
    assert_eq!(
        (some.clusters.len(), some.dropped, some.in_dropped),
        (2, 2, 11)
    );
    assert_eq!(some.names(), ["cluster 1", "cluster 2"]);
    let grouped = some.grouped(&lines);
    assert_eq!(grouped.groups.len(), 2);
    assert_eq!(*grouped.groups["cluster 2"], some.members()[1]);
    assert_eq!(
        some.assignment.iter().filter(|k| **k == UNASSIGNED).count(),
        11
    );
    let centroids = some.centroids();
    assert_eq!(*centroids.per_streamline["count"], [30.0, 20.0]);
    // Only the streamlines of the third bundle are marked.
    let marks: Vec<bool> = lines.streamlines().map(|l| l[0][0] == 200.0).collect();
    let third = cluster(
        &lines,
        Some(&marks),
        &params(10.0, 12, 1),
        &backend(2),
        &Control::new(),
    );
    let third = third.expect("clusters");
    assert_eq!((third.clusters.len(), third.clusters[0].count), (1, 10));
    assert!(
        third
            .assignment
            .iter()
            .zip(&marks)
            .all(|(k, marked)| (*k == 0) == *marked)
    );
}

fn pieces() {
    let mut random = Random::fresh("pieces of clusters");
    let lines = around(&mut random, 20, 2000, 12.0);
    let params = params(8.0, 12, 3);
    let whole = run(&lines, &params);
    for threads in [1, 2, 5] {
        let repeated = cluster(&lines, None, &params, &backend(threads), &Control::new());
        assert_eq!(repeated.as_ref(), Ok(&whole));
    }
    let mut clustering = arcuate::solvers::bundles::Clustering::new(&params).expect("valid");
    for part in 0..3 {
        let marks: Vec<bool> = (0..lines.len())
            .map(|i| i * 3 / lines.len() == part)
            .collect();
        let piece = lines.filtered(&marks);
        let added = clustering.add(&piece, None, &backend(2), &Control::new());
        added.expect("clusters");
    }
    assert_eq!(clustering.clusters().as_ref(), Ok(&whole));
}

fn odd() {
    let curves = vec![
        vec![],
        vec![[1.0; 3]],
        vec![[1.0; 3]; 4],
        vec![[0.0; 3], [f32::NAN, 0.0, 0.0], [9.0, 0.0, 0.0]],
        vec![[0.0; 3], [f32::INFINITY, 0.0, 0.0]],
        vec![[0.0; 3], [1e30, 0.0, 0.0]],
        vec![[0.0; 3], [9.0, 0.0, 0.0]],
    ];
    let lines = Tractogram::of_curves(curves);
    let found = run(&lines, &params(10.0, 12, 1));
    assert_eq!((found.clusters.len(), found.without_length), (1, 6));
    assert_eq!(found.assignment[..6], [UNASSIGNED; 6]);
    let none = lines.filtered(&[true, true, true, true, true, true, false]);
    let refused = cluster(
        &none,
        None,
        &params(10.0, 12, 1),
        &backend(1),
        &Control::new(),
    );
    let Err(Error::Input(sentence)) = refused else {
        panic!("no streamline has a length");
    };
    assert!(sentence.starts_with("Found no streamline with a length"));
    for refused in [
        params(0.0, 12, 1),
        params(f64::NAN, 12, 1),
        params(10.0, 1, 1),
        params(10.0, 12, 0),
    ] {
        let refused = cluster(&lines, None, &refused, &backend(1), &Control::new());
        assert!(matches!(refused, Err(Error::Input(_))), "{refused:?}");
    }
    let control = Control::new();
    control.cancel();
    let cancelled = cluster(&three(), None, &Params::defaults(), &backend(1), &control);
    assert_eq!(cancelled, Err(Error::Cancelled));
}

fn statistics_of_groups() {
    let lines = three();
    let clusters = run(&lines, &params(10.0, 12, 1));
    let members = clusters.members();
    let groups: Vec<&[u32]> = members.iter().map(Vec::as_slice).collect();
    let grid = Grid::axis_aligned([3, 3, 40], DVec3::new(100.0, 1.0, 1.0), DVec3::ZERO).unwrap();
    let grid = Arc::new(grid);
    let values: Vec<f32> = (0..lines.len()).map(|i| i as f32).collect();
    let measured = (Some(&*values), Some(&grid));
    let found = group_statistics(
        &lines,
        &groups,
        None,
        measured,
        &backend(2),
        &Control::new(),
    )
    .unwrap();
    for (bundle, figures) in found[..3].iter().enumerate() {
        let length = 10.0 * (bundle + 1) as f64;
        assert!((figures.length_mm - length).abs() < 1e-5 && figures.length_sd_mm < 1e-5);
        // Lines from z = 0 to 10, 20 and 30 mm lie in 11, 21 and 31 voxels along z, and in y = 0…2.9, 1.9 and 0.9 mm.
        let rows = [3.0, 3.0, 2.0][bundle];
        assert_eq!(figures.volume_mm3, Some(100.0 * rows * (length + 1.0)));
        let own: Vec<f64> = members[bundle].iter().map(|i| f64::from(*i)).collect();
        let mean = own.iter().sum::<f64>() / own.len() as f64;
        assert!((figures.value.unwrap() - mean).abs() < 1e-9);
    }
    assert_eq!(found[3].count, 1);
    assert!(found[3].length_sd_mm.is_nan());
    let none = vec![false; lines.len()];
    let empty = group_statistics(
        &lines,
        &groups,
        Some(&none),
        (None, None),
        &backend(1),
        &Control::new(),
    );
    let empty = empty.unwrap()[0];
    assert!(empty.count == 0 && empty.length_mm.is_nan() && empty.value.is_none());
    // Voxels on a rotated grid, counted one point at a time along dense lines.
    let mut random = Random::fresh("volumes of groups");
    let grid = Arc::new(odd_grid(&mut random));
    let curves: Vec<_> = (0..4)
        .map(|_| {
            let [a, b] = std::array::from_fn(|_| random.direction() * random.uniform(0.0, 30.0));
            straight(a, b, 20_000)
        })
        .collect();
    let lines = Tractogram::of_curves(curves.clone());
    let found = group_statistics(
        &lines,
        &[&[0, 1], &[2, 3]],
        None,
        (None, Some(&grid)),
        &backend(2),
        &Control::new(),
    );
    for (group, figures) in found.unwrap().iter().enumerate() {
        let points = curves[2 * group..2 * group + 2].iter().flatten();
        let voxels = points.filter_map(|p| grid.nearest(Vec3::from(*p).as_dvec3()));
        let voxels: BTreeSet<[usize; 3]> = voxels.collect();
        let volume = voxels.len() as f64 * grid.world_from_voxel.matrix3.determinant().abs();
        // Points 3 µm apart may miss a corner of a voxel.
        let found = figures.volume_mm3.unwrap();
        assert!(
            (found - volume).abs() <= 0.02 * volume.max(1.0),
            "{found} {volume}"
        );
    }
}

fn steps() {
    let lines = three().with_group("before", vec![0, 1]);
    let apply = |lines: &Tractogram, steps: &[Edit]| {
        apply_edits(lines, steps, None, &backend(2), &Control::new())
    };
    let params = params(10.0, 12, 10);
    let clustered = apply(&lines, &[Edit::Cluster(params)]).expect("clusters");
    assert_ne!(clustered.id(), lines.id());
    assert_eq!(
        clustered.groups,
        run(&lines, &params).grouped(&lines).groups
    );
    let recorded = Groups::new(&clustered, Division::Clusters(params));
    let repeated = apply(&lines, &[Edit::Group(recorded.clone())]).expect("groups");
    assert_eq!(repeated.groups, clustered.groups);
    let text = serde_json::to_string(&recorded).unwrap();
    assert_eq!(serde_json::from_str::<Groups>(&text).unwrap(), recorded);
    let fewer = lines.filtered(&vec![false; lines.len()]);
    assert!(matches!(
        apply(&fewer, &[Edit::Group(recorded.clone())]),
        Err(Error::Input(_))
    ));
    let mut beyond = recorded;
    beyond.groups[0].1.push([60, 2]);
    assert!(matches!(
        apply(&lines, &[Edit::Group(beyond)]),
        Err(Error::Input(_))
    ));
}

fn whole_brain(path: PathBuf) {
    let opened = io::open(&path, &Control::new()).expect("streamlines");
    let io::Opened::Tractogram(lines, _) = opened else {
        panic!("found an image");
    };
    let marks: Vec<bool> = (0..lines.len()).map(|i| i % 4 == 0).collect();
    let clusters = assert_as_plain(&lines.filtered(&marks), &params(10.0, 12, 1));
    assert!(clusters > 100, "{clusters}");
}
