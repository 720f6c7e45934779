//! Missing and changed files, newer versions, manual edits.

use crate::support::origins::kept_curve_layers;
use crate::support::session_window::Window;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Role, Tractogram};
use arcuate::io::trx;
use arcuate::state::sessions::FileComparison;
use arcuate::state::sessions::FileDecision;
use arcuate::state::{Action, SessionAction, TrackAction};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::the user locates missing files", missing),
        test("sessions::changed_files_are_named", changed),
        test("sessions::a changed file is used by choice alone", chosen),
        test("sessions::a wrong file is reported later", wrong_later),
        test("sessions::without_a_file_the_rest_opens", without),
        test("sessions::the user locates missing files later", later),
        test(
            "sessions::other streamlines next to the session are refused",
            other_lines,
        ),
        test("sessions::newer_versions_are_refused", newer),
        test("sessions::unknown_fields_are_reported", unknown),
        test("sessions::edits_in_a_text_editor_are_checked", manual),
    ]
}

/// A saved session of a scan with a seed.
fn saved(folder: &Path) -> (Window, PathBuf) {
    let mut window = Window::with_scan(folder);
    window.place(Role::Seed, dvec3(0.0, -6.0, 0.0), 5.0);
    let path = folder.join("s.arcuate");
    window.save(&path);
    (window, path)
}

fn names(window: &Window) -> Vec<String> {
    let opening = window.state.runtime.sessions.opening.as_ref();
    let faulty = opening.expect("it is being opened").changed_files();
    let name = |path: &Path| {
        path.file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned()
    };
    faulty.map(|(_, f)| name(&f.path)).collect()
}

fn missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (before, path) = saved(folder.path());
    let moved = folder.path().join("moved");
    std::fs::create_dir(&moved).expect("a folder");
    for name in ["dwi.nii.gz", "dwi.bval", "dwi.bvec", "mask.nii.gz"] {
        std::fs::rename(folder.path().join(name), moved.join(name)).expect("moved");
    }
    let mut window = Window::opened(&path);
    assert_eq!(names(&window), ["dwi.nii.gz", "mask.nii.gz"]);
    assert!(window.state.document.is_empty());
    // Locating one file finds the other next to it.
    let path = moved.join("dwi.nii.gz");
    window.session(SessionAction::Relocate { index: 0, path });
    assert_eq!(names(&window), ["mask.nii.gz"]);
    let opening = window.state.runtime.sessions.opening.clone().expect("open");
    let (index, found) = opening.changed_files().next().expect("the mask");
    let path = found.suggestion.clone().expect("suggested");
    assert_eq!(path, moved.join("mask.nii.gz"));
    window.session(SessionAction::Relocate { index, path });
    window.session(SessionAction::OpenAnyway);
    assert_eq!(window.messages(), "");
    assert_eq!(
        window.state.document.layers.len(),
        before.state.document.layers.len()
    );
    let points = |w: &Window| {
        w.state
            .final_live()
            .expect("live")
            .output
            .kept
            .points
            .clone()
    };
    assert!(points(&window) == points(&before));
    assert!(window.state.is_dirty(), "its files have moved");
    // A wrong one is reported.
    let mut window = Window::opened(&folder.path().join("s.arcuate"));
    let path = moved.join("mask.nii.gz");
    window.session(SessionAction::Relocate { index: 0, path });
    let opening = window.state.runtime.sessions.opening.clone().expect("open");
    assert!(matches!(
        opening.session.files[0].standing,
        FileComparison::Changed(_)
    ));
    // Renamed, it is found by its content.
    std::fs::rename(
        moved.join("mask.nii.gz"),
        folder.path().join("brain.nii.gz"),
    )
    .expect("moved");
    let window = Window::opened(&folder.path().join("s.arcuate"));
    let opening = window.state.runtime.sessions.opening.clone().expect("open");
    let suggestion = opening.session.files[1].suggestion.clone();
    assert_eq!(suggestion, Some(folder.path().join("brain.nii.gz")));
    // The suggestion is found although another file has its name.
    let brain = moved.join("brain.nii.gz");
    std::fs::copy(folder.path().join("brain.nii.gz"), &brain).expect("copied");
    std::fs::write(moved.join("mask.nii.gz"), "another").expect("written");
    let mut window = Window::opened(&folder.path().join("s.arcuate"));
    let path = moved.join("dwi.nii.gz");
    window.session(SessionAction::Relocate { index: 0, path });
    let opening = window.state.runtime.sessions.opening.clone().expect("open");
    assert_eq!(opening.session.files[1].suggestion, Some(brain));
}

