//! Work on streamlines that stay in their file: what the views draw of them, and what needs all of them, read in pieces.

use super::from_file::FileSummary;
use super::from_file::connectome::ConnectomeOfFile;
use super::from_file::describe::{DescribeStreamlines, StreamlineDescription};
use super::from_file::select::{
    KeptStreamlines, MarkedInFile, SaveSelected, SelectInFile, SelectedInFile,
};
use super::from_file::table::ValuesOfFile;
use crate::compute::{Control, memory};
use crate::data::{DataId, Tractogram};
use crate::io::pieces::Pieces;
use crate::io::{InPlace, Sample, SampleLimits};
use crate::jobs::{
    CompleteData, Delivery, Job, JobError, Outcome, PartialSender, Receive, Slot, Unfinished,
    ValueNames, Worker,
};
use crate::solvers::connectivity::Connectome;
use crate::solvers::tractogram::selection::{Edit, SelectionRules};
use crate::state::core::live::{Detail, Live};
use crate::state::files::jobs::open::with_lengths;
use crate::state::files::jobs::{ConvertedFiles, SAVE, label, unsupported_grid};
use crate::state::files::update;
use crate::state::job_end::ended;
use crate::state::streamlines::in_place::{LengthFigures, PictureKey, PictureOf};
use crate::state::streamlines::jobs::edit::{EDIT, EditKind, EditedStreamlines};
use crate::state::streamlines::jobs::select::SELECT;
use crate::state::streamlines::update::{edits, follow, in_place};
use crate::state::streamlines::{LabelledConnectome, SelectionKey};
use crate::state::{Effect, LayerId, State};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reading streamlines to be drawn.
const DRAW: Slot = Slot::latest_wins("draw streamlines");
/// Measuring lengths.
const LENGTHS: Slot = Slot::latest_wins("lengths of a file");

/// Memory for each point of a picture: in the sample while it grows, and in the renderer.
const BYTES_PER_POINT: u64 = 120;

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

/// A job that commands run on a file as well, and the receiver of its output in the window.
#[derive(Clone, Debug)]
pub struct InWindow<W, R> {
    pub work: W,
    pub receiver: R,
}

/// Changes the state of the window when a job on a file ends.
pub trait ReceiveInWindow<W: Job>: Clone + fmt::Debug + Send + Sync + 'static {
    /// The slot in which the job runs; `own` is the one that commands use.
    fn slot(&self, own: Slot) -> Slot {
        own
    }

    /// Text for the status line while the job runs; `own` is the one that commands use.
    fn label(&self, own: String) -> String {
        own
    }

    fn receive(&self, state: &mut State, output: W::Output);

    /// The job ended without an output.
    fn failed(&self, state: &mut State);
}

impl<W: Job, R: ReceiveInWindow<W>> Job for InWindow<W, R> {
    type Output = W::Output;

    fn slot(&self) -> Slot {
        self.receiver.slot(self.work.slot())
    }

    fn label(&self) -> String {
        self.receiver.label(self.work.label())
    }

    fn named_file(&self) -> Option<&Path> {
        self.work.named_file()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        partial: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        self.work.run(worker, control, partial)
    }

    fn curves(output: &Self::Output) -> Vec<&Tractogram> {
        W::curves(output)
    }
}

impl<W: Job, R: ReceiveInWindow<W>> Receive<State> for InWindow<W, R> {
    fn receive(
        &self,
        delivery: Delivery<Self::Output>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, output, _, _| {
            self.receiver.receive(state, output);
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        self.receiver.failed(state);
        false
    }
}

/// Receives the streamlines of a layer that its rules keep.
#[derive(Clone, Debug)]
pub struct KeptInPlace {
    pub layer: LayerId,
    pub key: SelectionKey,
}

impl KeptInPlace {
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

impl ReceiveInWindow<SelectInFile> for KeptInPlace {
    fn slot(&self, _: Slot) -> Slot {
        Self::slot_of(self.layer)
    }

    fn label(&self, _: String) -> String {
        "Filtering streamlines".to_owned()
    }

    fn receive(&self, state: &mut State, selected: SelectedInFile) {
        if let Some(kept) = self.live(state) {
            kept.finish(selected.kept);
        }
    }

