//! Pathways through crossings in the window's state: the switch between the models, the drag, random pairs and maps.

use super::pathways::{A, change, drag};
use super::{Window, file};
use crate::support::{distributions, test};
use arcuate::data::{OdfLayout, Role};
use arcuate::solvers::lifted::DirectionSet;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::methods::methods;
use arcuate::state::pathways::jobs::{
    COMPARE, ComparePathway, FindLifted, KnownPairs, MapSensitivity, PATHWAY,
};
use arcuate::state::pathways::{
    PathwayAction, PathwayCosts, PathwayFile, PathwayResult, ShownCost, Standing,
};
use arcuate::state::track::types::odf::Model;
use arcuate::state::update::pathway_command;
use arcuate::state::{Action, Layer, LayerId, Phase, Task, TensorAction, ViewAction};
use arcuate::ui::views::{badge, path_at_pointer};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::crossings::the_directions_are_a_step", switched),
        test("update::crossings::a_drag_is_a_preview", dragged),
        test("update::crossings::turns_have_a_price", turns),
        test("update::crossings::a_wide_one_is_solved_further", wide),
        test("update::crossings::compared_with_random_pairs", compared),
        test("update::crossings::a_map_is_a_layer", mapped),
        test("update::crossings::kept_without_their_fields", kept),
        test("update::crossings::they_need_distributions", needed),
        test("update::crossings::regions_confine_them", confined),
        test("update::crossings::stopped_and_requested_again", stopped),
        test("update::crossings::an_image_alone_has_no_tensors", alone),
    ]
}

const BALL_MM: f64 = 20.0;
const B: DVec3 = dvec3(0.0, 12.0, 0.0);

/// Bundles along x and y that cross in every voxel of a ball, with a seed and a target joined by the second.
fn estimated() -> Window {
    let mut window = Window::fitted();
    let job = distributions::requested(&mut window.state, |_| {});
    let fods = distributions::crossing(&job.dwi.grid, &job.gradients, BALL_MM);
    window.act(distributions::estimated(job, fods));
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    window.place(Role::Seed, A);
    window.place(Role::Target, B);
    window
}

fn looking() -> Window {
    let mut window = estimated();
    change(&mut window, Phase::Done, |s| {
        s.model = Model::Distributions;
    });
    window
}

fn live(window: &Window) -> &PathwayResult {
    let live = &window.state.runtime.pathways.live;
    let why = live.failure();
    live.value()
        .unwrap_or_else(|| panic!("no pathway: {why:?}"))
}

fn coarse_requests(window: &Window) -> Vec<bool> {
    window
        .jobs_of::<FindLifted>()
        .map(|job| job.coarse)
        .collect()
}

fn full_requests(window: &Window) -> usize {
    let all = coarse_requests(window);
    all.iter().filter(|coarse| !**coarse).count()
}

fn switched() {
    let mut window = estimated();
    assert_eq!(live(&window).key.params.model(), Model::Tensors);
    let through_tensors = live(&window).pathway.min_cost;
    change(&mut window, Phase::Done, |s| {
        s.model = Model::Distributions;
    });
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    let found = live(&window);
    assert_eq!(found.key.params.model(), Model::Distributions);
    assert!(found.mean_fa.is_none() && found.pathway.tensors().is_none());
    // The bundle along y is straight: a path along it costs 1 per mm, and up to 18 % more by the scheme.
    let straight_mm = found.path.total_mm();
    assert!((straight_mm - 16.0).abs() < 4.0, "{straight_mm}");
    let rate = found.path.total_cost() / straight_mm;
    assert!((0.9..1.3).contains(&rate), "{rate} per mm");
    let label = window.state.history.undo_label();
    assert_eq!(label, Some("Directions of pathways"));
    window.act(Action::Undo);
    assert_eq!(window.state.document.pathways.model, Model::Tensors);
    let restored = live(&window).pathway.min_cost;
    assert!((restored / through_tensors - 1.0).abs() < 1e-5);
    window.act(Action::Redo);
    assert_eq!(live(&window).key.params.model(), Model::Distributions);
    change(&mut window, Phase::Done, |s| {
        s.lifted.curvature_price_mm = 20.0;
    });
    let command = pathway_command(&window.state, None)
        .expect("a command")
        .text();
    let (first, second) = command.split_once("arcuate pathway").expect("two commands");
    assert!(first.contains("arcuate fod /data/scan.nii.gz"), "{command}");
    assert!(second.contains("--fod fod/wm_fod.nii.gz"), "{command}");
    assert!(second.contains("--from sphere:0,-14,0,5"), "{command}");
    assert!(second.contains("--curvature-price 20"), "{command}");
    let text = methods(&window.state);
    for part in [
        "98 directions",
        "as much as 20 mm along a fibre",
        "Reeds–Shepp",
        "was summed along its smoothed course",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("mean FA"), "{text}");
}

