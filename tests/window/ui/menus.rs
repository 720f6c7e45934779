//! Drop-down fields by keys: after a click, and after Tab.

use super::filter::{state_with_weights, weighing};
use super::segment::leaked;
use super::{Window, click, pathways, rays, small_scan, tracking, window};
use crate::support::test;
use arcuate::scene::draw_list::Interpolation;
use arcuate::state::core::display::LineColouring;
use arcuate::state::filter::jobs::FitWeights;
use arcuate::state::runtime::TourStep;
use arcuate::state::{State, Task, Tool};
use arcuate::ui::theme;
use egui::epaint::Shape;
use egui::{Key, Modifiers, Pos2};
use egui_kittest::kittest::{By, NodeT as _, Queryable as _};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::menus::colours that lack their values", colours),
        test("ui::menus::arrows and Enter choose", arrows),
        test("ui::menus::from the keyboard alone", by_keyboard),
        test("ui::menus::by Tab, a drop-down and a menu", by_tab),
        test(
            "ui::menus::controls that Tab reaches are visible",
            tab_scrolls,
        ),
        test("ui::menus::over a slice the arrows are its own", over_slice),
        test("ui::menus::a menu at a row", at_a_row),
        test("ui::menus::as wide as the longest row", wide),
        test("ui::menus::every drop-down keeps its keys", every),
        test("ui::menus::a ring means that it has the space bar", space),
        test(
            "ui::menus::a menu that hung over a view leaves its field the keys",
            over_edge,
        ),
        test("ui::menus::the row of the keys is the plainest", plainest),
    ]
}

fn press(window: &mut Window, key: Key) {
    window.key_press(key);
    window.run();
}

fn focused(window: &Window) -> String {
    let node = window.query_all(By::new().predicate(|n| n.is_focused()));
    let names: Vec<String> = node.filter_map(|n| n.accesskit_node().label()).collect();
    names.join(", ")
}

fn smoothing(window: &Window) -> Interpolation {
    let document = &window.state().state.document;
    let layer = document.layers.iter().rev().find(|l| l.display.visible);
    layer.expect("an image").display.interpolation
}

fn open(window: &Window) -> bool {
    let rows = window.query_all_by_role(egui::accesskit::Role::MenuItem);
    rows.count() > 0
}

fn arrows() {
    let mut window = window(small_scan(), [1920.0, 1080.0]);
    let crosshair = window.state().state.view.crosshair;
    let before = smoothing(&window);
    let row = |window: &Window| {
        let field = window.get_by_role_and_label(egui::Role::ComboBox, "Smoothing");
        field.rect().center()
    };
    let at = row(&window);
    super::click_with(&mut window, at, egui::Modifiers::NONE);
    assert!(open(&window));
    // Beginning with the present choice, wrapping at the ends.
    let now = focused(&window);
    let mut names = vec![now.clone()];
    for _ in 0..3 {
        press(&mut window, Key::ArrowDown);
        names.push(focused(&window));
    }
    names.dedup();
    assert!(names.len() >= 3, "{names:?}");
    press(&mut window, Key::Home);
    let first = focused(&window);
    press(&mut window, Key::ArrowUp);
    let last = focused(&window);
    assert_ne!(first, last);
    press(&mut window, Key::End);
    assert_eq!(focused(&window), last);
    let requested = if now == last { &first } else { &last };
    if now == last {
        press(&mut window, Key::Home);
    }
    assert_eq!(focused(&window), *requested);
    press(&mut window, Key::Enter);
    assert!(!open(&window));
    assert_ne!(smoothing(&window), before);
    // The crosshair did not move and no tool was selected.
    let view = &window.state().state.view;
    assert_eq!((view.crosshair, view.tool), (crosshair, Tool::Crosshair));
    // The widget used last keeps the arrows; Esc returns them to the crosshair.
    press(&mut window, Key::ArrowLeft);
    assert_eq!(window.state().state.view.crosshair, crosshair);
    press(&mut window, Key::Escape);
    press(&mut window, Key::ArrowLeft);
    assert_ne!(window.state().state.view.crosshair, crosshair);
    // Esc chooses nothing.
    let chosen = smoothing(&window);
    super::click_with(&mut window, at, egui::Modifiers::NONE);
    press(&mut window, Key::ArrowDown);
    press(&mut window, Key::Escape);
    assert!(!open(&window));
    assert_eq!(smoothing(&window), chosen);
}