fn later() {
    let folder = tempfile::tempdir().expect("a folder");
    let (before, path) = saved(folder.path());
    let moved = folder.path().join("moved");
    std::fs::create_dir(&moved).expect("a folder");
    for name in ["dwi.nii.gz", "dwi.bval", "dwi.bvec"] {
        std::fs::rename(folder.path().join(name), moved.join(name)).expect("moved");
    }
    let mut window = Window::opened(&path);
    window.session(SessionAction::OpenAnyway);
    assert!(window.state.document.scan().is_none());
    let missing = window.state.document.missing_layers().next().cloned();
    let missing = missing.expect("missing");
    assert_eq!(missing.file(), Some(&*folder.path().join("dwi.nii.gz")));
    let layer = arcuate::state::LayerId(missing.layer.id);
    // A file that is not a scan is reported, and the question stays open.
    let restore = |path: PathBuf| SessionAction::Restore { layer, path };
    window.session(restore(moved.join("gone.nii.gz")));
    assert!(
        window.messages().contains("gone.nii.gz"),
        "{}",
        window.messages()
    );
    assert_eq!(window.state.document.missing_layers().count(), 1);
    window.session(restore(moved.join("dwi.nii.gz")));
    assert!(
        window.state.document.missing_layers().next().is_none(),
        "{}",
        window.messages()
    );
    let names = |w: &Window| -> Vec<String> {
        let layers = w.state.document.layers.iter();
        layers.map(|l| l.name.clone()).collect()
    };
    assert_eq!(names(&window), names(&before));
    let kept = |w: &Window| {
        let live = w.state.final_live().expect("live");
        live.output.kept.points.clone()
    };
    assert!(kept(&window) == kept(&before));
    assert!(window.state.is_dirty());
    // The session stores its present path.
    let other = folder.path().join("t.arcuate");
    window.save(&other);
    let window = Window::opened(&other);
    assert_eq!(window.messages(), "");
    assert_eq!(names(&window), names(&before));
}

fn changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, path) = saved(folder.path());
    let change = |name: &str, with: &str| {
        let file = folder.path().join(name);
        let old = std::fs::read(&file).expect("read");
        let mut new = old.clone();
        match with {
            "longer" => new.push(b' '),
            _ => new[0] ^= 1,
        }
        std::fs::write(&file, new).expect("written");
        old
    };
    for (name, with, reason) in [
        ("dwi.nii.gz", "longer", "bytes"),
        ("mask.nii.gz", "other", "content"),
        ("dwi.bvec", "longer", "dwi.bvec beside it has"),
        ("dwi.bval", "other", "dwi.bval beside it"),
    ] {
        let old = change(name, with);
        let window = Window::opened(&path);
        let opening = window.state.runtime.sessions.opening.clone().expect("open");
        let sentences = super::wrong_files(&opening);
        assert_eq!(sentences.len(), 1, "{sentences:?}");
        assert!(sentences[0].contains(reason), "{name}: {sentences:?}");
        std::fs::write(folder.path().join(name), old).expect("written");
        // Written again, it is newer than in the session, with the same content.
        assert!(Window::opened(&path).state.document.tensors.is_some());
    }
    std::fs::remove_file(folder.path().join("dwi.bvec")).expect("removed");
    let window = Window::opened(&path);
    let opening = window.state.runtime.sessions.opening.clone().expect("open");
    let sentences = super::wrong_files(&opening);
    assert!(
        sentences[0].starts_with("dwi.bvec is no longer beside this file: put it back"),
        "{sentences:?}"
    );
}

