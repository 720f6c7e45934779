//! The window's state without a window: takes actions and carries out their effects at once.

use super::output::report_message;
use super::runner::{Failure, Runner};
use crate::compute::Control;
use crate::io::session::{self, FileComparison};
use crate::jobs::{Outcome, Receive};
use crate::state::pathways::PathwayResult;
use crate::state::pathways::jobs::{KEPT_PATHWAY, PATHWAY};
use crate::state::sessions::{FileStatus, Missing};
use crate::state::tensors::jobs::CompareTensors;
use crate::state::update::FindKept;
use crate::state::{
    Action, Effect, FilesAction, SessionAction, Severity, State, UnsavedAction, update,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub struct Headless<'a> {
    pub state: State,
    runner: &'a mut Runner,
}

/// Says in one sentence how a file differs from the one saved with the session, and what to do.
fn difference(file: &FileStatus) -> String {
    let remedy = match &file.standing {
        FileComparison::Missing(why) => remedy(why),
        _ => {
            "restore the earlier file, or open the session in the window, which can continue with this one"
        }
    };
    let why = file.standing.difference_text().unwrap_or_default();
    format!("{why}: {}; {remedy}", file.path.display())
}

fn remedy(missing: &Missing) -> &'static str {
    match missing {
        Missing::Gone | Missing::Rejected(_) => "name its folder with --look-in",
        Missing::Folder => {
            "restore the file in place of the folder, or name its folder with --look-in"
        }
        Missing::Denied => "ask its owner for permission to read it",
        Missing::Unreadable(_) => "try again, or name a folder with a copy of it with --look-in",
        Missing::Companion(_, why) => remedy(why),
    }
}

impl<'a> Headless<'a> {
    pub fn new(runner: &'a mut Runner) -> Self {
        let mut state = State::new(runner.backend.label());
        state.runtime.device.backend.reason = runner.backend.reason();
        state.runtime.device.backend.on_card = runner.backend.accelerator().is_some();
        Self { state, runner }
    }

    /// Applies an action and everything that follows from it; a job that fails ends it.
    pub fn act(&mut self, action: impl Into<Action>) -> Result<(), Failure> {
        let action = action.into();
        let effects = update(&mut self.state, action);
        self.carry_out(effects)?;
        // There is no user to ask which visit to open, so it is the first.
        match self.state.runtime.files.folder {
            Some(_) => self.act(Action::Files(FilesAction::OpenVisit(Some(0)))),
            None => Ok(()),
        }
    }

    /// Opens a session with all its files, missing ones from `folders`; an error names those still missing or changed.
    /// `partly`: opens it without the missing ones.
    pub fn open_session(
        &mut self,
        file: &Path,
        folders: &[PathBuf],
        partly: bool,
    ) -> Result<(), Failure> {
        self.state.runtime.sessions.strict = true;
        let path = std::path::absolute(file).unwrap_or(file.to_owned());
        self.act(Action::Session(SessionAction::CloseDocument(
            UnsavedAction::Open(path),
        )))?;
        // A file that was found but cannot be read is not searched for again.
        let mut tried = BTreeSet::new();
        while let Some(opening) = self.state.runtime.sessions.opening.clone() {
            let missing = opening.changed_files().filter(|(i, _)| !tried.contains(i));
            let mut missing =
                missing.filter(|(_, f)| matches!(f.standing, FileComparison::Missing(_)));
            let moved = missing.find_map(|(i, f)| {
                Some((i, session::find_moved(&f.entry, folders, &Control::new())?))
            });
            match moved {
                Some((index, path)) => {
                    tried.insert(index);
                    self.act(Action::Session(SessionAction::Relocate { index, path }))?;
                }
                None if opening.changed_files().next().is_some() => {
                    let is_missing =
                        |f: &FileStatus| matches!(f.standing, FileComparison::Missing(_));
                    let goes_on = partly && opening.changed_files().all(|(_, f)| is_missing(f));
                    let all = opening.changed_files().map(|(_, file)| difference(file));
                    let mut sentences: Vec<String> = all.collect();
                    let last = if goes_on { None } else { sentences.pop() };
                    let severity = match goes_on {
                        true => Severity::Warning,
                        false => Severity::Error,
                    };
                    for sentence in sentences {
                        report_message(severity, &sentence);
                    }
                    match last {
                        Some(last) => return Err(Failure::new(last)),
                        None => self.act(Action::Session(SessionAction::OpenAnyway))?,
                    }
                }
                None => self.act(Action::Session(SessionAction::OpenAnyway))?,
            }
        }
        Ok(())
    }

    /// Prints the window's warnings, mostly about files, to standard error.
    pub fn report_warnings(&self) {
        let messages = self.state.runtime.notices.messages.iter();
        for message in messages.filter(|m| m.severity == Severity::Warning) {
            report_message(message.severity, &message.text);
        }
    }

    /// Runs a job that no action stands for.
    pub fn request(&mut self, request: impl Receive<State>) -> Result<(), Failure> {
        self.carry_out(vec![Effect::submit(request)])
    }

    /// The output of a job that does not change the state here.
    pub fn run<J: Receive<State>>(&mut self, request: J) -> Result<J::Output, Failure> {
        self.runner.run(request).map(|(output, _)| output)
    }

    /// The kept pathway that a job finds.
    pub fn solve(&mut self, request: FindKept) -> Result<Box<PathwayResult>, Failure> {
        match request {
            FindKept::Tensors(job) => self.run(*job),
            FindKept::Distributions(job) => self.run(job),
        }
    }

    fn carry_out(&mut self, mut effects: Vec<Effect>) -> Result<(), Failure> {
        while !effects.is_empty() {
            let Effect::Submit(job) = effects.remove(0) else {
                continue;
            };
            // There is no user to ask here.
            if job.job::<CompareTensors>().is_some() {
                continue;
            }
            let event = self.runner.event(job);
            match event.ending() {
                // The absence of a pathway is a result, too.
                Outcome::Failed(_) if matches!(event.slot, PATHWAY | KEPT_PATHWAY) => {}
                Outcome::Failed(sentence) => return Err(Failure::new(sentence)),
                Outcome::DeviceFailed(failure) => return Err(Failure::new(failure.sentence)),
                Outcome::Done(_) | Outcome::Partial(_) | Outcome::Cancelled => {}
            }
            effects.extend(update(&mut self.state, Action::Event(event)));
        }
        let mut messages = self.state.runtime.notices.messages.iter();
        match messages.find(|m| m.severity == Severity::Error) {
            Some(error) => Err(Failure::new(error.text.clone())),
            None => Ok(()),
        }
    }
}
