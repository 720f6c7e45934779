//! Tensor glyphs: their outline, their axes, their colours.

use super::{offscreen, random_grid};
use crate::support::panes::{pane, scene};
use crate::support::{Random, test};
use arcuate::data::appearance::ColourMap;
use arcuate::data::tensor_field::Tensor;
use arcuate::data::{Fixels, Grid, TensorField, Volume, VolumeKind};
use arcuate::scene::draw_list::{
    ById, CutPlane, GlyphPlace, GlyphScale, GlyphShape, Glyphs, PeakColours, PeakGlyphs,
    PeakLimits, ScenePane, TensorGlyphs,
};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("render::an ellipsoid glyph has its outline", outline),
        test("render::a superquadric keeps its axes", superquadric),
        test(
            "render::glyphs are those that a plane crosses, or within a pathway",
            crossed,
        ),
        test("render::glyphs over slices", over),
        test("render::glyphs grow with an image", scaled),
        test("render::peaks are lines", peaks),
        test("render::lines of fixels have the colours of values", values),
    ]
}

const SIZE: u32 = 160;

/// One tensor with these eigenvalues and axes, in the centre of a grid with any rotation.
fn one(random: &mut Random, axes: DMat3, values: DVec3) -> (TensorField, DVec3) {
    let grid = random_grid(random, [3, 3, 3]);
    let middle = grid.world(DVec3::ONE);
    let moved = glam::DAffine3::from_translation(-middle);
    let grid = grid.moved(moved).expect("regular");
    let d = axes * DMat3::from_diagonal(values) * axes.transpose();
    let d = [
        d.x_axis.x, d.x_axis.y, d.x_axis.z, d.y_axis.y, d.y_axis.z, d.z_axis.z,
    ];
    let mut tensors = vec![Tensor::default(); 27];
    tensors[13] = Tensor::new(d.map(|v| v as f32));
    let spacing = grid.spacing();
    (TensorField::new(Arc::new(grid), tensors), spacing)
}

/// Drawn with the longest half axis of `half` mm.
fn shown(
    field: &TensorField,
    spacing: DVec3,
    half: f64,
    shape: GlyphShape,
    eye: DVec3,
) -> ScenePane {
    let normal = DVec3::Z;
    ScenePane {
        glyphs: Some(Glyphs::Tensors(TensorGlyphs {
            tensors: ById(field.clone()),
            place: GlyphPlace::Planes(vec![CutPlane {
                point: DVec3::ZERO,
                normal,
            }]),
            shape,
            size: (2.0 * half / spacing.min_element()) as f32,
            every: 1,
            clips: Vec::new(),
            scale: None,
        })),
        ..scene(SIZE, eye)
    }
}

/// Extent from the centre of the picture in a direction, mm at the origin.
fn reach(picture: &arcuate::render::offscreen::Picture, x: f64, y: f64) -> f64 {
    let mm = 40.0 / f64::from(SIZE);
    let middle = f64::from(SIZE) * 0.5;
    let steps = (0..4 * SIZE / 2).map(|i| f64::from(i) * 0.25);
    let seen = |r: &f64| {
        let at =
            [middle + x * r, middle - y * r].map(|v| v.clamp(0.0, f64::from(SIZE) - 1.0) as u32);
        let [r, g, b, _] = picture.pixel(at[0], at[1]);
        u32::from(r) + u32::from(g) + u32::from(b) > 60
    };
    steps.filter(seen).fold(0.0, f64::max) * mm
}

fn eigen(random: &mut Random) -> (DMat3, DVec3) {
    let axes = DMat3::from_quat(random.rotation());
    let first = random.uniform(1.0e-3, 2.0e-3);
    let second = first * random.uniform(0.3, 0.9);
    (
        axes,
        DVec3::new(first, second, second * random.uniform(0.3, 0.9)),
    )
}

