//! How the program ends and which files it leaves: after a signal, at the limit of a file's size, with a full standard
//! output, and with faster programs at work. The parts of strange names that reach a terminal.

use super::arcuate;
use crate::support::{test, wait_for};
use arcuate::compute::Control;
use arcuate::data::Tractogram;
use arcuate::io::{streamlines, tck, trx};
use libtest_mimic::Trial;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

pub fn tests() -> Vec<Trial> {
    let mut all = vec![
        test("cli::cells of tables are not formulas", formulas),
        test("cli::a reader that closes its pipe is not an error", gone),
    ];
    if cfg!(target_os = "linux") {
        all.extend([
            test("cli::signals leave nothing behind", signals),
            test("cli::a name taken by another program stays", taken),
            test("cli::two programs write one folder", two_programs),
            test("cli::a file above the limit is an error", too_large),
            test("cli::a full standard output is an error", full),
            test(
                "cli::files of a command that failed halfway are named",
                halfway,
            ),
            test("cli::names change no terminal", names),
        ]);
    }
    all
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_arcuate");

/// Writing it takes a noticeable time: 60 MB.
fn large(folder: &Path) -> PathBuf {
    let path = folder.join("large.tck");
    let points: Vec<[f32; 3]> = (0..5_000_000)
        .map(|i| [i as f32 * 1e-3, 1.0, 2.0])
        .collect();
    let offsets: Vec<u64> = (0..=50_000).map(|i| 100 * i).collect();
    let lines = Tractogram::new(points, offsets);
    tck::save(&path, &lines, "made", &Control::new()).expect("saved");
    path
}

/// The program's temporary files and folders that are not empty.
fn temporary(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let ours = entries.map(|e| e.path()).filter(|p| {
        let name = p.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(".arcuate-")
    });
    ours.filter(|p| std::fs::metadata(p).is_ok_and(|m| m.is_dir() || m.len() > 0))
        .collect()
}

fn send(signal: &str, child: &Child) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args([signal, &id]).status();
    assert!(sent.expect("kill").success());
}

/// Whether a process is stopped or has ended.
fn stands_still(child: &Child) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()));
    // The name of the program, in brackets, may contain spaces.
    let state = stat.as_ref().ok().and_then(|s| s.rsplit_once(") "));
    !cfg!(target_os = "linux") || state.is_none_or(|(_, s)| s.starts_with(['T', 'Z']))
}

/// A program that is stopped while it writes into a folder: `begin` starts it.
fn stopped(folder: &Path, mut begin: impl FnMut() -> Command) -> Child {
    for _ in 0..20 {
        let mut child = begin()
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        while temporary(folder).is_empty() && child.try_wait().expect("asked").is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        send("-STOP", &child);
        // The system takes a moment to stop a process, longer on a busy machine.
        wait_for("a stopped program", || stands_still(&child).then_some(()));
        if child.try_wait().expect("asked").is_none() && !temporary(folder).is_empty() {
            return child;
        }
        send("-CONT", &child);
        child.wait().expect("gone");
        let _ = std::fs::remove_file(folder.join("out.trx"));
    }
    panic!("it was never seen to write");
}

fn convert(rest: &[&str]) -> Command {
    // A shell that runs the tests in the background makes them and their children ignore SIGINT.
    let mut command = Command::new("env");
    command.args(["--default-signal", PROGRAM]);
    command.args(["convert", "large.tck", "out.trx"]).args(rest);
    command
}

fn resume(child: Child) -> Output {
    send("-CONT", &child);
    child.wait_with_output().expect("gone")
}

