//! Clouds by a transfer function of two values, against integrals along the rays.

mod three_values;

use super::{Ray, WIDE, any_eye, any_grid, cloud, distances, field, pixels, ray, shown};
use crate::pictures::offscreen;
use crate::support::{Random, test};
use arcuate::data::Volume;
use arcuate::data::appearance::{ShapeKind, TransferShape};
use arcuate::data::joint_histogram::{DerivedValue, JointAxis, JointSamples, mean_curvature};
use arcuate::render::March;
use arcuate::render::offscreen::Picture;
use arcuate::scene::draw_list::{
    ById, ScenePane, SecondSource, ShapedTransfer, Transfer, VolumeDraw,
};
use arcuate::state::core::layer::LayerId;
use arcuate::state::core::volume_look::{SecondValue as Second, TwoValues, VolumeLook};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test(
            "render::clouds by value and gradient are integrals",
            gradient,
        ),
        test(
            "render::clouds by value and curvature are integrals",
            curvature,
        ),
        test("render::clouds by two images are integrals", two_images),
        test(
            "render::empty bricks of two values change no pixel",
            skipping,
        ),
        test("render::joint histograms count pairs of values", counted),
        test(
            "render::shapes of two values are stored and repaired",
            stored,
        ),
        test(
            "render::curvatures of voxels are those of spheres and cylinders",
            curvatures_of_voxels,
        ),
        test(
            "render::shapes keep their values in another window",
            other_window,
        ),
    ];
    own.into_iter().chain(three_values::tests()).collect()
}

const REFERENCE_MM: f64 = 2.0;

fn shape(kind: ShapeKind, limits: [[f32; 2]; 2], opacity: f32) -> TransferShape {
    TransferShape {
        kind,
        low: [limits[0][0], limits[1][0]],
        high: [limits[0][1], limits[1][1]],
        colour: [255; 3],
        opacity,
        softness: 0.4,
        foot: 0.3,
        third: TransferShape::NO_THIRD,
    }
}

fn shaped(volume: &Volume, second: Option<&Volume>, window: (f32, f32)) -> VolumeDraw {
    VolumeDraw {
        shapes: Some(ShapedTransfer {
            second: second.map_or(SecondSource::Gradient, |v| {
                SecondSource::Image(ById(v.clone()))
            }),
            window,
            third: None,
            shapes: Vec::new(),
        }),
        ..cloud(volume, Transfer::rising())
    }
}

fn with(draw: &VolumeDraw, shapes: &[TransferShape]) -> VolumeDraw {
    let mut draw = draw.clone();
    if let Some(shaped) = &mut draw.shapes {
        shaped.shapes = shapes.to_vec();
    }
    draw
}

/// Extinction of a shape at two shares, 1/mm, from its definition.
fn extinction(shape: &TransferShape, pair: [f64; 2]) -> f64 {
    let soft = f64::from(shape.softness);
    if shape.kind == ShapeKind::Trapezoid {
        let [low, high] = [shape.low, shape.high].map(|ends| ends.map(f64::from));
        let up = (pair[1] - low[1]) / (high[1] - low[1]);
        let wide = f64::from(shape.foot) + (1.0 - f64::from(shape.foot)) * up.clamp(0.0, 1.0);
        let off = (2.0 * pair[0] - low[0] - high[0]).abs() / (high[0] - low[0]);
        // The distance from the lower and the upper side in half heights.
        let within = 2.0 * up.min(1.0 - up);
        let rise = ((wide - off) / soft).min(within / soft).clamp(0.0, 1.0);
        return -(1.0 - f64::from(shape.opacity) * rise).ln() / REFERENCE_MM;
    }
    // 0 in the middle, 1 at the edge.
    let off = [0, 1].map(|a| {
        let (low, high) = (f64::from(shape.low[a]), f64::from(shape.high[a]));
        (2.0 * pair[a] - low - high).abs() / (high - low)
    });
    let off = match shape.kind {
        ShapeKind::Box => off[0].max(off[1]),
        ShapeKind::Ellipse | ShapeKind::Trapezoid => off[0].hypot(off[1]),
    };
    let opacity = f64::from(shape.opacity) * ((1.0 - off) / soft).clamp(0.0, 1.0);
    -(1.0 - opacity).ln() / REFERENCE_MM
}