/// Opened by the mouse, chosen by keys or the mouse: once the pointer is over a slice the arrows move the crosshair.
fn over_slice() {
    for by_key in [true, false] {
        let mut window = window(small_scan(), [1920.0, 1080.0]);
        let field = window.get_by_role_and_label(egui::Role::ComboBox, "Smoothing");
        let at = field.rect().center();
        super::click_with(&mut window, at, Modifiers::NONE);
        assert!(open(&window));
        let slice = window.state().views.center();
        if by_key {
            window.hover_at(slice);
            press(&mut window, Key::ArrowDown);
            press(&mut window, Key::Enter);
        } else {
            let row = first_row(&window);
            super::click_with(&mut window, row, Modifiers::NONE);
            assert_eq!(focused(&window), "Smoothing");
            window.hover_at(slice);
            window.run();
        }
        assert!(!open(&window), "by key: {by_key}");
        for key in [Key::ArrowLeft, Key::ArrowUp] {
            let before = window.state().state.view.crosshair;
            press(&mut window, key);
            assert!(!open(&window), "by key: {by_key}, {key:?}");
            let after = window.state().state.view.crosshair;
            assert_ne!(after, before, "by key: {by_key}, {key:?}");
        }
        assert_eq!(focused(&window), "");
    }
}

fn by_keyboard() {
    let mut window = window(small_scan(), [1920.0, 1080.0]);
    let before = smoothing(&window);
    window
        .get_by_role_and_label(egui::Role::ComboBox, "Smoothing")
        .focus();
    window.run();
    press(&mut window, Key::ArrowDown);
    assert!(open(&window));
    press(&mut window, Key::ArrowDown);
    press(&mut window, Key::Space);
    assert!(!open(&window));
    assert_ne!(smoothing(&window), before);
    assert_eq!(focused(&window), "Smoothing", "the focus is where it was");
    press(&mut window, Key::Enter);
    assert!(open(&window));
    press(&mut window, Key::Escape);
    assert!(!open(&window));
    assert_eq!(focused(&window), "Smoothing");
}

/// Tab until this has the focus.
fn tab_to(window: &mut Window, name: &str) {
    for _ in 0..200 {
        if focused(window) == name {
            return;
        }
        press(window, Key::Tab);
    }
    panic!("Tab does not reach {name}");
}

/// Tab reaches them, Enter and the space bar open them, arrows move in them, Esc closes them: the crosshair stays.
fn by_tab() {
    let mut window = window(small_scan(), [1920.0, 1080.0]);
    let was = |window: &Window| {
        let view = &window.state().state.view;
        (view.crosshair, view.tool)
    };
    let (before, chosen) = (was(&window), smoothing(&window));
    for name in ["File", "Smoothing"] {
        tab_to(&mut window, name);
        for opens in [Key::Enter, Key::Space] {
            press(&mut window, opens);
            assert!(open(&window), "{name}: {opens:?}");
            let first = focused(&window);
            assert!(!first.is_empty() && first != name, "{name}: {first}");
            press(&mut window, Key::ArrowDown);
            assert_ne!(focused(&window), first, "{name}");
            press(&mut window, Key::Escape);
            assert!(!open(&window), "{name}: {opens:?}");
            assert_eq!(focused(&window), name);
        }
    }
    assert_eq!(smoothing(&window), chosen, "Esc chooses nothing");
    press(&mut window, Key::Space);
    press(&mut window, Key::ArrowDown);
    press(&mut window, Key::Enter);
    assert!(!open(&window));
    assert_ne!(smoothing(&window), chosen);
    assert_eq!(focused(&window), "Smoothing");
    assert_eq!(was(&window), before);
}