fn error_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn signals() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    large(here);
    let out = here.join("out.trx");
    for (signal, code, rest) in [
        ("-INT", 130, &[][..]),
        ("-TERM", 143, &["--json"]),
        ("-HUP", 129, &[]),
    ] {
        // On a busy machine the program may finish before the thread that waits for signals runs.
        let ended = (0..20).find_map(|_| {
            let child = stopped(here, || convert(rest));
            send(signal, &child);
            let output = resume(child);
            let done = output.status.success() && std::fs::remove_file(&out).is_ok();
            (!done).then_some(output)
        });
        let output = ended.expect("a signal before the end");
        let error = error_text(&output);
        assert_eq!(output.status.code(), Some(code), "{signal}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.starts_with("arcuate: "), "{error}");
        assert!(error.contains("were removed"), "{error}");
        match rest.is_empty() {
            true => assert_eq!(output.stdout, b""),
            false => {
                let object: serde_json::Value =
                    serde_json::from_slice(&output.stdout).expect("an object");
                let sentence = object["errors"][0].as_str().expect("a sentence");
                assert_eq!(error, format!("arcuate: error: {sentence}\n"));
            }
        }
        assert_eq!(temporary(here), [] as [PathBuf; 0], "{signal}");
        assert!(!out.exists());
    }
    // Started like by nohup.
    let ignoring = || {
        let mut command = Command::new("sh");
        let line = "trap '' HUP; exec \"$0\" convert large.tck out.trx";
        command.args(["-c", line, PROGRAM]);
        command
    };
    let child = stopped(here, ignoring);
    send("-HUP", &child);
    let output = resume(child);
    assert_eq!(output.status.code(), Some(0), "{}", error_text(&output));
    assert!(out.exists());
}

fn taken() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    large(here);
    let out = here.join("out.trx");
    let child = stopped(here, || convert(&[]));
    std::fs::write(&out, "theirs").expect("written");
    let output = resume(child);
    let error = error_text(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("add --force"), "{error}");
    assert_eq!(std::fs::read(&out).expect("read"), b"theirs");
    assert_eq!(temporary(here), [] as [PathBuf; 0]);
    let output = convert(&["--force"]).current_dir(here).output();
    let output = output.expect("the binary starts");
    assert!(output.status.success(), "{}", error_text(&output));
    assert_eq!(
        trx::read(&out, &Control::new()).expect("whole").0.len(),
        50_000
    );
}

fn two_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let lines = |n: usize| {
        let points = vec![[1.0; 3]; 200 * n];
        let offsets: Vec<u64> = (0..=n as u64).map(|i| 200 * i).collect();
        Tractogram::new(points, offsets)
    };
    for (name, n) in [("a.tck", 500), ("b.tck", 700)] {
        tck::save(&here.join(name), &lines(n), "made", &Control::new()).expect("saved");
    }
    let begin = |input: &str, rest: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(["convert", input, "x.trx/"]).args(rest);
        let command = command.current_dir(here).stdout(Stdio::null());
        command.stderr(Stdio::piped()).spawn().expect("started")
    };
    for round in 0..4 {
        let forced: &[&str] = if round % 2 == 0 { &[] } else { &["--force"] };
        let both = [begin("a.tck", forced), begin("b.tck", forced)];
        let ended = both.map(|child| child.wait_with_output().expect("gone"));
        let fine = ended.iter().filter(|o| o.status.success()).count();
        let text: String = ended.iter().map(error_text).collect();
        assert!(!text.contains("not empty"), "{text}");
        match forced.is_empty() {
            true => {
                assert_eq!(fine, 1, "{text}");
                assert!(text.contains("--force"), "{text}");
                assert_eq!(text.lines().count(), 1, "{text}");
            }
            false => assert_eq!(fine, 2, "{text}"),
        }
        let found = trx::read(&here.join("x.trx"), &Control::new())
            .expect("whole")
            .0;
        assert!([500, 700].contains(&found.len()));
        assert_eq!(temporary(here), [] as [PathBuf; 0]);
        if round % 2 == 1 {
            std::fs::remove_dir_all(here.join("x.trx")).expect("removed");
        }
    }
}

fn too_large() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    large(here);
    let line = "ulimit -f 100; exec \"$0\" convert large.tck out.trx";
    let output = Command::new("sh")
        .args(["-c", line, PROGRAM])
        .current_dir(here)
        .output()
        .expect("the shell starts");
    let error = error_text(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains("ulimit -f"), "{error}");
    assert_eq!(temporary(here), [] as [PathBuf; 0]);
    assert!(!here.join("out.trx").exists());
}

/// The first file is smaller than the limit of a file's size, the second is larger.
fn halfway() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    super::small_head("4", 12, 2, here);
    let line = "ulimit -f 20; exec \"$0\" fit head/dwi.nii.gz --maps mask,tensor --out m --json";
    let output = Command::new("sh")
        .args(["-c", line, PROGRAM])
        .current_dir(here)
        .output()
        .expect("the shell starts");
    let error = error_text(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(here.join("m/mask.nii.gz").exists() && !here.join("m/tensor.nii.gz").exists());
    assert!(
        error.contains(
            "note: These files were complete before the error and were kept: m/mask.nii.gz\n"
        ),
        "{error}"
    );
    assert!(
        error.contains("was not written") && !error.contains("nothing was changed"),
        "{error}"
    );
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert!(
        object["notes"].to_string().contains("m/mask.nii.gz"),
        "{object}"
    );
}

