//! The voxels of repetitions, and their distances from a mask.

use crate::compute::{Backend, Control};
use crate::data::{Mask, Tractogram};
use crate::solvers::pathway::{Distances, MaskDistance, Path, path_distances_on_surface};
use crate::solvers::{Error, region};
use crate::state::pathways::{DistancesAround, Level, NoiseDistances, NoiseMargin};
use glam::DVec3;
use std::sync::Arc;

/// Shares of the repetitions that have a level.
const SHARES: [f64; 3] = [0.05, 0.5, 0.9];

/// Repetitions of a pathway or of streamlines.
pub(in crate::state) struct RepeatedCurves<'a, V> {
    /// The number of repetitions.
    pub repetitions: usize,
    /// Gives the voxels in at least a share of the repetitions.
    pub voxels: V,
    /// The minimal path or the centre line of each repetition that has one.
    pub curves: Vec<&'a Path>,
    /// The curve along which distances are given; `None` without any curve.
    pub shown: Option<&'a Path>,
}

impl Level {
    /// The levels of [`SHARES`]; `voxels` gives the voxels in at least a share of the repetitions.
    pub(in crate::state) fn all(
        voxels: impl Fn(f64) -> Mask,
        mask: Option<&MaskDistance>,
        backend: &Backend,
        control: &Control,
    ) -> Result<Vec<Self>, Error> {
        let level = |share: f64| {
            let voxels = voxels(share);
            let from_mask = mask.map(|mask| mask.to_mask(&voxels, backend, control));
            Ok(Self {
                share,
                volume_ml: voxels.volume_ml(),
                from_mask: from_mask.transpose()?.flatten(),
            })
        };
        SHARES.into_iter().map(level).collect()
    }
}

impl NoiseDistances {
    /// The levels of repetitions, with their distances from a mask if there is one.
    pub(in crate::state) fn measure(
        repeated: RepeatedCurves<'_, impl Fn(f64) -> Mask>,
        mask: Option<&Mask>,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        let mask = mask.and_then(MaskDistance::new);
        let levels = Level::all(repeated.voxels, mask.as_ref(), backend, control)?;
        let along = mask
            .zip(repeated.shown)
            .map(|(mask, shown)| Distances::new(&repeated.curves, shown, &mask, backend, control));
        let along = along.transpose()?;
        let shortest = along.as_ref().and_then(|along| along.shortest);
        let line = |ends: [DVec3; 2]| ends.map(|end| end.as_vec3().to_array());
        Ok(Self {
            repetitions: repeated.repetitions,
            levels,
            shortest: shortest.map(|ends| Tractogram::of_curves([line(ends)])),
            along: along.map(Arc::new),
            around: None,
            on_surface: None,
        })
    }

    /// Adds the images with which views draw the distances from a mask; `known` are the distances around the mask of an
    /// earlier measurement.
    pub(in crate::state) fn add_images(
        &mut self,
        known: Option<DistancesAround>,
        mask: &Mask,
        shown: Option<&Path>,
        backend: &Backend,
        control: &Control,
    ) -> Result<(), Error> {
        self.around = DistancesAround::known_or_new(known, mask, backend, control)?;
        let drawn = self.around.as_ref().zip(shown);
        let on_surface = drawn.map(|(around, shown)| {
            backend.install(|| path_distances_on_surface(&around.volume, shown, control))
        });
        self.on_surface = on_surface.transpose()?;
        Ok(())
    }
}

impl DistancesAround {
    /// The known distances, if they are those of this mask; otherwise they are computed.
    fn known_or_new(
        known: Option<Self>,
        mask: &Mask,
        backend: &Backend,
        control: &Control,
    ) -> Result<Option<Self>, Error> {
        let known = known.filter(|known| known.mask == mask.id());
        if known.is_some() {
            return Ok(known);
        }
        let compute = || region::distances_around(mask, NoiseMargin::MAX_MM, control);
        let volume = backend.install(compute)?;
        Ok(volume.map(|volume| Self {
            mask: mask.id(),
            volume,
        }))
    }
}
