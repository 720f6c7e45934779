//! The head: tissue and fibres at a world point.

use super::blocks;
use super::bundles::Bundle;
use super::cortex::Cortex;
use super::crossings;
use super::deep_structures::{Cerebellum, DeepStructures, SKULL_SEAM_MM, cavity};
use super::implicit::{Surface, bump, cover, ramp};
use super::shell::Shell;
use super::tissue::{Fractions, Layers, Tissue};
use super::tracts::{self, Locator};
use super::waves::Waves;
use crate::data::random::Random;
use crate::data::tensor_field::dyad;
use crate::data::{BuiltInPhantom, PhantomKind, Tractogram};
use glam::DVec3;

/// Bundles displace sulci up to this distance from their surface, so that a gyrus surrounds them.
const DISPLACEMENT_MM: f64 = 4.0;
/// Thickness of fluid between a bundle and the skull, mm.
const FLUID_MM: f64 = 1.8;
/// Bundles align the surrounding fibres up to this distance from their surface.
const ALIGNMENT_MM: f64 = 12.0;
/// Width over which a bundle blends into its surroundings, in addition to the sample's own width.
const SOFT_MM: f64 = 1.6;
/// Wavelength of irregularities of the white matter.
const TEXTURE_MM: f64 = 17.0;
/// Thickness of the cerebellar cortex between folia.
const FOLIUM_MM: f64 = 1.3;

/// A synthetic head. The anatomy is defined once, in a space with the anterior commissure near the origin; a seed
/// determines its size, the width of its ventricles and its own folds. Of a block, only the noise depends on the seed.
#[derive(Clone, Debug)]
pub struct Head {
    /// Kind of bundles, and of their surroundings.
    pub kind: PhantomKind,
    /// Seed that determines shape and bundles.
    pub seed: u64,
    /// World mm per mm of the reference head, along each axis.
    scale: DVec3,
    /// Half the edges of a block, which has no anatomy.
    block: Option<DVec3>,
    cortex: Cortex,
    deep: DeepStructures,
    cerebellum: Cerebellum,
    shell: Shell,
    texture: Waves<10>,
    bundles: Vec<Bundle>,
    close: Locator,
    around: Locator,
}

/// Fibres of one bundle in a sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct FibreShare {
    pub bundle: usize,
    /// Fraction of the white matter, `0..=1`.
    pub share: f64,
    pub direction: DVec3,
}

/// The fibres of the white matter at a point.
#[derive(Clone, Debug, Default)]
pub(super) struct Fibres {
    pub shares: Vec<FibreShare>,
    /// White matter outside all bundles, as a fraction of the white matter.
    pub rest: f64,
    /// Its directions as xx xy xz yy yz zz of a sum of dyads, with trace 1 if they are well defined; the remainder to
    /// 1 has no direction.
    pub rest_dyad: [f64; 6],
}

impl Head {
    /// Head of the plain kind with this seed.
    pub fn new(seed: u64) -> Self {
        Self::built_in(BuiltInPhantom::plain(seed))
    }

    /// The head of this kind and seed. Heads of the same seed differ in their bundles and in the gyri around them.
    pub fn built_in(BuiltInPhantom { kind, seed }: BuiltInPhantom) -> Self {
        let random = Random::new(seed);
        let size = random.stream(1);
        let overall = size.within(0, 0.93, 0.965);
        let scale = DVec3::new(
            overall * size.within(1, 0.98, 1.02),
            overall * size.within(2, 0.98, 1.02),
            overall * size.within(3, 0.98, 1.02),
        );
        let block = blocks::half_edges(kind);
        let scale = if block.is_some() { DVec3::ONE } else { scale };
        let bundles = match kind {
            PhantomKind::Plain => tracts::bundles(tracts::PAIRED, tracts::COMMISSURAL, scale),
            PhantomKind::Crossing => {
                tracts::bundles(crossings::PAIRED, crossings::COMMISSURAL, scale)
            }
            _ => blocks::bundles(kind),
        };
        let close = Locator::new(&bundles, DISPLACEMENT_MM);
        let around = Locator::new(&bundles, ALIGNMENT_MM);
        Self {
            kind,
            seed,
            scale,
            block,
            cortex: Cortex::new(random.stream(2)),
            deep: DeepStructures::new(size.within(4, -0.6, 1.0)),
            cerebellum: Cerebellum::new(random.stream(3)),
            shell: Shell::new(random.stream(4)),
            texture: Waves::new(random.stream(5), TEXTURE_MM),
            bundles,
            close,
            around,
        }
    }

