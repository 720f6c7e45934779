//! `arcuate uncertainty`: how far measurement noise alone moves a pathway, and its distance from a mask.

use super::options::{FittedScan, GivenParameters, ImageEnding, make_folder, noted};
use super::output::shown;
use super::pathway::PathwayInputs;
use super::runner::{Failure, Runner};
use crate::data::Tractogram;
use crate::data::statistics::wilson_interval;
use crate::data::text::{counted, number};
use crate::io;
use crate::jobs::ValueNames;
use crate::parameters::arguments;
use crate::solvers::pathway::{NEAR_MM, Params, Range90, RepetitionParams};
use crate::state::core::text::{distance_text, duration_text};
use crate::state::files::jobs::{SaveTractogram, SaveVolume};
use crate::state::pathways::jobs::{FindPathway, RepeatPathway, RepeatedPathway};
use crate::state::pathways::recipe::{command, distance_argument};
use crate::state::streamlines::jobs::csv::SaveDistances;
use crate::state::tensors::jobs::input::Tensors;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

const AFTER_HELP: &str = "\
Examples:
  arcuate uncertainty dwi.nii.gz --from sphere:-24,-18,8,5 --to sphere:-30,-22,58,9 --out noise
  arcuate uncertainty dwi.nii.gz --from mask:m1.nii.gz --to mask:capsule.nii.gz --distance-to tumour.nii.gz --out noise

Each repetition fits the tensors again with the signs of the residuals drawn at random (wild bootstrap), and solves the
pathway again. Repetition r depends on the random seed and r alone. Files in the folder: share.nii.gz, the share of the
repetitions whose pathway contains the voxel; paths.tck, the cheapest path of each repetition; with --distance-to also
distances.csv, the distance of the paths from the mask along the pathway. Distances in the text are rounded down.

Measurement noise only: errors of the model, distortion, alignment and brain shift come on top of it.";

const NOISE_ONLY: &str = "Measurement noise only: errors of the model, distortion, alignment and brain shift come on \
                          top of it";

#[derive(clap::Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    #[command(flatten)]
    pub inputs: PathwayInputs,
    #[command(flatten)]
    pub repetitions: GivenParameters<RepetitionParams>,
    /// Mask whose distance from the paths is reported, such as a tumour
    #[arg(long, value_name = "FILE")]
    pub distance_to: Option<PathBuf>,
    /// Folder for the results
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    #[command(flatten)]
    pub images: ImageEnding,
}

impl Options {
    fn files(&self) -> [PathBuf; 3] {
        let share = self.images.path(&self.out, "share");
        let [paths, distances] = ["paths.tck", "distances.csv"].map(|name| self.out.join(name));
        [share, paths, distances]
    }

