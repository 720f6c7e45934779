//! The first page: the demo head, recent files.

use super::{click, sample, small_scan, submitted, window};
use crate::shapes::texts;
use crate::support::test;
use arcuate::state::files::jobs::open::OpenFile;
use arcuate::state::runtime::TourStep;
use arcuate::state::sessions::jobs::head::MakeHead;
use arcuate::state::{State, Task};
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::the first page opens the demo", first_page),
        test("ui::recent files open again", recent),
        test(
            "ui::the text of the demo does not cover its picture",
            demo_card,
        ),
        test(
            "ui::the first page names keys and formats as they are",
            facts,
        ),
    ]
}

/// The key on a task's card shows this task, and `.mif` is among the formats.
fn facts() {
    let page = window(State::new(sample::BACKEND.to_owned()), [1280.0, 800.0]);
    let shown = texts(&page.output().shapes);
    let is_shown = |text: &str| shown.iter().any(|(own, _)| own.contains(text));
    assert!(is_shown(".mif"), "{shown:?}");
    let keys = [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5];
    for (i, (key, task)) in keys.into_iter().zip(Task::ALL).enumerate() {
        assert!(is_shown(&format!("Ctrl+{}", i + 1)), "{shown:?}");
        assert!(shown.iter().all(|(own, _)| *own != (i + 1).to_string()));
        let mut window = window(small_scan(), [1280.0, 800.0]);
        window.key_press_modifiers(Modifiers::COMMAND, key);
        window.run();
        assert_eq!(window.state().state.view.task, task);
    }
}

fn first_page() {
    let mut page = window(State::new(sample::BACKEND.to_owned()), [1280.0, 800.0]);
    page.get_by_label("Open a scan, or try the demo head");
    click(&mut page, "Open the demo head");
    assert!(matches!(submitted(&page)[..], [MakeHead { .. }]));
    assert_eq!(page.state().state.runtime.tour, None);
    click(&mut page, "Start the guide");
    assert_eq!(page.state().state.runtime.tour, Some(TourStep::ClickSlice));
    // Tasks need an open file.
    click(&mut page, "Track");
    assert_eq!(page.state().state.view.task, Task::View);
}

/// However narrow the card is, its picture begins 176 points from its left side; text begins at 20.
fn demo_card() {
    let page = window(State::new(sample::BACKEND.to_owned()), [1280.0, 800.0]);
    let left = page.get_by_label("Start the guide").rect().left();
    let shown = texts(&page.output().shapes);
    let sentence = shown.iter().find(|(text, _)| text.starts_with("Built in"));
    let (_, rect) = sentence.expect("the card's text");
    assert!(rect.right() <= left + 176.0 - 20.0 - 8.0, "{rect:?} {left}");
}

fn recent() {
    let (state, _) = sample::with_recent(State::new(sample::BACKEND.to_owned()));
    let mut page = window(state, [1280.0, 800.0]);
    page.get_by_label_contains("Open dwi.nii.gz").click();
    page.run();
    assert!(matches!(submitted(&page)[..], [OpenFile { .. }]));
}
