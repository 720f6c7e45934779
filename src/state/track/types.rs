//! Tracking of the whole brain: the differences from streamlines of regions.

pub mod odf;

use crate::data::appearance::ColourMap;
use crate::data::keyed;
use crate::data::region::RegionId;
use crate::data::{DataId, Region, Shared, Tractogram};
use crate::parameters::{Kind, Limits, Number, Param, Parameters, Scale, Switch};
use crate::solvers::curves::{self, MAX_SEEDS, Seeding};
use crate::solvers::geodesic::RayMetricParams;
use crate::solvers::geodesic::{self, Cut, OdfMetric, OdfSpeed, RayMetric, Rays};
use crate::solvers::odf_tracking;
use crate::state::Phase;
use crate::state::core::display::{Display, LineColouring, line_display};
use crate::state::core::layer::{LayerId, OriginId};
pub use crate::state::core::live::Standing;
use crate::state::core::live::{Detail, Live, LiveKey};
use crate::state::tensors::types::fods::FodSource;
use crate::state::track::types::odf::{Model, OdfInputs, OdfRays, OdfTrackingSettings, TissueKey};
use crate::state::track_noise::{TrackNoiseRuntime, TrackNoiseSettings};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The method of the task Track.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    Streamlines,
    Rays,
}

keyed!(Method, serde {
    Streamlines = "streamlines",
    Rays = "rays",
});

impl Method {
    pub const ALL: [Self; 2] = [Self::Streamlines, Self::Rays];

    pub fn name(self) -> &'static str {
        match self {
            Self::Streamlines => "Streamlines",
            Self::Rays => "Geodesic rays",
        }
    }

    /// The name of its live result, in lists of layers and of distances.
    pub fn live_name(self) -> &'static str {
        match self {
            Self::Streamlines => "Streamlines, live",
            Self::Rays => "Rays, live",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct WholeBrain {
    /// Random seed points in the whole mask.
    pub seeds: usize,
    /// Whether targets and the other regions decide what is kept; seed regions never count.
    pub by_regions: bool,
}

impl Default for WholeBrain {
    fn default() -> Self {
        Self {
            seeds: 50_000,
            by_regions: false,
        }
    }
}

/// Only for the window: a command takes the number with its other seed points.
impl Parameters for WholeBrain {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            help: "Number of seed points, drawn at random in the mask",
            reason: "streamlines pass nearly all white matter of an adult head",
            ..Param::new(
                "seeds",
                "Seeds",
                Kind::Number(Number {
                    scale: Scale::Logarithmic,
                    decimals: 0,
                    soft: (1_000.0, 1e6),
                    hard: Limits::whole(1.0, MAX_SEEDS as f64),
                    ..Number::new(
                        |p| Some(p.seeds as f64),
                        |p, v| p.seeds = v.map_or(p.seeds, |v| v as usize),
                    )
                }),
            )
        },
        Param {
            help: "Targets and the other regions select streamlines; seed regions are ignored",
            ..Param::new(
                "by-regions",
                "Use targets and regions",
                Kind::Switch(Switch {
                    flag: true,
                    labels: None,
                    get: |p| p.by_regions,
                    set: |p, v| p.by_regions = v,
                }),
            )
        },
    ];

    fn defaults() -> Self {
        Self::default()
    }
}

impl WholeBrain {
    /// The parameters of streamlines of regions, with its own seeds.
    pub fn params(&self, track: &curves::Params) -> curves::Params {
        curves::Params {
            seeding: self.seeding(track.seeding),
            ..track.clone()
        }
    }

    /// Like [`WholeBrain::params`], along distributions.
    pub fn odf_params(&self, track: &odf_tracking::Params) -> odf_tracking::Params {
        odf_tracking::Params {
            seeding: self.seeding(track.seeding),
            ..track.clone()
        }
    }

    /// A grid, or points in each voxel, apply to any volume and stay the same.
    fn seeding(&self, seeding: Seeding) -> Seeding {
        match seeding {
            Seeding::Random { .. } => Seeding::Random { count: self.seeds },
            seeding @ (Seeding::Grid { .. } | Seeding::PerVoxel { .. }) => seeding,
        }
    }
}

/// The curves of the task, by its method and by what they follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CurveKind {
    /// Streamlines in tensors.
    Streamlines,
    /// Streamlines along distributions.
    OdfStreamlines,
    /// Rays in tensors.
    Rays,
    /// Rays along the lobes of distributions.
    OdfRays,
}

impl CurveKind {
    pub fn model(self) -> Model {
        match self {
            Self::Streamlines | Self::Rays => Model::Tensors,
            Self::OdfStreamlines | Self::OdfRays => Model::Distributions,
        }
    }
}

