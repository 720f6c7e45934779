//! Distributions of an opened image in place of those of the scan: their reading, their use, and the way back.

use super::Window;
use crate::support::{distributions, opened_event, opened_file, test};
use arcuate::data::odf_field::Tissue;
use arcuate::data::spherical_harmonics::Basis;
use arcuate::data::{Mask, OdfField, OdfLayout, TensorFrame};
use arcuate::jobs::Job;
use arcuate::scene::draw_list::MarkShape;
use arcuate::solvers::response::TissueResponse;
use arcuate::state::core::colours::tissue_rgb;
use arcuate::state::core::glyph_look::GlyphContent;
use arcuate::state::files::jobs::open::Loaded;
use arcuate::state::methods::methods;
use arcuate::state::origin::Origin;
use arcuate::state::tensors::jobs::CompareDistributions;
use arcuate::state::tensors::jobs::fod::{ReadFods, SaveFods};
use arcuate::state::tensors::types::fods::{FodSettings, FodSource};
use arcuate::state::track::types::odf::Model;
use arcuate::state::{
    Action, AlignmentAction, Effect, Layer, LayerAction, LayerId, Phase, State, TensorAction,
    TrackAction, update,
};
use arcuate::ui::views::legend::{self, Legend};
use glam::{DAffine3, DQuat, DVec3};
use libtest_mimic::Trial;
use std::path::PathBuf;

pub fn tests() -> Vec<Trial> {
    vec![
        test("update::fod_images::are_used_once_they_are_read", used),
        test("update::fod_images::unknown_bases_are_compared", compared),
        test("update::fod_images::undo_and_redo", undone),
        test("update::fod_images::back_to_those_of_the_scan", back),
        test("update::fod_images::another_basis_is_another_field", bases),
        test("update::fod_images::no_longer_distributions", plain),
        test("update::fod_images::without_a_scan", alone),
        test("update::fod_images::a_deleted_image", deleted),
        test(
            "update::fod_images::distributions_turn_with_their_image",
            moved,
        ),
        test(
            "update::fod_images::voxels_of_the_response_functions",
            response_voxels,
        ),
    ]
}

const FILE: &str = "/data/sub_fod.nii.gz";

/// Opens an image of distributions in a window, which may have a scan.
fn open(window: &mut Window) -> LayerId {
    let grid = match window
        .state
        .document
        .scan()
        .and_then(|l| l.content.volume())
    {
        Some(scan) => scan.grid.clone(),
        None => super::scan().0.grid.clone(),
    };
    let loaded = Loaded::Scan {
        dwi: distributions::image(&grid),
        gradients: None,
        gradient_files: Vec::new(),
    };
    window.act(Action::Event(opened_event(1, opened_file(FILE, loaded))));
    let document = &window.state.document;
    let mut layers = document.layers.iter();
    let layer = layers.find(|l| document.path(l) == Some(FILE.as_ref()));
    layer.expect("a layer").id
}

fn read(layer: LayerId, layout: Option<OdfLayout>) -> Action {
    Action::Tensors(TensorAction::ReadDistributions { layer, layout })
}

fn choose(source: FodSource) -> Action {
    Action::Tensors(TensorAction::UseDistributions(source))
}

fn job<J: Job + Clone>(effects: &[Effect]) -> Option<J> {
    effects.iter().find_map(|e| e.job::<J>()).cloned()
}

fn field(state: &State) -> Option<&OdfField> {
    state.document.distributions.field()
}

