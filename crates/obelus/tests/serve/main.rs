//! `obelus serve` as a real process, over the loopback address.

mod addresses;
mod again;
mod client;
mod console;
mod decided;
mod forms;
mod guard;
mod hostile;
mod inspect;
mod restart;
mod revoked;
mod small;
mod storm;
mod talk;
mod traces;
