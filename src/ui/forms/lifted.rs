//! Pathways through crossings: the switch between the models of the task Pathways, and the parameters of costs through
//! fibre orientation distributions.

use super::display::segment_row_but;
use super::eikonal::OnChange;
use super::parameters::{self, Rows};
use super::{csd, odf_tracking};
use crate::solvers::lifted::{DirectionSet, Params};
use crate::state::pathways::standing::NO_DISTRIBUTIONS;
use crate::state::pathways::{PathwayAction, PathwayParams, PathwayResult, PathwaySettings};
use crate::state::track::types::odf::Model;
use crate::state::{Action, Phase, State};
use crate::ui::Memory;
use crate::ui::widgets::rows;
use egui::Ui;

/// Title of the section with all other parameters.
pub const MORE: &str = "Directions, speed off fibres";
/// The parameter below the width.
pub const FIRST: &[&str] = &["curvature-price"];
/// The parameter of the domain.
pub const DOMAIN: &[&str] = &["min-amplitude"];

const HELP: &str = "Where costs come from: the tensor, which has one direction in each voxel, or the fibre orientation \
                    distributions. Through these, paths go straight through crossings and pay for turns";

/// The switch between one tensor and crossings, in a document that has distributions or could have some.
pub fn model(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let settings = &state.document.pathways;
    let has_fods = state.document.distributions.field().is_some();
    let is_offered = csd::shells(state, memory).is_some()
        || csd::fod_images(state).next().is_some()
        || has_fods
        || settings.model == Model::Distributions;
    if !is_offered {
        return;
    }
    let has_tensors = odf_tracking::can_have_tensors(state);
    let why = |i: usize| match Model::ALL[i] {
        Model::Tensors if !has_tensors => Some("No tensors: open a scan with its gradients"),
        Model::Distributions if !has_fods => Some(NO_DISTRIBUTIONS),
        _ => None,
    };
    let now = Model::ALL.iter().position(|m| *m == settings.model);
    let names = Model::ALL.map(PathwaySettings::directions);
    let chosen = segment_row_but(ui, "Directions", HELP, &names, now.unwrap_or(0), why);
    if let Some(i) = chosen.filter(|i| Some(*i) != now) {
        let settings = PathwaySettings {
            model: Model::ALL[i],
            ..settings.clone()
        };
        let phase = Phase::Done;
        actions.push(Action::Pathway(PathwayAction::Set { settings, phase }));
    }
}

/// Says that a pathway in few directions is a preview, also at rest.
pub fn preview(ui: &mut Ui, result: &PathwayResult) {
    let is_rough = match &result.key.params {
        PathwayParams::Tensors(_) => false,
        PathwayParams::Distributions(params) => params.directions == DirectionSet::Icosphere42,
    };
    if is_rough {
        rows::hint(
            ui,
            "A preview: 42 directions are 32° apart, and paths may take the wrong bundle",
        );
    }
}

/// Rows of the parameters of costs through distributions.
pub fn parameter_rows(ui: &mut Ui, settings: &PathwaySettings, shown: Rows, set: &mut OnChange) {
    let (now, defaults) = (settings.lifted, Params::defaults());
    parameters::rows(ui, &now, &defaults, shown, &mut |lifted, phase| {
        let settings = PathwaySettings {
            lifted,
            ..settings.clone()
        };
        set(settings, phase);
    });
}
