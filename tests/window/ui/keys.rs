//! Keys act as in the shortcut sheet, and do nothing while the user types.

use super::{Window, click, segment, small_scan, submitted, tracking, window};
use crate::support::test;
use arcuate::data::{Role, Shape};
use arcuate::solvers::level_set::Ended;
use arcuate::state::segment::jobs::{RunControl, RunRequest};
use arcuate::state::{Action, Convention, LayerAction, Layout, Pane, Task, Tool, update};
use egui::{Key, Modifiers};
use egui_kittest::kittest::{By, NodeT as _, Queryable as _};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::the sheet of keys shows all of its text", sheet),
        test("ui::keys::tools and switches", tools),
        test("ui::keys::panes and tasks", panes),
        test("ui::keys::a seed without a mouse", without_mouse),
        test("ui::keys::F6 goes from part to part", parts),
        test(
            "ui::keys::Tab goes through the top bar from left to right",
            top_bar,
        ),
        test("ui::keys::a key that stays down", repeated),
        test("ui::keys::the selection", selection),
        test("ui::keys::the last layer comes back", last_layer),
        test("ui::keys::Esc does the first that applies", escape),
        test("ui::keys::Esc acts at once after a command", after_command),
        test("ui::keys::letters are letters in a field", typing),
        test("ui::keys::a button with the focus leaves letters", button),
        test("ui::keys::a drawn button leaves letters", drawn_button),
        test(
            "ui::a value typed in one frame is not a key",
            typed_in_one_frame,
        ),
        test("ui::Esc closes a list, then cancels", two_escapes),
        test("ui::keys::T starts no run in Segment", with_a_surface),
    ]
}

fn press(window: &mut Window, key: Key) {
    window.key_press(key);
    window.run();
}

fn command(window: &mut Window, modifiers: Modifiers, key: Key) {
    window.key_press_modifiers(Modifiers::COMMAND | modifiers, key);
    window.run();
}

/// A key that stays down sends further presses, which would put the tool away again.
fn repeated() {
    let mut window = segment::segmenting();
    let press = egui::Event::Key {
        key: Key::A,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers: Modifiers::NONE,
    };
    for _ in 0..4 {
        window.event(press.clone());
        window.run();
        assert_eq!(window.state().state.view.tool, Tool::Sphere { add: true });
    }
    // Steps of the crosshair repeat.
    let mut step = press;
    if let egui::Event::Key { key, .. } = &mut step {
        *key = Key::ArrowUp;
    }
    let mut at = window.state().state.view.crosshair;
    for _ in 0..3 {
        window.event(step.clone());
        window.run();
        let now = window.state().state.view.crosshair;
        assert_ne!(now, at);
        at = now;
    }
}

fn tools() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    let keys = [
        (Key::S, Role::Seed),
        (Key::T, Role::Target),
        (Key::I, Role::Include),
        (Key::X, Role::Exclude),
        (Key::E, Role::Terminate),
    ];
    for (key, role) in keys {
        press(&mut window, key);
        assert_eq!(
            window.state().state.view.tool,
            Tool::NewRegion { role, cube: false }
        );
    }
    press(&mut window, Key::R);
    press(&mut window, Key::F);
    press(&mut window, Key::O);
    let view = &window.state().state.view;
    assert_eq!(view.convention, Convention::Neurological);
    assert!(!view.visible.crosshair && !view.visible.letters);
}

fn without_mouse() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    let before = window.state().state.view.crosshair;
    for key in [Key::ArrowLeft, Key::ArrowLeft, Key::ArrowUp, Key::PageDown] {
        press(&mut window, key);
    }
    let here = window.state().state.view.crosshair;
    let moved = here - before;
    assert!(moved.x > 0.0 && moved.y > 0.0 && moved.z < 0.0, "{moved}");
    press(&mut window, Key::S);
    press(&mut window, Key::Enter);
    let regions = &window.state().state.document.regions;
    let [region] = &regions[..] else {
        panic!("one seed")
    };
    assert_eq!(region.role, Role::Seed);
    assert!(region.shape.centre().distance(here) < 1e-6);
}

