//! The golden vectors: the events of a scenario in, a dialect's frames out. `RIVERRUN_BLESS=1` writes them anew.

use riverrun_dialect::Dialect;
use serde_json::{Value, json};

use crate::log::{Delivered, Log, root, scenario, scenarios};

/// `{"scenario":…,"frames":[…],"opening":{"after":n,"told":k,"frames":[…]}}`, one frame per line: a reader that comes
/// after event n gets the opening and then the frames from the k-th on.
pub fn check(dialect: Dialect) {
    let folder = root().join("spec/vectors/dialect").join(dialect.name());
    for name in scenarios() {
        let log = scenario(&name);
        let actual = vector(dialect, &name, &log);
        let path = folder.join(format!("{name}.json"));
        if std::env::var_os("RIVERRUN_BLESS").is_some() {
            std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            std::fs::write(&path, &actual).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        let expected =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(actual, expected, "{}: RIVERRUN_BLESS=1 writes it anew", path.display());
    }
}

fn vector(dialect: Dialect, name: &str, log: &Log) -> String {
    let turn = log.turns().first().copied();
    let middle = log.len() / 2;
    let whole = log.tail(dialect, 0, turn);
    let told = whole.iter().filter(|frame| frame.sequence <= middle as u64).count();
    let frames = lines(&whole);
    let opening = lines(&log.opening(dialect, middle, turn));
    format!(
        "{{\"scenario\":\"../scenarios/{name}.ndjson\",\n\"frames\":[\n{frames}\n],\n\"opening\":{{\"after\":{middle},\"told\":{told},\"frames\":[\n{opening}\n]}}}}\n"
    )
}

fn lines(frames: &[Delivered]) -> String {
    frames.iter().map(line).collect::<Vec<_>>().join(",\n")
}

/// The frame itself; with its name or as a marker where it is one.
fn line(frame: &Delivered) -> String {
    if frame.is_marker {
        return json!({"marker": frame.text}).to_string();
    }
    if frame.name.is_empty() {
        return frame.text.clone();
    }
    format!("{{\"event\":{},\"data\":{}}}", Value::String(frame.name.clone()), frame.text)
}
