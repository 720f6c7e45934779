//! Repetitions of a bootstrap of streamlines: options, files and report.

use crate::cli::options::{make_folder, noted};
use crate::cli::output::shown;
use crate::cli::runner::{Failure, Runner};
use crate::cli::uncertainty::report::{
    along, distances_text, levels_text, range, shares, warn_of_earlier, warn_of_few,
};
use crate::data::{Grid, Mask, Tractogram};
use crate::io;
use crate::jobs::ValueNames;
use crate::solvers::pathway::Range90;
use crate::state::command_line::noise_arguments;
use crate::state::core::text::percentiles_text;
use crate::state::files::jobs::{SaveTractogram, SaveVolume};
use crate::state::pathways::jobs::SaveDistances;
use crate::state::pathways::{NOISE_ONLY, NoiseDistances};
use crate::state::track_noise::jobs::{CompareRepetitions, MeasureTrackNoise, TrackNoise};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(clap::Args, Debug)]
pub struct NoiseOptions {
    /// Compare the repetitions of --bootstrap and write into this folder how far measurement noise alone moves the
    /// streamlines
    #[arg(long, value_name = "FOLDER")]
    pub noise: Option<PathBuf>,
    /// Report the distance of the repetitions of --noise from this mask, for example a tumour
    #[arg(long, value_name = "FILE")]
    pub distance_to: Option<PathBuf>,
}

/// A comparison that was requested, once nothing prevents it.
#[derive(Debug)]
pub struct RequestedNoise<'a> {
    folder: &'a Path,
    distance_to: Option<(&'a Path, Mask)>,
    repetitions: usize,
}

impl NoiseOptions {
    /// Refuses options that cannot be met, before the work; `None` without `--noise`.
    pub fn checked(
        &self,
        repetitions: Option<usize>,
        runner: &Runner,
    ) -> Result<Option<RequestedNoise<'_>>, Failure> {
        let Some(folder) = &self.noise else {
            return match self.distance_to {
                Some(_) => Err(Failure::usage(
                    "Found --distance-to without --noise, expected a folder for the repetitions whose distance is reported; \
                     name it, as in --noise noise",
                )),
                None => Ok(None),
            };
        };
        let repetitions = repetitions.ok_or_else(|| {
            Failure::usage(
                "Found --noise without --bootstrap, expected repetitions to compare; add their number, as in --bootstrap 50",
            )
        })?;
        let requested = RequestedNoise {
            folder,
            distance_to: match &self.distance_to {
                Some(path) => Some((path, noted(io::mask_on_own_grid(path), path)?)),
                None => None,
            },
            repetitions,
        };
        runner.may_fill(folder, &requested.files())?;
        warn_of_few(repetitions, "--bootstrap");
        Ok(Some(requested))
    }
}

impl RequestedNoise<'_> {
    fn all_files(&self) -> [PathBuf; 3] {
        ["share.nii.gz", "centre_lines.tck", "distances.csv"].map(|name| self.folder.join(name))
    }

    /// The files that are written.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = self.all_files().to_vec();
        files.truncate(match self.distance_to {
            Some(_) => 3,
            None => 2,
        });
        files
    }

    /// The options as text of a command.
    pub fn arguments(&self) -> String {
        let mask = self.distance_to.as_ref().map(|(path, _)| *path);
        noise_arguments(self.folder, mask)
    }

    /// Compares the repetitions, writes the results and adds them to the report; `command` is that of the streamlines.
    pub fn compare(
        &self,
        kept: &Tractogram,
        grid: &Arc<Grid>,
        command: &str,
        value: &mut Value,
        text: &mut String,
        runner: &mut Runner,
    ) -> Result<(), Failure> {
        let (noise, _) = runner.run(CompareRepetitions {
            kept: kept.clone(),
            repetitions: self.repetitions,
            grid: grid.clone(),
        })?;
        let noise = Arc::new(*noise);
        let mask = self.distance_to.as_ref().map(|(_, mask)| mask.clone());
        let measured = match mask {
            Some(mask) => {
                let noise = noise.clone();
                Some(
                    runner
                        .run(MeasureTrackNoise {
                            noise,
                            mask,
                            images: None,
                        })?
                        .0,
                )
            }
            None => None,
        };
        let files = self.write(&noise, measured.as_deref(), command, runner)?;
        value["noise"] = self.json(&noise, measured.as_deref(), &files);
        *text += &report(&noise, measured.as_deref());
        for file in files {
            let _ = writeln!(text, "{}", shown(&file));
        }
        Ok(())
    }

    /// Writes the files and returns their paths.
    fn write(
        &self,
        noise: &TrackNoise,
        measured: Option<&NoiseDistances>,
        command: &str,
        runner: &mut Runner,
    ) -> Result<Vec<PathBuf>, Failure> {
        let _folder = make_folder(self.folder)?;
        let command = command.to_owned() + &self.arguments();
        let [share, centre_lines, distances] = self.all_files();
        let mut files = vec![share.clone(), centre_lines.clone()];
        runner.run(SaveVolume {
            source: None,
            volume: noise.share.clone(),
            path: share,
            command: command.clone(),
        })?;
        runner.run(SaveTractogram {
            tractogram: noise.centre_lines.clone(),
            path: centre_lines,
            command,
            values: ValueNames::default(),
        })?;
        match measured.map(|measured| measured.along.clone()) {
            Some(Some(along)) => {
                files.push(distances.clone());
                runner.run(SaveDistances {
                    path: distances,
                    distances: along,
                    has_percentiles: Range90::has_percentiles(noise.key.repetitions),
                })?;
            }
            Some(None) => warning!(
                "Found no distance, expected streamlines and a mask with voxels; see why streamlines were discarded, or \
                 choose another mask"
            ),
            None => warn_of_earlier(&distances),
        }
        Ok(files)
    }

    fn json(
        &self,
        noise: &TrackNoise,
        measured: Option<&NoiseDistances>,
        files: &[PathBuf],
    ) -> Value {
        let all = noise.key.repetitions;
        let levels = measured.map_or(&noise.levels, |measured| &measured.levels);
        let distances = measured.and_then(|measured| measured.along.as_deref());
        json!({
            "folder": self.folder,
            "files": files,
            "repetitions": all,
            "without_streamlines": noise.repeated.without_streamlines(),
            "shares": shares(levels),
            "centre_lines": noise.paths.len(),
            "from_middle_mm": range(all, noise.offsets_mm),
            "nearest_mm": distances.map(|distances| distances.shown),
            "nearest_repeated_mm": range(all, distances.and_then(|distances| distances.nearest)),
            "along_centre_line": along(distances, all),
            "note": NOISE_ONLY,
        })
    }
}

/// The figures as text.
fn report(noise: &TrackNoise, measured: Option<&NoiseDistances>) -> String {
    let all = noise.key.repetitions;
    let mut text = levels_text(measured.map_or(&noise.levels, |measured| &measured.levels));
    if let Some(range) = noise.offsets_mm {
        let percentiles = percentiles_text(range, all, |mm| format!("{mm:.1} mm"));
        let _ = writeln!(
            text,
            "Centre lines lie a median of {:.1} mm{percentiles} from the middle one",
            range.median
        );
    }
    if let Some(distances) = measured.and_then(|measured| measured.along.as_deref()) {
        text += &distances_text(distances, "The middle centre line", all);
    }
    if let Some(without) = noise.without_text() {
        text += &format!("{without}\n");
    }
    text + NOISE_ONLY + "\n"
}
