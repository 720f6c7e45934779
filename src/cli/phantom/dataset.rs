//! `arcuate phantom --bids`: a BIDS dataset of several heads, on which protocols can be tried.
//!
//! The raw part has a scan, its gradients and a T1 of each head. `derivatives/phantom` has what a pipeline would add:
//! brain masks, label maps, and the affine that leads from the space of the untilted head to that of the scan.

use super::super::options::{ValueError, make_folder, whole_from};
use super::super::output::shown;
use super::{Failure, Options, Runner};
use crate::compute::Control;
use crate::data::random::Random;
use crate::data::text::counted;
use crate::data::{BuiltInPhantom, Gradients, Grid, Mask, Volume};
use crate::io;
use crate::parameters::row;
use crate::phantom::{Head, PictureOptions, ScanParams, scan_grid};
use crate::state::core::colours::CATEGORIES;
use crate::state::files::jobs::{SaveMask, SaveVolume};
use glam::{DAffine3, DQuat, DVec3, EulerRot};
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Heads of a dataset unless --subjects states another number.
const SUBJECTS: u16 = 8;
/// Most heads of a dataset.
const MAX_SUBJECTS: u16 = 999;
/// Version of the standard that the dataset follows.
const BIDS_VERSION: &str = "1.10.0";
/// Folder of what a pipeline would add.
pub const DERIVATIVES: &str = "derivatives/phantom";
/// Voxel size unless --spacing states another, mm: a head takes a second.
const SPACING_MM: f64 = 4.0;
/// Voxel size of the T1, mm.
const T1_SPACING_MM: f64 = 2.5;
/// Largest turn about each axis, degrees, and largest shift along each, mm.
const TILT_DEG: f64 = 9.0;
const SHIFT_MM: f64 = 5.0;
/// Shells of the heads, in turn.
const SHELLS: [&str; 3] = ["1000:20", "1000:16,2000:30", "700:12,1500:20,2800:32"];

/// Options of a dataset.
#[derive(clap::Args, Debug)]
pub struct DatasetOptions {
    /// Write a BIDS dataset of several heads into this folder: they differ in shape, tilt, noise and shells
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["out", "kind", "crossing", "scan_only"])]
    pub bids: Option<PathBuf>,
    /// Number of heads of the dataset
    #[arg(long, value_name = "N", default_value = "8", requires = "bids", allow_negative_numbers = true, value_parser = whole_from(1, MAX_SUBJECTS))]
    pub subjects: u16,
    /// Leave out the gradient directions of this head, counted from 1; may be given several times
    #[arg(long, value_name = "N", requires = "bids", allow_negative_numbers = true, value_parser = whole_from(1, MAX_SUBJECTS))]
    pub missing_bvec: Vec<u16>,
    /// Cut off the scan of this head, counted from 1; may be given several times
    #[arg(long, value_name = "N", requires = "bids", allow_negative_numbers = true, value_parser = whole_from(1, MAX_SUBJECTS))]
    pub corrupt_scan: Vec<u16>,
}

impl DatasetOptions {
    /// Refuses options of a dataset without --bids: clap does not, since --out conflicts with it.
    pub fn check_unused(&self) -> Result<(), Failure> {
        let given = [
            ("subjects", self.subjects != SUBJECTS),
            ("missing-bvec", !self.missing_bvec.is_empty()),
            ("corrupt-scan", !self.corrupt_scan.is_empty()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((name, _)) => Err(Failure::usage(format!(
                "Found --{name} without --bids, expected a folder for the dataset; add --bids FOLDER in place of --out, or \
                 leave it out"
            ))),
        }
    }
}

/// How a head differs from the others.
struct Subject {
    /// `sub-01`.
    name: String,
    head: Head,
    params: ScanParams,
    /// From the space of the untilted head to that of the scan, world mm.
    tilt: DAffine3,
    angles_deg: [f64; 3],
}

impl Subject {
    fn new(number: u16, options: &Options, digits: usize) -> Result<Self, Failure> {
        let seed = options.seed.wrapping_add(u64::from(number) - 1);
        let random = Random::new(seed).stream(40);
        let angles_deg = [0, 1, 2].map(|i| random.within(i, -TILT_DEG, TILT_DEG));
        let [x, y, z] = angles_deg.map(f64::to_radians);
        let turn = DQuat::from_euler(EulerRot::XYZ, x, y, z);
        let shift = DVec3::from_array([3, 4, 5].map(|i| random.within(i, -SHIFT_MM, SHIFT_MM)));
        let mut defaults = ScanParams {
            snr: Some(random.within(6, 18.0, 40.0).round()),
            spacing_mm: SPACING_MM,
            b0_count: 3,
            ..ScanParams::defaults()
        };
        if let Some(shells) = row::<ScanParams>("shells") {
            let text = SHELLS[usize::from(number - 1) % SHELLS.len()];
            let value = shells.parse(text).map_err(Failure::from)?;
            shells.set(&mut defaults, &value);
        }
        Ok(Self {
            name: format!("sub-{number:0digits$}"),
            head: Head::built_in(BuiltInPhantom::plain(seed)),
            params: options.params.or_defaults(defaults)?,
            tilt: DAffine3::from_rotation_translation(turn, shift),
            angles_deg,
        })
    }

