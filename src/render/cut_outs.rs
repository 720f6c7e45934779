//! The shapes to which slices in the 3-D view are cut: the head's mask or, without one, the head in the image itself. A
//! shape takes longer to compute than a frame, so a thread computes it, once.

use super::smooth::Smooth;
use super::textures::Key;
use crate::compute::thread;
use crate::data::{Grid, Mask, Volume, VolumeKind};
use glam::{DAffine3, DMat3, DVec3};
use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// The shape that a slice is cut to.
#[derive(Clone, Copy)]
pub(super) enum CutShape<'a> {
    Mask(&'a Mask),
    /// The head in the first volume of an image: all volumes are cut to the same shape.
    Head(&'a Volume),
}

/// A [`CutShape`] with data of its own, for a thread.
enum OwnShape {
    Mask(Mask),
    Head(Volume),
}

/// A shape if it is known, or why it is not.
pub(super) enum CutOut {
    Ready(Smooth),
    /// There is no shape: the image has no background, or it is not an image of numbers.
    Nothing,
    /// A thread computes it, or will do so once another one has ended.
    Pending,
}

/// Shapes that threads compute.
#[derive(Default)]
pub(super) struct CutOuts {
    /// In a mutex, since threads that draw share the renderer.
    running: HashMap<Key, Mutex<Receiver<Option<Smooth>>>>,
    /// Images without a head.
    without: HashSet<Key>,
}

/// Threads at the same time. Images that are shown one after the other would otherwise start one each.
const MAX_THREADS: usize = 4;

impl CutShape<'_> {
    pub fn key(self) -> Key {
        match self {
            Self::Mask(mask) => Key::CutOut(mask.id()),
            Self::Head(volume) => Key::Head(volume.id()),
        }
    }

    fn to_own(self) -> OwnShape {
        match self {
            Self::Mask(mask) => OwnShape::Mask(mask.clone()),
            Self::Head(volume) => OwnShape::Head(volume.clone()),
        }
    }
}

impl OwnShape {
    fn smooth(&self, max_texels: usize) -> Option<Smooth> {
        match self {
            Self::Mask(mask) => Some(Smooth::closed(mask, max_texels)),
            Self::Head(volume) => {
                let head = head(volume)?;
                let sigma_mm = head.grid.spacing().max_element() * 0.6;
                Some(Smooth::new(&head, 0.0, sigma_mm, max_texels))
            }
        }
    }
}

impl CutOuts {
    /// A shape whose texture does not exist yet. With `waits`, this thread computes it, as saved pictures require.
    pub fn get(&mut self, shape: CutShape<'_>, max_texels: usize, waits: bool) -> CutOut {
        let key = shape.key();
        if self.without.contains(&key) {
            return CutOut::Nothing;
        }
        if !waits && !self.running.contains_key(&key) {
            self.drop_finished();
            if self.running.len() >= MAX_THREADS || self.start(shape, max_texels) {
                return CutOut::Pending;
            }
        }
        let found = match self.running.get_mut(&key) {
            Some(running) => {
                let result = running.get_mut().unwrap_or_else(PoisonError::into_inner);
                match waits {
                    // A thread that ended without a result leaves the slice whole.
                    true => result.recv().ok().flatten(),
                    false => match result.try_recv() {
                        Ok(found) => found,
                        Err(TryRecvError::Empty) => return CutOut::Pending,
                        Err(TryRecvError::Disconnected) => None,
                    },
                }
            }
            // For a picture that waits, or if the system refused a thread.
            None => shape.to_own().smooth(max_texels),
        };
        self.running.remove(&key);
        match found {
            Some(smooth) => CutOut::Ready(smooth),
            None => {
                self.without.insert(key);
                CutOut::Nothing
            }
        }
    }

