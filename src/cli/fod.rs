//! `arcuate fod`: fibre orientation distributions, response functions, peaks and maps of lobes.

mod given;
mod report;
mod responses;

use super::options::signal::SignalNeed;
use super::options::{
    GivenParameters, ImageEnding, OdfInputOptions, ScanOptions, about_mask, basis_keys,
    make_folder, noted,
};
use super::output::remark;
use super::runner::{Failure, Runner};
use crate::data::Volume;
use crate::data::odf_field::Tissue;
use crate::io::{self, RemarkTopic, atomic::OutputFolder};
use crate::solvers::{csd, peaks};
use crate::state::files::jobs::SaveSet;
use crate::state::tensors::jobs::fod::report::{json, provenance};
use crate::state::tensors::jobs::fod::{EstimateFods, FodFiles};
use crate::state::tensors::recipe::fod::{FodArguments, FodMap};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use responses::ResponseOptions;
use serde_json::Value;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arcuate fod dwi.nii.gz --mask brain.nii.gz --out fod
  arcuate fod dwi.mif --responses wm.txt,gm.txt,csf.txt --order 8 --format mif --out fod
  arcuate fod dwi.nii.gz --response-algorithm dhollander --maps peaks,dec,fractions --out fod
  arcuate fod dwi.nii.gz --mask brain.nii.gz --bootstrap 100 --out fod
  arcuate fod odf.nii.gz --odf-basis descoteaux07-legacy --odf-frame voxel --maps peaks,dec --out fod

Without --responses the response functions are estimated: for several shells those of white matter, grey matter and CSF
(dhollander), for one shell that of white matter (tournier). Files: wm_fod (coefficients in MRtrix's basis, world axes),
gm and csf (amounts), wm_response.txt and those of the other tissues (as MRtrix), and fod.json: parameters, shells, order
and reason, voxels of the response functions, samples that were left out, and the command that repeats the run.

With --odf-basis and --odf-frame the input is an image of distributions, as MRtrix, DIPY and Camino write them: nothing is
deconvolved, and wm_fod, peaks and maps of it are written.

Maps: peaks (3 volumes per peak, world axes, length = amplitude, NaN where there is none: as MRtrix), afd (integral over
each lobe, one volume per peak), afd_total (integral over the sphere), dispersion (afd by amplitude), complexity (0 for
one lobe, 1 for equal ones), dec (red left-right, green front-back, blue up-down), fractions (one volume per tissue),
fixels (a folder with MRtrix's lists of lobes: index, directions, afd, peak, disp), response_voxels (where the response
functions were measured: 1 white matter, 2 grey matter, 3 CSF). With --bootstrap, cone (angle from each peak within
which 95 % of the repetitions have it, degrees, 90 if it is often lost) and peak_dispersion (0 if all repetitions
agree), both NaN where there is no peak: the effect of noise, given the response functions and the order. Amplitudes have
the unit of the response of white matter: noise reaches 0.05 to 0.1.";

#[derive(clap::Args, Debug)]
#[command(
    after_help = EXAMPLES,
    // Tensors hold no signal to deconvolve.
    mut_arg("tensor_order", |arg| arg.hide(true)),
    mut_arg("tensor_frame", |arg| arg.hide(true)),
    mut_arg("odf_basis", |arg| arg.help(format!(
        "The image holds distributions in this basis: {}; nothing is deconvolved",
        basis_keys()
    ))),
    mut_arg("odf_affine", |arg| arg.requires("odf_basis")),
)]
pub struct Options {
    #[command(flatten)]
    pub scan: ScanOptions,
    #[command(flatten)]
    pub distributions: OdfInputOptions,
    /// Brain mask on the scan's grid (default: computed from the scan)
    #[arg(long, value_name = "FILE")]
    pub mask: Option<PathBuf>,
    #[command(flatten)]
    pub responses: ResponseOptions,
    #[command(flatten)]
    pub params: GivenParameters<csd::Params>,
    #[command(flatten)]
    pub peaks: GivenParameters<peaks::Params>,
    /// Maps to write besides the distributions
    #[arg(
        long,
        value_parser = map_keys(),
        value_delimiter = ',',
        value_name = "LIST",
        default_value = FodMap::DEFAULT
    )]
    pub maps: Vec<FodMap>,
    /// Folder for the files; created if missing
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    #[command(flatten)]
    pub images: ImageEnding,
}

/// The keys as values of an option, listed by `--help`.
fn map_keys() -> impl TypedValueParser<Value = FodMap> {
    let known = PossibleValuesParser::new(FodMap::KEYS);
    known.try_map(|key| FodMap::from_key(&key).ok_or("there is no map of this name"))
}

