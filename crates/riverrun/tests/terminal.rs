//! `riverrun run` as a person meets it: questions at a terminal, `^C` once and twice.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use support::{Server, Terminal, riverrun, said};

/// Opens a run that asks whether a file may be deleted.
fn asking(directory: &Path) -> Terminal {
    let mut terminal =
        Terminal::open(directory, &["run", "scenario-approval", "delete x", "--data-dir", "data"], &[]);
    let shown = terminal.see("your decision");
    assert!(shown.contains("delete_file") && shown.contains("{\"path\":\"x\"}"), "{shown}");
    terminal.see("y yes · a always · n no (n WHY tells the agent) · e edit · r respond]");
    terminal
}

/// What the log has of the decision, after the run has ended.
fn resolved(directory: &Path) -> Value {
    let server = Server::start(directory, &["--dev"]);
    let told = server.run(&["tail", "-", "--json", "--no-follow"]);
    let events = support::lines(&told);
    let event = events.iter().find(|event| event["type"] == "action.resolved");
    event.unwrap_or_else(|| panic!("{}", said(&told)))["payload"].clone()
}

#[test]
fn a_yes_lets_the_call_run() {
    let directory = tempfile::tempdir().unwrap();
    let mut terminal = asking(directory.path());
    terminal.type_in("y\n");
    terminal.see("was deleted");
    assert_eq!(terminal.end().0, Some(0));
}

/// Characters that a terminal draws as nothing, as a space, or elsewhere than they stand.
const INVISIBLE: [(&str, char); 30] = [
    ("zero width space", '\u{200b}'),
    ("zero width non-joiner", '\u{200c}'),
    ("zero width joiner", '\u{200d}'),
    ("left-to-right mark", '\u{200e}'),
    ("right-to-left mark", '\u{200f}'),
    ("left-to-right embedding", '\u{202a}'),
    ("pop directional formatting", '\u{202c}'),
    ("right-to-left override", '\u{202e}'),
    ("left-to-right isolate", '\u{2066}'),
    ("pop directional isolate", '\u{2069}'),
    ("word joiner", '\u{2060}'),
    ("function application", '\u{2061}'),
    ("invisible times", '\u{2062}'),
    ("byte order mark", '\u{feff}'),
    ("soft hyphen", '\u{ad}'),
    ("combining grapheme joiner", '\u{34f}'),
    ("Arabic letter mark", '\u{61c}'),
    ("Hangul choseong filler", '\u{115f}'),
    ("Hangul filler", '\u{3164}'),
    ("halfwidth Hangul filler", '\u{ffa0}'),
    ("Khmer inherent vowel", '\u{17b4}'),
    ("Mongolian variation selector", '\u{180b}'),
    ("Mongolian vowel separator", '\u{180e}'),
    ("variation selector", '\u{fe0f}'),
    ("supplementary variation selector", '\u{e0100}'),
    ("tag letter", '\u{e0041}'),
    ("musical begin beam", '\u{1d173}'),
    ("blank braille pattern", '\u{2800}'),
    ("no-break space", '\u{a0}'),
    ("ideographic space", '\u{3000}'),
];

#[test]
fn every_invisible_character_is_spelled_out_in_the_question_of_a_run() {
    let directory = tempfile::tempdir().unwrap();
    let path: String = INVISIBLE.iter().map(|(_, c)| format!("x{c}")).collect();
    let escaped: String = path.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    let scenario = format!(
        "[[step]]\nwhen = {{ results = 1 }}\nplay = [ {{ text = {{ pieces = [\"over\"] }} }} ]\n\
         [[step]]\nplay = [ {{ call = {{ name = \"wipe\", arguments = ['{{\"path\":\"{escaped}\"}}'] }} }} ]\n"
    );
    let config = "[scripts]\nfiles = [\"hide.toml\"]\n\
        [tools.wipe]\ndescription = \"wipe\"\ncommand = [\"true\"]\napproval = \"always\"\n\
        parameters = { type = \"object\", properties = { path = { type = \"string\" } } }\n\
        [agents.hider]\nmodel = \"scripted/hide\"\ntools = [\"wipe\"]\n";
    std::fs::write(directory.path().join("hide.toml"), scenario).unwrap();
    std::fs::write(directory.path().join("riverrun.toml"), config).unwrap();
    let mut terminal = Terminal::open(directory.path(), &["run", "hider", "go", "--data-dir", "data"], &[]);
    let shown = terminal.see("your decision");
    for (name, c) in INVISIBLE {
        assert!(!shown.contains(c), "{name} is shown as it is: {shown}");
        let spelled = format!("\\u{{{:x}}}", u32::from(c));
        assert!(shown.contains(&spelled), "{name} is not spelled out: {shown}");
    }
    terminal.type_in("y\n");
    terminal.see("over");
    assert_eq!(terminal.end().0, Some(0));
}

