//! The task Track: streamlines of the regions, live.

use super::super::files::Place;
use super::super::theme::{self, size, space};
use super::super::tracks::{self, Lengths, Remedy};
use super::super::widgets::button::{Button, IconButton, checkbox, eye};
use super::super::widgets::charts::{self, Histogram};
use super::super::widgets::note::{Answer, Note};
use super::super::widgets::slider::{Change, Columns, RangeRow, Scale, SliderRow, label};
use super::super::widgets::{field, menu, paint, region, rows, section};
use super::super::{Memory, format, icons, panels, regions};
use super::display::{self, segment_row, select_row};
use super::recipe;
use crate::data::{Region, Role};
use crate::jobs::Slot;
use crate::render::colour_map::ColourMap;
use crate::solvers::tensor_fit::Method;
use crate::solvers::tracking::{Integrator, Interpolation, Params, Seeding};
use crate::state::document::LineColouring;
use crate::state::{Action, Live, Phase, Severity, State, Tool, defaults};
use egui::{Color32, Rect, Sense, Ui, pos2, vec2};
use std::sync::Arc;

const MORE: &str = "Integrator, seeding, random seed";
const STOPS: &str = "Why they stopped";
const LOOK: &str = "Look";

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, narrow: bool, actions: &mut Vec<Action>) {
    inputs(ui, state, memory, actions);
    section::end(ui);
    parameters(ui, state, memory, actions);
    section::end(ui);
    results(ui, state, memory, narrow, actions);
    section::end(ui);
}

fn inputs(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let place = section::head(ui, "Inputs");
    let add = IconButton::new(icons::PLUS, "Add an input region").side(24.0).show_right(ui, place);
    regions::add_menu(&add, state, memory, actions);
    let regions = &state.document.regions;
    for pair in regions.chunks(2) {
        let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), space::ROW + 4.0), Sense::hover());
        let row = paint::inset(rect, space::INSET, space::INSET);
        let half = (row.width() - 4.0) * 0.5;
        for (i, chip) in pair.iter().enumerate() {
            let left = row.left() + (half + 4.0) * i as f32;
            let place = Rect::from_min_size(pos2(left, row.top()), vec2(half, space::ROW));
            let selected = state.session.selected_region == Some(chip.id);
            if region::chip(ui, place, chip, selected).clicked() {
                actions.push(Action::SelectRegion(Some(chip.id)));
            }
        }
    }
    match &state.document.tensors {
        Some(tensors) => {
            let method = match tensors.params.method {
                Method::Ols => "ordinary fit",
                Method::Wls => "weighted fit",
                Method::Iwls { .. } => "reweighted fit",
            };
            let name = format!("Tensor, {method}");
            let spacing = format::spacing(tensors.field.grid.spacing());
            rows::input(ui, icons::IMAGE, "Field", &name, &spacing);
        }
        None => no_field(ui, state, memory),
    }
    if state.document.tensors.is_some() && !regions.iter().any(|r| r.role == Role::Seed) {
        seed_wanted(ui, state, actions);
    }
}

fn no_field(ui: &mut Ui, state: &State, memory: &mut Memory) {
    let p = theme::palette(ui.style());
    if state.session.jobs.iter().any(|j| matches!(j.slot, Slot::Fit | Slot::Load)) {
        rows::input(ui, icons::IMAGE, "Field", "Tensor", "being fitted");
        return;
    }
    let text = "Tracking needs tensors: open a diffusion scan with its gradients";
    let note = Note::new(p, Severity::Warning, text).action("Open…");
    if note.show(ui) == Some(Answer::Taken) {
        let purpose = super::super::files::Purpose::Open;
        memory.files.ask(ui.ctx(), purpose, Place::Middle, "");
    }
}

fn seed_wanted(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let tool = Tool::Place { role: Role::Seed, cube: false };
    if state.view.tool == tool {
        let text = "Click white matter on a slice. Esc puts the seed away";
        Note::new(p, Severity::Information, text).show(ui);
        return;
    }
    let text = "No seed yet. Press S, then click a slice to place one";
    let note = Note::new(p, Severity::Information, text).action("Take the seed tool");
    if note.show(ui) == Some(Answer::Taken) {
        actions.push(Action::SetTool(tool));
    }
}

