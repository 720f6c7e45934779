//! Gradient tables: directions in world axes against closed forms, forms of files, wrong counts.

use super::sentence;
use crate::support::composed_nifti::random_affine;
use crate::support::{Random, data_test, test};
use arcuate::compute::Control;
use arcuate::data::gradients::Weighting;
use arcuate::data::{AffineSource, Gradients, Grid};
use arcuate::io::gradients::{self, Table, TableFiles};
use arcuate::io::{self, Error, Remark, RemarkTopic, nifti};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::gradients::both_handednesses", both_handednesses),
        test("io::gradients::any_rotation", any_rotation),
        test("io::gradients::shear_is_halved", shear),
        test("io::gradients::mrtrix_is_world", mrtrix),
        test("io::gradients::any_form_of_file", forms),
        test("io::gradients::vectors_that_are_none", no_vectors),
        test("io::gradients::lengths_that_scale", lengths),
        test("io::gradients::counts_and_nonsense", refused),
        test("io::gradients::tables_next_to_a_scan_are_found", companions),
        test("io::gradients::there_and_back", round_trip),
        test("io::gradients::in_an_nrrd", in_an_nrrd),
        data_test(
            "io::gradients::real_scan",
            "dwi_a_philips32/dwi.nii.gz",
            real,
        ),
    ]
}

fn grid(matrix: DMat3) -> Grid {
    let affine = DAffine3::from_mat3_translation(matrix, DVec3::new(10.0, -20.0, 30.0));
    Grid::new([4, 4, 4], affine, AffineSource::Sform).expect("regular")
}

fn write(folder: &Path, bval: &str, bvec: &str) -> TableFiles {
    let files = TableFiles::Fsl {
        bval: folder.join("a.bval"),
        bvec: folder.join("a.bvec"),
    };
    let paths = files.paths();
    std::fs::write(&paths[0], bval).expect("written");
    std::fs::write(&paths[1], bvec).expect("written");
    files
}

/// The remarks that are not notes.
fn warnings(table: &Table) -> Vec<&Remark> {
    table.remarks.iter().filter(|r| !r.is_note).collect()
}

fn read(files: &TableFiles, grid: &Grid, volumes: usize) -> Table {
    gradients::read(files, grid, volumes).unwrap_or_else(|e| panic!("{e}"))
}

/// Space, frame and scale of the vectors, and vectors that apply to several volumes.
fn in_an_nrrd() {
    let mut random = Random::fresh("gradients in an NRRD");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("scan.nrrd");
    for (space, signs) in [
        ("left-posterior-superior", DVec3::new(-1.0, -1.0, 1.0)),
        ("right-anterior-superior", DVec3::ONE),
        ("LAS", DVec3::new(-1.0, 1.0, 1.0)),
    ] {
        let (axes, frame) = (
            DMat3::from_quat(random.rotation()) * 2.0,
            DMat3::from_quat(random.rotation()),
        );
        let text = |v: DVec3| format!("({},{},{})", v.x, v.y, v.z);
        let three = |m: DMat3| [m.x_axis, m.y_axis, m.z_axis].map(text).join(" ");
        let requested: Vec<(f64, DVec3)> = [0.0, 700.0, 2000.0, 350.0, 1999.0]
            .into_iter()
            .map(|b| (b, random.direction()))
            .collect();
        let mut pairs = String::from("modality:=DWMRI\nDWMRI_b-value:=2000\n");
        let mut volume = 0;
        for (i, (b, direction)) in requested.iter().enumerate() {
            // The file's axes are not the world's, and a vector's squared length is its fraction of b.
            let message = frame.transpose() * (signs * *direction) * (b / 2000.0).sqrt();
            pairs += &format!(
                "DWMRI_gradient_{volume:04}:= {} {} {}\n",
                message.x, message.y, message.z
            );
            if i == 3 {
                pairs += &format!("DWMRI_NEX_{volume:04}:=2\n");
                volume += 1;
            }
            volume += 1;
        }
        let header = format!(
            "NRRD0005\ntype: uchar\ndimension: 4\nspace: {space}\nsizes: 2 2 2 6\n\
             space directions: {} none\nspace origin: (1,2,3)\nencoding: raw\n\
             measurement frame: {}\n{pairs}\n",
            three(axes),
            three(frame)
        );
        let mut bytes = header.into_bytes();
        bytes.extend([7u8; 48]);
        std::fs::write(&path, bytes).expect("written");
        let opened = io::open(&path, &Control::new()).unwrap_or_else(|e| panic!("{e}"));
        let io::Opened::Volume(volume, _) = opened else {
            panic!("no volume")
        };
        let table = gradients::for_scan(&path, &[], &volume.grid, volume.frames)
            .unwrap_or_else(|e| panic!("{e}"))
            .expect("a table");
        assert!(warnings(&table).is_empty(), "{:?}", table.remarks);
        let numbers = [0, 1, 2, 3, 3, 4];
        for (v, &i) in numbers.iter().enumerate() {
            let (b, direction) = requested[i];
            assert!((table.gradients.b_s_per_mm2[v] - b).abs() < 1e-6);
            let found = table.gradients.directions[v];
            let expected = if b > 50.0 { direction } else { DVec3::ZERO };
            assert!(
                found.distance(expected) < 1e-9,
                "{space} {v}: {found} {expected}"
            );
        }
    }
    // Fewer than volumes.
    let text = std::fs::read(&path).expect("read");
    let cut = String::from_utf8_lossy(&text).replace("DWMRI_NEX_0003:=2\n", "");
    std::fs::write(&path, cut).expect("written");
    let io::Opened::Volume(volume, _) = io::open(&path, &Control::new()).expect("opened") else {
        panic!("no volume")
    };
    let error = gradients::for_scan(&path, &[], &volume.grid, volume.frames).expect_err("refused");
    assert!(matches!(error, Error::Counts { .. }), "{error}");
}

