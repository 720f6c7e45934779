//! Pathways: what is asked of the live one, and those that were kept.

use crate::data::appearance::Transfer;
use crate::data::{DataId, Region, Role, keyed};
use crate::jobs::JobHandle;
use crate::solvers::pathway::{Params, Path};
use crate::state::Phase;
use crate::state::core::live::{Live, LiveKey};
use crate::state::core::words::{counted, fixed, with_unit};
use crate::state::defaults::CATEGORIES;
use crate::state::document::{Document, LayerId};
use crate::state::origin::OriginId;
use crate::state::pathways::jobs::{Compared, KnownPairs, PATHWAY, PreparedCosts};
use crate::state::pathways::result::{CostliestStretch, PathAtVoxel, PathwayResult};
use crate::state::session::RecentExports;
use crate::state::volume_look::Cut;
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Which cost is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Shown {
    Total,
    First,
    Second,
    Off,
}

impl Shown {
    pub const ALL: [Self; 4] = [Self::Total, Self::First, Self::Second, Self::Off];

    pub fn name(self) -> &'static str {
        match self {
            Self::Total => "u₁ + u₂",
            Self::First => "u₁",
            Self::Second => "u₂",
            Self::Off => "Off",
        }
    }
}

/// Controls of the task Pathways.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PathwaySettings {
    pub params: Params,
    /// The pathway holds the voxels whose cost exceeds the least by at most this share.
    pub epsilon: f64,
    pub shown: Shown,
    /// 0..1, of the cost on slices.
    pub opacity: f32,
    /// The share above E* that is the last colour, on slices and in the cloud; what costs more is not seen.
    #[serde(default = "PathwaySettings::usual_range")]
    pub range: f32,
    /// The images below the cost are grey: its colours are not theirs.
    #[serde(default = "PathwaySettings::usual_greys")]
    pub greys: bool,
    /// The pathway's outline on slices.
    pub outline: bool,
    /// Lines of equal cost of one side on slices, so much apart.
    pub contours: Option<f64>,
    /// The surface of the pathway in 3-D.
    #[serde(default)]
    pub surface: bool,
    /// The cost as a cloud in 3-D.
    #[serde(default)]
    pub cloud: bool,
    /// Opacity and colour of the cloud, over the shares of E* that are shown.
    #[serde(default = "Transfer::cost")]
    pub transfer: Transfer,
    /// Of the cloud and of all surfaces, those of kept ones too.
    #[serde(default)]
    pub cut: Cut,
}

impl PathwaySettings {
    pub const EPSILON: std::ops::RangeInclusive<f64> = 0.0..=1.0;
    /// Limits of the share that is the last colour.
    pub const RANGE: std::ops::RangeInclusive<f32> = 0.01..=1.9;

    fn usual_range() -> f32 {
        EXCESS_SHOWN
    }

    fn usual_greys() -> bool {
        true
    }

    /// With numbers that make sense, whatever a file says.
    pub fn sound(self) -> Self {
        let default_value = crate::state::defaults::pathways();
        Self {
            params: self.params.sanitized(),
            epsilon: match Self::EPSILON.contains(&self.epsilon) {
                true => self.epsilon,
                false => default_value.epsilon,
            },
            opacity: match self.opacity.is_finite() {
                true => self.opacity.clamp(0.0, 1.0),
                false => default_value.opacity,
            },
            range: match self.range.is_finite() {
                true => self.range.clamp(*Self::RANGE.start(), *Self::RANGE.end()),
                false => default_value.range,
            },
            contours: self
                .contours
                .filter(|every| *every > 0.0 && every.is_finite()),
            cut: self.cut.finite(),
            ..self
        }
    }
}

/// What of a pathway can be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathwayFile {
    /// Its voxels: a mask, or a surface.
    Mask,
    /// The path of least cost.
    Path,
    Total,
    First,
    Second,
}

impl PathwayFile {
    pub const ALL: [Self; 5] = [
        Self::Mask,
        Self::Path,
        Self::Total,
        Self::First,
        Self::Second,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Mask => "Pathway: mask or surface…",
            Self::Path => "Cheapest path…",
            Self::Total => "Cost u₁ + u₂…",
            Self::First => "Cost u₁…",
            Self::Second => "Cost u₂…",
        }
    }

    /// What the last such file is remembered as.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Mask => RecentExports::REGION,
            Self::Path => RecentExports::TRACKS,
            Self::Total | Self::First | Self::Second => RecentExports::LAYER,
        }
    }
}

