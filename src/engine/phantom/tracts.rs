//! The bundles of the synthetic head: courses after the textbooks (Catani and Thiebaut de Schotten 2008, "A diffusion
//! tensor imaging tractography atlas"), defined manually in the space of an adult head with the anterior commissure
//! near the origin.

use super::bundles::{Bundle, Knot, NearBundle};
use glam::DVec3;

/// Centre x y z (mm, right side) and half widths along and perpendicular to the reference vector.
pub(super) type Row = [f64; 5];

/// A bundle of the right side; that of the left side is its mirror image.
pub(super) struct Paired {
    pub name: &'static str,
    pub weight: f64,
    pub across: [f64; 3],
    pub rows: &'static [Row],
}

/// A bundle through the midline, defined from there to its right end.
pub(super) struct Commissural {
    pub name: &'static str,
    pub weight: f64,
    pub across: [f64; 3],
    pub rows: &'static [Row],
}

pub(super) const PAIRED: &[Paired] = &[
    Paired {
        name: "Corticospinal tract",
        weight: 1.0,
        across: [0.75, 0.35, -0.56],
        rows: &[
            [4.0, -43.5, -72.0, 3.2, 3.2],
            [4.3, -38.0, -60.0, 3.4, 3.4],
            [5.6, -32.0, -47.0, 3.5, 3.5],
            [7.2, -27.0, -35.0, 3.6, 3.6],
            [10.5, -21.5, -22.0, 3.8, 3.8],
            [15.0, -17.5, -11.0, 4.4, 4.2],
            [20.0, -15.5, 0.0, 4.6, 4.2],
            [23.5, -15.5, 10.0, 4.8, 4.2],
            [26.0, -17.0, 21.0, 4.8, 4.2],
            [28.3, -18.5, 33.0, 4.8, 4.2],
            [32.0, -18.5, 46.0, 6.0, 3.9],
            [36.0, -16.5, 57.0, 7.5, 3.5],
            [39.0, -14.5, 64.5, 8.5, 3.3],
        ],
    },
    Paired {
        name: "Arcuate fasciculus",
        weight: 0.8,
        across: [1.0, 0.0, 0.2],
        rows: &[
            [47.0, 17.0, 15.0, 4.0, 5.3],
            [43.0, 11.0, 21.0, 4.0, 5.0],
            [40.0, 2.0, 27.0, 4.2, 4.8],
            [38.8, -12.0, 30.5, 4.4, 4.8],
            [38.8, -28.0, 30.0, 4.4, 5.0],
            [40.5, -41.0, 24.5, 4.4, 5.3],
            [43.0, -49.0, 13.5, 4.2, 5.5],
            [47.5, -47.5, 1.0, 4.0, 5.5],
            [51.0, -38.0, -7.0, 3.9, 5.3],
            [53.0, -26.0, -12.5, 3.7, 5.3],
            [54.0, -15.0, -16.5, 3.7, 5.3],
        ],
    },
    Paired {
        name: "Cingulum",
        weight: 1.0,
        across: [1.0, 0.0, 0.0],
        rows: &[
            [7.0, 38.0, -7.0, 3.2, 3.2],
            [6.8, 43.0, 5.0, 3.2, 3.2],
            [6.8, 38.5, 19.5, 3.2, 3.2],
            [7.0, 24.0, 31.0, 3.2, 3.2],
            [7.0, 6.0, 36.0, 3.2, 3.2],
            [7.0, -12.0, 36.8, 3.2, 3.2],
            [7.2, -29.0, 34.0, 3.2, 3.2],
            [7.8, -43.0, 26.0, 3.2, 3.2],
            [9.0, -51.0, 13.0, 3.2, 3.2],
            [13.5, -48.5, 5.0, 3.2, 3.2],
            [19.5, -41.0, -4.5, 3.2, 3.2],
            [23.5, -28.0, -14.0, 3.0, 3.0],
            [25.0, -15.0, -21.5, 3.0, 3.0],
        ],
    },
    Paired {
        name: "Inferior fronto-occipital fasciculus",
        weight: 0.8,
        across: [1.0, 0.0, 0.0],
        rows: &[
            [23.0, 55.0, 3.0, 3.4, 5.2],
            [26.0, 40.0, 0.0, 3.2, 4.8],
            [30.0, 22.0, -4.0, 3.0, 4.2],
            [33.5, 4.0, -8.0, 2.6, 4.2],
            [34.0, -14.0, -5.5, 2.8, 4.2],
            [34.5, -32.0, -1.0, 3.0, 4.5],
            [33.0, -50.0, 2.0, 3.0, 4.8],
            [29.0, -68.0, 4.0, 3.2, 5.0],
            [24.0, -84.0, 4.5, 3.4, 5.2],
            [20.0, -94.0, 4.0, 3.6, 5.5],
        ],
    },
    Paired {
        name: "Inferior longitudinal fasciculus",
        weight: 0.8,
        across: [1.0, 0.0, 0.0],
        rows: &[
            [39.0, 10.0, -32.0, 3.2, 4.5],
            [43.0, -6.0, -26.0, 3.2, 4.5],
            [44.0, -26.0, -18.0, 3.2, 4.8],
            [41.5, -46.0, -10.0, 3.2, 4.8],
            [36.0, -66.0, -6.0, 3.2, 4.8],
            [30.0, -82.0, -5.0, 3.2, 4.8],
            [25.0, -92.0, -5.0, 3.2, 4.8],
        ],
    },
    Paired {
        name: "Uncinate fasciculus",
        weight: 0.8,
        across: [1.0, 0.0, 0.3],
        rows: &[
            [36.0, 10.0, -34.0, 2.8, 2.8],
            [34.0, 8.5, -24.0, 2.7, 2.7],
            [31.0, 11.0, -15.5, 2.6, 2.6],
            [27.5, 20.0, -12.5, 2.7, 2.7],
            [24.0, 32.0, -12.0, 2.9, 2.9],
            [20.0, 46.0, -9.5, 3.1, 3.1],
        ],
    },
    Paired {
        name: "Anterior thalamic radiation",
        weight: 0.8,
        across: [1.0, 0.0, 0.0],
        rows: &[
            [11.0, -13.0, 10.0, 3.0, 3.4],
            [15.0, -3.0, 9.0, 2.8, 3.4],
            [19.0, 8.0, 8.5, 2.6, 4.0],
            [20.5, 20.0, 10.0, 2.8, 4.4],
            [21.5, 33.0, 13.5, 3.2, 4.8],
            [22.0, 46.0, 17.0, 3.6, 5.2],
            [22.0, 56.0, 19.0, 4.0, 5.4],
        ],
    },
    Paired {
        name: "Superior thalamic radiation",
        weight: 0.8,
        across: [0.3, 1.0, 0.0],
        rows: &[
            [14.0, -13.0, 11.0, 3.4, 2.8],
            [19.0, -9.0, 15.0, 3.6, 2.8],
            [23.5, -5.5, 24.0, 4.2, 3.2],
            [26.0, -1.0, 36.0, 5.0, 3.6],
            [27.5, 4.0, 48.0, 6.0, 4.0],
            [28.0, 8.0, 59.0, 7.0, 4.0],
        ],
    },
    Paired {
        name: "Posterior thalamic radiation",
        weight: 0.8,
        across: [0.3, 1.0, 0.0],
        rows: &[
            [16.0, -25.0, 9.0, 3.2, 2.8],
            [22.5, -28.5, 15.0, 3.6, 2.8],
            [26.0, -34.0, 25.0, 4.2, 3.2],
            [27.0, -40.0, 37.0, 5.0, 3.6],
            [26.5, -46.0, 49.0, 6.0, 4.0],
            [25.5, -50.0, 59.0, 6.6, 4.0],
        ],
    },
    Paired {
        name: "Optic radiation",
        weight: 0.8,
        across: [0.0, 0.0, 1.0],
        rows: &[
            [23.5, -26.0, 1.0, 3.0, 2.8],
            [31.0, -32.0, 7.5, 3.6, 2.8],
            [34.0, -44.0, 12.5, 4.2, 2.9],
            [31.0, -58.0, 14.0, 4.6, 2.8],
            [24.0, -74.0, 11.5, 5.7, 3.0],
            [16.0, -88.0, 8.0, 6.2, 3.2],
        ],
    },
    Paired {
        name: "Fornix",
        weight: 1.0,
        across: [1.0, 0.0, 0.3],
        rows: &[
            [26.0, -24.0, -10.0, 1.6, 1.8],
            [24.5, -33.0, -2.0, 1.6, 1.8],
            [17.0, -38.0, 8.5, 1.7, 1.9],
            [7.0, -33.0, 17.0, 1.8, 2.0],
            [2.6, -18.0, 20.0, 1.9, 2.1],
            [2.3, -4.0, 17.0, 1.9, 2.1],
            [2.6, 2.5, 9.0, 1.8, 2.0],
            [3.0, 1.0, 0.0, 1.7, 1.9],
            [3.2, -5.0, -8.0, 1.6, 1.8],
        ],
    },
    Paired {
        name: "Superior cerebellar peduncle",
        weight: 0.8,
        across: [1.0, 0.0, 0.0],
        rows: &[
            [17.0, -57.0, -34.0, 2.8, 2.8],
            [11.0, -49.0, -27.0, 2.4, 2.4],
            [6.5, -40.0, -19.0, 2.3, 2.3],
            [4.5, -32.0, -11.0, 2.3, 2.3],
            [6.0, -24.0, -4.0, 2.4, 2.4],
            [10.0, -18.0, 3.0, 2.6, 2.6],
        ],
    },
];

