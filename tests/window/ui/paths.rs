//! Paths typed where the desktop has no file dialog.

use super::{
    App, Window, click, count_submitted, sample, small_scan, submitted, tracking, type_over, window,
};
use crate::support::{test, wait_for};
use arcuate::jobs::{Delivery, Event, Outcome};
use arcuate::state::files::jobs::CHECK_PATH;
use arcuate::state::files::jobs::SaveTractogram;
use arcuate::state::files::jobs::open::OpenFile;
use arcuate::state::{Action, Effect, PathCheck, State, update};
use arcuate::ui;
use egui::Rect;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::a typed path is opened", opened),
        test("ui::a mistyped path can be corrected", mistyped),
        test(
            "ui::Enter in the frame of the path is for the path",
            at_once,
        ),
        test("ui::Tab completes a path", completed),
        test(
            "ui::a slow disk holds up no typing, and no answer saves",
            slow,
        ),
        test("ui::typing replaces what Export suggests", suggested),
        test(
            "ui::reports and protocols have the session's name",
            as_session,
        ),
        test("ui::the exported layer is named and fits the panel", named),
    ]
}

impl eframe::App for App {
    fn ui(&mut self, ui: &mut egui::Ui, _: &mut eframe::Frame) {
        let mut place = Rect::NOTHING;
        let state = &self.state;
        let actions = ui::show(ui, state, &mut self.memory, &mut |ui, _| {
            place = ui.max_rect()
        });
        self.views = place;
        for action in actions {
            self.actions.push(action.clone());
            self.effects.extend(update(&mut self.state, action));
        }
        self.answer_paths(self.disk_answers);
    }
}

impl App {
    /// A worker's answers to queries about paths.
    pub(super) fn answer_paths(&mut self, now: bool) {
        if !now {
            return;
        }
        let is_check = |e: &mut Effect| e.job::<PathCheck>().is_some();
        let checks: Vec<Effect> = self.effects.extract_if(.., is_check).collect();
        for check in checks.iter().filter_map(|e| e.job::<PathCheck>()) {
            let delivery = Delivery {
                slot: CHECK_PATH,
                ticket: 0,
                wall_ms: 0.0,
                outcome: Outcome::Done(check.question.answer()),
            };
            let event = Event::new(check.clone(), delivery);
            update(&mut self.state, Action::Event(event));
        }
    }
}

fn page() -> Window {
    let mut page = window(State::new(sample::BACKEND.to_owned()), [1280.0, 800.0]);
    click(&mut page, "Enter a path");
    page
}

fn typed(window: &mut Window, text: &str) {
    window.event(egui::Event::Text(text.to_owned()));
    window.run();
}

fn text(window: &Window) -> String {
    let field = window.get_by_role_and_label(egui::Role::TextInput, "Path");
    field.accesskit_node().value().unwrap_or_default()
}

/// The disk is queried on a thread.
fn wait(window: &mut Window, until: impl Fn(&Window) -> bool) {
    wait_for("an answer", || {
        window.run();
        until(window).then_some(())
    });
}

fn opened() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("with space");
    std::fs::create_dir(&inside).unwrap();
    let files = [folder.path().join("a.nii.gz"), inside.join("b.bval")];
    files.iter().for_each(|f| std::fs::write(f, "").unwrap());
    let mut page = page();
    let [a, b] = files.map(|f| f.to_str().unwrap().to_owned());
    typed(&mut page, &format!("{a}; '{b}'"));
    page.key_press(egui::Key::Enter);
    page.run();
    wait(&mut page, |w| count_submitted(w) > 0);
    let [
        OpenFile {
            path, gradients, ..
        },
    ] = &submitted(&page)[..]
    else {
        panic!("{:?}", submitted::<OpenFile>(&page));
    };
    assert_eq!(path.to_str(), Some(&*a));
    assert_eq!(gradients[0].to_str(), Some(&*b));
    assert!(page.query_by_label("Path").is_none(), "the field closes");
    click(&mut page, "Enter a path");
    page.key_press(egui::Key::Escape);
    page.run();
    assert!(
        page.query_by_label("Path").is_none(),
        "Esc closes the field"
    );
}

/// One slow frame contains all text typed since Ctrl+O, and the Enter after it. So does another with Ctrl+K after Ctrl+O:
/// the field opens and no palette, and the text is the field's.
fn at_once() {
    all_typed_at_once(false);
    all_typed_at_once(true);
}

fn all_typed_at_once(palette_key: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dwi.nii.gz");
    std::fs::write(&path, "").unwrap();
    let mut page = window(State::new(sample::BACKEND.to_owned()), [1280.0, 800.0]);
    let key = |key: egui::Key, modifiers: egui::Modifiers| egui::Event::Key {
        key,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers,
    };
    let [opens, palette] = [egui::Key::O, egui::Key::K].map(|k| key(k, egui::Modifiers::COMMAND));
    let letters = egui::Event::Text(path.to_str().unwrap().to_owned());
    let enter = key(egui::Key::Enter, egui::Modifiers::NONE);
    let frames = match palette_key {
        true => [vec![opens, palette, letters, enter], Vec::new()],
        false => [vec![opens], vec![letters, enter]],
    };
    for events in frames {
        page.input_mut().events.extend(events);
        page.step();
    }
    wait(&mut page, |w| count_submitted(w) > 0);
    assert!(page.query_by_label("Path").is_none(), "the field closes");
    // Text typed earlier is not restored by undo now.
    click(&mut page, "Enter a path");
    typed(&mut page, "/tmp/a");
    page.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Z);
    page.run();
    assert!(!text(&page).contains("dwi"), "{}", text(&page));
}

