//! Pathways: cost, length, volume and the weakest stretch of each.

use super::{Report, fixed};
use crate::io::html::Column;
use crate::state::pathways::PathwayResult;

fn row(name: &str, result: &PathwayResult, epsilon: f64) -> Vec<String> {
    let weakest = result.weakest.as_ref().map(|weak| {
        let [x, y, z] = weak.centre.to_array().map(|mm| fixed(mm, 1));
        let rate = fixed(weak.cost_per_mm, 4);
        let times = fixed(weak.times_mean(), 2);
        format!("{rate} per mm around {x}, {y}, {z} mm, {times} × the mean")
    });
    vec![
        name.to_owned(),
        fixed(result.pathway.min_cost, 4),
        fixed(result.path.total_mm(), 1),
        fixed(result.path.mean_cost_per_mm(), 4),
        fixed(result.volume_ml(epsilon), 2),
        fixed(epsilon, 3),
        result.mean_fa.map_or("–".to_owned(), |fa| fixed(fa, 3)),
        weakest.unwrap_or_else(|| "–".to_owned()),
    ]
}

impl Report<'_> {
    /// The kept pathways, and the live one if it is final.
    pub(super) fn pathways(&mut self) {
        let document = &self.state.document;
        let live = self.state.final_pathway();
        let kept = &document.kept_pathways;
        if live.is_none() && kept.is_empty() {
            return;
        }
        self.page.heading(2, "Pathways");
        let mut rows: Vec<Vec<String>> = Vec::new();
        rows.extend(live.map(|result| row("Live", result, document.pathways.epsilon)));
        let mut unsolved = Vec::new();
        for kept in kept {
            match &kept.result {
                Some(result) => rows.push(row(&kept.name, result, kept.epsilon)),
                None => unsolved.push(format!(
                    "“{}” is not solved: its costs are not in memory.",
                    kept.name
                )),
            }
        }
        let columns = [
            Column::text("Pathway"),
            Column::number("Cost E*"),
            Column::number("Length, mm"),
            Column::number("Cost per mm"),
            Column::number("Volume, ml"),
            Column::number("Width ε"),
            Column::number("Mean FA"),
            Column::text("Weakest stretch"),
        ];
        if !rows.is_empty() {
            let caption = "Least cost between the ends; length, cost per mm and weakest stretch of the cheapest path; \
                           volume of the pathway";
            self.page.table(caption, &columns, &rows);
        }
        if !unsolved.is_empty() {
            self.page.list(&unsolved);
        }
    }
}
