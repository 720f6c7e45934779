//! The head: which tissue and which fibres are at a world point.

use super::bundles::Bundle;
use super::cortex::{Cortex, Fold};
use super::deep::{self, Cerebellum};
use super::implicit::ramp;
use super::random::Random;
use super::shell::Shell;
use super::tissue::{Fractions, Layers, Tissue};
use super::tracts::{self, Locator};
use super::waves::Waves;
use crate::data::Tractogram;
use glam::DVec3;

/// Bundles push sulci away up to this far from their surface, so that a gyrus stays around them.
const REACH_MM: f64 = 4.0;
/// Thickness of the cerebellar cortex between folia.
const FOLIUM_MM: f64 = 1.3;

/// A made-up head. The anatomy is drawn once, in a space with the anterior commissure near the
/// origin; a seed gives it its size, the width of its ventricles and its own folds.
#[derive(Clone, Debug)]
pub struct Head {
    pub seed: u64,
    /// World mm per mm of the drawn head, along each axis.
    scale: DVec3,
    /// Added to the radius of the lateral ventricles, mm.
    ventricle_mm: f64,
    cortex: Cortex,
    cerebellum: Cerebellum,
    shell: Shell,
    texture: Waves<10>,
    bundles: Vec<Bundle>,
    locator: Locator,
}

/// Fibres of one bundle in a sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strand {
    pub bundle: usize,
    /// Share of the white matter, `0..=1`.
    pub share: f64,
    pub direction: DVec3,
}

/// What a sample holds.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub fractions: Fractions,
    pub strands: Vec<Strand>,
    /// White matter that no bundle claims, as a share of the white matter.
    pub rest: f64,
    /// Its directions as xx xy xz yy yz zz of a tensor of trace 1 at most; the rest is isotropic.
    pub rest_dyad: [f64; 6],
    /// Distance to the nearest surface, mm.
    pub clear_mm: f64,
}

impl Head {
    pub fn new(seed: u64) -> Self {
        let random = Random::new(seed);
        let size = random.stream(1);
        let overall = size.within(0, 0.975, 1.025);
        let scale = DVec3::new(
            overall * size.within(1, 0.975, 1.025),
            overall * size.within(2, 0.975, 1.025),
            overall * size.within(3, 0.98, 1.02),
        );
        let bundles = tracts::bundles(scale);
        let locator = Locator::new(&bundles, REACH_MM);
        Self {
            seed,
            scale,
            ventricle_mm: size.within(4, -0.6, 1.0),
            cortex: Cortex::new(random.stream(2)),
            cerebellum: Cerebellum::new(random.stream(3)),
            shell: Shell::new(random.stream(4)),
            texture: Waves::new(random.stream(5), 16.0),
            bundles,
            locator,
        }
    }

    /// All bundles; labels count from 1 in this order.
    pub fn bundles(&self) -> &[Bundle] {
        &self.bundles
    }

    /// The bundle of this name, as in `Corticospinal tract left`.
    pub fn bundle(&self, name: &str) -> Option<&Bundle> {
        self.bundles.iter().find(|b| b.name == name)
    }

    /// Number of bundles that hold a point: two or more where they cross or touch.
    pub fn bundles_at(&self, world: DVec3) -> usize {
        let mut count = 0;
        self.locator.near(&self.bundles, world, |_, near| {
            count += usize::from(near.distance <= 0.0);
        });
        count
    }

    /// World position of a point of the drawn head.
    pub fn world(&self, drawn: DVec3) -> DVec3 {
        drawn * self.scale
    }

    /// Shares of the tissues in a cube of `width_mm` around a world point.
    pub fn tissues(&self, world: DVec3, width_mm: f64) -> Fractions {
        let edges = [DVec3::X, DVec3::Y, DVec3::Z].map(|e| e * width_mm);
        let mut sum = Fractions::default();
        self.supersample(world, edges, |sample, weight| {
            sum.add(&sample.fractions, weight as f32);
        });
        sum
    }

