//! The functions: each does what the command of its name does.

use crate::errors::Failure;
use crate::parameters::{Given, Row, filled, given, rows, split};
use crate::run::{Common, run};
use crate::types::{Image, Streamlines};
use arcuate_engine::compute::{Backend, Control};
use arcuate_engine::data::region::RegionId;
use arcuate_engine::data::tractogram::LENGTH;
use arcuate_engine::data::{Mask, Region, Role, Shape, Tractogram, Volume};
use arcuate_engine::io::{self, gradients};
use arcuate_engine::solvers::density::{
    DensityGrid, Params as DensityParams, Voxels, density as density_map,
};
use arcuate_engine::solvers::{curves, tensor_fit, tracking, tractogram};
use glam::DVec3;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// Rows of tracking that the package does not have yet: a bootstrap needs the residuals of the fit.
const NOT_YET: &[&str] = &["bootstrap"];

/// Bytes available to a result with many curves, as for commands.
fn memory() -> Option<u64> {
    io::available_bytes().map(|bytes| bytes / 10 * 8)
}

/// The parameters of a function, from the tables of its solvers.
#[pyfunction]
pub fn parameters(function: &str) -> Vec<Row> {
    match function {
        "fit" => rows::<tensor_fit::Params>(&[]),
        "track" => rows::<curves::Params>(NOT_YET),
        "density" => {
            let mut all = rows::<Voxels>(&[]);
            all.extend(rows::<DensityParams>(&[]));
            all
        }
        _ => Vec::new(),
    }
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
fn with_lengths(tractogram: Tractogram) -> Tractogram {
    if tractogram.per_streamline.contains_key(LENGTH) {
        return tractogram;
    }
    let lengths = (0..tractogram.len()).map(|i| tractogram.length_mm(i));
    let lengths: Vec<f32> = lengths.collect();
    tractogram.with_per_streamline(LENGTH, lengths)
}

/// Fitted tensors with their maps.
#[pyclass(frozen, module = "arcuate._engine", name = "RawFit")]
pub struct Fit {
    fit: tensor_fit::Output,
    maps: tensor_fit::Maps,
    mask: Mask,
}

#[pymethods]
impl Fit {
    /// A map by its name; `None` if there is no such map.
    fn map(&self, name: &str) -> Option<Image> {
        let volume = |volume: &Volume| Some(Image::of_volume(volume.clone()));
        match name {
            "fa" => volume(&self.maps.fa),
            "md" => volume(&self.maps.md),
            "ad" => volume(&self.maps.ad),
            "rd" => volume(&self.maps.rd),
            "dec" => volume(&self.maps.dec),
            "direction" => volume(&self.maps.direction),
            "tensor" => volume(&self.fit.field.volume()),
            "s0" => self.fit.s0.as_ref().and_then(volume),
            "mask" => Some(Image::of_mask(&self.mask)),
            "repaired" => Some(Image::of_mask(&self.fit.repaired)),
            _ => None,
        }
    }

    #[getter]
    fn unfitted(&self) -> usize {
        self.fit.unfitted
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
    let Some(gradients) = scan.gradients.as_deref() else {
        return Err(Failure::Input(
            "Found an image without gradients, expected a scan with them; put its .bval and .bvec beside it, or make \
             the image with bvals and bvecs"
                .to_owned(),
        ));
    };
    let params = filled(
        tensor_fit::Params::defaults_for(Some(gradients)),
        given,
        &[],
    )?;
    let dwi = &scan.volume;
    let mask = match mask {
        // A mask of the scan's voxels in another order; the solver refuses any other.
        Some(mask) => {
            let mask = mask.as_mask("mask")?;
            mask.in_the_order_of(&dwi.grid).unwrap_or(mask)
        }
        None => tensor_fit::brain_mask(dwi, gradients, backend, control)?.mask,
    };
    let fit = tensor_fit::fit(dwi, gradients, &mask, &params, backend, control)?;
    if mask.count() == fit.unfitted {
        return Err(Failure::Input(format!(
            "None of the mask's {} voxels has enough signal for a tensor, expected values above 0; check that the scan \
             is whole and that the mask belongs to it",
            mask.count()
        )));
    }
    let maps = tensor_fit::maps(&fit.field, backend, control)?;
    backend.install(|| {
        fit.on_host()?;
        maps.on_host()
    })?;
    Ok(Fit { fit, maps, mask })
}

/// A region: its role, with the numbers of a sphere (4) or a box (6), or with a mask.
type GivenRegion<'py> = (String, Vec<f64>, Option<PyRef<'py, Image>>);

fn region(
    number: usize,
    given: (String, Vec<f64>, Option<Image>),
    earlier: usize,
) -> Result<Region, Failure> {
    let (role, numbers, mask) = given;
    let role = Role::from_key(&role).ok_or_else(|| {
        let known = Role::ALL.map(|role: Role| role.key()).join(", ");
        Failure::Input(format!("Found the role {role}, expected one of {known}"))
    })?;
    let finite = numbers.iter().all(|n| n.is_finite());
    let shape = match (&numbers[..], mask) {
        (_, Some(mask)) => Some(Shape::Mask(mask.as_mask(role.name())?)),
        ([x, y, z, radius], None) if finite && *radius > 0.0 => Some(Shape::Sphere {
            centre: DVec3::new(*x, *y, *z),
            radius_mm: *radius,
        }),
        ([x, y, z, a, b, c], None) if finite && [a, b, c].into_iter().all(|h| *h > 0.0) => {
            Some(Shape::Box {
                centre: DVec3::new(*x, *y, *z),
                half_mm: DVec3::new(*a, *b, *c),
            })
        }
        _ => None,
    };
    let name = match earlier {
        0 => role.name().to_owned(),
        n => format!("{} {}", role.name(), n + 1),
    };
    let Some(shape) = shape else {
        return Err(Failure::Input(format!(
            "Found the numbers {numbers:?} for {name}, expected x, y, z and a radius, or x, y, z and three half-edges, \
             in mm, with sizes above 0"
        )));
    };
    Ok(Region {
        id: RegionId(number as u64),
        name,
        role,
        shape: Arc::new(shape),
        colour: None,
        visible: true,
        label_number: None,
    })
}

/// Follows streamlines through fitted tensors.
#[pyfunction]
pub fn track(
    py: Python<'_>,
    fit: PyRef<'_, Fit>,
    regions: Vec<GivenRegion<'_>>,
    arguments: &Bound<'_, PyDict>,
    common: Common,
) -> PyResult<Streamlines> {
    let given = given(arguments)?;
    let regions = regions
        .into_iter()
        .map(|(role, numbers, mask)| (role, numbers, mask.map(|m| m.clone())));
    let regions: Vec<_> = regions.collect();
    let (field, fa) = (fit.fit.field.clone(), fit.maps.fa.clone());
    run(py, &common, move |backend, control| {
        let mut all: Vec<Region> = Vec::new();
        for one in regions {
            let earlier = all.iter().filter(|r| r.role.key() == one.0).count();
            all.push(region(all.len(), one, earlier)?);
        }
        let mut defaults = curves::Params::defaults();
        let has = |key: &str| given.iter().any(|(name, _)| name == key);
        if has("deflect") && !has("integrator") {
            defaults.integrator = curves::Integrator::Euler;
        }
        let params = filled(defaults, &given, NOT_YET)?;
        params.check_reach()?;
        let output = tracking::track_within(&field, &all, &params, memory(), backend, control)?;
        output.on_host()?;
        let along = backend.install(|| tractogram::sampled(&fa, &output.kept));
        let mut kept = with_lengths(output.kept.with_per_point("fa", along));
        let targets = all.iter().filter(|r| r.role == Role::Target);
        let names: Vec<String> = targets.map(|r| r.name.clone()).collect();
        if !names.is_empty() {
            kept = kept.with_codes("target", names);
        }
        Ok(Streamlines {
            tractogram: kept.with_grid(field.grid.clone()),
        })
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
        let voxels: Voxels = filled(
            arcuate_engine::parameters::Parameters::defaults(),
            &voxels,
            &[],
        )?;
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
