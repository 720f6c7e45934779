//! Picking streamlines at the pointer, and extracting selected ones.

use crate::compute::Control;
use crate::data::Tractogram;
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker, memory_for_curves,
};
use crate::solvers::tractogram::pick;
use crate::solvers::tractogram::selection::copy_marked;
use crate::state::job_end::ended;
use crate::state::streamlines::jobs::CountedStreamlines;
use crate::state::streamlines::update::select_manually;
use crate::state::{Effect, State};
use std::sync::Arc;

pub const PICK: Slot = Slot::latest_wins("pick");
pub const EXTRACT: Slot = Slot::latest_wins("extract");

/// Searches for streamlines on the screen.
#[derive(Clone, Debug)]
pub struct PickStreamlines {
    pub among: CountedStreamlines,
    /// The limits that hide some of them.
    pub visible: Option<VisibleValues>,
    pub screen: pick::Screen,
    pub target: pick::PickQuery,
}

/// The values that hide parts of streamlines.
#[derive(Clone, Debug)]
pub struct VisibleValues {
    /// The streamlines as they are drawn, in the order of the marked ones.
    pub drawn: Tractogram,
    pub name: String,
    pub limits: (f32, f32),
}

impl VisibleValues {
    /// Marks of the streamlines that show at least a part of themselves.
    fn marks(&self, among: &CountedStreamlines) -> Vec<bool> {
        let (low, high) = self.limits;
        let is_within = |v: &f32| low <= *v && *v <= high;
        let drawn = &self.drawn;
        let is_visible = |line: usize| match drawn.per_point.get(&self.name) {
            Some(values) => {
                let own = drawn.offsets[line] as usize..drawn.offsets[line + 1] as usize;
                values[own].iter().any(is_within)
            }
            None => {
                let values = drawn.per_streamline.get(&self.name);
                values.is_none_or(|values| is_within(&values[line]))
            }
        };
        let mut drawn_lines = 0..drawn.len();
        let marked = |line: usize| among.marks.as_ref().is_none_or(|marks| marks[line]);
        let all = 0..among.tractogram.len();
        all.map(|line| marked(line) && drawn_lines.next().is_some_and(is_visible))
            .collect()
    }
}

impl Job for PickStreamlines {
    type Output = Vec<u32>;

    fn slot(&self) -> Slot {
        PICK
    }

    fn label(&self) -> String {
        "Looking for streamlines".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let tractogram = &self.among.tractogram;
        let seen = self.visible.as_ref().map(|v| v.marks(&self.among));
        let marks = seen.as_deref().or(self.among.marks.as_deref());
        let backend = worker.backend();
        Ok(pick::pick(
            tractogram,
            marks,
            &self.screen,
            &self.target,
            &backend,
            control,
        )?)
    }
}

impl Receive<State> for PickStreamlines {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, lines, _, _| {
            select_manually::picked(state, &lines)
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        state.runtime.streamlines.pending_pick = None;
        false
    }
}

/// Copies some streamlines, to be drawn.
#[derive(Clone, Debug)]
pub struct ExtractStreamlines {
    pub tractogram: Tractogram,
    pub marks: Arc<[bool]>,
}

impl Job for ExtractStreamlines {
    type Output = Tractogram;

    fn slot(&self) -> Slot {
        EXTRACT
    }

    fn label(&self) -> String {
        "Showing chosen streamlines".to_owned()
    }

    fn run(
        self,
        _: &Worker,
        _: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let some = match self.marks.iter().all(|m| *m) {
            // They are already on the graphics card.
            true => self.tractogram,
            false => copy_marked(
                &self.tractogram.without_values(),
                &self.marks,
                memory_for_curves(),
            )?,
        };
        some.bounds();
        Ok(some)
    }

    fn curves(output: &Self::Output) -> Vec<&Tractogram> {
        vec![output]
    }
}

impl Receive<State> for ExtractStreamlines {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, some, _, _| {
            state.runtime.streamlines.extract.finish(some);
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        state.runtime.streamlines.extract.fail();
        false
    }
}
