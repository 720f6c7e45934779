//! Images over others: limits of their values, opacity by value, outlines of labels.

use super::{colour_difference, image, offscreen, plain_grid};
use crate::support::panes::pane;
use crate::support::{Random, test};
use arcuate::data::appearance::ColourMap;
use arcuate::data::labels::Labels;
use arcuate::data::{Volume, VolumeKind};
use arcuate::scene::draw_list::Image;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::limits hide values outside", limits),
        test("render::opacity follows the value", by_value),
        test("render::labels can be outlines", outlines),
    ]
}

const WIDTH: usize = 64;
/// Grey level of the image below, out of 255.
const BELOW: u8 = 51;

/// A row of 64 values over a grey image; one voxel is one pixel.
fn drawn(values: &[f32], look: impl Fn(&mut Image)) -> Vec<[u8; 4]> {
    let grid = plain_grid([WIDTH, 1, 1]);
    let row = |values: Vec<f32>| Volume::new(grid.clone(), 1, VolumeKind::Scalar, values);
    let centre = DVec3::new(0.5 * (WIDTH as f64 - 1.0), 0.0, 0.0);
    let mut list = pane(WIDTH as u32, centre, DVec3::X, DVec3::Y, 1.0);
    list.origin.y = 0.0;
    let mut above = image(&row(values.to_vec()), (-3.0, 3.0));
    above.colour_map = ColourMap::Diverging;
    look(&mut above);
    let grey = f32::from(BELOW) / 255.0;
    list.images = vec![image(&row(vec![grey; WIDTH]), (0.0, 1.0)), above];
    let picture = offscreen().slice(&list).expect("a picture");
    (0..WIDTH).map(|x| picture.pixel(x as u32, 0)).collect()
}

fn values(random: &mut Random) -> Vec<f32> {
    let mut values: Vec<f32> = (0..WIDTH)
        .map(|_| random.uniform(-3.0, 3.0) as f32)
        .collect();
    values[0] = f32::NAN;
    values
}

fn colour(value: f32) -> [u8; 3] {
    ColourMap::Diverging.at((value + 3.0) / 6.0)
}

/// Values within the limits have their colour; the image below shows through all others. Symmetric limits are those of
/// absolute values.
fn limits() {
    let mut random = Random::fresh("limits of overlays");
    for is_symmetric in [false, true] {
        let values = values(&mut random);
        let (low, high) = (0.8, 2.1);
        let found = drawn(&values, |image| {
            image.limits = Some((low, high));
            image.is_symmetric = is_symmetric;
        });
        let mut shown = 0;
        for (value, pixel) in values.iter().zip(found) {
            let size = if is_symmetric { value.abs() } else { *value };
            let is_shown = size >= low && size <= high;
            let expected = if is_shown { colour(*value) } else { [BELOW; 3] };
            shown += usize::from(is_shown);
            assert!(colour_difference(pixel, expected) <= 1, "{value} {pixel:?}");
        }
        assert!(shown > 5 && shown < WIDTH - 10);
    }
}

/// The opacity rises linearly from the low end of the window to its high end, or from 0 to the larger end for absolute
/// values.
fn by_value() {
    let mut random = Random::fresh("opacity by value");
    for is_symmetric in [false, true] {
        let values = values(&mut random);
        let found = drawn(&values, |image| {
            image.opacity_by_value = true;
            image.is_symmetric = is_symmetric;
        });
        for (value, pixel) in values.iter().zip(found) {
            let alpha = match is_symmetric {
                _ if value.is_nan() => 0.0,
                true => value.abs() / 3.0,
                false => (value + 3.0) / 6.0,
            };
            let mixed = colour(*value)
                .map(|c| (f32::from(c) * alpha + f32::from(BELOW) * (1.0 - alpha)).round() as u8);
            assert!(
                colour_difference(pixel, mixed) <= 2,
                "{value} {pixel:?} {mixed:?}"
            );
        }
    }
}

/// Two labels of which each fills a square: their rims have their colours, and their insides are transparent.
fn outlines() {
    const SIDE: usize = 8;
    const SCALE: f64 = 0.125;
    let grid = plain_grid([SIDE, SIDE, 1]);
    let label = |i: usize| match grid.voxel(i) {
        [1..=3, 2..=5, _] => 1.0,
        [4..=6, 2..=5, _] => 2.0,
        _ => 0.0,
    };
    let numbers: Vec<f32> = (0..grid.voxel_count()).map(label).collect();
    let labels = Labels::default();
    let map = Volume::scalar(grid.clone(), numbers).with_labels(Arc::new(labels.clone()));
    let mut list = pane(64, grid.centre(), DVec3::X, DVec3::Y, SCALE);
    let mut above = image(map.picture(), (0.0, 1.0));
    above.is_outlined = true;
    list.images = vec![above];
    let picture = offscreen().slice(&list).expect("a picture");
    let number = |x: u32, y: u32| {
        let at = super::world(&list, x, y);
        map.nearest(0, at).unwrap_or(0.0) as u32
    };
    let (mut rim, mut inside) = (0, 0);
    for y in 4..60 {
        for x in 4..60 {
            let own = number(x, y);
            let differs = |by: u32| {
                let around = [(x - by, y), (x + by, y), (x, y - by), (x, y + by)];
                around.iter().any(|(x, y)| number(*x, *y) != own)
            };
            let pixel = picture.pixel(x, y);
            if own == 0 || !differs(2) {
                assert_eq!(pixel, [0, 0, 0, 255], "{x} {y}");
                inside += usize::from(own > 0);
            } else if differs(1) {
                assert!(colour_difference(pixel, labels.colour(own)) <= 1, "{x} {y}");
                rim += 1;
            }
        }
    }
    assert!(rim > 60 && inside > 500, "{rim} {inside}");
}
