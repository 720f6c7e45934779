//! Streamlines kept by rules.

use crate::compute::Control;
use crate::data::Tractogram;
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker, memory_for_curves,
};
use crate::solvers::Error;
use crate::solvers::tractogram::selection::{Selection, SelectionRules, copy_marked, select};
use crate::state::core::live::Detail;
use crate::state::job_end::ended;
use crate::state::streamlines::SelectionKey;
use crate::state::streamlines::update::follow;
use crate::state::{Effect, LayerId, State};

pub const SELECT: Slot = Slot::latest_wins("select");

#[derive(Clone, Debug)]
pub struct FilteredStreamlines {
    pub selection: Selection,
    pub shown: Tractogram,
    /// The thinning factor of the shown streamlines.
    pub every: usize,
}

/// Largest number of streamlines that a coarse result has for display.
const MAX_COARSE: usize = 10_000;

/// The filter of one layer does not replace that of another.
pub fn slot(layer: LayerId) -> Slot {
    SELECT.instance(layer.0 as u32)
}

/// Finds the streamlines of a layer that its rules keep; a coarse result has a thinned subset of them for display.
#[derive(Clone, Debug)]
pub struct FilterStreamlines {
    pub layer: LayerId,
    pub key: SelectionKey,
    pub detail: Detail,
    pub tractogram: Tractogram,
    pub rules: SelectionRules,
}

impl Job for FilterStreamlines {
    type Output = FilteredStreamlines;

    fn slot(&self) -> Slot {
        slot(self.layer)
    }

    fn label(&self) -> String {
        "Filtering streamlines".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let (tractogram, backend) = (&self.tractogram, worker.backend());
        let selection = select(tractogram, &self.rules, &backend, control)?;
        let max_shown = match self.detail {
            Detail::Coarse => MAX_COARSE,
            Detail::Full => usize::MAX,
        };
        let (shown, every) = thinned(tractogram, &selection.marks, max_shown)?;
        // Copied and computed here, off the interface thread.
        backend.install(|| shown.on_host().map_err(Error::from))?;
        shown.bounds();
        Ok(FilteredStreamlines {
            selection,
            shown,
            every,
        })
    }

    fn curves(output: &Self::Output) -> Vec<&Tractogram> {
        vec![&output.shown]
    }
}

impl Receive<State> for FilterStreamlines {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, filtered, _, _| {
            follow::receive_selection(state, self, filtered);
        });
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        let Some(live) = state.runtime.streamlines.selections.get_mut(&self.layer) else {
            return false;
        };
        if live.is_running(&self.key, self.detail) {
            live.halt(None, end.sentence());
            return false;
        }
        // A newer one replaced it.
        matches!(end, Unfinished::Cancelled)
    }
}

/// The marked streamlines, thinned to about `max_shown`, and the thinning factor.
fn thinned(
    tractogram: &Tractogram,
    marks: &[bool],
    max_shown: usize,
) -> Result<(Tractogram, usize), JobError> {
    let kept = marks.iter().filter(|m| **m).count();
    let every = kept.div_ceil(max_shown.max(1)).max(1);
    if every == 1 {
        let all = kept == tractogram.len();
        let shown = if all {
            tractogram.clone()
        } else {
            copy_marked(tractogram, marks, memory_for_curves())?
        };
        return Ok((shown, 1));
    }
    Ok((tractogram.filtered(&thinned_marks(marks, every)), every))
}

/// Every `every`th of the marks.
pub(super) fn thinned_marks(marks: &[bool], every: usize) -> Vec<bool> {
    let mut nth = 0;
    let thinned = marks.iter().map(|m| {
        nth += usize::from(*m);
        *m && (every == 1 || nth % every == 1)
    });
    thinned.collect()
}
