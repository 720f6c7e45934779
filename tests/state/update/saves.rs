//! Saved and unsaved work, and the messages in the status and on the badge.

use super::{Window, opened};
use crate::support::{saved_event, test, thread_time};
use arcuate::data::{Mask, Role, Shape, Tractogram};
use arcuate::io::convert::Converted;
use arcuate::jobs::{Delivery, Outcome};
use arcuate::solvers::curves::Seeding;
use arcuate::solvers::tractogram::selection::{Edit, Runs};
use arcuate::state::core::display;
use arcuate::state::core::layer::OriginId;
use arcuate::state::core::text::counted;
use arcuate::state::files::jobs::{ConvertedFiles, SAVE, SaveWithValues};
use arcuate::state::origin::Origin;
use arcuate::state::pathways::PathwayAction;
use arcuate::state::regions::jobs::SaveRegion;
use arcuate::state::sessions::saved;
use arcuate::state::sessions::unsaved::UnsavedPart;
use arcuate::state::streamlines::SelectionMode;
use arcuate::state::track::empty::started_count;
use arcuate::state::{
    Action, Content, Event, FilesAction, Layer, LayerAction, LayerId, Method, Phase, RegionAction,
    State, StreamlineAction, Task, TrackAction, ViewAction, update,
};
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::saves::pictures_save_no_work", pictures),
        test("update::saves::permanent losses are listed first", order),
        test(
            "update::saves::a pathway's width is a parameter",
            pathway_width,
        ),
        test("update::saves::later_edits_are_not_in_a_file", later_edits),
        test(
            "update::saves::kept_streamlines_count_as_unsaved_work",
            kept_streamlines,
        ),
        test("update::saves::kept_layers_have_names_of_their_own", names),
        test("update::saves::companion_files_are_named", companions),
        test(
            "update::saves::a mask in its own file is saved",
            one_file_each,
        ),
        test("update::saves::nothing_follows_a_failure", after_a_failure),
        test("update::saves::a_success_hides_no_failure", two_saves),
        test("update::saves::the window writes no long lists", long_lists),
        test(
            "update::saves::messages of tracking appear where it is shown",
            elsewhere,
        ),
        test(
            "update::saves::a folder that took no file is not remembered",
            failed_folder,
        ),
        test(
            "update::saves::regions_are_drawn_by_a_job",
            regions_by_a_job,
        ),
    ]
}

fn saved() -> Action {
    Action::Event(saved_event(0, "/data/out", "something"))
}

fn pictures() {
    let mut window = Window::fitted();
    assert!(!window.state.is_dirty(), "nothing was done yet");
    window.place(Role::Seed, DVec3::ZERO);
    window.act(saved());
    assert!(window.state.is_dirty());
}

/// Kept streamlines can be recomputed: regions and parameters are named before them, and only the task that changed.
fn order() {
    let mut window = Window::fitted();
    window.place(Role::Seed, DVec3::ZERO);
    window.act(Action::Track(TrackAction::Keep));
    let mut params = window.state.document.track.streamlines.clone();
    params.min_length_mm += 1.0;
    let phase = Phase::Done;
    window.act(Action::Track(TrackAction::SetStreamlines { params, phase }));
    let lines = window.state.unsaved_lines();
    assert_eq!(lines[..2], ["1 region", "Parameters of tracking"]);
    assert!(lines[2].contains("streamline"), "{lines:?}");
}

/// The question before closing names the task whose width was changed.
fn pathway_width() {
    let mut window = Window::fitted();
    let mut settings = window.state.document.pathways.clone();
    settings.epsilon = 0.12;
    let phase = Phase::Done;
    window.act(Action::Pathway(PathwayAction::Set { settings, phase }));
    assert_eq!(window.state.unsaved_lines(), ["Parameters of pathways"]);
}

