//! Tracking streamlines from the regions, and in the whole brain.

use crate::compute::{Backend, Control};
use crate::data::{LineDrawing, Region, TensorField, Tractogram, Volume};
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker, memory_for_curves,
};
use crate::solvers::{curves, tracking, tractogram};
use crate::state::files::jobs::open::with_target_names;
use crate::state::job_end::ended;
use crate::state::tensors::types::BootstrapInput;
use crate::state::track::jobs::bootstrap::residuals;
use crate::state::track::jobs::drawing::{self, measured};
use crate::state::track::jobs::{LIVE, live_unfinished};
use crate::state::track::types::{CurveKey, CurveParams};
use crate::state::track::{kept_layers, update};
use crate::state::{Effect, State};
use std::fmt;
use std::sync::Arc;

pub const WHOLE_BRAIN: Slot = Slot::latest_wins("track");

/// Tracks from the regions; `fa` is sampled along the streamlines.
#[derive(Clone, Debug)]
pub struct TrackStreamlines {
    pub field: TensorField,
    pub fa: Volume,
    pub regions: Vec<Region>,
    pub params: curves::Params,
    /// The input of a bootstrap, if one is requested.
    pub resample: Option<Box<BootstrapInput>>,
    /// Fewer seeds: a drag is in progress.
    pub coarse: bool,
    /// How the window draws them, if it can draw them from a card.
    pub drawing: Option<LineDrawing>,
}

/// Tracks from the regions: the live result.
#[derive(Clone, Debug)]
pub struct LiveTracking<T = TrackStreamlines>(pub T);

/// Tracks the whole brain: a layer, not the live result of the regions.
#[derive(Clone, Debug)]
pub struct TrackWholeBrain<T = TrackStreamlines>(pub T);

/// Streamlines of either model.
pub trait Streamlines: Clone + fmt::Debug + Send + Sync + 'static {
    /// The key of the result.
    fn key(&self) -> CurveKey;

    /// How the window draws them, if it can draw them from a card.
    fn drawing(&self) -> Option<LineDrawing> {
        None
    }

    /// The streamlines, whose points may still be on a card.
    fn track(self, backend: &Backend, control: &Control) -> Result<curves::Output, JobError>;
}

impl Streamlines for TrackStreamlines {
    fn key(&self) -> CurveKey {
        CurveKey {
            field: self.field.id(),
            regions: self.regions.clone(),
            curves: CurveParams::Streamlines(self.params.clone()),
            tissues: None,
            coarse: self.coarse,
        }
    }

    fn drawing(&self) -> Option<LineDrawing> {
        self.drawing.clone()
    }

    fn track(self, backend: &Backend, control: &Control) -> Result<curves::Output, JobError> {
        let (field, regions, params) = (&self.field, &self.regions, &self.params);
        let memory = memory_for_curves();
        let mut output = match self.resample.filter(|_| params.repetitions.is_some()) {
            Some(scan) => {
                let residuals = residuals(&scan, memory, backend, control)?;
                let memory = memory_for_curves();
                tracking::track_bootstrap(
                    field, &residuals, regions, params, memory, backend, control,
                )?
            }
            None => tracking::track_within(field, regions, params, memory, backend, control)?,
        };
        output.explain_no_starts(field, regions, params, backend, control)?;
        let along = backend.install(|| tractogram::sampled(&self.fa, &output.kept));
        let kept = output.kept.with_per_point("fa", along);
        let kept = with_target_names(measured(kept, backend)?, regions);
        output.kept = kept.with_grid(field.grid.clone());
        Ok(output)
    }
}

/// Text for the status line.
const LABEL: &str = "Tracking";

impl<T: Streamlines> Job for LiveTracking<T> {
    type Output = Arc<curves::Output>;

    fn slot(&self) -> Slot {
        LIVE
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
        let drawing = self.0.drawing();
        let mut output = self.0.track(&worker.backend(), control)?;
        let on_card = !output.kept.points.is_on_host();
        if let Some(drawing) = drawing.filter(|_| on_card) {
            drawing::for_window(&mut output.kept, &drawing, worker)?;
            drawing::for_window(&mut output.missed, &drawing::SHAPE, worker)?;
        }
        if output.kept.drawn.is_none() {
            worker.backend().install(|| output.on_host())?;
        }
        Ok(Arc::new(output))
    }

    fn curves(output: &Self::Output) -> Vec<&Tractogram> {
        vec![&output.kept, &output.missed]
    }
}

impl<T: Streamlines> Receive<State> for LiveTracking<T> {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, output, ms, _| {
            update::live_done(state, output, self.0.key(), ms);
        });
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        live_unfinished(end, state)
    }
}

impl<T: Streamlines> Job for TrackWholeBrain<T> {
    type Output = Arc<curves::Output>;

    fn slot(&self) -> Slot {
        WHOLE_BRAIN
    }

    fn label(&self) -> String {
        LABEL.to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        partial: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let output = LiveTracking(self.0).run(worker, control, partial)?;
        worker.backend().install(|| output.on_host())?;
        Ok(output)
    }

    fn curves(output: &Self::Output) -> Vec<&Tractogram> {
        LiveTracking::<T>::curves(output)
    }
}

impl<T: Streamlines> Receive<State> for TrackWholeBrain<T> {
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
            |state, output, wall_ms, _| {
                kept_layers::whole_brain_done(state, output, &self.0.key(), wall_ms);
            },
        );
    }
}
