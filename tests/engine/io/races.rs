//! Other programs using the same names at the same time, links, and permissions of files being written.

use super::sentence;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid, Tractogram, Volume};
use arcuate::io::disk::{self, Operation, Watcher};
use arcuate::io::gradients::{self, TableFiles};
use arcuate::io::pieces::Outline;
use arcuate::io::{self, Error, Opened, atomic, nifti, tck, trx};
use glam::DAffine3;
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
        test("io::races::a killed set is the old one", out_of_step),
        #[cfg(unix)]
        test("io::races::a killed table is the old one", gradient_sets),
        test(
            "io::races::names of a killed label map are the old ones",
            label_map,
        ),
        test(
            "io::races::a newer file of a killed set is not lost",
            newer_file,
        ),
        #[cfg(unix)]
        test("io::races::two tables at once do not mix", two_tables),
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

/// Calls `act` before the `nth` renaming, counted from 1.
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
        atomic::prepare(&path, write, |_| Ok::<(), atomic::ReadBackDifference>(()))
            .expect("prepared")
    };
    let theirs = path.clone();
    let act = move || std::fs::write(&theirs, "theirs").expect("written");
    let watch = disk::watch(folder.path(), before_name(1, act.clone()));
    let error = ready()
        .keeping_what_exists()
        .rename_into_place()
        .expect_err("taken");
    drop(watch);
    assert!(matches!(error, Error::Appeared { .. }), "{error:?}");
    assert!(sentence(&error).contains("--force"), "{error}");
    assert_eq!(std::fs::read(&path).expect("read"), b"theirs");
    assert_eq!(names(folder.path()), ["a.txt"]);
    // If files may be replaced, the requested content is written.
    let watch = disk::watch(folder.path(), before_name(1, act));
    ready().rename_into_place().expect("renamed");
    drop(watch);
    assert_eq!(std::fs::read(&path).expect("read"), b"ours");
    std::fs::remove_file(&path).expect("removed");
    ready()
        .keeping_what_exists()
        .rename_into_place()
        .expect("a free name");
    assert_eq!(names(folder.path()), ["a.txt"]);
}

/// Another one exists when the first is to get its name, or is gone when it is to be exchanged.
fn folders() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.trx");
    let requested = std::path::PathBuf::from(format!("{}/", path.display()));
    let count = || trx::read(&path, &Control::new()).expect("whole").0.len();
    let save = |n: usize| trx::save(&requested, &lines(n, 0.0), &Control::new());
    let other = requested.clone();
    let act = move || trx::save(&other, &lines(5, 1.0), &Control::new()).expect("the other");
    let watch = disk::watch(folder.path(), before_name(1, act));
    save(3).expect("the second to get the name replaces the first");
    drop(watch);
    assert_eq!(count(), 3);
    assert_eq!(names(folder.path()), ["x.trx"]);
    let folder_of_other = path.clone();
    let act = move || std::fs::remove_dir_all(&folder_of_other).expect("removed");
    let watch = disk::watch(folder.path(), before_name(2, act));
    save(4).expect("a free name");
    drop(watch);
    assert_eq!(count(), 4);
    assert_eq!(names(folder.path()), ["x.trx"]);
}

/// Runs `act` and ends it before the `nth` renaming in a folder, counted from 1; `false` if there are fewer.
fn killed_at(folder: &Path, nth: usize, act: impl Fn()) -> bool {
    let seen = AtomicUsize::new(0);
    let changes = [Operation::Rename, Operation::Link, Operation::Remove];
    let watcher: Watcher = Arc::new(move |operation, path: &Path| {
        // A process that is gone removes none of its unfinished files.
        let is_finished = !path.to_string_lossy().ends_with(".tmp");
        if is_finished
            && changes.contains(&operation)
            && seen.fetch_add(1, Ordering::SeqCst) + 1 == nth
        {
            std::panic::resume_unwind(Box::new("killed"));
        }
        Ok(())
    });
    let watch = disk::watch(folder, watcher);
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
    drop(watch);
    ended.is_err()
}

