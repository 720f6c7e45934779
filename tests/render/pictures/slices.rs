//! Slice views: where voxels land and which colour they get.

use super::scenes::{grey_block, quad};
use super::{
    ball, colour_difference, image, lines, offscreen, plain_grid, random_grid, tractogram,
    voxel_centre, world,
};
use crate::support::panes::{pane, scene};
use crate::support::{Random, test};
use arcuate::data::appearance::ColourMap;
use arcuate::data::{Volume, VolumeKind};
use arcuate::scene::draw_list::{ById, Image, Interpolation, LineColour, LineStyle, Lines};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::voxels_land_where_the_affine_says", voxels_land),
        test("render::windows_and_maps_are_exact", windows_and_maps),
        test("render::right_is_left_in_radiological", left_and_right),
        test("render::interpolation_is_of_its_order", interpolation),
        test("render::missing_values_are_not_drawn", missing_values),
        test("render::overlays_blend", overlays),
        test(
            "render::results_cover_the_lines_of_the_context",
            results_on_top,
        ),
        test("render::colour_images_and_brightness", colour_images),
        test("render::hidden_below_fa", hidden_below),
        test("render::single_colour_masks", single_colour),
        test(
            "render::directions_have_no_holes_within_the_head",
            black_within,
        ),
    ]
}

/// Any oblique plane through any oblique grid: each pixel shows the voxel that contains its centre.
fn voxels_land() {
    let mut random = Random::fresh("voxels_land");
    let mut offscreen = offscreen();
    for _ in 0..6 {
        let grid = random_grid(&mut random, [9, 7, 5]);
        // All values differ, so a mirrored or transposed axis is noticed.
        let values: Vec<f32> = (0..grid.voxel_count())
            .map(|i| (i % 251 + 4) as f32)
            .collect();
        let volume = Volume::scalar(Arc::new(grid), values);
        let axes = DMat3::from_quat(random.rotation());
        let mut list = pane(61, volume.grid.centre(), axes.x_axis, axes.y_axis, 0.37);
        list.images = vec![image(&volume, (0.0, 255.0))];
        let picture = offscreen.slice(&list).expect("a picture");
        let mut seen = 0;
        for y in 0..61 {
            for x in 0..61 {
                let at = volume.grid.voxel_at(world(&list, x, y));
                // The device computes in f32, so centres on a border between voxels are skipped.
                if (at - at.floor() - 0.5).abs().min_element() < 1e-3 {
                    continue;
                }
                let expected = volume.nearest(0, world(&list, x, y)).unwrap_or(0.0);
                let [r, g, b, a] = picture.pixel(x, y);
                assert_eq!([r, g, b, a], [expected as u8, r, r, 255], "{x} {y}");
                seen += u32::from(expected > 0.0);
            }
        }
        // Any plane through the centre cuts at least this disc out of the box, and the pane is wider.
        let edges = volume.grid.spacing() * DVec3::new(9.0, 7.0, 5.0);
        let width = edges.min_element().min(60.0 * 0.37);
        let least = 0.9 * std::f64::consts::FRAC_PI_4 * (width / 0.37).powi(2);
        assert!(f64::from(seen) > least, "the grid is in view: {seen}");
    }
}

/// A ramp through every map and a random window: within rounding of the map's own colour.
fn windows_and_maps() {
    let mut random = Random::fresh("windows");
    let mut offscreen = offscreen();
    let grid = plain_grid([64, 1, 1]);
    for colour_map in ColourMap::ALL {
        if colour_map == ColourMap::Mask {
            continue;
        }
        let values: Vec<f32> = (0..64).map(|_| random.uniform(-2.0, 3.0) as f32).collect();
        let volume = Volume::new(grid.clone(), 1, VolumeKind::Scalar, values.clone());
        let low = random.uniform(-1.0, 0.5) as f32;
        let high = low + random.uniform(0.2, 2.0) as f32;
        let centre = DVec3::new(31.5, 0.0, 0.0);
        let mut list = pane(64, centre, DVec3::X, DVec3::Y, 1.0);
        list.images = vec![Image {
            colour_map,
            ..image(&volume, (low, high))
        }];
        // Rows above and below the single row of voxels are black.
        list.origin.y = 0.0;
        let picture = offscreen.slice(&list).expect("a picture");
        for (x, &value) in values.iter().enumerate() {
            let expected = colour_map.at((value - low) / (high - low));
            let found = picture.pixel(x as u32, 0);
            // The device looks up 256 colours and mixes two. The ten colours of the stops differ by up to 9 levels from
            // one of the 256 to the next: a kink between two of them is cut by a quarter of its turn.
            let tolerance = if colour_map == ColourMap::Stops { 4 } else { 1 };
            assert!(
                colour_difference(found, expected) <= tolerance,
                "{colour_map:?} {value}: {found:?} {expected:?}"
            );
            assert_eq!(picture.pixel(x as u32, 1), [0, 0, 0, 255]);
        }
    }
}

