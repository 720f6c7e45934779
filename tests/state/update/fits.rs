//! The mask, the volumes and the gradients that a fit uses, and its command.

use super::{Window, file, noisy_scan, opened, scan};
use crate::support::{Random, test};
use arcuate::data::{Gradients, Grid, Mask, Role, Volume};
use arcuate::jobs::Outcome;
use arcuate::solvers::tensor_fit::{self, FitMap};
use arcuate::state::command_line::{CommandLine, NoCommand};
use arcuate::state::files::jobs::open::{Loaded, OpenFile, Opened};
use arcuate::state::methods::methods;
use arcuate::state::sessions::unsaved::UnsavedPart;
use arcuate::state::tensors::jobs::ComputeShapes;
use arcuate::state::tensors::jobs::fit::FitTensors;
use arcuate::state::{
    Action, Content, FilesAction, LayerAction, LayerId, RegionAction, Severity, State,
    TensorAction, ViewAction, update,
};
use arcuate::ui::probe;
use glam::{DAffine3, DVec3, dvec3};
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::fits::repaired_voxels_are_no_mask", repaired),
        test("update::fits::renamed_maps_are_replaced", renamed),
        test("update::fits::maps_of_the_shape_follow_the_fit", shapes),
        test("update::fits::a_map_waits_for_the_fit", map_without_fit),
        test("update::fits::a_mask_is_chosen", chosen),
        test(
            "update::fits::a_mask_in_another_place_is_reported",
            elsewhere,
        ),
        test(
            "update::fits::a_mask_in_another_order_is_the_same",
            reordered,
        ),
        test("update::fits::masks_opened_with_their_scan", together),
        test("update::fits::no_fa_is_read_outside_the_mask", no_fa),
        test(
            "update::fits::a_mask_next_to_the_scan_is_offered",
            adjacent_mask,
        ),
        test("update::fits::excluded_high_shells_are_reported", shells),
        test("update::fits::gradients_go_to_scans", gradients_to_scans),
        test("update::fits::named_gradients_stay_named", named_gradients),
        test("update::fits::a_mask_without_file_has_no_command", no_file),
    ]
}

/// Half of the scan's ball, on a grid moved by a vector in mm.
fn half_ball(by: DVec3) -> Loaded {
    let (dwi, _) = scan();
    let origin = DVec3::splat(-24.0) + by;
    let grid = Grid::axis_aligned(dwi.grid.shape, DVec3::splat(2.0), origin).expect("a grid");
    let inside = |i: usize| {
        let voxel = DVec3::from_array(grid.voxel(i).map(|v| v as f64)) - 11.5;
        u8::from(voxel.x > 0.0 && voxel.length() < 10.0)
    };
    let inside: Vec<u8> = (0..grid.voxel_count()).map(inside).collect();
    Loaded::Mask(Mask::new(Arc::new(grid), inside))
}

fn layer(state: &State, name: &str) -> LayerId {
    state.document.layer_named(name).expect("the layer").id
}