/// A drop-down below the visible rows becomes visible with the focus.
fn tab_scrolls() {
    let mut state = leaked().state;
    state.runtime.tour = Some(TourStep::FitWeights);
    let size = [1280.0, 700.0];
    let mut window = window(state, size);
    let bottom = |window: &Window, name: &str| {
        let field = window.get_by_role_and_label(egui::Role::ComboBox, name);
        field.rect().bottom()
    };
    let foot = size[1] - 28.0 - 50.0;
    assert!(bottom(&window, "Reference") > foot);
    tab_to(&mut window, "Reference");
    assert!(bottom(&window, "Reference") <= foot);
}

/// No row is cut while the window has space; none is wider than the window.
fn wide() {
    let mut state = small_scan();
    state.view.task = Task::Segment;
    let layer = (*state.document.layers[0]).clone();
    let long = "Share of free water (ISO) · Streamlines of the whole brain";
    let longer = [long; 12].join(", ");
    for (i, name) in [long, &longer].into_iter().enumerate() {
        state
            .document
            .layers
            .push(std::sync::Arc::new(arcuate::state::Layer {
                id: arcuate::state::LayerId(900 + i as u64),
                name: name.to_owned(),
                ..layer.clone()
            }));
    }
    for (least, most, count) in [(300.0, 500.0, 1), (900.0, 1280.0, 2)] {
        let mut shown = state.clone();
        shown.document.layers.truncate(layers(&state) - 2 + count);
        let mut window = window(shown, [1280.0, 800.0]);
        let field = window.get_by_role_and_label(egui::Role::ComboBox, "Image");
        let at = field.rect().center();
        super::click_with(&mut window, at, Modifiers::NONE);
        let row = window.get_by_role_and_label(egui::accesskit::Role::MenuItem, long);
        let rect = row.rect();
        assert!((least..most).contains(&rect.width()), "{count}: {rect:?}");
        assert!(
            rect.left() >= 0.0 && rect.right() <= 1280.0,
            "{count}: {rect:?}"
        );
    }
}

fn layers(state: &State) -> usize {
    state.document.layers.len()
}

fn at_a_row() {
    let mut window = window(small_scan(), [1920.0, 1080.0]);
    let crosshair = window.state().state.view.crosshair;
    click(&mut window, "Add a layer");
    assert!(open(&window));
    // Nothing is highlighted there yet: a mouse highlights no row.
    assert_eq!(focused(&window), "");
    press(&mut window, Key::ArrowDown);
    let first = focused(&window);
    press(&mut window, Key::ArrowDown);
    assert!(!first.is_empty() && focused(&window) != first);
    assert_eq!(window.state().state.view.crosshair, crosshair);
}

/// The centres of all drop-downs on screen, with their names.
fn fields(window: &Window) -> Vec<(String, Pos2)> {
    let all = window.query_all_by_role(egui::Role::ComboBox);
    let named = all.filter_map(|n| Some((n.accesskit_node().label()?, n.rect().center())));
    let mut found: Vec<_> = named.collect();
    // In a narrow window the tasks are a menu of commands.
    found.retain(|(name, _)| name != "Tasks");
    found
}

/// The first selectable row of a menu.
fn first_row(window: &Window) -> Pos2 {
    let rows = window.query_all_by_role(egui::accesskit::Role::MenuItem);
    let mut rows = rows.filter(|n| !n.accesskit_node().is_disabled());
    rows.next().expect("a row").rect().center()
}

