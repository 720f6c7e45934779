//! Errors of graphics cards, each in one sentence that ends by offering the CPU.

use super::gigabytes;
use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;
use std::fmt;

/// Failure of a graphics card or of its driver.
#[derive(Clone, PartialEq, Debug)]
pub enum Error {
    /// There is no driver library on this machine.
    NoDriver,
    /// The driver's library is not a driver, or too old to have this function.
    Incomplete {
        /// Missing function.
        lacks: &'static str,
    },
    /// The driver's own CUDA version, as 1000 × major + 10 × minor.
    OldDriver {
        /// CUDA version of the driver.
        version: i32,
    },
    /// The driver has not answered within this time.
    NoAnswer {
        /// Operation awaited, as a participle.
        doing: &'static str,
        /// Time waited, s.
        seconds: u64,
    },
    /// The driver sees no card.
    NoDevice,
    /// There is no card with this number.
    NoSuchDevice {
        /// Number that was requested, from 0.
        number: usize,
        /// Number of cards found.
        count: usize,
    },
    /// Compute capability below 7.0.
    OldDevice {
        /// Name of the card.
        name: String,
        /// Its compute capability, major and minor.
        capability: (i32, i32),
    },
    /// The self-test on the card gave other numbers than the CPU.
    WrongAnswer {
        /// Name of the card.
        name: String,
    },
    /// `what` needs more bytes than are free; `lower` states what would need fewer.
    OutOfMemory {
        /// Work that needs the memory, as a participle.
        what: String,
        /// Memory needed, bytes.
        needs: u64,
        /// Memory free, bytes.
        free: u64,
        /// Advice that lowers the need.
        lower: &'static str,
    },
    /// More items than its kernels can number; `lower` states what would need fewer.
    TooMany {
        /// Work with too many items, as a participle.
        what: String,
        /// Advice that lowers their number.
        lower: &'static str,
    },
    /// The card stopped responding, or a kernel accessed invalid memory: nothing works on it any more in this
    /// process.
    Lost {
        /// Call that failed, as a participle.
        doing: String,
        /// Reason given by the driver.
        why: String,
    },
    /// The driver refused to start a kernel.
    Launch {
        /// Call that failed, as a participle.
        doing: String,
        /// Reason given by the driver.
        why: String,
    },
    /// The driver cannot use the kernels of this file.
    Module {
        /// Name of the kernel file without its extension.
        stem: String,
        /// Reason given by the driver.
        why: String,
    },
    /// Any other refusal of the driver.
    Driver {
        /// Call that failed, as a participle.
        doing: String,
        /// Reason given by the driver.
        why: String,
    },
}

impl Error {
    /// The problem without advice, to follow a colon.
    pub fn problem(&self) -> String {
        match self {
            Self::NoDriver => "no NVIDIA driver found".to_owned(),
            Self::Incomplete { lacks } => {
                format!("the NVIDIA driver's library found lacks {lacks}")
            }
            Self::OldDriver { version } => format!(
                "the NVIDIA driver found is for CUDA {}.{}, 12.2 or newer is needed",
                version / 1000,
                version % 1000 / 10
            ),
            Self::NoAnswer { doing, seconds } => {
                format!("the NVIDIA driver did not answer within {seconds} s while {doing}")
            }
            Self::NoDevice => "no NVIDIA graphics card found".to_owned(),
            Self::NoSuchDevice { number, count } => {
                format!("no graphics card has number {number}, found {count} (counted from 0)")
            }
            Self::OldDevice {
                name,
                capability: (major, minor),
            } => format!(
                "{name} found, of compute capability {major}.{minor}, 7.0 or newer is needed"
            ),
            Self::WrongAnswer { name } => format!("{name} found, which fails its self-test"),
            Self::OutOfMemory {
                what, needs, free, ..
            } => format!(
                "{what} needs {} on the graphics card, but {} are free",
                gigabytes(*needs),
                gigabytes(*free)
            ),
            Self::TooMany { what, .. } => {
                format!("{what} are more than a graphics card can index")
            }
            Self::Lost { doing, why } => {
                format!("the graphics card stopped working while {doing} ({why})")
            }
            Self::Launch { doing, why } => {
                format!("the graphics card refused {doing} ({why})")
            }
            Self::Module { stem, why } => {
                format!("the graphics card cannot load the kernels of {stem} ({why})")
            }
            Self::Driver { doing, why } => {
                format!("the NVIDIA driver failed while {doing} ({why})")
            }
        }
    }

