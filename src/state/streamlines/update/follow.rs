//! Requests what follows from the current document and is not known yet: the result of rules, the table's values and
//! rows, the profile, the matrix.

use crate::data::{DataId, Region, Shared, Tractogram};
use crate::io::InPlace;
use crate::solvers::connectivity::Connectome;
use crate::solvers::tractogram::profile::{Along, Start};
use crate::solvers::tractogram::selection::{
    OnImage, PointStatistic, SelectionRules, StreamlineRange, ValueCondition,
};
use crate::state::core::live::{CoarseFirst, Detail, Order, Pace, SameArc, Standing};
use crate::state::streamlines::jobs::CountedStreamlines;
use crate::state::streamlines::jobs::connectome::ComputeConnectome;
use crate::state::streamlines::jobs::pick::ExtractStreamlines;
use crate::state::streamlines::jobs::profile::ComputeProfile;
use crate::state::streamlines::jobs::score::{ScoreStreamlines, TruthSource};
use crate::state::streamlines::jobs::select::{FilterStreamlines, FilteredStreamlines, slot};
use crate::state::streamlines::jobs::table::{ComputeValues, Measure, SortRows};
use crate::state::streamlines::update::{bundles, colours, in_place};
use crate::state::streamlines::{
    BottomPanel, Column, ColumnKey, ConnectKey, OrderKey, ProfileKey, RegionRule, SameShape,
    ScoreKey, SelectionKey, StreamlineRules, StreamlineSelection, streamlines_of,
};
use crate::state::{Effect, LayerId, State};
use std::sync::Arc;
use std::time::Duration;

/// During a drag, a part of the streamlines is drawn: a result for display, which is never cancelled for the next move.
const PACE: Pace = Pace::CoarseFirst(CoarseFirst {
    in_drag: true,
    at_rest: false,
    age: Duration::ZERO,
});
/// Number of columns whose values are cached.
const MAXIMUM_CACHED_COLUMNS: usize = 64;

pub fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    forget(state);
    follow_selection(state, effects);
    in_place::follow(state, effects);
    colours::follow(state, effects);
    columns(state, effects);
    order(state, effects);
    extract(state, effects);
    profile(state, effects);
    if !in_place::connect(state, effects) {
        connect(state, effects);
    }
    bundles::follow(state, effects);
    scores(state, effects);
}

/// Drops data of streamlines that no longer exist.
fn forget(state: &mut State) {
    let selected = state.runtime.selected_layer;
    if let Some(layer) = selected.and_then(|id| state.document.layer(id))
        && in_place::counted(layer).is_some()
    {
        state.runtime.streamlines.subject = selected;
    }
    if state.runtime.streamlines.manual_selection.is_some() && state.manual_selection().is_none() {
        state.runtime.streamlines.manual_selection = None;
    }
    let layers = state.document.layers.iter();
    let here: Vec<_> = layers
        .filter_map(|l| Some(in_place::counted(l)?.0))
        .collect();
    let subject = state.current_table().map(|table| table.id);
    let values = &mut state.runtime.streamlines.values;
    values.retain(|(key, _)| here.contains(&key.tractogram));
    // Values in use stay, or they would be requested again and again.
    let mut more = values.len().saturating_sub(MAXIMUM_CACHED_COLUMNS);
    values.retain(|(key, _)| {
        let goes = more > 0 && Some(key.tractogram) != subject;
        more -= usize::from(goes);
        !goes
    });
}

/// Regions with their rules.
pub(in crate::state) fn regions(
    state: &State,
    rules: &StreamlineRules,
) -> Vec<(RegionRule, Arc<Region>)> {
    let regions = state.document.regions.iter();
    let used = regions.map(|r| (rules.region_rule(r.id, r.role), r.clone()));
    used.filter(|(how, _)| *how != RegionRule::Nothing)
        .collect()
}

/// The layers that have rules, with their streamlines.
fn filtered(state: &State) -> impl Iterator<Item = (&StreamlineRules, &Tractogram)> {
    let rules = state.document.streamlines.rules();
    rules.filter_map(|rules| Some((rules, streamlines_of(state.document.layer(rules.layer)?)?)))
}