fn repaired() {
    let (dwi, gradients) = noisy_scan(150.0);
    let mut window = Window::new();
    window.act(Action::Event(file(
        "/data/scan.nii.gz",
        Loaded::Scan {
            dwi,
            gradients: Some(Arc::new(gradients)),
            gradient_files: Vec::new(),
        },
    )));
    let before = window.tensors().fitted;
    let repaired = window.tensors().repaired;
    assert!(0 < repaired && repaired < before, "{repaired} of {before}");
    assert!(
        window
            .state
            .document
            .layer_named("Repaired tensors")
            .is_some()
    );
    window.ordinary();
    let fit = window.jobs_of::<FitTensors>().last().expect("a fit");
    assert!(fit.mask.is_none(), "found again from the scan");
    assert_eq!(window.tensors().fitted, before);
    // Most tensors within the mask needed no repair.
    let tensors = window.tensors();
    let marked = layer(&window.state, "Repaired tensors");
    let marked = window.state.document.layer(marked).expect("a mask");
    let Content::Mask(marks) = &marked.content else {
        panic!("a mask");
    };
    let (grid, marks) = (tensors.field.grid.clone(), marks.clone());
    let inside = tensors.mask.clone();
    for (is_fitted, is_marked, expected) in [
        (true, true, "repaired here"),
        (true, false, "not repaired here"),
        (false, false, probe::OUTSIDE_MASK),
    ] {
        let is_meant = |i: &usize| {
            (inside.inside[*i] != 0) == is_fitted && (marks.inside[*i] != 0) == is_marked
        };
        let voxel = (0..grid.voxel_count()).find(is_meant).expect("a voxel");
        let at = grid.world(DVec3::from_array(grid.voxel(voxel).map(|v| v as f64)));
        window.act(Action::View(ViewAction::MoveCrosshair(at)));
        let all = probe::readings(&window.state);
        let reading = all.iter().find(|r| r.name == "Repaired tensors");
        assert_eq!(reading.expect("a reading").value, expected);
    }
    // The layer is identified by its map, under any name that the user gives it.
    let repaired = layer(&window.state, "Repaired tensors");
    window.act(Action::Layer(LayerAction::Rename {
        layer: repaired,
        name: "Doubtful".to_owned(),
    }));
    let found = window.state.document.fit_layer(FitMap::Repaired);
    assert_eq!(found.map(|l| l.id), Some(repaired));
    // A request for it changes nothing either.
    window.act(Action::Tensors(TensorAction::SetMask(Some(repaired))));
    assert_eq!(window.tensors().fitted, before);
}

/// A new fit replaces a map that the user has renamed, and keeps its name.
fn renamed() {
    let mut window = Window::fitted();
    let md = layer(&window.state, "MD");
    window.act(Action::Layer(LayerAction::Rename {
        layer: md,
        name: "Mean".to_owned(),
    }));
    let origin = |window: &Window| window.state.document.layer(md).expect("the map").origin;
    let (before, count) = (origin(&window), window.state.document.layers.len());
    window.act(Action::Tensors(TensorAction::SetFit {
        params: tensor_fit::Params {
            method: tensor_fit::Method::Ols,
            ..window.state.document.fit.clone()
        },
    }));
    let document = &window.state.document;
    assert_eq!(document.layers.len(), count);
    assert!(document.layer_named("MD").is_none());
    assert_eq!(layer(&window.state, "Mean"), md);
    assert_ne!(origin(&window), before, "a map of the new fit");
}

/// A map of the shape is computed when it is requested, once, and again with each fit whose document shows it.
fn shapes() {
    let mut window = Window::fitted();
    let count = window.state.document.layers.len();
    let show = |map| Action::Tensors(TensorAction::ShowShape(map));
    assert!(window.state.document.fit_layer(FitMap::Mode).is_none());
    window.act(show(FitMap::Mode));
    assert_eq!(window.state.document.layers.len(), count + 1);
    let map = window
        .state
        .document
        .fit_layer(FitMap::Mode)
        .expect("the map");
    let id = map.id;
    assert_eq!((&*map.name, map.display.window), ("Mode", (-1.0, 1.0)));
    assert!(map.display.visible);
    assert_eq!(window.state.runtime.selected_layer, Some(id));
    let text = methods(&window.state);
    assert!(
        text.contains("show: mode [") && text.contains("Kindlmann G (2006)"),
        "{text}"
    );
    let map = window.state.document.layer(id).expect("the map");
    let command = window.state.document.command_line(map).text();
    assert!(command.contains("--maps mode"), "{command}");
    let image = |window: &Window| {
        let layer = window.state.document.layer(id).expect("the map");
        layer.content.volume().expect("an image").clone()
    };
    let before = image(&window);
    assert!(before.values.iter().any(|v| *v != 0.0));
    assert!(before.values.iter().all(|v| v.abs() <= 1.0));
    // A second request shows it and computes nothing.
    window.act(show(FitMap::Mode));
    assert_eq!(window.jobs_of::<ComputeShapes>().count(), 1);
    // A new fit replaces it.
    window.ordinary();
    let fit = window.jobs_of::<FitTensors>().last().expect("a fit");
    assert_eq!(fit.shapes, [FitMap::Mode]);
    assert_eq!(window.state.document.layers.len(), count + 1);
    assert_ne!(image(&window).id(), before.id(), "a map of the new fit");
    window.act(Action::Undo);
    assert_eq!(
        image(&window).id(),
        before.id(),
        "the map of the earlier fit"
    );
    // The second request may be a step of its own.
    for _ in 0..2 {
        if window.state.document.layer(id).is_some() {
            window.act(Action::Undo);
        }
    }
    assert!(window.state.document.layer(id).is_none());
    // The norm has the unit of diffusivities.
    window.act(show(FitMap::Norm));
    let norm = window
        .state
        .document
        .fit_layer(FitMap::Norm)
        .expect("a map");
    assert_eq!((norm.unit, norm.unit_scale), ("×10⁻³ mm²/s", 1e3));
}

