//! Errors of queries on curves.

use super::selection::NAMED_STOPS;
use crate::compute::memory::size;
use crate::data::Sentence;
use crate::data::text::{counted, large_count};
use crate::solvers::Error;
use std::fmt;

/// Streamlines or rules for which a query has no answer: one sentence each.
#[derive(Clone, PartialEq, Debug)]
pub enum InputError {
    /// The streamlines have no value of this name.
    Value {
        name: String,
        known: Vec<String>,
    },
    /// The streamlines have no value of this name per point.
    PointValue {
        name: String,
        known: Vec<String>,
    },
    /// The streamlines have no group of this name.
    Group {
        name: String,
        known: Vec<String>,
    },
    /// A number of given values other than that of the streamlines.
    GivenValues {
        values: usize,
        streamlines: usize,
    },
    NoStops,
    /// Streamlines were chosen manually from another number.
    OtherNumber {
        streamlines: usize,
        chosen_from: u64,
    },
    /// Streamlines beyond the last one were chosen manually.
    BeyondLast {
        chosen_from: u64,
    },
    /// A copy would take more memory than is free.
    CopyMemory {
        streamlines: usize,
        bytes: u64,
        free_bytes: u64,
    },
    /// A mask is empty, or its grid has no right angles.
    NoDistances,
    /// No streamline has a length.
    NoLength,
    /// The streamlines do not state their repetitions.
    NoRepetitions,
    /// A streamline belongs to a repetition beyond the last one.
    OtherRepetition {
        repetition: f32,
        repetitions: usize,
    },
}

fn write_other_choice(f: &mut fmt::Formatter<'_>, found: &str, chosen_from: u64) -> fmt::Result {
    write!(
        f,
        "Found {found}, expected the {chosen_from} from which some were chosen by hand; choose \
         them again"
    )
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { name, known } => write!(
                f,
                "The streamlines have no value “{name}”, expected one of {}; name one of them",
                known.join(", ")
            ),
            Self::PointValue { name, known } => {
                let known = match known.as_slice() {
                    [] => "an image to sample".to_owned(),
                    names => format!("one of {}, or an image to sample", names.join(", ")),
                };
                write!(
                    f,
                    "The streamlines have no value “{name}” per point, expected {known}; name one of them"
                )
            }
            Self::Group { name, known } => {
                let known = match known.as_slice() {
                    [] => "a file that has groups".to_owned(),
                    names => format!("one of {}", names.join(", ")),
                };
                write!(
                    f,
                    "The streamlines have no group “{name}”, expected {known}; use a name listed by `arcuate info`"
                )
            }
            Self::GivenValues {
                values,
                streamlines,
            } => write!(
                f,
                "Found {} for {}, expected one for each; choose the values that belong to them",
                counted(*values, "value"),
                counted(*streamlines, "streamline")
            ),
            Self::NoStops => write!(
                f,
                "The streamlines have no stop reasons, expected the values {} and {}; select without {}, or \
                 track them with Arcuate",
                NAMED_STOPS[0],
                NAMED_STOPS[1],
                if f.alternate() { "a reason" } else { "--stop" }
            ),
            Self::OtherNumber {
                streamlines,
                chosen_from,
            } => write_other_choice(f, &counted(*streamlines, "streamline"), *chosen_from),
            Self::BeyondLast { chosen_from } => {
                write_other_choice(f, "a selection beyond the last streamline", *chosen_from)
            }
            Self::CopyMemory {
                streamlines,
                bytes,
                free_bytes,
            } => write!(
                f,
                "A copy of {} streamlines would take {} of memory, but {} are free; remove layers that are not \
                 needed, or choose fewer streamlines",
                large_count(*streamlines as f64),
                size(*bytes),
                size(*free_bytes)
            ),
            Self::NoRepetitions => f.write_str(
                "Found streamlines without repetitions, expected those of a bootstrap; track them with Bootstrap",
            ),
            Self::OtherRepetition {
                repetition,
                repetitions,
            } => write!(
                f,
                "Found a streamline of repetition {repetition}, expected a whole number from 0 to {}; give the number of \
                 repetitions of the bootstrap",
                repetitions.saturating_sub(1)
            ),
            Self::NoDistances => f.write_str(
                "Found a mask that is empty or whose axes have no right angles, expected one with voxels on a grid \
                 with right angles; measure the distance from another region",
            ),
            Self::NoLength => f.write_str(
                "Found no streamline with a length, expected at least one; choose other streamlines",
            ),
        }
    }
}

impl std::error::Error for InputError {}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Input(Sentence::new(&error))
    }
}
