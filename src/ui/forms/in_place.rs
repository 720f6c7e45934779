//! Streamlines that stay in their file: how many are drawn, their lengths, the filter, and the panel of the matrix.

use super::display::segment_row;
use super::streamlines::{at_most, group, images, regions, stop};
use crate::solvers::tractogram::selection::PointStatistic;
use crate::state::core::layer::StreamlinesInPlace;
use crate::state::streamlines::{BottomPanel, Column, StreamlineRules, ValueLimits};
use crate::state::{Action, Layer, Phase, State, StreamlineAction};
use crate::ui::theme::{self, space};
use crate::ui::widgets::button::{Button, IconButton};
use crate::ui::widgets::slider::{Columns, RangeRow, Scale};
use crate::ui::widgets::{paint, rows, section};
use crate::ui::{Memory, format, icons, panels};
use egui::{Rect, Sense, Ui, vec2};
use std::sync::Arc;

const TITLE: &str = "Streamlines in the file";
const FILTER: &str = "Filter";

pub fn show(
    ui: &mut Ui,
    state: &State,
    (layer, lines): (&Arc<Layer>, &StreamlinesInPlace),
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    ui.push_id("streamlines in place", |ui| {
        let (open, clicked) = section::fold(ui, TITLE, memory.is_open(TITLE, true));
        if clicked {
            memory.toggle(TITLE);
        }
        if open {
            numbers(ui, state, layer, lines);
            lengths(ui, state, layer, actions);
            rows::hint(
                ui,
                "The views draw some of them; rules, table, densities, the matrix, exports and the task Filter use all. \
                 For picking, profiles, bundles, scores and alignment, set rules, then click Keep matching",
            );
        }
        let (open, clicked) = section::fold(ui, FILTER, memory.is_open(FILTER, true));
        if clicked {
            memory.toggle(FILTER);
        }
        if open {
            filter(ui, state, (layer, lines), actions);
        }
    });
}

fn numbers(ui: &mut Ui, state: &State, layer: &Layer, lines: &StreamlinesInPlace) {
    let count = |n: usize| format::count(n as u64);
    let drawn = state.picture_in_place(layer).map_or(0, |s| s.numbers.len());
    let kept = state.counted_in_place(layer.id);
    let all = kept.map_or(lines.file.len(), |kept| kept.outline.streamlines);
    rows::reading(ui, "Drawn", &format!("{} of {}", count(drawn), count(all)));
    if let Some(near) = state.near_streamlines(layer) {
        rows::reading(ui, "Drawn in 3-D", &count(near.len()));
    }
    let has_rules = state.document.streamlines.rules_of(layer.id).is_some();
    if has_rules {
        rows::reading(ui, "All streamlines", &count(lines.file.len()));
    }
    let points = named(has_rules, ["Points", "Points of all"]);
    rows::reading(ui, points, &count(lines.file.point_count()));
}

