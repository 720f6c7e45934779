//! `arcuate bench`: measured speed as JSON lines, one per workload.

use super::output;
use super::runner::{Failure, Runner};
use super::{
    bench_bundles, bench_commit, bench_compare, bench_density, bench_drag, bench_eikonal,
    bench_fit, bench_fod, bench_geodesic, bench_io, bench_levelset, bench_lifted, bench_live,
    bench_odf_tracking, bench_open, bench_papers, bench_render, bench_select, bench_tracking,
    bench_uncertainty,
};
use crate::compute::Backend;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const EXAMPLES: &str = "\
Examples:
  arcuate bench                        every workload
  arcuate bench tracking --quick --threads 1
  arcuate bench geodesic --case wavy   the cases with this word in their name
  arcuate bench levelset --case drawn  frames a second of a surface that moves
  arcuate bench open --streamlines 2000000  a file that stays on the disk
  arcuate bench --papers               the papers' figures beside ours, as a table
  arcuate bench drag --case pathway    from a moved pointer to the pictures that follow it

Each line holds workload, size, rate and its unit, time, backend and threads. Compare two programs only in the same run
on the same machine.";

/// Extent of the measurements, and which cases.
#[derive(Clone, Copy)]
pub struct Choice<'a> {
    /// Finishes within about 15 s on two cores.
    pub quick: bool,
    /// Only cases whose name contains this; `None`: all.
    pub case: Option<&'a str>,
    /// Number of streamlines of the file that `open` makes.
    pub streamlines: Option<usize>,
    /// The file that `open` opens, in place of one that it makes.
    pub file: Option<&'a Path>,
    /// The names that were compared with it.
    names: &'a Mutex<Vec<String>>,
}

impl<'a> Choice<'a> {
    /// The whole extent of the cases with this word in their names.
    pub fn of_case(case: &'a str, names: &'a Mutex<Vec<String>>) -> Self {
        Self {
            quick: false,
            case: Some(case),
            streamlines: None,
            file: None,
            names,
        }
    }

    pub fn takes(&self, name: &str) -> bool {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
        let filter = self.case.map(str::to_lowercase);
        filter.is_none_or(|filter| name.to_lowercase().contains(&filter))
    }
}

/// Measures, and returns one object per case.
type Workload = fn(choice: Choice, backend: &Backend) -> Vec<Value>;

const WORKLOADS: [(&str, Workload); 19] = [
    ("fit", bench_fit::run),
    ("fod", bench_fod::run),
    ("tracking", bench_tracking::run),
    ("odf-tracking", bench_odf_tracking::run),
    ("geodesic", bench_geodesic::run),
    ("eikonal", bench_eikonal::run),
    ("lifted", bench_lifted::run),
    ("live", bench_live::run),
    ("drag", bench_drag::run),
    ("uncertainty", bench_uncertainty::run),
    ("levelset", bench_levelset::run),
    ("commit", bench_commit::run),
    ("io", bench_io::run),
    ("open", bench_open::run),
    ("select", bench_select::run),
    ("density", bench_density::run),
    ("bundles", bench_bundles::run),
    ("compare", bench_compare::run),
    ("render", bench_render::run),
];

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Workload; all by default
    #[arg(value_parser = WORKLOADS.map(|(name, _)| name))]
    pub name: Option<String>,
    /// Smaller sizes and fewer repeats
    #[arg(long)]
    pub quick: bool,
    /// Print the figures of the papers beside those measured here, in one table; --case chooses rows
    #[arg(long, conflicts_with_all = ["name", "quick"])]
    pub papers: bool,
    /// Run only cases with this word in their names
    #[arg(long, value_name = "WORD")]
    pub case: Option<String>,
    /// Number of streamlines in the file of the workload “open”, 1.2 kB each
    #[arg(long, value_name = "N")]
    pub streamlines: Option<usize>,
    /// Streamline file that the workload “open” opens, in place of one that it makes
    #[arg(long, value_name = "FILE", conflicts_with = "streamlines")]
    pub file: Option<PathBuf>,
}

/// `“a”, “b”`.
fn quoted_names(names: &[String]) -> String {
    let quoted = names.iter().map(|name| format!("“{name}”"));
    quoted.collect::<Vec<_>>().join(", ")
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    if options.papers {
        return bench_papers::run(options.case.as_deref(), runner);
    }
    let requested = |name: &str| options.name.as_deref().is_none_or(|n| n == name);
    let names = Mutex::default();
    let choice = Choice {
        quick: options.quick,
        case: options.case.as_deref(),
        streamlines: options.streamlines,
        file: options.file.as_deref(),
        names: &names,
    };
    let (mut cases, mut failed) = (0, 0);
    for (_, workload) in WORKLOADS.iter().filter(|(name, _)| requested(name)) {
        for line in workload(choice, &runner.backend) {
            cases += 1;
            failed += usize::from(line.get("error").is_some());
            output::print_json(&line);
        }
    }
    match failed {
        0 if cases == 0 => Err(Failure::usage(format!(
            "No case has “{}” in its name, expected a part of one of these: {}",
            options.case.as_deref().unwrap_or_default(),
            quoted_names(&names.lock().unwrap_or_else(PoisonError::into_inner))
        ))),
        0 => Ok(()),
        n => Err(Failure::new(format!(
            "{n} of {cases} cases failed; their lines say why"
        ))),
    }
}
