//! `arcuate streamlines`: streamlines through fibre orientation distributions or peaks, with anatomical rules.

mod tissues;

use super::options::{GivenParameters, OrientationOptions, RegionOptions, basis_keys};
use super::output::shown;
use super::runner::{Failure, Runner};
use super::track::{CountedCurves, must_be_streamlines};
use crate::compute::Control;
use crate::data::OdfLayout;
use crate::io::{Format, orientations, quoted};
use crate::jobs::ValueNames;
use crate::parameters::arguments;
use crate::solvers::odf_tracking::{Fibres, Method, Params};
use crate::state::core::text::count;
use crate::state::files::jobs::{OrientationReading, SaveTractogram};
use crate::state::regions::recipe::region_arguments;
use crate::state::track::jobs::orientations::TrackOrientations;
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;
use tissues::TissueOptions;

const EXAMPLES: &str = "\
Examples:
  arcuate streamlines fod/wm_fod.nii.gz --tissues 5tt.nii.gz --select 10000 --out whole.tck
  arcuate streamlines wm_fod.mif --seed sphere:-24,-18,8,5 --target sphere:-30,-22,58,9 --out cst.trx
  arcuate streamlines fod/wm_fod.nii.gz --tissues aseg.mgz --seed-interface --select 50000 --out whole.trx
  arcuate streamlines fod/peaks.nii.gz --peaks --seeds per-voxel:1 --out deterministic.tck

The input is an image of distributions as arcuate fod, MRtrix, DIPY and Camino write them, or of peaks. Without --seed,
seeds are spread over all voxels with fibres, and with --seed-interface over the surface of white matter.

Tissues end streamlines as in MRtrix's ACT: in cortical grey matter, inside deep grey matter, at the brain stem. A
streamline that ends in CSF or in white matter is discarded and counted; a probabilistic one first goes back and tries
again. Streamlines are the same on any number of threads.";

#[derive(clap::Args, Debug)]
#[command(
    after_help = EXAMPLES,
    mut_arg("odf_basis", |arg| arg.help(format!(
        "Basis of the distributions: {} [default: {}]",
        basis_keys(),
        OdfLayout::MRTRIX.basis.key()
    ))),
    mut_arg("peaks", |arg| arg.help(
        "The input holds peaks: three volumes per peak in world axes, FSL's dyads1 with the other files beside it, or \
         a model of DSI Studio (.fib.gz)"
    )),
)]
pub struct Options {
    /// Image of fibre orientation distributions, or of peaks with --peaks
    #[arg(value_name = "IMAGE")]
    pub fibres: PathBuf,
    #[command(flatten)]
    pub orientations: OrientationOptions,
    #[command(flatten)]
    pub tissues: TissueOptions,
    #[command(flatten)]
    pub regions: RegionOptions,
    #[command(flatten)]
    pub params: GivenParameters<Params>,
    /// Streamline file; its extension sets the format: .tck, .trk, .trx, .vtk, .vtp
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

impl Options {
    /// The parameters for voxels of this size.
    fn params(&self, voxel_mm: f64) -> Result<Params, Failure> {
        let with_tissues = self.tissues.any();
        let method = match self.orientations.peaks {
            true => Method::Deterministic,
            false => Method::Probabilistic,
        };
        let of = |method: Method| {
            let defaults = Params::defaults_for(method, voxel_mm, with_tissues);
            self.params.or_defaults(defaults)
        };
        // The method is an option, too, and other defaults follow from it.
        of(of(method)?.method)
    }

    fn command(&self, params: &Params) -> String {
        let mut text = format!(
            "arcuate streamlines {}",
            quoted(&self.fibres.to_string_lossy())
        );
        match self.orientations.reading() {
            Some(OrientationReading::Peaks) => text += " --peaks",
            Some(OrientationReading::Distributions(layout)) => {
                let _ = write!(text, "{layout}");
            }
            None => {}
        }
        text += &self.tissues.arguments();
        text += &region_arguments(&self.regions.specs());
        text += &arguments(params);
        text + &format!(" --out {}", quoted(&self.out.to_string_lossy()))
    }

