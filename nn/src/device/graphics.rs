//! Finds a graphics card by wgpu: Vulkan, Metal or DirectX 12, whose drivers need no toolkit. Never panics, and waits for
//! no driver longer than [`PATIENCE`].

use super::adapter::Adapter;
use super::guard::{Absent, DeviceError, guarded, quietly};
use super::probe::{computes, keep_kernels};
use burn::cubecl::future::block_on;
use burn::tensor::Device;
use burn::tensor::wgpu::{WgpuSetup, wgpu};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::Duration;
use wgpu::{Backends, DeviceType, Features};

/// For a driver to list its cards, open one and compile a first kernel.
const PATIENCE: Duration = Duration::from_secs(20);
/// For the list alone.
const LISTING: Duration = Duration::from_secs(3);

/// Which adapter is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// The best one that is no software.
    Hardware,
    /// The best one.
    Any,
    /// This one of the list, from 1.
    Number(u8),
}

/// The adapters in the order of their numbers, the best kind first. Waits 3 seconds at most.
///
/// # Errors
/// The driver does not answer, or fails.
pub(super) fn adapters() -> Result<Vec<Adapter>, DeviceError> {
    within(LISTING, &AtomicBool::new(false), || enumerate().iter().map(described).collect())
}

/// A device that multiplies two matrices, on the adapter of `wish`; the same one again while it computes.
pub(super) fn find(wish: Wish) -> Result<Device, Absent> {
    /// burn forgets no device that it was given.
    static OPENED: Mutex<Vec<(usize, Device)>> = Mutex::new(Vec::new());
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = opened.clone();
    let found = within(PATIENCE, &HANGS, move || open(wish, &known));
    let (index, device) = found.map_err(|why| Absent::Broken(why.0))??;
    opened.retain(|(other, _)| *other != index);
    opened.push((index, device.clone()));
    Ok(device)
}

/// A driver has not answered within [`PATIENCE`].
static HANGS: AtomicBool = AtomicBool::new(false);

/// The result of `work` on another thread, which is left alone when its time is over: a hanging driver cannot be stopped.
/// `hangs` notes it, lest it be asked again.
fn within<T: Send + 'static>(
    patience: Duration,
    hangs: &AtomicBool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, DeviceError> {
    let no_answer = || DeviceError("its driver does not answer".to_owned());
    if hangs.load(Relaxed) {
        return Err(no_answer());
    }
    let (to, answer) = mpsc::channel();
    let spawned = thread::Builder::new().name("graphics".to_owned()).spawn(move || {
        // Its receiver may have gone.
        let _ = to.send(guarded(work));
    });
    spawned.map_err(|why| DeviceError(format!("no thread for it: {why}")))?;
    quietly(|| answer.recv_timeout(patience))?.unwrap_or_else(|_| {
        hangs.store(true, Relaxed);
        Err(no_answer())
    })
}

fn instance() -> &'static wgpu::Instance {
    /// Never dropped: Vulkan loaders crash when instances come and go on several threads.
    static INSTANCE: OnceLock<wgpu::Instance> = OnceLock::new();
    INSTANCE.get_or_init(|| {
        wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: Backends::PRIMARY,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        })
    })
}

/// The adapters of the first API that has a card, else of the first that has any: the same card answers to several APIs.
fn enumerate() -> Vec<wgpu::Adapter> {
    let mut software = Vec::new();
    for api in [Backends::METAL, Backends::VULKAN, Backends::DX12] {
        let mut found = block_on(instance().enumerate_adapters(api));
        found.sort_by_key(|adapter| rank(adapter.get_info().device_type));
        if found.first().is_some_and(|best| best.get_info().device_type != DeviceType::Cpu) {
            return found;
        }
        if software.is_empty() {
            software = found;
        }
    }
    software
}

fn rank(kind: DeviceType) -> u8 {
    match kind {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    }
}

fn described(adapter: &wgpu::Adapter) -> Adapter {
    let info = adapter.get_info();
    let kind = ["discrete", "integrated", "virtual", "other", "software"];
    Adapter {
        name: info.name,
        kind: kind[usize::from(rank(info.device_type))],
        api: format!("{:?}", info.backend),
    }
}

/// The index of the adapter that `wish` means, among these kinds, the best first.
fn choose(wish: Wish, kinds: &[DeviceType]) -> Result<usize, Absent> {
    let missing = |why: String| Err(Absent::missing("a graphics card", why));
    match wish {
        _ if kinds.is_empty() => missing("no driver for Vulkan, Metal or DirectX 12".to_owned()),
        Wish::Hardware if kinds[0] == DeviceType::Cpu => {
            missing("its drivers compute on the CPU".to_owned())
        }
        Wish::Hardware | Wish::Any => Ok(0),
        Wish::Number(number) => match usize::from(number).checked_sub(1) {
            Some(index) if index < kinds.len() => Ok(index),
            _ => missing(format!("Device {number} of {}: see `mavka doctor`", kinds.len())),
        },
    }
}

