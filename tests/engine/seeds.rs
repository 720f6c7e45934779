//! Random numbers of the tests: the same in every run, others on request; a failure reports how to repeat it.

use crate::support::{Random, seed, test, with_seed};
use libtest_mimic::Trial;
use std::process::{Command, Output};

/// The test run by other processes, which prints its random numbers.
const DRAWS: &str = "seeds::numbers are drawn";

pub fn tests() -> Vec<Trial> {
    vec![
        test(DRAWS, draws),
        test("seeds::every run draws the same numbers", same),
        test("seeds::others on request", others),
        test("seeds::a failure names its seed", failures),
        test("seeds::each test has its own numbers", own),
    ]
}

/// Twice with one purpose: a helper called again draws other numbers.
fn draws() {
    let numbers = [(); 2].map(|()| Random::fresh("drawn").bits());
    assert_ne!(numbers[0], numbers[1]);
    println!("drawn {numbers:?}");
}

/// Runs [`DRAWS`] in a separate process.
fn run(seed: Option<&str>) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", DRAWS]);
    match seed {
        Some(seed) => command.env("ARCUATE_TEST_SEED", seed),
        None => command.env_remove("ARCUATE_TEST_SEED"),
    };
    command.output().unwrap()
}

/// The seed of that process, and its numbers.
fn drawn(seed: Option<&str>) -> (String, String) {
    let output = run(seed);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let after = |start: &str| text.split_once(start).expect(start).1;
    let seed: String = after("ARCUATE_TEST_SEED=")
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    assert_eq!(text.matches("ARCUATE_TEST_SEED").count(), 1, "{text}");
    (seed, after("drawn [").split(']').next().unwrap().to_owned())
}

fn same() {
    let first = drawn(None);
    assert_eq!(first, drawn(None));
    // The default seed given explicitly has the same effect.
    assert_eq!(first, drawn(Some(&first.0)));
}

fn others() {
    let fixed = drawn(None);
    let [one, two] = [(); 2].map(|()| drawn(Some("fresh")));
    assert!(
        fixed.1 != one.1 && one.1 != two.1,
        "{fixed:?} {one:?} {two:?}"
    );
    assert_eq!(one, drawn(Some(&one.0)));
    let refused = run(Some("tomorrow"));
    let text = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(text.contains("Found ARCUATE_TEST_SEED=tomorrow"), "{text}");
}

fn failures() {
    // This panic prints no message on the terminal.
    let fails = || std::panic::resume_unwind(Box::new("1 is not 2"));
    let failed = with_seed("a::test", fails).unwrap_err();
    let expected = format!(
        "1 is not 2\nRepeat it: ARCUATE_TEST_SEED={} cargo test --release -- --exact 'a::test'",
        seed().unwrap()
    );
    assert_eq!(failed.message(), Some(expected.as_str()));
    assert!(with_seed("another::test", || {}).is_ok());
}

fn own() {
    let numbers = |name: &str, before: usize| {
        let mut found = Vec::new();
        with_seed(name, || {
            for _ in 0..before {
                Random::fresh("before");
            }
            found = (0..3).map(|_| Random::fresh("same").bits()).collect();
        })
        .unwrap();
        found
    };
    let a = numbers("a", 0);
    assert_eq!(a, numbers("a", 0));
    let all_differ = |b: &[u64]| a.iter().zip(b).all(|(a, b)| a != b);
    assert!(all_differ(&numbers("b", 0)) && all_differ(&numbers("a", 1)));
}