fn dragged() {
    let mut window = looking();
    window.state.runtime.pathways.full_ms = [Some(1e4); 2];
    let before = coarse_requests(&window).len();
    let full = live(&window).voxels;
    for x in 1..=3 {
        let to = A + DVec3::X * f64::from(x);
        drag(&mut window, Role::Seed, to, Phase::Live);
        let shown = live(&window);
        assert!(shown.coarse);
        let costs = shown.pathway.distributions().expect("with its fields");
        assert_eq!(
            costs.prepared().params.directions,
            DirectionSet::Icosphere42
        );
        // The key is that of the controls.
        let settings = window.state.document.pathways.chosen_params();
        assert_eq!(shown.key.params, settings);
        assert_eq!(window.state.pathway_standing(), Some(Standing::Coarse));
    }
    let status = window.state.runtime.notices.status.to_string();
    assert!(status.ends_with("in 42 directions: a preview"), "{status}");
    let (text, _) = badge::text(&window.state).expect("a badge");
    assert!(text.starts_with("Preview"), "{text}");
    let few = live(&window).voxels;
    assert!(few * 5 < full && few * 10 > full, "{few} of {full}");
    // The costs in all directions are computed once.
    let was_computed = live(&window).metric_was_computed;
    assert!(!was_computed, "the ends alone have moved");
    window.act(Action::Settle);
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    let requests = &coarse_requests(&window)[before..];
    assert_eq!(requests, [true, true, true, false]);
    assert!(!live(&window).metric_was_computed);
    // A moved wall needs other costs, but not other amplitudes.
    window.place(Role::Exclude, dvec3(12.0, 0.0, 0.0));
    assert!(live(&window).metric_was_computed);
    drag(&mut window, Role::Seed, A, Phase::Done);
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
}

/// A path that turns from one bundle into the other pays for it.
fn turns() {
    let mut window = looking();
    let straight = live(&window).path.total_cost();
    drag(
        &mut window,
        Role::Target,
        dvec3(16.0, 2.0, 0.0),
        Phase::Done,
    );
    let mut costs = Vec::new();
    for price_mm in [2.0, 12.0, 30.0] {
        change(&mut window, Phase::Done, |s| {
            s.lifted.curvature_price_mm = price_mm;
        });
        assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
        costs.push(live(&window).path.total_cost());
    }
    assert!(costs.is_sorted() && costs[2] > 1.1 * costs[0], "{costs:?}");
    assert!(costs[1] > straight, "{costs:?} {straight}");
    let label = window.state.history.undo_label();
    assert_eq!(label, Some("Costs through crossings"));
    window.act(Action::Undo);
    let text = window.state.runtime.notices.status.to_string();
    assert!(text.contains("Price of a turn"), "{text}");
}

/// Costs are known up to 30 % above the least one, or as far as the pathway is wide.
fn wide() {
    let mut window = looking();
    change(&mut window, Phase::Done, |s| s.epsilon = 0.05);
    let count = full_requests(&window);
    change(&mut window, Phase::Done, |s| s.epsilon = 0.25);
    assert_eq!(full_requests(&window), count, "a width solves nothing");
    let narrow = live(&window).count(0.6);
    change(&mut window, Phase::Done, |s| s.epsilon = 0.6);
    assert_eq!(full_requests(&window), count + 1);
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    assert!(live(&window).count(0.6) > narrow);
    assert_eq!(live(&window).excess_limit, Some(0.6));
    // A voxel whose cost is not known says so.
    change(&mut window, Phase::Done, |s| s.epsilon = 0.05);
    let found = live(&window);
    let places = &found.pathway.places;
    let unknown = (0..places.len()).find(|p| found.pathway.total[*p].is_infinite());
    let unknown = places.voxel(unknown.expect("beyond 30 %"));
    let at = places
        .grid
        .world(DVec3::from_array(unknown.map(|v| v as f64)));
    let (text, reached) = path_at_pointer::text(&window.state, found, at).expect("in the head");
    assert!(!reached && text.starts_with("more than E* + "), "{text}");
    // Beside the path, the best path through a voxel is traced.
    let middle = found.path.points[found.path.points.len() / 2];
    window.act(Action::Pathway(PathwayAction::Hover(Some(middle))));
    let pointed = window.state.path_pointed().expect("a path");
    assert!(pointed.excess < 0.3 && pointed.path.points.len() > 3);
    // A kept one is computed as far as when it was kept, whatever its width has become.
    change(&mut window, Phase::Done, |s| s.epsilon = 0.6);
    window.act(Action::Pathway(PathwayAction::Keep));
    for kept in &mut window.state.document.kept_pathways {
        let kept = Arc::make_mut(kept);
        (kept.epsilon, kept.result) = (0.1, None);
    }
    window.act(Action::Settle);
    let kept = window.state.document.kept_pathways[0].result.as_ref();
    assert_eq!(kept.expect("solved").excess_limit, Some(0.6));
}

