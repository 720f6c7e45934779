//! Images and streamlines as classes of Python.

use crate::arrays::{Stored, Values, shared};
use crate::errors::{Failure, may_write, raised};
use crate::run::{Common, run};
use arcuate_engine::data::grid::AffineSource;
use arcuate_engine::data::text::counted;
use arcuate_engine::data::{Gradients, Grid, Mask, Tractogram, Volume, VolumeKind};
use arcuate_engine::io::{self, image, streamlines};
use glam::{DAffine3, DMat4, DVec3};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// An image, a mask, or a scan with its gradients.
#[pyclass(frozen, module = "arcuate._engine", name = "RawImage")]
#[derive(Clone)]
pub struct Image {
    pub volume: Volume,
    pub mask: Option<Mask>,
    pub gradients: Option<Arc<Gradients>>,
}

impl Image {
    pub fn of_volume(volume: Volume) -> Self {
        Self {
            volume,
            mask: None,
            gradients: None,
        }
    }

    pub fn of_mask(mask: &Mask) -> Self {
        Self {
            volume: mask.image().clone(),
            mask: Some(mask.clone()),
            gradients: None,
        }
    }

    /// The gradients of a scan.
    pub fn scan_gradients(&self) -> Result<&Gradients, Failure> {
        self.gradients.as_deref().ok_or_else(|| {
            Failure::Input(
                "Found an image without gradients, expected a scan with them; put its .bval and .bvec beside it, or \
                 make the image with bvals and directions"
                    .to_owned(),
            )
        })
    }

    /// The image with one number in each voxel; the first of several volumes.
    pub fn scalar(&self, name: &str) -> Result<&Volume, Failure> {
        match self.volume.kind {
            VolumeKind::Rgb => Err(Failure::Input(format!(
                "Found a colour image for {name}, expected one number per voxel; give another image"
            ))),
            _ => Ok(&self.volume),
        }
    }

    /// The mask that the image is: values 0 and 1 only. A mask of all voxels is one, although a file with 1 in each is
    /// opened as an image.
    pub fn as_mask(&self, name: &str) -> Result<Mask, Failure> {
        let mask = self.mask.clone().or_else(|| io::as_mask(&self.volume));
        if let Some(mask) = mask {
            return Ok(mask);
        }
        let Volume { grid, values, .. } = &self.volume;
        let is_single = self.volume.frames == 1 && self.volume.kind == VolumeKind::Scalar;
        let all = |value: f32| values.iter().all(|&v| v == value);
        if is_single && all(1.0) {
            return Ok(Mask::new(grid.clone(), vec![1; grid.voxel_count()]));
        }
        let (found, remedy) = match () {
            () if self.volume.frames != 1 => ("several volumes", "give one of them"),
            () if all(0.0) => (
                "an empty mask, 0 in every voxel,",
                "give a mask with 1 where the data are",
            ),
            () => (
                "other values than 0 and 1",
                "compare the image with a threshold first",
            ),
        };
        Err(Failure::Input(format!(
            "Found {found} for {name}, expected one volume of 0 outside and 1 inside; {remedy}"
        )))
    }
}

/// The affine as 16 numbers, row by row.
fn affine_rows(grid: &Grid) -> Vec<f64> {
    DMat4::from(grid.world_from_voxel)
        .transpose()
        .to_cols_array()
        .to_vec()
}

fn grid(shape: [usize; 3], rows: &[f64]) -> Result<Grid, Failure> {
    let numbers: Option<[f64; 16]> = rows.try_into().ok();
    let is_affine =
        |n: &[f64; 16]| n[12..] == [0.0, 0.0, 0.0, 1.0] && n.iter().all(|v| v.is_finite());
    let numbers = numbers.filter(is_affine);
    let affine = numbers.map(|n| DAffine3::from_mat4(DMat4::from_cols_array(&n).transpose()));
    let grid = affine.and_then(|affine| Grid::new(shape, affine, AffineSource::Header));
    grid.ok_or_else(|| {
        Failure::Input(format!(
            "Found the affine {rows:?} for an image of {shape:?} voxels, expected 4 × 4 finite numbers with the last \
             row 0, 0, 0, 1, three independent axes, and voxels; take that of the image's file"
        ))
    })
}

