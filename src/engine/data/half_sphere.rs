//! Directions of a half sphere, and their neighbours: subdivided icosahedra.
//!
//! ```
//! use arcuate_engine::data::half_sphere::HalfSphere;
//! // 321 directions, 8° apart; an antipodal function needs no others.
//! assert_eq!(HalfSphere::subdivided(3).vertices.len(), 321);
//! ```

use glam::DVec3;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// One vertex of each pair of opposite vertices of a subdivided icosahedron. The vertices of fewer subdivisions come
/// first, in their order.
pub struct HalfSphere {
    /// Unit vectors, one of each opposite pair.
    pub vertices: Vec<DVec3>,
    /// The five or six vertices next to each, or their opposites; repeated to six.
    pub neighbours: Vec<[usize; 6]>,
    /// Solid angle of each vertex and its opposite: a third of the spherical triangles around.
    pub weights: Vec<f64>,
    /// The triangles of the whole sphere; see [`corner`].
    pub triangles: Vec<[u32; 3]>,
    /// The corners next to each vertex, in order around it; the first is repeated where there are five.
    pub rings: Vec<[u32; 6]>,
}

/// The most subdivisions.
pub const MAX_SUBDIVISIONS: usize = 4;

/// The number of a corner of the whole sphere: twice that of its vertex, plus 1 for the opposite of the vertex.
pub fn corner(vertex: usize, is_opposite: bool) -> u32 {
    2 * vertex as u32 + u32::from(is_opposite)
}

impl HalfSphere {
    /// 21, 81, 321 or 1281 directions, 32° to 4° apart, after 1 to [`MAX_SUBDIVISIONS`] subdivisions.
    pub fn subdivided(subdivisions: usize) -> &'static Self {
        static ALL: [OnceLock<HalfSphere>; MAX_SUBDIVISIONS] =
            [const { OnceLock::new() }; MAX_SUBDIVISIONS];
        let subdivisions = subdivisions.clamp(1, MAX_SUBDIVISIONS);
        ALL[subdivisions - 1].get_or_init(|| Self::new(subdivisions))
    }

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
        let mut around = vec![Vec::new(); vertices.len()];
        let mut weights = vec![0.0; kept.len()];
        for triangle in &triangles {
            let [a, b, c] = triangle.map(|i| vertices[i]);
            let area = solid_angle(a, b, c) / 3.0;
            for k in 0..3 {
                weights[row[triangle[k]]] += area;
                around[triangle[k]].extend([triangle[(k + 1) % 3], triangle[(k + 2) % 3]]);
            }
        }
        let on_sphere = |i: usize| corner(row[i], i > opposite(i));
        let rings = kept.iter().map(|&i| {
            let ring = in_order(i, &around[i], &vertices);
            std::array::from_fn(|k| on_sphere(ring[k % ring.len()]))
        });
        let neighbours = kept.iter().map(|&i| {
            let mut all: Vec<usize> = around[i].iter().map(|&j| row[j]).collect();
            all.sort_unstable();
            all.dedup();
            std::array::from_fn(|k| all[k.min(all.len() - 1)])
        });
        Self {
            neighbours: neighbours.collect(),
            vertices: kept.iter().map(|&i| vertices[i]).collect(),
            weights,
            triangles: triangles.iter().map(|t| t.map(on_sphere)).collect(),
            rings: rings.collect(),
        }
    }
}

/// The vertices around one, each once, counterclockwise as seen from outside.
fn in_order(centre: usize, around: &[usize], vertices: &[DVec3]) -> Vec<usize> {
    let normal = vertices[centre];
    let across = normal.any_orthonormal_vector();
    let along = normal.cross(across);
    let angle = |i: usize| vertices[i].dot(along).atan2(vertices[i].dot(across));
    let mut ring = around.to_vec();
    ring.sort_unstable();
    ring.dedup();
    ring.sort_by(|&i, &j| angle(i).total_cmp(&angle(j)));
    ring
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
    for (unit, long) in [
        (1.0, golden),
        (1.0, -golden),
        (-1.0, golden),
        (-1.0, -golden),
    ] {
        vertices.push(DVec3::new(0.0, unit, long).normalize());
        vertices.push(DVec3::new(unit, long, 0.0).normalize());
        vertices.push(DVec3::new(long, 0.0, unit).normalize());
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
