//! Scalar, multi-volume and colour images.
//!
//! # Example
//!
//! An image with two volumes:
//!
//! ```
//! use arcuate_engine::data::{Grid, Volume, VolumeKind};
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let grid = Grid::axis_aligned([2, 1, 1], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let values = vec![1.0, 2.0, 30.0, 40.0];
//! let image = Volume::new(Arc::new(grid), 2, VolumeKind::Scalar, values);
//! assert_eq!(image.frame(1), [30.0, 40.0]);
//! assert_eq!(image.range(0), (1.0, 2.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::content::VisibleContent;
use super::{Fixels, Grid, Labels, Shared, TensorLayout};
use crate::compute::{DataId, DeviceCopy};
use glam::DVec3;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Meaning of the frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VolumeKind {
    /// Each frame is a scalar image.
    Scalar,
    /// Three frames: red, green, blue in `0..=1`; or the texels of a label map's picture.
    Rgb,
}

/// An image on a grid: `frames` volumes of `grid.voxel_count()` values, frame slowest.
///
/// NaN and infinities of a file are preserved; computations decide how to treat them.
#[derive(Clone, Debug)]
pub struct Volume {
    id: DataId,
    /// Grid of every frame.
    pub grid: Arc<Grid>,
    /// Number of volumes; 3 for a colour image.
    pub frames: usize,
    /// Meaning of the frames.
    pub kind: VolumeKind,
    /// `values[frame * voxel_count + grid.index(voxel)]`, after the file's slope and intercept.
    pub values: Shared<f32>,
    /// Counts if some are too large for float32, one for each value, which is then rounded.
    counts: Option<Arc<[u32]>>,
    /// Set for a label map.
    pub labels: Option<Arc<Labels>>,
    /// Set for a tensor image.
    pub tensors: Option<TensorLayout>,
    /// Set for peaks that were read from fixels; such an image is drawn as lines only.
    pub fixels: Option<Arc<Fixels>>,
    device: Option<DeviceCopy>,
    /// Colours of a label map's voxels, displayed instead of its values; 0 is transparent.
    texels: Option<Arc<[[u8; 4]]>>,
    painted: Arc<OnceLock<Volume>>,
    percentiles: Arc<Mutex<Vec<Percentiles>>>,
    /// Where one frame has visible content.
    content: Arc<Mutex<Option<(usize, VisibleContent)>>>,
}

/// First and last voxel on every axis.
pub type Block = [[usize; 3]; 2];

/// Percentiles computed before.
#[derive(Clone, Copy, Debug)]
struct Percentiles {
    frame: usize,
    shares: (f64, f64),
    values: (f32, f32),
}

impl Volume {
    /// Panics if the number of values is not `frames * voxel_count` (a broken invariant, not data).
    pub fn new(
        grid: Arc<Grid>,
        frames: usize,
        kind: VolumeKind,
        values: impl Into<Shared<f32>>,
    ) -> Self {
        let values = values.into();
        assert_eq!(
            values.len(),
            frames * grid.voxel_count(),
            "volume values against its grid"
        );
        Self {
            id: DataId::fresh(),
            grid,
            frames,
            kind,
            values,
            counts: None,
            labels: None,
            tensors: None,
            fixels: None,
            device: None,
            texels: None,
            painted: Arc::default(),
            percentiles: Arc::default(),
            content: Arc::default(),
        }
    }

    /// One frame of counts: float32 represents all up to 2²⁴.
    pub fn of_counts(grid: Arc<Grid>, counts: Vec<u32>) -> Self {
        debug_assert_eq!(counts.len(), grid.voxel_count());
        Self::of_count_frames(grid, counts)
    }

    /// Counts in any number of frames, frame slowest. Panics if they are not those of whole frames (a broken invariant,
    /// not data).
    pub fn of_count_frames(grid: Arc<Grid>, counts: Vec<u32>) -> Self {
        let values: Vec<f32> = counts.iter().map(|&n| n as f32).collect();
        let rounded = counts
            .iter()
            .zip(&values)
            .any(|(&n, &v)| f64::from(v) != f64::from(n));
        let frames = counts.len() / grid.voxel_count();
        Self {
            counts: rounded.then(|| counts.into()),
            ..Self::new(grid, frames, VolumeKind::Scalar, values)
        }
    }

    /// The counts whose rounded values are stored; `None` if the values are exact.
    pub fn counts(&self) -> Option<&[u32]> {
        self.counts.as_deref()
    }

    /// Returns the volume read as tensors, or no longer read as tensors, with a new id.
    pub fn with_tensors(&self, tensors: Option<TensorLayout>) -> Self {
        Self {
            id: DataId::fresh(),
            tensors,
            ..self.clone()
        }
    }

    /// Returns the volume on another grid, with its values unchanged. Panics if the grid has another shape (a broken
    /// invariant, not data).
    pub fn on_grid(&self, grid: Arc<Grid>) -> Self {
        assert_eq!(self.grid.shape, grid.shape, "a moved grid has its shape");
        let painted = self.painted.get().map(|p| p.on_grid(grid.clone()));
        Self {
            id: DataId::fresh(),
            grid,
            painted: Arc::new(painted.map_or_else(OnceLock::new, OnceLock::from)),
            ..self.clone()
        }
    }

    /// States the fixels that the peaks were read from.
    pub fn with_fixels(self, fixels: Arc<Fixels>) -> Self {
        Self {
            fixels: Some(fixels),
            ..self
        }
    }

    /// Sets the meanings of the numbers.
    pub fn with_labels(self, labels: Arc<Labels>) -> Self {
        Self {
            labels: Some(labels),
            painted: Arc::default(),
            ..self
        }
    }

    /// The displayed image: the colours of a label map (created once, shared by all clones), otherwise the image
    /// itself. Takes long for a label map that was not opened by a worker.
    pub fn picture(&self) -> &Self {
        let Some(labels) = &self.labels else {
            return self;
        };
        self.painted.get_or_init(|| {
            let mut last = (f32::NAN, [0; 4]);
            let texel = |&value: &f32| {
                if value != last.0 {
                    let number = value as u32;
                    let [r, g, b] = labels.colour(number);
                    let opaque = if number == 0 { 0 } else { 255 };
                    last = (value, [r, g, b, opaque]);
                }
                last.1
            };
            Self {
                id: DataId::fresh(),
                kind: VolumeKind::Rgb,
                labels: None,
                device: None,
                texels: Some(self.frame(0).iter().map(texel).collect()),
                painted: Arc::default(),
                ..self.clone()
            }
        })
    }

    /// See [`Volume::picture`].
    pub fn texels(&self) -> Option<&[[u8; 4]]> {
        self.texels.as_deref()
    }

    /// Image of one volume, one value per voxel, x fastest.
    pub fn scalar(grid: Arc<Grid>, values: impl Into<Shared<f32>>) -> Self {
        Self::new(grid, 1, VolumeKind::Scalar, values)
    }

    /// Returns the volume with a copy of its first frame on a graphics card.
    pub fn with_device_copy(self, copy: DeviceCopy) -> Self {
        Self {
            device: Some(copy),
            ..self
        }
    }

    /// First frame on a graphics card, for drawing; `None` if it is in the host's memory only.
    pub fn device_copy(&self) -> Option<&DeviceCopy> {
        self.device.as_ref()
    }

    /// Identity of the values, shared by clones; caches use it as their key.
    pub fn id(&self) -> DataId {
        self.id
    }

    /// The values of one frame.
    pub fn frame(&self, frame: usize) -> &[f32] {
        let n = self.grid.voxel_count();
        &self.values[frame * n..(frame + 1) * n]
    }

    /// Value of the voxel that contains a world point; `None` outside.
    pub fn nearest(&self, frame: usize, world: DVec3) -> Option<f32> {
        let voxel = self.grid.nearest(world)?;
        self.frame(frame).get(self.grid.index(voxel)).copied()
    }

    /// Reads, for a voxel of another grid, the value of the voxel that contains its centre; `None` outside the image.
    /// Grids that are equal up to rounding have the same voxels.
    pub fn reader_on(&self, grid: &Grid, frame: usize) -> impl Fn([usize; 3]) -> Option<f32> {
        let values = self.frame(frame);
        let is_same = self.grid.matches(grid);
        move |voxel| match is_same {
            true => values.get(grid.index(voxel)).copied(),
            false => self.nearest(
                frame,
                grid.world(DVec3::from_array(voxel.map(|v| v as f64))),
            ),
        }
    }

    /// Smallest and largest finite value of a frame; `(0, 1)` if there is none.
    pub fn range(&self, frame: usize) -> (f32, f32) {
        range_of(self.frame(frame))
    }

    /// The values below which a share `low` and a share `high` of the finite, non-zero voxels of a frame lie, to
    /// 1/256 of their distance. The default display window is `(0.01, 0.99)`.
    ///
    /// Computed once, shared by all clones.
    pub fn percentiles(&self, frame: usize, low: f64, high: f64) -> (f32, f32) {
        let memory = || {
            self.percentiles
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let same = |p: &&Percentiles| p.frame == frame && p.shares == (low, high);
        if let Some(known) = memory().iter().find(same) {
            return known.values;
        }
        let values = percentiles_of(self.frame(frame), (low, high));
        self.remember_percentiles(frame, (low, high), values);
        values
    }

    fn remember_percentiles(&self, frame: usize, shares: (f64, f64), values: (f32, f32)) {
        let memory = self.percentiles.lock();
        memory
            .unwrap_or_else(PoisonError::into_inner)
            .push(Percentiles {
                frame,
                shares,
                values,
            });
    }

    /// First and last voxel, along each axis, of the block outside of which a frame is background.
    ///
    /// Computed once, shared by all clones.
    pub fn content(&self, frame: usize) -> Block {
        self.visible_content(frame).block
    }

    /// First and last voxel with content of the rows of a frame, of every second one: in any direction, the content ends
    /// at one of these voxels. None for a frame without content.
    pub fn content_ends(&self, frame: usize) -> Arc<[[usize; 3]]> {
        self.visible_content(frame).ends
    }

    fn visible_content(&self, frame: usize) -> VisibleContent {
        let memory = || self.content.lock().unwrap_or_else(PoisonError::into_inner);
        let known = memory().clone().filter(|(known, _)| *known == frame);
        if let Some((_, content)) = known {
            return content;
        }
        let content = super::content::content_of(self, frame);
        *memory() = Some((frame, content.clone()));
        content
    }

    /// Computes the percentiles of the initial display in advance, on a worker.
    pub fn precompute_windows(&self) {
        self.precompute_windows_in_steps(|| {});
    }

    /// Computes the default window of the first frame in advance, on a worker, from the values of some voxels; no other
    /// voxel has a finite value.
    pub fn precompute_window_from(&self, values: &[f32]) {
        let shares = (0.01, 0.99);
        self.remember_percentiles(0, shares, percentiles_of(values, shares));
    }

    /// Number of steps in [`Volume::precompute_windows_in_steps`].
    pub const PRECOMPUTE_STEPS: u64 = 3;

    /// Computes the same windows as [`Volume::precompute_windows`] and calls `done` after each step.
    pub fn precompute_windows_in_steps(&self, done: impl Fn()) {
        for high in [0.99, 0.998] {
            self.percentiles(0, 0.01, high);
            done();
        }
        self.content(0);
        done();
    }
}

/// Smallest and largest finite value; `(0, 1)` if there is none.
fn range_of(values: &[f32]) -> (f32, f32) {
    let finite = values.iter().copied().filter(|v| v.is_finite());
    let (lo, hi) = finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), v| {
        (l.min(v), h.max(v))
    });
    if lo <= hi { (lo, hi) } else { (0.0, 1.0) }
}

