//! Windows that share their crosshair: two programs' states with workers of their own, over files in one folder.

use crate::support::test;
use arcuate::compute::{Backend, BackendChoice};
use arcuate::data::{Grid, Volume};
use arcuate::jobs::Jobs;
use arcuate::state::core::display;
use arcuate::state::core::layer::{Content, Layer, LayerId};
use arcuate::state::origin::Origin;
use arcuate::state::{Action, Effect, LinkAction, Severity, State, ViewAction, update};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub fn tests() -> Vec<Trial> {
    vec![
        test("crosshair_link::windows follow each other", follow),
        test(
            "crosshair_link::a position outside is shown as such",
            outside,
        ),
        test("crosshair_link::windows come and go", come_and_go),
        test("crosshair_link::data opened later join", opened_later),
        test("crosshair_link::a folder that cannot be made", no_folder),
    ]
}

/// A window with workers of its own.
struct Program {
    state: State,
    jobs: Jobs<State>,
}

/// Adds an image whose bounds reach this far from the origin along each axis.
fn add_image(state: &mut State, reach_mm: f64) {
    let n = (2.0 * reach_mm / 4.0) as usize;
    let first = DVec3::splat(2.0 - reach_mm);
    let grid = Arc::new(Grid::axis_aligned([n; 3], DVec3::splat(4.0), first).unwrap());
    let values = vec![1.0f32; grid.voxel_count()];
    let origin = state
        .document
        .origins
        .add(Origin::file("/data/image.nii".to_owned()));
    let id = LayerId(1 + state.document.layers.len() as u64);
    state.document.layers.push(Arc::new(Layer::new(
        id,
        "image".to_owned(),
        Content::Image(Volume::scalar(grid, values)),
        display::image_display((0.0, 1.0)),
        origin,
    )));
}

impl Program {
    /// A program with an image that reaches this far from the origin.
    fn new(folder: &Path, reach_mm: f64) -> Self {
        let backend = Backend::choose(&BackendChoice::cpu(Some(1))).expect("a thread");
        let mut state = State::new(String::new());
        add_image(&mut state, reach_mm);
        state.crosshair_link.folder = Some(folder.to_owned());
        Self {
            state,
            jobs: Jobs::new(backend, Arc::new(|| {})),
        }
    }

    fn act(&mut self, action: impl Into<Action>) {
        let mut effects = update(&mut self.state, action.into());
        while !effects.is_empty() {
            match effects.remove(0) {
                Effect::Submit(job) => {
                    let job = self.jobs.submit(job);
                    effects.extend(update(&mut self.state, Action::JobStarted(job)));
                }
                Effect::Cancel(slot) => self.jobs.cancel(slot),
                _ => {}
            }
        }
    }

    fn link(&mut self, on: bool) {
        self.act(LinkAction::Link(on));
    }

    fn look_at(&mut self, at: DVec3) {
        self.act(ViewAction::MoveCrosshair(at));
        assert_eq!(self.state.view.crosshair, at);
    }

    fn poll(&mut self) {
        for event in self.jobs.poll() {
            self.act(Action::Event(event));
        }
    }
}

/// Lets the programs work until a condition holds.
fn until<const N: usize>(
    programs: &mut [&mut Program; N],
    what: &str,
    holds: impl Fn([&State; N]) -> bool,
) {
    let began = Instant::now();
    loop {
        programs.iter_mut().for_each(|program| program.poll());
        if holds(std::array::from_fn(|i| &programs[i].state)) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The texts of the files with positions.
fn positions(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = files.filter(|file| file.path().extension().is_some_and(|e| e == "position"));
    files
        .filter_map(|file| std::fs::read_to_string(file.path()).ok())
        .collect()
}

/// The numbers that order the positions.
fn numbers(folder: &Path) -> BTreeSet<u64> {
    let texts = positions(folder);
    let number = |text: &String| text.lines().nth(1)?.split(' ').next()?.parse().ok();
    texts.iter().filter_map(number).collect()
}

fn follow() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("arcuate/crosshair");
    let (mut a, mut b) = (Program::new(&folder, 80.0), Program::new(&folder, 96.0));
    a.look_at(dvec3(11.0, -7.5, 3.25));
    b.look_at(dvec3(-40.0, 0.0, 0.0));
    assert!(!folder.exists(), "off by default");
    a.link(true);
    until(&mut [&mut a], "the position of a", |_| {
        numbers(&folder).contains(&1)
    });
    // A window that joins takes the position of the others.
    b.link(true);
    let here = dvec3(11.0, -7.5, 3.25);
    until(&mut [&mut a, &mut b], "b joins", |[a, b]| {
        b.view.crosshair == here && [a, b].iter().all(|s| s.crosshair_link.others == 1)
    });
    assert_eq!(a.state.view.crosshair, here);
    // Numbers survive exactly, in both directions.
    let third = dvec3(1.0 / 3.0, -0.1, 1e-9);
    a.look_at(third);
    until(&mut [&mut a, &mut b], "a moves b", |[_, b]| {
        b.view.crosshair == third
    });
    let back = dvec3(-12.0, 60.0, 7.0);
    b.look_at(back);
    until(&mut [&mut a, &mut b], "b moves a", |[a, _]| {
        a.view.crosshair == back
    });
    // The position at the start and two movements: none of them came back as an echo.
    let three = BTreeSet::from([3]);
    until(&mut [&mut a, &mut b], "three positions", |_| {
        numbers(&folder) == three
    });
    for _ in 0..40 {
        a.poll();
        b.poll();
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(numbers(&folder), three);
    for text in positions(&folder) {
        let rest = text
            .strip_prefix("arcuate-crosshair 1\n")
            .expect("the head");
        let of_numbers = |c: char| c.is_ascii_digit() || " .-\n".contains(c);
        assert!(rest.chars().all(of_numbers), "{text}");
    }
}

fn outside() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut a, mut b) = (
        Program::new(folder.path(), 80.0),
        Program::new(folder.path(), 40.0),
    );
    a.look_at(DVec3::splat(8.0));
    b.look_at(DVec3::splat(4.0));
    a.link(true);
    b.link(true);
    let same = |[a, b]: [&State; 2]| {
        a.view.crosshair == b.view.crosshair
            && a.crosshair_link.others == 1
            && b.crosshair_link.others == 1
    };
    until(&mut [&mut a, &mut b], "linked", same);
    let before = b.state.view.crosshair;
    let far = dvec3(60.0, 8.0, 8.0);
    a.look_at(far);
    until(&mut [&mut a, &mut b], "outside", |[_, b]| {
        b.crosshair_link.outside == Some(far)
    });
    assert_eq!(b.state.view.crosshair, before, "not at the edge");
    assert_eq!(a.state.view.crosshair, far);
    // A position of its own ends the remark; one inside is followed again.
    let own = DVec3::splat(-4.0);
    b.look_at(own);
    assert_eq!(b.state.crosshair_link.outside, None);
    until(&mut [&mut a, &mut b], "back", |[a, _]| {
        a.view.crosshair == own
    });
    a.look_at(far);
    until(&mut [&mut a, &mut b], "outside", |[_, b]| {
        b.crosshair_link.outside == Some(far)
    });
    let inside = dvec3(1.0, 2.0, 3.0);
    a.look_at(inside);
    until(&mut [&mut a, &mut b], "inside", |[_, b]| {
        b.view.crosshair == inside && b.crosshair_link.outside.is_none()
    });
}

