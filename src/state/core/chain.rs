//! Commands of a shell that run one after another.

use crate::data::ShellCommand;

/// One line of commands of which each is run once. Maps of one estimation are written by one command, since a second one
/// would find the files of the first in their folder.
pub fn chain(commands: impl IntoIterator<Item = ShellCommand>) -> String {
    let mut all: Vec<ShellCommand> = Vec::new();
    for command in commands {
        if !all.iter_mut().any(|earlier| earlier.includes(&command)) {
            all.push(command);
        }
    }
    let texts: Vec<String> = all.iter().map(ShellCommand::to_string).collect();
    texts.join(" && ")
}