/// From a histogram of 4096 bins, repeated between the two values while they lie in a few of its bins: a single
/// voxel of any magnitude must not move them.
fn percentiles_of(values: &[f32], (low, high): (f64, f64)) -> (f32, f32) {
    const BINS: usize = 4096;
    const MIN_BINS: f64 = 256.0;
    // Finer bins than single precision can resolve (all values are equal).
    const ROUNDING: f64 = 1e-7;
    // Each pass narrows the range at least 15-fold.
    const PASSES: usize = 30;
    let (min, max) = range_of(values);
    let (mut lo, mut hi) = (f64::from(min), f64::from(max));
    for _ in 0..PASSES {
        let width = (hi - lo) / (BINS - 1) as f64;
        let (mut counts, mut below, mut total) = ([0u64; BINS], 0, 0u64);
        let used = values.iter().copied();
        for v in used.filter(|v| v.is_finite() && *v != 0.0).map(f64::from) {
            total += 1;
            if v < lo {
                below += 1;
            } else if v <= hi {
                // NaN if the width is 0: bin 0.
                counts[(((v - lo) / width) as usize).min(BINS - 1)] += 1;
            }
        }
        if total == 0 {
            break;
        }
        let bin = |share: f64| {
            let requested = (share * total as f64) as u64;
            let mut seen = below;
            let first_beyond = counts.iter().position(|c| {
                seen += c;
                seen > requested
            });
            first_beyond.unwrap_or(BINS - 1) as f64
        };
        let (first, last) = (bin(low), bin(high));
        (lo, hi) = (lo + first * width, lo + last * width);
        if last - first >= MIN_BINS || width <= ROUNDING * lo.abs().max(hi.abs()) {
            break;
        }
        // Up to the end of the last bin.
        hi += width;
    }
    (lo as f32, hi as f32)
}
