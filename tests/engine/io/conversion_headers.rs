//! Other content kept in a converted or saved image: the rest of its header, its acquisition, the type of its file.

use super::conversion::{Found, Nifti, convert_with_reading, types};
use crate::support::composed_nifti::gzip;
use crate::support::{Window, test};
use arcuate::compute::Control;
use arcuate::data::Mask;
use arcuate::io::{AffineReading, Reading, nifti};
use arcuate::state::{Action, FilesAction};
use glam::{DAffine3, DVec3};
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::conversion::the_rest_of_a_header", rest),
        test("io::conversion::the_description_of_before", described),
        test("io::conversion::how_a_scan_was_taken", acquisition),
        test("io::conversion::saved_as_it_was_opened", saved_as_opened),
        test("io::conversion::extensions_of_a_pair", pairs),
        test("io::conversion::extensions_that_are_left_out", excluded),
        test("io::conversion::scaling_of_colours", scaled_colours),
        test("io::conversion::an_affine_that_NIfTI_cannot_hold", too_far),
        test("io::conversion::an_affine_that_NIfTI_rounds", rounded),
        test("io::conversion::a_qform_that_is_left_out", other_form),
        test(
            "io::conversion::header_lines_and_float64_of_streamlines",
            of_streamlines,
        ),
    ]
}

/// The bytes of a NIfTI with header extensions, each given as code and content.
fn extended(image: &Nifti, extensions: &[(i32, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (code, content) in extensions {
        bytes.extend((8 + content.len() as i32).to_le_bytes());
        bytes.extend(code.to_le_bytes());
        bytes.extend(*content);
    }
    let mut file = image.file();
    let header = if image.second { 540 } else { 348 };
    let voxels = header + 4 + bytes.len();
    match image.second {
        true => file[168..176].copy_from_slice(&(voxels as i64).to_le_bytes()),
        false => file[108..112].copy_from_slice(&(voxels as f32).to_le_bytes()),
    }
    file[header] = 1;
    file.splice(header + 4..header + 4, bytes);
    file
}

/// Writes an image with header extensions as a `.hdr` and `.img` pair.
fn write_pair(here: &Path, image: &Nifti, extensions: &[(i32, &[u8])], packed: bool) {
    let mut header = extended(image, extensions);
    let voxels = header.split_off(header.len() - image.bytes.len());
    match image.second {
        true => {
            header[4..12].copy_from_slice(b"ni2\0\r\n\x1a\n");
            header[168..176].fill(0);
        }
        false => {
            header[344..348].copy_from_slice(b"ni1\0");
            header[108..112].fill(0);
        }
    }
    for (ending, bytes) in [("hdr", header), ("img", voxels)] {
        let (name, bytes) = match packed {
            true => (format!("p.{ending}.gz"), gzip(&bytes)),
            false => (format!("p.{ending}"), bytes),
        };
        std::fs::write(here.join(name), bytes).expect("written");
    }
}

fn pairs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let limit = 1 << 20;
    let long = vec![b'x'; limit + 8];
    for (second, packed) in [(false, false), (false, true), (true, false), (true, true)] {
        let image = Nifti {
            second,
            ..Nifti::new(4, 2, (0..16).collect())
        };
        let name = if packed { "p.hdr.gz" } else { "p.hdr" };
        write_pair(here, &image, &[(4, b"<AFNI_atr/>*****")], packed);
        let done = convert_with_reading(here, name, "a.nii", &Reading::default(), true)
            .expect("converted");
        assert_eq!(done.unsupported_contents, [""; 0], "{second} {packed}");
        let found = Found::read(&here.join("a.nii"));
        assert!(String::from_utf8_lossy(&found.0).contains("<AFNI_atr/>"));
        assert_eq!(found.voxels(), image.bytes);
        write_pair(here, &image, &[(4, &long)], packed);
        let done = convert_with_reading(here, name, "a.nii", &Reading::default(), true)
            .expect("converted");
        let bytes = "1\u{202F}048\u{202F}592 bytes are left out";
        assert!(
            done.unsupported_contents.join("; ").contains(bytes),
            "{:?}",
            done.unsupported_contents
        );
        let done = convert_with_reading(here, name, "a.nrrd", &Reading::default(), true)
            .expect("converted");
        assert!(
            done.unsupported_contents.join("; ").contains("extensions"),
            "{:?}",
            done.unsupported_contents
        );
        for ending in ["hdr", "img", "hdr.gz", "img.gz"] {
            let _ = std::fs::remove_file(here.join("p").with_extension(ending));
        }
    }
}

/// Zeros after the extensions are not a loss; other bytes that form no extension are.
fn excluded() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let image = Nifti::new(4, 2, (0..16).collect());
    let losses = |name: &str, file: Vec<u8>, to: &str| {
        std::fs::write(here.join(name), file).expect("written");
        let done =
            convert_with_reading(here, name, to, &Reading::default(), true).expect("converted");
        assert_eq!(Found::read(&here.join("b.nii")).voxels(), image.bytes);
        done.unsupported_contents
    };
    let mut empty = extended(&image, &[(4, &vec![0; (1 << 20) + 8])]);
    empty[348] = 0;
    assert_eq!(losses("a.nii", empty, "b.nii"), [""; 0]);
    let mut broken = extended(
        &image,
        &[(4, b"<AFNI_atr/>*****"), (6, b"a comment letters")],
    );
    let second = 352 + 24;
    broken[second..second + 4].copy_from_slice(&4_000i32.to_le_bytes());
    let message = losses("a.nii", broken.clone(), "b.nii");
    assert!(
        message.len() == 1 && message[0].contains("25 bytes"),
        "{message:?}"
    );
    let message = losses("a.nii", broken, "b.nrrd");
    assert!(
        message.iter().any(|s| s.contains("here 25 bytes")),
        "{message:?}"
    );
}

