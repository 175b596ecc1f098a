//! What a rule needs of an engine, and what became of it.

use super::Bench;

/// One rule of the contract.
#[derive(Clone, Copy)]
pub struct ContractRule {
    /// What it says, as a name.
    pub name: &'static str,
    /// What it cannot be tried without.
    pub needs: Requirement,
    /// Tries it against a fresh log; panics if it is broken.
    pub check: fn(&mut dyn Bench),
}

impl ContractRule {
    /// A rule that every engine can be held to.
    pub const fn new(name: &'static str, check: fn(&mut dyn Bench)) -> Self {
        Self::needing(Requirement::Nothing, name, check)
    }

    /// A rule that can be tried only where this is given.
    pub const fn needing(needs: Requirement, name: &'static str, check: fn(&mut dyn Bench)) -> Self {
        Self { name, needs, check }
    }
}

/// What some rules cannot be tried without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// Nothing but an open log.
    Nothing,
    /// Another open instance of the same store; see [`Bench::second_instance`].
    SecondInstance,
    /// A store with two shards or more.
    SeveralShards,
    /// Appends that are not answered; see [`Bench::lose_next_answer`].
    LostAnswers,
}

/// A rule that could not be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skipped {
    /// Its name.
    pub rule: &'static str,
    /// What the engine says about it.
    pub why: &'static str,
}

/// What became of all rules. None of them was broken.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContractReport {
    /// How many rules were tried.
    pub ran: usize,
    /// Those that were not, in order.
    pub skipped: Vec<Skipped>,
}
