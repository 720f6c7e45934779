//! Data that pathways leave unchanged or take over, and the names of their steps.

use super::Window;
use super::pathways::{A, B, drag, in_tensors, live, looking};
use crate::support::test;
use arcuate::data::Role;
use arcuate::solvers::eikonal::LocalSolver;
use arcuate::state::methods::methods;
use arcuate::state::pathways::jobs::PATHWAY;
use arcuate::state::pathways::{PathwayAction, Standing, percent_joined};
use arcuate::state::track::jobs::streamlines::LiveTracking;
use arcuate::state::{Action, KeptPathway, Phase, Task, ViewAction};
use arcuate::ui::format;
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::pathways::streamlines_wait_for_their_task", tracks),
        test(
            "update::pathways::a_side_is_taken_over_after_a_drag",
            one_side,
        ),
        test("update::pathways::undo_names_each_step", steps),
        test("update::pathways::no_status_of_a_gone_result", reported),
        test("update::pathways::methods_mention_each_once", cited_once),
        test("update::pathways::the_joining_width_is_rounded_up", joined),
    ]
}

fn status(window: &Window) -> String {
    window.state.runtime.notices.status.to_string()
}

/// A status about a result does not outlive it.
fn reported() {
    let mut window = looking();
    assert!(
        status(&window).starts_with("Solved in"),
        "{}",
        status(&window)
    );
    // The ends no longer meet.
    drag(&mut window, Role::Seed, B + DVec3::Y, Phase::Done);
    assert!(window.state.runtime.pathways.live.failure().is_some());
    assert!(
        !status(&window).contains("Solved in"),
        "{}",
        status(&window)
    );
    window.act(Action::Undo);
    assert!(status(&window).contains("Solved in"), "{}", status(&window));
    // No end.
    window.act(Action::Undo);
    assert!(window.state.runtime.pathways.live.value().is_none());
    assert!(
        !status(&window).contains("Solved in"),
        "{}",
        status(&window)
    );
    window.act(Action::Redo);
    assert!(status(&window).contains("Solved in"), "{}", status(&window));
    // Stopped: the pathway that is shown is out of date.
    drag(&mut window, Role::Seed, A - DVec3::X, Phase::Live);
    assert!(status(&window).contains("Solved in"), "{}", status(&window));
    window.holding = true;
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    window.act(Action::CancelJob(PATHWAY));
    assert_eq!(window.state.pathway_standing(), Some(Standing::OutOfDate));
    assert!(
        !status(&window).contains("Solved in"),
        "{}",
        status(&window)
    );
}

fn tracked(window: &Window) -> usize {
    window.jobs_of::<LiveTracking>().count()
}

/// None are computed where they are not visible; the task that shows them computes them.
fn tracks() {
    let mut window = looking();
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    let count = tracked(&window);
    for phase in [Phase::Live, Phase::Done] {
        drag(&mut window, Role::Seed, A + DVec3::X, phase);
    }
    assert_eq!(tracked(&window), count);
    assert!(
        window.state.runtime.track.live.value().is_none(),
        "those of before are gone"
    );
    let status = &window.state.runtime.notices.status;
    assert!(status.starts_with("Solved in "), "{status}");
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    assert!(tracked(&window) > count);
    assert!(window.state.final_live().is_some());
    // Nothing has changed: nothing is recomputed.
    let count = tracked(&window);
    window.act(Action::View(ViewAction::SelectTask(Task::Pathways)));
    assert!(window.state.final_live().is_some());
    window.act(Action::View(ViewAction::SelectTask(Task::Track)));
    assert_eq!(tracked(&window), count);
}

/// A drag's coarse results, and the full one after it, solve only the moved side.
fn one_side() {
    let mut window = looking();
    let fields = |window: &Window| in_tensors(window).fields.clone().map(|f| f.id());
    let before = fields(&window);
    let slow = |window: &mut Window| window.state.runtime.pathways.full_ms = [Some(1e4); 2];
    slow(&mut window);
    let mut coarse = Vec::new();
    for x in 1..=3 {
        let at = A + DVec3::X * f64::from(x);
        drag(&mut window, Role::Seed, at, Phase::Live);
        assert!(live(&window).coarse);
        let local = in_tensors(&window).fields[0].prepared.local;
        assert_eq!(local, LocalSolver::HopfLax26, "no time for Selling's");
        coarse.push(fields(&window));
    }
    for pair in coarse.windows(2) {
        assert_ne!(pair[0][0], pair[1][0], "the seed moves");
        assert_eq!(pair[0][1], pair[1][1], "the target does not");
    }
    drag(&mut window, Role::Seed, A + DVec3::X * 3.0, Phase::Done);
    assert!(!live(&window).coarse);
    assert_eq!(
        in_tensors(&window).fields[0].prepared.local,
        LocalSolver::Hybrid
    );
    let after = fields(&window);
    assert_ne!(before[0], after[0]);
    assert_eq!(before[1], after[1], "as it was before the drag");
    // Also when the pointer rests in the middle of a drag, and for the other end after that.
    slow(&mut window);
    drag(&mut window, Role::Seed, A + DVec3::X * 2.0, Phase::Live);
    window.act(Action::Settle);
    assert!(!live(&window).coarse);
    assert_eq!(fields(&window)[1], before[1]);
    drag(&mut window, Role::Seed, A + DVec3::X * 2.0, Phase::Done);
    let seed = fields(&window)[0];
    slow(&mut window);
    let target = DVec3::new(2.0, 14.0, 1.0);
    for phase in [Phase::Live, Phase::Done] {
        drag(&mut window, Role::Target, target, phase);
    }
    assert!(!live(&window).coarse);
    assert_eq!(fields(&window)[0], seed);
    assert_ne!(fields(&window)[1], before[1]);
}

