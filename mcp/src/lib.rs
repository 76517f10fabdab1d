//! Scripta.
