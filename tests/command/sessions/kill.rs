//! The kill test: a process that edits, saves for recovery, saves its session and exports is killed at random moments.
//! Its last recovery copy is restored, and no file with a final name is incomplete.
//!
//! 40 kills, or the number in `ARCUATE_KILLS`: 200 in `.ci/nightly`.

use crate::support::origins::kept_curve_layers;
use crate::support::session_window::Window;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Role, Shape};
use arcuate::io;
use arcuate::state::{Action, FilesAction, Phase, RegionAction, SessionAction, TrackAction};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Makes a process of this program the one to be killed: the folder to work in.
const CHILD: &str = "ARCUATE_KILL_CHILD";

pub fn tests() -> Vec<Trial> {
    if cfg!(unix) {
        vec![test("sessions::kills", kills)]
    } else {
        Vec::new()
    }
}

/// Works until it is killed, if this process is meant to.
pub fn child() {
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else {
        return;
    };
    let mut window = Window::new();
    window.session(SessionAction::FindRecoverable);
    // The lock of a killed process can outlive it.
    for _ in 0..600 {
        let saving = &window.state.runtime.sessions;
        if !saving.recovery.search_again || !saving.recovery.sessions.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
        window.session(SessionAction::FindRecoverable);
    }
    let left = window.state.runtime.sessions.recovery.sessions.clone();
    match left.first() {
        Some(left) => {
            let path = left.session.clone();
            let leave = SessionAction::CloseDocument(arcuate::state::UnsavedAction::Recover(path));
            window.session(leave);
        }
        None => window.open(&folder.join("s.arcuate")),
    }
    // Left by a window that was killed after it had saved this one, before it had removed the other.
    for other in left.iter().skip(1) {
        window.session(SessionAction::Forget(other.session.clone()));
    }
    // Removes the note of recovered work: any later message is a failure.
    window.state.runtime.notices.messages.clear();
    let regions = window.state.document.regions.len();
    println!(
        "recovered {} {regions} {}",
        left.len(),
        step_of(&window).unwrap_or(0)
    );
    let mut step = step_of(&window).unwrap_or(0);
    loop {
        step += 1;
        edit(&mut window, step);
        window.session(SessionAction::Autosave);
        report(&format!("autosaved {step}"));
        if step.is_multiple_of(3) {
            let path = folder.join(format!("out{}.tck", step % 4));
            window.act(Action::Files(FilesAction::SaveStreamlines {
                layer: None,
                path,
            }));
        }
        if step.is_multiple_of(5) {
            let region = window.state.document.regions[0].id;
            let path = folder.join("region.nii.gz");
            window.act(Action::Region(RegionAction::Save { region, path }));
        }
        if step.is_multiple_of(4) {
            report(&format!("saving {step}"));
            let path = Some(folder.join("s.arcuate"));
            window.session(SessionAction::Save { path, next: None });
            report(&format!("saved {step}"));
        }
        assert_eq!(window.messages(), "");
    }
}

fn report(line: &str) {
    println!("{line}");
    let _ = std::io::stdout().flush();
}

/// Position of the seed after a step, which identifies the step.
fn seed_position(step: u64) -> DVec3 {
    dvec3((step % 7) as f64 - 3.0, -6.0, step as f64 * 1e-3)
}

fn edit(window: &mut Window, step: u64) {
    let region = window.state.document.regions[0].id;
    let shape = Shape::Sphere {
        centre: seed_position(step),
        radius_mm: 5.0,
    };
    let phase = Phase::Done;
    window.act(Action::Region(RegionAction::SetShape {
        region,
        shape,
        phase,
    }));
    if step.is_multiple_of(6) && kept_curve_layers(&window.state.document).len() < 4 {
        window.act(Action::Track(TrackAction::Keep));
    }
}

fn step_of(window: &Window) -> Option<u64> {
    let region = window.state.document.regions.first()?;
    match &*region.shape {
        Shape::Sphere { centre, .. } => Some((centre.z * 1e3).round() as u64),
        _ => None,
    }
}

/// Every file with a final name can be read completely; returns how many temporary files were left.
fn count_temporary_files(folder: &Path) -> usize {
    let mut left = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            left += count_temporary_files(&path);
        } else if name.ends_with(".tmp") {
            left += 1;
            std::fs::remove_file(&path).expect("removed");
        } else if name.ends_with(".arcuate") {
            let session = io::session::read(&path);
            assert!(session.is_ok(), "{session:?}");
        } else if name.ends_with(".tck") || name.ends_with(".nii.gz") || name.ends_with(".trx") {
            let opened = io::open(&path, &Control::new());
            assert!(opened.is_ok(), "{name}: {opened:?}");
        }
    }
    left
}

fn kills() {
    let requested = std::env::var("ARCUATE_KILLS")
        .ok()
        .and_then(|n| n.parse().ok());
    let requested: usize = requested.unwrap_or(40);
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let home = here.join("home");
    let mut window = Window::with_scan(here);
    let mut track = window.state.document.track.streamlines.clone();
    track.min_length_mm = 5.0;
    track.seeding = arcuate::solvers::curves::Seeding::Random { count: 40 };
    let phase = Phase::Done;
    window.act(Action::Track(TrackAction::SetStreamlines {
        params: track,
        phase,
    }));
    window.place(Role::Seed, seed_position(0), 5.0);
    window.save(&here.join("s.arcuate"));
    drop(window);
    let mut random = Random::fresh("kills");
    let (mut last, mut temporary, mut steps) = (0, 0, 0);
    // State of the last process when it was killed.
    let mut clean = true;
    for kill in 0..requested {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .env(CHILD, here)
            .env("XDG_STATE_HOME", &home)
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let first = lines.next().expect("a line").expect("text");
        let numbers: Vec<u64> = first
            .split(' ')
            .skip(1)
            .map(|w| w.parse().expect("a number"))
            .collect();
        let [left, regions, step] = numbers[..] else {
            panic!("{first}")
        };
        // Everything saved for recovery, or in the session, is restored.
        assert!(clean || left >= 1, "kill {kill}: nothing was left behind");
        assert_eq!(regions, 1, "kill {kill}");
        assert!(
            step >= last,
            "kill {kill}: step {step} came back, {last} was saved"
        );
        // The kill comes some milliseconds after a random number of lines: during a step, and after some work on a busy
        // machine, too.
        let awaited = random.bits() % 8;
        let pause = random.uniform(0.0, 30.0);
        let (go, gone) = channel::<()>();
        let killer = std::thread::Builder::new()
            .spawn(move || {
                // The channel also closes when the child ends by itself.
                let _ = gone.recv();
                std::thread::sleep(Duration::from_secs_f64(pause * 1e-3));
                child.kill().expect("killed");
                child.wait().expect("gone");
            })
            .expect("a thread");
        last = step;
        let mut go = Some(go).filter(|_| awaited > 0);
        let mut received = 0;
        for line in lines.map_while(Result::ok) {
            let (what, step) = line.split_once(' ').expect("two parts");
            last = step.parse().expect("a number");
            steps += 1;
            received += 1;
            if received == awaited {
                // Dropping the sender starts the kill.
                go = None;
            }
            // Between saving and saved either state is possible.
            clean = what != "autosaved";
        }
        drop(go);
        assert!(received >= awaited, "kill {kill}: it ended by itself");
        killer.join().expect("no panic");
        temporary += count_temporary_files(here);
    }
    println!("{requested} kills, {steps} steps, {temporary} temporary files left");
}
