//! Directions of a half sphere, and their neighbours: subdivided icosahedra.

use glam::DVec3;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// One vertex of each pair of opposite vertices of a subdivided icosahedron.
pub struct HalfSphere {
    pub vertices: Vec<DVec3>,
    /// The five or six vertices next to each, or their opposites; repeated to six.
    pub neighbours: Vec<[usize; 6]>,
    /// Solid angle of each vertex and its opposite: a third of the spherical triangles around.
    pub weights: Vec<f64>,
}

/// 321 directions, 8° apart.
pub fn half() -> &'static HalfSphere {
    static HALF: OnceLock<HalfSphere> = OnceLock::new();
    HALF.get_or_init(|| HalfSphere::new(3))
}

/// 1281 directions, 4° apart.
pub fn fine() -> &'static HalfSphere {
    static FINE: OnceLock<HalfSphere> = OnceLock::new();
    FINE.get_or_init(|| HalfSphere::new(4))
}

impl HalfSphere {
    fn new(subdivisions: usize) -> Self {
        let (mut vertices, mut triangles) = icosahedron();
        for _ in 0..subdivisions {
            triangles = subdivide(&mut vertices, &triangles);
        }
        // The opposite of each vertex, by its rounded coordinates.
        let key = |v: DVec3| (v * 1e6).round().as_i64vec3().to_array();
        let index: BTreeMap<[i64; 3], usize> = vertices
            .iter()
            .enumerate()
            .map(|(i, v)| (key(*v), i))
            .collect();
        let opposite = |i: usize| index.get(&key(-vertices[i])).copied().unwrap_or(i);
        let kept: Vec<usize> = (0..vertices.len()).filter(|&i| i < opposite(i)).collect();
        let mut row = vec![0; vertices.len()];
        for (k, &i) in kept.iter().enumerate() {
            row[i] = k;
            row[opposite(i)] = k;
        }
        let mut around = vec![Vec::new(); kept.len()];
        let mut weights = vec![0.0; kept.len()];
        for triangle in &triangles {
            let [a, b, c] = triangle.map(|i| vertices[i]);
            let area = solid_angle(a, b, c) / 3.0;
            for k in 0..3 {
                let (i, next) = (row[triangle[k]], row[triangle[(k + 1) % 3]]);
                weights[i] += area;
                around[i].push(next);
                around[next].push(i);
            }
        }
        let neighbours = around.into_iter().map(|mut all: Vec<usize>| {
            all.sort_unstable();
            all.dedup();
            std::array::from_fn(|k| all[k.min(all.len() - 1)])
        });
        Self {
            neighbours: neighbours.collect(),
            vertices: kept.iter().map(|&i| vertices[i]).collect(),
            weights,
        }
    }
}

/// Solid angle of a spherical triangle (van Oosterom and Strackee 1983).
fn solid_angle(a: DVec3, b: DVec3, c: DVec3) -> f64 {
    let denominator = 1.0 + a.dot(b) + b.dot(c) + c.dot(a);
    2.0 * a.dot(b.cross(c)).abs().atan2(denominator)
}

/// Vertices and triangles.
fn icosahedron() -> (Vec<DVec3>, Vec<[usize; 3]>) {
    let golden = 0.5 * (1.0 + 5f64.sqrt());
    let mut vertices = Vec::new();
    for (one, long) in [
        (1.0, golden),
        (1.0, -golden),
        (-1.0, golden),
        (-1.0, -golden),
    ] {
        vertices.push(DVec3::new(0.0, one, long).normalize());
        vertices.push(DVec3::new(one, long, 0.0).normalize());
        vertices.push(DVec3::new(long, 0.0, one).normalize());
    }
    let edge = 2.0 / (1.0 + golden * golden).sqrt();
    let adjacent = |i: usize, j: usize| vertices[i].distance(vertices[j]) < 1.01 * edge;
    let mut triangles = Vec::new();
    for i in 0..12 {
        for j in i + 1..12 {
            for k in j + 1..12 {
                if adjacent(i, j) && adjacent(j, k) && adjacent(i, k) {
                    triangles.push([i, j, k]);
                }
            }
        }
    }
    (vertices, triangles)
}

/// Four triangles for each.
fn subdivide(vertices: &mut Vec<DVec3>, triangles: &[[usize; 3]]) -> Vec<[usize; 3]> {
    let mut middles = BTreeMap::new();
    let mut out = Vec::with_capacity(4 * triangles.len());
    for &[a, b, c] in triangles {
        let [ab, bc, ca] = [(a, b), (b, c), (c, a)].map(|(i, j)| {
            *middles.entry((i.min(j), i.max(j))).or_insert_with(|| {
                vertices.push((vertices[i] + vertices[j]).normalize());
                vertices.len() - 1
            })
        });
        out.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
    }
    out
}
