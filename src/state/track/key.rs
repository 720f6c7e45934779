//! The inputs of streamlines and rays of the regions, and the parameters of those along distributions.

use crate::data::{Region, Role, TissueType, Volume, VolumeKind};
use crate::solvers::curves::{self, Seeding};
use crate::solvers::geodesic;
use crate::solvers::odf_tracking;
use crate::state::Document;
use crate::state::core::layer::{Content, Layer};
use crate::state::core::live::LiveKey;
use crate::state::tensors::recipe::fod::FodMap;
use crate::state::track::types::odf::TissueKey;
use crate::state::track::types::{CurveKey, CurveKind, CurveParams};
use std::sync::Arc;

/// Largest number of seeds during a drag: a few milliseconds of work.
const COARSE_SEEDS: usize = 400;
/// A streamline along distributions takes ten times as long as one in tensors.
const COARSE_ODF_SEEDS: usize = 200;
/// Voxels without a scan, mm.
const TYPICAL_VOXEL_MM: f64 = 2.0;
/// Each repetition refits every voxel.
const COARSE_REPETITIONS: usize = 2;

impl Document {
    /// The key of the full streamlines or rays of the document; `None` without a seed, without the tensors or the
    /// distributions, or without the chosen tissues.
    pub fn curve_key(&self) -> Option<CurveKey> {
        let is_seeded = self.regions.iter().any(|r| r.role == Role::Seed);
        is_seeded.then(|| self.key_of(regions(self))).flatten()
    }

    /// The key of the document's curves in these regions.
    fn key_of(&self, regions: Vec<Region>) -> Option<CurveKey> {
        let track = &self.track;
        let tensors = || self.tensors.as_ref().map(|t| t.field.id());
        let (field, curves, tissues) = match track.kind() {
            CurveKind::Streamlines => (
                tensors()?,
                CurveParams::Streamlines(track.streamlines.clone()),
                None,
            ),
            CurveKind::Rays => (
                tensors()?,
                CurveParams::Rays(track.rays.metric, track.rays.params.clone()),
                None,
            ),
            CurveKind::OdfStreamlines => (
                self.distributions.field()?.id(),
                CurveParams::OdfStreamlines(self.odf_params()),
                self.tissue_key()?,
            ),
            CurveKind::OdfRays => (
                self.distributions.field()?.id(),
                CurveParams::OdfRays(track.odf.rays.speed, track.odf.rays.rays.params.clone()),
                None,
            ),
        };
        Some(CurveKey {
            field,
            regions,
            curves,
            tissues,
            coarse: false,
        })
    }

    /// The default parameters of streamlines along distributions, for the voxels of the scan.
    pub fn odf_defaults(&self, method: odf_tracking::Method) -> odf_tracking::Params {
        let grid = self.scan().and_then(|l| l.content.volume());
        let voxel_mm = grid.map_or(TYPICAL_VOXEL_MM, |volume| {
            let spacing = volume.grid.spacing();
            (spacing.x + spacing.y + spacing.z) / 3.0
        });
        let with_tissues = self.track.odf.tissues.is_some();
        odf_tracking::Params {
            seeding: curves::Params::defaults().seeding,
            ..odf_tracking::Params::defaults_for(method, voxel_mm, with_tissues)
        }
    }

    /// The parameters of streamlines along distributions, with a bootstrap only where it is possible.
    pub fn odf_params(&self) -> odf_tracking::Params {
        let chosen = self.track.odf.params.clone();
        let chosen =
            chosen.unwrap_or_else(|| self.odf_defaults(odf_tracking::Method::Probabilistic));
        let repetitions = chosen.repetitions.filter(|_| self.can_resample_fods());
        odf_tracking::Params {
            repetitions,
            ..chosen
        }
    }

    /// The tissues of the anatomical rules. The inner `None`: no rules; the outer one: the chosen layer is missing.
    pub fn tissue_key(&self) -> Option<Option<TissueKey>> {
        if self.track.odf.tissues.is_none() {
            return Some(None);
        }
        let (layer, image) = self.tissues()?;
        Some(Some(TissueKey {
            image: image.id(),
            input: self.input(layer.id),
        }))
    }

    /// The layer with the chosen tissues, if it is loaded.
    pub fn tissues(&self) -> Option<(&Arc<Layer>, &Volume)> {
        let layer = self.layer(self.track.odf.tissues?)?;
        Some((layer, tissue_image(layer)?))
    }

    /// The layers that can hold tissues, from the top.
    pub fn tissue_layers(&self) -> impl Iterator<Item = &Arc<Layer>> {
        let layers = self.layers.iter().rev();
        // The few voxels of the response functions are labels, but no map of tissues.
        let is_of_responses =
            move |layer: &Layer| self.origin(layer).fod_map() == Some(FodMap::ResponseVoxels);
        layers.filter(move |layer| tissue_image(layer).is_some() && !is_of_responses(layer))
    }
}