fn parameters(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let place = section::head(ui, "Controls");
    let usual = defaults::track();
    let params = &state.document.track;
    let mut set = |params: Params, phase: Phase| actions.push(Action::SetTrack { params, phase });
    let reset = IconButton::new(icons::RESET, "Reset to defaults").side(24.0).disabled(*params == usual);
    if reset.show_right(ui, place).clicked() {
        set(usual.clone(), Phase::Done);
    }
    seeds(ui, params, &mut set);
    let row = SliderRow::new("Step", params.step_mm, 0.1..=2.0)
        .default(usual.step_mm)
        .limits(0.01..=20.0)
        .unit("mm")
        .help("Distance between points");
    if let Some((step_mm, phase)) = row.value(ui) {
        set(Params { step_mm, ..params.clone() }, phase);
    }
    let angle = params.max_angle_rad.or(usual.max_angle_rad).unwrap_or(0.8).to_degrees();
    let row = SliderRow::new("Maximum angle", (angle * 1e6).round() / 1e6, 10.0..=90.0)
        .decimals(0)
        .default(45.0)
        .limits(1.0..=180.0)
        .unit("°")
        .switch(params.max_angle_rad.is_some(), "off: any turn is allowed")
        .help("Stops a path that turns more in one step");
    match row.show(ui) {
        Some(Change::To(v, phase)) => {
            let max_angle_rad = Some(v.to_radians());
            set(Params { max_angle_rad, ..params.clone() }, phase);
        }
        Some(Change::Switched(on)) => {
            let max_angle_rad = usual.max_angle_rad.filter(|_| on);
            set(Params { max_angle_rad, ..params.clone() }, Phase::Done);
        }
        None => {}
    }
    let fa = params.min_fa.or(usual.min_fa).unwrap_or(0.15);
    let row = SliderRow::new("Stop below FA", fa, 0.0..=0.5)
        .default(0.15)
        .limits(0.0..=1.0)
        .switch(params.min_fa.is_some(), "off: paths cross low FA")
        .help("Stops a path where the tensor has little direction");
    match row.show(ui) {
        Some(Change::To(v, phase)) => set(Params { min_fa: Some(v), ..params.clone() }, phase),
        Some(Change::Switched(on)) => {
            let min_fa = usual.min_fa.filter(|_| on);
            set(Params { min_fa, ..params.clone() }, Phase::Done);
        }
        None => {}
    }
    let row = RangeRow {
        name: "Length",
        values: (params.min_length_mm, params.max_length_mm.unwrap_or(500.0)),
        scale: Scale { range: 0.0..=500.0, logarithmic: false, decimals: 0 },
        default: Some((usual.min_length_mm, usual.max_length_mm.unwrap_or(300.0))),
        unit: "mm",
        help: "Shorter paths are dropped and counted, longer ones stop",
        limits: 0.0..=10_000.0,
    };
    if let Some(((low, high), phase)) = row.show(ui) {
        let max_length_mm = Some(high);
        set(Params { min_length_mm: low, max_length_mm, ..params.clone() }, phase);
    }
    let (open, clicked) = section::fold(ui, MORE, memory.is_open(MORE, false));
    if clicked {
        memory.toggle(MORE);
    }
    if open {
        second_rank(ui, state, params, &mut set);
    }
    whole_brain(ui, state, actions);
}

