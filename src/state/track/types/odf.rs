//! Streamlines and rays along fibre orientation distributions: settings, and the inputs that are kept between runs.

use crate::data::tissue_map::{TissueMapError, UnknownLabel};
use crate::data::{DataId, OdfField, TissueMap, Volume, keyed};
use crate::parameters::Parameters as _;
use crate::solvers::curves;
use crate::solvers::geodesic::{OdfSpeed, Rays};
use crate::solvers::odf_tracking::{self, Prepared};
use crate::state::core::layer::{Input, LayerId};
use crate::state::tensors::types::fods::FodBootstrapInput;
use std::sync::{Arc, Mutex, OnceLock};

/// The model of diffusion that streamlines and rays follow and that costs of pathways come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Model {
    /// One direction in each voxel.
    #[default]
    Tensors,
    /// Fibre orientation distributions.
    Distributions,
}

keyed!(Model, serde {
    Tensors = "tensors",
    Distributions = "distributions",
});

impl Model {
    pub const ALL: [Self; 2] = [Self::Tensors, Self::Distributions];

    pub fn name(self) -> &'static str {
        match self {
            Self::Tensors => "Tensors",
            Self::Distributions => "Distributions",
        }
    }
}

/// Settings of streamlines and rays along distributions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OdfTrackingSettings {
    pub rays: OdfRays,
    /// `None`: the defaults for the voxels of the scan.
    pub params: Option<odf_tracking::Params>,
    /// The layer with the tissues of the anatomical rules; `None`: no rules.
    pub tissues: Option<LayerId>,
}

/// Settings of rays along the lobes of distributions.
#[derive(Clone, PartialEq, Debug)]
pub struct OdfRays {
    /// How the amplitude of a lobe becomes a speed.
    pub speed: OdfSpeed,
    /// Seeds, directions, steps and the cut. The rows that only tensors have keep their defaults, without effect.
    pub rays: Rays,
}

impl Default for OdfRays {
    fn default() -> Self {
        Self {
            speed: OdfSpeed::defaults(),
            rays: Rays::lobe_defaults(),
        }
    }
}

/// The parameters that streamlines along distributions share with those in tensors, for texts about both.
pub fn shared_params(params: &odf_tracking::Params) -> curves::Params {
    curves::Params {
        seeding: params.seeding,
        random_seed: params.random_seed,
        step_mm: params.step_mm,
        max_angle_rad: Some(params.max_angle_rad),
        min_fa: None,
        min_length_mm: params.min_length_mm,
        max_length_mm: params.max_length_mm,
        targets: params.targets,
        includes: params.includes,
        both_ways: params.both_ways,
        ..curves::Params::defaults()
    }
}

/// Tissues that a result was computed with.
#[derive(Clone, Copy, Debug)]
pub struct TissueKey {
    pub image: DataId,
    pub input: Input,
}

impl PartialEq for TissueKey {
    /// By their voxels.
    fn eq(&self, other: &Self) -> bool {
        self.image == other.image
    }
}

/// Distributions, with what tracking prepares once.
#[derive(Clone, Debug)]
pub struct OdfInput {
    pub field: OdfField,
    pub prepared: Arc<OnceLock<Prepared>>,
}

impl OdfInput {
    pub fn new(field: OdfField) -> Self {
        Self {
            field,
            prepared: Arc::default(),
        }
    }
}

/// An image of tissues, which is read once.
#[derive(Clone, Debug)]
pub struct TissueInput {
    pub image: Volume,
    read: Arc<OnceLock<Result<ReadTissues, TissueMapError>>>,
    /// Computed once for the last distributions, since it takes longer than live streamlines.
    pub doubt: Arc<Mutex<Option<TissueDoubt>>>,
}

/// Whether tissues seem to belong to distributions: a sentence if not.
#[derive(Clone, Debug)]
pub struct TissueDoubt {
    pub distributions: DataId,
    pub sentence: Option<String>,
}

/// The tissues of an image.
#[derive(Clone, Debug)]
pub struct ReadTissues {
    pub map: TissueMap,
    /// Labels that denote no tissue: streamlines do not enter them.
    pub unknown: Vec<UnknownLabel>,
}

impl TissueInput {
    pub fn new(image: Volume) -> Self {
        Self {
            image,
            read: Arc::default(),
            doubt: Arc::default(),
        }
    }

    /// The tissues: five fractions, or those that labels denote.
    pub fn read(&self) -> Result<&ReadTissues, TissueMapError> {
        let read = || {
            if self.image.frames == 1 {
                let (map, unknown) = TissueMap::from_labels(&self.image)?;
                return Ok(ReadTissues { map, unknown });
            }
            let map = TissueMap::from_volume(&self.image)?;
            let unknown = Vec::new();
            Ok(ReadTissues { map, unknown })
        };
        self.read.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// The labels that denote no tissue, once the image was read.
    pub fn unknown(&self) -> &[UnknownLabel] {
        match self.read.get() {
            Some(Ok(read)) => &read.unknown,
            _ => &[],
        }
    }
}

/// The inputs of the last run, for the next one.
#[derive(Clone, Debug, Default)]
pub struct OdfInputs {
    distributions: Option<OdfInput>,
    /// The distributions of the residuals, and the input with them.
    resample: Option<(DataId, Box<FodBootstrapInput>)>,
    tissues: Option<TissueInput>,
}

impl OdfInputs {
    /// The input with these distributions.
    pub fn distributions(&mut self, field: &OdfField) -> OdfInput {
        let known = self.distributions.take();
        let known = known.filter(|input| input.field.id() == field.id());
        let input = known.unwrap_or_else(|| OdfInput::new(field.clone()));
        self.distributions.insert(input).clone()
    }

    /// The input of a bootstrap of these distributions; `input` is used if they are others than before.
    pub fn resample(
        &mut self,
        field: &OdfField,
        input: impl FnOnce() -> Option<FodBootstrapInput>,
    ) -> Option<Box<FodBootstrapInput>> {
        let known = self.resample.take();
        let known = known.filter(|(id, _)| *id == field.id());
        let input = known.or_else(|| Some((field.id(), Box::new(input()?))))?;
        Some(self.resample.insert(input).1.clone())
    }

    /// The input with this image of tissues.
    pub fn tissues(&mut self, image: &Volume) -> TissueInput {
        let known = self.tissues.take();
        let known = known.filter(|input| input.image.id() == image.id());
        let input = known.unwrap_or_else(|| TissueInput::new(image.clone()));
        self.tissues.insert(input).clone()
    }

    /// The labels without a tissue of an image that was read.
    pub fn unknown_labels(&self, image: DataId) -> &[UnknownLabel] {
        let known = self.tissues.as_ref();
        known
            .filter(|input| input.image.id() == image)
            .map_or(&[], TissueInput::unknown)
    }
}
