//! Strokes, rectangles and polygons on voxels.

use super::{any_grid, brute, consistent};
use crate::support::{Random, test};
use arcuate::data::{Grid, Mask, Outline, Role, Shape, Stroke};
use glam::{DVec2, DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let _ = Role::ALL;
    vec![
        test("region::a dab is a ball on any grid", dab_is_a_ball),
        test(
            "region::a stroke is a capsule on any grid",
            stroke_is_a_capsule,
        ),
        test(
            "region::pieces of a stroke make the whole",
            pieces_make_the_whole,
        ),
        test("region::a dab has the volume of a ball", volume_of_a_ball),
        test("region::a thin brush marks the voxel under it", thin_brush),
        test(
            "region::a disc oblique to the voxels is whole",
            oblique_disc,
        ),
        test("region::a disc is one voxel thick", disc_is_thin),
        test("region::erasing undoes painting", erasing_undoes),
        test("region::a mask keeps count of what is drawn", keeps_count),
        test(
            "region::a polygon is filled by the even-odd rule",
            polygon_fill,
        ),
        test("region::polygons have their area and tile", polygon_area),
        test(
            "region::a mask cut to its voxels is the same set",
            cut_to_voxels,
        ),
    ]
}

fn inside_of(grid: &Grid, random: &mut Random) -> DVec3 {
    let share = [0; 3].map(|_| random.uniform(0.25, 0.75));
    let n = DVec3::from_array(grid.shape.map(|n| n as f64 - 1.0));
    grid.world(DVec3::from_array(share) * n)
}

fn stroke(points: Vec<DVec3>, radius_mm: f64) -> Stroke {
    Stroke {
        points,
        radius_mm,
        disc: None,
    }
}

fn distance_to_segment(p: DVec3, a: DVec3, b: DVec3) -> f64 {
    let along = b - a;
    let t = ((p - a).dot(along) / along.length_squared().max(1e-300)).clamp(0.0, 1.0);
    p.distance(a + along * t)
}

/// Painted voxels agree with brute force, except for rounding at the rim and the voxels under the pointer.
fn check(mask: &Mask, expected: &[u8], rim: impl Fn(DVec3) -> f64, under: &[DVec3]) {
    let grid = &mask.grid;
    let under: Vec<_> = under.iter().filter_map(|p| grid.nearest(*p)).collect();
    for (i, (&found, &target)) in mask.inside.iter().zip(expected).enumerate() {
        let voxel = grid.voxel(i);
        let centre = grid.world(DVec3::from_array(voxel.map(|v| v as f64)));
        let excused = || rim(centre).abs() < 1e-9 || under.contains(&voxel);
        assert!(
            found == target || excused(),
            "{voxel:?}: {found}, expected {target}"
        );
    }
}

fn dab_is_a_ball() {
    let mut random = Random::fresh("dab");
    for shear in [0.0, 0.4] {
        for _ in 0..6 {
            let grid = any_grid(&mut random, [22, 19, 25], shear);
            let (at, radius) = (inside_of(&grid, &mut random), random.uniform(1.0, 9.0));
            let mut mask = Mask::empty(&grid);
            let changed = stroke(vec![at], radius).apply(&mut mask, true);
            let expected = brute(&grid, |c| c.distance(at) <= radius);
            check(&mask, &expected, |c| c.distance(at) - radius, &[at]);
            assert_eq!(changed, mask.count());
            consistent(&mask);
        }
    }
}

fn stroke_is_a_capsule() {
    let mut random = Random::fresh("capsule");
    for shear in [0.0, 0.4] {
        for _ in 0..6 {
            let grid = any_grid(&mut random, [24, 21, 23], shear);
            let [a, b] = [0; 2].map(|_| inside_of(&grid, &mut random));
            let radius = random.uniform(2.5, 6.0);
            let mut mask = Mask::empty(&grid);
            stroke(vec![a, b], radius).apply(&mut mask, true);
            let far = |c: DVec3| distance_to_segment(c, a, b) - radius;
            let expected = brute(&grid, |c| far(c) <= 0.0);
            // The brush is thicker than half a voxel's diagonal: everything under the pointer is in it anyway.
            let under: Vec<DVec3> = (0..=2000).map(|i| a.lerp(b, i as f64 / 2000.0)).collect();
            check(&mask, &expected, far, &under);
            consistent(&mask);
        }
    }
}

