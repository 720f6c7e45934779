//! Other programs at the same names at the same time, links, and who may read what is being written.

use super::sentence;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::Tractogram;
use arcuate::io::disk::{self, Operation, Watcher};
use arcuate::io::{self, Error, atomic, tck, trx};
use libtest_mimic::Trial;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "io::races::a name that was taken meanwhile is left",
            appeared,
        ),
        test("io::races::two folders of one name", folders),
        test("io::races::sets are found out of step", out_of_step),
        #[cfg(unix)]
        test("io::races::links are followed", links),
        #[cfg(unix)]
        test("io::races::permissions from the first byte", modes),
        #[cfg(unix)]
        test("io::races::what is kept for recovery is private", private),
    ]
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let name = |e: std::fs::DirEntry| e.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.map(|e| name(e.expect("an entry"))).collect();
    names.sort();
    names
}

fn lines(count: usize, at: f32) -> Tractogram {
    let points: Vec<[f32; 3]> = (0..2 * count).map(|i| [i as f32, at, 0.0]).collect();
    let offsets: Vec<u64> = (0..=count as u64).map(|i| 2 * i).collect();
    Tractogram::new(points, offsets)
}

/// Calls `act` before the `nth` name is given, counted from 1.
fn before_name(nth: usize, act: impl Fn() + Send + Sync + 'static) -> Watcher {
    let seen = AtomicUsize::new(0);
    Arc::new(move |operation, _| {
        if operation == Operation::Rename && seen.fetch_add(1, Ordering::SeqCst) + 1 == nth {
            act();
        }
        Ok(())
    })
}

fn appeared() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.txt");
    let ready = || {
        let write = |file: &mut std::io::BufWriter<disk::File>| Ok(file.write_all(b"ours")?);
        atomic::prepare(&path, write, |_| Ok::<(), String>(())).expect("prepared")
    };
    let theirs = path.clone();
    let act = move || std::fs::write(&theirs, "theirs").expect("written");
    let watch = disk::watch(folder.path(), before_name(1, act.clone()));
    let error = ready().keeping_what_exists().put().expect_err("taken");
    drop(watch);
    assert!(matches!(error, Error::Appeared { .. }), "{error:?}");
    assert!(sentence(&error).contains("--force"), "{error}");
    assert_eq!(std::fs::read(&path).expect("read"), b"theirs");
    assert_eq!(names(folder.path()), ["a.txt"]);
    // Who lets files be replaced gets what was asked for.
    let watch = disk::watch(folder.path(), before_name(1, act));
    ready().put().expect("put");
    drop(watch);
    assert_eq!(std::fs::read(&path).expect("read"), b"ours");
    std::fs::remove_file(&path).expect("removed");
    ready().keeping_what_exists().put().expect("a free name");
    assert_eq!(names(folder.path()), ["a.txt"]);
}

/// Another one is there when the first is to get the name, or is gone when it is to be exchanged.
fn folders() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.trx");
    let asked = std::path::PathBuf::from(format!("{}/", path.display()));
    let count = || trx::read(&path, &Control::new()).expect("whole").0.len();
    let save = |n: usize| trx::save(&asked, &lines(n, 0.0), &Control::new());
    let other = asked.clone();
    let act = move || trx::save(&other, &lines(5, 1.0), &Control::new()).expect("the other");
    let watch = disk::watch(folder.path(), before_name(1, act));
    save(3).expect("the second to get the name replaces the first");
    drop(watch);
    assert_eq!(count(), 3);
    assert_eq!(names(folder.path()), ["x.trx"]);
    let there = path.clone();
    let act = move || std::fs::remove_dir_all(&there).expect("removed");
    let watch = disk::watch(folder.path(), before_name(2, act));
    save(4).expect("a free name");
    drop(watch);
    assert_eq!(count(), 4);
    assert_eq!(names(folder.path()), ["x.trx"]);
}

/// A process that is killed between two names: what lies there is the old set, or is not taken for one.
fn out_of_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.tck");
    let save = |of: &Tractogram| {
        let (beside, _) = io::convert::parts(of, io::Format::Tck, &path);
        io::convert::with_values(of, &path, &beside, "made", &Control::new())
    };
    let values = |of: &Tractogram, value: f32| {
        of.clone()
            .with_per_point("fa", vec![value; of.points.len()])
            .with_per_streamline("weight", vec![value; of.len()])
    };
    let (old, new) = (values(&lines(3, 0.0), 0.25), values(&lines(3, 1.0), 0.75));
    save(&old).expect("saved");
    let names_given = 3;
    for killed_at in 1..=names_given {
        save(&old).expect("saved");
        let watch = disk::watch(
            folder.path(),
            before_name(killed_at, || std::panic::resume_unwind(Box::new("killed"))),
        );
        let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| save(&new)));
        drop(watch);
        assert!(killed.is_err(), "there are {names_given} names to give");
        let (found, info) = tck::read_with_values(&path, &Control::new()).expect("whole");
        assert_eq!(found.points, old.points, "killed at name {killed_at}");
        let told = info.warnings.join("\n");
        let used = found.per_point.len() + found.per_streamline.len();
        let refused = told.matches("it belongs to other streamlines").count();
        assert_eq!(refused, killed_at - 1, "{told}");
        assert_eq!(used, 3 - killed_at, "{told}");
        for values in found
            .per_point
            .values()
            .chain(found.per_streamline.values())
        {
            assert!(values.iter().all(|v| *v == 0.25), "killed at {killed_at}");
        }
    }
    save(&new).expect("saved");
    let (found, info) = tck::read_with_values(&path, &Control::new()).expect("whole");
    assert_eq!(found.points, new.points);
    assert_eq!((found.per_point.len(), found.per_streamline.len()), (1, 1));
    assert!(info.warnings.is_empty(), "{:?}", info.warnings);
}

