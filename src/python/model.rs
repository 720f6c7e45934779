//! Models that streamlines, rays and pathways follow: the tensors of a fit, or fibre orientation distributions.

use crate::errors::{Failure, raised, unknown_key};
use crate::parameters::{Given, Row};
use crate::run::{Common, run};
use crate::solve::Fit;
use crate::types::Image;
use arcuate_engine::compute::Control;
use arcuate_engine::data::odf_field::OdfConversion;
use arcuate_engine::data::spherical_harmonics::Basis;
use arcuate_engine::data::text::counted;
use arcuate_engine::data::{OdfField, OdfLayout, TensorFrame, Volume, VolumeKind};
use arcuate_engine::io::orientations::odf_from_volume;
use arcuate_engine::solvers::odf_check::{Verdict, verdict};
use pyo3::prelude::*;
use std::path::Path;

/// A fit, or an image of coefficients with the keys of its basis and its axes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct GivenModel<'py> {
    fit: Option<PyRef<'py, Fit>>,
    fod: Option<PyRef<'py, Image>>,
    odf_basis: Option<String>,
    odf_frame: Option<String>,
}

/// [`GivenModel`] with values that are independent of Python.
pub enum Model {
    Tensors(Box<Fit>),
    Distributions(Distributions),
}

/// An image of coefficients and their layout.
pub struct Distributions {
    volume: Volume,
    layout: OdfLayout,
}

impl Model {
    pub fn from_given(py: Python<'_>, given: &GivenModel<'_>) -> PyResult<Self> {
        Self::checked(given).map_err(|failure| raised(py, failure))
    }

    fn checked(given: &GivenModel<'_>) -> Result<Self, Failure> {
        let stated = (given.odf_basis.as_deref(), given.odf_frame.as_deref());
        match (&given.fit, &given.fod) {
            (Some(_), _) if stated != (None, None) => Err(Failure::Parameter(
                "Found odf_basis or odf_frame with a fit of tensors, expected them with an image of distributions only; \
                 leave them out"
                    .to_owned(),
            )),
            (Some(fit), _) => Ok(Self::Tensors(Box::new((**fit).clone()))),
            (None, Some(image)) => Ok(Self::Distributions(Distributions {
                volume: image.volume.clone(),
                layout: layout(stated)?,
            })),
            (None, None) => Err(Failure::Input(
                "Found neither a fit nor distributions, expected one of them; fit the scan first".to_owned(),
            )),
        }
    }

    /// Refuses arguments that only the other model has; the rows are those of tensors and of distributions.
    pub fn refuse_foreign(&self, given: &Given, rows: &[Vec<Row>; 2]) -> Result<(), Failure> {
        let [tensors, distributions] = rows;
        let (own, other, name) = match self {
            Self::Tensors(_) => (tensors, distributions, "distributions"),
            Self::Distributions(_) => (distributions, tensors, "tensors"),
        };
        let has = |rows: &[Row], name: &str| rows.iter().any(|(own, ..)| own == name);
        let foreign = |key: &str| !has(own, key) && has(other, key);
        match given.iter().find(|(key, _)| foreign(key)) {
            None => Ok(()),
            Some((key, _)) => Err(Failure::Parameter(format!(
                "Found {key}, which has no effect: only {name} have it; leave it out"
            ))),
        }
    }
}

/// The layout with these keys; MRtrix's if none is stated.
fn layout(stated: (Option<&str>, Option<&str>)) -> Result<OdfLayout, Failure> {
    let (basis, frame) = match stated {
        (None, None) => return Ok(OdfLayout::MRTRIX),
        (Some(basis), Some(frame)) => (basis, frame),
        _ => {
            return Err(Failure::Parameter(
                "Found one of odf_basis and odf_frame, expected both or neither; give the other one".to_owned(),
            ));
        }
    };
    let unknown = |found, name, keys| Failure::Parameter(unknown_key(found, name, keys));
    Ok(OdfLayout {
        basis: Basis::from_key(basis).ok_or_else(|| unknown(basis, "odf_basis", Basis::KEYS))?,
        frame: TensorFrame::from_key(frame)
            .ok_or_else(|| unknown(frame, "odf_frame", TensorFrame::KEYS))?,
    })
}

impl Distributions {
    /// The distributions; coefficients in MRtrix's layout are shared.
    pub fn field(&self, control: &Control) -> Result<OdfField, Failure> {
        let volume = &self.volume;
        let conversion = OdfConversion::new(self.layout, volume.frames, &volume.grid);
        let is_series = |conversion: &OdfConversion| {
            volume.kind == VolumeKind::Scalar && conversion.order() > 0
        };
        if !conversion.is_some_and(|conversion| is_series(&conversion)) {
            return Err(Failure::Input(format!(
                "Found {}, expected 6, 15, 28, 45, 66 or 91 coefficients of distributions (Camino: two volumes more); \
                 give what arcuate.fod returns, or the image of white matter",
                counted(volume.frames, "volume")
            )));
        }
        Ok(odf_from_volume(
            Path::new("the distributions"),
            volume,
            self.layout,
            control,
        )?)
    }
}

/// A remark if coefficients that are read in MRtrix's layout are clearly in another one.
#[pyfunction]
pub fn layout_remark(
    py: Python<'_>,
    image: PyRef<'_, Image>,
    common: Common,
) -> PyResult<Option<String>> {
    let volume = image.volume.clone();
    run(py, &common, move |backend, control| {
        if OdfLayout::MRTRIX.order(volume.frames).is_none() {
            return Ok(None);
        }
        match verdict(&volume, OdfLayout::MRTRIX, backend, control)? {
            Verdict::Other(layout) => Ok(Some(format!(
                "The distributions are read in MRtrix's basis and world axes, but they are most likely {}; state \
                 odf_basis=\"{}\" and odf_frame=\"{}\"",
                layout.description(),
                layout.basis.key(),
                layout.frame.key()
            ))),
            Verdict::Tensors => Err(Failure::Input(
                "Found the six components of tensors, expected coefficients of distributions; give an image of \
                 distributions, or state odf_basis and odf_frame"
                    .to_owned(),
            )),
            Verdict::Agrees | Verdict::AxesUndecided | Verdict::Undecided => Ok(None),
        }
    })
}
