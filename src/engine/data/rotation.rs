//! The rotation contained in an affine.

use glam::DMat3;

/// The orthogonal matrix nearest to the affine's axes normalised to unit length: the polar factor, by Newton's
/// iteration (Higham 1986, eq. 3.2), which converges quadratically. The axes are normalised first so that a shear is
/// removed in the same way whatever the voxel sizes. Its determinant has the affine's sign: a mirrored image stays
/// mirrored.
pub fn rotation(affine: DMat3) -> DMat3 {
    let unit = |axis: glam::DVec3| axis.normalize_or_zero();
    let mut q = DMat3::from_cols(
        unit(affine.x_axis),
        unit(affine.y_axis),
        unit(affine.z_axis),
    );
    // A grid's axes are independent, so this converges; ten steps suffice unless the grid is nearly flat, where each
    // step initially only halves the error.
    for _ in 0..100 {
        let next = (q + q.inverse().transpose()) * 0.5;
        let done = next.abs_diff_eq(q, 1e-15);
        q = next;
        if done {
            break;
        }
    }
    q
}
