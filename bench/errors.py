"""What errors cost: `python bench/errors.py`. Microseconds, the best of several rounds."""

import time
import timeit
from collections.abc import Callable

from dsh_llm import HarnessError, LlmError, classify_error

ROUNDS, TIMES = 60, 300


class RefusedError(Exception):
    """A provider's refusal, as an SDK raises it."""

    status_code = 400

    def __init__(self) -> None:
        """Have a response's fields."""
        super().__init__("no")
        self.headers = {"x-request-id": "r", "content-type": "application/json"}
        text = "max_tokens must be at least 1."
        self.body = {"error": {"message": text, "type": "invalid_request_error"}}


def cost(name: str, work: Callable[[], object]) -> None:
    """Print what one *work* costs."""
    work()
    best = min(timeit.repeat(work, number=TIMES, repeat=ROUNDS, timer=time.process_time))
    print(f"{best / TIMES * 1e6:8.2f} us  {name}")


def main() -> None:
    """Measure building and classifying."""
    refused, missing, odd = RefusedError(), FileNotFoundError(2, "x"), ValueError("x")
    cost("build HarnessError", lambda: HarnessError("x", "TIMEOUT"))
    cost("build LlmError", lambda: LlmError("x", "RATE_LIMIT", 429, retry_after=1.0))
    cost("classify a refusal at the provider", lambda: classify_error(refused, seam="provider"))
    cost("classify an errno of a tool", lambda: classify_error(missing, seam="tool"))
    cost("classify what nobody knows", lambda: classify_error(odd, seam="runtime"))
    cost("classify a timeout", lambda: classify_error(TimeoutError(), seam="provider"))


if __name__ == "__main__":
    main()
