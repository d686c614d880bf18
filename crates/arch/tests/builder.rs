//! Graphs built layer by layer: what fits, and what is said where something does not.

use collegial_arch::{Activation, Conv, Dense, Error, Graph, MaxPool, Op, Shape, Spec};

fn image() -> Graph {
    Graph::new(Shape::image(6, 5)).unwrap()
}

#[test]
fn a_bottleneck_built_by_hand_is_the_one_of_its_name() {
    let mut graph = Graph::new(Shape::image(256, 32)).unwrap();
    let mut node = graph.input();
    for (index, conv) in
        [Conv::new(370, 1), Conv::new(370, 3).groups(37), Conv::new(256, 1)].into_iter().enumerate()
    {
        let index = index + 1;
        node = graph.conv(format!("conv{index}"), node, conv).unwrap();
        node = graph.batch_norm(format!("bn{index}"), node).unwrap();
        if index < 3 {
            node = graph.activation(format!("relu{index}"), node, Activation::Relu).unwrap();
        }
    }
    graph.add("add", node, graph.input()).unwrap();
    assert_eq!(graph, "bottleneck-37x10d".parse::<Spec>().unwrap().graph().unwrap());
}

#[test]
fn shapes_follow_strides_paddings_and_members() {
    let mut graph = image();
    let conv = graph.conv("conv", 0, Conv::new(4, 3).stride(2).groups(2)).unwrap();
    assert_eq!(graph.output_shape(), Shape::image(4, 3));
    let wide = graph.conv("wide", conv, Conv::new(8, 2).padding(2)).unwrap();
    assert_eq!(graph.output_shape(), Shape::image(8, 6));
    graph.member_sum("sum", wide, 4).unwrap();
    assert_eq!(graph.output_shape(), Shape::image(2, 6));
    let pool = graph.max_pool("pool", wide, MaxPool::new(3).stride(2).padding(1)).unwrap();
    assert_eq!(graph.output_shape(), Shape::image(8, 3));
    let mean = graph.global_average_pool("mean", pool).unwrap();
    let fc = graph.dense("fc", mean, Dense::new(4).groups(4)).unwrap();
    assert_eq!(graph.output_shape(), Shape::vector(4));
    assert_eq!((graph.find("fc"), graph.find("fd")), (Some(fc), None));
    assert_eq!(graph.nodes[fc].op, Op::Dense { groups: 4, bias: false });
}

#[test]
fn a_layer_that_does_not_fit_is_named_with_both_shapes() {
    let mut graph = image();
    let before = graph.clone();
    let cases = [
        (
            graph.conv("a", 0, Conv::new(8, 3).groups(4)),
            "a takes 6x5x5 to 8x5x5, whose channels 4 groups do not divide",
        ),
        (
            graph.conv("b", 0, Conv::new(8, 7).padding(0)),
            "the 7x7 window of b does not fit its input 6x5x5 with padding 0",
        ),
        (
            graph.dense("c", 0, Dense::new(8)),
            "the dense layer c takes a flat input to 8x1x1 but gets 6x5x5; put a pool before it",
        ),
        (graph.member_sum("d", 0, 4), "d cannot sum 4 members of 6x5x5, whose channels they do not divide"),
        (graph.batch_norm("e", 9), "e reads node 9, but its graph has only 1 nodes so far"),
        (
            graph.batch_norm("input", 0),
            "a layer cannot be called \"input\": layers of a graph need names, each another one",
        ),
        (
            graph.batch_norm("", 0),
            "a layer cannot be called \"\": layers of a graph need names, each another one",
        ),
        (
            graph.max_pool("f", 0, MaxPool::new(3).padding(2)),
            "the padding of f is 2; it must be between 0 and 1",
        ),
        (
            graph.max_pool("g", 0, MaxPool::new(3).stride(0)),
            "the stride of g is 0; it must be between 1 and 1024",
        ),
        (
            graph.conv("h", 0, Conv::new(6, 1).groups(0)),
            "h takes 6x5x5 to 6x5x5, whose channels 0 groups do not divide",
        ),
    ];
    for (result, sentence) in cases {
        assert_eq!(result.unwrap_err().to_string(), sentence);
    }
    assert_eq!(graph, before, "a refused layer leaves nothing behind");
    let narrow = graph.conv("narrow", 0, Conv::new(3, 1)).unwrap();
    let Err(Error::Branches { layer, left, right }) = graph.add("sum", narrow, 0) else {
        panic!("unequal branches were added");
    };
    assert_eq!((layer.as_str(), left, right), ("sum", Shape::image(3, 5), Shape::image(6, 5)));
}
