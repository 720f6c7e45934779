//! Claims of several processes on the memory of one card, in a folder of their own. Each ledger stands for a process.

use crate::support::test;
use arcuate::compute::card_claims::{CardId, Claims, Ledger, SMALL_BYTES};
use arcuate::io::card_claims::ClaimFiles;
use arcuate::io::disk::{self, Operation};
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub fn tests() -> Vec<Trial> {
    // Windows does not let a process read a file that another has locked; claims are for Linux only.
    if cfg!(windows) {
        return Vec::new();
    }
    vec![
        test("card_claims::two processes on one card", two_processes),
        test(
            "card_claims::a claim falls with its allocations",
            allocations,
        ),
        test("card_claims::processes that have ended", ended),
        test("card_claims::old claims do not count", old_claims),
        test("card_claims::small claims need no file", small),
        test("card_claims::many claims at the same time", many),
        test("card_claims::a folder that cannot be used", no_folder),
        test("card_claims::files that cannot be locked", no_locks),
    ]
}

const GB: u64 = 1_000_000_000;
const CARD: CardId = [0xA5; 16];

/// The claims of a process in a folder. They last for an hour: a slow machine changes nothing.
fn files_in(folder: &Path) -> Arc<ClaimFiles> {
    let hour = Duration::from_secs(3600);
    Arc::new(ClaimFiles::with_times(folder, hour, hour))
}

/// The claims of a process on the card.
fn process(folder: &Path) -> Claims {
    Claims::new(CARD, Some(files_in(folder)))
}

/// Whether a process may claim bytes of 10 GB of free memory.
fn claims_of_ten(claims: &Claims, bytes: u64) -> bool {
    claims.claim(bytes, &mut |others| bytes + others <= 10 * GB)
}

fn two_processes() {
    let dir = tempfile::tempdir().expect("a folder");
    let [first, second] = [process(dir.path()), process(dir.path())];
    assert!(claims_of_ten(&first, 6 * GB));
    assert_eq!((first.of_others(), second.of_others()), (0, 6 * GB));
    // The driver still reports 10 GB of free memory, because nothing is allocated yet.
    assert!(!claims_of_ten(&second, 5 * GB));
    assert!(claims_of_ten(&second, 4 * GB));
    assert_eq!(first.of_others(), 4 * GB);
    // Another card is not concerned.
    let other = Claims::new([1; 16], Some(files_in(dir.path())));
    assert_eq!(other.of_others(), 0);
    // Without a ledger there are no others.
    assert_eq!(Claims::new(CARD, None).of_others(), 0);
}

fn allocations() {
    let dir = tempfile::tempdir().expect("a folder");
    let [first, second] = [process(dir.path()), process(dir.path())];
    assert!(claims_of_ten(&first, 8 * GB));
    first.allocated(3 * GB);
    assert_eq!(second.of_others(), 5 * GB);
    // Small allocations reach the file once they add up to a sixteenth of the claim.
    for _ in 0..10 {
        first.allocated(GB / 10);
    }
    let left = second.of_others();
    assert!((4 * GB..=4 * GB + 5 * GB / 16).contains(&left), "{left}");
    // A part of a claim does not add to it.
    assert!(claims_of_ten(&first, GB));
    assert_eq!(second.of_others(), 4 * GB);
    first.allocated(9 * GB);
    assert_eq!(second.of_others(), 0);
}

fn ended() {
    let dir = tempfile::tempdir().expect("a folder");
    let second = process(dir.path());
    let first = process(dir.path());
    assert!(claims_of_ten(&first, 6 * GB));
    assert_eq!(second.of_others(), 6 * GB);
    let is_claim = |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == "claim");
    let files = || {
        let paths = std::fs::read_dir(dir.path()).expect("a folder").flatten();
        paths.map(|entry| entry.path()).filter(is_claim).count()
    };
    assert_eq!(files(), 1);
    drop(first);
    assert_eq!((second.of_others(), files()), (0, 0));
    // The file of a process that was killed is not locked any more.
    let name = format!("{}-1-1.claim", "a5".repeat(16));
    let record = [(6 * GB).to_le_bytes(), u64::MAX.to_le_bytes()];
    std::fs::write(dir.path().join(name), record.as_flattened()).expect("a file");
    assert_eq!(files(), 1);
    assert_eq!((second.of_others(), files()), (0, 0));
}

fn old_claims() {
    let dir = tempfile::tempdir().expect("a folder");
    let [first, second] = [process(dir.path()), process(dir.path())];
    assert!(claims_of_ten(&first, 6 * GB));
    assert_eq!(second.of_others(), 6 * GB);
    let entries = std::fs::read_dir(dir.path()).expect("a folder").flatten();
    let mut paths = entries.map(|entry| entry.path());
    let claim = paths.find(|path| path.extension().is_some_and(|e| e == "claim"));
    // Its process still runs, but has not allocated what it claimed long ago.
    let record = [(6 * GB).to_le_bytes(), 1u64.to_le_bytes()];
    std::fs::write(claim.expect("a claim"), record.as_flattened()).expect("a file");
    assert_eq!(second.of_others(), 0);
}

fn small() {
    let dir = tempfile::tempdir().expect("a folder");
    let claims = process(&dir.path().join("cards"));
    assert!(claims_of_ten(&claims, SMALL_BYTES - 1));
    assert!(!dir.path().join("cards").exists());
    assert!(claims_of_ten(&claims, SMALL_BYTES));
    assert!(dir.path().join("cards").exists());
}

/// Threads, each with a ledger of its own, claim 3 of 10 GB at the same time: three succeed, in whatever order.
fn many() {
    let dir = tempfile::tempdir().expect("a folder");
    let granted = AtomicU64::new(0);
    let processes: Vec<Claims> = (0..8).map(|_| process(dir.path())).collect();
    std::thread::scope(|scope| {
        for claims in &processes {
            scope.spawn(|| {
                if claims_of_ten(claims, 3 * GB) {
                    granted.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(granted.into_inner(), 3);
}

fn no_folder() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("file");
    std::fs::write(&file, "").expect("a file");
    let ledger = files_in(&file.join("cards"));
    ledger.record(&CARD, 6 * GB);
    assert_eq!(ledger.of_others(&CARD), 0);
    let unlocked = Claims::new(CARD, Some(ledger));
    assert!(claims_of_ten(&unlocked, 10 * GB));
}

/// Without locks there are no claims; nobody waits for them, and no file remains.
fn no_locks() {
    let dir = tempfile::tempdir().expect("a folder");
    let claims = process(dir.path());
    let refuse = |operation: Operation, _: &Path| match operation {
        Operation::Lock => Err(std::io::Error::other("no locks")),
        _ => Ok(()),
    };
    let _watch = disk::watch(dir.path(), Arc::new(refuse));
    assert!(claims_of_ten(&claims, 6 * GB));
    assert_eq!(process(dir.path()).of_others(), 0);
    let entries = std::fs::read_dir(dir.path()).expect("a folder").flatten();
    let mut paths = entries.map(|entry| entry.path());
    assert!(paths.all(|path| path.extension().is_some_and(|e| e == "turn")));
}
