//! What long texts cite.

use riverrun_event::{Annotation, Block, Item, Payload};
use riverrun_provider::ModelEvent;
use riverrun_runner::AgentSpec;
use riverrun_runner::agent::Approval;
use serde_json::{Value, json};

use crate::script::{Say, Script, calls, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, READ, tool};

/// More than one event tells again.
const LONG: usize = 48 << 10;

fn citation(number: usize) -> Value {
    json!({"type": "url_citation", "start_index": number, "end_index": number + 4, "url": "https://example.com/a", "title": "a".repeat(200)})
}

/// The answer with what its service says that it cites.
fn citing(mut say: Say, count: usize) -> Say {
    let done = say.0.len() - 2;
    let annotated = (0..count).map(|number| {
        let annotation: Annotation = serde_json::from_value(citation(number)).unwrap();
        (std::time::Duration::ZERO, ModelEvent::Annotated { index: 0, annotation })
    });
    say.0.splice(done..done, annotated);
    say
}

/// The last text of the session, and what it cites.
async fn cited(stage: &Stage) -> (String, Vec<Value>) {
    let state = stage.state().await;
    let Some(Item::Message(message)) = state.tasks[0].output.last() else { panic!("no message") };
    let Some([Block::Text(block)]) = message.block_list.as_deref() else { panic!("not one text") };
    let annotations = block.annotations.iter().flatten();
    (block.text.clone(), annotations.map(|one| serde_json::to_value(one).unwrap()).collect())
}

#[tokio::test(start_paused = true)]
async fn a_long_text_keeps_what_it_cites() {
    let made = Calls::default();
    let tools = vec![tool("read", READ, Approval::Never, &made)];
    let whole = format!("{}end[^1]", "word ".repeat(LONG / 5));
    let script = Script::new(vec![calls(&[("c1", "read", "{}")]), citing(text(&whole), 300)]);
    let stage = Stage::new(script, vec![AgentSpec { tools, ..agent() }]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let (said, mut annotations) = cited(&stage).await;
    assert_eq!(said, whole);
    let own = annotations.remove(0);
    assert_eq!((&own["type"], &own["startIndex"]), (&json!("reference_to_block"), &json!(whole.len() - 4)));
    assert_eq!(annotations, (0..300).map(citation).collect::<Vec<_>>());
    for event in stage.events().await {
        let size = event.raw_payload.as_ref().map_or(0, |payload| payload.get().len());
        let is_end = !matches!(event.payload, Ok(Payload::ModelDelta(_)));
        assert!(is_end || size <= 33 << 10, "an event of {size} bytes");
    }
}

/// The numbers of a turn's results begin at 1 again.
#[tokio::test(start_paused = true)]
async fn each_turn_numbers_its_own_results() {
    let made = Calls::default();
    let script = Script::new(vec![
        calls(&[("c1", "read", r#"{"n":1}"#)]),
        text("First [^1]"),
        calls(&[("c2", "read", r#"{"n":2}"#)]),
        text("Second [^1]"),
    ]);
    let spec = AgentSpec { tools: vec![tool("read", READ, Approval::Policy, &made)], ..agent() };
    let stage = Stage::new(script, vec![spec]).await;
    for turn in ["turn_1", "turn_2"] {
        stage.submit(turn, "go").await;
        assert_eq!(stage.ended(turn).await, "completed");
    }
    let state = stage.state().await;
    let numbers = state.tasks.iter().map(|task| {
        let messages = task.output.iter().filter_map(|item| match item {
            Item::Message(message) => message.block_list.as_deref(),
            _ => None,
        });
        let blocks = messages.flatten().map(|block| serde_json::to_value(block).unwrap());
        let cited = blocks.flat_map(|block| block["annotations"].as_array().cloned().unwrap_or_default());
        cited.map(|annotation| annotation["referenceId"].as_u64()).collect::<Vec<_>>()
    });
    assert_eq!(numbers.collect::<Vec<_>>(), [vec![Some(1)], vec![Some(1)]]);
    // The numbers of an earlier turn mean nothing to the model.
    let requests = stage.script.requests.lock().unwrap();
    let history: Vec<String> = requests[2].history.iter().map(|entry| format!("{entry:?}")).collect();
    let (first, marked) =
        (history.iter().any(|it| it.contains("First")), history.iter().any(|it| it.contains("[^1]")));
    assert_eq!((first, marked), (true, false), "{history:#?}");
}
