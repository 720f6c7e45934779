//! Remarks from reading a file.

use std::fmt::{Display, Formatter, Result};
use std::ops::Deref;

/// One sentence, without the path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    pub sentence: String,
    /// Whether it is only information; otherwise the result may be wrong or incomplete.
    pub is_note: bool,
}

impl Remark {
    /// Adds the name of what it concerns.
    pub fn about(self, name: &str) -> Self {
        Self {
            sentence: format!("{self}: {name}"),
            ..self
        }
    }

    /// All remarks of a reader, warnings first.
    pub fn all(warnings: &[String], notes: &[String]) -> Vec<Self> {
        let note = |sentence: String| Self {
            sentence,
            is_note: true,
        };
        let warnings = warnings.iter().cloned().map(Self::from);
        warnings.chain(notes.iter().cloned().map(note)).collect()
    }
}

/// A warning.
impl From<String> for Remark {
    fn from(sentence: String) -> Self {
        Self {
            sentence,
            is_note: false,
        }
    }
}

impl Display for Remark {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(&self.sentence)
    }
}

impl Deref for Remark {
    type Target = str;

    fn deref(&self) -> &str {
        &self.sentence
    }
}

impl AsRef<str> for Remark {
    fn as_ref(&self) -> &str {
        self
    }
}
