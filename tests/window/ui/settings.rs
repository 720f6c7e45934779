//! Settings, the question whom to open, and how six volumes hold tensors.

use super::{Window, click, small_scan, window};
use crate::shapes::texts;
use crate::support::test;
use arcuate::io::bids;
use arcuate::state::{Action, Convention, Effect, FilesAction, Mouse, State, Tool};
use egui::{Key, Modifiers, Rect};
use egui_kittest::kittest::Queryable as _;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::settings are set by keys and clicks", settings),
        test("ui::one of several subjects is chosen", visits),
        test("ui::help turns pages, searches and closes", help),
        test("ui::help follows a link of any section", links),
        test("ui::help sets lists, links and keys in lines", lines),
        test("ui::help has its place again in a larger window", place),
    ]
}

fn press(window: &mut Window, modifiers: Modifiers, key: Key) {
    window.key_press_modifiers(modifiers, key);
    window.run();
}

fn help() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    press(&mut window, Modifiers::NONE, Key::F1);
    window.get_by_label("Close Help");
    // Pages are selected from the list, which scrolls to the last ones, and by their links.
    window.get_by_label("Limits").scroll_to_me();
    window.run();
    click(&mut window, "Limits");
    assert!(window.query_by_label_contains("resolve crossing").is_some());
    let page = window.get_by_role_and_label(egui::Role::ListItem, "Track");
    page.scroll_to_me();
    window.run();
    let page = window.get_by_role_and_label(egui::Role::ListItem, "Track");
    page.click();
    window.run();
    assert!(window.query_by_label_contains("wild bootstrap").is_some());
    // A search opens the section.
    click(&mut window, "Search in Help");
    window.event(egui::Event::Text("leak alarm".to_owned()));
    window.run();
    click(&mut window, "Segment: Leaks");
    assert!(
        window
            .query_by_label_contains("leak alarm pauses")
            .is_some()
    );
    // Letters of the search select no tools; Esc leaves the field, then closes Help.
    assert_eq!(window.state().state.view.tool, Tool::Crosshair);
    press(&mut window, Modifiers::NONE, Key::Escape);
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(window.query_by_label("Close Help").is_none());
    // The palette opens a page by its title.
    press(&mut window, Modifiers::COMMAND, Key::K);
    window.event(egui::Event::Text("help formats".to_owned()));
    window.run();
    press(&mut window, Modifiers::NONE, Key::Enter);
    window.get_by_label("Close Help");
    assert!(window.query_by_label_contains("moves no point").is_some());
}

/// Letters of headings are higher than this, those of other text lower.
const LARGE: f32 = 14.0;

fn painted(window: &Window) -> Vec<(String, Rect)> {
    texts(&window.output().shapes)
}

fn is_on(window: &Window, page: &str) -> bool {
    let heading = |(text, rect): &(String, Rect)| text == page && rect.height() > LARGE;
    painted(window).iter().any(heading)
}

fn links() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    press(&mut window, Modifiers::NONE, Key::F1);
    // None of them is in the last section of the page.
    for (link, page) in [
        ("Track", "Track"),
        ("Formats", "Formats"),
        ("Sessions", "Sessions"),
    ] {
        let first = window.get_by_role_and_label(egui::Role::ListItem, "First steps");
        first.click();
        window.run();
        assert!(is_on(&window, "First steps"), "{:?}", painted(&window));
        // The link may have to be scrolled into view.
        let link = window.get_by_role_and_label(egui::Role::Link, link);
        link.click_accesskit();
        window.run();
        assert!(is_on(&window, page), "{page}: {:?}", painted(&window));
    }
}

struct Word {
    text: String,
    baseline: f32,
}

/// The text of the page alone, and the centres of its bullets.
fn page(window: &Window, heading: &str) -> (Vec<Word>, Vec<f32>) {
    let is = |(text, rect): &&(String, Rect)| text == heading && rect.height() > LARGE;
    let all = painted(window);
    let (_, heading) = all.iter().find(is).expect("the heading");
    let (mut sentence, mut bullets) = (Vec::new(), Vec::new());
    for clipped in &window.output().shapes {
        if !clipped.clip_rect.contains(heading.center()) {
            continue;
        }
        match &clipped.shape {
            egui::Shape::Circle(circle) if circle.radius < 4.0 => bullets.push(circle.center.y),
            // The list of pages is left of the page.
            egui::Shape::Text(shape) if shape.pos.x >= heading.left() - 1.0 => {
                for row in &shape.galley.rows {
                    let text: String = row.row.glyphs.iter().map(|g| g.chr).collect();
                    let Some(first) = row.row.glyphs.first().filter(|_| !text.trim().is_empty())
                    else {
                        continue;
                    };
                    let baseline = shape.pos.y + row.pos.y + first.pos.y;
                    sentence.push(Word { text, baseline });
                }
            }
            _ => {}
        }
    }
    (sentence, bullets)
}

