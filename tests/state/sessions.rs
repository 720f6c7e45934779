//! The table of origins in a session: each occurs once, after those that it is computed from, and is restored.

mod fibres;
mod line_colours;
mod surface;
mod views;
mod warps;

use crate::support::session_window::{Window, document_text};
use crate::support::{distributions, test};
use arcuate::compute::Control;
use arcuate::data::odf_field::Tissue;
use arcuate::data::{BuiltInPhantom, OdfLayout, Role, Shape};
use arcuate::io::nifti;
use arcuate::jobs::{Delivery, Outcome};
use arcuate::state::density::{DensityAction, DensityValue};
use arcuate::state::files::jobs::LOAD;
use arcuate::state::pathways::PathwayAction;
use arcuate::state::sessions::ResultStorage;
use arcuate::state::sessions::jobs::OpenSession;
use arcuate::state::sessions::jobs::head::MakeHead;
use arcuate::state::sessions::saved;
use arcuate::state::streamlines::SelectionMode;
use arcuate::state::tensors::jobs::fod::FOD;
use arcuate::state::tensors::types::fods::{FodSettings, TissueChoice};
use arcuate::state::{
    Action, Content, Event, FilesAction, LayerId, RegionAction, SessionAction, SnapshotAction,
    State, StreamlineAction, Task, TensorAction, TrackAction, ViewAction, update,
};
use glam::dvec3;
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test("sessions::an origin is stored once", once),
        test("sessions::an input is restored unchanged", input),
        test(
            "sessions::a scan that is found elsewhere is that of its results",
            found,
        ),
        test(
            "sessions::results of a scan that is found elsewhere name it there",
            found_results,
        ),
        test(
            "sessions::maps of streamlines that are found later are computed",
            found_maps,
        ),
        test("sessions::another file's failure ends no reading", reading),
        test("sessions::distributions are restored", fods),
        test("sessions::distributions of a file come back", fod_image),
        test(
            "sessions::response functions of regions come back",
            responses,
        ),
        test("sessions::a layer is selected, a mask offered", reopened),
        test("sessions::redo leads back to the saved state", redone),
    ];
    let own = own.into_iter().chain(fibres::tests());
    let own = own.chain(line_colours::tests());
    let own = own.chain(views::tests()).chain(surface::tests());
    own.chain(warps::tests()).collect()
}

/// Files and sessions are opened in one slot: the missing parts of one do not concern the other.
fn reading() {
    let mut state = State::new(String::new());
    let path = std::path::PathBuf::from("/tmp/left.arcuate");
    state.runtime.sessions.recovery.reading = Some(path);
    fn failed<T>() -> Delivery<T> {
        Delivery {
            slot: LOAD,
            ticket: 1,
            wall_ms: 1.0,
            outcome: Outcome::Failed("Found nothing".to_owned().into()),
        }
    }
    let other = Event::new(
        MakeHead {
            head: BuiltInPhantom::plain(1),
        },
        failed(),
    );
    update(&mut state, Action::Event(other));
    assert!(state.runtime.sessions.recovery.reading.is_some());
    let own = OpenSession {
        path: std::path::PathBuf::from("/tmp/left.arcuate"),
        strict: false,
        folders: Vec::new(),
    };
    update(&mut state, Action::Event(Event::new(own, failed())));
    assert!(state.runtime.sessions.recovery.reading.is_none());
}

/// The settings of distributions, and the layers of their maps: whether or not these few directions suffice to estimate
/// them again, nothing of the session is lost.
fn fods() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let job = distributions::requested(&mut window.state, |settings| {
        settings.params.order = Some(4);
        settings.peak_params.count = 2;
    });
    let settings = window.state.document.distributions.settings.clone();
    let round = distributions::round(&job.dwi.grid, &job.gradients);
    update(&mut window.state, distributions::estimated(job, round));
    let table = origins(&window.state);
    for kind in ["fods", "fod_map"] {
        assert!(table.iter().any(|o| o[kind].is_object()), "{kind}");
    }
    // A change that is stopped is withdrawn: the session describes the distributions in use.
    let change = |settings: &mut FodSettings| settings.params.order = Some(2);
    distributions::requested(&mut window.state, change);
    update(&mut window.state, Action::CancelJob(FOD));
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let restored = Window::opened(&path);
    assert_eq!(restored.state.document.distributions.settings, settings);
    let names = |state: &State| -> Vec<String> {
        let content = saved::draft(state).content.value();
        let layers = content["document"]["layers"]
            .as_array()
            .expect("layers")
            .clone();
        let names = layers.iter().filter_map(|l| l["name"].as_str());
        names.map(str::to_owned).collect()
    };
    let before = names(&window.state);
    assert!(before.iter().any(|name| name == "AFD"), "{before:?}");
    assert_eq!(names(&restored.state), before);
}

