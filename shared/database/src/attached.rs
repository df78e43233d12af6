//! `Attached`: values of other crates that live as long as the database handle, one of each type.
//!
//! A value is added once and never removed, so a lookup takes no lock: it walks a list of a few entries.

use std::any::Any;
use std::sync::OnceLock;

/// The first entry of the list, if there is one.
#[derive(Default)]
pub(crate) struct Attached(OnceLock<Box<Entry>>);

struct Entry {
    value: Box<dyn Any + Send + Sync>,
    next: Attached,
}

impl Attached {
    /// Returns the value of this type. The first call makes it.
    pub(crate) fn get<T: Default + Send + Sync + 'static>(&self) -> &T {
        let mut list = self;
        loop {
            // If another thread fills the end of the list meanwhile, its value is looked at, and this one is dropped.
            let entry = list
                .0
                .get_or_init(|| Box::new(Entry { value: Box::new(T::default()), next: Self::default() }));
            if let Some(value) = entry.value.downcast_ref() {
                return value;
            }
            list = &entry.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    #[derive(Default)]
    struct Apples(AtomicU32);

    #[derive(Default)]
    struct Pears(AtomicU32);

    #[test]
    fn there_is_one_value_of_each_type() {
        let attached = Attached::default();
        thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    attached.get::<Apples>().0.fetch_add(1, Ordering::Relaxed);
                    attached.get::<Pears>().0.fetch_add(2, Ordering::Relaxed);
                });
            }
        });
        let apples = attached.get::<Apples>().0.load(Ordering::Relaxed);
        assert_eq!((apples, attached.get::<Pears>().0.load(Ordering::Relaxed)), (4, 8));
    }
}
