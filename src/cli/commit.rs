//! `arcuate commit`: which streamlines explain the diffusion signal, and by how much.

mod lines;

use super::inputs::streamlines;
use super::options::{
    FodInputOptions, GivenParameters, ImageEnding, ReadingOptions, ScanOptions, ValueError,
    about_mask, make_folder, not_negative, noted, noted_volume, open_distributions, positive,
};
use super::output::{remark, shown};
use super::runner::{Failure, Runner};
use super::track::must_be_streamlines;
use super::typed::typed_command;
use crate::compute::Control;
use crate::data::text::{counted, singular_or_plural};
use crate::data::{Gradients, Grid, Mask, Tractogram, Volume};
use crate::io::{self, Content, Format, Remark, orientations};
use crate::solvers::commit::cylinder::{GammaRadii, Timing};
use crate::solvers::commit::dictionary::Counts;
use crate::solvers::commit::model::{Intra, Model};
use crate::solvers::commit::operator::OperatorKind;
use crate::solvers::commit::samples::Samples;
use crate::solvers::commit::solver::{Curve, Ended};
use crate::solvers::commit::{self, DEFAULT_GAMMA, Params};
use crate::solvers::{peaks, tensor_fit};
use crate::state::core::text::count;
use crate::state::files::jobs::SaveVolume;
use crate::state::filter::jobs::{
    CommitFit, Excluded, FileLines, FitWeights, SaveHistogram, StartFrom,
};
use crate::state::filter::{WEIGHT, WeightHistogram, sorted};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  arcuate commit tracks.trx dwi.nii.gz --mask brain.nii.gz --out commit
  arcuate commit tracks.trx dwi.nii.gz --model stick --filtered kept.trx --out commit
  arcuate commit tracks.trx dwi.nii.gz --model cylinder --pulse 32.2 --between 43.1 --out commit
  arcuate commit tracks.trx afd.nii.gz --model density --out sift
  arcuate commit bundles.trx dwi.nii.gz --group 0.05 --out commit2
  arcuate commit tracks.trx dwi.nii.gz --fod fod/wm_fod.nii.gz --out commit

The signal of each voxel is modelled as a non-negative sum of the signals of its streamlines, of the water around them
(zeppelin, along the peaks) and of free water (ball; two or more shells). The numbers printed for each group of a TRX
file refer to the streamlines that are kept: those with a non-zero weight, or with at least --threshold. Files in the
folder: weights.txt (one weight per streamline, in the order of the file; 0 if it explains nothing or lies outside),
intra.nii.gz, extra.nii.gz and free.nii.gz (fractions of the three), rmse.nii.gz. Among nearly identical streamlines, a
single weight is arbitrary: trust sums over bundles. The density model takes an image of the values to which streamlines
should add up in each voxel; for a scan, it uses how much the signal differs between directions.";

