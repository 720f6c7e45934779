//! Preferences for all documents.

use crate::state::settings::Preferences;
use crate::state::{Effect, State};

/// The current document keeps its parameters; the next one starts with the new defaults.
pub fn set(state: &mut State, settings: Preferences, effects: &mut Vec<Effect>) {
    let settings = settings.sanitized();
    let before = std::mem::replace(&mut state.runtime.settings, settings);
    let settings = &state.runtime.settings;
    if settings.convention != before.convention {
        state.view.convention = settings.convention;
    }
    if state.document.is_empty() {
        state.document.track.streamlines = settings.track();
        state.document.track.rays = settings.rays();
        state.document.track.odf.rays = settings.odf_rays();
    }
    if settings.memory_gb != before.memory_gb {
        effects.push(Effect::LimitMemory(settings.memory_bytes()));
    }
    effects.push(Effect::Store);
}
