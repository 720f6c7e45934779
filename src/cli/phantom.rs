//! `arcuate phantom`: a built-in head or block as files, with its truth.

mod dataset;
mod truth;

use super::options::{GivenParameters, ValueError, whole};
use super::output::shown;
use super::runner::{Failure, Runner};
use crate::compute::{Cancelled, Control, memory};
use crate::data::labels::Labels;
use crate::data::text::{count, counted, number};
use crate::data::{BuiltInPhantom, Gradients, Grid, Mask, PhantomKind, Volume};
use crate::io;
use crate::jobs::ValueNames;
use crate::parameters::arguments;
use crate::phantom::{
    self, Head, Picture, PictureOptions, SPACINGS_MM, ScanParams, TumourPicture, picture_grid_of,
    scan_grid_of,
};
use crate::state::command_line::phantom_option;
use crate::state::files::jobs::{SaveMask, SaveTractogram, SaveVolume};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  arcuate phantom --out head
  arcuate phantom --seed 7 --shells 1000:30,2000:60 --b0 8 --spacing 1.5 --snr 20 --out head
  arcuate phantom --crossing --scan-only --out head
  arcuate phantom --kind helix --snr 20 --out helix
  arcuate phantom --bids heads --subjects 8 --missing-bvec 7 --corrupt-scan 8

Files: dwi.nii.gz with .bval and .bvec, brain_mask, tissue and bundle labels with their names (.txt), on the scan's
grid; t1, t1_tumour with tumour_core, tumour_rim and tumour_oedema, on an oblique 1 mm grid; fibres.tck, the true
fibres; truth.json, how the head was made. All are synthetic: no person was scanned. With --scan-only: dwi, brain_mask,
fibres.tck and truth.json, in a fraction of the time.

