//! Films: an ffmpeg that prints much, hangs or is stopped never blocks the program.

use crate::support::{PATIENCE, test};
use arcuate::compute::Control;
use arcuate::io::Error;
use arcuate::jobs::{Ffmpeg, NoFfmpeg};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub fn tests() -> Vec<Trial> {
    if cfg!(not(unix)) {
        return Vec::new();
    }
    vec![
        test("jobs::films of an ffmpeg that prints much", talks),
        test(
            "jobs::films of an ffmpeg that complains without end",
            long_line,
        ),
        test("jobs::films of an ffmpeg that hangs", stands_still),
        test("jobs::films with few threads", few_threads),
        test("jobs::films on a full disk are tried once", full_disk),
        test("jobs::films are cancelled", cancelled),
        test("jobs::films of an ffmpeg that may not run", may_not_run),
        test("jobs::films that are cut off are refused", cut_off),
        test(
            "jobs::films without one of their pictures are refused",
            missing_frame,
        ),
    ]
}

fn set_mode(_file: &Path, _mode: u32) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(_file, PermissionsExt::from_mode(_mode)).expect("set");
    }
}

/// A program in place of ffmpeg; its last argument is the film to write.
fn in_place(folder: &Path, script: &str, timeout: Duration) -> Ffmpeg {
    let program = folder.join("ffmpeg");
    let text = format!("#!/bin/sh\nfor film; do :; done\n{script}\n");
    std::fs::write(&program, text).expect("written");
    set_mode(&program, 0o755);
    Ffmpeg { program, timeout }
}

fn save(ffmpeg: &Ffmpeg, path: &Path, control: &Control) -> Result<(), Error> {
    let frame = path.with_file_name("frame.png");
    std::fs::write(&frame, "a picture").expect("written");
    ffmpeg.save(path, &[frame.clone(), frame], 25, control)
}

/// A line of many thousand characters is quoted in part.
fn long_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.mp4");
    let script = "head -c 100000 /dev/zero | tr '\\0' x >&2; exit 3";
    let ffmpeg = in_place(folder.path(), script, PATIENCE);
    let error = save(&ffmpeg, &path, &Control::new()).expect_err("refused");
    let sentence = error.to_string();
    assert!(sentence.contains("xxx…"), "{sentence}");
    assert_eq!(sentence.matches('x').count() / 100, 2, "{sentence}");
}

/// A file without execute permission is skipped, as the system does; where it is the only one, or belongs to another
/// user, the remedy is not to install ffmpeg.
fn may_not_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    for place in [&first, &second] {
        std::fs::create_dir(place).expect("made");
    }
    let among = || Ffmpeg::among([first.clone(), second.clone()].into_iter());
    assert_eq!(among(), Err(NoFfmpeg::Missing));
    let denied = in_place(&first, "exit 0", PATIENCE);
    set_mode(&denied.program, 0o644);
    assert_eq!(among(), Err(NoFfmpeg::Denied(denied.program.clone())));
    let runs = in_place(&second, "exit 0", PATIENCE);
    assert_eq!(among(), Ok(runs.program));
    let path = folder.path().join("a.mp4");
    let error = save(&denied, &path, &Control::new()).expect_err("refused");
    let sentence = error.to_string();
    let program = denied.program.display();
    assert!(
        sentence.starts_with(&format!(
            "Found an ffmpeg that may not be executed ({program}), expected one that can be started; make it \
             executable, or use the pictures, which were saved"
        )),
        "{sentence}"
    );
}

/// ffmpeg would end a film before a missing picture, and report success.
fn missing_frame() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.mp4");
    let ffmpeg = in_place(folder.path(), &format!("{WHOLE} > $film"), PATIENCE);
    save(&ffmpeg, &path, &Control::new()).expect("both");
    let frames = ["frame.png", "gone.png"].map(|name| folder.path().join(name));
    let error = ffmpeg.save(&path, &frames, 25, &Control::new());
    let sentence = error.expect_err("refused").to_string();
    assert!(sentence.contains("gone.png"), "{sentence}");
}

/// The boxes that every film has, empty; and a script that writes them.
const FILM: &[u8] = b"\0\0\0\x08ftyp\0\0\0\x08moov\0\0\0\x08mdat";
const WHOLE: &str = r"printf '\000\000\000\010ftyp\000\000\000\010moov\000\000\000\010mdat'";

/// A full disk truncates a film, and ffmpeg may end with success.
fn cut_off() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.mp4");
    std::fs::write(&path, FILM).expect("written");
    for part in [
        "true",
        ": > \"$film\"",
        r#"printf '\000\000\000\010ftyp\000\000\000\010mdat' > "$film""#,
        r#"printf '\000\000\000\010ftyp\000\000\000\010moov\000\000\001\000mdat' > "$film""#,
    ] {
        let ffmpeg = in_place(folder.path(), part, LONG);
        let error = save(&ffmpeg, &path, &Control::new()).expect_err(part);
        assert!(matches!(error, Error::Film { .. }), "{part}: {error:?}");
        assert!(error.to_string().contains("TMPDIR"), "{error}");
        assert_eq!(std::fs::read(&path).expect("the film of before"), FILM);
    }
}

