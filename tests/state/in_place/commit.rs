//! COMMIT on streamlines that stay in their file: weights, figures, maps, sums and files are those of streamlines in
//! memory.

use super::{Setup, act, reopened};
use crate::support::fields::cube;
use crate::support::session_window::Window;
use crate::support::test;
use arcuate::compute::{Backend, BackendChoice, Control};
use arcuate::data::{Role, Shape, Tractogram, Volume};
use arcuate::io::disk::{self, Operation};
use arcuate::io::{InPlace, Opened, Reading, nifti};
use arcuate::solvers::commit;
use arcuate::solvers::commit::lines::Lines as _;
use arcuate::solvers::commit::model::{Intra, Model};
use arcuate::state::core::display::LineColouring;
use arcuate::state::files::jobs::open::StayInFile;
use arcuate::state::filter::jobs::{FileLines, SumBundles};
use arcuate::state::filter::{
    ExcludedStreamlines, FilterAction, FilterFile, FittedWeights, ShownStreamlines, WEIGHT,
    WeightMap,
};
use arcuate::state::sessions::unsaved::UnsavedPart;
use arcuate::state::streamlines::in_place::in_place;
use arcuate::state::streamlines::{BottomPanel, Column, TableView, streamlines_of};
use arcuate::state::{
    Action, Content, Effect, Layer, LayerAction, LayerId, Phase, RegionAction, StreamlineAction,
    Task, ViewAction, update,
};
use glam::dvec3;
use libtest_mimic::Trial;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const COUNT: usize = 1200;

pub fn tests() -> Vec<Trial> {
    vec![
        test("in_place::commit gives the same results", same_results),
        test("in_place::commit keeps and exports", kept),
        test("in_place::commit in sessions", sessions),
        test("in_place::commit reads the file once to count", surveyed),
        test(
            "in_place::commit waits for the count that runs",
            counted_once,
        ),
        test("in_place::sums take over the count of the file", summed),
        test("in_place::commit without its layers", deleted),
        test("in_place::exported weights are saved", exported),
    ]
}

/// A window with streamlines and an image of densities, in the task Filter.
fn opened(setup: &Setup, stay: StayInFile) -> (Window, LayerId) {
    let (mut window, layer) = setup.window(stay);
    let image = setup.folder.path().join("image.nii.gz");
    let grid = Arc::new(cube(40, 3.0));
    let value = |i: usize| 1.0 + (0.3 * grid.voxel(i)[0] as f32).sin();
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    nifti::save_volume(
        &image,
        &Volume::scalar(grid.clone(), values),
        "x",
        &Control::new(),
    )
    .unwrap();
    window.open(&image);
    filter(
        &mut window,
        FilterAction::Params {
            params: Some(commit::Params {
                model: Model {
                    intra: Intra::Density,
                    extra: Vec::new(),
                    free: Vec::new(),
                },
                ..commit::Params::defaults_for(1)
            }),
            phase: Phase::Done,
        },
    );
    window.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    assert_eq!(window.state.cannot_filter(), None);
    (window, layer)
}

fn filter(window: &mut Window, action: FilterAction) {
    window.act(Action::Filter(action));
}

fn fitted(setup: &Setup, stay: StayInFile) -> (Window, LayerId) {
    let (mut window, layer) = opened(setup, stay);
    filter(&mut window, FilterAction::Run);
    let own = window.state.document.layer(layer).unwrap();
    assert_eq!(in_place(own).is_some(), stay != StayInFile::Never);
    assert!(
        window.state.document.weights_of_layer(own).is_some(),
        "{}",
        window.messages()
    );
    (window, layer)
}

fn own(window: &Window, layer: LayerId) -> Arc<Layer> {
    window.state.document.layer(layer).unwrap().clone()
}

fn weights(window: &Window, layer: LayerId) -> (FittedWeights, Vec<f32>) {
    let own = own(window, layer);
    let (fitted, weights) = window.state.document.weights_of_layer(&own).unwrap();
    ((**fitted).clone(), weights.to_vec())
}

fn map(window: &Window, layer: LayerId, map: &WeightMap) -> Vec<f32> {
    let layer = window.state.document.weight_map(layer, map);
    let volume = layer.expect("a map").content.volume().unwrap();
    volume.frame(0).to_vec()
}

