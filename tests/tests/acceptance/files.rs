//! Files of an input: fetched and read before the model is called, shown to their user, written down for a new owner.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::service::{Service, well};
use crate::stage::{Stage, find, kinds};

/// A server of files on loopback. `/slow.csv` is answered when the test says so.
struct Files {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    release: Sender<()>,
}

impl Files {
    fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default());
        let (release, released) = channel();
        let (known, released) = (asked.clone(), Arc::new(Mutex::new(released)));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (known, released) = (known.clone(), released.clone());
                std::thread::spawn(move || answer(stream, &known, &released));
            }
        });
        Self { address, asked, release }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn asked(&self, path: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| *asked == path).count()
    }
}

fn answer(mut stream: TcpStream, asked: &Mutex<Vec<String>>, released: &Mutex<Receiver<()>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut first, mut line) = (String::new(), String::new());
    reader.read_line(&mut first).unwrap();
    while reader.read_line(&mut line).unwrap() > 2 {
        line.clear();
    }
    let path = first.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default().to_owned();
    asked.lock().unwrap().push(path.clone());
    let (head, body) = match path.as_str() {
        // What its server calls it is not what it is.
        "/report.pdf" => ("200 OK\r\ncontent-type: text/plain", pdf()),
        "/sales.csv" => ("200 OK\r\ncontent-type: text/csv", b"region,profit\nnorth,7\n".to_vec()),
        "/eater.pdf" => ("200 OK", eater()),
        "/slow.csv" => {
            let _ = released.lock().unwrap().recv();
            ("200 OK\r\ncontent-type: text/csv", b"late,1\n".to_vec())
        }
        "/inside" => ("302 Found\r\nlocation: https://169.254.169.254/latest/meta-data", Vec::new()),
        _ => ("404 Not Found", Vec::new()),
    };
    // Whoever asked may have been killed.
    let _ = write!(stream, "HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(&body);
}

/// A PDF of 30 MiB whose only array takes a hundred times as much memory once it is parsed.
fn eater() -> Vec<u8> {
    let numbers = "1 ".repeat(15 << 20);
    pdf_of(&["<< /Type /Catalog /Pages 2 0 R >>".to_owned(), format!("[{numbers}]")])
}

/// A PDF of two pages.
fn pdf() -> Vec<u8> {
    let text = |text: &str| {
        let content = format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET");
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len())
    };
    let page = |content: usize| {
        format!(
            "<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents {content} 0 R >>"
        )
    };
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [4 0 R 6 0 R] /Count 2 >>".to_owned(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
        page(5),
        text("Profit rose by 7 percent"),
        page(7),
        text("The north did best"),
    ];
    pdf_of(&objects)
}

fn pdf_of(objects: &[String]) -> Vec<u8> {
    let (mut out, mut table) = ("%PDF-1.7\n".to_owned(), "0000000000 65535 f \n".to_owned());
    for (at, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", out.len()));
        out.push_str(&format!("{} 0 obj\n{object}\nendobj\n", at + 1));
    }
    let start = out.len();
    out.push_str(&format!(
        "xref\n0 {0}\n{table}trailer\n<< /Size {0} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n",
        objects.len() + 1
    ));
    out.into_bytes()
}

fn stage(name: &str, folder: &Path, files: &Files, service: &Service) -> Stage {
    let key = folder.join("key");
    std::fs::write(&key, "key-of-the-service").unwrap();
    let config = format!(
        r#"
[files]
allow_hosts = ["{files}"]

[providers.own]
kind = "openai-chat"
base_url = "http://{service}/v1"
key = {{ file = "{key}" }}

[agents.reader]
model = "own/m-1"
"#,
        files = files.address,
        service = service.address,
        key = key.display(),
    );
    Stage::new(name, &config, &[])
}

fn submit(stage: &Stage, turn: &str, urls: &[String]) {
    let files = urls.iter().map(|url| json!({"type": "file", "url": url}));
    let input: Vec<Value> =
        std::iter::once(json!({"type": "text", "text": "Sum it up."})).chain(files).collect();
    let body = json!({"turnId": turn, "agent": "reader", "input": input});
    assert_eq!(stage.world.post("/v1/sessions/s/turns", &body).unwrap().0, 202);
}

