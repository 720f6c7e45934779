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

    /// The streamlines whose mark is set, with their values, in the same order. Panics if there is
    /// not one mark per streamline.
    pub fn filtered(&self, marks: &[bool]) -> Self {
        assert_eq!(marks.len(), self.len(), "one mark per streamline");
        let chosen = || (0..self.len()).filter(|&i| marks[i]);
        let range = |i: usize| self.offsets[i] as usize..self.offsets[i + 1] as usize;
        let points: Vec<[f32; 3]> = chosen()
            .flat_map(|i| self.points[range(i)].iter().copied())
            .collect();
        let mut end = 0;
        let ends = chosen().map(|i| {
            end += range(i).len() as u64;
            end
        });
        let offsets: Vec<u64> = std::iter::once(0).chain(ends).collect();
        let mut out = Self::new(points, offsets);
        for (name, values) in &self.per_streamline {
            let values: Vec<f32> = chosen().map(|i| values[i]).collect();
            out = out.with_per_streamline(name, values);
        }
        for (name, values) in &self.per_point {
            let values: Vec<f32> = chosen()
                .flat_map(|i| values[range(i)].iter().copied())
                .collect();
            out = out.with_per_point(name, values);
        }
        out
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