/// Streamlines and rays of the regions, and of the whole brain.
#[derive(Clone, Debug)]
pub enum TrackAction {
    SetStreamlines {
        params: curves::Params,
        phase: Phase,
    },
    SetMethod(Method),
    /// The model that streamlines and rays follow.
    SetModel(Model),
    /// Parameters of streamlines along distributions; `None`: the defaults for the scan.
    SetOdfParams {
        params: Option<odf_tracking::Params>,
        phase: Phase,
    },
    /// The layer with the tissues of the anatomical rules.
    SetTissues(Option<LayerId>),
    /// Rays in tensors.
    SetRays {
        rays: Rays,
        phase: Phase,
    },
    /// Rays along distributions.
    SetOdfRays {
        rays: OdfRays,
        phase: Phase,
    },
    /// Display of the live result.
    SetDisplay {
        display: Display,
        phase: Phase,
    },
    /// Number of seeds for the whole brain, and whether regions decide which streamlines are kept.
    SetWholeBrain {
        whole_brain: WholeBrain,
        phase: Phase,
    },
    /// Tracks from the whole mask; not live, because it takes long.
    WholeBrain,
    /// Requests the live result of the current document again after it was stopped.
    Repeat,
    Keep,
}

/// The streamlines or rays of the regions.
#[derive(Clone, Debug, Default)]
pub struct TrackRuntime {
    /// The streamlines or rays of the regions.
    pub live: Live<CurveKey, CurveResult>,
    /// The curves of a graphics card whose copy on the host was requested.
    pub copied: Option<DataId>,
    pub at_crosshair: Option<CurvesAtCrosshair>,
    /// Schedules the cut of many rays; the live result holds the rays that it keeps.
    pub cut: Live<CutKey, ()>,
    /// The metric prepared for rays, to be reused, and its recipe: splines are stored in single precision whatever is
    /// requested.
    pub ray_metric: Option<(RayMetricParams, RayMetric)>,
    /// The distributions prepared for rays, to be reused with any speed.
    pub odf_metric: Option<OdfMetric>,
    /// The distributions and the tissues of the last run along distributions, to be reused.
    pub odf_inputs: OdfInputs,
    /// The kind of the last rays: their speed is not that of the other kind.
    pub ray_kind: Option<CurveKind>,
    /// Speed of the last rays.
    pub rays_per_ms: Option<f64>,
    /// The fraction of them that passed the regions.
    pub rays_passed: Option<f64>,
    /// The source of distributions for which a model has been chosen.
    pub model_chosen_for: Option<FodSource>,
    /// Repetitions of the live streamlines.
    pub noise: TrackNoiseRuntime,
}

/// The streamlines of the current regions; kept only on request.
#[derive(Clone, Debug)]
pub struct CurveResult {
    pub output: Arc<curves::Output>,
    /// Fewer seeds during a drag.
    pub coarse: bool,
    /// Number of requested seeds.
    pub seeds: usize,
    pub wall_ms: f64,
    /// The fit of the tensors, or the distributions, in the document's table of origins.
    pub fit: OriginId,
    /// The target regions in the order of `output.per_target`.
    pub targets: Vec<RegionId>,
    pub key: CurveKey,
    /// Data that only geodesic rays have.
    pub rays: Option<RayResult>,
}

impl TrackRuntime {
    /// Shows a result of others: that of a snapshot.
    pub fn show(&mut self, result: Option<CurveResult>) {
        let shown = result.map(|result| (result.key.clone(), result.detail(), result));
        self.live.set_shown(shown);
    }
}

impl CurveResult {
    pub fn detail(&self) -> Detail {
        match self.coarse {
            true => Detail::Coarse,
            false => Detail::Full,
        }
    }
}

/// The inputs of a cut of rays.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CutKey {
    /// All rays, before the cut.
    pub rays: DataId,
    pub cut: Cut,
}

impl LiveKey for CutKey {}

/// Live curves through the crosshair's voxel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CurvesAtCrosshair {
    pub curves: DataId,
    pub voxel: [usize; 3],
    pub count: usize,
    /// Mean connectivity measure of those rays.
    pub measure: Option<f64>,
}

/// All rays to apply a cut to, without tracing again.
#[derive(Clone, Debug)]
pub struct RayResult {
    /// All rays that pass the regions, and their connectivity measures.
    pub all: Tractogram,
    pub measures: Shared<f32>,
    /// Measures rounded outwards to tenths: ends of scales that do not jitter while a region is dragged.
    pub range: (f32, f32),
    /// The cut of the result, and the smallest measure that it keeps.
    pub cut: Cut,
    pub min_measure: Option<f32>,
    /// Tensors that were not positive definite.
    pub repaired: u64,
}

