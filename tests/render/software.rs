//! Devices that are programs: what they compile anew they keep for ever, and it takes long.

use super::scenes::{outlined, quad};
use super::{ball, curve, fresh_offscreen, image, lines, plain_grid, scene, tractogram};
use crate::support::{Random, test};
use arcuate::data::Volume;
use arcuate::render::draw_list::{ById, LineColour, LineStyle, ScenePane, Solid, SolidShape};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test(
        "render::other cameras need no other shaders",
        nothing_new,
    )]
}

/// Pieces of code that this process may run.
fn compiled() -> Option<usize> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    Some(maps.lines().filter(|l| l.contains("r-xp")).count())
}

fn nothing_new() {
    let mut random = Random::fresh("software");
    let curves: Vec<_> = (0..40).map(|_| curve(&mut random, 40, 0.5)).collect();
    let tracts = tractogram(&curves);
    let volume = Volume::scalar(plain_grid([24, 24, 24]), vec![0.5; 24 * 24 * 24]);
    let solid = |shape| Solid {
        shape,
        colour: [245, 217, 10],
        opacity: 0.6,
        selected: false,
    };
    let centre = DVec3::new(3.0, 2.0, 1.0);
    type Add<'a> = (&'a str, Box<dyn Fn(&mut ScenePane) + 'a>);
    let parts: Vec<Add> = vec![
        ("nothing", Box::new(|_| ())),
        (
            "slice",
            Box::new(|s| s.slices = vec![quad(&volume, Some(ball(10.0, 1.0)))]),
        ),
        (
            "lines",
            Box::new(|s| {
                let style = LineStyle::Lines { width_px: 2.0 };
                s.lines = vec![lines(&tracts, LineColour::Direction, style)];
            }),
        ),
        (
            "tubes",
            Box::new(|s| {
                let style = LineStyle::Tubes { radius_mm: 0.4 };
                s.lines = vec![lines(&tracts, LineColour::Direction, style)];
            }),
        ),
        (
            "sphere",
            Box::new(|s| {
                s.solids = vec![solid(SolidShape::Sphere {
                    centre,
                    radius_mm: 4.0,
                })];
            }),
        ),
        (
            "box",
            Box::new(|s| {
                s.solids = vec![solid(SolidShape::Box {
                    centre,
                    half_mm: DVec3::ONE,
                })];
            }),
        ),
        (
            "mask",
            Box::new(|s| s.solids = vec![solid(SolidShape::Mask(ById(ball(6.0, 1.0))))]),
        ),
        ("outline", Box::new(|s| s.outline = outlined(10).outline)),
    ];
    let _ = image;
    for (name, add) in &parts {
        let mut offscreen = fresh_offscreen();
        let mut counts = Vec::new();
        for i in 0..24 {
            let mut list = scene(200, random.direction() * random.uniform(200.0, 300.0));
            add(&mut list);
            offscreen.scene(&list).unwrap();
            if i % 4 == 3 {
                counts.push(compiled().unwrap_or(0));
            }
        }
        println!("{name}: {counts:?}");
    }
}
