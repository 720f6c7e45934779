//! Results with several parts: images, streamlines, arrays and facts, each by its name.

use crate::arrays::{Stored, Values};
use crate::types::{Image, Streamlines};
use arcuate_engine::data::{Mask, Shared, Tractogram, Volume};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// A number, a text or a switch.
#[derive(Clone, IntoPyObjectRef)]
pub enum Fact {
    Flag(bool),
    Whole(u64),
    Number(f64),
    Text(String),
    Names(Vec<String>),
    Numbers(Vec<i64>),
}

/// An array, with its shape.
#[derive(Clone)]
pub enum Array {
    Floats(Shared<f32>),
    Points(Shared<[f32; 3]>),
    Counts(Arc<[u32]>),
    Triangles(Arc<[[u32; 3]]>),
}

/// The parts of a result.
#[pyclass(frozen, module = "arcuate._engine", name = "RawResult")]
#[derive(Default)]
pub struct Parts {
    images: Vec<(String, Image)>,
    streamlines: Vec<(String, Tractogram)>,
    arrays: Vec<(String, Array, Vec<usize>)>,
    facts: Vec<(String, Fact)>,
}

impl Parts {
    pub fn image(self, name: &str, volume: Volume) -> Self {
        self.whole_image(name, Image::of_volume(volume))
    }

    /// An image with its mask or its gradients.
    pub fn whole_image(mut self, name: &str, image: Image) -> Self {
        self.images.push((name.to_owned(), image));
        self
    }

    /// The image, if there is one.
    pub fn image_if(self, name: &str, volume: Option<Volume>) -> Self {
        match volume {
            Some(volume) => self.image(name, volume),
            None => self,
        }
    }

    pub fn mask(self, name: &str, mask: &Mask) -> Self {
        self.whole_image(name, Image::of_mask(mask))
    }

    pub fn streamlines(mut self, name: &str, tractogram: Tractogram) -> Self {
        self.streamlines.push((name.to_owned(), tractogram));
        self
    }

    pub fn array(mut self, name: &str, array: Array, shape: &[usize]) -> Self {
        self.arrays.push((name.to_owned(), array, shape.to_vec()));
        self
    }

    pub fn fact(mut self, name: &str, fact: Fact) -> Self {
        self.facts.push((name.to_owned(), fact));
        self
    }
}

#[pymethods]
impl Parts {
    /// The names of all parts.
    fn names(&self) -> Vec<String> {
        let images = self.images.iter().map(|(name, _)| name);
        let streamlines = self.streamlines.iter().map(|(name, _)| name);
        let arrays = self.arrays.iter().map(|(name, _, _)| name);
        let facts = self.facts.iter().map(|(name, _)| name);
        images
            .chain(streamlines)
            .chain(arrays)
            .chain(facts)
            .cloned()
            .collect()
    }

    #[pyo3(name = "image")]
    fn get_image(&self, name: &str) -> Option<Image> {
        let mut images = self.images.iter();
        images.find_map(|(own, image)| (own == name).then(|| image.clone()))
    }

    #[pyo3(name = "streamlines")]
    fn get_streamlines(&self, name: &str) -> Option<Streamlines> {
        let mut all = self.streamlines.iter();
        all.find_map(|(own, tractogram)| {
            (own == name).then(|| Streamlines {
                tractogram: tractogram.clone(),
            })
        })
    }

    #[pyo3(name = "array")]
    fn get_array(&self, py: Python<'_>, name: &str) -> PyResult<Option<Py<PyAny>>> {
        let Some((_, array, shape)) = self.arrays.iter().find(|(own, ..)| own == name) else {
            return Ok(None);
        };
        let stored = match array.clone() {
            Array::Floats(values) => Stored::Floats(values),
            Array::Points(values) => Stored::Points(values),
            Array::Counts(values) => Stored::Counts(values),
            Array::Triangles(values) => Stored::Triangles(values),
        };
        Ok(Some(Values::array(py, stored, shape.clone(), false)?))
    }

    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = PyDict::new(py);
        for (name, fact) in &self.facts {
            facts.set_item(name, fact)?;
        }
        Ok(facts)
    }
}