    /// Drops the results that nobody fetched, as of images that were shown for a moment only.
    fn drop_finished(&mut self) {
        let without = &mut self.without;
        self.running.retain(|key, running| {
            let result = running.get_mut().unwrap_or_else(PoisonError::into_inner);
            match result.try_recv() {
                Err(TryRecvError::Empty) => true,
                Ok(Some(_)) => false,
                Ok(None) | Err(TryRecvError::Disconnected) => {
                    without.insert(*key);
                    false
                }
            }
        });
    }

    /// Starts a thread that computes the shape; false if the system refuses it.
    fn start(&mut self, shape: CutShape<'_>, max_texels: usize) -> bool {
        let (own, (send, result)) = (shape.to_own(), channel());
        let work = move || {
            // This fails if the renderer was dropped.
            let _ = send.send(own.smooth(max_texels));
        };
        let started = thread::start("cut-out", work).is_ok();
        if started {
            self.running.insert(shape.key(), Mutex::new(result));
        }
        started
    }
}

/// Threshold between background and head, as a share of the range of nearly all values: in magnitude images, noise of the
/// background reaches 2 to 4 %.
const HEAD_ABOVE: f32 = 0.07;
/// Edge of the blocks that are averaged, mm.
const BLOCK_MM: f64 = 1.5;
const MAX_BLOCKS: usize = 128;
/// Gaps up to twice this many blocks are closed, so that dark bone and air within the head stay inside.
const CLOSED_BLOCKS: usize = 2;
/// An image with a smaller share of background counts as one without background.
const MIN_BACKGROUND: f64 = 0.03;

/// The head in the first volume of an image with a dark background: the largest connected part above the background,
/// without holes. `None` for colours, labels and fixels, and if there is no background or no head.
pub(super) fn head(volume: &Volume) -> Option<Mask> {
    let is_scalar = volume.kind == VolumeKind::Scalar && volume.texels().is_none();
    if !is_scalar || volume.labels.is_some() || volume.fixels.is_some() {
        return None;
    }
    let (low, high) = volume.percentiles(0, 0.01, 0.99);
    let limit = low + HEAD_ABOVE * (high - low);
    // In an image with negative values, the background is not the darkest part; in one whose darkest values are not dark,
    // there is none.
    if !(low >= 0.0 && low <= HEAD_ABOVE * high && high > low) {
        return None;
    }
    let blocks = Blocks::new(volume);
    let bright = blocks.values.iter().map(|v| *v > limit).collect();
    let head = blocks.largest_part(bright)?;
    let head = blocks.filled(&blocks.grown(&head));
    let head = blocks.shrunk(&head);
    let share = head.iter().filter(|is| **is).count() as f64 / blocks.count_inside() as f64;
    (share <= 1.0 - MIN_BACKGROUND).then(|| blocks.mask(&head))?
}

/// Means of blocks of voxels, with a margin of background.
struct Blocks {
    shape: [usize; 3],
    values: Vec<f32>,
    /// Voxels of a block along each axis.
    factor: [usize; 3],
    source: Arc<Grid>,
}

impl Blocks {
    const MARGIN: usize = CLOSED_BLOCKS + 1;

    fn new(volume: &Volume) -> Self {
        let grid = &volume.grid;
        let spacing = grid.spacing();
        let factor = [0, 1, 2].map(|a| {
            let few = (BLOCK_MM / spacing[a]).round().max(1.0) as usize;
            few.max(grid.shape[a].div_ceil(MAX_BLOCKS))
        });
        let shape = [0, 1, 2].map(|a| grid.shape[a].div_ceil(factor[a]) + 2 * Self::MARGIN);
        let count = shape.iter().product();
        let (mut sums, mut counts) = (vec![0.0f32; count], vec![0u32; count]);
        let values = volume.frame(0);
        for z in 0..grid.shape[2] {
            for y in 0..grid.shape[1] {
                let row = grid.index([0, y, z]);
                let [by, bz] = [y / factor[1], z / factor[2]].map(|b| b + Self::MARGIN);
                let first = shape[0] * (by + shape[1] * bz) + Self::MARGIN;
                for x in 0..grid.shape[0] {
                    let value = values[row + x];
                    if value.is_finite() {
                        sums[first + x / factor[0]] += value;
                        counts[first + x / factor[0]] += 1;
                    }
                }
            }
        }
        // A block without values is background.
        let mean = |(sum, count): (f32, u32)| match count {
            0 => f32::NEG_INFINITY,
            n => sum / n as f32,
        };
        Self {
            shape,
            values: sums.into_iter().zip(counts).map(mean).collect(),
            factor,
            source: volume.grid.clone(),
        }
    }

