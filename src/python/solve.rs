//! Opening files, fitting tensors, density: each function does what the command of its name does.

use crate::errors::Failure;
use crate::parameters::{Given, filled, given, split};
use crate::run::{Common, run};
use crate::types::{Image, Streamlines};
use arcuate_engine::compute::{Backend, Control};
use arcuate_engine::data::tractogram::LENGTH;
use arcuate_engine::data::{Grid, Region, Role, Tractogram, Volume};
use arcuate_engine::io::{self, gradients};
use arcuate_engine::parameters::Parameters;
use arcuate_engine::solvers::density::{
    DensityGrid, Params as DensityParams, Voxels, density as density_map,
};
use arcuate_engine::solvers::tensor_fit;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes available to a result with many curves, as for commands.
pub fn memory() -> Option<u64> {
    io::available_bytes().map(|bytes| bytes / 10 * 8)
}

/// The contents of a file.
#[derive(IntoPyObject)]
pub enum Opened {
    Image(Image),
    Streamlines(Streamlines),
}

/// Opens a file, and returns the remarks about it.
#[pyfunction]
pub fn open(py: Python<'_>, path: PathBuf, common: Common) -> PyResult<(Opened, Vec<String>)> {
    run(py, &common, |_, control| {
        let opened = io::open(&path, control)?;
        let mut remarks: Vec<String> = opened.remarks().into_iter().map(|r| r.sentence).collect();
        Ok(match opened {
            io::Opened::Tractogram(tractogram, _) => {
                let tractogram = with_lengths(tractogram);
                (Opened::Streamlines(Streamlines { tractogram }), remarks)
            }
            io::Opened::Volume(volume, _) => {
                let mut image = Image::of_volume(volume);
                if image.volume.frames > 1 {
                    let table =
                        gradients::for_scan(&path, &[], &image.volume.grid, image.volume.frames)?;
                    if let Some(table) = table {
                        remarks.extend(table.remarks.into_iter().map(|r| r.sentence));
                        image.gradients = Some(Arc::new(table.gradients));
                    }
                } else {
                    image.mask = io::as_mask(&image.volume);
                }
                (Opened::Image(image), remarks)
            }
        })
    })
}

/// Adds lengths, mm, unless the file has its own.
pub fn with_lengths(tractogram: Tractogram) -> Tractogram {
    if tractogram.per_streamline.contains_key(LENGTH) {
        return tractogram;
    }
    let lengths = (0..tractogram.len()).map(|i| tractogram.length_mm(i));
    let lengths: Vec<f32> = lengths.collect();
    tractogram.with_per_streamline(LENGTH, lengths)
}

/// New curves with their lengths, the names of the targets that their numbers denote, and their grid.
pub fn finished(curves: Tractogram, regions: &[Region], grid: &Arc<Grid>) -> Tractogram {
    let curves = with_lengths(curves).with_grid(grid.clone());
    let targets = regions.iter().filter(|r| r.role == Role::Target);
    let names: Vec<String> = targets.map(|r| r.name.clone()).collect();
    match names.is_empty() {
        true => curves,
        false => curves.with_codes("target", names),
    }
}

/// Fitted tensors with their maps. They share the memory of the scan, whose residuals a bootstrap needs.
#[pyclass(frozen, module = "arcuate._engine", name = "RawFit")]
#[derive(Clone)]
pub struct Fit {
    pub whole: tensor_fit::WholeFit,
    pub scan: Image,
    pub params: tensor_fit::Params,
    /// The name of its mask in sentences.
    pub mask_name: &'static str,
}

#[pymethods]
impl Fit {
    /// A map by its name; `None` if there is no such map.
    fn map(&self, name: &str) -> Option<Image> {
        let tensor_fit::WholeFit {
            fit, maps, mask, ..
        } = &self.whole;
        let volume = |volume: &Volume| Some(Image::of_volume(volume.clone()));
        match name {
            "fa" => volume(&maps.fa),
            "md" => volume(&maps.md),
            "ad" => volume(&maps.ad),
            "rd" => volume(&maps.rd),
            "dec" => volume(&maps.dec),
            "direction" => volume(&maps.direction),
            "tensor" => volume(&fit.field.volume()),
            "s0" => fit.s0.as_ref().and_then(volume),
            "mask" => Some(Image::of_mask(mask)),
            "repaired" => Some(Image::of_mask(&fit.repaired)),
            _ => None,
        }
    }

    /// Number of volumes of the scan.
    #[getter]
    fn volumes(&self) -> usize {
        self.scan.volume.frames
    }

    /// Number of voxels of the mask with tensors.
    #[getter]
    fn fitted(&self) -> usize {
        let unfitted = self.whole.fit.unfitted;
        self.whole.mask.count().saturating_sub(unfitted)
    }
}

/// Fits tensors within a mask, which is found if none is given.
#[pyfunction]
pub fn fit(
    py: Python<'_>,
    scan: PyRef<'_, Image>,
    mask: Option<PyRef<'_, Image>>,
    arguments: &Bound<'_, PyDict>,
    common: Common,
) -> PyResult<Fit> {
    let given = given(arguments)?;
    let (scan, mask) = (scan.clone(), mask.map(|mask| mask.clone()));
    run(py, &common, |backend, control| {
        fitted(&scan, mask.as_ref(), &given, backend, control)
    })
}

fn fitted(
    scan: &Image,
    mask: Option<&Image>,
    given: &Given,
    backend: &Backend,
    control: &Control,
) -> Result<Fit, Failure> {
    let gradients = scan.scan_gradients()?;
    let defaults = tensor_fit::Params::defaults_for(Some(gradients));
    let params = filled(defaults, given, &[])?;
    let mask = mask.map(|mask| mask.as_mask("mask")).transpose()?;
    let mask_name = match mask {
        Some(_) => "the mask",
        None => "the automatic mask",
    };
    let whole = tensor_fit::whole_fit(
        &scan.volume,
        Some(gradients),
        mask,
        &params,
        backend,
        control,
    )?;
    Ok(Fit {
        whole,
        scan: scan.clone(),
        params,
        mask_name,
    })
}

/// Maps the density of streamlines, on the grid of a template or their own.
#[pyfunction]
pub fn density(
    py: Python<'_>,
    streamlines: PyRef<'_, Streamlines>,
    template: Option<PyRef<'_, Image>>,
    arguments: &Bound<'_, PyDict>,
    common: Common,
) -> PyResult<Image> {
    let given = given(arguments)?;
    let tractogram = streamlines.tractogram.clone();
    let own = template.map(|template| template.volume.grid.clone());
    run(py, &common, move |backend, control| {
        let (voxels, given) = split::<Voxels>(given);
        let voxels = filled(Voxels::defaults(), &voxels, &[])?;
        let params = filled(DensityParams::defaults(), &given, &[])?;
        let grid = match (own.or_else(|| tractogram.grid.clone()), voxels.edge_mm) {
            (Some(grid), None) => DensityGrid::Grid(grid),
            (Some(grid), Some(mm)) => DensityGrid::Within(grid, mm),
            (None, Some(mm)) => DensityGrid::Around(mm),
            (None, None) => {
                return Err(Failure::Input(
                    "Found streamlines without a grid, expected one; give an image as template, or an edge as voxel"
                        .to_owned(),
                ));
            }
        };
        let grid = grid.grid(tractogram.bounds())?;
        let output = density_map(&tractogram, &grid, &params, memory(), backend, control)?;
        Ok(Image::of_volume(output.volume))
    })
}