fn map_without_fit() {
    let mut window = Window::new();
    window.act(Action::Tensors(TensorAction::ShowShape(FitMap::Cl)));
    assert_eq!(window.jobs_of::<ComputeShapes>().count(), 0);
    let messages = &window.state.runtime.notices.messages;
    assert!(format!("{messages:?}").contains("once the tensors are fitted"));
    // A map that arrives after other tensors were requested belongs to none.
    let mut window = Window::fitted();
    let count = window.state.document.layers.len();
    window.holding = true;
    window.act(Action::Tensors(TensorAction::ShowShape(FitMap::Cl)));
    window.ordinary();
    window.holding = false;
    window.deliver(|_| {});
    assert!(window.state.document.fit_layer(FitMap::Cl).is_none());
    assert_eq!(window.state.document.layers.len(), count);
}

fn chosen() {
    let mut window = Window::fitted();
    let (all, path) = (window.tensors().fitted, "/data/roi.nii.gz");
    window.act(Action::Event(file(path, half_ball(DVec3::ZERO))));
    assert_eq!(
        (window.fits(), window.tensors().fitted),
        (1, all),
        "a region"
    );
    let roi = layer(&window.state, "roi");
    window.act(Action::Tensors(TensorAction::SetMask(Some(roi))));
    assert!(window.tensors().fitted < all * 3 / 4);
    let command = window.fit().text();
    assert!(command.contains(" --mask /data/roi.nii.gz"), "{command}");
    window.act(Action::Undo);
    assert_eq!((window.fits(), window.tensors().fitted), (2, all));
    window.act(Action::Redo);
    assert_eq!(window.fits(), 2);
    // Without its layer the mask is found again.
    window.act(Action::Layer(LayerAction::Delete(roi)));
    assert_eq!(window.tensors().fitted, all);
    assert!(!window.fit().text().contains("--mask"));
}

fn elsewhere() {
    let mut random = Random::fresh("elsewhere");
    for (share, taken) in [(0.09, true), (0.2, false)] {
        let mut window = Window::new();
        // The scan is not yet fitted when the mask arrives.
        window.holding = true;
        window.act(Action::Event(opened()));
        let by = random.direction() * share * 2.0;
        window.act(Action::Event(file("/data/m.nii.gz", half_ball(by))));
        let fit = window.jobs_of::<FitTensors>().last().expect("a fit");
        assert_eq!(fit.mask.is_some(), taken, "moved by {share} of a voxel");
        let messages = &window.state.runtime.notices.messages;
        let reported = messages.iter().any(|m| m.text.contains("another grid"));
        assert_eq!(reported, !taken, "{messages:?}");
        window.deliver(|_| {});
        let errors = &window.state.runtime.notices.messages;
        let errors = errors.iter().filter(|m| m.severity == Severity::Error);
        assert_eq!(errors.count(), 0);
        let (fitted, mask) = (window.tensors().fitted, window.tensors().key.mask);
        assert_eq!(mask.is_some(), taken, "{fitted} voxels");
    }
}

