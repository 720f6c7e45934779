//! Names, repeated attempts and appearance of pathways.

use super::Window;
use super::pathways::{A, drag, live, looking};
use crate::support::test;
use arcuate::data::appearance::ColourMap;
use arcuate::data::{Role, VolumeKind};
use arcuate::scene::draw_list::GlyphPlace::Below;
use arcuate::scene::draw_list::{ById, Glyphs, LineColour, VolumeDraw, VolumeStyle};
use arcuate::scene::{self, Size};
use arcuate::state::core::glyph_look::{GlyphLook, GlyphPlace};
use arcuate::state::core::volume_look::VolumeCut;
use arcuate::state::pathways::{PathwayAction, PathwaySettings, ShownCost};
use arcuate::state::{Action, LayerAction, Pane, Phase, ViewAction};
use arcuate::ui::probe;
use arcuate::ui::views::path_at_pointer;
use glam::{DVec2, DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::pathways::names_are_their_own", names),
        test(
            "update::pathways::a_kept_pathway_is_solved_on_request",
            repeated,
        ),
        test("update::pathways::clouds_and_surfaces_are_cut", cut),
        test("update::pathways::a_coarse_cloud_is_as_dense", density),
        test("update::pathways::colours_of_the_cost", colours),
        test("update::pathways::under_the_pointer", hovered),
    ]
}

fn act(window: &mut Window, action: PathwayAction) {
    window.act(Action::Pathway(action));
}

fn set(window: &mut Window, edit: impl FnOnce(&mut PathwaySettings)) {
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
    scene::scene(&window.state, size).volumes
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
        // Its own name is available.
        (ids[1], "Arch 2", ["Arch", "Arch 2"]),
        (ids[1], "Arch", ["Arch", "Arch 2"]),
        (ids[0], "  ", ["Arch", "Arch 2"]),
    ] {
        act(&mut window, PathwayAction::Rename(id, typed.to_owned()));
        assert_eq!(names(&window), expected, "{typed:?}");
    }
    window.act(Action::Undo);
    assert_eq!(names(&window), ["Arch", "Seed – Target 2"]);
    assert!(window.state.document.kept_pathways[0].result.is_some());
}

fn repeated() {
    let mut window = looking();
    act(&mut window, PathwayAction::Keep);
    let id = window.state.document.kept_pathways[0].id;
    Arc::make_mut(&mut window.state.document.kept_pathways[0]).result = None;
    window.state.runtime.pathways.unsolved.push(id);
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::ONE)));
    let solved = |window: &Window| window.state.document.kept_pathways[0].result.is_some();
    assert!(!solved(&window), "not asked for as it is");
    act(&mut window, PathwayAction::SolveKept(id));
    assert!(
        solved(&window),
        "{:?}",
        window.state.runtime.notices.messages
    );
}

/// One cut serves the live cloud, the live surface and those of kept ones.
fn cut() {
    let mut window = looking();
    act(&mut window, PathwayAction::Keep);
    set(&mut window, |s| (s.cloud, s.surface) = (true, true));
    let drawn = volumes(&window);
    let clouds = drawn.iter().filter(|v| v.style == VolumeStyle::Cloud);
    assert_eq!((drawn.len(), clouds.count()), (3, 1));
    assert!(drawn.iter().all(|v| v.cut.is_none()));
    for (cut, planes) in [
        (VolumeCut::Facing, 1),
        (VolumeCut::Corner, 3),
        (VolumeCut::Side(DVec3::X), 1),
    ] {
        set(&mut window, |s| s.cut = cut);
        for volume in volumes(&window) {
            let taken = volume.cut.as_ref().expect("a cut");
            assert_eq!(taken.planes.len(), planes);
            let crosshair = window.state.view.crosshair;
            assert!(taken.planes.iter().all(|p| p.point == crosshair));
        }
    }
    // A session keeps it; a cut that cannot be written is dropped.
    let text = serde_json::to_string(&window.state.document.pathways).expect("text");
    let read: PathwaySettings = serde_json::from_str(&text).expect("settings");
    assert_eq!(read.cut, VolumeCut::Side(DVec3::X));
    set(&mut window, |s| {
        s.cut = VolumeCut::Plane {
            at: DVec3::NAN,
            normal: DVec3::X,
        };
    });
    assert_eq!(window.state.document.pathways.cut, VolumeCut::Nothing);
    let mut older: serde_json::Value = serde_json::from_str(&text).expect("a value");
    older.as_object_mut().expect("fields").remove("cut");
    let older: PathwaySettings = serde_json::from_value(older).expect("settings");
    assert_eq!(older.cut, VolumeCut::Nothing);
}

