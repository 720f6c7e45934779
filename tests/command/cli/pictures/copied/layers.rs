//! Copied pictures of label maps, masks, colour images and streamlines; and options of layers that they would not change.

use super::{change, compare, drawn, files, id, look, opened, save_fixels, show_volume};
use crate::cli::arcuate;
use crate::support::session_window::Window;
use arcuate::compute::Control;
use arcuate::data::appearance::{ShapeKind, TransferShape};
use arcuate::data::{Grid, Tractogram, Volume, VolumeKind};
use arcuate::io::{nifti, tck};
use arcuate::state::core::volume_look::{SecondValue, TwoValues, VolumeLook, VolumeStyle};
use arcuate::state::streamlines::{Measurement, SelectionMode, StreamlineAction};
use arcuate::state::{Action, Display, LayerAction, Look, Pane, PictureAction, ViewAction};
use glam::DVec3;
use std::path::Path;
use std::sync::Arc;

fn grid() -> Arc<Grid> {
    let grid = Grid::axis_aligned([24; 3], DVec3::splat(2.0), DVec3::splat(-23.0));
    Arc::new(grid.expect("regular"))
}

fn streamlines(here: &Path) {
    let points: Vec<[f32; 3]> = (0..40)
        .map(|i| [i as f32 - 20.0, (i % 2) as f32, 0.0])
        .collect();
    let lines = Tractogram::new(points, vec![0, 20, 40]);
    tck::save(&here.join("lines.tck"), &lines, "", &Control::new()).expect("written");
}

/// `labels.nii` with two labels, `mask.nii`, `colours.nii` and `lines.tck`.
fn more_files(here: &Path) {
    files(here);
    let grid = grid();
    let at = |i: usize| grid.world(DVec3::from_array(grid.voxel(i).map(|n| n as f64)));
    let n = grid.voxel_count();
    let labels: Vec<u16> = (0..n)
        .map(|i| match at(i).x {
            x if x < -8.0 => 0,
            x if x < 6.0 => 3,
            _ => 7,
        })
        .collect();
    let control = Control::new();
    nifti::save_labels(&here.join("labels.nii"), &grid, &labels, "", &control).expect("written");
    let inside: Vec<bool> = (0..n).map(|i| at(i).length() < 9.0).collect();
    let inside = inside
        .iter()
        .map(|is_inside| f32::from(u8::from(*is_inside)));
    let mask = Volume::scalar(grid.clone(), inside.collect::<Vec<_>>());
    nifti::save_volume(&here.join("mask.nii"), &mask, "", &control).expect("written");
    let channel = |axis: usize| (0..n).map(move |i| (at(i)[axis] / 60.0 + 0.5) as f32);
    let colours: Vec<f32> = (0..3).flat_map(channel).collect();
    let colours = Volume::new(grid.clone(), 3, VolumeKind::Rgb, colours);
    nifti::save_volume(&here.join("colours.nii"), &colours, "", &control).expect("written");
    streamlines(here);
}

fn fade(window: &mut Window, name: &str, opacity: f32) {
    change(window, name, |display| Display { opacity, ..display });
}

/// The opacity of a label map depends on whether it lies over others; those of all layers can be changed.
pub fn opacities() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    more_files(here);
    let mut window = opened(here, &["a.nii", "labels.nii"]);
    let command = compare(&mut window, Pane::Axial, here);
    assert!(command.contains("--opacity labels:0.6"), "{command}");
    fade(&mut window, "labels", 1.0);
    let command = compare(&mut window, Pane::Axial, here);
    assert!(command.contains("--opacity labels:1"), "{command}");
    // The first label map is opaque; moved over another layer, it stays so.
    let mut window = opened(here, &["labels.nii", "a.nii"]);
    fade(&mut window, "a", 0.5);
    let command = compare(&mut window, Pane::Axial, here);
    assert!(command.contains("--opacity labels:1"), "{command}");

    let mut window = opened(here, &["colours.nii", "mask.nii", "lines.tck"]);
    let command = compare(&mut window, Pane::Axial, here);
    assert!(!command.contains("--opacity"), "{command}");
    // Each comparison saves the session, from which a picture without later changes is copied.
    for (pane, colours, lines) in [(Pane::Axial, 0.7, 0.3), (Pane::Scene, 0.6, 0.4)] {
        fade(&mut window, "colours", colours);
        fade(&mut window, "lines", lines);
        let command = compare(&mut window, pane, here);
        for option in [
            format!("--opacity colours:{colours}"),
            format!("--opacity lines:{lines}"),
        ] {
            assert!(command.contains(&option), "{option}: {command}");
        }
    }
}

/// Fixels without values, though peaks are coloured by value.
pub fn no_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    files(here);
    save_fixels(here, grid(), &[]);
    let mut window = opened(here, &["a.nii", "fixels"]);
    let mut glyphs = window.state.view.glyphs;
    glyphs.peaks.by_value = true;
    window.act(Action::View(ViewAction::SetGlyphs(glyphs)));
    let command = compare(&mut window, Pane::Axial, here);
    for option in ["--peak-colour", "--fixel-range", "--fixel-limits"] {
        assert!(!command.contains(option), "{option}: {command}");
    }
}

