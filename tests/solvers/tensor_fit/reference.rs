//! The tensor fit in plain code: double precision, one voxel, natural logarithm, Gaussian elimination with row pivots.

use arcuate::data::Gradients;
use arcuate::solvers::tensor_fit::Method;

pub struct Reference {
    /// Model rows in units of 1000 s/mm²: unknowns xx xy xz yy yz zz (1e-3 mm²/s) and ln S0.
    rows: Vec<[f64; 7]>,
    volumes: Vec<usize>,
}

impl Reference {
    pub fn new(gradients: &Gradients, volumes: &[usize]) -> Self {
        let row = |&v: &usize| {
            let (b, g) = (gradients.b_s_per_mm2[v], gradients.directions[v]);
            let b = if b > 50.0 { b / 1000.0 } else { 0.0 };
            [
                -b * g.x * g.x,
                -2.0 * b * g.x * g.y,
                -2.0 * b * g.x * g.z,
                -b * g.y * g.y,
                -2.0 * b * g.y * g.z,
                -b * g.z * g.z,
                1.0,
            ]
        };
        Self {
            rows: volumes.iter().map(row).collect(),
            volumes: volumes.to_vec(),
        }
    }

    /// Tensor in mm²/s and S0.
    pub fn fit(&self, samples: &[f64], method: Method) -> ([f64; 6], f64) {
        let y: Vec<f64> = self.volumes.iter().map(|&v| samples[v].ln()).collect();
        let solves = match method {
            Method::Ols => 0,
            Method::Wls => 1,
            Method::Iwls { iterations } => 1 + iterations,
        };
        let mut x = self.solve(&vec![1.0; y.len()], &y);
        for _ in 0..solves {
            let predicted = self.rows.iter().map(|row| dot(row, &x));
            let weights: Vec<f64> = predicted.map(|p| (2.0 * p).exp()).collect();
            x = self.solve(&weights, &y);
        }
        let [d @ .., ln_s0] = x;
        (d.map(|v| v / 1000.0), ln_s0.exp())
    }

    fn solve(&self, weights: &[f64], y: &[f64]) -> [f64; 7] {
        let mut system = [[0.0; 8]; 7];
        for ((row, w), y) in self.rows.iter().zip(weights).zip(y) {
            for i in 0..7 {
                for j in 0..7 {
                    system[i][j] += w * row[i] * row[j];
                }
                system[i][7] += w * row[i] * y;
            }
        }
        for column in 0..7 {
            let largest = (column..7)
                .max_by(|&a, &b| f64::total_cmp(&system[a][column].abs(), &system[b][column].abs()))
                .unwrap();
            system.swap(column, largest);
            let pivot = system[column];
            for row in (0..7).filter(|r| *r != column) {
                let factor = system[row][column] / pivot[column];
                for (value, p) in system[row].iter_mut().zip(pivot) {
                    *value -= factor * p;
                }
            }
        }
        std::array::from_fn(|i| system[i][7] / system[i][i])
    }
}

fn dot(a: &[f64; 7], b: &[f64; 7]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
