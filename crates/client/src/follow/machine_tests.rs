use proptest::prelude::*;

use super::*;

fn at(value: u64) -> Sequence {
    Sequence::new(value).expect("small")
}

fn event(value: u64) -> Input {
    Input::Event { first: at(value), last: at(value), terminal: false }
}

const OPENED: Input = Input::Opened { after: Some(Sequence::ZERO) };
const CAUGHT_UP: Input = Input::CaughtUp { head: None };

/// Runs the inputs and gives each verdict with the state that it led to.
fn check(order: Order, inputs: &[Input]) -> Vec<(Verdict, ConnectionState)> {
    let mut machine = Machine::new(order, None);
    let mut seen = Vec::new();
    for input in inputs {
        let (next, verdict) = machine.step(*input);
        machine = next;
        seen.push((verdict, machine.state));
    }
    seen
}

fn last_verdict(order: Order, inputs: &[Input]) -> Verdict {
    check(order, inputs).pop().expect("at least one input").0
}

#[test]
fn a_stream_goes_from_connecting_to_caught_up() {
    use ConnectionState::*;
    assert_eq!(
        check(Order::Dense, &[OPENED, event(1), CAUGHT_UP, event(2)]),
        vec![
            (Verdict::Deliver, Live),
            (Verdict::Deliver, Live),
            (Verdict::Ignore, CaughtUp),
            (Verdict::Deliver, CaughtUp)
        ]
    );
}

#[test]
fn a_cut_leads_to_reconnecting_with_the_last_sequence() {
    let seen =
        check(Order::Dense, &[OPENED, event(1), Input::Cut, Input::Unreachable, OPENED, event(1), event(2)]);
    let reconnecting = |attempt| ConnectionState::Reconnecting { attempt, last: Some(at(1)) };
    assert_eq!(
        seen[2..],
        [
            (Verdict::Reconnect { attempt: 1 }, reconnecting(1)),
            (Verdict::Reconnect { attempt: 2 }, reconnecting(2)),
            (Verdict::Deliver, ConnectionState::Live),
            (Verdict::Ignore, ConnectionState::Live),
            (Verdict::Deliver, ConnectionState::Live),
        ]
    );
}

#[test]
fn a_hole_in_an_unfiltered_stream_is_an_error() {
    let gap = Verdict::Gap { last: at(1), found: at(3) };
    assert_eq!(last_verdict(Order::Dense, &[OPENED, event(1), event(3)]), gap);
    assert_eq!(last_verdict(Order::Dense, &[OPENED, event(1), Input::Cut, OPENED, event(3)]), gap);
    let first = Verdict::Gap { last: at(0), found: at(2) };
    assert_eq!(last_verdict(Order::Dense, &[OPENED, event(2)]), first);
}

#[test]
fn a_hole_in_a_filtered_stream_is_what_was_asked_for() {
    assert_eq!(last_verdict(Order::Rising, &[OPENED, event(1), event(9)]), Verdict::Deliver);
    assert_eq!(last_verdict(Order::Rising, &[OPENED, event(9), event(3)]), Verdict::Ignore);
}

#[test]
fn a_coalesced_frame_stands_for_several_events() {
    let run = |first, last| Input::Event { first: at(first), last: at(last), terminal: false };
    assert_eq!(last_verdict(Order::Dense, &[OPENED, run(1, 4), run(5, 9)]), Verdict::Deliver);
    let gap = Verdict::Gap { last: at(4), found: at(6) };
    assert_eq!(last_verdict(Order::Dense, &[OPENED, run(1, 4), run(6, 9)]), gap);
    // Half of it was given out before, and it cannot be taken apart.
    let overlap = Verdict::Gap { last: at(2), found: at(1) };
    assert_eq!(last_verdict(Order::Dense, &[OPENED, run(1, 2), run(1, 4)]), overlap);
}

#[test]
fn a_snapshot_moves_the_place_forward_and_back_only_in_a_new_log() {
    let snapshot = |sequence, new_log| Input::Snapshot { at: at(sequence), new_log };
    assert_eq!(last_verdict(Order::Dense, &[OPENED, snapshot(7, false), event(8)]), Verdict::Deliver);
    assert_eq!(
        last_verdict(Order::Dense, &[OPENED, event(1), event(2), snapshot(1, false)]),
        Verdict::Ignore
    );
    let restored = [OPENED, event(1), event(2), Input::Cut, OPENED, snapshot(1, true), event(2)];
    assert_eq!(last_verdict(Order::Dense, &restored), Verdict::Deliver);
}