const LONG: Duration = Duration::from_secs(300);

/// Two megabytes of messages are many times the capacity of a pipe.
fn talks() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.mp4");
    let text = "i=0; while [ $i -lt 20000 ]; do echo 'this frame is strange, and so are the others, which is told at length' >&2; \
                 echo \"frame=$i\"; i=$((i+1)); done";
    let fine = in_place(folder.path(), &format!("{text}\n{WHOLE} > \"$film\""), LONG);
    let control = Control::new();
    save(&fine, &path, &control).expect("saved");
    assert_eq!(std::fs::read(&path).expect("a film"), FILM);
    let script = format!("{text}\necho 'out of colours' >&2\nexit 3");
    let failing = in_place(folder.path(), &script, LONG);
    let error = save(&failing, &path, &control)
        .expect_err("it failed")
        .to_string();
    assert!(error.contains("exit status: 3: out of colours"), "{error}");
    assert_eq!(std::fs::read(&path).expect("the film of before"), FILM);
}

/// ffmpeg fails when it gets fewer threads than it requests, and is run again with one.
fn few_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.mp4");
    let needs_one = "case \"$*\" in *'-threads 1 -framerate '*'-filter_threads 1 '*'-threads 1 -movflags '*) ;; \
                     *) echo \"$COMPLAINT\" >&2; exit 1;; esac";
    for complaint in [
        "Error while opening decoder for input stream #0:0 : Resource temporarily unavailable",
        "Error initializing output stream 0:0 -- Error while opening encoder for output stream #0:0 - maybe incorrect \
         parameters such as bit_rate, rate, width or height",
    ] {
        let script = format!("COMPLAINT='{complaint}'\n{needs_one}\n{WHOLE} > \"$film\"");
        let ffmpeg = in_place(folder.path(), &script, LONG);
        save(&ffmpeg, &path, &Control::new()).expect("saved");
        assert_eq!(std::fs::read(&path).expect("a film"), FILM);
    }
}

/// One thread does not help against a full disk: ffmpeg is not started again, and the sentence states the reason, even
/// where ffmpeg prints more after it or ends with success.
fn full_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.mp4");
    let starts = folder.path().join("starts");
    for (complaints, end) in [
        (
            "Could not write header for output file #0 (incorrect codec parameters ?): No space left on device\n\
             Error initializing output stream 0:0 --",
            "exit 1",
        ),
        (
            "av_interleaved_write_frame(): No space left on device\nConversion failed!",
            "exit 1",
        ),
        (
            "Error writing trailer of film.mp4: No space left on device",
            ": > \"$film\"",
        ),
    ] {
        std::fs::write(&starts, "").expect("written");
        let script = format!(
            "echo once >> '{}'\ncat >&2 <<'END'\n{complaints}\nEND\n{end}",
            starts.display()
        );
        let ffmpeg = in_place(folder.path(), &script, LONG);
        let error = save(&ffmpeg, &path, &Control::new()).expect_err("a full disk");
        let error = error.to_string();
        assert!(error.contains("No space left on device"), "{error}");
        assert_eq!(std::fs::read_to_string(&starts).expect("read"), "once\n");
    }
}

fn stands_still() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.mp4");
    // On a busy machine the shell may need more than a second for its first output.
    let script = "echo frame=7; echo 'waiting for nothing' >&2; exec sleep 600";
    let stood = (0..5).any(|_| {
        let ffmpeg = in_place(folder.path(), script, Duration::from_secs(1));
        let started = Instant::now();
        let error = save(&ffmpeg, &path, &Control::new()).expect_err("it hangs");
        assert!(started.elapsed() < PATIENCE);
        let error = error.to_string();
        assert!(error.contains("made no progress for 1 s after "), "{error}");
        error.contains("after 7 pictures and was stopped: waiting for nothing")
    });
    assert!(stood, "what it did and said is left out");
    assert!(!path.exists());
}

fn cancelled() {
    let folder = tempfile::tempdir().expect("a folder");
    let path: PathBuf = folder.path().join("a.mp4");
    let ffmpeg = in_place(folder.path(), "exec sleep 600", LONG);
    let control = Control::new();
    let other = control.clone();
    let started = Instant::now();
    let stops = std::thread::Builder::new()
        .spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            other.cancel();
        })
        .expect("a thread");
    assert_eq!(save(&ffmpeg, &path, &control), Err(Error::Cancelled));
    assert!(started.elapsed() < PATIENCE);
    stops.join().expect("no panic");
}
