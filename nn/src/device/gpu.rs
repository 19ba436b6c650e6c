//! Looks for a GPU that computes, and has what is compiled and tuned for it kept on disk. Never panics,
//! whatever of driver, toolkit and card is missing.

use super::guard::{Absent, DeviceError, guarded};
use burn::cubecl::config::{CubeClRuntimeConfig, RuntimeConfig, cache::CacheConfig};
use burn::tensor::Device;
use burn::tensor::{DeviceType, Tensor};
use std::sync::{Mutex, PoisonError};

/// The first GPU that multiplies two matrices: listing needs the driver alone, a kernel needs NVRTC and
/// the headers too.
pub(super) fn find() -> Result<Device, Absent> {
    /// The hook is the process's: two probes at once would restore each other's silence.
    static PROBE: Mutex<()> = Mutex::new(());
    let _alone = PROBE.lock().unwrap_or_else(PoisonError::into_inner);
    // Without the driver every operation would panic, in cubecl's thread too, and print as it does.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let probed = guarded(|| {
        keep_kernels();
        let found = Device::enumerate(DeviceType::Cuda).into_vec();
        found.into_iter().next().map(|device| {
            let ones = Tensor::<2>::ones([64, 64], &device);
            let product = ones.clone().matmul(ones).try_into_vec_as::<f32>();
            (device, product.map_err(|error| DeviceError(error.to_string())))
        })
    });
    std::panic::set_hook(hook);
    match probed {
        Ok(None) => Err(Absent::Missing("no NVIDIA driver or no card")),
        Ok(Some((device, Ok(product)))) if product.iter().all(|x| *x == 64.0) => Ok(device),
        Ok(Some((_, Ok(_)))) => Err(Absent::Broken("a matrix product came out wrong".to_owned())),
        Ok(Some((_, Err(why)))) | Err(why) => Err(Absent::Broken(why.0)),
    }
}

/// Compiled kernels and the results of tuning go into `cubecl/mavka.db` in the user's cache folder
/// (`$XDG_CACHE_HOME`, else `~/.cache`, on Linux); where that cannot be written, they are kept in memory.
/// Set here and not read from a `cubecl.toml` where the engine happens to start, which might also have
/// cubecl log to stdout. Only the first call counts.
fn keep_kernels() {
    let mut config = CubeClRuntimeConfig::default();
    config.environment.name = "mavka".to_owned();
    config.environment.path = CacheConfig::Global;
    // Its diary of what was compiled when: of the last session alone.
    config.environment.records.keep_sessions = Some(0);
    config.compilation.cache = true;
    CubeClRuntimeConfig::try_set(config);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_kept_in_the_users_cache_folder() {
        keep_kernels();
        keep_kernels();
        let config = CubeClRuntimeConfig::get();
        assert!(config.compilation.cache && !config.autotune.disable_cache);
        assert!(matches!(config.environment.path, CacheConfig::Global));
    }
}
