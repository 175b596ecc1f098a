//! The server's own long work: jobs with their items, in the session `riverrun-jobs`.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::stage::{Stage, find, kinds};

const JOBS: &str = "riverrun-jobs";

impl Stage {
    /// Waits until such an event of a job is there; all events of jobs then.
    fn until_job(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Vec<Value> {
        let began = Instant::now();
        loop {
            let events = self.world.events(JOBS).unwrap_or_default();
            if events.iter().any(&is_it) {
                self.saw(&events);
                return events;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{what} never came: {events:#?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn import(&self, body: &[u8]) -> u16 {
        let ndjson = [("content-type", "application/x-ndjson".to_owned())];
        self.world.place.ask("POST", "/v1/import", &ndjson, body).unwrap().0
    }
}

fn of_job<'a>(events: &'a [Value], title: &str) -> Vec<&'a Value> {
    let created = events.iter().find(|event| {
        event["type"] == "job.created"
            && event["payload"]["title"].as_str().is_some_and(|it| it.starts_with(title))
    });
    let id = &created.unwrap_or_else(|| panic!("no job {title} in {:?}", kinds(events)))["jobId"];
    events.iter().filter(|event| event["jobId"] == *id).collect()
}

#[test]
fn imports_exports_and_backups_are_jobs_that_end_in_one_way() {
    let stage = Stage::new("jobs", "", &[]);
    let line = |session: &str, number: u64| {
        json!({"type": "x.note", "sessionId": session, "sequence": number, "payload": {}}).to_string() + "\n"
    };
    let file =
        |session: &str, lines: u64| (1..=lines).map(|number| line(session, number)).collect::<String>();
    assert_eq!(stage.import(file("good", 1_500).as_bytes()), 201);
    let events = stage.until_job("the import", |event| event["type"] == "job.completed");
    let told: Vec<&str> =
        of_job(&events, "import of good").iter().filter_map(|it| it["type"].as_str()).collect();
    let expected = [
        "job.created",
        "job.started",
        "job.item.started",
        "job.item.completed",
        "job.progress",
        "job.completed",
    ];
    assert_eq!(told, expected);

    assert_eq!(stage.import((file("bad", 3) + "{\"no\":\"event\"}\n").as_bytes()), 400);
    let events = stage.until_job("the failure", |event| event["type"] == "job.failed");
    assert_eq!(find(&events, "job.item.failed")["jobItemId"], "bad");
    assert!(find(&events, "job.failed")["payload"]["error"]["message"].is_string());

    let mut cut = TcpStream::connect(stage.world.place.address).unwrap();
    let head = format!(
        "POST /v1/import HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
         content-type: application/x-ndjson\r\ncontent-length: 100000\r\n\r\n{}",
        stage.world.place.key().unwrap(),
        file("cut", 3)
    );
    cut.write_all(head.as_bytes()).unwrap();
    stage.until_job("the begin of the one that is cut", |event| event["payload"]["title"] == "import of cut");
    drop(cut);
    stage.until_job("the cut", |event| event["type"] == "job.cancelled");

    let export = stage.world.place.export("good").unwrap();
    assert_eq!(export.len(), 1_500);
    stage.until_job("the export", |event| {
        event["type"] == "job.completed" && event["payload"]["title"] == "export of good"
    });
    let (status, answer) = stage.world.post("/v1/backups", &json!({})).unwrap();
    assert_eq!(status, 201, "{answer}");
    stage.until_job("the backup", |event| {
        event["type"] == "job.completed" && event["payload"]["title"] == "backup"
    });
    // Lists of sessions are of what callers made, unless they ask.
    let listed = |path: &str| stage.world.get(path).unwrap()["sessions"].to_string();
    assert!(!listed("/v1/sessions").contains(JOBS));
    assert!(listed("/v1/sessions?tag=jobs").contains(JOBS));
}

#[test]
fn retention_is_a_job_that_says_which_outputs_are_gone() {
    let stage = Stage::new("old-outputs", "[log]\nretention = \"2s\"\n", &[]);
    stage.submit("t1", "writer");
    stage.until_ended("t1");
    let events = stage.until_job("the end of the job", |event| event["type"] == "job.completed");
    let told = of_job(&events, "retention");
    assert!(
        told.iter().any(|event| event["jobItemId"] == "s" && event["type"] == "job.item.completed"),
        "{told:?}"
    );
    let gone = find(&events, "output.expired");
    assert_eq!(gone["payload"]["owner"], "s", "{gone}");
}
