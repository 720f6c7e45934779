//! Density maps: requesting one, and receiving it as a layer.

use crate::data::appearance::ColourMap;
use crate::data::text::counted;
use crate::solvers::curves::Seeding;
use crate::solvers::density::{DensityGrid, Measure, Params};
use crate::state::core::display::{self, Display};
use crate::state::core::layer::{Content, Layer, LayerId};
use crate::state::core::notices::Severity;
use crate::state::core::text::THIN;
use crate::state::density::jobs::{MapDensity, MapDensityInPlace, MappedDensity};
use crate::state::density::recipe::DensityRecipe;
use crate::state::density::{DensityOptions, DensityValue, quantity};
use crate::state::edit::edit;
use crate::state::track::kept_layers;
use crate::state::track::types::CurveParams;
use crate::state::{Document, Effect, State};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Number of streamlines sent for those of a layer, if known.
pub fn sent(document: &Document, layer: LayerId) -> Option<u64> {
    let recipe = document.curve_recipe(layer)?;
    match &recipe.curves {
        CurveParams::Streamlines(params) => match params.seeding {
            Seeding::Random { count } => Some((count * params.repetitions.unwrap_or(1)) as u64),
            Seeding::Grid { .. } | Seeding::PerVoxel { .. } => None,
        },
        CurveParams::OdfStreamlines(params) => match (params.select, params.seeding) {
            (None, Seeding::Random { count }) => Some(count as u64),
            _ => None,
        },
        CurveParams::Rays(..) | CurveParams::OdfRays(..) => None,
    }
}

pub fn map(
    state: &mut State,
    layer: Option<LayerId>,
    requested: DensityOptions,
    effects: &mut Vec<Effect>,
) {
    let mut live_sent: Option<u64> = None;
    let layer = layer.or_else(|| {
        let live = state.final_live()?;
        live_sent = Some(live.output.seed_outcomes.iter().sum());
        let live = live.output.kept.id();
        let is_live =
            |l: &&Arc<Layer>| matches!(&l.content, Content::Tractogram(t) if t.id() == live);
        if let Some(kept) = state.document.layers.iter().find(is_live) {
            return Some(kept.id);
        }
        kept_layers::keep(state);
        let kept = state.runtime.selected_layer?;
        // The live ones are still shown, and both would hide the map.
        state
            .document
            .edit_layer(kept, |l| l.display.visible = false);
        Some(kept)
    });
    let Some(layer) = layer.and_then(|id| state.document.layer(id).cloned()) else {
        return;
    };
    let own = match &layer.content {
        Content::Tractogram(tractogram) => tractogram.grid.clone(),
        Content::InPlace(lines) => lines.names.grid.clone(),
        _ => return,
    };
    let sent = live_sent.or_else(|| sent(&state.document, layer.id));
    if requested.value() == DensityValue::Share && sent.is_none() {
        state.runtime.notify(
            Severity::Information,
            "The number of streamlines sent is unknown: map counts instead",
        );
        return;
    }
    let own = own.or_else(|| basis(&state.document).map(|b| b.0));
    let on = match (own, requested.voxels.edge_mm) {
        (Some(grid), None) => DensityGrid::Grid(grid),
        (Some(grid), Some(mm)) => DensityGrid::Within(grid, mm),
        (None, mm) => DensityGrid::Around(mm.unwrap_or(1.0)),
    };
    let params = Params {
        sent: sent.filter(|_| requested.value() == DensityValue::Share),
        ..requested.params
    };
    effects.push(match &layer.content {
        Content::Tractogram(tractogram) => Effect::submit(MapDensity {
            tractogram: tractogram.clone(),
            grid: on,
            params,
            layer: layer.id.0,
            transform: state.document.moved_by(layer.id),
        }),
        Content::InPlace(lines) => Effect::submit(MapDensityInPlace {
            pieces: lines.file.pieces().clone(),
            grid: on,
            params,
            layer: layer.id.0,
        }),
        _ => return,
    });
}

/// The voxels of the scan, else of the first image, and the file of that image.
fn basis(document: &Document) -> Option<(Arc<crate::data::Grid>, Option<PathBuf>)> {
    let mut layers = document.scan().into_iter().chain(&document.layers);
    layers.find_map(|l| {
        let path = document.origins.path_in_place(l.origin).map(Path::to_owned);
        Some((l.content.volume()?.grid.clone(), path))
    })
}

pub fn done(state: &mut State, mapped: MappedDensity) {
    let input = LayerId(mapped.layer);
    let Some(source) = state.document.layer(input).cloned() else {
        state.runtime.notify(
            Severity::Information,
            "Map discarded because its streamlines were deleted meanwhile",
        );
        return;
    };
    let params = &mapped.params;
    let grid = match &mapped.grid {
        DensityGrid::Grid(grid) | DensityGrid::Within(grid, _) => Some(grid),
        DensityGrid::Around(_) => None,
    };
    let own = match &source.content {
        Content::Tractogram(tractogram) => tractogram.grid.clone(),
        Content::InPlace(lines) => lines.names.grid.clone(),
        _ => None,
    };
    // Recomputed streamlines have their grid; a file may not.
    let template = match (grid, basis(&state.document)) {
        (Some(grid), Some((basis, path))) if own.as_ref() != Some(grid) && basis == *grid => path,
        _ => None,
    };
    let (what, unit, unit_scale) = quantity(params);
    let volume = mapped.picture;
    let map = DensityRecipe {
        input: state.document.input(input),
        transform: mapped.transform,
        grid: mapped.grid,
        template,
        params: params.clone(),
    };
    let display = display(&volume, params);
    let mut id = LayerId(0);
    edit(state, "Density map", false, |document| {
        id = LayerId(document.fresh_id());
        let name = document.free_layer_name(what);
        let origin = document.origins.add(map);
        let layer = Layer {
            unit,
            unit_scale,
            ..Layer::new(id, name, Content::Image(volume), display, origin)
        };
        // Above the images, below its streamlines.
        document.layers.push(Arc::new(layer));
    });
    state.runtime.selected_layer = Some(id);
    state.runtime.regions.selected = None;
    let output = &mapped.output;
    // It lies below its streamlines.
    let mut message = format!(
        "Mapped {}, under the streamlines",
        counted(output.voxels as usize, "voxel")
    );
    if output.outside_mm > 0.0005 {
        message += &format!(
            "; {:.1}{THIN}% of the length lies outside",
            100.0 * output.outside_mm / (output.inside_mm + output.outside_mm)
        );
    }
    state.runtime.notices.status = message.into();
}

/// The display of a map, whose range begins at the smallest positive value, so that voxels without streamlines are
/// transparent.
fn display(volume: &crate::data::Volume, params: &Params) -> Display {
    if params.by_direction {
        return Display {
            opacity: display::LABEL_OPACITY,
            ..display::image_display((0.0, 1.0))
        };
    }
    let high = volume.percentiles(0, 0.01, 0.99).1;
    let low = match (params.measure, params.sent) {
        (Measure::Visits, sent) => 0.5 / sent.map_or(1.0, |n| n as f32),
        (Measure::Length, _) => 0.01 * high,
    };
    Display {
        colour_map: ColourMap::Magma,
        interpolation: crate::data::appearance::Interpolation::Nearest,
        opacity: 0.8,
        ..display::image_display((low.min(0.5 * high), high.max(low)))
    }
}
