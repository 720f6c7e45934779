//! Filtering: which streamlines explain the scan's signal. Inputs, results and actions of a COMMIT fit.

mod histogram;

pub use crate::state::filter::inputs::ScanInput;
pub use crate::state::filter::runtime::{
    ExtraBundle, FilterRuntime, FitPurpose, PreviousFit, Running, SumKey, WeightsKey,
};
pub use histogram::{WEIGHT_BINS, WeightHistogram, weight_range};

use crate::data::region::RegionId;
use crate::data::{DataId, keyed};
use crate::solvers::commit::Params;
use crate::solvers::commit::cylinder::Timing;
use crate::solvers::commit::solver::Ended;
use crate::solvers::tensor_fit;
use crate::state::Phase;
use crate::state::core::layer::{Input, LayerId, OriginId};
use crate::state::filter::jobs::LesionEvidence;
pub use crate::state::filter::jobs::{BundleSums, FitEstimate, SummedBundle};
use crate::state::streamlines::Column;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Name of the streamline value that holds the weights, also in files.
pub const WEIGHT: &str = "commit";

/// Weights as a column of the table.
pub fn weight() -> Column {
    Column::Value(WEIGHT.to_owned())
}

/// Timing of the gradient pulses.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanTimings {
    #[default]
    Unknown,
    /// One timing for all volumes.
    Both(Timing),
    /// One per volume, from a Camino scheme file.
    Scheme { path: PathBuf, rows: Vec<Timing> },
}

impl ScanTimings {
    pub fn rows(&self) -> Vec<Timing> {
        match self {
            Self::Unknown => Vec::new(),
            Self::Both(timing) => vec![*timing],
            Self::Scheme { rows, .. } => rows.clone(),
        }
    }
}

/// Peaks that are not those of tensors: the directions of the water around fibres.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GivenPeaks<Image, Fods> {
    /// An image of three volumes per peak.
    Image(Image),
    /// The document's fibre orientation distributions, whose peaks are in the result.
    Distributions(Fods),
}

/// The user's choice.
pub type ChosenPeaks = GivenPeaks<LayerId, ()>;
/// An input of a fit: a layer, or the origin of distributions.
pub type PeakInput = GivenPeaks<LayerId, OriginId>;
/// An input of a recipe.
pub type PeakOrigin = GivenPeaks<Input, OriginId>;

impl<Image, Fods> GivenPeaks<Image, Fods> {
    /// Replaces the record of an image, and keeps the peaks.
    pub fn with_image<Other>(self, record: impl FnOnce(Image) -> Other) -> GivenPeaks<Other, Fods> {
        match self {
            Self::Image(image) => GivenPeaks::Image(record(image)),
            Self::Distributions(fods) => GivenPeaks::Distributions(fods),
        }
    }
}

/// The choice of the visible streamlines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ShownStreamlines {
    /// All of them.
    #[default]
    Before,
    /// The streamlines that the cut keeps.
    After,
    /// The streamlines that the cut removes.
    Difference,
}

keyed!(ShownStreamlines, serde {
    Before = "before",
    After = "after",
    Difference = "difference",
});

impl ShownStreamlines {
    pub const ALL: [Self; 3] = [Self::Before, Self::After, Self::Difference];

    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "Before",
            Self::After => "After",
            Self::Difference => "Difference",
        }
    }
}

/// The task Filter's settings in the rules of one layer's streamlines: a limit of weights, one group.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ByWeight {
    /// Nothing: the rules were set by the user.
    #[default]
    Unset,
    On {
        /// The group as well.
        group: bool,
        /// The layer has rules of the user, too, which stay when these settings go.
        #[serde(default, skip_serializing_if = "is_false")]
        has_own_rules: bool,
    },
    /// Suspended while another task, in which all streamlines are visible, is active.
    Off {
        shown: ShownStreamlines,
        group: Option<String>,
    },
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The task Filter's settings for one layer.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LayerFilter {
    /// The smallest weight that is kept; 0: any weight.
    pub cut: f32,
    pub by_weight: ByWeight,
}

/// Settings of the next fit in a document, and what is shown of the layers with weights.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Filtering {
    pub tractogram: Option<LayerId>,
    pub scan: Option<LayerId>,
    /// `None`: wherever there are streamlines.
    pub mask: Option<LayerId>,
    /// `None`: from tensors.
    pub peaks: Option<ChosenPeaks>,
    /// `None`: the defaults for the scan's shells.
    pub params: Option<Params>,
    pub times: ScanTimings,
    /// Layers without settings are not in it. A session lists pairs.
    #[serde(serialize_with = "write_pairs", deserialize_with = "read_pairs")]
    layers: BTreeMap<LayerId, LayerFilter>,
}

fn write_pairs<S: Serializer>(
    layers: &BTreeMap<LayerId, LayerFilter>,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_seq(layers)
}

fn read_pairs<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<LayerId, LayerFilter>, D::Error> {
    let pairs = Vec::<(LayerId, LayerFilter)>::deserialize(from)?;
    Ok(pairs.into_iter().collect())
}

