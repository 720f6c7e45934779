//! Values of streamlines that stay in their file: the table, colours, and weights of a session.

use super::{Setup, act, reopened};
use crate::support::fields::cube;
use crate::support::session_window::Window;
use arcuate::compute::{Backend, BackendChoice, Control};
use arcuate::data::{Tractogram, Volume};
use arcuate::io::nifti;
use arcuate::solvers::commit;
use arcuate::solvers::commit::model::{Intra, Model};
use arcuate::solvers::tractogram::line_values::{LineStatistic, of_image};
use arcuate::state::core::display::LineColouring;
use arcuate::state::files::jobs::open::StayInFile;
use arcuate::state::filter::FilterAction;
use arcuate::state::streamlines::{
    BottomPanel, COLOUR_VALUES, Column, LineColours, StreamlineRules, TableView, ValueLimits,
};
use arcuate::state::{Action, Camera, LayerAction, LayerId, Phase, StreamlineAction, ViewAction};
use glam::DVec3;
use std::path::PathBuf;
use std::sync::Arc;

impl Setup {
    /// An image of smooth values.
    fn image(&self) -> PathBuf {
        let grid = Arc::new(cube(40, 3.0));
        let value = |i: usize| {
            let [x, y, z] = grid.voxel(i).map(|v| v as f32);
            (0.2 * x).sin() + 0.05 * y + (0.11 * z).cos()
        };
        let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
        let path = self.folder.path().join("smooth.nii.gz");
        let volume = Volume::scalar(grid.clone(), values);
        nifti::save_volume(&path, &volume, "x", &Control::new()).unwrap();
        path
    }

    /// A window with the image, and its layer.
    fn window_with_image(&self, stay: StayInFile) -> (Window, LayerId, LayerId) {
        let (mut window, layer) = self.window(stay);
        window.open(&self.image());
        let image = window.state.document.layer_named("smooth").unwrap().id;
        window.act(Action::Layer(LayerAction::Select(Some(layer))));
        (window, layer, image)
    }
}

/// The table lists the same values in the same order, exports the same file and filters by the mean of an image.
pub fn table() {
    for name in ["a.trx", "a.tck"] {
        let setup = Setup::new(name, 2500);
        let results = [StayInFile::Above(0), StayInFile::Never].map(|stay| {
            let (mut window, layer, image) = setup.window_with_image(stay);
            act(&mut window, StreamlineAction::SetImages(vec![image]));
            act(
                &mut window,
                StreamlineAction::Open(Some(BottomPanel::Table)),
            );
            let by_image = TableView {
                column: Some(Column::Image(image)),
                descending: true,
            };
            act(&mut window, StreamlineAction::Sort(by_image));
            let path = setup.folder.path().join(format!("{stay:?}.csv"));
            act(&mut window, StreamlineAction::SaveTable(path.clone()));
            let all = std::fs::read_to_string(&path).unwrap();
            let rules = StreamlineRules::new(layer).limited(ValueLimits {
                column: Column::Image(image),
                low: Some(1.0),
                high: None,
                counting: Default::default(),
            });
            let phase = Phase::Done;
            act(&mut window, StreamlineAction::SetRules { rules, phase });
            act(&mut window, StreamlineAction::SaveTable(path.clone()));
            let some = std::fs::read_to_string(&path).unwrap();
            let listed = window.state.current_table().expect("a table");
            assert_eq!(listed.count, 2500);
            assert_eq!(listed.in_memory.is_some(), stay == StayInFile::Never);
            let command = arcuate::state::update::panel_command(&window.state, BottomPanel::Table);
            (all, some, command.expect("a command").text())
        });
        let [from_file, in_memory] = &results;
        assert_eq!(from_file.0.lines().count(), 2501, "{name}");
        let rows = from_file.1.lines().count() - 1;
        assert!(rows > 100 && rows < 2400, "{name}: {rows}");
        assert!(from_file.0.starts_with("streamline,length"), "{name}");
        assert!(from_file == in_memory, "{name}: tables and commands");
    }
}

