//! The seeds of the fuzzers, and the cases that they found: each is read again by its entry, without a panic, within
//! the permitted memory and time. `tests/README.md` explains fuzzing.

mod seeds;

use crate::support::entries::{self, ENTRIES, Entry};
use crate::support::{process_time, test};
use arcuate::io;
use libtest_mimic::Trial;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Makes a process of this program read all cases: memory is counted for a whole process.
const CHILD: &str = "ARCUATE_FUZZ_CHILD";

/// Names a folder for small files of every entry: seeds, written by our own writers.
const MAKE: &str = "ARCUATE_MAKE_SEEDS";

/// Longest time for a case; most take a millisecond, but the machine may be busy.
const LONGEST: Duration = Duration::from_secs(5);

pub fn tests() -> Vec<Trial> {
    vec![
        test("fuzz::seeds_and_findings_are_answered", cases),
        test("fuzz::made_seeds_are_read", created),
        test("fuzz::every_entry_has_seeds", whole),
        test("fuzz::parts_are_distinguished", parts),
    ]
}

/// Seeds, and cases found.
fn folders(entry: &Entry) -> [PathBuf; 2] {
    let root = crate::support::root().join("tests/fuzz");
    ["seeds", "found"].map(|folder| root.join(folder).join(entry.name))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    io::names_in(folder).unwrap_or_default()
}

/// Reads the cases in a separate process, so that memory can be counted.
fn cases() {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .env(CHILD, "1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .expect("a process");
    let message = String::from_utf8_lossy(&output.stderr);
    let tail: Vec<&str> = message.lines().rev().take(12).collect();
    let tail: Vec<&str> = tail.into_iter().rev().collect();
    assert!(output.status.success(), "{}", tail.join("\n"));
    let read = message.lines().filter(|l| l.starts_with("## ")).count();
    assert!(read >= 2 * ENTRIES.len(), "{read} cases");
    println!("{read} cases");
}

/// Reads all cases and does not return, if this process is meant to.
pub fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    // A worker's panic fails only its job: here it fails the case.
    static PANICKED: AtomicBool = AtomicBool::new(false);
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICKED.store(true, Ordering::SeqCst);
        default_hook(info);
    }));
    for entry in ENTRIES {
        let folder = tempfile::tempdir().expect("a folder");
        let here = folder.path().join("here");
        std::fs::create_dir(&here).expect("made");
        entries::prepare(&here);
        for case in folders(entry).iter().flat_map(|f| files(f)) {
            let name = case.file_name().unwrap_or_default().to_string_lossy();
            eprintln!("## {} {name}", entry.name);
            let bytes = std::fs::read(&case).expect("readable");
            io::forget_peak();
            let before = io::resident_bytes();
            let started = process_time();
            entry.run(&here, &bytes);
            let took = process_time() - started;
            assert!(!PANICKED.load(Ordering::SeqCst), "a worker panicked");
            assert!(took < LONGEST, "it took {took:?}");
            if let Some((before, after)) = before.zip(io::resident_bytes()) {
                let taken = after.1.saturating_sub(before.0);
                let allowed = entry.allowed_bytes(&bytes);
                assert!(taken <= allowed, "it took {taken} bytes of {allowed}");
            }
        }
    }
    std::process::exit(0);
}

/// The output of our own writers is understood by the entries that fuzz it.
fn created() {
    let folder = tempfile::tempdir().expect("a folder");
    let into = std::env::var_os(MAKE).map(PathBuf::from);
    for entry in ENTRIES {
        // Commands change the current folder of the process, and print much.
        let runs = matches!(entry.name, "command" | "script");
        for (name, bytes) in seeds::seeds_for(entry.name) {
            let here = folder.path().join("here");
            std::fs::create_dir_all(&here).expect("made");
            assert!(
                runs || entry.run(&here, &bytes),
                "{} {name} is not read",
                entry.name
            );
            assert!(bytes.len() < 16_000, "{} {name}", entry.name);
            if let Some(into) = &into {
                let into = into.join(entry.name);
                std::fs::create_dir_all(&into).expect("made");
                std::fs::write(into.join(name), bytes).expect("written");
            }
        }
    }
}

/// Every case belongs to an entry.
fn whole() {
    let mut bytes = 0;
    for entry in ENTRIES {
        let [seeds, found] = folders(entry);
        assert!(!files(&seeds).is_empty(), "{} has no seeds", entry.name);
        let all = files(&seeds).into_iter().chain(files(&found));
        bytes += all.filter_map(|f| io::length_of(&f)).sum::<u64>();
        let root = seeds.parent().expect("a folder").to_owned();
        let known: BTreeSet<PathBuf> = ENTRIES.iter().map(|e| root.join(e.name)).collect();
        assert_eq!(files(&root).into_iter().collect::<BTreeSet<_>>(), known);
        let above = found.parent().expect("a folder");
        let named =
            |path: &Path| Entry::named(&path.file_name().unwrap_or_default().to_string_lossy());
        assert!(files(above).iter().all(|f| named(f).is_some()));
    }
    assert!(bytes < 300_000, "the cases take {bytes} bytes");
}

fn parts() {
    let reported = |input: &[u8]| -> Vec<(String, Vec<u8>)> {
        let parts = entries::parts(input, "a");
        parts.into_iter().map(|(n, b)| (n, b.to_vec())).collect()
    };
    let part = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
    assert_eq!(reported(b"12"), [part("a", b"12")]);
    assert_eq!(
        reported(b"<<a>>1<<b/c>>2"),
        [part("a", b"1"), part("b/c", b"2")]
    );
    // No part lies outside its folder.
    for name in ["../b", "/b", "b//c", ""] {
        let input = format!("<<{name}>>1");
        assert_eq!(reported(input.as_bytes()), [part("a", input.as_bytes())]);
    }
}
