//! The look of all charts: the colours of the pages (`engine::markup::PAGE_STYLE` and the league's style sheet), their font, and
//! one layout.

use crate::plots::svg::{Canvas, DrawError, GROUND};
use plotters::chart::{ChartBuilder, ChartContext, MeshStyle, SeriesLabelPosition};
use plotters::coord::CoordTranslate;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::{Color, RGBColor, SVGBackend, TRANSPARENT};
use plotters::style::{IntoFont, TextStyle};

pub(crate) const INK: RGBColor = RGBColor(0x22, 0x21, 0x1f);
pub(crate) const SOFT: RGBColor = RGBColor(0x6b, 0x68, 0x62);
const RULE: RGBColor = RGBColor(0xde, 0xda, 0xd2);
/// Colours of series, in this order: the league's, then those of pictures with many lines.
const SERIES: [RGBColor; 10] = [
    RGBColor(0x2a, 0x5d, 0x9f),
    RGBColor(0xc8, 0x44, 0x2f),
    RGBColor(0x2e, 0x7d, 0x4f),
    RGBColor(0x8a, 0x5a, 0xa8),
    RGBColor(0xb8, 0x86, 0x0b),
    RGBColor(0x4d, 0x8a, 0x8f),
    RGBColor(0x7a, 0x4a, 0x2b),
    RGBColor(0xd2, 0x71, 0x9e),
    RGBColor(0x8f, 0x89, 0x7e),
    RGBColor(0x1f, 0x2f, 0x4f),
];
/// Colours of more and of less than a mean.
pub(crate) const MORE: RGBColor = SERIES[1];
pub(crate) const LESS: RGBColor = SERIES[0];

/// The colour of a series by its number, from 0.
pub(crate) fn series(number: usize) -> RGBColor {
    SERIES[number % SERIES.len()]
}

/// The pages' font, `height` pixels from the top of its highest letter to the foot of its lowest.
pub(crate) fn font(height: i32, colour: RGBColor) -> TextStyle<'static> {
    ("system-ui, sans-serif", height).into_font().color(&colour)
}

/// A chart with its title, room for the labels of x and `names` pixels for those of y.
pub(crate) fn chart<'a, 'b>(
    canvas: &'a Canvas<'b>,
    title: &str,
    names: u32,
) -> ChartBuilder<'a, 'b, SVGBackend<'b>> {
    let mut chart = ChartBuilder::on(canvas);
    chart
        .caption(title, font(21, INK))
        .margin(15)
        .margin_right(24)
        .x_label_area_size(48)
        .y_label_area_size(names);
    chart
}

/// Lines at the labelled values alone, all words soft.
pub(crate) fn mesh<'a, 'b, X, Y, XT, YT>(mesh: &mut MeshStyle<'a, 'b, X, Y, SVGBackend<'_>>)
where
    X: Ranged<ValueType = XT> + ValueFormatter<XT>,
    Y: Ranged<ValueType = YT> + ValueFormatter<YT>,
{
    mesh.light_line_style(TRANSPARENT)
        .bold_line_style(RULE)
        .axis_style(SOFT)
        .label_style(font(15, SOFT))
        .axis_desc_style(font(16, INK));
}

/// The names of the series, on the ground and without a frame.
///
/// # Errors
/// They cannot be drawn.
pub(crate) fn legend<'a, 'b: 'a, T: CoordTranslate>(
    chart: &mut ChartContext<'a, SVGBackend<'b>, T>,
    place: SeriesLabelPosition,
) -> Result<(), DrawError> {
    chart
        .configure_series_labels()
        .position(place)
        .background_style(GROUND.mix(0.85))
        .border_style(TRANSPARENT)
        .label_font(font(16, INK))
        .draw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_of_the_pages() {
        let pages = [engine::markup::PAGE_STYLE, crate::league::report::STYLE].concat();
        for (name, RGBColor(r, g, b)) in
            [("--paper", GROUND), ("--ink", INK), ("--soft", SOFT), ("--rule", RULE)]
        {
            let line = format!("{name}: #{r:02x}{g:02x}{b:02x};");
            assert!(pages.contains(&line), "{line}");
        }
        for (number, RGBColor(r, g, b)) in SERIES.into_iter().enumerate().take(6) {
            let line = format!("--c{number}: #{r:02x}{g:02x}{b:02x};");
            assert!(pages.contains(&line), "{line}");
        }
    }
}