    /// One sentence for a run on the CPU because an installed card failed; `None` if there is no usable card.
    pub fn card_problem(&self) -> Option<String> {
        let is_problem = matches!(
            self,
            Self::NoAnswer { .. }
                | Self::WrongAnswer { .. }
                | Self::Lost { .. }
                | Self::Launch { .. }
                | Self::Module { .. }
                | Self::Driver { .. }
        );
        is_problem.then(|| {
            format!(
                "The CPU is used because {}; {}",
                self.problem(),
                self.advice()
            )
        })
    }

    fn advice(&self) -> String {
        let advice = match self {
            Self::NoDriver | Self::Incomplete { .. } | Self::OldDriver { .. } => {
                "install NVIDIA driver 535 or newer, or choose --backend cpu"
            }
            Self::NoSuchDevice { .. } | Self::OldDevice { .. } => {
                "choose another card with --backend cuda:NUMBER, or --backend cpu"
            }
            Self::NoDevice | Self::WrongAnswer { .. } | Self::Launch { .. } => {
                "choose --backend cpu"
            }
            Self::OutOfMemory { lower, .. } => {
                return format!(
                    "{lower}, close other programs on the card, or choose --backend cpu"
                );
            }
            Self::TooMany { lower, .. } => return format!("{lower}, or choose --backend cpu"),
            Self::Lost { .. } => "start again, with --backend cpu if it happens again",
            Self::NoAnswer { .. } => {
                "check whether nvidia-smi answers, restart the machine if not, or choose --backend cpu"
            }
            Self::Module { .. } | Self::Driver { .. } => {
                "update the NVIDIA driver, or choose --backend cpu"
            }
        };
        advice.to_owned()
    }

    /// For lack of memory in any part of a job: states the job and what would need less, as [`super::Device::needs`]
    /// does beforehand.
    pub fn in_job(self, job: &str, less: &'static str) -> Self {
        match self {
            Self::OutOfMemory { needs, free, .. } => Self::OutOfMemory {
                what: job.to_owned(),
                needs,
                free,
                lower: less,
            },
            other => other,
        }
    }

    /// A driver's error while `doing` something ("tracing rays").
    pub(super) fn from_driver(doing: &str, error: DriverError) -> Self {
        let (doing, why) = (doing.to_owned(), driver_message(error));
        if is_lost(error) {
            Self::Lost { doing, why }
        } else if is_launch(error) {
            Self::Launch { doing, why }
        } else {
            Self::Driver { doing, why }
        }
    }
}

/// The driver's own message.
pub(super) fn driver_message(error: DriverError) -> String {
    match error.error_string() {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => format!("error {}", error.0 as u32),
    }
}

pub(super) fn is_out_of_memory(error: DriverError) -> bool {
    error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY
}

fn is_lost(error: DriverError) -> bool {
    use CUresult as R;
    matches!(
        error.0,
        R::CUDA_ERROR_ILLEGAL_ADDRESS
            | R::CUDA_ERROR_MISALIGNED_ADDRESS
            | R::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | R::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | R::CUDA_ERROR_INVALID_PC
            | R::CUDA_ERROR_HARDWARE_STACK_ERROR
            | R::CUDA_ERROR_LAUNCH_FAILED
            | R::CUDA_ERROR_LAUNCH_TIMEOUT
            | R::CUDA_ERROR_ASSERT
            | R::CUDA_ERROR_ECC_UNCORRECTABLE
            | R::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | R::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | R::CUDA_ERROR_DEVICE_UNAVAILABLE
            | R::CUDA_ERROR_UNKNOWN
    )
}

fn is_launch(error: DriverError) -> bool {
    use CUresult as R;
    matches!(
        error.0,
        R::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
            | R::CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING
            | R::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
            | R::CUDA_ERROR_INVALID_VALUE
            | R::CUDA_ERROR_INVALID_IMAGE
    )
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = self.problem();
        let mut characters = problem.chars();
        let first = characters.next().into_iter().flat_map(char::to_uppercase);
        let sentence: String = first.chain(characters).collect();
        write!(f, "{sentence}; {}", self.advice())
    }
}

impl std::error::Error for Error {}
