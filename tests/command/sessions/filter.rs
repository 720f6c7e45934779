//! Weights of streamlines: a session stores them with their maps, and a fit with its stored inputs repeats them.

use super::replay::{outcomes, run};
use crate::support::origins::weight_maps;
use crate::support::session_window::Window;
use crate::support::test;
use arcuate::data::Role;
use arcuate::io::session::PackedNumbers;
use arcuate::state::filter::{
    ExcludedStreamlines, FilterAction, GivenPeaks, ShownStreamlines, WEIGHT, WeightMap,
};
use arcuate::state::streamlines::{SelectionMode, streamlines_of};
use arcuate::state::{
    Action, Phase, SessionAction, StreamlineAction, Task, TensorAction, TrackAction, ViewAction,
};
use arcuate::ui::probe::{WEIGHTS, readings};
use glam::dvec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::weights_are_restored", come_back),
        test("sessions::numbers_are_packed", packed),
        test("sessions::weights_that_cannot_be_read_stay", stay),
        test("sessions::peaks_of_distributions_come_back", peaks),
    ]
}

fn act(window: &mut Window, action: FilterAction) {
    window.act(Action::Filter(action));
}

/// Distributions are estimated again with the session, and their peaks give the same weights.
fn peaks() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.place(Role::Seed, dvec3(0.0, -4.0, 0.0), 7.0);
    window.act(Action::Track(TrackAction::Keep));
    let mut settings = window.state.document.distributions.settings.clone();
    settings.requested = true;
    window.act(Action::Tensors(TensorAction::SetFods(settings)));
    assert!(window.state.document.fod_peaks().is_some());
    window.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    let chosen = Some(GivenPeaks::Distributions(()));
    act(&mut window, FilterAction::Peaks(chosen));
    act(&mut window, FilterAction::Run);
    let id = window.state.document.filtered().expect("kept").0.id;
    let path = folder.path().join("peaks.arcuate");
    window.save(&path);
    let reopened = Window::opened(&path);
    assert!(reopened.state.runtime.notices.messages.is_empty());
    assert_eq!(reopened.state.document.filter.peaks, chosen);
    assert!(!reopened.state.weights_are_stale());
    let commands = [&window, &reopened].map(|w| {
        let document = &w.state.document;
        document.command_line_from(document.weights[&id].fit).text()
    });
    assert_eq!(commands[0], commands[1]);
    let part = " --maps peaks --out fod && arcuate commit ";
    assert!(commands[0].contains(part), "{}", commands[0]);
    let (code, value, message) = run(&["replay", "peaks.arcuate"], folder.path());
    assert_eq!(code, Some(0), "{message}");
    let expected = format!("layer_{}_weights: ", id.0);
    let reported = outcomes(&value);
    let mut own = reported.iter().filter(|o| o.starts_with(&expected));
    assert!(own.any(|o| !o.contains("differ")), "{reported:?}");
}

fn packed() {
    let values = [0.0, 1.5, -0.0, f32::MIN_POSITIVE, 3.4e38, 0.1];
    let text = PackedNumbers::pack(&values);
    let back = text.unpack().expect("packed");
    let bits = |all: &[f32]| all.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&back), bits(&values));
    assert_eq!(PackedNumbers::pack(&[]).unpack().expect("none").len(), 0);
    let more = PackedNumbers {
        count: 7,
        ..text.clone()
    };
    assert!(more.unpack().is_err(), "breaks off");
    let fewer = PackedNumbers { count: 5, ..text };
    assert!(fewer.unpack().is_err(), "too many");
    assert!(PackedNumbers::count_only(values.len()).unpack().is_err());
}

