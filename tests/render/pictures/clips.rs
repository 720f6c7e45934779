//! Clip planes and boxes, and the depth cue, against the geometry of rays.

use super::{ball, lines, offscreen, project, tractogram};
use crate::support::panes::scene;
use crate::support::{Random, test};
use arcuate::data::appearance::Colours;
use arcuate::data::clip::{Clip, ClipShape, keep, kept_parts};
use arcuate::data::{Grid, Tensor, TensorField, Volume};
use arcuate::render::offscreen::Picture;
use arcuate::scene::draw_list::{
    ById, Clips, CutPlane, GlyphPlace, GlyphShape, Glyphs, Interpolation, LineColour, LineStyle,
    ScenePane, Solid, SolidShape, TensorGlyphs, Transfer, VolumeDraw, VolumeStyle,
};
use glam::{DVec2, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("clips::parts of lines are those that are kept", parts),
        test("clips::shapes become valid", valid),
        test("render::clips shorten the rays of clouds", clouds),
        test("render::clips cut regions and surfaces open", regions),
        test("render::clips cut streamlines", streamlines),
        test("render::clips hide whole glyphs", glyphs),
        test("render::a depth cue mixes in the background", depth_cue),
    ]
}

const SIZE: u32 = 96;

/// A plane or a box near the origin.
fn any_clip(random: &mut Random) -> Clip {
    let point = random.direction() * random.uniform(0.0, 6.0);
    let shape = match random.bits() & 1 {
        0 => ClipShape::plane_through(point, random.direction()),
        _ => {
            let half = DVec3::from_array([0; 3].map(|_| random.uniform(3.0, 9.0)));
            ClipShape::Box {
                low: point - half,
                high: point + half,
            }
            .valid()
        }
    };
    Clip {
        shape: shape.expect("a valid shape"),
        hides_inside: random.bits() & 1 == 1,
    }
}

fn any_clips(random: &mut Random) -> Vec<Clip> {
    let count = 1 + (random.bits() % 4) as usize;
    (0..count).map(|_| any_clip(random)).collect()
}

fn any_eye(random: &mut Random) -> DVec3 {
    let direction = random.direction();
    direction.with_z(direction.z * 0.7).normalize() * random.uniform(150.0, 400.0)
}

/// The ray through a pixel's centre.
fn ray(list: &ScenePane, x: u32, y: u32) -> (DVec3, DVec3) {
    let at = DVec2::new(f64::from(x) + 0.5, f64::from(y) + 0.5) / f64::from(SIZE);
    let ndc = DVec3::new(at.x * 2.0 - 1.0, 1.0 - at.y * 2.0, 1.0);
    let far = list.clip_from_world.inverse().project_point3(ndc);
    (list.eye, (far - list.eye).normalize())
}

fn pixels() -> impl Iterator<Item = (u32, u32)> {
    (0..SIZE * SIZE).map(|i| (i % SIZE, i / SIZE))
}

fn brightness(picture: &Picture, x: u32, y: u32) -> f64 {
    let [r, g, b, _] = picture.pixel(x, y).map(f64::from);
    r.max(g).max(b)
}

/// The parts of random lines agree with points tested one by one.
fn parts() {
    let mut random = Random::fresh("parts of lines");
    for _ in 0..200 {
        let clips = any_clips(&mut random);
        let (from, along) = (random.direction() * 12.0, random.direction() * 24.0);
        let parts = kept_parts(&clips, (from, along), (0.0, 1.0));
        assert!(parts.windows(2).all(|p| p[0].1 <= p[1].0), "{parts:?}");
        for i in 0..400 {
            let t = (f64::from(i) + 0.5) / 400.0;
            let is_in = parts.iter().any(|(a, b)| (*a..=*b).contains(&t));
            let near_border = parts
                .iter()
                .any(|(a, b)| (t - a).abs().min((t - b).abs()) < 1e-9);
            let kept = keep(&clips, from + along * t);
            assert!(is_in == kept || near_border, "{clips:?} {parts:?} {t}");
        }
    }
}

fn valid() {
    let plane = |normal, offset_mm| ClipShape::Plane { normal, offset_mm }.valid();
    assert_eq!(plane(DVec3::ZERO, 1.0), None);
    assert_eq!(plane(DVec3::X, f64::NAN), None);
    let doubled = plane(DVec3::X * 2.0, 3.0);
    assert_eq!(doubled, plane(DVec3::X, 3.0));
    let swapped = ClipShape::Box {
        low: DVec3::new(5.0, 0.0, 2.0),
        high: DVec3::new(-5.0, 4.0, 2.0),
    };
    let Some(ClipShape::Box { low, high }) = swapped.valid() else {
        panic!("a box");
    };
    assert_eq!((low.x, high.x), (-5.0, 5.0));
    assert!(high.z - low.z >= ClipShape::MIN_EDGE_MM * 0.999);
}