impl Filtering {
    /// Replaces invalid numbers, whatever a file contains.
    pub fn sanitized(mut self) -> Self {
        let check = |p: &Params| p.model.check().is_ok() && p.check().is_ok();
        self.params = self.params.filter(check);
        for settings in self.layers.values_mut() {
            settings.cut = match settings.cut {
                cut if cut.is_finite() => cut.max(0.0),
                _ => 0.0,
            };
        }
        self.layers
            .retain(|_, settings| *settings != LayerFilter::default());
        self
    }

    /// Forgets a layer that is deleted.
    pub(in crate::state) fn forget(&mut self, layer: LayerId) {
        self.layers.remove(&layer);
    }

    /// The settings in the rules of each layer that has some.
    pub fn each_by_weight(&self) -> impl Iterator<Item = (LayerId, &ByWeight)> {
        let all = self
            .layers
            .iter()
            .map(|(layer, settings)| (*layer, &settings.by_weight));
        all.filter(|(_, by_weight)| **by_weight != ByWeight::Unset)
    }

    pub fn by_weight_of(&self, layer: LayerId) -> Option<&ByWeight> {
        let settings = self.layers.get(&layer)?;
        (settings.by_weight != ByWeight::Unset).then_some(&settings.by_weight)
    }

    pub(in crate::state) fn set_by_weight(&mut self, layer: LayerId, to: ByWeight) {
        self.change(layer, |settings| settings.by_weight = to);
    }

    /// The cut of each layer that has one.
    pub(in crate::state) fn cuts(&self) -> BTreeMap<LayerId, f32> {
        let all = self
            .layers
            .iter()
            .map(|(layer, settings)| (*layer, settings.cut));
        all.filter(|(_, cut)| *cut > 0.0).collect()
    }

    /// The smallest weight of a layer's streamlines that is kept, as set: the cut of one fit does not apply to the
    /// weights of another.
    pub fn cut_of(&self, layer: LayerId) -> f32 {
        self.layers.get(&layer).map_or(0.0, |settings| settings.cut)
    }

    /// The limit applied to a layer's weights: a streamline without weight is removed.
    pub fn min_weight(&self, layer: LayerId) -> f32 {
        self.cut_of(layer).max(f32::MIN_POSITIVE)
    }

    pub fn set_cut(&mut self, layer: LayerId, min_weight: f32) {
        self.change(layer, |settings| settings.cut = min_weight.max(0.0));
    }

    fn change(&mut self, layer: LayerId, change: impl FnOnce(&mut LayerFilter)) {
        let mut settings = self.layers.remove(&layer).unwrap_or_default();
        change(&mut settings);
        if settings != LayerFilter::default() {
            self.layers.insert(layer, settings);
        }
    }
}

/// A value of a fit for each voxel, as a layer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightMap {
    Intra,
    Extra,
    Free,
    Error,
    /// The increase of the unexplained signal without some streamlines.
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

    /// Short label for a switch.
    pub fn short_label(&self) -> &'static str {
        match self {
            Self::Intra => "IC",
            Self::Extra => "EC",
            Self::Free => "ISO",
            Self::Error => "RMSE",
            Self::Worse(_) => "Worse",
        }
    }
}

// The file names of `arcuate commit`.
keyed!(WeightMap, suffix {
    Intra = "intra",
    Extra = "extra",
    Free = "free",
    Error = "rmse",
    Worse(_) = "worse",
});

/// The recipe of a map of weights, with the layer of its streamlines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WeightMapRecipe {
    pub layer: LayerId,
    pub map: WeightMap,
    /// The fit that gave the weights.
    pub fit: OriginId,
}

/// The recipe of weights: all inputs of their fit.
#[derive(Clone, PartialEq, Debug)]
pub struct WeightRecipe {
    pub tracks: OriginId,
    pub scan: Input,
    pub mask: Option<Input>,
    pub peaks: Option<PeakOrigin>,
    pub times: ScanTimings,
    pub params: Params,
    /// Shells of the scan, on which defaults depend.
    pub shells: usize,
    /// Parameters of the tensors that give directions where there are no peaks.
    pub tensors: tensor_fit::Params,
}

/// Inputs of a fit, by layers.
#[derive(Clone, PartialEq, Debug)]
pub struct FitInputs {
    pub scan: LayerId,
    pub mask: Option<LayerId>,
    pub peaks: Option<PeakInput>,
    pub times: ScanTimings,
    pub params: Params,
    pub tensors: tensor_fit::Params,
}

impl From<&WeightRecipe> for FitInputs {
    fn from(fit: &WeightRecipe) -> Self {
        Self {
            scan: fit.scan.layer,
            mask: fit.mask.map(|input| input.layer),
            peaks: fit.peaks.map(|p| p.with_image(|input| input.layer)),
            times: fit.times.clone(),
            params: fit.params.clone(),
            tensors: fit.tensors.clone(),
        }
    }
}

