//! The common part of errors: those about a file name it, and some only wrap others.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A fault of a file, or an obstacle to it.
#[derive(Debug)]
pub struct FileError<E = io::Error> {
    path: PathBuf,
    why: E,
}

impl<E> FileError<E> {
    /// Names this file in an error.
    pub fn of(path: &Path) -> impl Fn(E) -> FileError<E> + use<E> {
        let path = path.to_owned();
        move |why| FileError { path: path.clone(), why }
    }
}

impl<E: fmt::Display> fmt::Display for FileError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

impl<E: Error> Error for FileError<E> {}

/// `From` for every error that `$error` wraps: `wraps! { MeasureError: Game(GameError), Data(DataError) }`.
#[macro_export]
macro_rules! wraps {
    ($error:ident: $($variant:ident($wrapped:ty)),+ $(,)?) => {$(
        impl From<$wrapped> for $error {
            fn from(why: $wrapped) -> $error {
                $error::$variant(why)
            }
        }
    )+};
}
pub use wraps;
