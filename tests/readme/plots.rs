//! The plots of docs/concepts.md, drawn from what the command line prints. With `UPDATE=1` they
//! are written, else compared.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::reading::Reading;

/// Of the area between the axes, in pixels.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 60.0;
const TOP: f64 = 40.0;

/// Readable on white and on black.
const COLOURS: [&str; 4] = ["#d9822b", "#2b95d6", "#29a634", "#a854c9"];
const GREY: &str = "#888888";

/// Words of the made-up text.
const WORDS: u64 = 300;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Line,
    Points,
}

struct Series {
    name: String,
    kind: Kind,
    points: Vec<[f64; 2]>,
}

struct Plot {
    file: &'static str,
    title: &'static str,
    x: &'static str,
    y: &'static str,
    /// The largest value on the x axis; the y axis ends at 1.
    x_max: f64,
    series: Vec<Series>,
}

#[test]
fn the_plots_are_what_the_commands_print() {
    let reading = Reading::start();
    for plot in [bands_and_rows(), thresholds(), edits(&reading), estimates(&reading)] {
        let path = super::root().join("docs/images").join(plot.file);
        let drawn = plot.svg();
        if super::is_update() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, drawn).unwrap();
        } else {
            let stored = fs::read_to_string(&path).unwrap_or_default();
            assert!(stored == drawn, "{} differs: UPDATE=1 rewrites it", path.display());
        }
    }
}

fn bands_and_rows() -> Plot {
    let schemes = [("64", "2"), ("32", "4"), ("16", "8"), ("8", "16")];
    let series = schemes.map(|(bands, rows)| {
        let name = format!("{bands} bands of {rows} rows");
        line(name, &curve(&["--bands", bands, "--rows", rows], "candidate"))
    });
    Plot {
        file: "bands_and_rows.svg",
        title: "Chance that two documents share a key, 128 slots",
        x: "Jaccard similarity",
        y: "chance",
        x_max: 1.0,
        series: series.into(),
    }
}

fn thresholds() -> Plot {
    let series = ["0.6", "0.7", "0.8", "0.9"].map(|threshold| {
        line(format!("threshold {threshold}"), &curve(&["--threshold", threshold], "found"))
    });
    Plot {
        file: "thresholds.svg",
        title: "Chance that the default scheme verifies a pair",
        x: "Jaccard similarity",
        y: "chance",
        x_max: 1.0,
        series: series.into(),
    }
}

fn edits(reading: &Reading) -> Plot {
    let texts: Vec<String> = (0..=10).map(|step| text(step * 3, 7)).collect();
    let series = [1, 2, 3, 5].map(|size| {
        let name = format!("shingles of {size}");
        let points = compared(reading, &format!("edits-{size}"), size, &texts);
        let points = points.iter().zip(0..).map(|([exact, _], step)| [f64::from(step), *exact]);
        line(name, &points.collect::<Vec<_>>())
    });
    Plot {
        file: "edits.svg",
        title: "Jaccard similarity after edits, by the words in a shingle",
        x: "words replaced, of 100",
        y: "Jaccard similarity",
        x_max: 10.0,
        series: series.into(),
    }
}

fn estimates(reading: &Reading) -> Plot {
    let texts: Vec<String> = (0..60_u64).map(|nth| text(nth + nth * nth / 60, nth)).collect();
    let points = compared(reading, "estimates", 3, &texts);
    let estimated = Series { name: "a pair".into(), kind: Kind::Points, points };
    Plot {
        file: "estimates.svg",
        title: "What 128 slots of a sketch say of 60 pairs",
        x: "Jaccard similarity",
        y: "estimate",
        x_max: 1.0,
        series: vec![line("equal".into(), &[[0.0, 0.0], [1.0, 1.0]]), estimated],
    }
}

/// The exact and the estimated similarity of each text to the first, from a collection made for it.
fn compared(reading: &Reading, name: &str, size: u32, texts: &[String]) -> Vec<[f64; 2]> {
    let settings = json!({"shingles": {"size": size}, "sketch": {"seed": 0}});
    let documents =
        texts.iter().enumerate().map(|(id, text)| json!({"id": id.to_string(), "text": text}));
    reading.write("settings", &settings.to_string());
    reading.write("documents", &documents.collect::<Value>().to_string());
    let came = reading.run(&format!(
        "url=http://127.0.0.1:2546/collections/{name}
         curl -sf -o /dev/null -X PUT $url --json @settings
         curl -sf -o /dev/null $url/documents?check=false --json @documents
         curl -sf \"$url/similar?id=0&mode=exact&threshold=0.01&limit=1000\"",
    ));
    assert!(came.well, "{}", came.text);
    let found: Value = serde_json::from_str(&came.text).unwrap();
    let mut points = vec![[1.0, 1.0]; texts.len()];
    let matches = found["matches"].as_array().unwrap();
    assert_eq!(matches.len() + 1, texts.len(), "{found}");
    for found in matches {
        let at: usize = found["id"].as_str().unwrap().parse().unwrap();
        points[at] = [number(found, "/exact"), number(found, "/estimated")];
    }
    points
}

