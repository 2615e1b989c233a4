//! Files that the pages speak of and that no shell can make.

use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// Three pages, of which the last is nearly the first.
const PAGES: [(&str, &str); 3] = [
    (
        "https://a.example/",
        "The museum opens at ten from Tuesday to Sunday and is closed on Mondays.",
    ),
    ("https://b.example/", "The zoo is open every day from nine to six."),
    (
        "https://c.example/",
        "The museum opens at ten from Tuesday to Sunday and is closed on Monday.",
    ),
];

/// A Parquet file with the columns `url` and `text`.
pub fn dump() -> Vec<u8> {
    let schema = "message schema {
        REQUIRED BYTE_ARRAY url (STRING);
        REQUIRED BYTE_ARRAY text (STRING);
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::default()).unwrap();
    let mut rows = writer.next_row_group().unwrap();
    for values in [PAGES.map(|(url, _)| url), PAGES.map(|(_, text)| text)] {
        let values = values.map(|value| ByteArray::from(value.as_bytes().to_vec()));
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    rows.close().unwrap();
    writer.close().unwrap();
    file
}

/// The same pages as a crawler stores them.
pub fn crawl() -> Vec<u8> {
    let records = PAGES.map(|(url, text)| {
        let page = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>{text}</p>");
        format!(
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:{url}>\r\n\
             WARC-Target-URI: {url}\r\nContent-Type: application/http;msgtype=response\r\n\
             Content-Length: {}\r\n\r\n{page}\r\n\r\n",
            page.len(),
        )
    });
    records.concat().into_bytes()
}