/// Images that the rules use.
pub(in crate::state::streamlines) fn image_columns(
    rules: &StreamlineRules,
) -> impl Iterator<Item = &Column> {
    let limited = rules.limits.iter().map(|l| &l.column);
    limited.filter(|c| matches!(c, Column::Image(_)))
}

/// The rules in the form of the job; `None` while values that they need are being computed.
pub(in crate::state) fn applied_rules(
    state: &State,
    rules: &StreamlineRules,
    lines: &Tractogram,
) -> Option<SelectionRules> {
    let mut values = Vec::new();
    let (mut given, mut images) = (Vec::new(), Vec::new());
    for limit in &rules.limits {
        let low = limit.low.unwrap_or(f32::NEG_INFINITY);
        let high = limit.high.unwrap_or(f32::INFINITY);
        match &limit.column {
            // Rules made for other streamlines may use values that these lack.
            Column::Value(name) if lines.value_names().contains(&name.as_str()) => {
                values.push(ValueCondition {
                    name: name.clone(),
                    low,
                    high,
                });
            }
            Column::Value(_) => {}
            column @ Column::Image(layer) => {
                let Some((volume, frame)) = state.column_image(*layer) else {
                    continue;
                };
                // Means of streamlines that stay in their file are computed while it is read.
                let is_in_place = state
                    .document
                    .layer(rules.layer)
                    .is_some_and(|l| in_place::stays(l));
                if limit.counting == PointStatistic::Mean && !is_in_place {
                    let values = state.values(lines.id(), column)?.clone();
                    given.push(StreamlineRange { values, low, high });
                    continue;
                }
                images.push(OnImage {
                    volume: volume.clone(),
                    frame,
                    counting: limit.counting,
                    low,
                    high,
                });
            }
        }
    }
    let regions = regions(state, rules);
    let regions = regions.into_iter().filter_map(|(how, region)| {
        let role = how.role()?;
        Some(Region {
            role,
            ..(*region).clone()
        })
    });
    let says = ["stop_start", "stop_end"];
    let says = says.iter().any(|n| lines.per_streamline.contains_key(*n));
    // Rules made for other streamlines may use a group that these lack.
    let group = rules.group.clone();
    Some(SelectionRules {
        group: group.filter(|name| lines.groups.contains_key(name)),
        regions: regions.collect(),
        by_ends: rules.by_ends,
        values,
        given,
        images,
        stop: rules.stop.filter(|_| says),
        invert: rules.invert,
        at_most: rules.at_most.map(|n| (n, rules.random_seed)),
    })
}

fn follow_selection(state: &mut State, effects: &mut Vec<Effect>) {
    let layers: Vec<LayerId> = filtered(state).map(|(rules, _)| rules.layer).collect();
    let selections = &mut state.runtime.streamlines.selections;
    selections.retain(|layer, _| layers.contains(layer));
    for layer in layers {
        follow_layer(state, layer, effects);
    }
}

/// Everything that the result of a layer's rules depends on.
pub(in crate::state::streamlines) fn requested_selection(
    state: &State,
    layer: LayerId,
) -> Option<SelectionKey> {
    let (rules, lines) = filtered(state).find(|(rules, _)| rules.layer == layer)?;
    Some(SelectionKey {
        tractogram: lines.id(),
        rules: rules.clone(),
        regions: regions(state, rules)
            .into_iter()
            .map(|(how, r)| (r.id, how, SameShape(r.shape.clone())))
            .collect(),
        images: image_columns(rules)
            .filter_map(|c| state.origin(c))
            .map(|source| ColumnKey {
                tractogram: lines.id(),
                source,
            })
            .collect(),
    })
}

