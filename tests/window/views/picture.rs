//! Pictures: the marks drawn into them, and their size.

use super::sample::{add_live, add_sphere, state, state_with};
use crate::support::test;
use arcuate::data::appearance::ColourMap;
use arcuate::data::{AffineSource, Role, Tractogram};
use arcuate::render::offscreen::{Offscreen, Picture};
use arcuate::render::{PaneId, Renderer};
use arcuate::scene::draw_list::ScenePane;
use arcuate::scene::{self, Size};
use arcuate::solvers::curves::{self, SeedOutcome, StopReason};
use arcuate::state::{
    Action, Convention, LayerAction, Layout, Pane, SnapshotAction, State, ViewAction, report,
    update,
};
use arcuate::ui::snapshot::{self, AddViews, Drawing, Frame};
use arcuate::ui::theme;
use arcuate::ui::views::layout;
use egui::{Pos2, Rect, Ui, Vec2, pos2, vec2};
use glam::{dvec2, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "views::pictures of a turn keep the size of the first",
            turn_keeps_its_size,
        ),
        test(
            "views::picture has letters, convention and scale burned in",
            burned_in,
        ),
        test(
            "views::a picture states on which side the patient's left is",
            left_in_pictures,
        ),
        test("views::a picture reports unknown sides", unknown_sides),
        test(
            "views::picture of the 3-D view has its marks",
            scene_picture,
        ),
        test(
            "views::picture too large for the device is an error",
            too_large,
        ),
        test(
            "views::picture on nothing is the one on any ground",
            transparent,
        ),
        test(
            "views::picture drawn a piece at a time is the same to the bit",
            by_pieces,
        ),
        test("views::a snapshot is right of the divider", compared),
        test("views::marks of each half stay in it", halves),
        test(
            "views::missed rays are shown in both halves or in neither",
            missed_in_both,
        ),
        test("views::picture knows its parameters", parameters),
        test(
            "views::picture of several panes has lines between them",
            between_panes,
        ),
    ]
}

pub const SIZE: Vec2 = vec2(360.0, 300.0);

pub fn frame(size: Vec2, pixels_per_point: f32) -> Frame {
    Frame {
        size,
        pixels_per_point,
    }
}

pub struct Studio(pub Option<Renderer>);

impl Studio {
    pub fn new() -> Self {
        Self(Some(
            Offscreen::new()
                .expect("a graphics device (mesa-vulkan-drivers)")
                .renderer,
        ))
    }

    pub fn take(&mut self, state: &State, pane: Pane, scale: f32) -> Picture {
        let picture = snapshot::pane(&mut self.0, state, pane, frame(SIZE, scale), false).unwrap();
        assert!(self.0.is_some(), "the renderer comes back");
        picture
    }
}

/// Pixels of a part of a picture (in points) that satisfy a condition.
fn count(picture: &Picture, scale: f32, part: [f32; 4], is: impl Fn([u8; 4]) -> bool) -> usize {
    let [x0, y0, x1, y1] = part.map(|v| (v * scale) as u32);
    (y0..y1)
        .flat_map(|y| (x0..x1).map(move |x| (x, y)))
        .filter(|&(x, y)| is(picture.pixel(x, y)))
        .count()
}

fn white(p: [u8; 4]) -> bool {
    p[..3].iter().all(|&c| c > 200)
}

fn amber(p: [u8; 4]) -> bool {
    p[0] > 200 && (130..220).contains(&p[1]) && p[2] < 110
}

const TITLE: [f32; 4] = [6.0, 6.0, 130.0, 24.0];
const SECOND: [f32; 4] = [6.0, 25.0, 130.0, 42.0];
const THIRD: [f32; 4] = [6.0, 43.0, 160.0, 60.0];
const LEFT_LETTER: [f32; 4] = [6.0, 138.0, 24.0, 162.0];
const SCALE_BAR: [f32; 4] = [8.0, 284.0, 60.0, 292.0];

