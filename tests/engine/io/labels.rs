//! Label maps: how they are recognised, and the tables of their names and colours.

use super::formats::grid;
use super::sentence;
use super::volumes::{mgh_int32, opened, small};
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::Volume;
use arcuate::io::{self, Opened, colours, nifti};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::labels::colour_tables", colour_tables),
        test("io::labels::label_maps_are_recognised", label_maps),
        test("io::labels::freesurfers_numbers_have_names", freesurfer),
        test(
            "io::labels::names_are_written_next_to_a_converted_map",
            converted,
        ),
    ]
}

fn colour_tables() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.txt");
    let read = |text: &str| {
        std::fs::write(&path, text).expect("written");
        colours::read(&path)
    };
    let red = Some([236, 13, 176]);
    for text in [
        "#No. Label Name: R G B A\n\n0 Unknown 0 0 0 0\n12   Left-Putamen   236 13 176 0\n",
        "# ITK-SNAP\r\n 0 0 0 0 0 0 0 \"Clear\"\r\n12 236 13 176 1 1 1 \"Left-Putamen\"\r\n",
        "index\tname\tcolor\n0\tbackground\t#000000\n12\tLeft-Putamen\t#ec0db0\n",
        "0 none\n12 Left-Putamen 236 13 176\n",
    ] {
        let labels = read(text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(labels.table.len(), 2, "{text}");
        assert_eq!(labels.name(12), Some("Left-Putamen"), "{text}");
        assert_eq!(labels.table[&12].colour, red, "{text}");
        assert_eq!(labels.described(12), "12 Left-Putamen");
        assert_eq!(labels.described(13), "13");
    }
    let areas = read("44 Brodmann 44 236 13 176 0\n45 Area 45 p 1 2 3\n").expect("a table");
    assert_eq!(areas.name(44), Some("Brodmann 44"));
    assert_eq!(areas.table[&44].colour, red);
    assert_eq!(areas.name(45), Some("Area 45 p"));
    let plain = read("1 Left Putamen\n2 Right\n").expect("names");
    assert_eq!(plain.name(1), Some("Left Putamen"));
    assert_eq!(plain.table[&1].colour, None);
    // Numbers without a colour get one each, all different.
    let composed: Vec<[u8; 3]> = (1..40).map(|n| plain.colour(n)).collect();
    for (i, a) in composed.iter().enumerate() {
        assert!(a.iter().max().is_some_and(|&v| v > 100), "{a:?} is dark");
        assert!(composed[..i].iter().all(|b| a != b), "{a:?} twice");
    }
    assert_eq!(plain.colour(0), [0; 3]);
    for text in ["", "# nothing\n", "Left 1 2 3\n", "-1 a\n", "1\n"] {
        sentence(&read(text).expect_err(text));
    }
}

fn label_maps() {
    let mut random = Random::fresh("labels");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let oblique = grid(7, true, &mut random);
    let grid = Arc::new(small(&oblique, &mut random));
    let save = |name: &str, value: &dyn Fn(usize) -> f32| {
        let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
        let volume = Volume::scalar(grid.clone(), values);
        nifti::save_volume(&at(name), &volume, "", &Control::new()).expect("saved");
        opened(&at(name)).0
    };
    let three = |i: usize| (i % 4) as f32;
    assert!(save("dwi.nii.gz", &three).labels.is_none());
    assert!(save("sub-01_dseg.nii.gz", &three).labels.is_some());
    assert!(save("aparc+aseg.nii.gz", &three).labels.is_some());
    // A measured image with that name, and a mask, are not label maps.
    let real = |i: usize| i as f32 * 0.25;
    assert!(save("seg_probability.nii.gz", &real).labels.is_none());
    assert!(
        save("lesion_seg.nii.gz", &|i| (i % 2) as f32)
            .labels
            .is_none()
    );
    // The header of the program's own files identifies them under any name.
    let numbers: Vec<u16> = (0..grid.voxel_count()).map(|i| (i % 4) as u16).collect();
    nifti::save_labels(&at("b.nii"), &grid, &numbers, "", &Control::new()).expect("saved");
    let header = std::fs::read(at("b.nii")).expect("readable");
    assert_eq!(header[68..70], 1002i16.to_le_bytes(), "NIFTI_INTENT_LABEL");
    assert!(opened(&at("b.nii")).0.labels.is_some());
    // By a table next to it; one named by the user takes precedence.
    std::fs::write(at("regions.txt"), "1 One 255 0 0\n2 Two 0 255 0\n").expect("written");
    let found = save("regions.nii.gz", &three);
    let labels = found.labels.clone().expect("labels");
    assert_eq!(labels.colour(1), [255, 0, 0]);
    let painted = found.picture().texels().expect("colours");
    for (&[r, g, b, opaque], &value) in painted.iter().zip(found.values.iter()) {
        assert_eq!([r, g, b], labels.colour(value as u32));
        assert_eq!(opaque, if value == 0.0 { 0 } else { 255 });
    }
    std::fs::write(at("other.lut"), "1 Uno\n").expect("written");
    let reported = |table: &str| io::Reading {
        colours: Some(at(table)),
        ..io::Reading::default()
    };
    let open = |name: &str, table: &str| {
        io::open_with_reading(&at(name), &reported(table), &Control::new())
    };
    let Ok(Opened::Volume(found, _)) = open("regions.nii.gz", "other.lut") else {
        panic!("a label map");
    };
    assert_eq!(found.labels.expect("labels").name(1), Some("Uno"));
    let error = open("seg_probability.nii.gz", "other.lut").expect_err("no label map");
    assert!(sentence(&error).contains("not a label map"), "{error}");
    sentence(&open("regions.nii.gz", "none.lut").expect_err("no table"));
}

