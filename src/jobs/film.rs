//! Films of pictures, made by ffmpeg if it is installed.

use crate::compute::Control;
use crate::compute::thread::{self, ThreadError};
use crate::io::atomic::{self, Scratch};
use crate::io::{Error, disk, ending};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often a running ffmpeg is checked.
const TICK: Duration = Duration::from_millis(50);
/// The largest picture takes a few seconds; finishing a long film takes less than this, too.
const PATIENCE: Duration = Duration::from_secs(300);
/// Bytes of its output that are kept.
const REMEMBERED: usize = 4096;
/// Characters of a line of its output that a sentence quotes.
const QUOTED: usize = 200;
/// The last output of ffmpeg arrives within this time after it exits.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// The program that makes films.
#[derive(Clone, Debug)]
pub struct Ffmpeg {
    pub program: PathBuf,
    /// It is terminated after this time without progress.
    pub timeout: Duration,
}

/// Adapts frames to a film: transparent ones are put on black, both sides become even, and the colours are those that
/// players assume for large films.
const FILTERS: &str = "premultiply=inplace=1,pad=ceil(iw/2)*2:ceil(ih/2)*2,\
                       scale=out_color_matrix=bt709:out_range=tv,format=yuv420p";

/// Why there is no film.
enum Stopped {
    Cancelled,
    /// The end of a sentence.
    Failed(String),
    /// The end of a sentence; ffmpeg may succeed with fewer threads.
    Threads(String),
    /// The system does not let this user start it.
    Denied,
}

/// Messages of ffmpeg if it cannot start all its threads, or if they take too much memory.
const LACKS: [&str; 2] = ["Resource temporarily unavailable", "Cannot allocate memory"];
/// The encoder gives no reason; with these pictures and filters it opens unless threads or memory are missing.
const NOT_OPENED: &str = "Error while opening encoder";
/// Other reasons of the system. ffmpeg may print more lines after them, which are not the reason.
const REASONS: [&str; 7] = [
    "No space left on device",
    "Disk quota exceeded",
    "File too large",
    "Input/output error",
    "Read-only file system",
    "Permission denied",
    "No such file or directory",
];

/// Why no program makes films here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoFfmpeg {
    Missing,
    /// This file may not be executed.
    Denied(PathBuf),
}

impl NoFfmpeg {
    /// The problem and what to do about it.
    pub fn text(&self) -> (String, &'static str) {
        match self {
            Self::Missing => (
                "no ffmpeg, which is needed for films".to_owned(),
                "install it",
            ),
            Self::Denied(program) => (
                format!("an ffmpeg that may not be executed ({})", program.display()),
                "make it executable",
            ),
        }
    }

    fn error(&self, film: &Path) -> Error {
        let (found, remedy) = self.text();
        let remedy = format!("{remedy}, or use the pictures, which were saved");
        Error::Malformed {
            path: film.to_owned(),
            found,
            expected: ("one that can be started", remedy).into(),
        }
    }
}

/// Searches as the system does: a file without execute permission is skipped.
fn may_run(file: &Path) -> bool {
    let executable = |mode| mode & 0o111 != 0;
    disk::metadata(file).is_ok_and(|m| disk::mode_of(&m).is_none_or(executable))
}

impl Ffmpeg {
    /// Path of the program; searched for once.
    pub fn find() -> Result<Self, NoFfmpeg> {
        static FOUND: OnceLock<Result<PathBuf, NoFfmpeg>> = OnceLock::new();
        let find = || {
            let path = std::env::var_os("PATH").unwrap_or_default();
            Self::among(std::env::split_paths(&path))
        };
        let program = FOUND.get_or_init(find).clone()?;
        let timeout = PATIENCE;
        Ok(Self { program, timeout })
    }

    /// The first file in these folders that may be executed.
    pub fn among(folders: impl Iterator<Item = PathBuf>) -> Result<PathBuf, NoFfmpeg> {
        let name = match cfg!(windows) {
            true => "ffmpeg.exe",
            false => "ffmpeg",
        };
        let all = folders.map(|folder| folder.join(name));
        let all: Vec<PathBuf> = all.filter(|file| file.is_file()).collect();
        let first = all.first().cloned();
        let runs = all.into_iter().find(|file| may_run(file));
        runs.ok_or(first.map_or(NoFfmpeg::Missing, NoFfmpeg::Denied))
    }

