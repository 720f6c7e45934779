//! `arcuate score`: compares streamlines with bundles whose course is known.

use super::inputs::{check_overlap, grid_coverage, must_be_csv, streamlines};
use super::options::ReadingOptions;
use super::output::{one_line, remark, shown};
use super::runner::{Failure, Runner};
use crate::data::text::{count, counted};
use crate::io;
use crate::io::truth::{BundleFiles, TruthFiles};
use crate::solvers::score::{BundleScore, Scores};
use crate::state::core::text::duration_text;
use crate::state::streamlines::jobs::CountedStreamlines;
use crate::state::streamlines::jobs::csv::SaveScores;
use crate::state::streamlines::jobs::score::{ScoreStreamlines, TruthSource};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arcuate phantom --crossing --out crossing
  arcuate score tracks.tck --truth crossing
  arcuate score tracks.trk --truth crossing --out scores.csv --json

The scores are the Tractometer's. A valid connection ends in both end regions of a bundle and never leaves the bundle's
corridor; an invalid one connects two regions otherwise; all other streamlines have no connection. A bundle is valid if
it has a valid connection, and a pair of regions that no bundle connects is an invalid bundle if a streamline connects
it. Overlap, overreach and F1 compare the voxels of the valid connections with those of the true fibres; their means are
over all bundles of the truth. The folder's truth.json names the files; the guide's page “score” describes it.";

#[derive(clap::Args, Debug)]
#[command(
    after_help = EXAMPLES,
    // The end regions have their names in truth.json.
    mut_arg("colours", |arg| arg.hide(true)),
)]
pub struct Options {
    /// Streamline file to score
    pub input: PathBuf,
    /// Folder with truth.json and the files that it names, such as one of arcuate phantom --crossing
    #[arg(long, value_name = "FOLDER")]
    pub truth: PathBuf,
    /// Also write a table with one row for each bundle (.csv)
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingOptions,
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    if let Some(path) = &options.out {
        must_be_csv(path)?;
        runner.may_make(path)?;
    }
    let files = io::truth::read(&options.truth)?;
    let tractogram = streamlines(&options.input, &options.reading, runner)?;
    if tractogram.is_empty() {
        return Err(Failure::new(format!(
            "Found no streamlines in the file, expected at least one; track some first: {}",
            options.input.display()
        )));
    }
    let among = CountedStreamlines {
        tractogram: tractogram.clone(),
        marks: None,
    };
    let (scored, wall_ms) = runner.run(ScoreStreamlines {
        among,
        truth: TruthSource::Files(files.clone()),
    })?;
    for (path, note) in &scored.remarks {
        remark(note, path.display());
    }
    check_overlap(
        &grid_coverage(&tractogram, &scored.grid, runner),
        (&files.ends, "belong to no region there"),
    )?;
    let scores = scored.scores;
    if scores.not_finite > 0 {
        warning!(
            "{} with a point that is not finite, so they count as no connection; check the program that wrote the \
             file: {}",
            counted(scores.not_finite, "streamline"),
            options.input.display()
        );
    }
    if let Some(path) = &options.out {
        runner.run(SaveScores {
            path: path.clone(),
            scores: scores.clone(),
        })?;
    }
    let mut value = report(&scores, &files);
    value["truth"] = json!(options.truth);
    value["file"] = json!(options.out);
    value["wall_ms"] = json!(wall_ms);
    let mut text = table(&scores, &files);
    let _ = writeln!(text, "{}", duration_text(wall_ms));
    if let Some(path) = &options.out {
        let _ = writeln!(text, "{}", shown(path));
    }
    runner.report(&value, &text);
    Ok(())
}

/// The end of a bundle that has this label.
fn region_name(files: &TruthFiles, label: u32) -> String {
    let find =
        |is_end: fn(&BundleFiles, u32) -> bool| files.bundles.iter().find(|b| is_end(b, label));
    let name = |bundle: &BundleFiles, which| format!("{} ({which})", one_line(&bundle.name));
    let start = find(|b, label| b.start == label).map(|b| name(b, "start"));
    let end = || find(|b, label| b.end == label).map(|b| name(b, "end"));
    start.or_else(end).unwrap_or_else(|| label.to_string())
}

