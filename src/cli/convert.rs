//! `arcuate convert`: from one file format to another.

use super::options::{OrientationOptions, ReadingOptions, interpolation};
use super::output::{one_line, remark, shown};
use super::runner::{Failure, Runner};
use super::typed::typed_command;
use crate::data::warp::WarpInterpolation;
use crate::io;
use crate::state::files::jobs::{
    Convert, OpenOrientations, OrientationReading, PlanToConvert, SaveVolume,
};
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arcuate convert tracks.trk tracks.trx
  arcuate convert tracks.tck tracks.trk --reference dwi.nii.gz
  arcuate convert bundle.tt.gz bundle.tck
  arcuate convert slicer.vtk bundle.trx/ --vtk-space lps
  arcuate convert t1.mgz t1.nii.gz
  arcuate convert dwi.nrrd dwi.nii.gz    (also writes dwi.bval and dwi.bvec)
  arcuate convert dwi.nii.gz dwi.nrrd    (with the gradients in its header)
  arcuate convert dwi.mif dwi.nii.gz     (also writes dwi.bval and dwi.bvec)
  arcuate convert mask.nii.gz mask.ply
  arcuate convert t1.nii.gz t1_in_dwi.nii.gz --affine t1_to_dwi.mat --fixed b0.nii.gz
  arcuate convert t1.nii.gz t1_in_mni.nii.gz --warp 1Warp.nii.gz --warp 0GenericAffine.mat --fixed mni.nii.gz
  arcuate convert atlas.nii.gz atlas_in_t1.nii.gz --warp inverse:0GenericAffine.mat --warp 1InverseWarp.nii.gz --fixed t1.nii.gz
  arcuate convert tracks.tck tracks_in_mni.tck --warp warp_field.nii.gz --fixed mni.nii.gz --moving t1.nii.gz
  arcuate convert odf.nii.gz wmfod.mif --odf-basis descoteaux07-legacy --odf-frame voxel
  arcuate convert dyads1.nii.gz peaks.mif --peaks
  arcuate convert fixels/afd.mif peaks.nii.gz --peaks

The extensions set the formats; tracks.trx/ is a folder. Without --affine, no point moves: world coordinates stay the same. Whatever the output cannot hold is listed before
it is written; with --strict, nothing is written in that case. Values of a TCK go into TSF files and weights beside it, names of labels into a text file beside the image.
An image keeps the type of its values, with slope and intercept; NRRD has neither, and receives the scaled values as float32 or float64. The gradients beside a scan, or in
its header, go where the output's format keeps them: .bval and .bvec beside a NIfTI, the header of an NRRD or an MRtrix image.
--warp resamples an image on the voxels of --fixed, and moves streamlines by the inverse of the same transforms. A message says how far the
inverse misses; streamlines that leave the field keep their place without points. --fixed may be left out if the first transform is a field.
A mask becomes a smooth surface in world mm. Fibre orientations are turned with an image that --affine moves if --odf-basis or --peaks says what they are.";

/// The examples and the table of formats.
fn help() -> String {
    let mut text = format!("{EXAMPLES}\n\nFormats:\n");
    let is_data =
        |f: &io::Format| !matches!(f.content(), io::Content::Gradients | io::Content::Picture);
    for format in io::Format::all().filter(is_data) {
        let ways = match (format.opens(), format.saves()) {
            (true, true) => "read, written",
            (true, false) => "read",
            _ => "written",
        };
        let _ = writeln!(text, "  {:<50} {ways}", format.described());
    }
    text += "An image in two files (.hdr with .img, .nhdr) is read, but not written.\n";
    text
}

#[derive(clap::Args, Debug)]
#[command(after_help = help())]
pub struct Options {
    /// File to read
    pub input: PathBuf,
    /// File to write; its extension sets the format
    pub output: PathBuf,
    /// Image whose grid the streamlines come from; required for TRK
    #[arg(long, value_name = "IMAGE")]
    pub reference: Option<PathBuf>,
    /// Write nothing if the output could not hold everything
    #[arg(long)]
    pub strict: bool,
    /// How a warped image gets values between voxels: labels takes the label with the largest weight (default: labels for
    /// masks and label maps, otherwise linear)
    #[arg(long, value_name = "linear|nearest|labels", requires = "warp", value_parser = interpolation)]
    pub interpolation: Option<WarpInterpolation>,
    #[command(flatten)]
    pub orientations: OrientationOptions,
    #[command(flatten)]
    pub reading: ReadingOptions,
}

