//! `arcuate phantom`: the built-in head as files, with its truth.

use super::options::{positive, whole, whole_from};
use super::output::shown;
use super::runner::{Failure, Runner};
use crate::compute::{Cancelled, Control, memory};
use crate::data::labels::Labels;
use crate::data::text::number;
use crate::io;
use crate::jobs::Values;
use crate::phantom::{Head, PictureOptions, ScanOptions, Shell, oblique_grid, scan_grid};
use crate::state::files::jobs::{SaveMask, SaveTractogram, SaveVolume};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arcuate phantom --out head
  arcuate phantom --seed 7 --shells 1000:30,2000:60 --b0 8 --spacing 1.5 --snr 20 --out head

Files: dwi.nii.gz with .bval and .bvec, brain_mask, tissue and bundle labels with their names (.txt), on the scan's
grid; t1, t1_tumour with tumour_core, tumour_rim and tumour_oedema, on an oblique 1 mm grid; fibres.tck, the true
fibres; truth.json, the ground truth. All are synthetic: no person was scanned. With --scan-only: dwi, brain_mask, fibres.tck and
truth.json, in a fraction of the time.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Seed of the head: each seed gives another head
    #[arg(long, default_value = "1", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub seed: u64,
    /// Unweighted signal of white matter divided by the σ of the noise, or off
    #[arg(long, value_name = "SNR|off", default_value = "30", value_parser = snr)]
    pub snr: Snr,
    /// b in s/mm² and number of directions of each shell
    #[arg(long, value_name = "B:N,…", value_delimiter = ',', default_value = "1000:30", value_parser = shell)]
    pub shells: Vec<(f64, usize)>,
    /// Volumes with b = 0
    #[arg(long, value_name = "N", default_value = "6", value_parser = whole_from(1, 200u16))]
    pub b0: u16,
    /// Voxel size of the scan, mm
    #[arg(long, value_name = "MM", default_value = "2", allow_negative_numbers = true, value_parser = positive)]
    pub spacing: f64,
    /// Write only the scan with its gradients, mask and truth: no labels, no T1, no tumour
    #[arg(long)]
    pub scan_only: bool,
    /// Folder for the files; created if missing
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Snr(Option<f64>);

/// White matter far below its noise; no scanner is worse.
const LEAST_SNR: f64 = 0.001;

fn snr(text: &str) -> Result<Snr, String> {
    if text == "off" {
        return Ok(Snr(None));
    }
    // With more noise than this, values overflow single precision, and every voxel becomes infinite.
    let found = positive(text).ok().filter(|v| *v >= LEAST_SNR);
    let wrong = || format!("expected a number of at least {LEAST_SNR} or off, found \"{text}\"");
    found.map(|v| Snr(Some(v))).ok_or_else(wrong)
}

fn shell(text: &str) -> Result<(f64, usize), String> {
    let parsed = text
        .split_once(':')
        .and_then(|(b, n)| Some((positive(b).ok()?, n.parse().ok()?)));
    let valid = parsed.filter(|&(b, n)| b <= 20_000.0 && (1..=1000).contains(&n));
    valid.ok_or_else(|| format!("expected B:N as in 1000:30, found \"{text}\""))
}

