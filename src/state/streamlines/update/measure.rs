//! Rulers and angles.

use crate::state::State;
use crate::state::core::phase::Phase;
use crate::state::edit::edit;
use crate::state::streamlines::Measurement;
use glam::DVec3;

/// Rounded to whole micrometres, like regions.
fn snapped(points: Vec<DVec3>) -> Vec<DVec3> {
    let whole = |mm: f64| (mm * 1e3).round() / 1e3;
    points.into_iter().map(|p| p.map(whole)).collect()
}

fn is_valid(points: &[DVec3]) -> bool {
    (2..=3).contains(&points.len()) && points.iter().all(|p| p.is_finite())
}

pub fn add(state: &mut State, measurement: Measurement) {
    if !is_valid(&measurement.points) {
        return;
    }
    let label = match measurement.points.len() {
        2 => "Measure distance",
        _ => "Measure angle",
    };
    edit(state, label, false, |d| {
        d.streamlines.measurements.push(Measurement {
            points: snapped(measurement.points),
            ..measurement
        });
    });
}

pub fn change(state: &mut State, index: usize, points: Vec<DVec3>, phase: Phase) {
    let measurement = state.document.streamlines.measurements.get(index);
    if measurement.is_none_or(|m| m.points.len() != points.len()) || !is_valid(&points) {
        return;
    }
    edit(state, "Move ruler", phase == Phase::Live, |d| {
        d.streamlines.measurements[index].points = snapped(points);
    });
}

pub fn erase(state: &mut State, index: usize) {
    if index < state.document.streamlines.measurements.len() {
        edit(state, "Erase measurement", false, |d| {
            d.streamlines.measurements.remove(index);
        });
    }
}

pub fn erase_all(state: &mut State) {
    if !state.document.streamlines.measurements.is_empty() {
        edit(state, "Erase measurements", false, |d| {
            d.streamlines.measurements.clear();
        });
    }
}
