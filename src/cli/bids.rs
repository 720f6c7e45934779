//! `arcuate bids`: a protocol on a BIDS dataset, with the command line of BIDS Apps.

mod description;
mod group;
mod measures;
mod page;
mod publish;
mod units;

use super::Global;
use super::cohort::LoadedProtocol;
use super::cohort::files::SubjectFiles;
use super::cohort::subject::{self, RunOptions};
use super::cohort::used_names;
use super::options::ValueError;
use super::output::{self, shown};
use super::runner::{Failure, Runner};
use crate::data::keyed;
use crate::data::protocol::InputRole;
use crate::io;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use units::{Unit, counted_units, units};

const EXAMPLES: &str = "\
Examples:
  arcuate bids data results participant --protocol protocol.toml --dry-run
  arcuate bids data results participant --protocol protocol.toml --participant-label 01 02
  arcuate bids data results participant --protocol protocol.toml --derivatives data/derivatives/qsiprep
  arcuate bids data results group --protocol protocol.toml

participant runs the protocol on each participant, or on each session of one; a participant that fails ends with one
sentence, and the others go on. Inputs are looked for in the folders of --derivatives first, in their order, then in
BIDS_DIR, by the patterns “bids” of the protocol. Several processes may share OUTPUT_DIR, each with other participants: two
on one participant cannot harm each other, since the second one ends. Completed, unchanged steps are not run again.

group reads what the participants left in OUTPUT_DIR and writes group_measures.tsv (subject, session, bundle, measure, node,
value), group_matrices.tsv, and group_report.html: one page with a row for each participant, failures first.

OUTPUT_DIR is a BIDS derivatives dataset; its folder arcuate has, for each participant, the steps with their provenance, a
session for the window (session.arcuate) and how the run ended (status.json). The check of BIDS_DIR concerns
dataset_description.json and the folders of participants; it does not replace the validator of BIDS. See arcuate guide
protocols.";

/// The level of an analysis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Each participant.
    Participant,
    /// All participants, whose results exist.
    Group,
}

keyed!(Level {
    Participant = "participant",
    Group = "group",
});

fn level(text: &str) -> Result<Level, ValueError> {
    Level::from_key(text).ok_or_else(|| ValueError::new("participant or group", text))
}

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Folder of the raw BIDS dataset
    pub bids_dir: PathBuf,
    /// Folder of the results; created if missing
    pub output_dir: PathBuf,
    /// Level of the analysis: participant or group
    #[arg(value_parser = level)]
    pub level: Level,
    /// Protocol (.toml), as arcuate protocol writes it; group needs it for its title alone
    #[arg(long, value_name = "FILE", required_if_eq("level", "participant"))]
    pub protocol: Option<PathBuf>,
    /// Only these participants, with or without sub-
    #[arg(long, visible_alias = "participant_label", value_name = "LABEL", num_args = 1..)]
    pub participant_label: Vec<String>,
    /// Only these sessions, with or without ses-
    #[arg(long, visible_alias = "session_label", value_name = "LABEL", num_args = 1..)]
    pub session_label: Vec<String>,
    /// Datasets of derivatives, such as those of QSIPrep, in which inputs are looked for first
    #[arg(long, value_name = "FOLDER", num_args = 1..)]
    pub derivatives: Vec<PathBuf>,
    /// List the inputs of each participant, and run nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not check the description of the dataset
    #[arg(long, visible_alias = "skip_bids_validator")]
    pub skip_bids_validation: bool,
    /// Draw no pictures for the report
    #[arg(long)]
    pub no_pictures: bool,
}

/// The folder of the participants' steps in the output.
pub const WORK: &str = "arcuate";

fn failed(error: io::Error) -> Failure {
    Failure::new(error.to_string())
}

pub fn run(options: &Options, global: &Global, runner: &mut Runner) -> Result<(), Failure> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let [bids, output] = [&options.bids_dir, &options.output_dir].map(|path| absolute(path));
    let loaded = options.protocol.as_deref().map(LoadedProtocol::open);
    let loaded = loaded.transpose()?;
    if !bids.is_dir() {
        return Err(Failure::new(format!(
            "Found no folder of this name, expected that of a BIDS dataset; name another: {}",
            bids.display()
        )));
    }
    if bids == output {
        return Err(Failure::usage(
            "OUTPUT_DIR is BIDS_DIR, expected a folder of its own; name another",
        ));
    }
    if !options.skip_bids_validation {
        description::check(&bids)?;
    }
    let mut roots = Vec::new();
    for folder in &options.derivatives {
        if !folder.is_dir() {
            return Err(Failure::new(format!(
                "Found no folder of this name, expected a dataset of derivatives; name another: {}",
                folder.display()
            )));
        }
        roots.push(absolute(folder));
    }
    roots.push(bids.clone());
    match (options.level, loaded) {
        (Level::Group, loaded) => group::run(options, &output, loaded.as_ref(), runner),
        (Level::Participant, Some(loaded)) => {
            let units = units(&bids, &roots, &output, options)?;
            match options.dry_run {
                true => dry_run(&units, &loaded, runner),
                false => participants(
                    &units,
                    &roots,
                    (&loaded, &output),
                    (options, global),
                    runner,
                ),
            }
        }
        (Level::Participant, None) => Err(Failure::usage(
            "Found no --protocol, which participant needs; name the file",
        )),
    }
}

