//! The rows of the table of streamlines.

use crate::compute::{Backend, Control};
use crate::data::{Shared, Tractogram, Volume};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::tractogram::selection::{column, means};
use crate::state::job_end::ended;
use crate::state::{Effect, State};
use std::sync::Arc;

/// Values of streamlines.
pub const VALUES: Slot = Slot::latest_wins("values");
/// Sorting the rows.
pub const SORT: Slot = Slot::latest_wins("sort");

/// A value for each streamline.
#[derive(Clone, Debug)]
pub enum Measure {
    /// `length`, a value per streamline, or the mean of one per point.
    Value(String),
    /// The mean of an image's frame along it.
    Image(Volume, usize),
}

/// Computes values of each streamline.
#[derive(Clone, Debug)]
pub struct ComputeValues {
    pub tractogram: Tractogram,
    pub measures: Vec<Measure>,
}

impl Job for ComputeValues {
    /// In the order of the measures.
    type Output = Vec<Arc<[f32]>>;

    fn slot(&self) -> Slot {
        VALUES
    }

    fn label(&self) -> String {
        "Values of streamlines".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let backend = worker.backend();
        let values = |measure: &Measure| measure.values(&self.tractogram, &backend, control);
        self.measures.iter().map(values).collect()
    }
}

impl Receive<State> for ComputeValues {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, values, _, _| {
            let runtime = &mut state.runtime.streamlines;
            if let Some(keys) = runtime.columns.finish(()) {
                runtime.values.extend(keys.into_iter().zip(values));
            }
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        state.runtime.streamlines.columns.fail();
        false
    }
}

/// Sorts the rows of a table by values (NaN last), or leaves them in their order.
#[derive(Clone, Debug)]
pub struct SortRows {
    pub count: usize,
    pub among: Option<Arc<[bool]>>,
    pub values: Option<Shared<f32>>,
    pub descending: bool,
}

impl Job for SortRows {
    type Output = Arc<[u32]>;

    fn slot(&self) -> Slot {
        SORT
    }

    fn label(&self) -> String {
        "Sorting streamlines".to_owned()
    }

    fn run(
        self,
        _: &Worker,
        _: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        Ok(order(
            self.count,
            self.among.as_deref(),
            self.values.as_deref(),
            self.descending,
        ))
    }
}

impl Receive<State> for SortRows {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, order, _, _| {
            state.runtime.streamlines.order.finish(order);
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        state.runtime.streamlines.order.fail();
        false
    }
}

impl Measure {
    pub fn values(
        &self,
        tractogram: &Tractogram,
        backend: &Backend,
        control: &Control,
    ) -> Result<Arc<[f32]>, JobError> {
        Ok(match self {
            Self::Value(name) => column(tractogram, name, backend, control)?,
            Self::Image(volume, frame) => means(tractogram, volume, *frame, backend, control)?,
        }
        .into())
    }
}

fn order(
    count: usize,
    among: Option<&[bool]>,
    values: Option<&[f32]>,
    descending: bool,
) -> Arc<[u32]> {
    let shown = |i: &u32| among.is_none_or(|marks| marks[*i as usize]);
    let mut rows: Vec<u32> = (0..count as u32).filter(shown).collect();
    match values {
        None if descending => rows.reverse(),
        None => {}
        Some(values) => {
            // Equal values keep the order of the streamlines, so that sorting is repeatable.
            let key = |row: u32| values[row as usize];
            rows.sort_unstable_by(|a, b| {
                let (x, y) = (key(*a), key(*b));
                let by = match (x.is_nan(), y.is_nan()) {
                    (false, false) if descending => y.total_cmp(&x),
                    (false, false) => x.total_cmp(&y),
                    (x, y) => x.cmp(&y),
                };
                by.then(a.cmp(b))
            });
        }
    }
    rows.into()
}
