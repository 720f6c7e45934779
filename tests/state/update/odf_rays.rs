//! Rays along distributions in the window's state: the switch, coarse while dragged, cut without tracing, what they need.

use super::Window;
use super::rays::live;
use crate::support::{distributions, test};
use arcuate::compute::{Backend, BackendChoice, Control};
use arcuate::data::region::RegionId;
use arcuate::data::{Role, Shape};
use arcuate::jobs::Outcome;
use arcuate::solvers::curves::Seeding;
use arcuate::solvers::geodesic::{Cut, Directions};
use arcuate::state::methods::methods;
use arcuate::state::sessions::jobs::RecomputeCurves;
use arcuate::state::track::jobs::cut::CutRays;
use arcuate::state::track::jobs::lobes::TraceLobes;
use arcuate::state::track::jobs::trace::TraceRays;
use arcuate::state::track::types::CurveKind;
use arcuate::state::track::types::odf::{Model, OdfRays};
use arcuate::state::{
    Action, CommandLine, Content, Method, Phase, RegionAction, Standing, TensorAction, TrackAction,
};
use arcuate::ui::rays::nothing_kept;
use arcuate::ui::views::badge;
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::odf_rays::the_model_is_a_step", switched),
        test("update::odf_rays::each_stays_on_its_lobe", bundles),
        test("update::odf_rays::a_drag_is_coarse_and_settles", dragged),
        test("update::odf_rays::a_cut_computes_no_rays", cut),
        test("update::odf_rays::prepared_once_for_all_speeds", prepared),
        test("update::odf_rays::threads_change_nothing", threads),
        test("update::odf_rays::every_parameter_can_be_undone", undone),
        test("update::odf_rays::a_command_and_methods_tell", described),
        test("update::odf_rays::kept_ones_are_recomputed", recomputed),
        test("update::odf_rays::they_need_distributions", needed),
        test("update::odf_rays::a_seed_outside_has_a_reason", outside),
        test("update::odf_rays::another_fit_outdates_them", outdated),
        test("update::odf_rays::each_kind_has_its_own_speed", speeds),
    ]
}

/// Radius of the ball with crossing bundles, mm.
const BALL_MM: f64 = 20.0;
const SEEDS: usize = 50;

fn set_model(window: &mut Window, model: Model) {
    window.act(Action::Track(TrackAction::SetModel(model)));
}

fn change(window: &mut Window, phase: Phase, edit: impl FnOnce(&mut OdfRays)) {
    let mut rays = window.state.document.track.odf.rays.clone();
    edit(&mut rays);
    window.act(Action::Track(TrackAction::SetOdfRays { rays, phase }));
}

/// Rays in tensors, and distributions of two bundles that cross in every voxel.
fn estimated() -> Window {
    let mut window = Window::fitted();
    let job = distributions::requested(&mut window.state, |_| {});
    let fods = distributions::crossing(&job.dwi.grid, &job.gradients, BALL_MM);
    window.act(distributions::estimated(job, fods));
    window.act(Action::Track(TrackAction::SetMethod(Method::Rays)));
    window.place(Role::Seed, DVec3::ZERO);
    change(&mut window, Phase::Done, |odf| {
        odf.rays.params.curves.min_length_mm = 5.0;
        odf.rays.params.curves.seeding = Seeding::Random { count: SEEDS };
        odf.rays.cut = Cut::All;
    });
    window
}

fn tracing() -> Window {
    let mut window = estimated();
    set_model(&mut window, Model::Distributions);
    window
}

fn lobe_jobs(window: &Window) -> Vec<&TraceLobes> {
    window.jobs_of().collect()
}

fn kind(window: &Window) -> CurveKind {
    live(window).key.curves.kind()
}

fn seed(window: &Window) -> RegionId {
    let regions = &window.state.document.regions;
    let seed = regions.iter().find(|region| region.role == Role::Seed);
    seed.expect("a seed").id
}

fn move_seed(window: &mut Window, centre: DVec3, phase: Phase) {
    let region = seed(window);
    let radius_mm = 5.0;
    let shape = Shape::Sphere { centre, radius_mm };
    window.act(Action::Region(RegionAction::SetShape {
        region,
        shape,
        phase,
    }));
}

