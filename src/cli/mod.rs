//! The commands, which do the window's work without a window: one file per subcommand.
//!
//! Every command submits the same jobs as the window and waits for them, so that both give the same result. Standard
//! output has the result, standard error progress, notes, warnings and errors.

// Sentences are printed by [`output::report_message`], results by [`Runner::report`].
#![warn(clippy::print_stderr, clippy::print_stdout)]

/// Prints a note: useful to know, without need for action.
macro_rules! note {
    ($($arguments:tt)*) => {
        $crate::cli::output::report_message($crate::state::Severity::Information, &format!($($arguments)*))
    };
}

/// Prints a warning: the result may be wrong or incomplete.
macro_rules! warning {
    ($($arguments:tt)*) => {
        $crate::cli::output::report_message($crate::state::Severity::Warning, &format!($($arguments)*))
    };
}

mod align;
mod bench;
mod bench_bundles;
mod bench_commit;
mod bench_compare;
mod bench_density;
mod bench_drag;
mod bench_drawn;
mod bench_eikonal;
mod bench_fit;
mod bench_fod;
mod bench_geodesic;
mod bench_glyphs;
mod bench_handed;
mod bench_io;
mod bench_levelset;
mod bench_lifted;
mod bench_live;
mod bench_odf_tracking;
mod bench_open;
mod bench_papers;
mod bench_regions;
mod bench_render;
mod bench_select;
mod bench_slices;
mod bench_tracking;
mod bench_uncertainty;
mod bench_volumes;
mod bids;
mod bundles;
mod cohort;
mod commit;
mod compare;
mod connectome;
mod convert;
mod demo;
mod density;
pub mod driver_messages;
mod fit;
mod fod;
mod geodesic;
mod gradients;
mod guide;
mod headless;
mod info;
mod inputs;
mod methods;
mod options;
pub mod output;
mod pathway;
mod phantom;
mod pictures;
mod profile;
mod protocol;
mod region;
mod render;
mod replay;
mod report;
mod run;
mod runner;
mod score;
mod segment;
mod select;
pub mod signals;
mod table;
mod track;
mod typed;
mod uncertainty;

pub use demo::{Options as DemoOptions, has_display};
pub use runner::{Failure, Runner};

use crate::compute::{Backend, BackendChoice, BackendKind, cuda, thread};
use crate::state::files::types::PhantomName;
use crate::state::report::DISCLAIMER;
use crate::state::update::{is_session, several_sessions};
use clap::{Parser, Subcommand};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

const BACKEND_VARIABLE: &str = "ARCUATE_BACKEND";
/// Sets the time in seconds after which a driver is considered hung.
const DRIVER_VARIABLE: &str = "ARCUATE_DRIVER_SECONDS";

const EXAMPLES: &str = "\
Examples:
  arcuate                              open the window
  arcuate dwi.nii.gz                   open a scan, with the gradients beside it
  arcuate info dwi.nii.gz
  arcuate fit dwi.nii.gz --maps fa,dec --out maps
  arcuate fod dwi.nii.gz --mask brain.nii.gz --out fod
  arcuate track dwi.nii.gz --seed sphere:-24,-18,8,5 --target sphere:-30,-22,58,9 --out cst.tck
  arcuate track --fod fod/wm_fod.nii.gz --tissues 5tt.nii.gz --select 10000 --out whole.tck
  arcuate geodesic dwi.nii.gz --seed mask:cc.nii.gz --target mask:v1.nii.gz --out rays.tck
  arcuate pathway dwi.nii.gz --from sphere:-24,-18,8,5 --to sphere:-30,-22,58,9 --out cst
  arcuate uncertainty dwi.nii.gz --from mask:m1.nii.gz --to mask:capsule.nii.gz --distance-to tumour.nii.gz --out noise_tumour
  arcuate segment t1.nii.gz --probe 21,-40,12 --add sphere:21,-40,12,6 --out tumour
  arcuate region --image fa.nii.gz --threshold 0.3..1 --out white.nii.gz
  arcuate convert tracks.trk tracks.trx
  arcuate tracts.arcuate               open a session
  arcuate replay tracts.arcuate        recompute its results, and compare them
  arcuate select tracks.trx left.trx --include mask:left.nii.gz --length 20..200
  arcuate density tracks.trx --template dwi.nii.gz --out density.nii.gz
  arcuate commit tracks.trx dwi.nii.gz --out commit
  arcuate align t1.nii.gz dwi.nii.gz --out t1_to_dwi.txt
  arcuate table tracks.trx tracks.csv --image fa.nii.gz
  arcuate profile bundle.trx profile.csv --image fa.nii.gz --nodes 100
  arcuate connectome tracks.trx labels.nii.gz matrix.csv --radius 2
  arcuate bundles tracks.trx --threshold 10 --out clusters.trx
  arcuate score tracks.tck --truth crossing
  arcuate compare expert1.nii.gz expert2.nii.gz level_set.nii.gz --staple consensus.nii.gz
  arcuate methods tracts.arcuate       describe what was done, for a paper
  arcuate report tracts.arcuate --out report.html
  arcuate demo --out demo              show everything on the built-in head
  arcuate guide                        list the pages of the guide

