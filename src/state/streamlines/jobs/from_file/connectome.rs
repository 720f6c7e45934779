//! Connections of the labels of a map by the streamlines of a file.

use super::{Coverage, FileSummary, for_each_piece};
use crate::compute::Control;
use crate::data::Volume;
use crate::io::pieces::Pieces;
use crate::jobs::{Job, JobError, PartialSender, Slot, Worker};
use crate::solvers::connectivity::{Connectome, Counting, Params};
use crate::solvers::region::numbers;
use crate::state::job_end::for_command_line;
use crate::state::streamlines::jobs::connectome::CONNECT;
use crate::state::streamlines::jobs::table::Measure;
use std::path::Path;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct ConnectomeOfFile {
    pub pieces: Arc<Pieces>,
    pub labels: Volume,
    pub params: Params,
    pub value: Option<Measure>,
    pub coverages: Vec<Coverage>,
    /// The streamlines that count; `None`: all.
    pub marks: Option<Arc<[bool]>>,
}

impl Job for ConnectomeOfFile {
    type Output = (FileSummary, Arc<Connectome>);

    fn slot(&self) -> Slot {
        CONNECT
    }

    fn label(&self) -> String {
        "Connections of labels".to_owned()
    }

    fn named_file(&self) -> Option<&Path> {
        Some(self.pieces.path())
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        let (backend, silent) = (worker.backend(), control.silent());
        let known = backend.install(|| numbers(&self.labels, 0, control))?;
        let (map, value) = ((&self.labels, 0, &known), self.value.as_ref());
        let mut counting = Counting::new(map, &self.params, value.is_some())?;
        let summary = for_each_piece(
            &self.pieces,
            self.coverages,
            &backend,
            control,
            |first, piece| {
                let values = value.map(|v| v.values(&piece, &backend, &silent));
                let values = values.transpose()?;
                let marks = self.marks.as_ref();
                let range = first..first + piece.len();
                let marks = marks.map(|marks| self.pieces.part_of(marks, range));
                let marks = marks.transpose()?;
                Ok(counting.add(&piece, marks, values.as_deref(), &backend, &silent)?)
            },
        )?;
        Ok((summary, Arc::new(counting.connectome())))
    }
}

for_command_line!(ConnectomeOfFile);
