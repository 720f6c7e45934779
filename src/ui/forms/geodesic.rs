//! Geodesic rays in the task Track: their controls.

pub mod measures;

use super::display::{segment_row, select_row};
use super::walk;
use crate::solvers::geodesic::{Cut, Directions, Form, Params, Precision, Sharpening};
use crate::solvers::tracking::{self, Interpolation, Seeding};
use crate::state::{Action, Phase, Rays, State, defaults};
use crate::ui::Memory;
use crate::ui::widgets::button::checkbox;
use crate::ui::widgets::slider::{Columns, SliderRow};
use crate::ui::widgets::{menu, section};
use egui::Ui;

const MORE: &str = "Directions, cut, integrator";
/// A cone of no angle is refused by the solver; this one is as good as none, radians.
const LEAST_ANGLE: f64 = 1e-3;
/// Per seed point, in place of a single one.
const USUAL_DIRECTIONS: usize = 20;
/// A rail's end; more may be typed.
const SHARPEST: f64 = 6.0;

type Set<'a> = dyn FnMut(Rays, Phase) + 'a;

pub fn parameters(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let place = section::head(ui, "Controls");
    let usual = defaults::rays();
    let rays = &state.document.rays;
    let mut set = |rays: Rays, phase: Phase| actions.push(Action::SetRays { rays, phase });
    if walk::reset(ui, place, *rays == usual) {
        set(usual.clone(), Phase::Done);
    }
    number(ui, rays, &usual, &mut set);
    opening_angle(ui, rays, &mut set);
    sharpening(ui, rays, &mut set);
    walk::step(ui, &rays.params.walk, &usual.params.walk, &mut |walk, p| {
        set(with_walk(rays, walk), p)
    });
    walk::length(ui, &rays.params.walk, &usual.params.walk, &mut |walk, p| {
        set(with_walk(rays, walk), p)
    });
    let off = "off: rays cross low FA";
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
        second_rank(ui, state, &usual, &mut set);
    }
}

fn with(rays: &Rays, params: Params) -> Rays {
    Rays {
        params,
        ..rays.clone()
    }
}

fn with_walk(rays: &Rays, walk: tracking::Params) -> Rays {
    let mut params = Params {
        walk,
        ..rays.params.clone()
    };
    if params.walk.interpolation != Interpolation::Trilinear {
        // The papers' form knows linear interpolation only.
        params.form = Form::Hamiltonian;
    }
    with(rays, params)
}

fn with_directions(rays: &Rays, directions: Directions) -> Rays {
    let all = rays.count().or(defaults::rays().count()).unwrap_or(1);
    let params = Params {
        directions,
        ..rays.params.clone()
    };
    with_count(&with(rays, params), all)
}

/// About so many rays in all: whole seed points, one at least.
fn with_count(rays: &Rays, all: usize) -> Rays {
    let directions = rays.params.directions.count().max(1);
    let count = ((all as f64 / directions as f64).round() as usize).max(1);
    let mut changed = rays.clone();
    changed.params.walk.seeding = Seeding::Random { count };
    changed
}

fn number(ui: &mut Ui, rays: &Rays, usual: &Rays, set: &mut Set) {
    let now = rays.count().or(usual.count()).unwrap_or(1);
    let row = SliderRow::new("Rays", now as f64, 100.0..=1e6)
        .logarithmic()
        .decimals(0)
        .default(usual.count().unwrap_or(1) as f64)
        .limits(1.0..=16_777_216.0)
        .help("Drawn from the whole seed, in whole fans");
    if let Some((all, phase)) = row.value(ui) {
        set(with_count(rays, all as usize), phase);
    }
}

fn opening_angle(ui: &mut Ui, rays: &Rays, set: &mut Set) {
    let Directions::Cone {
        count,
        half_angle_rad,
    } = rays.params.directions
    else {
        return;
    };
    let shown = (half_angle_rad.to_degrees() * 1e6).round() / 1e6;
    let row = SliderRow::new("Opening angle", shown, 0.0..=90.0)
        .decimals(0)
        .default(45.0)
        .limits(0.0..=180.0)
        .unit("°")
        .help("Cone around the main direction at the seed; shown as a fan");
    if let Some((degrees, phase)) = row.value(ui) {
        let directions = Directions::Cone {
            count,
            half_angle_rad: degrees.to_radians().max(LEAST_ANGLE),
        };
        let params = Params {
            directions,
            ..rays.params.clone()
        };
        set(with(rays, params), phase);
    }
}

