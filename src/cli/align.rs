//! `arcuate align`: aligns one image to another by mutual information.

use super::options::{GivenParameters, noted_volume};
use super::output::shown;
use super::runner::{Failure, Runner};
use crate::io::{self, quoted};
use crate::solvers::alignment::Params;
use crate::state::alignment::jobs::{AlignImages, AlignmentTarget};
use crate::state::core::text::duration_text;
use glam::DAffine3;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arcuate align t1.nii.gz dwi.nii.gz --out t1_to_dwi.txt
  arcuate convert t1.nii.gz t1_in_dwi.nii.gz --affine t1_to_dwi.txt
  arcuate align t1.nii.gz b0.nii.gz --out t1_to_b0.mat

The alignment is rigid, by normalised mutual information at three resolutions. No image is resampled: the affine says
where the moving image belongs, and convert --affine writes it into a header. A name that ends in .mat gives a matrix
of FSL's FLIRT between the two images; any other name gives an ITK text file, which ANTs and Slicer read. A warning
says if the images predict each other hardly better than at random positions, as images of different things do.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Image to be moved
    pub moving: PathBuf,
    /// Image that stays; for a diffusion scan, the mean of its volumes without weighting
    pub fixed: PathBuf,
    /// File for the affine: .txt or .tfm for ITK, .mat for FLIRT
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    #[command(flatten)]
    pub params: GivenParameters<Params>,
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let ending = options.out.extension().and_then(|e| e.to_str());
    let ending = ending.unwrap_or_default().to_lowercase();
    if !["txt", "tfm", "mat"].contains(&ending.as_str()) {
        return Err(Failure::usage(format!(
            "An affine is written as text, expected a name that ends in .txt, .tfm or .mat: {}",
            options.out.display()
        )));
    }
    runner.may_make(&options.out)?;
    let (moving, _) = noted_volume(&options.moving, runner)?;
    let (fixed, gradients) = noted_volume(&options.fixed, runner)?;
    let grid = fixed.grid.clone();
    let request = AlignImages {
        moving: moving.clone(),
        fixed: match gradients {
            Some(gradients) => AlignmentTarget::Scan {
                dwi: fixed,
                gradients,
            },
            None => AlignmentTarget::Image(fixed),
        },
        params: options.params.params()?,
        layer: 0,
    };
    let (aligned, wall_ms) = runner.run(request)?;
    let output = &aligned.output;
    let ending = options.out.extension();
    let flirt = ending.is_some_and(|e| e.eq_ignore_ascii_case("mat"));
    let saved = if flirt {
        io::affine::save_flirt(&options.out, output.moved, &moving.grid, &grid)
    } else {
        io::affine::save_itk(&options.out, output.moved)
    };
    saved.map_err(|e| Failure::new(e.to_string()))?;
    let [moving, fixed, out] =
        [&options.moving, &options.fixed, &options.out].map(|p| quoted(&p.to_string_lossy()));
    let mut apply = format!("arcuate convert {moving} moved.nii.gz --affine {out}");
    if flirt {
        apply += &format!(" --fixed {fixed}");
    }
    if output.is_doubtful() {
        warning!(
            "The alignment is doubtful: the images predict each other hardly better than at random positions (mutual \
             information {:.4}, elsewhere {:.4}); look at both in the window, and check that they show one head",
            output.after,
            output.elsewhere.unwrap_or_default()
        );
    }
    let text = format!(
        "Moved by {:.2} mm, turned by {:.2}°\nMutual information {:.4}, was {:.4}\n{} evaluations in \
         {}\n{}\nTo move the image: {apply}\n",
        output.shifted_mm,
        output.turned_rad.to_degrees(),
        output.after,
        output.before,
        output.evaluations,
        duration_text(wall_ms),
        shown(&options.out)
    );
    let value = json!({
        "command": "align", "shifted_mm": output.shifted_mm,
        "turned_deg": output.turned_rad.to_degrees(), "information": output.after,
        "information_before": output.before, "information_elsewhere": output.elsewhere,
        "doubtful": output.is_doubtful(), "evaluations": output.evaluations,
        "matrix": rows(output.moved), "wall_ms": wall_ms, "file": options.out, "apply": apply,
    });
    runner.report(&value, &text);
    Ok(())
}

fn rows(affine: DAffine3) -> Vec<f64> {
    let c = affine.to_cols_array();
    (0..12).map(|i| c[3 * (i % 4) + i / 4]).collect()
}
