//! How pathways treat the surface of Segment: a row of both tasks.

use super::super::display::select_row;
use super::OnChange;
use crate::data::Role;
use crate::state::pathways::{PathwaySettings, SURFACE_USE, SurfaceUse};
use crate::state::{Phase, State};
use crate::ui::widgets::menu;
use egui::Ui;

const HELP: &str = "How pathways treat the surface of Segment: they ignore it, stay out of it, or cost more inside it. Unless \
                    they ignore it, the pathway in Segment follows the surface as it moves";

/// Whether the row is shown: pathways do not ignore the surface, or there are ends and a surface between which to choose.
pub fn is_shown(state: &State) -> bool {
    let document = &state.document;
    let has_role = |role| document.regions.iter().any(|r| r.role == role);
    let has_ends = has_role(Role::Seed) && has_role(Role::Target);
    document.pathways.surface_use != SurfaceUse::Ignored || has_ends && document.segment.begins()
}

/// Whether a region, or the surface, is costly.
pub fn has_costly(state: &State) -> bool {
    let document = &state.document;
    let is_costly = |role| role == Role::Costly;
    document.regions.iter().any(|region| is_costly(region.role))
        || document.pathways.surface_use.role().is_some_and(is_costly)
}

pub fn row(ui: &mut Ui, state: &State, set: &mut OnChange) {
    let settings = &state.document.pathways;
    let now = settings.surface_use;
    let chosen = select_row(ui, SURFACE_USE, HELP, now.name(), |ui| {
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
        SurfaceUse::Ignored => "Ignored: paths pass through",
        SurfaceUse::Excluded => "Excluded: paths stay out",
        SurfaceUse::Costly => "Costly: paths cost more inside",
    }
}