fn parts() {
    let mut window = window(tracking(), [1280.0, 800.0]);
    let focused = |window: &Window| {
        let node = window.query_all(By::new().predicate(|n| n.is_focused()));
        let names: Vec<String> = node.filter_map(|n| n.accesskit_node().label()).collect();
        names.join(", ")
    };
    let mut way = Vec::new();
    for _ in 0..5 {
        press(&mut window, Key::F6);
        way.push(focused(&window));
    }
    // The test's window has no views.
    let parts = [
        "Top bar",
        "Lists at the left",
        "Task at the right",
        "Status bar",
    ];
    let start = parts.iter().position(|p| *p == way[0]);
    let start = start.unwrap_or_else(|| panic!("{way:?}"));
    let expected: Vec<&str> = (0..5).map(|i| parts[(start + i) % 4]).collect();
    assert_eq!(way, expected);
    window.key_press_modifiers(Modifiers::SHIFT, Key::F6);
    window.run();
    assert_eq!(focused(&window), way[3]);
    // Tab moves into a part, and F6 from there to the next.
    press(&mut window, Key::F6);
    press(&mut window, Key::Tab);
    let inside = focused(&window);
    assert!(!inside.is_empty() && !parts.contains(&&*inside), "{inside}");
    press(&mut window, Key::F6);
    assert_eq!(focused(&window), parts[(start + 5) % 4]);
}

fn top_bar() {
    let mut window = window(tracking(), [1280.0, 800.0]);
    // Something to undo.
    press(&mut window, Key::Plus);
    let focused = |window: &Window| {
        let node = window.query(By::new().predicate(|n| n.is_focused()));
        node.map(|n| (n.accesskit_node().label().unwrap_or_default(), n.rect()))
    };
    press(&mut window, Key::F6);
    while focused(&window).is_none_or(|(name, _)| name != "Top bar") {
        press(&mut window, Key::F6);
    }
    let mut names = Vec::new();
    let mut left = f32::NEG_INFINITY;
    loop {
        press(&mut window, Key::Tab);
        let (name, place) = focused(&window).expect("focus");
        assert!(place.left() > left, "{name} after {names:?}");
        left = place.left();
        names.push(name);
        if names.last().is_some_and(|name| name == "Help") {
            break;
        }
    }
    let tasks = Task::ALL.map(Task::name);
    let position = |name: &str| names.iter().position(|n| n == name);
    assert!(
        tasks.iter().all(|task| position(task).is_some()),
        "{names:?}"
    );
    assert!(position("Undo") < position("Screenshot"), "{names:?}");
}

fn panes() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    press(&mut window, Key::Num4);
    let view = &window.state().state.view;
    assert_eq!((view.layout, view.single), (Layout::Single, Pane::Scene));
    press(&mut window, Key::Num4);
    assert_eq!(window.state().state.view.layout, Layout::Grid);
    command(&mut window, Modifiers::NONE, Key::Num2);
    assert_eq!(window.state().state.view.task, Task::Track);
    let with = window.state().views;
    command(&mut window, Modifiers::NONE, Key::Backslash);
    assert!(
        window.state().views.width() > with.width() + 300.0,
        "side panels hide"
    );
    window.key_press_modifiers(Modifiers::ALT, Key::Num7);
    window.run();
    let from_above = window.state().state.view.camera.forward();
    assert!(from_above.z < -0.99, "{from_above}");
}

fn selection() {
    let mut window = window(tracking(), [1280.0, 800.0]);
    let radius = |window: &Window| match *window.state().state.document.regions[0].shape {
        Shape::Sphere { radius_mm, .. } => radius_mm,
        _ => unreachable!(),
    };
    press(&mut window, Key::Plus);
    assert_eq!(radius(&window), 6.5);
    press(&mut window, Key::Minus);
    press(&mut window, Key::Minus);
    assert_eq!(radius(&window), 5.5);
    press(&mut window, Key::H);
    assert!(!window.state().state.document.regions[0].visible);
    press(&mut window, Key::Delete);
    assert_eq!(window.state().state.document.regions.len(), 2);
    command(&mut window, Modifiers::NONE, Key::Z);
    assert_eq!(window.state().state.document.regions.len(), 3);
    command(&mut window, Modifiers::SHIFT, Key::Z);
    assert_eq!(window.state().state.document.regions.len(), 2);
    // Nothing was segmented: the clipboard has none of it.
    command(&mut window, Modifiers::NONE, Key::Num4);
    command(&mut window, Modifiers::SHIFT, Key::C);
    let status = &window.state().state.runtime.notices.status;
    assert!(status.contains("no command was copied"), "{status}");
}

fn last_layer() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    let layers = |window: &Window| window.state().state.document.layers.len();
    let before = layers(&window);
    for _ in 0..before {
        let last = window.state().state.document.layers[0].id;
        let app = window.state_mut();
        app.effects.extend(update(
            &mut app.state,
            Action::Layer(LayerAction::Delete(last)),
        ));
        window.run();
    }
    assert!(window.state().state.document.is_empty());
    for _ in 0..before {
        command(&mut window, Modifiers::NONE, Key::Z);
    }
    assert_eq!(layers(&window), before);
    for _ in 0..before {
        command(&mut window, Modifiers::NONE, Key::Y);
    }
    assert_eq!(layers(&window), 0);
}