    /// Reads distributions or peaks.
    fn open(&self) -> Result<Fibres, Failure> {
        let (path, control) = (&self.fibres, Control::new());
        let (fibres, warnings, notes) = match self.orientations.reading() {
            Some(OrientationReading::Peaks) => {
                let opened = orientations::open_peaks(path, None, &control)?;
                (Fibres::Peaks(opened.field), opened.warnings, opened.notes)
            }
            reading => {
                let implied = orientations::implied_layout(path);
                let layout = match reading {
                    Some(OrientationReading::Distributions(layout)) => layout,
                    _ => implied.unwrap_or(OdfLayout::MRTRIX),
                };
                if reading.is_none() && implied.is_none() {
                    note!(
                        "The distributions are read in MRtrix's basis and world axes; --odf-basis and --odf-frame \
                         state others"
                    );
                }
                let opened = orientations::open_odf(path, layout, None, &control)?;
                // Tracking refuses what these warnings are about.
                (
                    Fibres::Distributions(opened.field),
                    Vec::new(),
                    opened.notes,
                )
            }
        };
        for warning in warnings {
            warning!("{warning}: {}", path.display());
        }
        for text in notes {
            note!("{text}: {}", path.display());
        }
        Ok(fibres)
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    must_be_streamlines(&options.out)?;
    // Options that are wrong for every image are refused before it is read.
    let early = options.params(2.0)?;
    if early.at_interface && !options.tissues.any() {
        return Err(Failure::usage(
            "Found --seed-interface without tissues, expected them; name an image with --tissues",
        ));
    }
    runner.may_make(&options.out)?;
    let columns = ValueNames::expected_columns(false);
    let adjacent = columns.companion_files(&options.out);
    adjacent
        .iter()
        .try_for_each(|b| runner.may_write(&b.path))?;
    let fibres = options.open()?;
    let spacing = fibres.grid().spacing();
    let params = options.params((spacing.x + spacing.y + spacing.z) / 3.0)?;
    let tissues = options.tissues.open(fibres.grid())?;
    let regions = options.regions.regions()?;
    let (output, wall_ms) = runner.run(TrackOrientations {
        fibres,
        tissues,
        regions: regions.clone(),
        params: params.clone(),
    })?;
    let kept = &output.kept;
    let values = ValueNames::from_tractogram(kept);
    for refusal in values.refusals(kept, &options.out) {
        warning!("{refusal}");
    }
    let adjacent = values.companion_files(&options.out).into_iter();
    let adjacent = adjacent.filter(|b| b.holds(kept)).map(|b| b.path);
    let files: Vec<PathBuf> = std::iter::once(options.out.clone())
        .chain(adjacent)
        .collect();
    let command = options.command(&params);
    runner.run(SaveTractogram {
        tractogram: kept.clone(),
        path: options.out.clone(),
        command: command.clone(),
        values,
    })?;
    let counted = CountedCurves {
        output: &output,
        regions: &regions,
        wall_ms,
        command: "streamlines",
        in_distributions: true,
    };
    let (mut value, mut text) = counted.summary("streamlines");
    value["file"] = json!(options.out);
    value["files"] = json!(files);
    value["parameters"] = crate::parameters::json(&params);
    value["repeat"] = json!(command);
    for file in files {
        text += &format!("{}\n", shown(&file));
    }
    if matches!(Format::named(&options.out), Some(Format::Trk | Format::Vtk)) {
        text.extend(kept.key().iter().map(|line| format!("{line}\n")));
    }
    if let Some(requested) = params.select.filter(|requested| kept.len() < *requested) {
        let tried: u64 = output.seed_outcomes.iter().sum();
        warning!(
            "Kept {} of {} streamlines after {} seeds; see why the others were discarded, and relax the rule that discards most",
            count(kept.len() as u64),
            count(requested as u64),
            count(tried)
        );
    } else if kept.is_empty() {
        warning!(
            "No streamline was kept; see why they were discarded, and relax the rule that discards most"
        );
    }
    runner.report(&value, &text);
    Ok(())
}
