//! Output of commands: results on standard output, complaints on standard error. Names come from files that
//! anybody may have written: no control character of theirs reaches a terminal.

use super::Failure;
use crate::io::words::{in_line, is_control};
use clap::Parser as _;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::sync::OnceLock;

/// Why standard output took less than was said.
static LOST: OnceLock<String> = OnceLock::new();

/// Text without control characters, but for the ends of its lines.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let harms = |c: char| is_control(c) && c != '\n';
    match text.contains(harms) {
        false => Cow::Borrowed(text),
        true => {
            let lines = text.split('\n').map(|line| in_line(line, '·'));
            Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
        }
    }
}

/// A name on one line without control characters.
pub fn one_line(name: &str) -> String {
    in_line(name, '·')
}

/// A path in a report.
pub fn shown(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}

/// JSON in which every control character is an escape: those that JSON itself lets stand, too.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match is_control(c) {
            // A string takes all.
            true => drop(write!(text, "\\u{:04x}", u32::from(c))),
            false => text.push(c),
        }
    }
    text
}

fn put(text: &str) {
    let mut out = std::io::stdout().lock();
    let put = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = put
        // A reader that went away (`| head`) is no error.
        && error.kind() != ErrorKind::BrokenPipe
    {
        let why = error.to_string();
        let why = why.split(" (os error").next().unwrap_or(&why);
        // The first reason is the one to tell.
        let _ = LOST.set(why.to_lowercase());
    }
}

/// Prints lines of text.
pub fn print_text(text: &str) {
    put(&format!("{}\n", harmless(text)));
}

/// Prints a line of JSON.
pub fn print_json(json: &serde_json::Value) {
    put(&format!("{}\n", escaped(&json.to_string())));
}

/// Says one sentence on standard error, on one line.
pub fn complain(sentence: &str) {
    // There is no other place to say that it cannot be said.
    let _ = writeln!(std::io::stderr(), "{}", one_line(sentence));
}

/// Whether all that was printed is where it was to go.
pub fn check() -> Result<(), Failure> {
    match LOST.get() {
        None => Ok(()),
        Some(why) => Err(Failure::new(format!(
            "The report could not be written to standard output ({why}); make room there, or send it elsewhere"
        ))),
    }
}

/// One sentence of what clap says in several lines: what was found or is missing, a name that is like it, and where
/// to read about it.
pub fn usage_sentence(said: &str, mut words: impl Iterator<Item = String>) -> String {
    let said = said.trim_start();
    let mut parts = said.strip_prefix("error: ").unwrap_or(said).split("\n\n");
    let lines: Vec<&str> = parts
        .next()
        .unwrap_or_default()
        .lines()
        .map(str::trim)
        .collect();
    // A heading and a list below it, else one line.
    let first = match lines.as_slice() {
        [] => String::new(),
        [heading, list @ ..] if heading.ends_with(':') => format!("{heading} {}", list.join(", ")),
        lines => lines.join(" "),
    };
    let mut letters = first.chars();
    let capital = letters.next().map(|c| c.to_uppercase().to_string());
    let mut sentence = capital.unwrap_or_default() + letters.as_str();
    let tips = parts.flat_map(str::lines);
    let mut tips = tips.filter_map(|line| line.trim().strip_prefix("tip: "));
    if let Some(tip) = tips.find(|tip| tip.contains("similar")) {
        sentence += &format!("; {tip}");
    }
    let commands = <super::Arguments as clap::CommandFactory>::command();
    let command = words.find(|word| commands.find_subcommand(word).is_some());
    let command = command.map_or(String::new(), |word| format!(" {word}"));
    format!("{sentence}; see arcuate{command} --help")
}

/// Says what clap has to say: help and version are results, wrong usage is a complaint.
pub fn say_usage(error: &clap::Error) -> u8 {
    if error.use_stderr() {
        // It repeats what was typed, so it is asked about what would have been typed without control characters.
        let typed = std::env::args_os().map(|word| one_line(&word.to_string_lossy()));
        let clean = super::Arguments::try_parse_from(typed).err();
        let said = clean.as_ref().unwrap_or(error).render().to_string();
        complain(&format!(
            "arcuate: {}",
            usage_sentence(&said, std::env::args())
        ));
        return 2;
    }
    if let Err(why) = error.print().and_then(|()| std::io::stdout().flush())
        && why.kind() != ErrorKind::BrokenPipe
    {
        let _ = LOST.set(why.to_string().to_lowercase());
    }
    match check() {
        Ok(()) => 0,
        Err(failure) => {
            complain(&format!("arcuate: {failure}"));
            failure.code
        }
    }
}
