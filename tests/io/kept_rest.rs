//! What a converted or saved image keeps besides its values: the rest of its header, how it was taken, the type of
//! its file.

use super::kept::{Found, Nifti, go_told, types};
use crate::support::{Window, test};
use arcuate::compute::Control;
use arcuate::io::convert::save_volume;
use arcuate::io::{Told, ToldAffine};
use arcuate::state::Action;
use glam::{DAffine3, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::kept::the_rest_of_a_header", rest),
        test("io::kept::the_description_of_before", described),
        test("io::kept::how_a_scan_was_taken", acquisition),
        test("io::kept::saved_as_it_was_opened", saved_as_opened),
        test("io::kept::saved_where_it_was_moved", saved_where_moved),
    ]
}

/// Extensions, the range to show and the times of slices are kept in a NIfTI, and said where they are lost.
fn rest() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for second in [false, true] {
        let image = Nifti {
            second,
            ..Nifti::of(4, 2, (0..16).collect())
        };
        let mut file = image.file();
        let header = if second { 540 } else { 348 };
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        if second {
            put(192, &200f64.to_le_bytes());
            put(200, &10f64.to_le_bytes());
            put(208, &0.05f64.to_le_bytes());
            put(496, &3i32.to_le_bytes());
            put(232, &1i64.to_le_bytes());
            put(524, &[0x39]);
            put(168, &(544i64 + 48).to_le_bytes());
        } else {
            put(124, &200f32.to_le_bytes());
            put(128, &10f32.to_le_bytes());
            put(132, &0.05f32.to_le_bytes());
            put(122, &[3]);
            put(120, &1i16.to_le_bytes());
            put(39, &[0x39]);
            put(108, &(352f32 + 48.0).to_le_bytes());
        }
        put(header, &[1]);
        let mut extensions = Vec::new();
        for (code, text) in [(4i32, b"<AFNI_atr/>*****"), (44, b"sixteen letters.")] {
            extensions.extend(24i32.to_le_bytes());
            extensions.extend(code.to_le_bytes());
            extensions.extend(text);
        }
        file.splice(header + 4..header + 4, extensions);
        std::fs::write(here.join("a.nii"), &file).expect("written");
        let done = go_told(here, "a.nii", "b.nii", &Told::default(), true).expect("converted");
        // 0.05 s is no float32.
        assert_eq!(done.losses.len(), usize::from(second), "{:?}", done.losses);
        let found = Found::read(&here.join("b.nii"));
        let numbers = [124, 128, 132].map(|at| found.f32(at));
        assert_eq!(numbers, [200.0, 10.0, 0.05]);
        assert_eq!((found.0[122], found.0[39], found.i16(120)), (3, 0x39, 1));
        let text = String::from_utf8_lossy(&found.0[352..]).into_owned();
        assert!(text.contains("<AFNI_atr/>") && text.contains("sixteen letters."));
        let bytes: Vec<u8> = (0..16).collect();
        assert_eq!(found.voxels(), bytes);
        // Once more, from our own.
        go_told(here, "b.nii", "c.nii.gz", &Told::default(), true).expect("converted");
        let again = Found::read(&here.join("c.nii.gz"));
        assert!(String::from_utf8_lossy(&again.0).contains("sixteen letters."));
        let lost = go_told(here, "a.nii", "a.nrrd", &Told::default(), true).expect("converted");
        for word in ["AFNI, code 44", "cal_max 200", "slices were taken"] {
            let said = lost.losses.iter().any(|l| l.contains(word));
            assert!(said, "{word}: {:?}", lost.losses);
        }
        let told = Told {
            affine: Some(Box::new(ToldAffine::matrix(DAffine3::from_translation(
                DVec3::X,
            )))),
            ..Told::default()
        };
        let moved = go_told(here, "a.nii", "m.nii", &told, true).expect("converted");
        assert!(
            moved.losses[0].contains("before it was moved"),
            "{:?}",
            moved.losses
        );
        let moved = Found::read(&here.join("m.nii"));
        assert!(!String::from_utf8_lossy(&moved.0).contains("AFNI_atr"));
    }
}

