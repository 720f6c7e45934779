//! Depth cue and clips: undo, its names, sessions, and the draw lists of the 3-D view.

use crate::support::session_window::{Window, scan};
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::clip::{Clip, ClipShape};
use arcuate::data::{Grid, Shape, Volume, VolumeKind};
use arcuate::io::nifti;
use arcuate::scene::draw_list::{Glyphs, ScenePane, SlicePane};
use arcuate::scene::{self, Size};
use arcuate::state::core::glyph_look::{GlyphContent, GlyphLook, GlyphPlace, PeakLook};
use arcuate::state::scene_look::{ClippedKinds, SceneClip, SceneLook, SceneLookAction};
use arcuate::state::{Action, FilesAction, Pane, Phase, State, ViewAction, update};
use glam::{DVec2, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("scene_look::clips and cue are undone by name", undone),
        test("scene_look::the draw list has the active clips", drawn),
        test("scene_look::sessions keep clips and cue", kept),
        test("scene_look::damaged clips are repaired", repaired),
        test("scene_look::peaks and scales of glyphs are drawn", peaks),
    ]
}

fn act(state: &mut State, action: SceneLookAction) {
    update(state, Action::SceneLook(action));
}

fn clip(shape: ClipShape) -> SceneClip {
    SceneClip {
        name: String::new(),
        shape,
        is_on: true,
        hides_inside: false,
        kinds: ClippedKinds::default(),
    }
}

fn plane(offset_mm: f64) -> ClipShape {
    ClipShape::Plane {
        normal: DVec3::X,
        offset_mm,
    }
}

fn add(state: &mut State, shape: ClipShape) {
    act(state, SceneLookAction::AddClip(Box::new(clip(shape))));
}

fn undone() {
    let mut state = State::new("CPU".to_owned());
    act(&mut state, SceneLookAction::SetDepthCue(0.3, Phase::Live));
    act(&mut state, SceneLookAction::SetDepthCue(0.6, Phase::Done));
    add(&mut state, plane(10.0));
    add(&mut state, plane(20.0));
    let names = |state: &State| -> Vec<String> {
        let clips = state.document.scene_look.clips.iter();
        clips.map(|c| c.name.clone()).collect()
    };
    assert_eq!(names(&state), ["Plane 1", "Plane 2"]);
    assert_eq!(state.document.scene_look.selected, Some(1));
    // A drag is one step.
    for (offset_mm, phase) in [
        (12.0, Phase::Live),
        (15.0, Phase::Live),
        (15.0, Phase::Done),
    ] {
        let moved = SceneClip {
            shape: plane(offset_mm),
            ..state.document.scene_look.clips[1].clone()
        };
        let clip = Box::new(moved);
        let index = 1;
        act(&mut state, SceneLookAction::SetClip { index, clip, phase });
    }
    // Thin spaces separate numbers and units.
    let status = |state: &State| {
        let line = state.runtime.notices.status.to_string();
        let plain = |c: char| if c.is_whitespace() { ' ' } else { c };
        line.chars().map(plain).collect::<String>()
    };
    update(&mut state, Action::Undo);
    let text = status(&state);
    assert!(
        text.contains("Plane 2: Position 15.0 mm → 20.0 mm"),
        "{text}"
    );
    update(&mut state, Action::Undo);
    let text = status(&state);
    assert!(text.contains("Plane 2"), "{text}");
    assert_eq!(names(&state), ["Plane 1"]);
    update(&mut state, Action::Undo);
    update(&mut state, Action::Undo);
    let text = status(&state);
    assert!(text.contains("Depth cue 60 % → 0 %"), "{text}");
    update(&mut state, Action::Redo);
    assert_eq!(state.document.scene_look.depth_cue, 0.6);
    // Selection is no step.
    update(&mut state, Action::Redo);
    act(&mut state, SceneLookAction::SelectClip(None));
    update(&mut state, Action::Redo);
    assert_eq!(names(&state).len(), 2);
    act(&mut state, SceneLookAction::RemoveClip(0));
    assert_eq!(names(&state), ["Plane 2"]);
    act(&mut state, SceneLookAction::RemoveClip(7));
    // No more than can be drawn.
    for i in 0..10 {
        add(&mut state, plane(f64::from(i)));
    }
    assert_eq!(names(&state).len(), SceneLook::MAX_CLIPS);
    assert!(status(&state).contains("delete one first"));
}

