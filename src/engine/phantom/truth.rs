//! The truth about a head's bundles with which streamlines are scored: where each bundle ends, the corridor around it,
//! and the fractions of five tissues that anatomical rules of tracking read.

use super::bundles::Bundle;
use super::head::Head;
use super::tissue::{Fractions, Tissue};
use super::tracts::Locator;
use crate::compute::{Cancelled, Control};
use crate::data::{Grid, Mask, PhantomKind, Volume, VolumeKind};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;

/// Number of true fibres of a bundle: enough for them to pass through every 2 mm voxel that the bundle fills.
pub const TRUTH_FIBRES: usize = 200;
/// Number of true fibres of a bundle of the plain head.
const PLAIN_FIBRES: usize = 60;

/// Number of true fibres of each bundle in the tractogram of a phantom.
pub fn fibres_per_bundle(kind: PhantomKind) -> usize {
    match kind.is_plain() {
        true => PLAIN_FIBRES,
        false => TRUTH_FIBRES,
    }
}

/// A streamline reaches an end of a bundle from this far before it …
const BEFORE_MM: f64 = 6.0;
/// … to this far beyond it, since streamlines run on to the cortex or out of the image.
const BEYOND_MM: f64 = 10.0;
/// Width of the margin around the bundle in which an end counts as the bundle's.
const MARGIN_MM: f64 = 2.0;
/// Width of the corridor around the bundle: two voxels of a typical scan.
const CORRIDOR_MM: f64 = 4.0;
/// Half the diagonal of a cube with edge 1, rounded up: a voxel that a fibre passes has its centre this near.
const HALF_DIAGONAL: f64 = 0.87;

/// Where the bundles of a head end, and the corridors around them.
#[derive(Clone, Debug)]
pub struct BundleRegions {
    /// Labels by [`BundleRegions::end_labels`]; 0 elsewhere.
    pub ends: Volume,
    /// Names of the labels.
    pub names: Vec<(u16, String)>,
    /// One for each bundle, in their order.
    pub corridors: Vec<Mask>,
}

impl BundleRegions {
    /// Labels of the start and the end of a bundle.
    pub fn end_labels(bundle: &Bundle) -> [u16; 2] {
        [2 * bundle.label - 1, 2 * bundle.label]
    }
}

/// A point relative to a bundle.
struct Surroundings {
    is_in_corridor: bool,
    /// The end (0 or 1) in whose region the point lies, and its distance from the end's cross-section, mm.
    end: Option<(usize, f64)>,
}

impl Surroundings {
    fn new(bundle: &Bundle, length_mm: f64, x: DVec3, voxel_mm: f64) -> Self {
        let (at, aside_mm) = bundle.coordinates_and_side(x);
        let around_mm = aside_mm.max(0.0);
        let end = usize::from(at.t > 0.5);
        let before_mm = at.t.min(1.0 - at.t) * length_mm;
        let min_mm = HALF_DIAGONAL * voxel_mm;
        let near_end = match at.beyond_mm > 0.0 {
            true => at.beyond_mm <= BEYOND_MM,
            false => before_mm <= BEFORE_MM.max(min_mm),
        };
        let is_end = near_end && around_mm <= MARGIN_MM.max(min_mm);
        let away_mm = around_mm.hypot(at.beyond_mm);
        Self {
            is_in_corridor: is_end || away_mm <= CORRIDOR_MM.max(min_mm),
            end: is_end.then(|| (end, around_mm.hypot(at.beyond_mm.max(before_mm)))),
        }
    }
}

/// Fractions in the order of MRtrix's images of five tissues: cortex, deep grey matter, white matter, fluid, lesions;
/// all 0 outside the brain and its fluid.
fn five_fractions(fractions: &Fractions) -> [f32; 5] {
    let sum = |tissues: &[Tissue]| -> f32 { tissues.iter().map(|&t| fractions.fraction(t)).sum() };
    let five = [
        sum(&[Tissue::Grey, Tissue::CerebellarGrey]),
        sum(&[Tissue::DeepGrey]),
        fractions.white(),
        sum(&[Tissue::Csf, Tissue::Ventricle]),
        0.0,
    ];
    let whole: f32 = five.iter().sum();
    if whole < 0.5 {
        return [0.0; 5];
    }
    five.map(|f| f / whole)
}

impl Head {
    /// The regions of the bundles on a grid.
    pub fn bundle_regions(
        &self,
        grid: &Arc<Grid>,
        control: &Control,
    ) -> Result<BundleRegions, Cancelled> {
        let bundles = self.bundles();
        let voxel_mm = grid.spacing().max_element();
        let reach_mm = (BEYOND_MM + MARGIN_MM).max(CORRIDOR_MM.max(HALF_DIAGONAL * voxel_mm));
        let locator = Locator::new(bundles, reach_mm);
        let lengths_mm: Vec<f64> = bundles.iter().map(Bundle::length_mm).collect();
        let slice = grid.shape[0] * grid.shape[1];
        let n = grid.voxel_count();
        let mut ends = vec![0f32; n];
        let mut corridors = vec![vec![0u8; n]; bundles.len()];
        let mut slices: Vec<Vec<&mut [u8]>> = (0..grid.shape[2]).map(|_| Vec::new()).collect();
        for corridor in &mut corridors {
            for (z, part) in corridor.chunks_mut(slice).enumerate() {
                slices[z].push(part);
            }
        }
        control.begin("Outlining the bundles", grid.shape[2] as u64);
        ends.par_chunks_mut(slice)
            .zip(slices)
            .enumerate()
            .try_for_each(|(z, (ends, mut corridors))| {
                for (i, label) in ends.iter_mut().enumerate() {
                    if i % grid.shape[0] == 0 {
                        control.check()?;
                    }
                    let voxel = grid.voxel(z * slice + i).map(|v| v as f64);
                    let world = grid.world(DVec3::from_array(voxel));
                    let mut nearest_mm = f64::INFINITY;
                    for b in locator.candidates(world) {
                        let (bundle, length_mm) = (&bundles[b], lengths_mm[b]);
                        let surroundings = Surroundings::new(bundle, length_mm, world, voxel_mm);
                        corridors[b][i] = u8::from(surroundings.is_in_corridor);
                        if let Some((end, away_mm)) = surroundings.end
                            && away_mm < nearest_mm
                        {
                            nearest_mm = away_mm;
                            *label = f32::from(BundleRegions::end_labels(bundle)[end]);
                        }
                    }
                }
                control.advance(1);
                Ok(())
            })?;
        let names = bundles.iter().flat_map(|b| {
            let [start, end] = BundleRegions::end_labels(b);
            [
                (start, format!("{}, start", b.name)),
                (end, format!("{}, end", b.name)),
            ]
        });
        Ok(BundleRegions {
            ends: Volume::scalar(grid.clone(), ends),
            names: names.collect(),
            corridors: corridors
                .into_iter()
                .map(|inside| Mask::new(grid.clone(), inside))
                .collect(),
        })
    }

    /// Fractions of five tissues, a volume each, in the order of MRtrix's 5tt images.
    pub fn five_tissues(&self, grid: &Arc<Grid>, control: &Control) -> Result<Volume, Cancelled> {
        let fractions =
            self.voxel_values(grid, ("Mapping the tissues", control), five_fractions)?;
        let values: Vec<f32> = (0..5)
            .flat_map(|t| fractions.iter().map(move |f| f[t]))
            .collect();
        Ok(Volume::new(grid.clone(), 5, VolumeKind::Scalar, values))
    }
}
