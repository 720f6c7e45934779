//! The checks of space, gradients and fit.

use super::overlap::Picture;
use super::{axes, describe, fitted, grid, orders, shells};
use crate::data::axis_change::AxisChange;
use crate::data::gradients::Weighting;
use crate::data::text::singular_or_plural;
use crate::data::{AffineSource, DataId, Grid, TensorLayout, Tractogram};
use crate::solvers::gradient_check;
use crate::solvers::tensor_fit::FitMap;
use crate::state::alignment::space::{
    Disagreement, NamedData, SpatialData, compared, shares_inside,
};
use crate::state::core::text::counted;
use crate::state::origin::{Origin, Recipe};
use crate::state::{Action, Content, Display, Layer, LayerAction, Phase, State};
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::button::Button;
use crate::ui::widgets::rows::{self, Verdict};
use crate::ui::widgets::{paint, section};
use crate::ui::{Memory, format, icons};
use egui::{Rect, Ui, vec2};
use std::sync::Arc;

/// The subject of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckSubject {
    Space,
    Gradients,
    TensorOrder,
    Fit,
    BrainMask,
    /// Volumes outside the b-values of the fit.
    ExcludedVolumes,
    Repaired,
}

impl CheckSubject {
    pub fn name(self) -> &'static str {
        match self {
            Self::Space => "Space",
            Self::Gradients => "Gradient directions",
            Self::TensorOrder => "Tensor order",
            Self::Fit => super::FIT,
            Self::BrainMask => "Brain mask",
            Self::ExcludedVolumes => "Left out of the fit",
            Self::Repaired => "Repaired tensors",
        }
    }

    /// The question that the check answers.
    fn about(self) -> &'static str {
        match self {
            Self::Space => {
                "Whether the files lie in one space; opened: the affine that each of them uses"
            }
            Self::Gradients => "Whether the axes of the gradient table agree with the image",
            Self::TensorOrder => {
                "Whether the six numbers of each tensor are read in the right order"
            }
            Self::Fit => "How well the tensors explain the signal",
            Self::BrainMask => "The voxels that are fitted, and where they come from",
            Self::ExcludedVolumes => "Volumes whose b-value the fit does not use",
            Self::Repaired => "Voxels whose tensor had too small an eigenvalue, which was raised",
        }
    }
}

pub struct Check {
    pub verdict: Verdict,
    pub subject: CheckSubject,
    pub fact: String,
    pub report: Vec<String>,
}