/// An empty member of a gzip file.
const NOTHING: [u8; 20] = [
    0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];

/// Makes a file longer without changing its content.
fn lengthen(file: &Path) {
    let mut bytes = std::fs::read(file).expect("read");
    bytes.extend(NOTHING);
    std::fs::write(file, bytes).expect("written");
}

fn chosen() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, path) = saved(folder.path());
    let mask = folder.path().join("mask.nii.gz");
    let before = std::fs::read(&mask).expect("read");
    lengthen(&mask);
    let index = {
        let window = Window::opened(&path);
        let opening = window.state.runtime.sessions.opening.as_ref();
        let opening = opening.expect("it is being opened");
        opening.changed_files().next().expect("the mask").0
    };
    // Without a decision, or with the other one, it is not used and stays in the session.
    for decision in [None, Some(FileDecision::LeaveOut)] {
        let mut window = Window::opened(&path);
        if let Some(decision) = decision {
            window.session(SessionAction::Decide { index, decision });
        }
        window.session(SessionAction::OpenAnyway);
        let document = &window.state.document;
        assert!(document.layer_named("mask").is_none());
        let missing: Vec<_> = document.missing_layers().collect();
        assert_eq!(missing.len(), 1, "{}", window.messages());
        assert!(missing[0].reason.to_string().contains("bytes"));
        let other = folder.path().join("other.arcuate");
        window.save(&other);
        assert_eq!(names(&Window::opened(&other)), ["mask.nii.gz"]);
        std::fs::write(&mask, &before).expect("written");
        let reopened = Window::opened(&other);
        assert!(reopened.state.document.layer_named("mask").is_some());
        lengthen(&mask);
    }
    // Accepted as it is, this is reported permanently: in the window, in the paragraph, by a replay.
    let mut window = Window::opened(&path);
    let decision = FileDecision::UseAsItIs;
    window.session(SessionAction::Decide { index, decision });
    window.session(SessionAction::OpenAnyway);
    let was = arcuate::state::core::text::count(before.len() as u64);
    let sentence = format!(
        "mask.nii.gz is not the file this session was saved with: it has {} bytes and had {was}",
        arcuate::state::core::text::count((before.len() + NOTHING.len()) as u64)
    );
    assert_eq!(window.messages(), sentence);
    let reported = |window: &Window| {
        let layer = window.state.document.layer_named("mask");
        layer.expect("used").file_change.clone()
    };
    assert_eq!(reported(&window).as_ref(), Some(&sentence));
    let other = folder.path().join("other.arcuate");
    window.save(&other);
    let reopened = Window::opened(&other);
    assert_eq!(reopened.messages(), "", "it is the session's file now");
    assert_eq!(reported(&reopened).as_ref(), Some(&sentence));
    let paragraph = arcuate::state::methods::methods(&reopened.state);
    assert!(paragraph.contains(&sentence), "{paragraph}");
    let (code, value, stderr) = super::replay::run(&["replay", "other.arcuate"], folder.path());
    assert_eq!(code, Some(0), "{stderr}");
    // On the command line digits have no separator.
    let plain = sentence.replace('\u{202F}', "");
    assert!(stderr.contains(&plain), "{stderr}");
    assert_eq!(value["replaced_files"][0], sentence);
}