/// Voxels of twice the size are neither denser nor thinner.
fn density() {
    let mut window = looking();
    let reference_mm = |window: &Window| {
        let drawn = volumes(window);
        drawn.first().expect("the cloud").reference_mm
    };
    let fine = reference_mm(&window);
    // Two voxels of 2 mm.
    assert!((fine - 4.0).abs() < 1e-4, "{fine}");
    window.state.runtime.pathways.full_ms = [Some(1e4); 2];
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Live);
    assert!(live(&window).coarse);
    let voxels = live(&window).excess.grid.spacing();
    assert!(voxels.min_element() > 3.9, "{voxels}");
    assert_eq!(reference_mm(&window), fine);
}

/// Images below the cost are grey; its last colour is at the end of the range, in the cloud too, which is denser on
/// white.
fn colours() {
    let mut window = looking();
    let dec = window.state.document.layer_named("DEC").expect("DEC").id;
    window.act(Action::Layer(LayerAction::ShowOnly(dec)));
    let size = Size {
        points: DVec2::splat(200.0),
        pixels_per_point: 1.0,
    };
    let images = |window: &Window| {
        let list = scene::slice(&window.state, Pane::Axial, size).expect("a slice");
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
        "directions are shown by their FA"
    );
    assert_eq!(below[0].colour_map, ColourMap::Grey);
    set(&mut window, |s| s.greys = false);
    let kind = images(&window).0[0].volume.0.kind;
    assert_eq!(kind, VolumeKind::Rgb);
    // Without the cost there is nothing to distinguish.
    set(&mut window, |s| (s.greys, s.shown) = (true, ShownCost::Off));
    assert_eq!(images(&window).1.volume.0.kind, VolumeKind::Rgb);
    set(&mut window, |s| {
        (s.shown, s.range) = (ShownCost::Total, 0.2)
    });
    assert_eq!(images(&window).1.window, (0.0, 0.2));
    let cloud = |window: &Window| {
        let mut drawn = volumes(window).into_iter();
        drawn
            .find(|v| v.style == VolumeStyle::Cloud)
            .expect("a cloud")
    };
    assert_eq!(cloud(&window).window, (0.0, 0.2));
    let on_black = cloud(&window).reference_mm;
    window.act(Action::View(ViewAction::ToggleTheme));
    assert!(cloud(&window).reference_mm < 0.8 * on_black);
    // A value that a file may not contain.
    set(&mut window, |s| s.range = f32::NAN);
    assert_eq!(window.state.document.pathways.range, 0.5);
    set(&mut window, |s| s.range = 9.0);
    let most = arcuate::state::pathways::PathwayResult::MAXIMUM_EXCESS;
    assert!(window.state.document.pathways.range < most);
}

