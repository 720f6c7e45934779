//! `arcuate segment`: a level set from spheres, masks or values, and repeated runs from their scripts.

mod repeat;
mod report;

pub(super) use repeat::repeat;

use super::options::{
    GivenParameters, ImageEnding, ValueError, make_folder, noted_volume, shape, whole,
};
use super::runner::{Failure, Runner};
use crate::data::text::counted;
use crate::data::{Mask, Shape, Volume, VolumeKind};
use crate::io;
use crate::solvers::level_set::{
    LayerSpeed, Layout, Params, Probe, RangeDoubt, RunHistory, Sphere, Start, TargetParts,
};
use crate::solvers::region;
use crate::state::files::jobs::SaveMask;
use crate::state::files::types::PhantomName;
use crate::state::regions::recipe::ShapeSpec;
use crate::state::segment::jobs::{SaveSurface, Segment, SegmentOutput, SpeedSources};
use crate::state::segment::recipe::{ScriptInputs, SegmentScript};
use crate::state::sessions::jobs::head::MakeHead;
use glam::DVec3;
use serde::Deserialize as _;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  arcuate segment t1.nii.gz --probe 21,-40,12 --add sphere:21,-40,12,6 --out tumour
  arcuate segment t1.nii.gz --target 110 --tolerance 25 --threshold 90..130 --smoothness 0.5 --steps 200 --out brain
  arcuate segment t1.nii.gz --probe 14,8,20,3 --probe -14,8,20,3 --add sphere:14,8,20,4 --add sphere:-14,8,20,4 --reference ventricles.nii.gz --out ventricles
  arcuate segment --script tumour/run.json --out again

Grey values within the tolerance of the target draw the surface outwards, others inwards; smoothness is the weight of
curvature. Files in the folder: labels.nii.gz, surface.ply (or the format of --surface), run.json. The last holds every
parameter by step number: --script repeats the run to the same voxels. Its events are sliders moved, spheres added or
cut away and regions changed during a run; you can add events by hand, in the form that the window writes.

A surface leaks if it reaches the background or the border of the image, grows again after it had come to rest, grows
into other values after it had slowed down, or multiplies its volume after it had slowed down. The run then stops, the
files hold the surface at that step, and the exit code is 3. With --json, \"leak\" holds the cause (background, border,
growth, change), the step to go back to (\"from\"), the step at which it was noticed (\"noticed\"), a point near it (\"at_mm\")
and the volume before it (\"volume_before_ml\"); it is null if nothing leaks.

Exit codes: 0 done · 1 failed · 2 wrong usage · 3 leaked.";

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum SurfaceFormat {
    Ply,
    Stl,
    Obj,
    /// GIfTI
    Gii,
}

/// The surface at the first step.
#[derive(clap::Args, Debug)]
pub struct StartOptions {
    /// Start with a sphere: sphere:x,y,z,radius
    #[arg(long, value_name = "SPHERE")]
    pub add: Vec<ShapeSpec>,
    /// Cut a sphere out of the start, and keep the surface out of it: sphere:x,y,z,radius
    #[arg(long, value_name = "SPHERE")]
    pub remove: Vec<ShapeSpec>,
    /// Start with a mask
    #[arg(long, value_name = "FILE", conflicts_with_all = ["threshold", "fill"])]
    pub mask: Option<PathBuf>,
    /// Start with the voxels with these values
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true, value_parser = super::region::range, conflicts_with = "fill")]
    pub threshold: Option<(f32, f32)>,
    /// Start with the voxels within the tolerance that are connected to a world point, mm
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true, value_parser = super::region::point)]
    pub fill: Option<DVec3>,
}

