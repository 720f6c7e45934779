//! Every disk operation and every large memory allocation fails once: in commands, in saving, in the recovery copy and
//! in exports. Afterwards the files are the old ones or all of the new ones, no temporary file is left, and one
//! sentence reports the failure.
//!
//! A process of its own runs each case repeatedly: first the first operation fails, then the second, until none is
//! left.

use crate::support::session_window::{Window, scan};
use crate::support::test;
use arcuate::cli::{Arguments, run};
use arcuate::compute::{Control, memory};
use arcuate::data::{Role, Shape, Tractogram};
use arcuate::io::disk::{self, Operation, Watch, Watcher};
use arcuate::io::{self, session, tck, trx};
use arcuate::state::sessions::ResultStorage;
use arcuate::state::{Action, FilesAction, Phase, RegionAction, SessionAction};
use clap::Parser as _;
use glam::dvec3;
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Sets the case that a process of this program runs; it works in the current folder.
const CHILD: &str = "ARCUATE_FAULTS_CHILD";

/// Commands, whose files are single or belong to a set.
const COMMANDS: [(&str, &str); 7] = [
    ("convert", "convert in/a.trx out/a.trx --strict --force"),
    (
        "convert to a set",
        "convert in/a.trx out/a.tck --strict --force",
    ),
    (
        "convert to a folder",
        "convert in/a.trx out/a.trx/ --strict --force",
    ),
    (
        "convert an image",
        "convert in/dwi.nii.gz out/d.nii.gz --force",
    ),
    (
        "track",
        "track in/dwi.nii.gz --mask in/mask.nii.gz --seeds random:40 --min-length 5 --out out/t.tck --force --backend cpu",
    ),
    (
        "track to a new name",
        "track in/dwi.nii.gz --mask in/mask.nii.gz --seeds random:40 --min-length 5 --out out/t.trx --backend cpu",
    ),
    (
        "replay",
        "replay in/s.arcuate --out out --force --backend cpu",
    ),
];

const WINDOWS: [&str; 3] = ["save", "autosave", "export"];

/// Commands of which only memory allocations fail: each makes some in its solver.
const SOLVERS: [(&str, &str); 13] = [
    (
        "fit",
        "fit in/dwi.nii.gz --maps fa,dec --out out/m --force --backend cpu",
    ),
    (
        "fit to a new folder",
        "fit in/dwi.nii.gz --maps fa,dec --out out/new/m --backend cpu",
    ),
    (
        "track by splines",
        "track in/dwi.nii.gz --mask in/mask.nii.gz --seeds random:40 --min-length 5 --interpolation cubic --out out/t.tck --force --backend cpu",
    ),
    (
        "geodesic",
        "geodesic in/dwi.nii.gz --mask in/mask.nii.gz --seed sphere:0,0,0,5 --out out/r.tck --force --backend cpu",
    ),
    (
        "pathway",
        "pathway in/dwi.nii.gz --mask in/mask.nii.gz --from sphere:-6,0,0,3 --to sphere:6,0,0,3 --out out/c --force --backend cpu",
    ),
    (
        "segment",
        "segment in/mask.nii.gz --target 1 --tolerance 0.5 --add sphere:0,0,0,5 --steps 20 --out out/s --force --backend cpu",
    ),
    (
        "select",
        "select in/a.trx out/b.trx --length 1..900 --force",
    ),
    (
        "density",
        "density in/a.trx --template in/mask.nii.gz --out out/d.nii.gz --force",
    ),
    (
        "commit",
        "commit in/a.trx in/dwi.nii.gz --out out/w --force --backend cpu",
    ),
    (
        "region",
        "region --image in/mask.nii.gz --threshold 0.5..2 --grow 3 --out out/r.nii.gz --force",
    ),
    (
        "align",
        "align in/dwi.nii.gz in/mask.nii.gz --near --out out/a.txt --force",
    ),
    (
        "phantom",
        "phantom --scan-only --spacing 9 --out out/p --force",
    ),
    ("surface", "convert in/mask.nii.gz out/m.ply --force"),
];

pub fn tests() -> Vec<Trial> {
    let commands = COMMANDS.map(|(name, _)| name).into_iter().chain(WINDOWS);
    let one = |name: &'static str| {
        let title = format!("faults::every operation fails once: {name}");
        test(&title, move || case(name))
    };
    let solvers = SOLVERS.into_iter().map(|(name, _)| {
        let title = format!("faults::every claim of memory fails once: {name}");
        test(&title, move || case(name))
    });
    commands.map(one).chain(solvers).collect()
}

