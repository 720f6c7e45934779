//! The tasks of the program, one tab each.

use crate::data::keyed;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Task {
    View,
    Track,
    Pathways,
    Segment,
    Filter,
}

keyed!(Task, serde {
    View = "view",
    Track = "track",
    Pathways = "pathways",
    Segment = "segment",
    Filter = "filter",
});

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
