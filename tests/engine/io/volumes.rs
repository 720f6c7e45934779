//! Images of every format, in every axis order: a value at a world position is found there again. FreeSurfer and NRRD
//! files are composed here byte by byte from their definitions.

use super::formats::grid;
use super::sentence;
use crate::support::composed_nifti::gzip;
use crate::support::{Random, data_test, test};
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid, Mask, Volume, VolumeKind};
use arcuate::io::{self, Error, Opened, image, nifti};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rounding of a float32 header for positions around 200 mm.
const OFF_MM: f64 = 1e-3;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::volumes::every_axis_order_returns", every_axis_order),
        test("io::volumes::freesurfer_types_and_frames", mgh_types),
        test("io::volumes::freesurfer_refusals", mgh_refusals),
        test("io::volumes::nrrd_forms", nrrd_forms),
        test("io::volumes::nrrd_refusals", nrrd_refusals),
        test("io::volumes::converted", converted),
        data_test(
            "io::volumes::real_freesurfer_files",
            "t1_b_freesurfer/t1_norm.mgz",
            real_freesurfer,
        ),
    ]
}

pub fn opened(path: &Path) -> (Volume, Vec<String>) {
    match io::open(path, &Control::new()) {
        Ok(Opened::Volume(volume, info)) => (volume, info.warnings),
        Ok(Opened::Tractogram(..)) => panic!("streamlines: {}", path.display()),
        Err(error) => panic!("{error}"),
    }
}

/// A different number for each voxel, which identifies its position.
fn ramp(grid: &Grid, frames: usize) -> Vec<f32> {
    (0..grid.voxel_count() * frames)
        .map(|i| (i * 7 % 30_011) as f32)
        .collect()
}

/// Every voxel of one is found in the other at the same world position.
fn same_in_the_world(found: &Volume, grid: &Grid, values: &[f32], random: &mut Random, what: &str) {
    assert_eq!(found.grid.shape, grid.shape, "{what}");
    assert!(found.grid.same_space(grid, OFF_MM), "{what}");
    for _ in 0..50 {
        let voxel = grid.shape.map(|n| (random.bits() % n as u64) as usize);
        let world = grid.world(DVec3::from_array(voxel.map(|v| v as f64)));
        let value = found.nearest(0, world).expect("inside");
        assert_eq!(value, values[grid.index(voxel)], "{what} at {world}");
    }
    assert_eq!(&*found.values, values, "{what}");
}

/// A grid with this affine, a few voxels large.
pub fn small(grid: &Grid, random: &mut Random) -> Grid {
    let shape = [0; 3].map(|_| 3 + (random.bits() % 5) as usize);
    Grid::new(shape, grid.world_from_voxel, AffineSource::Sform).expect("regular")
}

/// The fields of an MGH file.
pub struct Mgh {
    grid: Grid,
    frames: usize,
    code: i32,
    has_affine: bool,
}

impl Mgh {
    fn new(grid: Grid) -> Self {
        Self {
            grid,
            frames: 1,
            code: 3,
            has_affine: true,
        }
    }

