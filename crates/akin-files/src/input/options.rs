//! Options of reading inputs.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use encoding_rs::Encoding;

use super::column_names::ColumnNames;
use super::columns::TextColumns;
use super::copies::InputCopies;
use super::encoding::encoding;
use super::file_part::FilePart;
use super::formats::Format;
use super::list::read_list;
use super::open::source;
use super::selection::{Selection, refuse_url};
use crate::failure::Failure;
use crate::feature::HTML;
use akin_model::content::Extract;

/// Options of reading inputs.
#[derive(Args, Clone, Debug)]
pub struct InputOptions {
    /// Also read the files that this file lists, a path on each line; - is stdin
    #[arg(long, value_name = "FILE")]
    pub files_from: Option<PathBuf>,
    /// The names in --files-from end with NUL, as `find -print0` writes them
    #[arg(long, short = '0', requires = "files_from")]
    null: bool,
    /// The format of all inputs, instead of that of their names or first bytes
    #[arg(long, value_name = "FORMAT")]
    format: Option<&'static Format>,
    /// The encoding of texts without a byte order mark: such as latin1 or gbk [default: UTF-8]
    #[arg(long, value_name = "ENCODING", value_parser = encoding)]
    encoding: Option<&'static Encoding>,
    /// Which text of HTML pages is read
    #[arg(long, value_name = "WHAT", default_value = "text")]
    extract: Extract,
    /// The column, or member of JSON, with the ids [default: id, or else file:number]
    #[arg(long, value_name = "NAME")]
    id_column: Option<String>,
    /// The column, or member of JSON, with the texts [default: text]; of several columns the texts
    /// are joined; a list of chat messages is a text, too; a name with a comma is in double quotes
    #[arg(long, value_name = "NAME,NAME")]
    text_column: Vec<ColumnNames>,
    /// Take only the chat messages with these roles, such as user [default: all]
    #[arg(long, value_name = "ROLE,ROLE", value_delimiter = ',')]
    roles: Vec<String>,
    /// The columns, or members of JSON, that become metadata [default: all further columns]
    #[arg(long, value_name = "NAME,NAME")]
    metadata_columns: Option<Vec<ColumnNames>>,
    /// The member of a JSON object that has the documents in an array, such as data; or, with dots,
    /// a nested member
    #[arg(long, value_name = "NAME")]
    records: Option<String>,
    /// Read only the files with this extension in directories; may be given several times
    #[arg(long, value_name = "EXTENSION")]
    include: Vec<String>,
}

/// How files are read, for all inputs of a command.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    pub format: Option<&'static Format>,
    pub encoding: Option<&'static Encoding>,
    pub extract: Extract,
    pub columns: Arc<TextColumns>,
    /// The member of JSON objects with the array of documents.
    pub records: Option<String>,
    /// Copies of pipes, which can be read only once.
    pub pipes: HashMap<PathBuf, Arc<File>>,
    /// What was read of compressed inputs and of pages, if the command reads them again and the
    /// disk has room.
    pub copies: Option<Arc<InputCopies>>,
    /// Where unnamed files are made [default: the usual directory of temporary files].
    pub directory: Option<PathBuf>,
}

impl Reading {
    pub fn columns_mut(&mut self) -> &mut TextColumns {
        Arc::make_mut(&mut self.columns)
    }

    /// The bytes at a path, or of the copy of a pipe.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn source(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        match self.pipes.get(path) {
            Some(pipe) => Ok(Box::new(FilePart::whole(pipe)?)),
            None => source(path),
        }
    }

    /// The unpacked bytes of an input, to be read at any position: those that are kept of the
    /// input, the file at the path, the copy of a pipe, or an unnamed copy, which is gone after
    /// this reading.
    ///
    /// # Errors
    /// The input cannot be read, or the disk is full.
    #[cfg(feature = "parquet")]
    pub fn seekable(
        &self,
        path: &Path,
        mut unpacked: impl Read,
        is_packed: bool,
    ) -> io::Result<FilePart> {
        if let Some(kept) = self.copies.as_ref().and_then(|copies| copies.unpacked(path)) {
            return Ok(kept);
        }
        match self.pipes.get(path) {
            Some(pipe) if !is_packed => return FilePart::whole(pipe),
            None if !is_packed && path.is_file() => {
                return FilePart::whole(&Arc::new(File::open(path)?));
            }
            _ => {}
        }
        let directory = self.directory.clone().unwrap_or_else(std::env::temp_dir);
        let mut copy = tempfile::tempfile_in(directory)?;
        io::copy(&mut unpacked, &mut copy)?;
        FilePart::whole(&Arc::new(copy))
    }
}

impl InputOptions {
    /// The files at these paths and the files of the list.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn files(&self, mut paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, Failure> {
        paths.iter().try_for_each(|path| refuse_url(path))?;
        if self.extract == Extract::Main {
            HTML.require()?;
        }
        let Some(list) = &self.files_from else { return Ok(paths) };
        if list.as_os_str() == "-" && paths.contains(list) {
            return Err(Failure::new("stdin has either documents or a list of files, not both"));
        }
        paths.extend(read_list(list, self.null)?);
        Ok(paths)
    }

    /// The selection of these files, of which only texts and ids are read.
    ///
    /// # Errors
    /// A file does not exist.
    pub fn texts_of(&self, paths: Vec<PathBuf>) -> Result<Selection, Failure> {
        let mut selection = self.selection(paths);
        selection.check_exists()?;
        let columns = selection.reading.columns_mut();
        columns.further_are_ignored = true;
        columns.prunes = true;
        Ok(selection)
    }

    /// The selection of these files, which need not exist.
    pub fn selection(&self, paths: Vec<PathBuf>) -> Selection {
        let wanted = |names: &Vec<ColumnNames>| {
            ColumnNames::all(names).into_iter().filter(|name| !name.is_empty()).collect()
        };
        let columns = Arc::new(TextColumns {
            id: self.id_column.clone(),
            text: ColumnNames::all(&self.text_column),
            roles: self.roles.clone(),
            metadata: self.metadata_columns.as_ref().map(wanted),
            further_are_ignored: false,
            prunes: false,
        });
        let (format, encoding, extract) = (self.format, self.encoding, self.extract);
        let records = self.records.clone();
        let reading = Reading { format, encoding, extract, columns, records, ..Reading::default() };
        Selection { paths, reading, extensions: self.include.clone() }
    }
}