fn used() {
    let mut window = Window::fitted();
    let layer = open(&mut window);
    window.act(read(layer, Some(OdfLayout::MRTRIX)));
    let state = &mut window.state;
    let messages = &state.runtime.notices.messages;
    let result = state.document.distributions.result.clone();
    let result = result.unwrap_or_else(|| panic!("{messages:?}"));
    assert!(result.key.is_read());
    assert_eq!(result.fods.output.order.order, 4);
    let voxels = result.fods.mask.count();
    assert!(0 < voxels && voxels < result.fods.mask.grid.voxel_count());
    // The lobes lie along y.
    let peaks = result.fods.peaks.as_ref().expect("peaks");
    let middle = peaks.grid.index([12, 12, 12]);
    let first = peaks.peaks(middle).next().expect("a peak");
    assert!(first.normalize().y.abs() > 0.999, "{first}");
    // Glyphs, maps, their commands and methods are those of the file.
    let glyphs = state.document.glyph_content(GlyphContent::Distributions);
    assert_eq!(glyphs, Some(GlyphContent::Distributions));
    for name in ["DEC of fibres", "AFD", "Complexity"] {
        let map = state.document.layer_named(name).expect("a map");
        let command = state.document.command_line(map).text();
        let expected = format!("arcuate fod {FILE} --odf-basis mrtrix --odf-frame world --peaks 3");
        assert!(command.starts_with(&expected), "{command}");
        assert!(!command.contains("--order"), "{command}");
    }
    let layer = state.document.layer(layer).expect("the image");
    let command = state.document.command_line(layer).text();
    let expected = format!("arcuate info {FILE} --odf-basis mrtrix --odf-frame world");
    assert_eq!(command, expected);
    let text = methods(state);
    assert!(text.contains("of order 4 were read in"), "{text}");
    assert!(!text.contains("Multi-tissue"), "{text}");
    // The export needs no gradients.
    let path = PathBuf::from("/data/out/fod.json");
    let action = Action::Tensors(TensorAction::SaveFods(path));
    let save: SaveFods = job(&update(state, action)).expect("an export");
    assert!(save.gradients.is_none());
    assert!(
        save.recipe
            .command("/data/out".as_ref())
            .to_string()
            .contains(FILE)
    );
}

/// Without a reading, its use asks for one.
fn compared() {
    let mut window = Window::fitted();
    let layer = open(&mut window);
    let state = &mut window.state;
    let effects = update(state, choose(FodSource::Image(layer)));
    let compare: CompareDistributions = job(&effects).expect("a comparison");
    let volume = state.document.layer(layer).and_then(|l| l.content.volume());
    assert_eq!(Some(compare.volume.id()), volume.map(|v| v.id()));
    assert!(!state.document.distributions.settings.requested);
    let effects = update(state, read(layer, Some(OdfLayout::MRTRIX)));
    assert!(job::<ReadFods>(&effects).is_some());
    // Now it is known.
    let effects = update(state, choose(FodSource::Image(layer)));
    assert!(job::<CompareDistributions>(&effects).is_none());
}

fn undone() {
    let mut window = Window::fitted();
    let layer = open(&mut window);
    window.act(read(layer, Some(OdfLayout::MRTRIX)));
    let first = field(&window.state).map(OdfField::id);
    assert!(first.is_some());
    window.act(Action::Undo);
    assert!(field(&window.state).is_none());
    assert!(window.state.document.fod_image(layer).is_none());
    assert!(window.state.document.layer_named("AFD").is_none());
    let before = window.submitted.len();
    window.act(Action::Redo);
    assert_eq!(field(&window.state).map(OdfField::id), first);
    assert_eq!(window.submitted.len(), before, "nothing is computed again");
}

/// Both are kept: switching computes nothing.
fn back() {
    let mut window = Window::fitted();
    let layer = open(&mut window);
    let estimation = distributions::requested(&mut window.state, |_| {});
    let round = distributions::round(&estimation.dwi.grid, &estimation.gradients);
    update(
        &mut window.state,
        distributions::estimated(estimation, round),
    );
    let estimated = field(&window.state).map(OdfField::id);
    assert!(estimated.is_some());
    let map = window.state.document.layer_named("AFD").map(|l| l.id);
    window.act(read(layer, Some(OdfLayout::MRTRIX)));
    let of_file = field(&window.state).map(OdfField::id);
    assert!(of_file.is_some() && of_file != estimated);
    let before = window.submitted.len();
    for (source, expected) in [
        (FodSource::Scan, estimated),
        (FodSource::Image(layer), of_file),
        (FodSource::Scan, estimated),
    ] {
        window.act(choose(source));
        assert_eq!(field(&window.state).map(OdfField::id), expected);
        // The maps keep their layers.
        let now = window.state.document.layer_named("AFD").expect("a map");
        assert_eq!(Some(now.id), map);
        let command = window.state.document.command_line(now).text();
        assert_eq!(
            command.contains(FILE),
            source != FodSource::Scan,
            "{command}"
        );
    }
    assert_eq!(window.submitted.len(), before);
}

fn bases() {
    let mut window = Window::fitted();
    let layer = open(&mut window);
    window.act(read(layer, Some(OdfLayout::MRTRIX)));
    let first = field(&window.state).expect("a field").clone();
    let legacy = OdfLayout {
        basis: Basis::DipyLegacy,
        frame: TensorFrame::World,
    };
    window.act(read(layer, Some(legacy)));
    let second = field(&window.state).expect("a field");
    assert_ne!(first.id(), second.id());
    assert_ne!(first.coefficients, second.coefficients);
    let document = &window.state.document;
    assert_eq!(document.fod_image(layer).map(|(_, _, l)| l), Some(legacy));
    let map = document.layer_named("AFD").expect("a map");
    let command = document.command_line(map).text();
    assert!(
        command.contains("--odf-basis descoteaux07-legacy"),
        "{command}"
    );
    assert_eq!(
        document.layers.iter().filter(|l| l.name == "AFD").count(),
        1
    );
}

