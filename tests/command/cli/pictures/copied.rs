//! *Copy as command* of a picture: without a saved session, the command has the look of everything as options, and draws
//! the same pixels as the session.

mod layers;

use crate::cli::{arcuate, split_arguments};
use crate::support::session_window::Window;
use crate::support::test;
use arcuate::cli::Arguments;
use arcuate::compute::Control;
use arcuate::data::appearance::{ColourMap, Colours, ShapeKind, Transfer, TransferShape};
use arcuate::data::clip::ClipShape;
use arcuate::data::joint_histogram::DerivedValue;
use arcuate::data::{Grid, PeakField, Role, Volume, VolumeKind};
use arcuate::io::{fixels, image, nifti};
use arcuate::state::core::overlay::Overlay;
use arcuate::state::core::volume_look::{
    SecondValue, ThirdValue, TwoValues, VolumeLook, VolumeStyle,
};
use arcuate::state::scene_look::{ClippedKinds, SceneClip, SceneLookAction};
use arcuate::state::{
    Action, Display, FilesAction, LayerAction, LayerId, Look, Pane, Phase, PictureAction,
    ViewAction,
};
use clap::Parser as _;
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "cli::copied pictures of clouds are those of the session",
            clouds,
        ),
        test(
            "cli::copied pictures of projections are those of the session",
            projections,
        ),
        test(
            "cli::copied pictures of fixels are those of the session",
            lines,
        ),
        test(
            "cli::pictures that no options describe need a session",
            no_options,
        ),
        test("cli::options of clouds are checked", refused),
        test(
            "cli::options of layers that they would not change are refused",
            layers::refused,
        ),
        test(
            "cli::ranges of clouds apply to their layers",
            layers::ranges,
        ),
        test(
            "cli::copied pictures have the opacities of all kinds of layers",
            layers::opacities,
        ),
        test(
            "cli::copied pictures of fixels without values name no values",
            layers::no_values,
        ),
        test(
            "cli::pictures of selected streamlines are not copied",
            layers::not_described,
        ),
    ]
}

/// `a.nii` with a bright ball, `b.nii` with values rising along y.
fn files(here: &Path) {
    let grid = Grid::axis_aligned([24; 3], DVec3::splat(2.0), DVec3::splat(-23.0));
    let grid = Arc::new(grid.expect("regular"));
    let save = |name: &str, value: &dyn Fn(DVec3) -> f64| {
        let values = (0..grid.voxel_count()).map(|i| {
            let at = DVec3::from_array(grid.voxel(i).map(|n| n as f64));
            value(grid.world(at)) as f32
        });
        let volume = Volume::scalar(grid.clone(), values.collect::<Vec<_>>());
        let path = here.join(name);
        nifti::save_volume(&path, &volume, "", &Control::new()).expect("written");
    };
    save("a.nii", &|at| (100.0 - 4.0 * at.length()).max(0.0));
    save("b.nii", &|at| 50.0 + at.y);
}

fn opened(here: &Path, names: &[&str]) -> Window {
    let mut window = Window::new();
    for name in names {
        window.act(Action::Files(FilesAction::Open(vec![here.join(name)])));
    }
    assert_eq!(
        window.state.document.layers.len(),
        names.len(),
        "{}",
        window.messages()
    );
    window
}

fn id(window: &Window, name: &str) -> LayerId {
    window.state.document.layer_named(name).expect("a layer").id
}

fn change(window: &mut Window, name: &str, changed: impl Fn(Display) -> Display) {
    let layer = window.state.document.layer_named(name).expect("a layer");
    let (id, display) = (layer.id, changed(layer.display.clone()));
    window.act(Action::Layer(LayerAction::SetDisplay {
        layer: id,
        display,
        phase: Phase::Done,
    }));
}

fn show_volume(window: &mut Window, name: &str, look: &VolumeLook) {
    change(window, name, |display| Display {
        volume: Some(look.clone()),
        ..display
    });
}

/// The command of a picture of this view.
fn copied(window: &mut Window, pane: Pane) -> String {
    let look = Look {
        size_px: Some([96, 96]),
        ..Look::default()
    };
    let before = window.copied.len();
    window.act(Action::Picture(PictureAction::Copy(Some(pane), look)));
    let status = window.state.runtime.notices.status.to_string();
    assert_eq!(window.copied.len(), before + 1, "{status}");
    window.copied.last().expect("a command").clone()
}

