//! The position of the points of a TRK file: maps voxel millimetres, counted from the corner of the first voxel in
//! the axis order that the header names, to the world.

use crate::data::Grid;
use crate::data::rotation::rotation;
use glam::{DAffine3, DMat3, DVec3};

/// One of six directions: the world axis (0 right, 1 front, 2 up), and 1 along or −1 against it.
type Axis = (usize, f64);

/// The axes that a voxel order such as `LPS` names.
pub(super) fn axes_of_order(order: &[u8]) -> Option<[Axis; 3]> {
    let letters: &[u8; 3] = order.try_into().ok()?;
    let axis = |letter: u8| match letter.to_ascii_uppercase() {
        b'R' => Some((0, 1.0)),
        b'L' => Some((0, -1.0)),
        b'A' => Some((1, 1.0)),
        b'P' => Some((1, -1.0)),
        b'S' => Some((2, 1.0)),
        b'I' => Some((2, -1.0)),
        _ => None,
    };
    let axes = [axis(letters[0])?, axis(letters[1])?, axis(letters[2])?];
    let each_once = (0..3).all(|world| axes.iter().any(|a| a.0 == world));
    each_once.then_some(axes)
}

/// The world axes nearest to an affine's voxel axes: of its rotation, the largest entry of each column among the rows
/// that are still free, first axis first. This is the order of nibabel's `io_orientation`, the reference for all
/// programs that follow it.
pub(super) fn axes_of_affine(affine: DMat3) -> [Axis; 3] {
    let rotation = rotation(affine);
    let mut free = [true; 3];
    [0, 1, 2].map(|a| {
        let column = rotation.col(a);
        let mut best = None::<usize>;
        for world in (0..3).filter(|&w| free[w]) {
            if best.is_none_or(|b| column[world].abs() > column[b].abs()) {
                best = Some(world);
            }
        }
        let world = best.unwrap_or(a);
        free[world] = false;
        (world, if column[world] < 0.0 { -1.0 } else { 1.0 })
    })
}

/// Letters as stored in the header.
pub(super) fn order_of_axes(axes: [Axis; 3]) -> [u8; 3] {
    axes.map(|(world, sign)| [b"LR", b"PA", b"IS"][world][usize::from(sign > 0.0)])
}

/// The map from the file's coordinates to the world. Where the voxel order differs from the axes of
/// `world_from_voxel`, axes are exchanged and reversed around the middle of `dim` as in nibabel, whose interpretation
/// of the format is the common one.
pub(super) fn world_from_file(
    world_from_voxel: DAffine3,
    voxel_mm: DVec3,
    dim: [f64; 3],
    order: [Axis; 3],
) -> DAffine3 {
    let affine_axes = axes_of_affine(world_from_voxel.matrix3);
    // For each axis of the file: the affine's axis along the same line, and whether their directions agree.
    let turn = order.map(|(world, sign)| {
        let at = affine_axes.iter().position(|a| a.0 == world).unwrap_or(0);
        (at, sign * affine_axes[at].1)
    });
    let mut exchanged = DMat3::ZERO;
    let mut shift = DVec3::ZERO;
    for (row, (from, sign)) in turn.into_iter().enumerate() {
        exchanged.col_mut(from)[row] = sign;
        let middle = (dim[row] - 1.0) / 2.0;
        shift[row] = middle - sign * middle;
    }
    let voxel_from_file = DAffine3::from_mat3_translation(
        exchanged * DMat3::from_diagonal(voxel_mm.recip()),
        exchanged * DVec3::splat(-0.5) + shift,
    );
    world_from_voxel * voxel_from_file
}

/// The grid in the single precision of the header.
pub(super) fn rounded(grid: &Grid) -> (DAffine3, DVec3) {
    let single = |v: DVec3| v.as_vec3().as_dvec3();
    let m = grid.world_from_voxel;
    let affine = DAffine3::from_mat3_translation(
        DMat3::from_cols(
            single(m.matrix3.x_axis),
            single(m.matrix3.y_axis),
            single(m.matrix3.z_axis),
        ),
        single(m.translation),
    );
    (affine, single(grid.spacing()))
}
