//! The noise of the live pathway: its repetitions, their figures, and distances from a mask.

mod plot;

use super::super::display::select_row;
use super::super::parameters::{self, Rows, Shown};
use crate::data::appearance::ColourMap;
use crate::data::statistics::wilson_interval;
use crate::parameters::Parameters as _;
use crate::solvers::pathway::{NEAR_MM, Range90, RepetitionParams};
use crate::state::core::text::counted;
use crate::state::pathways::jobs::{Level, Noise, NoiseDistances};
use crate::state::pathways::standing::SURFACE;
use crate::state::pathways::{
    DistanceTarget, MIN_FOR_RANGES, NOISE_ONLY, NoiseAction, NoiseFile, NoiseMargin, NoiseSettings,
    PathwayAction, PathwaySettings,
};
use crate::state::{Action, Content, Phase, Severity, State};
use crate::ui::files::{DialogPosition, PathPurpose, suggestion};
use crate::ui::forms::display::colour_of;
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::button::{Button, IconButton, checkbox};
use crate::ui::widgets::note::{Note, NoteResponse};
use crate::ui::widgets::slider::{Columns, help_over};
use crate::ui::widgets::{charts, menu, paint, rows, section};
use crate::ui::{Memory, format, icons, panels};
use egui::{Rect, Role as Spoken, Sense, Ui, WidgetInfo, pos2, vec2};

/// Title of the section.
pub const NAME: &str = "Noise";
/// The switch, and its step.
pub const REPEAT: &str = "Repeat the pathway";
const REPEAT_HELP: &str = "Refits the tensors or distributions with random signs of the residuals and solves the pathway again, as often as the \
                           number below, while the controls rest. Without a graphics card this keeps the processors busy";
/// The button after repetitions or distances that failed or were stopped.
const CONTINUE: &str = "Continue";
/// Widths of the columns volume and nearest distance, from the right.
const COLUMNS: [f32; 2] = [66.0, 62.0];
const NO_REPETITIONS: &str = "There are no repetitions yet";
const SWATCH: f32 = 16.0;
const ROW: f32 = 22.0;

