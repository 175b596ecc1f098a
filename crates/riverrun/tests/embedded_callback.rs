//! The input callback of a session: what the model reads, and what the session holds afterwards.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use riverrun::{
    Agent, Approval, CancelMode, Error, FunctionTool, InputListMode, Item, Json, Outcome, Part, Riverrun,
    RunStream, Session, SessionId, message,
};
use serde_json::{Map, Value, json};

fn text(item: &Item) -> String {
    let Item::Message(message) = item else { panic!("{item:?}") };
    let parts = message.block_list.as_deref().or(message.content.as_deref()).unwrap_or_default();
    parts.iter().filter_map(Part::text).collect()
}

async fn listed(session: &Session) -> Vec<String> {
    session.get_items(None).await.unwrap().iter().map(text).collect()
}

async fn runtime(directory: &Path) -> Riverrun {
    let agent = Agent::new("a").model("scripted/echo").keep_raw();
    Riverrun::builder().agent(agent).data_dir(directory).start().await.unwrap()
}

fn session(riverrun: &Riverrun) -> Session {
    riverrun.session(&SessionId::new("s").unwrap())
}

/// The scripted model repeats the newest thing that its user said.
async fn final_text(run: &RunStream) -> String {
    match run.outcome().await.unwrap() {
        Outcome::Completed(output) => output.as_str().unwrap_or_default().to_owned(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_the_callback_makes_of_the_input_is_read_and_stays() {
    let directory = tempfile::tempdir().unwrap();
    let riverrun = runtime(directory.path()).await;
    let session = session(&riverrun);
    session.add_items([message("user", "q1"), message("assistant", "a1")]).await.unwrap();
    let run = session
        .run_with("a", "q2", |mut history, new| {
            assert_eq!(history.iter().map(text).collect::<Vec<_>>(), ["q1", "a1"]);
            let new: Vec<String> = new.iter().map(text).collect();
            assert_eq!(new, ["q2"]);
            history.remove(0);
            history.push(message("user", "context"));
            history.push(message("user", format!("rewritten {}", new[0])));
            Ok(history)
        })
        .await
        .unwrap();
    assert_eq!(final_text(&run).await, "rewritten q2");
    // What was left out stays in the session, what was written anew is what the session holds of this input.
    let after = ["q1", "a1", "context", "rewritten q2", "rewritten q2"];
    assert_eq!(listed(&session).await, after);
    let list = run.to_input_list(InputListMode::Normalized).await.unwrap();
    let contents: Vec<&Value> = list.iter().map(|item| &item["content"]).collect();
    assert_eq!(contents[0], "context");
    assert_eq!(contents.len(), 3, "{list:?}");

    drop((run, session));
    riverrun.close().await.unwrap();
    let riverrun = runtime(directory.path()).await;
    let session = self::session(&riverrun);
    assert_eq!(listed(&session).await, after);
}

#[tokio::test]
async fn the_model_reads_the_conversation_in_the_order_of_the_callback() {
    let directory = tempfile::tempdir().unwrap();
    let riverrun = runtime(directory.path()).await;
    let session = session(&riverrun);
    session.add_items([message("user", "old")]).await.unwrap();
    // The new input first: the newest thing that is said is of the session.
    let run = session
        .run_with("a", "new", |history, new| Ok(new.into_iter().chain(history).collect()))
        .await
        .unwrap();
    assert_eq!(final_text(&run).await, "old");
    assert_eq!(listed(&session).await, ["old", "new", "old"]);
}

#[tokio::test]
async fn a_callback_that_fails_or_adds_nothing_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let riverrun = runtime(directory.path()).await;
    let session = session(&riverrun);
    session.add_items([message("user", "q1")]).await.unwrap();
    let refused = session.run_with("a", "q2", |_, _| Err("too old".to_owned())).await.err().unwrap();
    assert_eq!(refused.to_string(), "the input callback refused the conversation: too old");
    let nothing = session.run_with("a", "q2", |history, _| Ok(history)).await.err().unwrap();
    assert!(matches!(nothing, Error::InputCallback(_)), "{nothing}");
    assert_eq!(listed(&session).await, ["q1"]);
}

/// A retry and a restart read what the callback answered then.
#[tokio::test]
async fn the_answer_of_the_callback_holds_over_a_pause_and_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let script = "[[step]]\nwhen = { results = 1 }\nplay = [{ text = { pieces = ['done'] } }]\n\
                  [[step]]\nplay = [{ call = { name = 'wipe', arguments = ['{}'] } }]\n";
    let start = async || {
        let wipe = FunctionTool::new("wipe", "Wipes.", |_: Map<String, Value>| async { "wiped" });
        let agent = Agent::new("a").model("scripted/s").tool_with(wipe, Approval::Always).keep_raw();
        let builder = Riverrun::builder().agent(agent).script("s", script);
        builder.data_dir(directory.path()).start().await.unwrap()
    };
    let riverrun = start().await;
    let session = session(&riverrun);
    session.add_items([message("user", "SECRET")]).await.unwrap();
    let run = session.run_with("a", "go", |_, new| Ok(new)).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Paused(_)));
    drop((run, session));
    riverrun.close().await.unwrap();

    let riverrun = start().await;
    let session = self::session(&riverrun);
    let run = riverrun.open_runs().await.unwrap().remove(0);
    let asked = run.interruptions().await.unwrap();
    run.approve(&asked[0], false).await.unwrap();
    assert_eq!(final_text(&run).await, "done");
    let items = session.get_items(None).await.unwrap();
    assert_eq!(text(&items[0]), "SECRET");
    assert_eq!(items.len(), 5, "{items:?}");
}

