//! NIfTI: reading against external results and closed forms, writing against another reader.

use super::sentence;
use crate::support::composed_nifti::{ComposedNifti, TYPES, put, random_affine};
use crate::support::{Random, data_test, test};
use ::nifti::{IntoNdArray as _, NiftiObject as _, ReaderOptions};
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid, Mask, Volume, VolumeKind};
use arcuate::io::{self, Error, SpaceInfo, nifti};
use glam::{DAffine3, DMat3, DQuat, DVec3};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let conformance = "nifti_conformance/expected.json";
    vec![
        data_test("io::images::conformance", conformance, conforms),
        data_test(
            "io::images::same_head_in_five_orders",
            conformance,
            five_orders,
        ),
        data_test(
            "io::images::what_the_list_leaves_out",
            conformance,
            not_listed,
        ),
        data_test("io::images::truncated_is_refused", conformance, truncated),
        test("io::images::every_type_order_and_affine", every_type),
        test("io::images::sform_then_qform_then_sizes", which_affine),
        test("io::images::quaternions_are_rotations", quaternions),
        test("io::images::units_become_millimetres", units),
        test("io::images::large_integers_are_announced", large_integers),
        test("io::images::written_is_read_by_another", another_reader),
        test(
            "io::images::unknown_sides_stay_unknown",
            unknown_stays_unknown,
        ),
        test("io::images::colours_and_masks_return", colours_and_masks),
        test("io::images::the_space_is_kept", space_is_kept),
        test("io::images::the_command_is_kept", command_is_kept),
        test("io::images::progress_and_cancel", progress_and_cancel),
    ]
}

fn read(path: &Path) -> (Volume, SpaceInfo) {
    nifti::read(path, &Control::new()).unwrap_or_else(|e| panic!("{e}"))
}

fn at(volume: &Volume, voxel: [usize; 3]) -> f64 {
    f64::from(volume.values[volume.grid.index(voxel)])
}

/// Largest difference between two affines' entries, mm.
fn off(a: &DAffine3, b: &DAffine3) -> f64 {
    let (a, b) = (a.to_cols_array(), b.to_cols_array());
    a.iter()
        .zip(b)
        .fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
}

fn conforms(list: PathBuf) {
    let text = std::fs::read_to_string(&list).expect("readable");
    let expected: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let files = expected.as_object().expect("a list of files");
    assert!(files.len() >= 19, "the list has shrunk");
    for (name, e) in files {
        let (volume, _) = read(&list.with_file_name(name));
        let shape: Vec<usize> = serde_json::from_value(e["shape"].clone()).expect("a shape");
        assert_eq!(volume.grid.shape.as_slice(), shape, "{name}");
        let rows: [[f64; 4]; 4] = serde_json::from_value(e["affine"].clone()).expect("an affine");
        let columns = [0, 1, 2, 3].map(|c| DVec3::new(rows[0][c], rows[1][c], rows[2][c]));
        let affine = DAffine3::from_cols(columns[0], columns[1], columns[2], columns[3]);
        // The list has six decimals; a float32 near 122 mm has steps of 8e-6.
        let difference = off(&volume.grid.world_from_voxel, &affine);
        assert!(difference < 1e-5, "{name}: affine off by {difference}");
        assert_eq!(e["axcodes"], volume.grid.orientation(), "{name}");
        let n = volume.values.len() as f64;
        let mean = volume.values.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
        let close = |what: &str, found: f64| {
            let requested = e[what].as_f64().expect("a number");
            // Each value is rounded to float32 once.
            assert!(
                (found - requested).abs() <= 1e-7 * requested.abs(),
                "{name} {what}: {found}"
            );
        };
        close("mean", mean);
        close("max", f64::from(volume.range(0).1));
        close("voxel_20_30_18", at(&volume, [20, 30, 18]));
    }
}

