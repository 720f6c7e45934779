//! The order of an image's voxels in its file and in memory, and the affine that belongs to the latter.
//!
//! The axes in space keep the order and the direction that they have in the file, as in a NIfTI that `mrconvert` makes
//! of the image: the first varies fastest, and a reversed axis is counted from the voxel that is stored first. Other
//! axes run forwards and become the frames, which are slowest.

use super::super::{Error, SpaceInfo};
use super::header::{AxisOrder, Header};
use crate::data::{AffineSource, Grid};
use glam::{DAffine3, DMat3, DVec3};
use std::path::Path;

pub struct Layout {
    pub grid: Grid,
    /// Sizes of the axes after the third.
    pub further: Vec<usize>,
    /// The header's axes of the grid's.
    pub axes: [usize; 3],
    /// Whether each of the grid's axes is the header's reversed.
    pub reversed: [bool; 3],
    /// Samples between neighbours along the grid's axes.
    steps: [usize; 3],
    others: Vec<FrameAxis>,
}

/// An axis of the frames.
struct FrameAxis {
    size: usize,
    /// Samples between neighbours.
    step: usize,
    is_reversed: bool,
}

impl Layout {
    pub fn new(path: &Path, header: &Header, info: &mut SpaceInfo) -> Result<Self, Error> {
        let (sizes, order) = (&header.sizes, &header.order);
        let step = |axis: usize| -> usize {
            let faster = sizes.iter().zip(order);
            let faster = faster.filter(|(_, other)| other.rank < order[axis].rank);
            faster.map(|(size, _)| size).product()
        };
        let mut axes = [0, 1, 2];
        axes.sort_by_key(|&axis| order[axis].rank);
        let reversed = axes.map(|axis| order[axis].is_reversed);
        let others = (3..sizes.len()).map(|axis| FrameAxis {
            size: sizes[axis],
            step: step(axis),
            is_reversed: order[axis].is_reversed,
        });
        Ok(Self {
            grid: grid(path, header, axes, info)?,
            further: sizes[3..].to_vec(),
            axes,
            reversed,
            steps: axes.map(step),
            others: others.collect(),
        })
    }

    pub fn frames(&self) -> usize {
        self.further.iter().product()
    }

    /// Whether the grid's axes are the header's, in its order and directions.
    pub fn is_plain(&self) -> bool {
        self.axes == [0, 1, 2] && self.reversed == [false; 3]
    }

    /// Whether the samples already have the order of a volume.
    pub fn is_in_order(&self) -> bool {
        let mut next_step = 1;
        let mut follows = |size: usize, step: usize| {
            let same = size == 1 || step == next_step;
            next_step *= size;
            same
        };
        let in_space = self.grid.shape.into_iter().zip(self.steps);
        let in_space = in_space.map(|(size, step)| (size, step, false));
        let others = self.others.iter().map(|a| (a.size, a.step, a.is_reversed));
        in_space
            .chain(others)
            .all(|(size, step, is_reversed)| follows(size, step) && !(is_reversed && size > 1))
    }

    /// Puts samples into the order of a volume.
    pub fn order<T: Copy>(&self, samples: &[T], ordered: &mut [T]) {
        let [nx, ny, nz] = self.grid.shape;
        let voxels = self.grid.voxel_count();
        // Frames inside a row: in a file whose volumes vary fastest, a row's samples are adjacent.
        for k in 0..nz {
            for j in 0..ny {
                let row = j * self.steps[1] + k * self.steps[2];
                let place = nx * (j + ny * k);
                for frame in 0..self.frames() {
                    let first = self.first_sample(frame);
                    let ordered = &mut ordered[frame * voxels + place..][..nx];
                    for (i, ordered) in ordered.iter_mut().enumerate() {
                        *ordered = samples[first + row + i * self.steps[0]];
                    }
                }
            }
        }
    }

    /// The sample of a frame at the grid's first voxel.
    fn first_sample(&self, frame: usize) -> usize {
        let mut rest = frame;
        let along = self.others.iter().map(|axis| {
            let index = rest % axis.size;
            rest /= axis.size;
            let stored = match axis.is_reversed {
                true => axis.size - 1 - index,
                false => index,
            };
            stored * axis.step
        });
        along.sum()
    }
}

/// The grid of these axes of the header, in the directions in which they are stored.
fn grid(
    path: &Path,
    header: &Header,
    axes: [usize; 3],
    info: &mut SpaceInfo,
) -> Result<Grid, Error> {
    let shape = axes.map(|axis| header.sizes[axis]);
    let edges = edges(header, info);
    let last = DVec3::new(
        header.sizes[0] as f64 - 1.0,
        header.sizes[1] as f64 - 1.0,
        header.sizes[2] as f64 - 1.0,
    );
    let (transform, source) = match header.transform {
        Some(transform) => (transform, AffineSource::Header),
        None => {
            info.warnings.push(
                "The header does not say where the voxels are; the image centre was put at 0 and left and right \
                 are unknown"
                    .to_owned(),
            );
            let centred = DAffine3::from_translation(-0.5 * last * edges);
            (centred, AffineSource::Pixdim)
        }
    };
    let matrix = transform.matrix3 * DMat3::from_diagonal(edges);
    let mut origin = transform.translation;
    let columns = axes.map(|axis| {
        let AxisOrder { is_reversed, .. } = header.order[axis];
        if is_reversed {
            origin += matrix.col(axis) * last[axis];
            -matrix.col(axis)
        } else {
            matrix.col(axis)
        }
    });
    let [x, y, z] = columns;
    let affine = DAffine3::from_cols(x, y, z, origin);
    Grid::new(shape, affine, source).ok_or_else(|| {
        Error::malformed(
            path,
            "a transform or voxel sizes that flatten the image",
            ("three independent axes", "repair the header"),
        )
    })
}

/// Voxel edges along the header's axes in space. A missing one is the mean of the others, as MRtrix assumes.
fn edges(header: &Header, info: &mut SpaceInfo) -> DVec3 {
    let stated = || header.spacings[..3].iter().filter(|edge| edge.is_finite());
    let mean = match stated().count() {
        0 => 1.0,
        count => stated().sum::<f64>() / count as f64,
    };
    // A picture of one slice needs no thickness.
    let is_missing = |axis: usize| !header.spacings[axis].is_finite() && header.sizes[axis] > 1;
    if (0..3).any(is_missing) {
        info.warnings.push(format!(
            "The header does not give every voxel size; {mean} mm was assumed for the missing ones"
        ));
    }
    let edge = |axis: usize| match header.spacings[axis] {
        edge if edge.is_finite() => edge,
        _ => mean,
    };
    DVec3::new(edge(0), edge(1), edge(2))
}
