//! The letters at the edges of a slice, which name the sides of the patient there.

use super::slice_paint::MARGIN;
use super::slice_view::Slice;
use super::{annotations, chrome};
use crate::ui::theme::{self, IN_VIEW, size};
use egui::{Align2, Painter, Pos2, Rect, vec2};

/// Half of a letter's width.
const HALF: f32 = 5.0;

/// The place of the upper letter: in the middle, else to the right of a line of the title, or below all lines if there
/// is no room. Below them, the letter would lie over the picture of a small view.
fn clear_of_title(
    slice: &Slice,
    title: &[Rect],
    (middle, half): (Pos2, f32),
    place: &dyn Fn(f32) -> f32,
) -> Pos2 {
    /// Closer to a line of the title, a letter would read as part of it.
    const TITLE_GAP: f32 = 6.0;
    /// Space between a letter and the view's right edge.
    const EDGE: f32 = 4.0;
    let size = vec2(2.0 * half, size::LETTER);
    let rect = |at: Pos2| Align2::CENTER_TOP.anchor_size(at, size);
    let covers = |at: Pos2, line: &Rect| rect(at).intersects(line.expand2(vec2(TITLE_GAP, 0.0)));
    let is_clear = |at: Pos2| !title.iter().any(|line| covers(at, line));
    if is_clear(middle) {
        return middle;
    }
    let buttons = [true, false].map(|legend| chrome::slice_buttons_at(slice, legend));
    let right_of = |line: &Rect| {
        let x = line.right() + TITLE_GAP + half + 1.0;
        egui::pos2(place(x), line.center().y - 0.5 * size.y)
    };
    let free = |at: &Pos2| {
        rect(*at).right() <= slice.rect.right() - EDGE
            && is_clear(*at)
            && !buttons.iter().any(|b| b.intersects(rect(*at)))
    };
    if let Some(at) = title.iter().map(right_of).find(free) {
        return at;
    }
    title
        .iter()
        .fold(middle, |at, line| match covers(at, line) {
            true => egui::pos2(at.x, line.bottom()),
            false => at,
        })
}

/// `title`: its lines, which the letter of the upper edge avoids. `place`: where the centre of a letter goes. Returns
/// the rectangles of the letters.
pub(super) fn show(
    painter: &Painter,
    slice: &Slice,
    title: &[Rect],
    rings: &[Rect],
    place: &dyn Fn(f32) -> f32,
) -> Vec<Rect> {
    let Some(letters) = slice.state.view.letters(slice.pane) else {
        return Vec::new();
    };
    let mut placed = Vec::new();
    let unknown = slice.state.sides_unknown();
    let rect = slice.rect.shrink(MARGIN);
    let places = [
        (rect.left_center(), Align2::LEFT_CENTER, 1.0),
        (rect.right_center(), Align2::RIGHT_CENTER, -1.0),
        (rect.center_top() - vec2(0.0, 2.0), Align2::CENTER_TOP, 0.0),
        (
            rect.center_bottom() + vec2(0.0, 2.0),
            Align2::CENTER_BOTTOM,
            0.0,
        ),
    ];
    for ((at, align, inwards), letter) in places.into_iter().zip(letters) {
        let half = HALF * letter.chars().count() as f32;
        // A guessed side is not shown as a letter.
        let guessed = unknown && letter.contains(['L', 'R']);
        let (text, colour) = if guessed {
            (format!("{letter}?"), IN_VIEW.warning)
        } else {
            (letter, IN_VIEW.t1)
        };
        let font = theme::semibold(size::LETTER);
        let to_middle = half * inwards;
        let mut at = egui::pos2(place(at.x + to_middle) - to_middle, at.y);
        if align == Align2::CENTER_TOP {
            at = clear_of_title(slice, title, (at, half), place);
        }
        placed.push(annotations::text_over(
            painter,
            at,
            align,
            &[(&text, font, colour)],
            rings,
        ));
    }
    placed
}
