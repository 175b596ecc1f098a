//! What a killed server left running on the machine.

use std::time::{Duration, Instant};

use crate::stage::{Stage, kinds};

const CALLS: &str = r#"
[[step]]
when = { step = 1 }
play = [ { call = { id = "c1", name = "spread", arguments = ['{}'] } } ]
[[step]]
play = [ { text = { pieces = ["gone on"] } } ]
"#;

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

#[test]
fn a_command_and_its_children_do_not_outlive_a_killed_server_for_long() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let config = format!(
        "[agents.spreader]\nmodel = \"scripted/spread\"\ntools = [\"spread\"]\n[tools.spread]\n\
         command = [\"sh\", \"-c\", \"setsid sleep 300 & echo $! >> {pids}; sleep 300 & echo $! >> {pids}; \
         echo $$ >> {pids}; wait\"]\napproval = \"never\"\n",
        pids = pids.display()
    );
    // Somebody else's process with the same program is not ours to end.
    let mut bystander = std::process::Command::new("sleep").arg("300").spawn().unwrap();
    let mut stage = Stage::new("leftovers", &config, &[("spread.toml", CALLS)]);
    stage.submit("t1", "spreader");
    let began = Instant::now();
    let left = loop {
        let read = std::fs::read_to_string(&pids).unwrap_or_default();
        if read.lines().count() == 3 {
            break read;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "the tool does not start");
        std::thread::sleep(Duration::from_millis(10));
    };
    stage.server.take().unwrap().kill().unwrap();
    // The program between the server and its tool may have ended them by now; the next server ends what it did not.
    stage.server =
        Some(riverrun_tests::crash::Server::start(&stage.world.program, &stage.world.place).unwrap().0);
    let events = stage.until_ended("t1");
    let began = Instant::now();
    while left.lines().any(is_alive) {
        assert!(began.elapsed() < Duration::from_secs(10), "still there of {left}");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(is_alive(&bystander.id().to_string()));
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    assert!(kinds(&events).contains(&"tool.outcome_unknown"), "{:?}", kinds(&events));
    assert_eq!(std::fs::read_to_string(&pids).unwrap(), left, "it was not run again");
}
