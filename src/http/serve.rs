use std::io;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Serves until `shutdown`, then takes no more connections and lets requests end for at most
/// `grace`.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
    grace: Duration,
) -> io::Result<()> {
    // Result lines are small and waited for: they must not wait for each other.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "set_nodelay failed");
        }
    });
    let (told, was_told) = oneshot::channel();
    let told_to_stop = async move {
        shutdown.await;
        let _ = told.send(());
    };
    let grace_over = async move {
        match was_told.await {
            Ok(()) => tokio::time::sleep(grace).await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        served = axum::serve(listener, router).with_graceful_shutdown(told_to_stop) => served,
        () = grace_over => {
            tracing::warn!(?grace, "requests were still going on when the grace was over");
            Ok(())
        }
    }
}