/// A line along each peak has the length of its amplitude relative to the full one, or the same length, times the size
/// that the value of an image gives it; a turn of the image turns it.
fn peaks() {
    let mut random = Random::fresh("lines of peaks");
    let mut offscreen = offscreen();
    let spacing = 24.0;
    let origin = DVec3::splat(-spacing);
    let grid = Grid::axis_aligned([3; 3], DVec3::splat(spacing), origin).expect("regular");
    let n = grid.voxel_count();
    for case in 0..8 {
        let eye_direction = random.direction();
        let eye = eye_direction.with_z(eye_direction.z * 0.7).normalize() * 5000.0;
        let right = DVec3::Z.cross(eye).normalize();
        let up = eye.normalize().cross(right);
        // Two peaks in the middle voxel, at a right angle to each other in the plane of the picture.
        let angle = random.uniform(0.0, std::f64::consts::TAU);
        let first = right * angle.cos() + up * angle.sin();
        let second = up * angle.cos() - right * angle.sin();
        let (a, b) = (random.uniform(0.5, 0.9), random.uniform(0.2, 0.5));
        let turn = DMat3::from_axis_angle(eye.normalize(), random.uniform(0.0, 1.0));
        let stored = [first * a, second * b].map(|v| turn.transpose() * v);
        let mut values = vec![0.0f32; 6 * n];
        for (peak, vector) in stored.iter().enumerate() {
            for axis in 0..3 {
                values[(3 * peak + axis) * n + 13] = vector[axis] as f32;
            }
        }
        let grid = Arc::new(grid.clone());
        let volume = Volume::new(grid.clone(), 6, VolumeKind::Scalar, values);
        let (same_length, is_scaled) = (case % 2 == 1, case > 3);
        let scale = is_scaled.then(|| GlyphScale {
            image: ById(Volume::scalar(grid, vec![0.75; n])),
            frame: 0,
            window: (0.0, 1.0),
        });
        let list = ScenePane {
            glyphs: Some(Glyphs::Peaks(PeakGlyphs {
                peaks: ById(volume),
                turn,
                colours: None,
                limits: None,
                place: GlyphPlace::Planes(vec![CutPlane {
                    point: DVec3::ZERO,
                    normal: DVec3::Z,
                }]),
                size: 1.0,
                every: 1,
                full_amplitude: (!same_length).then_some(1.0),
                clips: Vec::new(),
                scale,
            })),
            ..scene(SIZE, eye)
        };
        let picture = offscreen.scene(&list).expect("a picture");
        let factor = if is_scaled { 0.75 } else { 1.0 };
        for (along, amplitude) in [(first, a), (second, b)] {
            let (x, y) = (along.dot(right), along.dot(up));
            let share = if same_length { 1.0 } else { amplitude };
            let expected = 0.5 * spacing * share * factor;
            let found = reach(&picture, x, y);
            // The ends are pointed.
            let off = expected - found;
            assert!((-0.4..0.9).contains(&off), "{case}: {found} {expected}");
            // Red, green and blue are the axes.
            let [r, g, b, _] = {
                let middle = f64::from(SIZE) * 0.5;
                let px = 0.5 * expected * f64::from(SIZE) / 40.0;
                picture.pixel((middle + x * px) as u32, (middle - y * px) as u32)
            };
            let seen = DVec3::new(f64::from(r), f64::from(g), f64::from(b));
            let largest = along.abs().max_position();
            assert!(
                seen[largest] >= seen.max_element() - 30.0,
                "{case}: {seen} {along}"
            );
        }
    }
}

/// A glyph grows with the value of an image at its centre; outside the image there is none.
fn scaled() {
    let mut offscreen = offscreen();
    let mut random = Random::fresh("glyph scale");
    let (field, spacing) = one(&mut random, DMat3::IDENTITY, DVec3::splat(1e-3));
    let half = 12.0;
    let eye = DVec3::NEG_Y * 5000.0;
    let mut radius = |value: f32| {
        let mut list = shown(&field, spacing, half, GlyphShape::Ellipsoid, eye);
        let image = Volume::scalar(field.grid.clone(), vec![value; 27]);
        if let Some(Glyphs::Tensors(tensors)) = &mut list.glyphs {
            tensors.scale = Some(GlyphScale {
                image: ById(image),
                frame: 0,
                window: (1.0, 3.0),
            });
        }
        reach(&offscreen.scene(&list).expect("a picture"), 1.0, 0.0)
    };
    for (value, share) in [(0.5, 0.0), (1.5, 0.25), (2.0, 0.5), (3.0, 1.0), (9.0, 1.0)] {
        let found = radius(value);
        assert!((found - share * half).abs() < 0.5, "{value}: {found}");
    }
}

