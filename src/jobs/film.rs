//! Films of pictures, by ffmpeg where it is installed.

use crate::compute::Control;
use crate::io::Error;
use crate::io::atomic::{self, Scratch};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// How often a running ffmpeg is looked at.
const TICK: Duration = Duration::from_millis(50);

/// The program that makes films.
pub struct Ffmpeg;

impl Ffmpeg {
    pub fn is_there() -> bool {
        ffmpeg().is_some()
    }
}

/// Where ffmpeg is; looked for once.
fn ffmpeg() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let path = std::env::var_os("PATH")?;
        let name = if cfg!(windows) {
            "ffmpeg.exe"
        } else {
            "ffmpeg"
        };
        let mut all = std::env::split_paths(&path).map(|folder| folder.join(name));
        all.find(|file| file.is_file())
    };
    FOUND.get_or_init(find).as_deref()
}

/// What a film needs of its frames: transparent ones stand on black, both sides are even, and colours are
/// those that players of large films take them for.
const FILTERS: &str = "premultiply=inplace=1,pad=ceil(iw/2)*2:ceil(ih/2)*2,\
                       scale=out_color_matrix=bt709:out_range=tv,format=yuv420p";

/// Writes pictures of equal size as an H.264 film (MP4).
pub fn save(path: &Path, frames: &[PathBuf], per_s: u32, control: &Control) -> Result<(), Error> {
    let failed = |why: String| Error::Unwritable {
        path: path.to_owned(),
        why,
    };
    let Some(ffmpeg) = ffmpeg() else {
        return Err(Error::Unsupported {
            path: path.to_owned(),
            found: "no ffmpeg on this machine, which makes films of pictures".to_owned(),
            instead: "install ffmpeg, or use the pictures, which are there".to_owned(),
        });
    };
    let scratch = Scratch::new()?;
    // Names of our own: those of the frames may hold what ffmpeg reads as a pattern.
    for (i, frame) in frames.iter().enumerate() {
        scratch.link(frame, &format!("{:06}.png", i + 1))?;
    }
    let film = scratch.path().join("film.mp4");
    let mut child = Command::new(ffmpeg)
        .args(["-nostdin", "-y", "-loglevel", "error", "-framerate"])
        .arg(per_s.to_string())
        .arg("-i")
        .arg(scratch.path().join("%06d.png"))
        .args(["-vf", FILTERS])
        .args(["-colorspace", "bt709", "-color_primaries", "bt709"])
        .args(["-color_trc", "bt709"])
        .args([
            "-c:v",
            "libx264",
            "-crf",
            "16",
            "-movflags",
            "+faststart",
            "-f",
            "mp4",
        ])
        .arg(&film)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| failed(format!("ffmpeg did not start: {e}")))?;
    wait(&mut child, control).map_err(|why| why.map_or(Error::Cancelled, failed))?;
    atomic::copy(&film, path)
}

/// Until it ends well; else what it said, or `None` if it was cancelled.
fn wait(child: &mut Child, control: &Control) -> Result<(), Option<String>> {
    loop {
        if control.check().is_err() {
            // If it has just ended there is nothing left to stop.
            let _ = child.kill();
            let _ = child.wait();
            return Err(None);
        }
        match child.try_wait() {
            Ok(None) => std::thread::sleep(TICK),
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => {
                let mut said = String::new();
                if let Some(stderr) = &mut child.stderr {
                    use std::io::Read as _;
                    // Without words the status must do.
                    let _ = stderr.take(4096).read_to_string(&mut said);
                }
                let last = said.lines().last().unwrap_or_default().trim().to_owned();
                return Err(Some(format!("ffmpeg ended with {status}: {last}")));
            }
            Err(e) => return Err(Some(e.to_string())),
        }
    }
}
