//! `obelus serve`, as clients meet it: a real process, over the loopback address.

mod client;
mod guard;
mod hostile;
mod restart;
mod revoked;
mod storm;
mod talk;
mod traces;
