//! Images of fibre orientations: bases and axes of other programs, peaks, and images that are moved.

mod amplitudes;

use super::sentence;
use super::volumes::opened;
use crate::support::composed_nifti::{gzip, matlab};
use crate::support::{Random, data_test, test};
use arcuate::compute::Control;
use arcuate::data::axis_change::world_from_fsl;
use arcuate::data::odf_field::{OdfConversion, OdfField, OdfLayout, Tissue};
use arcuate::data::odf_turn::OdfTurn;
use arcuate::data::spherical_harmonics::{Basis, Rotation, count, evaluate, order_of_count};
use arcuate::data::{Grid, PeakField, TensorFrame, Volume, VolumeKind};
use arcuate::io::{AffineReading, image, orientations};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::orientations::numbers_of_volumes", numbers),
        test("io::orientations::tissues_by_name", tissues),
        test("io::orientations::bases_and_axes", bases),
        test("io::orientations::rigid_transforms", rigid),
        test("io::orientations::affine_transforms", affine),
        test("io::orientations::moved_images", moved),
        test(
            "io::orientations::amplitudes_of_no_fibres",
            amplitudes::of_no_fibres,
        ),
        test("io::orientations::peaks_of_mrtrix", peaks),
        test("io::orientations::dyads_of_fsl", dyads),
        test("io::orientations::models_of_dsi_studio", dsi_studio),
        data_test(
            "io::orientations::bases_of_dipy",
            "mrtrix_reference/dipy_bases",
            dipy,
        ),
        data_test(
            "io::orientations::wrong_basis_is_another_function",
            "mrtrix_reference/dipy_bases",
            wrong_basis,
        ),
        data_test(
            "io::orientations::files_of_mrtrix",
            "mrtrix_reference/fod.mif",
            real_files,
        ),
    ]
}

fn numbers() {
    let layouts = |volumes| OdfLayout::of_volumes(volumes).count();
    // Five bases in two frames; an image with Camino's two values before the coefficients has its basis alone.
    assert_eq!([45, 28, 6, 1, 91].map(layouts), [10; 5]);
    assert_eq!([47, 30, 8].map(layouts), [2; 3]);
    assert_eq!([3, 44, 0, 2].map(layouts), [0; 4]);
    assert_eq!(OdfLayout::MRTRIX.order(45), Some(8));
    let camino = OdfLayout {
        basis: Basis::Camino,
        frame: TensorFrame::World,
    };
    assert_eq!(camino.order(47), Some(8));
    assert_eq!(camino.to_string(), " --odf-basis camino --odf-frame world");
    let path = Path::new("/a/b.mif");
    assert_eq!(orientations::implied_layout(path), Some(OdfLayout::MRTRIX));
    assert_eq!(orientations::implied_layout(Path::new("b.nii.gz")), None);
}

fn tissues() {
    for (name, tissue) in [
        (
            "sub-1_model-msmtcsd_param-fod_label-WM_dwimap.mif.gz",
            Some(Tissue::WhiteMatter),
        ),
        (
            "sub-wm_model-msmtcsd_param-fod_label-GM_dwimap.mif.gz",
            Some(Tissue::GreyMatter),
        ),
        ("sub-1_label-CSF_dwimap.nii.gz", Some(Tissue::Csf)),
        ("sub-1_label-brain_wm.nii.gz", None),
        ("wmfod.mif", Some(Tissue::WhiteMatter)),
        ("wm_fod.nii.gz", Some(Tissue::WhiteMatter)),
        (
            "sub-1_space-T1w_desc-preproc_desc-wmFODmtnormed_msmtcsd.mif.gz",
            Some(Tissue::WhiteMatter),
        ),
        (
            "sub-1_desc-csfFODmtnormed_msmtcsd.mif.gz",
            Some(Tissue::Csf),
        ),
        ("gm_norm.nii.gz", Some(Tissue::GreyMatter)),
        ("GM.mif", Some(Tissue::GreyMatter)),
        ("fod.mif", None),
        ("swimming.mif", None),
    ] {
        assert_eq!(Tissue::in_name(name), tissue, "{name}");
    }
    let tissue = |name: &str, volumes| orientations::tissue_of(Path::new(name), volumes);
    assert_eq!(tissue("a/fod.mif", 45), Some(Tissue::WhiteMatter));
    assert_eq!(tissue("a/fod.mif", 1), None);
    assert_eq!(tissue("a/csf.mif", 1), Some(Tissue::Csf));
}

