//! Runs jobs one after the other, with a progress bar on a terminal.

use super::cohort::STEP_VARIABLE;
use super::{Global, output, typed};
use crate::compute::{Backend, Progress, cuda};
use crate::data::text::count;
use crate::io;
use crate::jobs::{AnyJob, Event, Jobs, Outcome, Receive};
use crate::state::State;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One sentence and an exit code.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    pub sentence: String,
    pub exit_code: u8,
}

impl Failure {
    /// An error in the data: exit code 1.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            exit_code: 1,
        }
    }

    /// An error in the command line: exit code 2.
    pub fn usage(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            exit_code: 2,
        }
    }
}

/// An error in the data. An error in the command line is [`Failure::usage`].
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

pub struct Runner {
    pub backend: Backend,
    pub json: bool,
    jobs: Jobs<State>,
    progress_bars: bool,
    /// Whether progress is not shown.
    quiet: bool,
    /// Whether the CPU computes because a card would take longer to start.
    too_little_work: bool,
    force: bool,
    /// Paths that the command will write.
    outputs: RefCell<Vec<PathBuf>>,
    /// Whether the result was printed: a later error concerns printing it, and all files are written.
    reported: Cell<bool>,
}

impl Runner {
    /// `core_seconds`: the time of one core for the work that graphics cards can do, 0 without such work.
    pub fn new(global: &Global, core_seconds: f64) -> Result<Self, Failure> {
        let backend = global.backend(core_seconds)?;
        let is_chosen = global.backend_kind()?.is_some();
        if let Some(shortage) = backend.shortage() {
            warning!("{shortage}");
        }
        let jobs = Jobs::new(backend.clone(), Arc::new(|| {}));
        io::atomic::keep_what_exists(!global.force);
        io::atomic::record_written_files();
        let progress_bars = !global.quiet && std::io::stderr().is_terminal();
        Ok(Self {
            backend,
            json: global.json,
            jobs,
            progress_bars,
            quiet: global.quiet,
            too_little_work: !is_chosen && core_seconds > 0.0 && !global.pays_on_card(core_seconds),
            force: global.force,
            outputs: RefCell::default(),
            reported: Cell::new(false),
        })
    }

    /// Leaves work that the processor would finish in this many seconds to it if the graphics card takes longer to start.
    pub fn expect_work(&mut self, cpu_seconds: f64) {
        let Some(cpu) = self.backend.for_short_work(cpu_seconds) else {
            return;
        };
        self.jobs = Jobs::new(cpu.clone(), Arc::new(|| {}));
        self.backend = cpu;
        self.too_little_work = true;
    }

    /// Warns of a card that cannot be used, and names the files that a command wrote before it failed.
    pub fn end(&self, outcome: Result<(), Failure>) -> Result<(), Failure> {
        const SHOWN: usize = 6;
        if let Some(problem) = self.backend.known_card_problem() {
            warning!("{problem}");
        }
        let written = io::atomic::written_files();
        if outcome.is_err() && !self.reported.get() && !written.is_empty() {
            let names = written.iter().take(SHOWN).map(|path| output::shown(path));
            let names = names.collect::<Vec<_>>().join(", ");
            let more = written.len().saturating_sub(SHOWN);
            let more = (more > 0).then(|| format!(" and {} more", count(more as u64)));
            note!(
                "These files were complete before the error and were kept: {names}{}",
                more.unwrap_or_default()
            );
        }
        outcome
    }

    /// Submits a job like the window does, and waits.
    pub fn event(&mut self, job: Box<dyn AnyJob<State>>) -> Event<State> {
        let target = if self.progress_bars {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{msg:28} {bar:32} {percent:>3} %  {eta}") {
            bar.set_style(style);
        }
        let job = self.jobs.submit(job);
        let event = self.jobs.wait(&job, |progress: &Progress| {
            if progress.total > 0 {
                bar.set_length(progress.total);
                bar.set_position(progress.done.min(progress.total));
            }
            let unnamed = progress.stage.is_empty();
            let message = if unnamed { &job.label } else { &progress.stage };
            bar.set_message(output::one_line(message));
        });
        bar.finish_and_clear();
        event
    }

