//! Agreement of a pathway with the current streamlines.

use crate::data::Tractogram;
use crate::solvers::compare::PathwayAgreement;
use crate::state::pathways::PathwayResult;
use crate::state::pathways::update::chosen_pathway;
use crate::state::streamlines::SameArc;
use crate::state::streamlines::jobs::CountedStreamlines;
use crate::state::streamlines::jobs::agreement::{CompareStreamlines, ComparedMask};
use crate::state::streamlines::runtime::AgreementKey;
use crate::state::{Effect, State};
use std::sync::Arc;

/// A pathway and the streamlines that it is compared with.
struct Compared {
    pathway: Arc<PathwayResult>,
    epsilon: f64,
    tractogram: Tractogram,
    marks: Option<SameArc<bool>>,
}

impl Compared {
    fn new(state: &State) -> Option<Self> {
        let (pathway, epsilon, _) = chosen_pathway(state, state.runtime.pathways.selected)?;
        let (layer, tractogram) = state.current_streamlines()?;
        Some(Self {
            pathway,
            epsilon,
            tractogram: tractogram.clone(),
            marks: state.counted_marks(layer.id),
        })
    }

    fn key(&self) -> AgreementKey {
        AgreementKey {
            tractogram: self.tractogram.id(),
            marks: self.marks.clone(),
            pathway: self.pathway.excess.id(),
            epsilon: self.epsilon,
        }
    }
}

/// Does nothing without a pathway or without streamlines.
pub fn request(state: &State, effects: &mut Vec<Effect>) {
    let Some(compared) = Compared::new(state) else {
        return;
    };
    effects.push(Effect::submit(CompareStreamlines {
        key: Some(compared.key()),
        pathway: ComparedMask::Pathway(compared.pathway, compared.epsilon),
        among: CountedStreamlines {
            tractogram: compared.tractogram,
            marks: compared.marks.map(|marks| marks.0),
        },
    }));
}

impl State {
    /// How well the selected pathway, else the live one, and the current streamlines agree; `None` unless they were
    /// compared as they are.
    pub fn pathway_agreement(&self) -> Option<&PathwayAgreement> {
        let (key, agreement) = self.runtime.streamlines.agreement.as_ref()?;
        (Compared::new(self)?.key() == *key).then_some(agreement)
    }
}