fn plain() {
    let mut window = Window::fitted();
    let layer = open(&mut window);
    window.act(read(layer, Some(OdfLayout::MRTRIX)));
    window.act(read(layer, None));
    let document = &window.state.document;
    assert!(document.distributions.result.is_none());
    assert_eq!(document.distributions.settings, FodSettings::default());
    assert!(document.layer_named("AFD").is_none());
    let origin = document.layer(layer).map(|l| document.origin(l));
    assert!(matches!(origin, Some(Origin::File { reading, .. }) if reading.is_empty()));
    window.act(Action::Undo);
    assert!(field(&window.state).is_some());
}

/// An image of distributions needs no scan.
fn alone() {
    let mut window = Window::new();
    let layer = open(&mut window);
    assert!(window.state.document.scan().is_none());
    window.act(read(layer, Some(OdfLayout::MRTRIX)));
    assert!(field(&window.state).is_some());
    let glyphs = window.state.document.glyph_content(GlyphContent::Tensors);
    assert_eq!(glyphs, Some(GlyphContent::Distributions));
    // Without tensors they are chosen as the model when they are read; after that the user's choice stays.
    let model = |window: &Window| window.state.document.track.model;
    assert_eq!(model(&window), Model::Distributions);
    window.act(Action::Track(TrackAction::SetModel(Model::Tensors)));
    assert_eq!(model(&window), Model::Tensors);
    window.act(read(layer, None));
    assert!(field(&window.state).is_none());
    window.act(read(layer, Some(OdfLayout::MRTRIX)));
    assert_eq!(model(&window), Model::Distributions);
}

fn deleted() {
    let mut window = Window::fitted();
    let layer = open(&mut window);
    window.act(read(layer, Some(OdfLayout::MRTRIX)));
    window.act(Action::Layer(LayerAction::Delete(layer)));
    assert!(window.state.document.requested_fods().is_none());
    assert!(window.state.runtime.tensors.fods.running().is_none());
    window.act(Action::Undo);
    assert!(window.state.document.requested_fods().is_some());
    assert!(field(&window.state).is_some());
}

/// The voxels become a label map on request; another estimation gives it new voxels, and one with given functions has none.
fn response_voxels() {
    const NAME: &str = "Response voxels";
    let mut window = Window::fitted();
    let estimate = |window: &mut Window, voxels: &[usize], order: usize| {
        let change = |settings: &mut FodSettings| settings.params.order = Some(order);
        let estimation = distributions::requested(&mut window.state, change);
        let grid = estimation.dwi.grid.clone();
        let mut fods = distributions::round(&grid, &estimation.gradients);
        let mut inside = vec![0u8; grid.voxel_count()];
        for voxel in voxels {
            inside[*voxel] = 1;
        }
        let (tissue, response) = fods.responses[0].clone();
        assert_eq!(tissue, Tissue::WhiteMatter);
        if !voxels.is_empty() {
            fods.measured = vec![TissueResponse {
                tissue,
                response,
                voxels: Mask::new(grid, inside),
                candidates: Some(9),
            }];
        }
        update(
            &mut window.state,
            distributions::estimated(estimation, fods),
        );
    };
    let shown = |window: &Window| {
        let layer = window.state.document.layer_named(NAME)?;
        let volume = layer.content.volume().expect("an image");
        let voxels = volume.values.iter().enumerate();
        let voxels: Vec<usize> = voxels.filter(|(_, v)| **v == 1.0).map(|(i, _)| i).collect();
        Some((layer.id, layer.display.visible, voxels))
    };
    estimate(&mut window, &[5, 7], 4);
    assert_eq!(shown(&window), None);
    let show = Action::Tensors(TensorAction::ShowResponseVoxels);
    window.act(show);
    let (id, visible, voxels) = shown(&window).expect("a layer");
    assert!(visible);
    assert_eq!(voxels, [5, 7]);
    let mut tissues = window.state.document.tissue_layers();
    assert!(tissues.all(|layer| layer.id != id), "no map of tissues");
    drop(tissues);
    // On grey FA, with the colours and names of the tissues.
    let is_visible = |name: &str| {
        let layer = window.state.document.layer_named(name).expect(name);
        layer.display.visible
    };
    assert!(is_visible("FA") && !is_visible("DEC"));
    let Some(Legend::Classes(tissues)) = legend::of_slices(&window.state) else {
        panic!("a legend of tissues");
    };
    let white = (
        "White matter".into(),
        tissue_rgb(Tissue::WhiteMatter),
        Some(MarkShape::Square),
    );
    assert_eq!(tissues, [white]);
    let layer = window.state.document.layer(id).expect("a layer").clone();
    let labels = layer.content.volume().and_then(|v| v.labels.clone());
    let labels = labels.expect("a label map");
    assert_eq!(labels.name(1), Some("White matter"));
    assert_eq!(labels.colour(1), tissue_rgb(Tissue::WhiteMatter));
    let command = window.state.document.command_line(&layer).text();
    assert!(command.contains(" --maps response_voxels "), "{command}");
    window.act(Action::Undo);
    assert_eq!(shown(&window), None);
    window.act(Action::Redo);
    estimate(&mut window, &[6], 2);
    assert_eq!(shown(&window), Some((id, true, vec![6])));
    estimate(&mut window, &[], 6);
    assert_eq!(shown(&window), None);
}

