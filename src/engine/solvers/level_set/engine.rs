//! The engine that holds the bricks: CPU or graphics card.

use super::bricks::Field;
use super::cpu::Bricks;
use super::cuda;
use super::parameters::Layout;
use super::stencil::Stencil;
use crate::compute::{Accelerator, Backend};
use crate::data::{BrickImage, ImageExporter};
use crate::solvers::Error;

/// Steps between two checks whether the run is over.
const CHUNK: u64 = 10;
/// Steps between two such checks on a graphics card, which does not wait for the host in between.
const CARD_CHUNK: u64 = 100;

pub enum Engine {
    Cpu(Bricks),
    Cuda(Box<cuda::Engine>),
}

impl Engine {
    pub fn new(
        field: &Field,
        stencil: &Stencil,
        layout: &Layout,
        backend: &Backend,
    ) -> Result<Self, Error> {
        match backend.accelerator() {
            // A step is limited by latency: several cards would wait for one another.
            Some(Accelerator::Cuda(devices)) => {
                let engine = cuda::Engine::new(field, stencil, devices)?;
                Ok(Self::Cuda(Box::new(engine)))
            }
            _ => Ok(Self::Cpu(Bricks::new(field, stencil, layout.everywhere))),
        }
    }

    /// Steps between two checks whether a run is over.
    pub fn chunk(&self) -> u64 {
        match self {
            Self::Cpu(_) => CHUNK,
            Self::Cuda(_) => CARD_CHUNK,
        }
    }

    /// Number of bricks with a page, and bytes.
    pub fn size(&self) -> (usize, usize) {
        match self {
            Self::Cpu(bricks) => (bricks.active(), bricks.bytes()),
            Self::Cuda(engine) => (engine.active(), engine.bytes()),
        }
    }

    /// The field as it is drawn; it stays on the graphics card if `lend` belongs to the same card.
    pub fn image(
        &mut self,
        like: &Field,
        lend: Option<&ImageExporter>,
    ) -> Result<BrickImage, Error> {
        match self {
            Self::Cpu(bricks) => Ok(bricks.image(like)),
            Self::Cuda(engine) => engine.image(like, lend),
        }
    }

    /// The current field, copied from the graphics card if necessary.
    pub fn field(&self, like: &Field) -> Result<Field, Error> {
        match self {
            Self::Cpu(bricks) => Ok(bricks.field(like)),
            Self::Cuda(engine) => engine.field(like),
        }
    }
}
