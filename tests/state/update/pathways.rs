//! Pathways in the window's state: requested where they are shown, coarse while dragged, one side at a time, kept,
//! undone.

use super::Window;
use crate::support::test;
use arcuate::data::{Role, Shape};
use arcuate::solvers::eikonal::CostField;
use arcuate::solvers::metric::Params;
use arcuate::solvers::pathway::Pathway;
use arcuate::state::core::layer::OriginId;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::origin::{FitRecipe, Origin};
use arcuate::state::pathways::jobs::region::MakePathwayRegion;
use arcuate::state::pathways::jobs::{FindPathway, KEPT_PATHWAY, PATHWAY};
use arcuate::state::pathways::{
    PathwayAction, PathwayFile, PathwayKey, PathwayParams, PathwaySettings, Standing,
};
use arcuate::state::tensors::recipe::FitMask;
use arcuate::state::update::pathway_command;
use arcuate::state::{Action, CommandLine, Phase, RegionAction, Task, TensorAction, ViewAction};
use arcuate::ui::views::path_at_pointer;
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "update::pathways::they_are_solved_in_their_task_alone",
            looked_at,
        ),
        test("update::pathways::a_drag_is_coarse_and_settles", coarse),
        test("update::pathways::one_side_is_solved_again", one_side),
        test("update::pathways::a_width_solves_nothing", width),
        test("update::pathways::regions_that_do_not_meet", disconnected),
        test("update::pathways::stopped_and_requested_again", stopped),
        test("update::pathways::kept_and_changed", kept),
        test("update::pathways::a_region_of_one", region),
        test("update::pathways::ends_are_swapped", swapped),
        test("update::pathways::a_quick_drag_shows_what_lags", quick),
        test("update::pathways::no_set_holds_what_has_no_path", nowhere),
        test("update::pathways::another_document", another),
        test("update::pathways::a_kept_one_is_tried_again", tried_again),
        test("update::pathways::a_kept_one_names_its_own_mask", own_mask),
    ]
}

pub(super) const A: DVec3 = dvec3(0.0, -14.0, 0.0);
const B: DVec3 = dvec3(1.0, 14.0, 1.0);

/// Fibres along y, with a seed and a target at the two ends of some.
pub(super) fn looking() -> Window {
    let mut window = Window::fitted();
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    window.place(Role::Seed, A);
    window.place(Role::Target, B);
    window
}

/// Full requests: whether a coarse one comes first depends on the speed of the machine.
fn full_requests(window: &Window) -> Vec<&FindPathway> {
    let jobs = window.submitted.iter();
    let pathways = jobs.filter_map(|job| job.job::<FindPathway>());
    pathways.filter(|pathway| !pathway.coarse).collect()
}

pub(super) fn live(window: &Window) -> &arcuate::state::pathways::PathwayResult {
    let live = window.state.runtime.pathways.live.value();
    live.expect("a live pathway")
}

/// The live pathway, whose costs come from tensors.
pub(super) fn in_tensors(window: &Window) -> &Pathway {
    live(window).pathway.tensors().expect("through tensors")
}

pub(super) fn change(window: &mut Window, phase: Phase, edit: impl FnOnce(&mut PathwaySettings)) {
    let mut settings = window.state.document.pathways.clone();
    edit(&mut settings);
    window.act(Action::Pathway(PathwayAction::Set { settings, phase }));
}

pub(super) fn drag(window: &mut Window, role: Role, centre: DVec3, phase: Phase) {
    let regions = &window.state.document.regions;
    let region = regions.iter().find(|r| r.role == role).expect("found").id;
    let shape = Shape::Sphere {
        centre,
        radius_mm: 5.0,
    };
    window.act(Action::Region(RegionAction::SetShape {
        region,
        shape,
        phase,
    }));
}

fn looked_at() {
    let mut window = Window::fitted();
    window.place(Role::Seed, A);
    window.place(Role::Target, B);
    assert!(full_requests(&window).is_empty(), "its task is not shown");
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    let found = live(&window);
    // The path runs along the fibres, from sphere to sphere.
    assert!(
        (found.path.total_mm() - 18.0).abs() < 4.0,
        "{}",
        found.path.total_mm()
    );
    assert!(found.mean_fa.is_some_and(|fa| fa > 0.5));
    let line = pathway_command(&window.state, None);
    let command = line.expect("a command line").text();
    assert!(
        command.starts_with("arcuate pathway /data/scan.nii.gz"),
        "{command}"
    );
    assert!(command.contains("--from sphere:0,-14,0,") && command.contains("--epsilon 0.2"));
    let count = full_requests(&window).len();
    window.act(Action::View(ViewAction::SelectTask(Task::View)));
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    assert_eq!(full_requests(&window).len(), count, "its task is not shown");
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    assert_eq!(full_requests(&window).len(), count + 1);
    let target = window.state.document.regions[1].id;
    window.act(Action::Region(RegionAction::Delete(target)));
    assert!(window.state.runtime.pathways.live.value().is_none());
    window.act(Action::Undo);
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
}

