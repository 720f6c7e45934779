//! The files that the commands of a session name, as inputs of a protocol.

use crate::data::Volume;
use crate::data::labels::Labels;
use crate::data::protocol::{InputRole, ProtocolInput, ProtocolSpace, name_from};
use crate::data::text::{file_name, file_stem};
use crate::data::tissue_map::TissueType;
use crate::data::warp::WarpInterpolation;
use crate::io::{TransformFile, WarpReading};
use crate::state::core::layer::{Content, Layer};
use crate::state::origin::Origin;
use crate::state::{Document, State};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Inputs by name, and the file of each.
#[derive(Default)]
pub struct KnownFiles {
    pub inputs: BTreeMap<String, ProtocolInput>,
    names: BTreeMap<PathBuf, String>,
}

/// The name of an input with this role; `None` for those that are named by their file.
fn base_name(role: InputRole) -> Option<&'static str> {
    match role {
        InputRole::Scan => Some("dwi"),
        InputRole::T1 => Some("t1"),
        InputRole::Mask => Some("mask"),
        InputRole::Labels => Some("labels"),
        InputRole::Tissues => Some("tissues"),
        InputRole::Distributions => Some("fod"),
        InputRole::Transform => Some("transform"),
        InputRole::Gradients => Some("gradients"),
        InputRole::Image | InputRole::Streamlines => None,
    }
}

fn is_label_map(volume: &Volume) -> bool {
    let named = |labels: &std::sync::Arc<Labels>| !labels.table.is_empty();
    volume.labels.as_ref().is_some_and(named)
}

fn role(layer: &Layer, path: &Path) -> InputRole {
    let name = file_name(path).to_lowercase();
    match &layer.content {
        Content::Scan { .. } => InputRole::Scan,
        Content::Mask(_) => InputRole::Mask,
        Content::Tractogram(_) | Content::InPlace(_) => InputRole::Streamlines,
        Content::Image(volume) if is_label_map(volume) || name.contains("dseg") => {
            InputRole::Labels
        }
        Content::Image(volume) if volume.frames == TissueType::COUNT => InputRole::Tissues,
        Content::Image(_) if name.contains("t1") => InputRole::T1,
        Content::Image(_) if name.contains("fod") => InputRole::Distributions,
        Content::Image(_) => InputRole::Image,
    }
}

/// A pattern for the name of a file without the entities of its subject: `*_desc-brain_mask.nii.gz`.
fn pattern(path: &Path) -> String {
    let name = file_name(path);
    let mut rest = name.as_str();
    while rest.starts_with("sub-") || rest.starts_with("ses-") {
        let Some((_, behind)) = rest.split_once('_') else {
            break;
        };
        rest = behind;
    }
    match rest.len() == name.len() {
        true => name,
        false => format!("*_{rest}"),
    }
}

impl KnownFiles {
    /// The files of the layers.
    pub fn of_layers(state: &State) -> Self {
        let mut known = Self::default();
        for layer in &state.document.layers {
            if let Origin::File {
                file, gradients, ..
            } = state.document.origin(layer)
            {
                known.add(file, role(layer, file));
                for gradients in gradients {
                    known.add(gradients, InputRole::Gradients);
                }
            }
        }
        // After the layers, one of which may be the fixed image.
        for layer in &state.document.layers {
            if let Some(warp) = state.document.origins.warp(layer.origin) {
                for transform in &warp.transforms {
                    known.add(&transform.path, InputRole::Transform);
                }
                for image in warp.fixed.iter().chain(&warp.moving) {
                    known.add(image, InputRole::Image);
                }
            }
        }
        known
    }

    /// The space of the moving image of a warp whose files are known.
    fn space(&self, warp: &WarpReading) -> Option<ProtocolSpace> {
        let text = |path: &Path| Some(format!("{{{}}}", self.names.get(path)?));
        let transforms = warp.transforms.iter().map(|transform| {
            let path = PathBuf::from(text(&transform.path)?);
            let named = TransformFile {
                path,
                ..transform.clone()
            };
            Some(named.to_string())
        });
        let image = |path: &Option<PathBuf>| match path {
            None => Some(None),
            Some(path) => text(path).map(Some),
        };
        Some(ProtocolSpace::Warp {
            transforms: transforms.collect::<Option<_>>()?,
            fixed: image(&warp.fixed)?,
            moving: image(&warp.moving)?,
        })
    }