/// A grid with a reflection and oblique axes.
fn odd_grid(random: &mut Random) -> Arc<Grid> {
    let large = super::formats::grid((random.bits() % 48) as usize, true, random);
    Arc::new(super::volumes::small(&large, random))
}

/// Coefficients of a sum of a few lobes, different in each voxel, along world axes.
fn lobes(grid: &Grid, order: usize, random: &mut Random) -> Vec<Vec<f64>> {
    let one = |_| {
        let mut sum = vec![0.0; count(order)];
        for _ in 0..3 {
            let functions = evaluate(order, random.direction());
            let share = random.uniform(0.1, 1.0);
            sum.iter_mut()
                .zip(functions)
                .for_each(|(s, y)| *s += share * y);
        }
        sum
    };
    (0..grid.voxel_count()).map(one).collect()
}

/// Planes of the coefficients of all voxels.
fn image_of(grid: &Arc<Grid>, voxels: &[Vec<f64>]) -> Volume {
    let size = voxels[0].len();
    let planes = (0..size).flat_map(|i| voxels.iter().map(move |c| c[i] as f32));
    Volume::new(
        grid.clone(),
        size,
        VolumeKind::Scalar,
        planes.collect::<Vec<f32>>(),
    )
}

fn near(found: &[f64], expected: &[f64], most: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= most, "{what}: {a} and {b}");
    }
}

/// Images in every basis and both frames are read as the same functions.
fn bases() {
    let mut random = Random::fresh("odf bases");
    for order in [0, 2, 8, 12] {
        let grid = odd_grid(&mut random);
        let expected = lobes(&grid, order, &mut random);
        let image_from_world = world_from_fsl(&grid).transpose();
        for layout in OdfLayout::of_volumes(count(order)) {
            let into = match layout.frame {
                TensorFrame::Voxel => Rotation::new(order, image_from_world),
                TensorFrame::World => Rotation::new(order, DMat3::IDENTITY),
            };
            let stored = |c: &Vec<f64>| layout.basis.from_mrtrix(order, &into.apply(c));
            let mut stored: Vec<Vec<f64>> = expected.iter().map(stored).collect();
            // A voxel without a distribution, and one with a damaged one.
            let size = count(order);
            stored[0] = vec![0.0; size];
            stored[1] = vec![f64::NAN; size];
            let volume = image_of(&grid, &stored);
            let path = Path::new("a.nii");
            let what = layout.description();
            let field = orientations::odf_from_volume(path, &volume, layout, &Control::new());
            let field = field.expect("distributions");
            assert_eq!((field.order(), &field.grid), (order, &grid), "{what}");
            assert!(field.coefficients_at(0).iter().all(|c| *c == 0.0), "{what}");
            assert!(
                field.coefficients_at(1).iter().all(|c| c.is_nan()),
                "{what}"
            );
            for (voxel, expected) in expected.iter().enumerate().skip(2) {
                near(&field.coefficients_at(voxel), expected, 2e-5, &what);
            }
            assert_eq!(field.volume().frames, size);
            if layout.basis != Basis::Camino || order == 0 {
                continue;
            }
            // The exit code and ln S0 come before the coefficients.
            let longer = |c: &Vec<f64>| [&[0.0, 6.5], c.as_slice()].concat();
            let longer: Vec<Vec<f64>> = stored.iter().map(longer).collect();
            let volume = image_of(&grid, &longer);
            let same = orientations::odf_from_volume(path, &volume, layout, &Control::new());
            let same = same.expect("distributions");
            near(
                &same.coefficients_at(2),
                &field.coefficients_at(2),
                0.0,
                &what,
            );
        }
    }
    let grid = odd_grid(&mut random);
    let volume = Volume::new(
        grid.clone(),
        44,
        VolumeKind::Scalar,
        vec![0.0; 44 * grid.voxel_count()],
    );
    let error = orientations::odf_from_volume(
        Path::new("a.nii"),
        &volume,
        OdfLayout::MRTRIX,
        &Control::new(),
    );
    let text = sentence(&error.expect_err("44 volumes"));
    assert!(
        text.contains("Found 44 volumes, expected 1, 6, 15"),
        "{text}"
    );
    assert!(OdfConversion::new(OdfLayout::MRTRIX, 44, &grid).is_none());
}

