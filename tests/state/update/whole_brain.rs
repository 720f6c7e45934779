//! The whole brain has its own seeds, and uses regions only on request.

use super::Window;
use crate::support::test;
use arcuate::data::Role;
use arcuate::solvers::curves::Seeding;
use arcuate::state::track::jobs::streamlines::TrackWholeBrain;
use arcuate::state::{Action, CommandLine, Phase, TrackAction, WholeBrain, methods};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::whole_brain::seeds_of_its_own", seeds),
        test("update::whole_brain::regions_where_asked", regions),
    ]
}

/// A seed and a target that no streamline reaches.
fn regions_placed() -> Window {
    let mut window = Window::fitted();
    window.place(Role::Seed, DVec3::ZERO);
    window.place(Role::Target, dvec3(30.0, 0.0, 0.0));
    window
}

fn set(window: &mut Window, whole_brain: WholeBrain) {
    let phase = Phase::Done;
    window.act(Action::Track(TrackAction::SetWholeBrain {
        whole_brain,
        phase,
    }));
}

fn last(window: &Window) -> (Seeding, usize) {
    let last = window.jobs_of::<TrackWholeBrain>().last();
    let TrackWholeBrain(track) = last.expect("the whole brain");
    (track.params.seeding, track.regions.len())
}

fn seeds() {
    let mut window = regions_placed();
    window.state.document.track.streamlines.min_length_mm = 5.0;
    window.holding = true;
    window.act(Action::Track(TrackAction::WholeBrain));
    let count = WholeBrain::default().seeds;
    assert!(count >= 20_000, "a whole brain, not {count}");
    assert_eq!(last(&window), (Seeding::Random { count }, 0));
    // The requested number is used, regardless of the number of live streamlines.
    window.holding = false;
    window.pending.clear();
    let few = WholeBrain {
        seeds: 700,
        ..WholeBrain::default()
    };
    set(&mut window, few);
    window.act(Action::Track(TrackAction::WholeBrain));
    assert_eq!(last(&window).0, Seeding::Random { count: 700 });
    let layer = window.state.document.layers.last().unwrap().clone();
    assert!(layer.name.starts_with("Whole brain"));
    let CommandLine::Track {
        params, regions, ..
    } = window.state.document.command_line(&layer)
    else {
        panic!("{:?}", layer.origin)
    };
    assert_eq!(params.seeding, Seeding::Random { count: 700 });
    assert!(regions.is_empty(), "the target did not count");
    let command = window.state.document.command_line(&layer).text();
    assert!(command.contains("--seeds random:700"), "{command}");
    assert!(!command.contains("--target"), "{command}");
    let methods = methods::methods(&window.state);
    assert!(methods.contains("700"), "{methods}");
    // A grid applies to any area.
    window.state.document.track.streamlines.seeding = Seeding::PerVoxel { count: 2 };
    window.holding = true;
    window.act(Action::Track(TrackAction::WholeBrain));
    assert_eq!(last(&window).0, Seeding::PerVoxel { count: 2 });
    window.act(Action::Undo);
}

fn regions() {
    let mut window = regions_placed();
    let by_regions = WholeBrain {
        seeds: 700,
        by_regions: true,
    };
    set(&mut window, by_regions);
    window.act(Action::Track(TrackAction::WholeBrain));
    // Not the seed.
    assert_eq!(last(&window), (Seeding::Random { count: 700 }, 1));
    let layer = window.state.document.layers.last().unwrap().clone();
    let command = window.state.document.command_line(&layer).text();
    assert!(command.contains("--target"), "{command}");
    window.act(Action::Undo);
    window.act(Action::Undo);
    assert_eq!(
        window.state.document.track.whole_brain,
        WholeBrain::default()
    );
}
