//! A leak: its cause, and the step to rewind to.

use crate::data::keyed;
use serde::{Deserialize, Serialize};

/// Why the surface is considered to leak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// It contains more background than at the start.
    Background,
    /// It touches more of the image's border than at the start.
    Border,
    /// It grows again without a change of speeds.
    Growth,
    /// The volume multiplied after speeds were changed.
    Change,
}

keyed!(Cause, serde {
    Background = "background",
    Border = "border",
    Growth = "growth",
    Change = "change",
});

impl Cause {
    /// Completes "The surface leaks: ".
    pub fn clause(self) -> &'static str {
        match self {
            Self::Background => "it reached the background of the image",
            Self::Border => "it reached the border of the image",
            Self::Growth => "it grows faster than before without a change",
            Self::Change => "its volume multiplied after a change",
        }
    }

    /// Completes "Possible leak " in a note.
    pub fn short_label(self) -> &'static str {
        match self {
            Self::Background => "into the background",
            Self::Border => "to the image's border",
            Self::Growth => "after growth resumed",
            Self::Change => "after a change",
        }
    }
}

/// Where a run leaked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Leak {
    /// The step to rewind to: that of the change that let it leak, otherwise the last one before it grew.
    #[serde(rename = "from")]
    pub rewind_step: u64,
    /// The step at which it was noticed.
    pub noticed: u64,
    /// Observation that revealed it.
    pub cause: Cause,
}