/// Distances from the origin on a grid of 0.6 mm.
fn distances() -> Volume {
    let (n, edge) = (64usize, 0.6);
    let origin = DVec3::splat(-(n as f64 - 1.0) * 0.5 * edge);
    let grid = Grid::axis_aligned([n; 3], DVec3::splat(edge), origin).expect("regular");
    let value = |i| super::voxel_centre(&grid, i).length() as f32;
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    Volume::scalar(Arc::new(grid), values)
}

fn volume(style: VolumeStyle) -> VolumeDraw {
    VolumeDraw {
        volume: ById(distances()),
        frame: 0,
        window: (0.0, 20.0),
        transfer: Transfer::new(
            &[(0.0, 0.2), (0.5, 0.2), (0.5, 0.0), (1.0, 0.0)],
            Colours::Fixed([255; 3]),
        ),
        reference_mm: 2.0,
        style,
        interpolation: Interpolation::Linear,
        lit: false,
        cut: None,
        inside: None,
        fade: None,
        coloured_by: None,
        shapes: None,
    }
}

/// Radius of the balls, mm.
const RADIUS: f64 = 10.0;

/// Where a ray enters and leaves the ball about the origin, mm.
fn chord((origin, direction): (DVec3, DVec3)) -> Option<(f64, f64)> {
    let along = -origin.dot(direction);
    let off = (origin + direction * along).length();
    let half = (RADIUS * RADIUS - off * off).max(0.0).sqrt();
    (off < RADIUS).then_some((along - half, along + half))
}

/// Length of a chord that the clips keep, from points tested one by one.
fn kept_mm(clips: &[Clip], (origin, direction): (DVec3, DVec3), (a, b): (f64, f64)) -> f64 {
    const STEPS: u32 = 1000;
    let step = (b - a) / f64::from(STEPS);
    let point = |i: u32| origin + direction * (a + (f64::from(i) + 0.5) * step);
    let kept = (0..STEPS).filter(|i| keep(clips, point(*i))).count();
    kept as f64 * step
}

/// A ball of uniform density transmits (1 − α)^(length that is kept / reference).
fn clouds() {
    let mut random = Random::fresh("clipped clouds");
    let mut offscreen = offscreen();
    for case in 0..4 {
        let clips = any_clips(&mut random);
        let list = ScenePane {
            volumes: vec![volume(VolumeStyle::Cloud)],
            clips: Clips {
                volumes: clips.clone(),
                ..Clips::default()
            },
            ..scene(SIZE, any_eye(&mut random))
        };
        let picture = offscreen.scene(&list).expect("a picture");
        let (mut worst, mut sum, mut count) = (0.0f64, 0.0, 0);
        for (x, y) in pixels() {
            let ray = ray(&list, x, y);
            let run = chord(ray).map_or(0.0, |chord| kept_mm(&clips, ray, chord));
            let expected = 255.0 * (1.0 - 0.8f64.powf(run / 2.0));
            let off = (f64::from(picture.pixel(x, y)[0]) - expected).abs();
            (worst, sum, count) = (worst.max(off), sum + off, count + 1);
        }
        let mean = sum / f64::from(count);
        println!("case {case}: {worst:.1} at most, {mean:.2} on average, {clips:?}");
        // A ray that grazes the ball, or a face of a box, meets a chord of any length within a pixel.
        assert!(worst <= 40.0 && mean <= 0.8, "{case}: {worst} {mean}");
    }
}