/// Another file chosen in Layers does not pass unnoticed either.
fn wrong_later() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, path) = saved(folder.path());
    let [mask, other] = ["mask.nii.gz", "wrong.nii.gz"].map(|n| folder.path().join(n));
    std::fs::rename(&mask, &other).expect("moved");
    lengthen(&other);
    let mut window = Window::opened(&path);
    // The row keeps the name of the file that it asks for.
    let index = 1;
    let path = other.clone();
    window.session(SessionAction::Relocate { index, path });
    let opening = window.state.runtime.sessions.opening.as_ref();
    let found = opening.expect("opened").session.files[index].clone();
    assert_eq!((found.entry.name(), &found.path), ("mask.nii.gz", &other));
    window.session(SessionAction::OpenAnyway);
    let missing = window.state.document.missing_layers().next().cloned();
    let missing = missing.expect("missing");
    let layer = arcuate::state::LayerId(missing.layer.id);
    let path = other;
    window.session(SessionAction::Restore { layer, path });
    let layer = window.state.document.layer(layer).expect("used");
    let message = layer.file_change.as_ref().expect("it is another file");
    let begin = "wrong.nii.gz, used in place of mask.nii.gz, is not the file";
    assert!(message.starts_with(begin), "{message}");
    assert!(window.messages().contains(begin), "{}", window.messages());
}

fn without() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, path) = saved(folder.path());
    let mask = folder.path().join("mask.nii.gz");
    let bytes = std::fs::read(&mask).expect("read");
    std::fs::remove_file(&mask).expect("removed");
    let mut window = Window::opened(&path);
    window.session(SessionAction::OpenAnyway);
    let document = &window.state.document;
    assert!(document.tensors.is_some() && document.regions.len() == 1);
    let missing: Vec<_> = document.missing_layers().collect();
    assert_eq!(missing.len(), 1);
    assert!(
        missing[0].reason.to_string().ends_with("mask.nii.gz"),
        "{}",
        missing[0].reason
    );
    // Saved in between and moved back, it is restored.
    window.save(&path);
    std::fs::write(&mask, bytes).expect("written");
    let window = Window::opened(&path);
    assert_eq!(window.messages(), "");
    assert!(window.state.document.missing_layers().next().is_none());
    assert!(window.state.document.layer_named("mask").is_some());
    assert!(window.state.document.chosen_mask().is_some());
}

/// Changes a session's text and opens it.
fn edited(path: &Path, edit: impl FnOnce(&mut Value)) -> Window {
    let text = std::fs::read_to_string(path).expect("read");
    let mut value: Value = serde_json::from_str(&text).expect("JSON");
    edit(&mut value);
    let other = path.with_file_name("edited.arcuate");
    std::fs::write(&other, value.to_string()).expect("written");
    Window::opened(&other)
}

fn one_sentence(window: &Window) -> String {
    assert!(window.state.document.is_empty());
    let message = window.messages();
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.ends_with("edited.arcuate"), "{message}");
    message
}

fn newer() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, path) = saved(folder.path());
    let window = edited(&path, |v| {
        v["arcuate_session"] = json!(3);
        v["content"] = json!("something else");
    });
    let message = one_sentence(&window);
    assert!(
        message.contains("format 3") && message.contains("newer Arcuate"),
        "{message}"
    );
    for other in [json!(0), json!(1), json!(-1), json!("2"), json!(null)] {
        one_sentence(&edited(&path, |v| v["arcuate_session"] = other));
    }
}

fn unknown() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, path) = saved(folder.path());
    let window = edited(&path, |v| {
        v["content"]["document"]["layers"][0]["sparkle"] = json!({"much": 1});
        v["content"]["document"]["mood"] = json!("good");
    });
    assert!(window.state.document.tensors.is_some());
    let message = window.messages();
    assert!(
        message.contains("document.layers.sparkle") && message.contains("document.mood"),
        "{message}"
    );
}

