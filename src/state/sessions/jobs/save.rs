//! Writes sessions.

use crate::compute::Control;
use crate::io::session::{self, Entry, PackedMask, PackedNumbers, SessionFile, Stamp, Sum};
use crate::io::{self, checksum};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Worker};
use crate::state::core::text::file_name;
use crate::state::files::jobs::SAVE;
use crate::state::job_end::ended;
use crate::state::sessions::jobs::memory::SessionMemory;
use crate::state::sessions::types::draft::{ResultToSum, SessionDraft, StoredMask, StoredNumbers};
use crate::state::sessions::update;
use crate::state::{Effect, State};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes a session.
#[derive(Clone, Debug)]
pub struct SaveSession {
    pub path: PathBuf,
    pub draft: Box<SessionDraft>,
    /// Checksum of the file that may be replaced; `None`: any file may be.
    pub expected_sha256: Option<String>,
}

impl Job for SaveSession {
    type Output = SaveOutcome;

    fn slot(&self) -> Slot {
        SAVE
    }

    fn label(&self) -> String {
        format!("Saving {}", file_name(&self.path))
    }

    fn named_file(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<SaveOutcome>,
    ) -> Result<SaveOutcome, JobError> {
        let memory = worker.memory::<SessionMemory>();
        let known = self.expected_sha256.as_deref();
        Ok(write(&self.path, &self.draft, known, &memory, control)?)
    }
}

impl Receive<State> for SaveSession {
    fn receive(
        &self,
        delivery: Delivery<SaveOutcome>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(
            state,
            self,
            delivery,
            effects,
            |state, outcome, _, effects| {
                update::save_ended(state, &self.path, self.draft.revision, outcome, effects);
            },
        );
    }
}

/// Outcome of saving a session.
#[derive(Clone, Debug)]
pub enum SaveOutcome {
    Saved {
        /// Checksum of the session file.
        sha256: String,
        /// Weights and values of maps that did not fit in the file.
        numbers_omitted: usize,
    },
    /// Nothing was saved: another program has changed the file, which may not be replaced.
    ChangedSince,
}

/// A session file of the present content.
fn compose(
    path: &Path,
    draft: &SessionDraft,
    memory: &SessionMemory,
    control: &Control,
) -> Result<SessionFile, io::Error> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = absolute.parent().unwrap_or(Path::new("/"));
    let known = |path: &Path| {
        let stamp = Stamp::new(path)?;
        let inner = memory.lock();
        let stamped = inner.files.get(path).filter(|(s, _)| *s == stamp);
        stamped.map(|(_, sum)| sum.clone())
    };
    let mut files = Vec::new();
    for listed in &draft.files {
        if let (true, Some((entry, from))) = (listed.as_known, &listed.earlier_entry) {
            files.push(entry.moved(from, folder));
            continue;
        }
        let companions = session::companions(&listed.path, listed.scan);
        let paths = std::iter::once(listed.path.clone()).chain(companions);
        let before: Vec<_> = paths.map(|path| (Stamp::new(&path), path)).collect();
        let described = session::describe(&listed.path, listed.scan, folder, &known, control);
        files.push(match (described, &listed.earlier_entry) {
            (Ok(entry), _) => {
                let mut inner = memory.lock();
                let all = std::iter::once(&entry).chain(&entry.companions);
                let sums: Vec<&String> = all.map(|e| &e.sha256).collect();
                if sums.len() == before.len() {
                    for ((stamp, path), sum) in before.into_iter().zip(sums) {
                        // A file that changed while it was read has no known checksum.
                        if let Some(stamp) = stamp.filter(|s| Stamp::new(&path) == Some(*s)) {
                            inner.files.insert(path, (stamp, sum.clone()));
                        }
                    }
                }
                entry
            }
            (Err(io::Error::Cancelled), _) => return Err(io::Error::Cancelled),
            (Err(_), Some((entry, from))) => entry.moved(from, folder),
            (Err(_), None) => Entry::unreadable(&listed.path, folder),
        });
    }
    let mut results = Vec::new();
    for result in &draft.results {
        let mut sum = match result {
            ResultToSum::Tensors(name, field) => {
                memory.sum(field.id(), || Sum::of_tensors(name, field))
            }
            ResultToSum::Values(name, id, values) => {
                memory.sum(*id, || Sum::of_values(name, values))
            }
            ResultToSum::Curves {
                name, tractogram, ..
            } => memory.sum(tractogram.id(), || Sum::of_tractogram(name, tractogram)),
            ResultToSum::Known(sum, from) => {
                let file = sum.file.as_ref();
                let file = file.map(|file| Entry::unreadable(&from.join(file), folder).path);
                let sum = sum.clone();
                results.push(Sum { file, ..sum });
                continue;
            }
        };
        // One result may have two names: a live one that was kept.
        let (ResultToSum::Tensors(name, _)
        | ResultToSum::Values(name, ..)
        | ResultToSum::Curves { name, .. }) = result
        else {
            continue;
        };
        sum.result.clone_from(name);
        if let ResultToSum::Curves {
            tractogram, stored, ..
        } = result
            && *stored
            && draft.store.keeps(tractogram)
        {
            let known = |path: &Path| {
                let stamp = Stamp::new(path);
                stamp.is_some() && memory.lock().kept.get(path).copied() == stamp
            };
            let file = session::store(&absolute, tractogram, &sum.sha256, &known, control)?;
            let place = folder.join(&file);
            if let Some(stamp) = Stamp::new(&place) {
                memory.lock().kept.insert(place, stamp);
            }
            sum.file = Some(file);
        }
        results.push(sum);
    }
    Ok(SessionFile {
        arcuate_session: session::VERSION,
        program: format!("Arcuate {}", env!("CARGO_PKG_VERSION")),
        saved_s: 0,
        computed_on: draft.computed_on.clone(),
        files,
        masks: draft
            .masks
            .iter()
            .map(|mask| packed(mask, memory))
            .collect(),
        numbers: numbers(&draft.numbers),
        results,
        content: draft.content.value(),
    })
}

