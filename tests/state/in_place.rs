//! Streamlines that stay in their file: the window computes the same from the file as from streamlines in memory, and
//! refuses what needs all points.

mod commit;
mod values;

use crate::support::fields::cube;
use crate::support::session_window::Window;
use crate::support::{Random, density_map, test};
use arcuate::compute::Control;
use arcuate::data::{Role, Tractogram, Volume};
use arcuate::io::{nifti, streamlines};
use arcuate::state::density::{DensityAction, DensityValue};
use arcuate::state::files::jobs::open::StayInFile;
use arcuate::state::streamlines::in_place::in_place;
use arcuate::state::streamlines::{
    BottomPanel, Column, SelectionMode, StreamlineRules, ValueLimits, streamlines_of,
};
use arcuate::state::{
    Action, Camera, Content, FilesAction, LayerAction, LayerId, Phase, StreamlineAction, ViewAction,
};
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test("in_place::only large files stay", only_large),
        test("in_place::the picture", picture),
        test("in_place::the 3-D view of a part", near),
        test("in_place::filter, keep and export", filtered),
        test("in_place::density, matrix and lengths", computed),
        test("in_place::the table", values::table),
        test("in_place::colours", values::colours),
        test("in_place::weights of a session", values::weights),
        test("in_place::refusals", refusals),
        test("in_place::sessions", sessions),
    ];
    own.into_iter().chain(commit::tests()).collect()
}

/// Random walks in a ball of 60 mm.
fn subject(count: usize) -> Tractogram {
    let mut random = Random::fresh("in place");
    let curves = (0..count).map(|_| {
        let mut at = random.direction() * random.uniform(0.0, 40.0);
        let mut way = random.direction();
        let points = random.uniform(2.0, 50.0) as usize;
        let walk = (0..points).map(|_| {
            way = (way + 0.3 * random.direction()).normalize();
            at += way;
            at.as_vec3().to_array()
        });
        walk.collect::<Vec<_>>()
    });
    let lines = Tractogram::of_curves(curves.collect::<Vec<_>>());
    let weights: Vec<f32> = (0..lines.len()).map(|i| (i % 7) as f32).collect();
    let every: Vec<u32> = (0..lines.len() as u32).step_by(3).collect();
    lines
        .with_per_streamline("own weight", weights)
        .with_group("third", every)
}

struct Setup {
    folder: tempfile::TempDir,
    lines: Tractogram,
    path: PathBuf,
}

impl Setup {
    fn new(name: &str, count: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let lines = subject(count);
        let path = folder.path().join(name);
        streamlines::save(&path, &lines, "x", &Control::new()).unwrap();
        Self {
            folder,
            lines,
            path,
        }
    }

    /// A window in which the streamlines stay in their file, or do not.
    fn window(&self, stay: StayInFile) -> (Window, LayerId) {
        let mut window = Window::new();
        window.state.runtime.files.stay = stay;
        window.open(&self.path);
        let layer = window.state.document.layers.last().expect("a layer").id;
        window.act(Action::Layer(LayerAction::Select(Some(layer))));
        (window, layer)
    }

    fn in_place(&self) -> (Window, LayerId) {
        self.window(StayInFile::Above(0))
    }

    /// A label map with the halves of the head in x.
    fn labels(&self) -> PathBuf {
        let grid = Arc::new(cube(40, 3.0));
        let value = |i: usize| {
            let [x, y, _] = grid.voxel(i);
            (1 + usize::from(x > 19) + 2 * usize::from(y > 19)) as f32
        };
        let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
        let path = self.folder.path().join("labels.nii.gz");
        let volume = Volume::scalar(grid.clone(), values);
        nifti::save_volume(&path, &volume, "x", &Control::new()).unwrap();
        path
    }
}

fn act(window: &mut Window, action: StreamlineAction) {
    window.act(Action::Streamline(action));
}

fn content(window: &Window, layer: LayerId) -> &Content {
    &window.state.document.layer(layer).expect("a layer").content
}

fn only_large() {
    let setup = Setup::new("a.trx", 300);
    for stay in [
        StayInFile::IfLarge,
        StayInFile::Never,
        StayInFile::Above(1 << 30),
    ] {
        let (window, layer) = setup.window(stay);
        assert!(matches!(content(&window, layer), Content::Tractogram(_)));
        assert!(window.state.current_in_place().is_none());
    }
    for name in ["a.trk", "a.vtk"] {
        let path = setup.folder.path().join(name);
        let lines = setup.lines.without_values().with_grid(cube(40, 3.0));
        streamlines::save(&path, &lines, "x", &Control::new()).unwrap();
        let other = Setup {
            path,
            folder: tempfile::tempdir().unwrap(),
            lines,
        };
        let (window, layer) = other.in_place();
        assert!(matches!(content(&window, layer), Content::Tractogram(_)));
    }
}