/// Runs a case in a separate process, and checks its output.
fn case(name: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(std::env::current_exe().expect("this program"))
        .env(CHILD, name)
        .env("XDG_STATE_HOME", folder.path().join("state"))
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .expect("a process");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{name}: {message}");
    let (mut failed, mut before) = (0, String::new());
    for round in message.split("## ").skip(1) {
        let (head, rest) = round.split_once('\n').expect("a line");
        let notes = [
            "A mask lies beside",
            "These files were complete before",
            "lie outside the image",
            "Most streamlines have no weight",
            "The alignment is doubtful",
            "The surface is not at rest",
            "wholly outside the voxels",
        ];
        let is_note = |l: &&str| notes.iter().any(|text| l.contains(text));
        let rest = std::mem::take(&mut before) + rest;
        let sentences: Vec<&str> = rest.lines().filter(|l| !is_note(l)).collect();
        if !head.starts_with("failed") {
            // A command's sentences precede its outcome.
            before = if head == "run" { rest } else { String::new() };
            continue;
        }
        failed += 1;
        // Each missing result has its own sentence; the last one reports the end.
        let several = name == "replay";
        assert!(sentences.len() == 1 || several, "{name}: {head}: {rest}");
        check_sentence(head, sentences.last().expect("a sentence"));
        let message = sentences.join("\n");
        if head.contains(" Memory ") {
            assert!(message.contains("of memory"), "{name}: {head}: {message}");
        } else if head.contains(" Read ") {
            let broken = message.contains("input/output error");
            assert!(broken, "{name}: {head}: {message}");
        }
    }
    // A session performs fewer disk operations than a conversion.
    let least = match name {
        name if SOLVERS.iter().any(|(solver, _)| *solver == name) => 1,
        "save" | "autosave" => 4,
        _ => 10,
    };
    assert!(
        failed > least,
        "{name}: {failed} operations were seen to fail"
    );
}

/// One sentence with advice, without messages of the system or of Rust.
fn check_sentence(head: &str, sentence: &str) {
    for text in ["os error", "panicked", "a fault in the program", "Os {"] {
        assert!(!sentence.contains(text), "{head}: {sentence}");
    }
    let remedies = [
        "free some space",
        "choose another",
        "check the disk",
        "try again",
        "copy it",
        "close other programs",
        "the lines above give the reasons",
        "name them",
        "made again",
        "make it again",
        "name its folder",
    ];
    // The advice follows the finding.
    let then = sentence.split_once([';', ',']).map_or("", |(_, then)| then);
    assert!(
        remedies.iter().any(|r| then.contains(r)),
        "{head}: {sentence}"
    );
    let writes = ["Create", "Write", "Rename", "Link", "MakeFolder"];
    if writes.iter().any(|w| head.contains(&format!(" {w} "))) {
        assert!(sentence.contains("disk is full"), "{head}: {sentence}");
    }
}

/// The failure: an operation on a file, or an allocation by name.
type Hit = (String, PathBuf);

/// Makes the `nth` operation or allocation in a folder fail, counted from 1, and records which one it was.
struct Failing {
    _watch: Option<Watch>,
    _claims: memory::Watch,
    hit: Arc<Mutex<Option<Hit>>>,
}

impl Failing {
    /// `files`: operations on the disk fail, too.
    fn nth(folder: &Path, nth: usize, files: bool) -> Self {
        let (seen, hit) = (Arc::new(AtomicUsize::new(0)), Arc::<Mutex<_>>::default());
        let (own, count) = (hit.clone(), seen.clone());
        let claims = memory::watch(Arc::new(move |what, _| {
            if count.fetch_add(1, Ordering::SeqCst) + 1 != nth {
                return true;
            }
            *own.lock().expect("no panic") = Some(("Memory".to_owned(), PathBuf::from(what)));
            false
        }));
        let own = hit.clone();
        let watcher: Watcher = Arc::new(move |operation, path: &Path| {
            if seen.fetch_add(1, Ordering::SeqCst) + 1 != nth {
                return Ok(());
            }
            *own.lock().expect("no panic") = Some((format!("{operation:?}"), path.to_owned()));
            let (full, broken) = (28, 5);
            Err(std::io::Error::from_raw_os_error(match operation {
                Operation::Create
                | Operation::Write
                | Operation::Sync
                | Operation::Rename
                | Operation::Link
                | Operation::MakeFolder => full,
                _ => broken,
            }))
        });
        Self {
            _watch: files.then(|| disk::watch(folder, watcher)),
            _claims: claims,
            hit,
        }
    }

    fn hit(&self) -> Option<Hit> {
        self.hit.lock().expect("no panic").clone()
    }
}

/// Runs a case and does not return, if this process is meant to.
pub fn child() {
    let Ok(name) = std::env::var(CHILD) else {
        return;
    };
    let folder = std::env::current_dir().expect("a folder");
    std::fs::create_dir(folder.join("in")).expect("made");
    let line_of = |all: &[(&str, &'static str)]| {
        let found = all.iter().find(|(known, _)| *known == name);
        found.map(|(_, line)| *line)
    };
    match (line_of(&COMMANDS), line_of(&SOLVERS)) {
        (Some(line), _) => command(&folder, line, true),
        (_, Some(line)) => command(&folder, line, false),
        _ => window(&folder, &name),
    }
    std::process::exit(0);
}

fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir(to).expect("made");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).expect("copied")),
        }
    }
}

