//! Bundles: the settings of clusters.

use super::parameters::{self, Rows};
use crate::solvers::bundles::Params;
use crate::state::streamlines::BundleSettings;
use crate::state::{Action, State, StreamlineAction};
use crate::ui::theme::space;
use crate::ui::widgets::button::Button;
use crate::ui::widgets::paint;
use egui::{Sense, Ui, vec2};

pub fn show(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let now = &state.document.streamlines.bundles;
    let mut changed = None;
    parameters::rows(
        ui,
        &now.clusters,
        &Params::defaults(),
        Rows::AllBut(&[]),
        &mut |clusters, _| changed = Some(BundleSettings { clusters }),
    );
    if let Some(settings) = changed {
        actions.push(Action::Streamline(StreamlineAction::SetBundles(settings)));
    }
    let button = Button::plain("Cluster").hint(
        "New layer with the streamlines in groups of similar course (QuickBundles), coloured by group",
    );
    let wide = vec2(ui.available_width(), space::BUTTON + 8.0);
    let (rect, _) = ui.allocate_exact_size(wide, Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let place = paint::at_left(row, vec2(button.width(ui), space::BUTTON));
    if button.show_at(ui, place).clicked() {
        actions.push(Action::Streamline(StreamlineAction::Cluster));
    }
}
