//! The report of a group: a row for each participant, failures first, and the measures with their outliers.

use super::WORK;
use super::measures::{LEAST_VALUES, MeasureName, OUTLYING_Z, Outlier, Summary, UnitResult};
use super::units::counted_units;
use crate::io::html::{Cell, CellPicture, Column, Page, Row};
use crate::io::{self, DISCLAIMER};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Measures that have a column of their own in the table of participants, which fits a screen of 1280 pixels.
const MAX_COLUMNS: usize = 3;
/// Rows of the table of measures.
const MAX_MEASURES: usize = 2000;

/// A number for people: at least four significant digits, since diffusivities in mm²/s are small.
fn number(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "–".to_owned(),
        x if x >= 1e5 || x.fract() == 0.0 => format!("{value:.0}"),
        x if x >= 100.0 => format!("{value:.1}"),
        x if x >= 1.0 => format!("{value:.3}"),
        x if x >= 1e-5 => {
            let decimals = 3.0 - x.log10().floor();
            format!("{value:.*}", decimals as usize)
        }
        _ => format!("{value:.3e}"),
    }
}

/// Why no value can be an outlier, if none was compared.
pub fn not_compared(summaries: &BTreeMap<MeasureName, Summary>) -> Option<String> {
    if summaries.values().any(Summary::is_compared) {
        return None;
    }
    let most = summaries.values().map(|summary| summary.values.len()).max();
    let most = most.unwrap_or(0);
    Some(match most < LEAST_VALUES {
        true => format!(
            "the largest number of values of a measure is {most}, and a comparison needs at least {LEAST_VALUES}"
        ),
        false => "most values of each measure are equal".to_owned(),
    })
}

/// The page of a group.
pub fn page(
    title: &str,
    (units, output): (&[UnitResult], &Path),
    summaries: &BTreeMap<MeasureName, Summary>,
    outliers: &[Outlier],
) -> Page {
    let mut page = Page::new(match title {
        "" => "Report of a group",
        title => title,
    });
    let failed = units.iter().filter(|unit| !unit.done).count();
    page.note(&format!(
        "Written by Arcuate {}. {DISCLAIMER}.",
        env!("CARGO_PKG_VERSION")
    ));
    let missing = not_compared(summaries);
    page.paragraph(&format!(
        "{}: {} done, {failed} failed. {}",
        counted_units(units.iter().map(UnitResult::names)),
        units.len() - failed,
        match &missing {
            Some(why) => format!("Values are not compared: {why}."),
            None => format!(
                "Values whose robust z exceeds {OUTLYING_Z} are outliers: {}.",
                outliers.len()
            ),
        }
    ));
    let versions: BTreeSet<&str> = units
        .iter()
        .flat_map(|u| u.versions.iter().map(String::as_str))
        .collect();
    if versions.len() > 1 {
        let versions: Vec<&str> = versions.into_iter().collect();
        page.paragraph(&format!(
            "The results come from several versions of Arcuate ({}): run the participants again with one of them.",
            versions.join(", ")
        ));
    }
    failures(&mut page, units);
    participants(&mut page, (units, output), summaries, outliers);
    outlier_table(&mut page, units, (outliers, missing.as_deref()));
    measure_table(&mut page, summaries);
    page
}

/// The reasons, which are sentences and need more room than a column of the table.
fn failures(page: &mut Page, units: &[UnitResult]) {
    let failed = units.iter().filter(|unit| !unit.done);
    let reasons: Vec<String> = failed
        .map(|unit| match &unit.sentence {
            Some(sentence) => format!("{}: {sentence}", unit.name()),
            None => format!("{}: no reason was recorded", unit.name()),
        })
        .collect();
    if !reasons.is_empty() {
        page.heading(2, "Failures");
        page.list(&reasons);
    }
}

/// The pictures of a participant, or the reason why there are none.
fn pictures(unit: &UnitResult, output: &Path) -> Cell {
    let pictures = unit.pictures.iter().filter_map(|picture| {
        let view = picture.small.file_stem()?.to_string_lossy();
        let view = view.trim_end_matches("_small");
        let large = picture.large.as_ref().filter(|path| path.is_file());
        let link = large.and_then(|path| path.strip_prefix(output).ok());
        Some(CellPicture {
            png: io::disk::read(&picture.small).ok()?,
            description: format!("{}, {view}", unit.name()),
            link: link.map(|path| path.to_string_lossy().into_owned()),
        })
    });
    let pictures: Vec<_> = pictures.collect();
    match (pictures.is_empty(), &unit.no_pictures) {
        (true, Some(why)) => Cell::text(why),
        (true, None) if !unit.pictures.is_empty() => Cell::text(&format!(
            "The files of the small pictures are missing in the folder {WORK}; run this participant again, which draws them \
             and computes nothing else"
        )),
        _ => Cell::pictures(pictures),
    }
}

