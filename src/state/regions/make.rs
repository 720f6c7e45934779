//! Computed regions: requested as controls move, received as they arrive.

use crate::data::region::RegionId;
use crate::data::{DataId, Mask, Region, Role, Shape, VolumeKind};
use crate::io::quoted;
use crate::parameters::arguments;
use crate::solvers::region::{Combine, LabelCount};
use crate::state::core::colours::CATEGORIES;
use crate::state::core::layer::{LayerId, grid_of};
use crate::state::core::live::Live;
use crate::state::core::phase::Phase;
use crate::state::core::text::{count, quoted_path};
use crate::state::regions::brush::{canvas, drawn};
use crate::state::regions::draw::next_role;
use crate::state::regions::jobs::labels::{CountLabels, LabelCounts, MakeLabelRegions};
use crate::state::regions::jobs::make::{ComputedRegion, MakeRegion, REGION, RegionOperation};
use crate::state::regions::recipe::{MaskWithoutFile, RegionCommand};
use crate::state::regions::types::{
    Labels, RegionInProgress, RegionSource, RequestNumber, region_name,
};
use crate::state::{CommandLine, Document, Effect, State, Tool, regions};
use std::sync::Arc;

/// Begins to make a region, or continues with other values.
pub fn set(state: &mut State, source: RegionSource, phase: Phase, effects: &mut Vec<Effect>) {
    if matches!(source, RegionSource::Fill { erase: true, .. }) && drawn(state).is_none() {
        state.runtime.notices.status = "Select a drawn region to erase from".into();
        return;
    }
    let same_kind = |a: &RegionSource, b: &RegionSource| match (a, b) {
        (RegionSource::Threshold { layer, .. }, RegionSource::Threshold { layer: other, .. }) => {
            layer == other
        }
        // Another position starts another fill.
        (
            RegionSource::Fill { seed, erase, .. },
            RegionSource::Fill {
                seed: f, erase: e, ..
            },
        ) => seed == f && erase == e,
        (RegionSource::Change(_), RegionSource::Change(_)) => true,
        _ => false,
    };
    let live = phase == Phase::Live;
    let goes_on = state.runtime.regions.making.as_ref().is_some_and(|making| {
        let exists = making
            .region
            .is_none_or(|id| state.document.region(id).is_some());
        exists && same_kind(&making.source, &source)
    });
    if goes_on {
        if let Some(making) = &mut state.runtime.regions.making {
            making.live = live;
            // The end of a drag has no new value, but needs the full result of dependent computations.
            making.source = source;
        }
    } else {
        // Another image for the threshold: the same region is recomputed.
        let threshold = matches!(source, RegionSource::Threshold { .. });
        let old = state.runtime.regions.making.take();
        let kept = old.filter(|m| threshold && matches!(m.source, RegionSource::Threshold { .. }));
        let region = match source {
            RegionSource::Threshold { .. } => kept.as_ref().and_then(|m| m.region),
            RegionSource::Fill { .. } => drawn(state).map(|r| r.id),
            RegionSource::Change(_) | RegionSource::Combine { .. } => {
                state.runtime.regions.selected
            }
        };
        let base = region
            .and_then(|id| state.document.region(id))
            .map(|r| r.shape.clone());
        let no_base = matches!(source, RegionSource::Threshold { .. });
        if kept.is_none() {
            state.history.close();
        }
        state.runtime.regions.making_serial += 1;
        state.runtime.regions.making = Some(RegionInProgress {
            region,
            base: base.filter(|_| !no_base),
            source,
            serial: state.runtime.regions.making_serial,
            requests: 0,
            jobs: Live::default(),
            live,
            note: None,
        });
    }
    if let Some(making) = &mut state.runtime.regions.making {
        making.requests += 1;
    }
    follow(state, effects);
}

/// Ends the computation, because the tool was deactivated or the document changed: the region stays as it is.
pub fn stop_making(state: &mut State, effects: &mut Vec<Effect>) {
    if let Some(making) = state.runtime.regions.making.take() {
        if making.jobs.running().is_some() {
            effects.push(Effect::Cancel(REGION));
        }
        state.history.close();
    }
}

