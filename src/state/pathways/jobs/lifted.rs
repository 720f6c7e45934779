//! Pathways through fibre orientation distributions, which know crossings.

use crate::compute::{Backend, Control};
use crate::data::{Mask, OdfField, Region, Role, Tractogram, Volume};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Worker};
use crate::solvers::Error;
use crate::solvers::lifted::{
    LiftedPathway, Params, Prepared, Source, UNREACHED, halved_distributions, largest_amplitudes,
    solve_both,
};
use crate::solvers::pathway::{Domain, Path};
use crate::state::job_end::ended;
use crate::state::pathways::jobs::find::separated;
use crate::state::pathways::{CostliestStretch, PathwayResult};
use crate::state::{Effect, State};
use std::sync::Arc;
use std::time::Instant;

/// Finding a pathway through distributions.
pub const LIFTED: Slot = Slot::latest_wins("lifted");

/// Costs are known up to this share above the least one, or as far as the pathway is wide.
const LEAST_EXCESS: f64 = 0.3;
/// Where the voxels of a pathway join its ends only from a greater excess on, costs are computed this much further.
const FARTHER: f64 = 3.0;
/// Beyond this excess no pathway is sought.
const GREATEST_EXCESS: f64 = 10.0;

/// Finds a pathway through distributions.
#[derive(Clone, Debug)]
pub struct FindLifted {
    pub field: OdfField,
    /// The participating regions.
    pub regions: Vec<Region>,
    pub params: Params,
    /// The width up to which costs are needed.
    pub epsilon: f64,
    /// On voxels of twice the size.
    pub coarse: bool,
}

/// A pathway through distributions.
#[derive(Clone, Debug)]
pub struct LiftedResult {
    pub pathway: LiftedPathway,
    /// u₁ and u₂, least over all directions: NaN where there is no path.
    pub sides: [Volume; 2],
    pub path: Path,
    pub curve: Tractogram,
    /// The costliest stretch per mm; `None` for a path that hardly leaves the regions.
    pub weakest: Option<CostliestStretch>,
    pub voxels: usize,
    /// States that a path reaches, from both ends.
    pub reached: usize,
    /// Costs are known up to this share above the least one.
    pub excess_limit: f64,
    pub prepare_ms: f64,
    pub solve_ms: f64,
}

impl Job for FindLifted {
    type Output = Box<LiftedResult>;

    fn slot(&self) -> Slot {
        LIFTED
    }

    fn label(&self) -> String {
        "Solving costs".to_owned()
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
        // Only the command line requests this.
        ended(state, self, delivery, effects, |_, _, _, _| {});
    }
}

impl FindLifted {
    fn solve(&self, backend: &Backend, control: &Control) -> Result<LiftedResult, Error> {
        self.params.check()?;
        let started = Instant::now();
        let directions = self.params.directions;
        let amplitude = largest_amplitudes(&self.field, directions, backend, control)?;
        let min_amplitude = self.params.min_amplitude;
        let domain = Domain::of_distributions(&amplitude, min_amplitude, &self.regions);
        let mask = backend.install(|| domain.mask())?;
        let (field, mask) = self.on_grid(mask, backend);
        let mut prepared = Prepared::new(&field, &mask, &self.params, backend, control)?;
        let factor = self.params.costly_factor;
        let costly = backend.install(|| domain.costly(&prepared.places));
        if let Some(is_costly) = costly.filter(|_| factor != 1.0) {
            prepared = prepared.costlier(|place| is_costly[place], factor);
        }
        let source = |role| {
            let (name, zero) = backend.install(|| domain.places(&prepared.places, role))?;
            let direction = None;
            Ok::<_, Error>(Arc::new(Source {
                name,
                zero,
                direction,
            }))
        };
        let sources = [source(Role::Seed)?, source(Role::Target)?];
        let prepare_ms = started.elapsed().as_secs_f64() * 1e3;
        let started = Instant::now();
        let mut max_excess = self.epsilon.max(LEAST_EXCESS);
        let pathway = loop {
            let limit = max_excess as f32;
            let [a, b] = solve_both(&prepared, &sources, limit, UNREACHED, backend, control)?;
            let names = [0, 1].map(|i: usize| sources[i].name.as_str());
            let reaches = |place: &u32| a.least(*place as usize).is_finite();
            let is_reached = sources[1].zero.iter().any(reaches);
            let separated = (!is_reached)
                .then(|| separated(names, &self.regions))
                .flatten();
            let pathway = backend.install(|| LiftedPathway::new(a, b));
            let pathway = pathway.map_err(|error| separated.unwrap_or(error))?;
            if pathway.joining_epsilon.is_finite() || max_excess >= GREATEST_EXCESS {
                break pathway;
            }
            max_excess = (max_excess * FARTHER).min(GREATEST_EXCESS);
        };
        let solve_ms = started.elapsed().as_secs_f64() * 1e3;
        control.check()?;
        let nowhere = || Error::Input("No path leads through the voxel of least cost".into());
        let path = pathway.minimal_path().ok_or_else(nowhere)?;
        let sides = [0, 1].map(|i: usize| backend.install(|| pathway.fields[i].image()));
        let places = &prepared.places;
        Ok(LiftedResult {
            sides,
            curve: PathwayResult::line_of(&path, places),
            weakest: CostliestStretch::find(&path, places, &self.regions),
            path,
            voxels: places.len(),
            reached: pathway.fields.iter().map(|f| f.reached()).sum(),
            excess_limit: max_excess,
            prepare_ms,
            solve_ms,
            pathway,
        })
    }

    /// The distributions and the domain on the grid that is solved: unchanged if so few voxels would make no grid.
    fn on_grid(&self, mask: Mask, backend: &Backend) -> (OdfField, Mask) {
        let halved = || halved_distributions(&self.field, &mask);
        let halved = self.coarse.then(|| backend.install(halved)).flatten();
        halved.unwrap_or_else(|| (self.field.clone(), mask))
    }
}