/// A vector along the image's x axis as FSL writes it, on the plainest grids.
fn both_handednesses() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = write(folder.path(), "1000 1000 1000", "1 0 0\n0 1 0\n0 0 1\n");
    // Left-handed (LAS, the radiological order): as the image's axes point.
    let las = DMat3::from_diagonal(DVec3::new(-2.0, 2.0, 3.0));
    let found = read(&files, &grid(las), 3).gradients.directions;
    assert_eq!(found, [-DVec3::X, DVec3::Y, DVec3::Z]);
    // Right-handed (RAS): x is negated first, and so points to the same side of the patient.
    let ras = DMat3::from_diagonal(DVec3::new(2.0, 2.0, 3.0));
    let found = read(&files, &grid(ras), 3).gradients.directions;
    assert_eq!(found, [-DVec3::X, DVec3::Y, DVec3::Z]);
    // Sagittal storage PSR (columns back, up, right): determinant -1·1·1 of an odd permutation.
    let psr = DMat3::from_cols(-DVec3::Y, DVec3::Z, DVec3::X);
    assert!(psr.determinant() < 0.0);
    let found = read(&files, &grid(psr), 3).gradients.directions;
    assert_eq!(found, [-DVec3::Y, DVec3::Z, DVec3::X]);
}

/// World directions → image axes by the known rotation → file → world directions.
fn any_rotation() {
    let mut random = Random::fresh("any_rotation");
    let folder = tempfile::tempdir().expect("a temporary folder");
    for _ in 0..100 {
        let affine = random_affine(&mut random, false);
        let grid = grid(affine.matrix3);
        let world: Vec<DVec3> = (0..8).map(|_| random.direction()).collect();
        // Without shear the axes are orthogonal: an image component is a dot product.
        let axes = [0, 1, 2].map(|c| affine.matrix3.col(c).normalize());
        let x = if affine.matrix3.determinant() > 0.0 {
            -1.0
        } else {
            1.0
        };
        let row = |axis: usize| {
            let sign = if axis == 0 { x } else { 1.0 };
            let text = world
                .iter()
                .map(|d| (sign * axes[axis].dot(*d)).to_string());
            text.collect::<Vec<_>>().join("  ") + "\n"
        };
        let bvec = row(0) + &row(1) + &row(2);
        let files = write(folder.path(), &"1500\n".repeat(8), &bvec);
        let table = read(&files, &grid, 8);
        assert!(warnings(&table).is_empty(), "{:?}", table.remarks);
        for (found, target) in table.gradients.directions.iter().zip(&world) {
            // Double precision throughout.
            assert!(found.distance(*target) < 1e-12, "{found} {target}");
        }
    }
}

/// A gantry tilt by t shears z towards y; the nearest rotation turns both axes by t/2 at any voxel sizes.
fn shear() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = write(folder.path(), "1000 1000 1000", "1 0 0\n0 1 0\n0 0 1\n");
    for tilt in [0.05f64, 0.2, 0.4] {
        for thickness in [1.0, 5.0] {
            let z = DVec3::new(0.0, tilt.sin(), tilt.cos()) * thickness;
            let matrix = DMat3::from_cols(-DVec3::X, DVec3::Y, z);
            let found = read(&files, &grid(matrix), 3).gradients.directions;
            let (s, c) = (0.5 * tilt).sin_cos();
            let requested = [-DVec3::X, DVec3::new(0.0, c, -s), DVec3::new(0.0, s, c)];
            for (found, requested) in found.iter().zip(requested) {
                assert!(
                    found.distance(requested) < 1e-12,
                    "{tilt} {thickness}: {found}"
                );
            }
        }
    }
}

