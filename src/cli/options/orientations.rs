//! Options that describe the contents of a file of fibre orientations: its header does not.

use super::{ValueError, affine, tensor_frame};
use crate::cli::runner::{Failure, Runner};
use crate::compute::{Backend, Control};
use crate::data::spherical_harmonics::Basis;
use crate::data::{OdfLayout, TensorFrame, Volume};
use crate::io::orientations::{self, OpenedOdf};
use crate::io::{AffineReading, image};
use crate::solvers::curves;
use crate::solvers::odf_check::{self, Verdict};
use crate::state::files::jobs::OrientationReading;
use crate::state::tensors::recipe::odf_affine;
use std::path::Path;

/// The basis and the axes of distributions.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct OdfLayoutOptions {
    #[arg(long, value_name = "BASIS", requires = "odf_frame", value_parser = odf_basis, help = format!(
        "The input holds fibre orientation distributions in this basis: {}; they are written in MRtrix's, in world axes",
        basis_keys()
    ))]
    pub odf_basis: Option<Basis>,
    /// Axes of the distributions: voxel (those of FSL's bvec: DIPY, Camino) or world (MRtrix)
    #[arg(long, value_name = "AXES", requires = "odf_basis", value_parser = tensor_frame)]
    pub odf_frame: Option<TensorFrame>,
}

/// Distributions that a command computes with: their layout, and a transform.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(mut_arg("odf_basis", |arg| arg.help(format!(
    "Basis of the distributions: {} [default: {}]",
    basis_keys(),
    OdfLayout::MRTRIX.basis.key()
))))]
pub struct OdfInputOptions {
    #[command(flatten)]
    pub layout: OdfLayoutOptions,
    /// Affine that moves and turns the distributions: one of ITK or ANTs, or matrix: and 12 numbers, row by row, in world
    /// mm; nothing is resampled
    #[arg(long, value_name = "FILE|matrix:…", allow_hyphen_values = true, value_parser = affine)]
    pub odf_affine: Option<AffineReading>,
}

/// [`OdfInputOptions`] of a command that reads distributions only if `--fod` names them.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(
    mut_arg("odf_basis", |arg| arg.requires("fod")),
    mut_arg("odf_frame", |arg| arg.requires("fod")),
    mut_arg("odf_affine", |arg| arg.requires("fod")),
)]
pub struct FodInputOptions {
    #[command(flatten)]
    pub input: OdfInputOptions,
}

impl OdfInputOptions {
    /// The options as given: ` --odf-basis mrtrix --odf-frame world`.
    pub fn arguments(&self) -> String {
        let layout = self.layout.layout().map(|layout| layout.to_string());
        let affine = self.odf_affine.as_ref().map(odf_affine);
        layout.into_iter().chain(affine).collect()
    }
}

impl OdfLayoutOptions {
    pub fn layout(&self) -> Option<OdfLayout> {
        let (basis, frame) = (self.odf_basis?, self.odf_frame?);
        Some(OdfLayout { basis, frame })
    }
}

/// Notes why the CPU follows distributions although there is a graphics card.
pub fn note_cpu_reason(order: usize, runner: &Runner) {
    if let (Some(why), Some(_)) = (
        curves::Params::cpu_reason(order),
        runner.backend.accelerator(),
    ) {
        note!("Computed on the CPU: {why}");
    }
}

/// Reads distributions in the layout that is stated, else in MRtrix's. If none is stated, their basis and axes are
/// compared with the others: one that agrees needs no message. Warnings about coefficients stay with the result: a
/// caller that refuses what they are about does not show them.
pub fn open_distributions(
    path: &Path,
    options: &OdfInputOptions,
    backend: &Backend,
    control: &Control,
) -> Result<OpenedOdf, Failure> {
    let stated = options.layout.layout();
    let (layout, affine) = (
        stated.unwrap_or(OdfLayout::MRTRIX),
        options.odf_affine.as_ref(),
    );
    let opened = orientations::open_odf(path, layout, affine, control)?;
    if opened.field.order() == 0 {
        return Err(Failure::new(format!(
            "Found a single volume, expected at least 6 with coefficients of distributions; name the image of white \
             matter: {}",
            path.display()
        )));
    }
    if stated.is_none() {
        let volume = match affine {
            None => opened.field.volume(),
            // These were turned with the image, which only the right basis survives.
            Some(_) => image::read(path, control)?.0,
        };
        report_layout(path, &volume, backend, control)?;
    }
    Ok(opened)
}

/// Warns if distributions that are read in MRtrix's layout are clearly in another one, and notes what is undecided: the
/// basis, or the axes of a file that may have others than MRtrix's.
fn report_layout(
    path: &Path,
    volume: &Volume,
    backend: &Backend,
    control: &Control,
) -> Result<(), Failure> {
    const READ: &str = "The distributions are read in MRtrix's basis and world axes";
    match odf_check::verdict(volume, OdfLayout::MRTRIX, backend, control)? {
        Verdict::Agrees => {}
        Verdict::AxesUndecided if orientations::implied_layout(path).is_some() => {}
        Verdict::Other(layout) => warning!(
            "{READ}, but they are most likely {}; state{layout}, or compare all with “arcuate gradients distributions”: {}",
            layout.description(),
            path.display()
        ),
        Verdict::Tensors => {
            return Err(Failure::new(format!(
                "Found the six components of tensors, expected coefficients of distributions; name an image of \
                 distributions, or state the basis of these with --odf-basis: {}",
                path.display()
            )));
        }
        Verdict::AxesUndecided | Verdict::Undecided => note!(
            "{READ}; --odf-basis and --odf-frame state others, which “arcuate gradients distributions” compares: {}",
            path.display()
        ),
    }
    Ok(())
}

#[derive(clap::Args, Clone, Debug, Default)]
pub struct OrientationOptions {
    #[command(flatten)]
    pub layout: OdfLayoutOptions,
    /// The input holds peaks: three volumes per peak, FSL's dyads1 with the other files beside it, a model of DSI Studio
    /// (.fib.gz), or MRtrix's fixels (a folder, or a list of values in it); they are written as three volumes per peak in
    /// world axes
    #[arg(long, conflicts_with = "odf_basis")]
    pub peaks: bool,
}

impl OrientationOptions {
    /// `None` if the input is to be read as any other file.
    pub fn reading(&self) -> Option<OrientationReading> {
        match self.peaks {
            true => Some(OrientationReading::Peaks),
            false => self.layout.layout().map(OrientationReading::Distributions),
        }
    }
}

fn odf_basis(text: &str) -> Result<Basis, ValueError> {
    Basis::from_key(text)
        .ok_or_else(|| ValueError::new(format!("one of {}", Basis::KEYS.join(", ")), text))
}

/// The keys of all bases with the programs that use them: `mrtrix (also DIPY's tournier07), … or camino`.
pub fn basis_keys() -> String {
    let described = Basis::ALL.map(|basis| match basis.note() {
        "" => basis.key().to_owned(),
        note => format!("{} ({note})", basis.key()),
    });
    match described.split_last() {
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}
