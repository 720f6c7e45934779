//! Sessions as protocols: names in place of files and regions, and what does not carry over.

use crate::support::test;
use arcuate::data::labels::Labels;
use arcuate::data::protocol::{InputRole, LabelName, OptionValue, ProtocolRegion, ProtocolSpace};
use arcuate::data::region::RegionId;
use arcuate::data::{Grid, Mask, Region, Role, Shape, Tractogram, Volume};
use arcuate::io::protocol::{parse, text};
use arcuate::io::{Reading, TransformFile, WarpReading};
use arcuate::solvers::geodesic::Cut;
use arcuate::solvers::{curves, tensor_fit};
use arcuate::state::core::display;
use arcuate::state::core::layer::OriginId;
use arcuate::state::origin::{FitRecipe, Origin};
use arcuate::state::protocols::jobs::{NoProtocol, SessionProtocol, session_protocol};
use arcuate::state::tensors::recipe::FitMask;
use arcuate::state::track::recipe::CurveRecipe;
use arcuate::state::track::types::CurveParams;
use arcuate::state::{Content, Layer, LayerId, State};
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("protocols::names in place of files and regions", named),
        test("protocols::a session without results", without_results),
    ]
}

fn grid() -> Arc<Grid> {
    Arc::new(Grid::axis_aligned([4; 3], DVec3::ONE, DVec3::ZERO).expect("a grid"))
}

fn add(state: &mut State, name: &str, content: Content, origin: OriginId) {
    let document = &mut state.document;
    let id = LayerId(document.fresh_id());
    let display = display::line_display();
    let layer = Layer::new(id, name.to_owned(), content, display, origin);
    document.layers.push(Arc::new(layer));
}

fn region(number: u64, name: &str, role: Role, shape: Shape, label: Option<u32>) -> Region {
    Region {
        id: RegionId(number),
        name: name.to_owned(),
        role,
        shape: Arc::new(shape),
        colour: None,
        visible: true,
        label_number: label,
    }
}

/// A mask of a template that was opened with a warp, whose fixed image is the scan.
fn warped_file() -> Origin {
    let mut affine = TransformFile::new("/data/0GenericAffine.mat".into());
    affine.inverse = true;
    let warp = WarpReading {
        transforms: vec![
            affine,
            TransformFile::new("/data/1InverseWarp.nii.gz".into()),
        ],
        fixed: Some("/data/sub-07/dwi/sub-07_desc-preproc_dwi.nii.gz".into()),
        ..WarpReading::default()
    };
    let reading = Reading {
        warp: Some(Box::new(warp)),
        ..Reading::default()
    };
    Origin::File {
        file: "/data/motor.nii.gz".into(),
        reading,
        gradients: Vec::new(),
    }
}

/// A scan, a label map and a warped mask with files, and streamlines from a sphere through a label to a region drawn by
/// hand.
fn state() -> State {
    let mut state = State::new(String::new());
    let grid = grid();
    let origins = state.document.origins.clone();
    let scan = origins.add(Origin::file(
        "/data/sub-07/dwi/sub-07_desc-preproc_dwi.nii.gz",
    ));
    let dwi = Volume::scalar(grid.clone(), vec![1.0; 64]);
    let content = Content::Scan {
        dwi,
        gradients: None,
    };
    add(&mut state, "dwi", content, scan);
    let labels = origins.add(Origin::file("/data/aparc.nii.gz"));
    let mut values = vec![0.0; 64];
    values[5] = 1024.0;
    let named = |name: &str| arcuate::data::labels::Label {
        name: name.to_owned(),
        colour: Some([1, 2, 3]),
    };
    let table = [(1024, named("precentral"))].into_iter().collect();
    let volume = Volume::scalar(grid.clone(), values).with_labels(Arc::new(Labels { table }));
    add(&mut state, "aparc", Content::Image(volume), labels);
    let mask = |voxel: usize| {
        let mut inside = vec![0; 64];
        inside[voxel] = 1;
        Mask::new(grid.clone(), inside)
    };
    let motor = mask(7);
    let warped = origins.add(warped_file());
    add(&mut state, "motor", Content::Mask(motor.clone()), warped);
    let fit = origins.add(FitRecipe {
        scan,
        mask: FitMask::Automatic,
        params: tensor_fit::Params::defaults(),
    });
    let mask = |voxel: usize| Shape::Mask(mask(voxel));
    let sphere = Shape::Sphere {
        centre: DVec3::new(1.0, 2.0, 3.0),
        radius_mm: 2.5,
    };
    let regions = vec![
        region(1, "Seed", Role::Seed, sphere, None),
        region(2, "Precentral, left", Role::Include, mask(5), Some(1024)),
        region(3, "My drawing", Role::Target, mask(9), None),
        region(4, "Motor", Role::Exclude, Shape::Mask(motor), None),
    ];
    let recipe = origins.add(CurveRecipe {
        fit,
        regions,
        curves: CurveParams::Streamlines(curves::Params {
            step_mm: 0.25,
            ..curves::Params::defaults()
        }),
        tissues: None,
        cut: Cut::All,
    });
    let empty = Content::Tractogram(Tractogram::empty());
    add(&mut state, "CST, left", empty, recipe);
    state.document.origins = origins;
    state
}

