//! Exports of rays: their measures are saved next to the file, and no file is replaced without asking.

use super::super::{click, submitted, type_over, window};
use super::measured;
use crate::support::{test, wait_for};
use arcuate::state::files::jobs::SaveTractogram;
use arcuate::state::update::unsupported_contents;
use egui_kittest::kittest::Queryable as _;
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::rays replace no file without a question", overwriting),
        test("ui::measures next to a TCK are not lost", measures),
    ]
}

/// The measures are saved to the TSF and the weights; the window names those that no file holds.
fn measures() {
    let mut state = measured();
    let live = state.runtime.track.live.value_mut().unwrap();
    let output = Arc::make_mut(&mut live.output);
    let points = vec![0.5; output.kept.points.len()];
    output.kept = output.kept.clone().with_per_point("fa", points);
    let lost = |file: &str| unsupported_contents(&state, None, Path::new(file)).join("; ");
    let of_tck = lost("rays.tck");
    assert_eq!(of_tck, "", "they are written next to it");
    assert_eq!(lost("rays.vtk"), "");
}

/// One question covers the three files of rays, also where only the measures exist.
fn overwriting() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut window = window(measured(), [1280.0, 800.0]);
    let mut export = |existing: &[&str], sentence: &str| {
        for name in existing {
            std::fs::write(path(name), "there already").unwrap();
        }
        let before = submitted::<SaveTractogram>(&window).len();
        click(&mut window, "Export…");
        type_over(&mut window, path("a.tck").to_str().unwrap());
        wait_for("the question", || {
            window.run();
            window.query_by_label("Replace").map(|_| ())
        });
        // The sheet has grown by its message.
        window.run();
        assert_eq!(
            submitted::<SaveTractogram>(&window).len(),
            before,
            "nothing is written without a question"
        );
        window.get_by_label(sentence);
        click(&mut window, "Replace");
        // Other jobs may be submitted besides: unsaved work is saved regularly for recovery.
        let rays = |save: &SaveTractogram| {
            let adjacent = save.values.companion_files(&save.path);
            let has = |name: &str| adjacent.iter().any(|b| b.path == path(name));
            has("a.tsf") && has("a.weights.txt")
        };
        assert!(
            submitted::<SaveTractogram>(&window)[before..]
                .iter()
                .copied()
                .any(rays)
        );
    };
    export(
        &["a.weights.txt"],
        "a.weights.txt exists. Saving replaces it",
    );
    export(
        &["a.tck", "a.tsf"],
        "a.tck, a.tsf and a.weights.txt exist. Saving replaces them",
    );
}