fn picture() {
    for name in ["a.trx", "a.tck", "b.trx/"] {
        let setup = Setup::new(name, 6000);
        let (window, layer) = setup.in_place();
        let state = &window.state;
        let lines = in_place(state.document.layer(layer).unwrap()).expect("in place");
        assert_eq!(lines.file.len(), 6000);
        assert_eq!(lines.file.point_count(), setup.lines.points.len());
        assert!(lines.first.numbers.len() < 6000, "a first picture");
        // All of them fit into the picture that follows.
        let own = state.document.layer(layer).unwrap();
        let drawn = state.picture_in_place(own).expect("a picture");
        assert!(drawn.is_complete);
        assert_eq!(drawn.numbers.len(), 6000);
        assert_eq!(state.drawn_streamlines(own).unwrap().len(), 6000);
        let sentence = window.messages();
        assert!(
            sentence.contains("6\u{202F}000 streamlines stay in their file"),
            "{sentence}"
        );
        assert!(!state.is_dirty());
        assert!(state.current_streamlines().is_none());
        // Closing the layer and undo bring it back.
        let mut window = window;
        window.act(Action::Layer(LayerAction::Delete(layer)));
        assert!(window.state.runtime.streamlines.in_place.is_empty());
        window.act(Action::Undo);
        let own = window.state.document.layer(layer).unwrap();
        assert_eq!(window.state.drawn_streamlines(own).unwrap().len(), 6000);
    }
}

fn near() {
    // All points of a few streamlines are drawn at once, wherever the view rests.
    let (mut window, layer) = Setup::new("few.trx", 1000).in_place();
    let camera = Camera::around(DVec3::new(10.0, 0.0, 5.0), 12.0);
    let phase = Phase::Done;
    window.act(Action::View(ViewAction::SetCamera { camera, phase }));
    let few = window.state.document.layer(layer).unwrap();
    assert!(window.state.near_streamlines(few).is_none());
    let setup = Setup::new("a.trx", 6000);
    let (mut window, layer) = setup.in_place();
    let own = |window: &Window| window.state.document.layer(layer).unwrap().clone();
    assert!(window.state.near_streamlines(&own(&window)).is_none());
    let camera = Camera::around(DVec3::new(10.0, 0.0, 5.0), 12.0);
    let look = |camera, phase| Action::View(ViewAction::SetCamera { camera, phase });
    window.act(look(camera, Phase::Live));
    // While it moves, the picture of all views suffices.
    assert!(window.state.near_streamlines(&own(&window)).is_none());
    window.act(look(camera, Phase::Done));
    let layer_now = own(&window);
    let near = window
        .state
        .near_streamlines(&layer_now)
        .expect("a picture");
    let whole = window.state.drawn_streamlines(&layer_now).unwrap();
    assert!(near.len() < whole.len() && !near.is_empty());
    // Streamlines through the focus are among them, with smaller steps.
    let focus = camera.focus.as_vec3();
    let points_near = |lines: &Tractogram| {
        let near = |p: &&[f32; 3]| glam::Vec3::from(**p).distance(focus) < 4.0;
        lines.points.iter().filter(near).count()
    };
    let counts = [points_near(near), points_near(whole)];
    assert!(counts[0] >= counts[1] && counts[0] > 0, "{counts:?}");
    window.act(look(Camera::around(camera.focus, 300.0), Phase::Done));
    assert!(window.state.near_streamlines(&own(&window)).is_none());
}

/// Rules by length, region, group and number.
fn rules(window: &mut Window, layer: LayerId) -> Vec<StreamlineRules> {
    window.place(Role::Include, DVec3::new(10.0, 0.0, 0.0), 15.0);
    let new = StreamlineRules::new(layer);
    let by_length = new.clone().limited(ValueLimits {
        column: Column::length(),
        low: Some(12.0),
        high: Some(30.0),
        counting: Default::default(),
    });
    vec![
        by_length.clone(),
        StreamlineRules {
            at_most: Some(40),
            random_seed: 3,
            ..by_length.clone()
        },
        StreamlineRules {
            invert: true,
            ..by_length
        },
        StreamlineRules {
            group: Some("third".to_owned()),
            ..new
        },
    ]
}