    /// All bundles; labels count from 1 in this order.
    pub fn bundles(&self) -> &[Bundle] {
        &self.bundles
    }

    /// The bundle with this name, such as `Corticospinal tract left`.
    pub fn bundle(&self, name: &str) -> Option<&Bundle> {
        self.bundles.iter().find(|b| b.name == name)
    }

    /// Largest angle (radians) between the fibres of two bundles that both contain a point; 0 if there are fewer than
    /// two. Beyond about half a radian a single tensor misses one of them.
    pub fn crossing_rad(&self, world: DVec3) -> f64 {
        let mut inside: Vec<DVec3> = Vec::new();
        let mut largest_rad = 0f64;
        self.close.near(&self.bundles, world, |_, near| {
            if near.distance <= 0.0 {
                for other in &inside {
                    largest_rad = largest_rad.max(near.direction.dot(*other).abs().min(1.0).acos());
                }
                inside.push(near.direction);
            }
        });
        largest_rad
    }

    /// World position of a point of the reference head.
    pub fn world(&self, drawn: DVec3) -> DVec3 {
        drawn * self.scale
    }

    /// Fractions of the tissues in a cube of `width_mm` around a world point.
    pub fn tissues(&self, world: DVec3, width_mm: f64) -> Fractions {
        self.voxel(world, [DVec3::X, DVec3::Y, DVec3::Z].map(|e| e * width_mm))
            .0
    }

    /// True fibres: `per_bundle` of each bundle, as a tractogram with the bundle's label per streamline.
    pub fn true_fibres(&self, per_bundle: usize) -> Tractogram {
        let (mut points, mut offsets, mut labels) = (Vec::new(), vec![0], Vec::new());
        for bundle in &self.bundles {
            for fibre in bundle.fibres(per_bundle) {
                points.extend(fibre);
                offsets.push(points.len() as u64);
                labels.push(f32::from(bundle.label));
            }
        }
        Tractogram::new(points, offsets).with_per_streamline("bundle", labels)
    }

    /// Fractions of the tissues in a voxel with these edges: from four samples if a surface of the brain crosses it,
    /// otherwise from one; and the distance (mm) over which they are constant.
    pub(super) fn voxel(&self, centre: DVec3, edges: [DVec3; 3]) -> (Fractions, f64) {
        let width = edges.iter().map(|e| e.length()).sum::<f64>() / 3.0;
        let half_diagonal = 0.5 * edges.iter().map(|e| e.length_squared()).sum::<f64>().sqrt();
        let (whole, clear_mm) = self.sample(centre, width);
        if clear_mm > half_diagonal || whole.brain() + whole.fraction(Tissue::Csf) == 0.0 {
            return (whole, clear_mm - half_diagonal);
        }
        // The corners of a tetrahedron, half way to the voxel's faces.
        let mut sum = Fractions::default();
        for [x, y, z] in [
            [1.0, 1.0, 1.0],
            [1.0, -1.0, -1.0],
            [-1.0, 1.0, -1.0],
            [-1.0, -1.0, 1.0],
        ] {
            let at = 0.25 * (x * edges[0] + y * edges[1] + z * edges[2]);
            sum.add(&self.sample(centre + at, 0.62 * width).0, 0.25);
        }
        (sum, 0.0)
    }