    /// The command that repeats this work.
    fn command(
        &self,
        fitted: &FittedScan,
        params: &Params,
        epsilon: f64,
        repetitions: &RepetitionParams,
    ) -> String {
        let regions = self.inputs.regions.specs();
        let text = command(&fitted.arguments, &regions, params, epsilon, &self.out);
        let mut text = text.replacen("arcuate pathway", "arcuate uncertainty", 1);
        text += &arguments(repetitions);
        if let Some(file) = &self.distance_to {
            text += &distance_argument(file);
        }
        text + &self.images.argument()
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let (params, epsilon) = options.inputs.params()?;
    let repetitions = options
        .repetitions
        .or_defaults(RepetitionParams::defaults())?;
    let files = options.files();
    let written = match options.distance_to {
        Some(_) => &files[..],
        None => &files[..2],
    };
    runner.may_fill(&options.out, written)?;
    let mask = options.distance_to.as_ref();
    let mask = mask
        .map(|path| noted(io::mask_on_own_grid(path), path))
        .transpose()?;
    let fitted = options.inputs.fit.run(runner)?;
    let Some(gradients) = fitted.scan.gradients.clone() else {
        return Err(Failure::usage(
            "Found tensors, expected a scan: repetitions need the residuals of a fit; name the scan itself",
        ));
    };
    let (result, _) = runner.run(FindPathway {
        tensors: Tensors::Here {
            field: fitted.fit.field.clone(),
            fa: fitted.maps.fa.clone(),
            resample: None,
        },
        regions: options.inputs.regions.regions()?,
        params,
        coarse: false,
        prepared: None,
        kept: None,
        mask_name: fitted.mask_name(),
    })?;
    let (repeated, _) = runner.run(RepeatPathway {
        pathway: Arc::new(*result),
        epsilon,
        dwi: fitted.scan.dwi.clone(),
        gradients,
        fit: fitted.arguments.params.clone(),
        params: repetitions,
        distance_to: mask,
    })?;
    let command = options.command(&fitted, &params, epsilon, &repetitions);
    let _folder = make_folder(&options.out)?;
    let [share, paths, distances] = files.clone();
    runner.run(SaveVolume {
        source: None,
        volume: repeated.repetitions.share(),
        path: share,
        command: command.clone(),
    })?;
    runner.run(SaveTractogram {
        tractogram: tractogram(&repeated),
        path: paths,
        command: command.clone(),
        values: ValueNames::default(),
    })?;
    if let Some(of_mask) = &repeated.distances {
        runner.run(SaveDistances {
            path: distances,
            distances: Arc::new(of_mask.clone()),
        })?;
    }
    let mut value = report(&repeated);
    value["random_seed"] = json!(repetitions.random_seed);
    value["files"] = json!(written);
    value["repeat"] = json!(command);
    let mut text = text(&repeated);
    for file in written {
        let _ = writeln!(text, "{}", shown(file));
    }
    runner.report(&value, &text);
    Ok(())
}

/// The cheapest path of each repetition that has one, with its cost.
fn tractogram(repeated: &RepeatedPathway) -> Tractogram {
    let (mut points, mut offsets, mut costs) = (Vec::new(), vec![0], Vec::new());
    for (cost, path) in repeated.repetitions.paths.iter().flatten() {
        points.extend(path.points.iter().map(|p| p.as_vec3().to_array()));
        offsets.push(points.len() as u64);
        costs.push(*cost as f32);
    }
    Tractogram::new(points, offsets)
        .with_per_streamline("cost", costs)
        .with_grid(repeated.repetitions.metric.grid.clone())
}

fn range(range: Option<Range90>) -> Value {
    json!(range.map(|r| json!({ "low": r.low, "median": r.median, "high": r.high })))
}

fn report(repeated: &RepeatedPathway) -> Value {
    let repetitions = &repeated.repetitions;
    let levels = repeated.levels.iter().map(|level| {
        json!({
            "share": level.share,
            "volume_ml": level.volume_ml,
            "nearest_mm": level.from_mask.map(|mask| mask.nearest_mm),
            "overlap_ml": level.from_mask.map(|mask| mask.shared_ml),
        })
    });
    let distances = repeated.distances.as_ref();
    json!({
        "command": "uncertainty",
        "repetitions": repetitions.paths.len(),
        "without_path": repetitions.without_path(),
        "least": repetitions.measured,
        "least_of_repetitions": range(repetitions.costs()),
        "near": repeated.near,
        "near_interval": near_interval(repeated),
        "near_mm": NEAR_MM,
        "levels": levels.collect::<Vec<_>>(),
        "nearest_mm": distances.map(|d| d.shown),
        "nearest_of_repetitions_mm": range(distances.and_then(|d| d.nearest)),
        "along": distances.map(|d| json!({
            "mm": d.along.iter().map(|(mm, _)| mm).collect::<Vec<_>>(),
            "low": d.along.iter().map(|(_, r)| r.low).collect::<Vec<_>>(),
            "median": d.along.iter().map(|(_, r)| r.median).collect::<Vec<_>>(),
            "high": d.along.iter().map(|(_, r)| r.high).collect::<Vec<_>>(),
        })),
        "wall_ms": repeated.wall_ms,
        "note": NOISE_ONLY,
    })
}

/// The interval of the share of repetitions whose path stays near, with a confidence of 95 %.
fn near_interval(repeated: &RepeatedPathway) -> [f64; 2] {
    wilson_interval(repeated.near, repeated.repetitions.paths.len())
}

fn text(repeated: &RepeatedPathway) -> String {
    let repetitions = &repeated.repetitions;
    let all = repetitions.paths.len();
    let mut text = format!("Least cost {:.3}", repetitions.measured);
    if let Some(range) = repetitions.costs() {
        let _ = write!(
            text,
            "; in the repetitions {:.3}, 5 to 95 %: {:.3} to {:.3}",
            range.median, range.low, range.high
        );
    }
    let [low, high] = near_interval(repeated).map(|share| 100.0 * share);
    let _ = writeln!(
        text,
        "\nThe path stays within {} mm in {} of {} (95 % confidence interval {low:.0} to {high:.0} %), repeated in {}",
        number(NEAR_MM),
        repeated.near,
        counted(all, "repetition"),
        duration_text(repeated.wall_ms)
    );
    for level in &repeated.levels {
        let _ = write!(
            text,
            "In at least {:.0} % of the repetitions: {:.2} ml",
            100.0 * level.share,
            level.volume_ml
        );
        let _ = match level.from_mask {
            Some(mask) if mask.shared_ml > 0.0 => {
                write!(text, ", {:.2} ml of it in the mask", mask.shared_ml)
            }
            Some(mask) if mask.nearest_mm <= 0.0 => write!(text, ", touching the mask"),
            Some(mask) => write!(text, ", {} from the mask", distance_text(mask.nearest_mm)),
            None => Ok(()),
        };
        text.push('\n');
    }
    if let Some(distances) = &repeated.distances {
        let _ = match distances.shown {
            shown if shown <= 0.0 => write!(text, "The path enters the mask"),
            shown => write!(text, "The path passes the mask at {}", distance_text(shown)),
        };
        if let Some(range) = distances.nearest {
            let [median, low, high] =
                [range.median, range.low, range.high].map(|mm| match mm <= 0.0 {
                    true => "0".to_owned(),
                    false => distance_text(mm),
                });
            let _ = write!(
                text,
                "; in the repetitions {median}, 5 to 95 %: {low} to {high}"
            );
        }
        text.push('\n');
    }
    let _ = match repetitions.without_path() {
        0 => Ok(()),
        some => writeln!(text, "No path in {some} of {}", counted(all, "repetition")),
    };
    text + NOISE_ONLY + "\n"
}
