//! Volumes together with surfaces, slices, solids, streamlines and cuts in the 3-D view.

use super::{
    Ray, SIZE, WIDE, any_eye, any_grid, ball_surface, chord, cloud, distances, field, lit_ball,
    pixels, ray, shown, up_to,
};
use crate::pictures::{colour_difference, image, lines, offscreen, tractogram};
use crate::support::{Random, test};
use arcuate::data::Grid;
use arcuate::data::appearance::ColourMap;
use arcuate::scene::draw_list::{
    Colours, CutAway, CutFace, CutPlane, Interpolation, LineColour, LineStyle, Lines, ScenePane,
    SliceQuad, Solid, SolidShape, Transfer, VolumeDraw,
};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::a surface is where its value is", surface_place),
        test("render::a surface is lit by its normal", surface_light),
        test("render::a cloud ends at what is opaque", ends_at_opaque),
        test("render::surfaces before clouds", surface_in_cloud),
        test("render::transparent lines in a cloud", lines_in_cloud),
        test("render::a plane cuts a cloud and shows the image", cut_away),
        test("render::a corner is cut away", corner),
    ]
}

/// A plate in front of the point where the ray meets the ball hides it, a plate behind does not.
fn surface_place() {
    let mut random = Random::fresh("volume surface place");
    let mut offscreen = offscreen();
    for _ in 0..4 {
        let radius = random.uniform(9.0, 12.0);
        let volume = distances(any_grid(&mut random, 44, 19.0), DVec3::ZERO);
        let draw = ball_surface(&volume, radius as f32, [0, 255, 0]);
        let mut list = shown(vec![draw], DVec3::NEG_Y * 300.0 + DVec3::Z * 0.01);
        let place = |x: u32| (x, SIZE / 2 - 7);
        for x in [SIZE / 2, SIZE / 2 + 10, SIZE / 2 - 12] {
            let (x, y) = place(x);
            let ray = ray(&list, x, y);
            let (enters, _) = chord(ray, DVec3::ZERO, radius).expect("a hit");
            let hit = ray.0 + ray.1 * enters;
            let mut plate = |off: f64| {
                let half_mm = DVec3::new(30.0, 0.5, 30.0);
                list.solids = vec![Solid {
                    shape: SolidShape::Box {
                        centre: DVec3::Y * (hit.y + off + half_mm.y),
                        half_mm,
                    },
                    colour: [255, 0, 0],
                    opacity: 1.0,
                    selected: false,
                }];
                offscreen.scene(&list).expect("a picture").pixel(x, y)
            };
            // Within a pixel, 0.4 mm wide, the ball's slope spreads the depths of its four rays by 0.15 mm.
            let (before, behind) = (plate(-0.25), plate(0.25));
            assert!(before[0] > 120 && before[1] < 120, "{before:?}");
            assert!(behind[1] > 90 && behind[0] < 90, "{behind:?}");
        }
    }
}

/// Every pixel of a lit ball has the brightness of its true normal, and the ball its true outline.
fn surface_light() {
    let mut random = Random::fresh("volume surface light");
    let mut offscreen = offscreen();
    for interpolation in [Interpolation::Linear, Interpolation::Cubic] {
        let radius = random.uniform(11.0, 13.0);
        let volume = distances(any_grid(&mut random, 48, 20.0), DVec3::ZERO);
        let draw = VolumeDraw {
            interpolation,
            ..ball_surface(&volume, radius as f32, [0, 160, 0])
        };
        let list = shown(vec![draw], any_eye(&mut random));
        let picture = offscreen.scene(&list).expect("a picture");
        lit_ball(&picture, &list, radius);
    }
}