fn follow_layer(state: &mut State, layer: LayerId, effects: &mut Vec<Effect>) {
    let Some(requested) = requested_selection(state, layer) else {
        return;
    };
    let live = state.runtime.streamlines.selections.get(&layer);
    let standing = live.and_then(|live| live.standing(Some(&requested)));
    let is_final = standing == Some(Standing::Final);
    let applied = filtered(state)
        .find(|(rules, _)| rules.layer == layer && !is_final)
        .and_then(|(rules, lines)| Some((lines.clone(), applied_rules(state, rules, lines)?)));
    // Values that the rules need are being computed.
    if applied.is_none() && !is_final {
        return;
    }
    let selections = &mut state.runtime.streamlines.selections;
    let live = selections.entry(layer).or_default();
    let order = live.follow(Some(&requested), state.history.is_open(), PACE);
    match (order, applied) {
        (Order::Start(key, detail), Some((tractogram, rules))) => {
            effects.push(Effect::submit(FilterStreamlines {
                layer,
                key,
                detail,
                tractogram,
                rules,
            }));
        }
        (Order::Cancel, _) => effects.push(Effect::Cancel(slot(layer))),
        (Order::Start(..) | Order::Nothing, _) => {}
    }
}

/// Receives the streamlines that a layer's rules keep.
pub(in crate::state::streamlines) fn receive_selection(
    state: &mut State,
    job: &FilterStreamlines,
    filtered: FilteredStreamlines,
) {
    let requested = requested_selection(state, job.layer);
    let Some(live) = state.runtime.streamlines.selections.get_mut(&job.layer) else {
        return;
    };
    let is_complete = filtered.every == 1;
    let selection = StreamlineSelection {
        kept: filtered.selection.kept_count(),
        marks: SameArc(filtered.selection.marks.into()),
        shown: filtered.shown,
        every: filtered.every,
    };
    let is_shown = live.done(job.key.clone(), job.detail, selection, requested.as_ref());
    if is_shown && is_complete {
        // So few streamlines were not thinned.
        live.rekey(|_| (job.key.clone(), Detail::Full));
    }
}

/// Streamlines whose values are requested.
#[derive(Clone)]
enum ValuesOf {
    Memory(Box<Tractogram>),
    File(Arc<InPlace>),
}

impl ValuesOf {
    fn id(&self) -> DataId {
        match self {
            Self::Memory(lines) => lines.id(),
            Self::File(file) => file.values_id(),
        }
    }
}

/// Requests values that the rules or the table need.
fn columns(state: &mut State, effects: &mut Vec<Effect>) {
    let mut needed: Vec<(ValuesOf, Column)> = Vec::new();
    for (rules, lines) in filtered(state) {
        let memory = || ValuesOf::Memory(Box::new(lines.clone()));
        needed.extend(image_columns(rules).map(|c| (memory(), c.clone())));
    }
    let is_table = state.view.bottom_panel == Some(BottomPanel::Table);
    let is_seen = is_table || state.document.streamlines.has_rules();
    if let Some((_, lines)) = state.current_in_place().filter(|_| is_table) {
        let source = || ValuesOf::File(lines.file.clone());
        let all = state.columns(&lines.names);
        needed.extend(all.into_iter().map(|c| (source(), c)));
    }
    if let Some((_, lines)) = state.current_streamlines().filter(|_| is_seen) {
        let all = state.columns(lines);
        let memory = || ValuesOf::Memory(Box::new(lines.clone()));
        needed.extend(all.into_iter().map(|c| (memory(), c)));
    }
    let mut missing: Vec<(ValuesOf, ColumnKey, Measure)> = Vec::new();
    for (lines, column) in needed {
        let Some(source) = state.origin(&column) else {
            continue;
        };
        let key = ColumnKey {
            tractogram: lines.id(),
            source,
        };
        let is_known = state
            .runtime
            .streamlines
            .values
            .iter()
            .any(|(k, _)| *k == key);
        // One tractogram at a time.
        let same = missing
            .first()
            .is_none_or(|(first, ..)| first.id() == lines.id());
        if is_known || !same || missing.iter().any(|(_, k, _)| *k == key) {
            continue;
        }
        let measure = match &column {
            Column::Value(name) => Measure::Value(name.clone()),
            Column::Image(layer) => match state.column_image(*layer) {
                Some((volume, frame)) => Measure::Image(volume.clone(), frame),
                None => continue,
            },
        };
        missing.push((lines, key, measure));
    }
    let Some((lines, ..)) = missing.first().cloned() else {
        // Values dropped with their streamlines are requested again when these return.
        state.runtime.streamlines.columns.ask(None);
        return;
    };
    let keys = missing.iter().map(|(_, key, _)| key.clone()).collect();
    if state.runtime.streamlines.columns.ask(Some(keys)).is_some() {
        let measures = missing.into_iter().map(|(.., measure)| measure).collect();
        effects.push(match lines {
            ValuesOf::Memory(tractogram) => Effect::submit(ComputeValues {
                tractogram: *tractogram,
                measures,
            }),
            ValuesOf::File(file) => in_place::values(&file, measures),
        });
    }
}

