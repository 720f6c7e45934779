//! Results of tracking: number, lengths, targets, reasons for stopping, and display.

use super::empty::Empty;
use super::noise;
use crate::data::appearance::ColourMap;
use crate::data::{Region, Role};
use crate::solvers::curves::{Params, SeedOutcome};
use crate::solvers::geodesic::Cut;
use crate::state::core::display::LineColouring;
use crate::state::core::text::{counted, streamlines};
use crate::state::files::jobs::LOAD;
use crate::state::streamlines::streamlines_of;
use crate::state::tensors::jobs::fit::FIT;
use crate::state::tensors::jobs::fod::FOD;
use crate::state::tensors::mask_text;
use crate::state::track::empty;
use crate::state::track::jobs::LIVE;
use crate::state::track::types::odf::Model;
use crate::state::track::types::{CurveKind, RayResult};
use crate::state::{
    Action, Content, CurveResult, DeviceAction, Method, Phase, RegionAction, Severity, Standing,
    State, TrackAction, ViewAction,
};
use crate::ui::forms::geodesic::measures;
use crate::ui::forms::{density, display, lines, odf_tracking};
use crate::ui::streamline_summary::{self, Lengths, Remark, Suggestion};
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::button::eye;
use crate::ui::widgets::charts::{self, Histogram};
use crate::ui::widgets::note::{Note, NoteResponse};
use crate::ui::widgets::{paint, region, rows, section};
use crate::ui::{Memory, format, panels};
use egui::{Color32, Rect, Sense, Ui, pos2, vec2};
use std::sync::Arc;

const STOPS: &str = "Why tracking stopped";
const LOOK: &str = "Appearance";

pub fn show(
    ui: &mut Ui,
    state: &State,
    memory: &mut Memory,
    narrow: bool,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let Some(live) = state.runtime.track.live.value() else {
        section::head(ui, "Results");
        // The error already names regions outside the mask.
        let failed = state.runtime.track.live.failure().is_some();
        let unsaid = |remark: &Remark| !failed || remark.outside_at.is_none();
        super::remarks(ui, state, memory, unsaid, actions);
        match state.runtime.track.live.failure() {
            Some(why) => {
                let mut note = Note::new(p, Severity::Error, why);
                if state.runtime.device.fallback.live {
                    note = note.action(panels::ON_CPU);
                }
                if note.show(ui) == Some(NoteResponse::Accepted) {
                    actions.push(Action::Device(DeviceAction::RunOnCpu));
                }
            }
            None => waiting(ui, state, actions),
        }
        look(ui, state, memory, narrow, actions);
        return;
    };
    let output = &live.output;
    let standing = state.standing();
    let headline = match standing {
        Some(Standing::Updating) => "updating…".to_owned(),
        Some(Standing::Coarse) if state.live_is_stale() => "updating…".to_owned(),
        Some(Standing::OutOfDate) => "out of date".to_owned(),
        _ => streamline_summary::headline(output, live.rays.is_some(), !live.targets.is_empty()),
    };
    section::head_with(ui, "Results", &headline);
    super::remarks(ui, state, memory, |_| true, actions);
    if state.stalled() {
        let text = match standing {
            Some(Standing::Coarse) => "Coarse result: the full run was stopped",
            _ => "Out of date: settings have changed since",
        };
        run_again(ui, state, text, actions);
    }
    // It can still be read and cut.
    rows::dimmed(ui, state.live_is_stale(), |ui| {
        figures(ui, state, live, memory, narrow, actions);
    });
    if live.rays.is_none() {
        noise::show(ui, state, memory, actions);
    }
    look(ui, state, memory, narrow, actions);
    let nothing = output.kept.is_empty().then_some("There is nothing to map");
    let unfinished = (standing != Some(Standing::Final)).then_some("Waiting for the full result");
    density::show(ui, state, None, nothing.or(unfinished), memory, actions);
}

