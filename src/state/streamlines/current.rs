//! The current streamlines, and their known values.

use crate::data::text::file_name;
use crate::data::tractogram::LENGTH;
use crate::data::{DataId, Shape, Tractogram, Volume, VolumeKind};
use crate::solvers::tensor_fit::FitMap;
use crate::solvers::tractogram::line_values::LineStatistic;
use crate::state::State;
use crate::state::core::display::{Display, DistanceFrom, LineColouring};
use crate::state::core::fields::colour;
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::document::Document;
use crate::state::filter::WEIGHT;
use crate::state::streamlines::in_place::{PictureOf, in_place};
use crate::state::streamlines::jobs::colours::{ColourSource, DrawnFromFile};
use crate::state::streamlines::jobs::pick::VisibleValues;
use crate::state::streamlines::{
    COLOUR_VALUES, ColourKey, ColourSourceKey, Column, LineColours, ManualSelection, SameArc,
    SameShape, StreamlineSelection, ValueSource,
};
use std::path::Path;
use std::sync::Arc;

/// A value of tracked streamlines without a column: the seed's number is of no use.
pub const HIDDEN_VALUE: &str = "seed";

/// Whether a file of values has one for each point, as in `io::scalars`, which the state may not use.
pub fn is_tsf(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("tsf"))
}

/// A layer's streamlines.
pub fn streamlines_of(layer: &Layer) -> Option<&Tractogram> {
    match &layer.content {
        Content::Tractogram(tractogram) => Some(tractogram),
        _ => None,
    }
}

/// The streamlines that the table lists.
#[derive(Clone, Copy)]
pub struct TableOf<'a> {
    pub layer: &'a Arc<Layer>,
    pub id: DataId,
    /// The tractogram that has the names of all values.
    pub names: &'a Tractogram,
    pub count: usize,
    /// `None` if they stay in their file.
    pub in_memory: Option<&'a Tractogram>,
}

/// Values that the colours of a layer need.
pub(in crate::state) struct ColourRequest {
    pub key: ColourKey,
    pub tractogram: Tractogram,
    pub source: ColourSource,
    pub from_file: Option<DrawnFromFile>,
}

/// Drawn streamlines whose colours may need values, and what is known of all streamlines of their layer.
#[derive(Clone, Copy)]
struct ToColour<'a> {
    drawn: &'a Tractogram,
    /// The tractogram that has the names of all values.
    names: &'a Tractogram,
    /// The identity of the values of the file if they must be read from it.
    reads: Option<DataId>,
}

