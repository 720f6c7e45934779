//! Results and running jobs about the current streamlines, with the key of each result.

use crate::data::region::RegionId;
use crate::data::{DataId, Shape, Tractogram};
use crate::io::Remark;
use crate::solvers::bundles::GroupStatistics;
use crate::solvers::compare::PathwayAgreement;
use crate::solvers::connectivity::{self, Connectome};
use crate::solvers::score::Scores;
use crate::solvers::tractogram::ProfileParams;
use crate::solvers::tractogram::line_values::{LineStatistic, ValueRanges};
use crate::solvers::tractogram::profile::Profile;
use crate::state::LayerId;
use crate::state::core::display::LineColouring;
use crate::state::streamlines::in_place::InPlaceRuntime;
use crate::state::streamlines::{
    Live, LiveKey, RegionRule, SameArc, SelectionMode, StreamlineRules,
};
use crate::state::track::types::StopFilterKey;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Source of a column's values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ValueSource {
    Value(String),
    /// An image and the index of its frame.
    Image(DataId, usize),
}

/// Identifies values of streamlines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnKey {
    pub tractogram: DataId,
    pub source: ValueSource,
}

/// Everything that the result of rules depends on.
#[derive(Clone, PartialEq, Debug)]
pub struct SelectionKey {
    pub tractogram: DataId,
    pub rules: StreamlineRules,
    pub regions: Vec<(RegionId, RegionRule, SameShape)>,
    pub images: Vec<ColumnKey>,
}

/// A shape, equal only to the same allocation.
#[derive(Clone, Debug)]
pub struct SameShape(pub Arc<Shape>);