    fn bytes(&self, values: &[f32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut int = |n: i32| bytes.extend(n.to_be_bytes());
        int(1);
        self.grid.shape.iter().for_each(|&n| int(n as i32));
        int(self.frames as i32);
        int(self.code);
        int(0);
        bytes.extend(i16::from(self.has_affine).to_be_bytes());
        let m = self.grid.world_from_voxel.matrix3;
        let spacing = self.grid.spacing();
        let axes = (0..3).map(|a| m.col(a) / spacing[a]);
        // In a volume with an even number of voxels this is the corner shared by the eight central ones, index n / 2.
        let centre = self
            .grid
            .world(DVec3::from_array(self.grid.shape.map(|n| n as f64 / 2.0)));
        for v in [spacing].into_iter().chain(axes).chain([centre]) {
            v.to_array()
                .iter()
                .for_each(|&x| bytes.extend((x as f32).to_be_bytes()));
        }
        bytes.resize(284, 0);
        for &value in values {
            match self.code {
                0 => bytes.push(value as u8),
                1 => bytes.extend((value as i32).to_be_bytes()),
                4 => bytes.extend((value as i16).to_be_bytes()),
                10 => bytes.extend((value as u16).to_be_bytes()),
                _ => bytes.extend(value.to_be_bytes()),
            }
        }
        // The acquisition times, as FreeSurfer writes them after the voxels.
        bytes.extend([0; 20]);
        bytes
    }
}

/// An NRRD in the given space, its samples raw.
fn nrrd(grid: &Grid, space: &str, extra: &str, samples: &[u8]) -> Vec<u8> {
    let signs = match space {
        "left-posterior-superior" => DVec3::new(-1.0, -1.0, 1.0),
        "LAS" => DVec3::new(-1.0, 1.0, 1.0),
        _ => DVec3::ONE,
    };
    let place = DMat3::from_diagonal(signs);
    let vector = |v: DVec3| format!("({},{},{})", v.x, v.y, v.z);
    let m = place * grid.world_from_voxel.matrix3;
    let [x, y, z] = [0, 1, 2].map(|a| vector(m.col(a)));
    let [nx, ny, nz] = grid.shape;
    let header = format!(
        "NRRD0004\n# made by a test\ntype: float\ndimension: 3\nspace: {space}\nsizes: {nx} {ny} {nz}\n\
         space directions: {x} {y} {z}\nkinds: domain domain domain\nendian: little\n{extra}\
         space origin: {}\nkey:=value: with a colon\n\n",
        vector(place * grid.world_from_voxel.translation)
    );
    [header.into_bytes(), samples.to_vec()].concat()
}

fn little(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Small files to be damaged: our own, and external ones if available.
pub fn seeds(ending: &str) -> Vec<Vec<u8>> {
    let mut seeds = own_seeds(ending);
    if ending.starts_with("nii") {
        for path in crate::support::data_files("nifti_conformance") {
            let small = path.metadata().is_ok_and(|m| m.len() < 100_000);
            if small && path.extension().is_some_and(|e| e == "nii") {
                seeds.push(std::fs::read(path).expect("readable"));
            }
        }
    }
    seeds
}

pub fn own_seeds(ending: &str) -> Vec<Vec<u8>> {
    let mut random = Random::fresh("volumes");
    let oblique = grid((random.bits() % 48) as usize, true, &mut random);
    let grid = small(&oblique, &mut random);
    let values = ramp(&grid, 1);
    match ending {
        "nii" | "nii.gz" => nifti_seeds(&grid, &values),
        "nrrd" => ["encoding: raw\n", "encoding: text\n", "encoding: gzip\n"]
            .map(|encoding| {
                let samples = match encoding.contains("gzip") {
                    true => gzip(&little(&values)),
                    false if encoding.contains("text") => {
                        let text: Vec<String> = values.iter().map(f32::to_string).collect();
                        text.join(" ").into_bytes()
                    }
                    false => little(&values),
                };
                nrrd(&grid, "left-posterior-superior", encoding, &samples)
            })
            .to_vec(),
        _ => [0, 1, 3, 4, 10]
            .map(|code| {
                Mgh {
                    code,
                    ..Mgh::new(grid.clone())
                }
                .bytes(&values)
            })
            .to_vec(),
    }
}

/// Our own in every type.
fn nifti_seeds(grid: &Grid, values: &[f32]) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii");
    let (control, n) = (Control::new(), grid.voxel_count());
    let read = || std::fs::read(&path).expect("readable");
    let mut seeds = Vec::new();
    for (frames, kind) in [
        (1, VolumeKind::Scalar),
        (2, VolumeKind::Scalar),
        (3, VolumeKind::Rgb),
    ] {
        let repeated: Vec<f32> = values.iter().copied().cycle().take(frames * n).collect();
        let volume = Volume::new(Arc::new(grid.clone()), frames, kind, repeated);
        nifti::save_volume(&path, &volume, "x", &control).expect("saved");
        seeds.push(read());
    }
    let labels: Vec<u16> = (0..n as u16).collect();
    nifti::save_labels(&path, grid, &labels, "x", &control).expect("saved");
    seeds.push(read());
    seeds
}

/// 24 right-handed and 24 left-handed orders: NIfTI, masks, labels, MGH, MGZ and NRRD in three spaces.
fn every_axis_order() {
    let mut random = Random::fresh("volumes");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let control = Control::new();
    for order in 0..48 {
        let oblique = grid(order, order % 2 == 1, &mut random);
        let grid = small(&oblique, &mut random);
        let what = grid.orientation();
        let values = ramp(&grid, 1);
        let volume = Volume::scalar(Arc::new(grid.clone()), values.clone());
        for name in ["a.nii", "a.nii.gz"] {
            nifti::save_volume(&at(name), &volume, "", &control).expect("saved");
            same_in_the_world(&opened(&at(name)).0, &grid, &values, &mut random, &what);
        }
        let inside: Vec<u8> = values
            .iter()
            .map(|v| u8::from(*v as i32 % 3 == 0))
            .collect();
        let floats: Vec<f32> = inside.iter().map(|&v| f32::from(v)).collect();
        let mask = Mask::new(Arc::new(grid.clone()), inside);
        nifti::save_mask(&at("m.nii.gz"), &mask, "", &control).expect("saved");
        same_in_the_world(
            &opened(&at("m.nii.gz")).0,
            &grid,
            &floats,
            &mut random,
            &what,
        );
        let labels: Vec<f32> = values.iter().map(|v| (*v as i32 % 5) as f32).collect();
        let map = Volume::scalar(Arc::new(grid.clone()), labels.clone());
        nifti::save_volume(&at("dseg.nii.gz"), &map, "", &control).expect("saved");
        let (found, _) = opened(&at("dseg.nii.gz"));
        assert!(found.labels.is_some());
        same_in_the_world(&found, &grid, &labels, &mut random, &what);
        // The colours are at the positions of the numbers.
        let painted = found.picture();
        assert_eq!(
            (painted.kind, &*painted.grid),
            (VolumeKind::Rgb, &*found.grid)
        );

        let bytes = Mgh::new(grid.clone()).bytes(&values);
        std::fs::write(at("a.mgh"), &bytes).expect("written");
        std::fs::write(at("a.mgz"), gzip(&bytes)).expect("written");
        for name in ["a.mgh", "a.mgz"] {
            let (found, warnings) = opened(&at(name));
            assert_eq!(warnings, Vec::<String>::new());
            assert_eq!(found.grid.source, AffineSource::Header);
            same_in_the_world(&found, &grid, &values, &mut random, &what);
            let alone = image::read_grid(&at(name), &control).expect("a grid");
            assert_eq!(alone, *found.grid);
        }
        for space in ["right-anterior-superior", "left-posterior-superior", "LAS"] {
            let bytes = nrrd(&grid, space, "encoding: raw\n", &little(&values));
            std::fs::write(at("a.nrrd"), bytes).expect("written");
            let (found, warnings) = opened(&at("a.nrrd"));
            assert_eq!(warnings, Vec::<String>::new());
            let what = format!("{what} {space}");
            same_in_the_world(&found, &grid, &values, &mut random, &what);
        }
    }
}

/// The bytes of an MGH file of int32, as label maps are.
pub fn mgh_int32(grid: Grid, values: &[f32]) -> Vec<u8> {
    let composed = Mgh {
        code: 1,
        ..Mgh::new(grid)
    };
    composed.bytes(values)
}

fn mgh_types() {
    let mut random = Random::fresh("mgh");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.mgh");
    let oblique = grid(19, true, &mut random);
    let grid = small(&oblique, &mut random);
    for code in [0, 1, 3, 4, 10] {
        for frames in [1, 3] {
            let composed = Mgh {
                code,
                frames,
                ..Mgh::new(grid.clone())
            };
            let values: Vec<f32> = ramp(&grid, frames).iter().map(|v| v % 200.0).collect();
            std::fs::write(&path, composed.bytes(&values)).expect("written");
            let (found, _) = opened(&path);
            assert_eq!(found.frames, frames);
            assert_eq!(&*found.values, values, "type {code}");
        }
    }
    // Without its name, by its content; and without a position, which is reported.
    let mut composed = Mgh::new(grid);
    composed.has_affine = false;
    let values = ramp(&composed.grid, 1);
    let plain = folder.path().join("volume");
    std::fs::write(&plain, composed.bytes(&values)).expect("written");
    let (found, warnings) = opened(&plain);
    assert_eq!(found.grid.source, AffineSource::Pixdim);
    assert_eq!(found.grid.orientation(), "LIA");
    assert!(warnings[0].contains("left and right are unknown"));
}

fn mgh_refusals() {
    let mut random = Random::fresh("mgh");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.mgz");
    let oblique = grid(3, true, &mut random);
    let grid = small(&oblique, &mut random);
    let values = ramp(&grid, 1);
    let whole = Mgh::new(grid).bytes(&values);
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = whole.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    let huge = i32::MAX.to_be_bytes();
    let huger = [huge, huge, huge, huge].concat();
    let many = [20_000i32.to_be_bytes(), 20_000i32.to_be_bytes()].concat();
    for (bytes, problem) in [
        (whole[..200].to_vec(), "200 bytes"),
        (with(0, &7i32.to_be_bytes()), "version 7"),
        (with(4, &0i32.to_be_bytes()), "size 0 of dimension 1"),
        (with(8, &(-4i32).to_be_bytes()), "size -4 of dimension 2"),
        (with(20, &5i32.to_be_bytes()), "voxel type 5"),
        (with(4, &huger), "more voxels than any memory"),
        (with(4, &many), "The data end after"),
        (whole[..whole.len() - 30].to_vec(), "The data end after"),
        (with(42, &[0; 12]), "flat or not finite"),
        (with(30, &f32::NAN.to_be_bytes()), "flat or not finite"),
    ] {
        for packed in [false, true] {
            let bytes = if packed { gzip(&bytes) } else { bytes.clone() };
            std::fs::write(&path, &bytes).expect("written");
            let error = io::open(&path, &Control::new()).expect_err(problem);
            assert!(sentence(&error).contains(problem), "{problem}: {error}");
        }
    }
    // A compressed one that is truncated anywhere is never an image.
    let packed = gzip(&whole);
    for length in (2..packed.len()).step_by(17) {
        std::fs::write(&path, &packed[..length]).expect("written");
        sentence(&io::open(&path, &Control::new()).expect_err("cut"));
    }
}

/// Encodings, separate files, and the position of the axis that is not spatial.
fn nrrd_forms() {
    let mut random = Random::fresh("nrrd");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let oblique = grid(27, true, &mut random);
    let grid = small(&oblique, &mut random);
    let values = ramp(&grid, 1);
    let raw = little(&values);
    let space = "left-posterior-superior";
    let check = |name: &str, random: &mut Random| {
        same_in_the_world(&opened(&at(name)).0, &grid, &values, random, name);
    };
    std::fs::write(
        at("gz.nrrd"),
        nrrd(&grid, space, "encoding: gzip\n", &gzip(&raw)),
    )
    .expect("written");
    check("gz.nrrd", &mut random);
    let sentence: Vec<String> = values.iter().map(f32::to_string).collect();
    let text = sentence.join("\r\n\t ");
    std::fs::write(
        at("text.nrrd"),
        nrrd(&grid, space, "encoding: ascii\n", text.as_bytes()),
    )
    .expect("written");
    check("text.nrrd", &mut random);
    // Windows' line ends, and raw data that begin like gzip.
    let dos = String::from_utf8(nrrd(&grid, space, "encoding: raw\n", &[])).expect("text");
    let dos = [dos.replace('\n', "\r\n").into_bytes(), raw.clone()].concat();
    std::fs::write(at("dos.nrrd"), dos).expect("written");
    check("dos.nrrd", &mut random);
    // Separate samples, after lines and bytes of other content.
    std::fs::write(at("plain.raw"), [&b"one\ntwo\nxyz"[..], &raw].concat()).expect("written");
    std::fs::write(at("packed.raw.gz"), gzip(&raw)).expect("written");
    for (name, fields) in [
        (
            "a.nhdr",
            "encoding: raw\ndata file: plain.raw\nline skip: 2\nbyte skip: 3\n",
        ),
        (
            "b.nhdr",
            "encoding: raw\ndatafile: plain.raw\nbyteskip: -1\n",
        ),
        ("c.nhdr", "encoding: gz\ndata file: ./packed.raw.gz\n"),
    ] {
        std::fs::write(at(name), nrrd(&grid, space, fields, &[])).expect("written");
        check(name, &mut random);
    }
    // Four axes; the one without a direction may have any position.
    let frames = 4;
    let several = ramp(&grid, frames);
    let n = grid.voxel_count();
    for place in 0..4 {
        let mut sizes = grid.shape.to_vec();
        sizes.insert(place, frames);
        let m = grid.world_from_voxel.matrix3;
        let mut directions: Vec<String> = (0..3)
            .map(|a| format!("({}, {} ,{})", m.col(a).x, m.col(a).y, m.col(a).z))
            .collect();
        directions.insert(place, "none".to_owned());
        let stride = |axis: usize| sizes[..axis].iter().product::<usize>();
        let mut stored = vec![0f32; several.len()];
        for (i, &value) in several.iter().enumerate() {
            let mut index = grid.voxel(i % n).to_vec();
            index.insert(place, i / n);
            let to: usize = index.iter().enumerate().map(|(a, v)| v * stride(a)).sum();
            stored[to] = value;
        }
        let o = grid.world_from_voxel.translation;
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        let header = format!(
            "NRRD0005\ntype: double\ndimension: 4\nspace: RAS\nsizes: {}\nspace directions: {}\n\
             endian: big\nencoding: raw\nspace origin: ({},{},{})\n\n",
            sizes.join(" "),
            directions.join(" "),
            o.x,
            o.y,
            o.z
        );
        let samples = stored.iter().flat_map(|&v| f64::from(v).to_be_bytes());
        let bytes: Vec<u8> = header.bytes().chain(samples).collect();
        std::fs::write(at("four.nrrd"), bytes).expect("written");
        let (found, _) = opened(&at("four.nrrd"));
        assert_eq!(found.frames, frames);
        same_in_the_world(&found, &grid, &several, &mut random, "four axes");
    }
    // Colours.
    let header = "NRRD0004\ntype: uchar\ndimension: 4\nsizes: 3 2 2 1\nkinds: RGB-color domain domain domain\n\
                  space: RAS\nspace directions: none (1,0,0) (0,1,0) (0,0,1)\nspace origin: (0,0,0)\nencoding: raw\n\n";
    let samples = [255, 0, 0, 0, 255, 0, 0, 0, 255, 51, 51, 51];
    std::fs::write(at("rgb.nrrd"), [header.as_bytes(), &samples].concat()).expect("written");
    let (found, _) = opened(&at("rgb.nrrd"));
    assert_eq!(found.kind, VolumeKind::Rgb);
    assert_eq!(*found.frame(0), [1.0, 0.0, 0.0, 0.2]);
    // Without a space left and right are unknown.
    let silent =
        "NRRD0004\ntype: uchar\ndimension: 3\nsizes: 2 2 3\nspacings: 1.5 2 2.5\nencoding: raw\n\n";
    std::fs::write(at("silent.nrrd"), [silent.as_bytes(), &[1; 12]].concat()).expect("written");
    let (found, warnings) = opened(&at("silent.nrrd"));
    assert_eq!(found.grid.source, AffineSource::Pixdim);
    assert_eq!(found.grid.spacing(), DVec3::new(1.5, 2.0, 2.5));
    assert!(warnings[0].contains("left and right are unknown"));
}

fn nrrd_refusals() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nrrd");
    let whole = "NRRD0004\ntype: float\ndimension: 3\nspace: RAS\nsizes: 2 2 2\n\
                 space directions: (1,0,0) (0,1,0) (0,0,1)\nendian: little\nencoding: raw\n\
                 space origin: (0,0,0)\n\n";
    let samples = [0u8; 32];
    let refused = |from: &str, to: &str, label: &str| {
        let text = whole.replace(from, to);
        assert!(from.is_empty() || text != whole, "{from}");
        let bytes = [text.as_bytes(), &samples].concat();
        std::fs::write(&path, bytes).expect("written");
        let error = io::open(&path, &Control::new()).expect_err(label);
        assert!(sentence(&error).contains(label), "{label}: {error}");
    };
    refused("type: float", "type: block", "type “block”");
    refused("sizes: 2 2 2", "sizes: 2 2", "[3] dimensions");
    refused("sizes: 2 2 2", "sizes: 2 2 0", "dimensions of the sizes");
    refused("sizes: 2 2 2", "sizes: 2 x 2", "“2 x 2” as sizes");
    refused("sizes: 2 2 2", "sizes: 2 2 3", "The data end after");
    refused(
        "sizes: 2 2 2",
        "sizes: 4000000000 4000000000 4000000000",
        "more samples than any memory",
    );
    refused("raw", "bzip2", "encoding “bzip2”");
    refused("raw", "gzip", "copy the file again");
    refused("raw", "text", "not a number");
    refused("endian: little\n", "", "byte order “not stated”");
    refused(
        "(0,1,0) (0,0,1)",
        "(0,1,0)",
        "2 space directions for 3 axes",
    );
    refused("(0,1,0) (0,0,1)", "(0,1,0) (2,0,0)", "flat or not finite");
    refused("(0,1,0) (0,0,1)", "(0,1,0) nothing", "space directions");
    refused("(0,1,0) (0,0,1)", "none none", "1 of them in space");
    refused(
        "encoding: raw",
        "encoding: raw\ndata file: LIST",
        "in several files",
    );
    for name in ["none.raw", "a\0b.raw"] {
        let line = format!("encoding: raw\ndata file: {name}");
        refused("encoding: raw", &line, "No such file");
    }
    refused(
        "encoding: raw",
        "encoding: raw\nbyte skip: -7",
        "byte skip of -7",
    );
    refused(
        "encoding: raw",
        "encoding: raw\nand more",
        "header line “and more”",
    );
    // Compressed zeros that the header does not announce, and a header that announces missing data.
    let bomb = whole
        .replace("raw", "gzip")
        .replace("2 2 2", "3000 3000 3000");
    let bytes = [bomb.into_bytes(), gzip(&[0; 1000])].concat();
    std::fs::write(&path, bytes).expect("written");
    let error = io::open(&path, &Control::new()).expect_err("announced");
    assert!(matches!(error, Error::Short { .. }), "{error}");
}