/// The worst verdict, and the rows as text: `3 of 4 checks passed · 1 not run`, `3 of 4 passed · 1 not run · 1 note`,
/// `fit running`. A note is not a check and is counted by itself: every row is counted once.
pub fn summary(verdicts: &[Verdict]) -> (Verdict, String) {
    let is = |counted: &[Verdict]| verdicts.iter().filter(|v| counted.contains(v)).count();
    let problems = is(&[Verdict::Warning, Verdict::Failed]);
    let (not_run, running) = (is(&[Verdict::NotRun]), is(&[Verdict::Running]));
    if running > 0 && problems == 0 {
        return (Verdict::Running, "fit running".to_owned());
    }
    let (passed, notes) = (is(&[Verdict::Passed]), is(&[Verdict::Note]));
    // The narrowest panel has no room for the noun beside both counts.
    let checks = match (not_run, notes) {
        (1.., 1..) => "",
        _ if problems > 0 => singular_or_plural(problems, "check ", "checks "),
        _ => "checks ",
    };
    let (worst, mut text) = match (problems, passed) {
        (0, passed) if not_run > 0 => (
            Verdict::NotRun,
            format!("{passed} of {} {checks}passed", passed + not_run),
        ),
        (0, _) => (Verdict::Passed, "checks passed".to_owned()),
        (n, _) => (Verdict::Warning, format!("{n} {checks}to look at")),
    };
    if not_run > 0 {
        text += &format!(" · {not_run} not run");
    }
    if notes > 0 {
        text += &format!(" · {}", counted(notes, "note"));
    }
    (worst, text)
}

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let checks = checks(state, memory);
    let place = section::head(ui, "Results");
    let p = theme::palette(ui.style());
    let verdicts: Vec<Verdict> = checks.iter().map(|c| c.verdict).collect();
    let (worst, sentence) = summary(&verdicts);
    let (icon, colour) = match worst {
        Verdict::Passed | Verdict::Note => (icons::CHECK_CIRCLE, p.ok),
        Verdict::NotRun => (icons::INFORMATION, p.accent),
        Verdict::Running => (icons::INFORMATION, p.t3),
        Verdict::Warning | Verdict::Failed => (icons::WARNING, p.warning),
    };
    // Streamlines alone leave nothing to check.
    if !checks.is_empty() {
        let text = paint::width(ui, &sentence, theme::regular(size::LABEL));
        section::label(ui, place, &sentence, true, p.t3);
        let at = egui::pos2(place.right() - text - 16.0, place.center().y);
        paint::icon(ui.painter(), at, icon, size::ICON, colour);
    }
    for check in checks {
        let name = check.subject.name();
        let asks = check.subject == CheckSubject::TensorOrder && orders::asks(state);
        let open = memory.is_open(name, asks);
        let response = rows::check(ui, check.verdict, name, &check.fact, open)
            .on_hover_text(check.subject.about());
        if response.clicked() {
            memory.toggle(name);
        }
        if open != response.clicked() {
            if check.subject == CheckSubject::Space {
                memory.forms.space.show(ui, state);
            }
            for line in &check.report {
                ui.add_space(2.0);
                report(ui, line);
            }
            match check.subject {
                CheckSubject::Repaired => overlay_button(ui, state, actions),
                CheckSubject::TensorOrder => orders::show(ui, state, memory, actions),
                CheckSubject::Gradients => axes::show(ui, state, memory, actions),
                CheckSubject::Space
                | CheckSubject::Fit
                | CheckSubject::BrainMask
                | CheckSubject::ExcludedVolumes => {}
            }
            ui.add_space(8.0);
        }
    }
}

/// A line of an opened check, below its name.
fn report(ui: &mut Ui, text: &str) {
    let p = theme::palette(ui.style());
    let left = space::INSET + 24.0;
    let width = ui.available_width() - left - space::INSET;
    let at = ui.cursor().min + vec2(left, 0.0);
    let rect = paint::paragraph(
        ui.painter(),
        at,
        width,
        text,
        theme::regular(size::LABEL),
        p.t2,
    );
    let (_, response) = ui.allocate_exact_size(
        vec2(ui.available_width(), rect.height() + 2.0),
        egui::Sense::hover(),
    );
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, text));
}

fn overlay_button(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let Some(layer) = state.document.fit_layer(FitMap::Repaired) else {
        return;
    };
    let visible = layer.display.visible;
    let button = Button::plain(if visible {
        "Hide overlay"
    } else {
        "Show overlay"
    });
    let at = ui.cursor().min + vec2(space::INSET + 24.0, 6.0);
    let place = Rect::from_min_size(at, vec2(button.width(ui), space::BUTTON));
    ui.allocate_exact_size(
        vec2(ui.available_width(), space::BUTTON + 8.0),
        egui::Sense::hover(),
    );
    if button.show_at(ui, place).clicked() {
        let display = Display {
            visible: !visible,
            ..layer.display.clone()
        };
        actions.push(Action::Layer(LayerAction::SetDisplay {
            layer: layer.id,
            display,
            phase: Phase::Done,
        }));
    }
}

fn checks(state: &State, memory: &mut Memory) -> Vec<Check> {
    let mut checks = Vec::new();
    checks.extend(space_check(state, memory));
    checks.extend(gradient_check(state));
    checks.extend(orders::check(state));
    checks.extend(fitted::checks(state));
    checks
}