#[pymethods]
impl Image {
    /// The array must be float32 in Fortran order, with three or four axes; it is shared.
    #[new]
    fn new(array: &Bound<'_, PyAny>, affine: Vec<f64>) -> PyResult<Self> {
        let py = array.py();
        let expected = "an array of float32 with three or four axes in Fortran order";
        let (values, shape) = shared::<f32>(array, "<f4", "F", ("the image", expected))?;
        let (voxels, frames) = match shape[..] {
            [x, y, z] => ([x, y, z], 1),
            [x, y, z, frames] => ([x, y, z], frames),
            _ => {
                let sentence = format!(
                    "Found an array with the shape {shape:?} for the image, expected {expected}; add or remove axes"
                );
                return Err(raised(py, Failure::Input(sentence)));
            }
        };
        let grid = grid(voxels, &affine).map_err(|e| raised(py, e))?;
        if frames == 0 {
            let sentence =
                "Found an image without volumes, expected at least one; give another array"
                    .to_owned();
            return Err(raised(py, Failure::Input(sentence)));
        }
        Ok(Self::of_volume(Volume::new(
            Arc::new(grid),
            frames,
            VolumeKind::Scalar,
            values,
        )))
    }

    /// The scan with its gradients: b-values in s/mm² and directions in world axes.
    fn with_gradients(
        &self,
        py: Python<'_>,
        b: Vec<f64>,
        directions: Vec<[f64; 3]>,
    ) -> PyResult<Self> {
        let frames = self.volume.frames;
        let refuse = |sentence: String| raised(py, Failure::Input(sentence));
        if b.len() != frames || directions.len() != frames {
            return Err(refuse(format!(
                "Found {} b-values and {} directions for {frames} volumes, expected one of each per volume; take \
                 both from the files of this scan",
                b.len(),
                directions.len()
            )));
        }
        let all = b.iter().chain(directions.iter().flatten());
        if all.clone().any(|v| !v.is_finite()) || b.iter().any(|b| *b < 0.0) {
            let found = "Found a gradient that is negative or not finite";
            return Err(refuse(format!(
                "{found}, expected b-values of at least 0 s/mm² and finite directions; correct it"
            )));
        }
        let gradients = Gradients {
            b_s_per_mm2: b,
            directions: directions
                .into_iter()
                .map(|d| DVec3::from_array(d).normalize_or_zero())
                .collect(),
        };
        Ok(Self {
            gradients: Some(Arc::new(gradients)),
            ..self.clone()
        })
    }

    #[getter]
    fn array(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let mut shape = self.volume.grid.shape.to_vec();
        if let Some(mask) = self
            .mask
            .as_ref()
            .filter(|mask| mask.inside.len() == mask.grid.voxel_count())
        {
            return Values::array(py, Stored::Marks(mask.inside.clone()), shape, true);
        }
        if self.volume.frames > 1 {
            shape.push(self.volume.frames);
        }
        Values::array(py, Stored::Floats(self.volume.values.clone()), shape, true)
    }

    #[getter]
    fn affine(&self) -> Vec<f64> {
        affine_rows(&self.volume.grid)
    }

    #[getter]
    fn gradients(&self) -> Option<(Vec<f64>, Vec<[f64; 3]>)> {
        let gradients = self.gradients.as_ref()?;
        let directions = gradients.directions.iter().map(DVec3::to_array);
        Some((gradients.b_s_per_mm2.clone(), directions.collect()))
    }

    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        description: String,
        overwrite: bool,
        common: Common,
    ) -> PyResult<()> {
        run(py, &common, |_, control| {
            let [bval, bvec] = ["bval", "bvec"].map(|ending| io::with_extension(&path, ending));
            match &self.gradients {
                Some(_) => may_write(&[&path, &bval, &bvec], overwrite)?,
                None => may_write(&[&path], overwrite)?,
            }
            match &self.mask {
                Some(mask) => image::save_mask(&path, mask, &description, control)?,
                None => image::save_volume(&path, &self.volume, &description, control)?,
            }
            if let Some(gradients) = &self.gradients {
                io::gradients::save(&bval, &bvec, gradients, &self.volume.grid)?;
            }
            Ok(())
        })
    }
}

/// Streamlines.
#[pyclass(frozen, module = "arcuate._engine", name = "RawStreamlines")]
pub struct Streamlines {
    pub tractogram: Tractogram,
}