const SIZE: Size = Size {
    points: DVec2::splat(200.0),
    pixels_per_point: 1.0,
};

fn glyph_clips(glyphs: Option<&Glyphs>) -> Vec<Clip> {
    match glyphs {
        Some(Glyphs::Tensors(glyphs)) => glyphs.clips.clone(),
        Some(Glyphs::Odfs(glyphs)) => glyphs.clips.clone(),
        Some(Glyphs::Peaks(glyphs)) => glyphs.clips.clone(),
        None => panic!("glyphs"),
    }
}

/// Each kind of objects has the clips that are on and concern it; slices have none.
fn drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    let state = &mut window.state;
    update(state, Action::View(ViewAction::ToggleGlyphs));
    update(
        state,
        Action::View(ViewAction::SetGlyphs(GlyphLook {
            place: GlyphPlace::Slices,
            shown: true,
            ..state.view.glyphs
        })),
    );
    act(state, SceneLookAction::SetDepthCue(0.5, Phase::Done));
    add(state, plane(4.0));
    let region = Shape::Sphere {
        centre: DVec3::new(1.0, 2.0, 3.0),
        radius_mm: 6.0,
    };
    let around = ClipShape::around(&region, 2.0).expect("a box");
    let of_lines = SceneClip {
        hides_inside: true,
        kinds: ClippedKinds {
            volumes: false,
            surfaces: false,
            streamlines: true,
            glyphs: false,
        },
        ..clip(around)
    };
    act(state, SceneLookAction::AddClip(Box::new(of_lines)));
    let off = SceneClip {
        is_on: false,
        ..clip(plane(0.0))
    };
    act(state, SceneLookAction::AddClip(Box::new(off)));
    let scene: ScenePane = scene::scene(state, SIZE);
    let first = Clip {
        shape: plane(4.0),
        hides_inside: false,
    };
    let second = Clip {
        shape: ClipShape::Box {
            low: DVec3::new(-7.0, -6.0, -5.0),
            high: DVec3::new(9.0, 10.0, 11.0),
        },
        hides_inside: true,
    };
    assert_eq!(scene.depth_cue, 0.5);
    assert_eq!(scene.clips.volumes, [first]);
    assert_eq!(scene.clips.surfaces, [first]);
    assert_eq!(scene.clips.streamlines, [first, second]);
    assert_eq!(glyph_clips(scene.glyphs.as_ref()), [first]);
    let slice: SlicePane = scene::slice(state, Pane::Axial, SIZE).expect("a slice");
    assert_eq!(glyph_clips(slice.glyphs.as_ref()), []);
}

fn kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::new();
    let path = scan(folder.path());
    window.act(Action::Files(FilesAction::Open(vec![path])));
    act(
        &mut window.state,
        SceneLookAction::SetDepthCue(0.25, Phase::Done),
    );
    add(&mut window.state, plane(4.0));
    let named = SceneClip {
        name: "Cut".to_owned(),
        is_on: false,
        hides_inside: true,
        ..clip(ClipShape::Box {
            low: DVec3::splat(-5.0),
            high: DVec3::splat(7.0),
        })
    };
    act(&mut window.state, SceneLookAction::AddClip(Box::new(named)));
    let saved = folder.path().join("clips.arcuate");
    window.save(&saved);
    let reopened = Window::opened(&saved);
    let expected = SceneLook {
        selected: None,
        ..window.state.document.scene_look.clone()
    };
    assert_eq!(reopened.state.document.scene_look, expected);
    assert!(!reopened.state.is_dirty());
}

