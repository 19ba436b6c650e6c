//! Instruction sets of the kernels, and plain loops compiled for each of them.
//!
//! `unsafe` here calls functions compiled for instructions that the CPU has, and requests AMX from the system.

use std::fmt;
use std::str::FromStr;
#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;

/// Instruction sets with kernels, from the baseline to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Plain loops; products by the `gemm` crate except on x86-64.
    Portable,
    /// NEON, baseline of aarch64: 4 floats per vector; float products by the `gemm` crate.
    Neon,
    /// AVX2 with FMA: 8 floats per vector.
    Avx2,
    /// AVX-512 F, BW, DQ and VL: 16 floats per vector.
    Avx512,
    /// The same with bf16 and VNNI, and AMX's bf16 and int8 tiles, permitted to this process by the system.
    Amx,
}

impl Isa {
    /// The sets of this architecture, from the baseline to the widest.
    #[cfg(target_arch = "x86_64")]
    pub const ALL: &[Isa] = &[Isa::Portable, Isa::Avx2, Isa::Avx512, Isa::Amx];
    /// The sets of this architecture, from the baseline to the widest.
    #[cfg(target_arch = "aarch64")]
    pub const ALL: &[Isa] = &[Isa::Portable, Isa::Neon];
    /// The sets of this architecture, from the baseline to the widest.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub const ALL: &[Isa] = &[Isa::Portable];

    /// The widest set that this CPU has.
    #[must_use]
    #[inline]
    pub fn found() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            static FOUND: OnceLock<Isa> = OnceLock::new();
            *FOUND.get_or_init(detect)
        }
        #[cfg(not(target_arch = "x86_64"))]
        Isa::widest(Isa::Neon)
    }

    /// This set, or the widest that this CPU has if it lacks this one: what a kernel dispatches on.
    #[must_use]
    #[inline]
    pub fn available(self) -> Isa {
        self.min(Isa::found())
    }

    /// The widest of [`Isa::ALL`] up to `most`.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    fn widest(most: Isa) -> Isa {
        let allowed = Isa::ALL.iter().rev().find(|isa| **isa <= most);
        *allowed.unwrap_or(&Isa::Portable)
    }
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Isa {
    let fma = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let wide = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    match (fma, wide) {
        (true, true) if amx() => Isa::Amx,
        (true, true) => Isa::Avx512,
        (true, false) => Isa::Avx2,
        _ => Isa::Portable,
    }
}

/// Whether this CPU has AVX512_BF16.
pub(crate) fn bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    let halves = Isa::found() >= Isa::Avx512 && is_x86_feature_detected!("avx512bf16");
    #[cfg(not(target_arch = "x86_64"))]
    let halves = false;
    halves
}

/// Whether this CPU has what [`Isa::Amx`] adds to AVX-512, and the system permits it.
#[cfg(target_arch = "x86_64")]
fn amx() -> bool {
    let tiles = (1 << 22) | (1 << 24) | (1 << 25); // bf16, tiles, bytes
    let features = std::arch::x86_64::__cpuid_count(7, 0).edx;
    let present = features & tiles == tiles && permitted();
    // `.ci/amx` emulates tiles to test them on any CPU with the other instructions.
    is_x86_feature_detected!("avx512bf16")
        && is_x86_feature_detected!("avx512vnni")
        && (present || cfg!(emulated_amx))
}

/// Requests permission to use tiles: Linux saves their large registers only for processes that asked.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn permitted() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_long = 18;
    // SAFETY: arch_prctl with this code takes two integers and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
}

/// Not implemented for other systems.
#[cfg(all(target_arch = "x86_64", not(target_os = "linux")))]
fn permitted() -> bool {
    false
}

