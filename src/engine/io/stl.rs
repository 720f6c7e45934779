//! STL surfaces, binary: 80 letters, the number of triangles, and the normal and corners of each.

use super::surface::one_line;
use crate::data::Surface;
use glam::Vec3;

const TITLE_BYTES: usize = 80;

pub(super) fn bytes(surface: &Surface, description: &str) -> Vec<u8> {
    // A file that begins with "solid" would be taken for text.
    let title = format!("world RAS+ mm; {}", one_line(description));
    let mut bytes: Vec<u8> = title.bytes().filter(u8::is_ascii).collect();
    bytes.resize(TITLE_BYTES, 0);
    bytes.extend((surface.triangles.len() as u32).to_le_bytes());
    for triangle in &surface.triangles {
        let [a, b, c] = triangle.map(|i| Vec3::from(surface.points[i as usize]));
        let normal = (b - a).cross(c - a).normalize_or_zero();
        for v in [normal, a, b, c].iter().flat_map(Vec3::to_array) {
            bytes.extend(v.to_le_bytes());
        }
        bytes.extend([0; 2]);
    }
    bytes
}
