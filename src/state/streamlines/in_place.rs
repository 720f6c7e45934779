//! Streamlines that stay in their file: which of them the views show, and what is known of all of them.

use crate::data::{DataId, Shared, Tractogram};
use crate::io::{Sample, SampleLimits, ViewPart};
use crate::state::State;
use crate::state::core::camera::Camera;
use crate::state::core::layer::{Content, Layer, LayerId, StreamlinesInPlace};
use crate::state::core::live::{Live, LiveKey, SameArc};
use crate::state::streamlines::jobs::from_file::select::KeptStreamlines;
use crate::state::streamlines::{ColourKey, LineColours, SelectionKey, streamlines_of};
use glam::DVec2;
use std::sync::Arc;

/// Points of a picture, of all views and of the 3-D view each.
const PICTURE_POINTS: usize = 2_000_000;
/// Pixels across a view, for which the size of a pixel is computed.
const VIEW_PX: f64 = 1000.0;
/// The 3-D view requests streamlines of its own once it shows less than this part of the file's extent.
const NEAR: f64 = 0.6;
/// Width over height of the widest 3-D view: a narrower one receives some streamlines beside it.
const WIDEST: f64 = 2.4;

/// The picture that a sample is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PictureOf {
    /// All parts of the file.
    Whole,
    /// The part that the 3-D view shows.
    View,
}

/// Everything that some drawn streamlines depend on.
#[derive(Clone, PartialEq, Debug)]
pub struct PictureKey {
    pub file: DataId,
    pub limits: SampleLimits,
    pub marks: Option<SameArc<bool>>,
}

impl LiveKey for PictureKey {}

/// Lengths of all streamlines of a file, mm.
#[derive(Clone, PartialEq, Debug)]
pub struct LengthFigures {
    pub low: f32,
    pub median: f32,
    pub high: f32,
    /// Streamlines that have a length.
    pub count: usize,
}

/// Runtime state of a layer whose streamlines stay in their file.
#[derive(Clone, Debug, Default)]
pub struct InPlaceRuntime {
    /// Streamlines of all parts of the file.
    pub whole: Live<PictureKey, Sample>,
    /// Streamlines that the 3-D view shows.
    pub near: Live<PictureKey, Sample>,
    /// The streamlines that the rules keep.
    pub kept: Live<SelectionKey, KeptStreamlines>,
    pub lengths: Live<DataId, LengthFigures>,
    /// The streamlines that the 3-D view shows with the values of their colours, where they do not hold them.
    pub near_colours: Live<ColourKey, LineColours>,
}

impl LiveKey for DataId {}

/// The streamlines of a layer that stay in their file.
pub fn in_place(layer: &Layer) -> Option<&Arc<StreamlinesInPlace>> {
    match &layer.content {
        Content::InPlace(lines) => Some(lines),
        _ => None,
    }
}

/// All streamlines of a layer; without their points where these stay in their file.
pub fn all_streamlines_of(layer: &Layer) -> Option<&Tractogram> {
    let stays = || in_place(layer).map(|lines| lines.file.without_points());
    streamlines_of(layer).or_else(stays)
}

/// The content of a layer whose streamlines have a further value, with the ids of its streamlines before and after.
pub(in crate::state) fn with_values(
    layer: &Layer,
    name: &str,
    values: &Shared<f32>,
) -> Option<(Content, [DataId; 2])> {
    let before = all_streamlines_of(layer)?.id();
    let content = match &layer.content {
        Content::Tractogram(lines) => {
            let lines = lines.clone().with_new_id();
            Content::Tractogram(lines.with_per_streamline(name, values.clone()))
        }
        Content::InPlace(lines) => {
            Content::InPlace(Arc::new(lines.with_values(name, values.clone())))
        }
        _ => return None,
    };
    let after = match &content {
        Content::Tractogram(lines) => lines.id(),
        Content::InPlace(lines) => lines.file.values_id(),
        _ => return None,
    };
    Some((content, [before, after]))
}

/// Half the diagonal of the box around the first streamlines, mm.
fn radius_mm(lines: &StreamlinesInPlace) -> f64 {
    let bounds = lines.first.tractogram.bounds();
    bounds.map_or(0.0, |(low, high)| 0.5 * (high - low).length())
}

impl State {
    /// The layer whose streamlines stay in their file and are current: the one that is or was selected, else the topmost
    /// one if there are no others.
    pub fn current_in_place(&self) -> Option<(&Arc<Layer>, &Arc<StreamlinesInPlace>)> {
        let named = |id: Option<LayerId>| {
            let layer = self.document.layer(id?)?;
            matches!(layer.content, Content::Tractogram(_) | Content::InPlace(_)).then_some(layer)
        };
        let layers = || self.document.layers.iter().rev();
        let is_in_memory = |l: &Arc<Layer>| matches!(l.content, Content::Tractogram(_));
        let alone = || {
            layers()
                .find(|l| in_place(l).is_some())
                .filter(|_| !layers().any(is_in_memory))
        };
        let layer = named(self.runtime.selected_layer)
            .or_else(|| named(self.runtime.streamlines.subject))
            .or_else(alone)?;
        Some((layer, in_place(layer)?))
    }