/// Pairs and pathway are compared in few directions; neither a width nor moved ends need other pairs.
fn compared() {
    let mut window = looking();
    window.act(Action::Settle);
    let known = |window: &Window| {
        let compared = window.state.pathway_compared();
        let compared = compared.expect("compared");
        assert_eq!(compared.params.model(), Model::Distributions);
        compared.known_pairs.clone()
    };
    let before = known(&window);
    assert_eq!(before.pairs.directions(), Some(42));
    let spacing_mm = live(&window).pathway.places.grid.spacing().max_element();
    assert!((before.pairs.spacing_mm / spacing_mm - 2.0).abs() < 1e-6);
    let shares = window.state.pathway_compared().and_then(|c| c.shares);
    let shares = shares.expect("enough pairs");
    // A straight path along a bundle costs less than paths that turn.
    assert!(shares.mean < 0.5, "{shares:?}");
    let same = |a: &Arc<KnownPairs>, b: &Arc<KnownPairs>| Arc::ptr_eq(a, b);
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    assert!(same(&before, &known(&window)));
    let count = window.jobs_of::<ComparePathway>().count();
    change(&mut window, Phase::Done, |s| s.epsilon = 0.6);
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    assert!(same(&before, &known(&window)));
    assert_eq!(window.jobs_of::<ComparePathway>().count(), count);
    // Another price needs other pairs, and those of tensors are others again.
    change(&mut window, Phase::Done, |s| {
        s.lifted.curvature_price_mm = 20.0;
    });
    assert!(!same(&before, &known(&window)));
    window.act(Action::Pathway(PathwayAction::Keep));
    let rank = window.state.document.kept_pathways[0].compared;
    let shares = window.state.pathway_compared().and_then(|c| c.shares);
    assert_eq!(rank.map(|r| r.mean), shares.map(|s| s.mean));
    change(&mut window, Phase::Done, |s| s.model = Model::Tensors);
    let through_tensors = window.state.pathway_compared().expect("compared");
    assert_eq!(through_tensors.known_pairs.pairs.directions(), None);
    // One that is stopped is requested on demand.
    window.holding = true;
    change(&mut window, Phase::Done, |s| s.model = Model::Distributions);
    while !window.pending.iter().any(|e| e.slot == COMPARE) {
        window.deliver(|_| {});
    }
    window.act(Action::CancelJob(COMPARE));
    assert!(window.cancelled.contains(&COMPARE));
}

fn maps(window: &Window) -> Vec<Arc<Layer>> {
    let document = &window.state.document;
    let layers = document.layers.iter();
    let is_map = |l: &&Arc<Layer>| document.sensitivity_recipe(l.id).is_some();
    layers.filter(is_map).cloned().collect()
}

