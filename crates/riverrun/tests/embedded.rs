//! The embedded API: what its streams, handles and states promise.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use riverrun::schemars::{self, JsonSchema};
use riverrun::{
    Agent, Builder, Error, FunctionTool, Input, Outcome, Riverrun, RunEvent, RunStream, STATE_VERSION,
};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct File {
    path: String,
}

/// Asks before it deletes, and counts what it deleted.
fn clerk(deleted: &Arc<AtomicU32>) -> Agent {
    let deleted = deleted.clone();
    let delete = FunctionTool::new("delete_file", "Deletes a file.", move |file: File| {
        deleted.fetch_add(1, Ordering::SeqCst);
        async move { format!("{} is gone", file.path) }
    });
    Agent::new("clerk").model("scripted/approval").tool(delete)
}

fn runtime(deleted: &Arc<AtomicU32>) -> Builder {
    Riverrun::builder().agent(clerk(deleted))
}

async fn rest(run: &RunStream) -> Vec<RunEvent> {
    let (mut all, mut events) = (Vec::new(), run.stream_events());
    while let Some(event) = events.next().await {
        all.push(event.unwrap());
    }
    all
}

#[tokio::test]
async fn each_event_comes_once_and_in_order_over_a_pause() {
    let deleted = Arc::default();
    let run = runtime(&deleted).start().await.unwrap().run_streamed("clerk", "Delete x").await.unwrap();
    let mut events = rest(&run).await;
    assert!(run.is_complete().await.unwrap() && run.final_output().await.unwrap().is_none());
    assert_eq!(deleted.load(Ordering::SeqCst), 0, "nothing ran before the decision");
    let asked = run.interruptions().await.unwrap();
    assert!(asked[0].digest.is_some(), "{asked:?}");
    assert!(run.approve(&asked[0], false).await.unwrap().won);
    assert!(!run.reject(&asked[0], false, None).await.unwrap().won, "the first decision holds");
    events.extend(rest(&run).await);
    let places: Vec<u64> = events.iter().map(|event| event.sequence.get()).collect();
    let dense: Vec<u64> = (places[0]..places[0] + places.len() as u64).collect();
    assert_eq!(places, dense);
    assert_eq!(events.last().unwrap().kind.as_str(), "turn.completed");
    assert!(
        events
            .iter()
            .all(|event| serde_json::from_str::<Value>(&event.json).unwrap()["sequence"]
                == event.sequence.get())
    );
    assert_eq!(run.final_output().await.unwrap().unwrap(), "The file x was deleted.");
    assert_eq!(deleted.load(Ordering::SeqCst), 1);
    assert!(rest(&run).await.is_empty(), "nothing is handed out twice");
    assert!(run.usage().await.unwrap().output_tokens.unwrap() > 0);
}

#[tokio::test]
async fn other_arguments_run_in_place_of_those_that_were_asked_for() {
    let deleted = Arc::default();
    let run = runtime(&deleted).start().await.unwrap().run_streamed("clerk", "Delete x").await.unwrap();
    let Outcome::Paused(asked) = run.outcome().await.unwrap() else { panic!("it asks") };
    let refused = run.edit(&asked[0], &json!({"path": 5})).await;
    assert!(matches!(refused, Err(Error::Command(_))), "{refused:?}");
    run.edit(&asked[0], &json!({"path": "y"})).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Completed(_)));
    let said: String = run.to_state().await.unwrap();
    assert!(said.contains("y is gone") && !said.contains("x is gone"));
}

#[tokio::test]
async fn a_state_is_taken_up_elsewhere() {
    let (here, there) = (Arc::default(), Arc::default());
    let first = runtime(&here).start().await.unwrap();
    let run = first.run_streamed("clerk", "Delete x").await.unwrap();
    let before = rest(&run).await.len();
    let state = run.to_state().await.unwrap();
    drop((run, first));

    let directory = tempfile::tempdir().unwrap();
    let second = runtime(&there).data_dir(directory.path()).start().await.unwrap();
    let run = second.from_state(&state).await.unwrap();
    let again = second.from_state(&state).await.unwrap();
    assert_eq!(again.turn_id(), run.turn_id(), "the same state again is the same run");
    let asked = run.interruptions().await.unwrap();
    run.approve(&asked[0], false).await.unwrap();
    let after = rest(&run).await;
    assert_eq!(
        after[0].sequence.get(),
        run.events_after(riverrun::Sequence::ZERO).next().await.unwrap().unwrap().sequence.get()
            + before as u64
    );
    assert_eq!(run.final_output().await.unwrap().unwrap(), "The file x was deleted.");
    assert_eq!((here.load(Ordering::SeqCst), there.load(Ordering::SeqCst)), (0, 1));
}

#[tokio::test]
async fn a_state_that_is_not_ours_is_refused_by_name() {
    let deleted = Arc::default();
    let riverrun = runtime(&deleted).start().await.unwrap();
    let run = riverrun.run_streamed("clerk", "Delete x").await.unwrap();
    run.outcome().await.unwrap();
    let state = run.to_state().await.unwrap();
    let other = runtime(&deleted).start().await.unwrap();
    let refused = async |text: &str| other.from_state(text).await.err().unwrap().to_string();

    let newer = refused(&state.replacen(STATE_VERSION, "riverrun-run/2", 1)).await;
    assert!(newer.contains("riverrun-run/2") && newer.contains(STATE_VERSION), "{newer}");
    assert!(refused("{}").await.contains("$schemaVersion"));
    assert!(refused("no json").await.contains("cannot be read"));
    let mut holed: Value = serde_json::from_str(&state).unwrap();
    holed["events"].as_array_mut().unwrap().remove(1);
    assert!(refused(&holed.to_string()).await.contains("a hole"));
    assert!(other.open_runs().await.unwrap().is_empty(), "nothing of them was taken in");

    let mut changed: Value = serde_json::from_str(&state).unwrap();
    let last = changed["events"].as_array_mut().unwrap().last_mut().unwrap();
    last["payload"]["actionType"] = json!("another");
    let conflict = riverrun.from_state(&changed.to_string()).await.err().unwrap();
    assert!(matches!(conflict, Error::StateConflict(_)), "{conflict}");
}

