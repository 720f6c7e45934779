//! FLIRT's and ITK's files.

use super::random_move;
use crate::support::composed_nifti::matlab;
use crate::support::fields::odd_grid;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid, Tractogram, Volume};
use arcuate::io::affine::{Affine, fsl_from_voxel, read, save_flirt, save_itk};
use arcuate::io::{AffineReading, Error, Opened, Reading, nifti, open_with_reading, trx};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "alignment::FLIRT's matrix moves voxels as FSL counts them",
            flirt,
        ),
        test("alignment::ITK's affine is an inverse in LPS", itk),
        test(
            "alignment::ANTs' MATLAB file says the same as its text",
            ants,
        ),
        test("alignment::affines come back from files", round_trips),
        test("alignment::damaged affines are refused", damaged),
        test("alignment::files are moved when they are opened", opened),
    ]
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Rows of a matrix, as FLIRT writes them.
fn text(affine: DAffine3) -> String {
    let mut text = String::new();
    for row in 0..3 {
        let r = affine.matrix3.row(row);
        text += &format!("{}  {}  {}  {}  \n", r.x, r.y, r.z, affine.translation[row]);
    }
    text + "0  0  0  1\n"
}

/// A grid of either handedness.
fn grid(random: &mut Random, mirrored: bool) -> Grid {
    let grid = odd_grid(random);
    let positive = grid.world_from_voxel.matrix3.determinant() > 0.0;
    if positive != mirrored {
        return grid;
    }
    let flip = DAffine3::from_scale(DVec3::new(-1.0, 1.0, 1.0));
    Grid::new(
        grid.shape,
        grid.world_from_voxel * flip,
        AffineSource::Computed,
    )
    .unwrap()
}

fn affine_distance(a: DAffine3, b: DAffine3) -> f64 {
    let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z].map(|c| c * 100.0);
    let off = corners.map(|c| a.transform_point3(c).distance(b.transform_point3(c)));
    off.into_iter().fold(0.0, f64::max)
}

/// The definition written out: millimetres from the first voxel; along the first axis from the last where the affine is
/// right-handed.
fn flirt() {
    let mut random = Random::fresh("flirt");
    let folder = tempfile::tempdir().unwrap();
    for mirrored in [[false, false], [false, true], [true, false], [true, true]] {
        let [moving, fixed] = mirrored.map(|m| grid(&mut random, m));
        let fsl = |grid: &Grid, voxel: DVec3| {
            let mut at = voxel;
            if grid.world_from_voxel.matrix3.determinant() > 0.0 {
                at.x = (grid.shape[0] - 1) as f64 - at.x;
            }
            at * grid.spacing()
        };
        let matrix =
            random_move(&mut random, 20.0, 40.0) * DAffine3::from_scale(DVec3::new(1.1, 0.9, 1.2));
        let path = write(folder.path(), "m.mat", &text(matrix));
        let affine = read(&path).unwrap();
        assert!(matches!(affine, Affine::Flirt(_)));
        assert_eq!(affine.in_world(Some(&moving), None), None);
        let by = affine.in_world(Some(&moving), Some(&fixed)).unwrap();
        for _ in 0..20 {
            let voxel = DVec3::from_array([(); 3].map(|()| random.uniform(-3.0, 30.0)));
            let requested = matrix.transform_point3(fsl(&moving, voxel));
            let position = by.transform_point3(moving.world(voxel));
            let found = fsl(&fixed, fixed.voxel_at(position));
            assert!(
                found.distance(requested) < 1e-9,
                "{mirrored:?}: {found} {requested}"
            );
        }
        assert!(
            fsl_from_voxel(&moving)
                .transform_point3(DVec3::ONE)
                .distance(fsl(&moving, DVec3::ONE))
                < 1e-12
        );
        // FSL's identity between images on one grid moves nothing.
        let path = write(folder.path(), "one.mat", &text(DAffine3::IDENTITY));
        let by = read(&path)
            .unwrap()
            .in_world(Some(&fixed), Some(&fixed))
            .unwrap();
        assert!(affine_distance(by, DAffine3::IDENTITY) < 1e-9);
    }
}

