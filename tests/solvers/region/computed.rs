//! Regions computed from images and from each other.

use super::{any_grid, brute, centres};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Mask, Shape, Volume};
use arcuate::solvers::Error;
use arcuate::solvers::region::{self, Change, Combine};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "region::a threshold takes both ends, and no missing value",
            threshold,
        ),
        test("region::a fill takes what is connected and alike", fill),
        test(
            "region::a fill ends at its limit, and by cancelling",
            fill_ends,
        ),
        test("region::labels come apart and make the whole", labels),
        test("region::measured values are not labels", no_labels),
        test(
            "region::growing and shrinking by distance on any grid",
            by_distance,
        ),
        test("region::distances around a mask", around),
        test("region::the edge of an image eats nothing", at_the_edge),
        test("region::a grown ball is a larger ball", grown_ball),
        test("region::opening twice is opening once", opening),
        test(
            "region::growing and shrinking are each other's complement",
            duality,
        ),
        test(
            "region::smoothing leaves planes where they are",
            smooth_planes,
        ),
        test(
            "region::smoothing shrinks balls by the curvature",
            smooth_balls,
        ),
        test("region::De Morgan, sums and idempotence", de_morgan),
        test(
            "region::regions on other grids meet in the world",
            other_grids,
        ),
    ]
}

fn change(mask: &Mask, grow_mm: f64, smooth_mm: f64) -> Mask {
    let change = Change {
        grow_mm,
        smooth_mm,
        ..Change::defaults()
    };
    region::change(mask, &change, &Control::new()).unwrap()
}

/// Some balls, away from the grid's edge.
fn blob(random: &mut Random, grid: &Arc<Grid>) -> Mask {
    let mut mask = Mask::empty(grid);
    for _ in 0..4 {
        let n = DVec3::from_array(grid.shape.map(|n| n as f64));
        let share = DVec3::from_array([0; 3].map(|_| random.uniform(0.35, 0.65)));
        let stroke = arcuate::data::Stroke {
            points: vec![grid.world(share * n)],
            radius_mm: random.uniform(1.5, 4.0),
            disc: None,
        };
        stroke.apply(&mut mask, true);
    }
    mask
}

/// Distances of centres from whole voxels, on the part of the grid that the margin needs.
fn around() {
    let mut random = Random::fresh("distances around masks");
    let control = Control::new();
    for _ in 0..4 {
        let grid = any_grid(&mut random, [23, 20, 21], 0.0);
        let mask = blob(&mut random, &grid);
        let max_mm = random.uniform(2.0, 5.0);
        let found = region::distances_around(&mask, max_mm, &control).unwrap();
        let found = found.expect("an image");
        let inside: Vec<[usize; 3]> = mask.voxels_inside().collect();
        let half = grid.spacing().element_sum() / 6.0;
        let mut covered = 0;
        for (i, centre) in centres(&grid).enumerate() {
            let voxel = grid.voxel(i);
            let from = |other: &[usize; 3]| {
                let gap = |axis: usize| (voxel[axis].abs_diff(other[axis]) as f64 - 0.5).max(0.0);
                (DVec3::new(gap(0), gap(1), gap(2)) * grid.spacing()).length()
            };
            let nearest = inside.iter().map(from).fold(f64::INFINITY, f64::min);
            match found.nearest(0, centre) {
                Some(mm) => {
                    let expected = if nearest > 0.0 { nearest } else { -half };
                    assert!((f64::from(mm) - expected).abs() < 1e-4, "{mm} {expected}");
                    covered += 1;
                }
                None => assert!(nearest > max_mm, "voxel {i}: {nearest}"),
            }
        }
        assert_eq!(
            covered,
            found.grid.voxel_count(),
            "on the voxels of the mask"
        );
    }
    let empty = Mask::empty(&any_grid(&mut random, [5, 5, 5], 0.0));
    let found = region::distances_around(&empty, 3.0, &control).unwrap();
    assert!(found.is_none());
}

