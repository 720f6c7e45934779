//! Filtering: which streamlines explain the scan's signal. What a fit is of, what came of it, what is on its
//! way.

pub use crate::state::filter::inputs::{Explained, weight};
pub use crate::state::filter::runtime::{
    ExtraBundle, FilterRuntime, FitPurpose, PreviousFit, Running, SumKey, WeightsKey,
};

use crate::data::region::RegionId;
use crate::data::{DataId, keyed};
use crate::solvers::commit::Params;
use crate::solvers::commit::cylinder::Timing;
use crate::solvers::commit::solver::Ended;
use crate::solvers::tensor_fit;
use crate::state::Phase;
use crate::state::core::layer::{LayerId, OriginId};
use crate::state::filter::jobs::LesionEvidence;
pub use crate::state::filter::jobs::{BundleSums, FitEstimate, Summed};
use crate::state::origin::Input;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Values of streamlines under which their weights are kept and written.
pub const WEIGHT: &str = "commit";

/// When the gradient pulses are.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub enum Times {
    #[default]
    Unknown,
    /// The same for all volumes.
    Both(Timing),
    /// One a volume, of a Camino scheme file.
    Scheme { path: PathBuf, rows: Vec<Timing> },
}

impl Times {
    pub fn rows(&self) -> Vec<Timing> {
        match self {
            Self::Unknown => Vec::new(),
            Self::Both(timing) => vec![*timing],
            Self::Scheme { rows, .. } => rows.clone(),
        }
    }
}

/// Which of the streamlines are seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Shown {
    /// All of them.
    #[default]
    Before,
    /// The streamlines that the cut leaves.
    After,
    /// The streamlines that the cut takes away.
    Difference,
}

impl Shown {
    pub const ALL: [Self; 3] = [Self::Before, Self::After, Self::Difference];

    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "Before",
            Self::After => "After",
            Self::Difference => "Difference",
        }
    }
}

/// What the task Filter sets in the filter of a layer's streamlines: a limit of weights, one group.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum ByWeight {
    /// Nothing: what is there was set by the user.
    #[default]
    Unset,
    /// `group`: the group as well.
    On { layer: LayerId, group: bool },
    /// Nothing while another task is looked at, where all streamlines are seen.
    Off {
        layer: LayerId,
        shown: Shown,
        group: Option<String>,
    },
}

/// What of a document is about the next fit.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Filtering {
    pub tractogram: Option<LayerId>,
    pub scan: Option<LayerId>,
    /// `None`: wherever streamlines run.
    pub mask: Option<LayerId>,
    /// `None`: of tensors.
    pub peaks: Option<LayerId>,
    /// `None`: as is usual for the scan's shells.
    pub params: Option<Params>,
    pub times: Times,
    /// The least weight of those that stay; 0: any weight.
    pub cut: f32,
    /// Whose weights that is; `None` as long as nothing was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_of: Option<LayerId>,
    /// The cuts of other layers' weights.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub other_cuts: BTreeMap<LayerId, f32>,
    pub by_weight: ByWeight,
}

impl Filtering {
    /// With numbers that make sense, whatever a file says.
    pub fn sound(self) -> Self {
        let check = |p: &Params| p.model.check().is_ok() && p.check().is_ok();
        let cut = |cut: f32| if cut.is_finite() { cut.max(0.0) } else { 0.0 };
        Self {
            params: self.params.filter(check),
            cut: cut(self.cut),
            other_cuts: self
                .other_cuts
                .into_iter()
                .map(|(of, c)| (of, cut(c)))
                .collect(),
            ..self
        }
    }

    /// The least weight of a layer's streamlines that stay, as it is set: the cut of one fit says nothing about the
    /// weights of another.
    pub fn cut_of(&self, layer: LayerId) -> f32 {
        match self.cut_of {
            Some(of) if of != layer => self.other_cuts.get(&layer).copied().unwrap_or(0.0),
            _ => self.cut,
        }
    }

    /// The limit of a layer's weights: a streamline without weight goes.
    pub fn least(&self, layer: LayerId) -> f32 {
        self.cut_of(layer).max(f32::MIN_POSITIVE)
    }

