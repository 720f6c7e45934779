//! Converted images keep the type and every bit of their values, and their slope and intercept; losses in the output
//! are reported.

use super::peers::{imports, not_run, python};
use crate::support::composed_nifti::gzip;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::io::convert::{self, Converted};
use arcuate::io::{Error, Reading};
use flate2::read::MultiGzDecoder;
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

pub fn tests() -> Vec<Trial> {
    let reads = "io::conversion::nibabel_reads_the_same";
    vec![
        test("io::conversion::every_type_bit_for_bit", every_type),
        test("io::conversion::slope_and_intercept", slopes),
        test("io::conversion::colours_and_further_axes", colours_and_axes),
        test("io::conversion::labels_beyond_single_precision", labels),
        match imports("nibabel") {
            true => test(reads, nibabel_reads_the_same),
            false => not_run(reads, "nibabel"),
        },
    ]
}

pub fn go(folder: &Path, from: &str, to: &str) -> Converted {
    convert_with_reading(folder, from, to, &Reading::default(), false)
        .unwrap_or_else(|e| panic!("{from}: {e}"))
}

pub fn convert_with_reading(
    folder: &Path,
    from: &str,
    to: &str,
    reported: &Reading,
    replace: bool,
) -> Result<Converted, Error> {
    let (from, to) = (folder.join(from), folder.join(to));
    let plan = convert::plan(&from, &to, None, reported, &Control::new())?;
    plan.write(replace, "x", &Control::new())
}

/// NIfTI's code of a type, its bytes, and unusual numbers of that type.
pub fn types() -> Vec<(&'static str, i16, usize, Vec<u8>)> {
    macro_rules! row {
        ($name:literal, $code:literal, $number:ty, $($value:expr),*) => {{
            let values: [$number; 8] = [$($value),*];
            let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            ($name, $code, size_of::<$number>(), bytes)
        }};
    }
    let nan = f64::from_bits(0x7ff8_0000_dead_beef);
    vec![
        row!("uint8", 2, u8, 0, 1, 2, 127, 128, 254, 255, 7),
        row!("int8", 256, i8, 0, 1, -1, 127, -128, -127, 5, 7),
        row!("int16", 4, i16, 0, 1, -1, 32767, -32768, 4, 5, 7),
        row!("uint16", 512, u16, 0, 1, 2, 32767, 65535, 65534, 5, 7),
        row!(
            "int32",
            8,
            i32,
            0,
            -1,
            16_777_217,
            -16_777_217,
            i32::MAX,
            i32::MIN,
            5,
            7
        ),
        row!(
            "uint32",
            768,
            u32,
            0,
            1,
            16_777_217,
            u32::MAX,
            u32::MAX - 1,
            4,
            5,
            7
        ),
        row!(
            "int64",
            1024,
            i64,
            0,
            -1,
            (1 << 53) + 1,
            -(1 << 53) - 1,
            i64::MAX,
            i64::MIN,
            5,
            7
        ),
        row!(
            "uint64",
            1280,
            u64,
            0,
            1,
            (1 << 53) + 1,
            u64::MAX,
            u64::MAX - 1,
            4,
            5,
            7
        ),
        row!(
            "float32",
            16,
            f32,
            0.0,
            -0.0,
            f32::MAX,
            1e-45,
            f32::INFINITY,
            f32::NAN,
            0.1,
            7.0
        ),
        row!(
            "float64",
            64,
            f64,
            0.0,
            -0.0,
            1e300,
            16_777_217.5,
            0.1,
            nan,
            f64::INFINITY,
            5e-324
        ),
    ]
}

/// The fields of a small NIfTI-1 file, or of a NIfTI-2.
pub struct Nifti {
    pub dims: Vec<i16>,
    pub code: i16,
    pub bits: usize,
    pub slope: f64,
    pub intercept: f64,
    pub affine: DAffine3,
    pub second: bool,
    pub bytes: Vec<u8>,
}

impl Nifti {
    pub fn new(code: i16, size: usize, bytes: Vec<u8>) -> Self {
        let matrix = DMat3::from_diagonal(DVec3::new(-2.0, 2.0, 2.5));
        Self {
            dims: vec![2, 2, 2],
            code,
            bits: 8 * size,
            slope: 0.0,
            intercept: 0.0,
            affine: DAffine3::from_mat3_translation(matrix, DVec3::new(10.0, -20.0, 30.0)),
            second: false,
            bytes,
        }
    }