fn threshold() {
    let mut random = Random::fresh("threshold");
    let grid = any_grid(&mut random, [9, 8, 7], 0.0);
    let mut values: Vec<f32> = (0..grid.voxel_count())
        .map(|_| random.uniform(0.0, 10.0) as f32)
        .collect();
    values[3] = f32::NAN;
    values[5] = 2.5;
    values[6] = 7.5;
    values[7] = f32::INFINITY;
    let volume = Volume::scalar(grid.clone(), values.clone());
    let mask = region::threshold(&volume, 0, (2.5, 7.5), &Control::new()).unwrap();
    for (v, inside) in values.iter().zip(mask.inside.iter()) {
        assert_eq!(*inside != 0, *v >= 2.5 && *v <= 7.5);
    }
    assert!(mask.inside[5] == 1 && mask.inside[6] == 1 && mask.inside[3] == 0);
}

/// The image is the distance from the nearer of two centres that are far apart.
fn fill() {
    let mut random = Random::fresh("fill");
    for _ in 0..4 {
        let grid = any_grid(&mut random, [34, 30, 32], 0.2);
        let n = DVec3::from_array(grid.shape.map(|n| n as f64));
        let a = grid.world(n * 0.28);
        let b = grid.world(n * 0.72);
        let far = |c: DVec3| c.distance(a).min(c.distance(b)) as f32;
        let values: Vec<f32> = centres(&grid).map(far).collect();
        let volume = Volume::scalar(grid.clone(), values.clone());
        // From a's voxel; the two balls do not touch.
        let radius = (a.distance(b) * 0.4).min(7.0);
        let first = far(grid.world(grid.voxel_at(a).round()));
        let tolerance = radius as f32 - first;
        let filled = region::fill(&volume, 0, a, tolerance, 1e9, &Control::new()).unwrap();
        assert!(!filled.limited);
        assert_eq!(filled.value, first);
        let alike: Vec<bool> = values
            .iter()
            .map(|v| (v - first).abs() <= tolerance)
            .collect();
        for (i, inside) in filled.mask.inside.iter().enumerate() {
            let centre = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
            let near_a = centre.distance(a) < centre.distance(b);
            // A ball of voxels is connected except for single ones at its rim, which brute force finds.
            if *inside != 0 {
                assert!(near_a && alike[i]);
            } else if near_a && alike[i] {
                assert!(
                    centre.distance(a) > radius - 3.0,
                    "{} mm from the centre",
                    centre.distance(a)
                );
            }
        }
        // No similar voxel is adjacent to the filled ones.
        let shape = grid.shape;
        for (i, inside) in filled
            .mask
            .inside
            .iter()
            .enumerate()
            .filter(|(_, v)| **v != 0)
        {
            let _ = inside;
            let v = grid.voxel(i);
            for axis in 0..3 {
                if v[axis] + 1 < shape[axis] {
                    let mut next = v;
                    next[axis] += 1;
                    let next = grid.index(next);
                    assert!(!alike[next] || filled.mask.inside[next] != 0);
                }
            }
        }
    }
}

