//! Errors of parameters. Each is one sentence that states what was found, what was expected and what to do.

/// The reason why parameters were refused.
#[derive(Clone, PartialEq, Debug)]
pub enum ParamError {
    /// A value that cannot be parsed, or that its limits do not permit.
    Value {
        /// The parameter's name in the window.
        label: &'static str,
        /// Its option.
        key: &'static str,
        /// The value, as written.
        found: String,
        /// The permitted values.
        expected: String,
        /// A permitted value.
        example: String,
    },
    /// An option without effect, given the other values.
    Unused {
        /// The parameter's option.
        key: &'static str,
        /// Why it has no effect.
        reason: &'static str,
    },
    /// Values that are incompatible.
    Combination {
        /// The value that was found, without a verb.
        found: String,
        /// The value that was expected.
        expected: String,
        /// The remedy.
        action: String,
    },
}

impl ParamError {
    /// Names the option that contains the wrong part of a composite value.
    pub fn in_option(self, option: &str) -> Self {
        match self {
            Self::Value {
                label,
                found,
                expected,
                example,
                ..
            } => Self::Combination {
                found: format!("{found} in --{option} ({label})"),
                expected,
                action: format!("choose for example {example}"),
            },
            error => error,
        }
    }
}

impl std::fmt::Display for ParamError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Value {
                label,
                key,
                found,
                expected,
                example,
            } => {
                // The window has no options.
                let option = match f.alternate() {
                    true => String::new(),
                    false => format!(" (--{key})"),
                };
                write!(
                    f,
                    "Found {found} for {label}{option}, expected {expected}; choose for example {example}"
                )
            }
            Self::Unused { key, reason } => {
                write!(
                    f,
                    "Found --{key}, which has no effect: {reason}; leave it out"
                )
            }
            Self::Combination {
                found,
                expected,
                action,
            } => write!(f, "Found {found}, expected {expected}; {action}"),
        }
    }
}

impl std::error::Error for ParamError {}