/// However often the mouse is sampled along the stroke, the result is the same.
fn pieces_make_the_whole() {
    let mut random = Random::fresh("pieces");
    let grid = any_grid(&mut random, [30, 30, 30], 0.2);
    let [a, b] = [0; 2].map(|_| inside_of(&grid, &mut random));
    // The chance that a centre lies exactly on the rim is 1e-10.
    let paint = |pieces: usize| {
        let points = (0..=pieces).map(|i| a.lerp(b, i as f64 / pieces as f64));
        let mut mask = Mask::empty(&grid);
        stroke(points.collect(), 4.0).apply(&mut mask, true);
        mask
    };
    let whole = paint(1);
    assert!(whole.count() > 10);
    for pieces in [2, 7, 40] {
        assert_eq!(paint(pieces).inside, whole.inside, "{pieces} pieces");
    }
}

/// 4/3 π r³ to the fraction of voxels that the surface cuts: with 20 voxels in a radius under 1 %.
fn volume_of_a_ball() {
    let mut random = Random::fresh("volume");
    let spacing = dvec3(0.4, 0.5, 0.3);
    let grid = Arc::new(Grid::axis_aligned([70, 60, 90], spacing, DVec3::ZERO).unwrap());
    for _ in 0..3 {
        let at = grid.centre() + random.direction();
        let radius = random.uniform(8.0, 10.0);
        let mut mask = Mask::empty(&grid);
        stroke(vec![at], radius).apply(&mut mask, true);
        let ball = 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3) / 1000.0;
        let off = mask.volume_ml() / ball - 1.0;
        assert!(off.abs() < 0.01, "{off}");
        assert!(mask.centre_inside().unwrap().distance(at) < 0.05);
    }
}

fn thin_brush() {
    let mut random = Random::fresh("thin");
    for _ in 0..50 {
        let grid = any_grid(&mut random, [12, 12, 12], 0.3);
        let at = inside_of(&grid, &mut random);
        let mut mask = Mask::empty(&grid);
        stroke(vec![at], 0.01).apply(&mut mask, true);
        assert_eq!(mask.count(), 1);
        assert!(mask.contains(at));
    }
}

fn disc_is_thin() {
    let mut random = Random::fresh("disc");
    let spacing = dvec3(1.0, 1.5, 2.0);
    let grid = Arc::new(Grid::axis_aligned([40, 30, 24], spacing, DVec3::ZERO).unwrap());
    for axis in 0..3 {
        for on_a_face in [false, true] {
            let mut at = inside_of(&grid, &mut random);
            if on_a_face {
                // Between two layers of voxels: one of them.
                at[axis] = (at[axis] / spacing[axis]).floor() * spacing[axis] + spacing[axis] * 0.5;
            }
            let disc = Stroke {
                disc: Some(DVec3::AXES[axis]),
                ..stroke(vec![at], 6.0)
            };
            let mut mask = Mask::empty(&grid);
            disc.apply(&mut mask, true);
            let (low, high) = mask.block_inside().unwrap();
            // At a face the voxel under the pointer may belong to the other layer.
            let thick = high[axis] - low[axis] + 1;
            assert!(
                thick == 1 || on_a_face && thick == 2,
                "{axis} {on_a_face}: {thick}"
            );
            let across = (0..3).filter(|a| *a != axis).all(|a| high[a] > low[a] + 3);
            assert!(across, "{low:?} {high:?}");
        }
    }
}