/// A mask of the scan's voxels with its axes stored differently gives the same fit as in their order.
fn reordered() {
    let Loaded::Mask(plain) = half_ball(DVec3::ZERO) else {
        unreachable!("a mask");
    };
    // Stored z, x and y, with y backwards.
    let [nx, ny, nz] = plain.grid.shape;
    let m = plain.grid.world_from_voxel.matrix3;
    let first = plain.grid.world(dvec3(0.0, ny as f64 - 1.0, 0.0));
    let affine = DAffine3::from_cols(m.z_axis, m.x_axis, -m.y_axis, first);
    let grid = Grid::new([nz, nx, ny], affine, plain.grid.source).expect("a grid");
    let inside = |i: usize| {
        let [z, x, y] = grid.voxel(i);
        plain.inside[plain.grid.index([x, ny - 1 - y, z])]
    };
    let inside: Vec<u8> = (0..grid.voxel_count()).map(inside).collect();
    let stored = Mask::new(Arc::new(grid), inside);
    let scan = opened();
    let fits = [plain, stored].map(|mask| {
        let mut window = Window::new();
        window.holding = true;
        window.act(Action::Event(scan.clone()));
        let mask = Loaded::Mask(mask);
        window.act(Action::Event(file("/data/m.nii.gz", mask)));
        window.deliver(|_| {});
        let message = &window.state.runtime.notices.messages;
        assert!(message.is_empty(), "{message:?}");
        let tensors = window.tensors();
        assert!(tensors.key.mask.is_some());
        tensors.field.tensors.clone()
    });
    assert_eq!(fits[0], fits[1]);
}

/// Files dropped together belong together, in any order and however late they arrive.
fn together() {
    let paths = ["/data/scan.nii.gz", "/data/brain.nii.gz"].map(PathBuf::from);
    let events = || [opened(), file("/data/brain.nii.gz", half_ball(DVec3::ZERO))];
    for order in [[0, 1], [1, 0]] {
        let mut window = Window::new();
        // The update only notes the request.
        update(
            &mut window.state,
            Action::Files(FilesAction::Open(paths.to_vec())),
        );
        for i in order {
            window.act(Action::Event(events()[i].clone()));
        }
        assert!(window.tensors().key.mask.is_some(), "{order:?}");
    }
}

/// Volumes with random directions at these b-values.
fn table(shells: &[(f64, usize)]) -> Gradients {
    let mut random = Random::fresh("table");
    let b: Vec<f64> = shells.iter().flat_map(|&(b, n)| vec![b; n]).collect();
    let direction = |b: &f64| {
        if *b == 0.0 {
            DVec3::ZERO
        } else {
            random.direction()
        }
    };
    Gradients {
        directions: b.iter().map(direction).collect(),
        b_s_per_mm2: b,
    }
}

fn shells() {
    for (shells, high_excluded) in [
        (vec![(0.0, 1), (1000.0, 30), (3000.0, 60)], true),
        (vec![(0.0, 1), (1000.0, 15), (2000.0, 60)], true),
        // Six directions determine a tensor but leave its noise.
        (vec![(0.0, 1), (700.0, 6), (2000.0, 60)], false),
        (vec![(0.0, 1), (700.0, 7), (2000.0, 7)], true),
        (vec![(0.0, 4), (700.0, 5), (2000.0, 5)], false),
        (vec![(0.0, 1), (3000.0, 30)], false),
    ] {
        let (_, high) = tensor_fit::Params::default_b_range(&table(&shells));
        assert_eq!(high < 2000.0, high_excluded, "{shells:?}");
    }
    let gradients = table(&[(0.0, 1), (1000.0, 16), (2500.0, 3)]);
    let (dwi, _) = scan();
    let grid = dwi.grid.clone();
    let frame = |b: &f64| {
        let factor = (-b * 0.7e-3).exp() as f32;
        dwi.frame(0)
            .iter()
            .map(move |v| v * factor)
            .collect::<Vec<_>>()
    };
    let values: Vec<f32> = gradients.b_s_per_mm2.iter().flat_map(frame).collect();
    let loaded = Loaded::Scan {
        dwi: Volume::new(grid, gradients.len(), dwi.kind, values),
        gradients: Some(Arc::new(gradients)),
        gradient_files: Vec::new(),
    };
    let mut window = Window::new();
    window.act(Action::Event(file("/data/multi.nii", loaded)));
    assert_eq!(window.tensors().outside_range, [17, 18, 19]);
}

