//! Results that may be exported: no newer one is on its way, has failed or was stopped.

use super::{A, B, Key};
use crate::support::wait_for;
use arcuate::state::core::live::Detail::{Coarse, Full};
use arcuate::state::core::live::Live;
use arcuate::state::core::live::Pace::InTurn;

/// An earlier result is settled unless a newer one is being computed, has failed or was stopped.
pub fn settled() {
    let mut live = Live::<Key, &str>::default();
    assert_eq!(live.settled(), None);
    live.follow(Some(&A), false, InTurn);
    assert!(live.is_running(&A, Full) && !live.is_running(&A, Coarse));
    live.finish("first");
    assert_eq!(live.settled(), Some((&A, &"first")));
    assert!(!live.lags() && !live.is_running(&A, Full));
    live.follow(Some(&B), false, InTurn);
    assert_eq!(live.settled(), None);
    wait_for("a job that lags", || live.lags().then_some(()));
    live.fail();
    assert_eq!((live.settled(), live.lags()), (None, false));
    assert_eq!(live.shown(), Some((&A, &"first")));
    live.follow(Some(&A), false, InTurn);
    assert_eq!(live.settled(), Some((&A, &"first")));
}
