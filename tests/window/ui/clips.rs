//! The block of clips, and the row of the depth cue, in the task View.

use super::{Window, click, small_scan, type_over, window};
use crate::support::test;
use arcuate::data::clip::ClipShape;
use arcuate::state::scene_look::SceneLook;
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::clips are added, changed and removed", changed),
        test("ui::the depth cue is typed", typed),
    ]
}

fn look(window: &Window) -> &SceneLook {
    &window.state().state.document.scene_look
}

fn changed() {
    let mut window = window(small_scan(), [1920.0, 1800.0]);
    click(&mut window, "Clips");
    click(&mut window, "Add clip");
    click(&mut window, "Plane at the axial slice");
    assert_eq!(look(&window).clips.len(), 1);
    assert_eq!(look(&window).selected, Some(0));
    click(&mut window, "Hides: I side");
    assert!(look(&window).clips[0].hides_inside);
    click(&mut window, "Clip volumes: Off");
    assert!(!look(&window).clips[0].kinds.volumes);
    click(&mut window, "Switch off Plane 1");
    assert!(!look(&window).clips[0].is_on);
    click(&mut window, "Undo");
    assert!(look(&window).clips[0].is_on);

    // The position of a plane at a slice is the coordinate of the slice, whichever side the viewer is on.
    click(&mut window, "Add clip");
    click(&mut window, "Plane at the sagittal slice");
    let state = &window.state().state;
    let (at, forward) = (state.view.crosshair, state.view.camera.forward());
    let plane = &state.document.scene_look.clips[1];
    let ClipShape::Plane { normal, offset_mm } = plane.shape else {
        panic!("a plane");
    };
    assert_eq!(normal, DVec3::X);
    assert!((offset_mm - at.x).abs() < 1e-9, "{offset_mm} {at}");
    assert_eq!(plane.hides_inside, forward.x > 0.0);
    click(&mut window, "Delete Plane 2");

    click(&mut window, "Add clip");
    click(&mut window, "Box around the head");
    let ClipShape::Box { low, high } = look(&window).clips[1].shape else {
        panic!("a box");
    };
    assert!(low.cmplt(high).all());
    click(&mut window, "Hides: Inside");
    assert!(look(&window).clips[1].hides_inside);
    // Another one is chosen in the list; a second click leaves none.
    click(&mut window, "Plane 1");
    assert_eq!(look(&window).selected, Some(0));
    window.run_steps(30);
    click(&mut window, "Plane 1");
    assert_eq!(look(&window).selected, None);
    click(&mut window, "Delete Plane 1");
    assert_eq!(look(&window).clips.len(), 1);
    // Outlines vanish with the block.
    click(&mut window, "Box 1");
    assert_eq!(look(&window).selected, Some(0));
    click(&mut window, "Clips");
    assert_eq!(look(&window).selected, None);
}

fn typed() {
    let mut window = window(small_scan(), [1920.0, 1800.0]);
    click(&mut window, "3-D view");
    window
        .get_by_role_and_label(egui::Role::TextInput, "Depth cue")
        .click();
    window.run();
    type_over(&mut window, "40");
    assert_eq!(look(&window).depth_cue, 0.4);
    click(&mut window, "Undo");
    assert_eq!(look(&window).depth_cue, 0.0);
}
