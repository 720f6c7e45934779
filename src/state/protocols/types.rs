//! Requests for protocols.

use std::path::PathBuf;

#[derive(Clone, Debug)]
pub enum ProtocolAction {
    /// Writes the protocol of what is open.
    Save(PathBuf),
}