/// All voxels, and only those, whose boxes the plane crosses and whose centres project into the disc.
fn oblique_disc() {
    let mut random = Random::fresh("oblique disc");
    for _ in 0..60 {
        let grid = any_grid(&mut random, [26, 26, 26], 0.3);
        let at = inside_of(&grid, &mut random);
        let normal = random.direction();
        let radius_mm = random.uniform(2.0, 7.0);
        let disc = Stroke {
            disc: Some(normal),
            ..stroke(vec![at], radius_mm)
        };
        let mut mask = Mask::empty(&grid);
        disc.apply(&mut mask, true);
        let edges = grid.world_from_voxel.matrix3;
        let half: f64 = (0..3).map(|a| edges.col(a).dot(normal).abs()).sum::<f64>() * 0.5;
        let under = grid.nearest(at).map(|voxel| grid.index(voxel));
        for i in 0..grid.voxel_count() {
            let off = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64))) - at;
            let above = off.dot(normal);
            let within = (off - normal * above).length();
            if (above.abs() - half).abs() < 1e-5 || (within - radius_mm).abs() < 1e-5 {
                continue;
            }
            let expected = above.abs() < half && within < radius_mm || Some(i) == under;
            assert_eq!(mask.inside[i] != 0, expected, "{above} {within} {half}");
        }
    }
}

fn erasing_undoes() {
    let mut random = Random::fresh("erase");
    let grid = any_grid(&mut random, [25, 25, 25], 0.2);
    let mut mask = Mask::empty(&grid);
    let points: Vec<DVec3> = (0..6).map(|_| inside_of(&grid, &mut random)).collect();
    let way = stroke(points, 3.0);
    let painted = way.apply(&mut mask, true);
    let id = mask.id();
    assert_eq!(
        way.apply(&mut mask, true),
        0,
        "painted voxels do not change"
    );
    assert_eq!(mask.id(), id);
    assert_eq!(way.apply(&mut mask, false), painted);
    assert_eq!(mask.count(), 0);
    assert_eq!(mask.bounds_inside(), None);
}

fn keeps_count() {
    let mut random = Random::fresh("count");
    let grid = any_grid(&mut random, [25, 25, 25], 0.2);
    let mut mask = Mask::empty(&grid);
    for i in 0..60 {
        let points = (0..3).map(|_| inside_of(&grid, &mut random)).collect();
        let before = mask.clone();
        let changed = stroke(points, random.uniform(0.5, 5.0)).apply(&mut mask, i % 3 != 2);
        consistent(&mask);
        let differ = before
            .inside
            .iter()
            .zip(mask.inside.iter())
            .filter(|(a, b)| a != b);
        assert_eq!(differ.count(), changed);
        // Masks held elsewhere are unchanged.
        consistent(&before);
    }
}

fn even_odd(corners: &[DVec2], p: DVec2) -> bool {
    let n = corners.len();
    (0..n)
        .filter(|&i| {
            let (a, b) = (corners[i], corners[(i + 1) % n]);
            (a.y > p.y) != (b.y > p.y) && p.x < a.x + (p.y - a.y) / (b.y - a.y) * (b.x - a.x)
        })
        .count()
        % 2
        == 1
}

/// Compares filled polygons with an independent rule, on grids oblique to the plane.
fn polygon_fill() {
    let mut random = Random::fresh("polygon");
    let mut filled = 0;
    for shear in [0.0, 0.3] {
        for _ in 0..8 {
            let grid = any_grid(&mut random, [26, 24, 22], shear);
            let normal = random.direction();
            let (right, up) = normal.any_orthonormal_pair();
            let middle = grid.centre();
            // A star that crosses itself.
            let corners: Vec<DVec2> = (0..7)
                .map(|_| DVec2::new(random.uniform(-14.0, 14.0), random.uniform(-14.0, 14.0)))
                .collect();
            let thickness = random.uniform(2.0, 9.0);
            let outline = Outline {
                points: corners
                    .iter()
                    .map(|c| middle + right * c.x + up * c.y)
                    .collect(),
                normal,
                thickness_mm: Some(thickness),
            };
            let mut mask = Mask::empty(&grid);
            outline.apply(&mut mask, true);
            let expected = brute(&grid, |c| {
                let d = c - middle;
                d.dot(normal).abs() <= thickness * 0.5
                    && even_odd(&corners, DVec2::new(d.dot(right), d.dot(up)))
            });
            let differ = mask
                .inside
                .iter()
                .zip(&expected)
                .filter(|(a, b)| a != b)
                .count();
            // The chance that a centre lies exactly on an edge is 1e-10.
            assert_eq!(differ, 0, "of {}", mask.count());
            filled += mask.count();
            consistent(&mask);
        }
    }
    assert!(filled > 500, "{filled} voxels in all");
}

