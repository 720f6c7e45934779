//! Changes of one region, or of their list.

use crate::state::edit::edit;
use crate::state::files::opening::exported;
use crate::state::files::types::RecentExports;
use crate::state::regions::update::change_all;
use crate::state::{Effect, RegionAction, State, regions};

/// Applies one action.
pub fn act(state: &mut State, action: RegionAction, effects: &mut Vec<Effect>) {
    match action {
        RegionAction::Save { region, path } => {
            exported(state, RecentExports::REGION, &path, effects);
            regions::update::save(state, region, path, effects);
        }
        RegionAction::Add { role, shape } => regions::update::place(state, role, shape),
        RegionAction::FromLayer { layer, role } => regions::update::from_layer(state, layer, role),
        RegionAction::Select(region) => regions::draw::select(state, region, effects),
        RegionAction::SetShape {
            region,
            shape,
            phase,
        } => {
            regions::update::reshape(state, region, shape, phase);
        }
        RegionAction::SetRole { region, role } => {
            edit(state, "Region role", false, |d| {
                d.edit_region(region, |r| r.role = role)
            });
        }
        RegionAction::Rename { region, name } => {
            edit(state, "Rename region", false, |d| {
                d.edit_region(region, |r| r.name = name)
            });
        }
        RegionAction::SetColour { region, colour } => {
            edit(state, "Region colour", false, |d| {
                d.edit_region(region, |r| r.colour = colour)
            });
        }
        RegionAction::Toggle(region) => {
            edit(state, "Show region", false, |d| {
                d.edit_region(region, |r| r.visible ^= true)
            });
        }
        RegionAction::Delete(region) => regions::update::delete(state, region),
        RegionAction::ChangeSeveral { regions, change } => change_all(state, &regions, change),
        RegionAction::Move { region, index } => regions::update::move_to(state, region, index),
        RegionAction::Duplicate(region) => regions::update::duplicate(state, region),
        RegionAction::SaveAll { path, as_labels } => {
            exported(state, RecentExports::REGION, &path, effects);
            regions::update::save_all(state, path, as_labels, effects);
        }
        RegionAction::Make { source, phase } => regions::make::set(state, source, phase, effects),
        RegionAction::CountLabels(layer) => regions::make::count_labels(state, layer, effects),
        RegionAction::FromLabels { labels, role } => {
            regions::make::from_labels(state, labels, role, effects);
        }
        RegionAction::SetDrawing(settings) => state.view.drawing = settings,
        RegionAction::DrawInto { region, role } => {
            regions::draw::draw_into(state, region, role, effects)
        }
        RegionAction::Stroke {
            stroke,
            erase,
            begins,
            phase,
        } => regions::draw::stroke(state, &stroke, erase, (begins, phase), effects),
        RegionAction::DrawOutline { outline, erase } => {
            regions::draw::outline(state, &outline, erase, effects);
        }
        RegionAction::CopySlice { slices, forward } => {
            regions::draw::copy_slice(state, slices, forward, effects);
        }
    }
}
