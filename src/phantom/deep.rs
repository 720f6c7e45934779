//! What lies under the cortex: ventricles, deep grey matter, brain stem, cerebellum.

use super::cortex::{Cortex, tent_height};
use super::implicit::{Surface, bump, chain, cone, ellipsoid, ramp, turned_ellipsoid};
use super::random::Random;
use super::waves::Waves;
use glam::DVec3;

fn v(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(x, y, z)
}

/// Frontal horn, body and atrium of the lateral ventricle: x y z radius.
const BODY: &[[f64; 4]] = &[
    [9.0, 29.0, 3.0, 2.5],
    [8.5, 22.0, 9.0, 5.5],
    [9.0, 8.0, 16.0, 5.5],
    [11.0, -10.0, 19.0, 4.6],
    [15.0, -26.0, 17.5, 4.8],
    [22.0, -38.0, 11.0, 6.0],
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

/// Lateral ventricle, either side; `size` mm is added to its radius.
pub(super) fn lateral_ventricle(p: DVec3, size: f64) -> f64 {
    let p = v(p.x.abs(), p.y, p.z);
    let body = chain(p, BODY, 4.0).distance;
    let back = chain(p, OCCIPITAL_HORN, 3.0).distance;
    let down = chain(p, TEMPORAL_HORN, 2.0).distance;
    // The septum keeps the two apart.
    let septum = 1.3 - p.x;
    body.min(back).min(down).max(septum) - size
}

/// Third ventricle, aqueduct and fourth ventricle.
pub(super) fn midline_ventricles(p: DVec3) -> f64 {
    let third = ellipsoid(p, v(0.0, -13.0, 0.0), v(2.2, 15.0, 11.0)).distance;
    let aqueduct = cone(p, v(0.0, -28.0, -4.0), 1.3, v(0.0, -37.0, -20.0), 1.3).distance;
    let fourth = chain(
        p,
        &[
            [0.0, -37.5, -20.0, 1.5],
            [0.0, -42.0, -31.0, 4.0],
            [0.0, -43.0, -42.0, 2.6],
            [0.0, -45.0, -52.0, 1.0],
        ],
        2.0,
    );
    let wide = ellipsoid(p, v(0.0, -42.5, -33.0), v(9.0, 3.4, 7.0)).distance;
    third.min(aqueduct).min(fourth.distance).min(wide)
}

pub(super) fn thalamus(p: DVec3) -> f64 {
    let p = v(p.x.abs(), p.y, p.z);
    let body = turned_ellipsoid(p, v(11.0, -17.0, 7.0), v(8.6, 15.5, 8.8), 0.42);
    let pulvinar = ellipsoid(p, v(16.0, -27.0, 6.0), v(8.0, 7.0, 7.5));
    body.union(pulvinar, 4.0).distance
}

/// Head, body and tail of the caudate nucleus.
pub(super) fn caudate(p: DVec3) -> f64 {
    let p = v(p.x.abs(), p.y, p.z);
    chain(
        p,
        &[
            [12.0, 20.0, -1.0, 6.0],
            [14.5, 15.0, 7.0, 6.0],
            [16.5, 4.0, 15.5, 4.2],
            [18.5, -12.0, 20.0, 3.0],
            [22.5, -26.0, 18.5, 2.4],
            [29.0, -34.0, 8.0, 1.6],
        ],
        4.0,
    )
    .distance
}

/// Putamen with the accumbens that joins it to the caudate, and pallidum.
pub(super) fn lentiform(p: DVec3) -> (f64, f64) {
    let p = v(p.x.abs(), p.y, p.z);
    let putamen = turned_ellipsoid(p, v(26.0, 3.0, 2.0), v(5.6, 18.0, 10.5), 0.26);
    let accumbens = ellipsoid(p, v(15.0, 13.0, -7.0), v(9.0, 5.0, 4.0));
    let pallidum = turned_ellipsoid(p, v(19.0, -3.5, -1.0), v(4.2, 10.0, 6.0), 0.5);
    (putamen.union(accumbens, 4.0).distance, pallidum.distance)
}

/// Hippocampus and amygdala, hypothalamus, substantia nigra's neighbourhood left out.
pub(super) fn limbic(p: DVec3) -> f64 {
    let side = v(p.x.abs(), p.y, p.z);
    let hippocampus = chain(
        side,
        &[
            [26.0, -9.0, -20.0, 5.4],
            [28.5, -20.0, -15.5, 4.4],
            [26.5, -33.0, -6.0, 3.4],
            [21.0, -38.0, 2.0, 2.2],
        ],
        4.0,
    );
    let amygdala = ellipsoid(side, v(23.0, -2.0, -20.0), v(7.0, 7.0, 7.0));
    let hypothalamus = ellipsoid(side, v(3.0, -3.0, -9.0), v(5.0, 8.0, 6.0));
    hippocampus
        .union(amygdala, 4.0)
        .distance
        .min(hypothalamus.distance)
}

pub(super) fn brain_stem(p: DVec3) -> Surface {
    let side = v(p.x.abs(), p.y, p.z);
    let core = chain(
        side,
        &[
            [0.0, -24.0, 2.0, 12.0],
            [0.0, -27.0, -10.0, 12.0],
            [0.0, -28.0, -22.0, 11.5],
            [0.0, -30.0, -38.0, 11.5],
            [0.0, -38.0, -54.0, 8.2],
            [0.0, -44.0, -70.0, 6.4],
            [0.0, -48.0, -90.0, 6.2],
            [0.0, -50.0, -140.0, 6.2],
        ],
        5.0,
    );
    let peduncle = cone(side, v(19.0, -14.0, 0.0), 7.0, v(10.0, -18.0, -18.0), 6.5);
    let pons = ellipsoid(side, v(0.0, -23.0, -32.0), v(18.0, 12.0, 13.0));
    let mut s = core.union(peduncle, 5.0).union(pons, 5.0);
    if p.x < 0.0 {
        s.normal.x = -s.normal.x;
    }
    // Interpeduncular fossa.
    let fossa = cone(p, v(0.0, -6.0, -12.0), 5.5, v(0.0, -11.0, -21.0), 3.5);
    s.without(fossa, 3.0)
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

    pub fn envelope(&self, p: DVec3) -> Surface {
        let side = v(p.x.abs(), p.y, p.z);
        let hemisphere = ellipsoid(side, v(24.0, -64.0, -37.0), v(29.0, 28.0, 20.0));
        let vermis = ellipsoid(side, v(0.0, -64.0, -31.0), v(13.0, 21.0, 22.0));
        let tonsil = ellipsoid(side, v(9.0, -52.0, -52.0), v(8.0, 9.0, 10.0));
        let mut s = hemisphere.union(vermis, 9.0).union(tonsil, 6.0);
        // Parted behind by the notch.
        let notch = cone(side, v(0.0, -99.0, -40.0), 7.0, v(0.0, -84.0, -52.0), 5.0);
        s = s.without(notch, 6.0);
        // Under the tent.
        let roof = tent_height(p.x, p.y) - 2.5;
        let tent = Surface::new((p.z - roof) * 0.9, v(0.0, 0.0, 1.0));
        s = s.intersection(tent, 6.0);
        if p.x < 0.0 {
            s.normal.x = -s.normal.x;
        }
        s
    }

    /// Distance to the nearest fluid, mm; positive in tissue. Folia are parted by sheets through the
    /// long axis of the cerebellum, every third a deep fissure.
    pub fn wall_mm(&self, p: DVec3, envelope: Surface) -> f64 {
        let depth = -envelope.distance;
        let wander = self.wander.value(p);
        let (y, z) = (p.y + 50.0 - 0.004 * p.x * p.x, p.z + 33.0);
        let radius = y.hypot(z).max(1.0);
        let angle = z.atan2(y) + 0.06 * wander;
        // Half turns between folia, so that the spacing is about 4.5 mm at 26 mm.
        let count = 18.0;
        let phase = angle * count;
        let aside = phase.sin().abs() * radius / count;
        let deep = (phase / 3.0).cos().powi(8);
        let floor = 5.0 + 9.0 * deep + 1.5 * wander;
        let below = (depth - floor).max(0.0);
        let sheet = aside.hypot(below);
        let half_width = 0.12 + 0.8 * (-depth.max(0.0) / 1.8).exp() + 0.25 * deep;
        depth.min(sheet - half_width)
    }
}

/// Inner surface of the skull: everything above with room for fluid, without dents.
pub(super) fn cavity(envelope: Surface, cerebellum: Surface, stem: Surface, p: DVec3) -> Surface {
    let clivus = 3.0 + 1.5 * ramp(-40.0, -70.0, p.z);
    let cistern = ellipsoid(p, v(0.0, 2.0, -16.0), v(20.0, 14.0, 9.0));
    envelope
        .grown(2.6 + 0.8 * bump(p.y, 62.0, 14.0))
        .union(cerebellum.grown(2.5), 12.0)
        .union(stem.grown(clivus), 7.0)
        .union(cistern, 10.0)
}

/// Both halves of the brain for one point, so that the envelopes are found once.
pub(super) fn envelopes(cortex: &Cortex, cerebellum: &Cerebellum, p: DVec3) -> [Surface; 3] {
    [cortex.envelope(p), cerebellum.envelope(p), brain_stem(p)]
}