fn five_orders(list: PathBuf) {
    let mut random = Random::fresh("five_orders");
    let read = |axes: &str| read(&list.with_file_name(format!("axes_{axes}.nii.gz"))).0;
    let ras = read("RAS");
    for axes in ["LPS", "PSR", "SLA", "IPL"] {
        let other = read(axes);
        assert_eq!(other.grid.orientation(), axes);
        for _ in 0..2_000 {
            let index = (random.bits() % ras.values.len() as u64) as usize;
            let centre = DVec3::from_array(ras.grid.voxel(index).map(|v| v as f64));
            // Inside the voxel, a tenth away from its faces so that rounding has no effect.
            let jitter = DVec3::from_array([0; 3].map(|_| random.uniform(-0.4, 0.4)));
            let world = ras.grid.world(centre + jitter);
            assert_eq!(
                other.nearest(0, world),
                Some(ras.values[index]),
                "{axes} at {world}"
            );
        }
    }
}

fn not_listed(list: PathBuf) {
    let file = |name: &str| list.with_file_name(name);
    let known = [
        ("nibabel_anatomical.nii", [33, 41, 25], 1),
        ("nibabel_functional.nii", [17, 21, 3], 20),
        ("nibabel_example4d.nii.gz", [128, 96, 24], 2),
        ("nibabel_example_nifti2.nii.gz", [32, 20, 12], 2),
    ];
    for (name, shape, frames) in known {
        let (volume, _) = read(&file(name));
        assert_eq!(
            (volume.grid.shape, volume.frames),
            (shape, frames),
            "{name}"
        );
    }
    // The pair by its other name.
    let (header, image) = (read(&file("pair_i16.hdr")), read(&file("pair_i16.img")));
    assert_eq!(header.0.values, image.0.values);
    // NaN and infinities are kept unchanged.
    let (odd, _) = read(&file("f32_nan_inf.nii.gz"));
    assert!(odd.values.iter().any(|v| v.is_nan()));
    assert!(odd.values.contains(&f32::INFINITY));
    assert!(odd.range(0).1.is_finite());
    // Colours, against the bytes themselves.
    let packed = std::fs::read(file("rgb24.nii.gz")).expect("readable");
    let mut bytes = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(packed.as_slice());
    std::io::Read::read_to_end(&mut decoder, &mut bytes).expect("gzip");
    let (colour, _) = read(&file("rgb24.nii.gz"));
    assert_eq!((colour.kind, colour.frames), (VolumeKind::Rgb, 3));
    let stored = &bytes[bytes.len() - 3 * colour.grid.voxel_count()..];
    for (i, rgb) in stored.chunks_exact(3).enumerate() {
        let read = [0, 1, 2].map(|c| colour.frame(c)[i]);
        assert_eq!(read, [rgb[0], rgb[1], rgb[2]].map(|v| f32::from(v) / 255.0));
    }
    for (name, name_in_error) in [
        ("nibabel_analyze.hdr", "Analyze 7.5"),
        ("nibabel_nifti1.hdr", "nibabel_nifti1.img"),
        ("nibabel_nifti2.hdr", "nibabel_nifti2.img"),
    ] {
        let error = nifti::read(&file(name), &Control::new()).expect_err("has no image");
        assert!(sentence(&error).contains(name_in_error), "{error}");
    }
}

fn truncated(list: PathBuf) {
    let path = list.with_file_name("truncated.nii");
    let error = io::open(&path, &Control::new()).expect_err("it is cut off");
    let expected = Error::Short {
        path,
        found_bytes: 164_016,
        expected_bytes: 328_032,
    };
    assert_eq!(error, expected);
    assert!(sentence(&error).contains("164016 of the 328032 bytes"));
}

/// One number as bytes of a type, and the value that a float32 should have.
fn encoded(code: i16, big_endian: bool, random: &mut Random) -> (Vec<u8>, f64) {
    let bits = random.bits();
    macro_rules! number {
        ($v:expr) => {{
            let v = $v;
            let bytes = if big_endian {
                v.to_be_bytes()
            } else {
                v.to_le_bytes()
            };
            (bytes.to_vec(), v as f64)
        }};
    }
    match code {
        2 => number!(bits as u8),
        256 => number!(bits as i8),
        4 => number!(bits as i16),
        512 => number!(bits as u16),
        8 => number!(bits as i32),
        768 => number!(bits as u32),
        1024 => number!(bits as i64),
        1280 => number!(bits),
        16 => number!(random.normal() as f32 * 1e3),
        64 => number!(random.normal() * 1e3),
        _ => unreachable!("not in the table"),
    }
}

