//! Window and level of a file are known when it is opened again.

use super::*;

pub fn tests() -> Vec<Trial> {
    vec![test(
        "update::window and level stay with the file",
        remembered,
    )]
}

fn image(path: &str) -> Action {
    let (dwi, _) = scan();
    let n = dwi.grid.voxel_count();
    let values = dwi.frame(0)[..n].to_vec();
    let loaded = Loaded::Image(Volume::scalar(dwi.grid.clone(), values));
    Action::Event(file(path, loaded))
}

fn remembered() {
    let mut state = State::new(String::new());
    update(&mut state, image("/data/a.nii.gz"));
    let layer = state.document.layers[0].clone();
    let usual = layer.display.window;
    let display = arcuate::state::Display {
        window: (1.25, 77.5),
        ..layer.display.clone()
    };
    for (phase, stores) in [(Phase::Live, false), (Phase::Done, true)] {
        let effects = update(
            &mut state,
            Action::SetDisplay {
                layer: layer.id,
                display: display.clone(),
                phase,
            },
        );
        let stored = effects.iter().any(|e| matches!(e, Effect::Store));
        assert_eq!(stored, stores, "{phase:?}");
    }
    // The next window: only the list of files has outlived the first.
    let text = serde_json::to_string(&state.session.recent).expect("JSON");
    let mut next = State::new(String::new());
    next.session.recent = serde_json::from_str(&text).expect("the list");
    update(&mut next, image("/data/b.nii.gz"));
    update(&mut next, image("/data/a.nii.gz"));
    let windows: Vec<_> = next
        .document
        .layers
        .iter()
        .map(|l| l.display.window)
        .collect();
    assert_eq!(windows, [usual, (1.25, 77.5)]);
    // Lists of older versions have no windows.
    let old = r#"[{"path":"/a.nii","summary":"","opened":1}]"#;
    let old: Vec<arcuate::state::session::Recent> = serde_json::from_str(old).expect("read");
    assert_eq!(old[0].window, None);
}