fn sharpening(ui: &mut Ui, rays: &Rays, set: &mut Set) {
    let mut to = |sharpening, phase| {
        let mut changed = rays.clone();
        changed.medium.sharpening = sharpening;
        set(changed, phase);
    };
    match rays.medium.sharpening {
        Sharpening::Power { alpha } => {
            let row = SliderRow::new("Sharpening α", alpha, 1.0..=SHARPEST)
                .decimals(1)
                .default(1.0)
                .limits(0.1..=16.0)
                .help("1 is the plain tensor; more follows it more closely");
            if let Some((alpha, phase)) = row.value(ui) {
                to(Sharpening::Power { alpha }, phase);
            }
        }
        Sharpening::Paper { power, below_fa } => {
            let row = SliderRow::new("Sharpening n", f64::from(power), 1.0..=SHARPEST)
                .decimals(0)
                .default(2.0)
                .limits(1.0..=16.0)
                .help("Whole power of the tensor where the FA is below the threshold");
            if let Some((power, phase)) = row.value(ui) {
                let power = power.round() as u32;
                to(Sharpening::Paper { power, below_fa }, phase);
            }
            let row = SliderRow::new("Sharpen below FA", below_fa, 0.0..=1.0)
                .default(0.5)
                .help("Tensors with a higher FA stay as they are");
            if let Some((below_fa, phase)) = row.value(ui) {
                to(Sharpening::Paper { power, below_fa }, phase);
            }
        }
    }
}

