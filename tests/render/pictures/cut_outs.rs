//! Slices of the 3-D view that are cut to a mask.

use super::scenes::{grey_block, quad};
use super::{ball, colour_difference, image, offscreen};
use crate::support::panes::scene;
use crate::support::test;
use arcuate::data::{Grid, Mask, Volume, VolumeKind};
use arcuate::scene::draw_list::Interpolation;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::slices_are_cut_out", cut_out),
        test("render::slices_are_cut_out_aslant", cut_out_aslant),
        test("render::gaps of a mask leave no holes in slices", gaps),
        test("render::cut slices have no dark rim on white", no_rim),
        test(
            "render::upper layers of cut slices stay in place",
            upper_layer,
        ),
        test(
            "render::without a mask slices are cut to the head",
            head_alone,
        ),
        test(
            "render::all volumes of an image are cut to one head",
            one_head,
        ),
        test(
            "render::slices without a background are whole",
            no_background,
        ),
    ]
}

/// An image that is 0 outside its mask: on a white background, the border of the slice is nowhere darker than the slice
/// itself, since no pixel shows values between those inside and those outside.
fn no_rim() {
    let mut offscreen = offscreen();
    let mask = ball(10.0, 1.0);
    let value = |i: usize| 0.5 * f32::from(mask.inside[i]);
    let values: Vec<f32> = (0..mask.grid.voxel_count()).map(value).collect();
    let image = Volume::scalar(mask.grid.clone(), values);
    for eye in [
        DVec3::new(0.0, -300.0, 0.001),
        DVec3::new(150.0, -250.0, 40.0),
    ] {
        let mut list = scene(160, eye);
        list.background = [255; 3];
        list.slices = vec![quad(&image, Some(mask.clone()))];
        let picture = offscreen.scene(&list).expect("a picture");
        let (mut inside, mut darkest) = (0, 255);
        for (x, y) in (0..160u32).flat_map(|x| (0..160u32).map(move |y| (x, y))) {
            let grey = picture.pixel(x, y)[0];
            darkest = darkest.min(grey);
            inside += u32::from(grey < 140);
        }
        assert!(inside > 2000, "{inside} pixels of the slice");
        // Where a border crosses the voxels aslant, up to 5 % of a value comes from those outside.
        assert!(darkest >= 121, "{darkest}");
    }
}

/// A coarse map over a slice that is cut to a fine mask: at the rim, too, it shows the values of these points, not of
/// points farther inside.
fn upper_layer() {
    let mut offscreen = offscreen();
    // The voxels are 3 mm wide, and the value rises by 1 over 40 mm.
    let origin = DVec3::new(-22.5, -3.0, -22.5);
    let grid = Grid::axis_aligned([16, 3, 16], DVec3::splat(3.0), origin).expect("regular");
    let value = |i: usize| {
        let x = grid
            .world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)))
            .x;
        (0.5 + x / 40.0) as f32
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    let map = Volume::scalar(Arc::new(grid), values);
    let mut slice = quad(&grey_block(0.5), Some(ball(10.0, 1.0)));
    let mut upper = image(&map, (0.0, 1.0));
    upper.interpolation = Interpolation::Linear;
    slice.images.push(upper);
    let mut list = scene(160, DVec3::new(0.0, -300.0, 0.001));
    list.slices = vec![slice];
    let picture = offscreen.scene(&list).expect("a picture");
    let mut at_rim = 0;
    for (x, y) in (0..160u32).flat_map(|x| (0..160u32).map(move |y| (x, y))) {
        let [across, up] = [x, y].map(|i| (f64::from(i) + 0.5 - 80.0) / 4.0);
        let mm = across.hypot(up);
        if mm < 9.2 {
            let expected = (255.0 * (0.5 + across / 40.0)).round() as u8;
            let found = picture.pixel(x, y);
            let difference = colour_difference(found, [expected; 3]);
            assert!(difference <= 2, "{x} {y} {found:?} {expected}");
            at_rim += u32::from(mm > 8.8);
        }
    }
    assert!(at_rim > 100, "{at_rim} pixels at the rim");
}

