//! The file system: failures to read or write are reported, and nothing is lost.

use super::sentence;
use crate::support::composed_nifti::ComposedNifti;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram, Volume};
use arcuate::io::atomic::{self, ReadBackDifference, WriteStop, write_verified};
use arcuate::io::{self, Error, Format, nifti, png, tck};
use glam::DVec3;
use libtest_mimic::{Failed, Trial};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::files::kinds", kinds),
        test("io::files::unreadable", unreadable),
        test("io::files::failed_write_loses_nothing", failed_write),
        test("io::files::places_that_cannot_be_written", unwritable),
        test("io::files::replaced_as_a_whole", replaced),
        test("io::files::cancelled_write", cancelled),
        test("io::files::cancelled while it is read back", cancelled_late),
        test("io::files::wrong_names", wrong_names),
        test("io::files::content_against_the_name", misnamed),
        test("io::files::converted_whole_or_not_at_all", whole_or_nothing),
        test("io::files::several_get_their_names_together", together),
        test("io::files::remains of killed processes are removed", left),
        test("io::files::pictures", pictures),
        #[cfg(unix)]
        test("io::files::links that lead around", around),
        full_disk(),
    ]
}

/// Two paths back at every step: 2⁴⁰ paths before the system refuses.
#[cfg(unix)]
fn around() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a"), "a").expect("written");
    let sum = || arcuate::io::checksum::of_file(folder.path(), &Control::new());
    assert!(sum().is_ok());
    for name in ["b", "c"] {
        std::os::unix::fs::symlink(".", folder.path().join(name)).expect("linked");
    }
    let error = sum().expect_err("without an end").to_string();
    assert!(error.contains("folders nested more than"), "{error}");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|e| {
            e.expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

fn volume(count: usize) -> Volume {
    let grid = Grid::axis_aligned([count, 1, 1], DVec3::ONE, DVec3::ZERO).expect("regular");
    Volume::scalar(
        Arc::new(grid),
        (0..count).map(|v| v as f32).collect::<Vec<_>>(),
    )
}

/// Old temporary files are removed when the next file is written; anything else stays.
fn left() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    let day = std::time::Duration::from_secs(25 * 3600);
    let old = std::time::SystemTime::now() - day;
    let make = |name: &str, aged: bool| {
        let file = std::fs::File::create(path(name)).expect("made");
        if aged {
            file.set_modified(old).expect("aged");
        }
    };
    make(".arcuate-4000000-3.tmp", true);
    make(".arcuate-4000000-4.tmp", false);
    make(".arcuate-notes.tmp", true);
    make(".arcuate-1-2.tmp.nii", true);
    std::fs::create_dir(path(".arcuate-4000000-5.tmp")).expect("made");
    nifti::save_volume(&path("a.nii"), &volume(3), "made", &Control::new()).expect("saved");
    assert_eq!(
        names(folder.path()),
        [
            ".arcuate-1-2.tmp.nii",
            ".arcuate-4000000-4.tmp",
            ".arcuate-4000000-5.tmp",
            ".arcuate-notes.tmp",
            "a.nii"
        ]
    );
}

