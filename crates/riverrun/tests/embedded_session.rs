//! A session as a list of items: what is added is read by the model, what is taken out is not, after a restart also.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use riverrun::{
    Agent, CommandError, Error, HistoryEntry, Item, Outcome, Part, Riverrun, RunStream, Session, SessionId,
    message,
};

/// The input callback writes down what it was given, and the script repeats that.
fn agent() -> Agent {
    Agent::new("a").model("scripted/echo").merge_history(|history, input| {
        let read = texts(&history).into_iter().chain(texts(&input)).collect::<Vec<_>>().join("|");
        Ok(vec![HistoryEntry::User { parts: vec![Part::plain(read)] }])
    })
}

fn texts(entries: &[HistoryEntry]) -> Vec<String> {
    let text = |parts: &[Part]| parts.iter().filter_map(Part::text).collect::<String>();
    entries
        .iter()
        .filter_map(|entry| match entry {
            HistoryEntry::User { parts } | HistoryEntry::Assistant { parts, .. } => Some(text(parts)),
            _ => None,
        })
        .collect()
}

async fn runtime(directory: &Path) -> Riverrun {
    Riverrun::builder().agent(agent()).data_dir(directory).start().await.unwrap()
}

async fn said(run: RunStream) -> String {
    match run.outcome().await.unwrap() {
        Outcome::Completed(output) => output.as_str().unwrap_or_default().to_owned(),
        other => panic!("{other:?}"),
    }
}

fn text(item: &Item) -> String {
    let Item::Message(message) = item else { panic!("{item:?}") };
    let parts = message.block_list.as_deref().or(message.content.as_deref()).unwrap_or_default();
    parts.iter().filter_map(Part::text).collect()
}

async fn listed(session: &Session, limit: Option<usize>) -> Vec<String> {
    session.get_items(limit).await.unwrap().iter().map(text).collect()
}

async fn popped(session: &Session) -> Option<String> {
    session.pop_item().await.unwrap().as_ref().map(text)
}

fn id() -> SessionId {
    SessionId::new("s").unwrap()
}

#[tokio::test]
async fn items_are_added_listed_popped_and_cleared() {
    let directory = tempfile::tempdir().unwrap();
    let riverrun = runtime(directory.path()).await;
    let session = riverrun.session(&id());
    assert_eq!(listed(&session, None).await, [""; 0]);
    assert_eq!(popped(&session).await, None);
    session.clear_session().await.unwrap();

    session.add_items([message("user", "q1"), message("assistant", "a1")]).await.unwrap();
    assert_eq!(said(session.run("a", "q2").await.unwrap()).await, "q1|a1|q2");
    assert_eq!(listed(&session, None).await, ["q1", "a1", "q2", "q1|a1|q2"]);
    assert_eq!(listed(&session, Some(3)).await, ["a1", "q2", "q1|a1|q2"]);
    assert_eq!(listed(&session, Some(0)).await, [""; 0]);

    assert_eq!(popped(&session).await.as_deref(), Some("q1|a1|q2"));
    assert_eq!(popped(&session).await.as_deref(), Some("q2"));
    assert_eq!(popped(&session).await.as_deref(), Some("a1"));
    assert_eq!(listed(&session, None).await, ["q1"]);
    assert_eq!(said(session.run("a", "q3").await.unwrap()).await, "q1|q3");

    session.clear_session().await.unwrap();
    assert_eq!(listed(&session, None).await, [""; 0]);
    assert_eq!(said(session.run("a", "q4").await.unwrap()).await, "q4");
}

#[tokio::test]
async fn what_was_taken_out_stays_out_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let riverrun = runtime(directory.path()).await;
    let session = riverrun.session(&id());
    session.add_items([message("user", "q1"), message("assistant", "a1")]).await.unwrap();
    assert_eq!(popped(&session).await.as_deref(), Some("a1"));
    drop(session);
    riverrun.close().await.unwrap();

    let riverrun = runtime(directory.path()).await;
    let session = riverrun.session(&id());
    assert_eq!(listed(&session, None).await, ["q1"]);
    assert_eq!(said(session.run("a", "q2").await.unwrap()).await, "q1|q2");
    session.clear_session().await.unwrap();
    drop(session);
    riverrun.close().await.unwrap();

    let riverrun = runtime(directory.path()).await;
    let session = riverrun.session(&id());
    assert_eq!(said(session.run("a", "q3").await.unwrap()).await, "q3");
}

/// Eight ended turns stay in the folded state; older ones are read from the store.
#[tokio::test]
async fn turns_that_left_the_state_are_listed_and_popped_too() {
    let directory = tempfile::tempdir().unwrap();
    let riverrun = runtime(directory.path()).await;
    let session = riverrun.session(&id());
    let all: Vec<String> = (0..24).map(|number| format!("m{number}")).collect();
    for pair in all.chunks(2) {
        session.add_items(pair.iter().map(|text| message("user", text))).await.unwrap();
    }
    assert_eq!(listed(&session, None).await, all);
    for left in (1..all.len()).rev() {
        assert_eq!(popped(&session).await.as_ref(), Some(&all[left]));
        assert_eq!(listed(&session, None).await, all[..left]);
    }
    // Later turns move the removed ones out of the state, and they do not come back.
    for number in 0..12 {
        session.add_items([message("user", format!("n{number}"))]).await.unwrap();
    }
    assert_eq!(
        said(session.run("a", "end").await.unwrap()).await,
        "m0|n0|n1|n2|n3|n4|n5|n6|n7|n8|n9|n10|n11|end"
    );
}

#[tokio::test]
async fn what_is_no_conversation_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let riverrun = runtime(directory.path()).await;
    let session = riverrun.session(&id());
    let too_many = (0..501).map(|_| message("user", "x"));
    let refused = session.add_items(too_many).await;
    assert!(matches!(refused, Err(Error::Command(CommandError::Invalid { .. }))), "{refused:?}");
    assert_eq!(listed(&session, None).await, [""; 0]);
}
