//! A drag with P held: the sampled values, and the resulting curve.

use super::pointer::somewhere;
use super::sample::{ViewWindow, state};
use crate::support::{Random, test};
use arcuate::data::Volume;
use arcuate::scene::draw_list::Transfer;
use arcuate::state::core::volume_look::{VolumeLook, VolumeStyle};
use arcuate::state::sampling::{Sample, SampleSource};
use arcuate::state::{Action, Content, Display, LayerAction, LayerId, Pane, Phase, State};
use egui::{Key, Modifiers, PointerButton, vec2};
use glam::DVec3;
use libtest_mimic::Trial;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("views::sampled values are those under the pointer", sampled),
        test("views::a sample makes the curve of a cloud", curve),
        test("views::curves around a range", around),
    ]
}

/// Positions tested on each piece of the path.
const STEPS: u32 = 20_000;

/// The image's values all differ.
fn noise(random: &mut Random) -> (State, LayerId) {
    let mut state = state();
    let layer = Arc::make_mut(&mut state.document.layers[0]);
    let id = layer.id;
    if let Content::Image(volume) = &layer.content {
        let values = (0..volume.grid.voxel_count()).map(|_| random.uniform(40.0, 70.0) as f32);
        let values: Vec<f32> = values.collect();
        layer.content = Content::Image(Volume::scalar(volume.grid.clone(), values));
    }
    (state, id)
}

fn image(state: &State, id: LayerId) -> Volume {
    let layer = state.document.layer(id).expect("found");
    layer.content.volume().expect("an image").clone()
}

/// Textbook mean and standard deviation of voxels.
fn moments(volume: &Volume, voxels: &BTreeSet<usize>) -> (f64, f64) {
    let values = voxels.iter().map(|v| f64::from(volume.frame(0)[*v]));
    let values: Vec<f64> = values.collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
}

fn sampled() {
    let mut random = Random::fresh("sampled");
    for pane in [Pane::Axial, Pane::Sagittal, Pane::Coronal] {
        let (state, id) = noise(&mut random);
        let mut views = ViewWindow::new(state);
        let volume = image(views.state(), id);
        let path: Vec<_> = (0..4)
            .map(|_| somewhere(&views, pane, &mut random))
            .collect();
        let crosshair = views.state().view.crosshair;
        views.hold_key(Key::P, true);
        views.press(path[0], PointerButton::Primary, Modifiers::NONE);
        for at in &path[1..] {
            views.move_to(*at);
        }
        let sample = views.state().runtime.sample.clone().expect("a sample");
        // All voxels passed, and those in which the path is longer than half a spacing, the largest distance between
        // samples.
        let way: Vec<DVec3> = path.iter().map(|at| views.world(pane, *at)).collect();
        let (mut passed, mut certain) = (BTreeSet::new(), BTreeSet::new());
        let half_voxel = volume.grid.spacing().min_element() / 2.0;
        for piece in way.windows(2) {
            let step = piece[0].distance(piece[1]) / f64::from(STEPS);
            let mut inside = BTreeMap::<usize, u32>::new();
            for i in 0..=STEPS {
                let at = piece[0].lerp(piece[1], f64::from(i) / f64::from(STEPS));
                if let Some(voxel) = volume.grid.nearest(at) {
                    *inside.entry(volume.grid.index(voxel)).or_default() += 1;
                }
            }
            for (voxel, count) in inside {
                passed.insert(voxel);
                if f64::from(count - 1) * step > half_voxel {
                    certain.insert(voxel);
                }
            }
        }
        let found: BTreeSet<usize> = sample
            .centres()
            .filter_map(|at| volume.grid.nearest(at).map(|v| volume.grid.index(v)))
            .collect();
        assert_eq!(found.len(), sample.count());
        assert!(found.is_subset(&passed));
        // A missed voxel is cut at a corner only.
        assert!(found.is_superset(&certain), "{found:?} and {certain:?}");
        assert!(certain.len() > 3, "{certain:?}");
        let (mean, deviation) = moments(&volume, &found);
        assert!((sample.mean() - mean).abs() < 1e-9 * mean);
        assert!((sample.deviation() - deviation).abs() < 1e-9 * mean);
        views.release(path[3], PointerButton::Primary);
        views.hold_key(Key::P, false);
        let state = views.state();
        assert!(state.runtime.sample.is_none());
        assert!(
            state.runtime.notices.status.starts_with("Sampled "),
            "{}",
            state.runtime.notices.status
        );
        assert_eq!(state.view.crosshair, crosshair, "the crosshair stays");
        // Without the key the same drag moves it.
        views.drag(&path, PointerButton::Primary, Modifiers::NONE);
        assert_ne!(views.state().view.crosshair, crosshair);
        assert!(views.state().runtime.sample.is_none());
    }
}

