//! What a configuration keeps secret, in the hands of those who repeat it; and what a command may use.

use crate::configured::{outcome, scenario};
use crate::service::Service;
use crate::stage::{Stage, find, kinds};

const VALUE: &str = "correct-horse-battery-staple";

#[test]
fn what_was_given_as_a_secret_is_in_no_event_whoever_repeats_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, VALUE).unwrap();
    let refusal = (
        "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\n",
        format!(r#"{{"error":{{"message":"Incorrect API key: {VALUE}","code":"invalid_api_key"}}}}"#),
    );
    let mirror = ("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n", format!("you sent {VALUE}"));
    let (model, echo) = (Service::start(vec![refusal]), Service::start(vec![mirror]));
    let config = format!(
        r#"
[providers.own]
kind = "openai-chat"
base_url = "http://{model}/v1"
key = {{ file = "{file}" }}

[agents.refused]
model = "own/m"

[agents.doer]
model = "scripted/do"
tools = ["printer", "talker", "echo", "busy"]

[tools.printer]
command = ["sh", "-c", "env; echo \"::progress $SESAME\"; echo $SESAME >&2"]
approval = "never"
env = {{ SESAME = {{ file = "{file}" }} }}

[tools.talker]
command = ["sh", "-c", "printf %s $(echo $SESAME | cut -c1-14); sleep 0.3; echo $SESAME | cut -c15-; echo $SESAME >&2"]
approval = "never"
interactive = true
env = {{ SESAME = {{ file = "{file}" }} }}

[tools.echo]
url = "http://{echo}/"
method = "GET"
approval = "never"
allow_hosts = ["127.0.0.1"]
headers = {{ Authorization = {{ file = "{file}" }} }}

[tools.busy]
command = ["sh", "-c", "while :; do :; done"]
approval = "never"
limits = {{ cpu = "1s" }}
"#,
        model = model.address,
        echo = echo.address,
        file = file.display(),
    );
    let calls = [("printer", "{}"), ("talker", "{}"), ("echo", "{}"), ("busy", "{}")];
    let stage = Stage::new("secrets", &config, &[("do.toml", &scenario(&calls))]);
    stage.submit("t1", "doer");
    let events = stage.until_ended("t1");
    for (place, shown) in ["SESAME=[secret]", "[secret]", "you sent [secret]"].into_iter().enumerate() {
        let (read, code) = outcome(&events, place);
        assert!(read.contains(shown) && code.is_none(), "call {place}: {read} {code:?}");
    }
    let (read, code) = outcome(&events, 3);
    assert_eq!(code.as_deref(), Some("limit_passed"), "{read}");
    assert!(read.contains("1 s of processor time"), "{read}");
    assert!(kinds(&events).contains(&"tool.progress"), "{:?}", kinds(&events));
    stage.submit("t2", "refused");
    let events = stage.until_ended("t2");
    let message = &find(&events, "model.failed")["payload"]["error"]["message"];
    assert_eq!(message, "the service answered with HTTP 401: Incorrect API key: [key]");
    let log = stage.world.place.export("s").unwrap().concat();
    let at = log.find("battery").map(|at| &log[at.saturating_sub(300)..(at + 60).min(log.len())]);
    assert_eq!((log.contains(VALUE), at), (false, None), "a secret is in the log");
}