/// The part of the cloud in front of a slice or a solid is drawn, and no more.
fn ends_at_opaque() {
    let mut random = Random::fresh("volume ends");
    let mut offscreen = offscreen();
    let volume = distances(any_grid(&mut random, 60, 19.0), DVec3::ZERO);
    let (radius, alpha): (f64, f64) = (10.0, 0.12);
    let draw = cloud(&volume, up_to(radius as f32 / WIDE, alpha as f32));
    let origin = DVec3::splat(-40.0);
    let grey = Grid::axis_aligned([41; 3], DVec3::splat(2.0), origin).expect("regular");
    let grey = field(grey, |_| 1.0);
    for depth in [-15.0, -4.0, 0.0, 5.0, 15.0] {
        let mut list = shown(vec![draw.clone()], DVec3::NEG_Y * 300.0 + DVec3::Z * 0.01);
        let dark_plate = Solid {
            shape: SolidShape::Box {
                centre: DVec3::Y * (depth + 0.5),
                half_mm: DVec3::new(30.0, 0.5, 30.0),
            },
            colour: [0; 3],
            opacity: 1.0,
            selected: false,
        };
        let plane = SliceQuad {
            origin: DVec3::new(-30.0, depth, -30.0),
            edge_u: DVec3::X * 60.0,
            edge_v: DVec3::Z * 60.0,
            images: vec![image(&grey, (0.0, 2.0))],
            contours: Vec::new(),
            cut_out: None,
        };
        for slice in [false, true] {
            (list.solids, list.slices) = match slice {
                true => (Vec::new(), vec![plane.clone()]),
                false => (vec![dark_plate.clone()], Vec::new()),
            };
            // The scene without the cloud: a plate has a highlight.
            let bare = ScenePane {
                volumes: Vec::new(),
                ..list.clone()
            };
            let bare = offscreen.scene(&bare).expect("a picture");
            let picture = offscreen.scene(&list).expect("a picture");
            for (x, y) in pixels().filter(|(x, y)| (x + y) % 7 == 0) {
                let ray = ray(&list, x, y);
                let Some((enters, leaves)) = chord(ray, DVec3::ZERO, radius) else {
                    continue;
                };
                let behind = f64::from(bare.pixel(x, y)[0]);
                let plane = (depth - ray.0.y) / ray.1.y;
                if leaves - enters < 5.0 {
                    continue;
                }
                let run = (leaves.min(plane) - enters).max(0.0);
                let left = (1.0 - alpha).powf(run / 2.0);
                let expected = 255.0 * (1.0 - left) + behind * left;
                let found = f64::from(picture.pixel(x, y)[0]);
                assert!(
                    (found - expected).abs() <= 3.0,
                    "{depth} {slice} {x} {y}: {found} {expected}"
                );
            }
        }
    }
}

/// An opaque surface within a cloud, listed before or after it, hides what is behind it.
fn surface_in_cloud() {
    let mut random = Random::fresh("volume surface in cloud");
    let mut offscreen = offscreen();
    let volume = distances(any_grid(&mut random, 40, 19.0), DVec3::ZERO);
    let (outer, inner, alpha): (f64, f64, f64) = (12.0, 6.0, 0.15);
    let haze = cloud(&volume, up_to(outer as f32 / WIDE, alpha as f32));
    let core = VolumeDraw {
        lit: false,
        ..ball_surface(&volume, inner as f32, [0, 0, 255])
    };
    for volumes in [vec![haze.clone(), core.clone()], vec![core, haze]] {
        let list = shown(volumes, any_eye(&mut random));
        let picture = offscreen.scene(&list).expect("a picture");
        for (x, y) in pixels().filter(|(x, y)| (x + y) % 5 == 0) {
            let ray = ray(&list, x, y);
            let Some((enters, leaves)) = chord(ray, DVec3::ZERO, outer) else {
                continue;
            };
            let core = chord(ray, DVec3::ZERO, inner);
            // Between voxels of up to 2 mm the ball's rim is off by 0.04 mm, along shorter chords by three times that
            // and more at either end.
            if leaves - enters < 10.0 || core.is_some_and(|(a, b)| b - a < 4.0) {
                continue;
            }
            if core.is_none() && ray.0.cross(ray.1).length() < inner + 0.5 {
                continue;
            }
            let run = core.map_or(leaves, |c| c.0) - enters;
            let left = (1.0 - alpha).powf(run / 2.0);
            let blue = 255.0 * (1.0 - left) + if core.is_some() { 255.0 * left } else { 0.0 };
            let expected = [255.0 * (1.0 - left), blue];
            let found = [0, 2].map(|c| f64::from(picture.pixel(x, y)[c]));
            let off = (found[0] - expected[0])
                .abs()
                .max((found[1] - expected[1]).abs());
            assert!(off <= 3.0, "{x} {y}: {found:?} {expected:?}");
        }
    }
}

