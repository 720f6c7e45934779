//! Pathways through fibre orientation distributions, which resolve crossings.

use crate::compute::{Backend, Control, parts};
use crate::data::{DataId, Mask, OdfField, Region, Volume};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::Error;
use crate::solvers::lifted::{
    DirectionSet, Params, Prepared, ends, halved_distributions, joined, largest_amplitudes,
};
use crate::solvers::pathway::Domain;
use crate::state::pathways::jobs::find::{
    LABEL, Wall, receive, same_walls, slot, unfinished, walls,
};
use crate::state::pathways::{
    ClippedEnd, CostliestStretch, KnownCosts, PathwayCosts, PathwayKey, PathwayParams,
    PathwayResult,
};
use crate::state::tensors::jobs::input::Distributions;
use crate::state::{Effect, State};
use std::sync::Arc;
use std::time::Instant;

/// Directions of a coarse pathway: 32 degrees apart, enough for a preview.
pub const COARSE_DIRECTIONS: DirectionSet = DirectionSet::Icosphere42;

/// Finds a pathway through distributions.
#[derive(Clone, Debug)]
pub struct FindLifted {
    pub distributions: Box<Distributions>,
    /// The participating regions.
    pub regions: Vec<Region>,
    pub params: Params,
    /// The width up to which costs are needed.
    pub epsilon: f64,
    /// On voxels of twice the size and in few directions: a drag is in progress.
    pub coarse: bool,
    /// Results of the last pathway.
    pub prepared: Option<Arc<PreparedLifted>>,
    /// A kept pathway; `None`: that of the current regions.
    pub kept: Option<u64>,
}

/// Results that the next pathway through the same distributions need not recompute.
#[derive(Clone, Debug)]
pub struct PreparedLifted {
    field: DataId,
    params: Params,
    walls: Vec<Wall>,
    coarse: bool,
    /// The largest amplitude of each voxel, on the grid of the distributions.
    amplitude: Volume,
    /// The distributions and the domain on the grid that was solved.
    domain: (OdfField, Mask),
    prepared: Prepared,
}

impl PreparedLifted {
    /// Whether the costs of such a pathway need not be recomputed.
    pub fn serves(&self, field: DataId, params: &Params) -> bool {
        self.field == field && self.params == *params
    }

    /// The largest amplitude in each voxel, which decides where paths may run.
    pub fn amplitude(&self) -> &Volume {
        &self.amplitude
    }

    /// The costs on the grid that was solved.
    pub(super) fn costs(&self) -> &Prepared {
        &self.prepared
    }
}

impl Job for FindLifted {
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
        Ok(Box::new(self.solve(&worker.backend(), control)?))
    }
}

impl Receive<State> for FindLifted {
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

impl FindLifted {
    pub(super) fn solve(
        self,
        backend: &Backend,
        control: &Control,
    ) -> Result<PathwayResult, JobError> {
        self.params.check().map_err(Error::from)?;
        let distributions = (*self.distributions).clone();
        let (field, _) = distributions.estimated(backend, control)?;
        let started = Instant::now();
        let (known, costs_were_computed) = self.known(&field, backend, control)?;
        let prepared = &known.prepared;
        let domain = self.domain(&known.amplitude);
        let sources = ends(&domain, &prepared.places, backend)?;
        let prepare_ms = started.elapsed().as_secs_f64() * 1e3;
        let started = Instant::now();
        let width = (self.epsilon, self.coarse);
        let (pathway, max_excess) =
            joined(prepared, &sources, &self.regions, width, backend, control)?;
        let solve_ms = started.elapsed().as_secs_f64() * 1e3;
        control.check()?;
        let nowhere = || Error::Input("No path leads through the voxel of least cost".into());
        let path = pathway.minimal_path().ok_or_else(nowhere)?;
        let sides = [0, 1].map(|i: usize| backend.install(|| pathway.fields[i].image()));
        control.check()?;
        let places = &prepared.places;
        let summary = backend.install(|| pathway.summary(PathwayResult::MAXIMUM_EXCESS));
        let curve = PathwayResult::line_of(&path, places);
        // Computed here to keep it off the interface thread.
        backend.install(|| {
            parts::each(sides.iter().collect(), |image: &Volume| {
                image.precompute_window_from(&image.values);
            });
        });
        curve.bounds();
        let costs = PathwayCosts::Distributions(pathway);
        let params = PathwayParams::Distributions(self.params);
        Ok(PathwayResult {
            excess: summary.excess,
            sides,
            shares: summary.excesses.into(),
            joining: summary.joining.into(),
            curve,
            weakest: CostliestStretch::find(&path, places, &self.regions),
            path,
            mean_fa: None,
            excess_limit: Some(max_excess),
            clipped: ClippedEnd::all(&self.regions),
            voxels: places.len(),
            limited: 0,
            key: PathwayKey::new(field.id(), self.regions, params, self.epsilon),
            coarse: self.coarse,
            kept: self.kept,
            metric_was_computed: costs_were_computed,
            prepare_ms,
            solve_ms,
            pathway: match self.kept {
                None => costs,
                Some(_) => costs.to_keep(),
            },
            prepared: (self.kept.is_none()).then(|| KnownCosts::Distributions(Arc::new(known))),
        })
    }

    fn domain<'a>(&'a self, amplitude: &'a Volume) -> Domain<'a> {
        Domain::of_distributions(amplitude, self.params.min_amplitude, &self.regions)
    }

    /// The costs in all directions, as far as possible from the last pathway; whether they were computed.
    pub(super) fn known(
        &self,
        field: &OdfField,
        backend: &Backend,
        control: &Control,
    ) -> Result<(PreparedLifted, bool), Error> {
        let walls = walls(&self.regions);
        let of_field = self.prepared.as_ref();
        let of_field = of_field.filter(|k| k.field == field.id());
        let adjacent = of_field.filter(|k| {
            k.coarse == self.coarse
                && k.params.min_amplitude == self.params.min_amplitude
                && same_walls(&k.walls, &walls)
        });
        if let Some(known) = adjacent.filter(|k| k.params == self.params) {
            return Ok(((**known).clone(), false));
        }
        let amplitude = match of_field {
            Some(known) => known.amplitude.clone(),
            None => largest_amplitudes(field, backend, control)?,
        };
        let domain = self.domain(&amplitude);
        let on = match adjacent {
            Some(adjacent) => adjacent.domain.clone(),
            None => {
                let mask = backend.install(|| domain.mask())?;
                self.on_grid(field, mask, backend)
            }
        };
        let prepared = Prepared::new(&on.0, &on.1, &self.solved_params(), backend, control)?;
        let prepared = prepared.with_costly_regions(&domain, self.params.costly_factor, backend);
        let known = PreparedLifted {
            field: field.id(),
            params: self.params,
            walls,
            coarse: self.coarse,
            amplitude,
            domain: on,
            prepared,
        };
        Ok((known, true))
    }

    /// The parameters of the solver. Few directions and large voxels go together: most of the error is theirs.
    fn solved_params(&self) -> Params {
        let directions = match self.coarse {
            true => COARSE_DIRECTIONS,
            false => self.params.directions,
        };
        Params {
            directions,
            ..self.params
        }
    }

    /// The distributions and the domain on the grid that is solved: unchanged if so few voxels would make no grid.
    fn on_grid(&self, field: &OdfField, mask: Mask, backend: &Backend) -> (OdfField, Mask) {
        let halved = || halved_distributions(field, &mask);
        let halved = self.coarse.then(|| backend.install(halved)).flatten();
        halved.unwrap_or_else(|| (field.clone(), mask))
    }
}