/// A black picture behind the marks.
pub fn on_black(mut state: State) -> State {
    let layer = state.document.layers[0].id;
    let mut display = state.document.layers[0].display.clone();
    display.window = (1e6, 2e6);
    let phase = arcuate::state::Phase::Done;
    update(
        &mut state,
        Action::Layer(LayerAction::SetDisplay {
            layer,
            display,
            phase,
        }),
    );
    state
}

fn burned_in() {
    let mut studio = Studio::new();
    let mut state = on_black(state());
    // Although switched off in the window, they are in the picture.
    update(&mut state, Action::View(ViewAction::ToggleLetters));
    for (scale, expected) in [(1.0, [360, 300]), (3.0, [1080, 900])] {
        let picture = studio.take(&state, Pane::Axial, scale);
        assert_eq!(picture.size_px, expected);
        let area = (scale * scale) as usize;
        for part in [TITLE, LEFT_LETTER] {
            let found = count(&picture, scale, part, white);
            assert!(found > 12 * area, "{part:?} at {scale}: {found}");
        }
        let grey = |p: [u8; 4]| p[0] > 120 && p[0].abs_diff(p[2]) < 40;
        assert!(
            count(&picture, scale, SECOND, grey) > 40 * area,
            "radiological"
        );
        assert!(
            count(&picture, scale, SCALE_BAR, white) > 20 * scale as usize,
            "scale bar"
        );
        assert!(picture.rgba.chunks(4).all(|p| p[3] == 255));
    }
    update(
        &mut state,
        Action::View(ViewAction::SetConvention(Convention::Neurological)),
    );
    let picture = studio.take(&state, Pane::Axial, 2.0);
    assert!(
        count(&picture, 2.0, SECOND, amber) > 60,
        "neurological is amber"
    );
    let repeated = studio.take(&state, Pane::Axial, 2.0);
    assert!(picture == repeated, "the same state gives the same picture");
}

/// The image is bright on the patient's left.
fn left_in_pictures() {
    let mut studio = Studio::new();
    let mut state = state();
    let brightness = |picture: &Picture| {
        let half = |x0: f32| count(picture, 1.0, [x0, 180.0, x0 + 20.0, 230.0], |p| p[0] > 128);
        (half(130.0), half(210.0))
    };
    let radiological = brightness(&studio.take(&state, Pane::Axial, 1.0));
    assert!(
        radiological.0 < 100 && radiological.1 > 800,
        "{radiological:?}"
    );
    update(
        &mut state,
        Action::View(ViewAction::SetConvention(Convention::Neurological)),
    );
    let neurological = brightness(&studio.take(&state, Pane::Coronal, 1.0));
    assert!(
        neurological.0 > 800 && neurological.1 < 100,
        "{neurological:?}"
    );
}

fn unknown_sides() {
    let mut studio = Studio::new();
    for pane in Pane::ALL {
        let part = if pane == Pane::Scene { SECOND } else { THIRD };
        let unknown = on_black(state_with(AffineSource::Pixdim));
        let warned = count(&studio.take(&unknown, pane, 2.0), 2.0, part, amber);
        let sure = count(
            &studio.take(&on_black(state()), pane, 2.0),
            2.0,
            part,
            amber,
        );
        assert!(warned > 150 && sure == 0, "{pane:?}: {warned} {sure}");
    }
}

fn scene_picture() {
    let mut studio = Studio::new();
    let mut state = state();
    let centre = state.view.camera.focus + dvec3(0.0, 0.0, 4.0);
    add_sphere(&mut state, Role::Seed, centre, 12.0);
    let picture = studio.take(&state, Pane::Scene, 2.0);
    // The axis marker's three colours at the bottom left.
    for (channel, _) in ["red", "green", "blue"].into_iter().enumerate() {
        let is = |p: [u8; 4]| {
            let others = (0..3)
                .filter(|&c| c != channel)
                .map(|c| p[c])
                .max()
                .unwrap();
            p[channel] > 120 && p[channel] - others.min(p[channel]) > 40
        };
        let found = count(&picture, 2.0, [10.0, 225.0, 90.0, 296.0], is);
        assert!(found > 20, "axis {channel}: {found}");
    }
    let yellow = |p: [u8; 4]| p[0] > 100 && p[1] > 85 && p[2] < 70;
    assert!(
        count(&picture, 2.0, [140.0, 100.0, 220.0, 200.0], yellow) > 300,
        "the seed"
    );
}