keyed!(PathwayFile, suffix {
    Mask = "mask",
    Path = "path",
    Total = "u",
    First = "u1",
    Second = "u2",
});

/// A pathway that was kept.
#[derive(Clone, Debug)]
pub struct KeptPathway {
    pub id: LayerId,
    pub name: String,
    /// sRGB.
    pub colour: [u8; 3],
    pub visible: bool,
    pub epsilon: f64,
    pub fit: OriginId,
    pub regions: Vec<Region>,
    pub params: Params,
    /// `None` until it was solved again.
    pub found: Option<Arc<PathwayResult>>,
    /// `None`: it was not compared.
    pub compared: Option<AmongPairs>,
}

/// Where a pathway stands among random pairs of the same head; shares of the pairs that cost less, 0..1.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct AmongPairs {
    pub pairs: usize,
    /// On its weakest stretch.
    pub weakest: f64,
    /// Per mm of the whole path.
    pub mean: f64,
}

impl AmongPairs {
    /// `None` where nothing could be compared.
    pub fn of(compared: &Compared) -> Option<Self> {
        let shares = compared.shares?;
        Some(Self {
            pairs: compared.known.pairs.rates.len(),
            weakest: shares.weakest,
            mean: shares.mean,
        })
    }

    /// With numbers that make sense, whatever a file says.
    pub fn sound(self) -> Option<Self> {
        let share = |v: f64| (0.0..=1.0).contains(&v);
        (share(self.weakest) && share(self.mean)).then_some(self)
    }

    /// `cheaper than 87 % of 200 random pairs`: the share of pairs that cost less is the percentile.
    pub fn cheaper_than(share: f64, pairs: usize) -> String {
        let pairs = counted(pairs, "random pair");
        let percent = with_unit(&fixed(100.0 * (1.0 - share), 0), "%");
        format!("cheaper than {percent} of {pairs}")
    }

    /// A shorter form that fits a panel's row; the number of pairs is shown on hover.
    pub fn cheaper_in_row(share: f64) -> String {
        let percent = with_unit(&fixed(100.0 * (1.0 - share), 0), "%");
        format!("cheaper than {percent} of pairs")
    }

    /// `Weakest stretch cheaper than 87 % of 200 random pairs in this head, cost per mm cheaper than 78 %`.
    pub fn words(&self) -> String {
        format!(
            "Weakest stretch {} in this head, cost per mm cheaper than {}",
            Self::cheaper_than(self.weakest, self.pairs),
            with_unit(&fixed(100.0 * (1.0 - self.mean), 0), "%")
        )
    }
}

// Where no path leads is in no set, and beyond the last colour.
const _: () = assert!(*PathwaySettings::EPSILON.end() < PathwayResult::MOST_EXCESS as f64);
const _: () = assert!(*PathwaySettings::RANGE.end() < PathwayResult::MOST_EXCESS);

/// The cost that is the last colour as a rule: half as much again as the least.
pub const EXCESS_SHOWN: f32 = 0.5;
/// The colour of the live pathway.
pub const LIVE_RGB: [u8; 3] = [0x2B, 0x5C, 0xFF];

/// While something is dragged a coarse result lags behind it by this much at most without being dimmed.
pub const LAG: Duration = Duration::from_millis(150);

/// What a user does with pathways.
#[derive(Clone, Debug)]
pub enum PathwayAction {
    Set {
        settings: PathwaySettings,
        phase: Phase,
    },
    Keep,
    /// Changes a kept one.
    SetKept {
        kept: KeptPathway,
        phase: Phase,
    },
    /// Gives a kept one another name; a number makes it differ from all others.
    Rename(LayerId, String),
    Delete(LayerId),
    Select(Option<LayerId>),
    /// Saves a kept pathway, or the live one.
    Save {
        of: Option<LayerId>,
        what: PathwayFile,
        path: PathBuf,
    },
    /// Makes a region of its voxels.
    Region {
        of: Option<LayerId>,
        role: Role,
    },
    /// Seeds become targets and the other way round.
    SwapEnds,
    /// The pointer is over this point of a slice, or over none.
    Hover(Option<DVec3>),
    /// Asks again for what failed or was stopped.
    SolveAgain,
    /// Asks again for a kept one that could not be solved.
    SolveKept(LayerId),
    /// Asks again for a comparison that failed or was stopped.
    CompareAgain,
}