impl Document {
    /// The colouring of streamlines as it is named in the interface.
    pub fn colouring_name(&self, colouring: &LineColouring) -> String {
        let name = match colouring {
            LineColouring::Direction => "Direction",
            LineColouring::Fa => "FA",
            LineColouring::Length => "Length",
            LineColouring::StopReason => "Stop reason",
            LineColouring::Measure => "CM",
            LineColouring::MeasureAlong => "CM along the ray",
            LineColouring::Weight => "Weight",
            LineColouring::EndToEnd => "End to end",
            LineColouring::Group => "Group",
            LineColouring::Value(name) => return self.column_name(&Column::Value(name.clone())),
            LineColouring::Image(layer) => return self.column_name(&Column::Image(*layer)),
            LineColouring::Distance(from) => {
                let name = match from {
                    DistanceFrom::Region(id) => self.region(*id).map(|r| &r.name),
                    DistanceFrom::Mask(id) => self.layer(*id).map(|l| &l.name),
                };
                let name = name.map_or("a deleted region", String::as_str);
                return format!("Distance from {name}");
            }
            LineColouring::ValuesFile(path) => return file_name(path),
            LineColouring::Fixed(rgb) => return colour(*rgb),
        };
        name.to_owned()
    }

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
    /// Streamlines that stay in their file do not count.
    pub fn current_streamlines(&self) -> Option<(&Arc<Layer>, &Tractogram)> {
        if self.current_in_place().is_some() {
            return None;
        }
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

    /// The current streamlines, whether or not they stay in their file.
    pub fn current_table(&self) -> Option<TableOf<'_>> {
        if let Some((layer, lines)) = self.current_in_place() {
            return Some(TableOf {
                layer,
                id: lines.file.values_id(),
                names: &lines.names,
                count: lines.file.len(),
                in_memory: None,
            });
        }
        let (layer, lines) = self.current_streamlines()?;
        Some(TableOf {
            layer,
            id: lines.id(),
            names: lines,
            count: lines.len(),
            in_memory: Some(lines),
        })
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

    /// The streamlines of a layer as they are drawn: those that its rules keep, with the values that their colours show.
    /// While these are being computed for newly kept ones, the previous ones are drawn.
    pub fn drawn_streamlines<'a>(&'a self, layer: &'a Layer) -> Option<&'a Tractogram> {
        let sample = self.picture_in_place(layer);
        let kept = match sample {
            Some(sample) => &sample.tractogram,
            None => self.kept_streamlines(layer)?,
        };
        let colours = self.line_colours(layer);
        Some(colours.map_or(kept, |colours| &colours.tractogram))
    }

    /// The streamlines that a picture of a layer shows, without the values of colours.
    fn to_colour<'a>(&'a self, layer: &'a Layer, picture: PictureOf) -> Option<ToColour<'a>> {
        let to_colour = match in_place(layer) {
            Some(lines) => ToColour {
                drawn: &self.sample_in_place(layer, picture)?.tractogram,
                names: &lines.names,
                reads: Some(lines.file.values_id()),
            },
            None => {
                let kept = self.kept_streamlines(layer)?;
                ToColour {
                    drawn: kept,
                    names: kept,
                    reads: None,
                }
            }
        };
        Some(to_colour).filter(|to_colour| !to_colour.drawn.is_empty())
    }

    /// The values that the colours of a layer show, if they had to be computed; the previous ones while new ones are
    /// being computed.
    pub fn line_colours(&self, layer: &Layer) -> Option<&LineColours> {
        let live = self.runtime.streamlines.colours.get(&layer.id)?;
        let (key, colours) = live.shown()?;
        let requested = self.colour_key(layer, PictureOf::Whole)?;
        (*key == requested || live.running().is_some()).then_some(colours)
    }

    /// Whether the colours of a layer are those of other values than requested, which are being computed.
    pub fn has_stale_colours(&self, layer: &Layer) -> bool {
        let Some(live) = self.runtime.streamlines.colours.get(&layer.id) else {
            return false;
        };
        let Some(requested) = self.colour_key(layer, PictureOf::Whole) else {
            return false;
        };
        let same = |key: &ColourKey| {
            let requested = (&requested.colouring, requested.statistic, &requested.source);
            (&key.colouring, key.statistic, &key.source) == requested
        };
        live.running().is_some() && !live.shown().is_some_and(|(key, _)| same(key))
    }

    /// Why the requested colours of a layer cannot be shown; `None` while they can, or are being computed.
    pub fn why_no_colours(&self, layer: &Layer) -> Option<&'static str> {
        let live = self.runtime.streamlines.colours.get(&layer.id)?;
        let requested = self.colour_key(layer, PictureOf::Whole)?;
        if live.has_failed_for(&requested) {
            return Some(
                "The values were not computed: choose another colouring, then this one again",
            );
        }
        let (key, colours) = live.shown()?;
        let is_scale = requested.colouring.has_scale() && !colours.is_packed;
        let is_empty = *key == requested && is_scale && colours.ranges.is_none();
        is_empty.then_some("No point has a value here: the image may lie elsewhere")
    }