fn mrtrix() {
    let mut random = Random::fresh("mrtrix");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("dwi.b");
    let d = random.direction();
    let text = format!(
        "# command_history: x\n0 0 0 0\n{} {}\t{} 3000\n",
        d.x, d.y, d.z
    );
    std::fs::write(&path, text).expect("written");
    let affine = random_affine(&mut random, true);
    let table = read(&TableFiles::Mrtrix(path), &grid(affine.matrix3), 2);
    assert_eq!(table.gradients.b_s_per_mm2, [0.0, 3000.0]);
    assert_eq!(table.gradients.directions[0], DVec3::ZERO);
    assert!(table.gradients.directions[1].distance(d) < 1e-12);
}

fn forms() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let las = grid(DMat3::from_diagonal(DVec3::new(-1.0, 1.0, 1.0)));
    let requested = [DVec3::ZERO, -DVec3::X, DVec3::Y, DVec3::new(0.0, 0.6, -0.8)];
    let columns = "0 1 0 0\n0 0 1 0.6\n0 0 0 -0.8";
    let rows = "0 0 0\n1 0 0\n0 1 0\n0 0.6 -0.8\n";
    for bvec in [columns, rows] {
        for bval in ["0 1000 1000 2000", "0\n1000\n1000\n2000\n"] {
            let plain = |text: &str| text.to_owned();
            let tabs = |text: &str| text.replace(' ', "\t ");
            let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', " \r\n"));
            let loose = |text: &str| format!("\n{}\n\n  \n", text.replace(' ', "  , "));
            let science = |text: &str| text.replace("1000", "1e3").replace("0.6", "+6.0E-1");
            let dressings: [&dyn Fn(&str) -> String; 5] =
                [&plain, &tabs, &windows, &loose, &science];
            for dress in dressings {
                let files = write(folder.path(), &dress(bval), &dress(bvec));
                let table = read(&files, &las, 4);
                assert_eq!(table.gradients.b_s_per_mm2, [0.0, 1000.0, 1000.0, 2000.0]);
                for (found, requested) in table.gradients.directions.iter().zip(requested) {
                    assert!(found.distance(requested) < 1e-12);
                }
            }
        }
    }
}

fn no_vectors() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let grid = grid(DMat3::IDENTITY);
    // b 0 with a vector, b 50 with NaN, then b 1000 with zero, NaN, tiny, half and valid vectors.
    let files = write(
        folder.path(),
        "0 50 1000 1000 1000 1000 1000 1000",
        "1 nan 0 NaN 1e-8 0.5 0 0.95\n0 nan 0 nan 0 0 1 0\n0 nan 0 nan 0 0 0 0",
    );
    let Table {
        gradients,
        remarks: warnings,
        ..
    } = read(&files, &grid, 8);
    let weightings: Vec<Weighting> = (0..8).map(|v| gradients.weighting(v)).collect();
    use Weighting::{B0, Diffusion, NoDirection};
    let requested = [
        B0,
        B0,
        NoDirection,
        NoDirection,
        NoDirection,
        Diffusion,
        Diffusion,
        Diffusion,
    ];
    assert_eq!(weightings, requested);
    assert_eq!(&gradients.directions[5..], [-DVec3::X, DVec3::Y, -DVec3::X]);
    // The half is reported, 0.95 is rounding; b stays unchanged.
    assert!(
        warnings[0].starts_with("1 vector has length 0.50"),
        "{warnings:?}"
    );
    assert!(warnings[1].contains("3 diffusion-weighted") && warnings[1].ends_with(": 2, 3, 4"));
    assert_eq!(gradients.b_s_per_mm2[5], 1000.0);
    // A table without anything to fit is reported.
    let files = write(folder.path(), "0 1", "1 0\n0 1\n0 0");
    let warnings = read(&files, &grid, 2).remarks;
    assert_eq!(warnings[0].topic, Some(RemarkTopic::NoneWeighted));
    assert!(
        warnings[0].contains("No volume is diffusion-weighted"),
        "{warnings:?}"
    );
}

