//! One command of this program in a process of its own.

use super::super::Failure;
use super::STEP_VARIABLE;
use crate::io::ending;
use serde_json::Value;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// Runs a command in a folder, and returns its JSON object, with its warnings and errors. If this process is asked to end,
/// the other one is ended, too.
pub fn run(line: &[String], folder: &Path) -> Result<Value, Failure> {
    let program = std::env::current_exe()?;
    let child = Command::new(program)
        .args(line)
        .args(["--json", "--quiet"])
        .env(STEP_VARIABLE, "1")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let child = Arc::new(Mutex::new(child));
    let lock = |child: &Mutex<Child>| {
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        child.stdout.take()
    };
    let ended = child.clone();
    let end = ending::at_end(move || {
        let mut child = ended.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
    });
    let mut text = String::new();
    if let Some(mut out) = lock(&child) {
        out.read_to_string(&mut text)?;
    }
    let status = child
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .wait()?;
    drop(end);
    let report: Option<Value> = serde_json::from_str(text.trim()).ok();
    if status.success() {
        return Ok(report.unwrap_or(Value::Null));
    }
    let errors = report.as_ref().and_then(|r| r["errors"].as_array());
    let sentence = errors.and_then(|errors| errors.last()?.as_str());
    Err(Failure::new(match (sentence, status.code()) {
        (Some(sentence), _) => sentence.to_owned(),
        (None, Some(code)) => {
            format!("The command ended with exit code {code} and without a sentence")
        }
        (None, None) => {
            "The command was ended by the system, perhaps because memory ran out".to_owned()
        }
    }))
}
