//! A source that is read more than once.

use super::{Form, Place, Source};
use crate::Result;

/// A source by its reference, so that several calls can take it.
#[derive(Debug)]
pub(crate) struct ByReference<'s, S>(pub(crate) &'s S);

impl<S> Clone for ByReference<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for ByReference<'_, S> {}

impl<P: Place, S: Source<P>> Source<P> for ByReference<'_, S> {
    type Item = S::Item;
    type Form = S::Form;

    fn items(&self) -> Result<usize> {
        self.0.items()
    }

    fn bind<'a>(&'a self, binder: &mut P::Binder<'a>) -> Result<<S::Form as Form>::Arguments> {
        self.0.bind(binder)
    }
}