/// All files that a run writes.
fn files(scan_only: bool) -> impl Iterator<Item = &'static str> {
    const SCAN: [&str; 6] = [
        "dwi.nii.gz",
        "dwi.bval",
        "dwi.bvec",
        "brain_mask.nii.gz",
        "fibres.tck",
        "truth.json",
    ];
    const PICTURES: [&str; 9] = [
        "labels_tissue.nii.gz",
        "labels_tissue.txt",
        "labels_bundle.nii.gz",
        "labels_bundle.txt",
        "t1.nii.gz",
        "t1_tumour.nii.gz",
        "tumour_core.nii.gz",
        "tumour_rim.nii.gz",
        "tumour_oedema.nii.gz",
    ];
    let pictures = if scan_only { &[][..] } else { &PICTURES };
    SCAN.iter().chain(pictures).copied()
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let spacing = options.spacing;
    let wrong = if spacing > 10.0 {
        "larger than parts of the head"
    } else {
        "so small that the scan would be too large"
    };
    let wrong = format!(
        "Voxels of {} mm are {wrong}, expected --spacing from 0.5 to 10 mm",
        number(spacing)
    );
    let grid = scan_grid(options.spacing).filter(|_| (0.5..=10.0).contains(&options.spacing));
    let (Some(grid), Some(oblique)) = (grid, oblique_grid()) else {
        return Err(Failure::usage(wrong));
    };
    let at = |name: &str| options.out.join(name);
    for name in files(options.scan_only) {
        runner.may_write(&at(name))?;
    }
    let _made = super::options::make_folder(&options.out)?;

    let shells = options.shells.iter();
    let scan = ScanOptions {
        grid: grid.clone(),
        b0_count: usize::from(options.b0),
        shells: shells
            .map(|&(b_s_per_mm2, directions)| Shell {
                b_s_per_mm2,
                directions,
            })
            .collect(),
        snr: options.snr.0,
        noise_seed: options.seed,
    };
    let picture = PictureOptions {
        snr: Some(40.0),
        shading: 0.08,
        noise_seed: options.seed,
    };
    // Labels and masks take one or two bytes per voxel.
    let volumes = scan.gradients().directions.len() + 3;
    let pictures = if options.scan_only {
        0
    } else {
        2 * oblique.voxel_count()
    };
    memory::claim_for::<f32>("The head", grid.voxel_count() * volumes + pictures, 1)
        .map_err(|e| Failure::new(e.to_string()))?;
    let control = Control::new();
    let head = Head::new(options.seed);
    let cancelled = |e: Cancelled| Failure::new(e.to_string());
    let made = runner.backend.install(|| {
        Ok((
            head.diffusion_scan(&scan, &control)?,
            head.brain_mask(&grid, &control)?,
        ))
    });
    let ((dwi, gradients), brain) = made.map_err(cancelled)?;
    let pictures = (!options.scan_only).then(|| {
        runner.backend.install(|| {
            Ok((
                head.labels(&grid, &control)?,
                head.t1(&oblique, &picture, &control)?,
                head.tumour_t1(&oblique, &picture, &control)?,
            ))
        })
    });
    let pictures = pictures.transpose().map_err(cancelled)?;

    let command = format!("arcuate phantom --seed {}", options.seed);
    let mut volumes = vec![("dwi", &dwi)];
    let mut masks = vec![("brain_mask", &brain)];
    if let Some((labels, t1, tumour)) = &pictures {
        volumes.extend([
            ("labels_tissue", &labels.tissue),
            ("labels_bundle", &labels.bundle),
            ("t1", &t1.image),
            ("t1_tumour", &tumour.picture.image),
        ]);
        masks.extend([
            ("tumour_core", &tumour.core),
            ("tumour_rim", &tumour.rim),
            ("tumour_oedema", &tumour.oedema),
        ]);
    }
    for (name, volume) in volumes {
        let path = at(&format!("{name}.nii.gz"));
        runner.run(SaveVolume {
            from: None,
            volume: volume.clone(),
            path,
            command: command.clone(),
        })?;
    }
    for (name, mask) in masks {
        let path = at(&format!("{name}.nii.gz"));
        runner.run(SaveMask {
            mask: mask.clone(),
            path,
            command: command.clone(),
        })?;
    }
    io::gradients::save(&at("dwi.bval"), &at("dwi.bvec"), &gradients, &grid)
        .map_err(|e| Failure::new(e.to_string()))?;
    let tractogram = head.true_fibres(60);
    let fibres = tractogram.len();
    runner.run(SaveTractogram {
        tractogram,
        path: at("fibres.tck"),
        command: command.clone(),
        values: Values::default(),
    })?;

    if let Some((labels, ..)) = &pictures {
        for (name, names) in [
            ("labels_tissue.nii.gz", &labels.tissue_names),
            ("labels_bundle.nii.gz", &labels.bundle_names),
        ] {
            let colours = Labels::default();
            let rows = names.iter().filter(|(number, _)| *number > 0);
            let rows = rows.map(|(n, name)| {
                let number = u32::from(*n);
                (number, name.as_str(), colours.colour(number))
            });
            io::label_table::save(&at(name), rows).map_err(|e| Failure::new(e.to_string()))?;
        }
    }

    let names = |list: &[(u16, String)]| {
        list.iter()
            .map(|(n, name)| (n.to_string(), json!(name)))
            .collect::<serde_json::Map<_, _>>()
    };
    let mut report = json!({
        "command": "phantom", "seed": options.seed, "snr": options.snr.0, "folder": options.out,
        "gradients": gradients.summary(), "fibres": fibres, "fibres_per_bundle": 60,
    });
    if let Some((labels, _, tumour)) = &pictures {
        report["tissue_labels"] = json!(names(&labels.tissue_names));
        report["bundle_labels"] = json!(names(&labels.bundle_names));
        report["tumour_centre_mm"] = json!(tumour.centre.to_array());
    }
    let text = serde_json::to_string_pretty(&report).unwrap_or_default();
    io::atomic::write_text(&at("truth.json"), &text).map_err(|e| Failure::new(e.to_string()))?;
    let message = format!(
        "Head {} in {}: scan ({}){}, {fibres} true fibres",
        options.seed,
        shown(&options.out),
        gradients.summary(),
        if options.scan_only {
            ""
        } else {
            ", labels, T1, T1 with tumour"
        }
    );
    runner.report(&report, &message);
    Ok(())
}