fn coarse() {
    let mut window = looking();
    window.state.runtime.pathways.full_ms = [Some(1e4); 2];
    for x in 1..=3 {
        drag(
            &mut window,
            Role::Seed,
            A + DVec3::X * f64::from(x),
            Phase::Live,
        );
        assert!(live(&window).coarse);
        assert_eq!(window.state.pathway_standing(), Some(Standing::Coarse));
    }
    // Streamlines are not visible here: none are computed during the drag.
    assert!(!window.coarse_requests().contains(&true));
    // An eighth of the voxels, or nearly so.
    let few = live(&window).voxels;
    window.act(Action::Settle);
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    let all = live(&window).voxels;
    assert!(few * 5 < all && few * 9 > all, "{few} of {all}");
    // The drag continues and ends.
    window.state.runtime.pathways.full_ms = [Some(1e4); 2];
    drag(&mut window, Role::Seed, A + DVec3::X * 4.0, Phase::Live);
    assert!(live(&window).coarse);
    drag(&mut window, Role::Seed, A + DVec3::X * 4.0, Phase::Done);
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    // A solve of less than a frame or two is full at once.
    window.state.runtime.pathways.full_ms = [Some(5.0); 2];
    drag(&mut window, Role::Seed, A + DVec3::X * 3.0, Phase::Live);
    assert!(!live(&window).coarse);
}

fn one_side() {
    let mut window = looking();
    let fields = |window: &Window| in_tensors(window).fields.clone().map(|f| f.id());
    let before = fields(&window);
    drag(&mut window, Role::Target, B + DVec3::X * 2.0, Phase::Done);
    let after = fields(&window);
    assert_eq!(before[0], after[0], "the seed has not moved");
    assert_ne!(before[1], after[1]);
    let prepared = in_tensors(&window).fields[0].prepared.id();
    change(&mut window, Phase::Done, |s| {
        s.params.metric.alpha = 2.0;
    });
    assert_ne!(fields(&window)[0], after[0]);
    assert_ne!(in_tensors(&window).fields[0].prepared.id(), prepared);
    // An exclusion is a wall for both.
    let before = fields(&window);
    window.place(Role::Exclude, dvec3(8.0, 0.0, 0.0));
    assert!(fields(&window).iter().zip(before).all(|(a, b)| *a != b));
    // A region without a part in pathways changes nothing.
    let count = full_requests(&window).len();
    window.place(Role::Include, dvec3(-8.0, 0.0, 0.0));
    assert_eq!(full_requests(&window).len(), count);
}

fn width() {
    let mut window = looking();
    let count = full_requests(&window).len();
    let volumes: Vec<f64> = [0.02, 0.1, 0.4]
        .map(|epsilon| {
            change(&mut window, Phase::Live, |s| s.epsilon = epsilon);
            live(&window).volume_ml(epsilon)
        })
        .into();
    assert!(
        volumes.is_sorted() && volumes[0] < volumes[2],
        "{volumes:?}"
    );
    assert_eq!(full_requests(&window).len(), count);
    // The number of voxels in the set.
    let found = live(&window);
    for epsilon in [0.013, 0.37] {
        let (count, mask) = (found.count(epsilon), found.pathway.mask(epsilon));
        assert!(
            count.abs_diff(mask.count()) <= 1,
            "{epsilon}: {count} {}",
            mask.count()
        );
    }
    // The reported size equals that of the written mask.
    let found = live(&window);
    let from = found.pathway.joining_epsilon;
    let unjoined = (from > 0.01).then_some(0.5 * from);
    for epsilon in [from + 0.003, from + 0.05, 0.61, 0.97]
        .into_iter()
        .chain(unjoined)
    {
        let (reported, written) = (found.volume_ml(epsilon), found.mask(epsilon));
        let off =
            (reported - written.volume_ml()).abs() / (written.volume_ml() / written.count() as f64);
        assert!(off < 1.5, "{epsilon}: {off} voxels of {}", written.count());
    }
    // The command contains the present width.
    let reported = arcuate::state::update::pathway_command(&window.state, None);
    assert!(
        reported
            .expect("a command line")
            .text()
            .contains("--epsilon 0.4")
    );
}