fn every_type() {
    let mut random = Random::fresh("every_type");
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (code, size, name) in TYPES {
        for variant in 0..16 {
            let mut composed = ComposedNifti::ramp(1 + (variant & 1) as u8);
            composed.big_endian = variant & 2 != 0;
            composed.single_file = variant & 4 != 0;
            let packed = variant & 8 != 0;
            let sides = [0; 4].map(|_| 1 + (random.bits() % 6) as usize);
            composed.dim = [
                4,
                sides[0] as i64,
                sides[1] as i64,
                sides[2] as i64,
                sides[3] as i64,
                1,
                1,
                1,
            ];
            (composed.datatype, composed.bitpix) = (code, 8 * size as i16);
            if random.bits() & 1 == 0 {
                composed.slope = random.uniform(-3.0, 3.0);
                composed.inter = random.uniform(-50.0, 50.0);
            }
            // Extra bytes before the voxels, as extensions leave them.
            composed.vox_offset += 16.0 * (random.bits() % 3) as f64;
            if !composed.single_file {
                composed.vox_offset = (random.bits() % 40) as f64;
            }
            let affine = random_affine(&mut random, variant & 1 == 0);
            composed.set_affine(affine);
            let count: usize = sides.iter().product();
            let (voxels, numbers): (Vec<_>, Vec<_>) = (0..count)
                .map(|_| encoded(code, composed.big_endian, &mut random))
                .unzip();
            composed.voxels = voxels.concat();
            let ending = match (composed.single_file, packed) {
                (true, true) => "nii.gz",
                (true, false) => "nii",
                (false, true) => "hdr.gz",
                (false, false) => "hdr",
            };
            let path = folder.path().join(format!("{name}_{variant}.{ending}"));
            composed.write(&path);

            let (volume, info) = read(&path);
            let case = format!("{name} {composed:?}");
            assert_eq!(volume.grid.shape, [sides[0], sides[1], sides[2]], "{case}");
            assert_eq!((volume.frames, info.stored_as), (sides[3], name), "{case}");
            // Version 1 stores float32: steps of 1.6e-5 beyond 128 mm.
            let tolerance = if composed.version == 1 { 2e-5 } else { 1e-12 };
            assert!(
                off(&volume.grid.world_from_voxel, &affine) < tolerance,
                "{case}"
            );
            // Version 1 stores slope and intercept as float32, too.
            let stored = |v: f64| {
                if composed.version == 1 {
                    f64::from(v as f32)
                } else {
                    v
                }
            };
            for (&found, number) in volume.values.iter().zip(numbers) {
                let requested = (number * stored(composed.slope) + stored(composed.inter)) as f32;
                assert_eq!(found.to_bits(), requested.to_bits(), "{case}");
            }
        }
    }
}

