//! Suites against the real binary, over loopback only. They share no code with it.

pub mod attack;
pub mod crash;
