//! Mistakes in the text of a protocol. People write protocols by hand, so each mistake has its own advice.

use super::super::Error;
use std::path::Path;

/// Largest number of names in a sentence.
const LISTED: usize = 24;

/// A mistake in the text, the expected text, and the advice for its correction.
pub(super) struct Mistake {
    found: String,
    expected: String,
    advice: String,
}

impl Mistake {
    pub(super) fn new(
        found: impl Into<String>,
        expected: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            found: found.into(),
            expected: expected.into(),
            advice: advice.into(),
        }
    }

    /// The error of the file with this mistake.
    pub(super) fn error(self, path: &Path) -> Error {
        Error::malformed(path, self.found, (self.expected, self.advice))
    }
}

/// The names in braces, in the order in which they come: `{dwi}, {brain}`.
pub(super) fn in_braces<'a>(names: impl Iterator<Item = &'a str>) -> String {
    listed(names.map(|name| format!("{{{name}}}")))
}

/// The first names, separated by commas.
pub(super) fn listed(names: impl Iterator<Item = String>) -> String {
    let mut names = names;
    let mut text = names.by_ref().take(LISTED).collect::<Vec<_>>().join(", ");
    if names.next().is_some() {
        text += " …";
    }
    text
}