/// Help with the hit of a search, in its own window.
fn help_at(search: &str, hit: &str) -> Window {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    press(&mut window, Modifiers::NONE, Key::F1);
    click(&mut window, "Search in Help");
    window.event(egui::Event::Text(search.to_owned()));
    window.run();
    click(&mut window, hit);
    window
}

fn line(fragments: &[Word], text: &str) -> f32 {
    let found = fragments.iter().find(|w| w.text.contains(text));
    found.unwrap_or_else(|| panic!("{text}")).baseline
}

fn lines() {
    let window = help_at("writes TCK", "First steps: Keep and export");
    let (fragments, _) = page(&window, "Keep and export");
    // A link and a key are on the line of the surrounding text.
    assert!((line(&fragments, "writes TCK, TRK") - line(&fragments, "Formats")).abs() < 0.6);
    let window = help_at("finds every command", "First steps: Find anything");
    let (fragments, bullets) = page(&window, "Find anything");
    let finds = line(&fragments, "finds every command");
    let key = fragments.iter().find(|w| w.text.trim() == "K");
    assert!((finds - key.expect("the key").baseline).abs() < 0.6);
    // So is the beginning of an item: its bullet is centred on its letters.
    let on_line = |y: &f32| (finds - y - 4.9).abs() < 1.0;
    assert!(bullets.iter().any(on_line), "{finds} {bullets:?}");
    // All lines of an item have the same spacing.
    let item = line(&fragments, "opens the settings");
    let below = fragments.iter().map(|w| w.baseline - item);
    let next = below.filter(|y| *y > 1.0).fold(f32::INFINITY, f32::min);
    assert!((next - 16.0).abs() < 0.6, "{next}");
}

fn place() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    press(&mut window, Modifiers::NONE, Key::F1);
    let close = |window: &Window| window.get_by_label("Close Help").rect();
    let search = |window: &Window| window.get_by_label("Search in Help").rect();
    let before = (close(&window), search(&window));
    window.set_size(egui::vec2(700.0, 420.0));
    window.run();
    let inside = Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(700.0, 420.0));
    assert!(inside.contains_rect(close(&window)), "{:?}", close(&window));
    window.set_size(egui::vec2(1280.0, 800.0));
    window.run();
    assert_eq!((close(&window), search(&window)), before);
}

fn settings() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    press(&mut window, Modifiers::COMMAND, Key::Comma);
    window.get_by_label("Close settings");
    click(&mut window, "Mouse buttons like: Slicer");
    assert_eq!(window.state().state.runtime.settings.mouse, Mouse::Slicer);
    click(&mut window, "Left and right: Neurological");
    let state = &window.state().state;
    assert_eq!(state.runtime.settings.convention, Convention::Neurological);
    assert_eq!(state.view.convention, Convention::Neurological);
    assert!(
        window
            .state()
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Store))
    );
    // Keys act on the sheet as long as it is open.
    press(&mut window, Modifiers::NONE, Key::R);
    assert_eq!(
        window.state().state.view.convention,
        Convention::Neurological
    );
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(window.query_by_label("Close settings").is_none());
    press(&mut window, Modifiers::NONE, Key::R);
    assert_eq!(
        window.state().state.view.convention,
        Convention::Radiological
    );
    // The sheet of keys lists the mouse's functions.
    press(&mut window, Modifiers::SHIFT, Key::Questionmark);
    window.get_by_label("Right-drag: Zoom; Ctrl: window, level");
    press(&mut window, Modifiers::NONE, Key::Escape);
    // Keys change the same setting.
    window.ctx.set_zoom_factor(1.25);
    window.run();
    assert_eq!(window.state().state.runtime.settings.zoom, Some(1.25));
}

fn visits() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["sub-01", "sub-02"] {
        let dwi = folder.path().join(name).join("dwi");
        std::fs::create_dir_all(&dwi).expect("a folder");
        std::fs::write(dwi.join(format!("{name}_dwi.nii.gz")), b"x").expect("written");
    }
    let requested = || {
        let mut state = State::new(String::new());
        let found = bids::find(folder.path()).expect("a data set");
        state.runtime.files.folder = Some(Arc::new(found));
        window(state, [1280.0, 800.0])
    };
    let chosen = |a: &Action| matches!(a, Action::Files(FilesAction::OpenVisit(Some(1))));
    let mut clicked = requested();
    click(&mut clicked, "sub-02: diffusion scan");
    assert!(clicked.state().actions.iter().any(chosen));
    assert!(clicked.state().state.runtime.files.folder.is_none());

    let mut typed = requested();
    // There is none below the second.
    for key in [Key::ArrowDown, Key::ArrowDown, Key::Enter] {
        assert!(typed.state().state.runtime.files.folder.is_some());
        typed.key_press(key);
        typed.run();
    }
    assert!(typed.state().actions.iter().any(chosen));
}
