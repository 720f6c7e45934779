//! Work on streamlines that stay in their file: what the views draw of them, and what needs all of them, read in pieces.

use super::from_file::FileSummary;
use super::from_file::connectome::ConnectomeOfFile;
use super::from_file::describe::{DescribeStreamlines, StreamlineDescription};
use super::from_file::select::{KeptStreamlines, SaveSelected, SelectInFile, SelectedInFile};
use crate::compute::{Control, memory};
use crate::data::{DataId, Tractogram};
use crate::io::pieces::Pieces;
use crate::io::{InPlace, Sample, SampleLimits};
use crate::jobs::{
    Delivery, Job, JobError, Outcome, PartialSender, Receive, Slot, Unfinished, ValueNames, Worker,
};
use crate::solvers::connectivity::Connectome;
use crate::solvers::tractogram::selection::{Edit, SelectionRules};
use crate::state::core::live::{Detail, Live};
use crate::state::files::jobs::open::with_lengths;
use crate::state::files::jobs::{ConvertedFiles, SAVE, label};
use crate::state::files::update;
use crate::state::job_end::ended;
use crate::state::streamlines::in_place::{LengthFigures, PictureKey};
use crate::state::streamlines::jobs::connectome::CONNECT;
use crate::state::streamlines::jobs::edit::{EDIT, EditKind, EditedStreamlines};
use crate::state::streamlines::jobs::select::SELECT;
use crate::state::streamlines::update::{edits, follow, in_place};
use crate::state::streamlines::{LabelledConnectome, SelectionKey};
use crate::state::{Effect, LayerId, State};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reading streamlines to be drawn.
const DRAW: Slot = Slot::latest_wins("draw streamlines");
/// Measuring lengths.
const LENGTHS: Slot = Slot::latest_wins("lengths of a file");

/// Memory for each point of a picture: in the sample while it grows, and in the renderer.
const BYTES_PER_POINT: u64 = 120;

/// The picture that a sample is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PictureOf {
    /// All parts of the file.
    Whole,
    /// The part that the 3-D view shows.
    View,
}

/// Reads streamlines to be drawn, more and more of them.
#[derive(Clone, Debug)]
pub struct DrawInPlace {
    pub layer: LayerId,
    pub file: Arc<InPlace>,
    pub picture: PictureOf,
    pub key: PictureKey,
}

impl DrawInPlace {
    pub fn slot_of(layer: LayerId, picture: PictureOf) -> Slot {
        DRAW.instance(2 * layer.0 as u32 + u32::from(picture == PictureOf::View))
    }
}

impl Job for DrawInPlace {
    type Output = Sample;

    fn slot(&self) -> Slot {
        Self::slot_of(self.layer, self.picture)
    }

    fn label(&self) -> String {
        "Drawing more streamlines".to_owned()
    }

    fn named_file(&self) -> Option<&Path> {
        Some(self.file.path())
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        partial: &PartialSender<Sample>,
    ) -> Result<Sample, JobError> {
        let fitting = memory::available_bytes().map(|free| free / BYTES_PER_POINT);
        let fitting = fitting.and_then(|points| usize::try_from(points).ok());
        let limits = SampleLimits {
            points: self.key.limits.points.min(fitting.unwrap_or(usize::MAX)),
            ..self.key.limits
        };
        let marks = self.key.marks.as_ref().map(|marks| &*marks.0);
        let backend = worker.backend();
        let mut sampling = self.file.sampling(&limits, marks, control)?;
        let mut next = || backend.install(|| sampling.next_level());
        let mut last = None;
        while let Some(sample) = next()? {
            sample.tractogram.bounds();
            if let Some(before) = last.replace(sample).filter(|_| partial.is_taken()) {
                partial.send(before);
            }
        }
        match last {
            Some(sample) => Ok(sample),
            None => Ok(self.file.sample(&limits, marks, control, |_| {})?),
        }
    }

    fn curves(sample: &Sample) -> Vec<&Tractogram> {
        vec![&sample.tractogram]
    }
}

impl Receive<State> for DrawInPlace {
    fn receive(&self, delivery: Delivery<Sample>, state: &mut State, effects: &mut Vec<Effect>) {
        if let Outcome::Partial(sample) = delivery.outcome {
            return in_place::drawn(state, self, sample, Detail::Coarse);
        }
        ended(state, self, delivery, effects, |state, sample, _, _| {
            in_place::drawn(state, self, sample, Detail::Full);
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        // A job that a newer one replaced changes nothing; one that the user stopped is not tried again.
        let live = in_place::picture_mut(state, self.layer, self.picture);
        if let Some(live) = live.filter(|live| live.running() == Some(&self.key)) {
            live.fail();
        }
        false
    }
}

/// Finds the streamlines of a layer that its rules keep.
#[derive(Clone, Debug)]
pub struct FilterInPlace {
    pub layer: LayerId,
    pub key: SelectionKey,
    pub select: SelectInFile,
}

impl FilterInPlace {
    pub fn slot_of(layer: LayerId) -> Slot {
        SELECT.instance(layer.0 as u32)
    }

    /// The result that the job replaces, unless a newer job replaced it.
    fn live<'a>(
        &self,
        state: &'a mut State,
    ) -> Option<&'a mut Live<SelectionKey, KeptStreamlines>> {
        let kept = &mut in_place::runtime_mut(state, self.layer)?.kept;
        (kept.running() == Some(&self.key)).then_some(kept)
    }
}

impl Job for FilterInPlace {
    type Output = SelectedInFile;

    fn slot(&self) -> Slot {
        Self::slot_of(self.layer)
    }

    fn label(&self) -> String {
        "Filtering streamlines".to_owned()
    }

