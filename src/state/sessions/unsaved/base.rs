//! The saved state: the content of a session file, or the state when the first file was opened.

use crate::data::region::RegionId;
use crate::data::{DataId, Region, Shape};
use crate::solvers::geodesic::{self, Cut, RayMetricParams};
use crate::solvers::level_set::{self, RunHistory};
use crate::solvers::{commit, curves, lifted, pathway, tensor_fit};
use crate::state::State;
use crate::state::core::layer::{Layer, LayerId};
use crate::state::document::Document;
use crate::state::filter::{ChosenPeaks, FittedWeights, ScanTimings};
use crate::state::segment::{SegmentSettings, Start};
use crate::state::sessions::unsaved::{same_start, turned};
use crate::state::tensors::types::fods::FodSettings;
use crate::state::track::types::WholeBrain;
use crate::state::track::types::odf::OdfTrackingSettings;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Clone, PartialEq, Debug)]
pub(in crate::state) struct Parameters {
    fit: tensor_fit::Params,
    fods: FodSettings,
    fit_mask: Option<LayerId>,
    track: curves::Params,
    odf: OdfTrackingSettings,
    whole_brain: WholeBrain,
    rays: (RayMetricParams, geodesic::Params, Cut),
    pathways: PathwayParameters,
    filter: FilterParameters,
    segment: Segment,
}

/// Parameters of the task Pathways, without the display of the cost.
#[derive(Clone, Copy, PartialEq, Debug)]
struct PathwayParameters {
    params: pathway::Params,
    lifted: lifted::Params,
    /// Width of the pathway, as a fraction of the least cost.
    epsilon: f64,
}

/// Parameters of the task Filter.
#[derive(Clone, PartialEq, Debug)]
struct FilterParameters {
    /// `None`: the defaults for the scan's shells.
    params: Option<commit::Params>,
    mask: Option<LayerId>,
    peaks: Option<ChosenPeaks>,
    times: ScanTimings,
    /// The smallest weight that is kept of each layer.
    cuts: BTreeMap<LayerId, f32>,
}

impl FilterParameters {
    fn from_document(document: &Document) -> Self {
        let filter = &document.filter;
        let default_value =
            |p: &commit::Params| *p == commit::Params::defaults_for(document.filter_shells());
        Self {
            params: filter.params.clone().filter(|p| !default_value(p)),
            mask: filter.mask,
            peaks: filter.peaks,
            times: filter.times.clone(),
            cuts: filter.cuts(),
        }
    }
}

/// Parameters of the task Segment, without the display of the surface.
#[derive(Clone, PartialEq, Debug)]
struct Segment {
    params: level_set::Params,
    watched: bool,
}

impl Segment {
    fn from_document(document: &Document) -> Self {
        let settings = &document.segment.settings;
        let mut params = settings.params.clone();
        if !settings.target_chosen {
            // They come from the image's window, not from the user.
            let default_value = SegmentSettings::defaults().params;
            (params.target, params.tolerance) = (default_value.target, default_value.tolerance);
        }
        Self {
            params,
            watched: settings.watched,
        }
    }
}

impl Parameters {
    pub(in crate::state) fn from_document(document: &Document) -> Self {
        let rays = &document.track.rays;
        Self {
            filter: FilterParameters::from_document(document),
            segment: Segment::from_document(document),
            fit: document.fit.clone(),
            fods: document.distributions.settings.clone(),
            fit_mask: document.fit_mask,
            track: document.track.streamlines.clone(),
            odf: document.track.odf.clone(),
            whole_brain: document.track.whole_brain,
            rays: (rays.metric, rays.params.clone(), rays.cut),
            pathways: PathwayParameters {
                params: document.pathways.params,
                lifted: document.pathways.lifted,
                epsilon: document.pathways.epsilon,
            },
        }
    }