/// Replaces files with two names by copies.
fn copy_linked_files(folder: &Path) {
    for name in names(folder).iter().filter(|n| n.ends_with(".previous")) {
        let file = folder.join(name);
        let bytes = std::fs::read(&file).expect("read");
        std::fs::remove_file(&file).expect("removed");
        std::fs::write(&file, bytes).expect("written");
    }
}

/// Kills a process at each point while a set gets its names, and another while that is reverted: `look` finds all of
/// the old files (`false`) or all of the new, and nothing else is left once a command has ended.
fn kills(folder: &Path, save: &dyn Fn(bool), look: &dyn Fn(&str) -> bool) {
    save(false);
    let before = names(folder);
    let (mut old, mut new) = (0, 0);
    for first in 1.. {
        save(false);
        if !killed_at(folder, first, || save(true)) {
            break;
        }
        let half = look(&format!("killed at {first}"));
        // A disk without links, or a copy of the folder.
        copy_linked_files(folder);
        assert_eq!(look(&format!("killed at {first}, copied")), half);
        (old, new) = (old + usize::from(!half), new + usize::from(half));
        for second in 1.. {
            save(false);
            assert!(killed_at(folder, first, || save(true)));
            let killed = killed_at(folder, second, || save(true));
            look(&format!("killed at {first}, then at {second}"));
            if !killed {
                break;
            }
        }
        assert!(look("in the end"), "the last one was not killed");
        assert_eq!(names(folder), before, "killed at {first}");
    }
    assert!(old > 2 && new > 0, "{old} and {new}");
}

/// A process killed between two renamings: the files there are read as the old set, and files that the old set did not
/// have are not used.
fn out_of_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.tck");
    let save = |tractogram: &Tractogram| {
        let (companions, _) =
            io::convert::parts(&Outline::whole(tractogram), io::Format::Tck, &path);
        io::convert::with_values(tractogram, &path, &companions, "made", &Control::new())
            .expect("saved");
    };
    let values = |tractogram: &Tractogram, value: f32| {
        tractogram
            .clone()
            .with_per_point("fa", vec![value; tractogram.points.len()])
            .with_per_point("md", vec![value; tractogram.points.len()])
            .with_per_streamline("weight", vec![value; tractogram.len()])
    };
    let (old, new) = (values(&lines(3, 0.0), 0.25), values(&lines(3, 1.0), 0.75));
    let look = |when: &str| {
        let (found, info) = tck::read_with_values(&path, &Control::new()).expect("whole");
        let is_new = found.points == new.points;
        let content = if is_new { &new } else { &old };
        assert_eq!(found.points, content.points, "{when}");
        assert_eq!(found.per_point, content.per_point, "{when}");
        assert_eq!(found.per_streamline, content.per_streamline, "{when}");
        assert_eq!(info.unread.len(), 0, "{when}: {:?}", info.unread);
        assert!(info.warnings.len() <= 1, "{when}: {:?}", info.warnings);
        for note in &info.warnings {
            // The second process may replace a set that is already new.
            let is_half = !is_new || when.contains("then");
            assert!(is_half && note.contains(".previous"), "{when}: {note}");
        }
        is_new
    };
    kills(
        folder.path(),
        &|is_new| save(if is_new { &new } else { &old }),
        &look,
    );
    // Values that did not exist before.
    for name in names(folder.path()) {
        std::fs::remove_file(folder.path().join(name)).expect("removed");
    }
    save(&lines(3, 0.0));
    assert!(killed_at(folder.path(), 3, || save(&new)));
    let (found, info) = tck::read_with_values(&path, &Control::new()).expect("whole");
    assert_eq!(found.points, old.points);
    assert_eq!((found.per_point.len(), found.per_streamline.len()), (0, 0));
    let reported = info.warnings.join("\n");
    assert!(
        reported.contains("it belongs to other streamlines"),
        "{reported}"
    );
}

