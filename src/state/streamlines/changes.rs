//! Streamlines of a layer: rules, profile, connections, rulers.

use crate::data::text::file_name;
use crate::solvers::tractogram::selection::PointStatistic;
use crate::state::core::fields::Fields;
use crate::state::filter::weight;
use crate::state::streamlines::{Column, StreamlineSettings};
use crate::state::{Document, LayerId};
use std::collections::BTreeSet;

pub fn changed(before: &Document, after: &Document) -> Vec<String> {
    let (was, now) = (&before.streamlines, &after.streamlines);
    let mut all = Vec::new();
    for layer in changed_layers(was, now) {
        all.extend(limits(before, after, layer));
        all.extend(rules(before, after, layer).differences(&rules(after, before, layer)));
    }
    all.extend(tables(before, was).differences(&tables(after, now)));
    if was.measurements != now.measurements && was.measurements.len() == now.measurements.len() {
        let pairs = was.measurements.iter().zip(&now.measurements);
        let lengths = pairs.filter(|(was, now)| was != now);
        for (was, now) in lengths {
            let fields = |points: &[glam::DVec3]| {
                let mut fields = Fields::default();
                if let [a, b] = points {
                    fields.number("Ruler", a.distance(*b), 1, "mm");
                }
                fields
            };
            all.extend(fields(&was.points).differences(&fields(&now.points)));
        }
    }
    all
}

/// Layers whose rules differ.
fn changed_layers(was: &StreamlineSettings, now: &StreamlineSettings) -> BTreeSet<LayerId> {
    let layers = was.rules().chain(now.rules()).map(|rules| rules.layer);
    let differs = |layer: &LayerId| was.rules_of(*layer) != now.rules_of(*layer);
    layers.filter(differs).collect()
}

/// The rules of a layer; `other`: the document compared with, whose columns and regions have rows, too.
fn rules(document: &Document, other: &Document, layer: LayerId) -> Fields {
    let mut fields = Fields::default();
    let streamline_rules = document.streamlines.rules_of(layer);
    let by_weight = [document, other].map(|d| d.filter.by_weight_of(layer).is_some());
    let by_weight = by_weight.contains(&true);
    // The task Filter switches them on and off with the cut, which is already named.
    if !by_weight {
        fields.check("Filter", streamline_rules.is_some());
    }
    let Some(streamline_rules) = streamline_rules else {
        return fields;
    };
    for region in &document.regions {
        let how = streamline_rules.region_rule(region.id, region.role);
        fields.name(&region.name, how.label());
    }
    let meets = [(false, "Anywhere"), (true, "At an end")];
    fields.choice("Meets", &streamline_rules.by_ends, &meets);
    fields.name("Group", streamline_rules.group.as_deref().unwrap_or("all"));
    let stop = streamline_rules
        .stop
        .map_or("Any reason", |reason| reason.label());
    fields.name("Stop reason", stop);
    let max_count = streamline_rules.at_most.map(|n| n as f64);
    fields.number_or("At most", max_count, (0, ""), "no limit");
    let passes = [(false, "Matching"), (true, "Not matching")];
    fields.choice("Show", &streamline_rules.invert, &passes);
    let counting = |counting: PointStatistic| match counting {
        PointStatistic::Mean => "Mean",
        PointStatistic::Any => "Any",
        PointStatistic::All => "All",
    };
    for limit in &streamline_rules.limits {
        let label = format!("{} counts by", document.column_name(&limit.column));
        fields.name(&label, counting(limit.counting));
    }
    fields
}

/// `Length all → ≥ 30 mm`: each value with limits in one of the two.
fn limits(before: &Document, after: &Document, layer: LayerId) -> Vec<String> {
    let rules_of = |document: &Document| document.streamlines.rules_of(layer).cloned();
    let both = [rules_of(before), rules_of(after)];
    let by_weight = [before, after].map(|d| d.filter.by_weight_of(layer).is_some());
    let columns = both.iter().flatten().flat_map(|s| &s.limits);
    let mut columns: Vec<&Column> = columns.map(|limit| &limit.column).collect();
    columns.dedup();
    let mut all = Vec::new();
    for column in columns {
        // The cut of the task Filter is already named.
        if by_weight.contains(&true) && *column == weight() {
            continue;
        }
        let fields = |side: usize| {
            let limit = both[side].as_ref().and_then(|s| s.limit(column));
            let ends = limit.map_or((None, None), |l| (l.low, l.high));
            let unit = if *column == Column::length() {
                "mm"
            } else {
                ""
            };
            let mut fields = Fields::default();
            let document = [before, after][side];
            fields.name(&document.column_name(column), range(ends, unit));
            fields
        };
        all.extend(fields(0).differences(&fields(1)));
    }
    all.dedup();
    all
}

/// Limits as typed: an open end lets everything pass.
fn range((low, high): (Option<f32>, Option<f32>), unit: &str) -> String {
    let text = |v: f32| crate::state::core::text::significant(f64::from(v));
    let numbers = match (low, high) {
        (None, None) => return "all".to_owned(),
        (Some(low), None) => format!("≥\u{202F}{}", text(low)),
        (None, Some(high)) => format!("≤\u{202F}{}", text(high)),
        (Some(low), Some(high)) => format!("{}–{}", text(low), text(high)),
    };
    crate::state::core::text::with_unit(&numbers, unit)
}

/// Columns of the table, profile and matrix.
fn tables(document: &Document, settings: &StreamlineSettings) -> Fields {
    let mut fields = Fields::default();
    let names = |columns: &[Column]| {
        let names: Vec<String> = columns.iter().map(|c| document.column_name(c)).collect();
        match names.is_empty() {
            true => "none".to_owned(),
            false => names.join(", "),
        }
    };
    let images: Vec<Column> = settings
        .images
        .iter()
        .map(|id| Column::Image(*id))
        .collect();
    fields.name("Means of", names(&images));
    let profile = &settings.profile;
    fields.name("Values", names(&profile.along));
    fields.rows(&profile.params, &[]);
    let start = profile.start.and_then(|id| document.region(id));
    fields.name(
        "Starts at",
        start.map_or("Left, posterior, inferior", |r| &r.name),
    );
    if let Some(folder) = &settings.truth {
        let name = folder.file_name().unwrap_or_default();
        fields.name("Truth", &*name.to_string_lossy());
    }
    let connect = &settings.connect;
    let labels = connect.labels.and_then(|id| document.layer(id));
    fields.name("Label map", labels.map_or("topmost", |l| &l.name));
    fields.rows(&connect.params, &[]);
    fields.rows(&settings.bundles.clusters, &[]);
    fields.rows(&settings.bundles.recognition, &[]);
    let recipe = settings.bundles.recipe.as_deref().map(file_name);
    fields.name("Recipe", recipe.as_deref().unwrap_or("FreeSurfer"));
    fields
}
