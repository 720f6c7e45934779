//! World bounds of a document.

use super::Document;
use crate::state::core::layer::{Content, Layer};
use glam::DVec3;

fn are_lines(layer: &Layer) -> bool {
    matches!(layer.content, Content::Tractogram(_) | Content::InPlace(_))
}

impl Document {
    /// World bounds of all image layers (of the tractograms if there is no image).
    pub fn bounds(&self) -> (DVec3, DVec3) {
        let extent = |lines: bool| {
            let requested = self.layers.iter().filter(|l| are_lines(l) == lines);
            requested
                .filter_map(|l| l.content.bounds())
                .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        };
        extent(false)
            .or_else(|| extent(true))
            .unwrap_or((DVec3::splat(-90.0), DVec3::splat(90.0)))
    }

    /// The sphere around the streamlines, world mm, if there is no image with them.
    pub fn lines_alone(&self) -> Option<(DVec3, f64)> {
        /// Number of points sampled per layer; streamlines are finely sampled, and a millimetre does not matter.
        const LOOKED_AT: usize = 100_000;
        const MARGIN_MM: f64 = 1.0;
        let lines = self.layers.iter().map(|l| match &l.content {
            Content::Tractogram(tractogram) => Some(tractogram),
            Content::InPlace(lines) => Some(&lines.first.tractogram),
            _ => None,
        });
        let lines: Option<Vec<_>> = lines.collect();
        let lines = lines.filter(|lines| !lines.is_empty())?;
        let (low, high) = self.bounds();
        let centre = (low + high) * 0.5;
        let points = lines.iter().flat_map(|t| {
            let every = (t.points.len() / LOOKED_AT).max(1);
            t.points.iter().step_by(every)
        });
        let away = points.map(|p| centre.distance(DVec3::from_array(p.map(f64::from))));
        let farthest = away.filter(|mm| mm.is_finite()).fold(0.0, f64::max);
        Some((centre, farthest + MARGIN_MM))
    }

    /// The fitted voxels' bounds, else those of everything, mm.
    pub fn head(&self) -> (DVec3, DVec3) {
        self.tensors
            .as_ref()
            .map_or_else(|| self.bounds(), |t| t.head)
    }

    /// The bounds that the views frame: the head with a margin if there is a fit, otherwise everything.
    pub fn framed(&self) -> (DVec3, DVec3) {
        const MARGIN_MM: f64 = 8.0;
        match &self.tensors {
            Some(tensors) => (tensors.head.0 - MARGIN_MM, tensors.head.1 + MARGIN_MM),
            None => self.bounds(),
        }
    }

    /// The bounds that slices show, mm. Streamlines without an image lie in a cube: a long thin bundle would otherwise
    /// have another scale in each slice.
    pub fn sliced(&self) -> (DVec3, DVec3) {
        let (low, high) = self.framed();
        if self.layers.is_empty() || !self.layers.iter().all(|l| are_lines(l)) {
            return (low, high);
        }
        let (centre, half) = ((low + high) * 0.5, (high - low).max_element() * 0.5);
        (centre - half, centre + half)
    }
}