    fn in_place_runtime(&self, layer: LayerId) -> Option<&InPlaceRuntime> {
        self.runtime.streamlines.in_place.get(&layer)
    }

    /// The streamlines of a layer that its rules keep; `None` without rules, and until they are known.
    pub fn counted_in_place(&self, layer: LayerId) -> Option<&KeptStreamlines> {
        let (key, kept) = self.in_place_runtime(layer)?.kept.shown()?;
        let lines = in_place(self.document.layer(layer)?)?;
        (self.has_rules(layer) && key.tractogram == lines.file.values_id()).then_some(kept)
    }

    /// Whether the streamlines that the rules of a layer keep are being found.
    pub fn is_counting_in_place(&self, layer: LayerId) -> bool {
        let runtime = self.in_place_runtime(layer);
        runtime.is_some_and(|runtime| runtime.kept.running().is_some())
    }

    /// The lengths of the streamlines of a layer, if they were measured.
    pub fn lengths_in_place(&self, layer: LayerId) -> Option<&LengthFigures> {
        self.in_place_runtime(layer)?.lengths.value()
    }

    /// Streamlines of all parts of a file, for every view.
    pub fn picture_in_place<'a>(&'a self, layer: &'a Layer) -> Option<&'a Sample> {
        let lines = in_place(layer)?;
        let runtime = self.in_place_runtime(layer.id);
        let shown = runtime.and_then(|runtime| runtime.whole.shown());
        let shown = shown.filter(|(key, _)| key.file == lines.file.id());
        Some(shown.map_or(&lines.first, |(_, sample)| sample))
    }

    /// One of the pictures of a layer, once its streamlines were read.
    pub(in crate::state) fn sample_in_place<'a>(
        &'a self,
        layer: &'a Layer,
        picture: PictureOf,
    ) -> Option<&'a Sample> {
        if picture == PictureOf::Whole {
            return self.picture_in_place(layer);
        }
        let requested = self.near_key(layer)?;
        let (key, sample) = self.in_place_runtime(layer.id)?.near.shown()?;
        (*key == requested).then_some(sample)
    }

    /// Streamlines that stay in their file, as the 3-D view draws them while it rests; `None` where those of all views
    /// suffice, and until the values of their colours are known.
    pub fn near_streamlines<'a>(&'a self, layer: &'a Layer) -> Option<&'a Tractogram> {
        let sample = self.sample_in_place(layer, PictureOf::View)?;
        let Some(requested) = self.colour_key(layer, PictureOf::View) else {
            return Some(&sample.tractogram);
        };
        let (key, colours) = self.in_place_runtime(layer.id)?.near_colours.shown()?;
        (*key == requested).then_some(&colours.tractogram)
    }

    /// The marks of the streamlines that count.
    pub(in crate::state) fn marks_in_place(&self, layer: LayerId) -> Option<SameArc<bool>> {
        self.counted_in_place(layer)
            .map(|kept| SameArc(kept.marks().clone()))
    }

    /// The request for the picture of all parts of a file.
    pub(in crate::state) fn picture_key(&self, layer: &Layer) -> Option<PictureKey> {
        let lines = in_place(layer)?;
        // Half a pixel of a view that shows all of it.
        let tolerance_mm = (radius_mm(lines) / VIEW_PX) as f32;
        Some(PictureKey {
            file: lines.file.id(),
            limits: SampleLimits {
                points: PICTURE_POINTS,
                tolerance_mm,
                view: None,
            },
            marks: self.marks_in_place(layer.id),
        })
    }

    /// The request for the picture of the 3-D view; `None` if it shows most of the file, or if all of the
    /// file is drawn with all of its points.
    pub(in crate::state) fn near_key(&self, layer: &Layer) -> Option<PictureKey> {
        // The first picture removes no points.
        if in_place(layer)?.first.is_complete && !self.has_rules(layer.id) {
            return None;
        }
        let whole = self.picture_key(layer)?;
        let camera: &Camera = &self.view.camera;
        let pixel_mm = camera.mm_per_pixel(DVec2::splat(VIEW_PX));
        let is_near = pixel_mm * VIEW_PX < 2.0 * NEAR * radius_mm(in_place(layer)?);
        is_near.then(|| PictureKey {
            limits: SampleLimits {
                tolerance_mm: (0.5 * pixel_mm) as f32,
                view: Some(ViewPart {
                    clip_from_world: camera.clip_from_world(WIDEST),
                }),
                ..whole.limits
            },
            ..whole
        })
    }
}
