//! The golden vectors: events in; frames, opening and object out. `RIVERRUN_BLESS=1` writes them anew.

use std::path::{Path, PathBuf};

use riverrun_dialect::{OffsetUnit, task};

use crate::log::{Delivered, Log, root};

pub struct Vector {
    pub name: String,
    pub folder: PathBuf,
    pub log: Log,
}

pub fn vectors(area: &str) -> Vec<Vector> {
    let folder = root().join("spec/vectors").join(area);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a folder is readable").path()).collect();
    folders.sort();
    folders.retain(|folder| folder.is_dir());
    let read = |folder: PathBuf| Vector {
        name: folder.file_name().expect("it is a folder").to_string_lossy().into_owned(),
        log: Log::read(&folder.join("events.ndjson")),
        folder,
    };
    folders.into_iter().map(read).collect()
}

pub fn logs(area: &str) -> Vec<(String, Log)> {
    vectors(area).into_iter().map(|vector| (vector.name, vector.log)).collect()
}

fn lines(frames: &[Delivered]) -> String {
    frames.iter().map(|frame| format!("{}\n", frame.json)).collect()
}

/// The objects of all tasks, one per line.
pub fn objects(log: &Log, unit: OffsetUnit) -> String {
    let state = log.state(log.len());
    let object = |id| format!("{}\n", task::object(state, id, unit).expect("the task is in the window"));
    state.tasks.iter().map(|task| object(&task.task_id)).collect()
}

pub fn check_file(path: &Path, actual: &str) {
    if std::env::var_os("RIVERRUN_BLESS").is_some() {
        std::fs::write(path, actual).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let expected =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(actual, expected, "{}: RIVERRUN_BLESS=1 writes it anew", path.display());
}

#[test]
fn every_vector_gives_its_frames_its_opening_and_its_object() {
    let vectors = vectors("dialect/task");
    assert!(!vectors.is_empty());
    for Vector { folder, log, .. } in vectors {
        check_file(&folder.join("frames.ndjson"), &lines(&log.frames(OffsetUnit::CodePoint)));
        check_file(&folder.join("opening.ndjson"), &lines(&log.opening(log.len(), OffsetUnit::CodePoint)));
        check_file(&folder.join("object.json"), &objects(&log, OffsetUnit::CodePoint));
    }
}

#[test]
fn citations_stand_in_the_readers_unit() {
    let folder = root().join("spec/vectors/dialect/task/citations");
    let log = Log::read(&folder.join("events.ndjson"));
    for unit in [OffsetUnit::Utf16, OffsetUnit::Utf8] {
        check_file(&folder.join(format!("frames.{}.ndjson", unit.as_str())), &lines(&log.frames(unit)));
        check_file(&folder.join(format!("object.{}.json", unit.as_str())), &objects(&log, unit));
    }
}

/// Every annotation of every vector cuts the marker out of its text, in every unit.
#[test]
fn every_citation_points_at_its_marker() {
    for Vector { name, log, .. } in vectors("dialect/task") {
        for unit in OffsetUnit::ALL {
            for line in objects(&log, unit).lines() {
                let object: serde_json::Value = serde_json::from_str(line).expect("an object is JSON");
                check_markers(&object, unit, &name);
            }
        }
    }
}

fn check_markers(value: &serde_json::Value, unit: OffsetUnit, name: &str) {
    let references = value["annotations"].as_array().into_iter().flatten();
    for reference in references.filter(|annotation| annotation["type"] == "reference_to_block") {
        let text = value["text"].as_str().expect("an annotated block has a text");
        let offset = |member: &str| reference[member].as_u64().expect("an offset is a number") as usize;
        let marker = cut(text, offset("start_index"), offset("end_index"), unit);
        assert_eq!(marker, format!("[^{}]", reference["reference_id"]), "{name}, {}", unit.as_str());
    }
    match value {
        serde_json::Value::Array(values) => values.iter().for_each(|value| check_markers(value, unit, name)),
        serde_json::Value::Object(members) => {
            members.values().for_each(|value| check_markers(value, unit, name))
        }
        _ => {}
    }
}

fn cut(text: &str, start: usize, end: usize, unit: OffsetUnit) -> String {
    match unit {
        OffsetUnit::CodePoint => text.chars().skip(start).take(end - start).collect(),
        OffsetUnit::Utf16 => {
            let units: Vec<u16> = text.encode_utf16().collect();
            String::from_utf16_lossy(&units[start..end])
        }
        OffsetUnit::Utf8 => text[start..end].to_owned(),
    }
}