/// Numbers of a later version: the next save keeps them until they are replaced.
fn stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let mut window = Window::with_scan(folder.path());
    window.place(Role::Seed, dvec3(0.0, -4.0, 0.0), 7.0);
    window.act(Action::Track(TrackAction::Keep));
    window.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    act(&mut window, FilterAction::Run);
    let id = window.state.document.filtered().expect("kept").0.id;
    let path = at("w.arcuate");
    window.save(&path);
    let read = || -> serde_json::Value {
        let text = std::fs::read_to_string(&path).expect("read");
        serde_json::from_str(&text).expect("JSON")
    };
    let write = |runtime: &serde_json::Value| {
        std::fs::write(&path, runtime.to_string()).expect("written");
    };
    let whole = read();
    let mut damaged = whole.clone();
    for packed in damaged["numbers"].as_array_mut().expect("numbers") {
        packed["bytes"] = format!("-{}", packed["bytes"].as_str().expect("bytes")).into();
    }
    write(&damaged);
    let mut without = Window::opened(&path);
    let message = without.messages();
    let sentence =
        "are left out and stay in the session until the streamlines are edited or fitted again";
    assert!(message.contains(sentence), "{message}");
    assert!(without.state.document.weights.is_empty());
    assert!(!without.state.document.is_whole());
    without.save(&path);
    let mut reopened = read();
    for packed in reopened["numbers"].as_array_mut().expect("numbers") {
        let bytes = packed["bytes"].as_str().and_then(|b| b.strip_prefix('-'));
        packed["bytes"] = bytes.expect("as they were").to_owned().into();
    }
    write(&reopened);
    let back = Window::opened(&path);
    assert_eq!(back.messages(), "");
    let weights = |window: &Window| {
        let document = &window.state.document;
        let layer = document.layer(id).expect("the streamlines");
        let fitted = &document.weights[&id];
        let values = streamlines_of(layer).expect("lines").per_streamline[WEIGHT].to_vec();
        (values, fitted.figures.clone(), document.fit_inputs(fitted))
    };
    assert_eq!(weights(&back), weights(&window));
    // They do not apply to edited streamlines.
    without.act(Action::Streamline(StreamlineAction::Choose {
        streamlines: (0..5).collect(),
        mode: SelectionMode::Replace,
        anchor: None,
    }));
    without.act(Action::Streamline(StreamlineAction::DeleteChosen));
    without.save(&path);
    let saved_layer = |runtime: &serde_json::Value| {
        let layers = runtime["content"]["document"]["layers"].as_array().cloned();
        let mut layers = layers.expect("layers").into_iter();
        layers.find(|l| l["id"] == id.0).expect("the streamlines")
    };
    assert!(saved_layer(&whole)["weights"].is_object(), "{whole}");
    assert!(saved_layer(&read())["weights"].is_null());
}

