//! Actions on figures.

use crate::state::figures::{FigureAction, update};
use crate::state::view::SideList;
use crate::state::{Effect, State};

/// Applies one action.
pub fn act(state: &mut State, action: FigureAction, effects: &mut Vec<Effect>) {
    let figures = &mut state.runtime.figures;
    match action {
        FigureAction::Show(open) => figures.is_open = open,
        FigureAction::Measure(subject) => {
            (figures.is_open, figures.subject) = (true, Some(subject));
            // In a narrow window the section is in the list that opens from the rail.
            state.view.visible.side_list = Some(SideList::Regions);
        }
        FigureAction::Image(image) => figures.image = image,
        FigureAction::Copy => update::copy(state, effects),
        FigureAction::Save { table, path } => update::save(state, table, path, effects),
    }
}
