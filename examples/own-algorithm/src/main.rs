//! `gentle`: Reno that gives up a quarter, not half, of its window after a loss.
use whimbrel::cc::parts::{Aimd, IncreaseDecrease, Window, WindowController};
use whimbrel::cc::registry::{Code, Entry};

#[derive(Debug, Clone)]
struct Gentle;

#[rustfmt::skip] // On two lines.
impl IncreaseDecrease for Gentle {
    fn increase(&self, _: &Window) -> f64 { 1.0 } // segments per window of data
    fn decrease(&mut self, _: &Window) -> f64 { 0.25 } // of the flight
}

const CODE: &[Code] = &[Code {
    path: file!(),
    text: include_str!("main.rs"),
}];
static GENTLE: Entry = Entry::new(
    "gentle",
    "Reno that keeps three quarters",
    CODE,
    |setup, _| Box::new(WindowController::new(setup, Aimd(Gentle))),
);

fn main() -> std::process::ExitCode {
    whimbrel::main_with(&[&GENTLE])
}
