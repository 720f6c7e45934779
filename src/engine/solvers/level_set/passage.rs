//! The place through which a surface escaped: where most of the gained volume passed.
//!
//! Each gained voxel is traced back, through voxels that joined before it, to the voxel of the earlier surface from
//! which it was reached. These traces form trees. If the whole surface grows a little, each tree holds a few voxels;
//! adjacent trees that hold far more form a branch. The branch with most voxels is the escape. Connected voxels of it
//! at the same number of steps from the earlier surface form a section; among the sections through which nearly all
//! of the branch was reached, the place lies in the narrowest: at the far end of a narrow neck. One tree alone does
//! not show the neck: several run through it side by side, and beyond it each of them continues into a part that it
//! alone reaches.

use super::bricks::{Field, INSIDE, OUTSIDE, origin};
use crate::compute::memory;
use crate::data::Grid;
use glam::DVec3;
use std::sync::Arc;

/// Outside so far, inside from the start, and inside but not reached yet.
const OUT: u32 = u32::MAX;
const FIRST: u32 = u32::MAX - 1;
const NEW: u32 = u32::MAX - 2;
/// A tree belongs to a branch if it holds more than this many times the median, …
const BRANCH_RATIO: u32 = 4;
/// … and at least this many voxels.
const MIN_VOXELS: u32 = 8;
/// The place must not lie where less than this share of its branch passes.
const SHARE: f64 = 0.8;
/// Sections up to this many times the narrowest count as equally narrow.
const NARROW_RATIO: f64 = 1.25;

/// The course of a surface's growth.
pub struct Growth {
    grid: Arc<Grid>,
    /// First voxel and size of the box around the surface.
    low: [usize; 3],
    size: [usize; 3],
    /// By voxel of the box: one of the constants, or the voxel's number in the order of joining.
    state: Vec<u32>,
    /// By number: the voxel, and the number of the voxel from which it was reached; [`FIRST`]: the earlier surface.
    voxels: Vec<u32>,
    from: Vec<u32>,
}

impl Growth {
    /// Growth from an earlier surface through states within the extent of both; `None` if memory is short or nothing
    /// is inside.
    pub fn new(before: &Field, now: &Field) -> Option<Self> {
        let ((a, b), (c, d)) = (before.extent()?, now.extent()?);
        let low = [0, 1, 2].map(|i| a[i].min(c[i]));
        let size = [0, 1, 2].map(|i| b[i].max(d[i]) - low[i] + 1);
        let count: usize = size.iter().product();
        // Voxels are numbered with 32 bits.
        if count >= NEW as usize {
            return None;
        }
        memory::claim_for::<u32>("The place of the leak", count, 2).ok()?;
        let mut growth = Self {
            grid: now.grid.clone(),
            low,
            size,
            state: vec![OUT; count],
            voxels: Vec::new(),
            from: Vec::new(),
        };
        for i in growth.inside(before) {
            growth.state[i as usize] = FIRST;
        }
        Some(growth)
    }

    /// Inside voxels of the box.
    fn inside(&self, field: &Field) -> Vec<u32> {
        let (b, shape) = (field.brick, field.counts());
        let mut all = Vec::new();
        for (brick, &slot) in field.table.iter().enumerate() {
            if slot == OUTSIDE {
                continue;
            }
            let first = origin(brick, shape, b);
            for k in 0..b * b * b {
                let at = [first[0] + k % b, first[1] + k / b % b, first[2] + k / b / b];
                let in_grid = (0..3).all(|a| at[a] < field.grid.shape[a]);
                if in_grid && (slot == INSIDE || field.value(at) > 0.0) {
                    all.extend(self.index(at));
                }
            }
        }
        all
    }

    fn index(&self, voxel: [usize; 3]) -> Option<u32> {
        let mut at = [0; 3];
        for a in 0..3 {
            at[a] = voxel[a].checked_sub(self.low[a])?;
            if at[a] >= self.size[a] {
                return None;
            }
        }
        let [nx, ny, _] = self.size;
        Some((at[0] + nx * (at[1] + ny * at[2])) as u32)
    }

    fn voxel(&self, index: u32) -> [usize; 3] {
        let ([nx, ny, _], i) = (self.size, index as usize);
        let at = [i % nx, i / nx % ny, i / nx / ny];
        [0, 1, 2].map(|a| self.low[a] + at[a])
    }