    /// The key of the values that the colours of a layer's picture show; `None` if its streamlines hold them, or if
    /// their source is gone.
    pub(in crate::state) fn colour_key(
        &self,
        layer: &Layer,
        picture: PictureOf,
    ) -> Option<ColourKey> {
        let lines = self.to_colour(layer, picture)?;
        let display = &layer.display;
        let (source, has_points) = match &display.line_colouring {
            LineColouring::ValuesFile(path) => (ColourSourceKey::Own, is_tsf(path)),
            _ => {
                let (key, source) = self.colour_source(lines, display)?;
                let has_points = match &source {
                    ColourSource::File(name) => lines.names.per_point.contains_key(name),
                    ColourSource::Image(..) | ColourSource::Distance(_) => true,
                    _ => false,
                };
                (key, has_points)
            }
        };
        Some(ColourKey {
            tractogram: lines.drawn.id(),
            colouring: display.line_colouring.clone(),
            statistic: match has_points {
                true => display.line_scale.statistic,
                false => LineStatistic::EachPoint,
            },
            source,
        })
    }

    /// The request for the values that the colours of a layer's picture need.
    pub(in crate::state) fn colour_request(
        &self,
        layer: &Layer,
        picture: PictureOf,
    ) -> Option<ColourRequest> {
        let key = self.colour_key(layer, picture)?;
        let lines = self.to_colour(layer, picture)?;
        let source = match &layer.display.line_colouring {
            LineColouring::ValuesFile(path) => ColourSource::ValuesFile {
                path: path.clone(),
                all: streamlines_of(layer)
                    .cloned()
                    .unwrap_or_else(Tractogram::empty),
                kept: self
                    .selection(layer.id)
                    .map(|kept| (kept.marks.0.clone(), kept.every)),
            },
            _ => self.colour_source(lines, &layer.display)?.1,
        };
        let from_file = in_place(layer).and_then(|own| {
            Some(DrawnFromFile {
                file: own.file.clone(),
                numbers: self.sample_in_place(layer, picture)?.numbers.clone(),
                picture,
            })
        });
        Some(ColourRequest {
            key,
            tractogram: lines.drawn.clone(),
            source,
            from_file,
        })
    }

    fn colour_source(
        &self,
        lines: ToColour,
        display: &Display,
    ) -> Option<(ColourSourceKey, ColourSource)> {
        let own = |name: &str| {
            let source = ColourSource::File(name.to_owned());
            let key = lines
                .reads
                .map_or(ColourSourceKey::Own, ColourSourceKey::File);
            Some((key, source))
        };
        let (names, reads) = (lines.names, lines.reads.is_some());
        let has_points = |name: &str| names.per_point.contains_key(name);
        let is_combined = reads || display.line_scale.statistic != LineStatistic::EachPoint;
        match &display.line_colouring {
            LineColouring::Fa if has_points("fa") => own("fa").filter(|_| is_combined),
            LineColouring::Fa => {
                let fa = &self.document.tensors.as_ref()?.fa;
                let key = ColourSourceKey::Image(fa.id(), 0, None);
                Some((key, ColourSource::Image(fa.clone(), 0)))
            }
            LineColouring::Length if reads || names.per_streamline.contains_key(LENGTH) => None,
            LineColouring::Length => own(LENGTH),
            LineColouring::Weight => {
                own(WEIGHT).filter(|_| reads && names.per_streamline.contains_key(WEIGHT))
            }
            LineColouring::MeasureAlong if has_points("cm") => own("cm").filter(|_| is_combined),
            LineColouring::Value(name) => {
                let known = has_points(name) || names.per_streamline.contains_key(name);
                own(name).filter(|_| known)
            }
            LineColouring::Image(layer) => self.image_source(*layer),
            LineColouring::Distance(DistanceFrom::Region(id)) => {
                let shape = self.document.region(*id)?.shape.clone();
                let key = ColourSourceKey::Region(SameShape(shape.clone()));
                Some((key, ColourSource::Distance(shape)))
            }
            LineColouring::Distance(DistanceFrom::Mask(id)) => {
                let Content::Mask(mask) = &self.document.layer(*id)?.content else {
                    return None;
                };
                let shape = Arc::new(Shape::Mask(mask.clone()));
                let key = ColourSourceKey::Mask(mask.id());
                Some((key, ColourSource::Distance(shape)))
            }
            LineColouring::EndToEnd => Some((ColourSourceKey::Own, ColourSource::EndToEnd)),
            LineColouring::Group => {
                let source = (ColourSourceKey::Own, ColourSource::Group);
                (!reads && !names.groups.is_empty()).then_some(source)
            }
            _ => None,
        }
    }

