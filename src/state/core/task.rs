//! The tasks of the program, one tab each.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    View,
    Track,
    Pathways,
    Segment,
    Filter,
}

impl Task {
    pub const ALL: [Self; 5] = [
        Self::View,
        Self::Track,
        Self::Pathways,
        Self::Segment,
        Self::Filter,
    ];

    /// Whether the task shows the live streamlines or rays: pathways, and streamlines being filtered, are shown without
    /// them.
    pub fn shows_live(self) -> bool {
        !matches!(self, Self::Pathways | Self::Filter)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::View => "View",
            Self::Track => "Track",
            Self::Pathways => "Pathways",
            Self::Segment => "Segment",
            Self::Filter => "Filter",
        }
    }
}