    /// The grid of an image in the space of the scan, and the same voxels in that of the untilted head.
    fn grids(&self, spacing_mm: f64) -> Result<[Arc<Grid>; 2], Failure> {
        let grid = scan_grid(spacing_mm);
        let untilted = grid.as_ref().and_then(|g| g.moved(self.tilt.inverse()));
        match (grid, untilted) {
            (Some(grid), Some(untilted)) => Ok([grid, Arc::new(untilted)]),
            _ => Err(Failure::usage(format!(
                "The head cannot be sampled with voxels of {spacing_mm} mm; choose another --spacing"
            ))),
        }
    }

    fn images(&self, runner: &Runner) -> Result<Images, Failure> {
        let [grid, untilted] = self.grids(self.params.spacing_mm)?;
        let [t1_grid, untilted_t1] = self.grids(T1_SPACING_MM)?;
        let seed = self.head.seed;
        let scan = self.params.clone().options(untilted.clone(), seed);
        let picture = PictureOptions {
            snr: Some(40.0),
            shading: 0.08,
            noise_seed: seed,
        };
        let control = Control::new();
        let drawn = runner.backend.install(|| {
            Ok((
                self.head.diffusion_scan(&scan, &control)?,
                self.head.brain_mask(&untilted, &control)?,
                self.head.labels(&untilted, &control)?,
                self.head.t1(&untilted_t1, &picture, &control)?,
            ))
        });
        let ((dwi, gradients), brain, labels, t1) =
            drawn.map_err(|e: crate::compute::Cancelled| Failure::new(e.to_string()))?;
        Ok(Images {
            dwi: dwi.on_grid(grid.clone()),
            gradients: gradients.rotated(self.tilt.matrix3),
            brain: Mask::new(grid.clone(), brain.on_whole_grid().inside),
            tissue_names: labels.tissue_names,
            bundle_names: labels.bundle_names,
            tissue: labels.tissue.on_grid(grid.clone()),
            bundle: labels.bundle.on_grid(grid),
            t1: t1.image.on_grid(t1_grid),
        })
    }

    /// `sub-01/FOLDER/sub-01_REST`.
    fn file(&self, folder: &str, rest: &str) -> PathBuf {
        let name = &self.name;
        PathBuf::from(format!("{name}/{folder}/{name}_{rest}"))
    }

