//! The streamlines of a layer: which are shown, which are selected, and the panel below the views.

use super::display::{segment_row, select_row};
use crate::data::tractogram::LENGTH;
use crate::data::{DataId, Tractogram};
use crate::solvers::curves::StopReason;
use crate::solvers::tractogram::selection::{NAMED_STOPS, PointStatistic};
use crate::state::streamlines::{
    BottomPanel, Column, ColumnKey, RegionRule, StreamlineRules, ValueLimits,
};
use crate::state::{Action, Layer, LayerId, Phase, State, StreamlineAction, Tool, ViewAction};
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::button::{Button, segmented};
use crate::ui::widgets::slider::{self, Change, Columns, RangeRow, Scale, SliderRow};
use crate::ui::widgets::{menu, paint, region, rows, section};
use crate::ui::{Memory, format};
use egui::{Rect, Sense, Ui, vec2};
use std::sync::Arc;

const FILTER: &str = "Filter";

/// Shown only while the user works on the streamlines of a layer.
pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let Some((layer, lines)) = super::streamlines_in_work(state) else {
        return;
    };
    // Tracking has rows with the same names.
    ui.push_id("streamlines", |ui| {
        section::head_with(ui, "Streamlines", &layer.name);
        shown(ui, state, layer, lines);
        chosen(ui, state, actions);
        below(ui, state, actions);
        let filtered = state.has_rules(layer.id);
        if state.view.bottom_panel == Some(BottomPanel::Table) && !filtered {
            images(ui, state, actions);
        }
        let (open, clicked) = section::fold(ui, FILTER, memory.is_open(FILTER, true));
        if clicked {
            memory.toggle(FILTER);
        }
        if open {
            filter(ui, state, (layer, lines), memory, actions);
        }
        section::end(ui);
    });
}

/// The number of streamlines, and how many the filter keeps.
fn shown(ui: &mut Ui, state: &State, layer: &Layer, lines: &Tractogram) {
    let all = format::count(lines.len() as u64);
    let text = match state.selection(layer.id) {
        Some(selection) => {
            let kept = format::count(selection.kept as u64);
            let some = match selection.every {
                1 => String::new(),
                every => format!(", 1 in {every} drawn"),
            };
            // The message says why there is no newer result.
            let live = state.runtime.streamlines.selections.get(&layer.id);
            let old = match live.is_some_and(|live| live.has_failed()) {
                true => ", as before",
                false => "",
            };
            format!("{kept} of {all}{some}{old}")
        }
        None => all,
    };
    rows::reading(ui, "Shown", &text);
}

/// The selected streamlines, and the actions on them.
fn chosen(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let columns = Columns::allocate(ui);
    let help =
        "Click a streamline in any view, or drag around several; Shift adds, Ctrl removes (K)";
    slider::label(ui, columns.label, "Select by mouse", help);
    let picking = state.view.tool == Tool::Pick;
    let text = ["Off", "On"];
    let clicked = segmented(ui, columns.wide, "Choose", &text, usize::from(picking));
    slider::help_over(ui, columns.wide, "Select by mouse", help);
    if let Some(i) = clicked {
        let tool = if i == 1 { Tool::Pick } else { Tool::Crosshair };
        actions.push(Action::View(ViewAction::SetTool(tool)));
    }
    let act = |action| Action::Streamline(action);
    let Some(chosen) = state.manual_selection() else {
        return;
    };
    rows::reading(ui, "Chosen", &format::count(chosen.count as u64));
    let (rect, _) = ui.allocate_exact_size(
        vec2(ui.available_width(), space::BUTTON + 6.0),
        Sense::hover(),
    );
    let place = paint::inset(rect, space::INSET, space::INSET);
    let place = Rect::from_min_size(place.min, vec2(place.width(), space::BUTTON));
    let buttons = vec![
        Button::plain("Delete").hint("Remove the selected streamlines (Delete)"),
        Button::plain("Keep as layer").hint("New layer from the selected streamlines"),
        Button::plain("Others").hint("Invert the selection"),
        Button::quiet("None").hint("Clear the selection (Esc)"),
    ];
    let (responses, _) = crate::ui::panels::button_row(ui, place, buttons);
    let does = [
        StreamlineAction::DeleteChosen,
        StreamlineAction::KeepChosen,
        StreamlineAction::ChooseOthers,
        StreamlineAction::ChooseNone,
    ];
    for (response, action) in responses.into_iter().zip(does) {
        if response.clicked() {
            actions.push(act(action));
        }
    }
}

