//! Depth cue and clips: undo, its names, sessions, and the draw lists of the 3-D view.

use crate::support::session_window::{Window, scan};
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::appearance::ColourMap;
use arcuate::data::clip::{Clip, ClipShape};
use arcuate::data::{Grid, PeakField, Shape, Volume, VolumeKind};
use arcuate::io::{fixels, image, nifti};
use arcuate::scene::draw_list::{
    Glyphs, PeakColours, PeakGlyphs, ScenePane, SlicePane, TensorGlyphs,
};
use arcuate::scene::{self, Size};
use arcuate::state::core::glyph_look::{GlyphContent, GlyphLook, GlyphPlace, PeakLook};
use arcuate::state::scene_look::{ClippedKinds, SceneClip, SceneLook, SceneLookAction};
use arcuate::state::{
    Action, Display, FilesAction, LayerAction, Pane, Phase, State, ViewAction, update,
};
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
        test("scene_look::fixels are lines of their layer", fixels),
        test("scene_look::thinned lines are counted", thinned),
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
    // A sentence names the clips that are not drawn.
    assert_eq!(valid.omitted(), None);
    for (i, clip) in many.clips.iter_mut().enumerate() {
        clip.name = format!("Clip {i}");
    }
    many.clips.truncate(SceneLook::MAX_CLIPS + 2);
    let text = many.omitted().expect("a sentence");
    assert!(text.contains("8 clip planes and boxes"), "{text}");
    assert!(text.contains("left out: Clip 6, Clip 7."), "{text}");
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

/// The lines of a slice.
fn peaks_on_slice(state: &State) -> Option<PeakGlyphs> {
    let slice = scene::slice(state, Pane::Axial, SIZE).expect("a slice");
    match slice.glyphs {
        Some(Glyphs::Peaks(peaks)) => Some(peaks),
        _ => None,
    }
}

/// A folder of fixels opens as lines, not as an image; a list in it has its own layer. Values with a sign keep it, limits and
/// colours are those of the layer, its eye hides the lines, and sessions keep all of it.
fn fixels() {
    let folder = tempfile::tempdir().expect("a folder");
    let grid = Grid::axis_aligned([4; 3], DVec3::splat(2.0), DVec3::ZERO);
    let grid = Arc::new(grid.expect("regular"));
    let n = grid.voxel_count();
    // One peak along x everywhere, and a second one along y in the first half.
    let mut values = vec![0.0f32; 6 * n];
    values[..n].fill(1.0);
    values[4 * n..4 * n + n / 2].fill(1.0);
    let peaks = PeakField::new(grid.clone(), 2, values);
    let change = (0..2 * n).map(|i| i as f32 / n as f32 - 1.0);
    let change: Vec<f32> = change.collect();
    let change = Volume::new(grid, 2, VolumeKind::Scalar, change);
    let here = folder.path().join("fixels");
    std::fs::create_dir(&here).expect("a folder");
    for (name, volume) in fixels::images(&peaks, &[("change", change)]) {
        let path = here.join(format!("{name}.mif"));
        image::save_volume(&path, &volume, "", &Control::new()).expect("saved");
    }

    let mut window = Window::new();
    window.act(Action::Files(FilesAction::Open(vec![here.clone()])));
    let layer = window
        .state
        .document
        .layer_named("fixels")
        .expect("a layer");
    let opened = layer.content.volume().expect("an image");
    let known = opened.fixels.as_ref().expect("fixels");
    assert_eq!((known.count, known.lists.len()), (n + n / 2, 1));
    assert!(known.signed.is_none() && known.values_list.is_none());
    assert_eq!(layer.display.window, (0.0, 1.0));
    let lines = peaks_on_slice(&window.state).expect("lines");
    assert_eq!(lines.full_amplitude, Some(1.0));
    let slice = scene::slice(&window.state, Pane::Axial, SIZE).expect("a slice");
    assert!(slice.images.is_empty());
    // No feature takes the components of directions for the values of an image.
    assert!(window.state.column_image(layer.id).is_none());

    let list = here.join("change.mif");
    window.act(Action::Files(FilesAction::Open(vec![list.clone()])));
    let layer = window
        .state
        .document
        .layer_named("change")
        .expect("a layer");
    let (id, display) = (layer.id, layer.display.clone());
    let opened = layer.content.volume().expect("an image");
    let known = opened.fixels.as_ref().expect("fixels");
    assert_eq!(known.values_list.as_deref(), Some(list.as_path()));
    assert_eq!(known.range.0, -1.0);
    // Symmetric about 0, since some are negative.
    assert_eq!(display.window.0, -display.window.1);
    assert_eq!(window.state.view.glyphs.peaks.layer, Some(id));
    let lines = peaks_on_slice(&window.state).expect("lines");
    assert_eq!(lines.full_amplitude, Some(display.window.1));
    let shown = lines.peaks.0.fixels.clone().expect("fixels");
    assert!((shown.value(3, 9.0) - (3.0 / n as f64 - 1.0)).abs() < 1e-6);

    let mut look = window.state.view.glyphs;
    look.peaks.by_value = true;
    window.act(Action::View(ViewAction::SetGlyphs(look)));
    let mut limited = display.clone();
    limited.overlay.limits = Some((0.1, 0.9));
    limited.colour_map = ColourMap::Magma;
    window.act(Action::Layer(LayerAction::SetDisplay {
        layer: id,
        display: limited.clone(),
        phase: Phase::Done,
    }));
    let saved = folder.path().join("fixels.arcuate");
    window.save(&saved);
    let mut reopened = Window::opened(&saved);
    for window in [&window, &reopened] {
        let lines = peaks_on_slice(&window.state).expect("lines");
        let colours = PeakColours {
            colour_map: ColourMap::Magma,
            window: display.window,
        };
        assert_eq!(lines.colours, Some(colours));
        let limits = lines.limits.expect("limits");
        assert!(limits.contain(0.5) && !limits.contain(-0.5) && !limits.contain(0.95));
        assert!(lines.peaks.0.fixels.is_some());
    }
    let hidden = Display {
        visible: false,
        ..limited
    };
    reopened.act(Action::Layer(LayerAction::SetDisplay {
        layer: id,
        display: hidden,
        phase: Phase::Done,
    }));
    assert!(peaks_on_slice(&reopened.state).is_none());
    reopened.act(Action::Undo);
    assert!(peaks_on_slice(&reopened.state).is_some());
}

