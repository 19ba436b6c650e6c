//! First steps on a card, by CUDA or wgpu: the settings of burn's kernels, and a matrix product.

use super::guard::{DeviceError, guarded};
use burn::cubecl::config::cache::CacheConfig;
use burn::cubecl::config::{CubeClRuntimeConfig, RuntimeConfig};
use burn::tensor::{Device, Tensor};

/// Multiplies two matrices.
///
/// # Errors
/// The device fails, or the product is wrong.
pub(super) fn computes(device: &Device) -> Result<(), DeviceError> {
    let product = guarded(|| {
        let ones = Tensor::<2>::ones([64, 64], device);
        let product = ones.clone().matmul(ones).try_into_vec_as::<f32>();
        product.map_err(DeviceError::of)
    })??;
    match product.iter().all(|x| *x == 64.0) {
        true => Ok(()),
        false => Err(DeviceError("a matrix product came out wrong".to_owned())),
    }
}

/// Compiled kernels go into `cubecl/mavka.db` in the user's cache folder (`$XDG_CACHE_HOME`,
/// else `~/.cache`, on Linux); if that is not writable, they are kept in memory. Set here instead of in a
/// `cubecl.toml` of the working folder, which might also make cubecl log to stdout. Only the first call has an
/// effect. cubecl's environment variables count (`CUBECL_DEBUG_LOG=<file>` logs what is compiled).
pub(super) fn keep_kernels() {
    let mut config = CubeClRuntimeConfig::default().override_from_env();
    config.environment.name = "mavka".to_owned();
    config.environment.path = CacheConfig::Global;
    // Compilation records of the last session only.
    config.environment.records.keep_sessions = Some(0);
    // Kernels in WGSL are compiled by the driver, which has a cache of its own.
    #[cfg(feature = "cuda")]
    {
        config.compilation.cache = true;
    }
    CubeClRuntimeConfig::try_set(config);
}

#[cfg(all(test, feature = "cuda"))]
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