/// Each tissue has its own choice: a region by its place in the list, a mask by its layer, a file.
fn responses() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let region = |x: f64, radius_mm: f64| RegionAction::Add {
        role: Role::Region,
        shape: Shape::Sphere {
            centre: dvec3(x, 0.0, 0.0),
            radius_mm,
        },
    };
    window.act(Action::Region(region(-4.0, 3.0)));
    window.act(Action::Region(region(4.0, 5.0)));
    let document = &window.state.document;
    let white = document.regions.last().expect("a region").clone();
    let layers = document.layers.iter();
    let mut masks = layers.filter(|l| matches!(l.content, Content::Mask(_)));
    let mask = masks.next().expect("a mask").id;
    let file = folder.path().join("csf.txt");
    std::fs::write(&file, "3000\n200\n").expect("written");
    for (tissue, choice) in [
        (Tissue::WhiteMatter, TissueChoice::Region(white.id)),
        (Tissue::GreyMatter, TissueChoice::Layer(mask)),
        (Tissue::Csf, TissueChoice::File(file.clone())),
    ] {
        window.act(Action::Tensors(TensorAction::SetResponse {
            tissue,
            choice,
        }));
    }
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let restored = Window::opened(&path);
    let document = &restored.state.document;
    let choices = &document.distributions.settings.responses;
    let Some(TissueChoice::Region(id)) = choices.of_tissue(Tissue::WhiteMatter) else {
        panic!("{choices:?}");
    };
    let found = document.region(*id).expect("the region");
    assert_eq!((&found.name, &found.shape), (&white.name, &white.shape));
    let choice = |tissue: Tissue| choices.of_tissue(tissue);
    assert_eq!(choice(Tissue::GreyMatter), Some(&TissueChoice::Layer(mask)));
    assert_eq!(choice(Tissue::Csf), Some(&TissueChoice::File(file)));
}

/// An image that is read as distributions is read so again, and used.
fn fod_image() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let scan = window.state.document.scan().expect("a scan");
    let grid = scan.content.volume().expect("an image").grid.clone();
    let image = folder.path().join("fod.nii.gz");
    nifti::save_volume(
        &image,
        &distributions::image(&grid),
        "made",
        &Control::new(),
    )
    .expect("saved");
    window.act(Action::Files(FilesAction::Open(vec![image])));
    let layer = window
        .state
        .document
        .layer_named("fod")
        .expect("a layer")
        .id;
    let layout = OdfLayout::MRTRIX;
    window.act(Action::Tensors(TensorAction::ReadDistributions {
        layer,
        layout: Some(layout),
    }));
    let coefficients = |window: &Window| {
        let result = window.state.document.distributions.result.clone();
        let result = result.unwrap_or_else(|| panic!("{}", window.messages()));
        assert!(result.key.is_read());
        result.fods.output.field.coefficients.clone()
    };
    let before = coefficients(&window);
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let text = saved::draft(&window.state).content.value().to_string();
    assert!(text.contains("\"basis\":\"mrtrix\""), "{text}");
    let restored = Window::opened(&path);
    let document = &restored.state.document;
    let (_, _, found) = document.fod_image(layer).expect("the image");
    assert_eq!(found, layout);
    assert_eq!(coefficients(&restored), before);
    assert_eq!(
        document.distributions.settings,
        window.state.document.distributions.settings
    );
    assert!(document.layer_named("AFD").is_some());
}

/// Undo and redo lead away from the saved state and back to it.
fn redone() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.place(Role::Seed, dvec3(0.0, -4.0, 0.0), 7.0);
    window.act(Action::Region(RegionAction::Rename {
        region: window.state.document.regions[0].id,
        name: "Left".to_owned(),
    }));
    window.save(&folder.path().join("s.arcuate"));
    assert!(!window.state.is_dirty(), "{:?}", window.state.unsaved());
    for _ in 0..2 {
        window.act(Action::Undo);
        assert!(window.state.is_dirty());
        window.act(Action::Redo);
        assert!(!window.state.is_dirty(), "{:?}", window.state.unsaved());
    }
    // Another edit after undo is another state.
    window.act(Action::Undo);
    window.act(Action::Region(RegionAction::Rename {
        region: window.state.document.regions[0].id,
        name: "Right".to_owned(),
    }));
    assert!(window.state.is_dirty());
}

