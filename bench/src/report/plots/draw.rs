//! Lines and bars as SVG.

use std::ops::Range;
use std::path::Path;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::report::numbers::short;

const SIZE: (u32, u32) = (960, 480);
/// At the right, for the names of the series.
const LEGEND_PIXELS: u32 = 260;
/// Labels of an axis.
const MARKS_MAX: f64 = 12.0;
const BAR_PIXELS: u32 = 34;

/// Told apart by those who see few colours, too (Okabe and Ito 2008).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(130, 130, 130),
];

pub struct Axis {
    title: &'static str,
    log: bool,
}

pub struct Series {
    pub name: String,
    pub points: Vec<[f64; 2]>,
    pub draws: Draws,
}

/// How a series is drawn: with the colour of its place, or of that number.
#[derive(Clone, Copy)]
pub enum Draws {
    Both,
    Line(usize),
    Points(usize),
}

pub struct Bar {
    pub label: String,
    pub figure: f64,
}

impl Axis {
    pub fn plain(title: &'static str) -> Self {
        Self { title, log: false }
    }

    pub fn log(title: &'static str) -> Self {
        Self { title, log: true }
    }

    fn place(&self, figure: f64) -> f64 {
        if self.log { figure.max(f64::MIN_POSITIVE).log10() } else { figure }
    }

    fn label(&self, place: f64) -> String {
        match self.log {
            true => short(10_f64.powf(place)),
            false => ((place * 1e3).round() / 1e3).to_string(),
        }
    }

    /// Where lines of the mesh are: at figures of one digit, or at decades where those are many.
    fn marks(&self, range: &Range<f64>) -> Vec<f64> {
        let within = |place: &f64| range.contains(place);
        if !self.log {
            let step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
            let fits = |step: &f64| (range.end - range.start) / step <= MARKS_MAX;
            let step = step.into_iter().find(fits).unwrap_or(1e3);
            let (first, last) = ((range.start / step).ceil(), (range.end / step).floor());
            return (first as i64..=last as i64).map(|n| n as f64 * step).collect();
        }
        let decades = range.start.floor() as i32..=range.end.ceil() as i32;
        let digits = match range.end - range.start < MARKS_MAX / 3.0 {
            true => &[1.0, 2.0, 5.0][..],
            false => &[1.0],
        };
        let of =
            |decade: i32| digits.iter().map(move |digit: &f64| f64::from(decade) + digit.log10());
        decades.flat_map(of).filter(within).collect()
    }

    /// From the least figure to the greatest, and a little more.
    fn range(&self, figures: impl Iterator<Item = f64>) -> Range<f64> {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for place in figures.map(|figure| self.place(figure)) {
            (least, most) = (least.min(place), most.max(place));
        }
        let more = ((most - least) * 0.04).max(0.02);
        least - more..most + more
    }
}

/// Nothing is drawn of nothing.
pub fn lines(file: &Path, title: &str, axes: &[Axis; 2], series: &[Series]) {
    let points = || series.iter().flat_map(|series| &series.points);
    if points().next().is_none() {
        return;
    }
    let [x, y] = axes;
    let ranges = [x.range(points().map(|point| point[0])), y.range(points().map(|point| point[1]))];
    let area = SVGBackend::new(file, SIZE).into_drawing_area();
    area.fill(&WHITE).expect("a plot can be drawn");
    let [across, up] = ranges;
    let (left, right) = area.split_horizontally(SIZE.0 - LEGEND_PIXELS);
    let mut chart = ChartBuilder::on(&left)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(76)
        .build_cartesian_2d(Scale::new(across, x), Scale::new(up, y))
        .expect("a plot can be drawn");
    mesh(&mut chart, axes);
    for (place, series) in series.iter().enumerate() {
        let number = match series.draws {
            Draws::Both => place,
            Draws::Line(number) | Draws::Points(number) => number,
        };
        draw_series(&mut chart, axes, series, number);
        let height = 50 + 20 * place as i32;
        match series.draws {
            Draws::Line(_) => {
                right.draw(&PathElement::new([(2, height), (14, height)], style(number)))
            }
            Draws::Both | Draws::Points(_) => {
                right.draw(&Circle::new((8, height), 4, style(number)))
            }
        }
        .expect("a plot can be drawn");
        right
            .draw(&Text::new(series.name.as_str(), (18, height - 7), ("sans-serif", 13)))
            .expect("a plot can be drawn");
    }
    area.present().expect("the plot is written");
}

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Scale, Scale>>;

/// A range with lines of the mesh where they are wanted.
struct Scale {
    range: RangedCoordf64,
    marks: Vec<f64>,
}

impl Scale {
    fn new(range: Range<f64>, axis: &Axis) -> Self {
        Self { marks: axis.marks(&range), range: range.into() }
    }
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.range.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.range()
    }
}

fn mesh(chart: &mut Chart, [x, y]: &[Axis; 2]) {
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc(x.title)
        .y_desc(y.title)
        .x_label_formatter(&|place| x.label(*place))
        .y_label_formatter(&|place| y.label(*place))
        .axis_desc_style(("sans-serif", 15))
        .label_style(("sans-serif", 13))
        .draw()
        .expect("a plot can be drawn");
}

/// The ninth series has the first colour again, and hollow points.
fn style(number: usize) -> ShapeStyle {
    let colour = COLOURS[number % COLOURS.len()];
    if number < COLOURS.len() { colour.filled() } else { colour.stroke_width(2) }
}

fn draw_series(chart: &mut Chart, [x, y]: &[Axis; 2], series: &Series, number: usize) {
    let colour = COLOURS[number % COLOURS.len()];
    let points = series.points.iter().map(|point| (x.place(point[0]), y.place(point[1])));
    if !matches!(series.draws, Draws::Points(_)) {
        let line = LineSeries::new(points.clone(), colour.stroke_width(2));
        chart.draw_series(line).expect("a plot can be drawn");
    }
    if !matches!(series.draws, Draws::Line(_)) {
        let points = points.map(|point| Circle::new(point, 4, style(number)));
        chart.draw_series(points).expect("a plot can be drawn");
    }
}

/// Bars across, longest figures to the right, on a scale from nothing.
pub fn bars(file: &Path, title: &str, bars: &[Bar]) {
    if bars.is_empty() {
        return;
    }
    let height = 70 + BAR_PIXELS * bars.len() as u32;
    let area = SVGBackend::new(file, (SIZE.0, height)).into_drawing_area();
    area.fill(&WHITE).expect("a plot can be drawn");
    let area = area.titled(title, ("sans-serif", 20)).expect("a plot can be drawn");
    let most = bars.iter().map(|bar| bar.figure).fold(f64::MIN_POSITIVE, f64::max);
    for (number, bar) in bars.iter().enumerate() {
        let top = 14 + (number as u32 * BAR_PIXELS) as i32;
        let length = (f64::from(SIZE.0 - 330) * bar.figure / most).max(1.0) as i32;
        let is_own = bar.label.starts_with("akin");
        let colour = if is_own { COLOURS[1] } else { COLOURS[0] };
        let bottom = top + BAR_PIXELS as i32 - 10;
        area.draw(&Rectangle::new([(14, top), (14 + length, bottom)], colour.filled()))
            .expect("a plot can be drawn");
        let place = (22 + length, top + 5);
        area.draw(&Text::new(bar.label.as_str(), place, ("sans-serif", 15)))
            .expect("a plot can be drawn");
    }
    area.present().expect("the plot is written");
}
