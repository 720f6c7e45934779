//! `arcuate profile`: values along a bundle.

use super::inputs::{check_values, images, must_be_csv, streamlines, value_coverage};
use super::options::{GivenParameters, PassingOptions, ReadingOptions, RegionOptions};
use super::output::shown;
use super::runner::{Failure, Runner};
use crate::data::text::counted;
use crate::parameters;
use crate::solvers::tractogram::ProfileParams;
use crate::solvers::tractogram::profile::{Along, Start};
use crate::state::regions::recipe::ShapeSpec;
use crate::state::streamlines::jobs::CountedStreamlines;
use crate::state::streamlines::jobs::csv::SaveProfile;
use crate::state::streamlines::jobs::profile::ComputeProfile;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  arcuate profile cst.trx cst.csv --image fa.nii.gz --image md.nii.gz
  arcuate profile rays.trx rays.csv --value cm --nodes 50 --start sphere:-24,-18,8,5

Every streamline is resampled to the same number of equidistant nodes and oriented like the others, by the mean
distance of corresponding points to the mean line of the bundle. The bundle starts at its left, posterior or inferior
end, along the axis that it spans most, or at the end nearer to --start. A row holds the node, its position along the
bundle from 0 to 1, its mean position in world mm, and the mean, the standard deviation and the number of streamlines
of each value.";

#[derive(clap::Args, Debug)]
#[command(
    after_help = EXAMPLES,
    // No label map is read.
    mut_arg("colours", |arg| arg.hide(true)),
)]
pub struct Options {
    /// Streamline file to read: one bundle
    pub input: PathBuf,
    /// Table to write (.csv)
    pub output: PathBuf,
    /// Sample this image along the bundle (trilinear); may be given several times
    #[arg(long, value_name = "FILE")]
    pub image: Vec<PathBuf>,
    /// Sample this value per point; may be given several times
    #[arg(long, value_name = "NAME")]
    pub value: Vec<String>,
    /// Start the bundle at the end nearer to the centre of this region
    #[arg(long, value_name = "REGION")]
    pub start: Option<ShapeSpec>,
    #[command(flatten)]
    pub params: GivenParameters<ProfileParams>,
    #[command(flatten)]
    pub reading: ReadingOptions,
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    if options.image.is_empty() && options.value.is_empty() {
        return Err(Failure::usage(
            "There is nothing to sample along the bundle: add --image or --value",
        ));
    }
    let params = options.params.params()?;
    must_be_csv(&options.output)?;
    runner.may_make(&options.output)?;
    let start = RegionOptions::passing(&PassingOptions {
        include: options.start.iter().cloned().collect(),
        ..PassingOptions::default()
    });
    let start = match start.regions()?.pop() {
        Some(region) => Start::Near(Arc::new(region)),
        None => Start::Axis,
    };
    let tractogram = streamlines(&options.input, &options.reading, runner)?;
    let images = images(&options.image, &options.reading, runner)?;
    for ((_, volume), path) in images.iter().zip(&options.image) {
        check_values(&value_coverage(&tractogram, volume, runner), path)?;
    }
    let mut names = options.value.clone();
    names.extend(images.iter().map(|(name, _)| name.clone()));
    let values = options.value.iter().cloned().map(Along::Value);
    let images = images
        .into_iter()
        .map(|(_, volume)| Along::Image(volume, 0));
    let compute = ComputeProfile {
        among: CountedStreamlines {
            tractogram,
            marks: None,
        },
        along: values.chain(images).collect(),
        start,
        params,
    };
    let (profile, wall_ms) = runner.run(compute)?;
    runner.run(SaveProfile {
        path: options.output.clone(),
        profile: profile.clone(),
        names: names.clone(),
    })?;
    let mut text = format!(
        "{}, {} over {:.1} mm\n",
        counted(profile.used, "streamline"),
        counted(params.nodes, "node"),
        profile.length_mm
    );
    if profile.passed_over > 0 {
        text += &format!("  {} without length left out\n", profile.passed_over);
    }
    text += &format!("{}\n", shown(&options.output));
    let value = json!({
        "command": "profile", "streamlines": profile.used, "left_out": profile.passed_over,
        "parameters": parameters::json(&params), "length_mm": profile.length_mm, "values": names,
        "wall_ms": wall_ms, "file": options.output,
    });
    runner.report(&value, &text);
    Ok(())
}
