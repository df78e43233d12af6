//! The pool, and the one runtime that drives every connection.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::QueueMode;
use diesel::ConnectionError;
use diesel_async::pooled_connection::deadpool::{Object, Pool};
use diesel_async::pooled_connection::{AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod};
use diesel_async::{AsyncConnection, AsyncPgConnection};
use futures_util::FutureExt;
use secrecy::ExposeSecret;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::signals::Signals;
use crate::{Error, Result, Settings, Tx, WakeUp};

/// A connection outside any transaction: for reads of one statement. It is returned when dropped.
pub type Connection = Object<AsyncPgConnection>;

/// A service's database. Cheap to clone; all clones share the pool.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

struct Inner {
    pool: Pool<AsyncPgConnection>,
    runtime: Handle,
    tasks: TaskTracker,
    signals: Signals,
}

impl Database {
    /// A pool that connects when first asked. `runtime` drives the connections and must outlive all work; it runs
    /// nothing that blocks.
    pub fn new(settings: &Settings, runtime: Handle) -> Result<Self> {
        let mut config = ManagerConfig::<AsyncPgConnection>::default();
        // Verified would cost a round trip for each checkout; a broken connection shows itself at BEGIN.
        config.recycling_method = RecyclingMethod::Fast;
        let driver = runtime.clone();
        config.custom_setup = Box::new(move |url| {
            let (driver, url) = (driver.clone(), url.to_owned());
            async move {
                // The connection's driver runs where it is established: on this runtime, not on the caller's.
                let established = driver.spawn(async move { AsyncPgConnection::establish(&url).await });
                established.await.map_err(|e| ConnectionError::BadConnection(e.to_string()))?
            }
            .boxed()
        });
        let manager =
            AsyncDieselConnectionManager::new_with_config(settings.guarded_url().expose_secret(), config);
        let pool = Pool::builder(manager)
            .max_size(settings.pool_size)
            // The connection that was used last has its statements prepared and its pages at hand; and one that broke
            // while nobody used it is not met before it is needed.
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(settings.pool_wait))
            .create_timeout(Some(Duration::from_secs(2)))
            .recycle_timeout(Some(Duration::from_secs(1)))
            .build()
            .map_err(|e| Error::Unavailable(e.to_string()))?;
        let inner = Inner { pool, runtime, tasks: TaskTracker::new(), signals: Signals::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// A connection for a read of one statement. [`Error::Unavailable`] if none comes in time.
    pub async fn connection(&self) -> Result<Connection> {
        self.inner.pool.get().await.map_err(|e| Error::Unavailable(e.to_string()))
    }

    /// Opens a unit of work (READ COMMITTED).
    pub async fn begin(&self) -> Result<Tx> {
        Tx::begin(self).await
    }

    /// Opens a unit of work and reads in the same round trip.
    ///
    /// `read` must only read: were BEGIN to fail, its statements would run on their own, and what they wrote would stay.
    /// Locks of the transaction may be taken: without one, they end at once.
    pub async fn begin_reading<T>(&self, read: impl AsyncFnOnce(&Tx) -> Result<T>) -> Result<(Tx, T)> {
        Tx::begin_reading(self, read).await
    }

    /// Runs work that a vanished client must not stop: dropping the returned future does not cancel it.
    pub async fn detach<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        self.spawn(work).await.map_err(|_| Error::Panicked)
    }

    /// Starts a task that [`Database::drained`] waits for.
    pub fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.inner.tasks.spawn_on(work, &self.inner.runtime)
    }

    /// Waits until every task has ended. New ones may still be started.
    pub async fn drained(&self) {
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    /// The wake-up of this name, the same for all clones.
    pub fn signal(&self, signal: WakeUp) -> Arc<Notify> {
        self.inner.signals.get(signal)
    }

    /// Whether PostgreSQL answers.
    pub async fn ping(&self) -> Result<()> {
        use diesel_async::RunQueryDsl;
        let mut connection = self.connection().await?;
        let clock = diesel::select(crate::functions::clock_timestamp());
        clock.execute(&mut connection).await?;
        Ok(())
    }
}