fn order(state: &mut State, effects: &mut Vec<Effect>) {
    let subject = state
        .current_table()
        .filter(|_| state.view.bottom_panel == Some(BottomPanel::Table));
    let Some(lines) = subject else {
        state.runtime.streamlines.order.ask(None);
        return;
    };
    let table = &state.view.table;
    let known = lines.names.value_names();
    let by = table.column.as_ref().filter(|column| match column {
        Column::Value(name) => known.contains(&name.as_str()),
        Column::Image(layer) => state.column_image(*layer).is_some(),
    });
    let values = by.map(|column| state.values(lines.id, column));
    // The values to sort by are being computed.
    if values == Some(None) {
        return;
    }
    let (count, values) = (lines.count, values.flatten().cloned());
    let marks = state.counted_marks(lines.layer.id);
    let requested = OrderKey {
        tractogram: lines.id,
        marks: marks.clone(),
        values: values.clone().map(crate::state::streamlines::SameArc),
        descending: table.descending,
    };
    if let Some(key) = state.runtime.streamlines.order.ask(Some(requested)) {
        effects.push(Effect::submit(SortRows {
            count,
            among: marks.map(|m| m.0),
            values: values.map(Shared::from),
            descending: key.descending,
        }));
    }
}

/// Extracts the selected streamlines for display.
fn extract(state: &mut State, effects: &mut Vec<Effect>) {
    let chosen = state.manual_selection().map(|c| (c.layer, c.marks.clone()));
    let requested = chosen.as_ref().map(|(_, marks)| marks.clone());
    if let (Some(marks), Some((layer, _))) =
        (state.runtime.streamlines.extract.ask(requested), chosen)
        && let Some(lines) = state.document.layer(layer).and_then(|l| streamlines_of(l))
    {
        let tractogram = lines.clone();
        effects.push(Effect::submit(ExtractStreamlines {
            tractogram,
            marks: marks.0,
        }));
    }
}

/// The columns of the profile.
pub(in crate::state) fn profile_columns(state: &State, lines: &Tractogram) -> Vec<Column> {
    let requested = &state.document.streamlines.profile.along;
    let can = |column: &&Column| match column {
        Column::Value(name) => lines.per_point.contains_key(name),
        Column::Image(layer) => state.column_image(*layer).is_some(),
    };
    let known: Vec<Column> = requested.iter().filter(can).cloned().collect();
    match known.is_empty() {
        true => state.default_profile_column(lines).into_iter().collect(),
        false => known,
    }
}

pub(in crate::state) fn profile_names(state: &State) -> Vec<String> {
    let columns = state
        .current_streamlines()
        .map(|(_, lines)| profile_columns(state, lines));
    let columns = columns.unwrap_or_default();
    columns.iter().map(|c| state.column_name(c)).collect()
}

fn profile(state: &mut State, effects: &mut Vec<Effect>) {
    let subject = state
        .current_streamlines()
        .filter(|_| state.view.bottom_panel == Some(BottomPanel::Profile));
    let Some((layer, lines)) = subject.filter(|(_, lines)| !lines.is_empty()) else {
        state.runtime.streamlines.profile.ask(None);
        return;
    };
    let columns = profile_columns(state, lines);
    let settings = &state.document.streamlines.profile;
    let start = settings
        .start
        .and_then(|id| state.document.region(id))
        .cloned();
    let marks = state.counted_marks(layer.id);
    let along = columns.iter().filter_map(|column| {
        Some(match column {
            Column::Value(name) => Along::Value(name.clone()),
            Column::Image(layer) => {
                let (volume, frame) = state.column_image(*layer)?;
                Along::Image(volume.clone(), frame)
            }
        })
    });
    let along: Vec<Along> = along.collect();
    let requested = ProfileKey {
        tractogram: lines.id(),
        marks: marks.clone(),
        values: columns.iter().filter_map(|c| state.origin(c)).collect(),
        params: settings.params,
        start: start.as_ref().map(|r| SameShape(r.shape.clone())),
    };
    let tractogram = lines.clone();
    if along.is_empty() {
        state.runtime.streamlines.profile.ask(None);
        return;
    }
    if let Some(key) = state.runtime.streamlines.profile.ask(Some(requested)) {
        effects.push(Effect::submit(ComputeProfile {
            among: CountedStreamlines {
                tractogram,
                marks: marks.map(|m| m.0),
            },
            along,
            start: start.map_or(Start::Axis, Start::Near),
            params: key.params,
        }));
    }
}