impl StartOptions {
    /// Whether any option puts voxels inside the surface.
    fn has_voxels(&self) -> bool {
        !self.add.is_empty()
            || self.mask.is_some()
            || self.threshold.is_some()
            || self.fill.is_some()
    }
}

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Image to segment
    #[arg(required_unless_present = "script", conflicts_with = "script")]
    pub image: Option<PathBuf>,
    /// Volume of the image, counted from 0
    #[arg(long, value_name = "N", default_value = "0", allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub volume: usize,
    #[arg(long, value_name = "X,Y,Z[,R]", allow_hyphen_values = true, value_parser = parse_ball, help = probe_help())]
    pub probe: Vec<(DVec3, f64)>,
    #[command(flatten)]
    pub values: GivenParameters<TargetParts>,
    #[command(flatten)]
    pub start: StartOptions,
    #[command(flatten)]
    pub params: GivenParameters<Params>,
    /// Another image whose values act as a speed
    #[arg(
        long,
        value_name = "FILE",
        requires = "layer_range",
        conflicts_with = "paper"
    )]
    pub layer: Option<PathBuf>,
    /// Values at which the surface shrinks and at which it grows
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true, value_parser = super::region::range, requires = "layer")]
    pub layer_range: Option<(f32, f32)>,
    /// Draw the surface outwards in these regions
    #[arg(long, value_name = "REGION", conflicts_with = "paper")]
    pub grow_here: Vec<ShapeSpec>,
    /// Keep the surface out of these regions
    #[arg(long, value_name = "REGION", conflicts_with = "paper")]
    pub not_here: Vec<ShapeSpec>,
    /// Largest number of steps; the run ends sooner if the surface comes to rest
    #[arg(long, value_name = "N", default_value = "1000", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub steps: u64,
    /// Continue if the surface leaks
    #[arg(long)]
    pub ignore_leaks: bool,
    /// Mask to compare with
    #[arg(long, value_name = "FILE")]
    pub reference: Option<PathBuf>,
    /// Run to repeat: the run.json of an earlier one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["volume", "steps", "ignore_leaks", "probe", "target", "tolerance", "add", "remove", "mask", "threshold", "fill", "smoothness", "intensity", "region", "edge", "edge-contrast", "layer", "layer-weight", "grow_here", "not_here", "bias", "paper", "rescaling", "redistance-every"])]
    pub script: Option<PathBuf>,
    /// Format of the surface
    #[arg(long, value_enum, default_value = "ply")]
    pub surface: SurfaceFormat,
    /// Folder for the results
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    #[command(flatten)]
    pub images: ImageEnding,
}

fn probe_help() -> String {
    format!(
        "Voxels within R (default: {}) of a world point, mm: their mean is the target; the tolerance is \
         a little under half of the contrast to the values just outside, but at least 1.5 standard deviations; where \
         it would reach the background, the target moves away from it",
        Probe::DEFAULT_RADIUS_MM
    )
}

fn parse_ball(text: &str) -> Result<(DVec3, f64), ValueError> {
    let (place, radius_mm) = match text.split(',').count() {
        4 => {
            let (place, radius) = text.rsplit_once(',').unwrap_or((text, ""));
            (place, super::options::positive(radius)?)
        }
        _ => (text, Probe::DEFAULT_RADIUS_MM),
    };
    super::region::point(place).map(|p| (p, radius_mm))
}

impl Options {
    fn files(&self) -> [PathBuf; 3] {
        let surface = match self.surface {
            SurfaceFormat::Ply => "surface.ply",
            SurfaceFormat::Stl => "surface.stl",
            SurfaceFormat::Obj => "surface.obj",
            SurfaceFormat::Gii => "surface.gii",
        };
        let labels = self.images.path(&self.out, "labels");
        [labels, self.out.join(surface), self.out.join("run.json")]
    }

