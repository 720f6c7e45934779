//! The map of the voxels on which a pathway depends: a layer, with its origin and its command; undone and replaced.

use super::pathways::{A, change, drag, live, looking};
use super::{Window, segment};
use crate::support::test;
use arcuate::data::appearance::ColourMap;
use arcuate::data::{Role, VolumeKind};
use arcuate::scene;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::methods::methods;
use arcuate::state::pathways::jobs::MapSensitivity;
use arcuate::state::pathways::{PathwayAction, ShownCost, SurfaceUse};
use arcuate::state::{Action, CommandLine, Layer, LayerId, Phase, Task, ViewAction};
use arcuate::ui::format;
use arcuate::ui::views::legend::of_slices;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::pathways::a_map_is_a_layer", mapped),
        test("update::pathways::nothing_to_map", nothing),
        test("update::pathways::a_map_is_seen", seen),
        test("update::pathways::maps_are_computed_in_turn", in_turn),
        test("update::pathways::a_fit_drops_no_map", refitted),
        test(
            "update::pathways::a_map_is_no_image_to_segment",
            not_segmented,
        ),
        test(
            "update::pathways::the_command_of_a_map_around_a_surface",
            around,
        ),
    ]
}

/// Requests the map of a kept pathway, or of the live one.
fn request(window: &mut Window, kept: Option<LayerId>) {
    window.act(Action::Pathway(PathwayAction::Sensitivity(kept)));
}

fn maps(window: &Window) -> Vec<Arc<Layer>> {
    let layers = window.state.document.layers.iter();
    let document = &window.state.document;
    let is_map = |l: &&Arc<Layer>| document.sensitivity_recipe(l.id).is_some();
    layers.filter(is_map).cloned().collect()
}

fn mapped() {
    let mut window = looking();
    window.act(Action::Pathway(PathwayAction::Sensitivity(None)));
    let map = maps(&window).remove(0);
    assert_eq!(map.name, "Sensitivity of Seed – Target");
    assert_eq!(map.unit, "%");
    assert_eq!(window.state.runtime.selected_layer, Some(map.id));
    let volume = map.content.volume().expect("an image");
    let sum: f64 = volume.values.iter().map(|v| f64::from(*v)).sum();
    assert!((sum - 100.0).abs() < 1e-2, "{sum}");
    let status = window.state.runtime.notices.status.to_string();
    assert!(
        status.starts_with("Half of the cost depends on "),
        "{status}"
    );
    let command = window.state.document.command_line(&map).text();
    assert!(command.starts_with("arcuate pathway "), "{command}");
    assert!(
        command.ends_with("--sensitivity sensitivity.nii.gz --null 0"),
        "{command}"
    );
    let largest = volume.values.iter().fold(0.0, |a: f32, v| a.max(*v));
    let largest = format::with_unit(&format::significant(f64::from(largest)), "%");
    assert!(
        status.ends_with(&format!("the largest share of one voxel is {largest}")),
        "{status}"
    );
    // Its pathway is described, though it is not kept and another task is shown.
    window.act(Action::View(ViewAction::SelectTask(Task::View)));
    let text = methods(&window.state);
    assert!(text.contains("the adjoint of the discrete equation"));
    assert!(
        text.contains("of paths between “Seed”") && text.contains("“Target”"),
        "{text}"
    );
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    // A second request for the same pathway replaces its map.
    window.act(Action::Pathway(PathwayAction::Sensitivity(None)));
    assert_eq!(maps(&window).len(), 1);
    window.act(Action::Undo);
    window.act(Action::Undo);
    assert!(maps(&window).is_empty());
    window.act(Action::Redo);
    assert_eq!(maps(&window).len(), 1);
    // A kept pathway has its own, also after the ends have moved on.
    window.act(Action::Pathway(PathwayAction::Keep));
    let kept = window.state.document.kept_pathways[0].id;
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    window.act(Action::Pathway(PathwayAction::Sensitivity(Some(kept))));
    assert_eq!(maps(&window).len(), 1, "the map is that of the kept one");
    window.act(Action::Pathway(PathwayAction::Sensitivity(None)));
    assert_eq!(maps(&window).len(), 2);
    assert!(live(&window).pathway.min_cost > 0.0);
}

fn nothing() {
    let mut window = Window::fitted();
    window.act(Action::Pathway(PathwayAction::Sensitivity(None)));
    let jobs = window.submitted.iter();
    assert_eq!(
        jobs.filter(|j| j.job::<MapSensitivity>().is_some()).count(),
        0
    );
    assert!(maps(&window).is_empty());
    let messages = segment::messages(&window);
    assert!(
        messages.contains("There is no pathway yet: place a seed and a target first"),
        "{messages}"
    );
}

