//! Keys are fixed: machines read them. A label may change; a key that changes breaks scripts, tables or sessions.

use crate::support::test;
use arcuate::data::{Role, TensorFrame, TensorOrder};
use arcuate::io::Space;
use arcuate::io::session::{Change, Difference, Match};
use arcuate::solvers::curves::{SeedOutcome, StopReason};
use arcuate::solvers::tensor_fit::FitMap;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("keys::keys have not changed", fixed),
        test("keys::name one value each", both_ways),
        test("keys::of maps are what sessions store", stored),
        test(
            "keys::a changed file is described in whole clauses",
            changes,
        ),
    ]
}

fn fixed() {
    let stops = [
        "reached-target",
        "terminate-region",
        "left-volume",
        "left-mask",
        "low-fa",
        "angle",
        "max-length",
        "max-steps",
        "at-seed",
        "looped",
        "no-metric",
        "jumped",
        "low-amplitude",
        "cortical-grey",
        "deep-grey",
        "brain-stem",
        "csf",
    ];
    assert_eq!(StopReason::KEYS, stops);
    let outcomes = [
        "kept",
        "missed-targets",
        "missed-include",
        "touched-exclude",
        "too-short",
        "no-start",
        "ends-in-csf",
        "ends-in-white",
    ];
    assert_eq!(SeedOutcome::KEYS, outcomes);
    let roles = [
        "seed",
        "target",
        "include",
        "exclude",
        "terminate",
        "mask",
        "costly",
        "region",
    ];
    assert_eq!(Role::KEYS, roles);
    assert_eq!(TensorOrder::KEYS, ["fsl", "lower", "mrtrix"]);
    assert_eq!(TensorFrame::KEYS, ["voxel", "world"]);
    assert_eq!(Space::KEYS, ["ras", "lps"]);
    assert_eq!(Match::KEYS, ["same_bytes", "within_tolerance", "differs"]);
    assert_eq!(Role::Seed.json_key(), "Seed");
}

fn both_ways() {
    for reason in StopReason::ALL {
        assert_eq!(StopReason::from_key(reason.key()), Some(reason));
    }
    for outcome in SeedOutcome::ALL {
        assert_eq!(SeedOutcome::from_key(outcome.key()), Some(outcome));
        assert_eq!(SeedOutcome::ALL[outcome as usize], outcome);
    }
    for role in Role::ALL {
        assert_eq!(Role::from_key(role.key()), Some(role));
        assert_eq!(Role::from_json_key(role.json_key()), Some(role));
    }
    assert_eq!(StopReason::from_key("Low FA"), None);
    assert_eq!(Role::from_key("Seed"), None);
    // Options accept capitals, too.
    assert_eq!(Space::named("RAS"), Some(Space::Ras));
    assert_eq!(TensorOrder::named("FSL"), Some(TensorOrder::Fsl));
}

fn stored() {
    for key in FitMap::KEYS {
        let map = FitMap::from_key(key).expect("a map");
        let text = serde_json::to_string(&map).expect("text");
        assert_eq!(text, format!("\"{key}\""));
        assert_eq!(serde_json::from_str::<FitMap>(&text).expect("a map"), map);
    }
    let error = serde_json::from_str::<FitMap>("\"kurtosis\"").expect_err("unknown");
    assert!(error.to_string().contains("kurtosis"), "{error}");
}

/// A clause was once truncated and ended in "than".
fn changes() {
    let change = |companion: Option<&str>, difference| Change {
        companion: companion.map(str::to_owned),
        difference,
    };
    let bytes = Difference::Bytes { now: 7, before: 5 };
    for (change, clause, sentence) in [
        (
            change(None, bytes.clone()),
            "it has 7 bytes and had 5",
            "It has 7 bytes and had 5 when the session was saved",
        ),
        (
            change(Some("dwi.bval"), bytes),
            "dwi.bval beside it has 7 bytes and had 5",
            "dwi.bval beside it has 7 bytes and had 5 when the session was saved",
        ),
        (
            change(None, Difference::Content),
            "it has other content",
            "It has other content than when the session was saved",
        ),
        (
            change(None, Difference::Folder),
            "it is another folder",
            "It is another folder than when the session was saved",
        ),
    ] {
        assert_eq!(change.clause(), clause);
        assert_eq!(change.to_string(), sentence);
    }
}