/// Slope and intercept have no meaning for colours; a NIfTI keeps those of the header, and an NRRD reports the loss.
fn scaled_colours() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for second in [false, true] {
        let image = Nifti {
            second,
            slope: 2.0,
            intercept: 1.0,
            ..Nifti::new(128, 3, (0..24).collect())
        };
        std::fs::write(here.join("a.nii"), image.file()).expect("written");
        let done = convert_with_reading(here, "a.nii", "b.nii", &Reading::default(), true)
            .expect("converted");
        assert_eq!(done.unsupported_contents, [""; 0]);
        assert!(done.notes[0].contains("slope 2"), "{:?}", done.notes);
        let found = Found::read(&here.join("b.nii"));
        assert_eq!([112, 116].map(|at| found.f32(at)), [2.0, 1.0]);
        assert_eq!(found.voxels(), image.bytes);
        let done = convert_with_reading(here, "a.nii", "b.nrrd", &Reading::default(), true)
            .expect("converted");
        let message = done.unsupported_contents.join("; ");
        assert!(message.contains("no slope 2 and intercept 1"), "{message}");
    }
}

/// The error advises a format that can hold the affine.
fn too_far() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let far = Nifti {
        second: true,
        affine: DAffine3::from_translation(DVec3::new(1e39, 0.0, 0.0)),
        ..Nifti::new(2, 1, vec![0, 1, 0, 1, 0, 1, 0, 1])
    };
    std::fs::write(here.join("far.nii"), far.file()).expect("written");
    let error = convert_with_reading(here, "far.nii", "b.nii", &Reading::default(), true)
        .expect_err("too far");
    assert!(error.to_string().contains("write .nrrd"), "{error}");
    convert_with_reading(here, "far.nii", "b.nrrd", &Reading::default(), true).expect("converted");
    let control = Control::new();
    let (volume, _) = arcuate::io::image::read(&here.join("far.nii"), &control).expect("read");
    let mask = Mask::new(volume.grid.clone(), vec![1; 8]);
    let error = nifti::save_mask(&here.join("m.nii"), &mask, "", &control).expect_err("too far");
    let text = error.to_string();
    assert!(
        text.contains("repair the affine") && !text.contains("nrrd"),
        "{text}"
    );
}