/// Charts and counts of a result.
fn figures(
    ui: &mut Ui,
    state: &State,
    live: &CurveResult,
    memory: &mut Memory,
    narrow: bool,
    actions: &mut Vec<Action>,
) {
    let output = &live.output;
    let params = &streamline_summary::params(&state.document);
    match &live.rays {
        Some(rays) => {
            let cut = measures::histogram(ui, state, rays, memory, actions);
            // Below a control that the user may be dragging.
            measures::nothing(ui, state, live, memory, actions);
            measured_targets(ui, state, live, (rays, cut), memory, actions);
        }
        None => {
            let place = live.place_of_starts(&state.document);
            if let Some((text, remedy)) = streamline_summary::nothing_kept(output, params, &place) {
                let way_out = (&*text, remedy, params);
                nothing(ui, state, live, way_out, memory, actions);
            }
            tracked_targets(ui, state, live, memory, actions);
        }
    }
    missed(ui, state, live, actions);
    if let Some(rays) = &live.rays {
        measures::repaired(ui, rays);
    }
    // If nothing was kept, the note above gives the reason.
    let mask = mask_text::name_of(&state.document);
    let not_started = empty::not_started_sentence(output, &mask);
    let not_started = not_started.filter(|_| live.rays.is_none() && !output.kept.is_empty());
    let mut reported = Vec::new();
    if has_missed_row(live) {
        reported.push(SeedOutcome::MissedTargets);
    }
    if not_started.is_some() {
        reported.push(SeedOutcome::NoStart);
    }
    // The line keeps its height when it is empty, so the rows below stay in place.
    rows::line(ui, &streamline_summary::dropped(output, &reported));
    for text in not_started
        .into_iter()
        .chain(streamline_summary::rejected(output))
        .chain(odf_tracking::unknown_labels(state, live))
        .chain(output.tissue_doubt.clone())
    {
        rows::hint(ui, &text);
    }
    let parts = streamline_summary::stops(output, params, state.view.stop);
    if !parts.is_empty() {
        ui.add_space(2.0);
        let (open, clicked) = section::fold(ui, STOPS, memory.is_open(STOPS, !narrow));
        if clicked {
            memory.toggle(STOPS);
        }
        if open {
            let chosen = state.view.stop;
            let top = ui.cursor().top();
            let clicked = charts::stacked(ui, "Stop reasons of all ends", &parts, chosen);
            actions.extend(clicked.map(|reason| Action::View(ViewAction::ShowStop(reason))));
            // Reasons come and go while a region is dragged.
            const ROOM: f32 = 66.0;
            ui.add_space((top + ROOM - ui.cursor().top()).max(0.0));
        }
    }
}

/// Shown before there is a result.
fn waiting(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let (what, doing) = match state.document.track.method {
        Method::Streamlines => ("Streamlines", "Tracking…"),
        Method::Rays => ("Rays", "Tracing…"),
    };
    let seeded = state.document.regions.iter().any(|r| r.role == Role::Seed);
    let document = &state.document;
    let (has_field, field) = match document.track.kind().model() {
        Model::Tensors => (document.tensors.is_some(), "tensors"),
        Model::Distributions => (document.distributions.field().is_some(), "distributions"),
    };
    let has_tissues = document.tissue_key().is_some();
    let missing = match (has_field, seeded) {
        (true, true) if document.track.kind() == CurveKind::OdfStreamlines && !has_tissues => {
            Some("the chosen tissues are loaded".to_owned())
        }
        (true, true) => None,
        (true, false) => Some("a seed is placed".to_owned()),
        (false, true) => Some(format!("{field} exist")),
        (false, false) => Some(format!("{field} and a seed exist")),
    };
    if let Some(missing) = missing {
        let live = what.to_lowercase();
        let mut layers = state.document.layers.iter();
        let tracked = !seeded && layers.any(|l| streamlines_of(l).is_some());
        let text = match tracked {
            true => format!("The results are among the layers. Live {live} need a seed"),
            false => format!("Live {live} appear here once {missing}"),
        };
        rows::hint(ui, &text);
    } else if state.runtime.jobs.is_running(&[LIVE, FIT, FOD, LOAD]) {
        rows::hint(ui, doing);
    } else {
        run_again(ui, state, "It was stopped before it had a result", actions);
    }
}

