//! Opens images of fibre orientations, which headers do not describe.

use super::label;
use crate::compute::Control;
use crate::data::{OdfLayout, Volume};
use crate::io::{self, AffineReading, Remark, orientations};
use crate::jobs::{Job, JobError, PartialSender, Slot, Worker};
use crate::state::files::jobs::LOAD;
use crate::state::job_end::for_command_line;
use glam::DAffine3;
use std::path::{Path, PathBuf};

/// How a user says that a file holds fibre orientations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OrientationReading {
    Distributions(OdfLayout),
    Peaks,
}

/// Reads fibre orientations; an affine moves the image and turns them.
#[derive(Clone, Debug)]
pub struct OpenOrientations {
    pub path: PathBuf,
    pub reading: OrientationReading,
    pub affine: Option<AffineReading>,
}

/// Orientations as MRtrix stores them: its basis, world axes.
#[derive(Clone, Debug)]
pub struct OrientationImage {
    pub volume: Volume,
    /// Such as `distributions of order 8`.
    pub content: String,
    pub remarks: Vec<Remark>,
    /// The transform that has moved and turned distributions.
    pub affine: Option<DAffine3>,
}

impl Job for OpenOrientations {
    type Output = OrientationImage;

    fn slot(&self) -> Slot {
        LOAD
    }

    fn label(&self) -> String {
        label("Opening", &self.path)
    }

    fn named_file(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn run(
        self,
        _: &Worker,
        control: &Control,
        _: &PartialSender<OrientationImage>,
    ) -> Result<OrientationImage, JobError> {
        let (path, affine) = (&self.path, self.affine.as_ref());
        match self.reading {
            OrientationReading::Distributions(layout) => {
                let opened = orientations::open_odf(path, layout, affine, control)?;
                Ok(OrientationImage {
                    volume: opened.field.volume(),
                    content: format!("distributions of order {}", opened.field.order()),
                    remarks: Remark::all(&opened.warnings, &opened.notes),
                    affine: opened.affine,
                })
            }
            OrientationReading::Peaks => {
                let opened = orientations::open_peaks(path, affine, control)?;
                let peaks = io::text::counted(opened.field.count(), "peak");
                Ok(OrientationImage {
                    volume: opened.field.volume(),
                    content: format!("{peaks} per voxel"),
                    remarks: Remark::all(&opened.warnings, &opened.notes),
                    affine: None,
                })
            }
        }
    }
}

for_command_line!(OpenOrientations);
