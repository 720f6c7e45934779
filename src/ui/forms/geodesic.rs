//! Geodesic rays in the task Track: their controls.

mod directions;
mod kinds;
pub mod measures;

use super::display::{segment_row, segment_row_but};
use super::walk;
use crate::solvers::curves::{self, Interpolation};
use crate::solvers::geodesic;
use crate::solvers::geodesic::{Form, Params, Precision, Sharpening};
use crate::state::{Action, Phase, Rays, Severity, State};
use crate::ui::theme;
use crate::ui::widgets::button::checkbox;
use crate::ui::widgets::note::Note;
use crate::ui::widgets::section;
use crate::ui::widgets::slider::{Columns, SliderRow};
use crate::ui::{Memory, panels};
use egui::Ui;
pub use kinds::Kinds;

const MORE: &str = "Directions, integrator, precision";
/// A rail's end; more may be typed.
const SHARPEST: f64 = 6.0;

type Set<'a> = dyn FnMut(Rays, Phase) + 'a;

pub fn parameters(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let place = section::head(ui, "Controls");
    let rays = &state.document.rays;
    // The cut is no control: it stands with the results.
    let usual = Rays {
        cut: rays.cut,
        ..state.session.settings.rays()
    };
    let mut set = |rays: Rays, phase: Phase| actions.push(Action::SetRays { rays, phase });
    if walk::reset(ui, place, *rays == usual) {
        set(usual.clone(), Phase::Done);
    }
    memory.kinds.remember(rays);
    directions::number(ui, rays, &usual, &mut memory.kinds, &mut set);
    directions::opening_angle(ui, rays, memory.kinds.cone_rad, &mut set);
    strength(ui, rays, &mut set);
    walk::step(ui, &rays.params.walk, &usual.params.walk, &mut |walk, p| {
        set(with_walk(rays, walk), p)
    });
    panels::in_sight(ui);
    walk::length(ui, &rays.params.walk, &usual.params.walk, &mut |walk, p| {
        set(with_walk(rays, walk), p)
    });
    let off = "off: rays cross low FA";
    walk::rules(ui, state, &rays.params.walk, &mut |walk, p| {
        set(with_walk(rays, walk), p)
    });
    walk::fa(
        ui,
        &rays.params.walk,
        &usual.params.walk,
        off,
        &mut |walk, p| set(with_walk(rays, walk), p),
    );
    let (open, clicked) = section::fold(ui, MORE, memory.is_open(MORE, false));
    if clicked {
        memory.toggle(MORE);
    }
    if open {
        second_rank(ui, state, &usual, &mut memory.kinds, &mut set);
    }
}

fn with(rays: &Rays, params: Params) -> Rays {
    Rays {
        params,
        ..rays.clone()
    }
}

fn with_walk(rays: &Rays, walk: curves::Params) -> Rays {
    let params = Params {
        walk,
        ..rays.params.clone()
    };
    with(rays, params)
}

/// How much the tensors are sharpened.
fn strength(ui: &mut Ui, rays: &Rays, set: &mut Set) {
    let mut to = |sharpening, phase| {
        let mut changed = rays.clone();
        changed.medium.sharpening = sharpening;
        set(changed, phase);
    };
    match rays.medium.sharpening {
        Sharpening::Power { alpha } => {
            let row = SliderRow::new("Sharpening α", alpha, 1.0..=SHARPEST)
                .decimals(1)
                .default(geodesic::DEFAULT_ALPHA)
                .limits(0.1..=16.0)
                .help(
                    "1 is the plain tensor, whose rays mostly run beside real fibres; more follows the \
                     principal directions more closely",
                );
            if let Some((alpha, phase)) = row.value(ui) {
                to(Sharpening::Power { alpha }, phase);
            }
        }
        Sharpening::Paper { power, below_fa } => {
            let row = SliderRow::new("Sharpening n", f64::from(power), 1.0..=SHARPEST)
                .whole()
                .default(2.0)
                .limits(1.0..=16.0)
                .help("Whole power of the tensor where the FA is below the threshold");
            if let Some((power, phase)) = row.value(ui) {
                let power = power.round() as u32;
                to(Sharpening::Paper { power, below_fa }, phase);
            }
        }
    }
}

