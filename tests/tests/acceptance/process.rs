//! 13: processes that can be written to, and whose output is larger than an event.

use std::time::{Duration, Instant};

use riverrun_tests::crash::Server;
use serde_json::{Value, json};

use crate::stage::{Stage, find, kinds, place};

/// Asks for a name, greets it, and writes as many lines as the second answer says.
const GREETER: &str = r#"
printf 'your name? '
read -r name
printf 'hello, %s\n' "$name"
read -r secret
echo "the secret has $(printf %s "$secret" | wc -c) characters" >&2
seq 1 60000
exit 0
"#;

/// Goes on until somebody ends it, and leaves a child that would go on as well.
const ENDLESS: &str = r#"
sh -c 'while :; do sleep 0.05; done' &
echo ready
while read -r line; do echo "got $line"; done
wait
"#;

const CALLER: &str = r#"
[[step]]
when = { results = 1 }
play = [ { text = { pieces = ["It said: {result}"] } } ]
[[step]]
play = [ { call = { name = "NAME", arguments = ['{}'] } } ]
"#;

fn stage(name: &str) -> Stage {
    let scripts = [("greeter", GREETER), ("endless", ENDLESS)];
    // Nobody gives these processes what they wait for, so nobody waits for them.
    let mut config = "[server]\ndrain = \"500ms\"\n".to_owned();
    for (name, script) in scripts {
        config += &format!(
            "[agents.{name}]\nmodel = \"scripted/{name}\"\ntools = [\"{name}\"]\n[tools.{name}]\n\
             description = \"runs a process\"\ncommand = [\"sh\", \"-c\", {script:?}]\napproval = \"never\"\n\
             interactive = true\ntimeout = \"60s\"\n[tools.{name}.env]\nFLAVOUR = \"hunter2\"\n"
        );
    }
    let plays = scripts.map(|(name, _)| (format!("{name}.toml"), CALLER.replace("NAME", name)));
    let plays: Vec<(&str, &str)> = plays.iter().map(|(file, play)| (file.as_str(), play.as_str())).collect();
    Stage::new(name, &config, &plays)
}

impl Stage {
    /// The process that the turn runs, once it has written this.
    fn process(&self, text: &str) -> String {
        let wrote = |event: &Value| {
            event["type"] == "process.output"
                && event["payload"]["text"].as_str().is_some_and(|told| told.contains(text))
        };
        let events = self.until("output of the process", wrote);
        events.iter().rfind(|event| wrote(event)).unwrap()["processId"].as_str().unwrap().to_owned()
    }

    fn write(&self, process: &str, body: &Value) -> (u16, Value) {
        self.world.post(&format!("/v1/sessions/s/processes/{process}/stdin"), body).unwrap()
    }

    fn terminate(&self, process: &str) -> (u16, Value) {
        let path = format!("/v1/sessions/s/processes/{process}/terminate");
        self.world.post(&path, &json!({"reason": "enough"})).unwrap()
    }

    fn blob(&self, reference: &Value) -> Vec<u8> {
        let name = reference["ref"].as_str().unwrap_or_else(|| panic!("{reference} has no ref"));
        let (status, blob) = self.world.place.ask("GET", &format!("/v1/blobs/{name}"), &[], b"").unwrap();
        assert_eq!(status, 200, "{name}");
        blob
    }
}

