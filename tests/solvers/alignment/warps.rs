//! Displacement fields of ANTs, ITK and FNIRT against closed forms. The conventions are written out here once more, from
//! the documentation of those programs and not from the reader.

use super::random_move;
use crate::support::composed_nifti::{ComposedNifti, put};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::warp::DisplacementField;
use arcuate::data::{AffineSource, Grid, Volume};
use arcuate::io::affine::{save_flirt, save_itk};
use arcuate::io::{
    Error, Opened, Reading, Remark, TransformFile, WarpReading, nifti, open_with_reading,
};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod applied;
mod maths;
mod refused;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "warps::linear fields are inverted as affines",
            maths::linear,
        ),
        test("warps::shears have their closed inverse", maths::shears),
        test(
            "warps::smooth fields return to where they began",
            maths::round_trips,
        ),
        test("warps::folds and borders have no inverse", maths::folds),
        test("warps::ANTs' vectors are in LPS", ants),
        test("warps::FNIRT's fields are in FSL's coordinates", fnirt),
        test("warps::lists have the order of antsApplyTransforms", order),
        test(
            "warps::streamlines take the inverse way",
            applied::streamlines,
        ),
        test("warps::pieces are warped as the whole", applied::pieces),
        test("warps::labels and masks keep their values", applied::labels),
        test(
            "warps::what a field does not reach is 0 and reported",
            applied::partial,
        ),
        test("warps::other files are refused", refused::refusals),
        test(
            "warps::values that are directions are refused",
            refused::directions,
        ),
        test("warps::texts of transforms are read back", refused::texts),
    ]
}

/// Any axis order, handedness and obliquity.
fn any_grid(random: &mut Random, shape: [usize; 3]) -> Grid {
    let edge = DVec3::from_array([0; 3].map(|_| random.uniform(1.0, 3.0)));
    let sign = |random: &mut Random| if random.bits() & 1 == 0 { 1.0 } else { -1.0 };
    let signs = DVec3::new(sign(random), sign(random), sign(random));
    let axes = DMat3::from_quat(random.rotation()) * DMat3::from_diagonal(edge * signs);
    let middle = (DVec3::from_array(shape.map(|n| n as f64)) - 1.0) * 0.5;
    let centre = random.direction() * random.uniform(0.0, 60.0);
    let affine = DAffine3::from_mat3_translation(axes, centre - axes * middle);
    Grid::new(shape, affine, AffineSource::Sform).expect("regular")
}

/// The grid with the first axis reversed, so that every voxel keeps its place in the world up to its number.
fn reversed(grid: &Grid) -> Grid {
    let last = (grid.shape[0] - 1) as f64;
    let flip = DAffine3::from_translation(DVec3::new(last, 0.0, 0.0))
        * DAffine3::from_scale(DVec3::new(-1.0, 1.0, 1.0));
    Grid::new(
        grid.shape,
        grid.world_from_voxel * flip,
        AffineSource::Sform,
    )
    .expect("regular")
}

fn voxel(grid: &Grid, index: usize) -> DVec3 {
    DVec3::from_array(grid.voxel(index).map(|v| v as f64))
}

/// The field of a map of world points.
fn field(grid: &Grid, map: impl Fn(DVec3) -> DVec3) -> DisplacementField {
    let vector = |i: usize| {
        let from = grid.world(voxel(grid, i));
        (map(from) - from).as_vec3().to_array()
    };
    let vectors = (0..grid.voxel_count()).map(vector).collect();
    DisplacementField::new(grid.clone(), vectors)
}

/// A point whose cell lies wholly in the grid.
fn inner(random: &mut Random, grid: &Grid, margin: f64) -> DVec3 {
    let at = |random: &mut Random, n: usize| random.uniform(margin, n as f64 - 1.0 - margin);
    let at = DVec3::from_array(grid.shape.map(|n| at(random, n)));
    grid.world(at)
}

/// Writes a field in float32 with a NIfTI-1 header; `dims` are its dimensions after the third.
fn write_field(path: &Path, grid: &Grid, dims: &[i64], intent: i16, vectors: &[DVec3]) {
    let shape = grid.shape.map(|n| n as i64);
    let mut dim = [1; 8];
    dim[0] = 3 + dims.len() as i64;
    dim[1..4].copy_from_slice(&shape);
    dim[4..4 + dims.len()].copy_from_slice(dims);
    let spacing = grid.spacing();
    let mut composed = ComposedNifti {
        dim,
        datatype: 16,
        bitpix: 32,
        pixdim: [1.0, spacing.x, spacing.y, spacing.z, 1.0, 1.0, 1.0, 1.0],
        voxels: (0..3)
            .flat_map(|c| {
                vectors
                    .iter()
                    .flat_map(move |v| (v[c] as f32).to_le_bytes())
            })
            .collect(),
        ..ComposedNifti::ramp(1)
    };
    composed.set_affine(grid.world_from_voxel);
    let mut bytes = composed.bytes();
    bytes[68..70].copy_from_slice(&intent.to_le_bytes());
    put(path, &bytes);
}