fn named() {
    let SessionProtocol { protocol, notes } = session_protocol(&state()).expect("a protocol");
    assert_eq!(protocol.inputs["dwi"].role, InputRole::Scan);
    assert_eq!(
        protocol.inputs["dwi"].bids,
        ["dwi/*_desc-preproc_dwi.nii.gz"]
    );
    assert_eq!(protocol.inputs["labels"].files[0], "aparc.nii.gz");
    let labels = ProtocolRegion::Labels {
        map: "{labels}".to_owned(),
        labels: vec![LabelName::Number(1024)],
    };
    assert_eq!(protocol.regions["precentral_left"], labels);
    assert_eq!(protocol.regions["my_drawing"], ProtocolRegion::Drawn);
    let motor = ProtocolRegion::Mask {
        file: "{mask}".to_owned(),
        space: Some("template".to_owned()),
    };
    assert_eq!(protocol.regions["motor"], motor);
    let warp = ProtocolSpace::Warp {
        transforms: vec!["inverse:{transform}".to_owned(), "{transform_2}".to_owned()],
        fixed: Some("{dwi}".to_owned()),
        moving: None,
    };
    assert_eq!(protocol.spaces["template"], warp);
    assert_eq!(protocol.inputs["mask"].files[0], "motor.nii.gz");
    assert_eq!(protocol.inputs["transform"].files, ["0GenericAffine.mat"]);
    let numbers = [1.0, 2.0, 3.0, 2.5];
    let sphere = ProtocolRegion::Sphere {
        numbers,
        space: None,
    };
    assert_eq!(protocol.regions["seed"], sphere);
    assert_eq!(protocol.steps.len(), 1);
    let step = &protocol.steps[0];
    assert_eq!((&*step.name, &*step.command), ("cst_left", "track"));
    assert_eq!(step.arguments, ["{dwi}"]);
    let option = |key: &str| step.options.get(key).cloned();
    let value = |text: &str| Some(OptionValue::Text(text.to_owned()));
    assert_eq!(option("seed"), value("{seed}"));
    assert_eq!(option("include"), value("{precentral_left}"));
    assert_eq!(option("target"), value("{my_drawing}"));
    assert_eq!(option("exclude"), value("{motor}"));
    assert_eq!(option("step"), value("0.25"));
    assert_eq!(option("out"), value("cst_left.trx"));
    assert!(
        notes.iter().any(|note| note.contains("“My drawing”")),
        "{notes:?}"
    );
    // The text reads back as the same steps and regions.
    let text = text(&protocol, &notes);
    assert!(!text.contains("/data/"), "{text}");
    let read = parse(&text, Path::new("p.toml")).expect("what was written");
    assert_eq!(
        (read.steps, read.regions, read.spaces),
        (protocol.steps, protocol.regions, protocol.spaces)
    );
}

fn without_results() {
    let mut state = state();
    state.document.layers.truncate(2);
    assert_eq!(session_protocol(&state).err(), Some(NoProtocol));
}