/// A reopened session has a selected layer, and offers the mask next to the scan as it did before.
fn reopened() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::new();
    let scan = crate::support::session_window::scan(folder.path());
    let open = |path: PathBuf| Action::Files(FilesAction::Open(vec![path]));
    window.act(open(scan));
    let mask = folder.path().join("mask.nii.gz");
    assert_eq!(window.state.offered_mask(), Some(&mask));
    let path = folder.path().join("a.arcuate");
    window.save(&path);
    let mut restored = Window::opened(&path);
    assert_eq!(restored.state.offered_mask(), Some(&mask));
    let selected = |window: &Window| {
        let document = &window.state.document;
        let layer = document.layer(window.state.runtime.selected_layer?)?;
        Some(layer.name.clone())
    };
    assert_eq!(selected(&restored).as_deref(), Some("DEC"));
    let kept = keep_streamlines(&mut restored);
    restored.save(&path);
    let third = Window::opened(&path);
    // Kept streamlines may be stored as a recipe alone; then the map is on top.
    let document = &third.state.document;
    if document.layer(kept).is_some() {
        assert_eq!(third.state.runtime.selected_layer, Some(kept));
    }
}

fn keep_streamlines(window: &mut Window) -> LayerId {
    window.place(Role::Seed, dvec3(0.0, -4.0, 0.0), 7.0);
    window.act(Action::Track(TrackAction::Keep));
    window.state.runtime.selected_layer.expect("kept")
}

fn map(window: &mut Window, layer: LayerId) -> LayerId {
    let (layer, options) = (
        Some(layer),
        crate::support::density_map(DensityValue::Count),
    );
    window.act(Action::Density(DensityAction::Map { layer, options }));
    window.state.runtime.selected_layer.expect("a map")
}

fn delete(window: &mut Window, lines: std::ops::Range<u32>) {
    window.act(Action::Streamline(StreamlineAction::Choose {
        streamlines: lines.collect(),
        mode: SelectionMode::Replace,
        anchor: None,
    }));
    window.act(Action::Streamline(StreamlineAction::DeleteChosen));
}

/// The numbers of other origins in one.
fn inputs(origin: &serde_json::Value, found: &mut Vec<u64>) {
    const NAMES: [&str; 5] = ["input", "fit", "scan", "tracks", "origin"];
    match origin {
        serde_json::Value::Object(members) => {
            for (name, value) in members {
                match value.as_u64().filter(|_| NAMES.contains(&&**name)) {
                    Some(number) => found.push(number),
                    None => inputs(value, found),
                }
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|v| inputs(v, found)),
        _ => {}
    }
}

fn origins(state: &State) -> Vec<serde_json::Value> {
    let content = saved::draft(state).content.value();
    content["origins"].as_array().expect("a table").clone()
}

fn once() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.work();
    let layer = keep_streamlines(&mut window);
    map(&mut window, layer);
    window.act(Action::Snapshot(SnapshotAction::Take));
    delete(&mut window, 0..3);
    let table = origins(&window.state);
    for (at, origin) in table.iter().enumerate() {
        assert!(!table[..at].contains(origin), "{origin}");
        let mut named = Vec::new();
        inputs(origin, &mut named);
        assert!(named.iter().all(|n| *n <= at as u64), "{at}: {origin}");
    }
    for kind in ["file", "fit", "fit_map", "curves", "density", "edited"] {
        assert!(table.iter().any(|o| o[kind].is_object()), "{kind}");
    }
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let restored = Window::opened(&path);
    assert_eq!(restored.messages(), "");
    assert_eq!(document_text(&window.state), document_text(&restored.state));
    assert_eq!(table, origins(&restored.state));
}

/// A map of streamlines of which some were deleted later.
fn input() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let layer = keep_streamlines(&mut window);
    let map = map(&mut window, layer);
    let command = |window: &Window| {
        let document = &window.state.document;
        let map = document.layer(map).expect("the map");
        document.command_line(map).text()
    };
    let before = command(&window);
    delete(&mut window, 0..5);
    assert!(window.state.document.is_edited(layer));
    assert_eq!(command(&window), before);
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let restored = Window::opened(&path);
    assert!(restored.state.document.is_edited(layer));
    assert_eq!(command(&restored), before);
}