fn share(some: usize, all: usize) -> f64 {
    some as f64 / all as f64
}

fn report(scores: &Scores, files: &TruthFiles) -> Value {
    let all = scores.connections.len();
    let bundles: Vec<Value> = scores.bundles.iter().map(bundle_report).collect();
    let invalid = scores.invalid_bundles.iter().map(|([a, b], streamlines)| {
        json!({
            "regions": [a, b], "names": [region_name(files, *a), region_name(files, *b)],
            "streamlines": streamlines,
        })
    });
    json!({
        "command": "score", "streamlines": all, "bundles": scores.bundles.len(),
        "valid_bundles": scores.valid_bundles(), "invalid_bundles": scores.invalid_bundles.len(),
        "valid_connections": scores.valid(), "invalid_connections": scores.invalid(),
        "wrong_paths": scores.wrong_paths(), "no_connections": scores.unconnected(),
        "valid_share": share(scores.valid(), all), "invalid_share": share(scores.invalid(), all),
        "unconnected_share": share(scores.unconnected(), all), "not_finite": scores.not_finite,
        "overlap": scores.mean(BundleScore::overlap), "overreach": scores.mean(BundleScore::overreach),
        "f1": scores.mean(BundleScore::f1), "per_bundle": bundles,
        "per_invalid_bundle": invalid.collect::<Vec<_>>(),
    })
}

fn bundle_report(bundle: &BundleScore) -> Value {
    json!({
        "name": bundle.name, "valid_connections": bundle.valid, "wrong_paths": bundle.wrong_paths,
        "true_voxels": bundle.true_voxels, "shared_voxels": bundle.shared_voxels,
        "excess_voxels": bundle.excess_voxels, "overlap": bundle.overlap(),
        "overreach": bundle.overreach(), "f1": bundle.f1(),
    })
}

/// Invalid bundles that the text lists.
const LISTED: usize = 5;

fn table(scores: &Scores, files: &TruthFiles) -> String {
    let all = scores.connections.len();
    let width = scores
        .bundles
        .iter()
        .map(|b| one_line(&b.name).chars().count());
    let width = width.max().unwrap_or_default().max("Bundle".len());
    let mut text = format!(
        "{:width$} {:>8} {:>8} {:>8} {:>8} {:>6}\n",
        "Bundle", "valid", "wrong", "OL %", "OR %", "F1 %"
    );
    // Writing to a string does not fail.
    let mut row = |name: &str, counts: [usize; 2], volumes: [f64; 3]| {
        let [valid, invalid] = counts.map(|n| count(n as u64));
        let [overlap, overreach, f1] = volumes.map(|v| format!("{:.1}", 100.0 * v));
        let _ = writeln!(
            text,
            "{name:width$} {valid:>8} {invalid:>8} {overlap:>8} {overreach:>8} {f1:>6}"
        );
    };
    for b in &scores.bundles {
        let volumes = [b.overlap(), b.overreach(), b.f1()];
        row(&one_line(&b.name), [b.valid, b.wrong_paths], volumes);
    }
    let means = [
        scores.mean(BundleScore::overlap),
        scores.mean(BundleScore::overreach),
        scores.mean(BundleScore::f1),
    ];
    row("All", [scores.valid(), scores.wrong_paths()], means);
    let percent = |some: usize| format!("{:.1} %", 100.0 * share(some, all));
    let _ = writeln!(
        text,
        "\n{}: {} valid (VC), {} invalid (IC), {} without connection (NC)\n\
         {} of {} valid (VB), {} (IB)",
        counted(all, "streamline"),
        percent(scores.valid()),
        percent(scores.invalid()),
        percent(scores.unconnected()),
        scores.valid_bundles(),
        counted(scores.bundles.len(), "bundle"),
        counted(scores.invalid_bundles.len(), "invalid bundle"),
    );
    for ([a, b], streamlines) in scores.invalid_bundles.iter().take(LISTED) {
        let (a, b) = (region_name(files, *a), region_name(files, *b));
        let _ = writeln!(text, "  {a} – {b}: {}", counted(*streamlines, "streamline"));
    }
    let more = scores.invalid_bundles.len().saturating_sub(LISTED);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more, which --json lists");
    }
    text
}
