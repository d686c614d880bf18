"""The wheel without PyTorch."""

import subprocess
import sys


def test_collegial_torch_says_what_it_needs():
    code = """
import sys
sys.modules["torch"] = None
import collegial
try:
    import collegial.torch
except ImportError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "collegial.torch needs torch; install it with: pip install 'collegial[torch]'\n"