fn kinds() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    for (name, format) in [
        ("a.nii", Format::Nifti),
        ("a.b.NII.GZ", Format::Nifti),
        ("a.hdr", Format::Nifti),
        ("a.img.gz", Format::Nifti),
        ("a.tck", Format::Tck),
        ("a.trk", Format::Trk),
        ("a.TRK.gz", Format::Trk),
        ("a.trx", Format::Trx),
        ("a.bvec", Format::Fsl),
        ("a.bvals", Format::Fsl),
        ("a.b", Format::Mrtrix),
        ("a.png", Format::Png),
        ("a.mgz", Format::Mgh),
        ("a.NHDR", Format::Nrrd),
        ("a.mif.GZ", Format::Mif),
        ("a.mih", Format::Mif),
        ("lh.pial.surf.gii", Format::Gifti),
    ] {
        assert_eq!(io::detect(&path(name)), Ok(format), "{name}");
    }
    // The content identifies the format if the name does not.
    ComposedNifti::ramp(1).write(&path("image"));
    ComposedNifti::ramp(2).write(&path("image.gz"));
    std::fs::write(path("lines.old"), "mrtrix tracks\n").expect("written");
    assert_eq!(io::detect(&path("image")), Ok(Format::Nifti));
    assert_eq!(io::detect(&path("image.gz")), Ok(Format::Nifti));
    assert_eq!(io::detect(&path("lines.old")), Ok(Format::Tck));
    std::fs::write(path("IM0001"), [vec![0; 128], b"DICM".to_vec()].concat()).expect("written");
    let text = sentence(&io::detect(&path("IM0001")).expect_err("DICOM"));
    assert!(text.contains("dcm2niix"), "{text}");
    std::fs::write(path("notes"), "hello").expect("written");
    let text = sentence(&io::open(&path("notes"), &Control::new()).expect_err("unknown"));
    assert!(text.contains(".nii.gz") && text.contains(".tck"), "{text}");
    for name in ["a.mnc", "a.dcm", "a.png", "a.bval", "a.ply"] {
        let error = io::open(&path(name), &Control::new()).expect_err("not opened");
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        sentence(&error);
    }
    assert!(Format::all().all(|f| f.described().contains(f.extensions()[0])));
}

fn unreadable() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let error = |path: PathBuf| {
        let error = io::open(&path, &Control::new()).expect_err("unreadable");
        sentence(&error);
        error
    };
    assert!(matches!(
        error(folder.path().join("none.nii")),
        Error::Missing { .. }
    ));
    assert!(matches!(
        error(folder.path().to_owned()),
        Error::Folder { .. }
    ));
    let file = folder.path().join("a.nii");
    ComposedNifti::ramp(1).write(&file);
    assert!(matches!(error(file.join("b.nii")), Error::Missing { .. }));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let locked = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(&file, locked).expect("ours");
        // Permission bits do not restrict the superuser.
        if std::fs::File::open(&file).is_err() {
            assert!(matches!(error(file), Error::Denied { .. }));
        }
        assert!(matches!(
            error(PathBuf::from("/dev/zero")),
            Error::Malformed { .. }
        ));
        // Reading it fails at the first byte on Linux.
        let odd = PathBuf::from("/proc/self/mem");
        if odd.exists() {
            assert!(matches!(error(odd), Error::Unreadable { .. }));
        }
    }
}

/// A writer that fails half-way, for every reason that has its own sentence.
fn failed_write() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("precious.nii");
    std::fs::write(&path, "precious").expect("written");
    let untouched = || {
        assert_eq!(std::fs::read_to_string(&path).expect("found"), "precious");
        assert_eq!(names(folder.path()), ["precious.nii"], "no file is left");
    };
    for (kind, cause) in [
        (ErrorKind::StorageFull, "disk is full"),
        (ErrorKind::QuotaExceeded, "disk is full"),
        (ErrorKind::ReadOnlyFilesystem, "may not be written to"),
        (ErrorKind::Other, "could not be written"),
    ] {
        // Failures within the buffer, and far beyond it.
        for bytes in [10, 1 << 20] {
            let failing = write_verified(
                &path,
                |file| {
                    file.write_all(&vec![1; bytes])?;
                    Err(WriteStop::Io(kind.into()))
                },
                |_| -> Result<(), ReadBackDifference> { panic!("a broken file is not verified") },
            );
            let text = sentence(&failing.expect_err("it failed"));
            assert!(text.contains(cause), "{text}");
            untouched();
        }
    }
    // Written, but with other content.
    let differing = write_verified(
        &path,
        |file| Ok(file.write_all(b"other")?),
        |written| {
            assert_eq!(std::fs::read(written).expect("complete"), b"other");
            Err(ReadBackDifference::Bytes)
        },
    );
    let error = differing.expect_err("it differs");
    assert!(
        matches!(error, Error::ReadBack { .. }) && sentence(&error).contains("its bytes differ")
    );
    untouched();
}