    /// Fractions of the tissues in a sample of `width` mm around a world point, from the distances to the surfaces,
    /// and the distance to the nearest surface, mm.
    pub(super) fn sample(&self, world: DVec3, width: f64) -> (Fractions, f64) {
        if let Some(half_edges) = self.block {
            return self.block_sample(half_edges, world, width);
        }
        let p = world / self.scale;
        let mut layers = Layers::new(width);
        let outside = air_distance_mm(p);
        if outside > 0.0 {
            layers.fill(Tissue::Air);
            return (layers.fractions, outside);
        }
        let [cerebrum, cerebellum, stem] = self.envelopes(p);
        let cavity = cavity(cerebrum, cerebellum, stem, p);
        let bundle_mm = self.close.distance(&self.bundles, world);
        // Where the skull's seams come near a bundle, they leave room for it.
        let skull_mm = if bundle_mm < DISPLACEMENT_MM {
            cavity.distance.min(bundle_mm - FLUID_MM)
        } else {
            cavity.distance
        };
        if skull_mm > 0.5 * width {
            let skin = self.shell.skin(p, cavity);
            self.shell.add_tissues(&mut layers, p, cavity, skin);
            let clear_mm = layers.clear_mm.min(skull_mm).min(bundle_mm);
            return (layers.fractions, clear_mm);
        }
        layers.add_tissue(Tissue::Skull, -skull_mm);
        let core = if cerebellum.distance < 0.0 && stem.distance > 0.0 {
            Tissue::CerebellarWhite
        } else {
            Tissue::White
        };
        layers.add_tissue(core, bundle_mm);
        self.deep.add_tissues(&mut layers, p);
        layers.add_tissue(Tissue::BrainStem, stem.distance);
        if let Some(fold) = self.cortex.at(p, cerebrum) {
            let margin = 0.3 + 2.5 * ramp(8.0, 15.0, p.x.abs());
            let wall = fold.wall_mm.max(margin - bundle_mm);
            let wall = wall.max(1.5 - stem.distance);
            layers.add_tissue(Tissue::White, fold.ribbon_mm - wall);
            layers.add_tissue(Tissue::Grey, -wall);
        }
        if cerebellum.distance < width {
            let wall = self.cerebellum.wall_mm(p, cerebellum);
            let wall = wall.max(FOLIUM_MM - bundle_mm);
            layers.add_tissue(Tissue::CerebellarWhite, FOLIUM_MM - wall);
            layers.add_tissue(Tissue::CerebellarGrey, -wall);
        }
        layers.fill(Tissue::Csf);
        (layers.fractions, layers.clear_mm)
    }

    /// Bundles of white matter in grey matter in air.
    fn block_sample(&self, half_edges: DVec3, world: DVec3, width: f64) -> (Fractions, f64) {
        let outside_mm = (world.abs() - half_edges).max_element();
        let mut layers = Layers::new(width);
        layers.add_tissue(Tissue::Air, -outside_mm);
        layers.add_tissue(Tissue::White, self.close.distance(&self.bundles, world));
        layers.fill(Tissue::Grey);
        (layers.fractions, layers.clear_mm)
    }

    /// Cerebrum, cerebellum and brain stem; the latter two are exact where needed.
    fn envelopes(&self, p: DVec3) -> [Surface; 3] {
        let cerebrum = self.cortex.envelope(p);
        let reach = cerebrum.distance.max(0.0) + SKULL_SEAM_MM + 4.0;
        [
            cerebrum,
            self.cerebellum.envelope(p, reach),
            self.deep.brain_stem(p, reach),
        ]
    }

    /// The fibres of the white matter in a sample of `width` mm.
    pub(super) fn fibres(&self, world: DVec3, width: f64) -> Fibres {
        let mut fibres = Fibres::default();
        let mut led = Directions::default();
        self.around.near(&self.bundles, world, |bundle, near| {
            let weight = self.bundles[bundle].weight;
            let share = cover(near.distance, width + SOFT_MM);
            if share > 0.0 {
                fibres.shares.push(FibreShare {
                    bundle,
                    share: share * weight,
                    direction: near.direction,
                });
            }
            let outside = near.distance.max(0.0);
            let fade = bump(outside, 0.0, 0.4 * ALIGNMENT_MM) + 2.5 * bump(outside, 0.0, 1.5);
            led.add(weight * fade, near.direction);
        });
        let claimed: f64 = fibres.shares.iter().map(|s| s.share).sum();
        for fibre in &mut fibres.shares {
            fibre.share /= claimed.max(1.0);
        }
        fibres.rest = (1.0 - claimed).max(0.0);
        // Fibres at the rim of a bundle in a block have no other neighbours.
        if fibres.rest > 0.0 && self.block.is_some() {
            fibres.rest_dyad = led.mean();
        } else if fibres.rest > 0.0 {
            fibres.rest_dyad = self.rest_dyad(world / self.scale, led);
        }
        fibres
    }

