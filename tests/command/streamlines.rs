//! Streamlines of a layer in the window's state: filtered, selected, deleted, kept, measured; and the same after saving
//! and opening a session.

mod bundles;
pub mod commands;
mod large;
mod memory;
mod panels;
mod rulers;
mod rules;
mod session;

use crate::support::origins::edited;
use crate::support::{Random, Window, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Role, Shape, Tractogram, Volume};
use arcuate::io::{nifti, streamlines};
use arcuate::solvers::connectivity;
use arcuate::solvers::tractogram::ProfileParams;
use arcuate::solvers::tractogram::selection::PointStatistic;
use arcuate::state::streamlines::{
    BottomPanel, Column, ConnectSettings, MatrixValue, Measurement, ProfileSettings, RegionRule,
    SelectionMode, StreamlineRules, TableView, ValueLimits, streamlines_of,
};
use arcuate::state::{
    Action, FilesAction, LayerAction, LayerId, Pane, Phase, RegionAction, StreamlineAction,
};
use glam::{DVec2, DVec3};
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test(
            "streamlines::a filter follows its regions and values",
            filters,
        ),
        test("streamlines::a rule on an image has a command", by_image),
        test("streamlines::rows are sorted and chosen", table),
        test("streamlines::a message counts the saved streamlines", saved),
        test("streamlines::deleting can be undone and redone", deletes),
        test("streamlines::a click takes the nearest streamline", clicks),
        test(
            "streamlines::profile and matrix in the window",
            panels::panels,
        ),
        test("streamlines::tables_have_commands", commands::commands),
        test("streamlines::clusters in the window", bundles::clusters),
        test(
            "streamlines::clusters of moved streamlines",
            bundles::moved_and_refused,
        ),
        test("streamlines::bundles as a command", bundles::command),
        test(
            "streamlines::bundles recognised by labels",
            bundles::recognised,
        ),
        test("streamlines::rulers", rulers::rulers),
        test(
            "streamlines::a session repeats edits and selections",
            session::session,
        ),
        test(
            "streamlines::a selection of other streamlines is refused",
            session::refused,
        ),
        test(
            "streamlines::deletions do not fill the memory",
            rulers::memory,
        ),
    ];
    let own = own.into_iter().chain(rules::tests());
    let own = own.chain(memory::tests());
    own.chain(large::tests()).collect()
}

/// Lines of 41 points along x from 0 to 40 mm at y = 0, 1, … mm; weights 0, 1, ….
fn lines(count: usize) -> Tractogram {
    let mut points = Vec::new();
    let mut offsets = vec![0];
    for y in 0..count {
        points.extend((0..=40).map(|x| [x as f32, y as f32, 0.0]));
        offsets.push(points.len() as u64);
    }
    let weights: Vec<f32> = (0..count).map(|i| i as f32).collect();
    Tractogram::new(points, offsets).with_per_streamline("weight", weights)
}

fn write(path: &Path, count: usize) {
    streamlines::save(path, &lines(count), "test", &Control::new()).unwrap();
}

/// An image whose values are y, and a label map: 3 below x = 5, 8 above x = 35.
fn images(folder: &Path) {
    let grid =
        Arc::new(Grid::axis_aligned([41, 60, 3], DVec3::ONE, DVec3::new(0.0, 0.0, -1.0)).unwrap());
    let save = |name: &str, value: &dyn Fn([usize; 3]) -> f32| {
        let values: Vec<f32> = (0..grid.voxel_count())
            .map(|i| value(grid.voxel(i)))
            .collect();
        let volume = Volume::scalar(grid.clone(), values);
        nifti::save_volume(&folder.join(name), &volume, "test", &Control::new()).unwrap();
    };
    save("y.nii.gz", &|v| v[1] as f32 + 0.5);
    save("labels.nii.gz", &|v| match v[0] {
        0..5 => 3.0,
        36.. => 8.0,
        _ => 0.0,
    });
}

struct StreamlineWindow {
    folder: tempfile::TempDir,
    window: Window,
}