    /// The output of a job and its duration in milliseconds.
    pub fn run<J: Receive<State>>(&mut self, job: J) -> Result<(J::Output, f64), Failure> {
        let event = self.event(Box::new(job));
        let wall_ms = event.wall_ms;
        match event.into_outcome::<J>() {
            Some(Outcome::Done(output)) => Ok((output, wall_ms)),
            Some(Outcome::Failed(sentence)) => Err(Failure::new(sentence)),
            Some(Outcome::DeviceFailed(failure)) => Err(Failure::new(failure.sentence)),
            Some(Outcome::Cancelled | Outcome::Partial(_)) | None => Err(Failure::new("Cancelled")),
        }
    }

    /// Whether files that exist may be overwritten.
    pub fn force(&self) -> bool {
        self.force
    }

    /// Refuses to overwrite without `--force`, and a second output of the same name.
    pub fn may_write(&self, path: &Path) -> Result<(), Failure> {
        self.must_be_new(path)?;
        if self.force || !path.exists() {
            return Ok(());
        }
        if path.is_dir() {
            return Err(Failure::new(format!(
                "Found a folder of this name, expected a file or an unused name; choose another name: {}",
                path.display()
            )));
        }
        // Advice to overwrite would cost the input.
        let sentence = match typed::is_named_twice(path) {
            true => {
                "This output is an input of the command, expected a file of its own; choose another name"
            }
            false => "The file exists; add --force to overwrite it",
        };
        Err(Failure::new(format!("{sentence}: {}", path.display())))
    }

    /// Refuses a path that another output of the command has.
    fn must_be_new(&self, path: &Path) -> Result<(), Failure> {
        // The file itself need not exist; its folder may be reached by several names.
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let folder = io::disk::without_links(folder).or_else(|_| std::path::absolute(folder));
        let place = folder
            .unwrap_or_default()
            .join(path.file_name().unwrap_or_default());
        let mut outputs = self.outputs.borrow_mut();
        if outputs.contains(&place) {
            return Err(Failure::usage(format!(
                "Two outputs have the same name, expected a name for each; choose another for one of them: {}",
                path.display()
            )));
        }
        outputs.push(place);
        Ok(())
    }

    /// Does the same as [`Runner::may_write`], and refuses a place where no file can be created: before the work.
    pub fn may_make(&self, path: &Path) -> Result<(), Failure> {
        self.may_write(path)?;
        io::atomic::check_file(path).map_err(|e| Failure::new(e.to_string()))
    }

    /// Refuses a folder that cannot be created or written to, and existing files in it: before the work.
    pub fn may_fill<'a>(
        &self,
        folder: &Path,
        files: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Result<(), Failure> {
        io::atomic::check_folder(folder).map_err(|e| Failure::new(e.to_string()))?;
        let mut files = files.into_iter();
        files.try_for_each(|file| self.may_write(file))
    }

    /// The report of a step of a protocol states the backend, which its provenance records.
    fn with_backend(&self, report: &serde_json::Value) -> serde_json::Value {
        let mut report = report.clone();
        if std::env::var_os(STEP_VARIABLE).is_some()
            && let Some(members) = report.as_object_mut()
        {
            let label = self.backend.label();
            members.insert("backend".to_owned(), label.into());
        }
        report
    }

    /// Prints what is about to be done; programs get it from [`Self::report`] afterwards.
    pub fn print(&self, text: &str) {
        if !self.json && !text.is_empty() {
            output::print_text(text.trim_end());
        }
    }

    /// Prints a line about a part of the work that begins or is done, unless `--quiet` is given.
    pub fn print_progress(&self, text: &str) {
        if !self.quiet {
            self.print(text);
        }
    }

    /// Reports the result: prints the text, or stores the JSON object until the command ends.
    pub fn report(&self, json: &serde_json::Value, text: &str) {
        self.reported.set(true);
        if self.too_little_work && cuda::is_installed() {
            note!("Computed on the CPU: too little work for a graphics card to save time");
        }
        match (self.json, text.trim_end()) {
            (true, _) => output::keep(self.with_backend(json)),
            // An error follows, without an empty line before it.
            (false, "") => {}
            (false, text) => output::print_text(text),
        }
    }
}