fn which_affine() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii");
    let opened = |composed: &ComposedNifti| {
        composed.write(&path);
        read(&path)
    };
    // Both, 30 mm apart along x: the sform is used and the difference reported.
    let mut composed = ComposedNifti::ramp(1);
    composed.qform_code = 1;
    composed.qoffset = [34.0, -7.0, 11.0];
    composed.quatern = [0.0, 1.0, 0.0];
    composed.pixdim[0] = -1.0;
    let (volume, info) = opened(&composed);
    assert_eq!(volume.grid.source, AffineSource::Sform);
    assert_eq!(volume.grid.world(DVec3::ZERO), DVec3::new(4.0, -7.0, 11.0));
    let distance = info.sform_qform_disagree_mm.expect("they differ");
    assert!((distance - 30.0).abs() < 1e-4, "{distance}");
    assert!(
        info.warnings
            .iter()
            .any(|w| w.contains("the sform was used")),
        "{info:?}"
    );
    // Both, equal up to rounding: no remark. A half turn about y, then the third axis mirrored, is diag(-1, 1, 1).
    composed.qoffset = [4.0, -7.0, 11.0];
    let (_, info) = opened(&composed);
    assert_eq!(
        (info.sform_qform_disagree_mm, info.warnings),
        (None, Vec::new())
    );
    // The qform alone gives the same grid.
    composed.sform_code = 0;
    let (alone, info) = opened(&composed);
    assert_eq!(alone.grid.source, AffineSource::Qform);
    assert!(off(&alone.grid.world_from_voxel, &volume.grid.world_from_voxel) < 1e-6);
    assert!(info.warnings.is_empty());
    // Neither: the centre at 0, x increasing to the right, with a remark.
    composed.qform_code = 0;
    let (sizes, info) = opened(&composed);
    assert_eq!(sizes.grid.source, AffineSource::Pixdim);
    assert_eq!(sizes.grid.spacing(), DVec3::new(2.0, 2.5, 3.0));
    assert!(sizes.grid.centre().length() < 1e-12);
    assert_eq!(sizes.grid.orientation(), "RAS");
    assert!(
        info.warnings
            .iter()
            .any(|w| w.contains("left and right are unknown"))
    );
    // A code below 0 counts as not set.
    composed.sform_code = -1;
    assert_eq!(opened(&composed).0.grid.source, AffineSource::Pixdim);
}

/// Random rotations through the quaternion fields, both handednesses; including half turns, where rounding makes the
/// stored part longer than 1.
fn quaternions() {
    let mut random = Random::fresh("quaternions");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii");
    for i in 0..300 {
        let mut q = random.rotation();
        if i % 3 == 0 {
            q = DQuat::from_axis_angle(random.direction(), std::f64::consts::PI);
        }
        let q = if q.w < 0.0 { -q } else { q };
        let mut composed = ComposedNifti::ramp(1);
        composed.sform_code = 0;
        composed.qform_code = 2;
        composed.pixdim[0] = if i % 2 == 0 { -1.0 } else { 0.0 };
        composed.quatern = [q.x, q.y, q.z];
        composed.qoffset = [5.0, -6.0, 70.0];
        composed.write(&path);
        let handed = if i % 2 == 0 { -1.0 } else { 1.0 };
        let matrix = DMat3::from_quat(q) * DMat3::from_diagonal(DVec3::new(2.0, 2.5, 3.0 * handed));
        let requested = DAffine3::from_mat3_translation(matrix, DVec3::new(5.0, -6.0, 70.0));
        // w comes from 1 - b² - c² - d², of which float32 loses 4e-7 by rounding near a half turn: its root, 6e-4,
        // times an edge of 3 mm, twice. Half turns themselves are exact.
        let tolerance = if q.w > 0.1 || i % 3 == 0 { 1e-5 } else { 4e-3 };
        let found = read(&path).0.grid.world_from_voxel;
        assert!(
            off(&found, &requested) < tolerance,
            "{q}: {}",
            off(&found, &requested)
        );
    }
}

fn units() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii");
    for (code, factor, edge) in [
        (1, 1000.0, 0.002),
        (3, 0.001, 700.0),
        (2, 1.0, 2.0),
        (0, 1.0, 2.0),
    ] {
        let mut composed = ComposedNifti::ramp(2);
        composed.units = code;
        composed.set_affine(DAffine3::from_scale(DVec3::splat(edge)));
        composed.write(&path);
        let (volume, info) = read(&path);
        let found = volume.grid.spacing().x;
        assert!(
            (found - factor * edge).abs() < 1e-12 * found,
            "{code}: {found}"
        );
        assert_eq!(info.notes.len(), usize::from(factor != 1.0), "{info:?}");
        assert!(info.warnings.is_empty(), "{info:?}");
    }
    // A voxel of two metres is an error in the header.
    let mut composed = ComposedNifti::ramp(2);
    composed.units = 1;
    composed.write(&path);
    let (volume, info) = read(&path);
    assert_eq!(volume.grid.spacing(), DVec3::new(2.0, 2.5, 3.0));
    assert!(info.warnings[0].contains("mm was assumed"), "{info:?}");
}