pub(super) const COMMISSURAL: &[Commissural] = &[
    Commissural {
        name: "Corpus callosum, genu",
        weight: 1.0,
        across: [0.0, -0.35, 1.0],
        rows: &[
            [0.0, 31.0, 5.0, 12.5, 5.0],
            [7.0, 32.0, 6.0, 11.5, 4.7],
            [13.8, 36.5, 8.0, 10.5, 4.0],
            [18.0, 45.5, 10.0, 9.5, 3.8],
            [19.5, 57.5, 11.0, 9.5, 3.8],
        ],
    },
    Commissural {
        name: "Corpus callosum, rostral body",
        weight: 1.0,
        across: [0.0, 1.0, -0.35],
        rows: &[
            [0.0, 18.5, 20.5, 11.0, 3.7],
            [8.0, 19.0, 21.5, 11.0, 3.5],
            [15.8, 20.5, 27.5, 9.0, 3.4],
            [18.5, 23.0, 39.0, 9.0, 3.6],
            [18.5, 25.5, 51.0, 10.0, 3.8],
        ],
    },
    Commissural {
        name: "Corpus callosum, anterior midbody",
        weight: 1.0,
        across: [0.0, 1.0, -0.1],
        rows: &[
            [0.0, 4.0, 25.5, 11.0, 3.3],
            [8.5, 4.0, 26.4, 11.0, 3.3],
            [16.2, 4.0, 32.5, 9.0, 3.3],
            [18.0, 4.5, 45.0, 9.0, 3.5],
            [17.5, 5.0, 61.0, 10.0, 3.8],
        ],
    },
    Commissural {
        name: "Corpus callosum, posterior midbody",
        weight: 1.0,
        across: [0.0, 1.0, 0.1],
        rows: &[
            [0.0, -11.5, 26.0, 11.0, 3.2],
            [8.5, -12.0, 27.0, 11.0, 3.2],
            [16.2, -13.0, 33.0, 9.0, 3.3],
            [18.0, -15.0, 47.0, 9.0, 3.5],
            [16.5, -17.0, 64.0, 10.0, 3.8],
        ],
    },
    Commissural {
        name: "Corpus callosum, isthmus",
        weight: 1.0,
        across: [0.0, 1.0, 0.4],
        rows: &[
            [0.0, -26.0, 22.5, 10.0, 3.1],
            [9.0, -27.5, 24.2, 10.0, 3.2],
            [16.8, -31.5, 31.5, 8.4, 3.3],
            [19.0, -37.0, 44.0, 8.4, 3.6],
            [18.0, -42.0, 59.0, 9.4, 3.8],
        ],
    },
    Commissural {
        name: "Corpus callosum, splenium",
        weight: 1.0,
        across: [0.0, 0.35, 1.0],
        rows: &[
            [0.0, -37.5, 12.0, 8.0, 5.0],
            [8.0, -40.0, 13.5, 7.6, 4.6],
            [16.5, -46.0, 15.0, 5.8, 3.8],
            [21.0, -58.5, 14.5, 6.0, 3.6],
            [19.0, -75.0, 13.0, 6.6, 3.6],
            [15.0, -92.0, 11.0, 7.4, 3.6],
        ],
    },
    Commissural {
        // Through the centrum semiovale, across the corticospinal tract and the arcuate.
        name: "Callosal radiation",
        weight: 0.3,
        across: [0.0, 1.0, 0.0],
        rows: &[
            [0.0, -9.0, 26.0, 5.0, 2.6],
            [9.0, -10.0, 28.0, 5.0, 2.8],
            [18.0, -12.5, 33.0, 5.0, 3.0],
            [29.0, -14.0, 38.5, 5.0, 3.0],
            [41.0, -12.0, 42.5, 5.4, 3.2],
            [52.0, -8.5, 46.0, 6.0, 3.4],
        ],
    },
    Commissural {
        name: "Middle cerebellar peduncle",
        weight: 0.7,
        across: [0.0, 0.1, 1.0],
        rows: &[
            [0.0, -15.0, -34.0, 6.5, 3.2],
            [9.5, -16.0, -35.5, 6.5, 3.2],
            [19.5, -24.5, -38.0, 5.2, 3.6],
            [23.5, -37.0, -39.0, 5.2, 4.0],
            [25.0, -49.0, -39.5, 5.6, 4.4],
            [27.0, -60.0, -40.0, 6.0, 5.0],
        ],
    },
];

