//! Linear algebra with one voxel in each lane.

use super::tables::{BLOCK, MOMENT_MASK, Tables};
use crate::compute::vector::Vector;

/// First element of a row of a packed lower triangle.
#[inline(always)]
pub fn row_start(row: usize) -> usize {
    row * (row + 1) / 2
}

/// Values of the four classes at a direction to values at its images (x, y), (−x, y), (x, −y) and (−x, −y).
#[inline(always)]
fn combine<V: Vector>([a, b, c, d]: [V; 4]) -> [V; 4] {
    let (even, odd) = (a + d, b + c);
    let (other_even, other_odd) = (a - d, b - c);
    [
        even + odd,
        even - odd,
        other_even + other_odd,
        other_even - other_odd,
    ]
}

/// Values at the directions by image, from unknowns; then the amounts of the other tissues. `parts` has the size of
/// the directions.
#[inline(always)]
pub fn values<V: Vector>(
    tables: &Tables<V::Scalar>,
    unknowns: &[V],
    parts: &mut [V],
    out: &mut [V],
) {
    let r = tables.representatives;
    if tables.images() == 1 {
        let class = &tables.classes[0];
        class
            .to_values
            .apply(&unknowns[class.unknowns.clone()], out);
    } else {
        let stride = class_stride(r);
        for (class, part) in tables.classes.iter().zip(parts.chunks_exact_mut(stride)) {
            class
                .to_values
                .apply(&unknowns[class.unknowns.clone()], part);
        }
        for i in 0..r {
            let images = combine([0, 1, 2, 3].map(|k| parts[k * stride + i]));
            for (k, value) in images.into_iter().enumerate() {
                out[k * r + i] = value;
            }
        }
    }
    // After the directions, because tiles may write a little beyond them.
    let first = tables.images() * r;
    for (k, unknown) in unknowns[tables.fibre..tables.unknowns].iter().enumerate() {
        out[first + k] = *unknown;
    }
}

/// Room for one class: tiles write whole multiples of 4.
#[inline(always)]
pub fn class_stride(representatives: usize) -> usize {
    representatives.next_multiple_of(4)
}

/// The parts of values at the directions in each class, unscaled: Aᵀ and moments are sums over these.
#[inline(always)]
pub fn to_classes<V: Vector>(tables: &Tables<V::Scalar>, values: &[V], parts: &mut [V]) {
    let (r, stride) = (tables.representatives, class_stride(tables.representatives));
    if tables.images() == 1 {
        parts[..r].copy_from_slice(&values[..r]);
        return;
    }
    for i in 0..r {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| values[k * r + i]);
        // The transpose of `combine`.
        let (low, high) = (a + b, c + d);
        let (low_difference, high_difference) = (a - b, c - d);
        parts[i] = low + high;
        parts[stride + i] = low_difference + high_difference;
        parts[2 * stride + i] = low_difference - high_difference;
        parts[3 * stride + i] = low - high;
    }
}

/// Adds Aᵀ `values` to `out`. `sums` has room for the unknowns.
#[inline(always)]
pub fn add_transposed<V: Vector>(
    tables: &Tables<V::Scalar>,
    values: &[V],
    parts: &mut [V],
    sums: &mut [V],
    out: &mut [V],
) {
    to_classes(tables, values, parts);
    let stride = class_stride(tables.representatives);
    for (class, part) in tables.classes.iter().zip(parts.chunks_exact(stride)) {
        class.to_coefficients.apply(part, sums);
        for (sum, out) in sums.iter().zip(&mut out[class.unknowns.clone()]) {
            *out = *out + *sum;
        }
    }
    let first = tables.images() * tables.representatives;
    for (k, out) in out[tables.fibre..tables.unknowns].iter_mut().enumerate() {
        *out = *out + values[first + k];
    }
}

/// H + Aᵀ diag(d) A as a packed lower triangle, padded by rows of the unit matrix. Products of harmonics are
/// harmonics, so that AᵀDA depends on d only through its even moments up to twice the order.
#[inline(always)]
pub fn assemble<V: Vector>(
    tables: &Tables<V::Scalar>,
    d: &[V],
    parts: &mut [V],
    moments: &mut [V; MOMENT_MASK + 1],
    matrix: &mut [V],
) {
    to_classes(tables, d, parts);
    let stride = class_stride(tables.representatives);
    for (class, part) in tables.classes.iter().zip(parts.chunks_exact(stride)) {
        class
            .to_moments
            .apply(part, &mut moments[class.first_moment..]);
    }
    let (n, fibre, terms) = (tables.unknowns, tables.fibre, &tables.terms);
    let mut element = 0;
    for (row, normal) in tables.normal.chunks_exact(n).enumerate().take(fibre) {
        for column in 0..=row {
            let range = terms.starts[element] as usize..terms.starts[element + 1] as usize;
            let mut sum = V::splat(normal[column]);
            let values = &terms.values[range.clone()];
            for (moment, value) in terms.moments[range].iter().zip(values) {
                sum = V::splat(*value).mul_add(moments[usize::from(*moment) & MOMENT_MASK], sum);
            }
            matrix[element] = sum;
            element += 1;
        }
    }
    let first = tables.images() * tables.representatives;
    for row in fibre..n {
        for column in 0..=row {
            let normal = V::splat(tables.normal[row * n + column]);
            matrix[element] = if column == row {
                normal + d[first + row - fibre]
            } else {
                normal
            };
            element += 1;
        }
    }
    for row in n..tables.padded {
        for column in 0..=row {
            matrix[element] = if column == row {
                V::splat_f64(1.0)
            } else {
                V::zero()
            };
            element += 1;
        }
    }
}