    /// Target and tolerance as given, otherwise from the probes.
    fn target(&self, image: &Volume, runner: &Runner) -> Result<(f32, f32), Failure> {
        let given = self.values.params()?;
        let has = (self.values.has("target"), self.values.has("tolerance"));
        if self.probe.is_empty() {
            return Err(Failure::usage(match has {
                (true, true) => return Ok((given.target, given.tolerance)),
                (true, false) => "The segmentation has no tolerance: add --tolerance, or --probe",
                (false, true) => "The segmentation has no target: add --target, or --probe",
                (false, false) => {
                    "The segmentation has no target: add --probe, or --target and --tolerance"
                }
            }));
        }
        let mut voxels: Vec<usize> = Vec::new();
        for &(centre, radius_mm) in &self.probe {
            let ball = Shape::Sphere { centre, radius_mm }.mask_on(&image.grid);
            if ball.count() == 0 {
                let [x, y, z] = centre.to_array();
                return Err(Failure::new(format!(
                    "Found a probe of {radius_mm} mm at {x}, {y}, {z} mm that holds no voxel of the image, \
                     expected one within it; move it or make it larger"
                )));
            }
            voxels.extend(ball.voxels_inside().map(|v| image.grid.index(v)));
        }
        let probe = || Probe::new(image, self.volume, &voxels);
        let probe = runner.backend.install(probe);
        let probe = probe.map_err(|e| Failure::new(e.to_string()))?;
        let target = if has.0 { given.target } else { probe.target };
        let tolerance = if has.1 {
            given.tolerance
        } else {
            probe.tolerance
        };
        let [low, high] = [target - tolerance, target + tolerance];
        match probe.range_doubt([low, high].map(f64::from)) {
            Some(RangeDoubt::Mixed) => warning!(
                "The probe holds several tissues ({}, standard deviation {:.4}), and so will the \
                 surface: probe a smaller part",
                counted(probe.count, "voxel"),
                probe.spread
            ),
            Some(RangeDoubt::TakesIn(value)) => warning!(
                "The range from {low} to {high} holds values of about {}, which begin just outside the probe, so \
                 the surface does not stop there: narrow --tolerance",
                value as f32
            ),
            Some(RangeDoubt::Background) => warning!(
                "The range from {low} to {high} holds the values of the background, so the surface runs out into \
                 it: narrow --tolerance"
            ),
            None => {}
        }
        Ok((target, tolerance))
    }

    fn params(&self, image: &Volume, runner: &Runner) -> Result<Params, Failure> {
        let (target, tolerance) = self.target(image, runner)?;
        self.params.or_defaults(Params {
            layer: self.layer_range.map(|(low, high)| LayerSpeed { low, high }),
            ..Params::defaults_for(target, tolerance)
        })
    }

    /// The run that the options describe.
    fn run_from_options(
        &self,
        image: &Path,
        volume: &Volume,
        runner: &Runner,
    ) -> Result<SegmentScript, Failure> {
        let params = self.params(volume, runner)?;
        let sphere = |spec: &ShapeSpec, add: bool| match spec {
            ShapeSpec::Sphere { centre, radius_mm } => Ok(Sphere {
                add,
                centre: *centre,
                radius_mm: *radius_mm,
            }),
            other => Err(Failure::usage(format!(
                "Found {other}, expected sphere:x,y,z,radius; start with a mask by --mask"
            ))),
        };
        let added = self.start.add.iter().map(|s| sphere(s, true));
        let spheres = added.chain(self.start.remove.iter().map(|s| sphere(s, false)));
        Ok(SegmentScript {
            image: image.to_owned(),
            volume: self.volume,
            mask: self.start.mask.clone(),
            threshold: self.start.threshold,
            fill: self.start.fill.map(|at| (at, params.tolerance)),
            spheres: spheres.collect::<Result<_, _>>()?,
            layer: self.layer.clone(),
            layer_volume: 0,
            grow_here: self.grow_here.clone(),
            not_here: self.not_here.clone(),
            later: Vec::new(),
            run: RunHistory {
                params,
                layout: Layout::BEST,
                events: Vec::new(),
                steps: self.steps,
            },
        })
    }
}

fn read(path: &Path) -> Result<SegmentScript, Failure> {
    let text = io::text(path).map_err(|e| Failure::new(e.to_string()))?;
    let parsed = serde_json::from_str(&text).and_then(|json: Value| {
        let script = SegmentScript::deserialize(&json)?;
        let known = serde_json::to_value(&script)?;
        Ok((script, io::json::unknown(&json, &known)))
    });
    let (script, unknown) = parsed.map_err(|e| {
        // Parsed once more for the position of the error, which a value that is already parsed has lost.
        let placed = serde_json::from_str::<SegmentScript>(&text).err();
        Failure::new(format!(
            "Found {}, expected a run.json that arcuate segment wrote; name that file, or make it again: {}",
            io::json::problem(placed.as_ref().unwrap_or(&e)),
            path.display()
        ))
    })?;
    if !unknown.is_empty() {
        warning!(
            "The script has members that this version does not know, which it ignores ({}); check their names, \
             or use the version that wrote them: {}",
            unknown.join(", "),
            path.display()
        );
    }
    Ok(script)
}