#[test]
fn what_is_not_understood_is_asked_again_and_a_no_may_have_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let mut terminal = asking(directory.path());
    terminal.type_in("perhaps\n");
    terminal.see("answer with one of: y yes");
    terminal.see("your decision");
    terminal.type_in("n not on a Tuesday\n");
    terminal.see("was not deleted");
    assert_eq!(terminal.end().0, Some(0));
    let told = resolved(directory.path());
    assert_eq!((&told["decision"], &told["message"]), (&"reject".into(), &"not on a Tuesday".into()));
}

#[test]
fn other_arguments_and_another_result_are_typed_in_a_line_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let mut terminal = asking(directory.path());
    terminal.type_in("e\n");
    terminal.see("the arguments as one line of JSON");
    terminal.type_in("{\"path\":\"y\"}\n");
    terminal.see("was deleted");
    assert_eq!(terminal.end().0, Some(0));
    let told = resolved(directory.path());
    assert_eq!((&told["decision"], &told["arguments"]["path"]), (&"edit".into(), &"y".into()));

    let directory = tempfile::tempdir().unwrap();
    let mut terminal = asking(directory.path());
    terminal.type_in("r\n");
    terminal.see("what the agent reads instead of a result");
    terminal.type_in("it was gone already\n");
    assert_eq!(terminal.end().0, Some(0));
    let told = resolved(directory.path());
    assert_eq!((&told["decision"], &told["arguments"]), (&"respond".into(), &"it was gone already".into()));
}

#[test]
fn an_always_is_listed_and_revoked() {
    let directory = tempfile::tempdir().unwrap();
    let mut terminal = asking(directory.path());
    terminal.type_in("a\n");
    assert_eq!(terminal.end().0, Some(0));
    let server = Server::start(directory.path(), &["--dev"]);
    let listed = server.run(&["rules", "--json"]);
    let rules = &support::lines(&listed)[0]["rules"];
    assert_eq!(rules[0]["toolName"], "delete_file", "{rules} {}", said(&listed));
    let shown = server.run(&["rules"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("approve") && shown.contains("delete_file for agent"), "{shown}");
    let revoked = server.run(&["rules", "revoke", "-"]);
    assert_eq!(revoked.status.code(), Some(0), "{}", said(&revoked));
    let again = server.run(&["rules", "revoke", rules[0]["ruleId"].as_str().unwrap()]);
    assert_eq!(again.status.code(), Some(3), "{}", said(&again));
    assert!(said(&again).contains("riverrun rules"), "{}", said(&again));
    assert_eq!(
        support::lines(&server.run(&["rules", "--json"]))[0]["rules"].as_array().map(Vec::len),
        Some(0)
    );
}

#[test]
fn approve_always_without_an_id_takes_the_only_action() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["--dev"]);
    let none = server.run(&["approve", "--always"]);
    assert_eq!(none.status.code(), Some(3), "{}", said(&none));
    assert!(said(&none).contains("nothing waits for a decision"), "{}", said(&none));
    let waits = server.run(&["run", "scenario-approval", "delete x", "--no-input"]);
    assert_eq!(waits.status.code(), Some(5), "{}", said(&waits));
    let approved = server.run(&["approve", "--always", "--json"]);
    assert_eq!(support::lines(&approved)[0]["decision"], "approve", "{}", said(&approved));
    assert_eq!(support::lines(&server.run(&["rules", "--json"]))[0]["rules"][0]["decision"], "approve");
    for _ in 0..2 {
        server.run(&["run", "scenario-approval", "delete x", "--no-input"]);
    }
    let several = server.run(&["approve", "--always"]);
    assert_eq!(several.status.code(), Some(2), "{}", said(&several));
    assert!(said(&several).contains("2 actions wait; say which one"), "{}", said(&several));
}