    /// Whether the fit has the same mask by these as by others.
    pub(in crate::state) fn has_mask_of(&self, other: &Self) -> bool {
        self.fit_mask == other.fit_mask
    }

    /// The tasks whose parameters differ, apart from the mask of the fit.
    fn differing_tasks(&self, other: &Self) -> Vec<&'static str> {
        let tracking = |base: &Self| {
            (
                base.track.clone(),
                base.odf.clone(),
                base.whole_brain,
                base.rays.clone(),
            )
        };
        let all = [
            ("the fit", self.fit != other.fit),
            ("fibre orientations", self.fods != other.fods),
            ("tracking", tracking(self) != tracking(other)),
            ("pathways", self.pathways != other.pathways),
            ("Filter", self.filter != other.filter),
            ("Segment", self.segment != other.segment),
        ];
        let differing = all.into_iter().filter(|(_, differs)| *differs);
        differing.map(|(name, _)| name).collect()
    }

    /// Whether all but the mask of the fit are the same.
    pub(in crate::state) fn is_but_for_mask(&self, other: &Self) -> bool {
        let fit_mask = other.fit_mask;
        let with_mask = Self {
            fit_mask,
            ..self.clone()
        };
        with_mask == *other
    }
}

/// Content of the session file, or the state when the first scan was opened; everything else is unsaved.
#[derive(Clone, Debug, Default)]
pub struct Base {
    pub(in crate::state) revision: u64,
    /// `None`: nothing to compare with.
    pub(in crate::state) parameters: Option<Parameters>,
    /// Recovered parameters differ from those of the file, which are not known.
    pub(in crate::state) parameters_differ: bool,
    /// Whether the state was recovered: no part of it is in a file of the user.
    pub(in crate::state) recovered: bool,
    pub(in crate::state) regions: BTreeMap<RegionId, Arc<Region>>,
    pub(in crate::state) layers: BTreeMap<LayerId, DataId>,
    /// All layers that the file lists, including missing ones.
    pub(in crate::state) listed: BTreeSet<LayerId>,
    pub(in crate::state) weights: BTreeMap<LayerId, Arc<FittedWeights>>,
    pub(in crate::state) pathways: Vec<LayerId>,
    pub(in crate::state) start: Start,
    /// The recovered start differs from that of the file, which is unknown.
    pub(in crate::state) start_differs: bool,
    pub(in crate::state) spheres: usize,
    /// The run of the surface; `None` before its first step.
    pub(in crate::state) surface_script: Option<RunHistory>,
    pub(in crate::state) measurements: usize,
    pub(in crate::state) snapshots: usize,
    pub(in crate::state) viewpoints: usize,
    pub(in crate::state) axes: usize,
    pub(in crate::state) missing: usize,
}

impl Base {
    /// The state just after opening, without any work.
    pub fn untouched(state: &State) -> Self {
        Self {
            revision: state.history.revision(),
            parameters: Some(Parameters::from_document(&state.document)),
            ..Self::default()
        }
    }

    /// The parameters to compare a document's with: the cut of a layer that was deleted since is gone with the layer.
    pub(in crate::state) fn parameters_for(&self, document: &Document) -> Option<Parameters> {
        let mut parameters = self.parameters.clone()?;
        let known = document.filter.cuts();
        let stays = |layer: &LayerId| known.contains_key(layer) || document.layer(*layer).is_some();
        parameters.filter.cuts.retain(|layer, _| stays(layer));
        Some(parameters)
    }

    /// The content of a session file of the state.
    pub fn saved(state: &State) -> Self {
        let document = &state.document;
        let kept = document.layers.iter().filter(|l| document.can_be_saved(l));
        Self {
            regions: document.regions.iter().map(|r| (r.id, r.clone())).collect(),
            layers: kept.map(|l| (l.id, document.unweighted(l))).collect(),
            weights: document.weights.clone(),
            pathways: document.kept_pathways.iter().map(|k| k.id).collect(),
            listed: listed(document),
            start: document.segment.start.clone(),
            spheres: document.segment.spheres.len(),
            surface_script: state.surface_script().cloned(),
            measurements: document.streamlines.measurements.len(),
            snapshots: state.runtime.snapshots.all.len(),
            viewpoints: state.view.named.len(),
            axes: turned(document),
            missing: document.missing_count(),
            ..Self::untouched(state)
        }
    }