/// A region is visible where the front or the back of its surface is kept. A surface of constant value is filled: it is
/// visible where any part of its inside is kept.
fn regions() {
    let mut random = Random::fresh("clipped regions");
    let mut offscreen = offscreen();
    let mask = ball(RADIUS, 0.5);
    for case in 0..8 {
        let clips = any_clips(&mut random);
        let mut list = ScenePane {
            clips: Clips {
                surfaces: clips.clone(),
                ..Clips::default()
            },
            ..scene(SIZE, any_eye(&mut random))
        };
        let filled = case % 2 == 1;
        match filled {
            true => {
                list.volumes = vec![volume(VolumeStyle::Surface {
                    level: RADIUS as f32,
                    below: true,
                    colour: [255; 3],
                    opacity: 1.0,
                })];
            }
            false => {
                list.solids = vec![Solid {
                    shape: SolidShape::Sphere {
                        centre: DVec3::ZERO,
                        radius_mm: RADIUS,
                    },
                    colour: [255; 3],
                    opacity: 1.0,
                    selected: false,
                }];
            }
        }
        let picture = offscreen.scene(&list).expect("a picture");
        let expected = |x: u32, y: u32| {
            let ray = ray(&list, x, y);
            chord(ray).is_some_and(|(a, b)| match filled {
                true => kept_mm(&clips, ray, (a, b)) > 0.0,
                false => [a, b].iter().any(|t| keep(&clips, ray.0 + ray.1 * *t)),
            })
        };
        let differing = pixels().filter(|&(x, y)| {
            let here = expected(x, y);
            // Not at the borders, which lie within pixels.
            let around = [(-1, 0), (1, 0), (0, -1), (0, 1)].map(|(dx, dy): (i64, i64)| {
                let at = |v: u32, d: i64| (i64::from(v) + d).clamp(0, i64::from(SIZE) - 1) as u32;
                expected(at(x, dx), at(y, dy))
            });
            let is_seen = brightness(&picture, x, y) > 40.0;
            around.iter().all(|other| *other == here) && is_seen != here
        });
        let differing = differing.count();
        println!("case {case}: {differing} pixels, {clips:?}");
        // A corner of a box may lie within a pixel.
        assert!(differing <= 6, "{case}: {differing} {clips:?}");
    }
    // A box around a mask shows all of it, an inverted one nothing.
    let shown = |hides_inside: bool| ScenePane {
        solids: vec![Solid {
            shape: SolidShape::Mask(ById(mask.clone())),
            colour: [255; 3],
            opacity: 1.0,
            selected: false,
        }],
        clips: Clips {
            surfaces: vec![Clip {
                shape: ClipShape::Box {
                    low: DVec3::splat(-12.0),
                    high: DVec3::splat(12.0),
                },
                hides_inside,
            }],
            ..Clips::default()
        },
        ..scene(SIZE, DVec3::new(200.0, 80.0, 40.0))
    };
    let mut seen = |hides_inside| {
        let picture = offscreen.scene(&shown(hides_inside)).expect("a picture");
        pixels()
            .filter(|&(x, y)| brightness(&picture, x, y) > 40.0)
            .count()
    };
    let whole = (std::f64::consts::PI * (RADIUS * f64::from(SIZE) / 40.0).powi(2)) as usize;
    let found = seen(false);
    assert!(found.abs_diff(whole) < whole / 20, "{found} {whole}");
    assert_eq!(seen(true), 0);
}

/// A straight streamline, opaque or not, is drawn where its points are kept.
fn streamlines() {
    let mut random = Random::fresh("clipped streamlines");
    let mut offscreen = offscreen();
    for case in 0..8 {
        let eye = any_eye(&mut random);
        let across = eye.cross(random.direction()).normalize();
        let points: Vec<DVec3> = (-16..=16).map(|i| across * f64::from(i)).collect();
        let clips = any_clips(&mut random);
        let white = LineColour::Fixed([255; 3]);
        let style = LineStyle::Tubes { radius_mm: 1.5 };
        let mut all = lines(&tractogram(&[points]), white, style);
        all.opacity = [1.0, 0.6][case % 2];
        let list = ScenePane {
            lines: vec![all],
            clips: Clips {
                streamlines: clips.clone(),
                ..Clips::default()
            },
            ..scene(SIZE, eye)
        };
        let picture = offscreen.scene(&list).expect("a picture");
        for i in -150..=150 {
            let at = across * f64::from(i) * 0.1;
            let near = |mm: f64| keep(&clips, at + across * mm);
            if near(0.6) != near(0.0) || near(-0.6) != near(0.0) {
                continue;
            }
            let [x, y] = project(&list, at);
            let is_seen = brightness(&picture, x, y) > 40.0;
            assert_eq!(is_seen, near(0.0), "{case} {i} {clips:?}");
        }
    }
}

/// Two tensors beside each other; a plane between them hides one of them whole.
fn pair_of_glyphs() -> ScenePane {
    let grid = Grid::axis_aligned([2, 1, 1], DVec3::splat(12.0), DVec3::new(-6.0, 0.0, 0.0));
    let grid = grid.expect("regular");
    let tensor = Tensor::new([1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3]);
    let field = TensorField::new(Arc::new(grid), vec![tensor; 2]);
    ScenePane {
        glyphs: Some(Glyphs::Tensors(TensorGlyphs {
            tensors: ById(field),
            place: GlyphPlace::Planes(vec![CutPlane {
                point: DVec3::ZERO,
                normal: DVec3::Z,
            }]),
            shape: GlyphShape::Ellipsoid,
            size: 0.9,
            every: 1,
            clips: Vec::new(),
            scale: None,
        })),
        ..scene(SIZE, DVec3::new(0.0, -300.0, 60.0))
    }
}