#[pymethods]
impl Streamlines {
    /// The points must be float32, n × 3 in C order; they are shared. Offsets are copied.
    #[new]
    fn new(points: &Bound<'_, PyAny>, offsets: Vec<i64>) -> PyResult<Self> {
        let py = points.py();
        let refuse = |sentence: String| raised(py, Failure::Input(sentence));
        let expected = "an array of float32 with the shape (points, 3) in C order, world mm";
        let is_flat = points
            .getattr("ndim")
            .and_then(|n| n.extract::<usize>())
            .is_ok_and(|n| n == 2);
        let columns = points
            .getattr("shape")
            .and_then(|s| s.get_item(1)?.extract::<usize>())
            .unwrap_or(0);
        if !is_flat || columns != 3 {
            let shape = points
                .getattr("shape")
                .map_or("none".to_owned(), |s| s.to_string());
            return Err(refuse(format!(
                "Found the shape {shape} for points, expected {expected}; transpose or reshape them"
            )));
        }
        let (points, shape) = shared::<[f32; 3]>(points, "<f4", "C", ("points", expected))?;
        let count = shape[0] as i64;
        let is_division = offsets.first() == Some(&0)
            && offsets.windows(2).all(|pair| pair[0] <= pair[1])
            && offsets.last() == Some(&count);
        if !is_division {
            let falls = offsets.windows(2).position(|pair| pair[0] > pair[1]);
            let found = match (falls, offsets.first(), offsets.last()) {
                (_, None, _) | (_, _, None) => "no offsets".to_owned(),
                (Some(at), ..) => format!(
                    "the offset {} after {} at index {}",
                    offsets[at + 1],
                    offsets[at],
                    at + 1
                ),
                (None, Some(first), Some(last)) => format!("offsets from {first} to {last}"),
            };
            return Err(refuse(format!(
                "Found {found}, expected ascending ones from 0 to the number of points, {count}; give the first point \
                 of each streamline, then the number of points"
            )));
        }
        if let Some(at) = points.iter().position(|p| p.iter().any(|v| !v.is_finite())) {
            return Err(refuse(format!(
                "Found the point {:?} at index {at}, expected finite coordinates; remove its streamline",
                points[at]
            )));
        }
        let offsets: Vec<u64> = offsets.into_iter().map(|o| o as u64).collect();
        Ok(Self {
            tractogram: Tractogram::new(points, offsets),
        })
    }

    fn __len__(&self) -> usize {
        self.tractogram.len()
    }

    #[getter]
    fn points(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let points = self.tractogram.points.clone();
        let shape = vec![points.len(), 3];
        Values::array(py, Stored::Points(points), shape, false)
    }

    /// The address of the engine's points.
    #[getter]
    fn address(&self) -> usize {
        self.tractogram.points.as_ptr() as usize
    }

    #[getter]
    fn offsets(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let offsets = self.tractogram.offsets.clone();
        let shape = vec![offsets.len()];
        Values::array(py, Stored::Offsets(offsets), shape, false)
    }

    /// The streamlines of named groups.
    fn groups(&self, py: Python<'_>) -> PyResult<Vec<(String, Py<PyAny>)>> {
        let array = |(name, members): (&String, &Arc<[u32]>)| {
            let shape = vec![members.len()];
            let array = Values::array(py, Stored::Counts(members.clone()), shape, false)?;
            Ok((name.clone(), array))
        };
        self.tractogram.groups.iter().map(array).collect()
    }

    /// These streamlines with a value for each.
    fn with_values(&self, py: Python<'_>, name: &str, values: Vec<f32>) -> PyResult<Self> {
        let (found, expected) = (values.len(), self.tractogram.len());
        if found != expected {
            let sentence = format!(
                "Found {} for {}, expected one for each; give them in the order of the \
                 streamlines",
                counted(found, "value"),
                counted(expected, "streamline")
            );
            return Err(raised(py, Failure::Input(sentence)));
        }
        Ok(Self {
            tractogram: self.tractogram.clone().with_per_streamline(name, values),
        })
    }

    /// Values per streamline, or per point, by name.
    fn values(&self, py: Python<'_>, per_point: bool) -> PyResult<Vec<(String, Py<PyAny>)>> {
        let values = match per_point {
            true => &self.tractogram.per_point,
            false => &self.tractogram.per_streamline,
        };
        let array = |(name, values): (&String, &arcuate_engine::data::Shared<f32>)| {
            let array = Values::array(
                py,
                Stored::Floats(values.clone()),
                vec![values.len()],
                false,
            )?;
            Ok((name.clone(), array))
        };
        values.iter().map(array).collect()
    }

    /// The affine of the image to which they belong; `None` if it is not known.
    #[getter]
    fn affine(&self) -> Option<Vec<f64>> {
        self.tractogram.grid.as_ref().map(|grid| affine_rows(grid))
    }

    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        description: String,
        overwrite: bool,
        common: Common,
    ) -> PyResult<()> {
        run(py, &common, |_, control| {
            may_write(&[&path], overwrite)?;
            streamlines::save(&path, &self.tractogram, &description, control)?;
            Ok(())
        })
    }
}
