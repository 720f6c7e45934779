//! Streamlines.

use crate::compute::DataId;
use glam::{DVec3, Vec3};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Many streamlines: all points in one array, cut by `offsets`. Order and index are never changed,
/// so that weights and per-streamline values still match.
#[derive(Clone, Debug)]
pub struct Tractogram {
    id: DataId,
    /// World RAS+ mm.
    pub points: Arc<[[f32; 3]]>,
    /// Streamline `i` owns `points[offsets[i]..offsets[i + 1]]`; one more entry than streamlines.
    pub offsets: Arc<[u64]>,
    /// Values per streamline (dps), each as long as there are streamlines.
    pub per_streamline: BTreeMap<String, Arc<[f32]>>,
    /// Values per point (dpv), each as long as `points`.
    pub per_point: BTreeMap<String, Arc<[f32]>>,
    bounds: Arc<OnceLock<Option<(DVec3, DVec3)>>>,
}

impl Tractogram {
    /// Panics if the offsets do not cut the points (a broken invariant, not data).
    pub fn new(points: impl Into<Arc<[[f32; 3]]>>, offsets: impl Into<Arc<[u64]>>) -> Self {
        let (points, offsets) = (points.into(), offsets.into());
        assert!(offsets.first() == Some(&0), "offsets start at 0");
        assert!(offsets.windows(2).all(|w| w[0] <= w[1]), "offsets ascend");
        assert_eq!(
            offsets.last().copied(),
            Some(points.len() as u64),
            "offsets end at the points"
        );
        Self {
            id: DataId::fresh(),
            points,
            offsets,
            per_streamline: BTreeMap::new(),
            per_point: BTreeMap::new(),
            bounds: Arc::default(),
        }
    }

    pub fn empty() -> Self {
        Self::new(Vec::new(), vec![0])
    }

    /// Adds values per streamline. Panics if their number is wrong.
    pub fn with_per_streamline(mut self, name: &str, values: impl Into<Arc<[f32]>>) -> Self {
        let values = values.into();
        assert_eq!(values.len(), self.len(), "one value per streamline");
        self.per_streamline.insert(name.to_owned(), values);
        self
    }

    /// Adds values per point. Panics if their number is wrong.
    pub fn with_per_point(mut self, name: &str, values: impl Into<Arc<[f32]>>) -> Self {
        let values = values.into();
        assert_eq!(values.len(), self.points.len(), "one value per point");
        self.per_point.insert(name.to_owned(), values);
        self
    }

    pub fn id(&self) -> DataId {
        self.id
    }

    /// World axis-aligned bounds of the finite points, mm; `None` where there is none. Looked for
    /// once, shared by all clones.
    pub fn bounds(&self) -> Option<(DVec3, DVec3)> {
        *self.bounds.get_or_init(|| {
            let finite = self.points.iter().map(|p| Vec3::from(*p));
            let (low, high) = finite
                .filter(|p| p.is_finite())
                .fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(low, high), p| {
                    (low.min(p), high.max(p))
                });
            (low.x <= high.x).then(|| (low.as_dvec3(), high.as_dvec3()))
        })
    }

    /// Number of streamlines.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn streamline(&self, index: usize) -> &[[f32; 3]] {
        &self.points[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }

    pub fn streamlines(&self) -> impl ExactSizeIterator<Item = &[[f32; 3]]> {
        (0..self.len()).map(|i| self.streamline(i))
    }

    /// Sum of the segment lengths of one streamline, mm.
    pub fn length_mm(&self, index: usize) -> f32 {
        let points = self.streamline(index);
        points
            .windows(2)
            .map(|w| glam::Vec3::from(w[0]).distance(glam::Vec3::from(w[1])))
            .sum()
    }
}
