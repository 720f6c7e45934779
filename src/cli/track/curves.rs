//! Options and reports that streamlines through tensors and geodesic rays share.

use super::files;
use super::report::CountedCurves;
use crate::cli::options::{FitOptions, GivenParameters, RegionOptions, RowSelection};
use crate::cli::runner::{Failure, Runner};
use crate::data::{Mask, Region, Role};
use crate::solvers::{curves, geodesic};
use crate::state::CommandLine;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// Rows that apply only to streamlines.
const STREAMLINES_ONLY: [&str; 2] = ["deflect", "bootstrap"];

/// The rows of rays, with their defaults.
#[derive(Clone, Copy, Debug)]
pub struct RayRows;

impl RowSelection<curves::Params> for RayRows {
    fn defaults() -> curves::Params {
        geodesic::Params::defaults().curves
    }

    fn has(key: &str) -> bool {
        !STREAMLINES_ONLY.contains(&key)
    }
}

/// A scan, regions, how curves run between them, and where they are written.
#[derive(clap::Args, Debug)]
pub struct CurveOptions<T: RowSelection<curves::Params>> {
    #[command(flatten)]
    pub fit: FitOptions,
    #[command(flatten)]
    pub regions: RegionOptions,
    #[command(flatten)]
    pub track: GivenParameters<curves::Params, T>,
    /// Streamline file; its extension sets the format: .tck, .trk, .trx, .vtk, .vtp
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

impl<T: RowSelection<curves::Params>> CurveOptions<T> {
    /// Refuses files that cannot be written, before the work. `rays`: includes their measures.
    pub fn check_out(&self, rays: bool, runner: &Runner) -> Result<(), Failure> {
        files::check_out(&self.out, rays, runner)
    }

    /// Writes the curves and, next to a TCK, all their values. Returns the files.
    pub fn save(
        &self,
        tracked: &TrackingResult,
        runner: &mut Runner,
    ) -> Result<Vec<PathBuf>, Failure> {
        let command = tracked.command_line.text_to(&self.out);
        files::save(&tracked.output.kept, &self.out, command, runner)
    }
}

/// A finished tracking with the command line that repeats it.
pub struct TrackingResult {
    pub output: Arc<curves::Output>,
    pub regions: Vec<Region>,
    pub command_line: CommandLine,
    pub wall_ms: f64,
}

/// Counts as JSON, and as text with this name for one of the curves.
pub fn summary(tracked: &TrackingResult, curve: &str) -> (Value, String) {
    let counted = CountedCurves {
        output: &tracked.output,
        regions: &tracked.regions,
        wall_ms: tracked.wall_ms,
        in_distributions: false,
    };
    counted.summary(curve)
}

/// Regions that no curve can reach, as the end of a sentence: `; Target lies outside the automatic mask: move it`. `place`:
/// the name of the mask.
pub fn out_of_reach(mask: &Mask, place: &str, regions: &[Region]) -> String {
    let grid = &mask.grid;
    let regions = || regions.iter();
    let mut why = String::new();
    let beyond = regions().filter(|r| !r.shape.intersects_grid(grid));
    // One seed region has already been blamed.
    let several = regions().filter(|r| r.role == Role::Seed).count() > 1;
    let unfitted = regions()
        .filter(|r| several || r.role != Role::Seed)
        .filter(|r| r.shape.intersects_grid(grid) && !r.shape.touches(mask));
    for (these, place) in [
        (beyond.collect::<Vec<_>>(), "the volume"),
        (unfitted.collect(), place),
    ] {
        let names: Vec<&str> = these.iter().map(|r| r.name.as_str()).collect();
        why += &match names.as_slice() {
            [] => String::new(),
            [one] => format!("; {one} lies outside {place}: move it"),
            more => format!("; {} lie outside {place}: move them", more.join(" and ")),
        };
    }
    why
}