fn seeds(ui: &mut Ui, params: &Params, set: &mut impl FnMut(Params, Phase)) {
    let (change, make): (_, fn(f64) -> Seeding) = match params.seeding {
        Seeding::Random { count } => {
            let row = SliderRow::new("Streamlines", count as f64, 100.0..=1e6)
                .logarithmic()
                .decimals(0)
                .default(2_000.0)
                .limits(1.0..=1e8)
                .help("Seed points drawn from the whole seed");
            (row.value(ui), |v| Seeding::Random { count: v as usize })
        }
        Seeding::Grid { spacing_mm } => {
            let row = SliderRow::new("Seed spacing", spacing_mm, 0.1..=5.0)
                .default(1.0)
                .limits(0.02..=50.0)
                .unit("mm")
                .help("Distance between seed points");
            (row.value(ui), |spacing_mm| Seeding::Grid { spacing_mm })
        }
        Seeding::PerVoxel { count } => {
            let row = SliderRow::new("Seeds per voxel", count as f64, 1.0..=64.0)
                .decimals(0)
                .default(4.0)
                .limits(1.0..=10_000.0)
                .help("Random points in each voxel of the seed");
            (row.value(ui), |v| Seeding::PerVoxel { count: v as usize })
        }
    };
    if let Some((value, phase)) = change {
        set(Params { seeding: make(value), ..params.clone() }, phase);
    }
}

fn second_rank(ui: &mut Ui, state: &State, params: &Params, set: &mut impl FnMut(Params, Phase)) {
    let all = [Integrator::Euler, Integrator::Rk2, Integrator::Rk4];
    let now = all.iter().position(|&i| i == params.integrator).unwrap_or(2);
    let help = "Higher orders follow bends more closely at the same step";
    if let Some(i) = segment_row(ui, "Integrator", help, &["Euler", "RK2", "RK4"], now) {
        set(Params { integrator: all[i], ..params.clone() }, Phase::Done);
    }
    let all = [Interpolation::Trilinear, Interpolation::CubicBSpline];
    let now = all.iter().position(|&i| i == params.interpolation).unwrap_or(0);
    let help = "How tensors are interpolated between voxels";
    if let Some(i) = segment_row(ui, "Interpolation", help, &["Trilinear", "Cubic"], now) {
        set(Params { interpolation: all[i], ..params.clone() }, Phase::Done);
    }
    let kinds = [
        (Seeding::Random { count: 2_000 }, "At random"),
        (Seeding::Grid { spacing_mm: 1.0 }, "On a grid"),
        (Seeding::PerVoxel { count: 4 }, "Per voxel"),
    ];
    let index = |s: &Seeding| match s {
        Seeding::Random { .. } => 0,
        Seeding::Grid { .. } => 1,
        Seeding::PerVoxel { .. } => 2,
    };
    let now = index(&params.seeding);
    let chosen = select_row(ui, "Seed points", "How they are spread over the seed", kinds[now].1, |ui| {
        let mut chosen = None;
        for (i, (kind, name)) in kinds.iter().enumerate() {
            if menu::Item::new(name).chosen(i == now).show(ui) {
                chosen = Some(*kind);
            }
        }
        chosen
    });
    if let Some(seeding) = chosen.filter(|s| index(s) != now) {
        set(Params { seeding, ..params.clone() }, Phase::Done);
    }
    let columns = Columns::allocate(ui);
    label(ui, columns.label, "Random seed", "Same seed, same streamlines");
    let shown = params.random_seed.to_string();
    if let Some(typed) = field::value(ui, columns.field, "Random seed", &shown, "")
        && let Ok(random_seed) = typed.trim().parse()
    {
        set(Params { random_seed, ..params.clone() }, Phase::Done);
    }
    let columns = Columns::allocate(ui);
    let masks = state.document.regions.iter().filter(|r| r.role == Role::Mask);
    let masks: Vec<&str> = masks.map(|r| r.name.as_str()).collect();
    let within = if masks.is_empty() { "fitted voxels".to_owned() } else { masks.join(", ") };
    label(ui, columns.label, "Mask", "Paths stay inside. Give a region the role Mask to change it");
    let p = theme::palette(ui.style());
    paint::right(ui.painter(), columns.wide, &within, theme::regular(size::LABEL), p.t1);
    let columns = Columns::allocate(ui);
    if let Some(both_ways) = checkbox(ui, columns.label.union(columns.wide), "Both ways from the seed", params.both_ways) {
        set(Params { both_ways, ..params.clone() }, Phase::Done);
    }
}