/// Offers to compute the result of the present controls.
fn run_again(ui: &mut Ui, state: &State, text: &str, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let action = match state.document.track.method {
        Method::Streamlines => "Track again",
        Method::Rays => "Trace again",
    };
    let note = Note::new(p, Severity::Warning, text).action(action);
    if note.show(ui) == Some(NoteResponse::Accepted) {
        actions.push(Action::Track(TrackAction::Repeat));
    }
}

/// One suggestion for an empty result.
fn nothing(
    ui: &mut Ui,
    state: &State,
    live: &CurveResult,
    (text, remedy, params): (&str, Suggestion, &Params),
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let mut changed = params.clone();
    let mut odf = state.document.odf_params();
    let label = match remedy {
        Suggestion::LowerFa => {
            changed.min_fa = params.min_fa.map(|v| (v * 0.5 * 100.0).round() / 100.0);
            "Halve the FA limit"
        }
        Suggestion::ShorterLength => {
            changed.min_length_mm = (params.min_length_mm * 0.5).round();
            odf.min_length_mm = changed.min_length_mm;
            "Halve the minimum length"
        }
        Suggestion::LoosenAngle => {
            let looser = |a: f64| (a.to_degrees() + 15.0).min(90.0).to_radians();
            changed.max_angle_rad = params.max_angle_rad.map(looser);
            odf.max_angle_rad = looser(odf.max_angle_rad);
            "Loosen the angle"
        }
        Suggestion::LowerCutoff => {
            odf.min_amplitude = (odf.min_amplitude * 0.5 * 1e3).round() / 1e3;
            "Halve the minimum amplitude"
        }
        Suggestion::Nothing => "",
    };
    let empty = Empty {
        text: text.to_owned(),
        label: Some(label).filter(|label| !label.is_empty()),
        missed: remedy == Suggestion::LoosenAngle,
        starts: live.output.seed_outcomes.iter().sum::<u64>()
            != live.output.seed_outcomes[SeedOutcome::NoStart as usize],
    };
    if empty.show(ui, state, live, memory, actions) {
        let phase = Phase::Done;
        actions.push(Action::Track(match live.key.curves.kind() {
            CurveKind::OdfStreamlines => TrackAction::SetOdfParams {
                params: Some(odf),
                phase,
            },
            _ => TrackAction::SetStreamlines {
                params: changed,
                phase,
            },
        }));
    }
}

/// Text that names the streamlines of the lengths, if other streamlines are drawn as well.
fn whose(state: &State) -> &'static str {
    let others = state.document.layers.iter();
    let mut others = others.filter(|l| matches!(l.content, Content::Tractogram(_)));
    let alone = others.all(|l| !l.display.visible);
    match (state.document.live_display().visible, alone) {
        (false, _) => "of the live streamlines, hidden",
        (true, false) => "of the live streamlines only",
        (true, true) => "",
    }
}

