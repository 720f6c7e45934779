//! Failures of the engine as exceptions of Python, with the engine's sentences.

use arcuate_engine::compute::Cancelled;
use arcuate_engine::parameters::ParamError;
use arcuate_engine::{io, solvers};
use pyo3::prelude::*;
use std::path::Path;

/// A failure by the exception that it becomes.
#[derive(Debug)]
pub enum Failure {
    Input(String),
    Parameter(String),
    File(String),
    Memory(String),
    Card(String),
    /// An exception or a signal, which is raised instead.
    Cancelled,
}

impl From<solvers::Error> for Failure {
    fn from(error: solvers::Error) -> Self {
        let sentence = error.to_string();
        match error {
            solvers::Error::Cancelled => Self::Cancelled,
            solvers::Error::Input(_) => Self::Input(sentence),
            solvers::Error::Memory(_) => Self::Memory(sentence),
            solvers::Error::Card(_) => Self::Card(sentence),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error {
            io::Error::Cancelled => Self::Cancelled,
            error => Self::File(error.to_string()),
        }
    }
}

impl From<Cancelled> for Failure {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<ParamError> for Failure {
    fn from(error: ParamError) -> Self {
        Self::Parameter(match &error {
            ParamError::Unused { key, reason } => {
                let name = key.replace('-', "_");
                format!("Found {name}, which has no effect: {reason}; leave it out")
            }
            // The name of the argument in place of that in the window.
            ParamError::Value {
                key,
                found,
                expected,
                example,
                ..
            } => {
                let name = key.replace('-', "_");
                format!(
                    "Found {found} for {name}, expected {expected}; choose for example {example}"
                )
            }
            error => with_arguments(&error.to_string()),
        })
    }
}

/// The sentence with the names of arguments in place of options: `random_seed` for `--random-seed`.
fn with_arguments(sentence: &str) -> String {
    let argument = |word: &str| match word.strip_prefix("--") {
        Some(option) => option.replace('-', "_"),
        None => word.to_owned(),
    };
    let named: Vec<String> = sentence.split(' ').map(argument).collect();
    named.join(" ")
}

/// Refuses to replace files, as the command line does without `--force`.
pub fn may_write(paths: &[&Path], overwrite: bool) -> Result<(), Failure> {
    let Some(path) = paths.iter().find(|path| path.exists()) else {
        return Ok(());
    };
    let sentence = match path.is_dir() {
        true => {
            "Found a folder of this name, expected a file or an unused name; choose another name"
        }
        false if overwrite => return Ok(()),
        false => {
            "Found a file of this name, expected an unused one; choose another, or give overwrite=True to replace it"
        }
    };
    Err(Failure::File(format!("{sentence}: {}", path.display())))
}

/// The sentence about a key that an argument does not have.
pub fn unknown_key(found: &str, argument: &str, keys: &[&str]) -> String {
    let keys = keys.join(", ");
    format!("Found {found} for {argument}, expected one of {keys}; choose one of them")
}

/// The exception, whose classes are those of `arcuate/_errors.py`.
pub fn raised(py: Python<'_>, failure: Failure) -> PyErr {
    let (class, sentence) = match failure {
        Failure::Input(sentence) => ("InputError", sentence),
        Failure::Parameter(sentence) => ("ParameterError", sentence),
        Failure::File(sentence) => ("FileError", sentence),
        Failure::Memory(sentence) => ("MemoryShortage", sentence),
        Failure::Card(sentence) => ("BackendError", sentence),
        Failure::Cancelled => ("Error", "Cancelled".to_owned()),
    };
    let exception = py
        .import("arcuate._errors")
        .and_then(|module| module.getattr(class)?.call1((sentence,)));
    match exception {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}
