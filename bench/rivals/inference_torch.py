"""PyTorch and ONNX Runtime: inference of two ResNeXt-29 and of ResNet-50 with the batch norms folded into the convolutions."""

import io

import onnxruntime
import torch
import torchvision
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from measure import emit, failure, fastest, parser, wanted
from resnext_torch import forward_flops, resnext29
from torch_common import LAYOUTS, sgemm_gflops, sgemm_task, start

# How each network is made, and the side of its images.
NETWORKS = {
    "resnext29-37x10d": (lambda: resnext29("37x10d"), 32),
    "resnext29-10x10d": (lambda: resnext29("10x10d"), 32),
    "resnet50": (torchvision.models.resnet50, 224),
}
BATCHES = (1, 16, 32)


def with_statistics(network, side):
    """Give the norms running statistics of their own, so that folding them changes every weight."""
    network.train()
    with torch.no_grad():
        for _ in range(5):
            network(torch.randn(8, 3, side, side))
    return network.eval()


def folded(network):
    """Replace every convolution + batch norm by the one convolution they amount to."""
    for name, child in network.named_children():
        if isinstance(child, nn.Sequential) and [type(layer) for layer in child] == [nn.Conv2d, nn.BatchNorm2d]:
            setattr(network, name, fuse_conv_bn_eval(*child))
        elif isinstance(child, nn.Conv2d) and name.startswith("conv"):
            norm = name.replace("conv", "bn")  # torchvision's names
            setattr(network, name, fuse_conv_bn_eval(child, getattr(network, norm)))
            setattr(network, norm, nn.Identity())
        else:
            folded(child)
    return network


def eager(layout):
    def build(network, x):
        network, x = network.to(memory_format=LAYOUTS[layout]), x.to(memory_format=LAYOUTS[layout])
        return lambda: network(x)

    return build


def frozen_script(network, x):
    """TorchScript's frozen graph, whose convolutions oneDNN may keep in its own layout."""
    script = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(network, x)))
    return lambda: script(x)


def compiled(network, x):
    """Inductor; its option `freezing` lets it repack the weights as constants."""
    run = torch.compile(network, dynamic=False, options={"freezing": True})
    return lambda: run(x)


def onnx_runtime(network, x):
    file = io.BytesIO()
    torch.onnx.export(network, (x,), file, opset_version=17, dynamo=False)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(file.getvalue(), settings, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: x.numpy()}
    return lambda: torch.from_numpy(session.run(None, feed)[0])


FORMS = {
    "nchw": eager("nchw"),
    "channels_last": eager("channels_last"),
    "frozen_script": frozen_script,
    "compiled": compiled,
    "onnx_runtime": onnx_runtime,
}


def time_forms(options, name, batch):
    torch.manual_seed(0)
    make, side = NETWORKS[name]
    original = with_statistics(make(), side)
    x = torch.randn(batch, 3, side, side)
    expected = original(x)
    flops = forward_flops(original, x)
    tasks = {"sgemm": sgemm_task()}
    for form, build in FORMS.items():
        if not wanted(options, name, form, f"batch={batch}"):
            continue
        try:
            network = make().eval()
            network.load_state_dict(original.state_dict())
            run = build(folded(network), x)
            torch.testing.assert_close(run(), expected, rtol=1e-3, atol=1e-3)
            tasks[form] = run
        except (RuntimeError, AttributeError, ImportError) as error:
            emit(rival="torch", network=name, form=form, batch=batch, error=failure(error))
    # The runtime's threads spin for a while after each run, which would slow whatever has the next
    # turn.
    alone = {form: tasks.pop(form) for form in ("onnx_runtime",) if form in tasks}
    best = fastest(tasks, repetitions=15, warmups=2, seconds=options.seconds or 8)
    best |= fastest(alone, repetitions=15, warmups=2, seconds=2)
    sgemm = sgemm_gflops(best.pop("sgemm"))
    for form, seconds in best.items():
        gflops = flops / seconds / 1e9
        emit(rival="onnxruntime" if form == "onnx_runtime" else "torch", work="inference", network=name,
             batch=batch, form=form, milliseconds=seconds * 1e3, images_per_second=batch / seconds, gflops=gflops,
             sgemm_gflops=sgemm, share_of_sgemm=gflops / sgemm)


def main():
    options = parser(__doc__).parse_args()
    start(options)
    for name in NETWORKS:
        for batch in BATCHES:
            if any(wanted(options, name, form, f"batch={batch}") for form in FORMS):
                time_forms(options, name, batch)


if __name__ == "__main__":
    with torch.no_grad():
        main()
