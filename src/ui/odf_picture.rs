//! A picture of one fibre orientation distribution: the distance from the centre is the amplitude, the colour is that of
//! the direction.

use crate::data::half_sphere::HalfSphere;
use crate::data::odf_field::MAX_ODF_ORDER;
use crate::data::spherical_harmonics::{count, evaluate};
use crate::state::view::letter;
use egui::epaint::{Mesh, Vertex, WHITE_UV};
use egui::{Color32, Pos2, Rect, vec2};
use glam::{DMat3, DVec3};
use std::sync::OnceLock;

/// 1281 directions of a half sphere, 4° apart.
const SUBDIVISIONS: usize = 4;
/// An axis of the patient that is seen shorter than this share of its length has no letter.
const SHORTEST: f64 = 0.3;
/// Brightness of surfaces seen edge-on.
const AMBIENT: f64 = 0.45;

/// A letter at the margin of the picture.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SideLetter {
    /// The patient's side in this direction: L, R, A, P, S or I.
    pub side: char,
    /// Its place.
    pub at: Pos2,
    /// The direction points away from the viewer.
    pub is_behind: bool,
}

/// The letters of the patient's sides at the edges of a rectangle, where [`mesh`] draws their directions.
pub fn letters(rect: Rect, axes: DMat3) -> Vec<SideLetter> {
    let directions = DVec3::AXES.into_iter().flat_map(|axis| [axis, -axis]);
    let half = 0.5 * f64::from(rect.width().min(rect.height()));
    let letters = directions.filter_map(|direction| {
        let (right, up) = (direction.dot(axes.x_axis), direction.dot(axes.y_axis));
        let length = right.hypot(up);
        (length >= SHORTEST).then(|| SideLetter {
            side: letter(direction),
            at: rect.center() + vec2((half * right / length) as f32, (-half * up / length) as f32),
            is_behind: direction.dot(axes.z_axis) < -1e-9,
        })
    });
    letters.collect()
}

/// The harmonics of an order in the directions of the half sphere, one direction after the other.
fn harmonics(order: usize) -> &'static [f64] {
    // Kept, because the picture is drawn again in every frame.
    static ALL: [OnceLock<Vec<f64>>; MAX_ODF_ORDER / 2 + 1] =
        [const { OnceLock::new() }; MAX_ODF_ORDER / 2 + 1];
    ALL[order / 2].get_or_init(|| {
        let sphere = HalfSphere::subdivided(SUBDIVISIONS);
        let functions = sphere.vertices.iter().flat_map(|u| evaluate(order, *u));
        functions.collect()
    })
}

/// The surface; `axes`: screen right, screen up and towards the viewer, in world axes.
pub fn mesh(rect: Rect, order: usize, coefficients: &[f64], axes: DMat3) -> Mesh {
    let sphere = HalfSphere::subdivided(SUBDIVISIONS);
    let amplitude = |functions: &[f64]| -> f64 {
        let sum: f64 = functions.iter().zip(coefficients).map(|(f, c)| f * c).sum();
        sum.max(0.0)
    };
    let functions = harmonics(order).chunks_exact(count(order));
    let amplitudes: Vec<f64> = functions.map(amplitude).collect();
    let peak = amplitudes.iter().copied().fold(0.0, f64::max);
    if !(peak > 0.0 && peak.is_finite()) {
        return Mesh::default();
    }
    // Opposite directions have the same amplitude: corner 2 i is vertex i, corner 2 i + 1 its opposite.
    let corner = |number: u32| {
        let vertex = number as usize / 2;
        let sign = if number.is_multiple_of(2) { 1.0 } else { -1.0 };
        let direction = sphere.vertices[vertex] * sign;
        (direction, direction * (amplitudes[vertex] / peak))
    };
    let mut triangles: Vec<(f64, [u32; 3])> = sphere
        .triangles
        .iter()
        .map(|corners| {
            let depth = corners.map(|c| corner(c).1.dot(axes.z_axis)).iter().sum();
            (depth, *corners)
        })
        .collect();
    // The farthest first: the nearer ones hide them.
    triangles.sort_by(|a, b| a.0.total_cmp(&b.0));
    let radius = 0.5 * f64::from(rect.width().min(rect.height()));
    let place = |at: DVec3| -> Pos2 {
        let (right, up) = (at.dot(axes.x_axis) * radius, at.dot(axes.y_axis) * radius);
        rect.center() + vec2(right as f32, -up as f32)
    };
    let mut mesh = Mesh::default();
    for (_, corners) in triangles {
        let all = corners.map(corner);
        let normal = (all[1].1 - all[0].1).cross(all[2].1 - all[0].1);
        let facing = normal.normalize_or_zero().dot(axes.z_axis).abs();
        let light = AMBIENT + (1.0 - AMBIENT) * facing;
        let first = mesh.vertices.len() as u32;
        for (direction, at) in all {
            mesh.vertices.push(Vertex {
                pos: place(at),
                uv: WHITE_UV,
                color: colour(direction, light),
            });
        }
        mesh.add_triangle(first, first + 1, first + 2);
    }
    mesh
}

/// Red for left and right, green for front and back, blue for up and down.
fn colour(direction: DVec3, light: f64) -> Color32 {
    let [r, g, b] = (direction.abs() * light * 255.0)
        .to_array()
        .map(|v| v as u8);
    Color32::from_rgb(r, g, b)
}