fn repaired() {
    let text = r#"{"depth_cue": 7.0, "clips": [
        {"name": "a", "shape": {"plane": {"normal": [0, 0, 0], "offset_mm": 1}}},
        {"name": "b", "shape": {"plane": {"normal": [0, 3, 4], "offset_mm": 1}}},
        {"name": "c", "shape": {"box": {"low": [5, 0, 0], "high": [-5, 1, 1]}}, "is_on": false}]}"#;
    let read: SceneLook = serde_json::from_str(text).expect("a look");
    let valid = read.valid();
    assert_eq!(valid.depth_cue, 1.0);
    let names: Vec<&str> = valid.clips.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["b", "c"]);
    assert!(valid.clips[0].is_on && valid.clips[0].kinds == ClippedKinds::default());
    let ClipShape::Plane { normal, .. } = valid.clips[0].shape else {
        panic!("a plane");
    };
    assert!((normal.length() - 1.0).abs() < 1e-12);
    let mut many = valid.clone();
    many.clips = vec![valid.clips[1].clone(); 20];
    assert_eq!(many.valid().clips.len(), SceneLook::MAX_CLIPS);
}

/// An image with three volumes per peak is content of glyphs; the high end of its range has the full length, and another
/// image scales the lines. Sessions keep the choice.
fn peaks() {
    let folder = tempfile::tempdir().expect("a folder");
    let grid = Grid::axis_aligned([4; 3], DVec3::splat(2.0), DVec3::ZERO);
    let grid = Arc::new(grid.expect("regular"));
    let save = |name: &str, frames: usize| {
        let values = (0..frames * 64).map(|i| (i % 7) as f32 * 0.1 + 0.1);
        let values: Vec<f32> = values.collect();
        let volume = Volume::new(grid.clone(), frames, VolumeKind::Scalar, values);
        let path = folder.path().join(name);
        nifti::save_volume(&path, &volume, "made", &Control::new()).expect("saved");
        path
    };
    let mut window = Window::new();
    let paths = vec![
        save("map.nii", 1),
        save("four.nii", 4),
        save("peaks.nii", 6),
    ];
    window.act(Action::Files(FilesAction::Open(paths)));
    let document = &window.state.document;
    let layers: Vec<&str> = document.peak_layers().map(|l| l.name.as_str()).collect();
    assert_eq!(layers, ["peaks"]);
    assert_eq!(document.glyph_contents(), [GlyphContent::Peaks]);
    let map = document.layer_named("map").expect("a layer").id;
    let high = document
        .layer_named("peaks")
        .expect("a layer")
        .display
        .window
        .1;
    let look = GlyphLook {
        shown: true,
        content: GlyphContent::Peaks,
        place: GlyphPlace::Slices,
        scaled_by: Some(map),
        ..window.state.view.glyphs
    };
    window.act(Action::View(ViewAction::SetGlyphs(look)));
    let drawn = |state: &State| {
        let slice = scene::slice(state, Pane::Axial, SIZE).expect("a slice");
        match slice.glyphs {
            Some(Glyphs::Peaks(peaks)) => peaks,
            other => panic!("{other:?}"),
        }
    };
    let peaks = drawn(&window.state);
    assert_eq!(peaks.full_amplitude, Some(high));
    assert_eq!(peaks.peaks.0.frames, 6);
    assert!(peaks.scale.is_some_and(|scale| scale.image.0.frames == 1));
    assert!(matches!(
        scene::scene(&window.state, SIZE).glyphs,
        Some(Glyphs::Peaks(_))
    ));
    let saved = folder.path().join("peaks.arcuate");
    window.save(&saved);
    let mut reopened = Window::opened(&saved);
    assert!(drawn(&reopened.state).scale.is_some());
    let same = GlyphLook {
        peaks: PeakLook {
            same_length: true,
            ..reopened.state.view.glyphs.peaks
        },
        ..reopened.state.view.glyphs
    };
    reopened.act(Action::View(ViewAction::SetGlyphs(same)));
    assert_eq!(drawn(&reopened.state).full_amplitude, None);
}