fn first_peak(window: &Window) -> DVec3 {
    let result = window.state.document.distributions.result.as_ref();
    let peaks = result.and_then(|r| r.fods.peaks.as_ref()).expect("peaks");
    let first = peaks.peaks(peaks.grid.index([12, 12, 12])).next();
    first.expect("a peak").normalize()
}

/// An image that is moved turns its distributions, whatever the axes of its coefficients, and undo turns them back.
fn moved() {
    let mut window = Window::fitted();
    let layer = open(&mut window);
    let shift = |by: DAffine3| {
        Action::Alignment(AlignmentAction::Shift {
            layer,
            transform: by,
            phase: Phase::Done,
        })
    };
    let turn = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -2.0).normalize(), 0.7);
    let by = DAffine3::from_rotation_translation(turn, DVec3::new(3.0, -1.0, 2.0));
    let plain = window
        .state
        .document
        .layer(layer)
        .expect("the image")
        .clone();
    window.act(shift(by));
    let document = &window.state.document;
    assert!(
        document.moved(layer).is_none(),
        "images of several volumes may be scans"
    );
    assert!(std::sync::Arc::ptr_eq(
        &plain,
        document.layer(layer).expect("the image")
    ));
    for frame in [TensorFrame::World, TensorFrame::Voxel] {
        let basis = OdfLayout::MRTRIX.basis;
        window.act(read(layer, Some(OdfLayout { basis, frame })));
        let (before, image) = (
            first_peak(&window),
            field(&window.state).expect("read").clone(),
        );
        window.act(shift(by));
        let document = &window.state.document;
        assert_eq!(document.moved_by(layer), by);
        let now = field(&window.state).expect("read");
        let at = |f: &OdfField| f.grid.world(DVec3::new(12.0, 12.0, 12.0));
        assert!(at(now).distance(by.transform_point3(at(&image))) < 1e-9);
        let along = first_peak(&window).dot(turn * before).abs();
        assert!(along > 0.9999, "{frame:?}: {along}");
        assert!(before.dot(turn * before).abs() < 0.95, "the turn is seen");
        let map = document.layer_named("AFD").expect("a map");
        let command = document.command_line(map).text();
        assert!(command.contains(" --odf-affine matrix:"), "{command}");
        assert!(document.fod_image(layer).is_some());
        // Another reading keeps the position.
        if frame == TensorFrame::World {
            let basis = Basis::Dipy;
            window.act(read(layer, Some(OdfLayout { basis, frame })));
            assert_eq!(window.state.document.moved_by(layer), by);
            window.act(Action::Undo);
        }
        // Without distributions the image returns to the position of its file.
        window.act(read(layer, None));
        let document = &window.state.document;
        let image = document.layer(layer).expect("the image");
        assert!(document.moved(layer).is_none() && image.unmoved.is_none());
        let grid = |layer: &Layer| layer.content.volume().expect("an image").grid.clone();
        assert!(grid(image).matches(&grid(&plain)));
        window.act(Action::Undo);
        assert_eq!(window.state.document.moved_by(layer), by);
        window.act(Action::Undo);
        assert!(first_peak(&window).dot(before).abs() > 0.9999);
        window.act(Action::Redo);
        window.act(shift(DAffine3::IDENTITY));
        assert!(window.state.document.moved(layer).is_none());
        assert!(first_peak(&window).dot(before).abs() > 0.9999);
    }
}
