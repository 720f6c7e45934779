//! Actions on figures.

use crate::state::figures::{FigureAction, update};
use crate::state::{Effect, State};

/// Applies one action.
pub fn act(state: &mut State, action: FigureAction, effects: &mut Vec<Effect>) {
    let figures = &mut state.runtime.figures;
    match action {
        FigureAction::Show(open) => figures.is_open = open,
        FigureAction::Measure(subject) => {
            (figures.is_open, figures.subject) = (true, Some(subject));
        }
        FigureAction::Image(image) => figures.image = image,
        FigureAction::Copy => update::copy(state, effects),
        FigureAction::Save { table, path } => update::save(state, table, path, effects),
    }
}