fn unwritable() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let small = volume(10);
    let error = |path: &Path| {
        let error = nifti::save_volume(path, &small, "", &Control::new()).expect_err("refused");
        sentence(&error);
        error
    };
    assert!(matches!(
        error(&folder.path().join("no/a.nii")),
        Error::NoFolder { .. }
    ));
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("written");
    assert!(matches!(error(&file.join("a.nii")), Error::NoFolder { .. }));
    let taken = folder.path().join("folder.nii");
    std::fs::create_dir(&taken).expect("made");
    assert!(matches!(error(&taken), Error::FolderInPlace { .. }));
    // Permission bits do not restrict the superuser, but the kernel's own folders do.
    if Path::new("/sys/kernel").exists() {
        assert!(matches!(
            error(Path::new("/sys/kernel/a.nii")),
            Error::ReadOnly { .. }
        ));
    }
    let protected = folder.path().join("protected.nii");
    std::fs::write(&protected, "precious").expect("written");
    let mut permissions = std::fs::metadata(&protected).expect("found").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&protected, permissions).expect("ours");
    assert!(matches!(error(&protected), Error::Protected { .. }));
    assert_eq!(
        std::fs::read_to_string(&protected).expect("found"),
        "precious"
    );
    assert_eq!(
        names(folder.path()),
        ["file", "folder.nii", "protected.nii"]
    );
    sentence(&atomic::make_folder(&file.join("below")).expect_err("a file is in the way"));
    sentence(&atomic::make_folder(&file).expect_err("a file is in the way"));
    atomic::make_folder(&folder.path().join("x/y/z")).expect("made");
    atomic::make_folder(&folder.path().join("x/y")).expect("it exists");
}

fn replaced() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii");
    for count in [1000, 10] {
        nifti::save_volume(&path, &volume(count), "", &Control::new()).expect("saved");
        let (found, _) = nifti::read(&path, &Control::new()).expect("valid");
        assert_eq!(found.values.len(), count);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The owner's permissions stay.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("ours");
        // A link stays a link; its target is replaced.
        let link = folder.path().join("link.nii");
        std::os::unix::fs::symlink("a.nii", &link).expect("linked");
        nifti::save_volume(&link, &volume(7), "", &Control::new()).expect("saved");
        assert!(
            std::fs::symlink_metadata(&link)
                .expect("found")
                .is_symlink()
        );
        let (found, _) = nifti::read(&path, &Control::new()).expect("valid");
        assert_eq!(found.values.len(), 7);
        let mode = std::fs::metadata(&path)
            .expect("found")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(names(folder.path()), ["a.nii", "link.nii"]);
    }
}

fn cancelled() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let control = Control::new();
    control.cancel();
    let image = nifti::save_volume(&folder.path().join("a.nii.gz"), &volume(9), "", &control);
    assert_eq!(image, Err(Error::Cancelled));
    let line = Tractogram::new(vec![[1.0; 3]; 2], vec![0, 2]);
    let fibres = tck::save(&folder.path().join("a.tck"), &line, "", &control);
    assert_eq!(fibres, Err(Error::Cancelled));
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