/// Translucent streamlines are seen through the part of the cloud in front of them, and the part behind is seen through
/// them.
fn lines_in_cloud() {
    let mut random = Random::fresh("volume lines in cloud");
    let mut offscreen = offscreen();
    let volume = distances(any_grid(&mut random, 60, 19.0), DVec3::ZERO);
    let (radius, alpha): (f64, f64) = (11.0, 0.12);
    let draw = cloud(&volume, up_to(radius as f32 / WIDE, alpha as f32));
    for depth in [-20.0, -5.0, 0.0, 6.0, 20.0] {
        let bundle: Vec<Vec<DVec3>> = (-14..=14)
            .map(|z| {
                let at = |x: i32| DVec3::new(f64::from(x), depth, f64::from(z));
                (-18..=18).map(at).collect()
            })
            .collect();
        let mut list = shown(Vec::new(), DVec3::NEG_Y * 300.0 + DVec3::Z * 0.01);
        list.lines = vec![Lines {
            opacity: random.uniform(0.3, 0.7) as f32,
            ..lines(
                &tractogram(&bundle),
                LineColour::Fixed([220, 120, 20]),
                LineStyle::Tubes { radius_mm: 0.8 },
            )
        }];
        // A picture in front of a backdrop, black or white: without lines and cloud; without the cloud, as an invisible
        // volume, so that the bounds and with them the haze are the same.
        let unseen = VolumeDraw {
            transfer: Transfer::new(&[(0.0, 0.0), (1.0, 0.0)], Colours::Fixed([255; 3])),
            ..draw.clone()
        };
        let lines = std::mem::take(&mut list.lines);
        let mut picture = |colour: u8, with: bool, volume: &VolumeDraw| {
            list.lines = if with { lines.clone() } else { Vec::new() };
            list.volumes = vec![volume.clone()];
            list.solids = vec![Solid {
                shape: SolidShape::Box {
                    centre: DVec3::Y * 30.0,
                    half_mm: DVec3::new(60.0, 0.5, 60.0),
                },
                colour: [colour; 3],
                opacity: 1.0,
                selected: false,
            }];
            offscreen.scene(&list).expect("a picture")
        };
        let backs = [0, 200].map(|colour| picture(colour, false, &unseen));
        let alone = [0, 200].map(|colour| picture(colour, true, &unseen));
        let picture = picture(0, true, &draw);
        let mut seen = 0;
        for (x, y) in pixels().filter(|(x, y)| (x * 3 + y) % 5 == 0) {
            let ray = ray(&list, x, y);
            let Some((enters, leaves)) = chord(ray, DVec3::ZERO, radius) else {
                continue;
            };
            if leaves - enters < 6.0 {
                continue;
            }
            let plane = (depth - ray.0.y) / ray.1.y;
            let left = |from: f64, to: f64| (1.0 - alpha).powf((to - from).max(0.0) / 2.0);
            let (before, behind) = (
                left(enters, leaves.min(plane)),
                left(enters.max(plane), leaves),
            );
            let [dark, bright] = [0, 1].map(|i| f64::from(backs[i].pixel(x, y)[1]));
            let [over, over_bright] = [0, 1].map(|i| f64::from(alone[i].pixel(x, y)[1]));
            let through = ((over_bright - over) / (bright - dark)).clamp(0.0, 1.0);
            let line = over - through * dark;
            let beyond = 255.0 * (1.0 - behind) + behind * dark;
            let expected = 255.0 * (1.0 - before) + before * (line + through * beyond);
            let found = f64::from(picture.pixel(x, y)[1]);
            // The layer is as thick as its tubes, and its depth is kept in half precision.
            assert!(
                (found - expected).abs() <= 8.0,
                "{depth} {x} {y}: {found} {expected}"
            );
            seen += usize::from(through < 0.8);
        }
        assert!(seen > 100, "{depth}: {seen}");
    }
}

/// Everything in front of a plane is removed, and the plane shows the image in its own colours.
fn cut_away() {
    let mut random = Random::fresh("volume cut");
    let mut offscreen = offscreen();
    let volume = distances(any_grid(&mut random, 40, 19.0), DVec3::ZERO);
    let (radius, alpha): (f64, f64) = (11.0, 0.1);
    for _ in 0..3 {
        let eye = any_eye(&mut random);
        let plane = CutPlane {
            point: random.direction() * random.uniform(0.0, 5.0),
            normal: (eye.normalize() + random.direction() * 0.5).normalize(),
        };
        let mut draw = cloud(&volume, up_to(radius as f32 / WIDE, alpha as f32));
        draw.cut = Some(CutAway {
            planes: vec![plane],
            face: None,
        });
        let mut list = shown(vec![draw], eye);
        let picture = offscreen.scene(&list).expect("a picture");
        list.volumes[0].cut = Some(CutAway {
            planes: vec![plane],
            face: Some(CutFace {
                window: (0.0, WIDE),
                colour_map: ColourMap::Viridis,
                opacity: 1.0,
                mask: None,
            }),
        });
        let faced = offscreen.scene(&list).expect("a picture");
        let (mut count, mut spare) = (0, f64::INFINITY);
        for (x, y) in pixels().filter(|(x, y)| (x * 3 + y) % 5 == 0) {
            let ray = ray(&list, x, y);
            let Some((enters, leaves)) = chord(ray, DVec3::ZERO, radius) else {
                continue;
            };
            if leaves - enters < 5.0 {
                continue;
            }
            let crossing = (plane.point - ray.0).dot(plane.normal) / ray.1.dot(plane.normal);
            // The light of a ball that is smaller by this much.
            let light = |less: f64| {
                let (enters, leaves) = chord(ray, DVec3::ZERO, radius - less).unwrap_or_default();
                let run = (leaves - enters.max(crossing)).max(0.0);
                255.0 * (1.0 - (1.0 - alpha).powf(run / 2.0))
            };
            let less = [enters, leaves].map(|mm| too_near(&volume.grid, ray, mm));
            let (least, most) = (light(less[0].max(less[1]) + ENTRY_MM), light(-ENTRY_MM));
            let found = f64::from(picture.pixel(x, y)[0]);
            spare = spare.min(found - least).min(most - found);
            assert!(
                found >= least - ROUNDING && found <= most + ROUNDING,
                "{x} {y}: {found}, expected {least} to {most}"
            );
            let on_plane = (ray.0 + ray.1 * crossing).length() as f32 / WIDE;
            if on_plane < 0.8 && on_plane > 0.1 {
                let expected = ColourMap::Viridis.at(on_plane);
                let off = colour_difference(faced.pixel(x, y), expected);
                assert!(off <= 4, "{x} {y}: {:?} {expected:?}", faced.pixel(x, y));
                count += 1;
            }
        }
        println!("{spare:.2} levels within the bounds at least");
        assert!(count > 100, "{count}");
    }
}

