//! The embedded API: tools that run elsewhere, at the caller's or at an MCP server.

#![allow(clippy::unwrap_used)]

use riverrun::{
    Agent, Approval, ClientTool, McpConfig, McpServer, Outcome, Riverrun, RunStream, run_streamed,
};
use serde_json::{Value, json};

fn clerk(approval: Approval) -> Agent {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let tool = ClientTool::new("delete_file", "Deletes a file at the caller's.", schema);
    Agent::new("clerk").model("scripted/approval").tool_with(tool, approval)
}

async fn said(run: &RunStream) -> Value {
    match run.outcome().await.unwrap() {
        Outcome::Completed(output) => output,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_client_s_tool_waits_for_the_caller_s_result() {
    for approval in [Approval::Policy, Approval::Never, Approval::Always] {
        let run = run_streamed(clerk(approval), "Delete x").await.unwrap();
        let Outcome::Paused(asked) = run.outcome().await.unwrap() else { panic!("the caller is asked") };
        assert_eq!(
            (asked[0].kind.as_str(), asked[0].tool.as_deref(), &asked[0].arguments),
            ("client_tool", Some("delete_file"), &json!({"path": "x"}))
        );
        assert!(run.respond(&asked[0], &json!("x is gone")).await.unwrap().won);
        assert_eq!(said(&run).await, "The file x was deleted.");
        assert!(run.to_state().await.unwrap().contains("x is gone"));
    }
}

#[tokio::test]
async fn a_client_s_tool_that_is_rejected_or_denied_is_told_to_the_model() {
    let run = run_streamed(clerk(Approval::Policy), "Delete x").await.unwrap();
    let Outcome::Paused(asked) = run.outcome().await.unwrap() else { panic!("the caller is asked") };
    run.reject(&asked[0], false, Some("not today")).await.unwrap();
    assert_eq!(said(&run).await, "The file x was not deleted.");

    let run = run_streamed(clerk(Approval::Denied("never".to_owned())), "Delete x").await.unwrap();
    assert_eq!(said(&run).await, "The file x was not deleted.");
}

const MCP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tool/tests/suite/mcp_plain.py");

const CALLS_IT: &str = r#"
[[step]]
when = { results = 1 }
play = [{ text = { pieces = ["It said: {result}"] } }]

[[step]]
play = [{ call = { name = "plain__look", arguments = ['{"at": 1}'] } }]
"#;

#[tokio::test]
async fn an_mcp_server_s_tools_are_called_through_the_facade_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(path("tools"), "look\n").unwrap();
    let argv = ["python3", MCP, "stdio", &path("tools"), &path("notes")];
    let server = McpServer::new(McpConfig::command("plain", argv));
    let agent = |name: &str| Agent::new(name).model("scripted/own").mcp_with(server.clone(), Approval::Never);
    let riverrun = Riverrun::builder()
        .script("own", CALLS_IT)
        .agent(agent("one").sub_agent(agent("two")))
        .start()
        .await
        .unwrap();
    for name in ["one", "two"] {
        let run = riverrun.run_streamed(name, "look").await.unwrap();
        assert!(said(&run).await.to_string().contains(r#"look {\"at\": 1}"#));
    }
    let started = std::fs::read_to_string(path("notes")).unwrap();
    assert_eq!(started.lines().count(), 1, "two agents share one process");
}
