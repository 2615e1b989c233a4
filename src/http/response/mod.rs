//! The wire types of responses.

mod answers;
mod found;
pub mod pace;
pub mod reply;
pub mod stats;
pub mod stored;
mod timed;

pub use answers::{AnswerReply, AnswersReply, FailedProbeReply, ProbeAnswerReply, UnreadAnswer};
pub use found::{ClusterLines, PairLine};
pub use reply::{Bounded, Broken, JSON, Json, ReplyWriter, SentPiece};
pub use stats::{ReadinessReply, SnapshotsReply, StatsReply, StatusReply};
pub use stored::{ExportedLine, IdsReply, NextIds, StoredReply};
pub use timed::timed_within;
