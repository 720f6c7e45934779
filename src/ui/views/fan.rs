//! The directions in which rays leave their seeds, as short lines around each.

use super::scene_view::Scene;
use super::slice_view::Slice;
use crate::data::{Role, Shape};
use crate::solvers::geodesic::Directions;
use crate::state::track::types::odf::Model;
use crate::state::{Document, Method, State, Task};
use crate::ui::{probe, theme};
use egui::{Color32, Painter, Stroke};
use glam::DVec3;

/// More lines than this would look like a disc.
const MAXIMUM_LINES: usize = 96;
/// Length outwards from the region's surface, mm.
const LENGTH_MM: f64 = 6.0;
/// Largest sine of the angle to a slice at which a direction is drawn on it.
const IN_PLANE: f64 = 0.5;
const STRENGTH: f32 = 0.75;

/// Lines of one seed, world mm, in the seed's colour.
struct Fan {
    lines: Vec<(DVec3, DVec3)>,
    centre: DVec3,
    reach_mm: f64,
    colour: Color32,
}

/// The fans of the visible seeds.
fn fans(state: &State) -> Vec<Fan> {
    let document = &state.document;
    let shown = state.view.task == Task::Track && document.track.method == Method::Rays;
    if !shown {
        return Vec::new();
    }
    let params = &document.track.chosen_rays().params;
    // Rays to a point leave in directions that are found for each seed.
    if params.through.is_some() {
        return Vec::new();
    }
    let directions = match params.directions {
        Directions::Sphere { count } => Directions::Sphere {
            count: count.min(MAXIMUM_LINES),
        },
        Directions::Cone {
            count,
            half_angle_rad,
        } => Directions::Cone {
            count: count.min(MAXIMUM_LINES),
            half_angle_rad,
        },
        Directions::Icosphere { level } => Directions::Icosphere {
            level: level.min(1),
        },
        other => other,
    };
    let seeds = document.regions.iter();
    let seeds = seeds.filter(|r| r.role == Role::Seed && r.visible);
    let fan = |region: &std::sync::Arc<crate::data::Region>| {
        let (centre, reach_mm) = match &*region.shape {
            Shape::Sphere { centre, radius_mm } => (*centre, *radius_mm),
            Shape::Box { centre, half_mm } => (*centre, half_mm.max_element()),
            // Its centre may lie outside.
            Shape::Mask(_) => return None,
        };
        let fan = fan_at(document, directions, centre)?;
        let back = if params.curves.both_ways {
            fan.iter().map(|d| -*d).collect()
        } else {
            Vec::new()
        };
        let line = |d: DVec3| (centre + d * reach_mm, centre + d * (reach_mm + LENGTH_MM));
        Some(Fan {
            lines: fan.into_iter().chain(back).map(line).collect(),
            centre,
            reach_mm,
            colour: theme::region_colour(region).gamma_multiply(STRENGTH),
        })
    };
    seeds.filter_map(fan).collect()
}

/// The directions at a place, around the principal direction of the tensor or the peaks of the distribution there; `None`
/// where it has none.
fn fan_at(document: &Document, directions: Directions, place: DVec3) -> Option<Vec<DVec3>> {
    let both_ways = document.track.chosen_rays().params.curves.both_ways;
    match document.track.model {
        Model::Tensors => {
            let tensors = document.tensors.as_ref()?;
            let axis = probe::principal_direction(&tensors.field.nearest(place)?)?;
            Some(directions.fan(both_ways, axis))
        }
        Model::Distributions => {
            let result = document.distributions.result.as_ref()?;
            let peaks = result.fods.peaks.as_ref()?;
            let voxel = peaks.grid.index(peaks.grid.nearest(place)?);
            let limit = document.track.odf.rays.speed.min_amplitude.unwrap_or(0.0);
            // The length of a peak is its amplitude.
            let high = peaks.peaks(voxel).filter(|peak| peak.length() >= limit);
            let high: Vec<DVec3> = high.map(DVec3::normalize).collect();
            let fan = directions.fan_of_peaks(both_ways, &high);
            (!fan.is_empty()).then_some(fan)
        }
    }
}

/// Draws the directions that run along the slice.
pub fn on_slice(painter: &Painter, slice: &Slice) {
    for fan in fans(slice.state) {
        if slice.plane.distance(fan.centre).abs() > fan.reach_mm {
            continue;
        }
        for (from, to) in fan.lines {
            let along = (to - from).normalize_or_zero();
            if along.dot(slice.plane.normal()).abs() <= IN_PLANE {
                let ends = [slice.screen(from), slice.screen(to)];
                painter.line_segment(ends, Stroke::new(1.0, fan.colour));
            }
        }
    }
}

pub fn in_scene(painter: &Painter, scene: &Scene) {
    for fan in fans(scene.state) {
        for (from, to) in fan.lines {
            if let (Some(from), Some(to)) = (scene.screen(from), scene.screen(to)) {
                painter.line_segment([from, to], Stroke::new(1.0, fan.colour));
            }
        }
    }
}
