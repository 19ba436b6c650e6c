//! Files: atomic writes by one process at a time, and reads within a size limit.

use crate::unpack::Unpacked;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

pub use crate::unpack::is_packed;

/// Most bytes of a text that is read whole: a stream without an end must not take all memory.
pub const MAX_TEXT: u64 = 4 << 30;
/// Most symbolic links followed from one path, as on Linux.
const MAX_LINKS: usize = 40;

/// Writes a file atomically: a reader sees the old one or the new one. A symbolic link stays and its target is
/// written.
///
/// # Errors
/// The system's; `path` or the temporary file beside it is no ordinary file.
pub fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let target = target(path)?;
    check_ordinary(&target)?;
    check_is_folder(folder_of(&target))?;
    let part = part_of(&target);
    let mut file = create_part(&part)?;
    // Still locked: another writer must not take it for an abandoned one.
    let written = file.write_all(content.as_ref()).and_then(|()| fs::rename(&part, &target));
    if written.is_err() {
        // Disk full: half a file would keep it full.
        let _ = fs::remove_file(&part);
    }
    written
}

/// Creates the temporary file `part` and locks it. Waits for another writer of the same file; removes what a killed one left.
fn create_part(part: &Path) -> io::Result<File> {
    loop {
        check_ordinary(part)?;
        // `create_new` follows no link that appears meanwhile.
        match File::options().write(true).create_new(true).open(part) {
            Ok(file) => {
                // Not every file system has locks. Another writer may have removed the file before it was locked.
                let _ = file.lock();
                if is_at(&file, part) {
                    return Ok(file);
                }
            }
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => match File::open(part) {
                Ok(file) => {
                    let _ = file.lock();
                    if is_at(&file, part) {
                        fs::remove_file(part)?;
                    }
                }
                Err(why) if why.kind() == io::ErrorKind::NotFound => {}
                Err(why) => return Err(why),
            },
            Err(why) => return Err(why),
        }
    }
}

/// Whether `path` still names the open `file`.
#[cfg(unix)]
#[must_use]
pub fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        (_, Err(why)) => why.kind() != io::ErrorKind::NotFound,
        (Err(_), _) => true,
    }
}

/// Other systems keep the name of a deleted file until it is closed.
#[cfg(not(unix))]
#[must_use]
pub fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Resolves symbolic links, even to a file that does not exist yet.
///
/// # Errors
/// The links form a cycle.
pub fn target(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other(format!("{}: too many symbolic links", path.display())))
}

/// The temporary file from which [`write_whole`] renames to `target`.
#[must_use]
pub fn part_of(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// Refuses what cannot be replaced without loss: folders, devices, FIFOs, sockets, symbolic links. A path to nothing is accepted.
///
/// # Errors
/// Names the path and what is there.
pub fn check_ordinary(path: &Path) -> io::Result<()> {
    let kind = match fs::symlink_metadata(path) {
        Err(why)
            if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&why.kind()) =>
        {
            return Ok(());
        }
        found => found?.file_type(),
    };
    let name = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a folder",
        () if kind.is_symlink() => "a symbolic link",
        () => "a device, a FIFO or a socket",
    };
    Err(io::Error::other(format!("{} is {name}, expected an ordinary file", path.display())))
}

/// Checks that a file can be created or replaced, before the work for it begins. Changes nothing that is there: a
/// trial creates the temporary file of [`write_whole`], since permissions do not tell of a read-only file system.
///
/// # Errors
/// The folder does not exist or takes no file, or the file that is there cannot be written.
pub fn check_writable(path: &Path) -> io::Result<()> {
    let target = target(path)?;
    check_ordinary(&target)?;
    check_is_folder(folder_of(&target))?;
    let named = |why: io::Error| io::Error::new(why.kind(), format!("{}: {why}", target.display()));
    match File::options().append(true).open(&target) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(named(why)),
        _ => {}
    }
    let part = part_of(&target);
    match File::options().write(true).create_new(true).open(&part) {
        Ok(_) => fs::remove_file(&part),
        // Another writer's, or left by a killed one: the folder takes files.
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => check_ordinary(&part),
        Err(why) => Err(named(why)),
    }
}

/// Creates a folder for files, unless it is there. The folder that it lies in must exist: a mistyped path is named, and
/// not created.
///
/// # Errors
/// The system's, or something else is in its place.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let above = target(folder)?;
    check_is_folder(folder_of(&above))?;
    match fs::create_dir(&above) {
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => check_is_folder(&above),
        made => made,
    }
}

/// The folder of a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn check_is_folder(folder: &Path) -> io::Result<()> {
    let fault = match fs::metadata(folder) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => "is no folder".to_owned(),
        Err(why) if why.kind() == io::ErrorKind::NotFound => {
            "does not exist; create it first".to_owned()
        }
        Err(why) => return Err(io::Error::new(why.kind(), format!("{}: {why}", folder.display()))),
    };
    Err(io::Error::other(format!("the folder {} {fault}", folder.display())))
}