impl StreamlineWindow {
    fn new(count: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("all.trx"), count);
        images(folder.path());
        let mut window = Window::new();
        let files = ["y.nii.gz", "labels.nii.gz", "all.trx"];
        let files = files.map(|f| folder.path().join(f)).to_vec();
        window.act(Action::Files(FilesAction::Open(files)));
        Self { folder, window }
    }

    fn act(&mut self, action: StreamlineAction) {
        self.window.act(Action::Streamline(action));
    }

    fn layer(&self, name: &str) -> LayerId {
        let layer = self.window.state.document.layer_named(name);
        layer.unwrap_or_else(|| panic!("no layer {name}")).id
    }

    /// The y of each streamline of a layer.
    fn rows(&self, name: &str) -> Vec<usize> {
        let layer = self.window.state.document.layer_named(name).unwrap();
        rows(streamlines_of(layer).unwrap())
    }

    fn set_rules(&mut self, rules: StreamlineRules) {
        self.act(StreamlineAction::SetRules {
            rules,
            phase: Phase::Done,
        });
    }

    /// The streamlines that the rules keep, as drawn.
    fn shown(&self) -> Vec<usize> {
        let drawn_selection = self.window.state.selection(self.layer("all")).unwrap();
        let rows = rows(&drawn_selection.shown);
        assert_eq!(
            rows.len(),
            drawn_selection.kept.div_ceil(drawn_selection.every)
        );
        rows
    }

    fn place(&mut self, role: Role, centre: DVec3, radius_mm: f64) {
        let shape = Shape::Sphere { centre, radius_mm };
        self.window
            .act(Action::Region(RegionAction::Add { role, shape }));
    }
}

fn rows(lines: &Tractogram) -> Vec<usize> {
    lines.streamlines().map(|l| l[0][1] as usize).collect()
}

fn limit(column: Column, low: Option<f32>, high: Option<f32>) -> ValueLimits {
    ValueLimits {
        column,
        low,
        high,
        counting: PointStatistic::Mean,
    }
}

fn weight() -> Column {
    Column::Value("weight".to_owned())
}

fn by_image() {
    let mut setup = StreamlineWindow::new(50);
    let all = setup.layer("all");
    let y = Column::Image(setup.layer("y"));
    for (counting, ending) in [
        (PointStatistic::Mean, "y.nii.gz:5..9"),
        (PointStatistic::Any, "y.nii.gz:5..9:any"),
        (PointStatistic::All, "y.nii.gz:5..9:all"),
    ] {
        let limit = ValueLimits {
            counting,
            ..limit(y.clone(), Some(5.0), Some(9.0))
        };
        setup.set_rules(StreamlineRules::new(all).limited(limit));
        // The image is y + 0.5, and constant along each of them.
        assert_eq!(setup.shown(), (5..=8).collect::<Vec<_>>(), "{counting:?}");
        setup.act(StreamlineAction::Keep);
        let kept = setup.window.state.document.layers.last().unwrap().clone();
        assert_eq!(rows(streamlines_of(&kept).unwrap()), [5, 6, 7, 8]);
        let command = setup.window.state.document.command_line(&kept).text();
        let text: Vec<&str> = command.split(' ').collect();
        let [first, second, _, _, option, value] = text[..] else {
            panic!("{command}")
        };
        assert_eq!([first, second, option], ["arcuate", "select", "--image"]);
        assert!(value.ends_with(ending), "{command}");
        setup.window.act(Action::Undo);
    }
}

