//! The backend over PostgreSQL: documents, sketches and postings in tables, true by transactions.