fn fill_ends() {
    let grid = Arc::new(Grid::axis_aligned([60, 60, 60], DVec3::ONE, DVec3::ZERO).unwrap());
    let volume = Volume::scalar(grid.clone(), vec![1.0; grid.voxel_count()]);
    let at = DVec3::splat(30.0);
    let filled = region::fill(&volume, 0, at, 0.0, 2.0, &Control::new()).unwrap();
    assert!(filled.limited);
    assert_eq!(
        filled.mask.count(),
        2000,
        "millilitres of voxels of a cubic millimetre"
    );
    // The nearest in steps come first: an octahedron of 2000 voxels reaches 11 steps, no arm reaches farther.
    let steps = |v: [usize; 3]| v.map(|v| v.abs_diff(30)).iter().sum::<usize>();
    assert!(filled.mask.voxels_inside().all(|v| steps(v) <= 11));
    let whole = region::fill(&volume, 0, at, 0.0, 1e6, &Control::new()).unwrap();
    assert!(!whole.limited && whole.mask.count() == grid.voxel_count());
    let control = Control::new();
    control.cancel();
    let stopped = region::fill(&volume, 0, at, 0.0, 1e6, &control);
    assert!(matches!(stopped, Err(Error::Cancelled)));
    for from in [DVec3::splat(-5.0), DVec3::NAN] {
        let refused = region::fill(&volume, 0, from, 0.0, 1.0, &Control::new());
        assert!(matches!(refused, Err(Error::Input(_))));
    }
    let refused = region::fill(&volume, 0, at, f32::NAN, 1.0, &Control::new());
    assert!(matches!(refused, Err(Error::Input(_))));
}

fn labels() {
    let mut random = Random::fresh("labels");
    let grid = any_grid(&mut random, [23, 17, 19], 0.2);
    let names = [0.0, 1.0, 2.0, 17.0, 1024.0, -3.0];
    let values: Vec<f32> = (0..grid.voxel_count())
        .map(|_| names[random.bits() as usize % names.len()])
        .collect();
    let volume = Volume::scalar(grid.clone(), values.clone());
    let numbers = region::numbers(&volume, 0, &Control::new()).unwrap();
    let found: Vec<i64> = numbers.0.iter().map(|f| f.number).collect();
    assert_eq!(found, [-3, 1, 2, 17, 1024]);
    let mut sum = vec![0u8; grid.voxel_count()];
    for found in &numbers.0 {
        let mask = region::label(&volume, 0, found);
        assert_eq!(mask.count(), found.count);
        let whole = mask.on_whole_grid();
        for (i, inside) in whole.inside.iter().enumerate() {
            assert_eq!(*inside != 0, values[i] == found.number as f32);
            sum[i] += inside;
        }
    }
    assert!(
        sum.iter()
            .zip(&values)
            .all(|(n, v)| *n == u8::from(*v != 0.0))
    );
}

fn no_labels() {
    let grid = Arc::new(Grid::axis_aligned([8, 8, 8], DVec3::ONE, DVec3::ZERO).unwrap());
    for (odd, problem) in [
        (0.5, "whole numbers"),
        (f32::NAN, "whole numbers"),
        (f32::INFINITY, "whole numbers"),
        // Whole numbers, but single precision cannot distinguish many of this size.
        (
            3e9,
            "a label near 3000000000, expected labels up to 16777215",
        ),
        // The value to which 16777217 is rounded.
        (
            16_777_216.0,
            "a label near 16777216, expected labels up to 16777215",
        ),
    ] {
        let mut values = vec![1.0; 512];
        values[77] = odd;
        let volume = Volume::scalar(grid.clone(), values);
        let Err(Error::Input(why)) = region::numbers(&volume, 0, &Control::new()) else {
            panic!("{odd} is not a label");
        };
        assert!(why.contains(problem), "{why}");
    }
}

/// Against testing every pair of voxels; the transform serves grids with right angles, the balls all others.
fn by_distance() {
    let mut random = Random::fresh("distance");
    for shear in [0.0, 0.0, 0.5] {
        for _ in 0..3 {
            let grid = any_grid(&mut random, [17, 15, 16], shear);
            let mask = blob(&mut random, &grid);
            let mm = random.uniform(0.5, 5.0);
            let all: Vec<DVec3> = centres(&grid).collect();
            let within = |value: u8| -> Vec<bool> {
                let from: Vec<DVec3> = (0..all.len())
                    .filter(|&i| mask.inside[i] == value)
                    .map(|i| all[i])
                    .collect();
                all.iter()
                    .map(|c| from.iter().any(|f| f.distance_squared(*c) <= mm * mm))
                    .collect()
            };
            let grown = change(&mask, mm, 0.0);
            let expected = within(1);
            let same = grown
                .inside
                .iter()
                .zip(&expected)
                .all(|(a, b)| (*a != 0) == *b);
            assert!(same, "grown by {mm} mm, shear {shear}");
            let shrunk = change(&mask, -mm, 0.0);
            let near = within(0);
            for (i, inside) in shrunk.inside.iter().enumerate() {
                assert_eq!(
                    *inside != 0,
                    mask.inside[i] != 0 && !near[i],
                    "shrunk by {mm} mm, shear {shear}"
                );
            }
        }
    }
}