fn disconnected() {
    let mut window = looking();
    window.act(Action::Region(RegionAction::Add {
        role: Role::Exclude,
        shape: Shape::Box {
            centre: DVec3::ZERO,
            half_mm: dvec3(100.0, 4.0, 100.0),
        },
    }));
    let task_runtime = &window.state.runtime.pathways;
    assert!(task_runtime.live.value().is_none() && task_runtime.live.running().is_none());
    let why = task_runtime.live.failure().expect("a sentence");
    assert!(
        why.starts_with("No path: region “Target” is not connected to “Seed”"),
        "{why}"
    );
    let count = full_requests(&window).len();
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::ONE)));
    assert_eq!(
        full_requests(&window).len(),
        count,
        "not asked for as it is"
    );
    window.act(Action::Undo);
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    // A wall next to the path: the pointer's readout names it.
    window.place(Role::Exclude, dvec3(8.0, 0.0, 0.0));
    let at = dvec3(8.0, 0.0, 0.0);
    let reported = path_at_pointer::text(&window.state, live(&window), at);
    assert_eq!(
        reported,
        Some(("no path: in an exclude region".to_owned(), false))
    );
    window.act(Action::Undo);
    // An FA that no voxel has.
    change(&mut window, Phase::Done, |s| s.params.min_fa = 1.0);
    let why = window.state.runtime.pathways.live.failure();
    let why = why.expect("a sentence");
    assert!(why.ends_with("lower Domain FA"), "{why}");
    // One region inside the other.
    window.act(Action::Undo);
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    drag(&mut window, Role::Seed, B + DVec3::Y, Phase::Done);
    let why = window.state.runtime.pathways.live.failure();
    let why = why.expect("a sentence");
    assert_eq!(
        why,
        "Regions “Seed” and “Target” overlap, expected no common voxel; move one"
    );
}

fn stopped() {
    let mut window = looking();
    window.holding = true;
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    assert_eq!(window.state.pathway_standing(), Some(Standing::Updating));
    window.act(Action::CancelJob(PATHWAY));
    assert!(window.cancelled.contains(&PATHWAY));
    assert_eq!(window.state.pathway_standing(), Some(Standing::OutOfDate));
    window.holding = false;
    window.pending.clear();
    window.act(Action::Pathway(PathwayAction::SolveAgain));
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
}

fn kept() {
    let mut window = looking();
    window.act(Action::Pathway(PathwayAction::Keep));
    let kept = window.state.document.kept_pathways[0].clone();
    assert_eq!(kept.name, "Seed – Target");
    assert!(kept.result.is_some() && kept.visible);
    window.act(Action::Pathway(PathwayAction::Keep));
    let all = &window.state.document.kept_pathways;
    assert_eq!(all[1].name, "Seed – Target 2");
    assert_ne!(all[1].colour, all[0].colour);
    let changed = arcuate::state::KeptPathway {
        epsilon: 0.3,
        visible: false,
        ..(*kept).clone()
    };
    let phase = Phase::Done;
    window.act(Action::Pathway(PathwayAction::SetKept {
        kept: changed,
        phase,
    }));
    let line = arcuate::state::update::pathway_command(&window.state, Some(kept.id));
    let Some(CommandLine::Pathway { epsilon, .. }) = line else {
        panic!("{line:?}")
    };
    assert_eq!(epsilon, 0.3);
    // It stays unchanged while the ends move on.
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    let found = window.state.document.kept_pathways[0].result.clone();
    assert!(Arc::ptr_eq(
        &found.expect("found"),
        kept.result.as_ref().expect("found")
    ));
    let folder = tempfile::tempdir().expect("a folder");
    for (file, name) in [
        (PathwayFile::Mask, "set.nii.gz"),
        (PathwayFile::Mask, "set.ply"),
        (PathwayFile::Path, "path.tck"),
        (PathwayFile::Total, "u.nii.gz"),
        (PathwayFile::First, "u1.nii.gz"),
        (PathwayFile::Second, "u2.nii.gz"),
    ] {
        let path = folder.path().join(name);
        let layer = Some(kept.id);
        window.act(Action::Pathway(PathwayAction::Save {
            layer,
            file,
            path: path.clone(),
        }));
        assert!(
            path.exists(),
            "{name}: {:?}",
            window.state.runtime.notices.messages
        );
    }
    window.act(Action::Pathway(PathwayAction::Delete(kept.id)));
    assert_eq!(window.state.document.kept_pathways.len(), 1);
    window.act(Action::Undo);
    assert_eq!(window.state.document.kept_pathways.len(), 2);
}