/// Locks an open file for this process until it is closed or unlocked. False if another process holds the lock.
#[must_use]
pub fn try_lock(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(why)) => {
            // Not every file system has locks.
            log::warn!("{}: not locked: {why}", path.display());
            true
        }
    }
}

/// Opens a regular file, or a symbolic link to one, for reading. Devices and pipes may never end.
///
/// # Errors
/// The system's, or `path` is something else.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // Before opening: opening a pipe waits for its writer.
    check_regular(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    // Again after opening: the path may have changed.
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// Refuses anything but a regular file.
///
/// # Errors
/// Names what was found instead.
pub fn check_regular(found: &fs::Metadata) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let found = if found.is_dir() { "a folder" } else { "a device or a pipe" };
    let what = format!("{found}, expected a regular file");
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
/// The system's, or the file is larger or not a regular one.
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    check_size(file.metadata()?.len(), limit)?;
    // A file may grow while it is read, and those of `/proc` have no size.
    read_limited(file, limit)
}

/// Reads a text whole, from a file or a pipe, of at most `limit` bytes.
///
/// # Errors
/// The system's, or there are more bytes, or they are not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let bytes = read_limited(File::open(path)?, limit)?;
    String::from_utf8(bytes).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))
}

/// Reads a stream to its end, at most `limit` bytes.
///
/// # Errors
/// The system's, or there are more bytes.
pub fn read_limited(input: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    check_size(bytes.len() as u64, limit)?;
    Ok(bytes)
}

/// Reads a regular file, plain or compressed (gzip, zstd), whose content is at most `limit` bytes.
///
/// # Errors
/// The system's; the content is larger or damaged; the file is not a regular one, or of a format that is refused
/// ([`crate::unpack::foreign`]).
pub fn read_unpacked(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    check_size(file.metadata()?.len(), limit)?;
    // A few compressed bytes may stand for any number.
    read_limited(Unpacked::new(file, &path.display().to_string())?, limit)
}

