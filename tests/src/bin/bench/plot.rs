//! Memory and processor time over time, both managers in one picture.
//!
//! The same scenario may take one of them longer: each begins at the same place for both, and is as
//! wide as the longer one.

use crate::report::{Run, name};
use crate::samples::{Sample, Track};
use crate::scenarios::ALL;
use anyhow::anyhow;
use cluster_tests::Binary;
use plotters::coord::Shift;
use plotters::prelude::{
    ChartBuilder, Color, DrawingArea, FontTransform, IntoDrawingArea, IntoFont, IntoTextStyle,
    LineSeries, PathElement, RGBColor, SVGBackend, Text, WHITE,
};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const SIZE: (u32, u32) = (1200, 760);
const FONT: &str = "sans-serif";
const MANAGERS: [(Binary, RGBColor); 2] =
    [(Binary::Ours, RGBColor(0xc4, 0x4e, 0x1c)), (Binary::Upstream, RGBColor(0x32, 0x6c, 0xe5))];
const GREY: RGBColor = RGBColor(0xbb, 0xbb, 0xbb);
/// Between two scenarios, and the least that one is wide: a part of the whole.
const GAP: f64 = 0.004;
const LEAST: f64 = 0.02;
/// Over how many samples the processor time is averaged: a second.
const WINDOW: usize = 4;

/// A scenario's place on the axis of time, in seconds.
#[derive(Debug, Clone, PartialEq)]
struct Band {
    scenario: &'static str,
    from_s: f64,
    to_s: f64,
}

/// One of the two charts: its caption, and what it shows of samples.
type Chart = (&'static str, fn(&[Sample]) -> Vec<(f64, f64)>);

const CHARTS: [Chart; 2] =
    [("Resident memory, MiB", memory), ("Processor, cores (mean over a second)", cores)];

/// The picture as SVG, of the first run of each manager; none if there are no samples.
pub(crate) fn svg(runs: &[Run]) -> anyhow::Result<Option<String>> {
    let of = |binary| {
        let mut its = runs.iter().filter(|run| run.binary == binary && !run.tracks.is_empty());
        its.next().map_or(&[][..], |run| &run.tracks)
    };
    let tracks = MANAGERS.map(|(binary, _)| of(binary));
    let bands = bands(&tracks);
    if bands.is_empty() {
        return Ok(None);
    }
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        let drawn = root.fill(&WHITE).map_err(|error| anyhow!("{error}"));
        drawn?;
        for (area, chart) in root.split_evenly((CHARTS.len(), 1)).iter().zip(CHARTS) {
            draw(area, chart, &tracks, &bands).map_err(|error| anyhow!("{error}"))?;
        }
        root.present().map_err(|error| anyhow!("{error}"))?;
    }
    Ok(Some(text))
}

fn draw(
    area: &Area<'_>,
    (caption, show): Chart,
    tracks: &[&[Track]; 2],
    bands: &[Band],
) -> Result<(), Box<dyn std::error::Error>> {
    let lines: Vec<Vec<_>> = tracks.iter().map(|tracks| lines(tracks, bands, show)).collect();
    let highest = lines.iter().flatten().flatten().map(|(_, y)| *y).fold(0.1, f64::max);
    let end = bands.last().map_or(1.0, |band| band.to_s);
    let top = highest * 1.6;
    let mut chart = ChartBuilder::on(area)
        .caption(caption, (FONT, 18))
        .margin(12)
        .x_label_area_size(28)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..end, 0.0..top)?;
    chart.configure_mesh().disable_x_mesh().light_line_style(WHITE).x_desc("s").draw()?;
    let style = (FONT, 11).into_font().transform(FontTransform::Rotate90).into_text_style(area);
    for band in bands {
        let edge = vec![(band.from_s, 0.0), (band.from_s, top)];
        chart.draw_series([PathElement::new(edge, GREY)])?;
        // Turned, it hangs to the left of its point.
        let at = (band.from_s + end * LEAST * 0.7, top);
        chart.draw_series([Text::new(band.scenario, at, style.clone())])?;
    }
    // Beside the caption, since lines and names are everywhere else.
    let mut legend = (60, 14);
    for (lines, (binary, color)) in lines.into_iter().zip(MANAGERS) {
        for line in lines {
            chart.draw_series(LineSeries::new(line, color.stroke_width(2)))?;
        }
        area.draw(&Text::new(name(binary), legend, (FONT, 16).into_font().color(&color)))?;
        legend.0 += 60;
    }
    Ok(())
}