/// The pixels that a copied command draws.
fn drawn(command: &str, here: &Path) -> Vec<u8> {
    let arguments = split_arguments(command);
    Arguments::try_parse_from(&arguments).unwrap_or_else(|e| panic!("{command}: {e}"));
    let arguments: Vec<&str> = arguments[1..].iter().map(String::as_str).collect();
    let output = arcuate(&arguments, here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command}: {error}");
    let file = here.join("view.png");
    let picture = std::fs::read(&file).expect("a picture");
    std::fs::remove_file(&file).expect("removed");
    arcuate::io::decoded_png(&picture).expect("pixels").1
}

/// Compares the picture from the opened files with that of the session; returns the command.
fn compare(window: &mut Window, pane: Pane, here: &Path) -> String {
    let from_files = copied(window, pane);
    assert!(!from_files.contains(".arcuate"), "{from_files}");
    let session = here.join("s.arcuate");
    window.save(&session);
    let of_session = copied(window, pane);
    assert!(of_session.contains("s.arcuate"), "{of_session}");
    let [found, expected] = [&from_files, &of_session].map(|command| drawn(command, here));
    assert_eq!(found.len(), expected.len());
    // Angles of the camera are rounded when they are written in degrees.
    let most = found
        .iter()
        .zip(&expected)
        .map(|(a, b)| a.abs_diff(*b))
        .max();
    assert!(most <= Some(2), "{most:?}: {from_files}");
    let first = &expected[..3];
    let seen = expected
        .chunks(4)
        .filter(|pixel| pixel[..3] != *first)
        .count();
    assert!(seen > 300, "{seen}: {from_files}");
    from_files
}

fn look(style: VolumeStyle) -> VolumeLook {
    VolumeLook {
        style,
        ..VolumeLook::default()
    }
}

fn shape(kind: ShapeKind, limits: [[f32; 2]; 2], third: [f32; 2]) -> TransferShape {
    TransferShape {
        kind,
        low: [limits[0][0], limits[1][0]],
        high: [limits[0][1], limits[1][1]],
        colour: [0xE6, 0x9F, 0x00],
        opacity: 0.6,
        softness: 0.45,
        foot: 0.1,
        third,
    }
}

/// A curve, and shapes over two and three values; with a cue, a moved camera and hidden slices.
fn clouds() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    files(here);
    let mut window = opened(here, &["a.nii", "b.nii"]);
    window.act(Action::View(ViewAction::ToggleSlicesInScene));
    change(&mut window, "a", |display| Display {
        window: (3.0, 95.0),
        colour_map: ColourMap::Magma,
        ..display
    });
    let b = id(&window, "b");
    window.act(Action::Layer(LayerAction::Show {
        layer: b,
        visible: false,
    }));
    let curve = VolumeLook {
        transfer: Transfer::new(
            &[(0.0, 0.0), (0.35, 0.1), (0.7, 0.5), (1.0, 0.25)],
            Colours::Fixed([20, 200, 90]),
        ),
        reference_mm: 7.5,
        lit: false,
        ..look(VolumeStyle::Cloud)
    };
    show_volume(&mut window, "a", &curve);
    let command = compare(&mut window, Pane::Scene, here);
    for option in [
        "--range a:3..95:magma",
        "--cloud a:14C85A",
        "--cloud-curve a:0=0,0.35=0.1,0.7=0.5,1=0.25",
        "--cloud-thickness a:7.5",
        "--cloud-flat a",
        "--hide b",
        "--no-slices",
    ] {
        assert!(command.contains(option), "{option}: {command}");
    }

    let third = |value, window| Some(ThirdValue { value, window });
    let shapes = vec![
        shape(ShapeKind::Box, [[0.2, 1.0], [0.1, 1.0]], [0.25, 1.0]),
        shape(
            ShapeKind::Trapezoid,
            [[0.5, 0.9], [0.2, 0.8]],
            TransferShape::NO_THIRD,
        ),
        // A limit beyond the window, whose other end is open.
        shape(ShapeKind::Box, [[0.1, 0.5], [0.2, 0.7]], [0.0, -0.3]),
        shape(ShapeKind::Box, [[0.4, 0.9], [0.2, 0.9]], [1.25, 1.0]),
    ];
    let by_gradient = TwoValues {
        second: SecondValue::Gradient,
        window: (0.0, 6.3),
        shapes: shapes.clone(),
        third: third(DerivedValue::Curvature, (-0.37, 0.41)),
    };
    let by_curvature = TwoValues {
        second: SecondValue::Curvature,
        window: (-0.4, 0.5),
        third: third(DerivedValue::Gradient, (0.0, 9.1)),
        ..by_gradient.clone()
    };
    let by_image = TwoValues {
        second: SecondValue::Image(b),
        window: (30.0, 70.0),
        third: None,
        shapes: vec![shape(
            ShapeKind::Ellipse,
            [[0.1, 0.8], [0.2, 0.9]],
            [0.0, 1.0],
        )],
    };
    let camera = window.state.view.camera.orbited(0.7, 0.2).zoomed(1.2);
    window.act(Action::View(ViewAction::SetCamera {
        camera,
        phase: Phase::Done,
    }));
    window.act(Action::SceneLook(SceneLookAction::SetDepthCue(
        0.4,
        Phase::Done,
    )));
    for two in [by_gradient, by_curvature, by_image] {
        let cloud = VolumeLook {
            two_values: Some(two.clone()),
            ..look(VolumeStyle::Cloud)
        };
        show_volume(&mut window, "a", &cloud);
        let command = compare(&mut window, Pane::Scene, here);
        let limits = two.third.map(|third| format!(":{}=", third.value.key()));
        let has = |text: &str| command.contains(text);
        assert!(limits.is_none_or(|limits| has(&limits)), "{command}");
        assert!(
            has("--depth-cue 0.4") && has("--cloud-second-range a:"),
            "{command}"
        );
    }
}