/// Across the view an ellipsoid with half axes aᵢ along eᵢ extends to √Σ (aᵢ eᵢ·u)² in direction u, for any tensor,
/// grid and view.
fn outline() {
    let mut random = Random::fresh("glyph outline");
    let mut offscreen = offscreen();
    for _ in 0..6 {
        let (axes, values) = eigen(&mut random);
        let (field, spacing) = one(&mut random, axes, values);
        let half = random.uniform(9.0, 14.0);
        let direction = random.direction();
        // So far away that perspective is negligible.
        let eye = direction.with_z(direction.z * 0.7).normalize() * 5000.0;
        let list = shown(&field, spacing, half, GlyphShape::Ellipsoid, eye);
        let picture = offscreen.scene(&list).expect("a picture");
        let right = DVec3::Z.cross(eye).normalize();
        let up = eye.normalize().cross(right);
        let lengths = values / values.x * half;
        // The support of a convex body over all directions is the extent of its outline.
        let mut supports = [0.0f64; 24];
        let mm = 40.0 / f64::from(SIZE);
        let middle = f64::from(SIZE) * 0.5 - 0.5;
        for (x, y) in (0..SIZE * SIZE).map(|i| (i % SIZE, i / SIZE)) {
            let [r, g, b, _] = picture.pixel(x, y);
            if u32::from(r) + u32::from(g) + u32::from(b) < 60 {
                continue;
            }
            let at = [f64::from(x) - middle, middle - f64::from(y)].map(|v| v * mm);
            for (i, support) in supports.iter_mut().enumerate() {
                let (s, c) = (i as f64 * std::f64::consts::TAU / 24.0).sin_cos();
                *support = support.max(at[0] * c + at[1] * s);
            }
        }
        for (i, found) in supports.iter().enumerate() {
            let (s, c) = (i as f64 * std::f64::consts::TAU / 24.0).sin_cos();
            let u = right * c + up * s;
            let expected = (lengths * (axes.transpose() * u)).length();
            // Half a pixel is 0.13 mm, to which the soft edge adds; 24 pieces around cut off 1 %.
            assert!(
                (found - expected).abs() <= 0.3 + 0.012 * half,
                "{i}: {found} {expected}"
            );
        }
        // Coloured by its main direction if it has one.
        let [r, g, b, _] = picture.pixel(SIZE / 2, SIZE / 2);
        assert!(r > 20 || g > 20 || b > 20, "{r} {g} {b}");
    }
}

/// Seen along one axis, a superquadric extends along the two others as far as its ellipsoid.
fn superquadric() {
    let mut random = Random::fresh("glyph superquadric");
    let mut offscreen = offscreen();
    for values in [
        DVec3::new(1.7, 0.3, 0.3),
        DVec3::new(1.5, 1.4, 0.2),
        DVec3::new(1.2, 0.8, 0.5),
    ] {
        let (field, spacing) = one(&mut random, DMat3::IDENTITY, values * 1e-3);
        let half = 14.0;
        let lengths = values / values.x * half;
        // From the front: x to the right, z up.
        let list = shown(
            &field,
            spacing,
            half,
            GlyphShape::Superquadric,
            DVec3::NEG_Y * 5000.0,
        );
        let list = ScenePane {
            eye: list.eye + DVec3::Z * 1e-3,
            ..list
        };
        let picture = offscreen.scene(&list).expect("a picture");
        let (across, up) = (reach(&picture, 1.0, 0.0), reach(&picture, 0.0, 1.0));
        assert!(
            (across - lengths.x).abs() < 0.5,
            "{values}: {across} {lengths}"
        );
        assert!(
            (up - lengths.z.max(0.02 * half)).abs() < 0.5,
            "{values}: {up} {lengths}"
        );
        // Between its axes it is fuller than the ellipsoid where it has edges.
        let (c, s) = (lengths.x.hypot(0.0), lengths.z);
        let diagonal = c.hypot(s);
        let found = reach(&picture, c / diagonal, s / diagonal);
        let ellipsoid = diagonal / 2f64.sqrt();
        assert!(found > ellipsoid - 0.4, "{values}: {found} {ellipsoid}");
        if values.y == values.z || values.y > 1.0 {
            assert!(found > 1.15 * ellipsoid, "{values}: {found} {ellipsoid}");
        }
    }
}

