//! The command palette: typed words find the intended command, and run it as keys do.

use super::{Window, small_scan, tracking, window};
use crate::support::test;
use arcuate::data::Role;
use arcuate::state::{Action, Convention, Effect, Pane, Slab, State, Task, Tool, ViewAction};
use arcuate::ui::palette::{match_score, names};
use egui::{Event, Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::palette::finds the intended command", finds),
        test("ui::palette::does what keys do", does),
        test("ui::palette::keys alone, Esc changes nothing", keys_alone),
        test("ui::palette::finds the words of other programs", elsewhere),
        test("ui::palette::all of it within one frame", one_frame),
        test(
            "ui::palette::letters in the frame of its key are kept",
            same_frame,
        ),
        test(
            "ui::palette::keys go to it from its first frame",
            first_frame,
        ),
    ]
}

fn open(window: &mut Window) {
    window.key_press_modifiers(Modifiers::COMMAND, Key::K);
    window.run();
}

fn enter(window: &mut Window, text: &str) {
    open(window);
    window.event(egui::Event::Text(text.to_owned()));
    window.run();
    window.key_press(Key::Enter);
    window.run();
}

fn finds() {
    assert!(match_score("Export what is shown…", "xprt").is_some());
    assert_eq!(match_score("Export what is shown…", "exz"), None);
    assert_eq!(match_score("Crosshair", "crosshairs"), None);
    assert!(match_score("Save the session", "sts") > match_score("Crosshair lists", "sts"));
    assert!(match_score("Crosshair", "cross") > match_score("Copy regions of some size", "cross"));
    let state = tracking();
    let first = |typed: &str| names(&state, typed).first().cloned().unwrap_or_default();
    for (typed, name) in [
        ("seed", "Place: seed"),
        ("methods", "Copy methods paragraph"),
        ("html", "Save a report of the session…"),
        ("brush", "Draw: brush"),
        ("front", "3-D from the front"),
        ("cor slice", "Draw streamlines near the coronal slice only"),
        ("SCREENSHOT", "Save a screenshot, turntable or film…"),
        ("guide", "Start the guide"),
        ("path", "Enter a path"),
        ("distance", "Measure: distance"),
        ("density live", "Map the density of the live result"),
        ("quit", "Quit"),
        // Names in other programs.
        ("flood", "Draw: fill"),
        ("ruler", "Measure: distance"),
        ("lightbox", "Layout: mosaic of slices"),
        ("bvec", "Compare the axes of the gradients"),
        ("tdi", "Map the density of the live result"),
    ] {
        assert_eq!(first(typed), name, "{typed}: {:?}", names(&state, typed));
    }
    assert!(names(&state, "qqq").is_empty());
    // Commands come before pages of the guide that match as well.
    for typed in ["track", "filter", "segment", "regions"] {
        let all = names(&state, typed);
        let page = all.iter().position(|name| name.starts_with("Help: "));
        assert!(page.is_some_and(|page| page > 0), "{typed}: {all:?}");
    }
    // Commands for regions: for the selected one, and for several.
    let mut several = super::regions::with_regions(tracking(), 3);
    let ids: Vec<_> = several.document.regions.iter().map(|r| r.id).collect();
    several.runtime.regions.selected = Some(ids[0]);
    let name = several.document.regions[0].name.clone();
    for (typed, expected) in [
        ("erode", format!("Grow, smooth, combine region {name}")),
        ("union", format!("Grow, smooth, combine region {name}")),
        ("delete region", format!("Delete region {name}")),
        ("as mask…", format!("Export region {name} as mask…")),
        ("as label", "Export all regions as label map…".to_owned()),
        ("as masks", "Export all regions as masks…".to_owned()),
        ("hide all", "Hide all regions".to_owned()),
    ] {
        let found = names(&several, typed);
        assert_eq!(found.first(), Some(&expected), "{typed}: {found:?}");
    }
    // None is selected: the panel asks the user to click one. Without regions there is none to click.
    several.runtime.regions.selected = None;
    let found = names(&several, "erode");
    assert_eq!(
        found.first().map(String::as_str),
        Some("Grow, smooth, combine a region")
    );
    several.document.regions.clear();
    let found = names(&several, "erode");
    assert!(!found.iter().any(|n| n.starts_with("Grow")), "{found:?}");
    // Commands that have nothing to act on are not offered.
    let (empty, _) = super::sample::with_recent(State::new(String::new()));
    let offered = names(&empty, "");
    let about = [
        "Open ",
        "Enter a path",
        "Light or dark",
        "Keys",
        "Help: ",
        "Settings",
        "Quit",
    ];
    for name in &offered {
        assert!(about.iter().any(|a| name.starts_with(a)), "{name}");
    }
    for recent in &empty.runtime.files.recent {
        let name = recent.path.file_name().expect("a file").to_string_lossy();
        assert!(offered.iter().any(|n| n.ends_with(&*name)), "{name}");
    }
    let all = names(&state, "");
    let mut once = all.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), all.len(), "each name is unique");
}

