//! The tests of the library, in one binary; each file is named for the property it holds.

mod support;
