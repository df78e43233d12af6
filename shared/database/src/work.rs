//! The shape of "a closure that is given a transaction", so that its future may run on another thread.

use std::future::Future;

/// An async closure of two arguments whose future is `Send`. Nobody implements it; every async closure has it.
pub trait Work<A, B, R>: AsyncFnOnce(A, B) -> R + FnOnce(A, B) -> <Self as Work<A, B, R>>::Fut {
    /// The closure's future.
    type Fut: Future<Output = R>;
}

impl<F, A, B, Fut, R> Work<A, B, R> for F
where
    F: AsyncFnOnce(A, B) -> R + FnOnce(A, B) -> Fut,
    Fut: Future<Output = R>,
{
    type Fut = Fut;
}
