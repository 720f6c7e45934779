//! Masks in sessions: those with every source of an affine are restored, and unreadable ones stay.

use super::replay::{outcomes, run};
use crate::support::origins::kept_curve_layers;
use crate::support::session_window::Window;
use crate::support::test;
use arcuate::data::{AffineSource, Grid, Mask, Region, Role, Shape};
use arcuate::io::session::PackedMask;
use arcuate::state::sessions::saved;
use arcuate::state::{Action, RegionAction, SessionAction, TrackAction, UnsavedAction};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::masks of every affine are restored", sources),
        test("sessions::masks that cannot be read stay", unreadable),
        test("sessions::a region waits for its file", waits),
        test("sessions::an exported mask stays in commands", exported),
    ]
}

/// A small block far from the streamlines, on a grid with this source of its affine.
fn mask(source: AffineSource) -> Mask {
    let affine = glam::DAffine3::from_scale_rotation_translation(
        DVec3::splat(2.0),
        glam::DQuat::from_rotation_z(0.1),
        dvec3(20.0, -30.0, -20.0),
    );
    let grid = Grid::new([9, 8, 7], affine, source).expect("a grid");
    let grid = Arc::new(grid.with_space_code(3));
    Mask::cut_to(&grid, ([2, 2, 2], [5, 4, 3]), |i| i % 3 > 0)
}

/// A scan with a seed, kept streamlines, and a region with a mask for each source.
fn saved(folder: &Path) -> (Window, PathBuf) {
    let mut window = Window::with_scan(folder);
    window.place(Role::Seed, dvec3(0.0, -6.0, 0.0), 5.0);
    for source in AffineSource::ALL {
        let role = Role::Exclude;
        let shape = Shape::Mask(mask(*source));
        window.act(Action::Region(RegionAction::Add { role, shape }));
    }
    window.act(Action::Track(TrackAction::Keep));
    assert_eq!(
        kept_curve_layers(&window.state.document).len(),
        1,
        "{}",
        window.messages()
    );
    let path = folder.join("s.arcuate");
    window.save(&path);
    (window, path)
}

/// Properties of the mask regions.
fn masks(window: &Window) -> Vec<(String, Role, Grid, Vec<u8>)> {
    let one = |r: &Arc<Region>| match &*r.shape {
        Shape::Mask(mask) => Some((
            r.name.clone(),
            r.role,
            (**mask.frame()).clone(),
            mask.inside.to_vec(),
        )),
        _ => None,
    };
    window
        .state
        .document
        .regions
        .iter()
        .filter_map(one)
        .collect()
}

/// Opened like a recovered session.
fn recovered(path: &Path) -> Window {
    let mut window = Window::new();
    let unsaved_action = UnsavedAction::Recover(path.to_owned());
    window.session(SessionAction::CloseDocument(unsaved_action));
    window
}

