//! Errors of option values. clap names the option and prints the rest.

use crate::parameters::ParamError;
use std::fmt;

/// A value that an option does not permit: half a sentence.
#[derive(Clone, PartialEq, Debug)]
pub enum ValueError {
    Unexpected {
        expected: String,
        found: String,
    },
    /// Limits in the wrong order.
    Reversed {
        low: String,
        high: String,
        found: String,
    },
    Parameter(ParamError),
}

impl ValueError {
    pub fn new(expected: impl Into<String>, found: &str) -> Self {
        Self::Unexpected {
            expected: expected.into(),
            found: found.to_owned(),
        }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unexpected { expected, found } => {
                write!(f, "expected {expected}, found “{found}”")
            }
            Self::Reversed { low, high, found } => write!(
                f,
                "the lower limit {low} is above the higher one {high}, expected {high}..{low}, found \
                 “{found}”"
            ),
            Self::Parameter(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ValueError {}