fn start(script: &SegmentScript, image: &Volume, runner: &Runner) -> Result<Start, Failure> {
    let control = crate::compute::Control::new();
    let failed = |e: crate::solvers::Error| Failure::new(e.to_string());
    let mask = match (&script.mask, script.threshold, script.fill) {
        (Some(path), _, _) => Some(mask(path)?),
        (_, Some((low, high)), _) => {
            let thresholded = runner
                .backend
                .install(|| region::threshold(image, script.volume, (low, high), &control));
            Some(thresholded.map_err(failed)?)
        }
        (_, _, Some((at, tolerance))) => {
            let frame = script.volume;
            let filled = region::fill(image, frame, at, tolerance, f64::INFINITY, &control);
            Some(filled.map_err(failed)?.mask)
        }
        _ => None,
    };
    Ok(Start {
        mask,
        spheres: script.spheres.clone(),
    })
}

fn mask(path: &Path) -> Result<Mask, Failure> {
    match shape(&ShapeSpec::Mask(path.to_owned()))? {
        Shape::Mask(mask) => Ok(mask),
        _ => Err(Failure::new(format!(
            "Not a mask, expected one: {}",
            path.display()
        ))),
    }
}

/// All shapes as one mask on the image's grid; `meets`: each must contain a voxel of it.
fn painted(specs: &[ShapeSpec], image: &Volume, meets: bool) -> Result<Option<Mask>, Failure> {
    let union = |a: Mask, b: &Shape| {
        region::combine(region::Combine::Union, &Shape::Mask(a), b, &image.grid)
    };
    let mut all: Option<Mask> = None;
    for spec in specs {
        let here = union(Mask::empty(&image.grid), &shape(spec)?);
        if meets && here.count() == 0 {
            return Err(Failure::new(format!(
                "Found {spec}, which holds no voxel of the image, expected a region within it; move it"
            )));
        }
        all = Some(match all {
            Some(before) => union(before, &Shape::Mask(here)),
            None => here,
        });
    }
    Ok(all)
}

/// An image of the built-in head, if it is named.
fn built_in(path: &Path, runner: &mut Runner) -> Result<Option<Volume>, Failure> {
    let Some(name) = path.to_str().and_then(PhantomName::read) else {
        return Ok(None);
    };
    let PhantomName { head, is_scan } = name.map_err(|_| {
        Failure::usage(format!(
            "Found {}, expected {}, with :dwi for the scan",
            path.display(),
            PhantomName::EXPECTED
        ))
    })?;
    let (head, _) = runner.run(MakeHead { head })?;
    Ok(Some(if is_scan { head.dwi } else { head.t1 }))
}

fn scalar(path: &Path, frame: usize, runner: &mut Runner) -> Result<Volume, Failure> {
    let volume = match built_in(path, runner)? {
        Some(volume) => volume,
        None => noted_volume(path, runner)?.0,
    };
    let problem = if volume.kind == VolumeKind::Rgb {
        "Found a colour image, expected one with a number in each voxel".to_owned()
    } else if frame >= volume.frames {
        let found = match volume.frames {
            1 => "one volume".to_owned(),
            many => format!("{many} volumes"),
        };
        format!("Found {found}, expected one with number {frame}; count from 0")
    } else {
        return Ok(volume);
    };
    Err(Failure::new(format!("{problem}: {}", path.display())))
}

/// Whether a layer has a value in a voxel of the image.
fn covers(layer: &Volume, frame: usize, image: &Volume) -> bool {
    let grid = &image.grid;
    (0..grid.voxel_count()).any(|i| {
        let world = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        layer.nearest(frame, world).is_some_and(f32::is_finite)
    })
}

