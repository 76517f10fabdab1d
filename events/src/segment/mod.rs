//! The log in append-only files.