/// Extensions, the display range and slice times are kept in a NIfTI, and reported where they are lost.
fn rest() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for second in [false, true] {
        let image = Nifti {
            second,
            ..Nifti::new(4, 2, (0..16).collect())
        };
        let extensions: [(i32, &[u8]); 2] = [(4, b"<AFNI_atr/>*****"), (44, b"sixteen letters.")];
        let mut file = extended(&image, &extensions);
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        if second {
            put(192, &200f64.to_le_bytes());
            put(200, &10f64.to_le_bytes());
            put(208, &0.05f64.to_le_bytes());
            put(496, &3i32.to_le_bytes());
            put(232, &1i64.to_le_bytes());
            put(524, &[0x39]);
        } else {
            put(124, &200f32.to_le_bytes());
            put(128, &10f32.to_le_bytes());
            put(132, &0.05f32.to_le_bytes());
            put(122, &[3]);
            put(120, &1i16.to_le_bytes());
            put(39, &[0x39]);
        }
        std::fs::write(here.join("a.nii"), &file).expect("written");
        let done = convert_with_reading(here, "a.nii", "b.nii", &Reading::default(), true)
            .expect("converted");
        // 0.05 s is not a float32.
        assert_eq!(
            done.unsupported_contents.len(),
            usize::from(second),
            "{:?}",
            done.unsupported_contents
        );
        let found = Found::read(&here.join("b.nii"));
        let numbers = [124, 128, 132].map(|at| found.f32(at));
        assert_eq!(numbers, [200.0, 10.0, 0.05]);
        assert_eq!((found.0[122], found.0[39], found.i16(120)), (3, 0x39, 1));
        let text = String::from_utf8_lossy(&found.0[352..]).into_owned();
        assert!(text.contains("<AFNI_atr/>") && text.contains("sixteen letters."));
        let bytes: Vec<u8> = (0..16).collect();
        assert_eq!(found.voxels(), bytes);
        // The extensions are also kept when a file of this program is converted.
        convert_with_reading(here, "b.nii", "c.nii.gz", &Reading::default(), true)
            .expect("converted");
        let reread = Found::read(&here.join("c.nii.gz"));
        assert!(String::from_utf8_lossy(&reread.0).contains("sixteen letters."));
        let lost = convert_with_reading(here, "a.nii", "a.nrrd", &Reading::default(), true)
            .expect("converted");
        for word in [
            "AFNI, code 44",
            "cal_max 200",
            "slices were taken",
            "dim_info 57",
        ] {
            let message = lost.unsupported_contents.iter().any(|l| l.contains(word));
            assert!(message, "{word}: {:?}", lost.unsupported_contents);
        }
        let reported = Reading {
            affine: Some(Box::new(AffineReading::matrix(DAffine3::from_translation(
                DVec3::X,
            )))),
            ..Reading::default()
        };
        let moved =
            convert_with_reading(here, "a.nii", "m.nii", &reported, true).expect("converted");
        assert!(
            moved.unsupported_contents[0].contains("before it was moved"),
            "{:?}",
            moved.unsupported_contents
        );
        let moved = Found::read(&here.join("m.nii"));
        assert!(!String::from_utf8_lossy(&moved.0).contains("AFNI_atr"));
    }
}

/// The description by another program stays in the file, after ours, however often it is converted.
fn described() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for second in [false, true] {
        let image = Nifti {
            second,
            ..Nifti::new(4, 2, (0..16).collect())
        };
        let mut file = image.file();
        let at = if second { 240 } else { 148 };
        let sentence = b"FSL5.0; TE=95;Time=101500.000";
        file[at..at + sentence.len()].copy_from_slice(sentence);
        std::fs::write(here.join("a.nii"), &file).expect("written");
        for (from, to) in [
            ("a.nii", "b.nii"),
            ("b.nii", "c.nii.gz"),
            ("c.nii.gz", "d.nii"),
            ("a.nii", "a.nrrd"),
        ] {
            convert_with_reading(here, from, to, &Reading::default(), true).expect("converted");
            let bytes = match to.ends_with("nrrd") {
                true => std::fs::read(here.join(to)).expect("read"),
                false => Found::read(&here.join(to)).0,
            };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let whole = "described before as: FSL5.0; TE=95;Time=101500.000";
            assert_eq!(text.matches(whole).count(), 1, "{to}: {text}");
        }
    }
}

/// A FreeSurfer volume stores its acquisition after its voxels: the repetition time has a place in a series, the rest
/// is reported.
fn acquisition() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for frames in [1i32, 2] {
        let mut mgh: Vec<u8> = [1i32, 2, 2, 2, frames, 0, 0]
            .iter()
            .flat_map(|n| n.to_be_bytes())
            .collect();
        mgh.extend([0, 0]);
        mgh.resize(284 + 8 * frames as usize, 7);
        let numbers = [2300f32, 0.157, 2.98, 900.0, 256.0];
        mgh.extend(numbers.iter().flat_map(|n| n.to_be_bytes()));
        mgh.extend(b"tags and more");
        std::fs::write(here.join("m.mgh"), mgh).expect("written");
        let done = convert_with_reading(here, "m.mgh", "m.nii", &Reading::default(), true)
            .expect("converted");
        let message = done.unsupported_contents.join("; ");
        for word in [
            "flip angle",
            "echo time 2.98 ms",
            "inversion time 900 ms",
            "13 bytes",
        ] {
            assert!(message.contains(word), "{word}: {message}");
        }
        assert_eq!(
            message.contains("repetition time 2300 ms"),
            frames == 1,
            "{message}"
        );
        let found = Found::read(&here.join("m.nii"));
        if frames == 2 {
            assert_eq!((found.f32(92), found.0[123]), (2300.0, 2 | 16));
        }
        let done = convert_with_reading(here, "m.mgh", "m.nrrd", &Reading::default(), true)
            .expect("converted");
        assert!(
            done.unsupported_contents.join("; ").contains("2300"),
            "{:?}",
            done.unsupported_contents
        );
    }
}

