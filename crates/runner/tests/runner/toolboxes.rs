//! Tools that come and go while a session lives.

use std::sync::{Arc, Mutex};

use riverrun_fold::view::tool_inventory;
use riverrun_runner::AgentSpec;
use riverrun_runner::agent::{Approval, ToolUse, Toolbox};

use crate::script::{Script, calls, text};
use crate::stage::{Stage, agent};
use crate::tool::{Calls, READ, tool};
use crate::tools::result;

#[derive(Default)]
struct Shelf {
    tools: Mutex<Vec<ToolUse>>,
    problem: Mutex<Option<String>>,
}

impl Toolbox for Shelf {
    fn name(&self) -> &str {
        "hand"
    }

    fn tools(&self) -> Arc<[ToolUse]> {
        self.tools.lock().unwrap().clone().into()
    }

    fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap().clone()
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_at_hand_is_told_when_it_changes_and_what_is_away_is_an_error() {
    let (made, shelf) = (Calls::default(), Arc::new(Shelf::default()));
    *shelf.problem.lock().unwrap() = Some("the server is down".to_owned());
    let ask = || calls(&[("c1", "hand__read", "{}")]);
    let script = Script::new(vec![ask(), text("a"), ask(), text("b"), text("c"), text("d")]);
    let stage = Stage::new(script, vec![AgentSpec { toolboxes: vec![shelf.clone()], ..agent() }]).await;
    let turn = async |name: &str| {
        stage.submit(name, "go").await;
        assert_eq!(stage.ended(name).await, "completed");
        (stage.count("tool.catalog.resolved").await, made.lock().unwrap().len())
    };
    assert_eq!(turn("turn_1").await, (1, 0));
    let (told, is_error) = result(&stage, "c1");
    assert!(is_error && told.contains("the server is down"), "{told}");

    shelf.tools.lock().unwrap().push(tool("hand__read", READ, Approval::Policy, &made));
    *shelf.problem.lock().unwrap() = None;
    assert_eq!(turn("turn_2").await, (2, 1), "it runs as soon as it is there");
    assert_eq!(turn("turn_3").await, (2, 1), "what did not change is not told again");
    let policy = |stage: riverrun_fold::State| tool_inventory(&stage).unwrap()[0].policy.clone();
    assert_eq!(policy(stage.state().await).as_deref(), Some("allowed"));

    *shelf.problem.lock().unwrap() = Some("the server is down".to_owned());
    assert_eq!(turn("turn_4").await, (3, 1));
    assert_eq!(policy(stage.state().await).as_deref(), Some("unavailable"));
}