/// The map of the live pathway, and that of a kept one, whose fields are computed once more.
fn mapped() {
    let mut window = looking();
    // Along a bundle alone, amplitudes reach the reference; where the path turns, they do not.
    window.act(Action::Pathway(PathwayAction::AmplitudeSensitivity(None)));
    let status = window.state.runtime.notices.status.to_string();
    assert!(status.contains("larger ones change nothing"), "{status}");
    window.act(Action::Undo);
    drag(
        &mut window,
        Role::Target,
        dvec3(16.0, 2.0, 0.0),
        Phase::Done,
    );
    window.act(Action::Pathway(PathwayAction::Sensitivity(None)));
    let map = maps(&window).remove(0);
    assert_eq!(
        (&*map.name, map.unit),
        ("Sensitivity of Seed – Target", "%")
    );
    let values = |map: &Layer| map.content.volume().expect("an image").values.clone();
    let sum: f64 = values(&map).iter().map(|v| f64::from(*v)).sum();
    assert!((sum - 100.0).abs() < 1e-2, "{sum}");
    let status = window.state.runtime.notices.status.to_string();
    assert!(
        status.starts_with("Half of the cost depends on "),
        "{status}"
    );
    let label = window.state.history.undo_label();
    assert_eq!(label, Some("Map sensitivity"));
    let command = window.state.document.command_line(&map).text();
    let (first, second) = command.split_once("arcuate pathway").expect("two commands");
    assert!(first.contains("arcuate fod /data/scan.nii.gz"), "{command}");
    assert!(
        second.contains("--fod fod/wm_fod.nii.gz") && !second.contains("--costly-factor"),
        "{command}"
    );
    assert!(
        second.ends_with("--out pathway --sensitivity sensitivity.nii.gz --null 0"),
        "{command}"
    );
    // Its pathway is described, though it is not kept and another task is shown.
    window.act(Action::View(ViewAction::SelectTask(Task::View)));
    let text = methods(&window.state);
    for part in [
        "in positions and 98 directions",
        "of the fibre orientation distributions",
        "the adjoint of the discrete equation",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    window.act(Action::Undo);
    assert!(maps(&window).is_empty());
    window.act(Action::Redo);
    window.act(Action::Pathway(PathwayAction::Keep));
    let kept = window.state.document.kept_pathways[0].id;
    change(&mut window, Phase::Done, |s| s.model = Model::Tensors);
    window.act(Action::Pathway(PathwayAction::Sensitivity(Some(kept))));
    let job = window.jobs_of::<MapSensitivity>().next_back();
    assert!(job.expect("a map").find.is_some());
    let renewed = maps(&window);
    assert_eq!(renewed.len(), 1, "the map of the same pathway is replaced");
    assert_eq!(values(&renewed[0]), values(&map), "same bytes");
    // Through tensors it is another pathway, whose costs come from no amplitudes.
    window.act(Action::Pathway(PathwayAction::Sensitivity(None)));
    assert_eq!(maps(&window).len(), 2);
    // The map by amplitude is one of its own.
    window.act(Action::Pathway(PathwayAction::AmplitudeSensitivity(Some(
        kept,
    ))));
    let all = maps(&window);
    let by_amplitude = all.last().expect("a map");
    assert_eq!(all.len(), 3);
    assert!(
        by_amplitude
            .name
            .starts_with("Sensitivity to amplitudes of ")
    );
    let sum: f64 = values(by_amplitude).iter().map(|v| f64::from(*v)).sum();
    assert!((1.0..98.0).contains(&sum), "{sum}");
    let command = window.state.document.command_line(by_amplitude).text();
    assert!(
        command.ends_with("--sensitivity sensitivity.nii.gz --sensitivity-to amplitude --null 0"),
        "{command}"
    );
    let status = window.state.runtime.notices.status.to_string();
    assert!(
        status.starts_with("Amplitudes 1 % larger lower the cost by "),
        "{status}"
    );
}

fn kept() {
    let mut window = looking();
    window.act(Action::Pathway(PathwayAction::Keep));
    let kept = window.state.document.kept_pathways[0].clone();
    assert_eq!(kept.params.model(), Model::Distributions);
    assert!(window.state.document.origins.fods(kept.fit).is_some());
    let result = kept.result.as_ref().expect("solved");
    assert!(matches!(result.pathway, PathwayCosts::Joint(_)));
    assert!(result.prepared.is_none());
    let epsilon = kept.epsilon;
    assert_eq!(result.volume_ml(epsilon), live(&window).volume_ml(epsilon));
    // Its command is its own, whatever the controls are.
    change(&mut window, Phase::Done, |s| s.model = Model::Tensors);
    let line = pathway_command(&window.state, Some(kept.id));
    let command = line.expect("a command").text();
    assert!(
        command.contains("arcuate pathway --fod fod/wm_fod.nii.gz"),
        "{command}"
    );
    // Its files, and a region of its voxels.
    let folder = tempfile::tempdir().expect("a folder");
    for file in [PathwayFile::Mask, PathwayFile::Path, PathwayFile::First] {
        let name = match file {
            PathwayFile::Path => "path.tck".to_owned(),
            file => format!("{}.nii.gz", file.name().len()),
        };
        let path = folder.path().join(name);
        let layer = Some(kept.id);
        let save = PathwayAction::Save {
            layer,
            file,
            path: path.clone(),
        };
        window.act(Action::Pathway(save));
        assert!(path.exists(), "{file:?}");
    }
    let count = window.state.document.regions.len();
    window.act(Action::Pathway(PathwayAction::Region {
        layer: Some(kept.id),
        role: Role::Region,
    }));
    assert_eq!(window.state.document.regions.len(), count + 1);
    // Costs that are not in memory are computed once more.
    for kept in &mut window.state.document.kept_pathways {
        let kept = Arc::make_mut(kept);
        kept.result = None;
    }
    window.act(Action::Settle);
    let restored = window.state.document.kept_pathways[0].result.as_ref();
    let restored = restored.expect("solved");
    assert_eq!(restored.pathway.total, result.pathway.total, "same bytes");
    assert!(matches!(restored.pathway, PathwayCosts::Joint(_)));
}

fn needed() {
    let mut window = Window::fitted();
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    window.place(Role::Seed, A);
    window.place(Role::Target, B);
    change(&mut window, Phase::Done, |s| {
        s.model = Model::Distributions;
    });
    assert!(window.state.final_pathway().is_none());
    let why = window.state.why_no_pathway();
    assert!(why.contains("estimate them in Track"), "{why}");
    assert_eq!(window.jobs_of::<FindLifted>().count(), 0);
    window.act(Action::Undo);
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
}

fn confined() {
    let mut window = looking();
    let free = live(&window).pathway.min_cost;
    // A costly region on the way, that a mask leaves no way around.
    window.place(Role::Mask, dvec3(0.0, -8.0, 0.0));
    let why = window.state.runtime.pathways.live.failure();
    assert!(why.is_some_and(|why| why.contains("Target")), "{why:?}");
    window.act(Action::Undo);
    window.place(Role::Costly, DVec3::ZERO);
    let costly = live(&window).pathway.min_cost;
    assert!(costly > 1.05 * free, "{costly} {free}");
    change(&mut window, Phase::Done, |s| s.lifted.costly_factor = 1.0);
    let ignored = live(&window).pathway.min_cost;
    assert!((ignored / free - 1.0).abs() < 1e-4, "{ignored} {free}");
    change(&mut window, Phase::Done, |s| s.lifted.min_amplitude = 90.0);
    let why = window.state.runtime.pathways.live.failure();
    assert!(why.is_some_and(|why| why.contains("amplitude")), "{why:?}");
}

fn stopped() {
    let mut window = looking();
    window.holding = true;
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    assert!(window.state.runtime.jobs.is_running(&[PATHWAY]));
    window.act(Action::CancelJob(PATHWAY));
    assert!(window.cancelled.contains(&PATHWAY));
    let why = window.state.runtime.pathways.live.failure();
    assert_eq!(why, Some("Stopped before it was solved"));
    window.holding = false;
    window.deliver(|events| events.clear());
    window.state.runtime.jobs.running.clear();
    window.act(Action::Pathway(PathwayAction::SolveAgain));
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    change(&mut window, Phase::Done, |s| s.shown = ShownCost::First);
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
}

/// An opened image of distributions, without a scan: crossings are the only directions.
fn alone() {
    let mut window = Window::new();
    let (scan, _) = super::scan();
    let loaded = Loaded::Scan {
        dwi: distributions::image(&scan.grid),
        gradients: None,
        gradient_files: Vec::new(),
    };
    window.act(Action::Event(file("/data/wm_fod.nii.gz", loaded)));
    let layer: LayerId = window.state.document.layers[0].id;
    let layout = Some(OdfLayout::MRTRIX);
    window.act(Action::Tensors(TensorAction::ReadDistributions {
        layer,
        layout,
    }));
    assert!(window.state.document.distributions.field().is_some());
    assert_eq!(window.state.document.pathways.model, Model::Distributions);
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    window.place(Role::Seed, dvec3(0.0, -10.0, 0.0));
    window.place(Role::Target, dvec3(0.0, 10.0, 0.0));
    assert_eq!(window.state.pathway_standing(), Some(Standing::Final));
    assert!(live(&window).path.total_mm() > 5.0);
}