/// Error of the table of opacities, in which an edge may lie anywhere between two entries.
const ENTRY_MM: f64 = WIDE as f64 / 1023.0 / 2.0;
/// Rounding to a byte, and to half precision before it.
const ROUNDING: f64 = 0.5 + 255.0 / 4096.0;

/// How much too small a ball of distances from the origin is drawn where a ray meets its border, in mm.
///
/// Linear interpolation between values of a convex function is nowhere below it, and is above it by at most h² f″ / 8
/// along each edge of a voxel, which add up; then once more along the ray between two samples. The distance f = |x| has
/// f″ = (1 − cos²) / |x| along a direction at that angle to x.
fn too_near(grid: &Grid, (origin, direction): Ray, mm: f64) -> f64 {
    const STEP_TEXELS: f64 = 0.5;
    let axes = grid.world_from_voxel.matrix3;
    let edges = [axes.x_axis, axes.y_axis, axes.z_axis];
    let step = direction * STEP_TEXELS / (axes.inverse() * direction).length();
    let at = origin + direction * mm;
    let normal = at.normalize();
    let across = |v: DVec3| v.length_squared() - v.dot(normal).powi(2);
    let diagonal = edges.iter().map(|e| e.length_squared()).sum::<f64>().sqrt();
    // A voxel reaches this far inwards, where f bends more.
    let nearest = at.length() - 0.5 * diagonal;
    (edges.map(across).iter().sum::<f64>() + across(step)) / (8.0 * nearest)
}

/// With three planes only the part in front of all of them is removed; the ray continues behind.
fn corner() {
    let mut random = Random::fresh("volume corner");
    let mut offscreen = offscreen();
    let volume = distances(any_grid(&mut random, 40, 19.0), DVec3::ZERO);
    let (radius, alpha): (f64, f64) = (11.0, 0.08);
    let eye = DVec3::new(200.0, -220.0, 150.0);
    let point = random.direction() * 2.0;
    let normals = [DVec3::X, DVec3::NEG_Y, DVec3::Z];
    let mut draw = cloud(&volume, up_to(radius as f32 / WIDE, alpha as f32));
    draw.cut = Some(CutAway {
        planes: normals.map(|normal| CutPlane { point, normal }).to_vec(),
        face: None,
    });
    let list = shown(vec![draw], eye);
    let picture = offscreen.scene(&list).expect("a picture");
    let mut shorter = 0;
    for (x, y) in pixels().filter(|(x, y)| (x * 3 + y) % 4 == 0) {
        let ray = ray(&list, x, y);
        let Some((enters, leaves)) = chord(ray, DVec3::ZERO, radius) else {
            continue;
        };
        if leaves - enters < 5.0 {
            continue;
        }
        // The length counted along the ray.
        let n = 4000;
        let kept = (0..n).filter(|i| {
            let t = enters + (leaves - enters) * (f64::from(*i) + 0.5) / f64::from(n);
            let p = ray.0 + ray.1 * t - point;
            !normals.iter().all(|normal| p.dot(*normal) > 0.0)
        });
        let share = kept.count() as f64 / f64::from(n);
        shorter += usize::from(share < 0.95);
        let expected = 255.0 * (1.0 - (1.0 - alpha).powf(share * (leaves - enters) / 2.0));
        let found = f64::from(picture.pixel(x, y)[0]);
        assert!(
            (found - expected).abs() <= 3.0,
            "{x} {y}: {found} {expected}"
        );
    }
    assert!(shorter > 150, "{shorter}");
}