    pub fn file(&self) -> Vec<u8> {
        let mut h = vec![0u8; if self.second { 544 } else { 352 }];
        let rows = [0, 1, 2].map(|r| {
            let m = self.affine.matrix3;
            [
                m.x_axis[r],
                m.y_axis[r],
                m.z_axis[r],
                self.affine.translation[r],
            ]
        });
        let dims: Vec<i16> = std::iter::once(self.dims.len() as i16)
            .chain(self.dims.iter().copied())
            .chain([1; 8])
            .take(8)
            .collect();
        let mut put = |at: usize, bytes: &[u8]| h[at..at + bytes.len()].copy_from_slice(bytes);
        let bits = (self.bits as i16).to_le_bytes();
        if self.second {
            put(0, &540i32.to_le_bytes());
            put(4, b"n+2\0\r\n\x1a\n");
            put(12, &self.code.to_le_bytes());
            put(14, &bits);
            for (i, n) in dims.iter().enumerate() {
                put(16 + 8 * i, &i64::from(*n).to_le_bytes());
                put(104 + 8 * i, &1f64.to_le_bytes());
            }
            put(168, &544i64.to_le_bytes());
            put(176, &self.slope.to_le_bytes());
            put(184, &self.intercept.to_le_bytes());
            put(348, &1i32.to_le_bytes());
            for (i, v) in rows.as_flattened().iter().enumerate() {
                put(400 + 8 * i, &v.to_le_bytes());
            }
            put(500, &10i32.to_le_bytes());
        } else {
            put(0, &348i32.to_le_bytes());
            for (i, n) in dims.iter().enumerate() {
                put(40 + 2 * i, &n.to_le_bytes());
                put(76 + 4 * i, &1f32.to_le_bytes());
            }
            put(70, &self.code.to_le_bytes());
            put(72, &bits);
            put(108, &352f32.to_le_bytes());
            put(112, &(self.slope as f32).to_le_bytes());
            put(116, &(self.intercept as f32).to_le_bytes());
            put(123, &[10]);
            put(254, &1i16.to_le_bytes());
            for (i, v) in rows.as_flattened().iter().enumerate() {
                put(280 + 4 * i, &(*v as f32).to_le_bytes());
            }
            put(344, b"n+1\0");
        }
        h.extend(&self.bytes);
        h
    }
}

/// A written NIfTI-1, decompressed.
pub struct Found(pub Vec<u8>);

impl Found {
    pub fn read(path: &Path) -> Self {
        let packed = std::fs::read(path).expect("written");
        let mut bytes = Vec::new();
        match packed.starts_with(&[0x1f, 0x8b]) {
            true => {
                let mut from = MultiGzDecoder::new(&*packed);
                from.read_to_end(&mut bytes).expect("whole");
            }
            false => bytes = packed,
        }
        Self(bytes)
    }