/// The name of a figure of all streamlines of the file: beside the number that rules keep, it says that it is one of all.
fn named(has_rules: bool, [alone, of_all]: [&'static str; 2]) -> &'static str {
    match has_rules {
        true => of_all,
        false => alone,
    }
}

/// Lengths of all streamlines, once they are requested.
fn lengths(ui: &mut Ui, state: &State, layer: &Layer, actions: &mut Vec<Action>) {
    let has_rules = state.document.streamlines.rules_of(layer.id).is_some();
    if let Some(lengths) = state.lengths_in_place(layer.id) {
        let [low, median, high] = [lengths.low, lengths.median, lengths.high]
            .map(|mm| format::significant(f64::from(mm)));
        let range = format::with_unit(&format!("{low} to {high}"), "mm");
        let lengths = named(has_rules, ["Lengths", "Lengths of all"]);
        rows::reading(ui, lengths, &range);
        let name = named(has_rules, ["Median", "Median of all"]);
        rows::reading(ui, name, &format::with_unit(&median, "mm"));
        return;
    }
    let measure = Button::plain("Measure lengths").hint("Reads all streamlines of the file once");
    if button(ui, measure) {
        actions.push(Action::Streamline(StreamlineAction::MeasureLengths(
            layer.id,
        )));
    }
}

fn button(ui: &mut Ui, button: Button) -> bool {
    let size = vec2(ui.available_width(), space::BUTTON + 8.0);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let place = paint::inset(rect, space::INSET, space::INSET);
    let place = Rect::from_min_size(
        place.min + vec2(0.0, 4.0),
        vec2(place.width(), space::BUTTON),
    );
    let (responses, _) = panels::button_row(ui, place, vec![button]);
    responses[0].clicked()
}

fn filter(
    ui: &mut Ui,
    state: &State,
    (layer, lines): (&Arc<Layer>, &StreamlinesInPlace),
    actions: &mut Vec<Action>,
) {
    let now = state.document.streamlines.rules_of(layer.id).cloned();
    let help = "Counts and draws only the streamlines that meet all rules below; each change reads the file";
    let switched = segment_row(
        ui,
        "Filter",
        help,
        &["Off", "On"],
        usize::from(now.is_some()),
    );
    if let Some(i) = switched {
        let (layer, enabled) = (layer.id, i == 1);
        actions.push(Action::Streamline(StreamlineAction::SwitchFilter {
            layer,
            enabled,
        }));
    }
    if let Some(rules) = now {
        let mut set = |rules: StreamlineRules, phase: Phase| {
            actions.push(Action::Streamline(StreamlineAction::SetRules {
                rules,
                phase,
            }));
        };
        regions(ui, state, &rules, &mut set);
        length(ui, state, (layer, lines), &rules, &mut set);
        limits(ui, state, &rules, &mut set);
        group(ui, &lines.names, &rules, &mut set);
        stop(ui, &lines.names, &rules, &mut set);
        at_most(ui, &lines.names, &rules, &mut set);
        let text = ["Matching", "Not matching"];
        let help = "The streamlines that meet the rules, or those that do not";
        if let Some(i) = segment_row(ui, "Show", help, &text, usize::from(rules.invert)) {
            let invert = i == 1;
            set(StreamlineRules { invert, ..rules }, Phase::Done);
        }
        let kept = state.counted_in_place(layer.id);
        let off = match kept.map(|kept| kept.outline.streamlines) {
            Some(0) => Some("No streamline passes: there is nothing to keep"),
            Some(_) if !state.is_counting_in_place(layer.id) => None,
            _ => Some("The streamlines are being filtered"),
        };
        let keep = Button::plain("Keep matching")
            .disabled(off)
            .hint("Reads the streamlines that pass into memory, as a new layer");
        if button(ui, keep) {
            actions.push(Action::Streamline(StreamlineAction::Keep));
        }
    } else {
        rows::hint(
            ui,
            "By region, group, length, stop reason or at random; by values and images in the table",
        );
    }
    // The table's columns are chosen where its streamlines are.
    if state.view.bottom_panel == Some(BottomPanel::Table) {
        images(ui, state, actions);
    }
    let panels = [
        (
            BottomPanel::Table,
            "Table of streamlines",
            "Lists all streamlines with their lengths, values and means of images",
        ),
        (
            BottomPanel::Matrix,
            "Matrix of connections",
            "Counts the streamlines that connect the labels of a map",
        ),
    ];
    for (panel, name, hint) in panels {
        let is_open = state.view.bottom_panel == Some(panel);
        let open = Button::plain(name)
            .disabled(is_open.then_some("It is open"))
            .hint(hint);
        if button(ui, open) {
            let open = StreamlineAction::Open(Some(panel));
            actions.push(Action::Streamline(open));
        }
    }
}

/// A row for each rule that was typed into the table, with a button that removes it.
fn limits(
    ui: &mut Ui,
    state: &State,
    rules: &StreamlineRules,
    set: &mut impl FnMut(StreamlineRules, Phase),
) {
    let typed = rules.limits.iter().filter(|l| l.column != Column::length());
    for limit in typed {
        let name = state.column_name(&limit.column);
        let columns = Columns::allocate(ui);
        let p = theme::palette(ui.style());
        let font = theme::regular(theme::size::LABEL);
        paint::left(ui.painter(), columns.label, &name, font.clone(), p.t2);
        paint::left(ui.painter(), columns.wide, &limit_text(limit), font, p.t1);
        let remove = format!("Remove the rule on {name}");
        let button = IconButton::new(icons::CLOSE, &remove).side(22.0);
        if button.show_right(ui, columns.wide).clicked() {
            let open = ValueLimits {
                low: None,
                high: None,
                ..limit.clone()
            };
            set(rules.clone().limited(open), Phase::Done);
        }
    }
}

/// The limits of a value: `0.3–0.5`, `≥ 0.3`.
pub fn limit_text(limit: &ValueLimits) -> String {
    let number = |v: f32| format::significant(f64::from(v));
    match (limit.low, limit.high) {
        (Some(low), Some(high)) => format!("{}–{}", number(low), number(high)),
        (Some(low), None) => format!("≥ {}", number(low)),
        (None, Some(high)) => format!("≤ {}", number(high)),
        (None, None) => String::new(),
    }
}

/// The range of lengths that pass: all lengths that were measured, else those of the drawn streamlines.
fn length(
    ui: &mut Ui,
    state: &State,
    (layer, lines): (&Layer, &StreamlinesInPlace),
    rules: &StreamlineRules,
    set: &mut impl FnMut(StreamlineRules, Phase),
) {
    let measured = state.lengths_in_place(layer.id).map(|l| (l.low, l.high));
    let range = measured.or_else(|| lines.first.tractogram.length_range());
    let range = range.map(|(low, high)| (f64::from(low), f64::from(high)));
    // Lengths that differ by rounding alone need no slider.
    let Some((low, high)) = range.filter(|(low, high)| high - low > 1e-3 * high) else {
        return;
    };
    let decimals = (2.0 - (high - low).log10().round()).clamp(0.0, 6.0) as i32;
    let column = Column::length();
    let limit = rules.limit(&column);
    let end = |end: Option<f32>, open: f64| end.map_or(open, f64::from);
    let values = (
        end(limit.and_then(|l| l.low), low),
        end(limit.and_then(|l| l.high), high),
    );
    let row = RangeRow {
        name: "Length",
        values,
        scale: Scale {
            range: low..=high,
            logarithmic: false,
            decimals,
        },
        default: &|| (low, high),
        unit: "mm",
        help: "Streamlines whose length lies in this range; an end of the slider lets everything pass",
        limits: 0.0..=f64::MAX,
        waits: false,
    };
    if let Some(((from, to), phase)) = row.show(ui) {
        let limit = ValueLimits {
            column,
            counting: PointStatistic::Mean,
            low: (from > low + 0.004 * (high - low)).then_some(from as f32),
            high: (to < high - 0.004 * (high - low)).then_some(to as f32),
        };
        set(rules.clone().limited(limit), phase);
    }
}
