//! The noise of the live streamlines: the repetitions of their bootstrap, figures, and distances from a mask.

use crate::data::text::counted;
use crate::state::pathways::{NO_REPETITIONS, NOISE_ONLY, NoiseDistances, NoiseFile};
use crate::state::track::types::CurveKind;
use crate::state::track_noise::jobs::TrackNoise;
use crate::state::track_noise::{TrackNoiseAction, TrackNoiseSettings};
use crate::state::{Action, Phase, State};
use crate::ui::files::{DialogPosition, PathPurpose, suggestion};
use crate::ui::forms::noise::plot::{self, Plot};
use crate::ui::forms::noise::{
    Buttons, NAME, Pressed, check, continue_note, known_within, levels, margin, overlap, target_row,
};
use crate::ui::forms::odf_tracking::NOT_RESAMPLED;
use crate::ui::widgets::{rows, section};
use crate::ui::{Memory, format, panels};
use egui::Ui;

const SHOW_SHARE: &str = "Show the share";
const SHOW_CENTRE_LINES: &str = "Show the centre lines";
/// Shown without a bootstrap.
const NO_BOOTSTRAP: &str = "Shows how far measurement noise alone moves the streamlines, from the repetitions of a bootstrap: set Bootstrap \
                                among the controls, for example to 50";
/// The middle line has no names of ends of its own: it runs as its streamline was tracked.
const ENDS: [&str; 2] = ["start", "end"];

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let (open, clicked) = section::fold(ui, NAME, memory.is_open(NAME, false));
    if clicked {
        memory.toggle(NAME);
    }
    if !open {
        return;
    }
    let Some(repetitions) = state.document.track_repetitions() else {
        let follows_fods = state.document.track.kind() == CurveKind::OdfStreamlines;
        let why = match follows_fods && !state.document.can_resample_fods() {
            true => NOT_RESAMPLED,
            false => NO_BOOTSTRAP,
        };
        return rows::hint(ui, why);
    };
    switches(ui, &state.document.track.noise, actions);
    let (text, standing) = progress(state, repetitions);
    panels::caption(ui, &text, standing);
    if let Some(why) = state.track_noise_failure()
        && continue_note(ui, why)
    {
        actions.push(Action::TrackNoise(TrackNoiseAction::RepeatAgain));
    }
    if let Some(shown) = state.track_noise() {
        let measured = state.track_noise_distances();
        rows::dimmed(ui, state.track_noise_is_stale(), |ui| {
            figures(ui, state, shown, measured.map(AsRef::as_ref));
        });
    }
    distances(ui, state, memory, actions);
    rows::hint(ui, NOISE_ONLY);
    buttons(ui, state, memory, actions);
}

fn set(settings: TrackNoiseSettings, phase: Phase) -> Action {
    Action::TrackNoise(TrackNoiseAction::Set { settings, phase })
}

/// The choice of the results that are drawn.
fn switches(ui: &mut Ui, settings: &TrackNoiseSettings, actions: &mut Vec<Action>) {
    const SHARE_HELP: &str = "Colours on slices, in place of the streamlines, and the cloud in 3-D are the share of the repetitions with a \
                              streamline through a voxel, which grows with the number of seeds; the outline is at one half";
    const LINES_HELP: &str = "The most central streamline of each repetition, as a thin line; the other streamlines are faint";
    let shows_share = settings.shows_share;
    check(ui, SHOW_SHARE, SHARE_HELP, shows_share, |shows_share| {
        let settings = settings.clone();
        let changed = TrackNoiseSettings {
            shows_share,
            ..settings
        };
        actions.push(set(changed, Phase::Done));
    });
    let shown = settings.shows_centre_lines;
    check(ui, SHOW_CENTRE_LINES, LINES_HELP, shown, |shown| {
        let changed = TrackNoiseSettings {
            shows_centre_lines: shown,
            ..settings.clone()
        };
        actions.push(set(changed, Phase::Done));
    });
}