    fn named_file(&self) -> Option<&Path> {
        Some(self.select.pieces.path())
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let mut selected = self.select.find(&worker.backend(), control)?;
        selected.kept = selected.kept.without_copies();
        Ok(selected)
    }
}

impl Receive<State> for FilterInPlace {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, selected, _, _| {
            if let Some(kept) = self.live(state) {
                kept.finish(selected.kept);
            }
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        if let Some(kept) = self.live(state) {
            kept.fail();
        }
        false
    }
}

/// Measures the lengths of all streamlines.
#[derive(Clone, Debug)]
pub struct MeasureInPlace {
    pub layer: LayerId,
    pub pieces: Arc<Pieces>,
}

impl MeasureInPlace {
    pub fn slot_of(layer: LayerId) -> Slot {
        LENGTHS.instance(layer.0 as u32)
    }
}

impl Job for MeasureInPlace {
    type Output = StreamlineDescription;

    fn slot(&self) -> Slot {
        Self::slot_of(self.layer)
    }

    fn label(&self) -> String {
        "Measuring lengths".to_owned()
    }

    fn named_file(&self) -> Option<&Path> {
        Some(self.pieces.path())
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        partial: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let describe = DescribeStreamlines {
            pieces: self.pieces,
            compared: false,
        };
        describe.run(worker, control, partial)
    }
}

impl Receive<State> for MeasureInPlace {
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
            |state, description, _, _| {
                let lengths = &description.lengths;
                let at = |i: usize| lengths.get(i).copied().unwrap_or(0.0);
                let figures = LengthFigures {
                    low: at(0),
                    median: at(lengths.len() / 2),
                    high: at(lengths.len().saturating_sub(1)),
                    count: lengths.len(),
                };
                if let Some(runtime) = in_place::runtime_mut(state, self.layer) {
                    runtime.lengths.finish(figures);
                }
            },
        );
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        if let Some(runtime) = in_place::runtime_mut(state, self.layer) {
            runtime.lengths.fail();
        }
        false
    }
}

/// Counts the streamlines that connect labels.
#[derive(Clone, Debug)]
pub struct ConnectInPlace(pub ConnectomeOfFile);

impl Job for ConnectInPlace {
    type Output = (FileSummary, Arc<Connectome>);

    fn slot(&self) -> Slot {
        CONNECT
    }

    fn label(&self) -> String {
        "Connections of labels".to_owned()
    }

    fn named_file(&self) -> Option<&Path> {
        Some(self.0.pieces.path())
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        partial: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        self.0.run(worker, control, partial)
    }
}

impl Receive<State> for ConnectInPlace {
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
            |state, (_, connectome), _, _| {
                let names = follow::node_names(state, &connectome);
                let labelled = LabelledConnectome { connectome, names };
                state.runtime.streamlines.connect.finish(labelled);
            },
        );
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        state.runtime.streamlines.connect.fail();
        false
    }
}

/// All streamlines of a file, as a selection of them.
fn all(
    pieces: &Arc<Pieces>,
    worker: &Worker,
    control: &Control,
) -> Result<KeptStreamlines, JobError> {
    let select = SelectInFile {
        pieces: pieces.clone(),
        rules: SelectionRules::default(),
        coverages: Vec::new(),
    };
    Ok(select.find(&worker.backend(), control)?.kept)
}

/// Writes the streamlines that rules keep, or all of them, with their values.
#[derive(Clone, Debug)]
pub struct SaveInPlace {
    pub pieces: Arc<Pieces>,
    pub kept: Option<KeptStreamlines>,
    pub path: PathBuf,
    pub command: String,
}

impl Job for SaveInPlace {
    type Output = ConvertedFiles;

    fn slot(&self) -> Slot {
        SAVE
    }

    fn label(&self) -> String {
        label("Saving", &self.path)
    }

    fn named_file(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        partial: &PartialSender<ConvertedFiles>,
    ) -> Result<ConvertedFiles, JobError> {
        let kept = match self.kept {
            Some(kept) => kept,
            None => all(&self.pieces, worker, control)?,
        };
        let save = SaveSelected {
            kept,
            path: self.path,
            command: self.command,
            replace: true,
        };
        save.run(worker, control, partial)
    }
}

impl Receive<State> for SaveInPlace {
    fn receive(
        &self,
        delivery: Delivery<ConvertedFiles>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, done, _, _| {
            update::converted(state, &done);
        });
    }
}

/// Reads the streamlines that rules keep into memory, as a layer of their own.
#[derive(Clone, Debug)]
pub struct KeepInPlace {
    pub layer: LayerId,
    pub file: DataId,
    pub kept: KeptStreamlines,
    pub steps: Vec<Edit>,
}

impl Job for KeepInPlace {
    type Output = Tractogram;

    fn slot(&self) -> Slot {
        EDIT
    }

    fn label(&self) -> String {
        "Keeping streamlines".to_owned()
    }

    fn named_file(&self) -> Option<&Path> {
        Some(self.kept.path())
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Tractogram>,
    ) -> Result<Tractogram, JobError> {
        let kept = self.kept.in_memory(control)?;
        Ok(worker
            .backend()
            .install(|| with_lengths(ValueNames::shown(kept))))
    }

    fn curves(kept: &Tractogram) -> Vec<&Tractogram> {
        vec![kept]
    }
}

impl Receive<State> for KeepInPlace {
    fn receive(
        &self,
        delivery: Delivery<Tractogram>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, left, _, _| {
            let edited = EditedStreamlines {
                left,
                steps: self.steps.clone(),
                unmapped: Vec::new(),
            };
            edits::done(state, self.layer.0, self.file, edited, EditKind::Keep);
        });
    }
}
