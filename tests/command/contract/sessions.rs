//! Command texts, methods, report, file and replay of sessions that use everything.

use super::{commands::arcuate, commands::members, holds};
use crate::support::session_window::{Window, everything};
use arcuate::compute::simd;
use arcuate::state::update::{filter_command, pathway_command, segment_command};
use arcuate::state::{CommandLine, Task, methods as paragraph, report as reported};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

/// Replaces the folder of this run and the name of this machine's vector instructions.
fn anonymous(text: &str, folder: &Path) -> String {
    let level = format!(" · {}", simd::level().name());
    text.replace(&*folder.to_string_lossy(), "FOLDER")
        .replace(&level, " · VECTORS")
}

fn with_regions(folder: &Path) -> Window {
    let mut window = Window::with_scan(folder);
    window.work();
    window
}

fn windows(folder: &Path) -> [Window; 2] {
    ["regions", "tasks"].map(|name| {
        let folder = folder.join(name);
        std::fs::create_dir(&folder).expect("a folder");
        match name {
            "regions" => with_regions(&folder),
            _ => everything(&folder),
        }
    })
}

pub fn commands() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut text = String::new();
    for window in windows(folder.path()) {
        let state = &window.state;
        let mut add = |name: &str, command: Option<CommandLine>| {
            let line = command.map_or("(nothing)".to_owned(), |command| command.text());
            let _ = writeln!(text, "{name}\n  {line}");
        };
        for layer in &state.document.layers {
            add(&layer.name, Some(state.document.command_line(layer)));
        }
        add(
            "live",
            state
                .final_live()
                .map(|live| state.document.live_command_line(live)),
        );
        add("pathway", pathway_command(state, None));
        add("segment", segment_command(state));
        add("filter", filter_command(state));
    }
    holds("session_commands.txt", &anonymous(&text, folder.path()));
}

pub fn methods() {
    let folder = tempfile::tempdir().expect("a folder");
    let texts = windows(folder.path()).map(|window| paragraph::methods(&window.state));
    // One sentence per line. The figures of a COMMIT fit vary a little from run to run.
    let lines = texts.join("\n").replace(". ", ".\n").replace("; ", ";\n");
    let figures = |line: &str| {
        let fitted = line.contains(" iterations, until") || line.contains("have a non-zero weight");
        match fitted {
            true => without_figures(line) + "\n",
            false => format!("{line}\n"),
        }
    };
    let text: String = lines.lines().map(figures).collect();
    holds("session_methods.txt", &anonymous(&text, folder.path()));
}

pub fn report() {
    let folder = tempfile::tempdir().expect("a folder");
    let holds_report = |name: &str, window: &Window| {
        let mut report = reported::state(&window.state);
        without_what_varies(&mut report);
        let text = serde_json::to_string_pretty(&report).expect("JSON");
        let name = format!("session_report_{name}.json");
        holds(&name, &anonymous(&text, folder.path()));
    };
    for (mut window, name) in windows(folder.path()).into_iter().zip(["regions", "tasks"]) {
        holds_report(name, &window);
        let path = folder.path().join(name).join("kept.arcuate");
        window.save(&path);
        holds_report(&format!("{name}_opened"), &Window::opened(&path));
    }
}

/// The members of the file, and the result of its replay.
pub fn file() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = everything(folder.path());
    window.act(arcuate::state::Action::View(
        arcuate::state::ViewAction::SelectTask(Task::View),
    ));
    let path = folder.path().join("all.arcuate");
    window.save(&path);
    let text = std::fs::read_to_string(&path).expect("written");
    let saved: Value = serde_json::from_str(&text).expect("JSON");
    let replay = ["replay", "all.arcuate", "--json", "--backend", "cpu"];
    let output = arcuate(&replay, folder.path());
    let replayed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mut text = String::new();
    for (title, value) in [("file", &saved), ("replay", &replayed)] {
        let _ = writeln!(text, "{title}");
        for (member, kind) in members(value) {
            let _ = writeln!(text, "  {member}: {kind}");
        }
    }
    holds("session_members.txt", &anonymous(&text, folder.path()));
}

/// Replaces each number by `#`, including numbers with spaces between thousands.
fn without_figures(line: &str) -> String {
    let mut text = String::new();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let digit_follows = letters.peek().is_some_and(char::is_ascii_digit);
        let within = text.ends_with('#') && !letter.is_alphabetic() && digit_follows;
        if letter.is_ascii_digit() {
            let begins = !text.ends_with('#');
            text.extend(begins.then_some('#'));
        } else if !within {
            text.push(letter);
        }
    }
    text
}

/// Durations differ from run to run, and the figures of a COMMIT fit a little.
fn without_what_varies(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let varies = key.ends_with("_ms")
                    || key.ends_with("_per_s")
                    || key == "filter"
                    || key == "status";
                match varies {
                    true => *value = Value::from("varies"),
                    false => without_what_varies(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_what_varies),
        // The range of weights depends on a fit.
        Value::Number(number) if number.is_f64() => *value = Value::from("a number"),
        _ => {}
    }
}