#[test]
fn who_comes_too_late_is_told_who_decided() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["--dev"]);
    server.run(&["run", "scenario-approval", "delete x", "--no-input"]);
    let rejected = server.run(&["reject", "-", "--json"]);
    let action = support::lines(&rejected)[0]["actionId"].as_str().unwrap().to_owned();
    let late = server.run(&["approve", &action]);
    assert_eq!(late.status.code(), Some(3), "{}", said(&late));
    let expected = format!("action `{action}` is decided: reject by person with ");
    assert!(said(&late).contains(&expected), "{}", said(&late));
    let unknown = server.run(&["approve", "act_nothing"]);
    assert!(said(&unknown).contains("no action `act_nothing` waits"), "{}", said(&unknown));
}

#[test]
fn agents_stand_in_columns() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["--dev"]);
    let listed = server.run(&["agents"]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let columns: BTreeSet<usize> = listed.lines().filter_map(|line| line.find("Plays ")).collect();
    assert_eq!(columns.len(), 1, "{listed}");
}

#[test]
fn one_interrupt_stops_the_turn() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["--dev"]);
    let mut terminal = Terminal::open(
        directory.path(),
        &["run", "scripted/slow?times=100", "weather?"],
        &server.environment(),
    );
    terminal.see("weather");
    terminal.type_in("\x03");
    terminal.see("stopping the turn; ^C again at once leaves it running");
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(6), "{shown}");
    assert!(!shown.contains("model.failed"), "{shown}");
    let state = server.run(&["state", "-", "--json"]);
    assert_eq!(support::lines(&state)[0]["turns"][0]["status"], "cancelled");
}

#[test]
fn a_second_interrupt_at_once_leaves_the_turn_running() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["--dev"]);
    let mut terminal = Terminal::open(
        directory.path(),
        &["run", "scripted/slow?times=100", "weather?"],
        &server.environment(),
    );
    terminal.see("weather");
    terminal.type_in("\x03");
    terminal.see("stopping the turn");
    terminal.type_in("\x03");
    let shown = terminal.see("left; the turn goes on. Watch it: riverrun tail ");
    let (code, rest) = terminal.end();
    assert_eq!(code, Some(130), "{shown}{rest}");
    let state = server.run(&["state", "-", "--json"]);
    let status = support::lines(&state)[0]["turns"][0]["status"].clone();
    assert_eq!(status, "running");
}

#[test]
fn an_agent_without_an_input_is_asked_for_one() {
    let directory = tempfile::tempdir().unwrap();
    let words = ["run", "scripted/echo", "--data-dir", "data"];
    let mut terminal = Terminal::open(directory.path(), &words, &[]);
    terminal.see("what should scripted/echo do? ");
    terminal.type_in("repeat this please\n");
    // What was typed is shown first, and what was said after it.
    terminal.see("repeat this please");
    terminal.see("repeat this please");
    assert_eq!(terminal.end().0, Some(0));
}

#[test]
fn an_agent_without_an_input_reads_stdin_or_says_what_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let words = ["run", "scripted/echo", "--data-dir", "data"];
    let piped = support::riverrun_with(directory.path(), &words, "from a pipe\n");
    assert_eq!(piped.status.code(), Some(0), "{}", said(&piped));
    assert!(String::from_utf8_lossy(&piped.stdout).contains("from a pipe"));
    for words in [&["run", "demo", "--data-dir", "data"][..], &["run", "--data-dir", "data"]] {
        let nothing = riverrun(directory.path(), words);
        assert_eq!(nothing.status.code(), Some(2), "{}", said(&nothing));
        assert!(said(&nothing).contains("should do"), "{}", said(&nothing));
        assert!(said(&nothing).contains("riverrun run demo \""), "{}", said(&nothing));
    }
}

#[test]
fn a_data_directory_that_cannot_be_written_is_a_mistake_of_the_configuration() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), "in the way").unwrap();
    for words in [
        &["serve", "--listen", "127.0.0.1:0", "--data-dir", "file/data"][..],
        &["serve", "--listen", "127.0.0.1:0", "--data-dir", "file"],
        &["run", "demo", "tides", "--data-dir", "file/data"],
    ] {
        let output = riverrun(directory.path(), words);
        assert_eq!(output.status.code(), Some(78), "{words:?}: {}", said(&output));
        assert!(said(&output).contains("--data-dir"), "{}", said(&output));
    }
}