#[test]
fn events_that_the_server_counts_as_sent_and_that_never_came_are_a_hole() {
    let (caught_up, end) = (Input::CaughtUp { head: Some(at(3)) }, Input::End { head: Some(at(3)) });
    let gap = Verdict::Gap { last: at(1), found: at(3) };
    assert_eq!(last_verdict(Order::Dense, &[OPENED, event(1), caught_up]), gap);
    assert_eq!(last_verdict(Order::Dense, &[OPENED, event(1), end]), gap);
    assert_eq!(last_verdict(Order::Rising, &[OPENED, event(1), caught_up]), Verdict::Ignore);
    assert_eq!(last_verdict(Order::Rising, &[OPENED, event(1), end]), Verdict::Close);
}

#[test]
fn a_body_that_ends_without_a_terminal_is_a_cut() {
    assert_eq!(
        last_verdict(Order::Dense, &[OPENED, event(1), Input::BodyEnded]),
        Verdict::Reconnect { attempt: 1 }
    );
    let terminal = Input::Event { first: at(1), last: at(1), terminal: true };
    assert_eq!(last_verdict(Order::Rising, &[OPENED, terminal, Input::BodyEnded]), Verdict::Close);
    assert_eq!(last_verdict(Order::Rising, &[OPENED, terminal, Input::Cut]), Verdict::Close);
    assert_eq!(last_verdict(Order::Dense, &[OPENED, event(1), Input::End { head: None }]), Verdict::Close);
}

#[test]
fn a_server_that_never_answered_is_an_error_at_once() {
    assert_eq!(last_verdict(Order::Dense, &[Input::Unreachable]), Verdict::Fail);
    assert_eq!(last_verdict(Order::Dense, &[Input::Refused { retryable: false }]), Verdict::Fail);
    assert_eq!(
        last_verdict(Order::Dense, &[Input::Refused { retryable: true }]),
        Verdict::Reconnect { attempt: 1 }
    );
}

#[test]
fn a_foreign_stream_without_a_cursor_cannot_be_resumed() {
    assert_eq!(last_verdict(Order::Opaque, &[OPENED, Input::Frame, Input::Cut]), Verdict::Fail);
    assert_eq!(last_verdict(Order::Opaque, &[OPENED, Input::Frame, Input::BodyEnded]), Verdict::Close);
    let (_, verdict) = Machine::new(Order::Opaque, None).resumable().step(Input::Cut);
    assert_eq!(verdict, Verdict::Reconnect { attempt: 1 });
}

#[test]
fn attempts_are_counted_in_a_row() {
    let mut machine = Machine::new(Order::Dense, Some(2));
    let mut verdicts = Vec::new();
    for input in [OPENED, Input::Cut, OPENED, event(1), Input::Cut, Input::Cut, Input::Cut] {
        let (next, verdict) = machine.step(input);
        machine = next;
        verdicts.push(verdict);
    }
    use Verdict::*;
    let expected = [
        Deliver,
        Reconnect { attempt: 1 },
        Deliver,
        Deliver,
        Reconnect { attempt: 1 },
        Reconnect { attempt: 2 },
        Fail,
    ];
    assert_eq!(verdicts, expected);
}

proptest! {
    /// However often a stream is cut and however far each resume overlaps, each sequence is given out once, in order.
    #[test]
    fn every_sequence_comes_once_and_in_order(parts in proptest::collection::vec((0u64..5, 0u64..6), 1..20)) {
        let mut machine = Machine::new(Order::Dense, None);
        let mut given = Vec::new();
        for (overlap, count) in parts {
            machine = machine.step(OPENED).0;
            let from = machine.last.map_or(0, Sequence::get).saturating_sub(overlap) + 1;
            for value in from..from + count {
                let (next, verdict) = machine.step(event(value));
                machine = next;
                if verdict == Verdict::Deliver {
                    given.push(value);
                }
            }
            machine = machine.step(Input::Cut).0;
        }
        let expected: Vec<u64> = (1..=given.len() as u64).collect();
        prop_assert_eq!(given, expected);
    }
}
