//! PLY surfaces ("The PLY Polygon File Format", Turk 1994), binary little-endian.

use super::surface::one_line;
use crate::data::Surface;

pub(super) fn bytes(surface: &Surface, description: &str) -> Vec<u8> {
    let mut bytes = format!(
        "ply\nformat binary_little_endian 1.0\ncomment world RAS+ mm\ncomment {}\n\
         element vertex {}\nproperty float x\nproperty float y\nproperty float z\n\
         element face {}\nproperty list uchar int vertex_indices\nend_header\n",
        one_line(description),
        surface.points.len(),
        surface.triangles.len()
    )
    .into_bytes();
    let numbers = surface.points.iter().flatten();
    bytes.extend(numbers.flat_map(|v| v.to_le_bytes()));
    for triangle in &surface.triangles {
        bytes.push(3);
        bytes.extend(triangle.iter().flat_map(|i| i.to_le_bytes()));
    }
    bytes
}
