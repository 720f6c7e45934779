//! How many rays leave the seed, and in which directions.

use super::{KindSettings, OnChange, with};
use crate::parameters::{Kind, Parameters as _, row};
use crate::solvers::curves::{MAX_SEEDS, Seeding};
use crate::solvers::geodesic::{DirectionKind, DirectionParts, Directions, Params};
use crate::state::track::types::RayCount;
use crate::state::{Phase, Rays};
use crate::ui::forms::display::select_row;
use crate::ui::forms::parameters::{self, Rows, Shown};
use crate::ui::widgets::menu;
use egui::Ui;

/// Another kind of directions, with about the same number of rays.
fn with_directions(rays: &Rays, directions: Directions, kinds: &mut KindSettings) -> Rays {
    let defaults = Rays::defaults().count();
    let all = kinds.requested(rays).or(defaults).unwrap_or(1);
    let params = Params {
        directions,
        ..rays.params.clone()
    };
    with_count(&with(rays, params), all, kinds)
}

/// About this many rays in total: a whole number of seed points, at least one.
fn with_count(rays: &Rays, all: usize, kinds: &mut KindSettings) -> Rays {
    let directions = rays.params.rays_per_seed().max(1);
    let max_points = MAX_SEEDS / directions;
    let count = ((all as f64 / directions as f64).round() as usize).clamp(1, max_points.max(1));
    let mut changed = rays.clone();
    changed.params.curves.seeding = Seeding::Random { count };
    kinds.note_rounding(&changed, all);
    changed
}

pub fn number(
    ui: &mut Ui,
    rays: &Rays,
    defaults: &Rays,
    kinds: &mut KindSettings,
    set: &mut OnChange,
) {
    let [now, defaults] = [rays.count(), None].map(|count| RayCount {
        count: count
            .or(defaults.count())
            .unwrap_or(RayCount::defaults().count),
    });
    let rows = Rows::Only(&["rays"]);
    parameters::rows(ui, &now, &defaults, rows, &mut |changed, phase| {
        set(with_count(rays, changed.count, kinds), phase);
    });
}

/// Row of the cone's opening angle; disabled for other kinds of directions.
pub fn opening_angle(
    ui: &mut Ui,
    rays: &Rays,
    defaults: &Rays,
    parts: &DirectionParts,
    set: &mut OnChange,
) {
    let defaults = DirectionParts::from(defaults.params.directions);
    let shown = Shown::default();
    parameters::number(
        ui,
        parts,
        &defaults,
        "half-angle",
        shown,
        &mut |parts, phase| {
            let directions = parts.into();
            let params = Params {
                directions,
                ..rays.params.clone()
            };
            set(with(rays, params), phase);
        },
    );
}

/// Kind of directions, and how many leave each seed point.
pub fn kind(
    ui: &mut Ui,
    rays: &Rays,
    defaults: &Rays,
    kinds: &mut KindSettings,
    set: &mut OnChange,
) {
    let parts = kinds.directions;
    let row = row::<DirectionParts>("kind");
    if let Some((row, Kind::OneOf(choices))) = row.map(|row| (row, &row.kind)) {
        let shown = choices.iter().find(|choice| (choice.is)(&parts));
        let shown = shown.map_or("", |choice| choice.label);
        let chosen = select_row(ui, row.label, row.help, shown, |ui| {
            let mut chosen = None;
            // No row sets the single direction.
            for choice in choices.iter().filter(|choice| choice.key != "towards") {
                let now = (choice.is)(&parts);
                if menu::Item::new(choice.label).chosen(now).show(ui) && !now {
                    chosen = Some(choice);
                }
            }
            chosen
        });
        if let Some(choice) = chosen {
            let mut parts = parts;
            (choice.choose)(&mut parts);
            set(with_directions(rays, parts.into(), kinds), Phase::Done);
        }
    }
    per_seed(ui, rays, defaults, kinds, set);
}

/// One row, whatever the kind.
fn per_seed(
    ui: &mut Ui,
    rays: &Rays,
    defaults: &Rays,
    kinds: &mut KindSettings,
    set: &mut OnChange,
) {
    let defaults = DirectionParts::from(defaults.params.directions);
    let parts = kinds.directions;
    let key = match parts.kind {
        DirectionKind::Icosphere => "level",
        _ => "count",
    };
    let limits = match row::<DirectionParts>(key).map(|row| &row.kind) {
        // Levels beyond the slider's range take long to compute.
        Some(Kind::Number(level)) if key == "level" => Some(level.soft.0..=level.soft.1),
        _ => None,
    };
    let shown = Shown {
        limits,
        ..Shown::default()
    };
    parameters::number(ui, &parts, &defaults, key, shown, &mut |parts, phase| {
        set(with_directions(rays, parts.into(), kinds), phase);
    });
}
