//! Names, second tries and looks of pathways.

use super::Window;
use super::pathways::{A, drag, live, looking};
use crate::support::test;
use arcuate::data::{Role, VolumeKind};
use arcuate::render::build::{self, Size};
use arcuate::render::colour_map::ColourMap;
use arcuate::render::draw_list::{VolumeDraw, VolumeStyle};
use arcuate::state::pathways::{PathwayAction, Settings, Shown};
use arcuate::state::volume_look::Cut;
use arcuate::state::{Action, Pane, Phase};
use glam::{DVec2, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::pathways::names_are_their_own", names),
        test("update::pathways::a_kept_one_is_solved_when_asked", again),
        test("update::pathways::clouds_and_surfaces_are_cut", cut),
        test("update::pathways::a_coarse_cloud_is_as_dense", density),
        test("update::pathways::colours_of_the_cost", colours),
    ]
}

fn act(window: &mut Window, action: PathwayAction) {
    window.act(Action::Pathway(action));
}

fn set(window: &mut Window, edit: impl FnOnce(&mut Settings)) {
    let mut settings = window.state.document.pathways.clone();
    edit(&mut settings);
    let phase = Phase::Done;
    act(window, PathwayAction::Set { settings, phase });
}

fn volumes(window: &Window) -> Vec<VolumeDraw> {
    let size = Size {
        points: DVec2::splat(200.0),
        pixels_per_point: 1.0,
    };
    build::scene(&window.state, size).volumes
}

fn names() {
    let mut window = looking();
    act(&mut window, PathwayAction::Keep);
    act(&mut window, PathwayAction::Keep);
    let names = |window: &Window| -> Vec<String> {
        let kept = window.state.document.kept_pathways.iter();
        kept.map(|k| k.name.clone()).collect()
    };
    assert_eq!(names(&window), ["Seed – Target", "Seed – Target 2"]);
    let ids: Vec<_> = {
        let kept = window.state.document.kept_pathways.iter();
        kept.map(|k| k.id).collect()
    };
    for (id, typed, expected) in [
        (ids[0], " Arch ", ["Arch", "Seed – Target 2"]),
        (ids[1], "Arch", ["Arch", "Arch 2"]),
        // Its own name is free.
        (ids[1], "Arch 2", ["Arch", "Arch 2"]),
        (ids[1], "Arch", ["Arch", "Arch 2"]),
        (ids[0], "  ", ["Arch", "Arch 2"]),
    ] {
        act(&mut window, PathwayAction::Rename(id, typed.to_owned()));
        assert_eq!(names(&window), expected, "{typed:?}");
    }
    window.act(Action::Undo);
    assert_eq!(names(&window), ["Arch", "Seed – Target 2"]);
    assert!(window.state.document.kept_pathways[0].found.is_some());
}

fn again() {
    let mut window = looking();
    act(&mut window, PathwayAction::Keep);
    let id = window.state.document.kept_pathways[0].id;
    Arc::make_mut(&mut window.state.document.kept_pathways[0]).found = None;
    window.state.session.pathways.unsolved.push(id);
    window.act(Action::MoveCrosshair(DVec3::ONE));
    let solved = |window: &Window| window.state.document.kept_pathways[0].found.is_some();
    assert!(!solved(&window), "not asked for as it is");
    act(&mut window, PathwayAction::SolveKept(id));
    assert!(solved(&window), "{:?}", window.state.session.messages);
}

