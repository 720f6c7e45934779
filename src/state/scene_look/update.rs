//! The values in the plot of a transfer function follow the layer whose plot is open.

use crate::data::joint_histogram::JointSamples;
use crate::state::core::live::{Detail, Order, Pace};
use crate::state::scene_look::JointKey;
use crate::state::scene_look::jobs::{JOINT, MeasureJoint};
use crate::state::{Effect, State};
use std::sync::Arc;

/// Requests the values that the open plot shows.
pub(in crate::state) fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    let request = state.joint_request();
    let live = &mut state.runtime.figures.joint.live;
    let key = request.as_ref().map(|(key, ..)| key);
    match (live.follow(key, false, Pace::InTurn), request) {
        (Order::Start(key, _), Some((_, volume, other))) => {
            effects.push(Effect::submit(MeasureJoint { key, volume, other }));
        }
        (Order::Cancel, _) => effects.push(Effect::Cancel(JOINT)),
        (Order::Start(..) | Order::Nothing, _) => {}
    }
}

/// Receives the values.
pub(in crate::state) fn receive(state: &mut State, key: &JointKey, samples: Arc<JointSamples>) {
    let requested = state.joint_request().map(|(key, ..)| key);
    let live = &mut state.runtime.figures.joint.live;
    live.done(key.clone(), Detail::Full, samples, requested.as_ref());
}
