//! Actions, jobs, sessions.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use arcuate_tests as support;

mod commissures;
mod crosshair_link;
mod in_place;
mod jobs;
mod joint_values;
mod live;
mod mosaic;
mod oblique;
mod origins;
mod overlays;
mod progress;
mod protocols;
mod scene_look;
mod scores;
mod sessions;
mod space;
mod update;
mod viewpoints;

fn main() {
    support::run([
        crosshair_link::tests(),
        in_place::tests(),
        jobs::tests(),
        joint_values::tests(),
        live::tests(),
        mosaic::tests(),
        oblique::tests(),
        commissures::tests(),
        origins::tests(),
        overlays::tests(),
        progress::tests(),
        protocols::tests(),
        scene_look::tests(),
        scores::tests(),
        sessions::tests(),
        space::tests(),
        update::tests(),
        viewpoints::tests(),
    ])
}
