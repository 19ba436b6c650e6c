//! Looks for a GPU that computes. Never panics, whatever of driver, toolkit and card is missing.

use super::{Absent, Device, guarded};
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
        let found = Device::enumerate(DeviceType::Cuda).into_vec();
        found.into_iter().next().map(|device| {
            let ones = Tensor::<2>::ones([64, 64], &device);
            let product = ones.clone().matmul(ones).try_into_vec_as::<f32>();
            (device, product.map_err(|error| error.to_string()))
        })
    });
    std::panic::set_hook(hook);
    match probed {
        Ok(None) => Err(Absent::Missing("no NVIDIA driver or no card")),
        Ok(Some((device, Ok(product)))) if product.iter().all(|x| *x == 64.0) => Ok(device),
        Ok(Some((_, Ok(_)))) => Err(Absent::Broken("a matrix product came out wrong".to_owned())),
        Ok(Some((_, Err(why)))) | Err(why) => Err(Absent::Broken(why)),
    }
}
