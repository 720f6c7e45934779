//! The works that the methods paragraph cites.

/// Cited works, each once, in the order of their first mention.
#[derive(Default)]
pub(in crate::state) struct Citations(pub(in crate::state) Vec<&'static str>);

impl Citations {
    /// `[2]`.
    pub(in crate::state) fn cite(&mut self, work: &'static str) -> String {
        let known = self.0.iter().position(|&w| w == work);
        let number = known.unwrap_or_else(|| {
            self.0.push(work);
            self.0.len() - 1
        });
        format!("[{}]", number + 1)
    }
}
