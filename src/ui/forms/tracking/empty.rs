//! Text shown when nothing was kept.

use crate::data::{Region, Role};
use crate::state::track::types::odf::Model;
use crate::state::{Action, CurveResult, Severity, State, ViewAction};
use crate::ui::widgets::note::{Note, NoteResponse};
use crate::ui::{Memory, format, theme};
use egui::Ui;
use std::sync::Arc;

/// The target regions of a result.
pub fn targets<'a>(state: &'a State, live: &CurveResult) -> Vec<&'a Arc<Region>> {
    let ids = live.targets.iter();
    ids.filter_map(|id| state.document.region(*id)).collect()
}

/// An empty result as text, with one suggestion.
pub struct Empty<'a> {
    pub text: String,
    /// The label of the button that accepts the suggestion.
    pub label: Option<&'a str>,
    /// Targets were missed.
    pub missed: bool,
    /// Whether at least one curve started.
    pub starts: bool,
}

impl Empty<'_> {
    /// Returns whether the suggestion was accepted.
    pub fn show(
        mut self,
        ui: &mut Ui,
        state: &State,
        live: &CurveResult,
        memory: &mut Memory,
        actions: &mut Vec<Action>,
    ) -> bool {
        // Remarks about regions know the mask of the tensors only.
        let tensors = state.document.tensors.as_ref();
        let tensors = tensors.filter(|_| live.key.curves.kind().model() == Model::Tensors);
        let outside = |r: &Arc<Region>| tensors.is_some_and(|t| !r.shape.touches(&t.mask));
        let mut seeds = state.document.regions.iter();
        if !self.starts && seeds.all(|r| r.role != Role::Seed || outside(r)) {
            // A remark about the regions already reports this.
            return false;
        }
        let targets = targets(state, live);
        let unreachable = !targets.is_empty() && targets.iter().all(|r| outside(r));
        let mut place = None;
        if self.missed && unreachable {
            // No setting would help, and a remark about the regions already says why.
            return false;
        }
        if self.missed
            && let Some((mm, point)) = memory.caches.streamlines.nearest(live)
        {
            let mm = format::with_unit(&format::significant(mm), "mm");
            let drawn = if live.output.missed_every > 1 {
                " of those drawn"
            } else {
                ""
            };
            self.text += &format!(". The nearest{drawn} comes within {mm}");
            place = Some(point);
        }
        let p = theme::palette(ui.style());
        let mut note = Note::new(p, Severity::Warning, &self.text);
        if let Some(label) = self.label {
            note = note.action(label);
        }
        if place.is_some() {
            note = note.second_action("Show it");
        }
        let answer = note.show(ui);
        if let (Some(NoteResponse::Dismissed), Some(place)) = (answer, place) {
            actions.push(Action::View(ViewAction::MoveCrosshair(place)));
        }
        answer == Some(NoteResponse::Accepted)
    }
}