/// Lines beyond the number that can be drawn are thinned, and the numbers of voxels with and without a limit are known.
fn thinned() {
    let folder = tempfile::tempdir().expect("a folder");
    let save = |shape: [usize; 3], name: &str| {
        let grid = Grid::axis_aligned(shape, DVec3::ONE, DVec3::ZERO).expect("regular");
        let frames = 3;
        let values = vec![0.5; frames * grid.voxel_count()];
        let volume = Volume::new(Arc::new(grid), frames, VolumeKind::Scalar, values);
        let path = folder.path().join(name);
        nifti::save_volume(&path, &volume, "made", &Control::new()).expect("saved");
        path
    };
    for (shape, is_thinned) in [([20, 20, 2], false), ([1100, 1100, 2], true)] {
        let mut window = Window::new();
        let path = save(shape, &format!("peaks{}.nii", shape[0]));
        window.act(Action::Files(FilesAction::Open(vec![path])));
        let look = GlyphLook {
            shown: true,
            content: GlyphContent::Peaks,
            place: GlyphPlace::Slices,
            ..window.state.view.glyphs
        };
        window.act(Action::View(ViewAction::SetGlyphs(look)));
        let thinned = scene::thinned_peaks(&window.state);
        assert_eq!(thinned.is_some(), is_thinned, "{thinned:?}");
        let every = peaks_on_slice(&window.state).expect("lines").every;
        assert_eq!(every, thinned.map_or(1, |thinned| thinned.every));
        if let Some(thinned) = thinned {
            // Three slices: one of 1100 × 1100 voxels and two of 1100 × 2.
            assert_eq!(thinned.requested, 1100 * 1100 + 2 * 1100 * 2);
            assert_eq!((thinned.every, thinned.drawn), (2, 550 * 550 + 2 * 550));
            assert!(thinned.drawn <= TensorGlyphs::MAXIMUM_COUNT);
        }
    }
}
