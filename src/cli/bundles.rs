//! `arcuate bundles`: divides streamlines into bundles, and measures them.

use super::inputs::{
    check_overlap, check_values, grid_coverage, must_be_csv, scalar_image, streamlines,
    value_coverage,
};
use super::options::{GivenParameters, ReadingOptions};
use super::output::{one_line, shown};
use super::runner::{Failure, Runner};
use super::typed::typed_command;
use crate::data::bundle_recipe::BundleRecipe;
use crate::data::text::{count, counted, file_stem};
use crate::data::{Tractogram, Volume};
use crate::io::Format;
use crate::io::bundle_recipe::FREESURFER;
use crate::jobs::ValueNames;
use crate::parameters;
use crate::solvers::bundles::{Clusters, GroupStatistics, Params, Recognised, RecognitionParams};
use crate::state::core::text::duration_text;
use crate::state::files::jobs::SaveTractogram;
use crate::state::streamlines::GroupTable;
use crate::state::streamlines::jobs::CountedStreamlines;
use crate::state::streamlines::jobs::bundles::{
    ClusterStreamlines, ComputeGroupStatistics, RecogniseBundles, SaveGroupStatistics,
};
use crate::state::streamlines::jobs::table::Measure;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arcuate bundles tracks.tck --out clusters.trx --table clusters.csv
  arcuate bundles tracks.trx --threshold 5 --min-size 50 --out clusters/ --centroids centroids.tck
  arcuate bundles tracks.tck --labels aparc+aseg.mgz --out bundles/ --table bundles.csv --image fa.nii.gz
  arcuate bundles clusters.trx --groups --table bundles.csv --image fa.nii.gz

QuickBundles (Garyfallidis et al. 2012): each streamline joins the cluster whose centroid is nearest by the mean
distance of corresponding points, in the better of the two directions (MDF); if none is nearer than --threshold, it
begins a new one. Clusters are numbered by size. --groups takes the groups of the file instead.

--labels recognises bundles by the labels that streamlines pass, avoid and end in. A recipe has a table [[bundle]] for
each, with name, through (at least one label of each list), avoid (none of them), ends (one list: an end in it; two: one
end in each), length_mm and citation; the built-in one has twelve bundles by FreeSurfer's aparc+aseg.