fn sources() {
    for source in AffineSource::ALL {
        assert_eq!(AffineSource::from_key(source.key()), Some(*source));
        let mask = mask(*source);
        let back = PackedMask::pack(&mask).unpack().expect("a mask");
        assert_eq!((&*back.grid, &back.inside), (&*mask.grid, &mask.inside));
        assert_eq!(**back.frame(), **mask.frame());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (before, path) = saved(folder.path());
    assert_eq!(masks(&before).len(), AffineSource::ALL.len());
    assert_eq!(Window::opened(&path).messages(), "");
    let message = recovered(&path).messages();
    assert!(message.starts_with("Recovered "), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    for reopened in [Window::opened(&path), recovered(&path)] {
        assert_eq!(masks(&reopened), masks(&before));
        assert!(reopened.state.document.is_whole());
    }
    assert_eq!(
        recovered(&path).state.runtime.sessions.recovery.source,
        Some(path.clone()),
        "it may go once it is saved here"
    );
    let (code, value, message) = run(&["replay", "s.arcuate"], folder.path());
    assert_eq!((code, &*message), (Some(0), ""));
    let all = outcomes(&value);
    assert!(
        all.len() == 3 && all.iter().all(|o| o.ends_with("same_bytes")),
        "{all:?}"
    );
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("read");
    serde_json::from_str(&text).expect("JSON")
}

fn unreadable() {
    let folder = tempfile::tempdir().expect("a folder");
    let (before, path) = saved(folder.path());
    let mut whole = json(&path);
    for mask in whole["masks"].as_array_mut().expect("masks") {
        mask["affine"] = Value::from("of a later version");
    }
    std::fs::write(&path, whole.to_string()).expect("written");
    let mut reopened = Window::opened(&path);
    // The regions in one sentence, and the streamlines computed from them.
    let message = reopened.messages();
    assert_eq!(message.lines().count(), 2, "{message}");
    let count = AffineSource::ALL.len();
    let sentence = format!("{count} regions are left out and stay in the session");
    assert!(message.contains(&sentence), "{message}");
    assert!(message.contains("of a later version"), "{message}");
    assert!(message.contains("cannot be recomputed"), "{message}");
    assert!(masks(&reopened).is_empty());
    let lines = |w: &Window| {
        let layer = w.state.document.layer_named("Streamlines").expect("kept");
        arcuate::state::streamlines::streamlines_of(layer)
            .expect("streamlines")
            .points
            .clone()
    };
    assert!(
        lines(&reopened) == lines(&before),
        "they exist nevertheless"
    );
    // Saved again, here and elsewhere, nothing is lost.
    for name in ["s.arcuate", "t.arcuate"] {
        let path = folder.path().join(name);
        reopened.place(Role::Target, dvec3(0.0, 8.0, 0.0), 4.0);
        reopened.save(&path);
        let mut now = json(&path);
        for (was, now) in whole["masks"]
            .as_array()
            .expect("masks")
            .iter()
            .zip(now["masks"].as_array().expect("masks"))
        {
            assert_eq!(was, now);
        }
        // The session as a later version reads it.
        let masks_now = now["masks"].as_array_mut().expect("masks");
        for (mask, source) in masks_now.iter_mut().zip(AffineSource::ALL) {
            mask["affine"] = Value::from(source.key());
        }
        let healed = folder.path().join(format!("healed {name}"));
        let files = |n: &str| folder.path().join(format!("{n}.files"));
        std::fs::create_dir(files(&format!("healed {name}"))).expect("a folder");
        for file in std::fs::read_dir(files(name)).expect("a folder") {
            let file = file.expect("a file");
            let to = files(&format!("healed {name}")).join(file.file_name());
            std::fs::copy(file.path(), to).expect("copied");
        }
        let text = now
            .to_string()
            .replace(&format!("{name}.files"), &format!("healed {name}.files"));
        std::fs::write(&healed, text).expect("written");
        let healed = Window::opened(&healed);
        assert_eq!(healed.messages(), "");
        assert_eq!(masks(&healed), masks(&before));
        assert!(lines(&healed) == lines(&before));
        assert_eq!(kept_curve_layers(&healed.state.document).len(), 1);
    }
    // A partly recovered copy is not replaced.
    let mut recovered = recovered(&folder.path().join("t.arcuate"));
    assert!(
        recovered
            .messages()
            .contains("kept until everything is restored"),
        "{}",
        recovered.messages()
    );
    recovered.save(&folder.path().join("part.arcuate"));
    assert!(recovered.state.runtime.sessions.recovery.source.is_some());
    // Removed by the user, they are gone: those of one sentence, not those of another.
    whole["masks"][0]["affine"] = Value::from("of a version after that");
    let two = folder.path().join("two.arcuate");
    std::fs::write(&two, whole.to_string()).expect("written");
    let mut two = Window::opened(&two);
    let groups = saved::missing_parts(&two.state.document);
    assert_eq!(groups.len(), 2, "{groups:?}");
    for (group, _) in &groups {
        let left = two.state.document.missing_parts();
        let others = left.filter(|l| !group.has(l)).count();
        two.session(SessionAction::DropParts(group.clone()));
        assert_eq!(two.state.document.missing_parts().count(), others);
    }
    assert!(two.state.document.missing_parts().next().is_none());
    two.act(Action::Undo);
    two.act(Action::Undo);
    assert_eq!(two.state.document.missing_parts().count(), count);
}

/// A region that is the mask of a file stays while the file is missing, and returns with it.
fn waits() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let layer = window
        .state
        .document
        .layer_named("mask")
        .expect("opened")
        .id;
    let role = Role::Mask;
    window.act(Action::Region(RegionAction::FromLayer { layer, role }));
    // Including its number in a label map.
    let region = window.state.document.regions[0].id;
    window
        .state
        .document
        .edit_region(region, |r| r.label_number = Some(1024));
    let number = |window: &Window| {
        let regions = window.state.document.regions.iter();
        regions.map(|r| r.label_number).collect::<Vec<_>>()
    };
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let [here, away] = ["mask.nii.gz", "away.gz"].map(|n| folder.path().join(n));
    std::fs::rename(&here, &away).expect("moved");
    // Another file of that size is not a candidate.
    let hide = folder.path().join("hidden");
    std::fs::create_dir(&hide).expect("a folder");
    std::fs::rename(&away, hide.join("m.gz")).expect("moved");
    let mut reopened = Window::opened(&path);
    reopened.session(SessionAction::OpenAnyway);
    assert!(masks(&reopened).is_empty());
    assert_eq!(
        reopened.state.document.missing_parts().count(),
        1,
        "{}",
        reopened.messages()
    );
    reopened.save(&path);
    std::fs::rename(hide.join("m.gz"), &here).expect("moved");
    let later = Window::opened(&path);
    assert_eq!(later.messages(), "");
    assert_eq!(masks(&later), masks(&window));
    assert_eq!(number(&later), [Some(1024)]);
    let path = here;
    reopened.session(SessionAction::Restore { layer, path });
    assert_eq!(number(&reopened), [Some(1024)]);
    assert_eq!(masks(&reopened), masks(&window), "{}", reopened.messages());
    assert!(reopened.state.document.missing_parts().next().is_none());
}

/// Commands use the file of an exported painted region, even after reopening the session, as long as the file is
/// unchanged. There is no question about a file from which nothing is read.
fn exported() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.place(Role::Seed, dvec3(0.0, -6.0, 0.0), 5.0);
    let (role, shape) = (Role::Exclude, Shape::Mask(mask(AffineSource::Sform)));
    window.act(Action::Region(RegionAction::Add { role, shape }));
    let region = window.state.runtime.regions.selected.expect("selected");
    let command = |window: &Window| {
        let live = window.state.final_live().expect("tracked");
        window.state.document.live_command_line(live).text()
    };
    let file = folder.path().join("painted.nii.gz");
    let in_command = |window: &Window| command(window).contains("painted.nii.gz");
    assert!(!in_command(&window));
    let path = file.clone();
    window.act(Action::Region(RegionAction::Save { region, path }));
    assert!(in_command(&window), "{}", command(&window));
    window.act(Action::Track(TrackAction::Keep));
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    // The session has the origin of the mask in its table, like that of a layer.
    let text = std::fs::read(&path).expect("a session");
    let session: Value = serde_json::from_slice(&text).expect("JSON");
    let known = &session["content"]["mask_origins"][0];
    let origin = known["origin"].as_u64().expect("a number") as usize;
    let number = &session["content"]["origins"][origin - 1]["file"]["file"];
    let number = number.as_u64().expect("a number") as usize;
    assert_eq!(session["files"][number]["path"], "painted.nii.gz");
    let reopened = Window::opened(&path);
    assert_eq!(reopened.messages(), "");
    assert!(in_command(&reopened), "{}", command(&reopened));
    assert_eq!(command(&reopened), command(&window));
    let kept = |window: &Window| {
        let layer = crate::support::session_window::layer(window, "Streamlines");
        let layer = window.state.document.layer(layer).expect("kept");
        window.state.document.command_line(layer).text()
    };
    assert_eq!(kept(&reopened), kept(&window));
    assert!(
        kept(&reopened).contains("painted.nii.gz"),
        "{}",
        kept(&reopened)
    );
    // A recovery copy stores it, too, in any folder.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let copy = elsewhere.path().join("copy.arcuate");
    let mut reopened = reopened;
    reopened.save(&copy);
    assert!(in_command(&Window::opened(&copy)));
    // A file written there by another program is not the region.
    let bytes = std::fs::read(&file).expect("found");
    std::fs::write(&file, &bytes[1..]).expect("written");
    for gone in [false, true] {
        if gone {
            std::fs::remove_file(&file).expect("removed");
        }
        let mut reopened = Window::opened(&path);
        assert!(reopened.state.runtime.sessions.opening.is_none());
        assert_eq!(reopened.messages(), "");
        assert!(!in_command(&reopened), "{}", command(&reopened));
        // The command names the file again once the region is exported there.
        let region = reopened.state.document.regions.last().expect("a region").id;
        let file = file.clone();
        reopened.act(Action::Region(RegionAction::Save { region, path: file }));
        let second = folder.path().join("second.arcuate");
        reopened.save(&second);
        let reopened = Window::opened(&second);
        assert_eq!(reopened.messages(), "");
        assert!(in_command(&reopened), "{}", command(&reopened));
    }
    // Nor is it after another export to the same name.
    std::fs::write(&file, &bytes).expect("written");
    let seed = window.state.document.regions[0].id;
    let path = file;
    window.act(Action::Region(RegionAction::Save { region: seed, path }));
    window.place(Role::Target, dvec3(0.0, 6.0, 0.0), 5.0);
    assert!(!in_command(&window), "{}", command(&window));
}
