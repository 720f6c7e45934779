//! The noise of a pathway: repetitions with other signs of the residuals.

use crate::compute::Control;
use crate::data::{Gradients, Mask, Role, Volume};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Worker};
use crate::solvers::pathway::{Distances, MaskDistance, RepetitionParams, Repetitions, Scan};
use crate::solvers::tensor_fit;
use crate::state::job_end::ended;
use crate::state::pathways::PathwayResult;
use crate::state::{Effect, State};
use std::sync::Arc;
use std::time::Instant;

/// Repetitions of a pathway.
pub const REPETITIONS: Slot = Slot::latest_wins("repetitions");

const ONLY_TENSORS: &str = "Only a pathway through tensors has repetitions";

/// A pathway to be repeated.
#[derive(Clone, Debug)]
pub struct RepeatPathway {
    pub pathway: Arc<PathwayResult>,
    pub epsilon: f64,
    /// The scan to which its tensors were fitted.
    pub dwi: Volume,
    pub gradients: Arc<Gradients>,
    pub fit: tensor_fit::Params,
    pub params: RepetitionParams,
    /// The mask whose distance from the paths is requested.
    pub distance_to: Option<Mask>,
}

#[derive(Clone, Debug)]
pub struct RepeatedPathway {
    pub repetitions: Repetitions,
    /// Repetitions whose path stays near the shown one.
    pub near: usize,
    pub distances: Option<Distances>,
    pub wall_ms: f64,
}

impl Job for RepeatPathway {
    type Output = Box<RepeatedPathway>;

    fn slot(&self) -> Slot {
        REPETITIONS
    }

    fn label(&self) -> String {
        "Repeating the pathway".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let started = Instant::now();
        let backend = worker.backend();
        let pathway = &*self.pathway;
        let costs = pathway.pathway.tensors();
        let Some((costs, params)) = costs.zip(pathway.key.params.tensors()) else {
            return Err(JobError::Sentence(ONLY_TENSORS.into()));
        };
        let scan = Scan {
            dwi: &self.dwi,
            gradients: &self.gradients,
            fit: &self.fit,
        };
        let repetitions = Repetitions::solve(
            costs,
            scan,
            (&params.metric, params.tolerance, self.epsilon),
            &self.params,
            &backend,
            control,
            |_| (),
        )?;
        let ends = pathway.key.regions.iter();
        let ends = ends.filter(|r| matches!(r.role, Role::Seed | Role::Target));
        let ends: Vec<_> = ends.collect();
        let near = repetitions.near(&pathway.path, |at| {
            ends.iter().any(|r| r.shape.contains(at))
        });
        let distance = self.distance_to.as_ref().and_then(MaskDistance::new);
        let distances = distance
            .map(|distance| Distances::new(&repetitions, &pathway.path, &distance, &backend));
        Ok(Box::new(RepeatedPathway {
            repetitions,
            near,
            distances,
            wall_ms: started.elapsed().as_secs_f64() * 1e3,
        }))
    }
}

impl Receive<State> for RepeatPathway {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        // Only the command line asks for it.
        ended(state, self, delivery, effects, |_, _, _, _| {});
    }
}