/// A file's content without its time of writing: equal for files with the same data.
fn content(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if path.is_dir() && !name.ends_with(".trx") {
        return format!("{:?}", contents(path));
    }
    if name.ends_with(".tck") {
        let (tracks, info) = tck::read_with_values(path, &Control::new()).expect("whole");
        assert!(info.unread.is_empty(), "{:?}", info.unread);
        return io::checksum::of_tractogram(&tracks);
    }
    if name.ends_with(".trx") {
        let tracks = trx::read(path, &Control::new()).expect("whole").0;
        return io::checksum::of_tractogram(&tracks);
    }
    if name.ends_with(".arcuate") {
        let read = session::read(path).expect("whole");
        let folder = path.parent().expect("a folder");
        for sum in &read.results {
            let part = sum.file.as_ref().map(|file| folder.join(file));
            if let Some(part) = part {
                session::restore(&part, &sum.sha256, &Control::new()).expect("whole");
            }
        }
        return format!("{:?} {}", read.results, read.content);
    }
    let bytes = std::fs::read(path).expect("read");
    let text = String::from_utf8_lossy(&bytes);
    // Values next to a TCK were compared with it.
    match name.ends_with(".tsf") || name.ends_with(".weights.txt") {
        true => String::new(),
        false => format!("{} {}", bytes.len(), text),
    }
}

/// All files by name, except in the folders of sessions' parts.
fn contents(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let entries = entries.filter(|e| !e.file_name().to_string_lossy().ends_with(".files"));
    let one = |e: std::fs::DirEntry| {
        let name = e.file_name().to_string_lossy().into_owned();
        (name, content(&e.path()))
    };
    entries.map(one).collect()
}

/// The program's temporary files in a folder and its subfolders.
fn temporary(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut found = Vec::new();
    for path in entries.map(|e| e.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(".arcuate-") || name.ends_with(".previous") {
            found.push(path.clone());
        } else if path.is_dir() {
            found.extend(temporary(&path));
        }
    }
    found
}

/// Whether a folder below has nothing in it.
fn has_empty(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut folders = entries.map(|e| e.path()).filter(|path| path.is_dir());
    folders.any(|inner| {
        let is_empty = std::fs::read_dir(&inner)
            .expect("a folder")
            .next()
            .is_none();
        is_empty || has_empty(&inner)
    })
}

/// The files are the old or the new ones, and no temporary file of the program is left.
fn old_or_new(
    out: &Path,
    (old, new): (&BTreeMap<String, String>, &BTreeMap<String, String>),
    each: bool,
    done: bool,
    hit: &Hit,
) {
    let (operation, path) = hit;
    let left = temporary(out);
    // A file that cannot be removed stays.
    match operation.as_str() {
        "Remove" => left.iter().for_each(|path| {
            let _ = std::fs::remove_file(path);
            let _ = std::fs::remove_dir_all(path);
        }),
        _ => assert!(left.is_empty(), "{operation} {}: {left:?}", path.display()),
    }
    let removes = operation == "Remove";
    assert!(
        removes || !has_empty(out),
        "{operation} {}: a folder",
        path.display()
    );
    let present = contents(out);
    if done {
        assert!(
            present == *new,
            "{operation} {}: not all of the new",
            path.display()
        );
    } else if each && (operation == "Memory" || path.components().any(|c| c.as_os_str() == "in")) {
        // Other results than from the whole input; that they are complete was checked.
    } else if each {
        for (name, found) in &present {
            let known = [old.get(name), new.get(name)];
            assert!(
                known.contains(&Some(found)),
                "{operation} {}: {name}",
                path.display()
            );
        }
        assert!(
            old.keys().all(|name| present.contains_key(name)),
            "{operation}"
        );
    } else {
        let same = present == *old || present == *new;
        assert!(same, "{operation} {}: {:?}", path.display(), present.keys());
    }
}

fn lines(count: usize, y: f32) -> Tractogram {
    let points: Vec<[f32; 3]> = (0..3 * count).map(|i| [i as f32, y, 0.5]).collect();
    let values = vec![y; points.len()];
    let ends: Vec<u64> = (0..=count as u64).map(|i| 3 * i).collect();
    Tractogram::new(points, ends)
        .with_per_point("fa", values)
        .with_per_streamline("weight", vec![y; count])
}