impl Options {
    fn reading(&self) -> io::Reading {
        let mut reading = self.reading.reading();
        if let Some(warp) = &mut reading.warp {
            warp.interpolation = self.interpolation;
        }
        reading
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    io::convert::check_output(&options.output).map_err(|e| Failure::usage(e.to_string()))?;
    io::convert::check_kinds(&options.input, &options.output)
        .map_err(|e| Failure::usage(e.to_string()))?;
    let is_image = |format: io::Format| format.content() == io::Content::Image;
    if options.reading.vtk_space.is_some()
        && io::Format::named(&options.input).is_some_and(is_image)
    {
        return Err(Failure::usage(format!(
            "Found --vtk-space, which has no effect on an image: leave it out: {}",
            options.input.display()
        )));
    }
    runner.may_write(&options.output)?;
    io::convert::check_place(&options.output).map_err(|e| Failure::new(e.to_string()))?;
    if let Some(reading) = options.orientations.reading() {
        if !options.reading.warp.warp.is_empty() {
            return Err(Failure::usage(format!(
                "Found --warp for fibre orientations, which would have to turn with each voxel: warp their maps or the \
                 streamlines instead: {}",
                options.input.display()
            )));
        }
        return convert_orientations(options, reading, runner);
    }
    let request = PlanToConvert {
        input: options.input.clone(),
        output: options.output.clone(),
        reference: options.reference.clone(),
        reading: options.reading(),
    };
    let (plan, _) = runner.run(request)?;
    // Reported before anything is written, so that the user can stop.
    for note in &plan.notes {
        remark(note, options.input.display());
    }
    let mut text = String::new();
    for loss in &plan.unsupported_contents {
        let _ = writeln!(text, "  left out    {}", one_line(loss));
    }
    runner.print(&text);
    let missing = plan.missing();
    if options.strict && !missing.is_empty() {
        return Err(Failure::new(format!(
            "Nothing was written: with --strict, the output must hold everything in {}, and it would lack \
             this: {}; leave out --strict to write the rest",
            options.input.display(),
            missing.join("; ")
        )));
    }
    let request = Convert {
        plan,
        command: typed_command(),
        replace: runner.force(),
    };
    let done = runner.run(request)?.0.converted;
    let mut text = format!("Converted {}\n", done.content);
    for path in &done.written {
        let _ = writeln!(text, "  written     {}", shown(path));
    }
    let value = json!({
        "command": "convert", "what": done.content, "files": done.written,
        "left_out": done.unsupported_contents,
    });
    runner.report(&value, &text);
    Ok(())
}

/// Fibre orientations are written as MRtrix stores them; they turn with an image that is moved.
fn convert_orientations(
    options: &Options,
    reading: OrientationReading,
    runner: &mut Runner,
) -> Result<(), Failure> {
    if !io::Format::saves_image(&options.output) {
        return Err(Failure::usage(format!(
            "Fibre orientations cannot be written under this name, expected one that ends in .nii.gz, .nii, .mif or \
             .mif.gz: {}",
            options.output.display()
        )));
    }
    let (opened, _) = runner.run(OpenOrientations {
        path: options.input.clone(),
        reading,
        affine: options.reading.reading().affine.map(|affine| *affine),
    })?;
    for note in &opened.remarks {
        remark(note, options.input.display());
    }
    runner.run(SaveVolume {
        volume: opened.volume,
        source: None,
        path: options.output.clone(),
        command: typed_command(),
    })?;
    let text = format!(
        "Converted {}\n  written     {}\n",
        opened.content,
        shown(&options.output)
    );
    let value = json!({
        "command": "convert", "what": opened.content, "files": [options.output], "left_out": [],
    });
    runner.report(&value, &text);
    Ok(())
}
