//! Scripta.
fn main() {}