/// Voxels beyond the image are unknown, not outside: a shrunk region stays at the edge; a grown one equals the result
/// of testing every pair.
fn at_the_edge() {
    let mut random = Random::fresh("at the edge");
    for shear in [0.0, 0.0, 0.4] {
        let grid = any_grid(&mut random, [12, 11, 10], shear);
        let whole = Mask::new(grid.clone(), vec![1; grid.voxel_count()]);
        let mm = random.uniform(1.0, 4.0);
        assert_eq!(change(&whole, -mm, 0.0).inside, whole.inside);
        // Half of the image, from one of its six sides.
        let (axis, low) = (random.bits() as usize % 3, random.bits() & 1 == 0);
        let half: Vec<u8> = (0..grid.voxel_count())
            .map(|i| u8::from((grid.voxel(i)[axis] < 5) == low))
            .collect();
        let half = Mask::new(grid.clone(), half);
        let all: Vec<DVec3> = centres(&grid).collect();
        let near = |value: u8, at: DVec3| {
            let mut others = (0..all.len()).filter(|&i| half.inside[i] == value);
            others.any(|i| all[i].distance_squared(at) <= mm * mm)
        };
        let (grown, shrunk) = (change(&half, mm, 0.0), change(&half, -mm, 0.0));
        for (i, at) in all.iter().enumerate() {
            let inside = half.inside[i] != 0;
            assert_eq!(grown.inside[i] != 0, inside || near(1, *at), "{shear}");
            assert_eq!(shrunk.inside[i] != 0, inside && !near(0, *at), "{shear}");
        }
    }
}

/// 4/3 π (R ± r)³: a few thousandths of voxel widths, by the rule of centres.
fn grown_ball() {
    let mut random = Random::fresh("ball");
    let spacing = dvec3(0.5, 0.6, 0.8);
    let grid = Arc::new(Grid::axis_aligned([100, 84, 64], spacing, DVec3::ZERO).unwrap());
    let at = grid.centre() + random.direction() * 0.4;
    let ball = |radius_mm: f64| {
        Shape::Sphere {
            centre: at,
            radius_mm,
        }
        .mask_on(&grid)
    };
    for (radius, mm) in [(8.0, 6.0), (14.0, -7.0), (10.0, 2.3)] {
        let moved = change(&ball(radius), mm, 0.0);
        let expected = 4.0 / 3.0 * std::f64::consts::PI * (radius + mm).powi(3) / 1000.0;
        // Centres inside lie up to a voxel within the surface: the border moves by less than that.
        let shell = 3.0 * 0.4 / (radius + mm);
        let off = moved.volume_ml() / expected - 1.0;
        assert!(off.abs() < shell, "{radius} {mm}: {off}, allowed {shell}");
        assert!(moved.centre_inside().unwrap().distance(at) < 0.05);
    }
}