fn region() {
    let mut window = looking();
    let before = live(&window).voxels;
    let role = Role::Mask;
    window.act(Action::Pathway(PathwayAction::Region { layer: None, role }));
    // A worker counts its voxels.
    assert_eq!(window.jobs_of::<MakePathwayRegion>().count(), 1);
    let region = window.state.document.regions.last().expect("found").clone();
    assert_eq!((&*region.name, region.role), ("Pathway", Role::Mask));
    // Paths stay inside it from now on.
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    assert!(live(&window).voxels < before);
    let Shape::Mask(mask) = &*region.shape else {
        panic!("a mask")
    };
    let inside = live(&window)
        .path
        .points
        .iter()
        .filter(|p| mask.contains(**p));
    assert_eq!(inside.count(), live(&window).path.points.len());
}

fn swapped() {
    let mut window = looking();
    let (least, before) = (
        live(&window).pathway.min_cost,
        PathwayKey::from_result(live(&window)),
    );
    let names = |window: &Window| -> Vec<(Role, String)> {
        let regions = window.state.document.regions.iter();
        regions.map(|r| (r.role, r.name.clone())).collect()
    };
    let named = names(&window);
    let fields = |window: &Window| in_tensors(window).fields.each_ref().map(CostField::id);
    let solved = fields(&window);
    window.act(Action::Pathway(PathwayAction::SwapEnds));
    assert_ne!(PathwayKey::from_result(live(&window)), before);
    // Nothing is solved again, and names derived from the role are those of the new role.
    assert_eq!(fields(&window), [solved[1], solved[0]]);
    assert_eq!(in_tensors(&window).fields[0].source.name, "Seed");
    let reported = |(role, name): &(Role, String)| name.starts_with(role.name());
    assert!(names(&window).iter().all(reported), "{:?}", names(&window));
    let after = live(&window).pathway.min_cost;
    assert!((after / least - 1.0).abs() < 1e-3, "{least} {after}");
    window.act(Action::Undo);
    assert_eq!(names(&window), named);
    assert_eq!(PathwayKey::from_result(live(&window)), before);
}

/// A user faster than the solver sees the existing results.
fn quick() {
    let mut window = looking();
    window.state.runtime.pathways.full_ms = [Some(5.0); 2];
    let count = full_requests(&window).len();
    window.holding = true;
    let at = |x: f64| A + DVec3::X * x;
    for x in [1.0, 2.0, 3.0] {
        drag(&mut window, Role::Seed, at(x), Phase::Live);
    }
    assert_eq!(
        full_requests(&window).len(),
        count + 1,
        "none is cancelled for the next"
    );
    let before = PathwayKey::from_result(live(&window));
    // However long it takes here.
    let at_once = |events: &mut Vec<arcuate::state::Event>| {
        events.iter_mut().for_each(|e| e.wall_ms = 5.0);
    };
    window.deliver(at_once);
    let shown = live(&window);
    assert_ne!(
        PathwayKey::from_result(shown),
        before,
        "the first of them is seen"
    );
    assert!(!shown.coarse);
    assert_eq!(
        full_requests(&window).len(),
        count + 2,
        "and the last is asked for"
    );
    window.holding = false;
    window.deliver(at_once);
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    // A metric that must be recomputed is not known to be quick.
    window.state.runtime.pathways.full_ms = [Some(5.0), Some(1e4)];
    change(&mut window, Phase::Live, |s| {
        s.params.metric.alpha = 2.0;
    });
    assert!(live(&window).coarse);
    // When the user leaves in the middle of it nothing is requested.
    window.act(Action::View(ViewAction::SelectTask(Task::View)));
    assert!(!window.state.runtime.pathways.live.waits_for_rest());
}

fn nowhere() {
    let mut window = looking();
    change(&mut window, Phase::Done, |s| s.epsilon = 1.0);
    let found = live(&window);
    let inside = found.excess.values.iter().filter(|v| **v <= 1.0).count();
    assert_eq!(inside, found.count(1.0), "as many as have such a path");
    assert!(inside < found.excess.values.len() && inside <= found.voxels);
}

