//! Commands for the noise of the streamlines of Track.

use super::{Entry, EntryAction};
use crate::state::pathways::KEEP_SHARE;
use crate::state::track_noise::{TrackNoiseAction, TrackNoiseSettings};
use crate::state::{Action, Phase, State};

const ALSO: &str = "noise, uncertainty, bootstrap, repetitions";

/// Only with a bootstrap, and while the task is active: elsewhere their effect is invisible.
pub(super) fn entries(state: &State) -> Vec<Entry> {
    if state.track_noise().is_none() {
        return Vec::new();
    }
    let settings = &state.document.track.noise;
    let set = |settings: TrackNoiseSettings| {
        let phase = Phase::Done;
        Action::TrackNoise(TrackNoiseAction::Set { settings, phase })
    };
    let share = set(TrackNoiseSettings {
        shows_share: !settings.shows_share,
        ..settings.clone()
    });
    let lines = set(TrackNoiseSettings {
        shows_centre_lines: !settings.shows_centre_lines,
        ..settings.clone()
    });
    let share_name = match settings.shows_share {
        true => "Hide the share of repetitions",
        false => "Show the share of repetitions",
    };
    let lines_name = match settings.shows_centre_lines {
        true => "Hide the centre lines of repetitions",
        false => "Show the centre lines of repetitions",
    };
    let mut all = vec![entry(share_name, share), entry(lines_name, lines)];
    if state.why_no_track_noise().is_none() {
        let keep = Action::TrackNoise(TrackNoiseAction::KeepShare);
        all.push(entry(KEEP_SHARE, keep));
        let line = crate::state::update::track_noise_command(state);
        let copy = line.map(Action::CopyCommand);
        all.extend(copy.map(|copy| entry("Copy as command: repetitions of the streamlines", copy)));
    }
    all
}

fn entry(name: &str, action: Action) -> Entry {
    Entry {
        name: name.to_owned(),
        synonyms: ALSO,
        key: "",
        run: EntryAction::Act(action),
    }
}