    pub fn i16(&self, at: usize) -> i16 {
        i16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    pub fn f32(&self, at: usize) -> f32 {
        f32::from_le_bytes(self.0[at..at + 4].try_into().expect("four"))
    }

    pub fn voxels(&self) -> &[u8] {
        &self.0[self.f32(108) as usize..]
    }
}

/// An NRRD's header and its samples, decompressed.
fn nrrd(path: &Path) -> (String, Vec<u8>) {
    let file = std::fs::read(path).expect("written");
    let end = file.windows(2).position(|w| w == b"\n\n").expect("an end") + 2;
    let mut bytes = Vec::new();
    let mut from = MultiGzDecoder::new(&file[end..]);
    from.read_to_end(&mut bytes).expect("whole");
    (String::from_utf8_lossy(&file[..end]).into_owned(), bytes)
}

fn every_type() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for (name, code, size, bytes) in types() {
        let image = Nifti::new(code, size, bytes.clone());
        std::fs::write(here.join("a.nii"), image.file()).expect("written");
        let big = Nifti {
            second: true,
            ..Nifti::new(code, size, bytes.clone())
        };
        std::fs::write(here.join("two.nii.gz"), gzip(&big.file())).expect("written");
        for (from, to) in [
            ("a.nii", "b.nii.gz"),
            ("b.nii.gz", "c.nrrd"),
            ("c.nrrd", "d.nrrd"),
            ("d.nrrd", "e.nii"),
            ("two.nii.gz", "f.nii.gz"),
        ] {
            let done = convert_with_reading(here, from, to, &Reading::default(), true).expect(name);
            assert_eq!(done.unsupported_contents, [""; 0], "{name} {from}");
            assert!(done.content.ends_with(name), "{}", done.content);
            if to.ends_with("nrrd") {
                assert_eq!(nrrd(&here.join(to)).1, bytes, "{name} {to}");
                continue;
            }
            let found = Found::read(&here.join(to));
            assert_eq!(found.i16(70), code, "{name} {to}");
            assert_eq!(found.i16(72) as usize, 8 * size, "{name} {to}");
            assert_eq!(found.voxels(), bytes, "{name} {to}");
        }
        // Numbers that are written in full.
        let (header, samples) = nrrd(&here.join("c.nrrd"));
        if let "int64" | "uint64" = name {
            let word = |b: &[u8]| {
                let b = b.try_into().expect("eight");
                match name {
                    "int64" => i64::from_le_bytes(b).to_string(),
                    _ => u64::from_le_bytes(b).to_string(),
                }
            };
            let sentence: Vec<String> = samples.chunks(8).map(word).collect();
            let text = header.replace("gzip", "text") + &sentence.join(" ");
            std::fs::write(here.join("text.nrrd"), text).expect("written");
            convert_with_reading(here, "text.nrrd", "g.nii", &Reading::default(), true)
                .expect(name);
            assert_eq!(Found::read(&here.join("g.nii")).voxels(), bytes, "{name}");
        }
    }
    // FreeSurfer's integers, which are big-endian.
    let mut mgh: Vec<u8> = [1i32, 2, 2, 2, 1, 1, 0]
        .iter()
        .flat_map(|n| n.to_be_bytes())
        .collect();
    mgh.extend([0, 0]);
    mgh.resize(284, 0);
    let values = [0i32, -1, 16_777_217, i32::MAX, i32::MIN, 3, 4, 5];
    mgh.extend(values.iter().flat_map(|v| v.to_be_bytes()));
    std::fs::write(here.join("m.mgh"), mgh).expect("written");
    go(here, "m.mgh", "m.nii");
    let found = Found::read(&here.join("m.nii"));
    let requested: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!((found.i16(70), found.voxels()), (8, &*requested));
}

/// nibabel reads the same type, values and affine from a file and from its conversion.
fn nibabel_reads_the_same() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for (name, code, size, bytes) in types() {
        std::fs::write(
            here.join("a.nii"),
            Nifti::new(code, size, bytes.clone()).file(),
        )
        .expect(name);
        let second = Nifti {
            second: true,
            ..Nifti::new(code, size, bytes)
        };
        std::fs::write(here.join("two.nii.gz"), gzip(&second.file())).expect(name);
        let all = [
            "a.nii",
            "b.nii.gz",
            "c.nrrd",
            "e.nii",
            "two.nii.gz",
            "f.nii",
        ];
        for (from, to) in [(0, 1), (1, 2), (2, 3), (4, 5)] {
            convert_with_reading(here, all[from], all[to], &Reading::default(), true).expect(name);
        }
        nibabel_agrees(here, &["a.nii", "b.nii.gz", "e.nii", "two.nii.gz", "f.nii"]);
    }
    let scaled = Nifti {
        slope: f64::from(0.1f32),
        intercept: 3.0,
        ..Nifti::new(4, 2, (0..16).collect())
    };
    std::fs::write(here.join("a.nii"), scaled.file()).expect("written");
    convert_with_reading(here, "a.nii", "b.nii.gz", &Reading::default(), true).expect("scaled");
    nibabel_agrees(here, &["a.nii", "b.nii.gz"]);
}