/// The finite measures rounded outwards to tenths; a tenth around 1 if there are none.
pub fn measure_range(measures: &[f32]) -> (f32, f32) {
    let finite = measures.iter().copied().filter(|m| m.is_finite());
    let (low, high) = finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), m| {
        (low.min(m), high.max(m))
    });
    if low > high {
        return (0.9, 1.1);
    }
    let (low, high) = ((low * 10.0).floor(), (high * 10.0).ceil());
    (low / 10.0, high.max(low + 1.0) / 10.0)
}

/// The inputs of streamlines or rays of regions.
#[derive(Clone, Debug)]
pub struct CurveKey {
    /// The tensors or the distributions.
    pub field: DataId,
    pub regions: Vec<Region>,
    pub curves: CurveParams,
    /// Tissues of anatomical rules; only along distributions.
    pub tissues: Option<TissueKey>,
    /// With fewer seeds than the document has.
    pub coarse: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CurveParams {
    Streamlines(curves::Params),
    Rays(RayMetricParams, geodesic::Params),
    /// Streamlines along distributions.
    OdfStreamlines(odf_tracking::Params),
    /// Rays along distributions.
    OdfRays(OdfSpeed, geodesic::Params),
}

impl CurveParams {
    /// The number of repetitions of their bootstrap, if there is one.
    pub fn repetitions(&self) -> Option<usize> {
        match self {
            Self::Streamlines(params) => params.repetitions,
            Self::OdfStreamlines(params) => params.repetitions,
            Self::Rays(..) | Self::OdfRays(..) => None,
        }
    }

    pub fn kind(&self) -> CurveKind {
        match self {
            Self::Streamlines(_) => CurveKind::Streamlines,
            Self::Rays(..) => CurveKind::Rays,
            Self::OdfStreamlines(_) => CurveKind::OdfStreamlines,
            Self::OdfRays(..) => CurveKind::OdfRays,
        }
    }
}

/// Key of the live curves with an end that stopped for one reason.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StopFilterKey {
    /// Ids of the kept and missed curves that they come from.
    pub curves: [DataId; 2],
    pub reason: curves::StopReason,
}

impl LiveKey for StopFilterKey {}

/// The number of rays: seed points times directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RayCount {
    pub count: usize,
}

/// Only for the window: a command takes the number of seed points, and the directions of each.
impl Parameters for RayCount {
    const TABLE: &'static [Param<Self>] = &[Param {
        help: "Number of rays; every seed point starts a whole fan",
        ..Param::new(
            "rays",
            "Rays",
            Kind::Number(Number {
                scale: Scale::Logarithmic,
                decimals: 0,
                soft: (100.0, 1e6),
                hard: Limits::whole(1.0, MAX_SEEDS as f64),
                ..Number::new(
                    |p| Some(p.count as f64),
                    |p, v| p.count = v.map_or(p.count, |v| v as usize),
                )
            }),
        )
    }];

    fn defaults() -> Self {
        Self {
            count: Rays::defaults().count().unwrap_or(1),
        }
    }
}

/// Settings of the task Track.
#[derive(Clone, Debug)]
pub struct TrackSettings {
    pub method: Method,
    /// The model that streamlines and rays follow.
    pub model: Model,
    /// Streamlines and rays along distributions.
    pub odf: OdfTrackingSettings,
    pub streamlines: curves::Params,
    pub streamline_display: Display,
    pub whole_brain: WholeBrain,
    /// Rays in tensors.
    pub rays: Rays,
    pub ray_display: Display,
    /// Noise of the live streamlines.
    pub noise: TrackNoiseSettings,
}

impl Default for TrackSettings {
    fn default() -> Self {
        Self {
            method: Method::Streamlines,
            model: Model::default(),
            odf: OdfTrackingSettings::default(),
            streamlines: curves::Params::defaults(),
            streamline_display: crate::state::core::display::line_display(),
            whole_brain: WholeBrain::default(),
            rays: Rays::defaults(),
            ray_display: ray_display(),
            noise: TrackNoiseSettings::defaults(),
        }
    }
}

impl TrackSettings {
    pub fn kind(&self) -> CurveKind {
        match (self.method, self.model) {
            (Method::Rays, Model::Tensors) => CurveKind::Rays,
            (Method::Rays, Model::Distributions) => CurveKind::OdfRays,
            (Method::Streamlines, Model::Tensors) => CurveKind::Streamlines,
            (Method::Streamlines, Model::Distributions) => CurveKind::OdfStreamlines,
        }
    }

    /// Directions, steps and cut of the rays in the chosen model.
    pub fn chosen_rays(&self) -> &Rays {
        match self.model {
            Model::Tensors => &self.rays,
            Model::Distributions => &self.odf.rays.rays,
        }
    }
}

/// The default display of rays.
fn ray_display() -> Display {
    Display {
        line_colouring: LineColouring::Measure,
        colour_map: ColourMap::Viridis,
        ..line_display()
    }
}
