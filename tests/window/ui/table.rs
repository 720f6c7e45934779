//! The table of streamlines: a click takes the streamline shown in the row, however the rows are sorted; rows by the
//! reasons to stop.

use super::{App, Window, click, click_with, window};
use crate::support::{Random, Window as Worker, test};
use arcuate::data::Tractogram;
use arcuate::io::trx;
use arcuate::solvers::curves::StopReason;
use arcuate::solvers::score::{BundleScore, Connection, Scores};
use arcuate::state::streamlines::jobs::csv::SaveScores;
use arcuate::state::streamlines::jobs::score::{ScoreStreamlines, TruthSource};
use arcuate::state::streamlines::{
    BottomPanel, Column, Live, SameArc, SelectionKey, StreamlineAction, StreamlineRules,
    StreamlineSelection, TableView,
};
use arcuate::state::{Action, Content, FilesAction, LayerAction, Phase, Task, update};
use egui::{Key, Modifiers, Role, pos2};
use egui_kittest::kittest::Queryable as _;
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::a click takes the row's streamline", clicks),
        test("ui::a range of rows ends at the pointer", ranges),
        test("ui::a failed filter has a message", refused),
        test(
            "ui::rows of the table are those that stopped for a reason",
            stopped,
        ),
        test("ui::streamlines are scored below the views", scored),
    ]
}

/// The panel asks for a truth, then shows the scores in all and a row for each bundle.
fn scored() {
    let mut state = super::filter::weighing(Task::View);
    let layer = state.document.layer_named("whole").expect("streamlines").id;
    for action in [
        Action::Layer(LayerAction::Select(Some(layer))),
        Action::Streamline(StreamlineAction::Open(Some(BottomPanel::Scores))),
    ] {
        update(&mut state, action);
    }
    let mut window = window(state, [1920.0, 1080.0]);
    window.get_by_label("Choose truth…");
    assert!(window.query_by_label_contains("Valid bundles").is_none());
    let app: &mut App = window.state_mut();
    let truth = StreamlineAction::SetTruth("/data/head/truth.json".into());
    let effects = update(&mut app.state, Action::Streamline(truth));
    let mut jobs = effects.iter().filter_map(|e| e.job::<ScoreStreamlines>());
    let job = jobs.next().expect("a job");
    let TruthSource::Folder(folder) = &job.truth else {
        panic!("{:?}", job.truth)
    };
    assert_eq!(folder, Path::new("/data/head"));
    let bundle = |name: &str, valid: usize| BundleScore {
        name: name.to_owned(),
        valid,
        wrong_paths: 1,
        true_voxels: 10,
        shared_voxels: 5 * valid,
        excess_voxels: 2,
    };
    let connections = vec![
        Connection::Valid(0),
        Connection::WrongPath(0),
        Connection::WrongPath(1),
        Connection::None,
    ];
    let scores = Scores {
        connections,
        bundles: vec![bundle("Cingulum left", 1), bundle("Fornix", 0)],
        invalid_bundles: Vec::new(),
        not_finite: 0,
    };
    let live = &mut app.state.runtime.streamlines.scores;
    live.finish(Arc::new(scores));
    window.run();
    window.get_by_label("Valid bundles (VB) 1 of 2");
    window.get_by_label_contains("Valid connections (VC) 25.0");
    window.get_by_label_contains("Cingulum left: 1 valid, 1 wrong paths, OL 50.0 %");
    window.get_by_label_contains("Fornix: 0 valid");
    // Scores of an earlier truth are shown, but not exported as those of the next, which failed.
    let app: &mut App = window.state_mut();
    let save = |app: &mut App| {
        let action = StreamlineAction::SaveScores("scores.csv".into());
        let effects = update(&mut app.state, Action::Streamline(action));
        effects.iter().any(|e| e.job::<SaveScores>().is_some())
    };
    assert!(save(app));
    let other = StreamlineAction::SetTruth("/data/other/truth.json".into());
    update(&mut app.state, Action::Streamline(other));
    assert!(!save(app));
    app.state.runtime.streamlines.scores.fail();
    assert!(!save(app));
    let messages = &app.state.runtime.notices.messages;
    let is_refusal = |m: &arcuate::state::Message| m.text.starts_with("It was not computed");
    assert!(messages.iter().any(is_refusal), "{messages:?}");
}

