//! The code of docs/embedded.md, compiled and run: each block of the page is here, word for word, between two markers.

#![allow(clippy::unwrap_used)]

use riverrun::schemars::{self, JsonSchema};
use riverrun::{Agent, FunctionTool, Riverrun, SessionId};
use serde::Deserialize;

type Ran = Result<(), riverrun::Error>;

const PAGE: &str = include_str!("../../../docs/embedded.md");
const HERE: &str = include_str!("embedded_page.rs");

/// The blocks of a text: what is between a line that begins one and the line that ends it.
fn blocks(text: &str, begin: &str, end: &str) -> Vec<String> {
    let mut lines = text.lines();
    let mut blocks = Vec::new();
    while let Some(line) = lines.next() {
        if line.trim() != begin {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let block = lines.by_ref().take_while(|line| line.trim() != end);
        let block: Vec<&str> = block.map(|line| line.get(indent..).unwrap_or_default()).collect();
        blocks.push(block.join("\n"));
    }
    blocks
}

#[test]
fn every_block_of_the_page_is_compiled_here() {
    let here = blocks(HERE, "// <page>", "// </page>");
    let page = blocks(PAGE, "```rust", "```");
    assert!(page.len() > 8, "the page has {} blocks", page.len());
    for block in &page {
        assert!(here.contains(block), "this block of docs/embedded.md is not in embedded_page.rs:\n{block}");
    }
    for block in &here {
        assert!(page.contains(block), "this block is not in docs/embedded.md:\n{block}");
    }
    let fences = PAGE.lines().filter(|line| line.starts_with("```rust")).count();
    assert_eq!(fences, page.len(), "a block of code that says more than `rust` is not compared");
}

/// Plays a call of the tool, then an answer.
fn script(tool: &str) -> String {
    format!(
        "[[step]]\nwhen = {{ results = 1 }}\nplay = [{{ text = {{ pieces = ['done'] }} }}]\n\
         [[step]]\nplay = [{{ wait_ms = 100 }}, {{ call = {{ name = '{tool}', arguments = ['{{\"path\":\"a\"}}'] }} }}]\n"
    )
}

#[tokio::test]
async fn first_words() -> Ran {
    // <page>
    use riverrun::{Agent, run_streamed};

    let agent = Agent::new("hello").instructions("Be brief.").model("scripted/echo");
    let run = run_streamed(agent, "Good morning").await?;
    let mut events = run.stream_events();
    while let Some(event) = events.next().await {
        print!("{}", event?.text_delta().unwrap_or_default());
    }
    // </page>
    assert_eq!(run.final_output().await?.unwrap(), "Good morning");
    Ok(())
}

#[derive(Deserialize, JsonSchema)]
struct Path {
    path: String,
}

fn delete() -> FunctionTool {
    FunctionTool::new("delete", "Deletes a file.", |it: Path| async move { format!("{} is gone", it.path) })
}

#[tokio::test]
async fn a_function_as_a_tool() -> Ran {
    // <page>
    use riverrun::schemars::{self, JsonSchema};
    use riverrun::{Agent, FunctionTool, Riverrun};
    use serde::Deserialize;

    #[derive(Deserialize, JsonSchema)]
    struct Place {
        city: String,
    }

    let weather = FunctionTool::new("weather", "The weather in a city.", |place: Place| async move {
        format!("15 °C in {}", place.city)
    });
    let agent = Agent::new("guide").model("scripted/weather").tool(weather.read_only());
    // </page>
    let script = script("weather").replace("path", "city");
    let riverrun = Riverrun::builder().agent(agent).script("weather", script).start().await?;
    let run = riverrun.run_streamed("guide", "How is it?").await?;
    assert!(matches!(run.outcome().await?, riverrun::Outcome::Completed(_)));
    assert!(run.to_state().await?.contains("15 °C in a"));
    Ok(())
}

#[test]
fn what_an_agent_may_do() {
    let delete = delete();
    // <page>
    use riverrun::{Agent, Limits, OnTimeout, ask_when};

    let agent = Agent::new("clerk")
        .model("openai/gpt-5-mini")
        .tool_with(delete, ask_when(|call| Ok(call.arguments["path"] != "scratch")))
        .rejection(|call| Some(format!("{} is off limits here; ask for something else", call.tool)))
        .fail_on_unknown_tool()
        .limits(Limits { on_action_timeout: OnTimeout::Fail, ..Limits::default() });
    // </page>
    assert_eq!(agent.name(), "clerk");
}

#[test]
fn tools_that_run_elsewhere() {
    // <page>
    use riverrun::{Agent, ClientTool, McpConfig, McpServer};
    use serde_json::json;

    let pick = ClientTool::new("pick_file", "Lets the user pick a file.", json!({"type": "object"}));
    let files = McpServer::new(McpConfig::command("files", ["mcp-files", "/srv/files"])); // or McpConfig::url
    let agent = Agent::new("clerk").model("openai/gpt-5-mini").tool(pick).mcp(files);
    // </page>
    assert_eq!(agent.name(), "clerk");
}

#[tokio::test]
async fn stores() -> Ran {
    let directory = tempfile::tempdir().unwrap();
    let (agent, data) = (Agent::new("hello").model("scripted/echo"), directory.path());
    // <page>
    let riverrun = Riverrun::builder()
        .agent(agent)
        .data_dir(data) // default: in memory
        .start()
        .await?;
    let run = riverrun.run_streamed("hello", "Good morning").await?;
    run.outcome().await?;
    let next = riverrun.run_in(run.session_id(), "hello", "And now?").await?; // the same conversation
    // </page>
    assert!(matches!(next.outcome().await?, riverrun::Outcome::Completed(_)));
    Ok(())
}

#[tokio::test]
async fn the_words_of_the_agents_sdk() -> Ran {
    let run = riverrun::run_streamed(Agent::new("joker").model("scripted/text"), "5 jokes").await?;
    // <page>
    use riverrun::Dialect;

    let mut events = run.stream_events_as(Dialect::AgentsSdk);
    while let Some(event) = events.next().await {
        let event = event?;
        match event["type"].as_str() {
            Some("agent_updated_stream_event") => println!("Agent: {}", event["new_agent"]["name"]),
            Some("run_item_stream_event") => match event["item"]["type"].as_str() {
                Some("tool_call_item") => println!("-- Tool was called"),
                Some("tool_call_output_item") => println!("-- Tool output: {}", event["item"]["output"]),
                Some("message_output_item") => println!("-- Message: {}", event["item"]["raw_item"]),
                _ => {}
            },
            _ => {} // raw_response_event
        }
    }
    // </page>
    assert!(run.is_complete().await?);
    Ok(())
}

#[tokio::test]
async fn approvals_in_another_process() -> Ran {
    let agent = || Agent::new("clerk").model("scripted/delete").tool(delete());
    let runtime =
        async || Riverrun::builder().agent(agent()).script("delete", script("delete")).start().await;
    let (riverrun, elsewhere) = (runtime().await?, runtime().await?);
    let stored = {
        // <page>
        use riverrun::Outcome;

        let run =
            riverrun.run_streamed("clerk", "Delete temporary files if they are no longer needed.").await?;
        let stored = match run.outcome().await? {
            Outcome::Paused(_) => run.to_state().await?, // JSON: store it where your program stores such data
            _ => return Ok(()),
        };
        // </page>
        stored
    };
    riverrun.close().await?;
    let riverrun = elsewhere;
    // <page>
    // Later, in another process, with agents and tools of the same names.
    let run = riverrun.from_state(&stored).await?;
    for interruption in run.interruptions().await? {
        println!("{:?} {}", interruption.tool, interruption.arguments);
        run.approve(&interruption, false).await?; // or reject(&interruption, false, Some("why"))
    }
    let mut events = run.stream_events(); // continues where the other process stopped reading
    while let Some(event) = events.next().await {
        print!("{}", event?.text_delta().unwrap_or_default());
    }
    // </page>
    assert_eq!(run.final_output().await?.unwrap(), "done");
    Ok(())
}

#[tokio::test]
async fn going_on_after_a_cancel() -> Ran {
    let agent = Agent::new("clerk").model("scripted/delete").tool(delete().not_destructive());
    let riverrun = Riverrun::builder().agent(agent).script("delete", script("delete")).start().await?;
    let run = riverrun.run_streamed("clerk", "Tidy up.").await?;
    let list = {
        // <page>
        use riverrun::{CancelMode, InputListMode};

        run.cancel(CancelMode::AfterTurn).await?;
        let mut events = run.stream_events();
        while let Some(event) = events.next().await {
            event?; // the current step and its tools end
        }
        let list = run.to_input_list(InputListMode::Normalized).await?;
        // </page>
        list
    };
    assert_eq!(list.len(), 3);
    // <page>
    // Here, without new input:
    run.retry().await?;
    let output = run.outcome().await?;
    // Or in a run of its own, which may be in another store:
    let agent = run.last_agent().await?.unwrap_or_default();
    let next = riverrun.run_list(&agent, &list).await?;
    // </page>
    assert!(matches!(output, riverrun::Outcome::Completed(_)));
    assert!(matches!(next.outcome().await?, riverrun::Outcome::Completed(_)));
    Ok(())
}

#[tokio::test]
async fn a_session_with_an_input_callback() -> Ran {
    let agent = Agent::new("hello").model("scripted/echo");
    let riverrun = Riverrun::builder().agent(agent).start().await?;
    let id = SessionId::new("ses_docs").unwrap();
    // <page>
    use riverrun::message;

    let session = riverrun.session(&id);
    session.add_items([message("user", "I am Ada."), message("assistant", "Hello Ada.")]).await?;
    let run = session
        .run_with("hello", "Who am I?", |history, new| {
            let newest = history.len().saturating_sub(10);
            Ok(history.into_iter().skip(newest).chain(new).collect())
        })
        .await?;
    run.outcome().await?;
    let newest = session.get_items(Some(2)).await?; // the question and the answer
    let answer = session.pop_item().await?;
    // </page>
    assert_eq!((newest.len(), newest.last()), (2, answer.as_ref()));
    session.clear_session().await?;
    assert_eq!(session.get_items(None).await?, []);
    Ok(())
}