/// Nothing is drawn where no tensor was fitted or no plane passes.
fn crossed() {
    let mut random = Random::fresh("glyphs crossed");
    let mut offscreen = offscreen();
    let (axes, values) = eigen(&mut random);
    let (field, spacing) = one(&mut random, axes, values);
    let mut list = shown(
        &field,
        spacing,
        6.0,
        GlyphShape::Ellipsoid,
        DVec3::new(90.0, -250.0, 120.0),
    );
    let mut seen = |list: &ScenePane| {
        let picture = offscreen.scene(list).expect("a picture");
        let bright = |i: u32| {
            picture.pixel(i % SIZE, i / SIZE)[..3]
                .iter()
                .any(|c| *c > 30)
        };
        (0..SIZE * SIZE).filter(|i| bright(*i)).count()
    };
    // A needle may point at the eye.
    let whole = seen(&list);
    assert!(whole > 0);
    if let Some(Glyphs::Tensors(glyphs)) = &mut list.glyphs {
        glyphs.place = GlyphPlace::Planes(vec![CutPlane {
            point: DVec3::Z * spacing.max_element() * 0.9,
            normal: DVec3::Z,
        }]);
    }
    assert_eq!(seen(&list), 0);
    // Glyphs within a pathway, whose cost is known on its own grid.
    let grid = Arc::new(random_grid(&mut random, [5, 5, 5]));
    let moved = glam::DAffine3::from_translation(-grid.world(DVec3::splat(2.0)));
    let grid = Arc::new(grid.moved(moved).expect("regular"));
    let limit = random.uniform(0.02, 0.4) as f32;
    let mut excess = vec![f32::NAN; 125];
    for (value, visible) in [(0.9 * limit, true), (1.1 * limit, false), (f32::NAN, false)] {
        excess[62] = value;
        let image = Volume::scalar(grid.clone(), excess.clone());
        if let Some(Glyphs::Tensors(glyphs)) = &mut list.glyphs {
            glyphs.place = GlyphPlace::Below(vec![(ById(image), limit)]);
        }
        let expected = if visible { whole } else { 0 };
        assert_eq!(seen(&list), expected, "{value} of {limit}");
    }
    // Other limits of known values, also next to an image without any.
    excess[62] = limit;
    let known = Volume::scalar(grid.clone(), excess);
    let nowhere = Volume::scalar(grid, vec![f32::NAN; 125]);
    for (share, visible) in [(0.5, false), (1.0, true), (0.9, false), (3.0, true)] {
        let set = (ById(known.clone()), share * limit);
        for sets in [vec![set.clone()], vec![(ById(nowhere.clone()), 1.0), set]] {
            if let Some(Glyphs::Tensors(glyphs)) = &mut list.glyphs {
                glyphs.place = GlyphPlace::Below(sets);
            }
            let expected = if visible { whole } else { 0 };
            assert_eq!(seen(&list), expected, "{share} of {limit}");
        }
    }
}

