//! The trials of a session that a harness outside recorded by `benchmark.*` events.
//!
//! A trial is exported in the form of the standard's trial pack: what was measured, the ids in this runtime, where the
//! records are, how it was graded. An id that no event named is a gap by its name and is never guessed.

mod export;

pub use export::{BenchmarkExport, ExportBenchmark, export_benchmark};