/// The dimensions and the intent of ITK's vectors, and of FNIRT's fields.
const ITK: (&[i64], i16) = (&[1, 3], 1007);
const FNIRT: (&[i64], i16) = (&[3], 2006);

fn lps(p: DVec3) -> DVec3 {
    DVec3::new(-p.x, -p.y, p.z)
}

/// Writes the field of a map of world points as ANTs does.
fn write_ants(path: &Path, grid: &Grid, map: impl Fn(DVec3) -> DVec3) {
    let vectors: Vec<DVec3> = (0..grid.voxel_count())
        .map(|i| {
            let from = grid.world(voxel(grid, i));
            lps(map(from)) - lps(from)
        })
        .collect();
    write_field(path, grid, ITK.0, ITK.1, &vectors);
}

/// FSL's coordinates as its documentation states them: millimetres from the first voxel, along the first axis from the
/// last one where the image is stored from left to right.
fn fsl(grid: &Grid, voxel: DVec3) -> DVec3 {
    let mut at = voxel;
    if grid.world_from_voxel.matrix3.determinant() > 0.0 {
        at.x = (grid.shape[0] - 1) as f64 - at.x;
    }
    at * grid.spacing()
}

fn write_fnirt(
    path: &Path,
    (fixed, moving): (&Grid, &Grid),
    absolute: bool,
    map: impl Fn(DVec3) -> DVec3,
) {
    let vectors: Vec<DVec3> = (0..fixed.voxel_count())
        .map(|i| {
            let from = voxel(fixed, i);
            let to = fsl(moving, moving.voxel_at(map(fixed.world(from))));
            match absolute {
                true => to,
                false => to - fsl(fixed, from),
            }
        })
        .collect();
    write_field(path, fixed, FNIRT.0, FNIRT.1, &vectors);
}

/// Three images whose values are the world coordinates of their voxels: the resampled values say where each voxel of the
/// fixed image looked, left and right included.
fn coordinates(folder: &Path, grid: &Grid) -> [PathBuf; 3] {
    [0, 1, 2].map(|a| {
        let values: Vec<f32> = (0..grid.voxel_count())
            .map(|i| grid.world(voxel(grid, i))[a] as f32)
            .collect();
        let volume = Volume::scalar(Arc::new(grid.clone()), values);
        let path = folder.join(format!("coordinate{a}.nii.gz"));
        nifti::save_volume(&path, &volume, "test", &Control::new()).unwrap();
        path
    })
}

fn save_image(path: &Path, volume: &Volume) {
    nifti::save_volume(path, volume, "test", &Control::new()).unwrap();
}

/// An image without values, for its grid.
fn save_grid(path: &Path, grid: &Grid) {
    let values = vec![0f32; grid.voxel_count()];
    save_image(path, &Volume::scalar(Arc::new(grid.clone()), values));
}