#[derive(clap::Args, Debug)]
#[command(
    after_help = EXAMPLES,
    // No label map is read.
    mut_arg("colours", |arg| arg.hide(true)),
)]
pub struct Options {
    /// Streamline file
    pub streamlines: PathBuf,
    #[command(flatten)]
    pub scan: ScanOptions,
    /// Voxels whose signal is fitted (default: all that streamlines pass)
    #[arg(long, value_name = "FILE")]
    pub mask: Option<PathBuf>,
    /// Directions of the water around fibres: three volumes per peak in world axes, FSL's dyads1 with the other files
    /// beside it, a model of DSI Studio (.fib.gz), or MRtrix's fixels (default: those of tensors)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["odf_basis", "odf_frame", "odf_affine"])]
    pub peaks: Option<PathBuf>,
    /// Fibre orientation distributions: the water around fibres has the directions of their peaks, at most three in a
    /// voxel
    #[arg(long, value_name = "FILE", conflicts_with = "peaks")]
    pub fod: Option<PathBuf>,
    #[command(flatten)]
    pub layout: FodInputOptions,
    #[command(flatten)]
    pub params: GivenParameters<Params>,
    #[arg(long, value_name = "SHAPE,SCALE", value_parser = gamma, help = gamma_help())]
    pub gamma: Vec<GammaRadii>,
    /// Length of a gradient pulse δ, ms
    #[arg(long, value_name = "MS", requires = "between", allow_negative_numbers = true, value_parser = positive)]
    pub pulse: Option<f64>,
    /// Time from the start of the first pulse to the start of the second, Δ, ms
    #[arg(long, value_name = "MS", requires = "pulse", allow_negative_numbers = true, value_parser = positive)]
    pub between: Option<f64>,
    /// Timing of each volume: a Camino scheme file
    #[arg(long, value_name = "FILE", conflicts_with = "pulse")]
    pub scheme: Option<PathBuf>,
    /// Start from these weights: a text file with one number per streamline, or a streamline file with weights as this
    /// command writes it
    #[arg(long, value_name = "FILE")]
    pub start: Option<PathBuf>,
    /// Write the streamlines with at least the threshold weight, with their weights, to this streamline file
    #[arg(long, value_name = "FILE")]
    pub filtered: Option<PathBuf>,
    /// Threshold of --filtered [default: any weight]
    #[arg(long, value_name = "W", requires = "filtered", value_parser = not_negative)]
    pub threshold: Option<f64>,
    /// Write the histogram of the weights, on a logarithmic scale: a picture (.svg, .png) or a table (.csv)
    #[arg(long, value_name = "FILE")]
    pub weights_histogram: Option<PathBuf>,
    /// Folder for the results
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    #[command(flatten)]
    pub images: ImageEnding,
    #[command(flatten)]
    pub reading: ReadingOptions,
}

fn gamma_help() -> String {
    let GammaRadii { shape, scale_um } = DEFAULT_GAMMA;
    format!(
        "A gamma distribution of radii, shape and scale (µm); may be given several times [default: {shape},{scale_um}]"
    )
}

fn gamma(text: &str) -> Result<GammaRadii, ValueError> {
    let numbers = text.split_once(',');
    let parsed = numbers.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    let valid = parsed.filter(|(a, b): &(f64, f64)| *a > 0.0 && *b > 0.0);
    valid
        .map(|(shape, scale_um)| GammaRadii { shape, scale_um })
        .ok_or_else(|| ValueError::new("SHAPE,SCALE, as in 2,0.5", text))
}

/// The opened inputs.
struct OpenedInputs {
    scan: Volume,
    gradients: Option<Arc<Gradients>>,
    /// The phantom's own mask.
    mask: Option<Mask>,
    companion_mask: Option<PathBuf>,
}

impl Options {
    /// The smallest weight of the streamlines that are kept.
    fn min_weight(&self) -> f32 {
        (self.threshold.unwrap_or(0.0) as f32).max(f32::MIN_POSITIVE)
    }

    fn maps(&self) -> [PathBuf; 4] {
        ["intra", "extra", "free", "rmse"].map(|name| self.images.path(&self.out, name))
    }

    fn weights(&self) -> PathBuf {
        self.out.join("weights.txt")
    }

    fn open(&self, runner: &mut Runner) -> Result<OpenedInputs, Failure> {
        let scan = &self.scan;
        let plain = scan.gradients.is_none() && scan.bval.is_none() && scan.bvec.is_none();
        let phantom = self.scan.built_in_phantom()?.is_some();
        let density = self.params(1)?.model.intra == Intra::Density;
        if density && plain && !phantom {
            let (scan, gradients) = noted_volume(&PathBuf::from(&self.scan.scan), runner)?;
            return Ok(OpenedInputs {
                scan,
                gradients,
                mask: None,
                companion_mask: None,
            });
        }
        let scan = self.scan.open(runner)?;
        for note in &scan.notes {
            remark(note, &self.scan.scan);
        }
        Ok(OpenedInputs {
            scan: scan.dwi,
            gradients: scan.gradients,
            mask: scan.true_mask,
            companion_mask: scan.companion_mask,
        })
    }