fn steps() {
    let mut window = looking();
    window.act(Action::Pathway(PathwayAction::Keep));
    let change = |window: &mut Window, phase: Phase, edit: &dyn Fn(&mut KeptPathway)| {
        let mut kept = (*window.state.document.kept_pathways[0]).clone();
        edit(&mut kept);
        window.act(Action::Pathway(PathwayAction::SetKept { kept, phase }));
    };
    let label = |window: &Window| window.state.history.undo_label().map(str::to_owned);
    type Edit<'a> = (&'a dyn Fn(&mut KeptPathway), &'a str);
    let edits: [Edit; 4] = [
        (&|k| k.visible = false, "Hide pathway"),
        (&|k| k.visible = true, "Show pathway"),
        (&|k| k.colour = [1, 2, 3], "Colour of pathway"),
        (&|k| k.epsilon = 0.33, "Width of pathway"),
    ];
    for (edit, expected) in edits {
        change(&mut window, Phase::Done, edit);
        assert_eq!(label(&window).as_deref(), Some(expected));
    }
    window.act(Action::Undo);
    let status = window.state.runtime.notices.status.replace('\u{202F}', " ");
    let begin = "Undone: width of pathway (";
    assert!(status.starts_with(begin), "{status}");
    assert!(status.contains(": Pathway width ε 33.0 % → "), "{status}");
    // A drag is one step, which its end does not duplicate.
    change(&mut window, Phase::Live, &|k| k.epsilon = 0.4);
    change(&mut window, Phase::Live, &|k| k.epsilon = 0.5);
    change(&mut window, Phase::Done, &|_| {});
    window.act(Action::Undo);
    assert_eq!(label(&window).as_deref(), Some("Colour of pathway"));
    let mut settings = window.state.document.pathways.clone();
    settings.epsilon = 0.07;
    for phase in [Phase::Live, Phase::Done] {
        let settings = settings.clone();
        window.act(Action::Pathway(PathwayAction::Set { settings, phase }));
    }
    assert_eq!(label(&window).as_deref(), Some("Pathway width"));
    window.act(Action::Undo);
    assert_eq!(label(&window).as_deref(), Some("Colour of pathway"));
}

fn cited_once() {
    let mut window = looking();
    let solved = "were solved from the anisotropic Hamilton–Jacobi equation";
    let count = |window: &Window| methods(&window.state).matches(solved).count();
    assert_eq!(count(&window), 1);
    window.act(Action::Pathway(PathwayAction::Keep));
    assert_eq!(count(&window), 1, "the live one is the one that was kept");
    window.act(Action::Pathway(PathwayAction::Keep));
    let text = methods(&window.state);
    assert_eq!(text.matches(solved).count(), 1);
    assert!(
        text.contains("“Seed – Target”, “Seed – Target 2”:"),
        "{text}"
    );
    let mut settings = window.state.document.pathways.clone();
    settings.epsilon = 0.5;
    let phase = Phase::Done;
    window.act(Action::Pathway(PathwayAction::Set { settings, phase }));
    assert_eq!(count(&window), 2, "another width is another pathway");
    // The text does not mention streamlines when there are none.
    let text = methods(&window.state);
    assert!(!text.contains(" 0 streamlines"), "{text}");
}

fn joined() {
    for from in [0.0, 0.0761, 0.0769999, 0.3, 1.24] {
        let percent = percent_joined(from);
        assert!(
            percent / 100.0 >= from && percent / 100.0 < from + 0.0011,
            "{from} {percent}"
        );
    }
    let window = looking();
    let percent = percent_joined(live(&window).pathway.joining_epsilon);
    let reported = format!(
        "joined from ε = {}",
        format::with_unit(&format::fixed(percent, 1), "%")
    );
    let status = &window.state.runtime.notices.status;
    assert!(status.ends_with(&reported), "{status}");
}
