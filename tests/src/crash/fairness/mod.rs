//! What one tenant's load costs another: a flood of calls against quiet turns, and the memory of sessions at rest.
//!
//! The figures are those of the machine, so no suite judges them: `crash fairness` and `crash idle` print them, and the
//! attack suite asserts the bounds behind them.

pub mod flood;
pub mod idle;
pub mod kinds;
pub mod neighbour;
