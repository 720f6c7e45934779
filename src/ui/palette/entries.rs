//! Everything there is to do besides the layers, regions and pathways themselves, in the order of its likely use.

use super::{Entry, EntryAction, layers, pathways, regions, track_noise};
use crate::data::text::within_sentence;
use crate::data::{BuiltInPhantom, PhantomKind, Role};
use crate::guide::PAGES;
use crate::guide::synonyms::Subject;
use crate::solvers::tensor_fit::FitMap;
use crate::state::core::pane::Pane;
use crate::state::core::slice_turn::{SliceTurn, voxel_rotation};
use crate::state::filter::{FilterAction, ShownStreamlines};
use crate::state::streamlines::BottomPanel;
use crate::state::tensors::map_name;
use crate::state::tensors::types::fods::{FodSettings, FodSource};
use crate::state::track::types::odf::Model;
use crate::state::update::panel_command;
use crate::state::{
    Action, AlignmentAction, FilesAction, Layout, LinkAction, Look, Method, Phase, PictureAction,
    RegionAction, SessionAction, Slab, SnapshotAction, State, StreamlineAction, Task, TensorAction,
    Tool, TrackAction, UnsavedAction, ViewAction, ViewpointAction,
};
use crate::ui::forms::clips;
use crate::ui::forms::geodesic::through;
use crate::ui::{forms, keys, regions as region_list};
use egui::{Key, Modifiers};

/// Entries in the order in which they are added.
#[derive(Default)]
struct Entries(Vec<Entry>);

impl Entries {
    fn add(&mut self, name: &str, key: &'static str, run: EntryAction) -> &mut Entry {
        let last = self.0.len();
        self.0.push(Entry {
            name: name.to_owned(),
            synonyms: "",
            key,
            run,
        });
        &mut self.0[last]
    }

    /// The sheet of keys and the pages of the guide.
    fn help(&mut self) {
        self.add("Keys and mouse", "?", EntryAction::Keys)
            .about(Subject::Keys);
        for (i, page) in PAGES.iter().enumerate() {
            let key = if i == 0 { "F1" } else { "" };
            let name = format!("Help: {}", page.title());
            let entry = self.add(&name, key, EntryAction::Help(page.name));
            if page.name == "formats" {
                entry.about(Subject::Formats);
            }
        }
    }
}

fn act(action: impl Into<Action>) -> EntryAction {
    EntryAction::Act(action.into())
}

fn ctrl(key: Key) -> EntryAction {
    EntryAction::Press(key, Modifiers::COMMAND)
}

fn plain(key: Key) -> EntryAction {
    EntryAction::Press(key, Modifiers::NONE)
}

fn shift(key: Key) -> EntryAction {
    EntryAction::Press(key, Modifiers::SHIFT)
}

fn alt(key: Key) -> EntryAction {
    EntryAction::Press(key, Modifiers::ALT)
}

fn quitting(list: &mut Entries) {
    let quit = act(SessionAction::CloseDocument(UnsavedAction::Quit));
    list.add("Quit", "", quit).about(Subject::Quit);
}

fn theme(list: &mut Entries) {
    let toggle = act(ViewAction::ToggleTheme);
    list.add("Light or dark theme", "", toggle)
        .about(Subject::Theme);
}

/// Everything that can be done now.
pub(super) fn entries(state: &State) -> Vec<Entry> {
    let mut list = Entries::default();
    opening(state, &mut list);
    if state.document.is_empty() {
        start(&mut list);
        return list.0;
    }
    saving(state, &mut list);
    tools(&mut list);
    match state.view.task {
        Task::Segment => segment(state, &mut list),
        Task::Filter => filter(state, &mut list),
        Task::View | Task::Track | Task::Pathways => {}
    }
    results(state, &mut list);
    views(state, &mut list);
    pictures(state, &mut list);
    tables(state, &mut list);
    list.add("Start the guide", "", EntryAction::Act(Action::StartTour))
        .about(Subject::Tour);
    list.help();
    quitting(&mut list);
    let mut all = list.0;
    all.extend(layers::entries(state));
    all.extend(regions::entries(state));
    all.extend(pathways::entries(state));
    all.extend(track_noise::entries(state));
    all
}

