//! Bootstrapped and deflected streamlines, and density maps, in sessions.

use super::difference;
use super::replay::{outcomes, run};
use crate::support::origins::density_maps;
use crate::support::session_window::{Window, document_text};
use crate::support::test;
use arcuate::data::Role;
use arcuate::solvers::curves::{Deflection, Integrator, Seeding};
use arcuate::solvers::tensor_fit::FitMap;
use arcuate::state::density::{DensityAction, DensityValue};
use arcuate::state::methods::methods;
use arcuate::state::{
    Action, Content, LayerAction, LayerId, Phase, SessionAction, SnapshotAction, TensorAction,
    TrackAction,
};
use glam::dvec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::bootstraps and maps are restored", come_back),
        test("sessions::bootstraps are recomputed", recomputed),
        test("sessions::a map is restored with its streamlines", together),
        test("sessions::maps of the shape are restored", shapes),
        test(
            "sessions::maps that depend on each other are missing",
            of_each_other,
        ),
    ]
}

fn sampled(folder: &std::path::Path) -> Window {
    let mut window = Window::with_scan(folder);
    window.place(Role::Seed, dvec3(0.1, -6.7, 1.3), 5.3);
    let mut params = window.state.document.track.streamlines.clone();
    params.min_length_mm = 5.0;
    params.seeding = Seeding::Random { count: 40 };
    params.repetitions = Some(3);
    params.integrator = Integrator::Euler;
    params.deflection = Some(Deflection { f: 0.2, g: 0.6 });
    let phase = Phase::Done;
    window.act(Action::Track(TrackAction::SetStreamlines { params, phase }));
    assert!(window.state.final_live().is_some(), "{}", window.messages());
    window
}

fn map(
    window: &mut Window,
    layer: Option<LayerId>,
    value: DensityValue,
    voxel_mm: Option<f64>,
) -> LayerId {
    let mut options = crate::support::density_map(value);
    options.voxels.edge_mm = voxel_mm;
    window.act(Action::Density(DensityAction::Map { layer, options }));
    let id = window.state.runtime.selected_layer.expect("a layer");
    assert!(
        window.state.document.density_map(id).is_some(),
        "{}",
        window.messages()
    );
    id
}

/// The streamlines of a map.
fn map_of(window: &Window, map: LayerId) -> LayerId {
    let map_recipe = window.state.document.density_map(map);
    map_recipe.expect("a density map").input.layer
}

/// Maps of the shape come back with the fit of their session, with name and display.
fn shapes() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    for map in [FitMap::Cs, FitMap::ModeColour] {
        window.act(Action::Tensors(TensorAction::ShowShape(map)));
        assert!(
            window.state.document.fit_layer(map).is_some(),
            "{}",
            window.messages()
        );
    }
    let renamed = window
        .state
        .document
        .fit_layer(FitMap::Cs)
        .expect("a map")
        .id;
    window.act(Action::Layer(LayerAction::Rename {
        layer: renamed,
        name: "Round".to_owned(),
    }));
    let path = folder.path().join("shapes.arcuate");
    window.save(&path);
    let reopened = Window::opened(&path);
    assert_eq!(reopened.messages(), "");
    let (before, after) = (&window.state, &reopened.state);
    assert_eq!(
        difference(&document_text(before), &document_text(after)),
        None
    );
    assert_eq!(before.document.layers.len(), after.document.layers.len());
    for map in [FitMap::Cs, FitMap::ModeColour] {
        let [a, b] = [before, after].map(|state| state.document.fit_layer(map).expect("a map"));
        assert_eq!((a.id, &a.name, &a.display), (b.id, &b.name, &b.display));
        let [a, b] = [a, b].map(|layer| layer.content.volume().expect("an image"));
        assert_eq!(a.values, b.values, "{}", map.key());
    }
}

