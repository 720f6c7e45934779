//! The user chooses another backend, and the CPU takes over work that failed on a GPU.

use super::{Window, only_job};
use crate::support::test;
use arcuate::data::{Role, Shape};
use arcuate::jobs::{BackendOpened, Delivery, DeviceFailure, Job, Outcome, Receive};
use arcuate::solvers::curves::Params;
use arcuate::state::device::jobs::{DEVICE, LoadKernels, UseBackend};
use arcuate::state::track::jobs::streamlines::{LiveTracking, TrackWholeBrain};
use arcuate::state::{
    Action, BackendKind, DeviceAction, DeviceChoice, Effect, Event, Phase, RegionAction, State,
    TrackAction, update,
};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::backend::the_user_chooses_it", manual),
        test("update::backend::the_least_used_card_is_stored", least_used),
        test("update::backend::one_that_fails_changes_nothing", fails),
        test(
            "update::backend::the_cpu_repeats_a_failed_job_of_a_card",
            failed_on_a_card,
        ),
        test("update::backend::live_curves_leave_a_failing_card", live),
        test("update::backend::newer_results_end_the_offer", no_offer),
    ]
}

const LOST: &str =
    "The graphics card stopped working while tracing rays (unspecified launch failure)";

/// A job as if it had failed on a card.
fn failure<J: Receive<State>>(job: &J) -> Action {
    let delivery = Delivery {
        slot: Job::slot(job),
        ticket: 0,
        wall_ms: 1.0,
        outcome: Outcome::DeviceFailed(DeviceFailure {
            cause: LOST.to_owned(),
            sentence: format!("{LOST}; start again"),
        }),
    };
    Action::Event(Event::new(job.clone(), delivery))
}

fn opened(kind: BackendKind, label: &str) -> Action {
    let delivery = Delivery {
        slot: DEVICE,
        ticket: 0,
        wall_ms: 1.0,
        outcome: Outcome::Done(BackendOpened {
            kind,
            label: label.to_owned(),
            reason: "for a reason".to_owned(),
            on_card: kind != BackendKind::Cpu,
            no_card: None,
        }),
    };
    Action::Event(Event::new(UseBackend { kind }, delivery))
}

fn on_two_cards() -> State {
    let mut state = State::new("CUDA NVIDIA H200 · 139 GB".to_owned());
    state.runtime.device.kind = BackendKind::Cuda(DeviceChoice::All);
    state.runtime.device.setting = BackendKind::Cuda(DeviceChoice::All);
    state
}

fn manual() {
    let mut state = on_two_cards();
    state.runtime.track.rays_per_ms = Some(1e6);
    let kind = BackendKind::Cuda(DeviceChoice::Number(1));
    let effects = update(&mut state, Action::Device(DeviceAction::Choose(kind)));
    let Some(UseBackend { kind: demanded }) = only_job(&effects) else {
        panic!("{effects:?}")
    };
    assert_eq!(*demanded, kind);
    assert!(
        state.runtime.device.backend.label.contains("139 GB"),
        "not open yet"
    );
    let effects = update(&mut state, opened(kind, "other card"));
    assert!(
        matches!(&effects[..], [load, Effect::Store]
            if load.job::<LoadKernels>().is_some()),
        "{effects:?}"
    );
    assert_eq!(state.runtime.device.backend.label, "other card");
    assert!(state.runtime.is_on_card(), "whatever its label says");
    assert_eq!(state.runtime.device.backend.reason, "for a reason");
    assert_eq!(state.runtime.device.kind, kind);
    assert_eq!(state.runtime.device.setting, kind);
    assert_eq!(
        state.runtime.track.rays_per_ms, None,
        "that was the other one"
    );
}

/// It is stored as a choice, not as the card that it was: the next start chooses again.
fn least_used() {
    let mut state = on_two_cards();
    let kind = BackendKind::Cuda(DeviceChoice::LeastUsed);
    let effects = update(&mut state, Action::Device(DeviceAction::Choose(kind)));
    let job = only_job::<UseBackend>(&effects).expect("a backend to open");
    assert_eq!(job.kind, kind);
    let effects = update(&mut state, opened(kind, "CUDA NVIDIA H200 · 139 GB"));
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Store)));
    assert_eq!(state.runtime.device.setting, kind);
    // The text of the setting, and of the option.
    assert_eq!(kind.to_string().parse(), Ok(kind));
}

fn fails() {
    let mut window = Window::new();
    // No machine has this many cards.
    let kind = BackendKind::Cuda(DeviceChoice::Number(4_000));
    window.act(Action::Device(DeviceAction::Choose(kind)));
    let runtime = &window.state.runtime;
    assert_eq!(runtime.notices.messages.len(), 1);
    let message = &runtime.notices.messages[0].text;
    assert!(
        !message.contains("--"),
        "no words of the command line: {message}"
    );
    assert_eq!(runtime.device.setting, BackendKind::Auto);
    assert_eq!(runtime.device.backend.label, "");
    // The next backend that opens removes the message.
    window.act(Action::Device(DeviceAction::Choose(BackendKind::Cpu)));
    assert!(window.state.runtime.notices.messages.is_empty());
    assert_eq!(window.state.runtime.device.setting, BackendKind::Cpu);
    assert!(
        window
            .state
            .runtime
            .device
            .backend
            .label
            .starts_with("CPU 2 threads")
    );
    assert_eq!(
        window.state.runtime.device.backend.reason,
        "CPU: chosen by hand"
    );
}