fn nibabel_agrees(here: &Path, files: &[&str]) {
    let script = "
import sys, nibabel, numpy
images = [nibabel.load(p) for p in sys.argv[1:]]
first = numpy.asanyarray(images[0].dataobj)
for path, image in zip(sys.argv[1:], images):
    values = numpy.asanyarray(image.dataobj)
    assert image.get_data_dtype() == images[0].get_data_dtype(), path
    assert numpy.array_equal(values, first, equal_nan=values.dtype.kind == 'f'), (path, values, first)
    assert numpy.allclose(image.affine, images[0].affine, atol=1e-5), path
";
    let ran = Command::new(python())
        .args(["-c", script])
        .args(files)
        .current_dir(here)
        .output()
        .expect("Python runs");
    let message = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{message}");
}

fn f64s(bytes: &[u8]) -> Vec<f64> {
    let chunks = bytes.chunks(8).map(|b| b.try_into().expect("eight"));
    chunks.map(f64::from_le_bytes).collect()
}

fn slopes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let raw = [0i16, 1, -1, 32767, -32768, 4, 5, 7];
    let bytes: Vec<u8> = raw.iter().flat_map(|v| v.to_le_bytes()).collect();
    let image = |second, slope, intercept| Nifti {
        second,
        slope,
        intercept,
        ..Nifti::new(4, 2, bytes.clone())
    };
    // A float32 slope is kept, with the integers.
    let slope = f64::from(0.1f32);
    std::fs::write(here.join("a.nii"), image(false, slope, 3.0).file()).expect("written");
    let done = go(here, "a.nii", "b.nii.gz");
    assert_eq!(done.unsupported_contents, [""; 0]);
    let found = Found::read(&here.join("b.nii.gz"));
    assert_eq!((found.i16(70), found.voxels()), (4, &*bytes));
    assert_eq!((found.f32(112), found.f32(116)), (0.1, 3.0));
    // NRRD has none: every digit of the values.
    let done = go(here, "a.nii", "b.nrrd");
    assert_eq!(done.unsupported_contents, [""; 0]);
    let (header, samples) = nrrd(&here.join("b.nrrd"));
    assert!(header.contains("type: double"), "{header}");
    let requested = raw.map(|v| f64::from(v) * slope + 3.0);
    assert_eq!(f64s(&samples), requested);
    // Halves are exact in single precision, too.
    std::fs::write(here.join("c.nii"), image(false, 0.5, -1.0).file()).expect("written");
    go(here, "c.nii", "c.nrrd");
    assert!(nrrd(&here.join("c.nrrd")).0.contains("type: float\n"));
    // NIfTI-1 cannot hold a float64 slope.
    std::fs::write(here.join("d.nii"), image(true, 0.1, 1.0).file()).expect("written");
    let done = go(here, "d.nii", "e.nii");
    assert_eq!(done.unsupported_contents, [""; 0]);
    let found = Found::read(&here.join("e.nii"));
    assert_eq!(found.i16(70), 64);
    assert_eq!(f64s(found.voxels()), raw.map(|v| f64::from(v) * 0.1 + 1.0));
    // Integers that no float64 holds, and products that do not fit in it.
    let wide = [0i64, 1, (1 << 53) + 1, i64::MAX, 4, 5, 6, 1 << 60];
    let long = Nifti {
        slope: 0.5,
        ..Nifti::new(1024, 8, wide.iter().flat_map(|v| v.to_le_bytes()).collect())
    };
    std::fs::write(here.join("l.nii"), long.file()).expect("written");
    let done = go(here, "l.nii", "l.nrrd");
    assert!(
        done.unsupported_contents[0].contains("cannot hold 2 values"),
        "{:?}",
        done.unsupported_contents
    );
    assert_eq!(go(here, "l.nii", "l2.nii").unsupported_contents, [""; 0]);
    // Steps that are lost relative to the intercept, and some that are not.
    let steps: Vec<u8> = (0i16..8).flat_map(i16::to_le_bytes).collect();
    for (intercept, lost) in [(1e16, Some("cannot hold 7 values")), (1e12, None)] {
        let fine = Nifti {
            slope: 0.001,
            intercept,
            ..Nifti::new(4, 2, steps.clone())
        };
        std::fs::write(here.join("s.nii"), fine.file()).expect("written");
        let losses = convert_with_reading(here, "s.nii", "s.nrrd", &Reading::default(), true);
        let losses = losses.expect("converted").unsupported_contents;
        match lost {
            Some(loss) => assert!(losses[0].contains(loss), "{losses:?}"),
            None => assert_eq!(losses, [""; 0]),
        }
    }
    let large = [1e308f64, 1.0, 0.0, 2.0, 3.0, 4.0, 5.0, f64::INFINITY];
    let large = Nifti {
        slope: 10.0,
        ..Nifti::new(64, 8, large.iter().flat_map(|v| v.to_le_bytes()).collect())
    };
    std::fs::write(here.join("x.nii"), large.file()).expect("written");
    let done = go(here, "x.nii", "x.nrrd");
    assert!(
        done.unsupported_contents[0].contains("cannot hold 1 value after"),
        "{:?}",
        done.unsupported_contents
    );
}

