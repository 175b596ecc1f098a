//! Compares what `PartialEq` of a state leaves out because it follows from the rest.

use crate::citation::Scanner;
use crate::open::OpenItem;
use crate::state::{State, TaskState};

/// Panics unless both states are the same in their public and in their derived parts.
pub fn assert_same(left: &State, right: &State) {
    assert_eq!(left, right);
    assert_eq!(left.to_json(), right.to_json(), "equal states have equal bytes");
    assert_eq!(left.index.facts(), right.index.facts());
    for (left, right) in left.tasks.iter().zip(&right.tasks) {
        assert_same_task(left, right);
    }
}

fn assert_same_task(left: &TaskState, right: &TaskState) {
    assert_eq!(left.positions.0, right.positions.0);
    assert_eq!(left.references.0, right.references.0);
    for (left, right) in left.open.iter().zip(right.open.iter()) {
        assert_eq!(scanners(left), scanners(right), "in task item {}", left.position);
    }
}

/// A scanner that has seen nothing is as good as none.
fn scanners(open: &OpenItem) -> Vec<&Scanner> {
    let mut scanners: Vec<&Scanner> = open.scanners.0.iter().collect();
    while scanners.last().is_some_and(|last| last.is_fresh()) {
        scanners.pop();
    }
    scanners
}
