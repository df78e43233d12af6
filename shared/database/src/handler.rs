//! The trait of functions that run inside a transaction, so that their long bounds are written once.
//!
//! A caller writes `async |tx, request| { … }` or passes an `async fn`, and a generic function asks for
//! `F: Handler<Tx, CommandRequest, Result<Reply, CommandError>>`. The future is `Send`, and the handler can be cloned and
//! run again. Because stable Rust cannot derive `Send` for the future of an async closure from a trait bound, the trait
//! returns a boxed future: one allocation for each run.

use std::future::Future;

use futures_util::future::BoxFuture;

/// An async function of a transaction and an argument. It is implemented for every async closure and function that
/// qualifies; do not implement it by hand.
///
/// `T` is [`Tx`](crate::Tx) or [`AppendTx`](crate::AppendTx), `A` the argument, and `R` the result.
pub trait Handler<T, A: ?Sized, R>:
    for<'t, 'a> AsyncFnOnce(&'t mut T, &'a A) -> R + Clone + Send + Sync + 'static
{
    /// Runs the handler once. Clone it before, to run it again.
    fn run<'a>(self, tx: &'a mut T, argument: &'a A) -> BoxFuture<'a, R>;
}

impl<F, T, A, R> Handler<T, A, R> for F
where
    for<'t, 'a> F: AsyncFnOnce(&'t mut T, &'a A) -> R
        + Work<&'t mut T, &'a A, R, Fut: Send>
        + Clone
        + Send
        + Sync
        + 'static,
    T: 'static,
    A: ?Sized + 'static,
    R: 'static,
{
    fn run<'a>(self, tx: &'a mut T, argument: &'a A) -> BoxFuture<'a, R> {
        Box::pin(self(tx, argument))
    }
}

/// An async closure of two arguments whose future has a name, so that [`Handler`] can require it to be `Send`.
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