#[cfg(unix)]
fn links() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let is_link = |name: &str| at(name).symlink_metadata().expect("there").is_symlink();
    std::fs::create_dir(at("far")).expect("made");
    symlink("far/a.tck", at("a.tck")).expect("linked");
    symlink(at("a.tck"), at("b.tck")).expect("linked");
    for n in [2, 3] {
        // First it leads to nothing, then to a file.
        tck::save(&at("b.tck"), &lines(n, 0.0), "made", &Control::new()).expect("saved");
        assert!(is_link("a.tck") && is_link("b.tck"));
        let found = tck::read(&at("far/a.tck"), &Control::new())
            .expect("whole")
            .0;
        assert_eq!(found.len(), n);
    }
    symlink("no/such/a.tck", at("c.tck")).expect("linked");
    let error = tck::save(&at("c.tck"), &lines(2, 0.0), "made", &Control::new());
    let error = error.expect_err("there is no folder");
    assert!(
        sentence(&error).contains("folder to write to does not exist"),
        "{error}"
    );
    assert!(is_link("c.tck"));
    symlink("d.tck", at("d.tck")).expect("linked");
    let error = tck::save(&at("d.tck"), &lines(2, 0.0), "made", &Control::new());
    assert!(sentence(&error.expect_err("a circle")).contains("itself"));
    // A folder behind a link.
    symlink("far/x.trx", at("x.trx")).expect("linked");
    for n in [2, 3] {
        let slash = std::path::PathBuf::from(format!("{}/", at("x.trx").display()));
        trx::save(&slash, &lines(n, 0.0), &Control::new()).expect("saved");
        assert!(is_link("x.trx"));
        let found = trx::read(&at("far/x.trx"), &Control::new())
            .expect("whole")
            .0;
        assert_eq!(found.len(), n);
    }
    assert_eq!(names(&at("far")), ["a.tck", "x.trx"]);
}

#[cfg(unix)]
fn modes() {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Mutex;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.tck");
    // What a new file has: the process's mask is not ours to set.
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "").expect("written");
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o7777;
    let usual = mode(&plain);
    let seen: Arc<Mutex<Vec<u32>>> = Arc::default();
    let save = || {
        seen.lock().expect("no panic").clear();
        let own = seen.clone();
        let watcher: Watcher = Arc::new(move |operation, path: &Path| {
            if operation == Operation::Write {
                let mode = std::fs::metadata(path)?.permissions().mode() & 0o7777;
                own.lock().expect("no panic").push(mode);
            }
            Ok(())
        });
        let watch = disk::watch(folder.path(), watcher);
        tck::save(&path, &lines(2, 0.0), "made", &Control::new()).expect("saved");
        drop(watch);
        let mut modes = seen.lock().expect("no panic").clone();
        modes.push(mode(&path));
        modes.dedup();
        modes
    };
    assert_eq!(save(), [usual]);
    for wanted in [0o600, 0o640, 0o666] {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(wanted)).expect("set");
        assert_eq!(save(), [wanted]);
    }
}

#[cfg(unix)]
fn private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("state").join("recovery");
    std::fs::create_dir_all(&root).expect("made");
    std::fs::set_permissions(&root, PermissionsExt::from_mode(0o755)).expect("set");
    let desk = io::recovery::Desk::new(&root).expect("a desk");
    let session = desk.session();
    atomic::write_text(&session, "{}").expect("written");
    let sum = "0123456789abcdef0123";
    io::session::store(&session, &lines(2, 0.0), sum, &|_| false, &Control::new()).expect("stored");
    let scratch = atomic::Scratch::new().expect("a folder");
    let own = session.parent().expect("a folder");
    let parts = io::session::folder_of(&session);
    for place in [&root, own, &parts, scratch.path()] {
        let mode = std::fs::metadata(place)
            .expect("there")
            .permissions()
            .mode()
            & 0o777;
        assert_eq!(mode, 0o700, "{}", place.display());
    }
    let kept = parts.join("0123456789abcdef.trx");
    for file in [&session, &kept, &own.join("lock")] {
        let mode = std::fs::metadata(file).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.display());
    }
}
