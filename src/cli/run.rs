//! `arcuate run`: a protocol on one subject.

use super::Global;
use super::cohort::LoadedProtocol;
use super::cohort::files::Subject;
use super::cohort::steps::PassedOn;
use super::cohort::subject::{self, RunOptions};
use super::options::ValueError;
use super::output::shown;
use super::runner::{Failure, Runner};
use crate::data::text::{counted, file_name};
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arcuate run protocol.toml --subject-folder data/anna
  arcuate run protocol.toml --subject-folder data/anna --out results/anna
  arcuate run protocol.toml --subject-folder data/anna --input labels=aparc.nii.gz --backend cpu

Each step is a command of arcuate, which writes into a folder of its name; beside its results, provenance.json states the
command, the checksums of inputs and results, the version and the backend. A step whose command and inputs have the same
checksums as before, and whose results still have theirs, is not run again: an interrupted run goes on where it was, and
--force runs all steps. A step's folder gets its name when the step has succeeded. status.json states how the run ended, and
session.arcuate opens the results in the window. See arcuate guide protocols.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Protocol (.toml), as arcuate protocol writes it
    pub protocol: PathBuf,
    /// Folder with the files of the subject
    #[arg(long, value_name = "FOLDER")]
    pub subject_folder: PathBuf,
    /// Folder for the results; created if missing [default: the folder arcuate in that of the subject]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// The file of an input of the protocol, wherever it lies; may be given several times
    #[arg(long, value_name = "NAME=FILE", value_parser = input)]
    pub input: Vec<(String, PathBuf)>,
    /// Draw no pictures for reports
    #[arg(long)]
    pub no_pictures: bool,
}

fn input(text: &str) -> Result<(String, PathBuf), ValueError> {
    let parts = text
        .split_once('=')
        .filter(|(name, file)| !name.is_empty() && !file.is_empty());
    let (name, file) =
        parts.ok_or_else(|| ValueError::new("NAME=FILE as in dwi=scan.nii.gz", text))?;
    Ok((name.to_owned(), PathBuf::from(file)))
}

impl Global {
    /// The options of all commands that the steps of a protocol have, too.
    pub fn passed_on(&self) -> PassedOn {
        let mut line = Vec::new();
        let backend = self.backend.map(|kind| kind.to_string());
        let threads = self.threads.map(|n| n.to_string());
        let memory = self.memory.map(|gb| gb.to_string());
        for (name, value) in [
            ("backend", backend),
            ("threads", threads),
            ("memory", memory),
        ] {
            line.extend(value.map(|value| format!("--{name}={value}")));
        }
        PassedOn(line)
    }
}

pub fn run(options: &Options, global: &Global, runner: &mut Runner) -> Result<(), Failure> {
    let loaded = LoadedProtocol::open(&options.protocol)?;
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let folder = absolute(&options.subject_folder);
    if !folder.is_dir() {
        return Err(Failure::new(format!(
            "Found no folder of this name, expected that of a subject; name it with --subject-folder: {}",
            folder.display()
        )));
    }
    for (name, file) in &options.input {
        if !loaded.protocol.inputs.contains_key(name) {
            let known: Vec<&str> = loaded.protocol.inputs.keys().map(String::as_str).collect();
            return Err(Failure::usage(format!(
                "--input names “{name}”, which the protocol does not have; its inputs are {}",
                known.join(", ")
            )));
        }
        if !file.is_file() {
            return Err(Failure::new(format!(
                "Found no file of this name, expected the input “{name}”; name another: {}",
                file.display()
            )));
        }
    }
    let given = options.input.iter();
    let subject = Subject {
        name: file_name(&folder),
        out: options
            .out
            .as_ref()
            .map_or_else(|| folder.join("arcuate"), absolute),
        folders: vec![folder],
        bids: false,
        given: given
            .map(|(name, file)| (name.clone(), absolute(file)))
            .collect(),
    };
    let passed_on = global.passed_on();
    let run_options = RunOptions {
        all: runner.force(),
        pictures: !options.no_pictures,
    };
    let status = subject::run(&loaded, &subject, (run_options, &passed_on), runner)?;
    let steps = status["steps"].as_array().map_or(0, Vec::len);
    let all = status["steps"].as_array().into_iter().flatten();
    let unchanged = all.filter(|step| step["unchanged"] == true).count();
    let report = json!({"command": "run", "status": status});
    let text = format!(
        "{} ({unchanged} unchanged) in {}",
        counted(steps, "step"),
        shown(&subject.out)
    );
    runner.report(&report, &text);
    Ok(())
}