fn filters() {
    let mut setup = StreamlineWindow::new(50);
    let all = setup.layer("all");
    let base = StreamlineRules::new(all);
    setup.set_rules(base.clone());
    assert_eq!(setup.shown().len(), 50);
    // An include region counts by its role; it is 3 mm around y = 10.
    setup.place(Role::Include, DVec3::new(20.0, 10.0, 0.0), 3.0);
    assert_eq!(setup.shown(), (7..=13).collect::<Vec<_>>());
    let id = setup.window.state.document.regions[0].id;
    let moved = |y: f64| Shape::Sphere {
        centre: DVec3::new(20.0, y, 0.0),
        radius_mm: 1.0,
    };
    for (y, phase) in [
        (20.0, Phase::Live),
        (30.0, Phase::Live),
        (40.0, Phase::Done),
    ] {
        setup.window.act(Action::Region(RegionAction::SetShape {
            region: id,
            shape: moved(y),
            phase,
        }));
        let y = y as usize;
        assert_eq!(
            setup.shown(),
            [y - 1, y, y + 1],
            "it follows while the region is dragged"
        );
    }
    let mut state = setup
        .window
        .state
        .document
        .streamlines
        .rules()
        .next()
        .cloned()
        .unwrap();
    state = state.using(id, Role::Include, RegionRule::Exclude);
    setup.set_rules(state.clone());
    assert_eq!(setup.shown().len(), 47);
    setup.set_rules(state.clone().using(id, Role::Include, RegionRule::Nothing));
    assert_eq!(setup.shown().len(), 50);
    // Values, and means of an image; a random number of streamlines; and rules that fail.
    let by_weight = base.clone().using(id, Role::Include, RegionRule::Nothing);
    let by_weight = by_weight.limited(limit(weight(), Some(5.0), Some(20.0)));
    setup.set_rules(by_weight.clone());
    assert_eq!(setup.shown(), (5..=20).collect::<Vec<_>>());
    let y = Column::Image(setup.layer("y"));
    let both = by_weight.clone().limited(limit(y, None, Some(10.6)));
    setup.set_rules(both.clone());
    assert_eq!(setup.shown(), (5..=10).collect::<Vec<_>>());
    setup.set_rules(StreamlineRules {
        invert: true,
        ..both.clone()
    });
    assert_eq!(setup.shown().len(), 44);
    setup.set_rules(StreamlineRules {
        at_most: Some(4),
        ..both.clone()
    });
    let four = setup.shown();
    assert_eq!(four.len(), 4);
    // One undo and one redo each.
    setup.window.act(Action::Undo);
    assert_eq!(setup.shown().len(), 44);
    setup.window.act(Action::Redo);
    assert_eq!(setup.shown(), four);
    setup.act(StreamlineAction::Keep);
    assert_eq!(setup.rows("all, selected"), four);
    assert!(
        setup
            .window
            .state
            .document
            .streamlines
            .rules()
            .next()
            .is_none()
    );
    assert!(
        !setup
            .window
            .state
            .document
            .layer(all)
            .unwrap()
            .display
            .visible
    );
    setup.window.act(Action::Undo);
    assert!(
        setup
            .window
            .state
            .document
            .layer_named("all, selected")
            .is_none()
    );
    assert_eq!(setup.shown(), four);
}

