//! Tracking the whole brain: how many seeds, whether regions count, and the button.

use crate::data::Role;
use crate::solvers::curves::Seeding;
use crate::state::track::jobs::streamlines::WHOLE_BRAIN;
use crate::state::track::types::odf::Model;
use crate::state::{Action, Phase, State, TrackAction, WholeBrain};
use crate::ui::forms::parameters::{self, Rows, Shown};
use crate::ui::theme::space;
use crate::ui::widgets::button::Button;
use crate::ui::widgets::{paint, rows, section};
use crate::ui::{Memory, icons};
use egui::{Rect, Sense, Ui, vec2};

const NAME: &str = "Whole brain";

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    // Folded in a narrow window.
    let by_default = !memory.narrow;
    let (open, clicked) = section::fold(ui, NAME, memory.is_open(NAME, by_default));
    if clicked {
        memory.toggle(NAME);
    }
    if !open {
        return;
    }
    let whole_brain = state.document.track.whole_brain;
    let mut set = |whole_brain: WholeBrain, phase: Phase| {
        actions.push(Action::Track(TrackAction::SetWholeBrain {
            whole_brain,
            phase,
        }));
    };
    let odf = state.document.odf_params();
    let (seeding, select) = match state.document.track.model {
        Model::Tensors => (state.document.track.streamlines.seeding, None),
        Model::Distributions => (odf.seeding, odf.select),
    };
    let same = match seeding {
        Seeding::Random { .. } => select.map(|_| "see Number to keep"),
        Seeding::Grid { .. } => Some("on the grid above"),
        Seeding::PerVoxel { .. } => Some("per voxel, as above"),
    };
    let defaults = WholeBrain::default();
    let shown = Shown {
        unused: same,
        ..Shown::default()
    };
    parameters::number(ui, &whole_brain, &defaults, "seeds", shown, &mut set);
    let others = Rows::AllBut(&["seeds"]);
    parameters::rows(ui, &whole_brain, &defaults, others, &mut set);
    button(ui, state, actions);
    let selects = |r: &Role| r.affects_curves() && *r != Role::Seed;
    let mut regions = state.document.regions.iter();
    if whole_brain.by_regions && regions.any(|r| selects(&r.role)) {
        rows::hint(
            ui,
            "Targets and the other regions select streamlines, as above; seed regions are ignored",
        );
    }
}

fn button(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let running = state.runtime.jobs.is_running(&[WHOLE_BRAIN]);
    let document = &state.document;
    let missing = match document.track.model {
        Model::Tensors => document
            .tensors
            .is_none()
            .then_some("Tracking needs tensors first"),
        Model::Distributions if document.distributions.field().is_none() => {
            Some("Tracking needs distributions first")
        }
        Model::Distributions if document.tissue_key().is_none() => {
            Some("The chosen tissues are missing")
        }
        Model::Distributions => None,
    };
    let why = match (missing, running) {
        (Some(missing), _) => Some(missing),
        (_, true) => Some("The whole brain is being tracked"),
        _ => None,
    };
    let button = Button::plain("Track whole brain")
        .icon(icons::BRAIN)
        .disabled(why)
        .hint("Places seeds in the whole mask; the result becomes a layer");
    let (rect, _) = ui.allocate_exact_size(
        vec2(ui.available_width(), space::BUTTON + 8.0),
        Sense::hover(),
    );
    let row = paint::inset(rect, space::INSET, space::INSET);
    let size = vec2(button.width(ui), space::BUTTON);
    let place = Rect::from_min_size(row.min + vec2(0.0, 4.0), size);
    if button.show_at(ui, place).clicked() {
        actions.push(Action::Track(TrackAction::WholeBrain));
    }
}
