//! Regions of a template that a warp takes to the scan, against the closed form of the warp's inverse.

use super::{errors, put, run};
use crate::support::composed_nifti::{ComposedNifti, put as put_bytes};
use arcuate::compute::Control;
use arcuate::data::{Grid, Mask};
use arcuate::io::{self, Opened, affine, nifti};
use glam::{DAffine3, DVec3, dvec3};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// The affine that follows the field, towards the template.
const SHIFT: DVec3 = dvec3(-1.0, 2.0, 6.0);
/// Centre in the left hemisphere of the template, at the centre of a voxel.
const LEFT: DVec3 = dvec3(-21.0, 11.0, 7.0);
/// Mirror image of [`LEFT`] in the right hemisphere.
const RIGHT: DVec3 = dvec3(21.0, 11.0, 7.0);
const RADIUS_MM: f64 = 8.0;

/// The displacement at a point of the scan.
fn displacement(at: DVec3) -> DVec3 {
    dvec3(4.0 * (at.y / 12.0).sin() + 5.0, 3.0, -2.0)
}

/// The point of the scan that the field and then `shift` take to a point of the template.
fn in_scan(template: DVec3, shift: DVec3) -> DVec3 {
    let middle = template - shift;
    let y = middle.y - 3.0;
    let x = middle.x - 5.0 - 4.0 * (y / 12.0).sin();
    dvec3(x, y, middle.z + 2.0)
}

fn scan_grid() -> Grid {
    Grid::axis_aligned([31; 3], DVec3::splat(3.0), DVec3::splat(-45.0)).expect("a grid")
}

/// A grid whose first axis runs to the left: an exchange of left and right would show.
fn template_grid() -> Grid {
    let spacing = dvec3(-2.0, 2.0, 2.0);
    Grid::axis_aligned([48; 3], spacing, dvec3(47.0, -47.0, -47.0)).expect("a grid")
}

/// Writes the displacements as ANTs does, in LPS mm.
fn write_field(path: &Path) {
    let grid = scan_grid();
    let shape = grid.shape.map(|n| n as i64);
    let spacing = grid.spacing();
    let world = |i: usize| grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
    let component = |a: usize| {
        let grid = &grid;
        (0..grid.voxel_count()).flat_map(move |i| {
            let value = (displacement(world(i)) * dvec3(-1.0, -1.0, 1.0))[a];
            (value as f32).to_le_bytes()
        })
    };
    let mut composed = ComposedNifti {
        dim: [5, shape[0], shape[1], shape[2], 1, 3, 1, 1],
        datatype: 16,
        bitpix: 32,
        pixdim: [1.0, spacing.x, spacing.y, spacing.z, 1.0, 1.0, 1.0, 1.0],
        voxels: (0..3).flat_map(component).collect(),
        ..ComposedNifti::ramp(1)
    };
    composed.set_affine(grid.world_from_voxel);
    let mut bytes = composed.bytes();
    bytes[68..70].copy_from_slice(&1007i16.to_le_bytes());
    put_bytes(path, &bytes);
}

fn write_mask(path: &Path, grid: Grid, is_inside: impl Fn(DVec3) -> bool) {
    let world = |i: usize| grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
    let inside = (0..grid.voxel_count()).map(|i| u8::from(is_inside(world(i))));
    let inside: Vec<u8> = inside.collect();
    let mask = Mask::new(Arc::new(grid), inside);
    nifti::save_mask(path, &mask, "test", &Control::new()).expect("written");
}

/// The mean place of the voxels of a mask.
fn centroid(path: &Path) -> DVec3 {
    let volume = match io::open(path, &Control::new()).expect("opened") {
        Opened::Volume(volume, _) => volume,
        Opened::Tractogram(..) => panic!("no image"),
    };
    let grid = &volume.grid;
    assert!(grid.same_space(&scan_grid(), 1e-3));
    let inside = (0..volume.values.len()).filter(|i| volume.values[*i] > 0.0);
    let places = inside.map(|i| grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64))));
    let places: Vec<DVec3> = places.collect();
    assert!(!places.is_empty(), "{}", path.display());
    places.iter().sum::<DVec3>() / places.len() as f64
}

/// The centre of the only sphere in the command of a step.
fn centre(step: &Value) -> DVec3 {
    let command = step["command"].as_str().expect("a command");
    let (_, rest) = command.split_once("sphere:").expect("a sphere");
    let numbers = rest.split([' ', '\'']).next().unwrap_or_default();
    let numbers: Vec<f64> = numbers
        .split(',')
        .map(|n| n.parse().expect("a number"))
        .collect();
    assert_eq!((numbers.len(), numbers[3]), (4, RADIUS_MM), "{command}");
    DVec3::from_slice(&numbers[..3])
}

const PROTOCOL: &str = r#"
arcuate_protocol = 1
[input.scan]
role = "image"
file = "scan.nii.gz"
[input.field]
role = "transform"
file = "1Warp.nii.gz"
[input.shift]
role = "transform"
file = "shift.txt"
[space.template]
warp = ["{field}", "inverse:{shift}"]
fixed = "{scan}"
[region.left]
mask = "{protocol}/left.nii.gz"
space = "template"
[region.right]
mask = "{protocol}/right.nii.gz"
space = "template"
[region.left_ball]
sphere = [-21, 11, 7, 8]
space = "template"
[region.right_ball]
sphere = [21, 11, 7, 8]
space = "template"
"#;

