//! The panels of the tasks: inputs, controls, results, actions.

pub mod alignment;
pub mod bundles;
pub(in crate::ui) mod clips;
pub mod commit;
pub mod connectivity;
mod csd;
pub mod curve_parameters;
pub mod density;
pub mod display;
pub mod eikonal;
mod fixels;
pub mod geodesic;
pub mod glyphs;
pub mod in_place;
pub mod level_set;
mod lifted;
mod lines;
pub mod measure;
pub mod mosaic;
mod noise;
pub mod oblique;
pub mod odf_tracking;
mod overlay;
pub mod parameters;
pub mod region;
mod scene;
mod shapes;
pub mod streamlines;
pub mod tensor_fit;
pub mod tracking;
mod viewpoints;
pub mod volume;
mod warp;

pub use csd::{ShellCache, fod_images, is_shown as can_estimate_fods};
pub use odf_tracking::can_have_tensors;

use super::files::{DialogPosition, PathPurpose, suggestion};
use super::{Memory, layers};
use crate::data::Tractogram;
use crate::state::filter::FilterFile;
use crate::state::pathways::PathwayFile;
use crate::state::segment::SegmentFile;
use crate::state::update::{filter_command, pathway_command, segment_command, selection_command};
use crate::state::{CommandLine, Content, Layer, Method, State, Task, Tool};
use std::sync::Arc;

/// The layer that the View panel shows: the selected one, else the topmost visible image.
pub fn shown_layer(state: &State) -> Option<&Arc<Layer>> {
    let layers = &state.document.layers;
    let selected = state
        .runtime
        .selected_layer
        .and_then(|id| state.document.layer(id));
    let images = || layers.iter().rev().filter(|l| l.content.volume().is_some());
    selected
        .or_else(|| images().find(|l| state.shows(l)))
        .or_else(|| images().next())
        .or(layers.last())
}

/// The command line of the content of the task's panel.
pub fn command_line(state: &State) -> Option<CommandLine> {
    let shown = || shown_layer(state).and_then(|l| selection_command(state, l));
    match state.view.task {
        Task::View => shown(),
        Task::Pathways => pathway_command(state, None),
        Task::Segment => segment_command(state),
        Task::Filter => filter_command(state),
        Task::Track => {
            let selected = || selected_tracks(state).and_then(|l| selection_command(state, l));
            match state.runtime.track.live.value() {
                // A command that does not reproduce the controls would be wrong unnoticed.
                Some(_) => state
                    .final_live()
                    .map(|l| state.document.live_command_line(l)),
                None => selected().or_else(shown),
            }
        }
    }
}

/// The streamlines of a layer that the user works on.
fn streamlines_in_work(state: &State) -> Option<(&Arc<Layer>, &Tractogram)> {
    let about = selected_tracks(state).is_some()
        || state.document.streamlines.has_rules()
        || state.view.bottom_panel.is_some()
        || state.manual_selection().is_some()
        || state.view.tool == Tool::Pick;
    state.current_streamlines().filter(|_| about)
}

/// The selected layer, if it holds streamlines.
fn selected_tracks(state: &State) -> Option<&Arc<Layer>> {
    let layer = state.document.layer(state.runtime.selected_layer?)?;
    matches!(layer.content, Content::Tractogram(_) | Content::InPlace(_)).then_some(layer)
}

/// Asks where to write the content of the task's panel.
pub fn export(state: &State, memory: &mut Memory, place: DialogPosition) {
    if state.view.task == Task::Pathways {
        if state.final_pathway().is_some() {
            eikonal::ask_for_path(state, memory, None, PathwayFile::Mask, place);
        }
    } else if state.view.task == Task::Segment {
        if state.resting_surface().is_some() {
            level_set::ask_for_path(state, memory, SegmentFile::Labels, place);
        }
    } else if state.view.task == Task::Filter {
        if commit::has_weights(state) {
            commit::ask_for_path(state, memory, FilterFile::Weights, place);
        }
    } else if state.view.task == Task::Track
        && (state.runtime.track.live.value().is_some() || selected_tracks(state).is_none())
    {
        // Same condition as the button, which gives the reason.
        let live = state.final_live();
        if live.is_none_or(|l| l.output.kept.is_empty()) {
            return;
        }
        let purpose = PathPurpose::streamlines(state, None);
        let name = match state.document.track.method {
            Method::Streamlines => "streamlines",
            Method::Rays => "rays",
        };
        let text = suggestion(state, name, &purpose);
        memory.files.type_path(purpose, place, &text);
    } else if let Some(layer) = shown_layer(state) {
        layers::export(state, layer, memory, place);
    }
}
