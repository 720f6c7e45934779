//! Pathways between regions, from cost fields; unchanged fields are reused.

use crate::compute::{Backend, Control, parts};
use crate::data::{
    DataId, ImageExporter, Mask, Region, Role, Sentence, Shape, TensorField, Volume,
};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::eikonal::{self, CostField, CostSource, LocalSolver, Prepared, solve};
use crate::solvers::pathway::{
    Domain, Params, Pathway, TOLERANCE, excess_on_card, not_joined, outside_tensors,
};
use crate::solvers::{Error, tractogram};
use crate::state::core::notices::Severity;
use crate::state::job_end::{ended, remove_job};
use crate::state::pathways::{
    self, ClippedEnd, CostliestStretch, KnownCosts, PathwayCosts, PathwayKey, PathwayParams,
    PathwayResult,
};
use crate::state::tensors::jobs::input::Tensors;
use crate::state::{Effect, State};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// The pathway between the regions, while they are dragged.
pub const PATHWAY: Slot = Slot::latest_wins("pathway");
/// Kept pathways that are recomputed.
pub const KEPT_PATHWAY: Slot = Slot::queue("pathways");

/// Finds a pathway.
#[derive(Clone, Debug)]
pub struct FindPathway {
    pub tensors: Tensors,
    /// The participating regions.
    pub regions: Vec<Region>,
    pub params: Params,
    /// On voxels of twice the size: a drag is in progress.
    pub coarse: bool,
    /// Results of the last pathway of the same resolution.
    pub prepared: Option<Arc<PreparedCosts>>,
    /// A kept pathway; `None`: that of the current regions.
    pub kept: Option<u64>,
    /// The name of the tensors' mask in sentences.
    pub mask_name: String,
}

/// A region that confines or excludes paths, or makes them cost more.
pub(super) type Wall = (Role, Arc<Shape>);

pub(super) fn walls(regions: &[Region]) -> Vec<Wall> {
    let walls = regions.iter().filter(|r| {
        Params::affects_pathways(r.role) && !matches!(r.role, Role::Seed | Role::Target)
    });
    walls.map(|r| (r.role, r.shape.clone())).collect()
}

pub(super) fn same_walls(a: &[Wall], b: &[Wall]) -> bool {
    let same = |(a, b): (&Wall, &Wall)| a.0 == b.0 && Arc::ptr_eq(&a.1, &b.1);
    a.len() == b.len() && a.iter().zip(b).all(same)
}

fn shapes(regions: &[Region], role: Role) -> Vec<Arc<Shape>> {
    let these = regions.iter().filter(|r| r.role == role);
    these.map(|r| r.shape.clone()).collect()
}

/// Results that the next pathway need not recompute.
#[derive(Clone, Debug)]
pub struct PreparedCosts {
    field: DataId,
    params: Params,
    walls: Vec<Wall>,
    /// The domain of the metric: a change of the metric alone needs no new one.
    domain: (TensorField, Mask),
    prepared: Prepared,
    ends: [Vec<Arc<Shape>>; 2],
    fields: [CostField; 2],
}

impl PreparedCosts {
    /// Whether the metric of such a pathway need not be recomputed.
    pub fn serves(&self, field: DataId, params: &Params) -> bool {
        self.field == field && self.params == *params
    }
}

/// Writes the excess cost to renderer memory, if the card that computes also draws; otherwise the window uploads it.
fn upload_shared(result: &mut PathwayResult, exporter: &ImageExporter, backend: &Backend) {
    let Some(device) = backend.devices().first() else {
        return;
    };
    if device.uuid() != Ok(exporter.card) {
        return;
    }
    let Some(pathway) = result.pathway.tensors() else {
        return;
    };
    let shape = pathway.places.grid.shape.map(|n| n as u32);
    let Some(image) = exporter.image(shape) else {
        return;
    };
    // A volume that cannot be shared is uploaded instead, which costs only milliseconds.
    let max_excess = PathwayResult::MAXIMUM_EXCESS;
    if let Ok(copy) = excess_on_card(pathway, max_excess, image, device) {
        result.excess = result.excess.clone().with_device_copy(copy);
    }
}

impl Job for FindPathway {
    type Output = Box<PathwayResult>;

    fn slot(&self) -> Slot {
        slot(self.kept)
    }

    fn label(&self) -> String {
        LABEL.to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let backend = worker.backend();
        let mut result = Box::new(self.solve(&backend, control)?);
        if let Some(exporter) = worker.image_exporter() {
            upload_shared(&mut result, exporter, &backend);
        }
        Ok(result)
    }
}

