//! Jobs that write pictures and films.

use crate::compute::Control;
use crate::io;
use crate::jobs::{JobError, Saved, Slot, Worker, film};
use crate::state::files::jobs::{WriteFile, saved};
use std::path::{Path, PathBuf};

/// Pictures: the window draws them itself, a piece per frame.
pub const PICTURE: Slot = Slot::queue("picture").beyond_document();

#[derive(Clone, Debug)]
pub struct SavePng {
    pub size: [u32; 2],
    pub rgba: Vec<u8>,
    pub metadata: Vec<(String, String)>,
    pub path: PathBuf,
}

impl WriteFile for SavePng {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, _: &Control) -> Result<Saved, JobError> {
        io::png::save(&self.path, self.size, &self.rgba, &self.metadata)?;
        Ok(saved(self.path, "picture", None))
    }
}

/// Makes a film from finished pictures.
#[derive(Clone, Debug)]
pub struct SaveFilm {
    pub path: PathBuf,
    pub frames: Vec<PathBuf>,
    pub per_s: u32,
}

impl WriteFile for SaveFilm {
    fn path(&self) -> &Path {
        &self.path
    }

    fn write(self, _: &Worker, control: &Control) -> Result<Saved, JobError> {
        film::save(&self.path, &self.frames, self.per_s, control)?;
        Ok(saved(self.path, "film", None))
    }
}