/// Which tensors are sharpened.
fn sharpening(ui: &mut Ui, rays: &Rays, kinds: &Kinds, set: &mut Set) {
    let mut to = |sharpening, phase| {
        let mut changed = rays.clone();
        changed.medium.sharpening = sharpening;
        set(changed, phase);
    };
    let now = usize::from(matches!(rays.medium.sharpening, Sharpening::Paper { .. }));
    let help = "All: a real power α of every tensor, its volume preserved. Low FA: a whole power n \
                of tensors below an FA, the others as they are (van Aart et al. 2010)";
    if let Some(i) = segment_row(ui, "Sharpen", help, &["All", "Low FA only"], now) {
        to([kinds.power, kinds.paper][i], Phase::Done);
    }
    let (power, below_fa) = match (rays.medium.sharpening, kinds.paper) {
        (Sharpening::Paper { power, below_fa }, _) | (_, Sharpening::Paper { power, below_fa }) => {
            (power, below_fa)
        }
        _ => (2, 0.5),
    };
    let row = SliderRow::new("Sharpen below FA", below_fa, 0.0..=1.0)
        .default(0.5)
        .help("Tensors with a higher FA stay as they are")
        .inactive((now == 0).then_some("all are sharpened"));
    if let Some((below_fa, phase)) = row.value(ui) {
        to(Sharpening::Paper { power, below_fa }, phase);
    }
}

fn second_rank(ui: &mut Ui, state: &State, usual: &Rays, kinds: &mut Kinds, set: &mut Set) {
    let rays = &state.document.rays;
    directions::kind(ui, rays, kinds, set);
    walk::angle(ui, &rays.params.walk, &usual.params.walk, &mut |walk, p| {
        set(with_walk(rays, walk), p)
    });
    let christoffel = rays.params.form == Form::Christoffel;
    let fixed = "Christoffel symbols come with a midpoint rule of their own";
    let fixed = christoffel.then_some(fixed);
    walk::integrator(ui, &rays.params.walk, fixed, &mut |walk, p| {
        set(with_walk(rays, walk), p)
    });
    let linear = "Christoffel symbols need trilinear interpolation: choose Hamiltonian below first";
    let linear = christoffel.then_some(linear);
    walk::interpolation(ui, &rays.params.walk, linear, &mut |walk, p| {
        set(with_walk(rays, walk), p)
    });
    let cubic = rays.params.walk.interpolation == Interpolation::CubicBSpline;
    let why = |i: usize| {
        (i == 1 && cubic)
            .then_some("Christoffel symbols need trilinear interpolation: choose that above first")
    };
    let help = "Hamiltonian: the gradient of the interpolated tensors themselves. Christoffel: \
                symbols from four interpolated fields, held during a step (van Aart et al. 2011); \
                as there, a step is one of the parameter: where the metric changes fast it grows, a ray \
                can become longer than the longest allowed, and it ends where a step would pass over \
                voxels";
    let words = ["Hamiltonian", "Christoffel"];
    if let Some(i) = segment_row_but(ui, "Equations", help, &words, usize::from(christoffel), why) {
        let mut changed = rays.clone();
        changed.params.form = [Form::Hamiltonian, Form::Christoffel][i];
        set(changed, Phase::Done);
    }
    sharpening(ui, rays, kinds, set);
    let now = usize::from(rays.medium.precision == Precision::Single);
    let help =
        "Of the stored tensors: half rounds to 11 bits, too coarse for an α or n of 3 or more";
    if let Some(i) = segment_row(ui, "Precision", help, &["Half", "Single"], now) {
        let mut changed = rays.clone();
        changed.medium.precision = [Precision::Half, Precision::Single][i];
        set(changed, Phase::Done);
    }
    if rays.medium.is_too_coarse() {
        let text = "Half precision is too coarse for tensors sharpened this much";
        let note = Note::new(theme::palette(ui.style()), Severity::Warning, text).action("Single");
        if note.show(ui).is_some() {
            let mut changed = rays.clone();
            changed.medium.precision = Precision::Single;
            set(changed, Phase::Done);
        }
    }
    walk::random_seed(ui, &rays.params.walk, &mut |walk, p| {
        set(with_walk(rays, walk), p)
    });
    walk::mask(ui, state);
    walk::both_ways(ui, &rays.params.walk, &mut |walk, p| {
        set(with_walk(rays, walk), p)
    });
    let columns = Columns::allocate(ui);
    let place = columns.label.union(columns.wide);
    let guard = rays.params.loop_guard;
    if let Some(loop_guard) = checkbox(ui, place, "Stop rays that circle", guard) {
        let params = Params {
            loop_guard,
            ..rays.params.clone()
        };
        set(with(rays, params), Phase::Done);
    }
}