/// Files to open.
fn opening(state: &State, list: &mut Entries) {
    list.add("Open a file…", "Ctrl+O", ctrl(Key::O))
        .about(Subject::Opening);
    list.add("Enter a path", "", EntryAction::Path);
    for recent in &state.runtime.files.recent {
        let name = format!("Open {}", recent.path.display());
        list.add(&name, "", act(FilesAction::Open(vec![recent.path.clone()])));
    }
    for kind in PhantomKind::ALL {
        let phantom = BuiltInPhantom { kind, seed: 1 };
        let open = SessionAction::CloseDocument(UnsavedAction::Head(phantom));
        let name = format!("Open a built-in phantom: {}", kind.label());
        list.add(&name, "", EntryAction::Act(Action::Session(open)));
    }
}

/// Entries while nothing is open.
fn start(list: &mut Entries) {
    for (name, tour) in [
        ("Open the demo head", false),
        ("Open the demo head, with the guide", true),
    ] {
        list.add(name, "", EntryAction::Act(Action::OpenDemo { tour }));
    }
    theme(list);
    list.help();
    list.add("Settings…", "Ctrl+,", ctrl(Key::Comma))
        .about(Subject::Settings);
    quitting(list);
}

/// Saving, exporting, snapshots and undo.
fn saving(state: &State, list: &mut Entries) {
    let save_as = EntryAction::Press(Key::S, Modifiers::COMMAND | Modifiers::SHIFT);
    let copy = EntryAction::Press(Key::C, Modifiers::COMMAND | Modifiers::SHIFT);
    list.add("Save the session", "Ctrl+S", ctrl(Key::S))
        .about(Subject::Session);
    list.add("Save the session as…", "Ctrl+Shift+S", save_as)
        .about(Subject::Session);
    list.add("New", "Ctrl+N", ctrl(Key::N));
    list.add("Export what is shown…", "Ctrl+E", ctrl(Key::E))
        .about(Subject::Export);
    list.add(
        "Save a screenshot, turntable or film…",
        "",
        EntryAction::Screenshot,
    )
    .about(Subject::Picture);
    list.add("Copy as command", "Ctrl+Shift+C", copy);
    list.add("Take a snapshot", "Ctrl+B", ctrl(Key::B))
        .about(Subject::Snapshot);
    for (i, snapshot) in state.runtime.snapshots.all.iter().enumerate() {
        let name = format!("Compare with {}", snapshot.label());
        list.add(&name, "", act(SnapshotAction::Compare(Some(i))));
    }
    if state.runtime.snapshots.comparing.is_some() {
        list.add(
            "Stop comparing",
            "Ctrl+Shift+B",
            act(SnapshotAction::Compare(None)),
        );
    }
    list.add(
        "Copy methods paragraph",
        "",
        EntryAction::Act(Action::CopyMethods),
    )
    .about(Subject::Methods);
    list.add("Save a report of the session…", "", EntryAction::Report)
        .about(Subject::Report);
    list.add("Save the session as a protocol…", "", EntryAction::Protocol)
        .about(Subject::Protocol);
    if let Some(step) = state.history.undo_label() {
        list.add(
            &format!("Undo: {}", within_sentence(step)),
            "Ctrl+Z",
            ctrl(Key::Z),
        );
    }
    if let Some(step) = state.history.redo_label() {
        list.add(
            &format!("Redo: {}", within_sentence(step)),
            "Ctrl+Y",
            ctrl(Key::Y),
        );
    }
}

/// Tasks, and tools that draw regions.
fn tools(list: &mut Entries) {
    for task in Task::ALL {
        let (name, key) = (format!("Task: {}", task.name()), keys::task_key(task));
        let entry = list.add(&name, key, act(ViewAction::SelectTask(task)));
        match task {
            Task::View => {}
            Task::Track => entry.about(Subject::Tracking),
            Task::Pathways => entry.about(Subject::Pathways),
            Task::Segment => entry.about(Subject::Segmentation),
            Task::Filter => entry.about(Subject::Filter),
        }
    }
    for (role, key) in region_list::KEYS {
        let name = format!("Place: {}", role.name().to_lowercase());
        let tool = Tool::NewRegion { role, cube: false };
        let subject = match role {
            Role::Exclude => Subject::ExcludeRegion,
            Role::Target => Subject::TargetRegion,
            _ => Subject::Region,
        };
        list.add(&name, key, act(ViewAction::SetTool(tool)))
            .about(subject);
    }
    for (tool, name, key) in forms::region::TOOLS {
        let name = format!("Draw: {}", name.to_lowercase());
        let subject = match tool {
            Tool::Fill => Subject::Fill,
            Tool::Polygon => Subject::Polygon,
            _ => Subject::Drawing,
        };
        list.add(&name, key, act(ViewAction::SetTool(tool)))
            .about(subject);
    }
}