/// However many faint lines lie on each other, they hide neither the image of a result nor the lines of the foreground.
fn results_on_top() {
    let mut offscreen = offscreen();
    let grid = plain_grid([9, 9, 1]);
    let volume = |value: f32| Volume::scalar(grid.clone(), vec![value; grid.voxel_count()]);
    let centre = volume(0.0).grid.centre();
    let mut list = pane(45, centre, DVec3::X, DVec3::Y, 0.2);
    let result = Image {
        colour_map: ColourMap::Cost,
        ..image(&volume(0.5), (0.0, 1.0))
    };
    list.images = vec![image(&volume(0.2), (0.0, 1.0)), result];
    let [across, along] = [DVec3::X, DVec3::Y].map(|axis| [-8.0, 8.0].map(|mm| centre + axis * mm));
    let context = Lines {
        context: true,
        opacity: 0.24,
        ..lines(
            &tractogram(&vec![along.to_vec(); 60]),
            LineColour::Fixed([0, 255, 0]),
            LineStyle::Lines { width_px: 3.0 },
        )
    };
    let front = lines(
        &tractogram(&[across.to_vec()]),
        LineColour::Fixed([255, 0, 255]),
        LineStyle::Lines { width_px: 3.0 },
    );
    let plain = offscreen.slice(&list).expect("a picture");
    list.lines = vec![context, front];
    let hidden = offscreen.slice(&list).expect("a picture");
    list.images_above = 1;
    let shown = offscreen.slice(&list).expect("a picture");
    let cost = ColourMap::Cost.at(0.5);
    assert!(colour_difference(plain.pixel(22, 8), cost) <= 1);
    // Without a result above, the lines are opaque together.
    assert!(hidden.pixel(22, 8)[1] > 200 && hidden.pixel(22, 8)[0] < 40);
    assert!(colour_difference(shown.pixel(22, 8), cost) <= 1);
    let line = shown.pixel(8, 22);
    assert!(line[0] > 200 && line[1] < 60 && line[2] > 200, "{line:?}");
}

/// A bright voxel on the patient's right, in a view with right shown on the left, appears on the left, whichever way
/// the file stores it.
fn left_and_right() {
    let mut random = Random::fresh("left_and_right");
    let mut offscreen = offscreen();
    for _ in 0..4 {
        let grid = random_grid(&mut random, [21, 21, 21]);
        let marked = grid.centre() + DVec3::new(6.0, 0.0, 0.0);
        let values: Vec<f32> = (0..grid.voxel_count())
            .map(|i| f32::from(voxel_centre(&grid, i).distance(marked) < 3.0))
            .collect();
        let volume = Volume::scalar(Arc::new(grid), values);
        let mut list = pane(41, volume.grid.centre(), -DVec3::X, -DVec3::Y, 0.7);
        list.images = vec![image(&volume, (0.0, 1.0))];
        let picture = offscreen.slice(&list).expect("a picture");
        let bright = |columns: std::ops::Range<u32>| -> usize {
            let all = columns.flat_map(|x| (0..41).map(move |y| (x, y)));
            all.filter(|&(x, y)| picture.pixel(x, y)[0] > 128).count()
        };
        assert!(bright(0..18) > 20 && bright(18..41) == 0);
    }
}

/// Nearest-neighbour interpolation keeps the voxel's value; linear is exact on a linear ramp, and cubic on a parabola,
/// where linear is not.
fn interpolation() {
    let mut offscreen = offscreen();
    let grid = plain_grid([32, 4, 4]);
    let mut shown = |interpolation, value_at: fn(f64) -> f64| {
        let values: Vec<f32> = (0..grid.voxel_count())
            .map(|i| value_at(grid.voxel(i)[0] as f64) as f32)
            .collect();
        let volume = Volume::scalar(grid.clone(), values);
        let mut list = pane(101, DVec3::new(15.5, 1.3, 1.6), DVec3::X, DVec3::Y, 0.2);
        list.images = vec![Image {
            interpolation,
            ..image(&volume, (0.0, 1.0))
        }];
        let picture = offscreen.slice(&list).expect("a picture");
        let row = (0..101).map(|x| {
            let expected = value_at(world(&list, x, 50).x);
            (f64::from(picture.pixel(x, 50)[0]) / 255.0 - expected).abs()
        });
        row.fold(0.0, f64::max)
    };
    let ramp = |x: f64| x / 32.0;
    let bowl = |x: f64| (x - 15.5).powi(2) * 0.008 + 0.05;
    let zigzag = |x: f64| 0.2 + 0.2 * (x.round() % 3.0);
    // Half a byte of rounding, and the rounding of f32.
    let rounding = 0.55 / 255.0;
    assert!(shown(Interpolation::Nearest, zigzag) < rounding);
    assert!(shown(Interpolation::Linear, ramp) < rounding);
    assert!(shown(Interpolation::Cubic, ramp) < rounding);
    assert!(shown(Interpolation::Cubic, bowl) < rounding);
    // A chord deviates from a parabola by an eighth of its second derivative.
    let chord = shown(Interpolation::Linear, bowl);
    assert!((0.0018..0.004).contains(&chord), "{chord}");
    // Nearest-neighbour interpolation is off by up to half a voxel of the ramp, plus rounding.
    let step = shown(Interpolation::Nearest, ramp);
    assert!(
        (0.4 / 32.0..0.5 / 32.0 + rounding).contains(&step),
        "{step}"
    );
}

