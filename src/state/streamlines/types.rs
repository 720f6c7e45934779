//! Settings for the streamlines of a layer: selection, values, connections; and rulers on slices.

pub use crate::state::core::live::{Live, LiveKey, SameArc};
pub use crate::state::streamlines::current::{TableOf, is_tsf, streamlines_of};
pub use crate::state::streamlines::runtime::{
    COLOUR_VALUES, ColourKey, ColourSourceKey, ColumnKey, ConnectKey, GroupKey, GroupTable,
    LabelledConnectome, LineColours, ManualSelection, NamedProfile, OrderKey, PACKED_COLOURS,
    ProfileKey, SameShape, ScoreKey, SelectionKey, StreamlineRuntime, StreamlineSelection,
    ValueSource,
};

use crate::data::Role;
use crate::data::keyed;
use crate::data::region::RegionId;
use crate::data::tractogram::LENGTH;
use crate::solvers::curves::StopReason;
use crate::solvers::tractogram::ProfileParams;
use crate::solvers::tractogram::pick::{PickQuery, Screen};
use crate::solvers::tractogram::selection::PointStatistic;
use crate::solvers::{bundles, connectivity};
use crate::state::core::layer::LayerId;
use crate::state::core::pane::Pane;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A value for each streamline.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// A value of the tractogram itself; `length` is measured.
    Value(String),
    /// The mean of an image along it.
    Image(LayerId),
}

impl Column {
    pub fn length() -> Self {
        Self::Value(LENGTH.to_owned())
    }
}

/// The rule of a region for streamlines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegionRule {
    Nothing,
    /// Pass all of these.
    Include,
    /// Pass any of these.
    Any,
    /// Pass none of these.
    Exclude,
    /// Have all points in the union of these.
    Within,
}

keyed!(RegionRule, serde {
    Nothing = "nothing",
    Include = "include",
    Any = "any",
    Exclude = "exclude",
    Within = "within",
});

impl RegionRule {
    pub const ALL: [Self; 5] = [
        Self::Nothing,
        Self::Include,
        Self::Any,
        Self::Exclude,
        Self::Within,
    ];

    pub fn label(self) -> &'static str {
        match self {
            Self::Nothing => "Ignored",
            Self::Include => "Through it",
            Self::Any => "Through any",
            Self::Exclude => "Not through it",
            Self::Within => "All inside",
        }
    }

    /// The rule that corresponds to the role of a region.
    pub fn for_role(role: Role) -> Self {
        match role {
            Role::Include => Self::Include,
            Role::Target => Self::Any,
            Role::Exclude => Self::Exclude,
            Role::Mask => Self::Within,
            Role::Seed | Role::Terminate | Role::Costly | Role::Region => Self::Nothing,
        }
    }

    /// The corresponding role in selection rules.
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

/// Limits of a value; an open end lets everything pass.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ValueLimits {
    pub column: Column,
    pub low: Option<f32>,
    pub high: Option<f32>,
    /// For an image: which of its values along the streamline.
    #[serde(default)]
    pub counting: PointStatistic,
}

/// Rules that decide which streamlines of a layer are visible.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StreamlineRules {
    pub layer: LayerId,
    /// One of the streamlines' groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Regions with a rule that differs from that of their role.
    pub uses: Vec<(RegionId, RegionRule)>,
    pub by_ends: bool,
    pub limits: Vec<ValueLimits>,
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

    pub fn region_rule(&self, region: RegionId, role: Role) -> RegionRule {
        let own = self.uses.iter().find(|(id, _)| *id == region);
        own.map_or(RegionRule::for_role(role), |(_, how)| *how)
    }

    pub fn limit(&self, column: &Column) -> Option<&ValueLimits> {
        self.limits.iter().find(|l| l.column == *column)
    }

    /// The rules with other limits of a value; without these limits if both ends are open.
    pub fn limited(mut self, limit: ValueLimits) -> Self {
        self.limits.retain(|l| l.column != limit.column);
        if limit.low.is_some() || limit.high.is_some() {
            self.limits.push(limit);
        }
        self
    }

    /// The rules with this one for a region.
    pub fn using(mut self, region: RegionId, role: Role, how: RegionRule) -> Self {
        self.uses.retain(|(id, _)| *id != region);
        if how != RegionRule::for_role(role) {
            self.uses.push((region, how));
        }
        self
    }
}

/// Settings of the profile along a bundle.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ProfileSettings {
    #[serde(flatten)]
    pub params: ProfileParams,
    /// Empty: the FA of the tensors, else whatever is available.
    pub along: Vec<Column>,
    /// The bundle starts at the end nearer to it.
    pub start: Option<RegionId>,
}

/// The values of a matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatrixValue {
    Count,
    Length,
    Value,
}

keyed!(MatrixValue, serde {
    Count = "count",
    Length = "length",
    Value = "value",
});

impl MatrixValue {
    pub const ALL: [Self; 3] = [Self::Count, Self::Length, Self::Value];
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ConnectSettings {
    /// A label map; `None`: the topmost.
    pub labels: Option<LayerId>,
    #[serde(flatten)]
    pub params: connectivity::Params,
    pub value: Option<Column>,
    pub shown: MatrixValue,
}

/// Settings of bundles.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BundleSettings {
    #[serde(flatten)]
    pub clusters: bundles::Params,
    /// The file of the recipe by which bundles are recognised; `None`: the built-in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<PathBuf>,
    #[serde(flatten)]
    pub recognition: bundles::RecognitionParams,
}

