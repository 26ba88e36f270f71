//! Tests of the portal by real HTTP requests.

mod batches;
mod encodings;
mod events;
mod failures;
mod lists;
mod people_page;
mod records;
mod support;
mod tasks;
