//! The pages of the guide in the window.

use super::{small_scan, window};
use crate::support::test;
use arcuate::guide::PAGES;
use egui::Key;
use egui_kittest::kittest::Queryable as _;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test("ui::no page of the guide is cut", whole)]
}

/// Text that is longer than the page wraps: cells of tables do not, so wide tables are lists.
fn whole() {
    let mut window = window(small_scan(), [1280.0, 800.0]);
    window.key_press(Key::F1);
    window.run();
    for page in PAGES {
        // The row of the list: a heading of the page and a task may have the same name.
        let rows = window.query_all_by_label(page.title());
        let rows = rows.filter(|row| row.rect().top() > 80.0);
        let row = rows.min_by(|a, b| a.rect().left().total_cmp(&b.rect().left()));
        row.expect("a row").click();
        window.run();
        let shapes = window.output().shapes.iter();
        let cut = shapes.filter_map(|clipped| match &clipped.shape {
            egui::Shape::Text(text) => {
                let place = text.visual_bounding_rect();
                let is_cut = clipped.clip_rect.intersects(place)
                    && place.right() > clipped.clip_rect.right() + 1.0;
                is_cut.then(|| text.galley.text().to_owned())
            }
            _ => None,
        });
        let cut: Vec<String> = cut.collect();
        assert!(cut.is_empty(), "{}: {cut:?}", page.title());
    }
}
