//! The HTTP contract, in process and, where streaming matters, over a real socket.

mod app;
mod bulk;
mod documents;
mod limits;
mod lookups;
mod openapi;
mod operating;
mod refusals;
mod socket;
mod transport;