/// A layer that was edited while its file was written is in no file.
fn later_edits() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::fitted();
    window.place(Role::Seed, DVec3::ZERO);
    window.act(Action::Track(TrackAction::Keep));
    let layer = window.state.runtime.selected_layer.expect("kept");
    let dirty = |window: &Window| {
        let things = window.state.unsaved();
        let is = |t: &UnsavedPart| matches!(t, UnsavedPart::Layer { layer: l, .. } if *l == layer);
        things.iter().any(is)
    };
    let path = folder.path().join("t.tck");
    let save = Action::Files(FilesAction::SaveStreamlines {
        layer: Some(layer),
        path,
    });
    assert!(dirty(&window));
    window.holding = true;
    window.act(save.clone());
    window.act(Action::Streamline(StreamlineAction::Choose {
        streamlines: vec![0],
        mode: SelectionMode::Replace,
        anchor: None,
    }));
    window.holding = false;
    window.act(Action::Streamline(StreamlineAction::DeleteChosen));
    window.deliver(|_| {});
    assert!(dirty(&window), "changed while it was written");
    window.act(save);
    assert!(!dirty(&window), "{}", window.state.runtime.notices.status);
}

/// A layer that is kept after another was deleted does not take the name of one that stays.
fn names() {
    let mut window = Window::fitted();
    window.place(Role::Seed, DVec3::ZERO);
    let keep = |window: &mut Window| {
        window.act(Action::Track(TrackAction::Keep));
        let kept = window.state.runtime.selected_layer.expect("kept");
        let layer = window.state.document.layer(kept).expect("a layer");
        (kept, layer.name.clone())
    };
    let (first, name) = keep(&mut window);
    assert_eq!(name, "Streamlines");
    assert_eq!(keep(&mut window).1, "Streamlines 2");
    window.act(Action::Layer(LayerAction::Delete(first)));
    assert_eq!(keep(&mut window).1, "Streamlines");
    assert_eq!(keep(&mut window).1, "Streamlines 3");
}

fn kept_streamlines() {
    let mut window = Window::fitted();
    assert!(!window.state.is_dirty());
    let seed = window.place(Role::Seed, DVec3::ZERO);
    window.act(Action::Track(TrackAction::Keep));
    window.act(Action::Region(RegionAction::Delete(seed)));
    assert!(window.state.document.regions.is_empty());
    assert!(window.state.is_dirty());
}

fn errors(window: &Window) -> Vec<String> {
    let messages = window.state.runtime.notices.messages.iter();
    messages.map(|m| m.text.clone()).collect()
}

fn failed_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::fitted();
    let region = window.place(Role::Seed, DVec3::ZERO);
    let mut save = |path: PathBuf| {
        window.act(Action::Region(RegionAction::Save { region, path }));
        let runtime = &window.state.runtime;
        (
            runtime.files.exports.clone(),
            runtime.notices.status.clone(),
        )
    };
    let (good, _) = save(folder.path().join("a.nii.gz"));
    assert_eq!(good.folder.as_deref(), Some(folder.path()));
    let (after, status) = save(folder.path().join("nowhere/b.nii.gz"));
    assert_eq!(after, good);
    assert!(status.starts_with("Not saved: "), "{status}");
    let (next, status) = save(folder.path().join("c.nii.gz"));
    assert_eq!(next.last["region"], "c.nii.gz");
    assert!(status.starts_with("Saved "), "{status}");
}