    /// The files of the raw part and those of the derivatives.
    fn files(&self) -> [Vec<PathBuf>; 2] {
        let raw = [
            ("dwi", "dwi.nii.gz"),
            ("dwi", "dwi.bval"),
            ("dwi", "dwi.bvec"),
            ("dwi", "dwi.json"),
            ("anat", "T1w.nii.gz"),
            ("anat", "T1w.json"),
        ];
        let derived = [
            ("dwi", "desc-brain_mask.nii.gz"),
            ("dwi", "desc-tissue_dseg.nii.gz"),
            ("dwi", "desc-bundle_dseg.nii.gz"),
            ("anat", "from-phantom_to-T1w_mode-image_xfm.txt"),
        ];
        let paths =
            |list: &[(&str, &str)]| list.iter().map(|(f, rest)| self.file(f, rest)).collect();
        [paths(&raw), paths(&derived)]
    }
}

struct Images {
    dwi: Volume,
    gradients: Gradients,
    brain: Mask,
    tissue: Volume,
    tissue_names: Vec<(u16, String)>,
    bundle_names: Vec<(u16, String)>,
    bundle: Volume,
    t1: Volume,
}

/// Files of the whole dataset.
const SHARED: [&str; 4] = [
    "dataset_description.json",
    "README.md",
    "participants.tsv",
    "participants.json",
];
const SHARED_DERIVED: [&str; 3] = [
    "dataset_description.json",
    "desc-tissue_dseg.tsv",
    "desc-bundle_dseg.tsv",
];

fn failed(error: io::Error) -> Failure {
    Failure::new(error.to_string())
}

pub fn run(folder: &Path, options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let dataset = &options.dataset;
    for (option, numbers) in [
        ("missing-bvec", &dataset.missing_bvec),
        ("corrupt-scan", &dataset.corrupt_scan),
    ] {
        if let Some(number) = numbers.iter().find(|n| **n > dataset.subjects) {
            let expected = format!("a whole number from 1 to {}", dataset.subjects);
            let error = ValueError::new(expected, &number.to_string());
            return Err(Failure::usage(format!("--{option}: {error}")));
        }
    }
    let digits = if dataset.subjects > 99 { 3 } else { 2 };
    let subjects = (1..=dataset.subjects).map(|number| Subject::new(number, options, digits));
    let subjects: Vec<Subject> = subjects.collect::<Result<_, _>>()?;
    let derivatives = folder.join(DERIVATIVES);
    for file in SHARED {
        runner.may_write(&folder.join(file))?;
    }
    for file in SHARED_DERIVED {
        runner.may_write(&derivatives.join(file))?;
    }
    for subject in &subjects {
        let [raw, derived] = subject.files();
        for file in raw {
            runner.may_write(&folder.join(file))?;
        }
        for file in derived {
            runner.may_write(&derivatives.join(file))?;
        }
    }
    let _folder = make_folder(folder)?;
    io::atomic::make_folder(&derivatives).map_err(failed)?;
    // The dataset as a whole is complete when its description exists.
    for (number, subject) in (1..).zip(&subjects) {
        let images = save(subject, folder, options, runner)?;
        if number == 1 {
            save_label_tables(&derivatives, &images)?;
        }
        let mut summary = images.gradients.summary().to_string();
        if dataset.missing_bvec.contains(&number) {
            summary += ", without its bvec";
            let bvec = folder.join(subject.file("dwi", "dwi.bvec"));
            io::cohort::remove_file(&bvec).map_err(failed)?;
        }
        if dataset.corrupt_scan.contains(&number) {
            summary += ", scan cut off";
            io::cohort::cut_off(&folder.join(subject.file("dwi", "dwi.nii.gz"))).map_err(failed)?;
        }
        runner.print(&format!("{}: {summary}", subject.name));
    }
    save_descriptions(folder, &subjects)?;
    let report = json!({
        "command": "phantom", "folder": folder, "seed": options.seed,
        "subjects": subjects.iter().map(|s| s.name.clone()).collect::<Vec<_>>(),
        "missing_bvec": dataset.missing_bvec, "corrupt_scan": dataset.corrupt_scan,
    });
    let text = format!(
        "BIDS dataset of {} in {}; masks and tissues in {}",
        counted(subjects.len(), "head"),
        shown(folder),
        shown(&derivatives)
    );
    runner.report(&report, &text);
    Ok(())
}

/// Computes and writes the files of a head, all or none of them.
fn save(
    subject: &Subject,
    folder: &Path,
    options: &Options,
    runner: &mut Runner,
) -> Result<Images, Failure> {
    let images = subject.images(runner)?;
    let derivatives = folder.join(DERIVATIVES);
    let raw = |part: &str, rest: &str| folder.join(subject.file(part, rest));
    let derived = |part: &str, rest: &str| derivatives.join(subject.file(part, rest));
    for base in [folder, &derivatives] {
        for part in ["dwi", "anat"] {
            io::atomic::make_folder(&base.join(&subject.name).join(part)).map_err(failed)?;
        }
    }
    let command = format!(
        "arcuate phantom --seed {}{}",
        subject.head.seed,
        crate::parameters::arguments(&subject.params)
    );
    let set = io::atomic::PendingSet::begin();
    let volumes = [
        (&images.dwi, raw("dwi", "dwi.nii.gz")),
        (&images.t1, raw("anat", "T1w.nii.gz")),
        (&images.tissue, derived("dwi", "desc-tissue_dseg.nii.gz")),
        (&images.bundle, derived("dwi", "desc-bundle_dseg.nii.gz")),
    ];
    for (volume, path) in volumes {
        runner.run(SaveVolume {
            source: None,
            volume: volume.clone(),
            path,
            command: command.clone(),
        })?;
    }
    runner.run(SaveMask {
        mask: images.brain.clone(),
        path: derived("dwi", "desc-brain_mask.nii.gz"),
        command,
    })?;
    let [bval, bvec] = ["dwi.bval", "dwi.bvec"].map(|rest| raw("dwi", rest));
    io::gradients::save(&bval, &bvec, &images.gradients, &images.dwi.grid).map_err(failed)?;
    let xfm = derived("anat", "from-phantom_to-T1w_mode-image_xfm.txt");
    io::affine::save_itk(&xfm, subject.tilt).map_err(failed)?;
    let sidecar = json!({
        "Manufacturer": "None (synthetic)", "MagneticFieldStrength": 3, "EchoTime": 0.09,
        "RepetitionTime": 8.0, "FlipAngle": 90, "PhaseEncodingDirection": "j",
        "TotalReadoutTime": 0.05, "Synthetic": true, "Seed": subject.head.seed, "SNR": subject.params.snr,
    });
    write_json(&raw("dwi", "dwi.json"), &sidecar)?;
    let sidecar = json!({
        "Manufacturer": "None (synthetic)", "MagneticFieldStrength": 3, "Synthetic": true,
        "Seed": options.seed,
    });
    write_json(&raw("anat", "T1w.json"), &sidecar)?;
    set.rename().map_err(failed)?;
    Ok(images)
}

fn write_json(path: &Path, value: &serde_json::Value) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    io::atomic::write_text(path, &text).map_err(failed)
}