fn table() {
    let mut setup = StreamlineWindow::new(30);
    let all = setup.layer("all");
    setup
        .window
        .act(Action::Layer(LayerAction::Select(Some(all))));
    setup.act(StreamlineAction::Open(Some(BottomPanel::Table)));
    let order = |setup: &StreamlineWindow| {
        setup
            .window
            .state
            .runtime
            .streamlines
            .order
            .shown()
            .unwrap()
            .1
            .to_vec()
    };
    assert_eq!(order(&setup), (0..30).collect::<Vec<u32>>());
    setup.act(StreamlineAction::SetImages(vec![setup.layer("y")]));
    setup.act(StreamlineAction::Sort(TableView {
        column: Some(Column::Image(setup.layer("y"))),
        descending: true,
    }));
    assert_eq!(order(&setup), (0..30).rev().collect::<Vec<u32>>());
    // All lengths are the same: rows stay in their own order.
    setup.act(StreamlineAction::Sort(TableView {
        column: Some(Column::length()),
        descending: true,
    }));
    assert_eq!(order(&setup), (0..30).collect::<Vec<u32>>());
    setup.set_rules(StreamlineRules::new(all).limited(limit(weight(), Some(10.0), None)));
    assert_eq!(order(&setup), (10..30).collect::<Vec<u32>>());
    let chosen =
        |setup: &StreamlineWindow| setup.window.state.manual_selection().map_or(0, |c| c.count);
    let choose = |lines: &[u32], mode| StreamlineAction::Choose {
        streamlines: lines.to_vec(),
        mode,
        anchor: lines.first().copied(),
    };
    setup.act(choose(&[3, 4, 5], SelectionMode::Replace));
    assert_eq!(chosen(&setup), 3);
    setup.act(choose(&[5, 6], SelectionMode::Toggle));
    setup.act(choose(&[6, 7], SelectionMode::Add));
    let marks = setup
        .window
        .state
        .manual_selection()
        .unwrap()
        .marks
        .0
        .clone();
    let lines: Vec<usize> = (0..30).filter(|i| marks[*i]).collect();
    assert_eq!(lines, [3, 4, 6, 7]);
    let (_, drawn) = setup
        .window
        .state
        .runtime
        .streamlines
        .extract
        .shown()
        .unwrap();
    assert_eq!(rows(drawn), [3, 4, 6, 7]);
    // “All” selects the streamlines that the rules keep.
    setup.act(StreamlineAction::ChooseAll);
    assert_eq!(chosen(&setup), 20);
    setup.act(StreamlineAction::ChooseOthers);
    assert_eq!(chosen(&setup), 0);
    // Delete without a selection reports it and removes nothing: there is no step to undo.
    let step = setup.window.state.history.undo_label().map(str::to_owned);
    setup.act(StreamlineAction::DeleteChosen);
    assert_eq!(setup.window.state.history.undo_label(), step.as_deref());
    assert_eq!(
        setup.window.state.runtime.notices.status,
        "No streamlines are chosen"
    );
    // A layer that returns has its rows again, sorted and filtered as before.
    setup.act(StreamlineAction::Sort(TableView {
        column: Some(weight()),
        descending: true,
    }));
    let before = order(&setup);
    setup.window.act(Action::Layer(LayerAction::Delete(all)));
    assert!(
        setup
            .window
            .state
            .runtime
            .streamlines
            .order
            .shown()
            .is_none()
    );
    setup.window.act(Action::Undo);
    assert_eq!(order(&setup), before);
    setup.act(StreamlineAction::Sort(TableView {
        column: Some(Column::length()),
        descending: true,
    }));
    let path = setup.folder.path().join("t.csv");
    setup.act(StreamlineAction::SaveTable(path.clone()));
    let text = std::fs::read_to_string(path).unwrap();
    let mut rows = text.lines();
    assert_eq!(rows.next(), Some("streamline,length,weight,y"));
    assert_eq!(rows.next(), Some("10,40,10,10.5"));
    assert_eq!(rows.count(), 19);
}

fn saved() {
    let mut setup = StreamlineWindow::new(1_200);
    setup
        .window
        .act(Action::Layer(LayerAction::Select(Some(setup.layer("all")))));
    setup.act(StreamlineAction::Open(Some(BottomPanel::Table)));
    setup.act(StreamlineAction::SaveTable(
        setup.folder.path().join("t.csv"),
    ));
    let message = &setup.window.state.runtime.notices.status;
    let text = "Saved and verified table of 1\u{202F}200 streamlines: ";
    assert!(message.starts_with(text), "{message}");
}