/// Rays go to several files: where one cannot be written all others stay unchanged.
fn after_a_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let mut window = Window::fitted();
    window.act(Action::Track(TrackAction::SetMethod(Method::Rays)));
    let mut rays = window.state.document.track.rays.clone();
    rays.params.curves.min_length_mm = 5.0;
    rays.params.curves.seeding = Seeding::Random { count: 20 };
    let phase = Phase::Done;
    window.act(Action::Track(TrackAction::SetRays { rays, phase }));
    window.place(Role::Seed, DVec3::ZERO);
    let mut save = |name: &str| {
        window.act(Action::Files(FilesAction::SaveStreamlines {
            layer: None,
            path: path(name),
        }));
        errors(&window)
    };
    // No file can be written where a folder has its name.
    std::fs::create_dir(path("a.tck")).expect("a folder");
    for name in ["a.tsf", "a.weights.txt"] {
        std::fs::write(path(name), "old").expect("written");
    }
    let message = save("a.tck");
    assert_eq!(message.len(), 1, "{message:?}");
    assert!(message[0].ends_with("a.tck"), "{message:?}");
    for name in ["a.tsf", "a.weights.txt"] {
        assert_eq!(std::fs::read(path(name)).expect("read"), b"old", "{name}");
    }
    std::fs::create_dir(path("b.tsf")).expect("a folder");
    let message = save("b.tck");
    assert_eq!(
        message.len(),
        1,
        "the next takes the last one's away: {message:?}"
    );
    assert!(message[0].ends_with("b.tsf"), "{message:?}");
    let names = |begin: &str| {
        let all = std::fs::read_dir(folder.path()).expect("a folder");
        let all = all.map(|e| {
            e.expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        });
        let mut names: Vec<String> = all.filter(|n| n.starts_with(begin)).collect();
        names.sort();
        names
    };
    assert_eq!(names("b."), ["b.tsf"], "nothing but the folder");
    assert_eq!(save("c.tck"), Vec::<String>::new());
    let written = names("c.");
    for name in ["c.tck", "c.tsf", "c.weights.txt", "c.fa.tsf"] {
        assert!(written.iter().any(|w| w == name), "{written:?}");
    }
    // The files next to it are read too.
    let opened = arcuate::io::open(&path("c.tck"), &Default::default()).expect("opened");
    let arcuate::io::Opened::Tractogram(found, info) = opened else {
        panic!("streamlines")
    };
    assert_eq!(info.warnings, Vec::<String>::new());
    assert!(
        ["fa", "cm"]
            .iter()
            .all(|n| found.per_point.contains_key(*n)),
        "{found:?}"
    );
    assert!(names(".").is_empty(), "{:?}", names("."));
    // One export is one job.
    let saves = window.submitted.iter().filter(|job| job.slot() == SAVE);
    assert_eq!(saves.count(), 3);
}

/// With two queued files the second must not discard the outcome of the first.
fn two_saves() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::fitted();
    let region = window.place(Role::Seed, DVec3::ZERO);
    window.holding = true;
    for name in ["no/such/folder/r.nii.gz", "r.nii.gz"] {
        let path = folder.path().join(name);
        window.act(Action::Region(RegionAction::Save { region, path }));
    }
    window.deliver(|_| {});
    assert!(folder.path().join("r.nii.gz").exists());
    assert_eq!(errors(&window).len(), 1);
}

fn regions_by_a_job() {
    let mut state = State::new(String::new());
    update(&mut state, Action::Event(opened()));
    let shape = Shape::Sphere {
        centre: DVec3::ZERO,
        radius_mm: 5.0,
    };
    let role = Role::Seed;
    update(
        &mut state,
        Action::Region(RegionAction::Add { role, shape }),
    );
    let region = state.runtime.regions.selected.expect("selected");
    let path = PathBuf::from("/data/r.nii");
    let effects = update(
        &mut state,
        Action::Region(RegionAction::Save { region, path }),
    );
    use arcuate::state::Effect;
    let [Effect::Store, save] = &effects[..] else {
        panic!("{effects:?}")
    };
    let Some(SaveRegion { shape, grid, .. }) = save.job() else {
        panic!("{effects:?}")
    };
    let mask = shape.mask_on(grid);
    let volume = state.document.layers[0].content.volume().expect("the scan");
    assert!(mask.grid.same_space(&volume.grid, 0.0));
    for i in 0..grid.voxel_count() {
        let world = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        assert_eq!(mask.inside[i] == 1, world.length() <= 5.0, "{world}");
    }
}