/// Two documents whose kept pathways have the same number.
fn another() {
    let mut window = looking();
    window.act(Action::Pathway(PathwayAction::Keep));
    let mut document = window.state.document.clone();
    Arc::make_mut(&mut document.kept_pathways[0]).result = None;
    let mut other = document.clone();
    let kept = Arc::make_mut(&mut other.kept_pathways[0]);
    let PathwayParams::Tensors(params) = &mut kept.params else {
        panic!("through tensors");
    };
    params.metric.alpha = 2.0;
    window.state.document = document;
    window.state.runtime.pathways.full_ms = [Some(5.0); 2];
    let count = full_requests(&window).len();
    window.holding = true;
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    assert!(window.state.runtime.pathways.solving.is_some());
    assert_eq!(
        full_requests(&window).len(),
        count + 2,
        "the live and the kept one"
    );
    let leave = arcuate::state::SessionAction::CloseDocument(arcuate::state::UnsavedAction::New);
    window.state.history.clear();
    window.act(Action::Session(leave));
    let discard = arcuate::state::SessionAction::Discard;
    window.act(Action::Session(discard));
    assert!(window.state.document.regions.is_empty(), "left");
    let task_runtime = &window.state.runtime.pathways;
    assert!(
        task_runtime.live.value().is_none() && task_runtime.prepared.iter().all(Option::is_none)
    );
    for slot in [PATHWAY, KEPT_PATHWAY] {
        assert!(window.cancelled_of_document && slot.is_of_document());
    }
    window.state.document = other;
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::ONE)));
    assert_eq!(full_requests(&window).len(), count + 3);
    window.holding = false;
    window.deliver(|_| {});
    let kept = &window.state.document.kept_pathways[0];
    let found = kept.result.as_ref().expect("solved");
    let params = found.key.params.tensors().expect("through tensors");
    assert_eq!(params.metric, Params::sharpened(2.0));
    assert!(window.state.runtime.pathways.unsolved.is_empty());
    assert!(
        window.state.runtime.pathways.live.value().is_none(),
        "its task is not shown"
    );
}

/// Pathways kept in a session are solved as soon as possible.
fn tried_again() {
    let mut window = looking();
    window.act(Action::Pathway(PathwayAction::Keep));
    let kept = |window: &Window| window.state.document.kept_pathways[0].clone();
    let original = kept(&window).fit;
    let change = |window: &mut Window, fit: OriginId| {
        let kept = Arc::make_mut(&mut window.state.document.kept_pathways[0]);
        (kept.result, kept.fit) = (None, fit);
    };
    let origins = &window.state.document.origins;
    let fit = origins.fit(original).expect("a fit");
    let elsewhere = origins.add(FitRecipe {
        scan: origins.add(Origin::file("/data/other.nii.gz")),
        ..(**fit).clone()
    });
    change(&mut window, elsewhere);
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::ONE)));
    assert_eq!(window.state.runtime.pathways.unsolved.len(), 1);
    let reported = window
        .state
        .runtime
        .notices
        .messages
        .last()
        .expect("a sentence");
    assert!(reported.text.contains("Seed – Target"), "{}", reported.text);
    change(&mut window, original);
    window.act(Action::View(ViewAction::MoveCrosshair(DVec3::ZERO)));
    assert!(kept(&window).result.is_none(), "nothing has changed");
    window.ordinary();
    assert!(kept(&window).result.is_some());
}

/// An error about a kept pathway names the mask of its own fit, even where the tensors have another mask now.
fn own_mask() {
    let mut window = looking();
    window.act(Action::Pathway(PathwayAction::Keep));
    let tensors = window.state.document.tensors.clone().expect("tensors");
    let path = PathBuf::from("/data/roi.nii.gz");
    let loaded = Loaded::Mask(tensors.mask.clone());
    window.act(Action::Event(super::file("/data/roi.nii.gz", loaded)));
    let mut layers = window.state.document.layers.iter();
    let roi = layers.find(|l| l.name == "roi").expect("opened").id;
    window.act(Action::Tensors(TensorAction::SetMask(Some(roi))));
    let now = arcuate::state::tensors::mask_text::name_of(&window.state.document);
    assert_eq!(now, "the mask “roi”");
    for (mask, name) in [
        (FitMask::Automatic, "the automatic mask"),
        (FitMask::File(path), "the mask “roi”"),
    ] {
        let document = &mut window.state.document;
        let kept = Arc::make_mut(&mut document.kept_pathways[0]);
        let fit = document.origins.fit(kept.fit).expect("a fit");
        let fit = FitRecipe {
            mask,
            ..(**fit).clone()
        };
        (kept.result, kept.fit) = (None, document.origins.add(fit));
        window.state.runtime.pathways.unsolved_with = Default::default();
        window.act(Action::View(ViewAction::MoveCrosshair(DVec3::ONE)));
        let mut jobs = window.submitted.iter().rev();
        let requested = jobs.find_map(|job| job.job::<FindPathway>().filter(|f| f.kept.is_some()));
        assert_eq!(requested.expect("solved again").mask_name, name);
    }
}