/// The words of another program stay in the file, behind ours, however often it is converted.
fn described() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    for second in [false, true] {
        let image = Nifti {
            second,
            ..Nifti::of(4, 2, (0..16).collect())
        };
        let mut file = image.file();
        let at = if second { 240 } else { 148 };
        let words = b"FSL5.0; TE=95;Time=101500.000";
        file[at..at + words.len()].copy_from_slice(words);
        std::fs::write(here.join("a.nii"), &file).expect("written");
        for (from, to) in [
            ("a.nii", "b.nii"),
            ("b.nii", "c.nii.gz"),
            ("c.nii.gz", "d.nii"),
            ("a.nii", "a.nrrd"),
        ] {
            go_told(here, from, to, &Told::default(), true).expect("converted");
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

/// A FreeSurfer volume says how it was taken behind its voxels: the repetition time has a place in a series, the rest
/// is said.
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
        let done = go_told(here, "m.mgh", "m.nii", &Told::default(), true).expect("converted");
        let said = done.losses.join("; ");
        for word in [
            "flip angle",
            "echo time 2.98 ms",
            "inversion time 900 ms",
            "13 bytes",
        ] {
            assert!(said.contains(word), "{word}: {said}");
        }
        assert_eq!(
            said.contains("repetition time 2300 ms"),
            frames == 1,
            "{said}"
        );
        let found = Found::read(&here.join("m.nii"));
        if frames == 2 {
            assert_eq!((found.f32(92), found.0[123]), (2300.0, 2 | 16));
        }
        let done = go_told(here, "m.mgh", "m.nrrd", &Told::default(), true).expect("converted");
        assert!(done.losses.join("; ").contains("2300"), "{:?}", done.losses);
    }
}

/// An image that the window opened is saved in the type of its file, as `convert` does; where the file holds other
/// values by now, what was opened is saved.
fn saved_as_opened() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let mut window = Window::new();
    for (name, code, size, bytes) in types() {
        let path = here.join(format!("{name}.nii"));
        let scaled = Nifti {
            slope: if name == "int16" { 0.5 } else { 0.0 },
            ..Nifti::of(code, size, bytes.clone())
        };
        std::fs::write(&path, scaled.file()).expect("written");
        window.act(Action::Open(vec![path.clone()]));
        let layers = &window.state.document.layers;
        let layer = layers.last().expect("opened").id;
        let out = here.join(format!("{name}_saved.nii.gz"));
        let save = Action::SaveLayer {
            layer,
            path: out.clone(),
        };
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

/// An image that was moved is saved without extensions, which may say where it was before; one that was not keeps them.
fn saved_where_moved() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (from, to) = (folder.path().join("a.nii"), folder.path().join("b.nii"));
    let image = Nifti::of(4, 2, (0..16).collect());
    let mut file = image.file();
    let voxels = file.split_off(352);
    let mut extension = b"\x20\0\0\0\x04\0\0\0<AFNI_atr/>".to_vec();
    extension.resize(32, 0);
    file[348] = 1;
    file[108..112].copy_from_slice(&384f32.to_le_bytes());
    std::fs::write(&from, [file, extension, voxels].concat()).expect("written");
    let control = Control::new();
    let (volume, _) = arcuate::io::image::read(&from, &control).expect("read");
    let by = DAffine3::from_translation(DVec3::X);
    let moved = volume.grid.moved(by).expect("a grid");
    for (volume, keeps) in [(volume.on_grid(moved.into()), false), (volume, true)] {
        save_volume(&to, &volume, Some(&from), "", &control).expect("saved");
        let found = Found::read(&to);
        assert_eq!((found.i16(70), found.voxels()), (4, &*image.bytes));
        let text = String::from_utf8_lossy(&found.0).into_owned();
        assert_eq!(text.contains("AFNI_atr"), keeps);
    }
}