fn knots(rows: &[Row], across: [f64; 3], flip: f64, scale: DVec3) -> Vec<Knot> {
    rows.iter()
        .map(|r| Knot {
            centre: DVec3::new(flip * r[0], r[1], r[2]) * scale,
            across: DVec3::new(flip * across[0], across[1], across[2]) * scale,
            radii: [r[3], r[4]],
        })
        .collect()
}

/// All bundles of a head that is `scale` times the reference head along each axis. Labels count from 1.
pub(super) fn bundles(paired: &[Paired], commissural: &[Commissural], scale: DVec3) -> Vec<Bundle> {
    let mut all = Vec::new();
    let mut add = |name: String, weight: f64, knots: &[Knot]| {
        let label = all.len() as u16 + 1;
        all.push(Bundle::new(name, label, weight, knots));
    };
    for p in paired {
        for (side, flip) in [("left", -1.0), ("right", 1.0)] {
            let name = format!("{} {side}", p.name);
            add(name, p.weight, &knots(p.rows, p.across, flip, scale));
        }
    }
    for c in commissural {
        // From the left end through the midline to the right end. Rows lie in x ≥ 0, the first one at 0.
        let mut both = knots(c.rows, c.across, -1.0, scale);
        both.reverse();
        both.pop();
        both.extend(knots(c.rows, c.across, 1.0, scale));
        add(c.name.to_owned(), c.weight, &both);
    }
    all
}