fn frames(stage: &Stage, after: Option<u64>) -> Vec<Value> {
    let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
    let path = format!("/v1/sessions/s/events?dialect=blocks&turn=t1&follow=false{after}");
    let accept = [("accept", "application/x-ndjson".to_owned())];
    let (status, body) = stage.world.place.ask("GET", &path, &accept, b"").unwrap();
    let body = String::from_utf8(body).unwrap();
    assert_eq!(status, 200, "{body}");
    let frames = body.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    frames.filter(|frame| frame.get("message_id").is_some()).collect()
}

#[test]
fn files_of_an_input_are_read_before_the_model_and_shown_to_their_user() {
    let (files, service) = (Files::start(), Service::start(vec![well("done")]));
    let folder = tempfile::tempdir().unwrap();
    let stage = stage("files", folder.path(), &files, &service);
    let secret = "signature-that-nobody-may-read";
    submit(
        &stage,
        "t1",
        &[
            files.url(&format!("/report.pdf?key={secret}")),
            files.url("/sales.csv"),
            files.url("/gone.docx"),
            files.url("/inside"),
        ],
    );
    let events = stage.until_ended("t1");
    assert_eq!(events.last().unwrap()["type"], "turn.completed", "{:?}", kinds(&events));

    // Announced together, ended one by one, all of it before the model is asked.
    let of = |wanted: &str| events.iter().filter(|event| event["type"] == wanted).collect::<Vec<_>>();
    assert_eq!(of("file.processing.started").len(), 4);
    let ended = [of("file.processing.completed"), of("file.processing.failed")].concat();
    assert!(
        ended
            .iter()
            .all(|end| end["sequence"].as_u64() < find(&events, "model.requested")["sequence"].as_u64())
    );
    let read = |name: &str| {
        let end = ended.iter().find(|end| end["payload"]["name"] == name);
        end.unwrap_or_else(|| panic!("{name}: {ended:#?}"))["payload"].clone()
    };
    let report = read("report.pdf");
    let facts = (&report["mediaType"], &report["declaredMediaType"], &report["pages"], &report["handling"]);
    assert_eq!(facts, (&json!("application/pdf"), &json!("text/plain"), &json!(2), &json!("text")));
    assert_eq!(report["preview"], "Profit rose by 7 percent\nThe north did best");
    let reference = report["outputRef"].as_str().unwrap();
    let (status, text) = stage.world.place.ask("GET", &format!("/v1/blobs/{reference}"), &[], b"").unwrap();
    assert_eq!((status, text.as_slice()), (200, report["preview"].as_str().unwrap().as_bytes()));
    assert_eq!(of("file.processing.completed").len(), 2);
    let failed = of("file.processing.failed");
    let codes: Vec<&Value> = failed.iter().map(|end| &end["payload"]["error"]["code"]).collect();
    assert!(
        codes.contains(&&json!("not_fetched")) && codes.contains(&&json!("address_refused")),
        "{codes:?}"
    );

    // What the model read.
    let body = String::from_utf8(service.bodies().remove(0)).unwrap();
    let body: Value = serde_json::from_str(&body).unwrap();
    let asked = body["messages"][0]["content"].as_str().unwrap().to_owned();
    for expected in [
        "Sum it up.",
        "<file name=\"report.pdf\" type=\"application/pdf\" pages=\"2\">\nProfit rose by 7 percent\nThe north did best\n</file>",
        "<file name=\"sales.csv\" type=\"text/csv\">\nregion,profit\nnorth,7\n\n</file>",
        "[The user attached the file \"gone.docx\", which could not be read: `127.0.0.1` answered 404 Not Found]",
        "which could not be read: `169.254.169.254` may not be reached from here]",
    ] {
        assert!(asked.contains(expected), "{expected} in {asked}");
    }
    assert!(!asked.contains(secret));

    // What the user saw: one block before everything else.
    let shown = frames(&stage, None);
    let block = &shown[1]["content_block"];
    assert_eq!(
        (&shown[1]["index"], &block["type"], &block["status"]),
        (&json!(0), &json!("file_processing"), &json!("processing"))
    );
    assert_eq!(block["files"].as_array().unwrap().len(), 4);
    let deltas: Vec<&Value> = shown
        .iter()
        .map(|frame| &frame["delta"])
        .filter(|delta| delta["type"] == "file_processing_delta")
        .collect();
    let last = deltas.last().unwrap();
    assert_eq!(
        (&last["status"], &last["message"]),
        (&json!("completed"), &json!("Processed 4 files, 2 failed"))
    );
    let statuses: Vec<&str> =
        last["files"].as_array().unwrap().iter().map(|file| file["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["completed", "completed", "failed", "failed"]);
    assert!(!shown.iter().any(|frame| frame.to_string().contains(secret)));

    // A reader that was cut anywhere among the files gets to the same end.
    let first = find(&events, "file.processing.started")["sequence"].as_u64().unwrap();
    for cut in first..first + 7 {
        let shown = frames(&stage, Some(cut));
        let ends = shown.iter().filter(|frame| frame["delta"]["message"] == last["message"]);
        assert_eq!(ends.count(), 1, "after {cut}: {shown:#?}");
    }
    let history = stage.world.get("/v2/sessions/s/history").unwrap().to_string();
    assert!(
        history.contains("\"file_processing\"") && history.contains("Processed 4 files, 2 failed"),
        "{history}"
    );
    let state = stage.world.get("/v1/sessions/s/state").unwrap();
    let state = if state["turns"].is_null() { &state["state"] } else { &state };
    assert_eq!(state["turns"][0]["files"].as_array().map(Vec::len), Some(4), "{state}");
    // The submission itself holds the address that was given; nothing that was made of it does.
    let made = events.iter().filter(|event| event["type"].as_str().unwrap().starts_with("file."));
    assert!(!made.into_iter().any(|event| event.to_string().contains(secret)));
}

#[test]
fn files_are_read_on_by_the_next_owner_after_a_kill() {
    let (files, service) = (Files::start(), Service::start(vec![well("done")]));
    let folder = tempfile::tempdir().unwrap();
    let mut stage = stage("files-killed", folder.path(), &files, &service);
    submit(&stage, "t1", &[files.url("/sales.csv"), files.url("/slow.csv")]);
    stage.until_kind("file.processing.completed");
    stage.restart();
    // The request that the killed server left is answered too, into nothing.
    files.release.send(()).unwrap();
    files.release.send(()).unwrap();
    let events = stage.until_ended("t1");
    assert_eq!(events.last().unwrap()["type"], "turn.completed", "{:?}", kinds(&events));
    let count = |wanted: &str| kinds(&events).iter().filter(|kind| **kind == wanted).count();
    assert_eq!((count("file.processing.started"), count("file.processing.completed")), (2, 2));
    assert_eq!(
        (files.asked("/sales.csv"), files.asked("/slow.csv")),
        (1, 2),
        "only what was open is read again"
    );
    let body = String::from_utf8(service.bodies().remove(0)).unwrap();
    assert!(body.contains("north,7") && body.contains("late,1"), "{body}");
}

#[test]
fn a_file_that_takes_too_much_memory_ends_alone() {
    let (files, service) = (Files::start(), Service::start(vec![well("done")]));
    let folder = tempfile::tempdir().unwrap();
    let stage = stage("files-hostile", folder.path(), &files, &service);
    submit(&stage, "t1", &[files.url("/eater.pdf"), files.url("/sales.csv")]);
    let events = stage.until_ended("t1");
    assert_eq!(events.last().unwrap()["type"], "turn.completed", "{:?}", kinds(&events));
    let failed = &find(&events, "file.processing.failed")["payload"];
    assert_eq!(
        (&failed["error"]["code"], &failed["size"]),
        (&json!("crashed"), &json!(eater().len())),
        "{failed}"
    );
    let body = String::from_utf8(service.bodies().remove(0)).unwrap();
    assert!(body.contains("north,7") && body.contains("could not be read"), "{body}");
}
