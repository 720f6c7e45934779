//! The words of the command line as they were typed: which command they name, and the command to repeat.

use super::Arguments;
use super::runner::Failure;
use crate::guide::synonyms;
use crate::io::disk::is_same;
use crate::io::{Error, quoted};
use crate::state::files::types::PhantomName;
use clap::CommandFactory as _;
use std::path::Path;

/// Commands that a word may mean: spelt nearly like it, or known under it elsewhere.
pub fn similar_commands(word: &str) -> Vec<String> {
    let commands = Arguments::command();
    let names = commands.get_subcommands().map(|c| c.get_name().to_owned());
    // At most two edits are taken for a typing error.
    let mut similar: Vec<String> = names
        .filter(|name| strsim::levenshtein(name, word) <= 2)
        .collect();
    let lower = word.to_lowercase();
    if let Some(command) = synonyms::command_of(&lower)
        && !similar.iter().any(|name| name == command)
    {
        similar.insert(0, command.to_owned());
    }
    similar
}

/// The command that the words name, such as `fit` or `gradients turn`.
pub fn named_command(arguments: impl Iterator<Item = String>) -> Option<String> {
    let commands = Arguments::command();
    let mut command: Option<&clap::Command> = None;
    let mut name = String::new();
    for word in arguments {
        let own = command.unwrap_or(&commands);
        let Some(sub) = own.find_subcommand(&word) else {
            continue;
        };
        if !name.is_empty() {
            name.push(' ');
        }
        name += sub.get_name();
        command = Some(sub);
    }
    command.map(|_| name)
}

/// The sentence about a first word that is neither a command nor a file, if it resembles a command.
pub fn unknown_command(arguments: impl Iterator<Item = String>) -> Option<String> {
    let mut arguments = arguments.skip(1).skip_while(|word| word.starts_with('-'));
    let word = arguments.next().filter(|word| !Path::new(word).exists())?;
    let similar = similar_commands(&word);
    (!similar.is_empty()).then(|| no_command(&word, &similar))
}

/// The sentence about a word that is neither a command nor a file.
pub fn no_command(word: &str, similar: &[String]) -> String {
    let similar = match similar {
        [] => String::new(),
        names => format!(" (similar commands: {})", names.join(", ")),
    };
    format!(
        "There is no file and no command of this name{similar}; check its spelling and the folder, or see arcuate --help: \
         {word}"
    )
}

/// Refuses inputs that do not exist, so that a command reports a wrong argument before outputs that exist.
pub fn must_exist<'a>(inputs: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
    let mut inputs = inputs.into_iter();
    let missing = inputs.find(|path| PhantomName::of_path(path).is_none() && !path.exists());
    match missing {
        Some(path) => Err(Error::Missing {
            path: path.to_owned(),
        }
        .into()),
        None => Ok(()),
    }
}

/// Whether several words of the command name an existing file, as if it were both read and written.
pub fn is_named_twice(path: &Path) -> bool {
    let arguments = std::env::args_os().skip(1);
    let names = arguments.filter(|word| {
        let word = word.to_string_lossy();
        // The path follows a prefix in `--out=FILE` and `mask:FILE`.
        let value = word.rsplit_once('=').map_or(&*word, |(_, value)| value);
        let file = value.split_once(':').map_or(value, |(_, file)| file);
        [&*word, value, file]
            .iter()
            .any(|name| is_same(Path::new(name), path))
    });
    names.count() > 1
}

/// The command as it was typed, without options that do not change the result.
pub fn typed_command() -> String {
    let mut text = "arcuate".to_owned();
    let mut arguments = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = arguments.next() {
        match word.as_str() {
            "--json" | "--quiet" | "--force" | "--strict" => {}
            "--threads" | "--memory" => drop(arguments.next()),
            word if ["--threads=", "--memory="]
                .iter()
                .any(|o| word.starts_with(o)) => {}
            word => {
                text.push(' ');
                text += &quoted(word);
            }
        }
    }
    text
}