/// The number of repetitions, and whether their figures are those of the present streamlines.
fn progress(state: &State, repetitions: usize) -> (String, &'static str) {
    let shown = state.track_noise();
    let count = shown.map_or(repetitions, |noise| noise.key.repetitions);
    let standing = match (shown, state.track_noise_key()) {
        (Some(_), _) if state.current_track_noise().is_some() => "",
        (Some(_), _) => "from before the last change",
        (None, Some(_)) if state.track_noise_failure().is_none() => "being compared…",
        (None, Some(_)) => "",
        (None, None) => "waiting for the full result",
    };
    (counted(count, "repetition"), standing)
}

/// Volumes and nearest distances of three shares, and how far the centre lines lie from each other.
fn figures(ui: &mut Ui, state: &State, noise: &TrackNoise, measured: Option<&NoiseDistances>) {
    const HELP: &str = "Voxels that streamlines of at least this share of the repetitions pass, and their distance from the \
                        chosen object, rounded down";
    let all = noise.key.repetitions;
    rows::hint(
        ui,
        &format!("Shares are known to within {}", known_within(all)),
    );
    levels(ui, &noise.levels, measured, HELP);
    let target = state.track_noise_target_name();
    if let Some(text) = measured.and_then(|measured| overlap(measured, "the streamlines", &target))
    {
        rows::hint(ui, &text);
    }
    if let Some(range) = noise.offsets_mm {
        let offsets = format::range_text(range, all, |mm| format::fixed(mm, 1));
        let offsets = format::with_unit(&offsets, "mm");
        rows::reading(ui, "Centre lines, offset", &offsets);
    }
    if let Some(text) = noise.without_text() {
        rows::hint(ui, &text);
    }
}

/// The choice of the object whose distance is measured, the margin, and the plot along the middle line.
fn distances(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    const HELP: &str = "The object whose distance from the centre lines is measured, nearest point to nearest point: the \
                        surface of Segment, or a mask";
    let settings = &state.document.track.noise;
    if let Some(distance_to) = target_row(ui, state, settings.distance_to, HELP) {
        let changed = TrackNoiseSettings {
            distance_to,
            ..settings.clone()
        };
        actions.push(set(changed, Phase::Done));
    }
    if let Some(why) = state.track_noise_distances_failure() {
        if continue_note(ui, why) {
            actions.push(Action::TrackNoise(TrackNoiseAction::RepeatAgain));
        }
        return;
    }
    if let Some(why) = state.why_no_track_noise_distances() {
        return rows::hint(ui, &why);
    }
    let shown = state.current_track_noise();
    let middle = shown.and_then(|noise| noise.middle_line());
    let measured = state.track_noise_distances();
    let Some((measured, line)) = measured.zip(middle) else {
        let is_measured =
            state.track_noise_key().is_some() && state.track_noise_failure().is_none();
        let text = match is_measured {
            true => "Measuring distances…",
            false => "",
        };
        return rows::hint(ui, text);
    };
    margin(ui, settings.margin_mm, |margin_mm, phase| {
        let changed = TrackNoiseSettings {
            margin_mm,
            ..settings.clone()
        };
        actions.push(set(changed, phase));
    });
    let plot = Plot {
        measured,
        line,
        ends: ENDS,
        names: ["line", "Centre line"],
        margin_mm: settings.margin_mm,
    };
    plot::show(ui, &plot, memory, actions);
}

/// Keeps, exports and copies.
fn buttons(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let buttons = Buttons {
        why: state.why_no_track_noise(),
        has_distances: state.track_noise_distances().is_some(),
        line: crate::state::update::track_noise_command(state),
        no_line: NO_REPETITIONS,
        file_label: NoiseFile::track_label,
    };
    match buttons.show(ui) {
        Some(Pressed::Keep) => actions.push(Action::TrackNoise(TrackNoiseAction::KeepShare)),
        Some(Pressed::Export(file)) => ask_for_path(state, memory, file),
        Some(Pressed::Copy(line)) => actions.push(Action::CopyCommand(*line)),
        None => {}
    }
}

/// Asks where to write a file of the repetitions.
fn ask_for_path(state: &State, memory: &mut Memory, file: NoiseFile) {
    let name = match file {
        NoiseFile::Share => "noise share",
        NoiseFile::Paths => "noise centre lines",
        NoiseFile::Distances => "noise distances",
    };
    let purpose = PathPurpose::TrackNoise(file);
    let text = suggestion(state, name, &purpose);
    memory
        .files
        .type_path(purpose, DialogPosition::Middle, &text);
}