/// The share of a shape's opacity at a share of the third value, from the definition of its limits.
fn third_rise(shape: &TransferShape, third: f64) -> f64 {
    let [low, high] = shape.third.map(f64::from);
    let rise = 0.5 * (high - low) * f64::from(shape.softness);
    let from_low = if low == 0.0 {
        1.0
    } else {
        (third - low) / rise
    };
    let from_high = if high == 1.0 {
        1.0
    } else {
        (high - third) / rise
    };
    from_low.min(from_high).clamp(0.0, 1.0)
}

/// Extinction of a shape at three shares, 1/mm: the opacity is the smaller one of those that the pair of values and the
/// third value allow.
fn extinction_of_three(shape: &TransferShape, [pair @ .., third]: [f64; 3]) -> f64 {
    let rise = third_rise(shape, third);
    let least = TransferShape {
        opacity: (f64::from(shape.opacity) * rise) as f32,
        ..*shape
    };
    // A share of the pair above this one counts as it.
    let opaque = -(1.0 - f64::from(least.opacity)).ln() / REFERENCE_MM;
    extinction(shape, pair).min(opaque)
}

/// Compares the pixels with sums over 1200 steps along each ray.
fn compare(
    picture: &Picture,
    list: &ScenePane,
    shapes: &[TransferShape],
    pair: impl Fn(DVec3) -> [f64; 2],
) {
    // The shapes have no limits of a third value.
    compare_three(picture, list, shapes, |at| {
        let [first, second] = pair(at);
        [first, second, 0.5]
    });
}

/// Compares the pixels with sums of shapes that a third value limits.
fn compare_three(
    picture: &Picture,
    list: &ScenePane,
    shapes: &[TransferShape],
    values: impl Fn(DVec3) -> [f64; 3],
) {
    let (mut worst, mut sum, mut seen, mut count) = (0.0f64, 0.0, 0, 0);
    for (x, y) in pixels() {
        let (origin, direction): Ray = ray(list, x, y);
        let middle = -origin.dot(direction);
        const STEPS: usize = 1200;
        let step = 60.0 / STEPS as f64;
        let depth: f64 = (0..STEPS)
            .map(|i| {
                let at = origin + direction * (middle - 30.0 + (i as f64 + 0.5) * step);
                let values = values(at);
                let all = shapes.iter().map(|s| extinction_of_three(s, values));
                all.sum::<f64>() * step
            })
            .sum();
        let expected = 255.0 * (1.0 - (-depth).exp());
        let found = f64::from(picture.pixel(x, y)[0]);
        worst = worst.max((found - expected).abs());
        sum += (found - expected).abs();
        count += 1;
        seen += usize::from(expected > 20.0);
    }
    let mean = sum / f64::from(count);
    println!("{worst:.1} at most, {mean:.2} on average, {seen} seen");
    // Linear interpolation moves values by up to h² / 8 r, and gradients are smoothed over two voxels.
    assert!(seen > 500 && worst <= 10.0 && mean <= 1.2, "{worst} {mean}");
}

/// The distance from a point has a gradient of 1 everywhere: a shape around 1 shows its values, one beside it nothing.
fn gradient() {
    let mut random = Random::fresh("two values, gradient");
    let mut offscreen = offscreen();
    let volume = distances(any_grid(&mut random, 64, 19.0), DVec3::ZERO);
    let draw = shaped(&volume, None, (0.0, 2.0));
    for kind in ShapeKind::ALL {
        let around = shape(kind, [[0.2, 0.6], [0.1, 0.9]], 0.2);
        let list = shown(vec![with(&draw, &[around])], any_eye(&mut random));
        let picture = offscreen.scene(&list).expect("a picture");
        compare(&picture, &list, &[around], |at| {
            [at.length() / f64::from(WIDE), 0.5]
        });
        let away = shape(kind, [[0.2, 0.6], [0.6, 0.9]], 0.9);
        let list = shown(vec![with(&draw, &[away])], any_eye(&mut random));
        let picture = offscreen.scene(&list).expect("a picture");
        let brightest = pixels().map(|(x, y)| picture.pixel(x, y)[0]).max();
        assert!(brightest <= Some(2), "{brightest:?}");
    }
}

