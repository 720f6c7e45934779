//! How pathways treat the surface of Segment: a row of both tasks.

use super::super::display::select_row;
use super::OnChange;
use crate::data::Role;
use crate::state::pathways::{PathwaySettings, SurfaceUse};
use crate::state::{Phase, State};
use crate::ui::widgets::menu;
use egui::Ui;

const HELP: &str = "Whether pathways stay out of the surface of Segment, pay more inside it, or ignore it. In Segment, the \
                    pathway then follows the surface as it moves";

/// Whether there is a surface, or the choice of one is to be seen.
pub fn is_shown(state: &State) -> bool {
    let segment = &state.document.segment;
    let has_surface = state.runtime.segment.live.is_some() || segment.resume.is_some();
    has_surface || state.document.pathways.surface_use != SurfaceUse::Ignored
}

/// Whether a region, or the surface, is costly.
pub fn has_costly(state: &State) -> bool {
    let document = &state.document;
    let is_costly = |role| role == Role::Costly;
    document.regions.iter().any(|region| is_costly(region.role))
        || document.pathways.surface_use.role().is_some_and(is_costly)
}

/// `label`: its name beside the other rows of the task.
pub fn row(ui: &mut Ui, state: &State, label: &str, set: &mut OnChange) {
    let settings = &state.document.pathways;
    let now = settings.surface_use;
    let chosen = select_row(ui, label, HELP, now.name(), |ui| {
        let mut chosen = None;
        for surface_use in SurfaceUse::ALL {
            let item = menu::Item::new(described(surface_use)).chosen(surface_use == now);
            if item.show(ui) {
                chosen = Some(surface_use);
            }
        }
        chosen
    });
    if let Some(surface_use) = chosen {
        let settings = PathwaySettings {
            surface_use,
            ..settings.clone()
        };
        set(settings, Phase::Done);
    }
}

fn described(surface_use: SurfaceUse) -> &'static str {
    match surface_use {
        SurfaceUse::Ignored => "Ignored: paths pass through it",
        SurfaceUse::Excluded => "Excluded: paths stay out",
        SurfaceUse::Costly => "Costly: paths pay more inside",
    }
}
