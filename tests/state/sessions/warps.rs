//! Non-linear alignments in the window and in a session.

use crate::support::composed_nifti::{ComposedNifti, put};
use crate::support::session_window::{Window, layer};
use crate::support::{lines, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Volume};
use arcuate::io::affine::save_itk;
use arcuate::io::{nifti, trx};
use arcuate::state::{
    Action, AlignmentAction, Content, FilesAction, LayerId, TransformFile, WarpReading,
};
use glam::{DAffine3, DVec3, dvec3};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::warps are applied, undone and come back", applied),
        test(
            "sessions::transforms are collected in their order",
            collected,
        ),
    ]
}

fn align(window: &mut Window, action: AlignmentAction) {
    window.act(Action::Alignment(action));
}

/// A field of ANTs that maps each point of its grid by a shift, RAS mm.
fn write_shift(path: &Path, grid: &Grid, shift: DVec3) {
    let shape = grid.shape.map(|n| n as i64);
    let count = grid.voxel_count();
    let lps = [-shift.x, -shift.y, shift.z];
    let spacing = grid.spacing();
    let mut composed = ComposedNifti {
        dim: [5, shape[0], shape[1], shape[2], 1, 3, 1, 1],
        datatype: 16,
        bitpix: 32,
        pixdim: [1.0, spacing.x, spacing.y, spacing.z, 1.0, 1.0, 1.0, 1.0],
        voxels: lps
            .iter()
            .flat_map(|v| std::iter::repeat_n((*v as f32).to_le_bytes(), count).flatten())
            .collect(),
        ..ComposedNifti::ramp(1)
    };
    composed.set_affine(grid.world_from_voxel);
    let mut bytes = composed.bytes();
    bytes[68..70].copy_from_slice(&1007i16.to_le_bytes());
    put(path, &bytes);
}

fn values(window: &Window, id: LayerId) -> (Arc<Grid>, Vec<f32>) {
    match &window.state.document.layer(id).expect("a layer").content {
        Content::Image(volume) => (volume.grid.clone(), volume.values.to_vec()),
        _ => panic!("an image"),
    }
}

fn points(window: &Window, id: LayerId) -> Vec<[f32; 3]> {
    match &window.state.document.layer(id).expect("a layer").content {
        Content::Tractogram(lines) => lines.points.to_vec(),
        _ => panic!("streamlines"),
    }
}

/// A folder with an image whose values are its x coordinates, streamlines, and transforms: a field that looks 3 mm to
/// the right, and an affine that looks 2 mm further to the front.
struct Files {
    folder: tempfile::TempDir,
    fixed: Grid,
}

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let grid = Grid::axis_aligned([20, 16, 12], dvec3(-2.0, 2.0, 2.0), DVec3::ZERO);
        let grid = Arc::new(grid.expect("a grid"));
        let x = |i: usize| -2.0 * grid.voxel(i)[0] as f32;
        let volume = Volume::scalar(
            grid.clone(),
            (0..grid.voxel_count()).map(x).collect::<Vec<_>>(),
        );
        let path = |name: &str| folder.path().join(name);
        nifti::save_volume(&path("t1.nii.gz"), &volume, "made", &Control::new()).expect("saved");
        let line = |x: f64| (4..8).map(|y| dvec3(x, 2.0 * f64::from(y), 10.0)).collect();
        let tractogram = lines(&[line(-12.0), line(-20.0)]);
        trx::save(&path("tracks.trx"), &tractogram, &Control::new()).expect("saved");
        let fixed = Grid::axis_aligned([10, 9, 8], DVec3::splat(3.0), dvec3(-34.0, 1.0, 1.0));
        let fixed = fixed.expect("a grid");
        write_shift(&path("a_1Warp.nii.gz"), &fixed, dvec3(3.0, 0.0, 0.0));
        write_shift(
            &path("a_1InverseWarp.nii.gz"),
            &fixed,
            dvec3(-3.0, 0.0, 0.0),
        );
        let looks = DAffine3::from_translation(dvec3(0.0, 2.0, 0.0));
        save_itk(&path("a_0Affine.txt"), looks.inverse()).expect("saved");
        Self { folder, fixed }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn window(&self) -> Window {
        let mut window = Window::new();
        let files = ["t1.nii.gz", "tracks.trx"].map(|name| self.path(name));
        window.act(Action::Files(FilesAction::Open(files.to_vec())));
        window
    }

    fn forward(&self) -> Vec<PathBuf> {
        ["a_0Affine.txt", "a_1Warp.nii.gz"]
            .map(|name| self.path(name))
            .to_vec()
    }
}

