//! What holds for every arrangement, tried on graphs of many shapes.
