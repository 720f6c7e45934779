//! Filtering: which streamlines explain the scan's signal. What a fit is of, what came of it, what is on its
//! way.

use super::derived::Derived;
use super::document::{Content, Document, Layer, LayerId};
use super::{Phase, State, defaults};
use crate::data::region::RegionId;
use crate::data::{DataId, Gradients, Mask, Tractogram, Volume, VolumeKind};
use crate::jobs::{CommitNeeds, There};
use crate::solvers::commit::cylinder::Timing;
use crate::solvers::commit::model::Intra;
use crate::solvers::commit::samples::Samples;
use crate::solvers::commit::solver::{Curve, Ended};
use crate::solvers::commit::{Params, Prepared};
use crate::solvers::tensor_fit;
use crate::state::bundle::{Column, Limit, Sieve, lines_of};
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
    /// Those that the cut leaves.
    After,
    /// Those that it takes away.
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
}

impl Filtering {
    /// With numbers that make sense, whatever a file says.
    pub fn sound(self) -> Self {
        let check =
            |p: &Params| p.model.check().is_ok() && p.lasso.is_finite() && p.group.is_finite();
        Self {
            params: self.params.filter(check),
            cut: if self.cut.is_finite() {
                self.cut.max(0.0)
            } else {
                0.0
            },
            ..self
        }
    }

    /// As a limit of weights: what has none goes.
    pub fn least(&self) -> f32 {
        self.cut.max(f32::MIN_POSITIVE)
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
            Self::Intra => "Share of fibres".to_owned(),
            Self::Extra => "Share around fibres".to_owned(),
            Self::Free => "Share of free water".to_owned(),
            Self::Error => "Fit error (RMSE)".to_owned(),
            Self::Worse(what) => format!("Worse without {what}"),
        }
    }

    /// In files' names, as `arcuate commit` has them.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Intra => "intra",
            Self::Extra => "extra",
            Self::Free => "free",
            Self::Error => "rmse",
            Self::Worse(_) => "worse",
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

/// A map, and of which layer's streamlines.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MapOf {
    pub of: LayerId,
    pub map: WeightMap,
}

/// What a fit was of, by layers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FitOf {
    pub scan: LayerId,
    pub mask: Option<LayerId>,
    pub peaks: Option<LayerId>,
    pub times: Times,
    pub params: Params,
    pub tensors: tensor_fit::Params,
}

/// What is said about a fit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Figures {
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
    pub prepare_ms: f64,
    pub fit_ms: f64,
    /// Sums of weight times length, mm, of named groups.
    pub bundles: BTreeMap<String, f64>,
    /// Of those in no group.
    pub rest: f64,
}

/// How much worse the signal is explained without some streamlines.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Lesion {
    pub name: String,
    pub streamlines: u64,
    /// Before and after, the other weights fitted anew.
    pub objective: [f64; 2],
    pub rmse: [f64; 2],
    /// Of the voxels that they run through.
    #[serde(default)]
    pub there: Option<There>,
    pub ended: Ended,
}

impl Lesion {
    /// How much more is not explained: in their voxels, else in all; %.
    pub fn percent(&self) -> f64 {
        let [before, after] = self.there.map_or(self.rmse, |there| there.rmse);
        100.0 * (after / before.max(f64::MIN_POSITIVE) - 1.0)
    }
}

/// The weights of a layer's streamlines: all that they were fitted from, and what is said about them. The
/// weights themselves are values of the streamlines.
#[derive(Clone, Debug)]
pub struct Weighed {
    /// The streamlines that have them; others of the layer are from after it was edited.
    pub of: DataId,
    pub from: FitOf,
    pub figures: Figures,
    /// The objective after each iteration, from the start's on.
    pub curve: Arc<[f64]>,
    /// Those above 0, ascending.
    pub sorted: Arc<[f32]>,
    pub lesions: Vec<Lesion>,
}

impl Weighed {
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
pub enum Lesioned {
    /// Of the streamlines' groups.
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
    pub fn word(&self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Kept => "filtered",
            Self::All => "weighted",
            Self::Map(map) => map.word(),
        }
    }
}

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
    Times(Times),
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
    Lesion(Lesioned),
    /// The streamlines that stay as a layer of their own.
    Keep,
    Save {
        what: FilterFile,
        path: PathBuf,
    },
}