/// Steering the surface and exporting it.
fn segment(state: &State, list: &mut Entries) {
    list.add("Segment: add a sphere", "A", plain(Key::A));
    list.add("Segment: add a keep-out sphere", "D", plain(Key::D));
    list.add("Segment: run or pause", "Space", plain(Key::Space));
    for what in state.segment_files() {
        let name = format!("Segment: export {}", what.name().to_lowercase());
        list.add(&name, "", EntryAction::Segment(what));
    }
}

/// Running the fit of weights and exporting it.
fn filter(state: &State, list: &mut Entries) {
    match state.is_filtering() {
        true => {
            let stop = act(FilterAction::Stop);
            list.add("Filter: stop, keep weights", "Space", stop);
        }
        false if state.can_continue_fit() => {
            list.add("Filter: continue", "Space", act(FilterAction::Continue));
            list.add("Filter: run again", "", act(FilterAction::Run))
                .about(Subject::Filter);
        }
        false => {
            list.add("Filter: run", "Space", act(FilterAction::Run))
                .about(Subject::Filter);
        }
    }
    if forms::commit::has_weights(state) {
        list.add(
            "Filter: keep the remaining streamlines as layer",
            "",
            act(FilterAction::Keep),
        );
        for shown in ShownStreamlines::ALL {
            let name = format!("Filter: show {}", shown.name().to_lowercase());
            list.add(&name, "", act(FilterAction::Show(shown)));
        }
        for what in forms::commit::files(state) {
            let name = format!("Filter: export {}", what.name().to_lowercase());
            list.add(&name, "", EntryAction::Filter(what));
        }
    }
}

/// Rays in tensors that lead to one point.
fn rays_through(state: &State, list: &mut Entries) {
    let track = &state.document.track;
    if track.method != Method::Rays || track.model != Model::Tensors {
        return;
    }
    let set = |rays| {
        let phase = Phase::Done;
        act(TrackAction::SetRays { rays, phase })
    };
    let rays = &track.rays;
    let here = through::at_crosshair(state, rays);
    list.add("Rays through the crosshair", "", set(here));
    if rays.params.through.is_some() {
        let all = through::through(rays, None);
        list.add("Rays in all directions", "", set(all));
    }
}

/// Measuring, and results of the regions.
fn results(state: &State, list: &mut Entries) {
    list.add("Measure: distance", "M", plain(Key::M))
        .about(Subject::Distance);
    list.add("Measure: angle", "N", plain(Key::N));
    if state.current_streamlines().is_some() {
        list.add("Choose streamlines", "K", plain(Key::K))
            .about(Subject::ManualSelection);
    }
    if let Some(map) = region_list::label_map(state) {
        list.add("Region from a threshold", "", EntryAction::Threshold)
            .about(Subject::Threshold);
        let labels = act(RegionAction::CountLabels(map));
        list.add("Regions from a label map", "", labels)
            .about(Subject::LabelMap);
    }
    for (layer, name) in forms::alignment::alignable(state) {
        let align = act(AlignmentAction::Align(layer));
        list.add(&name, "", align);
    }
    list.add("Track the whole brain", "", act(TrackAction::WholeBrain))
        .about(Subject::WholeBrain);
    if state.final_live().is_some() {
        list.add("Keep the live result as layer", "", act(TrackAction::Keep));
        let map = EntryAction::Act(layers::density(None));
        list.add("Map the density of the live result", "", map)
            .about(Subject::Density);
    }
    let (other, name) = match state.document.track.method {
        Method::Streamlines => (Method::Rays, "Track: geodesic rays"),
        Method::Rays => (Method::Streamlines, "Track: streamlines"),
    };
    if state.view.task == Task::Track {
        let entry = list.add(name, "", act(TrackAction::SetMethod(other)));
        if other == Method::Rays {
            entry.about(Subject::GeodesicRays);
        }
        rays_through(state, list);
        let (model, name) = match state.document.track.model {
            Model::Tensors => (Model::Distributions, "Track: along distributions"),
            Model::Distributions => (Model::Tensors, "Track: in tensors"),
        };
        let can_follow = match model {
            Model::Tensors => forms::can_have_tensors(state),
            Model::Distributions => state.document.distributions.field().is_some(),
        };
        if can_follow {
            list.add(name, "", act(TrackAction::SetModel(model)))
                .about(Subject::FibreOrientations);
        }
    }
    let fods = &state.document.distributions.settings;
    if forms::can_estimate_fods(state) && !fods.requested {
        let settings = FodSettings {
            requested: true,
            ..fods.clone()
        };
        let action = act(TensorAction::SetFods(settings));
        list.add("Estimate fibre orientations", "", action)
            .about(Subject::FibreOrientations);
    }
    for image in forms::fod_images(state) {
        let source = FodSource::Image(image.id);
        let name = format!("Use “{}” as distributions", image.name);
        list.add(&name, "", act(TensorAction::UseDistributions(source)))
            .about(Subject::FibreOrientations);
    }
    shape_maps(state, list);
    list.add(
        "Compare the axes of the gradients",
        "",
        act(TensorAction::CheckGradients),
    )
    .about(Subject::GradientAxes);
}

