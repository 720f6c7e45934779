//! The values in the plot of a transfer function: measured by a job while the plot is open, once for each volume.

use crate::support::session_window::Window;
use crate::support::{done_event, test};
use arcuate::compute::Control;
use arcuate::data::appearance::TransferShape;
use arcuate::data::joint_histogram::{DerivedValue, JointAxis, JointSamples};
use arcuate::data::{Grid, Volume, VolumeKind};
use arcuate::io::nifti;
use arcuate::state::core::volume_look::{
    SecondValue, ThirdValue, TwoValues, VolumeLook, VolumeStyle,
};
use arcuate::state::scene_look::SceneLookAction;
use arcuate::state::scene_look::jobs::MeasureJoint;
use arcuate::state::{
    Action, Display, Effect, FilesAction, LayerAction, LayerId, Phase, State, Task, ViewAction,
    update,
};
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "joint_values::follow the volume shown while the plot is open",
            follow,
        ),
        test(
            "joint_values::another second image is measured",
            other_image,
        ),
        test(
            "joint_values::third values are undone by name and kept",
            third,
        ),
    ]
}

/// Two volumes: distances from the middle, and twice these.
fn opened(folder: &Path) -> (Window, LayerId) {
    let grid = Grid::axis_aligned([12; 3], DVec3::splat(2.0), DVec3::splat(-11.0));
    let grid = Arc::new(grid.expect("regular"));
    let distances = |times: f64| {
        let grid = grid.clone();
        (0..grid.voxel_count()).map(move |i| {
            let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
            (times * at.length()) as f32
        })
    };
    let values: Vec<f32> = distances(1.0).chain(distances(2.0)).collect();
    let volume = Volume::new(grid.clone(), 2, VolumeKind::Scalar, values);
    nifti::save_volume(&folder.join("a.nii"), &volume, "", &Control::new()).expect("written");
    let flat = Volume::scalar(grid.clone(), vec![3.0; grid.voxel_count()]);
    nifti::save_volume(&folder.join("b.nii"), &flat, "", &Control::new()).expect("written");
    let mut window = Window::new();
    for name in ["a.nii", "b.nii"] {
        window.act(Action::Files(FilesAction::Open(vec![folder.join(name)])));
    }
    let layer = window.state.document.layer_named("a").expect("a layer").id;
    (window, layer)
}

/// The action that changes the display of a layer.
fn change(state: &State, layer: LayerId, changed: impl Fn(Display) -> Display) -> Action {
    let shown = &state.document.layer(layer).expect("a layer").display;
    Action::Layer(LayerAction::SetDisplay {
        layer,
        display: changed(shown.clone()),
        phase: Phase::Done,
    })
}

/// The end of a job that measures values.
fn measured(job: &MeasureJoint) -> Action {
    let (frame, other) = (job.key.frame, job.other.as_ref());
    let samples = JointSamples::measure(&job.volume, frame, other, || false);
    let samples = Arc::new(samples.expect("values"));
    Action::Event(done_event(job.clone(), 1, samples))
}

fn jobs(effects: &[Effect]) -> Vec<MeasureJoint> {
    effects.iter().filter_map(|e| e.job()).cloned().collect()
}

fn gradient(state: &State, layer: LayerId) -> f32 {
    let (_, samples) = state.joint_samples(layer).expect("values");
    let axis = JointAxis::Own(DerivedValue::Gradient);
    samples.window(axis).expect("a window").1
}

fn follow() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut window, layer) = opened(folder.path());
    // Nothing is measured while the plot is closed.
    assert!(window.state.joint_samples(layer).is_none());
    let show = |layer| Action::SceneLook(SceneLookAction::ShowJoint(layer));
    window.act(show(Some(layer)));
    let first = gradient(&window.state, layer);
    assert!((first - 1.0).abs() < 0.1, "{first}");
    assert!(!window.state.joint_is_stale());
    // The values of the first volume stay, dimmed, until those of the second one are known.
    let second_volume = change(&window.state, layer, |display| Display {
        frame: 1,
        ..display
    });
    let effects = update(&mut window.state, second_volume);
    let requested = jobs(&effects);
    let [job] = &requested[..] else {
        panic!("one job");
    };
    assert!(window.state.joint_is_stale());
    assert_eq!(gradient(&window.state, layer), first);
    update(&mut window.state, measured(job));
    assert!(!window.state.joint_is_stale());
    let second = gradient(&window.state, layer);
    assert!((second - 2.0 * first).abs() < 1e-4, "{first} {second}");
    // Another window needs no new values.
    let narrower = change(&window.state, layer, |display| Display {
        window: (1.0, 4.0),
        ..display
    });
    let effects = update(&mut window.state, narrower);
    assert!(jobs(&effects).is_empty());
    // The plot is closed, or not on screen in another task.
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    assert!(window.state.joint_samples(layer).is_none());
    window.act(Action::View(ViewAction::SelectTask(Task::View)));
    assert!(window.state.joint_samples(layer).is_some());
    window.act(show(None));
    assert!(window.state.joint_samples(layer).is_none());
    window.act(show(Some(layer)));
    window.act(Action::Layer(LayerAction::Delete(layer)));
    assert!(window.state.joint_samples(layer).is_none());
}

