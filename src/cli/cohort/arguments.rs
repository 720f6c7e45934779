//! The words of a step's command, and their check against the command's own options.

use super::super::{Arguments, Failure, output};
use crate::data::protocol::{OptionValue, Part, Protocol, ProtocolStep, parts};
use clap::{CommandFactory as _, Parser as _};

/// Commands that compute nothing of a subject.
const REFUSED: [&str; 7] = ["run", "bids", "protocol", "demo", "guide", "bench", "help"];
/// Options that belong to the run as a whole.
const OF_RUN: [&str; 6] = ["threads", "backend", "memory", "json", "quiet", "force"];

/// The command of a step.
fn command_of(step: &ProtocolStep) -> Result<clap::Command, String> {
    let mut command = Arguments::command();
    for word in step.command.split_whitespace() {
        command = match command.find_subcommand(word) {
            Some(found) if !REFUSED.contains(&word) => found.clone(),
            _ => {
                return Err(format!(
                    "found the command “{}”, expected one that computes results, as in arcuate --help",
                    step.command
                ));
            }
        };
    }
    match step.command.trim().is_empty() {
        true => Err("found an empty command, expected one as in arcuate --help".to_owned()),
        false => Ok(command),
    }
}

/// Whether the option of this name takes a region as text.
fn takes_region(command: &clap::Command, key: &str) -> bool {
    let option = command.get_arguments().find(|a| a.get_long() == Some(key));
    let names = option.and_then(clap::Arg::get_value_names);
    names.is_some_and(|names| names.iter().any(|name| name == "REGION"))
}

/// The words of the command after `arcuate`. `expand` replaces the names in a text; it is given whether the option takes a
/// region.
pub fn command_arguments(
    step: &ProtocolStep,
    mut expand: impl FnMut(&str, bool) -> Result<String, Failure>,
) -> Result<Vec<String>, Failure> {
    let command = command_of(step).map_err(Failure::new)?;
    let mut line: Vec<String> = step.command.split_whitespace().map(str::to_owned).collect();
    for argument in &step.arguments {
        line.push(expand(argument, false)?);
    }
    for (key, value) in &step.options {
        let region = takes_region(&command, key);
        match value {
            OptionValue::Switch(false) => {}
            OptionValue::Switch(true) => line.push(format!("--{key}")),
            OptionValue::Text(text) => line.push(format!("--{key}={}", expand(text, region)?)),
            OptionValue::List(texts) => {
                for text in texts {
                    line.push(format!("--{key}={}", expand(text, region)?));
                }
            }
        }
    }
    Ok(line)
}

/// Whether the command of a step has an option of this name.
pub fn has_option(step: &ProtocolStep, key: &str) -> bool {
    let command = command_of(step);
    command.is_ok_and(|c| c.get_arguments().any(|a| a.get_long() == Some(key)))
}

/// Checks a step with the command's own options and limits; files are not opened.
pub fn check(step: &ProtocolStep, protocol: &Protocol) -> Result<(), String> {
    if let Some(key) = step
        .options
        .keys()
        .find(|key| OF_RUN.contains(&key.as_str()))
    {
        return Err(format!(
            "found the option “{key}”, which is given to arcuate run or arcuate bids; remove it here"
        ));
    }
    let leaves = |text: &&str| text.starts_with('/') || text.split('/').any(|part| part == "..");
    let out = step.options.get("out").and_then(|value| match value {
        OptionValue::Text(text) => Some(text.as_str()),
        _ => None,
    });
    if let Some(out) = out.filter(leaves) {
        return Err(format!(
            "found the output “{out}”, expected a name inside the step's own folder, such as result.trx or ."
        ));
    }
    let example = |text: &str, region: bool| {
        let parts = parts(text).map_err(|e| Failure::new(e.to_string()))?;
        let is_region = |name: &str| protocol.regions.contains_key(name);
        let parts = parts.into_iter().map(|part| match part {
            Part::Text(text) => text,
            Part::Name(name) if region && is_region(&name) => "sphere:0,0,0,1".to_owned(),
            Part::Name(_) => "file.nii.gz".to_owned(),
        });
        Ok(parts.collect())
    };
    let line = command_arguments(step, example).map_err(|failure| failure.sentence)?;
    let line = std::iter::once("arcuate".to_owned()).chain(line);
    match Arguments::try_parse_from(line) {
        Ok(_) => Ok(()),
        Err(error) => Err(output::argument_sentence(&error, &step.command)),
    }
}