    /// A recovered state: only the parts that the copy marks as stored in its session count as saved, as long as that
    /// session is unchanged.
    pub fn recovered(state: &State, in_session: Option<&PartsInSession>) -> Self {
        let document = &state.document;
        let nothing = PartsInSession::default();
        let in_session = in_session.unwrap_or(&nothing);
        let layer = |id: &u64| document.layer(LayerId(*id));
        let layers = in_session.layers.iter().filter_map(layer);
        let weights = in_session.weights.iter().map(|id| LayerId(*id));
        let regions = in_session.regions.iter();
        // If some could not be read, the indices belong to others.
        let all_read = document.missing_parts().next().is_none();
        let regions = regions.filter_map(|at| document.regions.get(*at).filter(|_| all_read));
        Self {
            revision: state.history.revision(),
            recovered: true,
            parameters: in_session
                .parameters
                .then(|| Parameters::from_document(document)),
            parameters_differ: in_session.parameters_differ,
            regions: regions.map(|r| (r.id, r.clone())).collect(),
            layers: layers.map(|l| (l.id, document.unweighted(l))).collect(),
            listed: in_session.listed.iter().map(|id| LayerId(*id)).collect(),
            weights: weights
                .filter_map(|id| Some((id, document.weights.get(&id)?.clone())))
                .collect(),
            pathways: in_session.pathways.iter().map(|id| LayerId(*id)).collect(),
            start: match in_session.same_start {
                true => document.segment.start.clone(),
                false => Start::default(),
            },
            start_differs: in_session.start_differs,
            spheres: in_session.spheres,
            surface_script: in_session.surface_script.clone(),
            measurements: in_session.measurements,
            snapshots: in_session.snapshots,
            viewpoints: in_session.viewpoints,
            axes: in_session.axes,
            missing: in_session.missing,
        }
    }

    /// The tasks whose parameters were changed; none if the earlier parameters are unknown.
    pub(in crate::state) fn changed_tasks(&self, document: &Document) -> Vec<&'static str> {
        let now = Parameters::from_document(document);
        let before = self.parameters.as_ref();
        let before = before.filter(|_| !self.parameters_differ);
        before.map_or(Vec::new(), |before| before.differing_tasks(&now))
    }

    /// Whether a region is in the file unchanged.
    pub(in crate::state) fn has_region(&self, region: &Arc<Region>) -> bool {
        let before = self.regions.get(&region.id);
        before.is_some_and(|b| Arc::ptr_eq(b, region) || same(b, region))
    }

    pub(in crate::state) fn has_weights(
        &self,
        layer: LayerId,
        weights: &Arc<FittedWeights>,
    ) -> bool {
        let before = self.weights.get(&layer);
        before.is_some_and(|b| Arc::ptr_eq(b, weights))
    }

    /// Whether the initial surface is the same there.
    pub(in crate::state) fn has_start(&self, document: &Document) -> bool {
        !self.start_differs && same_start(&document.segment.start, &self.start)
    }

    /// Whether the file lists a layer, or there is no file yet.
    pub(in crate::state) fn lists(&self, layer: LayerId) -> bool {
        self.listed.contains(&layer)
    }

    /// A layer that the file lists only as a recipe was recomputed, with the same result as when the file was written.
    /// `revision`: the document's revisions before and after.
    pub fn is_back(&mut self, document: &Document, layer: LayerId, revision: (u64, u64)) {
        let Some(here) = document.layer(layer) else {
            return;
        };
        // A recovered layer that was not saved since may differ from the file's.
        if self.recovered || !self.lists(layer) {
            return;
        }
        self.layers.insert(layer, document.unweighted(here));
        let weights = document.weights.get(&layer);
        self.weights.extend(weights.map(|w| (layer, w.clone())));
        if self.revision == revision.0 {
            self.revision = revision.1;
        }
    }

    /// Whether it belongs to this revision of the document.
    pub fn is_of(&self, revision: u64) -> bool {
        self.revision == revision
    }

    /// A fit whose parameters follow from the opened files was not chosen by the user.
    pub fn follow_fit(&mut self, before: &Document, after: &Document) {
        if let Some(parameters) = &mut self.parameters
            && (&parameters.fit, parameters.fit_mask) == (&before.fit, before.fit_mask)
        {
            (parameters.fit, parameters.fit_mask) = (after.fit.clone(), after.fit_mask);
        }
    }
}

