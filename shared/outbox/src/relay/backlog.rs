//! Publishes a window of a page or more, page by page. While a page goes to the producer, the next one is read.
//!
//! One page is read ahead, and not more, so the memory is bounded. The cursor never moves over a page that was only read.

use futures_util::TryFutureExt;
use futures_util::future::try_join;
use tokio::task::yield_now;

use super::RelayError;
use super::publish_loop::PublishLoop;
use super::window::Window;

impl PublishLoop<'_> {
    /// Publishes a window of any size. Returns the number of its messages.
    pub(super) async fn publish_large(&mut self, mut window: Window) -> Result<usize, RelayError> {
        let (database, limit) = (&self.relay.database, self.page_limit());
        let mut published = 0;
        let mut next = window.next_page(database, limit).await?;
        while let Some(page) = next {
            if !page.is_empty() {
                crashpoint::reach!("relay.window_read");
                window.b.complete(database).await?;
                self.cursor.b = Some(window.b.clone());
                published += page.len();
            }
            let read = window.next_page(database, limit).err_into();
            let publish = async {
                // Lets the connection send the query. Otherwise it may wait on this thread until the page is handed over.
                yield_now().await;
                self.publish_page(&page).await
            };
            (next, ()) = try_join(read, publish).await?;
        }
        self.end_window(window.b, window.ceiling_id, published).await
    }
}