/// Once everything is written, only the verification checks for cancellation.
fn cancelled_late() {
    const LINES: usize = 10_000;
    const POINTS: usize = 100 * LINES;
    let points: Vec<[f32; 3]> = (0..POINTS).map(|i| [(i % 100) as f32, 1.0, 2.0]).collect();
    let offsets: Vec<u64> = (0..=LINES as u64).map(|i| 100 * i).collect();
    let grid = Grid::axis_aligned([100; 3], DVec3::ONE, DVec3::ZERO).expect("regular");
    let lines = Tractogram::new(points, offsets).with_grid(grid.clone());
    let image = Volume::scalar(Arc::new(grid), vec![1.0; 1_000_000]);
    // Progress reported at the last check.
    for (name, written) in [
        ("a.tck", LINES),
        ("a.trk", LINES),
        ("a.trx", 12 * POINTS + 4 * LINES),
        ("a.vtk", POINTS),
        ("a.vtp", POINTS),
        ("a.nii", image.values.len()),
        ("a.nii.gz", image.values.len()),
    ] {
        let stopped = || {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let (path, control) = (folder.path().join(name), Control::new());
            let outcome = std::thread::scope(|scope| {
                let saved = scope.spawn(|| match Format::named(&path) {
                    Some(Format::Nifti) => nifti::save_volume(&path, &image, "", &control),
                    _ => io::streamlines::save(&path, &lines, "", &control),
                });
                while control.progress().done < written as u64 && !saved.is_finished() {
                    std::thread::yield_now();
                }
                control.cancel();
                saved.join().expect("no panic")
            });
            // Cancelled too late, the file is complete.
            let expected = if outcome.is_ok() { vec![name] } else { vec![] };
            assert_eq!(names(folder.path()), expected);
            assert!(
                matches!(outcome, Ok(_) | Err(Error::Cancelled)),
                "{name}: {outcome:?}"
            );
            outcome.is_err()
        };
        assert!((0..20).any(|_| stopped()), "{name}");
    }
}

fn wrong_names() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["a", "a.gz", "a.img", "a.hdr", "nii", "a.mif", ".."] {
        let path = folder.path().join(name);
        let error = nifti::save_volume(&path, &volume(2), "", &Control::new());
        sentence(&error.expect_err("no image's name"));
    }
    // The longest name that the system permits.
    let long = folder.path().join("x".repeat(251) + ".nii");
    nifti::save_volume(&long, &volume(2), "", &Control::new()).expect("saved");
    let grid = Grid::axis_aligned([40_000, 1, 1], DVec3::ONE, DVec3::ZERO).expect("regular");
    let wide = Volume::scalar(Arc::new(grid), vec![0.0; 40_000]);
    let error = nifti::save_volume(&folder.path().join("w.nii"), &wide, "", &Control::new());
    assert!(sentence(&error.expect_err("too wide")).contains("32767"));
    assert_eq!(names(folder.path()).len(), 1);
}

fn pictures() {
    let mut random = Random::fresh("pictures");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.png");
    let (width, height) = (37, 21);
    let rgba: Vec<u8> = (0..4 * width * height)
        .map(|_| random.bits() as u8)
        .collect();
    let pair = |k: &str, v: &str| (k.to_owned(), v.to_owned());
    let metadata = vec![
        pair("Software", "Arcuate"),
        pair(
            "Parameters",
            "{\"step_mm\": 0.5,\n \"name\": \"größer · 50 µm ≤ x\"}",
        ),
        pair("Command", "arcuate render --size 4"),
    ];
    png::save(&path, [width, height], &rgba, &metadata).expect("saved");
    let found = png::read(&path).expect("valid");
    assert_eq!((found.size, &found.rgba), ([width, height], &rgba));
    for pair in &metadata {
        assert!(found.metadata.contains(pair), "{pair:?}");
    }
    // Truncated or damaged: a sentence.
    let whole = std::fs::read(&path).expect("readable");
    for length in (0..whole.len()).step_by(97) {
        std::fs::write(&path, &whole[..length]).expect("written");
        sentence(&png::read(&path).expect_err("cut off"));
    }
    for _ in 0..200 {
        let mut bytes = whole.clone();
        let at = (random.bits() % bytes.len() as u64) as usize;
        bytes[at] = !bytes[at];
        std::fs::write(&path, bytes).expect("written");
        if let Err(error) = png::read(&path) {
            sentence(&error);
        }
    }
    // Text that PNG cannot hold, and files that are not a picture.
    let long = vec![(String::from("k").repeat(80), String::new())];
    sentence(&png::save(&path, [width, height], &rgba, &long).expect_err("keyword too long"));
    sentence(&png::save(&path.with_extension("jpg"), [0, 0], &[], &[]).expect_err("no PNG name"));
    sentence(&png::save(&path, [0, 0], &[], &[]).expect_err("no pixels"));
}

