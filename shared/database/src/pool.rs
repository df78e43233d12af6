//! `Database`: a connection pool, the runtime that drives all connections, and the wake-ups between tasks.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::QueueMode;
use diesel::ConnectionError;
use diesel_async::AsyncPgConnection;
use diesel_async::pooled_connection::deadpool::Pool;
use diesel_async::pooled_connection::{AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod};
use futures_util::FutureExt;
use secrecy::ExposeSecret;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::attached::Attached;
use crate::connect::connect_to;
use crate::{Connection, Error, Heartbeats, Result, Settings, Tx};

/// The name of a wake-up within this process, such as "the outbox has new rows".
///
/// A wake-up only saves time. Because another process may have written the rows, the waiting task also polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WakeUp(pub &'static str);

/// A service's database. Cloning is cheap; all clones share the pool.
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

struct Inner {
    pool: Pool<AsyncPgConnection>,
    shared: Arc<SharedState>,
}

/// The state that all pools of one database share.
struct SharedState {
    settings: Settings,
    session_options: [(&'static str, String); 6],
    /// The server of the URL that accepted the latest connection.
    first_server: Arc<AtomicUsize>,
    runtime: Handle,
    tasks: TaskTracker,
    wake_ups: Mutex<HashMap<WakeUp, Arc<Notify>>>,
    attached: Attached,
    heartbeats: Heartbeats,
}

/// The connections of the pool at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolStatus {
    /// The largest number of connections.
    pub most: usize,
    /// The open connections that are in use.
    pub in_use: usize,
    /// The open connections that are free.
    pub idle: usize,
    /// The callers that wait for a connection.
    pub waiting: usize,
}

impl Database {
    /// Creates the pool; it connects at the first request. `runtime` drives the connections: it must outlive all work
    /// and must run no blocking code. A URL that cannot be read is an [`Error::Unavailable`] of each request: parse it as an
    /// [`Address`](crate::Address) first.
    ///
    /// # Errors
    /// None today: the pool library refuses only timeouts without a timer, and this pool has one.
    pub fn new(settings: &Settings, runtime: Handle) -> Result<Self> {
        let shared = SharedState {
            settings: settings.clone(),
            session_options: settings.session_options(),
            heartbeats: Heartbeats::of_runtime(&runtime),
            first_server: Arc::default(),
            runtime,
            tasks: TaskTracker::new(),
            wake_ups: Mutex::default(),
            attached: Attached::default(),
        };
        Self::with_pool(settings.pool_size, Arc::new(shared))
    }

    /// The same database with a pool of its own, which does not wait for connections of the other pools. Tasks, wake-ups and
    /// metrics are shared.
    ///
    /// # Errors
    /// As [`Database::new`].
    pub fn with_own_pool(&self, size: usize) -> Result<Self> {
        Self::with_pool(size, Arc::clone(&self.inner.shared))
    }

    fn with_pool(size: usize, shared: Arc<SharedState>) -> Result<Self> {
        Ok(Self { inner: Arc::new(Inner { pool: shared.pool(size)?, shared }) })
    }

    /// Takes a connection for a read of one statement.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if no connection is free within [`Settings::pool_wait`], or none can be opened.
    pub async fn connection(&self) -> Result<Connection> {
        let pooled = self.inner.pool.get().await.map_err(|e| Error::Unavailable(e.to_string()))?;
        Ok(Connection::new(pooled, self.inner.shared.settings.statement_timeout))
    }

    /// Opens a unit of work (READ COMMITTED).
    ///
    /// # Errors
    /// As [`Database::connection`], and the error of BEGIN, such as [`Error::Unavailable`] after an idle connection broke.
    pub async fn begin(&self) -> Result<Tx> {
        Tx::begin(self).await
    }

    /// Opens a unit of work in a session that the caller keeps. The session has no other work meanwhile. A unit of work that was dropped
    /// in this session is rolled back first.
    ///
    /// # Errors
    /// The error of BEGIN, such as [`Error::Unavailable`] after the session has ended.
    pub async fn begin_on(&self, session: &Connection) -> Result<Tx> {
        Tx::begin_on(session.share(), self).await
    }

