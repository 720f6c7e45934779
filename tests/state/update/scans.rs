//! Scans, their gradients and their sides.

use super::*;

pub fn gradients_join_the_scan() {
    let mut state = State::new(String::new());
    let files: Vec<PathBuf> = vec!["/d/x.bvec".into(), "/d/x.bval".into()];
    assert!(update(&mut state, Action::Files(FilesAction::Open(files.clone()))).is_empty());
    assert_eq!(
        state.runtime.notices.messages.len(),
        1,
        "one sentence says that a scan is needed"
    );
    let with_scan = [files, vec!["/d/scan.nii".into()]].concat();
    let effects = update(&mut state, Action::Files(FilesAction::Open(with_scan)));
    let Some(OpenFile {
        path, gradients, ..
    }) = only_job(&effects)
    else {
        panic!("{effects:?}")
    };
    assert_eq!(path, &PathBuf::from("/d/scan.nii"));
    let expected: Vec<PathBuf> = vec!["/d/x.bval".into(), "/d/x.bvec".into()];
    assert_eq!(gradients, &expected, "bval comes first");
}

/// Radiological: the patient's right is on the left of the screen, in every view that shows it.
pub fn left_stays_left() {
    let mut state = State::new(String::new());
    let size = glam::DVec2::splat(400.0);
    let bounds = (DVec3::splat(-100.0), DVec3::splat(100.0));
    let right_ear = dvec3(80.0, 0.0, 0.0);
    for (convention, on_left) in [
        (Convention::Radiological, true),
        (Convention::Neurological, false),
    ] {
        update(
            &mut state,
            Action::View(ViewAction::SetConvention(convention)),
        );
        for pane in [Pane::Axial, Pane::Coronal] {
            let plane = state.view.plane(pane, bounds, size).expect("a slice view");
            let x = plane.position(right_ear).x;
            assert_eq!(x < 200.0, on_left, "{pane:?} {convention:?}");
            let letters = state.view.letters(pane).expect("letters");
            assert_eq!(letters[0] == "R", on_left, "{pane:?} {letters:?}");
            // A position leads back to the same point.
            let returned = plane.world(plane.position(right_ear));
            assert!(returned.distance(right_ear) < 1e-9);
        }
        let plane = state
            .view
            .plane(Pane::Sagittal, bounds, size)
            .expect("a slice view");
        assert!(
            plane.position(dvec3(0.0, 90.0, 0.0)).x < 200.0,
            "the nose points left"
        );
        assert!(plane.position(dvec3(0.0, 0.0, 90.0)).y < 200.0, "up is up");
    }
}