/// Jobs that ran on the card run again unchanged, once the CPU is open; the setting stays.
fn failed_on_a_card() {
    let mut window = Window::fitted();
    window.state.runtime.device.setting = BackendKind::Cuda(DeviceChoice::First);
    window.act(Action::Track(TrackAction::WholeBrain));
    let request = window
        .jobs_of::<TrackWholeBrain>()
        .last()
        .expect("a job")
        .clone();
    let layers = window.state.document.layers.len();
    let mut changed = window.state.document.track.streamlines.clone();
    changed.step_mm = 2.0;
    window.act(Action::Track(TrackAction::SetStreamlines {
        params: changed,
        phase: Phase::Done,
    }));
    window.act(failure(&request));
    let message = &window.state.runtime.notices.messages[0];
    assert!(message.on_card && message.text == LOST);
    assert_eq!(
        window.state.document.layers.len(),
        layers,
        "all is still there"
    );
    let before = window.submitted.len();
    window.act(Action::Device(DeviceAction::RunOnCpu));
    let [first, second] = &window.submitted[before..] else {
        panic!("{:?}", &window.submitted[before..])
    };
    assert_eq!(
        first.job::<UseBackend>().map(|j| j.kind),
        Some(BackendKind::Cpu)
    );
    let Some(TrackWholeBrain(track)) = second.job::<TrackWholeBrain>() else {
        panic!("{second:?}")
    };
    assert_eq!(track.params.step_mm, 0.5, "as it was asked for");
    let runtime = &window.state.runtime;
    assert!(runtime.notices.messages.iter().all(|m| !m.on_card));
    assert!(runtime.device.backend.label.starts_with("CPU"));
    assert!(
        runtime
            .device
            .backend
            .reason
            .contains("a graphics card failed")
    );
    assert_eq!(
        runtime.device.setting,
        BackendKind::Cuda(DeviceChoice::First)
    );
    // The job is repeated only once.
    let before = window.jobs_of::<TrackWholeBrain>().count();
    window.act(opened(BackendKind::Cpu, "CPU"));
    assert_eq!(window.jobs_of::<TrackWholeBrain>().count(), before);
    assert!(!window.state.runtime.is_on_card());
}

/// Live curves are those of the regions at that moment.
fn live() {
    let mut window = Window::fitted();
    let seed = window.place(Role::Seed, DVec3::ZERO);
    let request = window
        .jobs_of::<LiveTracking>()
        .last()
        .expect("a job")
        .clone();
    let runtime = |window: &Window| window.state.runtime.clone();
    window.act(failure(&request));
    assert!(runtime(&window).track.live.value().is_none() && runtime(&window).device.fallback.live);
    assert_eq!(runtime(&window).track.live.failure(), Some(LOST));
    assert_eq!(window.state.document.regions.len(), 1);
    window.holding = true;
    window.act(Action::Device(DeviceAction::RunOnCpu));
    let centre = DVec3::X * 3.0;
    let shape = Shape::Sphere {
        centre,
        radius_mm: 4.0,
    };
    // Jobs submitted while the CPU is being opened fail as well.
    window.act(Action::Region(RegionAction::SetShape {
        region: seed,
        shape,
        phase: Phase::Done,
    }));
    let request = window
        .jobs_of::<LiveTracking>()
        .last()
        .expect("a job")
        .clone();
    window.pending.truncate(1);
    window.act(failure(&request));
    window.holding = false;
    window.deliver(|_| {});
    let live = runtime(&window)
        .track
        .live
        .value()
        .cloned()
        .expect("streamlines");
    let line = window.state.document.live_command_line(&live);
    assert!(line.text().contains("--seed sphere:3,0,0,4"));
    assert!(
        runtime(&window).track.live.failure().is_none() && !runtime(&window).device.fallback.live
    );
    // A job that was in progress on the card, and fails after the change.
    let before = window.jobs_of::<LiveTracking>().count();
    window.act(failure(&request));
    assert_eq!(
        window.jobs_of::<LiveTracking>().count(),
        before,
        "its result is there already"
    );
    window.holding = true;
    let params = window.state.document.track.streamlines.clone();
    window.act(Action::Track(TrackAction::SetStreamlines {
        params: Params {
            step_mm: 1.0,
            ..params
        },
        phase: Phase::Done,
    }));
    let before = window.jobs_of::<LiveTracking>().count();
    window.act(failure(&request));
    assert_eq!(window.jobs_of::<LiveTracking>().count(), before + 1);
    assert!(
        runtime(&window).track.live.value().is_some()
            && runtime(&window).track.live.failure().is_none()
    );
}

fn no_offer() {
    let mut window = Window::fitted();
    window.act(Action::Track(TrackAction::WholeBrain));
    let request = window
        .jobs_of::<TrackWholeBrain>()
        .last()
        .expect("a job")
        .clone();
    window.act(failure(&request));
    window.act(failure(&request));
    assert_eq!(window.state.runtime.device.fallback.requests.len(), 1);
    window.act(Action::Track(TrackAction::WholeBrain));
    assert!(window.state.runtime.notices.messages.is_empty());
    assert!(window.state.runtime.device.fallback.requests.is_empty());
    window.act(failure(&request));
    window.act(Action::DismissMessage(0));
    assert!(window.state.runtime.device.fallback.requests.is_empty());
}
