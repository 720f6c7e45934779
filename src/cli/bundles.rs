//! `arcuate bundles`: divides streamlines into bundles, and measures them.

use super::inputs::{
    check_overlap, check_values, grid_coverage, must_be_csv, scalar_image, streamlines,
    value_coverage,
};
use super::options::{GivenParameters, ReadingOptions};
use super::output::{one_line, shown};
use super::runner::{Failure, Runner};
use super::typed::typed_command;
use crate::data::Tractogram;
use crate::data::text::{count, counted, file_stem};
use crate::io::Format;
use crate::jobs::ValueNames;
use crate::parameters;
use crate::solvers::bundles::{Clusters, GroupFigures, Params};
use crate::state::core::text::duration_text;
use crate::state::files::jobs::SaveTractogram;
use crate::state::streamlines::GroupTable;
use crate::state::streamlines::jobs::CountedStreamlines;
use crate::state::streamlines::jobs::bundles::{ClusterStreamlines, ComputeFigures, SaveFigures};
use crate::state::streamlines::jobs::table::Measure;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arcuate bundles tracks.tck --out clusters.trx --table clusters.csv
  arcuate bundles tracks.trx --threshold 5 --min-size 50 --out clusters/ --centroids centroids.tck
  arcuate bundles clusters.trx --groups --table bundles.csv --image fa.nii.gz

QuickBundles (Garyfallidis et al. 2012): each streamline joins the cluster whose centroid is nearest by the mean
distance of corresponding points, in the better of the two directions (MDF); if none is nearer than --threshold, it
begins a new one. Clusters are numbered by size. --groups takes the groups of the file instead. The table has a row for
each: streamlines, mean and standard deviation of their lengths in mm, the volume of the voxels that they pass (on the
grid of --image, else that of the file), and the mean of --image or --value.";

#[derive(clap::Args, Debug)]
#[command(
    after_help = EXAMPLES,
    // No label map is read.
    mut_arg("colours", |arg| arg.hide(true)),
)]
pub struct Options {
    /// Streamline file to read
    pub input: PathBuf,
    #[command(flatten)]
    pub params: GivenParameters<Params>,
    /// Measure the groups of the file (TRX) instead of clusters
    #[arg(long)]
    pub groups: bool,
    /// Streamlines with the bundles as groups (.trx), or a folder for one file each, in the format of the input
    #[arg(long, value_name = "FILE|FOLDER")]
    pub out: Option<PathBuf>,
    /// Write the centroids of the clusters as streamlines, with the value count
    #[arg(long, value_name = "FILE", conflicts_with = "groups")]
    pub centroids: Option<PathBuf>,
    /// Write a table with one row for each bundle (.csv)
    #[arg(long, value_name = "FILE")]
    pub table: Option<PathBuf>,
    /// Average this image along the streamlines of each bundle
    #[arg(long, value_name = "FILE", conflicts_with = "value")]
    pub image: Option<PathBuf>,
    /// Average this value of the streamlines, per streamline or per point
    #[arg(long, value_name = "NAME")]
    pub value: Option<String>,
    #[command(flatten)]
    pub reading: ReadingOptions,
}

/// Where bundles are written.
enum Output {
    File(PathBuf),
    /// A folder, and the ending of its files.
    Folder(PathBuf, &'static str),
}

impl Output {
    fn new(path: &Path, input: &Path) -> Result<Self, Failure> {
        let text = path.to_string_lossy();
        let is_folder = text.ends_with(['/', '\\']) || path.is_dir() || path.extension().is_none();
        if is_folder {
            let format = Format::named(input).filter(|format| format.saves());
            let ending = format.map_or("trx", |format| format.extensions()[0]);
            return Ok(Self::Folder(path.to_owned(), ending));
        }
        let extension = path.extension().unwrap_or_default();
        if extension.eq_ignore_ascii_case("trx") {
            return Ok(Self::File(path.to_owned()));
        }
        Err(Failure::usage(format!(
            "Groups cannot be written under this name, expected one that ends in .trx, or a folder for one file each: \
             {}",
            path.display()
        )))
    }

