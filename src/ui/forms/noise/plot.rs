//! The distance of the repetitions' paths or centre lines from a mask, along the shown one.

use crate::solvers::pathway::{Distances, Path, Range90};
use crate::state::pathways::NoiseDistances;
use crate::state::{Action, ViewAction};
use crate::ui::format::{self, distance_text, fixed, range_text, with_unit};
use crate::ui::theme::{self, Palette, size, space};
use crate::ui::widgets::{paint, rows};
use crate::ui::{Memory, panels};
use egui::epaint::Mesh;
use egui::{
    CursorIcon, Painter, Pos2, Rect, Role as Spoken, Sense, Shape, Stroke, Ui, WidgetInfo, pos2,
    vec2,
};

const CHART: f32 = 84.0;
/// Height above the chart for half of its highest value.
const ABOVE: f32 = 6.0;
/// Width left of the chart for its values.
const VALUES: f32 = 26.0;
const DASH: f32 = 5.0;
/// Smallest range of the axis, mm.
const MIN_TOP_MM: f64 = 10.0;

/// Everything that is plotted.
#[derive(Clone, Copy, Debug)]
pub struct Plot<'a> {
    pub measured: &'a NoiseDistances,
    /// The shown path, or the middle one of the centre lines.
    pub line: &'a Path,
    /// Names of its ends.
    pub ends: [&'a str; 2],
    /// Its name within a sentence, and at its start.
    pub names: [&'a str; 2],
    pub margin_mm: f64,
}

/// Where a position along the path and a distance are drawn.
struct Axes {
    chart: Rect,
    total_mm: f64,
    top_mm: f64,
}

impl Axes {
    fn at(&self, along_mm: f64, distance_mm: f64) -> Pos2 {
        let x = (along_mm / self.total_mm) as f32;
        let y = (distance_mm / self.top_mm).clamp(0.0, 1.0) as f32;
        pos2(
            self.chart.left() + x * self.chart.width(),
            self.chart.bottom() - y * self.chart.height(),
        )
    }

    /// The position along the path below a point of the chart.
    fn along_mm(&self, x: f32) -> f64 {
        let share = (x - self.chart.left()) / self.chart.width().max(1.0);
        f64::from(share.clamp(0.0, 1.0)) * self.total_mm
    }
}

pub fn show(ui: &mut Ui, plot: &Plot, memory: &Memory, actions: &mut Vec<Action>) {
    let Some(along) = plot.measured.along.as_deref() else {
        return rows::hint(ui, "The chosen mask is empty");
    };
    let [name, capitalized] = plot.names;
    let repetitions = plot.measured.repetitions;
    nearest(ui, along, capitalized, repetitions);
    let caption = format!("Distance along the {name}, mm");
    panels::caption(ui, &caption, "median, 5–95 %");
    let height = CHART + 20.0;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::CLICK);
    let rect = paint::inset(rect, space::INSET, space::INSET);
    let chart = Rect::from_min_size(
        rect.min + vec2(VALUES, ABOVE),
        vec2(rect.width() - VALUES, CHART - ABOVE),
    );
    let axes = Axes {
        chart,
        total_mm: plot.line.total_mm().max(f64::MIN_POSITIVE),
        top_mm: top_mm(along, plot.margin_mm),
    };
    let p = theme::palette(ui.style());
    draw(ui.painter(), p, &axes, along, memory.narrow);
    margin(ui.painter(), p, &axes, along, plot.margin_mm);
    ends(ui.painter(), p, (rect, chart), plot);
    let spoken = spoken(along, name, repetitions);
    response.widget_info(|| WidgetInfo::labeled(Spoken::Image, true, &spoken));
    let clicked = response
        .interact_pointer_pos()
        .filter(|_| response.clicked());
    if let Some(at) = clicked
        && let Some(point) = plot.line.point_at(axes.along_mm(at.x))
    {
        actions.push(Action::View(ViewAction::MoveCrosshair(point)));
    }
    let hovered = response.hover_pos();
    let response = response.on_hover_cursor(CursorIcon::PointingHand);
    if let Some(at) = hovered {
        let mm = axes.along_mm(at.x);
        if let Some((mm, range)) = next_to(along, mm) {
            response.on_hover_text(format!(
                "At {}: {}. Click to move the crosshair there",
                with_unit(&fixed(mm, 0), "mm"),
                distance_range(range, repetitions)
            ));
        }
    }
}

/// The least distance of the shown line, and that of the repetitions.
fn nearest(ui: &mut Ui, along: &Distances, name: &str, repetitions: usize) {
    let shown = match along.shown <= 0.0 {
        true => "enters it".to_owned(),
        false => distance_text(along.shown),
    };
    rows::reading(ui, &format!("{name}, nearest"), &shown);
    if let Some(range) = along.nearest {
        rows::reading(
            ui,
            "Nearest, all repetitions",
            &distance_range(range, repetitions),
        );
    }
}

/// `3.8 (2.1 to 6.5) mm`: distances, rounded down.
fn distance_range(range: Range90, repetitions: usize) -> String {
    let rounded_down = |mm: f64| match mm <= 0.0 {
        true => "0".to_owned(),
        false => fixed((mm * 10.0).floor() * 0.1, 1),
    };
    with_unit(&range_text(range, repetitions, rounded_down), "mm")
}