/// The surfaces of constant distance from a point are spheres. Distances rise outwards, so their curvature is −1 / radius.
fn curvature() {
    let mut random = Random::fresh("two values, curvature");
    let mut offscreen = offscreen();
    let volume = distances(any_grid(&mut random, 64, 19.0), DVec3::ZERO);
    let window = (-0.3f32, 0.1f32);
    let mut draw = shaped(&volume, None, window);
    if let Some(shaped) = &mut draw.shapes {
        shaped.second = SecondSource::Curvature;
    }
    // Radii from 6 to 14 mm: their curvatures lie within the limits of the second value.
    for kind in ShapeKind::ALL {
        let around = shape(kind, [[0.3, 0.7], [0.05, 0.7]], 0.2);
        let list = shown(vec![with(&draw, &[around])], any_eye(&mut random));
        let picture = offscreen.scene(&list).expect("a picture");
        compare(&picture, &list, &[around], |at| {
            let curvature = -1.0 / at.length();
            let share = (curvature - f64::from(window.0)) / f64::from(window.1 - window.0);
            [at.length() / f64::from(WIDE), share]
        });
    }
    // There are no positive curvatures.
    let away = shape(ShapeKind::Box, [[0.2, 0.7], [0.8, 0.95]], 0.9);
    let list = shown(vec![with(&draw, &[away])], any_eye(&mut random));
    let picture = offscreen.scene(&list).expect("a picture");
    let brightest = pixels().map(|(x, y)| picture.pixel(x, y)[0]).max();
    assert!(brightest <= Some(2), "{brightest:?}");
}

/// The mean curvature of a sphere is 1 / radius, that of a cylinder half of that, whatever the grid; the sign says which
/// side is brighter.
fn curvatures_of_voxels() {
    let mut random = Random::fresh("curvatures of voxels");
    let axis = random.direction();
    let radius = |at: DVec3, is_cylinder: bool| match is_cylinder {
        true => at.reject_from(axis).length(),
        false => at.length(),
    };
    for (is_cylinder, sign) in [(false, -1.0), (false, 1.0), (true, 1.0)] {
        let volume = field(any_grid(&mut random, 60, 19.0), |at| {
            (100.0 - sign * radius(at, is_cylinder)) as f32
        });
        let grid = &volume.grid;
        let mut checked = 0;
        for i in (0..grid.voxel_count()).step_by(97) {
            let voxel = grid.voxel(i);
            let inner = (0..3).all(|a| (1..grid.shape[a] - 1).contains(&voxel[a]));
            let at = grid.world(DVec3::from_array(voxel.map(|n| n as f64)));
            let r = radius(at, is_cylinder);
            if !inner || !(6.0..14.0).contains(&r) {
                continue;
            }
            let expected = sign * if is_cylinder { 0.5 } else { 1.0 } / r;
            let found = mean_curvature(&volume, 0, voxel).map(f64::from);
            let found = found.expect("a curvature");
            // Second differences are wrong by about (h / r)², and single precision of values near 100 by 1e-5 / h².
            assert!(
                (found - expected).abs() < 0.03 * expected.abs() + 2e-4,
                "{found} {expected}"
            );
            checked += 1;
        }
        assert!(checked > 200, "{checked}");
    }
    let flat = field(any_grid(&mut random, 12, 19.0), |_| 3.0);
    assert_eq!(mean_curvature(&flat, 0, [5, 5, 5]), None);
    assert_eq!(DerivedValue::Curvature.window(&flat, 0), (-1.0, 1.0));
}

