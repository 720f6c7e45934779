//! The script of a segmented surface and its command line.

use crate::data::{Mask, Shape};
use crate::state::core::layer::{Content, Input, Layer};
use crate::state::files::types::PhantomName;
use crate::state::origin::{Origin, PhantomPart};
use crate::state::regions::recipe::ShapeSpec;
use crate::state::segment::recipe::{ScriptInputs, SegmentCommand, SegmentScript};
use crate::state::segment::{SegmentRecipe, SpeedInputs, Start};
use crate::state::{CommandLine, Document};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of a script.
struct Files<'a> {
    document: &'a Document,
    /// Masks without a file are written next to this one.
    companion: Option<&'a Path>,
    /// Inputs that no file holds.
    unfiled: Option<String>,
    masks: Vec<(Mask, PathBuf)>,
}

impl Files<'_> {
    fn image(&mut self, input: Input) -> PathBuf {
        let origins = &self.document.origins;
        let origin = self.document.origin_of(input);
        let path = match origins.get(origin) {
            Origin::Phantom { head, part } => {
                let name = PhantomName {
                    head: *head,
                    is_scan: *part == PhantomPart::Dwi,
                };
                Some(PathBuf::from(name.to_string()))
            }
            _ => origins.path_in_place(origin).map(Path::to_owned),
        };
        path.unwrap_or_else(|| {
            let layer = self.document.layer(input.layer);
            let name = layer.map_or_else(String::new, |l| l.name.clone());
            self.unfiled.get_or_insert(name);
            PathBuf::new()
        })
    }

    fn mask(&mut self, name: &str, mask: &Mask) -> PathBuf {
        let same = |l: &&Arc<Layer>| matches!(&l.content, Content::Mask(m) if m.id() == mask.id());
        let layer = self.document.layers.iter().find(same);
        let original_path = layer.and_then(|l| self.document.origins.path_in_place(l.origin));
        if let Some(path) = original_path {
            return path.to_owned();
        }
        // Several changes of a run may refer to one mask.
        if let Some((_, path)) = self.masks.iter().find(|(m, _)| m.id() == mask.id()) {
            return path.clone();
        }
        let Some(file) = self.companion else {
            self.unfiled.get_or_insert(name.to_owned());
            return PathBuf::new();
        };
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let number = self.masks.len() + 1;
        let path = file.with_file_name(format!("{stem}-mask-{number}.nii.gz"));
        self.masks.push((mask.clone(), path.clone()));
        path
    }

    fn inputs(&mut self, inputs: &SpeedInputs) -> ScriptInputs {
        let [grow_here, not_here] = inputs
            .painted
            .each_ref()
            .map(|shapes| shapes.iter().map(|s| self.shape(s)).collect());
        ScriptInputs {
            layer: inputs.layer.map(|(input, _)| self.image(input)),
            layer_volume: inputs.layer.map_or(0, |(_, frame)| frame),
            grow_here,
            not_here,
        }
    }

    fn shape(&mut self, shape: &Shape) -> ShapeSpec {
        let path = match shape {
            Shape::Mask(mask) => self.mask("a region of the speed", mask),
            _ => PathBuf::new(),
        };
        // With a path every shape has a text form.
        ShapeSpec::from_shape(shape, Some(&path)).unwrap_or(ShapeSpec::Mask(path))
    }
}

/// The script of a segmentation. Masks without a file are written next to `beside`, if given; other inputs without a
/// file are named.
pub fn segment_script(
    document: &Document,
    recipe: &SegmentRecipe,
    companion: Option<&Path>,
) -> (SegmentScript, Option<String>, Vec<(Mask, PathBuf)>) {
    let mut files = Files {
        document,
        companion,
        unfiled: None,
        masks: Vec::new(),
    };
    let mask = match &recipe.start {
        Start::Mask(name, mask) => Some(files.mask(name, mask)),
        _ => None,
    };
    let mut inputs = recipe.inputs.iter().map(|inputs| files.inputs(inputs));
    let first = inputs.next().unwrap_or_default();
    let later = inputs.collect();
    let script = SegmentScript {
        image: files.image(recipe.image),
        volume: recipe.frame,
        mask,
        threshold: match recipe.start {
            Start::Values { low, high } => Some((low, high)),
            _ => None,
        },
        fill: match recipe.start {
            Start::Filled { point, tolerance } => Some((point, tolerance)),
            _ => None,
        },
        spheres: recipe.spheres.clone(),
        layer: first.layer,
        layer_volume: first.layer_volume,
        grow_here: first.grow_here,
        not_here: first.not_here,
        later,
        run: recipe.script.clone(),
    };
    (script, files.unfiled, files.masks)
}

/// The command line of a segmented surface; `file`: its script, if it was written.
pub fn segmented_command(
    document: &Document,
    recipe: &SegmentRecipe,
    file: Option<PathBuf>,
) -> CommandLine {
    let (script, unfiled, _) = segment_script(document, recipe, None);
    CommandLine::Segment(Box::new(SegmentCommand {
        script,
        unfiled,
        file,
    }))
}