/// Compiles a function of plain loops for AVX-512, for AVX2 with FMA and for the baseline; a call dispatches on its
/// first argument, an [`Isa`]. Inside, `FUSED` says whether multiply-add is one instruction.
#[macro_export]
macro_rules! by_isa {
    (
        $(#[$note:meta])*
        pub fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $answer:ty)? $body:block
    ) => {
        $(#[$note])*
        pub fn $name(isa: $crate::Isa, $($arg: $type),*) $(-> $answer)? {
            #[inline(always)]
            fn plain<const FUSED: bool>($($arg: $type),*) $(-> $answer)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            fn avx512($($arg: $type),*) $(-> $answer)? {
                plain::<true>($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($arg: $type),*) $(-> $answer)? {
                plain::<true>($($arg),*)
            }

            match isa.available() {
                // SAFETY: `Isa::available` is at most `Isa::found`: the CPU has AVX-512 F/BW/DQ/VL, AVX2 and FMA.
                #[cfg(target_arch = "x86_64")]
                $crate::Isa::Avx512 | $crate::Isa::Amx => unsafe { avx512($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `Isa::available` is at most `Isa::found`: the CPU has AVX2 and FMA.
                $crate::Isa::Avx2 => unsafe { avx2($($arg),*) },
                // aarch64's baseline has fused multiply-add, x86-64's has not.
                _ => plain::<{ cfg!(target_arch = "aarch64") }>($($arg),*),
            }
        }
    };
}
impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Isa::Portable => "portable",
            Isa::Neon => "neon",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
            Isa::Amx => "amx",
        })
    }
}

/// A name as written by [`fmt::Display`], of a set that this CPU has.
impl FromStr for Isa {
    type Err = IsaError;

    fn from_str(text: &str) -> Result<Isa, IsaError> {
        let known = Isa::ALL.iter().find(|isa| isa.to_string() == text);
        let isa = *known.ok_or(IsaError::Unknown)?;
        (isa <= Isa::found()).then_some(isa).ok_or(IsaError::Absent(isa))
    }
}

/// Why a name is no usable set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsaError {
    /// Unknown name.
    Unknown,
    /// This CPU does not have it.
    Absent(Isa),
}

impl fmt::Display for IsaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IsaError::Unknown => {
                let names: Vec<String> = Isa::ALL.iter().map(Isa::to_string).collect();
                write!(f, "expected one of {}", names.join(", "))
            }
            IsaError::Absent(isa) => write!(f, "this CPU has no {isa}"),
        }
    }
}

impl std::error::Error for IsaError {}

/// Reports on stderr that a check was left out because this CPU lacks `instructions`. Written past `eprintln!`, which
/// the test harness hides where a test passes; the count is that of the process. `.ci/run` counts the lines.
#[cfg(test)]
pub(crate) fn skipped(instructions: impl fmt::Display) {
    use std::io::Write;
    use std::sync::atomic::{AtomicUsize, Ordering};
    static SKIPPED: AtomicUsize = AtomicUsize::new(0);
    // Relaxed: only a number to print.
    let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    let line = format!("skipped: no {instructions} (check {count} left out)\n");
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Whether this CPU has `isa`; reported by [`skipped`] if not.
#[cfg(test)]
pub(crate) fn is_here(isa: Isa) -> bool {
    if isa > Isa::found() {
        skipped(isa);
    }
    isa <= Isa::found()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_if_the_cpu_has_them() {
        for isa in Isa::ALL {
            let read: Result<Isa, IsaError> = isa.to_string().parse();
            assert_eq!(read.is_ok(), *isa <= Isa::found(), "{isa}");
            assert!(read.is_err() || read == Ok(*isa));
        }
        let unknown = "sse".parse::<Isa>().unwrap_err();
        assert!(unknown.to_string().starts_with("expected one of portable"), "{unknown}");
    }

    #[test]
    fn a_set_that_the_cpu_lacks_becomes_one_that_it_has() {
        assert!(Isa::ALL.contains(&Isa::found()));
        for most in [Isa::Portable, Isa::Neon, Isa::Avx2, Isa::Avx512, Isa::Amx] {
            let widest = Isa::widest(most);
            assert!(widest <= most && Isa::ALL.contains(&widest), "{widest} for {most}");
            assert!(most.available() <= Isa::found());
        }
    }
}