/// Lists the inputs of each participant.
fn dry_run(units: &[Unit], loaded: &LoadedProtocol, runner: &Runner) -> Result<(), Failure> {
    let used = used_names(&loaded.protocol.steps);
    let regions = loaded.used_regions().into_iter();
    let in_regions = regions.flat_map(|(_, region)| loaded.protocol.names_of_region(region));
    let mut names: Vec<String> = used.into_iter().chain(in_regions).collect();
    names.retain(|name| loaded.protocol.inputs.contains_key(name));
    names.sort();
    names.dedup();
    let (mut listed, mut incomplete) = (Vec::new(), Vec::new());
    for unit in units {
        let mut files = SubjectFiles::new(loaded, &unit.subject);
        let (mut inputs, mut missing) = (serde_json::Map::new(), Vec::new());
        let mut text = unit.subject.name.clone();
        for name in &names {
            match files.input(name) {
                Ok(path) => {
                    text += &format!("\n  {name}: {}", shown(&path));
                    let is_scan = loaded.protocol.inputs[name].role == InputRole::Scan;
                    if is_scan && !has_gradients(&path) {
                        let sentence = "Found no gradients beside this scan or above it in the dataset; add its .bval and \
                                        .bvec";
                        text += &format!("\n  {sentence}");
                        missing.push(sentence.to_owned());
                    }
                    inputs.insert(name.clone(), json!(path));
                }
                Err(failure) => {
                    text += &format!("\n  {name}: {}", failure.sentence);
                    missing.push(failure.sentence);
                }
            }
        }
        runner.print(&text);
        if !missing.is_empty() {
            incomplete.push(unit.subject.name.clone());
        }
        listed
            .push(json!({"participant": unit.subject.name, "inputs": inputs, "missing": missing}));
    }
    let steps: Vec<&str> = loaded
        .protocol
        .steps
        .iter()
        .map(|s| s.name.as_str())
        .collect();
    let report = json!({"command": "bids", "level": "participant", "dry_run": true, "participants": listed, "steps": steps});
    runner.report(&report, &format!("Steps: {}", steps.join(", ")));
    match incomplete.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "{} of {} lack inputs: {}",
            incomplete.len(),
            counted_units(units.iter().map(Unit::names)),
            incomplete.join(", ")
        ))),
    }
}

/// Whether a scan has b-values and directions: the two files of FSL, or one of MRtrix.
fn has_gradients(scan: &Path) -> bool {
    let files = SubjectFiles::gradients(scan);
    files.len() >= 2
        || files
            .iter()
            .any(|file| file.extension().is_some_and(|e| e == "b"))
}

/// Fails if a participant or a session did.
fn ended(units: &[Unit], failed: &[String]) -> Result<(), Failure> {
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "{} of {} failed: {}",
            failed.len(),
            counted_units(units.iter().map(Unit::names)),
            failed.join(", ")
        ))),
    }
}

fn participants(
    units: &[Unit],
    roots: &[PathBuf],
    (loaded, output): (&LoadedProtocol, &Path),
    (options, global): (&Options, &Global),
    runner: &mut Runner,
) -> Result<(), Failure> {
    io::atomic::keep_what_exists(false);
    io::atomic::make_folder(output).map_err(failed)?;
    description::save(output, roots, loaded)?;
    let passed_on = global.passed_on();
    let run_options = RunOptions {
        all: runner.force(),
        pictures: !options.no_pictures,
    };
    let (mut ends, mut lost) = (Vec::new(), Vec::new());
    for unit in units {
        let name = &unit.subject.name;
        runner.print(name);
        let ran = subject::run(loaded, &unit.subject, (run_options, &passed_on), runner);
        let published = ran.and_then(|status| {
            publish::publish(unit, output, roots, &status)?;
            Ok(status)
        });
        match published {
            Ok(status) => {
                ends.push(json!({"participant": name, "state": "done", "steps": status["steps"]}))
            }
            Err(failure) => {
                output::error(&format!("{name}: {}", failure.sentence));
                let sentence = failure.sentence;
                ends.push(json!({"participant": name, "state": "failed", "sentence": sentence}));
                lost.push(name.clone());
            }
        }
    }
    let unchanged = |end: &&Value| {
        let steps = end["steps"].as_array();
        steps.is_some_and(|steps| steps.iter().all(|step| step["unchanged"] == true))
    };
    let unchanged = ends.iter().filter(unchanged).count();
    let report =
        json!({"command": "bids", "level": "participant", "folder": output, "participants": ends});
    let done = units
        .iter()
        .filter(|unit| !lost.contains(&unit.subject.name));
    let text = format!(
        "{} done ({unchanged} unchanged) in {}",
        counted_units(done.map(Unit::names)),
        shown(output)
    );
    runner.report(&report, &text);
    ended(units, &lost)
}