fn polygon_area() {
    let mut random = Random::fresh("area");
    let spacing = dvec3(0.5, 0.4, 2.0);
    let grid = Arc::new(Grid::axis_aligned([200, 200, 9], spacing, DVec3::ZERO).unwrap());
    let level = 6.3;
    let outline = |corners: &[DVec2]| Outline {
        points: corners.iter().map(|c| dvec3(c.x, c.y, level)).collect(),
        normal: DVec3::Z,
        thickness_mm: None,
    };
    // A convex polygon: its corners on an ellipse.
    let corners: Vec<DVec2> = (0..9)
        .map(|i| {
            let angle = (i as f64 + random.uniform(0.0, 0.6)) / 9.0 * std::f64::consts::TAU;
            DVec2::new(45.0, 40.0) + DVec2::new(40.0 * angle.cos(), 30.0 * angle.sin())
        })
        .collect();
    let n = corners.len();
    let area = (0..n)
        .map(|i| corners[i].perp_dot(corners[(i + 1) % n]))
        .sum::<f64>()
        .abs()
        * 0.5;
    let mut mask = Mask::empty(&grid);
    outline(&corners).apply(&mut mask, true);
    let found = mask.count() as f64 * spacing.x * spacing.y;
    // A voxel along the rim counts as a whole or not at all: errors of random sign.
    assert!(
        (found / area - 1.0).abs() < 0.005,
        "{found} mm², expected {area}"
    );
    let (low, high) = mask.block_inside().unwrap();
    assert_eq!(
        (low[2], high[2]),
        (3, 3),
        "one layer of voxels, the one in the plane"
    );

    // A cut divides it: no voxel twice, none lost.
    let mut parts = [Mask::empty(&grid), Mask::empty(&grid)];
    outline(&corners[..5]).apply(&mut parts[0], true);
    let rest: Vec<DVec2> = corners[4..].iter().chain(&corners[..1]).copied().collect();
    outline(&rest).apply(&mut parts[1], true);
    let [a, b] = &parts;
    let both = a.inside.iter().zip(b.inside.iter()).zip(mask.inside.iter());
    assert!(both.clone().all(|((a, b), whole)| a + b == *whole));

    // One that contains no centre still marks its place.
    let tiny = [
        DVec2::new(10.1, 10.1),
        DVec2::new(10.2, 10.1),
        DVec2::new(10.1, 10.15),
    ];
    let mut speck = Mask::empty(&grid);
    assert_eq!(outline(&tiny).apply(&mut speck, true), 1);
    assert!(speck.contains(dvec3(10.13, 10.12, level)));
}

fn cut_to_voxels() {
    let mut random = Random::fresh("cut");
    let grid = any_grid(&mut random, [20, 21, 22], 0.2);
    let ball = Shape::Sphere {
        centre: inside_of(&grid, &mut random),
        radius_mm: 6.0,
    };
    let mask = ball.mask_on(&grid);
    assert_eq!(*mask.inside, *brute(&grid, |c| ball.contains(c)));
    let cut = Mask::cut_to(&grid, mask.block_inside().unwrap(), |i| mask.inside[i] != 0);
    assert_eq!(cut.count(), mask.count());
    assert!(cut.inside.len() < mask.inside.len());
    assert_eq!(cut.on_whole_grid().inside, mask.inside);
    assert!(Arc::ptr_eq(cut.frame(), &grid));
    let (a, b) = (cut.bounds_inside().unwrap(), mask.bounds_inside().unwrap());
    // Sums of a few numbers of magnitude 100.
    assert!(a.0.distance(b.0) < 1e-11 && a.1.distance(b.1) < 1e-11);
    for _ in 0..2000 {
        let p = inside_of(&grid, &mut random);
        assert_eq!(cut.contains(p), mask.contains(p));
    }
}