fn participants(
    page: &mut Page,
    (units, output): (&[UnitResult], &Path),
    summaries: &BTreeMap<MeasureName, Summary>,
    outliers: &[Outlier],
) {
    page.heading(2, "Participants");
    page.note("Press a heading to sort; the arrow keys, Home and End move between rows.");
    if units.iter().any(|unit| !unit.pictures.is_empty()) {
        page.note(&format!(
            "Pictures: axial and coronal slices, with the patient's right on the left (radiological), and the bundles in \
             3-D. Press one to open it in full size, with letters and a scale bar, from the folder {WORK} beside this page."
        ));
    }
    let is_compared = not_compared(summaries).is_none();
    // Numbers of streamlines first, since they show what went wrong at a glance.
    let without_nodes = summaries.keys().filter(|(_, _, node)| node.is_none());
    let mut shown: Vec<&MeasureName> = without_nodes.collect();
    shown.sort_by_key(|(_, measure, _)| !matches!(measure.as_str(), "kept" | "streamlines"));
    shown.truncate(MAX_COLUMNS);
    let mut columns = ["Participant", "Session", "State"]
        .map(Column::text)
        .to_vec();
    columns.extend([
        Column::text("Pictures"),
        Column::number("Outliers"),
        Column::number("Largest |z|"),
    ]);
    columns.extend(
        shown
            .iter()
            .map(|(bundle, measure, _)| Column::number(&format!("{bundle}, {measure}"))),
    );
    columns.push(Column::number("Time, s"));
    let row = |(i, unit): (usize, &UnitResult)| {
        let own = || outliers.iter().filter(|outlier| outlier.unit == i);
        let largest = own()
            .map(|outlier| outlier.robust_z.abs())
            .fold(f64::NAN, f64::max);
        let count = own().count();
        let mut cells = vec![
            Cell::text(&unit.participant),
            Cell::text(unit.session.as_deref().unwrap_or("–")),
            Cell::text(if unit.done { "done" } else { "failed" }),
            pictures(unit, output),
            match is_compared {
                true => Cell::number(count as f64, &count.to_string()),
                false => Cell::number(f64::NAN, "–"),
            },
            Cell::number(largest, &number(largest)),
        ];
        for name in &shown {
            let values = summaries
                .get(*name)
                .map(|summary| summary.values.as_slice());
            let value = values.into_iter().flatten().find(|(unit, _)| *unit == i);
            let value = value.map_or(f64::NAN, |(_, value)| *value);
            cells.push(Cell::number(value, &number(value)));
        }
        cells.push(Cell::number(unit.wall_s, &format!("{:.1}", unit.wall_s)));
        Row {
            cells,
            failed: !unit.done,
        }
    };
    let mut rows: Vec<Row> = units.iter().enumerate().map(row).collect();
    rows.sort_by_key(|row| !row.failed);
    page.sortable_table(
        "Failures first, then in the order of their names",
        &columns,
        &rows,
    );
}

/// `missing`: why no value was compared.
fn outlier_table(
    page: &mut Page,
    units: &[UnitResult],
    (outliers, missing): (&[Outlier], Option<&str>),
) {
    page.heading(2, "Outliers");
    if let Some(why) = missing {
        return page.note(&format!("Values are not compared: {why}."));
    }
    if outliers.is_empty() {
        return page.note(&format!(
            "No value lies far from those of the others. Measures with fewer than {LEAST_VALUES} values are not compared."
        ));
    }
    let columns = [
        Column::text("Participant"),
        Column::text("Bundle"),
        Column::text("Measure"),
        Column::text("Node"),
        Column::number("Value"),
        Column::number("Median"),
        Column::number("Robust z"),
    ];
    let rows = outliers.iter().take(MAX_MEASURES).map(|outlier| Row {
        cells: vec![
            Cell::text(&units[outlier.unit].name()),
            Cell::text(&outlier.bundle),
            Cell::text(&outlier.measure),
            Cell::text(outlier.node.as_deref().unwrap_or("–")),
            Cell::number(outlier.value, &number(outlier.value)),
            Cell::number(outlier.median, &number(outlier.median)),
            Cell::number(outlier.robust_z, &format!("{:.1}", outlier.robust_z)),
        ],
        failed: false,
    });
    let rows: Vec<Row> = rows.collect();
    let caption = "Robust z: difference from the median divided by 1.4826 times the median absolute deviation";
    page.sortable_table(caption, &columns, &rows);
}

fn measure_table(page: &mut Page, summaries: &BTreeMap<MeasureName, Summary>) {
    page.heading(2, "Measures");
    let columns = [
        Column::text("Bundle"),
        Column::text("Measure"),
        Column::number("Participants"),
        Column::number("Median"),
        Column::number("Robust SD"),
        Column::number("Smallest"),
        Column::number("Largest"),
    ];
    let without_nodes = summaries.iter().filter(|((_, _, node), _)| node.is_none());
    let rows = without_nodes
        .take(MAX_MEASURES)
        .map(|((bundle, measure, _), summary)| {
            let values = || summary.values.iter().map(|(_, value)| *value);
            let (least, most) = (
                values().fold(f64::NAN, f64::min),
                values().fold(f64::NAN, f64::max),
            );
            let mut cells = vec![Cell::text(bundle), Cell::text(measure)];
            let n = summary.values.len();
            cells.push(Cell::number(n as f64, &n.to_string()));
            let figures = [summary.median, summary.spread, least, most];
            cells.extend(figures.map(|value| Cell::number(value, &number(value))));
            Row {
                cells,
                failed: false,
            }
        });
    let rows: Vec<Row> = rows.collect();
    page.sortable_table(
        "Values without a node; group_measures.tsv has those along bundles",
        &columns,
        &rows,
    );
}