/// MRtrix multiplies b-values by squared lengths unless all are 1 but for rounding; FSL's are kept, with a warning that
/// states the difference.
fn lengths() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let grid = grid(DMat3::IDENTITY);
    let path = folder.path().join("dwi.b");
    let table = |text: &str, volumes: usize| {
        std::fs::write(&path, text).expect("written");
        read(&TableFiles::Mrtrix(path.clone()), &grid, volumes)
    };
    let scaled = table(
        "0 0 0 0\n0 0 0 2800\n0.5 0 0 2800\n0 0.9 0 2800\n0 0 1 2800\n0.1 0 0 2800\n",
        6,
    );
    let expected = [0.0, 2800.0, 700.0, 2268.0, 2800.0, 28.0];
    for (b, expected) in scaled.gradients.b_s_per_mm2.iter().zip(expected) {
        assert!((b - expected).abs() < 1e-9, "{b} {expected}");
    }
    assert_eq!(scaled.gradients.directions[2], DVec3::X);
    let notes: Vec<&Remark> = scaled.remarks.iter().filter(|r| r.is_note).collect();
    let text = "3 vectors have lengths from 0.10 to 0.90 instead of 1: each b-value was multiplied by the squared length";
    assert!(
        notes.len() == 1 && notes[0].starts_with(text) && notes[0].contains("0 to 2800"),
        "{notes:?}"
    );
    // Rounding in the file: MRtrix scales from half a percent of length on.
    let kept = table("0 0 0 0\n0.999 0 0 1000\n0 1.004 0 1000\n", 3);
    assert_eq!(kept.gradients.b_s_per_mm2, [0.0, 1000.0, 1000.0]);
    assert!(kept.remarks.is_empty(), "{:?}", kept.remarks);
    let files = write(folder.path(), "0 2800 2800", "0 0.5 0\n0 0 1\n0 0 0");
    let fsl = read(&files, &grid, 3);
    assert_eq!(fsl.gradients.b_s_per_mm2, [0.0, 2800.0, 2800.0]);
    assert!(
        fsl.remarks[0].contains("MRtrix multiplies each b-value")
            && fsl.remarks[0].contains("write these products as b-values"),
        "{:?}",
        fsl.remarks
    );
}

fn refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let grid = grid(DMat3::IDENTITY);
    let bvec = "1 0 0 0.6\n0 1 0 0.8\n0 0 1 0";
    let error = |bval: &str, bvec: &str| {
        let files = write(folder.path(), bval, bvec);
        let error = gradients::read(&files, &grid, 4).expect_err("refused");
        (sentence(&error), error)
    };
    // All three counts, with the wrong file last.
    let (text, counts) = error("0 1000 1000", bvec);
    assert!(
        text.contains("3 b-values and 4 vectors, expected 4"),
        "{text}"
    );
    assert!(text.ends_with("a.bval"));
    assert!(matches!(
        counts,
        Error::Counts {
            b_values: 3,
            vectors: Some(4),
            volumes: 4,
            ..
        }
    ));
    let (text, _) = error("0 1000 1000 1000", "1 0\n0 1\n0 0");
    assert!(
        text.contains("4 b-values and 2 vectors") && text.ends_with("a.bvec"),
        "{text}"
    );
    for (bval, bvec, problem) in [
        ("0 1000 nan 1000", bvec, "the b-value NaN of volume 2"),
        ("0 1000 -5 1000", bvec, "the b-value -5 of volume 2"),
        ("0 1000 x 1000", bvec, "“x” in line 1"),
        ("0 1000\n1000 1000", bvec, "2 rows of 2 numbers"),
        ("", bvec, "no numbers"),
        (
            "0 1000 1000 1000",
            "1 0 0 0\n0 1 0\n0 0 1 0",
            "3 rows of 3 to 4 numbers",
        ),
        (
            "0 1000 1000 1000",
            "1 0 0 0\n0 1 0 0",
            "2 rows of 4 numbers",
        ),
        ("0 1000 1000 1000", "", "no numbers"),
    ] {
        let (text, _) = error(bval, bvec);
        assert!(text.contains(problem), "{problem}: {text}");
    }
    // Binary files, and files too large for a table.
    let files = write(folder.path(), "", bvec);
    std::fs::write(&files.paths()[0], [0xff, 0xfe, 0, 1]).expect("written");
    let binary = gradients::read(&files, &grid, 4).expect_err("refused");
    assert!(sentence(&binary).contains("binary"));
    let huge = std::fs::File::create(&files.paths()[0]).expect("created");
    huge.set_len(1 << 40).expect("a hole");
    sentence(&gradients::read(&files, &grid, 4).expect_err("refused"));
    let b = folder.path().join("a.b");
    std::fs::write(&b, "0 0 0 0\n1 0 0 1000").expect("written");
    let one_file = gradients::read(&TableFiles::Mrtrix(b), &grid, 4).expect_err("refused");
    assert!(sentence(&one_file).contains("2 gradients, expected 4"));
    // A table is not an image: the sentence names the file to open.
    let error = io::open(&files.paths()[1], &Control::new()).expect_err("refused");
    assert!(sentence(&error).contains("open the scan"));
}