fn hovered() {
    let mut window = looking();
    let at = dvec3(6.0, 0.0, 0.0);
    window.act(Action::Pathway(PathwayAction::Hover(Some(at))));
    let hovered = window.state.path_hovered().cloned().expect("a path");
    let nearest = hovered.path.points.iter().map(|p| p.distance(at));
    assert!(
        nearest.fold(f64::INFINITY, f64::min) < 2.0,
        "through the voxel"
    );
    assert!(hovered.excess > 0.0);
    assert!(hovered.path.total_mm() > live(&window).path.total_mm());
    let size = Size {
        points: DVec2::splat(200.0),
        pixels_per_point: 1.0,
    };
    let list = scene::slice(&window.state, Pane::Axial, size).expect("a slice");
    assert_eq!(
        list.lines.len(),
        3,
        "the cheapest, this one, its weakest stretch"
    );
    let weak = hovered.weakest.as_ref().expect("a stretch");
    let (rest, stretch) = (&list.lines[1], &list.lines[2]);
    assert_eq!(rest.tractogram, ById(weak.rest.clone()));
    assert_eq!(stretch.tractogram, ById(weak.curve.clone()));
    // The path in three parts; neighbouring parts share a point.
    let points = weak.curve.points.len() + weak.rest.points.len();
    assert_eq!(
        (weak.rest.len(), points),
        (2, hovered.curve.points.len() + 2)
    );
    let rates = hovered.path.cost_per_mm();
    let most = rates.iter().copied().fold(0.0, f64::max);
    assert!(weak.mean_per_mm > 0.0 && weak.mean_per_mm < most);
    // Three colours, none that of the outline.
    let colours: Vec<_> = list
        .lines
        .iter()
        .map(|l| format!("{:?}", l.colour))
        .collect();
    assert!(
        colours[0] != colours[1] && colours[1] != colours[2],
        "{colours:?}"
    );
    assert!(!colours.contains(&format!("{:?}", LineColour::Fixed(list.contours[0].colour))));
    // It contains no voxel of the ends or of their rims.
    for role in [Role::Seed, Role::Target] {
        let regions = &window.state.document.regions;
        let end = regions.iter().find(|r| r.role == role).expect("found");
        for point in weak.curve.streamline(0) {
            let far = glam::Vec3::from(*point)
                .as_dvec3()
                .distance(end.shape.centre());
            assert!(far > 5.0 + 1.6, "{far} mm from the {role:?}");
        }
    }
    let shorter = weak.curve.streamline(0).len() < hovered.curve.streamline(0).len();
    assert!(shorter && weak.length_mm < 13.0, "{}", weak.length_mm);
    assert_eq!(list.contours.len(), 1, "the set's outline");
    assert!(list.images.last().expect("the cost").fades);
    // The cost, and no image below it, covers the streamlines of layers.
    assert_eq!(list.images_above, 1);
    assert!(list.glyphs.is_none());
    // The tensors within the pathway, in 3-D: the initial setting of glyphs switched on here.
    let glyphs = GlyphLook {
        shown: true,
        ..GlyphLook::default()
    };
    window.act(Action::View(ViewAction::SetGlyphs(glyphs)));
    let look = window.state.view.glyphs;
    assert_eq!(look.place, GlyphPlace::Pathways);
    // A place chosen while they are shown is kept.
    let place = GlyphPlace::Scene;
    window.act(Action::View(ViewAction::SetGlyphs(GlyphLook {
        place,
        ..look
    })));
    assert_eq!(window.state.view.glyphs.place, place);
    window.act(Action::View(ViewAction::SetGlyphs(look)));
    let list = scene::slice(&window.state, Pane::Axial, size).expect("a slice");
    assert!(list.glyphs.is_none());
    let Some(Glyphs::Tensors(glyphs)) = scene::scene(&window.state, size).glyphs else {
        panic!("no glyphs of tensors");
    };
    let epsilon = window.state.document.pathways.epsilon as f32;
    let excess = ById(live(&window).excess.clone());
    assert_eq!(glyphs.place, Below(vec![(excess, epsilon)]));
    // Next to the pointer.
    let sentence =
        |window: &Window, at: DVec3| path_at_pointer::text(&window.state, live(window), at);
    let (described, on_pathway) = sentence(&window, at).expect("a text");
    let mean = hovered.path.total_cost() / hovered.path.total_mm();
    let mean = arcuate::ui::format::significant(mean);
    assert!(on_pathway && described.starts_with("E* + "), "{described}");
    assert!(
        described.ends_with(&format!(" · {mean} per mm")),
        "{described}"
    );
    assert_eq!(
        sentence(&window, at + DVec3::Y * 6.0),
        None,
        "not traced yet"
    );
    assert_eq!(sentence(&window, DVec3::splat(400.0)), None);
    window.act(Action::Pathway(PathwayAction::Hover(None)));
    assert!(window.state.path_hovered().is_none());
    window.act(Action::Pathway(PathwayAction::Hover(Some(DVec3::splat(
        400.0,
    )))));
    assert!(window.state.path_hovered().is_none());
    // The values at the crosshair's voxel add up.
    window.act(Action::View(ViewAction::MoveCrosshair(at)));
    let readings = probe::readings(&window.state);
    let value = |name: &str| {
        let found = readings.iter().find(|r| r.name.starts_with(name));
        let text = &found.expect("a reading").value;
        let number = text.split(' ').next().unwrap_or_default();
        number.parse::<f64>().expect("a number")
    };
    let (a, b, sum) = (
        value("u₁ from Seed"),
        value("u₂ from Target"),
        value("u₁ + u₂"),
    );
    assert!((a + b - sum).abs() < 0.02 * sum, "{a} {b} {sum}");
}
