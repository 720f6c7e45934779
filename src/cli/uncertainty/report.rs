//! Texts and JSON of the repetitions of a pathway; those of streamlines have some of their parts.

use crate::data::statistics::wilson_interval;
use crate::data::text::{counted, number};
use crate::solvers::pathway::{Distances, MIN_FOR_RANGES, NEAR_MM, Range90};
use crate::state::core::text::{
    distance_text, duration_text, interval_text, percentiles_text, plain_ml,
};
use crate::state::pathways::jobs::{RepeatedPathway, equal_paths_text};
use crate::state::pathways::{Level, NOISE_ONLY};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// Median and percentiles; with few repetitions, percentiles are those of single ones, and `null`.
pub fn range(repetitions: usize, range: Option<Range90>) -> Value {
    let has_percentiles = Range90::has_percentiles(repetitions);
    json!(range.map(|range| json!({
        "low": has_percentiles.then_some(range.low),
        "median": range.median,
        "high": has_percentiles.then_some(range.high),
    })))
}

/// Warns of repetitions that are too few for percentiles; `option` sets their number.
pub fn warn_of_few(repetitions: usize, option: &str) {
    if !Range90::has_percentiles(repetitions) {
        warning!(
            "Found {}, expected at least {MIN_FOR_RANGES} for percentiles and distances; raise {option}",
            counted(repetitions, "repetition")
        );
    }
}

/// Warns of a file of distances that this run does not write.
pub fn warn_of_earlier(distances: &Path) {
    if distances.exists() {
        warning!(
            "Found the distances of an earlier run, which do not belong to these repetitions; name the mask with \
             --distance-to, or delete the file: {}",
            distances.display()
        );
    }
}

/// The voxels in at least a share of the repetitions, for each share.
pub fn shares(levels: &[Level]) -> Value {
    let shares = levels.iter().map(|level| {
        json!({
            "share": level.share,
            "volume_ml": level.volume_ml,
            "nearest_mm": level.from_mask.map(|mask| mask.nearest_mm),
            "overlap_ml": level.from_mask.map(|mask| mask.shared_ml),
        })
    });
    json!(shares.collect::<Vec<_>>())
}

/// Distances along the shown path or centre line, with percentiles if there are enough repetitions.
pub fn along(distances: Option<&Distances>, repetitions: usize) -> Value {
    let has_percentiles = Range90::has_percentiles(repetitions);
    json!(distances.map(|distances| {
        let ranges = || distances.along.iter().map(|(_, range)| range);
        let percentiles = |end: fn(&Range90) -> f64| {
            has_percentiles.then(|| ranges().map(end).collect::<Vec<_>>())
        };
        json!({
            "mm": distances.along.iter().map(|(mm, _)| mm).collect::<Vec<_>>(),
            "low": percentiles(|range| range.low),
            "median": ranges().map(|range| range.median).collect::<Vec<_>>(),
            "high": percentiles(|range| range.high),
        })
    }))
}

/// One line for each share.
pub fn levels_text(levels: &[Level]) -> String {
    let mut text = String::new();
    for level in levels {
        let _ = write!(
            text,
            "In at least {:.0} % of the repetitions: {}",
            100.0 * level.share,
            plain_ml(level.volume_ml, 2)
        );
        let _ = match level.from_mask {
            Some(mask) if mask.shared_ml > 0.0 => {
                write!(text, ", {} of it in the mask", plain_ml(mask.shared_ml, 2))
            }
            Some(mask) if mask.nearest_mm <= 0.0 => write!(text, ", touching the mask"),
            Some(mask) => write!(text, ", {} from the mask", distance_text(mask.nearest_mm)),
            None => Ok(()),
        };
        text.push('\n');
    }
    text
}

/// The least distance of the shown path or centre line, which `name` denotes, and that of the repetitions.
pub fn distances_text(distances: &Distances, name: &str, repetitions: usize) -> String {
    let mut text = match distances.shown {
        shown if shown <= 0.0 => format!("{name} enters the mask"),
        shown => format!("{name} comes within {} of the mask", distance_text(shown)),
    };
    if let Some(range) = distances.nearest {
        let distance = |mm: f64| match mm <= 0.0 {
            true => "0 mm".to_owned(),
            false => distance_text(mm),
        };
        let median = distance(range.median);
        let _ = write!(text, "; median over the repetitions {median}");
        text += &percentiles_text(range, repetitions, distance);
    }
    text + "\n"
}

pub fn report(repeated: &RepeatedPathway) -> Value {
    let repetitions = &repeated.repetitions;
    let all = repetitions.paths.len();
    let distances = repeated.measured.along.as_deref();
    json!({
        "command": "uncertainty",
        "repetitions": all,
        "without_path": repetitions.without_path(),
        "different_paths": repetitions.different_paths(),
        "not_joined": repetitions.not_joined,
        "epsilon": repetitions.epsilon,
        "least": repetitions.measured,
        "least_repeated": range(all, repetitions.costs()),
        "least_band": repetitions.band(),
        "paths_near": repeated.near,
        "paths_near_interval": near_interval(repeated),
        "near_within_mm": NEAR_MM,
        "shares": shares(&repeated.measured.levels),
        "nearest_mm": distances.map(|distances| distances.shown),
        "nearest_repeated_mm": range(all, distances.and_then(|distances| distances.nearest)),
        "along_path": along(distances, all),
        "wall_ms": repeated.wall_ms,
        "note": NOISE_ONLY,
    })
}

/// The interval of the share of repetitions whose path stays near, with a confidence of 95 %.
fn near_interval(repeated: &RepeatedPathway) -> [f64; 2] {
    wilson_interval(repeated.near, repeated.repetitions.paths.len())
}

pub fn text(repeated: &RepeatedPathway) -> String {
    let repetitions = &repeated.repetitions;
    let all = repetitions.paths.len();
    let mut text = format!("Least cost {:.3}", repetitions.measured);
    if let Some(range) = repetitions.costs() {
        let _ = write!(text, "; median over the repetitions {:.3}", range.median);
        text += &percentiles_text(range, all, |cost| format!("{cost:.3}"));
    }
    if let Some([low, high]) = repetitions.band() {
        let _ = write!(text, "\nWithout noise, {low:.3} to {high:.3} (90 % band)");
    }
    let interval = interval_text(near_interval(repeated));
    let _ = writeln!(
        text,
        "\nThe path stays within {} mm in {} of {} (95 % confidence interval: {interval}); they took {}",
        number(NEAR_MM),
        repeated.near,
        counted(all, "repetition"),
        duration_text(repeated.wall_ms)
    );
    text += &levels_text(&repeated.measured.levels);
    if let Some(distances) = &repeated.measured.along {
        text += &distances_text(distances, "The path", all);
    }
    if let Some(equal) = equal_paths_text(repetitions) {
        text += &(equal + "\n");
    }
    let _ = match repetitions.without_path() {
        0 => Ok(()),
        some => writeln!(text, "No path in {some} of {}", counted(all, "repetition")),
    };
    let _ = match repetitions.not_joined {
        0 => Ok(()),
        some => writeln!(
            text,
            "In {some} of {}, the pathway is not joined at ε = {}: all its voxels count",
            counted(all, "repetition"),
            number(repetitions.epsilon)
        ),
    };
    text + NOISE_ONLY + "\n"
}