fn clicks() {
    const COUNT: usize = 40;
    const ROW: f32 = 22.0;
    let mut random = Random::fresh("table");
    let points: Vec<[f32; 3]> = (0..2 * COUNT)
        .map(|i| [(i % 2) as f32 * 9.0, i as f32, 0.0])
        .collect();
    let offsets: Vec<u64> = (0..=COUNT as u64).map(|i| 2 * i).collect();
    let values: Vec<f32> = (0..COUNT).map(|_| random.normal() as f32).collect();
    let lines = Tractogram::new(points, offsets).with_per_streamline("worth", values.clone());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.trx");
    trx::save(&path, &lines, &arcuate::compute::Control::new()).unwrap();
    for descending in [false, true] {
        let mut worker = Worker::new();
        worker.act(Action::Files(FilesAction::Open(vec![path.clone()])));
        let layer = worker.state.document.layers[0].id;
        worker.act(Action::Layer(LayerAction::Select(Some(layer))));
        worker.act(Action::Streamline(StreamlineAction::Open(Some(
            BottomPanel::Table,
        ))));
        worker.act(Action::Streamline(StreamlineAction::Sort(TableView {
            column: Some(Column::Value("worth".to_owned())),
            descending,
        })));
        // Sorted here, from the written values.
        let mut expected: Vec<usize> = (0..COUNT).collect();
        expected.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        if descending {
            expected.reverse();
        }
        let mut window = window(worker.state.clone(), [1280.0, 800.0]);
        let label = format!("Streamlines, {COUNT} rows");
        let body = window.get_by_label(&label).rect();
        for row in [0, 2, 3] {
            let at = pos2(body.left() + 200.0, body.top() + (row as f32 + 0.5) * ROW);
            window.drag_at(at);
            window.run();
            window.drop_at(at);
            window.run();
            let chosen = window
                .state()
                .state
                .manual_selection()
                .expect("one is chosen")
                .clone();
            let marked: Vec<usize> = (0..COUNT).filter(|i| chosen.marks.0[*i]).collect();
            assert_eq!(
                marked,
                [expected[row]],
                "row {row}, descending: {descending}"
            );
        }
    }
}

/// Shift selects all rows from the last one on, and the table does not scroll away from the pointer.
fn ranges() {
    let mut window = tabled();
    let at = window
        .get_by_label("Streamlines, 60 rows")
        .rect()
        .left_top()
        + egui::vec2(200.0, 30.0);
    let click = |window: &mut Window, modifiers: Modifiers| {
        click_with(window, at, modifiers);
        let chosen = window
            .state()
            .state
            .manual_selection()
            .expect("some are chosen");
        let marks = chosen.marks.0.iter().enumerate();
        let marked: Vec<usize> = marks.filter(|(_, m)| **m).map(|(i, _)| i).collect();
        marked
    };
    assert_eq!(click(&mut window, Modifiers::NONE), [1]);
    window.key_press(Key::End);
    window.run();
    let range = click(&mut window, Modifiers::SHIFT);
    let last = *range.last().unwrap();
    assert!(last > 1, "the table goes to its end");
    assert_eq!(range, (1..=last).collect::<Vec<_>>());
    assert_eq!(click(&mut window, Modifiers::NONE), [last]);
}

/// Sixty streamlines whose ends have reasons, in the table.
fn tabled() -> Window {
    let mut state = super::filter::weighing(Task::View);
    let layer = state.document.layer_named("whole").expect("streamlines").id;
    state.document.edit_layer(layer, |layer| {
        let Content::Tractogram(lines) = &mut layer.content else {
            panic!("streamlines");
        };
        let reasons = |reason: StopReason| vec![f32::from(reason as u8); lines.len()];
        *lines = lines
            .clone()
            .with_per_streamline("stop_start", reasons(StopReason::LowFa))
            .with_per_streamline("stop_end", reasons(StopReason::Angle));
    });
    let mut window = window(state, [1920.0, 1080.0]);
    let app: &mut App = window.state_mut();
    for action in [
        Action::Layer(LayerAction::Select(Some(layer))),
        Action::Streamline(StreamlineAction::Open(Some(BottomPanel::Table))),
    ] {
        app.effects.extend(update(&mut app.state, action));
    }
    let rows: Vec<u32> = (0..60).collect();
    app.state.runtime.streamlines.order.finish(rows.into());
    window.run();
    window
}

fn stopped() {
    let mut window = tabled();
    let stop = |window: &Window| {
        let rules = window
            .state()
            .state
            .document
            .streamlines
            .rules()
            .next()
            .cloned();
        rules.and_then(|s| s.stop)
    };
    for (label, target) in [
        (StopReason::LowFa.label(), Some(StopReason::LowFa)),
        ("Any reason", None),
    ] {
        click(&mut window, "Stop reason of the rows");
        window.get_by_role_and_label(Role::MenuItem, label).click();
        window.run();
        assert_eq!(stop(&window), target);
    }
}

/// A rule that fails leaves the display of the previous one, and the window does not present that as its result.
fn refused() {
    let mut window = tabled();
    let app: &mut App = window.state_mut();
    let (layer, lines) = app.state.current_streamlines().expect("streamlines");
    let (layer, lines) = (layer.id, lines.clone());
    let marks: Vec<bool> = (0..60).map(|i| i < 5).collect();
    let shown = lines.filtered(&marks);
    let filter = |app: &mut App, at_most| {
        let rules = StreamlineRules {
            at_most: Some(at_most),
            ..StreamlineRules::new(layer)
        };
        let action = StreamlineAction::SetRules {
            rules,
            phase: Phase::Done,
        };
        update(&mut app.state, Action::Streamline(action));
    };
    let live = |app: &mut App, then: &dyn Fn(&mut Live<SelectionKey, StreamlineSelection>)| {
        let selections = &mut app.state.runtime.streamlines.selections;
        then(selections.get_mut(&layer).expect("requested"));
    };
    filter(app, 5);
    let selection = StreamlineSelection {
        marks: SameArc(marks.into()),
        kept: 5,
        shown,
        every: 1,
    };
    live(app, &|live| {
        live.finish(selection.clone());
    });
    filter(app, 7);
    live(app, &Live::fail);
    window.run();
    window.get_by_label("Shown 5 of 60, as before");
}