    fn check(&self, runner: &Runner) -> Result<(), Failure> {
        match self {
            Self::File(path) => runner.may_make(path),
            Self::Folder(path, _) => runner.may_fill(path, []),
        }
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let params = options.params.params()?;
    if options.groups && params != Params::defaults() {
        return Err(Failure::usage(
            "Found parameters of clusters and --groups, which takes the groups of the file; leave out one of them",
        ));
    }
    let output = options.out.as_deref();
    let output = output
        .map(|out| Output::new(out, &options.input))
        .transpose()?;
    if let Some(output) = &output {
        output.check(runner)?;
    }
    if let Some(path) = &options.centroids {
        super::track::must_be_streamlines(path)?;
        runner.may_make(path)?;
    }
    if let Some(path) = &options.table {
        must_be_csv(path)?;
        runner.may_make(path)?;
    }
    let lines = streamlines(&options.input, &options.reading, runner)?;
    let (mut grid, mut value) = (lines.grid.clone(), None);
    if let Some(path) = &options.image {
        let volume = scalar_image(path, &options.reading, runner)?;
        check_values(&value_coverage(&lines, &volume, runner), path)?;
        grid = Some(volume.grid.clone());
        value = Some((Measure::Image(volume, 0), file_stem(path)));
    } else if let Some(grid) = &grid {
        let place = (options.input.as_path(), "count for no volume");
        check_overlap(&grid_coverage(&lines, grid, runner), place)?;
    }
    if let Some(name) = &options.value {
        value = Some((Measure::Value(name.clone()), name.clone()));
    }
    let (grouped, clusters, cluster_ms) = match options.groups {
        true if lines.groups.is_empty() => {
            return Err(Failure::new(format!(
                "The file has no groups, expected a TRX file that has some; leave out --groups to cluster its \
                 streamlines: {}",
                options.input.display()
            )));
        }
        true => (lines.clone(), None, 0.0),
        false => {
            let job = ClusterStreamlines {
                tractogram: lines.clone(),
                params,
            };
            let (clusters, wall_ms) = runner.run(job)?;
            (clusters.grouped(&lines), Some(clusters), wall_ms)
        }
    };
    let among = CountedStreamlines {
        tractogram: grouped.clone(),
        marks: None,
    };
    let (table, figures_ms) = runner.run(ComputeFigures { among, value, grid })?;
    let mut files = Vec::new();
    if let Some(output) = &output {
        save(&grouped, output, &mut files, runner)?;
    }
    if let (Some(path), Some(clusters)) = (&options.centroids, &clusters) {
        save_streamlines(clusters.centroids(), path, runner)?;
        files.push(path.clone());
    }
    if let Some(path) = &options.table {
        let (path, table) = (path.clone(), table.clone());
        files.push(path.clone());
        runner.run(SaveFigures { path, table })?;
    }
    let mut report = report(&lines, &table, clusters.as_ref());
    if clusters.is_some() {
        report["parameters"] = parameters::json(&params);
    }
    report["cluster_ms"] = json!(cluster_ms);
    report["wall_ms"] = json!(cluster_ms + figures_ms);
    report["out"] = json!(options.out);
    report["centroids"] = json!(options.centroids);
    report["table"] = json!(options.table);
    let mut text = text(&lines, &table, clusters.as_ref());
    let _ = writeln!(text, "{}", duration_text(cluster_ms + figures_ms));
    list_files(&mut text, &files);
    runner.report(&report, &text);
    Ok(())
}

fn save_streamlines(
    tractogram: Tractogram,
    path: &Path,
    runner: &mut Runner,
) -> Result<(), Failure> {
    runner.run(SaveTractogram {
        tractogram,
        path: path.to_owned(),
        command: typed_command(),
        values: ValueNames::default(),
    })?;
    Ok(())
}

/// Saves the bundles; adds the names of the files.
fn save(
    grouped: &Tractogram,
    output: &Output,
    files: &mut Vec<PathBuf>,
    runner: &mut Runner,
) -> Result<(), Failure> {
    let (folder, ending) = match output {
        Output::File(path) => {
            files.push(path.clone());
            return save_streamlines(grouped.clone(), path, runner);
        }
        Output::Folder(folder, ending) => (folder, ending),
    };
    let names = file_names(grouped.groups.keys());
    let paths: Vec<PathBuf> = names
        .iter()
        .map(|name| folder.join(format!("{name}.{ending}")))
        .collect();
    runner.may_fill(folder, &paths)?;
    crate::io::atomic::make_folder(folder).map_err(|e| Failure::new(e.to_string()))?;
    for (members, path) in grouped.groups.values().zip(&paths) {
        let mut marks = vec![false; grouped.len()];
        members.iter().for_each(|line| marks[*line as usize] = true);
        let mut bundle = grouped.filtered(&marks);
        bundle.groups.clear();
        bundle.per_group.clear();
        save_streamlines(bundle, path, runner)?;
    }
    files.extend(paths);
    Ok(())
}

/// Names of files for groups: letters, digits, points and hyphens; others become underscores.
fn file_names<'a>(groups: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let name = |group: &String| {
        let plain = |c: char| {
            if c.is_alphanumeric() || "-.".contains(c) {
                c
            } else {
                '_'
            }
        };
        let stem: String = group.chars().map(plain).collect();
        let stem = match stem.trim_start_matches('.') {
            "" => "bundle".to_owned(),
            stem => stem.to_owned(),
        };
        let numbered = (2..).map(|n| format!("{stem}_{n}"));
        let mut names = std::iter::once(stem.clone()).chain(numbered);
        // File systems may ignore the case of letters.
        let free = names.find(|name| taken.insert(name.to_lowercase()));
        free.unwrap_or(stem)
    };
    groups.map(name).collect()
}

