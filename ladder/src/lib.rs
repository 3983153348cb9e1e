//! `warpfold ladder`.

mod data;
mod emulated;
mod number;
pub use number::Number;
/// Why.
#[derive(Debug)]
pub enum Error {
    /// The library.
    Library(warpfold::Error),
    /// The emulator's compiler.
    Emulator(String),
}
impl From<warpfold::Error> for Error {
    fn from(e: warpfold::Error) -> Self { Error::Library(e) }
}
type Result<T, E = Error> = std::result::Result<T, E>;
