//! Device selection, the only place that names CUDA and wgpu.
//!
//! The default build has only the CPU (burn's `flex`). The cargo feature `gpu` adds wgpu (`graphics`): Vulkan, Metal and
//! DirectX 12, by the drivers alone. The cargo feature `cuda` adds NVIDIA cards by CUDA (`cuda`). With either, one
//! executable serves machines with and without a card: drivers are looked up at run time.
//!
//! **To build `cuda`:** `CUDARC_CUDA_VERSION=13000 cargo build --release --features cuda`, the variable naming
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
//! **To run it:** the NVIDIA driver, `libnvrtc` on the library path and the CUDA headers under `CUDA_PATH`. If
//! something is missing, one line reports it and the CPU is used. The first start compiles kernels before
//! `readyok`; they are cached.

mod adapter;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "gpu")]
pub(crate) mod graphics;
mod guard;
#[cfg(any(feature = "gpu", feature = "cuda"))]
mod probe;

pub use adapter::{Adapter, Card};
pub use burn::tensor::Device;
use burn::tensor::Tensor;
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
    /// A graphics card by wgpu, or software in its place if there is none.
    Gpu,
    /// This one of [`adapters`], from 1.
    Adapter(u8),
    /// An NVIDIA GPU.
    Cuda,
    /// The CPU by burn's general kernels: for models that have none of their own, and to compare with.
    BurnCpu,
}

impl Backend {
    /// All backends that have a name, for option tables.
    pub const ALL: [Backend; 5] =
        [Backend::Auto, Backend::Cpu, Backend::Gpu, Backend::Cuda, Backend::BurnCpu];

    /// As options name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Backend::Auto => "auto",
            Backend::Cpu => "cpu",
            Backend::Gpu | Backend::Adapter(_) => "gpu",
            Backend::Cuda => "cuda",
            Backend::BurnCpu => "burn-cpu",
        }
    }

    /// Whether burn computes on `device`, which [`pick`] chose for this backend, and not the CPU's kernels.
    #[must_use]
    pub fn is_by_burn(self, device: &Device) -> bool {
        self == Backend::BurnCpu || !is_cpu(device)
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An unknown backend name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownBackend(String);

impl fmt::Display for UnknownBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "backend \"{}\", expected auto, cpu, gpu, cuda or burn-cpu", self.0)
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
    let found = match backend {
        Backend::Cpu | Backend::BurnCpu => return (Device::flex(), None),
        Backend::Cuda => cuda_card(),
        Backend::Gpu | Backend::Adapter(_) => graphics_card(backend),
        Backend::Auto => cuda_card().or_else(|why| match graphics_card(backend) {
            Err(_) if why.is_for_auto() => Err(why),
            found => found,
        }),
    };
    match found {
        Ok(device) => (device, None),
        Err(why) if backend == Backend::Auto && !why.is_for_auto() => (Device::flex(), None),
        Err(why) => (Device::flex(), Some(why.to_string())),
    }
}

#[cfg(feature = "cuda")]
fn cuda_card() -> Result<Device, Absent> {
    cuda::find()
}

#[cfg(not(feature = "cuda"))]
fn cuda_card() -> Result<Device, Absent> {
    Err(Absent::NotBuilt("cuda"))
}

#[cfg(feature = "gpu")]
fn graphics_card(backend: Backend) -> Result<Device, Absent> {
    graphics::find(match backend {
        Backend::Adapter(number) => graphics::Wish::Number(number),
        Backend::Gpu => graphics::Wish::Any,
        _ => graphics::Wish::Hardware,
    })
}

#[cfg(not(feature = "gpu"))]
fn graphics_card(_: Backend) -> Result<Device, Absent> {
    Err(Absent::NotBuilt("gpu"))
}

/// The adapters in the order of their numbers, the best kind first. Waits for drivers, 3 seconds at most. None without
/// the feature `gpu`.
///
/// # Errors
/// The driver fails, or does not answer.
pub fn adapters() -> Result<Vec<Adapter>, DeviceError> {
    #[cfg(feature = "gpu")]
    return graphics::adapters();
    #[cfg(not(feature = "gpu"))]
    Ok(Vec::new())
}

/// The card behind `device`, which is open; None for the CPU.
#[must_use]
pub fn card(device: &Device) -> Option<Card> {
    #[cfg(any(feature = "gpu", feature = "cuda"))]
    return guarded(|| device.identity())
        .ok()
        .flatten()
        .map(|card| Card { name: card.name, is_software: card.physical.is_none() });
    #[cfg(not(any(feature = "gpu", feature = "cuda")))]
    {
        let _ = device;
        None
    }
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
            corner.map_err(DeviceError::of)
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
        let error = "tpu".parse::<Backend>().unwrap_err().to_string();
        assert!(error.contains("\"tpu\"") && error.contains("cuda"));
    }

    #[test]
    fn the_cpu_is_always_there() {
        for (backend, by_burn) in [(Backend::Cpu, false), (Backend::BurnCpu, true)] {
            let (device, note) = pick(backend);
            assert!(is_cpu(&device) && note.is_none());
            assert_eq!(backend.is_by_burn(&device), by_burn);
        }
    }

    #[cfg(not(any(feature = "gpu", feature = "cuda")))]
    #[test]
    fn a_missing_feature_is_reported_only_if_requested() {
        for (backend, feature) in
            [(Backend::Cuda, "`cuda`"), (Backend::Gpu, "`gpu`"), (Backend::Adapter(2), "`gpu`")]
        {
            let (device, note) = pick(backend);
            let note = note.unwrap();
            assert!(is_cpu(&device) && note.contains(feature) && note.ends_with("using the CPU"));
        }
        assert!(pick(Backend::Auto).1.is_none());
    }
}
