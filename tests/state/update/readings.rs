//! Values at the crosshair: labels with their names, units, and no value where a layer has none.

use super::{Window, file};
use crate::support::test;
use arcuate::data::labels::{Label, Labels};
use arcuate::data::{Grid, Mask, Volume};
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::{Action, ViewAction};
use arcuate::ui::probe;
use glam::DVec3;
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "update::readings::a label has its name in the status line",
            labels,
        ),
        test(
            "update::readings::outside its grid a layer has no value",
            outside,
        ),
        test("update::readings::diffusivities have their unit", units),
    ]
}

/// A label in a cube of 120 mm, much wider than the scan.
pub(super) fn label_map() -> Volume {
    let grid = Grid::axis_aligned([40; 3], DVec3::splat(3.0), DVec3::splat(-58.5));
    let grid = Arc::new(grid.expect("a grid"));
    let values = vec![10.0; grid.voxel_count()];
    let thalamus = Label {
        name: "Thalamus".to_owned(),
        colour: None,
    };
    let labels = Labels {
        table: BTreeMap::from([(10, thalamus)]),
    };
    Volume::scalar(grid, values).with_labels(Arc::new(labels))
}

/// A fitted scan and a label map.
fn window() -> Window {
    let mut window = Window::fitted();
    let labels = Loaded::Image(label_map());
    window.act(Action::Event(file("/data/seg.nii.gz", labels)));
    window
}

fn value(window: &Window, name: &str) -> String {
    let all = probe::readings(&window.state);
    let found = all.iter().find(|r| r.name == name);
    found.expect(name).value.clone()
}

/// Names and values in the status line.
fn brief(window: &Window) -> Vec<(String, String)> {
    let all = probe::readings(&window.state);
    let brief = probe::brief_readings(&window.state, &all, 2).into_iter();
    brief.map(|r| (r.name.clone(), r.value.clone())).collect()
}

fn labels() {
    let mut window = window();
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::ZERO)));
    let shown = brief(&window);
    assert_eq!(shown[0].0, "FA");
    assert_eq!(shown[1], ("seg".to_owned(), "10 Thalamus".to_owned()));
    // A hidden one leaves its place to MD.
    let id = window.state.document.layer_named("seg").expect("opened").id;
    window
        .state
        .document
        .edit_layer(id, |l| l.display.visible = false);
    assert_eq!(brief(&window)[1].0, "MD");
}

fn outside() {
    let mut window = window();
    let at = DVec3::splat(50.0);
    window.act(Action::View(ViewAction::MoveCrosshair(at)));
    assert_eq!(window.state.view.crosshair, at);
    for name in ["FA", "MD", probe::DIRECTION] {
        assert_eq!(value(&window, name), probe::OUTSIDE, "{name}");
    }
    // The layer that has a value there is shown instead.
    assert_eq!(brief(&window)[0].1, "10 Thalamus");
    // Within the grid and outside the mask.
    let corner = window.tensors().field.grid.world(DVec3::splat(1.0));
    window.act(Action::View(ViewAction::MoveCrosshair(corner)));
    for name in ["FA", probe::DIRECTION] {
        assert_eq!(value(&window, name), probe::OUTSIDE_MASK, "{name}");
    }
    // A mask says that the crosshair lies outside it, and not outside the image.
    let grid = window.tensors().field.grid.clone();
    let inside: Vec<u8> = (0..grid.voxel_count()).map(|i| u8::from(i == 0)).collect();
    let mask = Loaded::Mask(Mask::new(grid.clone(), inside));
    window.act(Action::Event(file("/data/spot.nii.gz", mask)));
    assert_eq!(value(&window, "spot"), probe::OUTSIDE_MASK);
    let first = grid.world(DVec3::ZERO);
    window.act(Action::View(ViewAction::MoveCrosshair(first)));
    assert_eq!(value(&window, "spot"), "inside the mask");
}

fn units() {
    let mut window = window();
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::ZERO)));
    for name in ["MD", "AD", "RD"] {
        let value = value(&window, name);
        let in_unit = value.contains("10⁻³") && value.ends_with("mm²/s");
        assert!(in_unit, "{value}");
    }
    assert!(value(&window, "FA").parse::<f64>().is_ok());
}
