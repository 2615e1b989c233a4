//! The wire types of responses.

pub mod pace;
pub mod reply;
pub mod stats;
pub mod stored;
mod timed;

pub use reply::{Bounded, Broken, JSON, Json, ReplyWriter, SentPiece};
pub use stats::{ReadinessReply, SnapshotsReply, StatsReply, StatusReply};
pub use stored::{ExportedLine, IdsReply, NextIds, StoredReply};
pub use timed::timed_within;