fn second_rank(ui: &mut Ui, state: &State, usual: &Rays, set: &mut Set) {
    let rays = &state.document.rays;
    directions(ui, rays, set);
    cut(ui, state, set);
    walk::angle(ui, &rays.params.walk, &usual.params.walk, &mut |walk, p| {
        set(with_walk(rays, walk), p)
    });
    walk::integrator(ui, &rays.params.walk, &mut |walk, p| {
        set(with_walk(rays, walk), p)
    });
    walk::interpolation(ui, &rays.params.walk, &mut |walk, p| {
        set(with_walk(rays, walk), p)
    });
    let now = usize::from(rays.params.form == Form::Christoffel);
    let help = "Equations: p′ from the interpolant's gradient, or the papers' Christoffel symbols";
    if let Some(i) = segment_row(ui, "Form", help, &["Hamiltonian", "Paper"], now) {
        let mut changed = rays.clone();
        changed.params.form = [Form::Hamiltonian, Form::Christoffel][i];
        if changed.params.form == Form::Christoffel {
            changed.params.walk.interpolation = Interpolation::Trilinear;
        }
        set(changed, Phase::Done);
    }
    let now = usize::from(matches!(rays.medium.sharpening, Sharpening::Paper { .. }));
    let help = "A real power of every tensor, or the papers' whole power below an FA";
    if let Some(i) = segment_row(ui, "Sharpen by", help, &["Power", "Paper"], now) {
        let mut changed = rays.clone();
        changed.medium.sharpening = match i {
            0 => defaults::sharpening(),
            _ => Sharpening::Paper {
                power: 2,
                below_fa: 0.5,
            },
        };
        set(changed, Phase::Done);
    }
    let now = usize::from(rays.medium.precision == Precision::Single);
    let help = "Of the stored tensors: half rounds to 11 bits, too coarse for an α above 3";
    if let Some(i) = segment_row(ui, "Precision", help, &["Half", "Single"], now) {
        let mut changed = rays.clone();
        changed.medium.precision = [Precision::Half, Precision::Single][i];
        set(changed, Phase::Done);
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

/// Their kind, and how many leave each seed point.
fn directions(ui: &mut Ui, rays: &Rays, set: &mut Set) {
    let now = rays.params.directions;
    let count = match now {
        Directions::Sphere { count } | Directions::Cone { count, .. } => count,
        _ => USUAL_DIRECTIONS,
    };
    let cone = Directions::Cone {
        count,
        half_angle_rad: std::f64::consts::FRAC_PI_4,
    };
    let kinds = [
        (cone, "Cone"),
        (Directions::Sphere { count }, "Sphere"),
        (Directions::Icosphere { level: 1 }, "Icosphere"),
        (Directions::Principal, "Main direction"),
    ];
    let same = |kind: &Directions| std::mem::discriminant(kind) == std::mem::discriminant(&now);
    let shown = kinds.iter().find(|(kind, _)| same(kind));
    let shown = shown.map_or("One direction", |(_, name)| name);
    let help = "In which rays leave a seed point";
    let chosen = select_row(ui, "Directions", help, shown, |ui| {
        let mut chosen = None;
        for (kind, name) in &kinds {
            if menu::Item::new(name).chosen(same(kind)).show(ui) {
                chosen = Some(*kind);
            }
        }
        chosen
    });
    if let Some(kind) = chosen.filter(|kind| !same(kind)) {
        set(with_directions(rays, kind), Phase::Done);
    }
    match now {
        Directions::Icosphere { level } => {
            let row = SliderRow::new("Subdivisions", level as f64, 0.0..=4.0)
                .decimals(0)
                .default(1.0)
                .help("Of the icosahedron: 12, 42, 162, 642 or 2562 directions");
            if let Some((level, phase)) = row.value(ui) {
                let level = level as usize;
                set(
                    with_directions(rays, Directions::Icosphere { level }),
                    phase,
                );
            }
        }
        Directions::Sphere { .. } | Directions::Cone { .. } => {
            let row = SliderRow::new("Rays a seed point", count as f64, 2.0..=500.0)
                .logarithmic()
                .decimals(0)
                .default(USUAL_DIRECTIONS as f64)
                .limits(1.0..=65_536.0)
                .help("Directions of one fan; the number of rays in all stays");
            if let Some((count, phase)) = row.value(ui) {
                let count = count as usize;
                let directions = match now {
                    Directions::Cone { half_angle_rad, .. } => Directions::Cone {
                        count,
                        half_angle_rad,
                    },
                    _ => Directions::Sphere { count },
                };
                set(with_directions(rays, directions), phase);
            }
        }
        Directions::Principal | Directions::Towards { .. } => {}
    }
}

/// Which rays are kept, by their measure.
fn cut(ui: &mut Ui, state: &State, set: &mut Set) {
    let rays = &state.document.rays;
    let live = state.session.live.as_ref();
    let kept = live.map_or(0, |l| l.output.kept.len());
    let least = live.and_then(|l| l.rays.as_ref()).and_then(|r| r.least);
    let now = match rays.cut {
        Cut::All | Cut::AtLeast(_) => 0,
        Cut::Top(_) => 1,
        Cut::TopShare(_) => 2,
    };
    let mut to = |cut, phase| {
        let medium = rays.medium;
        let params = rays.params.clone();
        set(
            Rays {
                medium,
                params,
                cut,
            },
            phase,
        );
    };
    let help = "Which rays stay, by their connectivity measure";
    let words = ["Cut", "Number", "Share"];
    if let Some(i) = segment_row(ui, "Keep", help, &words, now).filter(|&i| i != now) {
        let cut = match i {
            0 => least.map_or(Cut::All, Cut::AtLeast),
            1 => Cut::Top(kept.clamp(1, 100)),
            _ => Cut::TopShare(0.1),
        };
        to(cut, Phase::Done);
    }
    match rays.cut {
        Cut::Top(count) => {
            let row = SliderRow::new("Best number", count as f64, 1.0..=10_000.0)
                .logarithmic()
                .decimals(0)
                .default(100.0)
                .limits(1.0..=16_777_216.0)
                .help("So many of the strongest stay");
            if let Some((count, phase)) = row.value(ui) {
                to(Cut::Top(count.max(1.0) as usize), phase);
            }
        }
        Cut::TopShare(share) => {
            let row = SliderRow::new("Best share", share * 100.0, 1.0..=100.0)
                .decimals(0)
                .default(10.0)
                .limits(0.01..=100.0)
                .unit("%")
                .help("This share of the strongest stays");
            if let Some((percent, phase)) = row.value(ui) {
                to(Cut::TopShare(percent / 100.0), phase);
            }
        }
        Cut::All | Cut::AtLeast(_) => {}
    }
}
