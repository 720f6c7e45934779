//! Window and level of a file are restored when it is opened again.

use super::*;
use crate::support::done_event;
use arcuate::data::Tractogram;
use arcuate::state::files::jobs::open::{OpenFile, Opened};
use arcuate::state::update::unsupported_contents;
use arcuate::state::{Convention, FilesAction, LayerAction, Mouse, Preferences};
use arcuate::ui::files::{PathPurpose, suggestion};
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::window and level stay with the file", remembered),
        test("update::settings apply to later documents", settings),
        test("update::a folder asks whom to open", visits),
        test("update::streamlines alone are seen whole", alone),
        test(
            "update::an export keeps the name and format of its file",
            export,
        ),
    ]
}

fn image(path: &str) -> Action {
    let (dwi, _) = scan();
    let n = dwi.grid.voxel_count();
    let values = dwi.frame(0)[..n].to_vec();
    let loaded = Loaded::Image(Volume::scalar(dwi.grid.clone(), values));
    Action::Event(file(path, loaded))
}

/// Every point is in the 3-D view, from all sides; a later image is framed instead.
fn alone() {
    let mut random = Random::fresh("alone");
    for _ in 0..20 {
        let way = random.direction() * random.uniform(10.0, 90.0);
        let middle = random.direction() * random.uniform(0.0, 60.0);
        let point = |_| {
            let at = middle + way * random.uniform(-1.0, 1.0) + random.direction();
            at.to_array().map(|v| v as f32)
        };
        let points: Vec<[f32; 3]> = (0..200).map(point).collect();
        let lines = Tractogram::new(points.clone(), vec![0, 200]);
        let mut state = State::new(String::new());
        let lines = Loaded::Tractogram(lines);
        update(&mut state, Action::Event(file("/data/a.tck", lines)));
        let camera = state.view.camera;
        for turn in 0..8 {
            let camera = camera.orbited(f64::from(turn), 0.3 * f64::from(turn));
            for p in &points {
                let at = DVec3::from_array(p.map(f64::from));
                let (at, _) = camera.project(at, 1.3).expect("before the eye");
                let inside = at.min_element() > 0.0 && at.max_element() < 1.0;
                assert!(inside, "{at} {way}");
            }
        }
        // Slices of the same size share one scale.
        let scale = |pane| {
            let size = glam::DVec2::splat(400.0);
            let plane = state.view.plane(pane, state.document.sliced(), size);
            plane.expect("a slice").mm_per_point
        };
        let [axial, coronal, sagittal] = [Pane::Axial, Pane::Coronal, Pane::Sagittal].map(scale);
        assert!((axial - coronal).abs() < 1e-9 * axial, "{axial} {coronal}");
        assert!(
            (axial - sagittal).abs() < 1e-9 * axial,
            "{axial} {sagittal}"
        );
        update(&mut state, image("/data/b.nii.gz"));
        let head = state.document.bounds();
        assert_eq!(state.view.camera.focus, (head.0 + head.1) * 0.5);
    }
}

/// They are stored as text, invalid entries are skipped, and a new document starts with them.
fn settings() {
    let mut state = State::new(String::new());
    let mut requested = Preferences::default();
    requested.paths.step_mm = 0.25;
    requested.paths.min_fa = None;
    requested.paths.length_mm = (12.0, 250.0);
    requested.memory_gb = Some(3.0);
    requested.mouse = Mouse::Slicer;
    requested.convention = Convention::Neurological;
    let effects = update(&mut state, Action::Set(requested.clone()));
    let limits = |e: &Effect| matches!(e, Effect::LimitMemory(Some(3_000_000_000)));
    assert!(effects.iter().any(limits), "{effects:?}");
    assert!(effects.iter().any(|e| matches!(e, Effect::Store)));
    let track = &state.document.track.streamlines;
    assert_eq!((track.step_mm, track.min_fa), (0.25, None));
    assert_eq!(state.document.track.rays.params.curves.min_length_mm, 12.0);
    assert_eq!(state.view.convention, Convention::Neurological);
    // A document keeps its own; the next starts with the present settings.
    update(&mut state, image("/data/a.nii.gz"));
    requested.paths.step_mm = 0.75;
    update(&mut state, Action::Set(requested.clone()));
    assert_eq!(state.document.track.streamlines.step_mm, 0.25);
    let leave = arcuate::state::SessionAction::CloseDocument(arcuate::state::UnsavedAction::New);
    update(&mut state, Action::Session(leave));
    assert_eq!(state.document.track.streamlines.step_mm, 0.75);
    let text = serde_json::to_string(&requested).expect("JSON");
    let read: Preferences = serde_json::from_str(&text).expect("read");
    assert_eq!(read.sanitized(), requested);
    // Settings written by other versions.
    let odd = r#"{"paths":{"step_mm":-1.0,"streamlines":0,"new":3},"memory_gb":0.001}"#;
    let read: Preferences = serde_json::from_str(odd).expect("read");
    assert_eq!(read.sanitized(), Preferences::default());
}