fn switched() {
    let mut window = estimated();
    assert_eq!(kind(&window), CurveKind::Rays);
    let tensors = live(&window).output.kept.points.clone();
    set_model(&mut window, Model::Distributions);
    assert_eq!(kind(&window), CurveKind::OdfRays);
    assert_eq!(window.state.standing(), Some(Standing::Final));
    let along = live(&window);
    assert!(along.rays.is_some() && !along.output.kept.is_empty());
    assert_eq!(along.seeds, 20 * SEEDS);
    let narrow = window.state.document.track.odf.rays.rays.params.directions;
    let is_narrow = |half_angle_rad: f64| half_angle_rad.to_degrees().round() == 5.0;
    assert!(
        matches!(narrow, Directions::Cone { count: 20, half_angle_rad } if is_narrow(half_angle_rad)),
        "{narrow:?}"
    );
    window.act(Action::Undo);
    assert_eq!(kind(&window), CurveKind::Rays);
    assert_eq!(live(&window).output.kept.points, tensors);
    window.act(Action::Redo);
    assert_eq!(kind(&window), CurveKind::OdfRays);
    // The other method follows the same model.
    window.act(Action::Track(TrackAction::SetMethod(Method::Streamlines)));
    assert_eq!(kind(&window), CurveKind::OdfStreamlines);
}

/// Both bundles cross in every voxel: a ray runs along x or along y, never between them.
fn bundles() {
    let window = tracing();
    let kept = &live(&window).output.kept;
    let mut along_x = 0;
    for i in 0..kept.len() {
        let line = kept.streamline(i);
        let (first, last) = (line[0], line[line.len() - 1]);
        let [x, y] = [0, 1].map(|axis| f64::from(last[axis] - first[axis]).abs());
        let degrees = x.min(y).atan2(x.max(y)).to_degrees();
        // The fan has a half angle of 5°, and a lobe turns rays towards its middle.
        assert!(degrees < 20.0, "{degrees}: {first:?} to {last:?}");
        along_x += usize::from(x > y);
    }
    // The directions of a cone are distributed over both peaks in turn.
    let share = along_x as f64 / kept.len() as f64;
    assert!((0.3..0.7).contains(&share), "{along_x} of {}", kept.len());
    // A lobe with the reference amplitude has the speed 1, and the floor adds 3 % of it to its base.
    let measures = &live(&window).rays.as_ref().expect("measures").measures;
    let most = measures.iter().copied().fold(0.0, f32::max);
    assert!((0.8..1.07).contains(&most), "{most}");
    assert!(!kept.per_point.contains_key("fa"));
    assert!(kept.per_point.contains_key("cm"));
}

fn dragged() {
    let mut window = tracing();
    // More than any machine traces within a frame.
    const MANY: usize = 2_000;
    change(&mut window, Phase::Done, |odf| {
        odf.rays.params.curves.seeding = Seeding::Random { count: MANY };
    });
    let coarse =
        |window: &Window| -> Vec<bool> { lobe_jobs(window).iter().map(|job| job.coarse).collect() };
    let before = coarse(&window).len();
    for x in 1..=3 {
        move_seed(&mut window, DVec3::X * f64::from(x), Phase::Live);
        let shown = live(&window);
        assert!(shown.coarse && shown.seeds < 20 * MANY, "{}", shown.seeds);
        let (text, standing) = badge::text(&window.state).expect("a badge");
        assert_eq!(standing, Standing::Coarse);
        assert!(text.contains(" of 40\u{202F}000"), "{text}");
    }
    window.act(Action::Settle);
    window.act(Action::Settle);
    let requests = &coarse(&window)[before..];
    assert!(requests[0] && requests.ends_with(&[false]), "{requests:?}");
    assert_eq!(window.state.standing(), Some(Standing::Final));
    assert_eq!(live(&window).seeds, 20 * MANY);
}

fn cut() {
    let mut window = tracing();
    let traced = lobe_jobs(&window).len();
    let passed = live(&window).rays.as_ref().map_or(0, |r| r.measures.len());
    assert_eq!(live(&window).output.kept.len(), passed);
    for phase in [Phase::Live, Phase::Done] {
        change(&mut window, phase, |odf| odf.rays.cut = Cut::Top(10));
        assert_eq!(live(&window).output.kept.len(), 10);
    }
    assert_eq!(window.state.history.undo_label(), Some("Cut"));
    assert_eq!(window.state.standing(), Some(Standing::Final));
    window.act(Action::Undo);
    assert_eq!(live(&window).output.kept.len(), passed);
    assert_eq!(lobe_jobs(&window).len(), traced);
    assert_eq!(window.jobs_of::<CutRays>().count(), 0);
    // The cut of rays in tensors is another one.
    assert_eq!(window.state.document.track.rays.cut, Cut::TopShare(0.1));
}

