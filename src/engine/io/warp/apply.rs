//! Applies a warp: images pull their values, streamlines are pushed.

use super::OpenedWarp;
use crate::compute::{Control, memory};
use crate::data::text::{counted, singular_or_plural};
use crate::data::tractogram::LENGTH;
use crate::data::warp::{
    Unmapped, Warp, WarpInterpolation, label_voxel, linear_value, nearest_voxel,
};
use crate::data::{Grid, Tractogram, Volume, VolumeKind};
use crate::io::{Error, as_mask};
use glam::DVec3;
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;

/// Names the work in a message about memory.
const RESAMPLING: &str = "Resampling the image";
const PUSHING: &str = "Moving streamlines";

/// Place of a voxel of the result in the moving image, for voxels without one.
const NOWHERE: [f32; 3] = [f32::NAN; 3];

/// A resampled image, with sentences about it.
pub(in crate::io) struct Resampled {
    pub volume: Volume,
    pub warnings: Vec<String>,
    pub notes: Vec<String>,
}

/// How values between voxels are found if the user does not say so: labels and masks keep their values.
fn interpolation_by_content(volume: &Volume) -> WarpInterpolation {
    let is_label = volume.labels.is_some() || as_mask(volume).is_some();
    match is_label {
        true => WarpInterpolation::Labels,
        false => WarpInterpolation::Linear,
    }
}

/// Voxels of the fixed image that receive no value.
#[derive(Clone, Copy, Default)]
struct Unfilled {
    outside_field: usize,
    not_inverted: usize,
    outside_image: usize,
}

impl Unfilled {
    fn and(self, other: Self) -> Self {
        Self {
            outside_field: self.outside_field + other.outside_field,
            not_inverted: self.not_inverted + other.not_inverted,
            outside_image: self.outside_image + other.outside_image,
        }
    }
}

/// The image on the grid of the fixed image. Voxels that the warp maps outside the image, or nowhere, are 0.
pub(in crate::io) fn resample(
    path: &Path,
    volume: &Volume,
    opened: &OpenedWarp,
    fixed: &Arc<Grid>,
    interpolation: Option<WarpInterpolation>,
    control: &Control,
) -> Result<Resampled, Error> {
    let interpolation = interpolation.unwrap_or_else(|| interpolation_by_content(volume));
    let count = fixed.voxel_count();
    let claim = |each: usize| memory::claim_for::<f32>(RESAMPLING, count, each);
    claim(3 + volume.frames).map_err(|shortage| Error::memory(path, shortage))?;
    let slice = fixed.shape[0] * fixed.shape[1];
    control.begin("Resampling", ((1 + volume.frames) * fixed.shape[2]) as u64);
    let mut places = vec![NOWHERE; count];
    let parts = places.par_chunks_mut(slice).enumerate();
    let unfilled = parts.map(|(z, places)| {
        control.check()?;
        let found = place_slice(&opened.warp, fixed, &volume.grid, z, places);
        control.advance(1);
        Ok(found)
    });
    let unfilled: Unfilled = unfilled
        .try_reduce(Unfilled::default, |a, b| Ok(a.and(b)))
        .map_err(|cancelled: crate::compute::Cancelled| Error::from(cancelled))?;
    if unfilled.outside_field + unfilled.not_inverted + unfilled.outside_image == count {
        return Err(nothing_reached(path));
    }
    let mut values = vec![0f32; count * volume.frames];
    for frame in 0..volume.frames {
        let source = volume.frame(frame);
        let target = &mut values[frame * count..(frame + 1) * count];
        let parts = target.par_chunks_mut(slice).zip(places.par_chunks(slice));
        parts
            .try_for_each(|(target, places)| {
                control.check()?;
                for (value, place) in target.iter_mut().zip(places) {
                    *value = sampled(&volume.grid, source, interpolation, *place);
                }
                control.advance(1);
                Ok(())
            })
            .map_err(|cancelled: crate::compute::Cancelled| Error::from(cancelled))?;
    }
    let resampled = Volume::new(fixed.clone(), volume.frames, volume.kind, values);
    let resampled = match &volume.labels {
        Some(labels) => resampled.with_labels(labels.clone()),
        None => resampled,
    };
    Ok(Resampled {
        volume: resampled,
        warnings: warnings(volume, interpolation, unfilled, count),
        notes: vec![format!(
            "Resampled on {} × {} × {} voxels of the fixed image, {}",
            fixed.shape[0],
            fixed.shape[1],
            fixed.shape[2],
            match interpolation {
                WarpInterpolation::Linear => "with linear interpolation",
                WarpInterpolation::Nearest => "with the value of the nearest voxel",
                WarpInterpolation::Labels => "with the label of the largest weight",
            }
        )],
    })
}

fn nothing_reached(path: &Path) -> Error {
    Error::unsupported(
        path,
        "data that the alignment maps nowhere into the other image",
        "check the order and the directions of the transforms, and that they belong to these data",
    )
}