fn large_integers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii");
    for (largest, rounded) in [
        (16_777_215i32, false),
        // Rounded to 2²⁴.
        (16_777_217, true),
        (16_777_219, true),
        (-16_777_300, true),
    ] {
        let mut composed = ComposedNifti::ramp(1);
        (composed.datatype, composed.bitpix) = (8, 32);
        composed.voxels = (0..24)
            .map(|i| largest * i32::from(i == 7))
            .flat_map(i32::to_le_bytes)
            .collect();
        composed.write(&path);
        let is_reported = read(&path).1.warnings.iter().any(|w| w.contains("rounded"));
        assert_eq!(is_reported, rounded, "{largest}");
    }
}

fn another_reader() {
    let mut random = Random::fresh("another_reader");
    let folder = tempfile::tempdir().expect("a temporary folder");
    for i in 0..40 {
        let sheared = i % 4 == 3;
        let shape = [0; 3].map(|_| 1 + (random.bits() % 7) as usize);
        let frames = 1 + i % 3;
        let affine = random_affine(&mut random, sheared);
        let grid = Arc::new(Grid::new(shape, affine, AffineSource::Computed).expect("regular"));
        let count = frames * grid.voxel_count();
        let mut values: Vec<f32> = (0..count).map(|_| random.normal() as f32).collect();
        values[0] = [f32::NAN, f32::INFINITY, -0.0, 1e-42][i % 4];
        let volume = Volume::new(grid.clone(), frames, VolumeKind::Scalar, values.clone());
        let path = folder
            .path()
            .join(format!("{i}.{}", ["nii", "nii.gz"][i / 2 % 2]));
        nifti::save_volume(&path, &volume, "arcuate test", &Control::new()).expect("saved");

        // The crate's own reader: header, byte order and voxels.
        let object = ReaderOptions::new()
            .read_file(&path)
            .expect("the crate reads it");
        let header = object.header().clone();
        assert_eq!(
            (header.datatype, header.bitpix, header.vox_offset),
            (16, 32, 352.0)
        );
        let rows = [header.srow_x, header.srow_y, header.srow_z];
        for (row, found) in rows.iter().enumerate() {
            let requested = [0, 1, 2].map(|c| affine.matrix3.col(c)[row] as f32);
            assert_eq!(
                (&found[..3], found[3]),
                (&requested[..], affine.translation[row] as f32)
            );
        }
        let array = object
            .into_volume()
            .into_ndarray::<f32>()
            .expect("an array");
        for (index, &value) in values.iter().enumerate() {
            let [x, y, z] = grid.voxel(index % grid.voxel_count());
            let place = [x, y, z, index / grid.voxel_count()];
            let found = array[&place[..array.ndim()]];
            // The crate multiplies by the slope 1, which may cost a zero its sign.
            assert!(found == value || found.is_nan() && value.is_nan());
        }

        // Without the sform the qform must give the same; a sheared grid must have none.
        assert_eq!(
            (header.sform_code, header.qform_code),
            (1, i16::from(!sheared))
        );
        let mut bytes = plain_bytes(&path);
        bytes[254] = 0;
        let alone = folder.path().join("alone.nii");
        put(&alone, &bytes);
        let (reread, _) = read(&alone);
        if sheared {
            assert_eq!(reread.grid.source, AffineSource::Pixdim);
        } else {
            assert_eq!(reread.grid.source, AffineSource::Qform);
            // A rotation close to a half turn loses half the digits, as in `quaternions`; over 7 voxels.
            assert!(reread.grid.same_space(&grid, 0.02), "{affine:?}");
        }
    }
}

fn plain_bytes(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).expect("readable");
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let mut plain = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(bytes.as_slice());
    std::io::Read::read_to_end(&mut decoder, &mut plain).expect("gzip");
    plain
}

fn unknown_stays_unknown() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (first, second) = (folder.path().join("a.nii"), folder.path().join("b.nii.gz"));
    let mut composed = ComposedNifti::ramp(1);
    composed.sform_code = 0;
    composed.write(&first);
    let (volume, _) = read(&first);
    nifti::save_volume(&second, &volume, "", &Control::new()).expect("saved");
    let (reread, info) = read(&second);
    assert_eq!(reread.grid, volume.grid);
    assert_eq!((info.sform_code, info.qform_code), (0, 0));
}

