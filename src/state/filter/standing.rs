//! Whether the shown weights are those of the current settings.

use crate::solvers::commit::Params;
use crate::state::core::layer::LayerId;
use crate::state::core::live::{Detail, Relation, Standing};
use crate::state::filter::FitInputs;
use crate::state::filter::update::{fit_inputs, key};
use crate::state::{State, Task};

impl State {
    /// Standing of the weights of the filtered streamlines; `None` without weights.
    pub fn weights_standing(&self) -> Option<Standing> {
        self.weights_relation().map(Relation::standing)
    }

    /// Whether the weights belong to other streamlines or settings than the current ones.
    pub fn weights_are_stale(&self) -> bool {
        self.weights_relation().is_some_and(Relation::is_stale)
    }

    /// Whether the filtered streamlines have changed since they were fitted.
    pub fn has_weights_of_other_streamlines(&self) -> bool {
        let Some((layer, lines)) = self.document.filtered() else {
            return false;
        };
        let weights = self.document.weights_of_layer(layer);
        weights.is_some_and(|(weights, _)| weights.weighted != lines.id())
    }

    /// How these weights relate to the document and the running fit.
    fn weights_relation(&self) -> Option<Relation> {
        let (layer, _) = self.document.filtered()?;
        let (weights, _) = self.document.weights_of_layer(layer)?;
        let fitted = self.document.fit_inputs(weights);
        let requested = key(self).and_then(|key| fit_inputs(self, &key));
        // Weights of a file, and those whose scan is gone, have nothing to be compared with.
        let differs = fitted
            .zip(requested)
            .is_some_and(|(fitted, requested)| !same_fit(&fitted, &requested));
        Some(Relation {
            detail: Detail::Full,
            is_current: !differs && !self.has_weights_of_other_streamlines(),
            lacks_step: false,
            is_updating: self.is_filtering(),
            may_lag: false,
            exceeds_lag: false,
        })
    }

    /// The layer whose weights Filter shows although they are stale: they are dimmed. The other tasks show them as a
    /// value of the layer, whatever the settings of the next fit.
    pub fn layer_of_stale_weights(&self) -> Option<LayerId> {
        let is_shown = self.view.task == Task::Filter && self.weights_are_stale();
        let filtered = self.document.filtered().filter(|_| is_shown);
        filtered.map(|(layer, _)| layer.id)
    }
}

/// Whether two fits solve the same problem: the stopping rule is not part of it.
fn same_fit(a: &FitInputs, b: &FitInputs) -> bool {
    let until_same_end = FitInputs {
        params: Params {
            stop: b.params.stop,
            ..a.params.clone()
        },
        ..a.clone()
    };
    until_same_end == *b
}
