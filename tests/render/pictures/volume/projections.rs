//! Maximum and minimum intensity projections, against the extremes of fields along the rays.

use super::{any_eye, any_grid, cloud, distances, field, pixels, ray, shown};
use crate::pictures::offscreen;
use crate::support::{Random, test};
use arcuate::data::Volume;
use arcuate::data::appearance::{ColourMap, Colours};
use arcuate::render::March;
use arcuate::render::offscreen::Picture;
use arcuate::scene::draw_list::{
    CutAway, CutPlane, Interpolation, ScenePane, Transfer, VolumeDraw, VolumeStyle,
};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::projections show extremes of rays", extremes),
        test("render::a minimum ignores the background", background),
        test("render::empty bricks change no projection", skipping),
        test("render::a cut limits a projection", cut),
    ]
}

/// Values of the fields, up to this one, mm.
const MOST: f64 = 20.0;

fn projection(volume: &Volume, smallest: bool, opacity: f32, colours: Colours) -> VolumeDraw {
    VolumeDraw {
        style: VolumeStyle::Projection { smallest, opacity },
        ..cloud(volume, Transfer::new(&[(0.0, 0.0), (1.0, 1.0)], colours))
    }
}

fn grey(volume: &Volume, smallest: bool) -> VolumeDraw {
    projection(volume, smallest, 1.0, Colours::Map(ColourMap::Grey))
}

/// Compares red with a value for each ray, given the point nearest to the origin; `None` is not compared.
fn compare(picture: &Picture, list: &ScenePane, expected: impl Fn(DVec3, DVec3) -> Option<f64>) {
    let (mut worst, mut sum, mut count) = (0.0f64, 0.0, 0);
    for (x, y) in pixels() {
        let (origin, direction) = ray(list, x, y);
        let nearest = origin - direction * origin.dot(direction);
        let Some(expected) = expected(nearest, direction) else {
            continue;
        };
        let off = (f64::from(picture.pixel(x, y)[0]) - expected).abs();
        (worst, sum, count) = (worst.max(off), sum + off, count + 1);
    }
    let mean = sum / f64::from(count);
    println!("{worst:.1} at most, {mean:.2} on average over {count}");
    // Interpolation near the centre of the distances and samples half a voxel apart are wrong by about 0.3 mm, which
    // is 4 of 255.
    assert!(
        count > 1000 && worst <= 6.0 && mean <= 2.0,
        "{worst} {mean} {count}"
    );
}

/// The smallest distance from the origin along a ray is that of the ray; so is the largest of the opposite values.
fn extremes() {
    let mut random = Random::fresh("projections");
    let mut offscreen = offscreen();
    let grid = any_grid(&mut random, 60, 19.0);
    let near = distances(grid.clone(), DVec3::ZERO);
    let far = field(grid, |at| (MOST - at.length()) as f32);
    let shown_at = |nearest: DVec3| (nearest.length() < 12.0).then_some(nearest.length());
    for interpolation in [Interpolation::Linear, Interpolation::Cubic] {
        for (volume, smallest) in [(&near, true), (&far, false)] {
            let draw = VolumeDraw {
                interpolation,
                ..grey(volume, smallest)
            };
            let list = shown(vec![draw], any_eye(&mut random));
            let picture = offscreen.scene(&list).expect("a picture");
            compare(&picture, &list, |nearest, _| {
                let value = shown_at(nearest)?;
                let value = if smallest { value } else { MOST - value };
                Some(255.0 * value / MOST)
            });
        }
    }
    // A single colour begins at black, and half of a white background shows through.
    let draw = projection(&far, false, 0.5, Colours::Fixed([200, 0, 0]));
    let mut list = shown(vec![draw], any_eye(&mut random));
    list.background = [255; 3];
    let picture = offscreen.scene(&list).expect("a picture");
    compare(&picture, &list, |nearest, _| {
        let value = (MOST - shown_at(nearest)?) / MOST;
        Some(127.5 + 0.5 * 200.0 * value)
    });
}

/// Zeros around an object, and values at the low end of the window, do not count: not even through interpolation.
fn background() {
    let mut random = Random::fresh("projections, background");
    let mut offscreen = offscreen();
    let radius = 13.0;
    let volume = field(any_grid(&mut random, 60, 19.0), |at| {
        match at.length() < radius {
            true => (at.length() + 4.0) as f32,
            false => 0.0,
        }
    });
    let mut list = shown(vec![grey(&volume, true)], any_eye(&mut random));
    list.background = [255; 3];
    let picture = offscreen.scene(&list).expect("a picture");
    compare(&picture, &list, |nearest, _| {
        let off = nearest.length();
        (off < radius - 2.0).then_some(255.0 * (off + 4.0) / MOST)
    });
    // Nothing is drawn beside it.
    compare(&picture, &list, |nearest, _| {
        (nearest.length() > radius + 2.0).then_some(255.0)
    });
}

fn skipping() {
    let mut random = Random::fresh("projections, skipping");
    let mut offscreen = offscreen();
    let hole = random.direction() * 7.0;
    let blobs: Vec<DVec3> = (0..5).map(|_| random.direction() * 11.0).collect();
    let volume = field(any_grid(&mut random, 48, 20.0), |at| {
        let near = blobs.iter().map(|c| at.distance(*c)).fold(20.0, f64::min);
        match at.distance(hole) < 3.0 {
            true => f32::NAN,
            false => near as f32,
        }
    });
    for case in 0..4 {
        let draw = VolumeDraw {
            interpolation: [Interpolation::Linear, Interpolation::Cubic][case / 2],
            ..grey(&volume, case % 2 == 0)
        };
        let list = shown(vec![draw], any_eye(&mut random));
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
        assert!(most <= Some(1) && seen > 300, "{case}: {most:?} {seen}");
    }
}

/// Behind a plane through the origin that faces the eye, the largest value lies on the plane or behind it.
fn cut() {
    let mut random = Random::fresh("projections, cut");
    let mut offscreen = offscreen();
    let eye = any_eye(&mut random);
    let front = eye.normalize();
    let bright = front * 5.0;
    let volume = field(any_grid(&mut random, 60, 19.0), |at| {
        (MOST - at.distance(bright)) as f32
    });
    let mut draw = grey(&volume, false);
    draw.cut = Some(CutAway {
        planes: vec![CutPlane {
            point: DVec3::ZERO,
            normal: front,
        }],
        face: None,
    });
    let list = shown(vec![draw], eye);
    let picture = offscreen.scene(&list).expect("a picture");
    compare(&picture, &list, |nearest, direction| {
        let on_plane = nearest - direction * (nearest.dot(front) / direction.dot(front));
        let along = (bright - on_plane).dot(direction).max(0.0);
        let value = MOST - (on_plane + direction * along).distance(bright);
        (nearest.length() < 11.0).then_some(255.0 * value / MOST)
    });
}