/// The scalar image of a layer, and the index of its displayed volume.
fn image(document: &Document, layer: LayerId) -> Option<&crate::data::Volume> {
    let volume = document.layer(layer)?.content.picture()?;
    (volume.kind == VolumeKind::Scalar).then_some(volume)
}

/// Requests the region with its present values, once the running job has finished: cancelling on every move would show
/// nothing during a drag.
fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    let voxels = canvas(state).and_then(|l| grid_of(l)).cloned();
    let Some(making) = &mut state.runtime.regions.making else {
        return;
    };
    let request = RequestNumber(making.requests);
    if making.jobs.ask(Some(request)).is_none() {
        return;
    }
    let document = &state.document;
    let base = making.base.clone();
    let operation = match making.source.clone() {
        RegionSource::Threshold {
            layer,
            frame,
            low,
            high,
        } => image(document, layer).map(|volume| RegionOperation::Threshold {
            volume: volume.clone(),
            frame,
            low,
            high,
        }),
        RegionSource::Fill {
            layer,
            frame,
            seed,
            tolerance,
            max_ml,
            erase,
        } => image(document, layer).map(|volume| RegionOperation::Fill {
            volume: volume.clone(),
            frame,
            seed,
            tolerance,
            max_ml,
            base: base.map(|b| (b, [Combine::Union, Combine::Difference][usize::from(erase)])),
        }),
        RegionSource::Change(change) => base
            .zip(voxels)
            .map(|(base, grid)| RegionOperation::Change { base, grid, change }),
        RegionSource::Combine {
            operation: how,
            other,
        } => {
            let other = document.region(other).map(|r| r.shape.clone());
            base.zip(other)
                .zip(voxels)
                .map(|((base, other), grid)| RegionOperation::Combine {
                    operation: how,
                    base,
                    other,
                    grid,
                })
        }
    };
    let Some(operation) = operation else {
        state.runtime.regions.making = None;
        return;
    };
    let serial = making.serial;
    effects.push(Effect::submit(MakeRegion { operation, serial }));
}

/// The command that makes the same change of the region before it; `None` if nothing was changed.
pub fn change_command(state: &State) -> Option<CommandLine> {
    let making = state.runtime.regions.making.as_ref()?;
    let (RegionSource::Change(change), Some(base)) = (&making.source, &making.base) else {
        return None;
    };
    let region = making.region.and_then(|id| state.document.region(id))?;
    let before = Region {
        shape: base.clone(),
        ..(**region).clone()
    };
    let mut command = RegionCommand {
        needs: Vec::new(),
        options: String::new(),
        writes: true,
        unfiled: None,
    };
    // A sphere or a box has the voxels of an image.
    if !matches!(**base, Shape::Mask(_)) {
        let layer = canvas(state)?;
        let path = state.document.path(layer);
        match path.filter(|_| state.document.origin(layer).is_plain_file()) {
            Some(path) => command.options += &format!(" --image {}", quoted_path(path)),
            None => command.unfiled = Some(format!("“{}”", layer.name)),
        }
    }
    match state.document.specs(&[before]) {
        Ok(specs) => {
            let text = specs.first()?.shape.to_string();
            command.options += &format!(" --union {}", quoted(&text));
        }
        Err(MaskWithoutFile(name)) => {
            command.unfiled = Some(format!("the region “{name}” before this change"));
        }
    }
    command.options += &arguments(change);
    Some(CommandLine::Region(Box::new(command)))
}

/// The job ended without a result.
pub fn ended(state: &mut State) {
    if let Some(making) = &mut state.runtime.regions.making {
        making.jobs.fail();
    }
}

/// Receives the numbers of a label map.
pub fn labels_counted(state: &mut State, image: DataId, frame: usize, numbers: LabelCounts) {
    let labels = state.runtime.regions.labels.as_mut();
    if let Some(labels) = labels.filter(|l| (l.image, l.frame) == (image, frame)) {
        labels.numbers = Some(numbers);
    }
}

