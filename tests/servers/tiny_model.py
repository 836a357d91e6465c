"""Write a tiny llama model with random weights: `python tiny_model.py OUT --template FILE`.

Half a megabyte, made in a fraction of a second, the same bytes for the same arguments. Its words
are single bytes and a few markers, so it can say whatever a grammar asks for, and nothing it says
means anything. Only its habits are not random: after `<work>` it calls a tool, after a call
perhaps another one, after `<answer>` it says something; and sooner or later it stops.
"""

# pyright: basic, reportMissingImports=false
# Why: gguf and numpy live in the servers' own environment, which the type checker does not see.

import argparse
from pathlib import Path
from typing import Any, Final

import gguf
import numpy as np

WIDTH: Final = 64
HEADS: Final = 4
LAYERS: Final = 2
INNER: Final = 128
CONTEXT: Final = 32_768

STOP: Final = "<|im_end|>"
CALL: Final = '<tool_call>\n{"name": "'
WORK, ANSWER = "<work>", "<answer>"
WIDE: Final = ["\u00e9", "\u05d0", "\u6f22", "\U0001f600"]
SPACE: Final = "\u2581"  # Why: the tokenizer writes a space as this character


def byte_token(byte: int) -> str:
    """Return the token that stands for one byte."""
    return f"<0x{byte:02X}>"


CLOSED: Final = byte_token(ord(">"))  # the end of `</tool_call>`

# The first dimensions carry habits and nothing else: a token puts `STRENGTH` into its own one, and
# the output reads from it which token comes next. Dimension 0 is every token's.
STRENGTH: Final = 4.0
CARRIERS: Final = {WORK: 1, ANSWER: 2, CLOSED: 3}
HABITS: Final = {
    WORK: {CALL: 25.0},
    ANSWER: {CALL: -20.0, STOP: -20.0},
    CLOSED: {CALL: 20.0, STOP: 9.0},
}


def vocabulary() -> list[tuple[str, gguf.TokenType]]:
    """Return the tokens in the order of their ids."""
    kind = gguf.TokenType
    return [
        ("<unk>", kind.UNKNOWN),
        *((text, kind.CONTROL) for text in ("<s>", "</s>", "<|im_start|>", STOP)),
        *((text, kind.USER_DEFINED) for text in (CALL, WORK, ANSWER)),
        *((byte_token(n), kind.BYTE) for n in range(256)),
        *((text, kind.NORMAL) for text in (SPACE, *WIDE)),
    ]


def likelihoods(stop: float, garble: float) -> dict[str, float]:
    """Return what is added to each token's logit, wherever the model is."""
    control = {byte_token(n): -3.0 for n in [*range(0x20), 0x7F]}
    # Why: a lone surrogate, escaped, is legal for the grammar, and the server cannot read it.
    escape = {byte_token(ord("\\")): -10.0}
    high = {byte_token(n): garble for n in range(0x80, 0x100)}
    ends = {byte_token(ord(byte)): 3.0 for byte in '"<'}
    never = dict.fromkeys(["<unk>", "<s>", "</s>", "<|im_start|>", CALL, WORK, ANSWER], -10.0)
    return control | escape | high | ends | never | {STOP: stop}


def describe(writer: gguf.GGUFWriter, template: str) -> None:
    """Write what the model is: its shape, its tokenizer and its chat template."""
    tokens = vocabulary()
    ids = {text: n for n, (text, _) in enumerate(tokens)}
    writer.add_name("tiny-random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([int(kind) for _, kind in tokens])
    writer.add_unk_token_id(ids["<unk>"])
    writer.add_bos_token_id(ids["<s>"])
    writer.add_eos_token_id(ids[STOP])
    writer.add_add_space_prefix(False)  # noqa: FBT003  # Why: the library's own signature
    writer.add_chat_template(template)


class Weights:
    """The tensors of a model that was never trained."""

    def __init__(self, seed: int) -> None:
        """Draw everything from one generator."""
        self._random = np.random.default_rng(seed)

    def tensors(self, biases: dict[str, float]) -> dict[str, Any]:
        """Return all tensors by name."""
        named = {
            "token_embd.weight": self.embedding(),
            "output.weight": self.output(biases),
            "output_norm.weight": _ones(),
        }
        for n in range(LAYERS):
            named |= {f"blk.{n}.{name}.weight": each for name, each in self.layer().items()}
        return named

    def embedding(self) -> Any:
        """Return what each token puts in."""
        matrix = _apart(self._noise(len(vocabulary()), WIDTH))
        matrix[:, 0] = STRENGTH
        for token, dimension in CARRIERS.items():
            matrix[_index(token), dimension] = STRENGTH
        return matrix

    def output(self, biases: dict[str, float]) -> Any:
        """Return how much each token is wanted."""
        matrix = _apart(self._noise(len(vocabulary()), WIDTH))
        for token, logit in biases.items():
            matrix[_index(token), 0] = logit / _normed(carriers=1)
        for token, wishes in HABITS.items():
            for wish, logit in wishes.items():
                matrix[_index(wish), CARRIERS[token]] = logit / _normed(carriers=2)
        return matrix

    def layer(self) -> dict[str, Any]:
        """Return one layer, which leaves the carriers alone."""
        return {
            "attn_norm": _ones(),
            # Why: sharp attention picks out few tokens, so another request gets another answer.
            "attn_q": _apart(self._noise(WIDTH, WIDTH, spread=1.0)),
            "attn_k": _apart(self._noise(WIDTH, WIDTH, spread=1.0)),
            "attn_v": _apart(self._noise(WIDTH, WIDTH)),
            "attn_output": _apart(self._noise(WIDTH, WIDTH, spread=0.05).T).T.copy(),
            "ffn_norm": _ones(),
            "ffn_gate": _apart(self._noise(INNER, WIDTH)),
            "ffn_up": _apart(self._noise(INNER, WIDTH)),
            "ffn_down": _apart(self._noise(WIDTH, INNER, spread=0.05).T).T.copy(),
        }

    def _noise(self, *shape: int, spread: float = 0.2) -> Any:
        return (self._random.standard_normal(shape) * spread).astype(np.float32)


def _apart(matrix: Any) -> Any:
    # Invariant: noise neither reads nor writes a carrier.
    matrix[:, : len(CARRIERS) + 1] = 0
    return matrix


def _normed(carriers: int) -> float:
    # Why: the last norm divides by the root mean square, of which the carriers are nearly all.
    return float(np.sqrt(WIDTH / carriers))


def _index(token: str) -> int:
    return [text for text, _ in vocabulary()].index(token)


def _ones() -> Any:
    return np.ones(WIDTH, np.float32)


def main() -> None:
    """Write the file that the arguments describe."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--template", type=Path, required=True, help="chat template, Jinja")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stop", type=float, default=3.0, help="logit of the end of an answer")
    parser.add_argument("--garble", type=float, default=-15.0, help="logit of broken UTF-8")
    options = parser.parse_args()
    biases = likelihoods(options.stop, options.garble)
    writer = gguf.GGUFWriter(options.out, "llama")
    describe(writer, options.template.read_text(encoding="utf-8"))
    for name, tensor in Weights(options.seed).tensors(biases).items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
