//! What is not translated is rejected where it stands, with what to write instead.
//!
//! Each file of `errors/` has one such thing, and beside it the compiler's message. `accepted/` has
//! what only looks like one, and is compiled with the other tests. After a change of messages,
//!
//! ```sh
//! TRYBUILD=overwrite cargo test -p warpfold-macros --test errors
//! ```
//!
//! writes them anew. Read each as a newcomer does: is the place right, and does it say what to
//! write instead?

#[path = "../../tests/support/skips.rs"]
mod skips;

use std::process::Command;

/// Whose messages they are. Other compilers word and underline the same errors in other ways.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn what_is_not_translated_says_what_to_write() {
    let output = Command::new("rustc").arg("--version").output();
    let version = output.map_or_else(
        |error| format!("rustc: {error}"),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    );
    if !version.starts_with(COMPILER) && std::env::var_os("TRYBUILD").is_none() {
        let why = format!("the messages are those of {COMPILER}x, and this is {version}");
        return skips::skip("messages", &why);
    }
    trybuild::TestCases::new().compile_fail("tests/errors/*.rs");
}
