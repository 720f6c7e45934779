//! Share and centre lines of the repetitions of streamlines, and their distances from a mask.

use crate::compute::Control;
use crate::data::text::counted;
use crate::data::tractogram::REPETITION;
use crate::data::{Grid, Mask, Tractogram, Volume};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::pathway::{Path, Range90};
use crate::solvers::tractogram::repetitions::RepeatedStreamlines;
use crate::state::job_end::ended;
use crate::state::pathways::jobs::RepeatedCurves;
use crate::state::pathways::{DistancesAround, Level, NoiseDistanceKey, NoiseDistances};
use crate::state::track_noise::{TrackNoiseKey, update};
use crate::state::{Effect, State};
use std::sync::Arc;

/// Share and centre lines of the repetitions of the live streamlines.
pub const TRACK_NOISE: Slot = Slot::latest_wins("track-noise");
/// Distances of their centre lines from a mask.
pub const TRACK_NOISE_DISTANCES: Slot = Slot::latest_wins("track-noise-distances");

/// Compares the repetitions of a bootstrap of streamlines.
#[derive(Clone, Debug)]
pub struct CompareRepetitions {
    /// The streamlines of all repetitions.
    pub kept: Tractogram,
    pub repetitions: usize,
    /// The voxels whose shares are counted: those of the tensors or the distributions.
    pub grid: Arc<Grid>,
}

/// Repetitions of streamlines with the values to display.
#[derive(Clone, Debug)]
pub struct TrackNoise {
    pub key: TrackNoiseKey,
    pub repeated: RepeatedStreamlines,
    /// Share of the repetitions with a streamline through each voxel.
    pub share: Volume,
    /// The centre line of each repetition that has one.
    pub centre_lines: Tractogram,
    /// Courses of the centre lines.
    pub paths: Vec<Path>,
    /// The middle one of these lines; `None` if there is none.
    pub middle: Option<usize>,
    pub levels: Vec<Level>,
    /// Range of the distance of the centre lines from the middle one, mm.
    pub offsets_mm: Option<Range90>,
}

impl TrackNoise {
    /// The middle one of the centre lines.
    pub fn middle_line(&self) -> Option<&Path> {
        self.paths.get(self.middle?)
    }

    /// `3 of 40 repetitions have no streamline`, and what that means; `None` if all have one.
    pub fn without_text(&self) -> Option<String> {
        let some = self.repeated.without_streamlines();
        let all = counted(self.key.repetitions, "repetition");
        (some > 0).then(|| format!("{some} of {all} have no streamline: they pass no voxel"))
    }
}

impl CompareRepetitions {
    fn key(&self) -> TrackNoiseKey {
        TrackNoiseKey {
            kept: self.kept.id(),
            repetitions: self.repetitions,
        }
    }
}

/// The centre lines, with the numbers of their repetitions.
fn centre_lines(kept: &Tractogram, repeated: &RepeatedStreamlines) -> Tractogram {
    let centres = repeated.centres.iter().enumerate();
    let centres: Vec<(usize, usize)> = centres
        .filter_map(|(repetition, line)| Some((repetition, (*line)?)))
        .collect();
    let lines = centres.iter().map(|(_, line)| kept.streamline(*line));
    let numbers = centres.iter().map(|(repetition, _)| *repetition as f32);
    let numbers: Vec<f32> = numbers.collect();
    Tractogram::of_curves(lines.map(|line| line.iter().copied()))
        .with_per_streamline(REPETITION, numbers)
        .with_grid(repeated.grid.clone())
}

impl Job for CompareRepetitions {
    type Output = Box<TrackNoise>;

    fn slot(&self) -> Slot {
        TRACK_NOISE
    }

    fn label(&self) -> String {
        "Comparing the repetitions".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let backend = worker.backend();
        let (kept, repetitions) = (&self.kept, self.repetitions);
        let repeated = RepeatedStreamlines::new(kept, repetitions, &self.grid, &backend, control)?;
        let levels = Level::all(|share| repeated.mask(share), None, &backend, control)?;
        let share = repeated.share();
        let centre_lines = centre_lines(kept, &repeated);
        let mut centres = repeated.centres.iter().flatten();
        let middle = repeated.middle;
        // Computed here to keep it off the interface thread.
        share.precompute_windows();
        centre_lines.bounds();
        Ok(Box::new(TrackNoise {
            key: self.key(),
            share,
            paths: centre_lines
                .streamlines()
                .map(Path::of_streamline)
                .collect(),
            middle: middle.and_then(|line| centres.position(|centre| *centre == line)),
            levels,
            offsets_mm: Range90::of_values(repeated.offsets_mm.clone()),
            centre_lines,
            repeated,
        }))
    }

    fn curves(noise: &Self::Output) -> Vec<&Tractogram> {
        vec![&noise.centre_lines]
    }
}

impl Receive<State> for CompareRepetitions {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, noise, _, _| {
            update::compared(state, *noise);
        });
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        update::not_compared(state, self.key(), end.sentence());
        // The panel reports a failure; the end of a job that is no longer needed is no news.
        !matches!(end, Unfinished::DeviceFailed(_))
    }
}

/// Measures how far a mask lies from the centre lines and the voxels of repetitions.
#[derive(Clone, Debug)]
pub struct MeasureTrackNoise {
    pub noise: Arc<TrackNoise>,
    pub mask: Mask,
    /// Images for the views, and the distances around the mask of the last measurement, if there was one; `None` at the
    /// command line, which draws nothing.
    pub images: Option<Option<DistancesAround>>,
}

impl MeasureTrackNoise {
    fn key(&self) -> NoiseDistanceKey {
        NoiseDistanceKey::new(&self.noise.share, &self.mask)
    }
}

impl Job for MeasureTrackNoise {
    type Output = Box<NoiseDistances>;

    fn slot(&self) -> Slot {
        TRACK_NOISE_DISTANCES
    }

    fn label(&self) -> String {
        "Measuring distances".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let (backend, noise) = (worker.backend(), &*self.noise);
        let shown = noise.middle_line();
        let centre_lines = RepeatedCurves {
            repetitions: noise.key.repetitions,
            voxels: |share| noise.repeated.mask(share),
            curves: noise.paths.iter().collect(),
            shown,
        };
        let mask = &self.mask;
        let mut distances = NoiseDistances::measure(centre_lines, Some(mask), &backend, control)?;
        if let Some(known) = self.images.clone() {
            distances.add_images(known, mask, shown, &backend, control)?;
        }
        Ok(Box::new(distances))
    }
}

impl Receive<State> for MeasureTrackNoise {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, distances, _, _| {
            update::measured(state, self.key(), *distances);
        });
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        update::not_measured(state, self.key(), end.sentence());
        !matches!(end, Unfinished::DeviceFailed(_))
    }
}
