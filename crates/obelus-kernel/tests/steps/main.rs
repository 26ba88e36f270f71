//! Turns along a graph of steps, told as stories.

mod ends;
mod laws;
mod parked;
mod planning;
mod story;
mod walking;