fn open(wish: Wish, opened: &[(usize, Device)]) -> Result<(usize, Device), Absent> {
    keep_kernels();
    let adapters = enumerate();
    let kinds: Vec<DeviceType> =
        adapters.iter().map(|adapter| adapter.get_info().device_type).collect();
    let index = choose(wish, &kinds)?;
    let known = opened.iter().find(|(other, _)| *other == index).map(|(_, device)| device);
    if let Some(device) = known.filter(|device| computes(device).is_ok()) {
        return Ok((index, device.clone()));
    }
    let name = adapters[index].get_info().name;
    let limits = adapters[index].limits();
    let device = device_of(&adapters[index], limits)
        .and_then(|(device, _)| computes(&device).map(|()| device))
        .map_err(|why| Absent::Broken(format!("{name}: {why}")))?;
    Ok((index, device))
}

/// A device of burn on `adapter`, and of wgpu.
fn device_of(
    adapter: &wgpu::Adapter,
    limits: wgpu::Limits,
) -> Result<(Device, wgpu::Device), DeviceError> {
    // As burn asks for its own: the experimental ones would need `unsafe`, and kernels in WGSL use none.
    let unused = Features::MAPPABLE_PRIMARY_BUFFERS | Features::all_experimental_mask();
    let descriptor = wgpu::DeviceDescriptor {
        required_features: adapter.features().difference(unused),
        required_limits: limits,
        memory_hints: wgpu::MemoryHints::MemoryUsage,
        ..Default::default()
    };
    let (device, queue) = block_on(adapter.request_device(&descriptor)).map_err(DeviceError::of)?;
    let (instance, backend) = (instance().clone(), adapter.get_info().backend);
    let adapter = adapter.clone();
    let setup = WgpuSetup { instance, adapter, device: device.clone(), queue, backend };
    let by_burn = Device::wgpu_options().setup(setup).init().map_err(DeviceError::of)?;
    Ok((by_burn, device))
}

/// A device for a test alone, on the best adapter, with limits as `change` makes them; with its handle, by which to lose it.
#[cfg(test)]
pub(crate) fn another(
    change: impl FnOnce(&mut wgpu::Limits) + Send + 'static,
) -> Result<(Device, wgpu::Device), DeviceError> {
    within(PATIENCE, &HANGS, || {
        keep_kernels();
        let adapters = enumerate();
        let adapter = adapters.first().ok_or_else(|| DeviceError("no adapter".to_owned()))?;
        let mut limits = adapter.limits();
        change(&mut limits);
        device_of(adapter, limits)
    })?
}

#[cfg(test)]
mod tests {
    use super::*;
    use DeviceType::{Cpu, DiscreteGpu, IntegratedGpu};

    #[test]
    fn adapters_are_listed_with_their_kind() {
        let adapters = adapters().unwrap();
        assert!(!adapters.is_empty(), "needs an adapter of Vulkan, Metal or DirectX 12");
        assert!(adapters.iter().all(|one| !one.name.is_empty() && !one.kind.is_empty()));
        assert!(find(Wish::Number(1)).is_ok());
        let beyond = u8::try_from(adapters.len() + 1).unwrap();
        assert!(find(Wish::Number(beyond)).is_err_and(|why| why.to_string().contains("Device")));
        let has_card = adapters[0].kind != "software";
        assert_eq!(find(Wish::Hardware).is_ok(), has_card);
    }

    #[test]
    fn a_driver_that_hangs_is_left_alone() {
        let (end, never) = mpsc::channel::<()>();
        let (patience, hangs) = (Duration::from_millis(1), &AtomicBool::new(false));
        let first = within(patience, hangs, move || never.recv().is_ok());
        assert!(first.is_err_and(|why| why.0.contains("does not answer")));
        assert!(within(PATIENCE, hangs, || ()).is_err(), "not asked again");
        drop(end);
        assert_eq!(within(PATIENCE, &AtomicBool::new(false), || 3), Ok(3));
    }

    #[test]
    fn software_is_used_only_by_name() {
        let both = [DiscreteGpu, Cpu];
        assert_eq!(choose(Wish::Hardware, &both), Ok(0));
        assert_eq!(choose(Wish::Any, &[Cpu]), Ok(0));
        assert_eq!(choose(Wish::Number(2), &both), Ok(1));
        for (wish, kinds) in [
            (Wish::Hardware, &[Cpu][..]),
            (Wish::Any, &[]),
            (Wish::Number(3), &both),
            (Wish::Number(0), &[IntegratedGpu]),
        ] {
            let note = choose(wish, kinds).unwrap_err().to_string();
            assert!(note.starts_with("a graphics card is not available"), "{note}");
            assert!(note.ends_with("using the CPU"), "{note}");
        }
    }
}