/// The value whose means the matrix shows, if these streamlines have it.
pub(super) fn matrix_value(state: &State, lines: &Tractogram) -> (Option<Column>, Option<Measure>) {
    let settings = &state.document.streamlines.connect;
    let value = settings.value.clone().filter(|column| match column {
        Column::Value(name) => lines.value_names().contains(&name.as_str()),
        Column::Image(_) => true,
    });
    let measure = value.as_ref().and_then(|column| match column {
        Column::Value(name) => Some(Measure::Value(name.clone())),
        Column::Image(layer) => {
            let (volume, frame) = state.column_image(*layer)?;
            Some(Measure::Image(volume.clone(), frame))
        }
    });
    (value, measure)
}

fn connect(state: &mut State, effects: &mut Vec<Effect>) {
    let subject = state
        .current_streamlines()
        .filter(|_| state.view.bottom_panel == Some(BottomPanel::Matrix));
    let labels = state.label_map().cloned();
    let (Some((layer, lines)), Some(labels)) = (subject, labels) else {
        state.runtime.streamlines.connect.ask(None);
        return;
    };
    let Some(volume) = labels.content.volume().cloned() else {
        return;
    };
    let settings = &state.document.streamlines.connect;
    let (value, measure) = matrix_value(state, lines);
    let marks = state.counted_marks(layer.id);
    let requested = ConnectKey {
        tractogram: lines.id(),
        marks: marks.clone(),
        labels: (labels.id, volume.id(), 0),
        params: settings.params,
        value: value.and_then(|c| state.origin(&c)),
    };
    let tractogram = lines.clone();
    if let Some(key) = state.runtime.streamlines.connect.ask(Some(requested)) {
        effects.push(Effect::submit(ComputeConnectome {
            among: CountedStreamlines {
                tractogram,
                marks: marks.map(|m| m.0),
            },
            labels: volume,
            frame: 0,
            params: key.params,
            value: measure,
        }));
    }
}

/// Scores against the chosen truth, while they are shown.
fn scores(state: &mut State, effects: &mut Vec<Effect>) {
    let subject = state
        .current_streamlines()
        .filter(|_| state.view.bottom_panel == Some(BottomPanel::Scores));
    let truth = state.document.streamlines.truth.clone();
    let (Some((layer, lines)), Some(truth)) = (subject, truth) else {
        state.runtime.streamlines.scores.ask(None);
        return;
    };
    let marks = state.counted_marks(layer.id);
    let requested = ScoreKey {
        tractogram: lines.id(),
        marks: marks.clone(),
        truth,
    };
    let tractogram = lines.clone();
    if let Some(key) = state.runtime.streamlines.scores.ask(Some(requested)) {
        effects.push(Effect::submit(ScoreStreamlines {
            among: CountedStreamlines {
                tractogram,
                marks: marks.map(|m| m.0),
            },
            truth: TruthSource::Folder(key.truth),
        }));
    }
}

/// Names of the requested labels.
pub(in crate::state) fn node_names(state: &State, connectome: &Connectome) -> Arc<[String]> {
    let requested = state
        .runtime
        .streamlines
        .connect
        .running()
        .map(|key| key.labels.0);
    let layer = requested.and_then(|id: LayerId| state.document.layer(id));
    match layer.and_then(|l| l.content.volume()) {
        Some(volume) => connectome.names(volume).into(),
        None => connectome.nodes.iter().map(i64::to_string).collect(),
    }
}