/// Choice of the panel below the views.
fn below(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let help = "Panel below the views: table of streamlines, profile along them, connectivity matrix, bundles, scores \
                against a truth";
    let now = state.view.bottom_panel;
    let chosen = select_row(
        ui,
        "Panel",
        help,
        now.map_or("Off", BottomPanel::name),
        |ui| {
            let all = std::iter::once(None).chain(BottomPanel::ALL.map(Some));
            let mut chosen = None;
            for panel in all {
                let name = panel.map_or("Off", BottomPanel::name);
                if menu::Item::new(name).chosen(panel == now).show(ui) {
                    chosen = Some(panel);
                }
            }
            chosen
        },
    );
    if let Some(panel) = chosen {
        actions.push(Action::Streamline(StreamlineAction::Open(panel)));
    }
}

fn filter(
    ui: &mut Ui,
    state: &State,
    (layer, lines): (&Arc<Layer>, &Tractogram),
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let now = state.document.streamlines.rules_of(layer.id).cloned();
    let help = "Shows only the streamlines that meet all rules below";
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
    let Some(rules) = now else {
        return rows::hint(
            ui,
            "By region, group, length, value, stop reason or at random; regions can be dragged while it is on",
        );
    };
    let mut set = |rules: StreamlineRules, phase: Phase| {
        actions.push(Action::Streamline(StreamlineAction::SetRules {
            rules,
            phase,
        }));
    };
    regions(ui, state, &rules, &mut set);
    limits(ui, state, lines, &rules, memory, &mut set);
    group(ui, lines, &rules, &mut set);
    stop(ui, lines, &rules, &mut set);
    at_most(ui, lines, &rules, &mut set);
    let text = ["Matching", "Not matching"];
    let help = "Show the streamlines that meet the rules, or those that do not";
    if let Some(i) = segment_row(ui, "Show", help, &text, usize::from(rules.invert)) {
        let invert = i == 1;
        set(StreamlineRules { invert, ..rules }, Phase::Done);
    }
    images(ui, state, actions);
    let (rect, _) = ui.allocate_exact_size(
        vec2(ui.available_width(), space::BUTTON + 10.0),
        Sense::hover(),
    );
    let place = paint::inset(rect, space::INSET, space::INSET);
    let place = Rect::from_min_size(
        place.min + vec2(0.0, 6.0),
        vec2(place.width(), space::BUTTON),
    );
    let nothing = state
        .selection(layer.id)
        .is_some_and(|selection| selection.kept == 0);
    let off = nothing.then_some("No streamline passes: there is nothing to keep");
    let keep = Button::plain("Keep matching");
    let keep = keep
        .disabled(off)
        .hint("New layer from the streamlines that pass");
    let (responses, _) = crate::ui::panels::button_row(ui, place, vec![keep]);
    if responses[0].clicked() {
        actions.push(Action::Streamline(StreamlineAction::Keep));
    }
}