fn deletes() {
    let mut setup = StreamlineWindow::new(20);
    let all = setup.layer("all");
    setup
        .window
        .act(Action::Layer(LayerAction::Select(Some(all))));
    let choose = |lines: &[u32]| StreamlineAction::Choose {
        streamlines: lines.to_vec(),
        mode: SelectionMode::Replace,
        anchor: None,
    };
    setup.act(choose(&[0, 1, 19]));
    setup.act(StreamlineAction::DeleteChosen);
    assert_eq!(setup.rows("all"), (2..19).collect::<Vec<_>>());
    assert!(setup.window.state.manual_selection().is_none());
    // Numbers refer to the remaining streamlines.
    setup.act(choose(&[0]));
    setup.act(StreamlineAction::DeleteChosen);
    assert_eq!(setup.rows("all"), (3..19).collect::<Vec<_>>());
    let document = &setup.window.state.document;
    let line = document.command_line(document.layer(all).unwrap());
    assert!(line.no_command().unwrap().contains("chosen by hand"));
    setup.window.act(Action::Undo);
    setup.window.act(Action::Undo);
    assert_eq!(setup.rows("all").len(), 20);
    assert!(edited(&setup.window.state.document).is_empty());
    setup.window.act(Action::Redo);
    setup.window.act(Action::Redo);
    assert_eq!(setup.rows("all"), (3..19).collect::<Vec<_>>());
    setup.act(choose(&[1, 2]));
    setup.act(StreamlineAction::KeepChosen);
    assert_eq!(setup.rows("all, selected"), [4, 5]);
    // Rules have a command.
    setup.window.act(Action::Undo);
    setup.window.act(Action::Undo);
    setup.window.act(Action::Undo);
    setup.set_rules(StreamlineRules::new(all).limited(limit(weight(), Some(5.0), None)));
    setup.act(StreamlineAction::Keep);
    let kept = setup
        .window
        .state
        .document
        .layer_named("all, selected")
        .unwrap();
    let command = setup.window.state.document.command_line(kept).text();
    assert!(command.starts_with("arcuate select "), "{command}");
    assert!(
        command.contains("all.trx") && command.ends_with("--value weight=5.."),
        "{command}"
    );
    setup.act(StreamlineAction::ChooseNone);
    setup.act(StreamlineAction::DeleteChosen);
    assert_eq!(
        setup.window.state.runtime.notices.status,
        "No streamlines are chosen"
    );
}

fn clicks() {
    use arcuate::solvers::tractogram::pick::{PickQuery, Screen};
    let mut setup = StreamlineWindow::new(20);
    let all = setup.layer("all");
    setup
        .window
        .act(Action::Layer(LayerAction::Select(Some(all))));
    // Ten points a millimetre, y upwards: that of row 7 is at 70.
    let screen = Screen {
        from_world: glam::DMat4::from_scale(DVec3::new(10.0, 10.0, 0.25)),
        slab: true,
        clips: Vec::new(),
    };
    let pick = |at: DVec2, mode| StreamlineAction::Pick {
        screen: screen.clone(),
        target: PickQuery::Nearest { at, radius: 8.0 },
        mode,
    };
    let chosen = |setup: &StreamlineWindow| -> Vec<usize> {
        let chosen = setup.window.state.manual_selection();
        let marks = chosen.map(|c| c.marks.0.clone());
        marks.map_or(Vec::new(), |m| (0..m.len()).filter(|i| m[*i]).collect())
    };
    setup.act(pick(DVec2::new(123.0, 73.0), SelectionMode::Replace));
    assert_eq!(chosen(&setup), [7]);
    assert_eq!(
        setup.window.state.runtime.notices.status,
        "1 streamline chosen"
    );
    setup.act(pick(DVec2::new(123.0, 91.0), SelectionMode::Add));
    assert_eq!(chosen(&setup), [7, 9]);
    setup.act(pick(DVec2::new(123.0, 91.0), SelectionMode::Toggle));
    assert_eq!(chosen(&setup), [7]);
    // A click outside all of them selects none.
    setup.act(pick(DVec2::new(123.0, -30.0), SelectionMode::Replace));
    assert_eq!(chosen(&setup), [] as [usize; 0]);
    // Streamlines hidden by the rules cannot be picked.
    setup.set_rules(StreamlineRules::new(all).limited(limit(weight(), Some(10.0), None)));
    setup.act(pick(DVec2::new(123.0, 73.0), SelectionMode::Replace));
    assert_eq!(chosen(&setup), [] as [usize; 0]);
    let outline = [(100.0, 95.0), (120.0, 95.0), (120.0, 131.0), (100.0, 131.0)];
    setup.act(StreamlineAction::Pick {
        screen: screen.clone(),
        target: PickQuery::Within(outline.map(|(x, y)| DVec2::new(x, y)).to_vec()),
        mode: SelectionMode::Replace,
    });
    assert_eq!(chosen(&setup), [10, 11, 12, 13]);
    setup.window.act(Action::Escape);
    assert_eq!(chosen(&setup), [] as [usize; 0]);
    assert_eq!(setup.window.state.runtime.selected_layer, Some(all));
}