    fn timing(&self, gradients: Option<&Gradients>) -> Result<Vec<Timing>, Failure> {
        let timing = |[pulse_ms, between_ms]: [f64; 2]| Timing {
            pulse_ms,
            between_ms,
        };
        if let Some(path) = &self.scheme {
            let read = io::scheme::timing(path).map_err(|e| Failure::new(e.to_string()))?;
            let differs = gradients.and_then(|g| read.against(&g.b_s_per_mm2));
            for note in read.notes.into_iter().chain(differs) {
                warning!("{note}: {}", path.display());
            }
            return Ok(read.rows.into_iter().map(timing).collect());
        }
        let Some((pulse, between)) = self.pulse.zip(self.between) else {
            return Ok(Vec::new());
        };
        let (pulses, note) = io::scheme::in_ms(pulse, between)?;
        if let Some(note) = note {
            warning!("{note}");
        }
        Ok(vec![timing(pulses)])
    }

    /// Refuses parameters that fit no scan, and options without an effect. The defaults are those for this number of
    /// shells.
    fn params(&self, shells: usize) -> Result<Params, Failure> {
        let mut params = self.params.or_defaults(Params::defaults_for(shells))?;
        match &mut params.model.intra {
            Intra::GammaCylinders { radii, .. } if !self.gamma.is_empty() => {
                radii.clone_from(&self.gamma);
            }
            Intra::GammaCylinders { .. } => {}
            _ if self.gamma.is_empty() => {}
            _ => {
                return Err(Failure::usage(
                    "Found --gamma, which has no effect: only gamma cylinders have distributions of radii; leave it \
                     out, or choose --model gamma-cylinder",
                ));
            }
        }
        if self.fod.is_some() && params.model.extra.is_empty() {
            return Err(Failure::usage(
                "Found --fod, which has no effect: only the water around fibres has the directions of peaks; leave it \
                 out, or give --across a diffusivity",
            ));
        }
        Ok(params)
    }

    /// The peaks of an image, or those of distributions.
    fn open_peaks(&self, scan: &Grid, runner: &mut Runner) -> Result<Option<Volume>, Failure> {
        if let Some(path) = &self.peaks {
            let opened = orientations::open_peaks(path, None, &Control::new())?;
            for note in Remark::all(&opened.warnings, &opened.notes) {
                remark(&note, path.display());
            }
            return Ok(Some(opened.field.volume()));
        }
        let Some(path) = &self.fod else {
            return Ok(None);
        };
        let control = Control::new();
        let opened = open_distributions(path, &self.layout.input, &runner.backend, &control)?;
        for warning in opened.warnings {
            warning!("{warning}: {}", path.display());
        }
        for text in opened.notes {
            note!("{text}: {}", path.display());
        }
        let field = opened.field;
        if !scan.matches(&field.grid) {
            return Err(Failure::new(format!(
                "The distributions lie on another grid than the scan ({}), expected the same; estimate them from this \
                 scan: {}",
                field.grid.difference_from_scan(scan),
                path.display()
            )));
        }
        let peaks = peaks::find(
            &field,
            &peaks::Params::defaults(),
            &runner.backend,
            &control,
        )?;
        Ok(Some(peaks.volume()))
    }

