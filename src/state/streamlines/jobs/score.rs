//! Scores of streamlines against bundles whose course is known.

use crate::compute::Control;
use crate::data::{Tractogram, Volume, VolumeKind};
use crate::io::truth::{BundleFiles, TruthFiles};
use crate::io::{self, Opened};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::score::{Scores, TrueBundle, Truth, score};
use crate::state::job_end::ended;
use crate::state::streamlines::jobs::CountedStreamlines;
use crate::state::{Effect, State};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub const SCORE: Slot = Slot::latest_wins("score");

/// Scores a tractogram.
#[derive(Clone, Debug)]
pub struct ScoreStreamlines {
    pub tractogram: Tractogram,
    pub truth: Arc<Truth>,
}

impl Job for ScoreStreamlines {
    type Output = Arc<Scores>;

    fn slot(&self) -> Slot {
        SCORE
    }

    fn label(&self) -> String {
        "Scores of streamlines".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let scores = score(&self.tractogram, &self.truth, &worker.backend(), control)?;
        Ok(Arc::new(scores))
    }
}

impl Receive<State> for ScoreStreamlines {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        // Only the command line requests this.
        ended(state, self, delivery, effects, |_, _, _, _| {});
    }
}

/// Reads a truth, and scores streamlines of a layer against it.
#[derive(Clone, Debug)]
pub struct ScoreAgainst {
    pub among: CountedStreamlines,
    /// Folder with `truth.json`.
    pub truth: PathBuf,
}

impl Job for ScoreAgainst {
    type Output = Arc<Scores>;

    fn slot(&self) -> Slot {
        SCORE
    }

    fn label(&self) -> String {
        "Scores of streamlines".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let truth = read(&io::truth::read(&self.truth)?, control)?;
        let CountedStreamlines { tractogram, marks } = self.among;
        let tractogram = match &marks {
            Some(marks) => tractogram.filtered(marks),
            None => tractogram,
        };
        let scores = score(&tractogram, &truth, &worker.backend(), control)?;
        Ok(Arc::new(scores))
    }
}

impl Receive<State> for ScoreAgainst {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, scores, _, _| {
            state.runtime.streamlines.scores.finish(scores);
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        state.runtime.streamlines.scores.fail();
        false
    }
}

/// The files of a truth.
fn read(files: &TruthFiles, control: &Control) -> Result<Truth, JobError> {
    let regions = labels(&files.ends, control)?;
    let bundle = |bundle: &BundleFiles| -> Result<TrueBundle, JobError> {
        Ok(TrueBundle {
            name: bundle.name.clone(),
            ends: [bundle.start, bundle.end],
            fibres: fibres(&bundle.fibres, control)?,
            corridor: io::mask(&bundle.corridor, &regions.grid)?.0,
        })
    };
    let bundles: Result<Vec<TrueBundle>, JobError> = files.bundles.iter().map(bundle).collect();
    Ok(Truth {
        bundles: bundles?,
        regions,
    })
}

fn labels(path: &Path, control: &Control) -> Result<Volume, JobError> {
    match io::open(path, control)? {
        Opened::Volume(volume, _) if volume.kind != VolumeKind::Rgb => Ok(volume),
        Opened::Volume(..) => Err(unsuitable("a colour image", "labels of end regions", path)),
        Opened::Tractogram(..) => Err(unsuitable("streamlines", "labels of end regions", path)),
    }
}

fn fibres(path: &Path, control: &Control) -> Result<Tractogram, JobError> {
    match io::open(path, control)? {
        Opened::Tractogram(fibres, _) => Ok(fibres),
        Opened::Volume(..) => Err(unsuitable("an image", "the true fibres of a bundle", path)),
    }
}

fn unsuitable(found: &str, expected: &str, path: &Path) -> JobError {
    let sentence = format!(
        "Found {found}, expected {expected}; name another file in truth.json: {}",
        path.display()
    );
    JobError::Sentence(sentence.into())
}
