//! Parameter files: safetensors whose metadata hold a format, a version and facts. Written atomically.
//! [`crate::checkpoint`] stores networks in them, `writer::file` decoders, the crate `games` networks of other games.

use crate::files::{read_regular, write_whole};
use crate::net::params::Param;
use half::f16;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// A larger file is refused before it is read; ours are much smaller.
const MAX_BYTES: u64 = 1 << 30;
/// Largest safetensors header: about 100 bytes per tensor, and parsing takes more memory than its text.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// Storage precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 16 bits per number.
    Half,
    /// 32 bits per number.
    Full,
}

/// Errors of a parameter file.
#[derive(Debug)]
pub enum CheckpointError {
    /// The file cannot be read or written.
    Io(std::io::Error),
    /// Not a file of ours, or damaged: found and expected.
    Format(String),
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckpointError::Io(error) => write!(f, "{error}"),
            CheckpointError::Format(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for CheckpointError {}

impl From<std::io::Error> for CheckpointError {
    fn from(error: std::io::Error) -> Self {
        CheckpointError::Io(error)
    }
}

/// An error of the content: found and expected.
pub fn format_error(what: impl fmt::Display) -> CheckpointError {
    CheckpointError::Format(what.to_string())
}

/// A file's metadata by name.
pub type Facts = HashMap<String, String>;

/// A file format: its name and the newest version that this code reads and writes.
#[derive(Clone, Copy)]
pub struct Format {
    /// Stands in the metadata as `format`.
    pub name: &'static str,
    /// Stands in the metadata as `version`.
    pub version: u32,
}

impl Format {
    /// The tensors and facts of a file.
    ///
    /// # Errors
    /// Not safetensors, a header beyond `MAX_HEADER_BYTES`, another format, or a newer version.
    pub fn open(self, bytes: &[u8]) -> Result<(SafeTensors<'_>, Facts), CheckpointError> {
        // A file begins with its header's length.
        if let Some(length) = bytes.first_chunk().map(|length| u64::from_le_bytes(*length))
            && length > MAX_HEADER_BYTES
        {
            let what = format!("a header of {length} bytes, expected at most {MAX_HEADER_BYTES}");
            return Err(format_error(what));
        }
        let damaged = |e| format_error(format!("not a whole safetensors file ({e})"));
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(damaged)?;
        let facts = header.metadata().clone().unwrap_or_default();
        let fact = |name: &str| facts.get(name).map(String::as_str).unwrap_or_default();
        let (name, found) = (self.name, fact("format"));
        if found != name {
            return Err(format_error(format!("format \"{found}\", expected \"{name}\"")));
        }
        let (newest, found) = (self.version, fact("version"));
        match found.parse::<u32>() {
            Ok(version) if (1..=newest).contains(&version) => Ok((tensors, facts)),
            _ => {
                let what = format!("format version \"{found}\", expected 1 to {newest}");
                Err(format_error(what))
            }
        }
    }

    /// The bytes of a file with these tensors, and `facts` beside format and version.
    ///
    /// # Errors
    /// A tensor's shape does not match its data.
    pub fn to_bytes(
        self,
        tensors: &[Tensor],
        mut facts: Facts,
    ) -> Result<Vec<u8>, CheckpointError> {
        facts.insert("format".into(), self.name.into());
        facts.insert("version".into(), self.version.to_string());
        let views: Vec<(&str, TensorView<'_>)> = tensors
            .iter()
            .map(|tensor| {
                let view = TensorView::new(tensor.dtype, tensor.shape.clone(), &tensor.bytes);
                Ok((tensor.name.as_str(), view.map_err(format_error)?))
            })
            .collect::<Result<_, CheckpointError>>()?;
        safetensors::serialize(views, Some(facts)).map_err(format_error)
    }
}

/// A serialized tensor.
pub struct Tensor {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    /// Its numbers, row-major, little-endian.
    pub bytes: Vec<u8>,
}

impl Tensor {
    /// # Errors
    /// Names the tensor that holds NaN, infinity or a number beyond the precision's range: a file with one
    /// would be refused when read.
    pub fn new(
        name: String,
        shape: &[usize],
        values: &[f32],
        precision: Precision,
    ) -> Result<Tensor, CheckpointError> {
        let stored = |value: f32| match precision {
            Precision::Full => value,
            Precision::Half => f16::from_f32(value).to_f32(),
        };
        if let Some(at) = values.iter().position(|value| !stored(*value).is_finite()) {
            let (found, bits) = (values[at], if precision == Precision::Half { 16 } else { 32 });
            let what = format!("\"{name}\" holds {found} at {at}, expected finite in {bits} bits");
            return Err(format_error(what));
        }
        let (dtype, bytes) = match precision {
            Precision::Full => (Dtype::F32, values.iter().flat_map(|v| v.to_le_bytes()).collect()),
            Precision::Half => {
                let half = values.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes());
                (Dtype::F16, half.collect())
            }
        };
        Ok(Tensor { name, dtype, shape: shape.to_vec(), bytes })
    }

    /// A parameter of the flat vector `values`.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn of(
        param: &Param,
        values: &[f32],
        precision: Precision,
    ) -> Result<Tensor, CheckpointError> {
        Tensor::new(param.name.clone(), &param.shape, &values[param.range.clone()], precision)
    }
}

/// The flat vector of the parameters among `tensors`. `each` gets every parameter's bytes, in order.
///
/// # Errors
/// Names a parameter that is missing or misshapen, or holds NaN or infinity.
pub fn parameters(
    params: &[Param],
    tensors: &SafeTensors<'_>,
    mut each: impl FnMut(&[u8]),
) -> Result<Vec<f32>, CheckpointError> {
    let view = |Param { name, shape, .. }: &Param| {
        let view =
            tensors.tensor(name).map_err(|_| format_error(format!("no tensor \"{name}\"")))?;
        if view.shape() != shape {
            let found = view.shape();
            let what = format!("\"{name}\" has shape {found:?}, expected {shape:?}");
            return Err(format_error(what));
        }
        Ok(view)
    };
    // All views before any allocation: the file is then as large as the memory.
    let views = params.iter().map(view).collect::<Result<Vec<_>, CheckpointError>>()?;
    let mut values = Vec::with_capacity(params.last().map_or(0, |param| param.range.end));
    for (Param { name, .. }, view) in params.iter().zip(views) {
        let numbers = floats(&view)?;
        if !numbers.iter().all(|number| number.is_finite()) {
            return Err(format_error(format!("\"{name}\" holds NaN or infinity")));
        }
        each(view.data());
        values.extend(numbers);
    }
    Ok(values)
}

/// The numbers of a tensor.
///
/// # Errors
/// Neither 16 nor 32 bits.
pub fn floats(view: &TensorView<'_>) -> Result<Vec<f32>, CheckpointError> {
    let data = view.data();
    match view.dtype() {
        Dtype::F32 => Ok(data.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()),
        Dtype::F16 => {
            Ok(data.as_chunks::<2>().0.iter().map(|b| f16::from_le_bytes(*b).to_f32()).collect())
        }
        other => Err(format_error(format!("numbers of type {other:?}, expected F16 or F32"))),
    }
}

/// Reads a file.
///
/// # Errors
/// It cannot be read, is not a regular file, or is larger than any of ours.
pub fn read(path: &Path) -> Result<Vec<u8>, CheckpointError> {
    Ok(read_regular(path, MAX_BYTES)?)
}

/// Writes a file, and creates its folder if necessary.
///
/// # Errors
/// The system's.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), CheckpointError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    Ok(write_whole(path, bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::params::Init;