/// A shape has the same second values in another window, and open ends stay open.
fn other_window() {
    let two = TwoValues {
        second: Second::Curvature,
        window: (-1.0, 3.0),
        shapes: vec![
            shape(ShapeKind::Ellipse, [[0.1, 0.5], [0.25, 0.75]], 0.5),
            shape(ShapeKind::Box, [[0.1, 0.5], [0.0, 0.75]], 0.5),
            shape(ShapeKind::Trapezoid, [[0.1, 0.5], [0.25, 1.0]], 0.5),
        ],
        third: None,
    };
    let wider = two.in_window((-2.0, 6.0));
    let limits = |i: usize| [wider.shapes[i].low[1], wider.shapes[i].high[1]];
    // 0 and 2 in either window.
    assert_eq!(limits(0), [0.25, 0.5]);
    assert_eq!(limits(1), [0.0, 0.5]);
    assert_eq!(limits(2), [0.25, 1.0]);
    assert_eq!(wider.in_window(two.window), two);
}

/// Two shapes over two images on different grids.
fn two_images() {
    let mut random = Random::fresh("two values, images");
    let mut offscreen = offscreen();
    let volume = distances(any_grid(&mut random, 60, 19.0), DVec3::ZERO);
    let axis = random.direction();
    let other = field(any_grid(&mut random, 50, 24.0), |at| at.dot(axis) as f32);
    let draw = shaped(&volume, Some(&other), (-15.0, 15.0));
    let shapes = [
        shape(ShapeKind::Box, [[0.1, 0.5], [0.2, 0.6]], 0.15),
        shape(ShapeKind::Ellipse, [[0.2, 0.6], [0.4, 0.9]], 0.2),
    ];
    let list = shown(vec![with(&draw, &shapes)], any_eye(&mut random));
    let picture = offscreen.scene(&list).expect("a picture");
    compare(&picture, &list, &shapes, |at| {
        [at.length() / f64::from(WIDE), (at.dot(axis) + 15.0) / 30.0]
    });
    let list = shown(vec![with(&draw, &[])], any_eye(&mut random));
    let picture = offscreen.scene(&list).expect("a picture");
    assert!(pixels().all(|(x, y)| picture.pixel(x, y)[0] == 0));
}

fn skipping() {
    let mut random = Random::fresh("two values, skipping");
    let mut offscreen = offscreen();
    let hole = random.direction() * 9.0;
    let volume = field(any_grid(&mut random, 44, 20.0), |at| {
        match at.distance(hole) < 3.0 {
            true => f32::NAN,
            false => at.length() as f32,
        }
    });
    let draw = shaped(&volume, None, (0.0, 2.0));
    let shell = shape(ShapeKind::Box, [[0.3, 0.45], [0.1, 0.9]], 0.5);
    let list = shown(vec![with(&draw, &[shell])], any_eye(&mut random));
    let mut picture = |skips| {
        offscreen.renderer.set_march(March {
            skips,
            ..March::default()
        });
        offscreen.scene(&list).expect("a picture")
    };
    let (without, with) = (picture(false), picture(true));
    offscreen.renderer.set_march(March::default());
    let off = |(x, y)| with.pixel(x, y)[0].abs_diff(without.pixel(x, y)[0]);
    let most = pixels().map(off).max();
    let seen = pixels().filter(|&(x, y)| with.pixel(x, y)[0] > 20).count();
    assert!(most <= Some(1) && seen > 300, "{most:?} {seen}");
}

