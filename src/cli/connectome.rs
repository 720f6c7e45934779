//! `arcuate connectome`: how streamlines connect the labels of a map.

use super::inputs::{
    check_overlap, check_values, must_be_csv, pieces, report_remarks, scalar_image,
};
use super::options::{GivenParameters, ReadingOptions};
use super::output::shown;
use super::runner::{Failure, Runner};
use crate::data::text::{count as grouped, counted};
use crate::parameters;
use crate::solvers::connectivity::Params;
use crate::state::streamlines::jobs::csv::{ConnectomeTable, SaveConnectome};
use crate::state::streamlines::jobs::from_file::Coverage;
use crate::state::streamlines::jobs::from_file::connectome::ConnectomeOfFile;
use crate::state::streamlines::jobs::table::Measure;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arcuate connectome tracks.trx aparc+aseg.mgz counts.csv
  arcuate connectome tracks.tck labels.nii.gz counts.csv --radius 2 --pairs pairs.csv --image fa.nii.gz
  arcuate connectome tracks.trx labels.nii.gz length.csv --matrix length --colours FreeSurferColorLUT.txt

An end counts for the label of the voxel that it lies in; if that is background, for the nearest labelled voxel whose
centre lies within --radius. The matrix is symmetric. Its rows and columns have the names in the label map's table, if
there is one (beside it, or --colours). --pairs holds a row for each connected pair: number of streamlines, mean length
in mm, mean value.";

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Matrix {
    /// Number of streamlines
    Count,
    /// Mean length, mm
    Length,
    /// Mean of --value or --image
    Value,
}

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Streamline file to read
    pub input: PathBuf,
    /// Label map: whole numbers, 0 is background
    pub labels: PathBuf,
    /// Matrix to write (.csv)
    pub output: PathBuf,
    /// Value of each cell of the matrix
    #[arg(long, value_enum, default_value = "count")]
    pub matrix: Matrix,
    #[command(flatten)]
    pub params: GivenParameters<Params>,
    /// Average this value of the streamlines, per streamline or per point
    #[arg(long, value_name = "NAME", conflicts_with = "image")]
    pub value: Option<String>,
    /// Average this image along the streamlines
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Also write the connected pairs (.csv)
    #[arg(long, value_name = "FILE")]
    pub pairs: Option<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingOptions,
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let valued = options.value.is_some() || options.image.is_some();
    if options.matrix == Matrix::Value && !valued {
        return Err(Failure::usage(
            "The matrix has no value to average: add --value or --image",
        ));
    }
    if options.matrix != Matrix::Value && options.pairs.is_none() && valued {
        let option = match options.image {
            Some(_) => "--image",
            None => "--value",
        };
        return Err(Failure::usage(format!(
            "Found {option}, which has no effect on this matrix: add --matrix value or --pairs, or leave it out"
        )));
    }
    let params = options.params.params()?;
    let outputs = std::iter::once(&options.output).chain(&options.pairs);
    for output in outputs.clone() {
        must_be_csv(output)?;
        runner.may_make(output)?;
    }
    let pieces = pieces(&options.input, &options.reading, runner)?;
    let labels = scalar_image(&options.labels, &options.reading, runner)?;
    let mut coverages = vec![Coverage::of_grid(&labels.grid)];
    let value = match (&options.value, &options.image) {
        (Some(name), _) => Some(Measure::Value(name.clone())),
        (None, Some(path)) => {
            let volume = scalar_image(path, &options.reading, runner)?;
            coverages.push(Coverage::of_values(&volume));
            Some(Measure::Image(volume, 0))
        }
        (None, None) => None,
    };
    let compute = ConnectomeOfFile {
        marks: None,
        pieces,
        labels: labels.clone(),
        params,
        value,
        coverages,
    };
    let ((summary, connectome), wall_ms) = runner.run(compute)?;
    report_remarks(&summary, &options.input);
    let place = (options.labels.as_path(), "have no label there");
    let (of_labels, of_image) = summary.coverages.split_at(1);
    check_overlap(&of_labels[0], place)?;
    for (coverage, path) in of_image.iter().zip(&options.image) {
        check_values(coverage, path)?;
    }
    if labels.labels.is_none() && is_mottled(labels.frame(0), labels.grid.shape[0]) {
        warning!(
            "Most neighbouring voxels have different values, as in an image of intensities, so the matrix may be \
             meaningless; name a label map: {}",
            options.labels.display()
        );
    }
    let names = connectome.names(&labels);
    let matrix = match options.matrix {
        Matrix::Count => ConnectomeTable::Count,
        Matrix::Length => ConnectomeTable::Length,
        Matrix::Value => ConnectomeTable::Value,
    };
    let pairs = options
        .pairs
        .iter()
        .map(|path| (path, ConnectomeTable::Pairs));
    for (path, table) in std::iter::once((&options.output, matrix)).chain(pairs) {
        runner.run(SaveConnectome {
            path: path.clone(),
            connectome: connectome.clone(),
            names: names.clone(),
            table,
        })?;
    }
    let n = connectome.nodes.len();
    let both = connectome.examined - connectome.one_end - connectome.no_end;
    let connected = (0..n).flat_map(|a| (a..n).map(move |b| (a, b)));
    let connected = connected
        .filter(|(a, b)| connectome.count[connectome.at(*a, *b)] > 0)
        .count();
    let mut text = format!(
        "{} of {} connect {} of {}\n  {} with a label at one end only\n  {} without one\n",
        grouped(both as u64),
        counted(connectome.examined, "streamline"),
        counted(connected, "pair"),
        counted(n, "label"),
        grouped(connectome.one_end as u64),
        grouped(connectome.no_end as u64)
    );
    for path in outputs {
        text += &format!("{}\n", shown(path));
    }
    let value = json!({
        "command": "connectome", "streamlines": connectome.examined, "connecting": both,
        "one_end": connectome.one_end, "no_end": connectome.no_end, "labels": n, "pairs": connected,
        "parameters": parameters::json(&params),
        "wall_ms": wall_ms, "file": options.output, "pairs_file": options.pairs,
    });
    runner.report(&value, &text);
    Ok(())
}

/// Whether most neighbours along x differ, background aside: within structures they are equal.
fn is_mottled(values: &[f32], row: usize) -> bool {
    /// Fewer pairs may be the borders of small structures.
    const FEWEST: usize = 1000;
    let (mut pairs, mut equal) = (0, 0);
    for row in values.chunks_exact(row) {
        for pair in row.windows(2).filter(|pair| !pair.contains(&0.0)) {
            pairs += 1;
            equal += usize::from(pair[0] == pair[1]);
        }
    }
    pairs >= FEWEST && 2 * equal < pairs
}
