//! Chart of a game's win probability as SVG: White's share light, Black's dark, a dot per glyph. It scales to any
//! width; the page adds all text.

use super::judge::Glyph;
use std::fmt::Write as _;

/// A move with a glyph.
#[derive(Clone, Copy, Debug)]
pub struct GlyphMark {
    /// Plies from the start, including this move.
    pub place: usize,
    /// Its glyph.
    pub glyph: Glyph,
}

/// CSS class of a glyph's colour.
#[must_use]
pub fn class(glyph: Glyph) -> &'static str {
    match glyph {
        Glyph::Good => "good",
        Glyph::Inaccuracy => "inaccuracy",
        Glyph::Mistake => "mistake",
        Glyph::Blunder => "blunder",
    }
}

/// Chart of White's win probabilities. `plies` is the length of the game; `wins` is shorter if the analysis was
/// stopped.
#[must_use]
pub fn draw(wins: &[f32], plies: usize, marks: &[GlyphMark]) -> String {
    let height = |win: f32| 100.0 * (1.0 - win.clamp(0.0, 1.0));
    let mut line = String::new();
    for (place, win) in wins.iter().enumerate() {
        let _ = write!(line, "{}{place} {:.1}", if place == 0 { "M" } else { "L" }, height(*win));
    }
    let last = wins.len().saturating_sub(1);
    let width = plies.max(1);
    let mut out = format!(
        "<svg class='curve' viewBox='0 0 {width} 100' preserveAspectRatio='none' role='img' \
         aria-label=\"White's expected score, move by move\"><rect width='{last}' height='100'/>\
         <path class='area' d='{line}L{last} 100L0 100z'/><path class='half' d='M0 50H{width}'/>\
         <path class='line' d='{line}'/>"
    );
    for GlyphMark { place, glyph } in marks {
        if let Some(win) = wins.get(*place) {
            // A zero-length line with round caps: a dot that keeps its shape when the picture is stretched.
            let _ = write!(
                out,
                "<path class='dot {}' d='M{place} {:.1}h0'/>",
                class(*glyph),
                height(*win)
            );
        }
    }
    out + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_runs_through_every_position() {
        let mark = GlyphMark { place: 2, glyph: Glyph::Blunder };
        let svg = draw(&[0.5, 0.75, 0.0], 4, &[mark]);
        assert!(svg.contains("class='line' d='M0 50.0L1 25.0L2 100.0'"), "{svg}");
        assert!(svg.contains("class='dot blunder' d='M2 100.0h0'"), "{svg}");
        assert!(svg.contains("viewBox='0 0 4 100'"), "{svg}");
        assert!(draw(&[], 0, &[mark]).contains("</svg>"));
    }
}
