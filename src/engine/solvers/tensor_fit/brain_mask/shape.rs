//! Sets of voxels: connected components, holes, and enclosed voxels.

use crate::compute::{Cancelled, Control};
use crate::data::Grid;

/// A voxel with its index.
type IndexedVoxel = (usize, [usize; 3]);

/// Visits all voxels in `open` that are connected through faces to those on the stack, and removes them from `open`.
fn flood_fill(
    open: &mut [bool],
    stack: &mut Vec<IndexedVoxel>,
    grid: &Grid,
    mut visit: impl FnMut(usize),
) {
    let strides = [1, grid.shape[0], grid.shape[0] * grid.shape[1]];
    while let Some((index, voxel)) = stack.pop() {
        visit(index);
        for axis in 0..3 {
            let mut go = |next: usize, to: usize| {
                if open[next] {
                    open[next] = false;
                    let mut voxel = voxel;
                    voxel[axis] = to;
                    stack.push((next, voxel));
                }
            };
            if voxel[axis] > 0 {
                go(index - strides[axis], voxel[axis] - 1);
            }
            if voxel[axis] + 1 < grid.shape[axis] {
                go(index + strides[axis], voxel[axis] + 1);
            }
        }
    }
}

/// The largest set of voxels connected by faces (of equal ones the first in file order), and the number of voxels of
/// each set.
pub fn largest_piece(inside: &[bool], grid: &Grid) -> (Vec<bool>, Vec<usize>) {
    let mut open = inside.to_vec();
    let mut largest = Vec::new();
    let mut stack = Vec::new();
    let mut sizes = Vec::new();
    for start in 0..open.len() {
        if open[start] {
            let mut piece = Vec::new();
            open[start] = false;
            stack.push((start, grid.voxel(start)));
            flood_fill(&mut open, &mut stack, grid, |index| piece.push(index));
            sizes.push(piece.len());
            if piece.len() > largest.len() {
                largest = piece;
            }
        }
    }
    let mut out = vec![false; inside.len()];
    largest.into_iter().for_each(|index| out[index] = true);
    (out, sizes)
}

/// Fills holes: adds the voxels that the set separates from the border of the grid.
pub fn fill_holes(inside: &[bool], grid: &Grid) -> Vec<bool> {
    let mut open: Vec<bool> = inside.iter().map(|v| !v).collect();
    let [nx, ny, nz] = grid.shape;
    let mut stack = Vec::new();
    for z in 0..nz {
        for y in 0..ny {
            let rim = z == 0 || z + 1 == nz || y == 0 || y + 1 == ny;
            let step = if rim { 1 } else { (nx - 1).max(1) };
            for x in (0..nx).step_by(step) {
                let index = grid.index([x, y, z]);
                if open[index] {
                    open[index] = false;
                    stack.push((index, [x, y, z]));
                }
            }
        }
    }
    let mut out = vec![true; inside.len()];
    flood_fill(&mut open, &mut stack, grid, |index| out[index] = false);
    out
}

/// Lines through a voxel along faces, edges and corners.
const LINES: usize = 13;
/// A voxel that lies between voxels of the set on at least this many lines is enclosed: a dent in the surface of a
/// brain, or the gap between its parts, is open to one side and reaches at most nine.
const ENCLOSED: u32 = 10;

/// Adds the voxels that the set encloses, and returns whether there were any. Unlike a filled hole, they may have a
/// narrow opening to the outside, as dark nuclei have through the base of the brain.
pub fn fill_enclosed(
    inside: &mut [bool],
    grid: &Grid,
    control: &Control,
) -> Result<bool, Cancelled> {
    let Some((low, high)) = bounding_block(inside, grid) else {
        return Ok(false);
    };
    // Includes a border of one voxel, so that every neighbour exists.
    let shape = [0, 1, 2].map(|a| high[a] - low[a] + 3);
    let at = |[x, y, z]: [usize; 3]| x + shape[0] * (y + shape[1] * z);
    let mut steps = [0usize; LINES];
    let mut lines = 0;
    for z in 0..=1isize {
        for y in -1..=1isize {
            for x in -1..=1isize {
                let step = x + shape[0] as isize * (y + shape[1] as isize * z);
                if z > 0 || y > 0 || (y == 0 && x > 0) {
                    steps[lines] = step as usize;
                    lines += 1;
                }
            }
        }
    }
    let rows = || {
        (low[2]..=high[2]).flat_map(move |z| {
            (low[1]..=high[1]).map(move |y| {
                let first = grid.index([low[0], y, z]);
                (first, [1, y - low[1] + 1, z - low[2] + 1])
            })
        })
    };
    let length = high[0] - low[0] + 1;
    let all = (1u16 << LINES) - 1;
    // One bit per line: whether a voxel of the set lies on it, at or before the voxel.
    let mut before = vec![0u16; shape.iter().product()];
    for (row, first) in rows() {
        control.check()?;
        let first = at(first);
        for x in 0..length {
            let i = first + x;
            before[i] = match inside[row + x] {
                true => all,
                false => steps.iter().enumerate().fold(0, |reached, (line, step)| {
                    reached | before[i - step] & (1 << line)
                }),
            };
        }
    }
    let mut after = vec![0u16; before.len()];
    let rows: Vec<_> = rows().collect();
    for &(row, first) in rows.iter().rev() {
        control.check()?;
        let first = at(first);
        for x in (0..length).rev() {
            let i = first + x;
            after[i] = match inside[row + x] {
                true => all,
                false => steps.iter().enumerate().fold(0, |reached, (line, step)| {
                    reached | after[i + step] & (1 << line)
                }),
            };
        }
    }
    let mut added = false;
    for (row, first) in rows {
        let first = at(first);
        for x in 0..length {
            let both = before[first + x] & after[first + x];
            if !inside[row + x] && both.count_ones() >= ENCLOSED {
                inside[row + x] = true;
                added = true;
            }
        }
    }
    Ok(added)
}

/// First and last voxel of a set along each axis.
fn bounding_block(inside: &[bool], grid: &Grid) -> Option<([usize; 3], [usize; 3])> {
    let mut block: Option<([usize; 3], [usize; 3])> = None;
    for (row, voxels) in inside.chunks(grid.shape[0]).enumerate() {
        let Some(first) = voxels.iter().position(|v| *v) else {
            continue;
        };
        let last = voxels.iter().rposition(|v| *v).unwrap_or(first);
        let (y, z) = (row % grid.shape[1], row / grid.shape[1]);
        let (low, high) = block.get_or_insert(([first, y, z], [last, y, z]));
        for (axis, (from, to)) in [(first, last), (y, y), (z, z)].into_iter().enumerate() {
            low[axis] = low[axis].min(from);
            high[axis] = high[axis].max(to);
        }
    }
    block
}
