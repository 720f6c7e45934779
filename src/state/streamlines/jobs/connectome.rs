//! Connections of the labels of a map.

use crate::compute::Control;
use crate::data::Volume;
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::connectivity::{self, Connectome, connectome};
use crate::solvers::region::numbers;
use crate::state::job_end::ended;
use crate::state::streamlines::LabelledConnectome;
use crate::state::streamlines::jobs::CountedStreamlines;
use crate::state::streamlines::jobs::table::Measure;
use crate::state::streamlines::update::follow;
use crate::state::{Effect, State};
use std::sync::Arc;

pub const CONNECT: Slot = Slot::latest_wins("connect");

/// Counts the streamlines that connect labels.
#[derive(Clone, Debug)]
pub struct ComputeConnectome {
    pub among: CountedStreamlines,
    pub labels: Volume,
    pub frame: usize,
    pub params: connectivity::Params,
    pub value: Option<Measure>,
}

impl Job for ComputeConnectome {
    type Output = Arc<Connectome>;

    fn slot(&self) -> Slot {
        CONNECT
    }

    fn label(&self) -> String {
        "Connections of labels".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let backend = worker.backend();
        let (labels, frame) = (&self.labels, self.frame);
        let known = backend.install(|| numbers(labels, frame, control))?;
        let tractogram = &self.among.tractogram;
        let value = self.value.map(|v| v.values(tractogram, &backend, control));
        let value = value.transpose()?;
        let computed = connectome(
            tractogram,
            self.among.marks.as_deref(),
            (labels, frame, &known),
            &self.params,
            value.as_deref(),
            &backend,
            control,
        )?;
        Ok(Arc::new(computed))
    }
}

impl Receive<State> for ComputeConnectome {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, connectome, _, _| {
            let names = follow::node_names(state, &connectome);
            let labelled = LabelledConnectome { connectome, names };
            state.runtime.streamlines.connect.finish(labelled);
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        state.runtime.streamlines.connect.fail();
        false
    }
}