    /// Writes pictures of equal size as an H.264 film (MP4).
    pub fn save(
        &self,
        path: &Path,
        frames: &[PathBuf],
        per_s: u32,
        control: &Control,
    ) -> Result<(), Error> {
        let scratch = Scratch::new()?;
        // Names of our own: those of the frames may contain what ffmpeg reads as a pattern.
        for (i, frame) in frames.iter().enumerate() {
            scratch.link(frame, &format!("{:06}.png", i + 1))?;
        }
        let film = scratch.path().join("film.mp4");
        let failed = |reason: String| Error::Film {
            path: path.to_owned(),
            reason,
        };
        let make = |threads: &[&str]| {
            control.begin("Making the film", frames.len() as u64);
            let command = self.command(scratch.path(), &film, per_s, threads);
            Running::start(command)?.wait(&film, self.timeout, control)
        };
        let finished = match make(&[]) {
            // It starts a dozen threads, and fails if it gets fewer.
            Err(Stopped::Threads(_)) => make(&["-threads", "1"]),
            finished => finished,
        };
        let complaint = finished.map_err(|stopped| match stopped {
            Stopped::Cancelled => Error::Cancelled,
            Stopped::Failed(reason) | Stopped::Threads(reason) => failed(reason),
            Stopped::Denied => NoFfmpeg::Denied(self.program.clone()).error(path),
        })?;
        match crate::io::film::is_whole(&film) {
            Ok(true) => {}
            Ok(false) => {
                let part = format!("ffmpeg wrote only part of it{}", complaint_text(&complaint));
                return Err(failed(part));
            }
            Err(e) => return Err(failed(e.kind().to_string())),
        }
        atomic::copy(&film, path, control)
    }

    fn command(&self, folder: &Path, film: &Path, per_s: u32, threads: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["-nostdin", "-y", "-loglevel", "error"])
            .args(["-progress", "pipe:1"])
            // Threads that decode, then those that filter and those that encode.
            .args(threads)
            .args(["-framerate", &per_s.to_string(), "-i"])
            .arg(folder.join("%06d.png"));
        if !threads.is_empty() {
            command.args(["-filter_threads", "1"]);
        }
        command
            .args(["-vf", FILTERS])
            .args(["-colorspace", "bt709", "-color_primaries", "bt709"])
            .args(["-color_trc", "bt709", "-c:v", "libx264", "-crf", "16"])
            .args(threads)
            .args(["-movflags", "+faststart", "-f", "mp4"])
            .arg(film);
        command
    }
}

/// Saves a film with the installed ffmpeg.
pub fn save(path: &Path, frames: &[PathBuf], per_s: u32, control: &Control) -> Result<(), Error> {
    let ffmpeg = Ffmpeg::find().map_err(|none| none.error(path))?;
    ffmpeg.save(path, frames, per_s, control)
}

/// The end of a program's output. A thread reads all of it: a program whose output is not read blocks when the pipe is
/// full.
#[derive(Clone, Default)]
struct ErrorOutput(Arc<Mutex<Vec<u8>>>);

