//! Writing the protocol of a session.

mod conversion;
mod document_regions;
mod known_files;

pub use conversion::{NoProtocol, SessionProtocol, session_protocol};

use crate::compute::Control;
use crate::data::text::counted;
use crate::io;
use crate::jobs::{JobError, Saved, Worker};
use crate::state::State;
use crate::state::files::jobs::{WriteFile, saved};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Converts a session to a protocol and writes it.
#[derive(Clone, Debug)]
pub struct SaveProtocol {
    pub path: PathBuf,
    pub state: Arc<State>,
}

impl WriteFile for SaveProtocol {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, _: &Control) -> Result<Saved, JobError> {
        let converted = session_protocol(&self.state)
            .map_err(|none: NoProtocol| JobError::Sentence(none.to_string().into()))?;
        let SessionProtocol { protocol, notes } = converted;
        io::protocol::save(&self.path, &protocol, &notes)?;
        let steps = counted(protocol.steps.len(), "step");
        let content = format!("protocol of {steps}");
        Ok(Saved {
            // Named at once: whoever runs the protocol must know them.
            losses: notes,
            ..saved(self.path, content, None)
        })
    }
}
