//! The table of the origins of layers.

use crate::support::test;
use arcuate::data::axis_change::AxisChange;
use arcuate::data::{BuiltInPhantom, Grid, Mask, PhantomKind, Region, Role, Shape, Tractogram};
use arcuate::solvers::geodesic::Cut;
use arcuate::solvers::tractogram::selection::{Edit, Runs};
use arcuate::solvers::{curves, tensor_fit};
use arcuate::state::alignment::AlignedBy;
use arcuate::state::core::display;
use arcuate::state::core::layer::OriginId;
use arcuate::state::files::types::PhantomName;
use arcuate::state::origin::{Describe, FitRecipe, Origin, Origins, PhantomPart, Recipe};
use arcuate::state::tensors::recipe::FitMask;
use arcuate::state::track::recipe::CurveRecipe;
use arcuate::state::track::types::CurveParams;
use arcuate::state::{
    Action, AlignmentAction, CommandLine, Content, Layer, LayerAction, LayerId, ScanSource, State,
    update,
};
use glam::{DAffine3, DVec3};
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("origins::equal origins have one number", equal),
        test("origins::a copy shares the table", shared),
        test("origins::numbers of many origins are stable", many),
        test("origins::edits of a layer are found", done_to_it),
        test("origins::a scan is named as commands take it", sources),
        test("origins::the built-in head has one notation", phantoms),
        test("origins::inputs are named by number", inputs),
        test("origins::a mask whose layer is gone is still named", masks),
        test("origins::undo restores where a layer was", undone),
    ]
}

fn file(name: &str) -> Origin {
    Origin::file(format!("/data/{name}"))
}

fn by(mm: f64) -> DAffine3 {
    DAffine3::from_translation(DVec3::X * mm)
}

fn equal() {
    let origins = Origins::default();
    let (a, b) = (origins.add(file("a.trk")), origins.add(file("b.trk")));
    assert_ne!(a, b);
    assert_eq!(origins.add(file("a.trk")), a);
    assert_eq!(*origins.get(b), file("b.trk"));
    // Edits are part of it.
    let keep = |marks: &[bool]| [Edit::Keep(Runs::new(marks))];
    let first = origins.edited(a, &keep(&[true, false]));
    assert_eq!(origins.edited(a, &keep(&[true, false])), first);
    assert_ne!(origins.edited(a, &keep(&[false, true])), first);
    assert_ne!(origins.edited(b, &keep(&[true, false])), first);
    assert_eq!(origins.edited(a, &[]), a);
    // A number of another table is unknown here.
    assert_eq!(*Origins::default().get(a), Origin::Unknown);
    assert_eq!(origins.add(Origin::Unknown), OriginId::default());
}

fn shared() {
    let state = State::new(String::new());
    let copy = state.document.clone();
    let a = copy.origins.add(file("a.nii"));
    let b = state.document.origins.add(file("b.nii"));
    assert_ne!(a, b);
    assert_eq!(*state.document.origins.get(a), file("a.nii"));
    assert_eq!(*copy.origins.get(b), file("b.nii"));
    assert_eq!(copy.origins.add(file("b.nii")), b);
}

fn many() {
    let origins = Origins::default();
    let name = |i: usize| file(&format!("{i}.nii"));
    let ids: Vec<OriginId> = (0..500).map(|i| origins.add(name(i))).collect();
    for (i, id) in ids.iter().enumerate() {
        assert_eq!(*origins.get(*id), name(i));
        assert_eq!(origins.add(name(i)), *id);
    }
}

fn done_to_it() {
    let origins = Origins::default();
    let input = origins.add(file("a.trk"));
    let aligned_by = AlignedBy::File;
    let moved = origins.add(Origin::Moved {
        input,
        transform: by(2.0),
        aligned_by,
    });
    let step = |n: usize| Edit::Keep(Runs::new(&vec![true; n]));
    let edited = origins.edited(moved, &[step(3)]);
    let twice = origins.edited(edited, &[step(2)]);
    assert_eq!(origins.steps(twice), [&step(3), &step(2)]);
    assert_eq!(origins.unedited(twice), moved);
    let found = origins.moved(twice).expect("moved");
    assert_eq!(
        (found.input, found.transform, found.aligned_by),
        (input, by(2.0), aligned_by)
    );
    assert_eq!(*origins.base(twice), file("a.trk"));
    let path = Path::new("/data/a.trk");
    assert_eq!(origins.path(twice), Some(path));
    assert_eq!(origins.path_in_place(twice), None);
    assert_eq!(origins.path_in_place(input), Some(path));
    assert!(origins.moved(input).is_none() && origins.steps(moved).is_empty());
}

fn sources() {
    let origins = Origins::default();
    let turn: AxisChange = "y,x,z".parse().expect("a turn");
    let head = ScanSource::Phantom {
        head: BuiltInPhantom::plain(3),
    };
    let own = ScanSource::File {
        dwi: "/data/dwi.nii.gz".into(),
        gradients: vec!["/other/a.bval".into(), "/other/a.bvec".into()],
    };
    for source in [head, own] {
        for turn in [None, Some(turn)] {
            let source = source.clone().with_turn(turn);
            let scan = origins.scan(&source);
            assert_eq!(origins.source(scan), source);
            assert_eq!(origins.turn(scan), turn);
            // However often the table is turned, one change is recorded.
            let straight = origins.reoriented(scan, None);
            assert_eq!(origins.source(straight), *source.untouched().0);
        }
    }
    let dwi = origins.scan(&ScanSource::Phantom {
        head: BuiltInPhantom::plain(3),
    });
    let part = PhantomPart::Dwi;
    assert_eq!(
        *origins.get(dwi),
        Origin::Phantom {
            head: BuiltInPhantom::plain(3),
            part
        }
    );
}

