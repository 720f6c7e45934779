//! Islands and holes: the connected components of a region and of its surroundings.
//!
//! Voxels are connected by common faces (6 neighbours), faces and edges (18), or faces, edges and corners (26). A hole
//! is a part of the outside that is not connected with the space around the region. Its voxels are connected by faces
//! if those of the region are connected by edges or corners, and by corners otherwise: so a region that is closed for
//! one of the two is closed for the other (Kong and Rosenfeld 1989, "Digital topology", section 3). The space beyond
//! the grid is outside: what is open at the grid's edge is not a hole.

use super::{Error, PaddedBlock};
use crate::compute::{Control, memory};
use crate::data::{Mask, keyed};
use glam::DVec3;

/// The neighbours of a voxel that are connected with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Connectivity {
    /// The 6 that share a face.
    Faces,
    /// The 18 that share a face or an edge.
    Edges,
    /// The 26 that share a face, an edge or a corner.
    Corners,
}

keyed!(Connectivity, serde {
    Faces = "6",
    Edges = "18",
    Corners = "26",
});

impl Connectivity {
    /// All of them, from the fewest neighbours to the most.
    pub const ALL: [Self; 3] = [Self::Faces, Self::Edges, Self::Corners];

    /// Offsets to the neighbours.
    fn offsets(self) -> Vec<[i64; 3]> {
        let most = match self {
            Self::Faces => 1,
            Self::Edges => 2,
            Self::Corners => 3,
        };
        let axis = || -1..=1i64;
        let all = axis().flat_map(|z| axis().flat_map(move |y| axis().map(move |x| [x, y, z])));
        let steps = |offset: &[i64; 3]| offset.iter().map(|o| o.abs()).sum::<i64>();
        all.filter(|offset| (1..=most).contains(&steps(offset)))
            .collect()
    }

    /// The connectivity of the outside of a region with this one.
    fn dual(self) -> Self {
        match self {
            Self::Faces => Self::Corners,
            Self::Edges | Self::Corners => Self::Faces,
        }
    }
}

/// Components are found one after another in the order of their first voxels.
struct Components {
    /// For each voxel of the block, 0 or the number of its component, from 1 on.
    numbers: Vec<u32>,
    /// Voxels of each component; the first entry belongs to no component.
    counts: Vec<usize>,
}

/// The components of the voxels of a block for which `inside` is true.
fn components(
    inside: &[bool],
    shape: [usize; 3],
    connectivity: Connectivity,
    control: &Control,
) -> Result<Components, Error> {
    let offsets = connectivity.offsets();
    let mut all = Components {
        numbers: vec![0; inside.len()],
        counts: vec![0],
    };
    let mut stack = Vec::new();
    let mut visited = 0usize;
    for first in 0..inside.len() {
        if first.is_multiple_of(1 << 16) {
            control.check()?;
        }
        if !inside[first] || all.numbers[first] != 0 {
            continue;
        }
        let number = all.counts.len() as u32;
        all.numbers[first] = number;
        stack.push(first);
        let mut count = 0;
        while let Some(at) = stack.pop() {
            count += 1;
            visited += 1;
            if visited.is_multiple_of(1 << 14) {
                control.check()?;
                control.advance(1 << 14);
            }
            for next in neighbours(at, shape, &offsets) {
                if inside[next] && all.numbers[next] == 0 {
                    all.numbers[next] = number;
                    stack.push(next);
                }
            }
        }
        all.counts.push(count);
    }
    Ok(all)
}

/// Indices of the neighbours of a voxel within a block.
fn neighbours(
    at: usize,
    [nx, ny, nz]: [usize; 3],
    offsets: &[[i64; 3]],
) -> impl Iterator<Item = usize> {
    let voxel = [at % nx, at / nx % ny, at / (nx * ny)].map(|v| v as i64);
    let shape = [nx, ny, nz].map(|n| n as i64);
    offsets.iter().filter_map(move |offset| {
        let [x, y, z] = [0, 1, 2].map(|a| voxel[a] + offset[a]);
        let is_in_block =
            (0..shape[0]).contains(&x) && (0..shape[1]).contains(&y) && (0..shape[2]).contains(&z);
        is_in_block.then_some((x + shape[0] * (y + shape[1] * z)) as usize)
    })
}

/// Removes components with fewer than `smallest` voxels; with `only_largest` all but the largest. Of equal ones, that
/// whose first voxel comes first in the order of the file is kept.
pub fn remove_islands(
    mask: &Mask,
    smallest: usize,
    only_largest: bool,
    connectivity: Connectivity,
    control: &Control,
) -> Result<Mask, Error> {
    let mask = &mask.on_whole_grid();
    let Some(part) = PaddedBlock::around(mask, DVec3::ZERO) else {
        return Ok(mask.clone());
    };
    memory::claim_for::<u64>("The connected parts of the region", part.count(), 2)?;
    control.begin("Finding connected parts", mask.count() as u64);
    let inside = part.inside(mask, |inside| inside);
    let Components { numbers, counts } = components(&inside, part.shape, connectivity, control)?;
    let largest = (1..counts.len()).rev().max_by_key(|&number| counts[number]);
    let stays = |number: &u32| {
        let number = *number as usize;
        let is_large = number > 0 && counts[number] >= smallest;
        is_large && (!only_largest || Some(number) == largest)
    };
    Ok(part.mask(&mask.grid, &numbers, stays))
}

/// Adds the holes of a region whose voxels are connected like this.
pub fn fill_holes(
    mask: &Mask,
    connectivity: Connectivity,
    control: &Control,
) -> Result<Mask, Error> {
    let mask = &mask.on_whole_grid();
    let Some(part) = PaddedBlock::around(mask, DVec3::ZERO) else {
        return Ok(mask.clone());
    };
    memory::claim_for::<u64>("The holes of the region", part.count(), 2)?;
    control.begin("Finding holes", (part.count() - mask.count()) as u64);
    let outside = part.inside(mask, |inside| !inside);
    let components = components(&outside, part.shape, connectivity.dual(), control)?;
    let mut is_open = vec![false; components.counts.len()];
    let [nx, ny, nz] = part.shape;
    for (at, number) in components.numbers.iter().enumerate() {
        let voxel = [at % nx, at / nx % ny, at / (nx * ny)];
        let last = [nx - 1, ny - 1, nz - 1];
        is_open[*number as usize] |= (0..3).any(|a| voxel[a] == 0 || voxel[a] == last[a]);
    }
    let stays = |number: &u32| *number == 0 || !is_open[*number as usize];
    Ok(part.mask(&mask.grid, &components.numbers, stays))
}