/// A command, run once to get its output and then with each operation failing.
fn command(folder: &Path, line: &str, files: bool) {
    let at = |name: &str| folder.join(name);
    scan(&at("in"));
    trx::save(&at("in/a.trx"), &lines(40, 1.0), &Control::new()).expect("saved");
    if line.starts_with("replay") {
        worked(&at("in")).save(&at("in/s.arcuate"));
    }
    let act_as = |line: &str| {
        let text = std::iter::once("arcuate").chain(line.split(' '));
        let arguments = Arguments::parse_from(text.chain(["--quiet"]));
        run(arguments.command.expect("a command"), &arguments.global)
    };
    let is_fine = |code: ExitCode| format!("{code:?}") == format!("{:?}", ExitCode::SUCCESS);
    let act = || act_as(line);
    // Earlier files: from the same command with other streamlines or seeds.
    std::fs::create_dir(at("out")).expect("made");
    if line.contains("--force") {
        let other = folder.join("other");
        copy(&at("in"), &other);
        trx::save(&at("in/a.trx"), &lines(30, 2.0), &Control::new()).expect("saved");
        assert!(
            is_fine(act_as(&line.replace("random:40", "random:30"))),
            "{line}"
        );
        copy(&other, &at("in"));
    }
    copy(&at("out"), &at("old"));
    assert!(is_fine(act()), "{line}");
    let (old, new) = (contents(&at("old")), contents(&at("out")));
    // Several results, each complete in itself.
    let each = line.starts_with("replay") || !files;
    for nth in 1.. {
        copy(&at("old"), &at("out"));
        let failing = Failing::nth(folder, nth, files);
        // Its sentences are printed between this line and the next.
        eprintln!("## run");
        let fine = is_fine(act());
        let Some(hit) = failing.hit() else {
            assert!(fine, "nothing failed");
            return;
        };
        drop(failing);
        let word = if fine { "done" } else { "failed" };
        eprintln!("## {word} {} {}", hit.0, hit.1.display());
        old_or_new(&at("out"), (&old, &new), each, fine, &hit);
    }
}

/// Kept streamlines and rays, regions, a snapshot.
fn worked(folder: &Path) -> Window {
    let mut window = Window::with_scan(folder);
    window.work();
    window.session(SessionAction::SetStore(ResultStorage::All));
    window
}

/// Another revision of the document.
fn edit(window: &mut Window, step: usize) {
    let region = window.state.document.regions[0].id;
    let shape = Shape::Sphere {
        centre: dvec3(0.0, -6.0, 1e-3 * step as f64),
        radius_mm: 5.0,
    };
    let phase = Phase::Done;
    window.act(Action::Region(RegionAction::SetShape {
        region,
        shape,
        phase,
    }));
}

fn window(folder: &Path, name: &str) {
    let at = |name: &str| folder.join(name);
    let mut window = match name {
        "export" => Window::with_scan(&at("in")),
        _ => worked(&at("in")),
    };
    window.place(Role::Seed, dvec3(0.0, -6.0, 0.0), 5.0);
    std::fs::create_dir(at("out")).expect("made");
    let path = match name {
        "export" => at("out/x.tck"),
        _ => at("out/s.arcuate"),
    };
    let act = |window: &mut Window| match name {
        "export" => {
            let (layer, path) = (None, path.clone());
            window.act(Action::Files(FilesAction::SaveStreamlines { layer, path }));
        }
        "save" => {
            let path = Some(path.clone());
            window.session(SessionAction::Save { path, next: None });
        }
        _ => window.session(SessionAction::Autosave),
    };
    let own = match name {
        "autosave" => at("state"),
        _ => at("out"),
    };
    edit(&mut window, 1);
    act(&mut window);
    assert_eq!(window.messages(), "");
    copy(&own, &at("old"));
    let old = contents(&own);
    edit(&mut window, 2);
    act(&mut window);
    assert_eq!(window.messages(), "");
    let new = contents(&own);
    assert!(old != new, "{name}: the two do not differ");
    for nth in 1.. {
        // So that it differs from the cached data, and gives the same result.
        edit(&mut window, 3);
        match name {
            "autosave" => act(&mut window),
            _ => copy(&at("old"), &own),
        }
        let before = contents(&own);
        edit(&mut window, 2);
        let failing = Failing::nth(&own, nth, true);
        act(&mut window);
        let message = window.messages();
        let Some(hit) = failing.hit() else {
            assert_eq!(message, "", "nothing failed");
            return;
        };
        drop(failing);
        window.state.runtime.notices.messages.clear();
        let word = if message.is_empty() { "done" } else { "failed" };
        eprintln!("## {word} {} {}\n{message}", hit.0, hit.1.display());
        if name != "autosave" {
            let fine = message.is_empty();
            old_or_new(&own, (&old, &new), false, fine, &hit);
            continue;
        }
        let stored = contents(&own);
        assert!(
            stored == before || stored == new,
            "{hit:?}: {:?}",
            stored.keys()
        );
    }
}
