//! Edits of streamlines, after saving and opening a session.

use super::{StreamlineWindow, limit, rows, weight, write};
use crate::program;
use crate::support::Window;
use crate::support::fields::region;
use arcuate::data::{Grid, Role, Shape};
use arcuate::state::sessions::FileDecision;
use arcuate::state::streamlines::{
    BottomPanel, Measurement, RegionRule, SelectionMode, StreamlineRules, streamlines_of,
};
use arcuate::state::{
    Action, LayerAction, Pane, RegionAction, SessionAction, StreamlineAction, UnsavedAction,
};
use glam::DVec3;
use std::path::Path;
use std::sync::Arc;

fn save(setup: &mut StreamlineWindow, name: &str) -> std::path::PathBuf {
    let path = setup.folder.path().join(name);
    setup.window.act(Action::Session(SessionAction::Save {
        path: Some(path.clone()),
        next: None,
    }));
    assert!(
        path.exists(),
        "{:?}",
        setup.window.state.runtime.notices.messages
    );
    path
}

pub(super) fn session() {
    let mut setup = StreamlineWindow::new(40);
    let all = setup.layer("all");
    setup
        .window
        .act(Action::Layer(LayerAction::Select(Some(all))));
    setup.act(StreamlineAction::Choose {
        streamlines: vec![0, 5, 6, 7],
        mode: SelectionMode::Replace,
        anchor: None,
    });
    setup.act(StreamlineAction::DeleteChosen);
    // A mask that is in no file, in a recorded rule.
    let grid =
        Arc::new(Grid::axis_aligned([60, 60, 3], DVec3::ONE, DVec3::new(0.0, 0.0, -1.0)).unwrap());
    let ball = region(
        Role::Include,
        Shape::Sphere {
            centre: DVec3::new(20.0, 20.0, 0.0),
            radius_mm: 8.0,
        },
    );
    let mask = Shape::Mask(ball.shape.mask_on(&grid));
    setup.place(Role::Exclude, DVec3::new(10.0, 22.0, 0.0), 1.0);
    setup.window.act(Action::Region(RegionAction::Add {
        role: Role::Include,
        shape: mask,
    }));
    let rules = StreamlineRules::new(all).limited(limit(weight(), None, Some(25.0)));
    setup.set_rules(rules);
    let shown = setup.shown();
    assert!(!shown.is_empty() && shown.len() < 20, "{shown:?}");
    setup.act(StreamlineAction::Keep);
    assert_eq!(setup.rows("all, selected"), shown);
    let exclude = setup.window.state.document.regions[0].id;
    let kept = setup.layer("all, selected");
    setup.set_rules(StreamlineRules::new(kept).using(exclude, Role::Exclude, RegionRule::Within));
    setup.act(StreamlineAction::Measure(Measurement {
        points: vec![DVec3::ZERO, DVec3::X],
        pane: Pane::Sagittal,
    }));
    setup.act(StreamlineAction::Open(Some(BottomPanel::Table)));
    let path = save(&mut setup, "s.arcuate");
    let before = setup.window.state.document.clone();

    let mut other = Window::new();
    other.act(Action::Session(SessionAction::CloseDocument(
        UnsavedAction::Open(path.clone()),
    )));
    let state = &other.state;
    assert!(
        state.runtime.notices.messages.is_empty(),
        "{:?}",
        state.runtime.notices.messages
    );
    let layer = |name: &str| {
        let layer = state.document.layer_named(name).unwrap();
        (
            layer.id,
            rows(streamlines_of(layer).unwrap()),
            state.document.command_line(layer).text(),
        )
    };
    let expected: Vec<usize> = (0..40).filter(|i| ![0, 5, 6, 7].contains(i)).collect();
    assert_eq!(layer("all").1, expected);
    assert_eq!(layer("all, selected").1, shown);
    assert_eq!(
        layer("all").2,
        before
            .command_line(before.layer_named("all").unwrap())
            .text()
    );
    assert_eq!(
        state.document.streamlines.measurements,
        before.streamlines.measurements
    );
    assert_eq!(state.view.bottom_panel, Some(BottomPanel::Table));
    // Regions have other ids now; the rules refer to the same one.
    let rules = state.document.streamlines.rules().next().cloned().unwrap();
    let first = &state.document.regions[0];
    assert_eq!(rules.region_rule(first.id, first.role), RegionRule::Within);
    assert_eq!(rules.layer, layer("all, selected").0);
    // Saved again, the session is unchanged.
    let repeated = setup.folder.path().join("again.arcuate");
    other.act(Action::Session(SessionAction::Save {
        path: Some(repeated.clone()),
        next: None,
    }));
    let content = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        value["content"].clone()
    };
    let (a, b) = (content(&path), content(&repeated));
    let origins = a["origins"].as_array().unwrap();
    assert!(origins.iter().any(|o| o["edited"].is_object()), "{a}");
    assert_eq!(a["origins"], b["origins"]);
    for list in ["layers", "streamlines"] {
        assert_eq!(a["document"][list], b["document"][list]);
    }

    let replayed = program()
        .args(["replay", "s.arcuate"])
        .current_dir(setup.folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&replayed.stdout).into_owned();
    assert!(
        replayed.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&replayed.stderr)
    );
    assert_eq!(text.matches("same bytes").count(), 2, "{text}");
}

pub(super) fn refused() {
    let mut setup = StreamlineWindow::new(10);
    let all = setup.layer("all");
    setup
        .window
        .act(Action::Layer(LayerAction::Select(Some(all))));
    setup.act(StreamlineAction::Choose {
        streamlines: vec![3],
        mode: SelectionMode::Replace,
        anchor: None,
    });
    setup.act(StreamlineAction::DeleteChosen);
    let path = save(&mut setup, "s.arcuate");
    // The file is replaced by another one of the same name.
    write(&setup.folder.path().join("all.trx"), 11);
    let mut other = Window::new();
    other.act(Action::Session(SessionAction::CloseDocument(
        UnsavedAction::Open(path),
    )));
    let decision = FileDecision::UseAsItIs;
    let opening = other.state.runtime.sessions.opening.as_ref();
    for index in 0..opening.expect("asked").session.files.len() {
        other.act(Action::Session(SessionAction::Decide { index, decision }));
    }
    other.act(Action::Session(SessionAction::OpenAnyway));
    assert!(other.state.document.layer_named("all").is_none());
    let missing: Vec<_> = other.state.document.missing_layers().collect();
    assert_eq!(missing.len(), 1);
    assert!(
        missing[0]
            .reason
            .to_string()
            .contains("Found 11 streamlines, expected the 10"),
        "{}",
        missing[0].reason
    );
}