    fn failed(&self, state: &mut State) {
        if let Some(kept) = self.live(state) {
            kept.fail();
        }
    }
}

/// Receives the lengths of all streamlines of a layer.
#[derive(Clone, Debug)]
pub struct LengthsInPlace {
    pub layer: LayerId,
}

impl LengthsInPlace {
    pub fn slot_of(layer: LayerId) -> Slot {
        LENGTHS.instance(layer.0 as u32)
    }
}

impl ReceiveInWindow<DescribeStreamlines> for LengthsInPlace {
    fn slot(&self, _: Slot) -> Slot {
        Self::slot_of(self.layer)
    }

    fn label(&self, _: String) -> String {
        "Measuring lengths".to_owned()
    }

    fn receive(&self, state: &mut State, description: StreamlineDescription) {
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
    }

    fn failed(&self, state: &mut State) {
        if let Some(runtime) = in_place::runtime_mut(state, self.layer) {
            runtime.lengths.fail();
        }
    }
}

/// Receives the numbers of streamlines that connect labels.
#[derive(Clone, Debug)]
pub struct ConnectedInPlace;

impl ReceiveInWindow<ConnectomeOfFile> for ConnectedInPlace {
    fn receive(&self, state: &mut State, (_, connectome): (FileSummary, Arc<Connectome>)) {
        let names = follow::node_names(state, &connectome);
        let labelled = LabelledConnectome { connectome, names };
        state.runtime.streamlines.connect.finish(labelled);
    }

    fn failed(&self, state: &mut State) {
        state.runtime.streamlines.connect.fail();
    }
}

/// Receives values of each streamline, for the table.
#[derive(Clone, Debug)]
pub struct ValuesInPlace;

impl ReceiveInWindow<ValuesOfFile> for ValuesInPlace {
    fn receive(&self, state: &mut State, (_, values): (FileSummary, Vec<Arc<[f32]>>)) {
        let runtime = &mut state.runtime.streamlines;
        if let Some(keys) = runtime.columns.finish(()) {
            runtime.values.extend(keys.into_iter().zip(values));
        }
    }

    fn failed(&self, state: &mut State) {
        state.runtime.streamlines.columns.fail();
    }
}

/// Some streamlines of a file.
#[derive(Clone, Debug)]
pub enum StreamlineSubset {
    All(Arc<Pieces>),
    /// The streamlines that rules keep.
    Kept(Box<KeptStreamlines>),
    Marked(Arc<Pieces>, Arc<[bool]>),
}

impl StreamlineSubset {
    fn path(&self) -> &Path {
        match self {
            Self::All(pieces) | Self::Marked(pieces, _) => pieces.path(),
            Self::Kept(kept) => kept.path(),
        }
    }

    /// The data that a file with these streamlines holds in full; `None` if they are not all. The file in which they
    /// stay has the points, and the values that it had.
    fn all(&self) -> Option<CompleteData> {
        let Self::All(pieces) = self else {
            return None;
        };
        Some(CompleteData {
            ids: Vec::new(),
            per_streamline: pieces.all_added().clone(),
        })
    }

    /// Finds them, which reads the file.
    fn find(self, worker: &Worker, control: &Control) -> Result<KeptStreamlines, JobError> {
        let backend = worker.backend();
        match self {
            Self::Kept(kept) => Ok(*kept),
            Self::All(pieces) => {
                let select = SelectInFile {
                    pieces,
                    rules: SelectionRules::default(),
                    coverages: Vec::new(),
                    keeps_copies: true,
                };
                Ok(select.find(&backend, control)?.kept)
            }
            Self::Marked(pieces, marks) => {
                let added = None;
                let marked = MarkedInFile {
                    pieces,
                    marks,
                    added,
                };
                marked.find(&backend, control)
            }
        }
    }
}

/// Writes some streamlines of a file with their values.
#[derive(Clone, Debug)]
pub struct SaveInPlace {
    pub subset: StreamlineSubset,
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
        let all = self.subset.all();
        let save = SaveSelected {
            kept: self.subset.find(worker, control)?,
            path: self.path,
            command: self.command,
            replace: true,
        };
        let grid = unsupported_grid(&save.path, &save.kept.outline.empty);
        let saved = save.run(worker, control, partial)?;
        Ok(ConvertedFiles::new(saved.converted, grid.as_deref(), all))
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

/// Reads some streamlines of a file into memory, as a layer of their own.
#[derive(Clone, Debug)]
pub struct KeepInPlace {
    pub layer: LayerId,
    /// The points and values of the file.
    pub file: DataId,
    pub subset: StreamlineSubset,
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
        Some(self.subset.path())
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Tractogram>,
    ) -> Result<Tractogram, JobError> {
        let kept = self.subset.find(worker, control)?.in_memory(control)?;
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