/// How many streamlines are shown.
fn shown(window: &Window, layer: LayerId) -> Option<usize> {
    let in_file = window.state.counted_in_place(layer);
    let in_memory = window.state.selection(layer).map(|s| s.kept);
    in_memory.or(in_file.map(|kept| kept.outline.streamlines))
}

fn same_results() {
    let setup = Setup::new("a.trx", COUNT);
    let windows = [StayInFile::Above(0), StayInFile::Never].map(|stay| {
        let (mut window, layer) = opened(&setup, stay);
        let needs = window.state.runtime.filter.estimate.shown();
        let segments = needs.expect("counted").1.demand.segments;
        filter(&mut window, FilterAction::Run);
        let shape = Shape::Sphere {
            centre: dvec3(10.0, 0.0, 0.0),
            radius_mm: 12.0,
        };
        let role = Role::Seed;
        window.act(Action::Region(RegionAction::Add { role, shape }));
        (window, layer, segments)
    });
    let [(file, in_file, counted), (memory, in_memory, segments)] = &windows;
    assert_eq!(counted, segments);
    let (of_file, of_memory) = (weights(file, *in_file), weights(memory, *in_memory));
    assert_eq!(of_file.1.len(), COUNT);
    assert!(of_file.1 == of_memory.1, "weights");
    let (f, m) = (&of_file.0.figures, &of_memory.0.figures);
    assert_eq!(f.bundles, m.bundles);
    assert!(f.bundles["third"] > 0.0 && f.rest > 0.0);
    assert_eq!(
        (f.segments, f.voxels, f.outside, f.iterations, f.objective),
        (m.segments, m.voxels, m.outside, m.iterations, m.objective)
    );
    assert_eq!(of_file.0.sorted, of_memory.0.sorted);
    let error = map(file, *in_file, &WeightMap::Error);
    assert!(error == map(memory, *in_memory, &WeightMap::Error));
    // Streamlines with a weight are shown, in the colours of the weights.
    let kept = of_file.0.count_above(f32::MIN_POSITIVE);
    assert!(kept > 0 && kept < COUNT);
    assert_eq!(shown(file, *in_file), Some(kept));
    let layer = own(file, *in_file);
    assert_eq!(layer.display.line_colouring, LineColouring::Weight);
    let drawn = file.state.drawn_streamlines(&layer).unwrap();
    let sample = file.state.picture_in_place(&layer).unwrap();
    assert_eq!(sample.numbers.len(), kept);
    let colours = drawn
        .per_streamline
        .get(WEIGHT)
        .expect("weights as colours");
    for (number, weight) in sample.numbers.iter().zip(colours.iter()) {
        assert_eq!(*weight, of_file.1[*number as usize]);
    }
    let all = arcuate::scene::tractograms(&file.state);
    let coloured = all.iter().find(|(lines, _)| lines.id() == drawn.id());
    let (_, display) = coloured.expect("drawn streamlines");
    assert_eq!(display.window, of_file.0.window());
    // Bundles, and the streamlines that pass a region.
    let sums = |window: &Window| {
        let (_, sums) = window.state.runtime.filter.sums.shown().expect("sums");
        let region = &sums.bundles[0];
        let numbers = (region.count, region.sum, sums.ungrouped);
        (numbers, region.marks.to_vec(), sums.groups.clone())
    };
    let (numbers, marks, groups) = sums(file);
    assert!(numbers.0 > 0 && numbers.1 > 0.0, "{numbers:?}");
    assert!((numbers, marks, groups) == sums(memory), "sums");
    let texts = [file, memory].map(|window| {
        let command = arcuate::state::update::filter_command(&window.state);
        let methods = arcuate::state::methods::methods(&window.state);
        (command.expect("a command").text(), methods)
    });
    assert!(texts[0].0.contains("arcuate commit"), "{}", texts[0].0);
    assert_eq!(texts[0], texts[1]);
    // A virtual lesion of what passes the region.
    let lesions = windows.map(|(mut window, layer, _)| {
        let region = window.state.document.regions[0].id;
        let what = ExcludedStreamlines::Region(region);
        filter(&mut window, FilterAction::Lesion(what));
        let lesions = weights(&window, layer).0.lesions;
        assert_eq!(lesions.len(), 1, "{}", window.messages());
        // Undo brings back the streamlines without weights; redo, those with.
        for _ in 0..3 {
            window.act(Action::Undo);
        }
        assert!(window.state.document.weights.is_empty());
        let own = own(&window, layer);
        assert!(window.state.document.weights_of_layer(&own).is_none());
        for _ in 0..3 {
            window.act(Action::Redo);
        }
        assert_eq!(weights(&window, layer).0.lesions, lesions);
        lesions
    });
    assert_eq!(lesions[0], lesions[1]);
}