#[tokio::test]
async fn while_a_run_is_at_work_the_session_is_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let wipe = FunctionTool::new("wipe", "Wipes.", |_: Map<String, Value>| async { Json(json!({})) });
    let script = "[[step]]\nwhen = { results = 1 }\nplay = [{ text = { pieces = ['done'] } }]\n\
                  [[step]]\nplay = [{ call = { name = 'wipe', arguments = ['{}'] } }]\n";
    let agent = Agent::new("a").model("scripted/s").tool_with(wipe, Approval::Always);
    let builder = Riverrun::builder().agent(agent).script("s", script).data_dir(directory.path());
    let riverrun = builder.start().await.unwrap();
    let session = session(&riverrun);
    session.add_items([message("user", "q1")]).await.unwrap();
    let run = session.run("a", "go").await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Paused(_)));
    let refusals = [
        session.pop_item().await.err().unwrap().to_string(),
        session.clear_session().await.err().unwrap().to_string(),
        session.add_items([message("user", "q2")]).await.err().unwrap().to_string(),
    ];
    for refused in refusals {
        assert_eq!(
            refused,
            "thread `main` has a turn at work, or one that waits; wait until it ends, or cancel it"
        );
    }
    let busy = session.run_with("a", "q2", |_, new| Ok(new)).await.err().unwrap().to_string();
    assert!(busy.starts_with("thread `main` has a turn already"), "{busy}");
    assert_eq!(listed(&session).await, ["q1"]);
    run.cancel(CancelMode::Immediate).await.unwrap();
    run.outcome().await.unwrap();
    assert!(session.pop_item().await.unwrap().is_some());
}

/// The document: run the last agent again with the normalized input; no new turn of the user is needed.
#[tokio::test]
async fn the_normalized_input_goes_on_after_a_cancel_in_a_run_of_its_own() {
    let script = "[[step]]\nwhen = { results = 1 }\nplay = [{ text = { pieces = ['It is 15C.'] } }]\n\
                  [[step]]\nplay = [{ wait_ms = 200 }, { call = { name = 'weather', arguments = ['{}'] } }]\n";
    let weather = FunctionTool::new("weather", "Weather.", |_: Map<String, Value>| async { "15C" });
    let agent = Agent::new("a").model("scripted/s").tool(weather.read_only());
    let riverrun = Riverrun::builder().agent(agent).script("s", script).start().await.unwrap();
    let run = riverrun.run_streamed("a", "How is it?").await.unwrap();
    run.cancel(CancelMode::AfterTurn).await.unwrap();
    assert!(matches!(run.outcome().await.unwrap(), Outcome::Cancelled));
    let list = run.to_input_list(InputListMode::Normalized).await.unwrap();
    let last = run.last_agent().await.unwrap().unwrap();
    let next = riverrun.run_list(&last, &list).await.unwrap();
    assert_ne!(next.session_id(), run.session_id());
    assert_eq!(final_text(&next).await, "It is 15C.");
    let list = next.to_input_list(InputListMode::Normalized).await.unwrap();
    assert_eq!(list.len(), 4, "{list:?}");

    for (list, why) in [
        (vec![], "the list has no items"),
        (vec![json!({"role": "system", "content": "x"})], "the list has no items"),
        (vec![json!({"type": "telepathy_call"})], "input[0]: an item of the type `telepathy_call`"),
        (vec![json!({"role": "user"})], "content"),
        (vec![json!(3)], "input[0]"),
    ] {
        let refused = riverrun.run_list("a", &list).await.err().unwrap().to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

/// Taking back every item of a turn writes each of the others a few times, not once for each.
#[tokio::test]
async fn popping_many_items_writes_few_events() {
    const ITEMS: usize = 128;
    let directory = tempfile::tempdir().unwrap();
    let riverrun = runtime(directory.path()).await;
    let session = session(&riverrun);
    session.add_items((0..ITEMS).map(|number| message("user", format!("m{number}")))).await.unwrap();
    for left in (0..ITEMS).rev() {
        assert_eq!(session.pop_item().await.unwrap().as_ref().map(text), Some(format!("m{left}")));
    }
    let run = session.run("a", "end").await.unwrap();
    final_text(&run).await;
    let state: Value = serde_json::from_str(&run.to_state().await.unwrap()).unwrap();
    let events = state["events"].as_array().unwrap().len();
    assert!(events < ITEMS * 30, "{events} events");
}