/// Streamlines that a session has as their recipe alone are made again once their scan is found.
fn found() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let tracks = keep_streamlines(&mut window);
    let map = map(&mut window, tracks);
    let mapped = values(&window, map);
    let scan = window.state.document.layer_named("dwi").expect("opened").id;
    window.session(SessionAction::SetStore(ResultStorage::Nothing));
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let moved = folder.path().join("moved");
    std::fs::create_dir(&moved).expect("a folder");
    for name in ["dwi.nii.gz", "dwi.bval", "dwi.bvec"] {
        std::fs::rename(folder.path().join(name), moved.join(name)).expect("moved");
    }
    let mut restored = Window::opened(&path);
    restored.session(SessionAction::OpenAnyway);
    assert!(restored.state.document.missing_layer(tracks).is_some());
    let (layer, path) = (scan, moved.join("dwi.nii.gz"));
    restored.session(SessionAction::Restore { layer, path });
    restored.session(SessionAction::Recompute(tracks));
    let status = &restored.state.runtime.notices.status;
    assert!(
        status.ends_with("same bytes"),
        "{status} {}",
        restored.messages()
    );
    // The map of the streamlines, which the session does not hold either, is restored with them.
    assert_eq!(values(&restored, map), mapped);
    let document = &restored.state.document;
    let command = document.command_line(document.layer(tracks).expect("made"));
    let named = moved.join("dwi.nii.gz");
    assert!(command.text().contains(&*named.to_string_lossy()));
}

/// The values of a layer that is an image.
fn values(window: &Window, layer: LayerId) -> Vec<f32> {
    let layer = window.state.document.layer(layer).expect("the map");
    layer.content.volume().expect("an image").frame(0).to_vec()
}

/// Moves files to another folder and returns the new path of the first.
fn moved(folder: &Path, names: &[&str]) -> PathBuf {
    let to = folder.join("moved");
    std::fs::create_dir(&to).expect("a folder");
    for name in names {
        std::fs::rename(folder.join(name), to.join(name)).expect("moved");
    }
    to.join(names[0])
}

/// Stored streamlines and kept pathways refer to their scan where it is now: the pathway is found again, and commands
/// and the next session have the new path.
fn found_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let tracks = keep_streamlines(&mut window);
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    window.place(Role::Target, dvec3(0.0, 12.0, 0.0), 4.0);
    window.act(Action::Pathway(PathwayAction::Keep));
    assert!(window.state.document.kept_pathways[0].result.is_some());
    let scan = window.state.document.layer_named("dwi").expect("opened").id;
    window.act(Action::Snapshot(SnapshotAction::Take));
    let session = folder.path().join("s.arcuate");
    window.save(&session);
    let named = moved(folder.path(), &["dwi.nii.gz", "dwi.bval", "dwi.bvec"]);
    let mut restored = Window::opened(&session);
    restored.session(SessionAction::OpenAnyway);
    let (layer, path) = (scan, named.clone());
    restored.session(SessionAction::Restore { layer, path });
    let check = |window: &Window| {
        let document = &window.state.document;
        let kept = &document.kept_pathways[0];
        let snapshot = &window.state.runtime.snapshots.all[0].document;
        for opened in [document, snapshot] {
            let fit = opened
                .origins
                .fit(opened.kept_pathways[0].fit)
                .expect("its fit");
            assert_eq!(opened.origins.path(fit.scan), Some(&*named));
        }
        assert!(kept.result.is_some(), "{}", window.messages());
        let tracks = document.layer(tracks).expect("stored");
        let command = document.command_line(tracks).text();
        assert!(command.contains(&*named.to_string_lossy()), "{command}");
    };
    check(&restored);
    restored.save(&session);
    check(&Window::opened(&session));
}

/// A density map of streamlines whose file is found after the session was opened.
fn found_maps() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let tracks = keep_streamlines(&mut window);
    let file = folder.path().join("tracks.tck");
    let (layer, path) = (Some(tracks), file.clone());
    window.act(Action::Files(FilesAction::SaveStreamlines { layer, path }));
    window.open(&file);
    let document = &window.state.document;
    let mut layers = document.layers.iter();
    let opened = layers.find(|l| document.path(l) == Some(&*file));
    let opened = opened.expect("the streamlines").id;
    let map = map(&mut window, opened);
    let mapped = values(&window, map);
    assert!(mapped.iter().any(|v| *v > 0.0));
    let session = folder.path().join("s.arcuate");
    window.save(&session);
    let named = moved(folder.path(), &["tracks.tck"]);
    let mut restored = Window::opened(&session);
    restored.session(SessionAction::OpenAnyway);
    assert!(restored.state.document.missing_layer(map).is_some());
    let (layer, path) = (opened, named.clone());
    restored.session(SessionAction::Restore { layer, path });
    assert!(restored.state.document.missing_layer(map).is_none());
    assert_eq!(values(&restored, map), mapped, "{}", restored.messages());
    let document = &restored.state.document;
    assert_eq!(
        document.density_map(map).expect("a map").input.layer,
        opened
    );
    let command = document.command_line(document.layer(map).expect("made"));
    assert!(command.text().contains(&*named.to_string_lossy()));
}
