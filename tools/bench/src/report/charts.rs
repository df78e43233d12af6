//! Draws the charts of README and docs/performance.md from the figures of the JSON report.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use harness::{Error, Result};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::load::as_f64;

/// Opaque colours, which are readable on light and on dark pages.
const BACKGROUND: RGBColor = RGBColor(255, 255, 255);
const TEXT: RGBColor = RGBColor(55, 65, 81);
const GRID: RGBColor = RGBColor(229, 231, 235);
const SERIES: [RGBColor; 3] = [RGBColor(37, 99, 235), RGBColor(217, 119, 6), RGBColor(107, 114, 128)];
const FONT: (&str, i32) = ("sans-serif", 14);
const SIZE: (u32, u32) = (760, 340);

/// By name, as in the JSON report.
type Figures = BTreeMap<String, f64>;

/// One chart: title, the names of its series, and for each position on the x axis its label and the values.
struct Chart {
    title: &'static str,
    series: Vec<&'static str>,
    points: Vec<(String, Vec<f64>)>,
    /// Values are connected by lines instead of shown as bars.
    as_lines: bool,
}

/// Writes each chart whose figures were measured into the folder.
pub(crate) fn draw(figures: &Figures, folder: &Path) -> Result<()> {
    for (name, chart) in [("post", post(figures)), ("cpu", cpu(figures)), ("latency", latency(figures))] {
        if !chart.points.is_empty() {
            chart.write(&folder.join(format!("{name}.svg"))).map_err(|error| failed(name, error))?;
        }
    }
    Ok(())
}

fn failed(name: &str, error: impl Display) -> Error {
    Error::Refused(format!("the chart {name} was not drawn: {error}"))
}

/// POST beside the bare statement.
fn post(figures: &Figures) -> Chart {
    let of = ["executed_per_second", "statement_per_second", "pgbench_per_second"];
    Chart {
        title: "POST /v1/orders beside its bare statement: requests/s by connections",
        series: vec!["POST", "bare statement", "bare statement by pgbench"],
        points: by_number(figures, "place.", of),
        as_lines: false,
    }
}

/// The CPU of one order.
fn cpu(figures: &Figures) -> Chart {
    let names = ["orders", "inventory", "payments", "provider", "PostgreSQL", "load_generator"];
    let of =
        |name: &str| Some((name.replace('_', " "), vec![*figures.get(&format!("journey.cpu_us.{name}"))?]));
    Chart {
        title: "The whole saga: µs of CPU of one order in a crowd, by process",
        series: vec!["µs"],
        points: names.into_iter().filter_map(of).collect(),
        as_lines: false,
    }
}

/// The open loop.
fn latency(figures: &Figures) -> Chart {
    let of = ["confirmed_p99_ms", "confirmed_p50_ms", "post_p99_ms"];
    Chart {
        title: "The whole saga in an open loop: ms by orders/s",
        series: vec!["POST to confirmed, p99", "POST to confirmed, p50", "response to the POST, p99"],
        points: by_number(figures, "journey.at_", of),
        as_lines: true,
    }
}

/// The figures `{prefix}{number}.{name}` of each number, ascending.
fn by_number<const N: usize>(figures: &Figures, prefix: &str, names: [&str; N]) -> Vec<(String, Vec<f64>)> {
    let number = |name: &String| name.strip_prefix(prefix)?.split_once('.')?.0.parse::<u32>().ok();
    let mut numbers: Vec<u32> = figures.keys().filter_map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let value = |number: u32, name: &str| figures.get(&format!("{prefix}{number}.{name}")).copied();
    let values = |number| names.iter().map(|name| value(number, name).unwrap_or_default()).collect();
    numbers.into_iter().map(|number| (number.to_string(), values(number))).collect()
}

type DrawingResult<T> = std::result::Result<T, Box<dyn std::error::Error>>;

impl Chart {
    fn write(&self, file: &Path) -> DrawingResult<()> {
        let root = SVGBackend::new(file, SIZE).into_drawing_area();
        root.fill(&BACKGROUND)?;
        let text = |size: i32| (FONT.0, size).into_font().color(&TEXT);
        let (width, top) = (as_f64(self.points.len()), self.highest() * 1.15);
        let mut chart = ChartBuilder::on(&root)
            .caption(self.title, text(FONT.1 + 2))
            .margin(14)
            .set_label_area_size(LabelAreaPosition::Bottom, 26)
            .set_label_area_size(LabelAreaPosition::Left, 60)
            .build_cartesian_2d(0.0..width, 0.0..top)?;
        let number = |value: &f64| format!("{value:.0}");
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh().x_labels(0).y_labels(6).y_label_formatter(&number).label_style(text(FONT.1));
        mesh.bold_line_style(GRID).light_line_style(BACKGROUND).axis_style(GRID).draw()?;

        let below = text(FONT.1).pos(Pos::new(HPos::Center, VPos::Top));
        chart.draw_series(self.points.iter().enumerate().map(|(position, (label, _))| {
            EmptyElement::at((as_f64(position) + 0.5, 0.0)) + Text::new(label.clone(), (0, 6), below.clone())
        }))?;
        for (series, (name, colour)) in self.series.iter().zip(SERIES).enumerate() {
            let values = self
                .points
                .iter()
                .enumerate()
                .filter_map(|(position, (_, values))| Some((as_f64(position), *values.get(series)?)));
            let drawn = if self.as_lines {
                let points = values.map(|(position, value)| (position + 0.5, value));
                chart.draw_series(LineSeries::new(points, colour.stroke_width(2)).point_size(3))?
            } else {
                let bar = 0.8 / as_f64(self.series.len());
                let from = 0.1 + bar * as_f64(series);
                chart.draw_series(values.map(|(position, value)| {
                    Rectangle::new(
                        [(position + from, 0.0), (position + from + bar * 0.92, value)],
                        colour.filled(),
                    )
                }))?
            };
            let mark = move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled());
            drawn.label(*name).legend(mark);
        }
        if self.series.len() > 1 {
            let mut labels = chart.configure_series_labels();
            labels.position(SeriesLabelPosition::UpperLeft).background_style(BACKGROUND).border_style(GRID);
            labels.label_font(text(FONT.1)).draw()?;
        }
        root.present()?;
        Ok(())
    }

    fn highest(&self) -> f64 {
        self.points.iter().flat_map(|(_, values)| values).copied().fold(1.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_is_drawn_if_its_figures_were_measured() {
        let folder = std::env::temp_dir().join(format!("idem-charts-{}", uuid::Uuid::new_v4().simple()));
        std::fs::create_dir(&folder).unwrap();
        let figures = [
            ("journey.at_100.confirmed_p50_ms", 40.0),
            ("journey.at_25.confirmed_p50_ms", 30.0),
            ("journey.cpu_us.orders", 600.0),
        ];
        let figures = figures.map(|(name, value)| (name.to_owned(), value)).into();
        draw(&figures, &folder).unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.join(name));
        assert!(read("latency.svg").unwrap().contains("POST to confirmed, p50"));
        assert!(read("cpu.svg").unwrap().contains("orders"));
        assert!(read("post.svg").is_err(), "nothing was measured");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn positions_ascend_by_number_and_not_by_text() {
        let figures = ["place.16.x", "place.1.x", "place.64.x", "place.orders_resident_mib"];
        let figures = figures.map(|name| (name.to_owned(), 1.0)).into();
        let labels: Vec<String> =
            by_number(&figures, "place.", ["x"]).into_iter().map(|(label, _)| label).collect();
        assert_eq!(labels, ["1", "16", "64"]);
    }
}