fn check_size(size: u64, limit: u64) -> io::Result<()> {
    if size <= limit {
        return Ok(());
    }
    let what = format!("{size} bytes, expected at most {limit}");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_of_one_file_do_not_mix() {
        let path = std::env::temp_dir().join(format!("mavka-mix-{}", std::process::id()));
        let text = |letter: u8| vec![letter; 100_000];
        write_whole(&path, text(b'a')).unwrap();
        std::thread::scope(|scope| {
            let writers = [b'a', b'b', b'c'].map(|letter| {
                let (path, text) = (&path, text(letter));
                scope.spawn(move || (0..100).try_for_each(|_| write_whole(path, &text)))
            });
            while writers.iter().any(|writer| !writer.is_finished()) {
                let found = fs::read(&path).unwrap();
                assert!(found.len() == 100_000 && found.iter().all(|byte| *byte == found[0]));
            }
            writers.into_iter().for_each(|writer| writer.join().unwrap().unwrap());
        });
        assert!(!part_of(&path).exists());
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_file_beyond_the_limit_is_refused() {
        let path = std::env::temp_dir().join(format!("mavka-files-{}", std::process::id()));
        fs::write(&path, "123456").unwrap();
        let [at, beyond] = [6, 5].map(|limit| read_regular(&path, limit));
        fs::remove_file(&path).unwrap();
        assert_eq!(at.unwrap(), b"123456");
        assert_eq!(beyond.unwrap_err().to_string(), "6 bytes, expected at most 5");
    }

    #[test]
    fn a_compressed_file_is_read_within_the_limit_of_its_content() {
        let path = std::env::temp_dir().join(format!("mavka-packed-{}", std::process::id()));
        fs::write(&path, zstd::encode_all(&[7; 100_000][..], 1).unwrap()).unwrap();
        let [at, beyond] = [100_000, 99_999].map(|limit| read_unpacked(&path, limit));
        fs::write(&path, "plain").unwrap();
        let plain = read_unpacked(&path, 5);
        fs::remove_file(&path).unwrap();
        assert!(at.unwrap() == [7; 100_000]);
        assert_eq!(beyond.unwrap_err().to_string(), "100000 bytes, expected at most 99999");
        assert_eq!(plain.unwrap(), b"plain");
    }

    #[cfg(unix)]
    #[test]
    fn an_endless_text_ends_at_the_limit() {
        let fault = read_text(Path::new("/dev/zero"), 1000).unwrap_err().to_string();
        assert_eq!(fault, "1001 bytes, expected at most 1000");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_without_a_size_is_read_within_the_limit() {
        let path = Path::new("/proc/self/status");
        assert!(!read_regular(path, 1 << 20).unwrap().is_empty());
        let fault = read_regular(path, 10).unwrap_err().to_string();
        assert_eq!(fault, "11 bytes, expected at most 10");
    }
}

#[cfg(test)]
#[cfg(unix)]
mod unix_tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("mavka-files-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("below")).unwrap();
        folder
    }

    #[test]
    fn a_symbolic_link_stays_and_its_target_is_written() {
        let folder = folder("links");
        let [link, second, target] =
            ["link", "second", "below/target"].map(|name| folder.join(name));
        symlink("second", &link).unwrap();
        symlink("below/target", &second).unwrap();
        for content in ["created", "replaced"] {
            write_whole(&link, content).unwrap();
            assert_eq!(fs::read_link(&link).unwrap(), Path::new("second"), "{content}");
            assert_eq!(fs::read_link(&second).unwrap(), Path::new("below/target"), "{content}");
            assert_eq!(fs::read_to_string(&target).unwrap(), content);
        }
        fs::remove_file(&second).unwrap();
        symlink("link", &second).unwrap();
        assert!(write_whole(&link, "").is_err(), "a circle");
        fs::remove_dir_all(&folder).unwrap();
    }

    /// Every kind of place, with what is said of it; `""` where a file can be written.
    #[test]
    fn a_file_that_cannot_be_written_is_named_before_the_work() {
        let folder = folder("writable");
        let made = std::process::Command::new("mkfifo").arg(folder.join("fifo")).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo");
        fs::write(folder.join("old"), "old").unwrap();
        fs::write(folder.join("left.part"), "").unwrap();
        for (link, target) in
            [("link", "old"), ("dangling", "new"), ("lost", "no/new"), ("pipe", "fifo")]
        {
            symlink(target, folder.join(link)).unwrap();
        }
        for (name, fault) in [
            ("new", ""),
            ("old", ""),
            ("link", ""),
            ("dangling", ""),
            ("left", ""),
            ("fifo", "a FIFO"),
            ("pipe", "a FIFO"),
            ("below", "a folder"),
            ("/dev/null", "a device"),
            ("/dev/full", "a device"),
            ("no/file", "no does not exist; create it first"),
            ("lost", "no does not exist; create it first"),
            ("old/file", "old is no folder"),
        ] {
            let path = folder.join(name);
            let why = check_writable(&path).err().map(|why| why.to_string()).unwrap_or_default();
            assert!(why.contains(fault) && why.is_empty() == fault.is_empty(), "{name}: {why}");
            let written = write_whole(&path, "new");
            assert_eq!(written.is_ok(), fault.is_empty(), "{name}: {written:?}");
            fs::write(folder.join("old"), "old").unwrap();
            let _ = fs::remove_file(folder.join("new"));
        }
        let mut left: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["below", "dangling", "fifo", "left", "link", "lost", "old", "pipe"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn one_folder_is_made_and_a_mistyped_path_is_not() {
        let folder = folder("make");
        let new = folder.join("new");
        make_folder(&new).unwrap();
        make_folder(&new).unwrap();
        symlink("linked", folder.join("link")).unwrap();
        make_folder(&folder.join("link")).unwrap();
        assert!(folder.join("linked").is_dir());
        let why = make_folder(&folder.join("absent/new")).unwrap_err().to_string();
        assert!(why.contains("absent does not exist") && !folder.join("absent").exists(), "{why}");
        fs::write(folder.join("file"), "").unwrap();
        let why = make_folder(&folder.join("file")).unwrap_err().to_string();
        assert!(why.contains("is no folder"), "{why}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_ordinary_files_are_replaced() {
        let folder = folder("ordinary");
        let socket = folder.join("socket");
        let _bound = UnixListener::bind(&socket).unwrap();
        for path in [&socket, &folder.join("below")] {
            let why = write_whole(path, "lost").unwrap_err().to_string();
            assert!(why.contains(&path.display().to_string()) && why.contains("expected"), "{why}");
        }
        assert!(!fs::symlink_metadata(&socket).unwrap().is_file());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_link_in_place_of_the_temporary_file_is_not_followed() {
        let folder = folder("part");
        let [out, part, victim] = ["out", "out.part", "victim"].map(|name| folder.join(name));
        fs::write(&victim, "kept").unwrap();
        symlink(&victim, &part).unwrap();
        let why = write_whole(&out, "new").unwrap_err().to_string();
        assert!(why.contains("out.part is a symbolic link"), "{why}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "kept");
        fs::remove_file(&part).unwrap();
        fs::write(&part, "left by a killed process, and longer").unwrap();
        write_whole(&out, "new").unwrap();
        assert_eq!(fs::read_to_string(&out).unwrap(), "new");
        assert!(!part.exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
