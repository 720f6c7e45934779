//! Voxels without a fit have no share and no error.

use super::{fitted, layer};
use crate::support::test;
use crate::update::readings::label_map;
use crate::update::{Window, file};
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::filter::WeightMap;
use arcuate::state::{Action, Task, ViewAction};
use arcuate::ui::probe;
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::filter::what_is_not_fitted_has_no_value", no_value),
        test("update::filter::outside_the_scan_there_is_no_sum", no_sum),
    ]
}

/// No sum of weights is not a sum of 0.
fn no_sum() {
    let mut window = fitted();
    let image = Loaded::Image(label_map());
    window.act(Action::Event(file("/data/seg.nii.gz", image)));
    window.act(Action::View(ViewAction::SelectTask(Task::Filter)));
    let sum = |window: &Window| {
        let all = probe::readings(&window.state);
        let own = all.iter().find(|r| r.name == probe::WEIGHTS);
        own.map(|r| r.value.clone())
    };
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::ZERO)));
    assert!(sum(&window).is_some_and(|sum| sum != probe::OUTSIDE));
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::splat(50.0))));
    assert_eq!(sum(&window).as_deref(), Some(probe::OUTSIDE));
}

fn no_value() {
    let mut window = fitted();
    let id = layer(&window).id;
    let maps = [WeightMap::Intra, WeightMap::Extra, WeightMap::Error];
    let error = window.state.document.weight_map(id, &WeightMap::Error);
    let volume = error
        .and_then(|l| l.content.volume())
        .expect("a map")
        .clone();
    let world = |i: usize| {
        let voxel = DVec3::from_array(volume.grid.voxel(i).map(|v| v as f64));
        volume.grid.world(voxel)
    };
    let first = |is: fn(f32) -> bool| volume.frame(0).iter().position(|v| is(*v));
    let mut values = |at: DVec3| {
        window.act(Action::View(ViewAction::MoveCrosshair(at)));
        let all = probe::readings(&window.state);
        maps.each_ref().map(|map| {
            let own = all.iter().find(|r| r.name == map.name());
            own.expect("a reading").value.clone()
        })
    };
    let outside = world(first(|v| v == 0.0).expect("outside"));
    assert!(values(outside).iter().all(|v| v == probe::NOT_FITTED));
    let inside = world(first(|v| v > 0.0).expect("inside"));
    assert!(values(inside).iter().all(|v| v != probe::NOT_FITTED));
}