fn same(a: &Region, b: &Region) -> bool {
    Shape::same(&a.shape, &b.shape) && (&a.name, a.role, a.colour) == (&b.name, b.role, b.colour)
}

/// The layers that a session of the document lists.
fn listed(document: &Document) -> BTreeSet<LayerId> {
    let here = document.layers.iter().map(|l| l.id);
    let away = document.missing_layers().map(|m| LayerId(m.layer.id));
    let awaited = document
        .session
        .unrestored
        .awaited
        .iter()
        .flat_map(|all| all.layers());
    let awaited = awaited.map(|saved| LayerId(saved.id));
    here.chain(away).chain(awaited).collect()
}

/// Whether a count is 0.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// The part of a recovery copy that is in the session it belongs to. Layers and pathways are referred to by their
/// numbers, regions by their indices.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PartsInSession {
    regions: Vec<usize>,
    layers: Vec<u64>,
    listed: Vec<u64>,
    weights: Vec<u64>,
    pathways: Vec<u64>,
    /// The initial surface is that of the session.
    same_start: bool,
    /// It is known to differ.
    start_differs: bool,
    spheres: usize,
    surface_script: Option<RunHistory>,
    measurements: usize,
    snapshots: usize,
    #[serde(skip_serializing_if = "is_none")]
    viewpoints: usize,
    axes: usize,
    missing: usize,
    /// Parameters are those of the session.
    parameters: bool,
    /// They are known to differ; if neither is set, nothing is known about them.
    parameters_differ: bool,
}

impl PartsInSession {
    /// The parts for a recovery copy of the present state.
    pub fn from_state(state: &State) -> Self {
        let (document, base) = (&state.document, &state.runtime.sessions.base);
        let places = document.regions.iter().enumerate();
        let places = places.filter(|(_, r)| base.has_region(r));
        let same = |l: &&Arc<Layer>| base.layers.get(&l.id) == Some(&document.unweighted(l));
        let layers = document.layers.iter().filter(same);
        let weights = document.weights.iter();
        let weights = weights.filter(|(id, weights)| base.has_weights(**id, weights));
        let parameters = base.parameters_for(document);
        let parameters = parameters.map(|p| p == Parameters::from_document(document));
        let same_start = base.has_start(document);
        Self {
            regions: places.map(|(at, _)| at).collect(),
            layers: layers.map(|l| l.id.0).collect(),
            listed: base.listed.iter().map(|id| id.0).collect(),
            weights: weights.map(|(id, _)| id.0).collect(),
            pathways: base.pathways.iter().map(|id| id.0).collect(),
            same_start,
            start_differs: !same_start,
            spheres: base.spheres,
            surface_script: base.surface_script.clone(),
            measurements: base.measurements,
            snapshots: base.snapshots,
            viewpoints: base.viewpoints,
            axes: base.axes,
            missing: base.missing,
            parameters: parameters == Some(true) && !base.parameters_differ,
            parameters_differ: parameters == Some(false) || base.parameters_differ,
        }
    }
}