fn escape() {
    let mut window = window(tracking(), [1280.0, 800.0]);
    click(&mut window, "Layers");
    press(&mut window, Key::S);
    press(&mut window, Key::Questionmark);
    window.get_by_label("S: Place a seed");
    press(&mut window, Key::Escape);
    assert!(window.query_by_label("S: Place a seed").is_none());
    window.get_by_label("Layer FA");
    press(&mut window, Key::Escape);
    assert!(window.query_by_label("Layer FA").is_none());
    assert!(matches!(
        window.state().state.view.tool,
        Tool::NewRegion { .. }
    ));
    press(&mut window, Key::Escape);
    assert_eq!(window.state().state.view.tool, Tool::Crosshair);
    assert!(window.state().state.runtime.regions.selected.is_some());
    press(&mut window, Key::Escape);
    assert!(window.state().state.runtime.regions.selected.is_none());
}

/// The field of commands has gone with its focus, so nothing is left that Esc would free.
fn after_command() {
    let mut window = window(tracking(), [1280.0, 800.0]);
    click(&mut window, "Layers");
    window.get_by_label("Layer FA");
    command(&mut window, Modifiers::NONE, Key::K);
    window.event(egui::Event::Text("crosshair".to_owned()));
    window.run();
    press(&mut window, Key::Enter);
    window.get_by_label("Layer FA");
    press(&mut window, Key::Escape);
    assert!(window.query_by_label("Layer FA").is_none());
}

/// Keys pressed in one slow frame, in the given order.
fn at_once(window: &mut Window, keys: &[Key]) {
    for &key in keys {
        let text = key.symbol_or_name();
        let typed = (text.len() == 1).then(|| egui::Event::Text(text.to_owned()));
        let pressed = [true, false].map(|pressed| egui::Event::Key {
            key,
            physical_key: None,
            pressed,
            repeat: false,
            modifiers: Modifiers::NONE,
        });
        window.input_mut().events.extend(pressed);
        window.input_mut().events.extend(typed);
    }
    window.step();
    window.run();
}

/// A value and its Enter in one frame: the focus is lost before keys are handled.
fn typed_in_one_frame() {
    let mut window = window(tracking(), [1280.0, 800.0]);
    window
        .get_by_role_and_label(egui::Role::TextInput, "Step")
        .click();
    window.run();
    let layout = window.state().state.view.layout;
    at_once(&mut window, &[Key::Num2, Key::Enter]);
    assert_eq!(window.state().state.document.track.streamlines.step_mm, 2.0);
    assert_eq!(
        window.state().state.view.layout,
        layout,
        "2 enlarges a view"
    );
    at_once(&mut window, &[Key::Num2]);
    assert_ne!(
        window.state().state.view.layout,
        layout,
        "and does so again"
    );
}

/// The first Esc closes a list, the second acts further up: also in one frame.
fn two_escapes() {
    for slow in [false, true] {
        let mut window = window(tracking(), [1280.0, 800.0]);
        press(&mut window, Key::S);
        click(&mut window, "Add an input region");
        window.get_by_label("Open a mask file…");
        if slow {
            at_once(&mut window, &[Key::Escape, Key::Escape]);
        } else {
            press(&mut window, Key::Escape);
            assert!(window.query_by_label("Open a mask file…").is_none());
            assert!(matches!(
                window.state().state.view.tool,
                Tool::NewRegion { .. }
            ));
            press(&mut window, Key::Escape);
        }
        assert!(window.query_by_label("Open a mask file…").is_none());
        assert_eq!(window.state().state.view.tool, Tool::Crosshair);
    }
}

fn typing() {
    let mut window = window(tracking(), [1280.0, 800.0]);
    window
        .get_by_role_and_label(egui::Role::TextInput, "Step")
        .click();
    window.run();
    press(&mut window, Key::S);
    press(&mut window, Key::Delete);
    assert_eq!(window.state().state.view.tool, Tool::Crosshair);
    assert_eq!(window.state().state.document.regions.len(), 3);
}

