//! Remarks from reading a file.

use std::fmt::{Display, Formatter, Result};
use std::ops::Deref;

/// The topic of a remark, where code depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemarkTopic {
    /// No volume of a scan is diffusion-weighted.
    NoneWeighted,
    /// The volumes of an image are coefficients of fibre orientation distributions.
    Distributions,
}

/// One sentence, without the path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// One sentence, with or without the path.
    pub sentence: String,
    /// Subject by which code decides; `None` if none does.
    pub topic: Option<RemarkTopic>,
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

    /// A warning about a topic on which code depends.
    pub fn warning_about(topic: RemarkTopic, sentence: String) -> Self {
        Self {
            topic: Some(topic),
            ..Self::from(sentence)
        }
    }

    /// Information without consequences for the result.
    pub fn note(sentence: String) -> Self {
        Self {
            is_note: true,
            ..Self::from(sentence)
        }
    }

    /// Whether an image holds coefficients of distributions, so that it has no gradients of its own.
    pub fn is_about_distributions(&self) -> bool {
        self.topic == Some(RemarkTopic::Distributions)
    }

    /// All remarks of a reader, warnings first.
    pub fn all(warnings: &[String], notes: &[String]) -> Vec<Self> {
        let warnings = warnings.iter().cloned().map(Self::from);
        let notes = notes.iter().cloned().map(Self::note);
        warnings.chain(notes).collect()
    }
}

/// A warning.
impl From<String> for Remark {
    fn from(sentence: String) -> Self {
        Self {
            sentence,
            topic: None,
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