fn companions() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    let touch = |name: &str| std::fs::write(path(name), "").expect("written");
    let found = |scan: &str| gradients::find_companion(&path(scan)).map(|f| f.paths());
    assert_eq!(found("dwi.nii.gz"), None);
    touch("bvals");
    touch("bvecs");
    assert_eq!(
        found("dwi.nii.gz"),
        Some(vec![path("bvals"), path("bvecs")])
    );
    touch("dwi.b");
    assert_eq!(found("dwi.nii.gz"), Some(vec![path("dwi.b")]));
    touch("dwi.bvals");
    touch("dwi.bvecs");
    assert_eq!(
        found("dwi.img"),
        Some(vec![path("dwi.bvals"), path("dwi.bvecs")])
    );
    // Half a pair does not count.
    touch("dwi.bval");
    assert_eq!(
        found("dwi.hdr.gz"),
        Some(vec![path("dwi.bvals"), path("dwi.bvecs")])
    );
    touch("dwi.bvec");
    let pair = Some(vec![path("dwi.bval"), path("dwi.bvec")]);
    for scan in ["dwi.nii.gz", "dwi.nii", "dwi.NII.GZ", "dwi.hdr"] {
        assert_eq!(found(scan), pair, "{scan}");
    }
    // Names as the user may give them.
    let named = |names: &[&str]| {
        let paths: Vec<PathBuf> = names.iter().map(|n| path(n)).collect();
        TableFiles::from_paths(&paths)
    };
    for names in [
        &["dwi.bval"][..],
        &["dwi.bvec"],
        &["dwi.bval", "dwi.bvec"],
        &["dwi.bvec", "dwi.bval"],
    ] {
        assert_eq!(named(names).map(|f| f.paths()).ok(), pair, "{names:?}");
    }
    assert_eq!(named(&["dwi.b"]), Ok(TableFiles::Mrtrix(path("dwi.b"))));
    touch("lonely.bval");
    assert!(sentence(&named(&["lonely.bval"]).expect_err("alone")).contains("bvec"));
    sentence(&named(&["a", "b", "c"]).expect_err("three"));
    // Any name without a dot must not confuse the ending with the stem.
    assert_eq!(found("dwi"), pair);
    assert_eq!(found("ä.ß"), Some(vec![path("bvals"), path("bvecs")]));
}

fn round_trip() {
    let mut random = Random::fresh("there_and_back");
    let folder = tempfile::tempdir().expect("a temporary folder");
    for i in 0..30 {
        let affine = random_affine(&mut random, i % 2 == 0);
        let grid = grid(affine.matrix3);
        let mut table = Gradients {
            b_s_per_mm2: vec![0.0],
            directions: vec![DVec3::ZERO],
        };
        for _ in 0..12 {
            table
                .b_s_per_mm2
                .push((random.uniform(100.0, 3000.0) * 10.0).round() / 10.0);
            table.directions.push(random.direction());
        }
        let (bval, bvec) = (folder.path().join("b.bval"), folder.path().join("b.bvec"));
        gradients::save(&bval, &bvec, &table, &grid).expect("saved");
        let reread = read(&TableFiles::Fsl { bval, bvec }, &grid, 13);
        assert!(warnings(&reread).is_empty(), "{:?}", reread.remarks);
        assert_eq!(reread.gradients.b_s_per_mm2, table.b_s_per_mm2);
        for (found, target) in reread.gradients.directions.iter().zip(&table.directions) {
            assert!(found.distance(*target) < 1e-12);
        }
    }
}

fn real(scan: PathBuf) {
    let (volume, info) = nifti::read(&scan, &Control::new()).expect("valid");
    assert_eq!(info.warnings, Vec::<String>::new());
    let table = gradients::for_scan(&scan, &[], &volume.grid, volume.frames);
    let table = table.expect("valid").expect("next to it");
    assert_eq!(table.gradients.summary(), "1 × b 0, 32 × b 1000");
    assert!(warnings(&table).is_empty(), "{:?}", table.remarks);
}
