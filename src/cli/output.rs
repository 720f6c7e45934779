//! All output of commands: the result on standard output; notes, warnings and errors on standard error, each one
//! sentence on one line after a prefix that distinguishes them. With `--json` the result is one object, printed at the
//! end, which includes these sentences, too. Names come from arbitrary files: none of their control characters reaches
//! a terminal.

use super::Failure;
use super::typed::{named_command, unknown_command};
use crate::data::text::{THIN, capitalised};
use crate::io::text::{in_line, is_control};
use crate::io::{Remark, without_os_error};
use crate::state::Severity;
use clap::Parser as _;
use clap::error::{ContextKind, ContextValue, ErrorKind as Usage};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The reason why standard output received less than was printed.
static LOST: OnceLock<String> = OnceLock::new();

/// The sentences of this run, and its result; a process runs one command.
static REPORT: Mutex<Report> = Mutex::new(Report::new());

/// Members of the object that `--json` prints, for every command.
const MEMBERS: [&str; 3] = ["notes", "warnings", "errors"];

struct Report {
    sentences: [Vec<Value>; 3],
    result: Option<Value>,
    /// Whether the object was printed: a signal may arrive while the command ends.
    printed: bool,
}

impl Report {
    const fn new() -> Self {
        Self {
            sentences: [Vec::new(), Vec::new(), Vec::new()],
            result: None,
            printed: false,
        }
    }
}

fn report() -> MutexGuard<'static, Report> {
    REPORT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Text without control characters, except line ends.
fn without_control_characters(text: &str) -> Cow<'_, str> {
    let harms = |c: char| is_control(c) && c != '\n';
    match text.contains(harms) {
        false => Cow::Borrowed(text),
        true => {
            let lines = text.split('\n').map(|line| in_line(line, '·'));
            Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
        }
    }
}

/// Text with numbers as programs read them: digits without a separator, and an ordinary space before a unit. Texts that
/// the window shows as well have narrow spaces there. Those of a clock time stay: file names of screenshots have them.
fn with_plain_numbers(text: &str) -> Cow<'_, str> {
    if !text.contains(THIN) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut before = None;
    for (at, c) in text.char_indices() {
        let after = &text[at + c.len_utf8()..];
        let is_digit = |c: char| c.is_ascii_digit();
        match (c == THIN, before.is_some_and(is_digit)) {
            (true, true) if after.starts_with(is_digit) => {}
            (true, _) if after.starts_with("AM") || after.starts_with("PM") => plain.push(c),
            (true, _) => plain.push(' '),
            (false, _) => plain.push(c),
        }
        before = Some(c);
    }
    Cow::Owned(plain)
}

/// A name on one line without control characters.
pub fn one_line(name: &str) -> String {
    in_line(name, '·')
}

/// A path in a report.
pub fn shown(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}

/// JSON in which every control character is escaped, including those that JSON itself permits.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match is_control(c) {
            // Writing to a string cannot fail.
            true => drop(write!(text, "\\u{:04x}", u32::from(c))),
            false => text.push(c),
        }
    }
    text
}

fn output_lost(error: &std::io::Error) {
    // The first reason is the one to report.
    let _ = LOST.set(without_os_error(error));
}

fn write_out(text: &str) {
    let mut out = std::io::stdout().lock();
    let put = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = put
        // A closed pipe (`| head`) is not an error.
        && error.kind() != ErrorKind::BrokenPipe
    {
        output_lost(&error);
    }
}

/// Prints lines of text.
pub fn print_text(text: &str) {
    let text = with_plain_numbers(text);
    write_out(&format!("{}\n", without_control_characters(&text)));
}

/// Prints a line of JSON.
pub fn print_json(json: &serde_json::Value) {
    write_out(&format!("{}\n", escaped(&json.to_string())));
}

