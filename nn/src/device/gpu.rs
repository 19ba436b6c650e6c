//! Finds a GPU that computes, and configures a disk cache of compiled kernels. Never panics, whatever
//! is missing of driver, toolkit and card.

use super::guard::{Absent, DeviceError, guarded};
use burn::cubecl::config::{CubeClRuntimeConfig, RuntimeConfig, cache::CacheConfig};
use burn::tensor::Device;
use burn::tensor::{DeviceType, Tensor};
use std::sync::{Mutex, PoisonError};

/// The first GPU that multiplies two matrices: listing needs only the driver, a kernel needs NVRTC and the
/// headers too.
pub(super) fn find() -> Result<Device, Absent> {
    /// The panic hook is global: two concurrent probes would restore each other's silence.
    static PROBE: Mutex<()> = Mutex::new(());
    let _alone = PROBE.lock().unwrap_or_else(PoisonError::into_inner);
    // Without the driver every operation would panic, in cubecl's thread too, and print.
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

/// Compiled kernels go into `cubecl/mavka.db` in the user's cache folder (`$XDG_CACHE_HOME`,
/// else `~/.cache`, on Linux); if that is not writable, they are kept in memory. Set here instead of in a
/// `cubecl.toml` of the working folder, which might also make cubecl log to stdout. Only the first call has an
/// effect. cubecl's environment variables count (`CUBECL_DEBUG_LOG=<file>` logs what is compiled).
fn keep_kernels() {
    let mut config = CubeClRuntimeConfig::default().override_from_env();
    config.environment.name = "mavka".to_owned();
    config.environment.path = CacheConfig::Global;
    // Compilation records of the last session only.
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
        assert!(config.compilation.cache);
        assert!(matches!(config.environment.path, CacheConfig::Global));
    }
}
