//! Fits without some streamlines: virtual lesions.

use super::*;

/// The comparison with another fit is shown next to its choice, and only while the fit to compare with is in memory.
pub fn shown() {
    let mut window = window(weighing(Task::Filter), [1280.0, 800.0]);
    click(&mut window, "Run");
    carry_out::<FitWeights>(&mut window);
    // Folded in a narrow window, and opened by the user.
    window.get_by_label("Virtual lesion").scroll_to_me();
    window.run();
    click(&mut window, "Virtual lesion");
    let choices = |window: &Window| {
        let all = window.query_all_by_role_and_label(egui::Role::ComboBox, "Fit without");
        all.count()
    };
    assert_eq!(choices(&window), 1);
    let what = ExcludedStreamlines::Group("Cingulum".to_owned());
    act(&mut window, Action::Filter(FilterAction::Lesion(what)));
    carry_out::<FitWeights>(&mut window);
    window.get_by_label_contains("Without Cingulum RMSE");
    // An opened session has the weights, but not the data to which they were fitted.
    window.state_mut().state.runtime.filter.previous_fit = None;
    window.run();
    assert_eq!(choices(&window), 0);
    window.get_by_label_contains("needs the fit in memory");
    // One button runs it, also where the streamlines have changed as well.
    assert_eq!(window.query_all_by_label("Run again").count(), 1);
    let state = &mut window.state_mut().state;
    let id = state.document.filtered().expect("streamlines").0.id;
    let weights = state.document.weights.get_mut(&id).expect("weights");
    let changed = Tractogram::new(Vec::<[f32; 3]>::new(), vec![0]).id();
    Arc::make_mut(weights).weighted = changed;
    window.run();
    window.get_by_label_contains("fitted before the streamlines were changed");
    assert_eq!(window.query_all_by_label("Run again").count(), 1);
}