fn opening() {
    let mut random = Random::fresh("opening");
    for shear in [0.0, 0.3] {
        let grid = any_grid(&mut random, [22, 22, 22], shear);
        let mask = blob(&mut random, &grid);
        let mm = random.uniform(1.0, 2.5);
        let open = |mask: &Mask| change(&change(mask, -mm, 0.0), mm, 0.0);
        let once = open(&mask);
        assert_eq!(open(&once).inside, once.inside);
        assert!(
            once.inside
                .iter()
                .zip(mask.inside.iter())
                .all(|(o, m)| o <= m),
            "nothing new"
        );
        let closed = change(&change(&mask, mm, 0.0), -mm, 0.0);
        assert!(
            closed
                .inside
                .iter()
                .zip(mask.inside.iter())
                .all(|(c, m)| c >= m),
            "nothing lost"
        );
        assert_eq!(change(&mask, 0.0, 0.0).inside, mask.inside);
    }
}

fn complement(mask: &Mask) -> Mask {
    let inside: Vec<u8> = mask.inside.iter().map(|v| 1 - v).collect();
    Mask::new(mask.grid.clone(), inside)
}

fn duality() {
    let mut random = Random::fresh("duality");
    for shear in [0.0, 0.3] {
        let grid = any_grid(&mut random, [18, 19, 20], shear);
        let [a, b] = [0; 2].map(|_| blob(&mut random, &grid));
        let mm = random.uniform(0.8, 4.0);
        let shrunk = change(&a, -mm, 0.0);
        assert_eq!(
            shrunk.inside,
            complement(&change(&complement(&a), mm, 0.0)).inside
        );
        // Growing a union equals the union of the grown regions.
        let union = |a: &Mask, b: &Mask| {
            region::combine(
                Combine::Union,
                &Shape::Mask(a.clone()),
                &Shape::Mask(b.clone()),
                &grid,
            )
        };
        let grown = change(&union(&a, &b), mm, 0.0);
        assert_eq!(
            grown.inside,
            union(&change(&a, mm, 0.0), &change(&b, mm, 0.0)).inside
        );
    }
}

fn smooth_planes() {
    let mut random = Random::fresh("planes");
    for shear in [0.0, 0.3] {
        for _ in 0..3 {
            let grid = any_grid(&mut random, [18, 18, 18], shear);
            let normal = random.direction();
            let level = grid.centre().dot(normal) + random.uniform(-1.0, 1.0);
            let half = Mask::new(grid.clone(), brute(&grid, |c| c.dot(normal) <= level));
            let width = random.uniform(3.0, 5.0);
            let smooth = change(&half, 0.0, width);
            // Half of the Gaussian lies on either side; a voxelised plane is off by less than half a voxel. At the
            // grid's edge the Gaussian is truncated: oblique to the plane it is asymmetric.
            let most = grid.spacing().max_element() * 0.6;
            for (i, c) in centres(&grid).enumerate() {
                let v = grid.voxel(i);
                let reach = (grid.spacing().recip() * width * 1.6).to_array();
                let deep = (0..3).all(|a| {
                    (v[a] as f64).min((17 - v[a]) as f64) > reach[a] * (1.0 + 2.0 * shear)
                });
                if deep && (c.dot(normal) - level).abs() > most {
                    assert_eq!(
                        smooth.inside[i],
                        half.inside[i],
                        "{} mm",
                        c.dot(normal) - level
                    );
                }
            }
        }
    }
}

/// The level 1/2 of a blurred ball moves inwards by σ²/R to first order (its mean curvature times σ²).
fn smooth_balls() {
    let spacing = dvec3(0.6, 0.5, 0.7);
    let grid = Arc::new(Grid::axis_aligned([80, 96, 70], spacing, DVec3::ZERO).unwrap());
    let mut random = Random::fresh("curvature");
    for _ in 0..3 {
        let at = grid.centre() + random.direction();
        let radius = random.uniform(12.0, 15.0);
        let sigma: f64 = 2.5;
        let ball = Shape::Sphere {
            centre: at,
            radius_mm: radius,
        }
        .mask_on(&grid);
        let smooth = change(&ball, 0.0, sigma * region::WIDTH_OF_SIGMA);
        let found = (smooth.volume_ml() * 1000.0 * 0.75 / std::f64::consts::PI).cbrt();
        let expected = radius - sigma * sigma / radius;
        // The next order is (σ/R)⁴ R: 0.02 mm; volumes are known to a hundredth of a voxel's edge.
        assert!(
            (found - expected).abs() < 0.06,
            "{found}, expected {expected}"
        );
    }
}