/// A projection with a clip.
fn projections() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    files(here);
    let mut window = opened(here, &["a.nii"]);
    window.act(Action::View(ViewAction::ToggleSlicesInScene));
    change(&mut window, "a", |display| Display {
        window: (3.0, 95.0),
        ..display
    });
    let clip = SceneClip {
        name: String::new(),
        shape: ClipShape::Plane {
            normal: DVec3::new(0.6, 0.0, 0.8),
            offset_mm: 6.5,
        },
        is_on: true,
        hides_inside: true,
        kinds: ClippedKinds {
            glyphs: false,
            ..ClippedKinds::default()
        },
    };
    window.act(Action::SceneLook(SceneLookAction::AddClip(Box::new(clip))));
    let projection = VolumeLook {
        transfer: Transfer::new(&[(0.0, 0.0), (1.0, 1.0)], Colours::Map(ColourMap::Viridis)),
        ..look(VolumeStyle::Maximum)
    };
    show_volume(&mut window, "a", &projection);
    let command = compare(&mut window, Pane::Scene, here);
    assert!(
        command.contains("--projection a:maximum:3..95:viridis"),
        "{command}"
    );
    assert!(
        command.contains(":inverted:volumes:surfaces:streamlines"),
        "{command}"
    );
}

/// A folder of fixels, one along x in each voxel.
fn save_fixels(here: &Path, grid: Arc<Grid>, values: &[(&str, Volume)]) {
    let n = grid.voxel_count();
    let mut directions = vec![0.0f32; 3 * n];
    directions[..n].fill(1.0);
    let peaks = PeakField::new(grid, 1, directions);
    std::fs::create_dir(here.join("fixels")).expect("a folder");
    for (name, volume) in fixels::images(&peaks, values) {
        let path = here.join("fixels").join(format!("{name}.mif"));
        image::save_volume(&path, &volume, "", &Control::new()).expect("saved");
    }
}

/// Fixels over an image, with their range, colours, limits and lengths.
fn lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    files(here);
    let grid = Grid::axis_aligned([12; 3], DVec3::splat(4.0), DVec3::splat(-22.0));
    let grid = Arc::new(grid.expect("regular"));
    let n = grid.voxel_count();
    let change_of: Vec<f32> = (0..n).map(|i| 2.0 * i as f32 / n as f32 - 1.0).collect();
    let listed = Volume::new(grid.clone(), 1, VolumeKind::Scalar, change_of);
    save_fixels(here, grid, &[("change", listed)]);
    let mut window = opened(here, &["a.nii", "fixels/change.mif"]);
    let command = compare(&mut window, Pane::Axial, here);
    assert!(
        command.contains("--fixels ") && command.contains("change.mif"),
        "{command}"
    );
    let mut glyphs = window.state.view.glyphs;
    glyphs.peaks.by_value = true;
    window.act(Action::View(ViewAction::SetGlyphs(glyphs)));
    change(&mut window, "change", |display| Display {
        window: (-0.7, 0.9),
        colour_map: ColourMap::Magma,
        overlay: Overlay {
            limits: Some((0.1, 0.8)),
            is_symmetric: true,
            ..Overlay::default()
        },
        ..display
    });
    let command = compare(&mut window, Pane::Axial, here);
    for option in [
        "--fixel-range -0.7..0.9",
        "--fixel-limits 0.1..0.8",
        "--range change:-0.7..0.9:magma",
        "--symmetric change",
        "--peak-colour value",
    ] {
        assert!(command.contains(option), "{option}: {command}");
    }
}