/// Finds the places of one slice of the fixed image in the moving image, in voxels.
fn place_slice(
    warp: &Warp,
    fixed: &Grid,
    moving: &Grid,
    z: usize,
    places: &mut [[f32; 3]],
) -> Unfilled {
    let mut unfilled = Unfilled::default();
    for (i, place) in places.iter_mut().enumerate() {
        let (x, y) = (i % fixed.shape[0], i / fixed.shape[0]);
        let world = fixed.world(DVec3::new(x as f64, y as f64, z as f64));
        match warp.pull(world) {
            Ok(point) => {
                // Rounding of the affines must not decide at the border.
                const BORDER: f64 = 1e-6;
                let voxel = moving.voxel_at(point);
                let is_inside = (0..3).all(|a| {
                    voxel[a] >= -0.5 - BORDER && voxel[a] <= moving.shape[a] as f64 - 0.5 + BORDER
                });
                match is_inside {
                    true => {
                        let high = DVec3::from_array(moving.shape.map(|n| n as f64 - 0.5));
                        let voxel = voxel.clamp(DVec3::splat(-0.5), high);
                        *place = voxel.as_vec3().to_array();
                    }
                    false => unfilled.outside_image += 1,
                }
            }
            Err(Unmapped::NotInvertible) => unfilled.not_inverted += 1,
            Err(Unmapped::Outside | Unmapped::NotFinite) => unfilled.outside_field += 1,
        }
    }
    unfilled
}

fn sampled(grid: &Grid, values: &[f32], interpolation: WarpInterpolation, place: [f32; 3]) -> f32 {
    let voxel = DVec3::from_array(place.map(f64::from));
    if voxel.is_nan() {
        return 0.0;
    }
    match interpolation {
        WarpInterpolation::Linear => linear_value(grid, values, voxel).unwrap_or(0.0),
        WarpInterpolation::Nearest => nearest_voxel(grid, voxel).map_or(0.0, |i| values[i]),
        WarpInterpolation::Labels => label_voxel(grid, values, voxel).map_or(0.0, |i| values[i]),
    }
}

/// Sentences about voxels without a value, and values that the warp does not turn.
fn warnings(
    volume: &Volume,
    interpolation: WarpInterpolation,
    unfilled: Unfilled,
    count: usize,
) -> Vec<String> {
    let share = |some: usize| match 100.0 * some as f64 / count as f64 {
        share if share < 0.1 => "less than 0.1".to_owned(),
        share => format!("{share:.1}"),
    };
    let mut warnings = Vec::new();
    if unfilled.outside_field > 0 {
        warnings.push(format!(
            "{} of the fixed image ({} %) lie outside the field, or where it is no number, and are 0",
            counted(unfilled.outside_field, "voxel"),
            share(unfilled.outside_field)
        ));
    }
    if unfilled.not_inverted > 0 {
        warnings.push(format!(
            "{} of the fixed image ({} %) lie where a field has no inverse, and are 0",
            counted(unfilled.not_inverted, "voxel"),
            share(unfilled.not_inverted)
        ));
    }
    if volume.labels.is_some() && interpolation == WarpInterpolation::Linear {
        warnings.push(
            "Linear interpolation mixes the numbers of labels: values between two labels name other structures"
                .to_owned(),
        );
    }
    let has_negative = || volume.values.iter().any(|value| *value < 0.0);
    let may_be_vectors = volume.kind == VolumeKind::Scalar
        && volume.frames >= 3
        && volume.frames.is_multiple_of(3)
        && has_negative();
    if may_be_vectors {
        warnings.push(
            "The values were not turned with the image; directions such as peaks would have to be"
                .to_owned(),
        );
    }
    warnings
}

/// Smaller errors are reported as “less than” this, mm.
const SHOWN_MM: f64 = 1e-4;

/// Counts of the points of streamlines that were moved, and of those that could not be.
#[derive(Clone, Debug, Default)]
pub(in crate::io) struct PushCounts {
    points: usize,
    outside: usize,
    not_finite: usize,
    not_inverted: usize,
    streamlines: usize,
    emptied: usize,
    largest_error_mm: f64,
    total_error_mm: f64,
}

impl PushCounts {
    fn add(&mut self, other: &Self) {
        self.points += other.points;
        self.outside += other.outside;
        self.not_finite += other.not_finite;
        self.not_inverted += other.not_inverted;
        self.streamlines += other.streamlines;
        self.emptied += other.emptied;
        self.largest_error_mm = self.largest_error_mm.max(other.largest_error_mm);
        self.total_error_mm += other.total_error_mm;
    }

    /// An error if no streamline is left.
    pub fn check(&self, path: &Path) -> Result<(), Error> {
        match self.streamlines > 0 && self.emptied == self.streamlines {
            true => Err(nothing_reached(path)),
            false => Ok(()),
        }
    }