/// The lists that fit, the first ones first.
fn numbers(all: &[StoredNumbers]) -> Vec<PackedNumbers> {
    let mut remaining = session::MAX_NUMBERS;
    let fitting = |numbers: &StoredNumbers| {
        let packed = match numbers {
            StoredNumbers::Numbers(values) => PackedNumbers::pack(values),
            StoredNumbers::Unchanged(packed) => (**packed).clone(),
        };
        match remaining.checked_sub(packed.bytes.len()) {
            Some(left) => {
                remaining = left;
                packed
            }
            None => PackedNumbers::count_only(packed.count),
        }
    };
    all.iter().map(fitting).collect()
}

fn packed(mask: &StoredMask, memory: &SessionMemory) -> PackedMask {
    match mask {
        StoredMask::Mask(mask) => memory.packed(mask),
        StoredMask::Unchanged(packed) => (**packed).clone(),
    }
}

/// Writes a session; `known` is the checksum of the file that may be replaced, `None` if any may be.
fn write(
    path: &Path,
    draft: &SessionDraft,
    known: Option<&str>,
    memory: &SessionMemory,
    control: &Control,
) -> Result<SaveOutcome, io::Error> {
    let has_changed = || match known {
        Some(known) if path.exists() => checksum::of_file(path, control).map(|sum| sum != known),
        _ => Ok(false),
    };
    if has_changed()? {
        return Ok(SaveOutcome::ChangedSince);
    }
    let session = compose(path, draft, memory, control)?;
    // Composing takes a while: it computes checksums of files and writes streamlines.
    if has_changed()? {
        return Ok(SaveOutcome::ChangedSince);
    }
    let omitted = |n: &&PackedNumbers| n.bytes.is_empty() && n.count > 0;
    let omitted = session.numbers.iter().filter(omitted).count();
    Ok(SaveOutcome::Saved {
        sha256: write_session(path, session)?,
        numbers_omitted: omitted,
    })
}

/// Writes a session unless the same content is already on the disk.
pub(in crate::state) fn write_if_new(
    path: &Path,
    draft: &SessionDraft,
    memory: &SessionMemory,
    control: &Control,
) -> Result<(), io::Error> {
    let session = compose(path, draft, memory, control)?;
    if memory.lock().last.as_ref() == Some(&session) {
        return Ok(());
    }
    write_session(path, session.clone())?;
    memory.lock().last = Some(session);
    Ok(())
}

/// Returns the checksum of the written file.
fn write_session(path: &Path, mut session: SessionFile) -> Result<String, io::Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    session.saved_s = now.map_or(0, |d| d.as_secs());
    let sum = session::write(path, &session)?;
    let names: Vec<String> = session.results.into_iter().filter_map(|r| r.file).collect();
    session::remove_unreferenced(path, &names);
    Ok(sum)
}
