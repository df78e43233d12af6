//! An identity provider whose responses a test controls.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpResponse, HttpServer, web};

/// The next response, and the number of requests.
struct State {
    response: Box<dyn Fn() -> HttpResponse + Send>,
    asked: usize,
}

/// Serves a key set at [`Issuer::url`]. It stops when the test ends.
pub(crate) struct Issuer {
    state: Arc<Mutex<State>>,
    address: SocketAddr,
    server: ServerHandle,
}

impl Issuer {
    pub(crate) fn with(jwks: String) -> Self {
        let response = move || HttpResponse::Ok().body(jwks.clone());
        let state = Arc::new(Mutex::new(State { response: Box::new(response), asked: 0 }));
        let shared = Arc::clone(&state);
        let server = HttpServer::new(move || {
            let state = Arc::clone(&shared);
            App::new().route(
                "/jwks",
                web::to(move || {
                    let mut state = state.lock().unwrap();
                    state.asked += 1;
                    let response = (state.response)();
                    async move { response }
                }),
            )
        });
        let server = server.workers(1).bind("127.0.0.1:0").unwrap();
        let address = server.addrs()[0];
        let server = server.disable_signals().run();
        let handle = server.handle();
        #[expect(clippy::disallowed_methods, reason = "stopped when the issuer is dropped")]
        tokio::spawn(server);
        Self { state, address, server: handle }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/jwks", self.address)
    }

    /// Serves this document from now on.
    pub(crate) fn serves(&self, text: String) {
        self.responses(move || HttpResponse::Ok().body(text.clone()));
    }

    /// Sends this response from now on.
    pub(crate) fn responses(&self, response: impl Fn() -> HttpResponse + Send + 'static) {
        self.state.lock().unwrap().response = Box::new(response);
    }

    /// Returns the number of requests since the last call.
    pub(crate) fn asked(&self) -> usize {
        std::mem::take(&mut self.state.lock().unwrap().asked)
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        drop(self.server.stop(false));
    }
}