/// Gradients, alone and with their image.
#[cfg(unix)]
fn gradient_sets() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let files = TableFiles::Fsl {
        bval: at("d.bval"),
        bvec: at("d.bvec"),
    };
    let axes = DAffine3::IDENTITY;
    let grid = Grid::new([2, 2, 2], axes, AffineSource::Sform).expect("a grid");
    let save = |first: Option<&str>, is_new: bool| {
        let vector = if is_new {
            "0 1\n0 0\n0 0\n"
        } else {
            "0 0\n0 1\n0 0\n"
        };
        let image = first.map(|name| (name, if is_new { "new" } else { "old" }));
        // The b-values of both are the same.
        let files = image
            .into_iter()
            .chain([("d.bval", "0 1000\n"), ("d.bvec", vector)]);
        let files = files.map(|(name, text)| atomic::prepare_text(&at(name), text));
        let files: Result<Vec<_>, _> = files.collect();
        atomic::rename_together(files.expect("prepared")).expect("renamed");
    };
    let look = |when: &str| {
        let read = gradients::read(&files, &grid, 2).expect("whole");
        let is_new = read.gradients.directions[1].x.abs() > 0.5;
        for note in &read.remarks {
            assert!(
                !is_new && note.contains("d.bvec is newer"),
                "{when}: {note}"
            );
        }
        is_new
    };
    kills(folder.path(), &|is_new| save(None, is_new), &look);
    kills(
        folder.path(),
        &|is_new| save(Some("d.nii.gz"), is_new),
        &|when| {
            let is_new = look(when);
            let image = std::fs::read_to_string(at("d.nii.gz")).expect("found");
            assert_eq!(image == "new", is_new, "{when}");
            is_new
        },
    );
}

/// A program was killed after it had replaced the names of a label map, and before the map.
fn label_map() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let grid = Grid::new([3, 1, 1], DAffine3::IDENTITY, AffineSource::Sform).expect("a grid");
    let map = Volume::scalar(Arc::new(grid), vec![0.0, 1.0, 2.0]);
    nifti::save_volume(&at("seg.nii"), &map, "", &Control::new()).expect("saved");
    std::fs::copy(at("seg.nii"), at(".seg.nii.first.previous")).expect("copied");
    for (name, first) in [("seg.txt", "New"), (".seg.txt.previous", "Old")] {
        let text = format!("1 {first} 255 0 0 0\n2 Other 0 255 0 0\n");
        std::fs::write(at(name), text).expect("written");
    }
    let opened = io::open(&at("seg.nii"), &Control::new()).expect("an image");
    let Opened::Volume(volume, info) = opened else {
        panic!("an image");
    };
    let labels = volume.labels.expect("labels");
    assert_eq!(labels.name(1), Some("Old"));
    let message = info.warnings.join("\n");
    assert!(
        message.contains("seg.txt is newer than the rest"),
        "{message}"
    );
}

/// A set was left half replaced, and another program has since written one of its files: if the set cannot be written,
/// that file stays, and so do the old ones.
fn newer_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let left = [
        (".d.bval.first.previous", "old"),
        (".d.bvec.previous", "old"),
        ("d.bval", "old"),
        ("d.bvec", "theirs"),
    ];
    for (name, text) in left {
        std::fs::write(at(name), text).expect("written");
    }
    let put = || {
        let files = ["d.bval", "d.bvec"].map(|name| atomic::prepare_text(&at(name), "new"));
        let files: Result<Vec<_>, _> = files.into_iter().collect();
        atomic::rename_together(files.expect("prepared"))
    };
    for fails in ["d.bval", "d.bvec"] {
        let watcher: Watcher = Arc::new(move |operation, path: &Path| {
            match operation == Operation::Rename && path.ends_with(fails) {
                true => Err(std::io::Error::other("no")),
                false => Ok(()),
            }
        });
        let watch = disk::watch(folder.path(), watcher);
        put().expect_err(fails);
        drop(watch);
        assert_eq!(names(folder.path()), left.map(|(name, _)| name), "{fails}");
        for (name, text) in left {
            let found = std::fs::read_to_string(at(name)).expect("read");
            assert_eq!(found, text, "{fails}: {name}");
        }
        let old = atomic::previous_file(&at("d.bval"), &at("d.bvec"));
        assert_eq!(old, Some(at(".d.bvec.previous")), "{fails}");
    }
    put().expect("renamed");
    assert_eq!(names(folder.path()), ["d.bval", "d.bvec"]);
    for name in ["d.bval", "d.bvec"] {
        let text = std::fs::read_to_string(at(name)).expect("read");
        assert_eq!(text, "new", "{name}");
    }
}

