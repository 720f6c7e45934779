//! `arcuate table`: writes one row per streamline.

use super::inputs::{check_values, images, must_be_csv, pieces, report_remarks};
use super::options::ReadingOptions;
use super::output::{one_line, shown};
use super::runner::{Failure, Runner};
use super::select::RuleOptions;
use crate::data::Shared;
use crate::data::text::counted;
use crate::io::pieces::Pieces;
use crate::jobs::ValueNames;
use crate::state::streamlines::jobs::csv::{NamedColumn, SaveTable};
use crate::state::streamlines::jobs::from_file::Coverage;
use crate::state::streamlines::jobs::from_file::select::SelectInFile;
use crate::state::streamlines::jobs::from_file::table::ValuesOfFile;
use crate::state::streamlines::jobs::table::{Measure, SortRows};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  arcuate table tracks.trx tracks.csv
  arcuate table tracks.tck tracks.csv --image fa.nii.gz --image md.nii.gz --sort fa --descending
  arcuate table tracks.trx long.csv --length 40.. --leave-out seed

A row holds the number of the streamline in its file, counted from 0, its length in mm, every value per streamline, and
the mean over its points of every value per point and of every image (trilinear; points outside the image do not count).
A cell without a number is empty; the reasons why tracking stopped are written as words. The rules are those of
arcuate select, whose --image is called --image-limits here.";

#[derive(clap::Args, Debug)]
#[command(
    after_help = EXAMPLES,
    // No label map is read.
    mut_arg("colours", |arg| arg.hide(true)),
    mut_arg("target", |arg| arg.help("Regions of which streamlines must reach at least one")),
    // --image adds a column.
    mut_arg("image_limits", |arg| arg.long("image-limits")),
)]
pub struct Options {
    /// Streamline file to read
    pub input: PathBuf,
    /// Table to write (.csv)
    pub output: PathBuf,
    /// Add the mean of an image along each streamline; may be given several times
    #[arg(long, value_name = "FILE")]
    pub image: Vec<PathBuf>,
    /// Sort by this column
    #[arg(long, value_name = "NAME")]
    pub sort: Option<String>,
    /// Sort the largest values first
    #[arg(long, requires = "sort")]
    pub descending: bool,
    /// Leave out a value of the file; may be given several times
    #[arg(long, value_name = "NAME")]
    pub leave_out: Vec<String>,
    #[command(flatten)]
    pub reading: ReadingOptions,
    #[command(
        flatten,
        next_help_heading = "Rules for the streamlines that have a row"
    )]
    pub rules: RuleOptions,
}

impl Options {
    /// Whether the rules keep each streamline of the file; `None` without rules.
    fn rows(
        &self,
        pieces: &Arc<Pieces>,
        runner: &mut Runner,
    ) -> Result<Option<Arc<[bool]>>, Failure> {
        if !self.rules.selects() {
            return Ok(None);
        }
        let rules = self.rules.rules(runner)?;
        let coverages = self.rules.coverages(&rules);
        let select = SelectInFile {
            pieces: pieces.clone(),
            rules,
            coverages,
            keeps_copies: false,
        };
        let (selected, _) = runner.run(select)?;
        self.rules.check_overlap(&selected.summary.coverages)?;
        Ok(Some(selected.kept.marks().clone()))
    }

    /// The names of the values of the file that have a column.
    fn own_columns(&self, names: Vec<&str>) -> Result<Vec<String>, Failure> {
        if let Some(name) = self.leave_out.iter().find(|n| !names.contains(&n.as_str())) {
            return Err(Failure::usage(format!(
                "There is no value “{name}” to leave out, expected one of {}",
                names.join(", ")
            )));
        }
        let is_omitted = |name: &str| self.leave_out.iter().any(|known| known == name);
        let kept = names.into_iter().filter(|name| !is_omitted(name));
        Ok(kept.map(str::to_owned).collect())
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    must_be_csv(&options.output)?;
    if let Some(option) = options.rules.without_rule() {
        return Err(Failure::usage(format!(
            "Found {option} without a rule, expected a region, --group, --length, --value, --image-limits, --stop or \
             --number beside it; add one, or leave {option} out"
        )));
    }
    runner.may_make(&options.output)?;
    let pieces = pieces(&options.input, &options.reading, runner)?;
    let images = images(&options.image, &options.reading, runner)?;
    let coverages = images.iter().map(|(_, volume)| Coverage::of_values(volume));
    let coverages = coverages.collect();
    let names = ValueNames::shown(pieces.empty().clone());
    let own = options.own_columns(names.value_names())?;
    let among = options.rows(&pieces, runner)?;
    let mut requested: Vec<(String, Measure)> = own
        .into_iter()
        .map(|name| (name.clone(), Measure::Value(name)))
        .collect();
    for (name, volume) in images {
        // No two columns may have the same name.
        let taken = |name: &str| requested.iter().any(|(known, _)| known == name);
        let mut others = (2..).map(|n| format!("{name} (image {n})"));
        let image = format!("{name} (image)");
        let name = match (taken(&name), taken(&image)) {
            (false, _) => name,
            (true, false) => image,
            (true, true) => others.find(|name| !taken(name)).unwrap_or(image),
        };
        requested.push((name, Measure::Image(volume, 0)));
    }
    let (names, measures): (Vec<String>, Vec<Measure>) = requested.into_iter().unzip();
    let compute = ValuesOfFile {
        pieces,
        measures,
        coverages,
    };
    let ((summary, values), _) = runner.run(compute)?;
    report_remarks(&summary, &options.input);
    for (coverage, path) in summary.coverages.iter().zip(&options.image) {
        check_values(coverage, path)?;
    }
    let count = summary.outline.streamlines;
    let columns: Vec<NamedColumn> = names
        .iter()
        .cloned()
        .zip(values.into_iter().map(Shared::from))
        .collect();
    let by = match &options.sort {
        None => None,
        Some(name) => {
            let column = columns.iter().find(|(known, _)| known == name);
            let column = column.ok_or_else(|| {
                let known = match &*names {
                    [only] => only.clone(),
                    several => format!("one of {}", several.join(", ")),
                };
                Failure::usage(format!("There is no column “{name}”, expected {known}"))
            })?;
            Some(column.1.clone())
        }
    };
    let sort = SortRows {
        count,
        among,
        values: by,
        descending: options.descending,
    };
    let (order, _) = runner.run(sort)?;
    let rows = order.len();
    if rows == 0 && count > 0 {
        warning!(
            "None of {} is kept; relax the selection rules: {}",
            counted(count, "streamline"),
            options.input.display()
        );
    }
    runner.run(SaveTable {
        path: options.output.clone(),
        columns,
        order,
    })?;
    let value = json!({
        "command": "table", "streamlines": rows, "columns": names, "file": options.output,
    });
    let list = one_line(&names.join(", "));
    let text = format!(
        "{}: {list}\n{}\n",
        counted(rows, "streamline"),
        shown(&options.output)
    );
    runner.report(&value, &text);
    Ok(())
}