The table has a row for each: streamlines, mean and standard deviation of their lengths in mm, the volume of the voxels
that they pass (on the grid of --image, else of --labels, else of the file), and the mean of --image or --value.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Streamline file to read
    pub input: PathBuf,
    #[command(flatten)]
    pub params: GivenParameters<Params>,
    /// Recognise the bundles of --recipe by the labels of this map, instead of clusters
    #[arg(long, value_name = "FILE", conflicts_with = "groups")]
    pub labels: Option<PathBuf>,
    /// Recipe of bundles (.toml), or freesurfer: twelve bundles by the labels of aparc+aseg [default: freesurfer]
    #[arg(long, value_name = "FILE|freesurfer", requires = "labels")]
    pub recipe: Option<PathBuf>,
    #[command(flatten)]
    pub recognition: GivenParameters<RecognitionParams>,
    /// Measure the groups of the file (TRX) instead of clusters
    #[arg(long)]
    pub groups: bool,
    /// Streamlines with the bundles as groups (.trx), or a folder for one file each, in the format of the input
    #[arg(long, value_name = "FILE|FOLDER")]
    pub out: Option<PathBuf>,
    /// Write the centroids of the clusters as streamlines, each with the number of its streamlines (count)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["groups", "labels"])]
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
    let recognition = options.recognition.params()?;
    if options.labels.is_none() && recognition != RecognitionParams::defaults() {
        return Err(Failure::usage(
            "Found --radius without --labels, to which it belongs; add --labels, or leave it out",
        ));
    }
    if options.labels.is_some() && params != Params::defaults() {
        return Err(Failure::usage(
            "Found parameters of clusters and --labels, which recognises bundles instead; leave out one of them",
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
    let labels = match &options.labels {
        Some(path) => {
            let volume = scalar_image(path, &options.reading, runner)?;
            let place = (path.as_path(), "meet no label there");
            check_overlap(&grid_coverage(&lines, &volume.grid, runner), place)?;
            Some(volume)
        }
        None => None,
    };
    let own = lines.grid.clone();
    let mut grid = labels.as_ref().map(|volume| volume.grid.clone()).or(own);
    let mut value = None;
    if let Some(path) = &options.image {
        let volume = scalar_image(path, &options.reading, runner)?;
        check_values(&value_coverage(&lines, &volume, runner), path)?;
        grid = Some(volume.grid.clone());
        value = Some((Measure::Image(volume, 0), file_stem(path)));
    } else if let (Some(grid), None) = (&grid, &labels) {
        let place = (options.input.as_path(), "count for no volume");
        check_overlap(&grid_coverage(&lines, grid, runner), place)?;
    }
    if let Some(name) = &options.value {
        value = Some((Measure::Value(name.clone()), name.clone()));
    }
    let (grouped, division, cluster_ms) = divide(&lines, labels, (options, &params), runner)?;
    let clusters = match &division {
        Division::Clusters(clusters) => Some(clusters),
        _ => None,
    };
    let among = CountedStreamlines {
        tractogram: grouped.clone(),
        marks: None,
    };
    let (table, figures_ms) = runner.run(ComputeGroupStatistics { among, value, grid })?;
    let mut files = Vec::new();
    if let Some(output) = &output {
        save(&grouped, output, &mut files, runner)?;
    }
    if let (Some(path), Some(clusters)) = (&options.centroids, clusters) {
        save_streamlines(clusters.centroids(), path, runner)?;
        files.push(path.clone());
    }
    if let Some(path) = &options.table {
        let (path, table) = (path.clone(), table.clone());
        files.push(path.clone());
        runner.run(SaveGroupStatistics { path, table })?;
    }
    let mut report = report(&lines, &table, &division);
    match &division {
        Division::Clusters(_) => report["parameters"] = parameters::json(&params),
        Division::Bundles(..) => report["parameters"] = parameters::json(&recognition),
        Division::Groups => {}
    }
    report["cluster_ms"] = json!(cluster_ms);
    report["wall_ms"] = json!(cluster_ms + figures_ms);
    report["out"] = json!(options.out);
    report["centroids"] = json!(options.centroids);
    report["table"] = json!(options.table);
    let mut text = text(&lines, &table, &division);
    let _ = writeln!(text, "{}", duration_text(cluster_ms + figures_ms));
    list_files(&mut text, &files);
    runner.report(&report, &text);
    Ok(())
}

/// How the streamlines were divided.
enum Division {
    Clusters(Clusters),
    Bundles(BundleRecipe, Recognised),
    /// The groups of the file.
    Groups,
}

/// Divides streamlines into groups; returns the time that this took, in ms.
fn divide(
    lines: &Tractogram,
    labels: Option<Volume>,
    (options, params): (&Options, &Params),
    runner: &mut Runner,
) -> Result<(Tractogram, Division, f64), Failure> {
    let tractogram = lines.clone();
    if options.groups {
        if lines.groups.is_empty() {
            return Err(Failure::new(format!(
                "The file has no groups, expected a TRX file that has some; leave out --groups to cluster its \
                 streamlines: {}",
                options.input.display()
            )));
        }
        return Ok((tractogram, Division::Groups, 0.0));
    }
    let Some(labels) = labels else {
        let params = *params;
        let (clusters, ms) = runner.run(ClusterStreamlines { tractogram, params })?;
        return Ok((clusters.grouped(lines), Division::Clusters(clusters), ms));
    };
    let is_file = |path: &&PathBuf| path.as_os_str() != FREESURFER;
    let ((recipe, recognised), ms) = runner.run(RecogniseBundles {
        tractogram,
        labels,
        recipe: options.recipe.as_ref().filter(is_file).cloned(),
        params: options.recognition.params()?,
    })?;
    let unmapped = recognised.unmapped(&recipe);
    if !unmapped.is_empty() {
        warning!(
            "The label map lacks labels of {}: {}",
            counted(unmapped.len(), "bundle"),
            one_line(&unmapped.join("; "))
        );
    }
    let grouped = recognised.grouped(lines, &recipe);
    Ok((grouped, Division::Bundles(recipe, recognised), ms))
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

fn report(lines: &Tractogram, table: &GroupTable, division: &Division) -> Value {
    let finite = |v: f64| Some(v).filter(|v| v.is_finite());
    let bundle = |(i, (name, figures)): (usize, &(String, GroupStatistics))| {
        let mut bundle = json!({
            "name": name, "streamlines": figures.count, "length_mm": finite(figures.length_mm),
            "length_sd_mm": finite(figures.length_sd_mm), "volume_mm3": figures.volume_mm3,
            "mean": figures.value.and_then(finite),
        });
        match division {
            Division::Clusters(all) => {
                let cluster = all.clusters.get(i);
                bundle["centroid"] = json!(cluster.map(|cluster| &cluster.centroid));
            }
            Division::Bundles(recipe, _) => {
                let rule = recipe.bundles.iter().find(|rule| rule.name == *name);
                bundle["citation"] = json!(rule.and_then(|rule| rule.citation.as_ref()));
            }
            Division::Groups => {}
        }
        bundle
    };
    let bundles: Vec<Value> = table.groups.iter().enumerate().map(bundle).collect();
    let mut report = json!({
        "command": "bundles", "streamlines": lines.len(), "bundles": bundles, "value": table.value,
    });
    match division {
        Division::Clusters(clusters) => {
            report["dropped"] = json!(clusters.dropped);
            report["in_dropped"] = json!(clusters.in_dropped);
            report["without_length"] = json!(clusters.without_length);
        }
        Division::Bundles(recipe, recognised) => {
            let bundles = recipe.bundles.iter().zip(&recognised.members);
            let empty = bundles.filter(|(_, members)| members.is_empty());
            let empty: Vec<&String> = empty.map(|(rule, _)| &rule.name).collect();
            report["empty"] = json!(empty);
            report["unmapped"] = json!(recognised.unmapped(recipe));
            report["unassigned"] = json!(recognised.unassigned);
        }
        Division::Groups => {}
    }
    report
}

/// Bundles that the text lists.
const LISTED: usize = 24;

fn text(lines: &Tractogram, table: &GroupTable, division: &Division) -> String {
    let groups = &table.groups;
    let noun = match division {
        Division::Clusters(_) => "cluster",
        Division::Bundles(..) => "bundle",
        Division::Groups => "group",
    };
    let mut text = format!(
        "{} in {}\n",
        counted(lines.len(), "streamline"),
        counted(groups.len(), noun)
    );
    // Writing to a string does not fail.
    match division {
        Division::Clusters(clusters) => {
            if clusters.dropped > 0 {
                let _ = writeln!(
                    text,
                    "  {} in {} that are smaller",
                    counted(clusters.in_dropped, "streamline"),
                    counted(clusters.dropped, "cluster")
                );
            }
            if clusters.without_length > 0 {
                let without = counted(clusters.without_length, "streamline");
                let _ = writeln!(text, "  {without} without a length");
            }
        }
        Division::Bundles(recipe, recognised) => {
            let unassigned = counted(recognised.unassigned, "streamline");
            let _ = writeln!(
                text,
                "  {unassigned} in none of {}",
                counted(recipe.bundles.len(), "bundle")
            );
        }
        Division::Groups => {}
    }
    if groups.is_empty() {
        return text;
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
