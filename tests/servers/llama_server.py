"""Serve a model with llama.cpp's own HTTP server: `python llama_server.py MODEL [options]`.

Prints `listening on URL` once requests are answered, and serves until its standard input ends, so
that it never outlives whoever started it. The key is read from LLAMA_API_KEY, when it is set.
"""

# pyright: basic, reportMissingImports=false
# Why: xllamacpp lives in the servers' own environment, which the type checker does not see.

import argparse
import os
import sys
from pathlib import Path

import xllamacpp


def parameters(options: argparse.Namespace) -> xllamacpp.CommonParams:
    """Return the server's settings: loopback only, and everything that can vary is fixed."""
    params = xllamacpp.CommonParams()
    params.model.path = str(options.model)
    params.hostnames = ["127.0.0.1"]
    params.port = options.port
    params.api_keys = [key] if (key := os.environ.get("LLAMA_API_KEY")) else []
    params.n_ctx = options.context
    params.n_parallel = 1
    params.n_predict = options.max_tokens
    # Why: threads that wait for each other on a busy machine take seconds for a word.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.sampling.seed = options.seed
    params.sampling.temp = options.temperature
    params.sampling.top_k, params.sampling.top_p, params.sampling.min_p = 0, 1.0, 0.0
    params.use_jinja = True
    params.warmup = False
    if options.template:
        params.chat_template = options.template.read_text(encoding="utf-8")
    return params


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--port", type=int, default=0, help="0 lets the system choose")
    parser.add_argument("--context", type=int, default=8192, help="tokens")
    parser.add_argument("--max-tokens", type=int, default=-1, help="of one answer; -1: no bound")
    parser.add_argument("--template", type=Path, help="chat template, in place of the model's own")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    """Serve until standard input ends."""
    server = xllamacpp.Server(parameters(arguments()))
    print(f"listening on {server.listening_address}", flush=True)  # noqa: T201  # Why: the line that the starter waits for
    sys.stdin.read()
    os._exit(0)  # Why: the server's own threads would keep the process


if __name__ == "__main__":
    main()
