//! `arcuate region`: the window's operations on regions, with masks and label maps.

mod statistics;

use super::options::{GivenParameters, ValueError, not_reversed, shape, whole};
use super::output::shown;
use super::runner::{Failure, Runner};
use super::typed::typed_command;
use crate::data::text::{counted, file_stem};
use crate::data::{Grid, Mask, Shape, Volume, VolumeKind};
use crate::solvers::region::{Change, Combine, Fill};
use crate::state::core::colours::CATEGORIES;
use crate::state::files::jobs::SaveMask;
use crate::state::files::jobs::open::{Loaded, OpenFile, Opened};
use crate::state::regions::jobs::labels::{CountLabels, MakeLabelRegions};
use crate::state::regions::jobs::make::{MakeRegion, RegionOperation};
use crate::state::regions::jobs::save::SaveLabels;
use crate::state::regions::recipe::ShapeSpec;
use glam::DVec3;
use serde_json::json;
use statistics::StatisticsOptions;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  arcuate region --image fa.nii.gz --threshold 0.3..1 --out white.nii.gz
  arcuate region --image t1.nii.gz --fill -21,-14,8 --tolerance 20 --out ventricle.nii.gz
  arcuate region --image aparc.nii.gz --label 1024 --label 1022 --grow 2 --out motor.nii.gz
  arcuate region --image dwi.nii.gz --union sphere:-24,-18,8,5 --subtract box:0,0,0,3,80,80 --out seed.nii.gz
  arcuate region --union mask:a.nii.gz --intersect mask:b.nii.gz --smooth 4 --out both.nii.gz
  arcuate region --union mask:drawn.nii.gz --interpolate axial --out whole.nii.gz
  arcuate region --union mask:brain.nii.gz --keep-largest --fill-holes --out one.nii.gz
  arcuate region --as-labels --union mask:a.nii.gz --union mask:b.nii.gz --out labels.nii.gz
  arcuate region --union mask:pathway.nii.gz --stats fa.nii.gz --stats md.nii.gz --csv values.csv

The steps run in this order, whatever the order of the options: values of the image (or nothing), then --union, --intersect,
--subtract, --interpolate, --grow, --smooth, --keep-largest and --remove-below, --fill-holes. The result has the grid of the
image, or otherwise that of the first mask, or of the first image of --stats. --stats measures images within the result: a
voxel of the region takes the value of the image's voxel that contains its centre.";

#[derive(clap::Args, Debug)]
#[command(
    after_help = EXAMPLES,
    mut_arg("tolerance", |arg| arg.requires("fill")),
    mut_arg("at-most", |arg| arg.requires("fill")),
)]
pub struct Options {
    /// Image whose values are used, and whose grid the region takes
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Volume of the image, counted from 0
    #[arg(long, value_name = "N", default_value = "0", requires = "image", allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub volume: usize,
    /// Voxels with values from LOW to HIGH, both included
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true, value_parser = range, requires = "image", conflicts_with_all = ["fill", "label"])]
    pub threshold: Option<(f32, f32)>,
    /// Voxels connected to the one at this world point, mm
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true, value_parser = point, requires = "image", requires = "tolerance", conflicts_with = "label")]
    pub fill: Option<DVec3>,
    #[command(flatten)]
    pub filling: GivenParameters<Fill>,
    /// Voxels with this whole number; may be given several times
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        requires = "image",
        value_parser = label_number
    )]
    pub label: Vec<i64>,
    /// Add a region: sphere:x,y,z,radius, box:x,y,z,hx,hy,hz or mask:FILE
    #[arg(long, value_name = "REGION")]
    pub union: Vec<ShapeSpec>,
    /// Keep only what also lies in a region
    #[arg(long, value_name = "REGION")]
    pub intersect: Vec<ShapeSpec>,
    /// Subtract a region
    #[arg(long, value_name = "REGION")]
    pub subtract: Vec<ShapeSpec>,
    #[command(flatten)]
    pub change: GivenParameters<Change>,
    /// Write the regions of --union as the numbers 1, 2, … of one image
    #[arg(long, requires = "union", conflicts_with_all = ["threshold", "fill", "label", "intersect", "subtract", "interpolate", "grow", "smooth", "keep-largest", "remove-below", "fill-holes"])]
    pub as_labels: bool,
    /// Mask or label map to write: .nii.gz, .nii, .mif or .mif.gz
    #[arg(long, value_name = "FILE", required_unless_present = "stats")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub statistics: StatisticsOptions,
}

pub fn range(text: &str) -> Result<(f32, f32), ValueError> {
    let ends = text.split_once("..");
    let number = |t: &str, otherwise: f32| match t {
        "" => Some(otherwise),
        t => t.parse::<f32>().ok().filter(|v| !v.is_nan()),
    };
    let parsed =
        ends.and_then(|(l, h)| Some((number(l, f32::NEG_INFINITY)?, number(h, f32::INFINITY)?)));
    not_reversed(text, parsed)?;
    parsed.ok_or_else(|| ValueError::new("LOW..HIGH as in 0.3..1 or 0.3..", text))
}

