//! Structures under the cortex: ventricles, deep grey matter, brain stem, cerebellum.

use super::cortex::tent_height;
use super::implicit::{
    Chain, Surface, bump, cone, ellipsoid, hypot, outside_box, ramp, turned_ellipsoid,
};
use super::tissue::{Layers, Tissue};
use super::waves::Waves;
use crate::data::random::Random;
use glam::DVec3;

fn v(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(x, y, z)
}

/// Ratio of width to height of the ventricle's body.
const WIDER: f64 = 1.35;
/// Frontal horn, body and atrium of the lateral ventricle: x / `WIDER`, y, z, radius.
const BODY: &[[f64; 4]] = &[
    [7.0, 29.0, 3.0, 2.5],
    [6.0, 22.0, 9.0, 5.2],
    [5.6, 8.0, 16.0, 5.2],
    [6.8, -10.0, 19.0, 4.4],
    [10.5, -26.0, 17.5, 4.6],
    [16.5, -38.0, 11.0, 5.6],
];
const OCCIPITAL_HORN: &[[f64; 4]] = &[
    [22.0, -38.0, 11.0, 6.0],
    [24.5, -52.0, 6.5, 3.4],
    [22.5, -66.0, 4.5, 1.8],
];
const TEMPORAL_HORN: &[[f64; 4]] = &[
    [22.0, -38.0, 11.0, 6.0],
    [31.0, -37.0, 0.0, 3.0],
    [34.5, -26.0, -9.0, 2.2],
    [33.0, -13.0, -16.0, 2.2],
    [30.0, -5.0, -19.0, 1.6],
];

const CAUDATE: &[[f64; 4]] = &[
    [12.0, 20.0, -1.0, 6.0],
    [14.5, 15.0, 7.0, 6.0],
    [16.5, 4.0, 15.5, 4.2],
    [18.5, -12.0, 20.0, 3.0],
    [22.5, -26.0, 18.5, 2.4],
    [29.0, -34.0, 8.0, 1.6],
];
const HIPPOCAMPUS: &[[f64; 4]] = &[
    [26.0, -9.0, -20.0, 5.4],
    [28.5, -20.0, -15.5, 4.4],
    [26.5, -33.0, -6.0, 3.4],
    [21.0, -38.0, 2.0, 2.2],
];
const AQUEDUCT: &[[f64; 4]] = &[[0.0, -28.0, -4.0, 1.3], [0.0, -37.0, -20.0, 1.3]];
const FOURTH_VENTRICLE: &[[f64; 4]] = &[
    [0.0, -37.5, -20.0, 1.5],
    [0.0, -42.0, -31.0, 4.0],
    [0.0, -43.0, -42.0, 2.6],
    [0.0, -45.0, -52.0, 1.0],
];
/// Midbrain, pons, medulla, spinal cord.
const STEM: &[[f64; 4]] = &[
    [0.0, -24.0, 2.0, 12.0],
    [0.0, -27.0, -10.0, 12.0],
    [0.0, -28.0, -22.0, 11.5],
    [0.0, -30.0, -38.0, 11.5],
    [0.0, -38.0, -54.0, 8.2],
    [0.0, -44.0, -70.0, 6.4],
    [0.0, -48.0, -90.0, 6.2],
    [0.0, -50.0, -140.0, 6.2],
];
const PEDUNCLE: &[[f64; 4]] = &[[19.0, -14.0, 0.0, 7.0], [10.0, -18.0, -18.0, 6.5]];

/// Peduncle between brain stem and cerebellum.
const ARM: &[[f64; 4]] = &[
    [12.0, -23.0, -36.0, 9.0],
    [20.0, -28.0, -38.0, 7.6],
    [24.0, -44.0, -39.5, 7.2],
];

/// Beyond this distance a lower bound suffices, mm.
const REACH_MM: f64 = 4.0;

/// Ventricles, deep grey matter and brain stem. Distances are signed, mm.
#[derive(Clone, Debug)]
pub(super) struct DeepStructures {
    body: Chain,
    occipital_horn: Chain,
    temporal_horn: Chain,
    aqueduct: Chain,
    fourth: Chain,
    caudate: Chain,
    hippocampus: Chain,
    stem: Chain,
    peduncle: Chain,
    arm: Chain,
    /// Increase in the radius of the lateral ventricles, mm.
    ventricle_mm: f64,
}