fn curve() {
    let mut random = Random::fresh("sampled curve");
    let (mut state, id) = noise(&mut random);
    let layer = state.document.layer(id).expect("found").clone();
    let volume = layer.content.volume().expect("an image");
    let window = layer.display.window;
    let look = VolumeLook {
        style: VolumeStyle::Cloud,
        ..VolumeLook::default_for(volume, window)
    };
    let before = look.transfer.clone();
    let display = Display {
        volume: Some(look),
        ..layer.display.clone()
    };
    arcuate::state::update(
        &mut state,
        Action::Layer(LayerAction::SetDisplay {
            layer: id,
            display,
            phase: Phase::Done,
        }),
    );
    let mut views = ViewWindow::new(state);
    let from = views.rect(Pane::Axial).center();
    views.hold_key(Key::P, true);
    views.press(from, PointerButton::Primary, Modifiers::NONE);
    views.move_to(from + vec2(60.0, 25.0));
    let sample = views.state().runtime.sample.clone().expect("a sample");
    views.release(from + vec2(60.0, 25.0), PointerButton::Primary);
    let transfer = |views: &ViewWindow| {
        let layer = views.state().document.layer(id).expect("found");
        layer.display.volume.clone().expect("a cloud").transfer
    };
    let created = transfer(&views);
    let share = |v: f64| ((v - f64::from(window.0)) / f64::from(window.1 - window.0)) as f32;
    let (mean, sd) = (sample.mean(), sample.deviation());
    assert!(created.opacity(share(mean)) > 0.5);
    assert!(created.opacity(share(mean + 1.9 * sd)) > 0.5);
    assert!(created.opacity(share(mean - 3.1 * sd)) == 0.0);
    assert_eq!(created.colours, before.colours);
    // One step of undo.
    views.act(Action::Undo);
    assert_eq!(transfer(&views), before);
}

/// A transfer curve around any range: nowhere above the maximum, the maximum at its middle, nothing far from it.
fn around() {
    let mut random = Random::fresh("curves around");
    for _ in 0..200 {
        let (middle, half) = (
            random.uniform(-0.2, 1.2) as f32,
            random.uniform(0.0, 0.5) as f32,
        );
        let created = Transfer::rising().around(middle, half, None);
        let middle = middle.clamp(0.0, 1.0);
        let half = half.max(0.01);
        let expected = |share: f32| {
            let beyond = ((share - middle).abs() - half).max(0.0) / (0.5 * half);
            0.6 * (1.0 - beyond).max(0.0)
        };
        for i in 0..=100 {
            let share = i as f32 / 100.0;
            let off = created.opacity(share) - expected(share);
            assert!(off.abs() < 2e-4, "{middle} {half} at {share}: {off}");
        }
    }
    // The background stays transparent for any spread of the values, unless it was sampled.
    for half in [0.01, 0.2, 2.0] {
        let created = Transfer::rising().around(0.5, half, Some(0.02));
        assert_eq!((created.opacity(0.0), created.opacity(0.02)), (0.0, 0.0));
        assert!(created.opacity(0.5) > 0.59);
        let ground = Transfer::rising().around(0.01, half, Some(0.02));
        assert!(ground.opacity(0.01) > 0.59);
    }
    // A single value has no spread.
    let mut sampled = noise(&mut random);
    let volume = image(&sampled.0, sampled.1);
    let mut sample = Sample::new(
        SampleSource::Layer(sampled.1),
        "image".to_owned(),
        (&volume, 7),
    );
    assert_eq!((sample.count(), sample.deviation()), (0, 0.0));
    sample.pass(DVec3::splat(1e6), DVec3::splat(1e6));
    assert_eq!(sample.count(), 0);
    let at = volume.grid.centre();
    sample.pass(at, at);
    assert_eq!((sample.count(), sample.deviation()), (1, 0.0));
    sampled.0.document.layers.clear();
    arcuate::state::update(
        &mut sampled.0,
        Action::Sample(arcuate::state::sampling::SampleAction::Begin { at, adds: false }),
    );
    assert_eq!(sampled.0.runtime.notices.messages.len(), 1);
}