/// An image of five fractions, or a label map.
pub fn tissue_image(layer: &Layer) -> Option<&Volume> {
    let image = match &layer.content {
        Content::Scan {
            dwi,
            gradients: None,
        } if dwi.tensors.is_none() => dwi,
        Content::Image(image) => image,
        _ => return None,
    };
    let fits = match image.frames {
        1 => image.labels.is_some(),
        frames => frames == TissueType::COUNT,
    };
    (fits && image.kind == VolumeKind::Scalar).then_some(image)
}

/// The coarse parameters along distributions.
pub fn coarse_odf_params(params: &odf_tracking::Params) -> odf_tracking::Params {
    let count = match params.seeding {
        Seeding::Random { count } => count.min(COARSE_ODF_SEEDS),
        Seeding::Grid { .. } | Seeding::PerVoxel { .. } => COARSE_ODF_SEEDS,
    };
    odf_tracking::Params {
        seeding: Seeding::Random { count },
        // The number of seeds that give a number of streamlines is not known before.
        select: None,
        // A repetition deconvolves the whole scan.
        repetitions: None,
        ..params.clone()
    }
}

/// The participating regions: hundreds from a label map do not slow down tracking.
pub fn regions(document: &Document) -> Vec<Region> {
    let regions = document.regions.iter();
    let taking_part = regions.filter(|r| r.role.affects_curves());
    taking_part.map(|r| (**r).clone()).collect()
}

/// The parameters of streamlines while something is dragged.
pub fn coarse_params(params: &curves::Params) -> curves::Params {
    let mut params = params.clone();
    params.seeding = match params.seeding {
        Seeding::Random { count } => Seeding::Random {
            count: count.min(COARSE_SEEDS),
        },
        Seeding::Grid { .. } | Seeding::PerVoxel { .. } => Seeding::Random {
            count: COARSE_SEEDS,
        },
    };
    params.repetitions = params.repetitions.map(|n| n.min(COARSE_REPETITIONS));
    params
}

/// Whether coarse rays are some of those with the full parameters. Their number depends on the speed of the last ones.
fn are_some(coarse: &geodesic::Params, full: &geodesic::Params) -> bool {
    let mut some = full.clone();
    some.curves.seeding = coarse.curves.seeding;
    *coarse == some
}

impl CurveKey {
    /// Whether curves of this key are those of the document as it is, all or some of them.
    pub fn is_current(&self, document: &Document) -> bool {
        document.curve_key().is_some_and(|full| self.is_of(&full))
    }

    /// Whether curves of this key are those of `full`, or some of them.
    pub fn is_of(&self, full: &Self) -> bool {
        let is_same = match (&self.curves, &full.curves) {
            (own, full) if !self.coarse => own == full,
            (CurveParams::Streamlines(own), CurveParams::Streamlines(full)) => {
                *own == coarse_params(full)
            }
            (CurveParams::Rays(own_metric, own), CurveParams::Rays(metric, full)) => {
                own_metric == metric && are_some(own, full)
            }
            (CurveParams::OdfRays(own_speed, own), CurveParams::OdfRays(speed, full)) => {
                own_speed == speed && are_some(own, full)
            }
            (CurveParams::OdfStreamlines(own), CurveParams::OdfStreamlines(full)) => {
                *own == coarse_odf_params(full)
            }
            (
                CurveParams::Streamlines(_)
                | CurveParams::Rays(..)
                | CurveParams::OdfStreamlines(_)
                | CurveParams::OdfRays(..),
                _,
            ) => false,
        };
        is_same && self.has_regions_of(full)
    }

    /// Whether the regions have not been moved since, and everything except the parameters is equal.
    fn has_regions_of(&self, other: &Self) -> bool {
        let same = |(a, b): (&Region, &Region)| Arc::ptr_eq(&a.shape, &b.shape);
        self.stands_in_for(other) && self.regions.iter().zip(&other.regions).all(same)
    }
}

impl PartialEq for CurveKey {
    fn eq(&self, other: &Self) -> bool {
        (self.coarse, &self.curves) == (other.coarse, &other.curves) && self.has_regions_of(other)
    }
}

impl LiveKey for CurveKey {
    /// Whether tensors or distributions, tissues, method and regions are the same; regions may have been moved since.
    fn stands_in_for(&self, requested: &Self) -> bool {
        let same = |(a, b): (&Region, &Region)| (a.id, a.role) == (b.id, b.role);
        (self.field, self.tissues) == (requested.field, requested.tissues)
            && std::mem::discriminant(&self.curves) == std::mem::discriminant(&requested.curves)
            && self.regions.len() == requested.regions.len()
            && self.regions.iter().zip(&requested.regions).all(same)
    }
}
