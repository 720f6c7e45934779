//! What is asked about the streamlines of a layer: which of them, their values, what they connect; and
//! rulers on slices.

pub use crate::state::core::live::{Live, LiveKey, SameArc};
pub use crate::state::streamlines::reach::lines_of;
pub use crate::state::streamlines::runtime::{
    ColumnKey, ConnectKey, Connected, ManualSelection, OrderKey, Origin, ProfileKey, Profiled,
    Same, SelectionKey, StreamlineRuntime, StreamlineSelection,
};

use crate::data::Role;
use crate::data::region::RegionId;
use crate::data::tractogram::LENGTH;
use crate::solvers::curves::StopReason;
use crate::solvers::tractogram::pick::{Screen, Wanted};
use crate::solvers::tractogram::profile::Sense;
use crate::solvers::tractogram::selection::PointStatistic;
use crate::state::core::layer::LayerId;
use crate::state::core::pane::Pane;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One value for each streamline.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Column {
    /// Of the tractogram itself; `length` is measured.
    Value(String),
    /// The mean of an image along it.
    Image(LayerId),
}

impl Column {
    pub fn length() -> Self {
        Self::Value(LENGTH.to_owned())
    }
}

/// How a region counts for a filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum RegionRule {
    Nothing,
    /// Through all of these.
    Include,
    /// Through any of these.
    Any,
    /// Through none of these.
    Exclude,
    /// All points in the union of these.
    Within,
}

impl RegionRule {
    pub const ALL: [Self; 5] = [
        Self::Nothing,
        Self::Include,
        Self::Any,
        Self::Exclude,
        Self::Within,
    ];

    pub fn words(self) -> &'static str {
        match self {
            Self::Nothing => "Plays no part",
            Self::Include => "Through it",
            Self::Any => "Through any",
            Self::Exclude => "Not through it",
            Self::Within => "All inside",
        }
    }

    /// As the role of the region says.
    pub fn of(role: Role) -> Self {
        match role {
            Role::Include => Self::Include,
            Role::Target => Self::Any,
            Role::Exclude => Self::Exclude,
            Role::Mask => Self::Within,
            Role::Seed | Role::Terminate | Role::Region => Self::Nothing,
        }
    }

    /// The role that rules know it by.
    pub fn role(self) -> Option<Role> {
        match self {
            Self::Nothing => None,
            Self::Include => Some(Role::Include),
            Self::Any => Some(Role::Target),
            Self::Exclude => Some(Role::Exclude),
            Self::Within => Some(Role::Mask),
        }
    }
}

/// Limits of a value; an end that is open lets everything pass.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Limit {
    pub column: Column,
    pub low: Option<f32>,
    pub high: Option<f32>,
    /// Of an image: which of its values along the streamline.
    #[serde(default)]
    pub counting: PointStatistic,
}

/// A filter that leaves some streamlines of a layer to be seen.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StreamlineRules {
    pub layer: LayerId,
    /// Of the streamlines' groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Regions that count in another way than their role says.
    pub uses: Vec<(RegionId, RegionRule)>,
    pub by_ends: bool,
    pub limits: Vec<Limit>,
    pub stop: Option<StopReason>,
    pub at_most: Option<usize>,
    pub random_seed: u64,
    pub invert: bool,
}

impl StreamlineRules {
    pub fn new(layer: LayerId) -> Self {
        Self {
            layer,
            group: None,
            uses: Vec::new(),
            by_ends: false,
            limits: Vec::new(),
            stop: None,
            at_most: None,
            random_seed: 0,
            invert: false,
        }
    }

    pub fn how(&self, region: RegionId, role: Role) -> RegionRule {
        let own = self.uses.iter().find(|(id, _)| *id == region);
        own.map_or(RegionRule::of(role), |(_, how)| *how)
    }

    pub fn limit(&self, column: &Column) -> Option<&Limit> {
        self.limits.iter().find(|l| l.column == *column)
    }

    /// With other limits of a value; none at all where both ends are open.
    pub fn limited(mut self, limit: Limit) -> Self {
        self.limits.retain(|l| l.column != limit.column);
        if limit.low.is_some() || limit.high.is_some() {
            self.limits.push(limit);
        }
        self
    }

    /// With a region that counts so.
    pub fn using(mut self, region: RegionId, role: Role, how: RegionRule) -> Self {
        self.uses.retain(|(id, _)| *id != region);
        if how != RegionRule::of(role) {
            self.uses.push((region, how));
        }
        self
    }
}

