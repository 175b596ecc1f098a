//! `riverrun pause` and `riverrun resume`, with a kill in between.

use serde_json::Value;

use crate::stage::{Stage, kinds};

impl Stage {
    /// What the command printed.
    fn cli(&self, words: &[&str]) -> String {
        let mut command = self.world.program.command(words);
        command.env("RIVERRUN_URL", format!("http://{}", self.world.place.address));
        command.env("RIVERRUN_KEY", self.world.place.key().unwrap());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn status(&self) -> Value {
        self.world.get("/v1/sessions/s/tasks").unwrap()["tasks"][0]["status"].clone()
    }
}

#[test]
fn a_turn_that_was_halted_stays_so_over_a_kill_and_then_does_what_was_decided() {
    let mut stage = Stage::new("pauses", "", &[]);
    stage.submit("t1", "asker");
    let asked = stage.world.wait_actions("s", 1).unwrap().remove(0);
    assert!(stage.cli(&["pause", "s", "--reason", "lunch"]).contains("paused"));
    stage.restart();
    assert_eq!(stage.world.decide("s", &asked, "approve").unwrap().status, 200);
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(stage.status(), "paused");
    assert!(!kinds(&stage.events()).contains(&"tool.started"), "{:?}", kinds(&stage.events()));
    let told: Value = serde_json::from_str(&stage.cli(&["resume", "s", "--json"])).unwrap();
    assert_eq!(told["status"], "running");
    let events = stage.until_ended("t1");
    let told = kinds(&events);
    let at = |kind: &str| told.iter().position(|known| *known == kind);
    assert!(
        at("task.paused") < at("action.resolved") && at("action.resolved") < at("task.resumed"),
        "{told:?}"
    );
    assert!(at("task.resumed") < at("tool.started") && told.last() == Some(&"turn.completed"), "{told:?}");
}