fn gradients_to_scans() {
    let requested = |state: &mut State| {
        let files = vec!["/d/x.bval".into(), "/d/x.bvec".into()];
        let effects = update(state, Action::Files(FilesAction::Open(files)));
        effects.iter().find_map(|e| match e.job() {
            Some(OpenFile { path, .. }) => Some(path.clone()),
            _ => None,
        })
    };
    let (dwi, gradients) = scan();
    let t1 = Volume::scalar(dwi.grid.clone(), dwi.frame(0).to_vec());
    let mut state = State::new(String::new());
    let image = || file("/d/t1.nii", Loaded::Image(t1.clone()));
    update(&mut state, Action::Event(image()));
    assert_eq!(requested(&mut state), None, "an image takes no gradients");
    assert!(
        state
            .runtime
            .notices
            .messages
            .iter()
            .any(|m| m.text.contains("scan"))
    );
    let scan = |gradients| Loaded::Scan {
        dwi: dwi.clone(),
        gradients,
        gradient_files: Vec::new(),
    };
    for (path, gradients) in [
        ("/d/waits.nii", None),
        ("/d/has.nii", Some(Arc::new(gradients))),
    ] {
        update(&mut state, Action::Event(file(path, scan(gradients))));
    }
    update(&mut state, Action::Event(image()));
    assert_eq!(requested(&mut state), Some("/d/waits.nii".into()));
    let waits = layer(&state, "waits");
    update(&mut state, Action::Layer(LayerAction::Delete(waits)));
    assert_eq!(requested(&mut state), Some("/d/has.nii".into()));
}

fn named_gradients() {
    let mut window = Window::new();
    let (dwi, gradients) = scan();
    window.act(Action::Event(file(
        "/data/scan.nii.gz",
        Loaded::Scan {
            dwi,
            gradients: Some(Arc::new(gradients)),
            gradient_files: vec!["/other/a.bval".into(), "/other/a.bvec".into()],
        },
    )));
    window.place(Role::Seed, DVec3::ZERO);
    let live = window.state.runtime.track.live.value().expect("live");
    let live = window.state.document.live_command_line(live).text();
    for command in [window.fit().text(), live] {
        let named = "/data/scan.nii.gz --bval /other/a.bval --bvec /other/a.bvec";
        assert!(command.contains(named), "{command}");
    }
}

fn no_file() {
    let mut window = Window::fitted();
    window.place(Role::Seed, dvec3(0.0, 2.0, 0.0));
    let mask = layer(&window.state, "Brain mask");
    window.act(Action::Region(RegionAction::FromLayer {
        layer: mask,
        role: Role::Mask,
    }));
    let live = window
        .state
        .runtime
        .track
        .live
        .value()
        .cloned()
        .expect("live");
    let line = window.state.document.live_command_line(&live);
    let sentence = line.no_command().expect("no command");
    assert!(sentence.contains("“Brain mask”"), "{sentence}");
    assert!(line.text().starts_with("# "));
    let unknown = CommandLine::NoCommand(NoCommand::OriginUnknown);
    let text = unknown.no_command().expect("no command");
    assert!(!text.contains("region") && unknown.text() == format!("# {text}"));
    window.act(Action::CopyCommand(line));
    assert!(window.copied.is_empty(), "{:?}", window.copied);
    let reported = |m: &arcuate::state::Message| m.text == sentence;
    assert!(window.state.runtime.notices.messages.iter().any(reported));
}

