//! Jobs of streamlines and rays.

pub mod bootstrap;
