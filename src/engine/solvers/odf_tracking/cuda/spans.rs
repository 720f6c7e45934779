//! Times of kernel launches that overlap.

/// Begin and end of a launch, ms after the begin of the run on its card.
pub type Span = [f32; 2];

/// The milliseconds during which at least one launch ran.
pub fn total_ms(mut spans: Vec<Span>) -> f64 {
    spans.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let (mut total, mut until) = (0.0, 0.0);
    for [begin, end] in spans {
        total += f64::from((end - begin.max(until)).max(0.0));
        until = end.max(until);
    }
    total
}
