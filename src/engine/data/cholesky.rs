//! Systems of linear equations with a positive definite matrix.

/// The lower triangular factor L of a positive definite matrix L Lᵀ of `size` rows, row by row; above
/// the diagonal, entries of the matrix remain.
pub fn factor(mut a: Vec<f64>, size: usize) -> Vec<f64> {
    for column in 0..size {
        for row in column..size {
            let (r, c) = (row * size, column * size);
            let sum: f64 = (0..column).map(|k| a[r + k] * a[c + k]).sum();
            let rest = a[r + column] - sum;
            a[r + column] = match row == column {
                true => rest.sqrt(),
                false => rest / a[c + column],
            };
        }
    }
    a
}

/// Solves L Lᵀ x = b in place.
pub fn solve(factor: &[f64], size: usize, b: &mut [f64]) {
    for row in 0..size {
        let sum: f64 = (0..row).map(|k| factor[row * size + k] * b[k]).sum();
        b[row] = (b[row] - sum) / factor[row * size + row];
    }
    for row in (0..size).rev() {
        let sum: f64 = (row + 1..size).map(|k| factor[k * size + row] * b[k]).sum();
        b[row] = (b[row] - sum) / factor[row * size + row];
    }
}