/// The affine that each data set uses, and the grids that disagree.
fn space_check(state: &State, memory: &mut Memory) -> Option<Check> {
    let opened: Vec<(&Arc<Layer>, &Arc<Grid>, usize)> = state
        .document
        .layers
        .iter()
        .filter(|l| {
            let origin = state.document.origin(l);
            !origin.is_recomputed_from_scan()
        })
        .filter_map(|l| grid(l).map(|(g, frames)| (l, g, frames)))
        .collect();
    // The reference for the others, as in [`compared`].
    let image = |(l, ..): &&(&Arc<Layer>, _, _)| !matches!(l.content, Content::Mask(_));
    let (_, first, _) = opened.iter().find(image).or(opened.first())?;
    let mut report = Vec::new();
    let mut verdict = Verdict::Passed;
    for (layer, grid, frames) in &opened {
        let moved = state.document.transform_text(layer.id);
        let moved = moved.map_or(String::new(), |text| format!("; {text}"));
        report.push(format!(
            "{}: {}, {}{moved}",
            layer.name,
            describe(grid, *frames).replace('\n', "; "),
            handedness(grid)
        ));
        if grid.source == AffineSource::Pixdim {
            verdict = Verdict::Warning;
        }
        for note in &layer.notes {
            verdict = verdict_with(verdict, note.is_note);
            report.push(format!("{}: {note}", layer.name));
        }
    }
    for layer in &state.document.layers {
        if let Some(change) = &layer.file_change {
            verdict = Verdict::Warning;
            report.push(format!("{}: {change}", layer.name));
        }
    }
    let other = |g: &Arc<Grid>| !first.matches(g);
    let others: Vec<&str> = opened
        .iter()
        .filter(|(_, g, _)| other(g))
        .map(|(l, _, _)| l.name.as_str())
        .collect();
    let lines = state.document.layers.iter();
    let lines = lines.filter(|l| state.document.path(l).is_some());
    let filled = |l: &Arc<Layer>| matches!(&l.content, Content::Mask(mask) if mask.count() > 0);
    let requested = match state.document.layers.iter().any(filled) {
        true => "",
        false => {
            "; without a brain mask, only the bounding box of the first image is compared with them"
        }
    };
    for layer in lines {
        let lines = match &layer.content {
            Content::Tractogram(tractogram) => Some((tractogram.len(), tractogram)),
            Content::InPlace(lines) => Some((lines.file.len(), &lines.first.tractogram)),
            _ => None,
        };
        if let Some(lines) = lines {
            let moved = state.document.transform_text(layer.id);
            let moved = moved.map_or(String::new(), |text| format!("; {text}"));
            let text = streamlines(&layer.name, lines, first);
            report.push(format!("{text}{moved}{requested}"));
            for note in &layer.notes {
                verdict = verdict_with(verdict, note.is_note);
                report.push(format!("{}: {note}", layer.name));
            }
        }
    }
    if !others.is_empty() {
        report.push(format!(
            "On a grid of their own, resampled for display only: {}",
            others.join(", ")
        ));
    }
    let disagreements = memory.forms.space.disagreements(state).len();
    if disagreements > 0 {
        verdict = Verdict::Warning;
    }
    report.extend_from_slice(&memory.forms.space.inside);
    let fact = match first.source {
        AffineSource::Sform => "sform used",
        AffineSource::Qform => "qform used",
        AffineSource::Pixdim => "left and right unknown",
        AffineSource::Header => "header used",
        AffineSource::Computed => "known by construction",
    };
    let fact = match (disagreements, others.len()) {
        (1, _) => "1 disagreement".to_owned(),
        (n, _) if n > 1 => format!("{n} disagreements"),
        (_, 0) => fact.to_owned(),
        _ => format!("{fact}, {} grids", 1 + distinct(&opened, first)),
    };
    // Nothing is wrong, but the files alone do not give the full position.
    let layers = state.document.layers.iter();
    let moved: Vec<_> = layers
        .filter(|l| state.document.moved(l.id).is_some())
        .collect();
    if !moved.is_empty() && verdict == Verdict::Passed {
        verdict = Verdict::Note;
    }
    let fact = match moved[..] {
        [] => fact,
        [layer] => format!("{} moved, {fact}", layer.name),
        _ => format!("{} layers moved, {fact}", moved.len()),
    };
    Some(Check {
        verdict,
        subject: CheckSubject::Space,
        fact,
        report,
    })
}

