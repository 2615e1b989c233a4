//! The parts of a request: its path, its parameters, its body.

pub mod bodies;
pub mod body;
mod extract;
mod hint;
mod include;
pub mod json;
pub mod lookup;
mod named;
mod options;
pub mod page;
mod parameters;
pub mod probes;
pub mod query;
pub mod reading;
pub mod settings;

pub use bodies::{ChangeBody, DocumentBody, DocumentsBody, GivenId};
pub use body::{Body, BodyMembers, JsonCall, OptionStruct, check_count, merged};
pub use extract::{AllReady, AnswerMemory, PathCollection, PathId, Ready, SMALL, in_path};
pub use include::{Chosen, Include, PassageInclude};
pub use lookup::{ConditionParameters, LookupOptions, LookupParameters, WrongOption};
pub use options::{AddParameters, CompareParameters};
pub use page::{PageParameters, PageReader};
pub use parameters::{
    ClusterParameters, CurveParameters, ExportParameters, GetParameters, ListParameters, OnDamaged,
    RecallParameters, StoredId, StoredPair, TextParameters,
};
pub use probes::{
    LookupBody, OwnProbe, OwnProbes, PairBody, PairMembers, PostedProbes, Probes, ProbesBody,
};
pub use query::{NoParameters, Query, Within};
pub use reading::{BodyReader, Media, Patience};
pub use settings::Settings;
