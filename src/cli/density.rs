//! `arcuate density`: visit maps and track-density images.

use super::inputs::{check_overlap, pieces, report_remarks};
use super::options::{GivenParameters, ReadingOptions};
use super::output::shown;
use super::runner::{Failure, Runner};
use crate::compute::Control;
use crate::data::Grid;
use crate::data::text::{counted, grouped};
use crate::io::{self, Format, quoted};
use crate::solvers::density::{DensityGrid, Params, Voxels};
use crate::state::command_line::density_arguments;
use crate::state::core::text::duration_text;
use crate::state::files::jobs::SaveVolume;
use crate::state::streamlines::jobs::from_file::Coverage;
use crate::state::streamlines::jobs::from_file::density::{DensityOfFile, MapDensityOfFile};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  arcuate density prob.trx --sent 5000 --template fa.nii.gz --out visits.nii.gz
  arcuate density whole.tck --template dwi.nii.gz --voxel 0.5 --out tdi.nii.gz
  arcuate density whole.tck --voxel 1 --measure length --by-direction --out tdi_dec.nii.gz

Each streamline counts once in each voxel that it passes through. --sent divides by the number of streamlines sent from
the seeds, which gives the fraction that passes through it. Lengths are cut exactly at the faces of the voxels. The three
volumes of --by-direction are left-right, front-back and up-down.";

#[derive(clap::Args, Debug)]
#[command(
    after_help = EXAMPLES,
    // No label map is read.
    mut_arg("colours", |arg| arg.hide(true)),
)]
pub struct Options {
    /// Streamline file
    pub streamlines: PathBuf,
    /// Image to write: .nii.gz, .nii, .mif or .mif.gz
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Image whose grid is used (default: the grid in the streamline file)
    #[arg(long, value_name = "FILE")]
    pub template: Option<PathBuf>,
    #[command(flatten)]
    pub voxels: GivenParameters<Voxels>,
    #[command(flatten)]
    pub params: GivenParameters<Params>,
    #[command(flatten)]
    pub reading: ReadingOptions,
}

impl Options {
    /// `own`: the grid in the streamline file.
    fn on(&self, own: Option<&Arc<Grid>>, voxels: Voxels) -> Result<DensityGrid, Failure> {
        let template = match &self.template {
            Some(path) => {
                let volume = io::open(path, &Control::new());
                match volume.map_err(|e| Failure::new(e.to_string()))? {
                    io::Opened::Volume(volume, _) => Some(volume.grid),
                    io::Opened::Tractogram(..) => {
                        return Err(Failure::new(format!(
                            "Found no image as template, expected one; name the image whose grid to use: {}",
                            path.display()
                        )));
                    }
                }
            }
            None => None,
        };
        let own = template.or_else(|| own.cloned());
        match (own, voxels.edge_mm) {
            (Some(grid), None) => Ok(DensityGrid::Grid(grid)),
            (Some(grid), Some(mm)) => Ok(DensityGrid::Within(grid, mm)),
            (None, Some(mm)) => Ok(DensityGrid::Around(mm)),
            (None, None) => Err(Failure::usage(format!(
                "The streamline file has no grid: name an image with --template or an edge with \
                 --voxel: {}",
                self.streamlines.display()
            ))),
        }
    }

    fn command(&self, params: &Params, voxels: Voxels) -> String {
        let [tracks, out] = [&self.streamlines, &self.out].map(|p| quoted(&p.to_string_lossy()));
        let arguments = density_arguments(params, self.template.as_deref(), voxels.edge_mm);
        format!(
            "arcuate density {tracks}{arguments} --out {out}{}",
            self.reading.reading()
        )
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    if !Format::saves_image(&options.out) {
        return Err(Failure::usage(format!(
            "A density map cannot be written under this name, expected one that ends in .nii.gz, .nii, .mif or \
             .mif.gz: {}",
            options.out.display()
        )));
    }
    let (params, voxels) = (options.params.params()?, options.voxels.params()?);
    runner.may_make(&options.out)?;
    let pieces = pieces(&options.streamlines, &options.reading, runner)?;
    let on = options.on(pieces.empty().grid.as_ref(), voxels)?;
    let request = MapDensityOfFile {
        pieces,
        coverages: match &on {
            DensityGrid::Grid(grid) | DensityGrid::Within(grid, _) => vec![Coverage::of_grid(grid)],
            DensityGrid::Around(_) => Vec::new(),
        },
        grid: on,
        params: params.clone(),
    };
    let (DensityOfFile { summary, output }, wall_ms) = runner.run(request)?;
    report_remarks(&summary, &options.streamlines);
    for coverage in &summary.coverages {
        let path = options.template.as_ref().unwrap_or(&options.streamlines);
        check_overlap(coverage, (path, "are not counted"))?;
    }
    let count = summary.outline.streamlines;
    let volume = output.volume.clone();
    let [x, y, z] = volume.grid.shape;
    let highest = volume.values.iter().copied().fold(0.0f32, f32::max);
    let max_count = volume.counts().and_then(|c| c.iter().max().copied());
    let highest_text = max_count.map_or(highest.to_string(), |n| grouped(&n.to_string()));
    let highest = max_count.map_or(json!(highest), |n| json!(n));
    runner.run(SaveVolume {
        source: None,
        volume,
        path: options.out.clone(),
        command: options.command(&params, voxels),
    })?;
    if output.not_finite > 0 {
        warning!(
            "{} left out, with an end that is not finite; check the program that wrote the file: {}",
            counted(output.not_finite as usize, "segment"),
            options.streamlines.display()
        );
    }
    let text = format!(
        "{}, {:.1} mm in {x} × {y} × {z} voxels, {:.1} mm outside\n{} passed, \
         highest value {highest_text}, {}\n{}\n",
        counted(count, "streamline"),
        output.inside_mm,
        output.outside_mm,
        counted(output.voxels as usize, "voxel"),
        duration_text(wall_ms),
        shown(&options.out)
    );
    let value = json!({
        "command": "density", "streamlines": count, "shape": [x, y, z], "voxels": output.voxels,
        "inside_mm": output.inside_mm, "outside_mm": output.outside_mm, "highest": highest,
        "not_finite": output.not_finite, "wall_ms": wall_ms, "file": options.out,
    });
    runner.report(&value, &text);
    Ok(())
}
