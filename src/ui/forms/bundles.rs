//! Bundles: clusters, and bundles recognised by the labels of a map.

use super::connectivity::label_map_row;
use super::display::select_row;
use super::parameters::{self, Rows};
use crate::data::text::file_name;
use crate::solvers::bundles::{Params, RecognitionParams};
use crate::state::streamlines::BundleSettings;
use crate::state::{Action, State, StreamlineAction};
use crate::ui::Memory;
use crate::ui::files::{DialogPosition, PathPurpose};
use crate::ui::theme::space;
use crate::ui::widgets::button::Button;
use crate::ui::widgets::{menu, paint, section};
use egui::{Sense, Ui, vec2};

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    clusters(ui, state, actions);
    recognised(ui, state, memory, actions);
}

fn clusters(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let now = &state.document.streamlines.bundles;
    section::head(ui, "By course");
    let mut set = |clusters: Params| {
        let settings = BundleSettings {
            clusters,
            ..now.clone()
        };
        actions.push(Action::Streamline(StreamlineAction::SetBundles(settings)));
    };
    parameters::rows(
        ui,
        &now.clusters,
        &Params::defaults(),
        Rows::AllBut(&[]),
        &mut |clusters, _| set(clusters),
    );
    let button = Button::plain("Cluster").hint(
        "New layer with the streamlines in groups of similar course (QuickBundles), coloured by group",
    );
    if clicked(ui, button) {
        actions.push(Action::Streamline(StreamlineAction::Cluster));
    }
}

fn recognised(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let settings = &state.document.streamlines;
    section::head(ui, "By labels");
    let help = "An image of whole numbers, one for each structure, such as FreeSurfer's aparc+aseg";
    label_map_row(ui, state, ("None", help), actions);
    recipe(ui, state, memory, actions);
    let mut set = |recognition: RecognitionParams| {
        let settings = BundleSettings {
            recognition,
            ..settings.bundles.clone()
        };
        actions.push(Action::Streamline(StreamlineAction::SetBundles(settings)));
    };
    parameters::rows(
        ui,
        &settings.bundles.recognition,
        &RecognitionParams::defaults(),
        Rows::AllBut(&[]),
        &mut |recognition, _| set(recognition),
    );
    let no_map = state
        .label_map()
        .is_none()
        .then_some("Open a label map first: an image of whole numbers, one for each structure");
    let button = Button::plain("Recognise").disabled(no_map).hint(
        "New layer with the bundles of the recipe as groups: streamlines that pass and end in its labels",
    );
    if clicked(ui, button) {
        actions.push(Action::Streamline(StreamlineAction::Recognise));
    }
}

/// The choice of the recipe.
fn recipe(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    enum Choice {
        FreeSurfer,
        File,
    }
    let file = state.document.streamlines.bundles.recipe.as_deref();
    let name = file.map_or("FreeSurfer".to_owned(), file_name);
    let help = "Which labels each bundle passes, avoids and ends in: twelve bundles for FreeSurfer's labels, or a file";
    let chosen = select_row(ui, "Recipe", help, &name, |ui| {
        let mut chosen = None;
        if menu::Item::new("FreeSurfer")
            .chosen(file.is_none())
            .show(ui)
        {
            chosen = Some(Choice::FreeSurfer);
        }
        if menu::Item::new("From a file…")
            .chosen(file.is_some())
            .show(ui)
        {
            chosen = Some(Choice::File);
        }
        chosen
    });
    match chosen {
        Some(Choice::FreeSurfer) => {
            actions.push(Action::Streamline(StreamlineAction::SetRecipe(None)));
        }
        Some(Choice::File) => {
            let text = file.map_or(String::new(), |file| file.display().to_string());
            let (purpose, middle) = (PathPurpose::BundleRecipe, DialogPosition::Middle);
            memory.files.ask_for_path(ui.ctx(), purpose, middle, &text);
        }
        None => {}
    }
}

fn clicked(ui: &mut Ui, button: Button) -> bool {
    let wide = vec2(ui.available_width(), space::BUTTON + 8.0);
    let (rect, _) = ui.allocate_exact_size(wide, Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let place = paint::at_left(row, vec2(button.width(ui), space::BUTTON));
    button.show_at(ui, place).clicked()
}