    fn start(&self, lines: &Tractogram, runner: &mut Runner) -> Result<StartFrom, Failure> {
        let Some(path) = &self.start else {
            return Ok(StartFrom::Zero);
        };
        let of_streamlines = |format: Format| format.content() == Content::Streamlines;
        if !Format::named(path).is_some_and(of_streamlines) {
            let read = io::scalars::open_weights(path, lines);
            let weights = read.map_err(|e| Failure::new(e.to_string()))?;
            return Ok(StartFrom::Weights(weights.into()));
        }
        let given = self::streamlines(path, &self.reading, runner)?;
        let streamlines = lines.len();
        let weights_found = match given.per_streamline.get(WEIGHT) {
            Some(weights) if given.len() == streamlines => {
                return Ok(StartFrom::Weights(weights[..].into()));
            }
            Some(_) => counted(given.len(), "streamline"),
            None => format!("streamlines without values named {WEIGHT}"),
        };
        Err(Failure::new(format!(
            "Found {weights_found}, expected weights of the {streamlines} to start from: {}",
            path.display()
        )))
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    // Parameters that fit no scan are refused before a scan is read.
    options.params(1)?;
    io::atomic::check_folder(&options.out).map_err(|e| Failure::new(e.to_string()))?;
    for path in options.maps().iter().chain([&options.weights()]) {
        runner.may_write(path)?;
    }
    if let Some(path) = &options.filtered {
        must_be_streamlines(path)?;
        runner.may_make(path)?;
    }
    if let Some(path) = &options.weights_histogram {
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        if !["svg", "png", "csv"]
            .iter()
            .any(|accepted| ending == *accepted)
        {
            return Err(Failure::usage(format!(
                "Histograms are written as pictures or tables, expected a name ending in .svg, .png or .csv: {}",
                path.display()
            )));
        }
        runner.may_make(path)?;
    }
    let (tractogram, from_file) = lines::open(options, runner)?;
    let start = options.start(&tractogram, runner)?;
    let opened = options.open(runner)?;
    lines::warn_of_outside((&tractogram, from_file.as_ref()), options, &opened, runner)?;
    let timing = options.timing(opened.gradients.as_deref())?;
    let samples = opened.gradients.as_ref().and_then(|gradients| {
        Samples::new(
            gradients,
            &timing,
            &commit::Params::defaults_for(1).switches,
        )
        .ok()
    });
    let params = options.params(samples.as_ref().map_or(1, |s| s.shells.len()))?;
    // Warned of before the fit, which takes a while; without --force-model the fit is refused.
    let undetermined = samples.as_ref().and_then(|s| params.model.undetermined(s));
    if let Some(what) = undetermined.filter(|_| params.force_model) {
        warning!("{what}: the model is forced");
    }
    let mask = match &options.mask {
        Some(path) => Some(noted(io::mask(path, &opened.scan.grid), path)?),
        None => opened.mask.clone(),
    };
    let peaks = options.open_peaks(&opened.scan.grid, runner)?;
    let tensors = tensor_fit::Params::defaults_for(opened.gradients.as_deref());
    let (output, _) = runner.run(FitWeights {
        tractogram: tractogram.clone(),
        from_file: from_file.clone(),
        scan: opened.scan,
        gradients: opened.gradients,
        timing,
        mask,
        peaks,
        tensors,
        params: params.clone(),
        prepared: None,
        start,
        excluded: Excluded::None,
        remaining: None,
        rmse_before: None,
        curve: Curve::default(),
    })?;
    if let Some(report) = &output.mask_report {
        about_mask(report, opened.companion_mask.as_deref());
    }
    let counts = &output.prepared.dictionary.counts;
    if counts.outside > 0 {
        warning!(
            "{} of {} {} wholly outside the voxels of the fit and {} no weight; fit within another mask, or leave \
             them out: {}",
            count(counts.outside),
            counted(tractogram.len(), "streamline"),
            singular_or_plural(counts.outside as usize, "lies", "lie"),
            singular_or_plural(counts.outside as usize, "has", "have"),
            options.streamlines.display()
        );
    }
    if output.fit.ended == Ended::Iterations {
        warning!(
            "The weights have not converged after {}; raise --iterations",
            counted(output.fit.iterations as usize, "iteration")
        );
    }
    if is_redundant(&output) {
        note!(
            "Most streamlines have no weight: where several explain the signal equally well, which of them have one is \
             arbitrary, and a smaller --tolerance leaves fewer; trust sums over bundles"
        );
    }
    let files = save(options, (&tractogram, from_file), &output, runner)?;
    let min_weight = options.min_weight();
    let (value, text) = summary(&tractogram, &params, min_weight, &output, &files);
    runner.report(&value, &text);
    Ok(())
}

/// Whether most of the streamlines inside the voxels have no weight.
fn is_redundant(fit: &CommitFit) -> bool {
    let counts = &fit.prepared.dictionary.counts;
    let weights = &fit.fit.weights;
    let inside = (weights.len() as u64).saturating_sub(counts.outside + counts.single_points);
    let kept = weights.iter().filter(|w| **w > 0.0).count() as u64;
    2 * kept < inside
}

fn save(
    options: &Options,
    (tractogram, from_file): (&Tractogram, Option<FileLines>),
    output: &CommitFit,
    runner: &mut Runner,
) -> Result<Vec<PathBuf>, Failure> {
    let _folder = make_folder(&options.out)?;
    let (fit, maps) = (&output.fit, &output.fit.maps);
    let weighted = tractogram
        .clone()
        .with_per_streamline(WEIGHT, fit.weights.clone());
    let path = options.weights();
    io::scalars::save_weights(&path, &weighted, WEIGHT).map_err(|e| Failure::new(e.to_string()))?;
    let mut files = vec![path];
    let shape = output.prepared.operator.shape();
    let requested = [true, shape.extra > 0, shape.free > 0, true];
    let volumes = [&maps.intra, &maps.extra, &maps.free, &maps.rmse];
    let each = options.maps().into_iter().zip(volumes).zip(requested);
    for ((path, volume), _) in each.filter(|(_, requested)| *requested) {
        runner.run(SaveVolume {
            source: None,
            volume: volume.clone(),
            path: path.clone(),
            command: typed_command(),
        })?;
        files.push(path);
    }
    if let Some(path) = &options.weights_histogram {
        let sorted = sorted(&fit.weights);
        let zero = fit.weights.len() - sorted.len();
        runner.run(SaveHistogram {
            histogram: WeightHistogram::new(&sorted, zero),
            path: path.clone(),
        })?;
        files.push(path.clone());
    }
    if let Some(path) = &options.filtered {
        files.extend(lines::save_filtered(
            path,
            (weighted, from_file),
            options,
            runner,
        )?);
    }
    Ok(files)
}

/// The kept streamlines of a group, with the sums of their weights and of weight × length.
fn bundle(members: &[u32], weights: &[f32], lengths_mm: &[f64], min_weight: f32) -> Value {
    let kept = members.iter().map(|m| *m as usize);
    let kept: Vec<usize> = kept.filter(|m| weights[*m] >= min_weight).collect();
    let weight = |m: &usize| f64::from(weights[*m]);
    json!({
        "streamlines": members.len(), "kept": kept.len(),
        "sum_weight": kept.iter().map(weight).fold(0.0, |a, b| a + b),
        "sum_weight_length_mm": kept.iter().map(|m| weight(m) * lengths_mm[*m]).fold(0.0, |a, b| a + b),
    })
}

/// `Stick, zeppelin and ball`.
fn model_text(model: &Model) -> String {
    let intra = match model.intra {
        Intra::Stick { .. } => "Stick",
        Intra::Cylinders { .. } => "Cylinders",
        Intra::GammaCylinders { .. } => "Gamma-distributed cylinders",
        Intra::Density => "Density",
    };
    match (model.extra.is_empty(), model.free.is_empty()) {
        (true, true) => intra.to_owned(),
        (false, true) => format!("{intra} and zeppelin"),
        (true, false) => format!("{intra} and ball"),
        (false, false) => format!("{intra}, zeppelin and ball"),
    }
}

/// The streamlines that can have no weight, as the end of a sentence; empty if there are none.
fn without_effect(counts: &Counts) -> String {
    let mut text = String::new();
    for (n, clause) in [
        (counts.outside, "outside the voxels"),
        (counts.single_points, "with a single point"),
    ] {
        if n > 0 {
            text += &format!("; {} {clause}", counted(n as usize, "streamline"));
        }
    }
    text
}

fn summary(
    tractogram: &Tractogram,
    params: &Params,
    min_weight: f32,
    output: &CommitFit,
    files: &[PathBuf],
) -> (Value, String) {
    let (fit, prepared) = (&output.fit, &output.prepared);
    let (dictionary, counts) = (&prepared.dictionary, prepared.dictionary.counts);
    let kept = fit.weights.iter().filter(|w| **w > 0.0).count();
    let (operator, side) = match prepared.operator.kind() {
        OperatorKind::Factorised => ("factorised", None),
        OperatorKind::Dense { side } => ("dense", Some(side)),
    };
    let cards = prepared.operator.on_cards();
    let adds_up = cards.and_then(|cards| cards.adds_up());
    let lengths = dictionary.lengths_mm();
    let groups = tractogram.groups.iter();
    let bundles: BTreeMap<&String, Value> = groups
        .map(|(name, own)| (name, bundle(own, &fit.weights, &lengths, min_weight)))
        .collect();
    let forced = params.model.undetermined(&prepared.samples);
    let everybody: Vec<u32> = (0..tractogram.len() as u32).collect();
    let all = bundle(&everybody, &fit.weights, &lengths, min_weight);
    let value = json!({
        "command": "commit", "model": params.model.name(), "streamlines": tractogram.len(),
        "with_weight": kept, "outside": counts.outside, "single_points": counts.single_points,
        "not_finite": counts.not_finite, "inside_mm": counts.inside_mm,
        "outside_mm": counts.outside_mm, "segments": dictionary.segments.len(),
        "voxels": dictionary.voxels.len(), "peaks": dictionary.peak_count(),
        "samples": prepared.samples.count(), "volumes_left_out": prepared.samples.excluded,
        "segments_histogram": dictionary.histogram(), "bytes": prepared.demand.bytes,
        "operator": operator, "directions_side": side, "columns_worked_on": prepared.operator.rank(),
        "cards": cards.map(|cards| cards.cards()), "cards_add_up": adds_up,
        "iterations": fit.iterations, "ended": fit.ended.key(), "objective": fit.objective, "kkt": fit.kkt,
        "rmse": fit.rmse, "all": all, "bundles": bundles, "warning": forced, "curve": output.curve,
        "prepare_ms": output.prepare_ms, "fit_ms": output.fit_ms, "files": files,
    });
    let mut text = format!(
        "{}: {} of {} {} a weight{}\n\
         {} in {}, {} each ({operator})\n\
         {} ({}) in {:.2} s after {:.2} s, objective {:.6}, root mean square {:.4}\n",
        model_text(&params.model),
        count(kept as u64),
        counted(tractogram.len(), "streamline"),
        singular_or_plural(kept, "has", "have"),
        without_effect(&counts),
        counted(dictionary.segments.len(), "segment"),
        counted(dictionary.voxels.len(), "voxel"),
        counted(prepared.samples.count(), "sample"),
        counted(fit.iterations as usize, "iteration"),
        fit.ended.key(),
        output.fit_ms / 1e3,
        output.prepare_ms / 1e3,
        fit.objective,
        fit.rmse,
    );
    if let Some((cards, how)) = cards.zip(adds_up) {
        text += &format!("{} graphics cards, which add up {how}\n", cards.cards());
    }
    let whole = "All".to_owned();
    for (name, b) in std::iter::once((&whole, &all)).chain(bundles.iter().map(|(n, b)| (*n, b))) {
        text += &format!(
            "{name}: {} of {} kept, Σ weight {:.4}, Σ weight × length {:.4} mm\n",
            count(b["kept"].as_u64().unwrap_or(0)),
            count(b["streamlines"].as_u64().unwrap_or(0)),
            b["sum_weight"].as_f64().unwrap_or(0.0),
            b["sum_weight_length_mm"].as_f64().unwrap_or(0.0),
        );
    }
    for file in files {
        text += &format!("{}\n", shown(file));
    }
    (value, text)
}
