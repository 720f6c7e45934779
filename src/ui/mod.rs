//! Widgets: what the user sees and touches. Only [`crate::state::Action`]s come out.

pub mod icons;
pub mod theme;