fn itk_text(kind: &str, parameters: &[f64], centre: &[f64]) -> String {
    let text = |numbers: &[f64]| {
        let text: Vec<String> = numbers.iter().map(f64::to_string).collect();
        text.join(" ")
    };
    format!(
        "#Insight Transform File V1.0\r\n#Transform 0\r\nTransform: {kind}_double_3_3\r\nParameters: {}\r\n\
         FixedParameters: {}\r\n",
        text(parameters),
        text(centre)
    )
}

fn itk() {
    let mut random = Random::fresh("itk");
    let folder = tempfile::tempdir().unwrap();
    let lps = |p: DVec3| DVec3::new(-p.x, -p.y, p.z);
    for _ in 0..20 {
        let m = random_move(&mut random, 9.0, 50.0).matrix3
            * DMat3::from_diagonal(DVec3::new(1.2, 0.8, 1.1));
        let [c, t] = [(); 2].map(|()| random.direction() * 30.0);
        let r = [0, 1, 2].map(|i| m.row(i).to_array()).concat();
        let parameters = [r, t.to_array().to_vec()].concat();
        let kind = ["AffineTransform", "MatrixOffsetTransformBase"][random.bits() as usize % 2];
        let text = itk_text(kind, &parameters, &c.to_array());
        let by = read(&write(folder.path(), "a.txt", &text)).unwrap();
        let by = by.in_world(None, None).unwrap();
        for _ in 0..5 {
            // From the fixed image to the moving one, as ITK's documentation defines it.
            let fixed = random.direction() * 80.0;
            let moving = lps(m * (lps(fixed) - c) + c + t);
            assert!(by.transform_point3(moving).distance(fixed) < 1e-9);
        }
        // Three angles: about y, then x, then z.
        let [a, b, g] = [(); 3].map(|()| random.uniform(-1.0, 1.0));
        let parameters = [&[a, b, g][..], &t.to_array()].concat();
        let text = itk_text("Euler3DTransform", &parameters, &c.to_array());
        let by = read(&write(folder.path(), "e.tfm", &text)).unwrap();
        let by = by.in_world(None, None).unwrap();
        let turn = |p: DVec3| {
            let p = DVec3::new(
                p.x * b.cos() + p.z * b.sin(),
                p.y,
                p.z * b.cos() - p.x * b.sin(),
            );
            let p = DVec3::new(
                p.x,
                p.y * a.cos() - p.z * a.sin(),
                p.y * a.sin() + p.z * a.cos(),
            );
            DVec3::new(
                p.x * g.cos() - p.y * g.sin(),
                p.x * g.sin() + p.y * g.cos(),
                p.z,
            )
        };
        let fixed = random.direction() * 80.0;
        let moving = lps(turn(lps(fixed) - c) + c + t);
        assert!(by.transform_point3(moving).distance(fixed) < 1e-9);
    }
}

fn ants() {
    let mut random = Random::fresh("ants");
    let folder = tempfile::tempdir().unwrap();
    for single in [false, true] {
        let m = random_move(&mut random, 9.0, 50.0).matrix3;
        let [c, t] = [(); 2].map(|()| random.direction() * 30.0);
        let parameters = [
            [0, 1, 2].map(|i| m.row(i).to_array()).concat(),
            t.to_array().to_vec(),
        ]
        .concat();
        let plain = itk_text("AffineTransform", &parameters, &c.to_array());
        let plain = read(&write(folder.path(), "a.txt", &plain)).unwrap();
        let bytes = matlab(
            &[
                ("AffineTransform_double_3_3", &parameters),
                ("fixed", &c.to_array()),
            ],
            single,
        );
        let path = folder.path().join("0GenericAffine.mat");
        std::fs::write(&path, &bytes).unwrap();
        let [a, b] = [plain, read(&path).unwrap()].map(|f| f.in_world(None, None).unwrap());
        // Single-precision numbers hold 30 mm to 2e-6, and rotations to 6e-8 of 100 mm and more.
        let within = if single { 1e-4 } else { 1e-9 };
        assert!(affine_distance(a, b) < within, "{}", affine_distance(a, b));
        for cut in 0..bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let found = read(&path);
            // Without the last column the centre is the origin.
            assert!(found.is_err() || cut >= bytes.len() - 20 - 6 - 24);
        }
    }
}