/// The fit starts without it, and uses it on request; once chosen or open it is no longer offered.
fn adjacent_mask() {
    let (dwi, gradients) = scan();
    let loaded = Loaded::Scan {
        dwi,
        gradients: Some(Arc::new(gradients)),
        gradient_files: Vec::new(),
    };
    let path = PathBuf::from("/data/scan_brain_mask.nii.gz");
    let mut event = file("/data/scan.nii.gz", loaded);
    let Some(Outcome::Done(Opened::File(opened))) = event.outcome_mut::<OpenFile>() else {
        panic!("a file")
    };
    opened.companion_mask = Some(path.clone());
    let mut window = Window::new();
    window.act(Action::Event(event));
    assert!(
        window.tensors().mask_report.is_some(),
        "computed from the scan"
    );
    assert_eq!(window.state.offered_mask(), Some(&path));
    assert_eq!(window.state.unsaved(), []);
    // Opened together they give the same fit whenever they are opened again: that is not unsaved work.
    let together = ["/data/scan.nii.gz", "/data/scan_brain_mask.nii.gz"];
    let mut both = window.state.clone();
    both.runtime.files.opened_together = together.map(PathBuf::from).to_vec();
    let mask = || file("/data/scan_brain_mask.nii.gz", half_ball(DVec3::ZERO));
    update(&mut both, Action::Event(mask()));
    assert!(both.document.chosen_mask().is_some());
    assert_eq!(both.unsaved(), []);
    let effects = update(
        &mut window.state,
        Action::Tensors(TensorAction::TakeOfferedMask),
    );
    let requested = effects
        .iter()
        .any(|e| matches!(e.job(), Some(OpenFile { path: requested, .. }) if *requested == path));
    assert!(requested, "{effects:?}");
    window.act(Action::Event(mask()));
    // A choice of the user's is unsaved work.
    let unsaved = window.state.unsaved();
    let name = "scan_brain_mask".to_owned();
    assert_eq!(unsaved, [UnsavedPart::FitMask(Some(name))]);
    let named = "The choice of “scan_brain_mask” as the brain mask of the fit";
    assert_eq!(unsaved[0].label(), named);
    let (chosen, mask) = window.state.document.chosen_mask().expect("the mask");
    assert_eq!(window.state.document.path(chosen), Some(&*path));
    assert_eq!(window.tensors().mask.inside, mask.inside);
    assert_eq!(window.tensors().mask_report, None);
    assert_eq!(window.state.offered_mask(), None);
    let name = arcuate::state::tensors::mask_text::name_of(&window.state.document);
    assert_eq!(name, "the mask “scan_brain_mask”");
}

/// Maps are 0 where there is no tensor: that is not an FA of 0.
fn no_fa() {
    let mut window = Window::new();
    window.act(Action::Event(opened()));
    let grid = window.tensors().field.grid.clone();
    let corner = grid.world(DVec3::splat(1.0));
    window.act(Action::View(ViewAction::MoveCrosshair(corner)));
    let all = probe::readings(&window.state);
    for name in ["FA", "MD", "AD", "RD"] {
        let reading = all.iter().find(|r| r.name == name).expect(name);
        assert_eq!(reading.value, "outside the mask", "{name}");
    }
    let brief: Vec<&str> = probe::brief_readings(&window.state, &all, 2)
        .into_iter()
        .map(|r| r.value.as_str())
        .collect();
    assert_eq!(brief, ["outside the mask"]);
    window.act(Action::View(ViewAction::MoveCrosshair(grid.centre())));
    let all = probe::readings(&window.state);
    let fa = all.iter().find(|r| r.name == "FA").expect("FA");
    assert!(fa.value.parse::<f64>().is_ok(), "{}", fa.value);
    let outside = grid.bounds().1 + 50.0;
    window.act(Action::View(ViewAction::MoveCrosshair(outside)));
    let all = probe::readings(&window.state);
    let fa = all.iter().find(|r| r.name == "FA").expect("FA");
    assert_eq!(fa.value, "outside");
}
