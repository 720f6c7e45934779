//! The tissues of earlier streamlines, to recompute them.

use crate::state::Document;
use crate::state::core::layer::Input;
use crate::state::tensors::inputs::{FitInput, MissingInput};
use crate::state::track::key::tissue_image;
use crate::state::track::types::odf::{TissueInput, TissueKey};

/// The tissues of a result called `name`.
pub fn tissues(
    document: &Document,
    name: &str,
    input: Input,
) -> Result<(TissueKey, TissueInput), MissingInput> {
    let missing = || MissingInput {
        result: name.to_owned(),
        input: FitInput::Tissues,
    };
    let origin = document.origin_of(input);
    let by_origin = || document.layers.iter().find(|layer| layer.origin == origin);
    let layer = document.layer(input.layer).filter(|l| l.origin == origin);
    let layer = layer.or_else(by_origin).ok_or_else(missing)?;
    let image = tissue_image(layer).ok_or_else(missing)?;
    let key = TissueKey {
        image: image.id(),
        input,
    };
    Ok((key, TissueInput::new(image.clone())))
}