fn filtered() {
    for name in ["a.trx", "a.tck"] {
        let setup = Setup::new(name, 3000);
        for case in 0..4 {
            if name == "a.tck" && case == 3 {
                // A TCK has no groups.
                continue;
            }
            let results = [StayInFile::Above(0), StayInFile::Never].map(|stay| {
                let (mut window, layer) = setup.window(stay);
                let rules = rules(&mut window, layer).remove(case);
                act(
                    &mut window,
                    StreamlineAction::SwitchFilter {
                        layer,
                        enabled: true,
                    },
                );
                let phase = Phase::Done;
                act(&mut window, StreamlineAction::SetRules { rules, phase });
                let path = setup.folder.path().join(format!("kept {stay:?}.trx"));
                let own = window.state.document.layer(layer).unwrap().clone();
                let command = arcuate::state::update::selection_command(&window.state, &own);
                window.act(Action::Files(FilesAction::SaveStreamlines {
                    layer: Some(layer),
                    path: path.clone(),
                }));
                if stay != StayInFile::Never {
                    let kept = window.state.counted_in_place(layer).expect("kept");
                    let drawn = window.state.picture_in_place(&own).unwrap();
                    assert!(kept.outline.streamlines > 0, "case {case}");
                    assert_eq!(drawn.numbers.len(), kept.outline.streamlines, "case {case}");
                    let marks = kept.marks();
                    assert!(drawn.numbers.iter().all(|n| marks[*n as usize]));
                }
                act(&mut window, StreamlineAction::Keep);
                let kept = window.state.runtime.selected_layer.expect("selected");
                assert_ne!(kept, layer, "{name} {case}: {}", window.messages());
                let kept = window.state.document.layer(kept).unwrap();
                let lines = streamlines_of(kept).expect("in memory").clone();
                let command_of_kept = window.state.document.command_line(kept).text();
                let bytes = std::fs::read(&path).unwrap();
                let commands = (command.expect("a command").text(), command_of_kept);
                (lines, kept.name.clone(), bytes, commands)
            });
            let [from_file, in_memory] = &results;
            assert_eq!(from_file.0.offsets, in_memory.0.offsets, "{name} {case}");
            assert!(*from_file.0.points == *in_memory.0.points, "{name} {case}");
            assert_eq!(from_file.0.per_streamline, in_memory.0.per_streamline);
            assert_eq!(from_file.0.groups, in_memory.0.groups, "{name} {case}");
            assert_eq!(from_file.1, in_memory.1);
            assert!(from_file.2 == in_memory.2, "{name} {case}: the same file");
            assert_eq!(from_file.3, in_memory.3, "{name} {case}");
        }
    }
}

fn computed() {
    let setup = Setup::new("a.trx", 2500);
    let labels = setup.labels();
    let results = [StayInFile::Above(0), StayInFile::Never].map(|stay| {
        let (mut window, layer) = setup.window(stay);
        window.open(&labels);
        window.act(Action::Layer(LayerAction::Select(Some(layer))));
        window.act(Action::Density(DensityAction::Map {
            layer: Some(layer),
            options: density_map(DensityValue::Length),
        }));
        let map = window.state.runtime.selected_layer.expect("the map");
        let map = window.state.document.layer(map).unwrap().clone();
        let density = map.content.volume().expect("a map").values.to_vec();
        window.act(Action::Layer(LayerAction::Select(Some(layer))));
        let labels = window.state.document.layer_named("labels").unwrap().id;
        let connect = arcuate::state::streamlines::ConnectSettings {
            labels: Some(labels),
            ..window.state.document.streamlines.connect.clone()
        };
        act(&mut window, StreamlineAction::SetConnect(connect));
        act(
            &mut window,
            StreamlineAction::Open(Some(BottomPanel::Matrix)),
        );
        let matrix = window.state.runtime.streamlines.connect.shown();
        let matrix = matrix.expect("a matrix").1.connectome.clone();
        let panel = arcuate::state::update::panel_command(&window.state, BottomPanel::Matrix);
        let command = window.state.document.command_line(&map).text();
        let commands = (command, panel.expect("a command").text());
        (
            density,
            (matrix.count.to_vec(), matrix.length_mm.to_vec()),
            commands,
        )
    });
    assert!(results[0].0.iter().any(|v| *v > 0.0));
    assert_eq!(results[0].0, results[1].0, "density");
    assert!(results[0].1.0.iter().sum::<u32>() > 1000);
    assert_eq!(results[0].1, results[1].1, "matrix");
    assert_eq!(results[0].2, results[1].2, "commands");
    let (mut window, layer) = setup.in_place();
    assert!(window.state.lengths_in_place(layer).is_none());
    act(&mut window, StreamlineAction::MeasureLengths(layer));
    let figures = window
        .state
        .lengths_in_place(layer)
        .expect("lengths")
        .clone();
    let mut lengths: Vec<f32> = (0..setup.lines.len())
        .map(|i| setup.lines.length_mm(i))
        .collect();
    lengths.sort_by(f32::total_cmp);
    assert_eq!(figures.count, lengths.len());
    let expected = (
        lengths[0],
        lengths[lengths.len() / 2],
        lengths[lengths.len() - 1],
    );
    assert_eq!((figures.low, figures.median, figures.high), expected);
    // The report and the methods count all of them.
    let methods = arcuate::state::methods::methods(&window.state);
    assert!(
        methods.contains("2\u{202F}500 streamlines “a”"),
        "{methods}"
    );
}