fn manual() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, path) = saved(folder.path());
    let document = |v: &mut Value, name: &str, value: Value| {
        v["content"]["document"][name] = value;
    };
    one_sentence(&edited(&path, |v| document(v, "layers", json!(3))));
    one_sentence(&edited(&path, |v| document(v, "track", json!({}))));
    one_sentence(&edited(&path, |v| {
        let layers = v["content"]["document"]["layers"]
            .as_array_mut()
            .expect("layers");
        let first = layers[0].clone();
        layers.push(first);
    }));
    one_sentence(&edited(&path, |v| {
        v["content"]["document"]["layers"][0]["id"] = json!(u64::MAX);
    }));
    // A region without a size is left out, and reported.
    let window = edited(&path, |v| {
        let shape = &mut v["content"]["document"]["regions"][0]["shape"];
        shape["sphere"]["radius_mm"] = json!(-1.0);
    });
    assert!(window.state.document.regions.is_empty() && window.state.document.tensors.is_some());
    assert!(
        window.messages().contains("The region “Seed” is left out"),
        "{}",
        window.messages()
    );
    // A file number outside the list.
    let window = edited(&path, |v| {
        let origins = v["content"]["origins"].as_array_mut().expect("origins");
        let mut files = origins.iter_mut().filter_map(|o| o.get_mut("file"));
        files.next().expect("a file")["file"] = json!(99);
    });
    assert_eq!(window.state.document.missing_layers().count(), 1);
    // An origin that the table does not have.
    for number in [99, u64::MAX] {
        let window = edited(&path, |v| {
            v["content"]["document"]["layers"][0]["origin"] = json!(number);
        });
        assert_eq!(window.state.document.missing_layers().count(), 1);
    }
    let window = edited(&path, |v| {
        v["content"]["view"]["camera"]["distance_mm"] = json!(-5.0);
        v["content"]["view"]["crosshair"] = json!([1e300, 0.0, 0.0]);
    });
    assert!(window.state.view.camera.distance_mm > 0.0);
    assert!(window.state.view.camera.focus != DVec3::NAN);
    let window = edited(&path, |v| {
        v["content"]["view"]["camera"]["focus"] = json!([0.0, 1e30, 0.0]);
    });
    assert!(window.state.view.camera.is_valid());
    for text in ["", "{", "[]", "null", "{\"arcuate_session\":2}", "\u{0}"] {
        let other = path.with_file_name("edited.arcuate");
        std::fs::write(&other, text).expect("written");
        one_sentence(&Window::opened(&other));
    }
    let other = path.with_file_name("edited.arcuate");
    let deep = format!(
        "{{\"arcuate_session\":2,\"content\":{}",
        "[".repeat(100_000)
    );
    std::fs::write(&other, deep).expect("written");
    one_sentence(&Window::opened(&other));
}

/// Streamlines that replace those of a session: reported, and recomputed.
fn other_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut window, path) = saved(folder.path());
    window.act(Action::Track(TrackAction::Keep));
    assert_eq!(
        kept_curve_layers(&window.state.document).len(),
        1,
        "{}",
        window.messages()
    );
    window.save(&path);
    let stored = folder.path().join("s.arcuate.files");
    let mut files = std::fs::read_dir(stored).expect("a folder").flatten();
    let file = files.next().expect("the streamlines").path();
    let control = Control::new();
    let (kept, _) = trx::read(&file, &control).expect("readable");
    let mut points = kept.points.to_vec();
    points[0][2] += 0.5;
    let other = Tractogram::new(points, kept.offsets.to_vec());
    trx::save(&file, &other, &control).expect("saved");
    let mut reopened = Window::opened(&path);
    let missing: Vec<_> = reopened.state.document.missing_layers().cloned().collect();
    assert_eq!(missing.len(), 1, "{}", reopened.messages());
    assert!(
        missing[0].reason.to_string().contains("other streamlines"),
        "{}",
        missing[0].reason
    );
    let layer = arcuate::state::LayerId(missing[0].layer.id);
    reopened.session(SessionAction::Recompute(layer));
    let status = &reopened.state.runtime.notices.status;
    assert!(status.ends_with("same bytes"), "{status}");
}