/// Maps of the shape of tensors.
fn shape_maps(state: &State, list: &mut Entries) {
    let fitted = state.document.tensors.is_some();
    for map in FitMap::SHAPES.into_iter().filter(|_| fitted) {
        let name = format!("Map of tensors: {}", map_name(map));
        list.add(&name, "", act(TensorAction::ShowShape(map)))
            .about(Subject::TensorFit);
    }
}

/// Entries for the views.
fn views(state: &State, list: &mut Entries) {
    list.add("Radiological or neurological", "R", plain(Key::R))
        .about(Subject::Convention);
    list.add("Crosshair", "F", plain(Key::F))
        .about(Subject::Crosshair);
    let linked = state.crosshair_link.is_on;
    let name = match linked {
        true => "Crosshair: unlink from other windows",
        false => "Crosshair: link to other windows",
    };
    list.add(name, "", act(LinkAction::Link(!linked)))
        .about(Subject::CrosshairLink);
    list.add("Letters", "O", plain(Key::O))
        .about(Subject::Letters);
    list.add("Slices: turn by angles…", "", EntryAction::TurnSlices)
        .about(Subject::ObliqueSlices);
    list.add(
        "Slices: align to AC–PC by three clicks",
        "",
        act(ViewAction::SetTool(Tool::Commissures)),
    )
    .about(Subject::Commissures);
    list.add("Slices: back to the axes", "Z", plain(Key::Z))
        .about(Subject::ObliqueSlices);
    turned_slices(state, list);
    viewpoints(state, list);
    for (name, key, run, subject) in [
        ("Glyphs", "Shift+G", shift(Key::G), Subject::Glyphs),
        (
            "Side panels",
            "Ctrl+\\",
            ctrl(Key::Backslash),
            Subject::Panels,
        ),
        (
            "Slices in 3-D",
            "",
            act(ViewAction::ToggleSlicesInScene),
            Subject::SlicesIn3d,
        ),
        (
            "Head outline",
            "",
            act(ViewAction::ToggleOutline),
            Subject::Outline,
        ),
    ] {
        list.add(name, key, run).about(subject);
    }
    new_clips(state, list);
    theme(list);
    list.add("Settings…", "Ctrl+,", ctrl(Key::Comma))
        .about(Subject::Settings);
    let layouts = [
        (Layout::Grid, "Layout: four views"),
        (Layout::SceneFirst, "Layout: 3-D large"),
        (Layout::Single, "Layout: one view"),
        (Layout::Mosaic, "Layout: mosaic of slices"),
        (Layout::SpeedComparison, "Layout: image beside speed"),
    ];
    for (layout, name) in layouts {
        let entry = list.add(name, "", act(ViewAction::SetLayout(layout)));
        match layout {
            Layout::Single => entry.about(Subject::OneView),
            Layout::Mosaic => entry.about(Subject::Mosaic),
            Layout::Grid | Layout::SceneFirst | Layout::SpeedComparison => {}
        }
    }
    for (pane, key) in Pane::ALL.into_iter().zip(["1", "2", "3", "4"]) {
        let name = format!("Enlarge: {}", pane.name().to_lowercase());
        list.add(&name, key, act(ViewAction::ToggleMaximised(pane)))
            .about(Subject::Enlarge);
    }
    list.add("Frame everything", "Home", plain(Key::Home))
        .about(Subject::FrameEverything);
    for (name, key, number, subject) in [
        ("3-D from the front", "Alt+1", Key::Num1, Subject::FromFront),
        ("3-D from the side", "Alt+3", Key::Num3, Subject::FromSide),
        ("3-D from above", "Alt+7", Key::Num7, Subject::FromAbove),
    ] {
        list.add(name, key, alt(number)).about(subject);
    }
}

