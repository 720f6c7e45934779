//! Bundles by the labels that streamlines pass and end in.

use super::error::InputError;
use super::{Error, RecognitionParams};
use crate::compute::{Backend, Cancelled, Control, memory};
use crate::data::bundle_recipe::{BundleRecipe, BundleRule};
use crate::data::{Tractogram, Volume};
use crate::solvers::density::Walk;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use std::collections::BTreeSet;

/// Streamlines of a work item, and between two checks for cancellation.
const CHUNK: usize = 512;
/// Marks a voxel whose label no rule names.
const NOT_NAMED: u16 = u16::MAX;

/// Bundles recognised by a recipe.
#[derive(Clone, PartialEq, Debug)]
pub struct Recognised {
    /// The streamlines of each bundle, ascending, in the order of the recipe. A streamline may belong to several.
    pub members: Vec<Vec<u32>>,
    /// Whether each bundle can have no streamlines, because the map lacks all labels of a list that it needs.
    pub lacks_labels: Vec<bool>,
    /// Streamlines of no bundle.
    pub unassigned: usize,
}

impl Recognised {
    /// Names of the bundles that can have no streamlines, because the map lacks labels that they need.
    pub fn unmapped(&self, recipe: &BundleRecipe) -> Vec<String> {
        let bundles = recipe.bundles.iter().zip(&self.lacks_labels);
        let unmapped = bundles.filter(|(_, lacks)| **lacks);
        unmapped.map(|(rule, _)| rule.name.clone()).collect()
    }

    /// The streamlines with the bundles as their groups, in place of those that they had; bundles without streamlines are
    /// left out.
    pub fn grouped(&self, tractogram: &Tractogram, recipe: &BundleRecipe) -> Tractogram {
        let mut grouped = tractogram.clone().with_new_id();
        grouped.groups.clear();
        grouped.per_group.clear();
        let bundles = recipe.bundles.iter().zip(&self.members);
        let found = bundles.filter(|(_, members)| !members.is_empty());
        found.fold(grouped, |lines, (rule, members)| {
            lines.with_group(&rule.name, members.clone())
        })
    }
}

/// Finds the streamlines of each bundle. A streamline passes a label if it crosses one of its voxels, exactly; an end lies in
/// a label if it lies in one of its voxels or within the radius of the centre of one. Fails if the map
/// lacks labels of every bundle.
pub fn recognise(
    tractogram: &Tractogram,
    (labels, frame): (&Volume, usize),
    recipe: &BundleRecipe,
    params: &RecognitionParams,
    backend: &Backend,
    control: &Control,
) -> Result<Recognised, Error> {
    params.check()?;
    let named = recipe.labels();
    if named.len() >= usize::from(NOT_NAMED) {
        return Err(InputError::Labels(named.len()).into());
    }
    memory::claim_for::<u16>("The labels of bundles", labels.grid.voxel_count(), 1)?;
    memory::claim_for::<u32>("The bundles", tractogram.len(), recipe.bundles.len())?;
    let map = Map::new(labels, frame, &named, params.radius_mm);
    let is_known = |label: &u32| named.binary_search(label).is_ok_and(|at| map.known[at]);
    let lacks = |rule: &BundleRule| rule.required().any(|list| !list.iter().any(is_known));
    let lacks_labels: Vec<bool> = recipe.bundles.iter().map(lacks).collect();
    if lacks_labels.iter().all(|lacks| *lacks) {
        return Err(InputError::NoLabel.into());
    }
    let rules: Vec<Rule> = recipe
        .bundles
        .iter()
        .map(|rule| Rule::new(rule, &named))
        .collect();
    control.begin("Recognising bundles", tractogram.len() as u64);
    let chunks = tractogram.len().div_ceil(CHUNK);
    let chunk = |chunk: usize| {
        control.check()?;
        let lines = chunk * CHUNK..((chunk + 1) * CHUNK).min(tractogram.len());
        control.advance(lines.len() as u64);
        let mut walk = Walk::new(&labels.grid);
        let count = named.len().div_ceil(64);
        let mut met = MetLabels {
            passed: vec![0; count],
            ends: [vec![0; count], vec![0; count]],
        };
        let mut found = Vec::new();
        for line in lines {
            map.meet(tractogram.streamline(line), &mut walk, &mut met);
            let length = f64::from(tractogram.length_mm(line));
            let bundles = (0..)
                .zip(&rules)
                .filter(|(_, rule)| rule.holds(&met, length));
            found.extend(bundles.map(|(bundle, _)| (bundle, line as u32)));
        }
        Ok(found)
    };
    let found: Result<Vec<Vec<(usize, u32)>>, Cancelled> =
        backend.install(|| (0..chunks).into_par_iter().map(chunk).collect());
    let mut members = vec![Vec::new(); rules.len()];
    let mut assigned = vec![false; tractogram.len()];
    for (bundle, line) in found?.into_iter().flatten() {
        members[bundle].push(line);
        assigned[line as usize] = true;
    }
    Ok(Recognised {
        members,
        lacks_labels,
        unassigned: assigned.iter().filter(|assigned| !**assigned).count(),
    })
}