fn colours_and_axes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for (code, size) in [(128, 3), (2304, 4)] {
        let bytes: Vec<u8> = (0..8 * size).map(|i| (i * 31 % 251) as u8).collect();
        let image = Nifti::new(code, size, bytes.clone());
        std::fs::write(here.join("a.nii"), image.file()).expect("written");
        for (from, to) in [("a.nii", "b.nii"), ("b.nii", "c.nrrd"), ("c.nrrd", "d.nii")] {
            let done =
                convert_with_reading(here, from, to, &Reading::default(), true).expect("colours");
            assert_eq!(done.unsupported_contents, [""; 0]);
        }
        assert_eq!(nrrd(&here.join("c.nrrd")).1, bytes);
        let found = Found::read(&here.join("d.nii"));
        assert_eq!((found.i16(70), found.voxels()), (code, &*bytes));
    }
    // A displacement field: five axes, and its intent.
    let bytes: Vec<u8> = (0..24u8).flat_map(|v| f32::from(v).to_le_bytes()).collect();
    let warp = Nifti {
        dims: vec![2, 2, 2, 1, 3],
        ..Nifti::new(16, 4, bytes)
    };
    let mut file = warp.file();
    file[68..70].copy_from_slice(&1007i16.to_le_bytes());
    std::fs::write(here.join("warp.nii"), &file).expect("written");
    assert_eq!(
        go(here, "warp.nii", "warp2.nii.gz").unsupported_contents,
        [""; 0]
    );
    let found = Found::read(&here.join("warp2.nii.gz"));
    let dims: Vec<i16> = (0..6).map(|i| found.i16(40 + 2 * i)).collect();
    assert_eq!((dims, found.i16(68)), (vec![5, 2, 2, 2, 1, 3], 1007));
    let done = go(here, "warp.nii", "warp.nrrd");
    assert!(
        done.unsupported_contents
            .iter()
            .any(|l| l.contains("intent 1007")),
        "{:?}",
        done.unsupported_contents
    );
    // Times of a series.
    let mut series = Nifti::new(2, 1, (0..16).collect());
    series.dims = vec![2, 2, 2, 2];
    let mut file = series.file();
    file[92..96].copy_from_slice(&0.72f32.to_le_bytes());
    std::fs::write(here.join("t.nii"), &file).expect("written");
    go(here, "t.nii", "t.nii.gz");
    assert_eq!(Found::read(&here.join("t.nii.gz")).f32(92), 0.72);
}

fn labels() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let numbers = [0u32, 0, 614_454_277, 614_454_278, 614_454_279, 1, 1, 0];
    let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
    let image = Nifti::new(768, 4, bytes.clone());
    std::fs::write(here.join("atlas_labels.nii.gz"), gzip(&image.file())).expect("written");
    let table = "1 One\n614454277 Striatum\n614454278 Pallidum\n";
    std::fs::write(here.join("atlas_labels.txt"), table).expect("written");
    let done = go(here, "atlas_labels.nii.gz", "out.nrrd");
    assert_eq!(done.written.len(), 2, "{:?}", done.written);
    assert_eq!(nrrd(&here.join("out.nrrd")).1, bytes);
    let names = std::fs::read_to_string(here.join("out.txt")).expect("names");
    assert!(
        names.contains("614454278") && names.contains("Pallidum"),
        "{names}"
    );
}