/// At the smallest common size none of its text is cut, with any mouse setting.
fn sheet() {
    use arcuate::state::Mouse;
    use arcuate::ui::theme::{self, size};
    use egui_kittest::kittest::NodeT as _;
    /// Width of the column of keys.
    const KEYS: f32 = 134.0;
    // The second is 1280 × 800 at 150 %: fewer columns, and the bottom is within reach.
    let sizes = [[1280.0_f32, 800.0], [853.0, 533.0]];
    for (mouse, size @ [wide, high]) in Mouse::ALL.into_iter().flat_map(|m| sizes.map(|s| (m, s))) {
        let mut state = small_scan();
        state.runtime.settings.mouse = mouse;
        let mut window = window(state, size);
        window.key_press(Key::Questionmark);
        window.run();
        window.get_by_label("Ctrl + Shift + S: Save the session as…");
        window.get_by_label("Space: Press the focused control");
        let painter = window.ctx.debug_painter();
        let width = |text: &str, font| {
            let galley = painter.layout_no_wrap(text.to_owned(), font, egui::Color32::WHITE);
            galley.size().x
        };
        let rows = window.query_all_by_role(egui::Role::Label);
        let mut found = 0;
        for row in rows {
            let node = row.accesskit_node();
            let label = node.label().or(node.value()).unwrap_or_default();
            let Some((key, what)) = label.split_once(": ") else {
                continue;
            };
            let place = row.rect();
            let within = place.left() > 90.0 && place.right() < wide - 90.0;
            if (place.height() - 22.0).abs() > 0.5 || !within {
                continue;
            }
            found += 1;
            let (space, keys) = (place.width() - KEYS, KEYS - 8.0);
            assert!(width(what, theme::regular(size::LABEL)) <= space, "{label}");
            assert!(width(key, theme::medium(size::LABEL)) <= keys, "{label}");
        }
        assert!(found > 40, "{found} rows");
        for button in ["Close", "Start the guide"] {
            // Other widgets with that name are elsewhere in the window.
            for node in window.query_all_by_label(button) {
                let place = node.rect();
                assert!(place.top() > 0.0 && place.bottom() < high, "{button}");
            }
        }
    }
}

/// Tab has reached a button: the space bar is its own, letters are not.
fn button() {
    let mut window = window(tracking(), [1280.0, 800.0]);
    // Something to undo.
    press(&mut window, Key::Plus);
    window
        .get_by_role_and_label(egui::Role::Button, "Undo")
        .focus();
    window.run();
    let focused = |window: &Window| {
        window
            .get_by_role_and_label(egui::Role::Button, "Undo")
            .accesskit_node()
            .is_focused()
    };
    assert!(focused(&window));
    press(&mut window, Key::T);
    let target = Tool::NewRegion {
        role: Role::Target,
        cube: false,
    };
    assert_eq!(window.state().state.view.tool, target);
    assert!(focused(&window), "the button keeps the focus");
    press(&mut window, Key::Delete);
    assert_eq!(window.state().state.document.regions.len(), 3);
}

/// Custom-drawn buttons in the top bar and the status bar leave letters to the shortcuts, as all others do.
fn drawn_button() {
    let state = tracking();
    let names = [
        "File".to_owned(),
        format!(
            "Orientation: {}",
            state.view.convention.name().to_lowercase()
        ),
        format!("Backend: {}", state.runtime.device.backend.label),
    ];
    for name in names {
        let mut window = window(state.clone(), [1280.0, 800.0]);
        window
            .get_by_role_and_label(egui::Role::Button, &name)
            .focus();
        window.run();
        press(&mut window, Key::S);
        let seed = Tool::NewRegion {
            role: Role::Seed,
            cube: false,
        };
        assert_eq!(window.state().state.view.tool, seed, "{name}");
    }
}

/// T takes the tool that places a target region, whether the surface is paused or at rest. A typed target T moves a
/// surface at rest on, and leaves a paused one where it is.
fn with_a_surface() {
    let mut window = segment::segmenting();
    segment::field(&mut window, "Target T", "0.5");
    segment::place(&mut window);
    segment::answer(&mut window);
    let places_a_target = |window: &mut Window| {
        let requests = |window: &Window| submitted::<RunRequest>(window).len();
        let before = requests(window);
        press(window, Key::T);
        let role = match window.state().state.view.tool {
            Tool::NewRegion { role, .. } => Some(role),
            _ => None,
        };
        assert_eq!(role, Some(Role::Target));
        press(window, Key::Escape);
        assert_eq!(window.state().state.view.tool, Tool::Crosshair);
        assert_eq!(requests(window), before);
    };
    let play = |window: &Window| {
        submitted::<RunRequest>(window)
            .last()
            .expect("requested")
            .play
    };
    places_a_target(&mut window);
    segment::field(&mut window, "Target T", "0.52");
    assert_eq!(play(&window), RunControl::Rest);
    press(&mut window, Key::Space);
    let task_runtime = &mut window.state_mut().state.runtime.segment;
    let mut live = (**task_runtime.live.as_ref().expect("a surface")).clone();
    live.ended = Ended::Converged;
    (task_runtime.live, task_runtime.running) = (Some(Arc::new(live)), false);
    places_a_target(&mut window);
    segment::field(&mut window, "Target T", "0.54");
    assert_eq!(play(&window), RunControl::Run);
}
