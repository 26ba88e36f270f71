//! The portal as programs meet it: real requests over HTTP on this machine.

mod batches;
mod encodings;
mod events;
mod failures;
mod lists;
mod people_page;
mod records;
mod support;
mod tasks;
