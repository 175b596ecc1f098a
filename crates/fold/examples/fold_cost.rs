//! Proves that folding costs what the event costs, not what came before it.
//!
//! Alone it runs every shape of log at one size and at ten times that size under `valgrind --tool=callgrind`, which
//! counts the instructions between the first and the last event, and fails if ten times the events cost more than
//! eleven times the instructions:
//!
//! ```sh
//! cargo run --release -p riverrun-fold --example fold_cost
//! ```
//!
//! Without valgrind it says so and ends well. `cargo run … -- SHAPE COUNT` folds one log and prints its size.

use std::process::{Command, ExitCode};

use riverrun_event::{Event, SessionId, decode_wire};
use riverrun_fold::State;

/// How a log grows: the text of its nth event.
type Grow = fn(usize) -> String;

const SHAPES: [(&str, Grow); 9] = [
    ("deltas", |_| delta("text ")),
    ("citations", |n| if n == 0 { result("fco", 1) } else { delta("so[^1]") }),
    ("many_references", |n| {
        if n.is_multiple_of(2) { result(&format!("fco_{n}"), n) } else { delta(&format!("so[^{}]", n - 1)) }
    }),
    ("items", message),
    ("open_items", |n| line("tool.args", TASK, &format!(r#"{{"delta":"{{}}","itemId":"fc_{}"}}"#, n / 2))),
    ("tool_calls", |n| {
        let kind = if n.is_multiple_of(2) { "tool.started" } else { "tool.result" };
        line(kind, &format!(r#""turnId":"turn","toolCallId":"call_{}""#, n / 2), r#"{"toolName":"t"}"#)
    }),
    ("actions", |n| {
        let kind = if n.is_multiple_of(2) { "action.required" } else { "action.resolved" };
        line(
            kind,
            &format!(r#"{TASK},"actionId":"act_{}""#, n / 2),
            r#"{"actionType":"question","decision":"approve"}"#,
        )
    }),
    ("tasks", |n| {
        line("model.delta", &format!(r#""turnId":"turn","taskId":"call_{n}""#), r#"{"delta":"x"}"#)
    }),
    ("turns", turn),
];

const TASK: &str = r#""turnId":"turn","taskId":"task""#;

/// Events of the smaller log; the larger has ten times as many.
const SMALL: usize = 2_000;
const TIMES: usize = 10;
/// Ten times the events may cost this much more.
const MOST: f64 = 11.0;

fn line(kind: &str, scope: &str, payload: &str) -> String {
    format!(r#"{{"type":"{kind}",{scope},"payload":{payload}}}"#)
}

fn delta(text: &str) -> String {
    line("model.delta", TASK, &format!(r#"{{"delta":"{text}","itemId":"msg"}}"#))
}

fn result(id: &str, number: usize) -> String {
    let part = format!(r#"{{"type":"text","text":"hit","refId":{number}}}"#);
    let item = format!(r#"{{"type":"tool_result","id":"{id}","callId":"{id}","blockList":[{part}]}}"#);
    line("item.completed", TASK, &format!(r#"{{"item":{item},"outputIndex":0}}"#))
}

fn message(n: usize) -> String {
    let (kind, extra) =
        if n.is_multiple_of(2) { ("item.started", r#","role":"assistant""#) } else { ("item.completed", "") };
    let item = format!(r#"{{"type":"message","id":"msg_{}"{extra}}}"#, n / 2);
    line(kind, TASK, &format!(r#"{{"item":{item},"outputIndex":{}}}"#, n / 2))
}

fn turn(n: usize) -> String {
    let scope = format!(r#""turnId":"turn_{}","taskId":"task_{}""#, n / 4, n / 4);
    match n % 4 {
        0 => line("turn.submitted", &scope, r#"{"input":"Hi"}"#),
        1 => line("turn.started", &scope, "{}"),
        2 => line("model.delta", &scope, r#"{"delta":"Hello"}"#),
        _ => line("turn.completed", &scope, "{}"),
    }
}

/// The one function whose instructions are counted.
#[inline(never)]
fn fold_all(state: &mut State, events: &[Event]) {
    let mut changes = Vec::new();
    for event in events {
        changes.clear();
        let _ = state.apply(event, &mut changes);
    }
}

fn fold_one(shape: &str, count: usize) -> ExitCode {
    let Some((_, make)) = SHAPES.iter().find(|(name, _)| *name == shape) else {
        eprintln!("no shape `{shape}`");
        return ExitCode::FAILURE;
    };
    let event = |n: usize| {
        let text = make(n).replacen('{', &format!(r#"{{"sequence":{},"#, n + 1), 1);
        decode_wire(&text).expect("the shapes are well formed")
    };
    let events: Vec<Event> = (0..count).map(event).collect();
    let mut state = State::new(SessionId::new("ses").expect("`ses` is an id"));
    fold_all(&mut state, &events);
    println!(
        "{shape}: {} events, {} changes, {} problems",
        state.sequence, state.revision, state.problems.count
    );
    ExitCode::SUCCESS
}

/// Instructions of [`fold_all`] and what it calls, as callgrind counts them.
fn instructions(shape: &str, count: usize) -> Option<u64> {
    let out = std::env::temp_dir().join(format!("fold_cost.{}.{shape}.{count}", std::process::id()));
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=*fold_all*", "--dump-instr=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe().ok()?)
        .args([shape, &count.to_string()])
        .output()
        .ok()?;
    let text = std::fs::read_to_string(&out).ok()?;
    let _ = std::fs::remove_file(&out);
    let total =
        text.lines().find_map(|line| line.strip_prefix("summary: ").or(line.strip_prefix("totals: ")));
    let total = total.and_then(|total| total.trim().parse().ok());
    if total.is_none() {
        eprintln!("{}", String::from_utf8_lossy(&run.stderr));
    }
    total
}

fn measure_all() -> ExitCode {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: valgrind is not installed, so instructions cannot be counted");
        return ExitCode::SUCCESS;
    }
    let mut too_much = false;
    for (shape, _) in SHAPES {
        let (Some(small), Some(large)) = (instructions(shape, SMALL), instructions(shape, SMALL * TIMES))
        else {
            eprintln!("{shape}: callgrind gave no count");
            return ExitCode::FAILURE;
        };
        let times = large as f64 / small as f64;
        let per_event = large / (SMALL * TIMES) as u64;
        let verdict = if times <= MOST { "ok" } else { "TOO MUCH" };
        println!("{shape:16} {small:>12} {large:>13}  ×{times:.2}  {per_event:>6} per event  {verdict}");
        too_much |= times > MOST;
    }
    if too_much { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [shape, count] => fold_one(shape, count.parse().unwrap_or(SMALL)),
        [] => measure_all(),
        _ => {
            eprintln!("usage: fold_cost [SHAPE COUNT]");
            ExitCode::FAILURE
        }
    }
}
