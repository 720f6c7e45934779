//! Regions in which streamlines and pathways begin or end, or which they pass or avoid.

use crate::data::Role;

pub(in crate::state) mod actions;
pub mod brush;
pub(in crate::state) mod changes;
pub(in crate::state) mod document;
pub(in crate::state) mod draw;
pub mod jobs;
pub(in crate::state) mod make;
pub(in crate::state) mod methods;
pub mod recipe;
pub mod types;
pub(in crate::state) mod update;

/// Radius or half edge length of a new region, mm.
pub fn region_radius_mm(role: Role) -> f64 {
    match role {
        Role::Seed => 5.0,
        Role::Target | Role::Include | Role::Mask | Role::Region => 8.0,
        Role::Exclude | Role::Terminate | Role::Costly => 6.0,
    }
}