    /// Directions of the white matter between the bundles: parallel to nearby bundles, and farther away radiating
    /// from the capsule like a crown, into the gyri, around the floors of sulci, along the temporal lobe and the
    /// brain stem.
    fn rest_dyad(&self, p: DVec3, mut led: Directions) -> [f64; 6] {
        let side = p.x.signum();
        let [cerebrum, cerebellum, stem] = self.envelopes(p);
        let (value, gradient) = self.texture.at(p);
        // Neighbouring fibres are only roughly parallel.
        let stray = 0.30 * gradient * (TEXTURE_MM / std::f64::consts::TAU);
        let firm = 0.95 + 0.2 * value;
        let mut go = |weight: f64, v: DVec3| led.add(weight, v.normalize_or_zero() + stray);
        if stem.distance < 0.0 {
            go(0.7, DVec3::new(0.12 * side, 0.28, -1.0));
        } else if cerebellum.distance < 0.0 {
            go(0.7, p - DVec3::new(14.0 * side, -52.0, -34.0));
        } else if let Some(fold) = self.cortex.at(p, cerebrum) {
            let inner = ramp(8.0, 24.0, fold.depth_mm);
            let temporal = ramp(2.0, -10.0, p.z) * ramp(20.0, 28.0, p.x.abs());
            let around = 0.8 * fold.u_fibres * (1.0 - inner);
            go(0.6 * (1.0 - inner - around).max(0.0), fold.outward);
            go(0.6 * around, fold.around);
            go(0.6 * inner * temporal, DVec3::new(0.2 * side, 1.0, -0.35));
            let crown = p - DVec3::new(17.0 * side, -12.0, -8.0);
            go(0.6 * inner * (1.0 - temporal), crown);
        }
        let firm = firm.clamp(0.4, 1.0) / led.weight.max(1e-9);
        led.dyad.map(|d| firm * d)
    }
}

/// A weighted sum of unsigned directions.
#[derive(Default)]
struct Directions {
    weight: f64,
    dyad: [f64; 6],
}

impl Directions {
    fn add(&mut self, weight: f64, v: DVec3) {
        let v = v.normalize_or_zero();
        let outer = dyad(v);
        for (d, o) in self.dyad.iter_mut().zip(outer) {
            *d += weight * o;
        }
        self.weight += weight;
    }

    /// The sum with a trace of 1; 0 without any direction.
    fn mean(&self) -> [f64; 6] {
        self.dyad.map(|d| d / self.weight.max(1e-9))
    }
}

/// A cheap test for air: a lower bound on the distance (mm) of a point of the reference head from anything else; 0 if
/// it may be in the head.
fn air_distance_mm(p: DVec3) -> f64 {
    // The envelope of the brain, enlarged for skull and scalp, with the same shape.
    let size = (p - DVec3::new(0.0, -16.5, 9.0)).abs() / DVec3::new(88.0, 108.0, 88.0);
    let power = size.x * size.x * size.x.sqrt()
        + size.y * size.y * size.y.sqrt()
        + size.z * size.z * size.z.sqrt();
    let vault = if power > 1.0 {
        (power.powf(0.4) - 1.0) * 88.0
    } else {
        0.0
    };
    if p.z > 25.0 {
        return vault;
    }
    let side = (p.x.abs() - 100.0).max(p.y - 118.0).max(-126.0 - p.y);
    side.max(0.0)
        .min(if p.z > 10.0 { vault } else { f64::INFINITY })
}