fn come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = sampled(folder.path());
    let layers = window.state.document.layers.len();
    let first = map(&mut window, None, DensityValue::Share, None);
    // The live streamlines were kept with their map.
    assert_eq!(window.state.document.layers.len(), layers + 2);
    let streamlines = map_of(&window, first);
    map(
        &mut window,
        Some(streamlines),
        DensityValue::Count,
        Some(0.7),
    );
    map(&mut window, Some(streamlines), DensityValue::Length, None);
    let share = window.state.document.layer(first).expect("a map").clone();
    let Content::Image(volume) = &share.content else {
        panic!("no image")
    };
    let (low, high) = volume.range(0);
    assert!(low == 0.0 && high > 0.01 && high <= 1.0, "{low} {high}");
    let path = folder.path().join("maps.arcuate");
    window.save(&path);
    let mut reopened = Window::opened(&path);
    assert_eq!(reopened.messages(), "");
    assert_eq!(
        difference(
            &document_text(&window.state),
            &document_text(&reopened.state)
        ),
        None
    );
    for layer in &window.state.document.layers {
        let other = reopened.state.document.layer(layer.id).expect("found");
        let unit = |l: &arcuate::state::Layer| (l.unit, l.unit_scale);
        assert_eq!(unit(layer), unit(other), "{}", layer.name);
        if let (Content::Image(a), Content::Image(b)) = (&layer.content, &other.content) {
            assert_eq!(a.values, b.values, "{}", layer.name);
        }
    }
    assert!(document_text(&reopened.state).contains("--bootstrap 3"));
    assert!(document_text(&reopened.state).contains("--deflect 0.2,0.6"));
    assert!(document_text(&reopened.state).contains("&& arcuate density tracks.trx"));
    let (code, value, stderr) = run(&["replay", "maps.arcuate"], folder.path());
    assert_eq!(code, Some(0), "{stderr}");
    let all = outcomes(&value);
    for id in density_maps(&window.state.document) {
        let expected = format!("layer_{}: same_bytes", id.0);
        assert!(all.contains(&expected), "{expected}: {all:?}");
    }
    let text = methods(&reopened.state);
    for sentence in [
        "maps the fraction of 120 streamlines sent",
        "in voxels of 0.70 × 0.70 × 0.70 mm [",
        "the length of the streamlines",
        "Calamante F",
        "Lazar M, Weinstein DM",
        "Whitcher B, Tuch DS",
        "Jones DK (2008)",
    ] {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
    assert!(!text.contains("differed from"), "{text}");
    assert!(!text.contains("Otsu"), "the mask is a file's: {text}");
    let mut found = reopened.state.clone();
    let tensors = found.document.tensors.as_mut().expect("tensors");
    std::sync::Arc::make_mut(tensors).key.mask = None;
    assert!(methods(&found).contains("Otsu N (1979)"));
    // Undone one by one.
    reopened.act(Action::Layer(LayerAction::Delete(first)));
    reopened.act(Action::Undo);
    assert_eq!(
        difference(
            &document_text(&window.state),
            &document_text(&reopened.state)
        ),
        None
    );
}

fn recomputed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = sampled(folder.path());
    window.act(Action::Track(TrackAction::Keep));
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    std::fs::remove_dir_all(folder.path().join("s.arcuate.files")).expect("removed");
    let mut reopened = Window::opened(&path);
    let missing = reopened.state.document.missing_layers().next();
    let missing = missing.expect("the map").layer.id;
    reopened.session(SessionAction::Recompute(LayerId(missing)));
    let status = &reopened.state.runtime.notices.status;
    assert!(
        status.ends_with("same bytes"),
        "{status} {}",
        reopened.messages()
    );
}

/// Only a manual edit can write this.
fn of_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = sampled(folder.path());
    let map = map(&mut window, None, DensityValue::Count, None);
    window.act(Action::Snapshot(SnapshotAction::Take));
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let text = std::fs::read_to_string(&path).expect("read");
    let mut session: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let content = &mut session["content"];
    let origins = content["origins"].as_array_mut().expect("origins");
    let density = origins.iter().find(|o| o["density"].is_object());
    let density = density.expect("the map's").clone();
    let [a, b] = [901, 902].map(|layer| {
        let mut other = density.clone();
        other["density"]["input"]["layer"] = layer.into();
        origins.push(other);
        origins.len()
    });
    for document in ["/document", "/snapshots/0/document"] {
        let layers = content.pointer_mut(document).expect("a document")["layers"].as_array_mut();
        let layers = layers.expect("layers");
        let own = layers.iter().find(|l| l["id"] == map.0);
        let own = own.expect("the map").clone();
        for (id, origin) in [(901, b), (902, a)] {
            let mut layer = own.clone();
            layer["id"] = id.into();
            layer["origin"] = origin.into();
            layers.push(layer);
        }
    }
    std::fs::write(&path, session.to_string()).expect("written");
    let reopened = Window::opened(&path);
    let document = &reopened.state.document;
    assert!(document.layer(map).is_some(), "{}", reopened.messages());
    let missing: Vec<u64> = document.missing_layers().map(|m| m.layer.id).collect();
    assert_eq!(missing, [901, 902], "{}", reopened.messages());
}

fn together() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = sampled(folder.path());
    let layers = window.state.document.layers.len();
    let id = map(&mut window, None, DensityValue::Count, None);
    let streamlines = map_of(&window, id);
    window.act(Action::Layer(LayerAction::Delete(streamlines)));
    assert_eq!(window.state.document.layers.len(), layers);
    assert!(window.state.runtime.notices.status.contains("maps"));
    window.act(Action::Undo);
    assert_eq!(window.state.document.layers.len(), layers + 2);
}
