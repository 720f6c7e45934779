//! The pictures of hints: each belongs to a row that exists, has the size that the hint gives it, and appears once the
//! pointer has rested on its control for a while.

use super::{tracking, window};
use crate::support::test;
use arcuate::io::decoded_png;
use arcuate::state::{Layout, Pane, Task};
use arcuate::ui::help_pictures::{ALL, DELAY_S, HelpPicture, SIZE, hint, with};
use egui::{Sense, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use libtest_mimic::Trial;
use std::collections::HashSet;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::help_pictures::files", files),
        test("ui::help_pictures::hints show them after a while", shown),
        test("ui::help_pictures::rows of forms have theirs", in_forms),
    ]
}

fn files() {
    /// The program carries them all.
    const LARGEST_BYTES: usize = 600_000;
    assert_eq!(
        ALL.iter().map(|p| p.png.len()).max().map(|n| n > 0),
        Some(true)
    );
    assert!(ALL.iter().map(|p| p.png.len()).sum::<usize>() < LARGEST_BYTES);
    let mut seen = HashSet::new();
    for picture in &ALL {
        let key = picture.key;
        assert!((picture.exists)(), "{key}: the table has no such row");
        assert!(
            seen.insert(picture.png),
            "{key}: the picture of another control"
        );
        assert!(
            picture.caption.ends_with('.') && picture.caption.len() < 120,
            "{key}"
        );
        assert!(
            picture.values.iter().all(|value| !value.is_empty()),
            "{key}"
        );
        let (size, rgba) = decoded_png(picture.png).expect(key);
        assert_eq!(size, SIZE, "{key}");
        // The three parts differ from each other, and none is empty.
        let part = |i: usize| {
            let rows = rgba.chunks_exact(4 * SIZE[0] as usize);
            let third = 4 * SIZE[0] as usize / 3;
            let values: Vec<u8> = rows
                .flat_map(|row| row[i * third..][..third].to_vec())
                .collect();
            values
        };
        let parts = [0, 1, 2].map(part);
        for (i, one) in parts.iter().enumerate() {
            let bright = one
                .chunks_exact(4)
                .filter(|p| p[..3].iter().any(|v| *v > 60));
            assert!(bright.count() > 200, "{key}: part {i}");
            assert!(
                parts[..i].iter().all(|other| other != one),
                "{key}: part {i}"
            );
        }
    }
}

/// A line of text with the hint of a picture.
fn control(picture: &'static HelpPicture) -> Harness<'static> {
    let mut harness = Harness::builder()
        .with_size(vec2(700.0, 500.0))
        .with_step_dt(0.1)
        .with_context_setup(arcuate::ui::theme::install)
        .build_ui(move |ui| {
            with(ui, Some(picture), |ui| {
                let response = ui.add(egui::Label::new("control").sense(Sense::hover()));
                hint(response, "What it sets");
            });
            // A control beside it has no picture.
            let other = ui.add(egui::Label::new("other").sense(Sense::hover()));
            hint(other, "Another hint");
        });
    harness.ctx.all_styles_mut(|style| {
        style.interaction.tooltip_delay = 0.0;
        style.interaction.show_tooltips_only_when_still = false;
    });
    harness.run_steps(2);
    harness
}

fn shown() {
    for picture in &ALL {
        let mut harness = control(picture);
        harness.get_by_label("control").hover();
        harness.run_steps(3);
        assert!(
            harness.query_by_label("What it sets").is_some(),
            "{}",
            picture.key
        );
        let caption = |harness: &Harness| harness.query_by_label(picture.caption).is_some();
        assert!(!caption(&harness), "{}: at once", picture.key);
        // Each step is a tenth of a second.
        harness.run_steps((DELAY_S / 0.1) as usize + 3);
        assert!(caption(&harness), "{}: not after a while", picture.key);
        harness.get_by_label("other").hover();
        harness.run_steps(20);
        assert!(!caption(&harness), "{}: on another control", picture.key);
        assert!(
            harness.query_by_label("Another hint").is_some(),
            "{}",
            picture.key
        );
    }
}

/// In the window: rows of a table, a row with two values, and rows that no table holds.
fn in_forms() {
    let caption = |key: &str| {
        let picture = ALL.iter().find(|p| p.key == key);
        picture.expect(key).caption
    };
    for (task, labels) in [
        (
            Task::Track,
            &[
                ("Step", "step"),
                ("Maximum angle", "angle"),
                ("Length, low", "min-length"),
            ][..],
        ),
        (Task::Pathways, &[("Sharpening α", "alpha")][..]),
        (Task::View, &[("Spacing", "mosaic-spacing")][..]),
    ] {
        let mut state = tracking();
        state.view.task = task;
        if task == Task::View {
            (state.view.layout, state.view.single) = (Layout::Mosaic, Pane::Axial);
        }
        let mut window = window(state, [1920.0, 2400.0]);
        window.ctx.all_styles_mut(|style| {
            style.interaction.tooltip_delay = 0.0;
            style.interaction.show_tooltips_only_when_still = false;
        });
        for (label, key) in labels {
            let rows = window.get_all_by_label(label);
            let place = rows
                .map(|node| node.rect())
                .min_by(|a, b| a.left().total_cmp(&b.left()));
            let place = place.expect("a row").center();
            window.hover_at(egui::pos2(2.0, 2398.0));
            window.run_steps(2);
            window.hover_at(place);
            // The time of a step is that of the harness.
            let is_shown = (0..100).any(|_| {
                window.run_steps(1);
                window.query_by_label(caption(key)).is_some()
            });
            assert!(is_shown, "{label}");
        }
    }
}
