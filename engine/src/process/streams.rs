//! Standard input and output that wait. A GUI may hand over pipes that do not block (`O_NONBLOCK`): a read or write that
//! finds nothing to do then waits for the other end, where the standard library's would fail.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::thread;
use std::time::Duration;

/// Between two tries of a stream that does not block.
const NAP: Duration = Duration::from_millis(1);
/// Longest line that is taken in, in bytes: a game of ten thousand plies fits several times over.
pub const LONGEST_LINE: usize = 1 << 20;

/// Standard input.
#[must_use]
pub fn input() -> Box<dyn BufRead + Send> {
    #[cfg(unix)]
    if let Some(stream) = unix::Waiting::of(io::stdin()) {
        return Box::new(BufReader::new(stream));
    }
    Box::new(BufReader::new(io::stdin()))
}

/// Standard output. Every write goes out at once.
#[must_use]
pub fn output() -> Box<dyn Write + Send> {
    #[cfg(unix)]
    if let Some(stream) = unix::Waiting::of(io::stdout()) {
        return Box::new(stream);
    }
    Box::new(io::stdout())
}

/// Hands each line without its end to `each`, until the input ends or `each` answers false. The last line may lack its end; of a
/// longer one than [`LONGEST_LINE`] only the beginning counts.
pub fn for_each_line(mut input: impl BufRead, mut each: impl FnMut(&[u8]) -> bool) {
    let mut line = Vec::new();
    loop {
        let chunk = match input.fill_buf() {
            Ok([]) => break,
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                thread::sleep(NAP);
                continue;
            }
            Err(_) => break,
        };
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        let room = LONGEST_LINE.saturating_sub(line.len());
        line.extend_from_slice(&part[..part.len().min(room)]);
        let used = end.map_or(chunk.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            if !each(&line) {
                return;
            }
            line.clear();
        }
    }
    if !line.is_empty() {
        each(&line);
    }
}

#[cfg(unix)]
mod unix {
    use super::{NAP, Read, Write, io, thread};
    use std::fs::File;
    use std::os::fd::AsFd;

    /// A stream whose reads and writes wait until they can do something, and survive signals.
    pub struct Waiting(File);

    impl Waiting {
        /// Another handle on `stream`; None if the system has none left.
        pub fn of(stream: impl AsFd) -> Option<Waiting> {
            Some(Waiting(stream.as_fd().try_clone_to_owned().ok()?.into()))
        }

        /// Does `work` as soon as the stream lets it. Waiting by short naps needs no call that the standard library lacks, and
        /// few streams need it.
        fn retry(
            &mut self,
            mut work: impl FnMut(&mut File) -> io::Result<usize>,
        ) -> io::Result<usize> {
            loop {
                match work(&mut self.0) {
                    Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                    Err(why) if why.kind() == io::ErrorKind::WouldBlock => thread::sleep(NAP),
                    done => return done,
                }
            }
        }
    }

    impl Read for Waiting {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            self.retry(|stream| stream.read(bytes))
        }
    }

    impl Write for Waiting {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.retry(|stream| stream.write(bytes))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::os::unix::net::UnixStream;

        /// Two ends of a stream, the first one without blocking.
        fn pair() -> (UnixStream, UnixStream) {
            let (ours, theirs) = UnixStream::pair().unwrap();
            ours.set_nonblocking(true).unwrap();
            (ours, theirs)
        }

        #[test]
        fn a_read_waits_for_what_is_not_there_yet() {
            let (mut ours, mut theirs) = pair();
            let early = ours.read(&mut [0]).unwrap_err();
            assert_eq!(early.kind(), io::ErrorKind::WouldBlock);
            let mut waiting = Waiting::of(&ours).unwrap();
            let writer = thread::spawn(move || {
                let mut answer = [0];
                for byte in 0..100 {
                    theirs.write_all(&[byte]).unwrap();
                    theirs.read_exact(&mut answer).unwrap();
                    assert_eq!(answer, [byte]);
                }
            });
            for byte in 0..100 {
                let mut found = [0];
                assert_eq!(waiting.read(&mut found).unwrap(), 1);
                assert_eq!(found, [byte]);
                waiting.write_all(&found).unwrap();
            }
            writer.join().unwrap();
            assert_eq!(waiting.read(&mut [0]).unwrap(), 0, "the end is an end");
        }

        #[test]
        fn a_write_waits_for_a_slow_reader() {
            let (mut ours, mut theirs) = pair();
            // Fills the stream, as an idle GUI does.
            let mut filled = 0;
            while let Ok(count) = ours.write(&[1; 1 << 16]) {
                filled += count;
            }
            let mut waiting = Waiting::of(&ours).unwrap();
            let reader = thread::spawn(move || {
                let mut all = Vec::new();
                theirs.read_to_end(&mut all).unwrap();
                all
            });
            waiting.write_all(&[2; 1 << 20]).unwrap();
            drop((waiting, ours));
            let all = reader.join().unwrap();
            assert_eq!(all.len(), filled + (1 << 20));
            assert!(all[..filled].iter().all(|byte| *byte == 1));
            assert!(all[filled..].iter().all(|byte| *byte == 2));
        }

        #[test]
        fn a_reader_that_is_gone_ends_the_write() {
            let (ours, theirs) = pair();
            drop(theirs);
            assert!(Waiting::of(&ours).unwrap().write_all(&[1; 1 << 20]).is_err());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Gives its parts one after the other.
    struct Parts(VecDeque<Result<&'static [u8], io::ErrorKind>>);

    impl Read for Parts {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            match self.0.pop_front() {
                Some(Ok(part)) => {
                    bytes[..part.len()].copy_from_slice(part);
                    Ok(part.len())
                }
                Some(Err(kind)) => Err(kind.into()),
                None => Ok(0),
            }
        }
    }

    fn lines(input: impl Read) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for_each_line(BufReader::new(input), |line| {
            lines.push(line.to_owned());
            true
        });
        lines
    }

    #[test]
    fn signals_and_empty_streams_end_no_input() {
        let parts = [
            Err(io::ErrorKind::WouldBlock),
            Ok(&b"go n"[..]),
            Err(io::ErrorKind::Interrupted),
            Ok(b"odes 1\nst"),
            Err(io::ErrorKind::WouldBlock),
            Ok(b"op"),
        ];
        assert_eq!(lines(Parts(parts.into())), [&b"go nodes 1"[..], b"stop"]);
    }

    #[test]
    fn an_endless_line_is_cut() {
        let long = io::repeat(b'a').take(3 << 20).chain(&b"\nb\n"[..]);
        let lines = lines(long);
        assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [LONGEST_LINE, 1]);
    }
}
