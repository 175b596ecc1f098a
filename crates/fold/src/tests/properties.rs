//! What holds for every log.

use proptest::prelude::*;
use riverrun_event::{Event, SessionId};

use super::at;
use super::derived::assert_same;
use super::hostile::hostile;
use super::plausible::plausible;
use crate::{ApplyOutcome, Change, Density, State};

fn empty() -> State {
    State::new(SessionId::new("ses_1").expect("`ses_1` is an id"))
}

/// Folds a log and checks at its places: a restored state is the state, in everything that the next event could
/// read, and an event that comes again or too early changes nothing. Long logs are checked at every `stride`th place.
fn check(events: &[Event], stride: usize) {
    let (mut state, mut changes) = (empty(), Vec::new());
    for (index, event) in events.iter().enumerate() {
        let before = (state.revision, changes.len());
        assert_eq!(state.apply(event, &mut changes), ApplyOutcome::Applied);
        assert_eq!(
            state.revision - before.0,
            (changes.len() - before.1) as u64,
            "every change has its number"
        );
        check_places(&state, &changes[before.1..]);
        if index % stride != 0 {
            continue;
        }
        let restored = State::from_json(&state.to_json()).expect("a state reads back");
        assert_same(&state, &restored);

        let early = at(event, state.sequence.get() + 2);
        let (mut again, mut none) = (restored, Vec::new());
        assert_eq!(again.apply(event, &mut none), ApplyOutcome::Duplicate);
        assert!(matches!(again.apply(&early, &mut none), ApplyOutcome::Gap { .. }));
        assert_eq!(again, state);
        assert_eq!(none, []);
    }
    check_from_the_middle(events, &state, &changes);
}

/// A dialect reads the state at the places that the changes name.
fn check_places(state: &State, changes: &[Change]) {
    let item = |at: &crate::ItemAt| drop(state.tasks[at.task].output[at.item].clone());
    for change in changes {
        match change {
            Change::Thread { thread } => drop(state.threads[*thread].clone()),
            Change::Turn { turn } => drop(state.turns[*turn].clone()),
            Change::TaskCreated { task } | Change::TaskStatus { task } => assert!(*task < state.tasks.len()),
            Change::ItemAdded(at)
            | Change::ArgumentsDone(at)
            | Change::ItemDone(at)
            | Change::ItemRetracted(at)
            | Change::Arguments { at, .. } => item(at),
            Change::SummaryAdded(at)
            | Change::SummaryDone(at)
            | Change::BlockAdded(at)
            | Change::BlockDone(at)
            | Change::SummaryText { at, .. }
            | Change::ReasoningText { at, .. }
            | Change::BlockText { at, .. }
            | Change::BlockReplaced { at, .. } => item(&at.item),
            Change::ToolCall { call } => drop(state.tool_calls[*call].clone()),
            Change::ActionRequired { action } | Change::ActionResolved { action } => {
                drop(state.actions[*action].clone());
            }
            Change::TurnSealed(_)
            | Change::Session
            | Change::Queue
            | Change::Usage
            | Change::Agent
            | Change::Ledger
            | Change::Problem => {}
        }
    }
}

/// Snapshot plus tail is the whole: the same state, the same changes, the same sealed turns.
fn check_from_the_middle(events: &[Event], whole: &State, changes: &[Change]) {
    for middle in [events.len() / 3, events.len() * 2 / 3] {
        let (mut state, mut seen) = (empty(), Vec::new());
        for (index, event) in events.iter().enumerate() {
            if index == middle {
                state = State::from_json(&state.to_json()).expect("a state reads back");
            }
            assert_eq!(state.apply(event, &mut seen), ApplyOutcome::Applied);
        }
        assert_same(&state, whole);
        assert_eq!(seen, changes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 700, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_log_folds_and_restores(seeds in prop::collection::vec(any::<u64>(), 0..40)) {
        let events: Vec<Event> = seeds.iter().zip(1..).map(|(seed, sequence)| hostile(*seed, sequence)).collect();
        check(&events, 2);
    }

    #[test]
    fn a_filtered_log_folds(seeds in prop::collection::vec((any::<u64>(), 1u64..5), 0..40)) {
        let (mut state, mut changes, mut sequence) = (empty(), Vec::new(), 0);
        for (seed, step) in seeds {
            sequence += step;
            prop_assert_eq!(state.apply_as(Density::Filtered, &hostile(seed, sequence), &mut changes), ApplyOutcome::Applied);
        }
        assert_same(&State::from_json(&state.to_json()).expect("a state reads back"), &state);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_session_folds_and_restores(seed: u64, turns in 1usize..12) {
        check(&plausible(seed, turns), 11);
    }

    #[test]
    fn a_session_has_no_problem_that_its_runner_did_not_make(seed: u64, turns in 1usize..6) {
        use crate::ProblemCode::{AfterTerminal, UnknownReference};
        let (mut state, mut changes) = (empty(), Vec::new());
        for event in plausible(seed, turns) {
            prop_assert_eq!(state.apply(&event, &mut changes), ApplyOutcome::Applied);
        }
        let unexpected = state.problems.recent.iter().find(|problem| !matches!(problem.code, AfterTerminal | UnknownReference));
        prop_assert_eq!(unexpected, None);
    }
}
