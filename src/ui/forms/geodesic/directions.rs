//! How many rays leave the seed, and in which directions.

use super::{Kinds, Set, with};
use crate::solvers::curves::{MAX_SEEDS, Seeding};
use crate::solvers::geodesic::{Directions, Params};
use crate::state::{Phase, Rays, defaults};
use crate::ui::forms::display::select_row;
use crate::ui::widgets::menu;
use crate::ui::widgets::slider::SliderRow;
use egui::Ui;

/// A cone of no angle is refused by the solver; this one is as good as none, radians.
const LEAST_ANGLE: f64 = 1e-3;
/// Rays in all that the solver takes.
const MOST: f64 = MAX_SEEDS as f64;
/// Per seed point, in place of a single one.
pub const USUAL: usize = 20;

/// Of another kind, about as many in all.
fn with_directions(rays: &Rays, directions: Directions, kinds: &mut Kinds) -> Rays {
    let usual = defaults::rays().count();
    let all = kinds.asked(rays).or(usual).unwrap_or(1);
    let params = Params {
        directions,
        ..rays.params.clone()
    };
    with_count(&with(rays, params), all, kinds)
}

/// About this many rays in all: whole seed points, one at least.
fn with_count(rays: &Rays, all: usize, kinds: &mut Kinds) -> Rays {
    let directions = rays.params.directions.count().max(1);
    let most = MOST as usize / directions;
    let count = ((all as f64 / directions as f64).round() as usize).clamp(1, most.max(1));
    let mut changed = rays.clone();
    changed.params.walk.seeding = Seeding::Random { count };
    kinds.note_rounding(&changed, all);
    changed
}

pub fn number(ui: &mut Ui, rays: &Rays, usual: &Rays, kinds: &mut Kinds, set: &mut Set) {
    let now = rays.count().or(usual.count()).unwrap_or(1);
    let row = SliderRow::new("Rays", now as f64, 100.0..=1e6)
        .logarithmic()
        .whole()
        .default(usual.count().unwrap_or(1) as f64)
        .limits(1.0..=MOST)
        .help("Number of rays, started in the seed in whole fans");
    if let Some((all, phase)) = row.value(ui) {
        set(with_count(rays, all as usize, kinds), phase);
    }
}

/// `cone_rad`: what it was when the rays last left in a cone.
pub fn opening_angle(ui: &mut Ui, rays: &Rays, cone_rad: f64, set: &mut Set) {
    let (cone, half_angle_rad) = match rays.params.directions {
        Directions::Cone {
            count,
            half_angle_rad,
        } => (Some(count), half_angle_rad),
        _ => (None, cone_rad),
    };
    let shown = (half_angle_rad.to_degrees() * 1e6).round() / 1e6;
    let row = SliderRow::new("Opening angle", shown, 0.0..=90.0)
        .decimals(0)
        .default(45.0)
        .limits(0.0..=180.0)
        .unit("°")
        .help("Cone around the main direction at the seed; shown as a fan")
        .inactive(cone.is_none().then_some("of a cone only"));
    if let (Some((degrees, phase)), Some(count)) = (row.value(ui), cone) {
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

/// Their kind, and how many leave each seed point.
pub fn kind(ui: &mut Ui, rays: &Rays, kinds: &mut Kinds, set: &mut Set) {
    let now = rays.params.directions;
    let count = kinds.fan;
    let half_angle_rad = kinds.cone_rad;
    let level = kinds.icosphere;
    let all = [
        (
            Directions::Cone {
                count,
                half_angle_rad,
            },
            "Cone",
        ),
        (Directions::Sphere { count }, "Sphere"),
        (Directions::Icosphere { level }, "Icosphere"),
        (Directions::Principal, "Main direction"),
    ];
    let same = |kind: &Directions| std::mem::discriminant(kind) == std::mem::discriminant(&now);
    let shown = all.iter().find(|(kind, _)| same(kind));
    let shown = shown.map_or("One direction", |(_, name)| name);
    let help = "Directions in which rays leave a seed point";
    let chosen = select_row(ui, "Directions", help, shown, |ui| {
        let mut chosen = None;
        for (kind, name) in &all {
            if menu::Item::new(name).chosen(same(kind)).show(ui) {
                chosen = Some(*kind);
            }
        }
        chosen
    });
    if let Some(kind) = chosen.filter(|kind| !same(kind)) {
        set(with_directions(rays, kind, kinds), Phase::Done);
    }
    per_seed(ui, rays, kinds, set);
}

/// One row, whatever the kind.
fn per_seed(ui: &mut Ui, rays: &Rays, kinds: &mut Kinds, set: &mut Set) {
    let now = rays.params.directions;
    if let Directions::Icosphere { level } = now {
        let row = SliderRow::new("Subdivisions", level as f64, 0.0..=4.0)
            .whole()
            .default(1.0)
            .help("Of the icosahedron: 12, 42, 162, 642 or 2562 directions");
        if let Some((level, phase)) = row.value(ui) {
            let level = level as usize;
            let directions = Directions::Icosphere { level };
            set(with_directions(rays, directions, kinds), phase);
        }
        return;
    }
    let single = matches!(now, Directions::Principal | Directions::Towards { .. });
    let row = SliderRow::new("Rays per seed point", kinds.fan as f64, 2.0..=500.0)
        .logarithmic()
        .whole()
        .default(USUAL as f64)
        .limits(1.0..=65_536.0)
        .help("Directions per fan; the total number of rays does not change")
        .inactive(single.then_some("one"));
    if let Some((count, phase)) = row.value(ui) {
        let count = count as usize;
        let directions = match now {
            Directions::Cone { half_angle_rad, .. } => Directions::Cone {
                count,
                half_angle_rad,
            },
            _ => Directions::Sphere { count },
        };
        set(with_directions(rays, directions, kinds), phase);
    }
}
