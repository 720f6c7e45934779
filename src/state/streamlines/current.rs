//! The current streamlines, and their known values.

use crate::data::{DataId, Tractogram, Volume, VolumeKind};
use crate::solvers::tensor_fit::FitMap;
use crate::state::State;
use crate::state::core::display::LineColouring;
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::document::Document;
use crate::state::filter::WEIGHT;
use crate::state::streamlines::{
    Column, ManualSelection, SameArc, StreamlineSelection, ValueSource,
};
use std::sync::Arc;

/// A layer's streamlines.
pub fn streamlines_of(layer: &Layer) -> Option<&Tractogram> {
    match &layer.content {
        Content::Tractogram(tractogram) => Some(tractogram),
        _ => None,
    }
}

/// Whether the colours of a layer show the FA, and its streamlines hold none.
pub(in crate::state) fn lacks_fa(layer: &Layer, lines: &Tractogram) -> bool {
    layer.display.line_colouring == LineColouring::Fa && !lines.per_point.contains_key("fa")
}

impl Document {
    /// The heading of a column.
    pub fn column_name(&self, column: &Column) -> String {
        match column {
            Column::Value(name) => match name.as_str() {
                "length" => "Length".to_owned(),
                "fa" => "FA".to_owned(),
                "cm" => "CM".to_owned(),
                "target" => "Target".to_owned(),
                WEIGHT => "Weight".to_owned(),
                "stop_start" => "Start stopped".to_owned(),
                "stop_end" => "End stopped".to_owned(),
                name => name.to_owned(),
            },
            Column::Image(layer) => self.layer(*layer).map_or(String::new(), |l| l.name.clone()),
        }
    }
}

impl State {
    /// The layer whose streamlines are current: the one that is or was selected, else the one with rules or with
    /// selected streamlines, else the topmost visible one.
    pub fn current_streamlines(&self) -> Option<(&Arc<Layer>, &Tractogram)> {
        let named = |id: Option<LayerId>| {
            let layer = self.document.layer(id?)?;
            Some((layer, streamlines_of(layer)?))
        };
        let rules = || {
            let mut rules = self.document.streamlines.rules();
            rules.find_map(|s| named(Some(s.layer)))
        };
        let chosen = self
            .runtime
            .streamlines
            .manual_selection
            .as_ref()
            .map(|c| c.layer);
        let all = || {
            let layers = self.document.layers.iter().rev();
            layers.filter_map(|l| Some((l, streamlines_of(l)?)))
        };
        named(self.runtime.selected_layer)
            .or_else(|| named(self.runtime.streamlines.subject))
            .or_else(rules)
            .or_else(|| named(chosen))
            .or_else(|| all().find(|(l, _)| l.display.visible))
            .or_else(|| all().next())
    }

    /// The streamlines of a layer that the rules keep; the previous result while a new one is being computed.
    pub fn selection(&self, layer: LayerId) -> Option<&StreamlineSelection> {
        let (key, selection) = self.runtime.streamlines.selections.get(&layer)?.shown()?;
        let lines = streamlines_of(self.document.layer(layer)?)?;
        (self.has_rules(layer) && key.tractogram == lines.id()).then_some(selection)
    }

    /// The streamlines of a layer that its rules keep, or all.
    pub fn kept_streamlines<'a>(&'a self, layer: &'a Layer) -> Option<&'a Tractogram> {
        let all = streamlines_of(layer)?;
        Some(self.selection(layer.id).map_or(all, |kept| &kept.shown))
    }

    /// The streamlines of a layer as they are drawn: those that its rules keep, with the fit's FA if their colours show
    /// it. While it is being sampled along newly kept ones, the previous ones are drawn.
    pub fn drawn_streamlines<'a>(&'a self, layer: &'a Layer) -> Option<&'a Tractogram> {
        let kept = self.kept_streamlines(layer)?;
        let along = self.runtime.streamlines.fa_along.get(&layer.id);
        let sampled = along.and_then(|along| {
            let (key, sampled) = along.shown()?;
            let is_current = key.tractogram == kept.id();
            (is_current || along.running().is_some()).then_some(sampled)
        });
        Some(sampled.filter(|_| lacks_fa(layer, kept)).unwrap_or(kept))
    }

    /// Whether the FA along streamlines is known, or can be sampled from the fit.
    pub fn has_fa_along(&self, lines: &Tractogram) -> bool {
        lines.per_point.contains_key("fa") || self.document.tensors.is_some()
    }

    /// Whether this layer has rules.
    pub fn has_rules(&self, layer: LayerId) -> bool {
        self.document.streamlines.rules_of(layer).is_some()
    }