fn kept() {
    let setup = Setup::new("a.trx", COUNT);
    let outcomes = [StayInFile::Above(0), StayInFile::Never].map(|stay| {
        let (mut window, layer) = fitted(&setup, stay);
        let sorted = weights(&window, layer).0.sorted;
        let min_weight = sorted[sorted.len() / 2];
        let phase = Phase::Done;
        filter(&mut window, FilterAction::Cut { min_weight, phase });
        let left = sorted.len() - sorted.len() / 2;
        let mut numbers = vec![shown(&window, layer)];
        for shown_part in [ShownStreamlines::Difference, ShownStreamlines::After] {
            filter(&mut window, FilterAction::Show(shown_part));
            numbers.push(shown(&window, layer));
        }
        assert_eq!(numbers, [Some(left), Some(COUNT - left), Some(left)]);
        let mut files = Vec::new();
        for (what, name) in [
            (FilterFile::Weights, "w.txt"),
            (FilterFile::Histogram, "h.csv"),
            (FilterFile::Kept, "kept.trx"),
            (FilterFile::All, "all.trx"),
        ] {
            let path = setup.folder.path().join(format!("{stay:?} {name}"));
            let (file, to) = (what, path.clone());
            filter(&mut window, FilterAction::Save { file, path: to });
            match name.ends_with("trx") {
                true => {
                    let read = arcuate::io::open(&path, &Control::new()).unwrap();
                    let Opened::Tractogram(lines, _) = read else {
                        panic!("no streamlines");
                    };
                    files.push(lines_as_text(&lines));
                }
                false => files.push(std::fs::read_to_string(&path).unwrap()),
            }
        }
        // The table has the weights, from the largest on.
        let view = TableView {
            column: Some(Column::Value(WEIGHT.to_owned())),
            descending: true,
        };
        act(&mut window, StreamlineAction::Sort(view));
        let table = StreamlineAction::Open(Some(BottomPanel::Table));
        act(&mut window, table);
        let path = setup.folder.path().join(format!("{stay:?} table.csv"));
        act(&mut window, StreamlineAction::SaveTable(path.clone()));
        files.push(std::fs::read_to_string(&path).unwrap());
        filter(&mut window, FilterAction::Keep);
        let layers = window.state.document.layers.iter();
        let mut copies = layers.filter(|l| l.id != layer && streamlines_of(l).is_some());
        let copy = copies
            .next()
            .unwrap_or_else(|| panic!("{}", window.messages()));
        let lines = streamlines_of(copy).unwrap();
        assert_eq!(lines.len(), left);
        assert!(
            lines.per_streamline[WEIGHT]
                .iter()
                .all(|w| *w >= min_weight)
        );
        files.push(lines_as_text(lines));
        // The session keeps some of the file again.
        let path = setup.folder.path().join(format!("{stay:?}.arcuate"));
        let copy = copy.id;
        window.save(&path);
        for reopening in [StayInFile::Above(0), StayInFile::Never] {
            let restored = reopened(&path, reopening);
            let copy = restored.state.document.layer(copy);
            let copy = copy.unwrap_or_else(|| panic!("{}", restored.messages()));
            let lines = streamlines_of(copy).unwrap();
            assert_eq!(Some(&lines_as_text(lines)), files.last(), "{reopening:?}");
        }
        files
    });
    let [of_file, of_memory] = &outcomes;
    assert!(of_file[4].lines().count() > 1 && of_file[4].contains(WEIGHT));
    for (i, (a, b)) in of_file.iter().zip(of_memory).enumerate() {
        assert!(a == b, "file {i}");
    }
}

/// The points and weights of streamlines.
fn lines_as_text(lines: &Tractogram) -> String {
    let weights = lines.per_streamline.get(WEIGHT).map(|w| w.to_vec());
    let curves: Vec<_> = lines.streamlines().collect();
    format!("{curves:?} {weights:?}")
}