/// The bundles near a point: cells of a coarse grid that list them.
#[derive(Clone, Debug)]
pub(super) struct Locator {
    origin: DVec3,
    shape: [usize; 3],
    reach_mm: f64,
    /// For each cell: bundle, and the sample of its centre line nearest to the cell's centre.
    cells: Vec<Vec<(u16, u16)>>,
}

const CELL_MM: f64 = 6.0;

impl Locator {
    /// Finds every bundle whose surface is within `reach_mm` of a point.
    pub fn new(bundles: &[Bundle], reach_mm: f64) -> Self {
        let points = || bundles.iter().flat_map(|b| b.samples().iter().copied());
        let margin = reach_mm + bundles.iter().map(Bundle::widest_mm).fold(0.0, f64::max);
        let low = points().fold(DVec3::INFINITY, DVec3::min) - margin;
        let high = points().fold(DVec3::NEG_INFINITY, DVec3::max) + margin;
        let shape = ((high - low) / CELL_MM)
            .ceil()
            .to_array()
            .map(|n| n as usize);
        let half_diagonal = 0.5 * CELL_MM * 3f64.sqrt();
        let mut cells = vec![Vec::new(); shape.iter().product()];
        for (b, bundle) in bundles.iter().enumerate() {
            let samples = bundle.samples();
            let gap = samples
                .windows(2)
                .map(|w| w[0].distance(w[1]))
                .fold(0.0, f64::max);
            // Largest distance of a cell's centre from a sample such that the cell may contain a point within reach.
            let far = bundle.widest_mm() + reach_mm + half_diagonal + 0.5 * gap;
            let from = samples.iter().copied().fold(DVec3::INFINITY, DVec3::min) - far;
            let to = samples
                .iter()
                .copied()
                .fold(DVec3::NEG_INFINITY, DVec3::max)
                + far;
            let index = |v: DVec3, up: bool| {
                let c = (v - low) / CELL_MM;
                let c = if up { c.ceil() } else { c.floor() };
                let c = c.max(DVec3::ZERO).to_array();
                std::array::from_fn::<usize, 3, _>(|a| (c[a] as usize).min(shape[a]))
            };
            let (from, to) = (index(from, false), index(to, true));
            for z in from[2]..to[2] {
                for y in from[1]..to[1] {
                    for x in from[0]..to[0] {
                        let cell = DVec3::new(x as f64, y as f64, z as f64) + 0.5;
                        let middle = low + cell * CELL_MM;
                        let nearest = samples
                            .iter()
                            .enumerate()
                            .map(|(i, s)| (i, s.distance_squared(middle)))
                            .fold((0, f64::INFINITY), |m, n| if n.1 < m.1 { n } else { m });
                        if nearest.1 <= far * far {
                            let place = x + shape[0] * (y + shape[1] * z);
                            cells[place].push((b as u16, nearest.0 as u16));
                        }
                    }
                }
            }
        }
        Self {
            origin: low,
            shape,
            reach_mm,
            cells,
        }
    }

