//! The table of streamlines: what a click takes is what the row shows, however the rows are sorted.

use super::window;
use crate::support::{Random, Window as Worker, test};
use arcuate::data::Tractogram;
use arcuate::io::trx;
use arcuate::state::bundle::{Column, Drawer, TableView};
use arcuate::state::{Action, BundleAction};
use egui::pos2;
use egui_kittest::kittest::Queryable as _;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test("ui::a click takes the row's streamline", clicks)]
}

fn clicks() {
    const COUNT: usize = 40;
    const ROW: f32 = 22.0;
    let mut random = Random::fresh("table");
    let points: Vec<[f32; 3]> = (0..2 * COUNT)
        .map(|i| [(i % 2) as f32 * 9.0, i as f32, 0.0])
        .collect();
    let offsets: Vec<u64> = (0..=COUNT as u64).map(|i| 2 * i).collect();
    let values: Vec<f32> = (0..COUNT).map(|_| random.normal() as f32).collect();
    let lines = Tractogram::new(points, offsets).with_per_streamline("worth", values.clone());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.trx");
    trx::save(&path, &lines, &arcuate::compute::Control::new()).unwrap();
    for descending in [false, true] {
        let mut worker = Worker::new();
        worker.act(Action::Open(vec![path.clone()]));
        let layer = worker.state.document.layers[0].id;
        worker.act(Action::SelectLayer(Some(layer)));
        worker.act(Action::Bundle(BundleAction::Open(Some(Drawer::Table))));
        worker.act(Action::Bundle(BundleAction::Sort(TableView {
            by: Some(Column::Value("worth".to_owned())),
            descending,
        })));
        // Sorted here, from what was written.
        let mut expected: Vec<usize> = (0..COUNT).collect();
        expected.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        if descending {
            expected.reverse();
        }
        let mut window = window(worker.state.clone(), [1280.0, 800.0]);
        let label = format!("Streamlines, {COUNT} rows");
        let body = window.get_by_label(&label).rect();
        for row in [0, 2, 3] {
            let at = pos2(body.left() + 200.0, body.top() + (row as f32 + 0.5) * ROW);
            window.drag_at(at);
            window.run();
            window.drop_at(at);
            window.run();
            let chosen = window
                .state()
                .state
                .chosen()
                .expect("one is chosen")
                .clone();
            let marked: Vec<usize> = (0..COUNT).filter(|i| chosen.marks.0[*i]).collect();
            assert_eq!(
                marked,
                [expected[row]],
                "row {row}, descending: {descending}"
            );
        }
    }
}
