//! Claims of several processes on the memory of one graphics card: one small file per process and card in a private
//! folder of the user, locked as long as the process runs.
//!
//! The file holds the number of bytes that its process has claimed and not allocated yet, and the time of the last change.
//! A claim counts for ten seconds only: jobs allocate at once what they have claimed, or less if they had estimated too
//! much.
//!
//! While a process compares the free memory with the claims of others and adds its own, it locks a file of the card, so
//! that two processes cannot claim the same memory. Where files cannot be written or locked, there are no claims, and
//! processes share a card as different programs do.

use super::disk::{self, File, TryLockError};
use super::{atomic, names_in, running};
use crate::compute::card_claims::{self, CardId, Ledger};
use crate::compute::thread;
use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const CLAIM: &str = "claim";
const TURN: &str = "turn";
/// How long a claim counts after it was made, or after its process last allocated a part of it.
const LASTING: Duration = Duration::from_secs(10);
/// Longest wait for another process that is making a claim, which takes less than a millisecond unless that process is
/// suspended.
const LONGEST_TURN: Duration = Duration::from_secs(1);

/// From now on, jobs on cards that this process opens respect the claims of other processes of this user. Does nothing on
/// systems other than Linux, or without a folder for files of running programs.
pub fn install() {
    if let Some(folder) = running::folder("cards").filter(|_| cfg!(target_os = "linux")) {
        card_claims::keep_in(Arc::new(ClaimFiles::new(&folder)));
    }
}

/// The claims in a folder, and those of this process among them.
#[derive(Debug)]
pub struct ClaimFiles {
    folder: PathBuf,
    lasting: Duration,
    longest_turn: Duration,
    own: Mutex<BTreeMap<CardId, OwnFile>>,
}

#[derive(Debug)]
struct OwnFile {
    name: String,
    file: File,
}

impl ClaimFiles {
    /// Files are created by the first claim.
    pub fn new(folder: &Path) -> Self {
        Self::with_times(folder, LASTING, LONGEST_TURN)
    }

    /// Like [`Self::new`], but claims count for the time `lasting`, and the longest wait for a process that is making a
    /// claim is `longest_turn`.
    pub fn with_times(folder: &Path, lasting: Duration, longest_turn: Duration) -> Self {
        Self {
            folder: folder.to_owned(),
            lasting,
            longest_turn,
            own: Mutex::default(),
        }
    }

    /// Writes a claim to the file of this process and creates the file first if needed; `None` if that fails.
    fn write(&self, card: &CardId, bytes: u64) -> Option<()> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if !own.contains_key(card) {
            atomic::make_private_folder(&self.folder).ok()?;
            let name = format!("{}-{}", text(card), running::unique_name());
            let file = running::create_locked(&self.folder, &name, CLAIM).ok()?;
            own.insert(*card, OwnFile { name, file });
        }
        let OwnFile { file, .. } = own.get_mut(card)?;
        file.seek(SeekFrom::Start(0)).ok()?;
        let record = [bytes.to_le_bytes(), now_ms().to_le_bytes()];
        file.write_all(record.as_flattened()).ok()
    }

    /// The bytes that another process claims in this file; `None` if its claim is too old or cannot be read. Removes the
    /// file of a process that has ended.
    fn read(&self, path: &Path) -> Option<u64> {
        let mut file = File::open_to_write(path).ok()?;
        if running::is_running(&file)? {
            let mut record = [[0; 8]; 2];
            file.read_exact(record.as_flattened_mut()).ok()?;
            let [bytes, claimed_ms] = record.map(u64::from_le_bytes);
            let age_ms = now_ms().saturating_sub(claimed_ms);
            return (u128::from(age_ms) < self.lasting.as_millis()).then_some(bytes);
        }
        let _ = disk::remove_file(path);
        None
    }

    /// The locked file of a card; `None` if another process keeps it too long, or if locking fails.
    fn turn(&self, card: &CardId) -> Option<File> {
        atomic::make_private_folder(&self.folder).ok()?;
        let path = running::path(&self.folder, &text(card), TURN);
        let file = File::create(&path).ok()?;
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Some(file),
                Err(TryLockError::WouldBlock) if started.elapsed() <= self.longest_turn => {
                    thread::pause(Duration::from_millis(1));
                }
                Err(_) => return None,
            }
        }
    }
}

impl Ledger for ClaimFiles {
    fn of_others(&self, card: &CardId) -> u64 {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let own = own.get(card).map(|own| own.name.clone());
        let of_card = text(card);
        let is_other = |path: &PathBuf| {
            let name = path.file_stem().and_then(|name| name.to_str());
            let is_claim = path.extension().is_some_and(|ending| ending == CLAIM);
            is_claim && name.is_some_and(|n| n.starts_with(&of_card) && Some(n) != own.as_deref())
        };
        let paths = names_in(&self.folder).unwrap_or_default();
        let claims = paths.iter().filter(|path| is_other(path));
        let claims = claims.filter_map(|path| self.read(path));
        claims.fold(0, u64::saturating_add)
    }

    fn record(&self, card: &CardId, bytes: u64) {
        // If this fails, other processes do not see the claim, which the documentation of the module allows.
        let _ = self.write(card, bytes);
    }

    fn in_turn(&self, card: &CardId, work: &mut dyn FnMut()) {
        let turn = self.turn(card);
        work();
        if let Some(file) = turn {
            file.unlock();
        }
    }
}

impl Drop for ClaimFiles {
    fn drop(&mut self) {
        let own = self.own.get_mut().unwrap_or_else(PoisonError::into_inner);
        for OwnFile { name, file } in own.values() {
            // Removed while it is still locked, so that no other process does so at the same time.
            let _ = disk::remove_file(&running::path(&self.folder, name, CLAIM));
            file.unlock();
        }
    }
}

/// The card as a part of file names.
fn text(card: &CardId) -> String {
    card.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}