A region is sphere:x,y,z,radius or box:x,y,z,hx,hy,hz in world millimetres (x to the patient's right,
y to the front, z up), or mask:file.nii.gz. Wherever a command takes a scan, phantom:SEED is the
built-in head made from that seed, phantom:crossing:SEED one whose bundles cross in equal shares, and
phantom:helix, phantom:diagonal, phantom:u-fibre and phantom:planar are blocks with bundles of simple
courses (see arcuate phantom --help).

Exit codes: 0 done · 1 failed (unreadable, unsuitable or unwritable data) · 2 wrong usage · 3 a segmentation leaked ·
129, 130, 143 ended by SIGHUP, SIGINT (Ctrl+C), SIGTERM.
A file is written under a temporary name (.arcuate-PID-N.tmp), then renamed: an interrupted command leaves the old file
intact. Without --force, no file is replaced, not even one that appeared while the command ran.";

/// Tensors, fibre orientations, streamlines, pathways and surfaces from a diffusion MRI scan.
#[derive(Parser, Debug)]
#[command(name = "arcuate", bin_name = "arcuate", version, after_help = format!("{EXAMPLES} {DISCLAIMER}."))]
pub struct Arguments {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Files to open in the window
    pub files: Vec<PathBuf>,
}

/// Heading of the options of all commands, which come after the command's own.
const EVERYWHERE: &str = "Options of all commands";

#[derive(clap::Args, Clone, Debug, Default)]
pub struct Global {
    /// Worker threads (default: one per core)
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "N", allow_negative_numbers = true, value_parser = options::whole_from(1, 1024u16))]
    pub threads: Option<u16>,
    /// Where solvers run: auto, cpu, cuda, cuda:NUMBER, cuda:auto (the least used card) or cuda:all
    /// [default: $ARCUATE_BACKEND, else auto: an NVIDIA graphics card if one works]
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "NAME")]
    pub backend: Option<BackendKind>,
    /// Refuse work that would take the program above this much memory (default: all memory of the machine)
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "GB", allow_negative_numbers = true, value_parser = options::positive)]
    pub memory: Option<f64>,
    /// Print one JSON object on standard output instead of text, with the notes, warnings and errors as arrays of
    /// sentences
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub json: bool,
    /// Show no progress bars
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub quiet: bool,
    /// Overwrite existing files
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub force: bool,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Describe files: grids, affines, gradients, streamlines
    Info(info::Options),
    /// Fit diffusion tensors and write their maps
    Fit(fit::Options),
    /// Estimate fibre orientation distributions, with response functions and peaks
    Fod(fod::Options),
    /// Track streamlines through tensors, fibre orientation distributions or peaks
    Track(track::Options),
    /// Trace geodesic rays between regions, ranked by connectivity
    Geodesic(geodesic::Options),
    /// Map the cost of the best path between two regions through every voxel, and extract the pathway
    Pathway(pathway::Options),
    /// Estimate how far measurement noise alone moves a pathway, and how close it comes to a mask
    Uncertainty(uncertainty::Options),
    /// Segment an image with an interactive level set
    Segment(segment::Options),
    /// Check the axes of a gradient table, and correct them
    Gradients(gradients::Options),
    /// Make regions by threshold, fill or label, or by combining others, and measure images within them
    Region(region::Options),
    /// Convert files from one format to another
    Convert(convert::Options),
    /// Recompute every result of a session, and report whether it is the same
    Replay(replay::Options),
    /// Describe the methods of a session, with numbers and citations, for a paper
    Methods(methods::Options),
    /// Write the report of a session as a page: pictures, figures, parameters and checksums
    Report(report::Options),
    /// Keep some streamlines of a file: by region, length, value or number
    Select(select::Options),
    /// Map where streamlines pass: visits, lengths or directions per voxel
    Density(density::Options),
    /// Find which streamlines explain the diffusion signal, and by how much
    Commit(commit::Options),
    /// Align an image rigidly to another and write the affine, without resampling
    Align(align::Options),
    /// Write a table row for each streamline: length, values, means of images along it
    Table(table::Options),
    /// Write values along a bundle: mean and standard deviation at each node
    Profile(profile::Options),
    /// Write the number of streamlines between the labels of a map
    Connectome(connectome::Options),
    /// Divide streamlines into clusters of similar course or bundles by labels, and measure them
    Bundles(bundles::Options),
    /// Score streamlines against bundles whose course is known
    Score(score::Options),
    /// Compare segmentations of one structure, with their consensus, or a pathway with streamlines
    Compare(compare::Options),
    /// Draw a view to a PNG file, without a window
    Render(Box<render::Options>),
    /// Write the protocol of a session, which repeats it on other heads, or check a protocol
    Protocol(protocol::Options),
    /// Run a protocol on one subject
    Run(run::Options),
    /// Run a protocol on a BIDS dataset, with the command line of BIDS Apps
    Bids(bids::Options),
    /// Write a synthetic head or block: scans, labels and true fibres
    Phantom(phantom::Options),
    /// Show the built-in head: in the window, or as files if there is no display
    Demo(demo::Options),
    /// Print a page of the guide, or search in it
    Guide(guide::Options),
    /// Measure speed and print JSON lines
    Bench(bench::Options),
}