fn line(name: String, points: &[[f64; 2]]) -> Series {
    Series { name, kind: Kind::Line, points: points.to_vec() }
}

/// A text of which so many words were replaced, at places that depend on the seed.
fn text(replaced: u64, seed: u64) -> String {
    let mut words: Vec<String> = (0..WORDS).map(|n| format!("word{n}")).collect();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
    let mut left = replaced;
    while left > 0 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = &mut words[usize::try_from((state >> 33) % WORDS).unwrap()];
        if word.starts_with("word") {
            *word = format!("other{seed}x{left}");
            left -= 1;
        }
    }
    words.join(" ")
}

fn curve(arguments: &[&str], member: &str) -> Vec<[f64; 2]> {
    let akin = env!("CARGO_BIN_EXE_akin");
    let output = Command::new(akin).args(["curve", "--json"]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let curve: Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = curve["points"].as_array().unwrap().iter();
    points
        .map(|point| [number(point, "/similarity"), number(point, &format!("/{member}"))])
        .collect()
}

fn number(value: &Value, pointer: &str) -> f64 {
    value.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}: {value}"))
}

impl Plot {
    fn svg(&self) -> String {
        let (width, height) = (LEFT + WIDTH + 170.0, TOP + HEIGHT + 60.0);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\" \
             fill=\"{GREY}\">\n<title>{}</title>\n",
            self.title
        );
        let middle = LEFT + WIDTH / 2.0;
        writeln!(svg, "{}", label(middle, 22.0, "middle", self.title)).unwrap();
        writeln!(svg, "{}", label(middle, TOP + HEIGHT + 44.0, "middle", self.x)).unwrap();
        writeln!(svg, "{}", label(4.0, TOP - 12.0, "start", self.y)).unwrap();
        self.grid(&mut svg);
        for (series, colour) in self.series.iter().zip(COLOURS) {
            self.series(&mut svg, series, colour);
        }
        self.legend(&mut svg);
        svg + "</svg>\n"
    }

    fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [LEFT + x / self.x_max * WIDTH, TOP + (1.0 - y) * HEIGHT]
    }

    fn grid(&self, svg: &mut String) {
        for step in 0..=5 {
            let share = f64::from(step) / 5.0;
            let [x, y] = self.place([share * self.x_max, share]);
            let (right, bottom) = (LEFT + WIDTH, TOP + HEIGHT);
            let style = format!("stroke=\"{GREY}\" stroke-opacity=\"0.35\"");
            writeln!(svg, "<path d=\"M{LEFT} {y}H{right}M{x} {TOP}V{bottom}\" {style}/>").unwrap();
            writeln!(svg, "{}", label(LEFT - 8.0, y + 4.0, "end", &format!("{share}"))).unwrap();
            let of_x = format!("{}", share * self.x_max);
            writeln!(svg, "{}", label(x, bottom + 20.0, "middle", &of_x)).unwrap();
        }
    }

    fn series(&self, svg: &mut String, series: &Series, colour: &str) {
        let places = series.points.iter().map(|point| self.place(*point));
        if series.kind == Kind::Points {
            for [x, y] in places {
                writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>")
                    .unwrap();
            }
            return;
        }
        let points: Vec<String> = places.map(|[x, y]| format!("{x:.1},{y:.1}")).collect();
        writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>",
            points.join(" ")
        )
        .unwrap();
    }

    fn legend(&self, svg: &mut String) {
        let x = LEFT + WIDTH + 15.0;
        let mut y = TOP + 10.0;
        for (series, colour) in self.series.iter().zip(COLOURS) {
            writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{}\" width=\"14\" height=\"4\" fill=\"{colour}\"/>",
                y - 6.0
            )
            .unwrap();
            writeln!(svg, "{}", label(x + 20.0, y, "start", &series.name)).unwrap();
            y += 22.0;
        }
    }
}

fn label(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>")
}
