//! Suites against the real binary.