/// A row for each region with its rule.
pub(super) fn regions(
    ui: &mut Ui,
    state: &State,
    rules: &StreamlineRules,
    set: &mut impl FnMut(StreamlineRules, Phase),
) {
    /// With more regions, only those with a rule.
    const ROWS: usize = 8;
    let all = &state.document.regions;
    if all.is_empty() {
        rows::hint(
            ui,
            "Place a region (I, T, X) to filter by what passes through it",
        );
        return;
    }
    let counts =
        |r: &&Arc<crate::data::Region>| rules.region_rule(r.id, r.role) != RegionRule::Nothing;
    let many = all.len() > ROWS;
    let listed: Vec<_> = match many {
        true => all.iter().filter(counts).take(4 * ROWS).collect(),
        false => all.iter().collect(),
    };
    for r in listed {
        let how = rules.region_rule(r.id, r.role);
        let columns = Columns::allocate(ui);
        let at = egui::pos2(columns.label.left() + 6.0, columns.label.center().y);
        region::glyph(ui.painter(), at, r.role, theme::region_colour(r));
        let name = paint::inset(columns.label, 18.0, 0.0);
        let p = theme::palette(ui.style());
        paint::left(
            ui.painter(),
            name,
            &r.name,
            theme::regular(size::LABEL),
            p.t2,
        );
        let title = format!("Filter by {}", r.name);
        let help = "Which streamlines are shown, by how they meet this region";
        let chosen = menu::select(ui, columns.wide, &title, how.label(), |ui| {
            let mut chosen = None;
            for option in RegionRule::ALL {
                if menu::Item::new(option.label())
                    .chosen(option == how)
                    .show(ui)
                {
                    chosen = Some(option);
                }
            }
            chosen
        });
        slider::help_over(ui, columns.wide, &title, help);
        if let Some(how) = chosen {
            set(rules.clone().using(r.id, r.role, how), Phase::Done);
        }
    }
    if many {
        rows::hint(
            ui,
            "Ignored regions are not listed; give a region a role to use it",
        );
    }
    let text = ["Anywhere", "At an end"];
    let help = "Where a streamline must meet the regions that it passes through";
    if let Some(i) = segment_row(ui, "Meets", help, &text, usize::from(rules.by_ends)) {
        let by_ends = i == 1;
        set(
            StreamlineRules {
                by_ends,
                ..rules.clone()
            },
            Phase::Done,
        );
    }
}

/// A range row for each value.
fn limits(
    ui: &mut Ui,
    state: &State,
    lines: &Tractogram,
    rules: &StreamlineRules,
    memory: &mut Memory,
    set: &mut impl FnMut(StreamlineRules, Phase),
) {
    /// The table shows the rest.
    const ROWS: usize = 8;
    let columns = state.columns(lines).into_iter();
    let columns = columns.filter(|c| !is_stop(c)).take(ROWS);
    for column in columns {
        let Some((low, high)) = extent(state, lines.id(), &column, memory) else {
            continue;
        };
        let limit = rules.limit(&column);
        let (low, high) = (f64::from(low), f64::from(high));
        if low >= high {
            continue;
        }
        let end = |v: Option<f32>, open: f64| v.map_or(open, f64::from);
        // With an open end, a typed value may lie beyond all values.
        let to = end(
            limit.and_then(|l| l.high),
            high.max(limit_end(limit, |l| l.low)),
        );
        let values = (end(limit.and_then(|l| l.low), low.min(to)), to);
        // About three significant digits of the range.
        let decimals = (2.0 - (high - low).log10().round()).clamp(-3.0, 8.0) as i32;
        let mm = column == Column::length();
        let name = state.column_name(&column);
        let row = RangeRow {
            name: &name,
            values,
            scale: Scale {
                range: low..=high,
                logarithmic: false,
                decimals,
            },
            default: &|| (low, high),
            unit: if mm { "mm" } else { "" },
            help: "Streamlines whose value, or mean value, lies in this range. Double-click: all",
            limits: f64::MIN..=f64::MAX,
            waits: false,
        };
        if let Some(((from, to), phase)) = row.show(ui) {
            // A handle at the end of its slider lets everything pass.
            let reach = (high - low) * 1e-6 + 0.5 * 10f64.powi(-decimals);
            let limit = ValueLimits {
                column: column.clone(),
                counting: limit.map_or(PointStatistic::Mean, |l| l.counting),
                low: (from > low + reach.min((high - low) * 0.004)).then_some(from as f32),
                high: (to < high - reach.min((high - low) * 0.004)).then_some(to as f32),
            };
            set(rules.clone().limited(limit), phase);
        }
        if let (Column::Image(_), Some(limit)) = (&column, rules.limit(&column)) {
            counting(ui, rules, limit, &name, set);
        }
    }
}