/// Refuses empty arguments, and names that are not valid UTF-8: reports, sessions and scripts could not store them.
pub fn check_letters(mut arguments: impl Iterator<Item = OsString>) -> Result<(), Failure> {
    match arguments.find(|argument| argument.is_empty() || argument.to_str().is_none()) {
        None => Ok(()),
        Some(argument) if argument.is_empty() => Err(Failure::usage(
            "Found an empty argument on the command line, expected a name or a value; look for an empty shell variable",
        )),
        Some(argument) => Err(Failure::usage(format!(
            "The file name is not valid UTF-8; rename the file: {}",
            argument.to_string_lossy()
        ))),
    }
}

/// Refuses an argument that is neither a file nor a command, and more than one session, before a window is opened.
pub fn check_files(files: &[PathBuf]) -> Result<(), Failure> {
    if let [file] = files
        && PhantomName::of_path(file).is_some()
    {
        return Ok(());
    }
    let Some(missing) = files.iter().find(|f| !f.exists()) else {
        let absolute = |file: &PathBuf| std::path::absolute(file).unwrap_or_else(|_| file.clone());
        let sessions = files.iter().filter(|file| is_session(file)).map(absolute);
        let sessions: Vec<PathBuf> = sessions.collect::<BTreeSet<_>>().into_iter().collect();
        return match sessions.len() {
            0 | 1 => Ok(()),
            _ => Err(Failure::usage(several_sessions(&sessions))),
        };
    };
    let name = missing.to_string_lossy();
    Err(Failure::usage(typed::no_command(
        &name,
        &typed::similar_commands(&name),
    )))
}

impl Global {
    /// Opens the chosen backend. Without a choice it opens a graphics card while the command reads its files, but only for
    /// work that takes the processor long: `core_seconds` is the time of one core for work that cards can do.
    pub fn backend(&self, core_seconds: f64) -> Result<Backend, Failure> {
        crate::io::limit_memory(self.memory.map(|gb| (gb * 1e9) as u64));
        let kind = match self.backend_kind()? {
            Some(kind) => kind,
            None if self.pays_on_card(core_seconds) => BackendKind::Auto,
            None => BackendKind::Cpu,
        };
        let choice = BackendChoice {
            kind,
            threads: self.threads.map(usize::from),
        };
        Backend::begin(&choice).map_err(|e| Failure::new(e.to_string()))
    }

    /// Silences the messages of drivers, shares cards with other processes, and applies the memory limit to the window,
    /// whose settings may lower it.
    pub fn begin_window(&self) {
        driver_messages::suppress();
        crate::io::card_claims::install();
        if let Some(gb) = self.memory {
            crate::io::limit_memory_for_good((gb * 1e9) as u64);
        }
    }

    /// Whether work that takes one core this long is faster on a graphics card, which has to be opened for it.
    fn pays_on_card(&self, core_seconds: f64) -> bool {
        /// A card that is opened and closed beside other work costs some 0.2 s; files and joining take as long as before.
        const LEAST_S: f64 = 0.6;
        let threads = self.threads.map_or_else(thread::cores, usize::from);
        core_seconds > LEAST_S * threads as f64
    }

