//! Repetitions of the live pathway, batch by batch, and their distances from a mask.

use super::RepeatedScan;
use super::repetitions::{PATHWAY_NOISE, equal_paths_text, near, paths_of, repeated_paths};
use crate::compute::Control;
use crate::data::{Mask, Tractogram, Volume};
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker, wait,
};
use crate::solvers::pathway::{Range90, Repetitions};
use crate::state::job_end::ended;
use crate::state::pathways::{
    DistancesAround, Level, NoiseDistanceKey, NoiseDistances, PathwayNoiseKey, PathwayResult,
    update,
};
use crate::state::{Effect, State};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Distances of the repetitions from a mask.
pub const PATHWAY_NOISE_DISTANCES: Slot = Slot::latest_wins("pathway-noise-distances");

/// Time that a batch takes, so that other work waits for no longer than that.
const BATCH_MS: f64 = 500.0;
/// Largest number of rounds in a batch, in each of which the backend is busy.
const MAX_ROUNDS: usize = 25;

/// More repetitions of a pathway.
#[derive(Clone, Debug)]
pub struct GrowRepetitions {
    pub pathway: Arc<PathwayResult>,
    /// The key after this batch.
    pub key: PathwayNoiseKey,
    /// The scan behind its tensors or distributions.
    pub scan: RepeatedScan,
    /// Repetitions that these begin with, or whose residuals they use: those of the same pathway.
    pub known: Option<Arc<PathwayNoise>>,
    /// The job waits for this long first, since newer controls may replace it.
    pub rest: Duration,
}

/// Repetitions with the values to display.
#[derive(Clone, Debug)]
pub struct PathwayNoise {
    pub key: PathwayNoiseKey,
    pub repetitions: Repetitions,
    /// Share of the repetitions whose pathway contains each voxel.
    pub share: Volume,
    /// The cheapest path of each repetition that has one.
    pub paths: Tractogram,
    /// Repetitions whose path stays near the shown one.
    pub near: usize,
    pub levels: Vec<Level>,
    /// Range of E*; `None` if no repetition has a path.
    pub costs: Option<Range90>,
    /// The 90 % band of E* without noise.
    pub band: Option<[f64; 2]>,
    pub without_path: usize,
    /// About paths that are equal in several repetitions; `None` if all differ.
    pub equal_paths: Option<String>,
    /// Time that each repetition of the last batch took, all threads together.
    pub each_ms: f64,
    /// Number of repetitions in the next batch.
    pub next_batch: usize,
    pub pathway: Arc<PathwayResult>,
}

/// The number of repetitions in the next batch after `more` that took this long: as many as fit into [`BATCH_MS`], but
/// always so many that the backend is busy, since fewer take as long.
pub fn next_batch(at_once: usize, more: usize, wall_ms: f64) -> usize {
    let rounds = more.div_ceil(at_once).max(1);
    let round_ms = wall_ms / rounds as f64;
    at_once * ((BATCH_MS / round_ms.max(f64::MIN_POSITIVE)) as usize).clamp(1, MAX_ROUNDS)
}

impl Job for GrowRepetitions {
    type Output = Box<PathwayNoise>;

    fn slot(&self) -> Slot {
        PATHWAY_NOISE
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
        wait(self.rest, control)?;
        let backend = worker.backend();
        let pathway = &*self.pathway;
        let (epsilon, random_seed) = (self.key.epsilon, self.key.random_seed);
        let mut repetitions = match &self.known {
            Some(known) if self.key.extends(&known.key) => known.repetitions.clone(),
            Some(known) => known.repetitions.restarted(epsilon, random_seed),
            None => {
                let scan = &self.scan;
                scan.none_yet(pathway, epsilon, random_seed, &backend, control)?
            }
        };
        let (started, before) = (Instant::now(), repetitions.paths.len());
        repetitions.extend(self.key.repetitions, &backend, control)?;
        let more = repetitions.paths.len() - before;
        let wall_ms = started.elapsed().as_secs_f64() * 1e3;
        let at_once = repetitions.at_once(&backend);
        let near = near(&repetitions, pathway, &backend, control)?;
        let levels = Level::all(|share| repetitions.mask(share), None, &backend, control)?;
        let share = repetitions.share();
        let paths = paths_of(&repetitions);
        // Computed here to keep it off the interface thread.
        share.precompute_windows();
        paths.bounds();
        Ok(Box::new(PathwayNoise {
            key: self.key,
            share,
            paths,
            near,
            levels,
            costs: repetitions.costs(),
            band: repetitions.band(),
            without_path: repetitions.without_path(),
            equal_paths: equal_paths_text(&repetitions),
            each_ms: wall_ms / more.max(1) as f64,
            next_batch: next_batch(at_once, more, wall_ms),
            repetitions,
            pathway: self.pathway,
        }))
    }

    fn curves(noise: &Self::Output) -> Vec<&Tractogram> {
        vec![&noise.paths]
    }
}

impl Receive<State> for GrowRepetitions {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, noise, _, _| {
            update::noise::grown(state, *noise);
        });
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        update::noise::not_grown(state, &self.key, end.sentence());
        // The panel reports a failure; the end of a batch that is no longer needed is no news.
        !matches!(end, Unfinished::DeviceFailed(_))
    }
}

/// Measures how far a mask lies from the paths and pathways of repetitions.
#[derive(Clone, Debug)]
pub struct MeasurePathwayNoise {
    pub noise: Arc<PathwayNoise>,
    pub mask: Mask,
    /// Distances of the last measurement, if there was one.
    pub around: Option<DistancesAround>,
}

impl MeasurePathwayNoise {
    fn key(&self) -> NoiseDistanceKey {
        NoiseDistanceKey::new(&self.noise.share, &self.mask)
    }
}

impl Job for MeasurePathwayNoise {
    type Output = Box<NoiseDistances>;

    fn slot(&self) -> Slot {
        PATHWAY_NOISE_DISTANCES
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
        let backend = worker.backend();
        let PathwayNoise {
            repetitions,
            pathway,
            ..
        } = &*self.noise;
        let paths = repeated_paths(repetitions, pathway);
        let (mask, shown) = (&self.mask, paths.shown);
        let mut distances = NoiseDistances::measure(paths, Some(mask), &backend, control)?;
        distances.add_images(self.around.clone(), mask, shown, &backend, control)?;
        Ok(Box::new(distances))
    }
}

impl Receive<State> for MeasurePathwayNoise {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, distances, _, _| {
            update::noise::measured(state, self.key(), *distances);
        });
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        update::noise::not_measured(state, self.key(), end.sentence());
        !matches!(end, Unfinished::DeviceFailed(_))
    }
}
