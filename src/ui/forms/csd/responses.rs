//! Where the response functions come from: an algorithm, files, or a choice for each tissue.

use super::super::display::select_row;
use super::set;
use crate::data::odf_field::Tissue;
use crate::data::text::file_name;
use crate::solvers::tensor_fit::FitMap;
use crate::state::tensors::types::fods::{FodSettings, ResponseChoice, TissueChoice};
use crate::state::{Action, Content, Layer, State, TensorAction};
use crate::ui::Memory;
use crate::ui::files::{DialogPosition, PathPurpose};
use crate::ui::widgets::menu;
use egui::Ui;
use std::sync::Arc;

const ESTIMATED: &str = "Estimate";
const FROM_FILES: &str = "From files…";
const EACH: &str = "Each tissue";
const FROM_FILE: &str = "From a file…";
const OMITTED: &str = "Leave out";

/// An item of the first row.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Estimated,
    Files,
    Each,
}

/// An item of the row of a tissue.
enum Chosen {
    Choice(TissueChoice),
    AsksForFile,
}

pub fn show(
    ui: &mut Ui,
    state: &State,
    settings: &FodSettings,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let (now, names) = match &settings.responses {
        ResponseChoice::Estimated => (Kind::Estimated, ESTIMATED.to_owned()),
        ResponseChoice::Files(files) => {
            let names: Vec<String> = files.iter().map(|path| file_name(path)).collect();
            (Kind::Files, names.join(", "))
        }
        ResponseChoice::Each(_) => (Kind::Each, EACH.to_owned()),
    };
    let help = "Signal of one coherent fibre, of grey matter and of water: measured in the scan, MRtrix's text files \
                with white matter first, or a choice for each tissue";
    let chosen = select_row(ui, "Responses", help, &names, |ui| {
        let items = [
            (ESTIMATED, Kind::Estimated),
            (FROM_FILES, Kind::Files),
            (EACH, Kind::Each),
        ];
        let mut chosen = None;
        for (name, kind) in items {
            if menu::Item::new(name).chosen(kind == now).show(ui) {
                chosen = Some(kind);
            }
        }
        chosen
    });
    match chosen {
        Some(Kind::Files) => ask(ui, memory, None),
        Some(kind) if kind != now => actions.push(set(FodSettings {
            responses: match kind {
                Kind::Each => ResponseChoice::Each(Default::default()),
                Kind::Estimated | Kind::Files => ResponseChoice::Estimated,
            },
            ..settings.clone()
        })),
        _ => {}
    }
    if let ResponseChoice::Each(all) = &settings.responses {
        for (tissue, now) in Tissue::ALL.into_iter().zip(all) {
            tissue_row(ui, state, (tissue, now), memory, actions);
        }
    }
}

fn ask(ui: &Ui, memory: &mut Memory, tissue: Option<Tissue>) {
    let (purpose, place) = (PathPurpose::Responses(tissue), DialogPosition::Middle);
    memory.files.ask_for_path(ui.ctx(), purpose, place, "");
}

/// The masks that a response function can be measured in: all except that of the repaired tensors.
fn masks(state: &State) -> impl Iterator<Item = &Arc<Layer>> {
    let document = &state.document;
    let is_repaired =
        move |layer: &Layer| document.origin(layer).fit_map() == Some(FitMap::Repaired);
    let layers = document.layers.iter().rev();
    layers.filter(move |l| matches!(l.content, Content::Mask(_)) && !is_repaired(l))
}

fn tissue_row(
    ui: &mut Ui,
    state: &State,
    (tissue, now): (Tissue, &TissueChoice),
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let (row, help) = match tissue {
        Tissue::WhiteMatter => (
            "White matter",
            "Measured along the direction of each voxel: choose voxels with a single bundle",
        ),
        Tissue::GreyMatter => ("Grey matter", "The mean signal of its voxels"),
        Tissue::Csf => (
            "CSF",
            "The mean signal of its voxels: choose the ventricles",
        ),
    };
    let document = &state.document;
    let gone = || "Gone".to_owned();
    let shown = match now {
        TissueChoice::Estimated => ESTIMATED.to_owned(),
        TissueChoice::Region(id) => document.region(*id).map_or_else(gone, |r| r.name.clone()),
        TissueChoice::Layer(id) => document.layer(*id).map_or_else(gone, |l| l.name.clone()),
        TissueChoice::File(path) => file_name(path),
        TissueChoice::Omitted => OMITTED.to_owned(),
    };
    let chosen = select_row(ui, row, help, &shown, |ui| {
        let mut chosen = None;
        let mut item = |ui: &mut Ui, name: &str, choice: TissueChoice| {
            if menu::Item::new(name).chosen(*now == choice).show(ui) {
                chosen = Some(Chosen::Choice(choice));
            }
        };
        item(ui, ESTIMATED, TissueChoice::Estimated);
        for region in &document.regions {
            item(ui, &region.name, TissueChoice::Region(region.id));
        }
        for mask in masks(state) {
            item(ui, &mask.name, TissueChoice::Layer(mask.id));
        }
        if tissue != Tissue::WhiteMatter {
            item(ui, OMITTED, TissueChoice::Omitted);
        }
        let is_file = matches!(now, TissueChoice::File(_));
        if menu::Item::new(FROM_FILE).chosen(is_file).show(ui) {
            chosen = Some(Chosen::AsksForFile);
        }
        chosen
    });
    match chosen {
        Some(Chosen::Choice(choice)) if choice != *now => {
            actions.push(Action::Tensors(TensorAction::SetResponse {
                tissue,
                choice,
            }));
        }
        Some(Chosen::Choice(_)) | None => {}
        Some(Chosen::AsksForFile) => ask(ui, memory, Some(tissue)),
    }
}
