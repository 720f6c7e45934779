//! Surfaces that are coloured by another image have its colour at the point that each ray hits.

use super::bricks::{solved, surface, with};
use super::{any_eye, any_grid, ball_surface, chord, distances, field, pixels, ray, shown};
use crate::pictures::{colour_difference, offscreen};
use crate::support::{Random, test};
use arcuate::data::Volume;
use arcuate::data::appearance::ColourMap;
use arcuate::render::offscreen::Picture;
use arcuate::scene::draw_list::{BrickSurface, ById, ScenePane, SurfaceColours, VolumeDraw};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test(
        "render::surfaces are coloured by another image",
        coloured,
    )]
}

const RADIUS_MM: f64 = 10.0;
/// Contains all values around the ball: the texture clamps values to the window before it interpolates.
const WINDOW: (f32, f32) = (-18.0, 18.0);

fn coloured() {
    let mut random = Random::fresh("coloured surfaces");
    let mut offscreen = offscreen();
    for _ in 0..3 {
        let axis = random.direction();
        // Linear interpolation on any grid gives a linear image exactly.
        let image = field(any_grid(&mut random, 12, 18.0), |at| axis.dot(at) as f32);
        let eye = any_eye(&mut random);
        let ball = distances(any_grid(&mut random, 48, 17.0), DVec3::ZERO);
        let of_image = VolumeDraw {
            lit: false,
            coloured_by: Some(colours(&image)),
            ..ball_surface(&ball, RADIUS_MM as f32, [0, 160, 0])
        };
        let grid = any_grid(&mut random, 48, 17.0);
        let phi = solved(&grid, 8, |at| RADIUS_MM - at.length());
        let of_bricks = BrickSurface {
            lit: false,
            coloured_by: Some(colours(&image)),
            ..surface(&phi)
        };
        for list in [shown(vec![of_image], eye), with(vec![of_bricks], eye)] {
            let picture = offscreen.scene(&list).expect("a picture");
            compare(&picture, &list, axis);
        }
    }
}

fn colours(image: &Volume) -> SurfaceColours {
    SurfaceColours {
        image: ById(image.clone()),
        window: WINDOW,
        colour_map: ColourMap::RedGrey,
    }
}

fn compare(picture: &Picture, list: &ScenePane, axis: DVec3) {
    let (mut worst, mut count) = (0, 0);
    for (x, y) in pixels() {
        let (origin, direction) = ray(list, x, y);
        let off = origin.cross(direction).length();
        // Near the outline the rays of a pixel hit distant points.
        if off > 0.9 * RADIUS_MM {
            continue;
        }
        let hit = chord((origin, direction), DVec3::ZERO, RADIUS_MM);
        let (enters, _) = hit.expect("a hit");
        let value = axis.dot(origin + enters * direction) as f32;
        let share = (value - WINDOW.0) / (WINDOW.1 - WINDOW.0);
        let expected = ColourMap::RedGrey.at(share);
        worst = worst.max(colour_difference(picture.pixel(x, y), expected));
        count += 1;
    }
    println!("{worst} of 255 over {count} pixels");
    // The image has 256 values, and the map changes by up to 6 between two pixels.
    assert!(count > 1000 && worst <= 6, "{worst} {count}");
}