/// Receives a region.
pub fn receive(
    state: &mut State,
    serial: u64,
    computed: ComputedRegion,
    effects: &mut Vec<Effect>,
) {
    let requested = state.runtime.regions.making.as_ref();
    let Some(mut making) = requested.filter(|m| m.serial == serial).cloned() else {
        return;
    };
    let gone = |id: RegionId| state.document.region(id).is_none();
    if making.region.is_some_and(gone) {
        state.runtime.regions.making = None;
        return;
    }
    let label = making.source.label();
    state.history.record(&state.document, label, true);
    state.runtime.notices.status.clear();
    let shape = Arc::new(Shape::Mask(computed.mask));
    let id = match making.region {
        Some(id) => {
            state.document.edit_region(id, |r| {
                r.shape = shape;
                r.visible = true;
            });
            id
        }
        None => add(state, &making.source, shape),
    };
    crate::state::edit::changed(state);
    state.runtime.regions.selected = Some(id);
    state.runtime.selected_layer = None;
    if state.view.tool.draws() {
        state.runtime.regions.drawn = Some(id);
    }
    making.jobs.finish(());
    state.runtime.regions.making = Some(RegionInProgress {
        region: Some(id),
        note: computed.note,
        ..making
    });
    if let Some(RegionSource::Combine { .. }) =
        state.runtime.regions.making.as_ref().map(|m| &m.source)
    {
        // A combination is finished at once; the next one starts from its result.
        stop_making(state, effects);
    }
    follow(state, effects);
}

/// Adds a new region for the result.
fn add(state: &mut State, source: &RegionSource, shape: Arc<Shape>) -> RegionId {
    let role = match source {
        RegionSource::Fill { .. } => state.view.drawing.role,
        // Like regions from a label map, it has no effect on curves until the user gives it another role.
        RegionSource::Threshold { .. } => Role::Region,
        _ => next_role(state),
    };
    let document = &mut state.document;
    document.add_region(document.region_name(role), role, shape)
}

/// Counts the labels of a layer, for the panel.
pub fn count_labels(state: &mut State, layer: LayerId, effects: &mut Vec<Effect>) {
    regions::draw::activate_tool(state, Tool::Labels, effects);
    let frame = state.document.layer(layer).map_or(0, |l| l.display.frame);
    let Some(volume) = image(&state.document, layer).cloned() else {
        state.runtime.regions.labels = None;
        return;
    };
    state.runtime.regions.labels = Some(Labels {
        layer,
        image: volume.id(),
        frame,
        numbers: None,
    });
    effects.push(Effect::submit(CountLabels { volume, frame }));
}

/// Makes regions of counted labels.
pub fn from_labels(
    state: &mut State,
    chosen: Vec<LabelCount>,
    role: Role,
    effects: &mut Vec<Effect>,
) {
    let Some(labels) = &state.runtime.regions.labels else {
        return;
    };
    let (layer, frame) = (labels.layer, labels.frame);
    let Some(volume) = image(&state.document, layer).cloned() else {
        return;
    };
    effects.push(Effect::submit(MakeLabelRegions {
        volume,
        frame,
        labels: chosen,
        layer: layer.0,
        role,
    }));
}

/// Adds regions of a label map.
pub fn labelled(state: &mut State, layer: LayerId, role: Role, masks: Vec<(i64, Mask)>) {
    let Some(layer) = state.document.layer(layer).cloned() else {
        return;
    };
    let (n, many) = (masks.len(), masks.len() > 1);
    let table = layer.content.volume().and_then(|v| v.labels.clone());
    let names: Vec<String> = masks.iter().map(|(n, _)| region_name(&layer, *n)).collect();
    state.history.close();
    let mut last = None;
    crate::state::edit::edit(state, "Regions from labels", false, |document| {
        for (i, ((number, mask), name)) in masks.into_iter().zip(names).enumerate() {
            let id = RegionId(document.fresh_id());
            last = Some(id);
            let label_number = u32::try_from(number).ok();
            let known = label_number.zip(table.as_ref());
            let own = known.map(|(number, table)| table.colour(number));
            document.regions.push(Arc::new(Region {
                id,
                name,
                role,
                shape: Arc::new(Shape::Mask(mask)),
                colour: own
                    .or(Some(CATEGORIES[i % CATEGORIES.len()]))
                    .filter(|_| many),
                visible: true,
                label_number,
            }));
        }
    });
    if !many {
        state.runtime.regions.selected = last;
    }
    let noun = if many { "regions" } else { "region" };
    state.runtime.notices.status = format!("{} {noun} from {}", count(n as u64), layer.name).into();
}