/// One end of a limit; an open end lies below all values.
fn limit_end(limit: Option<&ValueLimits>, end: impl Fn(&ValueLimits) -> Option<f32>) -> f64 {
    limit.and_then(end).map_or(f64::NEG_INFINITY, f64::from)
}

/// The choice of the values of an image that have to lie within the limits.
fn counting(
    ui: &mut Ui,
    rules: &StreamlineRules,
    limit: &ValueLimits,
    name: &str,
    set: &mut impl FnMut(StreamlineRules, Phase),
) {
    let text = ["Mean", "Any", "All"];
    let help = "Which value must lie in the range: the mean along the streamline, the value of at least one \
                point, or of all points";
    let now = PointStatistic::ALL
        .iter()
        .position(|c| *c == limit.counting);
    let title = format!("{name} counts by");
    if let Some(i) = segment_row(ui, &title, help, &text, now.unwrap_or(0)) {
        let counting = PointStatistic::ALL[i];
        let limit = ValueLimits {
            counting,
            ..limit.clone()
        };
        set(rules.clone().limited(limit), Phase::Done);
    }
}

/// The reason why tracking ended does not matter.
pub const ANY_REASON: &str = "Any reason";

pub fn is_stop(column: &Column) -> bool {
    matches!(column, Column::Value(name) if NAMED_STOPS.contains(&name.as_str()))
}

/// Smallest and largest value of a column, once it is computed.
pub fn extent(
    state: &State,
    tractogram: DataId,
    column: &Column,
    memory: &mut Memory,
) -> Option<(f32, f32)> {
    const MAXIMUM_KNOWN_RANGES: usize = 256;
    let values = state.values(tractogram, column)?;
    let source = state.origin(column)?;
    let key = ColumnKey { tractogram, source };
    let known = &mut memory.caches.extents;
    if let Some((_, extent)) = known.iter().find(|(k, _)| *k == key) {
        return Some(*extent);
    }
    let finite = values.iter().copied().filter(|v| v.is_finite());
    let (low, high) = finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), v| {
        (l.min(v), h.max(v))
    });
    let extent = if low <= high { (low, high) } else { (0.0, 0.0) };
    if known.len() >= MAXIMUM_KNOWN_RANGES {
        known.clear();
    }
    known.push((key, extent));
    Some(extent)
}

/// One of the file's groups on its own.
pub(super) fn group(
    ui: &mut Ui,
    lines: &Tractogram,
    rules: &StreamlineRules,
    set: &mut impl FnMut(StreamlineRules, Phase),
) {
    if lines.groups.is_empty() {
        return;
    }
    let known = rules
        .group
        .as_ref()
        .filter(|g| lines.groups.contains_key(*g));
    let now = known.map_or("All of them", String::as_str);
    let help = "Groups are the bundles named in the file";
    let chosen = select_row(ui, "Group", help, now, |ui| {
        let mut chosen = None;
        if menu::Item::new("All of them")
            .chosen(known.is_none())
            .show(ui)
        {
            chosen = Some(None);
        }
        for (name, members) in &lines.groups {
            let count = format::count(members.len() as u64);
            let item = menu::Item::new(name).key(&count);
            if item.chosen(known == Some(name)).show(ui) {
                chosen = Some(Some(name.clone()));
            }
        }
        chosen
    });
    if let Some(group) = chosen {
        set(
            StreamlineRules {
                group,
                ..rules.clone()
            },
            Phase::Done,
        );
    }
}

/// Menu rows: the reason why tracking ended, if it matters.
pub fn reasons(ui: &mut Ui, now: Option<StopReason>) -> Option<Option<StopReason>> {
    let mut chosen = None;
    if menu::Item::new(ANY_REASON).chosen(now.is_none()).show(ui) {
        chosen = Some(None);
    }
    for reason in StopReason::ALL {
        let item = menu::Item::new(reason.label());
        if item.chosen(now == Some(reason)).show(ui) {
            chosen = Some(Some(reason));
        }
    }
    chosen
}

