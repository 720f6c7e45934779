//! Parameters of every result as rows of tables, and the commands that recompute the results.

use crate::parameters::Parameters;
use crate::solvers::geodesic::{Cut, Rays, TENSORS_ONLY};
use crate::state::State;
use crate::state::core::layer::Layer;
use crate::state::origin::Origin;
use crate::state::origin::commands::live_curve_recipe;
use crate::state::pathways::PathwayParams;
use crate::state::pathways::update::command_line as pathway_command;
use crate::state::track::types::CurveParams;

/// A row for each parameter that has an effect, except those with these keys.
fn rows<P: Parameters>(params: &P, except: &[&str]) -> Vec<Vec<String>> {
    let used = P::TABLE
        .iter()
        .filter(|row| !except.contains(&row.key))
        .filter(|row| (row.unused)(params).is_none());
    let defaults = P::defaults();
    used.map(|row| {
        let is_default = row.value(params) == row.value(&defaults);
        vec![
            row.label.to_owned(),
            row.shown_value(params),
            if is_default { "yes" } else { "no" }.to_owned(),
        ]
    })
    .collect()
}

/// The parameters of streamlines or rays.
fn curve_rows(curves: &CurveParams, cut: Cut) -> Vec<Vec<String>> {
    match curves {
        CurveParams::Streamlines(params) => rows(params, &[]),
        CurveParams::Rays(metric, params) => {
            let (metric, params) = (*metric, params.clone());
            let rays = Rays {
                metric,
                params,
                cut,
            };
            let mut all = rows(&rays, &[]);
            all.extend(rows(&rays.params.curves, &[]));
            all
        }
        CurveParams::OdfStreamlines(params) => rows(params, &[]),
        CurveParams::OdfRays(speed, params) => {
            let rays = Rays {
                params: params.clone(),
                cut,
                ..Rays::defaults()
            };
            let mut all = rows(speed, &[]);
            all.extend(rows(&rays, &TENSORS_ONLY));
            all.extend(rows(&rays.params.curves, &TENSORS_ONLY));
            all
        }
    }
}

/// A table of parameters.
pub struct ParameterTable {
    /// The result that they belong to.
    pub name: String,
    /// Name, value and whether it is the default.
    pub rows: Vec<Vec<String>>,
}

/// The parameters of the fit, of streamlines and rays, and of pathways.
pub fn parameter_tables(state: &State) -> Vec<ParameterTable> {
    let document = &state.document;
    let mut tables = Vec::new();
    let mut add = |name: &str, rows| {
        let name = name.to_owned();
        tables.push(ParameterTable { name, rows });
    };
    if let Some(tensors) = &document.tensors
        && !document.origins.is_imported(tensors.origin)
    {
        add("Tensor fit", rows(&tensors.key.params, &[]));
    }
    for layer in &document.layers {
        if let Some(recipe) = document.curve_recipe(layer.id) {
            add(&layer.name, curve_rows(&recipe.curves, recipe.cut));
        }
    }
    if let Some(live) = state.final_live() {
        let name = state.document.track.method.live_name();
        let recipe = live_curve_recipe(live);
        add(name, curve_rows(&recipe.curves, recipe.cut));
    }
    let live = state.final_pathway();
    let live = live.map(|result| ("Live pathway".to_owned(), &result.key.params));
    let kept = document.kept_pathways.iter();
    let kept = kept.map(|kept| (format!("Pathway {}", kept.name), &kept.params));
    for (name, params) in live.into_iter().chain(kept) {
        match params {
            PathwayParams::Tensors(params) => add(&name, rows(params, &[])),
            PathwayParams::Distributions(params) => add(&name, rows(params, &[])),
        }
    }
    tables
}

/// The name of each result that was computed here, and its command or the reason why there is none.
pub fn commands(state: &State) -> Vec<(String, String)> {
    let document = &state.document;
    let is_computed = |layer: &Layer| {
        let origin = document.origin(layer);
        !matches!(
            origin,
            Origin::Unknown | Origin::File { .. } | Origin::Phantom { .. }
        )
    };
    let layers = document.layers.iter().filter(|l| is_computed(l));
    let layers = layers.map(|l| (l.name.clone(), document.command_line(l).text()));
    let curves = state.final_live().map(|live| {
        let name = document.track.method.live_name().to_owned();
        (name, document.live_command_line(live).text())
    });
    let live = pathway_command(state, None).map(|line| ("Live pathway".to_owned(), line.text()));
    let kept = document.kept_pathways.iter().filter_map(|kept| {
        let line = pathway_command(state, Some(kept.id))?;
        Some((kept.name.clone(), line.text()))
    });
    layers.chain(curves).chain(live).chain(kept).collect()
}
