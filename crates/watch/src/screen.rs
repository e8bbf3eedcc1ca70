//! The terminal: its other screen while a view is shown, and its state restored at the end.
//!
//! Keys are neither echoed nor collected in lines, but Ctrl-C still makes a signal, so that a
//! command ends as it does without a view.

use super::View;
use super::silent::Silent;
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::{cursor, execute, terminal};
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};

/// The terminal of standard error while it shows views.
pub struct Screen {
    terminal: Terminal<Silent>,
    /// The state of standard input before; `None` if it is no terminal.
    before: Option<(OwnedFd, Termios)>,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// If standard error is not a terminal.
    pub fn open() -> io::Result<Self> {
        if !io::stderr().is_terminal() {
            return Err(io::Error::other(
                "a display that is updated needs a terminal",
            ));
        }
        // A descriptor of its own: the command may give another meaning to standard error.
        let out = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        let before = quiet();
        let mut screen = Self {
            terminal: Terminal::new(Silent(CrosstermBackend::new(out)))?,
            before,
        };
        execute!(
            screen.terminal.backend_mut().0,
            terminal::EnterAlternateScreen,
            cursor::Hide
        )?;
        screen.terminal.clear()?;
        Ok(screen)
    }

    /// Shows a view.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn show(&mut self, view: &View) -> io::Result<()> {
        self.terminal.draw(|frame| view.draw(frame)).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let backend = &mut self.terminal.backend_mut().0;
        let _ = execute!(backend, terminal::LeaveAlternateScreen, cursor::Show);
        if let Some((stdin, before)) = &self.before {
            let _ = tcsetattr(stdin, SetArg::TCSANOW, before);
        }
    }
}

/// Stops the echo of keys. Returns the state before, if standard input is a terminal.
fn quiet() -> Option<(OwnedFd, Termios)> {
    let stdin = io::stdin().as_fd().try_clone_to_owned().ok()?;
    let before = tcgetattr(&stdin).ok()?;
    let mut quiet = before.clone();
    quiet
        .local_flags
        .remove(LocalFlags::ECHO | LocalFlags::ICANON);
    tcsetattr(&stdin, SetArg::TCSANOW, &quiet).ok()?;
    Some((stdin, before))
}
