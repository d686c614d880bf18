//! Placement of the text beside points, so that it covers neither data nor other text.

/// A rectangle in the drawing's coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Rect {
    pub(crate) fn around(x: f64, y: f64, half_width: f64, half_height: f64) -> Self {
        Self { left: x - half_width, top: y - half_height, right: x + half_width, bottom: y + half_height }
    }

    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    fn overlap(&self, other: &Self) -> f64 {
        let width = self.right.min(other.right) - self.left.max(other.left);
        let height = self.bottom.min(other.bottom) - self.top.max(other.top);
        width.max(0.0) * height.max(0.0)
    }

    fn area(&self) -> f64 {
        self.width() * self.height()
    }
}

/// Which part of the text sits at its x coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    pub(crate) fn css(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// A place found for text: the middle of its height, and the end of a leader line if it lies away
/// from its point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) anchor: Anchor,
    pub(crate) leader: bool,
}

/// Remembers what is taken and finds room for the next label.
#[derive(Clone, Debug)]
pub(crate) struct Placer {
    frame: Rect,
    taken: Vec<(Rect, f64)>,
}

/// Covering a point or other text is worse than covering a curve, which stays legible under the
/// text's halo.
const OVER_DATA: f64 = 4.0;
const OVER_CURVE: f64 = 1.0;
const OUTSIDE: f64 = 50.0;

/// The eight directions around a point, the best liked first.
const DIRECTIONS: [(f64, f64, Anchor); 8] = [
    (1.0, 0.0, Anchor::Start),
    (0.7, -1.0, Anchor::Start),
    (0.0, -1.0, Anchor::Middle),
    (-0.7, -1.0, Anchor::End),
    (0.7, 1.0, Anchor::Start),
    (0.0, 1.0, Anchor::Middle),
    (-0.7, 1.0, Anchor::End),
    (-1.0, 0.0, Anchor::End),
];

impl Placer {
    pub(crate) fn new(frame: Rect) -> Self {
        Self { frame, taken: vec![] }
    }

    /// Nothing should be written over this point or error bar.
    pub(crate) fn keep_clear(&mut self, rect: Rect) {
        self.taken.push((rect, OVER_DATA));
    }

    /// A straight piece of a curve, as a chain of small boxes.
    pub(crate) fn avoid_curve(&mut self, from: (f64, f64), to: (f64, f64)) {
        const BOX: f64 = 6.0;
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let steps = (length / BOX).ceil().clamp(1.0, 200.0) as usize;
        for step in 0..steps {
            let t = (step as f64 + 0.5) / steps as f64;
            let (x, y) = (from.0 + t * (to.0 - from.0), from.1 + t * (to.1 - from.1));
            self.taken.push((Rect::around(x, y, BOX / 2.0, BOX / 2.0), OVER_CURVE));
        }
    }

    /// The cheapest place beside the point at `(x, y)`, `distance` away from it or, failing that,
    /// further off.
    pub(crate) fn place(&mut self, (x, y): (f64, f64), distance: f64, width: f64, height: f64) -> Place {
        let rings = [0.0, 18.0, 36.0, 54.0, 72.0, 90.0].map(|further| (distance + further, further > 0.0));
        let candidates = rings.into_iter().flat_map(|(away, leader)| {
            DIRECTIONS.iter().map(move |&(dx, dy, anchor)| {
                let middle = y + dy * (away + height / 2.0);
                Place { x: x + dx * away, y: middle, anchor, leader }
            })
        });
        let cost = |(order, place): (usize, Place)| {
            let rect = Self::covered(&place, width, height);
            let outside = OUTSIDE * (rect.area() - rect.overlap(&self.frame));
            let over: f64 = self.taken.iter().map(|(taken, weight)| weight * rect.overlap(taken)).sum();
            (outside + over + 2.0 * order as f64, place)
        };
        let places = candidates.enumerate().map(cost);
        let best = places.min_by(|one, other| one.0.total_cmp(&other.0));
        let place = best.map_or(Place { x, y, anchor: Anchor::Middle, leader: false }, |(_, place)| place);
        self.keep_clear(Self::covered(&place, width, height));
        place
    }

    fn covered(place: &Place, width: f64, height: f64) -> Rect {
        let left = match place.anchor {
            Anchor::Start => place.x,
            Anchor::Middle => place.x - width / 2.0,
            Anchor::End => place.x - width,
        };
        let (top, bottom) = (place.y - height / 2.0, place.y + height / 2.0);
        Rect { left, top, right: left + width, bottom }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Rect = Rect { left: 0.0, top: 0.0, right: 300.0, bottom: 200.0 };

    #[test]
    fn labels_stay_in_the_frame() {
        let place = Placer::new(FRAME).place((295.0, 100.0), 8.0, 50.0, 14.0);
        assert_ne!(place.anchor, Anchor::Start);
        let place = Placer::new(FRAME).place((5.0, 5.0), 8.0, 50.0, 14.0);
        assert_eq!(place.anchor, Anchor::Start);
    }

    #[test]
    fn labels_of_neighbours_do_not_overlap() {
        let mut placer = Placer::new(FRAME);
        let points = [(150.0, 100.0), (152.0, 103.0), (149.0, 97.0), (160.0, 100.0)];
        for (x, y) in points {
            placer.keep_clear(Rect::around(x, y, 5.0, 5.0));
        }
        let places = points.map(|point| placer.place(point, 8.0, 45.0, 14.0));
        for (index, one) in places.iter().enumerate() {
            for other in &places[..index] {
                let overlap = Placer::covered(one, 45.0, 14.0).overlap(&Placer::covered(other, 45.0, 14.0));
                assert_eq!(overlap, 0.0, "{places:?}");
            }
        }
    }

    /// As many designs as a validation trains, close together, in the room of a phone.
    #[test]
    fn a_dozen_labels_overlap_neither_each_other_nor_points() {
        for (step, drop) in [(12.0, 3.0), (9.0, 0.0), (6.0, 9.0), (14.0, -5.0)] {
            let mut placer = Placer::new(FRAME);
            let points: Vec<(f64, f64)> = (0..12)
                .map(|index| (80.0 + step * f64::from(index), 90.0 + drop * f64::from(index % 5)))
                .collect();
            for &(x, y) in &points {
                placer.keep_clear(Rect::around(x, y, 6.0, 6.0));
            }
            let labels: Vec<Rect> = points
                .iter()
                .map(|&point| Placer::covered(&placer.place(point, 9.0, 42.0, 13.75), 42.0, 13.75))
                .collect();
            for (index, one) in labels.iter().enumerate() {
                for other in &labels[..index] {
                    assert_eq!(one.overlap(other), 0.0, "{step} {drop}: {one:?} {other:?}");
                }
                for &(x, y) in &points {
                    assert_eq!(one.overlap(&Rect::around(x, y, 4.0, 4.0)), 0.0, "{step} {drop}: {one:?}");
                }
            }
        }
    }

    #[test]
    fn labels_avoid_curves() {
        let mut placer = Placer::new(FRAME);
        placer.avoid_curve((0.0, 100.0), (300.0, 100.0));
        let place = placer.place((150.0, 100.0), 8.0, 50.0, 14.0);
        assert_ne!(place.y, 100.0);
    }
}