/// An image in a template space is written as such.
fn space_is_kept() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (first, second) = (folder.path().join("a.nii"), folder.path().join("b.nii.gz"));
    for (sform, qform, code) in [(4, 0, 4), (3, 1, 3), (0, 2, 2), (1, 4, 1)] {
        let mut composed = ComposedNifti::ramp(1);
        (composed.sform_code, composed.qform_code) = (sform, qform);
        composed.write(&first);
        let (volume, _) = read(&first);
        nifti::save_volume(&second, &volume, "", &Control::new()).expect("saved");
        let (_, info) = read(&second);
        assert_eq!((info.sform_code, info.qform_code), (code, code));
    }
    let grid = Grid::axis_aligned([2, 2, 2], DVec3::ONE, DVec3::ZERO).expect("regular");
    let computed = Volume::scalar(Arc::new(grid), vec![1.0; 8]);
    nifti::save_volume(&second, &computed, "", &Control::new()).expect("saved");
    assert_eq!(read(&second).1.space, "scanner");
}

fn colours_and_masks() {
    let mut random = Random::fresh("colours_and_masks");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii.gz");
    let affine = random_affine(&mut random, false);
    let grid = Arc::new(Grid::new([5, 4, 3], affine, AffineSource::Computed).expect("regular"));
    let shares: Vec<f32> = (0..180).map(|_| random.uniform(-0.1, 1.1) as f32).collect();
    let colours = Volume::new(grid.clone(), 3, VolumeKind::Rgb, shares.clone());
    nifti::save_volume(&path, &colours, "", &Control::new()).expect("saved");
    let (found, info) = read(&path);
    assert_eq!((found.kind, info.stored_as), (VolumeKind::Rgb, "RGB24"));
    for (found, share) in found.values.iter().zip(shares) {
        // Half of one of 255 steps.
        assert!((found - share.clamp(0.0, 1.0)).abs() < 0.5001 / 255.0);
    }
    let inside: Vec<u8> = (0..60).map(|_| (random.bits() & 1) as u8).collect();
    let mask = Mask::new(grid.clone(), inside.clone());
    nifti::save_mask(&path, &mask, "", &Control::new()).expect("saved");
    assert_eq!(read(&path).1.stored_as, "uint8");
    assert_eq!(
        *io::mask(&path, &grid).expect("a mask").0.inside,
        inside[..]
    );
}

fn command_is_kept() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii");
    let grid = Arc::new(Grid::axis_aligned([2, 2, 2], DVec3::ONE, DVec3::ZERO).expect("regular"));
    let volume = Volume::scalar(grid, vec![1.0; 8]);
    // Below, at and above the 79 bytes of the field, with characters of two bytes at the cut.
    for length in [0, 1, 78, 79, 80, 81, 95, 96, 500] {
        let command: String = "arcuate fit ä-µ ".chars().cycle().take(length).collect();
        nifti::save_volume(&path, &volume, &command, &Control::new()).expect("saved");
        let expected = match command.trim() {
            "" => io::DISCLAIMER.to_owned(),
            composed => format!("{}; {composed}", io::DISCLAIMER),
        };
        assert_eq!(read(&path).1.description, expected);
        // Readers that ignore extensions find the voxels.
        let object = ReaderOptions::new()
            .read_file(&path)
            .expect("the crate reads it");
        let array = object
            .into_volume()
            .into_ndarray::<f32>()
            .expect("an array");
        assert!(array.iter().all(|&v| v == 1.0) && array.len() == 8);
    }
}

fn progress_and_cancel() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii.gz");
    ComposedNifti::ramp(1).write(&path);
    let control = Control::new();
    nifti::read(&path, &control).expect("valid");
    let progress = control.progress();
    assert_eq!(
        progress.total,
        std::fs::metadata(&path).expect("found").len()
    );
    assert_eq!(progress.fraction(), Some(1.0), "{progress:?}");
    control.cancel();
    assert_eq!(io::open(&path, &control).err(), Some(Error::Cancelled));
}