fn fit(origins: &Origins) -> OriginId {
    origins.add(FitRecipe {
        scan: origins.add(file("dwi.nii.gz")),
        mask: FitMask::Automatic,
        params: tensor_fit::Params::defaults(),
    })
}

fn inputs() {
    let origins = Origins::default();
    let fit = fit(&origins);
    let recipe = CurveRecipe {
        fit,
        regions: Vec::new(),
        curves: CurveParams::Streamlines(curves::Params::defaults()),
        tissues: None,
        cut: Cut::All,
    };
    assert_eq!(recipe.inputs(), [fit]);
    let Origin::Computed(Recipe::Fit(record)) = origins.get(fit) else {
        panic!("no fit")
    };
    assert_eq!(*origins.get(record.inputs()[0]), file("dwi.nii.gz"));
}

/// A state with an opened mask, and streamlines kept inside it.
fn with_mask() -> (State, LayerId, LayerId) {
    let mut state = State::new(String::new());
    let grid = Grid::axis_aligned([4; 3], DVec3::ONE, DVec3::ZERO).expect("a grid");
    let mask = Mask::new(Arc::new(grid), vec![1; 64]);
    let document = &mut state.document;
    let mut add = |name: &str, content, display, origin| {
        let id = LayerId(document.fresh_id());
        let layer = Layer::new(id, name.to_owned(), content, display, origin);
        document.layers.push(Arc::new(layer));
        id
    };
    let origins = Origins::default();
    let origin = origins.add(Origin::file("/data/roi.nii.gz"));
    let content = Content::Mask(mask.clone());
    let roi = add("roi", content, display::mask_display(), origin);
    let region = Region {
        id: arcuate::data::region::RegionId(1),
        name: "Inside".to_owned(),
        role: Role::Mask,
        shape: Arc::new(Shape::Mask(mask)),
        colour: None,
        visible: true,
        label_number: None,
    };
    let origin = origins.add(CurveRecipe {
        fit: fit(&origins),
        regions: vec![region],
        curves: CurveParams::Streamlines(curves::Params::defaults()),
        tissues: None,
        cut: Cut::All,
    });
    let content = Content::Tractogram(Tractogram::empty());
    let tracks = add("Streamlines", content, display::line_display(), origin);
    state.document.origins = origins;
    (state, roi, tracks)
}

fn masks() {
    let (mut state, roi, tracks) = with_mask();
    let command = |state: &State| {
        let layer = state.document.layer(tracks).expect("kept");
        state.document.command_line(layer)
    };
    let before = command(&state);
    assert!(matches!(before, CommandLine::Track { .. }), "{before:?}");
    assert!(before.text().contains("--within mask:/data/roi.nii.gz"));
    update(&mut state, Action::Layer(LayerAction::Delete(roi)));
    assert!(state.document.layer(roi).is_none());
    assert_eq!(command(&state), before);
}

fn undone() {
    let (mut state, roi, _) = with_mask();
    let origin = |state: &State| state.document.layer(roi).expect("the mask").origin;
    let grid = |state: &State| match &state.document.layer(roi).expect("the mask").content {
        Content::Mask(mask) => mask.grid.world_from_voxel,
        _ => panic!("no mask"),
    };
    let (first, original) = (origin(&state), grid(&state));
    let shift = |mm| {
        Action::Alignment(AlignmentAction::Shift {
            layer: roi,
            transform: by(mm),
            phase: arcuate::state::Phase::Done,
        })
    };
    update(&mut state, shift(3.0));
    let moved = origin(&state);
    assert_eq!(
        state.document.origins.moved(moved).expect("moved").input,
        first
    );
    assert_eq!(grid(&state), by(3.0) * original);
    update(&mut state, Action::Undo);
    assert_eq!((origin(&state), grid(&state)), (first, original));
    update(&mut state, Action::Redo);
    assert_eq!(origin(&state), moved);
    // Moved back by an action, not by undo.
    update(&mut state, shift(0.0));
    assert_eq!((origin(&state), grid(&state)), (first, original));
    let layer = state.document.layer(roi).expect("the mask");
    assert!(layer.unmoved.is_none());
}

fn phantoms() {
    let (plain, crossing) = (BuiltInPhantom::plain, BuiltInPhantom::crossing);
    let block = |kind, seed| BuiltInPhantom { kind, seed };
    for (name, head, is_scan) in [
        ("phantom:1", plain(1), false),
        ("phantom:1:dwi", plain(1), true),
        ("phantom:18446744073709551615", plain(u64::MAX), false),
        ("phantom:crossing:1", crossing(1), false),
        ("phantom:crossing:7:dwi", crossing(7), true),
        ("phantom:helix:3", block(PhantomKind::Helix, 3), false),
        ("phantom:u-fibre:1:dwi", block(PhantomKind::UFibre, 1), true),
    ] {
        let expected = PhantomName { head, is_scan };
        assert_eq!(PhantomName::read(name), Some(Ok(expected)), "{name}");
        assert_eq!(expected.to_string(), name);
    }
    for faulty in [
        "phantom:",
        "phantom:one",
        "phantom:-1",
        "phantom:1:t1",
        "phantom:plain",
        "phantom:crossing:",
        "phantom:crossings:1",
    ] {
        assert!(
            matches!(PhantomName::read(faulty), Some(Err(_))),
            "{faulty}"
        );
    }
    // Without a number, the seed is 1.
    let helix = PhantomName {
        head: block(PhantomKind::Helix, 1),
        is_scan: false,
    };
    assert_eq!(PhantomName::read("phantom:helix"), Some(Ok(helix)));
    for file in ["dwi.nii.gz", "phantom", "phantom.nii", ""] {
        assert_eq!(PhantomName::read(file), None, "{file}");
    }
}
