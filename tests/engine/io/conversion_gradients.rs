//! Gradients of a converted scan: where they are written, how they are reoriented, what is lost.

use super::conversion::{Nifti, convert_with_reading, go};
use super::formats::grid;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid};
use arcuate::io::{self, AffineReading, Reading, Remark, gradients};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::conversion::gradients_there_and_back", round_trip),
        test("io::conversion::gradients_turn_with_a_moved_image", moved),
        test("io::conversion::gradients_turn_on_opening", opened_moved),
        test("io::conversion::losses_are_reported", losses),
        test("io::conversion::companion_files_obey_the_same_rules", rules),
        test("io::conversion::the_input_s_own_table_stays", own_table),
    ]
}

/// A scan of these b-values and directions in the world, with its table in FSL's axes.
fn scan(here: &Path, name: &str, grid: &Grid, table: &[(f64, DVec3)]) {
    let volumes = table.len();
    let n = grid.voxel_count() * volumes;
    let [x, y, z] = grid.shape.map(|n| n as i16);
    let image = Nifti {
        dims: vec![x, y, z, volumes as i16],
        affine: grid.world_from_voxel,
        ..Nifti::new(
            512,
            2,
            (0..n as u16).flat_map(|v| v.to_le_bytes()).collect(),
        )
    };
    std::fs::write(here.join(format!("{name}.nii")), image.file()).expect("written");
    let fsl = arcuate::data::axis_change::world_from_fsl(grid).transpose();
    let b: Vec<String> = table.iter().map(|(b, _)| b.to_string()).collect();
    let row = |a: usize| {
        let row = table.iter().map(|(_, v)| (fsl * *v)[a].to_string());
        row.collect::<Vec<_>>().join(" ")
    };
    let vectors = [0, 1, 2].map(row).join("\n");
    std::fs::write(here.join(format!("{name}.bval")), b.join(" ")).expect("written");
    std::fs::write(here.join(format!("{name}.bvec")), vectors).expect("written");
}

/// The gradients of an image with a transform are transformed with it, in any axes of its file; even if it is mirrored,
/// which changes whether FSL negates x.
fn opened_moved() {
    let mut random = Random::fresh("gradients on opening");
    let mut handed = [false; 2];
    for order in [21, 5] {
        let large = grid(order, true, &mut random);
        handed[usize::from(large.world_from_voxel.matrix3.determinant() > 0.0)] = true;
        for mirror in [1.0, -1.0] {
            let turn = DMat3::from_quat(random.rotation());
            let turn = turn * DMat3::from_diagonal(DVec3::new(mirror, 1.0, 1.0));
            opened_moved_by(turn, &large, &mut random);
        }
    }
    assert_eq!(handed, [true; 2], "both handednesses");
}

fn opened_moved_by(turn: DMat3, large: &Grid, random: &mut Random) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let own = Grid::new([3, 4, 2], large.world_from_voxel, AffineSource::Sform).expect("regular");
    let b = [0.0, 1000.0, 1000.0, 1000.0, 1000.0, 1000.0];
    let table: Vec<(f64, DVec3)> = b.iter().map(|b| (*b, random.direction())).collect();
    scan(here, "fsl", &own, &table);
    go(here, "fsl.nii", "world.nrrd");
    std::fs::copy(here.join("fsl.nii"), here.join("mrtrix.nii")).expect("copied");
    let rows = table
        .iter()
        .map(|(b, g)| format!("{} {} {} {b}\n", g.x, g.y, g.z));
    std::fs::write(here.join("mrtrix.b"), rows.collect::<String>()).expect("written");
    let by = DAffine3::from_mat3_translation(turn, DVec3::new(5.0, -7.0, 11.0));
    let moved = own.moved(by).expect("regular");
    let is = |found: &[DVec3], turn: DMat3, what: &str| {
        for (found, (_, g)) in found.iter().zip(&table).skip(1) {
            let off = found.dot(turn * *g).abs();
            assert!(off > 1.0 - 1e-6, "{what}: {found} and {}", turn * *g);
        }
    };
    let read = |name: &str, grid: &Grid| {
        let read = gradients::for_scan(&here.join(name), &[], grid, 6);
        read.expect(name).expect("a table")
    };
    for (name, of_world) in [
        ("fsl.nii", false),
        ("world.nrrd", true),
        ("mrtrix.nii", true),
    ] {
        for (grid, turn, reported) in [(&own, DMat3::IDENTITY, false), (&moved, turn, of_world)] {
            let found = read(name, grid);
            let is_rotation_note = |w: &Remark| w.is_note && w.contains("rotated with the image");
            assert_eq!(
                found.remarks.iter().any(is_rotation_note),
                reported,
                "{name}"
            );
            is(&found.gradients.directions, turn, name);
        }
        // Converting with the affine and opening with it are the same.
        for to in ["moved.nii", "moved.nrrd"] {
            let reported = Reading {
                affine: Some(Box::new(AffineReading::matrix(by))),
                ..Reading::default()
            };
            convert_with_reading(here, name, to, &reported, true).expect("converted");
            let grid = io::image::read_grid(&here.join(to), &Control::new()).expect("a grid");
            let found = read(to, &grid);
            is(&found.gradients.directions, turn, &format!("{name} {to}"));
        }
    }
}