/// The coefficients are copied once, also for another speed.
fn prepared() {
    let mut window = tracing();
    assert!(lobe_jobs(&window)[0].metric.is_none());
    let measures = |window: &Window| -> Vec<f32> {
        let rays = live(window).rays.as_ref();
        rays.expect("measures").measures.to_vec()
    };
    let before = measures(&window);
    change(&mut window, Phase::Done, |odf| odf.speed.exponent = 1.0);
    let jobs = lobe_jobs(&window);
    let [.., last] = jobs[..] else {
        panic!("no job");
    };
    let id = window
        .state
        .runtime
        .track
        .odf_metric
        .as_ref()
        .map(|m| m.id());
    assert!(id.is_some() && last.metric.as_ref().map(|m| m.id()) == id);
    assert_ne!(measures(&window), before);
    change(&mut window, Phase::Done, |odf| odf.speed.exponent = 2.0);
    assert_eq!(measures(&window), before);
    // In tensors they are not needed.
    set_model(&mut window, Model::Tensors);
    assert!(window.state.runtime.track.odf_metric.is_none());
}

fn threads() {
    let window = tracing();
    let job = (*lobe_jobs(&window).last().expect("a job")).clone();
    let points = |threads: usize| {
        let backend = Backend::choose(&BackendChoice::cpu(Some(threads))).expect("a backend");
        let output = job.clone().trace(&backend, &Control::new());
        let output = output.unwrap_or_else(|_| panic!("no rays")).output;
        (output.kept.points.to_vec(), output.stops)
    };
    assert_eq!(points(1), points(3));
}

fn undone() {
    let mut window = tracing();
    let first = window.state.document.track.odf.rays.clone();
    let edits: [fn(&mut OdfRays); 5] = [
        |odf| odf.speed.floor = 0.1,
        |odf| odf.speed.reference = Some(0.3),
        |odf| odf.speed.min_amplitude = Some(0.05),
        |odf| odf.rays.params.curves.step_mm = 1.0,
        |odf| odf.rays.params.directions = Directions::Principal,
    ];
    for edit in edits {
        change(&mut window, Phase::Done, edit);
        assert_ne!(window.state.document.track.odf.rays, first);
        assert_eq!(window.state.standing(), Some(Standing::Final));
        assert_eq!(window.state.history.undo_label(), Some("Rays"));
        window.act(Action::Undo);
        assert_eq!(window.state.document.track.odf.rays, first);
    }
}

