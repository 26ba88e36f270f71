//! Single cases that depend on what a prompt shows or on the order of completions.
