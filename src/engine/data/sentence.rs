//! Sentences for users, which the command line and the window word differently.

use std::fmt::{Display, Formatter};

/// One sentence for the user: what was found, what was expected, what to do. Written with `{}` it names the options of
/// the command line, with `{:#}` only what the window has.
#[derive(Clone, PartialEq, Debug)]
pub struct Sentence {
    for_command: String,
    for_window: String,
}

impl Sentence {
    /// Both wordings of an error, by its two forms of `Display`.
    pub fn new(error: &impl Display) -> Self {
        Self {
            for_command: format!("{error}"),
            for_window: format!("{error:#}"),
        }
    }

    /// A sentence, or its end, in two wordings.
    pub fn worded(for_command: &str, for_window: &str) -> Self {
        Self {
            for_command: for_command.to_owned(),
            for_window: for_window.to_owned(),
        }
    }

    /// Wording of the window, without options of the command line.
    pub fn for_window(&self) -> &str {
        &self.for_window
    }
}

impl From<String> for Sentence {
    fn from(sentence: String) -> Self {
        Self {
            for_command: sentence.clone(),
            for_window: sentence,
        }
    }
}

impl From<&str> for Sentence {
    fn from(sentence: &str) -> Self {
        sentence.to_owned().into()
    }
}

impl From<Sentence> for String {
    fn from(sentence: Sentence) -> Self {
        sentence.for_command
    }
}

/// The text for the command line.
impl std::ops::Deref for Sentence {
    type Target = str;

    fn deref(&self) -> &str {
        &self.for_command
    }
}

impl Display for Sentence {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match f.alternate() {
            true => &self.for_window,
            false => &self.for_command,
        })
    }
}

/// The option of a parameter, in brackets after its name in the window; nothing in a sentence for the window.
pub fn option(f: &Formatter<'_>, key: &str) -> String {
    match f.alternate() {
        true => String::new(),
        false => format!(" (--{key})"),
    }
}