/// NaN and infinities are holes with hard edges at half a voxel; their neighbours keep their value.
fn missing_values() {
    let mut offscreen = offscreen();
    for interpolation in [
        Interpolation::Nearest,
        Interpolation::Linear,
        Interpolation::Cubic,
    ] {
        let holes = [(5, f32::NAN), (12, f32::INFINITY), (19, f32::NEG_INFINITY)];
        let mut values = vec![0.5f32; 25];
        for (at, value) in holes {
            values[at] = value;
        }
        let volume = Volume::scalar(plain_grid([25, 1, 1]), values);
        let mut list = pane(250, DVec3::new(12.0, 0.0, 0.0), DVec3::X, DVec3::Y, 0.1);
        list.images = vec![Image {
            interpolation,
            ..image(&volume, (0.0, 1.0))
        }];
        let picture = offscreen.slice(&list).expect("a picture");
        for x in 0..250 {
            let at = world(&list, x, 125).x;
            let hole = holes.iter().any(|h| (at - h.0 as f64).abs() < 0.44);
            let solid = holes.iter().all(|h| (at - h.0 as f64).abs() > 0.56);
            let found = picture.pixel(x, 125);
            if hole {
                assert_eq!(found, [0, 0, 0, 255], "{interpolation:?} {at}");
            } else if solid {
                assert!(
                    colour_difference(found, [128; 3]) <= 1,
                    "{interpolation:?} {at}: {found:?}"
                );
            }
        }
    }
}

/// An overlay of half opacity covers the image; below its window it does not change the image.
fn overlays() {
    let mut random = Random::fresh("overlays");
    let mut offscreen = offscreen();
    let grid = plain_grid([8, 8, 1]);
    let base = Volume::scalar(grid.clone(), vec![0.6; 64]);
    let values: Vec<f32> = (0..64).map(|_| random.uniform(-1.0, 1.0) as f32).collect();
    let overlay = Volume::scalar(grid.clone(), values.clone());
    let opacity = random.uniform(0.2, 0.9) as f32;
    let mut list = pane(8, DVec3::new(3.5, 3.5, 0.0), DVec3::X, DVec3::Y, 1.0);
    list.images = vec![
        image(&base, (0.0, 1.0)),
        Image {
            colour_map: ColourMap::Viridis,
            opacity,
            transparent_below: true,
            fades: false,
            ..image(&overlay, (0.0, 1.0))
        },
    ];
    let picture = offscreen.slice(&list).expect("a picture");
    for (i, &value) in values.iter().enumerate() {
        let expected = ColourMap::Viridis.at(value).map(|c| {
            let over = if value < 0.0 { 0.0 } else { opacity };
            (f32::from(c) * over + 153.0 * (1.0 - over)).round() as u8
        });
        let found = picture.pixel(i as u32 % 8, i as u32 / 8);
        // Rounded twice: the layer below, and the sum.
        assert!(
            colour_difference(found, expected) <= 2,
            "{value}: {found:?} {expected:?}"
        );
    }
}

/// Colour images are shown unchanged, times brightness, clipped at white.
fn colour_images() {
    let mut random = Random::fresh("colour_images");
    let mut offscreen = offscreen();
    let grid = plain_grid([8, 8, 1]);
    let values: Vec<f32> = (0..192).map(|_| random.uniform(0.0, 1.0) as f32).collect();
    let volume = Volume::new(grid, 3, VolumeKind::Rgb, values.clone());
    for brightness in [1.0, 1.7] {
        let mut list = pane(8, DVec3::new(3.5, 3.5, 0.0), DVec3::X, DVec3::Y, 1.0);
        list.images = vec![Image {
            brightness,
            ..image(&volume, (0.0, 1.0))
        }];
        let picture = offscreen.slice(&list).expect("a picture");
        for i in 0..64 {
            let expected = [0, 1, 2].map(|c| {
                let value = values[c * 64 + i] * brightness;
                (value.min(1.0) * 255.0).round() as u8
            });
            let found = picture.pixel(i as u32 % 8, i as u32 / 8);
            assert!(
                colour_difference(found, expected) <= 1,
                "{found:?} {expected:?}"
            );
        }
    }
}

