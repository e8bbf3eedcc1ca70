//! The server's end of a pipe: a TCP connection or a program.

use super::users::Target;
use crate::error::Error;
use crate::pipe::{Carried, PipeReader, PipeWriter, inward, outward, relay};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

/// Timeout of a TCP connection.
const CONNECT: Duration = Duration::from_secs(10);

/// When a program has ended, the pipe ends at most this long after the last output of a child that
/// it left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(1);

/// An open target.
#[derive(Debug)]
pub(crate) enum Opened {
    Tcp(TcpStream),
    Command(Box<Child>),
}

impl Opened {
    /// Connects to the port or starts the program.
    ///
    /// # Errors
    /// If the port does not answer or the program cannot be started.
    pub async fn open(target: &Target) -> io::Result<Self> {
        match target {
            Target::Tcp(host, port) => {
                let connecting = TcpStream::connect((host.as_str(), *port));
                let stream = timeout(CONNECT, connecting)
                    .await
                    .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
                // What the peer writes leaves at once.
                stream.set_nodelay(true).ok();
                Ok(Self::Tcp(stream))
            }
            Target::Command(words) => {
                let (program, arguments) = words
                    .split_first()
                    .ok_or_else(|| io::Error::other("the command is empty"))?;
                let child = Command::new(program)
                    .args(arguments)
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::inherit())
                    .kill_on_drop(true)
                    .spawn()?;
                Ok(Self::Command(Box::new(child)))
            }
        }
    }

    /// Joins it to the pipe until both directions have ended. Returns what was carried, and the
    /// exit status of a program as a shell reports it; 0 for a port.
    ///
    /// # Errors
    /// If the connection to the client is lost.
    pub async fn run(
        self,
        writer: &mut PipeWriter,
        reader: &mut PipeReader,
    ) -> Result<(Carried, u8), Error> {
        match self {
            Self::Tcp(stream) => {
                let (from, to) = stream.into_split();
                Ok((relay(from, to, writer, reader).await?, 0))
            }
            Self::Command(mut child) => {
                let (Some(from), Some(to)) = (child.stdout.take(), child.stdin.take()) else {
                    return Err(Error::Protocol("the program has no pipes".to_owned()));
                };
                let program = async {
                    // A program that has ended may have left a child behind that keeps the output
                    // open.
                    let ended = async {
                        child.wait().await.ok();
                        sleep(LEFT_BEHIND).await;
                    };
                    let sent = outward(from, ended, writer).await?;
                    Ok::<_, Error>((sent, child.wait().await.map_or(1, status_code)))
                };
                let input = inward(to, reader);
                tokio::pin!(program, input);
                let mut received = None;
                loop {
                    tokio::select! {
                        // A program that has ended reads no more: the client's end is not waited
                        // for.
                        ended = &mut program => {
                            let (sent, status) = ended?;
                            let received = received.unwrap_or(0);
                            return Ok((Carried { sent, received }, status));
                        }
                        result = &mut input, if received.is_none() => received = Some(result?),
                    }
                }
            }
        }
    }
}

/// The exit status as a shell reports it: 128 and the signal that killed the program.
fn status_code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[test]
    fn a_program_killed_by_a_signal_has_the_shells_status() {
        for (raw, code) in [(0, 0), (3 << 8, 3), (9, 137), (15, 143)] {
            assert_eq!(status_code(ExitStatus::from_raw(raw)), code);
        }
    }

    /// Such as when its client leaves.
    #[tokio::test]
    async fn a_program_ends_with_its_pipe() {
        let target = Target::Command(vec!["sleep".to_owned(), "1000".to_owned()]);
        let Opened::Command(mut child) = Opened::open(&target).await.expect("started") else {
            panic!("another target")
        };
        let mut output = child.stdout.take().expect("a pipe");
        drop(child);
        let ended = timeout(CONNECT, output.read(&mut [0])).await;
        assert_eq!(ended.expect("in time").expect("read"), 0);
    }

    #[tokio::test]
    async fn a_missing_program_and_a_closed_port_are_errors() {
        let missing = Target::Command(vec!["/does/not/exist".to_owned()]);
        let error = Opened::open(&missing).await.expect_err("missing");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        // A socket that does not listen refuses connections, and no other test gets its port.
        let closed = tokio::net::TcpSocket::new_v4().expect("a socket");
        closed.bind(([127, 0, 0, 1], 0).into()).expect("a port");
        let port = closed.local_addr().expect("bound").port();
        let target = Target::Tcp("127.0.0.1".to_owned(), port);
        let error = Opened::open(&target).await.expect_err("closed");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
