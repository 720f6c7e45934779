//! Turned slices: sides, planes, steps, the commissures, sessions.

use crate::support::{Random, test};
use arcuate::data::{AffineSource, Grid, Volume};
use arcuate::state::core::display;
use arcuate::state::core::layer::{Content, Layer, LayerId};
use arcuate::state::core::slice_turn::{SliceTurn, last_within, voxel_rotation};
use arcuate::state::view::{letters, nearest_plane, tilt_deg};
use arcuate::state::{Action, Convention, Pane, State, View, ViewAction, ViewpointAction, update};
use glam::{DAffine3, DMat3, DQuat, DVec2, DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub const SLICES: [Pane; 3] = [Pane::Axial, Pane::Sagittal, Pane::Coronal];
const CONVENTIONS: [Convention; 2] = [Convention::Radiological, Convention::Neurological];
pub const SIZE: DVec2 = DVec2::new(400.0, 300.0);

pub fn tests() -> Vec<Trial> {
    vec![
        test("oblique::letters name the sides", letters_name_sides),
        test(
            "oblique::each edge shows its side of the patient",
            edges_show_sides,
        ),
        test("oblique::no turn mirrors a slice", never_mirrored),
        test(
            "oblique::straight slices are what they were",
            straight_is_exact,
        ),
        test(
            "oblique::a turn keeps the crosshair and the scale",
            keeps_crosshair,
        ),
        test("oblique::steps move along the normal", steps_along_normal),
        test("oblique::the crosshair stays in its slice", stays_in_slice),
        test(
            "oblique::the status names the present rotation",
            turn_status,
        ),
        test(
            "oblique::a mosaic keeps the slices near the crosshair",
            many_slices,
        ),
        test("oblique::angles lead back to the rotation", angles),
        test("oblique::the voxels of an oblique image", voxels),
        test("oblique::sessions keep the turn", in_sessions),
        test("oblique::a turned slice is named by its plane", names),
        test("oblique::the way ends at the bounds", ends_at_bounds),
    ]
}

/// A document with an image on a grid that is sheared and oblique.
pub fn state(random: &mut Random) -> State {
    let turned = DMat3::from_quat(random.rotation());
    let shear = DMat3::from_cols(
        dvec3(2.0, 0.0, 0.0),
        dvec3(random.uniform(-0.4, 0.4), 2.5, 0.0),
        dvec3(random.uniform(-0.4, 0.4), random.uniform(-0.4, 0.4), 3.0),
    );
    let matrix = turned * shear;
    let affine = DAffine3::from_mat3_translation(matrix, matrix * dvec3(-20.0, -22.0, -18.0));
    let grid = Arc::new(Grid::new([40, 44, 36], affine, AffineSource::Sform).unwrap());
    let values = vec![1.0f32; grid.voxel_count()];
    with_image(Volume::scalar(grid, values))
}

/// A document with this image.
pub fn with_image(image: Volume) -> State {
    let mut state = State::new(String::new());
    let origin = state
        .document
        .origins
        .add(arcuate::state::origin::Origin::file(
            "/data/image.nii".to_owned(),
        ));
    state.document.layers.push(Arc::new(Layer::new(
        LayerId(1),
        "image".to_owned(),
        Content::Image(image),
        display::image_display((0.0, 1.0)),
        origin,
    )));
    state.view.crosshair = dvec3(4.0, -3.0, 2.0);
    state
}

pub fn act(state: &mut State, action: ViewAction) {
    update(state, Action::View(action));
}

pub fn turn(state: &mut State, rotation: DQuat) {
    let turn = SliceTurn::about(state.view.crosshair, rotation);
    act(state, ViewAction::TurnSlices(turn));
}

/// Rodrigues' formula, without quaternions.
fn rotated(v: DVec3, axis: DVec3, angle: f64) -> DVec3 {
    let (sine, cosine) = angle.sin_cos();
    v * cosine + axis.cross(v) * sine + axis * axis.dot(v) * (1.0 - cosine)
}

/// The six sides of a patient, world mm.
const SIDES: [(char, DVec3); 6] = [
    ('R', DVec3::X),
    ('L', DVec3::NEG_X),
    ('A', DVec3::Y),
    ('P', DVec3::NEG_Y),
    ('S', DVec3::Z),
    ('I', DVec3::NEG_Z),
];

/// By angles to the six sides: the nearest, and the next if the direction leans towards it by 5° or more.
fn letters_name_sides() {
    let mut random = Random::fresh("letters");
    for _ in 0..5000 {
        let direction = random.direction();
        let angle = |side: DVec3| direction.dot(side).clamp(-1.0, 1.0).acos().to_degrees();
        let mut sides = SIDES.map(|(letter, side)| (angle(side), letter));
        sides.sort_by(|a, b| a.0.total_cmp(&b.0));
        let lean = 90.0 - sides[1].0;
        if (lean - 5.0).abs() < 1e-6 || sides[1].0 - sides[0].0 < 1e-6 {
            continue;
        }
        let expected: String = match lean > 5.0 {
            true => [sides[0].1, sides[1].1].iter().collect(),
            false => sides[0].1.to_string(),
        };
        assert_eq!(letters(direction), expected, "{direction}");
    }
    for (letter, side) in SIDES {
        assert_eq!(letters(side), letter.to_string());
    }
}

/// A point moved to the patient's right, left, front and so on moves on screen towards the edge whose letters begin with
/// that side, and away from the opposite edge.
fn edges_show_sides() {
    let mut random = Random::fresh("edges");
    for round in 0..400 {
        let mut state = state(&mut random);
        act(
            &mut state,
            ViewAction::SetConvention(CONVENTIONS[round % 2]),
        );
        let (axis, angle) = (random.direction(), random.uniform(-3.1, 3.1));
        turn(&mut state, DQuat::from_axis_angle(axis, angle));
        for pane in SLICES {
            let plane = state.plane(pane, SIZE).unwrap();
            let straight = {
                let mut view = state.view.clone();
                view.turn = SliceTurn::STRAIGHT;
                view.screen_axes(pane).unwrap()
            };
            let expected = rotated(straight.0, axis, angle);
            assert!(plane.right.distance(expected) < 1e-9, "{pane:?}");
            let expected = rotated(straight.1, axis, angle);
            assert!(plane.down.distance(expected) < 1e-9, "{pane:?}");
            let edges = [DVec2::NEG_X, DVec2::X, DVec2::NEG_Y, DVec2::Y];
            let letters = state.view.letters(pane).unwrap();
            for (edge, letters) in edges.into_iter().zip(&letters) {
                for letter in letters.chars() {
                    let side = SIDES.iter().find(|s| s.0 == letter).unwrap().1;
                    let from = plane.position(state.view.crosshair);
                    let to = plane.position(state.view.crosshair + side * 30.0);
                    assert!((to - from).dot(edge) > 0.0, "{pane:?} {letters} {edge}");
                }
            }
            // Opposite edges name opposite sides.
            for (a, b) in [(0, 1), (2, 3)] {
                let sides = |i: usize| -> Vec<DVec3> {
                    let all = letters[i].chars();
                    all.map(|c| SIDES.iter().find(|s| s.0 == c).unwrap().1)
                        .collect()
                };
                let (a, b) = (sides(a), sides(b));
                assert_eq!(a.len(), b.len());
                assert!(a.iter().zip(&b).all(|(a, b)| *a == -*b), "{letters:?}");
            }
        }
    }
}

/// The three directions right, up and towards the viewer have the same handedness as those of the straight slice, whose
/// viewer stands where the convention says.
fn never_mirrored() {
    let mut random = Random::fresh("mirrored");
    for round in 0..200 {
        let mut state = state(&mut random);
        act(
            &mut state,
            ViewAction::SetConvention(CONVENTIONS[round % 2]),
        );
        for pane in SLICES {
            let before = state.plane(pane, SIZE).unwrap();
            let rotation = random.rotation();
            turn(&mut state, rotation);
            let after = state.plane(pane, SIZE).unwrap();
            // Three points of the patient, carried along by the turn, lie on screen as before.
            let about = state.view.crosshair;
            let points = [0; 3].map(|_| random.direction() * random.uniform(5.0, 40.0));
            for point in points {
                let seen = before.position(about + point);
                let carried = after.position(about + rotation * point);
                assert!(seen.distance(carried) < 1e-6, "{pane:?} {seen} {carried}");
            }
            act(&mut state, ViewAction::StraightenSlices);
        }
    }
}

/// Bit for bit, after turning to and fro.
fn straight_is_exact() {
    let mut random = Random::fresh("exact");
    for round in 0..50 {
        let mut state = state(&mut random);
        act(
            &mut state,
            ViewAction::SetConvention(CONVENTIONS[round % 2]),
        );
        let planes = |state: &State| SLICES.map(|pane| state.plane(pane, SIZE));
        let (before, view) = (planes(&state), state.view.clone());
        let rotation = random.rotation();
        turn(&mut state, rotation);
        assert_ne!(planes(&state), before);
        act(&mut state, ViewAction::StraightenSlices);
        assert_eq!(planes(&state), before);
        assert_eq!(state.view, view);
        // Turned back by its own inverse, too.
        let centre = state.view.crosshair;
        let turn = SliceTurn::about(centre, rotation).turned(centre, rotation.inverse());
        assert!(turn.is_straight(), "{turn:?}");
        for (pane, plane) in SLICES.into_iter().zip(before) {
            let (axis, plane) = (pane.normal_axis().unwrap(), plane.unwrap());
            assert_eq!(plane.centre[axis], state.view.crosshair[axis]);
            assert_eq!(plane.normal().abs(), DVec3::AXES[axis]);
            assert_eq!(state.view.letters(pane).unwrap().map(|l| l.len()), [1; 4]);
        }
    }
}

fn keeps_crosshair() {
    let mut random = Random::fresh("keeps");
    for _ in 0..200 {
        let mut state = state(&mut random);
        for slice in &mut state.view.slices {
            slice.zoom = random.uniform(0.5, 4.0);
            slice.pan_mm = random.direction() * 20.0;
        }
        let planes = |state: &State| SLICES.map(|pane| state.plane(pane, SIZE).unwrap());
        let before = planes(&state);
        // Several turns, each about the crosshair of its time.
        for _ in 0..3 {
            let turn = state
                .view
                .turn
                .turned(state.view.crosshair, random.rotation());
            act(&mut state, ViewAction::TurnSlices(turn));
        }
        let crosshair = state.view.crosshair;
        for (before, after) in before.into_iter().zip(planes(&state)) {
            let off = before
                .position(crosshair)
                .distance(after.position(crosshair));
            assert!(off < 1e-6, "{off}");
            assert!(after.distance(crosshair).abs() < 1e-9);
            assert_eq!(before.mm_per_point, after.mm_per_point);
            assert!((after.right.length() - 1.0).abs() < 1e-12);
            assert!(after.right.dot(after.down).abs() < 1e-12);
        }
        // The planes cross at right angles in the crosshair.
        let [a, b, c] = planes(&state).map(|p| p.normal());
        assert!(a.dot(b).abs() < 1e-12 && b.dot(c).abs() < 1e-12 && c.dot(a).abs() < 1e-12);
        // Home puts what is framed into the middle again.
        act(&mut state, ViewAction::FrameAll);
        let (low, high) = state.document.sliced();
        for plane in planes(&state) {
            let middle = plane.position((low + high) * 0.5);
            assert!(middle.distance(SIZE * 0.5) < 1e-6, "{middle}");
        }
    }
}

fn steps_along_normal() {
    let mut random = Random::fresh("steps");
    for _ in 0..200 {
        let mut state = state(&mut random);
        let rotation = random.rotation();
        turn(&mut state, rotation);
        let pane = SLICES[(random.bits() % 3) as usize];
        let normal = rotation * DVec3::AXES[pane.normal_axis().unwrap()];
        let from = state.view.crosshair;
        let steps = [1, -1, 2, 40, -40][(random.bits() % 5) as usize];
        act(&mut state, ViewAction::StepSlice { pane, steps });
        let moved = state.view.crosshair - from;
        let along = moved.dot(normal);
        assert!((moved - normal * along).length() < 1e-9, "{moved}");
        assert_eq!(along > 0.0, steps > 0);
        // Not more than the longest voxel edge a step, and within the image.
        assert!(along.abs() <= f64::from(steps.abs()) * 3.2, "{along}");
        let (low, high) = state.document.bounds();
        let inside = state.view.crosshair.clamp(low, high);
        assert!(inside.distance(state.view.crosshair) < 1e-9);
    }
}

fn stays_in_slice() {
    let mut random = Random::fresh("stays");
    for _ in 0..300 {
        let mut state = state(&mut random);
        turn(&mut state, random.rotation());
        let bounds = state.document.bounds();
        for pane in SLICES {
            let plane = state.plane(pane, SIZE).unwrap();
            let world = plane.world(DVec2::new(
                random.uniform(0.0, SIZE.x),
                random.uniform(0.0, SIZE.y),
            ));
            let moved = state.view.on_slice(pane, world, bounds);
            assert!(plane.distance(moved).abs() < 1e-9);
            if world.clamp(bounds.0, bounds.1) == world {
                assert!(moved.distance(world) < 1e-9);
            } else {
                let inside = moved.clamp(bounds.0, bounds.1);
                assert!(inside.distance(moved) < 1e-9, "{moved} {bounds:?}");
            }
        }
    }
}

/// The status of a turn goes when the slices turn again without one.
fn turn_status() {
    let mut random = Random::fresh("turn status");
    let mut state = state(&mut random);
    let viewpoint = |state: &mut State, action| act(state, ViewAction::Viewpoint(action));
    viewpoint(&mut state, ViewpointAction::Remember);
    turn(&mut state, DQuat::from_axis_angle(DVec3::X, 0.3));
    viewpoint(&mut state, ViewpointAction::Remember);
    act(&mut state, ViewAction::StraightenSlices);
    assert_eq!(state.runtime.notices.status, "Slices are back at the axes");
    viewpoint(&mut state, ViewpointAction::Back);
    assert!(!state.view.turn.is_straight());
    assert_eq!(state.runtime.notices.status, "");
    act(&mut state, ViewAction::StraightenSlices);
    turn(&mut state, DQuat::from_axis_angle(DVec3::X, 0.2));
    assert_eq!(state.runtime.notices.status, "");
    // Another status stays.
    state.runtime.notices.status = "Command copied".into();
    turn(&mut state, DQuat::from_axis_angle(DVec3::X, 0.1));
    assert_eq!(state.runtime.notices.status, "Command copied");
}

/// More slices than a mosaic shows are counted, and those around the crosshair are shown.
fn many_slices() {
    let mut random = Random::fresh("many slices");
    let mut state = state(&mut random);
    state.view.single = Pane::Axial;
    let ends = (-100.0, 100.0);
    for (mm, at) in [(1.0, 0.0), (0.5, 80.0), (0.5, -99.0), (4.0, 10.0)] {
        state.view.mosaic_mm = mm;
        state.view.crosshair.z = at;
        let all = (ends.1 - ends.0) / mm;
        let count = state.view.mosaic_count(ends);
        assert!((count as f64 - all).abs() <= 1.0, "{count} {all}");
        let places = state.view.mosaic_slices(ends);
        assert_eq!(places.len(), count.min(View::MAXIMUM_SLICES));
        assert!(
            places.iter().any(|p| (p - at).abs() < 1e-9),
            "{at} {places:?}"
        );
        assert!(places.iter().all(|p| (ends.0..=ends.1).contains(p)));
        let steps = places.windows(2).map(|p| p[1] - p[0]);
        assert!(steps.into_iter().all(|step| (step - mm).abs() < 1e-9));
    }
}

fn angles() {
    let mut random = Random::fresh("angles");
    for _ in 0..500 {
        let degrees = dvec3(
            random.uniform(-179.0, 179.0),
            random.uniform(-89.0, 89.0),
            random.uniform(-179.0, 179.0),
        );
        let rotation = SliceTurn::rotation_from_angles(degrees);
        // One after the other about the fixed axes.
        let [x, y, z] = degrees.map(f64::to_radians).to_array();
        let v = random.direction();
        let expected = rotated(rotated(rotated(v, DVec3::X, x), DVec3::Y, y), DVec3::Z, z);
        assert!((rotation * v).distance(expected) < 1e-12);
        let turn = SliceTurn::about(DVec3::ONE, rotation);
        assert!(turn.angles().distance(degrees) < 1e-6, "{degrees}");
    }
}

/// The rotation of a grid whose voxel axes are permuted, flipped and sheared a little is that of its head.
fn voxels() {
    let mut random = Random::fresh("voxels");
    for _ in 0..500 {
        let head = DQuat::from_axis_angle(random.direction(), random.uniform(0.0, 0.6));
        let mut axes = [0, 1, 2].map(|a| head * DVec3::AXES[a]);
        for axis in &mut axes {
            *axis *= random.uniform(0.5, 3.0)
                * if random.bits().is_multiple_of(2) {
                    1.0
                } else {
                    -1.0
                };
        }
        axes.rotate_left((random.bits() % 3) as usize);
        if random.bits().is_multiple_of(2) {
            axes.swap(0, 2);
        }
        let affine = DAffine3::from_mat3(DMat3::from_cols(axes[0], axes[1], axes[2]));
        let grid = Grid::new([10, 11, 12], affine, AffineSource::Sform).unwrap();
        let found = voxel_rotation(&grid);
        assert!(found.angle_between(head) < 1e-6, "{found} {head}");
    }
}

fn in_sessions() {
    let mut random = Random::fresh("sessions");
    let straight = serde_json::to_value(View::default()).unwrap();
    assert!(
        straight.get("turn").is_none(),
        "as before for straight slices"
    );
    for _ in 0..50 {
        let view = View {
            turn: SliceTurn::about(random.direction() * 40.0, random.rotation()),
            ..View::default()
        };
        let text = serde_json::to_string(&view).unwrap();
        let read: View = serde_json::from_str(&text).unwrap();
        let read = read.turn.valid();
        for point in [DVec3::ZERO, random.direction() * 80.0] {
            assert!(read.point(point).distance(view.turn.point(point)) < 1e-9);
        }
    }
    // A file may contain any numbers.
    for turn in [
        serde_json::json!({"rotation": [0.0, 0.0, 0.0, 0.0]}),
        serde_json::json!({"rotation": [1e308, 0.0, 0.0, 1e308]}),
        serde_json::json!({"rotation": [0.5, 0.5, 0.5, 0.7]}),
        serde_json::json!({"rotation": [1.0, 0.0, 0.0, 0.0], "offset_mm": [null, 0.0, 0.0]}),
        serde_json::json!({}),
    ] {
        let read: SliceTurn = serde_json::from_value(turn.clone()).unwrap_or_default();
        assert!(read.valid().is_straight(), "{turn}");
    }
}

fn names() {
    let mut random = Random::fresh("names");
    let mut state = state(&mut random);
    for pane in SLICES {
        assert_eq!(state.view.slice_name(pane), pane.name());
    }
    // The front up by 12°: the axial and the coronal slice are tilted, the sagittal one is not.
    let degrees = dvec3(12.0, 0.0, 0.0);
    turn(&mut state, SliceTurn::rotation_from_angles(degrees));
    let names = SLICES.map(|pane| state.view.slice_name(pane));
    assert_eq!(names, ["Oblique axial", "Sagittal", "Oblique coronal"]);
    let normal = state.view.normal(Pane::Axial).unwrap();
    assert!((tilt_deg(normal) - 12.0).abs() < 1e-9);
    // Halfway between two planes, a view has its own name; beyond, that of the nearer plane, and the view is named.
    for (y, axial) in [
        (45.0, "Oblique axial"),
        (-45.0, "Oblique axial"),
        (46.0, "Oblique sagittal"),
    ] {
        let rotation = SliceTurn::rotation_from_angles(dvec3(0.0, y, 0.0));
        turn(&mut state, rotation);
        assert_eq!(state.view.slice_name(Pane::Axial), axial, "{y}");
        let other = (axial == "Oblique sagittal").then(|| "axial view".to_owned());
        assert_eq!(state.view.turned_view(Pane::Axial), other, "{y}");
        assert_eq!(state.view.turned_view(Pane::Coronal), None);
    }
    // By a right angle, the slice of the first view is a coronal one.
    let degrees = dvec3(90.0, 0.0, 0.0);
    turn(&mut state, SliceTurn::rotation_from_angles(degrees));
    let names = SLICES.map(|pane| state.view.slice_name(pane));
    assert_eq!(names, ["Coronal", "Sagittal", "Axial"]);
    assert_eq!(nearest_plane(DVec3::NEG_X), Pane::Sagittal);
}

fn ends_at_bounds() {
    let mut random = Random::fresh("way");
    let bounds = (DVec3::splat(-10.0), dvec3(10.0, 20.0, 30.0));
    for _ in 0..500 {
        let at = |random: &mut Random, reach: f64| {
            DVec3::from_array([0; 3].map(|_| random.uniform(-reach, reach)))
        };
        let from = at(&mut random, 10.0);
        let to = at(&mut random, 60.0);
        let found = last_within(from, to, bounds);
        let inside = |p: DVec3| p.clamp(bounds.0, bounds.1).distance(p) < 1e-9;
        assert!(inside(found));
        if inside(to) {
            assert_eq!(found, to);
        } else {
            let share = (found - from).length() / (to - from).length();
            assert!(found.distance(from.lerp(to, share)) < 1e-9);
            assert!(!inside(from.lerp(to, share + 1e-6)), "the last one");
        }
    }
}
