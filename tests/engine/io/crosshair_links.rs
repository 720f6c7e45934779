//! The files by which windows share the crosshair: order of positions, joining, windows that ended, broken files.

use crate::support::test;
use arcuate::io::crosshair_link::SharedCrosshair;
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};

pub fn tests() -> Vec<Trial> {
    vec![
        test("crosshair_links::newest position", newest),
        test("crosshair_links::a window that was killed", killed),
        test("crosshair_links::broken files", broken),
    ]
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    entries.map(|entry| entry.path()).collect()
}

fn newest() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("below/another");
    let mut a = SharedCrosshair::new(&folder).expect("files");
    let alone = a.join();
    assert_eq!((alone.count, alone.position), (0, None));
    let first = dvec3(1.0 / 3.0, -2.5, 1e-9);
    a.share(first).expect("written");
    let mut b = SharedCrosshair::new(&folder).expect("files");
    let others = b.join();
    assert_eq!((others.count, others.position), (1, Some(first)));
    // A position is new once, and a window that takes it over does not send it back.
    assert_eq!(b.read_others().position, None);
    assert_eq!(a.read_others().position, None);
    let second = dvec3(4.0, 5.0, 6.0);
    b.share(second).expect("written");
    assert_eq!(a.read_others().position, Some(second));
    assert_eq!(b.read_others().position, None);
    // Two at almost the same time: the later one holds for both.
    a.share(DVec3::ONE).expect("written");
    b.share(DVec3::ZERO).expect("written");
    assert_eq!(a.read_others().position, Some(DVec3::ZERO));
    assert_eq!(b.read_others().position, None);
    // The position outlives the window that gave it.
    let mut c = SharedCrosshair::new(&folder).expect("files");
    drop(b);
    let others = c.join();
    assert_eq!((others.count, others.position), (1, Some(DVec3::ZERO)));
    drop((a, c));
    assert!(files(&folder).is_empty());
}

fn killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let mut a = SharedCrosshair::new(folder).expect("files");
    let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("written");
    put("9-9.lock", "");
    put("9-9.position", "arcuate-crosshair 1\n999 9-9\n1 2 3\n");
    let others = a.join();
    assert_eq!((others.count, others.position), (0, None));
    assert!(
        files(folder)
            .iter()
            .all(|file| !file.to_string_lossy().contains("9-9"))
    );
}

fn broken() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let mut a = SharedCrosshair::new(folder).expect("files");
    let mut b = SharedCrosshair::new(folder).expect("files");
    b.share(DVec3::ONE).expect("written");
    assert_eq!(a.read_others().position, Some(DVec3::ONE));
    let positions = files(folder).into_iter();
    let positions = positions.filter(|file| file.extension().is_some_and(|e| e == "position"));
    let positions: Vec<PathBuf> = positions.collect();
    for text in [
        "",
        "arcuate-crosshair 2\n99 x\n1 2 3\n",
        "arcuate-crosshair 1\n99 x\n1 2\n",
        "arcuate-crosshair 1\n99 x\n1 2 3 4\n",
        "arcuate-crosshair 1\n99 x\nnan 2 3\n",
        "arcuate-crosshair 1\n99 x\ninf 2 3\n",
        "arcuate-crosshair 1\n99 x\n1e9 2 3\n",
        "arcuate-crosshair 1\n-1 x\n1 2 3\n",
        "arcuate-crosshair 1\n18446744073709551615 x\n1 2 3\n",
    ] {
        for file in &positions {
            std::fs::write(file, text).expect("written");
        }
        let others = a.read_others();
        assert_eq!((others.count, others.position), (1, None), "{text}");
    }
    b.share(DVec3::ZERO).expect("written");
    assert_eq!(a.read_others().position, Some(DVec3::ZERO));
}
