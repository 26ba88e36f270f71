//! Turns along a graph of steps.

mod ends;
mod laws;
mod parked;
mod planning;
mod story;
mod walking;
