//! `arcuate uncertainty`: how far measurement noise alone moves a pathway, and its distance from a mask.

use super::options::{FittedScan, GivenParameters, ImageEnding, make_folder, noted};
use super::output::shown;
use super::pathway::{PathwayInputs, joining_mask};
use super::runner::{Failure, Runner};
use crate::data::statistics::wilson_interval;
use crate::data::text::{counted, number};
use crate::io;
use crate::jobs::ValueNames;
use crate::solvers::pathway::{NEAR_MM, Params, Range90, RepetitionParams};
use crate::state::core::text::{distance_text, duration_text};
use crate::state::files::jobs::{SaveTractogram, SaveVolume};
use crate::state::pathways::jobs::{RepeatPathway, RepeatedPathway, SaveDistances, paths_of};
use crate::state::pathways::recipe::UncertaintyCommand;
use crate::state::pathways::{MIN_FOR_RANGES, NOISE_ONLY};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

const AFTER_HELP: &str = "\
Examples:
  arcuate uncertainty dwi.nii.gz --from sphere:-24,-18,8,5 --to sphere:-30,-22,58,9 --out noise
  arcuate uncertainty dwi.nii.gz --from mask:m1.nii.gz --to mask:capsule.nii.gz --distance-to tumour.nii.gz --out noise

Each repetition refits the tensors with random signs of the residuals (wild bootstrap) and recomputes the pathway.
Repetition r depends only on the random seed and on r. Files in the folder: share.nii.gz, the share of the repetitions
whose pathway contains the voxel; paths.tck, the cheapest path of each repetition; with --distance-to also distances.csv,
the distance of the paths from the mask along the pathway. Only voxels that join both regions count, or all of them where
the pathway is too narrow to join the regions. Distances in the text are rounded down.

This covers measurement noise only, not errors of the model, distortion, misalignment or brain shift.";

#[derive(clap::Args, Debug)]
#[command(
    after_help = AFTER_HELP,
    // Tensors have no residuals.
    mut_arg("tensor_order", |arg| arg.hide(true)),
    mut_arg("tensor_frame", |arg| arg.hide(true)),
)]
pub struct Options {
    #[command(flatten)]
    pub inputs: PathwayInputs,
    #[command(flatten)]
    pub repetitions: GivenParameters<RepetitionParams>,
    /// Report the distance of the paths from this mask, for example a tumour
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
        let command = UncertaintyCommand {
            fit: fitted.arguments.clone(),
            regions: self.inputs.regions.specs(),
            params: *params,
            epsilon,
            repetitions: *repetitions,
            distance_to: self.distance_to.clone(),
        };
        command.text(&self.out) + &self.images.argument()
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
    if repetitions.repetitions < MIN_FOR_RANGES {
        warning!(
            "Found {}, expected at least {MIN_FOR_RANGES} for percentiles and distances; raise --repetitions",
            counted(repetitions.repetitions, "repetition")
        );
    }
    let (result, _) = runner.run(options.inputs.job(&fitted, params)?)?;
    joining_mask(&result.pathway, epsilon, None);
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
        tractogram: paths_of(&repeated.repetitions),
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

fn range(range: Option<Range90>) -> Value {
    json!(range.map(|r| json!({ "low": r.low, "median": r.median, "high": r.high })))
}

fn report(repeated: &RepeatedPathway) -> Value {
    let repetitions = &repeated.repetitions;
    let shares = repeated.levels.iter().map(|level| {
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
        "not_joined": repetitions.not_joined,
        "epsilon": repetitions.epsilon,
        "least": repetitions.measured,
        "least_repeated": range(repetitions.costs()),
        "paths_near": repeated.near,
        "paths_near_interval": near_interval(repeated),
        "near_within_mm": NEAR_MM,
        "shares": shares.collect::<Vec<_>>(),
        "nearest_mm": distances.map(|d| d.shown),
        "nearest_repeated_mm": range(distances.and_then(|d| d.nearest)),
        "along_path": distances.map(|d| json!({
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
            "; median over the repetitions {:.3} (5 to 95 %: {:.3} to {:.3})",
            range.median, range.low, range.high
        );
    }
    let [low, high] = near_interval(repeated).map(|share| 100.0 * share);
    let _ = writeln!(
        text,
        "\nThe path stays within {} mm in {} of {} (95 % confidence interval: {low:.0} to {high:.0} %); they took {}",
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
            shown => write!(
                text,
                "The path comes within {} of the mask",
                distance_text(shown)
            ),
        };
        if let Some(range) = distances.nearest {
            let [median, low, high] =
                [range.median, range.low, range.high].map(|mm| match mm <= 0.0 {
                    true => "0 mm".to_owned(),
                    false => distance_text(mm),
                });
            let _ = write!(
                text,
                "; median over the repetitions {median} (5 to 95 %: {low} to {high})"
            );
        }
        text.push('\n');
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
