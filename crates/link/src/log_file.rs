//! A file that observers write to while packets pass: no error stops the path, and the first one is
//! told at the end.

use std::io;

/// What writes the file, and its first error. Nothing is written after that.
#[derive(Debug)]
pub(crate) struct LogFile<W> {
    writer: W,
    failed: Option<io::Error>,
}

impl<W> LogFile<W> {
    pub(crate) fn new(writer: W) -> Self {
        Self {
            writer,
            failed: None,
        }
    }

    /// Writes, unless an earlier call failed.
    pub(crate) fn write(&mut self, write: impl FnOnce(&mut W) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = write(&mut self.writer).err();
        }
    }

    /// Completes the file by this call.
    ///
    /// # Errors
    /// The first error of all calls.
    pub(crate) fn finish(
        &mut self,
        flush: impl FnOnce(&mut W) -> io::Result<()>,
    ) -> io::Result<()> {
        self.write(flush);
        self.failed.take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn nothing_is_written_after_an_error_and_the_end_tells_it() {
        let mut file = LogFile::new(Vec::new());
        file.write(|out| out.write_all(b"first"));
        file.write(|_| Err(io::ErrorKind::StorageFull.into()));
        file.write(|out| out.write_all(b"second"));
        let error = file.finish(Write::flush).expect_err("an error");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(file.writer, b"first");
    }
}