/// A slice shows its image inside the mask and the objects behind it outside.
fn cut_out() {
    let mut offscreen = offscreen();
    let mut list = scene(160, DVec3::new(0.0, -300.0, 0.001));
    list.background = [10, 20, 30];
    list.slices = vec![quad(&grey_block(0.5), Some(ball(10.0, 1.0)))];
    let picture = offscreen.scene(&list).expect("a picture");
    for y in 0..160u32 {
        for x in 0..160u32 {
            let mm = (f64::from(x) + 0.5 - 80.0).hypot(f64::from(y) + 0.5 - 80.0) / 4.0;
            let found = picture.pixel(x, y);
            // The smoothed mask's edge is within half a voxel of the ball's.
            if mm < 9.2 {
                assert!(colour_difference(found, [128; 3]) <= 1, "{mm} {found:?}");
            } else if mm > 10.8 {
                assert_eq!(colour_difference(found, [10, 20, 30]), 0, "{mm} {found:?}");
            }
        }
    }
}

/// Without a mask, slices are cut to the head in the image: dark parts within it remain, noise around it does not.
fn head_alone() {
    let mut offscreen = offscreen();
    let mut list = scene(160, DVec3::new(0.0, -300.0, 0.001));
    list.background = [255; 3];
    let grid = ball(12.0, 1.0).grid;
    let value = |i: usize| {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        match at.length() {
            mm if mm < 4.0 => 0.0,
            mm if mm < 12.0 => 0.5,
            // Up to 3 % of the brightest.
            _ => 0.03 * ((i * 7919) % 100) as f32 / 100.0,
        }
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    let image = Volume::scalar(grid.clone(), values);
    list.slices = vec![quad(&image, None)];
    let picture = offscreen.scene(&list).expect("a picture");
    let mut seen = [0; 3];
    for (x, y) in (0..160u32).flat_map(|x| (0..160u32).map(move |y| (x, y))) {
        let mm = (f64::from(x) + 0.5 - 80.0).hypot(f64::from(y) + 0.5 - 80.0) / 4.0;
        let found = picture.pixel(x, y);
        if mm < 2.0 {
            assert!(colour_difference(found, [0; 3]) <= 2, "{mm} {found:?}");
            seen[0] += 1;
        } else if (6.0..10.0).contains(&mm) {
            assert!(colour_difference(found, [128; 3]) <= 2, "{mm} {found:?}");
            seen[1] += 1;
        } else if mm > 14.0 {
            assert_eq!(colour_difference(found, [255; 3]), 0, "{mm} {found:?}");
            seen[2] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
}

/// The head of an image is that of its first volume: a later one, in which less is bright, is cut to the same shape, also
/// if it is drawn first.
fn one_head() {
    let mut offscreen = offscreen();
    let grid = ball(12.0, 1.0).grid;
    let bright = |radius: f64| {
        let grid = grid.clone();
        (0..grid.voxel_count()).map(move |i| {
            let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
            if at.length() < radius { 0.5 } else { 0.01 }
        })
    };
    let values: Vec<f32> = bright(12.0).chain(bright(5.0)).collect();
    let image = Volume::new(grid.clone(), 2, VolumeKind::Scalar, values);
    let drawn: Vec<_> = [1, 0]
        .into_iter()
        .map(|frame| {
            let mut list = scene(160, DVec3::new(0.0, -300.0, 0.001));
            list.background = [255; 3];
            let mut slice = quad(&image, None);
            slice.images[0].frame = frame;
            list.slices = vec![slice];
            offscreen.scene(&list).expect("a picture")
        })
        .collect();
    let mut seen = [0; 2];
    for (x, y) in (0..160u32).flat_map(|x| (0..160u32).map(move |y| (x, y))) {
        let mm = (f64::from(x) + 0.5 - 80.0).hypot(f64::from(y) + 0.5 - 80.0) / 4.0;
        let [second, first] = [0, 1].map(|i| drawn[i].pixel(x, y));
        if (6.5..8.0).contains(&mm) {
            // Within the head of the first volume, dark voxels of the second one are drawn, except in its rim of 3 mm.
            assert!(colour_difference(second, [3; 3]) <= 3, "{mm} {second:?}");
            assert!(colour_difference(first, [128; 3]) <= 2, "{mm} {first:?}");
            seen[0] += 1;
        } else if mm > 14.0 {
            assert_eq!(colour_difference(second, [255; 3]), 0, "{mm} {second:?}");
            seen[1] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
}

/// Images without a dark background are not cut: a ramp of bright values, and a grey block with a few black voxels in
/// another slice.
fn no_background() {
    let mut offscreen = offscreen();
    let grid = grey_block(0.5).grid;
    let ramp = |voxel: [usize; 3]| 0.3 + 0.01 * voxel[0] as f32;
    let spots = |[x, y, z]: [usize; 3]| match y == 0 && (x + z) % 16 == 0 {
        true => 0.0,
        false => 0.5,
    };
    let values: [&dyn Fn([usize; 3]) -> f32; 2] = [&ramp, &spots];
    for (nth, value) in values.into_iter().enumerate() {
        let all: Vec<f32> = (0..grid.voxel_count())
            .map(|i| value(grid.voxel(i)))
            .collect();
        let mut list = scene(160, DVec3::new(0.0, -300.0, 0.001));
        list.background = [255; 3];
        list.slices = vec![quad(&Volume::scalar(grid.clone(), all), None)];
        let picture = offscreen.scene(&list).expect("a picture");
        // The block covers the pixels from 16 to 144.
        for (x, y) in (17..143u32).flat_map(|x| (17..143u32).map(move |y| (x, y))) {
            let found = picture.pixel(x, y);
            let difference = colour_difference(found, [255; 3]);
            assert!(difference > 50, "{nth}: {x} {y} {found:?}");
        }
    }
}

/// A mask without the fissure between its halves: a slice within the fissure is whole, and ends where the halves do.
fn gaps() {
    let mut offscreen = offscreen();
    let mut list = scene(160, DVec3::new(0.0, -300.0, 0.001));
    list.background = [255; 3];
    // Three widths of the blur that closes gaps: the border of a smaller ball recedes far.
    let whole = ball(19.0, 1.0);
    let grid = whole.grid.clone();
    let outside = |i: usize| {
        let [x, y, z] = grid.voxel(i).map(|v| v as f64);
        grid.world(DVec3::new(x, y, z)).y.abs() > 1.6
    };
    let inside = whole.inside.iter().enumerate();
    let inside: Vec<u8> = inside.map(|(i, v)| v * u8::from(outside(i))).collect();
    assert!(inside != whole.inside[..]);
    list.slices = vec![quad(&grey_block(0.5), Some(Mask::new(grid, inside)))];
    let picture = offscreen.scene(&list).expect("a picture");
    for (x, y) in (0..160u32).flat_map(|x| (0..160u32).map(move |y| (x, y))) {
        let mm = (f64::from(x) + 0.5 - 80.0).hypot(f64::from(y) + 0.5 - 80.0) / 4.0;
        let found = picture.pixel(x, y);
        if mm < 7.0 {
            assert!(colour_difference(found, [128; 3]) <= 1, "{mm} {found:?}");
        } else if mm > 20.5 {
            assert_eq!(colour_difference(found, [255; 3]), 0, "{mm} {found:?}");
        }
    }
}

/// Where pixels span many voxels of a slice, nothing outside the mask is visible, nor its black.
fn cut_out_aslant() {
    let mut offscreen = offscreen();
    for (value, mask) in [(0.5, Some(ball(10.0, 1.0))), (0.0, None)] {
        let empty = mask.is_none();
        let mut list = scene(160, DVec3::new(0.0, -4.0, 300.0));
        list.background = [240, 250, 255];
        list.slices = vec![quad(&grey_block(value), mask)];
        let picture = offscreen.scene(&list).expect("a picture");
        let mut grey = 0;
        for y in 0..160u32 {
            for x in 0..160u32 {
                let found = picture.pixel(x, y);
                let off = colour_difference(found, [240, 250, 255]);
                grey += usize::from(off > 60);
                let across = (f64::from(x) + 0.5 - 80.0).abs() / 4.0;
                if across > 11.5 || empty {
                    assert_eq!(off, 0, "{x} {y} {found:?}");
                }
            }
        }
        assert_eq!(grey == 0, empty, "{grey} pixels of the slice");
    }
}
