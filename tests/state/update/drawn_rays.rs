//! Rays that the window draws before the host has their points.

use super::Window;
use super::rays::{change, line, live, ray_jobs, tracing};
use crate::support::test;
use arcuate::jobs::{Delivery, Event, Outcome};
use arcuate::state::track::jobs::LIVE;
use arcuate::state::track::jobs::trace::TraceRays;
use arcuate::state::{Action, CommandLine, Phase};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test(
        "update::rays::drawn_before_the_host_has_them",
        drawn_first,
    )]
}

/// Rays that a card computed arrive twice: as soon as they can be drawn, and when the host has their points.
fn drawn_first() {
    let step = |w: &Window| match &line(w) {
        CommandLine::Geodesic { params, .. } => params.curves.step_mm,
        other => panic!("{other:?}"),
    };
    for fails in [false, true] {
        let mut window = tracing(20);
        window.holding = true;
        change(&mut window, Phase::Done, |r| r.params.curves.step_mm = 1.0);
        let job = ray_jobs(&window).pop().expect("a job").clone();
        let Some(Outcome::Done(rays)) = window.pending[0].outcome::<TraceRays>() else {
            panic!("no rays");
        };
        let (rays, ticket) = (rays.clone(), window.pending[0].ticket);
        let event = |outcome| {
            let slot = LIVE;
            let delivery = Delivery {
                slot,
                ticket,
                wall_ms: 3.0,
                outcome,
            };
            Action::Event(Event::new(job.clone(), delivery))
        };
        assert_ne!(step(&window), 1.0);
        window.act(event(Outcome::Partial(rays.clone())));
        assert_eq!(step(&window), 1.0);
        assert_eq!(live(&window).output.kept.id(), rays.output.kept.id());
        assert!(window.state.runtime.jobs.is_running(&[LIVE]));
        if fails {
            window.act(event(Outcome::Failed("The card was lost".into())));
            assert!(window.state.runtime.track.live.value().is_none());
            continue;
        }
        window.act(event(Outcome::Done(rays.clone())));
        assert_eq!(live(&window).output.kept.id(), rays.output.kept.id());
        assert!(!window.state.runtime.jobs.is_running(&[LIVE]));
        // Nothing else was requested.
        window.deliver(Vec::clear);
        assert_eq!(step(&window), 1.0);
    }
}
