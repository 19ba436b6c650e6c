//! Tables of up to four pieces, built into the executable: 4.4 MB.

use shakmaty_syzygy::filesystem::{Filesystem, OsFilesystem, RandomAccessFile, ReadHint};
use std::io;
use std::path::{Path, PathBuf};

/// Pseudo-folder of the bundled tables; it cannot exist on disk.
const FOLDER: &str = "\0bundled";

macro_rules! tables {
    ($($material:literal)*) => {
        [$(
            (
                concat!($material, ".rtbw"),
                include_bytes!(concat!("../../../../assets/syzygy/", $material, ".rtbw")),
            ),
            (
                concat!($material, ".rtbz"),
                include_bytes!(concat!("../../../../assets/syzygy/", $material, ".rtbz")),
            ),
        )*]
    };
}

/// File names, and the files' content.
static TABLES: [(&str, &[u8]); 70] = tables! {
    "KBvK" "KNvK" "KPvK" "KQvK" "KRvK"
    "KBBvK" "KBNvK" "KBPvK" "KNNvK" "KNPvK" "KPPvK" "KQBvK" "KQNvK" "KQPvK" "KQQvK" "KQRvK" "KRBvK" "KRNvK" "KRPvK" "KRRvK"
    "KBvKB" "KBvKN" "KBvKP" "KNvKN" "KNvKP" "KPvKP" "KQvKB" "KQvKN" "KQvKP" "KQvKQ" "KQvKR" "KRvKB" "KRvKN" "KRvKP" "KRvKR"
};

/// Paths of all bundled tables, for [`Bundled`].
pub(super) fn paths() -> impl Iterator<Item = PathBuf> {
    TABLES.iter().map(|(name, _)| Path::new(FOLDER).join(name))
}

/// The operating system's files plus the bundled ones.
#[derive(Default)]
pub(super) struct Bundled(OsFilesystem);

/// A file in memory.
struct MemoryFile(&'static [u8]);

fn find(path: &Path) -> Option<&'static [u8]> {
    let name = path.strip_prefix(FOLDER).ok()?.to_str()?;
    TABLES.iter().find(|(own, _)| *own == name).map(|(_, bytes)| *bytes)
}

impl Filesystem for Bundled {
    fn regular_file_size(&self, path: &Path) -> io::Result<u64> {
        find(path).map_or_else(|| self.0.regular_file_size(path), |bytes| Ok(bytes.len() as u64))
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.0.read_dir(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        match find(path) {
            Some(bytes) => Ok(Box::new(MemoryFile(bytes))),
            None => self.0.open(path),
        }
    }
}

impl RandomAccessFile for MemoryFile {
    fn read_at(&self, buf: &mut [u8], offset: u64, _: ReadHint) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.0.get(at..)).unwrap_or_default();
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}