    /// The image of a layer as a source of colours.
    fn image_source(&self, layer: LayerId) -> Option<(ColourSourceKey, ColourSource)> {
        let layer = self.document.layer(layer)?;
        let volume = layer.content.volume()?;
        if volume.kind == VolumeKind::Rgb {
            let brightness = layer.display.brightness;
            let key = ColourSourceKey::Image(volume.id(), 0, Some(brightness));
            return Some((key, ColourSource::ColourImage(volume.clone(), brightness)));
        }
        let (volume, frame) = self.column_image(layer.id)?;
        let key = ColourSourceKey::Image(volume.id(), frame, None);
        let source = match volume.labels.is_some() {
            true => ColourSource::Labels(volume.clone()),
            false => ColourSource::Image(volume.clone(), frame),
        };
        Some((key, source))
    }

    /// The values that hide parts of a layer's drawn streamlines; `None` if nothing is hidden, or if only some of those
    /// that the rules keep are drawn.
    pub(in crate::state) fn visible_values(&self, layer: &Layer) -> Option<VisibleValues> {
        let limits = layer.display.line_scale.limits?;
        let is_thinned = self.selection(layer.id).is_some_and(|kept| kept.every > 1);
        let drawn = self.drawn_streamlines(layer).filter(|_| !is_thinned)?;
        // Earlier values may be those of other streamlines.
        if drawn.len() != self.kept_streamlines(layer)?.len() {
            return None;
        }
        let own = match &layer.display.line_colouring {
            LineColouring::Fa => "fa",
            LineColouring::Length => LENGTH,
            LineColouring::Measure => "measure",
            LineColouring::MeasureAlong => "cm",
            LineColouring::Weight => WEIGHT,
            _ => "",
        };
        let names = || drawn.per_point.keys().chain(drawn.per_streamline.keys());
        let computed = names().find(|name| name.starts_with(COLOUR_VALUES));
        let name = computed.or_else(|| names().find(|name| *name == own))?;
        Some(VisibleValues {
            name: name.clone(),
            drawn: drawn.clone(),
            limits,
        })
    }

    /// The factor from stored to displayed values of a colouring, and their unit.
    pub fn line_unit(&self, colouring: &LineColouring) -> (f32, &'static str) {
        match colouring {
            LineColouring::Image(id) => self
                .document
                .layer(*id)
                .map_or((1.0, ""), |layer| (layer.unit_scale, layer.unit)),
            LineColouring::Distance(_) | LineColouring::Length => (1.0, "mm"),
            LineColouring::Value(name) if name == LENGTH => (1.0, "mm"),
            _ => (1.0, ""),
        }
    }

    /// Whether streamlines can be coloured by an image.
    pub fn has_colours_of_image(&self, layer: LayerId) -> bool {
        self.image_source(layer).is_some()
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
        let live = self.runtime.streamlines.selections.get(&layer)?;
        live.settled().and_then(|_| self.selection(layer))
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
        let volume = layer.content.picture()?;
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
        // Measures are shown under one name.
        let hidden = |name: &&str| ![HIDDEN_VALUE, "measure"].contains(name);
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
        let in_memory = self.selection(layer).map(|s| s.marks.clone());
        in_memory.or_else(|| self.marks_in_place(layer))
    }
}