impl DeepStructures {
    pub fn new(ventricle_mm: f64) -> Self {
        Self {
            body: Chain::new(BODY, 4.0),
            occipital_horn: Chain::new(OCCIPITAL_HORN, 3.0),
            temporal_horn: Chain::new(TEMPORAL_HORN, 2.0),
            aqueduct: Chain::new(AQUEDUCT, 1.0),
            fourth: Chain::new(FOURTH_VENTRICLE, 2.0),
            caudate: Chain::new(CAUDATE, 4.0),
            hippocampus: Chain::new(HIPPOCAMPUS, 4.0),
            stem: Chain::new(STEM, 5.0),
            peduncle: Chain::new(PEDUNCLE, 1.0),
            arm: Chain::new(ARM, 3.0),
            ventricle_mm,
        }
    }

    /// Adds all of these tissues except the brain stem.
    pub fn add_tissues(&self, layers: &mut Layers, p: DVec3) {
        let side = v(p.x.abs(), p.y, p.z);
        if side.x > 42.0 || p.y < -75.0 || p.y > 42.0 || p.z > 32.0 {
            return;
        }
        let (thalamus, adhesion) = (thalamus(side), adhesion(side));
        layers.add_tissue(Tissue::Ventricle, self.midline_ventricles(p).max(-adhesion));
        // Thalamus and pallidum contain fibres.
        let thalamus = thalamus.min(adhesion);
        layers.add_thin_tissue(Tissue::DeepGrey, thalamus, 0.7);
        layers.add_tissue(Tissue::White, thalamus);
        layers.add_tissue(Tissue::DeepGrey, self.caudate.distance(side, REACH_MM));
        layers.add_tissue(Tissue::Ventricle, self.lateral_ventricle(side));
        let (putamen, pallidum) = lentiform(side);
        layers.add_thin_tissue(Tissue::DeepGrey, pallidum, 0.6);
        layers.add_tissue(Tissue::White, pallidum);
        layers.add_tissue(Tissue::DeepGrey, putamen);
        layers.add_tissue(Tissue::DeepGrey, self.limbic(side));
    }

    fn lateral_ventricle(&self, side: DVec3) -> f64 {
        let reach = REACH_MM + 2.0;
        let body = self.body.distance(side * v(1.0 / WIDER, 1.0, 1.0), reach);
        let back = self.occipital_horn.distance(side, reach);
        let down = self.temporal_horn.distance(side, reach);
        // The septum separates the two sides.
        let septum = 0.3 - side.x;
        body.min(back).min(down).max(septum) - self.ventricle_mm
    }

    /// Third ventricle, aqueduct and fourth ventricle.
    fn midline_ventricles(&self, p: DVec3) -> f64 {
        let roof = ellipsoid(p, v(0.0, -16.0, 1.0), v(1.3, 11.0, 8.0));
        let recess = ellipsoid(p, v(0.0, -4.0, -6.0), v(1.2, 6.0, 8.0));
        let third = roof.union(recess, 1.0);
        let wide = ellipsoid(p, v(0.0, -42.5, -33.0), v(9.0, 3.4, 7.0));
        third
            .distance
            .min(wide.distance)
            .min(self.aqueduct.distance(p, REACH_MM))
            .min(self.fourth.distance(p, REACH_MM))
    }

    /// Hippocampus, amygdala and hypothalamus.
    fn limbic(&self, side: DVec3) -> f64 {
        let amygdala = ellipsoid(side, v(23.0, -2.0, -20.0), v(7.0, 7.0, 7.0));
        let hypothalamus = ellipsoid(side, v(3.0, -3.0, -9.0), v(5.0, 8.0, 6.0));
        self.hippocampus
            .joined(side, amygdala, 4.0)
            .distance
            .min(hypothalamus.distance)
    }

    /// Exact up to `reach` mm, otherwise a lower bound.
    pub fn brain_stem(&self, p: DVec3, reach: f64) -> Surface {
        let bound = outside_box(p, v(-34.0, -58.0, -150.0), v(34.0, -5.0, 16.0));
        if bound > reach {
            return Surface::new(bound, DVec3::Z);
        }
        let side = v(p.x.abs(), p.y, p.z);
        let pons = ellipsoid(side, v(0.0, -23.0, -32.0), v(18.0, 12.0, 13.0));
        let s = self.stem.joined(side, pons, 5.0);
        let s = self.peduncle.joined(side, s, 5.0);
        let mut s = self.arm.joined(side, s, 4.0);
        if p.x < 0.0 {
            s.normal.x = -s.normal.x;
        }
        if s.distance > 3.0 {
            return s;
        }
        // Interpeduncular fossa.
        let fossa = cone(p, v(0.0, -6.0, -12.0), 5.5, v(0.0, -11.0, -21.0), 3.5);
        s.without(fossa, 3.0)
    }
}