/// Labels that a streamline meets, one bit for each label that the recipe names.
struct MetLabels {
    passed: Vec<u64>,
    /// Labels at the first and at the last point.
    ends: [Vec<u64>; 2],
}

fn set(bits: &mut [u64], number: u16) {
    if number != NOT_NAMED {
        bits[usize::from(number) / 64] |= 1 << (number % 64);
    }
}

/// Labels of a list, as bits.
fn bits(list: &[u32], named: &[u32]) -> Vec<u64> {
    let mut bits = vec![0; named.len().div_ceil(64)];
    for label in list {
        if let Ok(number) = named.binary_search(label) {
            set(&mut bits, number as u16);
        }
    }
    bits
}

fn meets(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).any(|(a, b)| a & b != 0)
}

/// A rule whose lists are bits.
struct Rule {
    through: Vec<Vec<u64>>,
    avoid: Vec<u64>,
    ends: Vec<Vec<u64>>,
    length_mm: Option<(f64, f64)>,
}

impl Rule {
    fn new(rule: &BundleRule, named: &[u32]) -> Self {
        let all = |lists: &[Vec<u32>]| lists.iter().map(|list| bits(list, named)).collect();
        Self {
            through: all(&rule.through),
            avoid: bits(&rule.avoid, named),
            ends: all(&rule.ends),
            length_mm: rule.length_mm,
        }
    }

    fn holds(&self, met: &MetLabels, length_mm: f64) -> bool {
        let [first, last] = &met.ends;
        let ends = match self.ends.as_slice() {
            [] => true,
            [list] => meets(list, first) || meets(list, last),
            [a, b, ..] => meets(a, first) && meets(b, last) || meets(b, first) && meets(a, last),
        };
        let limits = self.length_mm;
        ends && !meets(&self.avoid, &met.passed)
            && self.through.iter().all(|list| meets(list, &met.passed))
            && limits.is_none_or(|(low, high)| low <= length_mm && length_mm <= high)
    }
}

/// The label map with the numbers of the labels that the recipe names.
struct Map<'a> {
    volume: &'a Volume,
    numbers: Vec<u16>,
    /// Whether a voxel has each of the labels that the recipe names.
    known: Vec<bool>,
    radius_mm: f64,
    /// Half the edges of the block of voxels touched by a ball of the radius.
    reach: DVec3,
}

impl<'a> Map<'a> {
    fn new(volume: &'a Volume, frame: usize, named: &[u32], radius_mm: f64) -> Self {
        let number = |value: &f32| {
            let is_label = *value > 0.0 && value.fract() == 0.0;
            let at = is_label.then(|| named.binary_search(&(*value as u32)).ok());
            at.flatten().map_or(NOT_NAMED, |at| at as u16)
        };
        let numbers: Vec<u16> = volume.frame(frame).iter().map(number).collect();
        let present: BTreeSet<u16> = numbers.iter().copied().collect();
        let m = volume.grid.voxel_from_world.matrix3;
        let reach = |axis: usize| m.row(axis).length() * radius_mm;
        Self {
            volume,
            known: (0..named.len())
                .map(|at| present.contains(&(at as u16)))
                .collect(),
            numbers,
            radius_mm,
            reach: DVec3::new(reach(0), reach(1), reach(2)),
        }
    }

    /// Fills `met`.
    fn meet(&self, line: &[[f32; 3]], walk: &mut Walk, met: &mut MetLabels) {
        met.passed.fill(0);
        walk.line(line, |voxel| set(&mut met.passed, self.numbers[voxel]));
        for (end, bits) in [line.first(), line.last()].into_iter().zip(&mut met.ends) {
            bits.fill(0);
            let world = end.map(|point| Vec3::from(*point).as_dvec3());
            if let Some(world) = world.filter(|world| world.is_finite()) {
                self.around(world, bits);
            }
        }
    }

    /// Sets the labels at a point and around it.
    fn around(&self, world: DVec3, bits: &mut [u64]) {
        let grid = &self.volume.grid;
        if let Some(voxel) = grid.nearest(world) {
            set(bits, self.numbers[grid.index(voxel)]);
        }
        if self.radius_mm <= 0.0 {
            return;
        }
        let at = grid.voxel_at(world);
        let range = |axis: usize| {
            let last = grid.shape[axis] as f64 - 1.0;
            let low = (at[axis] - self.reach[axis]).ceil().max(0.0);
            let high = (at[axis] + self.reach[axis]).floor().min(last);
            // Empty if the point lies too far outside.
            (low as usize)..(high + 1.0).max(0.0) as usize
        };
        let squared = self.radius_mm * self.radius_mm;
        for k in range(2) {
            for j in range(1) {
                for i in range(0) {
                    let number = self.numbers[grid.index([i, j, k])];
                    if number == NOT_NAMED {
                        continue;
                    }
                    let centre = grid.world(DVec3::new(i as f64, j as f64, k as f64));
                    if centre.distance_squared(world) <= squared {
                        set(bits, number);
                    }
                }
            }
        }
    }
}