fn mistyped() {
    let folder = tempfile::tempdir().unwrap();
    let faulty = folder.path().join("dwj.nii.gz");
    let mut page = page();
    type_over(&mut page, faulty.to_str().unwrap());
    let sentence = format!("File not found: {}", faulty.display());
    wait(&mut page, |w| w.query_by_label(&sentence).is_some());
    assert_eq!(Path::new(&text(&page)), faulty);
    assert!(count_submitted(&page) == 0);
    // One letter is corrected, and the file opens.
    let right = folder.path().join("dwi.nii.gz");
    std::fs::write(&right, "").unwrap();
    type_over(&mut page, right.to_str().unwrap());
    wait(&mut page, |w| count_submitted(w) > 0);
    assert!(page.query_by_label(&sentence).is_none());
}

fn completed() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().to_str().unwrap().to_owned();
    for name in ["dwi_a.nii.gz", "dwi_b.nii.gz", "other.trk", ".hidden"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    std::fs::create_dir(folder.path().join("scans")).unwrap();
    let mut page = page();
    let tab = |page: &mut Window, letters: &str, expected: &str| {
        typed(page, letters);
        page.key_press(egui::Key::Tab);
        page.run();
        let expected = format!("{here}/{expected}");
        wait(page, |w| text(w) == expected);
    };
    tab(&mut page, &format!("{here}/d"), "dwi_");
    page.get_by_label("dwi_a.nii.gz, dwi_b.nii.gz");
    tab(&mut page, "a", "dwi_a.nii.gz");
    assert!(page.query_by_label_contains("dwi_b.nii.gz").is_none());
    // The caret is at the end: the next path follows, and the last one is completed.
    let before = text(&page);
    typed(&mut page, &format!("; {here}/s"));
    page.key_press(egui::Key::Tab);
    page.run();
    wait(&mut page, |w| text(w) == format!("{before}; {here}/scans/"));
    assert!(count_submitted(&page) == 0);
}

/// A slow disk: the window and typing continue, and nothing is saved before the answer about exactly the typed path.
fn slow() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first.tck", "second.tck"].map(|name| folder.path().join(name));
    std::fs::write(&first, "").unwrap();
    let mut window = window(tracking(), [1280.0, 800.0]);
    window.state_mut().disk_answers = false;
    click(&mut window, "Export…");
    let saved = |window: &Window| {
        let effects = window.state().effects.iter();
        let jobs = effects.filter_map(|e| e.job::<SaveTractogram>());
        jobs.map(|job| job.path.clone()).collect::<Vec<_>>()
    };
    let answer = |window: &mut Window| {
        window.state_mut().answer_paths(true);
        window.run();
        window.run();
    };
    type_over(&mut window, first.to_str().unwrap());
    // A window that waited for the disk would never return.
    window.run_steps(60);
    assert_eq!(saved(&window), [] as [&Path; 0]);
    // The first answer arrives when the field contains another path: it has no effect.
    window.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::A);
    typed(&mut window, second.to_str().unwrap());
    answer(&mut window);
    assert_eq!(Path::new(&text(&window)), second);
    assert!(window.query_by_label_contains("first.tck exists").is_none());
    assert_eq!(saved(&window), [] as [&Path; 0]);
    window.key_press(egui::Key::Enter);
    window.run();
    // Pressing Enter again does not help.
    window.key_press(egui::Key::Enter);
    window.run();
    assert_eq!(saved(&window), [] as [&Path; 0]);
    answer(&mut window);
    assert_eq!(saved(&window), [second]);
    // A format chosen after Enter makes another path, too.
    click(&mut window, "Export…");
    type_over(
        &mut window,
        folder.path().join("third.tck").to_str().unwrap(),
    );
    click(&mut window, "Format: TRX");
    answer(&mut window);
    assert!(text(&window).ends_with("third.trx"), "{}", text(&window));
    assert_eq!(saved(&window).len(), 1);
}

fn suggested() {
    let mut window = window(tracking(), [1280.0, 800.0]);
    click(&mut window, "Export…");
    assert!(text(&window).ends_with(".tck"));
    typed(&mut window, "/tmp/mine.trx");
    assert_eq!(text(&window), "/tmp/mine.trx");
}

/// The window proposes the path of the saved session with another ending, as the command line does.
fn as_session() {
    for (entry, ending) in [
        ("Save a report of", "html"),
        ("Save the session as a", "toml"),
    ] {
        let mut window = window(tracking(), [1280.0, 800.0]);
        let folder = tempfile::tempdir().unwrap();
        let session = folder.path().join("demo.arcuate");
        window.state_mut().state.runtime.sessions.file = Some(session);
        window.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::K);
        window.run();
        window.event(egui::Event::Text(entry.to_owned()));
        window.run();
        window.key_press(egui::Key::Enter);
        window.run();
        let expected = folder.path().join(format!("demo.{ending}"));
        assert_eq!(text(&window), expected.display().to_string());
    }
}

fn named() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    let layers = &window.state().state.document.layers;
    let layer = layers.iter().find(|l| l.content.volume().is_some());
    let (id, name) = layer.map(|l| (l.id, l.name.clone())).unwrap();
    let select = |window: &mut Window, id| {
        let app = window.state_mut();
        arcuate::state::update(
            &mut app.state,
            arcuate::state::Action::Layer(arcuate::state::LayerAction::Select(id)),
        );
        window.run();
    };
    select(&mut window, Some(id));
    let end = window.get_by_label("Copy as command").rect().right();
    assert!(end <= 1280.0 - 8.0, "{end}");
    window.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::E);
    window.run();
    window.get_by_label(&format!("Export {name}"));
    select(&mut window, None);
    window.get_by_label(&format!("Export {name}"));
}