pub(super) fn stop(
    ui: &mut Ui,
    lines: &Tractogram,
    rules: &StreamlineRules,
    set: &mut impl FnMut(StreamlineRules, Phase),
) {
    let known = |name: &str| lines.per_streamline.contains_key(name);
    if !(known("stop_start") || known("stop_end")) {
        return;
    }
    let now = rules.stop.map_or(ANY_REASON, StopReason::label);
    let help = "Reason why tracking stopped at an end of the streamline";
    let chosen = select_row(ui, "Stop reason", help, now, |ui| reasons(ui, rules.stop));
    if let Some(stop) = chosen {
        set(
            StreamlineRules {
                stop,
                ..rules.clone()
            },
            Phase::Done,
        );
    }
}

pub(super) fn at_most(
    ui: &mut Ui,
    lines: &Tractogram,
    rules: &StreamlineRules,
    set: &mut impl FnMut(StreamlineRules, Phase),
) {
    let all = lines.len().max(2) as f64;
    let default_value = (all / 10.0).ceil().clamp(1.0, 10_000.0);
    let now = rules.at_most.map_or(default_value, |n| n as f64);
    let row = SliderRow::new("At most", now, 1.0..=all)
        .logarithmic()
        .decimals(0)
        .default(default_value)
        .limits(0.0..=1e9)
        .switch(rules.at_most.is_some(), "no limit")
        .help("Number of passing streamlines to draw at random; the same ones every time");
    let (at_most, phase) = match row.show(ui) {
        Some(Change::Value(n, phase)) => (Some(n as usize), phase),
        Some(Change::Toggled(on)) => (on.then_some(default_value as usize), Phase::Done),
        None => return,
    };
    set(
        StreamlineRules {
            at_most,
            ..rules.clone()
        },
        phase,
    );
}

/// Images whose means along the streamlines serve as values, too.
pub fn images(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let known = &state.document.streamlines.images;
    let offered: Vec<LayerId> = scalar_images(state);
    if offered.is_empty() {
        return;
    }
    let names: Vec<&str> = known
        .iter()
        .filter_map(|id| Some(state.document.layer(*id)?.name.as_str()))
        .collect();
    let shown = match names.is_empty() {
        true => "None".to_owned(),
        false => names.join(", "),
    };
    let help =
        "Images sampled along the streamlines: their means can be filtered, sorted and exported";
    let chosen = select_row(ui, "Means of", help, &shown, |ui| {
        image_items(ui, state, &offered, |id| known.contains(&id))
    });
    if let Some(id) = chosen {
        let mut images = known.clone();
        match images.iter().position(|i| *i == id) {
            Some(at) => drop(images.remove(at)),
            None => images.push(id),
        }
        actions.push(Action::Streamline(StreamlineAction::SetImages(images)));
    }
}

pub fn scalar_images(state: &State) -> Vec<LayerId> {
    let layers = state.document.layers.iter().rev();
    let scalar = layers.filter(|l| state.column_image(l.id).is_some());
    let measured = scalar.filter(|l| l.content.volume().is_some_and(|v| v.labels.is_none()));
    measured.map(|l| l.id).collect()
}

pub fn image_items(
    ui: &mut Ui,
    state: &State,
    offered: &[LayerId],
    is_chosen: impl Fn(LayerId) -> bool,
) -> Option<LayerId> {
    let mut chosen = None;
    for id in offered {
        let Some(layer) = state.document.layer(*id) else {
            continue;
        };
        if menu::Item::new(&layer.name).chosen(is_chosen(*id)).show(ui) {
            chosen = Some(*id);
        }
    }
    chosen
}

/// The unit of a column, such as mm for `length`.
pub fn unit(column: &Column) -> &'static str {
    match column {
        Column::Value(name) if name == LENGTH => "mm",
        _ => "",
    }
}
