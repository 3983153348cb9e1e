//! What is not translated is rejected where it stands, with what to write instead.
//!
//! Each file of `errors/` has one such thing, and beside it the compiler's message. After a change of messages,
//! `TRYBUILD=overwrite cargo test -p warpfold-macros` writes them anew: read each, as its reader would.

#[test]
fn what_is_not_translated_says_what_to_write() {
    trybuild::TestCases::new().compile_fail("tests/errors/*.rs");
}
