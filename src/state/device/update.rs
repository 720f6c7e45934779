//! The device of solvers: another backend chosen by the user, and the CPU after a failure of a graphics card.

use crate::jobs::{BackendKind, BackendOpened};
use crate::state::device::jobs::{DEVICE, FindCards, LoadKernels, UseBackend};
use crate::state::pathways::jobs::{
    COMPARE, KEPT_PATHWAY, PATHWAY, PATHWAY_NOISE, PATHWAY_NOISE_DISTANCES,
};
use crate::state::track_noise::jobs::{TRACK_NOISE, TRACK_NOISE_DISTANCES};
use crate::state::{Effect, OpenBackend, State, pathways, segment};

/// Searches for graphics cards, unless they are known.
pub fn find_cards(state: &State, effects: &mut Vec<Effect>) {
    if !matches!(state.runtime.device.cards, Some(Ok(_))) {
        effects.push(Effect::submit(FindCards));
    }
}

/// Loads them in advance, so that the first drag does not wait.
pub fn load_kernels(effects: &mut Vec<Effect>) {
    effects.push(Effect::submit(LoadKernels));
}

/// Opens a backend for the next jobs and, if that succeeds, for the next start.
pub fn choose(state: &mut State, kind: BackendKind, effects: &mut Vec<Effect>) {
    state.runtime.device.requested_setting = Some(kind);
    open(state, kind, effects);
}

/// Repeats on the CPU the jobs that failed on a graphics card. The setting stays: the card may work again after a
/// restart.
pub fn run_on_cpu(state: &mut State, effects: &mut Vec<Effect>) {
    state.runtime.device.fallback.cpu_requested = true;
    open(state, BackendKind::Cpu, effects);
}

fn open(state: &mut State, kind: BackendKind, effects: &mut Vec<Effect>) {
    state.runtime.forget_failures(DEVICE);
    state.runtime.notices.status = "Opening the backend".into();
    effects.push(Effect::submit(UseBackend { kind }));
}

/// A backend was opened: jobs requested from now on run there.
pub fn opened(state: &mut State, placed: BackendOpened, effects: &mut Vec<Effect>) {
    let runtime = &mut state.runtime;
    runtime.notices.status = format!("Computing on {}", placed.label).into();
    runtime.device.backend = OpenBackend {
        label: placed.label,
        reason: placed.reason,
        on_card: placed.on_card,
        no_card: placed.no_card,
    };
    runtime.device.kind = placed.kind;
    if placed.on_card {
        load_kernels(effects);
    }
    // The speed of the other backend does not apply, and it prepares tensors with different rounding.
    (runtime.track.rays_per_ms, runtime.track.rays_passed) = (None, None);
    (runtime.track.ray_metric, runtime.track.odf_metric) = (None, None);
    pathways::update::backend_changed(state);
    segment::update::backend_changed(state);
    let runtime = &mut state.runtime;
    if runtime.device.requested_setting.take() == Some(placed.kind) {
        runtime.device.setting = placed.kind;
        effects.push(Effect::Store);
    }
    if std::mem::take(&mut runtime.device.fallback.cpu_requested) {
        "CPU: chosen after a graphics card failed".clone_into(&mut runtime.device.backend.reason);
        runtime.device.backend.no_card = None;
        runtime.notices.messages.retain(|message| !message.on_card);
        let mut requests = std::mem::take(&mut runtime.device.fallback.requests);
        // Pathways, what follows them and the noise of streamlines are requested again for their present keys.
        requests.retain(|r| {
            !matches!(
                r.slot(),
                PATHWAY
                    | KEPT_PATHWAY
                    | COMPARE
                    | PATHWAY_NOISE
                    | PATHWAY_NOISE_DISTANCES
                    | TRACK_NOISE
                    | TRACK_NOISE_DISTANCES
            )
        });
        effects.extend(requests.into_iter().map(Effect::Submit));
    }
    if runtime.device.fallback.live {
        runtime.track.live.retry();
    }
}

/// The backend could not be opened: the previous one stays.
pub fn not_opened(state: &mut State) {
    state.runtime.device.requested_setting = None;
    state.runtime.device.fallback.cpu_requested = false;
}