impl Options {
    fn files(&self) -> FodFiles<'_> {
        FodFiles {
            folder: &self.out,
            ending: &self.images.format,
        }
    }

    /// Makes the folder of the files, and that of fixels if there are any.
    fn make_folders(
        &self,
        files: &FodFiles<'_>,
        images: &[(PathBuf, Volume)],
    ) -> Result<Vec<OutputFolder>, Failure> {
        let fixels = files.fixel_folder();
        let has_fixels = images.iter().any(|(path, _)| path.starts_with(&fixels));
        if !has_fixels && self.maps.contains(&FodMap::Fixels) {
            note!(
                "No voxel has a peak, so no fixels are written: {}",
                self.scan.scan
            );
        }
        // The inner one first: if nothing is written, both are removed in this order.
        let folders = [has_fixels.then_some(fixels), Some(self.out.clone())];
        let folders = folders.into_iter().flatten();
        folders.map(|folder| make_folder(&folder)).collect()
    }

    /// The maps to write: with a bootstrap also its own, unless some of them are named.
    fn maps(&self, params: &csd::Params) -> Result<Vec<FodMap>, Failure> {
        let mut maps = self.maps.clone();
        let mut numbered = maps.iter().enumerate();
        if let Some((_, twice)) = numbered.find(|(i, map)| maps[..*i].contains(map)) {
            return Err(Failure::usage(format!(
                "Found the map {} twice in --maps, expected each once; leave one out",
                twice.key()
            )));
        }
        let named = maps.iter().find(|map| map.is_of_bootstrap());
        match (named, params.repetitions) {
            (Some(map), None) => {
                return Err(Failure::usage(format!(
                    "Found the map {} without a bootstrap, expected one; add --bootstrap 100",
                    map.key()
                )));
            }
            (None, Some(_)) => maps.extend(FodMap::OF_BOOTSTRAP),
            _ => {}
        }
        Ok(maps)
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    // Options that are wrong for every scan are refused before the scan is read.
    let params = options.params.params()?;
    let maps = options.maps(&params)?;
    if let Some(layout) = options.distributions.layout.layout() {
        return given::run(options, layout, runner);
    }
    let peak_params = options.peaks.params()?;
    let given = options.responses.given()?;
    let files = options.files();
    // Before the estimation the tissues are not known.
    runner.may_fill(&options.out, &files.all(Tissue::ALL, &maps))?;
    let need = SignalNeed {
        reason: "tensors hold no signal to deconvolve",
        remedy: "name the scan that they were fitted to",
    };
    let (scan, gradients) = options.scan.open_signal(need, runner)?;
    // The estimation reports this itself, with advice.
    let notes = scan.notes.iter();
    for note in notes.filter(|n| n.topic != Some(RemarkTopic::NoneWeighted)) {
        remark(note, &options.scan.scan);
    }
    let mask = match &options.mask {
        Some(path) => Some(noted(io::mask(path, &scan.dwi.grid), path)?),
        None => scan.true_mask.clone(),
    };
    let responses = given.on(&scan.dwi.grid)?;
    let any_map = |is_of: fn(FodMap) -> bool| maps.iter().any(|map| is_of(*map));
    let (fods, wall_ms) = runner.run(EstimateFods {
        key: None,
        dwi: scan.dwi.clone(),
        gradients: gradients.clone(),
        mask,
        responses,
        response_params: given.params.clone(),
        params: params.clone(),
        peak_params: peak_params.clone(),
        wants_peaks: any_map(FodMap::is_of_peaks),
        wants_lobes: any_map(FodMap::is_of_lobes),
    })?;
    if let Some(report) = &fods.mask_report {
        about_mask(report, scan.companion_mask.as_deref());
    }
    report::warn(options, &maps, &given, &fods);
    let recipe = FodArguments {
        source: options.scan.source(),
        mask: options.mask.clone(),
        responses: given.source(fods.algorithm),
        response_params: given.params.clone(),
        // The order is stated, whatever it was chosen from.
        params: csd::Params {
            order: Some(fods.output.order.order),
            ..params.clone()
        },
        peak_params,
        maps: maps.clone(),
    };
    let images = files.images(&fods, &maps);
    let texts = files.texts(&fods);
    let report_file = files.report();
    let mut written = vec![report_file.clone()];
    written.extend(images.iter().map(|(path, _)| path.clone()));
    written.extend(texts.iter().map(|(path, _)| path.clone()));
    let command = recipe.command(&options.out).to_string() + &options.images.argument();
    let mut value = json(&files, &params, &recipe, &fods, Some(&gradients));
    value["repeat"] = Value::from(command.as_str());
    value["files"] = serde_json::json!(written);
    let _folders = options.make_folders(&files, &images)?;
    let provenance = provenance(&value);
    runner.run(SaveSet {
        first: (report_file, provenance),
        images,
        texts,
        command,
    })?;
    value["fod_ms"] = serde_json::json!(wall_ms);
    let text = report::text(&fods, &gradients, wall_ms, &written);
    runner.report(&value, &text);
    Ok(())
}