/// A file that is described quickly.
fn small(folder: &Path) {
    let lines = Tractogram::new(vec![[0.0; 3], [1.0; 3]], vec![0, 2]);
    tck::save(&folder.join("small.tck"), &lines, "made", &Control::new()).expect("saved");
}

fn full() {
    let folder = tempfile::tempdir().expect("a folder");
    small(folder.path());
    let cases: [&[&str]; 5] = [
        &["info", "small.tck", "--json"],
        &["info", "small.tck"],
        &["--help"],
        &["track", "--help"],
        &["--version"],
    ];
    for arguments in cases {
        let full = File::options()
            .write(true)
            .open("/dev/full")
            .expect("found");
        let output = Command::new(PROGRAM)
            .args(arguments)
            .current_dir(folder.path())
            .stdout(full)
            .output()
            .expect("the binary starts");
        let error = error_text(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");
        assert!(error.contains("standard output"), "{arguments:?}: {error}");
        assert!(!error.contains("os error"), "{arguments:?}: {error}");
    }
}

fn gone() {
    let folder = tempfile::tempdir().expect("a folder");
    small(folder.path());
    for arguments in [&["info", "small.tck"][..], &["--help"]] {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("gone");
        assert_eq!(output.status.code(), Some(0), "{}", error_text(&output));
        assert_eq!(error_text(&output), "");
    }
}

/// No control character except line ends, none that changes the direction of text, and no line that starts with a name.
fn harmless(text: &str) {
    let turns = ['\u{202e}', '\u{2066}', '\u{200f}'];
    let harms = |c: char| (c.is_control() || turns.contains(&c)) && c != '\n';
    assert!(!text.contains(harms), "{text:?}");
    assert!(text.lines().all(|l| !l.starts_with("INJECTED")), "{text:?}");
}

fn names() {
    const EVIL: &str = "a\u{1b}[31m\u{9b}2J\u{7f}\u{202e}\u{2066}\u{200f}\r\nINJECTED";
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let name = format!("{EVIL}.trx");
    let lines =
        Tractogram::new(vec![[0.0; 3], [1.0; 3]], vec![0, 2]).with_per_streamline("w", vec![1.0]);
    streamlines::save(&here.join(&name), &lines, "made", &Control::new()).expect("saved");
    let tck = format!("{EVIL}.tck");
    let missing = format!("{EVIL} missing.tck");
    let cases: [(&[&str], i32); 8] = [
        (&["info", &name], 0),
        (&["info", &name, "--json"], 0),
        (&["convert", &name, &tck], 0),
        (&["select", &name, &tck, "--number", "1", "--force"], 0),
        (&["info", &missing], 1),
        (&["convert", &name, &format!("{EVIL}.xyz")], 2),
        (&["info", &name, &format!("--{EVIL}")], 2),
        (&[&missing], 2),
    ];
    for (arguments, code) in cases {
        let output = arcuate(arguments, here);
        let error = error_text(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        harmless(&error);
        harmless(&String::from_utf8_lossy(&output.stdout));
    }
    // Programs get the name unchanged.
    let output = arcuate(&["info", &name, "--json"], here);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(value["files"][0]["path"], name.as_str());
}

fn formulas() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let mut lines = Tractogram::new(vec![[0.0; 3], [1.0; 3]], vec![0, 2]);
    for name in ["=1+1", "+a", "-b", "@c", "-3", "plain"] {
        lines = lines.with_per_streamline(name, vec![-1.5]);
    }
    trx::save(&here.join("a.trx"), &lines, &Control::new()).expect("saved");
    let output = arcuate(&["table", "a.trx", "a.csv"], here);
    assert!(output.status.success(), "{}", error_text(&output));
    let text = std::fs::read_to_string(here.join("a.csv")).expect("a table");
    let mut rows = text.lines().map(|l| l.split(',').collect::<Vec<_>>());
    let (header, row) = (rows.next().expect("a header"), rows.next().expect("a row"));
    for name in ["'=1+1", "'+a", "'-b", "'@c", "-3", "plain"] {
        assert!(header.contains(&name), "{name}: {header:?}");
    }
    assert!(row.contains(&"-1.5"), "a number stays one: {row:?}");
}
