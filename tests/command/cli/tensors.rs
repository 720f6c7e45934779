//! An image of tensors in place of a scan: on the command line, in the window, in sessions.

use super::{arcuate, coarse_head, json, points, split_arguments};
use crate::support::Window;
use arcuate::data::{Role, Shape, TensorFrame, TensorLayout, TensorOrder};
use arcuate::state::{
    Action, Content, FilesAction, RegionAction, SessionAction, State, TensorAction, TrackAction,
    UnsavedAction,
};
use glam::dvec3;
use std::path::Path;

fn arguments(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

const SEED: &str = "sphere:-24.3,-16.1,10.7,8";
const OURS: &str = "--tensor-order mrtrix --tensor-frame world";

pub fn tracked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    coarse_head(here);
    json(
        &arguments("fit head/dwi.nii.gz --maps tensor,mask --out maps"),
        here,
    );
    let scan = format!("track head/dwi.nii.gz --seed {SEED} --out scan.tck");
    json(&arguments(&scan), here);
    let dti = format!("track maps/tensor.nii.gz {OURS} --seed {SEED} --out dti.tck");
    let reported = json(&arguments(&dti), here);
    let [a, b] = ["scan.tck", "dti.tck"].map(|name| points(&here.join(name)));
    assert!(a.len() > 1_000 && a == b, "tensors of a fit are that fit");
    // The printed command repeats it.
    let repeated = reported["repeat"].as_str().expect("a command").to_owned();
    let repeated = split_arguments(&repeated.replace("dti.tck", "again.tck"));
    let repeated: Vec<&str> = repeated.iter().skip(1).map(String::as_str).collect();
    json(&repeated, here);
    assert_eq!(points(&here.join("again.tck")), b);
    // The other frame gives other fibres; rays and maps accept tensors as well.
    let mirrored = format!(
        "track maps/tensor.nii.gz --tensor-order mrtrix --tensor-frame voxel --seed {SEED} --out m.tck"
    );
    json(&arguments(&mirrored), here);
    assert_ne!(points(&here.join("m.tck")), b);
    let rays = format!("geodesic maps/tensor.nii.gz {OURS} --seed {SEED} --out rays.tck");
    json(&arguments(&rays), here);
    json(
        &arguments(&format!(
            "fit maps/tensor.nii.gz {OURS} --maps fa,tensor --out again"
        )),
        here,
    );
    let image = |path: &str| {
        let path = here.join(path);
        let read = arcuate::io::nifti::read(&path, &arcuate::compute::Control::new());
        read.expect("read").0.values
    };
    assert_eq!(image("maps/tensor.nii.gz"), image("again/tensor.nii.gz"));
    let info = json(&arguments(&format!("info maps/tensor.nii.gz {OURS}")), here);
    assert_eq!(info["files"][0]["tensors"], "xx yy zz xy xz yz, world axes");
    refused(here);
    window(here, &b);
}

fn refused(here: &Path) {
    let refuse = |text: &str, expected: &str, code: i32| {
        let output = arcuate(&arguments(text), here);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(code) && message.contains(expected),
            "{text}: {message}"
        );
    };
    let track = |rest: &str| format!("track {rest} --seed {SEED} --out no.tck");
    refuse(
        &track("maps/tensor.nii.gz"),
        "--tensor-order and --tensor-frame",
        1,
    );
    refuse(
        &track("maps/tensor.nii.gz --tensor-order fsl"),
        "--tensor-frame",
        2,
    );
    refuse(
        &track(&format!("head/dwi.nii.gz {OURS}")),
        "expected the six",
        1,
    );
    refuse(
        &track(&format!("maps/tensor.nii.gz {OURS} --bootstrap 3")),
        "residuals",
        2,
    );
    refuse(
        &format!("fit maps/tensor.nii.gz {OURS} --maps s0 --out s0"),
        "no signal",
        2,
    );
    refuse(
        &track("maps/tensor.nii.gz --tensor-order camino --tensor-frame world"),
        "expected fsl, lower or mrtrix",
        2,
    );
}

fn layout(state: &State) -> Option<TensorLayout> {
    match &state.document.layers[0].content {
        Content::Scan { dwi, .. } => dwi.tensors,
        _ => None,
    }
}

/// It asks, the answer is a step that can be undone, and a session restores it.
fn window(here: &Path, expected: &[u8]) {
    let mut window = Window::new();
    window.act(Action::Files(FilesAction::Open(vec![
        here.join("maps/tensor.nii.gz"),
    ])));
    let state = &window.state;
    let (layer, found) = state.runtime.tensors.orders.clone().expect("compared");
    assert!(state.document.tensors.is_none() && layout(state).is_none());
    assert_eq!(
        found.clear_layout(),
        Some(TensorLayout::MRTRIX),
        "{}",
        found.sentence()
    );
    let read = |layout| Action::Tensors(TensorAction::ReadAs { layer, layout });
    window.act(read(Some(TensorLayout {
        order: TensorOrder::Mrtrix,
        frame: TensorFrame::Voxel,
    })));
    let faulty = window.state.document.tensors.clone().expect("taken");
    window.act(read(Some(TensorLayout::MRTRIX)));
    let right = window.state.document.tensors.clone().expect("taken");
    assert_ne!(right.field.tensors, faulty.field.tensors);
    window.act(Action::Undo);
    let undone = window.state.document.tensors.clone().expect("taken");
    assert_eq!(undone.field.tensors, faulty.field.tensors);
    window.act(Action::Undo);
    assert_eq!(layout(&window.state), None);
    window.act(Action::Redo);
    window.act(Action::Redo);
    assert_eq!(layout(&window.state), Some(TensorLayout::MRTRIX));
    let shape = Shape::Sphere {
        centre: dvec3(-24.3, -16.1, 10.7),
        radius_mm: 8.0,
    };
    window.act(Action::Region(RegionAction::Add {
        role: Role::Seed,
        shape,
    }));
    window.act(Action::Settle);
    window.act(Action::Track(TrackAction::Keep));
    let kept = window.state.document.layers.last().expect("kept").id;
    let document = &window.state.document;
    let text = document.command_line(document.layers.last().expect("kept"));
    let text = text.text();
    assert!(text.contains(OURS) && !text.contains("--method"), "{text}");
    window.act(Action::Files(FilesAction::SaveStreamlines {
        layer: Some(kept),
        path: here.join("window.tck"),
    }));
    assert!(points(&here.join("window.tck")) == expected, "{text}");
    let methods = arcuate::state::methods::methods(&window.state);
    assert!(
        methods.contains("xx yy zz xy xz yz, world axes"),
        "{methods}"
    );
    let session = here.join("s.arcuate");
    window.act(Action::Session(SessionAction::Save {
        path: Some(session.clone()),
        next: None,
    }));
    let mut opened = Window::new();
    opened.act(Action::Session(SessionAction::CloseDocument(
        UnsavedAction::Open(session),
    )));
    assert_eq!(layout(&opened.state), Some(TensorLayout::MRTRIX));
    let back = opened.state.document.tensors.clone().expect("taken");
    assert_eq!(back.field.tensors, right.field.tensors);
    let last = opened.state.document.layers.last().expect("kept");
    assert_eq!(opened.state.document.command_line(last).text(), text);
    let reported = json(&["replay", "s.arcuate", "--backend", "cpu"], here);
    for result in reported["results"].as_array().expect("results") {
        assert_eq!(result["outcome"], "same_bytes", "{result}");
    }
}
