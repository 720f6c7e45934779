//! Errors in JSON text, described for users: the library's messages name types of the program.

use super::text::in_line;
use serde_json::Value;
use serde_json::error::{Category, Error};

/// The error with its position if known: `no member "steps" (line 3, column 9)`.
pub fn problem(error: &Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let what = match error.classify() {
        Category::Eof => "a text that ends too early".to_owned(),
        Category::Syntax => "a text that is not JSON".to_owned(),
        Category::Io => "a text that cannot be read".to_owned(),
        // Texts of the file may hold line ends.
        Category::Data => in_line(
            &of_data(text.strip_suffix(&place).unwrap_or(&text)),
            '\u{FFFD}',
        ),
    };
    match error.line() {
        // A value that has already been parsed has no position.
        0 => what,
        line => format!("{what} (line {line}, column {})", error.column()),
    }
}

/// serde's sentences about values (`serde::de::Error`), of any format.
pub(super) fn of_data(message: &str) -> String {
    let named = |start: &str| message.strip_prefix(start)?.split('`').next();
    if let Some(name) = named("missing field `") {
        return format!("no member \"{name}\"");
    }
    if let Some(name) = named("duplicate field `") {
        return format!("the member \"{name}\" twice");
    }
    if let Some(name) = named("unknown field `") {
        return format!("an unknown member \"{name}\"");
    }
    if let Some(name) = named("unknown variant `") {
        return match message.split_once(", expected ") {
            Some((_, names)) => {
                format!(
                    "\"{name}\" in place of {}",
                    names.trim_start_matches("one of ").replace('`', "\"")
                )
            }
            None => format!("an unknown name \"{name}\""),
        };
    }
    let typed = ["invalid type: ", "invalid value: ", "invalid length "];
    let typed = typed
        .into_iter()
        .find_map(|start| message.strip_prefix(start));
    match typed.and_then(|message| message.rsplit_once(", expected ")) {
        Some((value, expected)) => format!("{} in place of {}", value_text(value), kind(expected)),
        None => "a value that does not belong there".to_owned(),
    }
}

/// A value described by `serde::de::Unexpected`, or the length of a list.
fn value_text(value: &str) -> String {
    let within = |start: &str| value.strip_prefix(start)?.strip_suffix('`');
    if let Some(number) = within("integer `").or(within("floating point `")) {
        return format!("the number {number}");
    }
    if let Some(text) = value.strip_prefix("string ") {
        return format!("the text {text}");
    }
    if let Some(flag) = within("boolean `") {
        return flag.to_owned();
    }
    match value {
        "null" | "unit value" => "null".to_owned(),
        "sequence" => "a list".to_owned(),
        "map" => "an object".to_owned(),
        length if length.parse::<u64>().is_ok() => format!("{length} values"),
        _ => "a value".to_owned(),
    }
}

/// The kind of value that a type of the program requires.
fn kind(requested: &str) -> String {
    let whole = [
        "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64",
    ];
    let is_length = |text: &str| text.starts_with("a tuple of size ") || text.contains("length");
    match requested {
        whole_number if whole.contains(&whole_number) => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a string" | "a borrowed string" | "path string" => "a text".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "an object".to_owned(),
        other if other.starts_with("struct ") && !other.contains(" with ") => {
            "an object".to_owned()
        }
        other if is_length(other) || other.contains(" elements") => {
            let number = other.split(' ').find(|part| part.parse::<u32>().is_ok());
            number.map_or("another number of values".to_owned(), |n| {
                format!("a list of {n} values")
            })
        }
        _ => "a value of another kind".to_owned(),
    }
}

/// Names of members of the first value that the second lacks, such as `run.params.target`.
pub fn unknown(all: &Value, known: &Value) -> Vec<String> {
    let mut names = Vec::new();
    compare("", all, known, &mut names);
    names
}

fn compare(place: &str, all: &Value, known: &Value, unknown: &mut Vec<String>) {
    match (all, known) {
        (Value::Object(all), Value::Object(known)) => {
            for (name, value) in all {
                let here = match place {
                    "" => name.clone(),
                    place => format!("{place}.{name}"),
                };
                match known.get(name) {
                    Some(known) => compare(&here, value, known, unknown),
                    None if value.is_null() => {}
                    None => unknown.push(here),
                }
            }
        }
        (Value::Array(all), Value::Array(known)) => {
            for (value, known) in all.iter().zip(known) {
                compare(place, value, known, unknown);
            }
        }
        _ => {}
    }
}