fn hidden_below() {
    let mut random = Random::fresh("hidden_below");
    let mut offscreen = offscreen();
    let base = Volume::scalar(plain_grid([8, 8, 1]), vec![1.0; 64]);
    let values: Vec<f32> = (0..64).map(|_| random.uniform(0.0, 1.0) as f32).collect();
    let fa = Volume::scalar(plain_grid([8, 8, 1]), values.clone());
    let mut list = pane(8, DVec3::new(3.5, 3.5, 0.0), DVec3::X, DVec3::Y, 1.0);
    list.images = vec![Image {
        hide_below: Some((ById(fa), 0.4)),
        ..image(&base, (0.0, 1.0))
    }];
    let picture = offscreen.slice(&list).expect("a picture");
    for (i, &value) in values.iter().enumerate() {
        let expected = if value < 0.4 { 0 } else { 255 };
        let found = picture.pixel(i as u32 % 8, i as u32 / 8);
        assert_eq!(found, [expected, expected, expected, 255]);
    }
}

/// A mask shows its single colour where it is 1 and nothing where it is 0.
fn single_colour() {
    let mut offscreen = offscreen();
    let values = (0..64).map(|i| f32::from(i % 8 > 3)).collect::<Vec<_>>();
    let volume = Volume::scalar(plain_grid([8, 8, 1]), values);
    for interpolation in [Interpolation::Nearest, Interpolation::Linear] {
        let mut list = pane(80, DVec3::new(3.5, 3.5, 0.0), DVec3::X, DVec3::Y, 0.1);
        list.images = vec![Image {
            colour_map: ColourMap::Mask,
            interpolation,
            ..image(&volume, (0.0, 1.0))
        }];
        let picture = offscreen.slice(&list).expect("a picture");
        for x in 0..80 {
            let at = world(&list, x, 40).x;
            // The soft edge is a pixel wide, 0.1 voxels.
            if at < 3.38 {
                assert_eq!(
                    picture.pixel(x, 40),
                    [0, 0, 0, 255],
                    "{interpolation:?} {at}"
                );
            } else if at > 3.62 {
                let found = picture.pixel(x, 40);
                assert_eq!(
                    colour_difference(found, ColourMap::Mask.at(1.0)),
                    0,
                    "{at} {found:?}"
                );
            }
        }
    }
}

/// A slice of directions is black within the head where there is no direction, and is not drawn outside the head.
fn black_within() {
    let mut offscreen = offscreen();
    let mut list = scene(160, DVec3::new(0.0, -300.0, 0.001));
    list.background = [255; 3];
    let grid = grey_block(0.0).grid.clone();
    let voxels = grid.voxel_count();
    // Green at the patient's right, dim next to it, without a direction at the left.
    let green = (0..voxels).map(|i| match grid.voxel(i)[0] {
        0..14 => 0.5,
        14..18 => 0.03,
        _ => 0.0,
    });
    let green: Vec<f32> = green.collect();
    let nothing = vec![0.0; voxels];
    let values = [&*nothing, &*green, &*nothing].concat();
    let directions = Volume::new(grid, 3, VolumeKind::Rgb, values);
    list.slices = vec![quad(&directions, Some(ball(10.0, 1.0)))];
    let picture = offscreen.scene(&list).expect("a picture");
    let mut seen = [0; 2];
    for (x, y) in (0..160u32).flat_map(|y| (0..160u32).map(move |x| (x, y))) {
        let mm = (f64::from(x) + 0.5 - 80.0).hypot(f64::from(y) + 0.5 - 80.0) / 4.0;
        let found = picture.pixel(x, y);
        if mm < 8.5 {
            assert!(found[0].max(found[2]) <= 1, "{x} {y} {found:?}");
            assert!(found[1] <= 129, "{x} {y} {found:?}");
            seen[usize::from(found[1] > 100)] += 1;
        } else if mm > 12.0 {
            assert_eq!(colour_difference(found, [255; 3]), 0, "{x} {y} {found:?}");
        }
    }
    assert!(seen[0] > 1000 && seen[1] > 1000, "{seen:?}");
}