/// Opened by the mouse and by keys, with a choice and without: no arrow, no Enter reaches the crosshair.
fn every() {
    let in_task = |mut state: State, task: Task| {
        state.view.task = task;
        // Enter would place a region.
        state.view.tool = Tool::NewRegion {
            role: arcuate::data::Role::Include,
            cube: false,
        };
        state
    };
    let states = [
        in_task(small_scan(), Task::View),
        in_task(tracking(), Task::Track),
        in_task(rays::traced(), Task::Track),
        in_task(pathways::solved(), Task::Pathways),
        in_task(small_scan(), Task::Segment),
        in_task(weighing(Task::Filter), Task::Filter),
        in_task(state_with_weights(), Task::Filter),
    ];
    let mut tried = Vec::new();
    for state in states {
        let task = state.view.task;
        let mut window = window(state, [1920.0, 1700.0]);
        let was = |window: &Window| {
            let state = &window.state().state;
            (state.view.crosshair, state.document.regions.len())
        };
        let before = was(&window);
        for name in fields(&window).into_iter().map(|f| f.0) {
            let field = |window: &Window| {
                let all = fields(window);
                all.into_iter().find(|(n, _)| *n == name).map(|(_, at)| at)
            };
            for by_mouse in [true, false] {
                let Some(at) = field(&window) else {
                    // Another choice has removed it.
                    continue;
                };
                match by_mouse {
                    true => super::click_with(&mut window, at, Modifiers::NONE),
                    false => {
                        let all = window.query_all_by_role_and_label(egui::Role::ComboBox, &name);
                        all.last().expect("found").focus();
                        window.run();
                        press(&mut window, Key::ArrowDown);
                    }
                }
                let what = format!("{name} in {task:?}, by mouse: {by_mouse}");
                assert!(open(&window), "{what}");
                press(&mut window, Key::ArrowDown);
                press(&mut window, Key::ArrowUp);
                match by_mouse {
                    true => {
                        let row = first_row(&window);
                        super::click_with(&mut window, row, Modifiers::NONE);
                    }
                    false => press(&mut window, Key::Enter),
                }
                assert!(!open(&window), "{what}: chosen");
                // A choice may open a file dialog, or remove the field.
                let focused_again = field(&window).is_some() && focused(&window) == name;
                tried.push((what.clone(), focused_again));
                if focused_again {
                    for key in [Key::ArrowDown, Key::ArrowUp, Key::Enter] {
                        press(&mut window, key);
                        assert!(open(&window), "{what}: {key:?} opens it again");
                        press(&mut window, Key::Escape);
                        assert!(!open(&window), "{what}: closed");
                    }
                    press(&mut window, Key::ArrowLeft);
                }
                assert_eq!(was(&window), before, "{what}");
                press(&mut window, Key::Escape);
            }
        }
    }
    let lost: Vec<_> = tried
        .iter()
        .filter(|(_, focused_again)| !focused_again)
        .collect();
    assert!(
        tried.len() >= 30 && lost.len() * 5 < tried.len(),
        "{lost:?}"
    );
}

fn space() {
    let mut window = window(weighing(Task::Filter), [1920.0, 1080.0]);
    let fibres = window.get_by_role_and_label(egui::Role::ComboBox, "Intra-axonal");
    let at = fibres.rect().center();
    super::click_with(&mut window, at, Modifiers::NONE);
    let row = first_row(&window);
    super::click_with(&mut window, row, Modifiers::NONE);
    assert_eq!(focused(&window), "Intra-axonal");
    let fits = |window: &Window| super::submitted::<FitWeights>(window).len();
    press(&mut window, Key::Space);
    assert!(open(&window));
    press(&mut window, Key::Space);
    assert!(!open(&window));
    assert_eq!(
        (focused(&window).as_str(), fits(&window)),
        ("Intra-axonal", 0)
    );
    press(&mut window, Key::Escape);
    assert_eq!(focused(&window), "");
    window.key_press(Key::Space);
    window.run_steps(3);
    assert!(!open(&window));
    assert_eq!(fits(&window), 1);
}