    /// The result of the present rules; `None` while unknown.
    pub fn selection_result(&self, layer: LayerId) -> Option<&StreamlineSelection> {
        let sift = self.runtime.streamlines.selections.get(&layer)?;
        let at_rest = sift.running().is_none() && !sift.has_failed();
        self.selection(layer).filter(|_| at_rest)
    }

    /// The selected streamlines of the present layer.
    pub fn manual_selection(&self) -> Option<&ManualSelection> {
        let chosen = self.runtime.streamlines.manual_selection.as_ref()?;
        let lines = streamlines_of(self.document.layer(chosen.layer)?)?;
        (lines.id() == chosen.tractogram && chosen.count > 0).then_some(chosen)
    }

    /// The image of a column, and the index of its frame.
    pub fn column_image(&self, layer: LayerId) -> Option<(&Volume, usize)> {
        let layer = self.document.layer(layer)?;
        let volume = layer.content.volume()?;
        let scalar = volume.kind == VolumeKind::Scalar;
        let frame = layer.display.frame.min(volume.frames.saturating_sub(1));
        scalar.then_some((volume, frame))
    }

    /// The source of a column's values; `None` if its image is gone.
    pub fn origin(&self, column: &Column) -> Option<ValueSource> {
        Some(match column {
            Column::Value(name) => ValueSource::Value(name.clone()),
            Column::Image(layer) => {
                let (volume, frame) = self.column_image(*layer)?;
                ValueSource::Image(volume.id(), frame)
            }
        })
    }

    /// Values that have been computed.
    pub fn values(&self, tractogram: DataId, column: &Column) -> Option<&Arc<[f32]>> {
        let from = self.origin(column)?;
        let known = self.runtime.streamlines.values.iter();
        let mut known = known.filter(|(key, _)| key.tractogram == tractogram && key.source == from);
        known.next().map(|(_, values)| values)
    }

    /// The columns of the table: values of the streamlines, and images.
    pub fn columns(&self, lines: &Tractogram) -> Vec<Column> {
        let own = lines.value_names().into_iter();
        // The seed's number is of no use; measures are shown under one name.
        let hidden = |name: &&str| !["seed", "measure"].contains(name);
        let own = own.filter(hidden).map(|n| Column::Value(n.to_owned()));
        let mut columns: Vec<Column> = own.collect();
        let images = self.document.streamlines.images.iter().copied();
        let images = images.filter(|id| self.column_image(*id).is_some());
        columns.extend(images.map(Column::Image));
        // The default column, if no images were chosen.
        let bare = !columns.contains(&Column::Value("fa".to_owned()));
        if self.document.streamlines.images.is_empty() && bare {
            columns.extend(self.fa_layer().map(Column::Image));
        }
        columns
    }

    /// The FA of the tensors as a column, or else a value along the streamlines, or the topmost image.
    pub fn default_profile_column(&self, lines: &Tractogram) -> Option<Column> {
        if lines.per_point.contains_key("fa") {
            return Some(Column::Value("fa".to_owned()));
        }
        let own = lines.per_point.keys().next().cloned();
        let fa = self.fa_layer();
        let mut images = self.document.layers.iter().rev();
        let image = images.find(|l| self.column_image(l.id).is_some());
        let image = image.map(|l| Column::Image(l.id));
        fa.map(Column::Image).or(own.map(Column::Value)).or(image)
    }

    /// The layer of the tensors' FA.
    pub fn fa_layer(&self) -> Option<LayerId> {
        let is = |l: &&Arc<Layer>| self.document.origin(l).fit_map() == Some(FitMap::Fa);
        self.document.layers.iter().find(is).map(|l| l.id)
    }

    /// The heading of a column.
    pub fn column_name(&self, column: &Column) -> String {
        self.document.column_name(column)
    }

    /// The label map of the connections.
    pub fn label_map(&self) -> Option<&Arc<Layer>> {
        let is = |l: &&Arc<Layer>| {
            let is_single_volume = matches!(&l.content, Content::Image(v) if v.frames == 1);
            is_single_volume
                && l.content
                    .volume()
                    .is_some_and(|v| v.kind == VolumeKind::Scalar)
        };
        let named = self.document.streamlines.connect.labels;
        let named = named.and_then(|id| self.document.layer(id)).filter(is);
        let layers = || self.document.layers.iter().rev().filter(is);
        let labelled = |l: &&Arc<Layer>| l.content.volume().is_some_and(|v| v.labels.is_some());
        named.or_else(|| layers().find(labelled))
    }

    /// The streamlines that count: those that the rules keep, or all.
    pub fn counted_marks(&self, layer: LayerId) -> Option<SameArc<bool>> {
        self.selection(layer).map(|s| s.marks.clone())
    }
}