    const FORMAT: Format = Format { name: "mavka-test", version: 1 };

    #[test]
    fn nothing_is_reserved_for_a_tensor_that_is_not_there() {
        let len = usize::MAX / 8;
        let param =
            Param { name: "huge".into(), shape: vec![len], range: 0..len, init: Init::Zero };
        let bytes = FORMAT.to_bytes(&[], Facts::new()).unwrap();
        let (tensors, _) = FORMAT.open(&bytes).unwrap();
        let fault = parameters(&[param], &tensors, |_| ()).unwrap_err().to_string();
        assert_eq!(fault, "no tensor \"huge\"");
    }

    fn fault(path: &Path) -> String {
        read(path).unwrap_err().to_string()
    }

    #[test]
    fn a_file_beyond_the_limit_is_refused_unread() {
        let path = std::env::temp_dir().join(format!("mavka-large-{}", std::process::id()));
        // Sparse: takes no space.
        std::fs::File::create(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
        let fault = fault(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(fault, "1073741825 bytes, expected at most 1073741824");
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_are_read() {
        let folder = std::env::temp_dir().join(format!("mavka-special-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [file, link, pipe] = ["file", "link", "pipe"].map(|name| folder.join(name));
        std::fs::write(&file, "content").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(read(&link).unwrap(), b"content");
        assert_eq!(fault(&folder), "a folder, expected a regular file");
        let special = "a device or a pipe, expected a regular file";
        assert_eq!(fault(Path::new("/dev/zero")), special);
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert_eq!(fault(&pipe), special);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn non_finite_numbers_are_not_written() {
        let fault = |value: f32, precision| {
            let made = Tensor::new("head.bias".into(), &[3], &[1.0, value, 2.0], precision);
            made.err().map(|error| error.to_string())
        };
        for (value, precision, found) in [
            (f32::NAN, Precision::Full, "holds NaN at 1, expected finite in 32 bits"),
            (f32::INFINITY, Precision::Half, "holds inf at 1, expected finite in 16 bits"),
            (-70_000.0, Precision::Half, "holds -70000 at 1, expected finite in 16 bits"),
        ] {
            assert_eq!(fault(value, precision).unwrap(), format!("\"head.bias\" {found}"));
        }
        assert_eq!(fault(-70_000.0, Precision::Full), None);
        assert_eq!(fault(65_504.0, Precision::Half), None);
    }

    #[test]
    fn a_header_beyond_its_limit_is_refused() {
        let facts = Facts::from([("note".to_owned(), "x".repeat(MAX_HEADER_BYTES as usize))]);
        let bytes = FORMAT.to_bytes(&[], facts).unwrap();
        let fault = FORMAT.open(&bytes).err().unwrap().to_string();
        assert!(fault.contains("header") && fault.contains("expected at most 1048576"), "{fault}");
    }
}