/// Without a table next to them; other label maps, and numbers unknown to FreeSurfer, get none.
fn freesurfer() {
    let mut random = Random::fresh("freesurfer");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let grid = small(&grid(5, true, &mut random), &mut random);
    let known = [
        0.0, 2.0, 41.0, 17.0, 53.0, 255.0, 1024.0, 2024.0, 3012.0, 11146.0, 14175.0,
    ];
    let composed = |numbers: &[f32]| -> Vec<f32> {
        let all = 0..grid.voxel_count();
        all.map(|i| numbers[i % numbers.len()]).collect()
    };
    let nifti = |name: &str, numbers: &[f32]| {
        let volume = Volume::scalar(Arc::new(grid.clone()), composed(numbers));
        nifti::save_volume(&at(name), &volume, "", &Control::new()).expect("saved");
        opened(&at(name)).0.labels.expect("labels")
    };
    let mgh = |name: &str, numbers: &[f32]| {
        let bytes = mgh_int32(grid.clone(), &composed(numbers));
        std::fs::write(at(name), bytes).expect("written");
        opened(&at(name)).0.labels.expect("labels")
    };
    for labels in [mgh("any.mgh", &known), nifti("aparc+aseg.nii.gz", &known)] {
        for (number, name) in [
            (2, "Left-Cerebral-White-Matter"),
            (41, "Right-Cerebral-White-Matter"),
            (17, "Left-Hippocampus"),
            (255, "CC_Anterior"),
            (1024, "ctx-lh-precentral"),
            (2024, "ctx-rh-precentral"),
            (3012, "wm-lh-lateralorbitofrontal"),
            (11146, "ctx_lh_S_central"),
            (14175, "wm_rh_S_temporal_transverse"),
        ] {
            assert_eq!(labels.name(number), Some(name));
        }
        assert_eq!(
            labels.table.len(),
            known.len() - 1,
            "all structures that occur"
        );
        // An excerpt of FreeSurferColorLUT.txt.
        for (number, rgb) in [
            (2, [245, 245, 245]),
            (41, [245, 245, 245]),
            (17, [220, 216, 20]),
            (53, [220, 216, 20]),
            (255, [0, 0, 255]),
            (1024, [60, 20, 220]),
            (2024, [60, 20, 220]),
            (3012, [220, 180, 205]),
            (11146, [221, 20, 10]),
            (14175, [221, 60, 60]),
        ] {
            assert_eq!(labels.colour(number), rgb, "{number}");
        }
    }
    let strange = [0.0, 2.0, 41.0, 900.0];
    assert!(mgh("strange.mgh", &strange).table.is_empty());
    assert!(nifti("atlas.nii.gz", &known).table.is_empty());
    std::fs::write(at("wmparc.txt"), "2 White\n").expect("written");
    let labels = nifti("wmparc.nii.gz", &known);
    assert_eq!((labels.name(2), labels.name(41)), (Some("White"), None));
}

/// A converted map keeps its names and colours, under its own numbers.
fn converted() {
    let mut random = Random::fresh("converted labels");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let grid = small(&grid(11, true, &mut random), &mut random);
    let numbers: Vec<f32> = (0..grid.voxel_count())
        .map(|i| [0.0, 7.0, 1024.0][i % 3])
        .collect();
    let volume = Volume::scalar(Arc::new(grid), numbers);
    nifti::save_volume(&at("a.nii.gz"), &volume, "", &Control::new()).expect("saved");
    std::fs::write(at("a.lut"), "7 A \"quoted\" name 10 20 30\n1024 Plain\n").expect("written");
    let convert = |replace| {
        let (from, to, reading) = (at("a.nii.gz"), at("b.nii.gz"), io::Reading::default());
        let plan = io::convert::plan(&from, &to, None, &reading, &Control::new())?;
        plan.write(replace, "", &Control::new())
    };
    let done = convert(false).expect("converted");
    assert_eq!(done.written, [at("b.nii.gz"), at("b.txt")]);
    assert!(done.unsupported_contents.is_empty());
    let (before, after) = (opened(&at("a.nii.gz")).0, opened(&at("b.nii.gz")).0);
    let [before, after] = [before, after].map(|v| v.labels.expect("labels"));
    assert_eq!(after.name(1024), Some("Plain"));
    assert_eq!(after.colour(7), [10, 20, 30]);
    assert_eq!(after.colour(1024), before.colour(1024));
    // Another text file of that name is not replaced without asking.
    std::fs::remove_file(at("b.nii.gz")).expect("removed");
    std::fs::write(at("b.txt"), "notes").expect("written");
    assert!(sentence(&convert(false).expect_err("in the way")).contains("--force"));
    assert!(!at("b.nii.gz").exists());
    convert(true).expect("replaced");
}