fn report(lines: &Tractogram, table: &GroupTable, clusters: Option<&Clusters>) -> Value {
    let finite = |v: f64| Some(v).filter(|v| v.is_finite());
    let bundle = |(i, (name, figures)): (usize, &(String, GroupFigures))| {
        let mut bundle = json!({
            "name": name, "streamlines": figures.count, "length_mm": finite(figures.length_mm),
            "length_sd_mm": finite(figures.length_sd_mm), "volume_mm3": figures.volume_mm3,
            "mean": figures.value.and_then(finite),
        });
        if let Some(cluster) = clusters.and_then(|c| c.clusters.get(i)) {
            bundle["centroid"] = json!(cluster.centroid);
        }
        bundle
    };
    let bundles: Vec<Value> = table.groups.iter().enumerate().map(bundle).collect();
    let mut report = json!({
        "command": "bundles", "streamlines": lines.len(), "bundles": bundles, "value": table.value,
    });
    if let Some(clusters) = clusters {
        report["dropped"] = json!(clusters.dropped);
        report["in_dropped"] = json!(clusters.in_dropped);
        report["without_length"] = json!(clusters.without_length);
    }
    report
}

/// Bundles that the text lists.
const LISTED: usize = 12;

fn text(lines: &Tractogram, table: &GroupTable, clusters: Option<&Clusters>) -> String {
    let groups = &table.groups;
    let noun = if clusters.is_some() {
        "cluster"
    } else {
        "group"
    };
    let mut text = format!(
        "{} in {}\n",
        counted(lines.len(), "streamline"),
        counted(groups.len(), noun)
    );
    if let Some(clusters) = clusters.filter(|c| c.dropped > 0) {
        let _ = writeln!(
            text,
            "  {} in {} that are smaller",
            counted(clusters.in_dropped, "streamline"),
            counted(clusters.dropped, "cluster")
        );
    }
    if let Some(clusters) = clusters.filter(|c| c.without_length > 0) {
        let _ = writeln!(
            text,
            "  {} without a length",
            counted(clusters.without_length, "streamline")
        );
    }
    let listed = &groups[..groups.len().min(LISTED)];
    let names: Vec<String> = listed.iter().map(|(name, _)| one_line(name)).collect();
    let widths = names.iter().map(|name| name.chars().count());
    let width = widths.max().unwrap_or(0).max("Bundle".len());
    let value = table.value.as_deref().map(one_line);
    let head = value.as_ref().map(|name| format!(" {name:>10}"));
    let _ = writeln!(
        text,
        "\n{:width$} {:>11} {:>10} {:>8} {:>12}{}",
        "Bundle",
        "streamlines",
        "length, mm",
        "sd, mm",
        "volume, mm3",
        head.unwrap_or_default()
    );
    let number = |v: f64, decimals: usize| match v.is_finite() {
        true => format!("{v:.decimals$}"),
        false => "-".to_owned(),
    };
    for (name, (_, figures)) in names.iter().zip(listed) {
        let volume = figures.volume_mm3.map_or("-".to_owned(), |v| number(v, 0));
        let value = figures.value.map(|v| format!(" {:>10}", number(v, 4)));
        let _ = writeln!(
            text,
            "{name:width$} {:>11} {:>10} {:>8} {volume:>12}{}",
            count(figures.count as u64),
            number(figures.length_mm, 1),
            number(figures.length_sd_mm, 1),
            value.unwrap_or_default()
        );
    }
    let more = groups.len() - listed.len();
    if more > 0 {
        let _ = writeln!(text, "and {more} more, which --table and --json list");
    }
    text
}

/// The files that were written: all of a few, else their number.
fn list_files(text: &mut String, files: &[PathBuf]) {
    for path in files.iter().take(LISTED) {
        let _ = writeln!(text, "{}", shown(path));
    }
    let more = files.len().saturating_sub(LISTED);
    if more > 0 {
        let _ = writeln!(text, "and {}", counted(more, "other file"));
    }
}
