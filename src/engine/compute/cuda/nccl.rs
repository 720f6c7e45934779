//! Sums over several cards through NCCL, which is loaded if it is installed.
//!
//! cudarc supports it, too, but looks for other names than `libnccl.so.2`, the only one that packages without headers
//! install, and panics if a function is missing.

#![allow(
    unsafe_code,
    reason = "calls into a library that is loaded at run time"
)]

use super::{Device, Error};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut as _};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];
/// `ncclFloat32` and `ncclSum`, which have kept their numbers since version 2.0.
const FLOAT32: c_int = 7;
const SUM: c_int = 0;
const OPERATION: &str = "adding up over the graphics cards";

type Comm = *mut c_void;

struct Functions {
    begin: unsafe extern "C" fn() -> c_int,
    end: unsafe extern "C" fn() -> c_int,
    join: unsafe extern "C" fn(*mut Comm, c_int, *const c_int) -> c_int,
    leave: unsafe extern "C" fn(Comm) -> c_int,
    #[allow(clippy::type_complexity, reason = "the signature is that of NCCL")]
    all_reduce: unsafe extern "C" fn(
        *const c_void,
        *mut c_void,
        usize,
        c_int,
        c_int,
        Comm,
        *mut c_void,
    ) -> c_int,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
    /// Keeps the functions loaded.
    _library: Library,
}

/// Loaded once.
fn functions() -> Option<&'static Functions> {
    static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();
    let find = || {
        // SAFETY: loading NCCL runs its initialisers, which every program that uses it does.
        let mut libraries = NAMES.iter().map(|name| unsafe { Library::new(*name) });
        let library = libraries.find_map(Result::ok)?;
        // SAFETY: the types are those of nccl.h, unchanged since version 2.0; no function is called here, and the
        // library stays loaded as long as they exist.
        unsafe {
            Some(Functions {
                begin: *library.get(b"ncclGroupStart").ok()?,
                end: *library.get(b"ncclGroupEnd").ok()?,
                join: *library.get(b"ncclCommInitAll").ok()?,
                leave: *library.get(b"ncclCommDestroy").ok()?,
                all_reduce: *library.get(b"ncclAllReduce").ok()?,
                error_string: *library.get(b"ncclGetErrorString").ok()?,
                _library: library,
            })
        }
    };
    FUNCTIONS.get_or_init(find).as_ref()
}

/// Whether it is installed.
pub fn is_present() -> bool {
    functions().is_some()
}

impl Functions {
    fn check(&self, answer: c_int) -> Result<(), Error> {
        if answer == 0 {
            return Ok(());
        }
        // SAFETY: every number has a message, a text that is never freed.
        let text = unsafe { CStr::from_ptr((self.error_string)(answer)) };
        Err(Error::Driver {
            doing: OPERATION.to_owned(),
            why: format!("NCCL: {}", text.to_string_lossy()),
        })
    }
}

/// Cards that add up together, each on its [`Device::stream`].
pub struct Group {
    functions: &'static Functions,
    /// One per card; calls to them come from one thread at a time.
    comms: Mutex<Vec<Comm>>,
    streams: Vec<Arc<CudaStream>>,
}

// SAFETY: a communicator may be used from any thread, by one at a time.
unsafe impl Send for Group {}
// SAFETY: as above; they are behind a lock.
unsafe impl Sync for Group {}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cards through NCCL", self.streams.len())
    }
}

impl Group {
    /// A group of different cards; `None` if NCCL is not installed or refuses them. Takes about a second.
    pub fn new(devices: &[&Device]) -> Option<Self> {
        let functions = functions()?;
        let numbers: Vec<c_int> = devices.iter().map(|d| d.number() as c_int).collect();
        let mut comms = vec![std::ptr::null_mut(); numbers.len()];
        // SAFETY: one communicator is written per number.
        let joined = unsafe {
            (functions.join)(comms.as_mut_ptr(), numbers.len() as c_int, numbers.as_ptr())
        };
        functions.check(joined).ok()?;
        Some(Self {
            functions,
            comms: Mutex::new(comms),
            streams: devices.iter().map(|d| d.stream().clone()).collect(),
        })
    }

    /// Enqueues the sum of the buffers, one per card in their order, into each of them: equal bits on all cards.
    ///
    /// # Panics
    /// If the number of buffers differs from the number of cards, or their lengths differ.
    pub fn sum_across_devices(&self, buffers: &mut [&mut CudaSlice<f32>]) -> Result<(), Error> {
        assert_eq!(buffers.len(), self.streams.len(), "a buffer a card");
        let count = buffers[0].len();
        assert!(
            buffers.iter().all(|b| b.len() == count),
            "sums of equally many"
        );
        let comms = self.comms.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: takes no arguments; the group begun here is ended below, even if something fails in between.
        self.functions.check(unsafe { (self.functions.begin)() })?;
        let mut result = Ok(());
        for ((buffer, stream), comm) in buffers.iter_mut().zip(&self.streams).zip(comms.iter()) {
            let at = buffer.device_ptr_mut(stream).0 as *mut c_void;
            // SAFETY: the buffer has `count` floats on the card of the communicator and of the stream; everything
            // that reads or frees it is enqueued on that stream, too.
            let answer = unsafe {
                let stream = stream.cu_stream().cast();
                (self.functions.all_reduce)(at, at, count, FLOAT32, SUM, *comm, stream)
            };
            result = result.and(self.functions.check(answer));
        }
        // SAFETY: as above.
        result.and(self.functions.check(unsafe { (self.functions.end)() }))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let comms = self.comms.get_mut().unwrap_or_else(PoisonError::into_inner);
        for comm in comms.drain(..) {
            // SAFETY: it was initialised and is destroyed once; the streams keep its card open. A failure could not
            // be handled.
            unsafe { (self.functions.leave)(comm) };
        }
    }
}