/// Information is a note, and a warning a check to look at.
fn verdict_with(verdict: Verdict, is_note: bool) -> Verdict {
    match is_note {
        true if verdict == Verdict::Passed => Verdict::Note,
        true => verdict,
        false => Verdict::Warning,
    }
}

/// `tracks: 450 streamlines; the file names a grid of 91 × 109 × 91 of 2 mm`.
fn streamlines(name: &str, (count, tractogram): (usize, &Tractogram), first: &Grid) -> String {
    let count = counted(count, "streamline");
    let grid = match tractogram.grid.as_deref() {
        None => ", in world mm, without a grid".to_owned(),
        Some(own) if first.matches(own) => ", on the first grid".to_owned(),
        Some(own) => format!(
            "; the file names a grid of {} of {}",
            format::shape(own.shape, 1),
            format::spacing(own.spacing())
        ),
    };
    format!("{name}: {count}{grid}")
}

fn handedness(grid: &Grid) -> &'static str {
    match grid.world_from_voxel.matrix3.determinant() > 0.0 {
        true => "right-handed",
        false => "left-handed",
    }
}

fn content_kind(content: &Content) -> SpatialData<'_> {
    match content {
        Content::Scan { dwi: v, .. } | Content::Image(v) => SpatialData::Image(v.grid.as_ref()),
        Content::Mask(mask) => SpatialData::Mask(mask),
        Content::Tractogram(tractogram) => SpatialData::Streamlines(tractogram),
        Content::InPlace(lines) => SpatialData::Streamlines(&lines.first.tractogram),
    }
}

/// Disagreements about space, updated when the layers change.
#[derive(Default)]
pub struct SpaceReport {
    data_sets: Vec<(String, DataId)>,
    disagreements: Vec<Disagreement>,
    /// For each tractogram, the fraction inside the first image and each mask.
    inside: Vec<String>,
    /// Made when first viewed.
    pictures: Vec<Option<Picture>>,
}

impl SpaceReport {
    fn opened(state: &State) -> impl Iterator<Item = &Arc<Layer>> {
        let is_computed = |l: &Layer| {
            let origin = state.document.origin(l);
            matches!(
                origin,
                Origin::Computed(Recipe::FitMap(_) | Recipe::FodMap(_) | Recipe::Curves(_))
            )
        };
        state
            .document
            .layers
            .iter()
            .filter(move |l| !is_computed(l))
    }

    fn disagreements(&mut self, state: &State) -> &[Disagreement] {
        let opened = || Self::opened(state);
        let id = |l: &Layer| match &l.content {
            Content::Scan { dwi: v, .. } | Content::Image(v) => v.id(),
            Content::Mask(mask) => mask.id(),
            Content::Tractogram(tractogram) => tractogram.id(),
            Content::InPlace(lines) => lines.file.id(),
        };
        let data_sets: Vec<(String, DataId)> = opened().map(|l| (l.name.clone(), id(l))).collect();
        if data_sets != self.data_sets {
            let items: Vec<NamedData> = opened()
                .map(|l| NamedData {
                    name: &l.name,
                    data: content_kind(&l.content),
                })
                .collect();
            self.disagreements = compared(&items);
            let inside = shares_inside(&items).into_iter();
            let inside = inside.map(|(tractogram, other, share)| {
                let percent = format::with_unit(&format::fixed(100.0 * share, 1), "%");
                format!("{tractogram}: {percent} inside {other}")
            });
            self.inside = inside.collect();
            self.pictures.clear();
            self.data_sets = data_sets;
        }
        &self.disagreements
    }

    /// Each disagreement as a sentence, with a picture below.
    fn show(&mut self, ui: &mut Ui, state: &State) {
        let layers: Vec<&Arc<Layer>> = Self::opened(state).collect();
        for (i, disagreements) in self.disagreements.iter().enumerate() {
            ui.add_space(2.0);
            report(ui, &disagreements.sentence);
            if self.pictures.len() == i {
                let picture = disagreements.between.and_then(|[reference, other]| {
                    let (reference, other) = (layers.get(reference)?, layers.get(other)?);
                    match Arc::ptr_eq(reference, other) {
                        true => Picture::of_forms(ui, reference),
                        false => Picture::new(ui, reference, other),
                    }
                });
                self.pictures.push(picture);
            }
            if let Some(picture) = &self.pictures[i] {
                picture.show(ui, space::INSET + 24.0, &disagreements.sentence);
            }
        }
    }
}

