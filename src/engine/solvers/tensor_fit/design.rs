//! The volumes used in a fit, and its linear model.

use super::error::InputError;
use crate::data::Gradients;
use crate::data::gradients::Weighting;
use glam::DVec3;

/// Unknowns: -Dxx -2Dxy -2Dxz -Dyy -2Dyz -Dzz (times the largest b) and ln S0.
pub(super) const UNKNOWNS: usize = 7;

/// Distinct products of two columns of the model: 15 of degree 4 in the direction, 6 of degree 2 and the constant,
/// whereas the symmetric normal matrix has 28 entries (xx·yy equals xy·xy).
pub(super) const PRODUCTS: usize = 22;

/// Powers of x, y and z in each column of the model.
const POWERS: [[usize; 3]; UNKNOWNS] = [
    [2, 0, 0],
    [1, 1, 0],
    [1, 0, 1],
    [0, 2, 0],
    [0, 1, 1],
    [0, 0, 2],
    [0, 0, 0],
];

/// How often each tensor component occurs: off-diagonal ones appear twice in gᵀDg.
pub(super) const MULTIPLICITY: [f64; 6] = [1.0, 2.0, 2.0, 1.0, 2.0, 1.0];

/// An unknown counts as determined if more than this share of its squared column lies outside the span of the
/// previous columns. Below it, noise in the unknown is 30 times that of a good design: S0 estimated from a spread of
/// 3 % in the b-values of one shell.
pub(super) const DETERMINED: f64 = 1e-3;

/// If more than this of an unknown's column is independent, it suffices however long the column is: it is the share
/// for 30 volumes. The variance of an estimate is that of the noise divided by this remainder, so adding volumes
/// cannot make a scan unusable.
pub(super) const SUFFICIENT_REMAINDER: f64 = 30.0 * DETERMINED;

/// The product required for entry `(row, column)` of the normal matrix.
pub(super) const PRODUCT_OF: [[usize; UNKNOWNS]; UNKNOWNS] = product_table().0;
const PRODUCT_POWERS: [[usize; 3]; PRODUCTS] = product_table().1;

const fn product_table() -> ([[usize; UNKNOWNS]; UNKNOWNS], [[usize; 3]; PRODUCTS]) {
    let mut product_of = [[0; UNKNOWNS]; UNKNOWNS];
    let mut powers = [[0; 3]; PRODUCTS];
    let (mut count, mut i) = (0, 0);
    while i < UNKNOWNS {
        let mut j = 0;
        while j < UNKNOWNS {
            let (a, b) = (POWERS[i], POWERS[j]);
            let sum = [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
            let mut k = 0;
            while k < count
                && !(powers[k][0] == sum[0] && powers[k][1] == sum[1] && powers[k][2] == sum[2])
            {
                k += 1;
            }
            powers[k] = sum;
            product_of[i][j] = k;
            if k == count {
                count += 1;
            }
            j += 1;
        }
        i += 1;
    }
    assert!(count == PRODUCTS);
    (product_of, powers)
}

/// The contribution of one volume.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The model's columns: `ln S = model · unknowns`.
    pub model: [f32; UNKNOWNS],
    /// Distinct products of two columns, in the order of [`PRODUCT_OF`].
    pub products: [f32; PRODUCTS],
    /// Column of the pseudo-inverse: `unknowns = Σ inverse · ln S` is the ordinary least-squares fit.
    pub inverse: [f32; UNKNOWNS],
}

/// The linear model of a scan: b is divided by its largest value so that all columns are of order one and single
/// precision suffices.
#[derive(Clone, Debug)]
pub(super) struct Design {
    /// Index of each row's volume in the scan.
    pub volumes: Vec<usize>,
    pub rows: Vec<Row>,
    pub b_max_s_per_mm2: f64,
}

/// The volumes of a scan by their use.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    pub used: Vec<usize>,
    pub without_direction: Vec<usize>,
    pub outside_range: Vec<usize>,
}

impl Selection {
    pub fn new(gradients: &Gradients, (low, high): (f64, f64)) -> Self {
        let mut selection = Self {
            used: Vec::new(),
            without_direction: Vec::new(),
            outside_range: Vec::new(),
        };
        for volume in 0..gradients.len() {
            let b = gradients.b_s_per_mm2[volume];
            let list = match gradients.weighting(volume) {
                Weighting::B0 => &mut selection.used,
                Weighting::NoDirection => &mut selection.without_direction,
                Weighting::Diffusion if b >= low && b <= high => &mut selection.used,
                Weighting::Diffusion => &mut selection.outside_range,
            };
            list.push(volume);
        }
        selection
    }
}