/// A transparent picture over any background equals the picture on that background.
fn transparent() {
    let mut studio = Studio::new();
    let mut state = state();
    add_sphere(&mut state, Role::Seed, dvec3(5.0, 2.0, 3.0), 8.0);
    let mut take = |light: bool, transparent: bool| {
        let mut state = state.clone();
        state.view.light_theme = light;
        let size = frame(SIZE, 1.0);
        snapshot::pane(&mut studio.0, &state, Pane::Scene, size, transparent).unwrap()
    };
    for (light, ground) in [(false, 0.0), (true, 255.0)] {
        let (clear, whole) = (take(light, true), take(light, false));
        let (mut nothing, mut solid) = (0, 0);
        for (over, under) in clear.rgba.chunks_exact(4).zip(whole.rgba.chunks_exact(4)) {
            let covers = f64::from(over[3]) / 255.0;
            for c in 0..3 {
                let laid = f64::from(over[c]) * covers + ground * (1.0 - covers);
                // Three colours share one opacity.
                assert!(
                    (laid - f64::from(under[c])).abs() <= 4.0,
                    "{over:?} {under:?}"
                );
            }
            nothing += usize::from(over[3] == 0);
            solid += usize::from(over[3] == 255);
        }
        assert!(nothing > 10_000 && solid > 20, "{nothing} {solid}");
    }
}

fn scene_of(state: &State) -> ScenePane {
    let size = Size {
        points: dvec2(60.0, 60.0),
        pixels_per_point: 1.0,
    };
    scene::scene_from(state, &state.view.camera, size)
}

/// Panes of the window, one of them of the compared snapshot.
const WINDOW: [PaneId; 2] = [PaneId(1), PaneId(203)];

/// Drawn in pieces while the window continues, it equals the picture drawn at once; an abandoned one leaves nothing
/// behind.
fn by_pieces() {
    let mut studio = Studio::new();
    let mut state = state();
    add_sphere(&mut state, Role::Seed, dvec3(5.0, 2.0, 3.0), 8.0);
    let curve = |i: usize| {
        (0..60).map(move |k| {
            let (turn, at) = (i as f32 * 0.7, k as f32 * 0.5);
            [
                at - 15.0,
                12.0 * (turn + at).sin(),
                12.0 * (turn * 1.7 + at).cos(),
            ]
        })
    };
    let kept = Tractogram::new(
        (0..600).flat_map(curve).collect::<Vec<[f32; 3]>>(),
        (0..=600).map(|i| i * 60).collect::<Vec<_>>(),
    );
    let mut outcomes = [0; SeedOutcome::COUNT];
    outcomes[SeedOutcome::Kept as usize] = 600;
    let none = Tractogram::new(Vec::new(), vec![0]);
    add_live(&mut state, output(kept, none, outcomes));
    update(&mut state, Action::Snapshot(SnapshotAction::Take));
    update(
        &mut state,
        Action::Snapshot(SnapshotAction::Compare(Some(0))),
    );
    let size = frame(SIZE, 1.0);
    for (pane, transparent) in [(Pane::Scene, true), (Pane::Axial, false)] {
        let at_once = snapshot::pane(&mut studio.0, &state, pane, size, transparent).unwrap();
        // Every piece counts as slow.
        let renderer = studio.0.as_mut().unwrap();
        renderer.set_patience_ms(0.0);
        let begin = |renderer: &Renderer| {
            Drawing::of_pane(renderer, &state, pane, size, transparent).unwrap()
        };
        let mut drawing = begin(renderer);
        let (mut pieces, mut share) = (0, 0.0);
        let picture = loop {
            if let Some(picture) = drawing.step(&mut studio.0).unwrap() {
                break picture;
            }
            let renderer = studio.0.as_ref().unwrap();
            let now = drawing.share(renderer);
            assert!((share..=1.0).contains(&now), "{share} {now}");
            (pieces, share) = (pieces + 1, now);
            renderer.wait();
        };
        assert!(pieces > 4, "{pieces}");
        assert!(picture == at_once);
        let mut drawing = begin(studio.0.as_ref().unwrap());
        let mut moved = scene_of(&state);
        for _ in 0..3 {
            // Movement in the window in between does not delay it.
            let renderer = studio.0.as_mut().unwrap();
            moved.background[0] ^= 1;
            for id in WINDOW {
                renderer.scene(&moved, id);
            }
            renderer.wait();
            let before = drawing.share(renderer);
            assert!(drawing.step(&mut studio.0).unwrap().is_none());
            let renderer = studio.0.as_ref().unwrap();
            assert!(drawing.share(renderer) > before);
            renderer.wait();
        }
        let renderer = studio.0.as_mut().unwrap();
        WINDOW.into_iter().for_each(|id| renderer.forget(id));
        assert!(renderer.is_busy());
        drawing.release(renderer);
        assert!(!renderer.is_busy());
    }
}