/// An image opened by the window is saved in the type of its file, as by `convert`; if the file has other values by
/// now, the opened data are saved.
fn saved_as_opened() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let mut window = Window::new();
    for (name, code, size, bytes) in types() {
        let path = here.join(format!("{name}.nii"));
        let scaled = Nifti {
            slope: if name == "int16" { 0.5 } else { 0.0 },
            ..Nifti::new(code, size, bytes.clone())
        };
        std::fs::write(&path, scaled.file()).expect("written");
        window.act(Action::Files(FilesAction::Open(vec![path.clone()])));
        let layers = &window.state.document.layers;
        let layer = layers.last().expect("opened").id;
        let out = here.join(format!("{name}_saved.nii.gz"));
        let save = Action::Files(FilesAction::SaveLayer {
            layer,
            path: out.clone(),
        });
        window.act(save.clone());
        let found = Found::read(&out);
        assert_eq!((found.i16(70), found.voxels()), (code, &*bytes), "{name}");
        assert_eq!(found.f32(112), if name == "int16" { 0.5 } else { 1.0 });
        let other: Vec<u8> = bytes.iter().map(|b| b ^ 0x3f).collect();
        let other = Nifti {
            bytes: other,
            ..scaled
        };
        std::fs::write(&path, other.file()).expect("written");
        window.act(save);
        assert_eq!(Found::read(&out).i16(70), 16, "{name}");
    }
}

/// NIfTI-1 rounds an affine to float32: a loss only where voxels move noticeably.
fn rounded() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for (x, losses) in [(0.1, 0), (123_456.7, 1)] {
        let image = Nifti {
            second: true,
            affine: DAffine3::from_translation(DVec3::new(x, 0.0, 0.0)),
            ..Nifti::new(2, 1, vec![0, 1, 0, 1, 0, 1, 0, 1])
        };
        std::fs::write(here.join("a.nii"), image.file()).expect("written");
        let done = convert_with_reading(here, "a.nii", "b.nii", &Reading::default(), true)
            .expect("converted");
        let lost = &done.unsupported_contents;
        assert_eq!(lost.len(), losses, "{x}: {lost:?}");
        assert!(lost.iter().all(|l| l.contains("rounds the affine")));
    }
}

/// A qform that places the voxels elsewhere is lost, in whichever format.
fn other_form() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let mut file = Nifti::new(2, 1, vec![0, 1, 0, 1, 0, 1, 0, 1]).file();
    // The code, then the offset along x of an unrotated qform.
    file[252..254].copy_from_slice(&1i16.to_le_bytes());
    file[268..272].copy_from_slice(&40f32.to_le_bytes());
    std::fs::write(here.join("a.nii"), file).expect("written");
    for to in ["b.nii", "b.nrrd"] {
        let done =
            convert_with_reading(here, "a.nii", to, &Reading::default(), true).expect("converted");
        let lost = done.unsupported_contents.join("; ");
        assert!(lost.contains("The qform of the header"), "{to}: {lost}");
    }
}

/// Lines of a TCK's header from other programs, and digits beyond float32, are not written.
fn of_streamlines() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let tck = |name: &str, lines: &str, double: bool| {
        let kind = if double { "Float64LE" } else { "Float32LE" };
        let mut bytes = format!("mrtrix tracks\n{lines}datatype: {kind}\nfile: . 300\nEND\n");
        bytes += &" ".repeat(300 - bytes.len());
        let mut bytes = bytes.into_bytes();
        let nan = [f64::NAN; 3];
        for v in [[0.1, 0.2, 0.3], [1.0, 2.0, 3.0], nan, [f64::INFINITY; 3]].as_flattened() {
            match double {
                true => bytes.extend(v.to_le_bytes()),
                false => bytes.extend((*v as f32).to_le_bytes()),
            }
        }
        std::fs::write(here.join(name), bytes).expect("written");
    };
    let restated = "timestamp: 1\ncommand_history: tckgen\nmrtrix_version: 3.0.3\n";
    tck("plain.tck", restated, false);
    tck(
        "full.tck",
        "method: iFOD2\nroi: seed a.mif\nroi: mask b.mif\ncomments: mine\n",
        true,
    );
    let losses = |from: &str, to: &str| {
        let done =
            convert_with_reading(here, from, to, &Reading::default(), true).expect("converted");
        done.unsupported_contents
    };
    assert_eq!(losses("plain.tck", "a.tck"), [""; 0]);
    assert_eq!(losses("a.tck", "a.trx"), [""; 0]);
    assert_eq!(losses("a.trx", "b.tck"), [""; 0]);
    assert_eq!(
        losses("full.tck", "c.tck"),
        [
            "These lines of the header are left out: method, roi, comments",
            "Numbers in float64 are rounded to float32"
        ]
    );
}
