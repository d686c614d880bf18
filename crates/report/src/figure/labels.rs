//! The text beside marks and points, written when all else is drawn.

use super::layer::Layer;
use super::placement::{Place, Placer, Rect};
use super::svg::{BOLD, RADIUS, Sheet, tag_text};
use super::{Styled, text};
use crate::markup::coordinate;

/// How one kind of label looks, and how far from its point it stands.
struct Kind {
    class: &'static str,
    size: f64,
    distance: f64,
}

const OPTIMUM: Kind = Kind { class: "label optimum", size: 14.0 * BOLD, distance: RADIUS + 8.0 };
const PLAIN: Kind = Kind { class: "label", size: 12.5, distance: RADIUS + 4.0 };

/// Writes all labels, marks choosing their place first, with the leader lines under them.
pub(crate) fn draw(out: &mut String, sheet: &Sheet, layers: &[Styled]) {
    let marks = layers.iter().filter_map(|styled| match styled.layer {
        Layer::Mark(mark) => Some((&OPTIMUM, mark.x, mark.y, mark.label.as_str())),
        _ => None,
    });
    let sets = layers.iter().filter_map(|styled| match styled.layer {
        Layer::Points(points) => Some(&points.points),
        _ => None,
    });
    let points = sets.flatten().filter_map(|point| Some((&PLAIN, point.x, point.y, point.label.as_deref()?)));
    let wanted: Vec<_> = marks.chain(points).filter(|label| !label.3.trim().is_empty()).collect();
    if wanted.is_empty() {
        return;
    }
    let mut placer = Placer::new(sheet.plot);
    layers.iter().for_each(|styled| occupy(&mut placer, sheet, styled.layer));
    let (mut leaders, mut texts) = (String::new(), String::new());
    for (kind, x, y, label) in wanted {
        let Some((x, y)) = sheet.visible(x, y) else { continue };
        let label = text::shorten(label, kind.size, sheet.plot.width() / 2.0);
        let (width, height) = (text::width(&label, kind.size), kind.size * 1.1);
        let place = placer.place((x, y), kind.distance, width, height);
        leaders.push_str(&leader((x, y), &place));
        let baseline = place.y + 0.33 * kind.size;
        texts.push_str(&tag_text(kind.class, place.x, baseline, place.anchor.css(), &label));
    }
    out.push_str(&leaders);
    out.push_str(&texts);
}

/// Tells the placer where the layer's data are.
fn occupy(placer: &mut Placer, sheet: &Sheet, layer: &Layer) {
    let mut avoid = |strokes: Vec<Vec<(f64, f64)>>| {
        let pieces = strokes.iter().flat_map(|stroke| stroke.windows(2));
        pieces.for_each(|piece| placer.avoid_curve(piece[0], piece[1]));
    };
    match layer {
        Layer::Line(line) => avoid(sheet.runs(line)),
        Layer::Points(points) => {
            avoid(sheet.error_bars(points));
            let spots = points.points.iter().filter_map(|point| sheet.visible(point.x, point.y));
            spots.for_each(|(x, y)| placer.keep_clear(Rect::around(x, y, RADIUS + 2.0, RADIUS + 2.0)));
        }
        Layer::Mark(mark) => {
            if let Some((x, y)) = sheet.visible(mark.x, mark.y) {
                placer.keep_clear(Rect::around(x, y, RADIUS + 6.0, RADIUS + 6.0));
            }
        }
        Layer::Band(_) | Layer::VerticalRange(_) => {}
    }
}

fn leader((x, y): (f64, f64), place: &Place) -> String {
    if !place.leader {
        return String::new();
    }
    let [x, y, to_x, to_y] = [x, y, place.x, place.y].map(coordinate);
    format!("<path class=\"leader\" d=\"M{x} {y}L{to_x} {to_y}\"/>\n")
}
