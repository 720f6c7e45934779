//! A stroke of the pointer, and how soon pictures follow it.
//!
//! The events of a script arrive at 60 Hz; those that arrive during a frame go to the next. A frame starts when an
//! event has arrived or the program has requested it. After every frame the controls request a result; the *picture*
//! of a position is the first finished frame that shows a result of its request, or of that of a later position.
//!
//! - First picture: from the start of the frame that gets the position until the end of the frame with its picture,
//!   with less detail where the program shows such results.
//! - Final picture: from the start of the frame that gets the last event, which ends the stroke at its last position,
//!   until the end of the first frame that shows the full result.

use super::{FrameTimes, Input, OffscreenWindow};
use crate::state::State;
use crate::state::core::live::Detail;
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_nanos(16_666_667);
/// The window rests if it requests no frame for this long.
const REST: Duration = Duration::from_millis(300);
/// A window that never rests, such as one with a surface that moves, is observed for this long after a stroke.
const LONGEST_REST: Duration = Duration::from_secs(2);

/// How results relate to the controls.
pub struct Subject<'a, K> {
    /// The key of the result that the controls request.
    pub requested: &'a dyn Fn(&State) -> Option<K>,
    /// The detail of the shown result if it is one of this key.
    pub shown: &'a dyn Fn(&State, &K) -> Option<Detail>,
}

/// While a result is awaited, frames take at most one in this many parts of the time, because a CPU that draws them
/// computes the result as well.
const SHARE_OF_FRAMES: u32 = 5;

/// Durations of a stroke, seconds.
#[derive(Clone, Default, Debug)]
pub struct StrokeTimes {
    /// For each frame that changed the request and had a picture.
    pub first_s: Vec<f64>,
    /// `None`: no full result within the patience.
    pub final_s: Option<f64>,
    /// Every frame from the first event until the window rests.
    pub frames: Vec<FrameTimes>,
}

/// Runs frames until the condition holds, else returns false after `patience`.
pub fn wait_for(
    window: &mut OffscreenWindow,
    patience: Duration,
    mut holds: impl FnMut(&State) -> bool,
) -> bool {
    let end = Instant::now() + patience;
    while !holds(window.state()) {
        if Instant::now() > end {
            return false;
        }
        if window.wait((Instant::now() + REST).min(end)) {
            let started = Instant::now();
            window.frame(&mut |_| {});
            window.pause((started + SHARE_OF_FRAMES * started.elapsed()).min(end));
        }
    }
    true
}

/// Runs frames until the window rests.
pub fn rest(window: &mut OffscreenWindow) -> Vec<FrameTimes> {
    let end = Instant::now() + LONGEST_REST;
    let mut frames = Vec::new();
    while Instant::now() < end && window.wait(Instant::now() + REST) {
        frames.push(window.frame(&mut |_| {}));
    }
    frames
}

/// Plays a script, one entry per interval, and observes the pictures; `before`: the key of the picture at its start. Waits
/// for the full result at most for `patience` after the last event.
pub fn follow<K: PartialEq>(
    window: &mut OffscreenWindow,
    script: &[Vec<Input>],
    subject: &Subject<K>,
    mut last: Option<K>,
    patience: Duration,
) -> StrokeTimes {
    let mut times = StrokeTimes::default();
    // Requests without a picture, and when their position was received.
    let mut waiting: Vec<(K, Instant)> = Vec::new();
    let began = Instant::now();
    let mut received = began;
    let mut played = 0;
    // Adds a request that differs from the last one.
    let note = |state: &State, at, last: &mut Option<K>, waiting: &mut Vec<(K, Instant)>| {
        let requested = (subject.requested)(state);
        let is_new = requested != *last;
        if is_new {
            waiting.extend((subject.requested)(state).map(|key| (key, at)));
            *last = requested;
        }
        is_new
    };
    let arrival = |index: usize| began + INTERVAL * index as u32;
    loop {
        let now = Instant::now();
        if now.saturating_duration_since(arrival(script.len())) > patience && played == script.len()
        {
            return times;
        }
        let waits = |index: &usize| arrival(*index) > now;
        let arrived = (played..script.len()).find(waits).unwrap_or(script.len());
        if arrived == played {
            let next = match played < script.len() {
                true => arrival(played),
                false => now + REST,
            };
            if !window.wait(next) {
                continue;
            }
        }
        let started = Instant::now();
        if arrived > played {
            received = started;
        }
        for input in script[played..arrived].iter().flatten() {
            window.input(*input);
        }
        played = arrived;
        let (mut newest, mut is_full) = (None, false);
        times.frames.push(window.frame(&mut |state| {
            note(state, received, &mut last, &mut waiting);
            let shown = |key: &K| (subject.shown)(state, key);
            newest = waiting.iter().rposition(|(key, _)| shown(key).is_some());
            is_full = last.as_ref().and_then(shown) == Some(Detail::Full);
        }));
        let ended = Instant::now();
        if let Some(newest) = newest {
            let pictured = waiting.drain(..=newest);
            let durations = pictured.map(|(_, at)| ended.duration_since(at).as_secs_f64());
            times.first_s.extend(durations);
        }
        let is_same = !note(window.state(), received, &mut last, &mut waiting);
        if is_same && is_full && played == script.len() && waiting.is_empty() {
            times.final_s = Some(ended.duration_since(received).as_secs_f64());
            times.frames.extend(rest(window));
            return times;
        }
    }
}