/// Prints a note, a warning or an error to standard error, and stores it for the object of `--json`.
pub fn report_message(severity: Severity, sentence: &str) {
    let (label, at) = match severity {
        Severity::Information => ("note", 0),
        Severity::Warning => ("warning", 1),
        Severity::Error => ("error", 2),
    };
    let sentence = one_line(&with_plain_numbers(sentence));
    // There is no other way to report this failure.
    let _ = writeln!(std::io::stderr(), "arcuate: {label}: {sentence}");
    report().sentences[at].push(Value::String(sentence));
}

/// Prints a remark about a file to standard error, with the name of the file.
pub fn remark(remark: &Remark, file: impl Display) {
    let advice = match remark.is_about_distributions() {
        true => "; “arcuate gradients distributions” compares bases and axes",
        false => "",
    };
    report_message(Severity::from(remark), &format!("{remark}{advice}: {file}"));
}

/// Reports an error after which the command continues.
pub fn error(sentence: &str) {
    report_message(Severity::Error, sentence);
}

/// Stores the result until the end of the command: sentences that belong to it may follow.
pub fn keep(result: Value) {
    report().result = Some(result);
}

/// Ends a command: reports why it failed, prints the object of `--json`, and returns the exit code.
pub fn end(outcome: Result<(), Failure>, json: bool) -> u8 {
    let mut code = 0;
    if let Err(failure) = outcome {
        report_message(Severity::Error, &failure.sentence);
        code = failure.exit_code;
    }
    if json && let Some(object) = object(code != 0) {
        print_json(&object);
    }
    match check() {
        Err(lost) if code == 0 => {
            report_message(Severity::Error, &lost.sentence);
            lost.exit_code
        }
        _ => code,
    }
}

/// Ends a command stopped by a signal: reports why, and prints the object of `--json`.
pub fn end_by_signal(sentence: &str) {
    report_message(Severity::Error, sentence);
    if wants_json()
        && let Some(object) = object(true)
    {
        print_json(&object);
    }
}

/// The result with all sentences; without a result, an object only for a command that failed.
fn object(failed: bool) -> Option<Value> {
    let mut reported = report();
    if std::mem::replace(&mut reported.printed, true) {
        return None;
    }
    let mut object = match reported.result.take() {
        Some(Value::Object(members)) => members,
        Some(other) => return Some(other),
        None if failed => {
            let arguments =
                std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
            // Null for a word that names no command.
            let name = named_command(arguments);
            std::iter::once(("command".to_owned(), Value::from(name))).collect()
        }
        None => return None,
    };
    for (name, sentences) in MEMBERS.into_iter().zip(&reported.sentences) {
        object.insert(name.to_owned(), Value::Array(sentences.clone()));
    }
    Some(Value::Object(object))
}

/// Whether `--json` is among the arguments, for a command line that cannot be parsed.
pub fn wants_json() -> bool {
    let mut arguments = std::env::args_os().take_while(|argument| argument != "--");
    arguments.any(|argument| argument == "--json")
}

/// Whether everything printed has reached standard output.
fn check() -> Result<(), Failure> {
    match LOST.get() {
        None => Ok(()),
        Some(why) => Err(Failure::new(format!(
            "The report could not be written to standard output ({why}); free some space there, or send it elsewhere"
        ))),
    }
}

/// Names similar to the one that clap did not find, as half a sentence.
fn similar_names(error: &clap::Error) -> Option<String> {
    let kinds = [
        (ContextKind::SuggestedSubcommand, "subcommand"),
        (ContextKind::SuggestedArg, "argument"),
        (ContextKind::SuggestedValue, "value"),
    ];
    kinds.into_iter().find_map(|(kind, what)| {
        let names = match error.get(kind)? {
            ContextValue::String(name) => std::slice::from_ref(name),
            ContextValue::Strings(names) => names,
            _ => return None,
        };
        match names {
            [] => None,
            [name] => Some(format!("a similar {what} exists: '{name}'")),
            names => {
                let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
                Some(format!("some similar {what}s exist: {}", quoted.join(", ")))
            }
        }
    })
}