    /// Warnings and notes, one sentence each.
    pub fn remarks(&self) -> (Vec<String>, Vec<String>) {
        let mut warnings = Vec::new();
        if self.emptied > 0 {
            let reasons = [
                (self.outside, "outside the field"),
                (self.not_inverted, "where the field has no inverse"),
                (
                    self.not_finite,
                    "where a coordinate or the field is no number",
                ),
            ];
            let reasons = reasons.iter().filter(|(points, _)| *points > 0);
            let reasons: Vec<String> = reasons
                .map(|(points, place)| format!("{} {place}", counted(*points, "point")))
                .collect();
            warnings.push(format!(
                "{} of {} cannot be mapped as a whole ({}) and {} without points, so that indices still match",
                self.emptied,
                counted(self.streamlines, "streamline"),
                reasons.join(", "),
                singular_or_plural(self.emptied, "is", "are")
            ));
        }
        let mapped = self.points - self.outside - self.not_finite - self.not_inverted;
        let notes = match mapped {
            0 => Vec::new(),
            mapped => vec![format!(
                "{} moved by the inverse of the alignment; mapped back, they miss their places by {}",
                counted(mapped, "point"),
                match self.largest_error_mm < SHOWN_MM {
                    true => format!("less than {SHOWN_MM} mm"),
                    false => format!(
                        "{:.4} mm on average and at most {:.4} mm",
                        self.total_error_mm / mapped as f64,
                        self.largest_error_mm
                    ),
                }
            )],
        };
        (warnings, notes)
    }
}

/// Streamlines that one thread moves at a time.
const BATCH: usize = 256;

/// The streamlines in the space of the fixed image. One that cannot be mapped as a whole keeps its place without points.
pub(in crate::io) fn push(
    path: &Path,
    tractogram: &Tractogram,
    opened: &OpenedWarp,
    counts: &mut PushCounts,
    control: &Control,
) -> Result<Tractogram, Error> {
    let claimed = memory::claim_for::<[f32; 3]>(PUSHING, tractogram.points.len(), 2);
    claimed.map_err(|shortage| Error::memory(path, shortage))?;
    let numbers: Vec<usize> = (0..tractogram.len()).collect();
    let batches: Result<Vec<Batch>, Error> = numbers
        .par_chunks(BATCH)
        .map(|numbers| {
            control.check()?;
            Ok(push_batch(tractogram, &opened.warp, numbers))
        })
        .collect();
    let batches = batches?;
    let mut offsets = Vec::with_capacity(tractogram.len() + 1);
    offsets.push(0u64);
    let mut end = 0;
    for batch in &batches {
        counts.add(&batch.counts);
        for length in &batch.lengths {
            end += length;
            offsets.push(end);
        }
    }
    let points: Vec<[f32; 3]> = batches.into_iter().flat_map(|batch| batch.points).collect();
    let kept = |i: usize| offsets[i + 1] > offsets[i];
    let mut moved = Tractogram::new(points, offsets.clone());
    for (name, values) in &tractogram.per_point {
        let mut own = Vec::with_capacity(moved.points.len());
        for i in (0..tractogram.len()).filter(|i| kept(*i)) {
            let range = tractogram.offsets[i] as usize..tractogram.offsets[i + 1] as usize;
            own.extend_from_slice(&values[range]);
        }
        moved = moved.with_per_point(name, own);
    }
    moved.per_streamline = tractogram.per_streamline.clone();
    moved.codes = tractogram.codes.clone();
    moved.groups = tractogram.groups.clone();
    moved.per_group = tractogram.per_group.clone();
    moved.grid.clone_from(&opened.fixed);
    if moved.per_streamline.remove(LENGTH).is_some() {
        let lengths: Vec<f32> = (0..moved.len()).map(|i| moved.length_mm(i)).collect();
        moved = moved.with_per_streamline(LENGTH, lengths);
    }
    Ok(moved)
}

/// Streamlines that one thread moved.
#[derive(Default)]
struct Batch {
    points: Vec<[f32; 3]>,
    /// Points of each streamline.
    lengths: Vec<u64>,
    counts: PushCounts,
}

fn push_batch(tractogram: &Tractogram, warp: &Warp, numbers: &[usize]) -> Batch {
    let mut batch = Batch::default();
    for &number in numbers {
        let curve = tractogram.streamline(number);
        let before = batch.points.len();
        let counts = &mut batch.counts;
        let mut is_whole = true;
        for point in curve {
            match warp.push(DVec3::from_array(point.map(f64::from))) {
                Ok(pushed) => {
                    batch.points.push(pushed.point.as_vec3().to_array());
                    counts.largest_error_mm = counts.largest_error_mm.max(pushed.error_mm);
                    counts.total_error_mm += pushed.error_mm;
                    continue;
                }
                Err(Unmapped::Outside) => counts.outside += 1,
                Err(Unmapped::NotFinite) => counts.not_finite += 1,
                Err(Unmapped::NotInvertible) => counts.not_inverted += 1,
            }
            is_whole = false;
        }
        counts.points += curve.len();
        counts.streamlines += 1;
        if !is_whole {
            counts.emptied += 1;
            batch.points.truncate(before);
        }
        batch.lengths.push((batch.points.len() - before) as u64);
    }
    batch
}