/// The present is left of the divider and the snapshot right of it, each from the present viewpoint.
fn compared() {
    let mut studio = Studio::new();
    let mut state = state();
    update(&mut state, Action::Snapshot(SnapshotAction::Take));
    add_sphere(&mut state, Role::Seed, dvec3(5.0, 2.0, 3.0), 30.0);
    let before = state.runtime.snapshots.all[0].document.clone();
    for pane in [Pane::Scene, Pane::Axial] {
        state.view.camera = state.view.camera.orbited(0.4, 0.1);
        let now = studio.take(&state, pane, 1.0);
        let mut old = state.clone();
        old.document = before.clone();
        let then = studio.take(&old, pane, 1.0);
        update(
            &mut state,
            Action::Snapshot(SnapshotAction::Compare(Some(0))),
        );
        for share in [0.3f32, 0.6] {
            update(
                &mut state,
                Action::Snapshot(SnapshotAction::MoveDivider(share)),
            );
            let both = studio.take(&state, pane, 1.0);
            let [width, height] = both.size_px;
            let divider = (width as f32 * share).round() as u32;
            let mut different = 0;
            let mut moved: Option<[u32; 4]> = None;
            for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                // The divider and, next to it, the names.
                let named = (height - 66..height - 42).contains(&y) && x.abs_diff(divider) < 90;
                if x.abs_diff(divider) <= 2 || named {
                    continue;
                }
                let expected = if x < divider { &now } else { &then };
                if both.pixel(x, y) != expected.pixel(x, y) {
                    let [a, b, c, d] = moved.unwrap_or([x, x, y, y]);
                    moved = Some([a.min(x), b.max(x), c.min(y), d.max(y)]);
                }
                different += usize::from(now.pixel(x, y) != then.pixel(x, y));
            }
            assert!(different > 500, "{different}");
            // The region's name in the 3-D view leaves space for the divider, a line of it and its two places.
            let high = moved.map_or(0, |[_, _, top, bottom]| bottom - top + 1);
            let most = if pane == Pane::Scene { 24 } else { 0 };
            assert!(high <= most, "{pane:?} at {share}: {moved:?}");
        }
        update(
            &mut state,
            Action::Snapshot(SnapshotAction::ToggleComparing),
        );
        assert!(state.runtime.snapshots.comparing.is_none());
    }
}

