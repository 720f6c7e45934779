//! Layers of fixels: their row among the inputs, their controls, and what the crosshair reads.

use super::{Window, click, click_with, small_scan, window};
use crate::support::{opened_event, opened_file, test};
use arcuate::data::{Fixels, Grid, Volume, VolumeKind};
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::{Action, FilesAction, State, ViewAction, update};
use arcuate::ui::probe;
use egui::{Modifiers, Vec2};
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::fixels without values have no controls of values", unit),
        test("ui::fixels show the list that is open", open_list),
    ]
}

/// One fixel along x in each voxel, with the lists of a folder whose path the user gave relative to another one.
fn fixels(list: Option<&str>) -> Volume {
    let grid = Grid::axis_aligned([4; 3], DVec3::splat(2.0), DVec3::splat(-4.0)).expect("regular");
    let n = grid.voxel_count();
    let mut values = vec![0.0; 3 * n];
    values[..n].fill(1.0);
    let here = PathBuf::from("../study/fixels");
    let known = Fixels {
        count: n,
        values_list: list.map(|list| here.join(list)),
        lists: ["afd.mif", "disp.mif"].map(|list| here.join(list)).into(),
        folder: PathBuf::from("/study/fixels"),
        signed: None,
        range: (0.0, 1.0),
        window: (0.0, 1.0),
    };
    Volume::new(Arc::new(grid), 3, VolumeKind::Scalar, values).with_fixels(Arc::new(known))
}

fn with_fixels(lists: &[(&str, Option<&str>)]) -> State {
    let mut state = small_scan();
    for (path, list) in lists {
        let file = opened_file(path, Loaded::Image(fixels(*list)));
        update(&mut state, Action::Event(opened_event(1, file)));
    }
    state
}

fn has(window: &Window, role: egui::Role, name: &str) -> bool {
    window.query_by_role_and_label(role, name).is_some()
}

/// The number of fixels is their fact; a length of 1 is no value.
fn unit() {
    let mut state = with_fixels(&[
        ("/study/fixels", None),
        ("/study/fixels/afd.mif", Some("afd.mif")),
    ]);
    let at = DVec3::splat(0.5);
    update(&mut state, Action::View(ViewAction::MoveCrosshair(at)));
    let value = |name: &str| {
        let all = probe::readings(&state);
        let found = all.into_iter().find(|r| r.name == name);
        found.expect("a reading").value
    };
    assert_eq!(value("fixels"), "1 fixel");
    assert_eq!(value("afd"), "1.00");
    let layer = |name: &str| state.document.layer_named(name).expect("opened").id;
    let (unit, with_values) = (layer("fixels"), layer("afd"));
    let mut window = window(state, [1920.0, 1800.0]);
    window.get_by_label("fixels, 64 fixels without values");
    let with_list = "afd.mif, 64 fixels, values of afd";
    click(&mut window, with_list);
    assert!(has(&window, egui::Role::ComboBox, "Colour map"));
    window
        .get_by_label("fixels, 64 fixels without values")
        .click();
    window.run();
    let state = &window.state().state;
    assert_eq!(state.runtime.selected_layer, Some(unit));
    assert!(!has(&window, egui::Role::ComboBox, "Colour map"));
    assert!(has(&window, egui::Role::ComboBox, "Values of"));
    // The right end of a row selects its layer, too.
    let row = window.get_by_label(with_list);
    let end = row.rect().right_center() - Vec2::new(4.0, 0.0);
    click_with(&mut window, end, Modifiers::NONE);
    let state = &window.state().state;
    assert_eq!(state.runtime.selected_layer, Some(with_values));
}

/// A list that is open is shown, whatever path it was opened by; a click on the name of the row opens the menu.
fn open_list() {
    let state = with_fixels(&[
        ("/study/fixels/disp.mif", Some("disp.mif")),
        ("/study/fixels/afd.mif", Some("afd.mif")),
    ]);
    let disp = state.document.layer_named("disp").expect("opened").id;
    let mut window = window(state, [1920.0, 1800.0]);
    click(&mut window, "afd.mif, 64 fixels, values of afd");
    let before = window.state().actions.len();
    let field = window.get_by_role_and_label(egui::Role::ComboBox, "Values of");
    let name = field.rect().left_center() - Vec2::new(30.0, 0.0);
    click_with(&mut window, name, Modifiers::NONE);
    let row = window.get_by_role_and_label(egui::Role::MenuItem, "disp");
    row.click();
    window.run();
    let done = &window.state().actions[before..];
    let opens = |a: &Action| matches!(a, Action::Files(FilesAction::Open(_)));
    assert!(!done.iter().any(opens), "{done:?}");
    let state = &window.state().state;
    assert_eq!(state.view.glyphs.peaks.layer, Some(disp));
    // A second click on the name closes the menu.
    click_with(&mut window, name, Modifiers::NONE);
    assert!(
        window
            .query_by_role_and_label(egui::Role::MenuItem, "afd")
            .is_some()
    );
    click_with(&mut window, name, Modifiers::NONE);
    assert!(
        window
            .query_by_role_and_label(egui::Role::MenuItem, "afd")
            .is_none()
    );
    click(&mut window, "Undo");
}