#[tokio::test]
async fn a_dropped_stream_does_not_cancel_but_the_last_handle_stops() {
    let finished = Arc::new(AtomicU32::new(0));
    let agent = |finished: &Arc<AtomicU32>| {
        let finished = finished.clone();
        let wait = FunctionTool::new("get_weather", "Waits.", move |_: Value| {
            let finished = finished.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(200)).await;
                finished.fetch_add(1, Ordering::SeqCst);
            }
        });
        Agent::new("slow").model("scripted/tool").tool(wait.read_only())
    };
    let begun = async |run: RunStream| {
        let mut events = run.stream_events();
        while events.next().await.unwrap().unwrap().kind.as_str() != "tool.started" {}
    };
    let riverrun = Riverrun::builder().agent(agent(&finished)).start().await.unwrap();
    let run = riverrun.run_streamed("slow", "go").await.unwrap();
    let (session, turn) = (run.session_id().clone(), run.turn_id().clone());
    begun(run).await;
    let run = riverrun.run(&session, &turn).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Completed(_)));
    assert_eq!(finished.load(Ordering::SeqCst), 1);

    begun(riverrun::run_streamed(agent(&finished), "go").await.unwrap()).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(finished.load(Ordering::SeqCst), 1, "with its last handle the run stopped");
}

#[tokio::test]
async fn a_session_remembers_and_its_runs_are_told_apart() {
    let riverrun =
        Riverrun::builder().agent(Agent::new("echo").model("scripted/echo")).start().await.unwrap();
    let first = riverrun.run_streamed("echo", "one").await.unwrap();
    first.outcome().await.unwrap();
    let second = riverrun.run_in(first.session_id(), "echo", "two").await.unwrap();
    second.outcome().await.unwrap();
    for (run, word) in [(&first, "one"), (&second, "two")] {
        let output = run.final_output().await.unwrap().unwrap();
        assert!(output.as_str().unwrap().contains(word), "{output}");
        let of_others = rest(run)
            .await
            .iter()
            .filter(|event| event.scope.turn_id.as_ref().is_some_and(|turn| turn != run.turn_id()))
            .count();
        assert_eq!(of_others, 0);
    }
}

#[tokio::test]
async fn mistakes_are_told_before_anything_runs() {
    let wrong =
        async |agent: Agent| Riverrun::builder().agent(agent).start().await.err().unwrap().to_string();
    assert!(wrong(Agent::new("a")).await.contains("`a`: it has no model"));
    let promises = Agent::new("a").model("scripted/text").output_schema(serde_json::json!({"type": "objet"}));
    assert!(wrong(promises).await.contains("its output schema: this is no valid JSON Schema at `/type`"));
    assert!(wrong(Agent::new("a").model("nobody/x")).await.contains("`nobody/x`"));
    assert!(wrong(Agent::new("a").model("scripted/text").handoff_to("b")).await.contains("`b`"));
    let twice = Agent::new("a").model("scripted/text");
    assert!(wrong(twice.clone().sub_agent(twice)).await.contains("twice"));
    assert!(wrong(Agent::new("a b").model("scripted/text")).await.contains("`a b`"));
    let riverrun = Riverrun::builder().start().await.unwrap();
    let absent = riverrun.run_streamed("nobody", Input::from("x")).await.err().unwrap();
    assert!(absent.to_string().contains("`nobody`"), "{absent}");
}

#[tokio::test]
async fn a_closed_runtime_ends_its_streams_with_an_error() {
    let riverrun = Riverrun::builder().agent(Agent::new("s").model("scripted/slow")).start().await.unwrap();
    let run = riverrun.run_streamed("s", "go").await.unwrap();
    let mut events = run.stream_events();
    events.next().await.unwrap().unwrap();
    riverrun.close().await.unwrap();
    while let Some(event) = events.next().await {
        if let Err(error) = event {
            assert!(matches!(error, Error::Closed), "{error}");
            return;
        }
    }
    panic!("the stream ended as if the run had");
}

/// One that says what is too long for an event, as it is and as the one member of an object.
fn talkative() -> Builder {
    let long = "x".repeat(400_000);
    let scene = |said: &str| format!("[[step]]\nplay = [{{ text = {{ pieces = ['{said}'] }} }}]");
    Riverrun::builder()
        .script("plain", scene(&long))
        .script("object", scene(&json!({"path": long}).to_string()))
        .agent(Agent::new("plain").model("scripted/plain"))
        .agent(Agent::new("object").model("scripted/object").output_type::<File>())
}

#[tokio::test]
async fn a_long_final_output_is_whole() {
    let runtime = talkative().start().await.unwrap();
    let run = runtime.run_streamed("plain", "Talk").await.unwrap();
    rest(&run).await;
    assert!(run.final_output().await.unwrap().unwrap().as_str().unwrap() == "x".repeat(400_000));
    let Outcome::Completed(output) = run.outcome().await.unwrap() else { panic!() };
    assert_eq!(output.as_str().unwrap().len(), 400_000);
    let run = runtime.run_streamed("object", "Talk").await.unwrap();
    rest(&run).await;
    let file: File = run.final_output_as().await.unwrap().unwrap();
    assert_eq!(file.path.len(), 400_000);
}
