//! The noise of the live pathway: its repetitions, their figures, and distances from a mask.

use super::super::parameters::{self, Rows};
use crate::data::statistics::wilson_interval;
use crate::solvers::pathway::{NEAR_MM, RepetitionParams};
use crate::state::core::text::counted;
use crate::state::pathways::jobs::PathwayNoise;
use crate::state::pathways::{
    NO_REPETITIONS, NOISE_ONLY, NoiseDistances, NoiseFile, PathwayAction, PathwayNoiseAction,
    PathwayNoiseSettings, PathwaySettings,
};
use crate::state::{Action, Phase, State};
use crate::ui::files::{DialogPosition, PathPurpose, suggestion};
use crate::ui::forms::noise::plot::{self, Plot};
use crate::ui::forms::noise::{
    Buttons, NAME, Pressed, check, continue_note, known_within, levels, margin, overlap, target_row,
};
use crate::ui::theme::{self, space};
use crate::ui::widgets::{charts, paint, rows, section};
use crate::ui::{Memory, format, panels};
use egui::{Rect, Role as Spoken, Sense, Ui, WidgetInfo, vec2};

/// The switch, and its step.
pub const REPEAT: &str = "Repeat the pathway";
const REPEAT_HELP: &str = "Refits the tensors or distributions with random signs of the residuals and solves the pathway again, as often as the \
                           number below, while the controls rest. Without a graphics card this keeps the processors busy";

/// A change of the settings.
type Change<'a> = Box<dyn FnOnce(&mut PathwayNoiseSettings) + 'a>;
type OnChange<'a> = dyn FnMut(Change, Phase) + 'a;

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let (open, clicked) = section::fold(ui, NAME, memory.is_open(NAME, false));
    if clicked {
        memory.toggle(NAME);
    }
    if !open {
        return;
    }
    let settings = &state.document.pathways;
    let noise = &settings.noise;
    {
        let mut set = |change: Change, phase: Phase| actions.push(changed(settings, change, phase));
        controls(ui, noise, &mut set);
        if noise.repeats {
            shown(ui, noise, &mut set);
        }
    }
    if !noise.repeats {
        let text = "Shows how far measurement noise alone moves the pathway. It needs the scan from which the tensors or distributions were estimated";
        return rows::hint(ui, text);
    }
    if let Some(why) = state.document.why_no_repetitions() {
        return rows::hint(ui, why);
    }
    progress(ui, state, actions);
    if let Some(shown) = state.pathway_noise() {
        let measured = state.pathway_noise_distances();
        rows::dimmed(ui, state.pathway_noise_is_stale(), |ui| {
            figures(ui, state, shown, measured.map(AsRef::as_ref));
        });
    }
    distances(ui, state, memory, actions);
    rows::hint(ui, NOISE_ONLY);
    buttons(ui, state, memory, actions);
}

/// The action that changes the settings of the repetitions.
fn changed(settings: &PathwaySettings, change: Change, phase: Phase) -> Action {
    let mut settings = settings.clone();
    change(&mut settings.noise);
    Action::Pathway(PathwayAction::Set { settings, phase })
}

/// The switch and the parameters.
fn controls(ui: &mut Ui, noise: &PathwayNoiseSettings, set: &mut OnChange) {
    check(ui, REPEAT, REPEAT_HELP, noise.repeats, |repeats| {
        set(Box::new(move |noise| noise.repeats = repeats), Phase::Done);
    });
    let defaults = RepetitionParams::defaults();
    let all = Rows::AllBut(&[]);
    parameters::rows(ui, &noise.params, &defaults, all, &mut |params, phase| {
        set(Box::new(move |noise| noise.params = params), phase);
    });
}

