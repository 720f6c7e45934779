//! What a window leaves behind, and who may take it.

use crate::support::test;
use arcuate::io::recovery::{Desk, left_behind};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test("sessions::windows_do_not_steal", windows)]
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
    // The process ends: the lock goes, the folder stays.
    let path = desk.session();
    drop(desk);
    drop(other);
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