fn mask_of(random: &mut Random, grid: &Arc<Grid>) -> Mask {
    let inside: Vec<u8> = (0..grid.voxel_count())
        .map(|_| (random.bits() & 1) as u8)
        .collect();
    Mask::new(grid.clone(), inside)
}

fn de_morgan() {
    let mut random = Random::fresh("de morgan");
    let grid = any_grid(&mut random, [11, 12, 13], 0.3);
    let [a, b] = [0; 2].map(|_| mask_of(&mut random, &grid));
    let combine = |how, a: &Mask, b: &Mask| {
        region::combine(how, &Shape::Mask(a.clone()), &Shape::Mask(b.clone()), &grid)
    };
    let union = combine(Combine::Union, &a, &b);
    let both = combine(Combine::Intersection, &a, &b);
    let only = combine(Combine::Difference, &a, &b);
    for i in 0..grid.voxel_count() {
        let (x, y) = (a.inside[i] != 0, b.inside[i] != 0);
        assert_eq!(union.inside[i] != 0, x || y);
        assert_eq!(both.inside[i] != 0, x && y);
        assert_eq!(only.inside[i] != 0, x && !y);
    }
    assert_eq!(union.count() + both.count(), a.count() + b.count());
    let not = complement;
    assert_eq!(
        not(&union).inside,
        combine(Combine::Intersection, &not(&a), &not(&b)).inside
    );
    assert_eq!(
        not(&both).inside,
        combine(Combine::Union, &not(&a), &not(&b)).inside
    );
    assert_eq!(
        only.inside,
        combine(Combine::Intersection, &a, &not(&b)).inside
    );
    assert_eq!(combine(Combine::Union, &a, &a).inside, a.inside);
    assert_eq!(combine(Combine::Difference, &a, &a).count(), 0);
    let empty = Mask::empty(&grid);
    assert_eq!(combine(Combine::Intersection, &empty, &a).count(), 0);
    assert_eq!(combine(Combine::Union, &empty, &a).inside, a.inside);
}

fn other_grids() {
    let mut random = Random::fresh("other grids");
    for _ in 0..4 {
        let near = any_grid(&mut random, [20, 20, 20], 0.2);
        let mut far = (*any_grid(&mut random, [26, 26, 26], 0.2)).clone();
        // The two grids are in about the same place.
        far.world_from_voxel.translation += near.centre() - far.centre();
        far.voxel_from_world = far.world_from_voxel.inverse();
        let far = Arc::new(far);
        let a = blob(&mut random, &near);
        let sphere = Shape::Sphere {
            centre: near.centre(),
            radius_mm: 6.0,
        };
        let mask = Shape::Mask(sphere.mask_on(&far));
        let shape = Shape::Mask(a.clone());
        for (b, name) in [(&sphere, "a sphere"), (&mask, "a mask elsewhere")] {
            for how in Combine::ALL {
                let created = region::combine(how, &shape, b, &far);
                assert!(
                    Arc::ptr_eq(&created.grid, &near),
                    "on the first one's voxels"
                );
                let expected = brute(&near, |c| match how {
                    Combine::Union => a.contains(c) || b.contains(c),
                    Combine::Intersection => a.contains(c) && b.contains(c),
                    Combine::Difference => a.contains(c) && !b.contains(c),
                });
                let differ = created
                    .inside
                    .iter()
                    .zip(&expected)
                    .filter(|(x, y)| x != y)
                    .count();
                assert_eq!(differ, 0, "{how:?} with {name}");
            }
        }
    }
}