impl Default for BundleSettings {
    fn default() -> Self {
        Self {
            clusters: bundles::Params::defaults(),
            recipe: None,
            recognition: bundles::RecognitionParams::defaults(),
        }
    }
}

/// Two points: a distance. Three: the angle at the second.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// World mm.
    pub points: Vec<DVec3>,
    /// The pane in which it was drawn.
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

/// The part of this that a session stores.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamlineSettings {
    /// The rules of each layer that has some, ordered by layer.
    pub(super) rules: Vec<StreamlineRules>,
    /// The rules of layers whose filter is switched off, for the next time that it is switched on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) rules_off: Vec<StreamlineRules>,
    /// Images whose means are columns of the table.
    pub images: Vec<LayerId>,
    pub profile: ProfileSettings,
    pub connect: ConnectSettings,
    pub bundles: BundleSettings,
    /// The folder of the truth that streamlines are scored against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truth: Option<PathBuf>,
    pub measurements: Vec<Measurement>,
}

impl Default for StreamlineSettings {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            rules_off: Vec::new(),
            images: Vec::new(),
            profile: ProfileSettings {
                params: ProfileParams::defaults(),
                along: Vec::new(),
                start: None,
            },
            connect: ConnectSettings {
                labels: None,
                params: connectivity::Params::defaults(),
                value: None,
                shown: MatrixValue::Count,
            },
            bundles: BundleSettings::default(),
            truth: None,
            measurements: Vec::new(),
        }
    }
}

/// The panel below the views.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BottomPanel {
    Table,
    Profile,
    Matrix,
    Bundles,
    Scores,
}

keyed!(BottomPanel, serde {
    Table = "table",
    Profile = "profile",
    Matrix = "matrix",
    Bundles = "bundles",
    Scores = "scores",
});

impl BottomPanel {
    pub const ALL: [Self; 5] = [
        Self::Table,
        Self::Profile,
        Self::Matrix,
        Self::Bundles,
        Self::Scores,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "Table",
            Self::Profile => "Profile",
            Self::Matrix => "Matrix",
            Self::Bundles => "Bundles",
            Self::Scores => "Scores",
        }
    }
}

/// Sort order of the table; `None`: the order of the streamlines.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TableView {
    pub column: Option<Column>,
    pub descending: bool,
}

/// Effect on the previously selected streamlines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SelectionMode {
    Replace,
    Add,
    /// Deselects those that were selected.
    Toggle,
}

#[derive(Clone, Debug)]
pub enum StreamlineAction {
    /// Sets the rules of the layer that they name.
    SetRules {
        rules: StreamlineRules,
        phase: crate::state::Phase,
    },
    /// Switches a layer's filter on or off. It keeps its rules while it is off.
    SwitchFilter {
        layer: LayerId,
        enabled: bool,
    },
    /// Keeps the streamlines that the rules select as a new layer.
    Keep,
    /// Keeps the selected streamlines as a new layer.
    KeepChosen,
    DeleteChosen,
    Pick {
        screen: Screen,
        target: PickQuery,
        mode: SelectionMode,
    },
    /// Selects streamlines of the layer by their numbers; `anchor`: the start of a range.
    Choose {
        streamlines: Vec<u32>,
        mode: SelectionMode,
        anchor: Option<u32>,
    },
    ChooseAll,
    /// Inverts the selection.
    ChooseOthers,
    ChooseNone,
    /// Selects the streamlines that connect two labels.
    ChoosePair {
        row: usize,
        column: usize,
        mode: SelectionMode,
    },
    SetImages(Vec<LayerId>),
    SetProfile(ProfileSettings),
    SetConnect(ConnectSettings),
    SetBundles(BundleSettings),
    /// Divides the streamlines that the rules select into clusters, as a new layer.
    Cluster,
    /// Recognises the bundles of the recipe among these streamlines by the label map of the matrix, as a new layer.
    Recognise,
    /// The file of a recipe; `None`: the built-in one.
    SetRecipe(Option<PathBuf>),
    /// Selects the streamlines of a group.
    ChooseGroup {
        group: String,
        mode: SelectionMode,
    },
    /// The folder of a truth, or its file `truth.json`.
    SetTruth(PathBuf),
    /// Colours the streamlines of a layer by the values of a file.
    ColourByFile {
        layer: LayerId,
        path: PathBuf,
    },
    /// Measures the lengths of all streamlines of a layer that stay in their file.
    MeasureLengths(LayerId),
    Sort(TableView),
    Open(Option<BottomPanel>),
    SetHeight(f32),
    SaveTable(PathBuf),
    SaveProfile(PathBuf),
    SaveMatrix(PathBuf),
    SaveScores(PathBuf),
    SaveBundles(PathBuf),
    Measure(Measurement),
    Remeasure {
        index: usize,
        points: Vec<DVec3>,
        phase: crate::state::Phase,
    },
    Erase(usize),
    EraseAll,
    /// Compares the selected pathway, else the live one, with the current streamlines.
    ComparePathway,
}
