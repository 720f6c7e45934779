//! What came of tracking: how many, how long, where to, why they stopped, and how they are drawn.

use crate::data::Region;
use crate::render::colour_map::ColourMap;
use crate::solvers::tracking::Params;
use crate::state::document::LineColouring;
use crate::state::{Action, Live, Phase, Severity, State};
use crate::ui::forms::display;
use crate::ui::theme::{self, size, space};
use crate::ui::tracks::{self, Lengths, Remedy};
use crate::ui::widgets::button::eye;
use crate::ui::widgets::charts::{self, Histogram};
use crate::ui::widgets::note::{Answer, Note};
use crate::ui::widgets::{paint, region, rows, section};
use crate::ui::{Memory, format, panels};
use egui::{Color32, Rect, Sense, Ui, pos2, vec2};
use std::sync::Arc;

const STOPS: &str = "Why they stopped";
const LOOK: &str = "Appearance";

pub fn show(
    ui: &mut Ui,
    state: &State,
    memory: &mut Memory,
    narrow: bool,
    actions: &mut Vec<Action>,
) {
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
    section::head_with(
        ui,
        "Results",
        &tracks::headline(output, !live.targets.is_empty()),
    );
    if let Some((text, remedy)) = tracks::nothing_kept(output, params) {
        nothing(ui, &text, remedy, params, actions);
    }
    let colouring = state.document.track_display.line_colouring.clone();
    let targets: Vec<&Arc<Region>> = live
        .targets
        .iter()
        .filter_map(|id| state.document.region(*id))
        .collect();
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
            (
                "Halve the FA limit",
                Params {
                    min_fa: lower,
                    ..params.clone()
                },
            )
        }
        Remedy::ShorterLength => {
            let shorter = (params.min_length_mm * 0.5).round();
            (
                "Halve the shortest length",
                Params {
                    min_length_mm: shorter,
                    ..params.clone()
                },
            )
        }
        Remedy::LoosenAngle => {
            let looser = params
                .max_angle_rad
                .map(|a| (a.to_degrees() + 15.0).min(90.0).to_radians());
            (
                "Loosen the angle",
                Params {
                    max_angle_rad: looser,
                    ..params.clone()
                },
            )
        }
        Remedy::Nothing => {
            Note::new(p, Severity::Warning, text).show(ui);
            return;
        }
    };
    let note = Note::new(p, Severity::Warning, text).action(word);
    if note.show(ui) == Some(Answer::Taken) {
        actions.push(Action::SetTrack {
            params,
            phase: Phase::Done,
        });
    }
}

fn histogram(ui: &mut Ui, lengths: &Lengths, by_length: bool) {
    let p = theme::palette(ui.style());
    let mm = |v: f32| format::with_unit(&format::fixed(f64::from(v), 0), "mm");
    let median = format!("median {}", mm(lengths.median));
    panels::caption(ui, "Length", "");
    let share = (lengths.median - lengths.low) / (lengths.high - lengths.low);
    // Calmer than what can be clicked.
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
        let cell =
            |from: f32, to: f32| Rect::from_x_y_ranges(right - from..=right - to, row.y_range());
        (cell(150.0, 78.0), cell(76.0, 0.0))
    };
    let (rect, _) = ui.allocate_exact_size(
        vec2(ui.available_width(), space::TABLE_HEAD + 4.0),
        Sense::hover(),
    );
    let row = paint::inset(rect, space::INSET, space::INSET);
    let font = theme::regular(size::CAPTION);
    let (count_at, length_at) = columns(row);
    paint::left(
        ui.painter(),
        paint::inset(row, 18.0, 0.0),
        "Target",
        font.clone(),
        p.t3,
    );
    paint::right(ui.painter(), count_at, "Count", font.clone(), p.t3);
    paint::right(ui.painter(), length_at, "Median", font, p.t3);
    for (i, target) in targets.iter().enumerate() {
        let count = live.output.per_target.get(i).copied().unwrap_or(0);
        let median = lengths.per_target.get(i).copied().unwrap_or(0.0);
        let count = format::count(count);
        let median = format::with_unit(&format::fixed(f64::from(median), 0), "mm");
        let selected = state.session.selected_region == Some(target.id);
        let name = format!(
            "Target {}, {count} streamlines, median {median}",
            target.name
        );
        let response = rows::list_row(ui, &name, ("target", target.id), selected);
        let row = paint::inset(response.rect, space::INSET, space::INSET);
        let painter = ui.painter();
        let at = pos2(row.left() + 6.0, row.center().y);
        region::glyph(painter, at, target.role, theme::region_colour(target));
        let (count_at, length_at) = columns(row);
        let name_at = Rect::from_min_max(
            row.min + vec2(18.0, 0.0),
            pos2(count_at.left(), row.bottom()),
        );
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
