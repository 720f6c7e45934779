//! The command that makes weights and maps.

use crate::solvers::commit::solver::Ended;
use crate::state::filter::update::fit_inputs;
use crate::state::origin::commands::weight_command;
use crate::state::{CommandLine, State};

/// The command line of the weights shown, else of those that would be fitted now.
pub fn command_line(state: &State) -> Option<CommandLine> {
    let (layer, _) = state.document.filtered()?;
    let min_weight = state.document.filter.min_weight(layer.id);
    if let Some((fitted, _)) = state.document.weights_of_layer(layer) {
        let mut from = state.document.fit_inputs(fitted)?;
        // A command that no one stops has to end where the user stopped this one.
        if fitted.figures.ended == Ended::Cancelled {
            let iterations = u32::try_from(fitted.iterations()).unwrap_or(u32::MAX);
            from.params.stop.iterations = iterations.max(1);
        }
        return weight_command(&state.document, layer.id, &from, min_weight);
    }
    let from = fit_inputs(state, &crate::state::filter::update::key(state)?)?;
    weight_command(&state.document, layer.id, &from, 0.0)
}