    /// Opens a unit of work and reads in the same round trip.
    ///
    /// `read` must write nothing that matters. If BEGIN fails, its statements run outside a transaction, and their writes stay.
    /// Transaction-level locks are allowed: outside a transaction they end with their statement.
    ///
    /// # Errors
    /// As [`Database::begin`], or the error of `read`. The connection is then closed.
    pub async fn begin_reading<T, E: From<Error>>(
        &self,
        read: impl AsyncFnOnce(&Tx) -> std::result::Result<T, E>,
    ) -> std::result::Result<(Tx, T), E> {
        Tx::begin_reading(self, read).await
    }

    /// Runs work in a task of its own. Dropping the returned future does not cancel the work, so a client that
    /// disconnects does not stop it.
    ///
    /// # Errors
    /// [`Error::Panicked`] if the work panics, or if the runtime shuts down before its end.
    pub async fn detach<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        self.spawn(work).await.map_err(|_| Error::Panicked)
    }

    /// Starts a task. [`Database::drained`] waits for it.
    pub fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.inner.shared.tasks.spawn_on(work, &self.inner.shared.runtime)
    }

    /// Waits until all tasks have ended. New tasks may still start.
    pub async fn drained(&self) {
        self.inner.shared.tasks.close();
        self.inner.shared.tasks.wait().await;
    }

    /// The notification behind this wake-up; all clones of the database share it.
    pub fn wake_up(&self, wake_up: WakeUp) -> Arc<Notify> {
        // A poisoned lock is safe to use: each change is a single insert.
        let mut wake_ups = self.inner.shared.wake_ups.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(wake_ups.entry(wake_up).or_default())
    }

    /// The state of another crate about this database. The first call makes it; all clones of the database share it.
    pub fn attached<T: Default + Send + Sync + 'static>(&self) -> &T {
        self.inner.shared.attached.get()
    }

    /// The same, by the name that is usual for metrics.
    pub fn metrics<M: Default + Send + Sync + 'static>(&self) -> &M {
        self.attached()
    }

    /// The heartbeats of the process. The threads of the runtime are among its parts.
    pub fn heartbeats(&self) -> &Heartbeats {
        &self.inner.shared.heartbeats
    }

    /// Counts the connections of the pool.
    pub fn pool_status(&self) -> PoolStatus {
        let status = self.inner.pool.status();
        let in_use = status.size.saturating_sub(status.available);
        PoolStatus { most: status.max_size, in_use, idle: status.available, waiting: status.waiting }
    }

    /// The options that every session asks for, as [`Settings`] names them.
    pub(crate) fn session_options(&self) -> &[(&'static str, String)] {
        &self.inner.shared.session_options
    }

    /// Checks that PostgreSQL answers a query.
    ///
    /// # Errors
    /// As [`Database::connection`], or the error of the query.
    pub async fn ping(&self) -> Result<()> {
        use diesel_async::RunQueryDsl;
        let mut connection = self.connection().await?;
        let clock = diesel::select(crate::functions::clock_timestamp());
        clock.execute(&mut connection).await?;
        Ok(())
    }
}

impl SharedState {
    /// A pool that connects when a caller asks for a connection.
    fn pool(&self, size: usize) -> Result<Pool<AsyncPgConnection>> {
        let mut config = ManagerConfig::<AsyncPgConnection>::default();
        // Verified would cost a round trip for each checkout; BEGIN finds a broken connection anyway.
        config.recycling_method = RecyclingMethod::Fast;
        let (driver, first) = (self.runtime.clone(), Arc::clone(&self.first_server));
        config.custom_setup = Box::new(move |url| {
            let (driver, first, url) = (driver.clone(), Arc::clone(&first), url.to_owned());
            async move {
                // The driver task runs on the runtime that establishes the connection: this one, not the caller's.
                // The limits are inside the task. Otherwise attempts would pile up in front of a frozen server.
                let establish = async move { connect_to(&url, &first).await };
                driver.spawn(establish).await.map_err(|e| ConnectionError::BadConnection(e.to_string()))?
            }
            .boxed()
        });
        let url = self.settings.guarded_url();
        Pool::builder(AsyncDieselConnectionManager::new_with_config(url.expose_secret(), config))
            .max_size(size)
            // The connection that was used last has its statements prepared and its pages cached. A connection that
            // broke while idle stays unused until the others are busy.
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(self.settings.pool_wait))
            .recycle_timeout(Some(Duration::from_secs(1)))
            .build()
            .map_err(|e| Error::Unavailable(e.to_string()))
    }
}