fn applied() {
    let files = Files::new();
    let mut window = files.window();
    let [image, tracks] = ["t1", "tracks"].map(|name| layer(&window, name));
    let before = (values(&window, image), points(&window, tracks));
    for id in [image, tracks] {
        let paths = files.forward();
        align(
            &mut window,
            AlignmentAction::AddTransforms { layer: id, paths },
        );
        align(&mut window, AlignmentAction::ApplyWarp(id));
    }
    let check = |window: &Window| {
        let [image, tracks] = ["t1", "tracks"].map(|name| layer(window, name));
        let (grid, found) = values(window, image);
        assert!(grid.same_space(&files.fixed, 1e-3));
        for (i, value) in found.iter().enumerate() {
            let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
            // The image reaches from -38 to 0 mm; its outer voxels by half an edge further.
            let x = at.x + 3.0;
            let y = at.y + 2.0;
            let inside = (-38.0..=0.0).contains(&x) && (0.0..=30.0).contains(&y) && at.z <= 22.0;
            if inside {
                assert!((f64::from(*value) - x).abs() < 1e-3, "{at} {value}");
            }
        }
        for (point, old) in points(window, tracks).iter().zip(&before.1) {
            let expected = dvec3(-3.0, -2.0, 0.0) + DVec3::from_array(old.map(f64::from));
            let point = DVec3::from_array(point.map(f64::from));
            assert!(point.distance(expected) < 1e-3, "{point} {expected}");
        }
        let document = &window.state.document;
        for id in [image, tracks] {
            let layer = document.layer(id).expect("a layer");
            // Other programs and commands must not take the file for what is shown.
            assert_eq!(document.origins.path_in_place(layer.origin), None);
            assert!(!document.can_move(id));
            let command = document.command_line(layer).text();
            let [field, affine] = ["a_1Warp.nii.gz", "a_0Affine.txt"].map(|name| files.path(name));
            let expected = format!("--warp {} --warp {}", field.display(), affine.display());
            assert!(command.contains(&expected), "{command}");
        }
        let methods = arcuate::state::methods::methods(&window.state);
        for part in [
            "“t1” was resampled on the voxels of the field",
            "The points of “tracks” were moved by the inverse",
            "through a_1Warp.nii.gz, then a_0Affine.txt",
        ] {
            assert!(methods.contains(part), "{methods}");
        }
    };
    check(&window);
    // The layers keep their numbers, and each warp is one step.
    assert_eq!(
        [image, tracks],
        ["t1", "tracks"].map(|name| layer(&window, name))
    );
    window.act(Action::Undo);
    assert_eq!(points(&window, tracks), before.1);
    window.act(Action::Undo);
    assert_eq!(values(&window, image).1, before.0.1);
    window.act(Action::Redo);
    window.act(Action::Redo);
    check(&window);
    let path = files.path("warped.arcuate");
    window.save(&path);
    let reopened = Window::opened(&path);
    check(&reopened);
    assert_eq!(
        values(&reopened, layer(&reopened, "t1")),
        values(&window, image)
    );
}

fn collected() {
    let files = Files::new();
    let mut window = files.window();
    let image = layer(&window, "t1");
    let add = |window: &mut Window, paths: Vec<PathBuf>| {
        align(
            window,
            AlignmentAction::AddTransforms {
                layer: image,
                paths,
            },
        );
    };
    let shown = |window: &Window| -> Vec<String> {
        let warp = window.state.collected_warp(image);
        let all = warp.map_or(Vec::new(), |warp| warp.transforms.clone());
        let name = |t: &TransformFile| {
            let name = t
                .path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            if t.inverse {
                format!("inverse {name}")
            } else {
                name
            }
        };
        all.iter().map(name).collect()
    };
    assert_eq!(shown(&window), Vec::<String>::new());
    // The order of a dialog does not count.
    add(&mut window, files.forward());
    assert_eq!(shown(&window), ["a_1Warp.nii.gz", "a_0Affine.txt"]);
    let warp = WarpReading::default();
    align(
        &mut window,
        AlignmentAction::SetWarp {
            layer: image,
            warp: warp.clone(),
        },
    );
    // Neither does the order in which they are added.
    for path in files.forward() {
        add(&mut window, vec![path]);
    }
    assert_eq!(shown(&window), ["a_1Warp.nii.gz", "a_0Affine.txt"]);
    align(&mut window, AlignmentAction::SetWarp { layer: image, warp });
    assert_eq!(shown(&window), Vec::<String>::new());
    // Nothing to apply.
    align(&mut window, AlignmentAction::ApplyWarp(image));
    assert!(window.state.document.can_move(image));
    // The way back: the inverse affine, and then the field of its own.
    let back = ["a_1InverseWarp.nii.gz", "a_0Affine.txt"].map(|name| files.path(name));
    add(&mut window, back.to_vec());
    assert_eq!(
        shown(&window),
        ["inverse a_0Affine.txt", "a_1InverseWarp.nii.gz"]
    );
    // Without a fixed image, the voxels of the result are unknown; the layer stays as it is.
    let before = values(&window, image);
    align(&mut window, AlignmentAction::ApplyWarp(image));
    assert_eq!(values(&window, image), before);
    let messages = &window.state.runtime.notices.messages;
    assert!(
        messages
            .iter()
            .any(|m| m.text.contains("choose the fixed image")),
        "{messages:?}"
    );
    // A layer that was moved by an affine says what to do.
    let transform = DAffine3::from_translation(DVec3::X);
    align(
        &mut window,
        AlignmentAction::Shift {
            layer: image,
            transform,
            phase: arcuate::state::Phase::Done,
        },
    );
    let why = window.state.document.no_warp(image).expect("a reason");
    assert!(why.contains("Reset the layer"), "{why}");
}