/// Words that a neuroscientist types who knows other programs: each finds what does it here, in any case and order.
fn elsewhere() {
    let state = tracking();
    for (typed, name) in [
        ("add clip", "Clip 3-D: "),
        ("clip add", "Clip 3-D: "),
        ("clipping plane", "Clip 3-D: "),
        ("cutaway", "Clip 3-D: "),
        ("mip", "Show largest values in 3-D: "),
        ("MinIP", "Show smallest values in 3-D: "),
        ("isosurface", "Show as surface in 3-D: "),
        ("volume rendering", "Show as cloud in 3-D: "),
        ("dark mode", "Light or dark theme"),
        ("load", "Open a file…"),
        ("fiber tracking", "Task: Track"),
        ("tumor", "Task: Segment"),
        ("glass brain", "Head outline"),
        ("fullscreen", "Side panels"),
        ("anterior", "3-D from the front"),
        ("lateral", "3-D from the side"),
        ("dorsal", "3-D from above"),
        ("exit", "Quit"),
        ("dicom", "Help: "),
        ("acpc", "Slices: align to AC–PC"),
        ("movie", "Save a screenshot, turntable or film…"),
        ("westin", "Map of tensors: "),
        ("parcellation", "Regions from a label map"),
        ("binarize", "Region from a threshold"),
        ("heat map", "Map the density of the live result"),
        ("project", "Save the session"),
        ("vectors", "Glyphs"),
        ("preferences", "Settings…"),
        ("shortcuts", "Keys and mouse"),
    ] {
        let found = names(&state, typed);
        let first = found.first().map_or("", |first| first.as_str());
        assert!(first.starts_with(name), "{typed}: {found:?}");
    }
}

fn does() {
    let mut window = window(tracking(), [1280.0, 800.0]);
    // The command of the menu of regions.
    enter(&mut window, "label map");
    let labels = window.state().state.runtime.regions.labels.as_ref();
    assert!(labels.is_some(), "{:?}", window.state().state.view.tool);
    enter(&mut window, "threshold");
    let making = window.state().state.runtime.regions.making.as_ref();
    assert!(making.is_some(), "{:?}", window.state().state.view.tool);
    window.key_press(Key::Escape);
    window.run();
    enter(&mut window, "place target");
    let role = Role::Target;
    assert_eq!(
        window.state().state.view.tool,
        Tool::NewRegion { role, cube: false }
    );
    enter(&mut window, "radiological");
    assert_eq!(
        window.state().state.view.convention,
        Convention::Neurological
    );
    enter(&mut window, "near the sagittal");
    let slab = window.state().state.view.slab;
    let thickness_mm = Slab::DEFAULT_MM;
    assert_eq!(
        slab,
        Some(Slab {
            pane: Pane::Sagittal,
            thickness_mm
        })
    );
    enter(&mut window, "methods");
    let copied = window.state().effects.iter().any(
        |e| matches!(e, Effect::CopyText(text) if text.contains("Streamlines along the principal")),
    );
    assert!(copied);
}

