//! The group level: tables over all participants, and a report.

use super::super::cohort::LoadedProtocol;
use super::super::output::shown;
use super::measures::{Outlier, UnitResult, outliers, read, summaries};
use super::units::{UnitCount, counted_units};
use super::{Failure, Options, Runner, WORK, failed, page};
use crate::data::text::counted;
use crate::io;
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

const MEASURES: &str = "group_measures.tsv";
const MATRICES: &str = "group_matrices.tsv";
const OUTLIERS: &str = "group_outliers.tsv";
const REPORT: &str = "group_report.html";

/// A text in a cell.
fn cell(text: &str) -> String {
    match text.is_empty() {
        true => "n/a".to_owned(),
        false => text.replace(['\t', '\n', '\r'], " "),
    }
}

fn subject(unit: &UnitResult) -> String {
    let session = unit.session.as_deref().unwrap_or("n/a");
    format!("{}\t{session}", unit.participant)
}

fn measures(units: &[UnitResult]) -> String {
    let mut text = "subject\tsession\tbundle\tmeasure\tnode\tvalue\n".to_owned();
    for unit in units {
        let subject = subject(unit);
        for m in &unit.measurements {
            let node = m.node.as_deref().unwrap_or("n/a");
            let (bundle, measure) = (cell(&m.bundle), cell(&m.measure));
            // Writing to a string does not fail.
            let _ = writeln!(text, "{subject}\t{bundle}\t{measure}\t{node}\t{}", m.value);
        }
    }
    text
}

fn matrices(units: &[UnitResult]) -> String {
    let mut text = "subject\tsession\tmatrix\trow\tcolumn\tvalue\n".to_owned();
    for unit in units {
        let subject = subject(unit);
        for matrix in &unit.matrices {
            for (row, column, value) in &matrix.cells {
                let (row, column) = (cell(row), cell(column));
                let _ = writeln!(text, "{subject}\t{}\t{row}\t{column}\t{value}", matrix.step);
            }
        }
    }
    text
}

fn outlier_table(units: &[UnitResult], all: &[Outlier]) -> String {
    let mut text = "subject\tsession\tbundle\tmeasure\tnode\tvalue\tmedian\trobust_z\n".to_owned();
    for outlier in all {
        let Outlier {
            bundle,
            measure,
            node,
            value,
            median,
            robust_z,
            ..
        } = outlier;
        let (bundle, measure) = (cell(bundle), cell(measure));
        let node = node.as_deref().unwrap_or("n/a");
        let subject = subject(&units[outlier.unit]);
        let _ = writeln!(
            text,
            "{subject}\t{bundle}\t{measure}\t{node}\t{value}\t{median}\t{robust_z:.3}"
        );
    }
    text
}

pub fn run(
    options: &Options,
    output: &Path,
    loaded: Option<&LoadedProtocol>,
    runner: &Runner,
) -> Result<(), Failure> {
    let work = output.join(WORK);
    let is_chosen = |folder: &Path| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let (participant, session) = name.split_once('_').unwrap_or((&name, ""));
        let has = |labels: &[String], label: &str, prefix: &str| {
            let own = label.strip_prefix(prefix);
            labels.is_empty() || labels.iter().any(|l| label == l || own == Some(l))
        };
        has(&options.participant_label, participant, "sub-")
            && has(&options.session_label, session, "ses-")
    };
    let folders = io::names_in(&work).unwrap_or_default().into_iter();
    let folders = folders.filter(|path| path.is_dir() && is_chosen(path));
    let units: Vec<UnitResult> = folders.filter_map(|folder| read(&folder)).collect();
    if units.is_empty() {
        return Err(Failure::new(format!(
            "Found no results of participants, expected at least one; run arcuate bids with participant first: {}",
            work.display()
        )));
    }
    io::atomic::keep_what_exists(false);
    let summaries = summaries(&units);
    let far = outliers(&summaries);
    let write =
        |name: &str, text: &str| io::atomic::write_text(&output.join(name), text).map_err(failed);
    write(MEASURES, &measures(&units))?;
    write(OUTLIERS, &outlier_table(&units, &far))?;
    let has_matrices = units.iter().any(|unit| !unit.matrices.is_empty());
    if has_matrices {
        write(MATRICES, &matrices(&units))?;
    }
    let title = loaded.map_or("", |loaded| loaded.protocol.title.as_str());
    let page = page::page(title, (&units, output), &summaries, &far);
    page.save(&output.join(REPORT)).map_err(failed)?;
    let lost: Vec<String> = units
        .iter()
        .filter(|unit| !unit.done)
        .map(UnitResult::name)
        .collect();
    let measurements: usize = units.iter().map(|unit| unit.measurements.len()).sum();
    let count = UnitCount::new(units.iter().map(UnitResult::names));
    let report = json!({
        "command": "bids", "level": "group", "folder": output, "participants": count.participants,
        "sessions": count.sessions, "failed": lost, "measurements": measurements,
        "compared": summaries.values().filter(|s| s.is_compared()).count(),
        "outliers": far.len(), "report": output.join(REPORT),
        "tables": [output.join(MEASURES), output.join(OUTLIERS)],
        "matrices": has_matrices.then(|| output.join(MATRICES)),
    });
    let outliers = match page::not_compared(&summaries) {
        Some(why) => format!("values not compared ({why})"),
        None => counted(far.len(), "outlier"),
    };
    let text = format!(
        "{}, {} failed, {}, {outliers}: {}",
        counted_units(units.iter().map(UnitResult::names)),
        lost.len(),
        counted(measurements, "value"),
        shown(&output.join(REPORT))
    );
    runner.report(&report, &text);
    Ok(())
}
