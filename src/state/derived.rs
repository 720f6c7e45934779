//! Values that follow from others and take a worker to find: asked for once, kept until what they follow
//! from changes. What runs is never cancelled for the next, or a hand that never rests would see nothing.

use std::sync::Arc;

/// What is known of a value, and of what it is on its way.
#[derive(Clone, Debug)]
pub struct Derived<K, V> {
    asked: Option<K>,
    known: Option<(K, V)>,
    /// Asking again would fail again.
    failed: Option<K>,
}

impl<K, V> Default for Derived<K, V> {
    fn default() -> Self {
        Self {
            asked: None,
            known: None,
            failed: None,
        }
    }
}

impl<K: Clone + PartialEq, V> Derived<K, V> {
    /// What is to be asked for now; nothing where it is known, or something is on its way.
    pub fn ask(&mut self, wanted: Option<K>) -> Option<K> {
        let Some(wanted) = wanted else {
            *self = Self::default();
            return None;
        };
        let known = self.known.as_ref().is_some_and(|(key, _)| *key == wanted);
        if known || self.asked.is_some() || self.failed.as_ref() == Some(&wanted) {
            return None;
        }
        self.failed = None;
        self.asked = Some(wanted.clone());
        Some(wanted)
    }

    pub fn asked(&self) -> Option<&K> {
        self.asked.as_ref()
    }

    pub fn known(&self) -> Option<(&K, &V)> {
        self.known.as_ref().map(|(key, value)| (key, value))
    }

    pub fn failed(&self) -> bool {
        self.failed.is_some()
    }

    /// What was asked for is here; nothing where nobody asks for it any more.
    pub fn done(&mut self, value: V) -> Option<K> {
        let key = self.asked.take()?;
        self.known = Some((key.clone(), value));
        Some(key)
    }

    /// What was asked for was cancelled for something else: it may be asked for again.
    pub fn drop_asked(&mut self) {
        self.asked = None;
    }

    /// What failed may be asked for again.
    pub fn retry(&mut self) {
        self.failed = None;
    }

    /// The worker failed, or was stopped.
    pub fn fail(&mut self) {
        self.failed = self.asked.take();
    }
}

/// Values that are the same only if they are the very same.
#[derive(Clone, Debug)]
pub struct ByPtr<T>(pub Arc<[T]>);

impl<T> PartialEq for ByPtr<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
