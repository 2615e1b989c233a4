//! Documents of files, and everything done with them without a server.
