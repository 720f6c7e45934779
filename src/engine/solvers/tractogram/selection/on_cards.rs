//! Results of the rules that cards test on streamlines whose points they have.

use super::meeting::RegionsByRole;
use super::values::{copy_for_value, value, value_on_cards};
use super::{RejectReason, SelectionRules};
use crate::compute::{Backend, Control};
use crate::data::Tractogram;
use crate::data::tractogram::LENGTH;
use crate::solvers::Error;
use crate::solvers::tractogram::cuda::OnCards;

/// Values and reasons that cards computed from the points for the rules, so that the host does not need the points.
pub(super) struct KnownByCards {
    /// The value of each limit for all streamlines; `None` for values that the host has.
    values: Vec<Option<Vec<f32>>>,
    /// The reason why each image, and after them the regions, reject each streamline.
    reasons: Vec<Vec<Option<RejectReason>>>,
}

impl KnownByCards {
    /// `None` if the rules do not depend on points, or if the CPU has to test them: no card has the points or the values of
    /// points that a rule needs, or a segment is too far from the grid of a mask.
    pub fn find(
        tractogram: &Tractogram,
        rules: &SelectionRules,
        regions: &RegionsByRole<'_>,
        backend: &Backend,
        control: &Control,
    ) -> Result<Option<Self>, Error> {
        let of_points = |name: &str| {
            name == LENGTH
                || (tractogram.per_point.contains_key(name)
                    && !tractogram.per_streamline.contains_key(name))
        };
        let values = rules.values.iter().any(|within| of_points(&within.name));
        if rules.regions.is_empty() && rules.images.is_empty() && !values {
            return Ok(None);
        }
        let Some(on_cards) = OnCards::new(tractogram, backend) else {
            return Ok(None);
        };
        let mut known = Self {
            values: Vec::new(),
            reasons: Vec::new(),
        };
        for within in &rules.values {
            let values = value_on_cards(tractogram, &within.name, &on_cards, control)?;
            if values.is_none() {
                // Means of point values that the host has need no points; lengths do.
                let on_host = tractogram.per_point.get(&within.name);
                let on_host = on_host.is_some_and(|values| values.is_on_host());
                if of_points(&within.name) && (within.name == LENGTH || !on_host) {
                    return Ok(None);
                }
                backend.install(|| copy_for_value(tractogram, &within.name))?;
            }
            known.values.push(values);
        }
        for image in &rules.images {
            let reasons = on_cards.image_reasons(&image.limits(), control)?;
            known.reasons.push(reasons);
        }
        if !rules.regions.is_empty() {
            let rules = regions.rules(rules.by_ends);
            let Some(reasons) = on_cards.reject_reasons(&rules, control)? else {
                return Ok(None);
            };
            known.reasons.push(reasons);
        }
        Ok(Some(known))
    }

    /// The value of the nth limit for a streamline.
    pub fn value(
        &self,
        tractogram: &Tractogram,
        rules: &SelectionRules,
        nth: usize,
        line: usize,
    ) -> Option<f32> {
        match &self.values[nth] {
            Some(values) => Some(values[line]),
            None => value(tractogram, &rules.values[nth].name, line),
        }
    }

    /// The reason of the first image, or else region rule, that rejects a streamline.
    pub fn reject_reason(&self, line: usize) -> Option<RejectReason> {
        self.reasons.iter().find_map(|reasons| reasons[line])
    }
}
