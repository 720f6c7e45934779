//! `arcuate protocol`: the protocol of a session, and checks of protocols.

use super::cohort::LoadedProtocol;
use super::headless::Headless;
use super::options::LookOptions;
use super::output::{self, report_message, shown};
use super::runner::{Failure, Runner};
use crate::data::text::counted;
use crate::io;
use crate::state::Severity;
use crate::state::protocols::jobs::session_protocol;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  arcuate protocol tracts.arcuate --out protocol.toml
  arcuate protocol check protocol.toml
  arcuate run protocol.toml --subject-folder data/anna
  arcuate bids data results participant --protocol protocol.toml

A protocol names inputs by their role in place of a path, and regions by labels of a map, or by masks or spheres in a space
with a transform or a warp. Its steps are commands of arcuate with their options. A region that was drawn by hand does not
carry over to other heads: the protocol says so, and check refuses it until it is replaced. In the window, it is in the File
menu. See arcuate guide protocols.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Options {
    #[command(subcommand)]
    pub what: Option<ProtocolCommand>,
    /// Session file (.arcuate)
    #[arg(required = true)]
    pub session: Option<PathBuf>,
    #[command(flatten)]
    pub look: LookOptions,
    /// Protocol to write (.toml) [default: the name of the session, with .toml]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(clap::Subcommand, Debug)]
pub enum ProtocolCommand {
    /// Check a protocol: names, commands, options and their limits, without running it
    Check(CheckOptions),
}

#[derive(clap::Args, Debug)]
pub struct CheckOptions {
    /// Protocol (.toml)
    pub file: PathBuf,
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    match &options.what {
        Some(ProtocolCommand::Check(options)) => check(options, runner),
        None => write(options, runner),
    }
}

fn write(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let session = options.session.clone().unwrap_or_default();
    let out = options.out.clone();
    let out = out.unwrap_or_else(|| session.with_extension("toml"));
    if out
        .extension()
        .is_none_or(|e| !e.eq_ignore_ascii_case("toml"))
    {
        return Err(Failure::usage(format!(
            "Protocols are written as TOML, expected a name ending in .toml: {}",
            out.display()
        )));
    }
    runner.may_make(&out)?;
    let mut window = Headless::new(runner);
    window.open_session(&session, &options.look.look_in, false)?;
    window.report_warnings();
    let converted = session_protocol(&window.state)?;
    let (protocol, notes) = (converted.protocol, converted.notes);
    for sentence in &notes {
        report_message(Severity::Warning, sentence.trim_end_matches('.'));
    }
    io::protocol::save(&out, &protocol, &notes)?;
    let report = json!({
        "command": "protocol", "session": session, "file": out,
        "inputs": protocol.inputs.keys().collect::<Vec<_>>(),
        "regions": protocol.regions.keys().collect::<Vec<_>>(),
        "steps": protocol.steps.iter().map(|step| &step.name).collect::<Vec<_>>(),
    });
    let text = format!(
        "{}, {}, {}: {}",
        counted(protocol.inputs.len(), "input"),
        counted(protocol.regions.len(), "region"),
        counted(protocol.steps.len(), "step"),
        shown(&out)
    );
    runner.report(&report, &text);
    Ok(())
}

fn check(options: &CheckOptions, runner: &Runner) -> Result<(), Failure> {
    let loaded = LoadedProtocol::read(&options.file)?;
    let mut problems = loaded.problems();
    for doubt in loaded.doubts() {
        report_message(Severity::Warning, &doubt);
    }
    let protocol = &loaded.protocol;
    let report = json!({
        "command": "protocol check", "file": options.file, "title": protocol.title, "sha256": loaded.sha256,
        "inputs": protocol.inputs.keys().collect::<Vec<_>>(),
        "regions": protocol.regions.keys().collect::<Vec<_>>(),
        "steps": protocol.steps.iter().map(|step| &step.name).collect::<Vec<_>>(),
        "problems": problems,
    });
    if let Some(last) = problems.pop() {
        for problem in &problems {
            output::error(problem);
        }
        runner.report(&report, "");
        return Err(Failure::new(last));
    }
    let text = format!(
        "{}: {}, {}, {}",
        shown(&options.file),
        counted(protocol.inputs.len(), "input"),
        counted(protocol.regions.len(), "region"),
        counted(protocol.steps.len(), "step")
    );
    runner.report(&report, &text);
    Ok(())
}
