//! The adapter on recorded events: a transfer of 4 s by `cubic` over 4 Mbit/s, 60 ms, a buffer of
//! 12 packets and 3 % random loss (`whimbrel tcp --record FILE`, within `whimbrel link`).

use super::*;
use crate::recording::records;
use crate::wire::ca_state;
use whimbrel_cc::registry::CONTROLLERS;

const RECORDING: &[u8] = include_bytes!("../../tests/data/cubic.events");

/// Runs an algorithm over the recording. Returns the adapter and all its commands.
fn replay(controller: &str, bytes: &[u8]) -> (Adapter, Vec<Command>) {
    let spec: Spec = controller.parse().expect("an algorithm");
    let mut adapter = None;
    let mut commands = Vec::new();
    for record in records(bytes) {
        let event = Event::read(record).expect("an event");
        let adapter = match (event.kind, &mut adapter) {
            (kind::START, none) => {
                let start = Start::read(record).expect("a first event");
                none.insert(Adapter::new(&spec, &start, 1, Default::default()))
            }
            (_, Some(adapter)) => {
                adapter.on_event(&event);
                adapter
            }
            (_, None) => panic!("the recording begins with a connection"),
        };
        commands.push(adapter.command());
    }
    (adapter.expect("a connection"), commands)
}

#[test]
fn a_recording_gives_the_same_state_as_the_live_connection() {
    let (adapter, _) = replay("cubic", RECORDING);
    let state = adapter.state();
    // As `whimbrel tcp --json` reported them.
    assert_eq!(state.state.delivered.get(), 664_633);
    assert_eq!(state.segments, 474);
    assert_eq!((state.lost_packets, state.retransmits), (15, 15));
    let episodes = state.episodes;
    assert_eq!((episodes.episodes, episodes.reductions), (10, 10));
    assert_eq!(episodes.timeouts, 0);
    assert_eq!(state.state.cwnd.get(), 23_087);
    assert_eq!(adapter.dropped_events(), 0);
    let tick = Duration::from_millis(1);
    assert_eq!(state.receiver_clock, crate::ReceiverClock::Usable(tick));
}

#[test]
fn an_algorithm_that_halves_reduces_once_for_each_recovery_of_the_kernel() {
    let (adapter, _) = replay("newreno", RECORDING);
    let recovery = 1 << ca_state::RECOVERY;
    let events = records(RECORDING).filter_map(Event::read);
    let recoveries = events.filter(|event| event.states_entered & recovery != 0);
    assert_eq!(
        adapter.state().episodes.reductions,
        recoveries.count() as u64
    );
}

#[test]
fn every_algorithm_answers_a_recording_the_same_way_twice() {
    for entry in CONTROLLERS.iter().filter(|e| !e.is_fed_bursts()) {
        let (adapter, commands) = replay(entry.name, RECORDING);
        assert_eq!(commands, replay(entry.name, RECORDING).1, "{}", entry.name);
        assert!(adapter.state().episodes.episodes > 0, "{}", entry.name);
        let windows = commands.iter().map(|command| command.window as u32);
        // The path holds 32 packets. A network's doubling goes on up to its ceiling, since what was
        // recorded does not answer it.
        let bound = if entry.name == "indigo" { 25_001 } else { 2000 };
        assert!(
            windows.clone().all(|window| (1..bound).contains(&window)),
            "{}",
            entry.name
        );
        assert!(windows.max() > Some(10), "{}: it never grew", entry.name);
    }
}

#[test]
fn a_recording_that_is_cut_off_ends_with_its_last_whole_event() {
    let whole = records(RECORDING).count();
    let cut = &RECORDING[..RECORDING.len() - 1];
    assert_eq!(records(cut).count(), whole - 1);
    replay("cubic", cut);
}

#[test]
fn windows_in_advance_are_hardly_ever_too_large() {
    let acks = CONTROLLERS.iter();
    for entry in acks.filter(|entry| !entry.is_fed_bursts()) {
        let spec: Spec = entry.name.parse().expect("an algorithm");
        let mut adapter: Option<Adapter> = None;
        let (mut used, mut too_large) = (0, 0);
        for record in records(RECORDING) {
            let event = Event::read(record).expect("an event");
            let Some(adapter) = &mut adapter else {
                let start = Start::read(record).expect("a first event");
                adapter = Some(Adapter::new(&spec, &start, 1, Default::default()));
                continue;
            };
            let (ahead, una) = (adapter.command().ahead, adapter.una.get());
            adapter.on_event(&event);
            let ordinary = event.kind == kind::ACK && event.acked > 0 && adapter.una.get() > una;
            if ahead == 0 || !ordinary || !adapter.is_cwnd_limited(&event) {
                continue;
            }
            let shift = if event.acked == 1 { 0 } else { 16 };
            used += 1;
            too_large += u32::from(ahead >> shift & 0xffff > adapter.command().window & 0xffff);
        }
        // EMFAST's depend on the RTT: 73 of 229 without probation.
        assert!(too_large <= 3, "{}: {too_large} of {used}", entry.name);
    }
}