fn sessions() {
    let setup = Setup::new("a.tck", COUNT);
    let (mut window, layer) = fitted(&setup, StayInFile::Above(0));
    assert!(window.state.is_dirty());
    let path = setup.folder.path().join("s.arcuate");
    window.save(&path);
    let (before, values) = weights(&window, layer);
    for stay in [StayInFile::Above(0), StayInFile::Never] {
        let restored = reopened(&path, stay);
        let content = &own(&restored, layer).content;
        assert_eq!(
            matches!(content, Content::InPlace(_)),
            stay != StayInFile::Never
        );
        let (fitted, restored_values) = weights(&restored, layer);
        assert!(restored_values == values, "{stay:?}");
        assert_eq!(fitted.figures, before.figures);
        assert!(!restored.state.weights_are_stale());
        let kept = before.count_above(f32::MIN_POSITIVE);
        assert_eq!(shown(&restored, layer), Some(kept));
        assert!(!restored.state.is_dirty(), "{}", restored.messages());
        // The job that read the session has sorted them.
        let read = restored.state.runtime.sessions.opened.clone();
        let sorted = &read.expect("the session").sorted_weights;
        assert!(sorted.values().any(|own| Arc::ptr_eq(own, &fitted.sorted)));
        assert_eq!(fitted.sorted, before.sorted);
    }
}

/// A survey is made once for each grid, also for further values of the same streamlines, and ends when it is cancelled.
fn surveyed() {
    let setup = Setup::new("a.trx", COUNT);
    let control = Control::new();
    let file = InPlace::open(&setup.path, &Reading::default(), &control);
    let file = file.unwrap().expect("a file that stays on the disk");
    let grid = cube(40, 3.0);
    let backend = Backend::choose(&BackendChoice::cpu(Some(2))).unwrap();
    let lines = FileLines::new(&file);
    let stopped = Control::new();
    stopped.cancel();
    let outcome = backend.install(|| lines.survey(&grid, &stopped));
    assert!(
        matches!(outcome, Err(arcuate::solvers::Error::Cancelled)),
        "{outcome:?}"
    );
    let first = backend.install(|| lines.survey(&grid, &control)).unwrap();
    let expected = backend.install(|| setup.lines.survey(&grid, &control));
    assert_eq!(first, expected.unwrap());
    let weighted = file.with_values(WEIGHT, vec![1.0; COUNT].into());
    let reused = FileLines::new(&weighted).with_survey_of(Some(&lines));
    // It does not read the file, which is gone.
    std::fs::remove_file(&setup.path).unwrap();
    assert_eq!(reused.survey(&grid, &control).unwrap(), first);
    assert!(reused.survey(&cube(20, 3.0), &control).is_err());
}

/// Two jobs that need the survey at the same time read the file once; a job that waits can be cancelled.
fn counted_once() {
    let setup = Setup::new("a.tck", COUNT);
    let file = InPlace::open(&setup.path, &Reading::default(), &Control::new());
    let file = file.unwrap().expect("a file that stays on the disk");
    let grid = cube(40, 3.0);
    let backend = Backend::choose(&BackendChoice::cpu(Some(2))).unwrap();
    let (opened, may_read) = (AtomicUsize::new(0), AtomicBool::new(true));
    let (opened, may_read) = (Arc::new(opened), Arc::new(may_read));
    let (counter, gate) = (opened.clone(), may_read.clone());
    let pause = || std::thread::sleep(Duration::from_millis(5));
    let _watch = disk::watch(
        setup.folder.path(),
        Arc::new(move |operation, _| {
            if operation == Operation::Open {
                counter.fetch_add(1, Ordering::SeqCst);
                while !gate.load(Ordering::SeqCst) {
                    pause();
                }
            }
            Ok(())
        }),
    );
    let expected = FileLines::new(&file).count(&grid, &backend, &Control::new());
    let expected = expected.unwrap();
    let once = opened.swap(0, Ordering::SeqCst);
    // The first job waits where it opens the file, until the others have begun.
    may_read.store(false, Ordering::SeqCst);
    let lines = FileLines::new(&file);
    let count = |control: &Control| lines.count(&grid, &backend, control);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| count(&Control::new()));
        while opened.load(Ordering::SeqCst) == 0 {
            pause();
        }
        let stopped = Control::new();
        stopped.cancel();
        let outcome = count(&stopped);
        let second = scope.spawn(|| count(&Control::new()));
        pause();
        may_read.store(true, Ordering::SeqCst);
        let surveys = [first, second].map(|job| job.join().unwrap());
        assert!(
            matches!(outcome, Err(arcuate::solvers::Error::Cancelled)),
            "{outcome:?}"
        );
        assert!(
            surveys
                .into_iter()
                .all(|survey| survey.unwrap() == expected)
        );
    });
    assert_eq!(opened.load(Ordering::SeqCst), once, "passes over the file");
}