/// All that what is built before a fit depends on.
#[derive(Clone, Debug)]
pub struct FilterKey {
    pub lines: Tractogram,
    pub scan: DataId,
    pub mask: Option<DataId>,
    pub peaks: Option<DataId>,
    pub timing: Vec<Timing>,
    /// Those of them that steer the fit alone are left out.
    pub params: Params,
    pub tensors: tensor_fit::Params,
}

impl FilterKey {
    /// But for the streamlines.
    pub fn same_model(&self, other: &Self) -> bool {
        let built = |p: &Params| (p.model.clone(), p.switches, p.blur_mm, p.way, p.precision);
        (self.scan, self.mask, self.peaks) == (other.scan, other.mask, other.peaks)
            && self.timing == other.timing
            && built(&self.params) == built(&other.params)
            && self.tensors == other.tensors
    }
}

impl PartialEq for FilterKey {
    fn eq(&self, other: &Self) -> bool {
        self.same_model(other) && self.lines.same_lines(&other.lines)
    }
}

/// What runs is for.
#[derive(Clone, PartialEq, Debug)]
pub enum Aim {
    Weights,
    /// The name of what it does without.
    Lesion(String),
}

#[derive(Clone, Debug)]
pub struct Running {
    pub layer: LayerId,
    pub aim: Aim,
    pub key: FilterKey,
    pub from: FitOf,
    pub curve: Curve,
}

/// What the last fit built and found, for the next.
#[derive(Clone, Debug)]
pub struct Held {
    pub layer: LayerId,
    /// Its streamlines are those that it was built of; some may be gone since.
    pub key: FilterKey,
    pub prepared: Arc<Prepared>,
    /// All unknowns.
    pub x: Arc<[f32]>,
    /// One a streamline of those.
    pub weights: Arc<[f32]>,
    /// What is not explained.
    pub rmse: Volume,
    pub objective: f64,
    pub error: f64,
}

/// What happens meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Working {
    pub needs: Derived<FilterKey, CommitNeeds>,
    /// Why it cannot run as asked.
    pub refused: Option<(FilterKey, String)>,
    pub running: Option<Running>,
    pub held: Option<Held>,
    /// Why there is no result.
    pub failed: Option<String>,
    /// How long fits take here, over what was expected.
    pub pace: Option<f64>,
}

/// A scan, what was measured, and its gradients.
pub type Explained<'a> = (&'a Arc<Layer>, &'a Volume, Option<&'a Arc<Gradients>>);

impl Document {
    /// The streamlines that are filtered: the chosen, else the topmost visible ones, else the topmost.
    pub fn filtered(&self) -> Option<(&Arc<Layer>, &Tractogram)> {
        fn of(layer: &Arc<Layer>) -> Option<(&Arc<Layer>, &Tractogram)> {
            Some((layer, lines_of(layer)?))
        }
        let chosen = self.filter.tractogram.and_then(|id| self.layer(id));
        let layers = || self.layers.iter().rev();
        chosen
            .and_then(of)
            .or_else(|| layers().filter(|l| l.display.visible).find_map(of))
            .or_else(|| layers().find_map(of))
    }

    /// Whether weights can be fitted to a layer: a scan with gradients; numbers, for the density model.
    pub fn explains(&self, layer: &Layer) -> bool {
        match &layer.content {
            Content::Scan { dwi, gradients } => {
                gradients.is_some() && dwi.tensors.is_none() || self.density() && dwi.frames == 1
            }
            Content::Image(volume) => {
                let own = self.weight_maps.contains_key(&layer.id);
                self.density() && volume.kind == VolumeKind::Scalar && volume.frames == 1 && !own
            }
            _ => false,
        }
    }

    fn density(&self) -> bool {
        let params = self.filter.params.as_ref();
        params.is_some_and(|p| p.model.intra == Intra::Density)
    }