/// b g gᵀ of every volume in the world, from a file and those next to it; including low b-values.
fn matrices(path: &Path) -> Vec<DMat3> {
    let rows = gradients::rows_of(path, 6).unwrap_or_else(|e| panic!("{e}"));
    let rows = rows.expect("a table");
    let grid = io::image::read_grid(path, &Control::new()).expect("a grid");
    let all = rows.b.iter().zip(rows.directions(&grid));
    all.map(|(b, g)| DMat3::from_cols(g * g.x, g * g.y, g * g.z) * *b)
        .collect()
}

fn round_trip() {
    let mut random = Random::fresh("gradients there and back");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let mut handed = [false; 2];
    for order in 0..48 {
        let grid = grid(order, true, &mut random);
        let grid =
            Grid::new([3, 4, 2], grid.world_from_voxel, AffineSource::Sform).expect("regular");
        handed[usize::from(grid.world_from_voxel.matrix3.determinant() > 0.0)] = true;
        let b = [0.0, 5.0, 700.0, 1000.0, 3000.0, 2995.0];
        let table: Vec<(f64, DVec3)> = b.iter().map(|b| (*b, random.direction())).collect();
        scan(here, "a", &grid, &table);
        let force = |from: &str, to: &str| {
            let done = convert_with_reading(here, from, to, &Reading::default(), true);
            let done = done.unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(done.unsupported_contents, [""; 0], "{order} {from}");
            done
        };
        let done = force("a.nii", "same.nii.gz");
        let adjacent = [here.join("same.bval"), here.join("same.bvec")];
        assert_eq!(done.written[1..], adjacent, "named");
        assert!(
            done.content
                .contains("6 volumes in uint16, with its gradients"),
            "{}",
            done.content
        );
        force("a.nii", "b.nrrd");
        force("b.nrrd", "c.nrrd");
        force("c.nrrd", "d.nii.gz");
        for name in ["a.nii", "same.nii.gz", "b.nrrd", "c.nrrd", "d.nii.gz"] {
            let found = matrices(&here.join(name));
            for (volume, ((b, g), found)) in table.iter().zip(found).enumerate() {
                let requested = DMat3::from_cols(*g * g.x, *g * g.y, *g * g.z) * *b;
                // The header's float32 affine rotates a vector by less than 1e-6.
                assert!(
                    found.abs_diff_eq(requested, 1e-6 * b.max(1.0)),
                    "{order} {name} {volume}: {found} {requested}"
                );
            }
        }
        // An FSL pair is kept character by character if the image does not move.
        let text = |name: &str| std::fs::read_to_string(here.join(name)).expect("text");
        assert_eq!(text("a.bvec").trim(), text("same.bvec").trim());
        // MRtrix's rows are in the world.
        let rows: Vec<String> = table
            .iter()
            .map(|(b, v)| format!("{} {} {} {b}\n", v.x, v.y, v.z))
            .collect();
        std::fs::copy(here.join("a.nii"), here.join("m.nii")).expect("copied");
        std::fs::write(here.join("m.b"), rows.concat()).expect("written");
        force("m.nii", "n.nii.gz");
        for (a, b) in matrices(&here.join("n.nii.gz"))
            .iter()
            .zip(matrices(&here.join("m.nii")))
        {
            assert!(a.abs_diff_eq(b, 1e-9 * 3000.0), "{order}");
        }
    }
    assert_eq!(handed, [true; 2], "both handednesses");
}