    /// True fibres: for each bundle `per_bundle` of them, evenly over its cross-section, as a
    /// tractogram with the bundle's label per streamline.
    pub fn true_fibres(&self, per_bundle: usize) -> Tractogram {
        const STEP_MM: f64 = 1.0;
        let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
        let (mut points, mut offsets, mut labels) = (Vec::new(), vec![0], Vec::new());
        for bundle in &self.bundles {
            let count = (bundle.length_mm() / STEP_MM).ceil() as usize + 1;
            for i in 0..per_bundle {
                // Sunflower: equal areas, the first in the middle.
                let radius = (i as f64 / per_bundle as f64).sqrt();
                let turn = golden * i as f64;
                let fibre = bundle.fibre(radius * turn.cos(), radius * turn.sin(), count);
                points.extend(fibre.iter().map(|p| p.as_vec3().to_array()));
                offsets.push(points.len() as u64);
                labels.push(f32::from(bundle.label));
            }
        }
        Tractogram::new(points, offsets).with_per_streamline("bundle", labels)
    }

    /// Calls `take(sample, weight)` for the parts of a voxel with these edges: 2 × 2 × 2 where a
    /// surface runs through it, else one. Weights sum to 1.
    pub(super) fn supersample(
        &self,
        centre: DVec3,
        edges: [DVec3; 3],
        mut take: impl FnMut(&Sample, f64),
    ) {
        let width = edges.iter().map(|e| e.length()).sum::<f64>() / 3.0;
        let half_diagonal = 0.5 * edges.iter().map(|e| e.length_squared()).sum::<f64>().sqrt();
        let whole = self.sample(centre, width);
        if whole.clear_mm > half_diagonal {
            take(&whole, 1.0);
            return;
        }
        for part in 0..8 {
            let at = (0..3).map(|a| edges[a] * (0.5 * f64::from(part >> a & 1) - 0.25));
            take(&self.sample(centre + at.sum::<DVec3>(), 0.5 * width), 0.125);
        }
    }

    /// What a sample of `width` mm around a world point holds. Partial volumes come from the
    /// distances to the surfaces.
    pub(super) fn sample(&self, world: DVec3, width: f64) -> Sample {
        let p = world / self.scale;
        let mut layers = Layers::new(width);
        let mut sample = Sample {
            fractions: Fractions::default(),
            strands: Vec::new(),
            rest: 1.0,
            rest_dyad: [0.0; 6],
            clear_mm: 20.0,
        };
        if far_outside(p) {
            layers.fill(Tissue::Air);
            sample.fractions = layers.fractions;
            return sample;
        }
        let [cerebrum, cerebellum, stem] = deep::envelopes(&self.cortex, &self.cerebellum, p);
        let cavity = deep::cavity(cerebrum, cerebellum, stem, p);
        if cavity.distance > 0.5 * width {
            let skin = self.shell.skin(p, cavity);
            self.shell.lay(&mut layers, p, cavity, skin);
        } else {
            layers.lay(Tissue::Skull, -cavity.distance);
            // The nearest bundle's signed distance.
            let mut bundle_mm = f64::INFINITY;
            self.locator.near(&self.bundles, world, |bundle, near| {
                bundle_mm = bundle_mm.min(near.distance);
                let share = super::implicit::cover(near.distance, width);
                if share > 0.0 {
                    sample.strands.push(Strand {
                        bundle,
                        share: share * self.bundles[bundle].weight,
                        direction: near.direction,
                    });
                }
            });
            let core = if stem.distance < 0.0 {
                Tissue::BrainStem
            } else if cerebellum.distance < 0.0 {
                Tissue::CerebellarWhite
            } else {
                Tissue::White
            };
            layers.lay(core, bundle_mm);
            if p.x.abs() < 42.0 && p.y > -75.0 && p.y < 42.0 && p.z < 32.0 {
                self.lay_deep(&mut layers, p);
            }
            layers.lay(Tissue::BrainStem, stem.distance);
            let fold = self.cortex.at(p, cerebrum);
            if let Some(fold) = fold {
                let margin = 0.3 + 2.5 * ramp(8.0, 15.0, p.x.abs());
                let wall = fold
                    .wall_mm
                    .max(margin - bundle_mm)
                    .max(1.5 - stem.distance);
                layers.lay(Tissue::White, fold.ribbon_mm - wall);
                layers.lay(Tissue::Grey, -wall);
            }
            if cerebellum.distance < width {
                let wall = self.cerebellum.wall_mm(p, cerebellum);
                let wall = wall.max(FOLIUM_MM - bundle_mm);
                layers.lay(Tissue::CerebellarWhite, FOLIUM_MM - wall);
                layers.lay(Tissue::CerebellarGrey, -wall);
            }
            layers.fill(Tissue::Csf);
            let claimed: f64 = sample.strands.iter().map(|s| s.share).sum();
            for strand in &mut sample.strands {
                strand.share /= claimed.max(1.0);
            }
            sample.rest = (1.0 - claimed).max(0.0);
            if sample.rest > 0.0 && layers.fractions.white() > 0.0 {
                sample.rest_dyad = self.rest_dyad(p, fold, stem.distance, cerebellum.distance);
            }
        }
        sample.fractions = layers.fractions;
        sample.clear_mm = layers.clear_mm;
        sample
    }