/// The letter of the upper edge is next to the divider, and each half's colour bar at its own edge.
fn halves() {
    const WIDE: Vec2 = vec2(720.0, 600.0);
    let mut studio = Studio::new();
    let mut state = on_black(state());
    let layer = Arc::make_mut(&mut state.document.layers[0]);
    layer.display.colour_map = ColourMap::Viridis;
    layer.display.opacity = 0.0;
    update(&mut state, Action::Snapshot(SnapshotAction::Take));
    let layer = Arc::make_mut(&mut state.document.layers[0]);
    layer.display.window = (2e6, 3e6);
    update(
        &mut state,
        Action::Snapshot(SnapshotAction::Compare(Some(0))),
    );
    update(
        &mut state,
        Action::Snapshot(SnapshotAction::MoveDivider(0.5)),
    );
    let frame = frame(WIDE, 1.0);
    let picture = snapshot::pane(&mut studio.0, &state, Pane::Axial, frame, false).unwrap();
    let letter = |x: [f32; 2]| count(&picture, 1.0, [x[0], 6.0, x[1], 26.0], white);
    assert!(letter([338.0, 357.0]) > 12, "{}", letter([338.0, 357.0]));
    assert_eq!(letter([363.0, 382.0]), 0, "cut by the divider");
    let coloured = |p: [u8; 4]| p[0].abs_diff(p[1]).max(p[1].abs_diff(p[2])) > 60;
    let bar = |x: [f32; 2]| count(&picture, 1.0, [x[0], 60.0, x[1], 290.0], coloured);
    assert!(bar([10.0, 24.0]) > 200, "left: {}", bar([10.0, 24.0]));
    assert!(bar([696.0, 710.0]) > 200, "right: {}", bar([696.0, 710.0]));
    assert!(bar([300.0, 356.0]) < 20, "next to the divider");
}

fn output(
    kept: Tractogram,
    missed: Tractogram,
    seed_outcomes: [u64; SeedOutcome::COUNT],
) -> curves::Output {
    curves::Output {
        per_target: vec![seed_outcomes[SeedOutcome::Kept as usize]],
        kept,
        missed,
        missed_every: 1,
        seed_outcomes,
        stops: [0; StopReason::COUNT],
        steps: 36_000,
        kernel_s: None,
        starts: None,
        tissue_doubt: None,
    }
}

/// A snapshot of an opened session has no missed rays.
fn missed_in_both() {
    let mut state = state();
    let size = Size {
        points: dvec2(300.0, 300.0),
        pixels_per_point: 1.0,
    };
    // Without a seed there is no live result.
    add_sphere(&mut state, Role::Seed, dvec3(5.0, 2.0, 3.0), 5.0);
    add_sphere(&mut state, Role::Target, dvec3(5.0, 2.0, 3.0), 5.0);
    let curve = |y: f32| Tractogram::new(vec![[0.0, y, 0.0], [9.0, y, 0.0]], vec![0, 2]);
    let mut outcomes = [0; SeedOutcome::COUNT];
    outcomes[SeedOutcome::Kept as usize] = 1;
    outcomes[SeedOutcome::MissedTargets as usize] = 1;
    add_live(&mut state, output(curve(1.0), curve(2.0), outcomes));
    update(&mut state, Action::Snapshot(SnapshotAction::Take));
    update(
        &mut state,
        Action::Snapshot(SnapshotAction::Compare(Some(0))),
    );
    let lines = |state: &State| {
        let seen = state
            .runtime
            .snapshots
            .comparing
            .as_ref()
            .unwrap()
            .with_view_of(state);
        [state, &seen].map(|s| scene::scene(s, size).lines.len())
    };
    assert_eq!(lines(&state), [2, 2]);
    let mut bare = (*state.runtime.snapshots.all[0]).clone();
    bare.live = None;
    state.runtime.snapshots.all[0] = Arc::new(bare);
    update(
        &mut state,
        Action::Snapshot(SnapshotAction::Compare(Some(0))),
    );
    assert_eq!(lines(&state), [1, 0]);
}