/// The map is on top, and the cost of its pathway does not cover it, nor turns it grey; undo brings the cost back.
fn seen() {
    let mut window = looking();
    assert_eq!(window.state.document.pathways.shown, ShownCost::Total);
    request(&mut window, None);
    assert_eq!(window.state.document.pathways.shown, ShownCost::Off);
    let map = maps(&window).remove(0);
    let legend = of_slices(&window.state).and_then(|l| l.sentence());
    let legend = legend.expect("a colour bar");
    assert!(legend.starts_with(&map.name), "{legend}");
    // Images below it are grey, also in place of the cost.
    let images = scene::pathways::ground(&window.state, scene::images(&window.state));
    let colours: Vec<ColourMap> = images.iter().map(|i| i.colour_map).collect();
    assert_eq!(colours.last(), Some(&ColourMap::Magma));
    let is_grey = |i: &scene::draw_list::Image| {
        i.colour_map == ColourMap::Grey && i.volume.0.kind != VolumeKind::Rgb
    };
    assert!(
        images.len() > 1 && images[..images.len() - 1].iter().all(is_grey),
        "{colours:?}"
    );
    // With the cost shown as well, only the images below the map are grey.
    change(&mut window, Phase::Done, |s| s.shown = ShownCost::Total);
    let images = scene::pathways::ground(&window.state, scene::images(&window.state));
    let own = images.iter().filter(|i| i.colour_map == ColourMap::Magma);
    assert_eq!(own.count(), 1);
    window.act(Action::Undo);
    // An image that was opened later covers it; another request brings it to the top.
    let image = super::file("/data/t1.nii.gz", Loaded::Image(segment::image()));
    window.act(Action::Event(image));
    let top = |window: &Window| window.state.document.layers.last().map(|l| l.id);
    assert_ne!(top(&window), Some(map.id));
    request(&mut window, None);
    assert_eq!(top(&window), Some(map.id));
    window.act(Action::Undo);
    assert_ne!(top(&window), Some(map.id));
    window.act(Action::Undo);
    window.act(Action::Undo);
    assert_eq!(window.state.document.pathways.shown, ShownCost::Total);
    assert!(maps(&window).is_empty());
}

/// While one map is computed, that of another pathway is queued; the same one again is reported.
fn in_turn() {
    let mut window = looking();
    window.act(Action::Pathway(PathwayAction::Keep));
    let kept = window.state.document.kept_pathways[0].id;
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    window.holding = true;
    request(&mut window, None);
    request(&mut window, Some(kept));
    assert_eq!(window.jobs_of::<MapSensitivity>().count(), 2);
    request(&mut window, Some(kept));
    assert_eq!(window.jobs_of::<MapSensitivity>().count(), 2);
    let messages = segment::messages(&window);
    assert!(
        messages.contains("The map of this pathway is being computed"),
        "{messages}"
    );
    window.deliver(|_| {});
    assert_eq!(maps(&window).len(), 2);
}

/// A map that was requested arrives, whatever happened to its pathway meanwhile.
fn refitted() {
    let mut window = looking();
    window.act(Action::Pathway(PathwayAction::Keep));
    let kept = window.state.document.kept_pathways[0].id;
    window.holding = true;
    request(&mut window, Some(kept));
    let events = std::mem::take(&mut window.pending);
    window.holding = false;
    window.ordinary();
    window.act(Action::Pathway(PathwayAction::Delete(kept)));
    for event in events {
        window.act(Action::Event(event));
    }
    assert_eq!(maps(&window).len(), 1);
}

fn not_segmented() {
    let mut window = looking();
    let image = |window: &Window| {
        let image = window.state.document.segmented_image();
        image.map(|(layer, _)| layer.name.clone())
    };
    let before = image(&window);
    assert!(before.is_some());
    request(&mut window, None);
    let map = maps(&window).remove(0);
    assert!(map.display.visible);
    assert_eq!(image(&window), before);
}

/// No command can name a surface that is in no file.
fn around() {
    let mut window = looking();
    window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    segment::sphere(&mut window, true, DVec3::ZERO, 4.0);
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    change(&mut window, Phase::Done, |s| {
        s.surface_use = SurfaceUse::Excluded
    });
    request(&mut window, None);
    let map = maps(&window).remove(0);
    match window.state.document.command_line(&map) {
        CommandLine::NoCommand(_) => {}
        other => panic!("{other:?}"),
    }
}
