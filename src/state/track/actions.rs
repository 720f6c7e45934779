//! Streamlines and rays of the regions, and of the whole brain.

use crate::state::edit::edit;
use crate::state::{Effect, Phase, State, TrackAction, track};

/// Applies one action.
pub fn act(state: &mut State, action: TrackAction, effects: &mut Vec<Effect>) {
    match action {
        TrackAction::SetStreamlines { params, phase } => {
            edit(state, "Tracking", phase == Phase::Live, |d| {
                d.track.streamlines = params
            });
        }
        TrackAction::SetMethod(method) => {
            edit(state, method.name(), false, |d| d.track.method = method);
        }
        TrackAction::SetModel(model) => {
            edit(state, "Model", false, |d| d.track.model = model);
        }
        TrackAction::SetOdfParams { params, phase } => {
            track::update::set_odf_params(state, params, phase);
        }
        TrackAction::SetTissues(tissues) => track::update::set_tissues(state, tissues),
        TrackAction::SetRays { rays, phase } => track::rays::set(state, rays, phase),
        TrackAction::SetOdfRays { rays, phase } => track::rays::set_odf(state, rays, phase),
        TrackAction::SetDisplay { display, phase } => {
            edit(state, "Display", phase == Phase::Live, |d| {
                *d.live_display_mut() = display
            });
        }
        TrackAction::SetWholeBrain { whole_brain, phase } => {
            track::kept_layers::set_whole_brain(state, whole_brain, phase);
        }
        TrackAction::WholeBrain => track::kept_layers::whole_brain(state, effects),
        TrackAction::Repeat => state.runtime.track.live.retry(),
        TrackAction::Keep => track::kept_layers::keep(state),
    }
}