fn moved() {
    let mut random = Random::fresh("gradients moved");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for order in [0, 7, 30, 41] {
        let grid = grid(order, true, &mut random);
        let grid =
            Grid::new([3, 4, 2], grid.world_from_voxel, AffineSource::Sform).expect("regular");
        let table: Vec<(f64, DVec3)> = (0..6).map(|_| (1000.0, random.direction())).collect();
        scan(here, "a", &grid, &table);
        let turn = DMat3::from_quat(random.rotation());
        let by = DAffine3::from_mat3_translation(turn, DVec3::new(3.0, -5.0, 7.0));
        let reported = Reading {
            affine: Some(Box::new(AffineReading::matrix(by))),
            ..Reading::default()
        };
        for to in ["b.nii.gz", "b.nrrd"] {
            let done = convert_with_reading(here, "a.nii", to, &reported, true).expect("converted");
            assert!(
                done.unsupported_contents
                    .iter()
                    .all(|l| l.contains("which space")),
                "{:?}",
                done.unsupported_contents
            );
            for ((b, g), found) in table.iter().zip(matrices(&here.join(to))) {
                let g = turn * *g;
                let requested = DMat3::from_cols(g * g.x, g * g.y, g * g.z) * *b;
                assert!(
                    found.abs_diff_eq(requested, 2e-3),
                    "{order} {to}: {found} {requested}"
                );
            }
        }
    }
}

fn losses() {
    let mut random = Random::fresh("losses");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let grid = grid(5, true, &mut random);
    let grid = Grid::new([3, 4, 2], grid.world_from_voxel, AffineSource::Sform).expect("regular");
    let mut table: Vec<(f64, DVec3)> = (0..6).map(|_| (1000.0, random.direction())).collect();
    table[2].1 = DVec3::ZERO;
    scan(here, "trace", &grid, &table);
    let loses = |from: &str, to: &str, sentence: &str| {
        let done =
            convert_with_reading(here, from, to, &Reading::default(), true).expect("converted");
        assert!(
            done.unsupported_contents
                .iter()
                .any(|l| l.contains(sentence)),
            "{from}: {:?}",
            done.unsupported_contents
        );
    };
    loses("trace.nii", "a.nrrd", "1 volume becomes b = 0");
    assert_eq!(
        go(here, "trace.nii", "b.nii").unsupported_contents,
        [""; 0],
        "FSL's pair holds it"
    );
    table[2].1 = 2.0 * random.direction();
    scan(here, "long", &grid, &table);
    loses("long.nii", "a.nrrd", "1 length becomes 1");
    // An unreadable or incomplete table is not a reason to be silent.
    std::fs::write(here.join("long.bvec"), "1 2 x").expect("written");
    loses("long.nii", "c.nii", "gradients of this scan are left out");
    assert!(!here.join("c.bval").exists());
    std::fs::remove_file(here.join("long.bvec")).expect("removed");
    loses("long.nii", "c.nii", "but no .bvec");
    std::fs::write(here.join("long.bval"), "0 1000").expect("written");
    std::fs::write(here.join("long.bvec"), "0 1\n0 0\n0 0").expect("written");
    loses("long.nii", "c.nii", "2 b-values and 2 vectors");
    // A folder's table for another scan does not belong to this one.
    for name in ["bvals", "bvecs"] {
        let from = name
            .replace("bvals", "long.bval")
            .replace("bvecs", "long.bvec");
        std::fs::rename(here.join(from), here.join(name)).expect("renamed");
    }
    assert_eq!(go(here, "long.nii", "d.nii").unsupported_contents, [""; 0]);
    // Keys of an NRRD.
    go(here, "trace.nii", "e.nrrd");
    let file = std::fs::read(here.join("e.nrrd")).expect("written");
    let text = [b"NRRD0005\npatient weight:=70\n", &file[9..]].concat();
    std::fs::write(here.join("f.nrrd"), text).expect("written");
    loses("f.nrrd", "f.nii", "patient weight");
}