    /// Calls `found(index, near)` for the bundles that may be within reach of x.
    pub fn near(&self, bundles: &[Bundle], x: DVec3, mut visit: impl FnMut(usize, NearBundle)) {
        for &(b, sample) in self.cell(x) {
            let bundle = &bundles[b as usize];
            if let Some(near) = bundle.near(x, sample as usize, self.reach_mm) {
                visit(b as usize, near);
            }
        }
    }

    /// The bundles that may be within reach of x.
    pub fn candidates(&self, x: DVec3) -> impl Iterator<Item = usize> {
        self.cell(x).iter().map(|&(b, _)| usize::from(b))
    }

    /// Signed distance from the surface of the nearest bundle, mm; a lower bound far away.
    pub fn distance(&self, bundles: &[Bundle], x: DVec3) -> f64 {
        self.cell(x)
            .iter()
            .filter_map(|&(b, sample)| bundles[b as usize].near(x, sample as usize, self.reach_mm))
            .fold(self.reach_mm, |nearest, near| nearest.min(near.distance))
    }

    fn cell(&self, x: DVec3) -> &[(u16, u16)] {
        let cell = ((x - self.origin) / CELL_MM).floor();
        if (0..3).any(|a| cell[a] < 0.0 || cell[a] >= self.shape[a] as f64) {
            return &[];
        }
        let [i, j, k] = cell.to_array().map(|c| c as usize);
        &self.cells[i + self.shape[0] * (j + self.shape[1] * k)]
    }
}
