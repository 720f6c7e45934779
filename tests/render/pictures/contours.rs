//! Lines of equal value on slices.

use super::{image, offscreen, random_grid, voxel_centre, world};
use crate::support::panes::pane;
use crate::support::{Random, test};
use arcuate::data::Volume;
use arcuate::data::appearance::ColourMap;
use arcuate::scene::draw_list::{ById, Contour, ContourSource, Image};
use glam::DMat3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::contours lie where the value is", circle),
        test("render::contours of every multiple", every),
        test("render::dashed contours", dashed),
        test("render::a cost fades out", fades),
    ]
}

fn contour(volume: &Volume, level: f32, every: Option<f32>) -> Contour {
    Contour {
        source: ContourSource::Image(ById(volume.clone())),
        level,
        every,
        colour: [255, 0, 0],
        opacity: 1.0,
        width_px: 2.0,
        dashed: false,
    }
}

/// A plane through the distances from the centre of a random grid: a circle of the requested width at any slope.
fn circle() {
    let mut random = Random::fresh("contours");
    let mut offscreen = offscreen();
    for slope in [0.01, 1.0, 40.0] {
        let grid = random_grid(&mut random, [31, 31, 31]);
        let centre = grid.centre();
        let values: Vec<f32> = (0..grid.voxel_count())
            .map(|i| (slope * voxel_centre(&grid, i).distance(centre)) as f32)
            .collect();
        let volume = Volume::scalar(Arc::new(grid), values);
        let edges = volume.grid.spacing().min_element();
        let radius_mm = 7.0 * edges;
        let mm = radius_mm / 40.0;
        let axes = DMat3::from_quat(random.rotation());
        let mut list = pane(111, centre, axes.x_axis, axes.y_axis, mm);
        list.contours = vec![contour(&volume, (slope * radius_mm) as f32, None)];
        let picture = offscreen.slice(&list).expect("a picture");
        // Linear interpolation of a cone falls short of it by an eighth of the curvature.
        let voxel = volume.grid.spacing().max_element();
        let short_px = voxel * voxel / (4.0 * radius_mm) / mm + 0.5;
        let mut covered = 0.0;
        for y in 0..111 {
            for x in 0..111 {
                let away_px = (world(&list, x, y).distance(centre) - radius_mm).abs() / mm;
                let red = f64::from(picture.pixel(x, y)[0]) / 255.0;
                covered += red;
                if away_px > 1.5 + short_px {
                    assert!(red == 0.0, "{slope}: {away_px} px away, {red}");
                }
            }
        }
        let area = std::f64::consts::TAU * 40.0 * 2.0;
        assert!(
            (covered / area - 1.0).abs() < 0.08,
            "{slope}: {covered} of {area}"
        );
    }
}

/// Half of a circle, in pieces of 5 px and more, where the whole circle is.
fn dashed() {
    let mut offscreen = offscreen();
    let grid = super::plain_grid([41, 41, 3]);
    let centre = glam::DVec3::new(20.0, 20.0, 1.0);
    let values: Vec<f32> = (0..grid.voxel_count())
        .map(|i| voxel_centre(&grid, i).distance(centre) as f32)
        .collect();
    let volume = Volume::scalar(grid, values);
    let mut list = pane(121, centre, glam::DVec3::X, glam::DVec3::Y, 0.25);
    let mut red = |dashed: bool| -> Vec<u8> {
        list.contours = vec![Contour {
            dashed,
            ..contour(&volume, 12.0, None)
        }];
        let picture = offscreen.slice(&list).expect("a picture");
        let places = (0..121).flat_map(|y| (0..121).map(move |x| (x, y)));
        places.map(|(x, y)| picture.pixel(x, y)[0]).collect()
    };
    let [whole, dashes] = [false, true].map(&mut red);
    let sum = |values: &[u8]| values.iter().map(|v| f64::from(*v)).sum::<f64>();
    let share = sum(&dashes) / sum(&whole);
    assert!((0.4..0.6).contains(&share), "{share}");
    // Each pixel is that of the whole line or empty.
    let agree = |(whole, dash): (&u8, &u8)| dash == whole || *dash == 0;
    assert!(whole.iter().zip(&dashes).all(agree));
}

/// A ramp: a line at every multiple except 0.
fn every() {
    let mut offscreen = offscreen();
    let grid = super::plain_grid([64, 3, 3]);
    let values: Vec<f32> = (0..grid.voxel_count()).map(|i| (i % 64) as f32).collect();
    let volume = Volume::scalar(grid, values);
    let centre = glam::DVec3::new(31.5, 1.0, 1.0);
    let mut list = pane(64, centre, glam::DVec3::X, glam::DVec3::Y, 1.0);
    list.contours = vec![contour(&volume, 0.0, Some(10.0))];
    let picture = offscreen.slice(&list).expect("a picture");
    let y = 32;
    let lit: Vec<u32> = (0..64).filter(|&x| picture.pixel(x, y)[0] > 128).collect();
    assert!(lit.iter().all(|x| (x + 1) % 10 <= 2 && *x > 5), "{lit:?}");
    for middle in [10, 20, 30, 40, 50, 60] {
        assert!(lit.contains(&middle), "{middle}: {lit:?}");
    }
}

/// Opaque at the low end, clear at the high one and beyond.
fn fades() {
    let mut offscreen = offscreen();
    let grid = super::plain_grid([64, 1, 1]);
    let values: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let volume = Volume::scalar(grid, values);
    let mut list = pane(
        64,
        glam::DVec3::new(31.5, 0.0, 0.0),
        glam::DVec3::X,
        glam::DVec3::Y,
        1.0,
    );
    list.origin.y = 0.0;
    list.images = vec![Image {
        colour_map: ColourMap::Cost,
        fades: true,
        ..image(&volume, (0.0, 40.0))
    }];
    let picture = offscreen.slice(&list).expect("a picture");
    for x in 0..64u32 {
        let t = x as f32 / 40.0;
        let alpha = (1.0 - t).max(0.0);
        let expected = ColourMap::Cost.at(t).map(|c| f32::from(c) * alpha);
        let found = picture.pixel(x, 0);
        for (found, expected) in found.iter().zip(expected) {
            assert!(
                (f32::from(*found) - expected).abs() <= 2.0,
                "{x}: {found} {expected}"
            );
        }
    }
}
