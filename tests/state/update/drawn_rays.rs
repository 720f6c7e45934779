//! Rays that the window draws from a graphics card: the host gets their points once the controls rest.

use super::Window;
use super::rays::{change, live, ray_jobs, tracing};
use crate::support::test;
use arcuate::data::shared_slice::{Late, LateError};
use arcuate::data::{Shared, Tractogram};
use arcuate::jobs::{Delivery, Event, Outcome};
use arcuate::scene::{self, Size};
use arcuate::solvers::geodesic::Cut;
use arcuate::state::core::display::LineColouring;
use arcuate::state::core::live::Standing;
use arcuate::state::track::jobs::LIVE;
use arcuate::state::track::jobs::copy::{COPY, CopyLive};
use arcuate::state::track::jobs::cut::CutRays;
use arcuate::state::track::jobs::trace::TraceRays;
use arcuate::state::{Action, Phase};
use libtest_mimic::Trial;
use std::sync::atomic::{AtomicBool, Ordering};

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::rays::copied_at_rest", copied_at_rest),
        test("update::rays::marked_once_copied", marked_once_copied),
        test("update::rays::lost_before_the_copy", lost_before_the_copy),
        test("update::rays::stopped_copy", stopped_copy),
        test("update::rays::cut_on_a_card", cut_on_a_card),
    ]
}

/// Points that a card has; without any, the card was lost.
struct OnCard {
    count: usize,
    points: Option<Vec<[f32; 3]>>,
    is_copied: AtomicBool,
}

impl Late<[f32; 3]> for OnCard {
    fn count(&self) -> usize {
        self.count
    }

    fn is_on_host(&self) -> bool {
        self.is_copied.load(Ordering::Relaxed)
    }

    fn values(&self) -> Result<&[[f32; 3]], LateError> {
        let points = self.points.as_ref().ok_or("the card was lost")?;
        self.is_copied.store(true, Ordering::Relaxed);
        Ok(points)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

/// A window whose rays, after a change in this phase, are on a card; the results of further jobs are held back.
fn on_card(phase: Phase, is_lost: bool) -> Window {
    let mut window = tracing(20);
    window.holding = true;
    // At the speed of a card, a drag shows all rays and no coarse ones.
    window.state.runtime.track.rays_per_ms = Some(1e6);
    change(&mut window, phase, |rays| {
        rays.params.curves.step_mm = 1.0;
    });
    let job = ray_jobs(&window).pop().expect("a job").clone();
    let Some(Outcome::Done(rays)) = window.pending[0].outcome::<TraceRays>() else {
        panic!("no rays");
    };
    let (mut rays, ticket) = (rays.clone(), window.pending[0].ticket);
    let card = |curves: &Tractogram| {
        let points = curves.points.to_vec();
        let mut moved = curves.clone();
        moved.points = Shared::late(OnCard {
            count: points.len(),
            points: (!is_lost).then_some(points),
            is_copied: AtomicBool::new(false),
        });
        moved
    };
    rays.all = card(&rays.all);
    rays.output.kept = card(&rays.output.kept);
    window.pending.clear();
    let delivery = Delivery {
        slot: LIVE,
        ticket,
        wall_ms: 3.0,
        outcome: Outcome::Done(rays),
    };
    window.act(Action::Event(Event::new(job, delivery)));
    window
}

fn copies(window: &Window) -> usize {
    window.jobs_of::<CopyLive>().count()
}

/// Rays are shown before the copy, and can be kept and measured after it. During a drag there is none.
fn copied_at_rest() {
    let mut window = on_card(Phase::Live, false);
    assert_eq!(copies(&window), 0);
    assert!(!live(&window).output.kept.points.is_on_host());
    assert!(window.state.final_live().is_none());
    change(&mut window, Phase::Done, |_| {});
    assert_eq!(copies(&window), 1);
    assert_eq!(window.state.standing(), Some(Standing::Final));
    window.deliver(|_| {});
    let final_live = window.state.final_live().expect("the final rays");
    assert!(final_live.output.kept.points.is_on_host());
    assert!(
        final_live
            .rays
            .as_ref()
            .is_some_and(|rays| rays.all.points.is_on_host())
    );
    assert_eq!(copies(&window), 1);
}

/// The ends of rays on a card have no marks: the interface thread would have to copy the points.
fn marked_once_copied() {
    let mut window = on_card(Phase::Live, false);
    window.state.document.live_display_mut().line_colouring = LineColouring::StopReason;
    let marked = |window: &Window| {
        let size = Size {
            points: glam::DVec2::splat(400.0),
            pixels_per_point: 1.0,
        };
        !scene::scene(&window.state, size).ends.is_empty()
    };
    let points = live(&window).output.kept.points.clone();
    assert!(!marked(&window) && !points.is_on_host());
    points.on_host().expect("a copy");
    assert!(marked(&window));
}

/// A card that fails before the copy: nothing is shown, and the reason is known.
fn lost_before_the_copy() {
    let mut window = on_card(Phase::Done, true);
    assert_eq!(copies(&window), 1);
    window.deliver(|_| {});
    let track = &window.state.runtime.track.live;
    assert!(track.value().is_none());
    let why = track.failure().expect("a reason");
    assert!(why.contains("the card was lost"), "{why}");
    assert_eq!(copies(&window), 1);
}

/// A copy that another job replaced is requested once more.
fn stopped_copy() {
    let mut window = on_card(Phase::Done, false);
    let job = window.jobs_of::<CopyLive>().next().expect("a copy").clone();
    let delivery = Delivery {
        slot: COPY,
        ticket: window.pending[0].ticket,
        wall_ms: 1.0,
        outcome: Outcome::Cancelled,
    };
    let curves = &live(&window).output.kept.points;
    let card = curves.late_as::<OnCard>().expect("points on a card");
    card.is_copied.store(false, Ordering::Relaxed);
    window.act(Action::Event(Event::new(job, delivery)));
    assert!(window.state.runtime.track.live.value().is_some());
    assert_eq!(copies(&window), 2);
}

/// A cut of rays on a card is a job: it copies their points.
fn cut_on_a_card() {
    let mut window = on_card(Phase::Live, false);
    assert!(live(&window).output.kept.len() > 3);
    change(&mut window, Phase::Live, |rays| rays.cut = Cut::Top(3));
    assert_eq!(window.jobs_of::<CutRays>().count(), 1);
    window.deliver(|_| {});
    assert_eq!(live(&window).output.kept.len(), 3);
}