/// Streamlines selected by the user form a long list, which the worker that writes it turns into text.
fn long_lists() {
    const COUNT: usize = 1_000_000;
    let mut state = State::new(String::new());
    let path = PathBuf::from("/data/all.trx");
    let id = LayerId(7);
    let lines = Tractogram::empty();
    let marks: Vec<bool> = (0..COUNT).map(|i| i % 2 == 0).collect();
    let steps = [Edit::Keep(Runs::new(&marks))];
    let origins = &mut state.document.origins;
    let origin = origins.add(Origin::file(&path));
    let origin = origins.edited(origin, &steps);
    let layer = Layer::new(
        id,
        "all".to_owned(),
        Content::Tractogram(lines),
        display::line_display(),
        origin,
    );
    state.document.layers.push(Arc::new(layer));
    let seconds = |work: &mut dyn FnMut()| {
        let one = |work: &mut dyn FnMut()| {
            let before = thread_time();
            work();
            (thread_time() - before).as_secs_f64()
        };
        (0..3).map(|_| one(work)).fold(f64::INFINITY, f64::min)
    };
    let draft = saved::autosave(&state);
    let text = draft.content.value();
    let runs = &text["origins"][1]["edited"]["step"]["keep"]["runs"];
    assert_eq!(runs.as_array().map(Vec::len), Some(COUNT / 2));
    let reported = seconds(&mut || drop(draft.content.value()));
    let requested = seconds(&mut || drop(saved::autosave(&state)));
    assert!(
        requested < 0.25 * reported,
        "{requested} s in the window, {reported} s elsewhere"
    );
}

/// Messages about live streamlines, in the status, as a note and on the badge, appear where they are shown.
fn elsewhere() {
    let mut window = Window::fitted();
    let too_early = |window: &mut Window| {
        window.act(Action::Track(TrackAction::Keep));
        window.state.runtime.notices.messages.len()
    };
    assert_eq!(too_early(&mut window), 1);
    for (task, seen) in [
        (Task::View, true),
        (Task::Filter, false),
        (Task::Pathways, false),
    ] {
        window.act(Action::View(ViewAction::SelectTask(Task::Track)));
        assert_eq!(too_early(&mut window), 1);
        window.act(Action::View(ViewAction::SelectTask(task)));
        assert_eq!(
            window.state.runtime.notices.messages.len(),
            usize::from(seen),
            "{task:?}"
        );
    }
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    too_early(&mut window);
    window.place(Role::Seed, DVec3::ZERO);
    assert!(
        window.state.runtime.notices.messages.is_empty(),
        "there is a result now"
    );
    assert!(
        window
            .state
            .runtime
            .notices
            .status
            .contains(" streamlines from ")
    );
    // Counted as in the panel: by the seeds that started.
    let live = window
        .state
        .runtime
        .track
        .live
        .value()
        .expect("streamlines");
    let started = counted(started_count(&live.output) as usize, "started seed");
    let status = window.state.runtime.notices.status.to_string();
    assert!(status.contains(&format!(" from {started} in ")), "{status}");
    let badge = |window: &Window| arcuate::ui::views::badge::text(&window.state);
    assert!(badge(&window).is_some_and(|(text, _)| text.starts_with("Final")));
    window.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    assert!(badge(&window).is_none(), "{:?}", badge(&window));
    assert_eq!(window.state.runtime.notices.status, "");
    // Nor does the status name curves that are tracked in that task, or the curves after an undo.
    window.place(Role::Seed, DVec3::X);
    assert!(
        !window
            .state
            .runtime
            .notices
            .status
            .contains(" streamlines from ")
    );
    for task in [Task::Filter, Task::Pathways] {
        window.act(Action::View(ViewAction::SelectTask(Task::Track)));
        window.place(Role::Seed, DVec3::ZERO);
        window.act(Action::Undo);
        let status = window.state.runtime.notices.status.clone();
        assert!(status.starts_with("Undone: "), "{status}");
        assert!(status.contains(" streamlines from "), "{status}");
        window.act(Action::View(ViewAction::SelectTask(task)));
        assert_eq!(window.state.runtime.notices.status, "", "{task:?}");
    }
}

