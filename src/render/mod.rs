//! Pixels: everything that touches wgpu.
//!
//! Input is a [`draw_list`]: plain values that say what a pane shows. The same code serves the
//! window (through one paint callback), the tests and the command line.

pub mod colour_map;
pub mod draw_list;