/// A data set with one visit is opened at once; with several the program asks, and the user may decline.
fn visits() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["sub-01", "sub-02"] {
        let dwi = folder.path().join(name).join("dwi");
        std::fs::create_dir_all(&dwi).expect("a folder");
        std::fs::write(dwi.join(format!("{name}_dwi.nii.gz")), b"x").expect("written");
    }
    let mut state = State::new(String::new());
    let found = |path: &std::path::Path| {
        let found = arcuate::io::bids::find(path).expect("a data set");
        let job = OpenFile::new(path.to_owned());
        Action::Event(done_event(job, 1, Opened::Folder(found)))
    };
    let opened = |effects: &[Effect]| -> Vec<String> {
        let opens = effects.iter().filter_map(|e| match e.job() {
            Some(OpenFile { path, .. }) => Some(path),
            _ => None,
        });
        let name = |p: &std::path::PathBuf| p.file_name().expect("a name").to_owned();
        opens
            .map(|p| name(p).to_string_lossy().into_owned())
            .collect()
    };
    assert!(opened(&update(&mut state, found(folder.path()))).is_empty());
    let effects = update(&mut state, Action::Files(FilesAction::OpenVisit(Some(1))));
    assert_eq!(opened(&effects), ["sub-02_dwi.nii.gz"]);
    assert!(state.runtime.files.folder.is_none());
    update(&mut state, found(folder.path()));
    assert!(
        opened(&update(
            &mut state,
            Action::Files(FilesAction::OpenVisit(None))
        ))
        .is_empty()
    );
    assert!(
        opened(&update(
            &mut state,
            Action::Files(FilesAction::OpenVisit(Some(0)))
        ))
        .is_empty()
    );
    let effects = update(&mut state, found(&folder.path().join("sub-01")));
    assert_eq!(opened(&effects), ["sub-01_dwi.nii.gz"]);
}

fn remembered() {
    let mut state = State::new(String::new());
    update(&mut state, image("/data/a.nii.gz"));
    let layer = state.document.layers[0].clone();
    let default_value = layer.display.window;
    let display = arcuate::state::Display {
        window: (1.25, 77.5),
        ..layer.display.clone()
    };
    for (phase, stores) in [(Phase::Live, false), (Phase::Done, true)] {
        let effects = update(
            &mut state,
            Action::Layer(LayerAction::SetDisplay {
                layer: layer.id,
                display: display.clone(),
                phase,
            }),
        );
        let stored = effects.iter().any(|e| matches!(e, Effect::Store));
        assert_eq!(stored, stores, "{phase:?}");
    }
    // The next window: only the list of files has outlived the first.
    let text = serde_json::to_string(&state.runtime.files.recent).expect("JSON");
    let mut next = State::new(String::new());
    next.runtime.files.recent = serde_json::from_str(&text).expect("the list");
    update(&mut next, image("/data/b.nii.gz"));
    update(&mut next, image("/data/a.nii.gz"));
    let windows: Vec<_> = next
        .document
        .layers
        .iter()
        .map(|l| l.display.window)
        .collect();
    assert_eq!(windows, [default_value, (1.25, 77.5)]);
    // Lists of older versions have no windows.
    let old = r#"[{"path":"/a.nii","summary":"","opened":1}]"#;
    let old: Vec<arcuate::state::files::types::Recent> = serde_json::from_str(old).expect("read");
    assert_eq!(old[0].window, None);
}

/// The file keeps the case of its name, and gets the format that holds its contents, without overwriting it; names of
/// our own are lower case.
fn export() {
    let mut state = State::new(String::new());
    let lines = Tractogram::new(vec![[0.0; 3], [1.0; 3]], vec![0, 2]);
    let lines = lines.with_grid(scan().0.grid.clone());
    let opened = file("/data/sub-01_Bundle_L.trx", Loaded::Tractogram(lines));
    update(&mut state, Action::Event(opened));
    let layer = Some(state.document.layers[0].id);
    let purpose = PathPurpose::streamlines(&state, layer);
    let named = suggestion(&state, "sub-01_Bundle_L", &purpose);
    assert_eq!(named, "/data/sub-01_Bundle_L_export.trx");
    let live = PathPurpose::streamlines(&state, None);
    let named = suggestion(&state, "Streamlines", &live);
    assert_eq!(named, "/data/sub-01_Bundle_L_streamlines.tck");
    // A TCK loses the grid of the file, which is reported before saving.
    let lost = |name: &str| unsupported_contents(&state, layer, Path::new(name)).join("; ");
    assert!(lost("a.tck").contains("grid"), "{}", lost("a.tck"));
    assert_eq!(lost("a.trk"), "");
    // So are a NaN, which ends a streamline in TSF, and groups; other values go into files next to it.
    state
        .document
        .edit_layer(state.document.layers[0].id, |layer| {
            let Content::Tractogram(lines) = &mut layer.content else {
                return;
            };
            lines.groups.insert("bundle".to_owned(), Arc::new([0]));
            *lines = lines
                .clone()
                .with_per_point("holes", vec![f32::NAN, 0.0])
                .with_per_point("fa", vec![0.5; 2])
                .with_per_streamline("weight", vec![1.0]);
        });
    let lost = unsupported_contents(&state, layer, Path::new("a.tck"));
    assert_eq!(lost.len(), 3, "{lost:?}");
    assert!(
        lost[0].contains("groups: bundle") && lost[1].contains("holes"),
        "{lost:?}"
    );
}