/// Masks exported one file each are held whole by these files, and commands name them; a later file in the place of one
/// makes its mask unsaved again.
fn one_file_each() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::fitted();
    let grid = window.tensors().field.grid.clone();
    let inside = (0..grid.voxel_count()).map(|i| u8::from(i % 5 == 0));
    let mask = Mask::new(grid.clone(), inside.collect::<Vec<u8>>());
    let document = &mut window.state.document;
    let id = LayerId(document.fresh_id());
    let (content, display) = (Content::Mask(mask), display::mask_display());
    let layer = Layer::new(
        id,
        "drawn".to_owned(),
        content,
        display,
        OriginId::default(),
    );
    document.layers.push(Arc::new(layer));
    window.act(Action::Region(RegionAction::FromLayer {
        layer: id,
        role: Role::Target,
    }));
    window.place(Role::Seed, DVec3::ZERO);
    let in_memory = |window: &Window| {
        let parts = window.state.unsaved();
        let is =
            |part: &UnsavedPart| matches!(part, UnsavedPart::Layer { layer, .. } if *layer == id);
        parts.iter().any(is)
    };
    let named = |window: &Window| {
        let document = &window.state.document;
        document.specs(&[(*document.regions[0]).clone()]).is_ok()
    };
    assert!(in_memory(&window) && !named(&window));
    let save_all = |window: &mut Window| {
        window.act(Action::Region(RegionAction::SaveAll {
            path: folder.path().join("m.nii.gz"),
            as_labels: false,
        }));
        let status = &window.state.runtime.notices.status;
        assert!(status.starts_with("Saved "), "{status}");
    };
    save_all(&mut window);
    assert!(!in_memory(&window) && named(&window));
    // A mask file holds neither role nor colour: these are in no file.
    assert!(window.state.unsaved().contains(&UnsavedPart::Regions(2)));
    let [drawn, seed] = [0, 1].map(|i| window.state.document.regions[i].id);
    let own = folder.path().join("m_drawn.nii.gz");
    assert!(own.exists());
    for (region, is_saved) in [(seed, false), (drawn, true)] {
        let path = own.clone();
        window.act(Action::Region(RegionAction::Save { region, path }));
        assert_eq!(!in_memory(&window), is_saved, "{region:?}");
        assert_eq!(named(&window), is_saved, "{region:?}");
    }
    // A surface does not hold the voxels.
    window.act(Action::Region(RegionAction::Save {
        region: seed,
        path: own,
    }));
    window.act(Action::Region(RegionAction::Save {
        region: drawn,
        path: folder.path().join("m.stl"),
    }));
    assert!(in_memory(&window) && !named(&window));
    save_all(&mut window);
    assert!(!in_memory(&window) && named(&window));
}

/// The status of an export names every written file.
fn companions() {
    let mut window = Window::fitted();
    let done = Converted {
        content: "9 streamlines".to_owned(),
        written: ["a.tck", "a.fa.tsf", "a.commit.weights.txt"]
            .map(|name| Path::new("/data").join(name))
            .to_vec(),
        notes: Vec::new(),
        unsupported_contents: Vec::new(),
    };
    let job = SaveWithValues {
        tractogram: Tractogram::new(Vec::<[f32; 3]>::new(), vec![0]),
        only: None,
        path: PathBuf::from("/data/a.tck"),
        command: String::new(),
        replace: true,
    };
    let delivery = Delivery {
        slot: SAVE,
        ticket: 0,
        wall_ms: 1.0,
        outcome: Outcome::Done(ConvertedFiles {
            converted: done,
            whole: None,
        }),
    };
    window.act(Action::Event(Event::new(job, delivery)));
    assert_eq!(
        window.state.runtime.notices.status,
        "Saved and verified 9 streamlines with a.fa.tsf, a.commit.weights.txt: /data/a.tck"
    );
}