/// A change of the settings.
type Change<'a> = Box<dyn FnOnce(&mut NoiseSettings) + 'a>;
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
        let text = "Shows how far measurement noise alone moves the pathway. It needs the scan of the tensors or distributions";
        return rows::hint(ui, text);
    }
    if let Some(why) = state.document.why_no_repetitions() {
        return rows::hint(ui, why);
    }
    progress(ui, state, actions);
    if let Some(shown) = state.noise() {
        let measured = state.noise_distances();
        rows::dimmed(ui, state.noise_is_stale(), |ui| {
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
fn controls(ui: &mut Ui, noise: &NoiseSettings, set: &mut OnChange) {
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
fn shown(ui: &mut Ui, noise: &NoiseSettings, set: &mut OnChange) {
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

fn check(ui: &mut Ui, name: &str, help: &str, on: bool, set: impl FnOnce(bool)) {
    let columns = Columns::allocate(ui);
    let place = columns.label.union(columns.wide);
    if let Some(on) = checkbox(ui, place, name, on) {
        set(on);
    }
    help_over(ui, place, name, help);
}

/// How many repetitions there are, the remaining time, how well shares are known, and why no more come.
fn progress(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let done = state.current_noise().map_or(0, |n| n.key.repetitions);
    let shown = state.noise().map_or(0, |n| n.key.repetitions);
    let growth = state.noise_growth();
    let all = state.document.pathways.noise.params.repetitions;
    let text = match growth {
        Some((done, all)) => format!(
            "{} of {}",
            format::count(done as u64),
            counted(all, "repetition")
        ),
        None => counted(shown, "repetition"),
    };
    let left = match (growth, state.current_noise()) {
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
    let known = |n: usize| {
        let points = format::fixed(100.0 * half_width(n), 0);
        format::with_unit(&format!("± {points}"), "percentage points")
    };
    let text = match (done, growth) {
        (0, _) => String::new(),
        (_, Some((_, all))) => format!(
            "Shares are known to within {} now, {} at {}",
            known(done),
            known(all),
            format::count(all as u64)
        ),
        (_, None) => format!("Shares are known to within {}", known(done)),
    };
    rows::line(ui, &text);
    if let Some(why) = state.why_noise_rests() {
        continue_note(ui, why, actions);
    }
}

/// Why something is not computed, and a button that requests it again.
fn continue_note(ui: &mut Ui, why: &str, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let note = Note::new(p, Severity::Information, why).action(CONTINUE);
    if note.show(ui) == Some(NoteResponse::Accepted) {
        actions.push(act(NoiseAction::RepeatAgain));
    }
}

fn act(action: NoiseAction) -> Action {
    Action::Pathway(PathwayAction::Noise(action))
}

/// Half the width of the 95 % confidence interval of a share of one half.
fn half_width(repetitions: usize) -> f64 {
    let [low, high] = wilson_interval(repetitions / 2, repetitions);
    0.5 * (high - low)
}

/// A share in whole percent.
fn percent(share: f64) -> String {
    format::with_unit(&format::fixed(100.0 * share, 0), "%")
}

/// Volumes and nearest distances of three shares, and how E* and the path vary.
fn figures(ui: &mut Ui, state: &State, noise: &Noise, measured: Option<&NoiseDistances>) {
    let all = noise.key.repetitions;
    level_row(ui, None, ["In at least", "Volume", "Nearest"]);
    for (i, level) in noise.levels.iter().enumerate() {
        let name = format!("{} of repetitions", percent(level.share));
        let volume = format::ml(level.volume_ml, 2);
        let from_mask = measured.and_then(|m| m.levels.get(i));
        let nearest = from_mask.map_or_else(|| "–".to_owned(), nearest);
        let [name, volume, nearest] = [&name, &volume, &nearest].map(String::as_str);
        level_row(ui, Some(level.share), [name, volume, nearest]);
    }
    if let Some(text) = measured.and_then(|m| overlap(state, m)) {
        rows::hint(ui, &text);
    }
    let measured_cost = format::significant(noise.repetitions.measured);
    rows::reading(ui, "E* of the pathway", &measured_cost);
    if let Some(range) = noise.costs {
        rows::reading(ui, "E*, repeated", &range_text(range, all));
    }
    let [low, high] = wilson_interval(noise.near, all).map(|s| format::fixed(100.0 * s, 0));
    let interval = format::with_unit(&format!("{low}–{high}"), "%");
    let [near, count] = [noise.near, all].map(|n| format::count(n as u64));
    let name = format!(
        "Path within {}",
        format::with_unit(&format::fixed(NEAR_MM, 0), "mm")
    );
    rows::reading(ui, &name, &format!("{near} of {count} ({interval})"));
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

/// `3.8 (2.1 to 6.5)`: median, and 5 to 95 % if there are enough repetitions for percentiles.
fn range_text(range: Range90, repetitions: usize) -> String {
    if repetitions < MIN_FOR_RANGES {
        return format::significant(range.median);
    }
    let [median, low, high] = [range.median, range.low, range.high].map(format::significant);
    format!("{median} ({low} to {high})")
}

/// The distance between a mask and the voxels of a level, rounded down.
fn nearest(level: &Level) -> String {
    match level.from_mask {
        None => "–".to_owned(),
        Some(mask) if mask.shared_ml > 0.0 => "overlaps".to_owned(),
        Some(mask) if mask.nearest_mm <= 0.0 => "touches".to_owned(),
        Some(mask) => format::distance_text(mask.nearest_mm),
    }
}

/// How much of the mask the widest of the levels shares with it.
fn overlap(state: &State, measured: &NoiseDistances) -> Option<String> {
    let mut levels = measured.levels.iter().rev();
    let (level, mask) = levels.find_map(|level| {
        let mask = level.from_mask.filter(|mask| mask.shared_ml > 0.0)?;
        Some((level, mask))
    })?;
    Some(format!(
        "In at least {} of the repetitions, the pathway and “{}” overlap in {}",
        percent(level.share),
        state.noise_target_name(),
        format::ml(mask.shared_ml, 2)
    ))
}

/// A row of the table; `None`: its head.
fn level_row(ui: &mut Ui, share: Option<f64>, [name, volume, nearest]: [&str; 3]) {
    let p = theme::palette(ui.style());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::hover());
    let inner = paint::inset(rect, space::INSET, space::INSET);
    let painter = ui.painter();
    let (font, ink) = match share {
        Some(_) => (theme::medium(size::LABEL), p.t1),
        None => (theme::regular(size::CAPTION), p.t3),
    };
    if let Some(share) = share {
        let centre = pos2(inner.left() + 6.0, inner.center().y);
        let swatch = Rect::from_center_size(centre, vec2(10.0, 10.0));
        painter.rect_filled(swatch, 2.0, colour_of(ColourMap::Share, share as f32));
    }
    let mut right = inner.right();
    for (text, width) in [nearest, volume].into_iter().zip(COLUMNS) {
        let place = Rect::from_min_max(
            pos2(right - width, inner.top()),
            pos2(right, inner.bottom()),
        );
        paint::right(painter, place, text, font.clone(), ink);
        right -= width;
    }
    let room = paint::inset(inner, SWATCH, 0.0).with_max_x(right - 4.0);
    let name_font = match share {
        Some(_) => theme::regular(size::LABEL),
        None => font,
    };
    let name_ink = if share.is_some() { p.t2 } else { p.t3 };
    paint::name(painter, room, name, name_font, name_ink);
    let spoken = match share {
        Some(_) => format!("In at least {name}: {volume}, {nearest}"),
        None => format!("{name}: {volume}, {nearest}"),
    };
    response.widget_info(|| WidgetInfo::labeled(Spoken::Label, true, &spoken));
    response.on_hover_text(
        "Voxels that the pathways of at least this share of the repetitions contain, and their distance from the \
         chosen object, rounded down",
    );
}

/// The choice of the object whose distance is measured, the margin, and the plot along the path.
fn distances(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let settings = &state.document.pathways;
    let noise = &settings.noise;
    if let Some(distance_to) = target_row(ui, state) {
        let change: Change = Box::new(move |noise| noise.distance_to = distance_to);
        actions.push(changed(settings, change, Phase::Done));
    }
    if let Some(why) = state.noise_distances_failure() {
        return continue_note(ui, why, actions);
    }
    match (state.noise_distances(), state.why_no_noise_distances()) {
        (_, Some(why)) => rows::hint(ui, &why),
        (Some(measured), None) => {
            let mm = noise.margin_mm;
            let key = NoiseMargin::TABLE[0].key;
            let defaults = NoiseMargin::defaults();
            let now = NoiseMargin { mm };
            let set: &mut parameters::OnChange<NoiseMargin> = &mut |margin, phase| {
                let change: Change = Box::new(move |noise| noise.margin_mm = margin.mm);
                actions.push(changed(settings, change, phase));
            };
            parameters::number(ui, &now, &defaults, key, Shown::default(), set);
            plot::show(ui, state, measured, memory, actions);
        }
        (None, None) => rows::hint(ui, "Measuring distances…"),
    }
}

/// The surface of Segment and the mask layers.
fn target_row(ui: &mut Ui, state: &State) -> Option<DistanceTarget> {
    const HELP: &str = "The object whose distance from the paths is measured, nearest point to nearest point: the surface of \
                        Segment, or a mask";
    let now = state.document.pathways.noise.distance_to;
    let shown = match state.noise_target_name() {
        "" => "deleted: choose another",
        name => name,
    };
    select_row(ui, "Distance to", HELP, shown, |ui| {
        let mut chosen = None;
        let layers = state.document.layers.iter().rev();
        let masks = layers.filter(|layer| matches!(layer.content, Content::Mask(_)));
        let masks = masks.map(|layer| (DistanceTarget::Layer(layer.id), layer.name.as_str()));
        for (target, name) in std::iter::once((DistanceTarget::Surface, SURFACE)).chain(masks) {
            if menu::Item::new(name).chosen(target == now).show(ui) {
                chosen = Some(target);
            }
        }
        chosen
    })
}

/// Keeps, exports and copies.
fn buttons(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let height = space::BUTTON + 10.0;
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    let place = paint::inset(rect, space::INSET, space::INSET);
    let place = Rect::from_min_size(
        place.min + vec2(0.0, 4.0),
        vec2(place.width(), space::BUTTON),
    );
    let why = state.why_no_noise();
    let all = vec![
        Button::plain("Keep share").icon(icons::PLUS).disabled(why),
        Button::plain("Export noise…")
            .icon(icons::EXPORT)
            .disabled(why),
    ];
    let (responses, end) = panels::button_row(ui, place, all);
    if responses[0].clicked() {
        actions.push(act(NoiseAction::KeepShare));
    }
    let has_distances = state.noise_distances().is_some();
    if why.is_none() {
        let files = |ui: &mut Ui| {
            let files = NoiseFile::ALL.into_iter();
            let files = files.filter(|file| has_distances || *file != NoiseFile::Distances);
            menu::choice(ui, files.collect::<Vec<_>>(), |file| file.name())
        };
        if let Some(file) = menu::popup(&responses[1], 220.0, files) {
            ask_for_path(state, memory, file);
        }
    }
    let line = crate::state::update::noise_command(state);
    let terminal = Rect::from_min_size(
        pos2(end + 2.0, place.top()),
        vec2(space::BUTTON, space::BUTTON),
    );
    let copy = IconButton::new(icons::TERMINAL, "Copy the repetitions as command")
        .disabled(line.is_none().then(|| why.unwrap_or(NO_REPETITIONS)))
        .show_at(ui, terminal);
    if copy.clicked() {
        actions.extend(line.map(Action::CopyCommand));
    }
}

/// Asks where to write a file of the repetitions.
pub fn ask_for_path(state: &State, memory: &mut Memory, file: NoiseFile) {
    let purpose = PathPurpose::Noise(file);
    let text = suggestion(state, &format!("noise {}", file.suffix()), &purpose);
    memory
        .files
        .type_path(purpose, DialogPosition::Middle, &text);
}