fn two_values(second: SecondValue) -> TwoValues {
    TwoValues {
        second,
        window: (0.0, 1.0),
        shapes: Vec::new(),
        third: None,
    }
}

fn with_two(state: &State, layer: LayerId, two: &TwoValues) -> Action {
    change(state, layer, |display| Display {
        volume: Some(VolumeLook {
            style: VolumeStyle::Cloud,
            two_values: Some(two.clone()),
            ..VolumeLook::default()
        }),
        ..display
    })
}

fn set_two(window: &mut Window, layer: LayerId, two: &TwoValues) {
    let action = with_two(&window.state, layer, two);
    window.act(action);
}

fn other_image() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut window, layer) = opened(folder.path());
    window.act(Action::SceneLook(SceneLookAction::ShowJoint(Some(layer))));
    let image = |window: &Window| {
        let (_, samples) = window.state.joint_samples(layer).expect("values");
        samples.window(JointAxis::Image)
    };
    assert_eq!(image(&window), None);
    let other = window.state.document.layer_named("b").expect("a layer").id;
    set_two(&mut window, layer, &two_values(SecondValue::Image(other)));
    let is_flat = |window: &Window, value: f32| {
        let (low, high) = image(window).expect("a window");
        assert!(
            (low - value).abs() < 1e-3 && (high - value).abs() < 1e-3,
            "{low} {high}"
        );
    };
    is_flat(&window, 3.0);
    // The plot never shows the values of one image under the name of another one.
    let volume = window.state.document.layer(other).expect("a layer");
    let grid = volume.content.volume().expect("an image").grid.clone();
    let third = Volume::scalar(grid.clone(), vec![8.0; grid.voxel_count()]);
    let file = folder.path().join("c.nii");
    nifti::save_volume(&file, &third, "", &Control::new()).expect("written");
    window.act(Action::Files(FilesAction::Open(vec![file])));
    let third = window.state.document.layer_named("c").expect("a layer").id;
    let by_third = with_two(&window.state, layer, &two_values(SecondValue::Image(third)));
    let effects = update(&mut window.state, by_third);
    assert!(window.state.joint_samples(layer).is_none());
    let requested = jobs(&effects);
    let [job] = &requested[..] else {
        panic!("one job");
    };
    update(&mut window.state, measured(job));
    is_flat(&window, 8.0);
    // A cancelled job measures nothing.
    let cancelled = JointSamples::measure(&job.volume, 0, job.other.as_ref(), || true);
    assert!(cancelled.is_none());
    // The values of the image itself are still known with another second value.
    set_two(&mut window, layer, &two_values(SecondValue::Gradient));
    assert!((gradient(&window.state, layer) - 1.0).abs() < 0.1);
}

fn third() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut window, layer) = opened(folder.path());
    let shape = |third| {
        TransferShape {
        third,
        ..serde_json::from_str(
            r#"{"kind":"box","low":[0.1,0.2],"high":[0.5,0.6],"colour":[9,9,9],"opacity":0.5,"softness":0.3}"#,
        )
        .expect("a shape")
    }
    };
    let two = TwoValues {
        shapes: vec![shape(TransferShape::NO_THIRD)],
        ..two_values(SecondValue::Gradient)
    };
    set_two(&mut window, layer, &two);
    let third = ThirdValue {
        value: DerivedValue::Curvature,
        window: (-0.5, 0.5),
    };
    let limited = TwoValues {
        third: Some(third),
        shapes: vec![shape([0.25, 1.0])],
        ..two.clone()
    };
    set_two(&mut window, layer, &limited);
    let found = |window: &Window| {
        let look = window.state.document.layer(layer)?.display.volume.clone();
        look?.two_values
    };
    assert_eq!(found(&window), Some(limited.clone()));
    window.act(Action::Undo);
    let status = window.state.runtime.notices.status.to_string();
    assert!(status.contains("Third value"), "{status}");
    assert_eq!(found(&window), Some(two));
    window.act(Action::Redo);
    let session = folder.path().join("s.arcuate");
    window.save(&session);
    let reopened = Window::opened(&session);
    let layer = reopened.state.document.layer_named("a").expect("a layer");
    let look = layer.display.volume.clone().expect("a look");
    assert_eq!(look.two_values, Some(limited));
}
