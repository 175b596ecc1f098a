//! 9, 10, 16: exports, old sessions, and readers that come back.

use serde_json::Value;

use crate::stage::Stage;

#[test]
fn scenario_09_an_export_is_the_facts_themselves() {
    let stage = Stage::new("export", "", &[]);
    stage.submit("t1", "writer");
    let events = stage.until_ended("t1");
    let page = stage.world.get("/v1/sessions/s/events?limit=1000").unwrap();
    assert_eq!(page["events"].as_array().unwrap(), &events, "one log, two ways to read it");
    let evidence = stage.world.get("/v1/sessions/s/evidence").unwrap();
    assert_eq!(evidence["sequence"], events.last().unwrap()["sequence"], "of the same facts");
    assert_eq!(evidence["signals"]["thread_read_model"], "exported", "{evidence}");
    assert_eq!(evidence["signals"]["benchmark_summary"], "not_applicable", "{evidence}");
    let (status, body) = stage.world.place.ask("GET", "/v1/sessions/s/export", &[], b"").unwrap();
    assert_eq!(status, 200);
    let ndjson = [("content-type", "application/x-ndjson".to_owned())];
    stage.world.place.ask("DELETE", "/v1/sessions/s", &[], b"").unwrap();
    let (status, answer) = stage.world.place.ask("POST", "/v1/import", &ndjson, &body).unwrap();
    assert!(status < 300, "{status} {}", String::from_utf8_lossy(&answer));
    assert_eq!(stage.events(), events, "what was exported is all there is");
    let (status, pack) = stage.world.post("/v1/sessions/s/evidence", &serde_json::json!({})).unwrap();
    assert_eq!(status, 201, "{pack}");
    let told = stage.events();
    let changed = told.last().unwrap();
    assert_eq!((&changed["type"], &changed["evidenceId"]), (&"evidence.changed".into(), &pack["evidenceId"]));
    let reference = changed["payload"]["packRef"].as_str().unwrap();
    let (status, bytes) = stage.world.place.ask("GET", &format!("/v1/blobs/{reference}"), &[], b"").unwrap();
    let stored: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(
        (status, &stored["sequence"]),
        (200, &events.last().unwrap()["sequence"]),
        "of the same facts"
    );
}

#[test]
fn scenario_10_an_old_session_is_a_shell_first_and_then_windows() {
    let mut stage = Stage::new("old", "", &[]);
    for turn in ["t1", "t2", "t3"] {
        stage.submit(turn, "writer");
        stage.until_ended(turn);
    }
    stage.restart();
    let shell = stage.world.get("/v1/sessions/s").unwrap();
    assert_eq!(shell["sessionId"], "s", "{shell}");
    let all = stage.events();
    let (mut after, mut read) = (String::new(), Vec::new());
    while read.len() < all.len() {
        let page = stage.world.get(&format!("/v1/sessions/s/events?limit=7{after}")).unwrap();
        let window = page["events"].as_array().unwrap();
        assert!(!window.is_empty() && window.len() <= 7, "{page}");
        read.extend(window.iter().cloned());
        after = format!("&after={}", page["cursor"].as_str().unwrap());
    }
    assert_eq!(read, all);
}

#[test]
fn scenario_16_who_reconnects_gets_a_snapshot_and_then_what_is_behind_it() {
    let mut stage = Stage::new("again", "", &[]);
    stage.submit("t1", "writer");
    let before = stage.until_ended("t1").len();
    stage.restart();
    stage.submit("t2", "writer");
    stage.until_ended("t2");
    let lines = [("accept", "application/x-ndjson".to_owned())];
    let ask = |path: String| -> Vec<Value> {
        let (status, body) = stage.world.place.ask("GET", &path, &lines, b"").unwrap();
        assert_eq!(status, 200, "{path}");
        String::from_utf8(body).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let shown = ask("/v1/sessions/s/events?catchup=snapshot&follow=false".to_owned());
    assert_eq!((&shown[0]["type"], &shown[0]["outcome"]), (&"stream.opened".into(), &"snapshot".into()));
    assert!(shown.iter().any(|frame| frame["type"] == "stream.snapshot"), "{shown:?}");
    let updated = shown.iter().find(|frame| frame["type"] == "snapshot.updated").unwrap();
    assert_eq!(updated["payload"]["recoveryMode"], "snapshot", "{updated}");
    stage.saw(std::slice::from_ref(updated));
    let rest = ask(format!("/v1/sessions/s/events?after={before}&follow=false"));
    let first = rest.iter().find(|frame| frame["eventId"].is_string()).unwrap();
    assert_eq!(first["sequence"], before as u64 + 1, "from the last that was acknowledged");
    // A log that was made anew cannot be read on from the old one: the reader is told so, in every native dialect.
    let page = stage.world.get("/v1/sessions/s/events?limit=7").unwrap();
    let old = page["cursor"].as_str().unwrap();
    stage.world.place.ask("DELETE", "/v1/sessions/s", &[], b"").unwrap();
    stage.world.place.create_session("s").unwrap();
    stage.submit("t3", "writer");
    stage.until_ended("t3");
    for dialect in ["native", "native-strict", "native-lime"] {
        let shown = ask(format!("/v1/sessions/s/events?after={old}&follow=false&dialect={dialect}"));
        let repaired = shown.iter().find(|frame| frame["type"] == "snapshot.repaired").unwrap();
        let told = (&repaired["payload"]["recoveryMode"], &repaired["payload"]["reason"]);
        assert_eq!(told, (&"snapshot".into(), &"epoch_changed".into()), "{repaired}");
        stage.saw(std::slice::from_ref(repaired));
    }
}