/// The additional images of a script; `before`: those of another script, whose image is not opened twice.
fn speed_sources(
    inputs: &ScriptInputs,
    before: Option<(&ScriptInputs, &SpeedSources)>,
    image: &Volume,
    runner: &mut Runner,
) -> Result<SpeedSources, Failure> {
    let frame = inputs.layer_volume;
    // Later edits may have moved regions off the image.
    let begins = before.is_none();
    let same =
        |earlier: &ScriptInputs| (&earlier.layer, earlier.layer_volume) == (&inputs.layer, frame);
    let layer = match (&inputs.layer, before) {
        (_, Some((earlier, speed_sources))) if same(earlier) => speed_sources.layer.clone(),
        (Some(path), _) => {
            let layer = scalar(path, frame, runner)?;
            if begins && !covers(&layer, frame, image) {
                return Err(Failure::new(format!(
                    "Found a layer without a value within the image, expected one that overlaps it: {}",
                    path.display()
                )));
            }
            Some((0, layer, frame))
        }
        (None, _) => None,
    };
    let shapes = |specs: &[ShapeSpec]| -> Result<Vec<Arc<Shape>>, Failure> {
        let mask = painted(specs, image, begins)?;
        Ok(mask
            .map(|mask| Arc::new(Shape::Mask(mask)))
            .into_iter()
            .collect())
    };
    Ok(SpeedSources {
        layer,
        painted: [shapes(&inputs.grow_here)?, shapes(&inputs.not_here)?],
    })
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let files = options.files();
    runner.may_fill(&options.out, &files)?;
    let script = options.script.as_deref().map(read).transpose()?;
    let frame = script.as_ref().map_or(options.volume, |w| w.volume);
    let path = match (&script, &options.image) {
        (Some(written), _) => written.image.clone(),
        (None, Some(image)) => image.clone(),
        (None, None) => return Err(Failure::usage("There is no image: name one")),
    };
    if script.is_none() && !options.start.has_voxels() {
        return Err(Failure::usage(
            "The segmentation has no start: add --add, --mask, --threshold or --fill",
        ));
    }
    let image = scalar(&path, frame, runner)?;
    let mut written = match &script {
        Some(written) => written.clone(),
        None => options.run_from_options(&path, &image, runner)?,
    };
    let inputs = written.inputs();
    let mut all_sources: Vec<SpeedSources> = Vec::with_capacity(inputs.len());
    for (i, own) in inputs.iter().enumerate() {
        let before = i.checked_sub(1).map(|k| (&inputs[k], &all_sources[k]));
        all_sources.push(speed_sources(own, before, &image, runner)?);
    }
    let reference = options.reference.as_deref().map(mask).transpose()?;
    let work = Segment {
        start: start(&written, &image, runner)?,
        speed_sources: all_sources,
        script: written.run.clone(),
        is_repeat: script.is_some(),
        watched: !options.ignore_leaks,
        reference,
        frame,
        image,
    };
    let (output, _) = runner.run(work)?;
    if output.missing > 0 {
        warning!(
            "The image has no value in {}, which the surface keeps out of: {}",
            counted(output.missing, "voxel"),
            path.display()
        );
    }
    let leaked = report::leak_failure(&output);
    if leaked.is_none()
        && let Some(sentence) = output.ended.sentence()
    {
        warning!("{sentence}");
    }
    let doubtful = report::not_at_rest(&output).or_else(|| report::far_larger(&output));
    if let Some(sentence) = doubtful {
        warning!("{sentence}");
    }
    written.run = output.script.clone();
    save(options, &files, &written, &output, runner)?;
    let (value, text) = report::summary(&output, &files);
    runner.report(&value, &text);
    match leaked {
        Some(leaked) => Err(leaked),
        None => Ok(()),
    }
}

fn save(
    options: &Options,
    [labels, surface, script]: &[PathBuf; 3],
    written: &SegmentScript,
    output: &SegmentOutput,
    runner: &mut Runner,
) -> Result<(), Failure> {
    let _folder = make_folder(&options.out)?;
    let command = format!(
        "arcuate segment --script {}",
        io::quoted(&script.to_string_lossy())
    );
    runner.run(SaveMask {
        mask: output.mask.clone(),
        path: labels.clone(),
        command: command.clone(),
    })?;
    runner.run(SaveSurface {
        surface: output.surface.clone(),
        path: surface.clone(),
        command,
    })?;
    let text = serde_json::to_string_pretty(written).map_err(|e| Failure::new(e.to_string()))?;
    io::atomic::write_text(script, &(text + "\n")).map_err(|e| Failure::new(e.to_string()))
}