impl Design {
    pub fn new(gradients: &Gradients, volumes: &[usize]) -> Result<Self, InputError> {
        let b_of = |v: usize| match gradients.weighting(v) {
            Weighting::Diffusion => gradients.b_s_per_mm2[v],
            _ => 0.0,
        };
        let b_max = volumes.iter().map(|&v| b_of(v)).fold(0.0, f64::max);
        let weighted: Vec<usize> = volumes.iter().copied().filter(|&v| b_of(v) > 0.0).collect();
        let independent = independent_directions(weighted.iter().map(|&v| gradients.directions[v]));
        let volumes_with =
            |kind| (0..gradients.len()).filter(move |v| gradients.weighting(*v) == kind);
        let without = volumes_with(Weighting::NoDirection).count();
        if volumes_with(Weighting::Diffusion).next().is_none() && without > 0 {
            return Err(InputError::NoDirections(without));
        }
        if weighted.is_empty() {
            let max_b = gradients.b_s_per_mm2.iter().copied().fold(0.0, f64::max);
            return Err(InputError::NotWeighted(max_b));
        }
        if independent < 6 {
            return Err(InputError::FewDirections {
                independent,
                weighted: weighted.len(),
            });
        }
        let columns: Vec<[f64; UNKNOWNS]> = volumes
            .iter()
            .map(|&v| model_row(gradients.directions[v], b_of(v) / b_max))
            .collect();
        let inverse = pseudo_inverse(&columns).map_err(|column| {
            if column < UNKNOWNS - 1 {
                return InputError::AlikeDirections(weighted.len());
            }
            InputError::OneWeighting {
                volumes: weighted.len(),
                b_s_per_mm2: b_max,
            }
        })?;
        let rows = volumes.iter().zip(&columns).zip(inverse);
        let rows = rows.map(|((&v, model), inverse)| {
            let (g, u) = (gradients.directions[v], b_of(v) / b_max);
            Row {
                model: model.map(|c| c as f32),
                products: PRODUCT_POWERS.map(|p| monomial(g, u, p) as f32),
                inverse: inverse.map(|c| c as f32),
            }
        });
        Ok(Self {
            volumes: volumes.to_vec(),
            rows: rows.collect(),
            b_max_s_per_mm2: b_max,
        })
    }
}

/// `u^(degree/2) x^p y^q z^r`: one factor u = b / b_max for each two factors of the direction.
fn monomial(g: DVec3, u: f64, powers: [usize; 3]) -> f64 {
    let degree: usize = powers.iter().sum();
    let power = |value: f64, n: usize| value.powi(n as i32);
    power(u, degree / 2) * power(g.x, powers[0]) * power(g.y, powers[1]) * power(g.z, powers[2])
}

fn model_row(g: DVec3, u: f64) -> [f64; UNKNOWNS] {
    POWERS.map(|p| monomial(g, u, p))
}

/// Dimension of the span of the directions' quadratic forms, at most 6 (Gram and Schmidt).
fn independent_directions(directions: impl Iterator<Item = DVec3>) -> usize {
    // A form whose part outside the span of the others is smaller than this counts as one of them, rotated by about a
    // degree (scanners repeat directions, motion correction rotates them a little).
    const NEW: f64 = 0.02;
    let mut basis: Vec<[f64; 6]> = Vec::new();
    for g in directions {
        // Off-diagonal terms times √2: the Frobenius norm of g gᵀ, 1 for a unit vector.
        let r = std::f64::consts::SQRT_2;
        let mut form = [
            g.x * g.x,
            r * g.x * g.y,
            r * g.x * g.z,
            g.y * g.y,
            r * g.y * g.z,
            g.z * g.z,
        ];
        for b in &basis {
            let along: f64 = b.iter().zip(&form).map(|(b, f)| b * f).sum();
            for (f, b) in form.iter_mut().zip(b) {
                *f -= along * b;
            }
        }
        let norm = form.iter().map(|f| f * f).sum::<f64>().sqrt();
        if norm > NEW && basis.len() < 6 {
            basis.push(form.map(|f| f / norm));
        }
    }
    basis.len()
}

/// (XᵀX)⁻¹Xᵀ by rows of X, through the Cholesky factor of XᵀX; otherwise the first column that depends on those
/// before it.
fn pseudo_inverse(rows: &[[f64; UNKNOWNS]]) -> Result<Vec<[f64; UNKNOWNS]>, usize> {
    let mut l = [[0.0; UNKNOWNS]; UNKNOWNS];
    for i in 0..UNKNOWNS {
        for j in 0..=i {
            let normal: f64 = rows.iter().map(|r| r[i] * r[j]).sum();
            let rest = normal - (0..j).map(|k| l[i][k] * l[j][k]).sum::<f64>();
            if i == j && rest <= (DETERMINED * normal).min(SUFFICIENT_REMAINDER) {
                return Err(i);
            }
            l[i][j] = if i == j { rest.sqrt() } else { rest / l[j][j] };
        }
    }
    let solve = |row: &[f64; UNKNOWNS]| {
        let mut x = *row;
        for i in 0..UNKNOWNS {
            let known: f64 = (0..i).map(|k| l[i][k] * x[k]).sum();
            x[i] = (x[i] - known) / l[i][i];
        }
        for i in (0..UNKNOWNS).rev() {
            let known: f64 = (i + 1..UNKNOWNS).map(|k| l[k][i] * x[k]).sum();
            x[i] = (x[i] - known) / l[i][i];
        }
        x
    };
    Ok(rows.iter().map(solve).collect())
}
