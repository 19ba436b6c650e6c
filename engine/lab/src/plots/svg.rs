//! Pictures as SVG files: drawn in memory, then written whole, so that a full disk or a kill keeps the old picture.

use super::error::PlotError;
use engine::process::errors::FileError;
use engine::process::files::write_whole;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::prelude::{RGBColor, SVGBackend};
use std::io;
use std::path::Path;

/// The canvas, of the pages' ground at first.
pub(crate) type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// The pages' ground.
pub(crate) const GROUND: RGBColor = RGBColor(0xfb, 0xfa, 0xf7);

/// Why nothing can be drawn.
pub(crate) type DrawError = DrawingAreaErrorKind<io::Error>;

/// Has `paint` draw a picture of `size` pixels and writes it.
///
/// # Errors
/// The picture cannot be drawn, or the file cannot be written.
pub(crate) fn write(
    path: &Path,
    size: (u32, u32),
    paint: impl FnOnce(&Canvas<'_>) -> Result<(), DrawError>,
) -> Result<(), PlotError> {
    let mut text = String::new();
    let canvas = SVGBackend::with_string(&mut text, size).into_drawing_area();
    let drawn = canvas.fill(&GROUND).and_then(|()| paint(&canvas)).and_then(|()| canvas.present());
    drop(canvas);
    drawn.map_err(|why| PlotError::Drawing(FileError::of(path)(why)))?;
    write_whole(path, text).map_err(|why| PlotError::File(FileError::of(path)(why)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plotters::prelude::{RED, Rectangle};
    use std::fs;

    #[test]
    fn a_picture_replaces_the_old_one_whole() {
        let folder = std::env::temp_dir().join(format!("mavka-svg-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let [path, old] = ["new.svg", "old.svg"].map(|name| folder.join(name));
        fs::write(&path, "old").unwrap();
        // A second name of the same file shows whether its content is touched.
        fs::hard_link(&path, &old).unwrap();
        write(&path, (20, 10), |canvas| canvas.draw(&Rectangle::new([(1, 1), (5, 5)], RED)))
            .unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "old");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{text}");
        assert!(text.contains("#FF0000"), "{text}");
        let why = write(&folder, (20, 10), |_| Ok(())).unwrap_err().to_string();
        assert!(why.contains("a folder"), "{why}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