/// The names of the labels, which all maps of the dataset inherit.
fn save_label_tables(derivatives: &Path, images: &Images) -> Result<(), Failure> {
    let tables = [
        ("desc-tissue_dseg.tsv", &images.tissue_names),
        ("desc-bundle_dseg.tsv", &images.bundle_names),
    ];
    for (file, names) in tables {
        let mut text = "index\tname\tcolor\n".to_owned();
        for (number, name) in names.iter().filter(|(number, _)| *number > 0) {
            let [r, g, b] = CATEGORIES[usize::from(*number) % CATEGORIES.len()];
            // Writing to a string does not fail.
            let _ = writeln!(text, "{number}\t{name}\t#{r:02x}{g:02x}{b:02x}");
        }
        io::atomic::write_text(&derivatives.join(file), &text).map_err(failed)?;
    }
    Ok(())
}

fn save_descriptions(folder: &Path, subjects: &[Subject]) -> Result<(), Failure> {
    let generated = json!([{
        "Name": "Arcuate", "Version": env!("CARGO_PKG_VERSION"), "Description": "arcuate phantom --bids",
    }]);
    let derivatives = json!({
        "Name": "Masks, labels and transforms of synthetic heads", "BIDSVersion": BIDS_VERSION,
        "DatasetType": "derivative", "GeneratedBy": generated, "License": "CC0",
    });
    write_json(
        &folder.join(DERIVATIVES).join("dataset_description.json"),
        &derivatives,
    )?;
    let readme = "# Synthetic heads\n\nMade by `arcuate phantom --bids`; no person was scanned. The heads differ in shape, \
                  tilt, noise and shells. `derivatives/phantom` has brain masks, label maps and, for each head, the \
                  affine from the space of the untilted head (`phantom`) to that of the scan.\n";
    io::atomic::write_text(&folder.join("README.md"), readme).map_err(failed)?;
    let mut table = "participant_id\tseed\tsnr\tshells\ttilt_x\ttilt_y\ttilt_z\n".to_owned();
    for subject in subjects {
        let [x, y, z] = subject.angles_deg;
        let snr = subject.params.snr;
        let snr = snr.map_or_else(|| "n/a".to_owned(), |snr| snr.to_string());
        // Writing to a string does not fail.
        let _ = writeln!(
            table,
            "{}\t{}\t{snr}\t{}\t{x:.2}\t{y:.2}\t{z:.2}",
            subject.name,
            subject.head.seed,
            subject.params.shells_text()
        );
    }
    io::atomic::write_text(&folder.join("participants.tsv"), &table).map_err(failed)?;
    let tilt = |axis: &str| json!({"Description": format!("Turn of the head about the {axis} axis"), "Units": "degree"});
    let columns = json!({
        "seed": {"Description": "Seed of the head's shape and noise"},
        "snr": {"Description": "Signal of white matter without weighting, divided by the standard deviation of the noise"},
        "shells": {"Description": "b-value in s/mm² and number of directions of each shell"},
        "tilt_x": tilt("x"), "tilt_y": tilt("y"), "tilt_z": tilt("z"),
    });
    write_json(&folder.join("participants.json"), &columns)?;
    let description = json!({
        "Name": "Synthetic heads", "BIDSVersion": BIDS_VERSION, "DatasetType": "raw", "License": "CC0",
        "Authors": ["arcuate phantom"], "GeneratedBy": generated,
    });
    write_json(&folder.join("dataset_description.json"), &description)
}
