//! What a window leaves behind, and who may take it.

use crate::support::session_window::Window;
use crate::support::test;
use arcuate::data::Role;
use arcuate::io::recovery::{Desk, are_held, left_behind};
use arcuate::jobs::Request;
use arcuate::jobs::session::SessionRequest;
use arcuate::state::{Leaving, SessionAction, saved};
use glam::DVec3;
use libtest_mimic::Trial;
use std::time::{Duration, SystemTime};

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::windows_do_not_steal", windows),
        test("sessions::the newest work is offered first", newest),
        test("sessions::recovered work knows its session", origin),
    ]
}

fn windows() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    assert!(left_behind(root).is_empty());
    let desk = Desk::new(root).expect("a desk");
    let other = Desk::new(root).expect("another");
    std::fs::write(desk.session(), "work").expect("written");
    assert_ne!(desk.session(), other.session());
    assert!(left_behind(root).is_empty(), "both windows live");
    assert!(are_held(root, &[]) && are_held(root, &[&other]));
    assert!(!are_held(root, &[&desk]), "its own is none of another's");
    // The process ends: the lock goes, the folder stays.
    let path = desk.session();
    drop(desk);
    drop(other);
    assert!(!are_held(root, &[]));
    let found = left_behind(root);
    assert_eq!(found.len(), 1, "the one without a session is removed");
    assert_eq!(found[0].session(), path);
    assert!(left_behind(root).is_empty(), "it is being looked at");
    drop(found);
    let found = left_behind(root);
    assert_eq!(found.len(), 1, "offered again");
    found.into_iter().for_each(Desk::remove);
    assert!(!path.exists() && left_behind(root).is_empty());
}

fn newest() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    // In an order that is neither that of their making nor its reverse.
    let ages_s = [300, 60, 900, 5];
    let desks = ages_s.map(|_| Desk::new(root).expect("a desk"));
    for (desk, age) in desks.iter().zip(ages_s) {
        std::fs::write(desk.session(), "work").expect("written");
        let file = std::fs::File::options().write(true).open(desk.session());
        let then = SystemTime::now() - Duration::from_secs(age);
        file.expect("there").set_modified(then).expect("aged");
    }
    let places = desks.each_ref().map(Desk::session);
    drop(desks);
    let found: Vec<_> = left_behind(root).iter().map(Desk::session).collect();
    assert_eq!(found, [3, 1, 0, 2].map(|i: usize| places[i].clone()));
}

/// What is saved after a recovery goes to the session that was open, not to the copy.
fn origin() {
    let folder = tempfile::tempdir().expect("a folder");
    let [own, copy] = ["own.arcuate", "copy.arcuate"].map(|n| folder.path().join(n));
    let mut window = Window::with_scan(folder.path());
    window.place(Role::Seed, DVec3::ZERO, 4.0);
    window.save(&own);
    window.place(Role::Target, DVec3::ONE, 4.0);
    let draft = Box::new(saved::autosave(&window.state));
    let path = copy.clone();
    let job = SessionRequest::Save {
        path,
        draft,
        known: None,
    };
    let job = window.jobs.submit(Request::Session(job));
    window.jobs.wait(&job, |_| {});
    let mut again = Window::new();
    let leaving = Leaving::Recover(copy.clone());
    again.session(SessionAction::Leave(leaving));
    assert_eq!(
        again.state.session.saving.file,
        Some(own.clone()),
        "{}",
        again.said()
    );
    assert!(again.state.is_dirty());
    assert_eq!(again.state.document.regions.len(), 2);
    // A note says what was recovered until it is saved; the offer is gone.
    let said = again.said();
    assert!(
        said.starts_with("Recovered own.arcuate: ")
            && said.ends_with("2 regions. Save the session to keep it"),
        "{said}"
    );
    again.session(SessionAction::Save {
        path: None,
        then: None,
    });
    assert_eq!(again.said(), "");
    assert_eq!(Window::opened(&own).state.document.regions.len(), 2);
}
