//! The user's choice of a backend, as in `--backend`.

use std::fmt;
use std::str::FromStr;

/// The user's choice (`--backend`, `--threads`, or the setting).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BackendChoice {
    /// Processor, cards or automatic.
    pub kind: BackendKind,
    /// Worker threads; `None` means one per core.
    pub threads: Option<usize>,
}

/// Hardware on which solvers run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BackendKind {
    /// A working graphics card if there is one, otherwise the CPU.
    #[default]
    Auto,
    /// The CPU, even if there is a card.
    Cpu,
    /// These graphics cards, or an error.
    Cuda(DeviceChoice),
}

/// Cards in the driver's order, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceChoice {
    /// The first card, which the driver presumes to be the fastest.
    First,
    /// The card with this number, from 0.
    Number(usize),
    /// The card with the most free memory, and of several the one with the least load.
    LeastUsed,
    /// All cards of the machine.
    All,
}

impl BackendChoice {
    /// The CPU alone.
    pub fn cpu(threads: Option<usize>) -> Self {
        Self {
            kind: BackendKind::Cpu,
            threads,
        }
    }
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(DeviceChoice::First) => f.write_str("cuda"),
            Self::Cuda(DeviceChoice::Number(n)) => write!(f, "cuda:{n}"),
            Self::Cuda(DeviceChoice::LeastUsed) => f.write_str("cuda:auto"),
            Self::Cuda(DeviceChoice::All) => f.write_str("cuda:all"),
        }
    }
}

impl FromStr for BackendKind {
    type Err = UnknownBackend;

    fn from_str(text: &str) -> Result<Self, UnknownBackend> {
        // `parse` alone would accept "+1".
        let number = |n: &str| {
            let digits = n.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| n.parse().ok()).flatten()
        };
        let kind = match text.split_once(':') {
            None if text == "auto" => Some(Self::Auto),
            None if text == "cpu" => Some(Self::Cpu),
            None if text == "cuda" => Some(Self::Cuda(DeviceChoice::First)),
            Some(("cuda", "auto")) => Some(Self::Cuda(DeviceChoice::LeastUsed)),
            Some(("cuda", "all")) => Some(Self::Cuda(DeviceChoice::All)),
            Some(("cuda", n)) => number(n).map(|n| Self::Cuda(DeviceChoice::Number(n))),
            _ => None,
        };
        kind.ok_or_else(|| UnknownBackend(text.to_owned()))
    }
}

/// An unknown name of a backend.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownBackend(String);

impl fmt::Display for UnknownBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "“{}” is not a backend: expected auto, cpu, cuda, cuda:NUMBER, cuda:auto or cuda:all; choose one of \
             them",
            self.0
        )
    }
}

impl std::error::Error for UnknownBackend {}
