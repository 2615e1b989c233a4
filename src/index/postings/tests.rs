//! Pages of postings beside a plain map.
