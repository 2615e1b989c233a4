//! How a command reads its inputs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use encoding_rs::Encoding;

use super::columns::Columns;
use super::detect::Format;
use super::encoding::encoding;
use super::list::read_list;
use super::selection::Selection;
use crate::cli::failure::Failure;

/// How inputs are read.
#[derive(Args, Clone, Debug)]
pub struct InputOptions {
    /// Read the files, too, that this file names, one on each line; - is stdin
    #[arg(long, value_name = "FILE")]
    files_from: Option<PathBuf>,
    /// The names in --files-from end with NUL, as `find -print0` writes them
    #[arg(long, short = '0', requires = "files_from")]
    null: bool,
    /// The format of all inputs, in place of what their content says
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// The encoding of texts without a byte order mark: such as latin1 or gbk [default: UTF-8]
    #[arg(long, value_name = "ENCODING", value_parser = encoding)]
    encoding: Option<&'static Encoding>,
    /// Which text of HTML pages is read
    #[arg(long, value_name = "WHAT", default_value = "html")]
    extract: Extract,
    /// The column, or member of JSON, with the ids [default: id, or else file:number]
    #[arg(long, value_name = "NAME")]
    id_column: Option<String>,
    /// The column, or member of JSON, with the texts [default: text]
    #[arg(long, value_name = "NAME")]
    text_column: Option<String>,
    /// The columns, or members of JSON, that become metadata [default: all further ones]
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',')]
    metadata_columns: Option<Vec<String>>,
    /// Only files with this extension, of those in directories; may be given several times
    #[arg(long, value_name = "EXTENSION")]
    include: Vec<String>,
}

/// What is read of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Extract {
    /// What is seen, without navigation
    #[default]
    Html,
    /// The main content: what a browser's reader view shows
    Main,
}

/// How files are read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    pub format: Option<Format>,
    pub encoding: Option<&'static Encoding>,
    pub extract: Extract,
    pub columns: Columns,
}

impl InputOptions {
    /// The files at these paths and those of the list.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn files(&self, mut paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, Failure> {
        let Some(list) = &self.files_from else { return Ok(paths) };
        if list.as_os_str() == "-" && paths.contains(list) {
            return Err(Failure::new("stdin has either documents or a list of files, not both"));
        }
        paths.extend(read_list(list, self.null)?);
        Ok(paths)
    }

    /// The documents of these files, which may not exist.
    pub fn selection(&self, paths: Vec<PathBuf>) -> Selection {
        let named = |name: &String| !name.is_empty();
        let wanted = |names: &Vec<String>| names.iter().filter(|n| named(n)).cloned().collect();
        let columns = Columns {
            id: self.id_column.clone(),
            text: self.text_column.clone(),
            metadata: self.metadata_columns.as_ref().map(wanted),
            further_are_ignored: false,
            prunes: false,
        };
        let (format, encoding, extract) = (self.format, self.encoding, self.extract);
        let reading = Reading { format, encoding, extract, columns };
        Selection { paths, reading, extensions: self.include.clone() }
    }
}
