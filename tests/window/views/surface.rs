//! The surface of the task Segment in the views: leaks, rewinding, objects that can no longer be moved.

use crate::support::{lines, test};
use crate::ui::segment::leaked;
use arcuate::data::Role;
use arcuate::solvers::level_set::Sphere;
use arcuate::state::core::display;
use arcuate::state::core::display::LineColouring;
use arcuate::state::core::layer::OriginId;
use arcuate::state::{
    Action, Content, Display, Layer, LayerId, Layout, Pane, SegmentAction, State, Tool,
};
use arcuate::ui::theme;
use arcuate::ui::views::{Views, layout};
use egui::{Pos2, Rect, Shape, pos2, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::{Arc, Mutex};

pub fn tests() -> Vec<Trial> {
    vec![
        test("views::the view offers to undo a leak", way_back),
        test("views::the button that undoes a leak covers nothing", clear),
        test("views::a leak is marked where it is", marked),
        test("views::the text of a tool covers no button", uncovered),
        test("views::all colour bars find room", bars),
        test(
            "views::a keep-out sphere gives the reason why it stays",
            fixed,
        ),
    ]
}

const SIZE: egui::Vec2 = vec2(1000.0, 800.0);

fn way_back() {
    let mut state = leaked().state;
    let leak = state.runtime.segment.live.as_ref().and_then(|l| l.leak);
    let from = leak.expect("a leak").leak.rewind_step;
    // In the 3-D view, otherwise in the first one.
    for (layout, single, pane) in [
        (Layout::Grid, Pane::Axial, Pane::Scene),
        (Layout::Single, Pane::Scene, Pane::Scene),
        (Layout::Single, Pane::Coronal, Pane::Coronal),
    ] {
        (state.view.layout, state.view.single) = (layout, single);
        let area = Rect::from_min_size(pos2(0.0, 0.0), SIZE);
        let panes = layout::panes(layout, single, area, 1.0);
        let (_, place) = panes.into_iter().find(|p| p.0 == pane).expect("a pane");
        let taken: Arc<Mutex<Vec<Action>>> = Arc::default();
        let (mut views, actions, shown) = (Views::default(), taken.clone(), state.clone());
        let mut window = Harness::builder()
            .with_size(SIZE)
            .with_context_setup(theme::install)
            .build_ui(move |ui| {
                let mut new = Vec::new();
                views.show(ui, &shown, &mut new);
                actions.lock().unwrap().extend(new);
            });
        window.run_steps(3);
        let back = window.get_by_label("Undo the leak");
        let rect = back.rect();
        assert!(place.contains_rect(rect), "{pane:?} {place:?} {rect:?}");
        back.click();
        window.run_steps(3);
        let back = taken.lock().unwrap().iter().find_map(|a| match a {
            Action::Segment(SegmentAction::Rewind(step)) => Some(*step),
            _ => None,
        });
        assert_eq!(back, Some(from), "{pane:?}");
    }
}

/// The legend of streamlines and the buttons at the right do not overlap the button.
fn clear() {
    let mut state = leaked().state;
    let id = LayerId(state.document.fresh_id());
    let display = Display {
        visible: true,
        ..display::line_display()
    };
    let beam = [vec![DVec3::X * -30.0, DVec3::X * 30.0]];
    let content = Content::Tractogram(lines(&beam));
    let layer = Layer::new(id, "Beam".to_owned(), content, display, OriginId::default());
    state.document.layers.push(Arc::new(layer));
    let area = Rect::from_min_size(pos2(0.0, 0.0), SIZE);
    let panes = layout::panes(state.view.layout, state.view.single, area, 1.0);
    let scene = panes.into_iter().find(|p| p.0 == Pane::Scene);
    let (_, scene) = scene.expect("a 3-D view");
    for pointer in [None, Some(scene.center())] {
        let shapes = painted(&state, pointer);
        let texts = shapes.iter().filter_map(|shape| match shape {
            Shape::Text(text) => Some((text.galley.text(), text.visual_bounding_rect())),
            _ => None,
        });
        let texts: Vec<_> = texts.collect();
        let own = texts.iter().find(|(shown, _)| *shown == "Undo the leak");
        let button = own.expect("the button").1.expand2(vec2(10.0, 6.0));
        // The key is drawn with its outline, once for each side.
        let mut legend = texts.iter().filter(|(shown, _)| *shown == "R–L");
        assert!(
            legend.any(|(_, rect)| scene.contains_rect(*rect)),
            "{pointer:?}"
        );
        for (shown, rect) in &texts {
            let own = *shown == "Undo the leak";
            assert!(
                own || !button.intersects(*rect),
                "{shown} {rect:?} {button:?}"
            );
        }
    }
}

/// With the pointer on the button that undoes a leak, the text of the tool leaves the buttons below free.
fn uncovered() {
    let mut state = leaked().state;
    let area = Rect::from_min_size(pos2(0.0, 0.0), SIZE);
    let panes = layout::panes(state.view.layout, state.view.single, area, 1.0);
    let scene = panes.into_iter().find(|p| p.0 == Pane::Scene);
    let (_, scene) = scene.expect("a 3-D view");
    let text_of = |state: &State, pointer, hint: &str| {
        let shapes = painted(state, Some(pointer)).into_iter();
        let mut texts = shapes.filter_map(|shape| match shape {
            Shape::Text(text) if text.galley.text() == hint => Some(text.visual_bounding_rect()),
            _ => None,
        });
        texts.find(|rect| scene.contains_rect(*rect))
    };
    let back = text_of(&state, scene.center(), "Undo the leak").expect("the button");
    let sphere = |add| Tool::Sphere { add };
    let seed = Tool::NewRegion {
        role: Role::Seed,
        cube: false,
    };
    for (tool, hint) in [
        (sphere(true), "Add · A ends"),
        (sphere(false), "Keep out · D ends"),
        (seed, Role::Seed.name()),
    ] {
        state.view.tool = tool;
        let shown = state.clone();
        let mut views = Views::default();
        let mut window = Harness::builder()
            .with_size(SIZE)
            .with_context_setup(theme::install)
            .build_ui(move |ui| views.show(ui, &shown, &mut Vec::new()));
        window.hover_at(back.center());
        window.run_steps(3);
        let buttons = ["Layers of 3-D", "Maximise 3-D", "Undo the leak"];
        let buttons = buttons.map(|name| window.get_by_label(name).rect());
        let text = text_of(&state, back.center(), hint).expect(hint);
        let plate = text.expand2(vec2(6.0, 2.0));
        for button in buttons {
            let is_free = !plate.intersects(button.shrink(1.0));
            assert!(is_free, "{hint}: {plate:?} {button:?}");
        }
    }
}

/// In a window of 1280 × 800 the 3-D view shows each colour bar next to the key of directions, and slices show the bar
/// of the streamlines on them.
fn bars() {
    let mut state = super::sample::state();
    let mut add = |name: &str, window, line_colouring| {
        let beam = [vec![DVec3::X * -30.0, DVec3::X * 30.0]];
        let lines = lines(&beam).with_per_streamline("measure", vec![1.5]);
        let display = Display {
            visible: true,
            line_colouring,
            window,
            ..display::line_display()
        };
        super::sample::add_layer(&mut state, name, Content::Tractogram(lines), display);
    };
    add("Beam", (0.0, 1.0), LineColouring::Direction);
    add("Kept", (1.0, 2.0), LineColouring::Measure);
    add("Kept 2", (1.0, 4.0), LineColouring::Measure);
    state.view.layout = Layout::Grid;
    let size = vec2(924.0, 688.0);
    let area = Rect::from_min_size(pos2(0.0, 0.0), size);
    let panes = layout::panes(state.view.layout, state.view.single, area, 1.0);
    let shapes = painted_in(size, &state, None);
    let texts = shapes.iter().filter_map(|shape| match shape {
        Shape::Text(text) => Some((text.galley.text(), text.visual_bounding_rect())),
        _ => None,
    });
    let texts: Vec<_> = texts.collect();
    for (pane, place) in panes {
        let requested: &[&str] = match pane {
            Pane::Scene => &["R–L", "Kept · CM", "Kept 2 · CM"],
            // One slice has the key of all three.
            Pane::Axial => &["Kept · CM"],
            _ => &[],
        };
        for name in requested {
            let is_in_place =
                |(sentence, rect): &(&str, Rect)| sentence == name && place.contains_rect(*rect);
            assert!(
                texts.iter().any(is_in_place),
                "{name} in {pane:?}: {texts:?}"
            );
        }
    }
}

pub fn painted(state: &State, pointer: Option<Pos2>) -> Vec<Shape> {
    painted_in(SIZE, state, pointer)
}

/// Shapes painted in the second frame, with the pointer there.
fn painted_in(size: egui::Vec2, state: &State, pointer: Option<Pos2>) -> Vec<Shape> {
    let context = egui::Context::default();
    theme::install(&context);
    let mut views = Views::default();
    let mut shapes = Vec::new();
    for _ in 0..3 {
        let input = egui::RawInput {
            screen_rect: Some(Rect::from_min_size(pos2(0.0, 0.0), size)),
            events: pointer.map(egui::Event::PointerMoved).into_iter().collect(),
            ..egui::RawInput::default()
        };
        let output = context.run_ui(input, |ui| views.show(ui, state, &mut Vec::new()));
        shapes = output.shapes.iter().map(|s| s.shape.clone()).collect();
        output.drop_without_applying_deltas();
    }
    shapes
}

fn marked() {
    let mut state = leaked().state;
    let leak = state.runtime.segment.live.as_ref().and_then(|l| l.leak);
    let at = leak.and_then(|l| l.at).expect("a place");
    state.view.layout = Layout::Grid;
    let amber = egui::Color32::from_rgb(0xF5, 0xA6, 0x23);
    let rings = |state: &State| {
        let shapes = painted(state, None).into_iter();
        let ring = |s: &Shape| matches!(s, Shape::Circle(c) if c.stroke.color == amber);
        shapes.filter(ring).count()
    };
    state.view.crosshair = at;
    assert_eq!(rings(&state), 4, "three slices and 3-D");
    // Slices far from it do not show it.
    state.view.crosshair = at + DVec3::splat(20.0);
    assert_eq!(rings(&state), 1, "3-D");
}

fn fixed() {
    let mut window = leaked();
    let leak = window
        .state
        .runtime
        .segment
        .live
        .as_ref()
        .and_then(|l| l.leak);
    let from = leak.expect("a leak").leak.rewind_step;
    window.act(Action::Segment(SegmentAction::Rewind(from)));
    let sphere = Sphere {
        add: false,
        centre: DVec3::new(9.0, 0.0, 0.0),
        radius_mm: 4.0,
    };
    window.act(Action::Segment(SegmentAction::Sphere(sphere)));
    window.state.view.crosshair = sphere.centre;
    window.state.view.layout = Layout::Grid;
    let sentence = |state: &State| {
        let area = Rect::from_min_size(pos2(0.0, 0.0), SIZE);
        let panes = layout::panes(Layout::Grid, Pane::Axial, area, 1.0);
        let (_, rect) = panes.into_iter().find(|p| p.0 == Pane::Axial).expect("it");
        let size = glam::DVec2::new(f64::from(rect.width()), f64::from(rect.height()));
        let plane = state.plane(Pane::Axial, size).expect("a plane");
        let at = plane.position(sphere.centre);
        let at = rect.min + vec2(at.x as f32, at.y as f32);
        let shapes = painted(state, Some(at)).into_iter();
        let texts = shapes.filter_map(|s| match s {
            Shape::Text(text) => Some(text.galley.text().to_owned()),
            _ => None,
        });
        texts.filter(|t| t.starts_with("Fixed ·")).count()
    };
    assert_eq!(sentence(&window.state), 0, "it can be moved");
    window.act(Action::Segment(SegmentAction::Step));
    assert_eq!(sentence(&window.state), 1);
}