fn glyphs() {
    let mut offscreen = offscreen();
    let mut seen = |clips: Vec<Clip>| {
        let mut list = pair_of_glyphs();
        if let Some(Glyphs::Tensors(tensors)) = &mut list.glyphs {
            tensors.clips = clips;
        }
        let picture = offscreen.scene(&list).expect("a picture");
        [-6.0, 6.0].map(|x| {
            let [x, y] = project(&list, DVec3::X * x);
            brightness(&picture, x, y) > 40.0
        })
    };
    let plane = |hides_inside| {
        let shape = ClipShape::Plane {
            normal: DVec3::X,
            // It cuts the glyph on the right, whose centre it hides.
            offset_mm: 4.0,
        };
        vec![Clip {
            shape,
            hides_inside,
        }]
    };
    assert_eq!(seen(Vec::new()), [true, true]);
    assert_eq!(seen(plane(false)), [true, false]);
    assert_eq!(seen(plane(true)), [false, true]);
}

/// With a depth cue of s, a colour c at the depth d, 0 near and 1 far, is c (1 − s d) + s d b for the background b. The
/// depth rises by 1 over 0.8 of the diameter of the sphere around the bounds of the scene, about its centre.
fn depth_cue() {
    let mut random = Random::fresh("depth cue");
    let mut offscreen = offscreen();
    // From the back, where the glyphs lie side by side: from elsewhere they may hide what is compared.
    let towards = DVec3::new(random.uniform(-0.2, 0.2), -1.0, random.uniform(-0.15, 0.15));
    let eye = towards.normalize() * random.uniform(150.0, 400.0);
    let forward = -eye.normalize();
    let across = forward.cross(DVec3::Z).normalize();
    let background = [200u8, 220, 255];
    let mut list = pair_of_glyphs();
    let template = scene(SIZE, eye);
    list.clip_from_world = template.clip_from_world;
    list.eye = eye;
    list.background = background;
    // Three regions and three streamlines from near to far.
    let place = |row: f64, step: f64| {
        let up = across.cross(forward);
        forward * (step * 14.0) + across * (step * 10.0) + up * row
    };
    for step in [-1.0, 0.0, 1.0] {
        list.solids.push(Solid {
            shape: SolidShape::Sphere {
                centre: place(9.0, step),
                radius_mm: 3.0,
            },
            colour: [180, 60, 20],
            opacity: 1.0,
            selected: false,
        });
    }
    let style = LineStyle::Tubes { radius_mm: 2.0 };
    let bundles = [-1.0, 0.0, 1.0].map(|step| {
        let middle = place(-10.0, step);
        (-3..=3).map(|i| middle + across * f64::from(i)).collect()
    });
    let own = lines(
        &tractogram(&bundles),
        LineColour::Fixed([20, 160, 60]),
        style,
    );
    list.lines = vec![own];
    let plain = offscreen.scene(&list).expect("a picture");
    list.depth_cue = 0.8;
    let cued = offscreen.scene(&list).expect("a picture");
    // Bounds of regions and points; glyphs have none.
    let solids = list.solids.iter().flat_map(|solid| match solid.shape {
        SolidShape::Sphere { centre, radius_mm } => [centre - radius_mm, centre + radius_mm],
        _ => panic!("a sphere"),
    });
    let points: Vec<DVec3> = solids.chain(bundles.concat()).collect();
    let low = points.iter().copied().reduce(DVec3::min).expect("points");
    let high = points.iter().copied().reduce(DVec3::max).expect("points");
    let (centre, radius) = ((low + high) * 0.5, (high - low).length() * 0.5);
    let depth = |at: DVec3| (0.5 + forward.dot(at - centre) / (1.6 * radius)).clamp(0.0, 1.0);
    let mut seen = Vec::new();
    let mut check = |at: DVec3, name: &str| {
        let [x, y] = project(&list, at);
        let (was, now) = (plain.pixel(x, y), cued.pixel(x, y));
        let share = 0.8 * depth(at);
        for c in 0..3 {
            let expected = f64::from(was[c]) * (1.0 - share) + f64::from(background[c]) * share;
            let off = (f64::from(now[c]) - expected).abs();
            assert!(off <= 4.0, "{name} {was:?} {now:?} {share}");
        }
        seen.push(share);
    };
    for step in [-1.0, 0.0, 1.0] {
        // The front of a sphere, and of a tube.
        check(place(9.0, step) - forward * 3.0, "a region");
        check(place(-10.0, step), "a streamline");
    }
    // Half axes of 0.9 · 6 mm.
    check(DVec3::X * 6.0 - forward * 5.4, "a glyph");
    let span =
        seen.iter().fold(0.0f64, |m, v| m.max(*v)) - seen.iter().fold(1.0f64, |m, v| m.min(*v));
    assert!(span > 0.3, "{seen:?}");
}
