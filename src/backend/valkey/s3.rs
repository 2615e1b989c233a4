//! Contents in S3, or in a store that speaks its protocol, over this crate's own HTTP client.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use object_store::aws::AmazonS3Builder;
use object_store::client::{
    self, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use object_store::path::Path;
use object_store::{ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};
use url::Url;

use crate::connector::{HttpClient, Trust, http_client};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A bucket and the prefix of its keys, `s3://bucket/prefix`. Credentials, region and endpoint come
/// from the environment, in the variables of the AWS command line.
///
/// # Errors
/// The environment has unusable values, or no certificates can be trusted.
pub fn open(url: &Url, deadline: Duration) -> object_store::Result<(Arc<dyn ObjectStore>, Path)> {
    // So that the last error is reported, rather than the timeout.
    let retry = RetryConfig { retry_timeout: deadline / 2, ..RetryConfig::default() };
    let store = AmazonS3Builder::from_env()
        .with_url(url.as_str())
        .with_retry(retry)
        .with_http_connector(Connector)
        .build()?;
    Ok((Arc::new(store), Path::from_url_path(url.path())?))
}

#[derive(Debug)]
struct Connector;

impl client::HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<client::HttpClient> {
        let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp);
        let allows_http = allows_http.as_deref() == Some("true");
        let client = match http_client(&Trust::Platform, CONNECT_TIMEOUT) {
            Err(_) if allows_http => http_client(&Trust::Nobody, CONNECT_TIMEOUT),
            made => made,
        };
        let fault = |source| object_store::Error::Generic { store: "S3", source };
        let client = client.map_err(|error| fault(error.into()))?;
        Ok(client::HttpClient::new(Service { client, allows_http }))
    }
}

#[derive(Debug)]
struct Service {
    client: HttpClient,
    allows_http: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("it is reached without TLS only if AWS_ALLOW_HTTP is true")]
struct WithoutTls;

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if request.uri().scheme_str() != Some("https") && !self.allows_http {
            return Err(HttpError::new(HttpErrorKind::Unknown, WithoutTls));
        }
        let (head, body) = request.into_parts();
        let body = Full::<Bytes>::new(body.collect().await?.to_bytes());
        let answered = self.client.request(hyper::Request::from_parts(head, body)).await;
        let response = answered.map_err(|error| match error.is_connect() {
            true => HttpError::new(HttpErrorKind::Connect, error),
            false => HttpError::new(HttpErrorKind::Interrupted, error),
        })?;
        let (head, body) = response.into_parts();
        let body = body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error));
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body)))
    }
}
