//! Sub-agents, handoffs, and long conversations.

use std::time::Duration;

use riverrun_event::{Item, Part, Payload, TaskId, TurnId};
use riverrun_fold::Status;
use riverrun_provider::{Category, HistoryEntry};
use riverrun_runner::agent::{Approval, Limits};
use riverrun_runner::reference::{Keep, ReferenceMode, References, Wrapper};
use riverrun_runner::{AgentSpec, CommandError, Decision, Pause};

use crate::script::{Script, calls, fails, slow_text, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, ONCE, READ, tool};
use crate::tools::{decide, pending};

fn named(name: &str, model: &str) -> AgentSpec {
    AgentSpec { name: name.to_owned(), models: vec![format!("script/{model}")], ..AgentSpec::default() }
}

/// `main` may call `helper`, which may call `helper` too.
fn family(tools: Vec<riverrun_runner::agent::ToolUse>) -> Vec<AgentSpec> {
    let main = AgentSpec { subagents: vec!["helper".to_owned()], ..named("main", "main") };
    let helper = AgentSpec { subagents: vec!["helper".to_owned()], tools, ..named("helper", "helper") };
    vec![main, helper]
}

fn ask(id: &str, what: &str) -> crate::script::Say {
    calls(&[(id, "helper", &format!(r#"{{"input":"{what}"}}"#))])
}

fn read_by(stage: &Stage, model: &str) -> Vec<HistoryEntry> {
    let requests = stage.script.requests.lock().unwrap();
    requests.iter().rev().find(|request| request.model == model).expect("it was asked").history.clone()
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_works_and_its_parent_reads_its_message_alone() {
    let made = Calls::default();
    let script = Script::new(vec![])
        .model("main", vec![ask("c1", "find it"), text("It is there")])
        .model("helper", vec![calls(&[("c1", "read", "{}")]), text("Found [^1] it")]);
    let stage = Stage::new(script, family(vec![tool("read", READ, Approval::Policy, &made)])).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let state = stage.state().await;
    let child = &state.tasks[1];
    assert_eq!((child.parent_task_id.as_ref(), child.depth), (Some(&state.tasks[0].task_id), 1));
    assert_eq!(child.task_id.as_str(), "c1");
    let history = read_by(&stage, "main");
    assert_eq!(history.len(), 4, "{history:?}");
    let Some(HistoryEntry::ToolResult { parts, .. }) = history.last() else { panic!("{history:?}") };
    let told: String = parts.iter().filter_map(Part::text).collect();
    assert!(told.contains("Found [^1] it") && told.contains("read says"), "{told}");
    let helper = read_by(&stage, "helper");
    assert!(matches!(&helper[0], HistoryEntry::User { parts } if parts[0].text() == Some("find it")));
    // The user sees everything: the child's items are inside the parent's result.
    let shown = riverrun_fold::view::nested_output(&state, &state.tasks[0].task_id).unwrap();
    let blocks = shown.iter().find_map(|item| match item {
        Item::ToolResult(result) => result.block_list.clone(),
        _ => None,
    });
    let blocks = blocks.expect("the result shows something");
    assert!(blocks.len() >= 4, "{blocks:?}");
}

/// Who reads `[^2]` in the parent's answer must find out that it is the child's `[^1]`.
#[tokio::test(start_paused = true)]
async fn a_result_tells_what_the_numbers_of_a_sub_agent_are_here() {
    let made = Calls::default();
    let script = Script::new(vec![])
        .model("main", vec![calls(&[("k", "look", "{}")]), ask("c1", "find it"), text("It is there [^2]")])
        .model("helper", vec![calls(&[("c2", "read", "{}")]), text("Found [^1] it")]);
    let mut agents = family(vec![tool("read", READ, Approval::Policy, &made)]);
    agents[0].tools = vec![tool("look", READ, Approval::Policy, &made)];
    let stage = Stage::new(script, agents).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let state = stage.state().await;
    let references: Vec<_> = state.tasks[0]
        .output
        .iter()
        .filter_map(|item| match item {
            Item::ToolResult(result) => Some(result.references.as_ref().map(|raw| raw.get().to_owned())),
            _ => None,
        })
        .collect();
    assert_eq!(references, [None, Some(r#"{"1":2}"#.to_owned())]);
}

/// What an agent says of references decides what its model reads of its own results and of its sub-agents' sources.
#[tokio::test(start_paused = true)]
async fn an_agent_says_what_its_model_reads_of_references() {
    for (references, marker, reads_all) in [
        (References::default(), "<referencable-item>\nID: 1", false),
        (
            References { wrapper: Wrapper::Result, keep: Keep::All, explain: true, mode: None },
            "<referencable-result>\nID: 1\n",
            true,
        ),
    ] {
        let made = Calls::default();
        let script = Script::new(vec![])
            .model("main", vec![calls(&[("k", "look", "{}")]), ask("c1", "find it"), text("It is there")])
            .model(
                "helper",
                vec![calls(&[("c2", "read", "{}"), ("c3", "look", "{}")]), text("Found [^2] it")],
            );
        let tools =
            || vec![tool("read", READ, Approval::Policy, &made), tool("look", READ, Approval::Policy, &made)];
        let mut agents = family(tools());
        let instructions = Some("Look.".to_owned());
        let main = AgentSpec { tools: tools(), references, instructions, ..agents.remove(0) };
        agents.insert(0, main);
        let stage = Stage::new(script, agents).await;
        stage.submit("turn_1", "go").await;
        assert_eq!(stage.ended("turn_1").await, "completed");
        let told: Vec<String> = read_by(&stage, "main")
            .iter()
            .filter_map(|entry| match entry {
                HistoryEntry::ToolResult { parts, .. } => Some(parts.iter().filter_map(Part::text).collect()),
                _ => None,
            })
            .collect();
        assert!(told[0].starts_with(marker), "{told:?}");
        assert_eq!(told[1].contains("read says"), reads_all, "{told:?}");
        let instructions = {
            let requests = stage.script.requests.lock().unwrap();
            let asked = requests.iter().find(|request| request.model == "main").expect("it was asked");
            asked.instructions.clone().expect("it has some")
        };
        assert!(instructions.starts_with("Look."), "{instructions}");
        assert_eq!(instructions.contains("[^1]"), references.explain, "{instructions}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_action_in_a_child_shows_on_the_root_and_resumes_it() {
    let made = Calls::default();
    let script = Script::new(vec![])
        .model("main", vec![ask("c1", "erase it"), text("Gone")])
        .model("helper", vec![calls(&[("k", "erase", "{}")]), text("Erased")]);
    let mut stage = Stage::new(script, family(vec![tool("erase", ONCE, Approval::Policy, &made)])).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 1).await;
    let state = stage.state().await;
    assert_eq!(state.actions[0].root_task_id, state.turns[0].task_id);
    assert_eq!(state.turns[0].status.as_str(), "waiting_permission");
    stage.take_over().await;
    stage
        .runner
        .decide(&stage.key, decide(&open[0].0, Decision::Approve, open[0].1.digest.clone()))
        .await
        .unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(made.lock().unwrap().len(), 1);
}

/// What the parent's readers are told of the child, in order.
async fn told_of_child(stage: &Stage) -> Vec<String> {
    let events = stage.events().await;
    let told = events.iter().filter_map(|event| match event.payload.as_ref().ok()? {
        Payload::SubagentSpawned(spawned) => spawned.status.clone(),
        Payload::SubagentStatus(told) => told.status.clone(),
        Payload::SubagentCompleted(_) => Some("completed".to_owned()),
        _ => None,
    });
    told.collect()
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_tells_when_it_waits_and_when_it_goes_on() {
    let made = Calls::default();
    let script = Script::new(vec![]).model("main", vec![ask("c1", "erase it"), text("Gone")]).model(
        "helper",
        vec![calls(&[("k", "erase", "{}")]), slow_text("Erased it", Duration::from_secs(5))],
    );
    let mut stage = Stage::new(script, family(vec![tool("erase", ONCE, Approval::Policy, &made)])).await;
    stage.submit("turn_1", "go").await;
    let open = pending(&stage, 1).await;
    stage.until("subagent.status").await;
    stage.take_over().await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(
        told_of_child(&stage).await,
        ["running", "waiting_permission"],
        "a new owner says nothing again"
    );
    let decision = decide(&open[0].0, Decision::Approve, open[0].1.digest.clone());
    stage.runner.decide(&stage.key, decision).await.unwrap();
    stage.until("model.delta").await;
    let (turn, child) = (TurnId::new("turn_1").unwrap(), TaskId::new("c1").unwrap());
    for halts in [true, false] {
        let pause = Pause { halts, reason: None };
        stage.runner.pause(&stage.key, &turn, &child, pause, None).await.unwrap();
        tokio::time::sleep(Duration::from_secs(20)).await;
    }
    assert_eq!(stage.ended("turn_1").await, "completed");
    let told = told_of_child(&stage).await;
    assert_eq!(told, ["running", "waiting_permission", "running", "paused", "running", "completed"]);
    let events = stage.events().await;
    let status = events.iter().find(|event| event.kind.as_str() == "subagent.status").unwrap();
    assert_eq!(status.scope.subagent_id.as_deref(), Some("c1"));
}

#[tokio::test(start_paused = true)]
async fn children_run_side_by_side_within_their_limits() {
    let two = calls(&[
        ("c1", "helper", r#"{"input":"a"}"#),
        ("c2", "helper", r#"{"input":"b"}"#),
        ("c3", "helper", r#"{"input":"c"}"#),
    ]);
    let script = Script::new(vec![]).model("main", vec![two, text("ok")]).model(
        "helper",
        vec![slow_text("one two", Duration::from_secs(5)), slow_text("three four", Duration::from_secs(5))],
    );
    let mut agents = family(vec![]);
    agents[0].limits = Limits { children: 2, ..Limits::default() };
    let stage = Stage::new(script, agents).await;
    let before = tokio::time::Instant::now();
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert!(before.elapsed() < Duration::from_secs(15), "they did not wait for each other");
    assert_eq!(stage.count("subagent.completed").await, 2);
    let refused = read_by(&stage, "main")
        .into_iter()
        .filter(|entry| matches!(entry, HistoryEntry::ToolResult { is_error: true, .. }));
    assert_eq!(refused.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn agents_call_agents_only_so_deep() {
    let deeper = |n: usize| ask(&format!("d{n}"), "deeper");
    let script = Script::new(vec![])
        .model("main", vec![ask("d0", "deep"), text("ok")])
        .model("helper", vec![deeper(1), deeper(2), text("stop"), text("stop"), text("stop")]);
    let mut agents = family(vec![]);
    agents[0].limits = Limits { depth: 2, ..Limits::default() };
    let stage = Stage::new(script, agents).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    let state = stage.state().await;
    assert_eq!(state.tasks.iter().map(|task| task.depth).max(), Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_is_told_things_and_closed() {
    let script = Script::new(vec![])
        .model("main", vec![ask("c1", "look"), text("ok"), ask("c2", "look"), text("ok")])
        .model(
            "helper",
            vec![
                slow_text("a b", Duration::from_secs(5)),
                text("told"),
                slow_text("a b", Duration::from_secs(5)),
            ],
        );
    let stage = Stage::new(script, family(vec![])).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    stage
        .runner
        .subagent_input(&stage.key, &TaskId::new("c1").unwrap(), "and this".into(), None)
        .await
        .unwrap();
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert!(read_by(&stage, "helper").len() >= 3);
    stage.submit("turn_2", "go").await;
    stage.until_count("subagent.spawned", 2).await;
    stage
        .runner
        .close_subagent(&stage.key, &TaskId::new("c2").unwrap(), Some("too slow".to_owned()))
        .await
        .unwrap();
    assert_eq!(stage.ended("turn_2").await, "completed");
    let history = read_by(&stage, "main");
    let Some(HistoryEntry::ToolResult { parts, is_error: true, .. }) = history.last() else {
        panic!("{history:?}")
    };
    assert!(parts[0].text().unwrap().contains("too slow"));
    let before = stage.events().await.len();
    for (child, ended) in [("c1", Status::Completed), ("c2", Status::Cancelled)] {
        let child = TaskId::new(child).unwrap();
        let closed = stage.runner.close_subagent(&stage.key, &child, None).await.unwrap();
        assert_eq!(closed, Some(ended), "closing what has ended is no error");
        let told = stage.runner.subagent_input(&stage.key, &child, "more".into(), None).await.unwrap_err();
        assert!(
            matches!(&told, CommandError::SubagentEnded { status, .. } if status == ended.as_str()),
            "{told}"
        );
        let turn = TurnId::new(if child.as_str() == "c1" { "turn_1" } else { "turn_2" }).unwrap();
        let pause = Pause { halts: false, reason: None };
        let paused = stage.runner.pause(&stage.key, &turn, &child, pause, None).await.unwrap_err();
        let why = format!("it has ended: {}", ended.as_str());
        assert!(paused.to_string().ends_with(&why), "not how its turn ended: {paused}");
    }
    let nobody = stage.runner.close_subagent(&stage.key, &TaskId::new("c9").unwrap(), None).await;
    assert!(matches!(nobody, Err(CommandError::NoSubagent(_))));
    assert_eq!(stage.events().await.len(), before, "nothing was written");
}

#[tokio::test(start_paused = true)]
async fn a_retry_goes_on_with_the_agent_that_had_the_conversation() {
    let main = AgentSpec { handoffs: vec!["expert".to_owned()], ..named("main", "main") };
    let script = Script::new(vec![])
        .model("main", vec![calls(&[("h", "transfer_to_expert", "{}")]), text("me again")])
        .model("expert", vec![fails("half", Category::InvalidRequest), text("done"), text("anew")]);
    let mut stage = Stage::new(script, vec![main, named("expert", "expert")]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "failed");
    stage.take_over().await;
    let turn = TurnId::new("turn_1").unwrap();
    stage.runner.retry(&stage.key, &turn, None).await.unwrap();
    stage.until("turn.completed").await;
    assert_eq!(stage.said("turn_1").await, "done");
    let models = |stage: &Stage| -> Vec<String> {
        stage.script.requests.lock().unwrap().iter().map(|request| request.model.clone()).collect()
    };
    assert_eq!(models(&stage), ["main", "expert", "expert"]);
    // One that went well begins anew, with the agent that it was given to.
    stage.runner.retry(&stage.key, &turn, None).await.unwrap();
    stage.until_count("turn.completed", 2).await;
    assert_eq!(models(&stage).last().map(String::as_str), Some("main"));
}

#[tokio::test(start_paused = true)]
async fn a_handoff_gives_the_conversation_to_another_agent() {
    let main = AgentSpec { handoffs: vec!["expert".to_owned()], ..named("main", "main") };
    let script = Script::new(vec![])
        .model("main", vec![calls(&[("h", "transfer_to_expert", "{}"), ("i", "transfer_to_expert", "{}")])])
        .model("expert", vec![text("I take over")]);
    let stage = Stage::new(script, vec![main, named("expert", "expert")]).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "I take over");
    assert_eq!((stage.count("handoff.completed").await, stage.count("agent.changed").await), (1, 1));
    assert_eq!(stage.state().await.agent.as_deref(), Some("expert"));
}

#[tokio::test(start_paused = true)]
async fn old_turns_are_read_after_they_left_the_state() {
    let mut stage = Stage::new(Script::new(vec![]), vec![agent()]).await;
    for turn in 0..14 {
        stage.submit(&format!("turn_{turn}"), &format!("input {turn}")).await;
        stage.ended(&format!("turn_{turn}")).await;
        if turn == 10 {
            stage.take_over().await;
        }
    }
    let requests = stage.script.requests.lock().unwrap();
    let users =
        requests[13].history.iter().filter(|entry| matches!(entry, HistoryEntry::User { .. })).count();
    assert_eq!(users, 14);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_fails_is_an_error_that_its_parent_reads() {
    let broken = crate::script::fails("", riverrun_provider::Category::InvalidRequest);
    let script = Script::new(vec![])
        .model("main", vec![ask("c1", "look"), text("I see")])
        .model("helper", vec![broken]);
    let stage = Stage::new(script, family(vec![])).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.count("subagent.failed").await, 1);
    let history = read_by(&stage, "main");
    let Some(HistoryEntry::ToolResult { parts, is_error: true, .. }) = history.last() else {
        panic!("{history:?}")
    };
    assert!(parts[0].text().unwrap().contains("it broke"), "{parts:?}");
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_turn_ends_its_children_first() {
    let script = Script::new(vec![])
        .model("main", vec![ask("c1", "look")])
        .model("helper", vec![ask("c2", "deeper"), slow_text("a b c", Duration::from_secs(5))]);
    let stage = Stage::new(script, family(vec![])).await;
    stage.submit("turn_1", "go").await;
    stage.until("model.delta").await;
    stage.runner.cancel(&stage.key, &"turn_1".parse().unwrap(), Default::default(), None).await.unwrap();
    assert_eq!(stage.ended("turn_1").await, "cancelled");
    let events = stage.events().await;
    let ended = events.iter().filter(|event| event.kind.as_str() == "task.cancelled");
    let depths: Vec<u32> = ended.map(|event| event.scope.depth.unwrap_or(0)).collect();
    assert_eq!(depths, [2, 1, 0]);
    assert!(stage.state().await.tasks.iter().all(|task| task.status.is_terminal()));
}

#[tokio::test(start_paused = true)]
async fn the_policy_reaches_other_agents_too() {
    let denied = ["transfer_to_expert", "helper"]
        .map(|name| (name.to_owned(), Approval::Denied("not here".to_owned())));
    let main = AgentSpec {
        handoffs: vec!["expert".to_owned()],
        subagents: vec!["helper".to_owned(), "other".to_owned()],
        agent_approvals: denied.into(),
        ..named("main", "main")
    };
    let asked = [
        ("h", "transfer_to_expert", "{}".to_owned()),
        ("s", "helper", r#"{"input":"x"}"#.to_owned()),
        ("o", "other", r#"{"task":"x"}"#.to_owned()),
        ("l", "other", format!(r#"{{"input":"{}"}}"#, "x".repeat(300_000))),
    ];
    let asked = asked.each_ref().map(|(id, name, arguments)| (*id, *name, arguments.as_str()));
    let script = Script::new(vec![]).model("main", vec![calls(&asked), text("on my own")]);
    let others = ["expert", "helper", "other"].map(|name| named(name, name));
    let stage = Stage::new(script, std::iter::once(main).chain(others).collect()).await;
    stage.submit("turn_1", "go").await;
    assert_eq!(stage.ended("turn_1").await, "completed");
    assert_eq!(stage.said("turn_1").await, "on my own");
    assert_eq!((stage.count("handoff.requested").await, stage.count("subagent.started").await), (0, 0));
    for (id, words) in [("h", "not here"), ("s", "not here"), ("o", "schema"), ("l", "262144")] {
        let (told, is_error) = crate::tools::result(&stage, id);
        assert!(is_error && told.contains(words), "{id}: {told}");
    }
}

/// A model that was told nothing about citations reads plain results as their tool wrote them. Sources that a tool
/// marked are wrapped, and agent and tool may say otherwise.
#[tokio::test(start_paused = true)]
async fn results_are_wrapped_as_agent_and_tool_say() {
    let mark = "<referencable-item>";
    let as_agent = |mode| References { mode, ..References::default() };
    let explained = References { explain: true, ..References::default() };
    for (references, of_tool, plain, source) in [
        (References::default(), None, false, true),
        (explained, None, true, true),
        (as_agent(Some(ReferenceMode::All)), None, true, true),
        (as_agent(Some(ReferenceMode::Off)), None, false, false),
        (as_agent(Some(ReferenceMode::All)), Some(ReferenceMode::Off), false, false),
        (as_agent(Some(ReferenceMode::Off)), Some(ReferenceMode::Cited), false, true),
    ] {
        let made = Calls::default();
        let asked = calls(&[("c1", "read", r#"{"plain":true}"#), ("c2", "read", "{}")]);
        let script = Script::new(vec![]).model("main", vec![asked, text("ok")]);
        let mut agents = family(Vec::new());
        agents[0].tools = vec![tool("read", READ, Approval::Policy, &made)];
        agents[0].references = references;
        agents[0].tool_references = of_tool.map(|mode| ("read".to_owned(), mode)).into_iter().collect();
        let stage = Stage::new(script, agents).await;
        stage.submit("turn_1", "go").await;
        assert_eq!(stage.ended("turn_1").await, "completed");
        let told: Vec<bool> = read_by(&stage, "main")
            .iter()
            .filter_map(|entry| match entry {
                HistoryEntry::ToolResult { parts, .. } => {
                    Some(parts.iter().filter_map(Part::text).any(|text| text.starts_with(mark)))
                }
                _ => None,
            })
            .collect();
        assert_eq!(told, [plain, source], "{references:?}, {of_tool:?}");
    }
}