/// All voxels of a small image are counted once, in the cell of their two values.
fn counted() {
    let mut random = Random::fresh("joint histogram");
    let grid = any_grid(&mut random, 24, 19.0);
    let volume = distances(grid, DVec3::ZERO);
    let windows = [(0.0, 60.0), (0.0, 120.0)];
    let twice = Volume::scalar(
        volume.grid.clone(),
        volume.frame(0).iter().map(|v| v * 2.0).collect::<Vec<_>>(),
    );
    let samples = JointSamples::measure(&volume, 0, Some(&twice), || false);
    let samples = samples.expect("values");
    let counts = samples.counts(JointAxis::Image, windows, None, 16);
    let mut expected = vec![0u32; 256];
    for value in volume.frame(0) {
        let bin = ((value / 60.0 * 16.0) as usize).min(15);
        expected[bin * 17] += 1;
    }
    let total: u32 = counts.iter().sum();
    assert_eq!(total as usize, volume.grid.voxel_count());
    // A rounding error moves single voxels to the next cell.
    let off: u32 = counts
        .iter()
        .zip(&expected)
        .map(|(a, b)| a.abs_diff(*b))
        .sum();
    assert!(off <= 8, "{off}");
    let natural = samples.window(JointAxis::Own(DerivedValue::Gradient));
    let (low, high) = natural.expect("a window");
    assert!(low == 0.0 && (high - 1.0).abs() < 0.15, "{high}");
    assert_eq!(DerivedValue::Gradient.window(&volume, 0), (low, high));
    let natural = samples.window(JointAxis::Image).expect("a window");
    let (low, high) = twice.range(0);
    // Percentiles are those of bins.
    assert!(
        (natural.0 - low).abs() < 0.1 && (natural.1 - high).abs() < 0.1,
        "{natural:?}"
    );
    // With limits of a third value, the voxels within them are counted: the curvature of a voxel is −1 / distance.
    let limits = (-0.2f32, -0.08f32);
    let third = Some((DerivedValue::Curvature, limits));
    let within = samples.counts(JointAxis::Image, windows, third, 16);
    let is_within = |i: &usize| {
        let curvature = mean_curvature(&volume, 0, volume.grid.voxel(*i));
        curvature.is_some_and(|c| (limits.0..=limits.1).contains(&c))
    };
    let expected = (0..volume.grid.voxel_count()).filter(is_within).count();
    let found: u32 = within.iter().sum();
    assert!(
        expected > 500 && found as usize == expected,
        "{found} {expected}"
    );
    let fewer = within
        .iter()
        .zip(&counts)
        .all(|(within, all)| within <= all);
    assert!(fewer && expected < total as usize);
}

fn stored() {
    let two = TwoValues {
        second: Second::Image(LayerId(7)),
        window: (0.0, 1.5),
        shapes: vec![shape(ShapeKind::Ellipse, [[0.1, 0.5], [0.2, 0.6]], 0.15)],
        third: None,
    };
    let look = VolumeLook {
        two_values: Some(two.clone()),
        ..VolumeLook::default()
    };
    let text = serde_json::to_string(&look).expect("text");
    assert_eq!(serde_json::from_str::<VolumeLook>(&text).ok(), Some(look));
    let without = serde_json::to_string(&VolumeLook::default()).expect("text");
    assert!(!without.contains("two_values"));
    let broken = TransferShape {
        low: [0.8, f32::NAN],
        high: [0.2, f32::INFINITY],
        opacity: 7.0,
        softness: -1.0,
        ..two.shapes[0]
    };
    let repaired = TwoValues {
        window: (1.0, f32::NAN),
        shapes: vec![broken; 20],
        ..two
    }
    .finite();
    assert_eq!(repaired.window, (0.0, 1.0));
    assert_eq!(repaired.shapes.len(), TransferShape::MAX_COUNT);
    let shape = repaired.shapes[0];
    assert_eq!((shape.low, shape.high), ([0.2, 0.0], [0.8, 1.0]));
    assert_eq!(shape.opacity, 1.0);
    assert_eq!(shape.softness, TransferShape::MIN_SOFTNESS);
    // Sessions of earlier versions store neither the width of the lower side nor limits of a third value.
    let mut earlier = serde_json::to_value(shape).expect("a value");
    earlier.as_object_mut().map(|o| o.remove("foot"));
    assert!(earlier.get("third").is_none());
    let read: TransferShape = serde_json::from_value(earlier).expect("a shape");
    assert_eq!(read.foot, TransferShape::FOOT);
    assert_eq!(read.third, TransferShape::NO_THIRD);
    three_values::stored(&two);
}
