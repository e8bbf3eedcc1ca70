//! What a browser sends to the lab.

use crate::text;
use whimbrel_lab::State;
use whimbrel_lab::recordings::Recordings;

/// The state of the lab's page, from a link or a request.
pub fn state(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let Ok(state) = State::parse(text) else {
        return;
    };
    let again = State::parse(&state.print()).expect("what was printed can be read");
    assert_eq!(again.print(), state.print());
    state.spec(&Recordings::default()).ok();
}

/// A scenario opened on the lab's page.
pub fn opened(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    whimbrel_lab::opened::state(text, None, &Recordings::default()).ok();
}

/// A recorded rate opened on the lab's page.
pub fn recording(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    Recordings::default().add("recording", text).ok();
}
