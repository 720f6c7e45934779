//! The mathematics: closed forms, invariants, orders of convergence, parity of CPU and GPU.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use arcuate_tests as support;

mod alignment;
mod bundles;
mod commit;
mod compare;
mod connectivity;
mod csd;
mod curves;
mod density;
mod drawn_lines;
mod eikonal;
mod geodesic;
mod gradient_check;
mod level_set;
mod lifted;
mod metric;
mod odf_check;
mod odf_tracking;
mod on_card;
mod pathway;
mod peaks;
mod region;
mod response;
mod score;
mod tensor_check;
mod tensor_fit;
mod tracking;
mod tractogram;
mod uncertainty;

fn main() {
    support::run([
        alignment::tests(),
        bundles::tests(),
        commit::tests(),
        compare::tests(),
        connectivity::tests(),
        csd::tests(),
        curves::tests(),
        density::tests(),
        drawn_lines::tests(),
        eikonal::tests(),
        geodesic::tests(),
        gradient_check::tests(),
        level_set::tests(),
        lifted::tests(),
        metric::tests(),
        odf_check::tests(),
        odf_tracking::tests(),
        on_card::tests(),
        pathway::tests(),
        peaks::tests(),
        region::tests(),
        response::tests(),
        score::tests(),
        tensor_check::tests(),
        tensor_fit::tests(),
        tracking::tests(),
        tractogram::tests(),
        uncertainty::tests(),
    ])
}