fn converted() {
    let mut random = Random::fresh("converted");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let oblique = grid(33, true, &mut random);
    let grid = small(&oblique, &mut random);
    let values = ramp(&grid, 1);
    std::fs::write(at("a.mgh"), Mgh::new(grid.clone()).bytes(&values)).expect("written");
    let go = |from: &str, to: &str| {
        let reported = io::Reading::default();
        let plan = io::convert::plan(&at(from), &at(to), None, &reported, &Control::new())?;
        plan.write(false, "x", &Control::new())
    };
    let done = go("a.mgh", "a.nii.gz").expect("converted");
    assert_eq!(done.content, "an image in float32");
    let found = opened(&at("a.nii.gz")).0;
    same_in_the_world(&found, &grid, &values, &mut random, "converted");
    for (from, to, reason) in [
        ("a.mgh", "a.tck", "an image"),
        ("a.mgh", "a.ply", "not a mask"),
        ("a.mgh", "a.mgz", "a writable format"),
    ] {
        let error = go(from, to).expect_err(reason);
        assert!(sentence(&error).contains(reason), "{error}");
        assert!(!at(to).exists());
    }
}

/// FreeSurfer's volume has equal values as MGZ and as NIfTI, and its labels lie at FreeSurfer's positions.
fn real_freesurfer(mgz: PathBuf) {
    let (t1, _) = opened(&mgz);
    let (counterpart, _) = opened(&mgz.with_file_name("t1_norm.nii.gz"));
    assert_eq!(t1.grid.orientation(), "LIA");
    assert!(t1.grid.same_space(&counterpart.grid, OFF_MM));
    assert_eq!(t1.values, counterpart.values);
    let (labels, _) = opened(&mgz.with_file_name("aparc.a2009s+aseg.mgz"));
    let names = labels.labels.as_ref().expect("labels");
    assert_eq!(names.table.len(), 188, "all have names");
    assert_eq!(names.name(4), Some("Left-Lateral-Ventricle"));
    let (ventricles, _) = opened(&mgz.with_file_name("lateral_ventricles.nii.gz"));
    let mut sides = [0.0f64; 2];
    for (i, &value) in labels.values.iter().enumerate() {
        let world = labels
            .grid
            .world(DVec3::from_array(labels.grid.voxel(i).map(|v| v as f64)));
        // Left and right lateral ventricle.
        let side = [4.0, 43.0].iter().position(|v| *v == value);
        if let Some(side) = side {
            sides[side] += world.x;
            assert_eq!(ventricles.nearest(0, world), Some(1.0));
        }
    }
    assert!(sides[0] < 0.0 && sides[1] > 0.0, "{sides:?}");
}