impl ErrorOutput {
    fn listen(&self, mut pipe: impl Read + Send + 'static) -> Result<JoinHandle<()>, ThreadError> {
        let collected = self.clone();
        thread::start("ffmpeg", move || {
            let mut buffer = [0; REMEMBERED];
            // A pipe that cannot be read gives no more output.
            while let Ok(n @ 1..) = pipe.read(&mut buffer) {
                let mut text = collected.lock();
                text.extend_from_slice(&buffer[..n]);
                let old = text.len().saturating_sub(REMEMBERED);
                text.drain(..old);
            }
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.lock()).into_owned()
    }

    /// The last line with a reason of the system, else the last non-empty line.
    fn complaint(&self) -> String {
        let text = self.text();
        let lines = || text.lines().rev().map(str::trim);
        // ffmpeg ends a line with the system's reason; paths with such words come before it.
        let known = |line: &&str| REASONS.iter().chain(&LACKS).any(|why| gives(line, why));
        let last = lines()
            .find(known)
            .or_else(|| lines().find(|line| !line.is_empty()));
        let mut line = last.unwrap_or_default().to_owned();
        // A line without an end would fill the screen.
        if let Some((end, _)) = line.char_indices().nth(QUOTED) {
            line.truncate(end);
            line.push('…');
        }
        line
    }

    /// Whether a single thread may avoid the reported error.
    fn lacks_threads(&self) -> bool {
        let text = self.text();
        let says = |why: &&str| text.lines().any(|line| gives(line, why));
        LACKS.iter().any(says) || text.contains(NOT_OPENED) && !REASONS.iter().any(says)
    }

    /// Number of finished frames, from the output of `-progress`.
    fn frames(&self) -> u64 {
        let text = self.text();
        let mut reported = text.lines().rev().filter_map(|l| l.strip_prefix("frame="));
        reported.find_map(|n| n.trim().parse().ok()).unwrap_or(0)
    }
}

/// Whether a line of ffmpeg ends with this reason of the system; file names come before it.
fn gives(line: &str, why: &str) -> bool {
    line.trim().trim_end_matches(['.', '!']).ends_with(why)
}

/// A running program; it is terminated when this is dropped, and when this process receives a signal to end.
struct Running {
    child: Arc<Mutex<Child>>,
    progress: ErrorOutput,
    error_output: ErrorOutput,
    listener: JoinHandle<()>,
    _at_end: ending::AtEnd,
}

fn locked(child: &Mutex<Child>) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Running {
    fn start(mut command: Command) -> Result<Self, Stopped> {
        let failed = |e: std::io::Error| match e.kind() {
            ErrorKind::PermissionDenied => Stopped::Denied,
            kind => Stopped::Failed(format!("ffmpeg did not start: {kind}")),
        };
        let command = command.stdin(Stdio::null());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (progress, error_output) = (ErrorOutput::default(), ErrorOutput::default());
        let listening = match (child.stdout.take(), child.stderr.take()) {
            (Some(out), Some(err)) => progress
                .listen(out)
                .and_then(|_| error_output.listen(err))
                .map_err(|error| Stopped::Failed(error.to_string())),
            _ => Err(Stopped::Failed(
                "the output of ffmpeg cannot be read".to_owned(),
            )),
        };
        let listener = listening.inspect_err(|_| {
            // If its output is not read, it blocks.
            let _ = child.kill();
            let _ = child.wait();
        })?;
        let child = Arc::new(Mutex::new(child));
        let own = child.clone();
        Ok(Self {
            _at_end: ending::at_end(move || drop(locked(&own).kill())),
            child,
            progress,
            error_output,
            listener,
        })
    }

    /// Waits until it succeeds; returns its complaints.
    fn wait(self, film: &Path, patience: Duration, control: &Control) -> Result<String, Stopped> {
        let mut before = (0, None);
        let mut since = Instant::now();
        loop {
            if control.check().is_err() {
                return Err(Stopped::Cancelled);
            }
            let now = (self.progress.frames(), crate::io::length_of(film));
            if now != before {
                control.advance(now.0.saturating_sub(before.0));
                (before, since) = (now, Instant::now());
            }
            if since.elapsed() > patience {
                return Err(Stopped::Failed(format!(
                    "ffmpeg made no progress for {} s after {} pictures and was stopped{}",
                    patience.as_secs(),
                    now.0,
                    complaint_text(&self.error_output.complaint())
                )));
            }
            let status = locked(&self.child).try_wait();
            match status {
                Ok(None) => std::thread::sleep(TICK),
                Ok(Some(status)) => {
                    let ended = Instant::now();
                    while !self.listener.is_finished() && ended.elapsed() < LAST_OUTPUT {
                        std::thread::sleep(TICK);
                    }
                    let complaint = self.error_output.complaint();
                    if status.success() {
                        return Ok(complaint);
                    }
                    let why = format!("ffmpeg ended with {status}{}", complaint_text(&complaint));
                    return Err(match self.error_output.lacks_threads() {
                        true => Stopped::Threads(why),
                        false => Stopped::Failed(why),
                    });
                }
                Err(e) => return Err(Stopped::Failed(e.to_string())),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut child = locked(&self.child);
        // If it has already exited, there is nothing to kill.
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn complaint_text(line: &str) -> String {
    match line {
        "" => String::new(),
        line => format!(": {line}"),
    }
}