/// The pointer rests on a part of the menu that lies over a view. When the menu has closed, it is over the view without
/// having moved there: the field still shows the ring, so no key reaches the window.
fn over_edge() {
    const FIELD: &str = "Role of Capsule L";
    let mut window = window(tracking(), [1280.0, 800.0]);
    click(&mut window, "Regions");
    let field = window.get_by_role_and_label(egui::Role::ComboBox, FIELD);
    let at = field.rect().center();
    super::click_with(&mut window, at, Modifiers::NONE);
    let rows = window.query_all_by_role(egui::accesskit::Role::MenuItem);
    let row = rows.last().expect("a row").rect();
    let edge = window.state().views.left();
    assert!(row.right() > edge + 2.0, "{row:?} {edge}");
    let over = Pos2::new(0.5 * (edge + row.right()), row.center().y);
    window.hover_at(over);
    window.run();
    press(&mut window, Key::Home);
    press(&mut window, Key::Enter);
    assert!(!open(&window));
    assert_eq!(focused(&window), FIELD);
    let was = |window: &Window| {
        let view = &window.state().state.view;
        (view.crosshair, view.tool)
    };
    let before = was(&window);
    for key in [Key::ArrowDown, Key::Space, Key::Enter] {
        press(&mut window, key);
        assert!(open(&window), "{key:?}");
        press(&mut window, Key::Escape);
        assert!(!open(&window) && focused(&window) == FIELD, "{key:?}");
    }
    for key in [Key::ArrowLeft, Key::PageDown, Key::T] {
        press(&mut window, key);
        assert_eq!(was(&window), before, "{key:?}");
    }
    // Esc frees the keyboard, and only then acts on the window.
    let list = |window: &Window| {
        let heads = window.query_by_role_and_label(egui::Role::Heading, "Regions");
        heads.is_some()
    };
    press(&mut window, Key::Escape);
    assert!(focused(&window).is_empty() && list(&window));
    press(&mut window, Key::T);
    assert_ne!(was(&window), before);
    press(&mut window, Key::Escape);
    assert!(!list(&window));
}

/// Only the row that Enter chooses has a rim, regardless of the current choice and of the row under the pointer.
fn plainest() {
    for light in [false, true] {
        let mut state = small_scan();
        state.view.light_theme = light;
        let mut window = window(state, [1920.0, 1080.0]);
        let field = window.get_by_role_and_label(egui::Role::ComboBox, "Smoothing");
        let at = field.rect().center();
        super::click_with(&mut window, at, Modifiers::NONE);
        let current = focused(&window);
        press(&mut window, Key::ArrowDown);
        let by_keys = focused(&window);
        assert_ne!(by_keys, current);
        let row = window.get_by_role_and_label(egui::accesskit::Role::MenuItem, &current);
        let hovered = row.rect().center();
        window.hover_at(hovered);
        window.run();
        assert_eq!(focused(&window), by_keys);
        let p = if light { &theme::LIGHT } else { &theme::DARK };
        let shapes = &window.output().shapes;
        let rims = shapes.iter().filter_map(|s| match &s.shape {
            Shape::Rect(r) if r.stroke.color == p.accent => Some(r.rect),
            _ => None,
        });
        let rims: Vec<egui::Rect> = rims.collect();
        let rows = window.query_all_by_role(egui::accesskit::Role::MenuItem);
        for row in rows {
            let name = row.accesskit_node().label().unwrap_or_default();
            let has_rim = rims.iter().any(|rim| rim.contains(row.rect().center()));
            assert_eq!(has_rim, name == by_keys, "{name}, light: {light}");
        }
    }
}

/// Colours whose values a layer lacks cannot be chosen, and are not shown as chosen: it is drawn by direction.
fn colours() {
    let mut state = super::space::near_beams();
    state.view.task = Task::View;
    let layer = state.document.layer_named("Beams").expect("streamlines").id;
    state.runtime.selected_layer = Some(layer);
    state.document.edit_layer(layer, |layer| {
        layer.display.line_colouring = LineColouring::Fa;
    });
    for has_fit in [true, false] {
        let mut state = state.clone();
        if !has_fit {
            state.document.tensors = None;
        }
        let mut window = window(state, [1920.0, 1080.0]);
        let field = window.get_by_role_and_label(egui::Role::ComboBox, "Colour by");
        let shown = field.accesskit_node().value();
        let expected = if has_fit { "FA" } else { "Direction" };
        assert_eq!(shown.as_deref(), Some(expected));
        let at = field.rect().center();
        super::click_with(&mut window, at, Modifiers::NONE);
        let is_disabled = |name: &str| {
            let row = window.get_by_role_and_label(egui::accesskit::Role::MenuItem, name);
            row.accesskit_node().is_disabled()
        };
        assert_eq!(is_disabled("FA"), !has_fit);
        assert!(is_disabled("Stop reason") && !is_disabled("Length"));
    }
}
