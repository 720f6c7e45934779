//! The window's final result is the command line's, to the byte.

use super::{arcuate, coarse_head, points, shell_words};
use arcuate::compute::{Backend, BackendChoice};
use arcuate::data::{Role, Shape};
use arcuate::jobs::Jobs;
use arcuate::solvers::geodesic::{Cut, Sharpening};
use arcuate::state::{Action, Effect, Method, Phase, State, update};
use glam::dvec3;
use std::sync::Arc;

/// A window without widgets, whose jobs are waited for.
struct Window {
    state: State,
    jobs: Jobs,
}

impl Window {
    fn act(&mut self, action: Action) {
        let mut effects = update(&mut self.state, action);
        while !effects.is_empty() {
            if let Effect::Submit(request) = effects.remove(0) {
                let job = self.jobs.submit(request);
                let event = self.jobs.wait(&job, |_| {});
                effects.extend(update(&mut self.state, Action::Event(event)));
            }
        }
    }

    fn place(&mut self, role: Role, shape: Shape) {
        self.act(Action::PlaceRegion { role, shape });
    }
}

pub fn rays() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    coarse_head(here);
    let backend = Backend::choose(&BackendChoice::cpu(Some(2))).expect("two threads");
    let mut window = Window {
        state: State::new(String::new()),
        jobs: Jobs::new(backend, Arc::new(|| {})),
    };
    window.act(Action::Open(vec![here.join("head/dwi.nii.gz")]));
    window.act(Action::SetMethod(Method::Rays));
    let sphere = |x, y, z, radius_mm| Shape::Sphere {
        centre: dvec3(x, y, z),
        radius_mm,
    };
    window.place(Role::Seed, sphere(-24.3, -16.1, 10.7, 5.5));
    let seed = window.state.session.selected_region.expect("a seed");
    window.place(Role::Target, sphere(-28.0, -20.0, 46.0, 12.0));
    // Dragged and sharpened as by a hand, cut, then at rest.
    let mut rays = window.state.document.rays.clone();
    rays.medium.sharpening = Sharpening::Power { alpha: 1.7 };
    for phase in [Phase::Live, Phase::Done] {
        window.act(Action::SetRegionShape {
            region: seed,
            shape: sphere(-24.9, -16.6, 9.3, 5.5),
            phase: Phase::Live,
        });
        window.act(Action::SetRays {
            rays: rays.clone(),
            phase,
        });
    }
    window.act(Action::Settle);
    let live = window.state.session.live.as_ref().expect("rays");
    let measures = live.rays.as_ref().expect("measures").measures.clone();
    assert!(!live.coarse && measures.len() > 20, "{}", measures.len());
    let mut sorted = measures.to_vec();
    sorted.sort_by(f32::total_cmp);
    rays.cut = Cut::AtLeast(sorted[measures.len() / 3]);
    window.act(Action::SetRays {
        rays,
        phase: Phase::Done,
    });
    let live = window.state.session.live.as_ref().expect("rays");
    assert!(live.output.kept.len() < measures.len());
    let command = live.recipe.command();
    window.act(Action::SaveTracks {
        layer: None,
        path: here.join("window.tck"),
    });
    let words = shell_words(&command.replace("rays.tck", "command.tck"));
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let output = arcuate(&[&*words, &["--backend", "cpu"]].concat(), here);
    assert!(
        output.status.success(),
        "{command}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let both =
        |ending: &str| ["window", "command"].map(|name| here.join(name).with_extension(ending));
    let [a, b] = both("tck");
    assert!(points(&a).len() > 1_000 && points(&a) == points(&b));
    let [a, b] = both("tsf");
    assert!(points(&a).len() > 300 && points(&a) == points(&b));
    let [a, b] = both("weights.txt").map(|path| std::fs::read_to_string(path).expect("weights"));
    let numbers = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|l| !l.starts_with('#'));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(numbers(&a), numbers(&b));

    // Where none gets there, the command says what became of them.
    let nowhere = words.iter().map(|w| match *w {
        "command.tck" => "nowhere.tck",
        w if w.starts_with("sphere:-28") => "sphere:70,90,80,2",
        w => w,
    });
    let output = arcuate(&nowhere.collect::<Vec<_>>(), here);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = "0 of 8\u{202F}000 rays reach 'Target'; ";
    assert!(output.status.success() && said.contains(expected), "{said}");
}