    /// The mask of a template that a warp took to the scan, in the space that it came from.
    pub fn warped_mask(&self, file: &Path, warp: &WarpReading) -> Option<(String, ProtocolSpace)> {
        // A protocol resamples masks by their labels.
        let keeps_labels = matches!(warp.interpolation, None | Some(WarpInterpolation::Labels));
        let name = self.names.get(file).filter(|_| keeps_labels)?;
        Some((format!("{{{name}}}"), self.space(warp)?))
    }

    fn add(&mut self, path: &Path, role: InputRole) -> String {
        if let Some(name) = self.names.get(path) {
            return name.clone();
        }
        let base = match base_name(role) {
            Some(base) => base.to_owned(),
            None => name_from(&file_stem(path), role.key()),
        };
        let name = self.free(&base);
        let pattern = pattern(path);
        let folder = path.parent().map(file_name).unwrap_or_default();
        let is_bids = pattern.starts_with('*');
        let bids = match is_bids && matches!(folder.as_str(), "dwi" | "anat" | "func" | "fmap") {
            true => vec![format!("{folder}/{pattern}")],
            false => Vec::new(),
        };
        let mut files = vec![pattern];
        files.extend(role.default_files().iter().map(|p| (*p).to_owned()));
        files.dedup();
        let input = ProtocolInput { role, files, bids };
        self.inputs.insert(name.clone(), input);
        self.names.insert(path.to_owned(), name.clone());
        name
    }

    /// The scan of a built-in head: in a protocol, that of each subject.
    pub fn built_in_scan(&mut self) -> String {
        let scan = self.inputs.iter().find(|(_, i)| i.role == InputRole::Scan);
        if let Some((name, _)) = scan {
            return name.clone();
        }
        let name = self.free("dwi");
        let input = ProtocolInput::new(InputRole::Scan);
        self.inputs.insert(name.clone(), input);
        name
    }

    fn free(&self, base: &str) -> String {
        let numbered = (2..).map(|n| format!("{base}_{n}"));
        let mut names = std::iter::once(base.to_owned()).chain(numbered);
        let free = names.find(|name| !self.inputs.contains_key(name));
        free.unwrap_or_default()
    }

    /// The name of a file that a command reads: of a layer, or any other, by the option that names it.
    pub fn name(&mut self, path: &Path, option: &str) -> Option<String> {
        if let Some(name) = self.names.get(path) {
            return Some(name.clone());
        }
        let role = match option {
            "mask" | "within" | "seed" | "target" | "include" | "exclude" | "terminate"
            | "from" | "to" => InputRole::Mask,
            "tissues" => InputRole::Tissues,
            "fod" => InputRole::Distributions,
            "affine" | "warp" => InputRole::Transform,
            "bval" | "bvec" | "gradients" | "scheme" => InputRole::Gradients,
            "labels" => InputRole::Labels,
            _ => InputRole::Image,
        };
        path.is_absolute().then(|| self.add(path, role))
    }

    /// The label map of which a region has one label, by its voxels.
    pub fn label_map(
        &self,
        document: &Document,
        mask: &crate::data::Mask,
        label: u32,
    ) -> Option<String> {
        let first = mask.voxels_inside().next()?;
        let world = mask
            .grid
            .world(glam::DVec3::from_array(first.map(|i| i as f64)));
        let layers = document.layers.iter();
        let has_label = |layer: &&std::sync::Arc<Layer>| match &layer.content {
            Content::Image(volume) => {
                volume.nearest(layer.display.frame.min(volume.frames - 1), world)
                    == Some(label as f32)
            }
            _ => false,
        };
        let layer = layers
            .filter(has_label)
            .find_map(|layer| document.path(layer));
        self.names.get(layer?).cloned()
    }
}