fn round_trips() {
    let mut random = Random::fresh("affine files");
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..10 {
        let by = random_move(&mut random, 40.0, 90.0);
        let path = folder.path().join("a.txt");
        save_itk(&path, by).unwrap();
        let found = read(&path).unwrap().in_world(None, None).unwrap();
        assert!(affine_distance(found, by) < 1e-9);
        let [moving, fixed] = [
            random.bits().is_multiple_of(2),
            random.bits().is_multiple_of(2),
        ]
        .map(|m| grid(&mut random, m));
        let path = folder.path().join("a.mat");
        save_flirt(&path, by, &moving, &fixed).unwrap();
        let found = read(&path)
            .unwrap()
            .in_world(Some(&moving), Some(&fixed))
            .unwrap();
        assert!(affine_distance(found, by) < 1e-9);
    }
}

fn damaged() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let singular = "1 0 0 0\n2 0 0 0\n0 0 1 0\n0 0 0 1\n";
    let last = "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 1 1\n";
    let short = itk_text("AffineTransform", &[1.0; 11], &[0.0; 3]);
    let flat = itk_text("AffineTransform", &[0.0; 12], &[0.0; 3]);
    let warp = itk_text("DisplacementFieldTransform", &[1.0; 12], &[0.0; 3]);
    let two = short.clone() + &short;
    let nan = "1 0 0 nan\n0 1 0 0\n0 0 1 0\n0 0 0 1\n";
    for text in [
        "", "words", singular, last, &short, &flat, &warp, &two, nan, "1 2 3\n",
    ] {
        let path = write(folder, "bad.txt", text);
        match read(&path) {
            Err(Error::Malformed { .. }) => {}
            other => panic!("{text}: {other:?}"),
        }
    }
    assert!(matches!(
        read(&folder.join("none.mat")),
        Err(Error::Missing { .. })
    ));
    assert!(matches!(read(folder), Err(Error::Folder { .. })));
}

/// `--affine`: an image's header and a tractogram's points are moved, values do not change.
fn opened() {
    let mut random = Random::fresh("affine opened");
    let folder = tempfile::tempdir().unwrap();
    let control = Control::new();
    let grid = Arc::new(odd_grid(&mut random));
    let values: Vec<f32> = (0..grid.voxel_count()).map(|i| i as f32).collect();
    let volume = Volume::scalar(grid.clone(), values);
    let image = folder.path().join("image.nii.gz");
    nifti::save_volume(&image, &volume, "test", &control).unwrap();
    let points = vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let lines = Tractogram::new(points.clone(), vec![0, 2]).with_grid(grid.clone());
    let tracks = folder.path().join("lines.trx");
    trx::save(&tracks, &lines, &control).unwrap();
    let by = random_move(&mut random, 20.0, 40.0);
    let file = folder.path().join("by.txt");
    save_itk(&file, by).unwrap();
    for affine in [
        AffineReading::matrix(by),
        AffineReading::File {
            path: file,
            fixed: None,
        },
    ] {
        let reported = Reading {
            affine: Some(Box::new(affine)),
            ..Reading::default()
        };
        let Opened::Volume(found, _) = open_with_reading(&image, &reported, &control).unwrap()
        else {
            panic!("no image")
        };
        assert_eq!(found.values, volume.values);
        // A header holds single-precision numbers.
        let requested = by * grid.world_from_voxel;
        assert!(affine_distance(found.grid.world_from_voxel, requested) < 1e-3);
        let Opened::Tractogram(found, _) = open_with_reading(&tracks, &reported, &control).unwrap()
        else {
            panic!("no streamlines")
        };
        for (found, point) in found.points.iter().zip(&points) {
            let requested = by.transform_point3(DVec3::from_array(point.map(f64::from)));
            assert!(DVec3::from_array(found.map(f64::from)).distance(requested) < 1e-5);
        }
    }
    let rows: [f64; 12] = std::array::from_fn(|i| i as f64);
    let AffineReading::Matrix(back) = AffineReading::matrix(AffineReading::of_rows(&rows)) else {
        panic!("a matrix")
    };
    assert_eq!(back, rows);
    assert_eq!(
        AffineReading::of_rows(&rows).translation,
        DVec3::new(3.0, 7.0, 11.0)
    );
}
