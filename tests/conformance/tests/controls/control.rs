//! `Control`: two instances of the control in this process.

use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use actix_web::dev::ServerHandle;
use actix_web::middleware::from_fn;
use actix_web::web::Data;
use actix_web::{App, HttpServer};
use testkit::eventually;

use crate::defect::Defect;
use crate::keys::Keys;
use crate::responses::name_key;
use crate::server::routes;

/// What the instances share.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) keys: Arc<Keys>,
    /// Tenant, client and key of each fence.
    pub(crate) fences: Mutex<Vec<[String; 3]>>,
    /// Tenant, id and reference of each thing.
    pub(crate) things: Mutex<Vec<(String, String, String)>>,
    /// Tenant and start of each operation.
    pub(crate) operations: Mutex<HashMap<String, (String, Instant)>>,
    /// The references whose first request has failed.
    pub(crate) failed: Mutex<Vec<String>>,
    /// The ids of the things that were changed.
    pub(crate) changed: Mutex<Vec<String>>,
    /// The lock of a server that works on one command at a time.
    pub(crate) one: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
pub(crate) struct Instance {
    pub(crate) memory: Arc<Memory>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) life: Duration,
    pub(crate) defect: Option<Defect>,
}

/// A running control: two instances, which end when it is dropped.
pub(crate) struct Control {
    pub(crate) urls: [String; 2],
    handles: Vec<ServerHandle>,
}

impl Control {
    /// Starts a control whose keys live this long.
    pub(crate) async fn start(defect: Option<Defect>, life: Duration) -> Self {
        let memory = Arc::new(Memory::default());
        let (mut urls, mut handles) = (Vec::new(), Vec::new());
        for number in 0..2 {
            let own = number == 1 && defect == Some(Defect::KeysBelongToAnInstance);
            let keys = if own { Arc::default() } else { Arc::clone(&memory.keys) };
            let instance = Instance { memory: Arc::clone(&memory), keys, life, defect };
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            urls.push(format!("http://{}", listener.local_addr().unwrap()));
            let (sender, receiver) = std::sync::mpsc::channel();
            // actix-web has a runtime of its own.
            std::thread::spawn(move || {
                actix_web::rt::System::new().block_on(async move {
                    let app = move || {
                        let app = App::new().app_data(Data::new(instance.clone())).configure(routes);
                        app.wrap(from_fn(name_key))
                    };
                    let server =
                        HttpServer::new(app).workers(1).listen(listener).unwrap().disable_signals().run();
                    sender.send(server.handle()).unwrap();
                    server.await.unwrap();
                });
            });
            handles.push(eventually("the control runs", async || receiver.try_recv().ok()).await);
        }
        Self { urls: urls.try_into().unwrap(), handles }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        for handle in &self.handles {
            drop(handle.stop(false));
        }
    }
}
