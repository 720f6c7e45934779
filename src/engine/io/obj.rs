//! Wavefront OBJ surfaces: text, points counted from 1.

use super::surface::one_line;
use crate::data::Surface;
use std::fmt::Write as _;

pub(super) fn bytes(surface: &Surface, description: &str) -> Vec<u8> {
    let mut text = format!("# world RAS+ mm\n# {}\n", one_line(description));
    for [x, y, z] in &surface.points {
        // Writing to memory cannot fail.
        let _ = writeln!(text, "v {x} {y} {z}");
    }
    for triangle in &surface.triangles {
        let [a, b, c] = triangle.map(|i| u64::from(i) + 1);
        let _ = writeln!(text, "f {a} {b} {c}");
    }
    text.into_bytes()
}