/// Over a slice an ellipsoid extends as far as it is long, where the slice shows its voxel; seen from either side, in
/// the colour of its axis.
fn over() {
    let mut random = Random::fresh("glyph over slice");
    let mut offscreen = offscreen();
    for _ in 0..4 {
        let turn = DMat3::from_quat(random.rotation());
        let values = DVec3::new(1.7e-3, random.uniform(0.3, 1.2) * 1e-3, 0.3e-3);
        let (field, spacing) = one(&mut random, turn, values);
        let half = random.uniform(10.0, 15.0);
        let lengths = values / values.x * half;
        // Along the second and third axis of the tensor, the first towards the viewer or away.
        let axes = [turn.y_axis, turn.z_axis];
        for [right, down] in [axes, [axes[1], axes[0]], [-axes[0], axes[1]]] {
            let mut list = pane(SIZE, DVec3::ZERO, right, down, 40.0 / f64::from(SIZE));
            list.glyphs = Some(Glyphs::Tensors(TensorGlyphs {
                tensors: ById(field.clone()),
                place: GlyphPlace::Planes(vec![CutPlane {
                    point: DVec3::ZERO,
                    normal: right.cross(down),
                }]),
                shape: GlyphShape::Ellipsoid,
                size: (2.0 * half / spacing.min_element()) as f32,
                every: 1,
                clips: Vec::new(),
                scale: None,
            }));
            let picture = offscreen.slice(&list).expect("a picture");
            let along = |axis: DVec3| {
                let length = lengths.y * axis.dot(turn.y_axis).abs();
                length + lengths.z * axis.dot(turn.z_axis).abs()
            };
            for (x, y, axis) in [(1.0, 0.0, right), (-1.0, 0.0, right), (0.0, 1.0, down)] {
                let found = reach(&picture, x, y);
                assert!((found - along(axis)).abs() < 0.5, "{found} {}", along(axis));
            }
            // Lit from the viewer's side: its centre has the direction's colour.
            let seen = picture.pixel(SIZE / 2, SIZE / 2);
            let direction = turn.x_axis.abs().to_array();
            let largest = (0..3).max_by(|&a, &b| direction[a].total_cmp(&direction[b]));
            let most = seen[..3].iter().max().expect("three");
            assert_eq!(
                seen[largest.expect("three")],
                *most,
                "{seen:?} {direction:?}"
            );
            assert!(*most > 90, "{seen:?}");
        }
    }
}

/// Lines have the colours of their values, which may be negative; a value outside the limits has no line.
fn values() {
    let mut offscreen = offscreen();
    let spacing = 24.0;
    let origin = DVec3::splat(-spacing);
    let grid = Grid::axis_aligned([3; 3], DVec3::splat(spacing), origin).expect("regular");
    let (grid, n) = (Arc::new(grid.clone()), grid.voxel_count());
    let eye = DVec3::new(0.0, -5000.0, 0.001);
    for (value, low) in [(-0.6f32, -1.0f32), (0.8, -1.0), (0.8, 0.9)] {
        let (mut vectors, mut signed) = (vec![0.0f32; 3 * n], vec![0.0f32; n]);
        vectors[13] = value;
        signed[13] = value;
        let fixels = Fixels {
            count: 1,
            values_list: None,
            lists: Vec::new(),
            folder: std::path::PathBuf::new(),
            signed: Some(signed.into()),
            range: (-1.0, 1.0),
            window: (-1.0, 1.0),
        };
        let volume = Volume::new(grid.clone(), 3, VolumeKind::Scalar, vectors);
        let list = ScenePane {
            glyphs: Some(Glyphs::Peaks(PeakGlyphs {
                peaks: ById(volume.with_fixels(Arc::new(fixels))),
                turn: DMat3::IDENTITY,
                colours: Some(PeakColours {
                    colour_map: ColourMap::Viridis,
                    window: (-1.0, 1.0),
                }),
                limits: Some(PeakLimits {
                    low,
                    high: 1.0,
                    is_symmetric: false,
                }),
                place: GlyphPlace::Planes(vec![CutPlane {
                    point: DVec3::ZERO,
                    normal: DVec3::Z,
                }]),
                size: 1.0,
                every: 1,
                full_amplitude: None,
                clips: Vec::new(),
                scale: None,
            })),
            ..scene(SIZE, eye)
        };
        let picture = offscreen.scene(&list).expect("a picture");
        let middle = SIZE / 2;
        let [r, g, b, _] = picture.pixel(middle, middle).map(f64::from);
        if low > value {
            let nothing = picture.pixel(2, 2).map(f64::from);
            assert_eq!([r, g, b], [nothing[0], nothing[1], nothing[2]]);
            continue;
        }
        let expected = ColourMap::Viridis.at((value + 1.0) * 0.5).map(f64::from);
        // Light changes the brightness and adds white; it does not exchange channels.
        let order = |c: [f64; 3]| {
            let mut order = [0, 1, 2];
            order.sort_by(|a, b| c[*a].total_cmp(&c[*b]));
            order
        };
        assert_eq!(order([r, g, b]), order(expected), "{value}: {r} {g} {b}");
    }
}
