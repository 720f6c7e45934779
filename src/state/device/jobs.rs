//! Finding and opening graphics cards.

use crate::compute::{BackendKind, Control, cuda, kernels};
use crate::jobs::{BackendOpened, Delivery, Job, JobError, PartialSender, Receive, Slot, Worker};
use crate::state::job_end::ended;
use crate::state::{Effect, State, device};
use std::sync::Arc;

/// Finding and opening graphics cards.
pub const DEVICE: Slot = Slot::queue("device").beyond_document().keeping_result();

/// Names in the driver's order, or why there are none.
pub type Cards = Result<Arc<[String]>, cuda::Error>;

/// Looks for all graphics cards.
#[derive(Clone, Debug)]
pub struct FindCards;

impl Job for FindCards {
    type Output = Cards;

    fn slot(&self) -> Slot {
        DEVICE
    }

    fn label(&self) -> String {
        "Looking for graphics cards".to_owned()
    }

    fn run(self, _: &Worker, _: &Control, _: &PartialSender<Cards>) -> Result<Cards, JobError> {
        Ok(cuda::names().map(Into::into))
    }
}

impl Receive<State> for FindCards {
    fn receive(&self, delivery: Delivery<Cards>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(state, self, delivery, effects, |state, cards, _, _| {
            state.runtime.device.cards = Some(cards);
        });
    }
}

/// Opens a backend for all jobs that start later.
#[derive(Clone, Debug)]
pub struct UseBackend {
    pub kind: BackendKind,
}

impl Job for UseBackend {
    type Output = BackendOpened;

    fn slot(&self) -> Slot {
        DEVICE
    }

    fn label(&self) -> String {
        format!("Opening backend {}", self.kind)
    }

    fn run(
        self,
        worker: &Worker,
        _: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        Ok(worker.change(self.kind)?)
    }
}

impl Receive<State> for UseBackend {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(
            state,
            self,
            delivery,
            effects,
            |state, opened, _, effects| {
                device::update::opened(state, opened, effects);
            },
        );
    }
}

/// Loads all kernels on every card in use before the first of them is needed.
#[derive(Clone, Debug)]
pub struct LoadKernels;

impl Job for LoadKernels {
    type Output = ();

    fn slot(&self) -> Slot {
        DEVICE
    }

    fn label(&self) -> String {
        "Loading kernels".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<()>,
    ) -> Result<(), JobError> {
        let backend = worker.backend();
        for file in kernels::ALL {
            for device in backend.devices() {
                if control.is_cancelled() {
                    return Ok(());
                }
                device.load(*file).map_err(JobError::Device)?;
            }
        }
        Ok(())
    }
}

impl Receive<State> for LoadKernels {
    fn receive(&self, delivery: Delivery<()>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(state, self, delivery, effects, |_, (), _, _| {});
    }
}
