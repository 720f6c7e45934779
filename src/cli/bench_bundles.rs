//! `arcuate bench bundles`: speed of clustering 100,000 streamlines (8 million points) with QuickBundles.
//!
//! Files in `ARCUATE_BENCH_FILES` are used instead. `tests/peers/bundles.py` compares with DIPY on the same streamlines.

use super::bench::Choice;
use super::bench_io::{arcs, files, streamlines};
use super::runner::Failure;
use crate::compute::{Backend, Control};
use crate::data::Tractogram;
use crate::data::text::file_name;
use crate::solvers::bundles::{Params, cluster};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Instant;

/// Names of the cases, and thresholds in mm.
const CASES: [(&str, f64); 2] = [("clusters, 10 mm", 10.0), ("clusters, 5 mm", 5.0)];

pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let (count, repeats) = if choice.quick {
        (10_000, 3)
    } else {
        (100_000, 5)
    };
    let mut cases = CASES
        .iter()
        .filter(|(name, _)| choice.takes(name))
        .peekable();
    if cases.peek().is_none() {
        return Vec::new();
    }
    let subjects: Result<Vec<(String, Tractogram)>, Failure> = match files() {
        None => Ok(vec![(String::new(), arcs(count, 40))]),
        Some(paths) => paths.map_err(Failure::from).and_then(|paths| {
            let named =
                |path: &PathBuf| Ok((format!(" in {}", file_name(path)), streamlines(path)?));
            paths.iter().map(named).collect()
        }),
    };
    let subjects = match subjects {
        Ok(subjects) => subjects,
        Err(failure) => return vec![json!({"workload": "bundles", "error": failure.sentence})],
    };
    let measured = cases.flat_map(|(name, threshold_mm)| {
        let params = Params {
            threshold_mm: *threshold_mm,
            ..Params::defaults()
        };
        let of_subject = move |(suffix, lines): &(String, Tractogram)| {
            measure(&format!("{name}{suffix}"), lines, &params, repeats, backend)
        };
        subjects.iter().map(of_subject).collect::<Vec<Value>>()
    });
    measured.collect()
}

fn measure(
    name: &str,
    lines: &Tractogram,
    params: &Params,
    repeats: usize,
    backend: &Backend,
) -> Value {
    let (mut seconds, mut clusters) = (Vec::new(), 0);
    for _ in 0..repeats {
        let started = Instant::now();
        match cluster(lines, None, params, backend, &Control::new()) {
            Ok(found) => clusters = found.clusters.len() + found.dropped,
            Err(e) => return json!({"workload": "bundles", "case": name, "error": e.to_string()}),
        }
        seconds.push(started.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    json!({
        "workload": "bundles", "case": name, "streamlines": lines.len(), "points": lines.points.len(),
        "clusters": clusters, "wall_s": median, "fastest_s": seconds[0],
        "rate": lines.len() as f64 / median.max(1e-9), "unit": "streamlines_per_s", "backend": "cpu",
        "threads": backend.threads(),
    })
}
