//! Parts of a mask between which no path leads.

use super::Metric;

/// The part of each voxel, by place: parts are numbered from 0 in the order of their first voxels.
pub fn components(metric: &Metric) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut parts = vec![NONE; metric.len()];
    let mut count = 0;
    let mut waiting = Vec::new();
    for first in 0..metric.len() {
        if parts[first] != NONE {
            continue;
        }
        parts[first] = count;
        waiting.push(first);
        while let Some(place) = waiting.pop() {
            for next in faces(metric, place) {
                if parts[next] == NONE {
                    parts[next] = count;
                    waiting.push(next);
                }
            }
        }
        count += 1;
    }
    parts
}

/// Places of the voxels that share a face.
pub fn faces(metric: &Metric, place: usize) -> impl Iterator<Item = usize> {
    let voxel = metric.voxel(place);
    (0..6).filter_map(move |k| {
        let mut next = voxel;
        next[k / 2] += if k % 2 == 0 { -1 } else { 1 };
        metric.place_of(next)
    })
}