    /// Neighbours in the box whose coordinates differ by at most 1, along at most `axes` axes.
    fn neighbours(&self, index: u32, axes: i32) -> impl Iterator<Item = u32> + '_ {
        let at = self.voxel(index).map(|v| v as i64);
        let offsets = (0..27).map(|k| [k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1]);
        let near = offsets.filter(move |o: &[i32; 3]| {
            (1..=axes).contains(&o.iter().map(|c| c.abs()).sum::<i32>())
        });
        near.filter_map(move |o| {
            let voxel = [0, 1, 2].map(|a| usize::try_from(at[a] + i64::from(o[a])));
            let [x, y, z] = voxel.map(Result::ok);
            self.index([x?, y?, z?])
        })
    }

    /// Adds the next state.
    pub fn add(&mut self, field: &Field) {
        let mut new = self.inside(field);
        new.retain(|i| self.state[*i as usize] == OUT);
        for &i in &new {
            self.state[i as usize] = NEW;
        }
        // Gained voxels that touch the earlier surface, each reached from the neighbour that joined first.
        let reached = |i: &u32| {
            let states = self.neighbours(*i, 1).map(|n| self.state[n as usize]);
            let known = states.filter(|state| *state < NEW || *state == FIRST);
            let from = known.min_by_key(|state| if *state == FIRST { 0 } else { *state + 1 })?;
            Some((*i, from))
        };
        let seeds: Vec<(u32, u32)> = new.iter().filter_map(reached).collect();
        let mut next = self.voxels.len();
        for (i, from) in seeds {
            self.number(i, from);
        }
        while let Some(&i) = self.voxels.get(next) {
            let part = next as u32;
            next += 1;
            let near = self.neighbours(i, 1);
            let near: Vec<u32> = near.filter(|n| self.state[*n as usize] == NEW).collect();
            for n in near {
                self.number(n, part);
            }
        }
        // Unreachable voxels, such as a separately added sphere, may be reached later.
        for i in new {
            if self.state[i as usize] == NEW {
                self.state[i as usize] = OUT;
            }
        }
    }

    fn number(&mut self, voxel: u32, from: u32) {
        self.state[voxel as usize] = self.voxels.len() as u32;
        self.voxels.push(voxel);
        self.from.push(from);
    }

    /// The place in world space; `None` if nothing was gained.
    pub fn world_position(&self) -> Option<DVec3> {
        let mut count = vec![1u32; self.voxels.len()];
        // The child with most voxels.
        let mut largest = vec![OUT; self.voxels.len()];
        for i in (0..self.voxels.len()).rev() {
            let from = self.from[i] as usize;
            if self.from[i] == FIRST {
                continue;
            }
            count[from] += count[i];
            let known = largest[from];
            if known == OUT || count[known as usize] < count[i] {
                largest[from] = i as u32;
            }
        }
        let roots: Vec<u32> = (0..self.voxels.len() as u32)
            .filter(|i| self.from[*i as usize] == FIRST)
            .collect();
        let mut sizes: Vec<u32> = roots.iter().map(|r| count[*r as usize]).collect();
        sizes.sort_unstable();
        let median = sizes.get(sizes.len() / 2)?;
        let heavy = (BRANCH_RATIO * median).max(MIN_VOXELS);
        let branch = self.largest_branch(&roots, |root| {
            Some(count[root as usize]).filter(|size| *size > heavy)
        });
        // The whole surface grew evenly.
        let alike = || {
            let largest_root = roots.iter().copied().max_by_key(|r| count[*r as usize])?;
            Some((u64::from(count[largest_root as usize]), largest_root))
        };
        let (sum, root) = branch.or_else(alike)?;
        let at = self.narrowest(root, (&count, &largest), SHARE * sum as f64);
        let voxel = self.voxel(self.voxels[at as usize]);
        Some(self.grid.world(DVec3::from_array(voxel.map(|v| v as f64))))
    }

    /// Follows a tree along its largest children and returns its last voxel in a section about as narrow as the
    /// narrowest one; at least `min_voxels` voxels pass through each section.
    fn narrowest(&self, root: u32, (count, largest): (&[u32], &[u32]), min_voxels: f64) -> u32 {
        // Numbers increase along each tree.
        let mut steps = vec![0u32; self.from.len()];
        for (i, from) in self.from.iter().enumerate() {
            if *from != FIRST {
                steps[i] = steps[*from as usize] + 1;
            }
        }
        // Each voxel belongs to one section.
        let mut seen = vec![false; steps.len()];
        let mut sections = Vec::new();
        let mut next = root;
        while next != OUT {
            let section = self.section(next, &steps, &mut seen);
            let through: u64 = section.iter().map(|i| u64::from(count[*i as usize])).sum();
            if (through as f64) < min_voxels {
                break;
            }
            sections.push((section.len(), next));
            next = largest[next as usize];
        }
        let narrow = sections.iter().map(|(size, _)| *size).min();
        let max_narrow = NARROW_RATIO * narrow.unwrap_or(0) as f64;
        let mut sections = sections.iter().rev();
        let last = sections.find(|(size, _)| *size as f64 <= max_narrow);
        last.map_or(root, |(_, at)| *at)
    }

    /// The connected voxels around one of them that are equally many steps from the earlier surface.
    fn section(&self, start: u32, steps: &[u32], seen: &mut [bool]) -> Vec<u32> {
        seen[start as usize] = true;
        let mut all = vec![start];
        let mut at = 0;
        while let Some(&i) = all.get(at) {
            at += 1;
            for n in self.neighbours(self.voxels[i as usize], 3) {
                let near = self.state[n as usize];
                let same_step = near < NEW && steps[near as usize] == steps[start as usize];
                if same_step && !std::mem::replace(&mut seen[near as usize], true) {
                    all.push(near);
                }
            }
        }
        all
    }

    /// The number of voxels of the largest branch, and its largest tree; `heavy`: the number of voxels a tree needs
    /// to belong to a branch.
    fn largest_branch(
        &self,
        roots: &[u32],
        heavy: impl Fn(u32) -> Option<u32>,
    ) -> Option<(u64, u32)> {
        let mut seen = std::collections::BTreeSet::new();
        let mut best: Option<(u64, u32)> = None;
        for &root in roots {
            if heavy(root).is_none() || !seen.insert(root) {
                continue;
            }
            let (mut sum, mut largest, mut open) = (0, (0, root), vec![root]);
            while let Some(at) = open.pop() {
                let size = heavy(at).unwrap_or(0);
                sum += u64::from(size);
                largest = largest.max((size, at));
                for n in self.neighbours(self.voxels[at as usize], 3) {
                    let near = self.state[n as usize];
                    let is_root = near < NEW && self.from[near as usize] == FIRST;
                    if is_root && heavy(near).is_some() && seen.insert(near) {
                        open.push(near);
                    }
                }
            }
            if best.is_none_or(|(largest_sum, _)| sum > largest_sum) {
                best = Some((sum, largest.1));
            }
        }
        best
    }
}