/// What is looked at along a bundle.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ProfileSettings {
    pub nodes: usize,
    /// Nothing: the FA of the tensors, else what there is.
    pub along: Vec<Column>,
    /// The bundle starts at the end nearer to it.
    pub start: Option<RegionId>,
    pub sense: Sense,
}

/// What a matrix shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Shown {
    Count,
    Length,
    Value,
}

impl Shown {
    pub const ALL: [Self; 3] = [Self::Count, Self::Length, Self::Value];
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ConnectSettings {
    /// A label map; nothing: the topmost.
    pub labels: Option<LayerId>,
    pub radius_mm: f64,
    pub value: Option<Column>,
    pub shown: Shown,
}

/// Two points: a distance. Three: the angle at the second.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// World mm.
    pub points: Vec<DVec3>,
    /// Where it was drawn.
    pub pane: Pane,
}

impl Measurement {
    /// mm, or degrees.
    pub fn value(&self) -> Option<f64> {
        match self.points.as_slice() {
            [a, b] => Some(a.distance(*b)),
            [a, b, c] => {
                let (u, v) = (*a - *b, *c - *b);
                let angle = u.cross(v).length().atan2(u.dot(v)).to_degrees();
                (u.length() > 0.0 && v.length() > 0.0).then_some(angle)
            }
            _ => None,
        }
    }
}

/// What a session keeps of all this.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Bundle {
    pub sieve: Option<StreamlineRules>,
    /// Images whose means are columns of the table.
    pub images: Vec<LayerId>,
    pub profile: ProfileSettings,
    pub connect: ConnectSettings,
    pub measurements: Vec<Measurement>,
}

impl Default for Bundle {
    fn default() -> Self {
        Self {
            sieve: None,
            images: Vec::new(),
            profile: ProfileSettings {
                // As many as is usual for bundles of the brain (Yeatman et al. 2012).
                nodes: 100,
                along: Vec::new(),
                start: None,
                sense: Sense::AsIs,
            },
            connect: ConnectSettings {
                labels: None,
                // Streamlines often end a voxel short of the cortex.
                radius_mm: 2.0,
                value: None,
                shown: Shown::Count,
            },
            measurements: Vec::new(),
        }
    }
}

impl Bundle {
    /// With other names for regions; what counts for one without a name is forgotten.
    pub fn renamed(&self, name: impl Fn(RegionId) -> Option<RegionId>) -> Self {
        let mut bundle = self.clone();
        if let Some(sieve) = &mut bundle.sieve {
            let uses = sieve.uses.iter();
            sieve.uses = uses
                .filter_map(|(id, how)| Some((name(*id)?, *how)))
                .collect();
        }
        bundle.profile.start = bundle.profile.start.and_then(name);
        bundle
    }
}

/// What lies under the views.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Drawer {
    Table,
    Profile,
    Matrix,
}

impl Drawer {
    pub const ALL: [Self; 3] = [Self::Table, Self::Profile, Self::Matrix];

    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "Table",
            Self::Profile => "Profile",
            Self::Matrix => "Matrix",
        }
    }
}

/// How the table is sorted; `None`: as the streamlines are.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TableView {
    pub by: Option<Column>,
    pub descending: bool,
}

/// What becomes of those that were chosen before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    Replace,
    Add,
    /// Those that were chosen are no longer.
    Toggle,
}

#[derive(Clone, Debug)]
pub enum BundleAction {
    /// `None`: shows all streamlines again.
    SetSieve {
        sieve: Option<StreamlineRules>,
        phase: crate::state::Phase,
    },
    /// A new layer of what the filter leaves.
    Keep,
    /// A new layer of those that are chosen.
    KeepChosen,
    DeleteChosen,
    Pick {
        screen: Screen,
        target: Wanted,
        how: How,
    },
    /// Streamlines of the layer, by their numbers; `anchor`: where a range would start.
    Choose {
        lines: Vec<u32>,
        how: How,
        anchor: Option<u32>,
    },
    ChooseAll,
    /// Those that were not chosen.
    ChooseOthers,
    ChooseNone,
    /// Those that connect two labels.
    ChoosePair {
        row: usize,
        column: usize,
        how: How,
    },
    SetImages(Vec<LayerId>),
    SetProfile(ProfileSettings),
    SetConnect(ConnectSettings),
    Sort(TableView),
    Open(Option<Drawer>),
    SetHeight(f32),
    SaveTable(PathBuf),
    SaveProfile(PathBuf),
    SaveMatrix(PathBuf),
    Measure(Measurement),
    Remeasure {
        index: usize,
        points: Vec<DVec3>,
        phase: crate::state::Phase,
    },
    Erase(usize),
    EraseAll,
}
