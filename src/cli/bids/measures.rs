//! The figures that the steps of participants left: numbers of the reports of commands, rows of their tables, matrices.

use super::super::cohort::steps::read_provenance;
use super::super::cohort::subject::read_status;
use super::publish::cells;
use crate::io;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Members of reports that describe the run, not the head.
const NO_MEASURES: [&str; 9] = [
    "wall_ms",
    "threads",
    "seed",
    "random_seed",
    "radius_mm",
    "order",
    "iterations",
    "epsilon",
    "spacing_mm",
];
/// Endings of further such members.
const NO_ENDINGS: [&str; 2] = ["_ms", "_s"];

/// A value of a bundle, or of a node along it.
pub struct Measurement {
    pub bundle: String,
    pub measure: String,
    pub node: Option<String>,
    pub value: f64,
}

/// The matrix of a step.
pub struct Matrix {
    pub step: String,
    /// The row, the column and the value of each cell.
    pub cells: Vec<(String, String, f64)>,
}

/// A picture of a participant: PNG files.
pub struct UnitPicture {
    pub small: PathBuf,
    /// This view with letters and a scale bar.
    pub large: Option<PathBuf>,
}

/// Everything that is known about a participant or a session of one.
pub struct UnitResult {
    pub participant: String,
    pub session: Option<String>,
    pub done: bool,
    /// Why it failed.
    pub sentence: Option<String>,
    pub measurements: Vec<Measurement>,
    pub matrices: Vec<Matrix>,
    pub pictures: Vec<UnitPicture>,
    pub no_pictures: Option<String>,
    pub steps: usize,
    /// Time of the steps, when they were computed.
    pub wall_s: f64,
    pub versions: Vec<String>,
}

impl UnitResult {
    /// `sub-01 ses-1`.
    pub fn name(&self) -> String {
        match &self.session {
            Some(session) => format!("{} {session}", self.participant),
            None => self.participant.clone(),
        }
    }

    /// The participant and its session.
    pub fn names(&self) -> (&str, Option<&str>) {
        (&self.participant, self.session.as_deref())
    }
}

/// Reads what a participant left in its folder; `None` if no run has ended there.
pub fn read(folder: &Path) -> Option<UnitResult> {
    let status = read_status(folder)?;
    let name = folder.file_name()?.to_string_lossy().into_owned();
    let (participant, session) = match name.split_once("_ses-") {
        Some((participant, session)) => (participant.to_owned(), Some(format!("ses-{session}"))),
        None => (name, None),
    };
    let names = |key: &str| {
        let all = status["session"][key].as_array().into_iter().flatten();
        let all = all.filter_map(Value::as_str);
        all.map(|file| folder.join(file)).collect::<Vec<_>>()
    };
    let (large, small) = (names("pictures"), names("thumbnails"));
    let mut found = UnitResult {
        participant,
        session,
        done: status["state"] == "done",
        sentence: status["sentence"].as_str().map(str::to_owned),
        measurements: Vec::new(),
        matrices: Vec::new(),
        no_pictures: no_pictures(&status, &large, &small),
        pictures: pictures(large, small),
        steps: 0,
        wall_s: 0.0,
        versions: Vec::new(),
    };
    for step in status["steps"].as_array().into_iter().flatten() {
        let step = step["name"].as_str().unwrap_or_default();
        if let Some(provenance) = read_provenance(&folder.join(step)) {
            found.add(step, &folder.join(step), &provenance);
        }
    }
    Some(found)
}

/// Why there are no pictures in the report, if it is known.
fn no_pictures(status: &Value, large: &[PathBuf], small: &[PathBuf]) -> Option<String> {
    let stated = status["session"]["no_pictures"].as_str();
    let is_earlier = small.is_empty() && !large.is_empty();
    let earlier = is_earlier.then_some(
        "An earlier version of Arcuate drew no small pictures; run this participant again, which draws them and computes \
         nothing else",
    );
    stated.or(earlier).map(str::to_owned)
}

/// The pictures of a session.
fn pictures(large: Vec<PathBuf>, small: Vec<PathBuf>) -> Vec<UnitPicture> {
    let pairs = small.into_iter().zip(large);
    let pairs = pairs.map(|(small, large)| UnitPicture {
        small,
        large: Some(large),
    });
    pairs.collect()
}

fn is_measure(key: &str) -> bool {
    !NO_MEASURES.contains(&key) && !NO_ENDINGS.iter().any(|ending| key.ends_with(ending))
}

impl UnitResult {
    fn add(&mut self, step: &str, folder: &Path, provenance: &Value) {
        self.steps += 1;
        self.wall_s += provenance["wall_s"].as_f64().unwrap_or_default();
        let version = provenance["program"]["version"]
            .as_str()
            .unwrap_or_default();
        if !self.versions.iter().any(|known| known == version) {
            self.versions.push(version.to_owned());
        }
        let report = provenance["report"].as_object();
        for (key, value) in report.into_iter().flatten() {
            if let Some(value) = value.as_f64().filter(|_| is_measure(key)) {
                self.measurements.push(Measurement {
                    bundle: step.to_owned(),
                    measure: key.clone(),
                    node: None,
                    value,
                });
            }
        }
        let command = provenance["report"]["command"].as_str().unwrap_or_default();
        for output in provenance["outputs"].as_array().into_iter().flatten() {
            let file = output["file"].as_str().unwrap_or_default();
            // A table of streamlines has a row for each of them, which no group needs.
            if !file.ends_with(".csv") || command == "table" {
                continue;
            }
            let Ok(text) = io::text(&folder.join(file)) else {
                continue;
            };
            let mut rows = text.lines().map(cells);
            let heading = rows.next().unwrap_or_default();
            match command {
                "connectome" if heading.first().is_some_and(|first| first == "label") => {
                    self.matrices.push(matrix(step, &heading, rows));
                }
                "connectome" => {}
                _ => self.add_rows(step, (&heading, command), rows),
            }
        }
    }