/// Planes that hide a part of the 3-D view.
fn new_clips(state: &State, list: &mut Entries) {
    for (pane, plane) in clips::planes(state) {
        if let Some(plane) = plane {
            let name = match pane {
                Some(pane) => format!("Clip 3-D: {} plane", pane.name().to_lowercase()),
                None => "Clip 3-D: plane that faces you".to_owned(),
            };
            list.add(&name, "", EntryAction::AddClip(plane))
                .about(Subject::Clips);
        }
    }
}

/// Going back and forth, and the named viewpoints.
fn viewpoints(state: &State, list: &mut Entries) {
    let viewpoint = |action| act(ViewAction::Viewpoint(action));
    list.add("View: go back", "Alt+←", viewpoint(ViewpointAction::Back))
        .about(Subject::Viewpoint);
    list.add(
        "View: go forward",
        "Alt+→",
        viewpoint(ViewpointAction::Forward),
    )
    .about(Subject::Viewpoint);
    list.add(
        "View: save the present one",
        "",
        viewpoint(ViewpointAction::Save),
    )
    .about(Subject::Viewpoint);
    for (index, named) in state.view.named.iter().enumerate() {
        let name = format!("View: show {}", named.name);
        list.add(&name, "", viewpoint(ViewpointAction::Show(index)));
    }
}

/// Slices turned to the voxels of an image, if these are oblique by at least a tenth of a degree.
fn turned_slices(state: &State, list: &mut Entries) {
    for layer in state.document.layers.iter().rev() {
        let Some(grid) = layer.content.volume().map(|volume| &volume.grid) else {
            continue;
        };
        let turn = SliceTurn::about(state.view.crosshair, voxel_rotation(grid));
        if turn.degrees() >= 0.1 {
            let name = format!("Slices: turn to the voxels of {}", layer.name);
            list.add(&name, "", act(ViewAction::TurnSlices(turn)))
                .about(Subject::ObliqueSlices);
        }
    }
}

/// Commands of pictures, and parts of streamlines.
fn pictures(state: &State, list: &mut Entries) {
    for pane in std::iter::once(None).chain(Pane::ALL.map(Some)) {
        let what = within_sentence(pane.map_or("Window", Pane::name));
        let copy = Action::Picture(PictureAction::Copy(pane, Look::default()));
        list.add(
            &format!("Copy as command: picture, {what}"),
            "",
            EntryAction::Act(copy),
        );
    }
    for pane in [
        None,
        Some(Pane::Axial),
        Some(Pane::Sagittal),
        Some(Pane::Coronal),
    ] {
        let name = match pane {
            None => "Draw streamlines in full length".to_owned(),
            Some(pane) => format!(
                "Draw streamlines near the {} slice only",
                pane.name().to_lowercase()
            ),
        };
        let thickness_mm = state.view.slab.map_or(Slab::DEFAULT_MM, |s| s.thickness_mm);
        let slab = pane.map(|pane| Slab { pane, thickness_mm });
        let entry = list.add(&name, "", act(ViewAction::CutToSlab(slab)));
        if pane.is_some() {
            entry.about(Subject::Slab);
        }
    }
}

/// The panel below the views.
fn tables(state: &State, list: &mut Entries) {
    if state.current_streamlines().is_some() {
        for (drawer, name, subject) in [
            (BottomPanel::Table, "Table of streamlines", Subject::Table),
            (
                BottomPanel::Profile,
                "Profile along streamlines",
                Subject::Profile,
            ),
            (
                BottomPanel::Matrix,
                "Matrix of connections",
                Subject::Matrix,
            ),
            (
                BottomPanel::Bundles,
                "Bundles: cluster or recognise",
                Subject::Bundles,
            ),
            (BottomPanel::Scores, "Score against truth", Subject::Score),
        ] {
            let open = state.view.bottom_panel != Some(drawer);
            let action = StreamlineAction::Open(open.then_some(drawer));
            list.add(name, "", EntryAction::Act(Action::Streamline(action)))
                .about(subject);
            if let Some(line) = panel_command(state, drawer) {
                let name = format!("Copy as command: {}", drawer.name().to_lowercase());
                list.add(&name, "", EntryAction::Act(Action::CopyCommand(line)));
            }
        }
    }
}
