//! Giving the crosshair to other windows, and watching theirs.

use crate::compute::Control;
pub use crate::io::crosshair_link::OtherWindows;
use crate::io::crosshair_link::{self, SharedCrosshair};
use crate::jobs::{
    Delivery, Job, JobError, Outcome, PartialSender, Receive, Slot, Unfinished, Worker, wait,
};
use crate::state::crosshair_link::update;
use crate::state::job_end::ended;
use crate::state::{Effect, State};
use glam::DVec3;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The crosshair as other windows know it; the newest position replaces the one before.
pub const LINK: Slot = Slot::latest_wins("crosshair link")
    .beyond_document()
    .in_background();
/// The end of the link, also when the window closes.
const END: Slot = Slot::queue("end of the crosshair link")
    .writing()
    .in_background();

/// Interval at which the files of the other windows are read: less than a movement that looks like one.
const INTERVAL: Duration = Duration::from_millis(30);

/// The files of this window, between two jobs; locked while they are read or written, and only by workers.
#[derive(Default)]
struct LinkMemory(Mutex<Option<SharedCrosshair>>);

impl LinkMemory {
    fn lock(&self) -> MutexGuard<'_, Option<SharedCrosshair>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives the crosshair to the other windows and reports theirs, until a newer position replaces the job.
#[derive(Clone, Debug)]
pub struct ShareCrosshair {
    /// World mm.
    pub at: DVec3,
    /// Takes over the position of the other windows if there are any, and gives its own only otherwise.
    pub joins: bool,
    /// Folder of the positions; `None`: that of the user's running programs.
    pub folder: Option<PathBuf>,
}

impl ShareCrosshair {
    /// Opens the files of this window if need be, and gives the position.
    fn begin(&self, memory: &LinkMemory, control: &Control) -> Result<OtherWindows, JobError> {
        let mut own = memory.lock();
        control.check()?;
        let own = match &mut *own {
            Some(own) => own,
            none => {
                let folder = self.folder.clone().or_else(crosshair_link::folder);
                let folder = folder.ok_or_else(|| {
                    JobError::Sentence(
                        "Found no folder for files of running programs, expected XDG_RUNTIME_DIR or HOME to name one: set \
                         one of them and start again"
                            .into(),
                    )
                })?;
                none.insert(SharedCrosshair::new(&folder)?)
            }
        };
        let others = own.join();
        // Otherwise the position here is newer than any that was read just now.
        let position = others.position.filter(|_| self.joins);
        if position.is_none() {
            own.share(self.at)?;
        }
        Ok(OtherWindows { position, ..others })
    }
}

impl Job for ShareCrosshair {
    type Output = OtherWindows;

    fn slot(&self) -> Slot {
        LINK
    }

    fn label(&self) -> String {
        "Sharing the crosshair".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        partial: &PartialSender<OtherWindows>,
    ) -> Result<OtherWindows, JobError> {
        let memory: Arc<LinkMemory> = worker.memory();
        let mut others = self.begin(&memory, control)?;
        let mut reported = None;
        loop {
            if others.position.is_some() || reported != Some(others.count) {
                partial.wait_until_taken(control);
                control.check()?;
                partial.send(others);
                reported = Some(others.count);
            }
            wait(INTERVAL, control)?;
            let mut own = memory.lock();
            control.check()?;
            others = match &mut *own {
                Some(own) => own.read_others(),
                None => return Ok(OtherWindows::default()),
            };
        }
    }
}

impl Receive<State> for ShareCrosshair {
    fn receive(
        &self,
        delivery: Delivery<OtherWindows>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        match delivery.outcome {
            Outcome::Partial(others) => update::others_changed(state, others),
            _ => ended(state, self, delivery, effects, |_, _, _, _| {}),
        }
    }

    fn unfinished(&self, end: &Unfinished, state: &mut State) -> bool {
        if end.sentence().is_some() {
            update::ended(state);
        }
        false
    }
}

/// Removes the files of this window.
#[derive(Clone, Debug)]
pub struct EndLink;

impl Job for EndLink {
    type Output = ();

    fn slot(&self) -> Slot {
        END
    }

    fn label(&self) -> String {
        "Ending the link of the crosshair".to_owned()
    }

    fn run(self, worker: &Worker, _: &Control, _: &PartialSender<()>) -> Result<(), JobError> {
        worker.memory::<LinkMemory>().lock().take();
        Ok(())
    }
}

impl Receive<State> for EndLink {
    fn receive(&self, delivery: Delivery<()>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(state, self, delivery, effects, |_, (), _, _| {});
    }
}
