//! Values of each streamline of a file.

use super::{Coverage, FileSummary, for_each_piece};
use crate::compute::{Control, memory};
use crate::io::pieces::Pieces;
use crate::jobs::{Job, JobError, PartialSender, Slot, Worker};
use crate::state::job_end::for_command_line;
use crate::state::streamlines::jobs::table::{Measure, VALUES};
use std::path::Path;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct ValuesOfFile {
    pub pieces: Arc<Pieces>,
    pub measures: Vec<Measure>,
    pub coverages: Vec<Coverage>,
}

impl Job for ValuesOfFile {
    /// The values in the order of the measures.
    type Output = (FileSummary, Vec<Arc<[f32]>>);

    fn slot(&self) -> Slot {
        VALUES
    }

    fn label(&self) -> String {
        "Values of streamlines".to_owned()
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
        let measures = &self.measures;
        let mut columns: Vec<Vec<f32>> = vec![Vec::new(); measures.len()];
        let summary = for_each_piece(
            &self.pieces,
            self.coverages,
            &backend,
            control,
            |_, piece| {
                memory::claim_for::<f32>("Values of streamlines", piece.len(), 2 * measures.len())?;
                for (column, measure) in columns.iter_mut().zip(measures) {
                    column.extend_from_slice(&measure.values(&piece, &backend, &silent)?);
                }
                Ok(())
            },
        )?;
        Ok((summary, columns.into_iter().map(Arc::from).collect()))
    }
}

for_command_line!(ValuesOfFile);