fn thalamus(side: DVec3) -> f64 {
    let body = turned_ellipsoid(side, v(11.0, -17.0, 7.0), v(8.6, 15.5, 8.8), 0.42);
    let pulvinar = ellipsoid(side, v(16.0, -27.0, 6.0), v(8.0, 7.0, 7.5));
    body.union(pulvinar, 4.0).distance
}

/// The interthalamic adhesion across the third ventricle.
fn adhesion(side: DVec3) -> f64 {
    ellipsoid(side, v(0.0, -12.0, 3.0), v(4.0, 3.4, 2.8)).distance
}

/// Putamen, with the accumbens that connects it to the caudate, and pallidum.
fn lentiform(side: DVec3) -> (f64, f64) {
    let putamen = turned_ellipsoid(side, v(26.0, 3.0, 2.0), v(5.6, 18.0, 10.5), 0.26);
    let accumbens = ellipsoid(side, v(15.0, 13.0, -7.0), v(9.0, 5.0, 4.0));
    let pallidum = turned_ellipsoid(side, v(19.0, -3.5, -1.0), v(4.2, 10.0, 6.0), 0.5);
    (putamen.union(accumbens, 4.0).distance, pallidum.distance)
}

#[derive(Clone, Debug)]
pub(super) struct Cerebellum {
    wander: Waves<10>,
}

impl Cerebellum {
    pub fn new(random: Random) -> Self {
        Self {
            wander: Waves::new(random, 30.0),
        }
    }

    /// Exact up to `reach` mm, otherwise a lower bound.
    pub fn envelope(&self, p: DVec3, reach: f64) -> Surface {
        let bound = outside_box(p, v(-55.0, -96.0, -64.0), v(55.0, -32.0, 1.0));
        if bound > reach {
            return Surface::new(bound, DVec3::Z);
        }
        let side = v(p.x.abs(), p.y, p.z);
        let hemisphere = ellipsoid(side, v(24.0, -64.5, -35.0), v(30.0, 30.0, 24.0));
        let vermis = ellipsoid(side, v(0.0, -63.0, -30.0), v(14.0, 22.0, 28.0));
        let tonsil = ellipsoid(side, v(9.0, -52.0, -52.0), v(8.0, 9.0, 10.0));
        let mut s = hemisphere.union(vermis, 9.0).union(tonsil, 6.0);
        // The posterior notch divides it.
        let notch = cone(side, v(0.0, -99.0, -40.0), 7.0, v(0.0, -84.0, -52.0), 5.0);
        s = s.without(notch, 6.0);
        // Under the tentorium.
        let roof = tent_height(p.x, p.y) - 2.5;
        let tent = Surface::new((p.z - roof) * 0.9, v(0.0, 0.0, 1.0));
        s = s.intersection(tent, 6.0);
        if p.x < 0.0 {
            s.normal.x = -s.normal.x;
        }
        s
    }

    /// Distance to the nearest fluid, mm; positive in tissue. Folia are separated by sheets through the long axis of
    /// the cerebellum, every third one a deep fissure.
    pub fn wall_mm(&self, p: DVec3, envelope: Surface) -> f64 {
        let depth = -envelope.distance;
        let wander = self.wander.value(p);
        let (y, z) = (p.y + 50.0 - 0.004 * p.x * p.x, p.z + 33.0);
        let radius = hypot(y, z).max(1.0);
        let angle = z.atan2(y) + 0.085 * wander;
        // Half turns between folia, for a spacing of about 4.5 mm at 26 mm.
        let count = 18.0;
        let phase = angle * count;
        let aside = phase.sin().abs() * radius / count;
        let deep = (phase / 3.0).cos().powi(8);
        let floor = 8.0 + 9.0 * deep + 1.5 * wander;
        let below = (depth - floor).max(0.0);
        let sheet = hypot(aside, below);
        let half_width = 0.12 + 0.8 * (-depth.max(0.0) / 1.8).exp() + 0.25 * deep;
        depth.min(sheet - half_width)
    }
}

/// Radius over which seams of the skull between brain parts are rounded, mm.
pub(super) const SKULL_SEAM_MM: f64 = 10.0;

/// Inner surface of the skull: encloses all of the above with a layer of fluid, without dents.
pub(super) fn cavity(envelope: Surface, cerebellum: Surface, stem: Surface, p: DVec3) -> Surface {
    let clivus = 3.0 + 1.5 * ramp(-40.0, -70.0, p.z);
    let cistern = ellipsoid(p, v(0.0, 2.0, -16.0), v(20.0, 14.0, 9.0));
    envelope
        .grown(1.8 + 0.8 * bump(p.y, 62.0, 14.0))
        .union(cerebellum.grown(1.8), SKULL_SEAM_MM)
        .union(stem.grown(clivus), 7.0)
        .union(cistern, 10.0)
}
