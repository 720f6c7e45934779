//! What counts as saved: what a session file holds, or what was there when the first file was opened.

use super::{absent, turned};
use crate::data::region::RegionId;
use crate::data::{DataId, Region};
use crate::solvers::geodesic::{self, Cut};
use crate::solvers::{commit, level_set, pathway, tensor_fit, tracking};
use crate::state::document::{Document, LayerId};
use crate::state::filter::{Times, Weighed};
use crate::state::recipe::MediumRecipe;
use crate::state::segment::Start;
use crate::state::whole_brain::WholeBrain;
use crate::state::{State, defaults};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Parameters {
    fit: tensor_fit::Params,
    fit_mask: Option<LayerId>,
    track: tracking::Params,
    whole_brain: WholeBrain,
    rays: (MediumRecipe, geodesic::Params, Cut),
    pathways: pathway::Params,
    filter: Filtered,
    segment: Segment,
}

/// Parameters of the task Filter.
#[derive(Clone, PartialEq, Debug)]
struct Filtered {
    /// `None`: those that the scan's shells ask for.
    params: Option<commit::Params>,
    mask: Option<LayerId>,
    peaks: Option<LayerId>,
    times: Times,
    cut: f32,
}

impl Filtered {
    fn of(document: &Document) -> Self {
        let filter = &document.filter;
        let usual =
            |p: &commit::Params| *p == commit::Params::defaults_for(document.filter_shells());
        Self {
            params: filter.params.clone().filter(|p| !usual(p)),
            mask: filter.mask,
            peaks: filter.peaks,
            times: filter.times.clone(),
            cut: filter.cut,
        }
    }
}

/// Parameters of the task Segment; how the surface is shown is none of them.
#[derive(Clone, PartialEq, Debug)]
struct Segment {
    params: level_set::Params,
    watched: bool,
}

impl Segment {
    fn of(document: &Document) -> Self {
        let settings = &document.segment.settings;
        let mut params = settings.params.clone();
        if !settings.told {
            // The image's window gave them, not the user.
            let usual = defaults::segment().params;
            (params.target, params.tolerance) = (usual.target, usual.tolerance);
        }
        Self {
            params,
            watched: settings.watched,
        }
    }
}

impl Parameters {
    pub(super) fn of(document: &Document) -> Self {
        let rays = &document.rays;
        Self {
            filter: Filtered::of(document),
            segment: Segment::of(document),
            fit: document.fit.clone(),
            fit_mask: document.fit_mask,
            track: document.track.clone(),
            whole_brain: document.whole_brain,
            rays: (rays.medium, rays.params.clone(), rays.cut),
            pathways: document.pathways.params,
        }
    }
}

/// What is in the session file, or was there when the first scan was opened; all else is unsaved.
#[derive(Clone, Debug, Default)]
pub struct Base {
    pub(super) revision: u64,
    /// `None`: nothing to compare with.
    pub(super) parameters: Option<Parameters>,
    /// It was recovered: none of it is in a file that the user has.
    pub(super) recovered: bool,
    pub(super) regions: BTreeMap<RegionId, Arc<Region>>,
    pub(super) layers: BTreeMap<LayerId, DataId>,
    pub(super) weighed: BTreeMap<LayerId, Arc<Weighed>>,
    pub(super) pathways: Vec<LayerId>,
    pub(super) start: Start,
    pub(super) spheres: usize,
    pub(super) measurements: usize,
    pub(super) snapshots: usize,
    pub(super) axes: usize,
    pub(super) absent: usize,
}

impl Base {
    /// Nothing was done yet with what was opened.
    pub fn untouched(state: &State) -> Self {
        Self {
            revision: state.session.revision,
            parameters: Some(Parameters::of(&state.document)),
            ..Self::default()
        }
    }

    /// What a session file of the state holds.
    pub fn saved(state: &State) -> Self {
        let document = &state.document;
        let kept = document.layers.iter().filter(|l| document.can_be_saved(l));
        Self {
            regions: document.regions.iter().map(|r| (r.id, r.clone())).collect(),
            layers: kept.map(|l| (l.id, document.unweighted(l))).collect(),
            weighed: document.weighed.clone(),
            pathways: document.kept_pathways.iter().map(|k| k.id).collect(),
            start: document.segment.start.clone(),
            spheres: document.segment.spheres.len(),
            measurements: document.bundle.measurements.len(),
            snapshots: state.session.snapshots.len(),
            axes: turned(document),
            absent: absent(document),
            ..Self::untouched(state)
        }
    }

    /// What was left behind, and is in no file of the user's.
    pub fn recovered(state: &State) -> Self {
        Self {
            revision: state.session.revision,
            recovered: true,
            ..Self::default()
        }
    }

    /// Whether it is of this revision of the document.
    pub fn is_of(&self, revision: u64) -> bool {
        self.revision == revision
    }

    /// A fit whose parameters follow from the files that were opened is none that the user chose.
    pub fn follow_fit(&mut self, before: &Document, after: &Document) {
        if let Some(parameters) = &mut self.parameters
            && (&parameters.fit, parameters.fit_mask) == (&before.fit, before.fit_mask)
        {
            (parameters.fit, parameters.fit_mask) = (after.fit.clone(), after.fit_mask);
        }
    }
}