impl Receive<State> for FindPathway {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        receive(self, self.kept, delivery, state, effects);
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        unfinished(self.kept, end, state)
    }
}

/// Shown to the user while a pathway is solved.
pub(super) const LABEL: &str = "Solving costs";

/// The slot of a kept pathway, or of that of the current regions.
pub(super) fn slot(kept: Option<u64>) -> Slot {
    match kept {
        None => PATHWAY,
        Some(_) => KEPT_PATHWAY,
    }
}

/// Receives a pathway, whatever its costs come from.
pub(super) fn receive<J>(
    job: &J,
    kept: Option<u64>,
    delivery: Delivery<Box<PathwayResult>>,
    state: &mut State,
    effects: &mut Vec<Effect>,
) where
    J: Receive<State> + Job<Output = Box<PathwayResult>>,
{
    if kept.is_some() && pathways::update::belongs_to_closed_document(state) {
        remove_job(state, delivery.ticket);
        return;
    }
    ended(state, job, delivery, effects, |state, result, ms, _| {
        pathways::update::done(state, *result, ms);
    });
}

/// Receives the end of a job without a pathway; returns whether it was reported.
pub(super) fn unfinished(kept: Option<u64>, end: &Unfinished, state: &mut State) -> bool {
    if kept.is_some() {
        let name = pathways::update::kept_failed(state);
        let Unfinished::Failed(why) = end else {
            return false;
        };
        let name = name.unwrap_or_else(|| "A kept pathway".to_owned());
        let sentence = format!("{name} could not be recomputed: {why}");
        state.runtime.notify(Severity::Warning, sentence);
        return true;
    }
    let Some(why) = end.sentence() else {
        // A newer one replaced it, unless the user stopped it.
        return !state.runtime.pathways.live.has_failed();
    };
    pathways::update::failed(state, why);
    !matches!(end, Unfinished::DeviceFailed(_))
}

impl FindPathway {
    /// The local solver. Selling's decomposition takes most of the time of a coarse solve, where the error of large
    /// voxels exceeds the difference between the local solvers.
    fn local(&self) -> LocalSolver {
        match (self.coarse, self.params.local) {
            (true, LocalSolver::Selling | LocalSolver::Hybrid) => LocalSolver::HopfLax26,
            (_, local) => local,
        }
    }