    /// The number of blocks without the margin.
    fn count_inside(&self) -> usize {
        self.shape.map(|n| n - 2 * Self::MARGIN).iter().product()
    }

    /// The neighbours of a block along the axes.
    fn around(&self, i: usize) -> impl Iterator<Item = usize> {
        let shape = self.shape;
        let strides = [1, shape[0], shape[0] * shape[1]];
        let at = [i % shape[0], i / shape[0] % shape[1], i / strides[2]];
        (0..3).flat_map(move |a| {
            let below = (at[a] > 0).then(|| i - strides[a]);
            let above = (at[a] + 1 < shape[a]).then(|| i + strides[a]);
            below.into_iter().chain(above)
        })
    }

    /// The connected part of a set that contains the block `first`; it is removed from the set.
    fn take_part(&self, first: usize, set: &mut [bool]) -> Vec<usize> {
        let mut part = vec![first];
        set[first] = false;
        let mut next = 0;
        while let Some(&i) = part.get(next) {
            next += 1;
            for j in self.around(i) {
                if std::mem::replace(&mut set[j], false) {
                    part.push(j);
                }
            }
        }
        part
    }

    /// The largest connected part of a set; `None` if it is empty.
    fn largest_part(&self, mut set: Vec<bool>) -> Option<Vec<bool>> {
        let mut largest = Vec::new();
        for i in 0..set.len() {
            if set[i] {
                let part = self.take_part(i, &mut set);
                if part.len() > largest.len() {
                    largest = part;
                }
            }
        }
        (!largest.is_empty()).then(|| {
            let mut all = vec![false; self.values.len()];
            largest.into_iter().for_each(|i| all[i] = true);
            all
        })
    }

    /// The set and all blocks within [`CLOSED_BLOCKS`] steps of it.
    fn grown(&self, set: &[bool]) -> Vec<bool> {
        let mut now = set.to_vec();
        for _ in 0..CLOSED_BLOCKS {
            let before = now.clone();
            for i in (0..before.len()).filter(|i| before[*i]) {
                self.around(i).for_each(|j| now[j] = true);
            }
        }
        now
    }

    /// The set without the blocks within [`CLOSED_BLOCKS`] steps of its outside.
    fn shrunk(&self, set: &[bool]) -> Vec<bool> {
        let outside: Vec<bool> = set.iter().map(|is| !is).collect();
        self.grown(&outside).iter().map(|is| !is).collect()
    }

    /// The set with everything that it encloses, which no path outside the set joins to the margin.
    fn filled(&self, set: &[bool]) -> Vec<bool> {
        let mut free: Vec<bool> = set.iter().map(|is| !is).collect();
        self.take_part(0, &mut free);
        (0..set.len()).map(|i| set[i] || free[i]).collect()
    }

    /// The set on a grid of its own.
    fn mask(&self, set: &[bool]) -> Option<Mask> {
        let factor = DVec3::from_array(self.factor.map(|f| f as f64));
        let first = (factor - 1.0) * 0.5 - factor * Self::MARGIN as f64;
        let voxel_from_block = DAffine3::from_mat3_translation(DMat3::from_diagonal(factor), first);
        let affine = self.source.world_from_voxel * voxel_from_block;
        let grid = Grid::new(self.shape, affine, self.source.source)?;
        let inside: Vec<u8> = set.iter().map(|is| u8::from(*is)).collect();
        Some(Mask::new(Arc::new(grid), inside))
    }
}