fn histogram(ui: &mut Ui, lengths: &Lengths, by_length: bool, whose: &str) {
    let p = theme::palette(ui.style());
    let mm = |v: f32| format::with_unit(&format::fixed(f64::from(v), 0), "mm");
    let median = format!("median {}", mm(lengths.median));
    panels::caption(ui, "Length", whose);
    let share = (lengths.median - lengths.low) / (lengths.high - lengths.low);
    // Calmer than controls that can be clicked.
    let plain = p.accent.lerp_to_gamma(p.b1, 0.4);
    let colour = |t: f32| -> Color32 {
        if by_length {
            display::colour_of(ColourMap::Viridis, t)
        } else {
            plain
        }
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

/// Lengths, and one row per target.
fn tracked_targets(
    ui: &mut Ui,
    state: &State,
    live: &CurveResult,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let output = &live.output;
    let Some(lengths) = memory
        .caches
        .streamlines
        .lengths(&output.kept, live.targets.len())
    else {
        return;
    };
    let by_length = state.document.track.streamline_display.line_colouring == LineColouring::Length;
    histogram(ui, lengths, by_length, whose(state));
    let heads = [("Count", 74.0), ("Median", 76.0)];
    table(ui, state, live, &heads, actions, |i, name| {
        let n = output.per_target.get(i).copied().unwrap_or(0);
        let count = format::count(n);
        let median = lengths.per_target.get(i).copied().unwrap_or(0.0);
        let median = format::with_unit(&format::fixed(f64::from(median), 0), "mm");
        let median = or_none(n as usize, median);
        let spoken = format!("Target {name}, {}, median {median}", streamlines(n));
        (vec![count, median], spoken)
    });
}

/// For each target, the rays that a cut keeps.
fn measured_targets(
    ui: &mut Ui,
    state: &State,
    live: &CurveResult,
    (rays, cut): (&RayResult, Cut),
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let kept = &live.output.kept;
    let reached = memory
        .caches
        .rays
        .reached(kept, rays, cut, live.targets.len());
    let heads = [("Count", 56.0), ("CM", 48.0), ("Length", 60.0)];
    table(ui, state, live, &heads, actions, |i, name| {
        let target = reached.get(i).copied().unwrap_or_default();
        let count = format::count(target.count);
        let or_none = |text| or_none(target.count as usize, text);
        let cm = or_none(format::measure(f64::from(target.measure)));
        let mm = format::fixed(f64::from(target.length_mm), 0);
        let mm = or_none(format::with_unit(&mm, "mm"));
        let rays = counted(target.count as usize, "ray");
        let spoken = format!("Target {name}, {rays}, median CM {cm}, median length {mm}");
        (vec![count, cm, mm], spoken)
    });
}

/// An empty set has no median.
fn or_none(count: usize, median: String) -> String {
    match count {
        0 => "–".to_owned(),
        _ => median,
    }
}

/// One row per target: its name and, right-aligned, a value under each head (with its width).
fn table(
    ui: &mut Ui,
    state: &State,
    live: &CurveResult,
    heads: &[(&str, f32)],
    actions: &mut Vec<Action>,
    values: impl Fn(usize, &str) -> (Vec<String>, String),
) {
    let p = theme::palette(ui.style());
    /// With more targets, only those that most streamlines reach.
    const ROWS: usize = 12;
    let mut targets: Vec<(usize, &Arc<Region>)> = live
        .targets
        .iter()
        .enumerate()
        .filter_map(|(i, id)| Some((i, state.document.region(*id)?)))
        .collect();
    if targets.is_empty() {
        return;
    }
    let more = targets.len().saturating_sub(ROWS);
    if more > 0 {
        let count = |i: usize| live.output.per_target.get(i).copied().unwrap_or(0);
        targets.sort_by_key(|(i, _)| std::cmp::Reverse(count(*i)));
        targets.truncate(ROWS);
    }
    let cells = |row: Rect| {
        let mut right = row.right() - 28.0;
        let mut cells = Vec::new();
        for (_, width) in heads.iter().rev() {
            cells.insert(
                0,
                Rect::from_x_y_ranges(right - width + 2.0..=right, row.y_range()),
            );
            right -= width;
        }
        cells
    };
    let (rect, _) = ui.allocate_exact_size(
        vec2(ui.available_width(), space::TABLE_HEAD + 4.0),
        Sense::hover(),
    );
    let row = paint::inset(rect, space::INSET, space::INSET);
    let font = theme::regular(size::CAPTION);
    let name_at = paint::inset(row, 18.0, 0.0);
    paint::left(ui.painter(), name_at, "Target", font.clone(), p.t3);
    for ((head, _), cell) in heads.iter().zip(cells(row)) {
        paint::right(ui.painter(), cell, head, font.clone(), p.t3);
    }
    for (i, target) in targets {
        let (values, spoken) = values(i, &target.name);
        let selected = state.runtime.regions.selected == Some(target.id);
        let response = rows::list_row(ui, &spoken, ("target", target.id), selected);
        let row = paint::inset(response.rect, space::INSET, space::INSET);
        let painter = ui.painter();
        let at = pos2(row.left() + 6.0, row.center().y);
        region::glyph(painter, at, target.role, theme::region_colour(target));
        let cells = cells(row);
        let end = cells.first().map_or(row.right(), |c| c.left());
        let name_at = Rect::from_min_max(row.min + vec2(18.0, 0.0), pos2(end, row.bottom()));
        let font = theme::regular(size::LABEL);
        paint::left(painter, name_at, &target.name, font.clone(), p.t1);
        for (value, cell) in values.iter().zip(cells) {
            paint::right(painter, cell, value, font.clone(), p.t1);
        }
        let place = paint::inset(response.rect, 0.0, space::INSET - 3.0);
        if eye(ui, place, &target.name, target.visible) {
            actions.push(Action::Region(RegionAction::Toggle(target.id)));
        }
        if response.clicked() {
            actions.push(Action::Region(RegionAction::Select(Some(target.id))));
        }
    }
    if more > 0 {
        rows::hint(
            ui,
            &format!("and {} that fewer reach", counted(more, "target")),
        );
    }
}

fn has_missed_row(live: &CurveResult) -> bool {
    !live.targets.is_empty()
}

/// Streamlines that missed the targets, with the eye that hides them.
fn missed(ui: &mut Ui, state: &State, live: &CurveResult, actions: &mut Vec<Action>) {
    if !has_missed_row(live) {
        return;
    }
    let output = &live.output;
    let p = theme::palette(ui.style());
    let name = "Missed the targets";
    let missed = output.seed_outcomes[SeedOutcome::MissedTargets as usize];
    let count = format::count(missed);
    let fact = match output.missed_every {
        _ if missed == 0 => count,
        1 => count,
        every => format!("{count}, 1 in {every} drawn"),
    };
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), space::ROW), Sense::hover());
    response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{name}, {fact}"))
    });
    let row = paint::inset(rect, space::INSET, space::INSET);
    let dash = pos2(row.left() + 6.0, row.center().y);
    let stroke = egui::Stroke::new(1.5, p.t3);
    ui.painter()
        .hline(dash.x - 5.0..=dash.x + 5.0, dash.y, stroke);
    let font = theme::regular(size::LABEL);
    let shown = state.view.visible.missed;
    let ink = if shown { p.t1 } else { p.t2 };
    let name_at = paint::inset(row, 18.0, 28.0);
    paint::left(ui.painter(), name_at, name, font.clone(), ink);
    paint::right(ui.painter(), name_at, &fact, font, p.t3);
    let place = paint::inset(rect, 0.0, space::INSET - 3.0);
    if eye(ui, place, name, shown) {
        actions.push(Action::View(ViewAction::ToggleMissed));
    }
}

/// Display of the streamlines.
fn look(ui: &mut Ui, state: &State, memory: &mut Memory, narrow: bool, actions: &mut Vec<Action>) {
    ui.add_space(2.0);
    let (open, clicked) = section::fold(ui, LOOK, memory.is_open(LOOK, !narrow));
    if clicked {
        memory.toggle(LOOK);
    }
    if open {
        let measured = state.document.track.method == Method::Rays;
        let shown = state.document.live_display();
        let has = lines::AvailableValues {
            measure: measured,
            // Streamlines along distributions have no FA of their own.
            lacks_fa: match state.document.track.kind().model() {
                Model::Tensors => None,
                Model::Distributions if state.document.tensors.is_some() => {
                    Some("keep as layer first")
                }
                Model::Distributions => Some(lines::AvailableValues::NO_FIT),
            },
            ..lines::AvailableValues::default()
        };
        lines::show(ui, shown, &has, &mut |display, phase| {
            actions.push(Action::Track(TrackAction::SetDisplay { display, phase }));
        });
        display::slab(ui, &state.view, actions);
    }
}
