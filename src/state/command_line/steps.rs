//! The commands of steps on streamlines: each keeps some of them, or divides them into groups.

use crate::data::ShellCommand;
use crate::solvers::tractogram::selection::SelectionOptions;
use crate::state::command_line::CommandLine;
use crate::state::core::text::quoted_path;
use std::path::{Path, PathBuf};

/// A command that keeps some streamlines, or divides them into groups.
#[derive(Clone, PartialEq, Debug)]
pub enum StepCommand {
    /// `arcuate select`
    Select(SelectionOptions),
    /// `arcuate bundles`
    Group(SelectionOptions),
}

/// A file that can hold groups, as an argument: this one, or one beside it.
fn grouped_file(path: &Path) -> String {
    quoted_path(&path.with_extension("trx"))
}

/// A sequence of commands: those that compute the streamlines, and one for each step that keeps some of them or divides
/// them into groups.
pub(super) fn step_commands(
    base: &CommandLine,
    steps: &[Option<StepCommand>],
    out: &Path,
) -> Vec<ShellCommand> {
    let (mut input, mut reported, mut commands) =
        (PathBuf::from("all.trx"), String::new(), Vec::new());
    match base {
        CommandLine::File { file, reading } => {
            input.clone_from(file);
            reported = reading.to_string();
        }
        command => commands.extend(command.commands_to(&input)),
    }
    for (i, step) in steps.iter().flatten().enumerate() {
        let output = match i + 1 == steps.len() {
            true => out.to_owned(),
            false => PathBuf::from(format!("step{}.trx", i + 1)),
        };
        let from = quoted_path(&input);
        let text = match step {
            StepCommand::Select(step) => {
                commands.extend(step.needs.iter().cloned());
                let to = quoted_path(&output);
                format!("arcuate select {from} {to}{}{reported}", step.options)
            }
            StepCommand::Group(step) => {
                commands.extend(step.needs.iter().cloned());
                let to = grouped_file(&output);
                let options = &step.options;
                format!("arcuate bundles {from}{options} --out {to}{reported}")
            }
        };
        commands.push(text.into());
        if matches!(step, StepCommand::Group(_)) && grouped_file(&output) != quoted_path(&output) {
            let convert = format!(
                "arcuate convert {} {}",
                grouped_file(&output),
                quoted_path(&output)
            );
            commands.push(convert.into());
        }
        reported.clear();
        input = output;
    }
    commands
}