/// On a disk that is really full: `ARCUATE_SMALL_DISK` names a folder on a file system of under 1 MiB (`mount -t tmpfs
/// -o size=64k tmpfs folder`).
fn full_disk() -> Trial {
    let name = "io::files::full_disk";
    let Some(folder) = std::env::var_os("ARCUATE_SMALL_DISK").map(PathBuf::from) else {
        return Trial::test(
            format!("{name} (not run: $ARCUATE_SMALL_DISK names no small file system)"),
            || Err(Failed::from("there is no small disk")),
        )
        .with_ignored_flag(true);
    };
    test(name, move || {
        let (image, lines) = (folder.join("a.nii"), folder.join("a.tck"));
        nifti::save_volume(&image, &volume(10), "", &Control::new()).expect("it fits");
        let large = volume(30_000);
        let tall = Grid::axis_aligned([30_000, 10, 1], DVec3::ONE, DVec3::ZERO).expect("regular");
        let tall = Volume::scalar(Arc::new(tall), large.values.repeat(10));
        let error = nifti::save_volume(&image, &tall, "", &Control::new()).expect_err("full");
        assert!(matches!(error, Error::Full { .. }), "{error}");
        let points = vec![[1.0; 3]; 100_000];
        let fibres = Tractogram::new(points, vec![0, 100_000]);
        let error = tck::save(&lines, &fibres, "", &Control::new()).expect_err("full");
        assert!(matches!(error, Error::Full { .. }), "{error}");
        let (found, _) = nifti::read(&image, &Control::new()).expect("untouched");
        assert_eq!(found.values.len(), 10);
        assert_eq!(names(&folder), ["a.nii"]);
        std::fs::remove_file(&image).expect("ours");
    })
}

/// A file named for another format is not called damaged: its own format is named.
fn misnamed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let message = |name: &str| {
        let error = io::open(&at(name), &Control::new()).expect_err(name);
        sentence(&error)
    };
    nifti::save_volume(&at("a.nii"), &volume(9), "", &Control::new()).expect("saved");
    let grid = volume(9).grid.clone();
    let tracks = Tractogram::new(vec![[0.0; 3], [1.0; 3]], vec![0, 2]).with_grid(grid);
    for name in ["a.tck", "a.trk", "a.vtk"] {
        io::streamlines::save(&at(name), &tracks, "", &Control::new()).expect("saved");
    }
    for (file, as_named) in [
        ("a.nii", "b.trk"),
        ("a.nii", "b.tck"),
        ("a.tck", "b.vtk"),
        ("a.trk", "b.nii"),
        ("a.trk", "b.tck"),
        ("a.vtk", "b.mgh"),
        ("a.tck", "b.trx"),
    ] {
        std::fs::copy(at(file), at(as_named)).expect("copied");
        let text = message(as_named);
        let is = if file == "a.nii" {
            ".nii.gz"
        } else {
            &file[1..]
        };
        assert!(
            text.contains(&format!("the content of a {is} file")),
            "{text}"
        );
        assert!(text.contains(&format!("its name to {is}")), "{text}");
    }
    let mut dicom = vec![0u8; 400];
    dicom[128..132].copy_from_slice(b"DICM");
    std::fs::write(at("slice.nii.gz"), dicom).expect("written");
    assert!(message("slice.nii.gz").contains("dcm2niix"));
    for format in Format::all().filter(|f| f.opens()) {
        let name = format!("empty.{}", format.extensions()[0]);
        std::fs::write(at(&name), "").expect("written");
        let text = message(&name);
        assert!(text.contains("an empty file"), "{text}");
    }
    // A file without recognisable content gets its format's own sentence.
    std::fs::write(at("noise.tck"), [7; 900]).expect("written");
    assert!(message("noise.tck").contains("mrtrix tracks"));
    // Formats that users have and that are not read are named.
    for (name, format_name) in [
        ("a.gipl.gz", "GIPL"),
        ("a.mhd", "MetaImage"),
        ("a.tsf", "open the .tck"),
        ("a.ima", "dcm2niix"),
        ("a.fib.gz", "DSI Studio"),
    ] {
        std::fs::write(at(name), [7; 9]).expect("written");
        assert!(message(name).contains(format_name), "{name}");
    }
}