fn rules() {
    let mut random = Random::fresh("rules");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let grid = grid(5, true, &mut random);
    let grid = Grid::new([3, 4, 2], grid.world_from_voxel, AffineSource::Sform).expect("regular");
    let table: Vec<(f64, DVec3)> = (0..6).map(|_| (1000.0, random.direction())).collect();
    scan(here, "a", &grid, &table);
    std::fs::write(here.join("b.bvec"), "mine").expect("written");
    let reported = Reading::default();
    let error =
        convert_with_reading(here, "a.nii", "b.nii", &reported, false).expect_err("refused");
    assert!(error.to_string().contains("--force"), "{error}");
    assert!(!here.join("b.nii").exists() && !here.join("b.bval").exists());
    assert_eq!(std::fs::read(here.join("b.bvec")).expect("found"), b"mine");
    convert_with_reading(here, "a.nii", "b.nii", &reported, true).expect("replaced");
    assert_ne!(std::fs::read(here.join("b.bvec")).expect("found"), b"mine");
    // An existing table would be used for an image without one.
    for ending in ["bval", "bvec"] {
        std::fs::remove_file(here.join(format!("a.{ending}"))).expect("removed");
    }
    let done = convert_with_reading(here, "a.nii", "b.nii", &reported, true).expect("replaced");
    assert!(
        done.notes
            .iter()
            .any(|n| n.contains("does not belong to this image")),
        "{:?}",
        done.notes
    );
}

/// A pair next to both names is the input's own: it is kept character by character, unless the image moves.
fn own_table() {
    let mut random = Random::fresh("own table");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let grid = grid(5, true, &mut random);
    let grid = Grid::new([3, 4, 2], grid.world_from_voxel, AffineSource::Sform).expect("regular");
    let table: Vec<(f64, DVec3)> = (0..6).map(|_| (1000.0, random.direction())).collect();
    scan(here, "y", &grid, &table);
    let at = |name: &str| here.join(name);
    // A format that this program does not write.
    let b = "1e3, 1e3 1e3 1e3 1e3 1000.0 # mine";
    std::fs::write(at("y.bval"), b).expect("written");
    let vectors = std::fs::read(at("y.bvec")).expect("found");
    let assert_unchanged = || {
        assert_eq!(std::fs::read(at("y.bval")).expect("found"), b.as_bytes());
        assert_eq!(std::fs::read(at("y.bvec")).expect("found"), vectors);
    };
    let reported = Reading::default();
    for force in [false, true] {
        let done = convert_with_reading(here, "y.nii", "y.nii.gz", &reported, force);
        let done = done.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(done.written, [at("y.nii.gz")]);
        assert!(
            done.content.contains("with its gradients"),
            "{}",
            done.content
        );
        assert_eq!(done.unsupported_contents, [""; 0]);
        assert_unchanged();
    }
    let own = matrices(&at("y.nii"));
    for (found, own) in matrices(&at("y.nii.gz")).iter().zip(own) {
        assert!(found.abs_diff_eq(own, 1e-6 * 1000.0), "{found} {own}");
    }
    // The image moves: its gradients rotate, and the pair would change.
    let turn = DMat3::from_quat(random.rotation());
    let by = DAffine3::from_mat3_translation(turn, DVec3::ZERO);
    let moves = Reading {
        affine: Some(Box::new(AffineReading::matrix(by))),
        ..Reading::default()
    };
    std::fs::remove_file(at("y.nii.gz")).expect("removed");
    let error =
        convert_with_reading(here, "y.nii", "y.nii.gz", &moves, false).expect_err("refused");
    assert!(error.to_string().contains("--force"), "{error}");
    assert!(!at("y.nii.gz").exists());
    assert_unchanged();
    // Half of a pair is the input's own as well, and belongs to no other image.
    std::fs::remove_file(at("y.bvec")).expect("removed");
    for to in ["y.nrrd", "y.nii.gz"] {
        let done = convert_with_reading(here, "y.nii", to, &reported, true).expect("converted");
        assert!(
            done.unsupported_contents
                .iter()
                .any(|l| l.contains("but no .bvec")),
            "{to}: {:?}",
            done.unsupported_contents
        );
        assert!(
            !done
                .notes
                .iter()
                .any(|n| n.contains("does not belong to this image")),
            "{to}: {:?}",
            done.notes
        );
    }
}
