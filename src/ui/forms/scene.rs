//! The block "3-D view" of the task View: which parts of the scene it shows.

use super::display::{segment_row, slab};
use crate::state::scene_look::SceneLookAction;
use crate::state::{Action, State, ViewAction};
use crate::ui::Memory;
use crate::ui::widgets::section;
use crate::ui::widgets::slider::SliderRow;
use egui::Ui;

const BLOCK: &str = "3-D view";

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let (open, clicked) = section::fold(ui, BLOCK, memory.is_open(BLOCK, false));
    if clicked {
        memory.toggle(BLOCK);
    }
    if !open {
        return;
    }
    let view = &state.view;
    let text = ["Off", "On"];
    let rows = [
        (
            "Slices",
            "The slices of the other views, at their positions",
            view.slices_in_scene(),
            Action::View(ViewAction::ToggleSlicesInScene),
        ),
        (
            "Head outline",
            "The outline of the head around them",
            view.visible.outline,
            Action::View(ViewAction::ToggleOutline),
        ),
    ];
    for (name, help, now, toggle) in rows {
        let chosen = segment_row(ui, name, help, &text, usize::from(now));
        if chosen.is_some_and(|i| (i == 1) != now) {
            actions.push(toggle);
        }
    }
    slab(ui, view, actions);
    depth_cue(ui, state, actions);
}

fn depth_cue(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let cue = f64::from(state.document.scene_look.depth_cue);
    let row = SliderRow::new("Depth cue", cue * 100.0, 0.0..=100.0)
        .decimals(0)
        .default(0.0)
        .unit("%")
        .help(
            "Fades streamlines, surfaces, clouds and glyphs to the background, from the near to the far end of the scene",
        );
    if let Some((percent, phase)) = row.value(ui) {
        let cue = percent as f32 / 100.0;
        actions.push(Action::SceneLook(SceneLookAction::SetDepthCue(cue, phase)));
    }
}