/// Selected streamlines are in no session: nothing is copied. Measurements are in the session.
pub fn not_described() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    streamlines(here);
    let mut window = opened(here, &["lines.tck"]);
    let refused = |window: &mut Window, what: &str| {
        let before = window.copied.len();
        let copy = PictureAction::Copy(Some(Pane::Scene), Look::default());
        window.act(Action::Picture(copy));
        let status = window.state.runtime.notices.status.to_string();
        assert_eq!(window.copied.len(), before, "{status}");
        let expected = format!("Not copied: the options of render cannot describe {what}");
        assert_eq!(status, expected);
    };
    let layer = id(&window, "lines");
    window.act(Action::Layer(LayerAction::Select(Some(layer))));
    let streamline = |action: StreamlineAction| Action::Streamline(action);
    let choose = || {
        streamline(StreamlineAction::Choose {
            streamlines: vec![1],
            mode: SelectionMode::Replace,
            anchor: None,
        })
    };
    window.act(choose());
    let selected = "the selected streamlines. Clear the selection first";
    refused(&mut window, selected);
    window.save(&here.join("s.arcuate"));
    refused(&mut window, selected);
    window.act(streamline(StreamlineAction::ChooseNone));
    window.act(streamline(StreamlineAction::Measure(Measurement {
        points: vec![DVec3::ZERO, DVec3::X * 9.0],
        pane: Pane::Axial,
    })));
    refused(
        &mut window,
        "the measurements. Save the session again first",
    );
}

/// Names that match no cloud, layers that are no cloud, and colours.
pub fn refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    files(here);
    streamlines(here);
    let shape = ["--cloud-shape", "a:gradient:box:30..90:0..9:E69F00:0.4"];
    let no_cloud = "for “b”, which is no cloud, expected a cloud";
    for (options, reason) in [
        (vec!["--cloud-thickness", "b:4"], no_cloud),
        (vec!["--cloud-flat", "b"], no_cloud),
        (vec!["--cloud", "a", "--cloud-curve", "b:0=0,1=1"], no_cloud),
        (
            vec!["--projection", "b:maximum", "--cloud-flat", "b"],
            no_cloud,
        ),
        (
            [&shape[..], &["--cloud-second-range", "t2:0..90"]].concat(),
            "There is no image of numbers “t2”, expected one of a, b",
        ),
        (
            [&shape[..], &["--cloud-second-range", "b:0..90"]].concat(),
            "Found --cloud-second-range for “b” without a shape",
        ),
        (
            [&shape[..], &["--cloud-third-range", "a:0..90"]].concat(),
            "Found --cloud-third-range for “a” without a shape",
        ),
        (
            [&shape[..], &["--cloud-third-range", "0..90"]].concat(),
            "Found --cloud-third-range without a shape",
        ),
        (
            vec!["--opacity", "c:0.5"],
            "There is no layer “c”, expected one of a, b, lines",
        ),
        (
            vec!["--limits", "lines:0..1"],
            "The layer “lines” is no image, expected one of a, b",
        ),
        (
            vec!["--hide", "c"],
            "There is no layer “c”, expected one of a, b, lines",
        ),
        (
            vec!["--cloud", "a:E69F0"],
            "or a colour of six hexadecimal digits, as in E69F00, found “E69F0”",
        ),
    ] {
        let line = ["render", "a.nii", "b.nii", "lines.tck", "--out", "x.png"];
        let output = arcuate(&[&line[..], &options].concat(), here);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{options:?}: {error}");
        assert!(error.contains(reason), "{options:?}: {error}");
    }
    // Streamlines have an opacity.
    let line = ["render", "a.nii", "lines.tck", "--size", "64x64"];
    let output = arcuate(
        &[&line[..], &["--opacity", "lines:0.3", "--out", "x.png"]].concat(),
        here,
    );
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
}

/// Ranges apply to the shapes of a session as well, and only to the layer with exactly this name; limits of a third value
/// beyond its range have one open end.
pub fn ranges() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    files(here);
    let picture = |options: &[&str]| {
        let options = options.join(" ");
        let rest = "--no-slices --size 96x96 --out view.png";
        drawn(&format!("arcuate render {options} {rest}"), here)
    };
    // Gradients are about 4 per mm: only a range without a limit at its end includes them.
    let shape = ["--cloud-shape", "a:gradient:box:30..90:0..3:E69F00:1"];
    let range = ["--cloud-second-range", "a:0..3"];
    let mut window = opened(here, &["a.nii"]);
    let session = here.join("s.arcuate");
    show_volume(
        &mut window,
        "a",
        &VolumeLook {
            two_values: Some(TwoValues {
                second: SecondValue::Gradient,
                window: (0.0, 6.0),
                shapes: vec![super::shape(
                    ShapeKind::Box,
                    [[0.1, 0.2], [0.1, 0.2]],
                    TransferShape::NO_THIRD,
                )],
                third: None,
            }),
            ..look(VolumeStyle::Cloud)
        },
    );
    window.save(&session);
    for input in ["a.nii", "s.arcuate"] {
        let limited = picture(&[&[input][..], &shape].concat());
        let open = picture(&[&[input][..], &shape, &range].concat());
        assert!(limited != open, "{input}");
    }
    let third = |limits: &str| {
        let shape = format!("a:gradient:box:30..90:0..9:E69F00:1:curvature={limits}");
        let range = ["--cloud-third-range", "a:-0.01..0.01"];
        picture(&[&["a.nii", "--cloud-shape", &shape][..], &range].concat())
    };
    let nothing = third("3..4");
    assert!(third("2..") == nothing && third("..-2") == nothing);
    assert!(third("0.005..") != nothing);

    let other = here.join("other");
    std::fs::create_dir(&other).expect("a folder");
    std::fs::copy(here.join("a.nii"), other.join("A.nii")).expect("copied");
    let options = ["render", "a.nii", "other/A.nii", "--out", "x.png"];
    let upper = ["--cloud-shape", "A:gradient:box:30..90:0..3:E69F00:1"];
    let output = arcuate(&[&options[..], &upper, &range].concat(), here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    let expected = "Found --cloud-second-range for “a” without a shape";
    assert!(error.contains(expected), "{error}");
}