fn refusals() {
    let setup = Setup::new("a.trx", 300);
    let (mut window, layer) = setup.in_place();
    let before = window.messages();
    act(
        &mut window,
        StreamlineAction::ChoosePair {
            row: 0,
            column: 0,
            mode: SelectionMode::Replace,
        },
    );
    let sentence = window.messages().replace(&before, "");
    assert!(
        sentence.contains("needs all points of “a” in memory"),
        "{sentence}"
    );
    // A fit reads them from there; it lacks a scan.
    let filter = window.state.cannot_filter().expect("a reason");
    assert!(filter.contains("no scan with gradients"), "{filter}");
    // The file itself is not overwritten.
    let bytes = std::fs::read(&setup.path).unwrap();
    window.act(Action::Files(FilesAction::SaveStreamlines {
        layer: Some(layer),
        path: setup.path.clone(),
    }));
    assert!(window.messages().contains("cannot be written into it"));
    assert!(std::fs::read(&setup.path).unwrap() == bytes);
    // Without a filter, all of them are exported.
    let copy = setup.folder.path().join("copy.trx");
    window.act(Action::Files(FilesAction::SaveStreamlines {
        layer: Some(layer),
        path: copy.clone(),
    }));
    assert!(
        std::fs::read(&copy).unwrap() == bytes,
        "{}",
        window.messages()
    );
    for panel in BottomPanel::ALL {
        act(&mut window, StreamlineAction::Open(Some(panel)));
        assert!(window.state.current_streamlines().is_none());
    }
    // A file that was shortened meanwhile.
    std::fs::write(&setup.path, &bytes[..bytes.len() / 2]).unwrap();
    act(&mut window, StreamlineAction::MeasureLengths(layer));
    assert!(window.state.lengths_in_place(layer).is_none());
    assert!(
        window.messages().contains("while it was read"),
        "{}",
        window.messages()
    );
}

fn reopened(path: &Path, stay: StayInFile) -> Window {
    let mut window = Window::new();
    window.state.runtime.files.stay = stay;
    window.open(path);
    window
}

fn sessions() {
    let setup = Setup::new("a.trx", 1500);
    let (mut window, layer) = setup.in_place();
    let rules = rules(&mut window, layer).remove(0);
    act(
        &mut window,
        StreamlineAction::SwitchFilter {
            layer,
            enabled: true,
        },
    );
    let phase = Phase::Done;
    act(&mut window, StreamlineAction::SetRules { rules, phase });
    window.act(Action::Density(DensityAction::Map {
        layer: Some(layer),
        options: density_map(DensityValue::Count),
    }));
    window.act(Action::Layer(LayerAction::Select(Some(layer))));
    act(&mut window, StreamlineAction::Keep);
    let path = setup.folder.path().join("s.arcuate");
    window.save(&path);
    let kept = |window: &Window| {
        let layers = window.state.document.layers.iter();
        let lines = layers.filter_map(|l| streamlines_of(l));
        lines.map(|lines| lines.points.to_vec()).collect::<Vec<_>>()
    };
    let maps = |window: &Window| {
        let layers = window.state.document.layers.iter();
        let maps = layers.filter_map(|l| l.content.volume());
        maps.map(|map| map.values.to_vec()).collect::<Vec<_>>()
    };
    for stay in [StayInFile::Above(0), StayInFile::Never] {
        let restored = reopened(&path, stay);
        assert_eq!(
            restored.state.document.layers.len(),
            3,
            "{}",
            restored.messages()
        );
        let stays = restored.state.document.layers.iter();
        let stays = stays.filter(|l| in_place(l).is_some()).count();
        assert_eq!(stays, usize::from(stay != StayInFile::Never));
        let expected = kept(&window);
        assert!(kept(&restored).ends_with(&expected), "{stay:?}");
        assert_eq!(maps(&restored), maps(&window), "{stay:?}");
        assert!(restored.state.document.missing_layers().next().is_none());
        assert!(!restored.state.is_dirty(), "{}", restored.messages());
    }
}
