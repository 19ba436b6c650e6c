//! Device selection. With its other half, `gpu`, the only place that names CUDA.
//!
//! The default build has only the CPU (burn's `flex`). With the cargo feature `cuda` one binary serves machines
//! with and without an NVIDIA card: the driver is looked up at run time.
//!
//! **To build it:** `CUDARC_CUDA_VERSION=13000 cargo build --release --features cuda`, the variable naming
//! the oldest CUDA to run on (13000 = 13.0; without it and without `nvcc` the newest known is taken,
//! and calls an older driver lacks panic). No toolkit is needed for building. cubecl-cuda names two compilers:
//! the feature `cpp` set in `Cargo.toml` chooses NVRTC, but the other, cubecl-llvm, is built as well, and its
//! build script downloads LLVM. Where that fails, a stand-in takes its place without a change to the manifest:
//! `--config 'patch.crates-io.cubecl-llvm.path="<folder>"'`, the folder holding a crate `cubecl-llvm` 0.11.3
//! with the features `std`, `nvptx`, `pliron-dump` and the names that cubecl-cuda uses:
//! `PlironCompiler { target: LlvmTarget }` with cubecl-server's trait `Compiler`, `LlvmTarget::Nvptx`,
//! `PlironOptions` (fields `arch`, `sm_arch`, `ptx_version`, `grid_constants`, and one more),
//! `PlironArtifact::NvptxCode(NvptxModule)` (and another variant), `NvptxModule` (fields `ptx`, `entrypoint`,
//! `ir`, `shared_memory_size`, `io`), `nvptx::ptx_version::PtxVersion::for_driver`,
//! `shared::lowered_features::{GpuTarget::Nvptx, restrict_features}`. None but `for_driver` is ever called. Cargo
//! then rewrites `Cargo.lock`: not to be committed.
//!
//! **To run it:** the driver, `libnvrtc` on the library path and the CUDA headers under `CUDA_PATH`. If
//! something is missing, one line reports it and the CPU is used. The first start compiles kernels before
//! `readyok`; they are cached.

#[cfg(feature = "cuda")]
mod gpu;
mod guard;

pub use burn::tensor::Device;
use burn::tensor::Tensor;
#[cfg(feature = "cuda")]
use gpu::find;
use guard::Absent;
pub use guard::DeviceError;
pub use guard::guarded;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// The requested backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// The GPU if there is one, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// The CPU by burn's general kernels: for models that have none of their own, and to compare with.
    BurnCpu,
}

impl Backend {
    /// All backends, for option tables.
    pub const ALL: [Backend; 4] = [Backend::Auto, Backend::Cpu, Backend::Cuda, Backend::BurnCpu];

    /// Whether burn computes on `device`, which [`pick`] chose for this backend, and not the CPU's kernels.
    #[must_use]
    pub fn is_by_burn(self, device: &Device) -> bool {
        self == Backend::BurnCpu || !is_cpu(device)
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Auto => "auto",
            Backend::Cpu => "cpu",
            Backend::Cuda => "cuda",
            Backend::BurnCpu => "burn-cpu",
        })
    }
}

/// An unknown backend name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownBackend(String);

impl fmt::Display for UnknownBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "backend \"{}\", expected auto, cpu, cuda or burn-cpu", self.0)
    }
}

impl std::error::Error for UnknownBackend {}

impl FromStr for Backend {
    type Err = UnknownBackend;

    fn from_str(word: &str) -> Result<Backend, UnknownBackend> {
        let named = |backend: &Backend| backend.to_string().eq_ignore_ascii_case(word);
        Backend::ALL.into_iter().find(named).ok_or_else(|| UnknownBackend(word.to_owned()))
    }
}

/// The device for `backend`, and a note for the user if it may not be the expected one.
///
/// Probing a GPU takes seconds. Must not run while other threads may panic: the panic hook is silenced
/// meanwhile.
#[must_use]
pub fn pick(backend: Backend) -> (Device, Option<String>) {
    if matches!(backend, Backend::Cpu | Backend::BurnCpu) {
        return (Device::flex(), None);
    }
    match find() {
        Ok(device) => (device, None),
        Err(Absent::Missing(why)) if backend == Backend::Cuda || cfg!(feature = "cuda") => {
            (Device::flex(), Some(format!("CUDA is not available ({why}); using the CPU")))
        }
        Err(Absent::Missing(_)) => (Device::flex(), None),
        #[cfg(feature = "cuda")]
        Err(Absent::Broken(why)) => {
            (Device::flex(), Some(format!("the GPU does not compute ({why}); using the CPU")))
        }
    }
}

#[cfg(not(feature = "cuda"))]
fn find() -> Result<Device, Absent> {
    Err(Absent::Missing("this program was built without it"))
}

/// True for the CPU, with or without autodiff.
#[must_use]
pub fn is_cpu(device: &Device) -> bool {
    device.clone().without_autodiff() == Device::flex()
}

/// Single-precision matrix product rate of `device` in FLOP/s, measured for `time`.
///
/// # Errors
/// The device failed.
pub fn sgemm_peak(device: &Device, time: Duration) -> Result<f64, DeviceError> {
    const N: usize = 2048;
    const CHAIN: u32 = 8;
    // Rows sum to 1, so that the products neither grow nor vanish.
    let work = || {
        let a = Tensor::<2>::full([N, N], 1.0 / N as f32, device);
        // Synchronises: the device only queues operations.
        let run = || {
            let product = (0..CHAIN).fold(a.clone(), |product, _| product.matmul(a.clone()));
            let corner = product.slice([0..1, 0..1]).try_into_vec_as::<f32>();
            corner.map_err(|error| DeviceError(error.to_string()))
        };
        run()?;
        let (start, mut chains) = (Instant::now(), 0);
        while chains == 0 || start.elapsed() < time {
            run()?;
            chains += 1;
        }
        let operations = 2.0 * (N as f64).powi(3) * f64::from(CHAIN * chains);
        Ok(operations / start.elapsed().as_secs_f64())
    };
    guarded(work)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_are_read_as_they_are_written() {
        for backend in Backend::ALL {
            assert_eq!(backend.to_string().to_uppercase().parse(), Ok(backend));
        }
        let error = "gpu".parse::<Backend>().unwrap_err().to_string();
        assert!(error.contains("\"gpu\"") && error.contains("cuda"));
    }

    #[test]
    fn the_cpu_is_always_there() {
        for (backend, by_burn) in [(Backend::Cpu, false), (Backend::BurnCpu, true)] {
            let (device, note) = pick(backend);
            assert!(is_cpu(&device) && note.is_none());
            assert_eq!(backend.is_by_burn(&device), by_burn);
        }
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn missing_cuda_is_reported_only_if_requested() {
        let (device, note) = pick(Backend::Cuda);
        assert!(is_cpu(&device) && note.unwrap().contains("using the CPU"));
        assert!(pick(Backend::Auto).1.is_none());
    }
}