/// A cut is one of the live cloud, the live surface and those of kept ones.
fn cut() {
    let mut window = looking();
    act(&mut window, PathwayAction::Keep);
    set(&mut window, |s| (s.cloud, s.surface) = (true, true));
    let drawn = volumes(&window);
    let clouds = drawn.iter().filter(|v| v.style == VolumeStyle::Cloud);
    assert_eq!((drawn.len(), clouds.count()), (3, 1));
    assert!(drawn.iter().all(|v| v.cut.is_none()));
    for (cut, planes) in [(Cut::Facing, 1), (Cut::Corner, 3), (Cut::Side(DVec3::X), 1)] {
        set(&mut window, |s| s.cut = cut);
        for volume in volumes(&window) {
            let taken = volume.cut.as_ref().expect("a cut");
            assert_eq!(taken.planes.len(), planes);
            let crosshair = window.state.view.crosshair;
            assert!(taken.planes.iter().all(|p| p.at == crosshair));
        }
    }
    // A session keeps it; what cannot be written is no cut.
    let text = serde_json::to_string(&window.state.document.pathways).expect("text");
    let read: Settings = serde_json::from_str(&text).expect("settings");
    assert_eq!(read.cut, Cut::Side(DVec3::X));
    set(&mut window, |s| {
        s.cut = Cut::Plane {
            at: DVec3::NAN,
            normal: DVec3::X,
        };
    });
    assert_eq!(window.state.document.pathways.cut, Cut::Nothing);
    let mut older: serde_json::Value = serde_json::from_str(&text).expect("a value");
    older.as_object_mut().expect("fields").remove("cut");
    let older: Settings = serde_json::from_value(older).expect("settings");
    assert_eq!(older.cut, Cut::Nothing);
}

/// Voxels of twice the size are no denser and no thinner.
fn density() {
    let mut window = looking();
    let reference_mm = |window: &Window| {
        let drawn = volumes(window);
        drawn.first().expect("the cloud").reference_mm
    };
    let fine = reference_mm(&window);
    // Two voxels of 2 mm.
    assert!((fine - 4.0).abs() < 1e-4, "{fine}");
    window.state.session.pathways.full_ms = [Some(1e4); 2];
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Live);
    assert!(live(&window).coarse);
    let voxels = live(&window).excess.grid.spacing();
    assert!(voxels.min_element() > 3.9, "{voxels}");
    assert_eq!(reference_mm(&window), fine);
}

/// Below the cost images are grey; its last colour is where the range says, in the cloud too, which is
/// denser on white.
fn colours() {
    let mut window = looking();
    let dec = window.state.document.layer_named("DEC").expect("DEC").id;
    window.act(Action::ShowOnly(dec));
    let size = Size {
        points: DVec2::splat(200.0),
        pixels_per_point: 1.0,
    };
    let images = |window: &Window| {
        let list = build::slice(&window.state, Pane::Axial, size).expect("a slice");
        let mut images = list.images;
        let over = images.pop().expect("one");
        (images, over)
    };
    let fa = window.state.document.tensors.as_ref().expect("tensors");
    let fa = fa.fa.id();
    let (below, cost) = images(&window);
    assert_eq!(cost.window, (0.0, 0.5));
    assert_eq!(below.len(), 1);
    assert_eq!(
        below[0].volume.0.id(),
        fa,
        "directions are told by their FA"
    );
    assert_eq!(below[0].colour_map, ColourMap::Grey);
    set(&mut window, |s| s.greys = false);
    let kind = images(&window).0[0].volume.0.kind;
    assert_eq!(kind, VolumeKind::Rgb);
    // Without the cost there is nothing to tell apart.
    set(&mut window, |s| (s.greys, s.shown) = (true, Shown::Off));
    assert_eq!(images(&window).1.volume.0.kind, VolumeKind::Rgb);
    set(&mut window, |s| (s.shown, s.range) = (Shown::Total, 0.2));
    assert_eq!(images(&window).1.window, (0.0, 0.2));
    let cloud = |window: &Window| {
        let mut drawn = volumes(window).into_iter();
        drawn
            .find(|v| v.style == VolumeStyle::Cloud)
            .expect("a cloud")
    };
    assert_eq!(cloud(&window).window, (0.0, 0.2));
    let on_black = cloud(&window).reference_mm;
    window.act(Action::ToggleTheme);
    assert!(cloud(&window).reference_mm < 0.8 * on_black);
    // What a file may not say.
    set(&mut window, |s| s.range = f32::NAN);
    assert_eq!(window.state.document.pathways.range, 0.5);
    set(&mut window, |s| s.range = 9.0);
    let most = arcuate::jobs::FoundPathway::MOST_EXCESS;
    assert!(window.state.document.pathways.range < most);
}
