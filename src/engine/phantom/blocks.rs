//! Blocks of grey matter with a few bundles, whose courses are known from papers and textbooks: a helix and a diagonal
//! (Jeong et al. 2007, IEEE Trans Vis Comput Graph 13:1480), a U-fibre (van Aart et al. 2011), and bundles in a plane
//! that cross, touch and fan out, as in physical phantoms (Poupon et al. 2008, Magn Reson Med 60:1276; these courses are
//! our own).

use super::bundles::{Bundle, Knot};
use crate::data::PhantomKind;
use glam::DVec3;
use std::f64::consts::{PI, TAU};

/// Radius of the helix, mm.
pub const HELIX_RADIUS_MM: f64 = 24.0;
/// Rise of the helix per turn, mm.
pub const HELIX_PITCH_MM: f64 = 24.0;
const HELIX_TURNS: f64 = 2.5;
/// Radius of the arc of the U-fibre, mm.
pub const U_RADIUS_MM: f64 = 20.0;
/// Length of the legs of the U-fibre.
const U_LEG_MM: f64 = 32.0;
/// Half the length of the diagonal.
const DIAGONAL_MM: f64 = 62.0;

/// Half the edges of the block of a kind, mm; `None` for a head.
pub(super) fn half_edges(kind: PhantomKind) -> Option<DVec3> {
    Some(match kind {
        PhantomKind::Plain | PhantomKind::Crossing => return None,
        PhantomKind::Helix => DVec3::new(36.0, 36.0, 40.0),
        PhantomKind::Diagonal => DVec3::splat(44.0),
        PhantomKind::UFibre => DVec3::new(36.0, 44.0, 20.0),
        PhantomKind::Planar => DVec3::new(82.0, 82.0, 10.0),
    })
}

/// The bundles of a block.
pub(super) fn bundles(kind: PhantomKind) -> Vec<Bundle> {
    match kind {
        PhantomKind::Plain | PhantomKind::Crossing => Vec::new(),
        PhantomKind::Helix => vec![bundle("Helix", 1, DVec3::Z, &helix())],
        PhantomKind::Diagonal => {
            let direction = DVec3::ONE.normalize();
            let ends = [-DIAGONAL_MM, DIAGONAL_MM].map(|mm| (mm * direction, [6.0, 6.0]));
            vec![bundle("Diagonal", 1, DVec3::Z, &ends)]
        }
        PhantomKind::UFibre => vec![bundle("U-fibre", 1, DVec3::Z, &u_fibre())],
        PhantomKind::Planar => planar(),
    }
}

/// A bundle through centres with half widths along `across` and perpendicular to it.
fn bundle(name: &str, label: u16, across: DVec3, line: &[(DVec3, [f64; 2])]) -> Bundle {
    let knots = line.iter().map(|&(centre, radii)| Knot {
        centre,
        across,
        radii,
    });
    let knots: Vec<Knot> = knots.collect();
    Bundle::new(name, label, 1.0, &knots)
}

fn helix() -> Vec<(DVec3, [f64; 2])> {
    const PER_TURN: f64 = 24.0;
    let count = (HELIX_TURNS * PER_TURN) as usize;
    let at = |i: usize| {
        let turns = i as f64 / PER_TURN;
        let (sin, cos) = (TAU * turns).sin_cos();
        let height = HELIX_PITCH_MM * (turns - 0.5 * HELIX_TURNS);
        let centre = DVec3::new(HELIX_RADIUS_MM * cos, HELIX_RADIUS_MM * sin, height);
        (centre, [5.0, 5.0])
    };
    (0..=count).map(at).collect()
}

/// From the left leg around the arc to the right one; the arc is in front of the legs.
fn u_fibre() -> Vec<(DVec3, [f64; 2])> {
    const STEPS: usize = 16;
    let leg = |x: f64, mm: f64| (DVec3::new(x, -mm, 0.0), [5.0, 5.0]);
    let arc = |i: usize| {
        let (sin, cos) = (PI * (1.0 - i as f64 / STEPS as f64)).sin_cos();
        (U_RADIUS_MM * DVec3::new(cos, sin, 0.0), [5.0, 5.0])
    };
    let down = [U_LEG_MM, 0.5 * U_LEG_MM, 0.25 * U_LEG_MM, 0.125 * U_LEG_MM];
    let left = down.map(|mm| leg(-U_RADIUS_MM, mm)).into_iter();
    let right = down.map(|mm| leg(U_RADIUS_MM, mm)).into_iter().rev();
    left.chain((0..=STEPS).map(arc)).chain(right).collect()
}

/// Points x and y of a centre line, and the half width in the plane there, mm.
type Planar = (&'static str, &'static [[f64; 3]]);

const PLANAR: [Planar; 7] = [
    (
        "Arc",
        &[
            [-62.0, -38.0, 5.0],
            [-66.0, -5.0, 5.0],
            [-58.0, 30.0, 5.0],
            [-34.0, 55.0, 5.0],
            [0.0, 65.0, 5.0],
            [34.0, 64.0, 5.0],
            [64.0, 56.0, 5.0],
        ],
    ),
    (
        "Column",
        &[[10.0, -70.0, 5.0], [10.0, -10.0, 5.0], [10.0, 50.0, 5.0]],
    ),
    (
        "Row",
        &[[-46.0, -15.0, 5.0], [12.0, -15.0, 5.0], [70.0, -15.0, 5.0]],
    ),
    (
        "Oblique",
        &[[-18.0, 48.0, 5.0], [18.0, 12.0, 5.0], [66.0, -36.0, 5.0]],
    ),
    (
        "Kissing upper",
        &[
            [24.0, -34.0, 4.0],
            [33.0, -45.0, 4.0],
            [45.0, -50.0, 4.0],
            [57.0, -50.0, 4.0],
            [72.0, -46.0, 4.0],
        ],
    ),
    (
        "Kissing lower",
        &[
            [24.0, -74.7, 4.0],
            [33.0, -63.7, 4.0],
            [45.0, -58.7, 4.0],
            [57.0, -59.7, 4.0],
            [72.0, -66.7, 4.0],
        ],
    ),
    (
        "Fan",
        &[
            [-74.0, -72.0, 3.0],
            [-62.0, -65.0, 4.0],
            [-48.0, -57.0, 7.0],
            [-34.0, -49.0, 11.0],
            [-20.0, -41.0, 14.0],
        ],
    ),
];

fn planar() -> Vec<Bundle> {
    const HALF_THICKNESS_MM: f64 = 6.0;
    let all = PLANAR.iter().zip(1..).map(|((name, line), label)| {
        let knot = |[x, y, half]: &[f64; 3]| (DVec3::new(*x, *y, 0.0), [HALF_THICKNESS_MM, *half]);
        let knots: Vec<_> = line.iter().map(knot).collect();
        bundle(name, label, DVec3::Z, &knots)
    });
    all.collect()
}
