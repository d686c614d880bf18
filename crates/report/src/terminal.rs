//! A figure as characters: lines, points and marks on a small grid, for a terminal.
//!
//! Bands and ranges are left out: at this size they would hide what they explain. Nothing here is
//! coloured; the caller may colour the text as it likes.

use crate::figure::ticks::{Tick, ascii_label, ticks};
use crate::figure::{Figure, Layer, Line, Marker, Scale, Stroke, Styled};

/// Which characters the terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Glyphs {
    /// Braille dots (eight to a cell) and box drawing.
    #[default]
    Unicode,
    /// Nothing beyond ASCII.
    Ascii,
}

/// The size of a sketch, in characters, and its characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextFormat {
    /// Width of every line at most; at least 24 is used.
    pub columns: usize,
    /// Number of lines; at least 7 is used.
    pub rows: usize,
    /// Which characters may be used.
    pub glyphs: Glyphs,
}

impl Default for TextFormat {
    fn default() -> Self {
        Self { columns: 72, rows: 14, glyphs: Glyphs::default() }
    }
}

/// Draws the figure: a line of names, the data, the axis, its ticks and its name.
pub(crate) fn render(figure: &Figure, format: &TextFormat) -> String {
    let (columns, rows) = (format.columns.clamp(24, 1000), format.rows.clamp(7, 1000));
    let (x, y) = figure.scales();
    let height = rows - 4;
    let y_ticks: Vec<Tick> = ticks(&y, (height / 2).clamp(2, 5)).major;
    let y_labels: Vec<String> = y_ticks.iter().map(|tick| plain(&tick.label, format.glyphs)).collect();
    let gutter = y_labels.iter().map(|label| label.chars().count()).max().unwrap_or(0).min(columns / 2);
    let mut grid = Grid::new(columns - gutter - 2, height, x, y, format.glyphs);
    let layers = figure.styled();
    grid.lines(&layers);
    grid.points(&layers);
    grid.marks(&layers);

    let mut lines = vec![heading(figure, &layers, columns, format.glyphs)];
    for (row, cells) in grid.cells.iter().enumerate() {
        let tick = y_ticks.iter().position(|tick| grid.row(tick.value) == Some(row));
        let label = tick.map_or("", |index| y_labels[index].as_str());
        let post = grid.symbol(if tick.is_some() { '┤' } else { '│' });
        lines.push(format!("{label:>gutter$} {post}{}", cells.iter().collect::<String>()));
    }
    lines.extend(grid.floor(gutter));
    let name = cut(&plain(&figure.x.label, format.glyphs), columns);
    lines.push(format!("{name:>columns$}"));
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The name of the vertical axis and, if there is more than one, the names of the lines and points.
fn heading(figure: &Figure, layers: &[Styled], columns: usize, glyphs: Glyphs) -> String {
    let name = cut(&plain(&figure.y.label, glyphs), columns);
    let series = layers.iter().filter(|styled| matches!(styled.layer, Layer::Line(_) | Layer::Points(_)));
    let samples: Vec<String> = series
        .filter(|styled| !styled.layer.label().trim().is_empty())
        .map(|styled| format!("{} {}", sample(styled, glyphs), plain(styled.layer.label(), glyphs)))
        .collect();
    let legend = samples.join("   ");
    let room = columns.saturating_sub(name.chars().count() + 3);
    if samples.len() < 2 || room < 8 {
        return name;
    }
    let legend = cut(&legend, room);
    let gap = columns - name.chars().count() - legend.chars().count();
    format!("{name}{}{legend}", " ".repeat(gap))
}

fn sample(styled: &Styled, glyphs: Glyphs) -> String {
    match (styled.layer, glyphs) {
        (Layer::Points(_), _) => marker_symbol(styled.marker, glyphs).to_string(),
        (_, Glyphs::Ascii) => stroke_symbol(styled.stroke).to_string(),
        (_, Glyphs::Unicode) => match styled.stroke {
            Stroke::Solid => "⠒⠒⠒",
            Stroke::Dashed => "⠒ ⠒",
            Stroke::Dotted => "⠂⠂⠂",
            Stroke::DashDotted => "⠒⠂⠒",
            Stroke::LongDashed => "⠒⠒ ",
        }
        .to_owned(),
    }
}

fn stroke_symbol(stroke: Stroke) -> char {
    match stroke {
        Stroke::Solid => '*',
        Stroke::Dashed => '+',
        Stroke::Dotted => '.',
        Stroke::DashDotted => '~',
        Stroke::LongDashed => '=',
    }
}

/// Whether the `step`th dot along a line is set.
fn inked(stroke: Stroke, step: usize) -> bool {
    match stroke {
        Stroke::Solid => true,
        Stroke::Dashed => step % 6 < 3,
        Stroke::Dotted => step.is_multiple_of(3),
        Stroke::DashDotted => matches!(step % 8, 0..=3 | 6),
        Stroke::LongDashed => step % 10 < 7,
    }
}

fn marker_symbol(marker: Marker, glyphs: Glyphs) -> char {
    let (unicode, ascii) = match marker {
        Marker::Circle => ('●', 'o'),
        Marker::Square => ('■', '#'),
        Marker::Triangle => ('▲', '^'),
        Marker::Diamond => ('◆', '%'),
        Marker::Cross => ('×', 'x'),
        Marker::Ring => ('○', 'O'),
    };
    if glyphs == Glyphs::Unicode { unicode } else { ascii }
}

/// Text without control characters, which a terminal would obey, and in ASCII if need be.
fn plain(text: &str, glyphs: Glyphs) -> String {
    let text = if glyphs == Glyphs::Ascii { ascii_label(text) } else { text.to_owned() };
    let harmless = |character: char| match character {
        _ if character.is_control() => ' ',
        _ if glyphs == Glyphs::Ascii && !character.is_ascii() => '?',
        _ => character,
    };
    text.chars().map(harmless).collect()
}

/// As much of a text as there is room for.
fn cut(text: &str, columns: usize) -> String {
    text.chars().take(columns).collect()
}

/// The cells of the data, and the scales that lead there.
struct Grid {
    cells: Vec<Vec<char>>,
    x: Scale,
    y: Scale,
    glyphs: Glyphs,
}

impl Grid {
    fn new(columns: usize, rows: usize, x: Scale, y: Scale, glyphs: Glyphs) -> Self {
        Self { cells: vec![vec![' '; columns]; rows], x, y, glyphs }
    }

    fn columns(&self) -> usize {
        self.cells[0].len()
    }

    /// A value's place along `size` cells or dots, if it is inside.
    fn index(scale: &Scale, value: f64, size: usize) -> Option<usize> {
        let fraction = scale.fraction(value).filter(|_| scale.contains(value))?;
        Some((fraction.clamp(0.0, 1.0) * (size - 1) as f64).round() as usize)
    }

    fn column(&self, x: f64) -> Option<usize> {
        Self::index(&self.x, x, self.columns())
    }

    fn row(&self, y: f64) -> Option<usize> {
        Self::index(&self.y, y, self.cells.len()).map(|above| self.cells.len() - 1 - above)
    }

    fn symbol(&self, unicode: char) -> char {
        match (self.glyphs, unicode) {
            (Glyphs::Unicode, _) => unicode,
            (_, '│') => '|',
            (_, '─') => '-',
            (_, '◉') => '@',
            (_, other) if other.is_ascii() => other,
            _ => '+',
        }
    }

    fn lines(&mut self, layers: &[Styled]) {
        for styled in layers {
            let Layer::Line(line) = styled.layer else { continue };
            for (column, row) in self.dots(line, styled.stroke) {
                match self.glyphs {
                    Glyphs::Ascii => self.cells[row][column] = stroke_symbol(styled.stroke),
                    Glyphs::Unicode => {
                        let cell = &mut self.cells[row / 4][column / 2];
                        *cell = with_dot(*cell, column % 2, row % 4);
                    }
                }
            }
        }
    }

    /// The dots of a line, as (column, row) from the top; a cell holds 2 x 4 of them in braille and
    /// one in ASCII.
    fn dots(&self, line: &Line, stroke: Stroke) -> Vec<(usize, usize)> {
        let (across, down) = if self.glyphs == Glyphs::Unicode { (2, 4) } else { (1, 1) };
        let (width, height) = (self.columns() * across, self.cells.len() * down);
        let spot = |&(x, y): &(f64, f64)| {
            let (x, y) = (self.x.fraction(x)?, self.y.fraction(y)?);
            // Far outside the frame the slope no longer matters, but the number of steps does.
            let (x, y) = (x.clamp(-20.0, 20.0), y.clamp(-20.0, 20.0));
            Some((x * (width - 1) as f64, (1.0 - y) * (height - 1) as f64))
        };
        let spots: Vec<Option<(f64, f64)>> = line.points.iter().map(spot).collect();
        let mut dots: Vec<(f64, f64)> = spots.iter().flatten().take(1).copied().collect();
        for pair in spots.windows(2) {
            let [from, to] = [pair[0], pair[1]];
            match (from, to) {
                (Some(from), Some(to)) => {
                    let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil() as usize;
                    dots.extend((1..=steps).map(|step| {
                        let t = step as f64 / steps as f64;
                        (from.0 + t * (to.0 - from.0), from.1 + t * (to.1 - from.1))
                    }));
                }
                (None, Some(to)) => dots.push(to),
                _ => {}
            }
        }
        let mut dots: Vec<(f64, f64)> = dots.into_iter().map(|(x, y)| (x.round(), y.round())).collect();
        dots.dedup();
        let drawn = dots.into_iter().enumerate();
        // In ASCII the characters tell lines apart; gaps would only make a coarse curve coarser.
        let drawn = drawn.filter(|&(step, _)| self.glyphs == Glyphs::Ascii || inked(stroke, step));
        drawn
            .map(|(_, dot)| dot)
            .filter(|&(x, y)| (0.0..width as f64).contains(&x) && (0.0..height as f64).contains(&y))
            .map(|(x, y)| (x as usize, y as usize))
            .collect()
    }

    fn points(&mut self, layers: &[Styled]) {
        for styled in layers {
            let Layer::Points(points) = styled.layer else { continue };
            for point in &points.points {
                if let (Some(column), Some(row)) = (self.column(point.x), self.row(point.y)) {
                    self.cells[row][column] = marker_symbol(styled.marker, self.glyphs);
                }
            }
        }
    }

    fn marks(&mut self, layers: &[Styled]) {
        for styled in layers {
            let Layer::Mark(mark) = styled.layer else { continue };
            if let (Some(column), Some(row)) = (self.column(mark.x), self.row(mark.y)) {
                self.cells[row][column] = self.symbol('◉');
                self.write_beside(row, column, &plain(&mark.label, self.glyphs));
            }
        }
    }

    /// Writes text near a cell, where it covers least.
    fn write_beside(&mut self, row: usize, column: usize, text: &str) {
        let text: Vec<char> = text.chars().collect();
        let right = Some(column + 2);
        let left = column.checked_sub(text.len() + 1);
        let middle = column.checked_sub(text.len() / 2);
        let (above, below) = (row.checked_sub(1), Some(row + 1));
        let candidates = [
            (Some(row), right),
            (above, right),
            (above, middle),
            (below, right),
            (below, middle),
            (Some(row), left),
            (above, left),
            (below, left),
        ];
        let places = candidates.into_iter().filter_map(|(row, column)| {
            let (row, column) = (row?, column?);
            let cells = self.cells.get(row)?.get(column..column + text.len())?;
            Some((cells.iter().filter(|&&cell| cell != ' ').count(), row, column))
        });
        if let Some((_, row, column)) = places.min_by_key(|place| place.0) {
            self.cells[row][column..column + text.len()].copy_from_slice(&text);
        }
    }

    /// The horizontal axis and the labels under it.
    fn floor(&self, gutter: usize) -> [String; 2] {
        let most = (self.columns() / 9).clamp(2, 9);
        let mut axis = vec![self.symbol('─'); self.columns()];
        let mut labels = vec![' '; gutter + 2 + self.columns()];
        let mut free_from = 0;
        for tick in ticks(&self.x, most).major {
            let Some(column) = self.column(tick.value) else { continue };
            axis[column] = self.symbol('┬');
            let label: Vec<char> = plain(&tick.label, self.glyphs).chars().collect();
            let start = (gutter + 2 + column).saturating_sub(label.len() / 2);
            let start = start.min(labels.len().saturating_sub(label.len()));
            if start >= free_from && start + label.len() <= labels.len() {
                labels[start..start + label.len()].copy_from_slice(&label);
                free_from = start + label.len() + 1;
            }
        }
        let axis: String = axis.into_iter().collect();
        let corner = self.symbol('└');
        [format!("{:gutter$} {corner}{axis}", ""), labels.into_iter().collect()]
    }
}

/// The braille cell with one more dot; Unicode numbers the dots down the left, down the right, then
/// the last row.
fn with_dot(cell: char, column: usize, row: usize) -> char {
    const BITS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
    let before = if cell == ' ' { 0x2800 } else { u32::from(cell) };
    char::from_u32(before | BITS[row][column]).unwrap_or(cell)
}
