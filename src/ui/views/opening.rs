//! A text in views that are still empty because a session is being opened.

use super::annotations;
use crate::data::text::file_name;
use crate::state::core::text::{count, counted};
use crate::state::files::jobs::LOAD;
use crate::state::{Content, Pane, State};
use crate::ui::theme::{self, IN_VIEW, size};
use crate::ui::widgets::paint;
use egui::{Align2, Id, Rect, Role, Sense, Ui, WidgetInfo};
use std::path::Path;

/// Progress of what is still loading: files of the session, or the images of its fit; `None` if nothing is.
pub fn text(state: &State) -> Option<String> {
    let (runtime, unrestored) = (&state.runtime, &state.document.session.unrestored);
    let named = |path: &Path| {
        let name = file_name(path);
        format!("Opening {name}")
    };
    let opening = runtime.sessions.opening.as_ref().filter(|o| !o.asking);
    if let Some(opening) = opening.filter(|_| runtime.jobs.is_running(&[LOAD])) {
        let (done, total) = (opening.progress.done(), opening.progress.total);
        let progress = format!("{} of {}", count(done as u64), counted(total, "layer"));
        return Some(format!("{}: {progress}", named(&opening.session.path)));
    }
    let file = runtime.sessions.opened.as_ref().map(|read| &read.path);
    let stage = match () {
        () if unrestored.awaited.is_some() && runtime.tensors.is_fitting() => "fitting tensors",
        () if unrestored.awaited_fods.is_some() && runtime.tensors.fods.running().is_some() => {
            "estimating fibre orientations"
        }
        () => return None,
    };
    Some(format!("{}: {stage}", named(file?)))
}

/// Whether a view has nothing to show yet: a few streamlines on a black slice explain nothing.
fn is_empty(state: &State, pane: Pane) -> bool {
    let mut shown = state.document.layers.iter().filter(|l| state.shows(l));
    !shown.any(|l| {
        pane == Pane::Scene || !matches!(l.content, Content::Tractogram(_) | Content::InPlace(_))
    })
}

/// Writes the text into the middle of each of these panes that is empty.
pub fn show(ui: &Ui, state: &State, panes: &[(Pane, Rect)]) {
    let Some(text) = text(state) else { return };
    let font = theme::regular(size::BODY);
    for (pane, rect) in panes.iter().filter(|(pane, _)| is_empty(state, *pane)) {
        let painter = ui.painter().with_clip_rect(*rect);
        let line = paint::elided(&painter, &text, font.clone(), rect.width() - 16.0);
        let span = (&*line, font.clone(), IN_VIEW.t1);
        let place = annotations::text(&painter, rect.center(), Align2::CENTER_CENTER, &[span]);
        let response = ui.interact(place, Id::unique(("opening", *pane)), Sense::hover());
        response.widget_info(|| WidgetInfo::labeled(Role::Status, true, &text));
    }
}
