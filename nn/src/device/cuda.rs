//! Finds an NVIDIA card that computes. Never panics, whatever
//! is missing of driver, toolkit and card.

use super::guard::{Absent, DeviceError, quietly};
use super::probe::{computes, keep_kernels};
use burn::tensor::{Device, DeviceType};

/// The first card that multiplies two matrices: listing needs only the driver, a kernel needs NVRTC and the
/// headers too.
pub(super) fn find() -> Result<Device, Absent> {
    // Without the driver every operation would panic, in cubecl's thread too, and print.
    let probed = quietly(|| {
        keep_kernels();
        let found = Device::enumerate(DeviceType::Cuda).into_vec();
        found.into_iter().next().map(|device| computes(&device).map(|()| device))
    });
    match probed {
        Ok(None) => Err(Absent::missing("CUDA", "no NVIDIA driver or no card")),
        Ok(Some(Ok(device))) => Ok(device),
        Ok(Some(Err(DeviceError(why)))) | Err(DeviceError(why)) => Err(Absent::Broken(why)),
    }
}
