//! Policies: verdicts, simulation, and errors in their files.

mod check;
mod gate;
mod simulate;
