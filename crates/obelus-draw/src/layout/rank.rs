//! Rows: the vertical order of boxes.

use super::{BoxSize, GAP, Link};

/// Which links run backward: those that close a cycle in a depth-first search. It starts at boxes without incoming
/// links, then takes the others in their order.
pub(super) fn backward(count: usize, links: &[Link]) -> Vec<bool> {
    let mut leaving = vec![Vec::new(); count];
    let mut entered = vec![false; count];
    for (index, link) in links.iter().enumerate() {
        leaving[link.from].push(index);
        entered[link.to] = true;
    }
    let mut backward = vec![false; links.len()];
    let mut on_path = vec![false; count];
    let mut seen = vec![false; count];
    let sources = (0..count).filter(|&node| !entered[node]);
    for start in sources.chain(0..count) {
        if seen[start] {
            continue;
        }
        // An explicit stack, because a chain may be too long for recursion.
        let mut path = vec![(start, 0)];
        seen[start] = true;
        on_path[start] = true;
        while let Some((node, next)) = path.last_mut() {
            let Some(&link) = leaving[*node].get(*next) else {
                on_path[*node] = false;
                path.pop();
                continue;
            };
            *next += 1;
            let to = links[link].to;
            if on_path[to] {
                backward[link] = true;
            } else if !seen[to] {
                seen[to] = true;
                on_path[to] = true;
                path.push((to, 0));
            }
        }
    }
    backward
}

/// The layer of each box: one below the lowest box with a link to it. A box with more outgoing than incoming links then
/// moves down to just above its nearest target, which keeps lines short. The links must not have cycles.
pub(super) fn layers(count: usize, downward: &[(usize, usize)]) -> Vec<usize> {
    let mut below = vec![Vec::new(); count];
    let mut entering = vec![0_usize; count];
    for &(upper, lower) in downward {
        below[upper].push(lower);
        entering[lower] += 1;
    }
    let mut waiting = entering.clone();
    let mut layers = vec![0; count];
    let mut order: Vec<usize> = (0..count).filter(|&node| waiting[node] == 0).collect();
    let mut done = 0;
    while let Some(&node) = order.get(done) {
        done += 1;
        for &next in &below[node] {
            layers[next] = layers[next].max(layers[node] + 1);
            waiting[next] -= 1;
            if waiting[next] == 0 {
                order.push(next);
            }
        }
    }
    for &node in order.iter().rev() {
        if below[node].len() > entering[node]
            && let Some(nearest) = below[node].iter().map(|&next| layers[next]).min()
        {
            layers[node] = nearest - 1;
        }
    }
    layers
}

/// The row of each box: its layer, or one of several rows if the layer is wider than the page. In such a layer boxes
/// without outgoing links come first and those without incoming links last, so that few lines pass the other rows.
pub(super) fn wrap(layers: &[usize], sizes: &[BoxSize], downward: &[(usize, usize)], page: f64) -> Vec<usize> {
    let mut leaves = vec![0_i8; layers.len()];
    let mut enters = vec![0_i8; layers.len()];
    for &(upper, lower) in downward {
        leaves[upper] = 1;
        enters[lower] = 1;
    }
    let count = layers.iter().max().map_or(0, |last| last + 1);
    let mut members = vec![Vec::new(); count];
    for (node, &layer) in layers.iter().enumerate() {
        members[layer].push(node);
    }
    let mut rows = vec![0; layers.len()];
    let mut row = 0;
    for mut layer in members.into_iter().filter(|layer| !layer.is_empty()) {
        let mut lines = 1;
        let width: f64 = (layer.iter()).map(|&node| sizes[node].width + sizes[node].beside + GAP).sum();
        // A little too wide is better than a second row with one box.
        if width > 1.2 * page {
            lines = (width / page).ceil() as usize;
            layer.sort_by_key(|&node| leaves[node] - enters[node]);
        }
        for (index, &node) in layer.iter().enumerate() {
            rows[node] = row + index * lines / layer.len();
        }
        row += lines;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(ends: &[(usize, usize)]) -> Vec<Link> {
        ends.iter().map(|&(from, to)| Link { from, to, dashed: false, label: 0.0 }).collect()
    }

    #[test]
    fn the_link_that_closes_a_cycle_is_reversed() {
        let cycle = links(&[(0, 1), (1, 2), (2, 1), (2, 3), (0, 3)]);
        assert_eq!(backward(4, &cycle), [false, false, true, false, false]);
    }

    #[test]
    fn a_cycle_without_an_entry_starts_at_its_first_box() {
        assert_eq!(backward(3, &links(&[(1, 2), (2, 0), (0, 1)])), [false, true, false]);
    }

    #[test]
    fn a_box_is_placed_below_all_its_predecessors() {
        assert_eq!(layers(4, &[(0, 1), (1, 2), (0, 3), (2, 3)]), [0, 1, 2, 3]);
    }

    #[test]
    fn a_source_is_placed_just_above_its_successor() {
        assert_eq!(layers(4, &[(0, 1), (1, 2), (3, 2)]), [0, 1, 2, 1]);
    }

    #[test]
    fn a_wide_layer_is_wrapped_evenly() {
        let size = BoxSize { width: 100.0 - GAP, height: 40.0, beside: 0.0 };
        let rows = wrap(&[0; 25], &[size; 25], &[], 1000.0);
        let lengths = [0, 1, 2].map(|row| rows.iter().filter(|&&r| r == row).count());
        assert_eq!(lengths, [9, 8, 8]);
        assert_eq!(wrap(&[0; 11], &[size; 11], &[], 1000.0), [0; 11]);
    }
}
