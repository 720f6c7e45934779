//! Scores of streamlines against bundles whose course is known.

use crate::compute::Control;
use crate::data::{Grid, Sentence, Tractogram, Volume, VolumeKind};
use crate::io::truth::TruthFiles;
use crate::io::{self, Opened, Remark};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker};
use crate::solvers::score::{Scores, TrueBundle, Truth, score};
use crate::state::core::notices::{Severity, Topic};
use crate::state::job_end::ended;
use crate::state::streamlines::jobs::CountedStreamlines;
use crate::state::{Effect, State};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub const SCORE: Slot = Slot::latest_wins("score");

/// Reads a truth, and scores streamlines against it.
#[derive(Clone, Debug)]
pub struct ScoreStreamlines {
    pub among: CountedStreamlines,
    pub truth: TruthSource,
}

/// A truth that is still to be read.
#[derive(Clone, Debug)]
pub enum TruthSource {
    /// The folder with `truth.json`.
    Folder(PathBuf),
    /// The files that it names.
    Files(TruthFiles),
}

/// Scores, and the truth that they are about.
#[derive(Clone, Debug)]
pub struct Scored {
    pub scores: Arc<Scores>,
    /// The grid of the end regions.
    pub grid: Arc<Grid>,
    /// Remarks about the files of the truth.
    pub remarks: Vec<(PathBuf, Remark)>,
}

impl Job for ScoreStreamlines {
    type Output = Scored;

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
        let files = match self.truth {
            TruthSource::Folder(folder) => io::truth::read(&folder)?,
            TruthSource::Files(files) => files,
        };
        let mut reader = TruthReader {
            control,
            remarks: Vec::new(),
        };
        let truth = reader.read(&files)?;
        let CountedStreamlines { tractogram, marks } = self.among;
        let tractogram = match &marks {
            Some(marks) => tractogram.filtered(marks),
            None => tractogram,
        };
        let scores = score(&tractogram, &truth, &worker.backend(), control)?;
        Ok(Scored {
            scores: Arc::new(scores),
            grid: truth.regions.grid.clone(),
            remarks: reader.remarks,
        })
    }
}

impl Receive<State> for ScoreStreamlines {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, scored, _, _| {
            // Live streamlines are scored again and again: a remark that was dismissed does not return.
            if state.runtime.streamlines.truth_remarks != scored.remarks {
                state.runtime.forget(Topic::Truth);
                for (path, remark) in &scored.remarks {
                    let text = format!("{remark}: {}", path.display());
                    let severity = Severity::from(remark);
                    state.runtime.notify_about(Topic::Truth, severity, text);
                }
                state.runtime.streamlines.truth_remarks = scored.remarks;
            }
            state.runtime.streamlines.scores.finish(scored.scores);
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        state.runtime.streamlines.scores.fail();
        false
    }
}

/// Reads the files of a truth and collects the remarks about them.
struct TruthReader<'a> {
    control: &'a Control,
    remarks: Vec<(PathBuf, Remark)>,
}

impl TruthReader<'_> {
    fn read(&mut self, files: &TruthFiles) -> Result<Truth, JobError> {
        let regions = self.labels(&files.ends)?;
        let mut bundles = Vec::with_capacity(files.bundles.len());
        for bundle in &files.bundles {
            let fibres = self.fibres(&bundle.fibres)?;
            let (corridor, remarks) = io::mask(&bundle.corridor, &regions.grid)?;
            self.remark(&bundle.corridor, remarks);
            bundles.push(TrueBundle {
                name: bundle.name.clone(),
                ends: [bundle.start, bundle.end],
                fibres,
                corridor,
            });
        }
        Ok(Truth { bundles, regions })
    }

    fn labels(&mut self, path: &Path) -> Result<Volume, JobError> {
        let expected = "labels of end regions in one volume";
        match self.open(path)? {
            Opened::Volume(volume, _) if volume.kind == VolumeKind::Rgb => {
                Err(unsuitable("a colour image", expected, path))
            }
            Opened::Volume(volume, _) if volume.frames > 1 => {
                let found = format!("{} volumes", volume.frames);
                Err(unsuitable(&found, expected, path))
            }
            Opened::Volume(volume, _) => Ok(volume),
            Opened::Tractogram(..) => Err(unsuitable("streamlines", expected, path)),
        }
    }

    fn fibres(&mut self, path: &Path) -> Result<Tractogram, JobError> {
        match self.open(path)? {
            Opened::Tractogram(fibres, _) => Ok(fibres),
            Opened::Volume(..) => Err(unsuitable("an image", "the true fibres of a bundle", path)),
        }
    }

    fn open(&mut self, path: &Path) -> Result<Opened, JobError> {
        let opened = io::open(path, self.control)?;
        self.remark(path, opened.remarks());
        Ok(opened)
    }

    fn remark(&mut self, path: &Path, remarks: Vec<Remark>) {
        let remarks = remarks.into_iter();
        self.remarks.extend(remarks.map(|r| (path.to_owned(), r)));
    }
}

/// A file of a truth with other contents than expected.
#[derive(Clone, PartialEq, Debug)]
struct UnsuitableFile {
    found: String,
    expected: &'static str,
    path: PathBuf,
}

impl fmt::Display for UnsuitableFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            found,
            expected,
            path,
        } = self;
        write!(
            f,
            "Found {found}, expected {expected}; name another file in truth.json: {}",
            path.display()
        )
    }
}

impl std::error::Error for UnsuitableFile {}

impl From<UnsuitableFile> for JobError {
    fn from(error: UnsuitableFile) -> Self {
        Self::Sentence(Sentence::new(&error))
    }
}

fn unsuitable(found: &str, expected: &'static str, path: &Path) -> JobError {
    UnsuitableFile {
        found: found.to_owned(),
        expected,
        path: path.to_owned(),
    }
    .into()
}