fn come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.place(Role::Seed, dvec3(0.0, -4.0, 0.0), 7.0);
    window.act(Action::Track(TrackAction::Keep));
    window.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    act(&mut window, FilterAction::Run);
    let (layer, lines) = window.state.document.filtered().expect("kept");
    let (id, all) = (layer.id, lines.len());
    assert!(all > 20, "{all}: {}", window.messages());
    // Some were deleted: the rest is refitted automatically.
    window.act(Action::Streamline(StreamlineAction::Choose {
        streamlines: (0..5).collect(),
        mode: SelectionMode::Replace,
        anchor: None,
    }));
    window.act(Action::Streamline(StreamlineAction::DeleteChosen));
    window.act(Action::Streamline(StreamlineAction::Choose {
        streamlines: (0..4).collect(),
        mode: SelectionMode::Replace,
        anchor: None,
    }));
    act(
        &mut window,
        FilterAction::Lesion(ExcludedStreamlines::Chosen),
    );
    let fitted = window.state.document.weights[&id].clone();
    let min_weight = fitted.sorted[fitted.sorted.len() / 3];
    act(
        &mut window,
        FilterAction::Cut {
            min_weight,
            phase: Phase::Done,
        },
    );
    assert_eq!(window.messages(), "");
    let path = folder.path().join("weights.arcuate");
    window.save(&path);
    let mut reopened = Window::opened(&path);
    assert_eq!(reopened.messages(), "");
    let documents = [&window, &reopened].map(|w| &w.state.document);
    let values = documents.map(|d| {
        let layer = d.layer(id).expect("the streamlines");
        streamlines_of(layer).expect("lines").per_streamline[WEIGHT].to_vec()
    });
    assert_eq!(values[0], values[1]);
    assert_eq!(values[0].len(), all - 5);
    let back = &documents[1].weights[&id];
    assert_eq!(back.figures, fitted.figures);
    assert_eq!(back.lesions, fitted.lesions);
    let inputs = [(0, &*fitted), (1, &**back)].map(|(i, w)| documents[i].fit_inputs(w));
    assert!(inputs[0].is_some() && inputs[0] == inputs[1]);
    assert_eq!(documents[1].shown_by_weight(id), ShownStreamlines::After);
    assert_eq!(documents[1].filter, documents[0].filter);
    for map in [WeightMap::Intra, WeightMap::Error] {
        let volumes = documents.map(|d| {
            let layer = d.weight_map(id, &map).expect("a map");
            layer.content.volume().expect("an image").frame(0).to_vec()
        });
        assert_eq!(volumes[0], volumes[1], "{map:?}");
    }
    let names = documents.map(|d| d.layers.iter().map(|l| l.name.clone()).collect::<Vec<_>>());
    assert_eq!(names[0], names[1]);
    // They belong to the present streamlines, and the fit can continue.
    reopened.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    // The streamlines that pass a voxel are known before that.
    let at_crosshair = [&window, &reopened].map(|w| {
        let all = readings(&w.state).into_iter();
        let found = all.filter(|r| r.name == WEIGHTS).map(|r| r.value).next();
        found.expect("weights at the crosshair")
    });
    assert_eq!(at_crosshair[0], at_crosshair[1]);
    act(&mut reopened, FilterAction::Run);
    let on = reopened.state.document.weights[&id].figures.objective;
    assert!((on / fitted.figures.objective - 1.0).abs() < 1e-3);
    let (code, value, message) = run(&["replay", "weights.arcuate"], folder.path());
    assert_eq!(code, Some(0), "{message}");
    let requested = format!("layer_{}_weights: ", id.0);
    let reported = outcomes(&value);
    assert!(
        reported
            .iter()
            .any(|o| o.starts_with(&requested) && !o.contains("differ")),
        "{reported:?}"
    );
    // A few characters may expand to more than any memory holds.
    let text = std::fs::read_to_string(&path).expect("read");
    let mut session: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let numbers = session["numbers"].as_array_mut().expect("numbers");
    let endless = serde_json::json!({"count": 1u64 << 30, "bytes": "AAAA"});
    numbers.extend(std::iter::repeat_n(endless, 512));
    let endless = folder.path().join("endless.arcuate");
    std::fs::write(&endless, session.to_string()).expect("written");
    let full = Window::opened(&endless);
    let message = full.messages();
    assert!(
        message.contains("they need more memory than is available"),
        "{message}"
    );
    assert!(full.state.document.layer(id).is_some(), "the others are");
    // If the streamlines are recomputed, the weights and their maps are restored with them.
    std::fs::remove_dir_all(folder.path().join("weights.arcuate.files")).expect("removed");
    let (code, _, reported) = run(&["replay", "weights.arcuate"], folder.path());
    assert_eq!(code, Some(1), "{reported}");
    let sentence = "were not fitted again: the streamlines are missing";
    assert!(reported.contains(sentence), "{reported}");
    let mut without = Window::opened(&path);
    let message = without.messages();
    assert!(message.contains("stays in the session"), "{message}");
    assert!(weight_maps(&without.state.document).is_empty());
    without.save(&folder.path().join("without.arcuate"));
    without.open(&folder.path().join("without.arcuate"));
    without.session(SessionAction::Recompute(id));
    let status = &without.state.runtime.notices.status;
    assert!(status.ends_with("same bytes"), "{status}");
    let layer = without.state.document.layer(id).expect("made");
    let weights = &streamlines_of(layer).expect("lines").per_streamline[WEIGHT];
    assert_eq!(weights.to_vec(), values[0]);
    for map in [WeightMap::Intra, WeightMap::Error] {
        let volume = without.state.document.weight_map(id, &map).expect("a map");
        let volume = volume.content.volume().expect("an image").frame(0).to_vec();
        let before = window.state.document.weight_map(id, &map).expect("a map");
        assert_eq!(volume, before.content.volume().expect("an image").frame(0));
    }
}
