//! A growing text file: one line at a time, on disk as soon as it is written.

use super::Error;
use super::disk::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Growing text file that is open for appending.
pub struct Lines {
    file: File,
    path: PathBuf,
}

impl Lines {
    /// Creates or empties the file.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let file = File::create(path).map_err(|e| Error::writing(path, &e))?;
        Ok(Self {
            file,
            path: path.to_owned(),
        })
    }

    /// Appends one line in a single write; `line` has no line break.
    pub fn add(&mut self, line: &str) -> Result<(), Error> {
        // In one write, so that a reader never sees half a line.
        let line = format!("{line}\n");
        self.file
            .write_all(line.as_bytes())
            .map_err(|e| Error::writing(&self.path, &e))
    }
}
