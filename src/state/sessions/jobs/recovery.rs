//! Unsaved work: saving it for recovery, and finding that of earlier windows.

use crate::compute::Control;
use crate::io::{recovery, session};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Worker};
use crate::state::job_end::ended;
use crate::state::sessions::jobs::memory::SessionMemory;
use crate::state::sessions::jobs::save::write_if_new;
use crate::state::sessions::saved;
use crate::state::sessions::types::draft::SessionDraft;
use crate::state::sessions::types::file::{RecoverableSession, SessionContents};
use crate::state::sessions::update;
use crate::state::{Effect, State};
use std::path::{Path, PathBuf};

/// Saving for recovery, in case the window ends unexpectedly.
pub const RECOVERY: Slot = Slot::queue("recovery").writing().in_background();

const LOOKING: &str = "Looking for unsaved work";

/// Saves to this window's own folder.
#[derive(Clone, Debug)]
pub struct Autosave {
    pub draft: Box<SessionDraft>,
}

impl Job for Autosave {
    type Output = ();

    fn slot(&self) -> Slot {
        RECOVERY
    }

    fn label(&self) -> String {
        "Saving for recovery".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<()>,
    ) -> Result<(), JobError> {
        let memory = worker.memory::<SessionMemory>();
        let path = memory.own_session()?;
        Ok(write_if_new(&path, &self.draft, &memory, control)?)
    }
}

impl Receive<State> for Autosave {
    fn receive(&self, delivery: Delivery<()>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(state, self, delivery, effects, |state, (), _, effects| {
            update::autosaved(state, effects);
        });
    }
}

/// Finds unsaved work of other windows; from now on no other process takes it.
#[derive(Clone, Debug)]
pub struct FindRecoverable;

impl Job for FindRecoverable {
    type Output = Recoverable;

    fn slot(&self) -> Slot {
        RECOVERY
    }

    fn label(&self) -> String {
        LOOKING.to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        _: &Control,
        _: &PartialSender<Recoverable>,
    ) -> Result<Recoverable, JobError> {
        Ok(recoverable(&worker.memory::<SessionMemory>()))
    }
}

impl Receive<State> for FindRecoverable {
    fn receive(
        &self,
        delivery: Delivery<Recoverable>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, output, _, _| {
            let recovery = &mut state.runtime.sessions.recovery;
            recovery.sessions.extend(output.sessions);
            recovery.search_again = output.is_locked;
        });
    }
}

/// Unsaved work of other windows.
#[derive(Clone, Debug)]
pub struct Recoverable {
    /// Sessions that no earlier search has found.
    pub sessions: Vec<RecoverableSession>,
    /// Other processes lock more: running windows, or killed ones that have not ended yet.
    pub is_locked: bool,
}

/// Removes unsaved work that was recovered or discarded.
#[derive(Clone, Debug)]
pub struct ForgetRecoverable {
    pub session: PathBuf,
}

impl Job for ForgetRecoverable {
    type Output = ();

    fn slot(&self) -> Slot {
        RECOVERY
    }

    fn label(&self) -> String {
        LOOKING.to_owned()
    }

    fn run(self, worker: &Worker, _: &Control, _: &PartialSender<()>) -> Result<(), JobError> {
        worker.memory::<SessionMemory>().forget(&self.session);
        Ok(())
    }
}

impl Receive<State> for ForgetRecoverable {
    fn receive(&self, delivery: Delivery<()>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(state, self, delivery, effects, |_, (), _, _| {});
    }
}

/// Removes this window's own recovery copy: there is nothing to recover any more.
#[derive(Clone, Debug)]
pub struct RemoveRecoveryCopy;

impl Job for RemoveRecoveryCopy {
    type Output = ();

    fn slot(&self) -> Slot {
        RECOVERY
    }

    fn label(&self) -> String {
        LOOKING.to_owned()
    }

    fn run(self, worker: &Worker, _: &Control, _: &PartialSender<()>) -> Result<(), JobError> {
        worker.memory::<SessionMemory>().remove_own_folder();
        Ok(())
    }
}

impl Receive<State> for RemoveRecoveryCopy {
    fn receive(&self, delivery: Delivery<()>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(state, self, delivery, effects, |_, (), _, _| {});
    }
}

fn recoverable(memory: &SessionMemory) -> Recoverable {
    match recovery::root() {
        Some(root) => recoverable_in(&root, memory),
        None => Recoverable {
            sessions: Vec::new(),
            is_locked: false,
        },
    }
}

fn recoverable_in(root: &Path, memory: &SessionMemory) -> Recoverable {
    let mut sessions = Vec::new();
    for recovery_folder in recovery::recoverable_folders(root) {
        let path = recovery_folder.session();
        // A file that cannot be read is left as it is: a newer version may read it.
        let Ok(session) = session::read(&path) else {
            continue;
        };
        let Ok((content, _)) = saved::parse(session.content) else {
            continue;
        };
        let document = &content.document;
        sessions.push(RecoverableSession {
            written_s: session.saved_s,
            name: document.name.clone(),
            contents: SessionContents::from_saved(document),
            origin: content.origin.clone(),
            session: path,
        });
        memory.lock().left.push(recovery_folder);
    }
    let inner = memory.lock();
    let here: Vec<_> = inner.left.iter().chain(&inner.recovery_folder).collect();
    let is_locked = recovery::is_any_locked(root, &here);
    Recoverable {
        sessions,
        is_locked,
    }
}