fn described() {
    let mut window = tracing();
    change(&mut window, Phase::Done, |odf| {
        odf.speed.floor = 0.05;
        odf.rays.cut = Cut::TopShare(0.2);
    });
    window.act(Action::Track(TrackAction::Keep));
    let state = &window.state;
    let kept = state.document.layer_named("Rays").expect("kept").clone();
    let line = state.document.command_line(&kept);
    assert!(matches!(line, CommandLine::OdfRays(_)), "{line:?}");
    assert_eq!(line, state.document.live_command_line(live(&window)));
    let text = line.text_to("rays.trx".as_ref());
    for part in [
        "arcuate fod /data/scan.nii.gz ",
        " --out fod && arcuate geodesic --fod fod/wm_fod.nii.gz --seed ",
        " --directions cone:20,5",
        " --cut top:20%",
        " --speed-floor 0.05",
        " --out rays.trx",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let (_, geodesic) = text.split_once("arcuate geodesic").expect("two commands");
    for other in ["--sharpen", "--precision", "--fa ", "--interpolation"] {
        assert!(!geodesic.contains(other), "{other} in {geodesic}");
    }
    assert!(line.text().ends_with(" --out rays.tck"), "{}", line.text());
    let text = methods(state);
    for part in [
        "along the lobes of the fibre orientation distributions in 20 directions within 5.0° of the peaks at their seed",
        "(0.05 + f / f₀)^2",
        "the 20 % with the highest measure",
        "Finsler geometry",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

fn recomputed() {
    let mut window = tracing();
    change(&mut window, Phase::Done, |odf| odf.rays.cut = Cut::Top(30));
    window.act(Action::Track(TrackAction::Keep));
    let document = &window.state.document;
    let kept = document.layer_named("Rays").expect("kept").clone();
    let recipe = document.curve_recipe(kept.id).expect("a recipe").clone();
    let job = RecomputeCurves::new(document, kept.id.0, "Rays", &recipe).expect("inputs");
    let mut jobs = window.jobs;
    let job = jobs.submit(job);
    let event = jobs.wait(&job, |_| {});
    let Some(Outcome::Done(output)) = event.outcome::<RecomputeCurves>() else {
        panic!("{event:?}");
    };
    let Content::Tractogram(before) = &kept.content else {
        panic!("rays");
    };
    assert_eq!(before.len(), 30);
    assert_eq!(output.tractogram.points, before.points);
    assert_eq!(output.tractogram.per_streamline, before.per_streamline);
}

fn needed() {
    let mut window = Window::fitted();
    window.act(Action::Track(TrackAction::SetMethod(Method::Rays)));
    window.place(Role::Seed, DVec3::ZERO);
    assert_eq!(kind(&window), CurveKind::Rays);
    set_model(&mut window, Model::Distributions);
    assert!(window.state.runtime.track.live.value().is_none());
    assert!(window.state.runtime.track.live.failure().is_none());
    window.act(Action::Track(TrackAction::Keep));
    let messages = &window.state.runtime.notices.messages;
    let sentence = "There is nothing to keep yet";
    let mut texts = messages.iter().map(|m| &m.text);
    assert!(texts.any(|text| text.starts_with(sentence)), "{messages:?}");
}

/// Seeds beside the bundles start nothing, and the sentence names the place.
fn outside() {
    let mut window = tracing();
    move_seed(&mut window, DVec3::splat(0.85 * BALL_MM), Phase::Done);
    let shown = live(&window);
    assert!(shown.output.kept.is_empty());
    let rays = window.state.document.track.chosen_rays();
    let place = shown.place_of_starts(&window.state.document);
    assert_eq!(place, "the voxels with fibres");
    let (sentence, _) = nothing_kept(shown, rays, &[], &place).expect("a reason");
    let expected = "No ray starts: the seeds lie outside the voxels with fibres";
    assert!(sentence.starts_with(expected), "{sentence}");
    let status = window.state.runtime.notices.status.to_string();
    assert!(
        status.contains("outside the voxels with fibres"),
        "{status}"
    );
    // Beyond the image, the run is refused.
    move_seed(&mut window, DVec3::Z * 3.0 * BALL_MM, Phase::Done);
    assert!(window.state.runtime.track.live.value().is_none());
    let failure = window.state.runtime.track.live.failure();
    let names_the_place = |why: &str| why.contains("The seed regions lie outside");
    assert!(failure.is_some_and(names_the_place), "{failure:?}");
    // A cutoff above all peaks is the other reason.
    move_seed(&mut window, DVec3::ZERO, Phase::Done);
    change(&mut window, Phase::Done, |odf| {
        odf.speed.min_amplitude = Some(90.0)
    });
    let shown = live(&window);
    assert!(shown.output.kept.is_empty());
    let place = shown.place_of_starts(&window.state.document);
    assert!(place.ends_with("or where no peak reaches 90"), "{place}");
}

/// Rays along the previous distributions are outdated while new ones are estimated.
fn outdated() {
    let mut window = tracing();
    assert!(!window.state.live_is_stale());
    let job = distributions::requested(&mut window.state, |settings| {
        settings.params.order = Some(4);
    });
    assert_ne!(window.state.standing(), Some(Standing::Final));
    assert!(window.state.live_is_stale());
    assert!(window.state.final_live().is_none());
    let fods = distributions::crossing(&job.dwi.grid, &job.gradients, BALL_MM);
    window.act(distributions::estimated(job, fods));
    assert_eq!(window.state.standing(), Some(Standing::Final));
    let field = window.state.document.distributions.field().map(|f| f.id());
    assert_eq!(Some(live(&window).key.field), field);
    // Without distributions there are no rays along them.
    let mut settings = window.state.document.distributions.settings.clone();
    settings.requested = false;
    window.act(Action::Tensors(TensorAction::SetFods(settings)));
    assert!(window.state.final_live().is_none());
}

/// Rays along distributions are slower, so the speed of those in tensors says nothing about them.
fn speeds() {
    let mut window = estimated();
    window.state.runtime.track.rays_per_ms = Some(1e6);
    set_model(&mut window, Model::Distributions);
    let per_ms = window.state.runtime.track.rays_per_ms.expect("a speed");
    assert!(per_ms < 1e5, "{per_ms}");
    let traced = window.jobs_of::<TraceRays>().count();
    set_model(&mut window, Model::Tensors);
    assert_eq!(window.jobs_of::<TraceRays>().count(), traced + 1);
}
