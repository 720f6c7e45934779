//! The crosshair of this window moves those of the others, and theirs move the one here.

use crate::state::crosshair_link::CrosshairLink;
use crate::state::crosshair_link::jobs::{EndLink, LINK, OtherWindows, ShareCrosshair};
use crate::state::{Effect, State};
use glam::DVec3;

/// The crosshair is shared from now on; `follow` begins.
pub fn link(state: &mut State) {
    if state.crosshair_link.is_on {
        return;
    }
    state.crosshair_link = CrosshairLink {
        is_on: true,
        folder: state.crosshair_link.folder.take(),
        ..CrosshairLink::default()
    };
    state.runtime.forget_failures(LINK);
    state.runtime.notices.status =
        "The crosshair is shared with the other windows in which it is linked".into();
}

/// The crosshair is no longer shared: nothing of this window remains in the folder.
pub fn unlink(state: &mut State, effects: &mut Vec<Effect>) {
    if !state.crosshair_link.is_on {
        return;
    }
    ended(state);
    effects.push(Effect::Cancel(LINK));
    effects.push(Effect::submit(EndLink));
    state.runtime.notices.status = "The crosshair is no longer shared with other windows".into();
}

/// The link ended, by the user or by a failure.
pub fn ended(state: &mut State) {
    state.crosshair_link = CrosshairLink {
        folder: state.crosshair_link.folder.take(),
        ..CrosshairLink::default()
    };
}

/// Gives the other windows a crosshair that moved here. Where data were opened, the program placed it: then, and when
/// the link begins, this window takes over the position of the others instead.
pub fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    if !state.crosshair_link.is_on {
        return;
    }
    if state.document.is_empty() {
        // With the bounds kept, the same data opened again would count as unchanged, and the position that the program
        // gives the crosshair would move the other windows.
        state.crosshair_link.bounds = None;
        return;
    }
    let (at, bounds) = (state.view.crosshair, state.document.bounds());
    let link = &mut state.crosshair_link;
    let joins = link.bounds != Some(bounds);
    if !joins && link.shared == Some(at) {
        return;
    }
    (link.shared, link.bounds, link.outside) = (Some(at), Some(bounds), None);
    effects.push(Effect::submit(ShareCrosshair {
        at,
        joins,
        folder: link.folder.clone(),
    }));
}

/// The other windows changed.
pub fn others_changed(state: &mut State, others: OtherWindows) {
    if !state.crosshair_link.is_on {
        return;
    }
    state.crosshair_link.others = others.count;
    if let Some(at) = others.position {
        take_over(state, at);
    }
    if others.count == 0 {
        state.crosshair_link.outside = None;
    }
}

/// Moves the crosshair to that of another window. A position outside the data here is shown as such: at their edge, the
/// crosshair would mark another place.
fn take_over(state: &mut State, at: DVec3) {
    /// Larger than the rounding of bounds, smaller than anything that matters.
    const ROUNDING_MM: f64 = 1e-6;
    let (low, high) = state.document.bounds();
    let is_inside = at.clamp(low, high).distance(at) <= ROUNDING_MM;
    if !is_inside {
        state.crosshair_link.outside = Some(at);
        return;
    }
    state.view.crosshair = at;
    (state.crosshair_link.shared, state.crosshair_link.outside) = (Some(at), None);
}
