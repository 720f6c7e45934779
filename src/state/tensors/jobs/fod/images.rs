//! Maps of distributions as images.

use crate::data::labels::{Label, Labels};
use crate::data::odf_field::Tissue;
use crate::data::statistics::quantile;
use crate::data::{PeakField, Volume};
use crate::io;
use crate::state::core::colours::tissue_rgb;
use crate::state::tensors::recipe::fod::FodMap;
use crate::state::tensors::types::fods::Fods;
use std::sync::Arc;

/// A map as an image; `None` if it was not computed, or if these distributions have none.
pub fn map_image(map: FodMap, fods: &Fods) -> Option<Volume> {
    let maps = fods.maps.as_ref();
    match map {
        FodMap::Peaks => fods.peaks.as_ref().map(PeakField::image_with_gaps),
        FodMap::Afd => maps.map(|m| m.density.clone()),
        FodMap::AfdTotal => maps.map(|m| m.total.clone()),
        FodMap::Dispersion => maps.map(|m| m.dispersion.clone()),
        FodMap::Complexity => maps.map(|m| m.complexity.clone()),
        FodMap::Dec => maps.map(|m| m.dec.clone()),
        FodMap::Fractions => fods.fractions.clone(),
        // A folder of images.
        FodMap::Fixels => None,
        FodMap::ResponseVoxels => response_voxels(fods),
        FodMap::Cone => fods.uncertainty.as_ref().map(|m| m.cone.clone()),
        FodMap::PeakDispersion => fods.uncertainty.as_ref().map(|m| m.dispersion.clone()),
    }
}

/// A label map of the tissues whose response functions were measured: white matter 1, grey matter 2, CSF 3. `None` for
/// given functions.
fn response_voxels(fods: &Fods) -> Option<Volume> {
    let grid = fods.output.field.grid.clone();
    let mut values = vec![0f32; grid.voxel_count()];
    let mut labels = Labels::default();
    for (number, tissue) in (1u8..).zip(Tissue::ALL) {
        let Some(measured) = fods.measured.iter().find(|m| m.tissue == tissue) else {
            continue;
        };
        for (value, inside) in values.iter_mut().zip(&measured.voxels.inside[..]) {
            if *inside != 0 {
                *value = f32::from(number);
            }
        }
        let label = Label {
            name: tissue.label().to_owned(),
            colour: Some(tissue_rgb(tissue)),
        };
        labels.table.insert(u32::from(number), label);
    }
    let volume = Volume::scalar(grid, values).with_labels(Arc::new(labels));
    (!fods.measured.is_empty()).then_some(volume)
}

/// The images of fixels by their names: peaks with the density, the amplitude and the dispersion of their lobes.
pub fn fixels(fods: &Fods) -> Vec<(String, Volume)> {
    let (Some(peaks), Some(maps)) = (&fods.peaks, &fods.maps) else {
        return Vec::new();
    };
    let [density, amplitude, dispersion] = FIXEL_VALUES;
    let values = [
        (density, maps.density.clone()),
        (amplitude, io::fixels::lengths(peaks)),
        (dispersion, maps.dispersion.clone()),
    ];
    io::fixels::images(peaks, &values)
}

/// Names of the lists of values: density, amplitude, dispersion. MRtrix's tests name them so.
const FIXEL_VALUES: [&str; 3] = ["afd", "peak", "disp"];

/// Names of all images of fixels.
pub const FIXEL_IMAGES: [&str; 5] = [
    "index",
    "directions",
    FIXEL_VALUES[0],
    FIXEL_VALUES[1],
    FIXEL_VALUES[2],
];

/// Share of the largest peaks of all voxels that do not exceed a high one.
const HIGH: f64 = 0.98;

/// An amplitude that few peaks exceed; `None` without peaks.
pub(super) fn high_peak(field: &PeakField) -> Option<f32> {
    let n = field.grid.voxel_count();
    let square = |axis: usize, voxel: usize| {
        let v = f64::from(field.values.get(axis * n + voxel).copied().unwrap_or(0.0));
        v * v
    };
    let lengths = (0..n).map(|voxel| (0..3).map(|axis| square(axis, voxel)).sum::<f64>().sqrt());
    let mut lengths: Vec<f64> = lengths.filter(|length| *length > 0.0).collect();
    quantile(&mut lengths, HIGH).map(|peak| peak as f32)
}
