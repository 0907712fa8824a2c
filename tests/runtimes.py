"""What exported calibrators give in the other runtimes."""

import numpy as np
import onnxruntime
import torch

from calibrant.export import to_onnx, to_torch


def run_torch(calibrator, scores):
    """Return the probabilities of the PyTorch module."""
    return to_torch(calibrator)(torch.tensor(scores)).numpy()


def run_onnx(calibrator, scores):
    """Return the probabilities of the ONNX model."""
    return onnx_session(calibrator).run(["probabilities"], {"scores": np.asarray(scores, dtype=np.float64)})[0]


def onnx_session(calibrator):
    """Return a session on one thread: to start others, and to wait for them, takes longer than all the rest."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(to_onnx(calibrator), options, providers=["CPUExecutionProvider"])


RUNTIMES = {"torch": run_torch, "onnx": run_onnx}