/// Where each scenario is drawn that any manager has played.
fn bands(tracks: &[&[Track]]) -> Vec<Band> {
    let length = |scenario: &str| {
        let its = tracks.iter().copied().flatten().filter(|track| track.scenario == scenario);
        its.filter_map(|track| Some(track.samples.last()?.at_s)).reduce(f64::max)
    };
    let lengths: Vec<_> = ALL.iter().filter_map(|it| Some((it.name, length(it.name)?))).collect();
    let whole: f64 = lengths.iter().map(|(_, length)| length).sum();
    let mut from_s = 0.0;
    let place = lengths.into_iter().map(|(scenario, length)| {
        let band = Band { scenario, from_s, to_s: from_s + length.max(whole * LEAST) };
        from_s = band.to_s + whole * GAP;
        band
    });
    place.collect()
}

/// A line for each scenario, moved to its place.
fn lines(
    tracks: &[Track],
    bands: &[Band],
    show: fn(&[Sample]) -> Vec<(f64, f64)>,
) -> Vec<Vec<(f64, f64)>> {
    let place = |track: &Track| {
        let band = bands.iter().find(|band| band.scenario == track.scenario)?;
        Some(show(&track.samples).into_iter().map(|(x, y)| (x + band.from_s, y)).collect())
    };
    tracks.iter().filter_map(place).collect()
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn memory(samples: &[Sample]) -> Vec<(f64, f64)> {
    samples.iter().map(|sample| (sample.at_s, sample.rss_kib as f64 / 1024.0)).collect()
}

/// Over less than a second at the begin of a process, or of the samples.
fn cores(samples: &[Sample]) -> Vec<(f64, f64)> {
    let means = samples.iter().enumerate().filter_map(|(at, last)| {
        let window = &samples[at.saturating_sub(WINDOW)..at];
        let first = window.iter().find(|first| first.pid == last.pid)?;
        let time = last.at_s - first.at_s;
        (time > 0.0).then(|| (last.at_s, (last.cpu_s - first.cpu_s) / time))
    });
    means.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_s: f64, cpu_s: f64, pid: i32) -> Sample {
        Sample { at_s, rss_kib: 2048, cpu_s, pid }
    }

    fn track(scenario: &'static str, length: u32) -> Track {
        let samples = (0..=length).map(|at| sample(f64::from(at), f64::from(at) / 2.0, 1));
        Track { scenario, samples: samples.collect() }
    }

    #[test]
    fn a_band_is_as_wide_as_the_longer_one() {
        let (ours, theirs) = ([track("idle", 10), track("jobs", 30)], [track("jobs", 40)]);
        let bands = bands(&[&ours, &theirs]);
        let gap = 50.0 * GAP;
        let expected = [("idle", 0.0, 10.0), ("jobs", 10.0 + gap, 50.0 + gap)];
        let expected = expected.map(|(scenario, from_s, to_s)| Band { scenario, from_s, to_s });
        assert_eq!(bands, expected);
        assert_eq!(lines(&theirs, &bands, memory)[0][0], (10.0 + gap, 2.0));
    }

    #[test]
    fn cores_are_of_one_process() {
        let mut samples = track("idle", 8).samples;
        assert_eq!(cores(&samples)[0], (1.0, 0.5));
        // Another process, which has used more so far.
        for sample in &mut samples[4..] {
            (sample.pid, sample.cpu_s) = (2, sample.cpu_s + 100.0);
        }
        let means = cores(&samples);
        assert_eq!(means.len(), 7);
        let near = |some: f64, other: f64| (some - other).abs() < 1e-9;
        let is_right = |(at, mean): &(f64, f64)| !near(*at, 4.0) && near(*mean, 0.5);
        assert!(means.iter().all(is_right), "{means:?}");
    }

    #[test]
    fn a_picture_names_scenarios_and_managers() {
        let run = |binary, tracks| Run { binary, number: 1, results: Vec::new(), tracks };
        let runs = [
            run(Binary::Ours, vec![track("idle", 10), track("jobs", 9)]),
            run(Binary::Upstream, vec![track("idle", 10), track("jobs", 12)]),
        ];
        let svg = svg(&runs).unwrap().unwrap();
        for word in ["<svg", "jobs", "ours", "upstream", "Resident memory"] {
            assert!(svg.contains(word), "{word}");
        }
        assert_eq!(super::svg(&[]).unwrap(), None);
    }
}