/// The sums over weights of a session need the course of the streamlines, and use the survey of the estimate.
fn summed() {
    let setup = Setup::new("a.tck", COUNT);
    let (mut window, _) = fitted(&setup, StayInFile::Above(0));
    let path = setup.folder.path().join("s.arcuate");
    window.save(&path);
    let mut restored = reopened(&path, StayInFile::Above(0));
    restored.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    assert!(restored.state.runtime.filter.previous_fit.is_none());
    assert!(restored.state.runtime.filter.estimate.shown().is_some());
    restored.state.runtime.filter.sums = Default::default();
    let look = Action::View(ViewAction::MoveCrosshair(dvec3(1.0, 2.0, 3.0)));
    let effects = update(&mut restored.state, look);
    let sums = effects.iter().find_map(|effect| effect.job::<SumBundles>());
    let sums = sums.expect("sums").clone();
    assert!(sums.course.is_none());
    let lines = sums.fit.from_file.expect("streamlines in their file");
    // Nothing is read: the file is gone.
    std::fs::remove_file(&setup.path).unwrap();
    let grid = &sums.fit.scan.grid;
    assert!(lines.survey(grid, &Control::new()).is_ok());
}

/// The layers of a fit are deleted while it runs, and afterwards.
fn deleted() {
    for of_scan in [false, true] {
        let setup = Setup::new("a.trx", COUNT);
        let (mut window, layer) = fitted(&setup, StayInFile::Above(0));
        let scan = window.state.document.layer_named("image").unwrap().id;
        let gone = if of_scan { scan } else { layer };
        let mut effects = update(&mut window.state, Action::Filter(FilterAction::Run));
        assert!(window.state.is_filtering());
        window.act(Action::Layer(LayerAction::Delete(gone)));
        // The result of the fit, without its layer.
        for effect in effects.drain(..) {
            if let Effect::Submit(job) = effect {
                let job = window.jobs.submit(job);
                let event = window.jobs.wait(&job, |_| {});
                window.act(Action::Event(event));
            }
        }
        assert!(!window.state.is_filtering());
        filter(&mut window, FilterAction::Run);
        assert!(!window.state.is_filtering());
        assert!(window.state.cannot_filter().is_some());
        // Without its scan, the fit has given weights, which are another step.
        for _ in 0..1 + usize::from(of_scan) {
            window.act(Action::Undo);
        }
        assert!(window.state.document.layer(gone).is_some());
        assert_eq!(window.state.cannot_filter(), None);
    }
}

/// Weights that were exported with all streamlines of a file, or alone, are no unsaved work.
fn exported() {
    for (file, name, is_saved) in [
        (FilterFile::All, "all.trx", true),
        (FilterFile::Weights, "weights.txt", true),
        (FilterFile::Kept, "kept.trx", false),
        (FilterFile::Histogram, "histogram.csv", false),
    ] {
        let setup = Setup::new("a.trx", COUNT);
        let (mut window, _) = fitted(&setup, StayInFile::Above(0));
        let lists_weights = |window: &Window| {
            let parts = window.state.unsaved();
            parts
                .iter()
                .any(|part| matches!(part, UnsavedPart::Weights(_)))
        };
        assert!(lists_weights(&window));
        let path = setup.folder.path().join(name);
        let save = FilterAction::Save {
            file,
            path: path.clone(),
        };
        filter(&mut window, save);
        assert!(path.exists(), "{name}: {}", window.messages());
        assert_eq!(lists_weights(&window), !is_saved, "{name}");
        // Other weights are not in that file.
        filter(&mut window, FilterAction::Run);
        assert!(lists_weights(&window), "{name}");
    }
}