    pub(in crate::state) fn set_cut(&mut self, layer: LayerId, least: f32) {
        self.other_cuts.remove(&layer);
        if let Some(of) = self.cut_of.filter(|of| *of != layer) {
            self.other_cuts.insert(of, self.cut);
        }
        (self.cut, self.cut_of) = (least.max(0.0), Some(layer));
    }
}

/// What a fit says of each voxel, as a layer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum WeightMap {
    Intra,
    Extra,
    Free,
    Error,
    /// How much more is unexplained without some streamlines.
    Worse(String),
}

impl WeightMap {
    pub const OF_FIT: [Self; 4] = [Self::Intra, Self::Extra, Self::Free, Self::Error];

    pub fn name(&self) -> String {
        match self {
            Self::Intra => "Share of fibres (IC)".to_owned(),
            Self::Extra => "Share around fibres (EC)".to_owned(),
            Self::Free => "Share of free water (ISO)".to_owned(),
            Self::Error => "Fit error (RMSE)".to_owned(),
            Self::Worse(what) => format!("Worse without {what}"),
        }
    }

    /// On a switch.
    pub fn short(&self) -> &'static str {
        match self {
            Self::Intra => "IC",
            Self::Extra => "EC",
            Self::Free => "ISO",
            Self::Error => "RMSE",
            Self::Worse(_) => "Worse",
        }
    }
}

// As `arcuate commit` names its files.
keyed!(WeightMap, suffix {
    Intra = "intra",
    Extra = "extra",
    Free = "free",
    Error = "rmse",
    Worse(_) = "worse",
});

/// A map, and of which layer's streamlines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapOf {
    pub of: LayerId,
    pub map: WeightMap,
    /// The fit of the weights.
    pub fit: OriginId,
}

/// All that weights of streamlines were fitted from.
#[derive(Clone, PartialEq, Debug)]
pub struct WeightFit {
    pub tracks: OriginId,
    pub scan: Input,
    pub mask: Option<Input>,
    pub peaks: Option<Input>,
    pub times: Times,
    pub params: Params,
    /// Shells of the scan, on which defaults depend.
    pub shells: usize,
    /// Parameters of the tensors that give directions where there are no peaks.
    pub tensors: tensor_fit::Params,
}

/// The inputs of a fit, by layers.
#[derive(Clone, PartialEq, Debug)]
pub struct FitInputs {
    pub scan: LayerId,
    pub mask: Option<LayerId>,
    pub peaks: Option<LayerId>,
    pub times: Times,
    pub params: Params,
    pub tensors: tensor_fit::Params,
}

impl From<&WeightFit> for FitInputs {
    fn from(fit: &WeightFit) -> Self {
        Self {
            scan: fit.scan.layer,
            mask: fit.mask.map(|input| input.layer),
            peaks: fit.peaks.map(|input| input.layer),
            times: fit.times.clone(),
            params: fit.params.clone(),
            tensors: fit.tensors.clone(),
        }
    }
}

/// What is said about a fit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FitStatistics {
    pub streamlines: u64,
    pub outside: u64,
    pub single_points: u64,
    pub not_finite: u64,
    pub segments: u64,
    pub voxels: u64,
    pub samples: u64,
    pub iterations: u32,
    pub ended: Ended,
    pub objective: f64,
    pub kkt: f64,
    pub rmse: f64,
    /// Summed over this run and the runs that it continued, as the iterations of the curve are.
    pub prepare_ms: f64,
    pub fit_ms: f64,
    /// Sums of weight times length, mm, of named groups.
    pub bundles: BTreeMap<String, f64>,
    /// The same sum of streamlines in no group.
    pub rest: f64,
}

/// How much worse the signal is explained without some streamlines.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct VirtualLesion {
    pub name: String,
    pub streamlines: u64,
    /// Before and after; the other weights are fitted again.
    pub objective: [f64; 2],
    pub rmse: [f64; 2],
    /// The voxels that they run through.
    #[serde(default)]
    pub there: Option<LesionEvidence>,
    pub ended: Ended,
}

impl VirtualLesion {
    /// How much more is not explained: in their voxels, else in all; %.
    pub fn percent(&self) -> f64 {
        let [before, after] = self.there.map_or(self.rmse, |there| there.rmse);
        100.0 * (after / before.max(f64::MIN_POSITIVE) - 1.0)
    }
}

