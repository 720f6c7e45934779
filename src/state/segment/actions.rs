//! Segmentation by a level set.

use crate::state::core::layer::Content;
use crate::state::edit::edit;
use crate::state::files::opening::exported;
use crate::state::files::types::RecentExports;
use crate::state::segment::jobs::{MaskSource, RunControl};
use crate::state::segment::update::{
    STEPS, back, choose, clear, keep, pause, place, play, rasterize_initial_surface,
    report_waiting, set, set_initial_surface, speed_layer,
};
use crate::state::segment::{SegmentAction, Start};
use crate::state::{Effect, Phase, State, pathways};

/// Applies one action.
pub fn act(state: &mut State, action: SegmentAction, effects: &mut Vec<Effect>) {
    match action {
        SegmentAction::Set { settings, phase } => set(state, settings, phase),
        SegmentAction::Image(layer) => choose(state, layer),
        SegmentAction::Start(start) => set_initial_surface(state, start),
        SegmentAction::StartFromLayer(id) => {
            let named = state
                .document
                .layer(id)
                .map(|l| (l.name.clone(), l.content.clone()));
            if let Some((name, Content::Mask(mask))) = named {
                set_initial_surface(state, Start::Mask(name, mask));
            }
        }
        SegmentAction::StartFromRegion(id) => {
            let image = state
                .document
                .segmented_image()
                .map(|(_, v)| v.grid.clone());
            let region = state.document.region(id).cloned();
            if let Some((grid, region)) = image.zip(region) {
                let with = MaskSource::Shape(region.shape.clone(), grid);
                rasterize_initial_surface(state, region.name.clone(), with, effects);
            }
        }
        SegmentAction::StartFromPathway(chosen) => {
            if let Some((pathway, epsilon, name)) = pathways::update::chosen_pathway(state, chosen)
            {
                rasterize_initial_surface(
                    state,
                    name,
                    MaskSource::Pathway(pathway, epsilon),
                    effects,
                );
            }
        }
        SegmentAction::StartFromFill => {
            let (point, tolerance) = (
                state.view.crosshair,
                state.document.segment.settings.params.tolerance,
            );
            set_initial_surface(state, Start::Filled { point, tolerance });
        }
        SegmentAction::Sphere(sphere) => place(state, sphere),
        SegmentAction::Move {
            number,
            sphere,
            phase,
        } => {
            let live = phase == Phase::Live;
            edit(state, "Move sphere", live, |d| {
                let mut spheres = d.segment.spheres.iter_mut();
                if let Some((_, moved)) = spheres.find(|(n, _)| *n == number) {
                    *moved = sphere;
                }
            });
        }
        SegmentAction::TakeBack(number) => {
            edit(state, "Take sphere back", false, |d| {
                d.segment.spheres.retain(|(n, _)| *n != number);
            });
        }
        SegmentAction::Clear => clear(state),
        SegmentAction::Play => play(state),
        SegmentAction::Pause => pause(state),
        SegmentAction::Step => {
            if let Some(why) = state.cannot_segment() {
                return report_waiting(state, why);
            }
            let step = state.runtime.segment.live.as_ref().map_or(0, |l| l.step);
            state.runtime.segment.play = RunControl::Until(step + STEPS);
        }
        SegmentAction::Rewind(step) => back::rewind(state, step),
        SegmentAction::Reference(layer) => {
            edit(state, "Reference", false, |d| d.segment.reference = layer);
        }
        SegmentAction::SpeedLayer(layer) => speed_layer(state, layer),
        SegmentAction::Painted(which, region) => {
            edit(state, "Speed regions", false, |d| {
                if let Some(painted) = d.segment.painted.get_mut(which) {
                    *painted = region;
                }
            });
        }
        SegmentAction::Keep => keep::keep(state),
        SegmentAction::Region(role) => {
            keep::region(state, role);
        }
        SegmentAction::Save { file, path } => {
            exported(state, RecentExports::REGION, &path, effects);
            keep::save(state, file, path, effects);
        }
    }
}
