//! Where solvers run: another backend by hand, and the CPU for what a graphics card failed to do.

use crate::jobs::{BackendKind, BackendOpened, Slot};
use crate::state::device::jobs::{FindCards, LoadKernels, UseBackend};
use crate::state::pathways::jobs::{KEPT_PATHWAY, PATHWAY};
use crate::state::{Effect, OpenBackend, State, pathways, segment};

/// Looks for graphics cards, unless they are known.
pub fn find_cards(state: &State, effects: &mut Vec<Effect>) {
    if !matches!(state.session.cards, Some(Ok(_))) {
        effects.push(Effect::submit(FindCards));
    }
}

/// Lets nobody wait for them at the first drag.
pub fn load_kernels(effects: &mut Vec<Effect>) {
    effects.push(Effect::submit(LoadKernels));
}

/// Opens a backend for the next jobs and, once it is open, for the next start.
pub fn choose(state: &mut State, kind: BackendKind, effects: &mut Vec<Effect>) {
    state.session.wanted_setting = Some(kind);
    open(state, kind, effects);
}

/// Does on the CPU what a graphics card failed to do. The setting stays: the card may work again
/// after a start.
pub fn run_on_cpu(state: &mut State, effects: &mut Vec<Effect>) {
    state.session.stranded.moving = true;
    open(state, BackendKind::Cpu, effects);
}

fn open(state: &mut State, kind: BackendKind, effects: &mut Vec<Effect>) {
    state.session.forget_failures(Slot::Device);
    "Opening where to compute".clone_into(&mut state.session.status);
    effects.push(Effect::submit(UseBackend { kind }));
}

/// A backend is open: what is asked for from now on runs there.
pub fn opened(state: &mut State, placed: BackendOpened, effects: &mut Vec<Effect>) {
    let session = &mut state.session;
    session.status = format!("Computing on {}", placed.label);
    session.backend = OpenBackend {
        label: placed.label,
        reason: placed.reason,
        on_card: placed.on_card,
    };
    session.backend_kind = placed.kind;
    if placed.on_card {
        load_kernels(effects);
    }
    // How fast the other one was says nothing, and it prepares tensors with other roundings.
    (session.rays_per_ms, session.rays_passed) = (None, None);
    session.medium = None;
    pathways::update::moved(state);
    segment::update::moved(state);
    let session = &mut state.session;
    if session.wanted_setting.take() == Some(placed.kind) {
        session.backend_setting = placed.kind;
        effects.push(Effect::Store);
    }
    if std::mem::take(&mut session.stranded.moving) {
        "CPU: chosen after a graphics card failed".clone_into(&mut session.backend.reason);
        session.messages.retain(|message| !message.on_card);
        let mut requests = std::mem::take(&mut session.stranded.requests);
        // Pathways are asked for again as they are wanted now.
        requests.retain(|r| !matches!(r.slot(), PATHWAY | KEPT_PATHWAY));
        effects.extend(requests.into_iter().map(Effect::Submit));
    }
    if session.stranded.live {
        session.tracking.retry();
    }
}

/// It could not be opened: the one before stays.
pub fn not_opened(state: &mut State) {
    state.session.wanted_setting = None;
    state.session.stranded.moving = false;
}
