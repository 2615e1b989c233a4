//! Two servers of akin, a primary and its standby, and what fails of them for a while.

use crate::http::Server;
use crate::postgres_server::PostgresServer;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The primary is killed, and stays away; its standby takes its place.
    Promotion,
    /// All connections are cut, some of them while they wait for a commit.
    Cut,
    /// Nothing is acknowledged while the standby is away.
    Standby,
    /// All processes of the primary are stopped.
    Pause,
    /// All processes of the primary are killed.
    Crash,
    /// Tables and indexes of the primary cannot grow.
    FullDisk,
    /// A server of akin is stopped.
    Stop,
}

/// In the order in which two of them begin; they end in the reverse order.
pub const FAULTS: [Fault; 7] = [
    Fault::Promotion,
    Fault::Cut,
    Fault::Standby,
    Fault::Pause,
    Fault::Crash,
    Fault::FullDisk,
    Fault::Stop,
];

pub struct Servers {
    pub primary: PostgresServer,
    standby: PostgresServer,
    pub akin: [Server; 2],
}

impl Servers {
    /// `None`, noted, where PostgreSQL is not installed.
    pub fn start() -> Option<Self> {
        let mut primary = PostgresServer::start(&["wal_keep_size = 256MB"])?;
        primary.let_disk_fill();
        let mut standby = primary.new_standby();
        standby.let_disk_fill();
        let url = format!("postgres://akin@{},{}/postgres", primary.host(), standby.host());
        let akin = [Server::start_at(&url), Server::start_at(&url)];
        primary.wait_for_standby();
        Some(Self { primary, standby, akin })
    }

    pub fn begin(&mut self, fault: Fault) {
        match fault {
            Fault::Promotion => {
                self.primary.await_standby();
                self.primary.kill();
                self.standby.promote();
                std::mem::swap(&mut self.primary, &mut self.standby);
            }
            Fault::Cut => {
                let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE application_name = 'akin'";
                self.primary.sql("postgres", cut);
            }
            Fault::Standby => self.standby.kill(),
            Fault::Pause => self.primary.pause(true),
            Fault::Crash => self.primary.kill(),
            Fault::FullDisk => self.primary.set_disk_full(true),
            Fault::Stop => self.akin[1].process.signal("STOP"),
        }
    }

    /// `other`: the fault that happens at the same time.
    pub fn end(&mut self, fault: Fault, other: Fault) {
        match fault {
            // The former primary follows its successor.
            Fault::Promotion => {
                self.standby.follow(&self.primary);
                self.primary.wait_for_standby();
            }
            Fault::Cut => {}
            Fault::Standby if other == Fault::Promotion => {}
            Fault::Standby => self.standby.resume(),
            Fault::Pause if other == Fault::Crash => {}
            Fault::Pause => self.primary.pause(false),
            Fault::Crash => self.primary.resume(),
            Fault::FullDisk => self.primary.set_disk_full(false),
            Fault::Stop => self.akin[1].process.signal("CONT"),
        }
    }
}
