//! The mosaic's orientation and spacing.

use super::display::segment_row;
use crate::state::core::text::counted;
use crate::state::{Action, Layout, Pane, State, View, ViewAction};
use crate::ui::help_pictures;
use crate::ui::widgets::section;
use crate::ui::widgets::slider::SliderRow;
use egui::Ui;

pub fn show(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let view = &state.view;
    if view.layout != Layout::Mosaic {
        return;
    }
    let (shown, all) = (state.mosaic_slices().len(), state.mosaic_count());
    let fact = match shown < all {
        true => format!("{shown} of {}", counted(all, "slice")),
        false => counted(all, "slice"),
    };
    section::head_with(ui, "Mosaic", &fact);
    let panes = [Pane::Axial, Pane::Sagittal, Pane::Coronal];
    let pane = view.mosaic_pane();
    let now = panes.iter().position(|p| *p == pane).unwrap_or(0);
    let help = "Orientation of the slices. A screenshot of this view shows the mosaic";
    if let Some(i) = segment_row(ui, "Slices", help, &panes.map(Pane::name), now) {
        actions.push(Action::View(ViewAction::SetMosaic(
            panes[i],
            view.mosaic_mm,
        )));
    }
    let row = SliderRow::new("Spacing", view.mosaic_mm, 1.0..=30.0)
        .default(View::MOSAIC_MM)
        .limits(View::MOSAIC_LIMITS_MM)
        .unit("mm")
        .help("Distance between slices; they lie at whole steps from the crosshair");
    let picture = help_pictures::of_control("mosaic-spacing");
    if let Some((mm, _)) = help_pictures::with(ui, picture, |ui| row.value(ui)) {
        actions.push(Action::View(ViewAction::SetMosaic(pane, mm)));
    }
    section::end(ui);
}