/// The colours of the drawn streamlines are computed from all of their points.
pub fn colours() {
    let setup = Setup::new("a.trx", 6000);
    let (mut window, layer, image) = setup.window_with_image(StayInFile::Above(0));
    let colour = |window: &mut Window, colouring: LineColouring, statistic: LineStatistic| {
        let own = window.state.document.layer(layer).unwrap().clone();
        let mut display = own.display.clone();
        display.line_colouring = colouring;
        display.line_scale.statistic = statistic;
        let phase = Phase::Done;
        window.act(Action::Layer(LayerAction::SetDisplay {
            layer,
            display,
            phase,
        }));
        let own = window.state.document.layer(layer).unwrap().clone();
        let colours = window.state.line_colours(&own).expect("colours").clone();
        let drawn = window.state.drawn_streamlines(&own).unwrap();
        assert_eq!(drawn.id(), colours.tractogram.id());
        (
            colours,
            window.state.picture_in_place(&own).unwrap().clone(),
        )
    };
    let computed = |colours: &LineColours| {
        let lines = &colours.tractogram;
        let is_own = |name: &&String| name.starts_with(COLOUR_VALUES);
        let per_point = lines.per_point.keys().find(is_own);
        let per_point = per_point.map(|name| lines.per_point[name].to_vec());
        let per_streamline = lines.per_streamline.keys().find(is_own);
        let per_streamline = per_streamline.map(|name| lines.per_streamline[name].to_vec());
        (per_point, per_streamline)
    };
    let volume = window.state.document.layer(image).unwrap().clone();
    let volume = volume.content.volume().unwrap().clone();
    // At each drawn point.
    let by_image = LineColouring::Image(image);
    let (colours, sample) = colour(&mut window, by_image.clone(), LineStatistic::EachPoint);
    let (per_point, _) = computed(&colours);
    let per_point = per_point.expect("values of points");
    assert_eq!(per_point.len(), sample.tractogram.points.len());
    let backend = Backend::choose(&BackendChoice::cpu(Some(2))).unwrap();
    let reference = |lines: &Tractogram, statistic: LineStatistic| {
        let control = Control::new();
        let values = of_image(lines, (&volume, 0), statistic, &backend, &control).unwrap();
        values.values().to_vec()
    };
    let same = |a: f32, b: f32| a == b || a.is_nan() && b.is_nan();
    let expected = reference(&sample.tractogram, LineStatistic::EachPoint);
    assert!(per_point.iter().zip(expected).all(|(a, b)| same(*a, b)));
    // Means over all points of the file, also those that are not drawn.
    assert!(sample.tractogram.points.len() < setup.lines.points.len());
    let (colours, sample) = colour(&mut window, by_image, LineStatistic::Mean);
    let (_, means) = computed(&colours);
    let means = means.expect("a value for each streamline");
    let expected = reference(&setup.lines, LineStatistic::Mean);
    for (number, mean) in sample.numbers.iter().zip(&means) {
        assert!(same(*mean, expected[*number as usize]), "{mean}");
    }
    // Values of the file, and of a file beside it.
    let value = LineColouring::Value("own weight".to_owned());
    let (colours, sample) = colour(&mut window, value, LineStatistic::EachPoint);
    let (_, values) = computed(&colours);
    for (number, value) in sample.numbers.iter().zip(values.expect("values")) {
        assert_eq!(value, (*number % 7) as f32);
    }
    let text: String = (0..6000).map(|i| format!("{}\n", 3 * i)).collect();
    let path = setup.folder.path().join("w.txt");
    std::fs::write(&path, text).unwrap();
    let file = LineColouring::ValuesFile(path);
    let (colours, sample) = colour(&mut window, file, LineStatistic::EachPoint);
    let (_, values) = computed(&colours);
    for (number, value) in sample.numbers.iter().zip(values.expect("values")) {
        assert_eq!(value, (3 * *number) as f32);
    }
    // The 3-D view of a part has colours of its own.
    let camera = Camera::around(DVec3::new(10.0, 0.0, 5.0), 12.0);
    let phase = Phase::Done;
    window.act(Action::View(ViewAction::SetCamera { camera, phase }));
    let own = window.state.document.layer(layer).unwrap().clone();
    let seen = window.state.near_streamlines(&own).expect("a picture");
    let is_own = |name: &&String| name.starts_with(COLOUR_VALUES);
    assert!(seen.per_streamline.keys().any(|name| is_own(&name)));
}

/// Weights of a session belong to its streamlines, in memory and in a file.
pub fn weights() {
    let setup = Setup::new("a.trx", 400);
    let (mut window, layer) = setup.window(StayInFile::Never);
    let image = setup.folder.path().join("image.nii.gz");
    let grid = Arc::new(cube(40, 3.0));
    let values = vec![1.0; grid.voxel_count()];
    nifti::save_volume(&image, &Volume::scalar(grid, values), "x", &Control::new()).unwrap();
    window.open(&image);
    window.act(Action::Filter(FilterAction::Params {
        params: Some(commit::Params {
            model: Model {
                intra: Intra::Density,
                extra: Vec::new(),
                free: Vec::new(),
            },
            ..commit::Params::defaults_for(1)
        }),
        phase: Phase::Done,
    }));
    window.act(Action::Filter(FilterAction::Run));
    let own = window.state.document.layer(layer).unwrap().clone();
    let fitted = window.state.document.weights_of_layer(&own);
    let fitted = fitted.unwrap_or_else(|| panic!("{}", window.messages()));
    let fitted = fitted.1.to_vec();
    let path = setup.folder.path().join("s.arcuate");
    window.save(&path);
    for stay in [StayInFile::Above(0), StayInFile::Never] {
        let restored = reopened(&path, stay);
        let own = restored.state.document.layer(layer).unwrap();
        let weights = restored.state.document.weights_of_layer(own);
        assert_eq!(weights.expect("weights").1.to_vec(), fitted, "{stay:?}");
        assert!(!restored.state.is_dirty(), "{}", restored.messages());
    }
}