/// The status names the first part that the options cannot describe; nothing is copied.
fn no_options() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    files(here);
    let refuses = |window: &mut Window, pane: Option<Pane>, what: &str| {
        let before = window.copied.len();
        window.act(Action::Picture(PictureAction::Copy(pane, Look::default())));
        let status = window.state.runtime.notices.status.to_string();
        assert_eq!(window.copied.len(), before, "{status}");
        assert!(status.contains(what), "{status}");
    };
    let mut window = opened(here, &["a.nii"]);
    let scene = Some(Pane::Scene);
    refuses(
        &mut window,
        None,
        "cannot describe the panels of the window. Save the session first",
    );
    let surface = look(VolumeStyle::Surface);
    show_volume(&mut window, "a", &surface);
    refuses(&mut window, scene, "cannot describe the look of “a” in 3-D");
    // A slice does not show it.
    copied(&mut window, Pane::Axial);
    show_volume(&mut window, "a", &look(VolumeStyle::Cloud));
    copied(&mut window, Pane::Scene);
    let layer = id(&window, "a");
    window.act(Action::Layer(LayerAction::Rename {
        layer,
        name: "x:y".to_owned(),
    }));
    refuses(&mut window, scene, "the layer name “x:y”");
    let mut window = opened(here, &["a.nii"]);
    window.place(Role::Seed, DVec3::ZERO, 5.0);
    refuses(
        &mut window,
        scene,
        "cannot describe the regions. Save the session first",
    );
}

/// Texts of options that make no sense.
fn refused() {
    for (option, value) in [
        ("--cloud", ""),
        ("--cloud", "a:jet"),
        ("--cloud-thickness", "a:0"),
        ("--cloud-thickness", "4"),
        ("--range", "a:9..2"),
        ("--range", "a"),
        ("--range", "a:0..1:jet"),
        ("--opacity", "a:1.5"),
        ("--camera", "0,0,0:500"),
        ("--camera", "0,0,0:-5:10,10"),
        ("--camera", "0,0,0:500:10,95"),
        (
            "--cloud-shape",
            "a:gradient:box:3..5:2..9:E69F00:0.4:curvature",
        ),
        (
            "--cloud-shape",
            "a:gradient:box:3..5:2..9:E69F00:0.4:curvature=..",
        ),
        (
            "--cloud-shape",
            "a:gradient:box:3..5:2..9:E69F00:0.4:curvature=1..0",
        ),
        (
            "--cloud-shape",
            "a:gradient:box:3..5:2..9:E69F00:0.4:softness=0",
        ),
        (
            "--cloud-shape",
            "a:gradient:box:3..5:2..9:E69F00:0.4:foot=0.1:foot=0.2",
        ),
        (
            "--cloud-shape",
            "a:gradient:box:3..5:2..9:E69F00:0.4:b=1..2",
        ),
    ] {
        let line = [
            "arcuate", "render", "a.nii", "--out", "x.png", option, value,
        ];
        let parsed = Arguments::try_parse_from(line);
        assert!(parsed.is_err(), "{option} {value}");
    }
    for curve in ["a", "a:0=0", "a:0=0,2=1", "a:0.5=0,0.2=1", "a:0=0,1"] {
        let line = [
            "arcuate", "render", "a.nii", "--out", "x.png", "--cloud", "a",
        ];
        let parsed = Arguments::try_parse_from([&line[..], &["--cloud-curve", curve]].concat());
        assert!(parsed.is_err(), "{curve}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    files(folder.path());
    let shape = |more: &str| format!("a:gradient:box:30..90:0..9:E69F00:0.4{more}");
    for (shapes, reason) in [
        (
            vec![shape(":gradient=1..2")],
            "Found “gradient” as second and as third value of “a”",
        ),
        (
            vec![
                shape(":curvature=0..").replace(":gradient:", ":b:"),
                shape(":gradient=1..").replacen(":gradient:", ":b:", 1),
            ],
            "Found both gradient= and curvature= for “a”",
        ),
    ] {
        let shapes = shapes.iter().flat_map(|shape| ["--cloud-shape", shape]);
        let line = ["render", "a.nii", "b.nii", "--out", "x.png"].into_iter();
        let line: Vec<&str> = line.chain(shapes).collect();
        let output = arcuate(&line, folder.path());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(reason), "{error}");
    }
}