/// The line above the arguments that clap misses.
const MISSING: &str = "the following required arguments were not provided:";

/// `Found no --out <FILE>, expected it beside the other arguments; add it`: also for an option that another one needs.
fn missing(arguments: &[&str]) -> String {
    let (all, pronoun) = match arguments {
        [one] => ((*one).to_owned(), "it"),
        [most @ .., last] => (format!("{} and no {last}", most.join(", no ")), "them"),
        [] => return MISSING.to_owned(),
    };
    format!("Found no {all}, which the command needs; add {pronoun}")
}

/// One sentence from clap's message of several lines: what was found or is missing, similar names, and where to read
/// more. `unexpected`: the argument that is not an option.
fn usage_sentence(
    message: &str,
    unexpected: Option<&str>,
    similar: Option<&str>,
    command_line: impl Iterator<Item = String>,
) -> String {
    let message = message.trim_start();
    let lines: Vec<&str> = message
        .strip_prefix("error: ")
        .unwrap_or(message)
        .split("\n\n")
        .next()
        .unwrap_or_default()
        .lines()
        .map(str::trim)
        .collect();
    // A heading with a list below it, or a single line.
    let first = match lines.as_slice() {
        [] => String::new(),
        [MISSING, list @ ..] => missing(list),
        [heading, list @ ..] if heading.ends_with(':') => format!("{heading} {}", list.join(", ")),
        lines => lines.join(" "),
    };
    let mut sentence = capitalised(&first);
    let negative = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    match unexpected.and_then(|argument| argument.strip_prefix('-')) {
        Some(name) if negative(name) => {
            sentence += &format!("; write a negative value with =, as in --option=-{name}");
        }
        Some(name) if !name.starts_with('-') => {
            sentence += "; write the name of a file that begins with - as ./-NAME";
        }
        _ => {}
    }
    if let Some(similar) = similar {
        sentence += &format!("; {similar}");
    }
    let arguments: Vec<String> = command_line.collect();
    let Some(command) = named_command(arguments.iter().cloned()) else {
        let unknown = unknown_command(arguments.into_iter());
        return unknown.unwrap_or_else(|| format!("{sentence}; see arcuate --help"));
    };
    format!("{sentence}; see arcuate {command} --help")
}

/// One sentence about arguments of a command that clap refuses.
pub fn argument_sentence(error: &clap::Error, command: &str) -> String {
    let similar = similar_names(error);
    let names = command.split_whitespace().map(str::to_owned);
    usage_sentence(&error.render().to_string(), None, similar.as_deref(), names)
}

/// Prints clap's message: help and version are results, wrong usage is an error.
pub fn usage_error(error: &clap::Error) -> u8 {
    if error.use_stderr() {
        // The message repeats the arguments, so it is generated again from arguments without control characters.
        let typed = std::env::args_os().map(|argument| one_line(&argument.to_string_lossy()));
        let clean = super::Arguments::try_parse_from(typed).err();
        let error = clean.as_ref().unwrap_or(error);
        let rendered = match error.kind() {
            // The help replaces the sentence.
            Usage::DisplayHelpOnMissingArgumentOrSubcommand => {
                "Found nothing to do, expected a subcommand".to_owned()
            }
            _ => error.render().to_string(),
        };
        let unexpected = match (error.kind(), error.get(ContextKind::InvalidArg)) {
            (Usage::UnknownArgument, Some(ContextValue::String(argument))) => Some(&**argument),
            _ => None,
        };
        let similar = similar_names(error);
        let sentence = usage_sentence(&rendered, unexpected, similar.as_deref(), std::env::args());
        return end(Err(Failure::usage(sentence)), wants_json());
    }
    if let Err(error) = error.print().and_then(|()| std::io::stdout().flush())
        && error.kind() != ErrorKind::BrokenPipe
    {
        output_lost(&error);
    }
    end(Ok(()), false)
}