/// True once nothing on this machine carries the name of the process.
fn is_gone(process: &str) -> bool {
    let wanted = format!("RIVERRUN_PROCESS_ID={process}");
    let began = Instant::now();
    let is_there = || {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let environments = all.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
        environments.into_iter().any(|all| all.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes()))
    };
    while began.elapsed() < Duration::from_secs(10) {
        if !is_there() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

#[test]
fn scenario_13_a_process_is_written_to_and_its_large_output_is_kept_by_reference() {
    let stage = stage("process");
    stage.submit("t1", "greeter");
    let process = stage.process("your name?");
    let (status, told) = stage.write(&process, &json!({"text": "Ada\n"}));
    assert_eq!((status, &told["size"]), (202, &json!(4)), "{told}");
    stage.process("hello, Ada");
    let (status, told) = stage.write(&process, &json!({"text": "s3cr3t-word\n", "secret": true}));
    assert_eq!(status, 202, "{told}");
    let events = stage.until_ended("t1");
    assert_eq!(events.last().unwrap()["type"], "turn.completed", "{:?}", kinds(&events));

    let started = find(&events, "process.started");
    for member in ["threadId", "turnId", "taskId", "toolCallId", "processId"] {
        assert!(started[member].is_string(), "{member} is missing in {started}");
    }
    assert_eq!(started["payload"]["destructive"], true, "{started}");
    assert_eq!(started["payload"]["resourceLimits"]["timeoutMs"], 60000, "{started}");
    let all = serde_json::to_string(&events).unwrap();
    assert!(!all.contains("s3cr3t") && !all.contains("hunter2"), "a secret is in the log");
    let inputs: Vec<&Value> = events.iter().filter(|event| event["type"] == "process.input").collect();
    assert_eq!(inputs.len(), 2);
    assert_eq!((&inputs[0]["payload"]["text"], &inputs[0]["payload"]["size"]), (&json!("Ada\n"), &json!(4)));
    assert_eq!((&inputs[1]["payload"]["secret"], &inputs[1]["payload"]["size"]), (&json!(true), &json!(12)));
    assert!(inputs.iter().all(|input| input["payload"]["writtenBy"].is_string()), "{inputs:?}");
    assert!(all.contains("the secret has 11 characters"), "the process read the secret");

    let seq: String = (1..=60000).map(|number| format!("{number}\n")).collect();
    let whole = format!("your name? hello, Ada\n{seq}");
    let completed = find(&events, "process.completed");
    assert_eq!(completed["payload"]["exitCode"], 0, "{completed}");
    assert!(completed["payload"]["preview"].as_str().unwrap().len() < 1024, "{completed}");
    let reference = &completed["payload"]["outputRefs"][0];
    assert_eq!(reference["size"], whole.len(), "{reference}");
    assert_eq!((&reference["owner"], &reference["truncated"]), (&json!(process), &json!(false)));
    assert!(stage.blob(reference) == whole.as_bytes(), "what is kept is not what was written");
    parts_are_the_stream(&stage, &events, &whole);

    let result = find(&events, "tool.result");
    assert_eq!(result["payload"]["outputRef"]["ref"], reference["ref"], "{result}");
    let said = events.iter().filter(|event| event["type"] == "model.delta");
    let said: String = said.filter_map(|event| event["payload"]["delta"].as_str()).collect();
    assert!(said.len() < 20_000 && said.contains("hello, Ada") && said.contains("left out"), "{said}");
    assert!(place(&events, "process.completed") < place(&events, "tool.result"));

    let shown = stage.world.get(&format!("/v1/sessions/s/processes/{process}")).unwrap();
    assert_eq!((&shown["status"], &shown["exitCode"]), (&json!("completed"), &json!(0)), "{shown}");
    assert_eq!((&shown["inputs"], &shown["inputBytes"]), (&json!(2), &json!(16)), "{shown}");
    let models = stage.world.get("/v1/sessions/s/state?view=read_models").unwrap();
    assert_eq!(models["thread_read_model"][0]["processes"][0], shown);
    let environment = stage.world.get("/v1/sessions/s/environment").unwrap();
    assert_eq!(environment["processes"]["entries"][0], shown, "{environment}");
    assert_eq!((&environment["os"], &environment["shell"]), (&json!("linux"), &json!("not_applicable")));

    // It has ended: nothing can be done to it, and nothing happens.
    let before = stage.events().len();
    let (status, refused) = stage.write(&process, &json!({"text": "late\n"}));
    assert_eq!((status, &refused["code"]), (409, &json!("process_unavailable")), "{refused}");
    assert_eq!(refused["processStatus"], "completed", "{refused}");
    assert_eq!(stage.terminate(&process).0, 409);
    let (status, refused) = stage.write("proc_none", &json!({"text": "x"}));
    assert_eq!((status, &refused["code"]), (404, &json!("not_found")), "{refused}");
    assert_eq!(stage.write(&process, &json!({"text": ""})).0, 400);
    assert_eq!(stage.write(&process, &json!({"text": "x".repeat(70_000)})).0, 413);
    assert_eq!(stage.events().len(), before, "nothing was written");
}

/// Every part of standard output, from its event or from where the event says that it is, in order and few.
fn parts_are_the_stream(stage: &Stage, events: &[Value], whole: &str) {
    let outputs = events.iter().filter(|event| event["type"] == "process.output");
    let outputs: Vec<&Value> =
        outputs.map(|event| &event["payload"]).filter(|payload| payload["stream"] == "stdout").collect();
    let mut joined = Vec::new();
    for output in &outputs {
        assert_eq!(output["offset"], joined.len(), "{output}");
        match output["text"].as_str() {
            Some(text) => joined.extend_from_slice(text.as_bytes()),
            None => joined.extend(stage.blob(&output["outputRef"])),
        }
    }
    assert!(joined == whole.as_bytes(), "the parts are not the stream");
    assert!(outputs.len() < 20, "{} events for one stream", outputs.len());
}

#[test]
fn the_same_write_comes_to_a_process_once_and_its_end_is_told_once() {
    let stage = stage("process-once");
    stage.submit("t1", "endless");
    let process = stage.process("ready");
    let path = format!("/v1/sessions/s/processes/{process}/stdin");
    let again = |body: &str| {
        let headers = [("idempotency-key", "w1".to_owned()), ("content-type", "application/json".to_owned())];
        stage.world.place.ask("POST", &path, &headers, body.as_bytes()).unwrap()
    };
    let first = again(r#"{"text":"one\n"}"#);
    assert_eq!(first.0, 202);
    assert_eq!(again(r#"{"text":"one\n"}"#), first);
    assert_eq!(again(r#"{"text":"two\n"}"#).0, 422);
    assert_eq!(stage.write(&process, &json!({"text": "three\n"})).0, 202);
    stage.process("got three");
    let events = stage.events();
    let told: String = events.iter().filter_map(|event| event["payload"]["text"].as_str()).collect();
    assert_eq!(told.matches("got one").count(), 1, "{told}");
    assert!(!told.contains("got two"), "{told}");

    let (status, over) = stage.terminate(&process);
    assert_eq!((status, &over["status"]), (200, &json!("cancelled")), "{over}");
    assert_eq!(stage.terminate(&process).0, 409, "it has ended");
    let events = stage.until_ended("t1");
    assert_eq!(kinds(&events).iter().filter(|kind| **kind == "process.terminated").count(), 1);
    let terminated = &find(&events, "process.terminated")["payload"];
    assert_eq!((&terminated["reason"], &terminated["signal"]), (&json!("enough"), &json!("SIGTERM")));
    assert!(terminated["terminatedBy"].is_string(), "{terminated}");
    assert_eq!(events.last().unwrap()["type"], "turn.completed", "the model goes on");
    assert!(is_gone(&process), "the process or its child is still there");
}

#[test]
fn a_cancelled_turn_ends_its_process_first() {
    let stage = stage("process-cancel");
    stage.submit("t1", "endless");
    let process = stage.process("ready");
    let cancel = json!({"mode": "immediate", "reason": "changed my mind"});
    assert!(stage.world.post("/v1/sessions/s/turns/t1/cancel", &cancel).unwrap().0 < 300);
    let events = stage.until_ended("t1");
    assert!(place(&events, "process.terminated") < place(&events, "tool.cancelled"), "{:?}", kinds(&events));
    let terminated = &find(&events, "process.terminated")["payload"];
    assert_eq!(
        (&terminated["terminatedBy"], &terminated["reason"]),
        (&json!("cancel"), &json!("changed my mind"))
    );
    assert_eq!(stage.write(&process, &json!({"text": "x"})).0, 409);
    assert!(is_gone(&process), "the process or its child is still there");
}

#[test]
fn a_process_whose_server_was_killed_is_lost_and_ended_and_never_done() {
    let mut stage = stage("process-lost");
    stage.submit("t1", "endless");
    let process = stage.process("ready");
    stage.restart();
    let events = stage.until_ended("t1");
    let failed = find(&events, "process.failed");
    assert_eq!(
        (&failed["processId"], &failed["payload"]["error"]["code"]),
        (&json!(process), &json!("lost"))
    );
    let message = failed["payload"]["error"]["message"].as_str().unwrap();
    // Where processes end with their server, none is left to end.
    let none_is_left = message.contains("were ended") || message.contains("nothing of it was left");
    assert!(none_is_left && message.contains("6 bytes"), "{message}");
    assert!(!kinds(&events).contains(&"process.completed"), "{:?}", kinds(&events));
    assert!(place(&events, "process.failed") < place(&events, "tool.outcome_unknown"));
    assert_eq!(kinds(&events).iter().filter(|kind| **kind == "process.started").count(), 1, "not run again");
    assert!(is_gone(&process), "what the former server started is still there");
    let shown = stage.world.get(&format!("/v1/sessions/s/processes/{process}")).unwrap();
    assert_eq!((&shown["status"], &shown["outputBytes"]), (&json!("lost"), &json!(6)), "{shown}");
    let (status, refused) = stage.write(&process, &json!({"text": "x"}));
    assert_eq!((status, &refused["processStatus"]), (409, &json!("lost")), "{refused}");
}

#[test]
fn a_process_does_not_survive_a_server_that_goes_in_order_either() {
    let mut stage = stage("process-handover");
    stage.submit("t1", "endless");
    let process = stage.process("ready");
    let (status, _) = stage.server.take().unwrap().terminate().unwrap();
    assert!(status.success(), "{status}");
    assert!(is_gone(&process), "the process outlived its server");
    stage.server = Some(Server::start(&stage.world.program, &stage.world.place).unwrap().0);
    let events = stage.until_ended("t1");
    let error = &find(&events, "process.failed")["payload"]["error"];
    assert_eq!(error["code"], "lost", "{error}");
    assert!(error["message"].as_str().unwrap().contains("nothing of it was left"), "{error}");
}
