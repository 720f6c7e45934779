//! Sessions store the parameters of a solver by serde. Each row of its table is found there under its own key.

use arcuate::parameters::{Kind, Param, Parameters, Value};
use arcuate::solvers::tractogram::ProfileParams;
use arcuate::solvers::{
    alignment, bundles, commit, connectivity, csd, curves, density, geodesic, level_set, lifted,
    metric, odf_tracking, pathway, peaks, region, response, tensor_fit,
};
use serde_json::json;
use std::collections::BTreeMap;

/// Ends of members that state the stored unit.
const UNITS: [&str; 5] = ["_mm", "_um", "_rad", "_s_per_mm2", "_mm2_per_s"];

/// Texts; each row of its own notation accepts one of them that is not its default.
const TEXTS: [&str; 10] = [
    "grid:0.75",
    "7",
    "0.2,0.6",
    "sphere:64",
    "power:2",
    "all",
    "100..2000",
    "0.001",
    "0.5,2",
    "1,-2,3.5",
];

/// Rows that are stored under another name: the table, the key, and why.
const OTHERWISE: &[(&str, &str, &str)] = &[
    (
        "curves",
        "one-way",
        "the member both_ways states the opposite",
    ),
    (
        "odf_tracking",
        "one-way",
        "the member both_ways states the opposite",
    ),
    (
        "odf_tracking",
        "no-back-track",
        "the member back_track states the opposite",
    ),
    (
        "rays",
        "no-loop-guard",
        "the member loop_guard states the opposite",
    ),
    ("alignment", "near", "the member wide states the opposite"),
    (
        "profile",
        "reverse",
        "one of the senses that a profile may have",
    ),
    ("metric", "metric", "the object around it has this name"),
    ("level_set", "paper", "one of the modes"),
    (
        "commit",
        "keep-b0",
        "the member merge_b0 states the opposite",
    ),
    (
        "commit",
        "raw-signal",
        "the member normalise_signal states the opposite",
    ),
    (
        "commit",
        "raw-kernels",
        "the member normalise_kernels states the opposite",
    ),
    (
        "commit",
        "tolerance",
        "it sets the two criteria of the stop",
    ),
];

type Members = BTreeMap<String, Vec<serde_json::Value>>;

/// The values of a JSON value by the names of the members that lead to them, separated by dots; lists are one member.
fn members(value: &serde_json::Value, path: &str, found: &mut Members) {
    match value {
        serde_json::Value::Object(inner) => {
            for (name, value) in inner {
                members(value, &format!("{path}.{name}"), found);
            }
        }
        serde_json::Value::Array(items) => {
            for item in items {
                members(item, path, found);
            }
        }
        leaf => found.entry(path.to_owned()).or_default().push(leaf.clone()),
    }
}

fn members_of(value: &serde_json::Value) -> Members {
    let mut found = Members::new();
    members(value, "", &mut found);
    found
}

/// Values of a row that may differ from its present one.
fn others<P: Parameters>(row: &Param<P>) -> Vec<Value> {
    match &row.kind {
        Kind::Number(number) => {
            let (low, high) = number.soft;
            let shown = [low, (0.5 * (low + high)).round(), high];
            let permitted = shown.into_iter().filter(|v| number.hard.contains(*v));
            let values = permitted.map(|v| Value::Number(number.unit.stored(v)));
            values.collect()
        }
        Kind::OneOf(choices) => (0..choices.len()).map(Value::Choice).collect(),
        Kind::Switch(_) => [true, false].map(Value::Switch).to_vec(),
        Kind::Text(_) => TEXTS
            .iter()
            .filter_map(|text| row.parse(text).ok())
            .collect(),
    }
}

/// The defaults, and the defaults with each choice: a choice decides where other values are stored.
fn bases<P: Parameters>() -> Vec<P> {
    let mut bases = vec![P::defaults()];
    for row in P::TABLE {
        if let Kind::OneOf(choices) = &row.kind {
            for choice in *choices {
                let mut base = P::defaults();
                (choice.choose)(&mut base);
                bases.push(base);
            }
        }
    }
    bases
}

/// Whether a change of the row changes a member of this name, in the form of `stored`.
fn has_own_name<P: Parameters>(row: &Param<P>, stored: &impl Fn(&P) -> serde_json::Value) -> bool {
    let member = row.member();
    let is_own = |name: &str| {
        let unit = name.strip_prefix(&*member);
        unit.is_some_and(|unit| unit.is_empty() || UNITS.contains(&unit))
    };
    bases::<P>().iter().any(|base| {
        let before = members_of(&stored(base));
        others(row).iter().any(|value| {
            let mut changed = base.clone();
            row.set(&mut changed, value);
            let after = members_of(&stored(&changed));
            let paths = before.keys().chain(after.keys());
            let mut differing = paths.filter(|path| before.get(*path) != after.get(*path));
            differing.any(|path| path.split('.').any(is_own))
        })
    })
}

fn table<P: Parameters>(name: &str, stored: impl Fn(&P) -> serde_json::Value) {
    for row in P::TABLE {
        let otherwise = OTHERWISE
            .iter()
            .find(|(t, key, _)| (*t, *key) == (name, row.key));
        match (has_own_name(row, &stored), otherwise) {
            (true, None) | (false, Some(_)) => {}
            (true, Some(_)) => panic!("{name} --{}: stored under its key", row.key),
            (false, None) => panic!(
                "{name} --{}: no member of this name: {}",
                row.key,
                stored(&P::defaults())
            ),
        }
    }
    let known = |key: &str| P::TABLE.iter().any(|row| row.key == key);
    for (_, key, why) in OTHERWISE.iter().filter(|(table, ..)| *table == name) {
        assert!(known(key) && !why.is_empty(), "{name} --{key}");
    }
}

pub fn names() {
    table("tensor_fit", |p: &tensor_fit::Params| json!(p));
    table("curves", |p: &curves::Params| json!(p));
    table("odf_tracking", |p: &odf_tracking::Params| json!(p));
    table(
        "rays",
        |p: &geodesic::Rays| json!({"params": p.params, "metric": p.metric, "cut": p.cut}),
    );
    table("metric", |p: &metric::Params| json!(p));
    table("pathway", |p: &pathway::Params| json!(p));
    table("lifted", |p: &lifted::Params| json!(p));
    table("repetitions", |p: &pathway::RepetitionParams| json!(p));
    table("level_set", |p: &level_set::Params| json!(p));
    table("target", |p: &level_set::TargetParts| {
        let params = level_set::Params {
            target: p.target,
            tolerance: p.tolerance,
            ..level_set::Params::defaults()
        };
        json!(params)
    });
    table("commit", |p: &commit::Params| json!(p));
    table("csd", |p: &csd::Params| json!(p));
    table("peaks", |p: &peaks::Params| json!(p));
    table("response", |p: &response::Params| json!(p));
    table("alignment", |p: &alignment::Params| json!(p));
    table("density", |p: &density::Params| json!(p));
    table("connectivity", |p: &connectivity::Params| json!(p));
    table("profile", |p: &ProfileParams| json!(p));
    table("bundles", |p: &bundles::Params| json!(p));
    table("recognition", |p: &bundles::RecognitionParams| json!(p));
    table("region", |p: &region::Change| json!(p));
}
