//! Files: reading, refusals with their sentences, writing.

mod bids;
mod definitions;
mod differential;
mod fibres;
mod files;
pub mod formats;
mod gradients;
mod hostile;
mod images;
pub mod kept;
mod kept_gradients;
mod kept_losses;
mod kept_mif;
mod kept_rest;
mod labels;
mod masks;
pub mod mif;
mod mutations;
mod orientations;
mod peers;
mod races;
mod responses;
mod scalars;
mod surfaces;
pub mod variants;
pub mod volumes;
pub mod vtp;

pub use crate::support::entries::sentence;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    [
        bids::tests(),
        images::tests(),
        kept::tests(),
        kept_gradients::tests(),
        kept_losses::tests(),
        kept_mif::tests(),
        kept_rest::tests(),
        hostile::tests(),
        labels::tests(),
        masks::tests(),
        mif::tests(),
        gradients::tests(),
        definitions::tests(),
        differential::tests(),
        fibres::tests(),
        files::tests(),
        formats::tests(),
        mutations::tests(),
        orientations::tests(),
        peers::tests(),
        races::tests(),
        responses::tests(),
        surfaces::tests(),
        variants::tests(),
        volumes::tests(),
        vtp::tests(),
        scalars::tests(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
