//! Comparison of a pathway with streamlines: on request, and shown only while both are the same.

use super::pathways::{A, change, drag, live, looking};
use super::{Window, file};
use crate::support::{lines, test};
use arcuate::compute::{Backend, BackendChoice, Control};
use arcuate::data::Role;
use arcuate::solvers::compare::agreement;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::streamlines::jobs::agreement::CompareStreamlines;
use arcuate::state::{Action, Phase, StreamlineAction};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::agreement::on_request", on_request),
        test("update::agreement::nothing_to_compare", nothing),
    ]
}

const COMPARE: Action = Action::Streamline(StreamlineAction::ComparePathway);

/// One streamline along the fibres between the ends, one beside the head's middle.
fn with_streamlines(window: &mut Window) {
    let all = [
        vec![dvec3(0.0, -10.0, 0.0), dvec3(0.0, 10.0, 0.0)],
        vec![dvec3(18.0, -5.0, 0.0), dvec3(18.0, 5.0, 0.0)],
    ];
    let loaded = Loaded::Tractogram(lines(&all));
    window.act(Action::Event(file("/data/lines.tck", loaded)));
    assert!(window.state.current_streamlines().is_some());
}

fn on_request() {
    let mut window = looking();
    with_streamlines(&mut window);
    assert_eq!(window.jobs_of::<CompareStreamlines>().count(), 0);
    assert!(window.state.pathway_agreement().is_none());
    window.act(COMPARE);
    let shown = *window.state.pathway_agreement().expect("the figures");
    assert_eq!((shown.streamlines, shown.within), (2, 1));
    assert!(shown.near_share() > shown.passed_share() && shown.dice() > 0.0);
    // The figures are those of the solver.
    let mask = live(&window).mask(window.state.document.pathways.epsilon);
    let (_, tractogram) = window.state.current_streamlines().expect("streamlines");
    let backend = Backend::choose(&BackendChoice::cpu(Some(2))).expect("two threads");
    let expected = agreement(&mask, tractogram, &backend, &Control::new());
    assert_eq!(expected, Ok(shown));
    // A wider pathway is another one, and so is a moved one; undo brings the width back.
    change(&mut window, Phase::Done, |settings| settings.epsilon *= 2.0);
    assert!(window.state.pathway_agreement().is_none());
    window.act(Action::Undo);
    assert_eq!(window.state.pathway_agreement(), Some(&shown));
    drag(&mut window, Role::Seed, A + DVec3::X, Phase::Done);
    assert!(window.state.pathway_agreement().is_none());
    window.act(COMPARE);
    assert!(window.state.pathway_agreement().is_some());
    assert_eq!(window.jobs_of::<CompareStreamlines>().count(), 2);
}

fn nothing() {
    // Streamlines without a pathway.
    let mut window = Window::fitted();
    with_streamlines(&mut window);
    window.act(COMPARE);
    assert_eq!(window.jobs_of::<CompareStreamlines>().count(), 0);
    // A pathway without streamlines.
    let mut window = looking();
    window.act(COMPARE);
    assert_eq!(window.jobs_of::<CompareStreamlines>().count(), 0);
    assert!(window.state.pathway_agreement().is_none());
}