/// Number of distinct grids besides the first.
fn distinct(opened: &[(&Arc<Layer>, &Arc<Grid>, usize)], first: &Arc<Grid>) -> usize {
    let mut seen: Vec<&Arc<Grid>> = Vec::new();
    for (_, grid, _) in opened {
        let known = first.matches(grid) || seen.iter().any(|s| s.matches(grid));
        if !known {
            seen.push(grid);
        }
    }
    seen.len()
}

fn gradient_check(state: &State) -> Option<Check> {
    let scans = state.document.layers.iter().rev();
    let gradients = scans
        .filter(|l| !l.holds_distributions())
        .filter_map(|l| match &l.content {
            // Six volumes are handled elsewhere.
            Content::Scan {
                dwi,
                gradients: None,
            } if dwi.frames == TensorLayout::VOLUMES => None,
            Content::Scan { gradients, .. } => Some(gradients.as_ref()),
            _ => None,
        })
        .next()?;
    let Some(gradients) = gradients else {
        return Some(Check {
            verdict: Verdict::Warning,
            subject: CheckSubject::Gradients,
            fact: "none found".to_owned(),
            report: vec![
                "A fit needs b-values and directions: open or drop the bval and bvec files (or one .b file)".to_owned(),
            ],
        });
    };
    let number = |w: Weighting| {
        (0..gradients.len())
            .filter(|&v| gradients.weighting(v) == w)
            .count()
    };
    let (directions, without) = (number(Weighting::Diffusion), number(Weighting::NoDirection));
    let turned = turned(state);
    let (suspect, compared) = (suspected(state), turned.is_some() || axes_known(state));
    let mut report = vec![shells(gradients)];
    if let Some(turn) = turned {
        report.push(format!("The file's table with {}", turn.description()));
    }
    if !compared {
        report.push(
            "The numbers alone do not show whether the axes are right: compare them".to_owned(),
        );
    }
    if without > 0 {
        report.push(format!(
            "{} of b above 50 without a direction: left out of the fit",
            counted(without, "volume")
        ));
    }
    Some(Check {
        verdict: match (directions, without) {
            (..6, _) => Verdict::Failed,
            _ if suspect.is_some() => Verdict::Warning,
            _ if !compared => Verdict::NotRun,
            (_, 0) => Verdict::Passed,
            _ => Verdict::Note,
        },
        subject: CheckSubject::Gradients,
        fact: match directions {
            _ if suspect.is_some() => "axes seem wrong".to_owned(),
            ..6 => format!("{directions}, a tensor needs 6"),
            n => match (
                turned,
                gradients.shells().iter().filter(|s| s.0 > 0).count(),
            ) {
                (Some(turn), _) => turn.description(),
                _ if !compared => "axes not compared".to_owned(),
                (_, 1) => format!("{n} on one shell"),
                (_, shells) => format!("{n} on {shells} shells"),
            },
        },
        report,
    })
}

/// The axis change applied to the gradients of the scan's file.
fn turned(state: &State) -> Option<AxisChange> {
    let document = &state.document;
    document.origins.turn(document.scan()?.origin)
}

/// Whether the axes are known to be right: compared, or set.
fn axes_known(state: &State) -> bool {
    state.document.scan().is_some_and(|layer| {
        let compared = state.runtime.tensors.axes.as_ref().map(|(image, _)| *image);
        let image = layer.content.volume().map(|v| v.id());
        state.document.origin(layer).is_phantom() || compared.is_some() && compared == image
    })
}

/// The axis change that a comparison found to be better than the present one.
fn suspected(state: &State) -> Option<AxisChange> {
    let scan = state.document.scan()?.content.volume()?.id();
    let (compared, output) = state.runtime.tensors.axes.as_ref()?;
    match output.verdict() {
        gradient_check::Verdict::Better(turn, _) if *compared == scan => Some(turn),
        _ => None,
    }
}