With --crossing, bundles fill the same voxels in equal shares, two or three at a time, and end apart from each other. The
further files are what arcuate score --truth reads: bundles/*.tck, 200 true fibres of each bundle; ends.nii.gz with the
names of its labels (.txt), where each bundle starts and ends; corridors/*.nii.gz, the voxels up to 4 mm around each
bundle; truth.json, which names them; and 5tt.nii.gz, the fractions of five tissues for MRtrix's tckgen -act.

The other kinds are blocks of grey matter with bundles of simple courses, and have the same files without a tumour: helix
(2.5 turns with a radius and a pitch of 24 mm), diagonal (straight, between two corners), u-fibre (an arc with a radius of
20 mm and straight legs), planar (seven bundles that cross, touch and fan out in a plane).

With --bids, a BIDS dataset: sub-01, sub-02, … with a scan and a T1 each, made from the seeds SEED, SEED + 1, …, on coarse
grids (--spacing 4); derivatives/phantom has brain masks, label maps and the affine from the space of the untilted head.
--snr and --shells make all heads alike in these.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Seed: each seed gives another head, and other noise
    #[arg(long, default_value = "1", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub seed: u64,
    #[command(flatten)]
    pub params: GivenParameters<ScanParams>,
    /// The head whose bundles cross in equal shares, with the files that arcuate score reads: the same as --kind crossing
    #[arg(long, conflicts_with = "kind")]
    pub crossing: bool,
    /// Head (plain, crossing) or block (helix, diagonal, u-fibre, planar)
    #[arg(long, value_name = "KIND", default_value = PhantomKind::Plain.key(), value_parser = kind)]
    pub kind: PhantomKind,
    /// Write only the scan with its gradients, mask and truth: no labels, no T1, no tumour
    #[arg(long)]
    pub scan_only: bool,
    /// Folder for the files; created if missing
    #[arg(long, value_name = "FOLDER", required_unless_present = "bids")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub dataset: dataset::DatasetOptions,
}

fn kind(text: &str) -> Result<PhantomKind, ValueError> {
    PhantomKind::from_key(text).ok_or_else(|| {
        let all = PhantomKind::ALL.map(|kind| kind.key());
        ValueError::new(format!("one of {}", all.join(", ")), text)
    })
}

/// Larger voxels contain whole bundles of the crossing head.
const LARGEST_CROSSING_MM: f64 = 3.0;

/// All files that a run writes, besides those of the truth.
fn files(scan_only: bool, kind: PhantomKind) -> impl Iterator<Item = &'static str> {
    const SCAN: [&str; 6] = [
        "dwi.nii.gz",
        "dwi.bval",
        "dwi.bvec",
        "brain_mask.nii.gz",
        "fibres.tck",
        io::truth::FILE,
    ];
    const PICTURES: [&str; 5] = [
        "labels_tissue.nii.gz",
        "labels_tissue.txt",
        "labels_bundle.nii.gz",
        "labels_bundle.txt",
        "t1.nii.gz",
    ];
    const TUMOUR: [&str; 4] = [
        "t1_tumour.nii.gz",
        "tumour_core.nii.gz",
        "tumour_rim.nii.gz",
        "tumour_oedema.nii.gz",
    ];
    let pictures = if scan_only { &[][..] } else { &PICTURES };
    let tumour = if scan_only || !kind.is_head() {
        &[][..]
    } else {
        &TUMOUR
    };
    SCAN.iter().chain(pictures).chain(tumour).copied()
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    if let Some(folder) = &options.dataset.bids {
        return dataset::run(folder, options, runner);
    }
    options.dataset.check_unused()?;
    let kind = options.phantom().kind;
    let params = options.params.or_defaults(ScanParams::defaults_for(kind))?;
    if !kind.is_plain() && params.spacing_mm > LARGEST_CROSSING_MM {
        return Err(Failure::usage(format!(
            "Voxels of {} mm are larger than bundles, expected --spacing from {} to {LARGEST_CROSSING_MM} mm with \
             {}",
            number(params.spacing_mm),
            number(SPACINGS_MM.low),
            phantom_option(kind).trim_start()
        )));
    }
    let grids = grids(kind, &params)?;
    let at = |name: &str| options.folder().join(name);
    let head = Head::built_in(options.phantom());
    for name in files(options.scan_only, kind) {
        runner.may_write(&at(name))?;
    }
    let _folder = super::options::make_folder(options.folder())?;
    let mut subfolders = Vec::new();
    if !kind.is_plain() {
        for file in truth::files(&head) {
            runner.may_write(&options.folder().join(file))?;
        }
        for folder in truth::FOLDERS {
            subfolders.push(super::options::make_folder(&at(folder))?);
        }
    }
    // A scan without its gradients would be taken for another kind of image, and part of one head beside part of
    // another for one head: whatever interrupts the command leaves the old files or all of the new ones.
    let set = io::atomic::PendingSet::begin();

    let images = options.images(&params, &head, &grids, runner)?;
    options.save(&params, &images, runner)?;
    if let Some(truth) = &images.truth {
        truth.save(&head, (options, &params), runner)?;
    }
    let failed = |e: io::Error| Failure::new(e.to_string());
    let gradients = &images.gradients;
    io::gradients::save(&at("dwi.bval"), &at("dwi.bvec"), gradients, &grids.scan)
        .map_err(failed)?;
    let tractogram = head.true_fibres(options.fibres_per_bundle());
    let fibres = tractogram.len();
    runner.run(SaveTractogram {
        tractogram,
        path: at("fibres.tck"),
        command: options.command(&params),
        values: ValueNames::default(),
    })?;
    if let Some(pictures) = &images.pictures {
        for (name, names) in [
            ("labels_tissue.nii.gz", &pictures.labels.tissue_names),
            ("labels_bundle.nii.gz", &pictures.labels.bundle_names),
        ] {
            let colours = Labels::default();
            let rows = names.iter().filter(|(number, _)| *number > 0);
            let rows = rows.map(|(n, name)| {
                let number = u32::from(*n);
                (number, name.as_str(), colours.colour(number))
            });
            io::label_table::save(&at(name), rows).map_err(failed)?;
        }
    }

    let truth = options.truth(&params, &head, &images, fibres);
    let text = serde_json::to_string_pretty(&truth).unwrap_or_default();
    io::atomic::write_text(&at(io::truth::FILE), &text).map_err(failed)?;
    set.rename().map_err(failed)?;
    let message = format!(
        "{} {} in {}: scan ({}){}, {} true fibres{}",
        kind.label(),
        options.seed,
        shown(options.folder()),
        gradients.summary(),
        match (options.scan_only, kind.is_head()) {
            (true, _) => "",
            (false, true) => ", labels, T1, T1 with tumour",
            (false, false) => ", labels, T1",
        },
        count(fibres as u64),
        match &images.truth {
            Some(_) => format!(
                ", end regions and corridors of {}",
                counted(head.bundles().len(), "bundle")
            ),
            None => String::new(),
        }
    );
    runner.report(&truth, &message);
    Ok(())
}

fn grids(kind: PhantomKind, params: &ScanParams) -> Result<Grids, Failure> {
    match (scan_grid_of(kind, params.spacing_mm), picture_grid_of(kind)) {
        (Some(scan), Some(picture)) => Ok(Grids { scan, picture }),
        _ => Err(Failure::usage(format!(
            "The phantom cannot be sampled with voxels of {} mm; choose another --spacing",
            number(params.spacing_mm)
        ))),
    }
}

struct Grids {
    scan: Arc<Grid>,
    /// The grid of the T1 images.
    picture: Arc<Grid>,
}

/// The images of a phantom, before they are saved.
struct Images {
    dwi: Volume,
    gradients: Gradients,
    brain: Mask,
    /// `None` with --scan-only.
    pictures: Option<Pictures>,
    /// `None` for the plain head.
    truth: Option<truth::TruthImages>,
}

struct Pictures {
    labels: phantom::Labels,
    t1: Picture,
    /// `None` for blocks.
    tumour: Option<TumourPicture>,
}

impl Options {
    /// The folder of a single phantom.
    fn folder(&self) -> &Path {
        self.out.as_deref().unwrap_or(Path::new(""))
    }

    fn phantom(&self) -> BuiltInPhantom {
        let kind = match self.crossing {
            true => PhantomKind::Crossing,
            false => self.kind,
        };
        BuiltInPhantom {
            kind,
            seed: self.seed,
        }
    }

    fn fibres_per_bundle(&self) -> usize {
        phantom::fibres_per_bundle(self.phantom().kind)
    }

    fn command(&self, params: &ScanParams) -> String {
        let kind = self.phantom().kind;
        let mut text = format!("arcuate phantom{}", phantom_option(kind));
        text += &format!(" --seed {}{}", self.seed, arguments(params));
        if self.scan_only {
            text += " --scan-only";
        }
        text
    }

    /// Computes the images, if they fit into memory.
    fn images(
        &self,
        params: &ScanParams,
        head: &Head,
        grids: &Grids,
        runner: &Runner,
    ) -> Result<Images, Failure> {
        let Grids {
            scan: grid,
            picture: picture_grid,
        } = grids;
        let scan = params.clone().options(grid.clone(), self.seed);
        let picture = PictureOptions {
            snr: Some(40.0),
            shading: 0.08,
            noise_seed: self.seed,
        };
        // Labels and masks take one or two bytes per voxel.
        let mut volumes = scan.gradients().directions.len() + 3;
        let kind = head.kind;
        if !kind.is_plain() {
            volumes += truth::TruthImages::numbers_per_voxel(head);
        }
        let pictures = if self.scan_only {
            0
        } else {
            2 * picture_grid.voxel_count()
        };
        memory::claim_for::<f32>("The phantom", grid.voxel_count() * volumes + pictures, 1)
            .map_err(|e| Failure::new(e.to_string()))?;
        let control = Control::new();
        let cancelled = |e: Cancelled| Failure::new(e.to_string());
        let simulated = runner.backend.install(|| {
            Ok((
                head.diffusion_scan(&scan, &control)?,
                head.brain_mask(grid, &control)?,
            ))
        });
        let ((dwi, gradients), brain) = simulated.map_err(cancelled)?;
        let pictures = (!self.scan_only).then(|| {
            runner.backend.install(|| {
                Ok(Pictures {
                    labels: head.labels(grid, &control)?,
                    t1: head.t1(picture_grid, &picture, &control)?,
                    tumour: match kind.is_head() {
                        true => Some(head.tumour_t1(picture_grid, &picture, &control)?),
                        false => None,
                    },
                })
            })
        });
        let truth = (!kind.is_plain()).then(|| {
            let make = || truth::TruthImages::new(head, grid, &control);
            runner.backend.install(make)
        });
        Ok(Images {
            truth: truth.transpose().map_err(cancelled)?,
            dwi,
            gradients,
            brain,
            pictures: pictures.transpose().map_err(cancelled)?,
        })
    }

    fn save(
        &self,
        params: &ScanParams,
        images: &Images,
        runner: &mut Runner,
    ) -> Result<(), Failure> {
        let mut volumes = vec![("dwi", &images.dwi)];
        let mut masks = vec![("brain_mask", &images.brain)];
        if let Some(Pictures { labels, t1, tumour }) = &images.pictures {
            volumes.extend([
                ("labels_tissue", &labels.tissue),
                ("labels_bundle", &labels.bundle),
                ("t1", &t1.image),
            ]);
            if let Some(tumour) = tumour {
                volumes.push(("t1_tumour", &tumour.picture.image));
                masks.extend([
                    ("tumour_core", &tumour.core),
                    ("tumour_rim", &tumour.rim),
                    ("tumour_oedema", &tumour.oedema),
                ]);
            }
        }
        let path = |name: &str| self.folder().join(format!("{name}.nii.gz"));
        for (name, volume) in volumes {
            runner.run(SaveVolume {
                source: None,
                volume: volume.clone(),
                path: path(name),
                command: self.command(params),
            })?;
        }
        for (name, mask) in masks {
            runner.run(SaveMask {
                mask: mask.clone(),
                path: path(name),
                command: self.command(params),
            })?;
        }
        Ok(())
    }

    /// The content of truth.json, and of the report.
    fn truth(&self, params: &ScanParams, head: &Head, images: &Images, fibres: usize) -> Value {
        let names = |list: &[(u16, String)]| {
            list.iter()
                .map(|(n, name)| (n.to_string(), json!(name)))
                .collect::<serde_json::Map<_, _>>()
        };
        let mut value = json!({
            "command": "phantom", "seed": self.seed, "snr": params.snr, "folder": self.folder(),
            "gradients": images.gradients.summary(), "fibres": fibres, "fibres_per_bundle": self.fibres_per_bundle(),
        });
        if let Some(Pictures { labels, tumour, .. }) = &images.pictures {
            value["tissue_labels"] = json!(names(&labels.tissue_names));
            value["bundle_labels"] = json!(names(&labels.bundle_names));
            if let Some(tumour) = tumour {
                value["tumour_centre_mm"] = json!(tumour.centre.to_array());
            }
        }
        if images.truth.is_some() {
            let files = truth::members(head);
            match head.kind {
                PhantomKind::Crossing => value["crossing"] = json!(true),
                kind => value["kind"] = json!(kind.key()),
            }
            value["five_tissues"] = json!(truth::TISSUES);
            value["ends"] = json!(files.ends);
            value["bundles"] = json!(files.bundles);
        }
        value
    }
}