pub fn point(text: &str) -> Result<DVec3, ValueError> {
    let numbers: Vec<f64> = text
        .split(',')
        .filter_map(|n| n.trim().parse().ok())
        .collect();
    let finite = numbers.iter().all(|n: &f64| n.is_finite());
    match numbers.as_slice() {
        &[x, y, z] if finite && text.split(',').count() == 3 => Ok(DVec3::new(x, y, z)),
        _ => Err(ValueError::new("X,Y,Z in world millimetres", text)),
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let source = options.threshold.is_some() || options.fill.is_some() || !options.label.is_empty();
    if !source && options.union.is_empty() {
        return Err(Failure::usage(
            "The region has no source of voxels: add --threshold, --label, --fill or --union",
        ));
    }
    let only_of_fill = ["tolerance", "at-most"];
    let unused = only_of_fill
        .into_iter()
        .find(|name| options.filling.has(name));
    if let Some(name) = unused.filter(|_| options.fill.is_none()) {
        return Err(Failure::usage(format!(
            "Found --{name}, which has no effect without --fill: add --fill, or leave it out"
        )));
    }
    if let Some(out) = &options.out {
        runner.may_make(out)?;
        if options.as_labels {
            runner.may_make(&SaveLabels::table(out))?;
        }
    }
    options.statistics.check(runner)?;
    let volume = match &options.image {
        Some(path) => Some(open(path, options.volume, runner)?),
        None => None,
    };
    let added = shapes(&options.union)?;
    let of_mask = added.iter().find_map(|s| match &**s {
        Shape::Mask(mask) => Some(mask.grid.clone()),
        _ => None,
    });
    let measured = options.statistics.images(runner)?;
    let grid = volume
        .as_ref()
        .map(|v| v.grid.clone())
        .or(of_mask)
        .or(measured.first().map(|v| v.grid.clone()))
        .ok_or_else(|| {
            Failure::usage(
                "There is no grid: name an --image, or add a mask with --union mask:FILE",
            )
        })?;
    if options.as_labels {
        let out = options.out.clone().unwrap_or_default();
        return save_labels(options, &out, (added, grid), runner);
    }
    let values = volume.as_ref().map(|v| from_values(options, v, runner));
    let mut mask = match values {
        Some(values) => values?,
        None => Mask::empty(&grid),
    };
    let others = [
        (Combine::Union, added),
        (Combine::Intersection, shapes(&options.intersect)?),
        (Combine::Difference, shapes(&options.subtract)?),
    ];
    for (operation, shapes) in others {
        for other in shapes {
            let base = Arc::new(Shape::Mask(mask));
            let grid = grid.clone();
            mask = make(
                RegionOperation::Combine {
                    operation,
                    base,
                    other,
                    grid,
                },
                runner,
            )?;
        }
    }
    let change = options.change.params()?;
    if change != Change::defaults() {
        let base = Arc::new(Shape::Mask(mask));
        let grid = grid.clone();
        mask = make(RegionOperation::Change { base, grid, change }, runner)?;
    }
    if mask.count() == 0 {
        let sentence =
            "The region has no voxel, expected at least one; widen its limits or its shapes";
        return Err(Failure::new(match &options.out {
            Some(out) => format!("{sentence}: {}", out.display()),
            None => sentence.to_owned(),
        }));
    }
    let (voxels, ml) = (mask.count(), mask.volume_ml());
    let images = options.statistics.measure(&mask, measured, runner)?;
    if let Some(path) = &options.out {
        runner.run(SaveMask {
            mask,
            path: path.clone(),
            command: typed_command(),
        })?;
    }
    let StatisticsOptions { csv, histogram, .. } = &options.statistics;
    let value = json!({
        "command": "region", "voxels": voxels, "volume_ml": ml, "file": options.out,
        "statistics": statistics::json(&images), "table": csv, "histograms": histogram,
    });
    let mut text = format!("{}, {ml:.2} ml", counted(voxels, "voxel"));
    if let Some(out) = &options.out {
        let _ = write!(text, ": {}", shown(out));
    }
    let _ = write!(text, "\n{}", statistics::text(&images));
    for path in csv.iter().chain(histogram) {
        let _ = writeln!(text, "{}", shown(path));
    }
    runner.report(&value, &text);
    Ok(())
}

fn open(path: &Path, frame: usize, runner: &mut Runner) -> Result<Volume, Failure> {
    let volume = match runner.run(OpenFile::new(path.to_owned()))?.0 {
        Opened::File(file) => match file.loaded {
            Loaded::Scan { dwi, .. } => Some(dwi),
            Loaded::Image(volume) => Some(volume),
            Loaded::Mask(mask) => Some(mask.image().clone()),
            Loaded::Tractogram(_) | Loaded::InPlace(_) => None,
        },
        Opened::Folder(_) => None,
    };
    let refused = |found: &str, expected: &str| {
        Err(Failure::new(format!(
            "Found {found}, expected {expected}; name another: {}",
            path.display()
        )))
    };
    match volume {
        None => refused("no image", "one with a number in each voxel"),
        Some(v) if v.kind == VolumeKind::Rgb => {
            refused("a colour image", "one with a number in each voxel")
        }
        Some(v) if frame >= v.frames => refused(
            &format!("volume {frame} of an image with {}", v.frames),
            "a number below that",
        ),
        Some(v) => Ok(v),
    }
}

fn shapes(specs: &[ShapeSpec]) -> Result<Vec<Arc<Shape>>, Failure> {
    specs
        .iter()
        .map(|spec| Ok(Arc::new(shape(spec)?)))
        .collect()
}

fn make(operation: RegionOperation, runner: &mut Runner) -> Result<Mask, Failure> {
    let job = MakeRegion {
        operation,
        serial: 0,
    };
    let (computed, _) = runner.run(job)?;
    if let Some(note) = computed.note {
        warning!("{note}");
    }
    Ok(computed.mask)
}

/// `None` if only the image's grid was requested.
fn from_values(options: &Options, volume: &Volume, runner: &mut Runner) -> Result<Mask, Failure> {
    let (volume, frame) = (volume.clone(), options.volume);
    if let Some((low, high)) = options.threshold {
        let what = RegionOperation::Threshold {
            volume,
            frame,
            low,
            high,
        };
        return make(what, runner);
    }
    if let Some(seed) = options.fill {
        let fill = options.filling.params()?;
        let what = RegionOperation::Fill {
            volume,
            frame,
            seed,
            tolerance: fill.tolerance as f32,
            max_ml: fill.max_ml,
            base: None,
        };
        return make(what, runner);
    }
    let mut mask = Mask::empty(&volume.grid);
    if options.label.is_empty() {
        return Ok(mask);
    }
    let grid = volume.grid.clone();
    for other in labels(&options.label, volume, frame, runner)? {
        let base = Arc::new(Shape::Mask(mask));
        let (other, grid) = (Arc::new(Shape::Mask(other)), grid.clone());
        let operation = Combine::Union;
        mask = make(
            RegionOperation::Combine {
                operation,
                base,
                other,
                grid,
            },
            runner,
        )?;
    }
    Ok(mask)
}

fn label_number(text: &str) -> Result<i64, ValueError> {
    let number = text.parse();
    number.map_err(|_| ValueError::new("the whole number of a label", text))
}

fn labels(
    requested: &[i64],
    volume: Volume,
    frame: usize,
    runner: &mut Runner,
) -> Result<Vec<Mask>, Failure> {
    let count = CountLabels {
        volume: volume.clone(),
        frame,
    };
    let (numbers, _) = runner.run(count)?;
    let numbers = numbers?;
    let mut labels = Vec::new();
    for label in requested {
        let label_count = numbers.0.iter().find(|f| f.number == *label);
        let known_labels = || {
            if numbers.0.is_empty() {
                return "no label but 0; choose another image".to_owned();
            }
            let some = numbers.0.iter().take(12);
            let some: Vec<String> = some
                .map(|label_count| label_count.number.to_string())
                .collect();
            let more = if numbers.0.len() > 12 { " …" } else { "" };
            format!("{}{more}; choose one of them", some.join(" "))
        };
        labels.push(*label_count.ok_or_else(|| {
            Failure::new(format!(
                "The image has no label {label}, it has {}",
                known_labels()
            ))
        })?);
    }
    let make = MakeLabelRegions {
        volume,
        frame,
        labels,
        layer: 0,
        role: crate::data::Role::Mask,
    };
    let (masks, _) = runner.run(make)?;
    Ok(masks.into_iter().map(|(_, mask)| mask).collect())
}

fn save_labels(
    options: &Options,
    out: &Path,
    (shapes, grid): (Vec<Arc<Shape>>, Arc<Grid>),
    runner: &mut Runner,
) -> Result<(), Failure> {
    let name = |spec: &ShapeSpec| match spec {
        ShapeSpec::Mask(path) => file_stem(path),
        other => other.to_string(),
    };
    let names: Vec<String> = options.union.iter().map(name).collect();
    let regions = names.iter().zip(shapes).enumerate();
    let regions = regions.map(|(i, (n, s))| (n.clone(), CATEGORIES[i % CATEGORIES.len()], s));
    let save = SaveLabels {
        regions: regions.collect(),
        own: Vec::new(),
        grid,
        path: out.to_owned(),
        command: "arcuate region --as-labels".to_owned(),
    };
    let (saved, _) = runner.run(save)?;
    let files = [out.to_owned(), SaveLabels::table(out)];
    let value = json!({"command": "region", "labels": names, "files": files});
    runner.report(&value, &format!("Saved {}: {}", saved.content, shown(out)));
    Ok(())
}
