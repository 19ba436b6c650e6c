//! Speed of the network, of the tree and of training, against what the machine can do.

pub(crate) mod evalbench;
mod stages;
mod timing;
pub(crate) mod training;
pub(crate) mod treebench;
