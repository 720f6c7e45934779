//! Agreement of a pathway with streamlines.

use crate::compute::Control;
use crate::data::Mask;
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Worker};
use crate::solvers::compare::{PathwayAgreement, agreement};
use crate::state::job_end::ended;
use crate::state::pathways::PathwayResult;
use crate::state::streamlines::jobs::CountedStreamlines;
use crate::state::streamlines::runtime::AgreementKey;
use crate::state::{Effect, State};
use std::sync::Arc;

pub const AGREEMENT: Slot = Slot::latest_wins("agreement");

/// Compares a pathway with streamlines.
#[derive(Clone, Debug)]
pub struct CompareStreamlines {
    pub pathway: ComparedMask,
    pub among: CountedStreamlines,
    /// The pathway and the streamlines of the result; `None` on the command line.
    pub key: Option<AgreementKey>,
}

/// The voxels of a pathway.
#[derive(Clone, Debug)]
pub enum ComparedMask {
    Mask(Mask),
    /// A pathway of this width.
    Pathway(Arc<PathwayResult>, f64),
}

impl Job for CompareStreamlines {
    type Output = PathwayAgreement;

    fn slot(&self) -> Slot {
        AGREEMENT
    }

    fn label(&self) -> String {
        "Comparing with streamlines".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<PathwayAgreement>,
    ) -> Result<PathwayAgreement, JobError> {
        let backend = worker.backend();
        let mask = match self.pathway {
            ComparedMask::Mask(mask) => mask,
            ComparedMask::Pathway(pathway, epsilon) => backend.install(|| pathway.mask(epsilon)),
        };
        let CountedStreamlines { tractogram, marks } = self.among;
        let tractogram = match &marks {
            Some(marks) => tractogram.filtered(marks),
            None => tractogram,
        };
        Ok(agreement(&mask, &tractogram, &backend, control)?)
    }
}

impl Receive<State> for CompareStreamlines {
    fn receive(
        &self,
        delivery: Delivery<PathwayAgreement>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, agreement, _, _| {
            let key = self.key.clone();
            state.runtime.streamlines.agreement = key.map(|key| (key, agreement));
        });
    }
}
