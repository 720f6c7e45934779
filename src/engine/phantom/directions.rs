//! Gradient directions distributed evenly over the half sphere.

use glam::DVec3;

/// `count` unit vectors that repel each other and their opposites least: a spiral (Saff and Kuijlaars 1997) relaxed
/// by electrostatic repulsion of the 2 × `count` charges (Jones, Horsfield and Simmons 1999). All lie in z ≥ 0; equal
/// counts give equal sets.
pub fn half_sphere(count: usize) -> Vec<DVec3> {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let mut points: Vec<DVec3> = (0..count)
        .map(|i| {
            let z = 1.0 - (i as f64 + 0.5) / count as f64;
            let radius = (1.0 - z * z).sqrt();
            let turn = golden * i as f64;
            DVec3::new(radius * turn.cos(), radius * turn.sin(), z)
        })
        .collect();
    // Steps in units of the mean spacing, with decreasing size so that the last ones converge.
    let spacing = (std::f64::consts::TAU / count.max(1) as f64).sqrt();
    const ROUNDS: usize = 240;
    for round in 0..ROUNDS {
        let step = 0.3 * spacing.powi(3) * (1.0 - round as f64 / ROUNDS as f64);
        let forces: Vec<DVec3> = points
            .iter()
            .enumerate()
            .map(|(i, &p)| {
                let others = points.iter().enumerate().filter(|&(j, _)| j != i);
                others
                    .map(|(_, &q)| {
                        let (to, opposite) = (p - q, p + q);
                        to / to.length().powi(3) + opposite / opposite.length().powi(3)
                    })
                    .sum()
            })
            .collect();
        for (p, force) in points.iter_mut().zip(forces) {
            let along = (force - force.dot(*p) * *p) * step;
            *p = (*p + along.clamp_length_max(0.3 * spacing)).normalize();
        }
    }
    for p in &mut points {
        if p.z < 0.0 {
            *p = -*p;
        }
    }
    points
}