/// The choice of the results that are drawn.
fn shown(ui: &mut Ui, noise: &PathwayNoiseSettings, set: &mut OnChange) {
    const SHARE_HELP: &str = "Colours on slices and the cloud in 3-D are the share of the repetitions whose pathway contains \
                              a voxel; the outline is at one half";
    const PATHS_HELP: &str = "The cheapest path of each repetition, as a thin line";
    let name = "Show the share in place of the cost";
    check(ui, name, SHARE_HELP, noise.shows_share, |shows_share| {
        set(
            Box::new(move |noise| noise.shows_share = shows_share),
            Phase::Done,
        );
    });
    let name = "Show the paths";
    check(ui, name, PATHS_HELP, noise.shows_paths, |shows_paths| {
        set(
            Box::new(move |noise| noise.shows_paths = shows_paths),
            Phase::Done,
        );
    });
}

/// How many repetitions there are, the remaining time, how well shares are known, and why no more come.
fn progress(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let done = state
        .current_pathway_noise()
        .map_or(0, |noise| noise.key.repetitions);
    let shown = state
        .pathway_noise()
        .map_or(0, |noise| noise.key.repetitions);
    let growth = state.pathway_noise_growth();
    let all = state.document.pathways.noise.params.repetitions;
    let text = match growth {
        Some((done, all)) => format!(
            "{} of {}",
            format::count(done as u64),
            counted(all, "repetition")
        ),
        None => counted(shown, "repetition"),
    };
    let left = match (growth, state.current_pathway_noise()) {
        (Some(_), None) if state.final_pathway().is_some() => "starting…".to_owned(),
        (Some((done, all)), Some(noise)) => {
            let ms = noise.each_ms * (all - done) as f64;
            format!("{} left", format::duration_text(ms))
        }
        (None, None) if shown > 0 => "from before the last change".to_owned(),
        _ => String::new(),
    };
    panels::caption(ui, &text, &left);
    if growth.is_some() {
        let (rect, response) =
            ui.allocate_exact_size(vec2(ui.available_width(), 8.0), Sense::hover());
        let bar = paint::inset(rect, space::INSET, space::INSET);
        let bar = Rect::from_min_size(bar.min + vec2(0.0, 1.0), vec2(bar.width(), 3.0));
        let share = done as f32 / all.max(1) as f32;
        charts::progress(ui.painter(), bar, Some(share), p.b3, p.accent);
        response.widget_info(|| WidgetInfo {
            value: Some(f64::from(share)),
            ..WidgetInfo::labeled(Spoken::ProgressIndicator, true, "Repetitions")
        });
    }
    let text = match (done, growth) {
        (0, _) => String::new(),
        (_, Some((_, all))) => format!(
            "Shares are known to within {} now, {} at {}",
            known_within(done),
            known_within(all),
            format::count(all as u64)
        ),
        (_, None) => format!("Shares are known to within {}", known_within(done)),
    };
    if !text.is_empty() {
        rows::hint(ui, &text);
    }
    if let Some(why) = state.why_pathway_noise_rests()
        && continue_note(ui, why)
    {
        actions.push(act(PathwayNoiseAction::RepeatAgain));
    }
}

fn act(action: PathwayNoiseAction) -> Action {
    Action::Pathway(PathwayAction::Noise(action))
}