/// One set gets its names between those of another.
#[cfg(unix)]
fn two_tables() {
    use std::sync::Mutex;
    let folder = tempfile::tempdir().expect("a folder");
    let put = |folder: &Path, text: &str| {
        let files = ["d.bval", "d.bvec"].map(|name| atomic::prepare_text(&folder.join(name), text));
        let files: Result<Vec<_>, _> = files.into_iter().collect();
        atomic::rename_together(files.expect("prepared")).expect("renamed");
    };
    put(folder.path(), "old");
    let (place, second) = (folder.path().to_owned(), Arc::new(Mutex::new(None)));
    let started = second.clone();
    let act = move || {
        let place = place.clone();
        let thread = std::thread::Builder::new()
            .spawn(move || put(&place, "second"))
            .expect("a thread");
        *started.lock().expect("no panic") = Some(thread);
        // It has finished by then, unless it waits.
        std::thread::sleep(std::time::Duration::from_millis(300));
    };
    let watch = disk::watch(folder.path(), before_name(2, act));
    put(folder.path(), "first");
    let thread = second.lock().expect("no panic").take();
    thread.expect("started").join().expect("no panic");
    drop(watch);
    for name in ["d.bval", "d.bvec"] {
        let text = std::fs::read_to_string(folder.path().join(name)).expect("read");
        assert_eq!(text, "second", "{name}");
    }
    assert_eq!(names(folder.path()), ["d.bval", "d.bvec"]);
}

#[cfg(unix)]
fn links() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let is_link = |name: &str| at(name).symlink_metadata().expect("found").is_symlink();
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
    let message = sentence(&error.expect_err("a circle"));
    assert!(
        message.contains("itself") && message.contains("; choose another name"),
        "{message}"
    );
    // Not a regular file, and not an empty one either.
    let _socket = std::os::unix::net::UnixListener::bind(at("s.tck")).expect("bound");
    let error = io::open_with_reading(&at("s.tck"), &io::Reading::default(), &Control::new());
    let message = sentence(&error.expect_err("no file"));
    assert!(message.contains("; save its output to a file"), "{message}");
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
    // The permissions of a new file: the test cannot set the process's mask.
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "").expect("written");
    let mode = |path: &Path| std::fs::metadata(path).expect("found").permissions().mode() & 0o7777;
    let default_value = mode(&plain);
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
    assert_eq!(save(), [default_value]);
    for requested in [0o600, 0o640, 0o666] {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(requested)).expect("set");
        assert_eq!(save(), [requested]);
    }
}

#[cfg(unix)]
fn private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("state").join("recovery");
    std::fs::create_dir_all(&root).expect("made");
    std::fs::set_permissions(&root, PermissionsExt::from_mode(0o755)).expect("set");
    let recovery_folder = io::recovery::RecoveryFolder::new(&root).expect("a folder");
    let session = recovery_folder.session();
    atomic::write_text(&session, "{}").expect("written");
    let sum = "0123456789abcdef0123";
    io::session::store(&session, &lines(2, 0.0), sum, &|_| false, &Control::new()).expect("stored");
    let scratch = atomic::Scratch::new().expect("a folder");
    let own = session.parent().expect("a folder");
    let parts = io::session::folder_of(&session);
    for place in [&root, own, &parts, scratch.path()] {
        let mode = std::fs::metadata(place)
            .expect("found")
            .permissions()
            .mode()
            & 0o777;
        assert_eq!(mode, 0o700, "{}", place.display());
    }
    let kept = parts.join("0123456789abcdef.trx");
    for file in [&session, &kept, &own.join("lock")] {
        let mode = std::fs::metadata(file).expect("found").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.display());
    }
}