/// What a pathway is asked for with.
#[derive(Clone, Debug)]
pub struct PathwayKey {
    pub field: DataId,
    pub regions: Vec<Region>,
    pub params: Params,
}

impl LiveKey for PathwayKey {}

/// A voxel under the pointer, with the image that it is of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HoverKey {
    pub of: DataId,
    pub voxel: [usize; 3],
}

impl LiveKey for HoverKey {}

impl PartialEq for PathwayKey {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&Region, &Region)| a.role == b.role && Arc::ptr_eq(&a.shape, &b.shape);
        self.field == other.field
            && self.params == other.params
            && self.regions.len() == other.regions.len()
            && self.regions.iter().zip(&other.regions).all(same)
    }
}

impl PathwayKey {
    pub fn of(found: &PathwayResult) -> Self {
        Self {
            field: found.field,
            regions: found.regions.clone(),
            params: found.params,
        }
    }
}

/// What happens meanwhile.
#[derive(Clone, Debug, Default)]
pub struct PathwayRuntime {
    pub live: Option<Arc<PathwayResult>>,
    pub wall_ms: f64,
    /// On its way, and whether coarse.
    pub running: Option<(PathwayKey, bool)>,
    /// One that failed or was stopped, and why; not asked for again as it is.
    pub failed: Option<(PathwayKey, String)>,
    /// A full result is wanted although the drag goes on: the pointer rests.
    pub rested: Option<PathwayKey>,
    /// The coarse grid closes a gap or loses a small region of this one: the full result decides.
    pub lost: Option<PathwayKey>,
    /// A coarse solve was cancelled for a newer one: the newer one is finished.
    pub gave_way: bool,
    /// The live one is coarse.
    pub unsettled: bool,
    /// The live one beside random pairs, and why it could not be compared.
    pub compared: Live<PathwayKey, Arc<Compared>>,
    pub not_compared: Option<String>,
    /// For the next comparison.
    pub pairs: Option<Arc<KnownPairs>>,
    /// For the next ones: fine and coarse.
    pub known: [Option<Arc<PreparedCosts>>; 2],
    /// How long the last full ones took: on a metric that was there, and on one made for it.
    pub full_ms: [Option<f64>; 2],
    /// The best path through the voxel under the pointer; `None`: no path leads through it.
    pub hover: Live<HoverKey, Option<PathAtVoxel>>,
    /// A kept one.
    pub selected: Option<LayerId>,
    /// A kept one that is being solved again, and those that could not be.
    pub solving: Option<LayerId>,
    pub unsolved: Vec<LayerId>,
    /// What there was to solve them with: the tensors, and the layers, of which some are scans with
    /// gradients.
    pub unsolved_with: (Option<DataId>, Vec<(LayerId, bool)>),
    /// Streamlines were not asked for, since they are not seen where pathways are.
    pub tracks_due: bool,
    /// Jobs of a document that was left and are on their way: their events come first.
    pub left: usize,
}

/// How the live pathway stands to what is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    Final,
    Coarse,
    Updating,
    OutOfDate,
}

impl Document {
    /// The regions that take part in pathways.
    pub fn pathway_regions(&self) -> Vec<Region> {
        let these = self
            .regions
            .iter()
            .filter(|r| Params::affects_pathways(r.role));
        these.map(|r| (**r).clone()).collect()
    }

    /// The pathway of the document as it is; `None` without tensors or one of the ends.
    pub fn wanted_pathway(&self) -> Option<PathwayKey> {
        let there = |role| self.regions.iter().any(|r| r.role == role);
        let tensors = self.tensors.as_ref()?;
        (there(Role::Seed) && there(Role::Target)).then(|| PathwayKey {
            field: tensors.field.id(),
            regions: self.pathway_regions(),
            params: self.pathways.params,
        })
    }