/// The fit of weights to a layer's streamlines, and its figures. The weights themselves are values of the
/// streamlines.
#[derive(Clone, Debug)]
pub struct Weighed {
    /// The streamlines that have them; others of the layer are from after it was edited.
    pub of: DataId,
    /// The streamlines before they had weights.
    pub lines: DataId,
    /// The fit, in the document's table of origins.
    pub fit: OriginId,
    pub figures: FitStatistics,
    /// The objective after each iteration, from the start's on.
    pub curve: Arc<[f64]>,
    /// The weights above 0, ascending.
    pub sorted: Arc<[f32]>,
    pub lesions: Vec<VirtualLesion>,
}

impl Weighed {
    /// For some of the streamlines, which keep their weights: what else is said is of the fit of all.
    pub fn of_some(&self, weights: &[f32]) -> Self {
        Self {
            sorted: sorted(weights),
            ..self.clone()
        }
    }

    /// Iterations of this run and of those that it went on from.
    pub fn iterations(&self) -> u64 {
        let all = self.curve.len().saturating_sub(1) as u64;
        all.max(u64::from(self.figures.iterations))
    }

    /// How many a cut leaves.
    pub fn kept(&self, least: f32) -> usize {
        self.sorted.len() - self.sorted.partition_point(|w| *w < least)
    }

    /// Ends of the colours: from 0 to a weight that few have.
    pub fn window(&self) -> (f32, f32) {
        let at = (self.sorted.len() as f64 * 0.95) as usize;
        let high = self.sorted.get(at.min(self.sorted.len().saturating_sub(1)));
        (0.0, high.copied().unwrap_or(1.0))
    }
}

/// Weights above 0, ascending.
pub fn sorted(weights: &[f32]) -> Arc<[f32]> {
    let above = weights.iter().copied().filter(|w| *w > 0.0);
    let mut above: Vec<f32> = above.collect();
    above.sort_unstable_by(f32::total_cmp);
    above.into()
}

/// Streamlines that a fit is to do without.
#[derive(Clone, PartialEq, Debug)]
pub enum VirtualLesionResult {
    /// One of the streamlines' groups.
    Group(String),
    Chosen,
    /// All that pass it.
    Region(RegionId),
    /// All that pass a kept pathway, or the live one.
    Pathway(Option<LayerId>),
}

/// What can be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FilterFile {
    /// One number a line, in the order of the input.
    Weights,
    /// The streamlines that stay, with their weights.
    Kept,
    /// All of them, with their weights.
    All,
    Map(WeightMap),
}

impl FilterFile {
    pub fn name(&self) -> String {
        match self {
            Self::Weights => "Weights, one a line…".to_owned(),
            Self::Kept => "Streamlines that stay…".to_owned(),
            Self::All => "All streamlines with weights…".to_owned(),
            Self::Map(map) => format!("{}…", map.name()),
        }
    }

    /// Ends a file's name.
    pub fn suffix(&self) -> &'static str {
        match self {
            Self::Map(map) => map.suffix(),
            other => other.own_suffix(),
        }
    }
}

keyed!(FilterFile, own_suffix {
    Weights = "weights",
    Kept = "filtered",
    All = "weighted",
    Map(_) = "map",
});

/// What a user does with it.
#[derive(Clone, Debug)]
pub enum FilterAction {
    Tractogram(LayerId),
    /// Keeps the live streamlines as a layer, and takes that.
    TakeLive,
    Scan(LayerId),
    Mask(Option<LayerId>),
    Peaks(Option<LayerId>),
    /// `None`: as is usual.
    Params {
        params: Option<Params>,
        phase: Phase,
    },
    Times {
        times: Times,
        phase: Phase,
    },
    ReadScheme(PathBuf),
    /// From the last weights, where there are some.
    Run,
    /// From none.
    RunAnew,
    Stop,
    Show(Shown),
    Cut {
        least: f32,
        phase: Phase,
    },
    /// One group alone, or all.
    ShowGroup(Option<String>),
    /// Shows one map alone, or none of them.
    ShowMap(Option<WeightMap>),
    Lesion(VirtualLesionResult),
    /// The streamlines that stay as a layer of their own.
    Keep,
    Save {
        what: FilterFile,
        path: PathBuf,
    },
}