/// The protocol with a step for each region, which writes it as a mask of the scan.
fn protocol() -> String {
    let step = |region: &str| {
        format!(
            "[[step]]\nname = \"of_{region}\"\ncommand = \"region\"\n[step.options]\nimage = \"{{scan}}\"\n\
             union = \"{{{region}}}\"\nout = \"mask.nii.gz\"\n"
        )
    };
    let steps = ["left", "right", "left_ball", "right_ball"].map(step);
    format!("{PROTOCOL}{}", steps.concat())
}

fn write_subject(here: &Path) {
    let head = here.join("head");
    std::fs::create_dir(&head).expect("created");
    write_mask(&head.join("scan.nii.gz"), scan_grid(), |_| true);
    write_field(&head.join("1Warp.nii.gz"));
    write_shift(here, SHIFT);
    for (name, place) in [("left.nii.gz", LEFT), ("right.nii.gz", RIGHT)] {
        let is_inside = |at: DVec3| at.distance(place) <= RADIUS_MM;
        write_mask(&here.join(name), template_grid(), is_inside);
    }
}

/// Writes the affine whose inverse takes points of the scan on to the template.
fn write_shift(here: &Path, shift: DVec3) {
    let moved = DAffine3::from_translation(shift);
    affine::save_itk(&here.join("head/shift.txt"), moved).expect("written");
}

const LINE: &str = "run p.toml --subject-folder head --out out --no-pictures";

/// Masks are pulled to the scan and centres of spheres pushed: both go to the place that the closed form states.
pub fn regions() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    write_subject(here);
    put(here, "p.toml", &protocol());
    run("protocol check p.toml", here);
    for shift in [SHIFT, dvec3(2.0, -3.0, 1.0)] {
        write_shift(here, shift);
        let report = run(LINE, here);
        let steps = report["status"]["steps"].as_array().expect("steps");
        let named = |name: &str| {
            let step = steps.iter().find(|step| step["name"] == name);
            step.unwrap_or_else(|| panic!("{name}: {report}"))
        };
        for (side, place) in [("left", LEFT), ("right", RIGHT)] {
            let expected = in_scan(place, shift);
            let mask = centroid(&here.join(format!("out/of_{side}/mask.nii.gz")));
            // A third of a voxel, since the mask is made of voxels and bends with the field.
            assert!(mask.distance(expected) < 1.0, "{mask} {expected}");
            let step = named(&format!("of_{side}_ball"));
            let sphere = centre(step);
            // Linear interpolation between voxels of 3 mm leaves up to 0.032 mm of the sine.
            assert!(sphere.distance(expected) < 0.05, "{sphere} {expected}");
            assert_eq!(sphere.x < 0.0, side == "left", "{sphere}");
            // The affine changed, and with it all that follows.
            assert_eq!(named(&format!("region_{side}"))["unchanged"], false);
            assert_eq!(step["unchanged"], false);
            let inputs = |step: &str| {
                let path = here.join(format!("out/{step}/provenance.json"));
                let text = std::fs::read_to_string(path).expect("a text");
                let provenance: Value = serde_json::from_str(&text).expect("JSON");
                provenance["inputs"].as_array().map(Vec::len)
            };
            // The mask, the field, the affine and the scan; no mask for the sphere.
            assert_eq!(inputs(&format!("region_{side}")), Some(4));
            assert_eq!(inputs(&format!("of_{side}_ball")), Some(3));
        }
    }
    let report = run(LINE, here);
    let steps = report["status"]["steps"].as_array().expect("steps");
    assert!(
        steps.iter().all(|step| step["unchanged"] == true),
        "{report}"
    );
}

/// Sentences about warps that cannot take a region to the scan.
pub fn refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    write_subject(here);
    let without_fixed = protocol().replacen(
        "warp = [\"{field}\", \"inverse:{shift}\"]\nfixed = \"{scan}\"",
        "warp = \"{shift}\"",
        1,
    );
    // The first step names the sphere, whose centre lies far away.
    let far = protocol()
        .replacen("sphere = [-21,", "sphere = [-421,", 1)
        .replacen("union = \"{left}\"", "union = \"{left_ball}\"", 1);
    for (text, part) in [
        (without_fixed, "The mask “left” needs a fixed image"),
        (
            far,
            "The centre of the sphere “left_ball” lies outside the field",
        ),
    ] {
        put(here, "p.toml", &text);
        run("protocol check p.toml", here);
        let (found, code) = errors(LINE, here);
        assert_eq!(code, Some(1), "{found:?}");
        assert!(found[0].contains(part), "{found:?} lacks {part}");
    }
    let both = "warp = [\"{field}\"]\ntransform = \"{shift}\"";
    for (members, part) in [
        (both, "both a transform and a warp of the space “template”"),
        ("", "the space “template” without a transform or a warp"),
    ] {
        let warp = "warp = [\"{field}\", \"inverse:{shift}\"]";
        put(here, "p.toml", &protocol().replacen(warp, members, 1));
        let (found, code) = errors("protocol check p.toml", here);
        assert_eq!((found.len(), code), (1, Some(1)), "{found:?}");
        assert!(found[0].contains(part), "{found:?} lacks {part}");
    }
}