    /// The option, else the variable: overrides the window's setting. Also applies the time limit for the driver, since
    /// every choice of a backend follows.
    pub fn backend_kind(&self) -> Result<Option<BackendKind>, Failure> {
        let variable = |name| std::env::var_os(name).filter(|text| !text.is_empty());
        if let Some(text) = variable(DRIVER_VARIABLE) {
            const LIMITS: std::ops::RangeInclusive<u64> = 1..=3600;
            let text = text.to_string_lossy();
            let seconds = text.parse().ok().filter(|seconds| LIMITS.contains(seconds));
            let refusal = || {
                format!("{DRIVER_VARIABLE}: found “{text}”, expected a whole number from 1 to 3600")
            };
            cuda::wait_for_driver(seconds.ok_or_else(|| Failure::usage(refusal()))?);
        }
        match (self.backend, variable(BACKEND_VARIABLE)) {
            (Some(kind), _) => Ok(Some(kind)),
            (None, None) => Ok(None),
            (None, Some(text)) => text
                .to_string_lossy()
                .parse()
                .map(Some)
                .map_err(|e| Failure::usage(format!("{BACKEND_VARIABLE}: {e}"))),
        }
    }
}

/// The time of one core for the work that a subcommand can do on a graphics card, seconds, as far as the arguments
/// determine it: 0 without such work, infinite if it depends on the files.
fn core_seconds(command: &Command) -> f64 {
    match command {
        Command::Track(options) => options.core_seconds(),
        Command::Geodesic(options) => options.core_seconds(),
        other if has_work_for_cards(other) => f64::INFINITY,
        _ => 0.0,
    }
}

/// Whether a subcommand may run a solver that has a kernel for graphics cards.
fn has_work_for_cards(command: &Command) -> bool {
    !matches!(
        command,
        Command::Info(_)
            | Command::Fit(_)
            | Command::Gradients(_)
            | Command::Density(_)
            | Command::Region(_)
            | Command::Convert(_)
            | Command::Select(_)
            | Command::Align(_)
            | Command::Table(_)
            | Command::Profile(_)
            | Command::Connectome(_)
            | Command::Bundles(_)
            | Command::Score(_)
            | Command::Compare(_)
            | Command::Phantom(_)
            | Command::Guide(_)
            | Command::Run(_)
            | Command::Bids(_)
            | Command::Protocol(_)
    )
}

/// Whether a subcommand may open a graphics device to draw.
fn may_draw(command: &Command) -> bool {
    match command {
        Command::Render(_) | Command::Demo(_) | Command::Bench(_) => true,
        Command::Report(options) => !options.no_pictures,
        Command::Run(options) => !options.no_pictures,
        Command::Bids(options) => options.draws(),
        _ => false,
    }
}

/// Runs a subcommand.
pub fn run(command: Command, global: &Global) -> ExitCode {
    crate::io::card_claims::install();
    if may_draw(&command) {
        driver_messages::suppress();
    }
    let outcome = Runner::new(global, core_seconds(&command)).and_then(|mut runner| {
        let outcome = match command {
            Command::Info(options) => info::run(&options, &mut runner),
            Command::Fit(options) => fit::run(&options, &mut runner),
            Command::Fod(options) => fod::run(&options, &mut runner),
            Command::Track(options) => track::run(&options, &mut runner),
            Command::Geodesic(options) => geodesic::run(&options, &mut runner),
            Command::Pathway(options) => pathway::run(&options, &mut runner),
            Command::Uncertainty(options) => uncertainty::run(&options, &mut runner),
            Command::Segment(options) => segment::run(&options, &mut runner),
            Command::Gradients(options) => gradients::run(&options, &mut runner),
            Command::Region(options) => region::run(&options, &mut runner),
            Command::Convert(options) => convert::run(&options, &mut runner),
            Command::Replay(options) => replay::run(&options, &mut runner),
            Command::Methods(options) => methods::run(&options, &mut runner),
            Command::Report(options) => report::run(&options, &mut runner),
            Command::Select(options) => select::run(&options, &mut runner),
            Command::Align(options) => align::run(&options, &mut runner),
            Command::Commit(options) => commit::run(&options, &mut runner),
            Command::Density(options) => density::run(&options, &mut runner),
            Command::Table(options) => table::run(&options, &mut runner),
            Command::Profile(options) => profile::run(&options, &mut runner),
            Command::Connectome(options) => connectome::run(&options, &mut runner),
            Command::Bundles(options) => bundles::run(&options, &mut runner),
            Command::Score(options) => score::run(&options, &mut runner),
            Command::Compare(options) => compare::run(&options, &mut runner),
            Command::Render(options) => render::run(&options, &mut runner),
            Command::Protocol(options) => protocol::run(&options, &mut runner),
            Command::Run(options) => run::run(&options, global, &mut runner),
            Command::Bids(options) => bids::run(&options, global, &mut runner),
            Command::Phantom(options) => phantom::run(&options, &mut runner),
            Command::Guide(options) => guide::run(&options, &mut runner),
            Command::Demo(options) => demo::run(&options, &mut runner),
            Command::Bench(options) => bench::run(&options, &mut runner),
        };
        runner.end(outcome)
    });
    ExitCode::from(output::end(outcome, global.json))
}
