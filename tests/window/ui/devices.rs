//! The backend of the solvers: the status bar's menu, and the offer of the CPU.

use super::{Window, click, sample, small_scan, submitted, tracking, window};
use crate::support::test;
use arcuate::jobs::{CardError, DeviceFailure};
use arcuate::state::device::jobs::{FindCards, UseBackend};
use arcuate::state::track::jobs::streamlines::WHOLE_BRAIN;
use arcuate::state::{Action, BackendKind, DeviceAction, DeviceChoice};
use egui_kittest::kittest::Queryable as _;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::the backend is chosen in the status bar", menu),
        test("ui::a machine without cards reports it", without_cards),
        test("ui::a failing card offers the CPU", offers),
    ]
}

fn open(window: &mut Window) {
    click(window, &format!("Backend: {}", sample::BACKEND));
}

fn menu() {
    let mut state = tracking();
    state.runtime.device.backend.reason = "CPU: chosen by hand".to_owned();
    state.runtime.device.kind = BackendKind::Cpu;
    let mut window = window(state, [1280.0, 800.0]);
    open(&mut window);
    assert!(matches!(submitted(&window)[..], [FindCards]));
    window.get_by_label("CPU: chosen by hand");
    window.get_by_label("Looking for graphics cards");
    let names = ["NVIDIA A", "NVIDIA B"].map(str::to_owned);
    window.state_mut().state.runtime.device.cards = Some(Ok(names.into()));
    window.run();
    for (name, kind) in [
        ("All 2 cards", BackendKind::Cuda(DeviceChoice::All)),
        (
            "Least used card",
            BackendKind::Cuda(DeviceChoice::LeastUsed),
        ),
        ("NVIDIA B", BackendKind::Cuda(DeviceChoice::Number(1))),
        ("Automatic", BackendKind::Auto),
        ("CPU", BackendKind::Cpu),
    ] {
        click(&mut window, name);
        let last = window.state().actions.last();
        assert!(
            matches!(last, Some(Action::Device(DeviceAction::Choose(k))) if *k == kind),
            "{name}: {last:?}"
        );
        // Choosing closes it.
        assert!(window.query_by_label("All 2 cards").is_none());
        open(&mut window);
    }
    // Known cards are not searched for again.
    assert_eq!(submitted::<FindCards>(&window).len(), 1);
}

fn without_cards() {
    let mut state = small_scan();
    state.runtime.device.cards = Some(Err(CardError::NoDriver));
    let mut window = window(state, [1280.0, 800.0]);
    open(&mut window);
    window.get_by_label("No NVIDIA driver found");
    window.get_by_label("Automatic");
    // The reason for the CPU, above the list, is the same.
    let mut state = small_scan();
    state.runtime.device.backend.no_card = Some(CardError::NoDriver);
    state.runtime.device.cards = Some(Err(CardError::NoDriver));
    let mut window = self::window(state, [1280.0, 800.0]);
    open(&mut window);
    window.get_by_label("Automatic");
    assert!(window.query_by_label("No NVIDIA driver found").is_none());
}

fn offers() {
    let mut state = tracking();
    let found = "The graphics card stopped working".to_owned();
    let failure = DeviceFailure {
        cause: found.clone(),
        sentence: found.clone(),
    };
    state
        .runtime
        .notify_device_failure(WHOLE_BRAIN, failure, Box::new(FindCards));
    let mut window = window(state, [1280.0, 800.0]);
    window.get_by_label(&found);
    click(&mut window, "Run on the CPU");
    let [
        UseBackend {
            kind: BackendKind::Cpu,
        },
    ] = submitted(&window)[..]
    else {
        panic!("{:?}", submitted::<UseBackend>(&window))
    };
    // A note about live curves, next to their results.
    let mut state = tracking();
    state.runtime.track.live.clear_shown();
    let key = state.document.curve_key();
    state.runtime.track.live.halt(key.as_ref(), Some(&found));
    let mut window = super::window(state.clone(), [1280.0, 800.0]);
    window.get_by_label(&found);
    assert!(window.query_by_label("Run on the CPU").is_none());
    state.runtime.device.fallback.live = true;
    window.state_mut().state = state;
    window.run();
    click(&mut window, "Run on the CPU");
    assert!(matches!(submitted(&window)[..], [UseBackend { .. }]));
}