    fn lay_deep(&self, layers: &mut Layers, p: DVec3) {
        layers.lay(Tissue::Ventricle, deep::midline_ventricles(p));
        layers.lay(Tissue::DeepGrey, deep::thalamus(p));
        layers.lay(Tissue::DeepGrey, deep::caudate(p));
        let lateral = deep::lateral_ventricle(p, self.ventricle_mm);
        layers.lay(Tissue::Ventricle, lateral);
        let (putamen, pallidum) = deep::lentiform(p);
        layers.lay(Tissue::DeepGrey, pallidum);
        layers.lay(Tissue::DeepGrey, putamen);
        layers.lay(Tissue::DeepGrey, deep::limbic(p));
    }

    /// Directions of the white matter between the bundles: out of the capsule like a crown, then
    /// into the gyri, around the floors of sulci, along the temporal lobe and the brain stem.
    fn rest_dyad(&self, p: DVec3, fold: Option<Fold>, stem: f64, cerebellum: f64) -> [f64; 6] {
        let side = p.x.signum();
        let mut dyad = [0.0; 6];
        let mut add = |weight: f64, v: DVec3| {
            let v = v.normalize_or_zero();
            let outer = [
                v.x * v.x,
                v.x * v.y,
                v.x * v.z,
                v.y * v.y,
                v.y * v.z,
                v.z * v.z,
            ];
            for (d, o) in dyad.iter_mut().zip(outer) {
                *d += weight * o;
            }
        };
        let strength = (0.85 + 0.25 * self.texture.value(p)).clamp(0.3, 1.2);
        if stem < 0.0 {
            add(strength, DVec3::new(0.12 * side, 0.28, -1.0));
        } else if cerebellum < 0.0 {
            add(strength, p - DVec3::new(14.0 * side, -52.0, -34.0));
        } else if let Some(fold) = fold {
            let inner = ramp(9.0, 24.0, fold.depth_mm);
            let temporal = ramp(2.0, -10.0, p.z) * ramp(20.0, 28.0, p.x.abs());
            let around = 0.75 * fold.u_fibres * (1.0 - inner);
            let outward = 1.0 - inner - around;
            add(strength * outward, fold.outward);
            add(strength * around, fold.around);
            add(
                strength * inner * temporal,
                DVec3::new(0.2 * side, 1.0, -0.35),
            );
            let crown = p - DVec3::new(17.0 * side, -12.0, -8.0);
            add(strength * inner * (1.0 - temporal), crown);
        }
        dyad
    }
}

/// A cheap sure test for air, in the drawn head.
fn far_outside(p: DVec3) -> bool {
    if p.z < 25.0 {
        return p.x.abs() > 100.0 || p.y > 118.0 || p.y < -128.0;
    }
    let q = (p - DVec3::new(0.0, -16.0, 9.0)) / DVec3::new(93.0, 113.0, 93.0);
    q.length_squared() > 1.0
}