fn reading(warp: &[&str], fixed: Option<&Path>, moving: Option<&Path>) -> Reading {
    Reading {
        warp: Some(Box::new(WarpReading {
            transforms: warp.iter().map(|text| TransformFile::parse(text)).collect(),
            fixed: fixed.map(Path::to_owned),
            moving: moving.map(Path::to_owned),
            interpolation: None,
        })),
        ..Reading::default()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn opened(path: &Path, reading: &Reading) -> Result<(Volume, Vec<Remark>), Error> {
    let opened = open_with_reading(path, reading, &Control::new())?;
    let remarks = opened.remarks();
    match opened {
        Opened::Volume(volume, _) => Ok((volume, remarks)),
        Opened::Tractogram(..) => panic!("no image"),
    }
}

/// Checks that each voxel of the fixed image looked where the map says, wherever that lies well within the moving image.
fn check_places(
    found: &[Volume],
    fixed: &Grid,
    moving: &Grid,
    map: impl Fn(DVec3) -> Option<DVec3>,
) {
    let mut checked = 0;
    for i in 0..fixed.voxel_count() {
        let Some(to) = map(fixed.world(voxel(fixed, i))) else {
            continue;
        };
        let at = moving.voxel_at(to);
        let inside = (0..3).all(|a| at[a] >= 0.01 && at[a] <= moving.shape[a] as f64 - 1.01);
        if inside {
            checked += 1;
            let place = DVec3::from_array([0, 1, 2].map(|a| f64::from(found[a].values[i])));
            // Headers and vectors are in single precision.
            assert!(place.distance(to) < 2e-3, "{place} {to}");
        }
    }
    assert!(checked * 4 > fixed.voxel_count(), "{checked} voxels");
}

/// A moving image that covers the fixed one on all sides, on axes of its own.
fn covering(random: &mut Random, fixed: &Grid) -> Grid {
    let grid = any_grid(random, [30, 31, 32]);
    let shift = fixed.centre() - grid.centre();
    grid.moved(DAffine3::from_translation(shift)).unwrap()
}

/// A smooth map near the identity about a point.
fn bend(random: &mut Random, centre: DVec3) -> impl Fn(DVec3) -> DVec3 + use<> {
    let (direction, wave) = (random.direction(), random.direction() / 12.0);
    let turn = random_move(random, 3.0, 12.0);
    let about = DAffine3::from_translation(centre) * turn * DAffine3::from_translation(-centre);
    move |p| about.transform_point3(p + direction * 3.0 * wave.dot(p - centre).sin())
}

/// The displacement of a field between the voxels, for independent checks.
fn trilinear(grid: &Grid, map: impl Fn(DVec3) -> DVec3, point: DVec3) -> Option<DVec3> {
    let at = grid.voxel_at(point);
    let last = DVec3::from_array(grid.shape.map(|n| n as f64 - 1.0));
    if !(at.cmpge(DVec3::ZERO).all() && at.cmple(last).all()) {
        return None;
    }
    let first = at.floor().min(last - 1.0);
    let share = at - first;
    let mut sum = DVec3::ZERO;
    for corner in 0..8 {
        let step = DVec3::from_array([0, 1, 2].map(|a| f64::from(corner >> a & 1)));
        let weight: f64 = (0..3)
            .map(|a| {
                if step[a] > 0.0 {
                    share[a]
                } else {
                    1.0 - share[a]
                }
            })
            .product();
        let from = grid.world(first + step);
        sum += weight * (map(from) - from);
    }
    Some(point + sum)
}

fn ants() {
    let mut random = Random::fresh("warp ants");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for round in 0..6 {
        let fixed = any_grid(&mut random, [9, 10, 11]);
        let fixed = if round % 2 == 0 {
            fixed
        } else {
            reversed(&fixed)
        };
        let moving = covering(&mut random, &fixed);
        let map = bend(&mut random, fixed.centre());
        let path = folder.join(["1Warp.nii.gz", "1Warp.nii"][round % 2]);
        write_ants(&path, &fixed, &map);
        // Without a fixed image, the field's own voxels are used.
        let reading = reading(&[text(&path)], None, None);
        let found = coordinates(folder, &moving).map(|image| opened(&image, &reading).unwrap().0);
        assert!(found[0].grid.same_space(&fixed, 1e-3));
        check_places(&found, &fixed, &moving, |p| Some(map(p)));
    }
}

fn fnirt() {
    let mut random = Random::fresh("warp fnirt");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for round in 0..8 {
        let fixed = any_grid(&mut random, [9, 10, 11]);
        let moving = covering(&mut random, &fixed);
        let [fixed, moving] = match round % 4 {
            0 => [fixed, moving],
            1 => [reversed(&fixed), moving],
            2 => [fixed, reversed(&moving)],
            _ => [reversed(&fixed), reversed(&moving)],
        };
        let map = bend(&mut random, fixed.centre());
        let path = folder.join("field.nii.gz");
        let absolute = round >= 4;
        write_fnirt(&path, (&fixed, &moving), absolute, &map);
        let stated = ["fsl-relative", "fsl-absolute"][usize::from(absolute)];
        let stated = format!("{stated}:{}", text(&path));
        let by_statement = reading(&[&stated], None, None);
        let images = coordinates(folder, &moving);
        let found = images
            .each_ref()
            .map(|image| opened(image, &by_statement).unwrap().0);
        check_places(&found, &fixed, &moving, |p| Some(map(p)));
        // The standard deviations say the same, or nothing; displacements between images whose axes differ vary as much
        // as positions.
        match opened(&images[0], &reading(&[text(&path)], None, None)) {
            Ok((volume, _)) => assert_eq!(volume.values, found[0].values),
            Err(Error::Unsupported { .. }) => {}
            Err(other) => panic!("{other}"),
        }
        // The inverse leads back, with the roles of the images exchanged.
        let (fixed_path, moving_path) = (folder.join("fixed.nii"), folder.join("moving.nii"));
        save_grid(&fixed_path, &fixed);
        save_grid(&moving_path, &moving);
        let back = reading(&[&format!("inverse:{stated}")], Some(&moving_path), None);
        let found = coordinates(folder, &fixed).map(|image| opened(&image, &back).unwrap().0);
        // Each voxel that holds a place must have looked there.
        let mut checked = 0;
        for i in 0..moving.voxel_count() {
            let place = DVec3::from_array([0, 1, 2].map(|a| f64::from(found[a].values[i])));
            let at = fixed.voxel_at(place);
            let inner = (0..3).all(|a| at[a] > 0.5 && at[a] < fixed.shape[a] as f64 - 1.5);
            if place != DVec3::ZERO && inner {
                checked += 1;
                // The field is linear between voxels, the bend is not.
                let to = moving.world(voxel(&moving, i));
                assert!(map(place).distance(to) < 0.5, "{place}");
            }
        }
        assert!(checked > 50, "{checked}");
    }
}

/// `-t 1Warp.nii.gz -t 0GenericAffine.mat`: the field first maps points of the fixed image, then the affine. Back:
/// `-t [0GenericAffine.mat,1] -t 1InverseWarp.nii.gz`.
fn order() {
    let mut random = Random::fresh("warp order");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let fixed = any_grid(&mut random, [9, 10, 11]);
    let affine =
        random_move(&mut random, 25.0, 40.0) * DAffine3::from_scale(DVec3::new(1.1, 0.9, 1.2));
    let map = bend(&mut random, fixed.centre());
    let path = folder.join("1Warp.nii.gz");
    write_ants(&path, &fixed, &map);
    // ITK's file maps points of the fixed image to the moving one; the writer takes the way of the image.
    let affine_path = folder.join("0Affine.txt");
    save_itk(&affine_path, affine.inverse()).unwrap();
    let fixed_path = folder.join("fixed.nii.gz");
    save_grid(&fixed_path, &fixed);
    let centre = affine.transform_point3(fixed.centre());
    let moving = covering(&mut random, &fixed);
    let moving = moving
        .moved(DAffine3::from_translation(centre - moving.centre()))
        .unwrap();
    let list = reading(&[text(&path), text(&affine_path)], Some(&fixed_path), None);
    let found = coordinates(folder, &moving).map(|image| opened(&image, &list).unwrap().0);
    check_places(&found, &fixed, &moving, |p| {
        Some(affine.transform_point3(map(p)))
    });
    // The way back, with a field of its own.
    let back_path = folder.join("1InverseWarp.nii.gz");
    let back_map = bend(&mut random, fixed.centre());
    write_ants(&back_path, &fixed, &back_map);
    let inverse = format!("inverse:{}", text(&affine_path));
    let moving_path = folder.join("moving.nii.gz");
    save_grid(&moving_path, &moving);
    let list = reading(&[&inverse, text(&back_path)], Some(&moving_path), None);
    let wide = covering(&mut random, &fixed);
    let found = coordinates(folder, &wide).map(|image| opened(&image, &list).unwrap().0);
    let mut checked = 0;
    for i in 0..moving.voxel_count() {
        let at = affine
            .inverse()
            .transform_point3(moving.world(voxel(&moving, i)));
        if let Some(to) = trilinear(&fixed, &back_map, at) {
            checked += 1;
            let place = DVec3::from_array([0, 1, 2].map(|a| f64::from(found[a].values[i])));
            assert!(place.distance(to) < 5e-3, "{place} {to}");
        }
    }
    assert!(checked > 100, "{checked}");
    // A FLIRT matrix alone resamples, too, and its inverse needs the images exchanged.
    let flirt = folder.join("flirt.mat");
    save_flirt(&flirt, affine.inverse(), &moving, &fixed).unwrap();
    let list = reading(&[text(&flirt)], Some(&fixed_path), None);
    let found = coordinates(folder, &moving).map(|image| opened(&image, &list).unwrap().0);
    check_places(&found, &fixed, &moving, |p| {
        Some(affine.transform_point3(p))
    });
    let inverse = format!("inverse:{}", text(&flirt));
    let list = reading(&[&inverse], Some(&moving_path), None);
    let found = coordinates(folder, &fixed).map(|image| opened(&image, &list).unwrap().0);
    let inside = |p: &DVec3| {
        let at = fixed.voxel_at(*p);
        (0..3).all(|a| at[a] >= 0.01 && at[a] <= fixed.shape[a] as f64 - 1.01)
    };
    let mut checked = 0;
    for i in 0..moving.voxel_count() {
        let to = affine
            .inverse()
            .transform_point3(moving.world(voxel(&moving, i)));
        if inside(&to) {
            checked += 1;
            let place = DVec3::from_array([0, 1, 2].map(|a| f64::from(found[a].values[i])));
            assert!(place.distance(to) < 2e-3, "{place} {to}");
        }
    }
    assert!(checked > 20, "{checked}");
}