impl PartialEq for SameShape {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The streamlines that rules keep.
#[derive(Clone, Debug)]
pub struct StreamlineSelection {
    pub marks: SameArc<bool>,
    pub kept: usize,
    /// The streamlines drawn: one in `every`.
    pub shown: Tractogram,
    pub every: usize,
}

#[derive(Clone, PartialEq, Debug)]
pub struct OrderKey {
    pub tractogram: DataId,
    pub marks: Option<SameArc<bool>>,
    pub values: Option<SameArc<f32>>,
    pub descending: bool,
}

/// Streamlines selected manually.
#[derive(Clone, Debug)]
pub struct ManualSelection {
    pub layer: LayerId,
    pub tractogram: DataId,
    pub marks: SameArc<bool>,
    pub count: usize,
    /// The row at which a range with Shift starts.
    pub anchor: Option<u32>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ProfileKey {
    pub tractogram: DataId,
    pub marks: Option<SameArc<bool>>,
    pub values: Vec<ValueSource>,
    pub params: ProfileParams,
    pub start: Option<SameShape>,
}

/// A profile with the names of its values.
#[derive(Clone, Debug)]
pub struct NamedProfile {
    pub profile: Arc<Profile>,
    pub names: Vec<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ConnectKey {
    pub tractogram: DataId,
    pub marks: Option<SameArc<bool>>,
    pub labels: (LayerId, DataId, usize),
    pub params: connectivity::Params,
    pub value: Option<ValueSource>,
}

#[derive(Clone, Debug)]
pub struct LabelledConnectome {
    pub connectome: Arc<Connectome>,
    pub names: Arc<[String]>,
}

/// Everything that the figures of the groups of streamlines depend on.
#[derive(Clone, PartialEq, Debug)]
pub struct GroupKey {
    pub tractogram: DataId,
    pub marks: Option<SameArc<bool>>,
    pub value: Option<ValueSource>,
}

/// Figures of the groups of streamlines.
#[derive(Clone, Debug)]
pub struct GroupTable {
    /// In the order of the names.
    pub groups: Arc<[(String, GroupStatistics)]>,
    /// The name of the values whose means count, if any do.
    pub value: Option<String>,
}

/// The streamlines that are scored, and the folder of the truth.
#[derive(Clone, PartialEq, Debug)]
pub struct ScoreKey {
    pub tractogram: DataId,
    pub marks: Option<SameArc<bool>>,
    pub truth: PathBuf,
}

/// The streamlines, and the pathway that they are compared with.
#[derive(Clone, PartialEq, Debug)]
pub struct AgreementKey {
    pub tractogram: DataId,
    pub marks: Option<SameArc<bool>>,
    /// The image of the pathway.
    pub pathway: DataId,
    pub epsilon: f64,
}

/// Everything that the values of colours depend on.
#[derive(Clone, PartialEq, Debug)]
pub struct ColourKey {
    pub tractogram: DataId,
    pub colouring: LineColouring,
    pub statistic: LineStatistic,
    pub source: ColourSourceKey,
}

/// The data of an image, a region or a file from which the values of colours come.
#[derive(Clone, PartialEq, Debug)]
pub enum ColourSourceKey {
    /// The streamlines themselves, or the file that the colouring names.
    Own,
    /// Values of streamlines that stay in their file.
    File(DataId),
    /// An image, its frame and, for colours, its brightness.
    Image(DataId, usize, Option<f32>),
    Region(SameShape),
    Mask(DataId),
}

/// Streamlines with the values that their colours show.
#[derive(Clone, Debug)]
pub struct LineColours {
    pub tractogram: Tractogram,
    pub colouring: LineColouring,
    pub statistic: LineStatistic,
    /// The values are colours themselves, which no scale explains.
    pub is_packed: bool,
    /// `None` for packed colours, and without a finite value.
    pub ranges: Option<ValueRanges>,
}

/// Names of values of colours begin with this; no value of a file does.
pub const COLOUR_VALUES: &str = "\u{1}values ";
/// Names of values that are colours themselves begin with this.
pub const PACKED_COLOURS: &str = "\u{1}colours ";

impl LiveKey for ColourKey {}
impl LiveKey for SelectionKey {}
impl LiveKey for ColumnKey {}
impl LiveKey for OrderKey {}
impl LiveKey for ProfileKey {}
impl LiveKey for ConnectKey {}
impl LiveKey for GroupKey {}
impl LiveKey for ScoreKey {}

/// Runtime state of streamlines. Not undone and not saved.
#[derive(Clone, Debug, Default)]
pub struct StreamlineRuntime {
    /// The layer of streamlines that was last selected.
    pub subject: Option<LayerId>,
    /// The streamlines that the rules of each layer keep.
    pub selections: BTreeMap<LayerId, Live<SelectionKey, StreamlineSelection>>,
    /// The drawn streamlines of each layer with the values of their colours, where they do not hold them.
    pub colours: BTreeMap<LayerId, Live<ColourKey, LineColours>>,
    /// Pictures and figures of streamlines that stay in their file, by layer.
    pub in_place: BTreeMap<LayerId, InPlaceRuntime>,
    pub columns: Live<Vec<ColumnKey>, ()>,
    pub values: Vec<(ColumnKey, Arc<[f32]>)>,
    /// The kept and the missed live curves with an end that stopped for the reason.
    pub stopped: Live<StopFilterKey, [Tractogram; 2]>,
    pub order: Live<OrderKey, Arc<[u32]>>,
    pub manual_selection: Option<ManualSelection>,
    pub extract: Live<SameArc<bool>, Tractogram>,
    /// How the picked streamlines change the selection, and in which layer.
    pub pending_pick: Option<(LayerId, DataId, SelectionMode)>,
    pub profile: Live<ProfileKey, NamedProfile>,
    pub connect: Live<ConnectKey, LabelledConnectome>,
    pub groups: Live<GroupKey, GroupTable>,
    pub scores: Live<ScoreKey, Arc<Scores>>,
    /// How well a pathway and streamlines agree, on request.
    pub agreement: Option<(AgreementKey, PathwayAgreement)>,
    /// Remarks about the files of the truth, by file, that messages have shown.
    pub truth_remarks: Vec<(PathBuf, Remark)>,
}
