//! Pictures to take: a single one, or the frames of a turntable.

use crate::data::Sentence;
use crate::state::core::camera::Camera;
use crate::state::core::pane::Pane;
use std::path::{Path, PathBuf};

/// A picture to take.
#[derive(Clone, PartialEq, Debug)]
pub struct Picture {
    /// `None`: the whole window.
    pub pane: Option<Pane>,
    pub path: PathBuf,
    pub look: Look,
}

/// Size and background of a picture.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Look {
    /// 1 to 4 times the size on screen, if no size is given.
    pub scale: u32,
    /// Size in pixels of a picture of one view; the whole window has none.
    pub size_px: Option<[u32; 2]>,
    /// Transparent background; only for the 3-D view, since slices contain black.
    pub transparent: bool,
    /// A full turn of the 3-D view.
    pub turntable: Option<Turntable>,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            scale: 1,
            size_px: None,
            transparent: false,
            turntable: None,
        }
    }
}

impl Look {
    /// The picture without settings that do not apply to this pane.
    pub fn for_pane(self, pane: Option<Pane>) -> Self {
        let scene = pane == Some(Pane::Scene);
        Self {
            scale: if pane.is_some() { self.scale } else { 1 },
            size_px: self.size_px.filter(|_| pane.is_some()),
            transparent: self.transparent && scene,
            turntable: self.turntable.filter(|_| scene),
        }
    }
}

/// A full turn to the right about the 3-D view's focus.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Turntable {
    pub frames: u32,
    /// Whether to make a film, too, with ffmpeg.
    pub film: bool,
}

impl Turntable {
    /// Number of pictures for a film of 4 s.
    pub const DEFAULT_FRAMES: u32 = 120;
    pub const MAXIMUM_FRAMES: u32 = 3600;
    pub const FRAMES_PER_S: u32 = 30;

    /// The camera of frame `index`, counted from 0, if `camera` shows the first.
    pub fn camera(self, camera: &Camera, index: u32) -> Camera {
        let share = f64::from(index) / f64::from(self.frames.max(1));
        camera.orbited(share * std::f64::consts::TAU, 0.0)
    }

    /// Number of digits in a frame's number.
    fn digits(self) -> usize {
        self.frames.to_string().len().max(3)
    }

    /// `turn-001.png` for `turn.png` and frame 0.
    pub fn path(self, path: &Path, index: u32) -> PathBuf {
        let width = self.digits();
        path.with_file_name(format!("{}-{:0width$}.png", stem(path), index + 1))
    }

    /// The name of the film, next to the frames.
    pub fn film_path(path: &Path) -> PathBuf {
        path.with_file_name(format!("{}.mp4", stem(path)))
    }
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// A turntable being taken, frame by frame.
#[derive(Clone, PartialEq, Debug)]
pub struct TurntableProgress {
    pub picture: Picture,
    pub turntable: Turntable,
    pub done: u32,
    /// Ticket of the job that writes the newest picture, once it is drawn.
    pub writing: Option<u64>,
    /// The camera at the start.
    pub camera: Camera,
}

impl TurntableProgress {
    /// Whether the newest picture is written to this file.
    pub fn is_at(&self, path: &Path) -> bool {
        let newest = self.done.checked_sub(1);
        newest.is_some_and(|index| self.turntable.path(&self.picture.path, index) == path)
    }
}

/// Screenshots and turntables.
#[derive(Clone, Debug)]
pub enum PictureAction {
    Take(Picture),
    /// The window is ready for the next frame of a turntable.
    NextFrame,
    /// Copies the command of a picture.
    Copy(Option<Pane>, Look),
    /// A picture is finished, and the job with another ticket writes it; or drawing failed.
    Taken {
        ticket: u64,
        path: PathBuf,
        writing: Result<u64, Sentence>,
    },
    /// Drawing of a picture was stopped by the user.
    Cancelled {
        ticket: u64,
    },
}