/// Statistics of a fit.
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
    /// Summed over this run and the runs that it continued, like the iterations of the curve.
    pub prepare_ms: f64,
    pub fit_ms: f64,
    /// Sums of weight times length, mm, for named groups.
    pub bundles: BTreeMap<String, f64>,
    /// Sum of weight times length, mm, for streamlines in no group.
    pub rest: f64,
}

/// How much worse the signal is explained without some streamlines.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct VirtualLesion {
    pub name: String,
    pub streamlines: u64,
    /// Before and after; the other weights are refitted.
    pub objective: [f64; 2],
    pub rmse: [f64; 2],
    /// The voxels that they pass.
    #[serde(default)]
    pub evidence: Option<LesionEvidence>,
    pub ended: Ended,
}

impl VirtualLesion {
    /// Increase of the unexplained signal, in their voxels if known, else in all; %.
    pub fn percent(&self) -> f64 {
        let [before, after] = self.evidence.map_or(self.rmse, |evidence| evidence.rmse);
        100.0 * (after / before.max(f64::MIN_POSITIVE) - 1.0)
    }
}

/// The fit of weights to a layer's streamlines, and its statistics. The weights themselves are streamline values.
#[derive(Clone, Debug)]
pub struct FittedWeights {
    /// The streamlines that have them; if the layer has others, it was edited since.
    pub weighted: DataId,
    /// The streamlines before they had weights.
    pub unweighted: DataId,
    /// The fit, in the document's table of origins.
    pub fit: OriginId,
    pub figures: FitStatistics,
    /// The objective after each iteration, including the start.
    pub curve: Arc<[f64]>,
    /// The weights above 0, ascending.
    pub sorted: Arc<[f32]>,
    pub lesions: Vec<VirtualLesion>,
}

impl FittedWeights {
    /// The fit for a subset of the streamlines, which keep their weights; the statistics remain those of the whole fit.
    pub fn for_subset(&self, weights: &[f32]) -> Self {
        Self {
            sorted: sorted(weights),
            ..self.clone()
        }
    }

    /// Iterations of this run and of those that it continued.
    pub fn iterations(&self) -> u64 {
        let all = self.curve.len().saturating_sub(1) as u64;
        all.max(u64::from(self.figures.iterations))
    }

    /// Number of streamlines that a cut keeps.
    pub fn count_above(&self, min_weight: f32) -> usize {
        self.sorted.len() - self.sorted.partition_point(|w| *w < min_weight)
    }

    /// Ends of the colour scale: from 0 to a weight that few exceed.
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

/// Streamlines to be excluded from a fit.
#[derive(Clone, PartialEq, Debug)]
pub enum ExcludedStreamlines {
    /// One of the streamlines' groups.
    Group(String),
    Chosen,
    /// All that pass the region.
    Region(RegionId),
    /// All that pass a kept pathway, or the live one.
    Pathway(Option<LayerId>),
}

/// Files that can be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FilterFile {
    /// One number per line, in the order of the input.
    Weights,
    /// The kept streamlines, with their weights.
    Kept,
    /// All streamlines, with their weights.
    All,
    /// The numbers of streamlines by their weight, as a picture or a table.
    Histogram,
    Map(WeightMap),
}

impl FilterFile {
    pub fn name(&self) -> String {
        match self {
            Self::Weights => "Weights (text)…".to_owned(),
            Self::Kept => "Kept streamlines…".to_owned(),
            Self::All => "All streamlines with weights…".to_owned(),
            Self::Histogram => "Histogram of weights…".to_owned(),
            Self::Map(map) => format!("{}…", map.name()),
        }
    }

    /// Suffix of the file name.
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
    Histogram = "histogram",
    Map(_) = "map",
});

/// The user's actions in the task Filter.
#[derive(Clone, Debug)]
pub enum FilterAction {
    Tractogram(LayerId),
    /// Keeps the live streamlines as a layer, and filters that.
    TakeLive,
    Scan(LayerId),
    Mask(Option<LayerId>),
    /// `None`: those of tensors.
    Peaks(Option<ChosenPeaks>),
    /// `None`: the defaults.
    Params {
        params: Option<Params>,
        phase: Phase,
    },
    Times {
        times: ScanTimings,
        phase: Phase,
    },
    ReadScheme(PathBuf),
    /// Starts from zero weights: the same inputs give the same result.
    Run,
    /// Goes on from the weights of an unfinished fit, else as `Run`.
    Continue,
    Stop,
    Show(ShownStreamlines),
    Cut {
        min_weight: f32,
        phase: Phase,
    },
    /// Shows only one group, or all.
    ShowGroup(Option<String>),
    /// Shows only one map, or none.
    ShowMap(Option<WeightMap>),
    Lesion(ExcludedStreamlines),
    /// The kept streamlines as a layer of their own.
    Keep,
    Save {
        file: FilterFile,
        path: PathBuf,
    },
}
