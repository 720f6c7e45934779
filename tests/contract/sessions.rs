//! Command texts, methods and report of a session that uses everything.

use super::holds;
use crate::sessions::Window;
use arcuate::state::{methods as paragraph, report as reported};
use std::fmt::Write as _;
use std::path::Path;

/// Without the folder of this run.
fn anonymous(text: &str, folder: &Path) -> String {
    text.replace(&*folder.to_string_lossy(), "FOLDER")
}

fn worked(folder: &Path) -> Window {
    let mut window = Window::with_scan(folder);
    window.work();
    window
}

pub fn commands() {
    let folder = tempfile::tempdir().expect("a folder");
    let window = worked(folder.path());
    let mut text = String::new();
    for layer in &window.state.document.layers {
        let _ = writeln!(text, "{}\n  {}", layer.name, layer.recipe.command());
    }
    if let Some(live) = window.state.final_live() {
        let _ = writeln!(text, "live\n  {}", live.recipe.command());
    }
    holds("session_commands.txt", &anonymous(&text, folder.path()));
}

pub fn methods() {
    let folder = tempfile::tempdir().expect("a folder");
    let window = worked(folder.path());
    let text = paragraph::methods(&window.state);
    holds("session_methods.txt", &anonymous(&text, folder.path()));
}

pub fn report() {
    let folder = tempfile::tempdir().expect("a folder");
    let window = worked(folder.path());
    let report = reported::state(&window.state);
    let text = serde_json::to_string_pretty(&report).expect("JSON");
    holds("session_report.json", &anonymous(&text, folder.path()));
}
