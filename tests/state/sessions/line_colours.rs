//! The colours of streamlines in a session.

use crate::support::session_window::{Window, layer};
use crate::support::{lines, test};
use arcuate::compute::Control;
use arcuate::data::appearance::ColourMap;
use arcuate::data::{Grid, Volume};
use arcuate::io::{nifti, trx};
use arcuate::scene;
use arcuate::scene::draw_list::LineColour;
use arcuate::solvers::tractogram::line_values::LineStatistic;
use arcuate::state::core::display::{LineColouring, LineScale};
use arcuate::state::{Action, Display, FilesAction, LayerAction, Phase};
use glam::{DVec3, dvec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::colours of streamlines come back", round_trip),
        test(
            "sessions::a display without a scale is that of earlier versions",
            earlier,
        ),
    ]
}

fn round_trip() {
    let folder = tempfile::tempdir().expect("a folder");
    let grid = Grid::axis_aligned([12; 3], DVec3::splat(2.0), DVec3::ZERO).expect("a grid");
    let values: Vec<f32> = (0..grid.voxel_count()).map(|i| i as f32).collect();
    let volume = Volume::scalar(Arc::new(grid), values);
    let image = folder.path().join("numbers.nii.gz");
    nifti::save_volume(&image, &volume, "made", &Control::new()).expect("saved");
    let line = |x: f64| (1..9).map(|y| dvec3(x, 2.0 * f64::from(y), 5.0)).collect();
    let tracks = folder.path().join("tracks.trx");
    trx::save(&tracks, &lines(&[line(3.0), line(9.0)]), &Control::new()).expect("saved");
    let mut window = Window::new();
    window.act(Action::Files(FilesAction::Open(vec![image, tracks])));
    let (image, tracks) = (layer(&window, "numbers"), layer(&window, "tracks"));
    let display = Display {
        visible: true,
        line_colouring: LineColouring::Image(image),
        line_scale: LineScale {
            statistic: LineStatistic::Maximum,
            colour_map: ColourMap::Cividis,
            range: Some((10.0, 500.0)),
            logarithmic: true,
            limits: Some((0.0, 900.0)),
        },
        ..window
            .state
            .document
            .layer(tracks)
            .expect("a layer")
            .display
            .clone()
    };
    let phase = Phase::Done;
    window.act(Action::Layer(LayerAction::SetDisplay {
        layer: tracks,
        display: display.clone(),
        phase,
    }));
    let path = folder.path().join("colours.arcuate");
    window.save(&path);
    let reopened = Window::opened(&path);
    let id = layer(&reopened, "tracks");
    let known = &reopened.state.document.layer(id).expect("a layer").display;
    assert_eq!(*known, display);
    // The values are computed again.
    let drawn = |window: &Window| {
        let all = scene::tractograms(&window.state);
        let (lines, display) = all.last().expect("streamlines");
        let LineColour::Scalar { name, .. } = scene::line_colour(lines, display) else {
            panic!("a scale");
        };
        lines.per_streamline[&name].to_vec()
    };
    assert_eq!(drawn(&reopened), drawn(&window));
}

/// Sessions of earlier versions have no scale, and a default scale is not written.
fn earlier() {
    let display = arcuate::state::core::display::line_display();
    let text = serde_json::to_string(&display).expect("text");
    assert!(!text.contains("line_scale"), "{text}");
    let read: Display = serde_json::from_str(&text).expect("a display");
    assert_eq!(read, display);
    let by = |text: &str| serde_json::from_str::<LineColouring>(text).expect("a colouring");
    assert_eq!(by("\"direction\""), LineColouring::Direction);
    assert_eq!(
        by("{\"value\":\"fa\"}"),
        LineColouring::Value("fa".to_owned())
    );
}