    /// Rows of bundles or nodes.
    fn add_rows(
        &mut self,
        step: &str,
        (heading, command): (&[String], &str),
        rows: impl Iterator<Item = Vec<String>>,
    ) {
        // Statistics of a region have a row for each volume of an image, and the second column is its number.
        let rows: Vec<Vec<String>> = rows.collect();
        let of_volumes = command == "region" && heading.get(1).is_some_and(|name| name == "volume");
        let has_several = |first: &str| {
            let same = rows
                .iter()
                .filter(|row| row.first().is_some_and(|name| name == first));
            of_volumes && same.count() > 1
        };
        let of_nodes = heading.first().is_some_and(|first| first == "node");
        for row in &rows {
            let Some(first) = row.first() else {
                continue;
            };
            let (bundle, node) = match (of_nodes, row.get(1)) {
                (true, _) => (step.to_owned(), Some(first.clone())),
                (false, Some(volume)) if has_several(first) => {
                    (format!("{step}: {first}, volume {volume}"), None)
                }
                (false, _) => (format!("{step}: {first}"), None),
            };
            let skipped = if of_volumes { 2 } else { 1 };
            for (name, cell) in heading.iter().zip(row).skip(skipped) {
                let position = matches!(name.as_str(), "share" | "x_mm" | "y_mm" | "z_mm");
                let value = cell.parse::<f64>().ok().filter(|value| value.is_finite());
                if let Some(value) = value.filter(|_| !position) {
                    self.measurements.push(Measurement {
                        bundle: bundle.clone(),
                        measure: name.clone(),
                        node: node.clone(),
                        value,
                    });
                }
            }
        }
    }
}

fn matrix(step: &str, heading: &[String], rows: impl Iterator<Item = Vec<String>>) -> Matrix {
    let mut all = Vec::new();
    for row in rows {
        let Some((name, values)) = row.split_first() else {
            continue;
        };
        for (column, cell) in heading.iter().skip(1).zip(values) {
            if let Ok(value) = cell.parse() {
                all.push((name.clone(), column.clone(), value));
            }
        }
    }
    Matrix {
        step: step.to_owned(),
        cells: all,
    }
}

/// A value far from those of the others.
pub struct Outlier {
    /// Index of the participant.
    pub unit: usize,
    pub bundle: String,
    pub measure: String,
    pub node: Option<String>,
    pub value: f64,
    pub median: f64,
    /// (value − median) / (1.4826 · MAD).
    pub robust_z: f64,
}

/// The robust z above which a value counts as an outlier (Iglewicz and Hoaglin 1993).
pub const OUTLYING_Z: f64 = 3.5;
/// Fewer values have no spread to compare with.
pub const LEAST_VALUES: usize = 5;
/// The standard deviation of a normal distribution in terms of its median absolute deviation.
const SD_OF_MAD: f64 = 1.4826;

/// The middle of these values; reorders them.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.get(middle), values.len().is_multiple_of(2)) {
        (Some(upper), true) => f64::midpoint(values[middle - 1], *upper),
        (Some(value), false) => *value,
        (None, _) => f64::NAN,
    }
}

/// A measure of all participants.
pub struct Summary {
    pub values: Vec<(usize, f64)>,
    pub median: f64,
    /// The robust standard deviation; 0 if most values are equal.
    pub spread: f64,
}

/// Name of a measure: bundle, measure and node.
pub type MeasureName = (String, String, Option<String>);

/// All measures, with the values of the participants that have them.
pub fn summaries(units: &[UnitResult]) -> BTreeMap<MeasureName, Summary> {
    let mut all: BTreeMap<MeasureName, Vec<(usize, f64)>> = BTreeMap::new();
    for (i, unit) in units.iter().enumerate() {
        for m in &unit.measurements {
            let name = (m.bundle.clone(), m.measure.clone(), m.node.clone());
            all.entry(name).or_default().push((i, m.value));
        }
    }
    let summary = |values: Vec<(usize, f64)>| {
        let mut plain: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        let middle = median(&mut plain);
        let mut distances: Vec<f64> = plain.iter().map(|value| (value - middle).abs()).collect();
        Summary {
            values,
            median: middle,
            spread: SD_OF_MAD * median(&mut distances),
        }
    };
    all.into_iter()
        .map(|(name, values)| (name, summary(values)))
        .collect()
}

impl Summary {
    /// Whether outliers are looked for among its values.
    pub fn is_compared(&self) -> bool {
        self.values.len() >= LEAST_VALUES && self.spread > 0.0
    }
}

/// The values that lie far from those of the others.
pub fn outliers(summaries: &BTreeMap<MeasureName, Summary>) -> Vec<Outlier> {
    let mut all = Vec::new();
    for ((bundle, measure, node), summary) in summaries {
        if !summary.is_compared() {
            continue;
        }
        for (unit, value) in &summary.values {
            let robust_z = (value - summary.median) / summary.spread;
            if robust_z.abs() > OUTLYING_Z {
                all.push(Outlier {
                    unit: *unit,
                    bundle: bundle.clone(),
                    measure: measure.clone(),
                    node: node.clone(),
                    value: *value,
                    median: summary.median,
                    robust_z,
                });
            }
        }
    }
    all.sort_by(|a, b| b.robust_z.abs().total_cmp(&a.robust_z.abs()));
    all
}