fn worst(a: &[f64], b: &[f64]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// A rigid transform rotates: composition, reflections, and the way of 300 point spread functions gives the same.
fn rigid() {
    let mut random = Random::fresh("odf rigid");
    for order in [2, 4, 8, 12] {
        for mirror in [1.0, -1.0] {
            let turn = DMat3::from_quat(random.rotation());
            let turn = turn * DMat3::from_diagonal(DVec3::new(mirror, 1.0, 1.0));
            let own = OdfTurn::new(order, turn, true);
            assert!(matches!(own, OdfTurn::Rigid(_)));
            let u = random.direction();
            let moved = own.apply(&evaluate(order, u));
            assert!(worst(&moved, &evaluate(order, turn * u)) < 1e-10);
            // A hair from rigid, so that the point spread functions are used.
            let nearly = OdfTurn::new(order, turn * (1.0 + 2e-6), false);
            assert!(matches!(nearly, OdfTurn::Linear { .. }));
            let also = nearly.apply(&evaluate(order, u));
            assert!(worst(&also, &moved) < 1e-8, "order {order}");
        }
    }
}

/// The largest value of a series, and where it lies.
fn maximum(coefficients: &[f64]) -> (f64, DVec3) {
    let order = order_of_count(coefficients.len()).expect("an order");
    let steps = 240;
    let mut best = (f64::NEG_INFINITY, DVec3::Z);
    for i in 0..steps {
        let z = (i as f64 + 0.5) / steps as f64;
        for j in 0..2 * steps {
            let (sine, cosine) = (std::f64::consts::PI * j as f64 / steps as f64).sin_cos();
            let radius = (1.0 - z * z).sqrt();
            let u = DVec3::new(radius * cosine, radius * sine, z);
            let value = evaluate(order, u)
                .iter()
                .zip(coefficients)
                .map(|(y, c)| y * c)
                .sum();
            if value > best.0 {
                best = (value, u);
            }
        }
    }
    best
}

/// A lobe along u moves to Fu; its density changes by |Fu| / |det F|, or stays unchanged on request.
fn affine() {
    let mut random = Random::fresh("odf affine");
    let order = 8;
    for _ in 0..6 {
        let stretch = [0; 3].map(|_| random.uniform(0.85, 1.2));
        let stretch = DVec3::from_array(stretch);
        let turns = [random.rotation(), random.rotation()].map(DMat3::from_quat);
        let linear = turns[0] * DMat3::from_diagonal(stretch) * turns[1];
        let u = random.direction();
        let lobe = evaluate(order, u);
        let (plain, dense) = (
            OdfTurn::new(order, linear, false),
            OdfTurn::new(order, linear, true),
        );
        let moved = plain.apply(&lobe);
        let (_, found) = maximum(&moved);
        let expected = (linear * u).normalize();
        let off = found.dot(expected).abs().min(1.0).acos().to_degrees();
        // The middle of a lobe of finite width moves a little less or more: 1.4 degrees at most in 40 draws.
        assert!(off < 3.0, "{off} degrees");
        // The amount of fibres, c_00, is kept; or it changes with the factor of the direction, which the width of a lobe
        // changes by 1.6 % at most in 40 draws.
        assert!((moved[0] - lobe[0]).abs() < 1e-9);
        let factor = (linear * u).length() / linear.determinant().abs();
        let changed = dense.apply(&lobe)[0] / lobe[0];
        assert!(
            (changed / factor - 1.0).abs() < 0.05,
            "{changed} and {factor}"
        );
    }
    // A larger image has fewer fibres through each square millimetre.
    let twice = OdfTurn::new(order, DMat3::from_diagonal(DVec3::splat(2.0)), true);
    let lobe = evaluate(order, random.direction());
    let quarter: Vec<f64> = lobe.iter().map(|c| c / 4.0).collect();
    assert!(worst(&twice.apply(&lobe), &quarter) < 1e-9);
}

/// Opening with an affine is the same as opening and turning; peaks of the same fibres follow.
fn moved() {
    let mut random = Random::fresh("odf moved");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let grid = odd_grid(&mut random);
    let directions: Vec<DVec3> = (0..grid.voxel_count())
        .map(|_| random.direction())
        .collect();
    let lobes: Vec<Vec<f64>> = directions.iter().map(|u| evaluate(8, *u)).collect();
    let peaks: Vec<Vec<f64>> = directions
        .iter()
        .map(|u| (0.5 * *u).to_array().to_vec())
        .collect();
    let control = Control::new();
    for ending in ["mif", "nii.gz"] {
        let at = |name: &str| here.join(format!("{name}.{ending}"));
        image::save_volume(&at("wmfod"), &image_of(&grid, &lobes), "", &control).expect("saved");
        image::save_volume(&at("peaks"), &image_of(&grid, &peaks), "", &control).expect("saved");
        let turn = DMat3::from_quat(random.rotation());
        let by = DAffine3::from_mat3_translation(turn, DVec3::new(4.0, -9.0, 2.0));
        let reading = AffineReading::matrix(by);
        let odf = orientations::open_odf(&at("wmfod"), OdfLayout::MRTRIX, Some(&reading), &control);
        let odf = odf.expect("distributions");
        assert_eq!(odf.tissue, Some(Tissue::WhiteMatter));
        assert!(
            odf.notes.iter().any(|n| n.contains("turned")),
            "{:?}",
            odf.notes
        );
        assert_eq!(odf.warnings, Vec::<String>::new());
        let found =
            orientations::open_peaks(&at("peaks"), Some(&reading), &control).expect("peaks");
        let moved = grid.moved(by).expect("regular");
        assert!(
            odf.field.grid.same_space(&moved, 1e-3) && found.field.grid.same_space(&moved, 1e-3)
        );
        for (voxel, u) in directions.iter().enumerate() {
            near(
                &odf.field.coefficients_at(voxel),
                &evaluate(8, turn * *u),
                1e-5,
                ending,
            );
            let peak = found.field.peak(voxel, 0).expect("a peak");
            assert!(peak.distance(turn * *u * 0.5) < 1e-6);
        }
    }
}

fn peaks() {
    let mut random = Random::fresh("peaks");
    let grid = odd_grid(&mut random);
    let n = grid.voxel_count();
    let mut values: Vec<f32> = (0..9 * n).map(|_| random.normal() as f32).collect();
    // One peak in the first voxel, none in the second.
    for part in 3..9 {
        values[part * n] = f32::NAN;
    }
    for part in 0..9 {
        values[part * n + 1] = 0.0;
    }
    let volume = Volume::new(grid.clone(), 9, VolumeKind::Scalar, values.clone());
    let field = PeakField::from_volume(&volume).expect("peaks");
    assert_eq!(field.count(), 3);
    assert_eq!([0, 1, 2].map(|voxel| field.peaks(voxel).count()), [1, 0, 3]);
    let second = field.peak(2, 1).expect("a peak");
    let expected = [3, 4, 5].map(|part| f64::from(values[part * n + 2]));
    assert_eq!(second.to_array(), expected);
    // They stretch with the space, and absent ones stay absent.
    let linear = DMat3::from_diagonal(DVec3::new(2.0, 1.0, 1.0));
    let turned = field.turned(grid.clone(), linear, false);
    assert_eq!(
        [0, 1, 2].map(|voxel| turned.peaks(voxel).count()),
        [1, 0, 3]
    );
    let found = turned.peak(2, 1).expect("a peak");
    assert!((found.length() - second.length()).abs() < 1e-5);
    assert!(found.normalize().distance((linear * second).normalize()) < 1e-5);
    let volume = Volume::new(grid.clone(), 4, VolumeKind::Scalar, vec![0.0; 4 * n]);
    assert!(PeakField::from_volume(&volume).is_none());
}

/// FSL's directions are in the axes of its bvec, with the fractions in adjacent files.
fn dyads() {
    let mut random = Random::fresh("dyads");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let control = Control::new();
    for _ in 0..6 {
        let grid = odd_grid(&mut random);
        let image_from_world = world_from_fsl(&grid).transpose();
        let n = grid.voxel_count();
        let mut expected = Vec::new();
        for number in 1..=2 {
            let directions: Vec<DVec3> = (0..n).map(|_| random.direction()).collect();
            let fractions: Vec<f32> = (0..n).map(|_| random.uniform(0.1, 0.9) as f32).collect();
            let stored: Vec<Vec<f64>> = directions
                .iter()
                .map(|u| (image_from_world * *u).to_array().to_vec())
                .collect();
            let save = |name: String, volume: &Volume| {
                image::save_volume(&here.join(name), volume, "", &control).expect("saved");
            };
            save(format!("s_dyads{number}.nii.gz"), &image_of(&grid, &stored));
            let fraction = Volume::scalar(grid.clone(), fractions.clone());
            save(format!("s_mean_f{number}samples.nii.gz"), &fraction);
            expected.push((directions, fractions));
        }
        let found = orientations::open_peaks(&here.join("s_dyads1.nii.gz"), None, &control);
        let found = found.expect("peaks");
        assert_eq!((found.field.count(), found.files.len()), (2, 4));
        for voxel in 0..n {
            for (i, (directions, fractions)) in expected.iter().enumerate() {
                let peak = found.field.peak(voxel, i).expect("a peak");
                let expected = directions[voxel] * f64::from(fractions[voxel]);
                assert!(peak.distance(expected) < 1e-5, "{peak} and {expected}");
            }
        }
    }
    std::fs::remove_file(here.join("s_mean_f2samples.nii.gz")).expect("removed");
    let error = orientations::open_peaks(&here.join("s_dyads1.nii.gz"), None, &control);
    let text = sentence(&error.expect_err("no fractions"));
    let parts = [
        "without their fractions",
        "s_mean_f2samples.nii.gz",
        "bedpostx",
    ];
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
}

/// Amplitudes with directions as numbers of a table or as vectors, in axes to the left, back and top.
fn dsi_studio() {
    let mut random = Random::fresh("DSI Studio");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.fib.gz");
    let vertices: Vec<DVec3> = (0..20).map(|_| random.direction()).collect();
    let table: Vec<f64> = vertices.iter().flat_map(|v| v.to_array()).collect();
    let n = 24;
    let amplitudes: [Vec<f64>; 2] = [0.5, 0.2].map(|most| {
        (0..n)
            .map(|i| if i % 5 == 0 { 0.0 } else { most })
            .collect()
    });
    let numbers: Vec<f64> = (0..n).map(|_| (random.bits() % 20) as f64).collect();
    let vectors: Vec<DVec3> = (0..n).map(|_| random.direction()).collect();
    let flat: Vec<f64> = vectors.iter().flat_map(|v| v.to_array()).collect();
    let trans = [
        -2.0, 0.0, 0.0, 9.0, 0.0, -2.0, 0.0, 8.0, 0.0, 0.0, 3.0, -7.0, 0.0, 0.0, 0.0, 1.0,
    ];
    let sizes: [&[f64]; 2] = [&[2.0, 3.0, 4.0], &[2.0, 2.0, 3.0]];
    let mut matrices: Vec<(&str, &[f64])> = vec![
        ("dimension", sizes[0]),
        ("voxel_size", sizes[1]),
        ("odf_vertices", &table),
        ("fa0", &amplitudes[0]),
        ("index0", &numbers),
        ("fa1", &amplitudes[1]),
        ("dir1", &flat),
    ];
    let write = |matrices: &[(&str, &[f64])]| {
        std::fs::write(&path, gzip(&matlab(matrices, true))).expect("written");
        orientations::open_peaks(&path, None, &Control::new())
    };
    let flip = |v: DVec3| DVec3::new(-v.x, -v.y, v.z);
    for placed in [false, true] {
        if placed {
            matrices.push(("trans", &trans));
        }
        let found = write(&matrices).expect("peaks");
        assert_eq!(
            (found.field.count(), found.warnings.len()),
            (2, usize::from(!placed))
        );
        let corner = found.field.grid.world(DVec3::ZERO);
        let expected = if placed {
            DVec3::new(9.0, 8.0, -7.0)
        } else {
            DVec3::new(1.0, 2.0, -4.5)
        };
        assert!(corner.distance(expected) < 1e-9, "{corner}");
        for voxel in 0..n {
            let peaks: Vec<DVec3> = found.field.peaks(voxel).collect();
            if voxel % 5 == 0 {
                assert!(peaks.is_empty());
                continue;
            }
            let first = flip(vertices[numbers[voxel] as usize]) * 0.5;
            assert!(
                peaks[0].distance(first) < 1e-6
                    && peaks[1].distance(flip(vectors[voxel]) * 0.2) < 1e-6
            );
        }
    }
    for (name, reason) in [
        ("fa0", "no matrix fa0"),
        ("dimension", "no dimension"),
        ("odf_vertices", "one of 0 in odf_vertices"),
        ("index0", "0 numbers in index0"),
    ] {
        let rest: Vec<(&str, &[f64])> = matrices
            .iter()
            .copied()
            .filter(|(n, _)| *n != name)
            .collect();
        let text = sentence(&write(&rest).expect_err(reason));
        assert!(text.contains(reason), "{text}");
    }
}

/// DIPY's four bases, in world axes, and MRtrix's are the same functions.
fn dipy(folder: PathBuf) {
    let control = Control::new();
    let open = |name: &str, basis| {
        let layout = OdfLayout {
            basis,
            frame: TensorFrame::World,
        };
        let path = folder.join(format!("wm_{name}.nii.gz"));
        orientations::open_odf(&path, layout, None, &control).unwrap_or_else(|e| panic!("{e}"))
    };
    let expected = open("mrtrix", Basis::MRtrix);
    assert_eq!(expected.field.order(), 8);
    assert_eq!(expected.warnings, Vec::<String>::new());
    let peak = expected
        .field
        .coefficients
        .iter()
        .fold(0f32, |m, c| m.max(c.abs()));
    for (name, basis) in [
        ("tournier07_new", Basis::MRtrix),
        ("tournier07_legacy", Basis::MRtrixLegacy),
        ("descoteaux07_new", Basis::Dipy),
        ("descoteaux07_legacy", Basis::DipyLegacy),
    ] {
        let found = open(name, basis);
        let pairs = found
            .field
            .coefficients
            .iter()
            .zip(expected.field.coefficients.iter());
        let off = pairs.map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
        assert!(off <= 2e-6 * peak, "{name}: {off} of {peak}");
    }
}

/// The functions differ under any other reading of the basis: a test that must be able to fail.
fn wrong_basis(folder: PathBuf) {
    let path = folder.join("wm_descoteaux07_legacy.nii.gz");
    let control = Control::new();
    let open = |basis| {
        let layout = OdfLayout {
            basis,
            frame: TensorFrame::World,
        };
        let opened = orientations::open_odf(&path, layout, None, &control);
        opened.expect("distributions").field
    };
    let right = open(Basis::DipyLegacy);
    for basis in Basis::ALL.into_iter().filter(|b| *b != Basis::DipyLegacy) {
        let faulty = open(basis);
        let pairs = right.coefficients.iter().zip(faulty.coefficients.iter());
        let off = pairs.map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
        assert!(off > 0.01, "{basis:?}");
    }
}

/// MRtrix's distributions and peaks: a peak lies at a maximum of the distribution, and has its amplitude.
fn real_files(path: PathBuf) {
    let control = Control::new();
    let layout = orientations::implied_layout(&path).expect("MRtrix's");
    let odf = orientations::open_odf(&path, layout, None, &control).expect("distributions");
    let peaks = orientations::open_peaks(&path.with_file_name("peaks.mif"), None, &control);
    let peaks = peaks.expect("peaks").field;
    assert_eq!((odf.field.order(), peaks.count()), (8, 3));
    assert!(peaks.grid.matches(&odf.field.grid));
    let (mut compared, mut off) = (0, 0);
    for voxel in 0..peaks.grid.voxel_count() {
        let Some(peak) = peaks.peak(voxel, 0) else {
            continue;
        };
        let functions = evaluate(8, peak.normalize());
        let c = odf.field.coefficients_at(voxel);
        let value: f64 = functions.iter().zip(&c).map(|(y, c)| y * c).sum();
        compared += 1;
        off += usize::from((value - peak.length()).abs() > 1e-3 * value.abs());
    }
    assert!(compared > 300 && off == 0, "{off} of {compared}");
    let field = OdfField::new(odf.field.grid.clone(), 8, odf.field.coefficients.clone());
    assert!(field.implausible_share() < 0.25);
    let (volume, _) = opened(&path);
    assert_eq!(volume.values, odf.field.coefficients);
}