fn come_and_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    // A window that was killed: nobody holds its lock.
    std::fs::write(folder.join("1-1.lock"), "").unwrap();
    let killed = "arcuate-crosshair 1\n900 1-1\n1 2 3\n";
    std::fs::write(folder.join("1-1.position"), killed).unwrap();
    std::fs::write(folder.join("unrelated"), "text").unwrap();
    let [mut a, mut b, mut c] = [0; 3].map(|_| Program::new(folder, 80.0));
    a.look_at(DVec3::splat(5.0));
    for program in [&mut a, &mut b, &mut c] {
        program.link(true);
    }
    let all = |n: usize| {
        move |states: [&State; 3]| {
            let at = states[0].view.crosshair;
            states
                .iter()
                .all(|s| s.view.crosshair == at && s.crosshair_link.others == n)
        }
    };
    until(&mut [&mut a, &mut b, &mut c], "three windows", all(2));
    assert_ne!(
        a.state.view.crosshair,
        dvec3(1.0, 2.0, 3.0),
        "that of no window"
    );
    assert!(!folder.join("1-1.lock").exists() && !folder.join("1-1.position").exists());
    let at = dvec3(9.0, 8.0, 7.0);
    c.look_at(at);
    until(&mut [&mut a, &mut b, &mut c], "all follow", move |states| {
        states.iter().all(|s| s.view.crosshair == at)
    });
    // The one that moved last ends; one that joins later finds the position nevertheless.
    c.link(false);
    until(&mut [&mut a, &mut b, &mut c], "one ended", |[a, b, c]| {
        a.crosshair_link.others == 1 && b.crosshair_link.others == 1 && !c.crosshair_link.is_on
    });
    c.look_at(DVec3::ZERO);
    c.link(true);
    until(
        &mut [&mut a, &mut b, &mut c],
        "joins again",
        move |states| {
            states
                .iter()
                .all(|s| s.view.crosshair == at && s.crosshair_link.others == 2)
        },
    );
    // Closing a window has the same effect as switching the link off.
    for program in [&mut a, &mut b, &mut c] {
        program.link(false);
    }
    until(&mut [&mut a, &mut b, &mut c], "no traces", |_| {
        let names = std::fs::read_dir(folder).unwrap().flatten();
        let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        names == ["unrelated"]
    });
}

fn opened_later() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut a, mut b) = (
        Program::new(folder.path(), 40.0),
        Program::new(folder.path(), 80.0),
    );
    a.look_at(DVec3::splat(3.0));
    a.link(true);
    b.link(true);
    let same =
        |[a, b]: [&State; 2]| a.view.crosshair == b.view.crosshair && a.crosshair_link.others == 1;
    until(&mut [&mut a, &mut b], "linked", same);
    let far = dvec3(70.0, 0.0, 0.0);
    b.look_at(far);
    until(&mut [&mut a, &mut b], "outside", |[a, _]| {
        a.crosshair_link.outside == Some(far)
    });
    // The data reach that place from now on, and the program has placed the crosshair: it is not given to b.
    add_image(&mut a.state, 80.0);
    a.state.view.crosshair = dvec3(0.5, 0.5, 0.5);
    a.act(Action::Settle);
    until(&mut [&mut a, &mut b], "joined", |[a, _]| {
        a.view.crosshair == far
    });
    assert_eq!(b.state.view.crosshair, far);
    assert_eq!(a.state.crosshair_link.outside, None);
}

fn no_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut a = Program::new(&file, 40.0);
    a.link(true);
    until(&mut [&mut a], "a message", |[a]| {
        !a.runtime.notices.messages.is_empty()
    });
    let message = &a.state.runtime.notices.messages[0];
    assert_eq!(message.severity, Severity::Error);
    assert!(message.text.contains("file"), "{}", message.text);
    assert!(!a.state.crosshair_link.is_on);
}
