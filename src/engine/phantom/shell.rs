//! Structures around the brain: skull, scalp, eyes, sinuses, face and neck.

use super::implicit::{Chain, Surface, cone, ellipsoid, ramp};
use super::tissue::{Layers, Tissue};
use super::waves::Waves;
use crate::data::random::Random;
use glam::DVec3;

fn v(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(x, y, z)
}

#[derive(Clone, Debug)]
pub(super) struct Shell {
    nose: Chain,
    texture: Waves<8>,
}

const NOSE: &[[f64; 4]] = &[
    [0.0, 82.0, -22.0, 7.0],
    [0.0, 92.0, -40.0, 8.5],
    [0.0, 99.0, -54.0, 9.0],
];
const SKULL_MM: f64 = 6.5;
const SCALP_MM: f64 = 6.0;

impl Shell {
    pub fn new(random: Random) -> Self {
        Self {
            nose: Chain::new(NOSE, 4.0),
            texture: Waves::new(random, 13.0),
        }
    }

    /// The skin.
    pub fn skin(&self, p: DVec3, cavity: Surface) -> Surface {
        let side = v(p.x.abs(), p.y, p.z);
        let vault = cavity.grown(SKULL_MM + SCALP_MM);
        if p.z > 25.0 {
            return vault;
        }
        let face = ellipsoid(side, v(0.0, 38.0, -50.0), v(66.0, 50.0, 62.0));
        let jaw = ellipsoid(side, v(0.0, 50.0, -92.0), v(48.0, 44.0, 36.0));
        let neck = cone(
            side,
            v(0.0, -34.0, -50.0),
            58.0,
            v(0.0, -36.0, -170.0),
            56.0,
        );
        let ear = ellipsoid(
            v(side.x - 0.25 * (-22.0 - p.y), p.y, p.z),
            v(80.0, -24.0, -26.0),
            v(5.0, 15.0, 27.0),
        );
        let lips = ellipsoid(side, v(0.0, 90.0, -78.0), v(22.0, 9.0, 9.0));
        let soft = vault
            .union(face, 16.0)
            .union(jaw, 14.0)
            .union(neck, 14.0)
            .union(lips, 8.0)
            .union(ear, 4.0);
        self.nose.joined(side, soft, 9.0)
    }

    /// Adds everything outside the cavity.
    pub fn add_tissues(&self, layers: &mut Layers, p: DVec3, cavity: Surface, skin: Surface) {
        let side = v(p.x.abs(), p.y, p.z);
        layers.add_tissue(Tissue::Air, -skin.distance);
        if layers.full() {
            return;
        }
        let low = p.z < 20.0;
        if low {
            let eye = ellipsoid(side, v(32.0, 66.0, -33.0), v(12.0, 12.0, 12.0));
            let lens = ellipsoid(side, v(32.0, 75.0, -33.0), v(4.5, 2.2, 4.5));
            let nerve = cone(side, v(30.0, 56.0, -33.0), 2.0, v(12.0, 22.0, -26.0), 2.0);
            layers.add_tissue(Tissue::Muscle, lens.distance.min(nerve.distance));
            layers.add_tissue(Tissue::Eye, eye.distance);
            layers.add_tissue(Tissue::Air, airways(side));
        }
        let texture = self.texture.value(p);
        let bone = cavity.distance - SKULL_MM - 0.7 * texture * ramp(30.0, 0.0, p.z);
        // Marrow between the two tables of bone, thicker at the top.
        let middle = (cavity.distance - 0.5 * SKULL_MM).abs() - 1.4 - 0.25 * texture;
        layers.add_thin_tissue(Tissue::Marrow, middle.max(bone), ramp(-25.0, 15.0, p.z));
        layers.add_tissue(Tissue::Skull, bone);
        let mut muscles = skin.distance + 5.0 + 3.0 * ramp(-5.0, 20.0, p.z);
        if low {
            layers.add_tissue(Tissue::Skull, spine(side));
            let orbit = cone(side, v(30.0, 64.0, -33.0), 17.0, v(14.0, 30.0, -30.0), 6.0);
            muscles = muscles.max(-orbit.distance);
        }
        let temporalis = ellipsoid(side, v(68.0, 12.0, 4.0), v(16.0, 34.0, 40.0)).distance;
        let fat = 0.25 * ramp(0.6, 1.4, texture);
        // Its slope is about 0.5 per mm.
        let steady = 2.0 * (0.6 - texture).max(texture - 1.4);
        layers.clear_mm = layers.clear_mm.min(steady.max(0.0));
        layers.add_thin_tissue(
            Tissue::Muscle,
            muscles.min(temporalis.max(skin.distance + 2.5)),
            1.0 - fat,
        );
        layers.fill(Tissue::Scalp);
    }
}

/// Distance to the air in nose, sinuses and throat.
fn airways(p: DVec3) -> f64 {
    let maxillary = ellipsoid(p, v(26.0, 58.0, -60.0), v(12.0, 14.0, 15.0));
    let frontal = ellipsoid(p, v(9.0, 79.0, -17.0), v(9.0, 3.5, 9.0));
    let sphenoid = ellipsoid(p, v(7.0, 18.0, -39.0), v(8.0, 11.0, 8.0));
    let ethmoid = ellipsoid(p, v(7.5, 48.0, -38.0), v(5.0, 20.0, 10.0));
    let nasal = ellipsoid(p, v(5.0, 56.0, -60.0), v(3.5, 30.0, 14.0));
    let throat = cone(p, v(0.0, 10.0, -62.0), 7.0, v(0.0, 0.0, -150.0), 8.0);
    [maxillary, frontal, sphenoid, ethmoid, nasal, throat]
        .iter()
        .map(|s| s.distance)
        .fold(f64::INFINITY, f64::min)
}

/// Distance to the vertebrae around the spinal canal.
fn spine(p: DVec3) -> f64 {
    let body = cone(p, v(0.0, -22.0, -78.0), 11.0, v(0.0, -28.0, -170.0), 11.0);
    let arch = cone(p, v(0.0, -46.0, -80.0), 16.0, v(0.0, -50.0, -170.0), 15.0);
    body.distance.min(arch.distance)
}