fn whole_brain(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let running = state.session.jobs.iter().any(|j| j.slot == Slot::Track);
    let why = match (&state.document.tensors, running) {
        (None, _) => Some("Tracking needs tensors first"),
        (_, true) => Some("The whole brain is being tracked"),
        _ => None,
    };
    let button = Button::plain("Track whole brain")
        .icon(icons::BRAIN)
        .disabled(why)
        .hint("Seeds everywhere in the mask; the result is a layer");
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), space::BUTTON + 8.0), Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let place = Rect::from_min_size(pos2(row.left(), row.top() + 8.0), vec2(button.width(ui), space::BUTTON));
    if button.show_at(ui, place).clicked() {
        actions.push(Action::TrackWholeBrain);
    }
}

fn results(ui: &mut Ui, state: &State, memory: &mut Memory, narrow: bool, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let Some(live) = &state.session.live else {
        section::head(ui, "Results");
        match &state.session.live_error {
            Some(why) => {
                Note::new(p, Severity::Error, why).show(ui);
            }
            None => rows::hint(ui, "Streamlines appear here as soon as there is a seed"),
        }
        look(ui, state, memory, narrow, actions);
        return;
    };
    let output = &live.output;
    let params = &state.document.track;
    section::head_with(ui, "Results", &tracks::headline(output, !live.targets.is_empty()));
    if let Some((text, remedy)) = tracks::nothing_kept(output, params) {
        nothing(ui, &text, remedy, params, actions);
    }
    let colouring = state.document.track_display.line_colouring.clone();
    let targets: Vec<&Arc<Region>> =
        live.targets.iter().filter_map(|id| state.document.region(*id)).collect();
    if let Some(lengths) = memory.tracks.lengths(&output.kept, live.targets.len()) {
        histogram(ui, lengths, colouring == LineColouring::Length);
        if !targets.is_empty() {
            table(ui, &targets, lengths, live, state, actions);
        }
    }
    let dropped = tracks::dropped(output);
    if !dropped.is_empty() {
        ui.add_space(4.0);
        rows::hint(ui, &dropped);
    }
    let parts = tracks::stops(output, params);
    if !parts.is_empty() {
        ui.add_space(2.0);
        let (open, clicked) = section::fold(ui, STOPS, memory.is_open(STOPS, !narrow));
        if clicked {
            memory.toggle(STOPS);
        }
        if open {
            charts::stacked(ui, "Reasons why ends stopped", &parts);
        }
    }
    look(ui, state, memory, narrow, actions);
}

/// One way out of an empty result.
fn nothing(ui: &mut Ui, text: &str, remedy: Remedy, params: &Params, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let (word, params) = match remedy {
        Remedy::LowerFa => {
            let lower = params.min_fa.map(|v| (v * 0.5 * 100.0).round() / 100.0);
            ("Halve the FA limit", Params { min_fa: lower, ..params.clone() })
        }
        Remedy::ShorterLength => {
            let shorter = (params.min_length_mm * 0.5).round();
            ("Halve the shortest length", Params { min_length_mm: shorter, ..params.clone() })
        }
        Remedy::LoosenAngle => {
            let looser = params.max_angle_rad.map(|a| (a.to_degrees() + 15.0).min(90.0).to_radians());
            ("Loosen the angle", Params { max_angle_rad: looser, ..params.clone() })
        }
        Remedy::Nothing => {
            Note::new(p, Severity::Warning, text).show(ui);
            return;
        }
    };
    let note = Note::new(p, Severity::Warning, text).action(word);
    if note.show(ui) == Some(Answer::Taken) {
        actions.push(Action::SetTrack { params, phase: Phase::Done });
    }
}

fn histogram(ui: &mut Ui, lengths: &Lengths, by_length: bool) {
    let p = theme::palette(ui.style());
    let mm = |v: f32| format::with_unit(&format::fixed(f64::from(v), 0), "mm");
    let median = format!("median {}", mm(lengths.median));
    panels::caption(ui, "Length", "");
    let share = (lengths.median - lengths.low) / (lengths.high - lengths.low);
    let plain = p.accent;
    let colour = |t: f32| -> Color32 {
        if by_length { display::colour_of(ColourMap::Viridis, t) } else { plain }
    };
    Histogram {
        name: "Lengths",
        counts: &lengths.bins,
        ends: (&mm(lengths.low), &mm(lengths.high)),
        mark: Some((share, &median)),
        colour: &colour,
    }
    .show(ui);
}

