//! Eigen-decomposition of symmetric 3 × 3 matrices by cyclic Jacobi rotations (Jacobi 1846; Golub and Van Loan 2013,
//! section 8.5). Unlike closed formulas it remains accurate where eigenvalues coincide: the error of the eigenvalues
//! is a few units in the last place of the largest, and the vectors stay orthonormal, whatever the matrix.
//!
//! # Example
//!
//! The largest eigenvalue of a tensor and its direction:
//!
//! ```
//! use arcuate_engine::solvers::tensor_fit::eigen_symmetric;
//!
//! let (values, vectors) = eigen_symmetric([0.3e-3, 0.0, 0.0, 1.7e-3, 0.0, 0.4e-3]);
//! assert!((values[0] - 1.7e-3).abs() < 1e-15);
//! assert!(vectors[0].y.abs() > 1.0 - 1e-12);
//! ```

use crate::compute::Lanes;
use glam::DVec3;

/// The three rotations of a sweep: the pair `(p, q)` and the third axis.
const PAIRS: [(usize, usize, usize); 3] = [(0, 1, 2), (0, 2, 1), (1, 2, 0)];

/// Eigenvalues, largest first, and their unit eigenvectors (sign arbitrary) of the symmetric matrix
/// xx xy xz yy yz zz. Finite input of any size.
pub fn eigen_symmetric(d: [f64; 6]) -> ([f64; 3], [DVec3; 3]) {
    // Quadratic convergence: five or six sweeps reach the last place; the limit only guards the loop.
    const MAX_SWEEPS: usize = 16;
    let scale = d.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    if scale == 0.0 {
        return ([0.0; 3], DVec3::AXES);
    }
    let [xx, xy, xz, yy, yz, zz] = d.map(|v| v / scale);
    let mut a = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
    let mut v = DVec3::AXES;
    for _ in 0..MAX_SWEEPS {
        if a[0][1].abs().max(a[0][2].abs()).max(a[1][2].abs()) < f64::EPSILON * 1e-3 {
            break;
        }
        for (p, q, r) in PAIRS {
            if a[p][q] == 0.0 {
                continue;
            }
            let half = 0.5 * (a[q][q] - a[p][p]);
            let t = a[p][q] / (half.abs() + half.hypot(a[p][q])) * half.signum();
            let c = 1.0 / (1.0 + t * t).sqrt();
            let s = t * c;
            a[p][p] -= t * a[p][q];
            a[q][q] += t * a[p][q];
            (a[p][q], a[q][p]) = (0.0, 0.0);
            let (rp, rq) = (a[r][p], a[r][q]);
            (a[r][p], a[r][q]) = (c * rp - s * rq, s * rp + c * rq);
            (a[p][r], a[q][r]) = (a[r][p], a[r][q]);
            (v[p], v[q]) = (c * v[p] - s * v[q], s * v[p] + c * v[q]);
        }
    }
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| a[j][j].total_cmp(&a[i][i]));
    (order.map(|i| a[i][i] * scale), order.map(|i| v[i]))
}

/// Largest eigenvalue and its unit eigenvector (sign arbitrary) of the matrix xx xy xz yy yz zz in every lane, in
/// single precision. Entries of order one are best: entries below 1e-15 of that count as 0.
#[inline(always)]
pub fn principal<const N: usize, const FMA: bool>(d: [Lanes<N>; 6]) -> (Lanes<N>, [Lanes<N>; 3]) {
    let (diagonal, v) = diagonalised::<N, FMA>(d);
    let mut largest = diagonal[0];
    let mut vector = v[0];
    for column in 1..3 {
        let larger = diagonal[column].zip(largest, |a, b| f32::from(u8::from(a > b)));
        largest = larger.select(diagonal[column], largest);
        for axis in 0..3 {
            vector[axis] = larger.select(v[column][axis], vector[axis]);
        }
    }
    (largest, vector)
}

/// Eigenvalues, largest first, of the matrix xx xy xz yy yz zz in every lane, as accurate as those of [`principal`].
#[inline(always)]
pub fn eigenvalues<const N: usize, const FMA: bool>(d: [Lanes<N>; 6]) -> [Lanes<N>; 3] {
    let ([a, b, c], _) = diagonalised::<N, FMA>(d);
    let (low, high) = (a.min(b), a.max(b));
    [high.max(c), low.max(high.min(c)), low.min(c)]
}

/// Eigenvalues in any order, and their unit eigenvectors.
#[inline(always)]
fn diagonalised<const N: usize, const FMA: bool>(
    d: [Lanes<N>; 6],
) -> ([Lanes<N>; 3], [[Lanes<N>; 3]; 3]) {
    // Four sweeps leave less than the last place of single precision.
    const SWEEPS: usize = 4;
    let one = Lanes::splat(1.0);
    let [xx, xy, xz, yy, yz, zz] = d;
    let mut diagonal = [xx, yy, zz];
    // Off-diagonal entries, indexed by the axis that they do not involve: yz xz xy.
    let mut off = [yz, xz, xy];
    let mut v = [[Lanes::ZERO; 3]; 3];
    for (axis, column) in v.iter_mut().enumerate() {
        column[axis] = one;
    }
    for _ in 0..SWEEPS {
        for (p, q, r) in PAIRS {
            let apq = off[r];
            let half = (diagonal[q] - diagonal[p]) * Lanes::splat(0.5);
            let root = half.mul_add::<FMA>(half, apq * apq).sqrt();
            // The smallest normal number avoids 0 / 0 where no rotation is needed.
            let size = half.abs() + root + Lanes::splat(f32::MIN_POSITIVE);
            let t = (apq / size).zip(half, |t, h| t * 1f32.copysign(h));
            let c = one / t.mul_add::<FMA>(t, one).sqrt();
            let s = t * c;
            diagonal[p] = t.neg_mul_add::<FMA>(apq, diagonal[p]);
            diagonal[q] = t.mul_add::<FMA>(apq, diagonal[q]);
            // Entry (r, p) is off[q] and (r, q) is off[p].
            let (rp, rq) = (off[q], off[p]);
            off[r] = Lanes::ZERO;
            off[q] = s.neg_mul_add::<FMA>(rq, c * rp);
            off[p] = s.mul_add::<FMA>(rp, c * rq);
            for axis in 0..3 {
                let (vp, vq) = (v[p][axis], v[q][axis]);
                v[p][axis] = s.neg_mul_add::<FMA>(vq, c * vp);
                v[q][axis] = s.mul_add::<FMA>(vp, c * vq);
            }
        }
    }
    (diagonal, v)
}
