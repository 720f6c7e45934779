//! Custom widgets, painted to match the design, each with an accessible name, a role, and keys.

pub mod anchor;
pub mod band;
pub mod button;
pub mod charts;
pub mod cut;
pub mod drag;
pub mod end_mark;
pub mod field;
pub mod focus;
pub mod histogram;
pub mod menu;
pub mod note;
pub mod notice;
pub mod paint;
mod rail;
pub mod region;
pub mod rows;
mod scale;
pub mod section;
pub mod shapes;
pub mod slider;
pub mod transfer;
pub mod typed;