/// Replaces a positive definite packed matrix of `size` rows by L of LLᵀ, with 1 / L_ii on the diagonal. Returns 1 in
/// lanes where all pivots are positive, else 0.
#[inline(always)]
pub fn factorise<V: Vector>(size: usize, matrix: &mut [V]) -> V {
    if V::MANY_REGISTERS {
        factorise_rows::<V, 4>(size, matrix)
    } else {
        factorise_rows::<V, 2>(size, matrix)
    }
}

/// Blocks of `R` rows and four columns stay in registers.
#[inline(always)]
fn factorise_rows<V: Vector, const R: usize>(size: usize, matrix: &mut [V]) -> V {
    let mut regular = V::splat_f64(1.0);
    for first in (0..size).step_by(BLOCK) {
        regular = factorise_diagonal(first, matrix, regular);
        let (above, below) = matrix.split_at_mut(row_start(first + BLOCK));
        // L of the diagonal block.
        let corner = |row: usize, column: usize| above[row_start(first + row) + first + column];
        let columns = [0, 1, 2, 3].map(|j| {
            let start = row_start(first + j);
            &above[start..start + first]
        });
        let offset = row_start(first + BLOCK);
        for top in (first + BLOCK..size).step_by(R) {
            let mut block = [[V::zero(); BLOCK]; R];
            for i in 0..R {
                let start = row_start(top + i) + first - offset;
                block[i].copy_from_slice(&below[start..start + BLOCK]);
            }
            let rows: [&[V]; R] = std::array::from_fn(|i| {
                let start = row_start(top + i) - offset;
                &below[start..start + first]
            });
            for k in 0..first {
                let b = [columns[0][k], columns[1][k], columns[2][k], columns[3][k]];
                for i in 0..R {
                    let a = rows[i][k];
                    for j in 0..BLOCK {
                        block[i][j] = a.neg_mul_add(b[j], block[i][j]);
                    }
                }
            }
            for i in 0..R {
                for j in 0..BLOCK {
                    let mut value = block[i][j];
                    for k in 0..j {
                        value = block[i][k].neg_mul_add(corner(j, k), value);
                    }
                    block[i][j] = value * corner(j, j);
                }
                let start = row_start(top + i) + first - offset;
                below[start..start + BLOCK].copy_from_slice(&block[i]);
            }
        }
    }
    regular
}

/// The block of four rows and columns on the diagonal.
#[inline(always)]
fn factorise_diagonal<V: Vector>(first: usize, matrix: &mut [V], mut regular: V) -> V {
    let one = V::splat_f64(1.0);
    for row in 0..BLOCK {
        for column in 0..=row {
            let (a, b) = (row_start(first + row), row_start(first + column));
            let length = first + column;
            let (left, right) = (&matrix[a..a + length], &matrix[b..b + length]);
            // Two sums hide half of the latency of the chain.
            let (mut even, mut odd) = (matrix[a + length], V::zero());
            let (left_pairs, left_rest) = left.as_chunks::<2>();
            let (right_pairs, right_rest) = right.as_chunks::<2>();
            for (l, r) in left_pairs.iter().zip(right_pairs) {
                even = l[0].neg_mul_add(r[0], even);
                odd = l[1].neg_mul_add(r[1], odd);
            }
            for (l, r) in left_rest.iter().zip(right_rest) {
                even = l.neg_mul_add(*r, even);
            }
            let value = even + odd;
            matrix[a + length] = if row == column {
                regular = value.select_above(V::zero(), regular, V::zero());
                one / value.sqrt()
            } else {
                value * matrix[row_start(first + column) + first + column]
            };
        }
    }
    regular
}

/// Solves LLᵀ x = x in place.
#[inline(always)]
pub fn solve<V: Vector>(size: usize, factor: &[V], x: &mut [V]) {
    for first in (0..size).step_by(BLOCK) {
        let rows = [0, 1, 2, 3].map(|i| {
            let start = row_start(first + i);
            &factor[start..start + first]
        });
        let (known, rest) = x.split_at_mut(first);
        let mut sums = [rest[0], rest[1], rest[2], rest[3]];
        for (k, value) in known.iter().enumerate() {
            for i in 0..BLOCK {
                sums[i] = rows[i][k].neg_mul_add(*value, sums[i]);
            }
        }
        for i in 0..BLOCK {
            let start = row_start(first + i) + first;
            let mut value = sums[i];
            for k in 0..i {
                value = factor[start + k].neg_mul_add(sums[k], value);
            }
            sums[i] = value * factor[start + i];
        }
        rest[..BLOCK].copy_from_slice(&sums);
    }
    for first in (0..size).step_by(BLOCK).rev() {
        let (before, rest) = x.split_at_mut(first);
        for i in (0..BLOCK).rev() {
            let mut value = rest[i];
            for k in i + 1..BLOCK {
                value = factor[row_start(first + k) + first + i].neg_mul_add(rest[k], value);
            }
            rest[i] = value * factor[row_start(first + i) + first + i];
        }
        let rows = [0, 1, 2, 3].map(|i| {
            let start = row_start(first + i);
            &factor[start..start + first]
        });
        for (k, value) in before.iter_mut().enumerate() {
            for i in 0..BLOCK {
                *value = rows[i][k].neg_mul_add(rest[i], *value);
            }
        }
    }
}