    /// A name for a kept pathway: this one, or with a number where another has it.
    pub fn pathway_name(&self, base: &str, of: Option<LayerId>) -> String {
        let others = || self.kept_pathways.iter().filter(|k| Some(k.id) != of);
        let taken = |name: &String| others().any(|k| k.name == *name);
        let numbered = (2..).map(|n| format!("{base} {n}"));
        let mut names = std::iter::once(base.to_owned()).chain(numbered);
        names.find(|name| !taken(name)).unwrap_or_default()
    }

    /// The colour of the next one that is kept.
    pub fn next_pathway_colour(&self) -> [u8; 3] {
        let used = |c: &&[u8; 3]| {
            self.kept_pathways
                .iter()
                .filter(|k| k.colour == **c)
                .count()
        };
        CATEGORIES
            .iter()
            .min_by_key(used)
            .copied()
            .unwrap_or(CATEGORIES[0])
    }
}

/// ε_h in percent, as it is told: in tenths, and no less, so that a set of this width is joined.
pub fn percent_joined(from: f64) -> f64 {
    (from * 1000.0).ceil() / 10.0
}

impl crate::state::State {
    pub fn pathway_standing(&self) -> Option<Standing> {
        let working = &self.session.pathways;
        let live = working.live.as_ref()?;
        let requested = self.document.wanted_pathway();
        let current =
            self.session.fitting.is_none() && requested.as_ref() == Some(&PathwayKey::of(live));
        Some(match (current, live.coarse, working.running.is_some()) {
            (true, false, _) => Standing::Final,
            (true, true, _) => Standing::Coarse,
            (false, _, true) if live.coarse => Standing::Coarse,
            (false, _, true) => Standing::Updating,
            (false, ..) if self.session.fitting.is_some() => Standing::Updating,
            (false, ..) => Standing::OutOfDate,
        })
    }

    /// Whether the live pathway belongs to other tensors, regions or parameters than the document's, and will
    /// for longer than a coarse solve takes.
    pub fn pathway_is_stale(&self) -> bool {
        match self.pathway_standing() {
            None | Some(Standing::Final) => false,
            Some(Standing::Updating | Standing::OutOfDate) => true,
            Some(Standing::Coarse) => {
                let live = self
                    .session
                    .pathways
                    .live
                    .as_ref()
                    .map(|l| PathwayKey::of(l));
                let mut jobs = self.session.jobs.iter();
                let late = |j: &JobHandle| j.slot == PATHWAY && j.started.elapsed() > LAG;
                live != self.document.wanted_pathway() && jobs.any(late)
            }
        }
    }

    /// The live pathway beside random pairs; `None` until it is compared as it is.
    pub fn pathway_compared(&self) -> Option<&Arc<Compared>> {
        // The figures of random pairs belong to the full result of the same regions and parameters.
        let live = self.session.pathways.live.as_ref();
        let live = live.filter(|live| !live.coarse)?;
        let known = self.session.pathways.compared.shown();
        known
            .filter(|(asked, _)| **asked == PathwayKey::of(live))
            .map(|(_, compared)| compared)
    }

    /// The live pathway, if it is all that the document asks for.
    pub fn final_pathway(&self) -> Option<&Arc<PathwayResult>> {
        let live = self.session.pathways.live.as_ref();
        live.filter(|_| self.pathway_standing() == Some(Standing::Final))
    }

    /// The best path through the voxel that was under the pointer last.
    pub fn path_hovered(&self) -> Option<&PathAtVoxel> {
        self.session.pathways.hover.shown()?.1.as_ref()
    }

    /// The best path through the voxel under the pointer.
    pub fn path_pointed(&self) -> Option<&PathAtVoxel> {
        let working = &self.session.pathways;
        let live = working.live.as_ref()?;
        let hovered = self.path_hovered();
        hovered.filter(|h| h.of == live.excess.id())
    }

    /// The path that is told about, and where it is weakest: the one under the pointer, else the minimal
    /// one.
    pub fn path_told(&self) -> Option<(&Path, Option<&CostliestStretch>)> {
        let live = self.session.pathways.live.as_ref()?;
        Some(match self.path_pointed() {
            Some(pointed) => (&pointed.path, pointed.weakest.as_ref()),
            None => (&live.path, live.weakest.as_ref()),
        })
    }
}
