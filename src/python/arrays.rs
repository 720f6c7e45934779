//! Arrays of NumPy: memory of the engine that NumPy reads, and memory of NumPy that the engine reads, without a copy.

#![allow(
    unsafe_code,
    reason = "memory that NumPy owns is a slice for the engine; nothing else in the package is unsafe"
)]

use crate::errors::{Failure, raised};
use arcuate_engine::data::Shared;
use arcuate_engine::data::shared_slice::Bytes;
use bytemuck::Pod;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// Memory of an array, which lives as long as this value.
struct Borrowed {
    /// Keeps the memory.
    _array: Py<PyAny>,
    address: usize,
    bytes: usize,
}

impl AsRef<[u8]> for Borrowed {
    fn as_ref(&self) -> &[u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: `shared` has made sure that the array is an exact numpy.ndarray with `bytes` contiguous bytes at
        // `address`. NumPy neither moves nor frees them while the array is referenced, which `_array` does, and
        // refuses to resize it. The array was made read-only, and the package states that its other views must not
        // be written to.
        unsafe { std::slice::from_raw_parts(self.address as *const u8, self.bytes) }
    }
}

/// The values of a contiguous array (`C` or `F`) with this type (such as `<f4`), shared with NumPy. The array becomes
/// read-only. `name` and `expected` describe it in the sentence of a refusal.
pub fn shared<T: Pod>(
    array: &Bound<'_, PyAny>,
    kind: &str,
    order: &str,
    (name, expected): (&str, &str),
) -> PyResult<(Shared<T>, Vec<usize>)> {
    let py = array.py();
    let refuse = |sentence: String| raised(py, Failure::Input(sentence));
    let class = py.import("numpy")?.getattr("ndarray")?;
    if !array.get_type().is(&class) {
        let found = array.get_type().name()?;
        return Err(refuse(format!(
            "Found {found} for {name}, expected {expected}; convert it with numpy.asarray"
        )));
    }
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    let found: String = array.getattr("dtype")?.getattr("str")?.extract()?;
    let flag = if order == "F" {
        "f_contiguous"
    } else {
        "c_contiguous"
    };
    let contiguous: bool = array.getattr("flags")?.getattr(flag)?.extract()?;
    if found != kind || !contiguous {
        let dtype = array.getattr("dtype")?.str()?;
        let gaps = if contiguous {
            ""
        } else {
            ", not contiguous in this order"
        };
        return Err(refuse(format!(
            "Found an array of {dtype} with the shape {shape:?}{gaps} for {name}, expected {expected}; convert it \
             with numpy.asarray(…, dtype=…, order=\"{order}\")"
        )));
    }
    array.call_method("setflags", (), Some(&read_only(py)?))?;
    let interface = array.getattr("__array_interface__")?;
    let (address, _): (usize, bool) = interface.get_item("data")?.extract()?;
    let bytes = shape.iter().product::<usize>() * size_of_one(array)?;
    // The address of no values means nothing, so it need not be aligned.
    if bytes == 0 {
        return Ok((Shared::from(Vec::new()), shape));
    }
    let borrowed: Bytes = Arc::new(Borrowed {
        _array: array.clone().unbind(),
        address,
        bytes,
    });
    let values = Shared::view(borrowed, 0..bytes);
    let values = values.ok_or_else(|| {
        refuse(format!("Found an array for {name} that is not aligned, expected {expected}; copy it with .copy()"))
    })?;
    Ok((values, shape))
}

fn size_of_one(array: &Bound<'_, PyAny>) -> PyResult<usize> {
    array.getattr("itemsize")?.extract()
}

fn read_only(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let flags = PyDict::new(py);
    flags.set_item("write", false)?;
    Ok(flags)
}

/// Values of the engine as NumPy reads them.
#[pyclass(frozen, module = "arcuate._engine")]
pub struct Values {
    stored: Stored,
    shape: Vec<usize>,
    /// Whether the first axis is the fastest.
    fortran: bool,
}

/// The kinds of arrays of the engine.
pub enum Stored {
    Floats(Shared<f32>),
    Points(Shared<[f32; 3]>),
    Offsets(Arc<[u64]>),
    Marks(Arc<[u8]>),
    Counts(Arc<[u32]>),
    Triangles(Arc<[[u32; 3]]>),
}

impl Values {
    /// A read-only NumPy array of these values, which it keeps alive.
    pub fn array(
        py: Python<'_>,
        stored: Stored,
        shape: Vec<usize>,
        fortran: bool,
    ) -> PyResult<Py<PyAny>> {
        let values = Py::new(
            py,
            Self {
                stored,
                shape,
                fortran,
            },
        )?;
        let numpy = py.import("numpy")?;
        Ok(numpy.call_method1("asarray", (values,))?.unbind())
    }
}

#[pymethods]
impl Values {
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (address, kind, size) = match &self.stored {
            Stored::Floats(values) => (values.as_ptr() as usize, "<f4", 4),
            Stored::Points(values) => (values.as_ptr() as usize, "<f4", 4),
            Stored::Offsets(values) => (values.as_ptr() as usize, "<u8", 8),
            Stored::Marks(values) => (values.as_ptr() as usize, "|u1", 1),
            Stored::Counts(values) => (values.as_ptr() as usize, "<u4", 4),
            Stored::Triangles(values) => (values.as_ptr() as usize, "<u4", 4),
        };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", kind)?;
        interface.set_item("data", (address, true))?;
        let shape = pyo3::types::PyTuple::new(py, &self.shape)?;
        interface.set_item("shape", shape)?;
        if self.fortran {
            let mut stride = size;
            let strides = self.shape.iter().map(|n| {
                let own = stride;
                stride *= *n;
                own
            });
            let strides: Vec<usize> = strides.collect();
            interface.set_item("strides", pyo3::types::PyTuple::new(py, strides)?)?;
        }
        Ok(interface)
    }
}