/// Volumes and nearest distances of three shares, and how E* and the path vary.
fn figures(ui: &mut Ui, state: &State, noise: &PathwayNoise, measured: Option<&NoiseDistances>) {
    let all = noise.key.repetitions;
    const HELP: &str = "Voxels that the pathways of at least this share of the repetitions contain, and their distance from \
                        the chosen object, rounded down. It is measured between whole voxels: it is up to a voxel less than \
                        the distance that Segment gives, and less than that of the path";
    levels(ui, &noise.levels, measured, HELP);
    let target = state.pathway_noise_target_name();
    if let Some(text) = measured.and_then(|measured| overlap(measured, "the pathway", &target)) {
        rows::hint(ui, &text);
    }
    let measured_cost = format::significant(noise.repetitions.measured);
    rows::reading(ui, "E* of the pathway", &measured_cost);
    if let Some(range) = noise.costs {
        rows::reading(
            ui,
            "E* over repetitions",
            &format::range_text(range, all, format::significant),
        );
    }
    if let Some(band) = noise.band {
        let [low, high] = band.map(format::significant);
        let name = format!("E* without noise, {}", format::with_unit("90", "%"));
        rows::reading(ui, &name, &format!("{low} to {high}"));
    }
    let interval = format::interval_text(wilson_interval(noise.near, all));
    let [near, count] = [noise.near, all].map(|count| format::count(count as u64));
    let name = format!(
        "Path within {}",
        format::with_unit(&format::fixed(NEAR_MM, 0), "mm")
    );
    rows::reading(ui, &name, &format!("{near} of {count} ({interval})"));
    if let Some(text) = &noise.equal_paths {
        rows::hint(ui, text);
    }
    let of_all = counted(all, "repetition");
    match noise.without_path {
        0 => {}
        some => rows::hint(
            ui,
            &format!("No path in {some} of {of_all}: all voxels count as outside the pathway"),
        ),
    }
    match noise.repetitions.not_joined {
        0 => {}
        some => rows::hint(
            ui,
            &format!(
                "In {some} of {of_all} the pathway is not joined at this width: all its voxels count"
            ),
        ),
    }
}

/// The choice of the object whose distance is measured, the margin, and the plot along the path.
fn distances(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let settings = &state.document.pathways;
    let noise = &settings.noise;
    const HELP: &str = "The object whose distance from the paths is measured, from points of the paths to whole voxels: the \
                        surface of Segment, or a mask";
    if let Some(distance_to) = target_row(ui, state, noise.distance_to, HELP) {
        let change: Change = Box::new(move |noise| noise.distance_to = distance_to);
        actions.push(changed(settings, change, Phase::Done));
    }
    if let Some(why) = state.pathway_noise_distances_failure() {
        if continue_note(ui, why) {
            actions.push(act(PathwayNoiseAction::RepeatAgain));
        }
        return;
    }
    match (
        state.pathway_noise_distances(),
        state.why_no_pathway_noise_distances(),
    ) {
        (_, Some(why)) => rows::hint(ui, &why),
        (Some(measured), None) => {
            margin(ui, noise.margin_mm, |mm, phase| {
                let change: Change = Box::new(move |noise| noise.margin_mm = mm);
                actions.push(changed(settings, change, phase));
            });
            let Some(shown) = state.current_pathway_noise() else {
                return;
            };
            let pathway = &shown.pathway;
            let plot = Plot {
                measured,
                line: &pathway.path,
                ends: [0, 1].map(|end| &*pathway.pathway.ends[end].name),
                names: ["path", "Path"],
                margin_mm: noise.margin_mm,
            };
            plot::show(ui, &plot, memory, actions);
        }
        (None, None) => rows::hint(ui, "Measuring distances…"),
    }
}

/// Keeps, exports and copies.
fn buttons(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let buttons = Buttons {
        why: state.why_no_pathway_noise(),
        has_distances: state.pathway_noise_distances().is_some(),
        line: crate::state::update::pathway_noise_command(state),
        no_line: NO_REPETITIONS,
        file_label: NoiseFile::pathway_label,
    };
    match buttons.show(ui) {
        Some(Pressed::Keep) => actions.push(act(PathwayNoiseAction::KeepShare)),
        Some(Pressed::Export(file)) => ask_for_path(state, memory, file),
        Some(Pressed::Copy(line)) => actions.push(Action::CopyCommand(*line)),
        None => {}
    }
}

/// Asks where to write a file of the repetitions.
pub fn ask_for_path(state: &State, memory: &mut Memory, file: NoiseFile) {
    let purpose = PathPurpose::PathwayNoise(file);
    let text = suggestion(state, &format!("noise {}", file.suffix()), &purpose);
    memory
        .files
        .type_path(purpose, DialogPosition::Middle, &text);
}
