//! Maps of tissues from images, labels and segmentations.

use super::grid;
use crate::support::test;
use arcuate::data::labels::{Label, Labels};
use arcuate::data::tissue_map::{TissueMapError, numbering_text, unknown_labels_text};
use arcuate::data::{Mask, TissueMap, TissueType, Volume, VolumeKind};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("odf_tracking::tissues of an image", image),
        test("odf_tracking::tissues of labels", labels),
        test("odf_tracking::tissues of named labels", named_labels),
        test("odf_tracking::tissues of segmentations", segmentations),
    ]
}

fn volume(frames: usize, values: Vec<f32>) -> Volume {
    let n = values.len() / frames;
    Volume::new(grid([n, 1, 1], 1.0), frames, VolumeKind::Scalar, values)
}

fn tissue(map: &TissueMap, voxel: usize) -> Option<TissueType> {
    TissueType::ALL
        .into_iter()
        .find(|t| map.fractions[voxel][*t as usize] > 0.5)
}

fn image() {
    let mut values = vec![0f32; 15];
    values[0] = 1.0;
    values[3 * 2 + 1] = 0.75;
    values[3 * 3 + 1] = 0.25;
    values[2] = f32::NAN;
    let image = volume(5, values.clone());
    let map = TissueMap::from_volume(&image).unwrap();
    assert_eq!(map.fractions[0][0], 1.0);
    assert_eq!(map.fractions[1][..5], [0.0, 0.0, 0.75, 0.25, 0.0]);
    assert_eq!(map.fractions[2], [0.0; 8]);
    values[2] = 0.0;
    assert_eq!(map.volume().values.as_ref(), values);
    let error = |image: &Volume| TissueMap::from_volume(image).unwrap_err();
    assert_eq!(error(&volume(3, vec![0.0; 9])), TissueMapError::Volumes(3));
    let scan = error(&volume(5, vec![900.0; 15]));
    assert_eq!(
        scan,
        TissueMapError::NoFractions {
            smallest: 0.0,
            largest: 900.0
        }
    );
    assert_eq!(
        error(&volume(5, vec![0.0; 15])),
        TissueMapError::Missing("white matter")
    );
}

/// The numbers of FreeSurfer's table, also those of SynthSeg.
fn labels() {
    use TissueType::{CorticalGrey, Csf, DeepGrey, White};
    let known = [
        (2.0, White),
        (41.0, White),
        (16.0, White),
        (251.0, White),
        (3.0, CorticalGrey),
        (42.0, CorticalGrey),
        (17.0, CorticalGrey),
        (1012.0, CorticalGrey),
        (12_175.0, CorticalGrey),
        (10.0, DeepGrey),
        (13.0, DeepGrey),
        (49.0, DeepGrey),
        (58.0, DeepGrey),
        (4.0, Csf),
        (15.0, Csf),
        (24.0, Csf),
        (63.0, Csf),
    ];
    let mut values: Vec<f32> = known.iter().map(|(number, _)| *number).collect();
    values.extend([0.0, 777.0, 777.0, f32::NAN, 258.0]);
    let (map, unknown) = TissueMap::from_labels(&volume(1, values)).unwrap();
    for (voxel, (number, expected)) in known.iter().enumerate() {
        assert_eq!(tissue(&map, voxel), Some(*expected), "label {number}");
    }
    for voxel in known.len()..known.len() + 5 {
        assert_eq!(tissue(&map, voxel), None);
    }
    assert_eq!(unknown, [(777, None, 2)]);
    let text = unknown_labels_text(&unknown).unwrap();
    assert!(
        text.starts_with("1 label in 2 voxels denotes no tissue") && text.ends_with("(777)"),
        "{text}"
    );
    assert_eq!(unknown_labels_text(&[]), None);
    // Numbers without names are those of a known table, which is stated.
    let text = numbering_text(&volume(1, vec![2.0, 3.0])).unwrap();
    assert!(text.contains("FreeSurfer"), "{text}");
    assert_eq!(numbering_text(&volume(5, vec![0.5; 5])), None);
    let alone = TissueMap::from_labels(&volume(1, vec![2.0, 0.0])).unwrap_err();
    assert_eq!(alone, TissueMapError::Missing("grey matter"));
    // A picture has hundreds of numbers; a few strange ones do not make one.
    for (count, is_picture) in [(100, false), (101, true)] {
        let strange = (0..count).map(|i| 20_000.0 + i as f32);
        let read =
            TissueMap::from_labels(&volume(1, [2.0, 3.0].into_iter().chain(strange).collect()));
        let error = read.err();
        let expected = is_picture.then_some(TissueMapError::NoLabels { numbers: count });
        assert_eq!(error, expected, "{count}");
    }
}

/// Names decide before numbers do.
fn named_labels() {
    use TissueType::{CorticalGrey, Csf, DeepGrey, Other, White};
    let names = [
        ("Left-Cerebral-White-Matter", Some(White)),
        ("ctx-lh-precentral", Some(CorticalGrey)),
        ("Left-Cerebellum-Cortex", Some(CorticalGrey)),
        ("Right-Thalamus-Proper*", Some(DeepGrey)),
        ("left caudate", Some(DeepGrey)),
        ("left accumbens area", Some(DeepGrey)),
        ("Left-Inf-Lat-Vent", Some(Csf)),
        ("3rd-Ventricle", Some(Csf)),
        ("brain-stem", Some(White)),
        ("CC_Mid_Anterior", Some(White)),
        ("left ventral DC", Some(White)),
        ("WM-hypointensities", Some(White)),
        ("Tumour core", Some(Other)),
        ("Nose", None),
    ];
    let label = |name: &str| Label {
        name: name.to_owned(),
        colour: None,
    };
    let mut table = Labels::default();
    for (i, (name, _)) in names.iter().enumerate() {
        // Numbers with another meaning in FreeSurfer's table.
        table.table.insert(i as u32 + 1, label(name));
    }
    table.table.insert(41, label("Label 41"));
    let mut values: Vec<f32> = (0..names.len()).map(|i| i as f32 + 1.0).collect();
    values.push(41.0);
    let image = volume(1, values).with_labels(Arc::new(table));
    assert_eq!(numbering_text(&image), None);
    let mut generic = Labels::default();
    generic.table.insert(41, label("Label 41"));
    let generic = volume(1, vec![41.0]).with_labels(Arc::new(generic));
    assert!(numbering_text(&generic).is_some());
    let (map, unknown) = TissueMap::from_labels(&image).unwrap();
    for (voxel, (name, expected)) in names.iter().enumerate() {
        assert_eq!(tissue(&map, voxel), *expected, "{name}");
    }
    assert_eq!(tissue(&map, names.len()), Some(White));
    assert_eq!(unknown, [(14, Some("Nose".to_owned()), 1)]);
}

fn segmentations() {
    let grid = grid([4, 1, 1], 1.0);
    let mask = |inside: [u8; 4]| Mask::new(grid.clone(), inside.to_vec());
    let (white, grey) = (mask([1, 1, 0, 0]), mask([0, 1, 1, 0]));
    let masks = [
        (TissueType::CorticalGrey, &grey),
        (TissueType::White, &white),
    ];
    let map = TissueMap::from_masks(&grid, &masks).unwrap();
    let found: Vec<Option<TissueType>> = (0..4).map(|v| tissue(&map, v)).collect();
    let (white, grey) = (Some(TissueType::White), Some(TissueType::CorticalGrey));
    assert_eq!(found, [white, grey, grey, None]);
}