    fn solve(self, backend: &Backend, control: &Control) -> Result<PathwayResult, JobError> {
        self.params.check().map_err(Error::from)?;
        let local = self.local();
        let (field, fa, _) = self.tensors.fitted(backend, control)?;
        let (regions, whose) = (self.regions, self.mask_name);
        let walls = walls(&regions);
        let ends = [Role::Seed, Role::Target].map(|role| shapes(&regions, role));
        let domain = Domain::of_tensors(&fa, self.params.min_fa, &regions);
        let started = Instant::now();
        let adjacent = self.prepared.filter(|k| {
            k.field == field.id()
                && k.params.min_fa == self.params.min_fa
                && same_walls(&k.walls, &walls)
        });
        let known = adjacent.as_ref().filter(|k| k.params == self.params);
        let on = match (&adjacent, self.coarse) {
            (Some(adjacent), _) => adjacent.domain.clone(),
            (None, true) => domain.halved(&field, backend)?,
            (None, false) => (field.clone(), backend.install(|| domain.mask())?),
        };
        let prepared = match known {
            Some(known) => known.prepared.clone(),
            None => {
                let (field, mask) = &on;
                let metric = domain.metric(field, mask, &self.params, backend, control)?;
                Prepared::new(&metric, local, backend, control)?
            }
        };
        let metric = &prepared.metric;
        let mut fields: [Option<CostField>; 2] = [None, None];
        let mut sources: Vec<(usize, Arc<CostSource>)> = Vec::new();
        for (side, role) in [Role::Seed, Role::Target].into_iter().enumerate() {
            let why = |e| outside_tensors(&regions, role, &field, &whose).unwrap_or(e);
            let source = || backend.install(|| domain.source(metric, role)).map_err(why);
            fields[side] = match known_field(known.map(|k| &**k), &ends, side) {
                Some((at, mut field)) => {
                    if at != side {
                        field.source = source()?;
                    }
                    Some(field)
                }
                None => {
                    sources.push((side, source()?));
                    None
                }
            };
        }
        let prepare_ms = started.elapsed().as_secs_f64() * 1e3;
        let started = Instant::now();
        if !sources.is_empty() {
            let params = eikonal::Params {
                tolerance: TOLERANCE,
                schedule: None,
            };
            let all: Vec<_> = sources.iter().map(|(_, s)| s.clone()).collect();
            let solved = solve(&prepared, &all, &params, backend, control)?;
            for ((side, _), field) in sources.iter().zip(solved) {
                fields[*side] = Some(field);
            }
        }
        let [Some(a), Some(b)] = fields else {
            return Err(MissingCostField.into());
        };
        let solve_ms = started.elapsed().as_secs_f64() * 1e3;
        let metric_was_computed = known.is_none();
        let known = self.kept.is_none().then(|| PreparedCosts {
            field: field.id(),
            params: self.params,
            walls,
            domain: on,
            ends,
            fields: [a.clone(), b.clone()],
            prepared: prepared.clone(),
        });
        control.check()?;
        let sides = images([&a, &b], backend);
        let separated_by = not_joined([&a, &b], &regions);
        let pathway = Pathway::new(a, b).map_err(|error| separated_by.unwrap_or(error))?;
        control.check()?;
        let nowhere = || Error::Input("No path leads through the voxel of least cost".into());
        let path = pathway.minimal_path().ok_or_else(nowhere)?;
        let line = PathwayResult::line_of(&path, metric);
        let along = backend.install(|| tractogram::sample(&fa, &line));
        control.check()?;
        let mean_fa = mean_of_finite(&along);
        let summary = backend.install(|| pathway.summary(PathwayResult::MAXIMUM_EXCESS));
        control.check()?;
        line.bounds();
        Ok(PathwayResult {
            excess: summary.excess,
            sides,
            shares: summary.excesses.into(),
            joining: summary.joining.into(),
            curve: line.with_per_point("fa", along),
            weakest: CostliestStretch::find(&path, metric, &regions),
            path,
            excess_limit: None,
            clipped: ClippedEnd::all(&regions),
            mean_fa: Some(mean_fa),
            voxels: metric.len(),
            limited: metric.limited,
            key: PathwayKey {
                field: field.id(),
                regions,
                params: PathwayParams::Tensors(self.params),
                max_excess: None,
            },
            coarse: self.coarse,
            kept: self.kept,
            prepared: known.map(|known| KnownCosts::Tensors(Arc::new(known))),
            metric_was_computed,
            prepare_ms,
            solve_ms,
            pathway: PathwayCosts::Tensors(pathway),
        })
    }
}

/// The cost fields as images. Their windows are computed here, to keep that off the interface thread.
fn images(fields: [&CostField; 2], backend: &Backend) -> [Volume; 2] {
    let images = fields.map(CostField::image);
    let both = images.iter().zip(fields).collect();
    backend.install(|| {
        parts::each(both, |(image, field): (&Volume, &CostField)| {
            image.precompute_window_from(&field.values);
        });
    });
    images
}

/// A cost field already solved for the end of this side, and the side it was solved for: exchanged ends can use each
/// other's fields.
fn known_field(
    earlier: Option<&PreparedCosts>,
    ends: &[Vec<Arc<Shape>>; 2],
    side: usize,
) -> Option<(usize, CostField)> {
    let earlier = earlier?;
    let is_same = |shapes: &[Arc<Shape>]| {
        let mut pairs = shapes.iter().zip(&ends[side]);
        shapes.len() == ends[side].len() && pairs.all(|(a, b)| Arc::ptr_eq(a, b))
    };
    let mut sides = [side, 1 - side].into_iter();
    let at = sides.find(|at| is_same(&earlier.ends[*at]))?;
    Some((at, earlier.fields[at].clone()))
}

/// The mean of the finite values; 0 if there are none.
fn mean_of_finite(values: &[f32]) -> f64 {
    let finite = || values.iter().filter(|v| v.is_finite());
    finite().map(|v| f64::from(*v)).sum::<f64>() / finite().count().max(1) as f64
}

/// A region has neither a known cost field nor a new one.
#[derive(Clone, PartialEq, Debug)]
struct MissingCostField;

impl fmt::Display for MissingCostField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("A cost field is missing")
    }
}

impl std::error::Error for MissingCostField {}

impl From<MissingCostField> for JobError {
    fn from(error: MissingCostField) -> Self {
        Self::Sentence(Sentence::new(&error))
    }
}