/// One row per target: how many streamlines reach it, and their median length.
fn table(
    ui: &mut Ui,
    targets: &[&Arc<Region>],
    lengths: &Lengths,
    live: &Live,
    state: &State,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let columns = |row: Rect| {
        let right = row.right() - 28.0;
        let cell = |from: f32, to: f32| Rect::from_x_y_ranges(right - from..=right - to, row.y_range());
        (cell(150.0, 78.0), cell(76.0, 0.0))
    };
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), space::TABLE_HEAD + 4.0), Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let font = theme::regular(size::CAPTION);
    let (count_at, length_at) = columns(row);
    paint::left(ui.painter(), paint::inset(row, 18.0, 0.0), "Target", font.clone(), p.t3);
    paint::right(ui.painter(), count_at, "Count", font.clone(), p.t3);
    paint::right(ui.painter(), length_at, "Median", font, p.t3);
    for (i, target) in targets.iter().enumerate() {
        let count = live.output.per_target.get(i).copied().unwrap_or(0);
        let median = lengths.per_target.get(i).map_or(0.0, |t| t.0);
        let count = format::count(count);
        let median = format::with_unit(&format::fixed(f64::from(median), 0), "mm");
        let selected = state.session.selected_region == Some(target.id);
        let name = format!("Target {}, {count} streamlines, median {median}", target.name);
        let response = rows::list_row(ui, &name, ("target", target.id), selected);
        let row = paint::inset(response.rect, space::INSET, space::INSET);
        let painter = ui.painter();
        let at = pos2(row.left() + 6.0, row.center().y);
        region::glyph(painter, at, target.role, theme::region_colour(target));
        let (count_at, length_at) = columns(row);
        let name_at = Rect::from_min_max(row.min + vec2(18.0, 0.0), pos2(count_at.left(), row.bottom()));
        let font = theme::regular(size::LABEL);
        paint::left(painter, name_at, &target.name, font.clone(), p.t1);
        paint::right(painter, count_at, &count, font.clone(), p.t1);
        paint::right(painter, length_at, &median, font, p.t1);
        let place = paint::inset(response.rect, 0.0, space::INSET - 3.0);
        if eye(ui, place, &target.name, target.visible) {
            actions.push(Action::ToggleRegion(target.id));
        }
        if response.clicked() {
            actions.push(Action::SelectRegion(Some(target.id)));
        }
    }
}

/// How streamlines are drawn.
fn look(ui: &mut Ui, state: &State, memory: &mut Memory, narrow: bool, actions: &mut Vec<Action>) {
    ui.add_space(2.0);
    let (open, clicked) = section::fold(ui, LOOK, memory.is_open(LOOK, !narrow));
    if clicked {
        memory.toggle(LOOK);
    }
    if open {
        display::lines(ui, &state.document.track_display, &mut |display, phase| {
            actions.push(Action::SetTrackDisplay { display, phase });
        });
    }
}

pub fn foot(ui: &mut Ui, place: Rect, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let live = state.session.live.as_ref();
    let why = match live {
        None => Some("There are no streamlines yet: place a seed first"),
        Some(live) if live.coarse => Some("Waits for the full result"),
        Some(live) if live.output.kept.is_empty() => Some("No streamline was kept"),
        Some(_) => None,
    };
    let chosen = super::selected_tracks(state).is_some();
    let buttons = vec![
        Button::primary("Keep as layer").icon(icons::PLUS).disabled(why),
        Button::plain("Export…")
            .icon(icons::EXPORT)
            .disabled(why.filter(|_| !chosen))
            .hint("Ctrl+E"),
    ];
    let (responses, end) = panels::button_row(ui, place, buttons);
    if responses[0].clicked() {
        actions.push(Action::KeepTracks);
    }
    if responses[1].clicked() {
        let above = Place::Above(place.right_top() - vec2(0.0, 20.0));
        super::export(state, memory, above);
    }
    let command = recipe(state);
    if panels::copy_command(ui, place, end, command.is_some()) {
        actions.extend(command.map(Action::CopyCommand));
    }
}
