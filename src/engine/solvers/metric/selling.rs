//! Selling's decomposition of a matrix into steps between voxels (Selling 1874; Mirebeau 2018).

use glam::{DMat3, DVec3};

/// Weights ρ ≥ 0 and steps e with W = Σ ρ e eᵀ, for a positive definite matrix: an obtuse superbase b₀ … b₃ has
/// ⟨bᵢ, W bⱼ⟩ ≤ 0 for all pairs, and gives ρ = −⟨bᵢ, W bⱼ⟩, e = bₖ × bₗ with the other two.
pub fn decompose(w: &DMat3) -> [(f64, [i32; 3]); 6] {
    const PAIRS: [[usize; 4]; 6] = [
        [0, 1, 2, 3],
        [0, 2, 1, 3],
        [0, 3, 1, 2],
        [1, 2, 0, 3],
        [1, 3, 0, 2],
        [2, 3, 0, 1],
    ];
    // Each reduction lowers Σ ⟨b, W b⟩; an anisotropy of 100 takes a few dozen.
    const MAX_STEPS: usize = 1000;
    let scale = w.x_axis.x + w.y_axis.y + w.z_axis.z;
    let mut base = [[-1, -1, -1], [1, 0, 0], [0, 1, 0], [0, 0, 1]];
    let product = |a: [i32; 3], b: [i32; 3]| real(a).dot(*w * real(b));
    let mut quiet = 0;
    for step in 0..MAX_STEPS {
        let [i, j, k, l] = PAIRS[step % 6];
        if product(base[i], base[j]) > 1e-12 * scale {
            let turned = base[i];
            base[i] = turned.map(|c| -c);
            base[k] = [0, 1, 2].map(|a| base[k][a] + turned[a]);
            base[l] = [0, 1, 2].map(|a| base[l][a] + turned[a]);
            quiet = 0;
        } else {
            quiet += 1;
            if quiet == 6 {
                break;
            }
        }
    }
    PAIRS.map(|[i, j, k, l]| {
        let (a, b) = (base[k], base[l]);
        let e = [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ];
        ((-product(base[i], base[j])).max(0.0), e)
    })
}

fn real(v: [i32; 3]) -> DVec3 {
    DVec3::from_array(v.map(f64::from))
}