/// The distances next to a position along the path.
fn next_to(along: &Distances, mm: f64) -> Option<(f64, Range90)> {
    let distance = |(at, _): &&(f64, Range90)| (at - mm).abs();
    let all = along.along.iter();
    all.min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .copied()
}

/// A round number of mm that is above all distances and the margin.
fn top_mm(along: &Distances, margin_mm: f64) -> f64 {
    let all = along.along.iter().map(|(_, range)| range.high);
    let highest = all.filter(|mm| mm.is_finite()).fold(margin_mm, f64::max);
    let steps = [10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0, 200.0, 400.0];
    let above = steps.into_iter().find(|step| *step >= highest);
    above.unwrap_or(highest).max(MIN_TOP_MM)
}

fn draw(painter: &Painter, p: &Palette, axes: &Axes, along: &Distances, narrow: bool) {
    painter.rect_filled(axes.chart, 0.0, p.b2);
    let font = theme::regular(size::CAPTION);
    let steps = if narrow { 2 } else { 4 };
    for step in 0..=steps {
        let mm = axes.top_mm * f64::from(step) / f64::from(steps);
        let y = axes.at(0.0, mm).y;
        painter.hline(axes.chart.x_range(), y, Stroke::new(1.0, p.line));
        let place = Rect::from_center_size(
            pos2(axes.chart.left() - 0.5 * VALUES, y),
            vec2(VALUES - 5.0, 12.0),
        );
        let text = fixed(mm, usize::from(mm.fract() > 0.0));
        paint::right(painter, place, &text, font.clone(), p.t3);
    }
    let mut band = Mesh::default();
    let ink = p.accent.gamma_multiply(0.28);
    for (i, (mm, range)) in along.along.iter().enumerate() {
        for distance in [range.low, range.high] {
            band.colored_vertex(axes.at(*mm, distance), ink);
        }
        if i > 0 {
            let n = 2 * i as u32;
            band.add_triangle(n - 2, n - 1, n);
            band.add_triangle(n - 1, n, n + 1);
        }
    }
    painter.add(band);
    let line = along.along.iter();
    let line: Vec<Pos2> = line.map(|(mm, range)| axes.at(*mm, range.median)).collect();
    painter.line(line, Stroke::new(1.5, p.accent));
    let medians = along.along.iter();
    let lowest = medians.min_by(|a, b| a.1.median.total_cmp(&b.1.median));
    if let Some((mm, range)) = lowest {
        painter.circle_filled(axes.at(*mm, range.median), 3.0, p.t1);
    }
}

/// The margin: a dashed line. The user chose this distance; it is not a safety limit.
fn margin(painter: &Painter, p: &Palette, axes: &Axes, along: &Distances, mm: f64) {
    let y = axes.at(0.0, mm).y;
    let ends = [pos2(axes.chart.left(), y), pos2(axes.chart.right(), y)];
    painter.extend(Shape::dashed_line(
        &ends,
        Stroke::new(1.0, p.warning),
        DASH,
        DASH,
    ));
    let text = format!("margin {}", with_unit(&format::fixed(mm, 1), "mm"));
    let place = Rect::from_min_size(
        pos2(axes.chart.left() + 4.0, (y - 13.0).max(axes.chart.top())),
        vec2(axes.chart.width() - 8.0, 12.0),
    );
    let font = theme::regular(size::CAPTION);
    // The text stands at the end where the curve is farther from it.
    let gap = |entry: Option<&(f64, Range90)>| {
        entry.map_or(f64::INFINITY, |(_, range)| (range.median - mm).abs())
    };
    if gap(along.along.first()) >= gap(along.along.last()) {
        paint::left(painter, place, &text, font, p.warning);
    } else {
        paint::right(painter, place, &text, font, p.warning);
    }
}

/// The names of the ends, and the length of the line.
fn ends(painter: &Painter, p: &Palette, (rect, chart): (Rect, Rect), plot: &Plot) {
    let texts = Rect::from_min_max(pos2(chart.left(), chart.bottom() + 3.0), rect.max);
    let font = theme::regular(size::CAPTION);
    let [from, to] = plot.ends;
    let third = |i: f32| {
        let left = texts.left() + i * texts.width() / 3.0;
        Rect::from_min_size(
            pos2(left, texts.top()),
            vec2(texts.width() / 3.0 - 4.0, texts.height()),
        )
    };
    paint::name(painter, third(0.0), from, font.clone(), p.t3);
    let length = with_unit(&fixed(plot.line.total_mm(), 0), "mm");
    paint::centre(
        painter,
        third(1.0),
        &format!("{length} long"),
        font.clone(),
        p.t3,
    );
    let to = paint::elided(painter, to, font.clone(), third(2.0).width());
    paint::right(
        painter,
        third(2.0).translate(vec2(4.0, 0.0)),
        &to,
        font,
        p.t3,
    );
}

/// The plot as a sentence.
fn spoken(along: &Distances, name: &str, repetitions: usize) -> String {
    let medians = along.along.iter();
    match medians.min_by(|a, b| a.1.median.total_cmp(&b.1.median)) {
        Some((mm, range)) => format!(
            "Distance along the {name}: least median {}, at {}",
            distance_range(*range, repetitions),
            with_unit(&fixed(*mm, 0), "mm")
        ),
        None => format!("Distance along the {name}: no repetition has one"),
    }
}