fn keys_alone() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    open(&mut window);
    let before = window.state().actions.len();
    // Letters are letters: S places no seed.
    window.event(egui::Event::Text("s".to_owned()));
    window.key_press(Key::S);
    window.run();
    window.key_press(Key::Escape);
    window.run();
    assert_eq!(
        window.state().actions.len(),
        before,
        "{:?}",
        window.state().actions
    );
    assert_eq!(window.state().state.view.tool, Tool::Crosshair);
    // The second from the top.
    open(&mut window);
    window.event(egui::Event::Text("crosshair".to_owned()));
    window.run();
    window.key_press(Key::ArrowDown);
    window.key_press(Key::ArrowUp);
    window.run();
    window.key_press(Key::Enter);
    window.run();
    let last = window.state().actions.last();
    assert!(
        matches!(last, Some(Action::View(ViewAction::ToggleCrosshair))),
        "{last:?}"
    );
}

/// One slow frame contains Ctrl+K, a word and Enter.
fn one_frame() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    let dark = window.state().state.view.light_theme;
    for before in [true, false] {
        window.key_press_modifiers(Modifiers::COMMAND, Key::K);
        if !before {
            window.run();
        }
        for letter in "light or dark".chars() {
            let name = letter.to_string();
            if let Some(key) = Key::from_name(&name) {
                window.key_press(key);
            }
            window.event(egui::Event::Text(name));
        }
        window.key_press(Key::Enter);
        window.run();
        let last = window.state().actions.last();
        assert!(
            matches!(last, Some(Action::View(ViewAction::ToggleTheme))),
            "{last:?}"
        );
    }
    assert_eq!(window.state().state.view.light_theme, dark, "twice");
    assert_eq!(window.state().state.view.tool, Tool::Crosshair);
}

/// Runs one frame with these events.
fn frame(window: &mut Window, events: Vec<Event>) {
    window.input_mut().events.extend(events);
    window.step();
}

fn pressed(key: Key, modifiers: Modifiers) -> Event {
    Event::Key {
        key,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers,
    }
}

/// The presses and letters of a word, and Enter.
fn typed(word: &str) -> Vec<Event> {
    let mut events = Vec::new();
    for letter in word.chars() {
        let name = letter.to_string();
        let key = Key::from_name(&name).unwrap_or(Key::Space);
        events.extend([pressed(key, Modifiers::NONE), Event::Text(name)]);
    }
    events.push(pressed(Key::Enter, Modifiers::NONE));
    events
}

/// One slow frame contains Ctrl+K, a word and Enter while a field has the keyboard: the palette receives all of it, and
/// the field none.
fn same_frame() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    super::click(&mut window, "Segment");
    let field = window.get_by_role_and_label(egui::Role::TextInput, "Target T");
    field.focus();
    window.run();
    let before = window.state().actions.len();
    let mut events = vec![pressed(Key::K, Modifiers::COMMAND)];
    events.extend(typed("light or dark"));
    frame(&mut window, events);
    window.run();
    let done = &window.state().actions[before..];
    assert!(
        matches!(done, [Action::View(ViewAction::ToggleTheme)]),
        "{done:?}"
    );
    assert!(!window.state().state.document.segment.settings.target_chosen);
    assert_eq!(window.state().state.view.tool, Tool::Crosshair);
}

/// A word and Enter arrive in one frame after Ctrl+K while a field or a button has the focus.
fn first_frame() {
    for (role, name) in [
        (egui::Role::TextInput, "Target T"),
        (egui::Role::Button, "Layouts"),
    ] {
        let mut window = window(small_scan(), [1280.0, 800.0]);
        super::click(&mut window, "Segment");
        let widget = window.get_by_role_and_label(role, name);
        widget.focus();
        window.run();
        let before = window.state().actions.len();
        frame(&mut window, vec![pressed(Key::K, Modifiers::COMMAND)]);
        frame(&mut window, typed("light or dark"));
        // The next key goes to the window.
        frame(&mut window, vec![pressed(Key::Num2, Modifiers::COMMAND)]);
        window.run();
        let done = &window.state().actions[before..];
        assert!(
            matches!(
                done,
                [
                    Action::View(ViewAction::ToggleTheme),
                    Action::View(ViewAction::SelectTask(Task::Track))
                ]
            ),
            "{name}: {done:?}"
        );
        assert!(!window.state().state.document.segment.settings.target_chosen);
        assert_eq!(window.state().state.view.tool, Tool::Crosshair);
    }
}
