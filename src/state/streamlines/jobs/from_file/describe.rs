//! A description of the streamlines of a file.

use super::{Coverage, FileSummary, for_each_piece};
use crate::compute::{Control, memory};
use crate::data::Tractogram;
use crate::data::tractogram::LENGTH;
use crate::io::pieces::Pieces;
use crate::jobs::{Job, JobError, PartialSender, Slot, Worker};
use crate::solvers::tractogram::selection::column;
use crate::state::alignment::space::sampling_step;
use crate::state::files::jobs::{LOAD, label};
use crate::state::job_end::for_command_line;
use std::path::Path;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct DescribeStreamlines {
    pub pieces: Arc<Pieces>,
    /// Whether the file is compared with others.
    pub compared: bool,
}

#[derive(Clone, Debug)]
pub struct StreamlineDescription {
    pub summary: FileSummary,
    /// Finite lengths, ascending, mm.
    pub lengths: Vec<f32>,
    /// The points by which the file is compared with others.
    pub sample: Option<Tractogram>,
}

impl Job for DescribeStreamlines {
    type Output = StreamlineDescription;

    fn slot(&self) -> Slot {
        LOAD
    }

    fn label(&self) -> String {
        label("Reading", self.pieces.path())
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
        let grid = self.pieces.empty().grid.as_ref();
        let own = grid.map(Coverage::of_grid).into_iter().collect();
        let mut lengths: Vec<f32> = Vec::new();
        let summary = for_each_piece(&self.pieces, own, &backend, control, |_, piece| {
            memory::claim_for::<f32>("Lengths of streamlines", piece.len(), 2)?;
            let own = column(&piece, LENGTH, &backend, &silent)?;
            // A streamline through a point that is not finite has no length.
            lengths.extend(own.iter().filter(|length| length.is_finite()));
            Ok(())
        })?;
        lengths.sort_by(f32::total_cmp);
        let sample = match self.compared {
            true => {
                let every = sampling_step(summary.outline.points);
                let (mut points, mut next, mut before) = (Vec::new(), 0, 0);
                for_each_piece(&self.pieces, Vec::new(), &backend, control, |_, piece| {
                    let end = before + piece.points.len();
                    while next < end {
                        points.push(piece.points[next - before]);
                        next += every;
                    }
                    before = end;
                    Ok(())
                })?;
                let count = points.len() as u64;
                let mut sample = Tractogram::new(points, vec![0, count]);
                sample.grid = grid.cloned();
                Some(sample)
            }
            false => None,
        };
        Ok(StreamlineDescription {
            summary,
            lengths,
            sample,
        })
    }
}

for_command_line!(DescribeStreamlines);
