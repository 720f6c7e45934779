//! Work on sessions as a job.

use crate::compute::Control;
use crate::data::Tractogram;
use crate::jobs::session::{Memory, Restored, SessionOutput, SessionRequest};
use crate::jobs::{Job, JobError, PartialSender, Slot, Worker};
use std::path::Path;

impl Job for SessionRequest {
    type Output = SessionOutput;

    fn slot(&self) -> Slot {
        match self {
            Self::Save { .. } => Slot::Save,
            Self::Autosave { .. }
            | Self::FindRecoverable
            | Self::Forget { .. }
            | Self::RemoveOwnFolder => Slot::Recovery,
            Self::Read { .. } | Self::Relocate { .. } | Self::Load { .. } => Slot::Load,
            Self::Verify { .. } => Slot::Verify,
            Self::Remake(_) => Slot::Remake,
        }
    }

    fn label(&self) -> String {
        let file = |p: &Path| {
            let name = p.file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        };
        match self {
            Self::Save { path, .. } => format!("Saving {}", file(path)),
            Self::Autosave { .. } => "Saving for recovery".to_owned(),
            Self::Read { path, .. } => format!("Opening {}", file(path)),
            Self::Relocate { .. } => "Looking for files".to_owned(),
            Self::Load { .. } => "Opening the session's files".to_owned(),
            Self::Verify { .. } => "Verifying the session's files".to_owned(),
            Self::Remake(remake) => format!("Making {} again", remake.name),
            Self::FindRecoverable | Self::Forget { .. } | Self::RemoveOwnFolder => {
                "Looking for unsaved work".to_owned()
            }
        }
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<SessionOutput>,
    ) -> Result<SessionOutput, JobError> {
        let memory = worker.memory::<Memory>();
        self.solve(&memory, &worker.backend(), control)
    }

    fn curves(output: &SessionOutput) -> Vec<&Tractogram> {
        match output {
            SessionOutput::Remade { tractogram, .. } => vec![tractogram],
            SessionOutput::Loaded(restored) => {
                let read = restored.iter().filter_map(|(_, one)| one.as_ref().ok());
                read.flat_map(Restored::all_curves).collect()
            }
            _ => Vec::new(),
        }
    }
}