fn too_large() {
    let mut studio = Studio::new();
    let huge = snapshot::pane(
        &mut studio.0,
        &state(),
        Pane::Axial,
        frame(vec2(9000.0, 9000.0), 4.0),
        false,
    );
    assert!(huge.is_err());
    studio.take(&state(), Pane::Axial, 1.0);
}

fn parameters() {
    let mut state = state();
    add_sphere(&mut state, Role::Target, dvec3(1.0, 2.0, 3.0), 4.0);
    let chunks = report::picture(&state);
    let chunk = |key: &str| {
        chunks
            .iter()
            .find(|c| c.0 == key)
            .map(|c| c.1.clone())
            .unwrap()
    };
    assert_eq!(
        chunk("Disclaimer"),
        "For research only: not a medical device"
    );
    let report: serde_json::Value = serde_json::from_str(&chunk("Arcuate")).unwrap();
    assert_eq!(report["regions"][0]["role"], "Target");
    assert_eq!(report["regions"][0]["shape"]["radius_mm"], 4.0);
    assert_eq!(report["layers"][0]["name"], "image");
    assert_eq!(report["view"]["convention"], "radiological");
    assert_eq!(
        report["pathways"]["settings"]["epsilon"],
        state.document.pathways.epsilon
    );
    let moved = ViewAction::MoveCrosshair(dvec3(1.0, 2.0, 3.0)).into();
    assert_eq!(report::name(&moved), "View.MoveCrosshair");
}

/// The gaps between panes are lines exact to the pixel, however many pixels a point has; panes keep their pixels.
fn between_panes() {
    let mut studio = Studio::new();
    let mut state = state();
    state.view.light_theme = true;
    let [r, g, b, _] = theme::LIGHT.line.to_array();
    let size = vec2(421.0, 333.0);
    for layout in [Layout::Grid, Layout::SceneFirst] {
        state.view.layout = layout;
        for scale in [1.0, 1.25, 1.5] {
            let add = &mut |ui: &mut Ui, _: &State, views: &mut AddViews| {
                views(ui, &mut Vec::new());
            };
            let picture = snapshot::window(&mut studio.0, &state, size, scale, add).unwrap();
            let area = Rect::from_min_size(Pos2::ZERO, size);
            let panes = layout::panes(layout, Pane::Axial, area, scale);
            let [width, height] = picture.size_px;
            let mut between = 0;
            for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                let at = pos2(x as f32 + 0.5, y as f32 + 0.5) / scale;
                if !panes.iter().any(|p| p.1.contains(at)) {
                    let found = &picture.pixel(x, y)[..3];
                    assert_eq!(found, [r, g, b], "{layout:?} at {scale}: {x}, {y}");
                    between += 1;
                }
            }
            assert!(between > 600, "{between}");
            let scene = panes.iter().find(|p| p.0 == Pane::Scene).unwrap().1;
            let scene = scene.shrink(0.5 / scale);
            for at in [scene.min, scene.right_top(), scene.left_bottom(), scene.max] {
                let at = at * scale;
                let found = picture.pixel(at.x as u32, at.y as u32);
                assert_eq!(found, [255; 4], "{layout:?} at {scale}: {at}");
            }
        }
    }
}

/// Panels that open during a turntable change the view's size on screen; a film of such pictures would be stretched.
fn turn_keeps_its_size() {
    let frame = |width: f32| snapshot::Frame {
        size: vec2(width, 300.0),
        pixels_per_point: 1.5,
    };
    let mut turn = snapshot::TurnSize::default();
    assert_eq!(turn.frame(0, frame(400.0)), frame(400.0));
    assert_eq!(turn.frame(1, frame(250.0)), frame(400.0));
    assert_eq!(turn.frame(119, frame(420.0)), frame(400.0));
    // The next turntable has the size at its own start.
    assert_eq!(turn.frame(0, frame(250.0)), frame(250.0));
    assert_eq!(turn.frame(1, frame(400.0)), frame(250.0));
}