    /// The scan whose signal is explained: the chosen, else the topmost with gradients.
    pub fn explained(&self) -> Option<Explained<'_>> {
        let chosen = self.filter.scan.and_then(|id| self.layer(id));
        let chosen = chosen.filter(|l| self.explains(l));
        let scan = || {
            let layers = self.layers.iter().rev();
            layers
                .clone()
                .find(|l| matches!(l.content, Content::Scan { .. }) && self.explains(l))
                .or_else(|| layers.clone().find(|l| self.explains(l)))
        };
        let layer = chosen.or_else(scan)?;
        match &layer.content {
            Content::Scan { dwi, gradients } => Some((layer, dwi, gradients.as_ref())),
            Content::Image(volume) => Some((layer, volume, None)),
            _ => None,
        }
    }

    pub fn filter_mask(&self) -> Option<(&Arc<Layer>, &Mask)> {
        let layer = self.layer(self.filter.mask?)?;
        match &layer.content {
            Content::Mask(mask) => Some((layer, mask)),
            _ => None,
        }
    }

    /// Whether a layer may hold peaks: three volumes each, nothing else known.
    pub fn can_be_peaks(&self, layer: &Layer) -> bool {
        let three = |v: &Volume| v.frames > 0 && v.frames.is_multiple_of(3) && v.labels.is_none();
        match &layer.content {
            Content::Image(volume) => three(volume),
            Content::Scan { dwi, gradients } => gradients.is_none() && three(dwi),
            _ => false,
        }
    }

    pub fn filter_peaks(&self) -> Option<(&Arc<Layer>, &Volume)> {
        let layer = self.layer(self.filter.peaks?)?;
        let can = self.can_be_peaks(layer);
        layer.content.volume().filter(|_| can).map(|v| (layer, v))
    }

    /// Shells of the scan that is explained.
    pub fn filter_shells(&self) -> usize {
        let usual = defaults::commit(1).switches;
        let gradients = self.explained().and_then(|(_, _, gradients)| gradients);
        let samples = gradients.and_then(|g| Samples::new(g, &[], &usual).ok());
        samples.map_or(1, |s| s.shells.len())
    }

    pub fn filter_params(&self) -> Params {
        let usual = || defaults::commit(self.filter_shells());
        self.filter.params.clone().unwrap_or_else(usual)
    }

    /// Weights that the streamlines of a layer have as they are.
    pub fn weighed_of<'a>(
        &'a self,
        layer: &'a Layer,
    ) -> Option<(&'a Arc<Weighed>, &'a Arc<[f32]>)> {
        let lines = lines_of(layer)?;
        let weighed = self.weighed.get(&layer.id)?;
        Some((weighed, lines.per_streamline.get(WEIGHT)?))
    }

    /// The layer of a map.
    pub fn weight_map(&self, of: LayerId, map: &WeightMap) -> Option<&Arc<Layer>> {
        let is = |l: &&Arc<Layer>| {
            let made = self.weight_maps.get(&l.id);
            made.is_some_and(|m| m.of == of && m.map == *map)
        };
        self.layers.iter().find(is)
    }

    /// What of a layer's streamlines is seen, as far as weights say it.
    pub fn shown_by_weight(&self, layer: LayerId) -> Shown {
        let sieve = self.bundle.sieve.as_ref().filter(|s| s.layer == layer);
        match sieve.filter(|s| s.limit(&weight()).is_some()) {
            None => Shown::Before,
            Some(sieve) if sieve.invert => Shown::Difference,
            Some(_) => Shown::After,
        }
    }

    /// Lets those be seen.
    pub fn show_by_weight(&mut self, layer: LayerId, shown: Shown) {
        let known = self.bundle.sieve.take().filter(|s| s.layer == layer);
        let group = known.as_ref().and_then(|s| s.group.clone());
        let sieve = known.unwrap_or_else(|| Sieve::new(layer));
        let cut = Limit {
            column: weight(),
            low: (shown != Shown::Before).then_some(self.filter.least()),
            high: None,
            counting: Default::default(),
        };
        let sieve = Sieve {
            invert: shown == Shown::Difference,
            ..sieve.limited(cut)
        };
        let plain = sieve.limits.is_empty() && sieve.uses.is_empty() && group.is_none();
        self.bundle.sieve = Some(sieve).filter(|_| !plain);
    }
}

/// Weights as a column of the table.
pub fn weight() -> Column {
    Column::Value(WEIGHT.to_owned())
}

impl State {
    /// Why weights cannot be fitted, in a sentence.
    pub fn cannot_filter(&self) -> Option<String> {
        let document = &self.document;
        if document.filtered().is_none() {
            return Some("There are no streamlines to weigh: track or open some".to_owned());
        }
        if document.explained().is_none() {
            let what = match document.density() {
                true => "There is no image for streamlines to add up to: open one",
                false => "There is no scan with gradients: open one",
            };
            return Some(what.to_owned());
        }
        let refused = self.session.filter.refused.as_ref();
        let wanted = super::update::filter_key(self)?;
        refused
            .filter(|(key, _)| *key == wanted)
            .map(|r| r.1.clone())
    }

    /// Whether weights are being fitted.
    pub fn is_filtering(&self) -> bool {
        self.session.filter.running.is_some()
    }
}