/// If one cannot get its name, those before it are reverted.
fn together() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let ready = |name: &str| {
        let write = |file: &mut _| Ok(std::io::Write::write_all(file, b"new")?);
        atomic::prepare(&at(name), write, |_| Ok::<(), ReadBackDifference>(())).expect("prepared")
    };
    let names = || {
        let all = std::fs::read_dir(folder.path()).expect("a folder");
        let all = all.map(|e| e.expect("an entry").file_name());
        let mut names: Vec<String> = all.map(|n| n.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    std::fs::write(at("a"), "old").expect("written");
    let files = ["a", "b", "c"].map(ready);
    std::fs::remove_file(files[2].file()).expect("removed");
    atomic::rename_together(files.into()).expect_err("one is gone");
    assert_eq!(names(), ["a"]);
    assert_eq!(std::fs::read(at("a")).expect("read"), b"old");
    atomic::rename_together(["a", "b"].map(ready).into()).expect("renamed");
    assert_eq!(names(), ["a", "b"]);
    assert_eq!(std::fs::read(at("a")).expect("read"), b"new");
}

/// An obstacle to one of several files is found before the first is written.
fn whole_or_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let points = vec![[0.0; 3], [1.0; 3], [2.0; 3], [3.0; 3]];
    let tracks = Tractogram::new(points, vec![0, 2, 4])
        .with_per_point("fa", vec![0.1, 0.2, 0.3, 0.4])
        .with_per_point("holes", vec![0.1, f32::NAN, 0.3, 0.4])
        .with_per_streamline("weight", vec![1.0, 2.0]);
    io::streamlines::save(&at("a.trx"), &tracks, "", &Control::new()).expect("saved");
    let convert = |to: &Path| {
        let reported = io::Reading::default();
        let plan = io::convert::plan(&at("a.trx"), to, None, &reported, &Control::new())?;
        plan.write(true, "", &Control::new())
    };
    // The name of the TCK is short enough, those of the values next to it are not.
    let long = at(&format!("{}.tck", "a".repeat(248)));
    let error = convert(&long).expect_err("a long name");
    assert!(matches!(error, Error::LongName { .. }), "{error}");
    assert!(sentence(&error).contains("shorter"), "{error}");
    assert!(!long.exists());
    // A NaN ends a streamline in TSF: such values are left out, which is reported.
    let done = convert(&at("b.tck")).expect("converted");
    let written: Vec<_> = done.written.iter().map(|p| p.file_name()).collect();
    let expected = ["b.tck", "b.fa.tsf", "b.weight.weights.txt"];
    assert_eq!(written, expected.map(|n| Some(std::ffi::OsStr::new(n))));
    assert!(
        done.unsupported_contents
            .iter()
            .any(|l| l.contains("holes")),
        "{done:?}"
    );
    // A file has the name of a TRX folder, a folder that of a file.
    std::fs::write(at("c.trx"), "words").expect("written");
    let folder = PathBuf::from(format!("{}/", at("c.trx").display()));
    for error in [
        io::convert::check_place(&folder).expect_err("a file is there"),
        convert(&folder).expect_err("a file is there"),
    ] {
        assert!(sentence(&error).contains("in place of a folder"), "{error}");
    }
    std::fs::create_dir(at("d.trx")).expect("made");
    std::fs::write(at("d.trx/notes.txt"), "words").expect("written");
    let error = convert(&at("d.trx")).expect_err("a folder is there");
    assert!(matches!(error, Error::FolderInPlace { .. }), "{error}");
    assert!(at("d.trx/notes.txt").exists());
}
