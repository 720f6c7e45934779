//! Unsigned axes coded in 16 bits.
//!
//! The half sphere z ≥ 0 unfolds to a square: v / |v|₁ = (x, y, ·) lies in a diamond, which (x + y, x − y) turns
//! upright (Cigolla et al. 2014, J Comput Graph Tech 3:1). Its 256 × 256 cells have centres that lie 0.24° on
//! average, and at most 0.6°, from the axes they represent.

use glam::{DVec3, Vec3};

/// Cells along a side of the square of codes.
pub const SIDE: u16 = 256;

/// The cell of an axis among `side` × `side`; the axis may have either sign and any length except 0.
pub fn cell(axis: DVec3, side: u16) -> u16 {
    let v = if axis.z < 0.0 { -axis } else { axis };
    let p = v / (v.x.abs() + v.y.abs() + v.z.abs());
    let n = f64::from(side);
    let at = |t: f64| (((t + 1.0) * 0.5 * n) as u16).min(side - 1);
    // 256² − 1 fits 16 bits.
    (u32::from(at(p.x + p.y)) + u32::from(side) * u32::from(at(p.x - p.y))) as u16
}

/// The centre of a cell, a unit vector.
pub fn middle(cell: u16, side: u16) -> DVec3 {
    let n = f64::from(side);
    let at = |i: u16| (2.0 * f64::from(i) + 1.0) / n - 1.0;
    let (u, w) = (at(cell % side), at(cell / side));
    let (x, y) = (0.5 * (u + w), 0.5 * (u - w));
    DVec3::new(x, y, 1.0 - x.abs() - y.abs()).normalize()
}

/// The code of an axis.
pub fn code(axis: DVec3) -> u16 {
    cell(axis, SIDE)
}

/// The axis of a code.
pub fn axis(code: u16) -> Vec3 {
    middle(code, SIDE).as_vec3()
}
